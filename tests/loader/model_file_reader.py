"""Reads and writes model files from docs/format.md alone (D: docs/exactness.md), with NumPy and the standard library.

Independent of the project's code on purpose: what it accepts and makes is what the page specifies.
"""
import json
import struct
import zlib

import numpy

TYPES = {"F32": "<f4", "F64": "<f8", "I8": "<i1", "U8": "<u1", "I64": "<i8", "I32": "<i4", "I16": "<i2", "F16": "<f2"}
TILE_ROWS, TILE_COMPONENTS = 32, 4


class ModelFile:
    """The tensors of a file as arrays, and `words` as a list of bytes."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        (length,) = struct.unpack("<Q", self.bytes[:8])
        assert 8 + length <= len(self.bytes), "the header is cut off"
        self.data_begin = 8 + length
        header = json.loads(self.bytes[8 : 8 + length])
        self.metadata = header.pop("__metadata__")
        self.places = {name: (entry["data_offsets"], entry["dtype"], entry["shape"]) for name, entry in header.items()}
        self.tensors = {name: self.array(name) for name in self.places}
        starts = self.tensors["word_offsets"]
        text = self.tensors["word_bytes"].tobytes()
        self.words = [text[a:b] for a, b in zip(starts[:-1], starts[1:])]

    def array(self, name):
        (begin, end), dtype, shape = self.places[name]
        data = self.bytes[self.data_begin + begin : self.data_begin + end]
        return numpy.frombuffer(data, TYPES[dtype]).reshape(shape)

    def check(self):
        """Everything that docs/format.md promises of a file that glove-convert wrote."""
        assert self.metadata["glove.version"].split(".")[0] == "1"
        header = self.bytes[: self.data_begin]
        assert header_checksum(header) == self.metadata["glove.crc32"]
        covered = 0
        for (begin, end), dtype, shape in sorted(self.places.values()):
            assert begin == covered, "a hole in the data"
            assert end - begin == numpy.dtype(TYPES[dtype]).itemsize * int(numpy.prod(shape, dtype=numpy.int64))
            covered = end
        assert self.data_begin + covered == len(self.bytes)
        for name, ((begin, _), _, _) in self.places.items():
            if name.startswith("padding."):
                assert not self.tensors[name].any()
                continue
            assert (self.data_begin + begin) % 64 == 0, f"{name} is not aligned"
            checksum = zlib.crc32(self.tensors[name].tobytes())
            assert self.metadata[f"glove.crc32.{name}"] == f"{checksum:08x}", f"the checksum of {name}"
        self.check_words()
        self.check_numbers()

    def check_words(self):
        assert self.tensors["word_offsets"][0] == 0
        assert self.tensors["word_offsets"][-1] == len(self.tensors["word_bytes"])
        assert len(set(self.words)) == len(self.words), "a word is there twice"
        assert all(self.words), "a word is empty"
        order = sorted(range(len(self.words)), key=lambda i: self.words[i])
        assert self.tensors["sorted_ids"].tolist() == order

    def check_numbers(self):
        vectors = self.tensors["vectors"]
        rows, dims = vectors.shape
        norms_squared = dot_of_rows(vectors, vectors)
        assert norms_squared.tobytes() == self.tensors["norms_squared"].tobytes()
        tiles = self.tensors["codes"]
        groups = -(-dims // TILE_COMPONENTS)
        assert tiles.shape == (-(-rows // TILE_ROWS), groups, TILE_ROWS, TILE_COMPONENTS)
        codes = tiles.transpose(0, 2, 1, 3).reshape(-1, groups * TILE_COMPONENTS)
        assert not codes[rows:].any() and not codes[:, dims:].any(), "padding of the codes"
        assert codes.min() >= -127
        self.check_level(norms_squared, codes, "scales", "residuals")
        if "codes4" in self.tensors:
            self.check_level(norms_squared, self.codes_of_4_bits(rows, dims), "scales4", "residuals4")

    def codes_of_4_bits(self, rows, dims):
        tiles = self.tensors["codes4"]
        words = -(-dims // 8)
        assert tiles.shape == (-(-rows // TILE_ROWS), words, TILE_ROWS, 4)
        halves = numpy.stack([tiles & 15, tiles >> 4], axis=3)  # [tile, word, row, half, byte]
        bits = halves.transpose(0, 2, 1, 3, 4).reshape(-1, words * 8)
        assert not bits[rows:].any() and not bits[:, dims:].any(), "padding of the codes of 4 bits"
        return 2 * bits.astype("<i1") - 15

    def check_level(self, norms_squared, codes, scales, residuals):
        vectors = self.tensors["vectors"]
        rows, dims = vectors.shape
        codes = codes[:rows, :dims].astype(numpy.longdouble)
        scales = self.tensors[scales].astype(numpy.longdouble)
        residuals = self.tensors[residuals]
        zero = norms_squared == 0
        assert not scales[zero].any() and numpy.isposinf(residuals[zero]).all()
        norms = numpy.sqrt(norms_squared.astype(numpy.longdouble))
        units = vectors[~zero].astype(numpy.longdouble) / norms[~zero, None]
        errors = numpy.sqrt(((units - scales[~zero, None] * codes[~zero]) ** 2).sum(axis=1))
        assert (scales[~zero] > 0).all()
        assert (errors <= residuals[~zero]).all(), "a residual is too small"


def dot_of_rows(a, b):
    """D(a, b) of docs/exactness.md, row by row."""
    partial = [numpy.zeros(len(a)) for _ in range(8)]
    for j in range(a.shape[1]):
        partial[j % 8] = partial[j % 8] + a[:, j].astype(float) * b[:, j].astype(float)
    p = partial
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))


def header_checksum(header):
    """The CRC-32 of the header with the digits of its own checksum as zeros."""
    key = b'"glove.crc32":"'
    place = header.index(key) + len(key)
    return f"{zlib.crc32(header[:place] + b'00000000' + header[place + 8:]):08x}"


def write_minimal_model(path, words, vectors):
    """A model file with no more than readers need: the vectors and the words."""
    text = b"".join(words)
    offsets = numpy.cumsum([0] + [len(word) for word in words]).astype("<i8")
    parts = {
        "vectors": ("F32", vectors.astype("<f4")),
        "word_offsets": ("I64", offsets),
        "word_bytes": ("U8", numpy.frombuffer(text, "<u1")),
        "an unknown tensor": ("U8", numpy.zeros(3, "<u1")),
    }
    if vectors.size % 2:  # word_offsets needs an offset that 8 divides
        parts = {"vectors": parts.pop("vectors"), "padding.0": ("U8", numpy.zeros(4, "<u1")), **parts}
    header = {"__metadata__": {"glove.version": "1.7", "glove.crc32": "00000000"}}
    at = 0
    for name, (dtype, array) in parts.items():
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 64)
    whole = struct.pack("<Q", len(text)) + text
    whole = whole.replace(b'"glove.crc32":"00000000"', b'"glove.crc32":"' + header_checksum(whole).encode() + b'"')
    with open(path, "wb") as file:
        file.write(whole + b"".join(array.tobytes() for _, array in parts.values()))
