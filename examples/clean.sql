-- Cleaner vectors: how derived models agree with people, on word pairs (Spearman's rank correlation) and on analogies
-- (correct answers). Run this in the project's directory, with any model:
--
--   GLOVE_MODEL=build/glove-6b-100d.safetensors sqlite3 :memory: '.read examples/clean.sql'
.load ./build/release/glove
CREATE TABLE pair(name TEXT, a TEXT, b TEXT, score REAL);
CREATE TABLE question(category TEXT, a TEXT, b TEXT, c TEXT, d TEXT);
.mode tabs
.import examples/data/similarity-pairs.tsv pair
.import examples/data/analogy-questions.tsv question
.mode box
ALTER TABLE question ADD COLUMN expr TEXT;
UPDATE question SET expr = printf('"%s" - "%s" + "%s"', b, a, c);

CREATE TABLE derivation(name TEXT, options TEXT);
INSERT INTO derivation VALUES
  ('raw', '{}'), ('center', '{"center":true}'), ('remove 1', '{"remove":1}'), ('remove 2', '{"remove":2}'),
  ('remove 3', '{"remove":3}'), ('remove 5', '{"remove":5}'), ('whiten', '{"whiten":true}'),
  ('dims 50', '{"dims":50}'), ('remove 3, dims 64', '{"remove":3,"dims":64}');
CREATE TABLE derived AS SELECT glove_derive(name, options) AS model FROM derivation;

WITH scored AS MATERIALIZED (
  SELECT model, name, score, cos_sim(a, b, model) AS similarity FROM derived, pair
), ranked AS (
  SELECT model, name,
         rank() OVER by_score + (count(*) OVER (PARTITION BY model, name, score) - 1) / 2.0 AS x,
         rank() OVER by_similarity + (count(*) OVER (PARTITION BY model, name, similarity) - 1) / 2.0 AS y,
         (count(*) OVER (PARTITION BY model, name) + 1) / 2.0 AS mean
    FROM scored WHERE similarity IS NOT NULL
  WINDOW by_score AS (PARTITION BY model, name ORDER BY score), by_similarity AS (PARTITION BY model, name ORDER BY similarity)
), correlation AS (
  SELECT model, name,
         round(sum((x - mean) * (y - mean)) / sqrt(sum((x - mean) * (x - mean)) * sum((y - mean) * (y - mean))), 4) AS spearman
    FROM ranked GROUP BY model, name
), answer AS MATERIALIZED (
  SELECT n.model, n.expr, n.neighbor
    FROM derived JOIN glove_nn n ON n.model = derived.model AND n.expr IN (SELECT expr FROM question) AND n.k = 1
), correct AS (
  SELECT model, sum(neighbor = d) AS analogies FROM question JOIN answer USING (expr) GROUP BY model
)
SELECT model, max(spearman) FILTER (WHERE name = 'RG-65') AS "RG-65", max(spearman) FILTER (WHERE name = 'SIMLEX-999') AS "SimLex-999",
       max(spearman) FILTER (WHERE name = 'WS-353-ALL') AS "WS-353", analogies
  FROM derived JOIN correlation USING (model) JOIN correct USING (model)
 GROUP BY derived.rowid;
