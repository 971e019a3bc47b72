/** SQLite with sqlite-glove as a WebAssembly module. Objects of oo1 have the call signatures of SQLite's official JavaScript API. */

export type SqlValue = string | number | bigint | boolean | null | undefined | Uint8Array | ArrayBuffer | ArrayBufferView;
/** What a column returns: integers that a number cannot hold are bigint. */
export type ColumnValue = string | number | bigint | null | Uint8Array;
export type Bindings = SqlValue | readonly SqlValue[] | Record<string, SqlValue>;
export type Row = ColumnValue[] | Record<string, ColumnValue>;

export interface ExecOptions {
  sql?: string | string[];
  /** Bound to the first statement that has parameters. */
  bind?: Bindings;
  /** What a row is: 'array' (the default), 'object', 'stmt', the number of a column, or '$' and its name. */
  rowMode?: 'array' | 'object' | 'stmt' | number | `$${string}`;
  /** Receives the rows of all statements. */
  resultRows?: unknown[];
  /** Receives the names of the first statement's columns that has any. */
  columnNames?: string[];
  /** Called for each row; false ends the statement. */
  callback?: (row: any, stmt: Stmt) => void | false;
  returnValue?: 'this' | 'resultRows';
}

export interface FunctionOptions {
  name?: string;
  xFunc?: (context: number, ...values: ColumnValue[]) => SqlValue;
  /** The number of arguments, or -1 for any; the default is that of xFunc without the context. */
  arity?: number;
  deterministic?: boolean;
  directOnly?: boolean;
  innocuous?: boolean;
}

/** All methods throw SQLite3Error. */
export interface Stmt {
  readonly db: DB;
  readonly pointer: number;
  readonly columnCount: number;
  readonly parameterCount: number;
  bind(values: Bindings): this;
  bind(parameter: number | string, value: SqlValue): this;
  clearBindings(): this;
  getParamIndex(name: string): number | undefined;
  /** True if there is a row. */
  step(): boolean;
  stepReset(): this;
  stepFinalize(): boolean;
  reset(alsoClearBindings?: boolean): this;
  finalize(): number | undefined;
  get(column: number): ColumnValue;
  get<Target extends ColumnValue[] | Record<string, ColumnValue>>(target: Target): Target;
  getInt(column: number): number;
  getFloat(column: number): number;
  getString(column: number): string | null;
  getBlob(column: number): Uint8Array | null;
  getJSON(column: number): any;
  getColumnName(column: number): string;
  getColumnNames(target?: string[]): string[];
}

export interface DB {
  readonly pointer: number;
  readonly filename: string;
  isOpen(): boolean;
  close(): void;
  dbFilename(schema?: string): string;
  openStatementCount(): number;
  checkRc(code: number): this;
  prepare(sql: string): Stmt;
  exec(sql: string | string[], options: ExecOptions & { returnValue: 'resultRows' }): any[];
  exec(options: ExecOptions & { returnValue: 'resultRows' }): any[];
  exec(sql: string | string[] | ExecOptions, options?: ExecOptions): this;
  selectValue(sql: string, bind?: Bindings): ColumnValue | undefined;
  selectValues(sql: string, bind?: Bindings): ColumnValue[];
  selectArray(sql: string, bind?: Bindings): ColumnValue[] | undefined;
  selectArrays(sql: string, bind?: Bindings): ColumnValue[][];
  selectObject(sql: string, bind?: Bindings): Record<string, ColumnValue> | undefined;
  selectObjects(sql: string, bind?: Bindings): Record<string, ColumnValue>[];
  changes(total?: boolean, sixtyFour?: false): number;
  changes(total: boolean, sixtyFour: true): bigint;
  transaction<T>(callback: (db: this) => T): T;
  transaction<T>(qualifier: 'DEFERRED' | 'IMMEDIATE' | 'EXCLUSIVE', callback: (db: this) => T): T;
  savepoint<T>(callback: (db: this) => T): T;
  createFunction(name: string, xFunc: NonNullable<FunctionOptions['xFunc']>, options?: FunctionOptions): this;
  createFunction(name: string, options: FunctionOptions): this;
  createFunction(options: FunctionOptions): this;
}

export interface DbConstructor {
  /** flags: 'c' to create (the default), 'w' to write an existing one, 'r' to read it. */
  new (filename?: string, flags?: string): DB;
  new (options: { filename?: string; flags?: string }): DB;
}

export interface FetchOptions {
  /** The path in the module; the default is the last part of the URL, below '/'. */
  path?: string;
  /** Called as bytes arrive; size is 0 if the server does not say it. */
  progress?: (received: number, size: number) => void;
  signal?: AbortSignal;
}

export interface Sqlite3 {
  oo1: {
    DB: DbConstructor;
    /** A database below /opfs; there after installOpfs(). */
    OpfsDb?: DbConstructor;
  };
  /** The constants SQLITE_*, and functions. */
  capi: {
    sqlite3_libversion(): string;
    /** The bytes of a database's file. */
    sqlite3_js_db_export(db: DB, schema?: string): Uint8Array;
    [constant: `SQLITE_${string}`]: number;
  };
  version: { libVersion: string };
  SQLite3Error: new (code: number, message: string) => Error & { resultCode: number };
  /** Puts a file of these bytes into the module's memory, read-only, and returns the path. */
  putFile(path: string, bytes: Uint8Array): string;
  /** The same for what a URL or a response has; a URL may be that of a file in Node. Nothing stays behind after an error. */
  fetchFile(url: string | URL | Response, options?: FetchOptions): Promise<string>;
  readFile(path: string): Uint8Array;
  /** Removes a file that no database and no loaded model uses, and frees its memory. */
  removeFile(path: string): void;
  listFiles(directory?: string): string[];
  /** Mounts /opfs, the files that stay in the browser. Only in a worker. capacity: how many files there can be. */
  installOpfs(options?: { folder?: string; capacity?: number }): Promise<void>;
}

/** wasm: sqlite-glove.wasm, or where it is if it does not lie beside index.mjs. log: receives what SQLite's error log would. */
export default function init(options?: { wasm?: string | URL | BufferSource | WebAssembly.Module; log?: (text: string) => void }): Promise<Sqlite3>;
