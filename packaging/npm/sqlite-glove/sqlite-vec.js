'use strict';
// fromSqliteVec(): makes an ordinary table and its indexes of a vec0 table, by the names and types that python -m sqlite_glove
// from-sqlite-vec chooses, too. sqlite-vec reads the rows here.
const { allOrNothing, checkLoaded, literal, prepare, quoted } = require('./sql.js');

const madeBy = /\bUSING\s+["'`[]?vec0["'`\]]?\s*\(([^]*)\)\s*$/i;
const vector = /^(\w+)\s+(\w+)\s*\[\s*(\d+)\s*\](?:\s*distance_metric\s*=\s*(\w+))?$/i;
const other = /^(\+?)\s*(\w+)\s+(\w+)(?:\s+(primary|partition)\s+key)?$/i;
const types = { __proto__: null, text: 'TEXT', int: 'INTEGER', integer: 'INTEGER', float: 'REAL', double: 'REAL', bool: 'BOOLEAN', boolean: 'BOOLEAN', blob: 'BLOB' };

function vectorColumn(table, [, name, element, dims, given]) {
  const isBits = element.toLowerCase() === 'bit';
  const metric = isBits ? 'hamming' : (given || 'l2').toLowerCase();
  if (!isBits && !['float', 'f32'].includes(element.toLowerCase())) {
    throw new TypeError(`the column '${name}' of '${table}' has vectors of ${element}, and only those of float and bit can be converted here` +
                        (/^(int8|i8)$/i.test(element) ? '; python -m sqlite_glove from-sqlite-vec converts these' : ''));
  }
  if (!isBits && metric !== 'cosine' && metric !== 'l2') {
    throw new TypeError(`the column '${name}' of '${table}' has distance_metric=${given}, and a glove_index has none like it; only cosine and ` +
                        'l2 can be converted');
  }
  return { name, type: 'BLOB', dims, metric, from: name };
}

// The columns that CREATE VIRTUAL TABLE ... USING vec0(text) made, the key first.
function columnsOf(table, text) {
  let key;
  const columns = [];
  for (const one of text.split(',').map((part) => part.trim()).filter((part) => !/^\w+\s*=/.test(part))) {
    const asVector = one.match(vector);
    const found = one.match(other);
    if (asVector) {
      columns.push(vectorColumn(table, asVector));
    } else if (!found || !types[found[3].toLowerCase()]) {
      throw new TypeError(`'${table}' was made with '${one}', of which this version knows nothing; copy the rows by SQL`);
    } else if ((found[4] || '').toLowerCase() === 'primary') {
      key = { name: found[2], from: found[2], type: types[found[3].toLowerCase()] === 'TEXT' ? 'TEXT PRIMARY KEY NOT NULL' : 'INTEGER PRIMARY KEY' };
    } else {
      columns.push({ name: found[2], from: found[2], type: types[found[3].toLowerCase()], partition: Boolean(found[4]) });
    }
  }
  if (key) return [key, ...columns];
  const taken = new Set(columns.map((one) => one.name.toLowerCase()));
  return [{ name: ['id', 'rowid', 'vec0_rowid'].find((name) => !taken.has(name)), from: 'rowid', type: 'INTEGER PRIMARY KEY' }, ...columns];
}

function tableOf(db, wanted) {
  const known = prepare(db, "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%' ORDER BY name").all()
    .filter(({ sql }) => madeBy.test(sql));
  const names = known.map(({ name }) => `'${name}'`).join(', ');
  const found = wanted === undefined ? known : known.filter(({ name }) => name.toLowerCase() === String(wanted).toLowerCase());
  if (found.length === 1) return found[0];
  if (known.length === 0) throw new TypeError('the database has no vec0 table');
  throw new TypeError(wanted === undefined ? `the database has the vec0 tables ${names}; name one of them` : `there is no vec0 table '${wanted}'; there are ${names}`);
}

exports.fromSqliteVec = (db, table, { into } = {}) => {
  checkLoaded(db);
  const { name, sql } = tableOf(db, table);
  const target = into === undefined ? `${name}_rows` : into;
  const columns = columnsOf(name, sql.match(madeBy)[1]);
  const partitions = columns.filter((one) => one.partition).map((one) => one.name);
  const vectors = columns.filter((one) => one.dims);
  const list = (key) => columns.map((one) => quoted(one[key])).join(', ');
  return allOrNothing(db, () => {
    db.exec(`CREATE TABLE ${quoted(target)}(${columns.map((one) => `${quoted(one.name)} ${one.type}`).join(', ')})`);
    try {
      db.exec(`INSERT INTO ${quoted(target)}(${list('name')}) SELECT ${list('from')} FROM ${quoted(name)}`);
    } catch (error) {
      if (!String(error.message).includes('no such module')) throw error;
      throw new TypeError('sqlite-vec is not loaded into this connection; call its load(db), or run python -m sqlite_glove from-sqlite-vec, ' +
                          'which does without it');
    }
    if (partitions.length) {
      db.exec(`CREATE INDEX ${quoted(`${target}_by_${partitions.join('_')}`)} ON ${quoted(target)}(${partitions.map(quoted).join(', ')})`);
    }
    const indexes = vectors.map((one) => {
      const index = vectors.length === 1 ? `${target}_vec` : `${target}_${one.name}_vec`;
      const given = { content: target, rowid: quoted(columns[0].name), vector: one.name, dims: one.dims, metric: one.metric };
      const using = Object.entries(given).map(([key, value]) => `${key}=${literal(String(value))}`).join(', ');
      db.exec(`CREATE VIRTUAL TABLE ${quoted(index)} USING glove_index(${using}, check='yes')`);
      db.exec(`INSERT INTO ${quoted(index)}(${quoted(index)}) VALUES ('sync')`);
      return index;
    });
    return { table: target, indexes, rows: prepare(db, `SELECT count(*) AS n FROM ${quoted(target)}`).all()[0].n };
  });
};
