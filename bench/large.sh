#!/bin/bash
# Measures a model of 2,196,016 x 300 random rows (the size of the 840B GloVe file; 3.5 GB on disk): the cost of opening
# it and of a query, and how much of it is in memory.
#
#   bench/large.sh [--rows N] [--dims N] [--no-write] [--keep]
#
# Needs about 7 GB under build/large, which is removed afterwards unless --keep is given. Results go to the section of
# bench/RESULTS.md of this name and to bench/data/large.json. BUILD: build/release by default, else build/cpu.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
[[ -f $build/glove.so && -x $build/glove-convert ]] || build=build/cpu
[[ -f $build/glove.so && -x $build/glove-convert ]] || { echo "bench/large.sh: build first: ./build.sh" >&2; exit 1; }
if [[ ! -x $build/bench/bare_read ]]; then
  cmake -B "$build" -DGLOVE_BENCH=ON > /dev/null
  cmake --build "$build" --target bare_read
fi
export BUILD=$build
exec /usr/bin/python3 bench/large/run.py "$@"
