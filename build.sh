#!/usr/bin/env bash
# Installs missing packages, configures and builds.
#
#   ./build.sh                       build/release/glove.so and glove-convert
#   ./build.sh --tests               also the tests
#   ./build.sh --preset asan --tests another preset of CMakePresets.json
#   ./build.sh --packages-only tests only install the packages for one purpose (see packages.txt)
#
# GLOVE_CMAKE_ARGS     additional arguments for cmake: -DGLOVE_CUDA=ON compiles the GPU kernels where no GPU is found,
#                      -DGLOVE_VERIFY=ON builds glove-verify
# GLOVE_NO_INSTALL=1   do not call apt-get; if a package is missing, name it and stop
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

# Installs the packages that packages.txt lists for the given purposes, unless they are installed already.
install_packages() {
  command -v dpkg-query >/dev/null || return 0  # not Debian: CMake reports missing dependencies
  local missing=() package purpose
  while read -r package purpose; do
    [[ " $* " == *" $purpose "* ]] || continue
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' && continue
    # A compiler or tool from another source will do.
    case "$package" in g++ | clang | cmake | git | sqlite3 | cargo) command -v "$package" >/dev/null && continue ;;
      ninja-build) command -v ninja >/dev/null && continue ;;
      golang-go) command -v go >/dev/null && continue ;;
      default-jdk-headless) command -v javac >/dev/null && continue ;; esac
    missing+=("$package")
  done < <(grep -v '^#' packages.txt)
  [[ ${#missing[@]} -gt 0 ]] || return 0

  local sudo=()
  if [[ $EUID -ne 0 ]]; then
    command -v sudo >/dev/null && sudo=(sudo) || sudo=(false)
  fi
  if [[ "${sudo[*]}" == false || -n "${GLOVE_NO_INSTALL:-}" ]] || ! command -v apt-get >/dev/null; then
    echo "build.sh: packages are missing, which it may not install here; please run: sudo apt-get install ${missing[*]}" >&2
    exit 1
  fi
  echo "Installing with apt-get: ${missing[*]}"
  local log
  log=$(mktemp)
  # An outdated package list can name versions that no longer exist, so update it after a first failure.
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

# To keep the build short, compiles GPU kernels only for the GPU of this machine. `cmake --preset release` by itself compiles
# them for all architectures; with GLOVE_CMAKE_ARGS=-DGLOVE_CUDA=ON, this script does so for the oldest and one recent.
cuda_arguments() {
  if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then
    echo "-DGLOVE_CUDA_ARCHITECTURES=native"
  else
    echo "-DGLOVE_CUDA=OFF" "-DGLOVE_CUDA_ARCHITECTURES=75-real;90"
  fi
}

preset=release tests=OFF
while [[ $# -gt 0 ]]; do
  case "$1" in
    --preset) preset=${2:?--preset requires a name} && shift 2 ;;
    --tests) tests=ON && shift ;;
    --packages-only)
      purpose=${2:?--packages-only requires a purpose of packages.txt}
      grep -v '^#' packages.txt | grep -q " $purpose\$" || {
        echo "build.sh: packages.txt has no package for the purpose '$purpose'" >&2
        exit 2
      }
      install_packages build "$purpose" && exit 0 ;;
    -h | --help) usage && exit 0 ;;
    *) echo "build.sh: unknown argument '$1'; see ./build.sh --help" >&2 && exit 2 ;;
  esac
done

purposes=(build)
[[ $tests == ON ]] && purposes+=(tests)
install_packages "${purposes[@]}"

log=build/$preset.configure.log
mkdir -p build
# If the build directory already includes the tests, keep them.
if [[ -f build/$preset/CMakeCache.txt ]] && grep -q '^GLOVE_TESTS:BOOL=ON' "build/$preset/CMakeCache.txt"; then tests=ON; fi
read -ra cuda < <(cuda_arguments)
# shellcheck disable=SC2086
cmake --preset "$preset" -DGLOVE_TESTS=$tests "${cuda[@]}" ${GLOVE_CMAKE_ARGS:-} >"$log" 2>&1 || {
  cat "$log" >&2
  exit 1
}
if [[ $preset == release && ${cuda[0]} == -DGLOVE_CUDA=OFF ]] && grep -q '^GLOVE_CUDA:BOOL=OFF' "build/$preset/CMakeCache.txt"; then
  echo "No GPU was found, so this build is for the CPU; GLOVE_CMAKE_ARGS=-DGLOVE_CUDA=ON ./build.sh adds the GPU kernels."
else
  grep 'CUDA backend' "$log" | sed 's/^-- //' || true
fi
cmake --build --preset "$preset"
