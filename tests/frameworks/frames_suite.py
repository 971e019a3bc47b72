"""Frames of polars and tables of Arrow as rows of an index, and answers as frames."""
import sqlite3
import threading
import time

import numpy
import polars
import pyarrow
import sqlite_glove


def index_of(*arguments, **options):
    conn = sqlite3.connect(":memory:", check_same_thread=False)
    sqlite_glove.load(conn)
    return sqlite_glove.index(conn, "doc", *arguments, **options)


def test_polars():
    frame = polars.DataFrame({"id": [3, 5, 8], "title": ["a", "b", None], "day": [1, 2, 3], "vector": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]})
    docs = index_of(frame["id"], frame["vector"].to_list(), frame.select("title", "day").to_dict(as_series=False))
    found = polars.DataFrame(docs.search(numpy.array([1, 0.1]), 2, where="day <> ?", params=[2], rows="dicts"))
    assert found.columns == ["id", "similarity", "title", "day"] and found["id"].to_list() == [3, 8]


def test_arrow():
    vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(numpy.eye(4, dtype="f4").ravel()), 4)
    table = pyarrow.table({"id": [1, 2, 3, 4], "title": ["a", "b", "c", "d"], "vector": vectors})
    flat = table["vector"].combine_chunks().flatten().to_numpy().reshape(table.num_rows, -1)
    docs = index_of(table["id"].to_pylist(), flat, table.select(["title"]).to_pydict())
    found = pyarrow.Table.from_pylist(docs.search([0, 0, 2, 1], 2, rows="dicts"))
    assert found.column_names == ["id", "similarity", "title"] and found["title"].to_pylist() == ["c", "d"]


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
