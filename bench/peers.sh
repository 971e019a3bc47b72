#!/bin/bash
# Compares sqlite-glove with other ways to search the same vectors on this machine's CPU: sqlite-vec,
# sqlite-vector, vectorlite (npm), FAISS, gensim, NumPy (apt, with OpenBLAS), interleaved in one run.
#
#   bench/peers.sh [--model FILE.safetensors] [--threads N] [--rounds N] [--batch N] [--only NAME,...] [--no-write]
#
# The model is build/glove-6b-100d.safetensors by default, which examples/full-model.sh makes. Results go to
# the peers' section of bench/RESULTS.md, bench/data/peers.json and bench/data/peers.svg.
# BUILD: the build to measure; build/release by default, else build/cpu. Installs what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(python3-numpy python3-faiss python3-gensim libopenblas0-pthread npm libbenchmark-dev)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if [[ " ${missing[*]} " == *" npm "* ]] && command -v npm > /dev/null; then
  missing=("${missing[@]/npm/}")  # it may have come another way
fi
if [[ -n "${missing[*]// /}" ]]; then
  sudo=""
  [[ $(id -u) == 0 ]] || sudo=sudo
  # shellcheck disable=SC2068 # empty entries vanish
  $sudo apt-get install -y --no-install-recommends ${missing[@]}
fi

peers=build/peers
mkdir -p $peers
# Installs the libraries themselves, because their wrapper packages pin older ones.
npm install --prefix $peers --no-audit --no-fund --loglevel=error \
  sqlite-vec-linux-x64 @sqliteai/sqlite-vector-linux-x86_64 @1yefuwang1/vectorlite-linux-x64

build=${BUILD:-build/release}
[[ -f $build/glove.so ]] || build=build/cpu
[[ -f $build/glove.so ]] || { echo "bench/peers.sh: build first: ./build.sh" >&2; exit 1; }
if [[ ! -x $build/bench/bare_read ]]; then
  cmake -B $build -DGLOVE_BENCH=ON > /dev/null
  cmake --build $build --target bare_read
fi

export BUILD=$build PEERS=$peers
exec /usr/bin/python3 bench/peers/run.py "$@"
