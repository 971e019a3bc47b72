// What the suites share: connections with the extension, vectors, and the answer that each expects of its table.
import assert from 'node:assert/strict';
import { mkdtempSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import glove from 'sqlite-glove';

export const require = createRequire(import.meta.url);

/** A file that does not exist yet, in the folder of this run, which is deleted after it. */
export const newFile = () => join(mkdtempSync('data-'), 'docs.db');

/** A connection of $GLOVE_HOST; with null in place of options, without the extension. */
export function open(file = ':memory:', options) {
  const hosts = {
    'better-sqlite3': () => new (require('better-sqlite3'))(file),
    'node:sqlite': () => new DatabaseSync(file, { allowExtension: true }),
  };
  const db = hosts[process.env.GLOVE_HOST]();
  if (options !== null) glove.load(db, options);
  return db;
}

/** The same in the form of better-sqlite3's, which Kysely and MikroORM need. */
export const adapted = (db) => (process.env.GLOVE_HOST === 'better-sqlite3' ? db : { close: () => db.close(), prepare: (sql) => {
  const statement = db.prepare(sql);
  return { reader: statement.columns().length > 0, all: (values) => statement.all(...values), run: (values) => statement.run(...values) };
} });

export const blob = (vector) => Buffer.from(glove.serializeFloat32(vector));
export const rows = [['red', [1, 0]], ['green', [0, 1]], ['yellow', [1, 1]]].map(([title, vector]) => ({ title, embedding: blob(vector) }));
export const createIndex = "CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='embedding')";
export const query = blob([1, 0.2]);
export const nearest = [['red', 0.981], ['yellow', 0.832]];

/** Compares what a search of `rows` has found, as [title, similarity]. */
export const check = (found) => assert.deepEqual(found.map((row) => [row.title, Number(row.similarity.toFixed(3))]), nearest);

/** What a search says after a tool has remade the table. */
export const broken = /was dropped, so the index may have missed changes.*glove_repair/;

/** The tables of the index and of SQLite, which introspection finds beside that of the rows. */
export const isOfIndex = (name) => name.startsWith('doc_vec') || name === 'sqlite_sequence';
