"""Opens generated static embedding models of every layout, type, weights, mapping and normalize, and compares the vectors of
texts, bit for bit, with a reference in Python that follows docs/text.md.

    static_models_test.py EXTENSION GLOVE_CONVERT
"""
import itertools
import json
import os
import pathlib
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest

import numpy
from static_models import LAYOUTS, StaticModel, UNKNOWN, unigram, word_piece, write_safetensors

CONVERT = sys.argv.pop()
EXTENSION = sys.argv.pop()

TOKENS = ([UNKNOWN, "the", "a", "un", "##able", "##break", "##s", "play", "violin", "piano", "z", "##z", "é", "日本", "##本"] +
          ["t%d" % i for i in range(20)])
TEXTS = ["the violin plays", "unbreakable", "a zebra plays the é 日本", "", "   ", "zebra", "日本本 zz zzz", "the " * 700,
         "t1 t2 t3 zebra " * 300, "é" * 101 + " piano", "é " * 2000, "the\tpiano\nplays\u00a0the violin", "t19"]


def header_of(path):
    with open(path, "rb") as file:
        return json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))


def replace_bytes(path, old, new):
    with open(path, "r+b") as file:
        content = file.read()
        assert content.count(old) == 1 and len(old) == len(new)
        file.seek(content.index(old))
        file.write(new)


class StaticModels(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.db = sqlite3.connect(":memory:")
        self.addCleanup(self.db.close)
        self.db.enable_load_extension(True)
        self.db.load_extension(EXTENSION)
        self.random = numpy.random.default_rng(int(os.environ.get("GLOVE_TEST_SEED", "20")))

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def ask(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def one(self, sql, *values):
        return self.ask(sql, *values)[0][0]

    def error(self, sql, *values):
        with self.assertRaises(sqlite3.Error) as raised:
            self.ask(sql, *values)
        return str(raised.exception)

    def convert(self, *arguments):
        return subprocess.run([CONVERT, "-q", *arguments], capture_output=True, text=True, check=False)

    def make(self, name="model", layout="model2vec", tokenizer=None, dims=9, **options):
        tokenizer = tokenizer or word_piece(TOKENS)
        rows = len(tokenizer["model"]["vocab"])
        if options.get("mapping") is not None:
            rows = max(options["mapping"]) + 1
        values = self.random.standard_normal((rows, dims))
        return StaticModel(self.path(name), layout, values, tokenizer, **options)

    def load(self, path, name="m", options=None):
        return self.one("SELECT glove_load(?, ?, ?)", path, name, options)

    def check_texts(self, model, name="m", texts=None):
        for text in texts or TEXTS:
            self.assertEqual(self.one("SELECT glove_text_vec(?, ?)", text, name), model.encode(text), (model.folder, text[:40]))

    # Vectors --------------------------------------------------------------------------------------

    def test_every_combination_has_the_bits_of_the_reference(self):
        weights = (0.1 + self.random.random(len(TOKENS)), "F64"), (1 + self.random.random(len(TOKENS)), "F32"), (None, "F64")
        mappings = (None, "<i8"), (self.random.integers(0, 7, len(TOKENS)).tolist(), "<u2")
        for number, (layout, dtype, (weight, weights_dtype), (mapping, mapping_type), normalize) in enumerate(itertools.product(
                LAYOUTS, ("F32", "F16", "BF16", "I8", "F64"), weights, mappings, (True, False))):
            model = self.make("m%d" % number, layout, dtype=dtype, weights=weight, weights_dtype=weights_dtype, mapping=mapping,
                              mapping_type=mapping_type, normalize=normalize, dims=(9, 16, 1)[number % 3])
            self.load(model.folder)
            self.check_texts(model, texts=TEXTS if number % 10 == 0 else TEXTS[:6])
            self.one("SELECT glove_save('m', ?)", self.path("saved.safetensors"))
            self.load(self.path("saved.safetensors"), "saved", '{"verify":true}')
            self.check_texts(model, "saved", TEXTS[:3])

    def test_rows_beyond_the_tokens_are_padding(self):
        for number, (layout, dtype, more) in enumerate(itertools.product(LAYOUTS, ("F32", "F16", "I8"), (1, 29))):
            values = self.random.standard_normal((len(TOKENS) + more, 5))
            values[len(TOKENS):] = numpy.nan if dtype == "F32" else 9
            model = StaticModel(self.path("p%d" % number), layout, values, word_piece(TOKENS), dtype=dtype, normalize=bool(number % 2))
            self.load(model.folder)
            self.assertEqual(self.one("SELECT words FROM glove_models"), len(TOKENS))
            self.check_texts(model, texts=TEXTS[:6])
            self.one("SELECT glove_save('m', ?)", self.path("saved.safetensors"))
            self.load(self.path("saved.safetensors"), "saved", '{"verify":true}')
            self.check_texts(model, "saved", TEXTS[:3])
            self.one("SELECT glove_unload('saved')")

    def test_is_close_to_float32(self):
        model = self.make(dims=64, weights=self.random.random(len(TOKENS)), normalize=True)
        self.load(model.folder)
        for text in TEXTS:
            ids = model.kept_ids(text)
            if not ids or len(ids) > 64:  # the error of float32 grows with the number of tokens
                continue
            mean = (model.table[ids].astype("f4") * model.weights[ids].astype("f4")[:, None]).mean(axis=0, dtype="f4")
            mean /= numpy.linalg.norm(mean) + numpy.float32(1e-32)
            ours = numpy.frombuffer(self.one("SELECT glove_text_vec(?, 'm')", text), "<f4")
            self.assertLess(numpy.abs(ours - mean).max(), 1e-6)

    def test_truncation_of_the_tokenizer_applies(self):
        tokenizer = word_piece(TOKENS)
        tokenizer["truncation"] = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
        for layout in LAYOUTS:
            model = self.make(layout, layout, tokenizer)
            self.load(model.folder)
            self.assertEqual(self.one("SELECT glove_text_vec('the a piano violin', 'm')"), model.encode("the a"))

    def test_tokens(self):
        model = self.make(weights=numpy.arange(len(TOKENS)) / 8)
        self.load(model.folder)
        rows = "SELECT position, token, id, weight FROM glove_tokens(?, 'm')"
        self.assertEqual(self.ask(rows, "unbreak zebra the"),
                         [(1, "un", 3, .375), (2, "##break", 5, .625), (3, UNKNOWN, None, None), (4, "the", 1, .125)])
        self.assertEqual(len(self.ask(rows, "a " * 600)), 512)
        self.assertEqual(len(self.ask(rows, "the " * 600)), 384)  # of which the first 512 * 3 characters are kept
        nested = self.make("n", "nested")
        self.load(nested.folder)
        self.assertEqual(self.ask(rows, "zebra the"), [(1, UNKNOWN, 0, 1.0), (2, "the", 1, 1.0)])

    def test_options_choose_the_method(self):
        self.load(self.make().folder)
        self.assertIn('add "method":"words"', self.error("SELECT glove_text_vec('the', 'm', '{\"a\":0.1}')"))
        words = self.one("SELECT glove_text_vec('play the', 'm', '{\"method\":\"words\",\"weights\":\"none\",\"components\":0}')")
        mean = self.one("SELECT glove_mean(value, 1, 'm') FROM json_each('[\"play\",\"the\"]')")
        self.assertIsNotNone(words)
        self.assertIsNotNone(mean)
        self.one("SELECT glove_load_table('w', 'SELECT ''x'', ''[1,2]''')")
        self.assertIn("has no tokenizer", self.error("SELECT glove_text_vec('x', 'w', '{\"method\":\"tokenizer\"}')"))

    def test_sts_script(self):
        model = self.make(normalize=True)
        pairs = [("the violin", "a violin", 4.5), ("piano", "unbreakable", 0.5), ("t1 t2", "t2 t3", 3), ("t5", "zebra", 1), ("é", "piano é", 2.5)]
        with open(self.path("pairs.tsv"), "w", encoding="utf-8") as file:
            file.writelines("%s\t%s\t%s\n" % pair for pair in pairs)
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/sts.sh")
        result = subprocess.run([script, self.path("pairs.tsv")], capture_output=True, text=True, check=False,
                                env={**os.environ, "GLOVE_MODEL": model.folder, "GLOVE_EXTENSION": os.path.abspath(EXTENSION)})
        vectors = [[numpy.frombuffer(model.encode(text) or bytes(36), "<f4").astype(float) for text in pair[:2]] for pair in pairs]
        similarities = [a @ b / max(1e-30, numpy.linalg.norm(a) * numpy.linalg.norm(b)) for a, b in vectors]
        pearson = numpy.corrcoef(similarities, [score for _, _, score in pairs])[0, 1]
        self.assertIn("pairs.tsv: Pearson %.4f, Spearman" % pearson, result.stdout, result.stderr)

    # Models ---------------------------------------------------------------------------------------

    def test_opens_the_folder_or_its_file_under_the_name_of_the_folder(self):
        for layout in LAYOUTS:
            model = self.make("potion-" + layout, layout)
            self.assertEqual(self.one("SELECT glove_load(?)", model.folder + "/"), "potion-" + layout)
            self.load(model.file)
            self.check_texts(model, texts=TEXTS[:3])

    def test_equal_and_empty_tokens(self):
        tokens = ["x", "same", "", "other", "same", "y", "", "same"]
        model = self.make(tokenizer=unigram(tokens))
        self.load(model.folder)
        self.one("SELECT glove_save('m', ?)", self.path("saved.safetensors"))
        self.load(self.path("saved.safetensors"), "saved", '{"verify":true}')
        for name in "m", "saved":
            self.assertEqual(self.ask("SELECT id, word FROM glove_words(?) ORDER BY id", name), list(enumerate(tokens)))
            for word in tokens:
                want = [(i,) for i, token in enumerate(tokens) if token == word]
                self.assertEqual(self.ask("SELECT id FROM glove_words(?) WHERE word = ? ORDER BY id", name, word), want)
                self.assertEqual(self.ask("SELECT id FROM glove_words(?) WHERE word IN (?, '?') ORDER BY id", name, word), want)
                self.assertEqual(self.ask("SELECT id FROM glove_words(?) WHERE +word = ? ORDER BY id", name, word), want)
            ranked = self.ask("SELECT rank, neighbor, similarity FROM glove_nn('x', NULL, NULL, ?)", name)
            self.assertEqual(sorted(neighbor for _, neighbor, _ in ranked), ["other", "same", "same", "same", "y"])
            for word in "same", "y", "":
                self.assertEqual(self.ask("SELECT rank, neighbor, similarity FROM glove_nn WHERE word = 'x' AND model = ? AND neighbor = ?",
                                          name, word), [row for row in ranked if row[1] == word])
            first = self.one("SELECT glove_vec('same', ?)", name)
            self.assertAlmostEqual(self.one("SELECT cos_sim(?, vector) FROM glove_words(?) WHERE id = 1", first, name), 1, 6)
            self.assertIn("''", self.error("SELECT glove_vec('', ?)", name))
            self.assertEqual(self.ask("SELECT glove_oov('\"\" + x', ?1), glove_vec('\"\"', ?1)", name), [('[""]', None)])
            self.check_texts(model, name, ["x y", "other x"])

    def test_ties_are_ordered_by_id(self):
        model = self.make(mapping=[i % 5 for i in range(len(TOKENS))])
        self.load(model.folder)
        ids = [i for i, in self.ask("SELECT w.id FROM glove_nn(NULL, ?, NULL, 'm') n JOIN glove_words('m') w ON w.word = n.neighbor "
                                    "ORDER BY n.rank", model.encode("the"))]
        self.assertEqual(sorted(ids), list(range(len(TOKENS))))
        self.assertEqual(ids[:7], [1, 6, 11, 16, 21, 26, 31])
        for begin in range(0, 35, 7):
            self.assertEqual(ids[begin:begin + 7], sorted(ids[begin:begin + 7]))

    def test_files_keep_the_tokenizer(self):
        model = self.make(tokenizer=word_piece(TOKENS + ["w%d" % i for i in range(90)]), normalize=True,
                          weights=self.random.random(len(TOKENS) + 90))
        file, shards = self.path("file.safetensors"), self.path("shards.safetensors")
        self.assertEqual(self.convert(model.folder, file, "--verify").stderr, "")
        self.assertEqual(self.convert(model.folder, shards, "--shards", "3", "--verify").stderr, "")
        self.assertEqual(self.convert(file, self.path("again.safetensors"), "--verify").stderr, "")
        for path in file, shards + ".index.json", self.path("again.safetensors"):
            self.load(path, "m", '{"verify":true}')
            self.check_texts(model)
        half = self.make("half", dtype="F16")
        self.assertEqual(self.convert(half.folder, self.path("half.safetensors"), "--type", "float16", "--verify").stderr, "")
        self.load(self.path("half.safetensors"))
        self.check_texts(half)
        self.assertEqual(header_of(self.path("half.safetensors"))["vectors"]["dtype"], "F16")
        self.assertEqual(header_of(file)["__metadata__"]["glove.version"], "2.0")
        with open(shards + ".index.json", encoding="utf-8") as index:
            self.assertEqual(json.load(index)["metadata"]["glove.version"], "2.0")
        self.load(self.path("shards-00001-of-00003.safetensors"))
        self.assertIn("one shard", self.error("SELECT glove_text_vec('the', 'm')"))
        self.one("SELECT glove_load_table('w', 'SELECT ''x'', ''[1,2]''')")
        self.one("SELECT glove_save('w', ?)", self.path("words.safetensors"))
        self.assertEqual(header_of(self.path("words.safetensors"))["__metadata__"]["glove.version"], "1.3")
        for option in ["--top", "5"], ["--lower"], ["--normalize"], ["--only-words", model.tokenizer_file]:
            self.assertIn("read as a whole", self.convert(model.folder, self.path("no"), *option).stderr)
            self.assertFalse(os.path.exists(self.path("no")))

    def test_the_rest_of_sql_works(self):
        self.load(self.make(tokenizer=unigram(["x", "same", "", "other", "same", "y", "same"]), dims=4).folder)
        self.assertEqual(self.one("SELECT glove_derive('d', '{\"center\":true}', 'm')"), "d")
        self.assertEqual(sorted(word for word, in self.ask("SELECT word FROM glove_words('d')")), ["other", "same", "x", "y"])
        self.assertEqual(self.one("SELECT sum(size) FROM glove_clusters WHERE model = 'm' AND k = 2"), 6)
        self.assertEqual(self.one("SELECT count(*) FROM glove_kmeans WHERE model = 'm' AND k = 2 AND word = 'same'"), 3)

    # An index of texts ----------------------------------------------------------------------------

    def test_index(self):
        model = self.make(normalize=True)
        self.load(model.folder)
        self.ask("CREATE TABLE doc(id INTEGER PRIMARY KEY, body TEXT)")
        self.db.executemany("INSERT INTO doc(body) VALUES (?)", [(text,) for text in TEXTS])
        self.ask("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', text='body', model='m')")
        nearest = "SELECT id, similarity FROM doc_vec WHERE query = glove_text_vec('piano violin', 'm') AND k = 20"
        full = ("SELECT id, cos_sim(glove_text_vec(body, 'm'), glove_text_vec('piano violin', 'm')) AS s FROM doc WHERE s IS NOT NULL "
                "ORDER BY s DESC, id")
        self.ask("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
        self.ask("INSERT INTO doc(body) VALUES ('a violin')")
        self.assertEqual(self.ask(nearest), self.ask(full))
        self.load(model.folder)  # the same contents
        self.assertEqual(self.ask(nearest), self.ask(full))
        lower_case = dict(model.tokenizer, normalizer={"type": "Lowercase"})
        for change in {"normalize": False}, {"layout": "nested"}, {"tokenizer": word_piece([UNKNOWN] + TOKENS[:0:-1])}, {"tokenizer": lower_case}:
            other = dict({"layout": "model2vec", "normalize": True, "tokenizer": model.tokenizer}, **change)
            changed = StaticModel(self.path("changed"), other["layout"], model.table, other["tokenizer"], normalize=other["normalize"])
            self.load(changed.folder)
            self.assertIn("rebuild", self.error(nearest), change)
            self.load(model.folder)
            self.ask(nearest)

    # Bad input ------------------------------------------------------------------------------------

    def check_refused(self, path, *expected):
        self.ask("SELECT glove_unload(name) FROM glove_models")
        message = self.error("SELECT glove_load(?, 'bad')", path)
        for part in expected:
            self.assertIn(part, message)
        self.assertEqual(self.ask("SELECT name FROM glove_models"), [])
        target = self.path("bad.safetensors")
        result = self.convert(path, target)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertFalse(os.path.exists(target))

    def test_the_nested_folder_by_a_relative_name(self):
        model = self.make(layout="nested")
        before = os.getcwd()
        os.chdir(os.path.join(model.folder, "0_StaticEmbedding"))
        try:
            for name in ".", "model.safetensors":
                self.load(name)
                self.check_texts(model)
        finally:
            os.chdir(before)

    def test_a_pointer_of_git_lfs(self):
        model = self.make()
        with open(os.path.join(model.folder, "model.safetensors"), "w", encoding="utf-8") as file:
            file.write("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n")
        self.check_refused(model.folder, "model.safetensors: the file is a pointer of Git LFS", "run 'git lfs pull'")

        model = self.make("other")
        for name in model.tokenizer_file, os.path.join(model.folder, "config.json"):
            with open(name, "r+", encoding="utf-8") as file:
                whole = file.read()
                file.seek(0)
                file.write("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n")
                file.truncate()
            self.check_refused(model.folder, os.path.basename(name) + ": the file is a pointer of Git LFS", "run 'git lfs pull'")
            with open(name, "w", encoding="utf-8") as file:
                file.write(whole)
        self.load(model.folder)

    def test_a_folder_that_cannot_be_read(self):
        model = self.make()
        for name in model.file, model.tokenizer_file:
            os.rename(name, name + "~")
            os.symlink(name, name)
            self.check_refused(model.folder, "cannot read '%s'" % name, "symbolic links")
            os.remove(name)
            os.rename(name + "~", name)
        if os.geteuid() == 0:
            print("test_a_folder_that_cannot_be_read: no folder is closed to root", file=sys.stderr)
            return
        os.chmod(model.folder, 0)
        self.check_refused(model.folder, "cannot read", "Permission denied")
        os.chmod(model.folder, 0o700)

    def test_verify_of_a_folder(self):
        model = self.make()
        expected = "only a model file can be verified, and this is a static embedding model"
        self.assertIn(expected, self.error("SELECT glove_load(?, 'm', '{\"verify\":true}')", model.folder))
        for path in model.folder, model.file:
            self.assertIn(expected, self.convert("--verify", path).stderr)

    def test_does_not_convert_onto_what_it_reads(self):
        model = self.make()
        link, hard = self.path("link.safetensors"), self.path("hard.safetensors")
        os.symlink(model.file, link)
        os.link(model.file, hard)

        def content():
            return {path.name: path.read_bytes() for path in pathlib.Path(model.folder).iterdir()}
        before = content()
        for source in model.folder, model.file, link:
            for target in model.file, link, hard, model.tokenizer_file, os.path.join(model.folder, "config.json"):
                if source == link and target.endswith(".json"):
                    continue  # a link stands beside other files
                result = self.convert(source, target)
                self.assertEqual((result.returncode, content()), (1, before), (source, target))
                self.assertIn("which is read; name another output", result.stderr)
        self.assertIn("not a regular file", self.convert(model.folder, model.folder).stderr)
        words = self.path("words.txt")
        with open(words, "w", encoding="utf-8") as file:
            file.write("cat 1 2\ndog 2 1\n")
        self.assertIn("which is read", self.convert(words, words).stderr)
        self.assertIn("which is read", self.convert(words, hard, "--only-words", hard).stderr)
        self.assertEqual(pathlib.Path(words).read_text(encoding="utf-8"), "cat 1 2\ndog 2 1\n")
        self.assertEqual(self.convert(model.folder, self.path("m.safetensors")).returncode, 0)

    def test_missing_parts(self):
        os.mkdir(self.path("empty"))
        self.check_refused(self.path("empty"), "is a directory", "model.safetensors")
        for layout in LAYOUTS:
            model = self.make(layout, layout)
            os.rename(model.tokenizer_file, model.tokenizer_file + "~")
            self.check_refused(model.folder, "there is no tokenizer.json beside")
            os.rename(model.tokenizer_file + "~", model.tokenizer_file)
            for name in "config.json", "config_sentence_transformers.json", "modules.json":
                if os.path.exists(os.path.join(model.folder, name)):
                    os.remove(os.path.join(model.folder, name))
            self.check_refused(model.folder, "config.json" if layout == "model2vec" else "neither modules.json nor")

    def test_other_models(self):
        model = self.make()
        write_safetensors(model.file, {"encoder.weight": ("F32", numpy.zeros((3, 3), "<f4"))})
        self.check_refused(model.folder, "no static embedding model", "neural network")
        nested = self.make("n", "nested")
        StaticModel.write(os.path.join(nested.folder, "modules.json"), [{"type": "sentence_transformers.models.Transformer"}])
        self.assertIn("tokenizer.json", self.error("SELECT glove_load(?, 'bad')", nested.folder))  # read as a neural encoder
        self.assertIn("Transformer", self.convert(nested.folder, self.path("bad.safetensors")).stderr)
        StaticModel.write(os.path.join(nested.folder, "modules.json"),
                          [{"type": "sentence_transformers.models.StaticEmbedding"}, {"type": "sentence_transformers.models.Dense"}])
        self.check_refused(nested.folder, "Dense", "StaticEmbedding and then Normalize")

    def test_parts_that_do_not_fit(self):
        count = len(TOKENS)
        rows = lambda n: self.random.standard_normal((n, 4))
        refused = lambda *expected, **parts: self.check_refused(
            StaticModel(self.path("bad"), "model2vec", parts.pop("values", rows(count)), parts.pop("tokenizer", word_piece(TOKENS)),
                        **parts).folder, *expected)
        refused("has 34 rows", "has 35 tokens", values=rows(count - 1))
        refused("'weights' has 34 entries", weights=numpy.ones(count - 1))
        refused("'mapping' has 34 entries", mapping=[0] * (count - 1))
        refused("'weights' must be a vector with an entry for each token", weights=numpy.ones(0))
        refused("'mapping' must be a vector with an entry for each token", mapping=[], values=rows(count))
        refused("'weights' must be a vector with an entry for each token", weights=numpy.ones((count, 1)))
        refused("'mapping' is of the type 'F32'; integers of 8 to 64 bits are supported", mapping=[0] * count, mapping_type="<f4")
        refused("maps the token with the id 2 to row 35, but there are 35 rows", mapping=[0, 1, count] + [0] * (count - 3))
        refused("maps the token with the id 1 to row -1", mapping=[0, -1] + [0] * (count - 2))
        refused("'weights' is of the type 'I8'; F16, BF16, F32 and F64 are supported", weights=numpy.ones(count), weights_dtype="I8")
        for bad in numpy.nan, numpy.inf:
            weights = numpy.ones(count)
            weights[7] = bad
            refused("'weights' is NaN or infinite for the token with the id 7", weights=weights)
            values = rows(count)
            values[8, 2] = bad
            refused("row 9: component 3 is", values=values)
        unknown = word_piece(TOKENS)
        unknown["model"]["unk_token"] = "[NONE]"
        refused("model has the unk_token '[NONE]', which its 'vocab' lacks", tokenizer=unknown)
        holes = word_piece(TOKENS)
        holes["model"]["vocab"]["t19"] = 40
        refused("no token has the id 34", "40", tokenizer=holes)
        beyond = word_piece(TOKENS)
        beyond["model"]["vocab"]["t19"] = 4294967290
        refused("no token has the id 34", tokenizer=beyond)
        refused("the unknown token is empty", values=rows(3), tokenizer=unigram(["", "a", "b"]))
        unknown = word_piece(TOKENS)
        unknown["model"]["type"] = "Neural"
        refused("tokenizer.json", "Neural", "WordPiece", tokenizer=unknown)

    def test_vectors_that_are_longer_than_the_tokenizer_are_not_read(self):
        """Of a file with a hole, which no memory could hold."""
        model = self.make()
        for name, dtype, width in ("mapping", "U8", 1), ("mapping", "I64", 8), ("weights", "F64", 8), ("weights", "F16", 2):
            with open(model.file, "rb") as file:
                header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
                values = file.read(header["embeddings"]["data_offsets"][1])
            size, begin = 1 << 38, len(values)
            header = {"embeddings": header["embeddings"],
                      name: {"dtype": dtype, "shape": [size // width], "data_offsets": [begin, begin + size]}}
            text = json.dumps(header).encode()
            with open(model.file, "wb") as file:
                file.write(struct.pack("<Q", len(text)) + text + values)
                file.truncate(8 + len(text) + begin + size)
            self.check_refused(model.folder, "the tensor '%s' has %d entries, but" % (name, size // width), "has 35 tokens")

    def test_damaged_parts(self):
        model = self.make()
        for path, expected in (model.tokenizer_file, "tokenizer.json"), (model.file, "model.safetensors"), (
                os.path.join(model.folder, "config.json"), "config.json"):
            with open(path, "rb") as file:
                whole = file.read()
            for size in sorted({0, 1, 8, 20, len(whole) // 2, len(whole) - 1}):
                with open(path, "wb") as file:
                    file.write(whole[:size])
                self.check_refused(model.folder, expected)
            with open(path, "wb") as file:
                file.write(whole)
        StaticModel.write(os.path.join(model.folder, "config.json"), {"normalize": "yes"})
        for value, shown in ("yes", "'yes'"), (1, "1"), (0.5, "0.5"), ([], "an array"):
            StaticModel.write(os.path.join(model.folder, "config.json"), {"normalize": value})
            self.check_refused(model.folder, "config.json", "\"normalize\" must be true or false, and not " + shown)
        StaticModel.write(os.path.join(model.folder, "config.json"), [])
        self.check_refused(model.folder, "config.json: the file must be a JSON object, and not of the type array")

    def test_a_huge_tokenizer(self):
        model = self.make()
        os.truncate(model.tokenizer_file, 1 << 30)
        self.check_refused(model.folder, "tokenizer.json", "1073741824 bytes", "at most 268435456")

    def test_verify_finds_damage(self):
        model = self.make(weights=self.random.random(len(TOKENS)))
        file = self.path("file.safetensors")
        self.convert(model.folder, file)
        self.assertIn("tokens are compared by 'cosine', not by 'dot'; leave metric out",
                      self.convert(model.folder, self.path("dot"), "--metric", "dot").stderr)
        header = header_of(file)
        with open(file, "rb") as content:
            whole = content.read()
        for tensor in "tokenizer", "token_weights", "word_bytes":
            place = 4096 + header[tensor]["data_offsets"][0] + 9
            with open(file, "wb") as content:
                content.write(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1:])
            self.assertIn("'%s' is damaged" % tensor, self.convert("--verify", file).stderr)
        with open(file, "wb") as content:
            content.write(whole)
        replace_bytes(file, b'"glove.version":"2.0"', b'"glove.version":"4.0"')
        self.assertIn("this build reads the versions 1 to 3", self.error("SELECT glove_load(?)", file))


if __name__ == "__main__":
    unittest.main()
