// Kysely: a typed join, a migration that adds a column and one that remakes the table, and introspection.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Kysely, SqliteDialect, sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { adapted, broken, check, createIndex, isOfIndex, newFile, open, query, rows } from './common.mjs';

const connect = (file, options) => new Kysely({ dialect: new SqliteDialect({ database: adapted(open(file, options)) }) });
const search = (db) => db.selectFrom('doc_vec as v').innerJoin('doc', 'doc.id', 'v.id').select(['doc.title', 'v.similarity'])
  .where('v.query', '=', query).where('v.k', '=', 2).orderBy('v.rank').execute();

const migrations = {
  a_create: { up: async (db) => {
    await db.schema.createTable('doc').addColumn('id', 'integer', (column) => column.primaryKey()).addColumn('title', 'text').addColumn('embedding', 'blob').execute();
    await sql.raw(createIndex).execute(db);
  } },
  b_add: { up: (db) => db.schema.alterTable('doc').addColumn('lang', 'text').execute() },
  c_remake: { up: async (db) => {
    await db.schema.createTable('new_doc').addColumn('id', 'integer', (column) => column.primaryKey()).addColumn('title', 'text', (column) => column.notNull())
      .addColumn('embedding', 'blob').execute();
    await db.insertInto('new_doc').columns(['id', 'title', 'embedding']).expression(db.selectFrom('doc').select(['id', 'title', 'embedding'])).execute();
    await db.schema.dropTable('doc').execute();
    await db.schema.alterTable('new_doc').renameTo('doc').execute();
  } },
  d_repair: { up: (db) => sql`SELECT glove_repair('doc_vec')`.execute(db) },
};
async function migrate(db, last) {
  const { error } = await new Migrator({ db, provider: { getMigrations: async () => migrations } }).migrateTo(last);
  if (error) throw error;
}

test('creates, searches, migrates and introspects', async () => {
  const file = newFile();
  let db = connect(file);
  await migrate(db, 'a_create');
  await db.insertInto('doc').values(rows).execute();
  check(await search(db));
  await migrate(db, 'b_add');
  check(await search(db));
  await migrate(db, 'c_remake');
  await assert.rejects(search(db), broken);
  await migrate(db, 'd_repair');
  check(await search(db));
  const tables = await db.introspection.getTables();
  assert.deepEqual(tables.map((table) => table.name).filter((name) => !isOfIndex(name)), ['doc']);
  assert.deepEqual(tables.find((table) => table.name === 'doc_vec').columns.map((column) => column.name), ['id', 'similarity', 'rank']);
  await sql.raw(createIndex.replace('doc_vec', 'temp.doc_all').replace("'doc'", "'main.doc'")).execute(db);
  await sql`DROP TABLE doc_vec`.execute(db);
  const plain = connect(file, null);  // which reads the schema of an index in temp, too
  assert.deepEqual((await plain.introspection.getTables()).map((table) => table.name).filter((name) => !name.startsWith('doc_all_')), ['doc']);
  await plain.destroy();
  await sql`DROP TABLE doc_all`.execute(db);
  await sql.raw(createIndex).execute(db);
  await sql`DROP TRIGGER doc_vec_insert`.execute(db);
  await db.destroy();
  db = connect(file, { repair: true });
  check(await search(db));
  await db.destroy();
});
