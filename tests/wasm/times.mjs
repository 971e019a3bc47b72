// times.mjs PACKAGE MODEL: milliseconds of processor time, and of time, per query of 200 different words, k = 10, one thread,
// through SQL. Processor time hardly depends on what else the machine does.
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, model] = process.argv.slice(2);
const sqlite3 = await (await import(pathToFileURL(join(folder, 'index.mjs')))).default();
const db = new sqlite3.oo1.DB();
await sqlite3.fetchFile(pathToFileURL(resolve(model)));
db.selectValue('SELECT glove_load(?)', '/' + basename(model));
const words = db.selectValues('SELECT word FROM glove_words WHERE id % 20 = 3 AND id < 8400');
const query = db.prepare('SELECT neighbor, similarity FROM glove_nn(?, NULL, 10)');
const times = words.map((word) => {
  const start = performance.now();
  const before = process.cpuUsage();
  query.bind(1, word);
  let rows = 0;
  while (query.step()) rows += query.get([]).length / 2;
  query.reset();
  if (rows !== 10) throw new Error(`'${word}' has ${rows} neighbors`);
  const used = process.cpuUsage(before);
  return { time: performance.now() - start, processor: (used.user + used.system) / 1000 };
}).slice(-200);
function summary(what) {
  const sorted = times.map((one) => one[what]).sort((a, b) => a - b);
  return `${what}: ${sorted[0].toFixed(2)} ms at least, ${sorted[100].toFixed(2)} median, ${sorted[180].toFixed(2)} at the 90th percentile`;
}
console.log(`${basename(model)}, ${db.selectValue('SELECT device FROM glove_stats LIMIT 1')}; ${summary('processor')}; ${summary('time')}`);
