"""The codes of logged rows that a connection keeps in memory, and rows that REPLACE has deleted without a trigger.

    log_test.py EXTENSION [TEST...]

Answers are compared with a full scan; work is counted in steps of SQLite's virtual machine. GLOVE_TEST_SEED repeats a run.
"""
import array
import os
import random
import sys
import tempfile
import unittest

import fixture

EXTENSION = None
SEED = os.environ.get("GLOVE_TEST_SEED") or str(random.randrange(1 << 31))
DIMS = 16
CREATE = "CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec', lists=none)"
STEPS = 100  # between two calls of the progress handler


class Live(unittest.TestCase):
    def setUp(self):
        self.source = random.Random("%s %s" % (SEED, self.id()))
        folder = tempfile.TemporaryDirectory(prefix="glove-live-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "live.db")
        self.db = self.connect()
        self.db.execute("PRAGMA journal_mode = wal")
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, code INTEGER UNIQUE, vec)")

    def run(self, result=None):
        with self.subTest(seed=SEED):
            return super().run(result)

    def connect(self):
        connection = fixture.connect(self.path, EXTENSION)
        self.addCleanup(connection.close)
        return connection

    def vector(self, topic=None, spread=0.3):
        noise = [self.source.gauss(0, 1) for _ in range(DIMS)]
        return array.array("f", noise if topic is None else [10 * (i == topic) + spread * x for i, x in enumerate(noise)]).tobytes()

    def fill(self, rows, topics=None):
        self.db.executemany("INSERT INTO doc(code, vec) VALUES (?, ?)",
                            ((i, self.vector(None if topics is None else i % topics)) for i in range(self.rows(), self.rows() + rows)))

    def rows(self):
        return self.db.execute("SELECT count(*) FROM doc").fetchone()[0]

    def nearest(self, query, k=10, db=None):
        return (db or self.db).execute("SELECT id, similarity FROM doc_vec WHERE query = ? AND k = ?", (query, k)).fetchall()

    def expect_right(self, query=None, db=None):
        query = query or self.vector()
        self.assertEqual(self.nearest(query, db=db), (db or self.db).execute(
            "SELECT id, cos_sim(vec, ?1) AS s FROM doc WHERE s NOT NULL ORDER BY s DESC, id LIMIT 10", (query,)).fetchall())

    def steps(self, query, db=None):
        """The work of a query; reading a row of the table takes about ten steps."""
        calls = []
        (db or self.db).set_progress_handler(lambda: calls.append(1) and None, STEPS)
        self.nearest(query, db=db)
        (db or self.db).set_progress_handler(None, 0)
        return STEPS * len(calls)

    def reads(self, query):
        """How many rows of the table a query reads by their keys."""
        statements = []
        self.db.set_trace_callback(statements.append)
        self.nearest(query)
        self.db.set_trace_callback(None)
        return sum("WHERE d." in statement for statement in statements)

    def dead(self, db=None):
        return (db or self.db).execute("SELECT dead FROM glove_indexes").fetchone()[0]


class Gone(Live):
    ROWS, TOPICS = 8000, 16
    PER_TOPIC = ROWS // TOPICS

    def setUp(self):
        super().setUp()
        self.db.execute("BEGIN")
        self.fill(self.ROWS, self.TOPICS)
        self.db.execute("COMMIT")
        self.db.execute(CREATE)

    def replace(self, topic=3, to=5):
        """Writes all rows of a topic again, with other keys and another topic."""
        self.db.executemany("INSERT OR REPLACE INTO doc(code, vec) VALUES (?, ?)",
                            ((i, self.vector(to)) for i in range(topic, self.ROWS, self.TOPICS)))

    def test_they_are_remembered_and_counted(self):
        query = self.vector(3)
        before = self.steps(query)
        self.db.execute("BEGIN")
        self.replace()
        self.db.execute("COMMIT")
        self.assertLess(self.steps(query), 10 * self.ROWS, "the search read the whole table")
        self.expect_right(query)
        self.assertLess(self.steps(query), 2 * before + 1000)
        self.assertEqual(self.dead(), self.PER_TOPIC)
        self.db.execute("INSERT INTO doc(vec) VALUES (?)", (self.vector(3),))  # another version
        self.assertLess(self.steps(query), 2 * before + 30 * self.PER_TOPIC)
        self.expect_right(query)
        self.assertEqual(self.dead(), self.PER_TOPIC)

    def test_sync_finds_them(self):
        self.db.execute("BEGIN")
        self.replace()
        self.db.execute("COMMIT")
        fixture.command(self.connect(), "sync")  # a connection that has not searched
        self.assertEqual(self.dead(), self.PER_TOPIC)
        self.expect_right(self.vector(3))
        fixture.command(self.db, "integrity-check")

    def test_sync_finds_what_a_search_has_found(self):
        self.db.execute("INSERT INTO doc(vec) SELECT NULL FROM doc")  # so many that the number of rows does not tell
        fixture.command(self.db, "sync")
        self.replace()
        for _ in range(2):
            self.expect_right(self.vector(3))
        fixture.command(self.db, "sync")
        self.assertEqual(self.dead(), self.PER_TOPIC)
        self.assertEqual(self.connect().execute("SELECT dead FROM glove_indexes").fetchone()[0], self.PER_TOPIC)

    def test_rows_come_back(self):
        query = self.vector(3)
        for end in ("ROLLBACK", "ROLLBACK TO s", "COMMIT"):
            self.expect_right(query)
            self.db.execute("BEGIN")
            self.db.execute("SAVEPOINT s")
            self.replace()
            self.expect_right(query)
            self.db.execute(end)
            self.expect_right(query)
            if self.db.in_transaction:
                self.db.execute("COMMIT")
            self.expect_right(query)
        # Rows with the keys that were deleted.
        self.db.executemany("INSERT INTO doc(id, vec) VALUES (?, ?)", ((i + 1, self.vector(3)) for i in range(3, 999, self.TOPICS)))
        self.expect_right(query)
        fixture.command(self.db, "sync")
        self.expect_right(query)
        fixture.command(self.db, "integrity-check")

    def test_rows_are_gone_only_for_a_statement_that_reads_on(self):
        """Pieces of a ranking are searched while its connection has written what it then takes back."""
        query = self.vector(3)
        self.expect_right(query)
        ranking = self.db.execute("SELECT id FROM doc_vec WHERE query = ? ORDER BY rank", (query,))
        ranking.fetchmany(3)
        self.db.execute("SAVEPOINT s")
        self.replace()
        ranking.fetchmany(400)
        self.db.execute("ROLLBACK TO s")
        self.expect_right(query)
        ranking.close()
        self.db.execute("RELEASE s")
        self.expect_right(query)
        self.assertEqual(self.dead(), 0)

    def test_logged_rows_that_are_gone(self):
        """REPLACE deletes rows that are in the log already, of which a connection keeps vectors, or codes."""
        for rows in (100, 600):
            query = self.vector(9)
            for to in (9, 9, 5):
                self.db.execute("BEGIN")
                self.db.executemany("INSERT OR REPLACE INTO doc(code, vec) VALUES (?, ?)", ((i, self.vector(to)) for i in range(rows)))
                self.db.execute("COMMIT")
                for _ in range(2):
                    self.expect_right(query)
            fixture.command(self.db, "sync")

    def test_another_connection_reads_an_older_version(self):
        query = self.vector(3)
        reader = self.connect()
        reader.execute("BEGIN")
        self.expect_right(query, reader)
        self.replace()
        for _ in range(2):
            self.expect_right(query)
            self.expect_right(query, reader)
        reader.execute("COMMIT")
        self.expect_right(query, reader)


class Log(Live):
    ROWS = 2000

    def load(self, rows=ROWS):
        self.db.execute(CREATE)
        self.db.execute("BEGIN")
        self.fill(rows)
        self.db.execute("COMMIT")

    def test_logged_rows_are_read_once(self):
        def wide():  # 16 MB in all, more than a connection keeps as vectors
            return array.array("f", array.array("b", self.source.randbytes(2048))).tobytes()
        self.db.execute(CREATE)
        self.db.execute("BEGIN")
        self.db.executemany("INSERT INTO doc(vec) VALUES (?)", ((wide(),) for _ in range(self.ROWS + 100)))
        self.db.execute("COMMIT")
        query = wide()
        first = self.steps(query)
        self.assertLess(self.steps(query), first / 5)
        self.db.execute("INSERT INTO doc(vec) VALUES (?)", (query,))
        self.assertLess(self.reads(query), 200)
        self.assertEqual(self.db.execute("SELECT count(*) FROM doc_vec_log WHERE again <> 0").fetchone(), (0,))
        self.db.execute("BEGIN")
        self.db.execute("UPDATE doc SET vec = ? WHERE id = 7", (query,))
        self.assertLess(self.reads(query), 200)
        self.expect_right(query)
        self.db.execute("ROLLBACK")
        self.expect_right(query)

    def change_again(self, db, query, by=1e-3):
        """Makes a row the nearest by a change of the kind that its number chooses. Returns its key."""
        near = array.array("f", [x + by for x in array.array("f", query)]).tobytes()
        key, = db.execute("SELECT min(id) FROM doc WHERE id >= ?", (self.source.randrange(1, self.ROWS - 50),)).fetchone()
        sql = self.source.choice(("UPDATE doc SET vec = ?2 WHERE id = ?1", "INSERT OR REPLACE INTO doc(id, vec) VALUES (?1, ?2)",
                                  "INSERT INTO doc(id, vec) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET vec = excluded.vec",
                                  "UPDATE OR REPLACE doc SET id = ?1, vec = ?2 WHERE id = (SELECT min(id) FROM doc WHERE id > ?1)"))
        db.execute(sql, (key, near))
        return key

    def expect_change(self, db, query, key):
        self.assertIn(key, [id for id, _ in self.nearest(query, db=db)])
        self.expect_right(query, db)

    def test_rows_that_change_again(self):
        self.load()
        other = self.connect()
        for number in range(40):
            for db in (self.db, other):
                self.expect_right(db=db)
            query = self.vector()
            db = self.source.choice((self.db, other))
            begin, end = self.source.choice((("SELECT 1", "SELECT 1"), ("BEGIN", "COMMIT"), ("BEGIN", "ROLLBACK"), ("SAVEPOINT a", "RELEASE a")))
            db.execute(begin)
            key = self.change_again(db, query)
            self.expect_change(db, query, key)
            if db.in_transaction:
                db.execute("SAVEPOINT b")
                self.expect_change(db, query, self.change_again(db, query, 1e-4))
                db.execute(self.source.choice(("ROLLBACK TO b", "RELEASE b")))
                self.expect_right(query, db)
            db.execute(end)
            self.expect_right(query, other if db is self.db else self.db)
            if number % 13 == 12:
                fixture.command(self.source.choice((self.db, other)), self.source.choice(("sync", "merge", "rebuild")))
            if number % 13 == 6:
                self.db.execute("UPDATE doc SET vec = vec WHERE id % 2")  # many at once
        fixture.command(self.db, "integrity-check")

    def test_the_same_numbers_after_a_sync(self):
        """The log has the same keys as before a sync, as often logged, and other vectors."""
        self.load()
        for _ in range(3):
            self.db.execute("BEGIN")
            self.db.executemany("UPDATE doc SET vec = ? WHERE id = ?", ((self.vector(), i) for i in range(1, 600)))
            self.db.execute("COMMIT")
            for i in (1, 17, 599):
                self.expect_right(self.db.execute("SELECT vec FROM doc WHERE id = ?", (i,)).fetchone()[0])
            fixture.command(self.connect(), "sync")

    def test_connections_share_the_codes(self):
        self.load()
        query = self.vector()
        first = self.steps(query)
        other = self.connect()
        self.assertLess(self.steps(query, other), first)  # the log, and few rows
        self.expect_right(query, other)
        other.execute("UPDATE doc SET vec = ? WHERE id = 5", (query,))
        for db in (self.db, other, self.connect()):
            self.expect_right(query, db)

    def test_a_key_that_comes_back(self):
        """SQLite chooses the key of a deleted row again, which the trigger before the insertion cannot know."""
        self.load()
        self.db.execute("CREATE TABLE other(id INTEGER PRIMARY KEY)")
        last = self.rows()
        self.db.execute("DELETE FROM doc WHERE id = ?", (last,))
        self.expect_right()
        self.db.execute("CREATE TRIGGER app BEFORE INSERT ON doc WHEN new.code = -1 BEGIN INSERT INTO doc(id) SELECT %d; END" % (last - 1))
        self.db.execute("DELETE FROM doc WHERE id = ?", (last - 1,))
        self.expect_right()
        query = self.vector()
        self.db.execute("INSERT INTO doc(code, vec) VALUES (-1, ?)", (query,))
        self.assertEqual(self.nearest(query, 1)[0][0], last)

    def test_a_row_that_stays_without_a_trigger_after_it(self):
        self.load()
        self.expect_right()
        self.db.execute("CREATE TRIGGER app AFTER INSERT ON doc WHEN new.code < 0 BEGIN SELECT RAISE(IGNORE); END")
        for code in range(-1, -4, -1):  # again as often as before
            query = self.vector()
            self.db.execute("INSERT INTO doc(code, vec) VALUES (?, ?)", (code, query))
            self.expect_right(query)
            self.expect_right(query, self.connect())
            other = self.vector()
            self.db.execute("UPDATE doc SET vec = ? WHERE code = ?", (other, code))
            self.expect_right(query)
            self.expect_right(other)

    def test_an_index_of_an_older_version(self):
        """Its log does not count, so that all of it is read, until 'rebuild' makes it count."""
        self.load()
        for log in ("id INTEGER UNIQUE", "id INTEGER PRIMARY KEY", "id INTEGER UNIQUE, again INTEGER DEFAULT 0"):
            names = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
            for name, sql in self.db.execute(names).fetchall():
                self.db.execute("DROP TRIGGER " + name)
                self.db.execute(sql.replace("(id) DO UPDATE SET again = again + 1", " DO NOTHING").replace("(id, again)", "(id)").replace(
                    " END, -1)", " END)") if " UPDATE OF " not in sql else
                                sql.partition(" BEGIN ")[0] + ' BEGIN INSERT INTO "doc_vec_log"(id) VALUES (old."id"), (new."id") '
                                'ON CONFLICT DO NOTHING; END')
            self.db.execute("CREATE TABLE saved AS SELECT id FROM doc_vec_log")
            self.db.execute("DROP TABLE doc_vec_log")
            self.db.execute('CREATE TABLE "doc_vec_log"(%s)' % log)
            self.db.execute("INSERT INTO doc_vec_log(id) SELECT id FROM saved")
            self.db.execute("DROP TABLE saved")
            for _ in range(5):
                query = self.vector()
                self.expect_right(query)
                self.expect_change(self.db, query, self.change_again(self.db, query))
            self.assertEqual(self.db.execute("SELECT state FROM glove_indexes").fetchone(), ("changed",))
            self.db.execute("ALTER TABLE doc_vec RENAME TO moved")  # makes the triggers again
            self.db.execute("ALTER TABLE moved RENAME TO doc_vec")
            query = self.vector()
            self.expect_right(query)
            self.expect_change(self.db, query, self.change_again(self.db, query))
            fixture.command(self.db, "rebuild")
            self.assertIn("again", self.db.execute("SELECT sql FROM sqlite_master WHERE name = 'doc_vec_log'").fetchone()[0])
            self.assertEqual(self.db.execute("SELECT count(*) FROM (%s) WHERE sql LIKE '%%again + 1%%'" % names).fetchone(), (4,))
            self.db.execute("UPDATE doc SET vec = vec")
            self.expect_right()
            query = self.vector()
            self.expect_change(self.db, query, self.change_again(self.db, query))

    def test_codes_have_a_place_in_memory(self):
        """Without room for codes, the log is read in full."""
        self.load()
        self.db.execute("SELECT glove_config('index_memory', '1')")
        self.addCleanup(self.db.execute, "SELECT glove_config('index_memory', '0')")
        for _ in range(3):
            query = self.vector()
            self.expect_right(query)
            self.expect_change(self.db, query, self.change_again(self.db, query))


def main():
    global EXTENSION
    EXTENSION = os.path.abspath(sys.argv.pop(1))
    fixture.skip_without_index(EXTENSION)
    unittest.main()


if __name__ == "__main__":
    main()
