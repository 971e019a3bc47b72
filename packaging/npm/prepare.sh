#!/usr/bin/env bash
# What npm runs when the sources are installed, from a clone or a git URL (package.json): build.sh compiles, in build/release of the
# sources, and installs no packages; then the library and glove-convert are copied beside index.js. GLOVE_BUILD=FOLDER takes them
# from that build folder instead, and nothing is compiled.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${GLOVE_BUILD:-build/release}
[[ -n "${GLOVE_BUILD:-}" ]] || GLOVE_NO_INSTALL=1 ./build.sh
for library in glove.so glove.dylib; do
  [[ ! -f $build/$library ]] || install "$build/$library" packaging/npm/sqlite-glove/
done
install "$build/glove-convert-beside" packaging/npm/sqlite-glove/glove-convert
