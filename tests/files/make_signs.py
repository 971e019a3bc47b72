"""Makes the files of an earlier build: make_signs.py GLOVE.SO GLOVE_CONVERT, both of commit 1c37435f. README.md has the rest."""
import json
import lzma
import os
import sqlite3
import subprocess
import sys
import tempfile
import zlib

import numpy

EXTENSION, CONVERT = sys.argv[1:]
HERE = os.path.dirname(os.path.abspath(__file__))
DIMS = 256


class Rows:
    """Rows of small integers around a few topics, which are short when compressed."""

    def __init__(self):
        self.random = numpy.random.default_rng(52)
        self.topics = self.random.integers(-1, 2, (12, DIMS))

    def __call__(self, count):
        noise = self.random.integers(-1, 2, (count, DIMS)) * (self.random.random((count, DIMS)) < 0.2)
        return (self.topics[self.random.integers(0, 12, count)] + noise).astype("<f4")


def connect(path):
    db = sqlite3.connect(path, isolation_level=None)
    db.enable_load_extension(True)
    db.execute("SELECT load_extension(?, 'sqlite3_glove_init')", (EXTENSION,))
    return db


def store(name, content):
    with open(os.path.join(HERE, name + ".xz"), "wb") as file:
        file.write(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))


def make_database(path):
    rows = Rows()
    db = connect(path)
    db.execute("PRAGMA page_size = 4096")
    db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, vec BLOB)")
    insert = lambda count: db.executemany("INSERT INTO doc(vec) VALUES (?)", [(row.tobytes(),) for row in rows(count)])
    insert(160)
    db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec', lists=2, certainty='yes')")
    insert(32)  # a segment of its own that is in the lists
    db.execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
    insert(5)  # one that is in none
    db.execute("DELETE FROM doc WHERE id % 23 = 0")
    db.execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
    db.execute("DELETE FROM doc WHERE id % 29 = 0")  # what follows stays in the log
    db.executemany("UPDATE doc SET vec = ? WHERE id = ?", [(row.tobytes(), i) for i, row in enumerate(rows(6), 50)])
    insert(3)
    db.execute("VACUUM")
    db.close()


def without_rotation(content):
    """Zeros in place of the rotation, whose random numbers are 230 kB when compressed, with the checksums that this takes."""
    content = bytearray(content)
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    first, last = (start + offset for offset in header["rotation"]["data_offsets"])
    content[first:last] = bytes(last - first)

    def set_checksum(key, crc):
        at = content.index(b'"%s":"' % key) + len(key) + 4
        content[at:at + 8] = b"%08x" % crc

    set_checksum(b"glove.crc32.rotation", zlib.crc32(content[first:last]))
    set_checksum(b"glove.crc32", 0)
    set_checksum(b"glove.crc32", zlib.crc32(content[:start]))
    return bytes(content)


with tempfile.TemporaryDirectory() as folder:
    database, words, model = (os.path.join(folder, name) for name in ("index.db", "rows.w2v", "model.safetensors"))
    make_database(database)
    with open(database, "rb") as file:
        store("1c37435f-certainty.db", file.read())
    vectors = Rows()(240)
    with open(words, "wb") as file:
        file.write(b"%d %d\n" % vectors.shape)
        for i, row in enumerate(vectors):
            file.write(b"w%d " % i + row.tobytes())
    subprocess.run([CONVERT, "-q", words, model, "--lists", "8", "--seed", "1"], check=True)
    with open(model, "rb") as file:
        store("1c37435f-signs.safetensors", without_rotation(file.read()))
