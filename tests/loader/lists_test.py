"""Model files with lists: what glove-convert --lists writes, and what searches of them return.

lists_test.py GLOVE_CONVERT GLOVE_SO
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
ROWS, DIMS = 70000, 100  # enough rows that searches read planes
PLANES = {"list_centroids", "list_offsets", "list_rows", "plane1", "plane1_bounds", "plane2"}
LEVEL4 = {"codes4", "scales4", "residuals4"}


def header_of(path):
    with open(path, "rb") as file:
        return json.loads(file.read(int.from_bytes(file.read(8), "little")))


class Lists(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.directory.cleanup)
        random = numpy.random.default_rng(5)
        topics = random.normal(0, 1, (300, DIMS))
        rows = topics[random.integers(0, 300, ROWS)] + random.normal(0, 0.4, (ROWS, DIMS))
        rows[17] = 0
        rows[40:80] = rows[40]
        cls.text = cls.path("rows.w2v")
        with open(cls.text, "wb") as file:
            file.write(b"%d %d\n" % rows.shape)
            for i, row in enumerate(rows.astype("<f4")):
                file.write(b"w%d " % i + row.tobytes())
        cls.none, cls.lists = cls.path("none.safetensors"), cls.path("lists.safetensors")
        cls.convert(cls.none, "--lists", "none")
        cls.convert(cls.lists, "--lists", "200")

    @classmethod
    def path(cls, name):
        return os.path.join(cls.directory.name, name)

    @classmethod
    def convert(cls, out, *options):
        subprocess.run([CONVERT, "-q", cls.text, out, *options], check=True)

    def test_planes_take_the_place_of_codes_of_4_bits(self):
        header = header_of(self.lists)
        self.assertLessEqual(PLANES, header.keys())
        self.assertFalse(LEVEL4 & header.keys())
        self.assertEqual(header["list_centroids"]["shape"], [200, DIMS])
        self.assertEqual(header["__metadata__"]["glove.version"], "1.4")
        self.assertGreaterEqual(int(header["__metadata__"]["glove.planes.most_k"]), 10)

    def test_without_lists_the_file_is_that_of_a_program_that_knows_none(self):
        header = header_of(self.none)
        self.assertFalse(PLANES & header.keys())
        self.assertLessEqual(LEVEL4, header.keys())
        self.assertEqual(header["__metadata__"]["glove.version"], "1.3")
        other = self.path("other.safetensors")
        for options in ((), ("--lists", "auto")):  # too few rows
            self.convert(other, *options)
            with open(other, "rb") as file, open(self.none, "rb") as expected:
                self.assertEqual(file.read(), expected.read())

    def test_the_file_is_the_same_with_every_number_of_threads(self):
        other = self.path("threads.safetensors")
        self.convert(other, "--lists", "200", "--threads", "3")
        with open(other, "rb") as file, open(self.lists, "rb") as expected:
            self.assertEqual(file.read(), expected.read())

    def test_answers_are_those_of_the_file_without_lists(self):
        db = sqlite3.connect(":memory:")
        db.enable_load_extension(True)
        db.execute("SELECT load_extension(?, 'sqlite3_glove_init')", (EXTENSION,))
        saved = self.path("saved.safetensors")
        db.execute("SELECT glove_load(?, 'none')", (self.none,))
        db.execute("SELECT glove_load(?, 'lists')", (self.lists,))
        db.execute("SELECT glove_save('lists', ?)", (saved,))
        self.assertLessEqual(PLANES, header_of(saved).keys())
        db.execute("SELECT glove_load(?, 'saved')", (saved,))
        for threads in (1, 2):
            db.execute("SELECT glove_config('threads', ?)", (threads,))
            for k in (1, 10, 100, ROWS + 1):
                for word in ("w0", "w17", "w41", "w59999"):
                    expr = f"{threads} * {word}"
                    answers = [db.execute("SELECT neighbor, similarity FROM glove_nn WHERE expr = ? AND k = ? AND model = ?",
                                          (expr, k, model)).fetchall() for model in ("none", "lists", "saved")]
                    self.assertEqual(answers[0], answers[1])
                    self.assertEqual(answers[0], answers[2])
        db.execute("SELECT neighbor FROM glove_nn('w3', NULL, 10, 'lists')").fetchall()
        read = db.execute("SELECT bytes_scanned FROM glove_stats LIMIT 1").fetchone()[0]
        self.assertGreater(read, ROWS * DIMS / 4)
        self.assertLess(read, ROWS * (DIMS / 2 + 8))  # what codes of 4 bits take
        for model in ("none", "lists", "saved"):
            db.execute("SELECT glove_unload(?)", (model,))

    def test_options_that_make_no_sense_are_refused(self):
        for options, words in ((("--lists", "0"), "is not auto, none or a number"),
                               (("--lists", "65537"), "is not auto, none or a number"),
                               (("--lists", "5", "--shards", "2"), "excludes"),
                               (("--lists", "65536", "--top", "500"), "65536")):
            done = subprocess.run([CONVERT, "-q", self.text, self.path("refused.safetensors"), *options],
                                  stderr=subprocess.PIPE, text=True)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)
            self.assertFalse(os.path.exists(self.path("refused.safetensors")))

    def test_rows_without_a_direction_have_no_lists(self):
        zeros, out = self.path("zeros.w2v"), self.path("zeros.safetensors")
        with open(zeros, "wb") as file:
            file.write(b"50 4\n" + b"".join(b"w%d " % i + bytes(16) for i in range(50)))
        for lists in ("1", "2"):
            subprocess.run([CONVERT, "-q", zeros, out, "--lists", lists], check=True)
            self.assertNotIn("list_offsets", header_of(out))
            os.remove(out)

    def test_damaged_offsets_are_an_error(self):
        with open(self.lists, "rb") as file:
            data = bytearray(file.read())
        length = int.from_bytes(data[:8], "little")
        begin = 8 + length + header_of(self.lists)["list_offsets"]["data_offsets"][0]
        data[begin + 8 * 100 + 7] = 0x7F
        damaged = self.path("damaged.safetensors")
        with open(damaged, "wb") as file:
            file.write(data)
        done = subprocess.run([CONVERT, "-q", "--verify", damaged], stderr=subprocess.PIPE, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("list_offsets", done.stderr)


if __name__ == "__main__":
    unittest.main()
