"""Indexes by inner product and by Euclidean distance: metric_test.py GLOVE_SO

Each answer is compared with a brute-force query over the table itself (dot_product, l2_distance), and these with sums in the order that
docs/exactness.md specifies.
"""
import math
import os
import struct
import sys
import unittest

from live_index_test import SeededTest, blob


def lanes(terms):
    """D of docs/format.md over these products."""
    sums = [0.0] * 8
    for j, term in enumerate(terms):
        sums[j % 8] += term
    a, b, c, d, e, f, g, h = sums
    return ((a + e) + (c + g)) + ((b + f) + (d + h))


SCORES = {"dot": "dot_product(embedding, ?1)", "l2": "-l2_distance(embedding, ?1)"}
SHOWN = {"dot": "-dot_product(embedding, ?1)", "l2": "l2_distance(embedding, ?1)"}


class MetricTest(SeededTest):
    def rows(self, kind, dims):
        """An endless iterator of vectors."""
        mean = [self.random.gauss(0, 30) for _ in range(dims)]
        while True:
            gauss = [self.random.gauss(0, 1) for _ in range(dims)]
            if kind == "far":
                yield [m + g for m, g in zip(mean, gauss)]
            elif kind == "factors":
                length = math.exp(self.random.gauss(0, 1.2))
                yield [length * g for g in gauss]
            elif kind == "integers":
                yield [float(self.random.randrange(4)) for _ in range(dims)]
            elif kind == "wild":
                yield [g * 10 ** self.random.uniform(-30, 30) for g in gauss]
            else:
                yield [0.0] * dims if self.random.random() < 0.05 else gauss

    def create(self, metric, name="v", extra=""):
        self.db.execute(f"CREATE VIRTUAL TABLE {name} USING glove_index(content='doc', rowid='id', vector='embedding', "
                        f"metric='{metric}'{extra})")

    def compare(self, metric, query, k, name="v"):
        expected = self.db.execute(f"SELECT id, {SHOWN[metric]} FROM doc WHERE embedding IS NOT NULL ORDER BY {SCORES[metric]} DESC, id "
                                   "LIMIT ?2", (query, k)).fetchall()
        found = self.db.execute(f"SELECT id, distance FROM {name} WHERE query = ? AND k = ?", (query, k)).fetchall()
        self.assertEqual(found, expected)

    def fill(self, rows, count, first=0):
        self.db.executemany("INSERT INTO doc VALUES (?, ?)", ((first + i, blob(*next(rows))) for i in range(count)))

    def test_answers_are_those_of_the_table_in_every_state(self):
        for metric in ("dot", "l2"):
            for kind in ("near", "far", "factors", "integers", "wild"):
                with self.subTest(metric=metric, kind=kind):
                    dims = self.random.choice((1, 3, 4, 17, 48))
                    rows = self.rows(kind, dims)
                    self.db.executescript("DROP TABLE IF EXISTS v; DROP TABLE IF EXISTS doc;"
                                          "CREATE TABLE doc(id INTEGER PRIMARY KEY, embedding)")
                    self.fill(rows, self.random.choice((5, 1500)))
                    self.create(metric, extra=f", dims={dims}")
                    steps = ["log", "sync", "log", "change", "sync", "merge", "big log", "rebuild"]
                    for number, step in enumerate(steps):
                        if step.endswith("log"):
                            self.fill(rows, 600 if step == "big log" else 40, 10000 * (number + 1))
                        elif step == "change":
                            for id, in self.db.execute("SELECT id FROM doc ORDER BY random() LIMIT 20").fetchall():
                                self.db.execute("UPDATE doc SET embedding = ? WHERE id = ?", (blob(*next(rows)), id))
                            self.db.execute("DELETE FROM doc WHERE id % 7 = 3")
                        else:
                            self.db.execute("INSERT INTO v(v) VALUES (?)", (step,))
                        queries = [blob(*next(rows)), blob(*[0.0] * dims),
                                   self.db.execute("SELECT embedding FROM doc LIMIT 1 OFFSET 2").fetchone()[0]]
                        for query in queries:
                            for k in (1, 10, 100):
                                self.compare(metric, query, k)
                    self.assertEqual(self.db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])

    def test_batches_and_filters_are_those_of_single_queries(self):
        rows = self.rows("far", 20)
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, embedding)")
        self.fill(rows, 3000)
        for metric in ("dot", "l2"):
            self.create(metric, metric)
            queries = [blob(*next(rows)) for _ in range(20)]
            marks = ", ".join("?" * len(queries))
            batch = self.db.execute(f"SELECT query, id, distance FROM {metric} WHERE query IN ({marks}) AND k = 5", queries).fetchall()
            single = [(query, *row) for query in queries for row in
                      self.db.execute(f"SELECT id, distance FROM {metric} WHERE query = ? AND k = 5", (query,))]
            self.assertEqual(sorted(batch), sorted(single))
            among = "SELECT glove_keys(id) FROM doc WHERE id % 3 = 0"
            found = self.db.execute(f"SELECT id FROM {metric} WHERE query = ? AND k = 9 AND among = ({among})", (queries[0],)).fetchall()
            expected = self.db.execute(f"SELECT id FROM doc WHERE id % 3 = 0 ORDER BY {SCORES[metric]} DESC, id LIMIT 9", (queries[0],))
            self.assertEqual(found, expected.fetchall())

    def test_inner_products_begin_with_the_longest_rows(self):
        dims = self.random.choice((3, 5, 9))
        rows = self.rows("factors", dims)
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, embedding)")
        self.fill(rows, 20000)
        self.create("dot", extra=f", dims={dims}")
        long = "(SELECT id FROM doc ORDER BY dot_product(embedding, embedding) DESC LIMIT 30)"
        for change in ("", f"DELETE FROM doc WHERE id IN {long} AND id % 2", f"UPDATE doc SET embedding = zeroblob({4 * dims}) WHERE id IN {long}",
                       "INSERT INTO v(v) VALUES ('merge')"):
            self.db.execute(change)
            plans = set()
            for number in range(12):
                query = next(rows) if number > 1 else [0.0] * dims
                for k in (1, 10, 300):
                    self.compare("dot", blob(*query), k)
                    plans.add(self.db.execute("SELECT plan FROM glove_stats LIMIT 1").fetchone()[0])
            # Without codes in memory, rows are read in their own order.
            self.assertEqual(plans, {"8 bits"} if "GLOVE_INDEX_MEMORY" in os.environ else {"8 bits", "8 bits by length"}, change)
        queries = [blob(*next(rows)) for _ in range(40)] + [blob(*[0.0] * dims)]
        found = self.db.execute(f"SELECT query, id FROM v WHERE query IN ({', '.join('?' * 41)}) AND k = 20", queries).fetchall()
        loaded = """SELECT glove_load_table('m', 'SELECT id, embedding FROM doc', '{"metric":"dot"}')"""
        self.db.execute(loaded).fetchall()
        plans = set()
        for query in queries:
            self.assertEqual([id for one, id in found if one == query],
                             [id for id, in self.db.execute("SELECT id FROM v WHERE query = ? AND k = 20", (query,))])
            expected = self.db.execute(f"SELECT CAST(id AS TEXT), {SHOWN['dot']} FROM doc ORDER BY {SCORES['dot']} DESC, id LIMIT 7", (query,))
            rest = self.db.execute("SELECT neighbor, distance FROM glove_nn WHERE expr = ? AND k = 7 AND model = 'm'", (query,)).fetchall()
            self.assertEqual([distance for _, distance in rest], [distance for _, distance in expected.fetchall()])
            plans.add(self.db.execute("SELECT plan FROM glove_stats LIMIT 1").fetchone()[0])
        self.assertIn("8 bits by length -> vectors", plans)

    @unittest.skipIf("GLOVE_INDEX_MEMORY" in os.environ, "no rows are copied")
    def test_a_copy_of_the_longest_rows_that_does_not_pay_goes(self):
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, embedding)")
        gauss = self.random.gauss
        self.fill(iter(lambda: [f * gauss(0, 1) for f in [math.exp(gauss(0, 0.5))] for _ in range(32)], None), 17000)
        self.create("dot")
        scanned = []
        for _ in range(70):
            self.compare("dot", blob(*(gauss(0, 1) for _ in range(32))), 100)
            scanned += self.db.execute("SELECT rows_scanned FROM glove_stats LIMIT 1").fetchone()
        self.assertEqual(scanned[0], 17000)
        self.assertGreater(max(scanned), 20000)  # with the copy
        self.assertEqual(scanned[-1], 17000)

    @unittest.skipIf("GLOVE_INDEX_MEMORY" in os.environ, "codes that are not in memory bound no row again")
    def test_a_batch_by_l2_leaves_few_rows(self):
        gauss = self.random.gauss
        means = [[gauss(0, 3) for _ in range(64)] for _ in range(20)]
        rows = iter(lambda: [m + gauss(0, 1) for m in self.random.choice(means)], None)
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, embedding)")
        self.fill(rows, 3000)
        self.create("l2")
        candidates = "SELECT candidates FROM glove_stats LIMIT 1"
        queries, single = [blob(*next(rows)) for _ in range(64)], 0
        for query in queries:
            self.db.execute("SELECT id FROM v WHERE query = ? AND k = 10", (query,)).fetchall()
            single += self.db.execute(candidates).fetchone()[0]
        self.db.execute(f"SELECT id FROM v WHERE query IN ({', '.join('?' * 64)}) AND k = 10", queries).fetchall()
        self.assertLess(self.db.execute(candidates).fetchone()[0], 1.2 * single)  # by codes of 8 bits alone about twice as many

    def test_conditions_and_orders(self):
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, embedding)")
        self.fill(self.rows("near", 8), 400)
        for metric in ("dot", "l2"):
            self.create(metric, metric)
            query = blob(*next(self.rows("near", 8)))
            shown = [d for d, in self.db.execute(f"SELECT {SHOWN[metric]} AS d FROM doc ORDER BY d", (query,))]
            limit = shown[len(shown) // 3]
            for condition, keeps in (("distance <= ?2", lambda d: d <= limit), ("distance < ?2", lambda d: d < limit),
                                     ("distance > ?2", lambda d: d > limit), ("distance BETWEEN ?2 AND ?2 + 1", lambda d: limit <= d <= limit + 1)):
                found = self.db.execute(f"SELECT distance FROM {metric} WHERE query = ?1 AND {condition} ORDER BY distance", (query, limit))
                self.assertEqual([d for d, in found], [d for d in shown if keeps(d)], condition)
            plan = self.db.execute(f"EXPLAIN QUERY PLAN SELECT id FROM {metric} WHERE query = ?1 ORDER BY distance LIMIT 3", (query,))
            self.assertNotIn("TEMP B-TREE", str(plan.fetchall()))
        similar = self.db.execute("SELECT similarity, distance FROM dot WHERE query = ? AND k = 1", (query,)).fetchone()
        self.assertEqual(similar[0], -similar[1])
        with self.assertRaisesRegex(Exception, "no such column: similarity"):
            self.db.execute("SELECT similarity FROM l2 WHERE query = ? AND k = 1", (query,))
        self.db.execute("CREATE VIRTUAL TABLE c USING glove_index(content='doc', rowid='id', vector='embedding')")
        for similarity, distance in self.db.execute("SELECT similarity, distance FROM c WHERE query = ? AND k = 5", (query,)):
            self.assertEqual(distance, 1 - similarity)
        self.assertEqual(self.db.execute("SELECT name, metric FROM glove_indexes ORDER BY name").fetchall(),
                         [("c", "cosine"), ("dot", "dot"), ("l2", "l2")])

    def test_functions_have_the_bits_that_are_specified(self):
        for dims in (1, 7, 8, 9, 100):
            a = struct.unpack(f"{dims}f", blob(*next(self.rows("far", dims))))
            b = struct.unpack(f"{dims}f", blob(*next(self.rows("far", dims))))
            squares = [(x - y) * (x - y) for x, y in zip(a, b)]
            distance, dot = self.db.execute("SELECT l2_distance(?1, ?2), dot_product(?1, ?2)", (blob(*a), blob(*b))).fetchone()
            self.assertEqual(distance, math.sqrt(lanes(squares)))
            self.assertEqual(dot, lanes([x * y for x, y in zip(a, b)]))
            self.assertEqual(self.db.execute("SELECT l2_distance(?1, ?1)", (blob(*a),)).fetchone(), (0.0,))
        zero, one = blob(0, 0), blob(3, 4)
        self.assertEqual(self.db.execute("SELECT dot_product(?1, ?2), l2_distance(?1, ?2), l2_distance(?1, NULL)", (zero, one)).fetchone(),
                         (0.0, 5.0, None))
        with self.assertRaisesRegex(Exception, "l2_distance: the arguments must have the same number of components, but have 2 and 1"):
            self.db.execute("SELECT l2_distance(?, ?)", (one, blob(1))).fetchall()

    def test_a_shift_of_integers_padding_and_order_change_no_distance(self):
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, embedding)")
        rows = [[float(self.random.randrange(-50, 50)) for _ in range(12)] for _ in range(1200)]
        answers = []
        for shift, padding, order in ((0.0, 0, 1), (2.0 ** 20, 0, 1), (0.0, 5, 1), (0.0, 0, -1)):
            self.db.executescript("DELETE FROM doc; DROP TABLE IF EXISTS v")
            made = [blob(*(x + shift for x in row), *[0.0] * padding) for row in rows]
            self.db.executemany("INSERT INTO doc VALUES (?, ?)", list(enumerate(made))[::order])
            self.create("l2")
            answers.append(self.db.execute("SELECT id, distance FROM v WHERE query = ? AND k = 30", (made[5],)).fetchall())
        for answer in answers:
            self.assertEqual(answer, answers[0])
        self.assertEqual(answers[0][0][1], 0.0)

    def test_scores_that_only_rounding_tells_apart(self):
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, embedding)")
        self.fill(iter([[float(i * 37 % 401), 0.0] for i in range(1, 401)]), 400)
        self.create("l2")
        self.compare("l2", blob(1e17, 1e17), 3)
        self.db.executescript("DROP TABLE v; DELETE FROM doc")
        self.fill(iter([[self.random.gauss(0, 1e-17) for _ in range(100)] for _ in range(500)]), 500)
        self.create("l2")
        for _ in range(10):
            self.compare("l2", blob(*(self.random.gauss(0, 0.1) for _ in range(100))), 3)
        self.db.executescript("DROP TABLE v; DELETE FROM doc")
        self.fill(iter([[i * 1e7, i * 37 % 101 * 1e7] for i in range(1, 401)]), 400)
        self.create("dot")
        for query in (blob(1e-38, 0), blob(-1e-35, 1e-36), blob(0, 1e-30)):
            self.compare("dot", query, 3)

    def test_recall_is_measured(self):
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, embedding)")
        self.fill(self.rows("near", 4), 10)
        for metric in ("dot", "l2"):
            self.create(metric, metric)
            measured = self.db.execute(f"SELECT json_extract(glove_recall('{metric}', embedding, 2, 0.9), '$.mean') FROM doc").fetchone()
            self.assertEqual(measured, (1.0,))

    def test_what_is_refused(self):
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, embedding)")
        self.fill(self.rows("near", 4), 10)
        for arguments, message in (("metric='angle'", "metric must be 'cosine', 'dot', 'l2' or 'hamming', but is 'angle'"),
                                   ("metric='l2', lists=4", "lists are of rows that are compared by 'cosine', not by 'l2'; leave lists out"),
                                   ("metrik='l2'", "there is no argument 'metrik'")):
            with self.assertRaisesRegex(Exception, message):
                self.db.execute(f"CREATE VIRTUAL TABLE v USING glove_index(content='doc', rowid='id', vector='embedding', {arguments})")

    def test_a_damaged_mean_is_an_error(self):
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, embedding)")
        self.fill(self.rows("far", 6), 50)
        self.create("l2")
        query = blob(*next(self.rows("far", 6)))
        mean, = self.db.execute("SELECT data FROM v_block WHERE segment = -3").fetchone()
        for data in (mean[:-4], b"\0" * len(mean), mean[4:8] + mean[4:]):
            self.db.execute("UPDATE v_block SET data = ? WHERE segment = -3", (data,))
            with self.assertRaisesRegex(Exception, "v is damaged"):
                self.db.execute("INSERT INTO v(v) VALUES ('integrity-check')")
        self.db.execute("DELETE FROM v_block WHERE segment = -3")
        self.fill(self.rows("far", 6), 5, 100)
        with self.assertRaisesRegex(Exception, "v is damaged: the mean of its rows is gone; run"):
            self.db.execute("INSERT INTO v(v) VALUES ('sync')")
        self.db.execute("INSERT INTO v(v) VALUES ('rebuild')")
        self.compare("l2", query, 10)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[1:])
