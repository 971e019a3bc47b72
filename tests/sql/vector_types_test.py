"""Vectors of 16 and 8 bits: vector_types_test.py GLOVE_CONVERT GLOVE_SO

glove_f16, glove_bf16, glove_i8 and glove_f32 against Python's own rounding, and indexes over such columns and model files of such
numbers against those of the same numbers in float32, which must answer with the same bits.
"""
import gzip
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

CONVERT = sys.argv.pop(1)

from live_index_test import SeededTest, blob

TYPES = {"float16": ("glove_f16", 2), "bfloat16": ("glove_bf16", 2), "int8": ("glove_i8", 1)}
DTYPES = {"float16": "F16", "bfloat16": "BF16", "int8": "I8"}


def bfloat16(number):
    bits, = struct.unpack("<I", struct.pack("<f", number))
    return struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)


def rounded(type_name, number):
    """The bytes of the nearest number of the type."""
    if type_name == "float16":
        return struct.pack("<e", number)
    return bfloat16(number) if type_name == "bfloat16" else struct.pack("b", round(number))


def widened(type_name, data):
    if type_name == "bfloat16":
        return struct.unpack(f"<{len(data) // 2}f", b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2)))
    return struct.unpack(f"<{len(data) // 2}e" if type_name == "float16" else f"{len(data)}b", data)


def float32(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


class NumbersTest(SeededTest):
    def numbers(self, type_name, count):
        """Numbers of all magnitudes, and those half-way between two of the type."""
        if type_name == "int8":
            return [float(self.random.randrange(-256, 255)) / 2 for _ in range(count)]
        most = 15.99 if type_name == "float16" else 127.9
        numbers = [float32(self.random.choice((-1, 1)) * 2 ** self.random.uniform(-27, most)) for _ in range(count)]
        size = "<e" if type_name == "float16" else "<f"
        for i in range(0, count, 3):
            bits = self.random.randrange(0x7BFF if type_name == "float16" else 0x7F7F)
            low, high = (struct.unpack(size, struct.pack("<H", b) if size == "<e" else b"\0\0" + struct.pack("<H", b))[0] for b in (bits, bits + 1))
            numbers[i] = float32((low + high) / 2)
        return numbers + [0.0, -0.0]


class VectorTypesTest(NumbersTest):
    def test_functions_round_to_the_nearest_even(self):
        for type_name, (function, size) in TYPES.items():
            numbers = self.numbers(type_name, 3000)
            scale = ", 1" if type_name == "int8" else ""
            made, = self.db.execute(f"SELECT {function}(?{scale})", (blob(*numbers),)).fetchone()
            self.assertEqual(len(made), size * len(numbers))
            for i, number in enumerate(numbers):
                self.assertEqual(made[size * i:size * i + size], rounded(type_name, number), (type_name, number))
            back, = self.db.execute("SELECT glove_f32(?, ?)", (made, type_name)).fetchone()
            again, = self.db.execute(f"SELECT {function}(?{scale})", (back,)).fetchone()
            self.assertEqual(again, made)
            self.assertEqual(self.db.execute(f"SELECT {function}(NULL), {function}('[0.5, -0.25]') = {function}(?)", (blob(0.5, -0.25),)).fetchone(),
                             (None, 1))
        self.assertEqual(self.db.execute("SELECT glove_i8(?)", (blob(1, -1, 0.5, 0),)).fetchone(), (struct.pack("4b", 127, -127, 64, 0),))
        self.assertEqual(self.db.execute("SELECT glove_f32(NULL, 'int8'), glove_f32('[1, 2]', 'float16')").fetchone(), (None, blob(1, 2)))

    def test_what_the_functions_refuse(self):
        for call, message in (
                ("glove_f16('[1, 70000]')", "glove_f16: component 2 is 70000, which float16 cannot hold"),
                ("glove_f16('[65520]')", "glove_f16: component 1 is 65520, which float16 cannot hold"),
                ("glove_bf16(x'ffff7f7f')", "glove_bf16: component 1 is .*, which bfloat16 cannot hold"),
                ("glove_i8('[0, 1.1]')", "glove_i8: component 2 is 1.1.*, which int8 cannot hold with the scale 127; give a lower scale"),
                ("glove_i8('[0]', 0)", "glove_i8: scale must be a number above 0, but is 0"),
                ("glove_i8('[0]', 'two')", "glove_i8: scale must be a number above 0, but is 'two'"),
                ("glove_f16('king')", "glove_f16: the vector must be a BLOB of float32"),
                ("glove_f16(x'0000c07f')", "glove_f16: component 1 of the vector is NaN"),
                ("glove_f32(x'00', 'float16')", "glove_f32: the argument has a vector of 1 byte; a float16 vector has 2 bytes per component"),
                ("glove_f32(x'00', 'half')", "glove_f32: type must be 'float32', 'float16', 'bfloat16' or 'int8', but is 'half'"),
                ("glove_f32(x'007c', 'float16')", "glove_f32: component 1 of the vector is infinite")):
            with self.assertRaisesRegex(Exception, message):
                self.db.execute(f"SELECT {call}").fetchall()

    def make(self, type_name, dims, count, metric="cosine", extra=""):
        """Two tables of the same numbers, as that type and as float32, and an index over each."""
        function, _ = TYPES[type_name]
        self.db.executescript(f"DROP TABLE IF EXISTS v; DROP TABLE IF EXISTS w; DROP TABLE IF EXISTS doc; DROP TABLE IF EXISTS wide;"
                              "CREATE TABLE doc(id INTEGER PRIMARY KEY, e); CREATE TABLE wide(id INTEGER PRIMARY KEY, e)")
        self.add(function, type_name, dims, 0, count)
        self.db.execute(f"CREATE VIRTUAL TABLE v USING glove_index(content='doc', rowid='id', vector='e', type='{type_name}', metric='{metric}'{extra})")
        self.db.execute(f"CREATE VIRTUAL TABLE w USING glove_index(content='wide', rowid='id', vector='e', metric='{metric}')")

    def add(self, function, type_name, dims, first, count):
        for i in range(first, first + count):
            vector = [self.random.gauss(0, 1) for _ in range(dims)]
            longest = max(map(abs, vector))
            self.db.execute(f"INSERT INTO doc VALUES (?, {function}(?))", (i, blob(*(x / longest for x in vector))))
        self.db.execute("INSERT INTO wide SELECT id, glove_f32(e, ?) FROM doc WHERE id >= ?", (type_name, first))

    def compare(self, type_name, dims):
        function, _ = TYPES[type_name]
        for k in (1, 10, 100):
            query = blob(*(max(-1, min(1, self.random.gauss(0, 0.4))) for _ in range(dims)))
            narrow, wide = self.db.execute(f"SELECT {function}(?1), glove_f32({function}(?1), ?2)", (query, type_name)).fetchone()
            for of_doc, of_wide in ((query, query), (narrow, wide), ("[" + ", ".join(["0.5"] * dims) + "]",) * 2):
                sql = "SELECT id, distance FROM {} WHERE query = ? AND k = ?"
                self.assertEqual(self.db.execute(sql.format("v"), (of_doc, k)).fetchall(), self.db.execute(sql.format("w"), (of_wide, k)).fetchall())

    def test_answers_are_those_of_float32(self):
        for type_name, (function, _) in TYPES.items():
            for metric in ("cosine", "dot", "l2"):
                with self.subTest(type=type_name, metric=metric):
                    dims = self.random.choice((1, 5, 8, 33))
                    self.make(type_name, dims, 500, metric, self.random.choice(("", f", dims={dims}")))
                    self.compare(type_name, dims)
                    self.add(function, type_name, dims, 2000, 50)  # in the log
                    self.db.execute("DELETE FROM doc WHERE id % 9 = 1"), self.db.execute("DELETE FROM wide WHERE id % 9 = 1")
                    self.compare(type_name, dims)
                    for command in ("sync", "merge", "rebuild"):
                        for table in "vw":
                            self.db.execute(f"INSERT INTO {table}({table}) VALUES (?)", (command,))
                        self.compare(type_name, dims)
                    self.assertEqual(self.db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
                    of_doc, of_wide = (self.db.execute(f"SELECT key, rank, distance FROM glove_mmr('{table}', ?, 5)", ("[" + "1, " * (dims - 1) + "1]",))
                                       .fetchall() for table in "vw")
                    self.assertEqual(of_doc, of_wide)
                    of_doc, of_wide = (self.db.execute(f"SELECT a, b, distance FROM glove_pairs WHERE target = '{table}' AND pairs = 9 ORDER BY 3, 1, 2")
                                       .fetchall() for table in "vw")
                    self.assertEqual(of_doc, of_wide)

    def test_float32_in_such_a_column_is_an_error(self):
        for type_name, (function, size) in TYPES.items():
            self.make(type_name, 1024, 20)
            count = 256 * size
            gauss = blob(*(self.random.gauss(0, 1) for _ in range(count)))
            seen = f"a BLOB of {4 * count} bytes that look like {count} float32, not like {type_name}; convert it by {function}"
            self.db.execute("INSERT INTO doc VALUES (99, ?)", (gauss,))
            with self.assertRaisesRegex(Exception, f"the row 99 of 'doc' has {seen}"):
                self.db.execute("INSERT INTO v(v) VALUES ('sync')")
            self.db.execute("DELETE FROM doc WHERE id = 99")
            with self.assertRaisesRegex(Exception, f"v: the query is {seen}"):
                self.db.execute("SELECT id FROM v WHERE query = ? AND k = 1", (gauss,)).fetchall()
            with self.assertRaisesRegex(Exception, f"v: the query is a BLOB of 12 bytes, but a vector of 1024 float32 has 4096, and one of {type_name} {1024 * size}"):
                self.db.execute("SELECT id FROM v WHERE query = ? AND k = 1", (blob(1, 2, 3),)).fetchall()
            self.assertEqual(len(self.db.execute("SELECT id FROM v WHERE query = ? AND k = 3", (blob(*[1.0] * 1024),)).fetchall()), 3)

    def test_numbers_of_the_type_never_pass_for_float32(self):
        """Gaussian numbers, of which one is tiny, and zeros between others."""
        for type_name, (function, _) in TYPES.items():
            for dims in (32, 384):
                self.make(type_name, dims, 3)
                for i in range(1000):
                    vector = [max(-1.0, min(1.0, self.random.gauss(0, 0.3))) for _ in range(dims)]
                    vector[self.random.randrange(dims)] = 2e-7
                    self.db.execute(f"INSERT INTO doc VALUES (?, {function}(?))", (100 + i, blob(*vector)))
                self.db.execute(f"INSERT INTO doc VALUES (50, {function}(?)), (51, {function}(?))",
                                (blob(*[1.0, 0.0] * (dims // 2)), blob(*[0.0, 1.0] * (dims // 2))))
                self.db.execute("INSERT INTO v(v) VALUES ('rebuild')")
                self.assertEqual(self.db.execute("SELECT sum(rows) FROM glove_indexes").fetchone(), (1005 + 3,))
                query = "(SELECT e FROM doc WHERE id = 51)"
                self.assertEqual(self.db.execute(f"SELECT id FROM v WHERE query = {query} AND k = 1").fetchone(), (51,))

    def test_a_wrong_length_names_the_conversion(self):
        self.make("float16", 4, 20)
        self.db.execute("INSERT INTO doc VALUES (99, ?)", (blob(0, 1, 0, 1),))
        with self.assertRaisesRegex(Exception, "has a vector of 8 components, but the index has 4 dimensions; if it is float32, convert it by glove_f16"):
            self.db.execute("INSERT INTO v(v) VALUES ('sync')")

    def test_zeros_between_numbers_are_no_float32(self):
        self.make("float16", 16, 20)
        self.db.execute("INSERT INTO doc VALUES (99, glove_f16(?))", (blob(*[1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.5, 0.0] * 2),))
        self.db.execute("INSERT INTO v(v) VALUES ('sync')")
        self.assertEqual(self.db.execute("SELECT id FROM v WHERE query = (SELECT e FROM doc WHERE id = 99) AND k = 1").fetchall(), [(99,)])

    def test_triggers_check_the_length_of_the_type(self):
        self.make("int8", 6, 20, extra=", check='yes', dims=6")
        self.db.execute("INSERT INTO doc VALUES (50, x'010203040506')")
        with self.assertRaisesRegex(Exception, "the vector is not as long as those of the index"):
            self.db.execute("INSERT INTO doc VALUES (51, x'01020304')")
        self.make("float16", 6, 20, extra=", check='yes'")
        with self.assertRaisesRegex(Exception, "the vector is no BLOB of 2 bytes per component"):
            self.db.execute("INSERT INTO doc VALUES (51, x'010203')")

    def test_what_an_index_refuses(self):
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, e)")
        for arguments, message in (("vector='e', type='half'", "type must be 'float32', 'float16', 'bfloat16', 'int8' or 'bits', but is 'half'"),
                                   ("text='e', type='int8'", "type is that of vectors, but every text is a text; leave type out")):
            with self.assertRaisesRegex(Exception, message):
                self.db.execute(f"CREATE VIRTUAL TABLE v USING glove_index(content='doc', rowid='id', {arguments})")

    def test_an_index_that_never_had_a_row(self):
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, e)")
        self.db.execute("CREATE VIRTUAL TABLE v USING glove_index(content='doc', rowid='id', vector='e', type='float16')")
        for query in (b"\0\0" * 3, blob(1, 2)):
            self.assertEqual(self.db.execute("SELECT id FROM v WHERE query = ? AND k = 1", (query,)).fetchall(), [])
        for query in (b"", b"\0"):
            with self.assertRaisesRegex(Exception, "v: the query is a BLOB of [01] bytes?, but a vector of float32 has 4 bytes per component, and one of float16 2"):
                self.db.execute("SELECT id FROM v WHERE query = ? AND k = 1", (query,)).fetchall()


class FileTypesTest(NumbersTest):
    DIMS = 12

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def convert(self, source, name, *options, fails=False):
        done = subprocess.run([CONVERT, source, self.path(name), *options], capture_output=True, text=True)
        self.assertEqual(done.returncode != 0, fails, done.stderr)
        return done.stderr if fails else self.path(name)

    def text_of(self, name, vectors):
        with open(self.path(name), "w") as file:
            file.writelines(f"w{i} {' '.join(map(repr, vector))}\n" for i, vector in enumerate(vectors))
        return self.path(name)

    def vectors(self, type_name, rows):
        numbers = self.numbers(type_name, rows * self.DIMS)
        if type_name == "int8":
            numbers = [float(self.random.randrange(-128, 128)) for _ in numbers]
        vectors = [numbers[i * self.DIMS:(i + 1) * self.DIMS] for i in range(rows)]
        vectors[3] = vectors[4] = [0.0] * self.DIMS
        vectors[5] = [2.0 ** -26 if type_name == "float16" else 0.0] * self.DIMS  # a zero row of float16
        vectors[8] = vectors[7]
        return vectors

    def contents(self, path):
        """The metadata, and the type and the bytes of each tensor."""
        with open(path, "rb") as file:
            data = file.read()
        begin = 8 + int.from_bytes(data[:8], "little")
        header = json.loads(data[8:begin])
        metadata = header.pop("__metadata__")
        tensors = {name: (tensor["dtype"], data[slice(*(begin + at for at in tensor["data_offsets"]))]) for name, tensor in header.items()}
        return metadata, {name: tensor for name, tensor in tensors.items() if not name.startswith("padding.")}

    def expect_alike(self, type_name, narrow, wide):
        """The files differ in the type of their vectors alone."""
        (narrow_says, narrow), (wide_says, wide) = self.contents(narrow), self.contents(wide)
        for says in (narrow_says, wide_says):
            del says["glove.crc32"], says["glove.crc32.vectors"]
        self.assertEqual(narrow_says, wide_says)
        (dtype, data), (wide_dtype, wide_data) = narrow.pop("vectors"), wide.pop("vectors")
        self.assertEqual((dtype, wide_dtype), (DTYPES[type_name], "F32"))
        self.assertEqual(blob(*widened(type_name, data)), wide_data)
        self.assertEqual(4 * len(data), TYPES[type_name][1] * len(wide_data))
        self.assertEqual(narrow, wide)

    def answers(self, path):
        self.rows("SELECT glove_load(?, 'm')", path)
        words = [f"w{self.random.randrange(6, 400)}" for _ in range(9)]
        answers = [self.rows("SELECT neighbor, distance, rank FROM glove_nn WHERE word = ? AND k = ? AND model = 'm'", word, k)
                   for word in words for k in (1, 10, 500)]
        answers.append(self.rows("SELECT word, neighbor, distance FROM glove_nn WHERE word IN (SELECT value FROM json_each(?)) AND k = 7 AND model = 'm'",
                                 json.dumps(words)))
        answers.append(self.rows("SELECT neighbor, distance FROM glove_nn WHERE expr = ? AND k = 20 AND model = 'm'", blob(*range(self.DIMS))))
        answers += [self.rows("SELECT cos_sim(?1, ?2, 'm'), glove_vec(?1, 'm')", *pair) for pair in zip(words, words[1:])]
        self.rows("SELECT glove_unload('m')")
        return answers

    def test_files_answer_as_those_of_the_rounded_numbers(self):
        for type_name in TYPES:
            vectors = self.vectors(type_name, 400)
            source = self.text_of("exact", vectors)
            self.text_of("rounded", [widened(type_name, b"".join(rounded(type_name, x) for x in vector)) for vector in vectors])
            for options in ((), ("--lists", "8"), ("--shards", "3"), ("--metric", "dot"), ("--metric", "l2")):
                with self.subTest(type=type_name, options=options):
                    narrow = self.convert(source, "narrow", *options, "--type", type_name, "--verify")
                    wide = self.convert(self.path("rounded"), "wide", *options, "--type", "float32")
                    names = [""]
                    if "--shards" in options:
                        names = [f"-0000{i}-of-00003.safetensors" for i in (1, 2, 3)]
                        narrow, wide = (f"{path}.safetensors.index.json" for path in (narrow, wide))
                    for name in names:
                        self.expect_alike(type_name, self.path("narrow") + name, self.path("wide") + name)
                    seed = self.random.getstate()
                    expected = self.answers(wide)
                    self.random.setstate(seed)
                    self.assertEqual(self.answers(narrow), expected)
                    self.assertIn(f"type        {type_name}\n", subprocess.run([CONVERT, "--info", narrow], capture_output=True, text=True, check=True).stdout)
                    # Saved, it keeps its type; converted, it has that of the option.
                    for path in (narrow, wide):
                        self.rows("SELECT glove_load(?, 'm'), glove_save('m', ?), glove_load(?, 'saved', '{\"verify\":true}')", path, *2 * [path + ".saved"])
                    self.expect_alike(type_name, narrow + ".saved", wide + ".saved")
                    self.assertEqual(self.contents(self.convert(narrow, "back")), self.contents(self.convert(wide, "again")))
                    self.expect_alike(type_name, self.convert(narrow, "narrower", "--type", type_name), self.path("again"))

    def test_rows_are_rounded_after_they_are_normalized(self):
        for type_name in ("float16", "bfloat16"):
            source = self.text_of("words", self.vectors(type_name, 50))
            data = self.contents(self.convert(source, "unit", "--normalize"))[1]["vectors"][1]
            data = b"".join(rounded(type_name, x) for x in struct.unpack(f"<{len(data) // 4}f", data))
            step = self.DIMS * TYPES[type_name][1]
            units = self.text_of("units", [widened(type_name, data[i:i + step]) for i in range(0, len(data), step)])
            self.expect_alike(type_name, self.convert(source, "narrow", "--normalize", "--type", type_name), self.convert(units, "wide"))

    def test_compressed_files(self):
        source = self.text_of("words", self.vectors("float16", 400))
        with open(self.convert(source, "narrow", "--type", "float16"), "rb") as file, gzip.open(self.path("narrow.gz"), "wb") as packed:
            packed.write(file.read())
        seed = self.random.getstate()
        expected = self.answers(self.path("narrow"))
        self.random.setstate(seed)
        self.assertEqual(self.answers(self.path("narrow.gz")), expected)

    def test_numbers_that_a_type_does_not_have(self):
        for type_name, good, wrong, shown in (("float16", 65519.0, 65520.0, "65520"), ("bfloat16", 3.3895e38, -3.4e38, "-3.39999995214436"),
                                              ("int8", -128.0, -129.0, "-129"), ("int8", 127.0, 128.0, "128"), ("int8", 3.0, 0.5, "0.5")):
            for row, number in ((1, good), (2, wrong)):
                source = self.text_of("words", [[1.0, 1.0]] + row * [[1.0, number]])
                fails = number == wrong
                message = self.convert(source, "out", "--type", type_name, fails=fails)
                if fails:
                    self.assertRegex(message, f"words: line 2: component 2 is {shown}[0-9e+]*, which {type_name} cannot hold" +
                                     ("; scale the numbers to integers from -128 to 127 first" if type_name == "int8" else "") + "; --skip-invalid")
            done = subprocess.run([CONVERT, source, self.path("out"), "--type", type_name, "--skip-invalid"], capture_output=True, text=True, check=True)
            self.assertIn("2 rows left out that have a component that the type cannot hold; the first is line 2\n", done.stderr)
            self.assertIn("out: 1 words", done.stderr)
        self.assertIn("--type: float64 not in {float32,float16,bfloat16,int8}", self.convert(source, "out", "--type", "float64", fails=True))

    def test_shards_of_two_types_do_not_fit(self):
        source = self.text_of("words", self.vectors("int8", 100))
        for type_name in ("int8", "float32"):
            self.convert(source, type_name, "--shards", "2", "--type", type_name)
        os.replace(self.path("float32-00002-of-00002.safetensors"), self.path("int8-00002-of-00002.safetensors"))
        self.expect_error("this shard has other dimensions, keys or tokens, or another metric or type, than the first one",
                          "SELECT glove_load(?)", self.path("int8.safetensors.index.json"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[1:])
