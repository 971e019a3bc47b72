'use strict';
// The verbs of the npm package: node_index.js HOST. Exit status 77 if the host is not there.
const assert = require('assert');
const glove = require('sqlite-glove');

const hosts = {
  'node:sqlite': () => new (require('node:sqlite').DatabaseSync)(':memory:', { allowExtension: true }),
  'better-sqlite3': () => new (require('better-sqlite3'))(':memory:'),
};
let db;
try {
  db = hosts[process.argv[2]]();
} catch (error) {
  if (!/Cannot find module|No such built-in module|compiled against a different Node|Could not locate the bindings/.test(error.message)) throw error;
  console.log('skipped: ' + error.message.split('\n')[0]);
  process.exit(77);
}
glove.load(db);

const dims = 5;
const random = () => Float32Array.from({ length: dims }, () => Math.random() + Math.random() - 1);
const cosine = (a, b) => {
  const dot = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);
  return dot(Array.from(a), b) / Math.sqrt(dot(Array.from(a), a) * dot(Array.from(b), b));
};
const ids = (found) => Array.from(found, (row) => Number(row.id));
function check(index, rows, k, options) {
  const query = random();
  const expected = [...rows.keys()].sort((a, b) => cosine(rows.get(b), query) - cosine(rows.get(a), query)).slice(0, k);
  const found = index.search(query, k, options);
  assert.deepStrictEqual(ids(found), expected);
  for (const row of found) assert.ok(Math.abs(row.similarity - cosine(rows.get(Number(row.id)), query)) < 1e-6);
}

const rows = new Map(Array.from({ length: 3000 }, (_, i) => [i + 1, random()]));
const kinds = [...rows.keys()].map((id) => (id % 2 ? 'common' : id % 500 === 0 ? 'rare' : 'other'));
const seen = [];
const index = glove.index(db, 'doc', { ids: [...rows.keys()], vectors: [...rows.values()], columns: { kind: kinds, 'odd "name': kinds.map(() => 1) },
                                       progress: (done, total) => seen.push([done, total]) });
assert.deepStrictEqual(seen, [[0, 3000], [3000, 3000]]);
assert.deepStrictEqual(index.columns, ['kind', 'odd "name']);
for (const kind of ['common', 'rare', 'other', 'none']) {
  const matching = new Map([...rows].filter(([id]) => kinds[id - 1] === kind));
  for (const k of [1, 7, 40]) {
    check(index, matching, k, { where: 'kind = ?', params: [kind] });
    check(index, matching, k, { where: 'kind = :kind', params: { kind } });
    check(index, matching, k, { among: matching.keys() });
  }
}
check(index, rows, 7, { recall: 1n, backend: 'cpu' });
assert.deepStrictEqual(Object.keys(index.search(random(), 1, { columns: ['kind'] })[0]), ['id', 'similarity', 'kind']);
assert.deepStrictEqual(Object.keys(index.search(random(), 1, { columns: [] })[0]), ['id', 'similarity']);
for (const where of ["1; DROP TABLE doc", '1) OR (1', '(1', '1 -- x', "'", '', 7]) {
  assert.throws(() => index.search(random(), 1, { where }), /where must be one SQL expression/);
}
assert.throws(() => index.search(random(), 1, { where: '1', among: [1] }), /where and among/);

// Changes, and rows of one array.
const added = Array.from({ length: 20 }, random);
added.forEach((vector, i) => rows.set(5000 + i, vector));
const flat = new Float32Array(20 * dims);
added.forEach((vector, i) => flat.set(vector, i * dims));
index.add({ ids: added.map((_, i) => 5000n + BigInt(i)), vectors: flat, dims, columns: { kind: added.map(() => null) } });
for (const id of [7, 8, 6000]) rows.set(id, random());
index.upsert({ ids: [7, 8, 6000], vectors: [7, 8, 6000].map((id) => rows.get(id)) });
index.delete(1);
index.delete([2, 3, 99999]);
[1, 2, 3].forEach((id) => rows.delete(id));
check(index, rows, 40);
index.sync();
check(index, rows, 40);
index.command('integrity-check');
check(new glove.Index(db, 'doc'), rows, 7);
assert.strictEqual(db.prepare('SELECT kind FROM doc WHERE id = 7').get().kind, 'common');

// All or nothing, in a transaction of its own or in the open one.
const count = () => Number(db.prepare('SELECT count(*) AS n FROM doc').get().n);
const before = count();
assert.throws(() => index.add({ ids: [9000, 4], vectors: [random(), random()] }), /UNIQUE|constraint/);
assert.strictEqual(count(), before);
db.exec('BEGIN');
index.add({ ids: [9000], vectors: [random()] });
db.exec('ROLLBACK');
assert.strictEqual(count(), before);
assert.throws(() => glove.index(db, 'bad', { columns: { body: ['x'] }, text: 'body', model: 'nosuchmodel' }), /nosuchmodel/);
assert.strictEqual(db.prepare("SELECT count(*) AS n FROM sqlite_master WHERE name LIKE 'bad%'").get().n, 0);

// Values, and errors that name what is wrong.
glove.index(db, 'v', { vectors: [[1], [2]], columns: { t: ['a', null], n: [1, 2.5], i: [1, 2], d: [new Date(0), undefined], b: [true, false] } });
assert.deepStrictEqual({ ...db.prepare('SELECT t, n, i, typeof(i) AS ti, d, b FROM v WHERE id = 1').get() },
                       { t: 'a', n: 1, i: 1, ti: 'integer', d: '1970-01-01T00:00:00.000Z', b: 1 });
const bad = (options, pattern) => assert.throws(() => glove.index(db, 'w', options), pattern);
bad({ ids: ['a'], vectors: [[1]] }, /the id a is not an integer/);
bad({ ids: [1, 2], vectors: [[1]] }, /id 2, vector 1/);
bad({ ids: [1] }, /an index needs vectors, or text/);
bad({ vectors: [1.5] }, /1.5 is not a vector/);
bad({ vectors: new Float32Array(5) }, /dims must say/);
bad({ vectors: [[1]], columns: { Similarity: [1] } }, /cannot have the name/);
bad({ vectors: [[1]], columns: { t: [{}] } }, /which SQLite cannot store/);
bad({ vectors: [[1]], nosuchargument: 'x' }, /there is no argument/);
bad({ vectors: [[1]], columns: [{ t: 'a' }] }, /columns must be an object of arrays/);
assert.throws(() => glove.index(db, 'v', { vectors: [[1]] }), /the table 'v' exists already; open its index by new Index\(db, 'v'\)/);
assert.throws(() => index.search(random(), 3, { filter: 1 }), /search\(\) has no input 'filter'.*where and params/);
assert.throws(() => glove.index(hosts[process.argv[2]](), 'doc', { vectors: [[1]] }), /call load\(db\) of sqlite-glove first/);
assert.throws(() => new glove.Index(db, 'nowhere'), /there is no such table/);
console.log(process.argv[2]);
