'use strict';
// SQL: names, statements, and what the schema says of an index.
const { valueOf } = require('./values.js');

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

const columnsOf = (db, table, schema) => prepare(db, `PRAGMA ${schema ? `${quoted(schema)}.` : ''}table_xinfo(${quoted(table)})`).all().map((row) => row.name);

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
    db.exec('RELEASE sqlite_glove');  // if this commits, it fails while others read
  } catch (error) {
    try {
      db.exec('ROLLBACK TO sqlite_glove');
      try {
        db.exec('RELEASE sqlite_glove');
      } catch (_) {
        db.exec('ROLLBACK');  // only the end of a transaction can fail
      }
    } catch (_) {
      // Some errors have ended the transaction.
    }
    throw error;
  }
  return result;
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

const token = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]/.source;
const madeBy = /\bUSING\s+["'`[]?glove_index["'`\]]?\s*\(([^]*)\)/i;
const comment = new RegExp(`(${token})|--[^\\n]*|/\\*[^]*?\\*/`, 'g');
const argument = new RegExp(`(\\w+)\\s*=\\s*(${token}|[^,'"\`[]*)`, 'g');
const aName = new RegExp(`${token}|[^,'"\`[\\s](?:[^,'"\`[]*[^,'"\`[\\s])?`, 'g');

function unquoted(given) {
  const text = given.trim();
  if (text[0] === '[') return text.slice(1, -1);
  return /^(['"`]).*\1$/s.test(text) && text.length > 1 ? text.slice(1, -1).replaceAll(text[0] + text[0], text[0]) : text;
}
const namesIn = (list) => Array.from((list || '').matchAll(aName), ([one]) => unquoted(one));

// The type of the vectors of an index with these arguments.
const typeOfVectors = (given) => given.type || (given.metric === 'hamming' ? 'bits' : 'float32');

// The indexes of the connection as their CREATE VIRTUAL TABLE made them, in the order in which SQLite looks for a name.
function definitions(db) {
  const schemas = prepare(db, 'PRAGMA database_list').all().map((row) => row.name).sort((a, b) => (b === 'temp') - (a === 'temp'));
  const tables = schemas.flatMap((schema) => prepare(
    db, `SELECT name, sql FROM ${quoted(schema)}.sqlite_master WHERE type = 'table' AND sql NOT NULL ORDER BY rowid`).all()
    .map(({ name, sql }) => ({ schema, name, sql })));
  const placeOf = (schema, name) => `${schema}.${name}`.toLowerCase();
  const known = new Set(tables.map(({ schema, name }) => placeOf(schema, name)));
  return tables.flatMap(({ schema, name, sql }) => {
    const made = sql.replace(comment, (_, kept) => kept || ' ').match(madeBy);
    if (!made) return [];
    const given = Object.fromEntries(Array.from(made[1].matchAll(argument), ([, key, value]) => [key.toLowerCase(), unquoted(value)]));
    const content = given.content || '', point = schema === 'temp' ? content.indexOf('.') : -1;
    const home = point < 0 ? schema : content.slice(0, point);  // the schema of its table
    return [{ schema, name, home, table: content.slice(point + 1), key: namesIn(given.rowid), idIsKey: !known.has(placeOf(home, `${name}_key`)),
              vector: given.vector === undefined ? null : given.vector, texts: namesIn(given.text), skipsInvalid: given.invalid === 'skip', model: given.model,
              type: typeOfVectors(given) }];
  });
}

// The index of this name or, if there is none, that of a table of this name.
function definitionOf(db, given, name) {
  const found = findDefinition(db, given, name);
  const schemas = prepare(db, 'PRAGMA database_list').all().map((row) => row.name).sort((a, b) => (b === 'temp') - (a === 'temp'));
  for (const schema of schemas) {
    if (schema.toLowerCase() === found.home.toLowerCase()) break;
    const hides = [found.name, found.table].filter((one) => (schema !== found.schema || one !== found.name) && columnsOf(db, one, schema).length);
    if (hides.length) {
      throw new TypeError(`the index ${found.schema}.${found.name} is that of the table ${found.home}.${found.table}, but the name ` +
                          `'${hides[0]}' means ${schema}.${hides[0]} in this connection; rename one of them`);
    }
  }
  return found;
}

function findDefinition(db, given, name) {
  const known = definitions(db);
  const same = (a, b) => a.toLowerCase() === b.toLowerCase();
  const wanted = name === undefined ? given : name;
  quoted(given);
  const named = known.find((one) => same(one.name, wanted) && (name === undefined || same(given, one.table) || same(given, wanted)));
  if (named) return named;
  const ofTable = name === undefined ? known.filter((one) => same(one.table, given)) : [];
  if (ofTable.length === 1 || (ofTable.length && ofTable[0].schema !== ofTable[1].schema)) return ofTable[0];
  const usual = ofTable.find((one) => same(one.name, `${given}_vec`));
  if (usual) return usual;
  if (ofTable.length) {
    throw new TypeError(`the table '${given}' has the indexes ${ofTable.map((one) => `'${one.name}'`).join(', ')}; name one of them, as in ` +
                        `new Index(db, '${ofTable[0].name}')`);
  }
  const columns = columnsOf(db, given);
  throw new TypeError(`there is no index '${wanted}'${name === undefined ? ', nor one of a table of this name' : ` of '${given}'`}; ` + (
    columns.length ? `make one by CREATE VIRTUAL TABLE ... USING glove_index; the columns of '${given}' are ${columns.join(', ')}` :
      `index(db, '${given}', ...) makes the table and its index`));
}

// A condition, given as SQL or as columns and their values, as SQL and its parameters.
function whereOf(where, params, columns, table) {
  if ((where === undefined || where === null) && (!Array.isArray(params) || params.length)) {
    throw new TypeError(`params is ${JSON.stringify(params)}, but where is not given; write the condition that they are the values of`);
  }
  if (where === undefined || where === null || typeof where === 'string') return [where === null ? undefined : where, params];
  if (typeof where !== 'object' || Array.isArray(where)) {
    throw new TypeError(`where must be one SQL expression, or an object of columns and values, such as { lang: 'en' }, but is ${JSON.stringify(where)}`);
  }
  if (!Array.isArray(params) || params.length) throw new TypeError(`params is ${JSON.stringify(params)}, but where is an object, which has the values; leave params out`);
  const conditions = [], values = [];
  for (const [name, value] of Object.entries(where)) {
    if (!columns.some((one) => one.toLowerCase() === name.toLowerCase())) {
      throw new TypeError(`where names the column '${name}', but those of '${table}' are ${columns.join(', ')}`);
    }
    const given = Array.isArray(value) ? value : [value];
    values.push(...given.map((one) => valueOf(name, one)));
    const column = `${quoted(table)}.${quoted(name)}`;  // without the table, one that was dropped would be a text
    conditions.push(Array.isArray(value) ? `${column} IN (${given.map(() => '?').join(', ')})` : `${column} IS ?`);
  }
  return [conditions.join(' AND ') || '1', values];
}

// The column, quoted, of a table with these columns by which the FTS5 table names its rows: what its content_rowid= says, or rowid.
function fullTextRowid(db, fullText, columns) {
  const schemas = prepare(db, 'PRAGMA database_list').all().map((row) => row.name);
  for (const schema of schemas.sort((a, b) => (b === 'temp') - (a === 'temp'))) {
    const [made] = prepare(db, `SELECT sql FROM ${quoted(schema)}.sqlite_master WHERE lower(name) = lower(?) AND sql NOT NULL`).all(fullText);
    if (!made) continue;
    const [, text] = made.sql.replace(comment, (_, kept) => kept || ' ').match(/\(([^]*)\)/) || ['', ''];
    const given = Array.from(text.matchAll(argument)).filter(([, key]) => /^content_(r(o(w(id?)?)?)?)?$/i.test(key));  // FTS5 takes a beginning
    const column = given.length ? unquoted(given.at(-1)[2]) : '';
    return [...columns, 'oid', '_rowid_'].some((one) => one.toLowerCase() === column.toLowerCase()) ? quoted(column) : 'rowid';
  }
  return 'rowid';
}

module.exports = { allOrNothing, checkLoaded, checkWhere, columnsOf, definitionOf, definitions, fullTextRowid, literal, prepare, quoted, typeOfVectors, whereOf };
