'use strict';
// Conditions on columns and on JSON metadata, as SQL with its values: what the stores for frameworks make of their filters. A condition
// is { sql, values }. It may be NULL, and a row counts if it is true; negation() counts NULL as false.
const { literal, quoted } = require('./sql.js');
const { shownValue } = require('./values.js');

const always = { sql: '1', values: [] }, never = { sql: '0', values: [] };
const inAPath = /^[^"\\\x00-\x1f]+$/;  // the keys that SQLite's JSON paths can name
const texts = "('text')", numbers = "('integer', 'real', 'true', 'false')";

// What is compared: SQL expressions of a value, and of its type as json_type() names it.
const column = (name) => ({ name, value: quoted(name), type: `typeof(${quoted(name)})` });

const canBeIndexed = (keys) => keys.length > 0 && keys.every((key) => inAPath.test(key));

// A value in the column metadata: metadata('person', 'name') is that of { person: { name: ... } }.
function metadata(...keys) {
  for (const key of keys) {
    if (typeof key !== 'string' || key.includes('\0')) throw new TypeError(`a filter names the metadata ${shownValue(key)}; it must be a text without NUL`);
  }
  const name = keys.join('.');
  if (canBeIndexed(keys)) {
    const path = literal(`$${keys.map((key) => `."${key}"`).join('')}`);
    return { name, value: `json_extract(metadata, ${path})`, type: `json_type(metadata, ${path})` };
  }
  let source = 'metadata';
  for (const key of keys.slice(0, -1)) source = `(SELECT CASE type WHEN 'object' THEN value END FROM json_each(${source}) WHERE key = ${literal(key)})`;
  const part = (what) => `(SELECT ${what} FROM json_each(${source}) WHERE key = ${literal(keys.at(-1))})`;
  return { name, value: part('value'), type: part('type') };
}

// The JSON text of a value. NaN, which JSON cannot write, is an error, and so is what it leaves out of a list or an object.
function dumps(value) {
  return JSON.stringify(value, (key, one) => {
    if (['bigint', 'function', 'symbol'].includes(typeof one) || (typeof one === 'number' && !Number.isFinite(one))) {
      throw new TypeError(`'${key}' has the value ${String(one)}, which cannot be written as JSON, which metadata are; make it a number, a text or null`);
    }
    return one;
  });
}

// Dates as the texts that JSON has of them, and booleans as SQLite's numbers.
function plain(field, value) {
  if (value === undefined) throw new TypeError(`the filter of '${field.name}' is undefined; null means documents that have no such value`);
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'boolean' ? Number(value) : value;
}

const isCompound = (value) => value !== null && typeof value === 'object';
const typed = (field, comparison, isText) => `(${field.value} ${comparison} AND ${field.type} IN ${isText ? texts : numbers})`;

function equal(field, given) {
  const value = plain(field, given);
  if (value === null) return { sql: `${field.value} IS NULL`, values: [] };
  if (isCompound(value)) return { sql: `(${field.value} = ? AND ${field.type} IN ('array', 'object'))`, values: [dumps(value)] };
  return { sql: typed(field, '= ?', typeof value === 'string'), values: [value] };
}

// Whether the field is <, <=, > or >= the value, and both are texts or both are numbers.
function ordered(field, operator, given) {
  const value = plain(field, given);
  if (isCompound(value)) throw new TypeError(`${shownValue(value)} cannot be compared by ${operator}; a number or a text can`);
  return value === null ? never : { sql: typed(field, `${operator} ?`, typeof value === 'string'), values: [value] };
}

function oneOf(field, list) {
  if (!Array.isArray(list)) throw new TypeError(`the filter of '${field.name}' has ${shownValue(list)}, which is not a list of values`);
  const values = list.map((value) => plain(field, value));
  const isOther = (value) => value === null || isCompound(value);
  const listed = (some, isText) => (some.length ? [{ sql: typed(field, 'IN (SELECT value FROM json_each(?))', isText), values: [dumps(some)] }] : []);
  return anyOf([...listed(values.filter((value) => typeof value === 'string'), true),
                ...listed(values.filter((value) => typeof value !== 'string' && !isOther(value)), false),
                ...values.filter(isOther).map((value) => equal(field, value))]);
}

// Whether the field is an array that has the value, or a text that has it as a part.
function contains(field, value) {
  const element = equal({ name: field.name, value: 'element.value', type: 'element.type' }, value);
  const text = typeof value === 'string' ? { sql: `instr(${field.value}, ?) > 0`, values: [value] } : never;
  return { sql: `CASE ${field.type} WHEN 'array' THEN EXISTS (SELECT 1 FROM json_each(${field.value}) element WHERE ${element.sql})` +
                ` WHEN 'text' THEN ${text.sql} ELSE 0 END`, values: [...element.values, ...text.values] };
}

// The conditions as a tree that is as flat as possible, because SQLite limits its depth.
function joined(word, conditions) {
  if (conditions.length === 1) return conditions[0];
  const half = conditions.length >> 1;
  const left = joined(word, conditions.slice(0, half)), right = joined(word, conditions.slice(half));
  return { sql: `(${left.sql} ${word} ${right.sql})`, values: [...left.values, ...right.values] };
}
const allOf = (conditions) => (conditions.length ? joined('AND', conditions) : always);
const anyOf = (conditions) => (conditions.length ? joined('OR', conditions) : never);
const negation = (condition) => ({ sql: `NOT coalesce(${condition.sql}, 0)`, values: condition.values });

module.exports = { allOf, always, anyOf, canBeIndexed, column, contains, dumps, equal, metadata, negation, never, oneOf, ordered };
