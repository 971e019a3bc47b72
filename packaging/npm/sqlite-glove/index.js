'use strict';
const fs = require('fs');
const { join } = require('path');
const { offerOnnxRuntime } = require('./neural.js');
const { prepare } = require('./sql.js');
const { fromSqliteVec } = require('./sqlite-vec.js');
const { Index, makeIndex } = require('./table.js');

// The packages that hold the library, by process.platform and process.arch, the preferred one first. `glibc` is the oldest
// version that the package runs with; one without it needs musl.
const packages = {
  'linux-x64': [
    { name: 'sqlite-glove-linux-x64', glibc: '2.34' },
    { name: 'sqlite-glove-linux-x64-glibc-2.17', glibc: '2.17' },
    { name: 'sqlite-glove-linux-x64-musl' },
  ],
  'linux-arm64': [
    { name: 'sqlite-glove-linux-arm64', glibc: '2.17' },
    { name: 'sqlite-glove-linux-arm64-musl' },
  ],
  'darwin-arm64': [{ name: 'sqlite-glove-darwin-arm64' }],
  'darwin-x64': [{ name: 'sqlite-glove-darwin-x64' }],
  'win32-x64': [{ name: 'sqlite-glove-win32-x64' }],
};

// Returns a number in the order of glibc's versions, which are MAJOR.MINOR.
const ordinal = (version) => version.split('.').slice(0, 2).reduce((sum, part) => 1000 * sum + Number(part), 0);

// Returns glibc's version as ordinal() does, 0 with musl, and infinity if it cannot be found out.
function glibcVersion() {
  const report = process.report;
  if (!report || !report.getReport) return Infinity;
  const saved = report.excludeNetwork;
  report.excludeNetwork = true;  // the names of network peers, which may take seconds
  const { header } = report.getReport();
  report.excludeNetwork = saved;
  if (header && header.glibcVersionRuntime) return ordinal(header.glibcVersionRuntime);
  return fs.existsSync(`/lib/ld-musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`) ? 0 : Infinity;
}

// Returns the names of the packages that run here, the preferred one first.
function packagesOf(platform, glibc) {
  const candidates = packages[platform];
  if (!candidates) {
    throw new Error(`sqlite-glove has no build for ${platform}; it has builds for: ${Object.keys(packages).join(', ')}`);
  }
  if (!platform.startsWith('linux-')) return candidates.map((one) => one.name);
  const fitting = candidates.filter((one) => (glibc === 0 ? !one.glibc : one.glibc && ordinal(one.glibc) <= glibc));
  if (fitting.length === 0) {
    throw new Error(`sqlite-glove has no build for ${platform} with a glibc as old as this system's; it needs 2.17 or newer`);
  }
  return fitting.map((one) => one.name);
}

// In an Electron application a file is part of an archive (app.asar), which only Electron's own functions can read; SQLite needs the
// copy in app.asar.unpacked.
function unpack(path) {
  const unpacked = path.replace(/\.asar(?=[\\/])/, '.asar.unpacked');
  return unpacked !== path && fs.existsSync(unpacked) ? unpacked : path;
}

// Returns the path of a file: beside this one if it was built from the sources, or else of the platform's package.
function nativeFile(name) {
  const built = unpack(join(__dirname, name));
  if (fs.existsSync(built)) return built;
  const names = packagesOf(`${process.platform}-${process.arch}`, glibcVersion());
  for (const package_ of names) {
    try {
      return unpack(require.resolve(`${package_}/${name}`));
    } catch (error) {
      continue;
    }
  }
  if (fs.existsSync(join(__dirname, '../prepare.sh'))) {
    throw new Error(`${built} is not built; packaging/npm/prepare.sh of the same sources builds it`);
  }
  throw new Error(`The package ${names[0]} is not installed. It is not in npm's registry; install the file that ` +
                  `packaging/release.sh wrote beside this package's: npm install dist/${names[0]}-${require('./package.json').version}.tgz`);
}

exports.loadablePath = () => nativeFile({ darwin: 'glove.dylib', win32: 'glove.dll' }[process.platform] || 'glove.so');
exports.convertPath = () => nativeFile(process.platform === 'win32' ? 'glove-convert.exe' : 'glove-convert');
exports.load = (db, { repair = false } = {}) => {
  if (!db || typeof db.loadExtension !== 'function') {
    throw new TypeError('load() requires a connection that has loadExtension(), such as one of node:sqlite or better-sqlite3');
  }
  // Needed by @photostructure/sqlite; node:sqlite starts with this state if it was opened with allowExtension.
  if (typeof db.enableLoadExtension === 'function') db.enableLoadExtension(true);
  db.loadExtension(exports.loadablePath());
  offerOnnxRuntime(db, unpack);
  // A connection that emits events, as the package sqlite3 has them, loads the extension later.
  if (typeof db.prepare === 'function' && typeof db.on !== 'function') {
    try {
      prepare(db, 'SELECT glove_attach()').all();
    } catch (_) {
      // A file that is locked, or encrypted and without its key yet; glove_attach() can be called later.
    }
  }
  if (repair) exports.repair(db);
};
exports.repair = (db) => {
  const broken = prepare(db, "SELECT schema || '.' || name AS name FROM glove_indexes WHERE state LIKE '%glove_repair(%'").all();
  return broken.map(({ name }) => prepare(db, 'SELECT glove_repair(?) AS name').all(name)[0].name);
};
exports.loadEach = (Database, options) => {
  const loaded = new WeakSet();
  for (const name of ['all', 'each', 'exec', 'get', 'pragma', 'prepare', 'run']) {  // of better-sqlite3, node:sqlite and sqlite3
    const method = Database.prototype[name];
    if (typeof method !== 'function') continue;
    Database.prototype[name] = function (...given) {
      if (!loaded.has(this)) {
        loaded.add(this);  // before load(), which calls these methods
        exports.load(this, options);
      }
      return method.apply(this, given);
    };
  }
};
exports.serializeFloat32 = (values) => {
  const bytes = new Uint8Array(4 * values.length);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < values.length; ++i) view.setFloat32(4 * i, values[i], true);
  return bytes;
};
exports.fromSqliteVec = fromSqliteVec;
exports.Index = Index;
exports.index = makeIndex;
