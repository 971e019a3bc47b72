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

# A newer SQLite: the amalgamation that an npm package brings, as the library that Python loads.
newer=build/live
if [[ ! -f $newer/libsqlite3.so.0 ]] && command -v npm > /dev/null; then
  mkdir -p $newer
  npm install --ignore-scripts --no-audit --no-fund --loglevel=error --prefix $newer @photostructure/sqlite@1.2.1 &&
    cc -O2 -shared -fPIC -w -DSQLITE_ENABLE_COLUMN_METADATA -DSQLITE_ENABLE_UNLOCK_NOTIFY -DSQLITE_ENABLE_DBSTAT_VTAB -DSQLITE_ENABLE_FTS5 \
      -o $newer/libsqlite3.so.0 $newer/node_modules/@photostructure/sqlite/src/upstream/sqlite3.c -lm || true
fi
libraries=("")
[[ ! -f $newer/libsqlite3.so.0 ]] || libraries+=("$(realpath $newer)")

for library in "${libraries[@]}"; do
  export LD_LIBRARY_PATH=$library
  $python tests/live/model_test.py "$extension" --steps "$steps" --seed "$seed" --keep build/live-failure.json
  $python tests/live/crash_test.py "$extension" --times $((kills / ${#libraries[@]})) --seed "$seed"
  $python tests/live/fault_test.py "$extension" --seed "$seed"
  $python tests/live/damage_test.py "$extension" --seed "$seed"
  $python tests/live/space_test.py "$extension" --seed "$seed"
  $python tests/live/shapes_test.py "$extension" --seed "$seed"
  GLOVE_TEST_SEED=$seed $python tests/live/situations_test.py "$extension"
  [[ ! -x $build/tests/live/full_disk_tests ]] || GLOVE_FULL_DISK_STEP=1 "$build/tests/live/full_disk_tests"
done
