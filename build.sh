#!/usr/bin/env bash
# Installs what is missing, configures and builds.
#
#   ./build.sh                       build/release/glove.so, build/release/glove-convert and build/release/glove-verify
#   ./build.sh --tests               the tests too
#   ./build.sh --preset asan --tests another preset of CMakePresets.json
#   ./build.sh --packages-only tests install the packages that tests/ needs (fuzz, aarch64: see packages.txt), and stop
#
# GLOVE_CMAKE_ARGS     more arguments for cmake, such as -DGLOVE_CUDA=OFF
# GLOVE_NO_INSTALL=1   never call apt-get: when something is missing, name it and stop
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() { sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

# Installs the packages of packages.txt that the given purposes need and that are missing.
install_packages() {
  command -v dpkg-query >/dev/null || return 0  # not Debian: cmake names what it does not find
  local missing=() package purpose
  while read -r package purpose; do
    [[ " $* " == *" $purpose "* ]] || continue
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' && continue
    # A compiler or tool that came from elsewhere serves as well.
    case "$package" in g++ | clang | cmake | git | sqlite3) command -v "$package" >/dev/null && continue ;;
      ninja-build) command -v ninja >/dev/null && continue ;; esac
    missing+=("$package")
  done < <(grep -v '^#' packages.txt)
  [[ ${#missing[@]} -gt 0 ]] || return 0

  local sudo=()
  if [[ $EUID -ne 0 ]]; then
    command -v sudo >/dev/null && sudo=(sudo) || sudo=(false)
  fi
  if [[ "${sudo[*]}" == false || -n "${GLOVE_NO_INSTALL:-}" ]] || ! command -v apt-get >/dev/null; then
    echo "Missing packages, which this script may not install here. Please run:" >&2
    echo "  apt-get install ${missing[*]}" >&2
    exit 1
  fi
  echo "Installing with apt-get: ${missing[*]}"
  local log
  log=$(mktemp)
  # An old package list can name versions that are gone, so a first failure asks for a new list.
  if ! DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
    "${sudo[@]}" apt-get update >"$log" 2>&1 &&
      DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1 || {
      tail -n 20 "$log" >&2
      echo "apt-get could not install: ${missing[*]}" >&2
      exit 1
    }
  fi
  rm -f "$log"
}

# Where the GPU is known, only its code is compiled; where there is none, code for the oldest and a recent
# architecture, so that a build stays short. `cmake --preset release` alone compiles for all of them.
cuda_arguments() {
  if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    echo "-DGLOVE_CUDA_ARCHITECTURES=native"
  else
    echo "-DGLOVE_CUDA_ARCHITECTURES=75-real;90"
  fi
}

preset=release tests=OFF
while [[ $# -gt 0 ]]; do
  case "$1" in
    --preset) preset=${2:?--preset wants a name} && shift 2 ;;
    --tests) tests=ON && shift ;;
    --packages-only) install_packages build "${2:-}" && exit 0 ;;
    -h | --help) usage && exit 0 ;;
    *) echo "build.sh: unknown argument '$1'; see ./build.sh --help" >&2 && exit 2 ;;
  esac
done

purposes=(build)
[[ $tests == ON ]] && purposes+=(tests)
install_packages "${purposes[@]}"

log=build/$preset.configure.log
mkdir -p build
# A build folder that already has the tests keeps them.
if [[ -f build/$preset/CMakeCache.txt ]] && grep -q '^GLOVE_TESTS:BOOL=ON' "build/$preset/CMakeCache.txt"; then tests=ON; fi
# shellcheck disable=SC2086
cmake --preset "$preset" -DGLOVE_TESTS=$tests "$(cuda_arguments)" ${GLOVE_CMAKE_ARGS:-} >"$log" 2>&1 || {
  cat "$log" >&2
  exit 1
}
grep 'CUDA backend' "$log" | sed 's/^-- //' || true
cmake --build --preset "$preset"
