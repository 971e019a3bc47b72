#!/usr/bin/env bash
# Builds the packages for 64-bit Windows (packaging/windows.sh) and runs glove.dll and glove-convert.exe under wine, beside this
# machine's own build, with which every answer is compared bit for bit (tests/packages/test_windows.py).
#
#   ./tests/packages-windows.sh --quick [PRESET]   the half that .ci/run runs, compared with build/PRESET (release)
#   ./tests/packages-windows.sh [PRESET]           everything
#
# GLOVE_CMAKE_ARGS     additional arguments for cmake
# GLOVE_NO_INSTALL=1   do not install packages of packages.txt
set -euo pipefail
if [[ "${1:-}" == -h || "${1:-}" == --help ]]; then sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0; fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

quick=()
if [[ "${1:-}" == --quick ]]; then quick=(--quick) && shift; fi
preset=${1:-release}
python=/usr/bin/python3
[[ -x $python ]] || python=python3
[[ -f build/$preset/glove.so ]] || ./build.sh --preset "$preset"
./packaging/windows.sh

# A shell and a server over the SQLite that npm's better-sqlite3 carries, and a test of locks, each for Windows.
root=build/windows sqlite=build/windows/node_modules/better-sqlite3/deps/sqlite3
compiler=(x86_64-w64-mingw32-gcc-posix -O1 "-I$sqlite")
command -v npm >/dev/null || { echo "packages-windows.sh: npm was not found; it has the sources of SQLite" >&2 && exit 1; }
[[ -d $sqlite ]] || packaging/npm_install.sh $root better-sqlite3@12.11.1
[[ -f $root/sqlite3.o ]] || "${compiler[@]}" -c "$sqlite/sqlite3.c" -o "$root/sqlite3.o"
for program in shell server; do
  "${compiler[@]}" "tests/packages/$program.c" "$root/sqlite3.o" -static -o "$root/$program.exe"
done
x86_64-w64-mingw32-g++-posix -std=c++20 -O1 -I. -DNOMINMAX '-DGLOVE_SYSTEM_LOCKS="base/windows/locks.h"' \
  tests/packages/locks.cpp base/windows/locks.cpp -static -o $root/locks.exe

rm -rf $root/dist
"$python" packaging/windows.py $root/x64 $root/dist >/dev/null
"$python" tests/packages/test_windows.py --windows $root --here "build/$preset" --dist $root/dist "${quick[@]}"
