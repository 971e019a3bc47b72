"""What a notebook shows of the Python package: test_notebook.py --project FOLDER --extension GLOVE.SO --convert GLOVE-CONVERT

Progress with and without a module tqdm, and an Index as HTML. Skipped if this Python cannot load extensions.
"""
import contextlib
import io
import sqlite3
import sys
import types
import unittest
import xml.etree.ElementTree
from unittest import mock

import installed


class Notebook(unittest.TestCase):
    def setUp(self):
        import sqlite_glove
        self.glove = sqlite_glove
        self.conn = sqlite3.connect(":memory:")
        self.addCleanup(self.conn.close)
        sqlite_glove.load(self.conn)

    def index(self, *arguments, **options):
        return self.glove.index(self.conn, "doc", *arguments, **options)

    def printed(self, modules, run):
        with mock.patch.dict(sys.modules, modules), contextlib.redirect_stderr(io.StringIO()) as stderr:
            run()
        return stderr.getvalue()

    def test_progress_without_tqdm(self):
        without = {"tqdm": None, "tqdm.auto": None}
        docs = []
        self.assertEqual(self.printed(without, lambda: docs.append(self.index(None, [[1]] * 9000, progress=True))), "\r  0 %\r 45 %\r 91 %\r100 %\n")
        self.assertEqual(self.printed(without, lambda: docs[0].upsert([1], [[2]], progress=True)), "\r  0 %\r100 %\n")
        self.assertEqual(self.printed(without, lambda: docs[0].add([], [], progress=True)), "\r100 %\n")
        self.assertEqual(self.printed(without, lambda: docs[0].add([9001], [[1]], progress=False)), "")
        self.conn.execute("CREATE TABLE source(word, vector)")
        self.conn.execute("INSERT INTO source VALUES ('a', ?), ('b', ?)", [self.glove.serialize_float32(one) for one in ((1, 0), (0, 1))])
        self.conn.execute("SELECT glove_load_table('notebook', 'SELECT word, vector FROM source')").fetchall()
        self.addCleanup(self.conn.execute, "SELECT glove_unload('notebook')")
        self.assertEqual(self.printed(without, lambda: self.glove.neighbors(self.conn, ["a"] * 2048, 1, progress=True)), "\r 50 %\r100 %\n")
        with mock.patch.object(sys, "stderr", None):  # as in a program of Windows without a console
            docs[0].upsert([1], [[2]], progress=True)

    def test_progress_with_tqdm(self):
        bars = []

        class Bar:
            def __init__(self, total, unit):
                self.n, self.total, self.unit, self.closed = 0, total, unit, False
                bars.append(self)

            def update(self, by):
                assert not self.closed
                self.n += by

            def close(self):
                self.closed = True
        auto = types.ModuleType("tqdm.auto")
        auto.tqdm = Bar
        having = {"tqdm": types.ModuleType("tqdm"), "tqdm.auto": auto}
        self.assertEqual(self.printed(having, lambda: self.index(None, [[1]] * 9000, progress=True).upsert([1, 2], [[2], [2]], progress=True)), "")
        self.assertEqual([(bar.n, bar.total, bar.unit, bar.closed) for bar in bars], [(9000, 9000, " rows", True), (2, 2, " rows", True)])

    def test_what_is_no_progress(self):
        class Reports(list):
            def __call__(self, *report):
                self.append(report)
        reports = Reports()  # which is false
        docs = self.index([1], [[1]], progress=reports)
        self.assertEqual(reports, [(0, 1), (1, 1)])
        for verb in (lambda: docs.add([2], [[1]], progress="yes"), lambda: docs.sync(progress=7)):
            with self.assertRaisesRegex(TypeError, r"(add|sync)\(\): progress is .*; it must be True or a callable"):
                verb()
        self.assertEqual(len(docs), 1)

    def cells(self, docs):
        """The rows of each table, of which the HTML must be well-formed."""
        tree = xml.etree.ElementTree.fromstring(docs._repr_html_())
        return [[[cell.text or "" for cell in row] for row in table.iter("tr")] for table in tree.iter("table")], [p.text or "" for p in tree.findall("p")]

    def test_an_index_as_html(self):
        titles = ["<b>bold</b> & \"quoted\"", None, "x" * 61, "plain", "e", "f"]
        docs = self.index(list("abcdef"), [[1, 0, 0]] * 6, {"a <title>": titles, "size": range(6), "data": [b"abc"] * 6}, metric="l2")
        facts, rows = self.cells(docs)[0]
        self.assertEqual(facts, [["rows", "dimensions", "metric", "state", "logged"], ["6", "3", "l2", "current", "0"]])
        self.assertEqual(rows, [["id", "a <title>", "size", "data"], ["a", titles[0], "0", "3-byte BLOB"], ["b", "", "1", "3-byte BLOB"],
                                ["c", "x" * 60 + "\u2026", "2", "3-byte BLOB"], ["d", "plain", "3", "3-byte BLOB"], ["e", "e", "4", "3-byte BLOB"]])
        docs.add(["g"], [[0, 1, 0]])
        self.conn.execute("ALTER TABLE doc RENAME COLUMN size TO length")
        self.assertEqual([table[1] for table in self.cells(docs)[0]], [["6", "3", "l2", "changed", "1"], ["a", titles[0], "0", "3-byte BLOB"]])
        self.assertFalse(self.conn.in_transaction)
        wide = self.glove.index(self.conn, "<wide>", None, [[1]], {f"c{column}": [column] for column in range(12)})
        self.assertEqual(self.cells(wide)[0][1], [["id", *(f"c{column}" for column in range(9)), "\u2026"], ["1", *map(str, range(9))]])
        self.assertIn("<b>&lt;wide&gt;_vec</b>", wide._repr_html_())
        empty = self.glove.index(self.conn, "empty", vectors=[])
        self.assertEqual(self.cells(empty)[0], [[["rows", "dimensions", "metric", "state", "logged"], ["0", "", "cosine", "current", "0"]], [["id"]]])

    def test_html_of_what_cannot_be_read(self):
        docs = self.index([1], [[1]], {"title": ["a"]})
        self.conn.text_factory = bytes
        self.assertEqual(self.cells(docs)[0], [[["rows", "dimensions", "metric", "state", "logged"], ["1", "1", "cosine", "current", "0"]],
                                               [["id", "title"], ["1", "1-byte BLOB"]]])
        self.conn.text_factory = str
        self.conn.execute("DROP TABLE doc_vec")
        tables, errors = self.cells(docs)
        self.assertEqual(tables, [[["id", "title"], ["1", "a"]]])
        self.assertEqual(errors[1:], ["there is no index 'doc_vec'; it was dropped or renamed"])
        self.conn.execute("DROP TABLE doc")
        self.assertEqual(self.cells(docs)[1][2:], ["no such table: doc"])
        self.conn.close()
        self.assertEqual(self.cells(docs)[1][1:], ["Cannot operate on a closed database."] * 2)


if __name__ == "__main__":
    installed.run_tests()
