const kExamples = [
  ['king − man + woman', `-- Words nearest to an expression. Every answer is exact.
SELECT neighbor, round(similarity, 4) AS similarity
  FROM glove_nn WHERE expr = 'king - man + woman' AND k = 8;`],
  ['A live index', `-- The index follows the table, in the same transaction.
CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, body TEXT);
CREATE VIRTUAL TABLE IF NOT EXISTS note_vec
  USING glove_index(content='note', rowid='id', text='body', model='glove');
INSERT INTO note(body) VALUES ('my bank raised its interest rates'),
  ('a recipe for soup with beans'), ('heavy rain and strong winds tonight');
SELECT n.body, round(v.similarity, 3) AS similarity
  FROM note_vec v JOIN note n USING (id)
 WHERE v.query = 'a storm is coming' ORDER BY v.rank LIMIT 3;`],
  ['A filter', `-- The ten best words that match, however far down the ranking they are.
SELECT rank, neighbor, round(similarity, 4) AS similarity
  FROM glove_nn WHERE word = 'music' AND neighbor GLOB 'p*'
 ORDER BY rank LIMIT 10;`],
  ['A map', `-- The 400 most frequent words, in eight clusters.
SELECT glove_svg(m.x, m.y, m.word, c.label,
    '{"title":"400 frequent words by their neighbours"}') AS map
  FROM glove_map(400) m
  JOIN glove_kmeans(8, 400) k ON k.word = m.word
  JOIN glove_clusters(8, 400) c ON c.cluster = k.cluster;`],
  ['What is here', `SELECT * FROM glove_models;
SELECT backend, device, kind, k, rows_scanned, candidates, total_us FROM glove_stats;`],
];

const element = (id) => document.getElementById(id);
const sql = element('sql');
let worker;
let ready = false;
let running = 0;
let count = 0;

function make(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

function showStatus(text) {
  element('status').textContent = text;
}

function showState() {
  element('run').disabled = !ready || running !== 0;
  element('stop').hidden = running === 0;
  element('progress').hidden = ready && running === 0;
}

function cellText(value) {
  if (value === null) return 'NULL';
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  return String(value);
}

function makeTable({ columns, rows, more }) {
  const numeric = columns.map((_, i) => rows.every((row) => typeof row[i] !== 'string' && !(row[i] instanceof Uint8Array)));
  const head = make('tr', {}, ...columns.map((name, i) => make('th', { scope: 'col', className: numeric[i] ? 'number' : '' }, name)));
  const body = rows.map((row) => make('tr', {}, ...row.map((value, i) =>
    make('td', { className: value === null ? 'null' : numeric[i] ? 'number' : '' }, cellText(value)))));
  const table = make('div', { className: 'table', tabIndex: 0 }, make('table', {}, make('thead', {}, head), make('tbody', {}, ...body)));
  table.setAttribute('role', 'region');
  table.setAttribute('aria-label', `Table of ${rows.length} rows`);
  return more > 0 ? [table, make('p', { className: 'note' }, `${more} more rows are not shown.`)] : [table];
}

// A drawing becomes an image, in which no script can run.
function makeImage(svg) {
  const title = new DOMParser().parseFromString(svg, 'image/svg+xml').querySelector('title')?.textContent;
  const image = make('img', { alt: title ?? 'A map of words', src: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}` });
  return [make('div', { className: 'map', tabIndex: 0 }, image), make('p', { className: 'note sideways' }, 'The map scrolls sideways.')];
}

function unknownWord([word, near]) {
  return make('p', { className: 'note' }, `The model has no word “${word}”${near.length > 0 ? `; similar words are: ${near.join(', ')}` : ''}.`);
}

function show({ results, error, changes, unknown = [], milliseconds }) {
  const nodes = results.flatMap((result) => {
    const cell = result.rows[0][0];
    const drawing = result.columns.length === 1 && result.rows.length === 1 && typeof cell === 'string' && cell.startsWith('<svg');
    return drawing ? makeImage(cell) : makeTable(result);
  });
  if (error) {
    const box = make('p', { className: 'error' }, error);
    box.setAttribute('role', 'alert');
    nodes.push(box);
  } else if (nodes.length === 0) {
    nodes.push(make('p', { className: 'note' }, changes > 0 ? `${changes} rows changed.` : 'No rows.'), ...unknown.map(unknownWord));
  }
  element('results').replaceChildren(...nodes);
  showStatus(`${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms`);
}

function receive({ data }) {
  if ('progress' in data) {
    element('progress').value = data.progress;
    showStatus(data.progress < 1 ? `Loading words, ${Math.round(100 * data.progress)} %` : 'Reading words');
  } else if (data.ready) {
    ready = true;
    showStatus(`Read 20,000 words in ${Math.round(data.milliseconds)} ms`);
    if (element('results').childElementCount === 0) run();
  } else if (data.failed) {
    show({ results: [], error: data.failed, milliseconds: 0 });
    showStatus('Not loaded');
  } else if (data.id === running) {
    running = 0;
    show(data);
  }
  showState();
}

function start() {
  worker?.terminate();
  ready = false;
  running = 0;
  worker = new Worker(new URL('worker.js', import.meta.url), { type: 'module' });
  worker.onmessage = receive;
  worker.onerror = (event) => receive({ data: { failed: `The worker could not start: ${event.message ?? 'a file is missing'}` } });
  showState();
}

function run() {
  if (!ready || running !== 0) return;
  history.replaceState(null, '', '#' + encodeURIComponent(sql.value));
  running = ++count;
  element('progress').removeAttribute('value');
  showStatus('Running');
  showState();
  worker.postMessage({ id: running, sql: sql.value });
}

function choose(text) {
  if (sql.value !== text) sql.value = text;
  sql.style.height = 'auto';
  sql.style.height = `${Math.min(Math.max(sql.scrollHeight + 2, 110), 340)}px`;
  for (const button of element('examples').querySelectorAll('button'))
    button.setAttribute('aria-pressed', String(kExamples[button.dataset.index][1] === text));
}

element('examples').append(...kExamples.map(([name, text], index) => {
  const button = make('button', { type: 'button', onclick: () => { choose(text); run(); } }, name);
  button.dataset.index = index;
  return make('li', {}, button);
}));
element('form').addEventListener('submit', (event) => {
  event.preventDefault();
  run();
});
sql.addEventListener('input', () => choose(sql.value));
sql.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    run();
  }
});
element('stop').addEventListener('click', () => {
  element('results').replaceChildren(make('p', { className: 'note' }, 'Stopped. The tables of this session are gone.'));
  start();
});

function restored() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return '';
  }
}
choose(restored() || kExamples[0][1]);
start();
