#!/usr/bin/env python3
"""Compares WHERE recall = r with approximate indexes of others at the recall that each is measured to have.

  python3 bench/recall_peers.py BUILD --model FILE [--queries N] [--seed S] [--write JSON]

BUILD is the folder of a release build (glove.so, glove-convert); FILE is any file that glove-convert reads, such as
build/glove-6b-100d.safetensors of examples/full-model.sh. Peers are FAISS's IVF-Flat and HNSW (Debian's python3-faiss) and, where
bench/peers.sh has installed it under build/peers, vectorlite's HNSW. All search in this process, on one thread, for the 10 nearest rows of
random rows; each setting is asked 25 queries in a row, in an order that rotates. Times are those of the processor, and medians. Prints for
each setting its recall and time, how long each index took to build, and for a recall of .95 and .99 the time of each, interpolated between its
settings, and the quotient by ours.
"""
import argparse
import glob
import json
import os
import sqlite3
import sys
import tempfile
import time

import numpy as np

import harness

K = 10
SETTINGS = {
    "sqlite-glove": (0.7, 0.8, 0.9, 0.95, 0.97, 0.99, 0.995),  # r
    "FAISS IVF-Flat": (1, 2, 4, 8, 16, 32, 64, 128, 256, 512),  # nprobe
    "FAISS HNSW": (16, 32, 64, 128, 256, 512),  # efSearch
    "vectorlite HNSW": (16, 32, 64, 100, 200, 400, 800),  # ef
}


class Glove:
    def __init__(self, options, folder):
        file = os.path.join(folder, "model.safetensors")
        harness.convert(options.build, options.model, file, "--lists", "auto")
        self.db = harness.connect(":memory:", os.path.join(options.build, "glove.so"), threads=1, backend="cpu")
        self.db.execute("SELECT glove_load(?, 'm')", (file,)).fetchall()
        self.words = harness.words(file)
        self.id_of = {word: i for i, word in enumerate(self.words)}

    def search(self, row, r):
        found = self.db.execute("SELECT neighbor FROM glove_nn WHERE word = ? AND k = 10 AND recall = ?", (self.words[row], r)).fetchall()
        return lambda: [self.id_of[word] for word, in found]


class Faiss:
    def __init__(self, rows, make, parameter):
        import faiss
        faiss.omp_set_num_threads(1)
        self.rows, self.parameter, self.index = rows, parameter, make(faiss)
        if not self.index.is_trained:
            self.index.train(rows)
        self.index.add(rows)

    def search(self, row, value):
        target = self.index.hnsw if self.parameter == "efSearch" else self.index
        setattr(target, self.parameter, value)
        _, ids = self.index.search(self.rows[row:row + 1], K + 1)
        return lambda: [i for i in ids[0].tolist() if i != row][:K]


class Vectorlite:
    def __init__(self, rows, library):
        self.rows = rows
        self.db = sqlite3.connect(":memory:")
        self.db.enable_load_extension(True)
        self.db.load_extension(library)
        count, dims = rows.shape
        self.db.execute(f"CREATE VIRTUAL TABLE v USING vectorlite(e float32[{dims}] cosine, hnsw(max_elements={count}, ef_construction=100, M=16))")
        self.db.executemany("INSERT INTO v(rowid, e) VALUES (?, ?)", ((i, row.tobytes()) for i, row in enumerate(rows)))

    def search(self, row, ef):
        found = self.db.execute("SELECT rowid, distance FROM v WHERE knn_search(e, knn_param(?, 11, ?))", (self.rows[row].tobytes(), ef)).fetchall()
        return lambda: [i for i, _ in sorted(found, key=lambda r: r[1]) if i != row][:K]


def indexes(options, rows, folder):
    """Yields the name of each index, how to make it, and nothing that is not installed."""
    lists = round(4 * len(rows) ** 0.5)
    yield "sqlite-glove", lambda: Glove(options, folder)
    yield "FAISS IVF-Flat", lambda: Faiss(rows, lambda faiss: faiss.index_factory(rows.shape[1], f"IVF{lists},Flat", faiss.METRIC_INNER_PRODUCT), "nprobe")

    def hnsw(faiss):
        index = faiss.IndexHNSWFlat(rows.shape[1], 16, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = 100
        return index
    yield "FAISS HNSW", lambda: Faiss(rows, hnsw, "efSearch")
    libraries = glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build/peers/node_modules/@1yefuwang1/vectorlite-linux-x64/src/vectorlite.so"))
    if libraries:
        yield "vectorlite HNSW", lambda: Vectorlite(rows, libraries[0][:-len(".so")])
    else:
        print("vectorlite is not installed: bench/peers.sh does that", file=sys.stderr)


def time_at(points, recall):
    """The time for a recall, interpolated between the settings around it; None if none of them reaches it."""
    points = sorted(points)
    above = next((i for i, (found, _) in enumerate(points) if found >= recall), None)
    if above is None:
        return None
    if above == 0:
        return points[0][1]
    (r0, t0), (r1, t1) = points[above - 1], points[above]
    return t0 + (t1 - t0) * (recall - r0) / (r1 - r0)


def measure(made, queries, exact):
    times = {(name, value): [] for name in made for value in SETTINGS[name]}
    found = dict.fromkeys(times, 0)
    for first in range(0, len(queries), 25):
        batch = range(first, min(first + 25, len(queries)))
        settings = list(times)
        turn = first // 25 % len(settings)
        for name, value in settings[turn:] + settings[:turn]:
            for i in batch:
                start = time.process_time()
                finish = made[name].search(int(queries[i]), value)
                times[name, value].append(time.process_time() - start)
                found[name, value] += len(exact[i] & set(finish()))
    return {key: (found[key] / K / len(queries), float(np.median(times[key])) * 1e3) for key in times}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--model", required=True, type=os.path.abspath)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--write", help="a file for the curves, as bench/data/recall.json")
    parser.add_argument("--machine", default="this machine", help="what that file calls the machine")
    options = parser.parse_args()
    rows = harness.unit_vectors(options.model)
    queries = np.random.default_rng(options.seed).choice(len(rows), options.queries, replace=False)
    exact = []
    for row in queries:
        scores = rows @ rows[row]
        scores[row] = -2
        exact.append(set(np.argpartition(-scores, K)[:K].tolist()))
    made, built = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name, make in indexes(options, rows, folder):
            start, before = time.perf_counter(), time.process_time() + sum(os.times()[2:4])
            made[name] = make()
            built[name] = (time.perf_counter() - start, time.process_time() + sum(os.times()[2:4]) - before)
            print(f"{name}: built in {built[name][0]:.1f} s ({built[name][1]:.1f} s of processors)", flush=True)
        measured = measure(made, queries, exact)
    for (name, value), (recall, ms) in measured.items():
        print(f"{name:16} {value:>6}  recall {recall:.4f}  {ms:.3f} ms")
    curves = {name: [measured[name, value] for value in SETTINGS[name]] for name in made}
    for recall in (0.95, 0.99, 0.992):
        ours = time_at(curves["sqlite-glove"], recall)
        for name in made:
            theirs = time_at(curves[name], recall)
            if theirs is None or ours is None:
                print(f"recall {recall}: {name} does not reach it")
            else:
                print(f"recall {recall}: {name} {theirs:.3f} ms, {theirs / ours:.1f} times ours")
    if options.write:
        with open(options.write, "w", encoding="utf-8") as file:
            json.dump({"model": os.path.basename(options.model), "rows": list(rows.shape), "machine": options.machine, "queries": len(queries), "built_s": built, "curves": curves}, file, indent=1)


if __name__ == "__main__":
    main()
