#!/usr/bin/env bash
# Goes from a fresh clone to "king - man + woman" in SQL: installs missing packages, builds, converts the sample
# model (20,000 words of GloVe 6B, 100 dimensions) and runs examples/quickstart.sql in the sqlite3 shell.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A build takes about 160 seconds of processor time, half as much again where it compiles kernels for this machine's GPU.
if [[ ! -f build/release/glove.so ]]; then
  seconds=160
  if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU'; then seconds=$((seconds * 3 / 2)); fi
  echo "Building takes about $(((seconds / $(nproc) + 59) / 60)) min on the $(nproc) cores of this machine."
fi
./build.sh
model=build/glove-6b-100d-20k.safetensors
if [[ ! -f $model || build/release/glove-convert -nt $model ]]; then
  build/release/glove-convert examples/data/glove-6b-100d-20k.txt.gz "$model"
fi

sqlite3 -batch :memory: '.read examples/quickstart.sql'

cat <<END

To continue by hand, start sqlite3 in $(pwd) and type:

  .load ./build/release/glove
  SELECT glove_load('$model');
  SELECT neighbor, similarity FROM glove_nn('piano', NULL, 10);

All 341,479 words: ./examples/full-model.sh
END
