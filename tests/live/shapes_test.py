"""SELECTs of many shapes over an index and over a table that has the same relation: they must return the same rows.

    shapes_test.py EXTENSION [--seed S]

The relation of every query is computed by a full scan with cos_sim into the table `scan`. Each statement runs as it is written, and with
`scan` in place of the indexes, where k is a limit of the rank.
"""
import argparse
import os
import random
import re
import struct
import sys

import fixture

DIMS, ROWS = 3, 1300  # so many rows that a query of few does not read all of them
# A, B and Z are vectors, Z of zeros. The table q has more, of which two are NULL.
STATEMENTS = (
    "SELECT v.id, v.similarity, v.rank FROM doc_vec v WHERE v.query = A AND v.k = 7",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.k = 3 + 2 * 2",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.k = CAST('4' AS INT)",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.k = 4.0",
    "SELECT v.id, v.rank FROM doc_vec(A, 1 + 1) v",
    "SELECT v.id, v.rank FROM doc_vec(A, (1 << 62)) v WHERE v.rank < 5",
    "SELECT q.n, v.id, v.rank FROM q LEFT JOIN doc_vec v ON v.query = q.e AND v.k = 2",
    "SELECT q.n, v.id, v.rank FROM q LEFT JOIN doc_vec v ON v.query = q.e AND v.k = 2 AND v.id % 2",
    "SELECT q.n, v.id, v.rank FROM q LEFT JOIN doc_vec v ON v.query = q.e AND v.k = 2 WHERE v.id IS NULL",
    "SELECT q.n, v.id, v.rank FROM q LEFT JOIN doc_vec v ON v.query = q.e AND v.k = 5 LEFT JOIN doc d ON d.id = v.id AND d.grp = 1",
    "SELECT q.n, (SELECT v.id FROM doc_vec v WHERE v.query = q.e AND v.k = 1) FROM q",
    "SELECT q.n, (SELECT group_concat(v.id) FROM (SELECT v.id FROM doc_vec v WHERE v.query = q.e AND v.k = 3 ORDER BY v.rank) v) FROM q",
    "SELECT q.n FROM q WHERE EXISTS (SELECT 1 FROM doc_vec v WHERE v.query = q.e AND v.k = 2 AND v.id % 2 = 0)",
    "SELECT q.n FROM q WHERE NOT EXISTS (SELECT 1 FROM doc_vec v WHERE v.query = q.e AND v.k = 2 AND v.id % 2 = 0)",
    "SELECT d.id FROM doc d WHERE d.id IN (SELECT v.id FROM doc_vec v WHERE v.query = A AND v.k = 20)",
    "SELECT d.id FROM doc d WHERE d.id NOT IN (SELECT v.id FROM doc_vec v WHERE v.query = A AND v.k = 1150)",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.k = 4 UNION SELECT v.id, v.rank FROM doc_vec v WHERE v.query = B AND v.k = 4",
    "SELECT v.id FROM doc_vec v WHERE v.query = A AND v.k = 30 INTERSECT SELECT v.id FROM doc_vec v WHERE v.query = B AND v.k = 900",
    "SELECT v.id FROM doc_vec v WHERE v.query = A AND v.k = 30 EXCEPT SELECT v.id FROM doc_vec v WHERE v.query = B AND v.k = 300",
    "SELECT v.id FROM doc_vec v WHERE v.query = A AND v.k = 4 UNION ALL SELECT v.id FROM doc_vec v WHERE v.query = A AND v.k = 4 ORDER BY 1 "
    "LIMIT 5",
    "SELECT v.id, row_number() OVER (ORDER BY v.similarity, v.id DESC), lag(v.id) OVER (ORDER BY v.rank) FROM doc_vec v WHERE v.query = A "
    "AND v.k = 9",
    "SELECT v.query, v.id, sum(v.rank) OVER (PARTITION BY v.query ORDER BY v.rank) FROM doc_vec v WHERE v.query IN (A, B) AND v.k = 5",
    "WITH c AS (SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.k = 9) SELECT c.id, e.id FROM c JOIN c e ON e.rank = c.rank + 1",
    "WITH c AS MATERIALIZED (SELECT * FROM doc_vec(A, 9) v) SELECT id, rank FROM c",
    "WITH c AS NOT MATERIALIZED (SELECT id, rank, query FROM doc_vec v) SELECT id, rank FROM c WHERE query = A AND rank < 4",
    "WITH RECURSIVE r(n, i) AS (SELECT 1, (SELECT v.id FROM doc_vec v WHERE v.query = A AND v.k = 1) UNION ALL SELECT n + 1, (SELECT v.id "
    "FROM doc_vec v WHERE v.query = B AND v.rank = n) FROM r WHERE n < 6) SELECT * FROM r",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query IN (A, A, B, NULL) AND v.k = 3",
    "SELECT v.query, v.id, v.rank FROM doc_vec v WHERE v.query IN (A, A, B, NULL, Z) AND v.k = 3",
    "SELECT v.id FROM doc_vec v WHERE v.query IN () AND v.k = 3",
    "SELECT v.id FROM doc_vec v WHERE v.query IN (NULL) AND v.k = 3",
    "SELECT v.id FROM doc_vec v WHERE v.query IN (SELECT e FROM q WHERE 0) AND v.k = 3",
    "SELECT v.query, v.id, v.rank FROM doc_vec v WHERE v.query IN (SELECT e FROM q) AND v.k = 3",
    "SELECT v.query, v.id, v.rank FROM doc_vec v WHERE v.query IN (SELECT e FROM q UNION ALL SELECT e FROM q) AND v.k = 2 AND v.id > 50",
    "SELECT v.query, v.id, v.rank FROM doc_vec v WHERE v.query IN (SELECT e FROM q WHERE n < 4) AND v.id IN (1, 2, 3, 3, NULL, 100, 105)",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.id IN (9223372036854775807, -9223372036854775808, 9007199254740992, "
    "9007199254740993, 9.007199254740993e15, '5', ' 6', '7x', 8.0, 8.5)",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.id = 9223372036854775807",
    "SELECT v.id, v.similarity FROM doc_vec v WHERE v.query = A AND v.id = -9223372036854775808",
    "SELECT v.id, v.similarity FROM doc_vec v WHERE v.query = A AND v.id = 9223372036854775807.0",
    "SELECT v.id, v.similarity FROM doc_vec v WHERE v.query = A AND v.id = '17'",
    "SELECT v.id, v.similarity FROM doc_vec v WHERE v.query = A AND v.id = 17.0",
    "SELECT v.id, v.similarity FROM doc_vec v WHERE v.query = A AND v.id = 17.5",
    "SELECT v.id, v.similarity FROM doc_vec v WHERE v.query = A AND v.id IS NULL",
    "SELECT v.id, v.similarity FROM doc_vec v WHERE v.query = A AND v.id IS 17",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.id < -10",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.rank = 3",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.rank IN (3, 5, 5, NULL, 99999)",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.rank = '3'",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.rank = 3.0",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.rank = 3.5",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.rank > 3.5 AND v.rank < 7.5",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.rank BETWEEN -5 AND 2",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.rank < 0",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.rank < NULL",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.rank < 'x' AND v.rank < 4",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.rank > x'00'",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.rank > 9223372036854775806",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.rank > 1150 AND v.rank < 9e99",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.rank IS NULL",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.rank IS NOT 3 AND v.rank < 6",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.similarity = (SELECT similarity FROM scan WHERE query = A AND rank = 9)",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.similarity >= (SELECT similarity FROM scan WHERE query = A AND rank = 9)",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.similarity > (SELECT similarity FROM scan WHERE query = A AND rank = 9) AND "
    "v.id <> 4",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.similarity < -0.99",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.similarity > '0.9'",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.similarity > 1",
    "SELECT v.id, v.rank FROM doc_vec v WHERE v.query = A AND v.similarity IN (1, -1, 0)",
    "SELECT count(*), count(DISTINCT v.id), min(v.similarity), max(v.rank), total(v.similarity) < 1e9 FROM doc_vec v WHERE v.query = A",
    "SELECT v.query, count(*), max(v.rank) FROM doc_vec v WHERE v.query IN (A, B) GROUP BY v.query",
    "SELECT d.grp, count(*), max(v.similarity), min(v.rank) FROM doc_vec v JOIN doc d ON d.id = v.id WHERE v.query = A GROUP BY d.grp "
    "HAVING count(*) > 5",
    "SELECT DISTINCT d.t FROM doc_vec v JOIN doc d ON d.id = v.id WHERE v.query = A AND v.k = 12",
    "SELECT DISTINCT v.similarity FROM doc_vec v WHERE v.query = A AND v.k = 50",
    "SELECT v.id FROM doc_vec v WHERE v.query = A ORDER BY v.similarity DESC, v.id LIMIT 5",
    "SELECT v.id FROM doc_vec v WHERE v.query = A ORDER BY v.similarity ASC, v.id LIMIT 5",
    "SELECT v.id FROM doc_vec v WHERE v.query = A ORDER BY v.rank DESC LIMIT 5",
    "SELECT v.id FROM doc_vec v WHERE v.query = A ORDER BY v.id LIMIT 5 OFFSET 3",
    "SELECT v.id FROM doc_vec v WHERE v.query = A ORDER BY v.rank LIMIT -1 OFFSET 1100",
    "SELECT v.id FROM doc_vec v WHERE v.query = A AND v.k = 10 ORDER BY v.rank LIMIT 3 OFFSET 20",
    "SELECT v.id FROM doc_vec v WHERE v.query = A ORDER BY v.rank LIMIT 0",
    "SELECT v.query, v.id FROM doc_vec v WHERE v.query IN (A, B) ORDER BY v.query, v.rank LIMIT 4 OFFSET 1100",
    "SELECT v.query, v.id FROM doc_vec v WHERE v.query IN (A, B) AND v.k = 3 ORDER BY v.query DESC, v.rank",
    "SELECT v.query, v.id FROM doc_vec v WHERE v.query IN (A, B) AND v.k = 3 ORDER BY v.rank, v.query",
    "SELECT a.id, b.id FROM doc_vec a JOIN doc_two b ON b.query = (SELECT e FROM doc WHERE id = a.id) AND b.k = 2 WHERE 0",
    "SELECT a.id, b.id, a.rank, b.rank FROM doc_vec a JOIN doc_two b ON a.id = b.id WHERE a.query = A AND b.query = B AND a.k = 30 AND b.k = 800",
    "SELECT a.id, b.id FROM doc_vec a JOIN doc_vec b ON a.id = b.id AND a.rank < b.rank WHERE a.query = A AND b.query = B AND a.k = 30",
    "SELECT a.id, b.id FROM doc_vec a, doc_two b WHERE a.query = A AND a.k = 3 AND b.query = B AND b.k = 2",
    "SELECT v.id FROM doc_vec v WHERE (v.query = A AND v.rank < 3) OR (v.query = B AND v.rank = 4)",
    "SELECT v.id FROM doc_vec v WHERE v.query = A AND (v.rank < 3 OR v.id = 50 OR v.similarity < -0.99)",
    "SELECT v.id FROM doc_vec v WHERE v.query = A AND (v.rank < 3 OR v.rank > 1150)",
    "SELECT v.id FROM doc_vec v WHERE v.query = A AND NOT (v.rank > 3)",
    "SELECT v.id FROM doc_vec v WHERE v.query = A AND v.query = A AND v.k = 2",
    "SELECT v.id FROM doc_vec v WHERE v.query = A AND v.query = B AND v.k = 2",
    "SELECT v.id FROM doc_vec v WHERE v.query = A AND v.query IN (A, B) AND v.k = 2",
    "SELECT v.id FROM doc_vec v WHERE v.query = A AND v.query NOT IN (B) AND v.k = 2",
    "SELECT v.id FROM doc_vec v WHERE v.query = A AND typeof(v.query) = 'blob' AND v.k = 2",
    "SELECT v.id FROM doc_vec v WHERE v.query = NULL AND v.k = 2",
    "SELECT v.id FROM doc_vec v WHERE v.query = Z AND v.k = 2",
    "SELECT v.id FROM doc_vec v WHERE v.query = Z",
    "SELECT v.id FROM doc_vec v WHERE v.query = A AND v.k = 0",
    "SELECT q.n, v.id FROM q JOIN doc_vec v ON v.query = q.e AND v.k = q.lim WHERE q.lim NOT NULL",
    "SELECT q.n, v.id FROM q JOIN doc_vec v ON v.query = q.e AND v.rank <= q.lim",
    "SELECT q.n, v.id FROM q JOIN doc_vec v ON v.query = q.e AND v.rank = q.n",
    "SELECT q.n, v.id FROM q CROSS JOIN doc_vec v ON v.query = q.e AND v.id = q.n*10",
    "SELECT q.n, v.id, d.t FROM q JOIN doc_vec v ON v.query = q.e JOIN doc d ON d.id = v.id AND d.t = q.name WHERE v.rank < 40",
    "SELECT q.n, v.id FROM doc_vec v JOIN q ON v.query = q.e AND v.rank < 3 ORDER BY q.n DESC, v.rank",
    "SELECT q.n, v.id FROM q LEFT JOIN (SELECT * FROM doc_vec x WHERE x.query = A AND x.k = 5) v ON v.rank = q.n",
    "SELECT q.n, v.id FROM (SELECT * FROM doc_vec x WHERE x.query = A AND x.k = 5) v LEFT JOIN q ON v.rank = q.n",
    "SELECT x FROM (SELECT v.id+1 x, v.query qq FROM doc_vec v) WHERE qq = A ORDER BY x LIMIT 4",
    "SELECT v.id, v.id IN (SELECT w.id FROM doc_two w WHERE w.query = B AND w.k = 700) FROM doc_vec v WHERE v.query = A AND v.k = 20",
    "SELECT v.id, (SELECT w.rank FROM doc_two w WHERE w.query = B AND w.id = v.id) FROM doc_vec v WHERE v.query = A AND v.k = 20",
    "SELECT v.id, (SELECT count(*) FROM doc_two w WHERE w.query = v.query AND w.rank < v.rank) FROM doc_vec v WHERE v.query = A AND v.k = 9",
    "SELECT max(v.similarity), v.id FROM doc_vec v WHERE v.query = A AND v.k = 1",
    "SELECT v.id FROM doc d JOIN doc_vec v ON v.id = d.id AND v.query = A WHERE d.grp = 2 AND d.t = 't3' ORDER BY v.rank LIMIT 7",
    "SELECT v.id FROM doc d LEFT JOIN doc_vec v ON v.id = d.id AND v.query = A AND v.k = 5 WHERE d.id < 30",
    "SELECT v.id FROM doc_vec v NATURAL JOIN doc d WHERE v.query = A AND v.rank < 9",
    "SELECT id, rank FROM doc_vec v JOIN doc d USING(id) WHERE v.query = A AND v.rank < 9 AND d.grp IN (1, 2)",
    "SELECT v.id FROM doc_vec v WHERE v.query = A AND v.id BETWEEN 10 AND 40 AND v.id % 3 = 0 ORDER BY v.rank LIMIT 4",
    "SELECT v.id FROM doc_vec v WHERE v.query = A AND (v.id, v.rank) IN (SELECT id, rank FROM scan WHERE query = A AND rank < 5)",
    "SELECT v.id FROM doc_vec v WHERE v.query = A AND (v.rank, v.id) < (3, 0)",
    "SELECT v.id FROM doc_vec v WHERE v.query = A AND +v.rank < 4",
    "SELECT v.id FROM doc_vec v WHERE v.query = A AND v.rank = v.rank AND v.rank < 4 AND v.id = v.id",
    "SELECT v.id FROM doc_vec v WHERE v.query = (SELECT e FROM q WHERE n = 0) AND v.k = (SELECT 4)",
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM doc_vec v WHERE v.query = A AND v.rank = 1) THEN 1 ELSE 2 END",
    "SELECT v.id FROM q JOIN doc_vec v ON v.query = q.e RIGHT JOIN doc d ON d.id = v.id AND v.rank < 3 WHERE d.id < 30",
)


def vector(source):
    """Components of which many are equal, so that rows tie."""
    return struct.pack("<%df" % DIMS, *(source.choice((0, 1, -1, 0.5, source.gauss(0, 1))) for _ in range(DIMS)))


def create(extension, source):
    db = fixture.connect(":memory:", extension)
    db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, grp INTEGER, t TEXT, e)")
    ids = [*range(-20, ROWS), (1 << 63) - 1, -(1 << 63), 1 << 53, (1 << 53) + 1]
    db.executemany("INSERT INTO doc VALUES (?, ?, ?, ?)", ((i, i % 5, "t%d" % (i % 9), vector(source) if i % 11 else None) for i in ids))
    for name in ("doc_vec", "doc_two"):
        db.execute("CREATE VIRTUAL TABLE %s USING glove_index(content=doc, rowid=id, vector=e)" % name)
    db.executemany("UPDATE doc SET e = ? WHERE id = ?", ((vector(source), i) for i in range(100, 140)))
    db.execute("DELETE FROM doc WHERE id BETWEEN 200 AND 220")
    db.execute("CREATE TABLE q(n INTEGER PRIMARY KEY, e, lim INTEGER, name TEXT)")
    db.executemany("INSERT INTO q VALUES (?, ?, ?, ?)", (
        (n, None if n in (3, 7) else vector(source), source.choice((0, 1, 2, 5)), "t%d" % n) for n in range(12)))
    db.execute("INSERT INTO q VALUES (12, zeroblob(?), 3, 'zero')", (4 * DIMS,))
    db.execute("CREATE TABLE scan(query TEXT, id INTEGER, similarity REAL, rank INTEGER)")  # the types of the index
    db.execute("INSERT INTO scan SELECT query, id, s, row_number() OVER (PARTITION BY query ORDER BY s DESC, id) FROM "
               "(SELECT q.e AS query, d.id, cos_sim(d.e, q.e) AS s FROM (SELECT DISTINCT e FROM q WHERE e NOT NULL) q, doc d) WHERE s NOT NULL")
    db.execute("CREATE INDEX by_rank ON scan(query, rank)")
    return db


def with_vectors(sql, db):
    rows = dict(db.execute("SELECT n, hex(e) FROM q WHERE e NOT NULL"))
    for name, number in (("A", 0), ("B", 1), ("Z", 12)):
        sql = re.sub(r"\b%s\b" % name, "x'%s'" % rows[number], sql)
    return sql


def over_scan(sql):
    """The same statement over the table."""
    sql = re.sub(r"doc_vec\((\w), (.*?)\) v\b", r"(SELECT * FROM scan WHERE query = \1 AND rank <= \2) v", sql)
    sql = re.sub(r"doc_(?:vec|two) (\w+)", r"scan \1", sql)
    return re.sub(r"(\w)\.k = (.*?)(?= AND| WHERE| ORDER| UNION| INTERSECT| EXCEPT| GROUP| LEFT|\)+(?: |$)|$)", r"\1.rank <= \2", sql)


def rows_of(sql, db):
    """The rows, sorted unless the statement sorts them."""
    rows = db.execute(with_vectors(sql, db)).fetchall()
    return rows if re.search(r"ORDER BY [^)]*$", sql) else sorted(rows, key=repr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("extension", type=os.path.abspath)
    parser.add_argument("--seed", default=os.environ.get("GLOVE_TEST_SEED") or str(random.randrange(1 << 31)))
    options = parser.parse_args()
    fixture.skip_without_index(options.extension)
    db = create(options.extension, random.Random(options.seed))
    wrong = compared = 0
    for sql in STATEMENTS:
        expected, actual = rows_of(over_scan(sql), db), rows_of(sql, db)
        compared += len(expected)
        if actual != expected:
            wrong += 1
            print("%s\nexpected %d rows: %s\n     got %d rows: %s" % (sql, len(expected), expected[:8], len(actual), actual[:8]))
    print("seed %s: %d statements, %d rows, %d wrong" % (options.seed, len(STATEMENTS), compared, wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
