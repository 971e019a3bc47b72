// SQLite runs here, so that the page stays usable. Receives { id, sql }, and sends { progress }, { ready } and { id, results, error }.
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
  } catch (error) {
    answer.error = String(error.message ?? error);
  }
  answer.milliseconds = performance.now() - start;
  answer.changes = db.changes(true) - changes;
  self.postMessage(answer);
};
