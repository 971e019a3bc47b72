"""What the commands of a glove_index do and say: index_work_test.py GLOVE_SO

How far they are, told to other connections and to a progress handler; the model that an index of texts may leave out; and
'rebuild', which encodes only texts that have changed.
"""
import os
import random
import re
import sqlite3
import sys
import tempfile
import time
import unittest

EXTENSION = os.environ.get("GLOVE_TEST_EXTENSION") or sys.argv.pop(1)
SEED = int(os.environ.get("GLOVE_TEST_SEED") or random.randrange(1 << 30))
WORDS = 500


class IndexWork(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "docs.db")
        self.db = self.connect()
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT, lang TEXT)")

    def connect(self):
        connection = sqlite3.connect(self.path, isolation_level=None)
        connection.execute("PRAGMA synchronous = OFF")
        connection.enable_load_extension(True)
        connection.load_extension(EXTENSION)
        self.addCleanup(connection.close)
        return connection

    def load(self, name, dims=8):
        self.db.execute("CREATE TEMP TABLE w(word, vector)")
        self.db.executemany("INSERT INTO w VALUES (?, ?)", [
            (f"w{i}", str([self.random.gauss(0, 1) for _ in range(dims)])) for i in range(WORDS)])
        self.db.execute("SELECT glove_load_table(?, 'SELECT word, vector FROM w')", (name,))
        self.db.execute("DROP TABLE w")
        self.addCleanup(self.unload, name)

    def unload(self, name):
        if (name,) in self.db.execute("SELECT name FROM glove_models").fetchall():
            self.db.execute("SELECT glove_unload(?)", (name,))

    def text(self, words=12):
        return " ".join(f"w{self.random.randrange(WORDS)}" for _ in range(words))

    def fill(self, rows, words=12):
        self.db.execute("BEGIN")
        self.db.executemany("INSERT INTO note(body) VALUES (?)", ((self.text(words),) for _ in range(rows)))
        self.db.execute("COMMIT")

    def create(self, more=""):
        self.db.execute(f"CREATE VIRTUAL TABLE note_vec USING glove_index(content='note', rowid='id', text='body'{more})")

    def command(self, name, db=None):
        (db or self.db).execute("INSERT INTO note_vec(note_vec) VALUES (?)", (name,))

    def answers(self, db=None):
        return (db or self.db).execute("SELECT id, similarity FROM note_vec WHERE query = 'w1 w2 w3' AND k = 50 ORDER BY rank").fetchall()

    # --- how far a command is --------------------------------------------------------------------

    def test_other_connections_and_a_progress_handler_see_how_far_it_is(self):
        self.load("words")
        self.fill(200)
        self.create()
        other = self.connect()
        for command, rows, pattern in (("sync", 60_000, r"syncing(, [\d,]+( rows| of 60,000))?"),
                                       ("rebuild", 0, r"rebuilding(, [\d,]+( rows| of 60,200))?"),
                                       ("integrity-check", 0, r"checking(, [\d,]+( rows| of 60,200))?"),
                                       ("merge", 30, r"merging(, [\d,]+( rows| of [\d,]+))?")):
            self.fill(rows)
            seen, calls, begin = [], [], time.monotonic()

            def look(seen=seen, calls=calls):
                calls.append(time.monotonic())
                if len(calls) % 50 == 0:
                    seen.append(other.execute("SELECT state, rows FROM glove_indexes").fetchone())
            self.db.set_progress_handler(look, 1000)
            self.command(command)
            self.db.set_progress_handler(None, 0)
            took = time.monotonic() - begin
            print(f"{command}: {took:.2f} s, {len(calls)} calls, {seen[-1:] or 'none seen'}")
            for state, count in seen:
                self.assertRegex(state, rf"^{pattern}$")
                self.assertIsNone(count)
            if rows != 30:
                self.assertGreater(len(calls), 100)
                self.assertGreater(len({state for state, _ in seen}), 3, "a bar would stand still")
            self.assertEqual(other.execute("SELECT state FROM glove_indexes").fetchone(), ("current",))
        # A total is counted after 0.2 s, which the first one takes.
        self.assertEqual(other.execute("SELECT rows FROM glove_indexes").fetchone(), (60_230,))

    def test_a_command_can_be_interrupted_and_leaves_no_state_behind(self):
        self.load("words")
        self.fill(3000)
        self.create()
        self.fill(3000)
        self.db.set_progress_handler(lambda: 1, 20_000)
        with self.assertRaisesRegex(sqlite3.OperationalError, "interrupted"):
            self.command("rebuild")
        self.db.set_progress_handler(None, 0)
        self.assertEqual(self.db.execute("SELECT state, logged FROM glove_indexes").fetchone(), ("changed", 3000))

    # --- the model that is left out --------------------------------------------------------------

    def test_the_only_model_may_be_left_out_and_is_stored(self):
        with self.assertRaisesRegex(sqlite3.OperationalError, "note_vec: no model is loaded|note_vec: .*glove_load"):
            self.create()
        self.load("words")
        self.fill(50)
        self.create()
        self.assertEqual(self.db.execute("SELECT value FROM note_vec_config WHERE key = 'model'").fetchall(), [("words",)])
        before = self.answers()
        self.assertEqual(len(before), 50)
        self.load("another")
        self.assertEqual(self.answers(), before)
        self.assertEqual(self.answers(self.connect()), before)
        self.fill(10)
        self.command("sync")
        self.command("rebuild")
        self.assertEqual(len(self.answers()), 50)
        self.command("integrity-check")
        self.db.execute("CREATE TABLE other(id INTEGER PRIMARY KEY, body TEXT)")
        with self.assertRaisesRegex(sqlite3.OperationalError, "model may be left out only while one model is loaded.*words, another"):
            self.db.execute("CREATE VIRTUAL TABLE other_vec USING glove_index(content='other', rowid='id', text='body')")
        self.db.execute("SELECT glove_unload('words')")
        with self.assertRaisesRegex(sqlite3.OperationalError, "there is no model 'words'"):
            self.answers()
        self.assertRegex(self.db.execute("SELECT state FROM glove_indexes").fetchone()[0], "there is no model 'words'")

    def test_a_json_array_is_no_vector_for_an_index_of_texts(self):
        self.load("words")
        self.fill(5)
        self.create()
        self.assertEqual(self.db.execute("SELECT id FROM note_vec WHERE query = '[1, 2]' AND k = 1").fetchall(), [])

    # --- rebuild ---------------------------------------------------------------------------------

    def remake(self):
        """What migrations do: the triggers are gone, and the index does not see the changes."""
        self.db.execute("CREATE TABLE new(id INTEGER PRIMARY KEY, body TEXT, lang TEXT)")
        self.db.execute("INSERT INTO new SELECT * FROM note")
        self.db.execute("DROP TABLE note")
        self.db.execute("ALTER TABLE new RENAME TO note")

    def test_rebuild_is_right_whatever_has_changed(self):
        self.load("words")
        self.fill(400)
        self.create()
        for _ in range(6):
            ids = [id for id, in self.db.execute("SELECT id FROM note")]
            self.remake()
            for id in self.random.sample(ids, 30):
                change = self.random.choice(["UPDATE note SET body = ?2 WHERE id = ?1", "DELETE FROM note WHERE id = ?1 AND ?2 IS NOT NULL",
                                             "UPDATE note SET id = (SELECT max(id) + 1 FROM note) WHERE id = ?1 AND ?2 IS NOT NULL",
                                             "UPDATE note SET body = (SELECT body FROM note WHERE id > ?1 LIMIT 1) WHERE id = ?1 AND ?2 IS NOT NULL"])
                self.db.execute(change, (id, self.text()))
            with self.assertRaisesRegex(sqlite3.OperationalError, "rebuild"):
                self.answers()
            self.command("rebuild")
            self.command("integrity-check")  # encodes every text
            self.fill(20)
            self.db.execute("DELETE FROM note WHERE id % 11 = 3")
            self.command(self.random.choice(["sync", "merge"]))
            self.command("integrity-check")

    def test_rebuild_takes_the_vectors_of_unchanged_texts(self):
        self.load("words")
        self.fill(300)
        self.create()
        digests = "SELECT count(*) FROM note_vec_vector WHERE id & 0x80000000 AND length(vectors) = 300 * 16"
        self.assertEqual(self.db.execute(digests).fetchone(), (1,))
        # A vector that is not that of its text shows where it came from, but its codes give it away.
        self.db.execute("UPDATE note_vec_vector SET vectors = zeroblob(length(vectors)) WHERE NOT id & 0x80000000")
        self.command("rebuild")
        self.command("integrity-check")
        # Without digests, and with a model that makes other vectors, every text is encoded.
        self.db.execute("DELETE FROM note_vec_vector WHERE id & 0x80000000")
        self.command("rebuild")
        self.command("integrity-check")
        self.assertEqual(self.db.execute(digests).fetchone(), (1,))
        self.load("words")
        with self.assertRaisesRegex(sqlite3.OperationalError, "fingerprint"):
            self.answers()
        self.command("rebuild")
        self.command("integrity-check")

    def test_rebuild_of_long_texts_takes_a_tenth_of_the_time(self):
        self.load("words", dims=64)
        self.fill(2000, words=600)
        begin = time.process_time()
        self.create()
        first = time.process_time() - begin
        best = first
        for _ in range(3):
            self.remake()
            begin = time.process_time()
            self.command("rebuild")
            best = min(best, time.process_time() - begin)
        print(f"first {first:.3f} s, again {best:.3f} s of processor time: {best / first:.3f}")
        self.assertLess(best, first / 3, "a tenth is usual; a machine at work may be slower")

    # --- float64 -------------------------------------------------------------------------------

    def test_a_float64_vector_is_recognised(self):
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, v BLOB)")
        self.db.execute("INSERT INTO doc VALUES (1, ?)", (b"\0\0\x80\x3f" * 4,))
        self.db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='v')")
        hint = re.escape("; if it is float64, convert it, as vector.astype('float32') does in NumPy")
        with self.assertRaisesRegex(sqlite3.OperationalError, hint):
            self.db.execute("SELECT id FROM doc_vec WHERE query = ? AND k = 1", (b"\0" * 32,)).fetchall()
        self.db.execute("INSERT INTO doc VALUES (2, ?)", (b"\0\0\x80\x3f" * 8,))
        with self.assertRaisesRegex(sqlite3.OperationalError, "has a vector of 8 components, but the index has 4 dimensions" + hint):
            self.db.execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
        self.load("words")
        with self.assertRaisesRegex(sqlite3.OperationalError, hint):
            self.db.execute("SELECT neighbor FROM glove_nn WHERE expr = ? AND k = 1", (b"\0" * 64,)).fetchall()
        with self.assertRaises(sqlite3.OperationalError) as raised:
            self.db.execute("SELECT neighbor FROM glove_nn WHERE expr = ? AND k = 1", (b"\0" * 60,)).fetchall()
        self.assertNotIn("float64", str(raised.exception))


if __name__ == "__main__":
    print(f"GLOVE_TEST_SEED={SEED}")
    unittest.main()
