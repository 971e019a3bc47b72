"""Changes what a small index stores, one byte or value at a time, and uses the index: an error or an answer, never a crash.

    damage_test.py EXTENSION [--most N] [--seed S] [--lists N] [--sealed]

Every byte of every stored BLOB and text is inverted, every value is replaced by some that do not belong there, and every
row is left out; at most N of these, chosen at random (all by default). Each runs in a process of its own, because a process
keeps the segments that it has read. With --sealed it damages segments and lists only, and stores the checksums of what they
have then, as the author of a hostile file can: what reads and searches them meets the damage.
"""
import argparse
import os
import random
import signal
import sqlite3
import sys
import tempfile
import zlib

import fixture

DIMS, ROWS = 3, 12
IN_LISTS = 1 << 32
OTHER_VALUES = (None, 0, 1, -1, 1 << 62, -(1 << 63), 0.5, b"", b"\0" * 9, "", "text", b"\xff" * 4096)


def damages(connection):
    """[(description, SQL, parameters)] of everything that can be done to one row of what the index stores."""
    found = []
    for table in fixture.shadow_tables(connection):
        columns = [row[1] for row in connection.execute("SELECT * FROM pragma_table_info(?)", (table,))]
        keys = [row[1] for row in connection.execute("SELECT * FROM pragma_table_info(?) WHERE pk", (table,))] or ["rowid"]
        where = " AND ".join('"%s" IS ?' % key for key in keys)
        for row in connection.execute("SELECT %s, %s FROM %s" % (", ".join(keys), ", ".join(map('"{}"'.format, columns)), table)):
            key, values = row[:len(keys)], row[len(keys):]
            found.append(("%s without %s" % (table, key), "DELETE FROM %s WHERE %s" % (table, where), key))
            for column, value in zip(columns, values):
                update = 'UPDATE OR REPLACE %s SET "%s" = ? WHERE %s' % (table, column, where)
                place = "%s.%s of %s" % (table, column, key)
                if isinstance(value, (bytes, str)):
                    text, content = isinstance(value, str), value.encode() if isinstance(value, str) else value
                    for at, byte in enumerate(content):
                        for mask in (0xff, 1):
                            other = content[:at] + bytes([byte ^ mask]) + content[at + 1:]
                            found.append(("%s, byte %d ^ %d" % (place, at, mask), update if not text else update.replace(
                                "= ? WHERE", "= CAST(? AS TEXT) WHERE"), (other, *key)))
                    found += [("%s cut to %d bytes" % (place, n), update, (content[:n], *key)) for n in (1, len(content) // 2, len(content) - 1)]
                found += [("%s = %r" % (place, other if other != OTHER_VALUES[-1] else "4096 bytes"), update, (other, *key)) for other in OTHER_VALUES]
    return found


def seal(connection):
    """Gives each segment the checksum of its bytes, and of the lists that it may be in."""
    def content(segment):
        blocks = connection.execute("SELECT data FROM doc_vec_block WHERE segment = ? ORDER BY number", (segment,)).fetchall()
        return b"".join(data for data, in blocks if isinstance(data, bytes))
    for rowid, segment, crc in connection.execute("SELECT rowid, id, crc FROM doc_vec_segment").fetchall():
        if isinstance(crc, int):
            start = zlib.crc32(content(0)) if crc & IN_LISTS else 0
            connection.execute("UPDATE doc_vec_segment SET crc = ? WHERE rowid = ?", ((crc & IN_LISTS) + zlib.crc32(content(segment), start), rowid))


def use(image, options, sql, parameters):
    """Damages a copy of the database and uses the index in every way. Returns the number of errors."""
    source = random.Random(options.seed)
    connection = fixture.connect(":memory:", options.extension)
    connection.deserialize(image)
    try:
        connection.execute(sql, parameters)
    except sqlite3.Error:
        return 0  # the table itself does not take it
    if options.sealed:
        seal(connection)
    query, errors = fixture.vector(source, DIMS), 0
    for statement in ("SELECT * FROM doc_vec WHERE query = ? AND k = 3", "SELECT * FROM doc_vec WHERE query = ? AND k = 1", "SELECT id, similarity, rank FROM doc_vec WHERE query = ?",
                      "SELECT ? NOT NULL, * FROM glove_indexes", "INSERT INTO doc_vec(doc_vec) SELECT 'integrity-check' WHERE ? NOT NULL",
                      "SELECT ? NOT NULL, integrity_check FROM pragma_integrity_check", "INSERT INTO doc_vec(doc_vec) SELECT 'sync' WHERE ? NOT NULL",
                      "SELECT * FROM doc_vec WHERE query = ? AND id = 3", "INSERT INTO doc_vec(doc_vec) SELECT 'merge' WHERE ? NOT NULL",
                      "SELECT * FROM doc_vec WHERE query = ?", "INSERT INTO doc_vec(doc_vec) SELECT 'rebuild' WHERE ? NOT NULL"):
        try:
            connection.execute(statement, (query,)).fetchall()
        except sqlite3.Error:
            errors += 1
    if "_config" not in sql:
        fixture.expect_equal(connection, source, DIMS)  # "rebuild" repairs everything but the configuration
    connection.execute("DROP TABLE doc_vec")
    return errors


def in_child(image, options, damage):
    """Returns (errors, None), or (0, what went wrong)."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = "an exception"
        signal.alarm(120)
        try:
            status = str(use(image, options, damage[1], damage[2]))
        except BaseException as error:  # whatever it is, the parent reports it
            status = "%s: %s" % (type(error).__name__, error)
        os.write(write, status.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        status = pipe.read().decode()
    code = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(code) or not status:
        return 0, "the process ended with signal %d" % os.WTERMSIG(code) if os.WIFSIGNALED(code) else "no answer"
    return (int(status), None) if status.isdigit() else (0, status)


def make_image(options):
    """Returns (the bytes of a database, all that can be done to it), made in a process that this one does not share."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "damage.db")
        child = os.fork()
        if child == 0:
            fixture.create(path, options.extension, random.Random(options.seed), DIMS, ROWS if options.lists == "auto" else 4 * ROWS,
                           lists=options.lists)
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            sys.exit("the database could not be made")
        with open(path, "rb") as file:
            image = file.read()
        plain = sqlite3.connect(path)
        found = damages(plain)
        plain.close()
        if options.sealed:
            found = [damage for damage in found if damage[0].startswith(("doc_vec_block", "doc_vec_segment"))]
        return image, found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("extension", type=os.path.abspath)
    parser.add_argument("--most", type=int)
    parser.add_argument("--lists", default="auto", help="of the index")
    parser.add_argument("--sealed", action="store_true")
    parser.add_argument("--seed", default=os.environ.get("GLOVE_TEST_SEED") or str(random.randrange(1 << 31)))
    options = parser.parse_args()
    fixture.skip_without_index(options.extension)
    image, found = make_image(options)
    every = len(found)
    if options.most and options.most < every:
        found = random.Random(options.seed).sample(found, options.most)
    wrong = refused = 0
    for damage in found:
        errors, why = in_child(image, options, damage)
        refused += errors > 0
        if why:
            wrong += 1
            if wrong <= 10:
                print("%s: %s" % (damage[0], why), flush=True)
    print("seed %s: %d of %d damages, %d found by the index, %d wrong" % (options.seed, len(found), every, refused, wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
