#!/usr/bin/env python3
"""Measures WHERE recall = r on an index in lists over the rows of a model: recall, time of one thread, rows read.

    live_recall.py EXTENSION MODEL [--lists N] [--queries Q] [--k K]

The index is in a temporary file. Each query is answered exactly and with each recall in turn; times are medians of processor time.
"""
import argparse
import os
import tempfile
import time

import numpy

import harness

RECALLS = (0.90, 0.95, 0.99)


def create(db, model, lists):
    db.execute("SELECT glove_load(?, 'model')", (model,)).fetchall()
    db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, vec BLOB)")
    db.execute("INSERT INTO doc SELECT id, vector FROM glove_words WHERE model = 'model'")
    db.execute("SELECT glove_unload('model')").fetchall()
    start = time.process_time()
    db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec', lists=%d)" % lists)
    print("created in %.1f s of processor time" % (time.process_time() - start), flush=True)


def families(db, count):
    """Yields names and queries: rows, sums and differences of rows, rows with noise, and what no row is like."""
    random = numpy.random.default_rng(7)
    rows, = db.execute("SELECT count(*) FROM doc").fetchone()

    def row(most=rows):
        return numpy.frombuffer(db.execute("SELECT vec FROM doc WHERE id = ?", (int(random.integers(min(most, rows))),)).fetchone()[0], "<f4")

    def noisy():
        vector = row()
        return vector + random.normal(0, 0.5 * numpy.linalg.norm(vector) / len(vector) ** 0.5, len(vector))
    makers = {"random rows": row, "first 20,000": lambda: row(20000), "a + b": lambda: row() + row(), "a - b": lambda: row() - row(),
              "a - b + c": lambda: row(20000) - row(20000) + row(20000),
              "mean of 8": lambda: sum(row(50000) for _ in range(8)), "noisy rows": noisy,
              "Gaussian": lambda: random.normal(0, 1, len(row()))}
    for name, make in makers.items():
        yield name, [make().astype("<f4").tobytes() for _ in range(count)]


def ask(db, query, k, recall):
    start = time.process_time()
    rows = db.execute("SELECT id, evidence, rows_read FROM doc_vec WHERE query = ? AND k = ? AND recall = ? AND backend = 'cpu'",
                      (query, k, recall)).fetchall()
    return time.process_time() - start, rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("extension", type=os.path.abspath)
    parser.add_argument("model", type=os.path.abspath)
    parser.add_argument("--lists", type=int, default=2337)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--k", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        db = harness.connect(os.path.join(folder, "index.db"), options.extension)
        db.execute("PRAGMA synchronous = OFF")
        create(db, options.model, options.lists)
        db.execute("SELECT glove_config('threads', '1'), glove_config('audits', '0')").fetchall()
        print("| queries | exact, ms | " + " | ".join("r = %.2f: recall; ms; of exact; rows; exact" % r for r in RECALLS) + " |")
        print("|---|--:|" + "---|" * len(RECALLS))
        for name, queries in families(db, options.queries):
            found = {recall: [] for recall in (1, *RECALLS)}
            for query in queries:
                for recall, answers in found.items():
                    answers.append(ask(db, query, options.k, recall))
            exact = numpy.median([seconds for seconds, _ in found[1]])
            cells = []
            for recall in RECALLS:
                mean = numpy.mean([len({row[0] for row in truth} & {row[0] for row in rows}) / len(truth)
                                   for (_, truth), (_, rows) in zip(found[1], found[recall])])
                median = numpy.median([seconds for seconds, _ in found[recall]])
                cells.append("%.3f; %.2f; %.2f; %d; %d %%" % (
                    mean, 1e3 * median, median / exact, numpy.median([rows[0][2] for _, rows in found[recall]]),
                    100 * numpy.mean([rows[0][1] == "proof" for _, rows in found[recall]])))
            print("| %s | %.2f | %s |" % (name, 1e3 * exact, " | ".join(cells)), flush=True)
        db.close()


if __name__ == "__main__":
    main()
