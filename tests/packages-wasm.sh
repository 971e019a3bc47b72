#!/usr/bin/env bash
# Builds the npm package sqlite-glove-wasm (packaging/wasm/build.sh), installs it into a new project, and compares its answers in
# Node and in headless Chromium with those of this machine's glove.so, bit for bit; then tests the pages of examples/playground and
# examples/apt-search in Chromium.
#
#   ./tests/packages-wasm.sh [PRESET]           PRESET (release) is the build of glove.so
#   ./tests/packages-wasm.sh PRESET MODEL       also times and compares queries of a whole model file, such as build/glove-6b-100d.safetensors
#
# GLOVE_CMAKE_ARGS     additional arguments for cmake, for the module
# GLOVE_NO_INSTALL=1   do not install packages of packages.txt
set -euo pipefail
if [[ "${1:-}" == -h || "${1:-}" == --help ]]; then sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0; fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:-release}
python=/usr/bin/python3
[[ -x $python ]] || python=python3
[[ -f build/$preset/glove.so ]] || { echo "packages-wasm.sh: build/$preset/glove.so is missing; run ./build.sh --preset $preset" >&2 && exit 1; }
./packaging/wasm/build.sh

work=build/wasm/tests
rm -rf "$work" && mkdir -p "$work"
archive=$("$python" packaging/npm.py --wasm build/wasm "$work")
(cd "$work" && echo '{"private":true}' >package.json && npm install --offline --no-audit --no-fund --silent "$(basename "$archive")")
package=$PWD/$work/node_modules/sqlite-glove-wasm
"$python" tests/wasm/sizes.py "$package"

timeout 120 node tests/wasm/test_api.mjs "$package"
code=0
timeout 600 node tests/wasm/test_answers.mjs "$package" examples "$work" || code=$?
[[ $code == 0 || $code == 77 ]] || exit "$code"
"$python" tests/wasm/compare.py "build/$preset/glove.so" tests/wasm/answers.sql examples/data/glove-6b-100d-20k.txt.gz "$work"
"$python" -c 'import numpy' || { echo "packages-wasm.sh: $python has no NumPy (Debian: python3-numpy)" >&2 && exit 1; }
mkdir "$work/explorer"
"$python" tests/wasm/explorer.py "build/$preset/glove.so" examples "$work/explorer"
if [[ $code != 77 ]]; then
  timeout 300 node tests/wasm/test_playground.mjs "$package" examples "$work"
  timeout 300 node tests/wasm/test_explorer.mjs "$work/explorer/explorer.html" "$work/explorer/explorer.json" "$work"
fi
if [[ -n "${2:-}" ]]; then
  node tests/wasm/times.mjs "$package" "$2" "$work/answers.json"
  "$python" tests/wasm/compare.py "build/$preset/glove.so" "$2" "$work/answers.json"
fi
