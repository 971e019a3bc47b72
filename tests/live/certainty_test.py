"""What `certainty` does in an index that was created with certainty='yes', and what other indexes say.

    certainty_test.py EXTENSION [TEST...]
"""
import os
import random
import sqlite3
import struct
import sys
import unittest
import zlib

import numpy

import fixture

EXTENSION = None
DIMS = 256
FLAGS = 3 << 32  # of the checksum of a segment with a sign plane


class Certainty(unittest.TestCase):
    def setUp(self):
        self.source = random.Random(os.environ.get("GLOVE_TEST_SEED") or 1)
        self.normal = numpy.random.default_rng(self.source.randrange(1 << 30)).standard_normal
        self.topics = self.normal((400, DIMS))

    def vectors(self, count):
        rows = self.topics[[self.source.randrange(400) for _ in range(count)]] + 0.7 * self.normal((count, DIMS))
        return [row.tobytes() for row in rows.astype("<f4")]

    def vector(self):
        return self.vectors(1)[0]

    def insert(self, db, rows):
        db.executemany("INSERT INTO doc(vec) VALUES (?)", [(vector,) for vector in self.vectors(rows)])

    def create(self, options, rows):
        db = fixture.connect(":memory:", EXTENSION)
        self.addCleanup(db.close)
        db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, vec BLOB)")
        self.insert(db, rows)
        db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec', %s)" % options)
        return db

    def version(self, db):
        return db.execute("SELECT value FROM doc_vec_config WHERE key = 'version'").fetchone()[0]

    def expect_exact(self, db, where="", values=()):
        """Answers with a certainty are those of the proof. Returns how they came about."""
        found = set()
        for _ in range(8):
            query, k = self.vector(), self.source.choice((1, 2, 5))
            for certainty in (0.999, 1 - 1e-9):
                rows = db.execute("SELECT id, similarity, evidence FROM doc_vec WHERE query = ? AND k = ? AND certainty = ?" + where,
                                  (query, k, certainty, *values)).fetchall()
                exact = db.execute("SELECT id, similarity FROM doc_vec WHERE query = ? AND k = ?" + where, (query, k, *values)).fetchall()
                self.assertEqual([row[:2] for row in rows], exact)
                found |= {row[2] for row in rows}
        self.assertLessEqual(found, {"proof", "1-0.001", "1-1e-09"})
        return found

    def test_answers_are_exact_in_every_state(self):
        db = self.create("lists=8, certainty='yes'", 0)
        self.assertEqual(self.version(db), 1)
        self.assertEqual(self.expect_exact(db), set())
        self.insert(db, 900)
        self.assertEqual(self.expect_exact(db), {"proof"})
        fixture.command(db, "sync")
        self.assertEqual(self.version(db), 4)
        self.expect_exact(db)
        self.insert(db, 90)  # a segment of its own that is in the lists
        fixture.command(db, "sync")
        self.insert(db, 20)  # one that is in none
        fixture.command(db, "sync")
        flags = db.execute("SELECT rows, crc >> 32 FROM doc_vec_segment ORDER BY rows").fetchall()
        self.assertEqual(flags, [(20, 0), (90, 3), (900, 3)])
        self.expect_exact(db)
        db.execute("DELETE FROM doc WHERE id % 5 = 0")
        db.executemany("UPDATE doc SET vec = ? WHERE id = ?", [(self.vector(), i) for i in range(1, 60)])
        self.expect_exact(db)
        self.expect_exact(db, " AND among = ?", (struct.pack("<600q", *range(100, 700)),))
        for command in ("sync", "merge", "integrity-check", "rebuild", "integrity-check"):
            fixture.command(db, command)
            self.expect_exact(db)

    def test_signs_are_used_where_they_pay(self):
        db = self.create("lists=100, certainty='yes'", 20_000)  # many times the rows that are read for a first threshold
        self.assertGreaterEqual(self.expect_exact(db), {"1-0.001", "1-1e-09"})
        among = struct.pack("<15000q", *range(1, 15_001))
        self.assertGreaterEqual(self.expect_exact(db, " AND among = ?", (among,)), {"1-0.001", "1-1e-09"})
        scanned = {1: 0, 1 - 1e-9: 0}
        for query in self.vectors(20):  # of single queries the quotient is from .5 to .85, on average .71
            for certainty in scanned:
                db.execute("SELECT id FROM doc_vec WHERE query = ? AND k = 1 AND certainty = ?", (query, certainty)).fetchall()
                scanned[certainty] += db.execute("SELECT bytes_scanned FROM glove_stats LIMIT 1").fetchone()[0]
        self.assertLess(scanned[1 - 1e-9], 0.8 * scanned[1])

    def test_other_indexes_say_what_to_do(self):
        db = self.create("lists=8", 200)
        self.assertEqual(self.version(db), 3)
        with self.assertRaises(sqlite3.Error) as raised:
            db.execute("SELECT id FROM doc_vec WHERE query = ? AND k = 3 AND certainty = 0.999", (self.vector(),)).fetchall()
        self.assertEqual(str(raised.exception), "doc_vec: certainty must be 1 or NULL, because the index keeps no random rotation; create it "
                                                "with certainty='yes', or omit it, and the answer is exact")
        for options, message in (("certainty='maybe'", "certainty must be 'yes' or 'no', but is 'maybe'"),
                                 ("certainty='yes', lists='none'", "certainty='yes' needs lists, but lists is 'none'; omit one of them")):
            with self.assertRaisesRegex(sqlite3.Error, message):
                self.create(options, 0)
        db = self.create("lists=8, certainty='yes'", 0)
        db.execute("INSERT INTO doc(vec) VALUES (?)", (fixture.vector(self.source, 8),))
        with self.assertRaisesRegex(sqlite3.Error, "certainty='yes' is for vectors of 256 to 4096 dimensions, but these have 8"):
            fixture.command(db, "sync")

    def test_damage_is_found(self):
        db = self.create("lists=4, certainty='yes'", 1000)
        lists, = db.execute("SELECT data FROM doc_vec_block WHERE segment = 0").fetchone()
        self.assertEqual(len(lists), 16 + 4 * 4 * DIMS + 8)
        segment, = db.execute("SELECT data FROM doc_vec_block WHERE segment > 0").fetchone()  # the only block
        other = lists[:-1] + bytes([lists[-1] ^ 1])
        db.execute("UPDATE doc_vec_block SET data = ? WHERE segment = 0", (other,))
        db.execute("UPDATE doc_vec_segment SET uuid = randomblob(16)")
        ask = ("SELECT id FROM doc_vec WHERE query = ? AND k = 3", (self.vector(),))
        with self.assertRaisesRegex(sqlite3.Error, "does not have the checksum that was stored with it"):
            db.execute(*ask).fetchall()

        def store(lists, segment, flags):
            db.execute("UPDATE doc_vec_block SET data = iif(segment = 0, ?, ?)", (lists, segment))
            db.execute("UPDATE doc_vec_segment SET uuid = randomblob(16), crc = ?", (flags + zlib.crc32(segment, zlib.crc32(lists)),))
        # The signs are last, those of the last tile with places for 24 more rows.
        store(lists, segment[:-1 - 4 * 24] + bytes([segment[-1 - 4 * 24] ^ 1]) + segment[-4 * 24:], FLAGS)
        with self.assertRaisesRegex(sqlite3.Error, "has planes that are not those of its codes"):
            fixture.command(db, "integrity-check")
        store(lists[:-8], segment, FLAGS)
        with self.assertRaisesRegex(sqlite3.Error, "has other planes than its lists"):
            db.execute(*ask).fetchall()
        fixture.command(db, "rebuild")
        fixture.command(db, "integrity-check")
        self.expect_exact(db)

    def test_few_bytes_are_stored(self):
        sizes = []
        for certainty in ("yes", "no"):
            db = self.create("lists=4, certainty='%s'" % certainty, 320)
            sizes.append(db.execute("SELECT sum(length(data)) FROM doc_vec_block").fetchone()[0])
        self.assertEqual(sizes[0] - sizes[1], 8 + 320 * (DIMS // 8 + 6))


if __name__ == "__main__":
    EXTENSION = os.path.abspath(sys.argv.pop(1))
    fixture.skip_without_index(EXTENSION)
    unittest.main()
