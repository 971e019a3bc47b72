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
