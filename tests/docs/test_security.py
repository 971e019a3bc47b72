"""What SECURITY.md says and no other test shows: test_security.py EXTENSION CONVERT SAMPLE"""
import os
import pathlib
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77
EXTENSION, CONVERT, SAMPLE = (os.path.abspath(argument) for argument in sys.argv[1:4])
SIX = {"glove_load": "'f'", "glove_save": "'m', 'f'", "glove_load_table": "'m', 'SELECT 1, 2'", "glove_derive": "'m', '{}'",
       "glove_unload": "'m'", "glove_config": "'threads', 1"}


def connect():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.enable_load_extension(True)
    connection.load_extension(EXTENSION)
    connection.enable_load_extension(False)
    return connection


class Security(unittest.TestCase):
    def setUp(self):
        self.db = connect()
        self.folder = tempfile.TemporaryDirectory(prefix="glove-security-")
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_an_authorizer_refuses_the_six_functions(self):
        before = self.db.execute("SELECT glove_config('threads')").fetchone()

        def refuse(action, _, name, *__):
            return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_FUNCTION and name in SIX else sqlite3.SQLITE_OK
        self.db.set_authorizer(refuse)
        for name, arguments in SIX.items():
            for statement in (f"SELECT {name}({arguments})", f"SELECT 1 WHERE {name.upper()}({arguments}) IS NULL"):
                with self.assertRaisesRegex(sqlite3.Error, "not authorized"):
                    self.db.execute(statement).fetchall()
        self.assertEqual(self.db.execute("SELECT round(cos_sim(x'0000803f', x'0000803f'))").fetchone(), (1.0,))
        self.db.set_authorizer(None)
        self.assertEqual(self.db.execute("SELECT glove_config('threads')").fetchone(), before)

    def test_a_progress_handler_ends_a_search(self):
        model = self.path("sample.safetensors")
        subprocess.run([CONVERT, "--quiet", SAMPLE, model], check=True)
        self.db.execute("SELECT glove_load(?)", (model,))
        calls = []

        def end():
            calls.append(1)
            return 1
        query = "SELECT count(*) FROM glove_words w JOIN glove_nn n ON n.word = w.word AND n.k = 50"
        self.db.set_progress_handler(end, 1000)
        with self.assertRaisesRegex(sqlite3.OperationalError, "interrupted"):
            self.db.execute(query).fetchall()
        self.db.set_progress_handler(None, 0)
        self.assertTrue(calls)
        self.assertEqual(self.db.execute("SELECT count(*) FROM glove_nn('king', NULL, 3)").fetchone(), (3,))
        self.db.execute("SELECT glove_unload('sample')")

    def test_pickled_objects_are_refused(self):
        header = b"{'descr': '|O', 'fortran_order': False, 'shape': (1, 2), }"
        header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
        pickle = b"cos\nsystem\n(S'touch " + self.path("ran").encode() + b"'\ntR."
        pathlib.Path(self.path("objects.npy")).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + pickle)
        pathlib.Path(self.path("objects.words")).write_text("a\n", encoding="utf-8")
        with self.assertRaisesRegex(sqlite3.OperationalError, r"\|O"):
            self.db.execute("SELECT glove_load(?)", (self.path("objects.npy"),)).fetchall()
        self.assertFalse(os.path.exists(self.path("ran")))


if __name__ == "__main__":
    if not hasattr(sqlite3.connect(":memory:"), "enable_load_extension"):
        print("skipped: this Python's sqlite3 module cannot load extensions")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
