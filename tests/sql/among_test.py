"""Compares random statements with `among` with a reference in plain Python, over an index and over a model.

    among_test.py EXTENSION [--statements N] [--seed S]

The index has rows in segments and in the log. Each statement has a set of admissible keys in some form, beside other conditions
on the inputs and the rows. Also tests bad values, and that a large one can be interrupted.
"""
import argparse
import array
import json
import math
import os
import random
import sqlite3
import struct
import sys
import threading

SKIPPED = 77
DIMS = 9
ROWS = 400


class Wrong(Exception):
    """An answer was not that of the reference."""


def dot(a, b):
    lanes = [0.0] * 8
    for j, (x, y) in enumerate(zip(a, b)):
        lanes[j % 8] += x * y
    return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))


def similarity(a, b):
    norms = dot(a, a) * dot(b, b)
    return max(-1.0, min(1.0, dot(a, b) / math.sqrt(norms))) if norms > 0 else None


def blob(vector):
    return array.array("f", vector).tobytes()


def blob_of_keys(keys):
    return struct.pack("<%dq" % len(keys), *keys)


class Case:
    """The content, the index and the model, and the reference of each."""

    def __init__(self, extension, source):
        self.source = source
        self.db = sqlite3.connect(":memory:")
        self.db.enable_load_extension(True)
        self.db.load_extension(extension)
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, vec BLOB, lang INTEGER)")
        self.db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec')")
        self.rows, self.langs = {}, {}
        for _ in range(ROWS):
            self.write()
        self.db.execute("SELECT glove_load_table('among_test', 'SELECT id, vec FROM doc WHERE vec NOT NULL ORDER BY vec')")
        words = self.db.execute("SELECT word FROM glove_words WHERE model = 'among_test' ORDER BY id").fetchall()
        self.model = {int(word): self.rows[int(word)] for word, in words}  # equal similarities rank in this order
        self.db.execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")

    def vector(self):
        if self.source.random() < 0.5:  # few different values, so that there are ties and zero vectors
            return [float(self.source.choice((-1, 0, 0, 0, 1))) for _ in range(DIMS)]
        return list(array.array("f", [self.source.gauss(0, 1) for _ in range(DIMS)]))

    def key(self):
        return self.source.randrange(-50, ROWS) * self.source.choice((1, 1, 1, 1 << 40))

    def write(self):
        """Inserts, changes or deletes a row."""
        key = self.key()
        if self.source.random() < 0.1:
            self.db.execute("DELETE FROM doc WHERE id = ?", (key,))
            self.rows.pop(key, None)
            return
        vector = None if self.source.random() < 0.05 else self.vector()
        self.langs[key] = self.source.randrange(4)
        self.rows[key] = vector
        self.db.execute("INSERT OR REPLACE INTO doc VALUES (?, ?, ?)", (key, vector and blob(vector), self.langs[key]))

    def change(self):
        for _ in range(self.source.randrange(6)):
            self.write()
        if self.source.random() < 0.2:
            self.db.execute("INSERT INTO doc_vec(doc_vec) VALUES (?)", (self.source.choice(("sync", "merge")),))

    def relation(self, of_model, query, excluded, admitted, k):
        """[(id, similarity, rank)], best first."""
        scored = ((similarity(query, vector), key) for key, vector in (self.model.items() if of_model else sorted(self.rows.items()))
                  if vector is not None and key != excluded and key in admitted)
        best = sorted((row for row in scored if row[0] is not None), key=lambda row: -row[0])[:k]  # a stable order
        return [(key, score, rank + 1) for rank, (score, key) in enumerate(best)]

    def admitted(self):
        """(SQL, parameters, set of keys)"""
        source = self.source
        form = source.choice(("blob", "blob", "json", "json", "subquery", "lang", "null", "empty", "all"))
        if form == "null":
            return source.choice(("NULL", "(SELECT glove_keys(id) FROM doc WHERE 0)")), [], set()
        if form == "empty":
            return source.choice(("x''", "'[]'", "' [ ] '")), [], set()
        if form == "lang":
            lang = source.randrange(5)
            return ("(SELECT glove_keys(id) FROM doc WHERE lang = ?)", [lang],
                    {key for key in self.rows if self.langs[key] == lang})
        if form == "all":
            keys = [*self.rows, *self.model]
        else:
            keys = [source.choice((source.choice([*self.rows]), self.key()))
                    for _ in range(source.choice((1, 2, 5, 20, 100, 800)))]
        source.shuffle(keys)
        if form == "json":
            return "?", [json.dumps(keys, indent=source.choice((None, 1)))], set(keys)
        if form == "subquery":
            return "(SELECT glove_keys(value) FROM json_each(?))", [json.dumps(keys)], set(keys)
        return "?", [blob_of_keys(sorted(set(keys)) if source.random() < 0.5 else keys)], set(keys)

    def filters(self):
        """[(SQL, parameters, predicate of (id, similarity, rank))]"""
        source = self.source
        filters = []
        # Of different columns, because SQLite puts the constant of neighbor = ? into neighbor IN (SELECT ...) and then finds no
        # integer there, whatever the table does: the column is declared as TEXT.
        for column in source.sample(range(3), source.choice((0, 0, 1, 2))):
            kind = 2 * column + source.randrange(2)
            rank, bound, key = source.randrange(1, 40), source.uniform(-1, 1), source.choice([*self.rows])
            keys = [source.choice([*self.rows]) for _ in range(source.randrange(30))]
            filters.append([("{id} = ?", [key], lambda row, key=key: row[0] == key),
                            ("{id} IN (SELECT value FROM json_each(?))", [json.dumps(keys)], lambda row, keys=keys: row[0] in keys),
                            ("rank <= ?", [rank], lambda row, rank=rank: row[2] <= rank),
                            ("rank > ?", [rank], lambda row, rank=rank: row[2] > rank),
                            ("similarity >= ?", [bound], lambda row, bound=bound: row[1] >= bound),
                            ("similarity < ?", [bound], lambda row, bound=bound: row[1] < bound)][kind])
        return filters

    def query(self, of_model):
        """(SQL, parameters, [(vector, excluded key)])"""
        source = self.source
        if of_model and source.random() < 0.3:
            key = source.choice([*self.model])
            return "word = ?", [key], [(self.model[key], key)]
        name = "expr" if of_model else "query"
        vectors = [self.vector() for _ in range(source.choice((1, 1, 1, 2, 5)))]
        if len(vectors) == 1:
            return "%s = ?" % name, [blob(vectors[0])], [(vectors[0], None)]
        different = {blob(vector): vector for vector in vectors}
        return ("%s IN (SELECT unhex_of.column1 FROM (VALUES %s) unhex_of)" % (name, ", ".join("(?)" for _ in vectors)),
                [blob(vector) for vector in vectors], [(vector, None) for vector in different.values()])

    def compare(self):
        """One random statement."""
        source = self.source
        of_model = source.random() < 0.5
        k = source.choice((None, 0, 1, 3, 10, 10, 50, 1000))
        query, values, vectors = self.query(of_model)
        among, among_values, admitted = self.admitted()
        filters = self.filters()
        conditions = [(query, values), ("among %s %s" % (source.choice(("=", "IS")), among), among_values)]
        conditions += [] if k is None else [("k = ?", [k])]
        conditions += [("model = ?", ["among_test"])] if of_model else []
        conditions += source.choice(([], [], [("recall = 1", [])], [("recall IS NULL", [])]))
        conditions += [(sql.replace("{id}", "neighbor" if of_model else "id"), parameters) for sql, parameters, _ in filters]
        source.shuffle(conditions)
        columns = ("neighbor" if of_model else "id") + ", similarity, rank"
        sql = "SELECT %s FROM %s WHERE %s" % (columns, "glove_nn" if of_model else "doc_vec", " AND ".join(c for c, _ in conditions))
        expected = [row for vector, excluded in vectors for row in self.relation(of_model, vector, excluded, admitted, k)
                    if all(passes(row) for _, _, passes in filters)]
        limit = source.choice((None, None, 3)) if len(vectors) == 1 else None
        order = "rank" if limit else source.choice(("rank", "similarity DESC", "1", None))
        sql += (" ORDER BY %s" % order if order else "") + (" LIMIT %d" % limit if limit else "")
        actual = self.db.execute(sql, [value for _, parameters in conditions for value in parameters]).fetchall()
        if order == "rank" and [row[2] for row in actual] != sorted(row[2] for row in actual):
            raise Wrong("not by rank: %s" % sql)
        if sorted(actual) != sorted(expected[:limit]):
            raise Wrong("%s\nhas %d rows and not %d, or other ones: %s" % (
                sql, len(actual), len(expected), sorted(set(actual) ^ set(expected))[:6]))
        return len(actual)

    def compare_join(self):
        """A set per row of a join, of an OR and of an outer join."""
        query, k = self.vector(), self.source.choice((1, 3, 20))
        by_lang = "(SELECT glove_keys(id) FROM doc WHERE lang = l.column1)"
        actual = self.db.execute("SELECT l.column1, v.id, v.rank FROM (VALUES (0), (1), (2), (3), (4)) l JOIN doc_vec v ON v.query = ? "
                                 "AND v.k = ? AND v.among = %s ORDER BY 1, 3" % by_lang, (blob(query), k)).fetchall()
        expected = [(lang, key, rank) for lang in range(5) for key, _, rank in
                    self.relation(False, query, None, {key for key in self.rows if self.langs[key] == lang}, k)]
        if actual != expected:
            raise Wrong("a join returned %s and not %s" % (actual, expected))
        a, b = blob_of_keys([*self.rows][:90]), blob_of_keys([*self.rows][60:])
        actual = self.db.execute("SELECT id, rank, length(among) FROM doc_vec WHERE query = ?1 AND k = ?2 AND among = ?3 OR "
                                 "query = ?1 AND k = ?2 AND among = ?4 OR query = ?1 AND k = ?2 AND among = ?3",
                                 (blob(query), k, a, b)).fetchall()
        expected = [(key, rank, len(keys)) for keys in (a, b) for key, _, rank in self.relation(
            False, query, None, {key for key, in struct.iter_unpack("<q", keys)}, k)]
        if sorted(actual) != sorted(expected):
            raise Wrong("an OR returned %s and not %s" % (actual, expected))

    def compare_all(self):
        """A set of all keys changes nothing."""
        query = blob(self.vector())
        for table, name, key in (("doc_vec", "query", "id"), ("glove_nn", "expr", "neighbor")):
            keys = blob_of_keys([*self.rows, *self.model])
            statement = "SELECT %s, similarity, rank FROM %s WHERE %s = ? " % (key, table, name)
            for k in ("AND k = 7", ""):
                if self.db.execute(statement + k, (query,)).fetchall() != \
                        self.db.execute(statement + k + " AND among = ?", (query, keys)).fetchall():
                    raise Wrong("a set of all keys changes the rows of %s %s" % (table, k))


def test_rows_read(db):
    """The column tells of no row outside the set, and of no scan where there was none."""
    data = random.Random(5)
    db.execute("CREATE TABLE many(id INTEGER PRIMARY KEY, vec BLOB)")
    db.execute("CREATE VIRTUAL TABLE many_vec USING glove_index(content='many', rowid='id', vector='vec')")
    for key in range(3000):
        db.execute("INSERT INTO many VALUES (?, ?)", (key, blob([data.gauss(0, 1) for _ in range(DIMS)])))
    db.execute("INSERT INTO many_vec(many_vec) VALUES ('sync')")
    db.execute("SELECT glove_load_table('among_many', 'SELECT id, vec FROM many')")
    keys = range(7, 3000, 11)
    some = (blob([1.0] * DIMS), blob_of_keys(keys))

    def check(sql, values, expected):
        found = {row[0] for row in db.execute(sql, values)}
        if found != {expected}:
            raise Wrong("%s: rows_read is %s and not %s" % (sql, found, expected))
    check("SELECT rows_read FROM many_vec WHERE query = ? AND k = 10", some[:1], 3000)
    for _ in range(9):  # so that a copy of the codes is made
        check("SELECT rows_read FROM many_vec WHERE query = ? AND k = 10 AND among = ?", some, len(keys))
    check("SELECT rows_read FROM many_vec WHERE query IN (?1, x'%s') AND k = 10 AND among = ?2" % blob([-1.0] * DIMS).hex(), some, len(keys))
    check("SELECT rows_read FROM many_vec WHERE query = ? AND among = ? LIMIT 5", some, len(keys))
    check("SELECT rows_read FROM many_vec WHERE query = ? AND id = 18", some[:1], 0)
    model = "SELECT rows_read FROM glove_nn WHERE model = 'among_many' AND expr = ? AND k = 10"
    check(model, some[:1], 3000)
    check(model, some[:1], 0)  # the answer was kept
    db.executemany("DELETE FROM many WHERE id = ?", ((key,) for key in range(3000) if key not in keys))
    db.execute("INSERT INTO many_vec(many_vec) VALUES ('merge')")
    check("SELECT rows_read FROM many_vec WHERE query = ? AND k = 10 AND among = ?", some, len(keys))


def test_unreadable_rows(db):
    """A row outside the set that cannot be read, in a segment or in the log, is in no error, and changes no row of the answer."""
    data, bad = random.Random(6), set()

    def decode(raw):
        if raw in bad:
            raise ValueError(raw)
        return raw
    db.create_function("decode", 1, decode, deterministic=True)
    db.execute("CREATE TABLE raw(id INTEGER PRIMARY KEY, raw BLOB, vec AS (decode(raw)))")
    db.execute("CREATE VIRTUAL TABLE raw_vec USING glove_index(content='raw', rowid='id', vector='vec')")
    for key in range(400):
        db.execute("INSERT INTO raw(id, raw) VALUES (?, ?)", (key, blob([data.gauss(0, 1) for _ in range(DIMS)])))
        if key == 299:
            db.execute("INSERT INTO raw_vec(raw_vec) VALUES ('sync')")
    query = blob([1.0] * DIMS)
    for unreadable in (350, 150):
        raw = db.execute("SELECT raw FROM raw WHERE id = ?", (unreadable,)).fetchone()[0]
        for keys in (range(0, 400, 100), range(0, 400, 7), range(400), range(300, 400), (unreadable,)):
            for k in ("AND k = 3", "AND k = 200", ""):
                bad.clear()
                sql = "SELECT id, rank, similarity FROM raw_vec WHERE query = ? AND among = ? " + k
                others = (query, blob_of_keys([key for key in keys if key != unreadable]))
                expected = db.execute(sql, others).fetchall()
                bad.add(raw)
                db.execute("UPDATE raw SET raw = raw WHERE id = 399")  # so that the log is read again
                if db.execute(sql, others).fetchall() != expected:
                    raise Wrong("%s: a row that cannot be read changes the answer" % sql)
                if unreadable in keys and (unreadable == 350 or not k):
                    expect_error(db, sql, (query, blob_of_keys(keys)), "user-defined function raised exception")
        if unreadable == 350:
            expect_error(db, "SELECT * FROM raw_vec WHERE query = ? AND k = 3", (query,), "user-defined function raised exception")


def test_similar_sets(db):
    """Sets that differ in one key, or in how they are written, one after the other."""
    data = random.Random(8)
    db.execute("CREATE TABLE near(id INTEGER PRIMARY KEY, vec BLOB)")
    db.executemany("INSERT INTO near VALUES (?, ?)", ((key, blob([data.gauss(0, 1) for _ in range(DIMS)])) for key in range(-300, 1200)))
    db.execute("CREATE VIRTUAL TABLE near_vec USING glove_index(content='near', rowid='id', vector='vec')")

    def check(among, keys):
        rows = db.execute("SELECT id FROM near_vec WHERE query = ? AND k = 400 AND among = ?", (blob([1.0] * DIMS), among)).fetchall()
        if {key for key, in rows} != {key for key in keys if -300 <= key < 1200}:
            raise Wrong("the rows are not those of the set")
    for far in (set(), {1 << 62}):
        keys = sorted(set(data.sample(range(-300, 1200), 250)) | far)
        check(blob_of_keys(keys), keys)
        for _ in range(20):
            other = sorted(set(keys) - {data.choice(keys)} | {data.choice([key for key in range(-300, 1200) if key not in keys])})
            for one in (keys, other, [key + 1 for key in other], other[:-1]):
                check(blob_of_keys(one), one)
            check(json.dumps(other), other)
    odd = [0, 7, -1, 999999999999999999, -999999999999999999, 10 ** 18, 2 ** 63 - 1, -2 ** 63]
    for text in ("[0, 7, -1, 999999999999999999, -999999999999999999, 1000000000000000000, 9223372036854775807, -9223372036854775808]",
                 "[-0,7,-1]", "\n[ 0\t,\r\n7 , -1 ] ", "[7,0,-1,7,0]", "[0,7,-1]"):
        check(text, odd)
    for text in ("[]", " [ ] "):
        check(text, [])


# Values and what the message says of them.
BAD = [("5", "but is 5;"), ("0", "but is 0;"), ("-1", "but is -1;"), ("1.5", "but is 1.5;"), ("9e99", "but is 9.0e+99;"),
       ("''", 'the text ""'), ("'x'", 'the text "x"'), ("'1'", 'the text "1"'), ("'1, 2'", 'the text "1, 2"'), ("'null'", 'the text "null"'),
       ("'{}'", 'the text "{}"'), ("'{\"a\":[1]}'", "the text"), ("'[1'", "at byte 3, after 1 element"), ("'[1,]'", "after 1 element"),
       ("'[1 2]'", "after 1 element"), ("'[1] 2'", "after 1 element"), ("'[,1]'", "after 0 elements"), ("'[01]'", "at byte 3"),
       ("'[1, 2.5]'", "element 2 of among must be a 64-bit integer, but is 2.5"), ("'[1.0]'", "element 1 "), ("'[1e3]'", "element 1 "),
       ("'[1, 1e400, 2]'", "element 2 of among must be a 64-bit integer, but is too large for a double"),
       ("'[1, null]'", "element 2 of among must be a 64-bit integer, but is null"), ("'[true]'", "but is true"),
       ("'[\"1\"]'", 'but is "1"'), ("'[1, 2, [3]]'", "element 3 of among must be a 64-bit integer, but is an array"),
       ("'[{}]'", "but is an object"), ("'[9223372036854775808]'", "but is 9223372036854775808"), ("'[NaN]'", "after 0 elements"),
       ("'[1, x]'", "after 1 element"), ("x'01'", "a BLOB of 1 byte"), ("x'010000000000000002'", "so that key 2 is incomplete"),
       ("'[-9223372036854775809]'", "but is -9.223372036854776e+18")]


def expect_error(db, sql, parameters, message):
    try:
        rows = db.execute(sql, parameters).fetchall()
    except sqlite3.Error as error:
        if message not in str(error):
            raise Wrong("%s: the message lacks '%s': %s" % (sql, message, error)) from error
        return
    raise Wrong("%s is no error but has %d rows" % (sql, len(rows)))


def test_bad_values(db):
    query = blob([1.0] * DIMS)
    for table, column in (("doc_vec", "query"), ("glove_nn", "expr")):
        for value, message in BAD:
            expect_error(db, "SELECT * FROM %s WHERE %s = ? AND among = %s" % (table, column, value), (query,), message)
        for values in ("(SELECT id FROM doc)", "(1, 2)", "('[1]', '[2]')"):
            expect_error(db, "SELECT * FROM %s WHERE %s = ? AND among IN %s" % (table, column, values), (query,),
                         "write among = (SELECT glove_keys(id) FROM doc WHERE ...)")
        expect_error(db, "SELECT * FROM %s WHERE %s = ? AND recall = 0.49" % (table, column), (query,),
                     "recall must be a number from 0.5 to 1, or NULL for an exact answer; but it is 0.49")
    db.execute("SELECT glove_load_table('among_words', 'SELECT ''king'', ''[1, 2]''')")
    for among in ("NULL", "'[1]'"):
        expect_error(db, "SELECT * FROM glove_nn WHERE word = 'king' AND model = 'among_words' AND among = " + among, (),
                     "the keys of model 'among_words' are words")


def test_interrupt(db):
    """100 MB of JSON, and as many bytes of keys in falling order, are not read to the end, where there would be another error."""
    text = "[" + "1234567890123456789," * 5_000_000 + "1]"
    keys = array.array("q", range(12_500_000, 0, -1)).tobytes()
    done = threading.Event()

    def interrupt():
        while not done.wait(0.01):
            db.interrupt()
    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        for value in (text, keys):
            expect_error(db, "SELECT * FROM glove_nn WHERE word = 'king' AND model = 'among_words' AND among = ?", (value,), "interrupted")
    finally:
        done.set()
        thread.join()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("extension", type=os.path.abspath)
    parser.add_argument("--statements", type=int, default=1000)
    parser.add_argument("--seed", default=os.environ.get("GLOVE_TEST_SEED") or str(random.randrange(1 << 31)))
    options = parser.parse_args()
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        print("skipped: this Python's sqlite3 module cannot load extensions")
        sys.exit(SKIPPED)
    case = Case(options.extension, random.Random(options.seed))
    rows = 0
    try:
        for number in range(options.statements):
            if number % 20 == 0:
                case.change()
                case.compare_join()
                case.compare_all()
            rows += case.compare()
        test_rows_read(case.db)
        test_unreadable_rows(case.db)
        test_similar_sets(case.db)
        test_bad_values(case.db)
        test_interrupt(case.db)
    except (Wrong, sqlite3.Error) as error:
        print("seed %s: %s" % (options.seed, error))
        sys.exit(1)
    print("seed %s: %d statements, %d rows" % (options.seed, options.statements, rows))


if __name__ == "__main__":
    main()
