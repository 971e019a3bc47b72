#!/usr/bin/env bash
# Writes the page with the module of packaging/wasm/build.sh and the example's words to build/playground, or to the folder named.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=${1:-build/playground}
[[ -f build/wasm/sqlite-glove.wasm ]] || { echo "build.sh: run ./packaging/wasm/build.sh first; it writes build/wasm" >&2 && exit 1; }
mkdir -p "$out/sqlite-glove-wasm"
cp examples/playground/{index.html,playground.css,playground.js,worker.js} examples/data/glove-6b-100d-20k.txt.gz "$out"
cp packaging/wasm/{index,files,opfs,oo1}.mjs build/wasm/sqlite-glove.{mjs,wasm} "$out/sqlite-glove-wasm"
echo "$out is ready for any server of static files"
