// test_api.mjs PACKAGE: the JavaScript API of the installed npm package PACKAGE in Node.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';

const init = (await import(pathToFileURL(join(process.argv[2], 'index.mjs')))).default;
const sqlite3 = await init();
const { DB } = sqlite3.oo1;
const text = 'red 1 0 0\ngreen 0 1 0\nblue 0 0 1\npink 0.9 0.1 0.2\n';

test('values of every type come back', () => {
  const db = new DB();
  const values = [null, 7, -1.5, 9007199254740993n, 'größe\u0000x', new Uint8Array([0, 255, 1]), true];
  const row = db.selectArray('SELECT ?, ?, ?, ?, ?, ?, ?', values);
  assert.deepEqual(row, [null, 7, -1.5, 9007199254740993n, 'größe\u0000x', new Uint8Array([0, 255, 1]), 1]);
  assert.deepEqual(db.selectObject('SELECT $a AS a, :b AS b', { $a: 1, ':b': 'two' }), { a: 1, b: 'two' });
  assert.equal(db.selectValue('SELECT 1 WHERE 0'), undefined);
  db.close();
  assert.equal(db.isOpen(), false);
});

test('exec runs all statements and returns rows in each mode', () => {
  const db = new DB();
  const names = [];
  const sql = 'CREATE TABLE t(a, b); INSERT INTO t VALUES (?, 2), (3, 4); SELECT a, b FROM t;';
  assert.deepEqual(db.exec(sql, { bind: [1], returnValue: 'resultRows', columnNames: names }), [[1, 2], [3, 4]]);
  assert.deepEqual(names, ['a', 'b']);
  assert.deepEqual(db.exec('SELECT a, b FROM t', { rowMode: 'object', returnValue: 'resultRows' }), [{ a: 1, b: 2 }, { a: 3, b: 4 }]);
  assert.deepEqual(db.exec('SELECT a, b FROM t', { rowMode: '$b', returnValue: 'resultRows' }), [2, 4]);
  const seen = [];
  db.exec({ sql: 'SELECT a FROM t', rowMode: 0, callback: (value) => { seen.push(value); return false; } });
  assert.deepEqual(seen, [1]);
  assert.equal(db.openStatementCount(), 0);
  assert.equal(db.changes(true), 2);
  db.close();
});

test('errors name the place, and nothing half-done stays', () => {
  const db = new DB();
  db.exec('CREATE TABLE t(a UNIQUE)');
  assert.throws(() => db.exec('SELECT b FROM t'), { name: 'SQLite3Error', resultCode: 1, message: /no such column: b/ });
  assert.throws(() => db.transaction(() => db.exec('INSERT INTO t VALUES (1); INSERT INTO t VALUES (1)')), /UNIQUE/);
  assert.equal(db.selectValue('SELECT count(*) FROM t'), 0);
  db.savepoint(() => db.exec('INSERT INTO t VALUES (5)'));
  assert.equal(db.selectValue('SELECT a FROM t'), 5);
  assert.throws(() => db.exec("SELECT glove_load('missing.txt')"), /cannot open 'missing.txt': No such file/);
  assert.throws(() => new DB('/no/folder/x.db', 'r'), /unable to open/);
  assert.throws(() => db.prepare('SELECT 1').bind(2, 1), /column index out of range/);
  db.close();
  assert.throws(() => db.exec('SELECT 1'), /has been closed/);
});

test('functions in JavaScript', () => {
  const db = new DB();
  db.createFunction('twice', (context, x) => 2 * x);
  db.createFunction({ name: 'fails', xFunc: () => { throw new Error('no luck'); } });
  assert.equal(db.selectValue('SELECT twice(21)'), 42);
  assert.throws(() => db.selectValue('SELECT fails()'), /no luck/);
  db.close();
});

test('files: put, load, remove, compressed, and memory that grows', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'glove-wasm-'));
  const db = new DB();
  try {
    sqlite3.putFile('/colours.txt', new TextEncoder().encode(text));
    db.exec("SELECT glove_load('/colours.txt', 'colours'); SELECT glove_save('colours', '/colours.safetensors')");
    writeFileSync(join(folder, 'c.safetensors.gz'), gzipSync(sqlite3.readFile('/colours.safetensors')));
    writeFileSync(join(folder, 'c.txt.gz'), gzipSync(text));
    const progress = [];
    const path = await sqlite3.fetchFile(pathToFileURL(join(folder, 'c.safetensors.gz')), { progress: (...step) => progress.push(step) });
    assert.equal(path, '/c.safetensors');
    assert.equal(progress.at(-1)[0], progress.at(-1)[1]);
    await sqlite3.fetchFile(pathToFileURL(join(folder, 'c.txt.gz')));
    db.exec("SELECT glove_load('/c.safetensors', 'mapped'); SELECT glove_load('/c.txt.gz', 'packed')");
    db.selectValue('SELECT length(zeroblob(200000000) || 1)');  // the module's memory moves
    for (const model of ['colours', 'mapped', 'packed'])
      assert.deepEqual(db.selectValues("SELECT neighbor FROM glove_nn('red', NULL, 3, ?)", model), ['pink', 'green', 'blue']);
    assert.throws(() => sqlite3.removeFile('/c.safetensors'), /is in use/);
    sqlite3.removeFile('/c.txt.gz');
    assert.ok(!sqlite3.listFiles().includes('c.txt.gz'));
    await assert.rejects(sqlite3.fetchFile(pathToFileURL(join(folder, 'none'))), /ENOENT/);
  } finally {
    db.close();
    rmSync(folder, { recursive: true });
  }
});

test('a database in the module\'s files, and its bytes', () => {
  const db = new DB('/kept.db');
  db.exec('CREATE TABLE t(a); INSERT INTO t VALUES (1)');
  const bytes = sqlite3.capi.sqlite3_js_db_export(db);
  db.close();
  assert.deepEqual(bytes, sqlite3.readFile('/kept.db'));
  sqlite3.putFile('/copy.db', bytes);
  assert.equal(new DB('/copy.db', 'r').selectValue('SELECT a FROM t'), 1);
});

test('the module may come as bytes or compiled', async () => {
  const bytes = readFileSync(join(process.argv[2], 'sqlite-glove.wasm'));
  for (const wasm of [bytes, bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), await WebAssembly.compile(bytes)]) {
    const other = await init({ wasm });
    assert.equal(new other.oo1.DB().selectValue('SELECT 6 * 7'), 42);
  }
  await assert.rejects(init({ wasm: bytes.subarray(0, 100) }), WebAssembly.CompileError);
  await assert.rejects(init({ wasm: pathToFileURL('/no/such.wasm') }), /ENOENT/);
});

test('OPFS needs a browser', async () => {
  await assert.rejects(sqlite3.installOpfs(), /need a browser/);
});
