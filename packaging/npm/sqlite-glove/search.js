'use strict';
// The statements of searches.
const { checkWhere, columnsOf, fullTextRowid, prepare, quoted } = require('./sql.js');
const { countOf, shownValue } = require('./values.js');

const ranksPerRow = 20;  // with `where`, how far down the ranking rows are looked for, as a multiple of k
const condition = '';  // among the names of the values: those of the condition

// The text of a statement, and the names of its values in their order.
class Text {
  constructor(where, byName) {
    Object.assign(this, { condition: where, byName, order: [], sql: '' });
  }
  mark(name) {
    this.order.push(name);
    return this.byName ? `:glove_${name}` : '?';
  }
  where() {
    this.order.push(condition);
    return `(${this.condition})`;
  }
}

function checked(name, value, most) {
  if (typeof value !== 'number' || !(value >= 0 && value <= most)) throw new TypeError(`${name} is ${shownValue(value)}; it must be a number from 0 to ${most}`);
  return value;
}

function fetchOf(fetch, k, least) {
  if (fetch === undefined) return 4n * k > least ? 4n * k : least;
  if ((typeof fetch !== 'bigint' && !Number.isSafeInteger(fetch)) || fetch < k) {
    throw new TypeError(`fetch is ${shownValue(fetch)}; it must be a number of rows, at least k, which is ${k}`);
  }
  return countOf(fetch);
}

// A start of names of a statement's own that none of these has.
function unlike(start, names) {
  while (names.some((name) => name.toLowerCase().startsWith(start))) start += '_';
  return start;
}

const same = (keys, others) => keys.map((key, place) => `${key} = ${others[place]}`).join(' AND ');

// Searches of one index. `asked` has the columns to return (shown), the condition (where, params), and the ids (among).
class Search {
  #db;
  #index;
  #statements = new Map();
  #inputs;
  #keys;
  #vKeys;
  #tKeys;

  constructor(db, index) {
    this.#db = db;
    this.#index = index;
    this.#inputs = columnsOf(db, index.name);
    this.score = this.#inputs.includes('distance') && !this.#inputs.includes('similarity') ? 'distance' : 'similarity';
    this.#keys = index.key.map(quoted);
    this.#vKeys = index.idIsKey ? ['v.id'] : this.#keys.map((key) => `v.${key}`);
    this.#tKeys = this.#keys.map((key) => `t.${key}`);
  }

  // Throws unless these may be further inputs.
  checkOptions(given) {
    const own = ['id', 'rank', 'similarity', 'distance', 'query', 'k', 'among', 'limit', this.#index.name, ...this.#index.key];
    for (const name of Object.keys(given)) {
      if (own.includes(name) || (this.#inputs.length && !this.#inputs.includes(name))) {
        throw new TypeError(`search() has no input '${name}'; those of the index are recall and backend. Conditions on ` +
                            'columns of the table are where and params');
      }
    }
    return given;
  }

  nearest(asked, given) {
    const inputs = this.#withAmong(asked, given);
    if (asked.where === undefined) return this.#run('k', asked, inputs);
    // A filter that many rows match finds k of them near the top of the ranking. Otherwise the matching rows are ranked.
    const { k, ...near } = inputs;
    const found = this.#run('near', asked, { ...near, rank: BigInt(Math.max(1, Math.min(ranksPerRow * Number(k), 2 ** 31))), limit: k });
    if (found.length >= k) return found;
    const { recall, ...exact } = inputs;  // checked above
    return this.#run('among', asked, exact);
  }

  // The same rows for each query, which is their `glove_query`.
  batch(asked, given, queries) {
    const inputs = this.#withAmong(asked, given);
    if (asked.where !== undefined) delete inputs.recall;
    queries.forEach((query, place) => { inputs[`query${place}`] = query; });
    return this.#run('batch', asked, inputs);
  }

  diverse(asked, given, diversity, fetch) {
    const other = Object.keys(given).find((name) => name !== 'query' && name !== 'k');
    if (other !== undefined) throw new TypeError(`${other} is ${shownValue(given[other])}, but a search with diversity takes no such input; leave it out`);
    return this.#run('diverse', asked, { ...this.#withAmong(asked, given), target: this.#index.name, lambda: 1 - checked('diversity', diversity, 1),
                                         fetch: fetchOf(fetch, given.k, 50n) });
  }

  hybrid(asked, given, { hybrid, match, weights = [1, 1], constant = 60, diversity, fetch }) {
    if (asked.among !== undefined) throw new TypeError("among is given, but hybrid takes a condition: use where, such as 'id IN (1, 2)'");
    if (typeof hybrid !== 'string' || !hybrid) throw new TypeError(`hybrid is ${shownValue(hybrid)}; it must be the name of an FTS5 table`);
    if (match === undefined && typeof given.query !== 'string') {
      throw new TypeError(`hybrid is '${hybrid}' and the query is a vector, so match must be the query of FTS5, such as 'rain OR storm'`);
    }
    if (!Array.isArray(weights) || weights.length !== 2) {
      throw new TypeError(`weights is ${shownValue(weights)}; it must be two numbers, of the full-text ranking and of the index's`);
    }
    const words = () => [...new Set(given.query.match(/[\p{L}\p{M}\p{N}_]+/gu))].map((word) => `"${word}"`).join(' OR ');
    const inputs = { ...given, match: (match === undefined ? words() : match) || '""', constant: checked('constant', constant, 1e9),
                     weight0: checked('weights', weights[0], 1e9), weight1: checked('weights', weights[1], 1e9), fetch: fetchOf(fetch, given.k, 100n) };
    if (diversity !== undefined) Object.assign(inputs, { target: this.#index.name, lambda: 1 - checked('diversity', diversity, 1) });
    const rowid = fullTextRowid(this.#db, hybrid, columnsOf(this.#db, this.#index.table));
    try {
      return this.#run('hybrid', asked, inputs, { table: hybrid, rowid });
    } catch (error) {
      const [, column] = /no such column: (?:t\.)?(rank|rowid)$/.exec(error.message) || [];
      if (column && !columnsOf(this.#db, hybrid).includes('rank')) throw new TypeError(`hybrid is '${hybrid}', which is no FTS5 table`);
      if (column === 'rowid') {
        throw new TypeError(`the table '${this.#index.table}' is one WITHOUT ROWID, but hybrid needs the rowids, by which the FTS5 table '${hybrid}' names ` +
                            'its rows; give it a content_rowid that is a column of the table');
      }
      throw error;
    }
  }

  #withAmong(asked, inputs) {
    return asked.among === undefined ? { ...inputs } : { ...inputs, among: asked.among };
  }

  #run(kind, asked, inputs, hybrid) {
    const { shown, where, params } = asked;
    const byName = where !== undefined && !Array.isArray(params);
    const key = JSON.stringify([kind, shown, where, Object.keys(inputs), byName, hybrid]);
    let known = this.#statements.get(key);
    if (known === undefined) {
      if (where !== undefined) checkWhere(where);
      if (this.#statements.size > 64) this.#statements.clear();
      const text = new Text(where, byName);
      if (kind === 'near') this.#near(text, asked, inputs);
      else if (kind === 'diverse') this.#diverse(text, asked, inputs);
      else if (kind === 'hybrid') this.#hybrid(text, asked, inputs, hybrid);
      else this.#plain(text, asked, inputs, kind === 'batch');
      known = { statement: prepare(this.#db, text.sql), order: text.order };
      this.#statements.set(key, known);
    }
    const { statement, order } = known;
    const own = order.filter((name) => name !== condition).map((name) => [`glove_${name}`, inputs[name]]);
    const found = byName ? statement.all({ ...params, ...Object.fromEntries(own) }) :
      statement.all(...order.flatMap((name) => (name === condition ? params : [inputs[name]])));
    for (const name of this.#index.key) {
      const rounded = found.find((row) => typeof row[name] === 'number' && Number.isInteger(row[name]) && !Number.isSafeInteger(row[name]));
      if (rounded) {
        throw new RangeError(`the id ${rounded[name]} may be that of another row, because this connection rounds integers beyond 2^53; ` +
                             'have it return bigints');
      }
    }
    return found;
  }

  // The columns of the answer: the key, the score, and those of the table.
  #columns(keys, score, asked) {
    return [...keys.map((key, place) => `${key} AS ${this.#keys[place]}`), score, ...asked.shown.map((name) => `t.${quoted(name)}`)].join(', ');
  }

  #table() { return quoted(this.#index.table); }
  #joined(asked, keys) { return asked.shown.length ? ` JOIN ${this.#table()} t ON ${same(this.#tKeys, keys)}` : ''; }

  // The conditions of the index, for inputs of these names.
  #conditions(text, names) {
    const conditions = [], queries = names.filter((name) => /^query\d+$/.test(name));
    for (const name of names) {
      if (name === 'limit' || queries.includes(name)) continue;
      conditions.push(`v.${quoted(name)} ${name === 'rank' ? '<=' : '='} ${text.mark(name)}`);
    }
    if (queries.length) conditions.push(`v.query IN (${queries.map((name) => text.mark(name)).join(', ')})`);
    return conditions;
  }

  #among(text, column) {
    return `${column} = (SELECT glove_keys(${this.#keys.join(', ')}) FROM ${this.#table()} WHERE ${text.where()})`;
  }

  #plain(text, asked, inputs, isBatch) {
    const conditions = asked.where === undefined ? [] : [this.#among(text, 'v.among')];
    conditions.push(...this.#conditions(text, Object.keys(inputs)));
    text.sql = `SELECT ${isBatch ? 'v.query AS glove_query, ' : ''}${this.#columns(this.#vKeys, `v.${this.score}`, asked)} FROM ` +
               `${quoted(this.#index.name)} v${this.#joined(asked, this.#vKeys)} WHERE ${conditions.join(' AND ')} ORDER BY v.rank`;
  }

  #near(text, asked, inputs) {
    const alias = unlike('glove_key', asked.shown);
    // A name in quotes that is no column would be a text, unless the table stands before it.
    const inner = [...this.#keys.map((key, place) => `${key} AS ${alias}${place}`),
                   ...asked.shown.map((name) => `${this.#table()}.${quoted(name)}`)].join(', ');
    const joined = ` CROSS JOIN (SELECT ${inner} FROM ${this.#table()} WHERE ${text.where()}) t ON ` +
                   same(this.#keys.map((_, place) => `t.${alias}${place}`), this.#vKeys);
    const conditions = this.#conditions(text, Object.keys(inputs));
    text.sql = `SELECT ${this.#columns(this.#vKeys, `v.${this.score}`, asked)} FROM ${quoted(this.#index.name)} v${joined} ` +
               `WHERE ${conditions.join(' AND ')} ORDER BY v.rank LIMIT ${text.mark('limit')}`;
  }

  #mmrKeys() { return this.#keys.map((_, place) => `m.key${place ? place + 1 : ''}`); }

  #mmr(text, among) {
    const inputs = ['target', 'query', 'k', 'lambda', 'fetch'].map((name) => text.mark(name));
    return `glove_mmr(${[...inputs, ...(among ? [among] : [])].join(', ')}) m`;
  }

  #diverse(text, asked, inputs) {
    const table = this.#mmr(text), keys = this.#mmrKeys();
    const among = asked.where !== undefined ? ` WHERE ${this.#among(text, 'm.among')}` :
      'among' in inputs ? ` WHERE m.among = ${text.mark('among')}` : '';
    text.sql = `SELECT ${this.#columns(keys, `m.${this.score}`, asked)} FROM ${table}${this.#joined(asked, keys)}${among} ORDER BY m.rank`;
  }

  #hybrid(text, asked, inputs, { table, rowid }) {
    const full = quoted(table), own = unlike('glove_', [this.#index.table, this.#index.name, table]);
    const keys = this.#keys.map((_, place) => `k${place}`), parts = [];
    const named = this.#keys.map((key, place) => `${key} AS ${keys[place]}`).join(', ');
    const filtered = asked.where !== undefined;
    if (filtered) parts.push(`${own}allowed AS (SELECT ${rowid} AS row, ${named} FROM ${this.#table()} WHERE ${text.where()})`);
    const matches = `(SELECT rowid AS row, rank FROM ${full} WHERE ${full} MATCH ${text.mark('match')}` +
                    `${filtered ? ` AND +rowid IN (SELECT row FROM ${own}allowed)` : ''} ORDER BY rank LIMIT ${text.mark('fetch')})`;
    const place = 'row_number() OVER (ORDER BY rank, row) AS place';
    const found = this.#tKeys.map((key, at) => `${key} AS ${keys[at]}`).join(', ');
    parts.push(`${own}text AS (SELECT ${keys.join(', ')}, ${place} FROM (SELECT ${found}, f.rank, f.row FROM ${matches} f ` +
               `JOIN ${this.#table()} t ON t.${rowid} = f.row))`);
    const hybrid = ['match', 'constant', 'weight0', 'weight1', 'fetch', 'target', 'lambda', 'k'];
    const conditions = this.#conditions(text, Object.keys(inputs).filter((name) => !hybrid.includes(name)));
    conditions.push(`v.k = ${text.mark('fetch')}`);
    if (filtered) conditions.push(`v.among = (SELECT glove_keys(${keys.join(', ')}) FROM ${own}allowed)`);
    parts.push(`${own}near AS (SELECT ${this.#vKeys.map((key, at) => `${key} AS ${keys[at]}`).join(', ')}, v.rank AS place ` +
               `FROM ${quoted(this.#index.name)} v WHERE ${conditions.join(' AND ')})`);
    const gains = [`${own}text`, `${own}near`].map(
      (of, side) => `SELECT ${keys.join(', ')}, 1.0 * ${text.mark(`weight${side}`)} / (${text.mark('constant')} + place) AS gain FROM ${of}`);
    const isDiverse = 'lambda' in inputs;
    const order = (alias) => [`${alias}score DESC`, ...keys.map((key) => alias + key)].join(', ');
    parts.push(`${own}fused AS (SELECT ${keys.join(', ')}, sum(gain) AS score FROM (${gains.join(' UNION ALL ')}) GROUP BY ${keys.join(', ')} ` +
               `ORDER BY ${order('')} LIMIT ${text.mark(isDiverse ? 'fetch' : 'k')})`);
    const ofFused = keys.map((key) => `f.${key}`);
    const source = isDiverse ? `${this.#mmr(text, `(SELECT glove_keys(${keys.join(', ')}) FROM ${own}fused)`)} CROSS JOIN ${own}fused f ON ` +
                               same(ofFused, this.#mmrKeys()) : `${own}fused f`;
    text.sql = `WITH ${parts.join(', ')} SELECT ${this.#columns(ofFused, 'f.score', asked)} FROM ${source}${this.#joined(asked, ofFused)} ` +
               `ORDER BY ${isDiverse ? 'm.rank' : order('f.')}`;
  }
}

module.exports = { Search };
