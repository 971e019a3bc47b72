import type { BaseNode } from '@llamaindex/core/schema';
import { BaseVectorStore, type VectorStoreBaseParams, type VectorStoreQuery, type VectorStoreQueryResult } from '@llamaindex/core/vector-store';
import type { Database, StatementDatabase } from './index.js';

export interface GloveVectorStoreParams extends VectorStoreBaseParams {
  /** A connection of node:sqlite (opened with `allowExtension: true`), better-sqlite3 or another of their form. */
  db: Database & StatementDatabase;
  /** 'node' by default; it is made unless it exists, with an index of this name and _vec. */
  table?: string;
  /** Further arguments of glove_index, such as { metric: 'dot' }. */
  indexArguments?: Record<string, unknown>;
}

/**
 * Nodes in a table of an SQLite file, and an index over their embeddings. The table has the columns id, key (the node's id), document (of
 * which it is), node and metadata (JSON), and vector.
 */
export declare class GloveVectorStore extends BaseVectorStore<Database & StatementDatabase> {
  storesText: boolean;
  constructor(params: GloveVectorStoreParams);
  client(): Database & StatementDatabase;
  /** Adds nodes, and changes those whose id exists. */
  add(nodes: BaseNode[]): Promise<string[]>;
  /** Deletes the nodes of a document. */
  delete(refDocId: string): Promise<void>;
  /**
   * The nodes nearest to an embedding that match the filters and, with `docIds`, have one of these ids or are of such a document. The mode
   * mmr chooses nodes that differ among four times as many as it returns. With metric='l2', `similarities` are distances.
   */
  query(query: VectorStoreQuery): Promise<VectorStoreQueryResult>;
  /** Makes filters on this value of the metadata fast: createMetadataIndex('lang'), or 'person', 'name' of nested ones. */
  createMetadataIndex(...keys: string[]): void;
}
