#!/usr/bin/env bash
# Builds a release on Debian 12 and writes all packages into dist/, with their checksums and an SBOM.
#
#   ./packaging/release.sh                every GPU architecture; needs a CUDA compiler
#   ./packaging/release.sh --cpu-only     without the CUDA backend
#   ./packaging/release.sh --others       also the packages for other systems (packaging/zig.sh)
#
# ./tests/packages.sh and ./tests/packages-zig.sh build the same and install or run each package.
# GLOVE_CMAKE_ARGS: additional arguments for cmake.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cuda=ON zig=
for argument in "$@"; do
  case "$argument" in
    --cpu-only) cuda=OFF ;;
    --others) zig=build/zig ;;
    *) echo "release.sh: unknown argument '$argument'; see the head of this file" >&2 && exit 2 ;;
  esac
done
build=build/dist-$([[ $cuda == ON ]] && echo cuda || echo cpu)
[[ -n "${GLOVE_NO_INSTALL:-}" ]] || ./build.sh --packages-only packages
mkdir -p build
# shellcheck disable=SC2086
cmake -G Ninja -B "$build" -DCMAKE_BUILD_TYPE=Release -DGLOVE_CUDA=$cuda -DGLOVE_STATIC=ON -DGLOVE_TESTS=OFF ${GLOVE_CMAKE_ARGS:-} |
  tee "$build.log" | grep 'CUDA backend'
if [[ $cuda == ON ]] && ! grep -q 'CUDA backend: yes' "$build.log"; then
  echo "release.sh: there is no CUDA compiler; build without the CUDA backend with --cpu-only" >&2
  exit 1
fi
cmake --build "$build"
[[ -z $zig ]] || ./packaging/zig.sh
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)} python3 packaging/release.py "$build" dist ${zig:+"$zig"}
