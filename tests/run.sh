#!/usr/bin/env bash
# Installs missing packages, builds, and runs all the tests.
#
#   ./tests/run.sh                 the release build
#   ./tests/run.sh asan            another preset: asan, tsan, cpu
#   ./tests/run.sh release -R nn   what follows the preset goes to ctest
set -euo pipefail
if [[ "${1:-}" == -h || "${1:-}" == --help ]]; then sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0; fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:-release}
shift || true
./build.sh --preset "$preset" --tests
# As many tests as there are cores run at a time, so NumPy needs no threads.
export OPENBLAS_NUM_THREADS=1
ctest --preset "$preset" -j "$(nproc)" "$@"
