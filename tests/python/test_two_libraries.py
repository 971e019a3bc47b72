"""Several SQLite libraries in one process: test_two_libraries.py --project FOLDER --extension GLOVE.SO --convert GLOVE-CONVERT

The others are copies of the library that Python's sqlite3 has loaded, which the system takes for other libraries. Skipped if it has
none in a file of its own.
"""
import ctypes
import os
import random
import resource
import shutil
import sqlite3
import sys
import tempfile
import threading
import unittest

import installed

TEXT, ROW, DONE, OK = 3, 100, 101, 0
DIMS, ROWS = 8, 300


def library_of_python():
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next((line.split(maxsplit=5)[5].strip() for line in maps if "libsqlite3.so" in line), None)


class Other:
    """A connection of another SQLite library; its values are texts."""

    def __init__(self, library):
        self.library, self.handle = library, ctypes.c_void_p()
        for name in ("sqlite3_errmsg", "sqlite3_column_text"):
            getattr(library, name).restype = ctypes.c_char_p
        self.check(library.sqlite3_open(b":memory:", ctypes.byref(self.handle)))
        self.check(library.sqlite3_enable_load_extension(self.handle, 1))

    def check(self, code):
        if code not in (OK, ROW, DONE):
            raise RuntimeError(self.library.sqlite3_errmsg(self.handle).decode())
        return code

    def load(self, extension):
        message = ctypes.c_char_p()
        if self.library.sqlite3_load_extension(self.handle, extension.encode(), None, ctypes.byref(message)) != OK:
            raise RuntimeError(message.value.decode())

    def execute(self, sql, values=()):
        statement, rows = ctypes.c_void_p(), []
        self.check(self.library.sqlite3_prepare_v2(self.handle, sql.encode(), -1, ctypes.byref(statement), None))
        try:
            for i, value in enumerate(values):
                data = str(value).encode()
                self.check(self.library.sqlite3_bind_text(statement, i + 1, data, len(data), ctypes.c_void_p(-1)))
            while self.check(self.library.sqlite3_step(statement)) == ROW:
                count = self.library.sqlite3_column_count(statement)
                rows.append(tuple((self.library.sqlite3_column_text(statement, i) or b"").decode() for i in range(count)))
        finally:
            self.library.sqlite3_finalize(statement)
        return rows

    def close(self):
        self.check(self.library.sqlite3_close(self.handle))


class TwoLibraries(unittest.TestCase):
    def setUp(self):
        import sqlite_glove
        self.extension = sqlite_glove.loadable_path()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.first = sqlite3.connect(":memory:")
        self.addCleanup(self.first.close)
        sqlite_glove.load(self.first)
        self.first.execute("SELECT 1")

    def library(self, name):
        path = os.path.join(self.folder.name, name)
        shutil.copy(library_of_python(), path)
        library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL | os.RTLD_DEEPBIND)
        ours = ctypes.CDLL(library_of_python()).sqlite3_open
        self.assertNotEqual(*(ctypes.cast(one, ctypes.c_void_p).value for one in (ours, library.sqlite3_open)))
        return library

    def connect(self, library):
        other = Other(library)
        self.addCleanup(other.close)
        return other

    @staticmethod
    def fill(execute, seed):
        source = random.Random(seed)
        execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, vector)")
        execute(f"CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vector', dims={DIMS})")
        for key in range(ROWS):
            execute("INSERT INTO doc VALUES (?, ?)", (key, str([source.gauss(0, 1) for _ in range(DIMS)])))

    @staticmethod
    def found(execute, seed):
        """What searches find, by the index and by a scan of all rows."""
        query = str([random.Random(~seed).gauss(0, 1) for _ in range(DIMS)])
        answers = [execute(sql, (query,)) for sql in ("SELECT id FROM doc_vec WHERE query = ? AND k = 5 ORDER BY rank",
                                                      "SELECT id FROM doc ORDER BY cos_sim(vector, ?) DESC LIMIT 5")]
        return [[int(key) for key, in answer] for answer in answers]

    def test_each_library_has_rows_and_models_of_its_own(self):
        library, third = self.library("second.so"), self.library("third.so")
        others = [self.connect(one) for one in (library, library, third)]
        calls = [lambda sql, values=(): self.first.execute(sql, values).fetchall(), *(other.execute for other in others)]
        for other in others:
            other.load(self.extension)
            other.load(self.extension)
        for seed, execute in enumerate(calls):
            self.fill(execute, seed)
        answers = [self.found(execute, seed) for seed, execute in enumerate(calls)]
        for by_index, by_scan in answers:
            self.assertEqual(by_index, by_scan)
        self.assertEqual(len({tuple(by_index) for by_index, _ in answers}), len(calls))
        # A model is known to all connections of one library, and to no other library.
        others[0].execute("CREATE TABLE colour(name, rgb)")
        others[0].execute("INSERT INTO colour VALUES ('red', '[1, 0]'), ('blue', '[0, 1]')")
        others[0].execute("SELECT glove_load_table('colour', 'SELECT name, rgb FROM colour')")
        self.assertEqual([len(execute("SELECT name FROM glove_models")) for execute in calls], [0, 1, 1, 0])
        # An error is written to the memory of the library that reads it.
        for other in others:
            with self.assertRaisesRegex(RuntimeError, "1 component"):
                other.execute("SELECT id FROM doc_vec WHERE query = '[1]' AND k = 5")

    def test_libraries_search_at_the_same_time(self):
        others = [self.connect(self.library(f"library{i}.so")) for i in range(3)]
        failures = []

        def work(seed, other):
            try:
                other.load(self.extension)
                self.fill(other.execute, seed)
                for i in range(50):
                    by_index, by_scan = self.found(other.execute, i)
                    self.assertEqual(by_index, by_scan)
            except Exception as error:  # pylint: disable=broad-except
                failures.append(error)
        threads = [threading.Thread(target=work, args=one) for one in enumerate(others)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_an_error_says_why_there_is_no_copy(self):
        library = self.library("refused.so")
        other = self.connect(library)
        folder, limits = os.environ.get("TMPDIR"), resource.getrlimit(resource.RLIMIT_NOFILE)
        os.environ["TMPDIR"] = missing = os.path.join(self.folder.name, "missing")
        try:
            with self.assertRaises(RuntimeError) as raised:
                other.load(self.extension)
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
            with self.assertRaisesRegex(RuntimeError, "cannot open '.*glove.so': Too many open files"):
                other.load(self.extension)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            os.environ["TMPDIR"] = folder or tempfile.gettempdir()
        self.assertEqual(str(raised.exception), "error during initialization: glove is already loaded into another SQLite library of this process, and this one needs a copy of "
                         f"it: cannot create '{missing}': No such file or directory; use one of them, or set TMPDIR to a folder whose files may be executed")
        before = os.listdir(os.environ["TMPDIR"])
        other.load(self.extension)  # no failure is remembered
        self.assertEqual([name for name in os.listdir(os.environ["TMPDIR"]) if name.startswith(".glove-") and name not in before], [])
        self.fill(other.execute, 1)


if __name__ == "__main__":
    if library_of_python() is None or not hasattr(os, "RTLD_DEEPBIND"):
        print("skipped: this Python's sqlite3 has no SQLite library in a file of its own")
        sys.exit(installed.SKIPPED)
    installed.run_tests()
