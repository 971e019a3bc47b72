"""What a program sets on its connection changes nothing in the verbs: test_row_traces.py --project FOLDER --extension GLOVE.SO HOST

HOST is sqlite3 or apsw. Random steps of every verb, before each of which the connection gets another row factory, text factory or row
trace, are compared with cosines over a dict. GLOVE_TEST_RUNS is the number of steps. Skipped if the host is not installed.
"""
import argparse
import array
import importlib
import math
import os
import random
import sqlite3
import sys
import tempfile

import installed

SKIPPED = 77
SEED = int(os.environ.get("GLOVE_TEST_SEED") or random.SystemRandom().randrange(2**32))
STEPS = int(os.environ.get("GLOVE_TEST_RUNS") or 400)
DIMS = 3


def fails(*_):
    raise AssertionError("a row of the package reached the program's trace")


def as_dict(cursor, row):
    description = cursor.description if hasattr(cursor, "description") else cursor.getdescription()
    return {column[0]: value for column, value in zip(description, row)}


def settings(host, conn):
    """Functions that set something on the connection."""
    if host == "sqlite3":
        def factories(rows, texts):
            conn.row_factory, conn.text_factory = rows, texts
        return [lambda rows=rows, texts=texts: factories(rows, texts)
                for rows in (None, sqlite3.Row, as_dict, lambda _, row: row[0], lambda *_: None, fails) for texts in (str, bytes, bytearray)]
    trace = getattr(conn, "set_row_trace", None) or conn.setrowtrace
    return [lambda row=row: trace(row) for row in (None, as_dict, lambda _, row: row[::-1], lambda _, row: row[0], lambda *_: None, fails)]


def cosine(a, b):
    norm = math.sqrt(math.fsum(x * x for x in a) * math.fsum(x * x for x in b))
    return math.fsum(x * y for x, y in zip(a, b)) / norm


class Model:
    """A table, its index, and the rows that must be found."""

    def __init__(self, conn, glove, source):
        self.conn, self.glove, self.source = conn, glove, source
        self.rows = {id: (self.vector(), self.kind()) for id in range(1, 200)}
        self.index = glove.index(conn, "doc", *self.columns(self.rows))

    def vector(self):
        return list(array.array("f", (self.source.gauss(0, 1) for _ in range(DIMS))))

    def kind(self):
        return self.source.choice(["a", "b", "rare"] if self.source.random() < 0.1 else ["a", "b"])

    @staticmethod
    def columns(rows):
        return list(rows), [vector for vector, _ in rows.values()], {"kind": [kind for _, kind in rows.values()]}

    def write(self, ids):
        new = {id: (self.vector(), self.kind()) for id in ids}
        self.rows.update(new)
        return self.columns(new)

    def add(self):
        first = max(self.rows) + 1
        self.index.add(*self.write(range(first, first + self.source.randrange(1, 9))))

    def upsert(self):
        self.index.upsert(*self.write(self.source.sample(range(1, max(self.rows) + 9), 5)))

    def delete(self):
        gone = self.source.sample(sorted(self.rows), 3)
        self.index.delete(gone)
        for id in gone:
            del self.rows[id]

    def refuse(self):
        vector = self.source.choice([[1.0] * (DIMS + 1), [1.0, 2.0], [math.nan] * DIMS, [1.0, math.inf, 1.0]])
        change = self.source.choice([self.index.add, self.index.upsert])
        try:
            change([max(self.rows) + 1, max(self.rows) + 2], [self.vector(), vector])
        except ValueError as error:
            assert "row 1 of vectors has" in str(error), error
        else:
            raise AssertionError(f"{vector} was accepted")

    def reopen(self):
        self.index = self.glove.Index(self.conn, "doc")
        assert self.index.columns == ["kind"], self.index.columns

    def sync(self):
        self.index.command(self.source.choice(["sync", "merge", "integrity-check"]))

    def search(self):
        query, k, kind = self.vector(), self.source.choice([0, 1, 5, 30]), self.kind()
        kinds = {id: a_kind for id, (_, a_kind) in self.rows.items()}
        options = self.source.choice([{}, {"where": "kind = ?", "params": [kind]}, {"where": "kind = :kind", "params": {"kind": kind}},
                                      {"among": [id for id in kinds if kinds[id] == kind]}])
        matching = [id for id in self.rows if not options or kinds[id] == kind]
        expected = sorted(matching, key=lambda id: -cosine(self.rows[id][0], query))[:k]
        form = self.source.choice(["tuples", "dicts"])
        found = self.index.search(query, k, rows=form, **options)
        if form == "dicts":
            assert all(list(row) == ["id", "similarity", "kind"] for row in found), found
            found = [tuple(row.values()) for row in found]
        assert [row[0] for row in found] == expected, (found, expected, options)
        for id, similarity, of_row in found:
            assert abs(similarity - cosine(self.rows[id][0], query)) < 1e-6
            assert (of_row if isinstance(of_row, str) else bytes(of_row).decode()) == kinds[id], found

    def neighbors(self):
        found = self.glove.neighbors(self.conn, ["x", "z"], 1, model="letters")
        texts = [text if isinstance(text, str) else bytes(text).decode() for row in found for text in (row.word, row.neighbor)]
        assert texts == ["x", "y", "z", "y"] and {row.rank for row in found} == {1}, found


def main():
    parser = argparse.ArgumentParser()
    for option in ("--project", "--extension", "--convert"):
        parser.add_argument(option)
    parser.add_argument("host")
    options = parser.parse_args()
    try:
        host = importlib.import_module(options.host)
    except ImportError:
        print(f"skipped: {options.host} is not installed")
        sys.exit(SKIPPED)
    conn = sqlite3.connect(":memory:", isolation_level=None) if options.host == "sqlite3" else host.Connection(":memory:")
    if options.host == "sqlite3" and not hasattr(conn, "enable_load_extension"):
        print("skipped: this Python's sqlite3 cannot load extensions")
        sys.exit(SKIPPED)
    print(f"repeat with GLOVE_TEST_SEED={SEED}")
    source = random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        installed.install(options.project, options.extension, folder)
        sys.path.insert(0, folder)
        glove = importlib.import_module("sqlite_glove")
        glove.load(conn)
        conn.cursor().execute("""SELECT glove_load_table('letters', 'SELECT ''x'', ''[1, 0]'' UNION ALL SELECT ''y'', ''[1, 1]''
                                 UNION ALL SELECT ''z'', ''[0, 1]''')""").fetchall()
        sets = settings(options.host, conn)
        source.choice(sets)()
        model = Model(conn, glove, source)
        steps = [model.add, model.upsert, model.delete, model.refuse, model.reopen, model.sync, model.neighbors] + 5 * [model.search]
        for number in range(STEPS):
            source.choice(sets)()
            step = source.choice(steps)
            try:
                step()
            except BaseException:
                print(f"step {number}, {step.__name__}")
                raise
        model.search()


if __name__ == "__main__":
    main()
