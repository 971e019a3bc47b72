"""Makes vec0.db with sqlite-vec, which the tests convert: make_vec0.py FILE

vec0.db.gz beside this file was made by `pip install sqlite-vec==0.1.9`, this program with SQLite 3.40.1, and gzip -9n.
"""
import array
import os
import random
import sqlite3
import sys

LANGUAGES = ["en", "fr", None]
TABLES = """
CREATE VIRTUAL TABLE full USING vec0(doc_id integer primary key, user_id integer partition key, lang text partition key,
  emb float[4] distance_metric=cosine, small INT8[8], title text, year integer, score float, ok boolean, +body text, +raw blob, +n integer, chunk_size=8);
CREATE VIRTUAL TABLE "plain one" USING vec0(embedding float[4], chunk_size=8);
CREATE VIRTUAL TABLE texts USING vec0(name text primary key, v f32[4] Distance_Metric = L2, id int, chunk_size=8);
CREATE VIRTUAL TABLE bits USING vec0(code bit[8], chunk_size=8);
CREATE VIRTUAL TABLE blocks USING vec0(v float[4] distance_metric=l1, chunk_size=8);
"""


def floats(values):
    return array.array("f", values).tobytes()


def rows(count=40, dims=4):
    """Those of full, the int8 vectors as bytes; the row with the id 21 is deleted again."""
    source = random.Random(7)
    for i in range(count):
        title = f"title {i}" if i % 3 else f"a title of more than 12 bytes, naïve {i}"
        yield (3 * i, i % 2, LANGUAGES[i % 3], floats(source.gauss(0, 1) for _ in range(dims)),
               array.array("b", (source.randrange(-128, 128) for _ in range(8))).tobytes(), title, 2000 - i * i * 10 ** 9, i / 8 - 1, i % 4 == 1,
               f"body {i}" * 9 if i % 5 else None, b"\0raw", i if i % 2 else None)


def main(path):
    import sqlite_vec
    if os.path.exists(path):
        os.remove(path)
    conn = sqlite3.connect(path)
    conn.execute("PRAGMA page_size = 512")
    conn.enable_load_extension(True)
    conn.load_extension(sqlite_vec.loadable_path())
    conn.executescript(TABLES)
    conn.executemany("INSERT INTO full VALUES (?, ?, ?, ?, vec_int8(?), ?, ?, ?, ?, ?, ?, ?)", rows())
    conn.execute("DELETE FROM full WHERE doc_id = 21")
    for row in rows(12):
        conn.execute('INSERT INTO "plain one"(rowid, embedding) VALUES (?, ?)', (row[0], row[3]))
        conn.execute("INSERT INTO texts(name, v, id) VALUES (?, ?, ?)", (f"name {row[0]}", row[3], row[0]))
    conn.execute("INSERT INTO bits(code) VALUES (vec_bit(x'55'))")
    conn.execute("INSERT INTO blocks(v) VALUES ('[1, 2, 3, 4]')")
    conn.commit()
    conn.execute("VACUUM")
    conn.close()


if __name__ == "__main__":
    main(sys.argv[1])
