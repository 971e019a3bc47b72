#!/usr/bin/env python3
"""Measures glove_index through SQL beside other searches of the same rows and queries, of encode.py.

  bench/neural/measure.py BUILD DATA DIMS [--rows N] [--threads N] [--only NAME...] [--write JSON]

Every search answers bursts of 20 queries in turns with the others, in one process, for the 10 nearest rows by cosine; first on one
thread, then on --threads. Recall is measured against all rows in float32 (a GPU, if torch sees one). Peers that are not installed
are named and left out: sqlite-vec, faiss, hnswlib, usearch, turbovec, and torch on a GPU. Prints one line per search and setting:
recall by kind of query, median and p99 in ms; then k = 100, batches of 1,024, the time of the build, of an INSERT and of a
DELETE with the search that follows, the bytes of the index's tables and the private memory of a reader."""
import argparse
import importlib
import itertools
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time

import numpy

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import harness  # noqa: E402

BURST = 20
RECALLS = (0.9, 0.95, 0.99)
READER = """
import sys; sys.path.insert(0, sys.argv[1]); import harness, numpy
connection = harness.connect(sys.argv[2], sys.argv[3], backend="cpu")
before = harness.memory("RssAnon")[0]
connection.execute("SELECT id FROM doc_vec WHERE query = ? AND k = 10", (numpy.load(sys.argv[4])[0].tobytes(),)).fetchall()
print(harness.memory("RssAnon")[0] - before)
"""


class Glove:
    """The index and the searches of it by SQL; `settings` are those to measure."""
    name, settings, changes = "glove_index", ("exact", *RECALLS), True

    def __init__(self, options, rows):
        self.file = os.path.join(options.folder, "data.db")
        self.options = options
        connection = self.connection = harness.connect(self.file, os.path.join(options.build, "glove"), backend="cpu")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, v BLOB)")
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO doc VALUES (?, ?)", ((i, row.tobytes()) for i, row in enumerate(rows)))
        connection.execute("COMMIT")
        before = connection.execute("PRAGMA page_count").fetchone()[0]
        self.built_s = harness.timed(lambda: connection.execute(
            "CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='v')").fetchall())[0] / 1000
        self.bytes = (connection.execute("PRAGMA page_count").fetchone()[0] - before) * connection.execute("PRAGMA page_size").fetchone()[0]
        connection.execute(f"PRAGMA mmap_size={64 << 30}")

    def threads(self, count):
        self.connection.execute("SELECT glove_config('threads', ?)", (count,)).fetchall()

    def search(self, query, setting, k=10):
        found = self.connection.execute("SELECT id FROM doc_vec WHERE query = ? AND k = ? AND recall = ?",
                                        (query.tobytes(), k, 1 if setting == "exact" else setting)).fetchall()
        return [i for i, in found]

    def batch(self, queries):
        self.connection.execute("CREATE TEMP TABLE IF NOT EXISTS asked(q BLOB)")
        self.connection.execute("DELETE FROM asked")
        self.connection.executemany("INSERT INTO asked VALUES (?)", ((q.tobytes(),) for q in queries))
        return lambda: self.connection.execute("SELECT query, id FROM doc_vec WHERE query IN (SELECT q FROM asked) AND k = 10").fetchall()

    def plan(self, query, setting):
        evidence = self.connection.execute("SELECT evidence, rows_read FROM doc_vec WHERE query = ? AND k = 10 AND recall = ? LIMIT 1",
                                           (query.tobytes(), 1 if setting == "exact" else setting)).fetchone()
        return evidence

    def changed(self, queries, rows):
        """Medians of milliseconds: a search; one INSERT in an open transaction and the next search; the same for DELETE."""
        taken = {"search": [], "INSERT": [], "DELETE": []}
        self.connection.execute("BEGIN")
        for number, query in enumerate(queries[:200]):
            taken["search"].append(harness.timed(lambda: self.search(query, "exact"))[0])
            key = len(rows) + number
            taken["INSERT"].append(harness.timed(lambda: (self.connection.execute(
                "INSERT INTO doc VALUES (?, ?)", (key, rows[number].tobytes())), self.search(query, "exact")))[0])
        for number, query in enumerate(queries[:200]):
            taken["DELETE"].append(harness.timed(lambda: (self.connection.execute(
                "DELETE FROM doc WHERE id = ?", (len(rows) + number,)), self.search(query, "exact")))[0])
        self.connection.execute("ROLLBACK")
        return {name: float(numpy.median(ms)) for name, ms in taken.items()}

    def memory(self, query):
        numpy.save(os.path.join(self.options.folder, "query.npy"), query[None])
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        return int(subprocess.run([sys.executable, "-c", READER, here, self.file, os.path.join(self.options.build, "glove"),
                                   os.path.join(self.options.folder, "query.npy")], capture_output=True, text=True, check=True).stdout)


class GloveOnGpu(Glove):
    name, settings, changes = "glove_index, GPU", ("exact",), False

    def __init__(self, options, rows):
        self.connection = harness.connect(os.path.join(options.folder, "data.db"), os.path.join(options.build, "glove"))
        self.connection.execute(f"PRAGMA mmap_size={64 << 30}")
        try:
            self.search(rows[0], "exact")
        except sqlite3.OperationalError as error:
            raise ImportError(error) from None

    def threads(self, count):
        pass

    def search(self, query, setting, k=10):
        return [i for i, in self.connection.execute("SELECT id FROM doc_vec WHERE query = ? AND k = ? AND backend = 'cuda'", (query.tobytes(), k))]

    def batch(self, queries):
        ask = super().batch(queries)
        del ask
        return lambda: self.connection.execute(
            "SELECT query, id FROM doc_vec WHERE query IN (SELECT q FROM asked) AND k = 10 AND backend = 'cuda'").fetchall()


class SqliteVec:
    name, settings = "sqlite-vec", ("float",)

    def __init__(self, options, rows):
        import sqlite_vec
        self.connection = harness.connect(":memory:", sqlite_vec.loadable_path())
        self.connection.execute(f"CREATE VIRTUAL TABLE v USING vec0(e float[{rows.shape[1]}] distance_metric=cosine)")
        self.connection.execute("BEGIN")
        self.connection.executemany("INSERT INTO v(rowid, e) VALUES (?, ?)", ((i, row.tobytes()) for i, row in enumerate(rows)))
        self.connection.execute("COMMIT")

    def threads(self, count):
        pass

    def search(self, query, _, k=10):
        return [i for i, in self.connection.execute("SELECT rowid FROM v WHERE e MATCH ? AND k = ?", (query.tobytes(), k))]


class Faiss:
    name, settings = "faiss IndexFlatIP", ("float",)

    def __init__(self, options, rows):
        import faiss
        self.faiss, self.index = faiss, faiss.IndexFlatIP(rows.shape[1])
        self.index.add(rows)

    def threads(self, count):
        self.faiss.omp_set_num_threads(count)

    def search(self, query, _, k=10):
        return self.index.search(query[None], k)[1][0].tolist()

    def batch(self, queries):
        return lambda: self.index.search(queries, 10)


class Hnswlib:
    name, settings = "hnswlib, M 16", (16, 32, 64, 128, 256, 512)

    def __init__(self, options, rows):
        import hnswlib
        self.index = hnswlib.Index(space="cosine", dim=rows.shape[1])
        self.index.init_index(max_elements=len(rows), ef_construction=200, M=16)
        self.index.set_num_threads(options.threads)
        self.index.add_items(rows)

    def threads(self, count):
        pass

    def search(self, query, ef, k=10):
        self.index.set_ef(max(ef, k))
        return self.index.knn_query(query[None], k=k, num_threads=1)[0][0].tolist()


class Usearch:
    name, settings = "usearch, M 16", (16, 32, 64, 128, 256, 512)

    def __init__(self, options, rows):
        from usearch.index import Index
        self.index = Index(ndim=rows.shape[1], metric="cos", dtype="f32", connectivity=16, expansion_add=200)
        self.index.add(numpy.arange(len(rows)), rows, threads=options.threads)

    def threads(self, count):
        pass

    def search(self, query, ef, k=10):
        self.index.expansion_search = max(ef, k)
        return self.index.search(query, k, threads=1).keys.tolist()


class Turbovec:
    name, settings = "turbovec, 4 bits", ("scan",)

    def __init__(self, options, rows):
        import turbovec
        self.index = turbovec.TurboQuantIndex(rows.shape[1], 4)
        self.index.add(rows)

    def threads(self, count):
        os.environ["RAYON_NUM_THREADS"] = str(count)

    def search(self, query, _, k=10):
        return numpy.asarray(self.index.search(query[None], k)[1])[0].tolist()


class Torch:
    name, settings = "torch float16, GPU", ("scan",)

    def __init__(self, options, rows):
        self.torch = importlib.import_module("torch")
        if not self.torch.cuda.is_available():
            raise ImportError("no GPU")
        self.rows = self.torch.from_numpy(rows).cuda().half()

    def threads(self, count):
        pass

    def scores(self, queries, k):
        scores = self.torch.from_numpy(queries).cuda().half() @ self.rows.T
        return scores.topk(k, dim=1).indices.cpu().numpy()

    def search(self, query, _, k=10):
        return self.scores(query[None], k)[0].tolist()

    def batch(self, queries):
        return lambda: self.scores(queries, 10)


def nearest(rows, queries, k):
    """The k nearest rows of each query by float32, on a GPU if there is one."""
    try:
        torch = importlib.import_module("torch")
        device = "cuda" if torch.cuda.is_available() else "cpu"
        all_rows = torch.from_numpy(rows).to(device)
        return numpy.concatenate([(torch.from_numpy(queries[at:at + 256]).to(device) @ all_rows.T).topk(k, dim=1).indices.cpu().numpy()
                                  for at in range(0, len(queries), 256)])
    except ImportError:
        return numpy.concatenate([numpy.argsort(-(queries[at:at + 64] @ rows.T), axis=1)[:, :k] for at in range(0, len(queries), 64)])


def in_bursts(ways, queries, k, counts):
    """{way: (milliseconds, {query: ids})}; each way answers counts[way] queries in bursts, in turns with the others."""
    taken = {way: ([], {}) for way in ways}
    for first in range(0, len(queries), BURST):
        for way, work in ways.items():
            for i in range(first, min(first + BURST, len(queries), counts[way])):
                ms, found = harness.timed(lambda: work(queries[i], k))
                taken[way][0].append(ms)
                taken[way][1][i] = found
    return taken


def line(*values):
    print(" | ".join(str(value) for value in values), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("data")
    parser.add_argument("dims", type=int)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--queries", type=int, default=2000, help="of each kind, for glove_index; 300 for graphs, 60 for scans")
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--write")
    options = parser.parse_args()
    rows = harness.unit(numpy.load(f"{options.data}/rows-{options.dims}.npy")[:options.rows])
    kinds = {kind: harness.unit(v[:options.queries]) for kind, v in numpy.load(f"{options.data}/queries-{options.dims}.npz").items()}
    result = {"rows": rows.shape, "threads": options.threads, "built_s": {}, "searches": []}
    with tempfile.TemporaryDirectory() as options.folder:
        made = []
        for engine in (Glove, GloveOnGpu, SqliteVec, Faiss, Turbovec, Torch, Usearch, Hnswlib):
            if options.only and engine.name.split(",")[0] not in options.only:
                continue
            start, before = time.perf_counter(), sum(os.times()[:4])
            try:
                made.append(engine(options, rows))
            except (ImportError, OSError) as error:
                line(f"{engine.name} is left out", error)
                continue
            result["built_s"][engine.name] = (time.perf_counter() - start, sum(os.times()[:4]) - before)
            line(f"{engine.name}: ready in {result['built_s'][engine.name][0]:.1f} s, {result['built_s'][engine.name][1]:.1f} s of processors")
        exact = {kind: {k: nearest(rows, queries, k) for k in (10, 100)} for kind, queries in kinds.items()}
        for threads, k, (kind, queries) in itertools.product(sorted({1, options.threads}), (10, 100), kinds.items()):
            ways, counts = {}, {}
            for engine in made:
                engine.threads(threads)
                for setting in engine.settings:
                    way = engine.name, setting
                    ways[way] = lambda query, k, engine=engine, setting=setting: engine.search(query, setting, k)
                    counts[way] = {"glove_index": len(queries) if k == 10 and threads == 1 and setting != "exact" else 300,
                                   "hnswlib, M 16": 300, "usearch, M 16": 300, "glove_index, GPU": 300, "torch float16, GPU": 300}.get(engine.name, 40)
                    if k == 100 and not engine.name.startswith("glove"):
                        counts[way] = min(counts[way], 20)
            for (name, setting), (ms, found) in in_bursts(ways, queries, k, counts).items():
                recall = numpy.mean([len(set(ids) & set(exact[kind][k][i].tolist())) / k for i, ids in found.items()])
                shown = {"name": name, "setting": setting, "threads": threads, "k": k, "queries": kind, "recall": float(recall),
                         "ms": float(numpy.median(ms)), "p99": float(numpy.percentile(ms, 99)), "asked": len(ms)}
                if name == "glove_index":
                    plans = [made[0].plan(query, setting) for query in queries[:100]]
                    shown["exact_share"] = float(numpy.mean([evidence == "proof" for evidence, _ in plans]))
                    shown["rows_read"] = float(numpy.median([read for _, read in plans if read is not None] or [0]))
                result["searches"].append(shown)
                line(name, setting, f"{threads} threads", f"k = {k}", kind, f"recall {recall:.4f}", f"{shown['ms']:.3f} ms", f"p99 {shown['p99']:.3f}",
                     *(f"{key} {shown[key]:g}" for key in ("exact_share", "rows_read") if key in shown))
        batch = numpy.ascontiguousarray(numpy.concatenate(list(kinds.values()))[:1024])
        for threads, engine in itertools.product(sorted({1, options.threads}), made):
            if hasattr(engine, "batch"):
                engine.threads(threads)
                ask = engine.batch(batch)
                ms = min(harness.timed(ask)[0] for _ in range(3))
                result["searches"].append({"name": engine.name, "batch": len(batch), "threads": threads, "ms": ms})
                line(engine.name, f"a batch of {len(batch)}", f"{threads} threads", f"{ms:.1f} ms", f"{ms / len(batch):.4f} per query")
        for engine in made:
            if getattr(engine, "changes", False):
                result["changes"] = engine.changed(kinds["alike"], rows)
                result["bytes"], result["memory"] = engine.bytes, engine.memory(kinds["alike"][0])
                line("changes, ms", result["changes"])
                line(f"tables {engine.bytes / rows.nbytes:.3f} of the vectors", f"built in {engine.built_s:.1f} s",
                     f"a reader's memory {result['memory'] / rows.nbytes:.3f}")
    if options.write:
        with open(options.write, "w", encoding="utf-8") as file:
            json.dump(result, file)


if __name__ == "__main__":
    main()
