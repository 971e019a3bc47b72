"""Every input format, plain, gzip and zip: written by one independent program, converted, read by another.

formats_test.py GLOVE_CONVERT
"""
import gzip
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile
from fractions import Fraction

import numpy

import embedding_writers
import model_file_reader

CONVERT = sys.argv.pop(1)
SEED = int(os.environ.get("GLOVE_TEST_SEED") or random.SystemRandom().randrange(2**32))


def convert(*arguments, options=("--invalid-utf8", "keep")):
    return subprocess.run([CONVERT, *options, *arguments], capture_output=True, check=False)


def random_rows(generator, rows, dims):
    """Ordinary numbers among the ends of float16's range, where all formats keep something, and zeros."""
    values = generator.normal(0, 0.4, (rows, dims)).astype(numpy.float32)
    odd = [0, -0.0, 1, 6e-5, 6e-8, -65504, 2**-14, 1 / 3, 16777215 * 2**-24]
    places = generator.random((rows, dims)) < 0.1
    values[places] = generator.choice(numpy.array(odd, numpy.float32), places.sum())
    values[rows // 2] = 0
    return values


def random_words(generator, rows, spaces):
    words = [b"the", b",", b"x" * 65536, "größe".encode(), "日本".encode(), b"\xff\xfe", b"\xc3", b"1.5", b"-", b"#"]
    if spaces:
        words += [b"new york", b". . .", b"at 1 2 3", b"-0.5 x"]
    words += [b"w%d" % i for i in range(rows - len(words))]
    generator.shuffle(words)
    return words[:rows]


def wrap(name, content, wrapping):
    if wrapping == "gzip":
        return name + ".gz", gzip.compress(content, 1)
    if wrapping == "zip":
        with tempfile.TemporaryFile() as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("inside/" + name, content)
            file.seek(0)
            return name + ".zip", file.read()
    return name, content


class Formats(unittest.TestCase):
    def setUp(self):
        self.generator = numpy.random.default_rng(SEED)
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = lambda name: os.path.join(directory.name, name)

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def converted(self, *arguments):
        result = convert(*arguments, self.path("out.safetensors"))
        self.assertEqual(result.returncode, 0, result.stderr.decode(errors="replace"))
        model = model_file_reader.ModelFile(self.path("out.safetensors"))
        model.check()
        return model, result.stderr.decode(errors="replace")

    def test_shards(self):
        """Each shard is a model file, and together they have the rows of the whole once, in order."""
        for shards, rows in ((1, 1), (2, 33), (3, 500), (7, 7 * 32), (7, 1001)):
            words = random_words(self.generator, rows, False)
            values = random_rows(self.generator, rows, 5)
            twice = self.generator.integers(0, rows, 20)  # rows that come again, with other vectors
            content = embedding_writers.word2vec_binary(words + [words[i] for i in twice],
                                                        numpy.concatenate([values, values[twice] + 1]))
            text = self.write("in", next(iter(content.values())))
            result = convert(text, self.path("m.safetensors"), "--shards", str(shards))
            self.assertEqual(result.returncode, 0, result.stderr.decode(errors="replace"))
            self.assertIn("20 rows left out", result.stderr.decode())
            with open(self.path("m.safetensors.index.json"), encoding="utf-8") as file:
                index = json.load(file)
            names = [f"m-{number:05}-of-{shards:05}.safetensors" for number in range(1, shards + 1)]
            self.assertEqual(index["weight_map"], {f"vectors.{i:05}": name for i, name in enumerate(names, 1)})
            self.assertEqual(index["metadata"]["total_size"], sum(os.path.getsize(self.path(name)) for name in names))
            first_row = 0
            for name in names:
                shard = model_file_reader.ModelFile(self.path(name))
                shard.check()
                self.assertEqual(first_row % 32, 0)
                self.assertEqual({key: value for key, value in shard.metadata.items() if key in (
                    "glove.first_row", "glove.rows_total", "glove.set")}, {
                        "glove.first_row": str(first_row), "glove.rows_total": str(rows),
                        "glove.set": index["metadata"]["glove.set"]})
                end = first_row + len(shard.words)
                self.assertEqual(shard.words, words[first_row:end])
                self.assertTrue((shard.tensors["vectors"].view("<u4") == values[first_row:end].view("<u4")).all())
                first_row = end
            self.assertEqual(first_row, rows)
            self.assertEqual(index["metadata"]["glove.rows_total"], str(rows))

    def assert_same(self, model, words, rows):
        self.assertEqual(model.words, words)
        self.assertEqual(model.tensors["vectors"].tobytes(), rows.astype("<f4").tobytes())

    def test_every_format_plain_gzip_and_zip(self):
        table = []
        for writer, name, kept, spaces in embedding_writers.FORMATS:
            words = random_words(self.generator, 333, spaces)
            rows = random_rows(self.generator, 333, int(self.generator.integers(3, 40)))
            for wrapping in ("plain", "gzip", "zip"):
                with self.subTest(format=writer.__name__, wrapping=wrapping, GLOVE_TEST_SEED=SEED):
                    (main, content), *others = writer(words, rows).items()
                    for other in others:
                        self.write(*other)
                    path = self.write(*wrap(main, content, wrapping))
                    model, said = self.converted(path)
                    self.assertIn(f"(from {name})", said)
                    self.assert_same(model, words, kept(rows))
                    table.append((writer.__name__, wrapping, *model.tensors["vectors"].shape))
                    for file in os.listdir(self.path("")):
                        os.unlink(self.path(file))
        print("\n" + "\n".join("%-30s %-6s %4d x %2d  bit for bit" % row for row in table))

    def test_a_minimal_model_file_from_the_specification(self):
        for rows, dims in ((1, 1), (100, 7), (65, 8)):
            words = random_words(self.generator, rows, False)
            vectors = random_rows(self.generator, rows, dims) + numpy.float32(1)
            path = self.path("minimal.safetensors")
            model_file_reader.write_minimal_model(path, words, vectors)
            result = convert("--verify", path, options=())
            self.assertEqual(result.returncode, 0, result.stderr)
            model, _ = self.converted(path)
            self.assert_same(model, words, vectors)

    def test_numbers_in_every_notation_are_the_nearest_float32(self):
        bits = self.generator.integers(0, 2**32, 20000, dtype=numpy.uint32)
        values = bits.view(numpy.float32)
        values = values[numpy.isfinite(values)].astype(float)
        # Halfway between two floats, and a hair to either side: where a double rounding would err.
        floats = self.generator.normal(0, 1, 2000).astype(numpy.float32)
        middles = (floats.astype(float) + numpy.nextafter(floats, numpy.float32(9)).astype(float)) / 2
        texts = [repr(v) for v in values] + ["%.5g" % v for v in values] + ["%f" % v for v in middles]
        texts += ["%.30f" % v for v in middles] + ["%.17g" % numpy.nextafter(v, 9) for v in middles]
        texts += ["1e-400", "-1e-60", "+1.5", "1.", ".5", "00012", "1E2", "0.1e1", "3.4028235e38", "1" * 30]
        # The same text through two roundings would differ; Python's own way is exact with fractions.
        expected = numpy.array([nearest_float32(text) for text in texts], numpy.float32)
        text = "".join(f"w{i} {number} 1\n" for i, number in enumerate(texts))
        model, _ = self.converted(self.write("n.txt", text.encode()))
        self.assertEqual(model.tensors["vectors"][:, 0].tobytes(), expected.tobytes(), f"GLOVE_TEST_SEED={SEED}")

    def test_options_choose_and_change_rows(self):
        words = [b"The", b"the", b"Of", b"and", b"zero", "É".encode()]
        rows = random_rows(self.generator, 6, 5)
        rows[[0, 1, 2, 3, 5]] += numpy.float32(1)
        rows[4] = 0
        path = self.write("m.txt", embedding_writers.glove_text(words, rows)["m.txt"])
        self.assert_same(self.converted("--top", "2", path)[0], words[:2], rows[:2])
        model, said = self.converted("--lower", path)
        self.assert_same(model, [b"the", b"of", b"and", b"zero", "É".encode()], rows[[0, 2, 3, 4, 5]])
        self.assertIn("1 row left out for a word that was there already", said)
        self.assertIn("1 vector of zeros, which no search finds", said)
        subset = self.write("subset", b"and\r\nOf\n\nabsent\n")
        model, said = self.converted("--only-words", subset, path)
        self.assert_same(model, [b"Of", b"and"], rows[[2, 3]])
        self.assertIn("1 word of the list not in the input", said)
        units = self.converted("--normalize", path)[0].tensors["vectors"]
        lengths = numpy.sqrt((units.astype(float) ** 2).sum(axis=1))
        numpy.testing.assert_allclose(lengths, [1, 1, 1, 1, 0, 1], atol=1e-6)
        halves = self.converted("--normalize", "--type", "float16", path)[0].tensors["vectors"]
        self.assertEqual(halves.dtype, numpy.dtype("<f2"))
        self.assertEqual(halves.tobytes(), units.astype("<f2").tobytes())

    def test_lists_that_cannot_be(self):
        path = self.write("m.txt", b"a 1 2\nb 3 4\n")
        for lists in ("x", "0", "-1", "2.5", "", "99999999999999999999"):
            result = convert("--lists", lists, path, self.path("out"))
            self.assertEqual(result.returncode, 2, lists)
            self.assertIn(f"--lists: '{lists}' is not auto, none or a number from 1 to ", result.stderr.decode())
        wide = self.write("wide.txt", b"a" + b" 1" * 40000 + b"\nb" + b" 2" * 40000 + b"\n")
        result = convert("--lists", "2", wide, self.path("out"))
        self.assertEqual(result.returncode, 1)
        self.assertIn(": vectors of 40000 dimensions cannot be in lists, only of 4096 or fewer; omit --lists", result.stderr.decode())
        self.assertFalse(os.path.exists(self.path("out")))

    def test_an_archive_of_several_files_wants_a_name(self):
        rows = random_rows(self.generator, 4, 3) + numpy.float32(1)
        words = [b"a", b"b", b"c", b"d"]
        path = self.path("many.zip")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("one.txt", b"x 1 2\n")
            archive.writestr("two.txt", embedding_writers.glove_text(words, rows)["m.txt"])
        result = convert(path, self.path("out"))
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"name one as '{path}/NAME': one.txt, two.txt".encode(), result.stderr)
        self.assert_same(self.converted(path + "/two.txt")[0], words, rows)
        self.assertEqual(convert(path + "/three.txt", self.path("x")).returncode, 1)

    def test_names_from_a_file_reach_no_terminal_as_they_are(self):
        """Checks that a message has a few lines at most, whatever is in the file."""
        hostile = "\x1b[2J\x07evil\x00\x9b\u202egnp\u200b\ufeff"
        long = "n" * 60000
        several = self.path("several.zip")
        with zipfile.ZipFile(several, "w") as archive:
            for name in [hostile.replace("\0", ""), long] + [f"member{i}" for i in range(20000)]:
                archive.writestr(name, b"")
        encrypted = self.path("encrypted.zip")
        with zipfile.ZipFile(encrypted, "w") as archive:
            archive.writestr(hostile.replace("\0", "") + long, b"a 1 2\n")
        with open(encrypted, "rb") as file:
            content = bytearray(file.read())
        content[content.index(b"PK\1\2") + 8] |= 1
        many = {hostile + str(i): {"dtype": "F32", "shape": [1, 1], "data_offsets": [4 * i, 4 * i + 4]} for i in range(2000)}
        version = {"__metadata__": {"glove.version": hostile + long}}
        for i, name in enumerate(("vectors", "word_bytes", "word_offsets")):
            version[name] = {"dtype": "F32", "shape": [1, 1], "data_offsets": [4 * i, 4 * i + 4]}
        def safetensors(header, count):
            text = json.dumps(header).encode()
            return struct.pack("<Q", len(text)) + text + bytes(4 * count)
        npy = b"\x93NUMPY\1\0" + struct.pack("<H", 5000) + ("{'descr': '%s'" % (hostile + "n" * 4000)).encode().ljust(5000)
        files = [several, several + "/none", self.write("encrypted", content), self.write("many", safetensors(many, 2000)),
                 self.write("version", safetensors(version, 3)), self.write("m.npy", npy),
                 self.write("key", safetensors({"x": {hostile + long: 1}}, 0)),
                 self.write("twice", safetensors({hostile: {"dtype": 1}}, 0)),
                 self.write("text", b"a 1 2\nb 3 4\nc 1 " + hostile.encode() + b"\n"),
                 self.write(hostile.replace("\0", ""), b"nothing")]
        for path in files:
            result = convert(path, self.path("out"))
            with self.subTest(path=path, said=result.stderr[:1000]):
                self.assertEqual(result.returncode, 1)
                self.assert_printable(result.stderr.decode())
                self.assertLess(len(result.stderr), 2500)
        self.assertRegex(convert(several, self.path("x")).stderr.decode(), "member7 and 19992 more\n$")
        word = hostile.replace("\0", "\0")
        result = convert("--info", self.write("words", (word + " 1 2\n" + word + "x 3 4\n").encode()))
        self.assertEqual(result.returncode, 0)
        self.assert_printable(result.stdout.decode())

    def assert_printable(self, text):
        for character in text:
            self.assertTrue(character.isprintable() or character == "\n", (character, text))

    def test_the_tool_is_quiet_when_asked_and_tells_usage_errors_apart(self):
        path = self.write("m.txt", b"a 1 2\nb 3 4\n")
        result = convert("--quiet", path, self.path("out"))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))
        self.assertEqual(convert(path).returncode, 2)
        self.assertEqual(convert("--top", "0", path, self.path("out")).returncode, 2)
        self.assertEqual(convert("--format", "csv", path, self.path("out")).returncode, 1)
        self.assertIn(b"words       2", convert("--info", path).stdout)
        self.assertEqual(convert("--help").returncode, 0)
        self.assertEqual(convert("--words", path, path, self.path("x")).returncode, 2)
        for arguments in (("-", self.path("x")), (path, "-"), ("--info", "-")):
            result = convert(*arguments)
            self.assertEqual(result.returncode, 2)
            self.assertIn(b"save a pipe to a file first", result.stderr)
        os.mkfifo(self.path("pipe"))
        self.assertIn(b"it is a pipe; save what comes through it to a file first", convert("--info", self.path("pipe")).stderr)
        result = convert("--verify", path)
        self.assertEqual((result.returncode, result.stderr.decode()), (
            1, f"glove-convert: {path}: only a model file can be verified, and this is glove-text; "
               "make a model file of it with glove-convert first\n"))


def nearest_float32(text):
    """The float32 nearest to a decimal, by exact arithmetic on both sides of the double's rounding."""
    exact = Fraction(text.rstrip(".") if not text.startswith(".") else "0" + text)
    with numpy.errstate(over="ignore"):
        guess = numpy.float32(float(text))
    if not numpy.isfinite(guess) or exact == 0:
        return guess
    with numpy.errstate(over="ignore"):
        around = [numpy.nextafter(guess, numpy.float32(sign * numpy.inf)) for sign in (-1, 1)] + [guess]
    around = [value for value in around if numpy.isfinite(value)]
    even = lambda value: int(value.view(numpy.uint32)) & 1
    best = min(around, key=lambda value: (abs(Fraction(float(value)) - exact), even(value)))
    return numpy.copysign(best, -1) if text.startswith("-") else best


if __name__ == "__main__":
    unittest.main()
