"""sqlite_glove.dask on a small cluster of this machine: test_cluster.py --build FOLDER --project FOLDER --convert GLOVE-CONVERT

Three shards of random words on two workers answer as the unsharded model does, bit for bit, while a worker is killed and while the
shards are replaced, too. Skipped if dask, distributed or pandas is missing, or if this Python cannot load extensions.
"""
import argparse
import contextlib
import importlib.util
import json
import os
import pickle
import random
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SKIPPED = 77
SEED = int(os.environ.get("GLOVE_TEST_SEED") or random.SystemRandom().randrange(2**32))
OPTIONS = argparse.Namespace()


def write_package(build, project, folder):
    """The files of the wheel, as pip would install them."""
    sys.path.insert(0, os.path.join(project, "packaging"))
    import wheel
    for path, data, _ in wheel.contents(build):
        if path.startswith("sqlite_glove/"):
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "wb") as file:
                file.write(data)


def write_model(path, source, rows=2000, dims=20):
    """Text with equal vectors, which only the ids rank, zero vectors, and words that differ in case only."""
    vectors = [[source.choice([-1, 0, 1, 2]) for _ in range(dims)] for _ in range(rows // 3)] + [[0] * dims]
    words = [f"w{i}" if source.random() < 0.8 else source.choice(["W%d", "\u00e9t\u00e9%d", "\u00c9t\u00e9%d", "a'\"b%d"]) % i for i in range(rows)]
    words[5:9] = ["king", "Paris", "paris", "King"]
    places = [(0, 5, 6, 7, 8), (rows - 1, rows - 2, rows - 3, rows - 4, 900)][source.random() < 0.5]
    for i, place in zip(range(4, 9), places):  # in shards of their own, in either order
        words[i], words[place] = words[place], words[i]
    with open(path, "w", encoding="utf-8") as file:
        for word in words:
            file.write(word + " " + " ".join(map(str, source.choice(vectors))) + "\n")
    return words


def sqlite_glove_calls():
    import sqlite_glove._calls
    return sqlite_glove._calls


class Calls(unittest.TestCase):
    """sqlite_glove._calls without a cluster."""

    def setUp(self):
        self.calls = sqlite_glove_calls()
        self.listener = self.calls.Listener("127.0.0.1")
        self.line = self.calls.Line(self.listener.address)
        self.addCleanup(self.line.close)

    def ask(self, *call, seconds=30):
        return self.calls.call_all({"a": self.line}, {"a": call}, seconds)

    def test_answers_of_any_size(self):
        for size in (0, 1, 4095, 1 << 20, 20_000_001):
            self.assertEqual(self.ask(bytes.__mul__, b"x", size), [b"x" * size])
        self.assertEqual(len(self.line._idle), 1)

    def test_an_exception_is_told(self):
        with self.assertRaisesRegex(self.calls.Failed, "a: ValueError"):
            self.ask(int, "x")
        self.assertEqual(self.ask(int, "7"), [7])

    def test_an_answer_that_comes_late_is_never_that_of_the_next_call(self):
        with self.assertRaisesRegex(self.calls.Silent, "^a$"):
            self.ask(time.sleep, 0.3, seconds=0.05)
        self.assertEqual(self.ask(int, "7"), [7])
        time.sleep(0.4)
        self.assertEqual(self.ask(int, "8"), [8])

    def test_many_threads(self):
        wrong = []

        def ask(number):
            for i in range(50):
                wrong.extend(one for one in self.ask(divmod, 1000 * number + i, 1) if one != (1000 * number + i, 0))
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertLessEqual(len(self.line._idle), 8)

    def test_nobody_is_answered_without_the_token(self):
        host, port, token = self.listener.address
        marked = os.path.join(tempfile.gettempdir(), f"glove-cluster-{SEED}")
        message = pickle.dumps((os.mkdir, marked))
        for shown in (bytes(len(token)), token[:-1] + bytes([token[-1] ^ 1]), b""):
            with socket.create_connection((host, port), 10) as connection:
                with contextlib.suppress(OSError):  # the listener may close it at once
                    connection.sendall(shown + struct.pack("<Q", len(message)) + message)
                    connection.shutdown(socket.SHUT_WR)
                    self.assertEqual(connection.recv(1), b"")
        self.assertFalse(os.path.exists(marked))

    def test_with_certificates(self):
        """Dask's own, which its temporary security makes; without one, a caller gets no answer."""
        if importlib.util.find_spec("cryptography") is None:
            self.skipTest("no certificates can be made (Debian: python3-cryptography)")
        import distributed
        security = distributed.Security.temporary()
        listener = self.calls.Listener("127.0.0.1", security.get_listen_args("worker")["ssl_context"])
        line = self.calls.Line(listener.address, security.get_connection_args("client")["ssl_context"])
        self.assertEqual(self.calls.call_all({"a": line}, {"a": (bytes.__mul__, b"x", 3_000_000)}, 30), [b"x" * 3_000_000])
        with self.assertRaises(OSError):
            self.calls.Line(listener.address, distributed.Security.temporary().get_connection_args("client")["ssl_context"])
            raise AssertionError("another cluster's certificate was accepted")
        with self.assertRaises(OSError):
            self.calls.call_all({"a": self.calls.Line(listener.address)}, {"a": (int, "7")}, 30)
        line.close()


class Cluster(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import distributed
        import bench_cluster
        import sqlite_glove
        cls.bench = bench_cluster
        cls.source = random.Random(SEED)
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.path = staticmethod(lambda name: os.path.join(cls.folder, name))
        for name in ("m", "n"):
            write_model(cls.path(name + ".txt"), cls.source)
            cls.convert(cls.path(name + ".txt"), cls.path(name), "--shards", "3")
            cls.convert(cls.path(name + ".txt"), cls.path(name + "-whole"))
        cls.conn = sqlite3.connect(":memory:")
        sqlite_glove.load(cls.conn)
        cls.load_whole("m")
        cls.cluster = bench_cluster.local_cluster(2)
        cls.addClassCleanup(cls.cluster.close)
        cls.client = distributed.Client(cls.cluster)
        cls.addClassCleanup(cls.client.close)

    @classmethod
    def convert(cls, *arguments):
        subprocess.run([OPTIONS.convert, "-q", *arguments], check=True)

    @classmethod
    def load_whole(cls, name):
        cls.conn.execute("SELECT glove_load(?, 'whole')", (cls.path(name + "-whole"),))

    def open(self, name="m"):
        import sqlite_glove.dask
        return sqlite_glove.dask.open(self.client, self.path(name + ".safetensors.index.json"), timeout=60)

    def wanted(self, queries):
        return [self.bench.rows_of_one_process(self.conn, query) for query in queries]

    def queries(self, count):
        return self.bench.make_queries(self.conn, count, self.source)

    def test_the_rows_of_the_whole_model(self):
        model = self.open()
        self.assertEqual(model.words, self.conn.execute("SELECT count(*) FROM glove_words WHERE model = 'whole'").fetchone()[0])
        queries = self.queries(200) + [(kind, word, 100_000) for kind in ("word", "expr") for word in ("king", "KING", "Paris")]
        different, _ = self.bench.differences(model, queries, self.wanted(queries))
        self.assertEqual(different, 0)
        self.assertEqual(model.nearest([], 3), [])
        self.assertEqual(model.nearest("king", 0), [])
        vector, = self.conn.execute("SELECT glove_vec('king - w0', 'whole')").fetchone() or (None,)
        if vector is not None:
            rows = self.conn.execute("SELECT neighbor, similarity, rank FROM glove_nn WHERE expr = ? AND k = 7 AND model = 'whole'",
                                     (vector,)).fetchall()
            self.assertEqual([tuple(row)[1:] for row in model.expr(vector, 7)], rows)

    def test_errors_are_those_of_the_extension(self):
        model = self.open()
        with self.assertRaisesRegex(sqlite3.OperationalError, "expression"):
            model.expr("king + ", 3)
        for k in (-1, 2.5, True):
            with self.assertRaisesRegex(ValueError, "k must be a non-negative integer"):
                model.nearest("king", k)
        for words in (b"king", None, [1.5]):
            with self.assertRaisesRegex(TypeError, "must be text"):
                model.nearest(words, 3)

    def test_no_answer_in_time(self):
        model = self.open()
        model._timeout = 1e-9
        with self.assertRaisesRegex(TimeoutError, "no answer from the Dask cluster within 1e-09 seconds; these workers have not answered: tcp://"):
            model.nearest("king", 3)
        model._timeout = 60
        self.assertEqual(len(model.nearest("king", 3)), 3)

    def test_a_worker_that_does_not_answer_is_named(self):
        model = self.open()
        wanted = model.nearest("king", 3)
        pids = self.client.run(os.getpid)
        stopped = sorted(pids)[self.source.randrange(2)]
        model._timeout = 1
        os.kill(pids[stopped], signal.SIGSTOP)
        try:
            with self.assertRaisesRegex(TimeoutError, f"within 1 seconds; these workers have not answered: {stopped}; see"):
                for _ in range(1000):  # its threads stop one after the other
                    model.nearest("king", 3)
        finally:
            os.kill(pids[stopped], signal.SIGCONT)
        model._timeout = 60
        self.assertEqual(model.nearest("king", 3), wanted)

    def answered_directly(self, model):
        """The rows of a query, and what each worker was asked by its own connection meanwhile."""
        calls, asked = sqlite_glove_calls(), []
        call_all, calls.call_all = calls.call_all, lambda *arguments: asked.append(call_all(*arguments)) or asked[-1]
        try:
            return model.nearest("king", 3), asked
        finally:
            calls.call_all = call_all

    def test_queries_leave_the_scheduler(self):
        model = self.open()
        rows, asked = self.answered_directly(model)
        self.assertEqual(([tuple(row) for row in rows], len(asked[0])), (self.wanted([("word", "king", 3)])[0], 2))
        connections = [list(line._idle) for line in model._lines.values()]
        model.nearest("king", 4)
        self.assertEqual([list(line._idle) for line in model._lines.values()], connections, "connections must be kept")
        for line in model._lines.values():  # as if the other side had gone
            for connection in line._idle:
                connection.close()
        self.assertEqual(self.answered_directly(model), (rows, []))
        self.assertEqual(len(self.answered_directly(model)[1]), 1)
        model.close()
        self.assertEqual([connection.fileno() for some in connections for connection in some], [-1, -1])

    def test_workers_that_cannot_be_reached_answer_by_tasks(self):
        model = self.open()
        line = sqlite_glove_calls().Line
        connect, line._connect = line._connect, lambda self: os.close(-1)  # an OSError
        try:
            self.assertEqual(self.answered_directly(model)[1], [])
        finally:
            line._connect = connect
        self.assertEqual((self.answered_directly(model)[1], len(model._unreachable)), ([], 1), "must not be tried again at once")
        model._unreachable.clear()
        self.assertEqual(len(self.answered_directly(model)[1]), 1)

    def test_what_the_workers_do(self):
        model = self.open()
        self.assertIn(f"{model.words} words in 3 shards", repr(model))
        info = model.info()
        self.assertEqual([one.worker for one in info], sorted(self.client.nthreads()))
        self.assertEqual(sorted(number for one in info for number in one.owns), [1, 2, 3])
        for one in info:
            self.assertLessEqual(set(one.owns), set(one.open))
            self.assertTrue(all(backend.startswith(("cpu", "cuda")) for backend in one.backends), one)
        self.assertGreaterEqual(sum(one.rows for one in info), model.words)

    def test_a_worker_is_killed(self):
        model = self.open()
        queries = self.queries(150)
        wanted = self.wanted(queries)
        _, seconds = self.bench.differences(model, queries[:20], wanted[:20])
        killer = self.bench.kill_a_worker(self.client, sum(seconds))
        different, _ = self.bench.differences(model, queries, wanted)
        killer.join()
        self.assertEqual(different, 0)
        self.client.wait_for_workers(2, timeout=60)

    def test_a_column_of_a_dask_dataframe(self):
        import dask.dataframe
        import pandas
        model = self.open()
        known = [word for word, in self.conn.execute("SELECT word FROM glove_words WHERE model = 'whole'")]
        words = [self.source.choice(known) for _ in range(300)] + ["no such word", None, "KING"]
        self.source.shuffle(words)
        frame = pandas.DataFrame({"tag": words, "other": range(len(words))}, index=[f"row {i}" for i in range(len(words))])
        lazy = model.neighbors(dask.dataframe.from_pandas(frame, npartitions=4, sort=False), "tag", 5)
        self.assertEqual(list(lazy.columns), ["word", "neighbor", "similarity", "rank"])
        got = lazy.compute()
        wanted = [(index, *row) for index, word in frame["tag"].items() if word is not None
                  for row in self.bench.rows_of_one_process(self.conn, ("word", word, 5))]
        self.assertEqual(list(got.itertuples(name=None)), wanted)

    def test_a_function_in_sql(self):
        import sqlite_glove.dask
        conn = sqlite3.connect(":memory:")
        model = sqlite_glove.dask.register(conn, self.client, self.path("m.safetensors.index.json"))
        rows = conn.execute("SELECT value ->> 'neighbor', value ->> 'rank' FROM json_each(glove_dask_nn('king', 4))").fetchall()
        self.assertEqual(rows, [row[1::2] for row in self.bench.rows_of_one_process(self.conn, ("word", "king", 4))])
        text, = conn.execute("SELECT glove_dask_expr('king - paris', 4)").fetchone()
        self.assertEqual([tuple(row.values()) for row in json.loads(text)],
                         [row[1:] for row in self.bench.rows_of_one_process(self.conn, ("expr", "king - paris", 4))])
        self.assertEqual(conn.execute("SELECT glove_dask_nn(NULL, 4), glove_dask_nn('no such word', 4)").fetchone(), (None, "[]"))
        self.assertIs(sqlite_glove.dask.register(conn, self.client, model), model)

    def test_shards_are_replaced_under_load(self):
        """Every answer is that of one of the two models as a whole, and from replace() on that of the new one."""
        queries = [query for query in self.queries(40) if query[0] == "word"]
        of_old = self.wanted(queries)
        model = self.open("m")
        self.addCleanup(self.load_whole, "m")
        self.load_whole("n")
        of_new = self.wanted(queries)
        failures, stop = [], threading.Event()

        def ask():
            while not stop.is_set():
                for query, old, new in zip(queries, of_old, of_new):
                    rows = self.bench.rows_of_cluster(model, query)
                    if rows not in (old, new):
                        failures.append(query)
        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for name in ("n", "m", "n"):
                model.replace(self.path(name + ".safetensors.index.json"))
            different, _ = self.bench.differences(model, queries, of_new)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual((failures, different), ([], 0))
        loaded = self.client.run(lambda: __import__("sqlite_glove.dask").dask._connect(None).execute(
            "SELECT count(DISTINCT substr(name, 1, 16)) FROM glove_models").fetchone()[0])
        self.assertLessEqual(set(loaded.values()), {0, 1}, "the old shards must be unloaded")

    def test_the_example(self):
        result = subprocess.run([sys.executable, os.path.join(OPTIONS.project, "examples/cluster/cluster.py"), self.path("m.txt"),
                                 OPTIONS.convert], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("words in 3 shards on 2 workers", result.stdout)
        self.assertIn("SQL: ", result.stdout)

    def test_shards_of_another_set(self):
        """Files that were exchanged without replace()."""
        for name in os.listdir(self.folder):
            if name.startswith("m-0") or name == "m.safetensors.index.json":
                shutil.copy(self.path(name), self.path("x" + name))
        index = self.path("xm.safetensors.index.json")
        with open(index, encoding="utf-8") as file:
            text = file.read()
        with open(index, "w", encoding="utf-8") as file:
            file.write(text.replace('"m-', '"xm-'))
        shutil.copy(self.path("n-00002-of-00003.safetensors"), self.path("xm-00002-of-00003.safetensors"))
        self.open("n").close()
        self.open("m").close()
        import sqlite_glove.dask
        with self.assertRaisesRegex(ValueError, "xm-00002-of-00003.safetensors: this shard belongs to the set"):
            sqlite_glove.dask.open(self.client, index)
        with open(index, "w", encoding="utf-8") as file:
            file.write(text.replace('"m-00002', '"../m-00002'))
        with self.assertRaisesRegex(ValueError, "is not a name in the directory of the index"):
            sqlite_glove.dask.open(self.client, index)


def main():
    parser = argparse.ArgumentParser()
    for option in ("--build", "--project", "--convert"):
        parser.add_argument(option, required=True)
    parser.parse_args(namespace=OPTIONS)
    missing = [name for name in ("dask", "distributed", "pandas") if importlib.util.find_spec(name) is None]
    if missing or not hasattr(sqlite3.connect(":memory:"), "enable_load_extension"):
        print("skipped: " + (f"this Python has no {' and no '.join(missing)} (Debian: python3-distributed, python3-pandas)" if missing
                             else "this Python's sqlite3 cannot load extensions"))
        sys.exit(SKIPPED)
    print("repeat with GLOVE_TEST_SEED=" + str(SEED))
    with tempfile.TemporaryDirectory() as folder:
        write_package(OPTIONS.build, OPTIONS.project, folder)
        shutil.copy(os.path.join(OPTIONS.project, "bench", "cluster.py"), os.path.join(folder, "bench_cluster.py"))
        sys.path.insert(0, folder)
        os.environ["PYTHONPATH"] = folder  # of the workers
        for name in ("GLOVE_MODEL", "GLOVE_NN_DISABLE"):
            os.environ.pop(name, None)
        unittest.main(argv=sys.argv[:1])


if __name__ == "__main__":
    main()
