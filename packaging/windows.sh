#!/usr/bin/env bash
# Builds glove.dll and glove-convert.exe for 64-bit Windows into build/windows/x64, without the CUDA backend, with Debian's clang,
# lld and mingw-w64 (cmake/windows-toolchain.cmake says why not with its GCC).
#
#   ./packaging/windows.sh
#
# packaging/windows.py writes their packages.
# GLOVE_CMAKE_ARGS     additional arguments for cmake
# GLOVE_NO_INSTALL=1   do not install packages of packages.txt
set -euo pipefail
if [[ "${1:-}" == -h || "${1:-}" == --help ]]; then sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0; fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ -n "${GLOVE_NO_INSTALL:-}" ]] || ./build.sh --packages-only windows

# The files of the installed header-only libraries, apart from this system's other headers.
headers=(libhwy-dev libeigen3-dev nlohmann-json3-dev libcli11-dev)
root=$PWD/build/windows
if [[ $(cat "$root/headers/packages" 2>/dev/null) != "${headers[*]}" ]]; then
  rm -rf "$root/headers" && mkdir -p "$root/headers"
  dpkg -L "${headers[@]}" | sort -u | while read -r path; do [[ -d $path ]] || echo "$path"; done |
    tar -cf - -P -T - | tar -xf - -C "$root/headers" --transform 's,^/,,'
  echo "${headers[*]}" >"$root/headers/packages"
fi
# shellcheck disable=SC2086
cmake -G Ninja -B "$root/x64" -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/windows-toolchain.cmake" \
  -DGLOVE_WINDOWS_ROOT="$root" -DGLOVE_CUDA=OFF -DGLOVE_TESTS=OFF ${GLOVE_CMAKE_ARGS:-} >"$root/configure.log" 2>&1 ||
  { cat "$root/configure.log" >&2 && exit 1; }
cmake --build "$root/x64" --target glove glove-convert glove-convert-beside
