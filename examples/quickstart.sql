-- A short tour, which quickstart.sh runs in the project's directory.
.load ./build/release/glove
.mode box
.print
.print A model is a list of words with one vector each:
SELECT glove_load('build/glove-6b-100d-20k.safetensors', 'glove') AS model;
SELECT name, words, dims, backend FROM glove_models;

.print
.print 'The neighbours of a word: glove_nn(word, expr, k)'
SELECT rank, neighbor, round(similarity, 4) AS similarity FROM glove_nn('piano', NULL, 5);

.print
.print 'Words add and subtract: king - man + woman'
SELECT rank, neighbor, round(similarity, 4) AS similarity FROM glove_nn WHERE expr = 'king - man + woman' AND k = 5;

.print
.print Two words compared:
SELECT round(cos_sim('coffee', 'tea'), 4) AS coffee_tea, round(cos_sim('coffee', 'car'), 4) AS coffee_car;

.print
.print An application table joined with the neighbours of its tags:
CREATE TABLE article(id INTEGER PRIMARY KEY, title TEXT, tag TEXT);
INSERT INTO article(title, tag) VALUES
  ('Sonatas for beginners', 'piano'), ('How the loaf got its crust', 'bread'),
  ('The long road to Mars', 'rocket'), ('A fugue a day', 'violin');
SELECT a.title, a.tag, group_concat(n.neighbor, ', ') AS neighbours
  FROM article a JOIN glove_nn n ON n.word = a.tag AND n.k = 4
 GROUP BY a.id;

.print
.print Which articles are nearest to music, best first:
SELECT a.title, round(n.similarity, 4) AS similarity
  FROM glove_nn('music') n JOIN article a ON a.tag = n.neighbor
 ORDER BY n.rank LIMIT 3;

.print
.print 'An index over the texts of a table, which follows each change of it: glove_index'
CREATE VIRTUAL TABLE article_vec USING glove_index(content='article', rowid='id', text='title', model='glove');
INSERT INTO article(title, tag) VALUES ('Flour, water and salt', 'bread');
SELECT a.title, round(v.similarity, 4) AS similarity
  FROM article_vec v JOIN article a USING (id)
 WHERE v.query = 'recipes for baking' AND a.tag = 'bread' ORDER BY v.rank LIMIT 2;
