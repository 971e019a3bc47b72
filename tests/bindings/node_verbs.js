'use strict';
// The verbs of the npm package over keys of each kind, in main and in temp: node_verbs.js HOST. Hybrid and diverse searches are
// compared with the statements of docs/joins.md. Exit status 77 if the host is not there.
const assert = require('assert');
const { execFileSync } = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');
const glove = require('sqlite-glove');

const hosts = {
  'node:sqlite': (file) => new (require('node:sqlite').DatabaseSync)(file, { allowExtension: true }),
  'better-sqlite3': (file) => new (require('better-sqlite3'))(file),
  libsql: (file) => new (require('libsql'))(file),
  '@photostructure/sqlite': (file) => new (require('@photostructure/sqlite').DatabaseSync)(file, { allowExtension: true }),
};
const open = (file = ':memory:') => {
  const db = hosts[process.argv[2]](file);
  glove.load(db);
  return db;
};
if (process.argv[3] === 'write') {  // as another process
  open(process.argv[4]).prepare(process.argv[5]).run('new', Buffer.from(process.argv[6], 'hex'));
  process.exit(0);
}
try {
  open();
} catch (error) {
  if (!/Cannot find module|No such built-in module|compiled against a different Node|Could not locate the bindings/.test(error.message)) throw error;
  console.log('skipped: ' + error.message.split('\n')[0]);
  process.exit(77);
}

const dims = 6, count = 300;
const words = 'rain storm wind snow sun cloud bank rates loan money music violin opera'.split(' ');
const vector = () => Float32Array.from({ length: dims }, () => Math.random() + Math.random() + Math.random() - 1.5);
const one = (list) => list[Math.floor(Math.random() * list.length)];
const blob = (values) => Buffer.from(glove.serializeFloat32(values));
const plain = (rows) => rows.map((row) => ({ ...row }));
const kinds = [
  { columns: ['id'], table: 'id INTEGER PRIMARY KEY', id: (i) => 3 * i - 50 },
  { columns: ['id'], table: 'id TEXT PRIMARY KEY', id: (i) => `key ${String(i).padStart(3, '0')}'` },
  { columns: ['space', 'no'], table: 'space TEXT, no INTEGER', end: ', PRIMARY KEY(space, no)', id: (i) => ['ab'[i % 2], i] },
];
const hybrid = (where, key, same, shown) => `
  WITH allowed AS (SELECT rowid AS row, * FROM doc WHERE ${where}),
    by_text AS (SELECT row, row_number() OVER (ORDER BY rank, row) AS place FROM (
      SELECT rowid AS row, rank FROM doc_fts WHERE doc_fts MATCH ? AND +rowid IN (SELECT row FROM allowed) ORDER BY rank LIMIT 100)),
    by_meaning AS (SELECT a.row, v.rank AS place FROM doc_vec v JOIN allowed a ON ${same}
      WHERE v.query = ? AND v.k = 100 AND v.among = (SELECT glove_keys(${key}) FROM allowed))
  SELECT ${shown}, sum(gain) AS score, lang, body FROM (
      SELECT row, 1.0 * ? / (60 + place) AS gain FROM by_text UNION ALL SELECT row, 1.0 * ? / (60 + place) FROM by_meaning) ranked
    JOIN allowed a USING (row) GROUP BY row ORDER BY score DESC, ${shown} LIMIT 8`;

for (const kind of kinds) {
  for (const schema of ['main', 'temp']) {
    const db = open();
    const idOf = (row) => (kind.columns.length > 1 ? kind.columns.map((name) => row[name]) : row.id);
    const given = (ids) => (kind.columns.length > 1 ? Object.fromEntries(kind.columns.map((name, place) => [name, ids.map((id) => id[place])])) : ids);
    const ids = Array.from({ length: count }, (_, i) => kind.id(i)), vectors = ids.map(vector), none = kind.id(9999);
    const columns = { lang: ids.map(() => one(['en', 'en', 'fr', null])), body: ids.map(() => Array.from({ length: 6 }, () => one(words)).join(' ')) };
    let index;
    if (schema === 'temp') {
      db.exec(`CREATE TABLE temp.doc(${kind.table}, lang, body, emb BLOB${kind.end || ''});
               CREATE VIRTUAL TABLE temp.doc_vec USING glove_index(content=doc, rowid='${kind.columns.join(', ')}', vector="emb")`);
      index = new glove.Index(db, 'doc');
      index.add({ ids: given(ids), vectors, columns });
    } else {
      index = glove.index(db, 'doc', { ids: given(ids), vectors, columns, indexColumns: ['lang', ['lang', 'body']] });
      assert.ok(db.prepare("SELECT 1 AS n FROM sqlite_master WHERE name = 'doc_by_lang_body'").get());
    }
    db.exec(`CREATE VIRTUAL TABLE ${schema}.doc_fts USING fts5(body, content=doc); INSERT INTO doc_fts(doc_fts) VALUES ('rebuild')`);
    const query = vector();

    // What an index is, by the name of either.
    assert.deepStrictEqual([index.table, index.name, index.key, index.columns], ['doc', 'doc_vec', kind.columns, ['lang', 'body']]);
    for (const again of [new glove.Index(db, 'DOC_vec'), new glove.Index(db, 'Doc', { name: 'doc_VEC' })]) {
      assert.deepStrictEqual(plain(again.search(query)), plain(index.search(query)));
    }
    assert.strictEqual(index.count(), count);

    // Filters, batches, and rows like a row.
    const all = plain(index.search(query, count));
    for (const [where, passes] of [[{ lang: 'en' }, (row) => row.lang === 'en'], [{ LANG: null }, (row) => row.lang === null],
                                   [{ lang: ['en', 'fr'] }, (row) => row.lang !== null], [{ lang: [] }, () => false], [{}, () => true]]) {
      assert.deepStrictEqual(plain(index.search(query, 9, { where })), all.filter(passes).slice(0, 9));
    }
    assert.deepStrictEqual(plain(index.search(query, 5, { among: all.slice(10, 20).map(idOf) })), all.slice(10, 15));
    assert.throws(() => index.search(query, 5, { where: { nosuch: 1 } }), /search\(\): where names the column 'nosuch', but those of 'doc' are .*lang, body/);
    assert.throws(() => index.search(query, 5, { where: { lang: 'en' }, params: [1] }), /search\(\): params is \[1\], but where is an object/);
    const queries = Array.from({ length: 300 }, vector);
    queries[7] = queries[3];
    for (const options of [{}, { where: { lang: 'en' } }, { where: 'lang = :l', params: { l: 'fr' } }, { among: ids.slice(0, 50) }, { columns: [] }]) {
      const answers = index.searchMany(queries, 4, options);
      assert.strictEqual(answers.length, 300);
      for (const place of [0, 3, 7, 255, 256, 299]) assert.deepStrictEqual(plain(answers[place]), plain(index.search(queries[place], 4, options)));
    }
    for (const wrong of [null, 'text', 7]) assert.throws(() => index.searchMany(wrong), /searchMany\(\): the queries are .*; they must be an iterable/);
    assert.throws(() => index.searchMany([query, null]), /one of the queries is null/);
    for (const options of [{}, { where: { lang: 'en' } }]) {
      const others = index.search(vectors[5], count, options).filter((row) => String(idOf(row)) !== String(ids[5]));
      assert.deepStrictEqual(plain(index.like(ids[5], 6, options)), plain(others.slice(0, 6)));
    }
    assert.throws(() => index.like(none), /like\(\): 'doc' has no row with the id/);

    // Joins of all rows.
    const graph = index.neighbors(3);
    assert.deepStrictEqual([graph.ids.length, graph.k, graph.indices.length], [count, 3, 3 * count]);
    for (const row of [0, 7, count - 1]) {
      assert.deepStrictEqual(Array.from(graph.indices.slice(3 * row, 3 * row + 3), (place, at) => [graph.ids[place], graph.scores[3 * row + at]]),
                             index.like(graph.ids[row], 3, { columns: [] }).map((found) => [idOf(found), found.similarity]));
    }
    const nearest = index.pairs({ pairs: 5 }), minSimilarity = nearest[4].similarity;
    const byText = (pairs) => pairs.map((pair) => JSON.stringify({ ...pair })).sort();
    assert.deepStrictEqual(byText(index.pairs({ minSimilarity })), byText(nearest));
    const groups = index.groups({ minSimilarity });
    assert.strictEqual(groups.length, count);
    assert.strictEqual(groups.filter(({ size }) => size > 1).length, new Set(nearest.flatMap(({ a, b }) => [String(a), String(b)])).size);
    assert.strictEqual(index.neighbors(50, { among: ids.slice(0, 9) }).k, 8);
    assert.throws(() => index.pairs({}), /give exactly one of min_similarity/);

    // Hybrid and diverse searches.
    const shown = kind.columns.map((name) => `a.${name}`).join(', '), same = kind.columns.map((name) => `a.${name} = v.${name}`).join(' AND ');
    for (const [match, where, weights] of [['rain OR violin', '1', [1, 1]], ['body: storm', "lang = 'en'", [2.5, 1]], ['nosuchword', "lang = 'fr'", [1, 1]],
                                           ['opera', '0', [1, 1]]]) {
      const expected = plain(db.prepare(hybrid(where, kind.columns.join(', '), same, shown)).all(match, blob(query), ...weights));
      assert.deepStrictEqual(plain(index.search(query, 8, { hybrid: 'doc_fts', match, weights, where })), expected);
      assert.deepStrictEqual(plain(index.search(query, 8, { hybrid: 'doc_fts', match, weights, where: `:x AND ${where}`, params: { x: 1 } })), expected);
    }
    const keys = kind.columns.map((name, place) => `m.key${place ? place + 1 : ''} AS ${name}`).join(', ');
    const mmr = (among) => `SELECT ${keys}, m.similarity, d.lang, d.body FROM glove_mmr('doc_vec', ?, 6, ?, 50${among}) m JOIN doc d ON ` +
                           `${kind.columns.map((name, place) => `d.${name} = m.key${place ? place + 1 : ''}`).join(' AND ')} ORDER BY m.rank`;
    for (const diversity of [0, 0.25, 1]) {
      assert.deepStrictEqual(plain(index.search(query, 6, { diversity })), plain(db.prepare(mmr('')).all(blob(query), 1 - diversity)));
    }
    assert.deepStrictEqual(plain(index.search(query, 6, { diversity: 0.5, where: { lang: 'en' } })), plain(db.prepare(
      mmr(`, (SELECT glove_keys(${kind.columns.join(', ')}) FROM doc WHERE lang = 'en')`)).all(blob(query), 0.5)));
    const fused = index.search(query, 30, { hybrid: 'doc_fts', match: 'rain', fetch: 30 });
    const diverse = index.search(query, 6, { hybrid: 'doc_fts', match: 'rain', diversity: 0.7, fetch: 30 });
    assert.deepStrictEqual(diverse.map(idOf), index.search(query, 6, { diversity: 0.7, fetch: 30, among: fused.map(idOf) }).map(idOf));
    for (const [options, message] of [[{ diversity: 2 }, /search\(\): diversity is 2; it must be a number from 0 to 1/],
                                      [{ diversity: 0.5, fetch: 4 }, /search\(\): fetch is 4; it must be a number of rows, at least k, which is 10/],
                                      [{ diversity: 0.5, recall: 0.9 }, /recall is 0.9, but a search with diversity/],
                                      [{ fetch: 40 }, /fetch is 40, but neither hybrid nor diversity/], [{ match: 'a' }, /match is 'a', but hybrid names no/],
                                      [{ hybrid: 'doc_fts' }, /hybrid is 'doc_fts' and the query is a vector, so match must be/],
                                      [{ hybrid: 'doc_fts', match: 'a', weights: 1 }, /weights is 1; it must be two numbers/]]) {
      assert.throws(() => index.search(query, 10, options), message);
    }

    // Rows.
    const keyed = Object.fromEntries(kind.columns.map((name, place) => [name, [ids[7]].flat()[place]]));
    assert.deepStrictEqual({ ...index.get(ids[7]) }, { ...keyed, lang: columns.lang[7], body: columns.body[7] });
    const got = index.get([ids[9], none], { columns: [index.vector] });
    assert.strictEqual(Buffer.compare(Buffer.from(got[0][index.vector]), blob(vectors[9])), 0);
    assert.strictEqual(got[1], null);
    index.delete(ids[0]);
    index.delete([ids[1], ids[2], none]);
    assert.strictEqual(index.count(), count - 3);
    assert.ok(!index.search(vectors[0], count).some((row) => String(idOf(row)) === String(ids[0])));
    index.upsert({ ids: [ids[0]], vectors: [vectors[0]], columns: { lang: ['de'] } });
    assert.deepStrictEqual(idOf(index.search(vectors[0], 1)[0]), ids[0]);
    const wrong = kind.columns.length > 1 ? ['a'] : kind.table.includes('INTEGER') ? [1.5] : [true];
    for (const [verb, call] of [['get', () => index.get(wrong)], ['delete', () => index.delete(wrong)], ['like', () => index.like(wrong[0])],
                                ['add', () => index.add({ ids: wrong, vectors: [query] })], ['search', () => index.search(query, 3, { among: wrong })]]) {
      assert.throws(call, new RegExp(`^TypeError: ${verb}\\(\\): .*(1\\.5|true|'a')`));
    }
    index.drop();
    assert.throws(() => new glove.Index(db, 'doc'), /no index 'doc'/);
    assert.strictEqual(Number(db.prepare('SELECT count(*) AS n FROM doc').get().n), count - 2);
    db.close();
  }
}

// Names, rows and numbers that are odd.
{
  const db = open();
  for (const table of ['x;--y', '--c', '/*x*/', "it's", 'a"b', 'glove_fused', 'GLOVE_text', 'select', 'a\nb', 't', 'v']) {
    const odd = glove.index(db, table, { vectors: [[1, 0], [0, 1], [1, 1]], columns: { from: ['a', 'b', 'a'], 'o"x': [1, 2, 3] }, indexColumns: ['from'] });
    db.exec(`CREATE VIRTUAL TABLE glove_allowed USING fts5("from", content='${table.replaceAll("'", "''")}');
             INSERT INTO glove_allowed(glove_allowed) VALUES ('rebuild')`);
    const where = { from: 'a', 'o"x': [1, 2, 3] }, hybrid = { hybrid: 'glove_allowed', match: 'a' };
    for (const options of [{}, hybrid, { diversity: 0.1 }, { ...hybrid, diversity: 0.1 }]) {
      assert.deepStrictEqual(odd.search([1, 0], 3, { where, ...options }).map((row) => [row.id, row.from, row['o"x']]), [[1, 'a', 1], [3, 'a', 3]]);
      assert.throws(() => odd.search([1, 0], 3, { where, ...options, columns: ['titel'] }), /no such column: [^]*titel/);
      assert.strictEqual(odd.search([1, 0], 2n ** 70n, options).length, 3);
    }
    assert.throws(() => odd.get(1, { columns: ['titel'] }), /no such column: [^]*titel/);
    assert.strictEqual(odd.like(1, 2n ** 70n).length, 2);
    assert.deepStrictEqual(plain(new glove.Index(db, table).search([1, 0])), plain(odd.search([1, 0])));
    assert.throws(() => odd.search([1, 0], 3, { hybrid: table, match: 'a' }), /which is no FTS5 table/);
    assert.throws(() => odd.search([1, 0], 3, { params: [1] }), /params is \[1\], but where is not given/);
    for (const name of ['limit', 'rank', 'similarity', 'query0', `${table}_vec`]) {
      assert.throws(() => odd.search([1, 0], 3, { [name]: 1 }), /has no input/);
      assert.throws(() => odd.searchMany([[1, 0]], 3, { [name]: 1 }), /has no input/);
      assert.throws(() => odd.like(1, 3, { [name]: 1 }), /has no input/);
    }
    odd.delete(1);
    assert.deepStrictEqual(odd.search([1, 0], 3, { ...hybrid, columns: [] }).map((row) => row.id), [3, 2]);
    odd.drop({ table: true });
    db.exec('DROP TABLE glove_allowed');
  }
  assert.throws(() => glove.index(db, 'doc', { ids: { space: [1], vector: [2] }, vectors: [[1, 0]] }), /ids has the column 'vector', which is the name/);
  const renamed = glove.index(db, 'doc', { vectors: [[1, 0]], columns: { lang: ['en'] }, name: 'first' });
  const again = glove.index(db, 'doc', { vectors: [], ifExists: 'open' });
  const other = new glove.Index(db, 'doc');
  db.exec('ALTER TABLE doc RENAME COLUMN lang TO tongue');
  assert.strictEqual(renamed.search([1, 0], 3, { where: { tongue: 'en' } }).length, 1);
  assert.deepStrictEqual({ ...again.get(1) }, { id: 1, tongue: 'en' });
  assert.throws(() => other.search([1, 0], 3, { where: { lang: 'en' }, columns: [] }), /where names the column 'lang'/);
  db.exec("CREATE VIRTUAL TABLE second USING glove_index(content=doc, rowid=id, vector=vector)");
  assert.strictEqual(glove.index(db, 'doc', { vectors: [], name: 'second', ifExists: 'open' }).name, 'second');
  db.exec("CREATE TABLE plain(id TEXT PRIMARY KEY, v) WITHOUT ROWID; CREATE VIRTUAL TABLE plain_vec USING glove_index(content=plain, rowid=id, vector=v)");
  db.exec('CREATE VIRTUAL TABLE plain_fts USING fts5(body)');
  assert.throws(() => new glove.Index(db, 'plain').search([1, 0], 3, { hybrid: 'plain_fts', match: 'a' }), /is one WITHOUT ROWID, but hybrid needs/);
  // An FTS5 table names rows by the column of its content_rowid.
  db.exec(`CREATE TABLE page(id INTEGER PRIMARY KEY, no UNIQUE, body, v); INSERT INTO page VALUES (1, 3, 'rain', '[1, 1]'), (2, 1, 'storm', '[2, 1]'), (3, 2, 'rain', '[3, 1]');
           CREATE VIRTUAL TABLE page_fts USING fts5(body, content=page, content_rowid=no); INSERT INTO page_fts(rowid, body) SELECT no, body FROM page;
           CREATE VIRTUAL TABLE page_vec USING glove_index(content=page, rowid=id, vector=v)`);
  const rainy = new glove.Index(db, 'page').search([1, 0], 3, { hybrid: 'page_fts', match: 'rain', weights: [1, 0] });
  assert.deepStrictEqual(rainy.filter((row) => row.score > 0).map((row) => Number(row.id)), [3, 1]);
  db.exec('CREATE TEMP TABLE doc(id INTEGER PRIMARY KEY)');
  assert.throws(() => new glove.Index(db, 'second'), /the index main.second is that of the table main.doc, but the name 'doc' means temp.doc/);
  db.close();
}

// Open or create, columns that are renamed, texts, and rows that another process writes.
const db = open();
for (const times of [1, 2]) {
  const docs = glove.index(db, 'doc', { vectors: [], columns: { title: [] }, ifExists: 'open' });
  docs.add({ vectors: [[1, 0, times]], columns: { title: ['a'] } });
  assert.strictEqual(docs.count(), times);
}
const docs = new glove.Index(db, 'doc');
db.exec('ALTER TABLE doc RENAME COLUMN title TO headline');
assert.deepStrictEqual(Object.keys(docs.search([1, 0, 0], 1)[0]), ['id', 'similarity', 'headline']);
db.prepare("SELECT glove_load_table('node_verbs', 'SELECT column1, column2 FROM (VALUES (''rain'', ''[1,0]''), (''bank'', ''[0,1]''))')").all();
const notes = glove.index(db, 'note', { columns: { body: ['rain', 'bank', 'rain bank'] }, text: 'body', model: 'node_verbs', options: { components: 0 } });
db.exec("CREATE VIRTUAL TABLE note_fts USING fts5(body, content=note, content_rowid=id); INSERT INTO note_fts(note_fts) VALUES ('rebuild')");
assert.deepStrictEqual(plain(notes.search('rain, "bank', 2, { hybrid: 'note_fts' })), plain(notes.search('rain, "bank', 2, { hybrid: 'note_fts', match: '"rain" OR "bank"' })));
assert.deepStrictEqual(notes.searchMany(['rain', 'bank', 'rain'], 1).map((rows) => rows.map((row) => row.id)), [[1], [2], [1]]);
assert.deepStrictEqual(notes.like(1, 1).map((row) => row.id), [3]);
notes.drop({ table: true });
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'glove-verbs-'));
try {
  const file = path.join(folder, 'doc.db'), shared = open(file);
  const seen = glove.index(shared, 'doc', { ids: ['a', 'b'], vectors: [[1, 0], [0, 1]] });
  execFileSync(process.execPath, [__filename, process.argv[2], 'write', file, "INSERT INTO doc VALUES (?, ?)", blob([-1, -1]).toString('hex')], { stdio: 'inherit' });
  assert.deepStrictEqual(seen.search([-1, -1], 1).map((row) => row.id), ['new']);
  assert.strictEqual(seen.count(), 3);
  const reader = open(file);  // which keeps others from committing
  shared.exec('PRAGMA busy_timeout = 0');
  reader.exec('BEGIN');
  reader.prepare('SELECT * FROM doc').all();
  assert.throws(() => seen.delete('a'), /locked/);
  reader.exec('COMMIT');
  seen.delete('b');
  assert.deepStrictEqual(reader.prepare('SELECT id FROM doc ORDER BY id').all().map((row) => row.id), ['a', 'new']);
  reader.close();
  shared.close();
} finally {
  fs.rmSync(folder, { recursive: true });
}

// After a migration that remade the table, and the connections that a tool opens itself.
{
  const migrated = open();
  const index = glove.index(migrated, 'doc', { vectors: [[1, 0], [0, 1]], columns: { lang: ['en', 'fr'] } });
  assert.deepStrictEqual(glove.repair(migrated), []);
  migrated.exec('CREATE TABLE new AS SELECT * FROM doc; DROP TABLE doc; CREATE TABLE doc(id INTEGER PRIMARY KEY, lang, vector BLOB); ' +
                'INSERT INTO doc(id, lang, vector) SELECT id, lang, vector FROM new WHERE id = 2');
  assert.throws(() => index.search([1, 0]), /glove_repair/);
  assert.deepStrictEqual(glove.repair(migrated), ['main.doc_vec']);
  assert.deepStrictEqual(index.search([1, 0]).map((row) => row.id), [2]);
  migrated.exec('DROP TRIGGER doc_vec_insert');
  glove.load(migrated, { repair: true });
  index.add({ vectors: [[1, 0]] });
  assert.deepStrictEqual(index.search([1, 0]).map((row) => row.id), [3, 2]);
  migrated.exec('DROP TABLE doc_vec; DROP TABLE new; ALTER TABLE doc RENAME TO kept');
  const inTemp = glove.index(migrated, 'doc', { ids: ['a', 'b'], vectors: [[1, 0], [0, 1]], temp: true });
  assert.deepStrictEqual(inTemp.search([1, 0], 1).map((row) => row.id), ['a']);
  assert.deepStrictEqual(new glove.Index(migrated, 'doc').search([0, 1], 1).map((row) => row.id), ['b']);
  assert.deepStrictEqual(migrated.prepare("SELECT name FROM sqlite_master WHERE sql LIKE '%VIRTUAL%'").all(), []);
  migrated.close();

  class Connection {
    constructor() { this.statements = []; }
    loadExtension() { this.statements.push('load'); }
    exec(sql) { this.statements.push(sql); }
    prepare(sql) { this.statements.push(sql); }
    on() {}  // as sqlite3.Database has; load() runs no statement of its own there, because it would come before the extension
  }
  glove.loadEach(Connection);
  const [one, other] = [new Connection(), new Connection()];
  one.exec('a');
  one.prepare('b');
  other.prepare('c');
  assert.deepStrictEqual([one.statements, other.statements], [['load', 'a', 'b'], ['load', 'c']]);
}
console.log(process.argv[2]);
