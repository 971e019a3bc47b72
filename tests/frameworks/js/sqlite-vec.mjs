// fromSqliteVec() beside sqlite-vec itself: the same rows, and the same answers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import glove from 'sqlite-glove';
import * as sqliteVec from 'sqlite-vec';
import { newFile, open } from './common.mjs';

const dims = 32;
let state = 1;
const random = () => { state = (state * 48271) % 2147483647; return state / 2147483647 - 0.5; };
const vector = () => Buffer.from(Float32Array.from({ length: dims }, random).buffer);

function opened(file) {
  const db = open(file);
  sqliteVec.load(db);
  return db;
}
const fill = (db, sql, rows) => {
  const statement = db.prepare(sql);
  db.exec('BEGIN');
  for (const row of rows) statement.run(...row);
  db.exec('COMMIT');
};
const list = (db, sql, ...values) => db.prepare(sql).all(...values).map((row) => Object.values(row));

for (const metric of ['cosine', 'l2']) {
  test(`has the rows and the answers of a table with ${metric}`, () => {
    const db = opened();
    db.exec(`CREATE VIRTUAL TABLE doc USING vec0(user_id integer partition key, emb float[${dims}] distance_metric=${metric}, title text, ok boolean,
             year integer, +body text, chunk_size=64)`);
    fill(db, 'INSERT INTO doc(rowid, user_id, emb, title, ok, year, body) VALUES (?, ?, ?, ?, ?, ?, ?)', Array.from({ length: 500 }, (_, i) =>
      [7n * BigInt(i + 1), BigInt(i % 5), vector(), `title ${i} `.repeat(i % 3), BigInt(i % 2), BigInt(1990 + (i % 30)), `body ${i}`]));
    db.exec('DELETE FROM doc WHERE rowid % 49 = 0');
    assert.deepEqual(glove.fromSqliteVec(db), { table: 'doc_rows', indexes: ['doc_rows_vec'], rows: 429 });
    const columns = 'user_id, emb, title, ok, year, body';
    assert.deepEqual(list(db, `SELECT id, ${columns} FROM doc_rows ORDER BY 1`), list(db, `SELECT rowid, ${columns} FROM doc ORDER BY 1`));
    assert.equal(list(db, "SELECT name FROM sqlite_master WHERE name = 'doc_rows_by_user_id'").length, 1);
    for (let i = 0; i < 20; ++i) {
      const query = vector();
      for (const [old, made] of [['', ''], [' AND user_id = 3 AND year > 2000', ' AND among = (SELECT glove_keys(id) FROM doc_rows WHERE user_id = 3 AND year > 2000)']]) {
        const expected = list(db, `SELECT rowid, distance FROM doc WHERE emb MATCH ? AND k = 10${old}`, query);
        const found = list(db, `SELECT id, distance FROM doc_rows_vec WHERE query = ? AND k = 10${made} ORDER BY rank`, query);
        assert.deepEqual(found.map(([id]) => id), expected.map(([id]) => id));
        found.forEach(([, distance], j) => assert.ok(Math.abs(distance - expected[j][1]) < 1e-5 * Math.max(1, distance)));
      }
    }
    db.close();
  });
}

test('keeps texts as keys, and makes an index for each vector column', () => {
  const db = opened();
  db.exec('CREATE VIRTUAL TABLE t USING vec0(name text primary key, a float[2], id float[3], n integer)');
  db.exec("INSERT INTO t VALUES ('x', '[1, 0]', '[1, 0, 0]', 4), ('y', '[0, 1]', '[0, 1, 0]', 5)");
  assert.deepEqual(glove.fromSqliteVec(db, 'T', { into: 'my "rows' }), { table: 'my "rows', indexes: ['my "rows_a_vec', 'my "rows_id_vec'], rows: 2 });
  assert.deepEqual(list(db, `SELECT name, distance FROM "my ""rows_id_vec" WHERE query = '[0, 1, 0]' AND k = 1`), [['y', 0]]);
  db.exec(`CREATE VIRTUAL TABLE other USING vec0(id float[2])`);
  db.exec("INSERT INTO other(rowid, id) VALUES (9, '[1, 2]')");
  assert.equal(glove.fromSqliteVec(db, 'other').rows, 1);
  assert.deepEqual(list(db, 'SELECT rowid FROM other_rows'), [[9]]);
  db.close();
});

test('finds the rows of bits that sqlite-vec finds', () => {
  const db = opened();
  db.exec(`CREATE VIRTUAL TABLE hash USING vec0(code bit[${dims}])`);
  const bits = () => vector().subarray(0, dims / 8);
  fill(db, 'INSERT INTO hash(code) VALUES (vec_bit(?))', Array.from({ length: 500 }, () => [bits()]));
  assert.deepEqual(glove.fromSqliteVec(db), { table: 'hash_rows', indexes: ['hash_rows_vec'], rows: 500 });
  const query = bits();  // rows at one distance may be in any order
  assert.deepEqual(list(db, 'SELECT distance FROM hash_rows_vec WHERE query = ? AND k = 50 ORDER BY rank', query),
                   list(db, 'SELECT distance FROM hash WHERE code MATCH vec_bit(?) AND k = 50', query));
  db.close();
});

test('an error says what to do, and nothing has changed', () => {
  const db = opened();
  const refused = (expected, ...given) => {
    const before = list(db, 'SELECT name FROM sqlite_master ORDER BY 1');
    assert.throws(() => glove.fromSqliteVec(db, ...given), expected);
    assert.deepEqual(list(db, 'SELECT name FROM sqlite_master ORDER BY 1'), before);
  };
  refused(/the database has no vec0 table/);
  db.exec('CREATE VIRTUAL TABLE a USING vec0(e int8[4]); CREATE VIRTUAL TABLE b USING vec0(e float[2]); CREATE VIRTUAL TABLE c USING vec0(e float[2] distance_metric=l1)');
  refused(/the database has the vec0 tables 'a', 'b', 'c'; name one of them/);
  refused(/there is no vec0 table 'd'; there are 'a', 'b', 'c'/, 'd');
  refused(/vectors of int8.*python -m sqlite_glove from-sqlite-vec converts these/, 'a');
  refused(/distance_metric=l1.*only cosine and l2/, 'c');
  db.exec('CREATE VIRTUAL TABLE f USING vec0(e float[2]); CREATE TABLE f_rows(x); CREATE TABLE g_vec(x)');
  refused(/f_rows/, 'f');
  refused(/g_vec/, 'f', { into: 'g' });
  db.close();
});

test('says that sqlite-vec is not loaded', () => {
  const file = newFile();
  const made = opened(file);
  made.exec('CREATE VIRTUAL TABLE v USING vec0(e float[2])');
  made.close();
  const db = open(file);
  assert.throws(() => glove.fromSqliteVec(db), /sqlite-vec is not loaded into this connection; call its load\(db\), or run python -m/);
  db.close();
});
