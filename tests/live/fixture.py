"""A small table with an index, for the tests that kill, starve and damage it: doc(id, vec) and doc_vec."""
import array
import sqlite3
import sys

import served
import sessions

SKIPPED = 77
QUERIES = 4


class Wrong(Exception):
    """The database or the index is not as it must be."""


def skip_without_index(extension):
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        print("skipped: this Python's sqlite3 module cannot load extensions")
        sys.exit(SKIPPED)
    connection = sessions.open_sqlite3(":memory:", "extension", extension)
    if not connection.execute("SELECT 1 FROM pragma_module_list WHERE name = 'glove_index'").fetchall():
        print("skipped: the extension has no glove_index")
        sys.exit(SKIPPED)


def connect(path, extension, kind="extension"):
    connection = served.Connection(path, extension) if served.command() else sessions.open_sqlite3(path, kind, extension)
    connection.execute("PRAGMA synchronous = OFF")
    return connection


def vector(source, dims):
    return array.array("f", [source.gauss(0, 1) for _ in range(dims)]).tobytes()


def write(connection, source, dims, count, ids):
    """Inserts, changes and deletes rows among the ids."""
    for _ in range(count):
        key = source.randrange(ids)
        if source.random() < 0.2:
            connection.execute("DELETE FROM doc WHERE id = ?", (key,))
        else:
            connection.execute("INSERT OR REPLACE INTO doc VALUES (?, ?)", (key, vector(source, dims)))


def create(path, extension, source, dims, rows, journal="delete", lists="auto"):
    """Returns a connection to a new database with some rows in a segment, some of them dead, and some in the log."""
    connection = connect(path, extension)
    connection.execute("PRAGMA page_size = 512")
    connection.execute("PRAGMA journal_mode = %s" % journal)
    connection.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, vec BLOB)")
    connection.execute("CREATE TABLE progress(done INTEGER)")
    connection.execute("INSERT INTO progress VALUES (0)")
    connection.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec'%s)" % (
        "" if lists == "auto" else ", lists=%s" % lists))
    for part in range(3):
        connection.execute("BEGIN")
        write(connection, source, dims, rows // 2, rows)
        connection.execute("COMMIT")
        if part < 2:
            command(connection, "sync")
    return connection


def command(connection, what):
    connection.execute("INSERT INTO doc_vec(doc_vec) VALUES (?)", (what,))


def expect_equal(connection, source, dims):
    """Compares the index with a full scan; both rank the whole table."""
    for _ in range(QUERIES):
        query = vector(source, dims)
        expected = connection.execute("SELECT id, s, row_number() OVER (ORDER BY s DESC, id) FROM (SELECT id, cos_sim(vec, ?) AS s FROM doc) "
                                      "WHERE s NOT NULL ORDER BY s DESC, id", (query,)).fetchall()
        actual = connection.execute("SELECT id, similarity, rank FROM doc_vec WHERE query = ? ORDER BY rank", (query,)).fetchall()
        if actual != expected:
            raise Wrong("%d rows and not %d, or other ones: %s" % (len(actual), len(expected), sorted(set(actual) ^ set(expected))[:6]))
        nearest = connection.execute("SELECT id, similarity, rank FROM doc_vec WHERE query = ? AND k = 2 ORDER BY rank", (query,)).fetchall()
        if nearest != expected[:2]:
            raise Wrong("the nearest rows are %s and not %s" % (nearest, expected[:2]))


def expect_sound(connection, source, dims):
    """The database and the index pass their checks, and the index equals a full scan."""
    answer = connection.execute("PRAGMA integrity_check").fetchall()
    if answer != [("ok",)]:
        raise Wrong("PRAGMA integrity_check: %s" % answer[:5])
    command(connection, "integrity-check")
    expect_equal(connection, source, dims)


def shadow_tables(connection):
    return [name for name, in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'doc_vec_*' ORDER BY name")]


def shadow_rows(connection):
    """Everything that the index stores."""
    return {name: connection.execute("SELECT * FROM %s ORDER BY 1, 2" % name if name != "doc_vec_log" else
                                     "SELECT * FROM doc_vec_log ORDER BY 1").fetchall() for name in shadow_tables(connection)}
