"""Models by inner product and by Euclidean distance: model_metric_test.py GLOVE_CONVERT GLOVE_SO

Answers of models in memory, in files and in shards are compared with sums in the order that docs/exactness.md specifies, with a
brute-force query over the table of the rows, and with an index over it.
"""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
import unittest

CONVERT = sys.argv.pop(1)

import metric_test  # noqa: E402
from live_index_test import SeededTest, blob  # noqa: E402
from metric_test import SHOWN, lanes  # noqa: E402

METRICS = ("dot", "l2")


def numbers(vector):
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def shown(metric, a, b):
    """The column `distance`, in plain Python."""
    if metric == "dot":
        return -lanes([x * y for x, y in zip(a, b)])
    return math.sqrt(lanes([(x - y) * (x - y) for x, y in zip(a, b)]))


class ModelMetricTest(SeededTest):
    vectors_of = metric_test.MetricTest.rows

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, embedding)")

    def path(self, name):
        return os.path.join(self.folder, name)

    def fill(self, vectors, count):
        self.db.execute("DELETE FROM doc")
        self.db.executemany("INSERT INTO doc VALUES (?, ?)", ((3 * i, blob(*next(vectors))) for i in range(count)))

    def load(self, metric, name=None):
        self.db.execute("SELECT glove_load_table(?, 'SELECT id, embedding FROM doc', json_object('metric', ?))", (name or metric, metric))

    def convert(self, *arguments, fails=False):
        done = subprocess.run([CONVERT, "-q", *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode != 0, fails, done.stderr)
        return done.stdout + done.stderr

    def words_file(self, count, dims):
        """A text file of `count` words of which two are zero and two are alike."""
        rows = self.vectors_of("near", dims)
        vectors = [[round(x, 3) for x in next(rows)] for _ in range(count)]
        vectors[3] = vectors[4] = [0.0] * dims
        vectors[8] = vectors[7]
        path = self.path("words.txt")
        with open(path, "w") as file:
            file.writelines(f"w{i} {' '.join(map(str, vector))}\n" for i, vector in enumerate(vectors))
        return path, [numbers(blob(*vector)) for vector in vectors]

    def answer(self, model, query, k, columns="neighbor, distance"):
        return self.rows(f"SELECT {columns} FROM glove_nn WHERE expr = ? AND k = ? AND model = ?", query, k, model)

    def expected(self, metric, query, k=-1):
        return self.rows(f"SELECT id, {SHOWN[metric]} AS d FROM doc ORDER BY d, id LIMIT ?2", query, k)

    def test_answers_are_those_of_the_definition_and_of_an_index(self):
        for metric in METRICS:
            for kind in ("near", "far", "factors", "integers", "wild"):
                with self.subTest(metric=metric, kind=kind):
                    dims = self.random.choice((1, 3, 4, 17, 48))
                    vectors = self.vectors_of(kind, dims)
                    # Of five wild vectors, most may look like float16.
                    self.fill(vectors, 1500 if kind == "wild" else self.random.choice((5, 1500)))
                    self.load(metric)
                    self.db.executescript("DROP TABLE IF EXISTS v")
                    self.db.execute(f"CREATE VIRTUAL TABLE v USING glove_index(content='doc', rowid='id', vector='embedding', metric='{metric}')")
                    for query in (blob(*next(vectors)), blob(*[0.0] * dims), self.rows("SELECT embedding FROM doc WHERE id = 6")[0][0]):
                        wanted = numbers(query)
                        brute = sorted((shown(metric, wanted, numbers(vector)), id) for id, vector in self.rows("SELECT id, embedding FROM doc"))
                        for k in (1, 10, 100, 5000):
                            found = self.answer(metric, query, k)
                            self.assertEqual(found, [(id, d) for d, id in brute[:k]])
                            self.assertEqual(found, self.rows("SELECT id, distance FROM v WHERE query = ? AND k = ?", query, k))

    def test_files_and_shards_answer_as_the_model_in_memory(self):
        text, vectors = self.words_file(500, 12)
        for metric in METRICS:
            with self.subTest(metric=metric):
                one, shards, again = (self.path(f"{name}-{metric}.safetensors") for name in ("one", "shards", "again"))
                self.convert(text, one, "--metric", metric, "--verify")
                self.convert(text, shards, "--metric", metric, "--shards", "3", "--verify")
                self.assertIn(f"metric      {metric}\n", self.convert("--info", one))
                with open(one, "rb") as file:
                    header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
                self.assertEqual(header["__metadata__"]["glove.version"], "3.0")
                self.assertEqual(header["__metadata__"]["glove.metric"], metric)
                self.assertLessEqual({"codes", "scales", "residuals", "along", "lengths", "shift_mean", "shift_direction"}, header.keys())
                self.assertNotIn("codes4", header)
                self.convert(one, again, "--top", "400")  # keeps the metric
                self.rows("SELECT glove_load(?, 'one')", one)
                self.rows("SELECT glove_load(?, 'again', '{\"verify\":true}')", again)
                self.rows("SELECT glove_load(?, 'shards')", shards + ".index.json")
                self.rows("SELECT glove_save('shards', ?), glove_load(?, 'saved', '{\"verify\":true}')", self.path("saved"), self.path("saved"))
                self.assertEqual({metric}, {one for one, in self.rows("SELECT metric FROM glove_models WHERE name IN ('one', 'again', 'shards', 'saved')")})
                for id in (0, 3, 7, 400):
                    brute = sorted((shown(metric, vectors[id], vector), i) for i, vector in enumerate(vectors) if i != id)
                    for k in (5, 499):
                        for model in ("one", "shards", "saved"):
                            found = self.rows("SELECT neighbor, distance FROM glove_nn WHERE word = ? AND k = ? AND model = ?", f"w{id}", k, model)
                            self.assertEqual(found, [(f"w{i}", d) for d, i in brute[:k]], (model, id, k))
                    found = self.rows("SELECT neighbor FROM glove_nn WHERE expr = ? AND model = 'again'", blob(*vectors[id]))
                    self.assertEqual(found, [(f"w{i}",) for d, i in sorted((shown(metric, vectors[id], v), i) for i, v in enumerate(vectors[:400]))])

    def test_shards_of_two_conversions_do_not_fit(self):
        text, _ = self.words_file(200, 4)
        for metric in METRICS:
            self.convert(text, self.path(metric), "--metric", metric, "--shards", "2")
        shard = self.path("l2-00002-of-00002.safetensors")
        os.replace(self.path("dot-00002-of-00002.safetensors"), shard)
        self.expect_error("this shard has other dimensions, keys or tokens, or another metric or type, than the first one",
                          "SELECT glove_load(?)", self.path("l2.safetensors.index.json"))

    def test_files_of_other_versions(self):
        text, _ = self.words_file(50, 4)
        path = self.path("m.safetensors")
        self.convert(text, path)  # as older builds write it
        self.rows("SELECT glove_load(?, 'm')", path)
        self.assertEqual(self.rows("SELECT metric FROM glove_models WHERE name = 'm'"), [("cosine",)])
        self.convert(path, self.path("l2"), "--metric", "l2")
        self.convert(self.path("l2"), self.path("cosine"), "--metric", "cosine", "--verify")
        self.rows("SELECT glove_load(?, 'back')", self.path("cosine"))
        self.assertEqual(self.rows("SELECT metric FROM glove_models WHERE name = 'back'"), [("cosine",)])
        subprocess.run(["gzip", self.path("l2")], check=True)
        self.expect_error("l2.gz: a compressed model file that is compared by 'l2' cannot be opened; decompress it first",
                          "SELECT glove_load(?)", self.path("l2.gz"))

    def test_words_and_expressions(self):
        text, vectors = self.words_file(300, 8)
        for metric in METRICS:
            self.convert(text, self.path(metric), "--metric", metric)
            self.rows("SELECT glove_load(?, ?)", self.path(metric), metric)
            # A word is its vector as it is, and an expression the sum of unit vectors that glove_vec returns.
            for expr, left_out in (("w5", [5]), ("w5 - w6 + 2 * w9", [5, 6, 9]), ("w5 - w5", [5])):
                found = self.rows("SELECT neighbor, distance FROM glove_nn WHERE expr = ? AND k = 7 AND model = ?", expr, metric)
                vector = self.rows("SELECT glove_vec(?, ?)", expr, metric)[0][0] or blob(*[0.0] * 8)
                same = self.answer(metric, vector, 7 + len(left_out))
                self.assertEqual(found, [row for row in same if row[0] not in {f"w{i}" for i in left_out}][:7])
            self.assertEqual(self.rows("SELECT glove_vec('w5 - w5', ?)", metric), [(None,)])
            found = self.rows("SELECT neighbor, distance FROM glove_nn WHERE word = 'w3' AND k = 2 AND model = ?", metric)
            brute = sorted((shown(metric, vectors[3], vector), i) for i, vector in enumerate(vectors) if i != 3)
            self.assertEqual(found, [(f"w{i}", d) for d, i in brute[:2]])
            self.assertEqual(self.rows("SELECT count(*) FROM glove_nn WHERE word = 'nosuchword' AND model = ?", metric), [(0,)])

    def test_conditions_batches_and_ranks(self):
        self.fill(self.vectors_of("near", 8), 400)
        for metric in METRICS:
            self.load(metric)
            query, other = (blob(*next(self.vectors_of("factors", 8))) for _ in range(2))  # which are not zero
            rows = [(id, d, rank) for rank, (id, d) in enumerate(self.expected(metric, query), 1)]
            limit = rows[130][1]
            ask = f"SELECT neighbor, distance, rank FROM glove_nn WHERE model = '{metric}' AND expr = ?1 AND "
            for condition, keeps in (("distance <= ?2", lambda r: r[1] <= limit), ("distance < ?2", lambda r: r[1] < limit),
                                     ("distance > ?2", lambda r: r[1] > limit), ("distance BETWEEN ?2 AND ?2 + 1", lambda r: limit <= r[1] <= limit + 1),
                                     ("rank BETWEEN 100 AND 120 AND ?2 IS NOT NULL", lambda r: 100 <= r[2] <= 120),
                                     ("neighbor = 21 AND ?2 IS NOT NULL", lambda r: r[0] == 21),
                                     ("neighbor IN (9, 300, 1, 1200) AND ?2 IS NOT NULL", lambda r: r[0] in (9, 300)),
                                     ("neighbor % 2 AND ?2 IS NOT NULL", lambda r: r[0] % 2),
                                     ("k = 3 AND +neighbor >= ?2 * 0", lambda r: r[2] <= 3)):
                for order in ("", " ORDER BY distance", " ORDER BY rank DESC"):
                    found = self.rows(ask + condition + order, query, limit)
                    self.assertEqual(found, [r for r in rows if keeps(r)][::-1 if "DESC" in order else 1], condition + order)
            plan = self.rows("EXPLAIN QUERY PLAN " + ask + "1 ORDER BY distance LIMIT 3", query)
            self.assertNotIn("TEMP B-TREE", str(plan))
            self.assertEqual(self.rows(ask + "1 ORDER BY distance LIMIT 3 OFFSET 5", query), rows[5:8])
            for _ in range(4):  # ranks that are kept
                self.assertEqual(self.rows(ask + "neighbor = 600", query), [r for r in rows if r[0] == 600])
            both = self.rows(f"SELECT expr, neighbor, distance FROM glove_nn WHERE model = '{metric}' AND expr IN (?, ?) AND k = 6", query, other)
            self.assertEqual(sorted(both), sorted((q, *row) for q in (query, other) for row in self.answer(metric, q, 6)))
            words = self.rows(f"SELECT word, neighbor, distance FROM glove_nn WHERE model = '{metric}' AND word IN (SELECT id FROM doc) AND k = 2")
            for id in (0, 300):
                vector = self.rows("SELECT embedding FROM doc WHERE id = ?", id)[0][0]
                self.assertEqual([row[1:] for row in words if row[0] == str(id)], [r for r in self.expected(metric, vector) if r[0] != id][:2])
            for share in (2, 7, 60):
                among = f"SELECT glove_keys(id) FROM doc WHERE id % {share} = 0"
                found = self.rows(f"SELECT neighbor, distance FROM glove_nn WHERE model = '{metric}' AND expr = ? AND k = 9 AND among = ({among})", query)
                self.assertEqual(found, [(id, d) for id, d, _ in rows if id % share == 0][:9])
        similar = self.answer("dot", query, 3, "similarity, distance")
        self.assertEqual([s for s, _ in similar], [-d for _, d in similar])
        least = similar[1][0]
        self.assertEqual(self.rows("SELECT count(*) FROM glove_nn WHERE expr = ? AND model = 'dot' AND similarity >= ?", query, least), [(2,)])
        self.assertEqual(self.rows("SELECT similarity FROM glove_nn WHERE expr = ? AND model = 'dot' ORDER BY similarity DESC LIMIT 2", query),
                         [(s,) for s, _ in similar[:2]])

    def test_a_shift_of_integers_and_zero_padding_change_nothing(self):
        whole = [[float(self.random.randrange(-50, 50)) for _ in range(12)] for _ in range(1200)]
        answers = []
        for shift, padding, metric in ((0.0, 0, "l2"), (2.0 ** 20, 0, "l2"), (0.0, 5, "l2"), (0.0, 0, "dot"), (0.0, 5, "dot")):
            rows = [[x + shift for x in row] + [0.0] * padding for row in whole]
            self.fill(iter(rows), len(rows))
            self.load(metric)
            answers.append([self.answer(metric, blob(*rows[5]), k) for k in (1, 30, 1200)])
        self.assertEqual(answers[0][0], [(15, 0.0)])
        self.assertEqual(answers[1], answers[0])
        self.assertEqual(answers[2], answers[0])
        self.assertEqual(answers[4], answers[3])

    def test_joins(self):
        self.fill(self.vectors_of("near", 5), 120)
        vectors = {id: numbers(vector) for id, vector in self.rows("SELECT id, embedding FROM doc")}
        for metric in METRICS:
            self.load(metric)
            pairs = sorted((shown(metric, vectors[a], vectors[b]), a, b) for a in vectors for b in vectors if a < b)
            self.assertEqual(self.rows(f"SELECT distance, a, b FROM glove_pairs WHERE target = '{metric}' AND pairs = 40"), pairs[:40])
            limit = pairs[200][0]
            bound = f"max_distance = {limit!r}" if metric == "l2" else f"min_similarity = {-limit!r}"
            near = [pair for pair in pairs if pair[0] <= limit]
            self.assertEqual(sorted(self.rows(f"SELECT distance, a, b FROM glove_pairs WHERE target = '{metric}' AND {bound}")), near)
            nearest = self.rows(f"SELECT a, b, distance FROM glove_pairs WHERE target = '{metric}' AND k = 2 AND a = 30 ORDER BY rank")
            self.assertEqual(nearest, [(30, id, d) for id, d in self.expected(metric, blob(*vectors[30])) if id != 30][:2])
            sizes = self.rows(f"SELECT count(*), count(DISTINCT group_id) FROM glove_groups WHERE target = '{metric}' AND {bound}")
            self.assertEqual(sizes[0][0], len(vectors))
            chosen = self.rows(f"SELECT key, distance FROM glove_mmr('{metric}', ?, 3, 1.0)", blob(*vectors[0]))
            self.assertEqual(chosen, self.expected(metric, blob(*vectors[0]), 3))

    def test_the_toolbox_keeps_its_meaning(self):
        self.fill(self.vectors_of("factors", 6), 300)
        self.load("l2")
        self.load("cosine")
        for question in ("SELECT word, cluster, similarity FROM glove_kmeans(5, NULL, '{0}')", "SELECT cluster, size FROM glove_clusters(5, 100, '{0}')",
                         "SELECT component, variance FROM glove_pca(3, NULL, '{0}')", "SELECT word, x, y FROM glove_map(60, '{0}')",
                         "SELECT cos_sim(3, 6, '{0}'), dot_product(3, 6, '{0}'), l2_distance(3, 6, '{0}')"):
            self.assertEqual(self.rows(question.format("l2")), self.rows(question.format("cosine")), question)
        self.rows("SELECT glove_derive('small', '{\"dims\":2}', 'l2')")
        self.assertEqual(self.rows("SELECT metric FROM glove_models WHERE name = 'small'"), [("l2",)])
        query = self.rows("SELECT vector FROM glove_words('small') WHERE id = 5")[0][0]
        self.assertEqual(self.answer("small", query, 1), [(15, 0.0)])
        measured = self.rows("SELECT json_extract(glove_recall('l2', embedding, 2, 0.9), '$.mean') FROM doc WHERE id < 30")
        self.assertEqual(measured, [(1.0,)])
        self.assertTrue(self.rows("SELECT glove_expand(3, 2, NULL, 'l2')")[0][0].startswith('"3" OR '))

    def test_what_is_refused(self):
        self.fill(self.vectors_of("near", 4), 30)
        self.load("l2", "images")
        none = "'images' is compared by 'l2', which has no similarity; "
        query = blob(1, 2, 3, 4)
        for select, rest in (("similarity", ""), ("neighbor", " AND similarity > 0.5"), ("neighbor", " AND similarity = 'a'"),
                             ("neighbor", " ORDER BY similarity DESC LIMIT 1"), ("neighbor", " AND similarity > 1e300"), ("max(similarity)", "")):
            self.expect_error("glove_nn: " + none + "read and compare distance instead",
                              f"SELECT {select} FROM glove_nn WHERE expr = ? AND model = 'images'{rest}", query)
        self.expect_error("glove_pairs: " + none + "give max_distance instead of min_similarity",
                          "SELECT a FROM glove_pairs WHERE target = 'images' AND min_similarity = 0.5")
        self.expect_error("glove_expand: " + none + "leave min_similarity out", "SELECT glove_expand(3, 2, 0.5, 'images')")
        self.expect_error('option "metric" is "hamming", but must be cosine, dot or l2',
                          "SELECT glove_load_table('x', 'SELECT id, embedding FROM doc', '{\"metric\":\"hamming\"}')")
        text, _ = self.words_file(40, 4)
        for lists in ("auto", "5"):
            self.assertIn("lists are of rows that are compared by 'cosine', not by 'dot'; leave lists out",
                          self.convert(text, self.path("x"), "--metric", "dot", "--lists", lists, fails=True))
        self.assertIn("--metric: hamming not in", self.convert(text, self.path("x"), "--metric", "hamming", fails=True))
        self.assertFalse(os.path.exists(self.path("x")))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[1:])
