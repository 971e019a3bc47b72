"""Used by every worker: the arrays of the model file in NumPy, and the queries of a seed."""
import json
import struct

import numpy


def header(path):
    with open(path, "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        return json.loads(file.read(length)), 8 + length


def tensor(path, name, dtype):
    """A tensor of a safetensors file, mapped."""
    entries, start = header(path)
    entry = entries[name]
    return numpy.memmap(path, dtype=dtype, mode="r", offset=start + entry["data_offsets"][0],
                        shape=tuple(entry["shape"]))


def vectors(path):
    return tensor(path, "vectors", "<f4")


def unit_vectors(path):
    rows = numpy.array(vectors(path))
    norms = numpy.linalg.norm(rows, axis=1, keepdims=True)
    return rows / numpy.where(norms > 0, norms, 1)


def words(path):
    data = bytes(tensor(path, "word_bytes", "u1"))
    offsets = tensor(path, "word_offsets", "<i8")
    return [data[a:b].decode() for a, b in zip(offsets[:-1], offsets[1:])]


def query_ids(seed, count, rows):
    """Ids among the 50,000 most frequent words, each once."""
    return numpy.random.default_rng(seed).choice(min(50_000, rows), count, replace=False)
