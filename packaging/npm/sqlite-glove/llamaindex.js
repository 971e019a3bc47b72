'use strict';
// A vector store for LlamaIndex.TS in an SQLite file.
//
//   const vectorStore = new GloveVectorStore({ db: new Database('docs.db') });
//   const index = await VectorStoreIndex.fromDocuments(documents, { storageContext: await storageContextFromDefaults({ vectorStore }) });
//   await index.asRetriever({ filters: { filters: [{ key: 'lang', operator: '==', value: 'en' }] } }).retrieve({ query: 'a storm' });
const sql = require('./filters.js');
const { Records } = require('./store.js');

const shown = ['key', 'node', 'metadata'];
const rowsPerMmr = 4;  // the mode mmr chooses among so many times the rows that it returns

function listOf({ key, operator, value }) {
  if (!Array.isArray(value)) throw new TypeError(`the operator ${operator} needs a list, but the filter of '${key}' has ${JSON.stringify(value)}`);
  return value;
}

const isArray = (field) => ({ sql: `${field.type} = 'array'`, values: [] });
const isText = (field) => ({ sql: `${field.type} = 'text'`, values: [] });
const operators = {
  '==': (field, { value }) => sql.equal(field, value),
  '!=': (field, { value }) => sql.negation(sql.equal(field, value)),
  '>': (field, { value }) => sql.ordered(field, '>', value),
  '>=': (field, { value }) => sql.ordered(field, '>=', value),
  '<': (field, { value }) => sql.ordered(field, '<', value),
  '<=': (field, { value }) => sql.ordered(field, '<=', value),
  in: (field, filter) => sql.oneOf(field, listOf(filter)),
  nin: (field, filter) => sql.negation(sql.oneOf(field, listOf(filter))),
  any: (field, filter) => sql.allOf([isArray(field), sql.anyOf(listOf(filter).map((one) => sql.contains(field, one)))]),
  all: (field, filter) => sql.allOf([isArray(field), ...listOf(filter).map((one) => sql.contains(field, one))]),
  contains: (field, { value }) => sql.allOf([isArray(field), sql.contains(field, value)]),
  text_match: (field, { value }) => sql.allOf([isText(field), sql.contains(field, value)]),
};

// As in SimpleVectorStore, a key that a node lacks matches nothing but is_empty.
function conditionOfOne(filter) {
  const field = sql.metadata(filter.key);
  if (filter.operator === 'is_empty') {
    return { sql: `(${field.value} IS NULL OR ${field.value} = '' OR (${field.type} = 'array' AND ${field.value} = '[]'))`, values: [] };
  }
  if (!Object.hasOwn(operators, filter.operator)) {
    throw new TypeError(`a filter has no operator '${filter.operator}'; there are ${Object.keys(operators).join(', ')}, is_empty`);
  }
  return sql.allOf([{ sql: `${field.type} IS NOT NULL`, values: [] }, operators[filter.operator](field, filter)]);
}

function conditionOf(given) {
  if (!given || !given.filters) return sql.always;
  const parts = given.filters.map(conditionOfOne), condition = given.condition || 'and';
  if (condition !== 'and' && condition !== 'or') throw new TypeError(`filters have no condition '${condition}'; there are and, or`);
  return condition === 'or' ? sql.anyOf(parts) : sql.allOf(parts);
}

// Makes the class of LlamaIndex's own, as llamaindex.cjs and llamaindex.mjs import them.
module.exports = ({ BaseVectorStore, metadataDictToNode, nodeToMetadata }) => {
  const nodeOf = (row) => metadataDictToNode({ ...JSON.parse(row.metadata), _node_content: row.node });

  class GloveVectorStore extends BaseVectorStore {
    storesText = true;

    constructor({ db, table = 'node', indexArguments, ...others }) {
      super(others);
      this.records = new Records(db, table, ['document', 'node'], indexArguments);
    }

    client() { return this.records.db; }

    async add(nodes) {
      const described = nodes.map((node) => nodeToMetadata(node)), contents = described.map((one) => one._node_content);
      for (const one of described) delete one._node_content;
      return this.records.write(nodes.map((node) => node.id_), nodes.map((node) => node.getEmbedding()), described, {
        document: nodes.map((node) => (node.sourceNode ? node.sourceNode.nodeId : null)), node: contents });
    }

    async delete(refDocId) { this.records.delete(this.records.withKeys([refDocId], 'document')); }

    async query({ queryEmbedding, similarityTopK, mode = 'default', filters, docIds, mmrThreshold }) {
      if (mode !== 'default' && mode !== 'mmr') throw new TypeError(`there is no query mode '${mode}'; there are default and mmr`);
      const condition = docIds ? sql.allOf([conditionOf(filters), sql.anyOf(['key', 'document'].map((name) => this.records.withKeys(docIds, name)))])
        : conditionOf(filters);
      const options = mode === 'mmr' ? { diversity: 1 - (mmrThreshold || 0.5), fetch: rowsPerMmr * similarityTopK } : {};
      const rows = this.records.search(queryEmbedding, similarityTopK, condition, shown, options);
      return { nodes: rows.map(nodeOf), similarities: rows.map((row) => row.score), ids: rows.map((row) => row.key) };
    }

    createMetadataIndex(...keys) { this.records.createMetadataIndex(...keys); }
  }
  return GloveVectorStore;
};
