// Three drivers in one process, each with a SQLite of its own: better-sqlite3 fills a file that Sequelize's sqlite3 and node:sqlite search.
import { test } from 'node:test';
import { DatabaseSync } from 'node:sqlite';
import glove from 'sqlite-glove';
import { check, createIndex, newFile, query, require, rows } from './common.mjs';

const search = 'SELECT doc.title, v.similarity FROM doc_vec v JOIN doc USING (id) WHERE v.query = ? AND v.k = 2 ORDER BY v.rank';

test('each driver gets the extension', async () => {
  const file = newFile();
  const seed = new (require('better-sqlite3'))(file);
  glove.load(seed);
  seed.exec(`CREATE TABLE doc(id INTEGER PRIMARY KEY, title, embedding); ${createIndex}`);
  const insert = seed.prepare('INSERT INTO doc(title, embedding) VALUES (?, ?)');
  for (const { title, embedding } of rows) insert.run(title, embedding);
  check(seed.prepare(search).all(query));
  seed.close();  // two libraries must not have one file open at once: closing it in one of them ends the locks of the other

  const other = await new Promise((resolve, reject) => {
    const db = new (require('sqlite3').Database)(file, (error) => (error ? reject(error) : resolve(db)));
  });
  await new Promise((resolve, reject) => { other.loadExtension(glove.loadablePath(), (error) => (error ? reject(error) : resolve())); });
  check(await new Promise((resolve, reject) => { other.all(search, [query], (error, found) => (error ? reject(error) : resolve(found))); }));
  await new Promise((resolve) => { other.close(resolve); });

  const own = new DatabaseSync(file, { allowExtension: true });
  glove.load(own);
  check(own.prepare(search).all(query));
  own.close();
});
