#!/usr/bin/env python3
"""Writes ROWS x DIMS random unit rows as DIR/random.npy and their words, w0, w1, ..., as DIR/random.txt.

  make_random_model.py DIR [ROWS [DIMS]]
"""
import sys

import numpy

directory = sys.argv[1]
rows = int(sys.argv[2]) if len(sys.argv) > 2 else 2196016
dims = int(sys.argv[3]) if len(sys.argv) > 3 else 300
try:  # a GPU makes them in a second, one core in a minute
    import torch
    made = torch.randn(rows, dims, device="cuda")
    made /= made.norm(dim=1, keepdim=True)
    matrix = made.cpu().numpy()
except (ImportError, RuntimeError):
    matrix = numpy.random.default_rng().standard_normal((rows, dims), dtype=numpy.float32)
    matrix /= numpy.linalg.norm(matrix, axis=1, keepdims=True)
numpy.save(f"{directory}/random.npy", matrix)
with open(f"{directory}/random.txt", "w") as words:
    words.writelines(f"w{i}\n" for i in range(rows))
