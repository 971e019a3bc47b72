#!/usr/bin/env python3
"""Times an index in lists beside one of the same rows without, in turns, in one process.

  python3 bench/live_lists.py EXTENSION [--vectors FILE.npy] [--rows N] [--dims D] [--threads T] [--folder DIR]

Needs NumPy. Without --vectors the rows are a stand-in with a seed: mixtures of a tree of topics, as in bench/planes.py.
Prints seconds to create either index, the bytes of their tables, the memory that a first query adds, the time of queries
(k = 10 and 100; the best of the rounds of each query, and the median and the mean of these), of inserting 10,000 rows in
one transaction, and of a sync of 1,000 rows; and the rows that differ, which must be 0.
"""
import argparse
import multiprocessing
import os
import tempfile
import time

import numpy as np

import harness
import planes

KINDS = ("none", "auto")


def connect(path, extension, threads):
    db = harness.connect(path, extension, threads=threads)
    db.execute("PRAGMA mmap_size = 4000000000")
    return db


def seconds(work):
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cpu


def create(db, vectors):
    for kind in KINDS:
        db.execute("BEGIN")
        db.execute(f"CREATE TABLE doc_{kind}(id INTEGER PRIMARY KEY, v BLOB)")
        db.executemany(f"INSERT INTO doc_{kind}(v) VALUES (?)", ((row.tobytes(),) for row in vectors))
        db.execute("COMMIT")
        wall, cpu = seconds(lambda: db.execute(
            f"CREATE VIRTUAL TABLE vec_{kind} USING glove_index(content='doc_{kind}', rowid='id', vector='v', lists={kind})"))
        blocks = db.execute(f"SELECT sum(length(data)) FROM vec_{kind}_block").fetchone()[0]
        lists = db.execute(f"SELECT value FROM vec_{kind}_config WHERE key = 'lists'").fetchone()[0]
        print(f"lists={kind}: {lists} lists, created in {wall:.1f} s ({cpu:.1f} s of processors), {blocks:,} bytes", flush=True)


def ask(db, kind, k, vector):
    return db.execute(f"SELECT id, similarity FROM vec_{kind} WHERE query = ? AND k = ?", (vector.tobytes(), k)).fetchall()


def memory_of_reader(path, extension, kind, query):
    """What the first query of a process adds to its memory, SQLite's page cache aside."""
    db = connect(path, extension, 1)
    db.execute("PRAGMA mmap_size = 0")
    before, = harness.memory("VmRSS")
    ask(db, kind, 10, query)
    return harness.memory("VmRSS")[0] - before


def measure_queries(db, queries, rounds):
    for k in (10, 100):
        best = {kind: np.full(len(queries), np.inf) for kind in KINDS}
        cpu = dict.fromkeys(KINDS, 0.0)
        differ = 0
        for turn in range(rounds):
            for i, query in enumerate(queries):
                answers = {}
                for kind in KINDS if turn % 2 else reversed(KINDS):
                    asked = query * np.float32(1 + turn / 64)  # the answer to an equal query would be kept
                    wall, used = seconds(lambda: answers.update({kind: ask(db, kind, k, asked)}))
                    best[kind][i] = min(best[kind][i], wall)
                    cpu[kind] += used
                differ += answers["none"] != answers["auto"]
        none, auto = (best[kind] * 1e3 for kind in KINDS)
        print(f"k = {k}: {differ} answers differ; none {np.median(none):.3f} ms (mean {none.mean():.3f}), lists "
              f"{np.median(auto):.3f} ms (mean {auto.mean():.3f}), ratio of medians {np.median(auto) / np.median(none):.3f}, "
              f"of means {auto.mean() / none.mean():.3f}, of processor seconds {cpu['auto'] / cpu['none']:.3f}", flush=True)


def measure_changes(db, vectors, rounds):
    inserts = {kind: [] for kind in KINDS}
    syncs = {kind: [] for kind in KINDS}
    for turn in range(rounds):
        for kind in KINDS if turn % 2 else reversed(KINDS):
            def insert(count):
                db.execute("BEGIN")
                db.executemany(f"INSERT INTO doc_{kind}(v) VALUES (?)", ((row.tobytes(),) for row in vectors[:count]))
                db.execute("COMMIT")
            insert(1000)
            syncs[kind].append(seconds(lambda: db.execute(f"INSERT INTO vec_{kind}(vec_{kind}) VALUES ('sync')"))[1])
            inserts[kind].append(seconds(lambda: insert(10_000))[1])
            db.execute(f"DELETE FROM doc_{kind} WHERE id > ?", (len(vectors),))
            db.execute(f"INSERT INTO vec_{kind}(vec_{kind}) VALUES ('sync')")
    for name, times in (("INSERT of 10,000 rows", inserts), ("sync of 1,000 rows", syncs)):
        print(f"{name}: none {min(times['none']) * 1e3:.1f} ms of processors, lists {min(times['auto']) * 1e3:.1f}, "
              f"ratio of the best {min(times['auto']) / min(times['none']):.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extension", type=os.path.abspath)
    parser.add_argument("--vectors")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dims", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    vectors = np.load(options.vectors)[:options.rows] if options.vectors else planes.stand_in(rng, options.rows, options.dims)
    print(f"{len(vectors):,} x {vectors.shape[1]}, {options.threads} threads", flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = os.path.join(folder, "live.db")
        db = connect(path, options.extension, options.threads)
        create(db, vectors)
        db.close()
        queries = vectors[rng.integers(0, len(vectors), options.queries)]
        for kind in KINDS:
            with multiprocessing.get_context("spawn").Pool(1) as reader:
                print(f"a reader's memory, lists={kind}: {reader.apply(memory_of_reader, (path, options.extension, kind, queries[0])):,} bytes", flush=True)
        db = connect(path, options.extension, options.threads)
        measure_queries(db, queries, options.rounds)
        measure_changes(db, vectors, options.rounds)


if __name__ == "__main__":
    main()
