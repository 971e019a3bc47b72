"""python -m sqlite_glove from-sqlite-vec beside sqlite-vec itself: the same rows, and the same answers."""
import contextlib
import gzip
import os
import sqlite3
import subprocess
import sys

import numpy
import pytest
import sqlite_glove
import sqlite_vec

PYTHON_TESTS = os.path.join(os.environ["GLOVE_PROJECT"], "tests/python")
sys.path.insert(0, PYTHON_TESTS)
import make_vec0

ROWS, DIMS = 3000, 96


@contextlib.contextmanager
def both(path):
    """A connection with both extensions."""
    with contextlib.closing(sqlite3.connect(path)) as conn:
        conn.enable_load_extension(True)
        conn.load_extension(sqlite_vec.loadable_path())
        sqlite_glove.load(conn)
        yield conn
        conn.commit()


def convert(path, *arguments):
    command = [sys.executable, "-m", "sqlite_glove", "from-sqlite-vec", path, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_stored_database(tmp_path):
    """What tests/python converts is what this sqlite-vec makes, and vec0 reads it as the conversion does."""
    made = str(tmp_path / "made.db")
    make_vec0.main(made)
    stored = str(tmp_path / "stored.db")
    with gzip.open(os.path.join(PYTHON_TESTS, "vec0.db.gz")) as file, open(stored, "wb") as out:
        out.write(file.read())
    seen = []
    for path in (made, stored):
        convert(path, "full")
        with both(path) as conn:
            columns = "doc_id, user_id, lang, emb, title, year, score, ok, body, raw, n"
            of_vec0 = conn.execute(f"SELECT {columns} FROM full ORDER BY 1").fetchall()
            assert of_vec0 == conn.execute(f"SELECT {columns} FROM full_rows ORDER BY 1").fetchall()
            seen.append(of_vec0)
    assert seen[0] == seen[1] and len(seen[0]) == 39


@pytest.mark.parametrize("element", ["float", "int8"])
@pytest.mark.parametrize("metric", ["cosine", "l2"])
def test_answers(tmp_path, metric, element):
    path = str(tmp_path / "a.db")
    source = numpy.random.default_rng(5)
    vectors = source.integers(-128, 128, (ROWS + 20, DIMS)).astype("i1") if element == "int8" else source.normal(size=(ROWS + 20, DIMS)).astype("f4")
    wrapped = "vec_int8(?)" if element == "int8" else "?"
    with both(path) as conn:
        conn.execute(f"CREATE VIRTUAL TABLE doc USING vec0(user_id integer partition key, emb {element}[{DIMS}] distance_metric={metric}, "
                     "title text, year integer, +body text)")
        conn.executemany(f"INSERT INTO doc(rowid, user_id, emb, title, year, body) VALUES (?, ?, {wrapped}, ?, ?, ?)",
                         ((7 * i, i % 5, vectors[i].tobytes(), f"title {i} " * (i % 3), 1990 + i % 30, f"body {i}") for i in range(ROWS)))
        conn.execute("DELETE FROM doc WHERE rowid % 49 = 0")
    convert(path)
    with both(path) as conn:
        columns = "user_id, title, year, body"
        assert (conn.execute(f"SELECT rowid, {columns} FROM doc ORDER BY 1").fetchall() ==
                conn.execute(f"SELECT id, {columns} FROM doc_rows ORDER BY 1").fetchall())
        for query in vectors[ROWS:]:
            given = query.astype("f4").tobytes()
            for old, new in (("", ""), (" AND user_id = 3 AND year > 2000",
                                        " AND among = (SELECT glove_keys(id) FROM doc_rows WHERE user_id = 3 AND year > 2000)")):
                expected = conn.execute(f"SELECT rowid, distance FROM doc WHERE emb MATCH {wrapped} AND k = 10{old}", (query.tobytes(),)).fetchall()
                found = conn.execute(f"SELECT id, distance FROM doc_rows_vec WHERE query = ? AND k = 10{new} ORDER BY rank", (given,)).fetchall()
                assert [row[0] for row in found] == [row[0] for row in expected]
                assert [row[1] for row in found] == pytest.approx([row[1] for row in expected], rel=1e-5)


def test_failed_inserts(tmp_path):
    """An INSERT that fails inside a transaction leaves a part of its row in vec0's tables; the error says how to remove it."""
    path = str(tmp_path / "a.db")
    with both(path) as conn:
        conn.execute("CREATE VIRTUAL TABLE doc USING vec0(emb float[2], +body text)")
        conn.execute("INSERT INTO doc(rowid, emb, body) VALUES (1, '[1, 2]', 'a')")
        with pytest.raises(sqlite3.Error):
            conn.execute("INSERT INTO doc(rowid, emb, body) VALUES (2, '[1, 2]', 5)")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        convert(path)
    advice = refused.value.stderr.split("Load sqlite-vec, and ")[1].split(". Nothing")[0]
    assert advice == "DELETE FROM doc WHERE rowid = 2"
    with both(path) as conn:
        assert not conn.execute("SELECT name FROM sqlite_master WHERE name LIKE 'doc_rows%'").fetchall()
        conn.execute(advice)
    convert(path)
    with both(path) as conn:
        assert conn.execute("SELECT id, body FROM doc_rows").fetchall() == [(1, "a")]


def test_answers_of_bits(tmp_path):
    path = str(tmp_path / "a.db")
    vectors = numpy.random.default_rng(6).integers(0, 256, (ROWS + 20, DIMS // 8)).astype("u1")
    with both(path) as conn:
        conn.execute(f"CREATE VIRTUAL TABLE doc USING vec0(code bit[{DIMS}])")
        conn.executemany("INSERT INTO doc(rowid, code) VALUES (?, vec_bit(?))", ((i, vectors[i].tobytes()) for i in range(ROWS)))
    convert(path)
    with both(path) as conn:
        assert conn.execute("SELECT rowid, code FROM doc ORDER BY 1").fetchall() == conn.execute("SELECT id, code FROM doc_rows ORDER BY 1").fetchall()
        for query in vectors[ROWS:]:  # rows at one distance may be in any order
            expected = conn.execute("SELECT distance FROM doc WHERE code MATCH vec_bit(?) AND k = 50", (query.tobytes(),)).fetchall()
            assert conn.execute("SELECT distance FROM doc_rows_vec WHERE query = ? AND k = 50 ORDER BY rank", (query.tobytes(),)).fetchall() == expected
