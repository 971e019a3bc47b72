"""Files of earlier builds: each opens, answers as a scan of its rows does, and stays right through every command.

    old_files_test.py EXTENSION GLOVE_CONVERT [TEST...]

tests/files/README.md says which builds made them. A database is a copy for each test.
"""
import json
import lzma
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import fixture

EXTENSION = CONVERT = None
FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "files")
MODELS = ("56877df", "c3de047", "63b4be03", "1c37435f")
DATABASES = MODELS[1:]
DIMS = 256  # of the files with signs
SIGNED, IN_LISTS = 3, 1  # the flags of a segment's checksum


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="glove-old-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.source = random.Random(os.environ.get("GLOVE_TEST_SEED") or 52)

    def unpack(self, name, to=None):
        path = os.path.join(self.folder, to or name)
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


class OldFiles(Files):
    def test_models_answer_as_a_scan_of_their_words_does(self):
        for commit in MODELS:
            with self.subTest(commit):
                db = self.connect()
                self.load(db, commit, "old")
                self.assertEqual(db.execute("SELECT words, dims FROM glove_models WHERE name = 'old'").fetchall(), [(300, 16)])
                for word in ("piano", "storm", "word123"):
                    found = db.execute("SELECT neighbor, similarity FROM glove_nn WHERE word = ? AND k = 9 AND model = 'old'", (word,)).fetchall()
                    self.assertEqual(found, db.execute("""SELECT word, cos_sim(?1, word, 'old') FROM glove_words
                        WHERE word <> ?1 AND model = 'old' ORDER BY 2 DESC, id LIMIT 9""", (word,)).fetchall())

    def expect_right(self, db, index="doc_vec"):
        """The rows of five queries are those of a scan of the table."""
        for (query,) in db.execute("SELECT embedding FROM doc ORDER BY id % 11, id LIMIT 5").fetchall():
            scan = db.execute("SELECT id, cos_sim(embedding, ?) s FROM doc ORDER BY s DESC, id LIMIT 9", (query,)).fetchall()
            self.assertEqual(db.execute(f"SELECT id, similarity FROM {index} WHERE query = ? AND k = 9", (query,)).fetchall(), scan)

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
                except sqlite3.Error as error:
                    self.assertIn("'rebuild'", str(error))
                    db.execute("INSERT INTO note_vec(note_vec) VALUES ('rebuild')")
                    self.assertEqual(search(), scan)
                db.execute("INSERT INTO note_vec(note_vec) VALUES ('sync')")
                self.assertEqual(search(), scan)


class IndexWithCertainty(Files):
    """An index that 1c37435f made with certainty='yes': two segments in lists that have sign planes, one in none, and a log."""

    def setUp(self):
        super().setUp()
        self.db = self.connect(self.unpack("1c37435f-certainty.db"))

    def insert(self, rows):
        vectors = self.db.execute("SELECT vec FROM doc ORDER BY id LIMIT ?", (rows,)).fetchall()
        self.db.executemany("INSERT INTO doc(vec) VALUES (?)", vectors)

    def segments(self, db=None):
        return (db or self.db).execute("SELECT rows, crc >> 32 FROM doc_vec_segment ORDER BY id").fetchall()

    def expect_sound(self, db=None):
        fixture.expect_sound(db or self.db, self.source, DIMS)

    def test_it_answers_exactly(self):
        self.assertEqual(self.segments(), [(160, SIGNED), (32, SIGNED), (5, 0)])
        self.assertEqual(self.db.execute("SELECT count(*) FROM doc_vec_log").fetchone(), (15,))
        self.expect_sound()
        query = (fixture.vector(self.source, DIMS),)
        self.assertEqual(self.db.execute("SELECT DISTINCT evidence FROM doc_vec WHERE query = ? AND k = 9", query).fetchall(), [("proof",)])
        with self.assertRaisesRegex(sqlite3.Error, "no such column: certainty"):
            self.db.execute("SELECT id FROM doc_vec WHERE query = ? AND k = 9 AND certainty = 1", query)

    def test_it_answers_where_segments_have_no_room_in_memory(self):
        before = self.db.execute("SELECT glove_config('index_memory')").fetchone()
        self.db.execute("SELECT glove_config('index_memory', 1)").fetchall()
        self.addCleanup(lambda: self.db.execute("SELECT glove_config('index_memory', ?)", before).fetchall())
        fixture.expect_equal(self.db, self.source, DIMS)
        self.insert(16)
        fixture.command(self.db, "sync")
        fixture.expect_equal(self.db, self.source, DIMS)

    def test_commands(self):
        for command in ("sync", "merge", "rebuild"):
            with self.subTest(command):
                db = self.connect(self.unpack("1c37435f-certainty.db", command + ".db"))
                fixture.command(db, command)
                self.assertEqual(db.execute("SELECT count(*) FROM doc_vec_log").fetchone(), (0,))
                self.expect_sound(db)
                flags = {flag for _, flag in self.segments(db)}
                self.assertEqual(flags, {SIGNED, 0} if command == "sync" else {IN_LISTS})
                if command == "rebuild":  # lists without the seed of a rotation
                    self.assertEqual(db.execute("SELECT value FROM doc_vec_config WHERE key = 'version'").fetchone(), (3,))
                    self.assertEqual(db.execute("SELECT length(data) FROM doc_vec_block WHERE segment = 0").fetchone(), (16 + 2 * 4 * DIMS,))

    def test_new_segments_beside_those_with_signs(self):
        self.insert(16)
        fixture.command(self.db, "sync")
        self.assertEqual([flag for _, flag in self.segments()], [SIGNED, IN_LISTS])
        self.expect_sound()
        self.db.close()
        self.db = self.connect(os.path.join(self.folder, "1c37435f-certainty.db"))
        self.db.execute("DELETE FROM doc WHERE id % 7 = 0")
        self.expect_sound()
        for command in ("merge", "sync", "rebuild"):
            fixture.command(self.db, command)
            self.expect_sound()

    def test_it_is_renamed(self):
        for command in (None, "sync", "merge", "rebuild"):
            if command:
                fixture.command(self.db, command)
            self.db.execute("ALTER TABLE doc_vec RENAME TO moved")
            self.db.execute("INSERT INTO moved(moved) VALUES ('integrity-check')")
            self.db.execute("DELETE FROM doc WHERE id = (SELECT max(id) FROM doc)")
            self.db.execute("ALTER TABLE moved RENAME TO doc_vec")
            self.expect_sound()

    def test_copies(self):
        self.db.execute("VACUUM INTO ?", (os.path.join(self.folder, "copy.db"),))
        self.expect_sound(self.connect(os.path.join(self.folder, "copy.db")))
        if not shutil.which("sqlite3"):
            return
        dump = subprocess.run(["sqlite3", os.path.join(self.folder, "1c37435f-certainty.db"), ".dump"], stdout=subprocess.PIPE, check=True).stdout
        self.assertIn(b"certainty=", dump)
        restored = os.path.join(self.folder, "restored.db")
        subprocess.run(["sqlite3", restored], input=dump, check=True)
        db = self.connect(restored)
        self.expect_sound(db)
        fixture.command(db, "rebuild")
        self.expect_sound(db)

    def test_damage_is_found(self):
        """Also of the bytes that nobody reads."""
        block, = self.db.execute("SELECT data FROM doc_vec_block WHERE segment = 2").fetchone()
        self.db.execute("UPDATE doc_vec_block SET data = ? WHERE segment = 2", (block[:-1] + bytes([block[-1] ^ 1]),))
        self.db.execute("UPDATE doc_vec_segment SET uuid = randomblob(16)")
        with self.assertRaisesRegex(sqlite3.Error, "does not have the checksum that was stored with it"):
            fixture.expect_equal(self.db, self.source, DIMS)
        fixture.command(self.db, "rebuild")
        self.expect_sound()

    def test_no_new_index_has_a_certainty(self):
        for value in ("'yes'", "no"):
            with self.assertRaisesRegex(sqlite3.Error, "^other: there is no argument certainty any more; leave it out: all answers are exact, "
                                                       "unless a query asks for a recall below 1$"):
                self.db.execute("CREATE VIRTUAL TABLE other USING glove_index(content='doc', rowid='id', vector='vec', certainty=%s)" % value)


class ModelWithSigns(Files):
    """A model file of 1c37435f that has lists, planes, a calibration for recall, and a sign plane."""

    def setUp(self):
        super().setUp()
        self.path = self.unpack("1c37435f-signs.safetensors")
        self.db = self.connect()
        self.db.execute("SELECT glove_load(?)", (self.path,)).fetchall()
        self.addCleanup(lambda: self.db.execute("SELECT glove_unload('1c37435f-signs')").fetchall())

    def convert(self, *arguments):
        # glove-convert has a sanitizer's runtime of its own
        subprocess.run([CONVERT, "-q", *arguments], check=True, env={name: value for name, value in os.environ.items() if name != "LD_PRELOAD"})

    @staticmethod
    def tensors(path):
        with open(path, "rb") as file:
            content = file.read()
        start = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:start])
        return {name: content[start + tensor["data_offsets"][0]:start + tensor["data_offsets"][1]] for name, tensor in header.items()
                if name != "__metadata__" and not name.startswith("padding.")}

    def test_it_answers_exactly(self):
        for word in ("w0", "w77", "w239"):
            expected = self.db.execute("SELECT word, s FROM (SELECT word, cos_sim(?, word) AS s FROM glove_words) WHERE word <> ? "
                                       "ORDER BY s DESC, CAST(substr(word, 2) AS INTEGER)", (word, word)).fetchall()
            for recall in (1, 0.9):
                self.assertEqual(self.db.execute("SELECT neighbor, similarity FROM glove_nn WHERE word = ? AND k = 12 AND recall = ? AND "
                                                 "backend = 'cpu'", (word, recall)).fetchall(), expected[:12])

    def test_it_is_verified_saved_and_converted(self):
        old, saved, made = self.tensors(self.path), os.path.join(self.folder, "saved.safetensors"), os.path.join(self.folder, "made.safetensors")
        self.assertLessEqual({"rotation", "signs", "sign_bounds", "recall_queries"}, old.keys())
        self.convert("--verify", self.path)
        self.db.execute("SELECT glove_save('1c37435f-signs', ?)", (saved,)).fetchall()
        self.convert(self.path, made, "--lists", "8", "--verify")
        dropped = ("rotation", "signs", "sign_bounds", "recall_transforms", "recall_queries")  # no search reads these any more
        kept = {name: tensor for name, tensor in old.items() if name not in dropped}
        self.assertEqual(self.tensors(saved), kept)  # with the calibration of planes
        converted = self.tensors(made)
        self.assertIsNotNone(converted.pop("recall_classes"))  # it is calibrated anew
        self.assertIsNotNone(converted.pop("recall_trials"))
        self.assertEqual(converted, kept)
        self.convert("--verify", saved)


if __name__ == "__main__":
    EXTENSION, CONVERT = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
    fixture.skip_without_index(EXTENSION)
    unittest.main()
