"""Tables of glove_index follow the rows of an ordinary table: live_index_test.py GLOVE_SO

Each answer is compared with a brute-force query over the table itself (cos_sim, which has the same bits).
"""
import os
import random
import re
import sqlite3
import struct
import sys
import tempfile
import unittest

EXTENSION = os.environ.get("GLOVE_TEST_EXTENSION") or sys.argv.pop(1)
SEED = int(os.environ.get("GLOVE_TEST_SEED") or random.randrange(1 << 30))


def blob(*numbers):
    return struct.pack(f"<{len(numbers)}f", *numbers)


def connect(path=":memory:", extension=True):
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    if extension:
        connection.enable_load_extension(True)
        connection.load_extension(EXTENSION)
    return connection


class SeededTest(unittest.TestCase):
    """A connection and random numbers, whose seed every failure shows."""

    def setUp(self):
        self.random = random.Random(SEED)
        self.db = connect()

    def run(self, result=None):
        with self.subTest(seed=SEED):
            return super().run(result)

    def rows(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def expect_error(self, pattern, sql, *values):
        with self.assertRaisesRegex(sqlite3.Error, pattern):
            self.db.execute(sql, values).fetchall()


class LiveTest(SeededTest):
    DIMS = 6

    def setUp(self):
        super().setUp()
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, title TEXT UNIQUE, embedding)")

    def vector(self):
        return blob(*(self.random.choice((0, 1, -1, 0.5, self.random.gauss(0, 1))) for _ in range(self.DIMS)))

    def fill(self, rows):
        for id in range(rows):
            self.db.execute("INSERT INTO doc VALUES (?, ?, ?)", (3 * id, f"t{id}", self.vector()))

    def create(self, arguments="content='doc', rowid='id', vector='embedding'"):
        self.db.execute(f"CREATE VIRTUAL TABLE doc_vec USING glove_index({arguments})")

    def command(self, name, db=None):
        (db or self.db).execute("INSERT INTO doc_vec(doc_vec) VALUES (?)", (name,))

    def brute(self, query, k=-1, db=None):
        return (db or self.db).execute(
            "SELECT id, s, row_number() OVER (ORDER BY s DESC, id) FROM "
            "(SELECT id, cos_sim(embedding, ?1) AS s FROM doc WHERE embedding IS NOT NULL) WHERE s IS NOT NULL "
            "ORDER BY s DESC, id LIMIT ?2", (query, k)).fetchall()

    def expect_current(self, db=None):
        db = db or self.db
        for k in (1, 5, 40):
            query = self.vector()
            self.assertEqual(
                db.execute("SELECT id, similarity, rank FROM doc_vec WHERE query = ? AND k = ?", (query, k)).fetchall(),
                self.brute(query, k, db))
        query = self.vector()
        self.assertEqual(db.execute("SELECT id, similarity, rank FROM doc_vec(?)", (query,)).fetchall(),
                         self.brute(query, db=db))
        for query, in db.execute("SELECT embedding FROM doc_vec_log JOIN doc USING (id) WHERE length(embedding) = ? LIMIT 2",
                                 (4 * self.DIMS,)).fetchall():
            self.assertEqual(db.execute("SELECT id, similarity, rank FROM doc_vec(?, 9)", (query,)).fetchall(),
                             self.brute(query, 9, db))


class Rows(LiveTest):
    def test_a_key_that_is_logged_again_between_two_queries(self):
        self.fill(3)
        self.create()
        self.command("sync")
        for first in ("INSERT OR IGNORE INTO doc VALUES (0, 'again', NULL)", "INSERT INTO doc VALUES (-1, 'minus', NULL)"):
            self.db.execute(first)
            self.db.executemany("INSERT INTO doc VALUES (?, ?, ?)", [(100 + i, first + str(i), self.vector()) for i in range(2)])
            query = self.vector()
            self.assertEqual(self.db.execute("SELECT id, similarity, rank FROM doc_vec WHERE query = ?", (query,)).fetchall(), self.brute(query))
            self.db.execute("UPDATE doc SET embedding = ? WHERE id IN (0, -1)", (self.vector(),))
            self.assertEqual(self.db.execute("SELECT id, similarity, rank FROM doc_vec WHERE query = ?", (query,)).fetchall(), self.brute(query))
            self.db.execute("DELETE FROM doc WHERE id >= 100")
            self.command("sync")

    def test_blocks_of_a_segment_that_is_gone(self):
        self.fill(4)
        self.create()
        self.db.execute("DELETE FROM doc_vec_segment")
        self.db.execute("INSERT INTO doc VALUES (1000, 'new', ?)", (self.vector(),))
        self.command("sync")
        self.command("rebuild")
        query = self.vector()
        self.assertEqual(self.db.execute("SELECT id, similarity, rank FROM doc_vec WHERE query = ?", (query,)).fetchall(), self.brute(query))

    def test_an_empty_table_answers_and_follows(self):
        self.create()
        self.assertEqual(self.db.execute("SELECT * FROM doc_vec(?)", (blob(1, 2),)).fetchall(), [])
        self.fill(3)
        self.expect_current()
        self.command("sync")
        self.expect_current()
        self.command("integrity-check")

    def test_rows_that_exist_are_found_at_once(self):
        self.fill(2000)
        self.create()
        self.assertEqual(self.db.execute("SELECT count(*) FROM doc_vec_log").fetchone(), (0,))
        self.expect_current()
        self.command("integrity-check")

    def test_changes_are_seen_inside_the_transaction_and_undone_with_it(self):
        self.fill(1500)
        self.create()
        self.db.execute("BEGIN")
        self.db.execute("DELETE FROM doc WHERE id % 5 = 0")
        self.db.execute("UPDATE doc SET embedding = ? WHERE id = 3", (self.vector(),))
        self.db.execute("UPDATE doc SET id = 100000 WHERE id = 6")
        self.db.execute("UPDATE doc SET rowid = 100001 WHERE id = 9")
        self.db.execute("UPDATE doc SET embedding = NULL WHERE id = 12")
        self.expect_current()
        self.db.execute("SAVEPOINT s")
        self.command("sync")
        self.expect_current()
        self.db.execute("ROLLBACK TO s")
        self.expect_current()
        self.command("sync")
        self.command("integrity-check")
        self.db.execute("ROLLBACK")
        self.expect_current()
        self.command("integrity-check")

    def test_replace_through_a_unique_column(self):
        for recursive in (0, 1):
            self.db.execute(f"PRAGMA recursive_triggers = {recursive}")
            if recursive:
                self.db.execute("DROP TABLE doc_vec")
                self.db.execute("DELETE FROM doc")
            self.fill(1200)
            self.create()
            for i in range(0, 300):
                self.db.execute("INSERT OR REPLACE INTO doc VALUES (?, ?, ?)", (50000 + i, f"t{i}", self.vector()))
            for verb in ("IGNORE", "ABORT", "FAIL", "ROLLBACK", "REPLACE"):
                self.db.execute(f"INSERT OR {verb} INTO doc VALUES (?, ?, ?)", (60000, f"x{verb}", self.vector()))
                self.db.execute("DELETE FROM doc WHERE id = 60000")
            self.db.execute("INSERT INTO doc VALUES (50000, 'u', ?) ON CONFLICT(id) DO UPDATE SET embedding = "
                            "excluded.embedding", (self.vector(),))
            self.expect_current()
            self.command("sync")
            self.expect_current()
            self.command("integrity-check")

    def test_replaced_rows_leave_the_index_when_segments_are_joined(self):
        self.fill(500)
        self.create()
        size = "SELECT rows, dead FROM glove_indexes WHERE name = 'doc_vec'"
        for _ in range(6):
            self.db.execute("INSERT OR REPLACE INTO doc(title, embedding) SELECT title, embedding FROM doc")
            self.command("sync")
            self.expect_current()
        self.assertLess(self.db.execute(size).fetchone()[0], 3 * 500)
        self.command("merge")
        self.assertEqual(self.db.execute(size).fetchall(), self.db.execute("SELECT count(*), 0 FROM doc_vec(?)", (
            self.vector(),)).fetchall())
        self.expect_current()
        self.command("integrity-check")

    def test_a_thousand_syncs_leave_few_segments(self):
        self.create()
        self.db.execute("BEGIN")
        most = 0
        for sync in range(300):
            for row in range(5):
                self.db.execute("INSERT INTO doc(embedding) VALUES (?)", (self.vector(),))
            self.db.execute("DELETE FROM doc WHERE id = ?", (self.random.randrange(1, 5 * sync + 5),))
            self.command("sync")
            most = max(most, self.db.execute("SELECT count(*) FROM doc_vec_segment").fetchone()[0])
        self.assertLessEqual(most, 8)
        self.assertGreater(most, 1)
        self.expect_current()
        self.command("integrity-check")
        self.command("merge")
        self.assertEqual(self.db.execute("SELECT count(*) FROM doc_vec_segment").fetchone(), (1,))
        self.assertEqual(self.db.execute("SELECT count(*) FROM doc_vec_dead").fetchone(), (0,))
        self.expect_current()
        self.db.execute("DELETE FROM doc")
        self.command("sync")
        self.assertEqual(self.db.execute("SELECT count(*) FROM doc_vec_block").fetchone(), (0,))
        self.db.execute("COMMIT")

    def test_random_changes(self):
        self.fill(1000)
        self.create()
        for _ in range(60):
            for _ in range(self.random.randrange(30)):
                id = self.random.randrange(3000)
                self.db.execute(self.random.choice((
                    "INSERT OR REPLACE INTO doc(id, title, embedding) VALUES (?1, 't' || (?1 / 7), ?2)",
                    "UPDATE OR IGNORE doc SET embedding = ?2 WHERE id BETWEEN ?1 AND ?1 + 5",
                    "DELETE FROM doc WHERE id BETWEEN ?1 AND ?1 + 5 AND ?2 IS NOT NULL",
                    "UPDATE OR REPLACE doc SET id = id + 17 WHERE id = ?1 AND ?2 IS NOT NULL")), (id, self.vector()))
            if self.random.random() < 0.4:
                self.command(self.random.choice(("sync", "merge", "rebuild")))
            self.expect_current()
        self.command("integrity-check")

    def test_json_vectors_and_rows_without_a_vector(self):
        self.create("content=doc, rowid=\"id\", vector=[embedding], dims=2")
        self.db.execute("INSERT INTO doc(id, embedding) VALUES (1, '[1, 2]'), (2, NULL), (3, '[0, 0]'), (4, ?)",
                        (blob(2, 4),))
        for _ in range(2):
            self.assertEqual(self.db.execute("SELECT id, similarity, rank FROM doc_vec(?, 5)", (blob(1, 2),)).fetchall(),
                             [(1, 1.0, 1), (4, 1.0, 2)])
            self.assertEqual(self.db.execute("SELECT v.id FROM doc d JOIN doc_vec v ON v.query = d.embedding AND v.k = 2 "
                                             "WHERE d.id IN (1, 3) ORDER BY v.rank").fetchall(), [(1,), (4,)])
            self.command("sync")
        self.assertEqual(self.db.execute("SELECT id FROM doc_vec(' \n[ 1.0e0 ,2] ', 5)").fetchall(), [(1,), (4,)])
        marked = "\ufeff[2, 4]"  # with a byte order mark
        self.db.execute("INSERT INTO doc(id, embedding) VALUES (5, ?)", (marked,))
        self.command("sync")
        self.assertEqual(self.db.execute("SELECT id FROM doc_vec(?, 5)", (marked,)).fetchall(), [(1,), (4,), (5,)])
        self.expect_error("the query has 3 components, but the index has 2 dimensions", "SELECT * FROM doc_vec('[1,2,3]')")
        self.expect_error("the query has 1 component, but the index has 2 dimensions", "SELECT * FROM doc_vec(' [1]')")
        self.expect_error("the query has a TEXT vector that is not a JSON array", "SELECT * FROM doc_vec('[1,')")
        self.expect_error("component 2 of the query is infinite", "SELECT * FROM doc_vec('[1,1e39]')")


class Statements(LiveTest):
    def setUp(self):
        super().setUp()
        self.fill(1000)
        self.create()
        self.db.execute("DELETE FROM doc WHERE id < 90")
        self.query = self.vector()
        self.db.execute("CREATE TEMP TABLE r AS SELECT * FROM (SELECT NULL id, NULL s, NULL rank) WHERE 0")
        self.db.executemany("INSERT INTO r VALUES (?, ?, ?)", self.brute(self.query))

    def expect_same(self, over_index, over_table):
        expected = self.db.execute(over_table).fetchall()
        self.assertTrue(expected)
        self.assertEqual(self.db.execute(over_index.replace("$q", "x'" + self.query.hex() + "'")).fetchall(), expected)

    def test_filters_and_joins_change_no_row(self):
        self.expect_same("SELECT id FROM doc_vec($q) LIMIT 7 OFFSET 2", "SELECT id FROM r ORDER BY rank LIMIT 7 OFFSET 2")
        self.expect_same("SELECT id, rank FROM doc_vec($q) WHERE rank BETWEEN 3 AND 5",
                         "SELECT id, rank FROM r WHERE rank BETWEEN 3 AND 5")
        self.expect_same("SELECT id FROM doc_vec($q) WHERE similarity > 0.7 ORDER BY rank",
                         "SELECT id FROM r WHERE s > 0.7 ORDER BY rank")
        self.expect_same("SELECT id, similarity FROM doc_vec($q) WHERE id IN (300, 303, 3, 306) ORDER BY id",
                         "SELECT id, s FROM r WHERE id IN (300, 303, 3, 306) ORDER BY id")
        self.expect_same("SELECT id, rank FROM doc_vec($q) WHERE id = 300", "SELECT id, rank FROM r WHERE id = 300")
        self.expect_same("SELECT d.title FROM doc_vec($q) v JOIN doc d ON d.id = v.id WHERE d.id % 7 = 0 ORDER BY v.rank "
                         "LIMIT 9", "SELECT d.title FROM r JOIN doc d USING (id) WHERE d.id % 7 = 0 ORDER BY rank LIMIT 9")
        self.expect_same("SELECT id FROM doc_vec WHERE query = $q AND (rank < 3 OR id = 300) ORDER BY id",
                         "SELECT id FROM r WHERE rank < 3 OR id = 300 ORDER BY id")
        self.expect_same("SELECT count(*) FROM doc_vec($q)", "SELECT count(*) FROM r")

    def test_an_or_of_queries_returns_the_rows_of_each(self):
        ids = [-(2**63), -1, 0, 1, 2**31 - 1, 2**31, 2**31 + 1, 2**62]
        self.db.execute("DELETE FROM doc")
        self.db.executemany("INSERT INTO doc(id, embedding) VALUES (?, ?)", [(id, self.vector()) for id in ids])
        a, b = (self.db.execute("SELECT embedding FROM doc WHERE id = ?", (id,)).fetchone()[0] for id in (0, 2**31))
        rows = self.db.execute("SELECT id, similarity FROM doc_vec v WHERE (query = ?1 AND k = 8) OR (query = ?2 AND k = 8)",
                               (a, b)).fetchall()
        expected = [row[:2] for query in (a, b) for row in self.brute(query, 8)]
        self.assertEqual(sorted(rows), sorted(expected))
        rows = self.db.execute("SELECT id FROM doc_vec WHERE (query = ?1 AND k = 8 AND id <> 1) OR (query = ?1 AND k = 8 AND id < 9)",
                               (a,)).fetchall()
        self.assertEqual(sorted(rows), sorted((row[0],) for row in self.brute(a, 8)))

    def test_a_query_that_is_not_read_to_the_end_is_in_the_statistics(self):
        before = self.db.execute("SELECT count(*) FROM glove_stats WHERE kind = 'live'").fetchone()[0]
        rows = self.db.execute("SELECT id FROM doc_vec WHERE query = ? AND similarity > -2", (self.query,))
        rows.fetchone()
        rows.close()
        after = self.db.execute("SELECT count(*) FROM glove_stats WHERE kind = 'live'").fetchone()[0]
        self.assertEqual(after, min(before + 1, 256))

    def test_a_batch(self):
        rows = self.db.execute("SELECT d.id, v.id, v.similarity FROM doc d JOIN doc_vec v ON v.query = d.embedding "
                               "AND v.k = 2 WHERE d.id < 130 ORDER BY d.id, v.rank").fetchall()
        batch = self.db.execute("SELECT d.id, v.id, v.similarity FROM doc_vec v JOIN doc d ON d.embedding = v.query "
                                "WHERE v.query IN (SELECT embedding FROM doc WHERE id < 130) AND v.k = 2 AND d.id < 130 "
                                "ORDER BY d.id, v.rank").fetchall()
        self.assertTrue(rows)
        self.assertEqual(rows, batch)
        for id, vector in self.db.execute("SELECT id, embedding FROM doc WHERE id < 130").fetchall():
            self.assertEqual([row[1:] for row in rows if row[0] == id],
                             [row[:2] for row in self.brute(vector, 2)])

    def test_only_commands_write(self):
        self.expect_error("takes no rows; insert them into 'doc'", "INSERT INTO doc_vec(id) VALUES (1)")
        self.expect_error("cannot be changed; change the rows of 'doc'", "DELETE FROM doc_vec WHERE query = ?", self.query)
        for change in ("UPDATE doc_vec SET id = 1 WHERE query = x'00'", "UPDATE doc_vec SET id = 1", "DELETE FROM doc_vec",
                       "  delete FROM doc_vec WHERE id = 300", "DELETE FROM doc_vec WHERE query = x'00'",
                       "WITH a AS (SELECT 300 AS i) DELETE FROM doc_vec WHERE id IN (SELECT i FROM a)",
                       "WITH a AS (SELECT 3 AS i) UPDATE doc_vec SET id = 4 WHERE id = (SELECT i FROM a)",
                       "WITH \"DELETE FROM doc\" AS (SELECT ';') UPDATE OR IGNORE [doc_vec] SET id = 4 WHERE rank < 3",
                       "/* why */ DELETE -- that\n FROM main . \"doc_vec\" WHERE rank = 1", "UPDATE DOC_VEC SET k = 3 WHERE k = 3",
                       "UPDATE doc_vec SET id = d.id FROM doc d WHERE d.id = 300",
                       "DELETE FROM doc_vec WHERE id IN (SELECT id FROM doc_vec)", "\ufeffDELETE FROM doc_vec",
                       "WITH a AS (SELECT 3 AS i)\ufeffDELETE FROM doc_vec", "\ufeff UPDATE \ufeffdoc_vec SET id = 1"):
            with self.subTest(change):
                self.expect_error("^doc_vec cannot be changed; change the rows of 'doc', and the index follows$", change)
        self.expect_error("^doc_vec has no query: SQLite could pass it none; give one as an argument .*WHERE query = . AND k = 10$",
                          "CREATE TABLE copy AS SELECT * FROM doc_vec WHERE rank > 0")
        for name in (":delete", "@delete", "$delete", "$a::delete", ":update", "@update", "$update"):
            with self.assertRaisesRegex(sqlite3.Error, "^doc_vec has no query: SQLite could pass it none; give one"):
                self.db.execute(f"INSERT INTO doc(id) SELECT {name} {'doc_vec' if 'update' in name else ''} FROM doc_vec WHERE rank > 0", {name[1:]: 1})
        self.db.execute("CREATE TEMP TABLE doc_vec AS SELECT 3 AS id")
        for other in ("DELETE FROM doc WHERE id IN (SELECT id FROM main.doc_vec WHERE rank = 1)",
                      "DELETE FROM temp.doc_vec WHERE id IN (SELECT id FROM main.doc_vec WHERE rank = 1)",
                      "UPDATE doc SET title = 'DELETE FROM doc_vec' WHERE id IN (SELECT id FROM main.doc_vec WHERE rank = 1) -- DELETE FROM doc_vec"):
            self.expect_error("^doc_vec has no query: SQLite could pass it none; give one as an argument .*WHERE query = . AND k = 10$", other)
        self.db.execute("DROP TABLE temp.doc_vec")
        self.expect_error("no command 'x'; the commands are: sync, sync=N with a positive N, merge, rebuild, repair, integrity-check, calibrate",
                          "INSERT INTO doc_vec(doc_vec) VALUES ('x')")

    def test_triggers_that_change_the_index(self):
        self.db.execute("CREATE TABLE other(id)")
        self.db.execute("CREATE TRIGGER searches AFTER INSERT ON other BEGIN UPDATE other SET id = (SELECT id FROM doc_vec WHERE rank = 1) WHERE id = new.id; END")
        self.expect_error("^doc_vec has no query: SQLite could pass it none", "INSERT INTO other VALUES (1)")
        for kind, body in (("", "DELETE FROM doc_vec WHERE id = new.id AND rank > 0"), ("TEMP ", "DELETE FROM doc_vec WHERE rank > 0"),
                           ("", "UPDATE doc_vec SET id = 3 WHERE similarity > 0"), ("TEMP ", "UPDATE doc_vec SET id = 3 WHERE rank < 4")):
            self.db.execute(f"CREATE {kind}TRIGGER \"it's\" AFTER INSERT ON other BEGIN {body}; END")
            no_query = "^doc_vec has no query: SQLite could pass it none[;,] .*WHERE query = . AND k = 10[)]?"
            perhaps = "; or, if the trigger 'it's' fired: doc_vec cannot be changed; change the rows of 'doc', and the index follows$"
            self.expect_error(no_query + perhaps, "INSERT INTO other VALUES (1)")
            self.expect_error(no_query + "$", "SELECT * FROM doc_vec ORDER BY rank")
            # These do not call the trigger, but nothing tells the index so.
            self.expect_error(no_query + perhaps, "UPDATE doc SET title = (SELECT id FROM doc_vec WHERE rank = 1)")
            self.db.set_authorizer(lambda action, name, *_: sqlite3.SQLITE_DENY if (action, name) == (sqlite3.SQLITE_READ, "sqlite_temp_master")
                                   else sqlite3.SQLITE_OK)
            self.expect_error(no_query + "$", "UPDATE doc SET title = (SELECT id FROM doc_vec WHERE rank = 1)")
            self.db.set_authorizer(None)
            self.expect_error("^doc_vec: the query is a BLOB of 1 byte,", "INSERT INTO other SELECT id FROM doc_vec(x'00')")
            self.db.execute("DROP TRIGGER \"it's\"")
        self.db.execute("CREATE TRIGGER lists AFTER INSERT ON other BEGIN DELETE FROM doc_vec; END")
        self.expect_error("^doc_vec cannot be changed; change the rows of 'doc', and the index follows$", "INSERT INTO other VALUES (1)")
        self.assertEqual(self.db.execute("SELECT * FROM other").fetchall(), [])

    def test_commands_leave_the_last_rowid_and_count_as_one_change(self):
        for row in (7777, 8888):
            self.db.execute("INSERT INTO doc(id, embedding) VALUES (?, ?)", (row, self.query))
            for command in ("sync", "merge", "integrity-check", "rebuild"):
                self.command(command)
                self.assertEqual(self.db.execute("SELECT last_insert_rowid(), changes()").fetchone(), (row, 1), command)
        self.db.execute("INSERT INTO doc(id, embedding) VALUES (9999, x'00')")
        self.expect_error("the row 9999", "INSERT INTO doc_vec(doc_vec) VALUES ('rebuild')")
        self.assertEqual(self.db.execute("SELECT last_insert_rowid()").fetchone(), (9999,))

    def test_wrong_queries(self):
        for some in ("WHERE rank = 1", "WHERE similarity > 0", "ORDER BY rank", "ORDER BY similarity DESC LIMIT 3", "WHERE query = ? OR id = 3",
                     "WHERE k = 3", "WHERE id IN (SELECT v.id FROM doc_vec v WHERE v.rank < 3)"):
            self.expect_error("no query", f"SELECT * FROM doc_vec {some}", *[self.query] * some.count("?"))
        self.expect_error("a BLOB of 4 bytes, but a vector of 6 float32 has 24", "SELECT * FROM doc_vec(x'00000000')")
        self.expect_error("the query is the text 'text', but the index has no model.*JSON array", "SELECT * FROM doc_vec('text')")
        for text, shown in (("a\nb\u202e", r"a\x0ab\xe2\x80\xae"), ("x" * 60, "x" * 60), ("x" * 61, "x" * 60 + "..."),
                            ("x" * 59 + "é", "x" * 59 + "..."), ("x" * 58 + "é", "x" * 58 + "é"), ("x" * 57 + "😀", "x" * 57 + "...")):
            self.expect_error(re.escape(f"the query is the text '{shown}', but"), "SELECT * FROM doc_vec(?)", text)
        for number, shown in (("3", "3"), ("-3.50", "-3.5"), ("1e300", r"1.0e+300"), ("'3'", "3")):
            for statement in ("SELECT * FROM doc_vec WHERE query = ", "SELECT * FROM doc_vec WHERE query IS "):
                self.expect_error(re.escape(f"doc_vec: the query is {shown}, but the index has no model"), statement + number)
        self.expect_error("the query is the text '-', but", "SELECT * FROM doc_vec('-')")
        self.expect_error("^doc_vec has no query: SQLite could pass it none, although the statement names one. .* In a RIGHT or FULL JOIN use a subquery",
                          "SELECT v.id FROM (SELECT 1 AS n) x LEFT JOIN doc_vec v ON v.id = x.n AND (v.query = ?1 OR v.query = ?1 OR x.n)",
                          self.query)
        self.expect_error("doc_vec: k must be a non-negative integer", "SELECT * FROM doc_vec(?, 'x')", self.query)
        self.expect_error("NaN", "SELECT * FROM doc_vec(?)", blob(*[float("nan")] * 6))


class Definitions(LiveTest):
    def expect_refused(self, pattern, arguments="content='doc', rowid='id', vector='embedding'", name="doc_vec"):
        before = self.db.execute("SELECT name, sql FROM sqlite_master").fetchall()
        self.expect_error(pattern, f"CREATE VIRTUAL TABLE {name} USING glove_index({arguments})")
        self.assertEqual(self.db.execute("SELECT name, sql FROM sqlite_master").fetchall(), before)

    def test_tables_that_cannot_be_followed(self):
        self.db.execute("CREATE TABLE implicit(v)")
        self.db.execute("CREATE TABLE some(id, a, b, v, rank UNIQUE, UNIQUE(a, b))")
        self.db.execute("CREATE UNIQUE INDEX of_some ON some(id) WHERE id > 3")
        self.db.execute("CREATE UNIQUE INDEX of_lower ON some(lower(id))")
        self.db.execute("CREATE VIEW view AS SELECT * FROM doc")
        self.db.execute("CREATE TEMP TABLE elsewhere(id INTEGER PRIMARY KEY, v)")
        self.expect_refused("the table 'implicit' has no column 'rowid'; rowid must name the columns of a PRIMARY KEY or a UNIQUE index$", "content=implicit, rowid='rowid', vector='v'")
        for key in ("id", "a", "b", "a, b, id", "a, a", "v"):
            self.expect_refused(f"the table 'some' may have several rows with the same value of '{key}'; rowid must name all columns of a PRIMARY KEY or of a UNIQUE index \\(CREATE UNIQUE INDEX makes one\\)",
                                f"content=some, rowid='{key}', vector='v'")
        self.expect_refused("the key has a column 'rank', but the index has one of this name itself", "content=some, rowid='rank', vector='v'")
        self.expect_refused("rowid names 17 columns; a key may have at most 16", "content=some, rowid='%s', vector='v'" % ",".join("x" * 17))
        self.expect_refused("is a view", "content=view, rowid=id, vector=embedding")
        self.expect_refused("no table 'elsewhere' in the schema main", "content=elsewhere, rowid=id, vector=v")
        self.expect_refused("^doc_vec: the table 'doc' has no column 'x', which the argument vector names$", "content=doc, rowid=id, vector=x")
        self.expect_refused("^doc_vec: rowid must be given; write USING", "content=doc")
        self.expect_refused("^doc_vec: content must be given; write USING", "content='', rowid=id, vector=embedding")
        self.expect_refused("^doc_vec: vector or text must be given; write USING", "content=doc, rowid=id")
        self.expect_refused("^doc_vec: there is no model 'none'", "content=doc, rowid=id, text=title, model=none")
        self.expect_refused("doc_vec: content is given more than once", "content=doc, rowid=id, vector=embedding, content=doc")
        self.expect_refused("doc_vec: dims is given more than once", "content=doc, rowid=id, dims=1, vector=embedding, dims=2")
        self.expect_refused("vector and text are given more than once", "content=doc, rowid=id, vector=embedding, text=title")
        self.expect_refused("there is no argument 'dim'", "content=doc, rowid=id, vector=embedding, dim=2")
        self.expect_refused("made by a newer extension", "content=doc, rowid=id, vector=embedding, later=yes")
        self.expect_refused("choose another name", name="rank")

    def test_invalid_rows(self):
        self.create("content=doc, rowid=id, vector=embedding, dims=2")
        self.db.execute("INSERT INTO doc(id, embedding) VALUES (1, ?), (2, ?)", (blob(1, 2), blob(1, 2, 3)))
        self.assertEqual(self.db.execute("SELECT id FROM doc_vec(?)", (blob(1, 2),)).fetchall(), [(1,)])
        self.expect_error("the row 2 of 'doc' has a vector of 3 components, but the index has 2 dimensions",
                          "INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
        self.db.execute("UPDATE doc SET embedding = ? WHERE id = 2", (blob(1, float("inf")),))
        self.expect_error("the row 2 of 'doc' has a vector whose component 2 is infinite",
                          "INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
        self.db.execute("DROP TABLE doc_vec")
        self.expect_refused("the row 2 of 'doc'", "content=doc, rowid=id, vector=embedding")
        self.create("content=doc, rowid=id, vector=embedding, invalid='skip'")
        self.assertEqual(self.db.execute("SELECT id FROM doc_vec(?)", (blob(1, 2),)).fetchall(), [(1,)])
        self.command("integrity-check")

    def test_a_trigger_of_the_user_is_kept(self):
        self.db.execute("CREATE TRIGGER Doc_vec_UPDATE AFTER UPDATE ON doc BEGIN SELECT 1; END")
        self.expect_refused("^doc_vec: there is already a trigger 'doc_vec_update'.*choose another name for the index")
        self.db.execute("CREATE VIRTUAL TABLE other USING glove_index(content=doc, rowid=id, vector=embedding)")
        self.expect_error("already exists", "ALTER TABLE other RENAME TO doc_vec")
        self.assertEqual(self.db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' ORDER BY 1").fetchall(),
                         [("Doc_vec_UPDATE",), ("other_delete",), ("other_insert",), ("other_insert_before",), ("other_update",), ("other_update_before",)])

    def test_rebuild_makes_dropped_tables_again(self):
        self.fill(50)
        self.create()
        for name in ("config", "segment", "block", "dead", "log"):
            self.db.execute(f"DROP TABLE doc_vec_{name}")
            for statement in ("SELECT * FROM doc_vec(x'')", "INSERT INTO doc_vec(doc_vec) VALUES ('sync')",
                              "INSERT INTO doc_vec(doc_vec) VALUES ('integrity-check')"):
                self.expect_error(f"^doc_vec: its table 'doc_vec_{name}' was dropped; run INSERT INTO .*'rebuild'", statement)
            self.command("rebuild")
            self.fill_more()
            self.expect_current()
            self.command("sync")
            self.command("integrity-check")

    def test_drop_leaves_nothing(self):
        before = self.db.execute("SELECT * FROM sqlite_master").fetchall()
        self.fill(5)
        self.create()
        self.db.execute("DROP TABLE doc_vec")
        self.assertEqual(self.db.execute("SELECT * FROM sqlite_master").fetchall(), before)

    def test_rename(self):
        self.fill(50)
        self.create()
        self.db.execute("ALTER TABLE doc_vec RENAME TO \"new \"\"name\"")
        self.fill_more()
        self.db.execute("INSERT INTO \"new \"\"name\"(\"new \"\"name\") VALUES ('sync')")
        query = self.vector()
        self.assertEqual(self.db.execute("SELECT id, similarity, rank FROM \"new \"\"name\"(?, 9)", (query,)).fetchall(),
                         self.brute(query, 9))
        self.db.execute("DROP TABLE \"new \"\"name\"")
        self.assertEqual(self.db.execute("SELECT count(*) FROM sqlite_master WHERE name LIKE '%name%' OR name LIKE '%vec%'")
                         .fetchone(), (0,))

    def test_a_name_of_a_column_is_refused(self):
        self.fill(50)
        self.create()
        for name in ("id", "similarity", "rank", "query", "k", "backend", "RANK"):
            self.expect_error("the table has a column of this name", f"ALTER TABLE doc_vec RENAME TO {name}")
        self.fill_more()
        self.expect_current()
        self.command("sync")

    def test_a_rename_does_not_hide_that_triggers_were_missing(self):
        self.fill(50)
        self.create()
        self.db.execute("DROP TABLE doc")
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, title TEXT UNIQUE, embedding)")
        self.fill_more()
        self.expect_error("the trigger 'doc_vec_insert'.*'rebuild'", "ALTER TABLE doc_vec RENAME TO moved")
        self.command("rebuild")
        self.db.execute("ALTER TABLE doc_vec RENAME TO moved")
        self.db.execute("ALTER TABLE moved RENAME TO doc_vec")
        self.expect_current()

    def fill_more(self):
        for _ in range(20):
            self.db.execute("INSERT INTO doc(embedding) VALUES (?)", (self.vector(),))

    def test_a_changed_table_needs_rebuild(self):
        self.fill(50)
        self.create()
        self.db.execute("DROP TRIGGER doc_vec_update")
        self.db.execute("UPDATE doc SET embedding = ? WHERE id = 3", (self.vector(),))
        query = self.vector()
        self.expect_error("the trigger 'doc_vec_update'.*'rebuild'", "SELECT * FROM doc_vec(?)", query)
        self.expect_error("the trigger 'doc_vec_update'.*'rebuild'", "INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
        self.command("rebuild")
        self.expect_current()
        self.db.execute("ALTER TABLE doc RENAME TO paper")
        self.expect_error("no table 'doc'", "SELECT * FROM doc_vec(?)", query)
        self.db.execute("ALTER TABLE paper RENAME TO doc")
        self.command("rebuild")
        self.expect_current()
        self.command("integrity-check")

    def test_rows_that_changed_without_the_triggers(self):
        self.fill(50)
        self.create()
        self.db.execute("DELETE FROM doc_vec_log")
        triggers = self.db.execute("SELECT name, sql FROM sqlite_master WHERE name LIKE 'doc_vec_update%'").fetchall()
        for name, _ in triggers:
            self.db.execute("DROP TRIGGER " + name)
        self.db.execute("UPDATE doc SET embedding = ? WHERE id = 3", (blob(*range(6)),))
        for _, sql in triggers:
            self.db.execute(sql)
        self.expect_error("the row 3 of 'doc' has another vector than the index", "INSERT INTO doc_vec(doc_vec) VALUES "
                          "('integrity-check')")


class Texts(LiveTest):
    WORDS = "sun rain storm piano violin lemon banana".split()

    def setUp(self):
        super().setUp()
        self.load("m")
        self.db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT)")

    def load(self, name):
        rows = [(word, "[" + ",".join(str(self.random.gauss(0, 1)) for _ in range(4)) + "]") for word in self.WORDS]
        self.db.execute("CREATE TEMP TABLE IF NOT EXISTS words(word TEXT, v TEXT)")
        self.db.execute("DELETE FROM words")
        self.db.executemany("INSERT INTO words VALUES (?, ?)", rows)
        self.db.execute("SELECT glove_load_table(?, 'SELECT word, v FROM words')", (name,)).fetchall()

    def text(self):
        return self.random.choice((None, "", "unknown", " ".join(self.random.choices(self.WORDS, k=3))))

    def write(self, rows):
        for _ in range(rows):
            self.db.execute("INSERT INTO note(title, body) VALUES (?, ?)", (self.text(), self.text()))

    def expect_current(self, db=None):
        query = " ".join(self.random.choices(self.WORDS, k=2))
        expected = self.db.execute(
            "SELECT id, s FROM (SELECT id, cos_sim(glove_text_vec(ifnull(title, '') || char(10) || ifnull(body, ''), 'm'), "
            "glove_text_vec(?, 'm')) AS s FROM note) WHERE s IS NOT NULL ORDER BY s DESC, id", (query,)).fetchall()
        self.assertEqual(self.db.execute("SELECT id, similarity FROM note_vec(?)", (query,)).fetchall(), expected)
        self.assertEqual(self.db.execute("SELECT id, similarity FROM note_vec(?, 4)", (query,)).fetchall(), expected[:4])

    def test_texts_are_followed(self):
        self.write(300)
        self.db.execute("CREATE VIRTUAL TABLE note_vec USING glove_index(content=note, rowid=id, text='title, body', model=m)")
        self.expect_current()
        self.write(20)
        self.db.execute("UPDATE note SET body = 'piano violin' WHERE id % 9 = 0")
        self.expect_current()
        self.db.execute("INSERT INTO note_vec(note_vec) VALUES ('sync')")
        self.expect_current()
        self.db.execute("INSERT INTO note_vec(note_vec) VALUES ('integrity-check')")

    def index_texts(self, rows):
        self.write(rows)
        self.db.execute("CREATE VIRTUAL TABLE note_vec USING glove_index(content=note, rowid=id, text='title, body', model=m)")

    def run_command(self, name):
        self.db.execute("INSERT INTO note_vec(note_vec) VALUES (?)", (name,))

    def expect_candidates_from(self, texts, vectors):
        """Expects that a query reads the texts of its candidates, or their stored vectors, or both."""
        statements = []
        self.db.set_trace_callback(statements.append)
        self.db.execute("SELECT id FROM note_vec('rain piano', 4)").fetchall()
        self.db.set_trace_callback(None)
        self.assertEqual(any("body" in s and "note_vec_log" not in s for s in statements), texts)
        self.assertEqual(any("note_vec_vector" in s for s in statements), vectors)

    def test_vectors_of_candidates_are_stored(self):
        self.index_texts(1500)
        self.expect_candidates_from(texts=False, vectors=True)
        for _ in range(30):
            self.write(self.random.randrange(1, 40))
            self.db.execute("DELETE FROM note WHERE id % 37 = ?", (self.random.randrange(37),))
            self.db.execute("UPDATE note SET title = ? WHERE id % 41 = ?", (self.text(), self.random.randrange(41)))
            self.run_command(self.random.choice(("sync", "sync", "merge", "rebuild")))
            self.run_command("integrity-check")
            self.expect_current()
        self.expect_candidates_from(texts=False, vectors=True)
        self.assertEqual(self.db.execute("SELECT DISTINCT id >> 32 FROM note_vec_vector ORDER BY 1").fetchall(),
                         self.db.execute("SELECT id FROM note_vec_segment ORDER BY 1").fetchall())
        self.run_command("merge")
        self.assertEqual(self.db.execute("SELECT sum(length(vectors)) FROM note_vec_vector").fetchone(),
                         self.db.execute("SELECT (16 + 16) * rows FROM glove_indexes").fetchone())
        self.db.execute("DELETE FROM note")
        self.run_command("merge")
        self.assertEqual(self.db.execute("SELECT * FROM note_vec_vector").fetchall(), [])
        self.db.execute("ALTER TABLE note_vec RENAME TO other")
        self.db.execute("DROP TABLE other")
        self.assertEqual(self.db.execute("SELECT name FROM sqlite_schema").fetchall(), [("doc",), ("sqlite_autoindex_doc_1",), ("note",)])

    def test_damaged_vectors_are_not_used(self):
        self.index_texts(1500)
        changes = ("DELETE FROM note_vec_vector", "UPDATE note_vec_vector SET vectors = x'0000'", "UPDATE note_vec_vector SET vectors = NULL",
                   "UPDATE note_vec_vector SET vectors = zeroblob(length(vectors))", "UPDATE note_vec_vector SET id = id + 1 WHERE id & 0x80000000 = 0",
                   "UPDATE note_vec_vector SET id = 5 WHERE id % 2 = 0 AND id & 0x80000000 = 0", "UPDATE note_vec_vector SET id = -id")
        for change in changes:
            self.db.execute(change)
            self.expect_current()
            self.expect_candidates_from(texts=True, vectors=True)
            self.expect_error(r"the row \d+ of 'note' has a text whose stored vector is another one.*'rebuild'", "INSERT INTO note_vec(note_vec) VALUES ('integrity-check')")
            self.db.execute("DELETE FROM note WHERE id = (SELECT id FROM note_vec('rain') LIMIT 1)")
            before = self.db.execute("SELECT * FROM note_vec_vector").fetchall()
            for begin, end in (("SELECT 1", "SELECT 1"), ("BEGIN", "COMMIT")):
                self.db.execute(begin)
                self.expect_error("note_vec is damaged.*'rebuild'", "INSERT INTO note_vec(note_vec) VALUES ('merge')")
                self.db.execute(end)
                self.assertEqual(self.db.execute("SELECT * FROM note_vec_vector").fetchall(), before)
            self.expect_current()
            self.db.execute("UPDATE note_vec_vector SET id = 9223372036854775807 WHERE id = (SELECT max(id) FROM note_vec_vector)")
            self.expect_current()
            self.run_command("rebuild")
            self.run_command("integrity-check")
            self.expect_candidates_from(texts=False, vectors=True)

    def test_a_rebuild_that_fails_keeps_the_vectors(self):
        # All words but one have one direction, which is removed from the text 'huge': its first component is then above 1.3 * 3e38.
        words = [(f"w{i}", blob(-0.9e38, 1.65e38, 1.65e38, 1.65e38)) for i in range(400)] + [("huge", blob(3e38, 3e38, 3e38, 3e38))]
        self.db.execute("CREATE TABLE long(word, v)")
        self.db.executemany("INSERT INTO long VALUES (?, ?)", words)
        self.db.execute("SELECT glove_load_table('long', 'SELECT word, v FROM long')").fetchall()
        self.db.executemany("INSERT INTO note(title) VALUES (?)", ((f"w{i}",) for i in range(400)))
        options = '{"weights":"none","components":1}'
        self.db.execute(f"CREATE VIRTUAL TABLE note_vec USING glove_index(content=note, rowid=id, text=title, model=long, options='{options}')")
        self.db.execute("INSERT INTO note(title) VALUES ('w1'), ('huge')")
        tables = ("segment", "block", "dead", "vector", "log")
        # A damaged block may have any id, also one above those of all segments.
        for id in ("id", "((1 << 31) - 1) << 32", "9223372036854775807"):
            self.db.execute("UPDATE note_vec_vector SET id = " + id + " WHERE id = (SELECT max(id) FROM note_vec_vector)")
            before = [self.db.execute(f"SELECT * FROM note_vec_{name}").fetchall() for name in tables]
            for command in ("sync", "merge", "rebuild"):
                self.db.execute("BEGIN")
                self.expect_error("the row 402 of 'note' has a text without a vector: component 1 of the vector of the text overflows float32", f"INSERT INTO note_vec(note_vec) VALUES ('{command}')")
                self.db.execute("COMMIT")
                self.assertEqual([self.db.execute(f"SELECT * FROM note_vec_{name}").fetchall() for name in tables], before)
        self.db.execute("DELETE FROM note WHERE title = 'huge'")
        for _ in range(3):
            self.run_command("rebuild")
            self.run_command("integrity-check")

    def test_an_index_of_texts_without_vectors_needs_rebuild(self):
        self.index_texts(20)
        self.db.execute("UPDATE note_vec_config SET value = 1 WHERE key = 'version'")
        self.db.execute("DROP TABLE note_vec_vector")
        for statement in ("SELECT * FROM note_vec('rain')", "INSERT INTO note_vec(note_vec) VALUES ('sync')"):
            self.expect_error("format version 1, but this extension reads version 2; .*'rebuild'", statement)
        self.run_command("rebuild")
        self.expect_current()
        self.run_command("integrity-check")

    def test_the_check_of_the_database_says_why_it_cannot_check(self):
        def check():
            return "; ".join(row for row, in self.db.execute("PRAGMA integrity_check"))
        checks_indexes = sqlite3.sqlite_version_info >= (3, 44)
        self.index_texts(20)
        self.assertEqual(check(), "ok")
        self.db.execute("SELECT glove_unload('m')").fetchall()
        self.assertEqual(check(), "ok")
        self.load("m")
        self.assertRegex(check(), "^note_vec: the model 'm' has the fingerprint .*'rebuild'" if checks_indexes else "^ok$")
        self.db.execute("UPDATE note_vec_config SET value = 77 WHERE key = 'version'")
        self.assertRegex(check(), "^note_vec has the format version 77, but" if checks_indexes else "^ok$")
        self.run_command("rebuild")
        self.assertEqual(check(), "ok")

    def test_an_index_of_texts_whose_vectors_were_dropped_needs_rebuild(self):
        self.index_texts(20)
        self.db.execute("DROP TABLE note_vec_vector")
        pattern = "^note_vec: its table 'note_vec_vector' was dropped; run INSERT .*'rebuild'.*, which makes it again$"
        for statement in ("SELECT * FROM note_vec('rain')", "INSERT INTO note_vec(note_vec) VALUES ('sync')"):
            self.expect_error(pattern, statement)
        self.assertRegex(self.db.execute("SELECT state FROM glove_indexes").fetchone()[0], pattern)
        self.run_command("rebuild")
        self.expect_current()
        self.run_command("integrity-check")
        self.assertEqual(self.db.execute("SELECT state FROM glove_indexes").fetchone(), ("current",))

    def test_the_size_of_stored_vectors(self):
        dims, rows = 100, 3000
        self.db.execute("CREATE TABLE wide(word TEXT, v BLOB)")
        self.db.executemany("INSERT INTO wide VALUES (?, ?)", (
            (f"w{i}", blob(*(self.random.gauss(0, 1) for _ in range(dims)))) for i in range(300)))
        self.db.execute("SELECT glove_load_table('wide', 'SELECT word, v FROM wide')").fetchall()
        self.db.executemany("INSERT INTO note(title) VALUES (?)", ((f"w{i % 300} w{i // 300}",) for i in range(rows)))

        def pages():
            self.db.execute("VACUUM")
            return self.db.execute("PRAGMA page_count").fetchone()[0] * 4096
        before = pages()
        create = "CREATE VIRTUAL TABLE wide_vec USING glove_index(content=note, rowid=id, text=title, model=wide)"
        self.db.execute(create)
        self.assertLessEqual(pages() - before, 1.4 * rows * dims * 4 + 17 * rows)
        self.db.execute("DELETE FROM note WHERE id % 2")
        self.db.execute("INSERT INTO wide_vec(wide_vec) VALUES ('merge')")
        half = pages()
        self.db.execute("DROP TABLE wide_vec")
        self.db.execute(create)
        self.assertLessEqual(half, 1.1 * pages())

    def test_another_model_needs_rebuild(self):
        self.write(100)
        self.db.execute("CREATE VIRTUAL TABLE note_vec USING glove_index(content=note, rowid=id, text='title, body', model=m)")
        self.db.execute("SELECT glove_unload('m')").fetchall()
        self.load("other")
        self.write(3)
        self.expect_error("'m'", "SELECT * FROM note_vec('rain')")
        self.expect_error("'m'", "INSERT INTO note_vec(note_vec) VALUES ('sync')")
        self.load("m")
        self.expect_error("has the fingerprint 7x4:.*made by one with 7x4:.*'rebuild'", "SELECT * FROM note_vec('rain')")
        self.expect_error("fingerprint", "INSERT INTO note_vec(note_vec) VALUES ('sync')")
        self.db.execute("INSERT INTO note_vec(note_vec) VALUES ('rebuild')")
        self.expect_current()

    def test_an_index_of_the_first_version_keeps_its_words(self):
        self.db.execute("CREATE TABLE zh AS SELECT column1 AS w, column2 AS v FROM (VALUES ('早上', '[1,0]'), ('早', '[0,1]'), ('上', '[0,1]'))")
        self.db.execute("SELECT glove_load_table('zh', 'SELECT w, v FROM zh')").fetchall()
        for options in '{"components":0}', ' { "weights":"none", "components":0 } ':
            self.db.execute("CREATE VIRTUAL TABLE note_vec USING "
                            f"glove_index(content=note, rowid=id, text=title, model=zh, options='{options}')")
            [version] = self.db.execute("UPDATE note_vec_config SET value = replace(value, ':2:', ':1:') WHERE key = 'fingerprint' "
                                        "RETURNING value GLOB '*:1:*'").fetchone()
            self.assertTrue(version)
            self.db.execute("INSERT INTO note(id, title) VALUES (1, '早上'), (2, '早')")
            of_texts = "SELECT group_concat(id || ' ' || similarity) FROM note_vec('早上')"
            for _ in range(2):  # from the log, and from the index
                self.assertEqual(self.db.execute(of_texts).fetchone(), ("1 1.0,2 1.0",))
                self.run_command("sync")
                self.run_command("integrity-check")
            self.run_command("rebuild")
            self.assertEqual(self.db.execute(of_texts).fetchone(), ("1 1.0,2 0.0",))
            self.run_command("integrity-check")
            self.db.execute("DELETE FROM note")
            self.db.execute("DROP TABLE note_vec")

    def test_texts_as_queries_of_vectors(self):
        # Without common components: of four dimensions these would leave one, in which all words are alike.
        options = '{"components":0}'
        self.db.execute("INSERT INTO doc(id, embedding) SELECT rowid, glove_text_vec(word, 'm', ?) FROM words", (options,))
        self.create(f"content=doc, rowid=id, vector=embedding, model=m, options='{options}'")
        for id, word in self.db.execute("SELECT rowid, word FROM words").fetchall():
            self.assertEqual(self.db.execute("SELECT id, similarity FROM doc_vec(?, 1)", (word,)).fetchall(), [(id, 1.0)])
        self.assertEqual(self.db.execute("SELECT id FROM doc_vec('unknown')").fetchall(), [])
        self.assertEqual(self.db.execute("SELECT id FROM doc_vec(NULL)").fetchall(), [])


class Files(LiveTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory(prefix="glove-live-")
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "doc.db")
        self.db = connect(self.path)
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, title TEXT UNIQUE, embedding)")

    def test_writers_without_the_extension(self):
        self.fill(1100)
        self.create()
        writer = connect(self.path, extension=False)
        writer.execute("PRAGMA trusted_schema = OFF")
        writer.execute("DELETE FROM doc WHERE id % 7 = 0")
        writer.execute("INSERT INTO doc(embedding) VALUES (?)", (self.vector(),))
        self.expect_current()
        self.command("sync")
        self.expect_current()
        self.command("integrity-check")

    def test_reopened_vacuumed_attached_and_read_only(self):
        self.fill(1100)
        self.create()
        self.db.execute("DELETE FROM doc WHERE id % 7 = 0")
        self.db.execute("VACUUM")
        self.db.close()
        self.db = connect(self.path)
        self.expect_current()
        self.command("integrity-check")
        other = connect()
        other.execute("ATTACH ? AS a", (self.path,))
        query = self.vector()
        self.assertEqual(other.execute("SELECT id, similarity, rank FROM a.doc_vec(?, 5)", (query,)).fetchall(),
                         self.brute(query, 5))
        other.execute("INSERT INTO a.doc_vec(doc_vec) VALUES ('sync')")
        other.close()
        reader = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        reader.enable_load_extension(True)
        reader.load_extension(EXTENSION)
        self.expect_current(reader)
        with self.assertRaises(sqlite3.Error):
            self.command("rebuild", reader)

    def test_the_indexes_of_a_connection(self):
        self.fill(20)
        self.create()
        self.db.execute("DELETE FROM doc WHERE id < 9")
        self.command("sync")
        self.db.execute("UPDATE doc SET embedding = NULL WHERE id = 9")
        self.db.execute("ATTACH ? AS other", (os.path.join(self.folder.name, "other.db"),))
        self.db.execute("CREATE TABLE other.doc(id INTEGER PRIMARY KEY, v)")
        self.db.execute("CREATE VIRTUAL TABLE other.o USING glove_index(content=doc, rowid=id, vector=v)")
        self.assertEqual(
            self.db.execute("SELECT schema, name, rows, segments, dead, logged, bytes > 100, state FROM glove_indexes").fetchall(),
            [("main", "doc_vec", 17, 1, 3, 1, 1, "changed"), ("other", "o", 0, 0, 0, 0, 0, "current")])

    def test_the_state_of_an_index_that_cannot_be_queried(self):
        def states():
            return [state for state, in self.db.execute("SELECT state FROM glove_indexes")]
        self.fill(3)
        self.create("content = 'doc' /* ), */, rowid=[id], -- ),\n vector = \"embedding\", options='{\"components\": 0}', model='a)'','")
        self.db.execute('ALTER TABLE doc_vec RENAME TO "using glove_index(""v"')
        self.assertEqual(states(), ["current"])
        self.db.execute('DROP TRIGGER "using glove_index(""v_delete"')
        self.assertRegex(states()[0], "the trigger 'using glove_index\\(\"v_delete' on 'doc' was dropped.*rebuild")
        self.db.execute('INSERT INTO "using glove_index(""v"("using glove_index(""v") VALUES (\'rebuild\')')
        self.assertEqual(states(), ["current"])
        self.db.execute("ALTER TABLE doc RENAME COLUMN embedding TO e")
        self.assertRegex(states()[0], "the table 'doc' has no column 'embedding'")
        self.db.execute("ALTER TABLE doc RENAME COLUMN e TO embedding")
        self.db.execute("DROP TABLE doc")
        self.assertRegex(states()[0], "there is no table 'doc'")
        self.assertRegex(states()[0], "^[^;]*: there is no table 'doc' in the schema main; it was dropped since it was indexed: "
                         "create it again and run INSERT .*'rebuild'.*, or drop the index$")
        self.db.execute("CREATE VIEW doc AS SELECT 1 AS id, 2 AS embedding")
        self.assertRegex(states()[0], "'doc' is a view; .*: change it back and run INSERT .*'rebuild'")

    def test_the_remedy_for_a_renamed_table_works(self):
        self.fill(3)
        self.create()
        self.db.execute("ALTER TABLE doc RENAME TO papers")
        with self.assertRaisesRegex(sqlite3.Error, "it was renamed to 'papers' since it was indexed: give it its old name again, "
                                    "or drop the index and create it for that table$"):
            self.db.execute("SELECT * FROM doc_vec(?)", (self.vector(),))
        self.db.execute("INSERT INTO papers(id, embedding) VALUES (9, ?)", (self.vector(),))
        self.db.execute("ALTER TABLE papers RENAME TO doc")
        self.expect_current()
        self.db.execute("ALTER TABLE doc RENAME TO papers")
        self.db.execute("DROP TABLE doc_vec")
        self.db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='papers', rowid='id', vector='embedding')")
        self.assertEqual(self.db.execute("SELECT rows, state FROM glove_indexes").fetchall(), [(4, "current")])

    def test_the_state_names_a_dropped_table(self):
        self.db.execute("CREATE VIRTUAL TABLE other USING fts5('glove_index using glove_index')")
        for table in ("config", "segment", "block", "dead", "log"):
            for queried in (False, True):
                self.db.execute("DELETE FROM doc")
                self.fill(3)
                self.create()
                self.db.execute(f"DROP TABLE doc_vec_{table}")
                if queried:
                    with self.assertRaisesRegex(sqlite3.Error, f"its table 'doc_vec_{table}' was dropped"):
                        self.db.execute("SELECT * FROM doc_vec(?)", (self.vector(),))
                (name, state), = self.db.execute("SELECT name, state FROM glove_indexes")
                self.assertEqual(name, "doc_vec")
                self.assertRegex(state, f"^doc_vec: its table 'doc_vec_{table}' was dropped; run INSERT .*'rebuild'.*, which makes it again")
                self.command("rebuild")
                self.assertEqual(self.db.execute("SELECT name, rows, state FROM glove_indexes").fetchall(), [("doc_vec", 3, "current")])
                self.db.execute("DROP TABLE doc_vec")

    def test_indexes_are_found_by_their_module(self):
        self.fill(3)
        for module in ("GLOVE_INDEX", '"glove_index"', "[Glove_Index]", "/* fts5 */ glove_index"):
            self.db.execute(f"CREATE VIRTUAL TABLE doc_vec -- the\n using {module}(content='doc', rowid='id', vector='embedding')")
            self.assertEqual(self.db.execute("SELECT name, state FROM glove_indexes").fetchall(), [("doc_vec", "current")])
            self.db.execute("DROP TABLE doc_vec")

    def reads_the_log(self, db):
        """Whether a query on the connection reads the log."""
        statements = []
        db.set_trace_callback(statements.append)
        db.execute("SELECT id FROM doc_vec(?, 3)", (self.vector(),)).fetchall()
        db.set_trace_callback(None)
        return any("doc_vec_log" in statement for statement in statements)

    def test_the_log_is_read_once_per_statement_of_a_transaction_that_wrote(self):
        self.fill(1200)
        self.create()
        self.db.execute("BEGIN")
        for n in range(3):
            self.db.execute("UPDATE doc SET embedding = ? WHERE id % 5 = ?", (self.vector(), n))
            query, statements = self.vector(), []
            self.db.set_trace_callback(statements.append)
            ranks = self.db.execute("SELECT d.id, (SELECT max(v.rank) FROM doc_vec v WHERE v.query = ?1 AND v.id = d.id) FROM doc d ORDER BY 2", (query,)).fetchall()
            self.db.set_trace_callback(None)
            self.assertLess(sum("doc_vec_log" in statement for statement in statements), 10)
            self.assertEqual([id for id, rank in ranks if rank], [id for id, in self.db.execute("SELECT id FROM doc_vec(?, 2000) ORDER BY rank", (query,))])
            self.db.execute("SAVEPOINT s")
            self.db.execute("UPDATE doc SET embedding = NULL WHERE id = (SELECT id FROM doc_vec(?, 1))", (query,))
            self.expect_current()
            self.db.execute("ROLLBACK TO s")
            self.expect_current()
        self.db.execute("COMMIT")
        self.expect_current()

    def test_the_log_is_read_once_per_commit(self):
        for journal in ("delete", "wal"):
            self.db.execute(f"PRAGMA journal_mode = {journal}")
            self.db.execute("DROP TABLE IF EXISTS doc_vec")
            self.db.execute("DELETE FROM doc")
            self.fill(1200)  # so many that a query does not read the whole table
            self.create()
            self.db.execute("UPDATE doc SET embedding = ? WHERE id < 30", (self.vector(),))
            writer = connect(self.path, extension=False)
            self.assertEqual([self.reads_the_log(self.db) for _ in range(3)], [True, False, False])
            change = "UPDATE doc SET embedding = ? WHERE id = 9"
            rollbacks = (("BEGIN", "ROLLBACK"), ("SAVEPOINT s", "ROLLBACK TO s"), ("SAVEPOINT s", "ROLLBACK TO s", "RELEASE s"),
                         ("BEGIN", "COMMIT"))
            for begin, *ends in rollbacks:
                self.db.execute(begin)
                self.db.execute(change, (self.vector(),))
                self.assertTrue(self.reads_the_log(self.db) and self.reads_the_log(self.db))
                self.expect_current()
                for end in ends:
                    self.db.execute(end)
                    self.expect_current()
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
                self.expect_current()
                self.assertFalse(self.reads_the_log(self.db))
            self.db.execute("BEGIN")  # a transaction that only reads has one version
            self.expect_current()
            self.assertFalse(self.reads_the_log(self.db))
            if journal == "wal":
                writer.execute(change, (self.vector(),))
                self.assertFalse(self.reads_the_log(self.db))
                self.expect_current()
            self.db.execute("COMMIT")
            for change_it in (
                    lambda: writer.execute(change, (self.vector(),)), lambda: writer.execute("DELETE FROM doc WHERE id = 12"),
                    lambda: self.db.execute(change, (self.vector(),)), lambda: self.db.execute("DELETE FROM doc WHERE id = 15"),
                    lambda: self.command("sync"), lambda: self.db.execute("UPDATE doc SET embedding = NULL WHERE id = 18"),
                    lambda: self.db.execute("VACUUM"), lambda: self.overwrite(),
                    lambda: self.db.execute("UPDATE doc SET embedding = ?", (self.vector(),))):
                change_it()
                self.expect_current()
                self.assertFalse(self.reads_the_log(self.db))
            writer.close()

    def overwrite(self):
        """Copies another database over this one."""
        other = connect(os.path.join(self.folder.name, "other.db"))
        self.db.backup(other)
        other.execute("UPDATE doc SET embedding = ? WHERE id % 2", (self.vector(),))
        other.backup(self.db)
        other.close()

    def share_a_cache(self, name):
        """Two connections with the same page cache, over an empty table."""
        address = f"file:{name}{SEED}?mode=memory&cache=shared"
        connections = [sqlite3.connect(address, uri=True, isolation_level=None, timeout=0) for _ in range(2)]
        for db in connections:
            db.enable_load_extension(True)
            db.load_extension(EXTENSION)
        connections[0].execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, title TEXT UNIQUE, embedding)")
        return connections

    def test_what_other_connections_may_undo_is_not_kept(self):
        first, second = self.share_a_cache("undo")
        self.db = first
        self.fill(1200)
        self.create()
        first.execute("UPDATE doc SET embedding = ? WHERE id < 12", (self.vector(),))
        self.expect_current()
        self.assertFalse(self.reads_the_log(first))
        first.execute("PRAGMA read_uncommitted = 1")
        second.execute("BEGIN")
        for end in ("ROLLBACK", "COMMIT"):
            second.execute("UPDATE doc SET embedding = ? WHERE id < 12", (self.vector(),))
            self.expect_current()
            second.execute(end)
            self.expect_current()
            second.execute("BEGIN")
        second.execute("ROLLBACK")
        first.execute("PRAGMA read_uncommitted = 0")
        self.expect_current()
        first.close()
        second.close()

    def test_a_reader_of_a_shared_cache_stops_a_command_before_its_first_write(self):
        writer, reader = self.share_a_cache("locks")
        self.db = writer
        self.fill(40)
        self.create()
        writer.execute("INSERT INTO doc VALUES (1, 'one', ?)", (self.vector(),))
        self.command("sync")
        self.expect_current()
        for command in ("sync", "merge", "rebuild"):
            writer.execute("UPDATE doc SET embedding = ? WHERE id < 9", (self.vector(),))
            self.expect_current()  # the process has the segments now, so that the reader does not lock their blocks
            tables = [writer.execute(f"SELECT * FROM doc_vec_{name}").fetchall() for name in ("segment", "block", "dead", "log")]
            reader.execute("BEGIN")
            reader.execute("SELECT id FROM doc_vec(?, 3)", (self.vector(),)).fetchall()
            writer.execute("BEGIN")
            with self.assertRaisesRegex(sqlite3.OperationalError, "locked"):
                self.command(command)
            reader.execute("COMMIT")
            writer.execute("COMMIT")
            self.assertEqual(
                [writer.execute(f"SELECT * FROM doc_vec_{name}").fetchall() for name in ("segment", "block", "dead", "log")], tables)
            self.expect_current()
            self.command("integrity-check")
            self.command(command)
            self.command("integrity-check")
        reader.close()
        writer.close()

    def test_a_locked_database_is_busy(self):
        self.fill(20)
        self.create()
        other = connect(self.path)
        other.execute("PRAGMA busy_timeout = 0")
        self.db.execute("BEGIN IMMEDIATE")
        with self.assertRaisesRegex(sqlite3.OperationalError, "locked"):
            self.command("merge", other)
        self.db.execute("ROLLBACK")
        self.command("merge", other)

    def test_damage_is_an_error_or_an_answer(self):
        self.fill(40)
        self.create()
        self.db.execute("DELETE FROM doc WHERE id = 9")
        self.command("sync")
        query = self.vector()
        data, = self.db.execute("SELECT data FROM doc_vec_block").fetchone()
        for place in range(0, len(data), 7):
            damaged = bytearray(data)
            damaged[place] ^= 1 << self.random.randrange(8)
            self.db.execute("UPDATE doc_vec_block SET data = ?", (bytes(damaged),))
            other = connect(self.path)
            self.db.close() if place == 0 else None
            if place == 0:
                self.db = connect(self.path)
            with self.assertRaisesRegex(sqlite3.Error, "doc_vec is damaged.*rebuild"):
                other.execute("INSERT INTO doc_vec(doc_vec) VALUES ('integrity-check')")
            other.close()
        self.command("rebuild")
        self.expect_current()
        for table, column in (("segment", "uuid"), ("segment", "rows"), ("segment", "crc"), ("dead", "bits"),
                              ("dead", "segment"), ("config", "value"), ("block", "number")):
            for value in (None, 0, -1, 1 << 40, 3, "x", b"", b"\xff" * 5):
                self.db.execute("BEGIN")
                self.db.execute("INSERT OR IGNORE INTO doc_vec_dead SELECT id, zeroblob((rows + 7) / 8) FROM doc_vec_segment")
                try:
                    self.db.execute(f"UPDATE doc_vec_{table} SET {column} = ?", (value,))
                    self.db.execute("SELECT * FROM doc_vec(?, 2)", (query,)).fetchall()
                except sqlite3.Error:
                    pass
                self.db.execute("ROLLBACK")
        self.expect_current()


if __name__ == "__main__":
    unittest.main()
