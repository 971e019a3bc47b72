"""Shared by the benchmarks: connections, times, memory, the arrays of a model file in NumPy, and the queries of a seed."""
import json
import os
import sqlite3
import statistics
import struct
import subprocess
import time
import zlib

import numpy


def connect(path, *extensions, **settings):
    """A connection without transactions of its own, with these extensions and settings of glove_config()."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.enable_load_extension(True)
    for extension in extensions:
        connection.load_extension(os.path.abspath(extension))
    for name, value in settings.items():
        connection.execute("SELECT glove_config(?, ?)", (name, value)).fetchall()
    return connection


def timed(work, clock=time.perf_counter):
    """Returns milliseconds, and what work() returns."""
    start = clock()
    result = work()
    return (clock() - start) * 1000, result


def in_turns(ways, rounds, clock=time.perf_counter):
    """Calls each of {name: work} once per round, the order reversed in every other. Returns {name: milliseconds of each call} and
    {name: what each call returned}."""
    times, results = {name: [] for name in ways}, {name: [] for name in ways}
    for number in range(rounds):
        for name in list(ways) if number % 2 == 0 else reversed(list(ways)):
            taken, result = timed(ways[name], clock)
            times[name].append(taken)
            results[name].append(result)
    return times, results


def medians(times):
    return {name: statistics.median(taken) for name, taken in times.items() if taken}


def memory(*names):
    """Returns bytes of this process by fields of /proc/self/status, such as RssAnon."""
    with open("/proc/self/status", encoding="ascii") as status:
        fields = dict(line.split(":", 1) for line in status)
    return [int(fields[name].split()[0]) * 1024 for name in names]


def convert(build, *arguments):
    subprocess.run([os.path.join(build, "glove-convert"), "--quiet", *map(str, arguments)], check=True)


def unit(x):
    return x / numpy.maximum(numpy.linalg.norm(x, axis=-1, keepdims=True), 1e-12)


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
    return unit(numpy.array(vectors(path)))


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
