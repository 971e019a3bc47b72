// Sequelize with sqlite3: a query with its parameters, sync({ alter: true }), and introspection.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DataTypes, QueryTypes, Sequelize } from 'sequelize';
import { loadEach } from 'sqlite-glove';
import sqlite3 from 'sqlite3';
import { broken, check, createIndex, newFile, query, rows } from './common.mjs';

const columns = { title: DataTypes.TEXT, embedding: DataTypes.BLOB };
loadEach(sqlite3.Database);  // because each transaction opens a connection
const search = (sequelize, transaction) => sequelize.query('SELECT d.title, v.similarity FROM doc_vec v JOIN doc d ON d.id = v.id WHERE v.query = $query AND v.k = 2 ORDER BY v.rank', {
  bind: { query }, type: QueryTypes.SELECT, transaction });
const define = (sequelize, more = {}) => sequelize.define('doc', { ...columns, ...more }, { freezeTableName: true, timestamps: false });

test('creates, searches, migrates and introspects', async () => {
  const sequelize = new Sequelize({ dialect: 'sqlite', storage: newFile(), logging: false }), doc = define(sequelize);
  await sequelize.sync();
  await sequelize.query(createIndex);
  await sequelize.transaction(async (transaction) => {
    await doc.bulkCreate(rows, { transaction });
    check(await search(sequelize, transaction));
  });
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
