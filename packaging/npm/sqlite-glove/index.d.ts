/** A connection of node:sqlite (opened with `allowExtension: true`), better-sqlite3, libsql, bun:sqlite or @photostructure/sqlite. */
export interface Database {
  loadExtension(path: string, ...rest: any[]): unknown;
}

/**
 * Loads the extension into a connection. Loading of extensions stays enabled on a connection that has enableLoadExtension();
 * call `db.enableLoadExtension(false)` afterwards if statements come from others.
 */
export declare function load(db: Database): void;

/** Returns the path of the extension. In an Electron application this is the copy outside of the archive (app.asar.unpacked). */
export declare function loadablePath(): string;

/** Returns the path of the program glove-convert, which makes model files. */
export declare function convertPath(): string;

/** Returns a vector as the little-endian float32 BLOB that glove_nn and cos_sim read. */
export declare function serializeFloat32(values: ArrayLike<number>): Uint8Array;

/** What index() and Index use of a connection: one of node:sqlite, better-sqlite3 or another of the same form. */
export interface StatementDatabase {
  prepare(sql: string): any;
  exec(sql: string): unknown;
}

/** Numbers of one vector, or its float32 BLOB (Uint8Array). */
export type Vector = Float32Array | Float64Array | readonly number[] | Uint8Array;

/** A value that SQLite stores; a Date is stored as its ISO text. */
export type Value = string | number | bigint | boolean | Uint8Array | Date | null | undefined;

export interface Rows {
  /** The keys; without them SQLite numbers the rows. */
  ids?: Iterable<number | bigint>;
  /** A vector for each row (null: none), or one array of all components, with `dims`. */
  vectors?: Iterable<Vector | null> | Float32Array | Float64Array;
  dims?: number;
  columns?: Record<string, Iterable<Value>>;
  /** Called while rows are inserted. */
  progress?: (done: number, total: number) => void;
}

export interface IndexOptions extends Rows {
  /** The columns of texts that a loaded model makes vectors of, in place of `vectors`. */
  text?: string | readonly string[];
  /** The name of the index; the table's with _vec by default. */
  name?: string;
  /** Further arguments of glove_index, such as model: 'glove'. */
  [argument: string]: unknown;
}

export interface SearchOptions {
  /** An SQL expression over the columns of the table. Part of the statement: never take it from people whom you do not trust. */
  where?: string;
  params?: readonly unknown[] | Record<string, unknown>;
  /** The ids that may be found. */
  among?: Iterable<number | bigint> | string | Uint8Array;
  /** The columns of the table to return; all but the vector by default. */
  columns?: readonly string[];
  /** Further inputs of the index, such as recall and backend. With `where` the answer is exact, whatever recall is. */
  [input: string]: unknown;
}

/** A row of the answer. Integers beyond 2^53 are bigints, or all if the connection returns bigints. */
export interface Found {
  /** Of an index with metric='l2', `distance` stands in its place. */
  similarity: number;
  [column: string]: unknown;
}

/** An index of a table that exists, and its rows. Methods that write do so in the open transaction or in one of their own. */
export declare class Index {
  constructor(db: StatementDatabase, table: string, options?: { name?: string; id?: string; vector?: string | null });
  readonly table: string;
  readonly name: string;
  readonly columns: string[];
  /** The k rows nearest to a vector or, with a model, to a text; best first. Rows that do not match `where` cost no place. */
  search(query: Vector | string, k?: number | bigint, options?: SearchOptions): Found[];
  /** Inserts rows. An id that exists is an error, and so is a vector that could not be found; then no row is inserted. */
  add(rows: Rows): void;
  /** Inserts rows, and changes those whose id exists: the vector and the columns that are given. */
  upsert(rows: Rows): void;
  delete(ids: number | bigint | Iterable<number | bigint>): void;
  /** Makes searches as fast as they can be after changes; the methods that write do so after 10,000 changed rows. */
  sync(): void;
  /** Runs a command of the index: sync, merge, rebuild or integrity-check. */
  command(command: string): void;
}

/** Makes a table of rows and an index over them, in one transaction. */
export declare function index(db: StatementDatabase, table: string, options: IndexOptions): Index;
