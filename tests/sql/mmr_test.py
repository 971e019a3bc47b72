"""glove_mmr compared with maximal marginal relevance in NumPy: mmr_test.py GLOVE_SO

Skipped if this Python has no NumPy.
"""
import json
import os
import sqlite3
import sys
import tempfile
import threading
import unittest

try:
    import numpy
except ImportError:
    print("skipped: NumPy is not installed (Debian: python3-numpy)")
    sys.exit(77)

from live_index_test import SEED, SeededTest, connect

DIMS = 7
KEYS = {"INTEGER": "id", "TEXT": "id", "composite": "space, id"}


def scores(metric, rows, query):
    """The score of each row, the greatest first."""
    if metric == "l2":
        return -numpy.sqrt(((rows - query) ** 2).sum(axis=1))
    dots = rows @ query
    return dots if metric == "dot" else dots / (numpy.linalg.norm(rows, axis=1) * numpy.linalg.norm(query))


def mmr(metric, rows, query, k, lam, fetch):
    """The indexes of the chosen rows of a matrix, in order, and the scores of all rows."""
    relevance = scores(metric, rows, query)
    left = list(numpy.argsort(-relevance, kind="stable")[:fetch])
    chosen = []
    while left and len(chosen) < k:
        values = [lam * relevance[row] - ((1 - lam) * scores(metric, rows[chosen], rows[row]).max() if chosen else 0) for row in left]
        chosen.append(left.pop(int(numpy.argmax(values))))
    return chosen, relevance


class MmrTest(SeededTest):
    def setUp(self):
        super().setUp()
        self.source = numpy.random.default_rng(SEED)

    def vectors(self, count):
        """Rows in clusters, so that the nearest ones are much alike."""
        centres = self.source.normal(size=(9, DIMS))
        return (centres[self.source.integers(9, size=count)] + 0.2 * self.source.normal(size=(count, DIMS))).astype("f4")

    def table(self, kind, rows, metric="cosine", schema="main", more=""):
        """Makes a table with these rows and its index, and returns their keys."""
        columns = {"INTEGER": "id INTEGER PRIMARY KEY", "TEXT": "id TEXT PRIMARY KEY",
                   "composite": "space TEXT COLLATE NOCASE, id INTEGER"}[kind]
        keys = [((3 * i,), (f"k{i:03}",), ("ab"[i % 2], i))[list(KEYS).index(kind)] for i in range(len(rows))]
        end = ", PRIMARY KEY(space, id)" if kind == "composite" else ""
        self.db.execute(f"CREATE TABLE {schema}.doc({columns}, v{end})")
        self.db.executemany(f"INSERT INTO {schema}.doc VALUES ({'?, ' * len(keys[0])}?)",
                            [(*key, json.dumps(row.tolist()) if i % 5 == 0 else row.tobytes()) for i, (key, row) in enumerate(zip(keys, rows))])
        self.db.execute(f"CREATE VIRTUAL TABLE {schema}.doc_vec USING glove_index(content='doc', rowid='{KEYS[kind]}', vector='v', "
                        f"metric='{metric}'{more})")
        return keys

    def expect(self, metric, vectors, keys, query, k, lam, fetch, found):
        chosen, relevance = mmr(metric, vectors.astype("f8"), query.astype("f8"), k, lam, fetch)
        self.assertEqual([row[:-3] for row in found], [keys[row] for row in chosen])
        self.assertEqual([row[-3] for row in found], list(range(1, len(chosen) + 1)))
        for row, at in zip(found, chosen):
            distance = -relevance[at] + (metric == "cosine")
            self.assertAlmostEqual(row[-1], distance, places=9)
            self.assertEqual(row[-2] is None, metric == "l2")
            if metric != "l2":
                self.assertAlmostEqual(row[-2], relevance[at], places=9)

    def test_indexes(self):
        for kind in KEYS:
            for metric in ("cosine", "dot", "l2"):
                with self.subTest(kind=kind, metric=metric):
                    vectors = self.vectors(300)
                    schema = str(self.source.choice(["main", "temp"]))
                    keys = self.table(kind, vectors, metric, schema)
                    shown = "key, key2" if kind == "composite" else "key"
                    for k, lam, fetch in ((1, 0.5, 50), (5, 0.0, 20), (12, 0.3, 60), (20, 0.7, 300), (9, 1.0, 9)):
                        query = self.vectors(1)[0]
                        found = self.rows(f"SELECT {shown}, rank, similarity, distance FROM glove_mmr('doc_vec', ?, ?, ?, ?)",
                                          query.tobytes(), k, lam, fetch)
                        self.expect(metric, vectors, keys, query, k, lam, fetch, found)
                    query = self.vectors(1)[0]
                    for k, fetch in ((10, 50), (40, 160)):  # the defaults
                        found = self.rows(f"SELECT {shown}, rank, similarity, distance FROM glove_mmr WHERE target = 'doc_vec' AND query = ?"
                                          + (" AND k = ?" if k != 10 else ""), *((query.tobytes(), k) if k != 10 else (query.tobytes(),)))
                        self.expect(metric, vectors, keys, query, k, 0.5, fetch, found)
                    self.db.execute(f"DROP TABLE {schema}.doc_vec")
                    self.db.execute(f"DROP TABLE {schema}.doc")

    def test_among_and_changes(self):
        for kind in KEYS:
            with self.subTest(kind=kind):
                vectors = self.vectors(200)
                keys = self.table(kind, vectors)
                self.db.execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
                self.db.execute("UPDATE doc SET v = (SELECT v FROM doc ORDER BY rowid DESC LIMIT 1) WHERE rowid = (SELECT min(rowid) FROM doc)")
                vectors[0] = vectors[-1]
                query = self.vectors(1)[0]
                shown = "key, key2" if kind == "composite" else "key"
                found = self.rows(f"SELECT {shown}, rank, similarity, distance FROM glove_mmr('doc_vec', ?, 6, 0.4, 30, "
                                  f"(SELECT glove_keys({KEYS[kind]}) FROM doc WHERE rowid % 3 <> 0))", query.tobytes())
                rowids = dict(zip((row[1:] for row in self.rows(f"SELECT rowid, {KEYS[kind]} FROM doc")),
                                  (row[0] for row in self.rows(f"SELECT rowid, {KEYS[kind]} FROM doc"))))
                kept = [i for i, key in enumerate(keys) if rowids[key] % 3 != 0]
                self.expect("cosine", vectors[kept], [keys[i] for i in kept], query, 6, 0.4, 30, found)
                for nothing in ("NULL", f"(SELECT glove_keys({KEYS[kind]}) FROM doc WHERE 0)"):
                    self.assertEqual(self.rows(f"SELECT * FROM glove_mmr('doc_vec', ?, 6, 0.4, 30, {nothing})", query.tobytes()), [])
                self.db.executescript("DROP TABLE doc_vec; DROP TABLE doc")

    def test_models(self):
        vectors = self.vectors(200)
        for kind, words in (("words", [f"a {i}" if i % 3 else f"- w{i}" for i in range(200)]), ("keys", list(range(-60, 140)))):
            self.db.execute("CREATE TEMP TABLE source(w, v)")
            self.db.executemany("INSERT INTO source VALUES (?, ?)", [(word, row.tobytes()) for word, row in zip(words, vectors)])
            self.db.execute("SELECT glove_load_table(?, 'SELECT w, v FROM temp.source ORDER BY rowid')", (f"mmr_{kind}",))
            for k, lam, fetch in ((5, 0.0, 20), (12, 0.3, 60), (20, 0.7, 200)):
                query = self.vectors(1)[0]
                found = self.rows("SELECT key, rank, similarity, distance FROM glove_mmr(?, ?, ?, ?, ?)", f"mmr_{kind}", query.tobytes(), k, lam, fetch)
                self.expect("cosine", vectors, [(word,) for word in words], query, k, lam, fetch, found)
            if kind == "keys":
                found = self.rows("SELECT key, rank, similarity, distance FROM glove_mmr(?, ?, 4, 0.2, 40, ?)", f"mmr_{kind}", query.tobytes(),
                                  json.dumps(words[:90]))
                self.expect("cosine", vectors[:90], [(word,) for word in words[:90]], query, 4, 0.2, 40, found)
            self.db.execute("DROP TABLE temp.source")
        self.db.execute("SELECT glove_unload('mmr_words'), glove_unload('mmr_keys')")

    def test_indexes_of_texts(self):
        vectors = self.vectors(60)
        self.db.execute("CREATE TEMP TABLE source(w, v)")
        self.db.executemany("INSERT INTO source VALUES (?, ?)", [(f"word{i}", row.tobytes()) for i, row in enumerate(vectors)])
        self.db.execute("SELECT glove_load_table('mmr_texts', 'SELECT w, v FROM temp.source')")
        options = '{"components": 0}'
        self.db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, a, b)")
        self.db.executemany("INSERT INTO note(a, b) VALUES (?, ?)", [
            (" ".join(f"word{i}" for i in self.source.integers(60, size=3)), None if n % 4 == 0 else f"word{n % 60}") for n in range(150)])
        for named in ("model='mmr_texts', ", ""):
            self.db.execute(f"CREATE VIRTUAL TABLE note_vec USING glove_index(content='note', rowid='id', text='a, b', {named}options='{options}')")
            known = dict(self.rows("SELECT id, glove_text_vec(coalesce(a, '') || char(10) || coalesce(b, ''), 'mmr_texts', ?) FROM note", options))
            keys = [(key,) for key in known]
            rows = numpy.stack([numpy.frombuffer(vector, "f4") for vector in known.values()])
            for query in ("word3 word7", "word50"):
                blob, = self.rows("SELECT glove_text_vec(?, 'mmr_texts', ?)", query, options)[0]
                found = self.rows("SELECT key, rank, similarity, distance FROM glove_mmr('note_vec', ?, 8, 0.4, 60)", query)
                self.expect("cosine", rows, keys, numpy.frombuffer(blob, "f4"), 8, 0.4, 60, found)
            self.db.execute("DROP TABLE note_vec")
        self.db.execute("SELECT glove_unload('mmr_texts')")

    def test_ties_go_to_the_nearer_row(self):
        self.table("INTEGER", numpy.array([[1, 0], [0, 1], [1, 0], [1, 0], [0, 2]], "f4"))
        query = numpy.array([1, 0], "f4").tobytes()
        self.assertEqual(self.rows("SELECT key FROM glove_mmr('doc_vec', ?, 5, 0.5)", query), [(0,), (6,), (9,), (3,), (12,)])
        self.assertEqual(self.rows("SELECT key FROM glove_mmr('doc_vec', ?, 5, 0)", query), [(0,), (3,), (6,), (9,), (12,)])
        self.assertEqual(self.rows("SELECT key FROM glove_mmr('doc_vec', ?, 5, 1)", query), [(0,), (6,), (9,), (3,), (12,)])

    def test_columns_with_the_names_of_the_index(self):
        vectors = self.vectors(60)
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, rank, among, query, k, similarity, distance, model, v)")
        self.db.executemany("INSERT INTO doc(id, v) VALUES (?, ?)", [(i, row.tobytes()) for i, row in enumerate(vectors)])
        self.db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content=doc, rowid=id, vector=v)")
        query = self.vectors(1)[0]
        for among, keys in (("", range(60)), (", '" + json.dumps(list(range(30))) + "'", range(30))):
            found = self.rows(f"SELECT key, rank, similarity, distance FROM glove_mmr('doc_vec', ?, 6, 0.4, 30{among})", query.tobytes())
            self.expect("cosine", vectors[:len(keys)], [(key,) for key in keys], query, 6, 0.4, 30, found)

    def test_joins_and_batches(self):
        vectors = self.vectors(100)
        keys = self.table("INTEGER", vectors)
        self.db.execute("CREATE TABLE asked(name, q)")
        queries = self.vectors(4)
        self.db.executemany("INSERT INTO asked VALUES (?, ?)", [*((f"q{i}", q.tobytes()) for i, q in enumerate(queries)), ("none", None)])
        found = self.rows("SELECT a.name, d.id, m.rank, m.similarity, m.distance FROM asked a JOIN glove_mmr('doc_vec', a.q, 5, 0.5) m "
                          "JOIN doc d ON d.id = m.key ORDER BY a.name, m.rank")
        self.assertEqual(sorted({row[0] for row in found}), ["q0", "q1", "q2", "q3"])
        for i, query in enumerate(queries):
            self.expect("cosine", vectors, keys, query, 5, 0.5, 50, [row[1:] for row in found if row[0] == f"q{i}"])
        batch = self.rows("SELECT key, rank FROM glove_mmr WHERE target = 'doc_vec' AND k = 5 AND query IN (SELECT q FROM asked)")
        self.assertEqual(sorted(batch), sorted(row[1:3] for row in found))
        either = self.rows("SELECT key, rank FROM glove_mmr WHERE (target = 'doc_vec' AND query = ?1 AND k = 5) OR "
                           "(target = 'doc_vec' AND query = ?2 AND k = 5)", queries[0].tobytes(), queries[1].tobytes())
        self.assertEqual(sorted(either), sorted(row[1:3] for row in found if row[0] in ("q0", "q1")))
        self.db.execute("CREATE VIEW best AS SELECT key, rank FROM glove_mmr('doc_vec', (SELECT q FROM asked WHERE name = 'q2'), 5)")
        self.assertEqual(self.rows("SELECT * FROM best"), [row[1:3] for row in found if row[0] == "q2"])
        inputs = self.rows("SELECT target, query, k, lambda, fetch FROM glove_mmr('doc_vec', ?, 3, 0.25, 7)", queries[0].tobytes())
        self.assertEqual(inputs, 3 * [("doc_vec", queries[0].tobytes(), 3, 0.25, 7)])

    def test_nothing(self):
        self.table("INTEGER", self.vectors(10))
        query = self.vectors(1)[0].tobytes()
        self.assertEqual(self.rows("SELECT * FROM glove_mmr('doc_vec', NULL)"), [])
        self.assertEqual(self.rows("SELECT * FROM glove_mmr('doc_vec', ?, 0)", query), [])
        self.assertEqual(self.rows("SELECT * FROM glove_mmr(NULL, ?)", query), [])
        self.assertEqual(len(self.rows("SELECT * FROM glove_mmr('doc_vec', ?, 9223372036854775807)", query)), 10)

    def test_errors(self):
        self.table("INTEGER", self.vectors(10))
        query = self.vectors(1)[0].tobytes()
        for arguments, message in (
                ("'doc_vec', ?, -1", "k must be an integer of at least 0, but is -1"),
                ("'doc_vec', ?, 'ten'", "k must be an integer of at least 0, but is 'ten'"),
                ("'doc_vec', ?, 5, 1.5", r"lambda must be a number from 0 .* but is 1.5"),
                ("'doc_vec', ?, 5, 'half'", "lambda must be .* but is 'half'"),
                ("'doc_vec', ?, 5, 0.5, 4", "fetch must be an integer of at least k, which is 5, but is 4"),
                ("'nowhere', ?", "glove_mmr: there is no such index, and .*nowhere"),
                ("'doc', ?", "glove_mmr: there is no such index, and "),
                ("x'00', ?", "glove_mmr: .*target")):
            with self.subTest(arguments), self.assertRaisesRegex(sqlite3.Error, message):
                self.rows(f"SELECT * FROM glove_mmr({arguments})", query)
        with self.assertRaisesRegex(sqlite3.Error, "glove_mmr: doc_vec: the query is a BLOB of 4 bytes"):
            self.rows("SELECT * FROM glove_mmr('doc_vec', x'00000000')")
        with self.assertRaisesRegex(sqlite3.Error, "glove_mmr needs its input query"):
            self.rows("SELECT * FROM glove_mmr('doc_vec')")
        self.db.execute("SELECT glove_load_table('doc_vec', 'SELECT id, v FROM doc')")
        with self.assertRaisesRegex(sqlite3.Error, "an index and a model have the name 'doc_vec'"):
            self.rows("SELECT * FROM glove_mmr('doc_vec', ?)", query)
        self.db.execute("SELECT glove_unload('doc_vec')")

    def test_a_busy_database_and_an_interrupt(self):
        with tempfile.TemporaryDirectory() as folder:
            self.db = connect(os.path.join(folder, "doc.db"))
            self.table("INTEGER", self.vectors(3000))
            query = self.vectors(1)[0].tobytes()
            other = connect(os.path.join(folder, "doc.db"))
            other.execute("BEGIN EXCLUSIVE")
            self.db.execute("PRAGMA busy_timeout = 0")
            with self.assertRaises(sqlite3.OperationalError) as caught:
                self.rows("SELECT * FROM glove_mmr('doc_vec', ?)", query)
            self.assertIn("locked", str(caught.exception))
            other.execute("ROLLBACK")
            timer = threading.Timer(0.1, self.db.interrupt)
            timer.start()
            with self.assertRaisesRegex(sqlite3.OperationalError, "interrupted"):
                while True:
                    self.rows("SELECT * FROM glove_mmr('doc_vec', ?, 3000, 0.5, 3000)", query)
            timer.join()
            self.db.close()
            other.close()


if __name__ == "__main__":
    print(f"seed {SEED}")
    unittest.main()
