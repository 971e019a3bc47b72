#!/usr/bin/env bash
# Builds each package and installs it where nothing else is: the static library into a program, the npm packages
# into a new project, and these, the wheel and the Debian packages into a small Debian.
#
#   ./tests/packages.sh             packages of the release build
#   ./tests/packages.sh cpu -R npm  another preset; what follows it goes to ctest
#   ./tests/packages.sh --debian    only makes the small Debian
#
# The small Debian is made once, by mmdebstrap, as build/packages/debian.tar; that needs root and Debian's archive. Without
# root or mmdebstrap, nothing is installed there.
#
# GLOVE_CMAKE_ARGS     additional arguments for cmake
# GLOVE_NO_INSTALL=1   do not install packages of packages.txt
set -euo pipefail
if [[ "${1:-}" == -h || "${1:-}" == --help ]]; then sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit 0; fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:-release}
shift || true
[[ -n "${GLOVE_NO_INSTALL:-}" ]] || ./build.sh --packages-only packages

# Prints the path of the archive, or nothing.
small_debian() {
  local archive=$PWD/build/packages/debian.tar part=$PWD/build/packages/part.tar log=$PWD/build/packages/debian.log
  exec 9>build/packages/debian.lock && flock 9  # .ci/run makes it beside its first steps
  if [[ ! -f $archive ]]; then
    [[ $EUID -eq 0 ]] && command -v mmdebstrap >/dev/null || return 0
    mmdebstrap --quiet --variant=apt --include=sqlite3,python3-venv bookworm "$part" >"$log" 2>&1 || {
      echo "mmdebstrap failed; $log says why. Nothing is installed in a chroot." >&2
      return 0
    }
    mv "$part" "$archive"
  fi
  echo "$archive"
}

mkdir -p build/packages
if [[ $preset == --debian ]]; then
  small_debian
  exit
fi
log=build/packages/configure.log
# shellcheck disable=SC2086
cmake --preset "$preset" -DGLOVE_TESTS=ON -DGLOVE_STATIC=ON ${GLOVE_CMAKE_ARGS:-} >"$log" 2>&1 || {
  cat "$log" >&2
  exit 1
}
targets=(glove glove-convert glove-convert-beside glove_static_archive)
# A release's archive and the program of examples/static use `cmake --install`, which copies glove-verify where it is built.
if grep -q '^GLOVE_VERIFY:BOOL=ON' "build/$preset/CMakeCache.txt"; then targets+=(glove-verify); fi
cmake --build --preset "$preset" --target "${targets[@]}"

GLOVE_CHROOT=$(small_debian)
export GLOVE_CHROOT

ctest --preset "$preset" -j "$(nproc)" -L packages "$@"
