"""Indexes of tables whose keys are not integers: keys_test.py EXTENSION [TEST...]. model_test.py compares them with full scans."""
import os
import random
import sqlite3
import struct
import sys
import tempfile
import unittest
import uuid

import fixture
import sessions

EXTENSION = None
SEED = os.environ.get("GLOVE_TEST_SEED") or str(random.randrange(1 << 31))


def blob(*components):
    return struct.pack("<%df" % len(components), *components)


class KeysTest(unittest.TestCase):
    def setUp(self):
        self.source = random.Random("%s %s" % (SEED, self.id()))
        folder = tempfile.TemporaryDirectory(prefix="glove-keys-")
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "keys.db")
        self.db = fixture.connect(self.path, EXTENSION)
        self.addCleanup(self.db.close)

    def vector(self):
        return blob(*(self.source.gauss(0, 1) for _ in range(4)))

    def index(self, key, content="doc", vector="v", more=""):
        self.db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content=%s, rowid='%s', vector=%s%s)" % (content, key, vector, more))

    def command(self, what):
        self.db.execute("INSERT INTO doc_vec(doc_vec) VALUES (?)", (what,))

    def entries(self):
        return self.db.execute("SELECT * FROM doc_vec_key ORDER BY id").fetchall()

    def rows(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def expect_error(self, pattern, sql, *values):
        with self.assertRaisesRegex(sqlite3.Error, pattern):
            self.db.execute(sql, values).fetchall()


class Schemas(KeysTest):
    """Tables as others have made them."""

    def expect_answers(self, table, keys, vector):
        for _ in range(3):
            query = self.vector()
            expected = self.rows("SELECT %s, cos_sim(%s, ?) AS s FROM %s WHERE s NOT NULL ORDER BY s DESC" % (keys, vector, table), query)
            self.assertEqual(len(expected), 60)
            self.assertEqual(self.rows("SELECT %s, similarity FROM doc_vec WHERE query = ? ORDER BY rank" % keys, query), expected)
            self.assertEqual(self.rows("SELECT %s, similarity FROM doc_vec(?, 7) ORDER BY rank" % keys, query), expected[:7])
            joined = self.rows("SELECT t.%s, v.rank FROM doc_vec v JOIN %s t ON %s WHERE v.query = ? AND v.k = 5 ORDER BY v.rank" % (
                keys.split(",")[0], table, " AND ".join("t.%s = v.%s" % (key, key) for key in keys.split(", "))), query)
            self.assertEqual(joined, [(row[0], rank + 1) for rank, row in enumerate(expected[:5])])

    def test_embeddings_of_llm(self):
        self.db.execute("CREATE TABLE collections(id INTEGER PRIMARY KEY, name TEXT, model TEXT)")
        self.db.execute("CREATE TABLE embeddings(collection_id INTEGER REFERENCES collections(id), id TEXT, embedding BLOB, content TEXT, "
                        "content_hash BLOB, metadata TEXT, updated INTEGER, PRIMARY KEY(collection_id, id))")
        for i in range(60):
            self.db.execute("INSERT INTO embeddings(collection_id, id, embedding) VALUES (?, ?, ?)", (i % 3, "doc/%d.md" % i, self.vector()))
        self.index("collection_id, id", "embeddings", "embedding")
        self.expect_answers("embeddings", "collection_id, id", "embedding")
        self.db.execute("INSERT OR REPLACE INTO embeddings(collection_id, id, embedding) VALUES (1, 'doc/1.md', ?)", (self.vector(),))
        self.expect_answers("embeddings", "collection_id, id", "embedding")

    def test_store_of_namespaces(self):
        self.db.execute("CREATE TABLE store(prefix TEXT NOT NULL, key TEXT NOT NULL, value TEXT, PRIMARY KEY(prefix, key)) WITHOUT ROWID")
        self.db.execute("CREATE TABLE vectors(prefix TEXT, key TEXT, field TEXT, embedding BLOB, PRIMARY KEY(prefix, key, field), "
                        "FOREIGN KEY(prefix, key) REFERENCES store(prefix, key) ON DELETE CASCADE)")
        for i in range(60):
            self.db.execute("INSERT INTO store VALUES (?, ?, '{}')", ("users.%d" % (i % 4), "k%d" % i))
            self.db.execute("INSERT INTO vectors VALUES (?, ?, '$', ?)", ("users.%d" % (i % 4), "k%d" % i, self.vector()))
        self.index("prefix, key, field", "vectors", "embedding")
        self.expect_answers("vectors", "prefix, key, field", "embedding")
        self.db.execute("PRAGMA foreign_keys = ON")
        self.db.execute("DELETE FROM store WHERE key = 'k7'")
        self.db.execute("INSERT INTO vectors SELECT prefix, key, 'title', ? FROM store WHERE key = 'k8'", (self.vector(),))
        self.expect_answers("vectors", "prefix, key, field", "embedding")

    def test_recall(self):
        self.db.execute("CREATE TABLE doc(a TEXT, b INT, v, PRIMARY KEY(a, b))")
        self.db.executemany("INSERT INTO doc VALUES ('x', ?, ?)", [(i, self.vector()) for i in range(60)])
        self.index("a, b")
        found = self.rows("SELECT json_extract(glove_recall('doc_vec', v, 5, 0.9), '$.queries', '$.mean') FROM doc WHERE b < 9")
        self.assertEqual(found, [("[9,1]",)])

    def test_uuids(self):
        for kind, made in (("TEXT", str), ("BLOB", lambda one: one.bytes)):
            with self.subTest(kind):
                self.db.execute("CREATE TABLE doc(uuid %s PRIMARY KEY NOT NULL, v BLOB)" % kind)
                for _ in range(60):
                    self.db.execute("INSERT INTO doc VALUES (?, ?)", (made(uuid.UUID(int=self.source.getrandbits(128))), self.vector()))
                self.index("uuid")
                self.expect_answers("doc", "uuid", "v")
                one = self.rows("SELECT uuid FROM doc LIMIT 1")[0][0]
                sql = "SELECT uuid FROM doc_vec WHERE query = ? AND uuid = ?"
                self.assertEqual(self.rows(sql, self.vector(), one), [(one,)])
                self.assertIn("key1=", self.rows("EXPLAIN QUERY PLAN " + sql, self.vector(), one)[0][3])
                self.db.execute("DROP TABLE doc_vec")
                self.db.execute("DROP TABLE doc")
        self.assertEqual(self.rows("SELECT name FROM sqlite_master"), [])


class Entries(KeysTest):
    """The table of the keys."""

    def setUp(self):
        super().setUp()
        self.db.execute("CREATE TABLE doc(name TEXT COLLATE NOCASE UNIQUE, v)")
        self.db.executemany("INSERT INTO doc VALUES (?, ?)", [("c", "[1, 0]"), ("a", "[1, 0]"), ("b", "[0, 1]")])
        self.index("name")

    def nearest(self):
        return [row[0] for row in self.rows("SELECT name FROM doc_vec WHERE query = '[1, 0]' ORDER BY rank")]

    def test_ties_are_in_the_order_of_insertion(self):
        self.assertEqual(self.nearest(), ["c", "a", "b"])
        self.db.execute("INSERT INTO doc VALUES ('A2', '[2, 0]')")
        for command in ("sync", "merge", "rebuild", "repair"):
            self.command(command)
            self.assertEqual(self.nearest(), ["c", "a", "A2", "b"], command)

    def test_a_change_of_case_is_another_entry(self):
        self.db.execute("UPDATE doc SET name = 'A' WHERE name = 'a'")
        self.db.execute("REPLACE INTO doc VALUES ('C', '[1, 0]')")
        self.assertEqual(self.nearest(), ["A", "C", "b"])
        self.assertEqual(self.entries(), [(1, "c"), (2, "a"), (3, "b"), (4, "A"), (5, "C")])
        self.command("merge")
        self.assertEqual(self.entries(), [(3, "b"), (4, "A"), (5, "C")])
        self.assertEqual(self.nearest(), ["A", "C", "b"])

    def test_ids_are_never_used_again(self):
        self.db.execute("DELETE FROM doc WHERE name <> 'a'")
        self.db.execute("INSERT INTO doc VALUES ('d', '[0, 2]')")
        self.db.execute("DELETE FROM doc WHERE name = 'd'")
        for command in ("merge", "rebuild", "merge"):
            self.command(command)
            self.assertEqual(self.entries(), [(2, "a"), (4, "d")])
        self.db.execute("INSERT INTO doc VALUES ('e', '[0, 3]'), ('d', '[1, 1]')")
        self.assertEqual(self.entries(), [(2, "a"), (4, "d"), (5, "e")])
        self.assertEqual(self.nearest(), ["a", "d", "e"])

    def test_keys_with_a_null_are_in_no_relation(self):
        self.db.execute("INSERT INTO doc VALUES (NULL, '[1, 0]'), (NULL, '[1, 1]')")
        self.assertEqual(self.nearest(), ["c", "a", "b"])
        self.assertEqual(self.rows("SELECT count(*) FROM doc_vec"), [(3,)])
        self.assertEqual(self.rows("SELECT state FROM glove_indexes"), [("current; 2 rows of 'doc' with NULL in the key",)])
        self.db.execute("UPDATE doc SET name = 'x' WHERE v = '[1, 1]'")
        self.db.execute("UPDATE doc SET name = NULL WHERE name = 'b'")
        self.assertEqual(self.nearest(), ["c", "a", "x"])
        self.command("sync")
        self.command("integrity-check")

    def test_triggers_of_others_are_refused(self):
        self.db.execute("CREATE TRIGGER mine BEFORE INSERT ON doc_vec_key BEGIN SELECT RAISE(IGNORE); END")
        self.expect_error("there is a trigger 'mine' on its table 'doc_vec_key'", "SELECT name FROM doc_vec('[1, 0]')")
        self.expect_error("there is a trigger 'mine' on its table 'doc_vec_key'", "SELECT * FROM doc_vec")
        self.db.execute("DROP TRIGGER mine")
        self.command("rebuild")
        self.assertEqual(self.nearest(), ["c", "a", "b"])

    def test_writers_need_no_extension(self):
        plain = sqlite3.connect(self.path, isolation_level=None)
        self.addCleanup(plain.close)
        plain.execute("PRAGMA trusted_schema = OFF")
        plain.execute("INSERT INTO doc VALUES ('plain', '[3, 0]')")
        plain.execute("INSERT INTO doc VALUES ('a', '[0, 1]') ON CONFLICT DO UPDATE SET v = excluded.v")
        self.assertEqual(self.nearest(), ["c", "plain", "a", "b"])
        self.command("integrity-check")

    def test_a_missing_entry_is_found(self):
        self.db.execute("DELETE FROM doc_vec_key WHERE k1 = 'a'")
        self.expect_error("the row 'a' of 'doc' has a key that the index has not entered", "INSERT INTO doc_vec(doc_vec) VALUES ('integrity-check')")
        self.command("rebuild")
        self.command("integrity-check")
        self.assertEqual(self.nearest(), ["c", "a", "b"])

    def test_errors_name_the_key(self):
        self.db.execute("INSERT INTO doc VALUES ('it''s', '[1]')")
        self.expect_error("the row 'it''s' of 'doc' has a vector of 1 component", "INSERT INTO doc_vec(doc_vec) VALUES ('sync')")

    def test_the_table_is_made_again(self):
        self.db.execute("DROP TABLE doc_vec_key")
        self.expect_error("its table 'doc_vec_key' was dropped; run INSERT", "SELECT name FROM doc_vec('[1, 0]')")
        self.command("rebuild")
        self.assertEqual(self.nearest(), ["c", "a", "b"])
        self.db.execute("ALTER TABLE doc_vec RENAME TO other")
        self.assertEqual(self.rows("SELECT name FROM other('[1, 0]', 1)"), [("c",)])

    def test_a_key_that_is_none_any_more(self):
        self.db.execute("CREATE TABLE other(name TEXT, v)")
        self.db.execute("CREATE UNIQUE INDEX by_name ON other(name)")
        self.db.execute("CREATE VIRTUAL TABLE other_vec USING glove_index(content=other, rowid=name, vector=v)")
        self.db.execute("DROP INDEX by_name")
        self.expect_error("the table 'other' may have several rows with the same value of 'name'; .*; the table was changed since it was indexed",
                          "SELECT name FROM other_vec('[1, 0]')")


class Conditions(KeysTest):
    """What is pushed down equals what SQLite would compare itself."""

    def setUp(self):
        super().setUp()
        self.db.execute("CREATE TABLE doc(a TEXT, b INTEGER, c, v, PRIMARY KEY(a, b, c))")
        values = ("x", "X", "5", "5.0", "", "x'78'")
        self.keys = [(a, b, c) for a in values for b in (5, 6) for c in (5, "5", b"5")]
        self.db.executemany("INSERT INTO doc VALUES (?, ?, ?, '[1, 2]')", self.keys)
        self.index("a, b, c")

    def test_values_of_any_type(self):
        for a in ("'x'", "'5'", "5", "5.0", "x'35'", "NULL", "''"):
            for b in ("5", "5.0", "'5'", "'5.0'", "5.5", "NULL"):
                for c in ("5", "'5'", "x'35'", "5.0"):
                    where = "a = %s AND b = %s AND c = %s" % (a, b, c)
                    expected = self.rows("SELECT a, b, c FROM doc WHERE " + where)
                    self.assertEqual(self.rows("SELECT a, b, c FROM doc_vec WHERE query = '[1, 2]' AND " + where), expected, where)
                    self.assertEqual(self.rows("SELECT a, b, c FROM doc_vec WHERE " + where), expected, where)

    def test_among(self):
        asked = "SELECT a, b, c FROM doc_vec WHERE query = '[1, 2]' AND among = %s ORDER BY 1, 2, 3"
        expected = self.rows("SELECT a, b, c FROM doc WHERE a = 'x' OR typeof(c) = 'blob' ORDER BY 1, 2, 3")
        self.assertEqual(self.rows(asked % "(SELECT glove_keys(a, b, c) FROM doc WHERE a = 'x' OR typeof(c) = 'blob')"), expected)
        self.assertEqual(self.rows(asked % "?", '[["x", 5, "5"], ["X", 6, 5], ["none", 1, 1]]'), [("X", 6, 5), ("x", 5, "5")])
        self.assertEqual(self.rows(asked % "NULL"), [])
        self.assertEqual(self.rows(asked % "'[]'"), [])
        for wrong in ("'[1]'", "'[[1, 2]]'", "'[[1, 2, null]]'", "'[[[1], 2, 3]]'", "'x'", "3", "x'0102'", "(SELECT glove_keys(1))", "'[[1, 2, [\"6\"]]]'", "'[[1, 2, [\"6g\"]]]'",
                      "(SELECT glove_keys('a', 'b'))", "(SELECT substr(glove_keys(a, b, c), 1, 30) FROM doc)"):
            self.expect_error("^doc_vec: among is no set of keys of 3 columns; write among = ", asked % wrong)
        self.db.execute("CREATE TABLE plain(id INTEGER PRIMARY KEY, v)")
        self.db.execute("CREATE VIRTUAL TABLE plain_vec USING glove_index(content=plain, rowid=id, vector=v)")
        self.expect_error("element 1 of among must be a 64-bit integer, but is", "SELECT id FROM plain_vec WHERE query = '[1]' AND among = (SELECT glove_keys('x'))")

    def test_a_set_sees_new_rows(self):
        asked = "SELECT a FROM doc_vec WHERE query = '[1, 2]' AND among = '[[\"new\", 1, 1]]'"
        self.assertEqual(self.rows(asked), [])
        self.db.execute("INSERT INTO doc VALUES ('new', 1, 1, '[1, 1]')")
        self.assertEqual(self.rows(asked), [("new",)])


class Restricted(KeysTest):
    def test_a_defensive_connection_writes(self):
        self.db.execute("CREATE TABLE doc(name TEXT PRIMARY KEY, v)")
        self.index("name")
        try:
            db = sessions.DefensiveConnection(self.path)
        except ImportError:
            self.skipTest("without apsw")
        db.execute("INSERT INTO doc VALUES ('x', '[1, 2]')")
        db.execute("UPDATE doc SET name = 'y'")
        db.close()
        self.assertEqual(self.rows("SELECT name FROM doc_vec('[1, 2]')"), [("y",)])


if __name__ == "__main__":
    EXTENSION = os.path.abspath(sys.argv.pop(1))
    fixture.skip_without_index(EXTENSION)
    unittest.main()
