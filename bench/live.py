#!/usr/bin/env python3
"""Times an index over a table (glove_index) beside glove_nn on the same vectors and sqlite-vec's vec0, in one run.

    live.py EXTENSION MODEL.safetensors|random:ROWSxDIMS [--peers build/peers] [--queries N] [--rows N] [--folder DIR]

The vectors of the model, or random ones, become the rows of a table in a database file; bench/peers.sh installs sqlite-vec
from npm. Prints a Markdown table: each figure with its yardstick and their ratio. Queries run in turn, k = 10, and medians
are compared, each query once, because answers are kept; the answers of the index are compared with those of glove_nn and vec0. Without --peers the lines about
sqlite-vec are left out.

The index scans codes of 8 bits, because it reads the vectors of candidates from the table, and codes of 4 bits leave many more. So glove_nn is timed twice: on
a model file without codes of 4 bits, which the target refers to, and as it is by default. Quotients of CPU time, all threads together, stand beside those of the
time that passes, since other work disturbs them less.
"""
import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import harness

K = 10
WARM_UP = 5  # queries
LOGGED = 1000
INSERTED = 10000


def line(what, ours, theirs, unit, target):
    ratio = ours / theirs if theirs else float("nan")
    print("| %s | %.4g %s | %.4g %s | %.3g | %s |" % (what, ours, unit, theirs, unit, ratio, target), flush=True)


def size_of(connection):
    return connection.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()[0]


def in_transaction(connection, work):
    def run():
        connection.execute("BEGIN")
        work()
        connection.execute("COMMIT")
    return harness.timed(run)[0] / 1000


def command(connection, what):
    return harness.timed(lambda: connection.execute("INSERT INTO doc_vec(doc_vec) VALUES (?)", (what,)))[0] / 1000


class Live:
    """The table doc(id, embedding) with the index doc_vec."""

    def __init__(self, path, extension, index=True):
        self.connection = harness.connect(path, extension)
        self.connection.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, embedding BLOB)")
        if index:
            self.connection.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='embedding')")

    def insert(self, rows, first=0):
        self.connection.executemany("INSERT INTO doc VALUES (?, ?)", ((first + i, row) for i, row in enumerate(rows)))

    def query(self, blob):
        return self.connection.execute("SELECT id, similarity FROM doc_vec WHERE query = ? AND k = ?", (blob, K)).fetchall()


class Vec0:
    """sqlite-vec's table."""

    def __init__(self, path, peers, dims):
        self.connection = harness.connect(path, os.path.join(peers, "node_modules", "sqlite-vec-linux-x64", "vec0"))
        self.connection.execute("CREATE VIRTUAL TABLE v USING vec0(e float[%d] distance_metric=cosine)" % dims)

    def insert(self, rows):
        self.connection.executemany("INSERT INTO v(rowid, e) VALUES (?, ?)", enumerate(rows))

    def query(self, blob):
        return self.connection.execute("SELECT rowid, 1 - distance FROM v WHERE e MATCH ? AND k = ?", (blob, K)).fetchall()


def median_ms(ask, queries):
    """Asks in several ways, in turn. Returns the medians of their times and of their CPU times, and their answers to the queries."""
    times, cpu_times, answers = [[] for _ in ask], [[] for _ in ask], [[] for _ in ask]
    for number, query in enumerate(queries):
        for way, one in enumerate(ask):
            start, cpu_start = time.perf_counter(), time.process_time()
            answers[way].append(one(query))
            if number >= WARM_UP:
                times[way].append((time.perf_counter() - start) * 1000)
                cpu_times[way].append((time.process_time() - cpu_start) * 1000)
    return [statistics.median(t) for t in times], [statistics.median(t) for t in cpu_times], answers


def differing(a, b):
    return sum(x != y for x, y in zip(a, b))


def compare_queries(live, nn, vec0, queries, logged):
    """Prints the figures of queries. nn: how to ask glove_nn by 8 bits, and by default. logged: what is in the log, in words."""
    ask = [live.query, *nn] + ([vec0.query] if vec0 else [])
    times, cpu_times, answers = median_ms(ask, queries)
    what = "query, k = %d, %s" % (K, logged or "nothing logged")
    line(what + ", beside glove_nn by 8 bits", times[0], times[1], "ms", "<= 2" if logged else "<= 1.3")
    line("the same in CPU time", cpu_times[0], cpu_times[1], "ms", "")
    line(what + ", beside glove_nn by default", times[0], times[2], "ms", "")
    if vec0:
        line(what + ", beside vec0", times[0], times[3], "ms", "<= 0.04")
        close = sum([i for i, _ in a] != [i for i, _ in b] for a, b in zip(answers[0], answers[3]))
        print("answers with other ids than vec0 (float32 ties): %d of %d" % (close, len(queries)), file=sys.stderr)
    if not logged:
        for name, others in zip(("by 8 bits", "by default"), answers[1:3]):
            print("answers that differ from glove_nn %s: %d of %d" % (name, differing(answers[0], others), len(queries)), file=sys.stderr)


def glove_nn(connection, model_name):
    """Returns a way to ask."""
    return lambda blob: connection.execute("SELECT neighbor, similarity FROM glove_nn WHERE expr = ? AND model = ? AND k = ?",
                                           (blob, model_name, K)).fetchall()


def yardsticks(connection, folder):
    """Loads the rows of doc for glove_nn. Returns how to ask it by 8 bits, and by default."""
    path = os.path.join(folder, "rows.safetensors")
    connection.execute("SELECT glove_load_table('rows', 'SELECT id, embedding FROM doc ORDER BY id')")
    connection.execute("SELECT glove_save('rows', ?)", (path,))
    harness.hide_4_bit_codes(path)
    connection.execute("SELECT glove_load(?, 'rows8')", (path,))
    return glove_nn(connection, "rows8"), glove_nn(connection, "rows")


def insert_cost(folder, extension, rows):
    """Prints the cost of an INSERT with the index and without, alternately."""
    means = {True: [], False: []}
    for number in range(5):
        for index in (False, True):
            live = Live(os.path.join(folder, "insert%d%d.db" % (number, index)), extension, index)
            elapsed = in_transaction(live.connection, lambda live=live: live.insert(rows))
            means[index].append(elapsed / len(rows) * 1e6)
            live.connection.close()
    ours, plain = statistics.median(means[True]), statistics.median(means[False])
    line("INSERT, mean of %d in a transaction" % len(rows), ours, plain, "us", "%.1f us more, target 20" % (ours - plain))


# Prints the private memory that a query needs beyond that of an open connection, in bytes.
READER = """
import sys, harness
db = harness.connect(*sys.argv[1:])
blob = db.execute("SELECT embedding FROM doc LIMIT 1").fetchone()[0]
before, = harness.memory("RssAnon")
db.execute("SELECT id FROM doc_vec WHERE query = ? AND k = 10", [blob]).fetchall()
print(harness.memory("RssAnon")[0] - before)
"""


def reader_memory(path, extension, codes):
    done = subprocess.run([sys.executable, "-c", READER, path, extension], capture_output=True, text=True, check=True,
                          cwd=os.path.dirname(os.path.abspath(__file__)))
    line("memory of a reader, beside the codes", int(done.stdout) / 1e6, codes / 1e6, "MB", "the codes that it scans")


def vectors_of(source):
    """The vectors of a model file, or random ones."""
    if not source.startswith("random:"):
        return harness.vectors(source)
    import numpy
    rows, dims = map(int, source[len("random:"):].split("x"))
    return numpy.random.default_rng(16).standard_normal((rows, dims), dtype="float32")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("extension", type=os.path.abspath)
    parser.add_argument("vectors", help="a model file, or random:ROWSxDIMS")
    parser.add_argument("--peers")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--folder")
    options = parser.parse_args()
    vectors = vectors_of(options.vectors)[:options.rows]
    rows = [row.tobytes() for row in vectors]
    queries = random.Random(16).sample(rows, 3 * options.queries)
    float_bytes = vectors.nbytes
    print("%d rows x %d, %d cores, load %s" % (*vectors.shape, os.cpu_count(), os.getloadavg()[0]), file=sys.stderr)
    print("| | sqlite-glove | yardstick | ratio | target |\n|---|--:|--:|--:|---|")
    with tempfile.TemporaryDirectory(prefix="glove-live-", dir=options.folder) as folder:
        run(options, folder, rows, queries, float_bytes)


def load_all(options, folder, rows):
    """Loads everything three times, in turn, and compares the fastest. Returns the last tables."""
    fastest = {}

    def keep(what, elapsed):
        fastest[what] = min(elapsed, fastest.get(what, elapsed))
        return elapsed

    vec0 = None
    for number in range(3):
        live = Live(os.path.join(folder, "live%d.db" % number), options.extension)
        load = keep("load", in_transaction(live.connection, lambda: live.insert(rows)))
        keep("load and sync", load + keep("sync", command(live.connection, "sync")))
        plain = Live(os.path.join(folder, "plain%d.db" % number), options.extension, index=False)
        keep("the table alone", in_transaction(plain.connection, lambda: plain.insert(rows)))
        if options.peers:
            vec0 = Vec0(os.path.join(folder, "vec0%d.db" % number), options.peers, len(rows[0]) // 4)
            keep("vec0", in_transaction(vec0.connection, lambda: vec0.insert(rows)))
    print(", ".join("%s %.2f s" % item for item in fastest.items()), file=sys.stderr)
    if options.peers:
        line("load and sync, beside vec0's load", fastest["load and sync"], fastest["vec0"], "s", "<= 0.5")
    return live, plain, vec0


def run(options, folder, rows, queries, float_bytes):
    live, plain, vec0 = load_all(options, folder, rows)
    line("size of the index, beside the float32 vectors", (size_of(live.connection) - size_of(plain.connection)) / 1e6, float_bytes / 1e6,
         "MB", "<= 0.45")
    nn = yardsticks(plain.connection, folder)
    third = len(queries) // 3
    compare_queries(live, nn, vec0, queries[:third], "")
    in_transaction(live.connection, lambda: live.insert(rows[:LOGGED], len(rows)))
    compare_queries(live, nn, None, queries[third:2 * third], "%d inserted rows logged" % LOGGED)
    command(live.connection, "sync")
    step = len(rows) // LOGGED
    in_transaction(live.connection, lambda: live.connection.executemany(
        "UPDATE doc SET embedding = ? WHERE id = ?", ((rows[-i - 1], step * i) for i in range(LOGGED))))
    compare_queries(live, nn, None, queries[2 * third:], "%d changed rows logged, spread over the table" % LOGGED)
    reader_memory(os.path.join(folder, "live2.db"), options.extension, float_bytes / 4)
    insert_cost(folder, options.extension, rows[:INSERTED])
    shrink(live, options, folder, rows)
    print("peak memory of this process: %d MB" % (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024), file=sys.stderr)


def shrink(live, options, folder, rows):
    """Prints the size of the file after half of the rows were deleted, beside a fresh one."""
    live.connection.execute("DELETE FROM doc WHERE id % 2 = 1")
    elapsed = command(live.connection, "sync") + command(live.connection, "merge")
    live.connection.execute("VACUUM")
    fresh = Live(os.path.join(folder, "fresh.db"), options.extension)
    in_transaction(fresh.connection, lambda: fresh.connection.executemany(
        "INSERT INTO doc VALUES (?, ?)", live.connection.execute("SELECT id, embedding FROM doc ORDER BY id")))
    command(fresh.connection, "sync")
    fresh.connection.execute("VACUUM")
    line("file after deleting half, merging and VACUUM, beside a fresh one", size_of(live.connection) / 1e6, size_of(fresh.connection) / 1e6,
         "MB", "<= 1.1")
    print("sync and merge after the deletion: %.2f s" % elapsed, file=sys.stderr)


if __name__ == "__main__":
    main()
