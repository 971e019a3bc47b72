#!/usr/bin/env python3
"""sqlite_glove.dask beside one process: cluster.py MODEL [--queries N] [--shards N] [--workers N] [--convert GLOVE-CONVERT]

MODEL is a model file. The script shards it, starts a cluster on this machine, and asks it N queries: words, expressions and words
in batches of ten. It compares every row with the unsharded model in this process, bit for bit, and asks the same queries again while
a worker is killed. The exit status is 1 if a row differs. Then it prints what a query costs in both ways.

Requires the Python package (README.md, Install), dask and distributed.
"""
import argparse
import logging
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--shards", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--convert", default="glove-convert")
    return parser.parse_args()


def local_cluster(workers):
    """Returns a cluster of processes on this machine, each with one thread for tasks."""
    import distributed
    return distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL)


def make_queries(conn, count, source):
    """[(kind, query, k)]: four words and four expressions for every batch of ten words and for every odd query."""
    known = [word for word, in conn.execute("SELECT word FROM glove_words WHERE model = 'whole'")]

    def word():
        chosen = source.choice(known)
        return source.choice([chosen, chosen, chosen, chosen.upper(), chosen.capitalize(), chosen + "-unknown"])

    def quoted():
        return '"' + word().replace('"', '""') + '"'

    queries = []
    while sum(len(query) if kind == "batch" else 1 for kind, query, _ in queries) < count:
        k = source.choice([1, 3, 10, 10, 10, 40])
        queries += [("word", word(), k) for _ in range(4)]
        queries += [("expr", f"{quoted()} - {quoted()} + {source.choice([2, 0.5, 1])} * {quoted()}", k) for _ in range(3)]
        queries.append(("expr", f"{quoted()} {quoted()} - {quoted()} +", 5))
        queries.append(("word", source.choice(["", " ", "no such word", "\u00e9t\u00e9", "King"]), k))
        queries.append(("batch", [word() for _ in range(10)], k))
    return queries


def rows_of_one_process(conn, query):
    kind, what, k = query
    sql = "SELECT ?1, neighbor, similarity, rank FROM glove_nn WHERE {} = ?1 AND k = ?2 AND model = 'whole' ORDER BY rank"
    if kind == "batch":
        import sqlite_glove
        return [tuple(row) for row in sqlite_glove.neighbors(conn, what, k, model="whole")]
    return conn.execute(sql.format(kind), (what, k)).fetchall()


def rows_of_cluster(model, query):
    kind, what, k = query
    return [tuple(row) for row in (model.expr if kind == "expr" else model.nearest)(what, k)]


def differences(model, queries, wanted):
    """Asks the cluster. Returns how many rows differ from `wanted`, and the seconds that each query took."""
    different, seconds = 0, []
    for query, rows in zip(queries, wanted):
        start = time.perf_counter()
        got = rows_of_cluster(model, query)
        seconds.append(time.perf_counter() - start)
        different += sum(a != b for a, b in zip(got, rows)) + abs(len(got) - len(rows))
    return different, seconds


def kill_a_worker(client, after):
    """Kills one of the worker processes, as a lost machine would end, `after` seconds from now. Returns the thread that does."""
    victim = sorted(client.run(os.getpid).values())[0]
    thread = threading.Timer(after, os.kill, (victim, signal.SIGKILL))
    thread.start()
    return thread


def report(label, different, seconds):
    ordered = sorted(seconds)
    print(f"{label}: {different} rows different; a query took {1e3 * ordered[len(ordered) // 2]:.1f} ms in the median, "
          f"{1e3 * ordered[int(len(ordered) * 0.99)]:.1f} at the 99th percentile, {1e3 * ordered[-1]:.1f} at most", flush=True)


def median_ms(action, rounds):
    seconds = []
    for i in range(rounds):
        start = time.perf_counter()
        action(i)
        seconds.append(time.perf_counter() - start)
    return 1e3 * sorted(seconds)[rounds // 2]


def print_costs(conn, model, source):
    """The table of bench/RESULTS.md, "A Dask cluster". Every query is a new one, because answers are cached."""
    known = [word for word, in conn.execute("SELECT word FROM glove_words WHERE model = 'whole'")]

    def distinct(count):
        return source.sample(known, count)
    words, others = distinct(100), distinct(100)
    texts = ['"%s" - "%s" + "%s"' % tuple(word.replace('"', '""') for word in distinct(3)) for _ in range(200)]
    batches = [distinct(min(1024, len(known))) for _ in range(10)]
    rows = [
        ("one word, k = 10", lambda i: rows_of_one_process(conn, ("word", words[i], 10)),
         lambda i: model.nearest(others[i], 10), 100),
        ("one expression of three words, k = 10", lambda i: rows_of_one_process(conn, ("expr", texts[i], 10)),
         lambda i: model.expr(texts[100 + i], 10), 100),
        (f"{len(batches[0]):,} words in one call, k = 10", lambda i: rows_of_one_process(conn, ("batch", batches[i], 10)),
         lambda i: model.nearest(batches[5 + i], 10), 5)]
    print("\n| | one process, ms | cluster, ms |\n|---|--:|--:|")
    for label, alone, together, rounds in rows:
        print(f"| {label} | {median_ms(alone, rounds):.2f} | {median_ms(together, rounds):.2f} |", flush=True)


def main():
    options = parse_arguments()
    import distributed
    import sqlite_glove.dask
    seed = int(os.environ.get("GLOVE_TEST_SEED") or random.SystemRandom().randrange(2**32))
    print(f"repeat with GLOVE_TEST_SEED={seed}; load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    source = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder, local_cluster(options.workers) as cluster, distributed.Client(cluster) as client:
        index = os.path.join(folder, "model.safetensors.index.json")
        subprocess.run([options.convert, "-q", options.model, os.path.join(folder, "model"), "--shards", str(options.shards)], check=True)
        conn = sqlite3.connect(":memory:")
        sqlite_glove.load(conn)
        conn.execute("SELECT glove_load(?, 'whole')", (options.model,))
        queries = make_queries(conn, options.queries, source)
        wanted = [rows_of_one_process(conn, query) for query in queries]
        model = sqlite_glove.dask.open(client, index)
        different, seconds = differences(model, queries, wanted)
        report(f"{options.queries} queries, {options.shards} shards, {options.workers} workers", different, seconds)
        killer = kill_a_worker(client, sum(seconds) / 3)
        different_after_kill, seconds = differences(model, queries, wanted)
        killer.join()
        report("the same with a worker killed meanwhile", different_after_kill, seconds)
        client.wait_for_workers(options.workers)
        print_costs(conn, model, source)
    return 1 if different + different_after_kill else 0


if __name__ == "__main__":
    sys.exit(main())
