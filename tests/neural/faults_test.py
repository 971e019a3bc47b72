"""Faults of folders, ONNX files, libraries and statements: each is an error of one sentence, which changes nothing.

    faults_test.py GLOVE_SO [FOLDER]
"""
import json
import os
import shutil
import subprocess
import sys
import unittest

import numpy

import neural
from make_model import Network, sentence_embedding, write_json
from neural import NeuralTest, compiled

NETWORK = Network()


def remove(name):
    return lambda folder: os.remove(os.path.join(folder, name))


def write(name, content):
    def change(folder):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
    return change


def put(name, **members):
    """Sets members of a JSON file, which may be missing."""
    def change(folder):
        path = os.path.join(folder, name)
        known = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                known = json.load(file)
        write_json(path, {**known, **members})
    return change


def modules(*types, paths=None):
    def change(folder):
        write_json(os.path.join(folder, "modules.json"), [{"type": "x." + type, "path": (paths or ["", "1_Pooling", "", "", ""])[i]} for i, type in enumerate(types)])
    return change


def cut(share):
    def change(folder):
        path = os.path.join(folder, "onnx", "model.onnx")
        os.truncate(path, int(os.path.getsize(path) * share))
    return change


def network(changed=None, **options):
    return lambda folder: NETWORK.write(os.path.join(folder, "onnx", "model.onnx"), changed=changed, **options)


def output(type, make):
    """A network with the output "x" of the type, which is made of the vectors of the tokens."""
    return network(lambda network, graph, x: [("x", type, make(graph, x))])


POOLING = "1_Pooling/config.json"
PROMPTS = "config_sentence_transformers.json"
ANY_FOLDER = [  # (what is changed in the folder, the options, the error)
    ("modules.json is missing", remove("modules.json"), None, "directory|folder"),
    ("modules.json is a text", write("modules.json", "models.Transformer\""), None, "modules.json.*JSON"),
    ("modules.json is cut", write("modules.json", '[{"type": "a.Transformer"'), None, "modules.json.*JSON"),
    ("modules.json is an object", write("modules.json", '{"type": "a.Transformer"}'), None, "modules.json: the file must be an array"),
    ("modules.json holds a number", write("modules.json", '[1, "a.Transformer"]'), None, r"modules.json: \[0\] must be an object"),
    ("a module has no type", write("modules.json", '[{"path": "", "x": "a.Transformer"}]'), None, r"modules.json: \[0\] lacks 'type'"),
    ("a module is unknown", modules("Transformer", "Pooling", "LSTM"), None, r"modules.json: \[2\] is of the type 'x.LSTM'.*not supported there"),
    ("a Transformer follows a Transformer", modules("Transformer", "Transformer"), None, r"\[1\] is of the type 'x.Transformer'"),
    ("two poolings", modules("Transformer", "Pooling", "Pooling"), None, r"\[2\] is of the type 'x.Pooling'"),
    ("the Pooling is first", modules("Pooling", "Transformer"), None, r"\[0\] is of the type 'x.Pooling'"),
    ("a path leaves the folder", modules("Transformer", "Pooling", paths=["", "../m/1_Pooling"]), None, "with the path '../m/1_Pooling'"),
    ("a path is absolute", modules("Transformer", "Pooling", paths=["", "/1_Pooling"]), None, "with the path '/1_Pooling'"),
    ("tokenizer.json is missing", remove("tokenizer.json"), None, "tokenizer.json"),
    ("tokenizer.json is empty", write("tokenizer.json", ""), None, "tokenizer.json.*JSON"),
    ("tokenizer.json has no model", write("tokenizer.json", "{}"), None, "tokenizer.json: the file lacks 'model'"),
    ("tokenizer.json is a folder", lambda folder: (remove("tokenizer.json")(folder), os.mkdir(os.path.join(folder, "tokenizer.json"))), None, "tokenizer.json"),
    ("the tokenizer is of an unknown kind", put("tokenizer.json", model={"type": "Foo"}), None, "tokenizer.json: model has the type 'Foo', which is not supported"),
    ("config.json is no JSON", write("config.json", "{"), None, "config.json.*JSON"),
    ("the limit of tokens is a text", put("sentence_bert_config.json", max_seq_length="8"), None, "sentence_bert_config.json: max_seq_length must be a whole number"),
    ("the limit of tokens is too small", put("sentence_bert_config.json", max_seq_length=2), None, "2 tokens leaves no room beside the 2 special tokens"),
    ("the limit of tokens is 0", put("config.json", max_position_embeddings=0), None, "0 tokens leaves no room"),
    ("do_lower_case is a number", put("sentence_bert_config.json", do_lower_case=1), None, "do_lower_case must be true or false"),
    ("the pooling's config.json is missing", remove(POOLING), None, POOLING),
    ("the pooling's config.json is no JSON", write(POOLING, "["), None, POOLING + ".*JSON"),
    ("two kinds of pooling", put(POOLING, pooling_mode_cls_token=True), None, "has the pooling 'mean, cls', which is not supported"),
    ("a weighted mean", put(POOLING, pooling_mode="weightedmean"), None, "has the pooling 'weightedmean', which is not supported"),
    ("a weighted mean by an old name", put(POOLING, pooling_mode_weightedmean_tokens=True, pooling_mode_mean_tokens=False), None, "'weightedmean'"),
    ("the pooling is a list", put(POOLING, pooling_mode=["mean", "cls"]), None, "pooling_mode must be a string"),
    ("the pooling's flag is a text", put(POOLING, pooling_mode_max_tokens="no"), None, "pooling_mode_max_tokens must be true or false"),
    ("the prompts are no JSON", write(PROMPTS, "x"), None, PROMPTS + ".*JSON"),
    ("a prompt is a number", put(PROMPTS, prompts={"query": 1}), None, "prompts.query must be a string"),
    ("the similarity is a number", put(PROMPTS, similarity_fn_name=1), None, "similarity_fn_name must be a string"),
    ("prompts that the pooling leaves out", lambda folder: (put(POOLING, include_prompt=False)(folder), put(PROMPTS, prompts={"query": "q: "})(folder)),
     None, "has prompts that the pooling leaves out"),
    ("the network is missing", remove("onnx/model.onnx"), None, "there is no .*onnx/model.onnx; export the model to ONNX"),
    ("the option file names nothing", None, {"file": "onnx/other.onnx"}, "there is no .*onnx/other.onnx"),
    ("the option file leaves the folder", None, {"file": "../m/onnx/model.onnx"}, "must be a path below the model's folder"),
    ("the option file is absolute", None, {"file": "/etc/passwd"}, "must be a path below the model's folder"),
    ("the option file is a number", None, {"file": 1}, "file"),
    ("more dimensions than there are", None, {"dims": 33}, "the option \"dims\" is 33, but the model has 32 dimensions"),
    ("no dimensions", None, {"dims": 0}, "dims.*an integer from 1 to 65536"),
    ("too many dimensions", None, {"dims": 65537}, "dims.*an integer from 1 to 65536"),
    ("a prompt that is a list", None, {"prompt": []}, "prompt.*a text"),
    ("a prompt that is null", None, {"query_prompt": None}, "query_prompt.*a text"),
    ("old is a text", None, {"old": "yes"}, "old.*true or false"),
    ("an unknown option", None, {"pooling": "mean"}, "pooling"),
]
ONNX = [  # the errors of ONNX Runtime itself
    ("the file is empty", write("onnx/model.onnx", ""), None, "onnx/model.onnx: ONNX Runtime: |no input or no output"),
    ("the file is a text", write("onnx/model.onnx", "a text that is no model\n" * 40), None, "onnx/model.onnx: ONNX Runtime: "),
    ("the file is cut at the half", cut(0.5), None, "onnx/model.onnx: ONNX Runtime: "),
    ("the file is cut before its end", cut(0.999), None, "onnx/model.onnx: ONNX Runtime: "),
    ("the file is a folder", lambda folder: (remove("onnx/model.onnx")(folder), os.mkdir(os.path.join(folder, "onnx", "model.onnx"))), None, "model.onnx"),
    ("an unknown input", network(inputs=("input_ids", "attention_mask", "token_type_ids", "position_ids")), None,
     "onnx/model.onnx: the model has the input 'position_ids', which is not supported; input_ids, attention_mask and token_type_ids are"),
    ("an output of integers", output(7, lambda graph, x: graph.run("Cast", x, to=7)), None, "the model's output 'x' has the type 7 of ONNX, but must be float32"),
    ("an output of half precision", output(10, lambda graph, x: graph.run("Cast", x, to=10)), None, "has the type 10 of ONNX"),
    ("an output of NaN", output(1, lambda graph, x: graph.run("Mul", x, graph.floats(numpy.nan))), None, "component 1 of the network's output is NaN or infinite"),
    ("an output of infinity", output(1, lambda graph, x: graph.run("Div", x, graph.floats(0))), None, "component 1 of the network's output is NaN or infinite"),
    ("an output of one axis", output(1, lambda graph, x: graph.run("Reshape", x, graph.ints([-1]))), None, "the network's output is no vector per text or token"),
    ("an output of four axes", output(1, lambda graph, x: graph.run("Unsqueeze", x, graph.ints([1]))), None, "the network's output is no vector per text or token"),
    ("an output of no axis", output(1, lambda graph, x: graph.run("ReduceSum", x, keepdims=0)), None, "the network's output is no vector per text or token"),
    ("an output without elements", output(1, lambda graph, x: graph.run("ConstantOfShape", graph.ints([1, 0, 32]))), None, "no vector per text or token"),
    ("an output of two texts", output(1, lambda graph, x: graph.run("Concat", x, x, axis=0)), None, "no vector per text or token"),
    ("an output of too many dimensions", output(1, lambda graph, x: graph.run("ConstantOfShape", graph.ints([1, 65537]))), None, "no vector per text or token"),
    ("an output larger than memory", output(1, lambda graph, x: graph.run("ConstantOfShape", graph.ints([1, 1 << 45]))), None, "ONNX Runtime: "),
    ("a shape that overflows", output(1, lambda graph, x: graph.run("ConstantOfShape", graph.ints([1 << 40, 1 << 40]))), None, "ONNX Runtime: "),
    ("a negative shape", output(1, lambda graph, x: graph.run("ConstantOfShape", graph.ints([1, -5]))), None, "ONNX Runtime: "),
    ("a Dense layer that the network lacks", modules("Transformer", "Pooling", "Dense"), None, "the model has a Dense layer, which only a network with the output"),
]


reads_onnx = unittest.skipUnless(neural.ENVIRONMENT, "the library that only looks like ONNX Runtime reads no file")


class FaultsTest(NeuralTest):
    def setUp(self):
        super().setUp()
        self.make(network=NETWORK)
        self.load()
        self.before = self.vector("cat").tobytes(), self.ask("SELECT * FROM glove_models")

    def expect_sentence(self, message):
        self.assertNotIn("\n", message)
        self.assertLess(len(message), 900)
        own = message.partition("ONNX Runtime: ")[0] or message
        self.assertNotRegex(own, r"\. [A-Z]|  |\(null\)")
        self.assertNotRegex(message, r"\.$|\\x0a")

    def expect_unchanged(self):
        self.assertEqual((self.vector("cat").tobytes(), self.ask("SELECT * FROM glove_models")), self.before)

    def check(self, table):
        self.assertEqual(len({name for name, *_ in table}), len(table))
        for name, change, options, expected in table:
            if neural.SANITIZED and name == "an output larger than memory":
                continue  # its operator new ends the process
            with self.subTest(name):
                folder = self.path("bad")
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(self.path("m"), folder)
                if change:
                    change(folder)
                for model in ("bad", "m"):  # a new one, and one that replaces another
                    message = self.error("SELECT glove_load(?, ?, ?)", folder, model, json.dumps(options) if options else None)
                    self.assertRegex(message, expected)
                    self.expect_sentence(message)
                    self.expect_unchanged()

    def test_folders(self):
        self.check(ANY_FOLDER)

    @reads_onnx
    def test_onnx_files(self):
        self.check(ONNX)

    @reads_onnx
    def test_bytes_that_change(self):
        """Each changed file is a model or an error."""
        with open(self.path("m/onnx/model.onnx"), "rb") as file:
            content = file.read()
        for _ in range(60):
            changed = bytearray(content)
            for place in self.random.integers(0, len(content) if self.random.integers(2) else 3000, self.random.integers(1, 9)):
                changed[place] = self.random.integers(256)
            shutil.rmtree(self.path("bad"), ignore_errors=True)
            shutil.copytree(self.path("m"), self.path("bad"))
            write("onnx/model.onnx", bytes(changed))(self.path("bad"))
            try:
                self.load("bad")
                self.vector("cat dog", "bad")
            except neural.sqlite3.Error as error:
                self.assertNotIn("\n", str(error))
        self.assertEqual(self.vector("cat").tobytes(), self.before[0])

    def test_libraries(self):
        write("text.so", "no library")(self.folder.name)
        with open("/proc/self/maps", encoding="ascii") as file:
            sqlite = next(line.split()[-1] for line in file if "libsqlite3" in line)
        old = compiled("old", '-DVERSION="1.22.0"')
        table = [
            ("", "needs the library of ONNX Runtime; name it with SELECT glove_config"),
            (self.path("none.so"), "cannot load the library '.*none.so'"),
            (self.path("text.so"), "cannot load the library '.*text.so'"),
            (self.folder.name, "cannot load the library"),
            (sqlite, "cannot load the library .*OrtGetApiBase"),
            (old, "is version 1.22.0, whose checks of model files are weaker than those of 1.24.2; install a newer one, or pass the option \"old\":true"),
            (compiled("older", '-DVERSION="1.24.1"'), "is version 1.24.1, whose checks"),
            (compiled("unknown", '-DVERSION="new"'), "is version new, whose checks"),
            (compiled("empty", "-DNO_FUNCTIONS"), "is version 1.32.0, which lacks functions; install 1.24.2 or a newer one"),
        ]
        for path, expected in table:
            with self.subTest(path):
                self.assertEqual(self.one("SELECT glove_config('onnxruntime', ?)", path), path)
                message = self.error("SELECT glove_load(?, 'x')", self.path("m"))
                self.assertRegex(message, expected)
                self.expect_sentence(message)
                self.expect_unchanged()
        for path, options in ((old, '{"old":true}'), (compiled("next", '-DVERSION="2.0.0"'), None), (neural.LIBRARY, None)):
            self.ask("SELECT glove_config('onnxruntime', ?)", path)
            self.ask("SELECT glove_load(?, 'x', ?)", self.path("m"), options)
            self.assertEqual(len(self.vector("cat", "x")), 32)
        self.assertRegex(self.error("SELECT glove_config('onnxruntime', NULL)"), "glove_config")
        self.ask("SELECT glove_config('onnxruntime_provider', 'cuda')")
        message = self.error("SELECT glove_load(?, 'x')", self.path("m"))
        self.assertRegex(message, "onnx/model.onnx: ONNX Runtime: CUDA execution provider is not enabled in this build; name the library of onnxruntime-gpu, "
                         r"or compute on the CPU with SELECT glove_config\('onnxruntime_provider', 'cpu'\)$")
        self.expect_sentence(message)

    def test_who_may_name_a_library(self):
        for allowed in (True, False, True):
            self.db.enable_load_extension(allowed)
            if allowed:
                self.ask("SELECT glove_config('onnxruntime', ?)", "/none.so")
                continue
            message = self.error("SELECT glove_config('onnxruntime', ?)", neural.LIBRARY)
            self.assertEqual(message, "glove_config: the connection may not load extensions, and so not name a library; allow that (Python: "
                             "enable_load_extension(True)), or set $GLOVE_ONNXRUNTIME before")
            self.expect_sentence(message)
            self.assertEqual(self.one("SELECT glove_config('onnxruntime')"), "/none.so")
            self.ask("SELECT glove_config('encode_limit', '1000')")
        code = ("import os, sqlite3, sys; db = sqlite3.connect(':memory:'); db.enable_load_extension(True); db.load_extension(sys.argv[1]); "
                "db.enable_load_extension(False); show = lambda: print(db.execute(\"SELECT glove_config('onnxruntime')\").fetchone()[0])\n"
                "show(); os.environ['GLOVE_ONNXRUNTIME'] = '/later.so'; show(); del os.environ['GLOVE_ONNXRUNTIME']; show()")
        environment = {name: value for name, value in os.environ.items() if name != "GLOVE_ONNXRUNTIME"}
        done = subprocess.run([sys.executable, "-c", code, neural.EXTENSION], capture_output=True, text=True, check=True, env=environment)
        self.assertEqual(done.stdout, "\n/later.so\n/later.so\n")
        if shutil.which("sqlite3"):
            done = subprocess.run(["sqlite3", "-batch", ":memory:", ".load " + neural.EXTENSION, "SELECT glove_config('onnxruntime', '/shell.so')"],
                                  capture_output=True, text=True, check=False, env=environment)
            self.assertEqual((done.stdout, done.stderr), ("/shell.so\n", ""))

    def test_options_for_other_files(self):
        with open(self.path("words.txt"), "w", encoding="ascii") as file:
            file.write("cat 1 2\ndog 2 1\n")
        os.mkdir(self.path("none"))
        for path in ("words.txt", "none"):
            for options in ('{"dims":1}', '{"file":"a"}', '{"prompt":"a"}', '{"query_prompt":""}', '{"document_prompt":"a"}', '{"old":true}'):
                message = self.error("SELECT glove_load(?, 'x', ?)", self.path(path), options)
                self.assertRegex(message, path + ": the options .* are for the folder of a neural model, and this is none")
                self.expect_sentence(message)
        self.ask("SELECT glove_load(?, 'words')", self.path("words.txt"))
        for option, value in (("format", "glove"), ("tensor", "a"), ("vocabulary", "words.txt"), ("frequencies", "words.txt"), ("verify", True)):
            message = self.error("SELECT glove_load(?, 'x', ?)", self.path("m"), json.dumps({option: value}))
            self.assertRegex(message, f'm: the option "{option}" is for files of vectors, and this is the folder of a neural model; leave it out$')
            self.expect_sentence(message)
        self.ask("SELECT glove_load(?, 'x', '{\"verify\":false,\"threads\":2}')", self.path("m"))
        self.ask("SELECT glove_unload('x')")

    def test_statements_that_need_rows(self):
        self.ask("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
        self.ask("INSERT INTO note VALUES (1, 'cat')")
        for sql in ("SELECT * FROM glove_nn('cat')", "SELECT glove_text_vec('cat')", "SELECT glove_vec('cat')", "SELECT cos_sim('cat', 'dog')",
                    "SELECT glove_save('m', '/tmp/none')", "SELECT * FROM glove_words", "SELECT * FROM glove_kmeans(2)",
                    "SELECT glove_derive('m', 'x', '{\"dims\":2}')", "SELECT * FROM glove_mmr('m', 'cat', 2)", "SELECT * FROM glove_components(2)",
                    "SELECT * FROM glove_nn('cat', 'm')", "SELECT glove_text_vec('cat', 'm', '{}')"):
            with self.subTest(sql):
                message = self.error(sql)
                self.expect_sentence(message)
                self.expect_unchanged()
        for sql in ("glove_nn('cat')", "glove_words"):
            self.assertRegex(self.error("SELECT * FROM " + sql), "the model 'm' is a neural encoder, which has no rows to search; pass texts to glove_encode, or")
        for sql, expected in (("SELECT glove_encode('cat', 'm', '{\"components\":0}')", "is a neural encoder, which has no options for texts"),
                              ("SELECT glove_encode('cat', 'none')", "none"), ("SELECT glove_encode()", "arguments"),
                              ("SELECT * FROM glove_tokens('cat', 'm', '{}')", "is a neural encoder, which has no options for texts"),
                              ("CREATE VIRTUAL TABLE v USING glove_index(content='note', rowid='id', text='title', model='m', options='{}')", "options"),
                              ("CREATE VIRTUAL TABLE v USING glove_index(content='note', rowid='id', text='title', model='m', dims='31')", "the model 'm' has 32 dimensions, but the index has 31"),
                              ("CREATE VIRTUAL TABLE v USING glove_index(content='note', rowid='id', text='title', model='none')", "none")):
            with self.subTest(sql):
                message = self.error(sql)
                self.assertRegex(message, expected)
                self.expect_sentence(message)
                self.assertEqual(self.ask("SELECT name FROM sqlite_schema"), [("note",)])
        self.assertEqual(self.ask("SELECT glove_encode(NULL), glove_encode('a', NULL) IS NULL"), [(None, 0)])

    def test_settings(self):
        for value in ("-1", "1.5", "x", "", "1000000001"):
            self.assertRegex(self.error("SELECT glove_config('encode_limit', ?)", value), "the setting 'encode_limit' must be an integer from 0 to 1000000000")
        self.assertRegex(self.error("SELECT glove_config('none')"), "the settings are: .*, encode_limit, onnxruntime_provider, onnxruntime$")
        self.assertRegex(self.error("SELECT glove_config('onnxruntime_provider', 'gpu')"), "the setting 'onnxruntime_provider' must be cpu or cuda, not 'gpu'")
        self.assertEqual(self.one("SELECT glove_config('encode_limit')"), "1000")

    @reads_onnx
    def test_a_text_that_the_network_cannot_read(self):
        """Its tokenizer has a token more than the network."""
        with open(self.path("m/tokenizer.json"), encoding="utf-8") as file:
            model = json.load(file)["model"]
        put("tokenizer.json", model={**model, "vocab": {**model["vocab"], "zebra": 5000}})(self.path("m"))
        self.load()
        message = self.error("SELECT glove_encode('zebra')")
        self.assertRegex(message, "glove_encode: ONNX Runtime: .*out of.*bounds")
        self.expect_sentence(message)
        self.assertEqual(self.vector("cat").tobytes(), self.before[0])
        self.ask("CREATE TABLE note(id INTEGER PRIMARY KEY, title TEXT)")
        self.ask("INSERT INTO note VALUES (1, 'cat'), (2, 'a zebra'), (3, 'dog')")
        create = "CREATE VIRTUAL TABLE v USING glove_index(content='note', rowid='id', text='title', model='m'"
        message = self.error(create + ")")
        self.assertRegex(message, "2.*has a text without a vector: ONNX Runtime: ")
        self.expect_sentence(message)
        self.assertEqual(self.ask("SELECT name FROM sqlite_schema"), [("note",)])
        self.ask(create + ", invalid='skip')")
        self.assertEqual(self.ask("SELECT id FROM v WHERE query = 'cat'"), [(1,), (3,)])
        self.ask("INSERT INTO note VALUES (4, 'zebra')")
        self.assertEqual(self.ask("SELECT id FROM v WHERE query = 'cat'"), [(1,), (3,)])
        self.assertRegex(self.error("SELECT id FROM v WHERE query = 'zebra'"), "ONNX Runtime: ")

    @reads_onnx
    def test_a_folder_of_two_networks(self):
        NETWORK.write(self.path("m/onnx/other.onnx"), changed=sentence_embedding)
        self.ask("SELECT glove_load(?, 'o', '{\"file\":\"onnx/other.onnx\"}')", self.path("m"))
        self.assertLess(numpy.abs(self.vector("cat dog", "o") - self.vector("cat dog")).max(), 1e-6)


if __name__ == "__main__":
    unittest.main()
