#!/bin/bash
# Builds the fuzzers (clang, libFuzzer with address and undefined-behaviour sanitizers) and runs each, as many at a time as
# there are cores.
#
#   tests/fuzz/run.sh [SECONDS [FUZZER...]]     20 seconds each by default; FUZZER: glove-text, expression, ...
#   tests/fuzz/run.sh --fixed [FUZZER...]       the same inputs each time, about five seconds each
#
# A finding ends the run and is kept in build/fuzz/findings. KEEP=yes adds new inputs, minimised, to the corpora
# in the tree. GLOVE_CMAKE_ARGS=-DGLOVE_VERIFY=OFF omits the fuzzers of glove-verify.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-20}
shift || true
build=build/fuzz

# Executions with --fixed, about five seconds of a processor each; 10,000 for a fuzzer that is not named here.
declare -A fixed=([expression]=150000 [fasttext]=40000 [glove-model]=15000 [glove-shards]=7500 [glove-text]=40000 [launch]=30000
  [norm-binary]=12500 [norm-text]=40000 [number]=1500000 [numpy]=40000 [ptx]=4000 [safetensors]=50000 [search]=300 [sql]=400
  [tokenizer]=125000 [tokenizer-json]=4000 [tokenizer-text]=4000 [text-matrix]=40000 [word2vec-binary]=40000 [word2vec-text]=40000 [wrapped]=40000)

command -v clang++ >/dev/null || { echo "tests/fuzz/run.sh: skipped, because there is no clang++ (./build.sh --packages-only fuzz installs it)"; exit 0; }
mkdir -p build
tests=()  # a folder that tests/run.sh has made keeps its tests
[[ -f "$build/CMakeCache.txt" ]] || tests=(-DGLOVE_TESTS=OFF)
# shellcheck disable=SC2086
cmake --preset fuzz "${tests[@]}" ${GLOVE_CMAKE_ARGS:-} > "$build.log" 2>&1 || { cat "$build.log"; exit 1; }
cmake --build "$build" --target fuzzers > "$build.log" 2>&1 || { cat "$build.log"; exit 1; }
mkdir -p "$build/findings"

fuzzers=("$@")
if [[ ${#fuzzers[@]} -eq 0 ]]; then
  shopt -s nullglob  # glove-verify may not be there
  for path in "$build"/{tests,tools/verify}/fuzz/*_fuzzer; do fuzzers+=("$(basename "$path" _fuzzer)"); done
fi

# Runs one fuzzer and prints its line; prints the log and returns 1 if it found something.
run_fuzzer() {
  local name=$1 folder=tests/fuzz corpus learned inputs how log most=64 started=$SECONDS executions
  [[ -d "$folder/corpus/$name" ]] || folder=tools/verify/fuzz
  corpus="$folder/corpus/$name"
  learned="$build/corpus/$name"
  if [[ "$seconds" == --fixed ]]; then
    # One seed, and one order of the inputs in the tree. The limit of time is no error.
    inputs=("$corpus"/*)
    how=(-seed=1 -runs="${fixed[$name]:-10000}" -max_total_time=120 -timeout=60 -seed_inputs="$(IFS=,; echo "${inputs[*]}")")
  else
    mkdir -p "$learned"
    how=("$learned" "$corpus" -max_total_time="$seconds" -timeout=10)
  fi
  log="$build/$name.log"
  # Limits what a hostile file may cost: one allocation of 64 MiB is far above 16 times any input here. The window that
  # an xz or zstd file asks for is not touched before the content fills it.
  [[ $name == wrapped ]] && most=5120
  if ! "$build/$folder/${name}_fuzzer" "${how[@]}" -max_len=16384 -rss_limit_mb=1024 -malloc_limit_mb="$most" \
      -artifact_prefix="$build/findings/$name-" -print_final_stats=1 > "$log" 2>&1; then
    tail -n 60 "$log"
    echo "tests/fuzz/run.sh: $name failed; the input is in $build/findings"
    return 1
  fi
  executions=$(awk '/stat::number_of_executed_units/ { print $2 }' "$log")
  printf '%-16s %12s executions, %s s\n' "$name" "$executions" $((SECONDS - started))
  if [[ "${KEEP:-no}" == yes && "$seconds" != --fixed ]]; then
    "$build/$folder/${name}_fuzzer" -merge=1 "$corpus" "$learned" > /dev/null 2>&1
  fi
}

# As many at a time as there are cores.
failed=0 running=0
for name in "${fuzzers[@]}"; do
  if [[ $running -ge $(nproc) ]]; then
    wait -n || failed=1
    running=$((running - 1))
  fi
  [[ $failed -eq 0 ]] || break
  run_fuzzer "$name" &
  running=$((running + 1))
done
while [[ $running -gt 0 ]]; do
  wait -n || failed=1
  running=$((running - 1))
done
exit $failed
