"""Neural models in forked processes, on several threads, under interrupts, and loaded many times: situations_test.py GLOVE_SO [FOLDER]"""
import ctypes
import os
import sqlite3
import subprocess
import sys
import threading
import time
import unittest

import neural
from make_model import Network
from neural import NeuralTest, connect

MOST_SECONDS = 2  # from an interrupt to the error; on an idle machine it takes 0.01


class SituationsTest(NeuralTest):
    def setUp(self):
        super().setUp()
        self.make()
        self.load()

    def slow_down(self, us, what=b"GLOVE_FAKE_US"):
        """Lets each run of the fake network take so long, or making a session."""
        ctypes.CDLL(None).setenv(what, str(us).encode(), 1)
        self.addCleanup(ctypes.CDLL(None).unsetenv, what)

    def fill(self, rows, words=50):
        self.ask("CREATE TABLE IF NOT EXISTS note(id INTEGER PRIMARY KEY, title TEXT)")
        self.db.executemany("INSERT INTO note(title) VALUES (?)", ((self.text(words),) for _ in range(rows)))

    def interrupted(self, sql, *values):
        """Runs a statement that takes long, interrupts it, and returns after how many seconds it ended."""
        at = []

        def stop():
            at.append(time.monotonic())
            self.db.interrupt()
        timer = threading.Timer(0.15, stop)
        timer.start()
        try:
            self.assertEqual(self.error(sql, *values), "interrupted")
        finally:
            timer.cancel()
        return time.monotonic() - at[0]

    def test_interrupts(self):
        if neural.ENVIRONMENT:
            self.fill(20000)
        else:
            self.fill(3000)
            self.slow_down(3000)
        self.ask("SELECT glove_config('encode_limit', '1000000')")
        create = "CREATE VIRTUAL TABLE note_vec USING glove_index(content='note', rowid='id', text='title', model='m')"
        schema = self.ask("SELECT * FROM sqlite_schema")
        self.assertLess(self.interrupted(create), MOST_SECONDS)
        self.assertEqual(self.ask("SELECT * FROM sqlite_schema"), schema)
        self.assertLess(self.interrupted("SELECT count(glove_encode(title || id)) FROM note"), MOST_SECONDS)
        self.ask("SELECT glove_config('encode_limit', '0')")
        self.ask(create)
        self.ask("SELECT glove_config('encode_limit', '1000000')")
        for statement in ("INSERT INTO note_vec(note_vec) VALUES ('sync')", "INSERT INTO note_vec(note_vec) VALUES ('sync=2900')",
                          "INSERT INTO note_vec(note_vec) VALUES ('rebuild')", "SELECT * FROM note_vec WHERE query = 'cat' AND k = 3"):
            with self.subTest(statement):
                self.assertLess(self.interrupted(statement), MOST_SECONDS)
                self.assertEqual(self.ask("SELECT count(*) FROM note_vec_log"), self.ask("SELECT count(*) FROM note"))
        self.ask("DELETE FROM note WHERE id > 20")
        self.slow_down(0)
        self.ask("INSERT INTO note_vec(note_vec) VALUES ('sync')")
        self.ask("INSERT INTO note_vec(note_vec) VALUES ('integrity-check')")

    @unittest.skipIf(neural.ENVIRONMENT, "its runs are short")
    def test_one_long_run_is_interrupted(self):
        self.slow_down(20_000_000)
        self.assertLess(self.interrupted("SELECT glove_encode('cat')"), MOST_SECONDS)

    @unittest.skipIf(neural.ENVIRONMENT, "its sessions are made quickly")
    def test_loading_is_interrupted(self):
        before = self.ask("SELECT * FROM glove_models")
        self.slow_down(20_000_000, b"GLOVE_FAKE_LOAD_US")
        self.assertLess(self.interrupted("SELECT glove_load(?, 'other')", self.path("m")), MOST_SECONDS)
        self.assertEqual(self.ask("SELECT * FROM glove_models"), before)

    def test_a_long_text_is_interrupted(self):
        self.ask("CREATE TABLE long AS SELECT replace(hex(zeroblob(10000000)), '00', 'cat ') AS title")
        self.assertLess(self.interrupted("SELECT glove_encode(title) FROM long"), MOST_SECONDS)
        self.assertLess(self.interrupted("SELECT count(*) FROM long, glove_tokens(title)"), MOST_SECONDS)

    @unittest.skipIf(neural.SANITIZED, "its operator new ends the process")
    def test_no_memory_for_a_text(self):
        code = ("import resource, sqlite3, sys\n"
                "db = sqlite3.connect(':memory:'); db.enable_load_extension(True); db.load_extension(sys.argv[1])\n"
                "db.execute('SELECT glove_load(?)', (sys.argv[2],)).fetchall(); text = 'cat ' * 10_000_000\n"
                "encode = lambda text: db.execute('SELECT glove_encode(?)', (text,)).fetchall()\n"
                "encode('cat'); pages = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
                "for more in range(50, 233, 17):\n"
                "    resource.setrlimit(resource.RLIMIT_AS, (pages + (more << 20), -1))\n"
                "    try: encode(text)\n"
                "    except (MemoryError, sqlite3.Error) as error: print(type(error).__name__)\n"
                "resource.setrlimit(resource.RLIMIT_AS, (-1, -1)); print(len(encode('cat')))")
        done = subprocess.run([sys.executable, "-c", code, neural.EXTENSION, self.path("m")], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("MemoryError", done.stdout)

    def test_a_forked_child(self):
        self.fill(30, 5)
        expected = self.ask("SELECT glove_encode(title) FROM note")
        for _ in range(3):
            read, write = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(read)
                db = connect(self.path("t.db"))
                answers = db.execute("SELECT glove_encode(title) FROM note").fetchall()
                db.execute("SELECT glove_load(?, 'mine')", (self.path("m"),)).fetchall()
                answers += db.execute("SELECT glove_encode(title, 'mine') FROM note").fetchall()
                os.write(write, b"same" if answers == 2 * expected else b"other")
                os._exit(0)
            os.close(write)
            self.assertEqual(self.ask("SELECT glove_encode(title) FROM note"), expected)
            self.assertEqual(os.read(read, 99), b"same")
            os.close(read)
            self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_four_threads(self):
        self.fill(40, 5)
        self.ask("CREATE VIRTUAL TABLE note_vec USING glove_index(content='note', rowid='id', text='title', model='m')")
        sql = "SELECT q.id, v.id, v.similarity, glove_encode(q.title) FROM note q JOIN note_vec v ON v.query = q.title AND v.k = 3"
        expected = self.ask(sql)
        failed = []

        def ask():
            try:
                db = connect(self.path("t.db"))
                for _ in range(3):
                    if db.execute(sql).fetchall() != expected:
                        failed.append("another answer")
                db.close()
            except sqlite3.Error as error:
                failed.append(error)
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])

    def test_unloading_while_others_search(self):
        self.fill(300, 5)
        cursor = self.db.execute("SELECT glove_encode(title, 'm') FROM note")
        first = cursor.fetchone()
        other = connect(self.path("t.db"))
        other.execute("SELECT glove_unload('m')").fetchall()
        self.assertEqual(len(cursor.fetchall()), 299)
        self.assertRegex(self.error("SELECT glove_encode('a', 'm')"), "m")
        self.ask("SELECT glove_load(?, 'm')", self.path("m"), db=other)
        self.assertEqual(self.one("SELECT glove_encode(title) FROM note"), first[0])
        other.close()

        stop = threading.Event()
        failed = []

        def search():
            db = connect(self.path("t.db"))
            while not stop.is_set():
                try:
                    db.execute("SELECT glove_encode(title, 'm') FROM note LIMIT 5").fetchall()
                except sqlite3.Error as error:
                    if "'m'" not in str(error) and "no model" not in str(error):
                        failed.append(error)
            db.close()
        thread = threading.Thread(target=search)
        thread.start()
        for _ in range(30):
            self.ask("SELECT glove_unload('m')")
            self.load()
        stop.set()
        thread.join()
        self.assertEqual(failed, [])

    def test_a_hundred_loads(self):
        self.make("large", Network(dims=256))

        def memory():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        sizes = []
        for i in range(100):
            self.load("large")
            self.vector("cat dog", "large")
            self.ask("SELECT glove_unload('large')")
            if i >= 20:
                sizes.append(memory())
        if not neural.SANITIZED:  # which keeps what is released for a while
            self.assertLess(max(sizes[40:]) - max(sizes[:40]), 16 << 20)
        if not neural.ENVIRONMENT:
            self.db.execute("SELECT glove_unload('m')")
            self.db.close()
            self.db = connect(self.path("t.db"))
            self.assertEqual(ctypes.CDLL(neural.LIBRARY).fake_objects(), 0)


if __name__ == "__main__":
    unittest.main()
