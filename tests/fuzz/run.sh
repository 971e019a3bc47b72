#!/bin/sh
# Builds the fuzzers with clang and runs each for SECONDS_EACH seconds (default 60).
#   tests/fuzz/run.sh [SECONDS_EACH] [FUZZER...]
# New inputs go to build/fuzz/corpus/NAME; an input that fails is left in build/fuzz as crash-*.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
[ $# -gt 0 ] && shift
cmake -S . -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER=clang++ \
  -DGLOVE_CUDA=OFF -DGLOVE_FUZZ=ON -DGLOVE_SANITIZE=address,undefined >/dev/null
fuzzers=${*:-$(sed -n 's/^add_executable(\(fuzz_[a-z_]*\).*/\1/p' tests/fuzz/CMakeLists.txt)}
# shellcheck disable=SC2086 # names without spaces
cmake --build build/fuzz --target $fuzzers
cd build/fuzz
for fuzzer in $fuzzers; do
  mkdir -p "corpus/$fuzzer"
  echo "== $fuzzer, $seconds s"
  "tests/fuzz/$fuzzer" -max_total_time="$seconds" -max_len=4096 -print_final_stats=1 "corpus/$fuzzer"
done
