'use strict';
// The table and the index behind a store for a framework: rows with a text as their key, and JSON metadata, as the stores of the Python
// package have them, which may share the file.
const { randomUUID } = require('crypto');
const { load } = require('./index.js');
const { always, canBeIndexed, dumps, metadata } = require('./filters.js');
const { columnsOf, allOrNothing, literal, prepare, quoted } = require('./sql.js');
const { Index } = require('./table.js');
const { shownValue } = require('./values.js');

// Runs work() as a transaction that has the right to write from its start or, if one is open already, as a part of it.
function writing(db, work) {
  let own = true;
  try {
    db.exec('BEGIN IMMEDIATE');
  } catch (error) {
    if (!error.message.includes('within a transaction')) throw error;
    own = false;
  }
  if (!own) return allOrNothing(db, work);
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    try {
      db.exec('ROLLBACK');
    } catch (_) {
      // Some errors have ended the transaction.
    }
    throw error;
  }
}

// A table (id INTEGER PRIMARY KEY, key TEXT UNIQUE, metadata TEXT, vector BLOB, and `columns`) and its Index. Both are made unless the
// file has them.
class Records {
  constructor(db, table, columns, indexArguments = {}) {
    Object.assign(this, { db, table });
    try {
      db.prepare('SELECT glove_version()');
    } catch (_) {
      load(db);
    }
    const known = columnsOf(db, table), missing = ['id', 'key', 'metadata', 'vector', ...columns].find((name) => !known.includes(name));
    if (known.length && missing) throw new TypeError(`the table '${table}' exists, and has no column '${missing}'; choose another name of the table`);
    if (!known.length) {
      const given = Object.entries({ content: table, rowid: 'id', vector: 'vector', check: 'yes', ...indexArguments });
      const wrong = given.find(([name]) => !/^\w+$/.test(name));
      if (wrong) throw new TypeError(`'${wrong[0]}' cannot be an argument of the index`);
      writing(db, () => {
        db.exec(`CREATE TABLE IF NOT EXISTS ${quoted(table)}(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, metadata TEXT NOT NULL, ` +
                `vector BLOB, ${columns.map((name) => `${quoted(name)} TEXT`).join(', ')})`);
        db.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS ${quoted(`${table}_vec`)} USING glove_index(` +
                `${given.map(([name, value]) => `${name}=${literal(value)}`).join(', ')})`);
      });
    }
    this.index = new Index(db, table);
  }

  // Inserts rows, and changes those whose key exists; of several with one key, the last is written. A key that is not given is a new
  // UUID. Returns the keys.
  write(given, vectors, metadatas, columns) {
    const keys = Array.from(vectors, (_, row) => given[row] || randomUUID());
    const wrong = keys.find((key) => typeof key !== 'string' || key.includes('\0'));
    if (wrong !== undefined) throw new TypeError(`the id ${shownValue(wrong)} cannot be stored; it must be a text without NUL`);
    const places = new Map(keys.map((key, place) => [key, place])), chosen = (list) => Array.from(places.values(), (place) => list[place]);
    if (places.size === 0) return keys;
    writing(this.db, () => {
      const known = new Map(this.rows(this.withKeys([...places.keys()]), ['key', 'id']).map((row) => [row.key, row.id]));
      const [{ first }] = prepare(this.db, `SELECT coalesce(max(id), 0) + 1 AS first FROM ${quoted(this.table)}`).all();
      this.index.upsert({
        ids: Array.from(places.keys(), (key, number) => (known.has(key) ? known.get(key) : first + number)), vectors: chosen(vectors),
        columns: { key: places.keys(), metadata: chosen(metadatas).map((one) => dumps(one || {})),
                   ...Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, chosen(values)])) } });
    });
    return keys;
  }

  withKeys(keys, column = 'key') {
    if (!Array.isArray(keys)) throw new TypeError(`the ids are ${shownValue(keys)}; they must be an array of texts`);
    return { sql: `${quoted(column)} IN (SELECT value FROM json_each(?))`, values: [dumps(keys.filter((key) => !String(key).includes('\0')))] };
  }

  rows({ sql, values }, columns) {
    return prepare(this.db, `SELECT ${columns.map(quoted).join(', ')} FROM ${quoted(this.table)} WHERE ${sql}`).all(...values);
  }

  delete(condition) { writing(this.db, () => this.index.delete(this.rows(condition, ['id']).map((row) => row.id))); }

  // The k rows nearest to a vector among those that match, best first, each with its `score`.
  search(vector, k, condition, columns, options) {
    const filter = condition === always ? {} : { where: condition.sql, params: condition.values };
    const rows = this.index.search(vector, k, { ...filter, columns, ...options });
    return rows.map((row) => ({ ...row, score: row.similarity === undefined ? row.distance : row.similarity }));
  }

  // Makes filters on this value of the metadata fast: createMetadataIndex('lang'), or 'person', 'name' of nested ones.
  createMetadataIndex(...keys) {
    if (!canBeIndexed(keys)) throw new TypeError(`SQLite has no index for the metadata '${keys.join('.')}', because its paths cannot name them`);
    const name = `${this.table}_metadata_${keys.join('.')}`;
    this.db.exec(`CREATE INDEX IF NOT EXISTS ${quoted(name)} ON ${quoted(this.table)}(${metadata(...keys).value})`);
  }
}

module.exports = { Records };
