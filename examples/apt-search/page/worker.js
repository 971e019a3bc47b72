// SQLite runs here, so that the page stays usable. Receives { data } once and then { id, question } or { id, near }, and sends
// { ready } and { id, rows, unknown }. A row has the number of a package and its similarity.
import init from './index.mjs';

const kFound = 20;
const kNear = 8;
let opened;
let db;

// A file that glove_load reads, as NumPy writes one: a matrix of float32.
function matrixFile(values, dims) {
  const shape = `{'descr': '<f4', 'fortran_order': False, 'shape': (${values.length / dims}, ${dims}), }`;
  const header = shape.padEnd(117) + '\n';
  const bytes = new Uint8Array(10 + header.length + 4 * values.length);
  bytes.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length, 0]);
  bytes.set(new TextEncoder().encode(header), 10);
  bytes.set(new Uint8Array(values.buffer, values.byteOffset, 4 * values.length), 10 + header.length);
  return bytes;
}

function loadModel(sqlite3, name, words, values, dims) {
  sqlite3.putFile(`/${name}.npy`, matrixFile(values, dims));
  sqlite3.putFile(`/${name}.words`, new TextEncoder().encode(words));
  db.selectValue('SELECT glove_load(?, ?)', [`/${name}.npy`, name]);
  sqlite3.removeFile(`/${name}.npy`);
  sqlite3.removeFile(`/${name}.words`);
}

async function open({ wasm, words, wordVectors, wordScales, packageVectors, dims, count }) {
  const [sqlite3, vocabulary, vectors, scales, packed] = await Promise.all(
    [unpack(wasm).then((bytes) => init({ wasm: bytes })), unpackText(words), unpack(wordVectors), unpack(wordScales), unpack(packageVectors)]);
  db = new sqlite3.oo1.DB();
  // The cosine needs no scale of a package, but the mean of a text's words needs the lengths of their vectors.
  loadModel(sqlite3, 'packages', Array.from({ length: count }, (_, i) => i).join('\n') + '\n', new Float32Array(new Int8Array(packed)), dims);
  const scale = new Float32Array(scales);
  loadModel(sqlite3, 'words', vocabulary, Float32Array.from(new Int8Array(vectors), (value, i) => value * scale[Math.floor(i / dims)]), dims);
  // What the first search would compute.
  db.selectArrays("SELECT * FROM glove_nn(NULL, glove_text_vec('the first search', 'words'), 1, 'packages')");
}

function search(question) {
  const tokens = db.selectArrays("SELECT token, id FROM glove_tokens(?, 'words')", question);
  const vector = db.selectValue("SELECT glove_text_vec(?, 'words')", question);
  return { unknown: tokens.filter(([, id]) => id === null).map(([token]) => token),
           rows: vector ? db.selectArrays("SELECT neighbor, similarity FROM glove_nn(NULL, ?, ?, 'packages')", [vector, kFound]) : [] };
}

function nearest(number) {
  return { rows: db.selectArrays("SELECT neighbor, similarity FROM glove_nn(?, NULL, ?, 'packages')", [String(number), kNear]) };
}

self.onmessage = async ({ data }) => {
  try {
    if (data.data) {
      await (opened = open(data.data));
      self.postMessage({ ready: true });
    } else {
      await opened;
      self.postMessage({ id: data.id, ...(data.near === undefined ? search(data.question) : nearest(data.near)) });
    }
  } catch (error) {
    self.postMessage({ id: data.id, failed: String(error.message ?? error) });
  }
};
