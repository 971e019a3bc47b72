"""Ranks of an index in joins: index_joins_test.py GLOVE_SO

Each form of a join is compared with the same form over an ordinary table of all ranks, its plan is that of an index in the
right loop, and glove_stats tells that it takes few searches, however many rows it has. Any SQLite from 3.38 on.
"""
import os
import random
import sqlite3
import struct
import sys
import tempfile
import unittest

EXTENSION = os.environ.get("GLOVE_TEST_EXTENSION") or sys.argv.pop(1)
SEED = int(os.environ.get("GLOVE_TEST_SEED") or random.randrange(1 << 30))
ROWS, DIMS, MARK = 2000, 5, 3
A, B = "query", "other"  # the names of the two queries


def forms(v, w, given):
    """[(name, what the plan begins with, searches per index, SQL)] over the index or table v, and w of other vectors. given(alias,
    query, k=None, rank=False) is the condition on the inputs."""
    filtered = f"FROM {v} v JOIN doc d ON d.id = v.id WHERE {given('v', A)} AND d.tenant = 5"
    by_rank = " ORDER BY v.rank LIMIT 10"
    fused = " ORDER BY 1.0 / (60 + x.rank) + 1.0 / (60 + y.rank) DESC, x.id LIMIT 10"
    return [
        ("a filter with an index", "SCAN v", 1, f"SELECT d.id {filtered}" + by_rank),
        ("the rank only selected", "SCAN v", 1, f"SELECT d.id, v.rank {filtered} ORDER BY v.similarity DESC, d.id LIMIT 10"),
        ("k beside a filter", "SCAN v", 1, f"SELECT d.id FROM {v} v JOIN doc d ON d.id = v.id WHERE {given('v', A, 300)} AND d.tenant = 5" + by_rank),
        ("a range of a filter", "SCAN v", 1, f"SELECT d.id FROM {v} v JOIN doc d ON d.id = v.id WHERE {given('v', A)} AND d.ts > {ROWS - 200}" + by_rank),
        ("best rank of each group", "SCAN v", 1, f"SELECT d.tenant, min(v.rank) FROM {v} v JOIN doc d ON d.id = v.id WHERE {given('v', A)} AND "
         "d.tenant BETWEEN 5 AND 9 GROUP BY d.tenant"),
        ("IN (SELECT ...)", "SCAN v", 1, f"SELECT v.id FROM {v} v WHERE {given('v', A)} AND v.id IN (SELECT id FROM doc WHERE tenant = 5)" + by_rank),
        ("full text", "SCAN f", 2, f"SELECT f.rowid, v.rank FROM doc_fts f JOIN {v} v ON v.id = f.rowid WHERE f.body MATCH 'common7' AND "
         f"{given('v', A)}" + by_rank),
        ("rank fusion with full text", "", 2, "SELECT f.rowid, 1.0 / (60 + v.rank) + 1.0 / (60 + row_number() OVER (ORDER BY f.rank, f.rowid)) s "
         f"FROM doc_fts f JOIN {v} v ON v.id = f.rowid WHERE f.body MATCH 'common7' AND {given('v', A)} ORDER BY s DESC, 1 LIMIT 10"),
        ("tags of a row", "SEARCH t", 2, f"SELECT v.id FROM tag t JOIN {v} v ON v.id = t.doc WHERE t.name = 't7' AND {given('v', A)}" + by_rank),
        ("two indexes, k of one", "SCAN x", 2, f"SELECT x.id FROM {v} x JOIN {w} y ON y.id = x.id WHERE {given('x', A, 100)} AND {given('y', B)}" + fused),
        ("two indexes, k of both", "SCAN", 1, f"SELECT x.id FROM {v} x JOIN {w} y ON y.id = x.id WHERE {given('x', A, 700)} AND {given('y', B, 700)}" + fused),
        ("two rankings", "SCAN", 3, f"SELECT x.id FROM {v} x JOIN {v} y ON y.id = x.id WHERE {given('x', A)} AND {given('y', B)}" + fused),
        ("two rankings, k of both", "SCAN", 2, f"SELECT x.id FROM {v} x JOIN {v} y ON y.id = x.id WHERE {given('x', A, 1000)} AND {given('y', B, 1000)}" + fused),
        ("one row", "SCAN v", 2, f"SELECT v.rank FROM {v} v WHERE {given('v', A)} AND v.id = 77"),
        ("LEFT JOIN", "SEARCH d", 2, f"SELECT d.id, v.rank FROM doc d LEFT JOIN {v} v ON v.id = d.id AND {given('v', A)} WHERE d.tenant IN (7, 8)"),
        ("LEFT JOIN of every row", "SCAN d", 2, f"SELECT d.id, v.rank, v.similarity FROM doc d LEFT JOIN {v} v ON v.id = d.id AND {given('v', A)}"),
        ("LEFT JOIN, some ranks", "SEARCH d", 1, f"SELECT d.id, v.rank FROM doc d LEFT JOIN {v} v ON v.id = d.id AND {given('v', A)} AND "
         "v.rank BETWEEN 20 AND 500 WHERE d.tenant = 7"),
        ("LEFT JOIN of two ids", "SEARCH d", 3, f"SELECT d.id, v.rank FROM doc d LEFT JOIN {v} v ON v.id IN (d.id, d.id + 1) AND {given('v', A)} "
         "WHERE d.tenant = 7"),
        ("a scalar subquery", "SEARCH d", 2, f"SELECT d.id, (SELECT rank FROM {v} v WHERE {given('v', A)} AND v.id = d.id) FROM doc d WHERE d.tenant = 5"),
        ("EXISTS", "SEARCH d", 1, f"SELECT count(*) FROM doc d WHERE d.tenant = 5 AND EXISTS (SELECT 1 FROM {v} v WHERE {given('v', A)} AND v.id = d.id "
         "AND v.rank <= 1000)"),
        ("like this row", "SCAN v", 1, f"SELECT d.id FROM {v} v JOIN doc d ON d.id = v.id WHERE {given('v', '(SELECT a FROM doc WHERE ts = 77)')} "
         "AND d.tenant = 5" + by_rank),
    ]


class Joins(unittest.TestCase):
    KEY, TIES, PUSHED = "INTEGER", "id", " id"

    @staticmethod
    def key(i):
        return i

    @staticmethod
    def forms(*arguments):
        return forms(*arguments)

    def setUp(self):
        self.random = random.Random(SEED)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "joins.db")
        self.db = self.connect()
        self.db.executescript(
            f"CREATE TABLE doc(id {self.KEY} PRIMARY KEY, tenant, ts, body, a);"
            f"CREATE TABLE second(id {self.KEY} PRIMARY KEY, b); CREATE TABLE tag(doc, name)")
        self.db.execute("BEGIN")
        for i in range(ROWS):
            self.db.execute("INSERT INTO doc(rowid, id, tenant, ts, body, a) VALUES (?1, ?2, ?3, ?4, ?5, ?6)", (i, self.key(i), i % 20, i, f"word{i} common{i % 50}", self.vector()))
            self.db.execute("INSERT INTO second VALUES (?, ?)", (self.key(i), self.vector()))
            self.db.execute("INSERT INTO tag VALUES (?, ?)", (self.key(i), f"t{i % 100}"))
        self.db.execute("COMMIT")
        self.db.executescript(
            "CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='a');"
            "CREATE VIRTUAL TABLE second_vec USING glove_index(content='second', rowid='id', vector='b');"
            "CREATE VIRTUAL TABLE doc_fts USING fts5(body, content=doc, content_rowid=rowid); INSERT INTO doc_fts(doc_fts) VALUES ('rebuild');"
            "CREATE INDEX by_tenant ON doc(tenant); CREATE INDEX by_ts ON doc(ts); CREATE INDEX by_name ON tag(name);"
            "UPDATE doc SET a = (SELECT a FROM doc WHERE ts = 100) WHERE ts IN (99, 101, 1999)")

    def run(self, result=None):
        with self.subTest(seed=SEED):
            return super().run(result)

    def connect(self):
        connection = sqlite3.connect(self.path, isolation_level=None)
        connection.execute("PRAGMA synchronous = OFF")
        connection.enable_load_extension(True)
        connection.load_extension(EXTENSION)
        self.addCleanup(connection.close)
        return connection

    def vector(self):
        return struct.pack(f"<{DIMS}f", *(self.random.gauss(0, 1) for _ in range(DIMS)))

    def rows(self, sql, queries, db=None):
        return (db or self.db).execute(sql, {name: value for name, value in queries.items() if ":" + name in sql}).fetchall()

    def plan(self, sql):
        return [row[3] for row in self.rows("EXPLAIN QUERY PLAN " + sql, {A: b"", B: b""})]

    @staticmethod
    def over_index(alias, query, k=None):
        return f"{alias}.query = {query if query.startswith('(') else ':' + query}" + ("" if k is None else f" AND {alias}.k = {k}")

    @staticmethod
    def over_table(alias, query, k=None):
        return f"{alias}.asked = '{query.replace(chr(39), '')}'" + ("" if k is None else f" AND {alias}.rank <= {k}")

    def new_queries(self):
        """Two queries, with a table `ranked` and one `ranked_second` of all their ranks, computed without an index."""
        queries = {A: self.vector(), B: self.vector()}
        asked = {**queries, "(SELECT a FROM doc WHERE ts = 77)": self.db.execute("SELECT a FROM doc WHERE ts = 77").fetchone()[0]}
        for name, content, column in (("ranked", "doc", "a"), ("ranked_second", "second", "b")):
            self.db.execute(f"CREATE TEMP TABLE IF NOT EXISTS {name}(asked, id, similarity, rank)")
            self.db.execute(f"CREATE INDEX IF NOT EXISTS temp.{name}_by_id ON {name}(asked, id)")
            self.db.execute(f"DELETE FROM {name}")
            for query, value in asked.items():
                self.db.execute(
                    f"INSERT INTO {name} SELECT ?1, id, s, row_number() OVER (ORDER BY s DESC, {self.TIES}) FROM (SELECT rowid, id, cos_sim({column}, ?2) s "
                    f"FROM {content} WHERE {column} NOT NULL)", (query, value))
        return queries

    def searches(self, sql, queries):
        """The rows of a statement, and how many searches of an index it took."""
        self.db.execute("SELECT id FROM doc_vec WHERE query = ? AND k = ?", (queries[A], MARK)).fetchall()
        rows = self.rows(sql, queries)
        kinds = self.db.execute("SELECT kind, k FROM glove_stats").fetchall()
        self.assertIn(("live", MARK), kinds, f"more than 255 searches: {sql}")
        return rows, kinds.index(("live", MARK))

    def expect_right(self):
        queries = self.new_queries()
        expected = self.forms("ranked", "ranked_second", self.over_table)
        for (name, _, most, sql), (_, _, _, ordinary) in zip(self.forms("doc_vec", "second_vec", self.over_index), expected):
            self.db.execute("UPDATE tag SET name = name WHERE rowid = 1")  # nothing is kept any more
            with self.subTest(name, sqlite=sqlite3.sqlite_version):
                rows, searches = self.searches(sql, queries)
                self.assertEqual(sorted(rows, key=str), sorted(self.rows(ordinary, queries), key=str))
                self.assertTrue(rows)
                self.assertLessEqual(searches, 2 * most)

    def test_plans(self):
        for analyzed in (False, True):
            if analyzed:
                self.db.execute("ANALYZE")
            for db in (self.db, self.connect()):
                for name, begin, _, sql in self.forms("doc_vec", "second_vec", self.over_index):
                    plan = [row[3] for row in self.rows("EXPLAIN QUERY PLAN " + sql, {A: b"", B: b""}, db)]
                    with self.subTest(name, analyzed=analyzed, sqlite=sqlite3.sqlite_version, plan=plan):
                        # With SQLite 3.53 a rank that is only selected is looked up in what one search has kept, by another key.
                        looked_up = name == "the rank only selected" and "key1=" in str(plan)
                        self.assertTrue(plan[0].startswith(begin) or looked_up, plan)
                        if begin not in ("", "SCAN v"):
                            self.assertTrue(any(step.startswith("SCAN") and self.PUSHED in step for step in plan), plan)
            # From now on the table knows how many rows it has.
            self.rows("SELECT id FROM doc_vec WHERE query = :query AND k = 1", {A: self.vector()})

    def test_forms(self):
        self.expect_right()

    def test_forms_in_a_transaction_that_has_written(self):
        self.db.execute("BEGIN")
        self.db.execute("UPDATE doc SET a = (SELECT a FROM doc WHERE ts = 3) WHERE ts % 7 = 0")
        self.db.execute("DELETE FROM doc WHERE ts % 11 = 0 AND ts <> 77")
        self.db.execute("UPDATE second SET b = NULL WHERE rowid % 5 = 0")
        self.expect_right()
        self.db.execute("ROLLBACK")
        self.expect_right()

    def rank(self, query, key, db=None):
        """Of one row, by an index that keeps the ranks from the second time on."""
        sql = "SELECT v.rank FROM (SELECT ?2 AS id) d LEFT JOIN doc_vec v ON v.id = d.id AND v.query = ?1"
        ranks = {(db or self.db).execute(sql, (query, key)).fetchone()[0] for _ in range(3)}
        self.assertEqual(len(ranks), 1)
        return ranks.pop()

    def expected_rank(self, query, key, db=None):
        return (db or self.db).execute(
            "SELECT (SELECT rank FROM (SELECT id, row_number() OVER (ORDER BY cos_sim(a, ?1) DESC, id) AS rank FROM doc WHERE a NOT NULL) "
            "WHERE id = ?2)", (query, key)).fetchone()[0]

    def test_lookups_by_keys_of_all_types_whose_inputs_change(self):
        queries = self.new_queries()
        self.db.execute("CREATE TEMP TABLE wanted(n INTEGER PRIMARY KEY, key, asked, query, k, least)")
        self.db.execute("CREATE TEMP TABLE ranks AS SELECT asked, CAST(id AS INTEGER) AS id, rank FROM ranked")
        name, k, least = A, ROWS, 1
        for n in range(3000):
            if self.random.random() < 0.05:
                name, k, least = self.random.choice((A, B)), self.random.choice((ROWS, ROWS // 2, str(ROWS))), self.random.choice((1, 30))
            key = self.random.randrange(ROWS + 100)
            if self.random.random() < 0.1:
                key = self.random.choice((str(key), float(key), key + 0.5, None, "x", b"1", -1, 1 << 62, f" {key}"))
            self.db.execute("INSERT INTO wanted VALUES (?, ?, ?, ?, ?, ?)", (n, key, name, queries[name], k, least))
        sql = "SELECT n, key, r.id, r.rank FROM wanted LEFT JOIN {} r ON r.id = key AND r.rank >= least AND {} ORDER BY n"
        expected = self.db.execute(sql.format("ranks", "r.asked = wanted.asked AND r.rank <= CAST(k AS INTEGER)")).fetchall()
        self.assertEqual(self.db.execute(sql.format("doc_vec", "r.query = wanted.query AND r.k = wanted.k")).fetchall(), expected)
        self.assertGreater(sum(row[3] is not None for row in expected), 1000)

    def test_kept_ranks_end_with_what_they_are_of(self):
        query, pending = self.vector(), None
        other = self.connect()
        key = self.db.execute("SELECT id FROM doc_vec WHERE query = ? AND rank = 1500", (query,)).fetchone()[0]

        def expect(db=self.db):
            self.assertEqual(self.rank(query, key, db), self.expected_rank(query, key, db))
        nearer = "UPDATE doc SET a = ? WHERE id = (SELECT id FROM doc_vec WHERE query = ? ORDER BY rank DESC LIMIT 1)"
        statements = ["BEGIN", nearer, "SAVEPOINT a", nearer, "DELETE FROM doc WHERE id IN (SELECT id FROM doc_vec WHERE query = ?2 AND k = 5 AND ?1 <> '')",
                      "ROLLBACK TO a", nearer, "ROLLBACK TO a", "INSERT INTO doc_vec(doc_vec) VALUES ('sync')", nearer, "COMMIT", nearer, "BEGIN", nearer,
                      "ROLLBACK", "BEGIN IMMEDIATE", nearer, "COMMIT", "INSERT INTO doc_vec(doc_vec) VALUES ('rebuild')"]
        for _ in range(3):
            for sql in statements:
                if self.random.random() < 0.3:  # a statement that has not ended
                    pending = self.db.execute("SELECT v.rank FROM doc d CROSS JOIN doc_vec v WHERE v.id = d.id AND v.query = ?", (query,))
                    pending.fetchone()
                self.db.execute(sql, (query, query) if "?" in sql else ())
                expect()
                if not self.db.in_transaction:
                    expect(other)
                    if pending:
                        pending.close()
                    other.execute(nearer, (query, query))
                    expect()

    def test_a_trigger_sees_each_row_before_it(self):
        self.db.executescript(
            "CREATE TABLE seen(id, before, rank, same);"
            "CREATE TRIGGER look_before BEFORE INSERT ON doc BEGIN INSERT INTO seen(id, before) VALUES (new.id, (SELECT max(rank) FROM doc_vec "
            "WHERE query = new.a AND id = (SELECT max(id) FROM doc))); END;"
            "CREATE TRIGGER look AFTER INSERT ON doc BEGIN UPDATE seen SET rank = (SELECT rank FROM doc_vec WHERE query = new.a AND id = new.id), "
            "same = (SELECT count(*) FROM doc_vec WHERE query = new.a AND similarity = 1) WHERE id = new.id; END")
        vector = struct.pack(f"<{DIMS}f", 9, -9, 9, -9, 8)
        for insert in ("INSERT INTO doc(id, a) VALUES (5001, ?1), (5000, ?1), (5003, ?1), (5002, ?1)",
                       # The same beside a cursor of the index, which stays open.
                       "INSERT INTO doc(id, a) SELECT column1, ?1 FROM (SELECT 1 FROM doc_vec WHERE query = ?1 AND k = 1) CROSS JOIN "
                       "(VALUES (5001), (5000), (5003), (5002))"):
            for begin, end in (("", ""), ("BEGIN", "ROLLBACK")):
                self.db.execute("DELETE FROM seen")
                self.db.execute(begin)
                self.db.execute(insert, (vector,))
                self.assertEqual(self.db.execute("SELECT id, rank, same FROM seen ORDER BY rowid").fetchall(),
                                 [(5001, 1, 1), (5000, 1, 2), (5003, 3, 3), (5002, 3, 4)])
                befores = [before for before, in self.db.execute("SELECT before FROM seen ORDER BY rowid")]
                self.assertEqual(befores[1:], [1, 2, 3])
                self.db.execute(end)
                self.db.execute("DELETE FROM doc WHERE id >= 5000")

    def test_statements_that_store_ranks(self):
        query = self.vector()
        self.db.execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
        self.db.execute("CREATE TABLE stored(id, rank)")
        for sql in ("INSERT INTO stored SELECT d.id, v.rank FROM doc d LEFT JOIN doc_vec v ON v.id = d.id AND v.query = :query",
                    "UPDATE doc SET ts = (SELECT rank FROM doc_vec WHERE query = :query AND id = doc.id) WHERE tenant = 5"):
            _, searches = self.searches(sql, {A: query})
            self.assertLessEqual(searches, 2)
        rows = self.db.execute("SELECT id, rank FROM stored UNION ALL SELECT id, ts FROM doc WHERE tenant = 5").fetchall()
        self.assertEqual(len(rows), ROWS + ROWS // 20)
        for key, rank in self.random.sample(rows, 50):
            self.assertEqual(rank, self.expected_rank(query, key))
        # The changed rows are in the log, and a second change of one leaves no trace there.
        self.db.execute("UPDATE doc SET a = (SELECT a FROM doc WHERE ts = 3) WHERE ts % 7 = 0")
        self.db.execute("UPDATE doc SET ts = (SELECT rank FROM doc_vec WHERE query = ? AND id = doc.id) WHERE id < 40", (query,))
        for key, rank in self.db.execute("SELECT id, ts FROM doc WHERE id < 40").fetchall():
            self.assertEqual(rank, self.expected_rank(query, key))

    def test_a_trigger_sees_the_rows_that_its_statement_has_changed(self):
        """Although the statement has kept ranks of the same query."""
        query = self.vector()
        self.db.execute("CREATE TABLE asked(query)")
        self.db.execute("INSERT INTO asked VALUES (?)", (query,))
        self.db.execute("CREATE TABLE seen(id, rank)")
        last = "SELECT rank FROM doc_vec WHERE query = (SELECT query FROM asked) AND id = 1999"
        for time in ("BEFORE", "AFTER"):
            for event, row in (("DELETE", "old"), ("UPDATE", "new")):
                self.db.execute(f"CREATE TRIGGER look_{time}_{event} {time} {event} ON doc WHEN old.id < 300 AND old.tenant = 4 BEGIN "
                                f"INSERT INTO seen VALUES ({row}.id, ({last})); END")
        some = "WHERE tenant = 4 AND id < 300 AND (SELECT rank FROM doc_vec WHERE query = ? AND id = doc.id) < (" + last + ")"
        for synced in (True, False, True):
            if synced:
                self.db.execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
            for change in ("UPDATE doc SET a = NULL ", "DELETE FROM doc "):
                self.db.execute("BEGIN")
                self.db.execute("DELETE FROM seen")
                before = self.expected_rank(query, 1999)
                changed = self.db.execute(change + some, (query,)).rowcount
                self.assertEqual(self.db.execute("SELECT rank FROM seen ORDER BY rowid").fetchall(),
                                 [(before - i - after,) for i in range(changed) for after in (0, 1)])
                self.db.execute("ROLLBACK")
            self.db.execute("UPDATE doc SET a = a WHERE id % 3 = 0")

    def test_the_rowid_is_taken_as_the_key(self):
        for key in (-7, 0, 2**31 - 1, 2**31, 2**40, -(2**63)):
            self.db.execute("INSERT OR REPLACE INTO doc(id, tenant, a) VALUES (?, 7, ?)", (key, self.vector()))
        queries = self.new_queries()
        join = "SELECT d.id, v.rank FROM doc d LEFT JOIN doc_vec v ON {} = d.id AND v.query = :query WHERE d.tenant = 7"
        self.assertIn("rowid=", " ".join(self.plan(join.format("v.rowid"))))
        rows, searches = self.searches(join.format("v.rowid"), queries)
        self.assertEqual(sorted(rows), sorted(self.rows(join.format("+v.rowid"), queries)))
        self.assertLess(searches, 12)  # one for each key that has no rowid of its own
        self.assertEqual([row for row in rows if 0 < row[0] < 2**31],
                         [row for row in self.rows(join.format("v.id"), queries) if 0 < row[0] < 2**31])
        both = "SELECT count(*) FROM doc d JOIN doc_vec v ON {} = d.id WHERE (v.query = :query AND v.k = 50) OR (v.query = :other AND v.k = 50)"
        self.assertEqual(self.rows(both.format("v.rowid"), queries), self.rows(both.format("+v.rowid"), queries))
        listed = "SELECT id, rank FROM doc_vec WHERE {} IN (5, 6, '7', 8.0, 'x', NULL) AND query = :query ORDER BY rank"
        self.assertEqual(self.rows(listed.format("rowid"), queries), self.rows(listed.format("id"), queries))

    def test_integer_keys_stay_integers(self):
        for sql in ("WITH x AS MATERIALIZED (SELECT id FROM doc_vec WHERE query = :query AND k = 9) SELECT typeof(id) FROM x",
                    "SELECT typeof(id) FROM (SELECT id FROM doc_vec WHERE query = :query AND k = 9 ORDER BY 1 LIMIT 9)"):
            self.assertEqual(set(self.rows(sql, {A: self.vector()})), {("integer",)})


class TextKeys(Joins):
    """The same forms where the key is a TEXT."""
    KEY, TIES, PUSHED = "TEXT", "rowid", " key1"

    @staticmethod
    def key(i):
        return f"r{i}"

    @staticmethod
    def forms(*arguments):
        changes = (("v.id = f.rowid", "v.id = 'r' || f.rowid"), ("id = 77", "id = 'r77'"), ("d.id + 1", "'r' || (substr(d.id, 2) + 1)"))
        made = []
        for name, begin, most, sql in forms(*arguments):
            for old, new in changes:
                sql = sql.replace(old, new)
            made.append((name, begin, most, sql))
        return made


class KeysWithACollation(TextKeys):
    KEY = "TEXT COLLATE NOCASE"


for test in [name for name in dir(Joins) if name.startswith("test_") and name not in ("test_plans", "test_forms", "test_forms_in_a_transaction_that_has_written")]:
    setattr(TextKeys, test, None)  # of integer keys

if __name__ == "__main__":
    print(f"GLOVE_TEST_SEED={SEED}, SQLite {sqlite3.sqlite_version}")
    unittest.main()
