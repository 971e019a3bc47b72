"""The small model that the differential test asks, and the whole relation of glove_nn over it.

The similarities are computed here, in plain Python, by the reference order of docs/exactness.md: a product of two
float32 is exact in a double, and the sums run in eight lanes. So the ordinary table that glove_nn is compared with
owes nothing to the extension.
"""

import math
import random
import struct

DIMS = 11
KS = (None, 0, 1, 2, 3, 5)
# Words that look like numbers, operators, or other words in another case; with quotes, spaces, other letters.
WORDS = ("king queen man woman paris france prince 5 05 5.0 -3 .5 + . - King o'neil zürich 1e3 twin1 twin2 twin3 zero "
         "abc ab abcd item tag rank null").split(" ") + ["new_york"]
EXPRESSIONS = ("king - man + woman", "king", "2 * king - queen", 'new_york + paris', "king - king", "king + unknown",
               "KING man - woman +")
CONTINUATIONS = (("king", "- man + woman"), ("paris", "+ france"), ("nobody", "- man"))
STRANGE_WORDS = ("KING", "nobody", "", " king", "3.0", "7")


def f32(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


def dot(a, b):
    return lanes([x * y for x, y in zip(a, b)])


def l2(a, b):
    return math.sqrt(lanes([(x - y) * (x - y) for x, y in zip(a, b)]))


def lanes(terms):
    p = [0.0] * 8
    for j, term in enumerate(terms):
        p[j % 8] += term
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))


def upper(text):
    """As SQLite's upper(): ASCII letters only."""
    return "".join(c.upper() if c.isascii() else c for c in text)


class Model:
    def __init__(self, rng: random.Random, metric="cosine"):
        self.metric = metric
        self.words = list(WORDS)
        self.vectors = []
        for word in self.words:
            vector = [f32(round(rng.gauss(0.2, 1), 3)) for _ in range(DIMS)]
            if word.startswith("twin") and word != "twin1":
                vector = list(self.vectors[self.words.index("twin1")])
            if word == "zero":
                vector = [0.0] * DIMS
            self.vectors.append(vector)
        self.blobs = [struct.pack(f"<{DIMS}f", *[f32(rng.gauss(0, 1)) for _ in range(DIMS)]) for _ in range(2)]
        self.blobs.append(struct.pack(f"<{DIMS}f", *[0.0] * DIMS))

    def text(self):
        return "".join(word + " " + " ".join(repr(x) for x in vector) + "\n"
                       for word, vector in zip(self.words, self.vectors))

    def find(self, word):
        for wanted in (word, "".join(c.lower() if c.isascii() else c for c in word)):
            if wanted in self.words:
                return self.words.index(wanted)
        return None

    def combine(self, terms):
        """(vector, excluded ids) of an expression's terms [(weight, word)], or None if a word is unknown."""
        ids = [self.find(word) for _, word in terms]
        if None in ids:
            return None
        total = [0.0] * DIMS
        for (weight, _), i in zip(terms, ids):
            norm = dot(self.vectors[i], self.vectors[i])
            if norm == 0:
                return None
            factor = weight / math.sqrt(norm)
            total = [t + factor * x for t, x in zip(total, self.vectors[i])]
        return [f32(t) for t in total], set(ids)

    def query(self, word, expr):
        """(vector, excluded ids), or None if the query has no rows."""
        parsed = {
            "king - man + woman": [(1, "king"), (-1, "man"), (1, "woman")],
            "king": [(1, "king")],
            "2 * king - queen": [(2, "king"), (-1, "queen")],
            'new_york + paris': [(1, "new_york"), (1, "paris")],
            "king - king": [(1, "king"), (-1, "king")],
            "king + unknown": [(1, "king"), (1, "unknown")],
            "KING man - woman +": [(1, "KING"), (-1, "man"), (1, "woman")],
            "- man + woman": [(-1, "man"), (1, "woman")],
            "+ france": [(1, "france")],
            "- man": [(-1, "man")],
        }
        if isinstance(expr, bytes):
            return list(struct.unpack(f"<{DIMS}f", expr)), set()
        if expr is not None:
            return self.combine(([(1, word)] if word is not None else []) + parsed[expr])
        i = self.find(word)
        return None if i is None else (self.vectors[i], {i})

    def rows(self, word, expr):
        """[(neighbor, similarity)] of the whole relation, best first; by l2 [(neighbor, distance)]."""
        query = self.query(word, expr)
        if query is None:
            return []
        vector, excluded = query
        norm = dot(vector, vector)
        scored = []
        for i, x in enumerate(self.vectors):
            own = dot(x, x)
            if i in excluded or (self.metric == "cosine" and (own == 0 or norm == 0)):
                continue
            if self.metric == "l2":
                scored.append((l2(vector, x), i))
            elif self.metric == "dot":
                scored.append((-dot(vector, x), i))
            else:
                scored.append((-max(-1.0, min(1.0, dot(vector, x) / math.sqrt(norm * own))), i))
        return [(self.words[i], shown if self.metric == "l2" else -shown) for shown, i in sorted(scored)]

    def relation(self):
        """Rows of the ordinary table: neighbor, similarity, rank, word, expr, k (None = not given)."""
        texts = dict.fromkeys(self.words + [upper(word) for word in self.words] + list(STRANGE_WORDS))
        queries = [(word, None) for word in texts]
        queries += [(None, expr) for expr in (*EXPRESSIONS, *self.blobs)] + list(CONTINUATIONS)
        for word, expr in queries:
            rows = self.rows(word, expr)
            for k in KS:
                for rank, (neighbor, similarity) in enumerate(rows if k is None else rows[:k], 1):
                    yield neighbor, similarity, rank, word, expr, k
