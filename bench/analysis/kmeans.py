#!/usr/bin/env python3
"""k-means of the CPU backend beside scikit-learn and FAISS, in turns in one run.

  bench/analysis/kmeans.py ANALYSIS_BENCH VECTORS.npy UNIFORM.npy

VECTORS.npy: float32 rows of a model (341,479 x 100); UNIFORM.npy: float32, 1,000,000 x 42. All three start from the same
rows. An iteration is the difference of a long fit and a short one, divided by the difference of their iterations, so
that seeding, conversion and the last assignment are left out; the best of three. Two threads each. Prints the rows of a
Markdown table, the load of the machine before them.
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

THREADS = 2
ROUNDS = 3
warnings.filterwarnings("ignore")


def ours(program, path, k, iterations, start):
    output = subprocess.run([program, path, str(THREADS), "kmeans", "euclidean", str(k), str(iterations), start], check=True,
                            capture_output=True, text=True).stdout
    return json.loads(output)["ms"]


def scikit_learn(rows, start, iterations):
    from sklearn.cluster import KMeans
    fit = KMeans(len(start), init=rows[start], n_init=1, max_iter=iterations, tol=0, algorithm="lloyd")
    began = time.perf_counter()
    fit.fit(rows)
    return (time.perf_counter() - began) * 1000


def faiss(rows, start, iterations):
    import faiss as library
    library.omp_set_num_threads(THREADS)
    fit = library.Kmeans(rows.shape[1], len(start), niter=iterations, max_points_per_centroid=1 << 30)
    began = time.perf_counter()
    fit.train(rows, init_centroids=np.ascontiguousarray(rows[start]))
    return (time.perf_counter() - began) * 1000


def iteration(fit, short, long):
    return (fit(long) - fit(short)) / (long - short)


def compare(name, program, path, k, other, short, long):
    rows = np.load(path)
    start = np.random.default_rng(7).choice(len(rows), k, replace=False).astype(np.int32)
    library = {"scikit-learn": scikit_learn, "FAISS": faiss}[other]
    times = []
    with tempfile.TemporaryDirectory() as directory:
        file = os.path.join(directory, "start.npy")
        np.save(file, start)
        for _ in range(ROUNDS):
            times.append((iteration(lambda n: ours(program, path, k, n, file), short, long),
                          iteration(lambda n: library(rows, start, n), short, long)))
    mine, theirs = (min(column) for column in zip(*times))
    print(f"| {name} | {mine:.1f} | {other} | {theirs:.1f} | {mine / theirs:.3f} |", flush=True)


def main():
    program, vectors, uniform = sys.argv[1:]
    print("load", " ".join(f"{load:.1f}" for load in os.getloadavg()))
    compare("k = 24, 341,479 x 100", program, vectors, 24, "scikit-learn", 2, 32)
    compare("k = 24, 1,000,000 x 42, uniform", program, uniform, 24, "scikit-learn", 2, 32)
    compare("k = 1000, 341,479 x 100", program, vectors, 1000, "FAISS", 2, 12)


main()
