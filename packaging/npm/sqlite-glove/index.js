'use strict';
const fs = require('fs');

// The packages that hold the library, by process.platform and process.arch.
const packages = { 'linux-x64': 'sqlite-glove-linux-x64' };

// Returns the path of a file of the platform's package. In an Electron application the package is part of an archive
// (app.asar), which only Electron's own functions can read; SQLite needs the copy in app.asar.unpacked.
function nativeFile(name) {
  const platform = `${process.platform}-${process.arch}`;
  const package_ = packages[platform];
  if (!package_) {
    throw new Error(`sqlite-glove has no build for ${platform}; it has builds for: ${Object.keys(packages).join(', ')}`);
  }
  let path;
  try {
    path = require.resolve(`${package_}/${name}`);
  } catch (error) {
    throw new Error(`The package ${package_} is not installed. npm omits it with --omit=optional and on systems without ` +
                    `glibc; install it with: npm install ${package_}`, { cause: error });
  }
  const unpacked = path.replace(/\.asar(?=[\\/])/, '.asar.unpacked');
  return unpacked !== path && fs.existsSync(unpacked) ? unpacked : path;
}

exports.loadablePath = () => nativeFile('glove.so');
exports.convertPath = () => nativeFile('glove-convert');
exports.load = (db) => {
  // Needed by @photostructure/sqlite; node:sqlite starts with this state if it was opened with allowExtension.
  if (typeof db.enableLoadExtension === 'function') db.enableLoadExtension(true);
  db.loadExtension(exports.loadablePath());
};
exports.serializeFloat32 = (values) => {
  const bytes = new Uint8Array(4 * values.length);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < values.length; ++i) view.setFloat32(4 * i, values[i], true);
  return bytes;
};
