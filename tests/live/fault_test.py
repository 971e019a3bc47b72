"""Commands that cannot end well: full disk, failing writes, read-only, locked, interrupted, a row that is no vector.

    fault_test.py EXTENSION [--seed S]

Each must end in an error and leave what the index stores as it was (or not there, where SQLite rolled the transaction
back), and the same command must work once the cause is gone. Each runs alone and inside a transaction, with a WAL and with
a rollback journal.
"""
import argparse
import os
import random
import resource
import signal
import sqlite3
import sys
import tempfile

import fixture
from fixture import Wrong

DIMS, ROWS = 16, 60
COMMANDS = ("sync", "merge", "rebuild")


class Case:
    """A database in which a command is made to fail."""

    def __init__(self, options, folder, journal, inside):
        self.source, self.inside, self.extension = random.Random(options.seed), inside, options.extension
        self.path = os.path.join(folder, "%s-%d-%d.db" % (journal, inside, len(os.listdir(folder))))
        self.connection = self.writer = fixture.create(self.path, options.extension, self.source, DIMS, ROWS, journal)

    def attempt(self, what, prepare, restore):
        """Executes a command between prepare() and restore(). Returns the error, or None if it succeeded."""
        if self.inside:
            self.connection.execute("BEGIN")
            fixture.write(self.connection, self.source, DIMS, 5, ROWS)
        before = fixture.shadow_rows(self.connection)
        error = None
        prepare()
        try:
            fixture.command(self.connection, what)
        except sqlite3.Error as failure:
            error = str(failure)
        finally:
            restore()
        if error and (not self.inside or self.connection.in_transaction):
            after = fixture.shadow_rows(self.connection)
            # SQLite calls the progress handler once more when a statement has ended: the error then follows a success.
            done = error == "interrupted" and not after["doc_vec_log"]
            if after != before and not done:
                raise Wrong("%s failed (%s) and left something behind" % (what, error))
        fixture.expect_equal(self.connection, self.source, DIMS)
        if self.connection.in_transaction:
            self.connection.execute("COMMIT" if self.source.random() < 0.5 else "ROLLBACK")
        fixture.expect_sound(self.writer, self.source, DIMS)
        return error


def until_it_succeeds(case, what, limits, prepare, restore):
    """Attempts a command with more and more of something, of which the first amount is too little. Returns the number of failures."""
    failures = 0
    for limit in limits:
        if case.attempt(what, lambda limit=limit: prepare(limit), restore) is None:
            if failures == 0:
                raise Wrong("%s succeeded at the first limit, so nothing was tested" % what)
            return failures
        failures += 1
    raise Wrong("%s never succeeded" % what)


def fresh_changes(case):
    case.connection.execute("BEGIN")
    fixture.write(case.connection, case.source, DIMS, ROWS // 2, ROWS)
    case.connection.execute("COMMIT")


def test_full(case, what):
    """No page more than a limit (SQLITE_FULL)."""
    connection = case.connection
    # The segments of these new rows need more pages than the command frees, the log included.
    connection.execute("BEGIN")
    for key in range(ROWS, 6 * ROWS):
        connection.execute("INSERT OR REPLACE INTO doc VALUES (?, ?)", (key, fixture.vector(case.source, DIMS)))
    connection.execute("COMMIT")
    connection.execute("VACUUM")  # or the command finds free pages
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    return until_it_succeeds(case, what, range(pages, pages + 400), lambda limit: connection.execute("PRAGMA max_page_count = %d" % limit),
                             lambda: connection.execute("PRAGMA max_page_count = 1000000"))


def test_writes(case, what):
    """Writes beyond a size fail, of the database or of its journal (SQLITE_IOERR or SQLITE_FULL)."""
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    case.connection.execute("PRAGMA cache_size = 1")  # or SQLite writes to a WAL only at the end of a transaction
    fresh_changes(case)
    limits = [512 * i for i in range(0, 40, 3)] + [4096 * i for i in range(5, 400)]
    return until_it_succeeds(case, what, limits, lambda limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited[1])),
                             lambda: resource.setrlimit(resource.RLIMIT_FSIZE, unlimited))


def test_interrupt(case, what):
    """An interrupt at the n-th of SQLite's progress calls, for every n."""
    calls = [0]

    def interrupt_at(limit):
        calls[0] = limit

        def progress():
            calls[0] -= 1
            return calls[0] <= 0
        case.connection.set_progress_handler(progress, 20)
    fresh_changes(case)
    limits = [*range(1, 40), *range(40, 2000, 23), *range(2000, 40000, 500)]
    return until_it_succeeds(case, what, limits, interrupt_at, lambda: case.connection.set_progress_handler(None, 0))


def test_locked(case, what):
    """Another connection holds the lock for writing."""
    if case.inside:
        return 0
    fresh_changes(case)
    other = sqlite3.connect(case.path, isolation_level=None)
    error = case.attempt(what, lambda: other.execute("BEGIN IMMEDIATE"), lambda: other.execute("ROLLBACK"))
    if error is None or "locked" not in error:
        raise Wrong("%s of a locked database: %s" % (what, error))
    other.close()
    return 1


def test_read_only(case, what):
    """A connection that may not write answers queries, the logged rows included, and refuses commands."""
    if case.inside:
        return 0
    fresh_changes(case)
    reader = sqlite3.connect("file:%s?mode=ro" % case.path, uri=True, isolation_level=None)
    reader.enable_load_extension(True)
    reader.load_extension(case.extension)
    case.connection = reader
    try:
        error = case.attempt(what, lambda: None, lambda: None)
    finally:
        case.connection = case.writer
        reader.close()
    if error is None or "readonly" not in error:
        raise Wrong("%s of a read-only database: %s" % (what, error))
    error = case.attempt(what, lambda: case.writer.execute("PRAGMA query_only = ON"), lambda: case.writer.execute("PRAGMA query_only = OFF"))
    if error is None:
        raise Wrong("%s while query_only is on" % what)
    return 2


def test_bad_row(case, what):
    """A row whose vector has the wrong length, a NaN or an infinite component: the error names the row."""
    if what == "merge":
        return 0
    for number, bad in enumerate((b"\0" * 5, b"", b"\0\0\xc0\x7f" * DIMS, b"\0\0\x80\x7f" * DIMS, "[1, 2", "word")):
        fresh_changes(case)
        key = 100000 + number
        case.connection.execute("INSERT INTO doc VALUES (?, ?)", (key, bad))
        before = fixture.shadow_rows(case.connection)
        if case.inside:
            case.connection.execute("BEGIN")
        try:
            fixture.command(case.connection, what)
            raise Wrong("%s accepts the vector %r" % (what, bad))
        except sqlite3.Error as error:
            if str(key) not in str(error):
                raise Wrong("the error does not name row %d: %s" % (key, error)) from error
        if fixture.shadow_rows(case.connection) != before:
            raise Wrong("%s failed because of a row and left something behind" % what)
        case.connection.execute("DELETE FROM doc WHERE id = ?", (key,))
        if case.inside:
            case.connection.execute("COMMIT")
        fixture.expect_sound(case.connection, case.source, DIMS)
        fixture.command(case.connection, what)
    return number + 1


TESTS = (test_full, test_writes, test_interrupt, test_locked, test_read_only, test_bad_row)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("extension", type=os.path.abspath)
    parser.add_argument("--seed", default=os.environ.get("GLOVE_TEST_SEED") or str(random.randrange(1 << 31)))
    options = parser.parse_args()
    fixture.skip_without_index(options.extension)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    print("seed", options.seed)
    wrong = 0
    cases = [(j, i, w) for j in ("wal", "delete") for i in (False, True) for w in COMMANDS]
    for number, test in enumerate(TESTS):
        failures = 0
        for journal, inside, what in cases[number::5] if "GLOVE_TEST_SHORT" in os.environ else cases:
            with tempfile.TemporaryDirectory(prefix="glove-fault-") as folder:
                try:
                    failures += test(Case(options, folder, journal, inside), what)
                except (Wrong, sqlite3.Error) as error:
                    wrong += 1
                    print("%s, %s, %s, %s: %s" % (test.__name__, journal, "inside a transaction" if inside else "alone", what, error))
        print("%s: %d refusals" % (test.__name__, failures), flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
