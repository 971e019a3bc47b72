// MikroORM: a join, the schema generator that adds a column and that remakes the table, and what it would do without its settings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EntitySchema, MikroORM, SqliteDriver } from '@mikro-orm/sql';
import { SqliteDriver as BetterSqliteDriver } from '@mikro-orm/sqlite';
import { SqliteDialect } from 'kysely';
import glove from 'sqlite-glove';
import { adapted, broken, check, createIndex, newFile, open, query, rows } from './common.mjs';

const schemaGenerator = { skipTables: [/^doc_vec/], ignoreTriggers: true };
const entity = (title = {}, more = {}) => new EntitySchema({ name: 'doc', properties: {
  id: { type: 'integer', primary: true, autoincrement: true }, title: { type: 'text', ...title }, embedding: { type: 'blob', nullable: true }, ...more } });
async function connect(dbName, doc, settings = { schemaGenerator }, load = {}) {
  const options = { dbName, entities: [doc], ...settings };
  if (process.env.GLOVE_HOST === 'node:sqlite') {
    return MikroORM.init({ ...options, driver: SqliteDriver, driverOptions: new SqliteDialect({ database: adapted(open(dbName, load)) }) });
  }
  const orm = await MikroORM.init({ ...options, driver: BetterSqliteDriver });
  glove.load(await orm.em.getConnection().getNativeClient(), load);
  return orm;
}
const search = (orm) => orm.em.getConnection().execute(
  'SELECT d.title, v.similarity FROM doc_vec v JOIN doc d ON d.id = v.id WHERE v.query = ? AND v.k = 2 ORDER BY v.rank', [query]);

test('creates, searches, migrates and introspects', async () => {
  const file = newFile(), lang = { lang: { type: 'text', nullable: true } };
  let orm = await connect(file, entity());
  await orm.schema.update();
  await orm.em.getConnection().execute(createIndex);
  await orm.em.fork().insertMany('doc', rows);
  check(await search(orm));
  assert.equal((await orm.schema.getUpdateSchemaSQL()).trim(), '');
  await orm.close();

  orm = await connect(file, entity({}, lang));
  await orm.schema.update();
  check(await search(orm));
  await orm.close();

  orm = await connect(file, entity({ nullable: true }, lang));
  assert.match(await orm.schema.getUpdateSchemaSQL(), /drop table `doc`/);
  await orm.schema.update();
  await assert.rejects(search(orm), broken);
  await orm.close();

  orm = await connect(file, entity({ nullable: true }, lang), { schemaGenerator }, { repair: true });
  check(await search(orm));
  await orm.close();

  // So both settings are needed: it cannot read columns without types, and drops triggers that it does not know.
  orm = await connect(file, entity({ nullable: true }, lang), {});
  await assert.rejects(orm.schema.getUpdateSchemaSQL(), /Cannot read properties of null/);
  await orm.close();
  orm = await connect(file, entity({ nullable: true }, lang), { schemaGenerator: { ...schemaGenerator, ignoreTriggers: false } });
  assert.match(await orm.schema.getUpdateSchemaSQL(), /drop trigger if exists `doc_vec_insert`/);
  await orm.close();
});
