#!/usr/bin/env bash
# Builds SQLite and the extension as one WebAssembly module with Debian's Emscripten, into build/wasm: sqlite-glove.wasm and the
# JavaScript that Emscripten writes for it. packaging/npm.py makes the npm package sqlite-glove-wasm of them.
#
# Needs npm, which has SQLite's amalgamation, and apt with Debian's archive for the sources of zlib.
# GLOVE_CMAKE_ARGS     additional arguments for cmake
# GLOVE_NO_INSTALL=1   do not install packages of packages.txt
set -euo pipefail
if [[ "${1:-}" == -h || "${1:-}" == --help ]]; then sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0; fi
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

root=$PWD/build/wasm-root
# quietly, copy_headers, fetch_zlib
source packaging/sources.sh
# Where Debian's node-acorn is, which Emscripten needs and a Node.js from elsewhere does not find.
export NODE_PATH=/usr/share/nodejs${NODE_PATH:+:$NODE_PATH}

# SQLite's amalgamation, as npm's better-sqlite3 carries it.
fetch_sqlite() {
  [[ ! -f $root/sqlite/sqlite3.c ]] || return 0
  packaging/npm_install.sh "$root" better-sqlite3@12.11.1
  mkdir -p "$root/sqlite"
  cp "$root"/node_modules/better-sqlite3/deps/sqlite3/sqlite3.{c,h} "$root/sqlite"
}

[[ -n "${GLOVE_NO_INSTALL:-}" ]] || ./build.sh --packages-only wasm
for program in npm em++; do
  command -v $program >/dev/null || { echo "build.sh: $program was not found; packages.txt lists what to install" >&2 && exit 1; }
done
mkdir -p "$root"
copy_headers
fetch_zlib
fetch_sqlite
# shellcheck disable=SC2086
quietly cmake --preset wasm ${GLOVE_CMAKE_ARGS:-}
cmake --build --preset wasm
