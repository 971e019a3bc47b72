"""glove_pairs and glove_groups compared with joins of whole tables: pairs_test.py GLOVE_SO

Similarities are compared bit for bit with those of cos_sim and its relatives; a larger join with NumPy, if this Python has it, and its
groups with SciPy's connected components.
"""
import os
import sqlite3
import tempfile
import unittest

try:
    import numpy
except ImportError:
    numpy = None
try:
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components
except ImportError:
    coo_matrix = None

from live_index_test import SEED, SeededTest, blob, connect

SCORES = {"cosine": "cos_sim(x.embedding, y.embedding)", "dot": "dot_product(x.embedding, y.embedding)",
          "l2": "-l2_distance(x.embedding, y.embedding)"}
KEYS = {"INTEGER": "id", "TEXT": "name", "composite": "space, name"}
SHOWN = {"INTEGER": "{0}.id", "TEXT": "{0}.name", "composite": "json_array({0}.space, {0}.name)"}


def components(ids, pairs):
    """The least id of the group of each id."""
    group = {id: id for id in ids}
    changed = True
    while changed:
        changed = False
        for a, b in pairs:
            least = min(group[a], group[b])
            if (group[a], group[b]) != (least, least):
                group[a] = group[b] = least
                changed = True
    return group


class PairsTest(SeededTest):
    def vectors(self, kind, count, dims):
        gauss = lambda: [self.random.gauss(0, 1) for _ in range(dims)]
        centres = [gauss() for _ in range(1 + count // 12)]
        for i in range(count):
            if kind == "clustered":
                yield [c + 0.1 * g for c, g in zip(self.random.choice(centres), gauss())]
            elif kind == "duplicates":
                yield self.random.choice(centres)
            elif kind == "tied":
                yield [float(self.random.randrange(-1, 2)) for _ in range(dims)]  # with zero rows
            elif kind == "alike":
                yield [1.0] * dims
            else:
                yield gauss() if self.random.random() < 0.95 else [0.0] * dims

    def fill(self, rows, table="doc", first=0):
        self.db.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", (
            (first + 2 * i, f"n{(first + 2 * i) * 7 % 1000003}", i % 3, blob(*row) if row is not None else None) for i, row in enumerate(rows)))

    def create(self, metric="cosine", key="INTEGER", table="doc", extra=""):
        self.db.execute(f"CREATE TABLE {table}(id INTEGER PRIMARY KEY, name TEXT UNIQUE, space INTEGER, embedding, UNIQUE(space, name))")
        self.db.execute(f"CREATE VIRTUAL TABLE {table}_vec USING glove_index(content='{table}', rowid='{KEYS[key]}', "
                        f"vector='embedding', metric='{metric}'{extra})")

    def brute(self, metric, key, a="doc", b="doc", among="1"):
        """[(key of a, key of b, score)] of all ordered pairs in the relation, by the order of a's ids and then the ranks of b."""
        score, x, y = SCORES[metric], SHOWN[key].format("x"), SHOWN[key].format("y")
        id = "{0}.id" if key == "INTEGER" else "{0}k.id"
        keys = "" if key == "INTEGER" else "".join(
            f" JOIN {t}_vec_key {n}k ON " + " AND ".join(f"{n}k.k{i + 1} = {n}.{c}" for i, c in enumerate(KEYS[key].split(", ")))
            for t, n in ((a, "x"), (b, "y")))
        return self.rows(f"SELECT {x}, {y}, {score}, {id.format('x')}, {id.format('y')} FROM {a} x CROSS JOIN {b} y{keys} "
                         f"WHERE {score} IS NOT NULL AND {among} ORDER BY {id.format('x')}, {score} DESC, {id.format('y')}")

    def compare(self, metric, key="INTEGER", target="doc_vec", other=None, a="doc", b="doc", among=None):
        condition = "target = ?"
        inputs = [target]
        if other:
            condition += " AND other = ?"
            inputs.append(other)
        if among:
            condition += f" AND among = (SELECT {among[0]})"
        every = self.brute(metric, key, a, b, among[1] if among else "1")
        once = [row for row in every if other or row[3] < row[4]]
        shown = "-distance" if metric == "l2" else "similarity"
        scores = sorted(row[2] for row in once) or [0]
        for least in (scores[len(scores) // 2], scores[-1], scores[9 * len(scores) // 10], scores[-1] + 1, -1e9):
            bound = "max_distance" if metric == "l2" else "min_similarity"
            found = self.rows(f"SELECT a, b, {shown}, rank FROM glove_pairs WHERE {condition} AND {bound} = ?", *inputs,
                              -least if metric == "l2" else least)
            self.assertEqual(sorted(found), sorted((*row[:3], None) for row in once if row[2] >= least))
        for k in (1, 3, 40, 100000):
            expected, ranks = [], {}
            for row in every:
                if not other and row[3] == row[4]:
                    continue
                ranks[row[3]] = ranks.get(row[3], 0) + 1
                if ranks[row[3]] <= k:
                    expected.append((*row[:3], ranks[row[3]]))
            self.assertEqual(self.rows(f"SELECT a, b, {shown}, rank FROM glove_pairs WHERE {condition} AND k = ?", *inputs, k), expected)
        for pairs in (0, 1, 17, 100000):
            expected = [row[:3] for row in sorted(once, key=lambda row: (-row[2], row[3], row[4]))[:pairs]]
            self.assertEqual(self.rows(f"SELECT a, b, {shown} FROM glove_pairs WHERE {condition} AND pairs = ?", *inputs, pairs), expected)
        return every

    def compare_groups(self, every, metric, target="doc_vec"):
        names = {row[3]: row[0] for row in every}
        bound = "max_distance" if metric == "l2" else "min_similarity"
        scores = sorted(row[2] for row in every)
        least = scores[int(0.97 * len(scores))]
        ranks, near = {}, []
        for row in every:
            if row[3] != row[4]:
                ranks[row[3]] = ranks.get(row[3], 0) + 1
                if ranks[row[3]] <= 2:
                    near.append((row[3], row[4]))
        far = [(row[3], row[4]) for row in every if row[2] >= least]
        for condition, value, pairs in ((bound, -least if metric == "l2" else least, far), ("k", 2, near)):
            group = components(names, pairs)
            sizes = [list(group.values()).count(group[id]) for id in sorted(names)]
            self.assertEqual(self.rows(f"SELECT * FROM glove_groups WHERE target = '{target}' AND {condition} = ?", value),
                             [(names[id], names[group[id]], size) for id, size in zip(sorted(names), sizes)])

    def test_pairs_are_those_of_the_table_in_every_state(self):
        for metric in SCORES:
            for kind in ("random", "clustered", "duplicates", "tied", "alike"):
                key = self.random.choice(list(KEYS))
                with self.subTest(metric=metric, kind=kind, key=key):
                    self.db = connect()
                    self.rows("SELECT glove_config('threads', ?)", self.random.choice((1, 2, 5)))
                    dims = self.random.choice((2, 5, 17))
                    self.create(metric, key)
                    self.fill(self.vectors(kind, 40, dims))
                    self.compare(metric, key)  # all rows are logged
                    self.rows("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
                    self.compare(metric, key)
                    self.fill(self.vectors(kind, 20, dims), first=1)
                    self.fill([None, [0.0] * dims], first=2001)
                    self.rows("DELETE FROM doc WHERE id % 7 = 0")
                    self.rows("UPDATE doc SET embedding = ? WHERE id % 11 = 0", blob(*[1.0] * dims))
                    every = self.compare(metric, key)
                    self.compare_groups(every, metric)
                    self.rows("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")  # a second segment
                    self.rows("REPLACE INTO doc SELECT id + 1000, name, space, embedding FROM doc WHERE id % 5 = 1")  # without a trace
                    self.compare(metric, key)

    def test_scans_of_segments(self):
        """So many rows that searches for them scan."""
        for metric in SCORES:
            for kind in ("random", "duplicates"):
                with self.subTest(metric=metric, kind=kind):
                    self.db = connect()
                    self.create(metric)
                    self.fill(self.vectors(kind, 700, 6))
                    self.rows("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
                    self.fill(self.vectors(kind, 50, 6), first=1)
                    self.rows("DELETE FROM doc WHERE id % 13 = 0")
                    shown, bound = ("-distance", "max_distance") if metric == "l2" else ("similarity", "min_similarity")
                    every = self.brute(metric, "INTEGER")
                    once = [row for row in every if row[3] < row[4]]
                    least = sorted(row[2] for row in once)[-1000]
                    found = self.rows(f"SELECT a, b, {shown} FROM glove_pairs WHERE target = 'doc_vec' AND {bound} = ?",
                                      -least if metric == "l2" else least)
                    self.assertEqual(sorted(found), sorted(row[:3] for row in once if row[2] >= least))
                    ranks = {}
                    for row in every:
                        if row[3] != row[4]:
                            ranks.setdefault(row[3], []).append(row[:3])
                    self.assertEqual(self.rows(f"SELECT a, b, {shown} FROM glove_pairs WHERE target = 'doc_vec' AND k = 9"),
                                     [row for id in sorted(ranks) for row in ranks[id][:9]])
                    self.assertEqual(self.rows(f"SELECT a, b, {shown} FROM glove_pairs WHERE target = 'doc_vec' AND pairs = 100"),
                                     [row[:3] for row in sorted(once, key=lambda row: (-row[2], row[3], row[4]))[:100]])

    def test_two_tables(self):
        for metric in SCORES:
            for key in KEYS:
                with self.subTest(metric=metric, key=key):
                    self.db = connect()
                    self.create(metric, key)
                    self.create(metric, key, "page")
                    self.fill(self.vectors("clustered", 40, 3))
                    self.fill(self.vectors("tied", 70, 3), "page", first=1)
                    self.rows("INSERT INTO page_vec(page_vec) VALUES ('sync')")
                    self.compare(metric, key, "main.doc_vec", "PAGE_VEC", "doc", "page")

    def test_among(self):
        self.create()
        self.fill(self.vectors("clustered", 80, 4))
        admitted = "x.id % 3 <> 0 AND y.id % 3 <> 0 AND x.id > 20 AND y.id > 20"
        for _ in range(2):
            self.compare("cosine", among=("glove_keys(id) FROM doc WHERE id % 3 <> 0 AND id > 20", admitted))
            self.rows("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
        self.assertEqual(self.rows("SELECT * FROM glove_pairs WHERE target = 'doc_vec' AND k = 1 AND among = NULL"), [])
        self.assertEqual(self.rows("SELECT * FROM glove_pairs WHERE target = 'doc_vec' AND k = 1 AND among = '[]'"), [])
        self.assertEqual(self.rows("SELECT id, size FROM glove_groups WHERE target = 'doc_vec' AND min_similarity = 2 AND among = '[2, 4, 5]'"),
                         [(2, 1), (4, 1)])

    def model(self, kind, count, dims, name="m"):
        self.rows("CREATE TEMP TABLE doc(id INTEGER PRIMARY KEY, name TEXT, space INTEGER, embedding)")
        self.fill(self.vectors(kind, count, dims))
        self.rows(f"SELECT glove_load_table('{name}', 'SELECT id, embedding FROM doc ORDER BY id')")

    def test_models(self):
        for kind in ("random", "clustered", "duplicates", "tied"):
            with self.subTest(kind=kind):
                self.db = connect()
                self.model(kind, 90, 5)
                self.compare_groups(self.compare("cosine", target="m"), "cosine", "m")
                self.compare("cosine", target="m", among=("glove_keys(id) FROM doc WHERE id > 60", "x.id > 60 AND y.id > 60"))
                self.rows("SELECT glove_unload('m')")

    def test_a_row_with_many_near_ones(self):
        """So many that answers are asked for again, and for the rows of a block in several searches."""
        self.model("alike", 2100, 3)
        self.assertEqual(self.rows("SELECT count(*), count(DISTINCT a * 10000 + b), min(a < b), min(similarity) FROM glove_pairs "
                                   "WHERE target = 'm' AND min_similarity = 0.5"), [(2100 * 2099 // 2, 2100 * 2099 // 2, 1, 1.0)])
        self.assertEqual(self.rows("SELECT DISTINCT group_id, size FROM glove_groups WHERE target = 'm' AND min_similarity = 1"), [(0, 2100)])
        self.rows("SELECT glove_unload('m')")

    @unittest.skipIf(numpy is None, "NumPy is not installed")
    def test_a_large_join_beside_numpy(self):
        count, dims, least = 20000 // (5 if os.environ.get("GLOVE_TEST_SHORT") else 1), 24, 0.9
        source = numpy.random.default_rng(SEED)
        centres = source.normal(size=(count // 8, dims))
        rows = (centres[source.integers(len(centres), size=count)] + 0.2 * source.normal(size=(count, dims))).astype("f4")
        rows[::97] = 0
        rows[5::89] = rows[4]
        self.rows("CREATE TEMP TABLE doc(id INTEGER PRIMARY KEY, embedding)")
        self.db.executemany("INSERT INTO doc VALUES (?, ?)", ((i, row.tobytes()) for i, row in enumerate(rows)))
        self.rows("SELECT glove_load_table('m', 'SELECT id, embedding FROM doc ORDER BY id')")
        norms = numpy.linalg.norm(rows.astype("f8"), axis=1)
        units = rows / numpy.where(norms > 0, norms, 1)[:, None]
        found = numpy.array(self.rows("SELECT a, b, similarity FROM glove_pairs WHERE target = 'm' AND min_similarity = ?", least))
        a, b = found[:, 0].astype(int), found[:, 1].astype(int)
        self.assertTrue((numpy.abs((units[a] * units[b]).sum(axis=1) - found[:, 2]) < 1e-9).all())
        self.assertEqual(len(set(zip(a, b))), len(found))
        surely = perhaps = 0
        for first in range(0, count, 1000):  # pairs of these rows and those behind them
            near = units[first:first + 1000] @ units[first:].T
            near[numpy.tril_indices(len(near))] = 0
            surely += (near > least + 1e-9).sum()
            perhaps += (near > least - 1e-9).sum()
        self.assertTrue(surely <= len(found) <= perhaps, (surely, len(found), perhaps))
        if coo_matrix is not None:
            number, labels = connected_components(coo_matrix((numpy.ones(len(a)), (a, b)), shape=(count, count)), directed=False)
            groups = self.rows("SELECT id, group_id, size FROM glove_groups WHERE target = 'm' AND min_similarity = ?", least)
            first, sizes = {}, numpy.bincount(labels)
            for id, label in enumerate(labels):
                first.setdefault(label, id)
            self.assertEqual(groups, [(id, first[label], sizes[label]) for id, label in enumerate(labels) if norms[id] > 0])
        self.rows("SELECT glove_unload('m')")

    def test_changes_while_the_cursor_is_open_end_it(self):
        for key in ("INTEGER", "TEXT"):
            for change in ("UPDATE doc SET embedding = zeroblob(12) WHERE id = 4", "DELETE FROM doc WHERE id = 4",
                           "INSERT INTO doc VALUES (1, 'new', 1, zeroblob(12))", "INSERT INTO doc_vec(doc_vec) VALUES ('sync')"):
                for logged in (False, True):
                    with self.subTest(key=key, change=change, logged=logged):
                        self.db = connect()
                        self.create(key=key)
                        self.fill(self.vectors("clustered", 1300, 3))
                        if not logged or "sync" in change:
                            self.rows("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
                        if "sync" in change:
                            self.rows("UPDATE doc SET space = 1 - space WHERE id = 4")
                            self.rows("UPDATE doc SET embedding = ? WHERE id = 4", blob(1, 2, 3))
                        cursor = self.db.execute("SELECT a, b FROM glove_pairs WHERE target = 'doc_vec' AND k = 1")
                        cursor.fetchone()
                        self.rows(change)
                        with self.assertRaisesRegex(sqlite3.Error, "own connection has changed rows of 'doc'"):
                            cursor.fetchall()
                        self.assertGreater(len(self.rows("SELECT a FROM glove_pairs WHERE target = 'doc_vec' AND k = 1")), 1200)

    def test_rows_that_are_deleted_behind_the_cursor_end_it(self):
        self.create()
        self.fill(self.vectors("clustered", 2500, 3))
        self.rows("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
        cursor = self.db.execute("SELECT a, b FROM glove_pairs WHERE target = 'doc_vec' AND k = 1")
        cursor.fetchone()
        self.rows("DELETE FROM doc WHERE id >= 2048")  # all that are not asked yet
        with self.assertRaisesRegex(sqlite3.Error, "own connection has changed rows of 'doc'"):
            cursor.fetchall()

    def test_a_side_without_rows(self):
        self.create()
        self.create(table="page")
        self.fill([[1, 0], [0, 0], [0, 1]])
        for rows in ([], [None, None], [[0, 0]], [[1, 1]]):
            self.fill(rows, "page", first=7)
            for condition in ("k = 3", "pairs = 2", "min_similarity = 0"):
                found = self.rows(f"SELECT a, b FROM glove_pairs WHERE target = 'doc_vec' AND other = 'page_vec' AND {condition}")
                self.assertEqual(len(found), 2 if rows == [[1, 1]] else 0, (rows, condition))
                self.assertEqual(self.rows(f"SELECT a, b FROM glove_pairs WHERE target = 'doc_vec' AND other = 'page_vec' AND {condition} "
                                           "AND among = '[0, 4]'"), [])
            self.rows("DELETE FROM page")

    def test_a_statement_sees_its_transaction(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.db")
            self.db = connect(path)
            self.rows("PRAGMA journal_mode = WAL")
            self.create()
            self.fill(self.vectors("clustered", 1300, 3))
            self.rows("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
            expected = self.rows("SELECT a, b, similarity FROM glove_pairs WHERE target = 'doc_vec' AND k = 2")
            cursor = self.db.execute("SELECT a, b, similarity FROM glove_pairs WHERE target = 'doc_vec' AND k = 2")
            found = [cursor.fetchone()]
            other = connect(path)
            other.execute("UPDATE doc SET embedding = ? WHERE id > 100 AND id % 9 = 0", (blob(1, 2, 3),))
            other.execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
            self.assertEqual(found + cursor.fetchall(), expected)
            self.assertNotEqual(self.rows("SELECT a, b, similarity FROM glove_pairs WHERE target = 'doc_vec' AND k = 2"), expected)
            self.rows("BEGIN")
            self.rows("UPDATE doc SET embedding = ? WHERE id < 100", blob(3, 2, 1))
            self.assertEqual(self.rows("SELECT count(*) FROM glove_pairs WHERE target = 'doc_vec' AND min_similarity = 1 AND a < 100 "
                                       "AND b < 100"), [(50 * 49 // 2,)])
            self.rows("CREATE TABLE edge AS SELECT a, b FROM glove_pairs WHERE target = 'doc_vec' AND k = 2")
            self.assertEqual(self.rows("SELECT count(*) FROM edge"), [(2600,)])
            self.rows("ROLLBACK")
            self.db.close()
            other.close()

    def test_statements_that_change_the_content(self):
        """SQLite reads all pairs first, because the content has triggers."""
        self.create()
        self.fill(self.vectors("clustered", 1300, 3))
        self.rows("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
        self.rows("INSERT INTO doc SELECT 100000 + a, NULL, NULL, ? FROM glove_pairs WHERE target = 'doc_vec' AND k = 1", blob(1, 2, 3))
        self.assertEqual(self.rows("SELECT count(*) FROM doc"), [(2600,)])
        self.rows("DELETE FROM doc WHERE id IN (SELECT id FROM glove_groups WHERE target = 'doc_vec' AND min_similarity = 0.99 "
                  "AND id <> group_id)")
        self.assertEqual(self.rows("SELECT max(size) FROM glove_groups WHERE target = 'doc_vec' AND min_similarity = 0.99"), [(1,)])

    def test_rowids_tell_pairs_apart(self):
        self.create()
        self.fill(self.vectors("clustered", 50, 3))
        one = self.rows("SELECT a, b FROM glove_pairs WHERE target = 'doc_vec' AND k = 1")
        two = self.rows("SELECT a, b FROM glove_pairs WHERE target = 'doc_vec' AND pairs = 20")
        self.assertEqual(len(self.rows("SELECT a, b FROM glove_pairs WHERE target = 'doc_vec' AND k IN (1, 1)")), len(one))
        self.assertEqual(sorted(self.rows("SELECT DISTINCT p.a, p.b FROM glove_pairs p WHERE p.target = 'doc_vec' AND p.k = 1 AND "
                                          "(p.a > 50 OR p.b > 50)")), sorted(set(pair for pair in one if max(pair) > 50)))
        self.assertEqual(self.rows("SELECT target, pairs, a, b FROM glove_pairs('doc_vec') WHERE pairs = 20"),
                         [("doc_vec", 20, a, b) for a, b in two])

    def test_errors(self):
        self.create()
        self.create("l2", table="far")
        self.rows("CREATE TABLE wide(id INTEGER PRIMARY KEY, embedding)")
        self.rows("CREATE VIRTUAL TABLE wide_vec USING glove_index(content='wide', rowid='id', vector='embedding')")
        self.rows("INSERT INTO wide VALUES (1, ?)", blob(1, 2))
        self.fill(self.vectors("clustered", 50, 3))
        for inputs, error in (
                ("target = 'doc_vec'", "give exactly one of min_similarity, max_distance, k and pairs, but there is none"),
                ("target = 'doc_vec' AND k = 1 AND pairs = 2", "but there are k and pairs"),
                ("k = 3", "needs its input target"),
                ("target = 'nowhere' AND k = 1", "there is no such index, and "),
                ("target = 'doc_vec' AND k = 1.5", "k must be an integer of at least 1, but is 1.5"),
                ("target = 'doc_vec' AND k = 0", "k must be an integer of at least 1, but is 0"),
                ("target = 'doc_vec' AND pairs = 'x'", "pairs must be an integer of at least 0, but is 'x'"),
                ("target = 'doc_vec' AND min_similarity = 'x'", "min_similarity must be a number, but is 'x'"),
                ("target = 'doc_vec' AND max_distance = 1", "'doc_vec' is compared by 'cosine'; give min_similarity instead"),
                ("target = 'far_vec' AND min_similarity = 1", "'far_vec' is compared by 'l2', which has no similarity"),
                ("target = 'doc_vec' AND k = 1 AND other = 'main.Doc_vec'", "other is the target itself"),
                ("target = 'doc_vec' AND k = 1 AND other = 'far_vec'", "is compared by 'cosine', and 'far_vec' by 'l2'"),
                ("target = 'doc_vec' AND k = 1 AND other = 'wide_vec'", "has 3 dimensions, and 'wide_vec' has 2"),
                ("target = 'doc_vec' AND k = 1 AND other = 'none'", "there is no such index, and "),
                ("target = 'doc_vec' AND k = 1 AND backend = 'x'", "there is no backend 'x'"),
                ("target = 'doc_vec' AND k = 1 AND among = 3", "among must be the set of all admissible keys, but is 3"),
                ("target = 'doc_vec' AND k = 1 AND among = '[\"a\"]'", "element 1 of among must be a 64-bit integer")):
            self.expect_error("glove_pairs: " if "needs" not in error else "", f"SELECT * FROM glove_pairs WHERE {inputs}")
            self.expect_error(error, f"SELECT * FROM glove_pairs WHERE {inputs}")
        self.expect_error("glove_groups: give exactly one of min_similarity, max_distance and k, but there is none",
                          "SELECT * FROM glove_groups WHERE target = 'doc_vec'")
        self.assertEqual(self.rows("SELECT * FROM glove_pairs WHERE target = NULL AND k = 1"), [])
        self.model("random", 5, 3, "doc_vec")
        self.expect_error("an index and a model have the name 'doc_vec'", "SELECT * FROM glove_pairs WHERE target = 'doc_vec' AND k = 1")
        self.rows("SELECT glove_unload('doc_vec')")


if __name__ == "__main__":
    unittest.main()
