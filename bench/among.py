#!/usr/bin/env python3
"""Times queries with `among` over an index, beside what else could answer them, in interleaved rounds.

    among.py EXTENSION [--rows N] [--dims D] [--rounds R] [--processor] [--vec0 PATH]

The rows are unit vectors around random centres. For each share of admissible rows, chosen at random: a query with the set bound as
a BLOB that 16 queries before it had, and as one that is new, with a JSON array, and with the SELECT that makes the set; and its
yardsticks: the query over all rows, and over an index of the admissible rows alone, which reads their codes in order. The times are
from the first sqlite3_step to the last row: values are bound before, in place (SQLITE_STATIC), by SQLite's C interface. "set" is what
the former BLOB costs without a search: a query for k = 0 with it, less one without. Prints medians in milliseconds as a Markdown
table, with --processor of processor time (for GLOVE_THREADS=1). With --vec0 (the library of sqlite-vec), also vec0 with
`rowid IN (...)`. All answers of a line are compared.
"""
import argparse
import ctypes
import json
import os
import tempfile
import time

import numpy

import harness

SHARES = (0.001, 0.01, 0.1, 0.3, 0.5, 1)
K = 10
SQLITE_ROW, SQLITE_DONE = 100, 101


def vectors(rows, dims, random):
    centres = random.standard_normal((max(1, rows // 200), dims))
    return harness.unit(centres[random.integers(0, len(centres), rows)] + 0.7 * random.standard_normal((rows, dims))).astype("<f4")


def table(connection, name, ids, data):
    connection.execute("CREATE TABLE %s(id INTEGER PRIMARY KEY, embedding BLOB)" % name)
    connection.execute("CREATE VIRTUAL TABLE %s_vec USING glove_index(content='%s', rowid='id', vector='embedding')" % (name, name))
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO %s VALUES (?, ?)" % name, ((int(i), data[i].tobytes()) for i in ids))
    connection.execute("INSERT INTO %s_vec(%s_vec) VALUES ('merge')" % (name, name))
    connection.execute("COMMIT")


clock = time.perf_counter


class Connection:
    """One of the library that the module sqlite3 uses."""

    def __init__(self, path, extensions):
        self.lib = ctypes.CDLL("libsqlite3.so.0")
        self.handle, self.statements = ctypes.c_void_p(), {}
        self.lib.sqlite3_column_int64.restype = ctypes.c_int64
        assert self.lib.sqlite3_open(path.encode(), ctypes.byref(self.handle)) == 0
        self.lib.sqlite3_enable_load_extension(self.handle, 1)
        for extension in extensions:
            assert self.lib.sqlite3_load_extension(self.handle, extension.encode(), None, None) == 0

    def statement(self, sql):
        if sql not in self.statements:
            made = ctypes.c_void_p()
            assert self.lib.sqlite3_prepare_v2(self.handle, sql.encode(), -1, ctypes.byref(made), None) == 0, sql
            self.statements[sql] = made
        return self.statements[sql]

    def run(self, sql, values):
        """Returns milliseconds and the first column."""
        statement, rows = self.statement(sql), []
        for i, value in enumerate(values):
            bind = self.lib.sqlite3_bind_blob if isinstance(value, bytes) else self.lib.sqlite3_bind_text
            data = value if isinstance(value, bytes) else value.encode()
            values = (*values[:i], data, *values[i + 1:])  # keeps what is bound
            assert bind(statement, i + 1, data, len(data), None) == 0
        start = clock()
        while (code := self.lib.sqlite3_step(statement)) == SQLITE_ROW:
            rows.append(self.lib.sqlite3_column_int64(statement, 0))
        taken = (clock() - start) * 1000
        assert code == SQLITE_DONE, code
        self.lib.sqlite3_reset(statement)
        return taken, rows


def measure(connection, asked, share, number, data, options, random):
    count = int(len(data) * share)
    ids = numpy.sort(random.permutation(len(data))[:count])
    table(connection, "part%d" % number, ids, data)
    connection.execute("CREATE TABLE picked%d(id INTEGER PRIMARY KEY)" % number)
    connection.executemany("INSERT INTO picked%d VALUES (?)" % number, ((int(i),) for i in ids))
    same, text = ids.astype("<i8").tobytes(), json.dumps(ids.tolist())
    among = "SELECT id FROM doc_vec WHERE query = ? AND k = %d AND among = " % K
    none = "SELECT id FROM doc_vec WHERE query = ? AND k = 0"
    times = {name: [] for name in ("set", "same BLOB", "new BLOB", "JSON", "SELECT", "all rows", "admissible alone", "vec0")}
    for _ in range(options.rounds):
        query = vectors(1, data.shape[1], random)[0] + data[random.integers(len(data))]
        given = query.tobytes()
        other = numpy.insert(ids, 0, -1 - int(random.integers(1 << 40))).astype("<i8").tobytes()
        work = {"same BLOB": (among + "?", (given, same)), "new BLOB": (among + "?", (given, other)), "JSON": (among + "?", (given, text)),
                "SELECT": (among + "(SELECT glove_keys(id) FROM picked%d)" % number, (given,)),
                "all rows": ("SELECT id FROM doc_vec WHERE query = ? AND k = %d" % K, (given,)),
                "admissible alone": ("SELECT id FROM part%d_vec WHERE query = ? AND k = %d" % (number, K), (given,))}
        if options.vec0:
            work["vec0"] = ("SELECT rowid FROM peer WHERE embedding MATCH ? AND k = %d AND rowid IN (SELECT id FROM picked%d)" % (K, number), (given,))
        for i in range(16):  # so that the set is the last one, and what searches keep of it is there
            asked.run(among + "?", (data[i].tobytes(), same))
        times["set"].append(asked.run(none + " AND among = ?", (given, same))[0] - asked.run(none, (given,))[0])
        answers = {}
        for name, (sql, values) in work.items():
            taken, answers[name] = asked.run(sql, values)
            times[name].append(taken)
        for name in ("new BLOB", "JSON", "SELECT", "admissible alone"):
            assert answers[name] == answers["same BLOB"], name
    median = harness.medians(times)
    best = min(median["all rows"], median["admissible alone"])
    print("| %g %% | %s | %.2f | %s |" % (share * 100, " | ".join("%.3f" % median[name] for name in list(times)[:7]), median["same BLOB"] / best,
                                      "%.3f" % median["vec0"] if "vec0" in median else "-"), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("extension")
    parser.add_argument("--rows", type=int, default=341479)
    parser.add_argument("--dims", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--vec0")
    options = parser.parse_args()
    if options.processor:
        global clock
        clock = time.process_time
    random = numpy.random.default_rng(7)
    data = vectors(options.rows, options.dims, random)
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "among.db")
    connection = harness.connect(path, options.extension)
    connection.execute("PRAGMA synchronous = OFF")
    table(connection, "doc", range(len(data)), data)
    if options.vec0:
        connection.load_extension(options.vec0)
        connection.execute("CREATE VIRTUAL TABLE peer USING vec0(embedding float[%d] distance_metric=cosine)" % options.dims)
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO peer(rowid, embedding) VALUES (?, ?)", ((i, row.tobytes()) for i, row in enumerate(data)))
        connection.execute("COMMIT")
    asked = Connection(path, [options.extension] + ([options.vec0] if options.vec0 else []))
    print("| admissible | set | same BLOB | new BLOB | JSON | SELECT | all rows | admissible rows alone | ratio | vec0 |\n" + "|---" * 10 + "|")
    for number, share in enumerate(SHARES):
        measure(connection, asked, share, number, data, options, random)


if __name__ == "__main__":
    main()
