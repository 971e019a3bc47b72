'use strict';
// Tables whose rows can be searched by their vectors or texts, over connections of node:sqlite, better-sqlite3 and others of the
// same form: makeIndex() makes one, Index uses one.
const { catchUp, encodeInPieces, explain, isNeural, loadedModel, loggedRows } = require('./neural.js');
const { Search } = require('./search.js');
const { allOrNothing, checkLoaded, columnsOf, definitionOf, definitions, literal, prepare, quoted, typeOfVectors, whereOf } = require('./sql.js');
const { Key, blobOf, blobsOf, countOf, faultOf, fitting, keyOfIds, shownValue, typeOf, valuesOf } = require('./values.js');

const rowsPerNotice = 4096;
const mostLogged = 10000;  // more changed rows than this make each search slow, so they are synced
const queriesPerBatch = 256;

// Runs work(), and begins the message of an error of its own with the name of the verb.
function named(verb, work) {
  try {
    return work();
  } catch (error) {
    if ([TypeError, RangeError].includes(error.constructor) && !error.message.includes('(): ') && error.code === undefined) error.message = `${verb}(): ${error.message}`;
    throw error;
  }
}

// The bytes of a column of this type that four given bytes become, and what makes them: vectors of float32 or, of bits, bytes are given.
const typesOfVectors = { float32: [4, '?'], float16: [2, 'glove_f16(?)'], bfloat16: [2, 'glove_bf16(?)'], int8: [1, 'glove_i8(?, 1)'], bits: [4, '?'] };

// `made` has expressions for the columns whose values are made of those that are given.
function insert(db, table, values, key, { upsert = false, progress, made = {} } = {}) {
  // libsql ends the process if the only value of a statement is a BLOB or NULL.
  if (values.size === 1 && !values.has(key[0])) values = new Map([[key[0], []], ...values]);
  const names = [...values.keys()];
  const changes = names.filter((name) => !key.includes(name)).map((name) => `${quoted(name)} = excluded.${quoted(name)}`).join(', ');
  const conflict = upsert ? ` ON CONFLICT(${key.map(quoted).join(', ')}) DO ${changes ? `UPDATE SET ${changes}` : 'NOTHING'}` : '';
  const statement = db.prepare(
    `INSERT INTO ${quoted(table)}(${names.map(quoted).join(', ')}) VALUES (${names.map((name) => (Object.hasOwn(made, name) ? made[name] : '?')).join(', ')})${conflict}`);
  const columns = [...values.values()];
  const total = columns.at(-1).length;
  for (let row = 0; row < total; ++row) {
    if (progress && row % rowsPerNotice === 0) progress(row, total);
    statement.run(...columns.map((column) => (row in column ? column[row] : null)));
  }
  if (progress) progress(total, total);
}

// An id of a join: of a key of several columns, which is a JSON array there, a list.
const idOfJoin = (id, key) => (key.length > 1 ? JSON.parse(id) : id);

const given = (options) => Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined && value !== null));

class Index {
  #search;
  #key;
  #skipsInvalid;
  #neural;
  #model;
  #type;
  #kind;

  constructor(db, table, { name, model } = {}) {
    checkLoaded(db);
    const found = definitionOf(db, table, name);
    if (model !== undefined) loadedModel(db, model, found.model);
    this.#key = new Key(found.key, found.idIsKey);
    this.#skipsInvalid = found.skipsInvalid;
    this.#kind = found.type;
    this.#type = typesOfVectors[found.type];
    Object.assign(this, { db, table: found.table, name: found.name, key: found.key, vector: found.vector, texts: found.texts });
    this.#search = new Search(db, found);
    this.#neural = found.vector === null && isNeural(db, found.name);
    this.#model = found.model;
    this.columns = this.#columnsNow();
  }

  search(query, k = 10, options = {}) {
    return named('search', () => {
      const { where, params, among, columns, hybrid, match, weights, constant, diversity, fetch, ...others } = given(options);
      if (query === null || query === undefined) {
        throw new TypeError(`the query is ${query}; it must be a vector or, with a model, a text`);
      }
      if (match !== undefined && hybrid === undefined) throw new TypeError(`match is ${shownValue(match)}, but hybrid names no FTS5 table that it could be a query of`);
      if (fetch !== undefined && hybrid === undefined && diversity === undefined) {
        throw new TypeError(`fetch is ${shownValue(fetch)}, but neither hybrid nor diversity is given, which choose from so many rows`);
      }
      const inputs = { query: typeof query === 'string' ? query : blobOf(query, this.#kind), k: countOf(k), ...this.#search.checkOptions(others) };
      return this.#searched(() => {
        const asked = this.#asked({ where, params, among, columns }, hybrid === undefined ? this.#search.score : 'score');
        if (hybrid !== undefined) return this.#search.hybrid(asked, inputs, { hybrid, match, weights, constant, diversity, fetch });
        if (diversity !== undefined) return this.#search.diverse(asked, inputs, diversity, fetch);
        return this.#search.nearest(asked, inputs);
      });
    });
  }

  searchMany(queries, k = 10, options = {}) {
    return named('searchMany', () => {
      if (queries === null || typeof queries !== 'object' || !queries[Symbol.iterator] || queries instanceof Uint8Array) {
        throw new TypeError(`the queries are ${shownValue(queries)}; they must be an iterable of vectors, or of texts`);
      }
      const { where, params, among, columns, ...others } = given(options);
      const asked = Array.from(queries, (query) => (typeof query === 'string' ? query : blobOf(query, this.#kind)));
      if (asked.includes(null)) throw new TypeError('one of the queries is null or undefined; each must be a vector or, with a model, a text');
      const nameOf = (query) => (typeof query === 'string' ? `t${query}` : `b${Buffer.from(query).toString('latin1')}`);
      const different = [...new Map(asked.map((query) => [nameOf(query), query])).values()];
      const inputs = { k: countOf(k), ...this.#search.checkOptions(others) };
      return this.#searched(() => {
        const answers = new Map(), wanted = this.#asked({ where, params, among, columns }, this.#search.score);
        for (let start = 0; start < different.length; start += queriesPerBatch) {
          for (const { glove_query: query, ...row } of this.#search.batch(wanted, inputs, different.slice(start, start + queriesPerBatch))) {
            const name = nameOf(query);
            if (!answers.has(name)) answers.set(name, []);
            answers.get(name).push(row);
          }
        }
        return asked.map((query) => answers.get(nameOf(query)) || []);
      });
    });
  }

  like(id, k = 10, options = {}) {
    return named('like', () => {
      const { where, params, columns, ...others } = given(options);
      const most = Number(countOf(k));
      const texts = this.texts.map((name) => `coalesce(t.${quoted(name)}, '')`).join(' || char(10) || ');
      // A text as a query would get the prompt of queries.
      const source = this.#neural ? `glove_encode(${texts}${this.#model ? `, ${literal(this.#model)}` : ''})`
        : this.vector === null ? `${texts} || ''` : `t.${quoted(this.vector)}`;
      const row = this.#row(this.#key.one(id), this.key, `${source} AS glove_query`);
      if (row === null) throw new RangeError(`'${this.table}' has no row with the id ${shownValue(id)}`);
      const stored = row.glove_query;
      if (stored === null) throw new RangeError(`the row with the id ${shownValue(id)} has no vector`);
      const query = typeof stored === 'string' ? stored : Buffer.from(stored);  // which libsql binds
      const itself = shownValue(this.key.map((name) => row[name]));
      return this.#searched(() => this.#search.nearest(
        this.#asked({ where, params, columns }, this.#search.score), { query, k: BigInt(most) + 1n, ...this.#search.checkOptions(others) })
        .filter((other) => shownValue(this.key.map((name) => other[name])) !== itself).slice(0, most));
    });
  }

  pairs(options = {}) {
    const { other } = options, of = other instanceof Index ? other : this;
    return named('pairs', () => this.#joined('glove_pairs', `a, b, ${this.#search.score}`, { ...options, other: of === this ? other : of.name })
      .map(({ a, b, ...score }) => ({ a: idOfJoin(a, this.key), b: idOfJoin(b, of.key), ...score })));
  }

  groups(options = {}) {
    return named('groups', () => this.#joined('glove_groups', 'id, group_id, size', options)
      .map(({ id, group_id: group, size }) => ({ id: idOfJoin(id, this.key), group: idOfJoin(group, this.key), size: Number(size) })));
  }

  neighbors(k = 15, options = {}) {
    return named('neighbors', () => {
      const found = this.#joined('glove_pairs', `a, b, rank, ${this.#search.score} AS score`, { ...options, k: countOf(k) });
      const places = new Map(), width = found.reduce((most, { rank }) => Math.max(most, Number(rank)), 0);
      for (const { a } of found) if (!places.has(a)) places.set(a, places.size);
      const indices = new Int32Array(places.size * width).fill(-1), scores = new Float64Array(places.size * width).fill(NaN);
      for (const { a, b, rank, score } of found) {
        const at = places.get(a) * width + Number(rank) - 1;
        indices[at] = places.get(b);
        scores[at] = score;
      }
      return { ids: [...places.keys()].map((id) => idOfJoin(id, this.key)), k: width, indices, scores };
    });
  }

  // The rows of a join of the index.
  #joined(table, shown, { minSimilarity, maxDistance, ...others }) {
    const inputs = given({ target: this.name, min_similarity: minSimilarity, max_distance: maxDistance, ...others });
    if ('among' in inputs) ({ among: inputs.among } = this.#asked({ among: inputs.among, columns: [] }, this.#search.score));
    for (const name of ['k', 'pairs']) if (name in inputs) inputs[name] = countOf(inputs[name]);
    const conditions = Object.keys(inputs).map((name) => `${quoted(name)} = ?`).join(' AND ');
    return this.#searched(() => prepare(this.db, `SELECT ${shown} FROM ${table} WHERE ${conditions}`).all(...Object.values(inputs)));
  }

  get(ids, options = {}) {
    return named('get', () => {
      const rowOf = (key) => this.#row(key, [...this.key, ...(options.columns || this.columns)]);
      const keys = this.#key.isOne(ids) ? null : this.#key.many(ids);
      return this.#withColumns(() => (keys ? keys.map(rowOf) : rowOf(this.#key.one(ids))));
    });
  }

  count() { return this.#number(`SELECT count(*) AS n FROM ${quoted(this.table)}`); }
  add(rows) { named('add', () => this.#write(rows, false)); }
  upsert(rows) { named('upsert', () => this.#write(rows, true)); }

  delete(ids) {
    named('delete', () => {
      const wanted = this.#key.isOne(ids) ? [this.#key.one(ids)] : this.#key.many(ids);
      allOrNothing(this.db, () => {
        const statement = this.db.prepare(`DELETE FROM ${quoted(this.table)} WHERE ${this.#hasKey()}`);
        for (const key of wanted) statement.run(...key);
        this.#syncIfDue();
      });
    });
  }

  drop({ table = false } = {}) {
    allOrNothing(this.db, () => {
      this.db.exec(`DROP TABLE ${quoted(this.name)}`);
      if (table) this.db.exec(`DROP TABLE ${quoted(this.table)}`);
    });
  }

  sync({ progress } = {}) {
    const waiting = this.#neural ? loggedRows(this.db, this.name) : 0;
    if (waiting) encodeInPieces((command) => this.command(command), waiting, progress);
    else this.command('sync');
  }

  command(command) { this.db.prepare(`INSERT INTO ${quoted(this.name)}(${quoted(this.name)}) VALUES (?)`).run(command); }

  #columnsNow() {
    const hidden = [...this.key, ...(this.vector === null ? [] : [this.vector])].map((name) => name.toLowerCase());
    return columnsOf(this.db, this.table).filter((name) => !hidden.includes(name.toLowerCase()));
  }

  // Returns what run() does; after a column was renamed or dropped, by the columns that the table has now.
  #withColumns(run) {
    try {
      return run();
    } catch (error) {
      const now = /no such column|names the column/.test(error.message) ? this.#columnsNow() : this.columns;
      if (now.join() === this.columns.join()) throw error;
      this.columns = now;
      return run();
    }
  }

  // Returns what run(), a search, does, after encoding the texts that it may not encode by itself.
  #searched(run) {
    const hindrance = this.#neural ? catchUp(this.db, this.name, () => this.sync()) : '';
    try {
      return this.#withColumns(run);
    } catch (error) {
      explain(error, this.name, hindrance);
      throw error;
    }
  }

  #asked({ where, params = [], among, columns = this.columns }, score) {
    if (where !== undefined && among !== undefined) throw new TypeError(`where is ${JSON.stringify(where)} and among is given; give one of them`);
    if (columns.includes(score)) {
      throw new TypeError(`the table has a column '${score}', which would take the place of the answer's; name the columns to return ` +
                          'without it');
    }
    const [text, values] = whereOf(where, params, [...this.key, ...this.columns], this.table);
    const ids = among === undefined || typeof among === 'string' || among instanceof Uint8Array ? among : this.#key.json(among);
    return { shown: columns, where: text, params: values, among: ids };
  }

  #hasKey() { return this.key.map((name) => `${quoted(name)} = ?`).join(' AND '); }

  #row(key, columns, ...expressions) {
    const shown = [...columns.map((name) => `t.${quoted(name)}`), ...expressions].join(', ');
    const [row] = prepare(this.db, `SELECT ${shown} FROM ${quoted(this.table)} t WHERE ${this.#hasKey()}`).all(...key);
    return row === undefined ? null : row;
  }

  #number(sql, ...values) {
    const [row] = prepare(this.db, sql).all(...values);
    return row ? Number(row.n) : 0;
  }

  #syncIfDue() {
    if (!this.#neural && loggedRows(this.db, this.name) > mostLogged) this.sync();  // a neural model takes long
  }

  // Throws if one of the BLOBs could never be found, unless the index skips such rows. Returns 0, or the bytes of a vector if an
  // upsert() has those of another model.
  #checkVectors(blobs, upsert) {
    const first = blobs.find((blob) => blob !== null);
    if (first === undefined) return 0;
    const width = this.#width() || first.length;
    const changed = upsert && first.length !== width ? first.length : 0;
    for (const [row, blob] of blobs.entries()) {
      const fault = blob === null ? '' : faultOf(blob, changed || width, this.#kind);
      if (fault && this.#skipsInvalid) return 0;
      if (fault) throw new TypeError(`row ${row} of vectors ${fault}; correct it, or give null in its place for a row without a vector`);
    }
    return changed;
  }

  #checkAllHave(bytes) {
    if (this.#number(`SELECT 1 AS n FROM ${quoted(this.table)} WHERE 4 * length(${quoted(this.vector)}) <> ? LIMIT 1`, bytes * this.#type[0])) {
      const given = this.#kind === 'bits' ? `${8 * bytes} bits` : `${bytes / 4} components`;
      throw new TypeError(`vectors have ${given}, but rows of '${this.table}' that are not given have another number; ` +
                          "to change it, upsert the vectors of all rows at once, and then run command('rebuild')");
    }
  }

  // The bytes of a vector as it is given to the index: of its dimensions or, as long as it knows none, of the first row; 0 without rows.
  #width() {
    const vector = quoted(this.vector);
    return this.#number(`SELECT ${this.#kind === 'bits' ? 1 : 4} * value AS n FROM ${quoted(`${this.name}_config`)} WHERE key = 'dims'`) || this.#number(
      `SELECT 4 * length(${vector}) / ${this.#type[0]} AS n FROM ${quoted(this.table)} WHERE typeof(${vector}) = 'blob' ORDER BY ${this.key.map(quoted).join(', ')} LIMIT 1`);
  }

  #write(rows, upsert) {
    const { ids } = rows;
    if (upsert && (ids === undefined || ids === null)) throw new TypeError(`the ids are ${ids}; upsert() needs those of the rows`);
    const values = valuesOf(rows, ids === undefined || ids === null ? new Map() : this.#key.columns(ids), this.vector, this.#kind);
    if (values.has(this.vector)) values.set(this.vector, fitting(values.get(this.vector), this.#kind, this.#skipsInvalid));
    const changed = this.vector && values.has(this.vector) ? this.#checkVectors(values.get(this.vector), upsert) : 0;
    allOrNothing(this.db, () => {
      for (const event of changed ? ['insert', 'update'] : []) {  // 'rebuild', which must follow, makes these triggers again
        this.db.exec(`DROP TRIGGER IF EXISTS ${quoted(`${this.name}_${event}_check`)}`);
      }
      insert(this.db, this.table, values, this.key, { upsert, progress: rows.progress, made: { [this.vector]: this.#type[1] } });
      if (changed) this.#checkAllHave(changed);
      else this.#syncIfDue();
    });
  }
}

const textsColumn = 'text';  // of makeIndex({ texts })

function withTexts(texts, columns = {}) {
  if (Object.keys(columns).some((name) => name.toLowerCase() === textsColumn)) {
    throw new TypeError(`columns has '${textsColumn}', the name of the column that texts become; leave texts out, and pass text: '${textsColumn}'`);
  }
  if (typeof texts === 'string' || typeof texts[Symbol.iterator] !== 'function') throw new TypeError('texts must be an iterable of texts');
  const given = [...texts], wrong = given.find((one) => typeof one !== 'string' && one !== null && one !== undefined);
  if (wrong !== undefined) throw new TypeError(`texts has ${shownValue(wrong)}, which is no text`);
  return { [textsColumn]: given, ...columns };
}

function makeIndex(db, table, { ids, vectors, dims, columns: given, text: textColumns, texts, model, name: asName, ifExists = 'fail', indexColumns = [], temp = false, progress,
                                ...options } = {}) {
  return named('index', () => {
    if (!['fail', 'open'].includes(ifExists)) throw new TypeError(`ifExists is ${shownValue(ifExists)}; it must be 'fail' or 'open'`);
    checkLoaded(db);
    if (ifExists === 'open' && definitions(db).some((one) => one.table.toLowerCase() === table.toLowerCase())) {
      const opened = new Index(db, table, { name: asName, model });
      if (opened.vector === null && isNeural(db, opened.name)) catchUp(db, opened.name, () => opened.sync({ progress }));
      return opened;
    }
    const columns = texts === undefined ? given : withTexts(texts, given);
    const text = texts !== undefined && textColumns === undefined ? textsColumn : textColumns;
    const name = asName === undefined ? `${table}_vec` : asName;
    const vector = text === undefined ? 'vector' : null;
    if (vector && (vectors === undefined || vectors === null)) {
      throw new TypeError('an index needs vectors, or text, the names of the columns whose texts a model makes vectors of, or texts');
    }
    if (model !== undefined) options.model = loadedModel(db, model);
    const { key, types, values: keys } = keyOfIds(ids);
    const kind = typeOfVectors(options), type = Object.hasOwn(typesOfVectors, kind) ? typesOfVectors[kind] : undefined;
    const values = valuesOf({ vectors, dims, columns }, keys, vector, kind);
    const declared = [...values].filter(([column]) => column !== vector).map(([column, some]) => quoted(column) + (Object.hasOwn(types, column) ? types[column] : typeOf(some)));
    if (!keys.size) declared.unshift('"id" INTEGER PRIMARY KEY');
    if (vector) declared.push('"vector" BLOB');
    if (key.names.length > 1) declared.push(`PRIMARY KEY(${key.names.map(quoted).join(', ')})`);
    const own = { content: table, rowid: key.names.length > 1 ? key.names.map(quoted).join(', ') : 'id',
                  ...(vector ? { vector } : { text: [text].flat().map(quoted).join(', ') }) };
    for (const argument of Object.keys(options)) {
      if (!/^\w+$/.test(argument) || argument in own) throw new TypeError(`'${argument}' cannot be an argument of the index`);
    }
    const check = vector && !('invalid' in options) ? { check: 'yes' } : {};
    if (type === undefined) throw new TypeError(`type is ${shownValue(options.type)}; it must be ${Object.keys(typesOfVectors).map((one) => `'${one}'`).join(', ')}`);
    if (vector) values.set(vector, fitting(values.get(vector), kind, options.invalid === 'skip'));
    const content = temp ? `main.${table}` : table;
    const using = Object.entries({ ...own, content, ...check, ...options }).map(([argument, value]) => `${argument}=${literal(value)}`).join(', ');
    if (columnsOf(db, table).length) {
      throw new TypeError(`the table '${table}' exists already; open its index by new Index(db, '${table}') and use add() or upsert(), ` +
                          'or drop the index and the table first');
    }
    const made = allOrNothing(db, () => {
      db.exec(`CREATE TABLE ${quoted(table)}(${declared.join(', ')})`);
      insert(db, table, values, key.names, { progress, made: { [vector]: type[1] } });
      for (const some of indexColumns) {
        const names = [some].flat(), unknown = names.find((one) => !values.has(one));
        if (unknown !== undefined) {
          throw new TypeError(`indexColumns has ${shownValue(unknown)}, which is no column of '${table}'; those are ${[...values.keys()].join(', ')}`);
        }
        db.exec(`CREATE INDEX ${quoted(`${table}_by_${names.join('_')}`)} ON ${quoted(table)}(${names.map(quoted).join(', ')})`);
      }
      db.exec(`CREATE VIRTUAL TABLE ${temp ? 'temp.' : ''}${quoted(name)} USING glove_index(${using})`);
      return new Index(db, table, { name });
    });
    if (loggedRows(db, name)) made.sync({ progress });
    return made;
  });
}

module.exports = { Index, makeIndex };
