import type { DocumentInterface } from '@langchain/core/documents';
import type { EmbeddingsInterface } from '@langchain/core/embeddings';
import { VectorStore, type MaxMarginalRelevanceSearchOptions } from '@langchain/core/vectorstores';
import type { Database, StatementDatabase } from './index.js';

export type FilterValue = string | number | boolean | Date | null | readonly unknown[];
/** Metadata and their values, or operators, such as { lang: 'en', $or: [{ year: { $gte: 2020 } }, { tags: { $contains: 'new' } }] }. */
export interface GloveFilter {
  $and?: readonly GloveFilter[];
  $or?: readonly GloveFilter[];
  $not?: GloveFilter;
  [key: string]: FilterValue | undefined | GloveFilter | readonly GloveFilter[] | Operators | Record<string, unknown>;
}
export interface Operators {
  $eq?: FilterValue;
  $ne?: FilterValue;
  $gt?: string | number | Date;
  $gte?: string | number | Date;
  $lt?: string | number | Date;
  $lte?: string | number | Date;
  $between?: readonly [string | number | Date, string | number | Date];
  $in?: readonly FilterValue[];
  $nin?: readonly FilterValue[];
  $exists?: boolean;
  $contains?: FilterValue;
}

export interface GloveVectorStoreConfig {
  /** A connection of node:sqlite (opened with `allowExtension: true`), better-sqlite3 or another of their form. */
  db: Database & StatementDatabase;
  /** 'document' by default; it is made unless it exists, with an index of this name and _vec. */
  table?: string;
  /** Further arguments of glove_index, such as { metric: 'dot' }. */
  indexArguments?: Record<string, unknown>;
}

/**
 * Documents in a table of an SQLite file, and an index over it. The table has the columns id, key (the document's id), content, metadata
 * (JSON) and vector, as that of GloveVectorStore of the Python package, which may use the same file.
 */
export declare class GloveVectorStore extends VectorStore {
  FilterType: GloveFilter;
  constructor(embeddings: EmbeddingsInterface, config: GloveVectorStoreConfig);
  _vectorstoreType(): string;
  /** Adds documents, and changes those whose id exists; returns their ids. The ids are those of `options` or of the documents, or new. */
  addDocuments(documents: DocumentInterface[], options?: { ids?: string[] }): Promise<string[]>;
  addVectors(vectors: number[][], documents: DocumentInterface[], options?: { ids?: string[] }): Promise<string[]>;
  /** Deletes the documents that have one of the ids and match the filter, or all. */
  delete(params: { ids?: string[]; filter?: GloveFilter; deleteAll?: boolean }): Promise<void>;
  /** The scores are similarities or, with metric='l2', distances. */
  similaritySearchVectorWithScore(query: number[], k: number, filter?: GloveFilter): Promise<[DocumentInterface, number][]>;
  maxMarginalRelevanceSearch(query: string, options: MaxMarginalRelevanceSearchOptions<GloveFilter>): Promise<DocumentInterface[]>;
  /** Makes filters on this value of the metadata fast: createMetadataIndex('lang'), or 'person', 'name' of nested ones. */
  createMetadataIndex(...keys: string[]): void;
  static fromTexts(texts: string[], metadatas: object[] | object, embeddings: EmbeddingsInterface,
                   config: GloveVectorStoreConfig & { ids?: string[] }): Promise<GloveVectorStore>;
  static fromDocuments(documents: DocumentInterface[], embeddings: EmbeddingsInterface,
                       config: GloveVectorStoreConfig & { ids?: string[] }): Promise<GloveVectorStore>;
}
