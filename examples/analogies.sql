-- The Google analogy questions: "a is to b as c is to ?" is answered by the word nearest to b - a + c, and is correct if
-- that word is d. Run this in the project's directory, with any model:
--
--   GLOVE_MODEL=build/glove-6b-100d.safetensors sqlite3 :memory: '.read examples/analogies.sql'
.load ./build/release/glove
CREATE TABLE question(category TEXT, a TEXT, b TEXT, c TEXT, d TEXT);
.mode tabs
.import examples/data/analogy-questions.tsv question
.mode box
ALTER TABLE question ADD COLUMN expr TEXT;
UPDATE question SET expr = printf('"%s" - "%s" + "%s"', b, a, c);

-- Searches for all questions as one batch. A question with a word that the model lacks has no answer.
WITH answer AS MATERIALIZED (
  SELECT expr, neighbor FROM glove_nn WHERE expr IN (SELECT expr FROM question) AND k = 1
)
SELECT category, count(*) AS questions, sum(neighbor IS d) AS correct, round(100.0 * sum(neighbor IS d) / count(*), 2) AS percent
  FROM question LEFT JOIN answer USING (expr)
 GROUP BY category
 UNION ALL
SELECT 'all', count(*), sum(neighbor IS d), round(100.0 * sum(neighbor IS d) / count(*), 2)
  FROM question LEFT JOIN answer USING (expr);
