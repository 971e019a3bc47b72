"""When an index gets lists, what they may not change, and what is said about damaged ones.

    lists_test.py EXTENSION [TEST...]
"""
import os
import random
import sqlite3
import struct
import sys
import tempfile
import unittest
import zlib

import fixture

EXTENSION = None
DIMS = 8
IN_LISTS = 1 << 32
NEAREST = "SELECT id, similarity FROM doc_vec WHERE query = ? AND k = 2"


class Lists(unittest.TestCase):
    def setUp(self):
        self.source = random.Random(os.environ.get("GLOVE_TEST_SEED") or 1)
        folder = tempfile.TemporaryDirectory(prefix="glove-live-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def connect(self, name=":memory:"):
        db = fixture.connect(name if name == ":memory:" else os.path.join(self.folder, name), EXTENSION)
        self.addCleanup(db.close)
        return db

    def create(self, lists, rows=100, name=":memory:"):
        """An index over so many rows."""
        db = self.connect(name)
        db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, vec BLOB)")
        self.insert(db, rows)
        db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec', lists=%s)" % lists)
        return db

    def insert(self, db, rows):
        db.executemany("INSERT INTO doc(vec) VALUES (?)", [(fixture.vector(self.source, DIMS),) for _ in range(rows)])

    def config(self, db):
        return dict(db.execute("SELECT key, value FROM doc_vec_config WHERE key IN ('version', 'lists')"))

    def in_lists(self, db):
        """The rows of each segment, and whether it is in lists."""
        return db.execute("SELECT rows, crc >= %d FROM doc_vec_segment ORDER BY rows" % IN_LISTS).fetchall()

    def test_a_number_of_lists_is_made_once_there_are_eight_rows_for_each(self):
        db = self.create(5, 39)
        self.assertEqual((self.config(db), self.in_lists(db)), ({"version": 1, "lists": 0}, [(39, 0)]))
        self.insert(db, 1)
        fixture.command(db, "sync")  # joins the segments, because lists are due
        self.assertEqual((self.config(db), self.in_lists(db)), ({"version": 3, "lists": 5}, [(40, 1)]))
        self.insert(db, 2)
        fixture.command(db, "sync")
        self.assertEqual(self.in_lists(db), [(2, 0), (40, 1)])
        fixture.expect_sound(db, self.source, DIMS)
        fixture.command(db, "merge")
        self.assertEqual(self.in_lists(db), [(42, 1)])
        fixture.expect_sound(db, self.source, DIMS)
        db.execute("DELETE FROM doc WHERE id > 10")
        fixture.command(db, "rebuild")
        self.assertEqual((self.config(db), self.in_lists(db)), ({"version": 1, "lists": 0}, [(10, 0)]))
        self.assertEqual(db.execute("SELECT count(*) FROM doc_vec_block WHERE segment = 0").fetchone(), (0,))

    def test_an_empty_index_gets_lists_at_its_first_sync(self):
        db = self.create(3, 0)
        self.insert(db, 50)
        fixture.command(db, "sync")
        self.assertEqual(self.in_lists(db), [(50, 1)])
        fixture.expect_sound(db, self.source, DIMS)

    def test_none_and_few_rows_have_no_lists(self):
        for lists in ("none", "auto"):
            db = self.create(lists, 500)
            self.assertEqual((self.config(db), self.in_lists(db)), ({"version": 1, "lists": 0}, [(500, 0)]))

    def test_an_index_of_an_older_version_gets_lists_by_rebuild(self):
        db = self.create("none", 100)
        old = self.create(5, 39)
        old.execute("DELETE FROM doc_vec_config WHERE key = 'lists'")  # as one of an older version
        self.insert(old, 100)
        for command in ("sync", "merge"):
            fixture.command(old, command)
            self.assertEqual((self.config(old), sum(listed for _, listed in self.in_lists(old))), ({"version": 1}, 0))
        fixture.expect_sound(old, self.source, DIMS)
        fixture.command(old, "rebuild")
        self.assertEqual((self.config(old), self.in_lists(old)), ({"version": 3, "lists": 5}, [(139, 1)]))
        self.assertEqual([row[0] for row in db.execute("SELECT name FROM sqlite_schema ORDER BY name")],
                         [row[0] for row in old.execute("SELECT name FROM sqlite_schema ORDER BY name")])

    def test_a_version_that_is_too_new_asks_for_the_newer_extension(self):
        db = self.create(5)
        db.execute("UPDATE doc_vec_config SET value = 5 WHERE key = 'version'")
        with self.assertRaisesRegex(sqlite3.Error, "version 5, but this extension reads no later one than 4; use the newer extension that wrote it"):
            db.execute(NEAREST, (fixture.vector(self.source, DIMS),)).fetchall()

    def test_the_same_rows_have_the_same_lists(self):
        first, second = self.create(7, 200), self.connect()
        second.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, vec BLOB)")
        second.executemany("INSERT INTO doc VALUES (?, ?)", first.execute("SELECT id, vec FROM doc"))
        second.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec', lists=7)")
        blocks = "SELECT segment, number, data FROM doc_vec_block ORDER BY segment, number"
        self.assertEqual(first.execute(blocks).fetchall(), second.execute(blocks).fetchall())

    def test_arguments(self):
        for value in ("0", "65537", "-1", "many", "1.5", ""):
            with self.assertRaisesRegex(sqlite3.Error, "lists must be 'auto', 'none' or an integer from 1 to 65536, but is '%s'" % value):
                self.create("'%s'" % value)

    def test_more_dimensions_than_planes_have(self):
        db = self.connect()
        db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, vec BLOB)")
        db.executemany("INSERT INTO doc(vec) VALUES (?)", [(fixture.vector(self.source, 4097),) for _ in range(8)])
        with self.assertRaisesRegex(sqlite3.Error, "vectors of 4097 dimensions cannot be in lists, only of 4096 or fewer"):
            db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec', lists=100)")
        with self.assertRaisesRegex(sqlite3.Error, "vectors of 4097 dimensions cannot be in lists"):
            db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec', dims=4097, lists=1)")
        db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec')")

    def damaged(self, change, lists_change=lambda block: block):
        """An index whose stored planes or lists are changed, with a checksum that is right again."""
        db = self.create(5)
        segment, = db.execute("SELECT data FROM doc_vec_block WHERE segment > 0").fetchone()
        lists, = db.execute("SELECT data FROM doc_vec_block WHERE segment = 0").fetchone()
        lists, segment = lists_change(lists), change(segment)
        db.execute("UPDATE doc_vec_block SET data = iif(segment = 0, ?, ?)", (lists, segment))
        db.execute("UPDATE doc_vec_segment SET crc = ?, uuid = randomblob(16)", (IN_LISTS + zlib.crc32(segment, zlib.crc32(lists)),))
        return db

    def test_integrity_check_finds_other_planes(self):
        db = self.damaged(lambda block: block[:-1] + bytes([block[-1] ^ 1]))  # the last bits of plane two
        self.assertEqual(db.execute("PRAGMA quick_check").fetchall(), [("ok",)])
        with self.assertRaisesRegex(sqlite3.Error, "the segment 1 has planes that are not those of its codes; run .*'rebuild'"):
            fixture.command(db, "integrity-check")
        fixture.command(db, "rebuild")
        fixture.expect_sound(db, self.source, DIMS)

    def test_damaged_lists_are_errors(self):
        codes = 4 * -(-DIMS // 4) * 32 * -(-100 // 32) + 16 * 100
        for change, lists_change, message in (
                (lambda block: block[:codes] + b"\xff" * 6 + block[codes + 6:], lambda lists: lists, "has numbers of its planes that no row has"),
                (lambda block: block[:-1], lambda lists: lists, "has a block that does not belong to it"),
                (lambda block: block, lambda lists: lists[:-4], "its lists have .* bytes"),
                (lambda block: block, lambda lists: lists[:16] + bytes(4 * DIMS) + lists[16 + 4 * DIMS:], "a centroid that is zero"),
                (lambda block: block, lambda lists: (4).to_bytes(8, "little") + lists[8:-4 * DIMS], "a row in a list that does not exist")):
            with self.subTest(message):
                db = self.damaged(change, lists_change)
                with self.assertRaisesRegex(sqlite3.Error, message + ".*run .*'rebuild'"):
                    db.execute(NEAREST, (fixture.vector(self.source, DIMS),)).fetchall()
                fixture.command(db, "rebuild")
                fixture.expect_sound(db, self.source, DIMS)

    def test_the_lists_of_another_index_are_an_error(self):
        db, other = self.create(5), self.create(5)
        lists, = other.execute("SELECT data FROM doc_vec_block WHERE segment = 0").fetchone()
        db.execute("UPDATE doc_vec_block SET data = ? WHERE segment = 0", (lists,))
        db.execute("UPDATE doc_vec_segment SET uuid = randomblob(16)")  # so that the one in memory is not found
        with self.assertRaisesRegex(sqlite3.Error, "does not have the checksum that was stored with it"):
            db.execute(NEAREST, (fixture.vector(self.source, DIMS),)).fetchall()

    def test_an_interrupt_leaves_the_index_as_it_was(self):
        db = self.create(200, 6000)
        before = fixture.shadow_rows(db)
        for calls in (40, 400, 4000):
            left = [calls]

            def stop(left=left):
                left[0] -= 1
                return left[0] < 0
            db.set_progress_handler(stop, 100)
            try:
                fixture.command(db, "rebuild")
            except sqlite3.OperationalError as error:
                self.assertIn("interrupted", str(error))
                db.set_progress_handler(None, 0)
                self.assertEqual(fixture.shadow_rows(db), before)
            db.set_progress_handler(None, 0)
        fixture.expect_sound(db, self.source, DIMS)

    def sizes(self, db):
        """{centroid: rows in its list}, of the only segment."""
        block, rows = db.execute("SELECT data, rows FROM doc_vec_block b, doc_vec_segment s WHERE segment = id").fetchone()
        lists, = db.execute("SELECT data FROM doc_vec_block WHERE segment = 0").fetchone()
        tiles = -(-rows // 32)
        at = tiles * 32 * DIMS + 16 * rows + tiles * 192
        numbers = struct.unpack("<%dH" % rows, block[at:at + 2 * rows])
        centroids = [lists[i:i + 4 * DIMS] for i in range(16, len(lists), 4 * DIMS)]
        return {centroid: numbers.count(i) for i, centroid in enumerate(centroids)}

    def test_merge_clusters_the_lists_anew_that_have_too_many_or_too_few_rows(self):
        db = self.create(10, 300)
        db.execute("UPDATE doc SET vec = (SELECT vec FROM doc WHERE id = 5) WHERE id % 3 = 0")
        db.executemany("UPDATE doc SET vec = ? WHERE id = ?", [(fixture.vector(self.source, DIMS), i) for i in range(1, 180, 3)])
        fixture.command(db, "sync")  # joins the segments in the former lists
        before = self.sizes(db)
        self.assertEqual((sum(before.values()), len(before)), (300, 10))
        self.insert(db, 1)
        fixture.command(db, "merge")
        after = self.sizes(db)
        self.assertEqual(sum(after.values()), 301)
        for centroid, size in before.items():
            if 17 <= size <= 58 or size < 14 or size > 62:  # a half and twice of 30, and some room for the new row
                self.assertEqual(centroid in after, 17 <= size <= 58, size)
        self.assertTrue(set(after) - set(before), "the list of equal rows must have left")
        self.assertEqual(self.config(db), {"version": 3, "lists": len(after)})
        fixture.expect_sound(db, self.source, DIMS)

    def test_a_reader_with_little_memory(self):
        db = self.create(5, 3000, "lists.db")
        fixture.expect_sound(db, self.source, DIMS)
        db.close()
        reader = self.connect("lists.db")
        reader.execute("SELECT glove_config('index_memory', '1')").fetchall()
        try:
            fixture.expect_equal(reader, self.source, DIMS)
            block, number = reader.execute("SELECT data, number FROM doc_vec_block WHERE segment > 0 ORDER BY number DESC").fetchone()
            reader.execute("UPDATE doc_vec_block SET data = ? WHERE segment > 0 AND number = ?", (block[:-1] + bytes([block[-1] ^ 1]), number))
            reader.execute("UPDATE doc_vec_segment SET uuid = randomblob(16)")
            reader.execute("UPDATE doc_vec_config SET value = 1 WHERE key = 'log'")  # as a command does that writes segments
            with self.assertRaisesRegex(sqlite3.Error, "does not have the checksum"):  # that covers the planes
                reader.execute(NEAREST, (fixture.vector(self.source, DIMS),)).fetchall()
        finally:
            reader.execute("SELECT glove_config('index_memory', '0')").fetchall()


if __name__ == "__main__":
    EXTENSION = os.path.abspath(sys.argv.pop(1))
    fixture.skip_without_index(EXTENSION)
    unittest.main()
