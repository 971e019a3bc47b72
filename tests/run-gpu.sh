#!/usr/bin/env bash
# Runs the tests that need a GPU, and prints a table of their results.
#
#   ./tests/run-gpu.sh                    configure, build, run
#   ./tests/run-gpu.sh --prebuilt DIR     run the programs *_tests of DIR, built elsewhere: needs no compiler, no package
#                                         manager and no SQLite; only bash and the NVIDIA driver
#   ./tests/run-gpu.sh [...] --sanitize   then compute-sanitizer's four tools on a small model
#
# Each test runs in a separate process, because some of them lose a device on purpose. The exit code is 1 if any
# failed. GLOVE_TEST_MODEL=FILE adds 4,000 queries per k on that model; GLOVE_TEST_LARGE=1 adds random models of
# 2,196,016 x 300 and 40,000,000 x 3.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

prebuilt='' sanitize=no
while [[ $# -gt 0 ]]; do
  case "$1" in
    --prebuilt) prebuilt=${2:?--prebuilt requires a directory} && shift 2 ;;
    --sanitize) sanitize=yes && shift ;;
    *) echo "run-gpu.sh: unknown argument '$1'" >&2 && exit 2 ;;
  esac
done
if [[ -z $prebuilt ]]; then
  ./build.sh --preset release --tests || exit 1
  prebuilt=build/release/tests/gpu
fi

log=$(mktemp)
failed=0
# Runs one test and prints its line. $1: program, $2: test.
run_test() {
  local state start=$EPOCHREALTIME
  "$1" --gtest_brief=1 --gtest_filter="$2" >"$log" 2>&1
  local code=$?
  if [[ $code -ne 0 ]]; then
    state=FAILED failed=1
  elif grep -q 'SKIPPED' "$log"; then
    state=SKIPPED
  else
    state=passed
  fi
  printf '%-8s %6.1f s  %s\n' "$state" "$(awk "BEGIN{print $EPOCHREALTIME - $start}")" "$2"
  if [[ $state == SKIPPED ]]; then grep -m1 -A1 ': Skipped' "$log" | tail -n 1 | sed 's/^/                   /'; fi
  if [[ $state == FAILED ]]; then sed 's/^/    /' "$log" | head -n 60; fi
  grep 'answers equal$' "$log" | sed 's/^/                   /'
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null || echo "no NVIDIA driver here"
programs=0
for program in "$prebuilt"/cuda_{rows,kmeans,fault,devices,lost}_tests; do
  [[ -x $program ]] || { echo "missing: $program (is there a CUDA compiler?)" && continue; }
  programs=$((programs + 1))
  suite=''
  while read -r line; do
    if [[ $line == *. ]]; then suite=$line; else run_test "$program" "$suite$line"; fi
  done < <("$program" --gtest_list_tests | sed '/^Running/d; s/ *#.*//; s/^  *//')
done
[[ $programs -gt 0 ]] || exit 1

if [[ $sanitize == yes ]]; then
  for tool in memcheck racecheck initcheck synccheck; do
    for test in CudaRows.WithManyExcludedWords CudaRows.WithTiesAtTheEnd CudaRows.WithBoundsInDeviceMemory \
      CudaRows.WithMoreEqualRowsThanTheDeviceRanks; do
      if compute-sanitizer --error-exitcode 9 --tool "$tool" "$prebuilt"/cuda_rows_tests --gtest_filter=$test >"$log" 2>&1; then
        echo "passed   $tool  $test"
      else
        echo "FAILED   $tool  $test" && tail -n 20 "$log" && failed=1
      fi
    done
  done
fi
rm -f "$log"
exit $failed
