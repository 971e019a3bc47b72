"""Conditions, commands and messages at their edges: edges_test.py GLOVE_SO

Each case is one that a changed bound or condition of the planner, of RankedScan or of an index would answer otherwise, while all
other tests pass (tests/mutants). Rows are compared with those of a scan.
"""
import contextlib
import json
import os
import random
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest

EXTENSION = sys.argv.pop(1)
SEED = int(os.environ.get("GLOVE_TEST_SEED") or random.randrange(1 << 30))
ROWS, DIMS = 2000, 4


class Edges(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        self.db = sqlite3.connect(":memory:", isolation_level=None)
        self.addCleanup(self.db.close)
        self.db.enable_load_extension(True)
        self.db.load_extension(EXTENSION)
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, vec BLOB, least REAL)")
        self.db.execute("BEGIN")
        self.vectors = {i: [self.random.gauss(0, 1) for _ in range(DIMS)] for i in range(1, ROWS + 1)}
        for i, vector in self.vectors.items():
            self.db.execute("INSERT INTO doc VALUES (?, ?, ?)", (i, self.blob(vector), 0.9 if i <= 20 else self.random.choice((-2.0, 0.3, 0.9))))
        self.db.execute("COMMIT")
        self.db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec')")
        self.asked = self.blob([self.random.gauss(0, 1) for _ in range(DIMS)])
        self.ranked = self.rows("SELECT id FROM doc ORDER BY cos_sim(vec, ?) DESC, id", self.asked)

    def run(self, result=None):
        with self.subTest(seed=SEED):
            return super().run(result)

    @staticmethod
    def blob(vector):
        return struct.pack(f"<{len(vector)}f", *vector)

    def rows(self, sql, *values):
        found = self.db.execute(sql, values).fetchall()
        return [row[0] for row in found] if found and len(found[0]) == 1 else found

    def load_model(self):
        self.db.execute("SELECT glove_load_table('edges', 'SELECT ''w'' || id, vec FROM doc ORDER BY id')")
        self.addCleanup(self.db.execute, "SELECT glove_unload('edges')")

    def test_a_bound_that_differs_from_row_to_row(self):
        """Lookups by key remember the other values of a call, numbers as well."""
        wanted = self.rows("SELECT id FROM doc WHERE cos_sim(vec, ?) >= least ORDER BY id", self.asked)
        for columns in ("v.id", "v.id, v.rank"):
            found = self.db.execute(f"SELECT {columns} FROM doc d CROSS JOIN doc_vec v ON v.id = d.id AND v.query = ? AND v.similarity >= d.least "
                                    "ORDER BY d.id", (self.asked,)).fetchall()
            self.assertEqual([row[0] for row in found], wanted)

    def test_some_rows_in_the_order_of_their_ranks(self):
        some = [1, 5, 9, 33, 77, 500, 1500, 1999]
        wanted = [(id, rank) for rank, id in enumerate(self.ranked, 1) if id in some]
        for k in (ROWS, 1000):
            for _ in range(6):  # kept ranks answer the later ones
                found = self.rows(f"SELECT id, rank FROM doc_vec WHERE query = ? AND k = {k} AND id IN (1, 5, 9, 33, 77, 500, 1500, 1999) ORDER BY rank", self.asked)
                self.assertEqual(found, [row for row in wanted if row[1] <= k])

    def test_the_last_rank_of_some_words(self):
        self.load_model()
        last = 1500
        words = [f"w{self.ranked[rank - 1]}" for rank in (1, 2, last - 1, last, last + 1)]
        for _ in range(6):
            found = self.rows(f"SELECT neighbor, rank FROM glove_nn WHERE model = 'edges' AND expr = ? AND rank <= {last} AND neighbor IN (?, ?, ?, ?, ?) "
                              "ORDER BY rank", self.asked, *words)
            self.assertEqual(found, list(zip(words, (1, 2, last - 1, last))))
            found = self.rows(f"SELECT neighbor FROM glove_nn WHERE model = 'edges' AND expr = ? AND rank >= 2 AND rank <= {last} AND neighbor IN (?, ?, ?, ?, ?) "
                              "ORDER BY rank", self.asked, *words)
            self.assertEqual(found, words[1:4])

    def test_a_row_by_its_rowid(self):
        for id in (self.ranked[0], self.ranked[7], ROWS):
            with self.subTest(id):
                self.assertEqual(self.rows("SELECT id, rank FROM doc_vec WHERE query = ? AND rowid = ?", self.asked, id), [(id, self.ranked.index(id) + 1)])
                self.assertEqual(self.rows("SELECT id FROM doc_vec WHERE query = ? AND rowid IN (?, -5)", self.asked, id), [id])
        self.assertEqual(self.rows("SELECT id FROM doc_vec WHERE query = ? AND rowid = 5 AND id = 6", self.asked), [])
        for _ in range(2):  # that a search met nothing of row 6 is nothing to remember
            self.assertEqual(self.rows("SELECT id FROM doc_vec WHERE query = ? AND id = 6 AND rowid = 6", self.asked), [6])

    def test_many_keys_in_no_order(self):
        keys = list(range(-30_000, 30_000))
        self.random.shuffle(keys)
        blob = struct.pack(f"<{len(keys)}q", *keys)
        for among in (blob, str(keys)):
            self.assertEqual(self.rows("SELECT id FROM doc_vec WHERE query = ? AND k = 9 AND among = ?", self.asked, among), self.ranked[:9])

    def test_a_query_that_only_looks_like_a_number(self):
        for query, shown in (("e5", "the text 'e5'"), ("-", "the text '-'"), ("1e5", "1e5"), ("12", "12"), ("", "the text ''"), ("1x", "the text '1x'")):
            with self.subTest(query), self.assertRaisesRegex(sqlite3.Error, f"the query is {shown}, but the index has no model to make a vector of it"):
                self.rows("SELECT id FROM doc_vec WHERE query = ?", query)

    def test_k_is_no_range(self):
        self.load_model()
        for operator in ("<", "<=", ">", ">="):
            with self.subTest(operator), self.assertRaisesRegex(sqlite3.Error, "k is an input, so it must be a value and not a range"):
                self.rows(f"SELECT neighbor FROM glove_nn WHERE expr = ? AND model = 'edges' AND k {operator} 3", self.asked)

    def test_an_order_by_an_input_that_was_not_given(self):
        self.load_model()
        with self.assertRaisesRegex(sqlite3.Error, "k"):
            self.rows("SELECT neighbor FROM glove_nn WHERE expr = ? AND model = 'edges' ORDER BY k, rank", self.asked)
        self.assertEqual(self.rows("SELECT id FROM doc_vec WHERE query = ? AND k = 3 ORDER BY k, query, rank", self.asked), self.ranked[:3])

    def test_the_text_of_among_is_shown_whole_up_to_60_characters(self):
        for length, end in ((60, "x\""), (61, "x\"...")):
            with self.assertRaisesRegex(sqlite3.Error, "is the text \"x{60}\"" + ("" if length == 60 else r"\.\.\.") + ";"):
                self.rows("SELECT id FROM doc_vec WHERE query = ? AND among = ?", self.asked, "x" * length)

    def test_statistics_have_the_rows_of_a_search_without_k(self):
        self.assertEqual(self.rows("SELECT id FROM doc_vec WHERE query = ?", self.asked), self.ranked)
        self.assertEqual(self.rows("SELECT k FROM glove_stats LIMIT 1"), [ROWS])

    def test_formats_of_other_versions(self):
        rebuild = "INSERT INTO .doc_vec.\\(.doc_vec.\\) VALUES \\('rebuild'\\)"
        for version, says in ((0, f"version 0, but this extension reads version 1; run {rebuild}, which makes the index again"),
                              (9, "version 9, but this extension reads no later one than 4; use the newer extension that wrote it, or drop the index")):
            with self.subTest(version):
                self.db.execute("UPDATE doc_vec_config SET value = ? WHERE key = 'version'", (version,))
                with self.assertRaisesRegex(sqlite3.Error, says):
                    self.rows("SELECT id FROM doc_vec WHERE query = ?", self.asked)

    def test_segments_with_more_rows_than_an_index_can_have(self):
        self.db.execute("INSERT INTO doc VALUES (5000, ?, 0)", (self.asked,))
        self.db.execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
        self.assertEqual(self.rows("SELECT id FROM doc_vec_segment"), [1, 2])
        for rows, which, says in ((1 << 32, 1, "the segment 1 has 4294967296 rows"), (0, 2, "the segment 2 has 0 rows"),
                                  (2_147_483_000, 0, "the segment 2 has 2147483000 rows")):  # both together
            with self.subTest(says):
                self.db.execute("BEGIN")
                self.db.execute("UPDATE doc_vec_segment SET rows = ? WHERE ? IN (0, id)", (rows, which))
                with self.assertRaisesRegex(sqlite3.Error, says):
                    self.rows("SELECT id FROM doc_vec WHERE query = ?", self.asked)
                self.db.execute("ROLLBACK")

    def test_lists_of_dead_rows_that_do_not_fit(self):
        self.db.execute("INSERT INTO doc(id, vec) VALUES (5000, ?)", (self.asked,))
        self.db.execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
        for segment, bits, says in ((99, b"\0", "it has a list of dead rows of the segment 99"),
                                    (1, b"\0", "the list of dead rows of the segment 1 does not fit its 2000 rows"),
                                    (2, b"\2", "the list of dead rows of the segment 2 does not fit its 1 rows")):
            with self.subTest(segment):
                self.db.execute("BEGIN")
                self.db.execute("INSERT INTO doc_vec_dead(segment, bits) VALUES (?, ?)", (segment, bits))
                with self.assertRaisesRegex(sqlite3.Error, says):
                    self.rows("SELECT id FROM doc_vec WHERE query = ?", self.asked)
                self.db.execute("ROLLBACK")

    def test_a_fingerprint_in_an_index_of_vectors(self):
        self.db.execute("UPDATE doc_vec_config SET value = 'x' WHERE key = 'fingerprint'")
        with self.assertRaisesRegex(sqlite3.Error, "doc_vec is damaged: it has the fingerprint"):
            self.rows("SELECT id FROM doc_vec WHERE query = ?", self.asked)

    def test_a_model_of_other_dimensions(self):
        self.db.execute("CREATE TABLE word(word, vector)")
        self.db.execute("INSERT INTO word VALUES ('a', '[1, 2, 3]')")
        self.db.execute("SELECT glove_load_table('other', 'SELECT word, vector FROM word')")
        self.addCleanup(self.db.execute, "SELECT glove_unload('other')")
        self.db.execute("CREATE VIRTUAL TABLE with_model USING glove_index(content='doc', rowid='id', vector='vec', model='other')")
        with self.assertRaisesRegex(sqlite3.Error, "3 dimensions, but the index has 4; load a model of 4 dimensions under this name"):
            self.rows("SELECT id FROM with_model WHERE query = 'a'")

    def test_a_vector_of_more_components_than_any_index_has(self):
        self.db.execute("INSERT INTO doc(vec) VALUES (zeroblob(4 * 65537))")
        with self.assertRaisesRegex(sqlite3.Error, "has a vector of 65537 components; the most is 65536"):
            self.db.execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")

    def test_an_unknown_pushdown(self):
        os.environ["GLOVE_NN_DISABLE"] = "rank,ranks"
        self.addCleanup(os.environ.pop, "GLOVE_NN_DISABLE")
        other = sqlite3.connect(":memory:")
        self.addCleanup(other.close)
        other.enable_load_extension(True)
        other.load_extension(EXTENSION)
        with self.assertRaisesRegex(sqlite3.Error, "GLOVE_NN_DISABLE contains the unknown pushdown 'ranks'; the pushdowns are: neighbor_equal, "):
            other.execute("SELECT * FROM glove_nn WHERE word = 'a'")

    def test_a_rebuild_of_another_content(self):
        for change, says in (("ALTER TABLE doc RENAME COLUMN vec TO other", "the table 'doc' has no column 'vec', which the argument vector names"),
                             ("DROP TABLE doc", "there is no table 'doc' in the schema main, where the index is")):
            self.db.execute(change)
            with self.subTest(change), self.assertRaisesRegex(sqlite3.Error, says):
                self.db.execute("INSERT INTO doc_vec(doc_vec) VALUES ('rebuild')")

    def test_rows_that_a_search_has_read_for_one_row(self):
        for id in (self.ranked[0], self.ranked[1500]):
            rank = self.ranked.index(id) + 1
            with self.subTest(rank=rank):
                self.assertEqual(self.rows("SELECT rank, rows_read FROM doc_vec WHERE query = ? AND id = ?", self.asked, id), [(rank, ROWS)])

    def test_recall_of_an_index_without_lists_whose_codes_are_not_in_memory(self):
        self.addCleanup(self.db.execute, "SELECT glove_config('index_memory', ?)", self.db.execute("SELECT glove_config('index_memory')").fetchone())
        self.rows("SELECT id FROM doc_vec WHERE query = ? AND k = 3", self.asked)
        device = self.rows("SELECT backend, device FROM glove_stats LIMIT 1")
        self.db.execute("SELECT glove_config('index_memory', 1)")
        self.db.execute("DROP TABLE doc_vec")
        self.db.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec')")
        for k in (3, 10):
            found = self.rows("SELECT id, evidence, rows_read FROM doc_vec WHERE query = ? AND k = ? AND recall = 0.9", self.asked, k)
            self.assertEqual(found, [(id, "proof", ROWS) for id in self.ranked[:k]])
            self.assertEqual(self.rows("SELECT backend, device FROM glove_stats LIMIT 1"), device)

    def test_a_segment_that_is_longer_than_the_connection_allows(self):
        for id in range(5000, 5200):
            self.db.execute("INSERT INTO doc(id, vec) VALUES (?, ?)", (id, self.asked))
        self.db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 3000)
        with self.assertRaisesRegex(sqlite3.Error, "the command must write a BLOB of 4096 bytes, but SQLITE_LIMIT_LENGTH of this connection is 3000"):
            self.db.execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")

    def test_a_limit_of_the_connection_that_is_too_low(self):
        self.db.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, 2)
        with self.assertRaisesRegex(sqlite3.Error, "; SQLITE_LIMIT_COLUMN of this connection is 2; raise the limit, or use a connection"):
            self.rows("SELECT id FROM doc_vec WHERE query = ?", self.asked)

    def test_an_error_of_the_content_names_no_limit(self):
        self.db.execute("ALTER TABLE doc RENAME COLUMN vec TO other")
        with self.assertRaises(sqlite3.Error) as caught:
            self.rows("SELECT id FROM doc_vec WHERE query = ?", self.asked)
        self.assertNotIn("LIMIT", str(caught.exception))
        self.assertNotRegex(str(caught.exception), "disk I/O error")

    def test_a_block_that_is_missing(self):
        self.addCleanup(self.db.execute, "SELECT glove_config('index_memory', ?)", self.db.execute("SELECT glove_config('index_memory')").fetchone())
        self.db.execute("DELETE FROM doc_vec_block WHERE number = (SELECT max(number) FROM doc_vec_block)")
        for memory in ("0", "1"):  # all blocks at once, or one after the other
            with self.subTest(memory):
                self.db.execute("SELECT glove_config('index_memory', ?)", (memory,))
                with self.assertRaisesRegex(sqlite3.Error, "doc_vec is damaged: the segment 1 has no block number"):
                    self.db.execute("INSERT INTO doc_vec(doc_vec) VALUES ('integrity-check')")

    def test_keys_of_too_few_and_too_many_columns(self):
        self.assertEqual(len(self.rows(f"SELECT glove_keys({', '.join(['id'] * 16)}) FROM doc")), 1)
        for count in (0, 17):
            with self.assertRaisesRegex(sqlite3.Error, f"glove_keys: a key has 1 to 16 columns, but {count} arguments are given"):
                self.rows(f"SELECT glove_keys({', '.join(['id'] * count)}) FROM doc")

    def test_invalid_is_error_or_skip(self):
        with self.assertRaisesRegex(sqlite3.Error, "other: invalid must be 'error' or 'skip', but is 'maybe'"):
            self.db.execute("CREATE VIRTUAL TABLE other USING glove_index(content='doc', rowid='id', vector='vec', invalid='maybe')")

    def expect_errors(self, *cases):
        """Each case is a statement that must fail, its message, and statements before it, which are undone."""
        for statement, says, *before in cases:
            with self.subTest(statement=statement, before=before):
                self.db.execute("BEGIN")
                for change in before:
                    self.db.execute(change)
                with self.assertRaisesRegex(sqlite3.Error, says):
                    self.db.execute(statement).fetchall()
                self.db.execute("ROLLBACK")

    def test_definitions_that_cannot_be(self):
        create = "CREATE VIRTUAL TABLE other USING glove_index({})"
        self.expect_errors(
            (create.format("content='doc_vec', rowid='id', vector='query'"), "other: 'doc_vec' is a virtual table, which cannot have triggers; index an ordinary table"),
            (create.format("content='doc', rowid='id', vector='vec', options='{}'"), "other: options are those of a model; give model as well"),
            (create.format("doc, rowid='id', vector='vec'"), r"other: 'doc' is not an argument; write USING glove_index\(content='doc', "))

    def test_a_key_that_is_no_longer_the_primary_key(self):
        self.expect_errors(
            ("SELECT id FROM doc_vec WHERE query = '[1, 2, 3, 4]'", "doc_vec: the table 'doc' has the column 'id', but it is not its INTEGER PRIMARY KEY, as it was when",
             "DROP TABLE doc", "CREATE TABLE doc(id INTEGER, vec BLOB)"))

    def test_keys_of_every_type(self):
        """A key compares with values of other types as the column of the table does."""
        values = ("7", "7.0", "7.5", "x", "1e2", " 7", "", 7, 8.5, b"7", 10 ** 17, 1e300)
        for column, option in (("TEXT", ""), ("VARCHAR(10)", ""), ("CLOB", ""), ("REAL", ""), ("FLOAT", ""), ("DOUBLE", ""), ("DECIMAL", ""), ("CHARINT", ""),
                               ("BLOB", ""), ("", ""), ("ANY", ""), ("ANY", ", STRICT")):
            with self.subTest(column + option):
                self.db.execute(f"CREATE TABLE keyed(key {column} PRIMARY KEY NOT NULL, vec ANY) WITHOUT ROWID{option}")
                for number, value in enumerate(values):
                    self.db.execute("INSERT OR IGNORE INTO keyed VALUES (?, json_array(1, ?))", (value, number))
                self.db.execute("CREATE VIRTUAL TABLE keyed_vec USING glove_index(content='keyed', rowid='key', vector='vec')")
                self.assertEqual(self.rows("SELECT key, typeof(key) FROM keyed_vec WHERE query = '[1, 0]' ORDER BY rank"),
                                 self.rows("SELECT key, typeof(key) FROM keyed ORDER BY cos_sim(vec, '[1, 0]') DESC"))
                for value in values:
                    wanted = self.rows("SELECT key, typeof(key) FROM keyed WHERE key = ?", value)
                    self.assertEqual(self.rows("SELECT key, typeof(key) FROM keyed_vec WHERE query = '[1, 0]' AND key = ?", value), wanted, value)
                self.db.execute("UPDATE keyed SET vec = '[2, 1]' WHERE key = 7")
                for command in ("sync", "integrity-check"):
                    self.db.execute("INSERT INTO keyed_vec(keyed_vec) VALUES (?)", (command,))
                self.db.execute("DROP TABLE keyed_vec")
                self.db.execute("DROP TABLE keyed")

    def test_sets_of_keys_of_one_column(self):
        wrong = "kept_vec: among is no set of keys of 1 column; write among = .SELECT glove_keys.key. FROM doc WHERE "
        for column in ("INTEGER", "TEXT", "REAL"):
            self.db.execute(f"CREATE TABLE kept(key {column} PRIMARY KEY NOT NULL, vec) WITHOUT ROWID")
            self.db.execute("INSERT INTO kept VALUES (7, '[1, 0]'), (8, '[1, 1]'), (9, '[1, 3]')")
            self.db.execute("CREATE VIRTUAL TABLE kept_vec USING glove_index(content='kept', rowid='key', vector='vec')")
            select = "SELECT CAST(key AS INTEGER) FROM kept_vec WHERE query = '[1, 0]' AND among = "
            for among, keys in (("(SELECT glove_keys(key) FROM kept WHERE key <> 8)", [7, 9]), ("'[9, 7, 5, 9]'", [7, 9]), ("'[7.5]'", []), ("'[]'", []),
                                ("""'["8"]'""", [8]), ("x'0900000000000000'", [9]), ("'[8.0]'", [] if column == "TEXT" else [8])):
                with self.subTest(column, among=among):
                    self.assertEqual(self.rows(select + among), keys)
            self.expect_errors(*((select + among, wrong) for among in ("x'07'", "'x'", "5", "'[null]'", "'{}'", "'[[7]]'", "'[7'")))
            self.db.execute("DROP TABLE kept_vec")
            self.db.execute("DROP TABLE kept")

    def test_a_set_of_keys_is_looked_up_again_once_rows_have_changed(self):
        self.db.execute("CREATE TABLE named(name TEXT PRIMARY KEY, vec BLOB)")
        self.db.execute("INSERT INTO named SELECT 'row ' || id, vec FROM doc WHERE id <= 50")
        self.db.execute("CREATE VIRTUAL TABLE named_vec USING glove_index(content='named', rowid='name', vector='vec')")
        names = json.dumps([f"row {i}" for i in range(40, 60)])

        def check(last):
            found = self.rows("SELECT name FROM named_vec WHERE query = ? AND k = 100 AND among = ?", self.asked, names)
            self.assertEqual(sorted(found), [f"row {i}" for i in range(40, last + 1)])

        check(50)
        with contextlib.closing(self.db.execute("SELECT name FROM named_vec WHERE query = ? AND k = 100 AND among = ?", (self.asked, names))) as held:
            held.fetchone()
            self.db.execute("INSERT INTO named SELECT 'row ' || id, vec FROM doc WHERE id = 51")
            with self.assertRaises(sqlite3.OperationalError):  # after which the set that is still held is not that of the rows
                self.rows("SELECT name FROM named_vec WHERE query = ? AND k = 1 AND among = ?", self.asked, '["row 1", {}]')
            check(51)
        self.db.execute("DELETE FROM named WHERE name = 'row 51'")
        for begin, end in (("", ""), ("BEGIN", "ROLLBACK"), ("BEGIN", "COMMIT")):
            self.db.execute(begin)
            self.db.execute("DELETE FROM named WHERE name > 'row 49' AND name < 'row 6'")
            check(49)
            self.db.execute("INSERT INTO named SELECT 'row ' || id, vec FROM doc WHERE id BETWEEN 50 AND 55")
            check(55)
            self.db.execute(end)
            check(50 if end == "ROLLBACK" else 55)
            self.db.execute("DELETE FROM named WHERE name BETWEEN 'row 51' AND 'row 59'")

    def test_a_join_looks_a_set_of_keys_up_once(self):
        self.db.execute("CREATE TABLE named(name TEXT PRIMARY KEY, vec BLOB)")
        self.db.execute("INSERT INTO named SELECT 'row ' || id, vec FROM doc WHERE id <= 200")
        self.db.execute("CREATE VIRTUAL TABLE named_vec USING glove_index(content='named', rowid='name', vector='vec')")
        join = ("SELECT count(*) FROM named d CROSS JOIN named_vec v ON v.query = d.vec AND v.k = 1 "
                "AND v.among = (SELECT glove_keys(name) FROM named WHERE name > 'row 1')")

        def steps():
            """Of SQLite's machine, in hundreds, those of the index's own statements included."""
            count = [0]
            self.db.set_progress_handler(lambda: count.__setitem__(0, count[0] + 1), 100)
            self.assertEqual(self.rows(join), [200])
            self.db.set_progress_handler(None, 0)
            return count[0]

        once = steps()
        self.db.execute("BEGIN IMMEDIATE")
        self.db.execute("UPDATE doc SET least = least WHERE id = 1")  # from here on, for each row of the outer table
        self.assertLess(once, steps() / 10)
        self.db.execute("ROLLBACK")

    def test_rows_and_options_that_make_no_model(self):
        self.load_model()
        table = "SELECT glove_load_table('wrong', 'SELECT {}')"
        self.expect_errors(
            *((table.format(f"{word}, ''[1]''"), f"row 1 has a word of type {name}; a word must be TEXT or INTEGER") for word, name in
              (("x''00''", "BLOB"), ("1.5", "REAL"), ("NULL", "NULL"))),
            *((table.format(f"1, {vector}"), f"row 1 has a vector of type {name}; a vector must be a BLOB of float32 or a JSON array") for vector, name in
              (("7", "INTEGER"), ("1.5", "REAL"), ("NULL", "NULL"))),
            (table.format("column1, ''[1]'', 1e308 FROM (VALUES (1), (2))"), "the frequencies must have a finite sum above 0"),
            (table.format("column1, ''[1]'', 0 FROM (VALUES (1), (2))"), "the frequencies must have a finite sum above 0"),
            ("SELECT glove_save('edges', '/tmp/a' || char(0) || 'b')", "glove_save: the path must not be empty or contain a NUL byte"),
            ("SELECT glove_save('edges', '')", "glove_save: the path must not be empty or contain a NUL byte"),
            *((f"SELECT glove_load('/nowhere', 'wrong', '{{\"threads\":{threads}}}')", "must be an integer from 0 .all cores. to 1024") for threads in (1025, -1, 1.5)))
        self.assertEqual(self.rows("SELECT name FROM glove_models"), ["edges"])

    def test_words_of_the_toolbox(self):
        self.load_model()
        every = self.rows("SELECT variance FROM glove_pca(1, NULL, 'edges')")
        self.assertEqual(self.rows("SELECT variance FROM glove_pca(1, ?, 'edges')", 10 * ROWS), every)
        for words, shown in (("x'00'", "a BLOB"), ("-1", "-1"), ("1.5", "1.5")):
            self.expect_errors((f"SELECT * FROM glove_pca(1, {words}, 'edges')", f"glove_pca: words is {shown}, but must be a non-negative integer n"))

    def test_a_key_of_type_any_in_an_index_of_an_earlier_version(self):
        """It took ANY for a type in every table."""
        self.db.execute("CREATE TABLE keyed(key ANY PRIMARY KEY NOT NULL, vec)")
        self.db.execute("INSERT INTO keyed VALUES ('7', '[1, 0]'), ('x', '[1, 1]')")
        self.db.execute("CREATE VIRTUAL TABLE keyed_vec USING glove_index(content='keyed', rowid='key', vector='vec')")
        self.assertEqual(self.rows("SELECT sql LIKE '%(id INTEGER UNIQUE, k1 NUMERIC, %' FROM sqlite_schema WHERE name = 'keyed_vec_key'"), [1])
        self.db.execute("PRAGMA writable_schema = ON")
        self.db.execute("UPDATE sqlite_schema SET sql = replace(sql, 'k1 NUMERIC', 'k1 BLOB') WHERE name = 'keyed_vec_key'")
        self.db.execute("PRAGMA schema_version = 99")
        self.assertEqual(self.rows("SELECT key FROM keyed_vec WHERE query = '[1, 0]' ORDER BY rank"), [7, "x"])
        self.db.execute("INSERT INTO keyed VALUES ('8', '[1, 2]')")
        for command in ("sync", "integrity-check", "rebuild"):
            self.db.execute("INSERT INTO keyed_vec(keyed_vec) VALUES (?)", (command,))
        self.assertEqual(self.rows("SELECT key FROM keyed_vec WHERE query = '[1, 0]' ORDER BY rank"), [7, "x", 8])

    def test_names_with_quotes_of_a_table_with_autoincrement(self):
        content, index = """ "it's a [b] ""c" """.strip(), """ "an ""index's" """.strip()
        self.db.execute(f"CREATE TABLE {content}(id INTEGER PRIMARY KEY AUTOINCREMENT, [vec's] BLOB)")
        self.db.execute(f"""CREATE VIRTUAL TABLE {index} USING glove_index(content="it's a [b] ""c", rowid=id, vector="vec's", check=yes)""")
        for statement in (f"INSERT INTO {content}([vec's]) VALUES ('[1, 0]'), ('[0, 1]')", f"DELETE FROM {content} WHERE id = 2",
                          f"INSERT INTO {content}([vec's]) VALUES ('[2, 1]')", f"REPLACE INTO {content} VALUES (1, '[-1, 0]')",
                          f"INSERT OR IGNORE INTO {content} VALUES (1, '[1, 1]'), (9, '[1, 2]')"):
            self.db.execute(statement)
            self.assertEqual(self.rows(f"SELECT id FROM {index} WHERE query = '[1, 0]' ORDER BY rank"),
                             self.rows(f"SELECT id FROM {content} ORDER BY cos_sim([vec's], '[1, 0]') DESC, id"))
        self.expect_errors((f"INSERT INTO {content}([vec's]) VALUES ('x')", "an \"index's: the vector .* no JSON"))
        for command in ("sync", "integrity-check"):
            self.db.execute(f"INSERT INTO {index}({index}) VALUES (?)", (command,))

    def test_vectors_that_cannot_be(self):
        too_large = "has a vector whose component 3 is too large for a number"
        self.expect_errors(
            ("SELECT id FROM doc_vec WHERE query = '[1, 2, 1e999, 4]'", "doc_vec: the query " + too_large),
            ("INSERT INTO doc_vec(doc_vec) VALUES ('sync')", f"doc_vec: the row 7 of 'doc' {too_large}; correct the row",
             "UPDATE doc SET vec = '[1, 2, -1e999, 4]' WHERE id = 7"),
            ("SELECT id FROM none WHERE query = x'0102'", "the query is a BLOB of 2 bytes, but a vector of float32 has 4 bytes per component",
             "CREATE TABLE empty(id INTEGER PRIMARY KEY, vec)", "CREATE VIRTUAL TABLE none USING glove_index(content='empty', rowid='id', vector='vec')"))

    def test_damage_of_segments_and_lists(self):
        self.db.execute("CREATE VIRTUAL TABLE listed USING glove_index(content='doc', rowid='id', vector='vec', lists=2)")
        self.db.execute("CREATE VIRTUAL TABLE shifted USING glove_index(content='doc', rowid='id', vector='vec', metric='l2')")
        query, *commands = "SELECT id FROM {0} WHERE query = '[1, 2, 3, 4]'", "INSERT INTO {0}({0}) VALUES ('integrity-check')", "INSERT INTO {0}({0}) VALUES ('merge')"
        cases = [("doc_vec", "two segments have the row 1", "INSERT INTO doc_vec_segment SELECT 2, uuid, rows, crc FROM doc_vec_segment",
                  "INSERT INTO doc_vec_block SELECT 2, number, data FROM doc_vec_block", commands),
                 ("doc_vec", "it has segments, but no dimensions", "DELETE FROM doc_vec_config WHERE key = 'dims'", [query, *commands]),
                 ("doc_vec", "it has segments, but no dimensions", "UPDATE doc_vec_config SET value = 0 WHERE key = 'dims'", [query, *commands]),
                 ("doc_vec", "it has -1 dimensions", "UPDATE doc_vec_config SET value = -1 WHERE key = 'dims'", [query, *commands]),
                 ("doc_vec", "it has 65537 dimensions", "UPDATE doc_vec_config SET value = 65537 WHERE key = 'dims'", [query, *commands]),
                 ("listed", "its lists have a block that does not belong to them", "UPDATE listed_block SET number = 1 WHERE segment = 0", commands),
                 ("listed", "its lists have a block that does not belong to them", "UPDATE listed_block SET data = x'' WHERE segment = 0", commands),
                 ("shifted", "the segment 1 has not the codes that the metric 'cosine' needs", "PRAGMA writable_schema = ON",
                  "UPDATE sqlite_schema SET sql = replace(sql, ', metric=''l2''', '') WHERE name = 'shifted'", "PRAGMA schema_version = 99", commands[:1])]
        for name, damage, *changes, uses in cases:
            self.expect_errors(*((use.format(name), f"{name} is damaged: {damage}; run INSERT INTO .{name}.\\(.{name}.\\) VALUES \\('rebuild'\\)", *changes) for use in uses))

    def test_a_log_that_is_long(self):
        self.db.execute("CREATE TABLE many(id INTEGER PRIMARY KEY, vec)")
        self.db.execute("CREATE VIRTUAL TABLE many_vec USING glove_index(content='many', rowid='id', vector='vec')")
        for count, state in ((10_000, "changed"), (1, "sync is due")):
            self.db.execute("WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ?) INSERT INTO many(vec) SELECT '[1]' FROM c", (count,))
            self.assertEqual(self.rows("SELECT state FROM glove_indexes WHERE name = 'many_vec'"), [state])

    def test_an_index_of_texts_whose_model_has_other_dimensions(self):
        self.addCleanup(self.db.execute, "SELECT glove_unload('small')")
        self.db.execute("SELECT glove_load_table('small', 'SELECT ''a'', ''[1, 2]''')")
        self.db.execute("CREATE TABLE note(id INTEGER PRIMARY KEY, body)")
        self.db.execute("INSERT INTO note VALUES (1, 'a')")
        self.db.execute("CREATE VIRTUAL TABLE note_vec USING glove_index(content='note', rowid='id', text='body', model='small')")
        self.db.execute("SELECT glove_load_table('small', 'SELECT ''a'', ''[1, 2, 3]''')")
        with self.assertRaisesRegex(sqlite3.Error, "3 dimensions, but the index has 2; load a model of 2 dimensions under this name, or run INSERT .* to adopt this one"):
            self.rows("SELECT id FROM note_vec WHERE query = 'a'")
        self.db.execute("INSERT INTO note_vec(note_vec) VALUES ('rebuild')")
        self.assertEqual(self.rows("SELECT id FROM note_vec WHERE query = 'a'"), [1])

    def test_common_components_of_rows_that_are_too_long(self):
        self.db.execute("SELECT glove_load_table('wide', ?)", (f"SELECT 'a', '[{','.join(['1'] * 2049)}]'",))
        self.addCleanup(self.db.execute, "SELECT glove_unload('wide')")
        with self.assertRaisesRegex(sqlite3.Error, "has 2049 dimensions; principal components are computed for at most 2048; the option \"components\":0 needs none"):
            self.rows("SELECT glove_text_vec('a', 'wide', '{\"components\":1}')")

    def test_a_sorted_order_that_names_no_word(self):
        self.load_model()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "damaged.safetensors")
        self.db.execute("SELECT glove_save('edges', ?)", (path,))
        with open(path, "r+b") as file:
            length = int.from_bytes(file.read(8), "little")
            tensors = json.loads(file.read(length))
            file.seek(8 + length + tensors["sorted_ids"]["data_offsets"][0])
            file.write(b"\xff" * 4)
        self.db.execute("SELECT glove_load(?, 'damaged')", (path,))
        self.addCleanup(self.db.execute, "SELECT glove_unload('damaged')")
        with self.assertRaisesRegex(sqlite3.Error, "damaged.safetensors: the sorted order of the words is damaged at position 0"):
            self.rows("SELECT word, id FROM glove_words WHERE model = 'damaged' ORDER BY word")

    def test_models_that_no_backend_can_search(self):
        script = ("import sqlite3, sys; db = sqlite3.connect(':memory:'); db.enable_load_extension(True); db.load_extension(sys.argv[1]); "
                  "db.execute('SELECT glove_load_table(?, ?)', ('m', \"SELECT 'a', '[1,2]'\")); "
                  "print(*db.execute('SELECT backend, state, passed_over FROM glove_models').fetchone(), sep='|')")
        done = subprocess.run([sys.executable, "-c", script, EXTENSION], capture_output=True, text=True, check=True, env={**os.environ, "GLOVE_CPU_TARGET": "none"})
        self.assertRegex(done.stdout, r"^None\|no backend available\|.*cpu: CPU target 'none' is not one that this machine runs")


if __name__ == "__main__":
    unittest.main()
