// test_playground.mjs PACKAGE EXAMPLES OUT: examples/playground in headless Chromium: the first answer, typing, an error, a live index,
// the map, a reload, and no horizontal scrolling at 420 and 1,280 pixels. Writes screenshots to OUT.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Chromium, findChromium, serve } from './chromium.mjs';

const [folder, examples, out] = process.argv.slice(2);
const program = findChromium();
if (!program) {
  console.log('SKIPPED: there is no Chromium (Debian: chromium-headless-shell or chromium)');
  process.exit(0);
}
const server = await serve({ '/': join(examples, 'playground') + '/', '/sqlite-glove-wasm/': folder,
                             '/glove-6b-100d-20k.txt.gz': join(examples, 'data/glove-6b-100d-20k.txt.gz') });
const browser = new Chromium(program);
const results = "document.querySelector('#results')";
const cell = (row, column) => browser.evaluate(`${results}.querySelectorAll('tbody tr')[${row}].cells[${column}].textContent`);
const idle = `!document.querySelector('#run').disabled && ${results}.childElementCount > 0`;
const fits = () => browser.evaluate('document.documentElement.scrollWidth <= innerWidth');

async function runText(text) {
  await browser.evaluate("document.querySelector('#sql').select(); document.querySelector('#sql').focus()");
  await browser.type(text);
  await browser.press('Enter', 13, { modifiers: 2 });
  await browser.until(idle);
}
async function choose(name) {
  await browser.evaluate(`[...document.querySelectorAll('#examples button')].find((b) => b.textContent === '${name}').click()`);
  await browser.until(idle);
}

try {
  await browser.open('about:blank');
  const [start, before] = [Date.now(), browser.processorSeconds()];
  await browser.send('Page.navigate', { url: server.url + '/' });
  await browser.until(`${results}.querySelector('td') !== null`);
  const first = Date.now() - start;
  const used = browser.processorSeconds() - before;
  assert.equal(await cell(0, 0), 'queen');
  assert.equal(await cell(0, 1), '0.7699');

  await runText("SELECT neighbor FROM glove_nn('piano', NULL, 2); SELECT 1 + 1 AS two, NULL AS none");
  assert.equal(await browser.evaluate(`${results}.querySelectorAll('table').length`), 2);
  assert.equal(await cell(0, 0), 'violin');
  assert.equal(await cell(2, 0) + (await cell(2, 1)), '2NULL');

  await runText('SELECT * FROM nothing_here');
  assert.equal(await browser.evaluate(`${results}.querySelector('[role=alert]').textContent`), 'no such table: nothing_here');
  await runText("SELECT neighbor FROM glove_nn WHERE expr = 'kign - man + zzzzzzzzzz' AND k = 3");
  assert.deepEqual(await browser.evaluate(`[...${results}.querySelectorAll('p')].map((p) => p.textContent)`),
    ['No rows.', 'The model has no word “kign”; similar words are: king, sign, kin.', 'The model has no word “zzzzzzzzzz”.']);
  await runText("SELECT '<img src=x onerror=alert(1)>' AS html");
  assert.equal(await browser.evaluate(`${results}.querySelector('img')`), null);

  await choose('A live index');
  assert.match(await cell(0, 0), /heavy rain/);
  await runText("INSERT INTO note(body) VALUES ('thunder and lightning near the coast'); SELECT body FROM note_vec v JOIN note USING (id) " +
                "WHERE v.query = 'lightning and thunder' ORDER BY v.rank LIMIT 1");
  assert.match(await cell(0, 0), /thunder/);

  await choose('A filter');
  assert.ok((await cell(0, 1)).startsWith('p'));
  await browser.send('Page.reload');
  await browser.until(`${idle} && ${results}.querySelector('td') !== null`);
  assert.match(await browser.evaluate("document.querySelector('#sql').value"), /GLOB 'p\*'/);
  assert.ok((await cell(0, 1)).startsWith('p'), 'the statement of the address runs after a reload');

  for (const [theme, dark] of [['light', false], ['dark', true]])
    for (const width of [1280, 420]) {
      await browser.resize(width, width < 600 ? 900 : 800, dark);
      await choose('king − man + woman');
      assert.ok(await fits(), `the page scrolls sideways at ${width} pixels`);
      await browser.screenshot(join(out, `${theme}-${width}`));
      await choose('A map');
      await browser.until(`${results}.querySelector('img')?.naturalWidth > 0`);
      assert.ok(await fits(), `the map scrolls sideways at ${width} pixels`);
      await browser.screenshot(join(out, `${theme}-${width}-map`));
    }
  // By the keyboard alone: from the editor, Tab reaches the button that runs.
  await browser.evaluate("document.querySelector('#sql').focus()");
  await browser.press('Tab', 9);
  assert.equal(await browser.evaluate('document.activeElement.id'), 'run');
  console.log(`playground: first answer after ${first} ms from a cold cache, and ${used.toFixed(2)} s of processor time`);
} finally {
  await browser.close();
  server.close();
}
