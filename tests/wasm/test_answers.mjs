// test_answers.mjs PACKAGE EXAMPLES OUT: the answers of the installed npm package PACKAGE in Node, which are written to OUT/node.db
// and OUT/whitened.safetensors, and in headless Chromium, in OPFS, and after a reload there. Exit code 77: there is no Chromium.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Chromium, findChromium, serve } from './chromium.mjs';
import { digest, dump } from './dump.mjs';

const [folder, examples, out] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const init = (await import(pathToFileURL(join(folder, 'index.mjs')))).default;
const data = join(examples, 'data/glove-6b-100d-20k.txt.gz');

async function inNode() {
  const sqlite3 = await init();
  assert.equal(await sqlite3.fetchFile(pathToFileURL(data)), '/glove-6b-100d-20k.txt.gz');
  const db = new sqlite3.oo1.DB('/answers.db');
  db.exec(readFileSync(join(here, 'answers.sql'), 'utf8'));
  const model = sqlite3.readFile('/whitened.safetensors');
  writeFileSync(join(out, 'node.db'), sqlite3.capi.sqlite3_js_db_export(db));
  writeFileSync(join(out, 'whitened.safetensors'), model);
  assert.ok(db.selectValue("SELECT count(*) FROM glove_stats WHERE device LIKE '%simd128'") > 0, 'no search used the SIMD kernels');
  return { database: await dump(db), model: await digest(model) };
}

async function inChromium(program, wanted) {
  const server = await serve({ '/package/': folder, '/test/': here, '/answers.sql': join(here, 'answers.sql'),
                               '/glove-6b-100d-20k.txt.gz': data });
  const browser = new Chromium(program);
  const run = async (phase) => {
    await browser.open(`${server.url}/test/empty.html`);
    const result = await browser.evaluate(`new Promise((resolve) => {
      const worker = new Worker('/test/page.mjs', { type: 'module' });
      worker.onmessage = ({ data }) => { worker.terminate(); resolve(data); };
      worker.onerror = (event) => resolve({ error: event.message });
      worker.postMessage('${phase}');
    })`);
    assert.equal(result.error, undefined, `${phase}: ${result.error}`);
    return result;
  };
  try {
    const saved = await run('save');
    assert.equal(saved.model, wanted.model, 'the model files of Node and Chromium differ');
    assert.deepEqual(saved.database, wanted.database, 'the tables of Node and Chromium differ');
    assert.ok(saved.database.tables >= 18 && saved.database.rows > 20000);
    const size = readFileSync(data).length;
    assert.deepEqual(saved.progress, [size, size]);
    assert.deepEqual(saved.files.sort(), ['answers.db', 'whitened.safetensors']);
    const reloaded = await run('reload');
    for (const what of ['database', 'model', 'found', 'derived'])
      assert.deepEqual(reloaded[what], saved[what], `${what} after a reload`);
    assert.ok(JSON.parse(reloaded.found).length === 9);
  } finally {
    await browser.close();
    server.close();
  }
}

const wanted = await inNode();
console.log('Node: done');
const program = findChromium();
if (!program) {
  console.log('SKIPPED in a browser: there is no Chromium (Debian: chromium-headless-shell or chromium)');
  process.exit(77);
}
await inChromium(program, wanted);
console.log('Chromium: the same bytes, also after a reload from OPFS');
