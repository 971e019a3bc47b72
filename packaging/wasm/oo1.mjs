// The object-oriented API, with the names and the call signatures of the official JavaScript API of SQLite.

export const codes = {
  SQLITE_OK: 0, SQLITE_ERROR: 1, SQLITE_ABORT: 4, SQLITE_BUSY: 5, SQLITE_NOMEM: 7, SQLITE_READONLY: 8, SQLITE_INTERRUPT: 9,
  SQLITE_IOERR: 10, SQLITE_FULL: 13, SQLITE_CANTOPEN: 14, SQLITE_CONSTRAINT: 19, SQLITE_MISUSE: 21, SQLITE_RANGE: 25,
  SQLITE_NOTADB: 26, SQLITE_ROW: 100, SQLITE_DONE: 101,
  SQLITE_INTEGER: 1, SQLITE_FLOAT: 2, SQLITE_TEXT: 3, SQLITE_BLOB: 4, SQLITE_NULL: 5,
  SQLITE_OPEN_READONLY: 1, SQLITE_OPEN_READWRITE: 2, SQLITE_OPEN_CREATE: 4, SQLITE_OPEN_URI: 64,
  SQLITE_UTF8: 1, SQLITE_DETERMINISTIC: 0x800, SQLITE_DIRECTONLY: 0x80000, SQLITE_INNOCUOUS: 0x200000,
};
const kTransient = -1;

export class SQLite3Error extends Error {
  constructor(code, message) {
    super(message);
    this.name = 'SQLite3Error';
    this.resultCode = code;
  }
}

// The module's memory: texts and BLOBs to and from it.
class Heap {
  constructor(module) {
    this.module = module;
    this.scratch = module._malloc(16);
    this.encoder = new TextEncoder();
    this.decoder = new TextDecoder();
  }
  // Calls use(pointer, bytes) with a copy that has a zero behind it.
  with(bytes, use) {
    const pointer = this.module._malloc(bytes.length + 1) >>> 0;
    if (pointer === 0) throw new SQLite3Error(codes.SQLITE_NOMEM, 'out of memory');
    try {
      this.module.HEAPU8.set(bytes, pointer);
      this.module.HEAPU8[pointer + bytes.length] = 0;
      return use(pointer, bytes.length);
    } finally {
      this.module._free(pointer);
    }
  }
  withText(text, use) {
    return this.with(this.encoder.encode(text), use);
  }
  // The view is decoded before the memory can change. A shared view cannot be decoded, but the module has none.
  text(pointer, bytes) {
    return this.decoder.decode(this.module.HEAPU8.subarray(pointer >>> 0, (pointer >>> 0) + bytes));
  }
  string(pointer) {
    return this.module.UTF8ToString(pointer >>> 0);
  }
  blob(pointer, bytes) {
    return this.module.HEAPU8.slice(pointer >>> 0, (pointer >>> 0) + bytes);
  }
  pointerAt(address) {
    return new DataView(this.module.HEAPU8.buffer).getUint32(address, true);
  }
}

const number = (value) => (value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value);

// Reads a value by the functions of one family, sqlite3_column_* or sqlite3_value_*.
function readValue(heap, family, ...at) {
  const call = (name) => heap.module[`_sqlite3_${family}_${name}`](...at);
  switch (call('type')) {
    case codes.SQLITE_INTEGER: return number(call('int64'));
    case codes.SQLITE_FLOAT: return call('double');
    case codes.SQLITE_TEXT: { const text = call('text'); return heap.text(text, call('bytes')); }
    case codes.SQLITE_BLOB: { const blob = call('blob'); return heap.blob(blob, call('bytes')); }
    default: return null;
  }
}

// Hands a value to sqlite3_bind_* or sqlite3_result_*. Returns its code.
function writeValue(heap, family, value, ...at) {
  const call = (name, ...rest) => heap.module[`_sqlite3_${family}_${name}`](...at, ...rest);
  if (value === null || value === undefined) return call('null');
  if (typeof value === 'boolean') return call('int64', value ? 1n : 0n);
  if (typeof value === 'bigint') return call('int64', value);
  if (typeof value === 'number') return Number.isSafeInteger(value) ? call('int64', BigInt(value)) : call('double', value);
  if (typeof value === 'string')
    return heap.withText(value, (text, bytes) => call('text64', text, BigInt(bytes), kTransient, codes.SQLITE_UTF8));
  if (value instanceof ArrayBuffer) value = new Uint8Array(value);
  if (ArrayBuffer.isView(value)) {
    const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    return heap.with(bytes, (blob, size) => call('blob64', blob, BigInt(size), kTransient));
  }
  throw new SQLite3Error(codes.SQLITE_MISUSE, `cannot use a value of the type ${typeof value} in SQL`);
}

export function makeApi(module) {
  const heap = new Heap(module);

  class Stmt {
    constructor(db, pointer) {
      this.db = db;
      this.pointer = pointer;
      this.columnCount = module._sqlite3_column_count(pointer);
      this.parameterCount = module._sqlite3_bind_parameter_count(pointer);
      this.hasRow = false;
    }
    check(code) {
      this.db.checkRc(code);
      return this;
    }
    get open() {
      if (!this.pointer) throw new SQLite3Error(codes.SQLITE_MISUSE, 'the statement has been finalized');
      return this.pointer;
    }
    getParamIndex(name) {
      return heap.withText(name, (text) => module._sqlite3_bind_parameter_index(this.open, text)) || undefined;
    }
    bind(first, ...rest) {
      const one = (key, value) => {
        const index = typeof key === 'number' ? key : this.getParamIndex(key);
        if (!index) throw new SQLite3Error(codes.SQLITE_RANGE, `the statement has no parameter '${key}'`);
        this.check(writeValue(heap, 'bind', value, this.open, index));
      };
      if (rest.length > 0) one(first, rest[0]);
      else if (Array.isArray(first)) first.forEach((value, i) => one(i + 1, value));
      else if (first !== null && typeof first === 'object' && !ArrayBuffer.isView(first) && !(first instanceof ArrayBuffer))
        for (const [key, value] of Object.entries(first)) one(key, value);
      else if (first !== undefined) one(1, first);
      return this;
    }
    clearBindings() {
      return this.check(module._sqlite3_clear_bindings(this.open));
    }
    step() {
      const code = module._sqlite3_step(this.open);
      this.hasRow = code === codes.SQLITE_ROW;
      if (this.hasRow || code === codes.SQLITE_DONE) return this.hasRow;
      this.check(code);
      return false;
    }
    stepReset() {
      this.step();
      return this.reset();
    }
    stepFinalize() {
      try {
        return this.step();
      } finally {
        this.finalize();
      }
    }
    reset(alsoClearBindings = false) {
      module._sqlite3_reset(this.open);
      this.hasRow = false;
      return alsoClearBindings ? this.clearBindings() : this;
    }
    finalize() {
      if (!this.pointer) return undefined;
      const code = module._sqlite3_finalize(this.pointer);
      this.pointer = 0;
      this.db.statements.delete(this);
      return code;
    }
    getColumnName(column) {
      return heap.string(module._sqlite3_column_name(this.open, column));
    }
    getColumnNames(target = []) {
      for (let i = 0; i < this.columnCount; ++i) target.push(this.getColumnName(i));
      return target;
    }
    // A column by its number, or the row into an array or an object.
    get(target) {
      if (!this.hasRow) throw new SQLite3Error(codes.SQLITE_MISUSE, 'the statement has no row; call step() first');
      if (typeof target === 'number') {
        if (!(target >= 0 && target < this.columnCount))
          throw new SQLite3Error(codes.SQLITE_RANGE, `column ${target} is none of 0 to ${this.columnCount - 1}`);
        return readValue(heap, 'column', this.pointer, target);
      }
      for (let i = 0; i < this.columnCount; ++i)
        target[Array.isArray(target) ? i : this.getColumnName(i)] = readValue(heap, 'column', this.pointer, i);
      return target;
    }
    getInt(column) { return Math.trunc(Number(this.get(column))); }
    getFloat(column) { return Number(this.get(column)); }
    getString(column) { const value = this.get(column); return value === null ? null : String(value); }
    getBlob(column) { const value = this.get(column); return typeof value === 'string' ? heap.encoder.encode(value) : value; }
    getJSON(column) { return JSON.parse(this.get(column)); }
  }

  const rowReader = (stmt, mode) => {
    if (mode === 'array') return () => stmt.get([]);
    if (mode === 'object') return () => stmt.get({});
    if (mode === 'stmt') return () => stmt;
    if (typeof mode === 'number') return () => stmt.get(mode);
    if (typeof mode === 'string' && mode.startsWith('$')) {
      const column = stmt.getColumnNames().indexOf(mode.slice(1));
      if (column >= 0) return () => stmt.get(column);
    }
    throw new SQLite3Error(codes.SQLITE_MISUSE, `rowMode '${mode}' is not array, object, stmt, a column's number or $name`);
  };

  class DB {
    constructor(filename = ':memory:', flags = 'c') {
      if (typeof filename === 'object') ({ filename = ':memory:', flags = 'c' } = filename);
      const { SQLITE_OPEN_READONLY, SQLITE_OPEN_READWRITE, SQLITE_OPEN_CREATE, SQLITE_OPEN_URI } = codes;
      const access = flags.includes('c') ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        : flags.includes('w') ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
      const code = heap.withText(filename, (text) => module._sqlite3_open_v2(text, heap.scratch, access | SQLITE_OPEN_URI, 0));
      this.pointer = heap.pointerAt(heap.scratch);
      this.filename = filename;
      this.statements = new Set();
      this.functions = new Map();
      if (code !== codes.SQLITE_OK) {
        const message = this.pointer ? heap.string(module._sqlite3_errmsg(this.pointer)) : 'out of memory';
        this.close();
        throw new SQLite3Error(code, `cannot open '${filename}': ${message}`);
      }
      module._sqlite3_extended_result_codes(this.pointer, 1);
    }
    static checkRc(db, code) { return db.checkRc(code); }
    checkRc(code) {
      if (code !== codes.SQLITE_OK)
        throw new SQLite3Error(code, heap.string(module._sqlite3_errmsg(this.open)));
      return this;
    }
    get open() {
      if (!this.pointer) throw new SQLite3Error(codes.SQLITE_MISUSE, `the database '${this.filename}' has been closed`);
      return this.pointer;
    }
    isOpen() { return this.pointer !== 0; }
    openStatementCount() { return this.statements.size; }
    dbFilename(name = 'main') { return heap.withText(name, (text) => heap.string(module._sqlite3_db_filename(this.open, text))); }
    close() {
      for (const stmt of [...(this.statements ?? [])]) stmt.finalize();
      if (this.pointer) module._sqlite3_close_v2(this.pointer);
      this.pointer = 0;
      for (const pointer of this.functions.values()) module.removeFunction(pointer);
      this.functions.clear();
    }
    // The first statement of the text at `text`, and where the next one begins. Null if there is none.
    prepareAt(text, bytes) {
      this.checkRc(module._sqlite3_prepare_v2(this.open, text, bytes, heap.scratch, heap.scratch + 4));
      const pointer = heap.pointerAt(heap.scratch);
      const next = heap.pointerAt(heap.scratch + 4);
      if (!pointer) return [null, next];
      const stmt = new Stmt(this, pointer);
      this.statements.add(stmt);
      return [stmt, next];
    }
    prepare(sql) {
      const [stmt] = heap.withText(sql, (text, bytes) => this.prepareAt(text, bytes));
      if (!stmt) throw new SQLite3Error(codes.SQLITE_MISUSE, 'the text has no statement');
      return stmt;
    }
    exec(sql, options = {}) {
      if (typeof sql === 'object' && !Array.isArray(sql)) options = sql;
      else options = { ...options, sql };
      const text = Array.isArray(options.sql) ? options.sql.join('') : options.sql;
      const rows = options.resultRows ?? (options.returnValue === 'resultRows' ? [] : undefined);
      let bind = options.bind;
      let named = false;
      heap.withText(text, (start, bytes) => {
        for (let at = start; at < start + bytes;) {
          const [stmt, next] = this.prepareAt(at, start + bytes - at);
          at = next;
          if (!stmt) continue;
          try {
            if (bind !== undefined && stmt.parameterCount > 0) {
              stmt.bind(bind);
              bind = undefined;
            }
            if (stmt.columnCount > 0 && options.columnNames && !named) {
              stmt.getColumnNames(options.columnNames);
              named = true;
            }
            const wanted = stmt.columnCount > 0 && (rows || options.callback);
            const read = wanted ? rowReader(stmt, options.rowMode ?? 'array') : undefined;
            while (stmt.step()) {
              if (!read) continue;
              const row = read();
              rows?.push(row);
              if (options.callback?.call(options, row, stmt) === false) break;
            }
          } finally {
            stmt.finalize();
          }
        }
      });
      return options.returnValue === 'resultRows' ? rows : this;
    }
    // The rows of the first statement, each by read(stmt); at most `most` of them.
    rows(sql, bind, read, most = Infinity) {
      const stmt = this.prepare(sql);
      try {
        stmt.bind(bind);
        const rows = [];
        while (rows.length < most && stmt.step()) rows.push(read(stmt));
        return rows;
      } finally {
        stmt.finalize();
      }
    }
    selectValue(sql, bind) { return this.rows(sql, bind, (stmt) => stmt.get(0), 1)[0]; }
    selectValues(sql, bind) { return this.rows(sql, bind, (stmt) => stmt.get(0)); }
    selectArray(sql, bind) { return this.rows(sql, bind, (stmt) => stmt.get([]), 1)[0]; }
    selectArrays(sql, bind) { return this.rows(sql, bind, (stmt) => stmt.get([])); }
    selectObject(sql, bind) { return this.rows(sql, bind, (stmt) => stmt.get({}), 1)[0]; }
    selectObjects(sql, bind) { return this.rows(sql, bind, (stmt) => stmt.get({})); }
    changes(total = false, sixtyFour = false) {
      const count = total ? module._sqlite3_total_changes64(this.open) : module._sqlite3_changes64(this.open);
      return sixtyFour ? count : Number(count);
    }
    transaction(qualifier, callback) {
      if (typeof qualifier === 'function') [qualifier, callback] = ['', qualifier];
      if (!/^(|DEFERRED|IMMEDIATE|EXCLUSIVE)$/i.test(qualifier))
        throw new SQLite3Error(codes.SQLITE_MISUSE, `'${qualifier}' is not DEFERRED, IMMEDIATE or EXCLUSIVE`);
      return this.scoped(`BEGIN ${qualifier}`, 'COMMIT', 'ROLLBACK', callback);
    }
    savepoint(callback) {
      return this.scoped('SAVEPOINT oo1', 'RELEASE oo1', 'ROLLBACK TO oo1; RELEASE oo1', callback);
    }
    scoped(begin, commit, rollback, callback) {
      this.exec(begin);
      try {
        const result = callback(this);
        this.exec(commit);
        return result;
      } catch (error) {
        if (!module._sqlite3_get_autocommit(this.open)) this.exec(rollback);
        throw error;
      }
    }
    // Scalar functions: fn receives the arguments behind the context's pointer.
    createFunction(name, fn, options = {}) {
      if (typeof name === 'object') options = name;
      else if (typeof fn === 'function') options = { ...options, name, xFunc: fn };
      else options = { ...fn, name };
      const { xFunc, deterministic = false, directOnly = false, innocuous = false } = options;
      if (typeof xFunc !== 'function') throw new SQLite3Error(codes.SQLITE_MISUSE, 'createFunction needs a function xFunc');
      const arity = options.arity ?? Math.max(0, xFunc.length - 1);
      const pointer = module.addFunction((context, count, values) => {
        try {
          const read = (i) => readValue(heap, 'value', heap.pointerAt((values >>> 0) + 4 * i));
          writeValue(heap, 'result', xFunc(context, ...Array.from({ length: count }, (_, i) => read(i))), context);
        } catch (error) {
          heap.withText(String(error.message ?? error), (text, bytes) => module._sqlite3_result_error(context, text, bytes));
        }
      }, 'viii');
      const flags = codes.SQLITE_UTF8 | (deterministic ? codes.SQLITE_DETERMINISTIC : 0) |
        (directOnly ? codes.SQLITE_DIRECTONLY : 0) | (innocuous ? codes.SQLITE_INNOCUOUS : 0);
      const code = heap.withText(options.name, (text) =>
        module._sqlite3_create_function_v2(this.open, text, arity, flags, 0, pointer, 0, 0, 0));
      const key = `${options.name.toLowerCase()}/${arity}`;
      if (this.functions.has(key)) module.removeFunction(this.functions.get(key));
      this.functions.set(key, pointer);
      return this.checkRc(code);
    }
  }

  const libVersion = heap.string(module._sqlite3_libversion());
  const capi = {
    ...codes,
    sqlite3_libversion: () => libVersion,
    sqlite3_js_db_export(db, schema = 'main') {
      const name = schema;
      const data = heap.withText(name, (text) => module._sqlite3_serialize(db.open, text, heap.scratch, 0)) >>> 0;
      if (!data) throw new SQLite3Error(codes.SQLITE_NOMEM, `cannot export '${name}'`);
      const size = Number(new DataView(module.HEAPU8.buffer).getBigInt64(heap.scratch, true));
      const bytes = heap.blob(data, size);
      module._sqlite3_free(data);
      return bytes;
    },
  };
  return { oo1: { DB, Stmt }, capi, SQLite3Error, version: { libVersion } };
}
