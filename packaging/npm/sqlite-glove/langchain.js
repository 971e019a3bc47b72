'use strict';
// A vector store for LangChain.js in an SQLite file.
//
//   const store = new GloveVectorStore(embeddings, { db: new Database('docs.db') });
//   await store.addDocuments([new Document({ pageContent: 'heavy rain', metadata: { lang: 'en' } })]);
//   await store.similaritySearch('a storm', 1, { lang: 'en' });
const filters = require('./filters.js');
const { Records } = require('./store.js');

const shown = ['key', 'content', 'metadata'];

function between(field, value) {
  if (!Array.isArray(value) || value.length !== 2) {
    throw new TypeError(`the operator $between has ${JSON.stringify(value)}; it must be a list of the least and the greatest value`);
  }
  return filters.allOf([filters.ordered(field, '>=', value[0]), filters.ordered(field, '<=', value[1])]);
}

const operators = {
  $eq: filters.equal,
  $ne: (field, value) => filters.negation(filters.equal(field, value)),
  $gt: (field, value) => filters.ordered(field, '>', value),
  $gte: (field, value) => filters.ordered(field, '>=', value),
  $lt: (field, value) => filters.ordered(field, '<', value),
  $lte: (field, value) => filters.ordered(field, '<=', value),
  $between: between,
  $in: filters.oneOf,
  $nin: (field, value) => filters.negation(filters.oneOf(field, value)),
  $exists: (field, value) => ({ sql: `${field.type} IS ${value ? 'NOT ' : ''}NULL`, values: [] }),
  $contains: filters.contains,
};

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof Date);

// The condition of a filter such as { lang: 'en', $or: [{ year: { $gte: 2020 } }, { tags: { $contains: 'new' } }] }. As in MongoDB, a
// key that a document lacks equals null, and $ne and $nin hold for it.
function conditionOf(filter) {
  if (filter === undefined || filter === null) return filters.always;
  if (!isObject(filter)) {
    throw new TypeError(`the filter is ${typeof filter === 'function' ? 'a function' : JSON.stringify(filter)}; it must be an object, such as { lang: 'en' }`);
  }
  return filters.allOf(Object.entries(filter).flatMap(([key, wanted]) => {
    if (key === '$and' || key === '$or') {
      if (!Array.isArray(wanted)) throw new TypeError(`the filter's ${key} is ${JSON.stringify(wanted)}; it must be a list of filters`);
      return [(key === '$and' ? filters.allOf : filters.anyOf)(wanted.map(conditionOf))];
    }
    if (key === '$not') return [filters.negation(conditionOf(wanted))];
    if (key.startsWith('$')) throw new TypeError(`a filter has no '${key}' outside a key; there are $and, $or and $not`);
    if (!isObject(wanted) || !Object.keys(wanted).some((name) => name.startsWith('$'))) return [filters.equal(filters.metadata(key), wanted)];
    return Object.entries(wanted).map(([name, value]) => {
      if (!Object.hasOwn(operators, name)) throw new TypeError(`a filter has no operator '${name}'; there are ${Object.keys(operators).join(', ')}`);
      return operators[name](filters.metadata(key), value);
    });
  }));
}

// Makes the class of LangChain's own, as langchain.cjs and langchain.mjs import them.
module.exports = ({ VectorStore, Document }) => {
  const documentOf = (row) => new Document({ id: row.key, pageContent: row.content, metadata: JSON.parse(row.metadata) });

  class GloveVectorStore extends VectorStore {
    constructor(embeddings, { db, table = 'document', indexArguments, ...others }) {
      super(embeddings, others);
      this.records = new Records(db, table, ['content'], indexArguments);
    }

    _vectorstoreType() { return 'glove'; }

    async addDocuments(documents, options) {
      return this.addVectors(await this.embeddings.embedDocuments(documents.map((one) => one.pageContent)), documents, options);
    }

    async addVectors(vectors, documents, { ids } = {}) {
      for (const [name, given] of Object.entries({ vectors, ids })) {
        if (given && given.length !== documents.length) throw new TypeError(`there are ${documents.length} documents, but ${given.length} ${name}`);
      }
      return this.records.write(ids || documents.map((one) => one.id), vectors, documents.map((one) => one.metadata), {
        content: documents.map((one) => one.pageContent) });
    }

    async delete({ ids, filter, deleteAll = false } = {}) {
      if (!ids && !filter && !deleteAll) throw new TypeError('delete() needs ids, a filter, or deleteAll: true');
      this.records.delete(filters.allOf([...(ids ? [this.records.withKeys(ids)] : []), ...(filter ? [conditionOf(filter)] : [])]));
    }

    async similaritySearchVectorWithScore(query, k, filter) {
      return this.records.search(query, k, conditionOf(filter), shown).map((row) => [documentOf(row), row.score]);
    }

    async maxMarginalRelevanceSearch(query, { k = 4, fetchK = 20, lambda = 0.5, filter }) {
      const vector = await this.embeddings.embedQuery(query), options = { diversity: 1 - lambda, fetch: Math.max(k, fetchK) };
      return this.records.search(vector, k, conditionOf(filter), shown, options).map(documentOf);
    }

    createMetadataIndex(...keys) { this.records.createMetadataIndex(...keys); }

    static async fromTexts(texts, metadatas, embeddings, config) {
      const metadataOf = (row) => (Array.isArray(metadatas) ? metadatas[row] : metadatas);
      return this.fromDocuments(texts.map((pageContent, row) => new Document({ pageContent, metadata: metadataOf(row) })), embeddings, config);
    }

    static async fromDocuments(documents, embeddings, { ids, ...config }) {
      const store = new this(embeddings, config);
      await store.addDocuments(documents, { ids });
      return store;
    }
  }
  return GloveVectorStore;
};
