"""Frames of polars and tables of Arrow as rows of an index, and answers as frames."""
import datetime
import re
import sqlite3
import threading
import time

import numpy
import pandas
import polars
import pyarrow
import pytest
import sqlite_glove


def index_of(*arguments, **options):
    conn = sqlite3.connect(":memory:", check_same_thread=False)
    sqlite_glove.load(conn)
    return sqlite_glove.index(conn, "doc", *arguments, **options)


def test_polars():
    frame = polars.DataFrame({"id": [3, 5, 8, 9], "title": ["a", "b", None, "d"], "day": [datetime.date(2026, 1, day) for day in (1, 2, 3, 4)],
                              "vector": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], None]})
    for vectors in (frame["vector"], frame["vector"].cast(polars.Array(polars.Float32, 2))):
        docs = index_of(frame["id"], vectors, frame[["title", "day"]])
        for rows in ("polars", "frame"):
            found = docs.search(numpy.array([1, 0.1]), 2, where="day <> ?", params=["2026-01-02"], rows=rows)
            expected = polars.DataFrame({"id": [3, 8], "similarity": found["similarity"].to_list(), "title": ["a", None], "day": ["2026-01-01", "2026-01-03"]})
            assert found.equals(expected) and found.schema == expected.schema, found
        assert [one["id"].to_list() for one in docs.search_many(frame["vector"][:2], 1, rows="frame")] == [[3], [5]]
        assert docs.like(3, 1, rows="polars")["title"].to_list() == [None]
        assert docs.search([1, 0], 0, rows="polars").columns == ["id", "similarity", "title", "day"]
        docs.add(polars.Series([10]), polars.Series([[0.0, 2.0]]), polars.DataFrame({"title": ["e"]}))
        assert docs.search([0, 1], 2, rows="frame", columns=["title"])["title"].to_list() == ["b", "e"]
    keyed = index_of(frame[["title", "id"]].drop_nulls(), [[1], [2], [3]])
    keyed.upsert(polars.DataFrame({"id": [3], "title": ["a"]}), [[-1]])
    assert keyed.search([-1], 1, rows="frame").rows() == [("a", 3, 1.0)]


def test_arrow():
    flat = pyarrow.array([0, 1, 0, 0, 0, 1, 1, 0, 1], pyarrow.float32())
    fixed = pyarrow.FixedSizeListArray.from_arrays(flat, 3)
    for vectors in (fixed, pyarrow.array(fixed.to_pylist()), pyarrow.array([*fixed.to_pylist()[:2], None])):
        table = pyarrow.table({"id": [1, 2, 3], "title": ["a", "b", None], "vector": vectors})
        for given in (table["vector"], vectors):
            docs = index_of(table["id"], given, table.select(["title"]))
            found = docs.search([0, 0, 2], 2, rows="frame", among=[1, 2])
            assert found.equals(docs.search([0, 0, 2], 2, rows="arrow", among=table["id"][:2]))
            assert found.to_pydict() == {"id": [2, 1], "similarity": [1.0, 0.0], "title": ["b", "a"]}
            assert str(found.schema.types) == "[DataType(int64), DataType(double), DataType(string)]"
            assert docs.search([1, 0, 0], 0, rows="arrow").column_names == ["id", "similarity", "title"]
            assert len(docs.search([1, 0, 0], 9)) == 3 - vectors.null_count
    twice = pyarrow.Table.from_arrays([table["id"], table["id"]], ["a", "a"])
    with pytest.raises(ValueError, match=r"index\(\): there are two columns named 'a'"):
        index_of(None, vectors, twice)


def test_frames_of_the_kind_that_was_given():
    frame = pandas.DataFrame({"title": ["a", "b"], "vector": [[1, 0], [0, 1]]})
    for given, kind in (((None, frame["vector"], {"title": ["a", "b"]}), pandas.DataFrame), ((frame.index, [[1, 0], [0, 1]], frame[["title"]]), pandas.DataFrame),
                        ((None, [[1, 0], [0, 1]], polars.DataFrame(frame[["title"]])), polars.DataFrame)):
        docs = index_of(*given)
        assert isinstance(docs.search([1, 0], 1, rows="frame"), kind) and isinstance(docs.search([1, 0], 1), list)
        assert isinstance(sqlite_glove.index(docs.conn, "doc", *given, if_exists="open").search([1, 0], 1, rows="frame"), kind)
        for other in (sqlite_glove.Index(docs.conn, "doc"), sqlite_glove.index(docs.conn, "doc", if_exists="open")):
            with pytest.raises(ValueError, match=r"search\(\): rows is 'frame', but this Index was not returned by index\(\) for a frame"):
                other.search([1, 0], rows="frame")


def test_a_real_bar(capsys):
    index_of(range(5000), numpy.ones((5000, 1)), progress=True)
    captured = capsys.readouterr()
    assert "100%" in captured.err and re.search(r"5000/5000|5.00k/5.00k", captured.err), captured


def test_python_runs_on_during_a_search():
    """sqlite3 releases the lock of the interpreter, so another thread gets on while an index is searched."""
    vectors = numpy.random.default_rng(1).normal(size=(60_000, 64)).astype("f4")
    docs = index_of(range(len(vectors)), vectors)
    query = sqlite_glove.serialize_float32(vectors[7])
    steps, done = [], threading.Event()

    def count():
        while not done.is_set():
            steps.append(time.perf_counter())
            time.sleep(0.0002)
    thread = threading.Thread(target=count)
    thread.start()
    searches = []
    for _ in range(10):
        before = time.perf_counter()
        docs.conn.execute("SELECT sum(rank) FROM doc_vec WHERE query = ? AND k = 60000", [query]).fetchall()  # one step of SQLite's
        searches.append((before, time.perf_counter()))
    done.set()
    thread.join()
    during = sum(any(before < step < after for before, after in searches) for step in steps)
    assert during >= 10, (during, len(steps))
