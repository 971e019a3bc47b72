#!/usr/bin/env bash
# Builds a release on Debian 12 and writes all packages into dist/, with their checksums and an SBOM.
#
#   ./packaging/release.sh                every GPU architecture; needs a CUDA compiler
#   ./packaging/release.sh --cpu-only     without the CUDA backend and glove-verify, from what quickstart.sh or the preset cpu built
#   ./packaging/release.sh --others       also the packages for other systems (packaging/zig.sh, packaging/windows.sh) and the
#                                         WebAssembly module (packaging/wasm/build.sh)
#
# ./tests/packages.sh and ./tests/packages-zig.sh build the same and install or run each package.
# GLOVE_CMAKE_ARGS     additional arguments for cmake
# GLOVE_NO_INSTALL=1   do not install packages of packages.txt
# SOURCE_DATE_EPOCH    the time that the SBOM states, in seconds since 1970; the default is that of the last commit
set -euo pipefail
if [[ "${1:-}" == -h || "${1:-}" == --help ]]; then sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0; fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cuda=ON others=()
for argument in "$@"; do
  case "$argument" in
    --cpu-only) cuda=OFF ;;
    --others) others=(build/zig build/windows/x64 build/wasm) ;;
    *) echo "release.sh: unknown argument '$argument'; see ./packaging/release.sh --help" >&2 && exit 2 ;;
  esac
done
build=build/dist-$([[ $cuda == ON ]] && echo cuda || echo cpu)
# A folder that has been built without the CUDA backend already. The options below are those of every release, whatever it had.
if [[ $cuda == OFF ]]; then
  for folder in build/release build/cpu; do
    if grep -qs '^GLOVE_CUDA:BOOL=OFF' $folder/CMakeCache.txt; then build=$folder && break; fi
  done
fi
[[ -n "${GLOVE_NO_INSTALL:-}" ]] || ./build.sh --packages-only packages
mkdir -p build
# shellcheck disable=SC2086
cmake -G Ninja -B "$build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS="${CXXFLAGS:-}" -DGLOVE_CUDA=$cuda -DGLOVE_STATIC=ON -DGLOVE_VERIFY=$cuda -DGLOVE_TESTS=OFF \
  -DGLOVE_TOKENIZERS=ON -DGLOVE_SANITIZE= ${GLOVE_CMAKE_ARGS:-} | tee "$build.log" | grep 'CUDA backend'
if [[ $cuda == ON ]] && ! grep -q 'CUDA backend: yes' "$build.log"; then
  echo "release.sh: there is no CUDA compiler; build without the CUDA backend with --cpu-only" >&2
  exit 1
fi
targets=(glove glove-convert glove-convert-beside glove_static_archive)
[[ $cuda == OFF ]] || targets+=(glove-verify)
cmake --build "$build" --target "${targets[@]}"
[[ ${#others[@]} -eq 0 ]] || { ./packaging/zig.sh && ./packaging/windows.sh && ./packaging/wasm/build.sh; }
# Sources without a Git repository have the fixed time of packaging/project.py.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || true)} python3 packaging/release.py "$build" dist "${others[@]}"
