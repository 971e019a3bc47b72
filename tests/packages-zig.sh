#!/usr/bin/env bash
# Builds the packages for older systems and other processors (packaging/zig.sh), runs each library on its system (under musl's
# loader, and for 64-bit Arm under qemu), and lets pip and npm choose. Not a part of .ci/run, because it takes too long.
#
#   ./tests/packages-zig.sh                     every target of packaging/platforms.py
#   ./tests/packages-zig.sh x86_64-linux-musl   only the targets named
#
# GLOVE_CMAKE_ARGS     additional arguments for cmake
# GLOVE_NO_INSTALL=1   do not install packages of packages.txt
set -euo pipefail
if [[ "${1:-}" == -h || "${1:-}" == --help ]]; then sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0; fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The system's Python first, as the tests do (tests/CMakeLists.txt).
python=/usr/bin/python3
[[ -x $python ]] || python=python3
targets=$("$python" packaging/platforms.py "$@")
[[ -n "${GLOVE_NO_INSTALL:-}" ]] || { ./build.sh --packages-only tests && ./build.sh --packages-only zig; }
"$python" -c 'import numpy' || { echo "packages-zig.sh: $python has no NumPy (Debian: python3-numpy)" >&2 && exit 1; }
./build.sh --preset cpu
./packaging/zig.sh "$@"

# The same for musl on 64-bit Arm: Zig links programs for musl statically, and these cannot load libraries, so Debian's linker
# links this one with the musl of Debian's packages for Arm, whose loader qemu then finds there.
build_shell_for_musl() {
  local target=$1 sqlite=build/zig/node_modules/better-sqlite3/deps/sqlite3 root=build/zig/musl-root objects=build/zig/shell/objects
  local library=$root/usr/lib/aarch64-linux-musl source
  ./tests/aarch64/make_root.sh "$root" musl musl-dev
  mkdir -p "$objects"
  for source in tests/packages/shell.c "$sqlite/sqlite3.c"; do
    "build/zig/bin/$target/cc" -O1 -fno-sanitize=all -I"$sqlite" -c "$source" -o "$objects/$(basename "$source").o"
  done
  aarch64-linux-gnu-ld -o "build/zig/shell/$target" -dynamic-linker /lib/ld-musl-aarch64.so.1 "$library"/crt1.o "$library"/crti.o \
    "$objects"/*.o -L"$library" -lc "$(aarch64-linux-gnu-gcc -print-libgcc-file-name)" "$library/crtn.o"
}

# Builds tests/packages/shell.c over the SQLite that npm's better-sqlite3 carries, for a target's system.
build_shell() {
  local target=$1 shell=build/zig/shell/$1 sqlite=build/zig/node_modules/better-sqlite3/deps/sqlite3 compiler
  case "$target" in
    x86_64-linux-gnu*) return 0 ;;  # this system's sqlite3
    *-macos) return 0 ;;  # nothing here runs it
  esac
  [[ ! $shell -nt tests/packages/shell.c ]] || return 0
  [[ -d $sqlite ]] || packaging/npm_install.sh build/zig better-sqlite3@12.11.1
  mkdir -p build/zig/shell
  case "$target" in
    x86_64-linux-musl) compiler=(musl-gcc) ;;
    aarch64-linux-musl) build_shell_for_musl "$target"; return ;;
    # It stands for the system's own. Built for a glibc before 2.33, Zig's stat() does not set errno, which SQLite needs.
    *) compiler=("build/zig/bin/$target/cc" -target "${target%.*}.34") ;;
  esac
  "${compiler[@]}" -O1 -I"$sqlite" tests/packages/shell.c "$sqlite/sqlite3.c" -o "$shell" -lpthread -ldl -lm
}

rm -rf build/zig/dist
"$python" packaging/npm.py build/cpu build/zig/dist >/dev/null
"$python" packaging/wheel.py build/cpu build/zig/dist >/dev/null
for target in $targets; do
  echo "$target"
  build_shell "$target"
  "$python" packaging/zig.py build/zig build/zig/dist "$target" >/dev/null
  "$python" tests/packages/test_zig.py --target "$target" --zig build/zig --here build/cpu --dist build/zig/dist
done
"$python" tests/packages/test_choice.py --dist build/zig/dist
# What a person with a Mac runs, on this machine's own package.
"$python" tests/packages/run_on_mac.py build/zig/dist
