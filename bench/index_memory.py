#!/usr/bin/env python3
"""Measures searches of an index whose codes do not fit into the setting index_memory, and the memory that they take.

    index_memory.py EXTENSION FILE [--rows N] [--dims D] [--memory BYTES] [--queries Q] [--vectors NPY] [--lists auto|N]

Makes FILE, a database with an index of random vectors around centres, or of those of an .npy file, unless it exists; of more rows than
that has, the others are a row and 0.6 and 0.4 of two more. Then a process of its own reads the file, so that its pages are in the system's
cache, and others search, without a limit and with index_memory: exactly, and in a process of its own with recall = 0.95 if the index has
lists. Prints for each the first query and the median of the others in milliseconds, the peak of anonymous memory (RssAnon) in MB, for the
exact one with index_memory how long reading the blocks of the codes by SQL takes, in turns with the queries, and for recall = 0.95 the
mean recall, and whether the rows are those without a limit.
"""
import argparse
import os
import statistics
import subprocess
import sys
import threading
import time
import zlib

import numpy

import harness


def make(options):
    random = numpy.random.default_rng(11)
    some = None if options.vectors is None else numpy.load(options.vectors, mmap_mode="r")
    connection = harness.connect(options.file, options.extension)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, embedding BLOB)")
    connection.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='embedding', lists='%s')" % options.lists)
    centres = random.standard_normal((1000, options.dims), dtype="f4")
    first = 0
    while first < options.rows:
        count = min(10000, options.rows - first)
        if some is None:
            rows = centres[random.integers(0, 1000, count)] + 0.7 * random.standard_normal((count, options.dims), dtype="f4")
        elif first < len(some):
            rows = some[first:first + count]
            count = len(rows)
        else:
            rows = sum(factor * some[random.integers(0, len(some), count)] for factor in (1, 0.6, 0.4))
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO doc VALUES (?, ?)", ((first + i, row.tobytes()) for i, row in enumerate(rows)))
        connection.execute("COMMIT")
        first += count
    connection.execute("INSERT INTO doc_vec(doc_vec) VALUES ('merge')")
    connection.close()


class Peak(threading.Thread):
    """The most anonymous memory, looked at every millisecond."""

    def __init__(self):
        super().__init__(daemon=True)
        self.bytes = 0
        self.start()

    def run(self):
        while True:
            self.bytes = max(self.bytes, harness.memory("RssAnon")[0])
            time.sleep(0.001)


def read_codes(connection):
    """The same reading as a search's, without the search: a BLOB at a time."""
    for _ in connection.execute("SELECT data FROM doc_vec_block ORDER BY segment, number"):
        pass


def search(options):
    random = numpy.random.default_rng(12)
    connection = harness.connect(options.file, options.extension)
    data = [numpy.frombuffer(connection.execute("SELECT embedding FROM doc WHERE id = ?", (int(random.integers(options.rows)),)).fetchone()[0],
                             "f4") for _ in range(options.queries + 1)]
    queries = [(row + 0.5 * numpy.linalg.norm(row) / options.dims**0.5 * random.standard_normal(options.dims, dtype="f4")).tobytes() for row in data]
    peak, times, reading, answers = Peak(), [], [], []
    for query in queries:
        start = time.perf_counter()
        answers.append(connection.execute("SELECT id FROM doc_vec WHERE query = ? AND k = 10 AND recall = ?", (query, options.search)).fetchall())
        times.append((time.perf_counter() - start) * 1000)
        assert len(answers[-1]) == 10
    most = peak.bytes
    print("%.1f | %.2f | %.1f | " % (times[0], statistics.median(times[1:]), most / 1e6), end="")
    if options.search < 1:
        exact = [connection.execute("SELECT id FROM doc_vec WHERE query = ? AND k = 10", (query,)).fetchall() for query in queries]
        recall = statistics.mean(len(set(a) & set(b)) / 10 for a, b in zip(answers, exact))
        return print("recall %.3f, rows %08x |" % (recall, zlib.crc32(repr(answers).encode())))
    if os.environ["GLOVE_INDEX_MEMORY"] == "0":
        return print("- |")
    for _ in range(options.queries):
        start = time.perf_counter()
        read_codes(connection)
        reading.append((time.perf_counter() - start) * 1000)
        connection.execute("SELECT id FROM doc_vec WHERE query = ? AND k = 10", (queries[0],)).fetchall()
    return print("%.1f |" % statistics.median(reading))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("extension", type=os.path.abspath)
    parser.add_argument("file", type=os.path.abspath)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--dims", type=int, default=768)
    parser.add_argument("--memory", default="100M")
    parser.add_argument("--queries", type=int, default=15)
    parser.add_argument("--vectors", type=os.path.abspath)
    parser.add_argument("--lists", default="none")
    parser.add_argument("--search", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.search:
        return search(options)
    if not os.path.exists(options.file):
        make(options)
    with open(options.file, "rb") as file:
        while file.read(1 << 24):
            pass
    print("| index_memory | recall | first query | median | peak RssAnon | reading the codes |\n|---|---|---|---|---|---|")
    for recall in ("1",) if options.lists == "none" else ("1", "0.95"):
        for memory in ("0", options.memory):
            print("| %s | %s | " % (memory, recall), end="", flush=True)
            subprocess.run([sys.executable, __file__, *sys.argv[1:], "--search", recall], env=dict(os.environ, GLOVE_INDEX_MEMORY=memory),
                           check=True)
    return None


if __name__ == "__main__":
    main()
