"""What WHERE recall = r returns from an index in lists, in all states of the index.

    recall_test.py EXTENSION [TEST...]

GLOVE_TEST_RUNS=N asks N times as many queries.
"""
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import numpy

import fixture

EXTENSION = None
ROWS, DIMS = 8000, 24
SEED = int(os.environ.get("GLOVE_TEST_SEED") or random.randrange(1 << 31))
RUNS = int(os.environ.get("GLOVE_TEST_RUNS") or 1)
ASK = "SELECT id, similarity, evidence, rows_read FROM doc_vec WHERE query = ? AND k = ? AND recall = ? AND backend = 'cpu' ORDER BY rank"


class Recall(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print("seed", SEED)
        cls.random = numpy.random.default_rng(SEED)
        folder = tempfile.TemporaryDirectory(prefix="glove-live-")
        cls.addClassCleanup(folder.cleanup)
        cls.path = os.path.join(folder.name, "recall.db")
        cls.topics = cls.random.normal(0, 1, (130, DIMS))
        db = cls.connect()
        db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, vec BLOB)")
        db.executemany("INSERT INTO doc VALUES (?, ?)", enumerate(cls.vectors(ROWS)))
        db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec', lists=100)")
        db.close()

    @classmethod
    def vectors(cls, count):
        rows = cls.topics[cls.random.integers(0, len(cls.topics), count)] + cls.random.normal(0, 0.8, (count, DIMS))
        return [row.tobytes() for row in rows.astype("<f4")]

    @classmethod
    def connect(cls, path=None):
        db = fixture.connect(path or cls.path, EXTENSION)
        db.execute("SELECT glove_config('audits', '0')").fetchall()
        return db

    def setUp(self):
        self.db = self.connect()
        self.addCleanup(lambda: self.db.close())

    def exact(self, query, k):
        return self.db.execute("SELECT id, similarity FROM doc_vec WHERE query = ? AND k = ? ORDER BY rank", (query, k)).fetchall()

    def queries(self, count):
        """Rows, sums of two rows, and new vectors."""
        rows = [numpy.frombuffer(row, "<f4") for row, in self.db.execute("SELECT vec FROM doc ORDER BY random() LIMIT ?", (count,))]
        sums = [(a + b).tobytes() for a, b in zip(rows[::3], rows[1::3])]
        return [row.tobytes() for row in rows[2::3]] + sums + self.vectors(count // 3)

    def measure(self, recall, k=10, count=45, db=None):
        """Returns the mean recall, the share of approximate answers, and the mean rows read; checks each answer."""
        found, approximate, read = [], 0, 0
        for query in self.queries(count * RUNS):
            rows = (db or self.db).execute(ASK, (query, k, recall)).fetchall()
            truth = self.exact(query, k)
            self.assertEqual(len(rows), len(truth))
            self.assertEqual(len({row[0] for row in rows}), len(rows))
            similarity = dict(self.db.execute("SELECT id, cos_sim(vec, ?) FROM doc WHERE id IN (%s)" % ",".join(str(row[0]) for row in rows), (query,)))
            self.assertEqual([row[1] for row in rows], [similarity[row[0]] for row in rows])
            self.assertEqual(rows, sorted(rows, key=lambda row: (-row[1], row[0])))
            if rows[0][2] == "proof":
                self.assertEqual([row[:2] for row in rows], truth)
            else:
                self.assertEqual(rows[0][2], "calibrated %s" % recall)
                approximate += 1
                read += rows[0][3]
            found.append(len(set(rows[i][0] for i in range(len(rows))) & {row[0] for row in truth}) / len(truth))
        return sum(found) / len(found), approximate / len(found), read / max(approximate, 1)

    def expect_kept(self, what, recall=0.9, least=0.3, **more):
        mean, approximate, read = self.measure(recall, **more)
        print("%s: recall %.3f, %.0f %% approximate, %.0f rows" % (what, mean, 100 * approximate, read), flush=True)
        self.assertGreater(mean, recall - 0.04, what)
        self.assertGreater(approximate, least, what)
        return read

    def change(self, share):
        """Changes so many of the rows to others."""
        ids = self.random.permutation(ROWS)[:int(share * ROWS)].tolist()
        self.db.executemany("UPDATE doc SET vec = ? WHERE id = ?", zip(self.vectors(len(ids)), ids))

    def config(self):
        return dict(self.db.execute("SELECT key, value FROM doc_vec_config"))

    def test_recall_is_kept_and_few_rows_are_read(self):
        read = [self.expect_kept("r = %s" % recall, recall) for recall in (0.5, 0.9, 0.99)]
        self.assertLess(read[0], read[2])
        self.assertLess(read[1], ROWS / 3)
        self.expect_kept("k = 30", k=30)
        for query in self.queries(30):
            right = [set(row[0] for row in self.db.execute(ASK, (query, 10, recall))) & {row[0] for row in self.exact(query, 10)}
                     for recall in (0.5, 0.8, 0.95, 1)]
            for fewer, more in zip(right, right[1:]):
                self.assertLessEqual(fewer, more)

    def test_the_first_row_of_what_is_made_of_rows(self):
        """Where few directions matter, as in embeddings, a row that a query is made of is often its nearest but lies in a list far away."""
        rows = (self.random.normal(0, 1, (12000, 96)) / numpy.arange(1, 97) ** 0.5).astype("<f4")
        units = rows / numpy.linalg.norm(rows, axis=1)[:, None]
        db = fixture.connect(":memory:", EXTENSION)
        self.addCleanup(db.close)
        db.execute("CREATE TABLE row(id INTEGER PRIMARY KEY, vec BLOB)")
        db.executemany("INSERT INTO row(vec) VALUES (?)", ((row.tobytes(),) for row in rows))
        db.execute("CREATE VIRTUAL TABLE row_vec USING glove_index(content='row', rowid='id', vector='vec', lists=100)")
        a, b, c, d, e = units[self.random.integers(0, 12000, (5, 400))]
        db.execute("CREATE TABLE q(vec BLOB)")
        db.executemany("INSERT INTO q VALUES (?)", ((query.astype("<f4").tobytes(),) for query in numpy.concatenate([a - b, c + d + e])))
        for k in (1, 2):
            measured = json.loads(db.execute("SELECT glove_recall('row_vec', vec, ?, 0.95) FROM q", (k,)).fetchone()[0])
            print("k = %d: recall %.3f, %d of 800 exact" % (k, measured["mean"], measured["proved"]), flush=True)
            self.assertGreater(measured["mean"], 0.93)
            self.assertLess(measured["proved"], 560)  # 150 to 430 seen, by the rows that were drawn

    def test_after_half_of_the_rows_have_changed(self):
        self.db.execute("BEGIN")
        self.change(0.1)
        self.expect_kept("a tenth is logged")
        fixture.command(self.db, "sync")
        for _ in range(4):
            self.change(0.12)
            fixture.command(self.db, "sync")
        self.expect_kept("half has changed")
        self.assertEqual(self.db.execute("SELECT count(*) > 1 FROM doc_vec_segment").fetchone(), (1,))
        before = self.config()["recall"]
        fixture.command(self.db, "merge")
        self.assertNotEqual(self.config()["recall"], before)
        self.expect_kept("after merge")
        fixture.command(self.db, "integrity-check")

    def test_after_half_of_the_rows_are_gone_or_new(self):
        self.db.execute("BEGIN")
        self.db.execute("DELETE FROM doc WHERE id % 2 = 1")
        self.expect_kept("half is gone, logged", least=0)
        fixture.command(self.db, "sync")
        self.expect_kept("half is gone", least=0)
        self.db.executemany("INSERT INTO doc VALUES (?, ?)", enumerate(self.vectors(ROWS), ROWS))
        fixture.command(self.db, "sync")
        self.expect_kept("and half as many again are new", least=0)
        self.db.executemany("INSERT INTO doc VALUES (?, ?)", enumerate(self.vectors(2 * ROWS), 2 * ROWS))
        fixture.command(self.db, "sync")
        self.assertEqual(self.measure(0.9, count=9)[1], 0)  # it has grown too far
        fixture.command(self.db, "merge")
        self.expect_kept("after merge")

    def test_a_logged_row_is_found_at_once(self):
        self.db.execute("BEGIN")
        for query in self.queries(30):
            self.db.execute("UPDATE doc SET vec = ? WHERE id = 77", (query,))
            self.assertIn(77, [row[0] for row in self.db.execute(ASK, (query, 10, 0.5))])

    def test_the_same_rows_everywhere(self):
        queries = self.queries(30)
        expected = [row for query in queries for row in self.db.execute(ASK, (query, 10, 0.9)).fetchall()]
        self.assertIn("calibrated 0.9", {row[2] for row in expected})
        self.db.execute("CREATE TEMP TABLE q(number INTEGER PRIMARY KEY, vec BLOB)")
        self.db.executemany("INSERT INTO q VALUES (?, ?)", enumerate(queries))
        for threads in (1, 3):
            self.db.execute("SELECT glove_config('threads', ?)", (str(threads),)).fetchall()
            batch = self.db.execute("SELECT v.query, v.id, v.similarity, v.evidence, v.rows_read FROM doc_vec v WHERE v.query IN (SELECT vec FROM q) "
                                    "AND v.k = 10 AND v.recall = 0.9 AND v.backend = 'cpu'").fetchall()
            self.assertEqual(sorted(row[1:] for row in batch), sorted(expected))
        self.db.execute("SELECT glove_config('threads', '0')").fetchall()
        for target in ("scalar", "avx2", "neon"):
            found, errors = self.ask_elsewhere(self.path, ASK, [(query, 10, 0.9) for query in queries], GLOVE_CPU_TARGET=target)
            if "is not one that this machine runs" in errors:
                print("skipped: this machine cannot run", target)
                continue
            self.assertEqual(found, [str(row) for row in expected], errors)

    @staticmethod
    def ask_elsewhere(path, statement, values, **environment):
        """The rows that another process returns for the statement with each of the values, as text, and its errors."""
        script = ("import sys; sys.path.insert(0, %r); import fixture; db = fixture.connect(%r, %r)\n"
                  "for values in eval(sys.stdin.read()): print(*db.execute(%r, values).fetchall(), sep='\\n')" % (
                      os.path.dirname(os.path.abspath(__file__)), path, EXTENSION, statement))
        done = subprocess.run([sys.executable, "-c", script], input=repr(values), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, **environment})
        return done.stdout.splitlines(), done.stderr

    def test_the_same_rows_with_index_memory(self):
        """Of segments in lists and of others, with rows that are dead and logged."""
        path = self.path + ".memory"
        shutil.copy(self.path, path)
        db = fixture.connect(path, EXTENSION)
        self.addCleanup(db.close)
        for rows in (3000, 90):
            db.executemany("INSERT OR REPLACE INTO doc VALUES (?, ?)", zip(self.random.permutation(2 * ROWS)[:rows].tolist(), self.vectors(rows)))
            fixture.command(db, "sync")
        in_lists = {row[0] > 1 << 32 for row in db.execute("SELECT crc FROM doc_vec_segment")}
        self.assertEqual(in_lists, {False, True})
        db.execute("DELETE FROM doc WHERE id % 50 = 1")
        queries = self.queries(36)
        values = [(query, k, recall) for query in queries for k, recall in ((10, 0.9), (30, 0.6))] + [(query, 2000, 0.9) for query in queries[::6]]
        among = ASK.replace(" ORDER BY", " AND among = (SELECT glove_keys(id) FROM doc WHERE id % 2) ORDER BY")
        for statement in (ASK, among):
            expected, errors = self.ask_elsewhere(path, statement, values)
            self.assertGreater(sum("calibrated" in row for row in expected), 300, errors)
            for limit in ("1", "300K", "1M"):
                found, errors = self.ask_elsewhere(path, statement, values, GLOVE_INDEX_MEMORY=limit)
                self.assertEqual(found, expected, limit + errors)
        db.execute("DELETE FROM doc WHERE id % 3 = 2")
        db.execute("DELETE FROM doc_vec_log")
        found, errors = self.ask_elsewhere(path, ASK, [(query, 10, 0.9) for query in queries], GLOVE_INDEX_MEMORY="1")
        self.assertEqual([eval(row)[0] % 3 != 2 for row in found], [True] * 10 * len(queries), errors)

    def test_conditions_choose_among_the_rows(self):
        for query in self.queries(9):
            rows = self.db.execute(ASK, (query, 20, 0.8)).fetchall()
            base = ASK.replace(" ORDER BY rank", " AND %s ORDER BY rank")
            for condition, values, expected in (("rank <= 5", (), rows[:5]), ("id = ?", (rows[3][0],), rows[3:4]),
                                                ("similarity >= ?", (rows[9][1],), [row for row in rows if row[1] >= rows[9][1]])):
                self.assertEqual(self.db.execute(base % condition, (query, 20, 0.8, *values)).fetchall(), expected)

    def test_among(self):
        for admitted, step in (("half", 2), ("a tenth", 10)):
            found = []
            for query in self.queries(60 * RUNS):
                among = "SELECT %s FROM doc_vec WHERE query = ? AND k = 10 AND among = (SELECT glove_keys(id) FROM doc WHERE id %% ? = 0)"
                truth = {row for row in self.db.execute(among % "id, similarity", (query, step))}
                rows = self.db.execute(among % "id, similarity, evidence" + " AND recall = 0.9", (query, step)).fetchall()
                self.assertEqual((len(rows), {row[0] % step for row in rows}), (10, {0}))
                found.append(len(truth & {row[:2] for row in rows}) / 10)
            print("among %s: recall %.3f" % (admitted, sum(found) / len(found)), flush=True)
            self.assertGreater(sum(found) / len(found), 0.86)

    def test_damaged_calibrations_are_not_used(self):
        query = self.queries(3)[0]
        for change in ("UPDATE doc_vec_block SET data = zeroblob(length(data)) WHERE segment = -1 AND number = 1",
                       "DELETE FROM doc_vec_block WHERE segment = -1", "UPDATE doc_vec_config SET value = value + 1 WHERE key = 'recall'"):
            self.db.close()  # which has read the calibration
            self.db = self.connect()
            self.db.execute("BEGIN")
            self.db.execute(change)
            rows = self.db.execute(ASK, (query, 10, 0.5)).fetchall()
            self.assertEqual({row[2] for row in rows}, {"proof"}, change)
            self.assertEqual([row[:2] for row in rows], self.exact(query, 10))
            with self.assertRaisesRegex(sqlite3.Error, "its calibration for approximate answers.*'merge'"):
                fixture.command(self.db, "integrity-check")
        fixture.command(self.db, "merge")
        fixture.command(self.db, "integrity-check")
        self.expect_kept("after merge", count=30)

    def test_an_index_that_shrank_loses_its_calibration(self):
        self.db.execute("CREATE TABLE few(id INTEGER PRIMARY KEY, vec BLOB)")
        self.db.executemany("INSERT INTO few VALUES (?, ?)", enumerate(self.vectors(3000)))
        self.db.execute("CREATE VIRTUAL TABLE few_vec USING glove_index(content='few', rowid='id', vector='vec', lists=50)")
        self.addCleanup(self.db.executescript, "DROP TABLE few_vec; DROP TABLE few")
        calibrations = "SELECT count(*) FROM few_vec_block WHERE segment = -1"
        self.assertNotEqual(self.db.execute(calibrations).fetchall(), [(0,)])
        self.db.execute("DELETE FROM few WHERE id >= 2000")
        for _ in range(2):  # the second has nothing to join
            self.db.execute("INSERT INTO few_vec(few_vec) VALUES ('merge')")
            self.assertEqual(self.db.execute(calibrations).fetchall(), [(0,)])
            self.assertEqual(self.db.execute("SELECT value FROM few_vec_config WHERE key = 'recall'").fetchall(), [(-1,)])
            ask = ASK.replace("doc_vec", "few_vec")
            self.assertEqual({row[2] for row in self.db.execute(ask, (self.vectors(1)[0], 10, 0.9))}, {"proof"})

    def test_the_users_own_queries(self):
        add = "INSERT INTO doc_vec(doc_vec, query) VALUES ('calibrate', ?)"
        stored = "SELECT count(*), min(number) FROM doc_vec_block WHERE segment = -2"
        self.db.execute("BEGIN")
        size = "SELECT sum(length(data)) FROM doc_vec_block WHERE segment = -1"
        before = self.db.execute(size).fetchone()[0]
        self.db.executemany(add, [(query,) for query in self.vectors(3)])
        self.db.execute("INSERT INTO doc_vec(doc_vec, query) SELECT 'calibrate', vec FROM doc LIMIT 4")
        self.assertEqual(self.db.execute(stored).fetchone(), (7, 1))
        self.db.execute("INSERT INTO doc_vec(doc_vec, query) SELECT 'calibrate', vec FROM doc LIMIT 600")
        self.assertEqual(self.db.execute(stored).fetchone(), (512, 96))
        fixture.command(self.db, "rebuild")
        self.assertEqual(self.db.execute(stored).fetchone(), (512, 96))
        self.assertEqual(self.db.execute(size).fetchone()[0], before + 512 * 8 * (9 + 1 + 96) * 2)
        self.expect_kept("with own queries", count=30)
        for number in ("4611686018427387904", "9223372036854775807", "-1", "'x'"):
            self.db.execute("INSERT INTO doc_vec_block SELECT -2, %s, data FROM doc_vec_block WHERE segment = -2 LIMIT 1" % number)
        self.db.execute(add, (self.vectors(1)[0],))
        self.assertEqual(self.db.execute(stored).fetchone(), (512, 97))
        self.db.execute("ROLLBACK")
        self.assertEqual(self.db.execute(stored).fetchone(), (0, None))
        for value, words in ((None, "needs a query, but it is NULL"), (b"abc", "the query is a BLOB of 3 bytes"), ("[1, 2]", "the query has 2 components")):
            with self.assertRaisesRegex(sqlite3.Error, words):
                self.db.execute(add, (value,))
        with self.assertRaisesRegex(sqlite3.Error, "takes no rows"):
            self.db.execute("INSERT INTO doc_vec(doc_vec, query) VALUES ('sync', ?)", (self.vectors(1)[0],))
        self.assertEqual(self.db.execute(stored).fetchone(), (0, None))

    def test_audits(self):
        path = shutil.copy(self.path, self.path + ".audits")
        self.db.close()
        self.db, other = self.connect(path), self.connect(path)
        self.addCleanup(other.close)
        self.db.execute("SELECT glove_config('audits', '1')").fetchall()
        columns = "SELECT recall, measured, measured_low <= measured, measured <= measured_high, audits FROM glove_indexes WHERE name = 'doc_vec'"
        for query in self.queries(150):
            self.db.execute(ASK, (query, 10, 0.85)).fetchall()
        recall, measured, low, high, audits = self.db.execute(columns).fetchone()
        self.assertTrue(low and high and 0.8 <= measured <= 1 and abs(recall - 0.85) < 1e-9, (recall, measured))
        self.assertGreater(audits, 50)
        last = self.db.execute("SELECT kind, recall FROM glove_stats LIMIT 1").fetchone()
        self.assertEqual(last[0], "live")
        self.db.execute("BEGIN")
        self.db.execute("UPDATE doc SET vec = vec WHERE id = 5")
        self.db.execute(ASK, (self.vectors(1)[0], 10, 0.85)).fetchall()
        self.assertEqual(self.db.execute(columns).fetchone()[4], audits)
        self.db.execute("ROLLBACK")
        # Another connection still has the calibration that 'merge' replaces.
        other.execute(ASK, (self.vectors(1)[0], 10, 0.85)).fetchall()
        self.db.execute("INSERT INTO doc_vec(doc_vec, query) VALUES ('calibrate', ?)", (self.vectors(1)[0],))
        fixture.command(self.db, "merge")
        self.assertFalse(self.db.execute(columns).fetchone()[4])


if __name__ == "__main__":
    EXTENSION = os.path.abspath(sys.argv.pop(1))
    fixture.skip_without_index(EXTENSION)
    unittest.main()
