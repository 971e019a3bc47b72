"""Indexes in temp, whose file has ordinary tables only: attached_test.py EXTENSION [TEST...]."""
import os
import random
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

import fixture
import sessions

EXTENSION = None
CREATE = "CREATE VIRTUAL TABLE temp.doc_vec USING glove_index(content='main.doc', rowid='id', vector='v'%s)"
NEAREST = "SELECT id, similarity FROM doc_vec WHERE query = ? AND k = 3"


def blob(*components):
    return struct.pack("<%df" % len(components), *components)


class AttachedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="glove-attached-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "doc.db")
        self.db = self.opened()
        self.db.execute("PRAGMA journal_mode = wal")
        self.fill(self.db, random.Random())

    def opened(self, path=None, kind="extension"):
        db = sessions.open_sqlite3(path or self.path, kind, EXTENSION)
        self.addCleanup(db.close)
        return db

    def fill(self, db, source):
        db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, v)")
        db.executemany("INSERT INTO doc VALUES (?, ?)", [(i, blob(source.gauss(0, 1), source.gauss(0, 1))) for i in range(40)])

    def attach(self, db, *schema):
        return (db.execute("SELECT glove_attach(%s)" % ", ".join("?" * len(schema)), schema).fetchone()[0] or "").split("\n")

    def nearest(self, db):
        return db.execute(NEAREST, (blob(1, 2),)).fetchall()

    def scanned(self, db):
        return db.execute("SELECT id, cos_sim(v, ?1) FROM doc WHERE cos_sim(v, ?1) NOT NULL ORDER BY 2 DESC, 1 LIMIT 3", (blob(1, 2),)).fetchall()

    def expect_current(self, *connections):
        for db in connections:
            self.assertEqual(self.nearest(db), self.scanned(db))

    def expect_error(self, pattern, sql, *values, db=None):
        with self.assertRaisesRegex(sqlite3.Error, pattern):
            (db or self.db).execute(sql, values).fetchall()

    def test_the_file_has_ordinary_tables_only(self):
        self.db.execute(CREATE % "")
        plain = self.opened(kind="plain")
        made = plain.execute("SELECT type, name FROM sqlite_master WHERE sql LIKE '%VIRTUAL%' OR name = 'doc_vec'").fetchall()
        self.assertEqual(made, [])
        for name, in plain.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall():
            self.assertGreater(len(plain.execute("SELECT * FROM pragma_table_xinfo(?)", (name,)).fetchall()), 0)
            plain.execute('SELECT count(*) FROM "%s"' % name).fetchall()
        self.assertEqual(plain.execute("PRAGMA table_info(doc_vec)").fetchall(), [])
        plain.execute("INSERT INTO doc VALUES (100, ?)", (blob(1, 2),))
        self.assertEqual(self.nearest(self.db)[0], (100, 1.0))
        self.assertEqual(self.db.execute("SELECT schema, name, rows, logged, state FROM glove_indexes").fetchall(), [("temp", "doc_vec", 40, 1, "changed")])
        self.db.execute("DROP TABLE doc_vec")
        self.assertEqual(plain.execute("SELECT name FROM sqlite_master").fetchall(), [("doc",)])

    def test_connections_attach_it(self):
        self.db.execute(CREATE % ", lists=none")
        others = [self.opened() for _ in range(3)]
        for db in others:
            self.assertEqual([self.attach(db), self.attach(db), self.attach(db, "main"), self.attach(db, "temp")], 3 * [["doc_vec"]] + [[""]])
            db.execute("INSERT OR REPLACE INTO doc VALUES (7, ?)", (blob(2, 4.5),))
            db.execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
            self.expect_current(self.db, *others[:others.index(db) + 1])
        read_only = sqlite3.connect("file:%s?mode=ro" % self.path, uri=True)
        self.addCleanup(read_only.close)
        read_only.enable_load_extension(True)
        read_only.load_extension(EXTENSION)
        self.assertEqual(self.attach(read_only), ["doc_vec"])
        self.expect_current(read_only)
        side = self.opened(":memory:")
        side.execute("ATTACH ? AS side", (self.path,))
        side.execute("ATTACH ? AS twice", (self.path,))
        self.assertEqual([line.partition(":")[0] for line in self.attach(side)], ["doc_vec", "doc_vec"])
        self.assertRegex(self.attach(side, "twice")[0], "^doc_vec: there is another table of this name in temp")
        self.expect_current(side)
        side.execute("DETACH twice")
        side.execute("DETACH side")
        self.attach(side)
        self.assertEqual(side.execute("SELECT name FROM sqlite_temp_master").fetchall(), [])

    def test_a_statement_sees_one_state(self):
        self.db.execute(CREATE % "")
        cursor = self.db.execute("SELECT id FROM doc_vec WHERE query = ?", (blob(1, 2),))
        first = cursor.fetchone()
        writer = self.opened()
        self.attach(writer)
        writer.execute("DELETE FROM doc")
        writer.execute("INSERT INTO doc_vec(doc_vec) VALUES ('merge')")
        self.assertEqual(len([first, *cursor.fetchall()]), 40)
        self.assertEqual(self.nearest(self.db), [])
        self.db.execute("BEGIN")
        self.db.execute("INSERT INTO doc VALUES (1, ?)", (blob(1, 2),))
        self.db.execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
        self.assertEqual([self.nearest(self.db), self.nearest(writer)], [[(1, 1.0)], []])
        self.db.execute("ROLLBACK")
        self.assertEqual([self.nearest(self.db), self.nearest(writer)], [[], []])

    def test_a_command_waits_for_a_writer(self):
        """What another connection has committed since the last read is no reason to fail."""
        self.db.execute(CREATE % "")
        writer = self.opened()
        for i in range(5):
            self.nearest(self.db)
            writer.execute("INSERT INTO doc VALUES (?, ?)", (200 + i, blob(1, i)))
            self.db.execute("INSERT INTO doc_vec(doc_vec) VALUES (?)", (("sync", "merge", "rebuild", "repair", "sync")[i],))
            self.assertEqual(self.db.execute("SELECT logged FROM glove_indexes").fetchone()[0], 0)

    def test_what_other_connections_do_to_it(self):
        self.db.execute(CREATE % "")
        other = self.opened()
        self.attach(other)
        self.db.execute("DROP TABLE doc_vec")
        self.expect_error(r"the schema main no longer has its tables; .*run SELECT glove_attach\('main'\)", NEAREST, blob(1, 2), db=other)
        self.db.execute(CREATE % ", lists=none")
        self.expect_error(r"made again with other arguments; run SELECT glove_attach\('main'\)", NEAREST, blob(1, 2), db=other)
        self.assertEqual(self.attach(other), ["doc_vec"])
        self.expect_current(self.db, other)
        self.db.execute("ALTER TABLE doc_vec RENAME TO vec")
        self.assertEqual(self.attach(other), ["vec"])
        self.assertEqual(other.execute("SELECT name FROM sqlite_temp_master").fetchall(), [("vec",)])
        self.db.execute("DROP TABLE vec")
        self.assertEqual(self.attach(other), [""])
        self.expect_error("no such table: vec", "SELECT * FROM vec", db=other)

    def test_a_migration_and_a_dump(self):
        self.db.execute(CREATE % "")
        dump = "\n".join(self.opened(kind="plain").iterdump())
        restored = self.opened(os.path.join(self.folder, "restored.db"))
        restored.executescript(dump)
        self.assertEqual(self.attach(restored), ["doc_vec"])
        self.expect_current(restored)
        other = self.opened(kind="plain")
        other.executescript("CREATE TABLE new(id INTEGER PRIMARY KEY, v); INSERT INTO new SELECT * FROM doc WHERE id % 3; DROP TABLE doc; ALTER TABLE new RENAME TO doc")
        self.expect_error(r"run SELECT glove_repair\('doc_vec'\)", NEAREST, blob(1, 2))
        fresh = self.opened()
        self.assertRegex(self.attach(fresh)[0], r"^doc_vec: .*run SELECT glove_repair\('doc_vec'\)")
        fresh.execute("SELECT glove_repair('doc_vec')")
        self.assertEqual(self.attach(fresh), ["doc_vec"])
        self.expect_current(self.db, fresh)

    def test_names_that_are_taken(self):
        self.expect_error("the schema main has a table of this name, which the index in temp would hide",
                          "CREATE VIRTUAL TABLE temp.doc USING glove_index(content='main.doc', rowid='id', vector='v')")
        self.expect_error("no such|unknown database", (CREATE % "").replace("main.doc", "nowhere.doc"))
        self.db.execute(CREATE % "")
        self.expect_error("the schema main has a table of this name", "ALTER TABLE doc_vec RENAME TO doc")
        self.expect_current(self.db)
        other = self.opened()
        self.expect_error(r"has a table 'doc_vec_config' already; .*run SELECT glove_attach\('main'\)", CREATE % "", db=other)
        other.execute("CREATE TEMP TABLE doc_vec(x)")
        self.assertRegex(self.attach(other)[0], "^doc_vec: there is another table of this name in temp; drop it")
        other.execute("DROP TABLE temp.doc_vec")
        other.execute("CREATE VIEW doc_vec AS SELECT 1")
        self.assertRegex(self.attach(other)[0], "^doc_vec: the schema main has a view of this name")
        other.execute("DROP VIEW doc_vec")
        self.assertEqual(self.attach(other), ["doc_vec"])
        self.expect_error("there is no schema 'nowhere'; PRAGMA database_list names them", "SELECT glove_attach('nowhere')")
        self.expect_error("schema must not be NULL|schema", "SELECT glove_attach(NULL)")
        self.db.execute("CREATE TEMP TABLE own(id INTEGER PRIMARY KEY, v)")  # a table in temp has its index there, too
        self.db.execute("CREATE VIRTUAL TABLE temp.own_vec USING glove_index(content='own', rowid='id', vector='v')")
        self.assertEqual(self.attach(self.db), ["doc_vec"])

    def test_what_the_file_says_is_not_trusted(self):
        self.db.execute(CREATE % ", lists=none")
        stored, = self.db.execute("SELECT value FROM doc_vec_config WHERE key = 'arguments'").fetchone()
        self.assertEqual(stored, "content='doc', rowid='id', vector='v', lists='none'")
        before = self.db.execute("SELECT name, sql FROM sqlite_master").fetchall()
        plain = self.opened(kind="plain")
        for text in (stored + "); DROP TABLE doc; --", stored + ", lists='1'", stored.replace("'doc'", "doc"), "content='doc'", "", "x", "(", stored + ", a(b",
                     b"\xff\x00'", 7, stored.replace("'id'", "\"id\"), (x")):
            plain.execute("UPDATE doc_vec_config SET value = ? WHERE key = 'arguments'", (text,))
            fresh = self.opened()
            lines = self.attach(fresh)
            self.assertRegex(lines[0], "^doc_vec: ", text)
            self.assertEqual(fresh.execute("SELECT name FROM sqlite_temp_master WHERE name <> 'doc_vec'").fetchall(), [])
            self.assertEqual(fresh.execute("SELECT name, sql FROM sqlite_master").fetchall(), before)
        quotes = stored.replace("'id'", "'a''\"); DROP TABLE doc; --'")
        plain.execute("UPDATE doc_vec_config SET value = ? WHERE key = 'arguments'", (quotes,))
        fresh = self.opened()
        self.assertRegex(self.attach(fresh)[0], "^doc_vec: ")
        self.assertIn(quotes.replace("'doc'", "'main.doc'"), fresh.execute("SELECT sql FROM sqlite_temp_master").fetchone()[0])
        plain.execute("UPDATE doc_vec_config SET value = ? WHERE key = 'arguments'", (stored,))
        plain.execute('CREATE TABLE "json_each_config"(key TEXT UNIQUE, value)')
        plain.execute("INSERT INTO json_each_config VALUES ('arguments', ?)", (stored,))
        self.assertRegex("\n".join(self.attach(self.opened())), "\njson_each: there is a table-valued function of this name")
        plain.execute("DROP TABLE json_each_config")
        plain.execute("ALTER TABLE doc_vec_config RENAME TO kept")
        for harm in ("CREATE VIEW doc_vec_config AS SELECT 'arguments' AS key, 'x' AS value", "CREATE TABLE doc_vec_config(key, value)"):
            plain.execute(harm)
            self.assertEqual(self.attach(self.opened()), [""])
            plain.execute("DROP %s doc_vec_config" % harm.split()[1])
        for sql in ("CREATE VIEW a AS SELECT glove_attach()", "CREATE TRIGGER a AFTER INSERT ON doc BEGIN SELECT glove_attach(); END"):
            plain.execute(sql)
        with self.assertRaisesRegex(sqlite3.Error, "unsafe use of glove_attach|no statement"):
            self.opened().execute("SELECT * FROM a")

    def test_keys_that_are_texts(self):
        """What a table is in this connection depends on its key, which must be read anew when the file's schema has changed."""
        self.db.executescript("PRAGMA journal_mode = delete; DROP TABLE doc; CREATE TABLE doc(id TEXT PRIMARY KEY, v)")
        self.db.executemany("INSERT INTO doc VALUES (?, ?)", [("k%d" % i, blob(i, 20)) for i in range(40)])
        self.db.execute(CREATE % "")
        other = self.opened()
        self.attach(other)
        for command in ("rebuild", "repair", "rebuild"):
            self.db.execute("INSERT INTO doc_vec(doc_vec) VALUES (?)", (command,))
            self.expect_current(other, other, self.db)
        self.db.execute("CREATE TABLE more(x)")
        self.scanned(other)
        self.db.execute("CREATE TABLE again(x)")
        other.execute("DROP TABLE doc_vec")
        self.assertEqual(self.db.execute("SELECT count(*) FROM sqlite_master WHERE name LIKE 'doc%'").fetchone(), (1,))
        self.attach(self.db)
        self.db.execute(CREATE % "")
        self.attach(other)
        self.db.execute("CREATE TABLE third(x)")
        self.scanned(other)
        locking = self.opened(kind="plain")
        locking.execute("BEGIN EXCLUSIVE")
        self.expect_error("locked", NEAREST, blob(1, 2), db=other)
        self.expect_error("locked", "SELECT glove_attach()", db=other)
        locking.execute("ROLLBACK")
        self.expect_current(other)

    def test_what_writes_waits_for_its_turn(self):
        statements = [CREATE % ", lists=none", "INSERT INTO doc_vec(doc_vec, query) VALUES ('calibrate', x'0000803f00000040')",
                      "ALTER TABLE doc_vec RENAME TO vec", "SELECT glove_repair('vec')", "INSERT INTO vec(vec) VALUES ('merge')", "DROP TABLE vec"]
        for mode in ("wal", "delete"):
            self.db.execute("PRAGMA journal_mode = %s" % mode)
            self.db.execute("PRAGMA busy_timeout = 60000")
            for statement in statements:
                writer = self.opened(kind="plain")
                writer.execute("BEGIN IMMEDIATE")
                writer.execute("INSERT INTO doc(v) VALUES (?)", (blob(1, 2),))
                ending = threading.Timer(0.1, writer.execute, ("COMMIT",))
                ending.start()
                self.db.execute(statement).fetchall()
                ending.join()
                writer.close()

    def test_a_failing_statement_in_a_transaction_changes_nothing(self):
        before = self.db.execute("SELECT sql FROM sqlite_master").fetchall()
        self.db.execute("INSERT INTO doc VALUES (99, x'00')")
        self.db.execute("BEGIN")
        self.expect_error("the row 99 of 'doc' has a vector of 1 byte", CREATE % "")
        self.db.execute("COMMIT")
        self.assertEqual(self.db.execute("SELECT sql FROM sqlite_master").fetchall(), before)
        self.db.execute("DELETE FROM doc WHERE id = 99")
        self.db.execute(CREATE % "")
        self.db.execute("CREATE TABLE vec_log(x)")
        self.db.execute("UPDATE doc SET v = ? WHERE id < 9", (blob(1, 2),))
        self.db.execute("BEGIN")
        for failing in ("INSERT INTO doc_vec(doc_vec) VALUES ('merge')", "INSERT INTO doc_vec(doc_vec) VALUES ('rebuild')", "SELECT glove_repair('doc_vec')", "DROP TABLE doc_vec",
                        "ALTER TABLE doc_vec RENAME TO vec"):
            self.db.set_authorizer(lambda action, table, *_: sqlite3.SQLITE_DENY if (action, table) in (
                (sqlite3.SQLITE_INSERT, "doc_vec_block"), (sqlite3.SQLITE_DROP_TABLE, "doc_vec_block")) else sqlite3.SQLITE_OK)
            self.expect_error("authoriz|another table or index with this name", failing)
            self.db.set_authorizer(None)
            self.expect_current(self.db)
        self.db.execute("COMMIT")
        self.expect_current(self.db)
        self.db.execute("INSERT INTO doc_vec(doc_vec) VALUES ('integrity-check')")

    def test_another_file_under_the_same_name(self):
        paths = [os.path.join(self.folder, "%d.db" % i) for i in range(3)]
        for path, more in zip(paths, ("", "", ", metric='l2'")):
            made = self.opened(path)
            self.fill(made, random.Random(path))
            made.execute(CREATE % more)
        for path in 2 * paths[:2] + paths[2:]:
            self.db.execute("ATTACH ? AS side", (path,))
            if path == paths[2]:
                self.expect_error(r"made again with other arguments; run SELECT glove_attach\('side'\)", NEAREST, blob(1, 2))
                self.assertEqual(self.attach(self.db), ["doc_vec"])
                self.assertEqual(len(self.db.execute("SELECT distance FROM doc_vec").fetchall()), 40)
            else:
                self.attach(self.db)
                found = self.nearest(self.db)
                ranks = self.db.execute("SELECT d.id, cos_sim(d.v, ?1) FROM side.doc d JOIN doc_vec v ON v.id = d.id WHERE v.query = ?1 AND v.rank <= 3 ORDER BY v.rank", (blob(1, 2),)).fetchall()
                scanned = self.db.execute("SELECT id, cos_sim(v, ?1) FROM side.doc ORDER BY 2 DESC LIMIT 3", (blob(1, 2),)).fetchall()
                self.assertEqual([found, ranks], 2 * [scanned])
            self.db.execute("DETACH side")
        self.db.execute("ATTACH ? AS [si.de]", (paths[0],))
        self.assertRegex(self.attach(self.db)[0], "^doc_vec: an index in temp cannot name its schema 'si.de'")

    def test_defensive_connections(self):
        try:
            import apsw
        except ImportError:
            self.skipTest("there is no apsw")
        self.db.execute(CREATE % "")
        db = apsw.Connection(self.path)
        self.addCleanup(db.close)
        db.enableloadextension(True)
        db.loadextension(EXTENSION)
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        self.assertEqual(self.attach(db), ["doc_vec"])
        for i in range(3):
            self.db.execute("CREATE TABLE more%d(x)" % i)  # the other connection reads the schema anew
            list(db.execute("INSERT INTO doc VALUES (?, ?)", (300 + i, blob(1, 2))))
            list(db.execute("INSERT INTO doc_vec(doc_vec) VALUES (?)", (("sync", "merge", "rebuild")[i],)))
            self.assertEqual([list(db.execute(NEAREST, (blob(1, 2),)))[:1], self.nearest(self.db)[:1]], 2 * [[(300, 1.0)]])
        list(db.execute("DROP TABLE doc_vec"))
        self.assertEqual(self.db.execute("SELECT count(*) FROM sqlite_master WHERE name LIKE 'doc%'").fetchall(), [(1,)])

    def test_the_shell(self):
        self.db.execute(CREATE % "")
        done = subprocess.run(["sqlite3", self.path, ".load %s" % EXTENSION, "SELECT glove_attach()", "SELECT count(*) FROM doc_vec", ".dump"],
                              capture_output=True, text=True, check=True)
        self.assertTrue(done.stdout.startswith("doc_vec\n40\n"), done.stdout[:200])


if __name__ == "__main__":
    EXTENSION = os.path.abspath(sys.argv.pop(1))
    fixture.skip_without_index(EXTENSION)
    unittest.main()
