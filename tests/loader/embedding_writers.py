"""Writes every input format, with NumPy and the standard library, independently of the loader.

A writer takes the words (bytes) and the float32 matrix, and gives {file name: content}; the first file
is the input, others stand beside it. Each names the float32 values that a reader must then find.
"""
import json
import struct

import numpy


def number(value):
    """The shortest decimal that reads back as the same float32."""
    return numpy.format_float_scientific(value, unique=True, trim="-").encode() if value else (
        b"-0" if numpy.signbit(value) else b"0")


def lines(words, rows, separator=b" ", end=b"\n"):
    return [word + separator + separator.join(map(number, row)) + end for word, row in zip(words, rows)]


def glove_text(words, rows):
    return {"m.txt": b"".join(lines(words, rows))}


def glove_text_with_quirks(words, rows):
    """A byte-order mark, CRLF, tabs, and no end of the last line."""
    return {"m.txt": b"\xef\xbb\xbf" + b"".join(lines(words, rows, b"\t", b"\r\n")).rstrip()}


def word2vec_text(words, rows):
    return {"m.txt": b"%d %d\n" % rows.shape + b"".join(lines(words, rows))}


def fasttext_vec(words, rows):
    """As fastText writes it: a space before the end of each line."""
    return {"m.vec": b"%d %d\n" % rows.shape + b"".join(lines(words, rows, end=b" \n"))}


def word2vec_binary(words, rows, end=b""):
    records = [word + b" " + row.astype("<f4").tobytes() + end for word, row in zip(words, rows)]
    return {"m.bin": b"%d %d\n" % rows.shape + b"".join(records)}


def word2vec_binary_with_newlines(words, rows):
    """As the original word2vec tool writes it."""
    return word2vec_binary(words, rows, b"\n")


class FastText:
    """A model as fastText saves it: `rows` are those of the words, then those of the buckets of n-grams."""

    def __init__(self, words, rows, minn=0, maxn=0, buckets=0, labels=()):
        self.words, self.rows, self.labels = words, rows.astype("<f4"), labels
        self.minn, self.maxn, self.buckets = minn, maxn, buckets

    def content(self, version=12, model=2, pruned=-1, quantised=0):
        entry = lambda text, kind: text + b"\0" + struct.pack("<qb", 5, kind)
        head = struct.pack("<14id", 793712314, version, self.rows.shape[1], 5, 1, 1, 5, 1, 1, model, self.buckets, self.minn,
                           self.maxn, 100, 1e-4)
        head += struct.pack("<3i2q", len(self.words) + len(self.labels), len(self.words), len(self.labels), 99, pruned)
        head += b"".join([entry(word, 0) for word in self.words] + [entry(label, 1) for label in self.labels])
        output = self.rows[:len(self.labels) or len(self.words)]
        matrix = lambda rows: struct.pack("<2q", *rows.shape) + rows.tobytes()
        return head + bytes([quantised]) + matrix(self.rows) + b"\0" + matrix(output)

    def ngrams(self, word):
        """The characters of UTF-8 in runs of minn to maxn of <word>, as bytes."""
        starts = [i for i, byte in enumerate(b"<" + word + b">") if byte & 0xC0 != 0x80] + [len(word) + 2]
        runs = [(i, j) for i in range(len(starts) - 1) for j in range(i + max(self.minn, 1), min(i + self.maxn, len(starts) - 1) + 1)]
        whole = b"<" + word + b">"
        return [whole[starts[i]:starts[j]] for i, j in runs
                if word != b"</s>" and not (j == i + 1 and (i == 0 or j == len(starts) - 1))]

    def bucket(self, ngram):
        code = 2166136261
        for byte in ngram:
            code = (code ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619 & 0xFFFFFFFF
        return code % self.buckets

    def vector(self, word):
        """The mean of the word's row, if it has one, and of those of its n-grams; None if it has no row at all."""
        rows = [self.words.index(word)] if word in self.words else []
        rows += [len(self.words) + self.bucket(ngram) for ngram in self.ngrams(word)]
        total = numpy.zeros(self.rows.shape[1], numpy.float32)
        for row in rows:
            total = total + self.rows[row]
        return total * numpy.float32(1 / len(rows)) if rows else None


def fasttext_bin(words, rows):
    """Without n-grams."""
    return {"m.bin": FastText(words, rows).content()}


def word_list(words):
    return b"".join(word + b"\n" for word in words)


def npy(words, rows, dtype, fortran=False):
    array = rows.astype(dtype)
    descr = {"descr": dtype, "fortran_order": fortran, "shape": array.shape}
    text = repr(descr).encode()
    text += b" " * (-(10 + len(text) + 1) % 64) + b"\n"
    content = b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + array.tobytes("F" if fortran else "C")
    return {"m.npy": content, "m.words": word_list(words)}


def numpy_float16(words, rows):
    return npy(words, rows, "<f2")


def numpy_float32(words, rows):
    return npy(words, rows, "<f4")


def numpy_float64_fortran(words, rows):
    return npy(words, rows, "<f8", fortran=True)


def numpy_float32_fortran(words, rows):
    return npy(words, rows, "<f4", fortran=True)


def safetensors(words, rows, dtype, content):
    header = {"bias": {"dtype": "I32", "shape": [1], "data_offsets": [0, 4]},
              "embeddings": {"dtype": dtype, "shape": list(rows.shape), "data_offsets": [4, 4 + len(content)]}}
    text = json.dumps(header).encode()
    return {"m.safetensors": struct.pack("<Q", len(text)) + text + bytes(4) + content, "m.words": word_list(words)}


def safetensors_f32(words, rows):
    return safetensors(words, rows, "F32", rows.astype("<f4").tobytes())


def safetensors_f16(words, rows):
    return safetensors(words, rows, "F16", rows.astype("<f2").tobytes())


def safetensors_bf16(words, rows):
    return safetensors(words, rows, "BF16", (rows.view("<u4") >> 16).astype("<u2").tobytes())


def norms(rows):
    return numpy.sqrt((rows.astype(float) ** 2).sum(axis=1)).astype(numpy.float32)


def norm_text(words, rows):
    return {"m.txt": b"".join(lines(words, numpy.column_stack([norms(rows), rows])))}


def norm_binary(words, rows):
    values = numpy.column_stack([norms(rows), rows]).astype("<f4")
    return {"m.values": values.tobytes(), "m.keys": word_list(words)}


def unchanged(rows):
    return rows


def with_positive_zeros(rows):
    return rows + numpy.float32(0)


def through_float16(rows):
    return rows.astype("<f2").astype(numpy.float32)


def through_bfloat16(rows):
    return (rows.view("<u4") & 0xFFFF0000).view("<f4")


# The writer, the format's name, what its numbers keep of a float32, and whether words may hold spaces.
FORMATS = [
    (glove_text, "glove-text", unchanged, True),
    (glove_text_with_quirks, "glove-text", unchanged, True),
    (word2vec_text, "word2vec-text", unchanged, True),
    (fasttext_vec, "word2vec-text", unchanged, True),
    (fasttext_bin, "fasttext", with_positive_zeros, True),
    (word2vec_binary, "word2vec-binary", unchanged, False),
    (word2vec_binary_with_newlines, "word2vec-binary", unchanged, False),
    (numpy_float16, "numpy", through_float16, True),
    (numpy_float32, "numpy", unchanged, True),
    (numpy_float32_fortran, "numpy", unchanged, True),
    (numpy_float64_fortran, "numpy", unchanged, True),
    (safetensors_f16, "safetensors", through_float16, True),
    (safetensors_bf16, "safetensors", through_bfloat16, True),
    (safetensors_f32, "safetensors", unchanged, True),
    (norm_text, "norm-text", unchanged, True),
    (norm_binary, "norm-binary", unchanged, True),
]
