#!/usr/bin/env python3
"""Searches a synthetic model of 2^LOG2 x 8 rows, compares every row of every answer with a brute force over vectors that it
computes again, and measures times and memory.

  bench/giant.py [--log2 N] [--folder PATH] [--no-write] [--keep]

The file takes 88 to 90 bytes per row under --folder (default build/giant) and is removed afterwards unless --keep is given.
The brute force takes about 2 minutes per 2^27 rows and 250 MB. Results go to a section of bench/RESULTS.md, one per size.
BUILD: build/release by default, else build/cpu; it needs glove.so and bench/giant_model (-DGLOVE_BENCH=ON).
"""
import argparse
import json
import os
import subprocess
import sys
import time

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "large"))
from common import commit, write_results  # noqa: E402

DIMS = 8
BLOCK = 1 << 17  # rows of the brute force that are scored together: their arrays stay in the cache

# Runs in a fresh process: opens MODEL and answers the statements of stdin. Prints times, memory and rows as JSON.
SESSION = """
import json, os, sqlite3, sys, time

def memory():
    fields = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return {name: int(fields[name].split()[0]) * 1024 for name in ("RssAnon", "RssFile", "VmHWM")}

def timed(text, arguments=()):
    start = time.perf_counter()
    rows = connection.execute(text, arguments).fetchall()
    return rows, (time.perf_counter() - start) * 1000

connection = sqlite3.connect(":memory:")
connection.enable_load_extension(True)
connection.load_extension(sys.argv[1])
connection.execute("SELECT glove_config('backend', 'cpu')")
before = memory()
_, load_ms = timed("SELECT glove_load(?, 'main')", (sys.argv[2],))
seen = {"before": before, "load_ms": load_ms, "loaded": memory(), "answers": {}}
for name, text, arguments in json.load(sys.stdin):
    arguments = [bytes.fromhex(a["hex"]) if isinstance(a, dict) else a for a in arguments]
    rows, first_ms = timed(text, arguments)
    candidates, scanned = connection.execute("SELECT candidates, bytes_scanned FROM glove_stats LIMIT 1").fetchone()
    warm = sorted(timed(text, arguments)[1] for _ in range(5))
    seen["answers"][name] = {"rows": rows, "first_ms": first_ms, "warm_ms": warm[2], "candidates": candidates,
                             "bytes_scanned": scanned, "memory": memory()}
print(json.dumps(seen))
"""


def vectors_of(ids):
    """The rows with these ids, [len(ids), DIMS], as bench/giant_model.cpp defines them."""
    counters = numpy.asarray(ids, numpy.uint64)[:, None] * numpy.uint64(DIMS) + numpy.arange(DIMS, dtype=numpy.uint64)
    bits = (counters + numpy.uint64(1)) * numpy.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> numpy.uint64(30)
    bits *= numpy.uint64(0xBF58476D1CE4E5B9)
    bits ^= bits >> numpy.uint64(27)
    bits *= numpy.uint64(0x94D049BB133111EB)
    bits ^= bits >> numpy.uint64(31)
    return (bits >> numpy.uint64(40)).astype(numpy.int64) - (1 << 23)


def exact_dot(a, columns):
    """D(a, x) of docs/exactness.md for vectors of eight dimensions, where each of the eight sums has one term."""
    p = [a[j] * columns[j] for j in range(DIMS)]
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))


def term(weight, row):
    """What a word adds to an expression."""
    vector = vectors_of([row])[0].astype(float)
    return weight / numpy.sqrt(exact_dot(vector, vector)) * vector


class BruteForce:
    """The best k rows of one query among the blocks that it was shown."""

    def __init__(self, vector, k, excluded=()):
        self.vector = numpy.asarray(vector, numpy.float32).astype(float)
        self.norm = exact_dot(self.vector, self.vector)
        self.k, self.excluded = k, excluded
        self.ids, self.similarities = numpy.empty(0, numpy.int64), numpy.empty(0)

    def add(self, first, columns, norms):
        similarities = numpy.minimum(exact_dot(self.vector, columns) / numpy.sqrt(self.norm * norms), 1.0)
        least = self.similarities[-1] if len(self.ids) == self.k else -2.0
        found = numpy.flatnonzero(similarities >= least)
        ids = first + found
        kept = ~numpy.isin(ids, self.excluded)
        self.ids = numpy.concatenate([self.ids, ids[kept]])
        self.similarities = numpy.concatenate([self.similarities, similarities[found[kept]]])
        best = numpy.lexsort((self.ids, -self.similarities))[: self.k]
        self.ids, self.similarities = self.ids[best], self.similarities[best]

    def rows(self):
        return [[f"w{i}", s] for i, s in zip(self.ids.tolist(), self.similarities.tolist())]


def questions(rows):
    """Returns the statements, and for each the brute force of every query in it by its word."""
    word, a, b, c = rows // 3, rows - 1, rows // 2 + 1, 7
    vector = numpy.cos(numpy.arange(DIMS), dtype=numpy.float32)
    sum_of_three = (term(1.0, a) + term(-0.5, b)) + term(1.0, c)
    batch = [int(rows * share) for share in (0, 0.2, 0.4, 0.5, 0.6, 0.8, 0.9)] + [rows - 2]
    statements, expected = [], {}
    for k in (10, 1000):
        select = "SELECT neighbor, similarity FROM glove_nn WHERE "
        statements += [
            (f"by word, k = {k}", select + f"word = ? AND k = {k}", [f"w{word}"]),
            (f"by expression, k = {k}", select + f"expr = ? AND k = {k}", [f"w{a} - 0.5 * w{b} + w{c}"]),
            (f"by vector, k = {k}", select + f"expr = ? AND k = {k}", [{"hex": vector.tobytes().hex()}])]
        expected[f"by word, k = {k}"] = [BruteForce(vectors_of([word])[0], k, [word])]
        expected[f"by expression, k = {k}"] = [BruteForce(sum_of_three, k, [a, b, c])]
        expected[f"by vector, k = {k}"] = [BruteForce(vector, k)]
    name = f"{len(batch)} words by IN, k = 10"
    statements.append((name, "SELECT neighbor, similarity FROM glove_nn WHERE word IN (%s) AND k = 10 ORDER BY "
                       "CAST(substr(word, 2) AS INTEGER), rank" % ", ".join("?" * len(batch)), [f"w{i}" for i in batch]))
    expected[name] = [BruteForce(vectors_of([i])[0], 10, [i]) for i in sorted(batch)]
    return statements, expected


def run_brute_force(rows, expected):
    queries = [query for group in expected.values() for query in group]
    for first in range(0, rows, BLOCK):
        columns = vectors_of(range(first, min(first + BLOCK, rows))).T.astype(float, order="C")
        norms = exact_dot(columns, columns)
        for query in queries:
            query.add(first, columns, norms)


def section(log2, seen):
    loaded = seen["loaded"]
    text = f"""## A model of 2^{log2} x {DIMS} synthetic rows

`bench/giant.py --log2 {log2}`, {seen["time"]}, commit {seen["commit"]}, {seen["cores"]} threads, load of the machine
{seen["load_before"]:.1f} before and {seen["load_after"]:.1f} after, {seen["memory_gb"]:.0f} GB of memory. The file has
{seen["file_bytes"] / 1e9:.1f} GB ({seen["file_bytes"] / 2**log2:.1f} bytes per row). Every row of every answer equals the brute force over the computed vectors,
bit for bit.

| | first, ms | warm, ms | candidates | RssAnon, MB | RssFile, MB |
|---|--:|--:|--:|--:|--:|
| `glove_load` | {seen["load_ms"]:.2f} | | | {loaded["RssAnon"] / 1e6:.0f} | {loaded["RssFile"] / 1e6:.0f} |
"""
    for name, answer in seen["answers"].items():
        memory = answer["memory"]
        text += (f"| {name} | {answer['first_ms']:,.0f} | {answer['warm_ms']:,.0f} | {answer['candidates']:,} | "
                 f"{memory['RssAnon'] / 1e6:,.0f} | {memory['RssFile'] / 1e6:,.0f} |\n")
    return text


def measure(extension, model, log2):
    statements, expected = questions(1 << log2)
    seen = {"time": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "commit": commit(), "cores": os.cpu_count(),
            "memory_gb": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9,
            "load_before": os.getloadavg()[0], "file_bytes": os.path.getsize(model)}
    answered = subprocess.run([sys.executable, "-c", SESSION, extension, model], input=json.dumps(statements),
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "GLOVE_NN_DISABLE": "cache"})  # a repeated query is a search again
    if answered.returncode != 0:
        raise SystemExit(answered.stderr)
    seen.update(json.loads(answered.stdout))
    seen["load_after"] = os.getloadavg()[0]
    print(json.dumps({**seen, "answers": {n: {**a, "rows": len(a["rows"])} for n, a in seen["answers"].items()}}, indent=1))
    start = time.perf_counter()
    run_brute_force(1 << log2, expected)
    seen["brute_force_s"] = time.perf_counter() - start
    for name, queries in expected.items():
        rows = seen["answers"][name].pop("rows")
        if rows != [row for query in queries for row in query.rows()]:
            raise SystemExit(f"{name}: the rows differ from the brute force's")
        print(f"{name}: {len(rows)} rows, all equal")
    return seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log2", type=int, default=24)
    parser.add_argument("--folder", default="build/giant")
    parser.add_argument("--no-write", action="store_true")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    build = os.environ.get("BUILD", "build/release" if os.path.exists("build/release/glove.so") else "build/cpu")
    os.makedirs(options.folder, exist_ok=True)
    model = os.path.join(options.folder, f"giant-{options.log2}.safetensors")
    start = time.perf_counter()
    if not os.path.exists(model):
        subprocess.run([build + "/bench/giant_model", str(1 << options.log2), str(DIMS), model], check=True)
    write_s = time.perf_counter() - start
    try:
        seen = measure(os.path.abspath(build) + "/glove", model, options.log2)
    finally:
        if not options.keep:
            os.remove(model)
    seen["write_s"] = write_s
    if not options.no_write:
        write_results(f"giant{options.log2}", seen, section(options.log2, seen))


if __name__ == "__main__":
    main()
