"""Times glove_nn in SQL: a batch against one search per row, ranks in joins against materialised rankings, an
interrupt, and one search including the cost of SQL. With --index: ranks of a glove_index in joins, against the same
statement with the index as the outer table or, where it cannot be, against reading all ranks.

    sql_joins.py EXTENSION MODEL [WORDS]
    sql_joins.py EXTENSION --index ROWS DIMS

Prints one line per figure. The batch and the single searches run in turn, three times, and the medians are compared.
"""

import os
import random
import sqlite3
import statistics
import sys
import threading
import time

import numpy

import harness
from harness import timed


def connect(extension, without=""):
    """Returns a connection whose glove_nn has these pushdowns switched off."""
    os.environ["GLOVE_NN_DISABLE"] = without
    db = harness.connect(":memory:", extension)
    try:
        db.execute("SELECT * FROM glove_nn('the', NULL, 1)").fetchall()  # the variable is read at the first use
    except sqlite3.OperationalError:
        pass
    return db


def both(first, second):
    """Runs both in turns. Returns the medians of their milliseconds, and whether they return the same."""
    times, rows = harness.in_turns({"first": first, "second": second}, 3)
    return *harness.medians(times).values(), rows["first"] == rows["second"]


def batch_against_single(extension, model, count):
    batch, single = connect(extension), connect(extension, "batch,cache")
    batch.execute("SELECT glove_load(?, 'main')", [model])
    words = [row[0] for row in batch.execute("SELECT word FROM glove_words")]
    asked = [(word,) for word in random.Random(7).sample(words, count)]
    for db in (batch, single):
        db.execute("CREATE TEMP TABLE asked(tag TEXT)")
        db.executemany("INSERT INTO asked VALUES(?)", asked)
    sql = ("SELECT word, neighbor, similarity, rank FROM glove_nn WHERE word IN (SELECT tag FROM asked) AND k = 10 "
           "ORDER BY word, rank")
    together, apart, same = both(lambda: batch.execute(sql).fetchall(), lambda: single.execute(sql).fetchall())
    print(f"{len(words)} words, {count} queries, k = 10: as one batch {together:.0f} ms, one by one {apart:.0f} ms, "
          f"ratio {apart / together:.1f}, rows {'the same' if same else 'DIFFERENT'}")
    return batch


def against_materialised(db, what, joined, materialised):
    """Times a join that reads ranks row by row, and the same over materialised searches. The ratio should stay below 3."""
    ours, theirs, same = both(lambda: db.execute(joined).fetchall(), lambda: db.execute(materialised).fetchall())
    print(f"{what}: {ours:.0f} ms, materialised {theirs:.0f} ms, ratio {ours / theirs:.2f}, "
          f"rows {'the same' if same else 'DIFFERENT'}")


def ranks_in_joins(db):
    fused = ("SELECT n1.neighbor FROM {} n1 JOIN {} n2 ON n1.neighbor = n2.neighbor "
             "ORDER BY 1.0 / (60 + n1.rank) + 1.0 / (60 + n2.rank), 1")
    against_materialised(
        db, "two rankings fused by rank", fused.format("glove_nn('king')", "glove_nn('queen')"),
        "WITH a AS MATERIALIZED (SELECT * FROM glove_nn('king')), b AS MATERIALIZED (SELECT * FROM glove_nn('queen')) "
        + fused.format("a", "b"))
    db.execute("CREATE TEMP TABLE tagged AS SELECT word AS tag FROM glove_words WHERE id % 33 = 0 LIMIT 600")
    ranked = "SELECT a.tag, n.rank FROM tagged a LEFT JOIN {} n ON n.neighbor = a.tag"
    against_materialised(db, "the ranks of 600 rows", ranked.format("glove_nn('music')"),
                         "WITH m AS MATERIALIZED (SELECT * FROM glove_nn('music')) " + ranked.format("m"))


def interrupt(db):
    """Measures how long a statement continues after sqlite3_interrupt()."""
    delays = []
    for _ in range(5):
        stopped = []
        timer = threading.Timer(0.3, lambda: (stopped.append(time.perf_counter()), db.interrupt()))
        timer.start()
        try:
            db.execute("SELECT count(*) FROM glove_nn WHERE word IN (SELECT word FROM glove_words LIMIT 20000) AND k = 100"
                       ).fetchall()
            timer.cancel()
        except sqlite3.OperationalError:
            delays.append((time.perf_counter() - stopped[0]) * 1000)
        timer.join()
    print(f"interrupt of a batch: returns after {', '.join(f'{d:.1f}' for d in delays)} ms")


def one_search(db):
    words = [row[0] for row in db.execute("SELECT word FROM glove_words LIMIT 300")]
    times = [timed(lambda w=w: db.execute("SELECT neighbor, similarity FROM glove_nn(?, NULL, 10)", [w]).fetchall())[0]
             for w in words]
    inside = [row[0] / 1000 for row in db.execute("SELECT total_us FROM glove_stats LIMIT 200")]
    again = [timed(lambda w=w: db.execute("SELECT neighbor, similarity FROM glove_nn(?, NULL, 10)", [w]).fetchall())[0]
             for w in words]
    print(f"one search, k = 10: {statistics.median(times):.3f} ms from Python, of which {statistics.median(inside):.3f} ms "
          f"in the search; from the cache {statistics.median(again):.3f} ms")


FILTER = "SELECT d.id, v.rank FROM v {} doc d ON d.id = %s WHERE v.query = %s AND d.tenant = 5 ORDER BY v.rank LIMIT 10"
ALL_RANKS = "SELECT id, rank FROM v WHERE query = :q"
FORMS = (  # name, SQL with the place of JOIN or CROSS JOIN; or SQL, and how many times all ranks are read
    ("a filter with an index", FILTER % ("v.id", ":q")),
    ("the same by rowid", FILTER % ("v.rowid", ":q")),
    ("like this row", FILTER % ("v.id", "(SELECT a FROM doc WHERE id = 77)")),
    ("the rank only selected", "SELECT d.id, v.rank FROM v {} doc d ON d.id = v.id WHERE v.query = :q AND d.tenant = 5"),
    ("k beside a filter", "SELECT d.id FROM v {} doc d ON d.id = v.id WHERE v.query = :q AND v.k = 1000 AND d.tenant = 5 ORDER BY v.rank"),
    ("a range with an index", "SELECT d.id FROM v {} doc d ON d.id = v.id WHERE v.query = :q AND d.id < 300 ORDER BY v.rank LIMIT 10"),
    ("best rank of each group", "SELECT min(v.rank) FROM v {} doc d ON d.id = v.id WHERE v.query = :q AND d.tenant < 9 GROUP BY d.tenant"),
    ("FTS5", "SELECT f.rowid, v.rank FROM v {} fts f ON v.id = f.rowid WHERE f.body MATCH 'common7' AND v.query = :q ORDER BY v.rank LIMIT 10"),
    ("rank fusion with FTS5", "SELECT f.rowid, 1.0 / (60 + v.rank) + 1.0 / (60 + row_number() OVER (ORDER BY f.rank)) s FROM v {} fts f "
     "ON v.id = f.rowid WHERE f.body MATCH 'common7' AND v.query = :q ORDER BY s DESC LIMIT 10"),
    ("tags of a row", "SELECT v.id FROM v {} tag t ON v.id = t.doc WHERE t.name = 7 AND v.query = :q ORDER BY v.rank LIMIT 10"),
    ("two indexes, k of one", "SELECT x.id, x.rank + y.rank FROM v x JOIN w y ON y.id = x.id WHERE x.query = :q AND x.k = 100 AND y.query = :p", 2),
    ("two indexes", "SELECT x.id FROM v x JOIN w y ON y.id = x.id WHERE x.query = :q AND y.query = :p ORDER BY x.rank + y.rank LIMIT 10", 2),
    ("two rankings", "SELECT x.id FROM v x JOIN v y ON y.id = x.id WHERE x.query = :q AND y.query = :p ORDER BY x.rank + y.rank LIMIT 10", 2),
    ("two rankings, k = 1000", "SELECT x.id FROM v x JOIN v y ON y.id = x.id WHERE x.query = :q AND y.query = :p AND x.k = 1000 AND y.k = 1000", 2),
    ("the rank of one row", "SELECT rank FROM v WHERE query = :q AND id = 77", 1),
    ("LEFT JOIN", "SELECT d.id, v.rank FROM doc d LEFT JOIN v ON v.id = d.id AND v.query = :q WHERE d.tenant = 7", 1),
    ("LEFT JOIN of all rows", "SELECT d.id, v.rank FROM doc d LEFT JOIN v ON v.id = d.id AND v.query = :q", 1),
    ("LEFT JOIN with among", "SELECT d.id, v.rank FROM doc d LEFT JOIN v ON v.id = d.id AND v.query = :q AND v.among = (SELECT glove_keys(id) "
     "FROM doc WHERE tenant < 50) WHERE d.tenant = 7", 1),
    ("a scalar subquery", "SELECT d.id, (SELECT rank FROM v WHERE query = :q AND id = d.id) FROM doc d WHERE d.tenant = 5", 1),
)


def ranks_of_an_index(extension, rows, dims):
    db = connect(extension)
    source = numpy.random.default_rng(5)

    def vector():
        return source.standard_normal(dims, "f").tobytes()
    db.executescript("CREATE TABLE doc(id INTEGER PRIMARY KEY, tenant, body, a); CREATE TABLE other(id INTEGER PRIMARY KEY, b);"
                     "CREATE TABLE tag(doc INT, name INT); CREATE INDEX by_tenant ON doc(tenant); CREATE INDEX by_name ON tag(name)")
    db.execute("BEGIN")
    for i in range(rows):
        db.execute("INSERT INTO doc VALUES (?, ?, ?, ?)", (i, i % 100, f"word{i} common{i % 200}", vector()))
        db.execute("INSERT INTO other VALUES (?, ?)", (i, vector()))
        db.execute("INSERT INTO tag VALUES (?, ?)", (i, i % 200))
    db.execute("COMMIT")
    db.executescript("CREATE VIRTUAL TABLE v USING glove_index(content='doc', rowid='id', vector='a');"
                     "CREATE VIRTUAL TABLE w USING glove_index(content='other', rowid='id', vector='b');"
                     "CREATE VIRTUAL TABLE fts USING fts5(body, content=doc, content_rowid=id); INSERT INTO fts(fts) VALUES ('rebuild')")

    queries = [{"p": vector(), "q": vector()} for _ in range(5)]

    def median(sql):
        times = []
        for query in queries:
            db.execute("UPDATE tag SET name = name WHERE doc = 1")  # nothing is kept any more
            times.append(timed(lambda: db.execute(sql, {name: query[name] for name in "pq" if ":" + name in sql}).fetchall())[0])
        return statistics.median(times)
    median(ALL_RANKS)
    for state in ("", ", analyzed", ", in a transaction that has written"):
        if state:
            db.execute("ANALYZE" if "analyzed" in state else "BEGIN")
        all_ranks = median(ALL_RANKS)
        print(f"SQLite {sqlite3.sqlite_version}, {rows} x {dims}{state}: all ranks of a query in {all_ranks:.1f} ms")
        for name, sql, *times in FORMS:
            ours = median(sql.format("JOIN"))
            theirs = all_ranks * times[0] if times else median(sql.format("CROSS JOIN"))
            print(f"  {name}: {ours:.1f} ms, {'all ranks' if times else 'the index outside'} {theirs:.1f} ms, ratio {ours / theirs:.2f}")


def main():
    if sys.argv[2] == "--index":
        return ranks_of_an_index(sys.argv[1], int(sys.argv[3]), int(sys.argv[4]))
    extension, model = sys.argv[1], sys.argv[2]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    db = batch_against_single(extension, model, count)
    ranks_in_joins(db)
    interrupt(db)
    one_search(db)


if __name__ == "__main__":
    main()
