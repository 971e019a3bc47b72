#!/usr/bin/env bash
# Compiles kernels that others wrote to PTX: ptx.sh CLONES PTX_FOLDER
#
# CLONES has checkouts of github.com/NVIDIA/cuda-samples at c94ff366, karpathy/llm.c at f1e2ace6, ggml-org/ggml at d99724f2 and
# facebookresearch/faiss at 02dbb4e4, each under its name there. CUB comes with CUDA. What does not compile alone, for want of OpenGL for instance,
# is passed over.
set -euo pipefail
clones=$(realpath "$1") out=$(realpath -m "$2") here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
cd "$clones"
flags="-ptx -lineinfo -arch=compute_90 -std=c++17 -O3 -w"

# NAME FLAGS SOURCE: as a line for xargs.
line() { printf '%s\0' "mkdir -p '$out/${1%/*}' && nvcc $flags $2 '$3' -o '$out/$1.ptx' 2>/dev/null || echo 'passed over: $3'"; }

{
  find cuda-samples/Samples -name '*.cu' | while read -r source; do
    line "${source%.cu}" "-Icuda-samples/Common -I${source%/*} -I${source%/*}/inc -I${source%/*}/../inc" "$source"
  done
  for source in llm.c/dev/cuda/*.cu; do line "${source%.cu}" "" "$source"; done
  for source in ggml/src/ggml-cuda/*.cu; do
    case $source in */fattn* | */mmq.cu | */mmf.cu) continue ;; esac
    line "${source%.cu}" "-use_fast_math -extended-lambda -Iggml/include -Iggml/src -Iggml/src/ggml-cuda" "$source"
  done
  for source in faiss/faiss/gpu/{impl/{L2Norm,BroadcastSum,L2Select,VectorResidual,BinaryDistance},utils/{blockselect/Block,warpselect/Warp}SelectFloat{1,32,64}}.cu; do
    line "${source%.cu}" "-Ifaiss --expt-relaxed-constexpr --extended-lambda" "$source"
  done
  for call in {0..23}; do line "cub/$call" "--extended-lambda -DCUB_CALL=$call" "$here/cub_calls.cu"; done
} | xargs -0 -P "$(nproc)" -I '{}' bash -c '{}'
