// test_explorer.mjs PAGE EXPECTED OUT: examples/apt-search's page in headless Chromium, from a file: what a search finds beside what
// this machine's glove.so finds (tests/wasm/explorer.py), addresses, the keyboard, the map, markup in names, and no horizontal
// scrolling at 420 and 1,280 pixels. Writes screenshots to OUT. With EXPECTED "-" it only times a search and writes the screenshots.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Chromium, findChromium } from './chromium.mjs';

const [page, expectedFile, out] = process.argv.slice(2);
const program = findChromium();
if (!program) {
  console.log('SKIPPED: there is no Chromium (Debian: chromium-headless-shell or chromium)');
  process.exit(0);
}
const url = pathToFileURL(resolve(page)).href;
const browser = new Chromium(program);
const text = (id) => browser.evaluate(`document.getElementById('${id}').textContent`);
const isReady = "document.documentElement.dataset.ready";
const milliseconds = "document.querySelector('#status').dataset.milliseconds";
const listed = (id) => browser.evaluate(`[...document.querySelectorAll('#${id} button')].map((button) =>
  [button.querySelector('b').textContent, Number(button.querySelector('data')?.value)])`);

async function open(address = '') {
  await browser.open(url + address);
  await browser.until(isReady);
}
// Without a load, as a link in the page does.
const go = (address) => browser.evaluate(`location.hash = ${JSON.stringify(address)}`);
// Types over what is there, and waits for the answer to it.
async function search(question) {
  await browser.evaluate(`delete document.querySelector('#status').dataset.milliseconds;
    document.querySelector('#question').focus(); document.querySelector('#question').select()`);
  await browser.type(question);
  await browser.until(milliseconds);
}
async function expectChosen(name, near) {
  await browser.until(`document.querySelector('#name').textContent === ${JSON.stringify(name)} && document.querySelectorAll('#near button').length > 0`);
  if (near) assert.deepEqual(await listed('near'), near);
  assert.ok((await browser.evaluate('decodeURIComponent(location.hash)')).includes(`p=${name}`));
}
async function pixels() {
  await browser.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
  return browser.evaluate("document.querySelector('canvas').toDataURL()");
}

async function testSearch({ questions, near }) {
  for (const [question, rows] of Object.entries(questions)) {
    await search(question);
    const shown = (await listed('results')).filter(([, similarity]) => !Number.isNaN(similarity));
    assert.deepEqual(shown, rows.filter(([name]) => shown.some(([other]) => other === name)), question);
    assert.ok(shown.length >= Math.min(17, rows.length), question);
  }
  await search('zzqq');
  assert.match(await text('status'), /Nothing found\. Unknown words: zzqq/);
  await search('nestopia');
  assert.equal((await listed('results'))[0][0], 'nestopia');  // by its name, which is no word of the model
  await browser.press('Enter', 13, { text: '\r' });
  assert.equal(await browser.evaluate("document.activeElement === document.querySelector('#results button')"), true);
  await browser.evaluate('document.activeElement.click()');
  await expectChosen('nestopia', near.nestopia);
  assert.equal(await browser.evaluate('document.activeElement.id'), 'name');
  const [, [next]] = await listed('near');
  await browser.evaluate("document.querySelectorAll('#near button')[1].click()");
  await expectChosen(next);
  await browser.evaluate('history.back()');
  await expectChosen('nestopia', near.nestopia);
  await browser.evaluate("document.querySelector('#close').click()");
  assert.equal(await browser.evaluate("document.querySelector('#chosen').hidden"), true);
}

async function testAddresses({ questions, near }) {
  await open('#p=dolphin-emu');
  await expectChosen('dolphin-emu', near['dolphin-emu']);
  const links = await browser.evaluate("[...document.querySelectorAll('#examples a')].map((link) => link.textContent)");
  assert.equal(links.length, 3);
  await browser.evaluate("document.querySelector('#examples a').click()");
  await browser.until(milliseconds);
  assert.equal(await browser.evaluate("document.querySelector('#question').value"), links[0]);
  assert.deepEqual(await listed('results'), questions[links[0]]);
  for (const odd of ['#q=%', '#p=no-such-package', '#g=999', '#g=-1', '#%00', '#q=' + 'x'.repeat(5000)]) {
    await go(odd);
    await pixels();
    assert.equal((await listed('groups')).length > 3, true, odd);
  }
}

async function testMap() {
  await go('');
  const whole = await pixels();
  const point = await browser.evaluate(`(() => { const box = document.querySelector('canvas').getBoundingClientRect();
    return { x: box.x + box.width / 2, y: box.y + box.height / 2 }; })()`);
  // Somewhere near the middle is a package: the pointer finds it, and a click chooses it.
  let found;
  for (let radius = 0; radius < 300 && !found; radius += 6)
    for (const [dx, dy] of [[1, 0], [0, 1], [-1, 0], [0, -1]]) {
      const at = { x: point.x + dx * radius, y: point.y + dy * radius };
      await browser.send('Input.dispatchMouseEvent', { type: 'mouseMoved', ...at });
      if (await browser.evaluate("!document.querySelector('#tip').hidden")) found = at;
      if (found) break;
    }
  const name = await browser.evaluate("document.querySelector('#tip b').textContent");
  for (const type of ['mousePressed', 'mouseReleased'])
    await browser.send('Input.dispatchMouseEvent', { type, ...found, button: 'left', clickCount: 1 });
  await expectChosen(name);
  await browser.send('Input.dispatchMouseEvent', { type: 'mouseWheel', ...found, deltaX: 0, deltaY: -600 });
  const zoomed = await pixels();
  assert.notEqual(zoomed, whole);
  await browser.evaluate("document.querySelector('canvas').focus()");
  await browser.press('ArrowLeft', 37);
  assert.notEqual(await pixels(), zoomed);
  await browser.press('0', 48);
  await browser.evaluate("document.querySelector('#close').click(); document.querySelector('canvas').focus()");
  await browser.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x: 1, y: 1 });
  assert.equal(await pixels(), whole);
  await browser.evaluate("document.querySelector('#groups button').click()");
  assert.notEqual(await pixels(), whole);
}

async function testMarkup({ packages, hostile }) {
  for (const [name, synopsis] of hostile) {
    await go(`#p=${encodeURIComponent(name)}`);
    await expectChosen(name);
    assert.equal(await text('synopsis'), packages[name]);
    assert.equal(packages[name], synopsis.split(/\s+/u).join(' '));
  }
  assert.equal(await browser.evaluate('document.title'), 'Debian\'s packages by meaning');
  assert.equal(await browser.evaluate("document.querySelectorAll('img, #side script').length"), 0);
}

try {
  if (expectedFile !== '-') {
    const expected = JSON.parse(readFileSync(expectedFile));
    await open('');
    await testSearch(expected);
    await testAddresses(expected);
    await testMap();
    await testMarkup(expected);
    const requests = await browser.evaluate("performance.getEntriesByType('resource').map((one) => one.name).filter((name) => !name.startsWith('blob:'))");
    assert.deepEqual(requests, [], 'the page asks the network');
  }
  const firsts = [];
  let used;
  for (let i = 0; i < 3; ++i) {
    await browser.open('about:blank');
    const before = browser.processorSeconds();
    await browser.send('Page.navigate', { url });
    await browser.until(isReady);
    await search('play old nintendo games');
    firsts.push(await browser.evaluate(`Number(${milliseconds})`));
    used = browser.processorSeconds() - before;
  }
  const load = await browser.evaluate(`Number(${isReady})`);
  for (const [theme, dark] of [['light', false], ['dark', true]])
    for (const width of [1280, 420])
      for (const [name, address] of [['map', ''], ['search', '#q=play%20old%20nintendo%20games'], ['package', '#p=nestopia']]) {
        await browser.resize(width, width < 600 ? 900 : 800, dark);
        await go(address);
        if (name === 'package') await expectChosen('nestopia');
        if (name === 'search') await browser.until("document.querySelector('#results button')");
        await browser.evaluate('scrollTo(0, 0)');
        await pixels();
        assert.ok(await browser.evaluate('document.documentElement.scrollWidth <= innerWidth'), `the page scrolls sideways at ${width} pixels`);
        await browser.screenshot(join(out, `explorer-${theme}-${width}-${name}`));
      }
  const thrown = browser.events.filter((event) => event.method === 'Runtime.exceptionThrown');
  assert.deepEqual(thrown.map((event) => event.params.exceptionDetails.exception?.description), []);
  firsts.sort((a, b) => a - b);
  console.log(`explorer: the first search after a load took ${firsts.map((one) => one.toFixed(1)).join(', ')} ms, the last load ${load} ms; the last of both used ${used.toFixed(2)} s of processor time`);
} finally {
  await browser.close();
}
