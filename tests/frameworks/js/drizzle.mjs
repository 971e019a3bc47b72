// Drizzle: a typed join, its migrations, and drizzle-kit's push and pull, whose configuration loads the extension and leaves the index out.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { and, eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { migrate } from 'drizzle-orm/better-sqlite3/migrator';
import { blob, integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { broken, check, createIndex, newFile, open, query, require, rows } from './common.mjs';

const kit = join(dirname(require.resolve('drizzle-kit')), 'bin.cjs');
const doc = sqliteTable('doc', { id: integer().primaryKey(), title: text(), embedding: blob({ mode: 'buffer' }) });
const docVec = sqliteTable('doc_vec', { id: integer(), similarity: real(), rank: integer(), query: blob({ mode: 'buffer' }), k: integer() });
const search = (db) => drizzle(db).select({ title: doc.title, similarity: docVec.similarity }).from(docVec).innerJoin(doc, eq(doc.id, docVec.id))
  .where(and(eq(docVec.query, query), eq(docVec.k, 2))).orderBy(docVec.rank).all();

const config = (options) => `import Database from 'better-sqlite3';
import { loadEach } from 'sqlite-glove';
loadEach(Database, { repair: true });  // drizzle-kit opens connections of its own
export default { dialect: 'sqlite', schema: './schema.ts', out: './drizzle', dbCredentials: { url: 'docs.db' }, ${options} };
`;
const schema = (title, more = '') => `import { blob, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
export const doc = sqliteTable('doc', { id: integer().primaryKey(), title: text()${title}, embedding: blob({ mode: 'buffer' })${more} });
`;

function project(schemaText, options = "tablesFilter: ['!doc_vec*']") {
  const file = newFile(), folder = dirname(file);
  const write = (name, content) => writeFileSync(join(folder, name), content);
  write('schema.ts', schemaText);
  write('drizzle.config.ts', config(options));
  const run = (...command) => execFileSync(process.execPath, [kit, ...command], { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  return { file, folder, write, run };
}

test('migrations', () => {
  const { file, folder, write, run } = project(schema(''));
  run('generate', '--name=create');
  run('generate', '--custom', '--name=index');
  write('drizzle/0001_index.sql', createIndex);
  const db = open(file), up = () => migrate(drizzle(db), { migrationsFolder: join(folder, 'drizzle') });
  up();
  drizzle(db).insert(doc).values(rows).run();
  check(search(db));
  write('schema.ts', schema('', ', lang: text()'));
  run('generate', '--name=lang');
  up();
  check(search(db));
  write('schema.ts', schema('.notNull()', ', lang: text()'));
  run('generate', '--name=required');  // remakes the table
  up();
  assert.throws(() => search(db), broken);
  run('generate', '--custom', '--name=repair');
  write('drizzle/0004_repair.sql', "SELECT glove_repair('doc_vec')");
  up();
  check(search(db));
  db.close();
});

test('push and pull', () => {
  const { file, folder, write, run } = project(schema(''));
  run('push');
  let db = open(file);
  db.exec(createIndex);
  drizzle(db).insert(doc).values(rows).run();
  db.close();
  assert.match(run('push'), /No changes detected/);
  write('schema.ts', schema('', ', lang: text()'));
  run('push');
  write('schema.ts', schema('.notNull()', ', lang: text()'));
  run('push', '--force');  // remakes the table
  db = open(file, { repair: true });
  check(search(db));
  db.close();
  run('pull');
  assert.deepEqual(readFileSync(join(folder, 'drizzle/schema.ts'), 'utf8').match(/sqliteTable\("\w+"/g), ['sqliteTable("doc"']);

  // Nor do an index in temp and its tables need the extension.
  db = open(file);
  db.exec(`DROP TABLE doc_vec; ${createIndex.replace('doc_vec', 'temp.doc_vec').replace("'doc'", "'main.doc'")}`);
  db.close();
  write('drizzle.config.ts', config('').replace(/^.*[lL]oadEach.*$/gm, ''));
  run('pull');
  assert.match(readFileSync(join(folder, 'drizzle/schema.ts'), 'utf8'), /sqliteTable\("doc_vec_segment"/);
  db = open(file);
  db.exec(`DROP TABLE doc_vec; ${createIndex}`);
  db.close();

  // So the settings are needed: without one it asks whether to drop the index, and without the other it fails.
  write('drizzle.config.ts', config(''));
  assert.match(run('push', '--verbose', '--strict'), /DROP TABLE `doc_vec`[^]*Do you still want to push changes/);
  write('drizzle.config.ts', config("tablesFilter: ['!doc_vec*']").replace(/^loadEach.*$/m, ''));
  assert.throws(() => run('push'));
});
