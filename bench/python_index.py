#!/usr/bin/env python3
"""Times sqlite_glove.index() and search(): python_index.py [--vectors FILE.npy] [--rows N] [--dims D] [--rounds R] [--file]

Makes a table of N vectors of D dimensions from a NumPy array, with an index without lists and with the default, in turns, in memory
or, with --file, in a file of the folder for temporary files. Prints the seconds by the clock and of the processor, and the median of 300
searches for 10 rows, each a new one. Then it prints what search() takes beside the same statement in SQL, by answers that are kept, so that no search is in the times.

The vectors are the first D columns of FILE and, if it has fewer than N rows, sums of two of them; without FILE, random.

Requires the Python package (README.md, Install) and NumPy.
"""
import argparse
import contextlib
import os
import sqlite3
import statistics
import tempfile
import time

import numpy
import sqlite_glove


def make_vectors(options):
    source = numpy.random.default_rng(1)
    if options.vectors is None:
        return source.normal(size=(options.rows, options.dims)).astype("f4")
    known = numpy.load(options.vectors, mmap_mode="r")[:options.rows, :options.dims]
    known = known / numpy.linalg.norm(known, axis=1)[:, None]
    more = source.integers(len(known), size=(2, options.rows - len(known)))
    return numpy.concatenate([known, known[more[0]] + known[more[1]]]).astype("f4")


@contextlib.contextmanager
def connected(on_disk):
    with tempfile.TemporaryDirectory() as folder:
        conn = sqlite3.connect(os.path.join(folder, "index.db") if on_disk else ":memory:")
        sqlite_glove.load(conn)
        yield conn
        conn.close()


def time_index(options, vectors, arguments):
    with connected(options.file) as conn:
        clock, processor = time.perf_counter(), time.process_time()
        docs = sqlite_glove.index(conn, "doc", numpy.arange(len(vectors)), vectors, **arguments)
        clock, processor = time.perf_counter() - clock, time.process_time() - processor
        searches = []
        for query in vectors[::len(vectors) // 300]:
            begin = time.perf_counter()
            docs.search(query, 10)
            searches.append(time.perf_counter() - begin)
        return clock, processor, 1e3 * statistics.median(searches)


def time_search(vectors, asked=2000):
    """The medians of the statement in SQL and of search(), in turns, in milliseconds."""
    with connected(False) as conn:
        titles = [f"title {i}" for i in range(len(vectors))]
        docs = sqlite_glove.index(conn, "doc", None, vectors, {"title": titles}, lists="none")
        sql = "SELECT v.id, v.similarity, d.title FROM doc_vec v JOIN doc d ON d.id = v.id WHERE v.query = ? AND v.k = ? ORDER BY v.rank"
        query = vectors[7]
        blob = query.tobytes()
        assert conn.execute(sql, (blob, 10)).fetchall() == docs.search(query, 10)
        ways = {"SQL": lambda: conn.execute(sql, (blob, 10)).fetchall(), "search(): tuples": lambda: docs.search(query, 10),
                "dicts": lambda: docs.search(query, 10, rows="dicts")}
        seconds = {name: [] for name in ways}
        for _ in range(asked):
            for name, ask in ways.items():
                begin = time.perf_counter()
                ask()
                seconds[name].append(time.perf_counter() - begin)
        return {name: 1e3 * statistics.median(some) for name, some in seconds.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dims", type=int, default=384)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--file", action="store_true")
    options = parser.parse_args()
    vectors = make_vectors(options)
    print(f"{len(vectors):,} x {vectors.shape[1]}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n\n"
          "| | seconds | of the processor | a search, ms |\n|---|--:|--:|--:|")
    for _ in range(options.rounds):
        for name, arguments in (("lists='none'", {"lists": "none"}), ("default", {})):
            clock, processor, search = time_index(options, vectors, arguments)
            print(f"| index(), {name} | {clock:.2f} | {processor:.2f} | {search:.2f} |", flush=True)
    print("\n| 10 rows of an index, answers kept | ms |\n|---|--:|")
    for name, median in time_search(vectors[:1000]).items():
        print(f"| {name} | {median:.4f} |")


if __name__ == "__main__":
    main()
