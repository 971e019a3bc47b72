// times.mjs PACKAGE MODEL ANSWERS: milliseconds of processor time, and of time, per query of 200 different words, k = 10, one thread,
// through SQL. Processor time hardly depends on what else the machine does. Writes all answers to the file ANSWERS, as JSON.
import { writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, model, file] = process.argv.slice(2);
const sqlite3 = await (await import(pathToFileURL(join(folder, 'index.mjs')))).default();
const db = new sqlite3.oo1.DB();
await sqlite3.fetchFile(pathToFileURL(resolve(model)));
db.selectValue('SELECT glove_load(?)', '/' + basename(model));
const words = db.selectValues('SELECT word FROM glove_words WHERE id % 20 = 3 AND id < 8400');
const query = db.prepare('SELECT neighbor, similarity FROM glove_nn(?, NULL, 10)');
const answers = {};
const times = words.map((word) => {
  const start = performance.now();
  const before = process.cpuUsage();
  query.bind(1, word);
  const rows = [];
  while (query.step()) rows.push(query.get([]));
  query.reset();
  const time = performance.now() - start;
  const used = process.cpuUsage(before);
  if (rows.length !== 10) throw new Error(`'${word}' has ${rows.length} neighbors`);
  answers[word] = rows;
  return { time, processor: (used.user + used.system) / 1000 };
}).slice(-200);
function summary(what) {
  const sorted = times.map((one) => one[what]).sort((a, b) => a - b);
  return `${what}: ${sorted[0].toFixed(2)} ms at least, ${sorted[100].toFixed(2)} median, ${sorted[180].toFixed(2)} at the 90th percentile`;
}
console.log(`${basename(model)}, ${db.selectValue('SELECT device FROM glove_stats LIMIT 1')}; ${summary('processor')}; ${summary('time')}`);
writeFileSync(file, JSON.stringify(answers));
