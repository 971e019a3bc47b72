-- The answers that every build of the extension must give to the last bit, as tables of a database. The module and this machine's
-- glove.so run it beside examples/data/glove-6b-100d-20k.txt.gz.
SELECT glove_load('glove-6b-100d-20k.txt.gz', 'glove');
CREATE TABLE queries AS SELECT id, word FROM glove_words WHERE id % 397 = 5;
CREATE TABLE one AS SELECT q.id AS query, n.neighbor, n.rank, n.similarity
  FROM queries q CROSS JOIN glove_nn n WHERE n.word = q.word AND n.k = 10;
CREATE TABLE batch AS SELECT n.word, n.neighbor, n.rank, n.similarity
  FROM glove_nn n WHERE n.word IN (SELECT word FROM queries) AND n.k = 10;
CREATE TABLE everything AS SELECT neighbor, rank, similarity FROM glove_nn('piano');
CREATE TABLE expression AS SELECT neighbor, rank, similarity FROM glove_nn WHERE expr = 'king - man + woman' AND k = 50;
CREATE TABLE filtered AS SELECT neighbor, similarity FROM glove_nn WHERE word = 'music' AND neighbor GLOB 'p*' ORDER BY rank LIMIT 20;
CREATE TABLE cosines AS SELECT a.id AS a, b.id AS b, cos_sim(a.word, b.word) AS cosine FROM queries a, queries b;
CREATE TABLE words AS SELECT id, word, norm, vector FROM glove_words WHERE id < 300;
-- The toolbox.
CREATE TABLE clusters AS SELECT word, cluster, similarity FROM glove_kmeans(20, 2000);
CREATE TABLE components AS SELECT component, ratio, vector FROM glove_pca(10);
CREATE TABLE map AS SELECT word, x, y FROM glove_map(500);
CREATE TABLE picture AS SELECT glove_svg(m.x, m.y, m.word, c.cluster) AS svg FROM map m JOIN clusters c USING (word);
CREATE TABLE missing AS SELECT glove_oov('king - kingg + "qeen" + kingg') AS words;
SELECT glove_derive('whitened', '{"whiten":true,"dims":40,"words":3000}', 'glove');
CREATE TABLE derived AS SELECT neighbor, similarity FROM glove_nn('snow', NULL, 20, 'whitened');
-- Texts, and a live index of them.
CREATE TABLE doc(id INTEGER PRIMARY KEY, body TEXT);
INSERT INTO doc(body) SELECT 'the ' || q.word || ' and a ' || p.word FROM queries q JOIN queries p ON p.id = q.id + 397;
CREATE TABLE texts AS SELECT id, glove_text_vec(body) AS vector, glove_text_vec(body, NULL, '{"a":0.01,"components":5}') AS derived
  FROM doc;
CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', text='body', model='glove');
CREATE TABLE found AS SELECT id, rank, similarity FROM doc_vec WHERE query = 'a storm is coming' AND k = 20;
INSERT INTO doc(body) VALUES ('heavy rain and strong winds tonight'), ('my bank raised its interest rates');
UPDATE doc SET body = 'thunder and lightning' WHERE id = 3;
DELETE FROM doc WHERE id = 4;
CREATE TABLE changed AS SELECT id, rank, similarity FROM doc_vec WHERE query = 'a storm is coming' AND k = 20;
INSERT INTO doc_vec(doc_vec) VALUES ('sync');
CREATE TABLE synced AS SELECT id, rank, similarity FROM doc_vec WHERE query = 'a storm is coming' AND k = 20;
-- Model files.
SELECT glove_save('whitened', 'whitened.safetensors');
SELECT glove_load('whitened.safetensors', 'again');
CREATE TABLE loaded AS SELECT neighbor, similarity FROM glove_nn('snow', NULL, 20, 'again');
