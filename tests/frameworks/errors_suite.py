"""The errors of docs/frameworks.md, each by a program that makes it; and what the row says to do instead works."""
import os
import re
import sqlite3
import threading

import apsw
import numpy
import pytest
import sqlalchemy
import sqlite_glove

with open(os.path.join(os.environ["GLOVE_PROJECT"], "docs/frameworks.md"), encoding="utf-8") as document:
    SECTION = document.read().partition("## Errors, by message")[2].partition("\n## ")[0]
ROWS = [message for row in re.findall(r"^- (`.*?`): ", SECTION, re.MULTILINE) for message in re.findall("`(.*?)`", row)]
FOUND = [(1, 1.0, "en")]


@pytest.fixture()
def path(tmp_path):
    path = str(tmp_path / "docs.db")
    with sqlite3.connect(path) as conn:
        sqlite_glove.load(conn)
        sqlite_glove.index(conn, "doc", [1, 2], [[1.0, 0.0], [0.0, 1.0]], {"lang": ["en", "fr"]})
    return path


def index_of(path, **options):
    conn = sqlite3.connect(path, **options)
    sqlite_glove.load(conn)
    return sqlite_glove.Index(conn, "doc")


def elsewhere(function):
    """Calls a function on another thread; returns what it returns or raises."""
    result = []

    def call():
        try:
            result.append(function())
        except Exception as error:  # pylint: disable=broad-except
            result.append(error)
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    if isinstance(result[0], Exception):
        raise result[0]
    return result[0]


def closed(path):
    index = index_of(path)
    index.conn.close()
    index.search([1, 0], 1)


def other_thread(path):
    index = index_of(path)
    assert elsewhere(lambda: index_of(path, check_same_thread=False).search([1, 0], 1)) == FOUND
    elsewhere(lambda: index.search([1, 0], 1))


def pooled(path):
    engine = sqlalchemy.create_engine("sqlite:///" + path)
    sql = sqlalchemy.text("SELECT id FROM doc_vec WHERE query = '[1, 0]' AND k = 1")
    try:
        with engine.connect() as conn:
            conn.execute(sql)
    finally:
        engine.dispose()
        sqlalchemy.event.listen(engine, "connect", lambda conn, _: sqlite_glove.load(conn))
        with engine.connect() as conn:
            assert conn.execute(sql).fetchall() == [(1,)]


def no_words(path):
    sqlite3.connect(path).execute("SELECT * FROM glove_nn WHERE word = 'king'")


def no_function(path):
    sqlite3.connect(path).execute("SELECT glove_load('glove.safetensors')")


def percent(path):
    index = index_of(path)
    assert index.search([0, 1], 1, where="lang = ?", params=["en"]) == [(1, 0.0, "en")]
    index.search([0, 1], 1, where="lang = %s", params=["en"])


def names_for_places(path):
    index = index_of(path)
    assert index.search([0, 1], 1, where="lang = :lang", params={"lang": "en"}) == [(1, 0.0, "en")]
    index.search([0, 1], 1, where="lang = ?", params={"lang": "en"})


def bound_list(path):
    conn = index_of(path).conn
    sql = "SELECT id FROM doc_vec WHERE query = ? AND k = 1"
    for vector in ([1.0, 0.0], numpy.array([1.0, 0.0])):
        assert conn.execute(sql, [sqlite_glove.serialize_float32(vector)]).fetchall() == [(1,)]
    conn.execute(sql, [[1.0, 0.0]])


def not_allowed(path):
    sqlite3.connect(path).execute("SELECT load_extension(?)", [sqlite_glove.loadable_path()])


def locked(path):
    writer = index_of(path)
    writer.conn.execute("BEGIN IMMEDIATE")
    index_of(path, timeout=0).delete(1)


def other_dimensions(path):
    index_of(path).search([1.0, 0.0, 0.0], 1)


MAKE = {"Cannot operate on a closed database": closed, "SQLite objects created in a thread": other_thread, "no such module: glove_index": pooled,
        "no such table: glove_nn": no_words, "no such function: glove_load": no_function, 'near "%": syntax error': percent,
        "Binding 1 has no name": names_for_places, "type 'list' is not supported": bound_list, "not authorized": not_allowed,
        "database is locked": locked,
        "the query is a BLOB of 12 bytes": other_dimensions}


def test_every_row_has_a_program():
    assert sorted(ROWS) == sorted(MAKE)


@pytest.mark.parametrize("message", MAKE)
def test_message(path, message):
    with pytest.raises(Exception, match=re.escape(message)):
        MAKE[message](path)


def test_two_libraries(path):
    """apsw has a SQLite of its own, and its connections get a copy of the extension."""
    index = index_of(path)
    assert apsw.sqlitelibversion() != sqlite3.sqlite_version, "both are one library"
    for _ in range(2):
        conn = apsw.Connection(":memory:")
        sqlite_glove.load(conn)
        other = sqlite_glove.index(conn, "doc", [5, 6], [[1.0, 0.0], [0.0, 1.0]], {"lang": ["de", "nl"]})
        assert other.search([1, 0], 1) == [(5, 1.0, "de")] and index.search([1, 0], 1) == FOUND
