"""python -m sqlite_glove from-sqlite-vec, without sqlite-vec: test_sqlite_vec.py --project FOLDER --extension GLOVE.SO --convert
GLOVE-CONVERT

The tables are those of vec0.db.gz, which make_vec0.py made. Skipped if this Python cannot load extensions.
"""
import array
import contextlib
import gzip
import math
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import installed
import make_vec0

STORED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vec0.db.gz")
QUERY = [0.5, -1.0, 0.25, 2.0]


def floats(blob):
    return array.array("f", blob)


def euclidean(a, b):
    return math.dist(a, b)


def cosine(a, b):
    return 1 - sum(x * y for x, y in zip(a, b)) / math.hypot(*a) / math.hypot(*b)


def expected_rows():
    """Those of full after the conversion, by their keys."""
    for row in make_vec0.rows():
        if row[0] != 21:
            yield row


class FromSqliteVec(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "a b?.db")
        with gzip.open(STORED) as stored, open(self.path, "wb") as file:
            file.write(stored.read())

    def run_command(self, *arguments):
        return subprocess.run([sys.executable, "-m", "sqlite_glove", "from-sqlite-vec", *arguments], capture_output=True, text=True, check=False)

    def convert(self, *arguments):
        done = self.run_command(self.path, *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def check_refused(self, message, *arguments):
        """The command ends with this error, and leaves the file as it is."""
        before = self.bytes()
        done = self.run_command(self.path, *arguments)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "from-sqlite-vec: " + message)
        self.assertEqual(self.bytes(), before)

    def bytes(self):
        with open(self.path, "rb") as file:
            return file.read()

    @contextlib.contextmanager
    def open(self):
        import sqlite_glove
        with contextlib.closing(sqlite3.connect(self.path)) as conn, conn:
            sqlite_glove.load(conn)
            yield conn

    def test_rows(self):
        printed = self.convert("FULL")
        self.assertIn("Rows of 'full' copied", printed)
        self.assertIn("into 'full_rows': 39\n", printed)
        self.assertIn("int8 vectors stay as they are", printed)
        with self.open() as conn:
            self.assertEqual(conn.execute("SELECT * FROM full_rows ORDER BY doc_id").fetchall(), list(expected_rows()))
            self.assertEqual([name for _, name, *_ in conn.execute("PRAGMA table_info(full_rows)")],
                             "doc_id user_id lang emb small title year score ok body raw n".split())
            for index in ("full_rows_emb_vec", "full_rows_small_vec"):
                conn.execute(f"INSERT INTO {index}({index}) VALUES ('integrity-check')")
            plan = conn.execute("EXPLAIN QUERY PLAN SELECT * FROM full_rows WHERE user_id = 1").fetchall()
            self.assertIn("USING INDEX", plan[0][3])

    def test_printed_queries(self):
        printed = self.convert("full")
        after = [line for line in printed.splitlines() if re.match("SELECT .*:query AND (v[.])?k = 10", line) and " MATCH " not in line]
        self.assertEqual(len(after), 6)
        self.assertEqual(printed.count(" MATCH "), 6)
        rows = list(expected_rows())
        with self.open() as conn:
            for statements, place, distance, query in ((after[:3], 3, cosine, QUERY), (after[3:], 4, euclidean, QUERY * 2)):
                given = {"query": make_vec0.floats(query), "value": 1}
                best = sorted((distance(array.array("b" if place == 4 else "f", row[place]), query), row) for row in rows)
                some = [(d, row) for d, row in best if row[1] == 1]
                for statement, wanted in zip(statements, (best, some, best)):
                    found = conn.execute(statement, given).fetchall()
                    first = 9 if "JOIN" in statement else 1
                    self.assertEqual([row[:first] for row in found],
                                     [(row[1:3] + row[5:] if first == 9 else row[:1]) for _, row in wanted[:10]], statement)
                    for row, (d, _) in zip(found, wanted):
                        self.assertAlmostEqual(row[-1], d, 5)

    def test_keys(self):
        printed = self.convert("plain one", "--into", "plain")
        self.assertIn('SELECT rowid, distance FROM "plain one" WHERE embedding MATCH :query', printed)
        self.convert("texts")
        expected = [(row[0], row[3]) for row in make_vec0.rows(12)]
        best = sorted(expected, key=lambda row: euclidean(floats(row[1]), QUERY))[:3]
        with self.open() as conn:
            self.assertEqual(conn.execute("SELECT * FROM plain ORDER BY id").fetchall(), expected)
            self.assertEqual(conn.execute("SELECT * FROM texts_rows ORDER BY id").fetchall(), [(f"name {id}", blob, id) for id, blob in expected])
            given = {"query": make_vec0.floats(QUERY)}
            self.assertEqual(conn.execute("SELECT id FROM plain_vec WHERE query = :query AND k = 3 ORDER BY rank", given).fetchall(),
                             [(id,) for id, _ in best])
            self.assertEqual(conn.execute("SELECT name FROM texts_rows_vec WHERE query = :query AND k = 3 ORDER BY rank", given).fetchall(),
                             [(f"name {id}",) for id, _ in best])

    def test_bits(self):
        printed = self.convert("bits")
        self.assertIn("code MATCH vec_bit(:query) AND k = 10", printed)
        with self.open() as conn:
            self.assertEqual(conn.execute("SELECT id, code FROM bits_rows").fetchall(), [(1, b"\x55")])
            self.assertEqual(conn.execute("SELECT id, distance FROM bits_rows_vec WHERE query = x'7f'").fetchall(), [(1, 3.0)])
            self.assertEqual(conn.execute("SELECT metric FROM glove_indexes").fetchall(), [("hamming",)])

    def test_dry_run(self):
        before = self.bytes()
        planned = self.convert("full", "--dry-run")
        self.assertIn("Rows of 'full' to copy into 'full_rows': 39\n", planned)
        self.assertEqual(self.bytes(), before)
        self.assertEqual(planned.splitlines()[1:], self.convert("full").splitlines()[1:])

    def test_refused(self):
        self.check_refused("the database has the vec0 tables 'bits', 'blocks', 'full', 'plain one', 'texts'; name one")
        self.check_refused("there is no vec0 table 'none'; there are 'bits'", "none")
        self.check_refused("the column 'v' of 'blocks' has distance_metric=l1", "blocks")
        self.check_refused("'full_rowids' exists already", "full", "--into", "FULL_rowids")
        self.convert("full", "--into", "a")
        for into in ("a", "full"):
            self.check_refused(f"'{into}' exists already; drop it", "full", "--into", into)
        with self.open() as conn:
            conn.execute("CREATE TABLE texts_rows_vec(x)")
        self.check_refused("'texts_rows_vec' exists already", "texts", "--dry-run")
        done = self.run_command(self.path + ".none")
        self.assertEqual((done.returncode, os.path.exists(self.path + ".none")), (1, False))
        self.assertIn("there is no file", done.stderr)

    def test_nothing_is_half_done(self):
        for damage, message in (
                ("UPDATE full_vector_chunks00 SET vectors = substr(vectors, 5) WHERE rowid = 3",
                 "chunk 3 in full_vector_chunks00 does not have 128 bytes"),
                ("DELETE FROM full_metadatachunks03 WHERE rowid = 2", "chunk 2 in full_metadatachunks03"),
                ("UPDATE full_chunks SET validity = x'' WHERE chunk_id = 2", "chunk 2 does not have 8 rows"),
                ("DELETE FROM full_metadatatext00 WHERE rowid = 9", "the text 'title' of the row 9 is missing"),
                ("DELETE FROM full_auxiliary WHERE rowid = 9",
                 "the row 9 is incomplete, as a failed INSERT leaves it.*DELETE FROM full WHERE rowid = 9"),
                (f"UPDATE full_vector_chunks00 SET vectors = x'{'0000c07f' * 32}' WHERE rowid = 3", "full_rows.*NaN"),
                ("DROP TABLE full_chunks", "the database lacks full_chunks")):
            with self.subTest(damage):
                self.setUp()
                with contextlib.closing(sqlite3.connect(self.path)) as conn, conn:
                    conn.execute(damage)
                self.check_refused(".*" + message, "full")

    def test_rows_without_vectors_are_left_out(self):
        with contextlib.closing(sqlite3.connect(self.path)) as conn, conn:
            conn.execute("INSERT INTO full_rowids(rowid) VALUES (1000)")
        printed = self.convert("full")
        self.assertIn("Rows left out, because vec0 has no vectors of them: 1.", printed)
        self.assertIn("into 'full_rows': 39\n", printed)

    def test_usage(self):
        done = self.run_command("--help")
        self.assertEqual(done.returncode, 0)
        for part in ("--dry-run", "--into NAME", "one transaction"):
            self.assertIn(part, done.stdout)
        self.assertEqual(self.run_command().returncode, 2)


if __name__ == "__main__":
    installed.run_tests()
