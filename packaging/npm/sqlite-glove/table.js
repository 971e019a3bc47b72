'use strict';
// Tables whose rows can be searched by their vectors or texts, over connections of node:sqlite, better-sqlite3 and others of the
// same form: makeIndex() makes one, Index uses one.

const rowsPerNotice = 4096;
const mostLogged = 10000;  // more changed rows than this make each search slow, so they are synced
const ranksPerRow = 20;  // with `where`, how far down the ranking rows are looked for, as a multiple of k

const quoted = (name) => {
  if (typeof name !== 'string' || !name || name.includes('\0')) {
    throw new TypeError(`${name} cannot be the name of a table or a column; it must be a string`);
  }
  return `"${name.replaceAll('"', '""')}"`;
};
const literal = (value) => `'${(typeof value === 'string' ? value : JSON.stringify(value)).replaceAll("'", "''")}'`;

// A statement whose rows are objects with exact integers, whatever the defaults of the connection are. Integers beyond 2^53 are
// bigints; the others too if that is a default of the connection.
function prepare(db, sql) {
  const statement = db.prepare(sql);
  if (statement.setReturnArrays) statement.setReturnArrays(false);
  const keepsBigints = Object.values(db.prepare('SELECT 1').get()).some((one) => typeof one === 'bigint');
  if (statement.safeIntegers) statement.safeIntegers(true);
  else if (statement.setReadBigInts) statement.setReadBigInts(true);
  const shown = (value) => (typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value);
  const all = (...values) => {
    const rows = statement.all(...values);
    if (!keepsBigints) for (const row of rows) for (const name of Object.keys(row)) row[name] = shown(row[name]);
    return rows;
  };
  return { all };
}

const columnsOf = (db, table) => prepare(db, `PRAGMA table_xinfo(${quoted(table)})`).all().map((row) => row.name);

function checkLoaded(db) {
  try {
    db.prepare('SELECT glove_version()');
  } catch (error) {
    if (!String(error.message).includes('no such function')) throw error;
    throw new TypeError('the extension is not loaded into this connection; call load(db) of sqlite-glove first');
  }
}

// Runs work() as a transaction or, if one is open already, as a part of it that is undone by an exception.
function allOrNothing(db, work) {
  db.exec('SAVEPOINT sqlite_glove');
  let result;
  try {
    result = work();
  } catch (error) {
    try {
      db.exec('ROLLBACK TO sqlite_glove; RELEASE sqlite_glove');
    } catch (_) {
      // Some errors have ended the transaction.
    }
    throw error;
  }
  db.exec('RELEASE sqlite_glove');
  return result;
}

function blobOf(vector) {
  if (vector === null || vector === undefined) return null;
  if (vector instanceof Uint8Array) return vector;
  if (typeof vector !== 'object' || typeof vector.length !== 'number') {
    throw new TypeError(`${String(vector)} is not a vector; a vector is a Float32Array or an array of numbers`);
  }
  if (vector.length === 0) throw new TypeError('a vector without components was given; a vector has one component or more');
  const bytes = Buffer.alloc(4 * vector.length);
  for (let i = 0; i < vector.length; ++i) {
    if (typeof vector[i] !== 'number' && typeof vector[i] !== 'bigint') {
      throw new TypeError(`the component ${i + 1} of a vector is ${String(vector[i])}; it must be a number`);
    }
    bytes.writeFloatLE(Number(vector[i]), 4 * i);
  }
  return bytes;
}

// What is wrong with the BLOB of a vector that must have `width` bytes; nothing if it is right.
function faultOf(blob, width) {
  if (blob.length !== width || width % 4 !== 0 || width === 0) {
    return `has ${blob.length / 4} components, but the index has ${Math.floor(width / 4)} dimensions`;
  }
  const view = new DataView(blob.buffer, blob.byteOffset, width);
  for (let at = 0; at < width; at += 4) {
    const one = view.getFloat32(at, true);
    if (!Number.isFinite(one)) return `has ${one} as the component ${at / 4 + 1}`;
  }
  return '';
}

function countOf(k) {
  if ((typeof k !== 'bigint' && !Number.isSafeInteger(k)) || k < 0) {
    throw new TypeError(`k is ${String(k)}; it must be a number of rows, 0 or more`);
  }
  return BigInt(k);
}

// The BLOBs of an array of vectors, or of one Float32Array that has `dims` components for each row.
function blobsOf(vectors, dims) {
  if (!(vectors instanceof Float32Array) && !(vectors instanceof Float64Array)) return Array.from(vectors, blobOf);
  if (!Number.isInteger(dims) || dims < 1 || vectors.length % dims !== 0) {
    throw new TypeError(`vectors is one array of ${vectors.length} numbers, so dims must say how many a row has; it is ${dims}`);
  }
  return Array.from({ length: vectors.length / dims }, (_, row) => blobOf(vectors.subarray(row * dims, (row + 1) * dims)));
}

const idsOf = (ids) => Array.from(ids, (id) => {
  if (typeof id !== 'bigint' && !Number.isSafeInteger(id)) {
    throw new TypeError(`the id ${String(id)} is not an integer, which an INTEGER PRIMARY KEY needs; leave ids out, and pass these ` +
                        'as one of the columns');
  }
  return BigInt(id);
});

function valueOf(column, value) {
  if (value === undefined) return null;
  if (typeof value === 'boolean') return BigInt(value);
  if (Number.isSafeInteger(value)) return BigInt(value);  // bound as an integer, where a number would be a REAL
  if (value instanceof Date) return value.toISOString();
  if (value === null || ['number', 'bigint', 'string'].includes(typeof value) || value instanceof Uint8Array) return value;
  throw new TypeError(`the column '${column}' has the value ${JSON.stringify(value)}, which SQLite cannot store; make it a number, ` +
                      'a string or bytes, for example by JSON.stringify');
}

// The declared type of a column; none if its values have several.
function typeOf(values) {
  const types = new Set(values.filter((value) => value !== null).map((value) => (typeof value)));
  const names = { bigint: ' INTEGER', number: ' REAL', string: ' TEXT', object: ' BLOB' };
  if (types.size === 2 && types.has('bigint') && types.has('number')) return ' REAL';
  return types.size === 1 ? names[[...types][0]] : '';
}

// Throws unless the text is one expression as far as brackets and quotes can tell.
function checkWhere(where) {
  const wrong = (why) => new TypeError(`where must be one SQL expression, but ${JSON.stringify(where)} ${why}`);
  if (typeof where !== 'string' || !where.trim()) throw wrong('is none');
  let depth = 0;
  for (const [token] of where.matchAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|--|\/\*|[();'"`[]/g)) {
    depth += { '(': 1, ')': -1 }[token] || 0;
    if (depth < 0 || [';', '--', '/*', "'", '"', '`', '['].includes(token)) throw wrong(`has ${token} at a place where it would end it`);
  }
  if (depth !== 0) throw wrong('has a bracket that is not closed');
}

// The values of each column that is given, all of one length.
function valuesOf({ ids, vectors, dims, columns }, id, vector) {
  const values = new Map();
  if (ids !== undefined && ids !== null) values.set(id, idsOf(ids));
  if (Array.isArray(columns) || columns instanceof Map) {
    throw new TypeError('columns must be an object of arrays, such as { title: rows.map((row) => row.title) }');
  }
  for (const [name, column] of Object.entries(columns || {})) {
    if ([id, vector || id, 'similarity'].some((taken) => taken.toLowerCase() === name.toLowerCase())) {
      throw new TypeError(`a column cannot have the name '${name}'; rename it`);
    }
    values.set(name, Array.from(column, (value) => valueOf(name, value)));
  }
  if (vectors !== undefined && vectors !== null) {
    if (!vector) throw new TypeError('vectors were given to an index of texts, which makes its own; leave them out');
    values.set(vector, blobsOf(vectors, dims));
  }
  const lengths = new Set([...values.values()].map((column) => column.length));
  if (lengths.size !== 1) {
    const found = [...values].map(([name, column]) => `${name} ${column.length}`).join(', ');
    throw new TypeError(`ids, vectors and columns must have the same number of rows, but have: ${found || 'none'}`);
  }
  return values;
}

function insert(db, table, values, id, { upsert = false, progress } = {}) {
  // libsql ends the process if the only value of a statement is a BLOB or NULL.
  if (values.size === 1 && !values.has(id)) values = new Map([[id, []], ...values]);
  const names = [...values.keys()];
  const changes = names.filter((name) => name !== id).map((name) => `${quoted(name)} = excluded.${quoted(name)}`).join(', ');
  const conflict = upsert ? ` ON CONFLICT(${quoted(id)}) DO ${changes ? `UPDATE SET ${changes}` : 'NOTHING'}` : '';
  const statement = db.prepare(
    `INSERT INTO ${quoted(table)}(${names.map(quoted).join(', ')}) VALUES (${names.map(() => '?').join(', ')})${conflict}`);
  const columns = [...values.values()];
  const total = columns.at(-1).length;
  for (let row = 0; row < total; ++row) {
    if (progress && row % rowsPerNotice === 0) progress(row, total);
    statement.run(...columns.map((column) => (row in column ? column[row] : null)));
  }
  if (progress) progress(total, total);
}

class Index {
  #statements = new Map();

  constructor(db, table, { name = `${table}_vec`, id = 'id', vector = 'vector' } = {}) {
    checkLoaded(db);
    Object.assign(this, { db, table, name, id, vector });
    const known = columnsOf(db, table);
    for (const column of [id, vector]) {
      if (column !== null && !known.includes(column)) {
        throw new TypeError(`the table '${table}' has no column '${column}'; ` +
                            (known.length ? `its columns are ${known.join(', ')}` : 'there is no such table') +
                            (known.length && column === vector ?
                              "; name the one with the vectors, {vector: 'COLUMN'}, or for an index of texts {vector: null}" : ''));
      }
    }
    this.columns = known.filter((column) => column !== id && column !== vector);
  }

  search(query, k = 10, { where, params = [], among, columns = this.columns, ...options } = {}) {
    if (where !== undefined && among !== undefined) throw new TypeError('where and among are both given; give one of them');
    if (query === null || query === undefined) {
      throw new TypeError(`the query is ${query}; it must be a vector or, with a model, a text`);
    }
    const inputs = { query: typeof query === 'string' ? query : blobOf(query), k: countOf(k) };
    for (const [name, value] of Object.entries(options)) if (value !== undefined && value !== null) inputs[name] = value;
    if (among !== undefined) {
      inputs.among = typeof among === 'string' || among instanceof Uint8Array ? among : `[${idsOf(among).join(', ')}]`;
    }
    if (where === undefined) return this.#rows('k', columns, undefined, [], inputs);
    // A filter that many rows match finds k of them near the top of the ranking. Otherwise the matching rows are ranked.
    const near = { ...inputs, rank: BigInt(Math.max(1, Math.min(ranksPerRow * Number(k), 2 ** 31))), limit: inputs.k };
    delete near.k;
    const found = this.#rows('near', columns, where, params, near);
    if (found.length >= k) return found;
    const { recall, ...exact } = inputs;  // checked above
    return this.#rows('among', columns, where, params, exact);
  }

  add(rows) { this.#write(rows, false); }
  upsert(rows) { this.#write(rows, true); }

  delete(ids) {
    const wanted = idsOf(typeof ids === 'number' || typeof ids === 'bigint' ? [ids] : ids);
    allOrNothing(this.db, () => {
      const statement = this.db.prepare(`DELETE FROM ${quoted(this.table)} WHERE ${quoted(this.id)} = ?`);
      for (const id of wanted) statement.run(id);
      this.#syncIfDue();
    });
  }

  sync() { this.command('sync'); }
  command(command) { this.db.prepare(`INSERT INTO ${quoted(this.name)}(${quoted(this.name)}) VALUES (?)`).run(command); }

  #number(sql, ...values) {
    const [row] = prepare(this.db, sql).all(...values);
    return row ? Number(row.n) : 0;
  }

  #syncIfDue() {
    if (this.#number(`SELECT count(*) AS n FROM ${quoted(`${this.name}_log`)}`) > mostLogged) this.sync();
  }

  // Throws if one of the BLOBs could never be found, unless the index skips such rows. Returns 0, or the bytes of a vector if an
  // upsert() has those of another model.
  #checkVectors(blobs, upsert) {
    const first = blobs.find((blob) => blob !== null);
    if (first === undefined) return 0;
    const width = this.#width() || first.length;
    const changed = upsert && first.length !== width ? first.length : 0;
    for (const [row, blob] of blobs.entries()) {
      const fault = blob === null ? '' : faultOf(blob, changed || width);
      if (fault && this.#skipsInvalid()) return 0;
      if (fault) throw new TypeError(`row ${row} of vectors ${fault}; correct it, or give null in its place for a row without a vector`);
    }
    return changed;
  }

  #checkAllHave(bytes) {
    if (this.#number(`SELECT 1 AS n FROM ${quoted(this.table)} WHERE length(${quoted(this.vector)}) <> ? LIMIT 1`, bytes)) {
      throw new TypeError(`vectors have ${bytes / 4} components, but rows of '${this.table}' that are not given have another number; ` +
                          "to change it, upsert the vectors of all rows at once, and then run command('rebuild')");
    }
  }

  // The bytes of a vector of the index: of its dimensions or, as long as it knows none, of the first row; 0 without rows.
  #width() {
    const vector = quoted(this.vector);
    return this.#number(`SELECT 4 * value AS n FROM ${quoted(`${this.name}_config`)} WHERE key = 'dims'`) || this.#number(
      `SELECT length(${vector}) AS n FROM ${quoted(this.table)} WHERE typeof(${vector}) = 'blob' ORDER BY ${quoted(this.id)} LIMIT 1`);
  }

  #skipsInvalid() {
    const schemas = prepare(this.db, 'PRAGMA database_list').all().map((row) => quoted(row.name));
    return schemas.some((schema) => prepare(
      this.db, `SELECT sql FROM ${schema}.sqlite_master WHERE type = 'table' AND lower(name) = lower(?)`)
      .all(this.name).some((row) => /\binvalid\s*=\s*['"]?skip/i.test(row.sql)));
  }

  #write(rows, upsert) {
    const values = valuesOf(rows, this.id, this.vector);
    if (upsert && !values.has(this.id)) throw new TypeError('upsert() needs the ids of the rows');
    const changed = this.vector && values.has(this.vector) ? this.#checkVectors(values.get(this.vector), upsert) : 0;
    allOrNothing(this.db, () => {
      for (const event of changed ? ['insert', 'update'] : []) {  // 'rebuild', which must follow, makes these triggers again
        this.db.exec(`DROP TRIGGER IF EXISTS ${quoted(`${this.name}_${event}_check`)}`);
      }
      insert(this.db, this.table, values, this.id, { upsert, progress: rows.progress });
      if (changed) this.#checkAllHave(changed);
      else this.#syncIfDue();
    });
  }

  #rows(kind, columns, where, params, inputs) {
    const byName = where !== undefined && !Array.isArray(params);
    const key = JSON.stringify([kind, columns, where, Object.keys(inputs), byName]);
    let statement = this.#statements.get(key);
    if (statement === undefined) {
      if (this.#statements.size > 64) this.#statements.clear();
      statement = prepare(this.db, this.#sql(kind, columns, where, Object.keys(inputs), byName));
      this.#statements.set(key, statement);
    }
    const own = Object.entries(inputs).map(([name, value]) => [`glove_${name}`, value]);
    const found = byName ? statement.all({ ...params, ...Object.fromEntries(own) }) : statement.all(...params, ...Object.values(inputs));
    const rounded = found.find((row) => typeof row[this.id] === 'number' && !Number.isSafeInteger(row[this.id]));
    if (rounded) {
      throw new RangeError(`the id ${rounded[this.id]} may be that of another row, because this connection rounds integers beyond 2^53; ` +
                           'have it return bigints');
    }
    return found;
  }

  #sql(kind, shown, where, inputs, byName) {
    if (where !== undefined) checkWhere(where);
    const known = columnsOf(this.db, this.name);
    const score = known.includes('distance') && !known.includes('similarity') ? 'distance' : 'similarity';
    if (shown.includes(score)) {
      throw new TypeError(`the table has a column '${score}', which would take the place of the answer's; name the columns to return ` +
                          'without it');
    }
    for (const name of inputs) {
      if (known.length && name !== 'limit' && !known.includes(name)) {
        throw new TypeError(`search() has no input '${name}'; those of the index are recall and backend. Conditions on ` +
                            'columns of the table are where and params');
      }
    }
    const table = quoted(this.table), id = quoted(this.id);
    const mark = (name) => (byName ? `:glove_${name}` : '?');
    const conditions = inputs.filter((name) => name !== 'limit').map(
      (name) => `v.${quoted(name)} ${name === 'rank' ? '<=' : '='} ${mark(name)}`);
    let joined = shown.length ? ` JOIN ${table} t ON t.${id} = v.id` : '';
    if (kind === 'near') {
      let key = 'glove_key';
      while (shown.some((name) => name.toLowerCase() === key)) key += '_';
      const inner = [`${id} AS ${key}`, ...shown.map(quoted)].join(', ');
      joined = ` CROSS JOIN (SELECT ${inner} FROM ${table} WHERE (${where})) t ON t.${key} = v.id`;
    }
    if (kind === 'among') conditions.unshift(`v.among = (SELECT glove_keys(${id}) FROM ${table} WHERE (${where}))`);
    const columns = [`v.id AS ${id}`, `v.${score}`, ...shown.map((name) => `t.${quoted(name)}`)].join(', ');
    return `SELECT ${columns} FROM ${quoted(this.name)} v${joined} WHERE ${conditions.join(' AND ')} ORDER BY v.rank` +
           (kind === 'near' ? ` LIMIT ${mark('limit')}` : '');
  }
}

function makeIndex(db, table, { ids, vectors, dims, columns, text, name = `${table}_vec`, progress, ...options } = {}) {
  const vector = text === undefined ? 'vector' : null;
  if (vector && (vectors === undefined || vectors === null)) {
    throw new TypeError('an index needs vectors, or text, the names of the columns whose texts a model makes vectors of');
  }
  const values = valuesOf({ ids, vectors, dims, columns }, 'id', vector);
  const declared = [...values].filter(([column]) => column !== 'id' && column !== vector).map(
    ([column, some]) => quoted(column) + typeOf(some));
  const given = { content: table, rowid: 'id', ...(vector ? { vector } : { text: [text].flat().map(quoted).join(', ') }) };
  for (const key of Object.keys(options)) {
    if (!/^\w+$/.test(key) || key in given) throw new TypeError(`'${key}' cannot be an argument of the index`);
  }
  const check = vector && !('invalid' in options) ? { check: 'yes' } : {};
  const using = Object.entries({ ...given, ...check, ...options }).map(([key, value]) => `${key}=${literal(value)}`).join(', ');
  checkLoaded(db);
  if (columnsOf(db, table).length) {
    throw new TypeError(`the table '${table}' exists already; open its index by new Index(db, '${table}') and use add() or upsert(), ` +
                        'or drop the index and the table first');
  }
  allOrNothing(db, () => {
    db.exec(`CREATE TABLE ${quoted(table)}(${['"id" INTEGER PRIMARY KEY', ...declared, ...(vector ? ['"vector" BLOB'] : [])].join(', ')})`);
    insert(db, table, values, 'id', { progress });
    db.exec(`CREATE VIRTUAL TABLE ${quoted(name)} USING glove_index(${using})`);
  });
  return new Index(db, table, { name, vector });
}

module.exports = { Index, makeIndex };
