// Runs in a worker of a page that tests/wasm/browser.mjs serves. `save`: the answers in a database in OPFS. `reload`: what is there
// after a new page has been opened, and what the index finds then.
import init from '/package/index.mjs';
import { digest, dump } from './dump.mjs';

const found = "SELECT json_group_array(json_array(id, printf('%!.17g', similarity))) FROM doc_vec WHERE query = 'a storm is coming' AND k = 9";

async function work(phase) {
  const sqlite3 = await init();
  await sqlite3.installOpfs();
  const progress = [];
  await sqlite3.fetchFile('/glove-6b-100d-20k.txt.gz', { progress: (received, size) => progress.push([received, size]) });
  const db = new sqlite3.oo1.OpfsDb('answers.db');
  if (phase === 'save') {
    db.exec(await (await fetch('/answers.sql')).text());
    db.exec("SELECT glove_save('whitened', '/opfs/whitened.safetensors')");
  } else {
    db.exec("SELECT glove_load('glove-6b-100d-20k.txt.gz', 'glove'); SELECT glove_load('/opfs/whitened.safetensors', 'whitened')");
  }
  const result = {
    database: await dump(db),
    model: await digest(sqlite3.readFile('/opfs/whitened.safetensors')),
    found: db.selectValue(found),
    derived: db.selectValue("SELECT group_concat(neighbor) FROM glove_nn('snow', NULL, 5, 'whitened')"),
    files: sqlite3.listFiles('/opfs'),
    progress: progress.at(-1),
  };
  db.close();
  return result;
}

self.onmessage = async ({ data }) => {
  try {
    self.postMessage(await work(data));
  } catch (error) {
    self.postMessage({ error: String(error.stack ?? error) });
  }
};
