// Sequelize with sqlite3: a query with its parameters, sync({ alter: true }), and introspection.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DataTypes, QueryTypes, Sequelize } from 'sequelize';
import glove from 'sqlite-glove';
import { broken, check, createIndex, newFile, query, rows } from './common.mjs';

const columns = { title: DataTypes.TEXT, embedding: DataTypes.BLOB };
async function connect(storage) {
  const sequelize = new Sequelize({ dialect: 'sqlite', storage, logging: false });
  glove.load(await sequelize.connectionManager.getConnection({}));
  return sequelize;
}
const search = (sequelize) => sequelize.query('SELECT d.title, v.similarity FROM doc_vec v JOIN doc d ON d.id = v.id WHERE v.query = $query AND v.k = 2 ORDER BY v.rank', {
  bind: { query }, type: QueryTypes.SELECT });
const define = (sequelize, more = {}) => sequelize.define('doc', { ...columns, ...more }, { freezeTableName: true, timestamps: false });

test('creates, searches, migrates and introspects', async () => {
  const file = newFile(), sequelize = await connect(file), doc = define(sequelize);
  await sequelize.sync();
  await sequelize.query(createIndex);
  await doc.bulkCreate(rows);
  check(await search(sequelize));
  await sequelize.getQueryInterface().addColumn('doc', 'old', DataTypes.TEXT);
  check(await search(sequelize));
  await define(sequelize, { lang: DataTypes.TEXT }).sync({ alter: true });
  await assert.rejects(search(sequelize), broken);
  await sequelize.query("SELECT glove_repair('doc_vec')");
  check(await search(sequelize));
  await sequelize.getQueryInterface().removeColumn('doc', 'old');  // remakes the table
  await sequelize.query("SELECT glove_repair('doc_vec')");
  check(await search(sequelize));
  assert.deepEqual(Object.keys(await sequelize.getQueryInterface().describeTable('doc')).sort(), ['embedding', 'id', 'lang', 'title']);
  await sequelize.drop();  // the tables of its models
  assert.deepEqual(await sequelize.query("SELECT name FROM sqlite_master WHERE name = 'doc'", { type: QueryTypes.SELECT }), []);
  await sequelize.close();
});
