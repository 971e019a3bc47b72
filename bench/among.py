#!/usr/bin/env python3
"""Times queries with `among` over an index, beside what else could answer them, in interleaved rounds.

    among.py EXTENSION [--rows N] [--dims D] [--rounds R] [--processor] [--vec0 PATH]

The rows are unit vectors around random centres. For each share of admissible rows, chosen at random: a query with the set bound as
a BLOB that eight queries before it had, and as one that is new, with a JSON array, and with the SELECT that makes the set; and its
yardsticks: the query over all rows, and over an index of the admissible rows alone, which reads their codes in order. Prints medians
in milliseconds as a Markdown table, with --processor of processor time (for GLOVE_THREADS=1). With --vec0 (the library of
sqlite-vec), also vec0 with `rowid IN (...)`. All answers of a line are compared.
"""
import argparse
import json
import sqlite3
import statistics
import time

import numpy

SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5)
K = 10


def vectors(rows, dims, random):
    centres = random.standard_normal((max(1, rows // 200), dims))
    found = centres[random.integers(0, len(centres), rows)] + 0.7 * random.standard_normal((rows, dims))
    return (found / numpy.linalg.norm(found, axis=1)[:, None]).astype("<f4")


def table(connection, name, ids, data):
    connection.execute("CREATE TABLE %s(id INTEGER PRIMARY KEY, embedding BLOB)" % name)
    connection.execute("CREATE VIRTUAL TABLE %s_vec USING glove_index(content='%s', rowid='id', vector='embedding')" % (name, name))
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO %s VALUES (?, ?)" % name, ((int(i), data[i].tobytes()) for i in ids))
    connection.execute("INSERT INTO %s_vec(%s_vec) VALUES ('merge')" % (name, name))
    connection.execute("COMMIT")


clock = time.perf_counter


def run(connection, sql, values):
    start = clock()
    rows = connection.execute(sql, values).fetchall()
    return (clock() - start) * 1000, [row[0] for row in rows]


def measure(connection, share, number, data, options, random):
    count = int(len(data) * share)
    ids = numpy.sort(random.permutation(len(data))[:count])
    table(connection, "part%d" % number, ids, data)
    connection.execute("CREATE TABLE picked%d(id INTEGER PRIMARY KEY)" % number)
    connection.executemany("INSERT INTO picked%d VALUES (?)" % number, ((int(i),) for i in ids))
    same, text = ids.astype("<i8").tobytes(), json.dumps(ids.tolist())
    among = "SELECT id FROM doc_vec WHERE query = ? AND k = %d AND among = " % K
    times = {name: [] for name in ("same BLOB", "new BLOB", "JSON", "SELECT", "all rows", "admissible alone", "vec0")}
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
        for i in range(8):  # so that the set is the last one
            run(connection, among + "?", (data[i].tobytes(), same))
        answers = {}
        for name, (sql, values) in work.items():
            taken, answers[name] = run(connection, sql, values)
            times[name].append(taken)
        for name in ("new BLOB", "JSON", "SELECT", "admissible alone"):
            assert answers[name] == answers["same BLOB"], name
    median = {name: statistics.median(taken) for name, taken in times.items() if taken}
    best = min(median["all rows"], median["admissible alone"])
    print("| %g %% | %s | %.2f | %s |" % (share * 100, " | ".join("%.3f" % median[name] for name in list(times)[:6]), median["same BLOB"] / best,
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
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.enable_load_extension(True)
    connection.load_extension(options.extension)
    table(connection, "doc", range(len(data)), data)
    if options.vec0:
        connection.load_extension(options.vec0)
        connection.execute("CREATE VIRTUAL TABLE peer USING vec0(embedding float[%d] distance_metric=cosine)" % options.dims)
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO peer(rowid, embedding) VALUES (?, ?)", ((i, row.tobytes()) for i, row in enumerate(data)))
        connection.execute("COMMIT")
    print("| admissible | same BLOB | new BLOB | JSON | SELECT | all rows | admissible rows alone | ratio | vec0 |\n|---|---|---|---|---|---|---|---|---|")
    for number, share in enumerate(SHARES):
        measure(connection, share, number, data, options, random)


if __name__ == "__main__":
    main()
