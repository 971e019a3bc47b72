"""The Python package with a neural model: test_neural.py --project FOLDER --extension GLOVE.SO --convert GLOVE-CONVERT

What the verbs return is compared with the cosines of what glove_encode() returns. Skipped without a model or a library (encoder.py).
"""
import argparse
import array
import collections
import math
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import encoder
import installed

OPTIONS = argparse.Namespace()
TEXTS = [f"the {colour} {thing} of {number} {place}" for colour in ("red", "green", "blue") for thing in ("cat", "dog", "bird", "fish")
         for place in ("house", "tree", "river", "stone") for number in range(3)]


class Neural(unittest.TestCase):
    def setUp(self):
        import sqlite_glove
        self.glove = sqlite_glove
        self.conn = self.connect()
        self.execute("SELECT glove_config('encode_limit', 20)")

    def tearDown(self):
        for name, in self.execute("SELECT name FROM glove_models"):
            self.execute("SELECT glove_unload(?)", name)

    def connect(self, path=":memory:", **options):
        conn = sqlite3.connect(path, **options)
        self.glove.load(conn)
        self.addCleanup(conn.close)
        return conn

    def execute(self, sql, *values):
        return self.conn.execute(sql, values).fetchall()

    def file(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.conn = self.connect(os.path.join(folder.name, "notes.db"))
        return os.path.join(folder.name, "notes.db")

    def logged(self):
        return self.execute("SELECT logged FROM glove_indexes")[0][0]

    def expected(self, query, texts):
        """The cosines of a text and others, best first."""
        def vector(text):
            return array.array("f", self.execute("SELECT glove_encode(?)", text)[0][0])

        def cosine(a, b):
            return math.fsum(x * y for x, y in zip(a, b)) / math.sqrt(math.fsum(x * x for x in a) * math.fsum(y * y for y in b))
        asked = vector(query)
        return sorted((cosine(asked, vector(text)) for text in texts), reverse=True)

    def check(self, rows, query, texts):
        for row, cosine in zip(rows, self.expected(query, texts)):
            self.assertAlmostEqual(row[1], cosine, places=5)

    def test_from_nothing_to_a_search(self):
        seen = []
        notes = self.glove.index(self.conn, "note", texts=TEXTS, model=OPTIONS.model, progress=lambda *one: seen.append(one))
        self.assertEqual(self.logged(), 0)
        self.assertFalse(self.conn.in_transaction)
        self.assertEqual(seen[:3], [(0, len(TEXTS)), (len(TEXTS), len(TEXTS)), (0, len(TEXTS))])  # rows, then their texts
        self.assertEqual(seen[-1], (len(TEXTS), len(TEXTS)))
        found = notes.search("a red dog", 5)
        self.assertEqual(len(found), 5)
        self.check(found, "a red dog", TEXTS)
        self.assertEqual(found[0][2], TEXTS[found[0][0] - 1])

    def test_every_search_takes_texts(self):
        notes = self.glove.index(self.conn, "note", texts=TEXTS, model=OPTIONS.model, columns={"place": [text.split()[-1] for text in TEXTS]})
        queries = [f"a {text}" for text in TEXTS[:100]]
        many = notes.search_many(queries, 3)
        self.assertEqual(len(many), 100)
        for query, found in zip(queries[::10], many[::10]):
            self.check(found, query, TEXTS)
            self.assertEqual(found, notes.search(query, 3))
        here = [text for text in TEXTS if text.endswith("tree")]
        self.check(notes.search("fish", 4, where={"place": "tree"}), "fish", here)
        self.execute("CREATE VIRTUAL TABLE note_fts USING fts5(text, content=note, content_rowid=id)")
        self.execute("INSERT INTO note_fts(note_fts) VALUES ('rebuild')")
        self.conn.commit()
        gains = collections.Counter()
        by_text = self.execute("SELECT rowid FROM note_fts WHERE note_fts MATCH 'red OR fish' ORDER BY rank, rowid")
        for ranking in by_text, notes.search("red fish", 100):
            for place, row in enumerate(ranking, 1):
                gains[row[0]] += 1 / (60 + place)
        for row, score in zip(notes.search("red fish", 5, hybrid="note_fts"), sorted(gains.values(), reverse=True)):
            self.assertAlmostEqual(row[1], score)
        self.assertEqual(notes.search("red fish", 1, diversity=0.5), notes.search("red fish", 1))
        self.assertEqual(len(notes.search("red fish", 5, hybrid="note_fts", diversity=0.5)), 5)
        like = notes.like(1, 3)
        self.assertNotIn(1, [row[0] for row in like])
        self.check(like, TEXTS[0], TEXTS[1:])

    def test_like_takes_the_vector_of_the_row(self):
        self.execute("SELECT glove_load(?, 'prompted', ?)", OPTIONS.model, '{"query_prompt": "small yellow paper letters: "}')
        notes = self.glove.index(self.conn, "note", texts=TEXTS, model="prompted")
        like = notes.like(1, 3)
        self.check(like, TEXTS[0], TEXTS[1:])
        self.assertNotEqual(like, [row for row in notes.search(TEXTS[0], 4) if row[0] != 1][:3])
        self.execute("SELECT glove_unload('prompted')")
        with self.assertRaisesRegex(sqlite3.OperationalError, r"model=PATH\) loads it"):
            notes.like(1)

    def test_a_search_encodes_what_has_changed(self):
        notes = self.glove.index(self.conn, "note", texts=TEXTS[:30], model=OPTIONS.model)
        notes.add(columns={"text": TEXTS[30:]})
        self.assertEqual(self.logged(), len(TEXTS) - 30)
        self.check(notes.search("blue bird", 9), "blue bird", TEXTS)
        self.assertEqual(self.logged(), 0)
        notes.upsert([1], columns={"text": ["a stone"]})
        self.check(notes.search("blue bird", 9), "blue bird", ["a stone", *TEXTS[1:]])
        self.assertEqual(self.logged(), 1)  # so few that the search encodes them for itself

    def test_an_interrupt_loses_one_piece(self):
        self.file()
        seen = []

        def progress(done, total):
            seen.append((done, total))
            if len(seen) == 4:
                raise KeyboardInterrupt
        with self.assertRaises(KeyboardInterrupt):
            self.glove.index(self.conn, "note", texts=TEXTS, model=OPTIONS.model, progress=progress)
        self.assertFalse(self.conn.in_transaction)
        left = len(TEXTS) - seen[-1][0]
        self.assertTrue(0 < left < len(TEXTS), seen)
        self.assertEqual(self.logged(), left)
        more = []
        notes = self.glove.index(self.conn, "note", model=OPTIONS.model, if_exists="open", progress=lambda *one: more.append(one))
        self.assertEqual((more[0], more[-1]), ((0, left), (left, left)))
        self.assertEqual(self.logged(), 0)
        self.check(notes.search("green fish", 5), "green fish", TEXTS)

    def test_where_a_search_cannot_write_the_error_names_who_must(self):
        path = self.file()
        notes = self.glove.index(self.conn, "note", texts=TEXTS[:1], model=OPTIONS.model)
        notes.add(columns={"text": TEXTS[1:]})
        self.conn.execute("BEGIN")
        with self.assertRaisesRegex(sqlite3.OperationalError, r"more than 20 texts .* open transaction; .*'note_vec'\)\.sync\(\)"):
            notes.search("fish")
        with self.assertRaisesRegex(sqlite3.OperationalError, "open transaction"):
            notes.search_many(["fish"])
        self.conn.rollback()
        reader = self.connect(f"file:{path}?mode=ro", uri=True)
        with self.assertRaisesRegex(sqlite3.OperationalError, r"cannot write \(attempt to write a readonly database\); .*sync\(\)"):
            self.glove.Index(reader, "note").search("fish")
        other = self.connect(path, timeout=0)
        self.conn.execute("BEGIN IMMEDIATE")
        with self.assertRaisesRegex(sqlite3.OperationalError, r"cannot write \(database is locked\)"):
            self.glove.Index(other, "note").search("fish")
        self.conn.rollback()
        notes.sync()
        self.assertEqual(len(self.glove.Index(reader, "note").search("fish", 3)), 3)

    def test_in_a_transaction_nothing_is_committed(self):
        self.conn.execute("BEGIN")
        notes = self.glove.index(self.conn, "note", texts=TEXTS, model=OPTIONS.model)
        self.assertTrue(self.conn.in_transaction)
        self.check(notes.search("fish", 3), "fish", TEXTS)
        self.conn.rollback()
        self.assertEqual(self.execute("SELECT count(*) FROM sqlite_master")[0][0], 0)

    def test_a_path_is_loaded_once_by_the_name_of_the_index(self):
        name = os.path.basename(OPTIONS.model)
        self.glove.index(self.conn, "note", texts=TEXTS[:3], model=OPTIONS.model)
        self.assertEqual(self.execute("SELECT name FROM glove_models"), [(name,)])
        self.glove.index(self.conn, "again", texts=TEXTS[:3], model=OPTIONS.model + "/")
        self.glove.index(self.conn, "named", texts=TEXTS[:3], model=name)
        self.assertEqual(self.execute("SELECT name FROM glove_models"), [(name,)])
        self.execute("SELECT glove_load(?, 'other')", OPTIONS.model)
        self.glove.index(self.conn, "third", texts=TEXTS[:3], model="other")
        for one in (name, "other"):
            self.execute("SELECT glove_unload(?)", one)
        with self.assertRaisesRegex(sqlite3.OperationalError, r"no model 'other'.*Index\(conn, 'third_vec', model=PATH\)"):
            self.glove.Index(self.conn, "third").search("fish")
        self.assertEqual(len(self.glove.Index(self.conn, "third", model=OPTIONS.model).search("fish", 2)), 2)
        self.assertEqual(self.execute("SELECT name FROM glove_models"), [("other",)])
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(OPTIONS.model, os.path.join(folder, "link"))
            os.makedirs(os.path.join(folder, "other"))
            with self.assertRaisesRegex(ValueError, "the model 'other' is loaded from .* already"):
                self.glove.index(self.conn, "bad", texts=["a"], model=os.path.join(folder, "other"))
            self.glove.index(self.conn, "linked", texts=["a"], model=os.path.join(folder, "link"))
        with self.assertRaisesRegex(sqlite3.OperationalError, "cannot open '/nosuch/model'"):
            self.glove.index(self.conn, "bad", texts=["a"], model="/nosuch/model")

    def test_arguments(self):
        for arguments, message in (({"columns": {"TEXT": ["b"]}}, "columns has 'text'"), ({"texts": [1]}, "no text"),
                                   ({"model": 3}, "expected str, bytes or os.PathLike"), ({"columns": [1]}, "must be a dict")):
            with self.assertRaisesRegex((TypeError, ValueError), message):
                self.glove.index(self.conn, "bad", **{"texts": ["a"], "model": OPTIONS.model, **arguments})
        self.assertEqual(self.execute("SELECT count(*) FROM sqlite_master")[0][0], 0)

    def test_load_finds_the_package_and_imports_nothing(self):
        script = ("import sqlite3, sys, sqlite_glove\nconn = sqlite3.connect(':memory:')\nsqlite_glove.load(conn)\n"
                  "print(conn.execute(\"SELECT glove_config('onnxruntime')\").fetchone()[0], 'onnxruntime' in sys.modules)\n")

        def printed(**environment):
            given = {name: value for name, value in os.environ.items() if name != "GLOVE_ONNXRUNTIME"}
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False,
                                  env={**given, "PYTHONPATH": os.pathsep.join([folder, os.environ["PYTHONPATH"]]), **environment})
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout
        with tempfile.TemporaryDirectory() as folder:
            library = os.path.join(folder, "onnxruntime/capi/libonnxruntime.so.1.99.0")
            os.makedirs(os.path.dirname(library))
            for path in (library, os.path.join(folder, "onnxruntime/capi/libonnxruntime_providers_shared.so")):
                with open(path, "wb"):
                    pass
            with open(os.path.join(folder, "onnxruntime/__init__.py"), "w", encoding="utf-8") as file:
                file.write("raise SystemExit('imported')\n")
            self.assertEqual(printed(), f"{library} False\n")
            self.assertEqual(printed(GLOVE_ONNXRUNTIME="/a/library"), "/a/library False\n")


def prepare(options, folder):
    os.environ["GLOVE_ONNXRUNTIME"], OPTIONS.model = encoder.find(options.project, folder)


if __name__ == "__main__":
    installed.run_tests(prepare)
