'use strict';
// The verbs of the npm package with a neural model, whose folder and library GLOVE_TEST_ENCODER and GLOVE_ONNXRUNTIME name. What they
// return is compared with the cosines of what glove_encode() returns.
const assert = require('assert');
const { execFileSync } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const { DatabaseSync } = require('node:sqlite');
const glove = require('sqlite-glove');

const model = process.env.GLOVE_TEST_ENCODER;
const open = (file = ':memory:', options = {}) => {
  const db = new DatabaseSync(file, { allowExtension: true, ...options });
  glove.load(db);
  return db;
};
if (process.argv[2]) {  // as another process
  const db = new DatabaseSync(':memory:', { allowExtension: true });
  if (process.argv[2] === 'forbids') {  // to load again, as better-sqlite3 does
    const load = db.loadExtension.bind(db), enable = db.enableLoadExtension.bind(db);
    db.enableLoadExtension = undefined;
    db.loadExtension = (file) => {
      load(file);
      enable(false);
    };
  }
  glove.load(db);
  console.log(Object.values(db.prepare("SELECT glove_config('onnxruntime')").get())[0], process.env.GLOVE_ONNXRUNTIME);
  process.exit(0);
}

const texts = ['red', 'green', 'blue'].flatMap((colour) => ['cat', 'dog', 'bird', 'fish'].flatMap((thing) => ['house', 'tree', 'river'].flatMap(
  (place) => [1, 2, 3].map((number) => `the ${colour} ${thing} of ${number} ${place}`))));
const total = texts.length;
const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'glove-')), 'notes.db');
const db = open(file);
const plain = (rows) => rows.map((row) => ({ ...row }));
const logged = () => db.prepare('SELECT logged FROM glove_indexes').get().logged;
db.exec("SELECT glove_config('encode_limit', 20)");

function check(rows, query, others) {
  const vector = (text) => new Float32Array(new Uint8Array(db.prepare('SELECT glove_encode(?) AS v').get(text).v).buffer);
  const dot = (a, b) => a.reduce((sum, x, place) => sum + x * b[place], 0);
  const asked = vector(query);
  const cosines = others.map(vector).map((one) => dot(asked, one) / Math.sqrt(dot(asked, asked) * dot(one, one))).sort((a, b) => b - a);
  assert(rows.length > 0);
  rows.forEach((row, place) => assert(Math.abs(row.similarity - cosines[place]) < 1e-5, `${row.similarity} ${cosines[place]}`));
}

// An interrupt loses one piece, and the next call goes on.
let seen = [];
assert.throws(() => glove.index(db, 'note', { texts, model, progress: (...one) => {
  seen.push(one);
  if (seen.length === 4) throw new Error('interrupted');
} }), /interrupted/);
const left = total - seen[3][0];
assert(left > 0 && left < total);
assert.strictEqual(logged(), left);
seen = [];
const notes = glove.index(db, 'note', { model, ifExists: 'open', progress: (...one) => seen.push(one) });
assert.deepStrictEqual([seen[0], seen.at(-1), logged()], [[0, left], [left, left], 0]);

const found = notes.search('a red dog', 5);
check(found, 'a red dog', texts);
assert.strictEqual(found[0].text, texts[found[0].id - 1]);
const queries = texts.slice(0, 100).map((text) => `a ${text}`);
const many = notes.searchMany(queries, 3);
assert.strictEqual(many.length, 100);
for (const place of [0, 50, 99]) assert.deepStrictEqual(plain(many[place]), plain(notes.search(queries[place], 3)));
check(notes.search('fish', 4, { where: "text LIKE '%tree'" }), 'fish', texts.filter((text) => text.endsWith('tree')));
check(notes.like(1, 3), texts[0], texts.slice(1));
db.exec('CREATE VIRTUAL TABLE note_fts USING fts5(text, content=note, content_rowid=id)');
db.exec("INSERT INTO note_fts(note_fts) VALUES ('rebuild')");
assert.strictEqual(notes.search('red fish', 5, { hybrid: 'note_fts', diversity: 0.5 }).length, 5);
assert.deepStrictEqual(plain(notes.search('red fish', 1, { diversity: 0.5 })), plain(notes.search('red fish', 1)));

// A search encodes what has changed, unless it cannot write.
notes.add({ columns: { text: texts } });
assert.strictEqual(logged(), total);
db.exec('BEGIN');
assert.throws(() => notes.search('fish'), /more than 20 texts .* open transaction; .*new Index\(db, 'note_vec'\)\.sync\(\)/);
db.exec('ROLLBACK');
assert.throws(() => new glove.Index(open(file, { readOnly: true }), 'note').search('fish'), /cannot write \(attempt to write a readonly database\)/);
const other = open(file);
other.exec('BEGIN IMMEDIATE');
assert.throws(() => notes.search('fish'), /cannot write \(database is locked\)/);
other.exec('ROLLBACK');
check(notes.search('fish', 3), 'fish', [...texts, ...texts]);
assert.strictEqual(logged(), 0);

// A path is loaded once, by the name that the index knows.
assert.strictEqual(db.prepare('SELECT count(*) AS n FROM glove_models').get().n, 1);
db.exec(`SELECT glove_unload('${path.basename(model)}')`);
assert.throws(() => new glove.Index(db, 'note').search('fish'), /there is no model .*new Index\(db, 'note_vec', { model: PATH }\)/);
assert.strictEqual(new glove.Index(db, 'note', { model: `${model}/` }).search('fish', 2).length, 2);
assert.throws(() => glove.index(db, 'bad', { texts: [1], model }), /texts has 1, which is no text/);
assert.throws(() => glove.index(db, 'bad', { texts: ['a'], columns: { TEXT: ['b'] }, model }), /columns has 'text'/);
assert.throws(() => glove.index(db, 'bad', { texts: ['a'], model: '/nosuch/model' }), /cannot open '\/nosuch\/model'/);

// load() finds the library of onnxruntime-node, which it does not import.
const folder = path.join(path.dirname(file), 'node_modules', 'onnxruntime-node');
const library = path.join(folder, 'bin/napi-v9', process.platform, process.arch, 'libonnxruntime.so.1');
fs.mkdirSync(path.dirname(library), { recursive: true });
fs.writeFileSync(library, '');
fs.writeFileSync(path.join(folder, 'package.json'), '{"name": "onnxruntime-node", "version": "9.0.0", "main": "index.js"}');
fs.writeFileSync(path.join(folder, 'index.js'), "throw new Error('imported');");
const script = path.join(path.dirname(file), 'script.js');
fs.copyFileSync(__filename, script);
const { GLOVE_ONNXRUNTIME: _, ...environment } = process.env;
const printed = (env, mode) => execFileSync(process.execPath, [script, mode], { env, stdio: ['ignore', 'pipe', 'inherit'] }).toString().trim();
for (const mode of ['allows', 'forbids']) {
  assert.strictEqual(printed(environment, mode), `${library} undefined`);
  assert.strictEqual(printed({ ...environment, GLOVE_ONNXRUNTIME: '/a/library' }, mode), '/a/library /a/library');
}
fs.rmSync(path.dirname(file), { recursive: true });
console.log('neural');
