/** A connection of node:sqlite (opened with `allowExtension: true`), better-sqlite3, libsql, bun:sqlite or @photostructure/sqlite. */
export interface Database {
  loadExtension(path: string, ...rest: any[]): unknown;
}

/**
 * Loads the extension into a connection. If the package onnxruntime-node is installed and no setting names another library, neural
 * models will use its library. Loading of extensions stays enabled on a connection that has enableLoadExtension();
 * call `db.enableLoadExtension(false)` afterwards if statements come from others. Makes known the indexes in temp of the open files
 * (glove_attach()) and, with `repair: true`, calls repair(); both need a connection that has prepare().
 */
export declare function load(db: Database, options?: { repair?: boolean }): void;

/**
 * Repairs the indexes whose triggers a migration dropped when it remade their tables, and returns their names. Each row of these tables
 * is read once, and only what has changed is written.
 */
export declare function repair(db: StatementDatabase): string[];

/**
 * Loads the extension into each connection of a class before its first statement, for tools that open their own: better-sqlite3's class for
 * drizzle-kit, whose configuration calls this, or `sqlite3.Database` (without `repair`) for Sequelize.
 */
export declare function loadEach(Database: { prototype: Database }, options?: { repair?: boolean }): void;

/** Returns the path of the extension. In an Electron application this is the copy outside of the archive (app.asar.unpacked). */
export declare function loadablePath(): string;

/** Returns the path of the program glove-convert, which makes model files. */
export declare function convertPath(): string;

/** Returns a vector as the little-endian float32 BLOB that glove_nn and cos_sim read. */
export declare function serializeFloat32(values: ArrayLike<number>): Uint8Array;

/**
 * Makes an ordinary table (TABLE_rows, or `into`) with an index for each vector column of a vec0 table, in one transaction; the vec0 table
 * stays. `table` may be left out if the database has one. sqlite-vec must be loaded into the connection, too.
 */
export declare function fromSqliteVec(db: StatementDatabase, table?: string, options?: { into?: string }): { table: string; indexes: string[]; rows: number };

/** What index() and Index use of a connection: one of node:sqlite, better-sqlite3 or another of the same form. */
export interface StatementDatabase {
  prepare(sql: string): any;
  exec(sql: string): unknown;
}

/** Numbers of one vector, or its BLOB (Uint8Array) of float32 or, by metric 'hamming', of bits. */
export type Vector = Float32Array | Float64Array | readonly number[] | Uint8Array;

/** A value that SQLite stores; a Date is stored as its ISO text. */
export type Value = string | number | bigint | boolean | Uint8Array | Date | null | undefined;

/** A value of a key. */
export type KeyValue = number | bigint | string | Uint8Array;
/** What identifies a row: a value or, if the key has several columns, an array of them. */
export type Id = KeyValue | readonly KeyValue[];

export interface Rows {
  /** The keys, or the columns of a key; without them SQLite numbers the rows. */
  ids?: Iterable<Id> | Record<string, Iterable<KeyValue>>;
  /** A vector for each row (null: none), or one array of all components, with `dims`. */
  vectors?: Iterable<Vector | null> | Float32Array | Float64Array;
  dims?: number;
  columns?: Record<string, Iterable<Value>>;
  /** Called while rows are inserted; by index(), again while a neural model encodes texts. */
  progress?: (done: number, total: number) => void;
}

export interface IndexOptions extends Rows {
  /** The columns of texts that a model makes vectors of, in place of `vectors`. */
  text?: string | readonly string[];
  /** Texts that become the column 'text', which `text` then is by default. */
  texts?: Iterable<string | null>;
  /** The name of a loaded model, or the path of one, which is then loaded. */
  model?: string;
  /** The name of the index; the table's with _vec by default. */
  name?: string;
  /** 'open' returns the index of a table that has one, and inserts nothing; 'fail' is the default. */
  ifExists?: 'fail' | 'open';
  /** Columns that searches filter by, or lists of them, each of which gets an SQL index. Without it, a filter that few rows match reads all. */
  indexColumns?: readonly (string | readonly string[])[];
  /** The file gets ordinary tables only, which every tool reads; load() makes the virtual table of the index in temp for each connection. */
  temp?: boolean;
  /** Further arguments of glove_index, such as metric: 'l2'. */
  [argument: string]: unknown;
}

export interface FilterOptions {
  /**
   * Columns and their values ({ lang: 'en' }, { lang: ['en', 'fr'] }, { lang: null }), or an SQL expression over the columns of the table,
   * with its values in `params`. An expression is part of the statement: never take it from people whom you do not trust.
   */
  where?: string | Record<string, Value | readonly Value[]>;
  params?: readonly unknown[] | Record<string, unknown>;
  /** The ids that may be found. */
  among?: Iterable<Id> | Uint8Array;
  /** The columns of the table to return; all but the vector by default. */
  columns?: readonly string[];
  /** Further inputs of the index, such as recall and backend. With `where` the answer is exact, whatever recall is. */
  [input: string]: unknown;
}

export interface JoinOptions {
  minSimilarity?: number;
  /** With metric: 'l2', in the place of minSimilarity. */
  maxDistance?: number;
  /** The ids that take part. */
  among?: Iterable<Id> | Uint8Array;
  backend?: string;
}

export interface SearchOptions extends FilterOptions {
  hybrid?: undefined;
  /** From 0 to 1: takes, of the `fetch` nearest rows, those that differ (maximal marginal relevance with lambda = 1 - diversity). */
  diversity?: number;
  /** How many rows to choose from: 4 k, and at least 50. */
  fetch?: number | bigint;
}

export interface HybridOptions extends FilterOptions {
  /** An FTS5 table of the same rows, whose ranking is fused with that of the index. */
  hybrid: string;
  /** The query of FTS5; without it, any word of a query that is a text may match. */
  match?: string;
  /** Of the full-text ranking and of the index's: each gives weight / (constant + place). 1 and 1 by default. */
  weights?: readonly [number, number];
  /** 60 by default. */
  constant?: number;
  diversity?: number;
  /** How many rows of each ranking are fused: 4 k, and at least 100. */
  fetch?: number | bigint;
}

/** The columns of a table. Integers beyond 2^53 are bigints, or all if the connection returns bigints. */
export type Columns = { [column: string]: unknown };

/** A row of the answer. Of an index with metric='l2', `distance` stands in the place of `similarity`. */
export type Found<Row = Columns> = Row & { similarity: number };

/** A row of the answer of a hybrid search. */
export type Fused<Row = Columns> = Row & { score: number };

/**
 * An index of a table, and its rows. Methods that write do so in the open transaction or in one of their own. `Row` has the columns that
 * the methods return.
 */
export declare class Index<Row = Columns> {
  /**
   * Opens the index of this name or, if there is none, that of the table of this name. `model` is the path of its model, which is loaded
   * unless it is loaded already.
   */
  constructor(db: StatementDatabase, table: string, options?: { name?: string; model?: string });
  readonly table: string;
  readonly name: string;
  /** The columns of the key. */
  readonly key: string[];
  /** The column of the vectors; null if the index is of texts. */
  readonly vector: string | null;
  readonly texts: string[];
  /** The other columns of the table. */
  readonly columns: string[];
  /** The k rows nearest to a vector or, with a model, to a text; best first. Rows that do not match `where` cost no place. */
  search<R = Row>(query: Vector | string, k: number | bigint, options: HybridOptions): Fused<R>[];
  search<R = Row>(query: Vector | string, k?: number | bigint, options?: SearchOptions): Found<R>[];
  /** The answer of search() for each query. They are searched in batches, which is faster. */
  searchMany<R = Row>(queries: Iterable<Vector | string>, k?: number | bigint, options?: FilterOptions): Found<R>[][];
  /** The k other rows that are nearest to the row with this id. */
  like<R = Row>(id: Id, k?: number | bigint, options?: Omit<FilterOptions, 'among'>): Found<R>[];
  /** The near rows in pairs, each once: all from a similarity on (a distance, with metric 'l2'), or the `pairs` nearest. */
  pairs(options: JoinOptions & { pairs?: number | bigint; other?: Index<any> | string }): { a: Id; b: Id; similarity: number }[];
  /** The groups that such pairs, or each row and its k nearest ones, connect; `group` is the id of the group's first row. */
  groups(options: JoinOptions & { k?: number | bigint }): { id: Id; group: Id; size: number }[];
  /** The k nearest other rows of each row: places in `ids`, row by row, nearest first, and -1 and NaN where there are fewer. */
  neighbors(k?: number | bigint, options?: Pick<JoinOptions, 'among' | 'backend'>): { ids: Id[]; k: number; indices: Int32Array; scores: Float64Array };
  /** The row with this id, or null; a list of them for ids. It has the key and all columns but the vector, or those of `columns`. */
  get<R = Row>(id: KeyValue, options?: { columns?: readonly string[] }): R | null;
  get<R = Row>(id: readonly KeyValue[], options?: { columns?: readonly string[] }): R | null | (R | null)[];
  get<R = Row>(ids: Iterable<Id>, options?: { columns?: readonly string[] }): (R | null)[];
  /** The number of the table's rows. */
  count(): number;
  /** Inserts rows. An id that exists is an error, and so is a vector that could not be found; then no row is inserted. */
  add(rows: Rows): void;
  /** Inserts rows, and changes those whose id exists: the vector and the columns that are given. */
  upsert(rows: Rows): void;
  delete(ids: Id | Iterable<Id>): void;
  /** Drops the index and, if `table`, the table with its rows. */
  drop(options?: { table?: boolean }): void;
  /**
   * Makes searches as fast as they can be after changes; the methods that write do so after 10,000 changed rows. With a neural model, a
   * search does so instead, if it would have to encode more texts than the setting encode_limit. Every two seconds what is encoded is
   * stored (committed unless a transaction is open), and `progress` is called.
   */
  sync(options?: { progress?: (done: number, total: number) => void }): void;
  /** Runs a command of the index: sync, merge, rebuild, repair or integrity-check. */
  command(command: string): void;
}

/**
 * Makes a table of rows and an index over them, in one transaction. A neural model encodes many texts after it, in pieces as sync()
 * does; if that is interrupted, ifExists: 'open' and searches go on where it ended.
 */
export declare function index<Row = Columns>(db: StatementDatabase, table: string, options: IndexOptions): Index<Row>;
