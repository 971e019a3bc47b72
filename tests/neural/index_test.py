"""Indexes of texts whose vectors a neural model makes, beside a search that encodes every row: index_test.py GLOVE_SO [FOLDER]"""
import ctypes
import json
import os
import signal
import sqlite3
import subprocess
import sys
import unittest

import numpy

import neural
from neural import NeuralTest, connect

SYNC = "INSERT INTO note_vec(note_vec) VALUES ('sync')"
ANSWER = "SELECT id, similarity, rank FROM note_vec WHERE query = ? AND k = ?"


def runs_of_fake():
    """How many texts the library has encoded that only looks like ONNX Runtime."""
    return 0 if neural.ENVIRONMENT else ctypes.CDLL(neural.LIBRARY).fake_runs()


class IndexTest(NeuralTest):
    def setUp(self):
        super().setUp()
        self.make()
        self.load()
        self.ask("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT, body TEXT)")

    def fill(self, rows, start=0):
        self.db.executemany("INSERT INTO note(id, title) VALUES (?, ?)", ((start + 3 * i, self.text()) for i in range(rows)))

    def create(self, arguments="model='m'", name="note_vec", text="title", content="note"):
        self.ask(f"CREATE VIRTUAL TABLE {name} USING glove_index(content='{content}', rowid='id', text='{text}', {arguments})")

    def brute(self, query, k=-1, text="title", model="m", where="1"):
        return self.ask("SELECT id, s, row_number() OVER (ORDER BY s DESC, id) FROM "
                        f"(SELECT id, cos_sim(glove_encode({text}, ?1), ?2) AS s FROM note WHERE {where}) WHERE s IS NOT NULL ORDER BY s DESC, id LIMIT ?3",
                        model, query if isinstance(query, bytes) else self.one("SELECT glove_encode(?, ?)", query, model), k)

    def expect_current(self, **options):
        for k in (1, 4, 1000):
            query = self.text(3)
            self.assertEqual(self.ask(ANSWER, query, k), self.brute(query, k, **options))

    def logged(self):
        return self.one("SELECT logged FROM glove_indexes")

    def test_answers_are_those_of_a_search_that_encodes_all(self):
        self.fill(150)
        self.create()
        self.expect_current()
        self.assertEqual(self.ask(ANSWER, self.one("SELECT glove_encode('cat dog')"), 9), self.ask(ANSWER, "cat dog", 9))
        self.assertEqual(len(self.ask(ANSWER, "cat", 100000)), 150)
        self.ask("INSERT INTO note_vec(note_vec) VALUES ('integrity-check')")

    def test_answers_follow_the_rows(self):
        self.fill(60)
        self.create()
        for _ in range(12):
            for _ in range(self.random.integers(1, 6)):
                id = int(self.random.integers(0, 200))
                self.ask(*[("INSERT OR REPLACE INTO note(id, title) VALUES (?, ?)", id, self.text()),
                           ("UPDATE note SET title = ?2 WHERE id > ?1 - 9 AND id < ?1", id, self.text()),
                           ("DELETE FROM note WHERE id BETWEEN ? AND ? - length('')", id, id + 4),
                           ("UPDATE OR REPLACE note SET id = id + 1 WHERE id BETWEEN ? AND ?", id, id + 6),
                           ("INSERT OR REPLACE INTO note(id, title) VALUES (?, NULLIF(?, ''))", id, "")][self.random.integers(5)])
            self.expect_current()
            if self.random.integers(3) == 0:
                self.ask("INSERT INTO note_vec(note_vec) VALUES (?)", str(self.random.choice(["sync", "sync=2", "merge", "rebuild", "repair"])))
                self.expect_current()
        self.ask("INSERT INTO note_vec(note_vec) VALUES ('integrity-check')")

    def test_threads_change_no_bit(self):
        self.fill(50)
        vectors = []
        for threads in ("1", "2", "5"):
            self.ask("SELECT glove_config('threads', ?)", threads)
            self.create()
            vectors.append((self.ask("SELECT glove_encode(title) FROM note"), self.ask(ANSWER, "cat", 50),
                            self.ask("SELECT * FROM note_vec_vector ORDER BY 1, 2")))
            self.ask("DROP TABLE note_vec")
        self.assertEqual(vectors[0], vectors[1])
        self.assertEqual(vectors[0], vectors[2])

    def test_a_gpu_runs_texts_of_one_length_together(self):
        """With a library that looks like one with a CUDA provider, which takes no TF32."""
        self.ask("SELECT glove_config('onnxruntime', ?)", neural.compiled("onnxruntime"))
        self.load("m")
        library = neural.compiled("cuda", "-DCUDA")
        runs = ctypes.CDLL(library).fake_runs
        self.ask("SELECT glove_config('onnxruntime', ?)", library)
        self.ask("SELECT glove_config('onnxruntime_provider', 'cuda')")
        self.ask("SELECT glove_load(?, 'g')", self.path("m"))
        self.fill(300)
        self.db.executemany("INSERT INTO note(title) VALUES (?)", ((self.text(words),) for words in self.random.integers(1, 20, 200)))
        self.db.executemany("INSERT INTO note(title) VALUES (?)", [("cat " * 8000,), ("dog " * 8000,), ("",), (None,)])
        before = runs()
        self.create("model='g'")
        self.assertLess(runs() - before, 150)
        self.create("model='m'", name="other_vec")
        for table in ("SELECT id, vectors FROM {}_vector ORDER BY id", "SELECT id, similarity, rank FROM {} WHERE query = 'cat dog' AND k = 600"):
            self.assertEqual(self.ask(table.format("note_vec")), self.ask(table.format("other_vec")))
        self.ask("INSERT INTO note_vec(note_vec) VALUES ('integrity-check')")

    def test_a_text_that_fails_on_a_gpu_fails_alone(self):
        with open(self.path("m/tokenizer.json"), encoding="utf-8") as file:
            tokenizer = json.load(file)
        tokenizer["model"]["vocab"]["zebra"] = 5000
        with open(self.path("m/tokenizer.json"), "w", encoding="utf-8") as file:
            json.dump(tokenizer, file)
        self.ask("SELECT glove_config('onnxruntime', ?)", neural.compiled("cuda", "-DCUDA"))
        self.ask("SELECT glove_config('onnxruntime_provider', 'cuda')")
        self.load()
        self.db.executemany("INSERT INTO note(id, title) VALUES (?, ?)", ((i, "zebra" if i in (3, 30) else str(self.random.choice(["cat", "dog"]))) for i in range(60)))
        with self.assertRaisesRegex(sqlite3.Error, "has a text without a vector: ONNX Runtime: an id is out of bounds"):
            self.create()
        self.create("model='m', invalid='skip'")
        self.assertEqual([id for id, in self.ask("SELECT id FROM note_vec WHERE query = 'cat' ORDER BY id")], [i for i in range(60) if i not in (3, 30)])

    def test_two_columns_and_values_of_every_type(self):
        values = [None, "", 7, 2.5, b"\xff\x00cat", "a\0cat", b"cat \xc3\x28", "cat " * 300, "\u00e9\u4e2d\U0001f600", b"", "\ud800".encode("utf8", "surrogatepass")]
        for i, value in enumerate(values):
            self.ask("INSERT INTO note VALUES (?, ?, ?)", i, value, values[-i])
        self.ask("INSERT INTO note VALUES (100, CAST(x'63ff6174' AS TEXT), 'dog')")
        text = "coalesce(CAST(title AS TEXT), '') || char(10) || coalesce(CAST(body AS TEXT), '')"
        self.ask("INSERT INTO note VALUES (101, NULL, NULL)")
        self.create(text="title, body")
        # || ends at a NUL, so these are compared through a table of the texts.
        rows = [row for row in self.brute("cat", text=text) if row[0] not in (0, 4, 5, 6, 7, 101)]
        found = {id: similarity for id, similarity, _ in self.ask(ANSWER, "cat", 100)}
        self.assertEqual(set(found), {*range(1, len(values)), 100})  # a row without any text is in no answer
        for id, similarity, _ in rows:
            self.assertEqual(found[id], similarity, id)
        self.ask("INSERT INTO note_vec(note_vec) VALUES ('integrity-check')")

    def test_prompts_of_rows_and_queries(self):
        self.make("p", prompts={"query": "query: ", "document": "passage: "})
        self.load("p")
        self.fill(40)
        self.create("model='p'")
        rows = [(self.one("SELECT cos_sim(glove_encode(?, 'm'), glove_encode(?, 'm'))", "passage: " + title, "query: cat dog"), -id)
                for id, title in self.ask("SELECT id, title FROM note")]
        self.assertEqual(self.ask("SELECT similarity, -id FROM note_vec WHERE query = 'cat dog' AND k = 9"), sorted(rows, reverse=True)[:9])
        self.assertEqual(self.vector("cat", "p").tobytes(), self.vector("passage: cat").tobytes())

    def test_another_query_prompt_needs_no_rebuild(self):
        self.fill(20)
        self.create()
        before = self.ask(ANSWER, "cat", 20)
        self.load(options='{"query_prompt":"query: "}')
        self.assertNotEqual(self.ask(ANSWER, "cat", 20), before)
        self.load(options='{"query_prompt":""}')
        self.assertEqual(self.ask(ANSWER, "cat", 20), before)

    def test_another_model_of_the_name_is_an_error(self):
        self.fill(20)
        self.create()
        before = self.ask(ANSWER, "cat", 5)
        self.load(options='{"dims":9}')
        self.assertRegex(self.error(ANSWER, "cat", 5), "the model 'm' has 9 dimensions, but the index has 32")
        for options in ('{"prompt":"x: "}', '{"document_prompt":"x"}'):
            self.load(options=options)
            self.assertRegex(self.error(ANSWER, "cat", 5), "the model 'm' has the fingerprint .*neural:.*, but the vectors of the index "
                             "were made by one with .*neural:")
        self.ask("SELECT glove_unload('m')")
        self.assertRegex(self.error(ANSWER, "cat", 5), "note_vec: .*there is no model|no model is loaded|note_vec: ")
        self.load()
        self.assertEqual(self.ask(ANSWER, "cat", 5), before)
        self.load(options='{"dims":9}')
        self.ask("INSERT INTO note_vec(note_vec) VALUES ('rebuild')")
        self.expect_current()

    def test_sync_in_pieces(self):
        self.ask("SELECT glove_config('encode_limit', '10')")
        self.fill(37)
        self.create()
        self.assertEqual(self.logged(), 37)
        self.assertRegex(self.error(ANSWER, "cat", 3), "note_vec: more than 10 texts are not encoded yet, .*sync.*encode_limit")
        for left in (27, 17, 7):
            self.ask("INSERT INTO note_vec(note_vec) VALUES ('sync=10')")
            self.assertEqual(self.logged(), left)
        self.expect_current()
        self.ask("DELETE FROM note WHERE id % 2")
        self.ask("INSERT INTO note_vec(note_vec) VALUES ('sync=9223372036854775807')")
        self.assertEqual(self.logged(), 0)
        self.expect_current()
        self.ask("INSERT INTO note_vec(note_vec) VALUES ('integrity-check')")
        for bad in ("sync=0", "sync=-1", "sync=", "sync=1 ", "sync= 1", "sync=9223372036854775808", "sync=1.0", "sync=+1"):
            self.assertRegex(self.error("INSERT INTO note_vec(note_vec) VALUES (?)", bad), "there is no command .*sync=N")

    def test_rows_that_are_deleted_need_no_encoding(self):
        self.fill(50)
        self.create()
        self.ask("SELECT glove_config('encode_limit', '5')")
        self.ask("DELETE FROM note WHERE id > 30")
        self.expect_current()
        self.ask("UPDATE note SET title = title || 'x' WHERE id < 15")
        self.expect_current()  # five
        self.ask("UPDATE note SET title = title || 'y' WHERE id < 18")
        self.assertRegex(self.error(ANSWER, "cat", 3), "more than 5 texts are not encoded yet")

    def test_the_limit_is_that_of_one_search(self):
        self.fill(40)
        self.create()
        self.ask("SELECT glove_config('encode_limit', '6')")
        for i in range(12):
            self.ask("UPDATE note SET title = title || ?1 WHERE id / 3 % 8 = ?1 % 8", i)  # five rows
            self.assertEqual(len(self.ask(ANSWER, "cat", 100)), 40)

    def test_searches_encode_no_row_of_the_index(self):
        """Also where codes are not in memory, and where another connection has made a segment of the logged rows."""
        self.fill(60)
        self.create()
        self.ask("SELECT glove_config('encode_limit', '0')")
        whole = "SELECT count(*), sum(similarity) FROM note_vec WHERE query = 'cat' AND id BETWEEN 1 AND 20"
        expected = self.ask(whole), self.ask(ANSWER, "cat", 60)
        for memory in ("1", "0"):
            self.ask("SELECT glove_config('index_memory', ?)", memory)
            self.addCleanup(connect().execute, "SELECT glove_config('index_memory', '0')")
            self.db.close()  # others share what it has in memory
            self.db = connect(self.path("t.db"))
            before = runs_of_fake()
            self.assertEqual((self.ask(whole), self.ask(ANSWER, "cat", 60)), expected)
            self.assertIn(runs_of_fake() - before, (0, 1))  # the query
        self.ask("SELECT glove_config('encode_limit', '10000')")
        self.fill(1200, start=1)
        expected = self.ask(whole), self.ask(ANSWER, "cat", 60)
        other = connect(self.path("t.db"))
        self.assertEqual((self.ask(whole, db=other), self.ask(ANSWER, "cat", 60, db=other)), expected)
        self.ask("SELECT glove_config('encode_limit', '100')")
        third = connect(self.path("t.db"))
        for sql in (whole, "SELECT max(rank) FROM note_vec WHERE query = 'dog'", "SELECT id FROM note_vec WHERE query = 'dog' AND k = 3"):
            try:
                self.ask(sql, db=third)
            except sqlite3.Error as error:
                self.assertRegex(str(error), "more than 100 texts are not encoded yet")
        third.close()
        other.close()

    @unittest.skipIf(neural.ENVIRONMENT, "a run does not say that it was called")
    def test_no_check_encodes_logged_rows(self):
        runs = runs_of_fake
        self.fill(20)
        self.create()
        self.ask("SELECT glove_config('encode_limit', '0')")
        self.ask("UPDATE note SET title = title || 'x' WHERE id < 30")
        before = runs()
        self.ask("INSERT INTO note_vec(note_vec) VALUES ('integrity-check')")
        self.assertEqual(runs(), before)
        self.ask("INSERT INTO note_vec(note_vec) VALUES ('repair')")
        self.assertEqual(runs(), before + 10)
        self.ask("INSERT INTO note_vec(note_vec) VALUES ('rebuild')")
        self.ask("INSERT INTO note_vec(note_vec) VALUES ('merge')")
        self.ask("INSERT INTO note_vec(note_vec) VALUES ('integrity-check')")
        self.assertEqual(runs(), before + 10)
        self.expect_current()

    def test_a_piece_that_is_rolled_back_changes_nothing(self):
        for command in ("sync=5", "sync", "rebuild"):
            self.ask("DROP TABLE IF EXISTS note_vec")
            self.ask("SELECT glove_config('encode_limit', '0')")
            self.fill(20, start=self.one("SELECT coalesce(max(id), 0) + 1 FROM note"))
            self.create()
            before = self.ask("SELECT * FROM note_vec_log")
            self.ask("BEGIN")
            self.ask("INSERT INTO note_vec(note_vec) VALUES (?)", command)
            self.ask("ROLLBACK")
            self.assertEqual(self.ask("SELECT * FROM note_vec_log"), before)

    def test_transactions_and_savepoints(self):
        self.fill(30)
        self.create()
        self.ask("BEGIN")
        self.fill(5, start=1)
        self.expect_current()
        self.ask("SAVEPOINT a")
        self.ask("UPDATE note SET title = 'cat' WHERE id < 30")
        self.expect_current()
        self.ask("INSERT INTO note_vec(note_vec) VALUES ('sync')")
        self.expect_current()
        self.ask("ROLLBACK TO a")
        self.expect_current()
        self.ask("RELEASE a")
        self.ask("ROLLBACK")
        self.expect_current()
        self.assertEqual(self.one("SELECT count(*) FROM note_vec WHERE query = 'cat'"), 30)
        self.ask("BEGIN")
        self.create(name="other")
        self.ask("ROLLBACK")
        self.assertEqual(self.one("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'other%'"), 0)

    def test_dims_cut_and_normalize(self):
        self.load(options='{"dims":7}')
        short = self.vector("cat dog")
        self.load()
        whole = self.vector("cat dog").astype(float)[:7]
        self.assertEqual(len(short), 7)
        self.assertLess(numpy.abs(short - whole / numpy.linalg.norm(whole)).max(), 1e-7)

    def test_among_rank_and_hybrid_joins(self):
        self.fill(80)
        self.create()
        self.ask("UPDATE note SET title = title || ' cat' WHERE id % 4 = 0")
        query = self.one("SELECT glove_encode('cat')")
        for modulus in (2, 7, 40):
            where = f"id % {modulus} = 0"
            self.assertEqual(self.ask("SELECT id, similarity, rank FROM note_vec WHERE query = 'cat' AND k = 5 AND among = "
                                      f"(SELECT glove_keys(id) FROM note WHERE {where})"), self.brute(query, 5, where=where))
        everything = self.brute(query)
        self.assertEqual(self.ask("SELECT id, similarity, rank FROM note_vec WHERE query = 'cat' AND id IN (3, 9, 12, 10000)"),
                         sorted((row for row in everything if row[0] in (3, 9, 12)), key=lambda row: row[2]))
        self.assertEqual(self.ask("SELECT note.id FROM note JOIN note_vec USING (id) WHERE query = 'cat' AND k = 9 AND title LIKE '%cat' ORDER BY rank"),
                         [(id,) for id, _, _ in everything[:9] if self.one("SELECT title LIKE '%cat' FROM note WHERE id = ?", id)])
        self.assertEqual(self.ask("SELECT q.id, v.id FROM note q JOIN note_vec v ON v.query = q.title AND v.k = 2 WHERE q.id < 30 ORDER BY q.id, v.rank"),
                         [(id, found) for id, title in self.ask("SELECT id, title FROM note WHERE id < 30") for found, _, _ in self.brute(title, 2)])
        self.assertEqual(self.ask("SELECT id FROM note_vec WHERE query = 'cat' AND similarity > 0.3"), [(id,) for id, s, _ in everything if s > 0.3])
        self.assertEqual(self.one("SELECT count(*) FROM glove_mmr('note_vec', 'cat', 6, 0.5, 20)"), 6)
        self.assertEqual(self.one("SELECT key FROM glove_mmr('note_vec', 'cat', 6, 0.5, 20) ORDER BY rank"), everything[0][0])

    def test_metrics(self):
        self.fill(40)
        vectors = {id: self.vector(title).astype(float) for id, title in self.ask("SELECT id, title FROM note")}
        query = self.vector("cat").astype(float)
        for metric, score in (("dot", lambda v: v @ query), ("l2", lambda v: -((v - query) ** 2).sum())):
            self.create(f"model='m', metric='{metric}'")
            expected = sorted(vectors, key=lambda id: (-score(vectors[id]), id))
            self.assertEqual([id for id, in self.ask("SELECT id FROM note_vec WHERE query = 'cat' AND k = 10")], expected[:10])
            self.ask("DROP TABLE note_vec")
        self.make("d", similarity="dot", modules=["Pooling"])
        self.load("d")
        self.create("model='d', metric='dot'")
        answers = self.ask(ANSWER, "cat", 10)
        self.ask("DROP TABLE note_vec")
        self.create("model='d'")
        self.assertEqual(self.ask(ANSWER, "cat", 10), answers)

    def test_the_metric_of_the_model(self):
        for i, (similarity, metric) in enumerate(((None, "cosine"), ("cosine", "cosine"), ("dot", "dot"), ("dot_product", "dot"), ("euclidean", "l2"))):
            with self.subTest(similarity):
                self.make("d", similarity=similarity, modules=["Pooling"])
                self.load("d")
                self.ask("DELETE FROM note")
                self.fill(30)
                score = "distance" if metric == "l2" else "similarity"
                self.create(f"model='d', metric='{metric}'", name="given_vec")
                answers = self.ask(f"SELECT id, {score}, rank FROM given_vec WHERE query = 'cat' AND k = 12")
                self.create("model='d'" if i % 2 else "model='d', dims='32'")

                def check(db):
                    self.assertEqual(self.ask("SELECT metric FROM glove_indexes", db=db), [(metric,)] * 2)
                    self.assertEqual(self.ask(f"SELECT id, {score}, rank FROM note_vec WHERE query = 'cat' AND k = 12", db=db), answers)
                    self.assertEqual(self.ask("SELECT * FROM glove_mmr('note_vec', 'cat', 3)", db=db), self.ask("SELECT * FROM glove_mmr('given_vec', 'cat', 3)", db=db))
                check(self.db)
                self.assertEqual(self.ask("SELECT * FROM note_vec_config WHERE key = 'metric'"), [] if metric == "cosine" else [("metric", metric)])
                # A connection that is open before the model is loaded, or loaded again as one of another metric.
                self.ask("SELECT glove_unload('d')")
                other = connect(self.path("t.db"))
                self.assertEqual(self.ask("SELECT metric FROM glove_indexes", db=other), [(metric,)] * 2)
                self.assertRegex(self.error("SELECT id FROM note_vec WHERE query = 'cat'", db=other), "there is no model 'd'|no model is loaded")
                self.make("d", similarity="dot" if metric == "cosine" else "cosine", modules=["Pooling"])
                self.load("d")
                check(other)
                for command in ("rebuild", "sync", "merge", "integrity-check"):
                    self.ask("INSERT INTO note_vec(note_vec) VALUES (?)", command)
                    check(other)
                self.ask("ALTER TABLE note_vec RENAME TO renamed")
                self.ask("ALTER TABLE renamed RENAME TO note_vec")
                self.ask("VACUUM")
                check(self.db)
                other.close()
                for name in ("note_vec", "given_vec"):
                    self.ask(f"DROP TABLE {name}")

    def test_a_metric_that_no_index_has(self):
        self.fill(10)
        for similarity in ("manhattan", "new"):
            self.make("d", similarity=similarity)
            self.load("d")
            with self.assertRaisesRegex(sqlite3.Error, "note_vec: the vectors of the model 'd' are meant for another metric .similarity_fn_name of its folder., "
                                        "not for cosine; give the argument metric, 'cosine', 'dot' or 'l2'$"):
                self.create("model='d'")
            self.assertEqual(self.one("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'note_vec%'"), 0)
            self.create("model='d', metric='l2'")
            self.ask("DROP TABLE note_vec")
        self.make("d", similarity="dot", modules=["Pooling"])
        self.load("d")
        with self.assertRaisesRegex(sqlite3.Error, "meant for dot .*, not for cosine; give the argument metric"):
            self.create("model='d', lists='2'")
        self.ask("SELECT glove_unload('m')")
        self.create("invalid='error'")  # the only model that is loaded
        self.assertEqual(self.ask("SELECT metric FROM glove_indexes"), [("dot",)])

    def test_other_connections_and_processes(self):
        self.fill(40)
        self.create()
        before = self.ask(ANSWER, "cat", 40)
        other = connect(self.path("t.db"))
        self.assertEqual(self.ask(ANSWER, "cat", 40, db=other), before)
        self.ask("INSERT INTO note VALUES (1000, 'cat', NULL)", db=other)
        self.expect_current()
        before = self.ask(ANSWER, "cat", 40)
        code = ("import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.enable_load_extension(True); db.load_extension(sys.argv[2]); "
                "db.execute('SELECT glove_load(?)', (sys.argv[3],)).fetchall(); "
                f"print(db.execute({ANSWER!r}, ('cat', 40)).fetchall())")
        done = subprocess.run([sys.executable, "-c", code, self.path("t.db"), neural.EXTENSION, self.path("m")], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, f"{before}\n")
        copy = sqlite3.connect(self.path("copy.db"))
        self.db.backup(copy)
        copy.close()
        self.assertEqual(self.ask(ANSWER, "cat", 40, db=connect(self.path("copy.db"))), before)
        other.close()

    def test_odd_schemas(self):
        self.ask("CREATE TABLE word(name TEXT PRIMARY KEY, title TEXT) WITHOUT ROWID")
        for i in range(30):
            self.ask("INSERT INTO word VALUES (?, ?)", f"n{i}", self.text())
        self.ask("CREATE VIRTUAL TABLE word_vec USING glove_index(content='word', rowid='name', text='title', model='m')")
        expected = "SELECT name FROM word ORDER BY cos_sim(glove_encode(title), glove_encode('cat')) DESC, name LIMIT 5"
        found = "SELECT name FROM word_vec WHERE query = 'cat' AND k = 5"
        self.assertEqual(self.ask(found), self.ask(expected))
        self.ask("UPDATE word SET name = name || 'x', title = title || ' cat' WHERE name < 'n2'")
        self.assertEqual(self.ask(found), self.ask(expected))
        self.fill(25)
        self.ask("ATTACH ? AS other", self.path("other.db"))
        self.ask("CREATE TABLE other.note(id INTEGER PRIMARY KEY, title TEXT)")
        self.ask("INSERT INTO other.note SELECT id, title FROM main.note")
        self.ask("CREATE VIRTUAL TABLE other.note_vec USING glove_index(content='note', rowid='id', text='title', model='m')")
        self.assertEqual(self.ask("SELECT id FROM other.note_vec WHERE query = 'cat' AND k = 5"), [(id,) for id, _, _ in self.brute("cat", 5)])
        self.ask("CREATE TABLE none(id INTEGER PRIMARY KEY, title TEXT)")
        self.create(name="none_vec", content="none")
        self.assertEqual(self.ask("SELECT * FROM none_vec WHERE query = 'cat'"), [])
        self.ask("INSERT INTO none VALUES (5, 'cat')")
        self.assertEqual(self.ask("SELECT id FROM none_vec WHERE query = 'cat'"), [(5,)])
        self.create()
        self.ask("CREATE TABLE made(id INTEGER PRIMARY KEY, vector BLOB)")
        self.ask("CREATE TRIGGER makes AFTER INSERT ON note BEGIN INSERT INTO made VALUES (new.id, glove_encode(new.title, 'm')); END")
        self.ask("CREATE VIEW seen AS SELECT id, glove_encode(title, 'm') AS vector FROM note")
        self.fill(5, start=1)
        self.assertEqual(self.ask("SELECT * FROM made"), self.ask("SELECT * FROM seen WHERE id IN (SELECT id FROM made)"))
        self.ask("ALTER TABLE note_vec RENAME TO vec")
        self.ask("ALTER TABLE vec RENAME TO note_vec")
        self.ask("VACUUM")
        self.expect_current()
        self.ask("SELECT glove_config('index_memory', '1')")
        self.expect_current()
        self.ask(SYNC)
        self.expect_current()
        self.ask("SELECT glove_config('index_memory', '0')")
        for sql in ("CREATE TABLE bad(a, b AS (glove_encode(a)))", "CREATE INDEX bad ON note(glove_encode(title))"):
            self.assertRegex(self.error(sql), "non-deterministic functions prohibited")
        self.ask("PRAGMA trusted_schema = OFF")
        self.assertRegex(self.error("SELECT * FROM seen"), "unsafe use of glove_encode")

    def test_a_column_of_vectors_and_queries_that_are_texts(self):
        self.ask("ALTER TABLE note ADD COLUMN vector BLOB")
        self.ask("CREATE VIRTUAL TABLE note_vec USING glove_index(content='note', rowid='id', vector='vector', model='m')")
        for part in range(4):
            self.fill(20, start=100 * part)
            self.ask("UPDATE note SET vector = glove_encode(title) WHERE vector IS NULL")
            self.expect_current()
            among = "(SELECT glove_keys(id) FROM note WHERE id % 4 = 0)"
            self.assertEqual(self.ask(f"SELECT id, similarity, rank FROM note_vec WHERE query = 'cat' AND k = 3 AND among = {among}"),
                             self.brute("cat", 3, where="id % 4 = 0"))
            self.assertEqual(self.ask("SELECT id FROM note_vec WHERE query = 'dog' AND id BETWEEN 3 AND 50"),
                             [(id,) for id, _, _ in self.brute("dog") if 3 <= id <= 50])
            if part % 2:
                self.ask(SYNC)
        self.ask("INSERT INTO note_vec(note_vec) VALUES ('integrity-check')")
        self.assertEqual(self.one("SELECT count(*) FROM glove_mmr('note_vec', 'cat', 3)"), 3)

    def test_two_models_in_one_statement(self):
        self.make("w", pooling="max", modules=["Pooling"])
        self.load("w")
        self.fill(20)
        self.create()
        self.create("model='w'", name="other_vec")
        self.assertEqual(self.ask("SELECT a.id, b.id FROM note_vec a, other_vec b WHERE a.query = 'cat' AND a.k = 3 AND b.query = 'cat' AND b.k = 3 ORDER BY 1, 2"),
                         sorted((a, b) for a, _, _ in self.brute("cat", 3) for b, _, _ in self.brute("cat", 3, model="w")))
        for title, m, w in self.ask("SELECT title, glove_encode(title, 'm'), glove_encode(title, 'w') FROM note"):
            self.assertEqual((m, w), (self.vector(title).tobytes(), self.vector(title, "w").tobytes()))
        # A function that failed for one model keeps nothing of it.
        self.ask("CREATE TABLE words(word TEXT, vector BLOB)")
        self.db.executemany("INSERT INTO words VALUES (?, ?)", ((w, numpy.ones(3, "f4").tobytes()) for w in ("cat", "dog")))
        self.ask("SELECT glove_load_table('words', 'SELECT word, vector FROM words')")
        before = self.one("SELECT glove_encode('cat', 'words', NULL)")
        self.assertRegex(self.error("SELECT glove_encode('cat', 'm', '{}')"), "is a neural encoder, which has no options for texts")
        self.assertEqual(self.one("SELECT glove_encode('cat', 'words', NULL)"), before)

    def test_a_killed_process_loses_one_piece(self):
        self.ask("SELECT glove_config('encode_limit', '0')")
        self.ask("PRAGMA synchronous = FULL")
        self.fill(120)
        self.create()
        code = ("import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None); db.enable_load_extension(True); "
                "db.load_extension(sys.argv[2]); db.execute('SELECT glove_load(?)', (sys.argv[3],)).fetchall()\n"
                "for _ in range(12): db.execute(\"INSERT INTO note_vec(note_vec) VALUES ('sync=10')\"); print('done', flush=True)")
        for _ in range(4):
            left = self.logged()
            process = subprocess.Popen([sys.executable, "-c", code, self.path("t.db"), neural.EXTENSION, self.path("m")], stdout=subprocess.PIPE, text=True,
                                       env={**os.environ, "GLOVE_FAKE_US": "1000"})
            process.stdout.readline()
            process.stdout.readline()
            process.send_signal(signal.SIGKILL)
            process.wait()
            done = 2 + len(process.stdout.read().split())
            process.stdout.close()
            self.assertIn(left - self.logged(), (10 * done, 10 * done + 10))
            self.assertEqual(self.one("SELECT count(*) FROM note_vec_log"), self.logged())
        self.ask(SYNC)
        self.expect_current()
        self.ask("INSERT INTO note_vec(note_vec) VALUES ('integrity-check')")


if __name__ == "__main__":
    unittest.main()
