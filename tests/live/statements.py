"""Random statements over a table and its index, and the queries that compare them.

A step is a dictionary that JSON can hold, so that a failing sequence can be kept and shrunk:
    {"do": "run", "session": NAME, "sql": [STATEMENT...], "schema": BOOL, "rebuild": BOOL}
    {"do": "check", "session": NAME, "index": SQL, "expected": SQL}
    {"do": "close", "session": NAME}
    {"do": "copy", "session": NAME, "check": STEP}, with which the copy is checked
    {"do": "replicate", "session": NAME, "recorded": [STATEMENT...], "policy": NUMBER, "before": [STATEMENT...], "after": [STATEMENT...],
     "check": STEP}: makes a replica, which executes what stands before, applies what was recorded and executes what stands after
In every statement {s} stands for the schema of the session.
"""
import array
import json

WITH_EXTENSION = ("main", "second", "attached", "other")
WRITERS = ("main", "main", "main", "second", "attached", "other", "plain", "defensive")
LAST = (1 << 63) - 1
COMMANDS = ("sync", "sync", "sync", "merge", "rebuild", "integrity-check")
WORDS = ("king", "queen", "man", "woman", "piano", "violin", "river", "bank", "xyzzy")
# Content table, key, vector column, index.
NAMES = (("doc", "id", "vec", "doc_vec"), ("my docs", "the id", "a \"vector\"", "my index"), ("select", "group", "order", "from"),
         ("doc", "Id", "VEC", "Doc_Vec"))


def quoted(name):
    return '"%s"' % name.replace('"', '""')


def text(value):
    return "'%s'" % value.replace("'", "''")


class Generator:
    """Makes the steps of one database from a source of random numbers. form: "blob", "json" or "text"."""
    attached = False  # whether the index lies in temp, where glove_attach makes it for each connection

    def __init__(self, source, form, commands=True):
        self.source, self.form, self.commands = source, form, commands
        self.content, self.key, self.vector, self.index = source.choice(NAMES)
        self.dims = source.choice((1, 3, 5, 8, 17))
        self.generated = commands and form != "text" and source.random() < 0.15  # the vector is computed from a column `raw`
        self.autoincrement = source.choice(("", "", "", " AUTOINCREMENT"))
        self.large = commands and source.random() < 0.25  # so many rows that searches read codes, and of the log, too
        self.in_transaction = set()
        self.asked = []

    # --- names and values ---

    def table(self):
        return "{s}" + quoted(self.content)

    def create_content(self):
        body = "body TEXT" if self.form == "text" else quoted(self.vector)
        if self.generated:
            body = "raw, %s AS (raw) %s" % (body, self.source.choice(("VIRTUAL", "STORED")))
        return ("CREATE TABLE %s(%s INTEGER PRIMARY KEY%s, owner INTEGER REFERENCES owner(id) ON DELETE CASCADE ON UPDATE CASCADE, "
                "code INTEGER UNIQUE, lang TEXT, %s)" % (quoted(self.content), quoted(self.key), self.autoincrement, body))

    def create_index(self):
        what = "text='body', model='glove'" if self.form == "text" else "vector=%s" % text(self.vector)
        what += self.source.choice(("", ", lists=1", ", lists=2", ", lists=5", ", lists=none"))
        return "CREATE VIRTUAL TABLE %s%s USING glove_index(content=%s, rowid=%s, %s)" % (
            "temp." if self.attached else "", quoted(self.index), text("main." * self.attached + self.content), text(self.key), what)

    def index_table(self):
        return ("" if self.attached else "{s}") + quoted(self.index)

    def vector_column(self):
        return quoted("body" if self.form == "text" else self.vector)

    def written_column(self):
        return "raw" if self.generated else self.vector_column()

    def components(self):
        scale = self.source.choice((1, 1, 1, 0.5, 1e30, 1e-30))
        return [scale * self.source.choice((-2, -1, 0, 0, 1, 1, 2)) for _ in range(self.dims)]

    def value(self, usable=True):
        """A value of the vector's column, as SQL."""
        if self.source.random() < 0.06:
            return "NULL"
        if self.form == "text":
            return text(" ".join(self.source.choice(WORDS) for _ in range(self.source.randrange(5))))
        if not usable:
            return self.source.choice(("X'00'", "X''", "'[1,'", "'no vector'", "X'%s'" % ("0000c07f" * self.dims), "17"))
        return text(json.dumps(self.components())) if self.form == "json" else self.blob()

    def blob(self):
        return "X'%s'" % array.array("f", self.components()).tobytes().hex()

    def query(self):
        """Often one that was asked before, whose ranks may be kept."""
        if not self.asked or self.source.random() < 0.6:
            self.asked.append(self.new_query())
        return self.source.choice(self.asked[-3:])

    def new_query(self):
        return text(" ".join(self.source.choices(WORDS, k=self.source.randrange(4)))) if self.form == "text" else self.blob()

    def id(self):
        if self.large and self.source.random() < 0.6:
            return self.source.randrange(100, 1900)
        return self.source.choice((self.source.randrange(1, 12), self.source.randrange(1, 60), self.source.randrange(-3, 3),
                                   self.source.choice((LAST, -LAST - 1, 1 << 40, 1 << 53))))

    def key_or_null(self):
        return "NULL" if self.source.random() < 0.2 else str(self.id())

    def owner(self):
        return self.source.choice(("NULL", str(self.source.randrange(1, 6))))

    def row(self):
        return "%s, %s, %s, '%s', %s" % (self.key_or_null(), self.owner(), self.source.choice(("NULL", self.source.randrange(12))),
                                          self.source.choice("ab"), self.value())

    # --- set-up ---

    def set_up(self, journal):
        source = self.source
        statements = ["PRAGMA page_size = %d" % source.choice((512, 1024, 4096, 65536)),
                      "PRAGMA auto_vacuum = %d" % source.randrange(3), "PRAGMA encoding = '%s'" % source.choice(("UTF-8", "UTF-16le")),
                      "PRAGMA journal_mode = %s" % journal, "CREATE TABLE owner(id INTEGER PRIMARY KEY, name TEXT)",
                      "INSERT INTO owner(id) VALUES (1), (2), (3), (4), (5)", self.create_content()]
        rows = ["INSERT INTO %s VALUES (%d, NULL, NULL, 'a', %s)" % (self.table(), i, self.value())
                for i in range(1, source.choice((1, 5, 40)))]
        statements += rows if source.random() < 0.5 else []
        statements += [self.write_many()] if self.large else []
        if self.commands:
            triggers = self.triggers()
            at = source.randrange(len(triggers) + 1)  # SQLite runs the newer triggers of a table first
            statements += [*triggers[:at], self.create_index(), *triggers[at:]]
        # A trigger of the application that writes into the content.
        statements.append("CREATE TRIGGER named AFTER UPDATE OF name ON owner BEGIN "
                          "INSERT OR REPLACE INTO %s VALUES (new.id, new.id, NULL, 'b', %s); END" % (quoted(self.content), self.value()))
        return [{"do": "run", "session": "main", "sql": [s], "set_up": True} for s in statements]

    def triggers(self):
        """Triggers of an application that end the statement, skip the rest of it, or run commands, for some rows each."""
        source, made = self.source, []
        fails = source.random() < 0.5
        for number in range(source.randrange(4)):
            event = source.choice(("INSERT", "UPDATE", "DELETE"))
            row = "old" if event == "DELETE" else "new"
            time, body = source.choice(("BEFORE", "AFTER", "AFTER")), source.choice((
                "SELECT RAISE(FAIL, 'constraint failed')", "SELECT RAISE(IGNORE)", "INSERT OR FAIL INTO owner(id) VALUES (1), (2)",
                "INSERT INTO owner(id) VALUES (1), (2)", "UPDATE %s SET %s = NULL WHERE %s = %s.%s + 1" % (
                    quoted(self.content), self.written_column(), quoted(self.key), row, quoted(self.key))))
            if not fails and source.random() < 0.5 and not self.attached:  # a command before the change and a failure after it: see docs/live.md
                body = self.command(source.choice(("sync", "merge", "integrity-check"))).replace("{s}", "")
            elif not fails and ("FAIL" in body or "IGNORE" in body or "owner" in body):
                continue
            # Not for a new row whose key is -1 or chosen at random: see docs/live.md.
            made.append("CREATE TRIGGER app%d %s %s ON %s WHEN (%s.code + %s.%s) %% %d IS %d AND %s.%s BETWEEN -99999 AND 99999 AND %s.%s <> -1 "
                        "BEGIN %s; END" % (number, time, event, quoted(self.content), row, row, quoted(self.key), 30 if self.large else 3, source.randrange(3), row,
                                           quoted(self.key), row, quoted(self.key), body))
        return made

    # --- statements ---

    def many_values(self, number):
        """An expression for many values of the vector's column: that of a row is one of some hundred, by its `number`."""
        shift = self.source.randrange(100)
        if self.form == "text":
            return " || ' ' || ".join("CASE (%s + %d) / %d %% 3 WHEN 0 THEN %s WHEN 1 THEN %s ELSE %s END" % (
                number, shift, 3 ** i, *map(text, self.source.sample(WORDS, 3))) for i in range(5))
        return "'[' || %s || ']'" % " || ',' || ".join("((%s + %d) / %d %% 5 - 2)" % (number, shift, 5 ** i) for i in range(self.dims))

    def write_many(self):
        """Changes hundreds of rows. The codes of rows move to other keys: REPLACE deletes those that had them."""
        first, table, key = self.source.randrange(100, 600), self.table(), quoted(self.key)
        rows = "WITH RECURSIVE n(i) AS (VALUES (%d) UNION ALL SELECT i + 1 FROM n LIMIT %d) INSERT OR REPLACE INTO %s SELECT " % (
            first, self.source.randrange(300, 1200), table)
        return self.source.choice((
            rows + "i, NULL, i, 'a', %s FROM n" % self.many_values("i"),
            rows + "i + %d, NULL, i, 'b', %s FROM n" % (self.source.choice((1, 700, 2000)), self.many_values("i")),
            "UPDATE %s SET %s = %s WHERE %s BETWEEN %d AND %d" % (table, self.written_column(), self.many_values(key), key, first, first + 700),
            "UPDATE OR REPLACE %s SET %s = %s + 1 WHERE %s BETWEEN %d AND %d" % (table, key, key, key, first, first + 300)))

    def write(self):
        if self.large and self.source.random() < 0.35:
            return self.write_many()
        source, table, key, vector = self.source, self.table(), quoted(self.key), self.written_column()
        some = "%s IN (%s)" % (key, ", ".join(str(self.id()) for _ in range(source.randrange(1, 5))))
        conflict = source.choice(("", "OR REPLACE", "OR REPLACE", "OR IGNORE", "OR ABORT", "OR FAIL", "OR ROLLBACK"))
        update = "%s = excluded.%s" % (vector, vector)
        return source.choice((
            "INSERT %s INTO %s VALUES (%s)" % (conflict, table, self.row()),
            "INSERT %s INTO %s VALUES (%s), (%s), (%s)" % (conflict, table, self.row(), self.row(), self.row()),
            "REPLACE INTO %s VALUES (%s)" % (table, self.row()),
            "INSERT INTO %s VALUES (%s) ON CONFLICT DO UPDATE SET %s" % (table, self.row(), update),
            "INSERT INTO %s VALUES (%s) ON CONFLICT(code) DO UPDATE SET %s, %s = excluded.%s" % (table, self.row(), update, key, key),
            "UPDATE %s SET %s = %s WHERE %s" % (table, vector, self.value(), some),
            "UPDATE %s %s SET code = %d, lang = 'b' WHERE %s" % ("OR REPLACE" if source.random() < 0.5 else "", table,
                                                                 source.randrange(12), some),
            "UPDATE %s %s SET %s = %d WHERE %s" % (conflict, table, key, self.id(), some),
            "UPDATE %s SET %s = %d WHERE %s" % (table, source.choice(("rowid", "oid", "_rowid_")), self.id(), some),
            "UPDATE %s SET %s = %s + %d WHERE %s BETWEEN 1 AND 1000" % (table, key, key, source.choice((1000, -1000, 7)), key),
            "DELETE FROM %s WHERE %s" % (table, some),
            "DELETE FROM %s WHERE %s" % (table, some),
            self.delete_many() if source.random() < 0.2 else "DELETE FROM %s WHERE %s = %d" % (table, key, self.id()),
            "DELETE FROM {s}owner WHERE id = %d" % source.randrange(1, 6),
            "INSERT OR REPLACE INTO {s}owner(id) VALUES (%d)" % source.randrange(1, 6),
            "UPDATE {s}owner SET id = id + 1 WHERE id = 5",
            "UPDATE {s}owner SET name = 'x' WHERE id = %d" % source.randrange(1, 6),
            "WITH RECURSIVE n(i) AS (VALUES (%d) UNION ALL SELECT i + 1 FROM n LIMIT 30) INSERT OR IGNORE INTO %s SELECT i, NULL, NULL, "
            "'a', %s FROM n" % (source.randrange(100, 200), table, self.value()),
        ))

    def delete_many(self):
        return "DELETE FROM %s" % self.table() + self.source.choice(
            ("", " WHERE lang = 'b'", " WHERE %s > %d" % (quoted(self.key), self.id())))

    def bad_row(self):
        return "INSERT OR REPLACE INTO %s VALUES (%d, NULL, NULL, 'a', %s)" % (self.table(), self.source.randrange(1, 12),
                                                                               self.value(usable=False))

    def no_bad_row(self):
        return "UPDATE %s SET %s = NULL WHERE as_vector(%s, %d) IS NULL" % (
            self.table(), self.written_column(), self.vector_column(), self.dims)

    def command(self, what=None):
        return "INSERT INTO %s(%s) VALUES ('%s')" % (self.index_table(), quoted(self.index),
                                                       what or self.source.choice(COMMANDS))

    def control(self, session):
        """A statement that controls transactions."""
        if session in self.in_transaction:
            what = self.source.choice(("COMMIT", "COMMIT", "ROLLBACK", "SAVEPOINT a", "SAVEPOINT b", "ROLLBACK TO a", "ROLLBACK TO b",
                                       "RELEASE a", "RELEASE b"))
        else:
            what = self.source.choice(("BEGIN", "BEGIN IMMEDIATE", "BEGIN", "SAVEPOINT a"))
        if what in ("COMMIT", "ROLLBACK") or what == "RELEASE a" and self.source.random() < 0.5:
            self.in_transaction.discard(session)
        else:
            self.in_transaction.add(session)
        return what

    def schema_change(self, triggers):
        """Statements that change the schema around the index. triggers: [(name, sql)] of the index's triggers."""
        source, content, index = self.source, quoted(self.content), quoted(self.index)
        column = self.vector_column()
        rename = "ALTER TABLE %s RENAME TO %s"
        rename_column = "ALTER TABLE %s RENAME COLUMN %s TO %s"
        create = self.create_content()
        choices = [
            [rename % (content, "away"), "INSERT OR REPLACE INTO away VALUES (%s)" % self.row(), rename % ("away", content)],
            [rename_column % (content, column, "gone"), rename_column % (content, "gone", column)],
            [rename_column % (content, quoted(self.key), "gone"), rename_column % (content, "gone", quoted(self.key))],
            [rename_column % (content, "lang", "lang2"), rename_column % (content, "lang2", "lang")],
            [rename % (index, "moved"), rename % ("moved", index)],
            ["DROP TABLE %s" % content, create],
            ["DROP TABLE %s" % content, create, "INSERT OR REPLACE INTO %s VALUES (%s)" % (content, self.row())],
            ["DROP TABLE %s" % index, *([] if self.form == "text" else [self.no_bad_row()]), self.create_index()],
            ["CREATE INDEX IF NOT EXISTS by_lang ON %s(lang)" % content],
            ["DROP INDEX IF EXISTS by_lang"],
        ]
        if triggers:
            name, sql = source.choice(triggers)
            choices += [["DROP TRIGGER %s" % quoted(name), sql], ["DROP TRIGGER %s" % quoted(name)]]
        return source.choice(choices)

    def replication(self):
        """What is recorded, what the replica executes before and after, and which conflicts it resolves how."""
        source = self.source

        def some():
            return [self.command(source.choice(("sync", "sync", "merge"))) if source.random() < 0.3 else self.write()
                    for _ in range(source.randrange(1, 8))]
        return {"recorded": [*some(), self.command("sync")], "before": some(), "after": some(), "policy": source.randrange(2)}

    # --- comparisons ---

    def check(self, session):
        """A query over the index and the same over a full scan of the content."""
        source = self.source
        if self.commands and source.random() < 0.12:
            return {"do": "check", "session": session, **self.list()}
        queries = sorted({self.query() for _ in range(source.choice((1, 1, 1, 3)))})
        k = source.choice((1, 3, 10, 10, 30) if self.large and source.random() < 0.7 else (None, None, 0, 1, 2, 3, 10, 1000))
        given = "%s%s" % ("v.query = %s" % queries[0] if len(queries) == 1 else "v.query IN (%s)" % ", ".join(queries),
                          "" if k is None else " AND v.k = %d" % k)
        at = self.index_table()
        if len(queries) == 1 and source.random() < 0.3:
            at = "%s(%s%s)" % (at, queries[0], "" if k is None else ", %d" % k)
            given = "1"
        among = self.among()
        if among:
            given += " AND v.among = (SELECT glove_keys(%s) FROM %s c WHERE %s)" % (self.keys_of("c"), self.table(), among)
        if self.commands and source.random() < 0.2:
            given += " AND v.recall = %s" % source.choice(("0.5", "0.95", "1", "NULL"))  # exact: there are too few rows to read fewer
        expected_given = "1" if k is None else "v.rank <= %d" % k
        select, tail = source.choice(self.shapes(source.randrange(1, 12), len(queries) > 1))
        return {"do": "check", "session": session,
                "index": self.over_index(queries, select, at, given, expected_given) + tail,
                "expected": self.full_scan(queries, self.table(), among) + select % ("full_scan", expected_given) + tail}

    def list(self):
        """The index without a query, and the rows of the content that have a vector."""
        vector = self.vector_of("c")
        rows = " FROM %s c WHERE %s AND cos_sim(%s, %s) NOT NULL" % (self.table(), self.whole_key(), vector, vector)
        at = self.index_table()
        return self.source.choice((
            {"index": "SELECT count(*) FROM %s" % at, "expected": "SELECT count(*)" + rows},
            {"index": "SELECT %s, rank, similarity FROM %s v" % (self.shown_keys("v"), at),
             "expected": "SELECT %s, NULL, NULL%s ORDER BY %s" % (self.keys_of("c"), rows, self.key_order())},
            {"index": "SELECT count(*), count(v.rank) FROM %s d JOIN %s v ON %s" % (self.table(), at, self.same_key("v", "d")),
             "expected": "SELECT count(*), 0" + rows}))

    def keys_of(self, row):
        return "%s.%s" % (row, quoted(self.key))

    def shown_keys(self, row):
        return "%s.id" % row

    def whole_key(self):
        return "1"

    def key_order(self):
        return self.keys_of("c")

    def same_key(self, one, other):
        return "%s = %s" % (self.shown_keys(one), self.keys_of(other))

    def vector_of(self, row):
        column = "%s.%s" % (row, self.vector_column())
        return "glove_text_vec(%s, 'glove')" % column if self.form == "text" else "as_vector(%s, %d)" % (column, self.dims)

    def among(self):
        """A condition on the rows c of the content that a query admits; often none."""
        source, key = self.source, quoted(self.key)
        if not self.commands or source.random() < 0.6:
            return ""
        return source.choice(("c.%s %% 3 <> %d" % (key, source.randrange(3)), "c.%s %% 7 = %d" % (key, source.randrange(7)),
                              "c.%s > %d" % (key, self.id()), "c.lang = 'a'"))

    def over_index(self, queries, select, at, given, expected_given):
        """The query over the index; a stand-in needs the queries and how a full scan would be given its inputs."""
        return select % (at, given)

    def shapes(self, number, batch):
        """(SELECT with places for the table and its inputs, the rest), with an order that leaves nothing open."""
        columns = "SELECT v.query, v.id, v.similarity, v.rank FROM " if batch else "SELECT v.id, v.similarity, v.rank FROM "
        order = " ORDER BY v.query, v.rank" if batch else " ORDER BY v.rank"
        joined = "%%s v JOIN %s d ON d.%s = v.id WHERE %%s AND d.lang = 'a'" % (self.table(), quoted(self.key))
        plain = "%s v WHERE %s"
        # The index in the inner loop of a join, which reads its ranks.
        inner = "SELECT %sd.%s, v.id, v.similarity, v.rank FROM %s d %%s " % (
            "v.query, " if batch else "", quoted(self.key), self.table()) % self.source.choice(("LEFT JOIN", "CROSS JOIN")) + "%s v ON v.id "
        some = self.some("d." + quoted(self.key))
        inner_order = some + " ORDER BY %s2, 1, v.rank" % ("v.query, " if batch else "")
        return (
            (inner + "= d.%s AND %%s" % quoted(self.key), inner_order), (inner + "= d.%s AND %%s" % quoted(self.key), inner_order),
            (inner + "IN (d.%s, d.%s - 1) AND %%s" % (quoted(self.key), quoted(self.key)), inner_order),
            (inner + "= d.%s AND %%s AND v.rank BETWEEN 2 AND %d" % (quoted(self.key), number), inner_order),
            ("SELECT d.%s, (SELECT max(v.rank) FROM %%s v WHERE %%s AND v.id = d.%s) FROM %s d" % (
                quoted(self.key), quoted(self.key), self.table()), some + " ORDER BY 1"),
            (columns + plain, order), (columns + plain, order),
            (columns + joined, order), (columns + joined, order + " LIMIT %d" % number),
            (columns + plain + " AND v.rank < %d" % number, order), (columns + plain + " AND v.similarity >= 0.5", order),
            (columns + plain + " AND v.id IN (%d, %d, 3)" % (number, number + 1), order),
            (columns + plain + " AND v.id = %d" % number, order),
            ("SELECT count(*), max(v.rank), sum(v.id = %d) FROM " % number + plain, ""),
            (columns + plain, order + " LIMIT 3 OFFSET %d" % number),
            (columns + plain, " ORDER BY v.similarity DESC, v.rank" + (", v.query" if batch else "")),
        )

    def some(self, number):
        """Of many rows, an eighth for the outer loop of a join: where rows may change, the index reads the set of `among` again for each."""
        return " WHERE %s %% 8 = %d" % (number, self.source.randrange(8)) if self.large else ""

    def full_scan(self, queries, table, among=""):
        """WITH full_scan(query, id, similarity, rank) AS (...), the relation that the index must equal."""
        key, vector = quoted(self.key), self.vector_of("c")
        query = "glove_text_vec(q.query, 'glove')" if self.form == "text" else "q.query"
        return ("WITH q(query) AS (VALUES %s), scored(query, id, similarity) AS (SELECT q.query, c.%s, cos_sim(%s, %s) FROM q, %s c%s), "
                "full_scan(query, id, similarity, rank) AS (SELECT query, id, similarity, row_number() OVER (PARTITION BY query ORDER BY "
                "similarity DESC, id) FROM scored WHERE similarity NOT NULL) "
                % (", ".join("(%s)" % q for q in queries), key, vector, query, table, among and " WHERE " + among))
