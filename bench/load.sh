#!/bin/bash
# Times the opening of models and the conversion of files. Prints times, and ratios to plain copies on this machine.
#
#   bench/load.sh [--with-peers] [TEXT]
#
# TEXT: a GloVe text file; by default one of 100,000 random rows of 100 dimensions is made.
# --with-peers: also times gensim on the same file (installs python3-gensim through apt if it is missing).
# BUILD: the build to measure; build/release by default, else build/cpu.
set -euo pipefail
cd "$(dirname "$0")/.."

with_peers=no
if [[ "${1:-}" == --with-peers ]]; then with_peers=yes; shift; fi
build=${BUILD:-build/release}
[[ -x "$build/glove-convert" ]] || build=build/cpu
convert="$build/glove-convert"
work=$(mktemp -d "${TMPDIR:-/tmp}/glove-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT

text=${1:-$work/random.txt}
if [[ ! -e "$text" ]]; then
  /usr/bin/python3 - "$text" <<'PYTHON'
import sys
import numpy
rows = numpy.random.default_rng().normal(0, 0.4, (100_000, 100)).astype(numpy.float32)
with open(sys.argv[1], "w") as file:
    for i, row in enumerate(rows):
        file.write("word%d %s\n" % (i, " ".join("%.5g" % x for x in row)))
PYTHON
fi
model="$work/model.safetensors"

# seconds RUNS COMMAND...: the least wall time of several runs.
seconds() {
  local runs=$1 best="" begin elapsed
  shift
  for ((i = 0; i < runs; ++i)); do
    begin=$EPOCHREALTIME
    "$@" > /dev/null
    elapsed=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.6f", b - a }')
    best=$(awk -v a="${best:-1e9}" -v b="$elapsed" 'BEGIN { printf "%.6f", a < b ? a : b }')
  done
  echo "$best"
}
row() { printf '%-58s %10s\n' "$1" "$2"; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f x", a / b }'; }

echo "$(nproc) cores, $(uname -m), $(git describe --always --dirty 2>/dev/null || echo unknown), $(date -u +%F)"
echo "text: $(stat -c %s "$text") bytes"

cat "$text" > "$work/copy"  # the text is in the page cache from here on
copy=$(seconds 3 cp "$text" "$work/copy")
row "cp of the text" "$copy s"
sync_copy=$(seconds 3 dd if="$text" of="$work/copy" bs=1M conv=fsync status=none)
rm -f "$work/copy"
row "the same with fsync" "$sync_copy s"
converted=$(seconds 3 "$convert" -q "$text" "$model")
row "glove-convert, text to model file, with fsync" "$converted s"
if [[ -w /dev/shm ]]; then
  in_memory=$(seconds 3 "$convert" -q "$text" /dev/shm/glove-bench.$$.safetensors)
  rm -f "/dev/shm/glove-bench.$$.safetensors"
  row "glove-convert to /dev/shm (not limited by the disk)" "$in_memory s"
fi
row "verify the model file" "$(seconds 3 "$convert" -q --verify "$model") s"

# Compares the conversion of word2vec binary with a plain copy of the bytes that it writes.
/usr/bin/python3 - "$text" "$work/w2v.bin" <<'PYTHON' 2>/dev/null || true
import sys
import numpy
words, rows = [], []
for line in open(sys.argv[1], encoding="utf-8", errors="surrogateescape"):
    fields = line.rstrip("\n").split(" ")
    words.append(fields[0])
    rows.append(numpy.array(fields[-len(rows[0]) if rows else 1:], dtype="<f4"))
with open(sys.argv[2], "wb") as file:
    file.write(b"%d %d\n" % (len(rows), len(rows[0])))
    for word, row in zip(words, rows):
        file.write(word.encode("utf-8", "surrogateescape").replace(b" ", b"_") + b" " + row.tobytes() + b"\n")
PYTHON
if [[ -s "$work/w2v.bin" ]]; then
  rm -f "$work/m.safetensors"
  binary=$(seconds 3 "$convert" -q "$work/w2v.bin" "$work/m.safetensors")
  plain=$(seconds 3 dd if="$work/m.safetensors" of="$work/copy" bs=1M conv=fsync status=none)
  row "glove-convert, word2vec binary to model file, with fsync" "$binary s"
  row "a copy of that model file, with fsync" "$plain s"
  row "  copy / convert" "$(ratio "$plain" "$binary")"
  rm -f "$work/w2v.bin" "$work/m.safetensors" "$work/copy"
fi

# Each run is a fresh process: shell, extension, model, one answer.
if [[ -e "$build/glove.so" ]] && command -v sqlite3 > /dev/null; then
  load=".load $build/glove sqlite3_glove_init"
  first=$(head -n 1 "$text" | cut -d' ' -f1)
  bare=$(seconds 20 sqlite3 :memory: "SELECT 1")
  empty=$(seconds 20 sqlite3 -cmd "$load" :memory: "SELECT glove_version()")
  answer=$(seconds 20 sqlite3 -cmd "$load" :memory: \
    "SELECT glove_load('$model'), cos_sim('${first//\'/\'\'}', '${first//\'/\'\'}')")
  row "sqlite3 alone, SELECT 1" "$bare s"
  row "sqlite3 with the extension loaded" "$empty s"
  row "sqlite3 with the extension, glove_load, first cos_sim" "$answer s"
fi

if [[ $with_peers == yes ]]; then
  /usr/bin/python3 -c 'import gensim' 2>/dev/null ||
    { sudo=; [[ $(id -u) == 0 ]] || sudo=sudo; $sudo apt-get install -y -qq python3-gensim > /dev/null; }
  gensim=$(seconds 1 /usr/bin/python3 -c '
import sys
from gensim.models import KeyedVectors
KeyedVectors.load_word2vec_format(sys.argv[1], no_header=True)' "$text")
  row "gensim reads the text" "$gensim s"
  row "  gensim / glove-convert" "$(ratio "$gensim" "$converted")"
fi
