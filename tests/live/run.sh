#!/bin/bash
# The long runs of the tests of live tables: 100,000 steps of the model test on this machine's SQLite and on 3.53, 1,000 kills,
# every fault and every damage, a disk that is full at every write, statements of many shapes and
# situations. Takes about ten minutes on a quiet machine.
#
#   tests/live/run.sh [STEPS [KILLS]]
#
# BUILD: the build to test; build/release by default, else build/cpu. SEED repeats a run.
set -euo pipefail
cd "$(dirname "$0")/../.."
steps=${1:-100000}
kills=${2:-1000}
seed=${SEED:-$RANDOM$RANDOM}
build=${BUILD:-build/release}
[[ -f $build/glove.so ]] || build=build/cpu
[[ -f $build/glove.so ]] || { echo "tests/live/run.sh: build first: ./build.sh" >&2; exit 1; }
extension=$(realpath "$build/glove.so")
python=/usr/bin/python3

newer=build/live
CFLAGS=-O2 tests/newer_sqlite.sh $newer || true
libraries=("")
[[ ! -f $newer/libsqlite3.so.0 ]] || libraries+=("$(realpath $newer)")

for library in "${libraries[@]}"; do
  export LD_LIBRARY_PATH=$library
  $python tests/live/model_test.py "$extension" --steps "$steps" --seed "$seed" --keep build/live-failure.json
  $python tests/live/crash_test.py "$extension" --times $((kills / ${#libraries[@]})) --seed "$seed"
  $python tests/live/fault_test.py "$extension" --seed "$seed"
  $python tests/live/damage_test.py "$extension" --seed "$seed"
  $python tests/live/space_test.py "$extension" --seed "$seed"
  $python tests/live/untrusted_test.py "$extension"
  $python tests/live/shapes_test.py "$extension" --seed "$seed"
  GLOVE_TEST_SEED=$seed $python tests/live/situations_test.py "$extension"
  GLOVE_TEST_SEED=$seed $python tests/live/triggers_test.py "$extension"
  [[ ! -x $build/tests/live/live_sql_tests ]] || GLOVE_FULL_DISK_STEP=1 "$build/tests/live/live_sql_tests" --gtest_filter='FullDisk*'
done
