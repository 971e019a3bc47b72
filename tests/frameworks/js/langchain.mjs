// The store for LangChain.js: what its interface promises, its filters, and the same file in the store of the Python package.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Document } from '@langchain/core/documents';
import { Embeddings } from '@langchain/core/embeddings';
import { index } from '@langchain/core/indexing';
import { maximalMarginalRelevance } from '@langchain/core/utils/math';
import { GloveVectorStore } from 'sqlite-glove/langchain';
import { newFile, open, require } from './common.mjs';

const vectors = { rain: [1, 0, 0], storm: [0.9, 0.1, 0], bank: [0, 1, 0], music: [0, 0, 1], long: [1, 2, 3, 4] };
class Words extends Embeddings {
  constructor(known = vectors) {
    super({});
    this.known = known;
  }
  async embedQuery(text) { return this.known[text]; }
  async embedDocuments(texts) { return texts.map((text) => this.known[text]); }
}
const metadatas = [
  { lang: 'en', year: 2020, tags: ['wet', 'grey'] }, { lang: 'fr', year: 2021, tags: ['wet'] },
  { lang: 'en', year: 2022.5, flag: true, note: null }, { lang: 'de', person: { name: "O'Hara" }, 'a "b"': '[1]' }];
const make = (config = {}) => GloveVectorStore.fromTexts(['rain', 'storm', 'bank', 'music'], metadatas, new Words(), {
  db: open(), ids: ['a', 'b', 'c', 'd'], ...config });
const found = async (store, filter) => (await store.similaritySearch('rain', 9, filter)).map((one) => one.id).sort().join('');

test('adds, searches, changes and deletes documents', async () => {
  const store = await make();
  const scored = await store.similaritySearchWithScore('rain', 3);
  assert.deepEqual(scored.map(([one, score]) => [one.id, one.pageContent, Number(score.toFixed(6))]), [
    ['a', 'rain', 1], ['b', 'storm', Number((0.9 / 0.82 ** 0.5).toFixed(6))], ['c', 'bank', 0]]);
  assert.ok(scored[0][0] instanceof Document);
  assert.deepEqual(scored[2][0].metadata, metadatas[2]);
  const ids = await store.addDocuments([new Document({ pageContent: 'music', id: 'a' }), new Document({ pageContent: 'rain', metadata: { n: 1 } })]);
  assert.equal(ids[0], 'a');
  assert.match(ids[1], /^[0-9a-f-]{36}$/);
  assert.deepEqual((await store.similaritySearch('music', 2)).map((one) => [one.id, one.metadata]), [['a', {}], ['d', metadatas[3]]]);
  assert.deepEqual(await store.addVectors([[1, 0, 0], [0, 1, 0]], [new Document({ pageContent: 'one' }), new Document({ pageContent: 'two' })], {
    ids: ['x', 'x'] }), ['x', 'x']);  // the last of one id is written
  assert.deepEqual((await store.similaritySearch('bank', 9, { lang: null })).map((one) => one.pageContent), ['two', 'music', 'rain']);
  await store.delete({ ids: ['a', 'b', 'nosuch'] });
  await store.delete({ filter: { n: 1 } });
  await store.delete({ ids: ['c', 'd'], filter: { lang: 'de' } });
  assert.equal(await found(store), 'cx');
  await assert.rejects(store.delete({}), /needs ids, a filter, or deleteAll/);
  assert.equal(await store.asRetriever({ k: 1, filter: { lang: 'en' } }).invoke('rain').then(([one]) => one.id), 'c');
  await store.delete({ deleteAll: true });
  assert.equal(await found(store), '');
  assert.deepEqual(await store.addDocuments([]), []);
  const byDistance = await make({ indexArguments: { metric: 'l2' } });
  assert.deepEqual((await byDistance.similaritySearchWithScore('rain', 3)).map(([, score]) => Number(score.toFixed(4))), [0, 0.1414, 1.4142]);
});

test('filters', async () => {
  const store = await make();
  for (const [filter, ids] of [
    [undefined, 'abcd'], [{}, 'abcd'], [{ lang: 'en' }, 'ac'], [{ lang: { $eq: 'fr' } }, 'b'], [{ lang: { $ne: 'en' } }, 'bd'],
    [{ year: { $ne: 2020 } }, 'bcd'], [{ year: { $gt: 2020 } }, 'bc'], [{ year: { $gte: 2020, $lt: 2022 } }, 'ab'],
    [{ year: { $lte: 2020 } }, 'a'], [{ lang: { $gt: 'en' } }, 'b'], [{ lang: { $gt: 0 } }, ''], [{ year: { $between: [2021, 2023] } }, 'bc'],
    [{ lang: { $in: ['fr', 'de'] } }, 'bd'], [{ year: { $in: [2020, null] } }, 'ad'], [{ lang: { $nin: ['fr', 'de'] } }, 'ac'],
    [{ year: { $exists: true } }, 'abc'], [{ year: { $exists: false } }, 'd'], [{ note: { $exists: true } }, 'c'], [{ note: null }, 'abcd'],
    [{ tags: { $contains: 'wet' } }, 'ab'], [{ lang: { $contains: 'e' } }, 'acd'], [{ tags: ['wet'] }, 'b'], [{ tags: '["wet"]' }, ''],
    [{ 'a "b"': '[1]' }, 'd'], [{ 'a "b"': [1] }, ''], [{ person: { name: "O'Hara" } }, 'd'], [{ flag: true }, 'c'], [{ lang: "' OR 1 --" }, ''],
    [{ "' OR 1 --": null }, 'abcd'], [{ "' OR 1 --": 1 }, ''], [{ $or: [{ lang: 'fr' }, { year: 2020 }] }, 'ab'], [{ $or: [] }, ''],
    [{ $and: [{ lang: 'en' }, { $not: { year: 2020 } }] }, 'c'], [{ $not: { year: { $gt: 2020 } } }, 'ad'],
    [{ $or: [...Array.from({ length: 3000 }, (_, number) => ({ lang: `${number}` })), { lang: 'fr' }] }, 'b']]) {
    assert.equal(await found(store, filter), ids, JSON.stringify(filter));
  }
  for (const [filter, message] of [
    [{ lang: { $near: 1 } }, /'\$near'/], [{ lang: { $constructor: 1 } }, /'\$constructor'/], [{ $xor: [] }, /'\$xor'/], [['lang'], /must be an object/],
    [() => true, /a function; it must be an object/], [{ lang: { $in: 'en' } }, /not a list/], [{ lang: { $gt: ['en'] } }, /cannot be compared/],
    [{ lang: undefined }, /'lang' is undefined/], [{ lang: { $in: [undefined] } }, /undefined/], [{ $or: { lang: 'en' } }, /must be a list/],
    [{ lang: { $between: [1] } }, /\$between/], [{ 'a\0b': 1 }, /without NUL/]]) {
    await assert.rejects(found(store, filter), message);
  }
  const first = new Date('2024-01-02T03:00:00Z'), second = new Date('2024-01-02T03:04:00Z');
  await store.addDocuments([new Document({ pageContent: 'rain', id: 'x', metadata: { at: first } }), new Document({ pageContent: 'rain', id: 'y', metadata: { at: second } })]);
  assert.equal(await found(store, { at: first }), 'x');
  assert.equal(await found(store, { at: { $gt: first } }), 'y');
  store.createMetadataIndex('lang');
  store.createMetadataIndex('person', 'name');
  assert.throws(() => store.createMetadataIndex('a"b'), /SQLite has no index for the metadata/);
  const [{ detail }] = store.records.db.prepare(`EXPLAIN QUERY PLAN SELECT id FROM document WHERE json_extract(metadata, '$."lang"') = 'en'`).all();
  assert.match(detail, /document_metadata_lang/);
  assert.equal(await found(store, { lang: 'en' }), 'ac');
});

test('diversity is that of LangChain', async () => {
  const known = Object.fromEntries(Array.from({ length: 80 }, (_, number) => [`text ${number}`, Array.from({ length: 16 }, () => Math.random() - 0.5)]));
  const store = await GloveVectorStore.fromTexts(Object.keys(known), { of: 'all' }, new Words(known), { db: open() });
  const query = known['text 7'];
  for (const lambda of [0.1, 0.5, 0.9, 1]) {
    const near = await store.similaritySearch('text 7', 30);
    const expected = maximalMarginalRelevance(query, near.map((one) => known[one.pageContent]), lambda, 8).map((place) => near[place].pageContent);
    assert.deepEqual((await store.maxMarginalRelevanceSearch('text 7', { k: 8, fetchK: 30, lambda })).map((one) => one.pageContent), expected);
  }
  const small = await make();
  assert.deepEqual((await small.maxMarginalRelevanceSearch('rain', { k: 2, fetchK: 1, lambda: 0.5 })).length, 2);
  const retriever = small.asRetriever({ k: 2, searchType: 'mmr', searchKwargs: { fetchK: 4, lambda: 0.1 }, filter: { lang: ['en'] } });
  assert.deepEqual(await retriever.invoke('rain'), []);
  retriever.filter = { lang: { $ne: 'fr' } };
  assert.deepEqual((await retriever.invoke('rain')).map((one) => one.id), ['a', 'c']);
});

test('wrong rows are errors and write nothing, and a transaction stays open', async () => {
  const store = await make(), { db } = store.records;
  const document = (pageContent, more) => new Document({ pageContent, ...more });
  for (const [documents, options, message] of [
    [[document('rain')], { ids: ['x', 'y'] }, /1 documents, but 2 ids/], [[document('rain'), document('long')], {}, /3 dimensions/],
    [[document('rain', { metadata: { a: NaN } })], {}, /'a' has the value NaN/], [[document('rain', { metadata: { a: 1n } })], {}, /JSON/],
    [[document('rain')], { ids: ['a\0b'] }, /without NUL/], [[document('rain')], { ids: [7] }, /the id 7 cannot be stored/]]) {
    await assert.rejects(store.addDocuments(documents, options), message);
  }
  assert.equal(store.records.index.count(), 4);
  await store.delete({ ids: ['a\0b'] });  // and not 'a', as which SQLite reads it
  assert.equal(await found(store), 'abcd');
  db.exec('BEGIN');
  await store.addDocuments([document('rain', { id: 'e' })]);
  assert.equal(await found(store), 'abcde');
  db.exec('ROLLBACK');
  assert.equal(await found(store), 'abcd');
  db.exec('CREATE TABLE own(id INTEGER PRIMARY KEY, key TEXT)');
  assert.throws(() => new GloveVectorStore(new Words(), { db, table: 'own' }), /no column 'metadata'/);
});

test('stays in the file, which another connection writes at the same time', async () => {
  const file = newFile();
  const store = await make({ db: open(file), table: 'my docs' });
  const other = new GloveVectorStore(new Words(), { db: open(file), table: 'my docs' });
  assert.equal(await found(other), 'abcd');
  other.records.db.exec('PRAGMA busy_timeout = 0');
  store.records.db.exec('BEGIN IMMEDIATE');
  await assert.rejects(other.addDocuments([new Document({ pageContent: 'rain', id: 'e' })]), /locked/);
  store.records.db.exec('COMMIT');
  await other.addDocuments([new Document({ pageContent: 'rain', id: 'e' })]);
  assert.equal(await found(store), 'abcde');

  // What a change reads stays true until it has written, because nobody else can write meanwhile.
  const { db } = store.records, seen = [];
  store.records.db = { exec: (sql) => db.exec(sql), prepare: (sql) => {
    if (/^SELECT "key", "id"/.test(sql)) {
      seen.push(sql);
      assert.throws(() => other.records.db.exec('BEGIN IMMEDIATE'), /locked/);
    }
    return db.prepare(sql);
  } };
  await store.addDocuments([new Document({ pageContent: 'bank', id: 'a' })]);
  assert.equal(seen.length, 1);
});

/** What index() knows of earlier runs: the time of each key. */
class Records {
  keys = new Map();
  now = 0;
  async getTime() { return ++this.now; }
  async exists(keys) { return keys.map((key) => this.keys.has(key)); }
  async update(keys) { for (const key of keys) this.keys.set(key, this.now); }
  async listKeys({ before }) { return [...this.keys].filter(([, time]) => time < before).map(([key]) => key); }
  async deleteKeys(keys) { for (const key of keys) this.keys.delete(key); }
}

test('indexing, and require()', async () => {
  const { GloveVectorStore: Required } = require('sqlite-glove/langchain'), { VectorStore } = require('@langchain/core/vectorstores');
  assert.ok(Required.prototype instanceof VectorStore);
  for (const Store of [GloveVectorStore, Required]) {
    const vectorStore = new Store(new Words(), { db: open() }), recordManager = new Records();
    const update = (...texts) => index({ vectorStore, recordManager, options: { cleanup: 'full' },
                                         docsSource: texts.map((pageContent) => new Document({ pageContent, metadata: { source: pageContent } })) });
    assert.deepEqual(await update('rain', 'bank'), { numAdded: 2, numDeleted: 0, numUpdated: 0, numSkipped: 0 });
    assert.deepEqual(await update('rain', 'music'), { numAdded: 1, numDeleted: 1, numUpdated: 0, numSkipped: 1 });
    assert.deepEqual((await vectorStore.similaritySearch('rain', 9)).map((one) => one.pageContent), ['rain', 'music']);
  }
});
