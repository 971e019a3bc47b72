"""What WHERE recall = r returns through SQL, on a model with lists.

recall_test.py GLOVE_CONVERT GLOVE_SO
"""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import zlib

import numpy

CONVERT, EXTENSION = sys.argv.pop(1), sys.argv.pop(1)
ROWS, DIMS, SEED = 30000, 24, int.from_bytes(os.urandom(4), "little")
TENSORS = {"recall_classes", "recall_trials"}


def header_of(path):
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return json.loads(file.read(length)), 8 + length


class Recall(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        print("seed", SEED)
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.random = numpy.random.default_rng(SEED)
        topics = cls.random.normal(0, 1, (500, DIMS))
        rows = topics[cls.random.integers(0, 500, ROWS)] + cls.random.normal(0, 0.8, (ROWS, DIMS))
        rows[17] = 0
        rows[40:80] = rows[40]
        cls.rows = rows.astype("<f4")
        cls.text = cls.path("rows.w2v")
        with open(cls.text, "wb") as file:
            file.write(b"%d %d\n" % rows.shape)
            for i, row in enumerate(cls.rows):
                file.write(b"w%d " % i + row.tobytes())
        cls.lists, cls.none = cls.path("lists.safetensors"), cls.path("none.safetensors")
        subprocess.run([CONVERT, "-q", cls.text, cls.lists, "--lists", "300"], check=True)
        subprocess.run([CONVERT, "-q", cls.text, cls.none], check=True)
        cls.db = cls.connect()
        for name in ("lists", "none"):
            cls.db.execute("SELECT glove_load(?, ?)", (getattr(cls, name), name)).fetchall()

    @classmethod
    def tearDownClass(cls):
        for model in ("lists", "none"):
            cls.db.execute("SELECT glove_unload(?)", (model,)).fetchall()
        cls.db.close()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.directory.name, name)

    @staticmethod
    def connect(disabled=""):
        os.environ["GLOVE_NN_DISABLE"] = disabled
        db = sqlite3.connect(":memory:")
        db.isolation_level = None  # no transaction by itself, in which there would be no audits
        db.enable_load_extension(True)
        db.execute("SELECT load_extension(?, 'sqlite3_glove_init')", (EXTENSION,))
        db.execute("SELECT count(*) FROM glove_nn('w1', NULL, 1)").fetchall() if disabled else None
        return db

    def words(self, count):
        return ["w%d" % i for i in self.random.integers(100, ROWS, count)]

    def ask(self, where, *values, db=None, columns="neighbor, similarity"):
        return (db or self.db).execute("SELECT %s FROM glove_nn WHERE backend = 'cpu' AND %s" % (columns, where), values).fetchall()

    def test_among(self):
        """On a model with integer keys: k rows of the set, or all, and enough of the right ones."""
        saved, listed = self.path("saved.safetensors"), self.path("keys.safetensors")
        db = self.connect()
        self.addCleanup(db.close)
        db.execute("CREATE TABLE row(id INTEGER PRIMARY KEY, vector BLOB)")
        db.executemany("INSERT INTO row VALUES (?, ?)", ((3 * i, row.tobytes()) for i, row in enumerate(self.rows[100:8100])))
        db.execute("SELECT glove_load_table('table', 'SELECT id, vector FROM row')").fetchall()
        db.execute("SELECT glove_save('table', ?)", (saved,)).fetchall()
        subprocess.run([CONVERT, "-q", saved, listed, "--lists", "100"], check=True)
        db.execute("SELECT glove_load(?, 'keys')", (listed,)).fetchall()
        ask = ("SELECT neighbor, similarity, evidence FROM glove_nn WHERE model = 'keys' AND word = ? AND k = 10 AND recall = ? AND backend = 'cpu' "
               "AND among = (SELECT glove_keys(id) FROM row WHERE id % ? = 0)")
        for step, least in ((2, 0.5), (9, 0.5), (300, 0), (6000, 0)):  # of ids that are multiples of 3
            found, approximate = [], 0
            for word in (self.random.integers(0, 8000, 40) * 3).tolist():
                exact = db.execute(ask, (word, 1, step)).fetchall()
                rows = db.execute(ask, (word, 0.9, step)).fetchall()
                self.assertEqual((len(rows), len({key for key, _, _ in rows})), (len(exact), len(exact)))
                self.assertEqual({key % step for key, _, _ in rows}, {0})
                self.assertEqual([row for row in rows if row[0] in {key for key, _, _ in exact}], [row[:2] + rows[0][2:] for row in exact if row[0] in {key for key, _, _ in rows}])
                found.append(len({row[0] for row in rows} & {row[0] for row in exact}) / len(exact))
                approximate += rows[0][2] == "calibrated 0.9"
            print("one in %d: recall %.3f, %d of 40 approximate" % (step, sum(found) / 40, approximate), flush=True)
            self.assertGreaterEqual(sum(found) / 40, 0.85)
            self.assertGreaterEqual(approximate, least * 40)
        db.execute("SELECT glove_unload('keys'), glove_unload('table')").fetchall()

    def test_the_file_is_calibrated_and_verified(self):
        header, _ = header_of(self.lists)
        self.assertLessEqual(TENSORS, header.keys())
        self.assertFalse(TENSORS & header_of(self.none)[0].keys())
        subprocess.run([CONVERT, "-q", "--verify", self.lists], check=True)
        other = self.path("threads.safetensors")
        subprocess.run([CONVERT, "-q", self.text, other, "--lists", "300", "--threads", "3"], check=True)
        saved = self.path("saved.safetensors")
        self.db.execute("SELECT glove_save('lists', ?)", (saved,)).fetchall()
        with open(self.lists, "rb") as file:
            expected = file.read()
        for path in (other, saved):
            with open(path, "rb") as file:
                self.assertEqual(file.read(), expected, path)

    def test_answers_have_k_rows_and_exact_similarities(self):
        approximate = 0
        for word in self.words(50):
            for k in (1, 10, 100):
                exact = self.ask("word = ? AND k = ? AND model = 'lists'", word, 4000)
                rows = self.ask("word = ? AND k = ? AND recall = 0.9 AND model = 'lists'", word, k)
                self.assertEqual(len(rows), k)
                self.assertEqual(len(set(rows)), k)
                self.assertEqual(rows, sorted(rows, key=lambda row: -row[1]))
                self.assertLessEqual(set(rows), set(exact))
                notes = self.ask("word = ? AND k = ? AND recall = 0.9 AND model = 'lists'", word, k, columns="DISTINCT evidence, rows_read")
                self.assertEqual(len(notes), 1)
                if notes[0][0] != "proof":
                    self.assertEqual(notes[0][0], "calibrated 0.9")
                    self.assertLess(notes[0][1], ROWS / 2)
                    self.assertGreater(notes[0][1], 500)
                    approximate += 1
                else:
                    self.assertEqual(rows, exact[:k])
        self.assertGreater(approximate, 50)

    def test_recall_is_kept_and_more_of_it_loses_no_right_row(self):
        found = dict.fromkeys((0.5, 0.9, 0.95, 0.99), 0.0)
        words = self.words(300)
        for word in words:
            exact = set(self.ask("word = ? AND k = 10 AND model = 'lists'", word))
            before = set()
            for recall in found:
                right = exact & set(self.ask("word = ? AND k = 10 AND recall = ? AND model = 'lists'", word, recall))
                self.assertLessEqual(before, right)
                before = right
                found[recall] += len(right) / 10 / len(words)
        for recall, mean in found.items():
            self.assertGreater(mean, recall - 0.03, found)

    def test_conditions_and_pushdowns_never_change_the_set(self):
        plain = self.connect("neighbor_equal,neighbor_in,rank,similarity,limit,order,batch,cache")
        for word in self.words(12):
            base = "word = ? AND k = 30 AND recall = 0.8 AND model = 'lists'"
            rows = self.ask(base, word, columns="neighbor, similarity, rank")
            self.assertEqual([row[2] for row in rows], list(range(1, 31)))
            middle, third = rows[15], rows[2]
            for condition, values, expected in (
                    ("", (), rows),
                    (" AND rank <= 5", (), rows[:5]),
                    (" AND rank > 28", (), rows[28:]),
                    (" AND similarity >= ?", (middle[1],), [row for row in rows if row[1] >= middle[1]]),
                    (" AND neighbor = ?", (third[0],), [third]),
                    (" AND neighbor IN (?, ?, 'w17')", (third[0], middle[0]), [third, middle]),
                    (" ORDER BY rank LIMIT 3 OFFSET 1", (), rows[1:4]),
                    (" ORDER BY neighbor LIMIT 4", (), sorted(rows)[:4])):
                for db in (self.db, plain):
                    got = self.ask(base + condition, word, *values, db=db, columns="neighbor, similarity, rank")
                    if "ORDER" not in condition:
                        got.sort(key=lambda row: row[2])
                    self.assertEqual(got, expected, condition)
        plain.close()

    def test_a_batch_returns_the_rows_of_its_queries(self):
        words = self.words(40)
        alone = [self.ask("word = ? AND k = 10 AND recall = 0.9 AND model = 'lists'", word,
                          columns="word, neighbor, similarity, evidence, rows_read") for word in words]
        for threads in (1, 2, 5):
            self.db.execute("SELECT glove_config('threads', ?)", (threads,)).fetchall()
            together = self.ask("word IN (SELECT value FROM json_each(?)) AND k = 10 AND recall = 0.9 AND model = 'lists'", json.dumps(words),
                                columns="word, neighbor, similarity, evidence, rows_read")
            self.assertEqual(sorted(together), sorted(sum((rows for rows in {rows[0][0]: rows for rows in alone}.values()), [])))
        self.db.execute("SELECT glove_config('threads', 0)").fetchall()

    def test_what_is_exact_all_the_same(self):
        for model, where, values in (("lists", "word = 'w200' AND recall = 1 AND k = 10", ()),
                                     ("lists", "word = 'w200' AND recall = NULL AND k = 10", ()),
                                     ("lists", "word = 'w200' AND k = 1500 AND recall = 0.5", ()),
                                     ("lists", "word = 'w200' AND recall = 0.5 AND rank <= 10", ()),
                                     ("none", "word = 'w200' AND recall = 0.5 AND k = 10", ())):
            rows = self.ask(where + " AND model = ?", *values, model, columns="neighbor, similarity, evidence")
            self.assertEqual({row[2] for row in rows}, {"proof"}, where)
            exact = self.ask(where.replace("recall = 0.5", "recall = 1") + " AND model = 'none'", *values)
            self.assertEqual([row[:2] for row in rows], exact)

    def test_values_that_are_none(self):
        for value in (0, 0.49, 1.01, -1, 2, "high", b"0.9", float("inf")):
            with self.assertRaisesRegex(sqlite3.Error, "recall must be a number from 0.5 to 1, or NULL for an exact answer"):
                self.ask("word = 'w1' AND k = 3 AND recall = ?", value)
        self.assertEqual(self.ask("word = 'w1' AND k = 3 AND recall = '0.75'", columns="DISTINCT recall"), [(0.75,)])

    def test_damaged_calibrations_are_not_used(self):
        header, start = header_of(self.lists)
        with open(self.lists, "rb") as file:
            content = bytearray(file.read())
        for name in sorted(TENSORS):
            damaged = bytearray(content)
            damaged[start + header[name]["data_offsets"][0] + 3] ^= 0x40
            path = self.path(name + ".safetensors")
            with open(path, "wb") as file:
                file.write(damaged)
            self.db.execute("SELECT glove_load(?, 'damaged')", (path,)).fetchall()
            rows = self.ask("word = 'w200' AND k = 10 AND recall = 0.5 AND model = 'damaged'", columns="neighbor, similarity, evidence")
            self.assertEqual({row[2] for row in rows}, {"proof"})
            self.assertEqual([row[:2] for row in rows], self.ask("word = 'w200' AND k = 10 AND model = 'none'"))
            self.db.execute("SELECT glove_unload('damaged')").fetchall()
            done = subprocess.run([CONVERT, "-q", "--verify", path], stderr=subprocess.PIPE, text=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("the tensor 'recall_", done.stderr)

    def test_a_calibration_of_an_older_version_is_not_used(self):
        header, start = header_of(self.lists)
        with open(self.lists, "rb") as file:
            content = file.read()
        text = content[8:start].replace(b"recall_classes", b"recall_transforms").replace(b"recall_trials", b"recall_queries")
        text = (text + b" " * (start + 64 - 8 - len(text))).replace(header["__metadata__"]["glove.crc32"].encode(), b"0" * 8, 1)
        text = len(text).to_bytes(8, "little") + text
        path = self.path("older.safetensors")
        with open(path, "wb") as file:
            file.write(text.replace(b"0" * 8, b"%08x" % zlib.crc32(text), 1) + content[start:])
        subprocess.run([CONVERT, "-q", "--verify", path], check=True)
        self.db.execute("SELECT glove_load(?, 'older')", (path,)).fetchall()
        for k in (1, 10):
            rows = self.ask("word = 'w200' AND k = ? AND recall = 0.5 AND model = 'older'", k, columns="neighbor, similarity, evidence")
            self.assertEqual([row[2] for row in rows], ["proof"] * k)
            self.assertEqual([row[:2] for row in rows], self.ask("word = 'w200' AND k = ? AND model = 'none'", k))
        self.db.execute("SELECT glove_unload('older')").fetchall()

    def config(self, key, value):
        self.db.execute("SELECT glove_config(?, ?)", (key, value)).fetchall()

    def load(self, name, path):
        self.db.execute("SELECT glove_load(?, ?)", (path, name)).fetchall()
        self.addCleanup(lambda: self.db.execute("SELECT glove_unload(?)", (name,)).fetchall())
        self.addCleanup(self.config, "audits", "256")
        return next(word for word in self.words(500) if self.ask(
            "word = ? AND k = 10 AND recall = 0.9 AND model = ?", word, name, columns="evidence")[0][0] != "proof")

    def audits(self, model, word):
        """Those of the model with recall 0.9."""
        every = self.db.execute("SELECT glove_config('audits')").fetchone()[0]
        self.config("audits", "0")
        self.ask("word = ? AND k = 10 AND recall = 0.9 AND model = ?", word, model)
        self.config("audits", every)
        return self.db.execute("SELECT audits FROM glove_stats LIMIT 1").fetchone()[0]

    def test_audits(self):
        self.assertEqual(self.db.execute("SELECT glove_config('audits')").fetchone(), ("256",))
        self.config("audits", "0")
        word = self.load("audited", self.lists)
        words, others = (json.dumps(["w%d" % i for i in range(first, first + 60)]) for first in (100, 200))
        many = "word IN (SELECT value FROM json_each(?)) AND k = 10 AND recall = 0.9 AND model = 'audited'"
        counts = []
        for every, asked in (("0", words), ("1", words), ("1", words), ("10", others)):
            self.config("audits", every)
            self.ask(many, asked)
            self.assertEqual(self.db.execute("SELECT kind, queries, recall FROM glove_stats LIMIT 1").fetchone(), ("batch", 60, 0.9))
            counts.append(self.audits("audited", word))
        approximate = counts[1]
        self.assertGreater(approximate, 30)  # the others are exact
        self.assertEqual(counts[:3], [0, approximate, approximate])  # audits of the same queries would say nothing new
        self.assertIn(counts[3] - approximate, (3, 4, 5, 6))
        self.config("audits", "1")
        self.ask(many, json.dumps(["w%d" % i for i in range(1000, 1200)]))  # different ones: one bad query often repeated would be drift
        texts = [self.ask("word = ? AND k = 10 AND recall = ? AND model = 'audited'", word, recall, columns="DISTINCT evidence")
                 for recall in (0.9, 0.91)]
        self.assertRegex(texts[0][0][0], r"^measured [01]\.\d{3} \([01]\.\d{3}-[01]\.\d{3}\), \d{3} audits$")
        self.assertEqual(texts[1], [("calibrated 0.91",)])
        low, measured, high = self.db.execute(
            "SELECT measured_low, measured, measured_high FROM glove_stats WHERE recall = 0.9 LIMIT 1").fetchone()
        self.assertTrue(low < measured <= high, (low, measured, high))
        self.ask("word = ? AND k = 10 AND model = 'none'", word)
        self.assertEqual(self.db.execute("SELECT recall, measured, audits FROM glove_stats LIMIT 1").fetchone(), (None, None, None))

    def test_no_audit_in_a_transaction_that_has_written(self):
        self.config("audits", "0")
        self.load("written", self.lists)
        ask = "word = ? AND k = 10 AND recall = 0.9 AND model = 'written'"
        words = [word for word in sorted(set(self.words(100))) if self.ask(ask, word, columns="evidence")[0][0] != "proof"]
        self.config("audits", "1")
        db = self.connect()
        self.addCleanup(db.close)
        db.execute("CREATE TABLE t(x)")
        counts = []
        for statement, word in zip(("BEGIN", "INSERT INTO t VALUES (1)", "COMMIT"), words):
            db.execute(statement)
            self.ask(ask, word, db=db)
            counts.append(self.audits("written", word))
        self.assertEqual(counts, [1, 1, 2])

    def test_drift_makes_a_process_exact(self):
        header, start = header_of(self.lists)
        with open(self.lists, "rb") as file:
            content = bytearray(file.read())
        begin, end = (start + offset for offset in header["recall_trials"]["data_offsets"])
        numbers = numpy.frombuffer(bytes(content[begin:end]), "<i2").reshape(8, -1, 106).copy()
        numbers[:, :, 10:] = numpy.array([1, 3, 5, 10, 30, 100, 300, 1000])[:, None, None]  # all are found at once
        content[begin:end] = numbers.tobytes()
        text = content[:start].replace(header["__metadata__"]["glove.crc32.recall_trials"].encode(), b"%08x" % zlib.crc32(numbers.tobytes()))
        text = text.replace(header["__metadata__"]["glove.crc32"].encode(), b"0" * 8, 1)
        content[:start] = text.replace(b"0" * 8, b"%08x" % zlib.crc32(text), 1)
        path = self.path("drift.safetensors")
        with open(path, "wb") as file:
            file.write(content)
        self.load("drift", path)
        self.config("audits", "1")
        columns = "word, neighbor, similarity, evidence"
        batch = "word IN (SELECT value FROM json_each(?)) AND k = 10 AND recall = 0.99 AND model = ?"
        words = json.dumps(["w%d" % i for i in range(100, 400)])
        before = self.ask(batch, words, "drift", columns=columns)
        self.assertIn("calibrated 0.99", {row[3] for row in before})
        after = self.ask(batch, words, "drift", columns=columns)
        self.assertEqual({row[3] for row in after}, {"proof"})
        self.assertEqual(sorted(after), sorted(self.ask(batch.replace("0.99", "1"), words, "none", columns=columns)))

    def test_glove_recall_measures_it(self):
        self.db.execute("CREATE TEMP TABLE q AS SELECT value AS word FROM json_each(?)", (json.dumps(self.words(60)),))
        measured = json.loads(self.db.execute(
            "SELECT glove_recall('lists', glove_vec(word, 'lists'), 10, 0.9) FROM q").fetchone()[0])
        self.assertEqual((measured["queries"], measured["k"], measured["recall"]), (60, 10, 0.9))
        self.assertGreater(measured["mean"], 0.8)
        self.assertLessEqual(measured["p5"], 1)
        self.assertLess(measured["rows_read"], ROWS)
        exact = json.loads(self.db.execute("SELECT glove_recall('none', glove_vec(word, 'lists'), 10, 0.9) FROM q").fetchone()[0])
        self.assertEqual((exact["mean"], exact["p5"], exact["proved"]), (1, 1, 60))
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, v)")
        self.db.executemany("INSERT INTO doc(v) VALUES (?)", [(row.tobytes(),) for row in self.rows[:300]])
        self.db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='v')")
        live = json.loads(self.db.execute("SELECT glove_recall('doc_vec', v, 5, 0.9) FROM doc WHERE id IN (20, 90)").fetchone()[0])
        self.assertEqual((live["queries"], live["mean"], live["proved"]), (2, 1, 2))
        whole = json.loads(self.db.execute("SELECT glove_recall('doc_vec', v, 40, 0.9) FROM doc WHERE id IN (20, 90)").fetchone()[0])
        self.assertEqual((whole["rows_read"], whole["proved"]), (300, 2))  # k is so large that the table is read
        self.assertGreater(whole["exact_ms"], 0)
        again = "SELECT glove_recall('lists', glove_vec('w250', 'lists'), 9, 0.9)"
        first, second = (json.loads(self.db.execute(again).fetchone()[0]) for _ in range(2))
        self.assertGreater(first["exact_ms"], 0)
        self.assertIsNone(second["exact_ms"])  # the answer was kept
        self.db.execute("SELECT glove_load(?, 'doc_vec')", (self.none,)).fetchall()
        with self.assertRaisesRegex(sqlite3.Error, "but both have the name 'doc_vec'"):
            self.db.execute("SELECT glove_recall('doc_vec', v, 5, 0.9) FROM doc WHERE id = 20").fetchall()
        self.db.execute("SELECT glove_unload('doc_vec')").fetchall()
        self.assertEqual(self.db.execute("SELECT glove_recall('lists', NULL, 10, 0.9)").fetchone(), (None,))
        self.assertEqual(self.db.execute("SELECT glove_recall('lists', 'nosuchword', 10, 0.9)").fetchone(), (None,))
        for call, now in (("'lists', 'w1', 10 + column1, 0.9", "'lists', k 11 and recall 0.9"), ("'lists', 'w1', 10, 1 - column1 / 4.0", "'lists', k 10 and recall 0.75"),
                          ("iif(column1, NULL, 'lists'), 'w1', 10, 1", "NULL, k 10 and recall 1"), ("iif(column1, 'other', 'lists'), 'w1', 10, 1", "'other', k 10 and")):
            with self.subTest(call), self.assertRaisesRegex(sqlite3.Error, "must be the same in all rows, but target is now " + now):
                self.db.execute(f"SELECT glove_recall({call}) FROM (VALUES (0), (1))").fetchall()
        self.assertEqual(json.loads(self.db.execute("SELECT glove_recall('lists', 'w1', 10, 1)").fetchone()[0])["queries"], 1)
        for call, words in (("glove_recall('lists', 'w1', 0, 0.9)", "k must be an integer of at least 1"),
                            ("glove_recall('lists', 'w1', 'ten', 0.9)", "k must be an integer of at least 1, but is 'ten'"),
                            ("glove_recall('lists', 'w1', 10, 1.5)", "recall must be a number from 0.5 to 1, but is 1.5"),
                            ("glove_recall('lists', 'w1', 10, 'most')", "recall must be a number from 0.5 to 1, but is 'most'"),
                            ("glove_recall('lists', 'w1', 10, 0.3)", "recall must be a number from 0.5 to 1"),
                            ("glove_recall('main.doc_vec', 'w1', 10, 0.9)", "nor is there such an index, which is named without its schema"),
                            ("glove_recall('doc', 'w1', 10, 0.9)", "no model 'doc'.*; nor is there such an index")):
            with self.assertRaisesRegex(sqlite3.Error, words):
                self.db.execute("SELECT " + call).fetchall()


if __name__ == "__main__":
    unittest.main()
