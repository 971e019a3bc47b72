"""Compressed, cut and foreign files through SQL and load_gensim(), as Python's sqlite3 sees them.

odd_inputs_test.py GLOVE_SO GLOVE_CONVERT PROJECT
"""
import bz2
import json
import lzma
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

import numpy

EXTENSION, CONVERT, PROJECT = sys.argv[1:4]
del sys.argv[1:4]
sys.path.insert(0, os.path.join(PROJECT, "tests/python"))
import installed  # noqa: E402

LINES = "".join(f"{word} {i}.5 {i + 1}.25 -{i}.5\n" for i, word in enumerate("abcde")).encode()


class KeyedVectors:  # what load_gensim() uses of gensim's
    def __init__(self, words, vectors):
        self.index_to_key, self.vectors = words, numpy.asarray(vectors)


class OddInputs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.db = sqlite3.connect(":memory:")
        self.db.enable_load_extension(True)
        self.db.execute("SELECT load_extension(?, 'sqlite3_glove_init')", (EXTENSION,))

    def write(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def load(self, path, **options):
        self.db.execute("SELECT glove_load(?, 'm', ?)", (path, json.dumps(options)))
        words = [word for word, in self.db.execute("SELECT word FROM glove_words('m') ORDER BY id")]
        notes, = self.db.execute("SELECT notes FROM glove_models WHERE name = 'm'").fetchone()
        return words, notes

    def error(self, path, **options):
        with self.assertRaises(sqlite3.OperationalError) as caught:
            self.load(path, **options)
        return str(caught.exception).replace(self.folder + "/", "")

    def test_compressed(self):
        packed = {"bunzip2": bz2.compress(LINES), "unxz": lzma.compress(LINES)}
        if shutil.which("zstd"):
            packed["unzstd"] = subprocess.run(["zstd", "-qc"], input=LINES, stdout=subprocess.PIPE, check=True).stdout
        for program, content in packed.items():
            self.assertRegex(self.error(self.write("m.txt." + program, content)), "the file is compressed with .*" + program)
        self.assertEqual(self.load(self.write("z.txt", b"BZh 1 2\nb 2 3\n"))[0], ["BZh", "b"])

    def test_words_that_are_cut(self):
        cut = ("很长的词语在这里出现" * 5).encode()[:100]
        words = (cut, "音乐".encode(), b"music")
        path = self.write("cut.bin", b"3 3\n" + b"".join(word + b" " + numpy.float32(v).tobytes() + b"\n" for word, v in zip(
            words, ([1, 2, 3], [1, 2, 3.1], [1, 2, 2.9]))))
        found, notes = self.load(path)
        self.assertEqual(found, [cut.decode(errors="replace"), "音乐", "music"])
        self.assertEqual(notes, "1 word not valid in UTF-8, with U+FFFD for each invalid byte")
        self.assertEqual(len(self.db.execute("SELECT neighbor FROM glove_nn('music', NULL, 2, 'm')").fetchall()), 2)
        self.assertEqual(self.load(path, invalid_utf8="skip")[0], ["音乐", "music"])
        with self.assertRaises(sqlite3.OperationalError):
            self.load(path, invalid_utf8="keep")
        self.assertIn('must be replace, skip or keep', self.error(path, invalid_utf8="drop"))

    def test_options(self):
        path = self.write("short.vec", b"9 3\n" + LINES + b"f 1 2\n")
        self.assertIn('or "invalid":"skip" of glove_load leaves such rows out', self.error(path))
        self.assertEqual(self.load(path, invalid="skip"), (
            list("abcde"), "the file ends after 6 rows, but its header promises 9; "
            "1 row left out that have another number of components; the first is line 7"))
        self.assertEqual(self.load(path, top=2, invalid="skip")[0], ["a", "b"])
        self.assertEqual(self.load(self.write("g.txt", b"\xc4\xe3\xba\xc3 1 2\nb 2 1\n"), encoding="gbk")[0], ["你好", "b"])
        # These encodings hold a letter back that the next one may change.
        for encoding, text, words in (("cp1258", b"banana 0 2\ncha\xcco 1 2\na 2 2\n", ["banana", "chào", "a"]),
                                      ("cp1255", "שלום 0 2\nא 1 2\n".encode("cp1255"), ["שלום", "א"])):
            self.assertEqual(self.load(self.write("held.txt", text), encoding=encoding)[0], words)
        late = self.write("late.txt", b"a 1 2\nb 3 4\nc 5 6\nd nan 1\n")
        self.assertEqual(self.load(late, top=2)[0], ["a", "b"])
        self.assertIn("NaN", self.error(late))
        model = os.path.join(self.folder, "m.safetensors")
        result = subprocess.run([CONVERT, path, model, "--skip-invalid"], capture_output=True, text=True, check=True)
        self.assertIn("1 row left out that have another number of components; the first is line 7\n", result.stderr)
        self.assertIn("omit the options top, encoding and invalid_utf8", self.error(model, top=2))
        self.assertEqual(self.load(model, invalid="skip")[0], list("abcde"))
        self.assertIn("omit the options top, encoding and invalid_utf8", self.error(model, invalid_utf8="skip"))
        self.assertIn("must be skip or error", self.error(path, invalid="ignore"))
        latin = self.write("latin.txt", b"caf\xe9 1 2\nb 2 1\n")
        result = subprocess.run([CONVERT, latin, model, "--invalid-utf8", "keep"], capture_output=True, text=True, check=True)
        self.assertIn("1 word not valid in UTF-8, kept unchanged", result.stderr)
        subprocess.run([CONVERT, latin, model, "--encoding", "latin1"], capture_output=True, check=True)
        self.assertEqual(self.load(model)[0], ["café", "b"])

    def test_archives(self):
        def archive(name, members):
            path = os.path.join(self.folder, name)
            with zipfile.ZipFile(path, "w") as file:
                for member, content in members.items():
                    file.writestr(member, content)
            return path
        self.assertEqual(self.load(archive("mac.zip", {"m.txt": LINES, "__MACOSX/._m.txt": b"x", ".DS_Store": b"x"}))[0], list("abcde"))
        self.assertIn("holds several files", self.error(archive("two.zip", {"m.txt": LINES, "n.txt": LINES})))
        self.assertIn("is one of PyTorch's", self.error(archive("m.pt", {"m/data.pkl": b"x", "m/data/0": b"x"})))
        self.assertIn("Git LFS", self.error(self.write("l.txt", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")))

    def test_integers(self):
        self.write("i8.words", b"the\nof\n")
        array = os.path.join(self.folder, "i8.npy")
        numpy.save(array, numpy.array([[1, -128], [127, 3]], "i1"))
        self.assertEqual(self.load(array)[0], ["the", "of"])
        for kind, wanted in (("I8", None), ("U8", "F64 or I8 was expected, but there is e of U8")):
            header = json.dumps({"e": {"dtype": kind, "shape": [2, 2], "data_offsets": [0, 4]}}).encode()
            header += b" " * (-len(header) % 8)
            path = self.write("i8.safetensors", struct.pack("<Q", len(header)) + header + b"\1\x80\x7f\3")
            if wanted:
                self.assertIn(wanted, self.error(path))
                continue
            self.assertEqual(self.load(path)[0], ["the", "of"])
            self.assertEqual(self.db.execute("SELECT vector FROM glove_words('m') WHERE word = 'the'").fetchone()[0],
                             struct.pack("<2f", 1, -128))
        numpy.save(array, numpy.zeros(2, [("a", "<f4"), ("b", "<f4")]))
        self.assertIn("[('a', '<f4'), ('b', '<f4')", self.error(array))

    def test_load_gensim(self):
        installed.install(PROJECT, EXTENSION, self.folder)
        sys.path.insert(0, self.folder)
        self.addCleanup(sys.path.remove, self.folder)
        import sqlite_glove
        words = ["doc 3", "doc 2", "doc 1", 'a "b"', '"c"', "d\te", ",", '"']
        vectors = numpy.arange(1, 25, dtype="f4").reshape(8, 3)
        sqlite_glove.load_gensim(self.db, KeyedVectors(words, vectors), "m")
        self.assertEqual([word for word, in self.db.execute("SELECT word FROM glove_words('m') ORDER BY id")], words)
        odd = KeyedVectors(["a", "", "b\nc", "d", "e"], numpy.array([[1, 2], [2, 3], [3, 4], [numpy.nan, 1], [5, 6]], "f8"))
        with self.assertRaisesRegex(ValueError, "the key '' cannot be a word.*invalid='skip' leaves it out"):
            sqlite_glove.load_gensim(self.db, odd, "m")
        sqlite_glove.load_gensim(self.db, odd, "m", invalid="skip")
        self.assertEqual(self.db.execute("SELECT group_concat(word) FROM glove_words('m')").fetchone(), ("a,e",))
        sqlite_glove.load_gensim(self.db, KeyedVectors(["x"], [[1, 2]]), "m")
        self.assertEqual(self.db.execute("SELECT word FROM glove_words('m')").fetchone(), ("x",))


if __name__ == "__main__":
    unittest.main()
