'use strict';
// Values that rows are made of: vectors, ids, and what else SQLite stores.

const mostRows = 2n ** 60n;  // more than any table has; four times as many are an integer of SQLite's

function blobOf(vector, kind) {
  if (vector === null || vector === undefined) return null;
  if (vector instanceof Uint8Array) return vector;
  if (kind === 'bits') throw new TypeError(`${String(vector)} is no vector of bits, which is a Uint8Array or a Buffer with 8 of them in each byte`);
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
function faultOf(blob, width, kind) {
  if (kind === 'bits') return blob.length === width && width > 0 ? '' : `has ${8 * blob.length} bits, but the index has ${8 * width}`;
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

// The numbers that a type of 16 or 8 bits holds, after rounding.
const limits = { float16: [-65519.99, 65519.99], bfloat16: [-3.3961e38, 3.3961e38], int8: [-128, 127] };

// BLOBs of float32 that the type can hold: whole numbers for int8. Of another, throws or, if `skips`, takes null.
function fitting(blobs, kind, skips) {
  if (kind === 'float32' || kind === 'bits') return blobs;
  const [least, most] = limits[kind];
  return blobs.map((blob, row) => {
    if (blob === null || blob.length % 4) return blob;
    const view = new DataView(blob.buffer, blob.byteOffset, blob.length);
    for (let at = 0; at < blob.length; at += 4) {
      const one = view.getFloat32(at, true);
      if (one >= least && one <= most && (kind !== 'int8' || Number.isInteger(one))) continue;
      if (skips) return null;
      throw new TypeError(`row ${row} of vectors has ${one} as the component ${at / 4 + 1}, which ${kind} cannot hold` + (
        kind === 'int8' ? '; int8 holds whole numbers from -128 to 127: multiply the vectors by 127 and round them' : ''));
    }
    return blob;
  });
}

function countOf(k) {
  if ((typeof k !== 'bigint' && !Number.isSafeInteger(k)) || k < 0) {
    throw new TypeError(`k is ${String(k)}; it must be a number of rows, 0 or more`);
  }
  return BigInt(k) < mostRows ? BigInt(k) : mostRows;
}

// The BLOBs of an array of vectors, or of one Float32Array that has `dims` components for each row.
function blobsOf(vectors, dims, kind) {
  if (!(vectors instanceof Float32Array) && !(vectors instanceof Float64Array)) return Array.from(vectors, (one) => blobOf(one, kind));
  if (!Number.isInteger(dims) || dims < 1 || vectors.length % dims !== 0) {
    throw new TypeError(`vectors is one array of ${vectors.length} numbers, so dims must say how many a row has; it is ${dims}`);
  }
  return Array.from({ length: vectors.length / dims }, (_, row) => blobOf(vectors.subarray(row * dims, (row + 1) * dims), kind));
}

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

// What messages show of a value.
const shownValue = (value) => (Array.isArray(value) ? `[${value.map(shownValue).join(', ')}]` : typeof value === 'string' ? `'${value}'` : String(value));

// The columns whose values identify a row, and what an id is: a value, or an array of them for several columns.
class Key {
  constructor(names, isInteger, remedy = '') {
    Object.assign(this, { names, isInteger, remedy });
  }

  #part(value, of) {
    if (typeof value === 'bigint' || Number.isSafeInteger(value)) return BigInt(value);
    if (this.isInteger) {
      throw new TypeError(`the id ${shownValue(of)} is not an integer, which an INTEGER PRIMARY KEY needs${this.remedy}`);
    }
    if (typeof value !== 'string' && typeof value !== 'number' && !(value instanceof Uint8Array)) {
      throw new TypeError(`the id ${shownValue(of)} is neither text nor a number nor bytes`);
    }
    return value;
  }

  // The values of one id.
  one(given) {
    if (this.names.length === 1) return [this.#part(given, given)];
    if (!Array.isArray(given) || given.length !== this.names.length) {
      throw new TypeError(`the id ${shownValue(given)} is no array of the key's columns, [${this.names.join(', ')}]`);
    }
    return given.map((value) => this.#part(value, given));
  }

  // The values of each id of an iterable.
  many(given) {
    if (given === null || typeof given !== 'object' || typeof given[Symbol.iterator] !== 'function' || given instanceof Uint8Array) {
      throw new TypeError(`the ids are ${shownValue(given)}; they must be an iterable of ids`);
    }
    return Array.from(given, (one) => this.one(one));
  }

  // Whether this is one id, and not an iterable of them.
  isOne(given) {
    if (this.names.length > 1) return Array.isArray(given) && given.length > 0 && !Array.isArray(given[0]);
    return given === null || typeof given !== 'object' || given instanceof Uint8Array;
  }

  // The columns of the ids; an object of arrays has them already.
  columns(ids) {
    if (this.names.length > 1 && !ids[Symbol.iterator]) {
      if (Object.keys(ids).sort().join() !== [...this.names].sort().join()) {
        throw new TypeError(`ids has the columns ${Object.keys(ids).join(', ')}; those of the key are ${this.names.join(', ')}`);
      }
      return new Map(Object.entries(ids).map(([name, values]) => [name, Array.from(values, (value) => this.#part(value, value))]));
    }
    const rows = this.many(ids);
    return new Map(this.names.map((name, place) => [name, rows.map((row) => row[place])]));
  }

  // The input `among` for these ids.
  json(ids) {
    const part = (value) => {
      if (value instanceof Uint8Array) throw new TypeError('among cannot have ids that are bytes; give a condition as where');
      return typeof value === 'bigint' ? String(value) : JSON.stringify(value);
    };
    return `[${this.many(ids).map((row) => (row.length > 1 ? `[${row.map(part).join(', ')}]` : part(row[0]))).join(', ')}]`;
  }
}

// The key of a new table with these ids, the types of its columns, and their values.
function keyOfIds(ids) {
  if (ids === undefined || ids === null) return { key: new Key(['id'], true), types: { id: ' INTEGER PRIMARY KEY' }, values: new Map() };
  if (typeof ids === 'object' && !ids[Symbol.iterator]) {
    const key = new Key(Object.keys(ids), false);
    if (key.names.length < 2) throw new TypeError(`ids has the columns ${key.names.join(', ')}; a key of one column is given as an array of its values`);
    const values = key.columns(ids);
    return { key, types: Object.fromEntries([...values].map(([name, some]) => [name, typeOf(some)])), values };
  }
  const given = Array.from(ids);
  const isText = given.length > 0 && (typeof given[0] === 'string' || given[0] instanceof Uint8Array);
  const key = new Key(['id'], !isText, '; leave ids out, and pass these as one of the columns');
  const values = key.columns(given);
  const wrong = isText ? values.get('id').find((one) => typeof one !== typeof given[0]) : undefined;
  if (wrong !== undefined) throw new TypeError(`the id ${shownValue(wrong)} has another type than the id ${shownValue(given[0])}; a key has one type`);
  return { key, types: { id: isText ? `${typeOf(given)} PRIMARY KEY NOT NULL` : ' INTEGER PRIMARY KEY' }, values };
}

// The values of each column that is given, all of one length; `keys` are those of the key.
function valuesOf({ vectors, dims, columns }, keys, vector, kind) {
  const values = new Map(keys);
  if (Array.isArray(columns) || columns instanceof Map) {
    throw new TypeError('columns must be an object of arrays, such as { title: rows.map((row) => row.title) }');
  }
  const taken = [...(keys.size ? keys.keys() : ['id']), ...(vector ? [vector] : []), 'similarity'];
  for (const [name, column] of Object.entries(columns || {})) {
    if (taken.some((one) => one.toLowerCase() === name.toLowerCase())) {
      throw new TypeError(`a column cannot have the name '${name}'; rename it`);
    }
    values.set(name, Array.from(column, (value) => valueOf(name, value)));
  }
  if (vectors !== undefined && vectors !== null) {
    if (!vector) throw new TypeError('vectors were given to an index of texts, which makes its own; leave them out');
    if ([...keys.keys()].some((one) => one.toLowerCase() === vector.toLowerCase())) {
      throw new TypeError(`ids has the column '${vector}', which is the name of that of the vectors; rename it`);
    }
    values.set(vector, blobsOf(vectors, dims, kind));
  }
  const lengths = new Set([...values.values()].map((column) => column.length));
  if (lengths.size !== 1) {
    const found = [...values].map(([name, column]) => `${name} ${column.length}`).join(', ');
    throw new TypeError(`ids, vectors and columns must have the same number of rows, but have: ${found || 'none'}`);
  }
  return values;
}

module.exports = { Key, blobOf, blobsOf, countOf, faultOf, fitting, keyOfIds, shownValue, typeOf, valueOf, valuesOf };
