#!/usr/bin/env python3
"""Compares indexes by cosine, inner product and Euclidean distance, with one another and with FAISS and sqlite-vec.

  bench/metrics.py BUILD [--model FILE] [--rows N] [--queries N] [--threads N] [--sets NAME...]

The sets: glove (the vectors of --model as they are), sift (300,000 x 128, not negative, nearly of one length), far (300,000 x 128 whose
mean is ten times their spread; their cosines are all alike, and not asked), factors (300,000 x 64 with log-normal lengths, sigma 0.7, and a spectrum that falls as i^-.65). Queries are rows with noise. For each set
and metric it prints the candidates and the share of a full scan's bytes that are read (medians at k = 10 and 100; that at 10 also for 95 %
of the queries), and the milliseconds that a query and a batch of 1,024 take: of glove_index through SQL, of FAISS's IndexFlatIP and
IndexFlatL2, and of vec0 by L2, in turns of 20 queries. All answers of glove_index and FAISS have the same rows, but where two scores agree to five digits. Peers that Python
lacks are left out."""
import argparse
import os
import statistics
import time

import numpy

import harness

COUNT = 300_000
TURN = 20  # queries


def glove(options, _):
    return numpy.array(harness.vectors(options.model))


def sift(_, choose):
    rows = choose.exponential(1, (COUNT, 16))[choose.integers(0, COUNT, COUNT)].repeat(8, 1) * choose.exponential(1, (COUNT, 128))
    return numpy.rint(rows * (512 / numpy.linalg.norm(rows, axis=1, keepdims=True)))


def far(_, choose):
    return choose.standard_normal((COUNT, 128)) @ (choose.standard_normal((128, 128)) / 11) + 10 * choose.choice([-1, 1], 128)


def factors(_, choose):
    rows = choose.standard_normal((COUNT, 64)) * numpy.arange(1, 65) ** -0.65
    return rows / numpy.linalg.norm(rows, axis=1, keepdims=True) * numpy.exp(0.7 * choose.standard_normal((COUNT, 1)))


class Index:
    def __init__(self, connection, metric, queries, threads):
        self.connection, self.metric, self.read = connection, metric, {}
        connection.execute(f"CREATE VIRTUAL TABLE by_{metric} USING glove_index(content=doc, rowid=id, vector=v, metric={metric}, lists=none)")
        connection.execute("SELECT glove_config('threads', ?)", (threads,)).fetchall()
        connection.execute("CREATE TEMP TABLE IF NOT EXISTS asked(v BLOB)")
        connection.execute("DELETE FROM asked")
        connection.executemany("INSERT INTO asked VALUES (?)", ((query.tobytes(),) for query in queries))

    def one(self, query, k):
        return [i for i, in self.connection.execute(f"SELECT id FROM by_{self.metric} WHERE query = ? AND k = ?", (query.tobytes(), k))]

    def note(self, k):
        self.read.setdefault(k, []).append(self.connection.execute("SELECT candidates, bytes_scanned FROM glove_stats LIMIT 1").fetchone())

    def batch(self, _):
        return self.connection.execute(f"SELECT count(*) FROM by_{self.metric} WHERE query IN (SELECT v FROM asked) AND k = 10").fetchone()


class Faiss:
    def __init__(self, rows, metric, threads):
        import faiss
        faiss.omp_set_num_threads(threads)
        self.index = (faiss.IndexFlatL2 if metric == "l2" else faiss.IndexFlatIP)(rows.shape[1])
        self.index.add(harness.unit(rows) if metric == "cosine" else rows)

    def one(self, query, k):
        return self.index.search(query[None], k)[1][0].tolist()

    def batch(self, queries):
        return self.index.search(queries, 10)


class SqliteVec:
    def __init__(self, rows):
        import sqlite_vec
        self.connection = harness.connect(":memory:", sqlite_vec.loadable_path())
        self.connection.execute(f"CREATE VIRTUAL TABLE v USING vec0(e float[{rows.shape[1]}])")
        self.connection.execute("BEGIN")
        self.connection.executemany("INSERT INTO v(rowid, e) VALUES (?, ?)", ((i, row.tobytes()) for i, row in enumerate(rows)))
        self.connection.execute("COMMIT")

    def one(self, query, k):
        return [i for i, in self.connection.execute("SELECT rowid FROM v WHERE e MATCH ? AND k = ?", (query.tobytes(), k))]


def searches(connection, rows, queries, metric, threads):
    ways = {"glove_index": Index(connection, metric, queries, threads)}
    for name, make in (("faiss", lambda: Faiss(rows, metric, threads)), ("sqlite-vec", lambda: SqliteVec(rows))):
        if name == "faiss" or metric == "l2":
            try:
                ways[name] = make()
            except ImportError:
                pass
    return ways


def compare(rows, metric, query, found, expected):
    def scores(ids):
        picked = rows[ids].astype("f8")
        return numpy.linalg.norm(picked - query, axis=1) if metric == "l2" else (harness.unit(picked) if metric == "cosine" else picked) @ query
    if not numpy.allclose(scores(found), scores(expected), rtol=1e-5):
        raise SystemExit(f"{metric}: {found} is not {expected}")


def measure(connection, name, rows, options, choose):
    queries = rows[choose.integers(0, len(rows), 1024)] + numpy.float32(0.2) * rows.std(0) * choose.standard_normal((1024, rows.shape[1]), dtype="f4")
    for metric in ("dot", "l2") if name == "far" else ("cosine", "dot", "l2"):
        ways = searches(connection, rows, queries, metric, options.threads)
        times = {}
        for k in (10, 100):
            for first in range(0, min(options.queries, len(queries) - TURN), TURN):
                answers = {}
                for way, search in ways.items():
                    search.one(queries[first - 1], k)
                    for i in range(first, first + TURN):
                        taken, answers[way, i] = harness.timed(lambda: search.one(queries[i], k), time.perf_counter)
                        times.setdefault((way, k), []).append(taken)
                        if way == "glove_index":
                            search.note(k)
                for i in range(first, first + TURN):
                    if "faiss" in ways and name != "far":  # which has no digits left there
                        compare(rows, metric, queries[i], answers["glove_index", i], answers["faiss", i])
        batches, _ = harness.in_turns({way: lambda s=search: s.batch(queries) for way, search in ways.items() if hasattr(search, "batch")}, 2,
                                      time.perf_counter)
        read = {k: numpy.array(of) for k, of in ways["glove_index"].read.items()}
        counts = " and ".join(f"{numpy.median(of[:, 0]):.0f}" for of in read.values())
        full = len(rows) * (rows.shape[1] + 8)
        shares = ", ".join(f"{100 * share:.2f} %" for share in (
            numpy.median(read[10][:, 1]) / full, numpy.percentile(read[10][:, 1], 95) / full, numpy.median(read[100][:, 1]) / full))
        shown = [f"{way} {statistics.median(times[way, 10]):.2f} and {statistics.median(times[way, 100]):.2f}" for way in ways]
        print(f"{name} {len(rows):,} x {rows.shape[1]}, {metric}: {counts} candidates, {shares} read; k = 10 and 100, ms: {', '.join(shown)}; batch, ms: "
              + ", ".join(f"{way} {min(taken):.0f}" for way, taken in batches.items()), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--model", default="build/glove-6b-100d.safetensors")
    parser.add_argument("--rows", type=int, default=1 << 30)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sets", nargs="+", default=["glove", "sift", "far", "factors"])
    options = parser.parse_args()
    for name in options.sets:
        choose = numpy.random.default_rng(11)
        rows = globals()[name](options, choose)[:options.rows].astype("f4")
        connection = harness.connect(":memory:", os.path.join(options.build, "glove"), backend="cpu")
        connection.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, v BLOB)")
        connection.executemany("INSERT INTO doc VALUES (?, ?)", ((i, row.tobytes()) for i, row in enumerate(rows)))
        measure(connection, name, rows, options, choose)
        connection.close()


main()
