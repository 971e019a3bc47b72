#!/usr/bin/env python3
"""Compares two builds of the project on this machine, in interleaved rounds, and prints the ratio of their times.

  bench/compare.py OLD NEW MODEL SMALL [--backend cpu|cuda] [--rounds N] [--text TEXT] [--json FILE]
  bench/compare.py OLD NEW --index ROWSxDIMS [--rounds N] [--threads N] [--json FILE]

OLD and NEW are directories that hold glove.so and, for the first form, sql_bench and glove-convert of one build each (`cmake --preset
release -DGLOVE_BENCH=ON` makes them). MODEL is the model file to time, SMALL a small one to warm up with. TEXT, a GloVe text file,
adds the time of a conversion and of loading the text; without it only queries are timed. --index times queries and writes of indexes
in each of their states, over random rows whose spectrum falls like 1 / sqrt(i); a state that a build does not know is left out.
Machines are shared and noisy, so only the ratio of the best rounds (of an index: of the medians) means much.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import harness

FIGURES = [
    ("first_answer_ms_median", "load and first answer, ms"),
    ("k1_us_median", "k = 1, us"),
    ("k10_us_median", "k = 10, us"),
    ("k100_us_median", "k = 100, us"),
    ("k1000_us_median", "k = 1000, us"),
    ("k1000_nomutex_us_median", "k = 1000, SQLITE_OPEN_NOMUTEX, us"),
    ("k1000_kept_us_median", "k = 1000, a kept answer, us"),
    ("batch_us_median", "1,024 queries, us"),
    ("batch_stages_us", "1,024 queries: scan, select, rescore, us"),
]


def queries(build, options):
    """Returns the figures of one run of sql_bench."""
    command = [os.path.join(build, "sql_bench"), os.path.join(build, "glove.so"), options.model, options.small, options.backend]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def seconds(command):
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def conversions(build, options, folder):
    """Returns the seconds of a conversion, and of verifying its result."""
    output = os.path.join(folder, "converted.safetensors")
    convert = os.path.join(build, "glove-convert")
    return {"convert_s": seconds([convert, "-q", options.text, output]), "verify_s": seconds([convert, "--verify", output])}


class Index:
    """Indexes of one build, in a process of its own: each call of a way takes its next query, or writes its next rows. With `memory`,
    only the one that has so many bytes of memory."""

    def __init__(self, extension, folder, rows, dims, threads, memory):
        import numpy
        self.random = numpy.random.default_rng(7)
        self.extension, self.folder, self.rows, self.dims = extension, folder, rows, dims
        self.settings = {name: str(value) for name, value in (("threads", threads), ("index_memory", memory)) if value}
        self.scales = (numpy.arange(1, dims + 1) ** -0.5).astype("f4")
        self.ways = {}
        base = os.path.join(folder, "base.db")
        db = harness.connect(base, extension)
        db.execute("PRAGMA synchronous = OFF")
        db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, embedding BLOB)")
        self.insert(db, rows)
        db.close()
        if memory:
            self.add("a tenth of the codes in memory, k = 10", self.state(base, "memory", ""), 10)
            return
        current = self.state(base, "current", "")
        self.add("current, k = 10", current, 10)
        self.add("current, k = 100", current, 100)
        self.add("current, all rows", current, rows)
        self.add_batch("current, 64 queries, k = 10", current)
        for share in (1, 10, 50):
            keys = current.execute("SELECT glove_keys(id) FROM doc WHERE id % 100 < ?", (share,)).fetchone()[0]
            self.add(f"among {share} % of the rows, k = 10", current, 10, ", NULL, NULL, ?", keys)
        self.add("a filter in a join, k = 10", current, 10, sql="SELECT v.id FROM doc_vec v JOIN doc d ON d.id = v.id WHERE v.query = ? AND d.id % 10 = 3 "
                 "ORDER BY v.rank LIMIT 10")
        for logged in (200, rows // 5):
            self.add(f"{logged:,} rows logged, k = 10", self.state(base, f"logged{logged}", "", logged), 10)
        self.add("half of the rows deleted, k = 10", self.state(base, "deleted", "", delete=True), 10)
        if rows >= 20000:
            lists = self.state(base, "lists", ", lists=auto")
            self.add("lists, k = 10", lists, 10)
            for recall in (0.9, 0.99):
                self.add(f"lists, recall = {recall}, k = 10", lists, 10, f", NULL, {recall}")
            self.add("lists and a log, recall = 0.9, k = 10", self.state(base, "lists_log", ", lists=auto", 200), 10, ", NULL, 0.9")
        writes = self.state(base, "writes", "")
        self.ways["INSERT of 100 rows"] = lambda: self.insert(writes, 100)
        self.ways["sync of 100 rows"] = lambda: (self.insert(writes, 100), self.timed_command(writes, "sync"))[1]

    def row(self):
        return (self.random.standard_normal(self.dims, dtype="f4") * self.scales).tobytes()

    def insert(self, db, count):
        rows = [(self.row(),) for _ in range(count)]
        return harness.timed(lambda: (db.execute("BEGIN"), db.executemany("INSERT INTO doc(embedding) VALUES (?)", rows), db.execute("COMMIT")))[0]

    def timed_command(self, db, command):
        return harness.timed(lambda: db.execute("INSERT INTO doc_vec(doc_vec) VALUES (?)", (command,)))[0]

    def state(self, base, name, options, logged=0, delete=False):
        path = os.path.join(self.folder, name + ".db")
        with open(base, "rb") as source, open(path, "wb") as copy:
            copy.write(source.read())
        db = harness.connect(path, self.extension, **self.settings)
        db.execute("PRAGMA synchronous = OFF")
        db.execute(f"CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='embedding'{options})")
        if options:
            db.execute("INSERT INTO doc_vec(doc_vec) VALUES ('merge')")
        if logged:
            db.execute("UPDATE doc SET embedding = (SELECT embedding FROM doc e WHERE e.id = doc.id + 1) WHERE id <= ?", (logged,))
        if delete:
            db.execute("DELETE FROM doc WHERE id % 2 = 0")
            self.timed_command(db, "sync")
        return db

    def add(self, name, db, k, arguments="", *values, sql=None):
        statement = sql or f"SELECT id, rank FROM doc_vec(?, {k}{arguments})"
        self.ways[name] = lambda: self.query(db, statement, values)

    def query(self, db, statement, values):
        query = self.row()
        return harness.timed(lambda: db.execute(statement, (query, *values)).fetchall())[0]

    def add_batch(self, name, db):
        statement = ("SELECT v.id FROM doc_vec v WHERE v.query IN (SELECT embedding FROM doc WHERE id BETWEEN ? AND ?) "
                     "AND v.k = 10")
        self.ways[name] = lambda: (lambda first: harness.timed(lambda: db.execute(statement, (first, first + 63)).fetchall())[0])(
            int(self.random.integers(1, self.rows - 64)))


def serve(extension, folder, *numbers):
    """Prints the names of all ways, and then answers each line, the name of one, with the milliseconds that it took."""
    index = Index(extension, folder, *map(int, numbers))
    print(json.dumps(list(index.ways)), flush=True)
    for line in sys.stdin:
        print(index.ways[line.rstrip("\n")](), flush=True)


def time_indexes(options, rows, dims, memory, times):
    with tempfile.TemporaryDirectory(prefix="glove-compare-") as folder:
        processes, names = {}, {}
        for side in times:
            home = os.path.join(folder, side)
            os.mkdir(home)
            command = [sys.executable, os.path.abspath(__file__), "--serve", os.path.join(getattr(options, side), "glove.so"), home,
                       *map(str, (rows, dims, options.threads, memory))]
            processes[side] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            names[side] = json.loads(processes[side].stdout.readline())
        for name in (name for name in names["new"] if name in names["old"]):
            for number in range(options.rounds + 1):
                for side in ("old", "new") if number % 2 == 0 else ("new", "old"):
                    print(name, file=processes[side].stdin, flush=True)
                    taken = float(processes[side].stdout.readline())
                    if number > 0:  # the first call reads the index
                        times[side].setdefault(name, []).append(taken)
        for process in processes.values():
            process.stdin.close()
            process.wait()


def compare_indexes(options):
    rows, dims = map(int, options.index.split("x"))
    times = {"old": {}, "new": {}}
    for memory in (0, rows * (dims + 16) // 10):
        time_indexes(options, rows, dims, memory, times)
    print(f"{rows:,} x {dims}, medians of {options.rounds} interleaved rounds")
    print(f"{'':44} {'old, ms':>12} {'new, ms':>12} {'new/old':>8}")
    for name, old in times["old"].items():
        old, new = statistics.median(old), statistics.median(times["new"][name])
        print(f"{name:44} {old:12.4g} {new:12.4g} {new / old:8.3f}")
    return times


def compare_models(options):
    rounds = {"old": [], "new": []}
    with tempfile.TemporaryDirectory(prefix="glove-compare-") as folder:
        for number in range(options.rounds):
            # The builds take turns in going first, so that neither always finds caches that the other one left.
            for side in ("old", "new") if number % 2 == 0 else ("new", "old"):
                build = getattr(options, side)
                figures = queries(build, options)
                if options.text:
                    figures |= conversions(build, options, folder)
                rounds[side].append(figures)

    figures = FIGURES + ([("convert_s", "glove-convert, s"), ("verify_s", "glove-convert --verify, s")] if options.text else [])
    print(f"{options.backend}, {rounds['new'][0]['words']:,} words, best of {options.rounds} interleaved rounds")
    print(f"{'':44} {'old':>12} {'new':>12} {'new/old':>8}")
    for key, label in figures:
        old, new = (min(figure[key] for figure in rounds[side]) for side in ("old", "new"))
        print(f"{label:44} {old:12.4g} {new:12.4g} {new / old:8.3f}")
    return rounds


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("old", "new"):
        parser.add_argument(name)
    for name in ("model", "small"):
        parser.add_argument(name, nargs="?")
    parser.add_argument("--index", metavar="ROWSxDIMS")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--text")
    parser.add_argument("--json")
    options = parser.parse_args()
    if not options.index and not options.small:
        parser.error("give MODEL and SMALL, or --index")
    options.rounds = options.rounds or (40 if options.index else 5)
    results = compare_indexes(options) if options.index else compare_models(options)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
