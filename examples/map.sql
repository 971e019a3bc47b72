-- Draws the 2,000 most frequent words in the plane, coloured by cluster, as map.svg. Run this in the project's
-- directory, with any model:
--
--   GLOVE_MODEL=build/glove-6b-100d.safetensors sqlite3 :memory: '.read examples/map.sql'
.load ./build/release/glove
.mode list

SELECT writefile('map.svg', glove_svg(m.x, m.y, m.word, c.label,
                                      '{"title":"The 2,000 most frequent words, by their nearest neighbours"}'))
         || ' bytes in map.svg'
  FROM glove_map(2000) m
  JOIN glove_kmeans(12, 2000) k ON k.word = m.word
  JOIN glove_clusters(12, 2000) c ON c.cluster = k.cluster;
