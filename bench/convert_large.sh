#!/bin/bash
# Converts a text of 2,196,016 x 300 random numbers (5.7 GB, the size of the 840B GloVe file), and measures the time and
# the peak of memory, without a limit and in a memory cgroup of 1 GB.
#
#   bench/convert_large.sh [--rows N] [--dims N] [--no-write] [--keep]
#
# Needs about 14 GB under build/convert_large, which is removed afterwards unless --keep is given. Results go to the section
# of bench/RESULTS.md of this name and to bench/data/convert_large.json. BUILD: build/release by default, else build/cpu.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
[[ -x $build/glove-convert ]] || build=build/cpu
[[ -x $build/glove-convert ]] || { echo "bench/convert_large.sh: build first: ./build.sh" >&2; exit 1; }
export BUILD=$build
exec /usr/bin/python3 bench/large/convert.py "$@"
