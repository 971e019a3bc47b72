"""A connection to an SQLite in another process, perhaps of another system: tests/packages/server.c, which $GLOVE_SQL_SERVER names.

It has what these tests use of a connection of Python's sqlite3 module.
"""
import os
import shlex
import sqlite3
import struct
import subprocess


def command():
    """The program and what runs it, or an empty list if the tests use this Python's SQLite."""
    return shlex.split(os.environ.get("GLOVE_SQL_SERVER", ""))


def encoded(value):
    if value is None:
        return "n"
    if isinstance(value, int):
        return "i%d" % value
    if isinstance(value, float):
        return "d%r" % value
    return "t" + value.encode().hex() if isinstance(value, str) else "b" + bytes(value).hex()


def decoded(word):
    kind, text = word[0], word[1:]
    if kind == "n":
        return None
    if kind == "i":
        return int(text)
    data = bytes.fromhex(text)
    if kind == "d":
        return struct.unpack("<d", data)[0]
    return data.decode(errors="surrogateescape") if kind == "t" else data


class Rows(list):
    """The rows of a statement."""

    def fetchall(self):
        return list(self)

    def fetchone(self):
        return self[0] if self else None


class Connection:
    def __init__(self, path, extension, run=None, **environment):
        self.process = subprocess.Popen([*(run or command()), path, *([extension] if extension else [])], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})

    def execute(self, sql, parameters=()):
        request = " ".join([sql.encode().hex(), *map(encoded, parameters)])
        rows = Rows()
        try:
            self.process.stdin.write(request + "\n")
            self.process.stdin.flush()
            for line in self.process.stdout:
                words = line.split()
                if words[0] == "ok":
                    return rows
                if words[0][0] == "e":
                    raise sqlite3.OperationalError(bytes.fromhex(words[0][1:]).decode(errors="replace"))
                rows.append(tuple(map(decoded, words[1:])))
        except BrokenPipeError:
            pass
        raise EOFError("the SQL server ended with the status %s" % self.process.wait())

    def close(self):
        """Returns the status of the process, which ends when it has nothing more to read."""
        self.process.stdin.close()
        return self.process.wait(timeout=60)
