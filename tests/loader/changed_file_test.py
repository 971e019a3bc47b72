"""A model file that is deleted, replaced, cut or overwritten while SQL has it loaded.

changed_file_test.py GLOVE_CONVERT GLOVE_SO
"""
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import numpy

CONVERT, EXTENSION = sys.argv.pop(1), sys.argv.pop(1)
ROWS, DIMS = 20000, 50


def connect():
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.execute("SELECT load_extension(?, 'sqlite3_glove_init')", (EXTENSION,))
    return db


class ChangedFile(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, "m.safetensors")
        self.write_model(0)
        self.db = connect()
        self.db.execute("SELECT glove_load(?, 'changed')", (self.path,))
        self.addCleanup(lambda: self.db.execute("SELECT glove_unload('changed')"))

    def write_model(self, seed):
        rows = numpy.random.default_rng(seed).normal(0, 1, (ROWS, DIMS)).astype("<f4")
        text = self.path + ".w2v"
        with open(text, "wb") as file:
            file.write(b"%d %d\n" % rows.shape)
            for i, row in enumerate(rows):
                file.write(b"w%d " % i + row.tobytes())
        subprocess.run([CONVERT, "-q", text, self.path], check=True)

    def neighbours(self, word="w1"):
        return self.db.execute("SELECT neighbor, similarity FROM glove_nn(?, NULL, 5, 'changed')", (word,)).fetchall()

    def assert_told(self, words):
        for query in ("SELECT neighbor FROM glove_nn('w7', NULL, 5, 'changed')", "SELECT cos_sim('w1', 'w2', 'changed')",
                      "SELECT glove_vec('w1', 'changed')", "SELECT glove_mean(w, 1, 'changed') FROM (SELECT 'w1' w)",
                      "SELECT glove_text_vec('w1 w2', 'changed')", f"SELECT glove_save('changed', '{self.path}.copy')"):
            with self.assertRaisesRegex(sqlite3.OperationalError, words):
                self.db.execute(query).fetchall()

    def test_a_deleted_file_goes_on(self):
        before = self.neighbours()
        os.unlink(self.path)
        self.assertEqual(self.neighbours(), before)

    def test_a_replaced_file_goes_on_with_the_old_rows_until_it_is_loaded_again(self):
        before = self.neighbours()
        self.write_model(1)
        self.assertEqual(self.neighbours(), before)
        self.db.execute("SELECT glove_load(?, 'changed')", (self.path,))
        self.assertNotEqual(self.neighbours(), before)

    def test_a_cut_file_is_told_of(self):
        for size in (os.path.getsize(self.path) - 1, 1 << 20, 4096, 10, 0):
            os.truncate(self.path, size)
            self.assert_told(f"m.safetensors' went from [0-9]+ to {size} bytes while it was loaded; load it again")

    def test_an_overwritten_file_is_told_of(self):
        with open(self.path, "r+b") as file:
            file.seek(5000)
            file.write(b"overwritten")
        self.assert_told("was written to while it was loaded; load it again")

    def state(self):
        return self.db.execute("SELECT state FROM glove_models WHERE name = 'changed'").fetchone()[0]

    def test_a_touched_file_goes_on(self):
        before = self.neighbours()
        for times in (None, (1, 1), None):
            os.utime(self.path, times)
            self.assertEqual(self.neighbours(), before)
            self.assertEqual(self.state(), "mapped")
        os.chmod(self.path, 0o600)
        self.assertEqual(self.neighbours(), before)
        self.assertEqual(self.db.execute("SELECT cos_sim('w1', 'w1', 'changed')").fetchall(), [(1.0,)])

    def test_a_written_file_with_its_old_time_is_told_of(self):
        info = os.stat(self.path)
        with open(self.path, "r+b") as file:
            file.seek(5000)
            file.write(b"overwritten")
        os.utime(self.path, ns=(info.st_atime_ns, info.st_mtime_ns))
        self.assert_told("was written to while it was loaded; load it again")
        self.assertRegex(self.state(), "^failed: the model file '.*' was written to while it was loaded; load it again$")

    def test_another_model_written_over_the_file_is_told_of(self):
        other = self.path + ".other"
        self.path, path = other, self.path
        self.write_model(1)
        self.path = path
        with open(other, "rb") as source, open(path, "r+b") as target:
            target.write(source.read())
        self.assertEqual(os.path.getsize(other), os.path.getsize(path))
        self.assert_told("was written to while it was loaded; load it again")

    def test_a_file_that_is_cut_between_the_rows_of_a_query_ends_it(self):
        for query in ("SELECT neighbor FROM glove_nn('w3', NULL, 10, 'changed')", "SELECT word FROM glove_words('changed')",
                      "SELECT word, vector FROM glove_words('changed') WHERE word > 'w5' LIMIT 1000"):
            self.write_model(0)
            self.db.execute("SELECT glove_load(?, 'changed')", (self.path,))
            cursor = self.db.execute(query)
            cursor.fetchone()
            os.truncate(self.path, 4096)
            with self.assertRaisesRegex(sqlite3.OperationalError, "while it was loaded; load it again"):
                cursor.fetchall()

    def test_a_file_that_is_cut_in_the_middle_of_a_query(self):
        """Cut between rows of one cursor: an answer from what was read before, or an error; never SIGBUS."""
        cursor = self.db.execute("SELECT neighbor FROM glove_nn('w3', NULL, NULL, 'changed')")
        cursor.fetchone()
        os.truncate(self.path, 4096)
        try:
            cursor.fetchall()
        except sqlite3.OperationalError as error:
            self.assertIn("while it was loaded", str(error))

    def test_other_bus_errors_still_end_the_process(self):
        program = f"""
import ctypes, mmap, os, sqlite3, sys, tempfile
db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.execute("SELECT load_extension(?, 'sqlite3_glove_init')", ({EXTENSION!r},))
db.execute("SELECT glove_load(?, 'x')", ({self.path!r},))
file = tempfile.TemporaryFile()
file.truncate(8192)
map = mmap.mmap(file.fileno(), 8192)
file.truncate(0)
map[5000]
"""
        result = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
        self.assertEqual(result.returncode, -signal.SIGBUS, result.stderr)


if __name__ == "__main__":
    unittest.main()
