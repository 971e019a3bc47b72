"""Compressed, cut and foreign files through SQL and load_gensim(), as Python's sqlite3 sees them.

odd_inputs_test.py GLOVE_SO GLOVE_CONVERT PROJECT
"""
import bz2
import ctypes
import ctypes.util
import gzip
import io
import json
import lzma
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

import numpy

EXTENSION, CONVERT, PROJECT = sys.argv[1:4]
del sys.argv[1:4]
sys.path.insert(0, os.path.join(PROJECT, "tests/python"))
import embedding_writers  # noqa: E402
import installed  # noqa: E402

LINES = "".join(f"{word} {i}.5 {i + 1}.25 -{i}.5\n" for i, word in enumerate("abcde")).encode()


WORDS = [b"the", b"of", b"and"]
ROWS = numpy.array([[1, -2.5, 0.125], [3, 4, -5], [0.5, 0.25, -1]], numpy.float32)


def zstd(content):
    """A frame with a checksum."""
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_createCCtx.restype, library.ZSTD_compress2.restype = ctypes.c_void_p, ctypes.c_size_t
    context = ctypes.c_void_p(library.ZSTD_createCCtx())
    library.ZSTD_CCtx_setParameter(context, 201, 1)
    packed = ctypes.create_string_buffer(len(content) + 1024)
    size = library.ZSTD_compress2(context, packed, ctypes.c_size_t(len(packed)), content, ctypes.c_size_t(len(content)))
    library.ZSTD_freeCCtx(context)
    return packed.raw[:size]


# The extension, what makes such files, and what unpacks them.
PACKERS = [("bz2", bz2.compress, "bunzip2"), ("xz", lzma.compress, "unxz"), ("zst", zstd, "unzstd")]
if not ctypes.util.find_library("zstd"):
    PACKERS = [packer for packer in PACKERS if packer[0] != "zst"]


def npy(array):
    file = io.BytesIO()
    numpy.save(file, array)
    return file.getvalue()


def safetensors(tensors):
    """tensors: name -> (dtype, shape, bytes)"""
    header, at = {}, 0
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(content)]}
        at += len(content)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(content for _, _, content in tensors.values())


class KeyedVectors:  # what load_gensim() uses of gensim's
    def __init__(self, words, vectors):
        self.index_to_key, self.vectors = words, numpy.asarray(vectors)


def binary(*rows, end=b"\n", header=None):
    dims = len(rows[0][1])
    return (header or b"%d %d\n" % (len(rows), dims)) + b"".join(word + b" " + numpy.float32(row).tobytes() + end for word, row in rows)


def i8(dtype, **others):
    return safetensors({"e": (dtype, [3, 2], bytes([1, 2, 3, 0x80, 5, 6])), **others})


TABS = b"0.5\t1\n0.25\t-2\n0.75\t3\n"
MATRIX = npy(numpy.array([[1, 2], [3, 4], [5, 6]], "<f4"))
COLUMN = b"0.5\n-0.25\n0.75\n"
METADATA = "metadata.tsv"
SKIP = {"invalid": "skip"}
CUT = "很长的词语在这里出现".encode()[:-1]
XYZ = {"m.words": b"x\ny\nz\n"}

# The name of a file, its content, options of glove_load, the files beside it, and its words, or what the error says.
FILES = [
    # Numbers and their words in two files.
    ("vectors.tsv", TABS, {}, {METADATA: b"x\ny\nz\n"}, "x y z"),
    ("m.txt", b"5.0e-01 1.0e+00\n2.5e-01 2.0e+00\n7.5e-01 3.0e+00\n", {}, XYZ, "x y z"),  # numpy.savetxt
    ("vectors.tsv", TABS, {}, {METADATA: b"Word\tCount\tNote\nx\t3\t\ny\t\t\nz\t1\tgood\n"}, "x y z"),
    ("vectors.tsv", TABS, {}, {METADATA: b"Word\tNote\nx\t\ny\t\nz\t\n"}, "x y z"),
    ("vectors.tsv", TABS, {}, {METADATA: b"x\tNOUN\ny\tVERB\nz\tNOUN\n"}, "x y z"),
    ("vectors.tsv", TABS, {}, {METADATA: b"x\tNOUN\ny\tVERB\nz\tX\n"}, "x y z"),
    ("vectors.tsv", TABS, {}, {METADATA: b"Wort\tArt\nx\tNOUN\ny\tVERB\nz\tX\n"}, "x y z"),
    ("vectors.tsv", TABS, {}, {METADATA: b"\tname\n0\tx\n1\ty\n2\tz\n"}, "x y z"),  # the index of pandas
    ("vectors.tsv", TABS, {}, {METADATA: b"Word\tText\nx\t" + b"l" * 100000 + b"\ny\ta\nz\tb\n"}, "x y z"),
    ("vectors.tsv", TABS, {}, {METADATA: b"Word\tText\n" + b"l" * 70000 + b"\ta\ny\ta\nz\tb\n"}, "the word has 70000 bytes"),
    ("vectors.tsv", TABS * 40, {}, {METADATA: b"".join(b"w%d\tt%d\n" % (i, i % 7) for i in range(120))}, " ".join(f"w{i}" for i in range(120))),
    ("vectors.tsv", TABS, {}, {METADATA: b"".join(b"w%d\n" % i for i in range(10))}, "has more words than the 3 rows"),
    ("vectors.tsv", TABS, {}, {METADATA: b"x\ny\n"}, "has 2 words, but there are more rows"),
    ("m.npy", MATRIX, {}, {"m.vocab": b"x 100\ny 50\nz 20\n"}, "x y z"),
    ("m.npy", MATRIX, {}, {"m.vocab": b"x 100 \r\ny 50\r\nz 20\r\n"}, "x y z"),
    ("m.npy", MATRIX, {}, {"m.vocab": b"x\tNOUN\ny\tVERB\nz\tX\n"}, "x y z"),
    ("m.npy", MATRIX, {}, {"m.vocab": b"Word\tKind\nx\tNOUN\ny\tVERB\n"}, "has 2 words$"),
    ("m.npy", MATRIX, {}, {"m.vocab": b"Wort\tZahl\nx\t3\ny\t4\n"}, "has 2 words$"),
    ("m.npy", MATRIX, {}, {"m.words": b'"x"\r"y y"\r"z"\r'}, "x y y z"),
    ("m.npy", MATRIX, {}, {"m.words": b"x\ny\nz\n\n"}, "x y z"),
    ("m.npy", MATRIX, {}, {"m.words": b"x\ny\nz\n\t\n \n"}, "has more words"),
    ("m.txt", COLUMN, {}, XYZ, "x y z"),
    ("m.txt", COLUMN, {}, {}, "the file contains vectors without words"),
    ("m.txt", COLUMN.replace(b"-0.25", b"one"), {"vocabulary": "m.words", "format": "text-matrix"}, XYZ, "line 2: 1 number was expected, but 'one' is not a number"),
    ("m.txt", TABS.replace(b"-2", b"-2 3"), {"vocabulary": "m.words"}, XYZ, "line 2: 2 numbers were expected, but there are more;"),
    ("m.txt", TABS.replace(b"\t-2", b""), {"vocabulary": "m.words"}, XYZ, "line 2: 2 numbers were expected, but it has 1;"),
    ("m.txt", b"x 1\ny one\nz 3\n", {}, {}, "line 2: a word and 1 number were expected, but 'one' is not a number"),
    ("m.txt", b"x 1 2\ry 3 4\rz 5 6\r", {}, {}, "x y z"),
    ("m.txt", b"x 1 2\ry 3 4\nz 5 6\r\n", {}, {}, "x y z"),
    ("m.bin", binary((b"x", [1, 2]), (b"new  york", [3, 4]), (b"z", [5, 6])), {}, {}, "x new  york z"),
    ("m.bin", binary((b"x", [1, 2]), (b"y y", [3, 4]), (b"z", [5, 6]), end=b""), {}, {}, "x y y z"),
    # Odd rows and headers.
    ("m.vec", b"3 2\nx 1 2\n 3 4\nz 5 6\n", SKIP, {}, "x z"),
    ("m.vec", b"3 2\nx 1 2\n\t 3 4\nz 5 6\n", SKIP, {}, "x z"),
    ("m.vec", b"3 2\nx 1 2\n  3 4\nz 5 6\n", {}, {}, "line 3: there is no word before the numbers; --skip-invalid"),
    ("m.vec", b"9 2\nx 1 2\ny 3 4\n", {}, {}, "x y"),
    ("m.vec", b"9 2\nx 1 2\ny 3 4\n", {"top": 9}, {}, "x y"),
    ("m.vec", b"9 2\nx 1 2\ny 3 4\nz 5", SKIP, {}, "x y"),
    ("m.vec", b"1 2\nx 1 2\ny 3 4\n", {}, {}, "line 3: the header promises 1 row, but there are more"),
    ("m.vec", b"3 2\nx 1 2\nx 1 2\n\nz 5 6 7\n", {"top": 2, **SKIP}, {}, "x"),
    ("m.txt", b"x 1 2\ny 3\nz 5 6\n", {}, {}, "line 2: a word and 2 numbers were expected, but it has 1 after its first field"),
    ("m.txt", b"x 1 2\ny 3\nz 5 6\nz 7 nan\nq 1 2\n", SKIP, {}, "x z q"),
    ("m.txt", b"x 1 2\n \t\n\n\xc2\xa0 3 4\nz 5 6\n", SKIP, {}, "x \xa0 z"),
    ("m.txt", b"x 1 2\ny 1e99 4\nz 5 6\n", {"top": 1}, {}, "x"),
    ("m.bin", binary((b"x", [1, 2]), (b"", [3, 4]), (b"z", [5, 6])), SKIP, {}, "x z"),
    ("m.bin", binary((b"x", [1, 2]), (b"y", [3, 4]), header=b"3 2\n"), {}, {}, "x y"),
    ("m.bin", binary((b"x", [1, 2]), (b"y", [1e30, 4]), (b"z", [5, 6])), SKIP, {}, "x z"),
    ("m.npy", npy(numpy.array([[1, 2], [numpy.inf, 4], [5, 6]], "<f8")), SKIP, XYZ, "x z"),
    # Words that are not UTF-8.
    ("m.bin", binary((CUT, [1, 2]), (b"m", [3, 4])), {}, {}, CUT[:-2].decode() + "\ufffd\ufffd m"),
    ("m.bin", binary((CUT, [1, 2]), (b"m", [3, 4])), {"invalid_utf8": "skip"}, {}, "m"),
    ("m.npy", MATRIX, {}, {"m.words": b"x\n\xff\xfe\nz\n"}, "x \ufffd\ufffd z"),
    ("m.npy", MATRIX, {"encoding": "shift_jis"}, {"m.words": "東京\n京\nx\n".encode("shift_jis")}, "東京 京 x"),
    ("m.txt", "café 1 2\nüber 3 4\n".encode("latin1"), {"encoding": "latin1"}, {}, "café über"),
    ("m.txt", "Привет 1 2\nмир 3 4\n".encode("koi8-r"), {"encoding": "koi8-r"}, {}, "Привет мир"),
    ("m.txt.gz", gzip.compress("中文 1 2\n好 3 4\n".encode("big5")), {"encoding": "big5"}, {}, "中文 好"),
    ("m.txt", b"\xed\xa0\x80 1 2\n\xc0\xaf 3 4\ny 5 6\n", {"invalid_utf8": "skip"}, {}, "y"),
    ("m.txt", b"x 1 2\ny 3 4\n", {"encoding": "klingon"}, {}, "the C library has no encoding 'klingon'"),
    # Files of other programs.
    ("cc.bin", struct.pack("<ii", 793712314, 12) + bytes(99), {}, {}, "the dictionary is pruned .*; load its .vec"),
    ("m.kv", b"\x80\x04\x95cgensim.models.keyedvectors\nKeyedVectors\n", {}, {}, r"sqlite_glove.load_gensim\(conn, KeyedVectors.load\(PATH\)\)"),
    ("m.kv.vectors.npy", MATRIX, {}, {}, r"sqlite_glove.load_gensim\(conn, KeyedVectors.load\(PATH\)\)"),
    ("m.model.wv.vectors.npy", MATRIX, {}, {}, r"load_gensim"),
    ("m.gguf", b"GGUF\3\0\0\0" + bytes(60), {}, {}, "GGUF"),
    ("m.csv", b"word,x,y\na,1,2\nb,2,3\n", {}, {}, "a table or database"),
    ("m.csv", b'"word";"x"\n"a";"1,5"\n', {}, {}, "no known format|a table"),
    ("m.txt", LINES.decode().encode("utf-16"), {}, {}, "text in UTF-16"),
    ("m.html", b"\r\n<html><body>404</body></html>\n", {}, {}, "a page of HTML"),
    ("m.json", b'{"a": [1, 2]}\n', {}, {}, "JSON"),
    ("m.parquet", b"PAR1" + bytes(60), {}, {}, "a table or database"),
    ("m.arrow", b"ARROW1\0\0" + bytes(60), {}, {}, "a table or database"),
    ("m.db", b"SQLite format 3\0" + bytes(99), {}, {}, "a table or database"),
    ("m.h5", b"\x89HDF\r\n\x1a\n" + bytes(99), {}, {}, "HDF5"),
    ("m.lz4", b"\x04\x22\x4d\x18" + bytes(60), {}, {}, "an archive; unpack it"),
    ("m.lz", b"LZIP\1" + bytes(60), {}, {}, "an archive; unpack it"),
    ("m.Z", b"\x1f\x9d\x90" + bytes(60), {}, {}, "an archive; unpack it"),
    ("m.txt", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", {}, {}, "Git LFS"),
    ("m.safetensors", i8("I8"), {}, XYZ, "x y z"),
    ("m.safetensors", i8("I8", scale=("F32", [3], numpy.float32([1, 2, 3]).tobytes())), {}, XYZ, "x y z"),
    ("m.safetensors", i8("I8", e_scales=("F16", [3, 1], numpy.float16([1, 2, 3]).tobytes())), {}, XYZ, "x y z"),
    ("m.safetensors", i8("I8", scale=("F32", [], bytes(4))), {}, XYZ, "x y z"),
    ("m.safetensors", i8("I8", scale=("F32", [1, 2], bytes(8))), {}, XYZ, r"'scale' has 2 numbers; one .* for each of 3 rows can be read$"),
    ("m.safetensors", i8("U8"), {}, XYZ, "F64 or I8 was expected, but there is e of U8$"),
    ("m.safetensors", i8("F8_E4M3"), {}, XYZ, "F64 or I8 was expected, but there is e of F8_E4M3$"),
    ("m.safetensors", i8("F8_E5M2", f=("U8", [1, 1], b"x")), {}, XYZ, "F64 or I8 was expected, but there is e of F8_E5M2, f of U8$"),
    ("m.safetensors", i8("I8", f=("I8", [3, 1], b"xyz")), {}, XYZ, "name the tensor that holds the vectors .*; the matrices are e, f$"),
    ("m.npy", npy(numpy.zeros((3, 2), "u1")), {}, XYZ, r"the elements are '\|u1'; '<f2', '<f4', '<f8' and '\|i1' can be read"),
    ("m.npy", npy(numpy.zeros(3, [("a", "<f4"), ("b", "<f4")])), {}, XYZ, r"\[\('a', '<f4'\), \('b', '<f4'\)\]"),
    ("m.npy", npy(numpy.zeros((3, 2), ">f4")), {}, XYZ, "the elements are '>f4'"),
]


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
        for extension, pack, program in PACKERS:
            with self.subTest(extension):
                name = "m.txt." + extension
                def load(content, name=name):
                    return self.load(self.write(name, content))[0]
                several = pack(LINES) + pack(b"") + pack(b"f 1 2 3\n") + pack(b"g 1 2 3\n")
                self.assertEqual(load(pack(LINES)), list("abcde"))
                self.assertEqual(self.db.execute("SELECT glove_load(?)", (self.write(name, several),)).fetchone(), ("m",))
                self.assertEqual(load(several), list("abcdefg"))
                long = b"".join(b"w%d %d.5 1\n" % (i, i) for i in range(100000))
                self.assertEqual(len(load(pack(long[:700000]) + pack(long[700000:]))), 100000)
                # What is cut, changed or followed by something else is an error at an offset of this file.
                packed = pack(long)
                for cut in range(12, len(packed), len(packed) // 7):
                    self.assertRegex(self.error(self.write(name, packed[:cut])), f"^{name}: offset {cut}: the compressed data ends early$")
                for at in range(20, len(packed), len(packed) // 7):
                    changed = packed[:at] + bytes([packed[at] ^ 0x55]) + packed[at + 1:]
                    self.assertRegex(self.error(self.write(name, changed)), f"^{name}: (offset [0-9]+: the compressed data|line )")
                self.assertRegex(self.error(self.write(name, packed + b"junk")), f"^{name}: offset [0-9]+: the compressed data is ")
                self.assertIn("nothing inside", self.error(self.write(name, pack(b""))))
                self.assertIn("too many empty parts", self.error(self.write(name, pack(b"") * 20000)))
                tar = io.BytesIO()
                with tarfile.open(fileobj=tar, mode="w") as archive:
                    archive.addfile(tarfile.TarInfo("m.txt"))
                self.assertIn("an archive; unpack it", self.error(self.write(name, pack(tar.getvalue()))))
                # Every format, with its list of words.
                for writer, kind, _, _ in embedding_writers.FORMATS:
                    (main, content), *others = writer(WORDS, ROWS).items()
                    for other, text in others:
                        self.write(other, pack(text))
                    self.assertEqual(load(pack(content), main + "." + extension), ["the", "of", "and"], kind)
                self.write("m.words", b"the\nof\nand\n")
                tail = embedding_writers.safetensors_f32(WORDS, ROWS)["m.safetensors"] + bytes(1 << 22)
                self.assertIn("more bytes inside the compressed file than", self.error(self.write("m.safetensors." + extension, pack(tail))))
                path = self.write(name, pack(long))
                self.db.set_progress_handler(lambda: 1, 1)
                self.assertEqual(self.error(path), "interrupted")
                self.db.set_progress_handler(None, 1)
                # Without the library.
                hidden = os.path.join(self.folder, "hidden")
                os.makedirs(hidden, exist_ok=True)
                for library in ("libbz2.so.1.0", "libbz2.so.1", "liblzma.so.5", "libzstd.so.1"):
                    self.write("hidden/" + library, b"")
                result = subprocess.run([CONVERT, path, path + ".out"], env={**os.environ, "LD_LIBRARY_PATH": hidden},
                                        capture_output=True, text=True, check=False)
                self.assertRegex(result.stderr, f"{name}: the file is compressed with [a-z0-9]+; unpack it with {program}, or on Linux install lib.*\\n$")
        self.assertEqual(self.load(self.write("z.txt", b"BZh91 1 2\nb 2 3\n"))[0], ["BZh91", "b"])

    @unittest.skipUnless(shutil.which("zstd"), "there is no zstd")
    def test_frames_of_zstd(self):
        skipped = struct.pack("<II", 0x184D2A5E, 3) + b"abc"
        self.assertEqual(self.load(self.write("s.zst", skipped + zstd(LINES) + skipped + zstd(b"f 1 2 3\n")))[0], list("abcdef"))
        self.assertIn("offset %d: the compressed data is followed by other data" % len(zstd(LINES)),
                      self.error(self.write("g.zst", zstd(LINES) + b"garbage")))
        # Through a pipe zstd does not know the length, and the frame asks for the whole window.
        packed = subprocess.run(["zstd", "-qc", "--long=31"], input=LINES, stdout=subprocess.PIPE, check=True).stdout
        process = subprocess.Popen([CONVERT, "-q", self.write("w.zst", packed), os.path.join(self.folder, "out")])
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        self.assertLess(used.ru_maxrss, 1 << 18, "KiB of memory")
        wide = b"\x28\xb5\x2f\xfd\x00\xff\1\0\0"  # a window of 3.75 TiB
        self.assertIn("(Frame requires too much memory for decoding)", self.error(self.write("w.zst", wide)))

    def test_files_as_people_have_them(self):
        for name, content, options, beside, wanted in FILES:
            with self.subTest(name=name, content=content[:60], options=options, beside=beside):
                path = self.write(name, content)
                for other, text in beside.items():
                    self.write(other, text)
                given = {key: os.path.join(self.folder, value) if key == "vocabulary" else value for key, value in options.items()}
                try:
                    self.assertEqual(" ".join(self.load(path, **given)[0]), wanted)
                except sqlite3.OperationalError as error:
                    self.assertRegex(str(error), wanted)
                for file in os.listdir(self.folder):
                    os.unlink(os.path.join(self.folder, file))

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
        self.write("m.words", b"the\nof\nand\n")
        for content, factors in ((npy(numpy.array([[1, 2], [3, -128], [5, 6]], "i1")), [1, 1, 1]), (i8("I8"), [1, 1, 1]),
                                 (i8("I8", scale=("F32", [3], numpy.float32([1, 2, 0.5]).tobytes())), [1, 2, 0.5])):
            self.assertEqual(self.load(self.write("m.npy", content))[0], ["the", "of", "and"])
            rows = [row for row, in self.db.execute("SELECT vector FROM glove_words('m') ORDER BY id")]
            self.assertEqual(numpy.frombuffer(b"".join(rows), "<f4").reshape(3, 2).tolist(),
                             [[1, 2], [3 * factors[1], -128 * factors[1]], [5 * factors[2], 6 * factors[2]]])

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
