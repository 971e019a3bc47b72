-- Word similarity: Spearman's rank correlation of cos_sim with the scores that people gave to word pairs (equal values
-- get the mean of their ranks). Run this in the project's directory, with any model:
--
--   GLOVE_MODEL=build/glove-6b-100d.safetensors sqlite3 :memory: '.read examples/similarity.sql'
.load ./build/release/glove
CREATE TABLE pair(name TEXT, a TEXT, b TEXT, score REAL);
.mode tabs
.import examples/data/similarity-pairs.tsv pair
.mode box

WITH scored AS MATERIALIZED (
  SELECT name, score, cos_sim(a, b) AS similarity FROM pair
), ranked AS (
  SELECT name,
         rank() OVER by_score + (count(*) OVER (PARTITION BY name, score) - 1) / 2.0 AS x,
         rank() OVER by_similarity + (count(*) OVER (PARTITION BY name, similarity) - 1) / 2.0 AS y,
         (count(*) OVER (PARTITION BY name) + 1) / 2.0 AS mean
    FROM scored WHERE similarity IS NOT NULL
  WINDOW by_score AS (PARTITION BY name ORDER BY score), by_similarity AS (PARTITION BY name ORDER BY similarity)
)
SELECT name, round(sum((x - mean) * (y - mean)) / sqrt(sum((x - mean) * (x - mean)) * sum((y - mean) * (y - mean))), 6) AS spearman,
       count(*) AS found, (SELECT count(*) FROM pair WHERE pair.name = ranked.name) AS pairs
  FROM ranked GROUP BY name;
