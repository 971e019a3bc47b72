"""The random statements over a table whose key is not an INTEGER PRIMARY KEY, for model_test.py."""
import statements
from statements import quoted, text

# What each kind of table has as its key: columns with their types, the constraint, and what stands behind the columns.
KINDS = {
    "text": (("TEXT",), "PRIMARY KEY(%s)", ""),
    "nocase": (("TEXT COLLATE NOCASE",), "PRIMARY KEY(%s)", ""),
    "blob": (("BLOB NOT NULL",), "PRIMARY KEY(%s)", ""),
    "any": (("",), "UNIQUE(%s)", ""),
    "number": (("NUMERIC",), "UNIQUE(%s)", ""),
    "without rowid": (("TEXT",), "PRIMARY KEY(%s)", " WITHOUT ROWID"),
    "composite": (("TEXT", "INTEGER"), "PRIMARY KEY(%s)", ""),
    "composite without rowid": (("TEXT COLLATE NOCASE", "TEXT"), "PRIMARY KEY(%s)", " WITHOUT ROWID"),
    "unique": (("TEXT", "BLOB"), "UNIQUE(%s)", ""),
}


class Generator(statements.Generator):
    def __init__(self, source, form, commands=True):
        super().__init__(source, form, commands)
        self.kind = source.choice(sorted(KINDS))
        types, self.constraint, self.options = KINDS[self.kind]
        self.keys = list(zip([self.key, "part"], types))
        self.entered = [name for name, _ in self.keys]  # as the index names them
        if source.random() < 0.3:
            self.entered.reverse()
        self.generated = False

    # --- names and values ---

    def key_columns(self, row=""):
        return ", ".join((row and row + ".") + quoted(name) for name, _ in self.keys)

    def create_content(self):
        columns = ", ".join("%s %s" % (quoted(name), kind) for name, kind in self.keys)
        body = "body TEXT" if self.form == "text" else quoted(self.vector)
        return ("CREATE TABLE %s(%s, owner INTEGER REFERENCES owner(id) ON DELETE CASCADE ON UPDATE CASCADE, code INTEGER UNIQUE, lang TEXT, %s, %s)%s"
                % (quoted(self.content), columns, body, self.constraint % self.key_columns(), self.options))

    def create_index(self):
        return super().create_index().replace("rowid=" + text(self.key), "rowid=" + text(", ".join(map(quoted, self.entered))))

    def id(self, kind=""):
        """A value of a column of the key, as SQL: a text that often differs from another one in its case alone, or an odd value."""
        number = self.source.randrange(100, 1900) if self.large and self.source.random() < 0.6 else self.source.randrange(1, 30)
        odd = ("''", "'5'", "5", "5.0", "'5.0'", "x''", "x'6b31'", "'-1'", "9007199254740993", "'\u00e9'", "1e300", "-1")
        return self.source.choice(("'k%d'" % number, "'k%d'" % number, "'K%d'" % number, str(number), self.source.choice(odd)))

    def key_values(self, null=0.05):
        return ", ".join("NULL" if self.source.random() < null else self.id() for _ in self.keys)

    def row(self):
        return "%s, %s, %s, '%s', %s" % (self.key_values(), self.owner(), self.source.choice(("NULL", self.source.randrange(12))),
                                         self.source.choice("ab"), self.value())

    def key_is(self, row="", null=0):
        return " AND ".join("%s = %s" % ((row and row + ".") + quoted(name), "NULL" if self.source.random() < null else self.id())
                            for name, _ in self.keys)

    def same_key(self, one, other):
        return " AND ".join("%s.%s = %s.%s" % (one, quoted(name), other, quoted(name)) for name, _ in self.keys)

    # --- set-up ---

    def set_up(self, journal):
        steps = super().set_up(journal)
        rows = "INSERT INTO %s VALUES (" % self.table()
        for step in steps:  # the rows of another table, whose key is a number
            step["sql"] = ["INSERT OR IGNORE INTO %s VALUES (%s)" % (self.table(), self.row()) if sql.startswith(rows) else
                           "CREATE TRIGGER named AFTER UPDATE OF name ON owner BEGIN INSERT OR IGNORE INTO %s VALUES (%s); END" % (
                               quoted(self.content), self.row()) if sql.startswith("CREATE TRIGGER named") else sql for sql in step["sql"]]
        return steps

    def triggers(self):
        source, made = self.source, []
        fails = source.random() < 0.5
        for number in range(source.randrange(4)):
            event = source.choice(("INSERT", "UPDATE", "DELETE"))
            row = "old" if event == "DELETE" else "new"
            time, body = source.choice(("BEFORE", "AFTER", "AFTER")), source.choice((
                "SELECT RAISE(FAIL, 'constraint failed')", "SELECT RAISE(IGNORE)", "INSERT INTO owner(id) VALUES (1), (2)",
                "UPDATE %s SET %s = NULL WHERE lang = %s.lang" % (quoted(self.content), self.written_column(), row)))
            if not fails and source.random() < 0.5 and not self.attached:
                body = self.command(source.choice(("sync", "merge", "integrity-check"))).replace("{s}", "")
            elif not fails and "SET" not in body:
                continue
            made.append("CREATE TRIGGER app%d %s %s ON %s WHEN %s.code %% %d IS %d BEGIN %s; END" % (
                number, time, event, quoted(self.content), row, 30 if self.large else 3, source.randrange(3), body))
        return made

    # --- statements ---

    def write_many(self):
        source, table, vector = self.source, self.table(), self.written_column()
        first, count = source.randrange(100, 600), source.randrange(300, 1200)
        key = ", ".join(source.choice(("'k' || i", "'K' || i", "i", "CAST(i AS TEXT)")) for _ in self.keys)
        rows = "WITH RECURSIVE n(i) AS (VALUES (%d) UNION ALL SELECT i + 1 FROM n LIMIT %d) INSERT OR REPLACE INTO %s SELECT %s, NULL, i, '%s', %s FROM n" % (
            first, count, table, key, source.choice("ab"), self.many_values("i"))
        return source.choice((rows, rows, "UPDATE %s SET %s = %s WHERE code BETWEEN %d AND %d" % (
            table, vector, self.many_values("coalesce(code, 7)"), first, first + 700),
            "UPDATE OR REPLACE %s SET %s = lower(%s) WHERE code BETWEEN %d AND %d" % (table, quoted(self.key), quoted(self.key), first, first + 300)))

    def write(self):
        if self.large and self.source.random() < 0.35:
            return self.write_many()
        source, table, key, vector = self.source, self.table(), quoted(self.source.choice(self.keys)[0]), self.written_column()
        some = "%s IN (%s)" % (key, ", ".join(self.id() for _ in range(source.randrange(1, 5))))
        conflict = source.choice(("", "OR REPLACE", "OR REPLACE", "OR IGNORE", "OR ABORT", "OR FAIL", "OR ROLLBACK"))
        update = "%s = excluded.%s" % (vector, vector)
        return source.choice((
            "INSERT %s INTO %s VALUES (%s)" % (conflict, table, self.row()),
            "INSERT %s INTO %s VALUES (%s)" % (conflict, table, self.row()),
            "INSERT %s INTO %s VALUES (%s), (%s), (%s)" % (conflict, table, self.row(), self.row(), self.row()),
            "REPLACE INTO %s VALUES (%s)" % (table, self.row()),
            "INSERT INTO %s VALUES (%s) ON CONFLICT DO UPDATE SET %s" % (table, self.row(), update),
            "INSERT INTO %s VALUES (%s) ON CONFLICT(code) DO UPDATE SET %s, %s = excluded.%s" % (table, self.row(), update, key, key),
            "UPDATE %s SET %s = %s WHERE %s" % (table, vector, self.value(), some),
            "UPDATE %s %s SET code = %d, lang = 'b' WHERE %s" % ("OR REPLACE" if source.random() < 0.5 else "", table, source.randrange(12), some),
            "UPDATE %s %s SET %s = %s WHERE %s" % (conflict, table, key, self.id(), some),
            "UPDATE %s %s SET %s = %s WHERE %s" % (conflict, table, key, source.choice(("upper(%s)", "lower(%s)", "%s || ''", "NULL")).replace("%s", key), some),
            "UPDATE %s SET rowid = rowid + 1000 WHERE %s" % (table, some) if "WITHOUT" not in self.options else "DELETE FROM %s WHERE %s" % (table, some),
            "DELETE FROM %s WHERE %s" % (table, some), "DELETE FROM %s WHERE %s" % (table, self.key_is()),
            "DELETE FROM %s WHERE lang = 'b'" % table if source.random() < 0.2 else "DELETE FROM %s WHERE %s" % (table, self.key_is()),
            "DELETE FROM {s}owner WHERE id = %d" % source.randrange(1, 6),
            "INSERT OR REPLACE INTO {s}owner(id) VALUES (%d)" % source.randrange(1, 6),
            "UPDATE {s}owner SET name = 'x' WHERE id = %d" % source.randrange(1, 6)))

    def bad_row(self):
        return "INSERT OR REPLACE INTO %s VALUES (%s, NULL, NULL, 'a', %s)" % (self.table(), self.key_values(0), self.value(usable=False))

    # --- comparisons ---

    def keys_of(self, row):
        return self.entered_columns(row)

    def shown_keys(self, row):
        return self.entered_columns(row)

    def entered_columns(self, row, collation=""):
        return ", ".join("%s.%s%s" % (row, quoted(name), collation) for name in self.entered)

    def among(self):
        if not self.commands or self.source.random() < 0.6:
            return ""
        return self.source.choice(("c.lang = 'a'", "c.code % 2", self.key_is("c"), "c.%s > %s" % (quoted(self.key), self.id())))

    def shapes(self, number, batch):
        key = self.key_columns("v")
        columns = "SELECT v.query, %s, v.similarity, v.rank FROM " % key if batch else "SELECT %s, v.similarity, v.rank FROM " % key
        order = " ORDER BY v.query, v.rank" if batch else " ORDER BY v.rank"
        plain = "%s v WHERE %s"
        joined = "%%s v JOIN %s d ON %s WHERE %%s AND d.lang = 'a'" % (self.table(), self.same_key("d", "v"))
        binary = ", ".join("%s COLLATE BINARY" % quoted(name) for name, _ in self.keys)
        inner = "SELECT %s%s, v.similarity, v.rank FROM (SELECT * FROM %s ORDER BY %s) d %s %%s v ON %s AND %%s" % (
            "v.query, " if batch else "", self.key_columns("d"), self.table(), binary, self.source.choice(("LEFT JOIN", "CROSS JOIN")), self.same_key("v", "d"))
        inner_order = self.some("coalesce(d.code, 0)") + " ORDER BY v.rank, %s%s" % ("v.query, " if batch else "", ", ".join("d.%s COLLATE BINARY" % quoted(name) for name, _ in self.keys))
        one = columns + plain + " AND " + self.key_is("v", null=0.1)
        return (
            (inner, inner_order), (inner, inner_order), (columns + plain, order), (columns + plain, order), (columns + joined, order),
            (columns + joined, order + " LIMIT %d" % number), (columns + plain + " AND v.rank < %d" % number, order),
            (columns + plain + " AND v.similarity >= 0.5", order), (one, order), (one, order),
            (columns + plain + " AND v.%s IN (%s, %s)" % (quoted(self.key), self.id(), self.id()), order),
            (columns + plain + " AND v.%s = %s" % (quoted(self.keys[-1][0]), self.id()), order),
            (columns + plain + " AND v.%s = %s COLLATE %s" % (quoted(self.key), self.id(), self.source.choice(("BINARY", "NOCASE"))), order),
            ("SELECT count(*), max(v.rank) FROM " + plain, ""), (columns + plain, order + " LIMIT 3 OFFSET %d" % number))

    def whole_key(self):
        return " AND ".join("c.%s NOT NULL" % quoted(name) for name in self.entered)

    def key_order(self):
        return self.entered_columns("c", " COLLATE BINARY")

    def full_scan(self, queries, table, among=""):
        """Equal similarities are in the order in which the keys were first inserted, as the index has noted it."""
        vector, query = self.vector_of("c"), "glove_text_vec(q.query, 'glove')" if self.form == "text" else "q.query"
        entry = " AND ".join("k.k%d = c.%s" % (i + 1, quoted(name)) for i, name in enumerate(self.entered))
        return ("WITH q(query) AS (VALUES %s), scored(query, %s, similarity, entry) AS (SELECT q.query, %s, cos_sim(%s, %s), "
                "(SELECT k.id FROM {s}%s k WHERE %s) FROM q, %s c WHERE %s%s), "
                "full_scan(query, %s, similarity, rank) AS (SELECT query, %s, similarity, row_number() OVER (PARTITION BY query ORDER BY "
                "similarity DESC, entry) FROM scored WHERE similarity NOT NULL) "
                % (", ".join("(%s)" % q for q in queries), self.key_columns(), self.key_columns("c"), vector, query, quoted(self.index + "_key"), entry,
                   table, self.whole_key(), among and " AND (" + among + ")",
                   self.key_columns(), self.key_columns()))
