"""The triggers of an index beside those of an application, the triggers of an older version, and changesets.

    triggers_test.py EXTENSION [TEST...]

Every answer is compared with a full scan of the table. GLOVE_TEST_SEED repeats a run.
"""
import ctypes
import itertools
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import changesets
import fixture

EXTENSION = None
SEED = os.environ.get("GLOVE_TEST_SEED") or str(random.randrange(1 << 31))
DIMS, ROWS = 4, 200
# As the first version of the index made them for the table of this test.
FORMER = {
    "doc_vec_insert": 'AFTER INSERT ON "doc" BEGIN INSERT INTO "doc_vec_log"(id) VALUES (new."id") ON CONFLICT DO NOTHING; END',
    "doc_vec_update": 'AFTER UPDATE OF rowid, oid, _rowid_, "id", "vec" ON "doc" BEGIN INSERT INTO "doc_vec_log"(id) VALUES (old."id") '
                      'ON CONFLICT DO NOTHING; INSERT INTO "doc_vec_log"(id) VALUES (new."id") ON CONFLICT DO NOTHING; END',
    "doc_vec_delete": 'AFTER DELETE ON "doc" BEGIN INSERT INTO "doc_vec_log"(id) VALUES (old."id") ON CONFLICT DO NOTHING; END',
}
FORMER_TABLES = ("config(key TEXT PRIMARY KEY, value)", "segment(id INTEGER PRIMARY KEY, uuid BLOB, rows INTEGER, crc INTEGER)",
                 "block(segment INTEGER, number INTEGER, data BLOB, PRIMARY KEY(segment, number))",
                 "dead(segment INTEGER PRIMARY KEY, bits BLOB)", "log(id INTEGER PRIMARY KEY)")
CREATE = "CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec')"


class Triggers(unittest.TestCase):
    def setUp(self):
        self.source = random.Random("%s %s" % (SEED, self.id()))
        folder = tempfile.TemporaryDirectory(prefix="glove-live-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.db = self.connect()

    def run(self, result=None):
        with self.subTest(seed=SEED):
            return super().run(result)

    def connect(self, name=":memory:"):
        connection = fixture.connect(name if name == ":memory:" else os.path.join(self.folder, name), EXTENSION)
        self.addCleanup(connection.close)
        return connection

    def vector(self):
        return fixture.vector(self.source, DIMS)

    def test_equal_numbers_with_other_texts(self):
        """REPLACE of 10 by 10.0, which are equal numbers and different texts, by a statement that then fails."""
        db = self.db
        db.execute("CREATE TABLE m(w, v)")
        db.executemany("INSERT INTO m VALUES (?, ?)", [("10", "[1,0]"), ("king", "[1,0.5]"), ("10.0", "[0,1]")])
        db.execute("SELECT glove_load_table('numbers', 'SELECT w, v FROM m')")
        db.execute("CREATE TABLE n(id INTEGER PRIMARY KEY, body)")
        db.execute("CREATE VIRTUAL TABLE nv USING glove_index(content='n', rowid='id', text='body', model='numbers', options='{\"components\":0}')")
        db.execute("INSERT INTO n VALUES (1, 10)")
        db.executemany("INSERT INTO n VALUES (?, 'king')", [(i,) for i in range(2, 500)])
        db.execute("INSERT INTO nv(nv) VALUES ('sync')")
        db.execute("CREATE TRIGGER app AFTER INSERT ON n BEGIN SELECT RAISE(FAIL, 'no'); END")
        with self.assertRaisesRegex(sqlite3.Error, "no"):
            db.execute("INSERT OR REPLACE INTO n VALUES (1, 10.0)")
        self.assertEqual(db.execute("SELECT id FROM nv('10.0', 1)").fetchall(), [(1,)])
        db.execute("INSERT INTO nv(nv) VALUES ('integrity-check')")
        db.execute("SELECT glove_unload('numbers')")

    def create(self, before=(), after=(), autoincrement=False):
        """Makes the table and the index in a new database, with triggers that are older or newer than those of the index."""
        self.db = self.connect()
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY %s, code INTEGER UNIQUE, vec)" % ("AUTOINCREMENT" if autoincrement else ""))
        self.fill()
        for sql in (*before, CREATE, *after):
            self.db.execute(sql)

    def fill(self):
        self.db.executemany("INSERT INTO doc VALUES (?, ?, ?)", ((i, i, self.vector()) for i in range(1, ROWS)))

    def command(self, name, db=None):
        fixture.command(db or self.db, name)

    def logged(self):
        return [id for id, in self.db.execute("SELECT id FROM doc_vec_log ORDER BY id")]

    def expect_right(self, db=None):
        fixture.expect_equal(db or self.db, self.source, DIMS)

    def state(self):
        return self.db.execute("SELECT state FROM glove_indexes").fetchone()[0]


class Failures(Triggers):
    CHANGES = {
        "INSERT": ("INSERT INTO doc VALUES (1000, NULL, ?1)", "INSERT INTO doc(vec) VALUES (?1)", "REPLACE INTO doc VALUES (7, 7, ?1)",
                   "REPLACE INTO doc(code, vec) VALUES (7, ?1)", "INSERT INTO doc VALUES (-5, NULL, ?1)"),
        "UPDATE": ("UPDATE doc SET vec = ?1 WHERE id = 9", "UPDATE OR FAIL doc SET id = 2000 WHERE id = 9", "UPDATE OR REPLACE doc SET id = 8 WHERE id = 9",
                   "INSERT INTO doc VALUES (9, 9, ?1) ON CONFLICT DO UPDATE SET vec = excluded.vec", "UPDATE doc SET rowid = 3000 WHERE id = 9"),
        "DELETE": ("DELETE FROM doc WHERE id = 9",),
    }
    ENDS = ("SELECT RAISE(FAIL, 'stopped')", "SELECT RAISE(IGNORE)", "INSERT OR FAIL INTO other VALUES (1), (1)")

    def test_a_row_that_stays_when_its_statement_fails(self):
        for event, end, newer, autoincrement in itertools.product(self.CHANGES, self.ENDS, (True, False), (True, False)):
            trigger = ["CREATE TABLE other(x UNIQUE)", "CREATE TRIGGER app AFTER %s ON doc BEGIN %s; END" % (event, end)]
            for change in self.CHANGES[event]:
                self.create(*((), trigger) if newer else (trigger,), autoincrement=autoincrement)
                self.db.execute("DELETE FROM doc WHERE id > 150") if event == "INSERT" else None
                self.command("sync")
                before = self.db.execute("SELECT * FROM doc").fetchall()
                try:
                    self.db.execute(change, (self.vector(),) if "?1" in change else ())
                except sqlite3.IntegrityError as error:
                    self.assertRegex(str(error), "stopped|UNIQUE constraint failed: other.x")
                stays = "ON CONFLICT DO UPDATE" not in change or "RAISE" in end  # DO UPDATE has a policy of its own: ABORT
                self.assertEqual(self.db.execute("SELECT * FROM doc").fetchall() != before, stays, (change, end))
                with self.subTest(change=change, end=end, newer=newer, autoincrement=autoincrement):
                    self.expect_right()
                    self.command("integrity-check")
                    self.command("merge")
                    self.expect_right()

    def test_commands_in_triggers(self):
        for command, time, event in itertools.product(("sync", "merge", "integrity-check"), ("BEFORE", "AFTER"), self.CHANGES):
            trigger = "CREATE TRIGGER app %s %s ON doc BEGIN INSERT INTO doc_vec(doc_vec) VALUES ('%s'); END" % (time, event, command)
            for change in self.CHANGES[event]:
                for newer in (True, False):
                    self.create(*((), (trigger,)) if newer else ((trigger,),))
                    with self.subTest(change=change, trigger=trigger, newer=newer):
                        self.db.execute(change, (self.vector(),) if "?1" in change else ())
                        self.expect_right()
                        self.command("integrity-check")

    def test_what_is_missed_is_found_by_the_integrity_check(self):
        fails = "CREATE TRIGGER app AFTER INSERT ON doc BEGIN SELECT RAISE(FAIL, 'stopped'); END"
        syncs = "CREATE TRIGGER syncs BEFORE UPDATE ON doc BEGIN INSERT INTO doc_vec(doc_vec) VALUES ('sync'); END"
        also_fails = "CREATE TRIGGER app AFTER UPDATE ON doc BEGIN SELECT RAISE(FAIL, 'stopped'); END"
        also_inserts = "CREATE TRIGGER inserts BEFORE INSERT ON doc WHEN new.code IS NULL BEGIN INSERT INTO doc(code) VALUES (500); END"
        for triggers, prepare, change in (
                (((), (fails,)), "SELECT 1", "INSERT INTO doc VALUES (-1, NULL, ?1)"),
                (((), (fails.replace("FAIL, 'stopped'", "IGNORE"),)), "INSERT INTO doc VALUES (9223372036854775807, NULL, NULL)",
                 "INSERT INTO doc(vec) VALUES (?1)"),
                (((also_inserts,), (fails.replace("BEGIN", "WHEN new.code IS NULL BEGIN"),)), "SELECT 1", "INSERT INTO doc(vec) VALUES (?1)"),
                (((syncs,), (also_fails,)), "SELECT 1", "UPDATE doc SET vec = ?1 WHERE id = 9")):
            self.create(*triggers)
            self.db.execute(prepare)
            try:
                self.db.execute(change, (self.vector(),))
            except sqlite3.IntegrityError as error:
                self.assertEqual(str(error), "stopped")
            with self.assertRaisesRegex(sqlite3.DatabaseError, "^doc_vec is out of step: the row .*'rebuild'"):
                self.command("integrity-check")
            self.command("rebuild")
            self.command("integrity-check")
            self.expect_right()

    def test_inserts_that_leave_a_row_alone_are_not_logged(self):
        self.create()
        for sql in ("INSERT OR IGNORE INTO doc SELECT * FROM doc", "INSERT INTO doc SELECT * FROM doc WHERE 1 ON CONFLICT DO NOTHING",
                    "INSERT INTO doc SELECT * FROM doc WHERE 1 ON CONFLICT(id) DO UPDATE SET code = code + 1000"):
            self.db.execute(sql)
            self.assertEqual(self.logged(), [])
        self.db.execute("INSERT INTO doc VALUES (NULL, NULL, ?), (NULL, NULL, ?)", (self.vector(), self.vector()))
        self.assertEqual(self.logged(), [ROWS, ROWS + 1])

    def test_keys_at_the_end(self):
        for autoincrement in (True, False):
            self.create(autoincrement=autoincrement)
            self.db.execute("INSERT INTO doc VALUES (9223372036854775807, NULL, ?)", (self.vector(),))
            try:
                self.db.execute("INSERT INTO doc(vec) VALUES (?)", (self.vector(),))
            except sqlite3.OperationalError as error:
                self.assertEqual((str(error), autoincrement), ("database or disk is full", True))
            self.expect_right()
            self.db.execute("DELETE FROM doc")
            self.command("sync")
            if autoincrement:
                self.db.execute("UPDATE sqlite_sequence SET seq = 'seven'")
            self.db.execute("INSERT INTO doc(vec) VALUES (?)", (self.vector(),))
            self.expect_right()

    def test_a_trigger_on_the_log_is_refused(self):
        self.create()
        self.db.execute("CREATE TRIGGER \"no log\" BEFORE INSERT ON doc_vec_log BEGIN SELECT RAISE(IGNORE); END")
        self.db.execute("UPDATE doc SET vec = ? WHERE id = 9", (self.vector(),))
        remedy = "run DROP TRIGGER \"main\".\"no log\", and then INSERT INTO \"doc_vec\"\\(\"doc_vec\"\\) VALUES \\('rebuild'\\)"
        for sql in ("SELECT id FROM doc_vec(x'')", "INSERT INTO doc_vec(doc_vec) VALUES ('sync')"):
            with self.assertRaisesRegex(sqlite3.Error, "^doc_vec: there is a trigger 'no log' on its table 'doc_vec_log', .*; " + remedy):
                self.db.execute(sql)
        self.assertRegex(self.state(), "'no log'")
        self.db.execute("DROP TRIGGER main.\"no log\"")
        self.command("rebuild")
        self.expect_right()


class Former(Triggers):
    def create_former(self):
        """An index as the first version made it."""
        self.db = self.connect("former.db")
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, code INTEGER UNIQUE, vec)")
        self.fill()
        self.db.execute(CREATE)
        for name, in self.db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            self.db.execute("DROP TRIGGER " + name)
        for columns in FORMER_TABLES:
            name = columns.partition("(")[0]
            rows = self.db.execute("SELECT * FROM doc_vec_%s" % name).fetchall()
            self.db.execute("DROP TABLE doc_vec_%s" % name)
            self.db.execute("CREATE TABLE \"doc_vec_%s\"%s" % (name, columns[len(name):]))
            if rows:
                self.db.executemany("INSERT INTO doc_vec_%s VALUES (%s)" % (name, ",".join("?" * len(rows[0]))), rows)
        for name, text in FORMER.items():
            self.db.execute('CREATE TRIGGER "%s" %s' % (name, text))

    def test_it_works_and_rebuild_gives_it_the_new_triggers(self):
        self.create_former()
        for command in ("sync", "merge", "sync", "integrity-check"):
            self.db.executemany("INSERT OR REPLACE INTO doc VALUES (?, NULL, ?)",
                                                     ((self.source.randrange(2 * ROWS), self.vector()) for _ in range(30)))
            self.expect_right()
            self.command(command)
            self.expect_right()
        self.command("sync")
        self.assertRegex(self.state(), "^current; run INSERT INTO .*'rebuild'.* for the triggers of this version; ")
        self.command("rebuild")
        self.assertEqual(self.state(), "current")
        self.assertEqual(self.db.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'").fetchone(), (5,))
        self.db.execute("CREATE TRIGGER app AFTER UPDATE ON doc BEGIN SELECT RAISE(FAIL, 'stopped'); END")
        with self.assertRaisesRegex(sqlite3.IntegrityError, "stopped"):
            self.db.execute("UPDATE doc SET vec = ? WHERE id = 9", (self.vector(),))
        self.expect_right()
        self.command("integrity-check")

    def test_other_texts_are_damage(self):
        for drop, create in ((("doc_vec_insert",), None), (("doc_vec_update",), "doc_vec_update AFTER UPDATE ON doc BEGIN SELECT 1; END"),
                             ((), "doc_vec_insert_before BEFORE INSERT ON doc BEGIN SELECT 1; END")):
            self.create_former()
            for name in drop:
                self.db.execute("DROP TRIGGER " + name)
            if create:
                self.db.execute("CREATE TRIGGER " + create)
            with self.assertRaisesRegex(sqlite3.OperationalError, "^doc_vec: the trigger 'doc_vec_.*' on 'doc' was (changed|dropped).*'rebuild'"):
                self.expect_right()
            self.command("rebuild")
            self.expect_right()
            os.remove(os.path.join(self.folder, "former.db"))
        for names in (("insert",), ("update",), ("delete",), ("insert_before",), ("update_before",), ("insert_before", "update_before")):
            self.create()
            for name in names:
                self.db.execute("DROP TRIGGER doc_vec_" + name)
            with self.assertRaisesRegex(sqlite3.OperationalError, "^doc_vec: the trigger 'doc_vec_(%s)' on 'doc' was dropped" % "|".join(names)):
                self.expect_right()

    def test_the_log_of_sqlite_tells(self):
        if ctypes.CDLL("libsqlite3.so.0").sqlite3_libversion_number() != int("%d%03d%03d" % sqlite3.sqlite_version_info):
            self.skipTest("Python has a SQLite of its own")
        self.create_former()
        self.db.close()
        told = subprocess.run([sys.executable, "-c", READ_WITH_LOG, os.path.join(self.folder, "former.db"), EXTENSION], text=True, check=True,
                              stdout=subprocess.PIPE).stdout
        self.assertRegex(told, "^glove: doc_vec: run INSERT INTO .*'rebuild'.* for the triggers of this version; [^\n]*\n$")


READ_WITH_LOG = """
import ctypes, sys
log = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)(lambda _, code, message: print(message.decode()))
ctypes.CDLL("libsqlite3.so.0").sqlite3_config(16, log, None)  # SQLITE_CONFIG_LOG, before Python's module starts SQLite
import sqlite3
db = sqlite3.connect(sys.argv[1])
db.enable_load_extension(True)
db.load_extension(sys.argv[2])
for _ in range(2):
    db.execute("SELECT id FROM doc_vec(zeroblob(16))").fetchall()
"""


@unittest.skipUnless(changesets.library(), "without the session extension")
class Changesets(Triggers):
    def change(self, execute):
        for _ in range(self.source.randrange(1, 9)):
            key, vector = self.source.randrange(1, ROWS + 40), self.vector().hex()
            execute(self.source.choice((
                "INSERT OR REPLACE INTO doc VALUES (%d, NULL, x'%s')" % (key, vector), "UPDATE doc SET vec = x'%s' WHERE id = %d" % (vector, key),
                "DELETE FROM doc WHERE id = %d" % key, "INSERT INTO doc_vec(doc_vec) VALUES ('sync')")))

    def test_a_replica_that_changes_and_syncs_too(self):
        self.db = self.connect("origin.db")
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, code INTEGER UNIQUE, vec)")
        self.fill()
        self.db.execute(CREATE)
        for number in range(24):
            path = os.path.join(self.folder, "replica%d.db" % number)
            self.change(self.db.execute)
            self.db.execute("VACUUM INTO '%s'" % path)
            recorder, replica = changesets.Connection(os.path.join(self.folder, "origin.db"), EXTENSION), changesets.Connection(path, EXTENSION)
            self.addCleanup(recorder.close)
            self.addCleanup(replica.close)
            changeset = recorder.recorded(lambda execute: (self.change(execute), execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")))
            self.assertNotIn(b"doc_vec", changeset)
            self.change(replica.execute)
            replica.apply(changeset, number % 2)
            self.change(replica.execute)
            self.expect_right(self.connect("replica%d.db" % number))
            fixture.command(self.connect("replica%d.db" % number), "integrity-check")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    EXTENSION = os.path.abspath(sys.argv.pop(1))
    fixture.skip_without_index(EXTENSION)
    unittest.main()
