// All rows of a database's ordinary tables, in order, as text with the bits of each number, and its SHA-256.
export async function digest(bytes) {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return [...hash].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

const bits = new DataView(new ArrayBuffer(8));

function textOf(value) {
  if (typeof value === 'number' && !Number.isInteger(value)) {
    bits.setFloat64(0, value);
    return bits.getBigUint64(0).toString(16);
  }
  return value instanceof Uint8Array ? [...value].join(' ') : JSON.stringify(value);
}

export async function dump(db) {
  const names = db.selectValues("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' " +
                                "AND name NOT LIKE 'doc_vec%' ORDER BY name");
  const lines = [];
  for (const name of names)
    for (const row of db.selectArrays(`SELECT * FROM ${name}`)) lines.push(name + '|' + row.map(textOf).join('|'));
  return { tables: names.length, rows: lines.length, digest: await digest(new TextEncoder().encode(lines.join('\n'))) };
}
