#!/usr/bin/env bash
# Installs missing packages, builds, and runs the tests: all suites, but of those with the label long a fifth of the work.
#
#   ./tests/run.sh                 the release build
#   ./tests/run.sh --all           the whole of every suite
#   ./tests/run.sh asan            another preset: asan, tsan, cpu
#   ./tests/run.sh release -R nn   what follows the preset goes to ctest
set -euo pipefail
if [[ "${1:-}" == -h || "${1:-}" == --help ]]; then sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0; fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ "${1:-}" == --all ]]; then
  shift
else
  export GLOVE_TEST_SHORT=1 GLOVE_FULL_DISK_STEP=${GLOVE_FULL_DISK_STEP:-499} GLOVE_DAMAGE_STEP=${GLOVE_DAMAGE_STEP:-97}
fi
preset=${1:-release}
shift || true
./build.sh --preset "$preset" --tests
# As many tests as there are cores run at a time, so NumPy needs no threads.
export OPENBLAS_NUM_THREADS=1
results=$PWD/build/$preset/tests.xml failed=0
rm -f "$results"
ctest --preset "$preset" -j "$(nproc)" --output-junit "$results" "$@" || failed=$?
[[ ! -f $results ]] || python3 tests/summary.py "$results"
exit "$failed"
