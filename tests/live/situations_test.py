"""An index in situations that the model test does not reach: every row is compared with a full scan of the table.

    situations_test.py EXTENSION [TEST...]

Indexes with one name in several schemas, temporary objects with the names of the index's tables, names that need quotes, commands while a
statement reads, changes by a search, interrupts, copies made while the index changes, and triggers and foreign keys of the application.
GLOVE_TEST_SEED repeats a run.
"""
import itertools
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import fixture

EXTENSION = None
DIMS, ROWS = 3, 1200  # so many rows that a query of few does not read all of them
COMMANDS = ("sync", "merge", "rebuild")
SEED = os.environ.get("GLOVE_TEST_SEED") or str(random.randrange(1 << 31))
WORDS = "sun rain storm piano violin lemon banana tree".split()


def quoted(name):
    return '"%s"' % name.replace('"', '""')


class Situations(unittest.TestCase):
    def setUp(self):
        self.source = random.Random("%s %s" % (SEED, self.id()))
        folder = tempfile.TemporaryDirectory(prefix="glove-live-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.db = self.connect()

    def run(self, result=None):
        with self.subTest(seed=SEED):
            return super().run(result)

    def connect(self, name=":memory:"):
        connection = fixture.connect(name if name == ":memory:" else os.path.join(self.folder, name), EXTENSION)
        self.addCleanup(connection.close)
        return connection

    def vector(self):
        return fixture.vector(self.source, DIMS)

    def create(self, db=None, schema="", content="doc", index="doc_vec", key="id", column="vec", rows=ROWS):
        db = db or self.db
        db.execute("CREATE TABLE %s%s(%s INTEGER PRIMARY KEY, code INTEGER UNIQUE, %s)" % (schema, quoted(content), quoted(key), quoted(column)))
        db.execute("BEGIN")
        db.executemany("INSERT INTO %s%s VALUES (?, NULL, ?)" % (schema, quoted(content)), ((i, self.vector()) for i in range(rows)))
        db.execute("COMMIT")
        text = [name.replace("'", "''") for name in (content, key, column)]
        db.execute("CREATE VIRTUAL TABLE %s%s USING glove_index(content='%s', rowid='%s', vector='%s')" % (schema, quoted(index), *text))

    def change(self, db=None, content="doc", rows=12):
        for _ in range(rows):
            key = self.source.randrange(ROWS + 200)
            if self.source.random() < 0.3:
                (db or self.db).execute("DELETE FROM %s WHERE rowid = ?" % content, (key,))
            else:
                (db or self.db).execute("INSERT OR REPLACE INTO %s VALUES (?, NULL, ?)" % content, (key, self.vector()))

    def command(self, name, db=None, index="doc_vec"):
        (db or self.db).execute("INSERT INTO %s(%s) VALUES (?)" % (index, index.split(".", 1)[-1]), (name,))

    def scan(self, query, k=-1, db=None, content="doc", key="id", column="vec"):
        return (db or self.db).execute(
            "SELECT key, s, row_number() OVER (ORDER BY s DESC, key) FROM (SELECT %s AS key, cos_sim(%s, ?) AS s FROM %s) WHERE s NOT NULL "
            "ORDER BY s DESC, key LIMIT ?" % (quoted(key), quoted(column), content), (query, k)).fetchall()

    def expect_right(self, db=None, content="doc", index="doc_vec", key="id", column="vec"):
        for k in (1, 9, 1 << 40):
            query = self.vector()
            self.assertEqual((db or self.db).execute("SELECT id, similarity, rank FROM %s WHERE query = ? AND k = ?" % index, (query, k)).fetchall(),
                             self.scan(query, k, db, content, key, column))

    def expect_sound(self, db=None):
        self.assertEqual((db or self.db).execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        self.command("integrity-check", db)
        self.expect_right(db)


class Names(Situations):
    def test_one_name_in_several_schemas(self):
        self.db = self.connect("main.db")
        self.db.execute("ATTACH ? AS two", (os.path.join(self.folder, "two.db"),))
        schemas = ("main.", "two.", "temp.")
        for schema in schemas:
            self.create(schema=schema)
        for _ in range(6):
            self.change(content=self.source.choice(schemas) + "doc")
            self.command(self.source.choice(COMMANDS), index=self.source.choice(schemas) + "doc_vec")
            for schema in schemas:
                self.expect_right(content=schema + "doc", index=schema + "doc_vec")
        self.expect_right(content="temp.doc")  # as for tables, a name alone is that of temp first
        self.db.execute("DROP TRIGGER two.doc_vec_insert")
        with self.assertRaisesRegex(sqlite3.Error, "or INSERT INTO \"two\"\\.\"doc_vec\"\\(\"doc_vec\"\\) VALUES \\('rebuild'\\)") as refused:
            self.expect_right(content="two.doc", index="two.doc_vec")
        self.db.execute(re.search("INSERT INTO .*'rebuild'\\)", str(refused.exception)).group())
        self.expect_right(content="two.doc", index="two.doc_vec")
        self.db.execute("DROP TABLE temp.doc_vec")
        self.db.execute("DROP TABLE two.doc_vec")
        self.assertEqual(self.db.execute("SELECT name FROM two.sqlite_schema WHERE sql NOT NULL UNION ALL "
                                         "SELECT name FROM sqlite_temp_schema WHERE sql NOT NULL").fetchall(), [("doc",), ("doc",)])
        self.expect_right(content="main.doc", index="main.doc_vec")

    def test_temporary_objects_hide_no_table_of_the_index(self):
        self.create()
        for sql in ("TABLE doc(id INTEGER PRIMARY KEY, code, vec)", "TABLE doc_vec_log(id)", "VIEW doc_vec_segment AS SELECT 1",
                    "VIEW doc_vec_block AS SELECT 1", "TABLE doc_vec_dead(x)", "TABLE doc_vec_config(x)"):
            self.db.execute("CREATE TEMP " + sql)
        for command in COMMANDS:
            self.change(content="main.doc")
            self.expect_right(content="main.doc")
            self.command(command)
            self.expect_right(content="main.doc")
            self.command("integrity-check")
        self.assertEqual(self.db.execute("SELECT * FROM temp.doc_vec_log").fetchall(), [])

    def test_names_that_need_quotes(self):
        for content, key, column, index in (("k", "rank", "query", "id2"), ("a.b", "similarity", "backend", "x.y"), ("doc", "id", "doc_vec", "doc_vec"),
                                            ("e[f]\"g", "a'b", "c\"d", "h`i"), ("\u0442\u0430\u0431\u043b", "\u043a\u043b\u044e\u0447", "\u0432", "\u0438")):
            db = self.connect()
            self.create(db, content=content, key=key, column=column, index=index, rows=60)
            for command in COMMANDS:
                self.change(db, quoted(content))
                self.expect_right(db, quoted(content), quoted(index), key, column)
                db.execute("INSERT INTO %s(%s) VALUES (?)" % (quoted(index), quoted(index)), (command,))
                self.expect_right(db, quoted(content), quoted(index), key, column)
            self.assertEqual(db.execute("SELECT name, state FROM glove_indexes").fetchall(), [(index, "current")])
            db.execute("ALTER TABLE %s RENAME TO moved" % quoted(index))
            self.expect_right(db, quoted(content), "moved", key, column)
            db.execute("DROP TABLE moved")
            self.assertEqual(db.execute("SELECT count(*) FROM sqlite_schema WHERE sql NOT NULL").fetchone(), (1,))


class Readers(Situations):
    def test_commands_while_a_statement_reads(self):
        for commands in ((c,) for c in COMMANDS), (("rebuild", "rebuild"), ("sync", "merge", "rebuild", "merge")):
            for sequence in commands:
                db = self.connect("%s.db" % "-".join(sequence))
                self.create(db)
                self.change(db, rows=40)
                query = self.vector()
                expected = self.scan(query, db=db)
                reader = db.execute("SELECT id, similarity, rank FROM doc_vec WHERE query = ?", (query,))
                rows = [reader.fetchone() for _ in range(3)]
                for command in sequence:
                    self.command(command, db)
                self.assertEqual(rows + reader.fetchall(), expected)
                self.expect_sound(db)

    def test_a_reader_of_a_wal_keeps_its_version(self):
        self.db = self.connect("wal.db")
        self.db.execute("PRAGMA journal_mode = wal")
        self.create()
        reader = self.connect("wal.db")
        reader.execute("BEGIN")
        query = self.vector()
        expected = self.scan(query, db=reader)
        statement = reader.execute("SELECT id, similarity, rank FROM doc_vec WHERE query = ?", (query,))
        rows = [statement.fetchone() for _ in range(3)]
        for command in COMMANDS:
            self.change(rows=60)
            self.command(command)
        self.db.execute("DELETE FROM doc WHERE id < 900")
        self.command("merge")
        self.assertEqual(rows + statement.fetchall(), expected)
        self.expect_right(reader)
        reader.execute("COMMIT")
        self.expect_right(reader)
        self.expect_sound()

    def test_a_search_that_runs_commands_and_changes_rows(self):
        self.create()
        self.db.create_function("run_command", 2, lambda name, value: (self.command(name), value)[1])
        for command in COMMANDS:
            self.change()
            query = self.vector()
            expected = [id for id, _, rank in self.scan(query) if rank % 50 == 0]
            self.assertEqual([id for id, in self.db.execute("SELECT run_command(?, id) FROM doc_vec WHERE query = ? AND rank % 50 = 0",
                                                            (command, query))], expected)
            self.expect_sound()
        nearest = "SELECT id FROM doc_vec WHERE query = x'%s' AND k = 30" % self.vector().hex()
        for change in ("UPDATE doc SET vec = x'0000803f0000803f0000803f' WHERE id IN (%s)", "DELETE FROM doc WHERE id IN (%s)",
                       "INSERT INTO doc(id, vec) SELECT id + 5000, (SELECT vec FROM doc WHERE id = n.id) FROM (%s) n",
                       "UPDATE OR IGNORE doc SET id = id + 9000 WHERE id IN (%s)",
                       "UPDATE doc SET vec = (SELECT d.vec FROM doc_vec v JOIN doc d ON d.id = v.id WHERE v.query = doc.vec AND v.rank = 2) WHERE id IN (%s)",
                       "INSERT INTO doc_vec(doc_vec) SELECT CASE count(*) WHEN 30 THEN 'merge' END FROM (%s)"):
            self.db.execute(change % nearest)
            self.expect_sound()

    def test_interrupted_queries_and_commands(self):
        self.db = self.connect("interrupt.db")
        self.create()
        self.db.execute("PRAGMA cache_size = 20")
        query = ("SELECT id FROM doc_vec WHERE query = ?", (self.vector(),))
        for sql, values in [query] + [("INSERT INTO doc_vec(doc_vec) VALUES (?)", (command,)) for command in COMMANDS + ("integrity-check",)]:
            self.change(rows=60)
            interrupts = 0
            for calls in [*range(1, 20, 3), *range(20, 20000, 60)]:
                left = [calls]

                def stop(left=left):
                    left[0] -= 1
                    return left[0] <= 0
                self.db.set_progress_handler(stop, 50)
                try:
                    self.db.execute(sql, values).fetchall()
                    break
                except sqlite3.OperationalError as error:
                    self.assertEqual(str(error), "interrupted")
                    interrupts += 1
                finally:
                    self.db.set_progress_handler(None, 0)
                if interrupts % 5 == 1:
                    self.expect_right()
            self.assertGreater(interrupts, 3, sql)
            self.expect_sound()

    @unittest.skipUnless(hasattr(sqlite3.Connection, "setlimit"), "Python before 3.11")
    def test_a_limit_of_the_length_of_values(self):
        self.create()
        for begin, end in (("SELECT 1", "SELECT 1"), ("BEGIN", "COMMIT")):
            for command in ("merge", "rebuild"):
                self.change()
                stored = fixture.shadow_rows(self.db)
                self.db.execute(begin)
                limit = self.db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10000)  # shorter than the block of the segment
                self.expect_right()
                with self.assertRaisesRegex(sqlite3.Error, "^doc_vec: the command must write a BLOB of [0-9]+ bytes, but SQLITE_LIMIT_LENGTH .* 10000;"):
                    self.command(command)
                self.db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limit)
                self.db.execute(end)
                self.assertEqual(fixture.shadow_rows(self.db), stored)
                self.expect_sound()

    @unittest.skipUnless(hasattr(sqlite3.Connection, "setlimit"), "Python before 3.11")
    def test_stored_values_that_are_longer_than_the_limit(self):
        self.db = self.connect("long.db")
        self.create()
        self.change()
        stored = fixture.shadow_rows(self.db)
        limit = max(len(data) for _, _, data in stored["doc_vec_block"]) // 2
        for statement in ("SELECT id FROM doc_vec('[1%s]')" % (",1" * (DIMS - 1)), "INSERT INTO doc_vec(doc_vec) VALUES ('merge')"):
            self.db.close()
            self.db = self.connect("long.db")  # must read the segment again
            before = self.db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limit)
            with self.assertRaisesRegex(sqlite3.Error, "^doc_vec: string or blob too big; SQLITE_LIMIT_LENGTH of this connection is %d "
                                        "and SQLITE_LIMIT_SQL_LENGTH is [0-9]+; raise the limit" % limit):
                self.db.execute(statement).fetchall()
            self.db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)
            self.assertEqual(fixture.shadow_rows(self.db), stored)
            self.expect_sound()

    @unittest.skipUnless(hasattr(sqlite3.Connection, "setlimit"), "Python before 3.11")
    def test_a_limit_that_stops_a_statement_of_the_index_is_named(self):
        self.db = self.connect("limits.db")
        self.create(rows=20)
        self.change(rows=3)
        stopped = set()
        commands = ["INSERT INTO doc_vec(doc_vec) VALUES ('%s')" % command for command in (*COMMANDS, "integrity-check")]
        for name in ("COLUMN", "EXPR_DEPTH", "COMPOUND_SELECT", "FUNCTION_ARG", "LIKE_PATTERN_LENGTH", "VARIABLE_NUMBER", "ATTACHED", "TRIGGER_DEPTH"):
            limit = "SQLITE_LIMIT_" + name
            for value, sql in itertools.product((0, 1, 2, 3, 5, 8, 12), ["SELECT id FROM doc_vec(zeroblob(12))", "SELECT state FROM glove_indexes"] + commands):
                db = fixture.connect(os.path.join(self.folder, "limits.db"), EXTENSION)
                db.execute("SELECT name FROM sqlite_master").fetchall()  # reads the schema, which the limits would forbid
                db.execute("BEGIN")
                db.setlimit(getattr(sqlite3, limit), value)
                try:
                    text = "".join(str(row[0]) for row in db.execute(sql) if row[0] not in ("current", "changed") and "state" in sql)
                except sqlite3.Error as error:
                    text = str(error)
                db.close()  # and nothing stays
                if text.startswith("doc_vec:") or text.startswith("glove_indexes:"):
                    stopped.add(name)
                    self.assertRegex(text, "; %s of this connection is %d; raise the limit, or use a connection that has a higher one$" % (limit, value), sql)
        self.assertLessEqual({"EXPR_DEPTH", "VARIABLE_NUMBER", "FUNCTION_ARG"}, stopped)
        self.expect_sound()

    def test_large_batches(self):
        self.create(rows=300)
        self.change(rows=60)
        self.db.execute("CREATE TEMP TABLE asked(vec)")
        self.db.executemany("INSERT INTO asked VALUES (?)", ((self.vector(),) for _ in range(1100)))
        self.db.execute("INSERT INTO asked VALUES (NULL), (zeroblob(12)), ((SELECT vec FROM asked LIMIT 1))")
        scan = ("SELECT query, id, s, rank FROM (SELECT query, id, s, row_number() OVER (PARTITION BY query ORDER BY s DESC, id) AS rank FROM "
                "(SELECT a.vec AS query, d.id, cos_sim(d.vec, a.vec) AS s FROM (SELECT DISTINCT vec FROM asked) a, doc d) WHERE s NOT NULL) "
                "WHERE rank <= 3 ORDER BY query, rank")
        self.assertEqual(self.db.execute("SELECT query, id, similarity, rank FROM doc_vec WHERE query IN (SELECT vec FROM asked) AND k = 3 "
                                         "ORDER BY query, rank").fetchall(), self.db.execute(scan).fetchall())


class Changes(Situations):
    def test_copies_that_are_made_while_the_index_changes(self):
        self.db = self.connect("origin.db")
        self.create()

        def change(*_):
            if self.source.random() < 0.3:
                self.change(rows=3)
            if self.source.random() < 0.2:
                self.command(self.source.choice(COMMANDS))
        copy = self.connect("copy.db")
        for _ in range(3):  # the later ones replace a database that the connection has searched
            self.db.backup(copy, pages=9, progress=change)
            self.expect_sound(copy)
            self.change(copy)
            self.command("sync", copy)
            self.expect_sound(copy)
        image = self.connect()
        image.deserialize(self.db.serialize())
        self.expect_sound(image)

    def test_rows_that_replace_has_deleted(self):
        self.create()
        self.db.execute("UPDATE doc SET code = id")
        self.command("rebuild")
        query = self.vector()
        for key, _, rank in self.scan(query, 700):  # so many that the search gives up the segments
            self.db.execute("INSERT OR REPLACE INTO doc VALUES (?, ?, ?)", (10000 + key, key, None if rank % 2 else self.vector()))
        for k in (1, 3, 50, 1000):
            self.assertEqual(self.db.execute("SELECT id, similarity, rank FROM doc_vec WHERE query = ? AND k = ?", (query, k)).fetchall(),
                             self.scan(query, k))
        self.command("merge")
        self.expect_sound()

    def test_triggers_and_foreign_keys_of_the_application(self):
        self.db.execute("PRAGMA foreign_keys = ON")
        self.db.execute("CREATE TABLE vectors(vec BLOB PRIMARY KEY)")
        vectors = [self.vector() for _ in range(40)]
        self.db.executemany("INSERT INTO vectors VALUES (?)", ((v,) for v in vectors))
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, code ANY, vec BLOB REFERENCES vectors(vec) ON DELETE SET NULL ON UPDATE CASCADE) STRICT")
        self.db.executemany("INSERT INTO doc VALUES (?, 1, ?)", ((i, self.source.choice(vectors)) for i in range(ROWS)))
        self.db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content=doc, rowid=id, vector=vec)")
        self.db.execute("CREATE TRIGGER before_delete BEFORE DELETE ON doc BEGIN UPDATE doc SET vec = NULL WHERE id = old.id + 1; END")
        self.db.execute("CREATE TRIGGER after_insert AFTER INSERT ON doc BEGIN UPDATE doc SET vec = new.vec WHERE id = new.id / 2; END")
        self.db.execute("CREATE TEMP TRIGGER searches AFTER UPDATE ON main.doc BEGIN INSERT INTO found SELECT id FROM doc_vec(new.vec, 2); END")
        self.db.execute("CREATE TABLE found(id)")
        for number in range(12):
            self.db.execute("DELETE FROM vectors WHERE vec = ?", (vectors[number],))
            self.db.execute("UPDATE vectors SET vec = ? WHERE vec = ?", (self.vector(), vectors[39 - number]))
            self.db.execute("INSERT INTO doc SELECT max(id) + 1, 1, (SELECT vec FROM vectors LIMIT 1) FROM doc")
            self.db.execute("DELETE FROM doc WHERE id = ?", (self.source.randrange(ROWS),))
            self.expect_right()
            if number % 3 == 0:
                self.command(COMMANDS[number // 3 % 3])
                self.expect_sound()


    def test_all_rows_get_other_dimensions(self):
        rebuild = "INSERT INTO \"doc_vec\"\\(\"doc_vec\"\\) VALUES \\('rebuild'\\)"
        self.create(rows=20)
        with self.assertRaisesRegex(sqlite3.Error, "^doc_vec: the query is a BLOB of 8 bytes, but a vector of 3 float32 has 12$"):
            self.db.execute("SELECT id FROM doc_vec(zeroblob(8))")
        self.db.execute("UPDATE doc SET vec = x'0000803f0000803f'")
        for sql in ("SELECT id FROM doc_vec(zeroblob(8))", "SELECT id FROM doc_vec('[1, 2]')"):
            with self.assertRaisesRegex(sqlite3.Error, "; if all rows of 'doc' have 2 dimensions now, run " + rebuild):
                self.db.execute(sql)
        with self.assertRaisesRegex(sqlite3.Error, "a vector of 2 components, but the index has 3 dimensions; .*; if all rows of 'doc' "
                                    "have 2 dimensions now, run " + rebuild):
            self.command("sync")
        self.command("rebuild")
        self.assertEqual(len(self.db.execute("SELECT id FROM doc_vec('[1, 2]')").fetchall()), 20)

    def test_names_that_are_changed_and_changed_back(self):
        self.create(rows=60)
        for there, back in (("COLUMN vec TO gone", "COLUMN gone TO Vec"), ("COLUMN id TO gone", "COLUMN gone TO ID"), ("TO gone", "TO Doc"),
                            ("COLUMN code TO gone", "COLUMN gone TO code")):
            self.db.execute("ALTER TABLE doc RENAME " + there)
            self.db.execute("ALTER TABLE %s RENAME %s" % ("gone" if there == "TO gone" else "doc", back))
            self.change()
            self.expect_right()
            self.command("sync")
            self.expect_sound()

    def test_the_state_of_an_index_whose_model_is_not_there(self):
        path = os.path.join(self.folder, "model.txt")
        for version in (1, 2):
            with open(path, "w", encoding="utf-8") as file:
                file.write("".join("%s %d 2 3\n" % (word, number * version) for number, word in enumerate(WORDS, 1)))
            self.db.execute("SELECT glove_load(?, 'words')", (path,))
            if version == 1:
                self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, body)")
                self.db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content=doc, rowid=id, text=body, model=words)")
                self.db.execute("INSERT INTO doc(body) VALUES ('rain')")
                self.command("sync")
                self.assertEqual(self.db.execute("SELECT state FROM glove_indexes").fetchall(), [("current",)])
            else:
                self.expect_state_of_the_query("^doc_vec: the model 'words' has the fingerprint .*'rebuild'")
            self.db.execute("SELECT glove_unload('words')")
            self.expect_state_of_the_query("^doc_vec: there is no model 'words'")

    def expect_state_of_the_query(self, pattern):
        with self.assertRaisesRegex(sqlite3.Error, pattern) as refused:
            self.db.execute("SELECT id FROM doc_vec('rain')")
        self.assertEqual(self.db.execute("SELECT state FROM glove_indexes").fetchall(), [(str(refused.exception),)])

    @unittest.skipUnless(shutil.which("sqlite3"), "without the shell of SQLite")
    def test_a_dump(self):
        self.db = self.connect("origin.db")
        self.create(rows=60)
        self.change()
        dumped = list(self.db.iterdump())  # reads all rows of each table, also of doc_vec
        self.assertEqual(sum(line.startswith('INSERT INTO "doc"') for line in dumped), self.db.execute("SELECT count(*) FROM doc").fetchone()[0])
        shell = ["env", "-u", "LD_LIBRARY_PATH", "sqlite3", "-cmd", ".load " + EXTENSION]
        dump = subprocess.run([*shell, os.path.join(self.folder, "origin.db"), ".dump"], stdout=subprocess.PIPE, check=True).stdout
        subprocess.run([*shell, os.path.join(self.folder, "copy.db")], input=dump, check=True)
        self.expect_sound(self.connect("copy.db"))

    def test_a_query_after_one_whose_statements_could_not_be_prepared(self):
        """The connection is new each time, so that the index prepares its own statements."""
        self.create(self.connect("refused.db"))
        asked = "SELECT id FROM doc_vec WHERE query = '[1, 2, 3]' AND k = 3"
        expected = self.connect("refused.db").execute(asked).fetchall()
        self.assertEqual(len(expected), 3)
        refusals = 0
        for refused in range(1, 60):
            db, calls = self.connect("refused.db"), iter(range(1, 1 << 30))
            db.set_authorizer(lambda *_, calls=calls, refused=refused: sqlite3.SQLITE_DENY if next(calls) == refused else sqlite3.SQLITE_OK)
            try:
                db.execute(asked).fetchall()
            except sqlite3.DatabaseError:
                refusals += 1
            db.set_authorizer(None)
            self.assertEqual(db.execute(asked).fetchall(), expected, refused)
        self.assertGreater(refusals, 10)
        db = self.connect("refused.db")
        db.create_function("interrupting", 0, lambda: (db.interrupt(), "[1, 2, 3]")[1])
        with self.assertRaisesRegex(sqlite3.Error, "interrupted"):
            db.execute("SELECT id FROM doc_vec WHERE query = interrupting() AND k = 3").fetchall()
        self.assertEqual(db.execute(asked).fetchall(), expected)

    def test_an_index_with_the_name_of_a_newer_column(self):
        """As older versions made them: the file of another index, with the name replaced."""
        for name in ("recall", "among", "evidence", "rows_read"):
            with self.assertRaisesRegex(sqlite3.Error, "has a column of this name"):
                self.create(self.connect(), index=name)
            file, other = name + ".db", name[:-1] + "_"
            db = self.connect(file)
            self.create(db, index=other, rows=40)
            db.close()
            path = os.path.join(self.folder, file)
            with open(path, "rb") as source:
                content = source.read()
            with open(path, "wb") as target:
                target.write(content.replace(other.encode(), name.encode()))
            db = self.connect(file)
            db.execute("DELETE FROM doc WHERE id < 10")
            self.command("sync", db, name)
            self.assertEqual(len(db.execute("SELECT id FROM %s WHERE query = '[1, 2, 3]'" % name).fetchall()), 30)
            db.execute("DROP TABLE " + name)
            db.execute("INSERT INTO doc VALUES (1000, NULL, '[1, 2, 3]')")

    def test_an_authorizer_that_refuses(self):
        """The error is that of SQLite: nothing says that the table was changed, and nothing is done by halves."""
        self.create()
        self.change()
        tables = ["doc", "sqlite_master"] + ["doc_vec_" + name for name in ("config", "segment", "block", "dead", "log")]
        for refused in tables:
            self.db.execute("CREATE TABLE other(x)")
            self.db.execute("DROP TABLE other")  # the schema is to be checked again
            self.db.set_authorizer(lambda action, name, *_, refused=refused: sqlite3.SQLITE_DENY if name == refused else sqlite3.SQLITE_OK)
            with self.assertRaisesRegex(sqlite3.DatabaseError, "^doc_vec: (not authorized|access to %s[.].* is prohibited)$" % refused):
                for command in ("sync", "merge", "rebuild"):
                    self.command(command)
            self.db.set_authorizer(None)
            self.expect_sound()
        for refused in tables[2:6]:
            errors = [error for error in (self.refuse(command, sqlite3.SQLITE_INSERT, refused) for command in COMMANDS) if error]
            self.assertEqual(set(errors), {"doc_vec: not authorized"}, refused)  # a command may succeed that does not write this table

    def refuse(self, command, action, name=None, answer=sqlite3.SQLITE_DENY):
        """Gives a command inside a transaction while an authorizer refuses an action. Returns the error, or None."""
        self.db.execute("BEGIN")
        self.change()
        before, error = self.stored(), None
        self.db.set_authorizer(lambda asked, of, *_: answer if asked == action and name in (None, of) else sqlite3.SQLITE_OK)
        try:
            self.command(command)
        except sqlite3.DatabaseError as failure:
            error = str(failure)
        self.db.set_authorizer(None)
        if error:
            self.assertEqual(self.stored(), before)
        self.change()
        self.expect_right()
        self.db.execute("COMMIT")
        self.expect_sound()
        return error

    def test_an_authorizer_that_refuses_a_part_of_rebuild(self):
        self.create(rows=60)
        made = "^doc_vec: the trigger 'doc_vec_insert' on 'doc' was not made, because the authorizer .* ignores CREATE TRIGGER"
        exists = '^doc_vec: trigger "doc_vec_insert" already exists$'
        for action, ignored in ((sqlite3.SQLITE_CREATE_TRIGGER, made), (sqlite3.SQLITE_DROP_TRIGGER, exists),
                                (sqlite3.SQLITE_SELECT, "^doc_vec: the command 'rebuild' was not run, because the authorizer .* ignores a part of it")):
            self.assertEqual(self.refuse("rebuild", action), "doc_vec: not authorized")
            self.assertRegex(self.refuse("rebuild", action, answer=sqlite3.SQLITE_IGNORE), ignored)
        for name in ("insert", "update", "delete"):
            self.assertEqual(self.refuse("rebuild", sqlite3.SQLITE_CREATE_TRIGGER, "doc_vec_" + name), "doc_vec: not authorized")
            self.assertEqual(self.refuse("rebuild", sqlite3.SQLITE_DROP_TRIGGER, "doc_vec_" + name), "doc_vec: not authorized")

    def test_a_rebuild_that_fails_leaves_a_dropped_table_dropped(self):
        self.create(rows=60)
        self.change()
        self.db.execute("INSERT INTO doc VALUES (1000, 1000, x'00')")
        self.db.execute("DROP TABLE doc_vec_log")  # with the keys of changed rows
        self.db.execute("BEGIN")
        before = self.stored()
        with self.assertRaisesRegex(sqlite3.DatabaseError, "the row 1000 of 'doc'"):
            self.command("rebuild")
        self.assertEqual(self.stored(), before)
        self.db.execute("COMMIT")
        with self.assertRaisesRegex(sqlite3.DatabaseError, "^doc_vec: its table 'doc_vec_log' was dropped"):
            self.command("sync")
        self.db.execute("DROP TRIGGER doc_vec_delete")
        self.db.execute("DELETE FROM doc WHERE id = 1000")
        self.command("rebuild")
        self.expect_sound()

    def stored(self):
        """Returns the schema, and the rows of each table of the index."""
        schema = self.db.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()
        return [schema] + [self.db.execute("SELECT * FROM " + name).fetchall() for kind, name, _ in schema
                           if kind == "table" and name.startswith("doc_vec_")]


class Texts(Situations):
    def expect_texts(self):
        for k in (1, 5, 1 << 40):
            query = " ".join(self.source.choices(WORDS, k=2))
            self.assertEqual(self.db.execute("SELECT id, similarity FROM note_vec(?, ?)", (query, k)).fetchall(), self.db.execute(
                "SELECT id, s FROM (SELECT id, cos_sim(glove_text_vec(body, 'm'), glove_text_vec(?, 'm')) AS s FROM note) WHERE s NOT NULL "
                "ORDER BY s DESC, id LIMIT ?", (query, k)).fetchall())

    def stored(self):
        return [self.db.execute("SELECT * FROM note_vec_%s" % name).fetchall() for name in ("segment", "block", "dead", "vector", "log")]

    def write(self, rows):
        for _ in range(rows):
            text = self.source.choice((None, "", "unknown", *(" ".join(self.source.choices(WORDS, k=4)) for _ in range(7))))
            self.db.execute("INSERT OR REPLACE INTO note VALUES (?, ?)", (self.source.randrange(ROWS), text))

    def setUp(self):
        super().setUp()
        self.db = self.connect("texts.db")
        self.db.execute("CREATE TABLE words(word, v)")
        self.db.executemany("INSERT INTO words VALUES (?, ?)", ((word, str([self.source.gauss(0, 1) for _ in range(8)])) for word in WORDS))
        self.db.execute("SELECT glove_load_table('m', 'SELECT word, v FROM words')").fetchall()
        self.db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT)")
        self.db.execute("BEGIN")
        self.write(ROWS)
        self.db.execute("COMMIT")
        self.db.execute("CREATE VIRTUAL TABLE note_vec USING glove_index(content=note, rowid=id, text=body, model=m)")

    def test_commands_while_a_statement_reads(self):
        for sequence in (("merge",), ("rebuild",), ("rebuild", "rebuild"), ("sync", "merge", "rebuild", "merge")):
            self.write(40)
            expected = self.db.execute("SELECT id, similarity FROM note_vec('rain piano')").fetchall()
            reader = self.db.execute("SELECT id, similarity FROM note_vec('rain piano')")
            rows = [reader.fetchone() for _ in range(3)]
            for command in sequence:
                self.command(command, index="note_vec")
            self.assertEqual(rows + reader.fetchall(), expected)
            self.command("integrity-check", index="note_vec")
            self.expect_texts()

    def test_commands_that_fail_inside_a_transaction(self):
        """Interrupts, and a database that may not grow: nothing is left behind, vectors included."""
        self.db.execute("PRAGMA page_size = 512")
        self.db.execute("VACUUM")
        for command in COMMANDS:
            failures = 0
            for calls in [*range(1, 30, 4), *range(30, 20000, 70)]:
                self.write(20)
                self.db.execute("BEGIN")
                self.write(2)
                before, left = self.stored(), [calls]

                def stop(left=left):
                    left[0] -= 1
                    return left[0] <= 0
                if calls % 2:
                    self.db.set_progress_handler(stop, 25)
                else:
                    self.db.execute("PRAGMA max_page_count = %d" % (self.db.execute("PRAGMA page_count").fetchone()[0] + calls // 4))
                try:
                    self.command(command, index="note_vec")
                    done = True
                except sqlite3.OperationalError as error:
                    self.assertRegex(str(error), "interrupted|full")
                    done = False
                    failures += 1
                finally:
                    self.db.set_progress_handler(None, 0)
                    self.db.execute("PRAGMA max_page_count = 1000000")
                if self.db.in_transaction:
                    if not done:
                        self.assertEqual(self.stored(), before)
                    self.db.execute("COMMIT")
                if done:
                    break
            self.assertGreater(failures, 3, command)
            self.command("integrity-check", index="note_vec")
            self.expect_texts()


if __name__ == "__main__":
    EXTENSION = os.path.abspath(sys.argv.pop(1))
    fixture.skip_without_index(EXTENSION)
    unittest.main()
