"""What WHERE certainty = c returns through SQL, on models with and without sign planes, and on an index.

certainty_test.py GLOVE_CONVERT GLOVE_SO
"""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import numpy

CONVERT, EXTENSION = sys.argv.pop(1), sys.argv.pop(1)
ROWS, DIMS = 8300, 256  # enough rows that sign planes pay
FEW = 300
TENSORS = {"rotation": [DIMS, DIMS], "signs": [(FEW + 31) // 32, DIMS // 32, 32, 4], "sign_bounds": [(FEW + 31) // 32, 3, 32]}


def header_of(path):
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return json.loads(file.read(length)), 8 + length


class Certainty(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        cls.random = random = numpy.random.default_rng(8)
        topics = random.normal(0, 1, (900, DIMS))
        cls.rows = (topics[random.integers(0, 900, ROWS)] + random.normal(0, 0.7, (ROWS, DIMS))).astype("<f4")
        cls.rows[17] = 0
        cls.write("rows.w2v", cls.rows)
        cls.write("few.w2v", cls.rows[:FEW])
        cls.write("narrow.w2v", cls.rows[:FEW, :100])
        cls.lists, cls.few, cls.none, cls.narrow = (cls.path(name + ".safetensors") for name in ("lists", "few", "none", "narrow"))
        cls.convert("rows.w2v", cls.lists, "--lists", "40", "--seed", "5")
        cls.convert("few.w2v", cls.few, "--lists", "10", "--seed", "5")
        cls.convert("rows.w2v", cls.none)
        cls.convert("narrow.w2v", cls.narrow, "--lists", "10")
        cls.db = sqlite3.connect(":memory:")
        cls.db.enable_load_extension(True)
        cls.db.execute("SELECT load_extension(?, 'sqlite3_glove_init')", (EXTENSION,))
        for name in ("lists", "few", "none", "narrow"):
            cls.db.execute("SELECT glove_load(?, ?)", (cls.path(name + ".safetensors"), name)).fetchall()

    @classmethod
    def write(cls, name, rows):
        with open(cls.path(name), "wb") as file:
            file.write(b"%d %d\n" % rows.shape)
            for i, row in enumerate(rows):
                file.write(b"w%d " % i + row.tobytes())

    @classmethod
    def path(cls, name):
        return os.path.join(cls.directory.name, name)

    @classmethod
    def convert(cls, source, out, *options):
        subprocess.run([CONVERT, "-q", cls.path(source), out, *options], check=True)

    def ask(self, where, *values, columns="neighbor, similarity"):
        return self.db.execute("SELECT %s FROM glove_nn WHERE backend = 'cpu' AND %s" % (columns, where), values).fetchall()

    def words(self, count):
        return ["w%d" % i for i in self.random.integers(100, ROWS, count)]

    @classmethod
    def content(cls, path):
        with open(path, "rb") as file:
            return file.read()

    def test_a_file_keeps_a_rotation_that_a_seed_reproduces(self):
        header, _ = header_of(self.few)
        self.assertEqual({name: header[name]["shape"] for name in TENSORS}, TENSORS)
        self.assertFalse(TENSORS.keys() & header_of(self.narrow)[0].keys())
        subprocess.run([CONVERT, "-q", "--verify", self.few], check=True)
        content = {}
        for name, options in (("again", ("--seed", "5", "--threads", "3")), ("other", ("--seed", "6")), ("drawn", ()), ("drawn2", ())):
            path = self.path(name + ".safetensors")
            self.convert("few.w2v", path, "--lists", "10", *options)
            content[name] = self.content(path)
        saved = self.path("saved.safetensors")
        self.db.execute("SELECT glove_save('few', ?)", (saved,)).fetchall()
        self.assertEqual(content["again"], self.content(self.few))
        self.assertEqual(content["again"], self.content(saved))
        self.assertEqual(len(set(content.values())), 4)
        done = subprocess.run([CONVERT, "-q", self.path("few.w2v"), saved, "--seed", "5"], stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--seed requires --lists", done.stderr)

    def test_answers_are_exact_and_say_how_certainly(self):
        evidence = {}
        for threads in (1, 3):
            self.db.execute("SELECT glove_config('threads', ?)", (threads,)).fetchall()
            for word in self.words(30):
                for certainty, text in ((0.999, "1-0.001"), (0.9999999, "1-1e-07"), (1 - 1e-9, "1-1e-09")):
                    where = "word = ? AND k = ? AND model = 'lists'"
                    rows = self.ask(where + " AND certainty = ?", word, 5, certainty, columns="neighbor, similarity, evidence, certainty")
                    self.assertEqual([row[:2] for row in rows], self.ask("word = ? AND k = ? AND model = 'none'", word, 5))
                    self.assertEqual({row[3] for row in rows}, {certainty})
                    self.assertLessEqual({row[2] for row in rows}, {text, "proof"})
                    evidence[rows[0][2]] = evidence.get(rows[0][2], 0) + 1
        self.db.execute("SELECT glove_config('threads', 0)").fetchall()
        self.assertGreater(evidence["1-1e-09"], 30, evidence)
        self.assertGreater(evidence["1-0.001"], 30, evidence)

    def test_fewer_bytes_are_read(self):
        scanned = {}
        for certainty in (1, 1 - 1e-9):
            self.ask("word = 'w4000' AND k = 3 AND model = 'lists' AND certainty = ?", certainty)
            scanned[certainty] = self.db.execute("SELECT bytes_scanned FROM glove_stats LIMIT 1").fetchone()[0]
        self.assertLess(scanned[1 - 1e-9], 0.62 * scanned[1])  # 38 bytes of 70

    def test_conditions_choose_among_the_k_rows(self):
        for word in self.words(5):
            base = "word = ? AND k = 8 AND model = 'lists' AND certainty = 0.9999"
            rows = self.ask(base, word, columns="neighbor, similarity, rank")
            self.assertEqual(self.ask(base + " AND rank > 5", word, columns="neighbor, similarity, rank"), rows[5:])
            self.assertEqual(self.ask(base + " AND neighbor = ?", word, rows[6][0], columns="neighbor, similarity, rank"), [rows[6]])
            self.assertEqual(self.ask(base + " ORDER BY rank LIMIT 2 OFFSET 1", word, columns="neighbor, similarity, rank"), rows[1:3])

    def test_what_is_proved_all_the_same(self):
        for where in ("word = 'w200' AND certainty = 1 AND k = 10", "word = 'w200' AND certainty IS NULL AND k = 10",
                      "word = 'w200' AND certainty = '1' AND k = 10", "word = 'w200' AND k = 1500 AND certainty = 0.999",
                      "word = 'w200' AND certainty = 0.999 AND rank <= 10"):
            rows = self.ask(where + " AND model = 'lists'", columns="neighbor, similarity, evidence")
            self.assertEqual({row[2] for row in rows}, {"proof"}, where)
            exact = self.ask(where.replace("certainty = 0.999", "certainty = 1") + " AND model = 'none'")
            self.assertEqual([row[:2] for row in rows], exact)

    def test_with_recall_and_in_a_batch(self):
        words = self.words(20)
        for word in words:
            rows = self.ask("word = ? AND k = 10 AND model = 'lists' AND certainty = 0.999 AND recall = 0.9", word,
                            columns="neighbor, similarity, evidence")
            self.assertEqual(len(rows), 10)
            self.assertIn(rows[0][2], {"calibrated 0.9", "1-0.001", "proof"})
        together = self.ask("word IN (SELECT value FROM json_each(?)) AND k = 4 AND model = 'lists' AND certainty = 0.999", json.dumps(words),
                            columns="word, neighbor, similarity")
        alone = sum((self.ask("word = ? AND k = 4 AND model = 'none'", word, columns="word, neighbor, similarity") for word in set(words)), [])
        self.assertEqual(sorted(together), sorted(alone))

    def test_among_some_rows(self):
        with open(self.path("keyed.w2v"), "wb") as file:
            file.write(b"%d %d\n" % self.rows.shape)
            for i, row in enumerate(self.rows):
                file.write(b"%d " % (7 * i) + row.tobytes())
        self.convert("keyed.w2v", self.path("keyed.safetensors"), "--lists", "40", "--seed", "5")
        content = bytearray(self.content(self.path("keyed.safetensors")))
        start = header_of(self.path("keyed.safetensors"))[1]
        keys, at = b'"glove.keys":"integer",', content.index(b'"glove.crc32":')  # as glove_save writes it
        self.assertEqual(content[start - len(keys):start].strip(), b"")
        content[at:start] = keys + content[at:start - len(keys)]
        at = content.index(b'"glove.crc32":"') + 15
        content[at:at + 8] = self.header_crc(content[:start])
        with open(self.path("keyed.safetensors"), "wb") as file:
            file.write(content)
        self.db.execute("SELECT glove_load(?, 'keyed')", (self.path("keyed.safetensors"),)).fetchall()
        evidence = {}
        for share in (0.0005, 0.01, 0.1, 0.3, 0.6, 1):
            for _ in range(6):
                count, query = max(1, int(share * ROWS)), self.rows[self.random.integers(100, ROWS)].tobytes()
                if self.random.random() < 0.5:  # rows that are alike
                    likeness = self.rows @ self.rows[self.random.integers(0, ROWS)]
                    chosen = numpy.argsort(likeness)[-count:]
                else:
                    chosen = self.random.permutation(ROWS)[:count]
                among = numpy.sort(chosen * 7).astype("<i8").tobytes()
                where = "expr = ? AND k = 8 AND among = ? AND model = 'keyed'"
                exact = self.ask(where, query, among)
                self.assertGreaterEqual(len(exact), min(8, count - 1))  # one row is zero
                rows = self.ask(where + " AND certainty = ?", query, among, 1 - 1e-9, columns="neighbor, similarity, evidence")
                self.assertEqual([row[:2] for row in rows], exact)
                evidence.setdefault(share, set()).update(row[2] for row in rows)
        self.assertEqual(evidence[0.0005], {"proof"})
        self.assertIn("1-1e-09", evidence[1])
        self.assertLessEqual(set().union(*evidence.values()), {"proof", "1-1e-09"})

    def test_values_that_are_none(self):
        for value in (0, 0.99, 0.998999, 1.0000001, -1, 2, "high", b"0.9999", float("inf")):
            with self.assertRaisesRegex(sqlite3.Error, "certainty must be a number from 0.999 to 1, or NULL for a proved answer; but it is "):
                self.ask("word = 'w1' AND k = 3 AND model = 'lists' AND certainty = ?", value)
        self.assertEqual(self.ask("word = 'w1' AND k = 3 AND model = 'lists' AND certainty = '0.9995'", columns="DISTINCT certainty"), [(0.9995,)])

    def test_models_without_a_rotation_say_so(self):
        needs = "glove_nn: a certainty below 1 needs a model file with lists, which keeps a random rotation of 256 to 4096 dimensions, but the model "
        for model, message in (("none", needs + "'none' has none; write its file with glove-convert --lists, or omit certainty"),
                               ("narrow", needs + "'narrow' has 100 dimensions; omit certainty")):
            with self.assertRaises(sqlite3.Error) as raised:
                self.ask("word = 'w1' AND k = 3 AND model = ? AND certainty = 0.999", model)
            self.assertEqual(str(raised.exception), message)
            self.assertEqual(len(self.ask("word = 'w1' AND k = 3 AND model = ? AND certainty = 1", model)), 3)
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, v)")
        self.db.executemany("INSERT INTO doc(v) VALUES (?)", [(row.tobytes(),) for row in self.rows[:50]])
        self.db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='v')")
        with self.assertRaises(sqlite3.Error) as raised:
            self.db.execute("SELECT id FROM doc_vec WHERE query = ? AND k = 3 AND certainty = 0.999", (self.rows[3].tobytes(),)).fetchall()
        self.assertEqual(str(raised.exception), "doc_vec: certainty must be 1 or NULL, because the index keeps no random rotation; "
                                                "create it with certainty='yes', or omit it, and the answer is exact")

    def test_damage_is_found(self):
        header, start = header_of(self.few)
        content = self.content(self.few)
        for name in sorted(TENSORS):
            damaged = bytearray(content)
            damaged[start + header[name]["data_offsets"][0] + 3] ^= 0x40
            # Without the checksum only the contents tell.
            text = bytes(damaged[8:start]).replace(b'"glove.crc32.%s"' % name.encode(), b'"glove.crc33.%s"' % name.encode())
            damaged[8:start] = text
            crc = self.header_crc(damaged[:start])
            at = damaged.index(b'"glove.crc32":"') + 15
            damaged[at:at + 8] = crc
            path = self.path(name + ".safetensors")
            with open(path, "wb") as file:
                file.write(damaged)
            done = subprocess.run([CONVERT, "-q", "--verify", path], stderr=subprocess.PIPE, text=True)
            self.assertNotEqual(done.returncode, 0, name)
            self.assertIn("the tensor 'sign", done.stderr)

    @staticmethod
    def header_crc(header):
        import zlib
        at = header.index(b'"glove.crc32":"') + 15
        return b"%08x" % zlib.crc32(bytes(header[:at]) + b"00000000" + bytes(header[at + 8:]))


if __name__ == "__main__":
    unittest.main()
