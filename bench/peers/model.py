"""Used by every worker: the arrays of the model file in NumPy, and the queries of a seed."""
import json
import struct
import zlib

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


def hide_4_bit_codes(path):
    """Renames the tensors of 4 bits in a model file, so that glove_nn scans its codes of 8 bits."""
    entries, length = header(path)
    with open(path, "r+b") as file:
        head = file.read(length)
        for name in (name for name in entries if name in ("codes4", "scales4", "residuals4")):
            head = head.replace(b'"%s"' % name.encode(), b'"%s_"' % name[:-1].encode())
        key = b'"glove.crc32":"'
        place = head.index(key) + len(key)
        head = head[:place] + b"0" * 8 + head[place + 8:]
        file.seek(0)
        file.write(head[:place] + b"%08x" % zlib.crc32(head) + head[place + 8:])


def query_ids(seed, count, rows):
    """Ids among the 50,000 most frequent words, each once."""
    return numpy.random.default_rng(seed).choice(min(50_000, rows), count, replace=False)
