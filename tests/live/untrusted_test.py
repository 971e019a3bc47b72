"""Indexes in databases from an untrusted source, and on a connection with the limits that SQLite recommends for untrusted SQL.

    untrusted_test.py EXTENSION [TEST...]

What a statement may do that the extension runs itself is in tests/live/reentry_test.cpp, which mutates schemas at random as well.
"""
import os
import random
import re
import sqlite3
import sys
import tempfile
import unittest
import zlib

import fixture

EXTENSION = None
DIMS = 3
SHADOWS = ("config", "segment", "block", "dead", "log")
COMMANDS = ("sync", "merge", "rebuild", "integrity-check")
COMMAND = "INSERT INTO doc_vec(doc_vec) VALUES ('{}')"
QUERY = "SELECT id, similarity, rank FROM doc_vec WHERE query = ? ORDER BY rank"


class Untrusted(unittest.TestCase):
    def setUp(self):
        self.source = random.Random(1)
        folder = tempfile.TemporaryDirectory(prefix="glove-live-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def create(self, name=":memory:", dims=DIMS, rows=40):
        db = fixture.create(name if name == ":memory:" else self.path(name), EXTENSION, self.source, dims, rows)
        self.addCleanup(db.close)
        return db

    def connect(self, path):
        db = fixture.connect(path, EXTENSION)
        self.addCleanup(db.close)
        return db


class Schemas(Untrusted):
    def test_a_table_of_the_index_that_is_something_else_is_an_error(self):
        other_kinds = ("CREATE VIEW {0} AS SELECT * FROM saved", "CREATE TABLE {0} AS SELECT * FROM saved",
                       "CREATE TABLE {0}(id INTEGER PRIMARY KEY, x) WITHOUT ROWID", "CREATE VIRTUAL TABLE {0} USING rtree(id, a, b)",
                       "CREATE VIRTUAL TABLE {0} USING glove_index(content='doc', rowid='id', vector='vec')")
        modules = [name for name, in self.create().execute("SELECT name FROM pragma_module_list")]
        for shadow in SHADOWS:
            for kind in other_kinds:
                if "USING" in kind and re.search(r"USING (\w+)", kind).group(1) not in modules:
                    continue
                with self.subTest(shadow=shadow, kind=kind):
                    db, name = self.create(), "doc_vec_" + shadow
                    db.execute("CREATE TABLE saved AS SELECT * FROM %s" % name)
                    db.execute("DROP TABLE %s" % name)
                    db.execute(kind.format(name))
                    message = "'%s' is not the table that the index has made" % name
                    with self.assertRaisesRegex(sqlite3.Error, message + ("|error in trigger" if shadow == "log" else "")):  # SQLite's own
                        db.execute("ALTER TABLE doc_vec RENAME TO other")
                    for sql in (QUERY.replace("?", "'[1, 2, 3]'"), *map(COMMAND.format, COMMANDS)):
                        with self.assertRaisesRegex(sqlite3.Error, message) as refused:
                            db.execute(sql).fetchall()
                    self.assertEqual(db.execute("SELECT rows, segments, dead, logged, bytes, state FROM glove_indexes WHERE name = 'doc_vec'").fetchall(),
                                     [(None,) * 5 + (str(refused.exception),)])
                    for remedy in re.findall(r"DROP (?:TABLE|VIEW) [^,]*|INSERT INTO [^,]*", str(refused.exception)):
                        db.execute(remedy)
                    fixture.expect_sound(db, self.source, DIMS)
                    db.execute("DROP TABLE %s" % name)
                    db.execute(kind.format(name))
                    db.execute("DROP TABLE doc_vec")
                    self.assertEqual(db.execute("SELECT name FROM sqlite_schema WHERE name LIKE 'doc_vec%'").fetchall(), [])

    def test_a_virtual_table_that_reads_a_view_over_the_index(self):
        db = self.create()
        try:
            db.executescript("CREATE TABLE saved AS SELECT * FROM doc_vec_log; DROP TABLE doc_vec_log;"
                             "CREATE VIEW w AS SELECT s.id + (SELECT count(*) * 0 FROM doc_vec WHERE query = '[1, 1, 1]') AS rowid, s.id FROM saved s;"
                             "CREATE VIRTUAL TABLE doc_vec_log USING fts5(id, content = 'w', columnsize = 0)")
        except sqlite3.OperationalError as error:
            self.skipTest(str(error))  # an SQLite without FTS5
        with self.assertRaisesRegex(sqlite3.Error, "'doc_vec_log' is not the table that the index has made"):
            db.execute(QUERY, ("[1, 1, 1]",)).fetchall()

    def test_glove_indexes_ends(self):
        db = self.create()
        db.execute("DROP TABLE doc_vec_dead")
        db.execute("CREATE VIEW doc_vec_dead AS SELECT 1 AS segment, x'00' AS bits FROM glove_indexes")
        self.assertEqual(db.execute("SELECT name, rows FROM glove_indexes").fetchall(), [("doc_vec", None)])
        db.execute("CREATE VIEW pragma_database_list AS SELECT 0 AS seq, 'main' AS name, '' AS file FROM glove_indexes")
        self.assertEqual(db.execute("SELECT name, rows FROM glove_indexes").fetchall(), [("doc_vec", None)])

    def test_a_trigger_on_a_table_of_the_index_that_uses_the_index(self):
        uses = [*map(COMMAND.format, COMMANDS), "SELECT count(*) FROM doc_vec WHERE query = '[1, 2, 3]'"]
        for event in ("INSERT ON doc_vec_config", "INSERT ON doc_vec_segment", "DELETE ON doc_vec_segment", "INSERT ON doc_vec_block",
                      "DELETE ON doc_vec_block", "DELETE ON doc_vec_dead", "DELETE ON doc_vec_log"):
            for use in uses:
                with self.subTest(event=event, use=use):
                    db = self.create()
                    fixture.command(db, "rebuild")
                    for action in ("sync", "integrity-check"):  # the first marks a row dead, the other leaves one in the log
                        db.execute("DELETE FROM doc WHERE id = (SELECT min(id) FROM doc)")
                        fixture.command(db, action)
                    self.assertTrue(all(fixture.shadow_rows(db).values()))
                    db.execute("CREATE TRIGGER t AFTER %s BEGIN %s; END" % (event, use))
                    before = fixture.shadow_rows(db)
                    with self.assertRaisesRegex(sqlite3.Error, "a statement that the index runs itself has used the index again"):
                        fixture.command(db, "rebuild")
                    self.assertEqual(fixture.shadow_rows(db), before)  # nothing half-done
                    db.execute("DROP TRIGGER t")
                    fixture.expect_sound(db, self.source, DIMS)

    def test_a_table_that_only_an_index_of_texts_has_is_the_users(self):
        for kind in ("TABLE doc_vec_vector(x)", "VIEW doc_vec_vector AS SELECT 1"):
            db = self.create()
            db.execute("CREATE " + kind)
            fixture.command(db, "rebuild")
            fixture.expect_sound(db, self.source, DIMS)
            db.execute("DROP TABLE doc_vec")
            self.assertEqual(db.execute("SELECT name FROM sqlite_schema WHERE name LIKE 'doc_vec%'").fetchall(), [("doc_vec_vector",)])

    def test_indexes_that_use_one_another(self):
        db = fixture.connect(":memory:", EXTENSION)
        self.addCleanup(db.close)
        db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, vec)")
        db.execute("INSERT INTO doc VALUES (1, '[1, 2, 3]')")
        for i in range(40):
            db.execute("CREATE VIRTUAL TABLE v%d USING glove_index(content='doc', rowid='id', vector='vec')" % i)
        for i in range(40):
            db.execute("CREATE TRIGGER t%d AFTER INSERT ON v%d_segment BEGIN INSERT INTO v%d(v%d) VALUES ('rebuild'); END" % (i, i, i + 1, i + 1))
        db.execute("INSERT INTO v36(v36) VALUES ('integrity-check')")
        with self.assertRaisesRegex(sqlite3.Error, "8 indexes run statements of their own that use one another"):
            db.execute("INSERT INTO v0(v0) VALUES ('rebuild')")


def forged(content, wanted, at):
    """The bytes with the 4 at `at` changed so that their CRC-32 is `wanted`."""
    def flipped(bits):
        four = (int.from_bytes(content[at:at + 4], "little") ^ bits).to_bytes(4, "little")
        return content[:at] + four + content[at + 4:]

    crc = zlib.crc32(content)
    basis = {}  # by the highest bit of the difference that it makes: (difference, the bits that are flipped)
    for bit in range(32):
        difference, bits = zlib.crc32(flipped(1 << bit)) ^ crc, 1 << bit
        while difference and difference.bit_length() in basis:
            other = basis[difference.bit_length()]
            difference, bits = difference ^ other[0], bits ^ other[1]
        basis[difference.bit_length()] = difference, bits
    difference, bits = crc ^ wanted, 0
    while difference:
        other = basis[difference.bit_length()]
        difference, bits = difference ^ other[0], bits ^ other[1]
    return flipped(bits)


class SharedSegments(Untrusted):
    DIMS, ROWS = 8, 2600  # so many rows that a query of few does not read all of them

    def original(self):
        """Returns a path. Beside it is a forged copy, whose index has another key in place of the last one, but the same checksum."""
        db = self.create("original.db", self.DIMS, self.ROWS)
        fixture.command(db, "merge")
        db.close()
        with open(self.path("original.db"), "rb") as file:
            image = file.read()
        forger = sqlite3.connect(self.path("forged.db"))
        forger.deserialize(image)
        (rows, crc), (block,) = forger.execute("SELECT rows, crc FROM doc_vec_segment").fetchone(), forger.execute("SELECT data FROM doc_vec_block").fetchone()
        self.assertEqual(zlib.crc32(block), crc)
        last = len(block) - 8 * rows - 8
        block = block[:last] + (1 << 40).to_bytes(8, "little") + block[last + 8:]
        block = forged(block, crc, 0)  # in the codes of the first row
        self.assertEqual(zlib.crc32(block), crc)
        forger.execute("UPDATE doc_vec_block SET data = ?", (block,))
        forger.commit()
        self.forged = forger.serialize()
        with open(self.path("forged.db"), "wb") as file:
            file.write(self.forged)
        return self.path("original.db")

    def finds_the_last_row(self, db, table="doc_vec"):
        (last, vector), = db.execute("SELECT id, vec FROM doc ORDER BY id DESC LIMIT 1")
        return db.execute("SELECT id FROM %s WHERE query = ? AND k = 1" % table, (vector,)).fetchall() == [(last,)]

    def use_forged(self, db, table="doc_vec"):
        """Reads the segment of the forged copy and keeps it."""
        self.assertFalse(self.finds_the_last_row(db, table))

    def test_a_copy_in_another_file(self):
        path = self.original()
        self.use_forged(self.connect(self.path("forged.db")))
        self.assertTrue(self.finds_the_last_row(self.connect(path)))

    def test_a_copy_in_memory(self):
        path = self.original()
        db = self.connect(":memory:")
        db.deserialize(self.forged)
        self.use_forged(db)
        self.assertTrue(self.finds_the_last_row(self.connect(path)))

    def test_a_copy_in_the_place_of_a_file_that_is_open(self):
        path = self.original()
        db = self.connect(path)
        db.execute("SELECT count(*) FROM doc").fetchone()
        os.rename(self.path("forged.db"), path)
        self.use_forged(self.connect(path))
        self.assertTrue(self.finds_the_last_row(db))

    def test_two_copies_in_memory_on_one_connection(self):
        self.original()
        db = self.connect(":memory:")
        db.execute("ATTACH ':memory:' AS forged")
        with open(self.path("original.db"), "rb") as file:
            db.deserialize(file.read())
        db.deserialize(self.forged, name="forged")
        self.use_forged(db, "forged.doc_vec")
        self.assertTrue(self.finds_the_last_row(db))

    def reads_the_segment(self, db):
        """Whether a query reads the blocks from the database."""
        statements = []
        db.set_trace_callback(statements.append)
        self.assertTrue(self.finds_the_last_row(db))
        db.set_trace_callback(None)
        return any("doc_vec_block" in sql for sql in statements)

    def test_connections_to_one_file_read_a_segment_once(self):
        path = self.original()
        os.symlink(path, self.path("link.db"))
        first = self.connect(path)
        self.assertTrue(self.reads_the_segment(first))
        for name in (path, self.path("link.db"), "file:%s?mode=ro" % path, "file:%s?immutable=1" % path):
            db = sqlite3.connect(name, uri=True, isolation_level=None)
            self.addCleanup(db.close)
            db.enable_load_extension(True)
            db.load_extension(EXTENSION)
            self.assertFalse(self.reads_the_segment(db), name)
        first.execute("DELETE FROM doc WHERE id = 0")
        self.assertFalse(self.reads_the_segment(first))
        copy = self.connect(":memory:")
        with open(path, "rb") as file:
            copy.deserialize(file.read())
        self.assertTrue(self.reads_the_segment(copy))
        copy.execute("DELETE FROM doc WHERE id = 0")
        self.assertFalse(self.reads_the_segment(copy))

    def test_padding_that_is_not_zero_is_damage(self):
        db = self.create(dims=3)
        fixture.command(db, "merge")
        segment, block = db.execute("SELECT segment, data FROM doc_vec_block").fetchone()
        block = block[:3] + b"\1" + block[4:]  # the fourth component of the first row
        db.execute("UPDATE doc_vec_block SET data = ?", (block,))
        db.execute("UPDATE doc_vec_segment SET crc = ?, uuid = randomblob(16)", (zlib.crc32(block),))
        with self.assertRaisesRegex(sqlite3.Error, "the segment %d has codes where there is no component; run .*'rebuild'" % segment):
            db.execute(QUERY, ("[1, 2, 3]",)).fetchall()
        fixture.command(db, "rebuild")
        fixture.expect_sound(db, self.source, 3)


class Limits(Untrusted):
    DIMS, ROWS = 1024, 2200  # segments of more than two blocks

    def large(self, name=":memory:"):
        db = self.create(name, self.DIMS, 20)
        db.execute("DELETE FROM doc")
        vectors = [fixture.vector(self.source, self.DIMS) for _ in range(20)]
        with db:
            db.executemany("INSERT INTO doc VALUES (?, ?)", ((i, vectors[i % 20][:-4] + fixture.vector(self.source, 1)) for i in range(self.ROWS)))
        return db

    def test_commands_with_a_low_limit_of_the_length(self):
        db = self.large()
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1000000)
        for command in COMMANDS:
            db.execute("UPDATE doc SET vec = vec WHERE id % 3 = 0")
            fixture.command(db, command)
        self.assertGreater(db.execute("SELECT sum(length(data)) FROM doc_vec_block").fetchone()[0], 2000000)
        fixture.expect_sound(db, self.source, self.DIMS)

    def test_blocks_of_earlier_versions(self):
        path = self.path("earlier.db")
        db = self.large("earlier.db")
        fixture.command(db, "rebuild")
        content = b"".join(data for data, in db.execute("SELECT data FROM doc_vec_block ORDER BY number"))
        segment, = db.execute("SELECT id FROM doc_vec_segment").fetchone()
        db.execute("DELETE FROM doc_vec_block")
        db.executemany("INSERT INTO doc_vec_block VALUES (?, ?, ?)",
                       ((segment, at // 1000000, content[at:at + 1000000]) for at in range(0, len(content), 1000000)))
        db.close()
        db = self.connect(path)
        db.execute("DELETE FROM doc WHERE id % 7 = 0")
        fixture.command(db, "sync")  # reads the ids alone
        self.assertEqual(db.execute("SELECT length(data) FROM doc_vec_block WHERE number = 0").fetchall(), [(1000000,)])
        fixture.expect_sound(db, self.source, self.DIMS)
        db.execute("UPDATE doc_vec_block SET data = substr(data, 1, 950000) WHERE number = 0")
        with self.assertRaisesRegex(sqlite3.Error, "a block that does not belong to it, number 0"):
            fixture.command(db, "integrity-check")


if __name__ == "__main__":
    EXTENSION = os.path.abspath(sys.argv.pop(1))
    fixture.skip_without_index(EXTENSION)
    unittest.main()
