// Executes a file of generate.py with an SQLite from npm and writes what came of it, one JSON line a case.
//
//   node execute.mjs PACKAGE EXTENSION CASES.json RESULTS.jsonl
//
// PACKAGE: "@photostructure/sqlite" or "libsql", found in node_modules/ of the working directory.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [packageName, extension, casesPath, resultsPath] = process.argv.slice(2);
const require = createRequire(path.join(process.cwd(), "package.json"));
const library = require(packageName);

// Both sides of a package behind one shape: all(sql, parameters) -> rows as arrays.
const openers = {
  "@photostructure/sqlite": () => {
    const db = new library.DatabaseSync(":memory:", { allowExtension: true });
    db.enableLoadExtension(true);
    db.loadExtension(extension);
    return (sql, parameters) => {
      const statement = db.prepare(sql);
      statement.setReturnArrays(true);
      return statement.all(...parameters);
    };
  },
  libsql: () => {
    const db = new library(":memory:");
    db.loadExtension(extension);
    return (sql, parameters) => {
      const statement = db.prepare(sql);
      return statement.reader ? statement.raw().all(parameters) : statement.run(parameters);
    };
  },
};

const decoded = (value) =>
  value !== null && typeof value === "object" ? Buffer.from(value.blob, "hex")
  // A number without a fraction would be bound as a REAL, and 5 become '5.0'.
  : Number.isSafeInteger(value) ? BigInt(value) : value;
const encoded = (value) =>
  value instanceof Uint8Array || value instanceof ArrayBuffer ? { blob: Buffer.from(value).toString("hex") } : value;

function answer(all, sql, parameters) {
  if (sql === null) return null;
  try {
    return { rows: all(sql, parameters).map((row) => row.map(encoded)) };
  } catch (error) {
    return { error: error.message };
  }
}

const cases = JSON.parse(fs.readFileSync(casesPath, "utf8"));
const all = openers[packageName]();
for (const statement of cases.set_up) all(statement, []);
for (const row of cases.relation) all("INSERT INTO r VALUES(?, ?, ?, ?, ?, ?)", row.map(decoded));
const results = fs.createWriteStream(resultsPath);
results.write(JSON.stringify({ sqlite: all("SELECT sqlite_version()", [])[0][0] }) + "\n");
for (const one of cases.cases) {
  const parameters = one.parameters.map(decoded);
  const sides = ["virtual", "ordinary", "unlimited"].map((side) => [side, answer(all, one[side], parameters)]);
  results.write(JSON.stringify(Object.fromEntries(sides)) + "\n");
}
results.end();
