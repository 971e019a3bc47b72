"""Vectors of 16 and 8 bits: vector_types_test.py GLOVE_SO

glove_f16, glove_bf16, glove_i8 and glove_f32 against Python's own rounding, and indexes over such columns against indexes over the same
numbers in float32, which must answer with the same bits.
"""
import struct
import sys
import unittest

from live_index_test import SeededTest, blob

TYPES = {"float16": ("glove_f16", 2), "bfloat16": ("glove_bf16", 2), "int8": ("glove_i8", 1)}


def bfloat16(number):
    bits, = struct.unpack("<I", struct.pack("<f", number))
    return struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)


def rounded(type_name, number):
    """The bytes of the nearest number of the type."""
    if type_name == "float16":
        return struct.pack("<e", number)
    return bfloat16(number) if type_name == "bfloat16" else struct.pack("b", round(number))


def float32(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


class VectorTypesTest(SeededTest):
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


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[1:])
