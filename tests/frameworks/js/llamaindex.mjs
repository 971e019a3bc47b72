// The store for LlamaIndex.TS: an index with its retriever, filters as those of SimpleVectorStore, and the modes of a query.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BaseEmbedding } from '@llamaindex/core/embeddings';
import { Settings } from '@llamaindex/core/global';
import { IndexNode, NodeRelationship, ObjectType, TextNode } from '@llamaindex/core/schema';
import { Document, SimpleVectorStore, VectorStoreIndex, storageContextFromDefaults } from 'llamaindex';
import { GloveVectorStore } from 'sqlite-glove/llamaindex';
import { newFile, open } from './common.mjs';

const vectors = { rain: [1, 0, 0], storm: [0.9, 0.1, 0], bank: [0, 1, 0], music: [0, 0, 1] };
class Words extends BaseEmbedding {
  async getTextEmbedding(text) { return Object.entries(vectors).find(([word]) => text.includes(word))[1]; }
}
Settings.embedModel = new Words();

const metadatas = [
  { lang: 'en', year: 2020, tags: ['wet', 'grey'], empty: '' }, { lang: 'fr', year: 2021, tags: ['wet'], empty: [] },
  { lang: 'en', year: 2022.5, note: null }, { lang: 'de', 'a "b"': "O'Hara", tags: 'wet' }];
const source = (nodeId) => ({ [NodeRelationship.SOURCE]: { nodeId, nodeType: ObjectType.DOCUMENT, metadata: {} } });
const nodes = () => Object.entries(vectors).map(([text, embedding], row) => new TextNode({
  id_: 'abcd'[row], text, embedding, metadata: metadatas[row], relationships: source(row < 2 ? 'weather' : text) }));
async function make(config = {}) {
  const store = new GloveVectorStore({ db: open(), ...config });
  assert.deepEqual(await store.add(nodes()), ['a', 'b', 'c', 'd']);
  return store;
}
const query = (store, more = {}) => store.query({ queryEmbedding: vectors.rain, similarityTopK: 9, mode: 'default', ...more });
const found = async (store, filters, condition) => (await query(store, { filters: { filters, condition } })).ids.sort().join('');

test('an index, its retriever, and the file', async () => {
  const file = newFile(), vectorStore = new GloveVectorStore({ db: open(file) });
  const storageContext = await storageContextFromDefaults({ vectorStore });
  const documents = Object.keys(vectors).map((text, row) => new Document({ text, id_: `doc ${row}`, metadata: { lang: row ? 'en' : 'fr' } }));
  const index = await VectorStoreIndex.fromDocuments(documents, { storageContext });
  const filters = { filters: [{ key: 'lang', operator: '==', value: 'en' }] };
  const [first] = await index.asRetriever({ similarityTopK: 1, filters }).retrieve({ query: 'rain' });
  assert.deepEqual([first.node.text, first.node.metadata.lang, first.node.sourceNode.nodeId, first.score.toFixed(4)], ['storm', 'en', 'doc 1', '0.9939']);
  const again = await VectorStoreIndex.fromVectorStore(new GloveVectorStore({ db: open(file) }));
  assert.equal((await again.asRetriever({ similarityTopK: 9 }).retrieve({ query: 'rain' })).length, 4);
  await index.deleteRefDoc('doc 0');
  assert.deepEqual((await again.asRetriever({ similarityTopK: 2 }).retrieve({ query: 'rain' })).map(({ node }) => node.text), ['storm', 'bank']);
});

test('nodes', async () => {
  const store = await make();
  const { nodes: [node], similarities } = await query(store, { similarityTopK: 1 });
  assert.deepEqual([node.constructor.name, node.id_, node.text, node.metadata.tags, similarities], ['TextNode', 'a', 'rain', ['wet', 'grey'], [1]]);
  await store.add([new IndexNode({ id_: 'a', text: 'music', indexId: 'other', embedding: vectors.music, relationships: source('music') })]);
  assert.deepEqual((await query(store, { queryEmbedding: vectors.music, similarityTopK: 1 })).nodes.map((one) => [one.id_, one.indexId]), [['a', 'other']]);
  await store.delete('music');
  await store.delete('nosuch');
  assert.deepEqual((await query(store)).ids, ['b', 'c']);
  await assert.rejects(store.add([new TextNode({ text: 'long', embedding: [1, 2] })]), /2 components/);
  assert.equal(store.client().prepare('SELECT count(*) AS n FROM node').get().n, 2);
});

test('filters are those of SimpleVectorStore', async () => {
  const store = await make(), theirs = new SimpleVectorStore();
  await theirs.add(nodes());
  store.createMetadataIndex('lang');
  const one = (key, operator, value) => [{ key, operator, value }];
  for (const [filters, condition] of [
    [[]], [one('lang', '==', 'en')], [one('lang', '!=', 'en')], [one('note', '!=', 'en')], [one('year', '!=', 2020)], [one('year', '>', 2020)],
    [one('year', '>=', 2021)], [one('year', '<', 2021)], [one('year', '<=', 2021)], [one('lang', '>', 'en')], [one('lang', 'in', ['fr', 'de'])],
    [one('year', 'in', [2020, 2021])], [one('lang', 'nin', ['fr', 'de'])], [one('nosuch', 'nin', ['fr'])], [one('tags', 'any', ['grey', 'dry'])],
    [one('tags', 'all', ['grey', 'wet'])], [one('tags', 'contains', 'wet')], [one('lang', 'text_match', 'e')], [one('empty', 'is_empty')],
    [one('note', 'is_empty')], [one('a "b"', '==', "O'Hara")], [one('lang', '==', "' OR 1 --")], [one("' OR 1 --", '==', 1)],
    [[...one('lang', '==', 'fr'), ...one('year', '==', 2020)], 'or'], [[...one('lang', '==', 'en'), ...one('year', '<', 2021)], 'and'], [[], 'or']]) {
    const expected = await query(theirs, { filters: { filters, condition } });
    assert.equal(await found(store, filters, condition), expected.ids.sort().join(''), JSON.stringify([filters, condition]));
  }
  for (const [filter, condition, message] of [[one('lang', 'in', 'en'), 'and', /'lang' has "en"/], [one('lang', 'near', 1), 'and', /no operator 'near'/],
                                              [one('lang', '==', undefined), 'and', /undefined/], [one('lang', '==', 'en'), 'not', /no condition 'not'/]]) {
    await assert.rejects(found(store, filter, condition), message);
  }
});

test('modes and documents', async () => {
  const store = await make();
  assert.deepEqual((await query(store, { docIds: ['weather', 'd'] })).ids, ['a', 'b', 'd']);
  assert.deepEqual((await query(store, { mode: 'mmr', similarityTopK: 2, mmrThreshold: 0.1 })).ids, ['a', 'c']);
  assert.deepEqual((await query(store, { mode: 'mmr', similarityTopK: 2, mmrThreshold: 1 })).ids, ['a', 'b']);
  await assert.rejects(query(store, { mode: 'hybrid' }), /no query mode 'hybrid'/);
  const byDistance = await make({ indexArguments: { metric: 'l2' } });
  assert.deepEqual((await query(byDistance, { similarityTopK: 2 })).similarities.map((one) => one.toFixed(3)), ['0.000', '0.141']);
});
