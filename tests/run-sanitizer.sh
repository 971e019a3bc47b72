#!/usr/bin/env bash
# Compares compute-sanitizer with glove-verify on the project's kernels; needs a GPU of compute capability 9.0 or newer.
#
#   ./tests/run-sanitizer.sh PROGRAM            compiles the kernels to PTX with nvcc; PROGRAM is glove-verify in a build folder,
#                                               whose folder launches/ has the launch files
#   ./tests/run-sanitizer.sh PROGRAM DIR        takes PTX and launch files from DIR, made elsewhere: DIR/NAME.sm_90.ptx and
#                                               DIR/NAME.launch.toml, and the kernels' sources in DIR
#
# racecheck and synccheck run on each launch that CI proves, as it is and with barriers broken (tools/verify/tests/sanitize.py). The
# exit code is 1 if the sanitizer finds a hazard in code that glove-verify has proved, and 77 where it cannot run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=${1:?run-sanitizer.sh requires the path of glove-verify}
specs=${2:-$(dirname "$program")/launches}
ptx=${2:-$(mktemp -d)}
export PATH=$PATH:/usr/local/cuda/bin
if ! command -v compute-sanitizer >/dev/null; then
  echo "there is no compute-sanitizer, which is part of the CUDA toolkit" && exit 77
fi
if [[ $# -lt 2 ]]; then
  for spec in "$specs"/*.launch.toml; do
    name=$(basename "$spec" .launch.toml)
    nvcc -std=c++20 -O3 -ptx -lineinfo -arch=compute_90 -I . "gpu/kernels/$name.cu" -o "$ptx/$name.sm_90.ptx"
  done
fi
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
exec python3 tools/verify/tests/sanitize.py "$program" "$ptx" "$specs"
