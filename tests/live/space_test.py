"""How much room an index takes: the number of its segments, its size, and what deleting gives back.

    space_test.py EXTENSION [--syncs N] [--seed S]
"""
import argparse
import os
import random
import sys
import tempfile

import fixture

DIMS, ROWS_PER_SYNC, MOST_SEGMENTS = 32, 100, 20


def bytes_of(connection):
    return connection.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()[0]


def open_database(folder, name, options, index=True):
    connection = fixture.connect(os.path.join(folder, name), options.extension)
    connection.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, vec BLOB)")
    if index:
        connection.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec')")
    return connection


def fill(connection, source, options):
    """Syncs many times. Returns the most segments that there ever were."""
    most = 0
    for number in range(options.syncs):
        connection.execute("BEGIN")
        for row in range(ROWS_PER_SYNC):
            connection.execute("INSERT INTO doc VALUES (?, ?)", (number * ROWS_PER_SYNC + row, fixture.vector(source, DIMS)))
        fixture.command(connection, "sync")
        connection.execute("COMMIT")
        most = max(most, connection.execute("SELECT count(*) FROM doc_vec_segment").fetchone()[0])
    return most


def copy_of(connection, folder, options):
    """A fresh table with the same rows, indexed by one sync."""
    fresh = open_database(folder, "fresh%d.db" % len(os.listdir(folder)), options)
    fresh.execute("BEGIN")
    fresh.executemany("INSERT INTO doc VALUES (?, ?)", connection.execute("SELECT id, vec FROM doc ORDER BY id"))
    fixture.command(fresh, "sync")
    fresh.execute("COMMIT")
    fresh.execute("VACUUM")
    return bytes_of(fresh)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("extension", type=os.path.abspath)
    parser.add_argument("--syncs", type=int, default=1000)
    parser.add_argument("--seed", default=os.environ.get("GLOVE_TEST_SEED") or str(random.randrange(1 << 31)))
    options = parser.parse_args()
    fixture.skip_without_index(options.extension)
    source, wrong = random.Random(options.seed), []

    def expect(true, text):
        print(text)
        if not true:
            wrong.append(text)

    with tempfile.TemporaryDirectory(prefix="glove-space-") as folder:
        connection = open_database(folder, "many.db", options)
        most = fill(connection, source, options)
        expect(most <= MOST_SEGMENTS, "%d syncs of %d rows: at most %d segments at a time" % (options.syncs, ROWS_PER_SYNC, most))
        fixture.expect_sound(connection, source, DIMS)
        grown, fresh = bytes_of(connection), copy_of(connection, folder, options)
        expect(grown <= 2.5 * fresh, "the file that grew by syncs has %d bytes, a fresh one %d" % (grown, fresh))
        connection.execute("DELETE FROM doc WHERE id % 2")
        fixture.command(connection, "sync")
        fixture.command(connection, "merge")
        connection.execute("VACUUM")
        half, fresh = bytes_of(connection), copy_of(connection, folder, options)
        expect(half <= 1.1 * fresh, "after deleting half, merging and VACUUM %d bytes, a fresh one %d" % (half, fresh))
        fixture.expect_sound(connection, source, DIMS)
        connection.execute("DELETE FROM doc")
        fixture.command(connection, "sync")
        fixture.command(connection, "merge")
        connection.execute("VACUUM")
        expect(bytes_of(connection) <= 32 * connection.execute("PRAGMA page_size").fetchone()[0],
               "with all rows deleted %d bytes" % bytes_of(connection))
        connection.execute("DROP TABLE doc_vec")
        left = connection.execute("SELECT name FROM sqlite_schema WHERE name <> 'doc'").fetchall()
        expect(not left, "DROP TABLE leaves %s" % left)
    print("seed %s: %d wrong" % (options.seed, len(wrong)))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
