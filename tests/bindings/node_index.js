'use strict';
// The verbs of the npm package: node_index.js HOST. Exit status 77 if the host is not there.
const assert = require('assert');
const glove = require('sqlite-glove');

const hosts = {
  'node:sqlite': () => new (require('node:sqlite').DatabaseSync)(':memory:', { allowExtension: true }),
  'better-sqlite3': () => new (require('better-sqlite3'))(':memory:'),
  libsql: () => new (require('libsql'))(':memory:'),
  '@photostructure/sqlite': () => new (require('@photostructure/sqlite').DatabaseSync)(':memory:', { allowExtension: true }),
};
const host = process.argv[2];
let db;
try {
  db = hosts[host]();
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
assert.throws(() => index.search(random(), 1, { where: '1', among: [1] }), /search\(\): where is "1" and among is given; give one/);

// With `where`, the statement that ends the search is exact.
const statements = [];
const watched = { exec: (sql) => db.exec(sql), prepare: (sql) => { statements.push(sql); return db.prepare(sql); } };
check(new glove.Index(watched, 'doc'), new Map([...rows].filter(([id]) => kinds[id - 1] === 'rare')), 7,
      { where: "kind = 'rare'", recall: 0.5 });
const [near, among] = statements.filter((sql) => sql.includes('ORDER BY v.rank'));
assert.match(near, /"recall" = /);
assert.doesNotMatch(near, /"k" = /);
assert.match(among, /v.among = /);
assert.doesNotMatch(among, /recall/);
assert.throws(() => index.search(random(), 1, { where: "kind = 'rare'", recall: 7 }), /recall must be a number from 0.5 to 1/);

// The number of rows, names that the index needs itself, and ids that a number cannot be.
for (const where of [undefined, 'id > 0']) {
  assert.strictEqual(index.search(random(), 30n, { where }).length, 30);
  assert.strictEqual(index.search(random(), 0, { where }).length, 0);
  for (const k of [-1, 1.5, null, '3', true, -1n]) {
    assert.throws(() => index.search(random(), k, { where }), /k is .*; it must be a number of rows/);
  }
  for (const query of [null, undefined]) assert.throws(() => index.search(query, 3, { where }), /it must be a vector or, with a model, a text/);
}
const named = glove.index(db, 'named', { vectors: [[1, 0], [0, 1]], columns: { glove_key: ['x', 'y'], Glove_Key_: [7, 8] } });
for (const where of [undefined, "glove_key >= 'x'"]) {
  assert.deepStrictEqual(named.search([1, 0], 2, { where }).map((row) => ({ ...row })),
                         [{ id: 1, similarity: 1, glove_key: 'x', Glove_Key_: 7 }, { id: 2, similarity: 0, glove_key: 'y', Glove_Key_: 8 }]);
}
db.exec("ALTER TABLE named ADD COLUMN similarity DEFAULT 'mine'");
assert.throws(() => new glove.Index(db, 'named').search([1, 0], 2), /has a column 'similarity', which would take the place/);
assert.strictEqual(new glove.Index(db, 'named').search([1, 0], 1, { columns: ['Glove_Key_'] })[0].similarity, 1);
const large = glove.index(db, 'large', { ids: [9007199254740993n, 9007199254740992n, -9007199254740991n, 5],
                                         vectors: [[1, 0], [0.5, 1], [0, 1], [-1, 0]], columns: { n: [1, 2 ** 52, -(2n ** 62n), 7] } });
for (const where of [undefined, 'n IS NOT NULL']) {
  assert.deepStrictEqual(large.search([1, 0], 4, { where }).map((row) => [row.id, row.n]),
                         [[9007199254740993n, 1], [9007199254740992n, 2 ** 52], [-9007199254740991, -4611686018427387904n], [5, 7]]);
}
large.delete(large.search([1, 0], 1)[0].id);
assert.strictEqual(large.search([1, 0], 1)[0].id, 9007199254740992n);
const rounds = { exec: (sql) => db.exec(sql), prepare: (sql) => {  // a host that knows numbers only
  const statement = db.prepare(sql);
  const rounded = (row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]));
  (statement.safeIntegers || statement.setReadBigInts).call(statement, true);
  return { all: (...values) => statement.all(...values).map(rounded), get: (...values) => rounded(statement.get(...values)) };
} };
assert.throws(() => new glove.Index(rounds, 'large').search([1, 0], 1), /the id 9007199254740992 may be that of another row/);
assert.strictEqual(new glove.Index(rounds, 'large').search([-1, 0], 1)[0].id, 5);

// Defaults of the connection: bigints stay, and rows are objects.
if (db.defaultSafeIntegers) db.defaultSafeIntegers(true);
const settings = db.defaultSafeIntegers ? [db] : host !== 'node:sqlite' ? [] : [{ readBigInts: true }, { returnArrays: true }].map((given) => {
  const other = new (require('node:sqlite').DatabaseSync)(':memory:', { allowExtension: true, ...given });
  glove.load(other);
  return other;
});
for (const other of settings) {
  const docs = glove.index(other, 'defaults', { vectors: [[1, 0], [0, 1]], columns: { t: ['x', 'y'] } });
  docs.add({ vectors: [[1, 1]] });
  const one = typeof Object.values(other.prepare('SELECT 1').get())[0] === 'bigint' ? 1n : 1;
  for (const where of [undefined, "t = 'x'"]) assert.deepStrictEqual({ ...docs.search([1, 0], 1, { where })[0] }, { id: one, similarity: 1, t: 'x' });
}
if (db.defaultSafeIntegers) db.defaultSafeIntegers(false);

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

// Rows that could never be found are refused at once.
function refused(docs, pattern, vectors, given) {
  const state = () => db.prepare(`SELECT * FROM ${docs.table}`).all();
  const rows = state(), { n } = db.prepare('SELECT total_changes() AS n').get();
  for (const write of given ? ['add', 'upsert'] : ['add']) assert.throws(() => docs[write]({ ids: given, vectors }), pattern);
  assert.deepStrictEqual(state(), rows);
  assert.strictEqual(db.prepare('SELECT total_changes() AS n').get().n, n);
}
const docs = glove.index(db, 'docs', { ids: [1, 2], vectors: [[1, 0, 0], [0, 1, 0]] });
const empty = glove.index(db, 'empty', { vectors: [] });
for (const given of [undefined, [7, 8]]) {
  refused(docs, /row 1 of vectors has 2 components, but the index has 3 dimensions/, [[1, 1, 1], [1, 1]], given);
  refused(docs, /row 0 of vectors has NaN as the component 2/, [[1, NaN, 1], [1, 1, 1]], given);
  refused(docs, /row 1 of vectors has -Infinity as the component 3/, [[1, 1, 1], [1, 1, -Infinity]], given);
  refused(docs, /row 1 of vectors has Infinity as the component 1/, [[1, 1, 1], [1e39, 1, 1]], given);
  refused(docs, /the component 2 of a vector is null; it must be a number/, [[1, 1, 1], [1, null, 1]], given);
  refused(docs, /a vector has one component or more/, [[1, 1, 1], []], given);
  refused(empty, /row 1 of vectors has 2 components, but the index has 3/, [[1, 1, 1], [1, 1]], given);
}
refused(docs, /row 0 of vectors has 1.75 components/, [new Uint8Array(7), null]);
empty.add({ vectors: [null, [1, 2], null] });
refused(empty, /row 2 of vectors has 3 components, but the index has 2/, [null, [3, 4], [1, 2, 3]]);
empty.add({ vectors: [[3, 4]] });
assert.deepStrictEqual(ids(empty.search([3, 4])), [4, 2]);
assert.throws(() => docs.upsert({ ids: [1, 3], vectors: [[1, 0], [0, 1]] }), /rows of 'docs' that are not given have another number/);
assert.deepStrictEqual(ids(docs.search([1, 0, 0], 1)), [1]);
docs.upsert({ ids: [1, 2], vectors: [[1, 0], null] });
docs.command('rebuild');
assert.deepStrictEqual(ids(docs.search([1, 0])), [1]);
const skips = glove.index(db, 'skips', { vectors: [[1, 0], [0, 1]], invalid: 'skip' });
skips.add({ vectors: [[1, 1, 1], [NaN, 1], [1, 1]] });
skips.sync();
assert.deepStrictEqual(ids(skips.search([1, 1], 9)), [5, 1, 2]);

// Values, and errors that name what is wrong.
glove.index(db, 'v', { vectors: [[1], [2]], columns: { t: ['a', null], n: [1, 2.5], i: [1, 2], d: [new Date(0), undefined], b: [true, false] } });
assert.deepStrictEqual({ ...db.prepare('SELECT t, n, i, typeof(i) AS ti, d, b FROM v WHERE id = 1').all()[0] },
                       { t: 'a', n: 1, i: 1, ti: 'integer', d: '1970-01-01T00:00:00.000Z', b: 1 });
const bad = (options, pattern) => assert.throws(() => glove.index(db, 'w', options), pattern);
bad({ ids: [1, 'a'], vectors: [[1], [2]] }, /index\(\): the id 'a' is not an integer/);
bad({ ids: ['a', 'b', 7], vectors: [[1], [2], [3]] }, /the id 7 has another type than the id 'a'/);
bad({ ids: { a: [1] }, vectors: [[1]] }, /ids has the columns a; a key of one column is given as an array/);
bad({ vectors: [[1]], indexColumns: ['nosuch'] }, /indexColumns has 'nosuch', which is no column of 'w'; those are vector/);
bad({ vectors: [[1]], ifExists: 'replace' }, /ifExists is 'replace'/);
bad({ ids: [1, 2], vectors: [[1]] }, /id 2, vector 1/);
bad({ ids: [1] }, /an index needs vectors, or text/);
bad({ vectors: [1.5] }, /1.5 is not a vector/);
bad({ vectors: [[], []] }, /a vector has one component or more/);
bad({ vectors: [[1, undefined]] }, /the component 2 of a vector is undefined/);
bad({ vectors: new Float32Array(5) }, /dims must say/);
bad({ vectors: [[1]], columns: { Similarity: [1] } }, /cannot have the name/);
bad({ vectors: [[1]], columns: { t: [{}] } }, /which SQLite cannot store/);
bad({ vectors: [[1]], nosuchargument: 'x' }, /there is no argument/);
bad({ vectors: [[1]], columns: [{ t: 'a' }] }, /columns must be an object of arrays/);
assert.throws(() => glove.index(db, 'v', { vectors: [[1]] }), /the table 'v' exists already; open its index by new Index\(db, 'v'\)/);
assert.throws(() => index.search(random(), 3, { filter: 1 }), /search\(\) has no input 'filter'.*where and params/);
assert.throws(() => glove.index(hosts[process.argv[2]](), 'doc', { vectors: [[1]] }), /call load\(db\) of sqlite-glove first/);
assert.throws(() => new glove.Index(db, 'nowhere'), /no index 'nowhere', nor one of a table of this name; index\(db, 'nowhere', ...\) makes/);
db.exec('CREATE TABLE texts(id INTEGER PRIMARY KEY, body TEXT)');
assert.throws(() => new glove.Index(db, 'texts'), /no index 'texts', .* make one by CREATE VIRTUAL TABLE .* columns of 'texts' are id, body/);

// The options of a file of vectors are those of glove_load in SQL.
const folder = require('fs').mkdtempSync(require('path').join(require('os').tmpdir(), 'glove-'));
try {
  const file = require('path').join(folder, 'odd.vec');
  require('fs').writeFileSync(file, Buffer.from('9 2\ncaf\xe9 1 2\nb 3\nc 5 6\nd 7 8\n', 'latin1'));
  const load = (options) => {
    db.prepare('SELECT glove_load(?, ?, ?)').all(file, 'odd', JSON.stringify(options));
    return db.prepare("SELECT group_concat(word, ' ') AS words FROM glove_words('odd')").all()[0].words;
  };
  assert.strictEqual(load({ invalid: 'skip', encoding: 'latin1' }), 'caf\u00e9 c d');
  assert.strictEqual(load({ invalid: 'skip', invalid_utf8: 'skip' }), 'c d');
  assert.strictEqual(load({ invalid: 'skip', top: 2 }), 'caf\ufffd c');
  assert.throws(() => load({}), /line 3: a word and 2 numbers were expected, but it has 1 after its first field/);
} finally {
  require('fs').rmSync(folder, { recursive: true });
}

for (const [type, size] of [['float16', 2], ['bfloat16', 2], ['int8', 1]]) {
  const vectors = Array.from({ length: 8 }, () => Array.from(random(), (one) => Math.round(9 * one)));
  const typed = glove.index(db, type, { vectors: vectors.slice(0, 6), type });
  typed.add({ vectors: vectors.slice(6) });
  typed.upsert({ ids: [3], vectors: [vectors[0]] });
  assert.deepStrictEqual(db.prepare(`SELECT DISTINCT length(vector) AS n FROM ${type}`).all().map((row) => Number(row.n)), [size * dims]);
  assert.deepStrictEqual(ids(new glove.Index(db, type).search(vectors[0], 2)), [1, 3]);
  assert.throws(() => typed.add({ vectors: [[1]] }), /row 0 of vectors has 1 components, but the index has 5 dimensions/);
}
assert.throws(() => glove.index(db, 'unit', { vectors: [[1, 0.5]], type: 'int8' }), /row 0 of vectors has 0.5 as the component 2, which int8 cannot hold; int8 holds whole/);
const skipping = glove.index(db, 'skipping', { vectors: [[1, 2], [NaN, 2], [3, 4]], columns: { valueOf: [1, 2, 3] }, type: 'float16', invalid: 'skip' });
assert.deepStrictEqual(ids(skipping.search([1, 2], 9)), [1, 3]);
for (const [at, options] of [{ metric: 'hamming' }, { type: 'bits' }].entries()) {
  const bits = glove.index(db, `bits${at}`, { vectors: [Buffer.from([0, 1]), new Uint8Array([255, 0]), null], ...options });
  bits.add({ vectors: [Buffer.from([0, 0])] });
  bits.upsert({ ids: [2], vectors: [Buffer.from([0, 7])] });
  assert.deepStrictEqual(bits.search(Buffer.from([0, 0]), 2).map((row) => [Number(row.id), row.distance]), [[4, 0], [1, 1]]);
  assert.deepStrictEqual(new glove.Index(db, `bits${at}`).searchMany([Buffer.from([0, 7]), new Uint8Array(2)], 1).map(ids), [[2], [4]]);
  assert.deepStrictEqual(ids(bits.like(1, 1)), [4]);
  assert.throws(() => bits.add({ vectors: [new Uint8Array(2), new Uint8Array(1)] }), /row 1 of vectors has 8 bits, but the index has 16/);
  assert.throws(() => bits.upsert({ ids: [1], vectors: [new Uint8Array(3)] }), /vectors have 24 bits, but rows of 'bits.' that are not given have another number/);
  for (const wrong of [[1, 0], new Float32Array(2)]) assert.throws(() => bits.search(wrong), /is no vector of bits, which is a Uint8Array or a Buffer/);
  assert.throws(() => bits.add({ vectors: [[1, 0]] }), /is no vector of bits/);
}
assert.throws(() => glove.index(db, 'half', { vectors: [[1]], type: 'half' }), /type is 'half'; it must be 'float32', 'float16', 'bfloat16', 'int8'/);
console.log(process.argv[2]);
