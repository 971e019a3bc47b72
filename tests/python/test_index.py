"""sqlite_glove.index() and the object it returns: test_index.py --project FOLDER --extension GLOVE.SO --convert GLOVE-CONVERT

What search() returns is compared with the cosines that Python computes, over vectors given in each form, with filters that many,
few and no rows match, by sqlite3 and by apsw. Skipped if this Python cannot load extensions.
"""
import argparse
import array
import datetime
import importlib
import json
import math
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import installed

SEED = int(os.environ.get("GLOVE_TEST_SEED") or random.SystemRandom().randrange(2**32))
OPTIONS = argparse.Namespace()
DIMS = 5


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def float32(vector):
    return list(array.array("f", vector))


def cosine(a, b):
    dot = math.fsum(x * y for x, y in zip(a, b))
    return dot / math.sqrt(math.fsum(x * x for x in a) * math.fsum(y * y for y in b))


class Index(unittest.TestCase):
    def setUp(self):
        self.source = random.Random(SEED)
        self.conn = self.connect()

    def connect(self, path=":memory:"):
        import sqlite_glove
        self.glove = sqlite_glove
        conn = sqlite3.connect(path)
        sqlite_glove.load(conn)
        self.addCleanup(conn.close)
        return conn

    def vectors(self, count):
        return [float32(self.source.gauss(0, 1) for _ in range(DIMS)) for _ in range(count)]

    def expected(self, rows, query, k):
        """[id] by falling cosine; `rows` is {id: vector}. Random vectors have no ties that double arithmetic would confuse."""
        return sorted(rows, key=lambda id: (-cosine(rows[id], query), id))[:k]

    def check(self, index, rows, k=7, **options):
        query = self.vectors(1)[0]
        found = index.search(query, k, **options)
        self.assertEqual([row[0] for row in found], self.expected(rows, query, k))
        for row in found:
            self.assertAlmostEqual(row[1], cosine(rows[row[0]], query), places=6)

    def test_every_form_of_vectors_makes_the_same_index(self):
        numpy, pandas = optional("numpy"), optional("pandas")
        vectors, ids = self.vectors(40), self.source.sample(range(-50, 1000), 40)
        forms = {"lists": vectors, "tuples": map(tuple, vectors), "blobs": [array.array("f", v).tobytes() for v in vectors],
                 "floats": memoryview(array.array("f", sum(vectors, []))).cast("B").cast("f", (40, DIMS)),
                 "doubles": memoryview(array.array("d", sum(vectors, []))).cast("B").cast("d", (40, DIMS))}
        if numpy:
            matrix = numpy.array(vectors)
            forms.update({"float64": matrix, "float32": matrix.astype("f4"), "Fortran": numpy.asfortranarray(matrix),
                          "big-endian": matrix.astype(">f4"), "reversed": matrix[::-1][::-1], "rows": list(matrix)})
        if pandas:
            forms.update({"DataFrame": pandas.DataFrame(vectors), "Series": pandas.Series(vectors),
                          "Series of arrays": pandas.Series([array.array("f", v) for v in vectors])})
        print("forms: " + ", ".join(forms))
        for number, (form, given) in enumerate(forms.items()):
            with self.subTest(form):
                index = self.glove.index(self.conn, f"form {number}", ids, given)
                self.check(index, dict(zip(ids, vectors)))
                self.assertEqual(index.columns, [])

    def filtered(self):
        vectors = self.vectors(3000)
        rows = dict(enumerate(vectors, 1))
        kinds = ["common" if id % 2 else "rare" if id % 500 == 0 else "other" for id in rows]
        index = self.glove.index(self.conn, "doc", None, vectors, {"kind": kinds, 'odd "name': list(rows)})
        return index, rows, dict(zip(rows, kinds))

    def test_filters_cost_no_rows(self):
        index, rows, kinds = self.filtered()
        for kind in ("common", "rare", "other", "none"):
            matching = {id: rows[id] for id in rows if kinds[id] == kind}
            for k in (1, 7, 40):
                self.check(index, matching, k, where="kind = ?", params=[kind])
                self.check(index, matching, k, where="kind = :kind", params={"kind": kind})
                self.check(index, matching, k, where="kind = 'x;)' OR (kind = ?)", params=[kind])
                self.check(index, matching, k, among=list(matching))
        self.check(index, {id: rows[id] for id in range(10, 20)}, where='id >= 10 AND "odd ""name" < 20')
        self.check(index, {id: rows[id] for id in range(1, 3001, 2)}, where="doc.kind = 'common'", recall=1, backend="cpu")

    def test_with_where_no_statement_that_ends_the_search_is_approximate(self):
        index, rows, kinds = self.filtered()
        statements = []
        self.conn.set_trace_callback(statements.append)
        self.check(index, {id: rows[id] for id in rows if kinds[id] == "rare"}, where="kind = 'rare'", recall=0.5)
        self.conn.set_trace_callback(None)
        first, last = (statement for statement in statements if statement.startswith("SELECT v.") and "ORDER BY" in statement)
        self.assertIn("recall", first, "it is checked there, and without k it asks for nothing")
        self.assertNotIn(" v.\"k\" ", first)
        self.assertIn("among", last)
        self.assertNotIn("recall", last)
        with self.assertRaisesRegex(sqlite3.OperationalError, "recall must be a number from 0.5 to 1"):
            index.search([1] * DIMS, where="kind = 'rare'", recall=7)

    def test_a_where_that_is_not_one_expression_is_an_error(self):
        index, _, _ = self.filtered()
        query = [1] * DIMS
        for bad in ("kind = 'a'; DROP TABLE doc", "1) OR (1", "(1", "1)", "1 -- x", "1 /* x", "'", '"', "", " ", "[x", "kind = ')"):
            with self.subTest(bad), self.assertRaisesRegex(ValueError, "where must be one SQL expression"):
                index.search(query, where=bad)
        self.assertEqual(index.search(query, where="kind IN (';', '--', '(')"), [])
        with self.assertRaisesRegex(ValueError, "'glove_k', but names that begin with glove_"):
            index.search(query, where="id = :glove_k", params={"glove_k": 3})
        with self.assertRaisesRegex(ValueError, r"search\(\): where is '1' and among is \[1\]; give one"):
            index.search(query, where="1", among=[1])

    def test_rows_are_tuples_dicts_or_a_frame(self):
        index = self.glove.index(self.conn, "doc", [3, 1], [[1, 0], [0, 1]], {"title": ["a", "b"], "size": [1, None]})
        self.assertEqual(index.search([2, 0], 1), [(3, 1.0, "a", 1)])
        self.assertEqual(index.search([2, 0], 1, columns=["size"], rows="dicts"), [{"id": 3, "similarity": 1.0, "size": 1}])
        self.assertEqual(index.search([2, 0], 1, columns=[]), [(3, 1.0)])
        if optional("pandas"):
            frame = index.search([2, 0], 2, rows="pandas")
            self.assertEqual(list(frame.columns), ["id", "similarity", "title", "size"])
            self.assertEqual(list(frame["title"]), ["a", "b"])
        with self.assertRaisesRegex(ValueError, "'lists'"):
            index.search([2, 0], rows="lists")
        for query in (None, *([optional("numpy").ma.masked_all(2)] if optional("numpy") else [])):
            with self.assertRaisesRegex(TypeError, "it must be a vector or, with a model, a text"):
                index.search(query)
        self.conn.execute("ALTER TABLE doc ADD COLUMN similarity DEFAULT 'mine'")
        index = self.glove.Index(self.conn, "doc")
        self.assertEqual(index.search([2, 0], 1), [(3, 1.0, "a", 1, "mine")])
        with self.assertRaisesRegex(ValueError, "has a column 'similarity', which would take the place of the answer's"):
            index.search([2, 0], rows="dicts")
        self.assertEqual(index.search([2, 0], 1, columns=["size"], rows="dicts"), [{"id": 3, "similarity": 1.0, "size": 1}])

    def test_distances_and_inner_products(self):
        vectors = [[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]
        docs = self.glove.index(self.conn, "doc", [1, 2, 3], vectors, {"title": ["a", "b", "c"]}, metric="l2")
        self.assertEqual(docs.search([3.0, 4.0], 2), [(2, 0.0, "b"), (1, 5.0, "a")])
        self.assertEqual(docs.search([6.0, 9.0], 1, where="title < 'c'", rows="dicts"), [{"id": 2, "distance": math.sqrt(34), "title": "b"}])
        factors = self.glove.index(self.conn, "factor", [1, 2, 3], vectors, metric="dot")
        self.assertEqual(factors.search([1.0, 1.0], 1), [(3, 14.0)])

    def test_vectors_of_16_and_8_bits(self):
        vectors, query = self.vectors(30), self.vectors(1)[0]
        for kind, size in (("float16", 2), ("bfloat16", 2), ("int8", 1)):
            given = [[round(9 * x) for x in vector] for vector in vectors] if kind == "int8" else vectors
            docs = self.glove.index(self.conn, kind, vectors=given[:20], type=kind)
            docs.add(vectors=given[20:])
            docs.upsert([3], [given[0]])
            self.assertEqual(self.conn.execute(f"SELECT DISTINCT length(vector) FROM {kind}").fetchall(), [(size * DIMS,)])
            rows = self.conn.execute(f"SELECT id, glove_f32(vector, ?) FROM {kind} ORDER BY id", (kind,)).fetchall()
            expected = sorted(((cosine(array.array("f", vector), query), -id) for id, vector in rows), reverse=True)[:4]
            found = self.glove.Index(self.conn, kind).search(query, 4, rows="tuples", columns=[])
            self.assertEqual([row[0] for row in found], [-id for _, id in expected])
            self.assertIn(docs.like(3, 1)[0][0], (1,))
            with self.assertRaisesRegex(ValueError, "row 0 of vectors has 1 components, but the index has 5 dimensions"):
                docs.add(vectors=[[1.0]])
        with self.assertRaisesRegex(ValueError, "add.*: row 1 of vectors has 0.5 as the component 2, which int8 cannot hold; int8 holds whole numbers"):
            docs.add(vectors=[[1] * DIMS, [1, 0.5, 1, 1, 1]])
        with self.assertRaisesRegex(ValueError, "row 0 of vectors has 70000 as the component 1, which float16 cannot hold"):
            self.glove.index(self.conn, "large", vectors=[[70000.0]], type="float16")
        skipping = self.glove.index(self.conn, "skipping", vectors=[[1, 2], [math.nan, 2], [3, 4]], type="float16", invalid="skip")
        skipping.add(vectors=[[1, math.inf], [5, 6]])
        self.assertEqual([row[0] for row in skipping.search([1.0, 2.0], 9)], [1, 3, 5])
        with self.assertRaisesRegex(ValueError, "type is 'half'; it must be 'float32', 'float16', 'bfloat16', 'int8'"):
            self.glove.index(self.conn, "half", vectors=vectors, type="half")

    def test_bits(self):
        for arguments in ({"metric": "hamming"}, {"type": "bits"}, {"metric": "hamming", "type": "bits", "dims": 16}):
            self.conn.execute("DROP TABLE IF EXISTS hash_vec")
            self.conn.execute("DROP TABLE IF EXISTS hash")
            docs = self.glove.index(self.conn, "hash", vectors=[b"\0\1", b"\xff\0", None], **arguments)
            docs.add(vectors=[bytearray(b"\0\0"), memoryview(b"\1\1")])
            docs.upsert([2], [b"\0\7"])
            self.assertEqual(docs.search(b"\0\0", 3), [(4, 0.0), (1, 1.0), (5, 2.0)])
            docs = self.glove.Index(self.conn, "hash")
            self.assertEqual(docs.search_many([b"\0\0", b"\0\7"], 1), [[(4, 0.0)], [(2, 0.0)]])
            self.assertEqual(docs.like(1, 2), [(4, 1.0), (5, 1.0)])
            for given, message in (([b"\0\1", b"\0"], "row 1 of vectors has 8 bits, but the index has 16"), ([b""], "has 0 bits, but the index has 16"),
                                   ([[1.0, 0.0]], r"\[1.0, 0.0\] is no vector of bits, which is bytes or an array of uint8, as numpy.packbits"),
                                   (b"\0\1", "0 is no vector of bits")):
                with self.assertRaisesRegex(Exception, message):
                    docs.add(vectors=given)
            with self.assertRaisesRegex(TypeError, r"search.*: \[1.0, 2.0\] is no vector of bits"):
                docs.search([1.0, 2.0])
        with self.assertRaisesRegex(ValueError, "vectors have 24 bits, but rows of 'hash' that are not given have another number"):
            docs.upsert([1], [b"\0\0\0"])

    @unittest.skipUnless(optional("numpy"), "there is no NumPy")
    def test_arrays_of_bits(self):
        import numpy
        bits = numpy.random.default_rng(3).integers(0, 2, (50, 24)).astype("u1")
        docs = self.glove.index(self.conn, "hash", vectors=numpy.packbits(bits, axis=1), metric="hamming")
        for query in range(5):
            distances = (bits != bits[query]).sum(1)
            expected = [(int(row) + 1, float(distances[row])) for row in numpy.argsort(distances, kind="stable")[:9]]
            self.assertEqual(docs.search(numpy.packbits(bits[query]), 9), expected)
        pairs = docs.pairs(max_distance=6)
        near = [(a, b) for a in range(50) for b in range(a + 1, 50) if (bits[a] != bits[b]).sum() <= 6]
        self.assertEqual(sorted(zip(pairs.a - 1, pairs.b - 1)), near)
        with self.assertRaisesRegex(TypeError, "is no vector of bits"):
            docs.add(vectors=bits.astype("f4"))

    def test_values_of_columns(self):
        numpy, pandas = optional("numpy"), optional("pandas")
        day = datetime.date(2024, 2, 29)
        columns = {"t": ["a", None], "d": [day, None], "b": [True, False], "x": [b"\1", bytearray(b"\2")], "m": [1, "one"], "f": [1.5, 2]}
        stored = [("a", "2024-02-29", 1, b"\1", 1, 1.5), (None, None, 0, b"\2", "one", 2)]
        self.glove.index(self.conn, "doc", None, [[1], [2]], columns)
        self.assertEqual(self.conn.execute("SELECT t, d, b, x, m, f FROM doc").fetchall(), stored)
        self.assertEqual([row[2] for row in self.conn.execute("PRAGMA table_info(doc)")],
                         ["INTEGER", "TEXT", "TEXT", "", "BLOB", "", "", "BLOB"])
        if numpy and pandas:
            frame = pandas.DataFrame({"n": numpy.array([1, 2], "i4"), "f": [0.5, math.nan], "t": pandas.to_datetime(["2024-01-02", None]),
                                      "s": pandas.array([None, "x"], dtype="string"), "e": list(numpy.eye(2))}, index=[7, 9])
            self.glove.index(self.conn, "frame", frame.index, frame["e"], frame[["n", "f", "t", "s"]])
            self.assertEqual(self.conn.execute("SELECT id, n, f, t, s FROM frame").fetchall(),
                             [(7, 1, 0.5, "2024-01-02T00:00:00", None), (9, 2, None, None, "x")])

    def test_changes_are_found_at_once(self):
        vectors = self.vectors(60)
        rows = dict(enumerate(vectors, 1))
        index = self.glove.index(self.conn, "doc", list(rows), vectors, {"tag": ["old"] * 60})
        rows.update({100 + i: vector for i, vector in enumerate(self.vectors(20))})
        index.add(list(range(100, 120)), [rows[i] for i in range(100, 120)], {"tag": ["new"] * 20})
        rows.update({i: vector for i, vector in zip(range(50, 70), self.vectors(20))})
        index.upsert(range(50, 70), [rows[i] for i in range(50, 70)])
        index.delete(5)
        index.delete([6, 7, 99999])
        for gone in (5, 6, 7):
            del rows[gone]
        self.check(index, rows)
        index.sync()
        self.check(index, rows)
        index.command("integrity-check")
        self.assertFalse(self.conn.in_transaction, "a command is a transaction of its own")
        other = self.glove.index(self.conn, "other", [1, 2], [[1, 0], [0, 1]])
        other.upsert([1, 2], [[1, 0, 0], [0, 0, 1]])  # another model, of other dimensions
        other.command("rebuild")
        self.assertEqual(other.search([0, 0, 2], 1), [(2, 1.0)])
        for query in (vectors[0], json.dumps(vectors[1])):
            index.command("calibrate", query)
        kept = self.conn.execute("SELECT data FROM doc_vec_block WHERE segment = -2 ORDER BY number").fetchall()
        self.assertEqual([list(array.array("f", data)) for data, in kept], [float32(vector) for vector in vectors[:2]])
        with self.assertRaisesRegex(Exception, "needs a query"):
            index.command("calibrate")
        self.assertEqual(self.conn.execute("SELECT tag, count(*) FROM doc GROUP BY tag ORDER BY tag").fetchall(),
                         [(None, 9), ("new", 20), ("old", 57)])
        index.upsert([100], columns={"tag": ["changed"]})
        self.check(index, rows)
        self.assertEqual(self.conn.execute("SELECT tag FROM doc WHERE id = 100").fetchall(), [("changed",)])
        reopened = self.glove.Index(self.conn, "doc")
        self.assertEqual(reopened.columns, ["tag"])
        self.check(reopened, rows)

    def test_statements_are_checked_and_migrations_repaired(self):
        docs = self.glove.index(self.conn, "doc", [1, 2], [[1, 0], [0, 1]])
        unchecked = self.glove.index(self.conn, "other", [1, 2], [[1, 0], [0, 1]], check="no")
        for table, refused in (("doc", True), ("other", False)):
            try:
                self.conn.execute(f"INSERT INTO {table} VALUES (3, x'00')")
                self.assertFalse(refused)
                self.conn.execute(f"DELETE FROM {table} WHERE id = 3")
            except Exception as error:
                self.assertIn("no BLOB of 4 bytes per component", str(error))
                self.assertTrue(refused)
        self.assertEqual(self.glove.repair(self.conn), [])
        for statement in ("CREATE TABLE new_doc(id INTEGER PRIMARY KEY, vector BLOB, tag)", "INSERT INTO new_doc SELECT *, 1 FROM doc", "DROP TABLE doc",
                          "ALTER TABLE new_doc RENAME TO doc", "UPDATE doc SET vector = (SELECT vector FROM doc WHERE id = 1) WHERE id = 2"):
            self.conn.execute(statement)
        with self.assertRaisesRegex(Exception, "glove_repair"):
            docs.search([1, 0])
        self.glove.load(self.conn, repair=True)
        self.assertEqual(docs.search([1, 0]), [(1, 1.0), (2, 1.0)])
        self.assertEqual([row[0] for row in unchecked.search([1, 0])], [1, 2])

    def test_rows_that_could_never_be_found_are_refused_at_once(self):
        def refused(index, part, vectors, ids=None):
            rows, changes = index.conn.execute(f"SELECT * FROM {index.table}").fetchall(), index.conn.total_changes
            for write in (index.add, index.upsert) if ids else (index.add,):
                with self.subTest(part), self.assertRaisesRegex(ValueError, part):
                    write(ids, vectors)
            self.assertEqual(index.conn.execute(f"SELECT * FROM {index.table}").fetchall(), rows)
            return index.conn.total_changes - changes
        docs = self.glove.index(self.conn, "doc", [1, 2], [[1, 0, 0], [0, 1, 0]])
        empty = self.glove.index(self.conn, "empty", None, [])
        for ids in (None, [7, 8]):
            self.assertEqual(refused(docs, "row 1 of vectors has 2 components, but the index has 3 dimensions", [[1, 1, 1], [1, 1]], ids), 0)
            self.assertEqual(refused(docs, "row 0 of vectors has nan as the component 2", [[1, math.nan, 1], [1, 1, 1]], ids), 0)
            self.assertEqual(refused(docs, "row 1 of vectors has -inf as the component 3", ((1, 1, 1), (1, 1, -math.inf)), ids), 0)
            self.assertEqual(refused(docs, "row 1 of vectors has inf as the component 1", [[1, 1, 1], [1e39, 1, 1]], ids), 0)
            self.assertEqual(refused(empty, "row 1 of vectors has 2 components, but the index has 3", [[1, 1, 1], [1, 1]], ids), 0)
        refused(docs, "row 0 of vectors has 1.75 components", [b"1234567", None])
        empty.add(None, [None, [1, 2], None])
        refused(empty, "row 2 of vectors has 3 components, but the index has 2", [None, [3, 4], [1, 2, 3]])
        empty.add(None, [[3, 4]])
        self.assertEqual([row[0] for row in empty.search([3, 4])], [4, 2])
        # Another model's vectors replace all, or none.
        with self.assertRaisesRegex(ValueError, "2 components, but rows of 'doc' that are not given have another number"):
            docs.upsert([1, 3], [[1, 0], [0, 1]])
        self.assertEqual(docs.search([1, 0, 0], 1), [(1, 1.0)])
        docs.upsert([1, 2], [[1, 0], None])
        docs.command("rebuild")
        self.assertEqual(docs.search([1, 0]), [(1, 1.0)])
        skips = self.glove.index(self.conn, "skips", None, [[1, 0], [0, 1]], invalid="skip")
        skips.add(None, [[1, 1, 1], [math.nan, 1], [1, 1]])
        skips.sync()
        self.assertEqual([row[0] for row in skips.search([1, 1], 9)], [5, 1, 2])

    def test_rows_of_one_component_in_lists(self):
        """Of some there are no bounds, and similarities are 1 or -1: their calibration must be one that is read again."""
        vectors = [[self.source.gauss(0, 1)] for _ in range(3000)]
        index = self.glove.index(self.conn, "doc", None, vectors, lists="60")
        index.command("integrity-check")
        self.assertEqual([row[1] for row in index.search(vectors[5], 3, recall=0.9)], [1.0] * 3)

    def test_a_long_log_is_synced(self):
        index = self.glove.index(self.conn, "doc", None, [[1, 0]])
        logged = "SELECT count(*) FROM doc_vec_log"
        index.add(vectors=[[0, 1]] * 10_000)
        self.assertEqual(self.conn.execute(logged).fetchone(), (10_000,))
        index.add(vectors=[[0, 1]])
        self.assertEqual(self.conn.execute(logged).fetchone(), (0,))

    def test_all_or_nothing_in_a_transaction_of_its_own_or_in_the_open_one(self):
        path = os.path.join(self.folder(), "docs.db")
        conn, other = self.connect(path), self.connect(path)
        with self.assertRaisesRegex(sqlite3.OperationalError, "no such model|no model"):
            self.glove.index(conn, "doc", columns={"body": ["x"]}, text="body", model="nosuchmodel")
        self.assertFalse(conn.in_transaction)
        self.assertEqual(other.execute("SELECT * FROM sqlite_master").fetchall(), [])
        index = self.glove.index(conn, "doc", [1, 2], [[1, 0], [0, 1]])
        self.assertEqual(other.execute("SELECT count(*) FROM doc").fetchone(), (2,))
        with self.assertRaises(sqlite3.IntegrityError):
            index.add([3, 1], [[1, 1], [1, 1]])
        self.assertEqual(other.execute("SELECT count(*) FROM doc").fetchone(), (2,))
        conn.execute("BEGIN")
        index.add([3], [[1, 1]])
        with self.assertRaises(sqlite3.IntegrityError):
            index.add([4, 1], [[1, 1], [1, 1]])
        self.assertEqual(other.execute("SELECT count(*) FROM doc").fetchone(), (2,))
        conn.commit()
        self.assertEqual(other.execute("SELECT id FROM doc").fetchall(), [(1,), (2,), (3,)])

    def folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def test_errors_name_what_is_wrong(self):
        def must_raise(kind, part, *arguments, **options):
            with self.subTest(part), self.assertRaisesRegex(kind, part):
                self.glove.index(self.conn, "doc", *arguments, **options)
            self.assertEqual(self.conn.execute("SELECT * FROM sqlite_master").fetchall(), [])
        must_raise(TypeError, r"index\(\): the id 'a' is not an integer", [1, "a"], [[1], [2]])
        must_raise(TypeError, "the id 7 is a int, but the id 'a' is a str; a key has one type", ["a", 7], [[1], [2]])
        must_raise(TypeError, r"the id \[1\] is not an integer", [[1]], [[1]])
        must_raise(ValueError, "ids has the columns a; a key of one column is given as a list", {"a": [1]}, [[1]])
        must_raise(ValueError, "index_columns has 'nosuch', which is no column of 'doc'; those are vector", None, [[1]], index_columns=["nosuch"])
        must_raise(ValueError, "if_exists is 'replace'; it must be", None, [[1]], if_exists="replace")
        must_raise(TypeError, "the id True", [True], [[1]])
        must_raise(ValueError, "id 2, vector 1", [1, 2], [[1]])
        must_raise(ValueError, "t 3", [1, 2], [[1], [2]], {"t": list("abc")})
        must_raise(ValueError, "ids has 7 more than once; leave ids out", [7, 8, 7], [[1], [2], [3]])
        must_raise(ValueError, "two columns named 'T'", [1], [[1]], {"t": [1], "T": [2]})
        must_raise(ValueError, "an index needs vectors, or text", [1])
        must_raise(TypeError, "1.5 is not a vector", [1, 2], [1.5, 2])
        must_raise(ValueError, "cannot have the name 'Similarity'", None, [[1]], {"Similarity": [1]})
        must_raise(TypeError, r"the column 't' has the value \[1\]", None, [[1]], {"t": [[1]]})
        must_raise(sqlite3.OperationalError, "has a vector of 1 component, but the index has 2", None, [[1, 2], [1]])
        must_raise(sqlite3.OperationalError, "there is no argument", None, [[1]], nosuchargument="x")
        must_raise(ValueError, "cannot be an argument", None, [[1]], content="x")
        must_raise(TypeError, "columns is a list; it must be a dict", None, [[1]], ["a"])
        if optional("pandas"):
            must_raise(TypeError, "columns is a Series", None, [[1]], optional("pandas").Series(["a"], name="t"))
        with self.assertRaisesRegex(ValueError, r"no index 'doc', nor one of a table of this name; sqlite_glove.index\(conn, 'doc', ...\) makes"):
            self.glove.Index(self.conn, "doc")
        self.conn.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, embedding BLOB)")
        with self.assertRaisesRegex(ValueError, "no index 'doc', .* make one by CREATE VIRTUAL TABLE .* the columns of 'doc' are id, embedding"):
            self.glove.Index(self.conn, "doc")
        with self.assertRaisesRegex(ValueError, "no index 'other' of 'doc'"):
            self.glove.Index(self.conn, "doc", name="other")
        with self.assertRaisesRegex(ValueError, r"the table 'doc' exists already; open its index by sqlite_glove.Index\(conn, 'doc'\)"):
            self.glove.index(self.conn, "doc", vectors=[[1]])
        docs = self.glove.index(self.conn, "other", vectors=[[1]])
        with self.assertRaisesRegex(TypeError, "search\\(\\) has no input 'filter'.*where and params"):
            docs.search([1], filter={"lang": "en"})
        for unloaded in (lambda conn: self.glove.index(conn, "doc", vectors=[[1]]), lambda conn: self.glove.Index(conn, "doc")):
            with self.assertRaisesRegex(RuntimeError, r"call sqlite_glove.load\(conn\) first"):
                unloaded(sqlite3.connect(":memory:"))

    def test_what_new_users_typed_and_what_to_type_instead(self):
        docs = self.glove.index(self.conn, "doc", [1, 2], [[1, 0], [0, 1]], {"t": ["a", "b"], "file": [pathlib.Path("x/a.md"), None]})
        self.assertEqual(docs.search([1, 0], 1), [(1, 1.0, "a", os.path.join("x", "a.md"))])
        long = [0.5] * 1000
        for part, call in (
                (r"the column 't' is 'new'; it must have one value for each row, such as \['new'\]$", lambda: docs.add([3, 4, 5], [[1, 1]] * 3, {"t": "new"})),
                (r"the column 't' is 7; .* such as \[7\]$", lambda: docs.add([3], [[1, 1]], {"t": 7})),
                (r"the argument ids is 3; .* such as \[3\]$", lambda: docs.add(3, [[1, 1]])),
                (r"the argument ids is '34'; ", lambda: docs.upsert("34", [[1, 1], [1, 1]])),
                (r"^add\(\): nan is not a vector; .*; None stands for a row without a vector$", lambda: docs.add([3, 4], [[1, 1], math.nan])),
                (r"^add\(\): '\[0.5, .{,40}\]' is not a vector; .*; parse it, for example by json.loads$", lambda: docs.add([3], [json.dumps(long)])),
                (r"^search\(\): the vector \[\[0.5, .{,60} has a component that is not a number; a vector is a sequence", lambda: docs.search([long])),
                (r"^add\(\): the column 't' has the value \[0.5, .{,60}, which SQLite cannot store; .* leave their column out", lambda: docs.add([3], [[1, 1]], {"t": [long]})),
                (r"params=\['en'\]", lambda: docs.search([1, 0], where="t = ?", params="a")),
                (r"columns=\['title'\]", lambda: docs.search([1, 0], columns="t"))):
            with self.subTest(part), self.assertRaisesRegex(TypeError, part):
                call()
        with self.assertRaisesRegex(ValueError, r"^search\(\): where is 't = \?', but params has 0 values; params must have one for each \?$"):
            docs.search([1, 0], where="t = ?")
        self.assertEqual([row[0] for row in docs.search([1, 0])], [1, 2])

    def test_load_names_a_python_that_has_extensions(self):
        class Bare(sqlite3.Connection):
            enable_load_extension = None  # as in Pythons that are built without
        conn = Bare(":memory:")
        self.addCleanup(conn.close)
        with self.assertRaisesRegex(RuntimeError, "without loadable extensions. Install apsw .*: /usr/bin/python3 -m venv env$"):
            self.glove.load(conn)

    @unittest.skipUnless(optional("numpy"), "there is no NumPy")
    def test_numpy_shapes_types_and_numbers(self):
        import numpy
        for wrong in (numpy.zeros((2, 3, 4)), numpy.zeros(3), numpy.zeros((2, 3), complex), numpy.array([["a", "b"]])):
            with self.subTest(wrong), self.assertRaises((ValueError, TypeError)):
                self.glove.index(self.conn, "doc", vectors=wrong)
            self.assertEqual(self.conn.execute("SELECT * FROM sqlite_master").fetchall(), [])
        for wrong in (numpy.zeros((5, 0)), numpy.zeros((5, 0), "f4"), [[], []], (numpy.zeros(0), numpy.zeros(0))):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, "a vector has one component or more"):
                self.glove.index(self.conn, "doc", vectors=wrong)
            self.assertEqual(self.conn.execute("SELECT * FROM sqlite_master").fetchall(), [])
        self.assertEqual(self.glove.index(self.conn, "none", vectors=numpy.zeros((0, 4))).search([1, 0]), [])
        ids = [numpy.int64(3), numpy.uint8(5)]
        docs = self.glove.index(self.conn, "doc", ids, numpy.eye(2))
        self.assertEqual(docs.search(numpy.array([1, 0]), numpy.int32(1)), [(3, 1.0)])
        self.assertEqual(docs.search([0, 1], 2, among=ids[:1]), [(3, 0.0)])
        for wrong in (numpy.eye(2), numpy.array(1.0), numpy.array([1, 1j])):
            with self.subTest(wrong), self.assertRaises((ValueError, TypeError)):
                docs.search(wrong)
        with self.assertRaisesRegex(ValueError, r"shape \(1, 2\) was given; a vector has one dimension, as array\[0\] has$"):
            docs.search(numpy.ones((1, 2)))
        with self.assertRaisesRegex(ValueError, r"shape \(2,\) was given; vectors have two dimensions, a row for each vector, as \[vector\] has$"):
            docs.add([9], numpy.ones(2))
        for k in (-1, 1.5, True, None, "1"):
            for where in (None, "1"):
                with self.subTest(k), self.assertRaisesRegex(ValueError, "it must be a number of rows"):
                    docs.search([0, 1], k, where=where)
        docs.delete(numpy.int64(3))
        self.assertEqual(docs.search([1, 0], 2), [(5, 0.0)])

    @unittest.skipUnless(optional("numpy"), "there is no NumPy")
    def test_what_a_masked_array_masks_is_missing(self):
        import numpy
        vectors = numpy.ma.masked_array([[1, 0], [0, 1], [1, 1]], [[0, 0], [1, 1], [0, 0]])
        names = numpy.ma.masked_array([7, 8, 9], [0, 0, 1])
        for number, given in enumerate((vectors, vectors.astype("f8"), list(vectors))):
            docs = self.glove.index(self.conn, f"doc{number}", None, given, {"n": names})
            self.assertEqual([(row[0], row[2]) for row in docs.search([1, 0])], [(1, 7), (3, None)])
            docs.add(None, given)
            self.assertEqual([row[0] for row in docs.search([1, 0])], [1, 4, 3, 6])
        part = numpy.ma.masked_array([[1, 0], [0, 1]], [[0, 0], [1, 0]])
        for write in (lambda given: self.glove.index(self.conn, "part", None, given), lambda given: docs.add(None, given)):
            with self.assertRaisesRegex(ValueError, "row 1 of vectors has 1 masked components of 2"):
                write(part)
            with self.assertRaisesRegex(ValueError, "the vector has 1 masked components of 2"):
                write(list(part))
        with self.assertRaisesRegex(ValueError, "masked components"):
            docs.search(part[1])
        with self.assertRaisesRegex(TypeError, "the id None is not an integer"):
            docs.add(names, vectors)
        with self.assertRaisesRegex(TypeError, "the id None is not an integer"):
            docs.search([1, 0], among=names)

    def test_the_column_named_glove_key_keeps_its_values(self):
        docs = self.glove.index(self.conn, "doc", [1, 2], [[1, 0], [0, 1]], {"glove_key": ["a", "b"], "Glove_Key_": [7, 8]})
        self.assertEqual([(row[0], *row[2:]) for row in docs.search([1, 0], 2, where="glove_key >= 'a'")], [(1, "a", 7), (2, "b", 8)])

    def test_texts(self):
        folder = self.folder()
        text, model = os.path.join(folder, "m.txt"), os.path.join(folder, "m.safetensors")
        with open(text, "w", encoding="utf-8") as file:
            file.write("rain 1 0 0\nstorm 0.9 0.1 0\nbank 0 1 0\nrates 0 0.9 0.2\n")
        subprocess.run([OPTIONS.convert, "-q", text, model], check=True)
        self.conn.execute("SELECT glove_load(?, 'tiny')", (model,))
        body = 'the "body", in full'
        index = self.glove.index(self.conn, "note", None, columns={"title": ["Weather", "Money"], body: ["rain", "bank rates"]},
                                 text=["title", body], model="tiny", options={"components": 0})
        self.assertEqual([row[2] for row in index.search("storm", 1)], ["Weather"])
        index.add(columns={"title": ["More"], body: ["storm"]})
        self.assertEqual([row[0] for row in index.search("storm", 1)], [3])
        with self.assertRaisesRegex(ValueError, "index of texts"):
            index.add(vectors=[[1, 2, 3]])
        self.conn.execute("SELECT glove_unload('tiny')")
        for given in model, pathlib.Path(model):
            again = self.glove.index(self.conn, "again", texts=["rain", "bank rates"], columns={"no": [7, 8]}, model=given,
                                     options={"components": 0})
            self.assertEqual([row[2:] for row in again.search("storm", 1)], [("rain", 7)])
            self.conn.execute("SELECT glove_unload('m')")
            again = self.glove.index(self.conn, "again", model=given, if_exists="open")
            self.assertEqual([row[2:] for row in again.search("rates", 1)], [("bank rates", 8)])
            self.conn.execute("SELECT glove_unload('m')")
            again.drop(table=True)

    def test_progress(self):
        seen = []
        self.glove.index(self.conn, "doc", None, [[1]] * 9000, progress=lambda done, total: seen.append((done, total)))
        self.assertEqual(seen[0], (0, 9000))
        self.assertEqual(seen[-1], (9000, 9000))
        self.assertEqual(seen, sorted(seen))

    def test_in_temp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "doc.db")
        for vectors in ([[1, 0], [0, 1], [1, 1]], None):  # the second one opens what the first one has made
            conn = sqlite3.connect(path)
            self.addCleanup(conn.close)
            self.glove.load(conn)
            index = self.glove.index(conn, "doc", ["a", "b", "c"], vectors, {"t": [1, 2, 3]}, temp=True) if vectors else self.glove.Index(conn, "doc")
            self.assertEqual(index.search([1, 0], 1, where={"t": [2, 3]}), [("c", 0.7071067811865475, 3)])
            self.assertEqual(index.pairs(min_similarity=0.7).a.tolist(), ["a", "b"])
            conn.commit()
        self.assertEqual(conn.execute("SELECT name FROM sqlite_master WHERE sql LIKE '%VIRTUAL%'").fetchall(), [])
        conn.execute("CREATE TEMP TABLE doc(id)")
        with self.assertRaisesRegex(ValueError, "the index temp.doc_vec is that of the table main.doc, but the name 'doc' means temp.doc"):
            self.glove.Index(conn, "doc")

    def test_with_apsw(self):
        apsw = optional("apsw")
        if apsw is None:
            self.skipTest("apsw is not installed (Debian: python3-apsw)")
        script = ("import apsw, sqlite_glove\nconn = apsw.Connection(':memory:')\nsqlite_glove.load(conn)\n"
                  "index = sqlite_glove.index(conn, 'doc', [1, 2], [[1, 0], [0, 1]], {'t': ['a', 'b']})\n"
                  "index.upsert([3], [[1, 1]], {'t': ['c']}); index.delete(1)\n"
                  "print(index.search([1, 0], 2, where='t > ?', params=['a'], rows='dicts'))\n")
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("{'id': 3, 'similarity': 0.7071067811865475, 't': 'c'}, {'id': 2, 'similarity': 0.0, 't': 'b'}", done.stdout)

    def test_command_line(self):
        for arguments, status, part in ((["version"], 0, "0.0\n"), (["path"], 0, os.path.join("sqlite_glove", "glove.so\n")),
                                        ([], 2, "convert ARGUMENTS"), (["--help"], 0, "convert ARGUMENTS"), (["path", "x"], 2, "convert")):
            done = subprocess.run([sys.executable, "-m", "sqlite_glove", *arguments], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(part, done.stderr if status else done.stdout)


def prepare(options, _folder):
    vars(OPTIONS).update(vars(options))
    print(f"repeat with GLOVE_TEST_SEED={SEED}")


if __name__ == "__main__":
    installed.run_tests(prepare)
