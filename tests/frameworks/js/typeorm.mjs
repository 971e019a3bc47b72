// TypeORM: a join, synchronize() that adds a column, and introspection.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DataSource, EntitySchema } from 'typeorm';
import glove from 'sqlite-glove';
import { broken, check, createIndex, isOfIndex, newFile, query, rows } from './common.mjs';

const entity = (more = {}) => new EntitySchema({ name: 'doc', columns: {
  id: { type: 'integer', primary: true, generated: true }, title: { type: 'text' }, embedding: { type: 'blob', nullable: true }, ...more } });
const connect = (database, options, entities = [entity()], load) => new DataSource({ type: 'better-sqlite3', database, entities, ...options,
  prepareDatabase: (db) => glove.load(db, load) }).initialize();
const search = (source) => source.getRepository('doc').createQueryBuilder('doc').innerJoin('doc_vec', 'v', 'v.id = doc.id')
  .select(['doc.title AS title', 'v.similarity AS similarity']).where('v.query = :query AND v.k = 2', { query }).orderBy('v.rank').getRawMany();

test('creates, searches, migrates and introspects', async () => {
  const file = newFile();
  let source = await connect(file, { synchronize: true });
  await source.query(createIndex);
  await source.getRepository('doc').save(rows);
  check(await search(source));
  await source.synchronize();
  check(await search(source));
  await source.destroy();
  source = await connect(file, { synchronize: true }, [entity({ lang: { type: 'text', nullable: true } })]);
  await assert.rejects(search(source), broken);
  glove.repair(source.driver.databaseConnection);
  check(await search(source));
  const runner = source.createQueryRunner(), tables = await runner.getTables();
  assert.deepEqual(tables.map((table) => table.name).filter((name) => !isOfIndex(name)), ['doc']);
  await assert.rejects(source.dropDatabase(), /doc_vec_config may not be dropped/);
  await source.query('DROP TABLE doc_vec');
  await source.dropDatabase();
  assert.deepEqual(await source.query("SELECT name FROM sqlite_master WHERE name <> 'sqlite_sequence'"), []);
  await source.destroy();
});
