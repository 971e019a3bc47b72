"""Indexes of bits, by Hamming distance: hamming_test.py GLOVE_SO

Each answer is compared with the number of different bits as Python's integers count them.
"""
import os
import sqlite3
import tempfile
import unittest

from live_index_test import SeededTest, connect

SIZES = (8, 16, 24, 72, 576, 4096)
TABLES = {"id": "id INTEGER PRIMARY KEY, kind INT, hash BLOB", "name": "name TEXT PRIMARY KEY, kind INT, hash BLOB",
          "space, name": "space INT, name TEXT, kind INT, hash BLOB, PRIMARY KEY(space, name)"}


def different(a, b):
    return bin(int.from_bytes(a, "big") ^ int.from_bytes(b, "big")).count("1")


class HammingTest(SeededTest):
    def some_bits(self, bits):
        """Mostly near one of few, so that many distances are equal; now and then zeros or ones only."""
        kind = self.random.random()
        if kind < 0.1:
            return (b"\0" if kind < 0.05 else b"\xff") * (bits // 8)
        if kind < 0.2:
            return self.random.randbytes(bits // 8)
        value = int.from_bytes(self.random.choice(self.centres)[:bits // 8], "little")
        for _ in range(self.random.choice((0, 0, 1, 1, 2, 5))):
            value ^= 1 << self.random.randrange(bits)
        return value.to_bytes(bits // 8, "little")

    def setUp(self):
        super().setUp()
        self.centres = [self.random.randbytes(max(SIZES) // 8) for _ in range(5)]

    def make(self, key="id", arguments="metric='hamming'", option=""):
        """An empty table of this key and its index."""
        self.key, self.made = key, 0
        self.db.executescript(f"DROP TABLE IF EXISTS v; DROP TABLE IF EXISTS doc; CREATE TABLE doc({TABLES[key]}){option}")
        self.db.execute(f"CREATE VIRTUAL TABLE v USING glove_index(content='doc', rowid='{key}', vector='hash', {arguments})")

    def fill(self, count, bits):
        for _ in range(count):
            number = self.made = self.made + 1
            key = {"id": [number], "name": [f"n{number * 7919 % 10007:05}"], "space, name": [number % 3, f"n{number}"]}[self.key]
            self.db.execute(f"INSERT INTO doc VALUES ({', '.join('?' * len(key))}, ?, ?)",
                            (*key, self.random.randrange(4), None if self.random.random() < 0.03 else self.some_bits(bits)))

    def ranked(self, query, where="1"):
        """(key..., distance) of all rows, ranked; ties by the order in which the index numbers the keys."""
        entry = "id" if self.key == "id" else "(SELECT k.id FROM v_key k WHERE " + " AND ".join(
            f"k.k{i} IS doc.{name}" for i, name in enumerate(self.key.split(", "), 1)) + ")"
        rows = self.db.execute(f"SELECT {self.key}, hash FROM doc WHERE hash NOT NULL AND {where} ORDER BY {entry}").fetchall()
        return sorted(((*row[:-1], float(different(row[-1], query))) for row in rows), key=lambda row: row[-1])

    def compare(self, query, k):
        found = self.db.execute(f"SELECT {self.key}, distance FROM v WHERE query = ? AND k = ?", (query, k)).fetchall()
        self.assertEqual(found, self.ranked(query)[:k])

    def command(self, name):
        self.db.execute("INSERT INTO v(v) VALUES (?)", (name,))

    def check_states(self, bits):
        for step in ("fill", "sync", "log", "change", "sync", "big log", "merge", "change", "rebuild"):
            if step == "fill":
                self.fill(400, bits)
            elif step.endswith("log"):
                self.fill(400 if step == "big log" else 30, bits)
            elif step == "change":
                for name in self.db.execute(f"SELECT {self.key} FROM doc ORDER BY random() LIMIT 40").fetchall():
                    self.db.execute(f"DELETE FROM doc WHERE ({self.key}) = ({', '.join('?' * len(name))})", name)
                for name in self.db.execute(f"SELECT {self.key} FROM doc ORDER BY random() LIMIT 40").fetchall():
                    self.db.execute(f"UPDATE doc SET hash = ? WHERE ({self.key}) = ({', '.join('?' * len(name))})", (self.some_bits(bits), *name))
            else:
                self.command(step)
            for query in (self.some_bits(bits), bytes(bits // 8), self.centres[0][:bits // 8]):
                for k in (1, 10, 100):
                    self.compare(query, k)
        self.assertEqual(self.db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        self.command("integrity-check")

    def test_every_size_in_every_state(self):
        for bits in SIZES:
            with self.subTest(bits=bits):
                self.make(arguments=self.random.choice(("metric='hamming'", "type='bits'", "metric='hamming', type='bits'")) +
                          self.random.choice(("", f", dims={bits}, check='yes'")))
                self.check_states(bits)

    def test_every_key(self):
        for key in TABLES:
            for option in ("", " WITHOUT ROWID"):
                with self.subTest(key=key, option=option):
                    self.make(key, "type='bits'", option)
                    self.check_states(72)

    def test_batches_conditions_and_filters(self):
        self.make()
        self.fill(3000, 72)
        self.command("sync")
        self.fill(20, 72)
        queries = [self.some_bits(72) for _ in range(20)]
        batch = self.db.execute(f"SELECT query, id, distance FROM v WHERE query IN ({', '.join('?' * 20)}) AND k = 5", queries).fetchall()
        self.assertEqual(sorted(batch), sorted({(query, *row) for query in queries for row in self.ranked(query)[:5]}))
        for query in queries[:5]:
            for limit in (0, 1, 3, 30, 72):
                found = self.db.execute("SELECT id, distance FROM v WHERE query = ? AND distance <= ?", (query, limit)).fetchall()
                self.assertEqual(found, [row for row in self.ranked(query) if row[-1] <= limit])
            for step in (2, 50, 1000):
                found = self.db.execute("SELECT id, distance FROM v WHERE query = ? AND k = 9 AND among = (SELECT glove_keys(id) FROM doc WHERE id % ? = 1)",
                                        (query, step)).fetchall()
                self.assertEqual(found, self.ranked(query, f"id % {step} = 1")[:9])
            found = self.db.execute("SELECT v.id, distance FROM v JOIN doc USING (id) WHERE query = ? AND kind = 2 ORDER BY rank LIMIT 30", (query,)).fetchall()
            self.assertEqual(found, self.ranked(query, "kind = 2")[:30])
            found = self.db.execute("SELECT id, rank, distance FROM v WHERE query = ? AND id IN (3, 5, 2999)", (query,)).fetchall()
            ranks = {row[0]: place for place, row in enumerate(self.ranked(query), 1)}
            self.assertEqual(sorted(found), sorted((id, ranks[id], d) for id, d in self.ranked(query, "id IN (3, 5, 2999)")))
        self.assertEqual(self.rows("SELECT metric FROM glove_indexes"), [("hamming",)])
        self.compare(queries[0], 5)
        self.assertEqual(self.rows("SELECT DISTINCT plan FROM glove_stats WHERE plan NOT NULL"), [("bits",)])
        self.expect_error("is searched by the CPU|there is no backend 'cuda'", "SELECT id FROM v WHERE query = ? AND k = 1 AND backend = 'cuda'", queries[0])
        self.assertEqual(self.rows("SELECT distance FROM v WHERE query = ? AND k = 3 AND recall = 1", queries[0]), [(row[-1],) for row in self.ranked(queries[0])[:3]])

    def test_a_thousand_rows_at_one_distance(self):
        self.make()
        self.db.executemany("INSERT INTO doc VALUES (?, 0, ?)", ((id * 7919 % 2003, bytes([1 << id % 8] + 7 * [0])) for id in range(1, 2000)))
        self.command("sync")
        for query in (bytes(8), b"\1" + bytes(7), b"\xff" * 8):
            for k in (1, 7, 100):
                self.compare(query, k)

    def test_joins(self):
        self.make()
        self.fill(300, 24)
        self.command("sync")
        self.fill(10, 24)
        rows = self.rows("SELECT id, hash FROM doc WHERE hash NOT NULL ORDER BY id")
        near = sorted((a, b, float(different(x, y))) for i, (a, x) in enumerate(rows) for b, y in rows[i + 1:] if different(x, y) <= 3)
        self.assertEqual(sorted(self.rows("SELECT a, b, distance FROM glove_pairs('v') WHERE max_distance = 3")), near)
        group = {id: id for id, _ in rows}
        for _ in range(len(rows)):
            for a, b, _ in near:
                group[a] = group[b] = min(group[a], group[b])
        found = dict(self.rows("SELECT id, group_id FROM glove_groups('v') WHERE max_distance = 3"))
        self.assertEqual(found, group)
        query = rows[0][1]
        shown = self.rows("SELECT key, distance, similarity FROM glove_mmr('v', ?, 5, 1.0)", query)
        self.assertEqual(shown, [(*row, None) for row in self.ranked(query)[:5]])
        self.expect_error("'v' is compared by 'hamming', which has no similarity; give max_distance instead", "SELECT * FROM glove_pairs('v') WHERE min_similarity = 1")
        self.db.executescript("CREATE TABLE other(id INTEGER PRIMARY KEY, hash); INSERT INTO other VALUES (1, x'0102');"
                              "CREATE VIRTUAL TABLE w USING glove_index(content='other', rowid='id', vector='hash', type='bits')")
        self.expect_error("'v' has 24 dimensions, and 'w' has 16", "SELECT * FROM glove_pairs('v') WHERE other = 'w' AND max_distance = 1")

    def test_the_first_row_decides_the_size(self):
        self.make(arguments="type='bits', invalid='skip'")
        self.assertEqual(self.rows("SELECT * FROM v WHERE query = x'01'"), [])
        self.db.execute("INSERT INTO doc VALUES (1, 0, x'0102'), (2, 0, x'01'), (3, 0, '[1]'), (4, 0, 5), (5, 0, x'ff00')")
        self.assertEqual(self.rows("SELECT id, distance FROM v WHERE query = x'ff00'"), [(5, 0.0), (1, 8.0)])
        self.command("sync")
        self.assertEqual(self.rows("SELECT id, distance FROM v WHERE query = x'ff00'"), [(5, 0.0), (1, 8.0)])

    def test_what_is_refused(self):
        self.db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, kind, hash)")
        create = "CREATE VIRTUAL TABLE v USING glove_index(content='doc', rowid='id', {})"
        pair = "v: metric='hamming' and type='bits' need each other; leave the other one out"
        model = "v: metric='hamming' compares bits, which no model makes; give vector, without a model"
        for arguments, message in (("vector='hash', metric='hamming', type='float32'", pair), ("vector='hash', metric='l2', type='bits'", pair),
                                   ("vector='hash', metric='cosine', type='bits'", pair), ("text='hash', metric='hamming', model='m'", model),
                                   ("vector='hash', type='bits', model='m'", model), ("text='hash', type='bits'", model),
                                   ("vector='hash', type='bits', dims=12", "v: dims is a number of bits here and must be a multiple of 8, but is 12"),
                                   ("vector='hash', type='bits', lists=4", "lists are of rows that are compared by 'cosine', not by 'hamming'; leave lists out"),
                                   ("vector='hash', type='bit'", "type must be 'float32', 'float16', 'bfloat16', 'int8' or 'bits', but is 'bit'"),
                                   ("vector='hash', metric='jaccard'", "metric must be 'cosine', 'dot', 'l2' or 'hamming', but is 'jaccard'")):
            with self.subTest(arguments=arguments):
                self.expect_error("^" * (message[0] == "v") + message + "$", create.format(arguments))
        self.db.execute(create.format("vector='hash', type='bits', dims=16"))
        ask = "SELECT id FROM v WHERE query = ?"
        for query, message in ((b"\1", "v: the query is a BLOB of 1 byte, but a vector of 16 bits has 2$"),
                               (bytes(16), "of 16 bytes, but a vector of 16 bits has 2; if it has a bit in each byte, pack it, as numpy.packbits does"),
                               (b"", "the query is a BLOB of 0 bytes"), ("[1, 2]", "v: the query must be a BLOB of bits, 8 in each byte"),
                               ("text", "the query must be a BLOB of bits"), (5, "the query must be a BLOB of bits")):
            with self.subTest(query=query):
                self.expect_error(message, ask, query)
        exact = "v: an index of bits has exact answers only; leave recall and 'calibrate' out"
        self.expect_error(exact, ask + " AND k = 5 AND recall = 0.9", b"\1\2")
        self.expect_error(exact, "INSERT INTO v(v, query) VALUES ('calibrate', x'0102')")
        self.expect_error("no such column: similarity", "SELECT similarity FROM v WHERE query = x'0102'")
        for value, message in ((b"\1", "has a vector of 8 bits, but the index has 16 dimensions"), (bytes(16), "pack it, as numpy.packbits does"),
                               ("[1]", "has a vector of type TEXT; a vector must be a BLOB of bits;"), (b"", "has a vector without components")):
            self.db.execute("INSERT OR REPLACE INTO doc VALUES (7, 0, ?)", (value,))
            with self.subTest(value=value):
                self.expect_error("v: the row 7 of 'doc' .*" + message, "INSERT INTO v(v) VALUES ('sync')")
        self.db.execute("DELETE FROM doc")
        self.db.execute("INSERT INTO doc VALUES (1, 0, zeroblob(8193))")
        self.expect_error("has a vector of 65544 bits; the most is 65536", create.format("vector='hash', type='bits'").replace("TABLE v", "TABLE u"))
        self.expect_error("type must be 'float32', 'float16', 'bfloat16' or 'int8', but is 'bits'", "SELECT glove_f32(x'01', 'bits')")

    def test_check_refuses_other_vectors(self):
        self.make(arguments="type='bits', dims=16, check='yes'")
        for value, message in ((b"\1", "is not as long as those of the index"), (b"", "is a BLOB without bits"), ("[1, 2]", "is no BLOB of bits"),
                               (5, "is no BLOB of bits")):
            with self.subTest(value=value):
                self.expect_error("v: the vector " + message, "INSERT INTO doc VALUES (1, 0, ?)", value)
        self.db.execute("INSERT INTO doc VALUES (1, 0, x'0102'), (2, 0, NULL)")
        self.assertEqual(self.rows("SELECT id FROM v WHERE query = x'0102'"), [(1,)])

    def test_damage_is_noticed(self):
        self.make()
        self.fill(40, 24)
        self.command("sync")
        data, = self.rows("SELECT data FROM v_block")[0]
        for at in range(0, len(data), self.random.randrange(1, 9)):
            self.db.execute("UPDATE v_block SET data = ?", (data[:at] + bytes([data[at] ^ 1]) + data[at + 1:],))
            self.expect_error("v is damaged: the segment 1 does not have the checksum", "INSERT INTO v(v) VALUES ('integrity-check')")
        self.db.execute("UPDATE v_block SET data = ?", (data[:-1],))
        self.expect_error("v is damaged: the segment 1 has a block", "INSERT INTO v(v) VALUES ('integrity-check')")
        self.db.execute("UPDATE v_block SET data = ?", (data,))
        for flags in (0, 1 << 32, 1 << 34, 3 << 34):
            self.db.execute("UPDATE v_segment SET crc = (crc & 0xffffffff) + ?", (flags,))
            self.expect_error("v is damaged", "INSERT INTO v(v) VALUES ('integrity-check')")
        self.command("rebuild")
        self.command("integrity-check")
        self.db.execute("DROP TRIGGER v_update")
        self.db.execute("UPDATE doc SET hash = x'123456' WHERE id = 5")
        self.command("repair")
        self.compare(b"\x12\x34\x56", 5)

    def test_another_process_reads_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file.db")
            self.db = connect(path)
            self.make()
            self.fill(500, 576)
            self.command("sync")
            self.db.close()
            self.db = connect(path)
            self.compare(self.some_bits(576), 20)
            self.assertLess(self.rows("SELECT bytes FROM glove_indexes")[0][0], 512 * 80 + 1)
            self.db.close()


if __name__ == "__main__":
    unittest.main()
