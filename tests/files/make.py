#!/usr/bin/env python3
"""Writes a model file and a database as a build makes them: make.py GLOVE.SO GLOVE_CONVERT NAME FOLDER

NAME is the commit of the build. NAME.safetensors has 300 words of 16 dimensions, in lists if the build knows lists, and NAME.db
indexes of two tables: vectors, synced, with dead rows, in lists if the build knows lists, and with changes in the log; and texts.
What a build does not know is left out. Both files are compressed with xz.
"""
import lzma
import os
import random
import sqlite3
import struct
import subprocess
import sys
import tempfile

TEXTS = ["storm and rain", "a bank of clouds", "interest of the bank", "piano and violin", "rain on the coast"]


def vectors(count, dims, seed):
    source = random.Random(seed)
    return [struct.pack(f"<{dims}f", *(round(source.gauss(0, 3)) for _ in range(dims))) for _ in range(count)]


def make_model(convert, folder):
    words = sorted({word for text in TEXTS for word in text.split()})
    text = os.path.join(folder, "model.txt")
    with open(text, "w", encoding="utf-8") as file:
        for i, vector in enumerate(vectors(300, 16, 1)):
            word = words[i] if i < len(words) else f"word{i}"
            file.write(" ".join([word, *(repr(x) for x in struct.unpack("<16f", vector))]) + "\n")
    out = os.path.join(folder, "model.safetensors")
    for options in (["--lists", "6"], []):
        if subprocess.run([convert, "-q", text, out, *options], stderr=subprocess.DEVNULL).returncode == 0:
            return out
    return None


def try_all(db, statements):
    for statement in statements:
        try:
            db.execute(statement)
        except sqlite3.Error as error:
            print(f"left out: {statement}: {error}")
            return False
    return True


def make_database(library, model, path):
    db = sqlite3.connect(path, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(library)
    db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, embedding BLOB)")
    db.executemany("INSERT INTO doc(embedding) VALUES (?)", ((vector,) for vector in vectors(240, 24, 2)))
    if not try_all(db, ["CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='embedding', lists='8')"]):
        try_all(db, ["CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='embedding')"])
    db.executemany("INSERT INTO doc(embedding) VALUES (?)", ((vector,) for vector in vectors(60, 24, 3)))
    db.execute("DELETE FROM doc WHERE id % 29 = 3")
    try_all(db, ["INSERT INTO doc_vec(doc_vec) VALUES ('sync')"])
    db.execute("DELETE FROM doc WHERE id % 37 = 5")
    db.executemany("UPDATE doc SET embedding = ? WHERE id = ?", zip(vectors(9, 24, 4), range(10, 100, 10)))
    db.executemany("INSERT INTO doc(embedding) VALUES (?)", ((vector,) for vector in vectors(7, 24, 5)))
    db.execute("SELECT glove_load(?, 'words')", (model,))
    db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT)")
    db.executemany("INSERT INTO note(body) VALUES (?)", ((text,) for text in TEXTS[:3]))
    try_all(db, ["CREATE VIRTUAL TABLE note_vec USING glove_index(content='note', rowid='id', text='body', model='words')"])
    db.executemany("INSERT INTO note(body) VALUES (?)", ((text,) for text in TEXTS[3:]))
    db.execute("VACUUM")
    db.close()


def main(library, convert, name, folder):
    with tempfile.TemporaryDirectory() as work:
        model = make_model(os.path.abspath(convert), work)
        make_database(os.path.abspath(library), model, os.path.join(work, "made.db"))
        for made, ending in ((model, "safetensors"), (os.path.join(work, "made.db"), "db")):
            with open(made, "rb") as file, lzma.open(os.path.join(folder, f"{name}.{ending}.xz"), "wb", preset=9) as out:
                out.write(file.read())


if __name__ == "__main__":
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
