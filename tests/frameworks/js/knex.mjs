// Knex: a join, migrations that add a column and that remake the table, and introspection.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import knex from 'knex';
import glove from 'sqlite-glove';
import { broken, check, createIndex, newFile, query, rows } from './common.mjs';

const connect = (filename, options) => knex({ client: 'better-sqlite3', connection: { filename }, useNullAsDefault: true, pool: {
  afterCreate(connection, done) {
    glove.load(connection, options);
    done(null, connection);
  } } });
const search = (db) => db('doc_vec as v').join('doc', 'doc.id', 'v.id').select('doc.title', 'v.similarity').where({ 'v.query': query, 'v.k': 2 }).orderBy('v.rank');

const migrations = {
  a_create: { up: async (db) => {
    await db.schema.createTable('doc', (table) => {
      table.increments('id');
      table.text('title');
      table.binary('embedding');
      table.text('old');
    });
    await db.raw(createIndex);
  } },
  b_add: { up: (db) => db.schema.alterTable('doc', (table) => { table.text('lang'); }) },
  c_alter: { up: (db) => db.schema.alterTable('doc', (table) => { table.text('title').notNullable().alter(); }) },
  d_repair: { up: (db) => db.raw("SELECT glove_repair('doc_vec')") },
  e_drop: { up: (db) => db.schema.alterTable('doc', (table) => { table.dropColumn('old'); }) },
};
const source = { getMigrations: async () => Object.keys(migrations), getMigrationName: (name) => name, getMigration: async (name) => ({ down() {}, ...migrations[name] }) };
const up = (db, name) => db.migrate.up({ migrationSource: source, name });

test('creates, searches, migrates and introspects', async () => {
  const file = newFile();
  let db = connect(file);
  await up(db, 'a_create');
  await db('doc').insert(rows);
  check(await search(db));
  await up(db, 'b_add');
  check(await search(db));
  await up(db, 'c_alter');
  await assert.rejects(search(db), broken);
  await up(db, 'd_repair');
  check(await search(db));
  await up(db, 'e_drop');
  await assert.rejects(search(db), broken);
  await db.destroy();
  db = connect(file, { repair: true });
  check(await search(db));
  assert.deepEqual(Object.keys(await db('doc').columnInfo()).sort(), ['embedding', 'id', 'lang', 'title']);
  assert.ok(await db.schema.hasTable('doc_vec'));
  await db.destroy();
});
