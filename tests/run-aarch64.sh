#!/usr/bin/env bash
# Runs the tests on emulated 64-bit Arm: compiles with Debian's cross compiler, runs them under qemu's user mode, and compares
# model files and answers with this machine's own, bit for bit.
#
#   ./tests/run-aarch64.sh                      everything
#   ./tests/run-aarch64.sh -L threads           what follows goes to ctest
#   GLOVE_AARCH64_MODEL=FILE ./tests/run-aarch64.sh    compares the conversion of FILE and answers from it, too
#
# Prints SKIPPED and the reason if the compiler or qemu is missing: ./build.sh --packages-only aarch64 installs them. The libraries
# are unpacked into build/aarch64-root. Timings of an emulator say nothing about a processor.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

skip() {
  echo "tests/run-aarch64.sh: SKIPPED, because $1"
  exit 0
}
[[ $(uname -m) == x86_64 ]] || skip "this is no x86-64 machine; on 64-bit Arm ./tests/run.sh cpu has the tests"
for program in aarch64-linux-gnu-g++ qemu-aarch64-static; do
  command -v "$program" >/dev/null || skip "there is no $program (./build.sh --packages-only aarch64 installs it)"
done
tests/aarch64/make_root.sh build/aarch64-root || skip "the libraries for 64-bit Arm cannot be had here"

./build.sh --preset cpu --tests
cmake --preset aarch64 -DGLOVE_WERROR=ON >build/aarch64.configure.log 2>&1 || { cat build/aarch64.configure.log && exit 1; }
cmake --build --preset aarch64
ctest --preset aarch64 -j "$(nproc)" "$@"

# A processor without the instructions that the fastest kernels use must not be given them.
echo "The CPU backend on a Cortex-A53:"
QEMU_CPU=cortex-a53 qemu-aarch64-static -L /usr/aarch64-linux-gnu build/aarch64/tests/cpu/cpu_test --gtest_brief=1 \
  --gtest_filter='CpuDispatch.*:Kernels.*:CpuBackend.E*:CpuBackend.S*'
python=$(sed -n 's/^GLOVE_PYTHON:[A-Z]*=//p' build/cpu/CMakeCache.txt)
"$python" tests/aarch64/compare.py build/cpu build/aarch64 build/aarch64-root ${GLOVE_AARCH64_MODEL:+"$GLOVE_AARCH64_MODEL"}
