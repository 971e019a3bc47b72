-- The 2,000 most frequent words in 12 groups, each with a name and its most typical words. Run this in the
-- project's directory, with any model:
--
--   GLOVE_MODEL=build/glove-6b-100d.safetensors sqlite3 :memory: '.read examples/clusters.sql'
.load ./build/release/glove
.mode box --wordwrap on

WITH member AS MATERIALIZED (
  SELECT cluster, word, row_number() OVER (PARTITION BY cluster ORDER BY similarity DESC) AS place
    FROM glove_kmeans(12, 2000)
)
SELECT label, size, round(silhouette, 2) AS silhouette, group_concat(word, ' ') AS words
  FROM (SELECT c.cluster, c.label, c.size, c.silhouette, m.word
          FROM glove_clusters(12, 2000) c JOIN member m ON m.cluster = c.cluster AND m.place <= 8
         ORDER BY c.cluster, m.place)
 GROUP BY cluster;
