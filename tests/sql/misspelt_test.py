"""glove_words(like): the words of a model by their distance from a word: misspelt_test.py GLOVE_SO

Distances are compared with a plain computation over random words, with characters outside of ASCII and bytes that are no UTF-8.
"""
import os
import random
import sqlite3
import sys
import unittest

EXTENSION = os.environ.get("GLOVE_TEST_EXTENSION") or sys.argv.pop(1)
SEED = int(os.environ.get("GLOVE_TEST_SEED") or random.randrange(1 << 30))


def distance(a, b):
    """Inserted, removed and replaced characters, and swaps of neighbours."""
    table = {(-1, j): j + 1 for j in range(-1, len(b))} | {(i, -1): i + 1 for i in range(-1, len(a))}
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (x != y))
            if i and j and x == b[j - 1] and y == a[i - 1]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[len(a) - 1, len(b) - 1]


class Misspelt(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        self.db = sqlite3.connect(":memory:")
        self.db.enable_load_extension(True)
        self.db.load_extension(EXTENSION)

    def load(self, words, name):
        self.db.execute("CREATE TEMP TABLE w(word)")
        self.db.executemany("INSERT INTO w VALUES (?)", [(word,) for word in words])
        self.db.execute("SELECT glove_load_table(?, 'SELECT word, ''[1, 2]'' FROM w')", (name,))
        self.db.execute("DROP TABLE w")
        self.addCleanup(self.db.execute, "SELECT glove_unload(?)", (name,))

    def word(self, most=8):
        return "".join(self.random.choice("abcdé日") for _ in range(self.random.randint(1, most)))

    def test_every_word_by_its_distance(self):
        words = list(dict.fromkeys([self.word() for _ in range(300)] + ["abcd" * 80]))
        self.load(words, "words")
        for like in [self.word() for _ in range(20)] + ["", "abcd" * 60]:
            found = self.db.execute("SELECT id, word, distance, like FROM glove_words('words', ?)", (like,)).fetchall()
            expected = sorted((distance(word, like), id) for id, word in enumerate(words))
            self.assertEqual([(row[2], row[0]) for row in found], expected, f"{like!r}, GLOVE_TEST_SEED={SEED}")
            self.assertEqual({row[3] for row in found}, {like})
            ordered = self.db.execute("SELECT id FROM glove_words WHERE model = 'words' AND like = ? ORDER BY distance LIMIT 5", (like,))
            self.assertEqual([row[0] for row in ordered], [id for _, id in expected[:5]])

    def test_with_other_conditions(self):
        self.load(["the", "king", "queen", "ring", "kin"], "words")

        def rows(sql, *values):
            return self.db.execute(sql, values).fetchall()
        self.assertEqual(rows("SELECT word, distance FROM glove_words WHERE like = 'kng' LIMIT 2"), [("king", 1), ("ring", 2)])
        self.assertEqual(rows("SELECT word FROM glove_words WHERE like = 'kng' AND distance <= 1"), [("king",)])
        self.assertEqual(rows("SELECT word FROM glove_words WHERE like = 'kng' AND id > 1 AND word GLOB '*i*' LIMIT 9"), [("ring",), ("kin",)])
        self.assertEqual(rows("SELECT word FROM glove_words WHERE like = NULL"), [])
        self.assertEqual(rows("SELECT distance FROM glove_words WHERE word = 'king'"), [(None,)])
        both = rows("SELECT like, word FROM glove_words WHERE like IN ('kng', 'teh') AND distance = 1 ORDER BY like")
        self.assertEqual(both, [("kng", "king"), ("teh", "the")])
        either = rows("SELECT like, word FROM glove_words WHERE (like = 'kng' AND distance = 1) OR (like = 'teh' AND distance <= 1)")
        self.assertEqual(sorted(either), [("kng", "king"), ("teh", "the")])
        joined = rows("SELECT t.x, w.word FROM (SELECT 'kng' AS x UNION SELECT 'qeen') t JOIN glove_words w ON w.like = t.x AND w.distance = 1")
        self.assertEqual(sorted(joined), [("kng", "king"), ("qeen", "queen")])

    def test_errors(self):
        self.load(["the"], "words")
        for sql, part in (("SELECT like FROM glove_words", "like"),
                          ("SELECT word FROM glove_words WHERE like = 'a' OR id = 0", "like"),
                          ("SELECT word FROM glove_words WHERE like = '%s'" % ("é" * 257), "like has 257 characters, but at most 256")):
            with self.assertRaisesRegex(sqlite3.OperationalError, part):
                self.db.execute(sql).fetchall()


if __name__ == "__main__":
    unittest.main()
