#!/usr/bin/env bash
# Every figure of the GPU section of bench/RESULTS.md, on this machine's GPU: the ladder and the yardsticks, the backend
# through nearest(), and the same through SQL, on 2,196,016 x 300 random unit vectors. Writes OUT/gpu.json
# (bench/data/gpu.json by default), from which bench/readme_table.py makes its tables.
#
#   bench/gpu/run.sh [--prebuilt DIR] [--out OUT] [--commit NAME]
#
# --prebuilt: a directory with gpu_bench, gpu_ladder, sql_bench, glove.so and glove-convert that were built elsewhere.
# Needs python3 with NumPy, and PyTorch for its yardstick; about 7 GB under $TMPDIR (/tmp), on a file system whose page
# cache they stay in, and 16 GB of memory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

prebuilt='' out=bench/data commit=$(git describe --always --dirty 2>/dev/null || echo unknown)
while [[ $# -gt 0 ]]; do
  case "$1" in
    --prebuilt) prebuilt=${2:?} && shift 2 ;;
    --out) out=${2:?} && shift 2 ;;
    --commit) commit=${2:?} && shift 2 ;;
    *) echo "run.sh: unknown argument '$1'" >&2 && exit 2 ;;
  esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
if [[ -z $prebuilt ]]; then
  GLOVE_CMAKE_ARGS="-DGLOVE_BENCH=ON ${GLOVE_CMAKE_ARGS:-}" ./build.sh --preset release --tests
  mkdir "$work/bin"
  cp build/release/bench/gpu/{gpu_bench,gpu_ladder,sql_bench} build/release/{glove.so,glove-convert} "$work/bin"
  prebuilt=$work/bin
fi
# Finds cuBLAS on machines whose loader does not.
for folder in /usr/local/cuda*/targets/x86_64-linux/lib /usr/local/cuda/lib64; do
  if [[ -e $folder/libcublas.so.13 ]]; then export LD_LIBRARY_PATH=$folder:${LD_LIBRARY_PATH:-}; fi
done

# Runs a step and keeps its JSON; a step that fails or cannot run here leaves no file.
step() {
  local name=$1 && shift
  if "$@" >"$work/$name.json"; then echo "$name: done"; else echo "$name: failed or not possible here" && rm -f "$work/$name.json"; fi
}

for part in random small; do
  rows=2196016 && [[ $part == random ]] || rows=300000
  python3 bench/gpu/make_random_model.py "$work" "$rows"
  "$prebuilt/glove-convert" "$work/random.npy" "$work/$part.safetensors" --vocabulary "$work/random.txt"
done
rm -f "$work/random.npy"
sync "$work"/*.safetensors  # the page cache has them, and nothing is left to be written while clocks run
step ladder "$prebuilt/gpu_ladder"
step torch python3 bench/gpu/torch_yardstick.py
step engine "$prebuilt/gpu_bench" --variants --file "$work/random.safetensors"
step sql "$prebuilt/sql_bench" "$prebuilt/glove.so" "$work/random.safetensors" "$work/small.safetensors"
step sql_again "$prebuilt/sql_bench" "$prebuilt/glove.so" "$work/random.safetensors" "$work/small.safetensors"

COMMIT=$commit python3 - "$work" >"$out/gpu.json" <<'PYTHON'
import datetime, json, os, pathlib, subprocess, sys

def said(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""

result = {
    "commit": os.environ["COMMIT"],
    "date": datetime.date.today().isoformat(),
    "gpu": said("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"),
    "cores": os.cpu_count(),
    "kernel": said("uname", "-r"),
}
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
    result[path.stem] = json.loads(path.read_text())
json.dump(result, sys.stdout, indent=1)
print()
PYTHON
echo "wrote $out/gpu.json"
