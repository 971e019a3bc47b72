#!/bin/bash
# Verifies WEFT's example kernels and compares the verdicts with expected.txt; the table goes into bench/RESULTS.md.
#
#   tools/verify/bench/weft.sh DIR
#
# DIR: a folder with the PTX of the examples of https://github.com/lightsighter/Weft, as EXAMPLE-KERNEL.ptx (for instance
# RTM-one_phase_single_buffer.ptx). They are not part of this project.
# BUILD: the build to measure; build/release by default, else build/cpu.
set -euo pipefail
cd "$(dirname "$0")/../../.."
build=${BUILD:-build/release}
[[ -x "$build/glove-verify" ]] || build=build/cpu
exec /usr/bin/python3 tools/verify/bench/weft.py "$build/glove-verify" "$1"
