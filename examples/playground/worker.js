// SQLite runs here, so that the page stays usable. Receives { id, sql }, and sends { progress }, { ready } and { id, results, error, unknown }.
import init from './sqlite-glove-wasm/index.mjs';

const kMostRows = 500;
const kModel = 'glove-6b-100d-20k.txt.gz';

const opened = (async () => {
  const words = fetch(new URL(kModel, import.meta.url));  // while the module is compiled
  const [sqlite3, response] = await Promise.all([init({ log: () => {} }), words]);
  await sqlite3.fetchFile(response, { progress: (received, size) => self.postMessage({ progress: received / size }) });
  const db = new sqlite3.oo1.DB();
  const start = performance.now();
  db.selectValue("SELECT glove_load(?, 'glove')", kModel);
  self.postMessage({ ready: true, milliseconds: performance.now() - start });
  return db;
})();
opened.catch((error) => self.postMessage({ failed: String(error.message ?? error) }));

// One table for each statement that returns rows.
function run(db, sql) {
  const results = [];
  let current;
  db.exec(sql, {
    rowMode: 'array',
    callback(row, stmt) {
      if (current !== stmt) {
        current = stmt;
        results.push({ columns: stmt.getColumnNames(), rows: [], more: 0 });
      }
      const result = results.at(-1);
      if (result.rows.length < kMostRows) result.rows.push(row);
      else ++result.more;
    },
  });
  return results;
}

// For each word in the statement's texts that the model lacks: the most similar words that it has.
function spellings(db, sql) {
  const found = new Map();
  for (const [, quoted] of sql.matchAll(/'((?:[^']|'')*)'/g)) {
    try {
      for (const word of JSON.parse(db.selectValue('SELECT glove_oov(?)', quoted.replaceAll("''", "'")))) {
        if (!/^\p{L}+$/u.test(word)) continue;  // of JSON or a pattern
        const near = db.selectValues('SELECT word FROM glove_words WHERE like = ? AND distance <= 2 LIMIT 3', word);
        if (found.size < 3) found.set(word, near);
      }
    } catch {
      continue;  // the text is no expression
    }
  }
  return [...found];
}

self.onmessage = async ({ data: { id, sql } }) => {
  let db;
  try {
    db = await opened;
  } catch {
    return;  // reported above
  }
  const start = performance.now();
  const changes = db.changes(true);
  const answer = { id, results: [] };
  try {
    answer.results = run(db, sql);
    if (answer.results.length === 0 && /glove_nn|cos_sim/i.test(sql)) answer.unknown = spellings(db, sql);
  } catch (error) {
    answer.error = String(error.message ?? error);
  }
  answer.milliseconds = performance.now() - start;
  answer.changes = db.changes(true) - changes;
  self.postMessage(answer);
};
