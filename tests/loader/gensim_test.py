"""gensim and glove_nn over one word2vec file: the same neighbours in the same order.

gensim_test.py GLOVE_SO
"""
import os
import random
import sqlite3
import sys
import tempfile
import unittest

import numpy

try:
    from gensim.models import KeyedVectors
except ImportError:
    KeyedVectors = None

EXTENSION = sys.argv.pop(1)
SEED = int(os.environ.get("GLOVE_TEST_SEED") or random.SystemRandom().randrange(2**32))


@unittest.skipIf(KeyedVectors is None, "python3-gensim is not installed")
class Gensim(unittest.TestCase):
    def test_the_same_neighbours(self):
        generator = numpy.random.default_rng(SEED)
        rows = generator.normal(0, 1, (5000, 60)).astype("<f4")
        with tempfile.TemporaryDirectory() as directory:
            for name, binary in (("m.bin", True), ("m.vec", False)):
                path = os.path.join(directory, name)
                vectors = KeyedVectors(60)
                vectors.add_vectors([f"w{i}" for i in range(len(rows))], rows)
                vectors.save_word2vec_format(path, binary=binary)
                self.compare(KeyedVectors.load_word2vec_format(path, binary=binary), path, generator)

    def compare(self, vectors, path, generator):
        db = sqlite3.connect(":memory:")
        db.enable_load_extension(True)
        db.execute("SELECT load_extension(?, 'sqlite3_glove_init')", (EXTENSION,))
        db.execute("SELECT glove_load(?, 'gensim')", (path,))
        for i in generator.choice(len(vectors), 100, replace=False):
            word = f"w{i}"
            ours = db.execute("SELECT neighbor, similarity FROM glove_nn(?, NULL, 10, 'gensim')", (word,)).fetchall()
            theirs = vectors.most_similar(word, topn=10)
            self.assertEqual([w for w, _ in ours], [w for w, _ in theirs], f"GLOVE_TEST_SEED={SEED}")
            numpy.testing.assert_allclose([s for _, s in ours], [s for _, s in theirs], rtol=0, atol=1e-6)
        db.execute("SELECT glove_unload('gensim')")


if __name__ == "__main__":
    unittest.main()
