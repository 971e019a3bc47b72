#!/usr/bin/env python3
"""Measures searches of an index whose codes do not fit into the setting index_memory, and the memory that they take.

    index_memory.py EXTENSION FILE [--rows N] [--dims D] [--memory BYTES] [--queries Q]

Makes FILE, a database with an index of random vectors around centres, unless it exists. Then a process of its own reads the file, so
that its pages are in the system's cache, and two others search: one without a limit, and one with index_memory. Prints for both the
first query and the median of the others in milliseconds, the peak of anonymous memory (RssAnon) in MB, and for the second process how
long reading the blocks of the codes by SQL takes, in turns with the queries.
"""
import argparse
import os
import sqlite3
import statistics
import subprocess
import sys
import threading
import time

import numpy


def connect(path, extension):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.enable_load_extension(True)
    connection.load_extension(extension)
    return connection


def make(options):
    random = numpy.random.default_rng(11)
    connection = connect(options.file, options.extension)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, embedding BLOB)")
    connection.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='embedding')")
    centres = random.standard_normal((1000, options.dims), dtype="f4")
    for first in range(0, options.rows, 10000):
        count = min(10000, options.rows - first)
        rows = centres[random.integers(0, 1000, count)] + 0.7 * random.standard_normal((count, options.dims), dtype="f4")
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO doc VALUES (?, ?)", ((first + i, row.tobytes()) for i, row in enumerate(rows)))
        connection.execute("COMMIT")
    connection.execute("INSERT INTO doc_vec(doc_vec) VALUES ('merge')")
    connection.close()


def anonymous_bytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon"))


class Peak(threading.Thread):
    """The most anonymous memory, looked at every millisecond."""

    def __init__(self):
        super().__init__(daemon=True)
        self.bytes = 0
        self.start()

    def run(self):
        while True:
            self.bytes = max(self.bytes, anonymous_bytes())
            time.sleep(0.001)


def read_codes(connection):
    """The same reading as a search's, without the search: a BLOB at a time."""
    for _ in connection.execute("SELECT data FROM doc_vec_block ORDER BY segment, number"):
        pass


def search(options):
    random = numpy.random.default_rng(12)
    connection = connect(options.file, options.extension)
    data = [numpy.frombuffer(connection.execute("SELECT embedding FROM doc WHERE id = ?", (int(random.integers(options.rows)),)).fetchone()[0],
                             "f4") for _ in range(options.queries + 1)]
    queries = [(row + 0.5 * random.standard_normal(options.dims, dtype="f4")).tobytes() for row in data]
    peak, times, reading = Peak(), [], []
    for query in queries:
        start = time.perf_counter()
        found = connection.execute("SELECT id FROM doc_vec WHERE query = ? AND k = 10", (query,)).fetchall()
        times.append((time.perf_counter() - start) * 1000)
        assert len(found) == 10
    most = peak.bytes
    print("%.0f | %.1f | %.1f | " % (times[0], statistics.median(times[1:]), most / 1e6), end="")
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
    parser.add_argument("--search", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.search:
        return search(options)
    if not os.path.exists(options.file):
        make(options)
    with open(options.file, "rb") as file:
        while file.read(1 << 24):
            pass
    print("| index_memory | first query | median | peak RssAnon | reading the codes |\n|---|---|---|---|---|")
    for memory in ("0", options.memory):
        print("| %s | " % memory, end="", flush=True)
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--search"], env=dict(os.environ, GLOVE_INDEX_MEMORY=memory), check=True)
    return None


if __name__ == "__main__":
    main()
