"""Connections to one database for the tests of live tables: in this process and in others, with the extension and without.

A session opens at its first statement and again after close(). Every error is a Failure with SQLite's message. Run as a
program, this file serves one session to the test that started it: JSON lines in, JSON lines out.
"""
import array
import json
import math
import sqlite3
import subprocess
import sys

# name: (kind, a process of its own). "attached" reads and writes the database as the schema `side` of another one.
SESSIONS = {
    "main": ("extension", False),
    "second": ("extension", False),
    "attached": ("attached", False),
    "other": ("extension", True),
    "plain": ("plain", True),
    "defensive": ("defensive", True),
}


class Failure(Exception):
    """An error that SQLite reported."""


def as_vector(value, dims):
    """Returns the float32 BLOB of a column's value, a BLOB or a JSON array, or None if it is not a usable vector."""
    if isinstance(value, str):
        try:
            value = array.array("f", json.loads(value)).tobytes()
        except (ValueError, TypeError, OverflowError):
            return None
    if not isinstance(value, bytes) or len(value) != 4 * dims:
        return None
    return value if all(map(math.isfinite, array.array("f", value))) else None


def encoding_of(path):
    connection = sqlite3.connect(path, timeout=0)
    try:
        return connection.execute("PRAGMA encoding").fetchone()[0]
    finally:
        connection.close()


def open_sqlite3(path, kind, extension):
    """Opens a connection of Python's sqlite3 module."""
    connection = sqlite3.connect(":memory:" if kind == "attached" else path, isolation_level=None, timeout=0,
                                 check_same_thread=False)
    if kind != "plain":
        connection.enable_load_extension(True)
        connection.load_extension(extension)
        connection.create_function("as_vector", 2, as_vector, deterministic=True)
    if kind == "attached":
        connection.execute("PRAGMA encoding = '%s'" % encoding_of(path))
        connection.execute("ATTACH '%s' AS side" % path)
    return connection


class DefensiveConnection:
    """A connection in defensive mode that does not trust the schema and has no extension."""

    def __init__(self, path):
        import apsw
        self.connection = apsw.Connection(path)
        self.connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        self.connection.cursor().execute("PRAGMA trusted_schema = OFF")
        self.error = apsw.Error

    def execute(self, sql):
        try:
            return list(self.connection.cursor().execute(sql))
        except self.error as error:
            raise sqlite3.OperationalError(str(error)) from error

    @property
    def in_transaction(self):
        return not self.connection.getautocommit()

    def close(self):
        self.connection.close()


def open_connection(path, kind, extension):
    connection = DefensiveConnection(path) if kind == "defensive" else open_sqlite3(path, kind, extension)
    for statement in ("PRAGMA synchronous = OFF", "PRAGMA foreign_keys = ON"):
        list(connection.execute(statement))
    return connection


class LocalSession:
    """A connection of this process."""

    def __init__(self, path, kind, extension):
        try:
            self.connection = open_connection(path, kind, extension)
        except sqlite3.Error as error:
            raise Failure(str(error)) from error

    def execute(self, sql):
        try:
            return [tuple(row) for row in self.connection.execute(sql)]
        except sqlite3.Error as error:
            raise Failure(str(error)) from error

    @property
    def in_transaction(self):
        return self.connection.in_transaction

    def close(self):
        self.connection.close()


class RemoteSession:
    """A connection in a process of its own, which ends with it."""

    def __init__(self, path, kind, extension):
        self.process = subprocess.Popen([sys.executable, __file__, path, kind, extension], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.in_transaction = False
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("the process of a session ended with %s" % self.process.wait())
        answer = json.loads(line)
        self.in_transaction = answer.get("in_transaction", False)
        if "error" in answer:
            raise Failure(answer["error"])
        return [tuple(bytes.fromhex(v["blob"]) if isinstance(v, dict) else v for v in row) for row in answer["rows"]]

    def execute(self, sql):
        self.process.stdin.write(json.dumps(sql) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Sessions:
    """The sessions of one database, by name."""

    def __init__(self, path, extension, start=(), before=None):
        """start: statements that every session with the extension executes first. before: one that it tries before each other."""
        self.path, self.extension, self.start, self.before = path, extension, start, before
        self.open = {}

    def execute(self, name, sql):
        """Executes a statement, in which {s} stands for the schema."""
        kind, remote = SESSIONS[name]
        if name not in self.open:
            self.open[name] = (RemoteSession if remote else LocalSession)(self.path, kind, self.extension)
            if kind in ("extension", "attached"):
                for statement in self.start:
                    self.open[name].execute(statement)
        if self.before and kind in ("extension", "attached"):
            try:
                self.open[name].execute(self.before)
            except Failure:
                pass  # another connection has locked the database
        return self.open[name].execute(sql.replace("{s}", "side." if kind == "attached" else ""))

    def in_transaction(self, name):
        return name in self.open and self.open[name].in_transaction

    def any_in_transaction(self):
        return any(session.in_transaction for session in self.open.values())

    def close(self, name):
        session = self.open.pop(name, None)
        if session is not None:
            session.close()

    def close_all(self):
        for name in list(self.open):
            self.close(name)


def serve(path, kind, extension):
    try:
        connection = open_connection(path, kind, extension)
    except sqlite3.Error as error:
        print(json.dumps({"error": str(error)}))
        return
    print('{"rows": []}', flush=True)
    for line in sys.stdin:
        try:
            rows = [[{"blob": v.hex()} if isinstance(v, bytes) else v for v in row] for row in connection.execute(json.loads(line))]
            answer = {"rows": rows}
        except sqlite3.Error as error:
            answer = {"error": str(error)}
        answer["in_transaction"] = connection.in_transaction
        print(json.dumps(answer), flush=True)
    connection.close()


if __name__ == "__main__":
    serve(*sys.argv[1:])
