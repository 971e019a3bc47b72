"""Models of fastText: the vectors of words that they have and lack, by a reader in NumPy and by fastText itself.

fasttext_test.py GLOVE_CONVERT GLOVE_SO DOCS
"""
import gzip
import math
import os
import pathlib
import random
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy

import embedding_writers
import model_file_reader

try:
    import fasttext
except ImportError:
    fasttext = None

DOCS = pathlib.Path(sys.argv.pop())
EXTENSION = sys.argv.pop()
CONVERT = sys.argv.pop()
SEED = int(os.environ.get("GLOVE_TEST_SEED") or random.SystemRandom().randrange(2**32))
SCRIPTS = ["abcdefghijklmnopqrstuvwxyzABCXYZ'-.", "äöüßéèñ", "абвгдежзийклмн", "日本語中文字", "אבגדה", "ไทยกขค", "😀🎉"]
WORDS = 10000


def convert(*arguments):
    return subprocess.run([CONVERT, *map(str, arguments)], capture_output=True, check=False)


class FastTextTest(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        self.numbers = numpy.random.default_rng(SEED)
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = pathlib.Path(directory.name)
        self.db = sqlite3.connect(":memory:")
        self.addCleanup(self.db.close)
        self.db.enable_load_extension(True)
        self.db.execute("SELECT load_extension(?, 'sqlite3_glove_init')", (EXTENSION,))

    def sql(self, statement, *values):
        return self.db.execute(statement, values).fetchall()

    def one(self, statement, *values):
        return self.sql(statement, *values)[0][0]

    def load(self, path, options=None):
        for (name,) in self.sql("SELECT name FROM glove_models"):
            self.sql("SELECT glove_unload(?)", name)
        self.sql("SELECT glove_load(?, 'm', ?)", str(path), options)

    def word(self, most=12):
        script = self.random.choice(SCRIPTS)
        return "".join(self.random.choice(script) for _ in range(self.random.randint(1, most)))

    def random_words(self, count):
        words = {}
        while len(words) < count:
            words.setdefault(self.word())
        return list(words)

    def random_model(self, minn, maxn, buckets=97, words=60, dims=7, labels=()):
        known = [word.encode() for word in self.random_words(words - 1)] + [b"</s>"]
        rows = self.numbers.normal(0, 1, (words + buckets, dims)).astype("<f4")
        rows[self.numbers.random(rows.shape) < 0.05] = -0.0
        return embedding_writers.FastText(known, rows, minn, maxn, buckets, labels)

    def converted(self, path, *options):
        out = self.folder / "out.safetensors"
        result = convert(*options, path, out)
        self.assertEqual(result.returncode, 0, result.stderr.decode(errors="replace"))
        return out, result.stderr.decode()

    def write(self, what, name="m.bin", **content):
        path = self.folder / name
        path.write_bytes(what if isinstance(what, bytes) else what.content(**content))
        return path

    def assert_known(self, path, words, vectors):
        """The rows of a model file have these bits."""
        model = model_file_reader.ModelFile(path)
        self.assertEqual(model.words, words)
        self.assertEqual(model.tensors["vectors"].tobytes(), numpy.array(vectors, "<f4").tobytes(), f"GLOVE_TEST_SEED={SEED}")
        return model

    def assert_vectors(self, words, vector_of):
        """SQL has the vectors of words, which may have none: None."""
        dims = self.one("SELECT dims FROM glove_models")
        for word in words:
            if word.startswith("["):
                continue  # SQL reads a vector
            expected = vector_of(word)
            vector = bytes(4 * dims) if expected is None else expected.astype("<f4").tobytes()
            self.assertEqual(self.one("SELECT l2_distance(?, ?)", word, vector), None if expected is None else 0.0,
                             f"{word!r}, GLOVE_TEST_SEED={SEED}")

    def test_texts_have_the_longest_words_and_ngrams_for_the_others(self):
        words = ["東京", "東京大学", "new_york", "dog", "一"]
        model = embedding_writers.FastText([word.encode() for word in words],
                                           self.numbers.normal(0, 1, (len(words) + 50, 7)), 1, 4, 50)
        pieces = {"New York": ["new_york"], "New dog": ["new", "dog"], "東京大学生": ["東京大学", "生"],
                  "東京大": ["東京", "大"], "一二": ["一", "二"], "Cabs": ["cabs"]}
        options = '{"weights":"none","components":0}'
        path = self.write(model)
        for opened in (path, self.converted(path)[0]):
            self.load(opened)
            for _ in range(50):
                chosen = [self.random.choice(list(pieces)) for _ in range(self.random.randint(1, 9))]
                text, expected = ", ".join(chosen), [word for piece in chosen for word in pieces[piece]]
                tokens = self.sql("SELECT token, id, weight FROM glove_tokens(?, 'm', ?)", text, options)
                ids = [words.index(word) if word in words else None for word in expected]
                self.assertEqual(tokens, [(word, row, 1.0) for word, row in zip(expected, ids)])
                total = numpy.zeros(7)
                for word in expected:
                    total += model.vector(word.encode())
                self.assertEqual(self.one("SELECT glove_text_vec(?, 'm', ?)", text, options),
                                 (total / len(expected)).astype("<f4").tobytes(), f"{text}, GLOVE_TEST_SEED={SEED}")

    def test_the_reference_with_all_kinds_of_ngrams(self):
        for minn, maxn, buckets in ((3, 6, 97), (1, 1, 5), (5, 5, 1000), (0, 2, 1), (13, 20, 97), (30, 31, 3), (1, 255, 10)):
            with self.subTest(minn=minn, maxn=maxn):
                model = self.random_model(minn, maxn, buckets)
                path = self.write(model)
                out, said = self.converted(path)
                self.assertIn("(from fasttext)", said)
                file = self.assert_known(out, model.words, [model.vector(word) for word in model.words])
                self.assertEqual(file.metadata["glove.version"], "1.5")
                self.assertEqual(file.tensors["subword_buckets"].tobytes(), model.rows[len(model.words):].tobytes())
                file.check()
                unknown = [word for word in self.random_words(300) if word.encode() not in model.words]
                unknown += ["", "<", ">", "<>", "a\u0301", model.words[0].decode().upper() + "Q"]
                for opened in (out, path):
                    self.load(opened)
                    self.assert_vectors([word.decode() for word in model.words] + unknown, lambda word: model.vector(word.encode()))
                self.assert_vectors(["</t>"], lambda word: model.vector(b"</t>"))

    def test_every_place_that_looks_words_up(self):
        model = self.random_model(3, 5, dims=20)
        self.load(self.converted(self.write(model))[0])
        known = next(word for word in map(bytes.decode, model.words) if word.isalpha() and len(word) > 2)
        vector = model.vector(b"unknownword")
        blob = vector.tobytes()
        nearest = "SELECT neighbor, similarity, known FROM glove_nn WHERE k = 60 AND "
        rows = self.sql(nearest + "word = 'unknownword'")
        self.assertEqual(rows, [row[:2] + (0,) for row in self.sql(nearest + "expr = ?", blob)])
        self.assertEqual(len(rows), 60)  # it excludes no word
        self.assertEqual({row[2] for row in self.sql(nearest + "word = ?", known)}, {1})
        self.assertEqual({row[2] for row in self.sql(nearest + "expr = ?", blob)}, {None})
        self.assertEqual({row[2] for row in self.sql(nearest + "expr = ?", f'"{known}" - 2 * unknownword')}, {0})
        self.assertNotIn(known, [row[0] for row in self.sql(nearest + "expr = ?", f'"{known}" - unknownword')])
        both = self.sql("SELECT DISTINCT word, known FROM glove_nn WHERE word IN ('unknownword', ?) AND k = 2", known)
        self.assertEqual(dict(both), {"unknownword": 0, known: 1})
        self.assertEqual(self.one("SELECT cos_sim('unknownword', ?)", blob), 1.0)
        unit = vector.astype(float) * (1 / math.sqrt(model_file_reader.dot_of_rows(vector[None], vector[None])[0]))
        self.assertEqual(self.one("SELECT glove_vec('unknownword')"), unit.astype("<f4").tobytes())
        self.assertEqual(self.one("SELECT glove_mean('unknownword')"), unit.astype("<f4").tobytes())
        self.assertEqual(self.one("SELECT glove_oov('unknownword + </s> - \"7\"')"), "[]")
        self.assertIn(" OR ", self.one("SELECT glove_expand('unknownword', 2)"))
        text = "SELECT glove_text_vec('Unknownword', 'm', '{\"components\":0}')"
        self.assertEqual(self.one(text), blob)
        self.assertEqual(self.sql("SELECT id, weight FROM glove_tokens('unknownword', 'm')"), [(None, 1.0)])
        self.load(self.converted(self.write(self.random_model(4, 5)))[0])
        self.assertEqual(self.one("SELECT glove_oov('unknownword - \"7\"')"), '["7"]')
        self.assertEqual(self.sql(nearest + "word = '7'"), [])
        self.assertEqual(self.sql("SELECT id, weight FROM glove_tokens('7', 'm')"), [(None, None)])
        self.assertIsNone(self.one("SELECT cos_sim('7', 'unknownword')"))

    def test_what_is_written_keeps_the_ngrams(self):
        model = self.random_model(2, 4, words=100)
        path = self.write(model)
        expect = lambda: self.assert_vectors(self.random_words(100), lambda word: model.vector(word.encode()))
        compressed = self.write(gzip.compress(path.read_bytes()), "m.bin.gz")
        for options in (("--top", 10), ("--lists", 3), ("--shards", 3), ("--skip-invalid",)):
            for source in (path, compressed):
                with self.subTest(options=options, source=source.name):
                    out, _ = self.converted(source, *options)
                    out = pathlib.Path(f"{out}.index.json") if options[0] == "--shards" else out
                    known = {word for word, in (self.load(out), self.sql("SELECT word FROM glove_words"))[1]}
                    self.assertEqual(len(known), 10 if options[0] == "--top" else 100)
                    self.assert_vectors(set(self.random_words(100)) - {word.decode() for word in model.words},
                                        lambda word: model.vector(word.encode()))
                    self.assertEqual(convert("--verify", out).returncode, 0)
                    self.assertIn(b"\nn-grams     97 rows\n", convert("--info", out).stdout)
                    again = self.folder / "again.safetensors"
                    self.assertEqual(convert(out, again).returncode, 0)
                    self.sql("SELECT glove_save('m', ?)", str(self.folder / "saved.safetensors"))
                    first, second = (model_file_reader.ModelFile(file).tensors["subword_buckets"] for file in (again, self.folder / "saved.safetensors"))
                    self.assertEqual(first.tobytes(), second.tobytes())
                    os.remove(self.folder / "saved.safetensors")
        self.load(compressed)
        expect()
        damaged = bytearray((self.folder / "out.safetensors").read_bytes())
        damaged[-1] ^= 1
        self.assertIn(b"the tensor 'subword_buckets' is damaged", convert("--verify", self.write(bytes(damaged), "damaged")).stderr)

    def test_files_without_ngrams_are_as_of_text(self):
        for kind, version in ((2, 12), (3, 11)):
            bin_model = self.random_model(0 if version == 12 else 2, 0 if version == 12 else 3, labels=(b"__label__x", b"__label__y"))
            plain = embedding_writers.FastText(bin_model.words, bin_model.rows)
            out, _ = self.converted(self.write(bin_model, version=version, model=kind))
            content = out.read_bytes()
            vec = self.write(embedding_writers.fasttext_vec(plain.words, plain.rows[:len(plain.words)] + numpy.float32(0))["m.vec"], "m.vec")
            self.assertEqual(self.converted(vec)[0].read_bytes(), content)
            self.load(out)
            self.assertEqual(self.one("SELECT glove_oov('nosuchword - __label__x')"), '["nosuchword","__label__x"]')

    def test_an_index_of_texts_knows_the_ngrams(self):
        model = self.random_model(3, 3)
        other = embedding_writers.FastText(model.words, model.rows.copy(), 3, 3, model.buckets)
        used = {model.bucket(ngram) for word in model.words for ngram in model.ngrams(word)}
        free = next(bucket for bucket in range(model.buckets) if bucket not in used) if len(used) < model.buckets else None
        if free is None:
            self.skipTest("every bucket is used by a word of the vocabulary")
        other.rows[len(model.words) + free] += numpy.float32(1)
        self.load(self.write(model))
        self.sql("CREATE TABLE doc(id INTEGER PRIMARY KEY, body TEXT)")
        self.sql("INSERT INTO doc(body) VALUES ('unknownword')")
        self.sql("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', text='body', model='m')")
        self.sql("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
        self.assertEqual(self.sql("SELECT id FROM doc_vec WHERE query = 'unknownword' AND k = 1"), [(1,)])
        self.load(self.write(other, "other.bin"))
        with self.assertRaisesRegex(sqlite3.Error, "rebuild"):
            self.sql("SELECT id FROM doc_vec WHERE query = 'unknownword' AND k = 1")

    def test_files_that_cannot_be(self):
        model = self.random_model(3, 5, labels=(b"__label__x",))
        content = model.content()
        entries = 92 + sum(len(word) + 10 for word in (*model.words, *model.labels))
        replaced = lambda offset, form, *values: content[:offset] + struct.pack(form, *values) + content[offset + struct.calcsize(form):]
        cases = [
            (model.content(quantised=1), f"offset {entries}: the vectors are quantised (.ftz); load its .vec file"),
            (model.content(pruned=4), "offset 0: the dictionary is pruned (it has a prune index); load its .vec file"),
            (model.content(version=10), "offset 0: the file is not of version 11 or 12 of fastText's format"),
            (replaced(48, "<i", 256), "its n-grams have 3 to 256 characters, but must have 1 to 255"),
            (replaced(8, "<i", 8), f"offset {entries}: the matrix is 157 x 7 in "),
            (replaced(8, "<i", 0), "there are 60 rows of 0 components"),
            (replaced(entries + 1, "<q", 2**62), "the matrix is 4611686018427387904 x 7 in "),
            (replaced(entries + 1, "<q", -1), "the matrix is -1 x 7 in "),
            (replaced(68, "<i", 2**31 - 1), "2147483647 words and 1 labels cannot be 61 entries"),
            (replaced(64, "<3i", 10**9, 10**9 - 1, 1), "a word of at most 65536 bytes, its count and its type were expected"),
            (replaced(entries - 1, "<b", 0), f"offset {entries - 20}: a label of at most 65536 bytes"),
            (content[:entries - 5], f"offset {entries - 20}: a label of at most 65536 bytes"),
            (content[:40], "offset 0: the file ends within its header"),
            (content[:entries + 16], f"offset {entries}: the file ends before the vectors"),
            (content[:entries + 17 + 157 * 28 - 1], f"the matrix is 157 x 7 in {157 * 28 - 1} bytes, but 60 words and 97 n-grams of 7 dim"),
            (content[:92] + b"x" * 65537 + content[92:], "offset 92: a word of at most 65536 bytes"),
        ]
        for wrong, message in cases:
            result = convert(self.write(wrong), self.folder / "out")
            self.assertEqual(result.returncode, 1, message)
            self.assertIn(f"{self.folder}/m.bin: ", result.stderr.decode(errors="replace"))
            self.assertIn(message, result.stderr.decode(errors="replace"))
        model.rows[70, 3] = math.inf
        model.rows[71:73] = numpy.float32(3e38)
        self.enterContext(numpy.errstate(over="ignore"))
        self.write(model)
        result = convert("--skip-invalid", self.folder / "m.bin", self.folder / "out.safetensors")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.load(self.folder / "out.safetensors")
        for word in self.random_words(500):
            if word.encode() not in model.words:
                vector = model.vector(word.encode())
                self.assert_vectors([word], lambda _: vector if vector is not None and numpy.isfinite(vector).all() else None)
        for options in (("--encoding", "latin1"), ("--lower",), ("--normalize",)):
            result = convert(*options, self.folder / "m.bin", self.folder / "out")
            self.assertIn(b"m.bin: n-grams are of the words and vectors as they are; omit encoding, lower and normalize", result.stderr)

    @unittest.skipIf(fasttext is None, "the Python package fasttext is not installed")
    def test_ten_thousand_words_of_fasttext_itself(self):
        text = self.folder / "text"
        content = "\n".join(path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md")))
        text.write_text("\n".join(f"__label__{len(line) % 3} {line}" for line in content.splitlines()), encoding="utf-8")
        table = []
        for name, train, options in (
                ("skipgram", fasttext.train_unsupervised, {"minn": 3, "maxn": 6}), ("cbow", fasttext.train_unsupervised, {"model": "cbow", "minn": 5, "maxn": 5}),
                ("1 to 1", fasttext.train_unsupervised, {"minn": 1, "maxn": 1}), ("no n-grams", fasttext.train_unsupervised, {"maxn": 0}),
                ("supervised", fasttext.train_supervised, {"minn": 2, "maxn": 4}),
                ("supervised, no n-grams", fasttext.train_supervised, {"wordNgrams": 2})):
            model = train(str(text), dim=33, epoch=1, bucket=5000, minCount=1, thread=11, verbose=0, **options)  # 11 fill the whole matrix
            path = self.folder / "m.bin"
            model.save_model(str(path))
            known = model.get_words(on_unicode_error="replace")
            out, _ = self.converted(path, "--invalid-utf8", "keep")
            self.assert_known(out, [word.encode() for word in known], [model.get_word_vector(word) for word in known])
            self.load(out)
            vocabulary = set(known) | set(model.labels if "supervised" in name else [])
            unknown = set()
            while len(unknown) < WORDS:
                word = self.random.choice(known)
                at = self.random.randint(0, len(word))
                word = word[:at] + self.word(3) + word[at + self.random.randint(0, 2):]
                # Without n-grams, SQL finds a word in lower case.
                if word not in vocabulary and not word.startswith("[") and ("no n-grams" not in name or word.lower() not in vocabulary):
                    unknown.add(word)
            vector_of = lambda word: model.get_word_vector(word) if len(model.get_subwords(word)[1]) else None
            self.assert_vectors(self.random.choices([word for word in known if not word.startswith("[")], k=WORDS), model.get_word_vector)
            self.assert_vectors(unknown, vector_of)
            table.append(f"{name:24} {len(known):5} words, {WORDS} known and {len(unknown)} unknown ones bit for bit")
        print("\n" + "\n".join(table))


if __name__ == "__main__":
    unittest.main()
