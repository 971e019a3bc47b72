"""Files of earlier builds: each opens, answers as a scan of its rows does, and stays right through every command.

    old_files_test.py EXTENSION

tests/files/README.md says which builds made them. A database is a copy for each test.
"""
import lzma
import os
import shutil
import sys
import tempfile
import unittest

import fixture

EXTENSION = None
FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "files")
MODELS = ("56877df", "63b4be03", "1c37435f")
DATABASES = MODELS[1:]


class OldFiles(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="glove-old-")
        self.addCleanup(shutil.rmtree, self.folder)

    def unpack(self, name):
        path = os.path.join(self.folder, name)
        with lzma.open(os.path.join(FILES, name + ".xz")) as file, open(path, "wb") as out:
            out.write(file.read())
        return path

    def connect(self, path=":memory:"):
        db = fixture.connect(path, EXTENSION)
        self.addCleanup(db.close)
        return db

    def load(self, db, commit, name):
        db.execute("SELECT glove_load(?, ?)", (self.unpack(commit + ".safetensors"), name))
        self.addCleanup(db.execute, "SELECT glove_unload(?) FROM glove_models WHERE name = ?", (name, name))

    def test_models_answer_as_a_scan_of_their_words_does(self):
        for commit in MODELS:
            with self.subTest(commit):
                db = self.connect()
                self.load(db, commit, "old")
                self.assertEqual(db.execute("SELECT words, dims FROM glove_models WHERE name = 'old'").fetchall(), [(300, 16)])
                for word in ("piano", "storm", "word123"):
                    found = db.execute("SELECT neighbor, similarity FROM glove_nn WHERE word = ? AND k = 20 AND model = 'old'", (word,)).fetchall()
                    self.assertEqual(found, db.execute("""SELECT word, cos_sim(?1, word, 'old') FROM glove_words
                        WHERE word <> ?1 AND model = 'old' ORDER BY 2 DESC, id LIMIT 20""", (word,)).fetchall())

    def expect_right(self, db, index="doc_vec"):
        """The rows of five queries are those of a scan of the table."""
        for (query,) in db.execute("SELECT embedding FROM doc ORDER BY id % 11, id LIMIT 5").fetchall():
            scan = db.execute("SELECT id, cos_sim(embedding, ?) s FROM doc ORDER BY s DESC, id LIMIT 25", (query,)).fetchall()
            self.assertEqual(db.execute(f"SELECT id, similarity FROM {index} WHERE query = ? AND k = 25", (query,)).fetchall(), scan)

    def test_indexes_answer_and_follow_through_every_command(self):
        for commit in DATABASES:
            path = self.unpack(commit + ".db")
            for commands in (["sync"], ["merge"], ["rebuild"], ["sync", "merge", "rebuild", "integrity-check"]):
                with self.subTest(commit, commands=commands):
                    copy = shutil.copy(path, os.path.join(self.folder, "copy.db"))
                    db = self.connect(copy)
                    self.expect_right(db)
                    for command in commands:
                        db.execute("UPDATE doc SET embedding = (SELECT embedding FROM doc WHERE id = 40) WHERE id IN (50, 243)")
                        db.execute("DELETE FROM doc WHERE id = (SELECT max(id) FROM doc)")
                        self.expect_right(db)
                        db.execute("INSERT INTO doc_vec(doc_vec) VALUES (?)", (command,))
                        self.expect_right(db)
                    db.execute("UPDATE doc SET embedding = (SELECT embedding FROM doc WHERE id = 41) WHERE id IN (50, 243)")
                    self.expect_right(db)
                    db.execute("ALTER TABLE doc_vec RENAME TO other_vec")
                    self.expect_right(db, "other_vec")
                    db.close()

    def test_indexes_of_texts_answer_with_the_model_of_their_build(self):
        for commit in DATABASES:
            with self.subTest(commit):
                db = self.connect(self.unpack(commit + ".db"))
                self.load(db, commit, "words")
                search = lambda: db.execute("""SELECT body, similarity FROM note_vec v JOIN note USING (id) WHERE query = 'rain and clouds' AND k = 9
                    ORDER BY v.rank""").fetchall()
                scan = db.execute("""SELECT body, cos_sim(glove_text_vec(body, 'words'), glove_text_vec('rain and clouds', 'words')) s FROM note
                    ORDER BY s DESC, id""").fetchall()
                try:
                    self.assertEqual(search(), scan)
                except fixture.sqlite3.Error as error:
                    self.assertIn("'rebuild'", str(error))
                    db.execute("INSERT INTO note_vec(note_vec) VALUES ('rebuild')")
                    self.assertEqual(search(), scan)
                db.execute("INSERT INTO note_vec(note_vec) VALUES ('sync')")
                self.assertEqual(search(), scan)


if __name__ == "__main__":
    EXTENSION = sys.argv.pop(1)
    unittest.main()
