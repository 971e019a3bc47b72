"""What an index does about wrong vectors, migrations, and tools that read every table: checks_test.py EXTENSION [TEST...]."""
import array
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest

import fixture

EXTENSION = None
SEED = os.environ.get("GLOVE_TEST_SEED") or str(random.randrange(1 << 31))


def blob(*components):
    return struct.pack("<%df" % len(components), *components)


class ChecksTest(unittest.TestCase):
    def setUp(self):
        self.source = random.Random("%s %s" % (SEED, self.id()))
        folder = tempfile.TemporaryDirectory(prefix="glove-checks-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "checks.db")
        self.db = fixture.connect(self.path, EXTENSION)
        self.addCleanup(self.db.close)

    def rows(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def expect_error(self, pattern, sql, *values):
        with self.assertRaisesRegex(sqlite3.Error, pattern):
            self.db.execute(sql, values).fetchall()

    def fill(self, key="id INTEGER PRIMARY KEY", rows=40):
        self.db.execute("CREATE TABLE doc(%s, title, v)" % key)
        for i in range(rows):
            self.db.execute("INSERT INTO doc VALUES (?, 't', ?)", (i, blob(self.source.gauss(0, 1), self.source.gauss(0, 1))))

    def index(self, more=""):
        self.db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='v'%s)" % more)

    def command(self, what):
        self.db.execute("INSERT INTO doc_vec(doc_vec) VALUES (?)", (what,))


class AtInsert(ChecksTest):
    WRONG = ((b"", "no BLOB of 4 bytes"), (b"12345", "no BLOB of 4 bytes"), ("x", "no JSON;"), ("[1,", "no JSON;"), ('{"0": 1, "1": 2}', "no JSON array"),
             ("3", "no JSON array"), ("[1, null]", "a component that is no number"), ('["1", 2]', "a component that is no number"),
             ("[[1], 2]", "a component that is no number"), ("[]", "not as long as those of the index"), (3, "a number;"), (2.5, "a number;"))
    LONG = ((blob(1, 2, 3), "not as long"), (blob(1), "not as long"), ("[1, 2, 3]", "not as long"), ("[1]", "not as long"))
    RIGHT = (None, blob(1, 2), "[1, 2]", " [1e3, -2] ")

    def expect_checked(self, db, wrong):
        before = db.execute("SELECT * FROM doc").fetchall()
        for value, why in wrong:
            for sql in ("INSERT INTO doc(title, v) VALUES ('new', ?)", "INSERT OR IGNORE INTO doc(v) VALUES (?)", "REPLACE INTO doc(id, v) VALUES (1, ?)",
                        "UPDATE doc SET v = ? WHERE id = 1", "UPDATE OR REPLACE doc SET v = ?"):
                with self.subTest(sql, value=value), self.assertRaisesRegex(sqlite3.Error, "^doc_vec: the vector .*" + why):
                    db.execute(sql, (value,))
            self.assertEqual(db.execute("SELECT * FROM doc").fetchall(), before)

    def test_wrong_vectors(self):
        self.fill(rows=0)
        self.db.execute("INSERT INTO doc(id) VALUES (1), (2)")
        self.index(", check='yes'")
        self.expect_checked(self.db, self.WRONG)
        self.db.execute("INSERT INTO doc(v) VALUES (?)", (blob(1, 2),))
        self.expect_checked(self.db, self.WRONG)  # the length is not known before the first sync
        self.command("sync")
        plain = sqlite3.connect(self.path, isolation_level=None)  # writers need no extension
        self.addCleanup(plain.close)
        for db in (self.db, plain):
            self.expect_checked(db, self.WRONG + self.LONG)
            for value in self.RIGHT:
                db.execute("INSERT INTO doc(v) VALUES (?)", (value,))
                db.execute("UPDATE doc SET v = ? WHERE id = 2", (value,))
        self.command("sync")
        self.command("integrity-check")

    def test_old_rows_stay_editable(self):
        self.fill(rows=3)
        self.db.execute("INSERT INTO doc VALUES (7, 'old', ?)", (blob(1, 2, 3),))
        self.index(", check=yes, invalid=skip")
        self.db.execute("UPDATE doc SET title = 'x'")
        self.db.execute("UPDATE doc SET id = 8 WHERE id = 7")
        self.expect_error("not as long", "UPDATE doc SET v = v WHERE id = 8")
        self.db.execute("UPDATE doc SET v = NULL WHERE id = 8")
        self.db.execute("DELETE FROM doc WHERE id = 8")

    def test_generated_columns(self):
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, raw, title, v AS (raw))")
        self.index(", check='yes', dims=2")
        self.db.execute("INSERT INTO doc(raw) VALUES ('[1, 2]')")
        self.expect_error("not as long", "INSERT INTO doc(raw) VALUES ('[1]')")
        self.expect_error("not as long", "UPDATE doc SET raw = '[1]'")
        self.db.execute("UPDATE doc SET title = 'x'")

    def test_the_definition(self):
        self.fill()
        self.expect_error("check must be 'yes' or 'no', but is 'insert'", "CREATE VIRTUAL TABLE a USING glove_index(content=doc, rowid=id, vector=v, check=insert)")
        self.expect_error("check='yes' checks vectors", "CREATE VIRTUAL TABLE a USING glove_index(content=doc, rowid=id, text=title, check=yes)")
        self.db.execute("CREATE TRIGGER doc_vec_insert_check AFTER DELETE ON doc BEGIN SELECT 1; END")
        self.expect_error("there is already a trigger 'doc_vec_insert_check'", "CREATE VIRTUAL TABLE doc_vec USING glove_index(content=doc, rowid=id, vector=v, check=yes)")
        self.index(", check='no'")
        self.db.execute("DROP TABLE doc_vec")
        self.assertEqual(self.rows("SELECT name FROM sqlite_master WHERE type = 'trigger'"), [("doc_vec_insert_check",)])

    def test_a_dropped_trigger_is_found(self):
        self.fill()
        self.index(", check='yes'")
        self.db.execute("DROP TRIGGER doc_vec_update_check")
        self.expect_error("the trigger 'doc_vec_update_check' on 'doc' was dropped", "SELECT id FROM doc_vec(?)", blob(1, 2))
        self.rows("SELECT glove_repair('doc_vec')")
        self.expect_error("is a number", "UPDATE doc SET v = 1")
        self.db.execute("ALTER TABLE doc_vec RENAME TO moved")
        self.expect_error("^moved: the vector is a number", "UPDATE doc SET v = 1")


class OtherTypes(ChecksTest):
    def number(self):
        return self.source.gauss(0, 0.05)

    def blobs(self, code, count=20, dims=384):
        return [array.array(code, [array.array("f", [self.number()])[0] if code == "d" else self.number() for _ in range(dims)]).tobytes() for _ in range(count)]

    def halves(self, count=20, dims=384):
        return [struct.pack("<%de" % dims, *(self.number() for _ in range(dims))) for _ in range(count)]

    def insert(self, blobs):
        self.db.executemany("INSERT INTO doc(v) VALUES (?)", [(one,) for one in blobs])

    def test_at_creation_and_at_the_first_sync(self):
        for name, blobs in (("float64, of 8", self.blobs("d")), ("float16, of 2", self.halves())):
            pattern = "^doc_vec, in the column 'v' of 'doc': most BLOBs look like %s bytes per component; convert them to float32, or give the argument dims" % name
            self.fill(rows=0)
            self.insert(blobs)
            self.expect_error(pattern, "CREATE VIRTUAL TABLE doc_vec USING glove_index(content=doc, rowid=id, vector=v)")
            self.index(", dims=%d" % (len(blobs[0]) // 4))  # declared
            self.db.execute("DROP TABLE doc_vec")
            self.db.execute("DELETE FROM doc")
            self.index()
            self.insert(blobs)
            self.expect_error(pattern, "INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
            self.assertEqual(self.rows("SELECT logged FROM glove_indexes"), [(len(blobs),)])
            self.expect_error("^glove_load_table.'m'.: most BLOBs look like %s" % name, "SELECT glove_load_table('m', 'SELECT id, v FROM doc')")
            self.db.execute("DELETE FROM doc")
            self.insert(self.blobs("f"))
            self.command("sync")
            self.db.execute("DROP TABLE doc_vec")
            self.db.execute("DROP TABLE doc")

    def test_cos_sim(self):
        wide, single = self.blobs("d", 2), self.blobs("f", 2)
        for a, b, which in ((wide[0], wide[1], "first"), (single[0], wide[1], "second")):
            self.expect_error("^cos_sim: the %s argument looks like a BLOB of float64; convert it to float32" % which, "SELECT cos_sim(?, ?)", a, b)
        for ordinary in (blob(*[0, 1] * 8), blob(*[2, 1] * 8), blob(*[0] * 16), blob(*[0] * 15, 1), *single):
            self.rows("SELECT cos_sim(?1, ?1)", ordinary)


class Repair(ChecksTest):
    KEYS = ("id INTEGER PRIMARY KEY", "id TEXT PRIMARY KEY")

    def remake(self):
        """As Knex's alter, TypeORM's synchronize, Drizzle's and Django's migrations, and Sequelize's sync({alter}) do."""
        sql, = self.rows("SELECT sql FROM sqlite_master WHERE name = 'doc'")[0]
        self.db.executescript("PRAGMA foreign_keys = OFF; BEGIN; %s; INSERT INTO new_doc(id, title, v) SELECT id, title, v FROM doc; DROP TABLE doc; "
                              "ALTER TABLE new_doc RENAME TO doc; COMMIT" % sql.replace("title", "title TEXT DEFAULT 'none'").replace("doc(", "new_doc(", 1))

    def expect_sound(self):
        self.command("integrity-check")
        expected = self.rows("SELECT id, cos_sim(v, ?1) AS s FROM doc WHERE s NOT NULL ORDER BY s DESC", blob(1, 2))
        self.assertEqual(self.rows("SELECT id, similarity FROM doc_vec(?) ORDER BY rank", blob(1, 2)), expected)

    def test_after_a_migration(self):
        for key in self.KEYS:
            with self.subTest(key):
                self.fill(key)
                self.index()
                self.remake()
                self.db.execute("DELETE FROM doc WHERE id = '7'")
                self.db.execute("UPDATE doc SET v = ? WHERE id = '8'", (blob(3, 4),))
                self.db.execute("UPDATE doc SET v = NULL WHERE id = '9'")
                self.db.execute("INSERT INTO doc(id, v) VALUES ('99', ?)", (blob(5, 6),))
                segments = self.rows("SELECT id, uuid FROM doc_vec_segment")
                self.expect_error(r"run SELECT glove_repair\('doc_vec'\) or INSERT", "SELECT id FROM doc_vec(?)", blob(1, 2))
                self.assertEqual(self.rows("SELECT glove_repair('main.doc_vec')"), [("main.doc_vec",)])
                self.expect_sound()
                # The other rows were not written again.
                self.assertEqual(self.rows("SELECT rows FROM doc_vec_segment ORDER BY id"), [(40,), (2,)])
                self.assertEqual(self.rows("SELECT id, uuid FROM doc_vec_segment LIMIT 1"), segments)
                self.assertEqual(self.rows("SELECT dead, logged, state FROM glove_indexes"), [(3, 0, "current")])
                after = self.rows("SELECT * FROM doc_vec_segment"), self.rows("SELECT * FROM doc_vec_dead")
                self.rows("SELECT glove_repair('doc_vec')")
                self.assertEqual((self.rows("SELECT * FROM doc_vec_segment"), self.rows("SELECT * FROM doc_vec_dead")), after)
                self.db.execute("DROP TABLE doc_vec")
                self.db.execute("DROP TABLE doc")

    def test_of_something_damaged(self):
        for harm in ("UPDATE doc_vec_block SET data = zeroblob(length(data))", "DELETE FROM doc_vec_block", "DROP TABLE doc_vec_segment",
                     "UPDATE doc_vec_dead SET bits = NULL", "DELETE FROM doc_vec_config"):
            with self.subTest(harm):
                self.fill()
                self.index()
                self.db.execute("DELETE FROM doc WHERE id = 3")
                self.command("sync")
                self.db.execute(harm)
                self.rows("SELECT glove_repair('doc_vec')")
                self.expect_sound()
                self.db.execute("DROP TABLE doc_vec")
                self.db.execute("DROP TABLE doc")

    def test_is_all_or_nothing(self):
        self.fill()
        self.index()
        self.remake()
        self.db.execute("UPDATE doc SET v = ? WHERE id = 8", (blob(3),))
        self.expect_error("^glove_repair: doc_vec: the row 8 of 'doc' has a vector of 1 component", "SELECT glove_repair('doc_vec')")
        self.assertEqual(self.rows("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'"), [(0,)])
        for name in ("none", "doc", "main.none", "none.doc_vec", "doc_vec_log", "", 3):
            self.expect_error("^glove_repair: there is no index .*; write its name, or schema.name; glove_indexes lists them", "SELECT glove_repair(?)", name)
        self.expect_error("name must not be NULL|name", "SELECT glove_repair(NULL)")

    def test_of_another_schema(self):
        self.db.execute("ATTACH ':memory:' AS side")
        self.db.execute("CREATE TABLE side.doc(id INTEGER PRIMARY KEY, v)")
        self.db.execute("CREATE VIRTUAL TABLE side.doc_vec USING glove_index(content='doc', rowid='id', vector='v')")
        self.db.execute("DROP TRIGGER side.doc_vec_insert")
        self.expect_error(r"run SELECT glove_repair\('side.doc_vec'\)", "SELECT id FROM side.doc_vec('[1]')")
        self.rows("SELECT glove_repair('side.doc_vec')")
        self.assertEqual(self.rows("SELECT id FROM side.doc_vec('[1]')"), [])


class Tools(ChecksTest):
    """Programs that read every table of a database."""

    def setUp(self):
        super().setUp()
        self.fill()
        self.index()
        self.db.execute("CREATE TABLE by_name(name TEXT PRIMARY KEY, v)")
        self.db.execute("INSERT INTO by_name SELECT 'n' || id, v FROM doc")
        self.db.execute("CREATE VIRTUAL TABLE name_vec USING glove_index(content='by_name', rowid='name', vector='v')")
        self.db.execute("DELETE FROM doc WHERE id < 3")
        self.db.execute("INSERT INTO doc VALUES (100, 'zero', ?), (101, 'none', NULL), (102, 'bad', 'x')", (blob(0, 0),))

    def test_reading_without_a_query(self):
        self.assertEqual(self.rows("SELECT count(*) FROM doc_vec"), [(37,)])
        self.assertEqual(self.rows("SELECT * FROM doc_vec LIMIT 2"), [(3, None, None), (4, None, None)])
        self.assertEqual(self.rows("SELECT * FROM doc_vec WHERE id = 5"), [(5, None, None)])
        self.assertEqual(self.rows("SELECT * FROM doc_vec WHERE id IN (1, 100, 101, 102, 103)"), [])
        self.assertEqual(self.rows("SELECT id, evidence, rows_read FROM doc_vec ORDER BY id DESC LIMIT 1"), [(39, None, None)])
        self.assertEqual(self.rows("SELECT count(*), count(coalesce(rank, 1) + id) FROM doc_vec"), [(37, 37)])
        self.assertEqual(self.rows("SELECT count(*) FROM doc d JOIN doc_vec v USING(id)"), [(37,)])
        self.assertEqual(self.rows("SELECT name FROM name_vec LIMIT 3"), [("n0",), ("n1",), ("n10",)])
        self.assertEqual(self.rows("SELECT rowid, id FROM doc_vec LIMIT 1"), [(3, 3)])
        self.assertEqual(self.rows("SELECT id FROM doc_vec WHERE query = NULL"), [])
        plan = [row[3] for row in self.rows("EXPLAIN QUERY PLAN SELECT * FROM doc d JOIN doc_vec v ON v.id = d.id JOIN name_vec n ON n.name = d.title")]
        self.assertTrue(all("SEARCH d" in step or "id=" in step or "key1=" in step or "SCAN" in step for step in plan), plan)

    def test_a_query_that_is_not_known_is_an_error(self):
        self.expect_error("doc_vec has no query|cannot read its input", "SELECT v.id FROM doc_vec v LEFT JOIN doc d ON v.query = d.v AND d.id = v.id")
        self.expect_error("doc_vec has no query", "SELECT v.id FROM doc_vec v WHERE v.query = ? OR v.id = 3", blob(1, 2))
        self.expect_error("doc_vec has no query", "SELECT v.id FROM doc_vec v WHERE v.rank = 1")

    def test_iterdump(self):
        text = "\n".join(self.db.iterdump())
        self.assertIn('INSERT INTO "by_name" VALUES(\'n39\',', text)

    @unittest.skipUnless(shutil.which("sqlite-utils"), "without sqlite-utils")
    def test_sqlite_utils(self):
        for command in (["tables", "--counts"], ["analyze-tables"], ["rows"], ["dump"]):
            arguments = [command[0], self.path, *command[1:], *(["doc_vec"] if command == ["rows"] else []), "--load-extension", EXTENSION]
            done = subprocess.run(["sqlite-utils", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            self.assertEqual(done.returncode, 0, done.stdout[-300:])


if __name__ == "__main__":
    EXTENSION = os.path.abspath(sys.argv.pop(1))
    fixture.skip_without_index(EXTENSION)
    unittest.main()
