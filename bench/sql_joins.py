"""Times glove_nn in SQL: a batch against one search per row, ranks in joins against materialised rankings, an
interrupt, and one search including the cost of SQL.

    sql_joins.py EXTENSION MODEL [WORDS]

Prints one line per figure. The batch and the single searches run in turn, three times, and the medians are compared.
"""

import os
import random
import sqlite3
import statistics
import sys
import threading
import time


def connect(extension, without=""):
    """Returns a connection whose glove_nn has these pushdowns switched off."""
    os.environ["GLOVE_NN_DISABLE"] = without
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    db.enable_load_extension(True)
    db.load_extension(extension)
    try:
        db.execute("SELECT * FROM glove_nn('the', NULL, 1)").fetchall()  # the variable is read at the first use
    except sqlite3.OperationalError:
        pass
    return db


def timed(work):
    start = time.perf_counter()
    result = work()
    return (time.perf_counter() - start) * 1000, result


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
    rounds = [(timed(lambda: batch.execute(sql).fetchall()), timed(lambda: single.execute(sql).fetchall()))
              for _ in range(3)]
    together = statistics.median(a[0] for a, _ in rounds)
    apart = statistics.median(b[0] for _, b in rounds)
    same = all(a[1] == b[1] for a, b in rounds)
    print(f"{len(words)} words, {count} queries, k = 10: as one batch {together:.0f} ms, one by one {apart:.0f} ms, "
          f"ratio {apart / together:.1f}, rows {'the same' if same else 'DIFFERENT'}")
    return batch


def against_materialised(db, what, joined, materialised):
    """Times a join that reads ranks row by row, and the same over materialised searches. The ratio should stay below 3."""
    rounds = [(timed(lambda: db.execute(joined).fetchall()), timed(lambda: db.execute(materialised).fetchall()))
              for _ in range(3)]
    ours = statistics.median(a[0] for a, _ in rounds)
    theirs = statistics.median(b[0] for _, b in rounds)
    same = all(a[1] == b[1] for a, b in rounds)
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


def main():
    extension, model = sys.argv[1], sys.argv[2]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    db = batch_against_single(extension, model, count)
    ranks_in_joins(db)
    interrupt(db)
    one_search(db)


if __name__ == "__main__":
    main()
