"""The Python package on several threads: test_threads.py --project FOLDER --extension GLOVE.SO --convert GLOVE-CONVERT

Run it by a free-threaded Python, such as python3.14t, too; it says whether the interpreter has a lock (GIL). Where this Python
cannot load extensions, only the import is tested.
"""
import concurrent.futures
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest

import installed

LOADS = hasattr(sqlite3.Connection, "enable_load_extension")
DIMS, ROWS, THREADS = 8, 500, 6
IMPORT = """
import sqlite3, sys
locked = getattr(sys, "_is_gil_enabled", lambda: True)
before = locked()
import sqlite_glove, sqlite_glove._notebook, sqlite_glove._async
conn = sqlite3.connect(":memory:")
if hasattr(conn, "enable_load_extension"):
    sqlite_glove.load(conn)
    sqlite_glove.index(conn, "doc", vectors=[[1, 0]]).search([1, 0])
print(before, locked())
"""


class Threads(unittest.TestCase):
    def setUp(self):
        import sqlite_glove
        self.glove = sqlite_glove
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "docs.db")
        source = random.Random(1)
        self.vectors = [[source.gauss(0, 1) for _ in range(DIMS)] for _ in range(ROWS)]

    def connect(self):
        conn = sqlite3.connect(self.path, timeout=60)
        self.glove.load(conn)
        return conn

    def on_threads(self, work):
        """What work(number) returns on each of the threads, which begin at the same time."""
        start = threading.Barrier(THREADS)

        def begin(number):
            start.wait()
            return work(number)
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(begin, range(THREADS)))

    def test_an_import_turns_on_no_lock(self):
        done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
        before, after = done.stdout.split()
        print(f"the interpreter has {'a' if before == 'True' else 'no'} lock")
        self.assertEqual(before, after)

    @unittest.skipUnless(LOADS, "this Python's sqlite3 cannot load extensions")
    def test_each_thread_opens_and_searches(self):
        conn = self.connect()
        docs = self.glove.index(conn, "doc", range(ROWS), self.vectors, {"kind": [id % 3 for id in range(ROWS)]}, index_columns=["kind"])
        expected = [docs.search(query, 7, where={"kind": place % 3}) for place, query in enumerate(self.vectors[:60])]
        conn.close()

        def work(_):
            conn = self.connect()
            try:
                docs = self.glove.Index(conn, "doc")
                return [docs.search(query, 7, where={"kind": place % 3}) for place, query in enumerate(self.vectors[:60])]
            finally:
                conn.close()
        for found in self.on_threads(work):
            self.assertEqual(found, expected)

    @unittest.skipUnless(LOADS, "this Python's sqlite3 cannot load extensions")
    def test_threads_write_and_find_what_they_wrote(self):
        conn = self.connect()
        conn.execute("PRAGMA journal_mode = WAL").fetchall()
        docs = self.glove.index(conn, "doc", vectors=[], dims=DIMS, columns={"thread": []})

        def work(number):
            conn = self.connect()
            try:
                docs = self.glove.Index(conn, "doc")
                for place in range(number, ROWS, THREADS):
                    docs.add([place], [self.vectors[place]], {"thread": [number]})
                    if docs.search(self.vectors[place], 1) != [(place, 1.0, number)]:
                        return f"the thread {number} does not find the row {place}"
                return ""
            finally:
                conn.close()
        self.assertEqual(self.on_threads(work), [""] * THREADS)
        self.assertEqual(len(docs), ROWS)
        docs.command("integrity-check")
        conn.close()


if __name__ == "__main__":
    installed.run_tests(loads=False)
