const kMostNames = 3;  // packages that are found by their name
const element = (id) => document.getElementById(id);
const take = (id) => {
  const node = element(id);
  node.remove();
  return node.textContent;
};
const count = (number) => number.toLocaleString('en');

function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

if (typeof DecompressionStream === 'undefined') showStatus('This browser is too old for this page, which needs one of 2023 or newer');
const facts = JSON.parse(take('facts'));
const [texts, places] = await Promise.all([unpackText(take('packages')), unpack(take('places'))]);
// Names and descriptions become text and never markup.
const packages = texts.split('\n').slice(0, -1).map((line) => line.split('\t'));
const group = new Uint8Array(places, 4 * packages.length, packages.length);
const axis = (number) => Float32Array.from(new Uint16Array(places, 2 * number * packages.length, packages.length), (value) => value / 65535);

// --- What is asked: { q: the question, p: the name of a package, g: a group }, which is the page's address too. ---
let wanted = {};

function wantedOfAddress() {
  const values = new URLSearchParams(location.hash.slice(1));
  return { q: values.get('q') ?? '', p: values.get('p') ?? '', g: values.get('g') ?? '' };
}
function go(changes, replaces = false) {
  const values = { ...wanted, ...changes };
  const address = Object.entries(values).filter(([, value]) => value !== '')
    .map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join('&');
  history[replaces ? 'replaceState' : 'pushState'](null, '', '#' + address);
  show(values);
}

// --- The search, in a worker. ---
let ready = false;
let asked = 0;
const answers = new Map();

// A module imports others by URLs. Browsers let the worker of a page that is a file import only those that hold their data.
function dataUrl(text) {
  let bytes = '';
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return `data:text/javascript;base64,${btoa(bytes)}`;
}
function workerUrl() {
  const urls = {};
  for (const [name, text] of JSON.parse(take('modules')))
    urls[name] = dataUrl(text.replace(/from '\.\/([\w-]+\.mjs)'/g, (_, file) => `from '${urls[file]}'`));
  return urls['worker.mjs'];
}
const worker = new Worker(workerUrl(), { type: 'module' });
const started = performance.now();
worker.onmessage = ({ data }) => {
  if (data.ready) {
    ready = true;
    document.documentElement.dataset.ready = Math.round(performance.now() - started);
    show(wanted);
  } else if (data.failed !== undefined) {
    showStatus(`The search failed: ${data.failed}`);
  } else {
    answers.get(data.id)?.(data);
  }
  answers.delete(data.id);
};
worker.onerror = (event) => showStatus(`The search could not start: ${event.message ?? 'this browser lacks what it needs'}`);
worker.postMessage({ data: { wasm: take('wasm'), words: take('words'), wordVectors: take('word-vectors'), wordScales: take('word-scales'),
                             packageVectors: take('package-vectors'), dims: facts.dims, count: packages.length } });

function cancel(kind) {
  for (const other of answers.keys()) if (other.startsWith(kind)) answers.delete(other);
}
// `receive` is not called if the same kind is asked again before. What is asked while the search is prepared is answered after that.
function ask(kind, message, receive) {
  const id = `${kind}${++asked}`;
  cancel(kind);
  answers.set(id, receive);
  worker.postMessage({ id, ...message });
}

// --- The lists. ---
function showStatus(text) {
  element('status').textContent = text;
}

function line(number, note) {
  const [name, synopsis] = packages[number];
  const button = make('button', { type: 'button' }, dot(group[number]), make('b', {}, name), note, make('small', {}, synopsis));
  button.dataset.number = number;
  button.addEventListener('click', () => go({ p: name }));
  for (const kind of ['pointerenter', 'focus']) button.addEventListener(kind, () => map.set({ hover: number }));
  for (const kind of ['pointerleave', 'blur']) button.addEventListener(kind, () => map.set({ hover: null }));
  return make('li', {}, button);
}
function dot(number) {
  const node = make('span', { className: 'dot' });
  node.style.background = map.color(number);
  return node;
}
const found = ([number, similarity]) => line(Number(number), make('data', { value: similarity, title: 'cosine' }, similarity.toFixed(3)));

function namesLike(question) {
  const wantedName = question.trim().toLowerCase();
  if (!/^[a-z0-9][a-z0-9+.-]+$/.test(wantedName)) return [];
  const numbers = [];
  for (let i = 0; i < packages.length; ++i) if (packages[i][0].startsWith(wantedName)) numbers.push(i);
  return numbers.sort((a, b) => packages[a][0].length - packages[b][0].length).slice(0, kMostNames);
}

function showFound(question, { rows, unknown }, start) {
  const named = namesLike(question);
  const others = rows.filter(([number]) => !named.includes(Number(number)));
  element('results').replaceChildren(...named.map((number) => line(number, make('span', { className: 'count' }, 'by name'))), ...others.map(found));
  map.set({ marks: [...named, ...others.slice(0, 10).map(([number]) => Number(number))] });
  const milliseconds = performance.now() - start;
  if (start !== null) element('status').dataset.milliseconds = milliseconds;
  const missing = unknown.length > 0 ? `. Unknown words: ${unknown.slice(0, 5).map((word) => word.slice(0, 30)).join(', ')}` : '';
  showStatus(rows.length > 0 ? `The best ${rows.length} of ${count(packages.length)} packages${start === null ? '' : `, in ${milliseconds.toFixed(1)} ms`}${missing}`
    : `${named.length > 0 ? 'Found by name alone' : 'Nothing found'}${missing || '. Ask with a word'}`);
}

function showChosen(number) {
  const [name, synopsis] = packages[number];
  element('name').textContent = name;
  element('synopsis').textContent = synopsis;
  element('links').replaceChildren(
    make('a', { href: `https://packages.debian.org/${encodeURIComponent(name)}`, rel: 'noreferrer' }, 'On packages.debian.org'),
    ' · in the group ', make('a', { href: `#g=${group[number]}` }, facts.groups[group[number]].label));
  ask('near', { near: number }, ({ rows }) => {
    element('near').replaceChildren(...rows.map(found));
    if (!wanted.q) map.set({ marks: rows.map(([other]) => Number(other)) });
  });
  map.set({ chosen: number });
  map.reveal(number);
}

function show(values) {
  const before = wanted;
  wanted = values;
  if (element('question').value !== wanted.q) element('question').value = wanted.q;
  const chosen = wanted.p ? packages.findIndex(([name]) => name === wanted.p) : -1;
  const onlyGroup = /^\d+$/.test(wanted.g) && Number(wanted.g) < facts.groups.length ? Number(wanted.g) : null;
  const asks = wanted.q.trim() !== '';
  element('chosen').hidden = chosen < 0;
  element('found').hidden = !asks;
  element('overview').hidden = asks || chosen >= 0;
  for (const button of element('groups').querySelectorAll('button'))
    button.setAttribute('aria-current', String(Number(button.dataset.group) === onlyGroup));
  map.set({ onlyGroup, ...(chosen < 0 ? { chosen: null } : {}), ...(!asks && chosen < 0 ? { marks: [] } : {}) });
  if (asks && wanted.q !== before.q) {
    const start = ready ? performance.now() : null;
    ask('search', { question: wanted.q }, (answer) => showFound(values.q, answer, start));
  } else if (!asks) {
    cancel('search');
    if (ready) showStatus(wanted.p && chosen < 0 ? `There is no package '${wanted.p}' here` : '');
  }
  if (chosen >= 0 && (wanted.p !== before.p || asks !== Boolean(before.q?.trim()))) {
    showChosen(chosen);
    if (wanted.p !== before.p && before.p !== undefined) element('name').focus();
  }
}

// --- The map. ---
function showTip(point, px, py) {
  const tip = element('tip');
  tip.hidden = point === null;
  if (tip.hidden) return;
  const [name, synopsis] = packages[point];
  tip.replaceChildren(make('b', {}, name), synopsis, make('i', {}, facts.groups[group[point]].label));
  const { clientWidth: width, clientHeight: height } = element('canvas');
  tip.style.left = `${Math.max(6, Math.min(px + 14, width - tip.offsetWidth - 8))}px`;
  tip.style.top = `${py + 18 + tip.offsetHeight > height ? Math.max(6, py - tip.offsetHeight - 12) : py + 18}px`;
}

const map = new PointMap(element('canvas'), {
  x: axis(0), y: axis(1), group, points: [...packages.keys()],
  groups: facts.groups, nameOf: (point) => packages[point][0], hovered: showTip, picked: (point) => go({ p: packages[point][0] }),
});

element('about').textContent = `${count(packages.length)} packages, placed by what their descriptions mean. Everything is in this file; the search runs in this tab.`;
element('groups').append(...facts.groups.map(({ label, size }, number) => {
  const button = make('button', { type: 'button' }, dot(number), make('b', {}, label), make('span', { className: 'count' }, count(size)));
  button.dataset.group = number;
  button.addEventListener('click', () => go({ g: wanted.g === String(number) ? '' : String(number) }));
  return make('li', {}, button);
}));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const node of document.querySelectorAll('.dot')) {
    const { number, group: ofGroup } = node.parentElement.dataset;
    node.style.background = map.color(ofGroup ?? group[number]);
  }
});
element('canvas').setAttribute('aria-label', `A map of ${count(packages.length)} packages in ${facts.groups.length} groups`);
element('form').addEventListener('submit', (event) => {
  event.preventDefault();
  element('results').querySelector('button')?.focus();
});
element('question').addEventListener('input', () => go({ q: element('question').value, p: '', g: '' }, true));
element('close').addEventListener('click', () => {
  const { p } = wanted;
  go({ p: '' });
  const again = [...element('results').querySelectorAll('button')].find((button) => packages[button.dataset.number][0] === p);
  (again ?? element('question')).focus();
});
element('in').addEventListener('click', () => map.zoomBy(1.6));
element('out').addEventListener('click', () => map.zoomBy(1 / 1.6));
element('all').addEventListener('click', () => map.showAll());
for (const kind of ['hashchange', 'popstate']) window.addEventListener(kind, () => show(wantedOfAddress()));
showStatus('Preparing the search');
show(wantedOfAddress());
