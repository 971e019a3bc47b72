#!/usr/bin/env bash
# The course labs' ladders (A^T A x, 3 x 3 convolution, covariance) beside NumPy and SciPy on this machine's CPU and,
# where there is a GPU, beside cuBLAS and PyTorch. Writes bench/data/labs_cpu.json and labs_gpu.json, and prints
# tables of them.
#
#   bench/labs/labs.sh [--cpu | --gpu] [--prebuilt DIR] [--out OUT] [--commit NAME]
#
# --prebuilt: a directory with liblabs.so and gpu_labs_bench that were built elsewhere; without it they are built here.
# The CPU part needs 5 GB of memory, python3 with NumPy and SciPy; the GPU part 14 GB on the device, and PyTorch.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

parts='cpu gpu' prebuilt='' out=bench/data commit=$(git describe --always --dirty 2>/dev/null || echo unknown)
while [[ $# -gt 0 ]]; do
  case "$1" in
    --cpu | --gpu) parts=${1#--} && shift ;;
    --prebuilt) prebuilt=${2:?} && shift 2 ;;
    --out) out=${2:?} && shift 2 ;;
    --commit) commit=${2:?} && shift 2 ;;
    *) echo "labs.sh: unknown argument '$1'" >&2 && exit 2 ;;
  esac
done
if [[ -z $prebuilt ]]; then
  GLOVE_CMAKE_ARGS="-DGLOVE_BENCH=ON ${GLOVE_CMAKE_ARGS:-}" ./build.sh --preset release
  prebuilt=build/release/bench/labs
fi
mkdir -p "$out"
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT

# Turns the lines of a part into one file.
keep() {
  COMMIT=$commit python3 - "$lines" >"$out/labs_$1.json" <<'PYTHON'
import datetime, json, os, subprocess, sys

def said(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""

model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
rows = [json.loads(line) for line in open(sys.argv[1]) if line.startswith("{")]
result = {"commit": os.environ["COMMIT"], "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"), "cpu": model,
          "gpu": said("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"),
          "notes": [row for row in rows if "work" not in row], "rows": [row for row in rows if "work" in row]}
json.dump(result, sys.stdout, indent=1)
print()
PYTHON
  echo "wrote $out/labs_$1.json"
}

for part in $parts; do
  if [[ $part == cpu ]]; then
    python3 bench/labs/labs.py "$prebuilt/liblabs.so" | tee "$lines"
    keep cpu
  elif [[ -x $prebuilt/gpu_labs_bench ]] && "$prebuilt/gpu_labs_bench" small >"$lines"; then
    "$prebuilt/gpu_labs_bench" | tee "$lines"
    python3 bench/labs/gpu_labs.py | tee -a "$lines"
    keep gpu
  else
    echo "no GPU, or no build for it: its ladders are left out"
  fi
done
if [[ $out == bench/data ]]; then python3 bench/labs/labs_report.py; fi
