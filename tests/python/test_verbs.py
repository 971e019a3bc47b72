"""The verbs of the Python package over keys of each kind: test_verbs.py --project FOLDER --extension GLOVE.SO --convert GLOVE-CONVERT

Hybrid and diverse searches are compared with the statements of docs/joins.md. Skipped if this Python cannot load extensions.
"""
import array
import asyncio
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import installed

SEED = int(os.environ.get("GLOVE_TEST_SEED") or random.SystemRandom().randrange(2**32))
DIMS = 6
ROWS = 400
WORDS = "rain storm wind snow sun cloud bank rates loan money music violin opera".split()
HYBRID = """
    WITH allowed AS (SELECT rowid AS row, * FROM doc WHERE {where}),
      by_text AS (SELECT row, row_number() OVER (ORDER BY rank, row) AS place FROM (
        SELECT rowid AS row, rank FROM doc_fts WHERE doc_fts MATCH :match AND +rowid IN (SELECT row FROM allowed) ORDER BY rank LIMIT :fetch)),
      by_meaning AS (SELECT a.row, v.rank AS place FROM doc_vec v JOIN allowed a ON {same}
        WHERE v.query = :query AND v.k = :fetch AND v.among = (SELECT glove_keys({key}) FROM allowed))
    SELECT {shown}, sum(gain) AS score, lang, body FROM (
        SELECT row, :text / (:constant + place) AS gain FROM by_text UNION ALL SELECT row, :meaning / (:constant + place) FROM by_meaning) ranked
      JOIN allowed a USING (row) GROUP BY row ORDER BY score DESC, {shown} LIMIT :k"""
OTHER_PROCESS = """
import sqlite3, sys, sqlite_glove
conn = sqlite3.connect(sys.argv[1])
conn.execute(sys.argv[2], (bytes.fromhex(sys.argv[3]),))
conn.commit()
"""


class Kind:
    """Keys of a kind: the column or columns, and ids."""

    def __init__(self, name, columns, id_of):
        self.name, self.columns, self.id_of = name, columns, id_of
        self.shown = ", ".join(columns)
        self.same = " AND ".join(f"a.{column} = v.{column}" for column in columns)

    def given(self, ids):
        return list(ids) if len(self.columns) == 1 else {column: [id[place] for id in ids] for place, column in enumerate(self.columns)}

    def of(self, row):
        return row[0] if len(self.columns) == 1 else tuple(row[:len(self.columns)])


KINDS = [Kind("INTEGER", ["id"], lambda i: 3 * i - 50), Kind("TEXT", ["id"], lambda i: f"key {i:03}'"),
         Kind("composite", ["space", "no"], lambda i: ("ab"[i % 2], i))]


class Verbs(unittest.TestCase):
    def setUp(self):
        import sqlite_glove
        self.glove = sqlite_glove
        self.case = f"seed: {SEED}"
        self.source = random.Random(SEED)
        self.conn = sqlite3.connect(":memory:")
        self.addCleanup(lambda: self.conn.close())
        sqlite_glove.load(self.conn)

    def _formatMessage(self, msg, standardMsg):
        return f"{super()._formatMessage(msg, standardMsg)} ({self.case})"

    def vector(self):
        return [self.source.gauss(0, 1) for _ in range(DIMS)]

    def folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def each(self, temp=True):
        """An index over keys of each kind, in main and in temp, with full texts."""
        for kind in KINDS:
            for schema in ("main", "temp") if temp else ("main",):
                self.case = f"keys: {kind.name}, schema: {schema}, seed: {SEED}"
                self.conn = sqlite3.connect(":memory:")
                self.glove.load(self.conn)
                ids = [kind.id_of(i) for i in range(ROWS)]
                self.vectors = dict(zip(ids, (self.vector() for _ in ids)))
                columns = {"lang": [self.source.choice(["en", "en", "fr", None]) for _ in ids],
                           "body": [" ".join(self.source.choices(WORDS, k=6)) for _ in ids]}
                if schema == "temp":
                    key = {"INTEGER": "id INTEGER PRIMARY KEY", "TEXT": "id TEXT PRIMARY KEY", "composite": "space TEXT, no INT"}[kind.name]
                    more = ", PRIMARY KEY(space, no)" if kind.name == "composite" else ""
                    self.conn.execute(f"CREATE TABLE temp.doc({key}, lang, body, emb BLOB{more})")
                    self.conn.execute(f"CREATE VIRTUAL TABLE temp.doc_vec USING glove_index(content=doc, rowid='{kind.shown}', vector=\"emb\")")
                    index = self.glove.Index(self.conn, "doc")
                    index.add(kind.given(ids), [self.vectors[id] for id in ids], columns)
                else:
                    index = self.glove.index(self.conn, "doc", kind.given(ids), [self.vectors[id] for id in ids], columns,
                                             index_columns=["lang", ["lang", "body"]])
                self.conn.execute(f"CREATE VIRTUAL TABLE {schema}.doc_fts USING fts5(body, content=doc)")
                self.conn.execute("INSERT INTO doc_fts(doc_fts) VALUES ('rebuild')")
                yield kind, index
                self.conn.close()

    def test_an_index_is_found_by_the_name_of_either(self):
        for kind, index in self.each():
            self.assertEqual((index.table, index.name, index.key.names, index.columns), ("doc", "doc_vec", kind.columns, ["lang", "body"]))
            query = self.vector()
            for again in (self.glove.Index(self.conn, "DOC_vec"), self.glove.Index(self.conn, "Doc", name="doc_VEC")):
                self.assertEqual(again.search(query), index.search(query))
                self.assertEqual(again.columns, ["lang", "body"])

    def test_definitions_in_every_spelling(self):
        self.conn.execute('CREATE TABLE "my ""docs"(\'the key\' TEXT PRIMARY KEY, "the, text" TEXT, more, emb BLOB)')
        self.conn.execute("SELECT glove_load_table('spelling', 'SELECT column1, column2 FROM (VALUES (''a'', ''[1,0]''))')")
        for number, using in enumerate((
                """content = 'my "docs', rowid='"the key"', text='"the, text", more', model=spelling""",
                """ content="my ""docs" /* it's, a table */, -- and, more
                 rowid='''the key''', text='[the, text],`more`', model='spelling' """)):
            self.conn.execute(f"CREATE VIRTUAL TABLE spelt{number} USING glove_index({using})")
            index = self.glove.Index(self.conn, f"spelt{number}")
            self.assertEqual((index.table, index.key.names, index.vector, index.texts), ('my "docs', ["the key"], None, ["the, text", "more"]))
        with self.assertRaisesRegex(ValueError, "the table 'my \"docs' has the indexes 'spelt0', 'spelt1'; name one of them"):
            self.glove.Index(self.conn, 'my "docs')
        self.conn.execute("SELECT glove_unload('spelling')")

    def test_joins(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("NumPy is not installed")
        for kind, index in self.each(temp=False):
            graph = index.neighbors(3)
            self.assertEqual((len(graph.ids), graph.indices.shape), (ROWS, (ROWS, 3)))
            for row in self.source.sample(range(ROWS), 20):
                self.assertEqual([(graph.ids[place], score) for place, score in zip(graph.indices[row], graph.scores[row])],
                                 [(kind.of(found), found[len(kind.columns)]) for found in index.like(graph.ids[row], 3, columns=[])])
            nearest = index.pairs(pairs=5)
            least = float(nearest.score[-1])
            near = index.pairs(min_similarity=least)
            self.assertEqual(sorted(zip(near.a, near.b, near.score)), sorted(zip(*nearest)))
            groups = index.groups(min_similarity=least)
            self.assertEqual(len(groups.id), ROWS)
            self.assertEqual(set(groups.id[groups.size > 1]), set(near.a) | set(near.b))
            self.assertEqual(len(index.neighbors(1000, among=list(self.vectors)[:9]).indices[0]), 8)
            other = self.glove.index(self.conn, "other", {"x": ["p", "q"], "y": [1, 2]}, [self.vector(), self.vector()])
            self.assertEqual(set(index.pairs(other=other, pairs=ROWS * 2).b), {("p", 1), ("q", 2)})
            self.assertTrue(numpy.array_equal(index.pairs(other="other_vec", pairs=3).a, index.pairs(other=other, pairs=3).a))
            with self.assertRaisesRegex(sqlite3.OperationalError, "give exactly one of"):
                index.pairs()

    def test_rows(self):
        for kind, index in self.each():
            ids = list(self.vectors)
            self.assertEqual(len(index), ROWS)
            self.assertTrue(index)
            row = index.get(ids[7])
            self.assertEqual(list(row), [*kind.columns, "lang", "body"])
            self.assertEqual(kind.of(list(row.values())), ids[7])
            got = index.get([ids[9], kind.id_of(9999), ids[3]], columns=[index.vector])
            self.assertIsNone(got[1])
            self.assertEqual(got[2][index.vector], array.array("f", self.vectors[ids[3]]).tobytes())
            self.assertIsNone(index.get(kind.id_of(9999)))
            index.delete(ids[0])
            index.delete([ids[1], ids[2], kind.id_of(9999)])
            self.assertEqual(len(index), ROWS - 3)
            self.assertNotIn(ids[0], map(kind.of, index.search(self.vectors[ids[0]], ROWS)))
            index.upsert(kind.given([ids[0], ids[5]]), [self.vectors[ids[0]]] * 2, {"lang": ["de", "de"]})
            self.assertEqual([kind.of(one) for one in index.search(self.vectors[ids[0]], 2)], sorted([ids[0], ids[5]]) if kind.name == "INTEGER" else
                             [kind.of(one) for one in index.search(self.vectors[ids[0]], 2)])
            self.assertEqual({kind.of(one) for one in index.search(self.vectors[ids[0]], 2)}, {ids[0], ids[5]})
            self.assertEqual(len(index), ROWS - 2)
            index.drop()
            self.assertEqual(self.conn.execute("SELECT count(*) FROM doc").fetchone(), (ROWS - 2,))
            with self.assertRaisesRegex(ValueError, "no index 'doc'"):
                self.glove.Index(self.conn, "doc")
        for kind, index in self.each():
            index.drop(table=True)
            self.assertEqual(self.conn.execute("SELECT name FROM pragma_table_list WHERE name GLOB 'doc*' AND name NOT GLOB 'doc_fts*'").fetchall(), [])

    def test_where_of_columns(self):
        for kind, index in self.each():
            query = self.vector()
            everything = index.search(query, ROWS)
            at = len(kind.columns) + 1  # lang
            for where, passes in (({"lang": "en"}, lambda row: row[at] == "en"), ({"LANG": None}, lambda row: row[at] is None),
                                  ({"lang": ["en", "fr"]}, lambda row: row[at] in ("en", "fr")), ({"lang": []}, lambda row: False), ({}, lambda row: True),
                                  ({"lang": "fr", kind.columns[-1]: everything[3][len(kind.columns) - 1]},
                                   lambda row: row[at] == "fr" and row[len(kind.columns) - 1] == everything[3][len(kind.columns) - 1])):
                self.assertEqual(index.search(query, 9, where=where), [row for row in everything if passes(row)][:9])
            self.assertEqual(index.search(query, 5, among=[kind.of(row) for row in everything[10:20]]), everything[10:15])
            with self.assertRaisesRegex(ValueError, r"search\(\): where names the column 'nosuch', but those of 'doc' are .*lang, body"):
                index.search(query, where={"nosuch": 1})
            with self.assertRaisesRegex(ValueError, r"search\(\): params is \[1\], but where is a dict"):
                index.search(query, where={"lang": "en"}, params=[1])
            with self.assertRaisesRegex(TypeError, r"search\(\): where is 7; it must be an SQL expression, or a dict"):
                index.search(query, where=7)

    def test_batches(self):
        for kind, index in self.each():
            queries = [self.vector() for _ in range(300)]
            queries[7] = queries[3]
            for options in ({}, {"where": {"lang": "en"}}, {"where": "lang = :l", "params": {"l": "fr"}}, {"among": list(self.vectors)[:50]},
                            {"columns": [], "rows": "dicts"}):
                answers = index.search_many(queries, 4, **options)
                self.assertEqual(len(answers), 300)
                for place in (0, 3, 7, 255, 256, 299):
                    self.assertEqual(answers[place], index.search(queries[place], 4, **options))
            self.assertEqual(index.search_many([]), [])
            for wrong in (None, [1, None], "text", [self.vector(), None]):
                with self.assertRaisesRegex(TypeError, r"search_many\(\)|iterable"):
                    index.search_many(wrong)

    def test_like_a_row(self):
        for kind, index in self.each():
            id = list(self.vectors)[5]
            for options in ({}, {"where": {"lang": "en"}}, {"where": "lang = ?", "params": ["fr"]}):
                others = [row for row in index.search(self.vectors[id], ROWS, **options) if kind.of(row) != id]
                self.assertEqual(index.like(id, 6, **options), others[:6])
            with self.assertRaisesRegex(LookupError, r"like\(\): 'doc' has no row with the id"):
                index.like(kind.id_of(9999))
            index.upsert(kind.given([id]), [None])
            with self.assertRaisesRegex(ValueError, r"like\(\): the row with the id .* has no vector"):
                index.like(id)

    def test_diversity_is_that_of_glove_mmr(self):
        for kind, index in self.each():
            keys = ", ".join("m.key" + (str(place + 1) if place else "") for place in range(len(kind.columns)))
            same = " AND ".join(f"d.{column} = {key}" for column, key in zip(kind.columns, keys.split(", ")))
            query = self.vector()
            blob = array.array("f", query).tobytes()
            sql = f"SELECT {keys}, m.similarity, d.lang, d.body FROM glove_mmr('doc_vec', ?, ?, ?, ?, %s) m JOIN doc d ON {same} ORDER BY m.rank"
            for k, diversity, fetch in ((5, 0.5, None), (5, 0.25, 30), (20, 1, None), (3, 0, 3)):
                self.assertEqual(index.search(query, k, diversity=diversity, fetch=fetch), self.conn.execute(
                    sql.replace(", %s", ""), (blob, k, 1 - diversity, fetch or max(4 * k, 50))).fetchall())
            among = f"(SELECT glove_keys({kind.shown}) FROM doc WHERE lang = 'en')"
            expected = self.conn.execute(sql % among, (blob, 4, 0.5, 50)).fetchall()
            self.assertEqual(len(expected), 4)
            for where in ({"where": {"lang": "en"}}, {"where": "lang = ?", "params": ["en"]}, {"where": "lang = :x", "params": {"x": "en"}},
                          {"among": [kind.of(row) for row in self.conn.execute(f"SELECT {kind.shown} FROM doc WHERE lang = 'en'")]}):
                self.assertEqual(index.search(query, 4, diversity=0.5, **where), expected)
            self.assertEqual(index.search(query, 4, diversity=0.5, where={"lang": "none"}), [])
            for wrong, message in (({"diversity": 1.5}, r"search\(\): diversity is 1.5; it must be a number from 0 to 1"), ({"diversity": "much"}, "diversity is 'much'"),
                                   ({"diversity": 0.5, "fetch": 4}, r"search\(\): fetch is 4; it must be a number of rows, at least k, which is 10"),
                                   ({"fetch": 40}, "fetch is 40, but neither hybrid nor diversity"),
                                   ({"diversity": 0.5, "recall": 0.9}, "recall is 0.9, but a search with diversity takes no such input")):
                with self.assertRaisesRegex(ValueError, message):
                    index.search(query, **wrong)

    def test_hybrid_search_is_that_of_the_documents(self):
        for kind, index in self.each():
            query = self.vector()
            blob = array.array("f", query).tobytes()
            for match, k, where, weights, constant, fetch in (
                    ("rain OR violin", 10, "1", (1, 1), 60, None), ("rain", 40, "1", (1, 0.3), 10, 50), ("body: storm", 5, "lang = 'en'", (2.5, 1), 60, None),
                    ("nosuchword", 5, "lang IN ('fr', 'en')", (1, 1), 60, None), ("opera", 5, "0", (1, 1), 60, None)):
                values = {"match": match, "query": blob, "k": k, "fetch": fetch or max(4 * k, 100), "constant": constant,
                          "text": float(weights[0]), "meaning": float(weights[1])}
                sql = HYBRID.format(where=where, key=kind.shown, shown=kind.shown, same=kind.same)
                expected = self.conn.execute(sql, values).fetchall()
                for given in ({} if where == "1" else {"where": where}, {"where": f":x AND {where}", "params": {"x": 1}}):
                    found = index.search(query, k, hybrid="doc_fts", match=match, weights=weights, constant=constant, fetch=fetch, **given)
                    self.assertEqual(found, expected)
            found = index.search(query, 3, hybrid="doc_fts", match="rain", rows="dicts", columns=["lang"])
            self.assertEqual(list(found[0]), [*kind.columns, "score", "lang"])
            # Diverse rows of the fused ranking.
            fused = index.search(query, 30, hybrid="doc_fts", match="rain", fetch=30)
            scores = {kind.of(row): row[len(kind.columns)] for row in fused}
            diverse = index.search(query, 6, hybrid="doc_fts", match="rain", diversity=0.7, fetch=30)
            chosen = index.search(query, 6, diversity=0.7, fetch=30, among=list(scores))
            self.assertEqual([kind.of(row) for row in diverse], [kind.of(row) for row in chosen])
            self.assertEqual([row[len(kind.columns)] for row in diverse], [scores[kind.of(row)] for row in diverse])
            for wrong, message in (({}, r"search\(\): hybrid is 'doc_fts' and the query is a vector, so match must be the query of FTS5"),
                                   ({"match": "a", "weights": 1}, "weights is 1; it must be two numbers"), ({"match": "a", "weights": (1, -1)}, "weights is -1"),
                                   ({"match": "a", "constant": "x"}, "constant is 'x'"), ({"match": "a", "among": [list(self.vectors)[0]]}, "among is .* use where")):
                with self.assertRaisesRegex(ValueError, message):
                    index.search(query, hybrid="doc_fts", **wrong)
            with self.assertRaisesRegex(ValueError, r"search\(\): match is 'a', but hybrid names no FTS5 table"):
                index.search(query, match="a")
            with self.assertRaisesRegex(sqlite3.OperationalError, "no such table: nowhere"):
                index.search(query, hybrid="nowhere", match="a")

    def test_a_filter_makes_no_search_of_full_texts_for_each_row(self):
        for kind, index in self.each(temp=False):
            statements = []
            self.conn.set_trace_callback(statements.append)
            index.search(self.vector(), 3, hybrid="doc_fts", match="rain", where={"lang": "en"}, diversity=0.5)
            self.conn.set_trace_callback(None)
            sql, = (statement for statement in statements if statement.startswith("WITH "))
            plan = [row[3] for row in self.conn.execute("EXPLAIN QUERY PLAN " + sql)]
            rowid_equal = 0x100  # in the plans of FTS5
            numbers = [int(step.split(" INDEX ")[1].split(":")[0]) for step in plan if step.startswith("SCAN doc_fts VIRTUAL")]
            self.assertEqual([number & rowid_equal for number in numbers], [0], plan)
            at = [next(place for place, step in enumerate(plan) if step.startswith(f"{verb} {name}")) for verb, name in (("SCAN", "m VIRTUAL"), ("SEARCH", "f "))]
            self.assertLess(*at, plan)

    def test_hybrid_search_of_texts(self):
        self.conn.execute("CREATE TEMP TABLE source(w, v)")
        self.conn.executemany("INSERT INTO source VALUES (?, ?)", [(word, array.array("f", self.vector()).tobytes()) for word in WORDS])
        self.conn.execute("SELECT glove_load_table('verbs', 'SELECT w, v FROM temp.source')")
        bodies = [" ".join(self.source.choices(WORDS, k=4)) for _ in range(200)]
        notes = self.glove.index(self.conn, "note", columns={"body": bodies, "title": ["the"] * 200}, text=["title", "body"], model="verbs",
                                 options={"components": 0}, if_exists="open")
        self.conn.execute("CREATE VIRTUAL TABLE note_fts USING fts5(body, content=note, content_rowid=id)")
        self.conn.execute("INSERT INTO note_fts(note_fts) VALUES ('rebuild')")
        for text, match in (('rain, "violin"* OR (bank', '"rain" OR "violin" OR "OR" OR "bank"'), ("?!", '""')):
            if text == "?!":
                self.assertEqual(notes.search(text, hybrid="note_fts"), [])
                continue
            self.assertEqual(notes.search(text, 7, hybrid="note_fts"), notes.search(text, 7, hybrid="note_fts", match=match))
            self.assertNotEqual(notes.search(text, 7, hybrid="note_fts", columns=["body"]), [])
        self.assertEqual(notes.search_many(["rain", "bank loan"], 3), [notes.search("rain", 3), notes.search("bank loan", 3)])
        self.assertEqual(notes.like(5, 3), [row for row in notes.search("the\n" + bodies[4], 200) if row[0] != 5][:3])
        self.conn.execute("SELECT glove_unload('verbs')")

    def test_open_or_create(self):
        for _ in range(2):
            docs = self.glove.index(self.conn, "doc", vectors=[], columns={"title": []}, if_exists="open", dims=3)
            docs.add(vectors=[[1, 0, 0]], columns={"title": ["a"]})
        self.assertEqual(len(docs), 2)
        with self.assertRaisesRegex(ValueError, r"index\(\): the table 'doc' exists already"):
            self.glove.index(self.conn, "doc", vectors=[])

    def test_sql_indexes_of_filtered_columns(self):
        for kind, index in self.each(temp=False):
            plan = " ".join(row[3] for row in self.conn.execute("EXPLAIN QUERY PLAN SELECT * FROM doc WHERE lang = 'en' AND body = 'x'"))
            self.assertIn("doc_by_lang", plan)
            self.assertEqual([row[1] for row in self.conn.execute("PRAGMA index_list(doc)") if row[3] == "c"], ["doc_by_lang_body", "doc_by_lang"])

    def test_a_row_that_another_process_wrote_is_seen(self):
        path = os.path.join(self.folder(), "doc.db")
        for kind in KINDS:
            with self.subTest(kind=kind.name), sqlite3.connect(path) as conn:
                self.glove.load(conn)
                ids = [kind.id_of(i) for i in range(20)]
                index = self.glove.index(conn, "doc", kind.given(ids), [self.vector() for _ in ids])
                query = [3.0] * DIMS
                self.assertNotIn(kind.id_of(99), map(kind.of, index.search(query, 50)))
                new = kind.id_of(99)
                values = ", ".join(repr(part) if not isinstance(part, str) else "'" + part.replace("'", "''") + "'"
                                   for part in (new if isinstance(new, tuple) else (new,)))
                subprocess.run([sys.executable, "-c", OTHER_PROCESS, path, f"INSERT INTO doc VALUES ({values}, ?)",
                                array.array("f", query).tobytes().hex()], check=True)
                self.assertEqual(kind.of(index.search(query, 1)[0]), new)
                self.assertEqual(kind.of(list(index.get(new).values())), new)
                self.assertEqual(len(index), 21)
                index.drop(table=True)
            conn.close()

    def test_a_renamed_column_and_an_added_one(self):
        for kind, index in self.each(temp=False):
            query = self.vector()
            before = index.search(query)
            self.conn.execute("ALTER TABLE doc RENAME COLUMN lang TO tongue")
            self.assertEqual(index.search(query), before)
            self.assertEqual(index.columns, ["tongue", "body"])
            with self.assertRaisesRegex(sqlite3.OperationalError, "no such column: t.lang"):
                index.search(query, columns=["lang"])

    def test_what_is_no_column_is_not_a_text(self):
        """SQLite takes a name in double quotes that is no column for a text."""
        for kind, index in self.each(temp=False):
            query = self.vector()
            for options in ({}, {"where": {"lang": "en"}}, {"where": "lang = 'en'"}, {"diversity": 0.5}, {"hybrid": "doc_fts", "match": "rain"}):
                with self.assertRaisesRegex(sqlite3.OperationalError, "no such column: .*titel"):
                    index.search(query, 3, columns=["titel"], **options)
            with self.assertRaisesRegex(sqlite3.OperationalError, "no such column: .*titel"):
                index.get(list(self.vectors)[0], columns=["titel"])
            where = {"lang": "en"}
            before = index.search(query, 3, where=where)
            other = self.glove.Index(self.conn, "doc")
            self.conn.execute("ALTER TABLE doc RENAME COLUMN lang TO tongue")
            self.assertEqual(index.search(query, 3, where={"tongue": "en"}), before)
            with self.assertRaisesRegex(ValueError, "where names the column 'lang'"):
                other.search(query, 3, where=where, columns=[])
            another = self.glove.Index(self.conn, "doc")
            self.conn.execute("ALTER TABLE doc RENAME COLUMN tongue TO lang")
            self.assertEqual(another.get(list(self.vectors)[0]), index.get(list(self.vectors)[0], columns=["lang", "body"]))

    def test_numbers_of_numpy(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("NumPy is not installed")
        index = self.glove.index(self.conn, "doc", None, [[1, 0], [0, 1], [1, 1]], {"n": [1, 2, 3], "x": [0.5, 1.5, 2.5]})
        for where, found in (({"n": numpy.int64(2)}, [2]), ({"n": numpy.array([2, 3], "i2")}, [3, 2]), ({"x": [numpy.float32(0.5)]}, [1]),
                             ({"n": numpy.bool_(True)}, [1])):
            self.assertEqual([row[0] for row in index.search([1, 0.5], where=where)], found)
        for params in ([numpy.int64(2)], numpy.array([2]), (numpy.float32(2),)):
            self.assertEqual([row[0] for row in index.search([1, 0.5], where="n = ?", params=params)], [2])
        self.assertEqual([row[0] for row in index.search([1, 0.5], where="n = :n", params={"n": numpy.int16(2)})], [2])
        self.assertEqual(index.search([1, 0], 2, diversity=numpy.float32(0.5)), index.search([1, 0], 2, diversity=0.5))
        with self.assertRaisesRegex(TypeError, r"search\(\): the column 'n' has the value \{'a': 1\}"):
            index.search([1, 0], where={"n": {"a": 1}})
        with self.assertRaisesRegex(ValueError, r"search\(\): params is \[1\], but where is not given"):
            index.search([1, 0], params=[1])

    def test_odd_queries_and_numbers_of_rows(self):
        index = self.glove.index(self.conn, "doc", None, [[1, 0], [0, 1], [1, 1]])
        self.conn.execute("CREATE VIRTUAL TABLE doc_fts USING fts5(body)")
        query = self.glove.serialize_float32([1, 0])
        for same in (bytearray(query), memoryview(query), memoryview(array.array("f", [1, 0]))):
            self.assertEqual(index.search(same), index.search(query))
        for wrong in ({1.0: 1, 2.0: 0}, {1.0, 2.0}):
            with self.assertRaisesRegex(TypeError, "is not a vector"):
                index.search(wrong)
        for k in (2**62, 2**63, 2**100):
            for options in ({}, {"where": "1"}, {"diversity": 0.0}, {"hybrid": "doc_fts", "match": "a"}, {"diversity": 0.5, "fetch": k}):
                self.assertEqual(len(index.search(query, k, **options)), 3)
            self.assertEqual((len(index.like(1, k)), len(index.search_many([query], k)[0])), (2, 3))

    def test_odd_arguments(self):
        index = self.glove.index(self.conn, "doc", ["a", "b"], [[1, 0], [0, 1]])
        for name in ("limit", "rank", "similarity", "doc_vec", "query0", "Recall"):
            for call in (lambda: index.search([1, 0], **{name: 1}), lambda: index.search([1, 0], where="1", **{name: 1}),
                         lambda: index.search_many([[1, 0]], **{name: 1}), lambda: index.like("a", **{name: 1})):
                with self.assertRaisesRegex(TypeError, f"has no input '{name}'"):
                    call()
        self.glove.index(self.conn, "numbered", None, [[1, 0]])
        for call in (self.glove.Index(self.conn, "numbered").delete, self.glove.Index(self.conn, "numbered").like):
            with self.assertRaisesRegex(TypeError, "the id 'a' is not an integer, which an INTEGER PRIMARY KEY needs$"):
                call("a")
        with self.assertRaisesRegex(TypeError, r"index\(\): index_columns is a list: write index_columns=\['lang'\]"):
            self.glove.index(self.conn, "other", None, [[1, 0]], {"lang": ["en"]}, index_columns="lang")
        with self.assertRaisesRegex(ValueError, r"index\(\): None cannot be the name of a table"):
            self.glove.index(self.conn, None, None, [[1, 0]])
        with self.assertRaisesRegex(ValueError, r"index\(\): ids has the column 'vector', which is the name of that of the vectors"):
            self.glove.index(self.conn, "other", {"space": [1], "vector": [2]}, [[1, 0]])

    def test_odd_names(self):
        for table in ("x;--y", "--c", "/*x*/", "it's", 'a"b', "glove_fused", "GLOVE_text", "select", "a\nb", "t", "v"):
            self.case = f"table: {table!r}"
            index = self.glove.index(self.conn, table, None, [[1, 0], [0, 1], [1, 1]], {"from": ["a", "b", "a"], 'o"x': [1, 2, 3], "k0": [1, 2, 3]},
                                     index_columns=["from"])
            content = table.replace("'", "\'\'")
            self.conn.execute(f"CREATE VIRTUAL TABLE glove_allowed USING fts5(\"from\", content='{content}')")
            self.conn.execute("INSERT INTO glove_allowed(glove_allowed) VALUES ('rebuild')")
            for options in ({}, {"hybrid": "glove_allowed", "match": "a"}, {"diversity": 0.1}, {"hybrid": "glove_allowed", "match": "a", "diversity": 0.1}):
                found = index.search([1, 0], 3, where={"from": "a", 'o"x': [1, 2, 3]}, **options)
                self.assertEqual([row[:1] + row[2:] for row in found], [(1, "a", 1, 1), (3, "a", 3, 3)])
            self.assertEqual(self.glove.Index(self.conn, table).search([1, 0]), index.search([1, 0]))
            index.drop(table=True)
            self.conn.execute("DROP TABLE glove_allowed")

    def test_a_table_that_hides_another(self):
        self.conn.execute("ATTACH ':memory:' AS other")
        self.conn.execute("CREATE TABLE other.doc(id INTEGER PRIMARY KEY, emb BLOB)")
        self.conn.execute("CREATE VIRTUAL TABLE other.doc_vec USING glove_index(content=doc, rowid=id, vector=emb)")
        self.glove.Index(self.conn, "doc").add([1], [[1, 0]])
        self.conn.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY)")
        with self.assertRaisesRegex(ValueError, "the index other.doc_vec is that of the table other.doc, but the name 'doc' means main.doc"):
            self.glove.Index(self.conn, "doc")

    def test_keys_without_a_rowid_or_a_value(self):
        with self.assertRaisesRegex(sqlite3.IntegrityError, "NOT NULL constraint failed: doc.no"):
            self.glove.index(self.conn, "doc", {"space": ["a", "a"], "no": [1, None]}, [[1, 0], [0, 1]])
        self.conn.execute("CREATE TABLE doc(id TEXT PRIMARY KEY, emb BLOB) WITHOUT ROWID")
        self.conn.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content=doc, rowid=id, vector=emb)")
        self.conn.execute("CREATE VIRTUAL TABLE doc_fts USING fts5(body)")
        index = self.glove.Index(self.conn, "doc")
        for where in (None, {"id": "a"}):
            with self.assertRaisesRegex(ValueError, r"search\(\): the table 'doc' is one WITHOUT ROWID, but hybrid needs"):
                index.search([1, 0], hybrid="doc_fts", match="a", where=where)
        for hybrid, message in (("doc", "hybrid is 'doc', which is no FTS5 table"), (5, "hybrid is 5; it must be the name of an FTS5 table")):
            with self.assertRaisesRegex(ValueError, message):
                self.glove.index(self.conn, f"other{hybrid}", None, [[1, 0]]).search([1, 0], hybrid=hybrid, match="a")

    def test_full_texts_that_name_rows_by_another_column(self):
        self.conn.executescript("""CREATE TABLE doc(id TEXT PRIMARY KEY, "page ""no" INTEGER UNIQUE, body, emb BLOB) WITHOUT ROWID;
            CREATE TABLE page(id INTEGER PRIMARY KEY, "page ""no" INTEGER UNIQUE, body, emb BLOB);
            CREATE VIRTUAL TABLE doc_fts USING fts5(body, content=doc, content_rowid='page "no'); -- comment, content_rowid=id
            CREATE VIRTUAL TABLE page_fts USING fts5(body, content = page, Content_RowID = "page ""no");
            CREATE VIRTUAL TABLE page_short USING fts5(body, content = page, content_r = "page ""no");
            CREATE VIRTUAL TABLE page_plain USING fts5(body, content = page, content_rowid = oid)""")
        rows = [(1, 3, "rain"), (2, 1, "storm"), (3, 2, "rain and storm")]  # each number is also the id of another row
        for table in ("doc", "page"):
            for key, number, body in rows:
                blob = array.array("f", [key, 1]).tobytes()
                self.conn.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", (f"d{key}" if table == "doc" else key, number, body, blob))
                for full_text in [f"{table}_fts"] + ["page_short"] * (table == "page"):
                    self.conn.execute(f"INSERT INTO {full_text}(rowid, body) VALUES (?, ?)", (number, body))
            self.conn.execute(f"CREATE VIRTUAL TABLE {table}_vec USING glove_index(content={table}, rowid=id, vector=emb)")
        self.conn.execute("INSERT INTO page_plain(rowid, body) SELECT id, body FROM page")
        for table, full_text in (("doc", "doc_fts"), ("page", "page_fts"), ("page", "page_short"), ("page", "PAGE_plain")):
            index = self.glove.Index(self.conn, table)
            for where, expected in ((None, [1, 3]), ({"body": "rain"}, [1])):
                found = index.search([1, 0], 9, hybrid=full_text, match="rain", weights=(1, 0), where=where)
                self.assertEqual([int(str(row[0])[-1]) for row in found if row[1] > 0], expected, (full_text, found))

    def test_rows_that_only_the_full_texts_have(self):
        for kind, index in self.each():
            query = self.vector()
            gone = [kind.of(row) for row in index.search(query, 300, columns=[])]
            index.delete(gone)
            left = set(self.vectors) - set(gone)
            for options in ({}, {"where": "1"}, {"diversity": 0.3}, {"columns": []}):
                found = index.search(query, 30, hybrid="doc_fts", match="rain OR storm", weights=(1, 0), **options)
                self.assertEqual(len({kind.of(row) for row in found}), 30)
                self.assertLessEqual({kind.of(row) for row in found}, left)

    def test_a_commit_that_fails_is_undone(self):
        path = os.path.join(self.folder(), "doc.db")
        conn = sqlite3.connect(path, timeout=0)
        self.glove.load(conn)
        index = self.glove.index(conn, "doc", ["a", "b"], [[1, 0], [0, 1]])
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM doc").fetchall()
        with self.assertRaisesRegex(sqlite3.OperationalError, "locked"):
            index.delete("a")
        self.assertFalse(conn.in_transaction)
        reader.execute("COMMIT")
        index.delete("b")
        self.assertEqual(reader.execute("SELECT id FROM doc").fetchall(), [("a",)])
        conn.close()
        reader.close()

    def test_asyncio(self):
        path = os.path.join(self.folder(), "doc.db")

        async def work():
            def make(conn):
                return self.glove.index(conn, "doc", ["a", "b", "c"], [[1, 0], [0, 1], [1, 1]], {"n": [1, 2, 3]}, if_exists="open")
            async with self.glove.AsyncIndex(path, "doc", open=make) as docs:
                both = await asyncio.gather(docs.search([1, 0], 1), docs.search([0, 1], 1, where={"n": 3}, rows="dicts"))
                self.assertEqual(both[0], [("a", 1.0, 1)])
                self.assertEqual(both[1][0]["id"], "c")
                await docs.add(["d"], [[-1, 0]], {"n": [4]})
                await docs.upsert(["d"], columns={"n": [5]})
                self.assertEqual(await docs.get("d"), {"id": "d", "n": 5})
                self.assertEqual(await docs.count(), 4)
                await docs.call(lambda index: index.conn.execute("INSERT INTO doc(id, n, vector) SELECT 'e', 6, vector FROM doc WHERE id = 'b'"))
                other = sqlite3.connect(path, timeout=0)
                self.assertEqual(other.execute("DELETE FROM doc WHERE id = 'e'").rowcount, 1)  # which is committed
                other.commit()
                other.close()

                def fails(index):
                    index.conn.execute("DELETE FROM doc")
                    raise KeyError("own")
                with self.assertRaisesRegex(KeyError, "own"):
                    await docs.call(fails)
                self.assertEqual(await docs.count(), 4)
                self.assertEqual(await docs.search_many([[1, 0], [-1, 0]], 1), [[("a", 1.0, 1)], [("d", 1.0, 5)]])
                self.assertEqual([row[0] for row in await docs.like("a", 1)], ["c"])
                await docs.delete("d")
                await docs.sync()
                self.assertEqual(await docs.call(lambda index: index.conn.execute("SELECT max(n) FROM doc").fetchone()), (3,))
                with self.assertRaisesRegex(ValueError, r"search\(\): k is -1"):
                    await docs.search([1, 0], -1)
            async with self.glove.AsyncIndex(path, "doc") as docs:
                self.assertEqual(await docs.count(), 3)
        asyncio.run(work())
        with self.assertRaisesRegex(ValueError, r"AsyncIndex\(\): the path is ':memory:'"):
            self.glove.AsyncIndex(":memory:", "doc")

    def test_errors_name_the_verb_and_the_value(self):
        for kind, index in self.each(temp=False):
            query = self.vector()
            wrong = [1.5] if kind.name == "INTEGER" else [[1]] if kind.name == "TEXT" else ["a"]
            for verb, call in (("search", lambda: index.search(query, "ten")), ("search", lambda: index.search(None)), ("search_many", lambda: index.search_many("x")),
                               ("search", lambda: index.search(query, among=wrong)), ("like", lambda: index.like(wrong[0])), ("get", lambda: index.get(wrong)),
                               ("delete", lambda: index.delete(wrong)), ("add", lambda: index.add(wrong, [query])), ("upsert", lambda: index.upsert(wrong, [query])),
                               ("add", lambda: index.add(None, [[1.0]])), ("search", lambda: index.search(query, rows="lists"))):
                with self.assertRaisesRegex((TypeError, ValueError), rf"^{verb}\(\): ") as caught:
                    call()
                self.assertRegex(str(caught.exception), r"1\.5|\[1\]|'a'|'ten'|None|'x'|1 component|'lists'")


if __name__ == "__main__":
    installed.run_tests(lambda options, folder: print(f"repeat with GLOVE_TEST_SEED={SEED}"))
