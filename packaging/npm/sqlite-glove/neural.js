'use strict';
// Models that run a neural network on each text: where their library is, and the encoding of many texts in pieces.
const fs = require('fs');
const path = require('path');
const { prepare, quoted } = require('./sql.js');

const firstPiece = 32;  // texts, of which the slowest models encode a few per second
const msPerPiece = 2000;
const gapMs = 105;  // between pieces: who waits for the write lock tries again every 100 ms (sqliteDefaultBusyCallback)
const notEncoded = 'texts are not encoded yet';

const config = (db, ...values) => Object.values(prepare(db, `SELECT glove_config(${values.map(() => '?').join(', ')})`).all(...values)[0])[0];

// The path of the library of the package onnxruntime-node, which is not imported, or undefined.
function onnxRuntime() {
  let folder;
  try {
    folder = path.dirname(require.resolve('onnxruntime-node/package.json', { paths: [__dirname, path.dirname(process.argv[1] || __filename)] }));
  } catch (_) {
    return undefined;
  }
  const places = (fs.existsSync(path.join(folder, 'bin')) ? fs.readdirSync(path.join(folder, 'bin')) : [])
    .map((napi) => path.join(folder, 'bin', napi, process.platform, process.arch)).filter((place) => fs.existsSync(place));
  return places.flatMap((place) => fs.readdirSync(place).filter((name) => /^libonnxruntime\.(so|.*dylib$)|^onnxruntime\.dll$/.test(name))
    .map((name) => path.join(place, name)))[0];
}

// Has the extension use that library unless it was told another. `unpacked` maps the path of a file to where SQLite can read it.
function offerOnnxRuntime(db, unpacked) {
  // A connection that emits events, as the package sqlite3 has them, loads the extension later.
  if (typeof db.prepare !== 'function' || typeof db.on === 'function') return;
  let isSet;
  try {
    isSet = config(db, 'onnxruntime');
  } catch (_) {
    return;  // an authorizer of this connection forbids the function
  }
  if (isSet) return;
  const found = onnxRuntime();
  if (found === undefined) return;
  try {
    config(db, 'onnxruntime', unpacked(found));
  } catch (_) {  // better-sqlite3 has forbidden the connection to load libraries again, and so to name one
    process.env.GLOVE_ONNXRUNTIME = unpacked(found);
    config(db, 'onnxruntime');  // keeps it; a worker has an environment of its own, which the extension does not see
    delete process.env.GLOVE_ONNXRUNTIME;
  }
}

const realPath = (given) => {
  try {
    return fs.realpathSync(given);
  } catch (_) {
    return given;
  }
};

// The name of a model: of one that is loaded or, after loading it, of a path. `name` is that which an index knows it by.
function loadedModel(db, given, name) {
  if (typeof given !== 'string') throw new TypeError(`model is ${given}; it must be the name of a loaded model, or the path of one`);
  const models = new Map(prepare(db, 'SELECT name, path FROM glove_models').all().map((row) => [row.name, row.path]));
  if (models.has(given) || !(fs.existsSync(given) || path.basename(given) !== given)) return given;
  const real = realPath(given);
  const same = [...models.keys()].filter((one) => realPath(models.get(one)) === real);
  if (same.length && (name === undefined || same.includes(name))) return name === undefined ? same[0] : name;
  const wanted = name === undefined && fs.existsSync(real) && fs.statSync(real).isDirectory() ? path.basename(real) : name;
  if (models.has(wanted)) {
    throw new TypeError(`the model '${wanted}' is loaded from '${models.get(wanted)}' already; give '${given}' another name by SELECT ` +
                        'glove_load(path, name), and pass that as model');
  }
  try {
    return prepare(db, 'SELECT glove_load(?, ?) AS name').all(given, wanted === undefined ? null : wanted)[0].name;
  } catch (error) {
    if (error.message.includes('needs the library of ONNX Runtime')) {
      error.message += '; or npm install onnxruntime-node, whose library load(db) of sqlite-glove finds';
    }
    throw error;
  }
}

// Whether the model of an index is one.
const isNeural = (db, index) =>
  prepare(db, `SELECT 1 FROM ${quoted(`${index}_config`)} WHERE key = 'fingerprint' AND value LIKE '%:neural:%'`).all().length > 0;

// The number of changed rows that an index has yet to take up, which are those that must be encoded.
const loggedRows = (db, index) => Number(prepare(db, `SELECT count(*) AS n FROM ${quoted(`${index}_log`)}`).all()[0].n);

// Has run('sync=N') encode `total` texts, about two seconds at a time, so that an interrupt loses no more. Between them, others may
// write to the database.
function encodeInPieces(run, total, progress) {
  for (let done = 0, piece = firstPiece; done < total; ) {
    if (progress) progress(done, total);
    const start = Date.now();
    run(`sync=${piece}`);
    done += piece;
    const ms = Math.max(Date.now() - start, 1);
    if (done < total && ms > msPerPiece / 4) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, gapMs);
    piece = Math.floor(Math.min(Math.max(piece * msPerPiece / ms, piece / 4, 1), piece * 4));
  }
  if (progress) progress(total, total);
}

function inTransaction(db) {
  try {
    db.exec('BEGIN');
  } catch (error) {
    if (!error.message.includes('within a transaction')) throw error;
    return true;
  }
  db.exec('ROLLBACK');
  return false;
}

// Runs sync() if a search would have to encode more texts than it may. Returns what hinders this connection, or nothing.
function catchUp(db, index, sync) {
  for (const most = Number(config(db, 'encode_limit'));;) {
    const logged = loggedRows(db, index);
    if (logged <= most) return '';
    if (inTransaction(db)) return 'this connection has an open transaction';
    try {
      sync();
      return '';
    } catch (error) {
      if (!/readonly|locked|busy/.test(error.message)) throw error;
      if (loggedRows(db, index) >= logged) return `this connection cannot write (${error.message})`;  // else another connection encodes them
    }
  }
}

// Has the error of a search say what to do: who must encode the texts that are too many, or how the model is loaded.
function explain(error, index, hindrance) {
  if (error.message.includes(`${index}: there is no model`)) error.message += `; new Index(db, '${index}', { model: PATH }) loads it`;
  if (!hindrance || !error.message.includes(notEncoded)) return;
  error.message = `${error.message.split(notEncoded)[0]}${notEncoded}, and ${hindrance}; have a connection that can write, without an open ` +
                  `transaction, run new Index(db, '${index}').sync(), or raise glove_config('encode_limit')`;
}

module.exports = { catchUp, encodeInPieces, explain, isNeural, loadedModel, loggedRows, offerOnnxRuntime };
