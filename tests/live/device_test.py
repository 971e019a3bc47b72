"""Which backend serves a live index: a device, and the CPU where the device is full or lost. Runs with the extension of tests/gpu whose
device is in host memory.

    device_test.py EXTENSION
"""
import array
import os
import random
import sqlite3
import subprocess
import sys
import unittest

import fixture

EXTENSION = None
DIMS = 8
ROWS = 900


class DeviceTest(unittest.TestCase):
    def setUp(self):
        self.source = random.Random(4)
        self.db = fixture.connect(":memory:", EXTENSION)
        self.addCleanup(lambda: self.db.close())  # which a test may have replaced
        self.addCleanup(lambda: self.db.execute("SELECT glove_config('gpu_memory', '0')"))

    metric = "cosine"

    def create(self, name="doc", rows=ROWS):
        self.db.execute("CREATE TABLE %s(id INTEGER PRIMARY KEY, vec BLOB)" % name)
        self.insert(name, 0, rows)
        self.db.execute("CREATE VIRTUAL TABLE %s_vec USING glove_index(content=%s, rowid=id, vector=vec, metric=%s)" % (name, name, self.metric))

    def insert(self, name, first, rows):
        for key in range(first, first + rows):
            self.db.execute("INSERT OR REPLACE INTO %s VALUES (?, ?)" % name, (key, fixture.vector(self.source, DIMS)))

    def expect_right(self, backend, name="doc"):
        """Expects the rows of a full scan from this backend."""
        score, shown = {"cosine": ("cos_sim(vec, ?)", "similarity"), "dot": ("dot_product(vec, ?)", "similarity"),
                        "l2": ("-l2_distance(vec, ?)", "-distance")}[self.metric]
        for k in (1, 10):
            query = fixture.vector(self.source, DIMS)
            expected = self.db.execute("SELECT id, s FROM (SELECT id, %s AS s FROM %s) WHERE s NOT NULL ORDER BY s DESC, id LIMIT ?" % (score, name),
                                       (query, k)).fetchall()
            actual = self.db.execute("SELECT id, %s FROM %s_vec WHERE query = ? AND k = ? ORDER BY rank" % (shown, name), (query, k)).fetchall()
            self.assertEqual(actual, expected)
            self.assertEqual(self.db.execute("SELECT backend FROM glove_stats LIMIT 1").fetchall(), [(backend,)])

    def index(self, name="doc"):
        return self.db.execute("SELECT backend, state FROM glove_indexes WHERE name = ?", (name + "_vec",)).fetchone()

    def limit(self, size):
        self.db.execute("SELECT glove_config('gpu_memory', ?)", (size,)).fetchall()

    def test_the_device_serves_through_all_changes(self):
        self.create()
        self.expect_right("cuda")
        self.assertEqual(self.index(), ("cuda", "current"))
        self.insert("doc", ROWS - 5, 30)  # some new, some changed
        self.expect_right("cuda")
        self.db.execute("BEGIN")
        self.db.execute("DELETE FROM doc WHERE id % 3 = 0")
        fixture.command(self.db, "sync")
        self.expect_right("cuda")
        self.db.execute("ROLLBACK")
        self.expect_right("cuda")
        for _ in range(3):
            self.insert("doc", self.source.randrange(ROWS), 40)
            fixture.command(self.db, "sync")
            self.expect_right("cuda")
        self.db.execute("DELETE FROM doc WHERE id % 5 = 0")
        self.expect_right("cuda")
        fixture.command(self.db, "merge")
        self.expect_right("cuda")
        batch = self.db.execute("SELECT count(*) FROM doc_vec WHERE query IN (SELECT vec FROM doc WHERE id < 20) AND k = 3").fetchall()
        bound = "max_distance = 2" if self.metric == "l2" else "min_similarity = 0.7"
        for task in (bound, "k = 2", "pairs = 50"):
            with self.subTest(task):
                pairs = "SELECT a, b, rank, similarity, distance FROM glove_pairs WHERE target = 'doc_vec' AND %s AND backend = ?" % task
                cuda, cpu = (self.db.execute(pairs, (backend,)).fetchall() for backend in ("cuda", "cpu"))
                self.assertEqual(cuda, cpu)
                self.assertTrue(cuda)
        self.assertEqual(batch, [(3 * len(self.db.execute("SELECT 1 FROM doc WHERE id < 20").fetchall()),)])

    def test_the_device_serves_other_metrics(self):
        for self.metric in ("dot", "l2"):
            self.db.close()
            self.db = fixture.connect(":memory:", EXTENSION)
            self.test_the_device_serves_through_all_changes()

    def test_the_cpu_serves_an_index_of_bits(self):
        self.metric = "hamming"
        self.create()
        query = fixture.vector(self.source, DIMS)
        asked = "SELECT id, distance FROM doc_vec WHERE query = ? AND k = 30"
        found = self.db.execute(asked, (query,)).fetchall()
        number = int.from_bytes(query, "big")
        expected = [(key, float(bin(int.from_bytes(vec, "big") ^ number).count("1"))) for key, vec in self.db.execute("SELECT id, vec FROM doc ORDER BY id")]
        self.assertEqual(found, sorted(expected, key=lambda row: row[1])[:30])
        self.assertEqual(self.index(), ("cpu", "current"))
        with self.assertRaisesRegex(Exception, "an index of bits, or one whose codes are not all in memory, is searched by the CPU; use the backend 'auto' or 'cpu' instead of 'cuda'"):
            self.db.execute(asked + " AND backend = 'cuda'", (query,)).fetchall()

    def test_the_cpu_serves_an_index_whose_codes_are_not_in_memory(self):
        self.addCleanup(lambda: self.db.execute("SELECT glove_config('index_memory', 0)").fetchall())
        self.db.execute("SELECT glove_config('index_memory', 1)").fetchall()
        self.create()
        self.expect_right("cpu")
        with self.assertRaisesRegex(Exception, "or one whose codes are not all in memory, is searched by the CPU"):
            self.db.execute("SELECT id FROM doc_vec WHERE query = ? AND k = 1 AND backend = 'cuda'", (fixture.vector(self.source, DIMS),)).fetchall()

    def test_the_device_serves_models_by_metric(self):
        self.create()
        query = fixture.vector(self.source, DIMS)
        for metric in ("dot", "l2"):
            self.db.execute("SELECT glove_load_table(?1, 'SELECT id, vec FROM doc', json_object('metric', ?1))", (metric,))
            asked = "SELECT neighbor, distance FROM glove_nn WHERE expr = ? AND model = ? AND k = ? AND backend = ?"
            for k in (1, 10, 1000):
                found = self.db.execute(asked, (query, metric, k, "cuda")).fetchall()
                self.assertEqual(self.db.execute("SELECT backend FROM glove_stats LIMIT 1").fetchall(), [("cuda",)])
                self.assertEqual(found, self.db.execute(asked, (query, metric, k, "cpu")).fetchall())

    def test_a_row_far_away_leaves_few_candidates(self):
        for self.metric in ("dot", "l2"):
            self.db.close()
            self.db = fixture.connect(":memory:", EXTENSION)
            self.create()
            self.db.execute("INSERT INTO doc VALUES (?, ?)", (ROWS, array.array("f", [1e6] * DIMS).tobytes()))
            fixture.command(self.db, "sync")
            self.expect_right("cuda")
            self.assertLess(self.db.execute("SELECT candidates FROM glove_stats LIMIT 1").fetchone()[0], 50)

    def test_a_query_opposite_to_all_rows_finds_few_candidates(self):
        self.metric = "l2"
        self.create()  # their mean stays when they are gone
        for key in range(ROWS, 3 * ROWS):
            self.db.execute("INSERT INTO doc VALUES (?, ?)", (key, array.array("f", [self.source.gauss(10, 1) for _ in range(DIMS)]).tobytes()))
        self.db.execute("DELETE FROM doc WHERE id < ?", (ROWS,))
        fixture.command(self.db, "sync")
        self.db.execute("SELECT id FROM doc_vec WHERE query = ? AND k = 5 AND backend = 'cuda'", (array.array("f", [-4] * DIMS).tobytes(),)).fetchall()
        self.assertLess(self.db.execute("SELECT candidates FROM glove_stats LIMIT 1").fetchone()[0], 50)

    def test_connections_share_the_memory_of_the_device(self):
        path = os.path.join(os.environ.get("TMPDIR", "/tmp"), "glove-device-%d.db" % os.getpid())
        self.addCleanup(os.remove, path)
        self.db = fixture.connect(path, EXTENSION)
        self.create()
        self.expect_right("cuda")
        self.limit("1")  # nothing more fits
        other = fixture.connect(path, EXTENSION)
        query = fixture.vector(self.source, DIMS)
        sql = "SELECT id, similarity FROM doc_vec WHERE query = ? AND k = 10 AND backend = 'cuda'"
        self.assertEqual(other.execute(sql, (query,)).fetchall(), self.db.execute(sql, (query,)).fetchall())
        self.insert("doc", ROWS, 10)
        self.db.commit()
        fixture.command(self.db, "sync")
        self.expect_right("cuda")
        self.assertEqual(other.execute(sql, (query,)).fetchall(), self.db.execute(sql, (query,)).fetchall())
        other.close()
        self.db.close()
        self.db = fixture.connect(":memory:", EXTENSION)

    def test_the_cpu_serves_while_the_device_is_full(self):
        self.limit("1000")
        self.create()
        self.expect_right("cpu")
        backend, state = self.index()
        self.assertEqual(backend, "cpu")
        self.assertRegex(state, "^current; cuda: a live index needs at least 1 MB of device memory, and 1 MB of fake device are there for it$")
        self.db.execute("BEGIN")
        self.insert("doc", ROWS, 1)
        with self.assertRaisesRegex(sqlite3.OperationalError, "backend 'cuda': a live index needs at least 1 MB of device memory"):
            self.db.execute("SELECT id FROM doc_vec WHERE query = ? AND k = 3 AND backend = 'cuda'", (fixture.vector(self.source, DIMS),)).fetchall()
        self.db.execute("COMMIT")  # which the error has not rolled back
        self.assertEqual(self.db.execute("SELECT count(*) FROM doc WHERE id = ?", (ROWS,)).fetchone(), (1,))
        self.limit("0")
        self.expect_right("cuda")
        self.assertEqual(self.index(), ("cuda", "changed"))

    def test_dropping_an_index_frees_the_memory(self):
        self.limit("16000")  # for one index, without room for more
        self.create()
        self.expect_right("cuda")
        self.create("other")
        self.expect_right("cpu", "other")
        self.db.execute("DROP TABLE doc_vec")
        self.limit("16001")  # failures are forgotten when a setting changes
        self.expect_right("cuda", "other")

    def test_the_cpu_serves_after_the_device_is_lost(self):
        script = """
import sys
sys.path.insert(0, sys.argv[1])
import device_test
device_test.EXTENSION = sys.argv[2]
test = device_test.DeviceTest()
test.setUp()
test.create()
test.expect_right("cuda")
test.expect_right("cuda")
test.expect_right("cpu")
backend, state = test.index()
test.assertEqual((backend, state), ("cpu", "current; cuda: fake: lost"))
"""
        run = subprocess.run([sys.executable, "-c", script, os.path.dirname(os.path.abspath(__file__)), EXTENSION], capture_output=True, text=True,
                             env=dict(os.environ, GLOVE_FAKE_DEVICE_SEARCHES="4"))
        self.assertEqual(run.returncode, 0, run.stderr)


if __name__ == "__main__":
    EXTENSION = sys.argv.pop(1)
    fixture.skip_without_index(EXTENSION)
    unittest.main()
