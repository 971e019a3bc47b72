"""gensim and glove_nn read the same word2vec file and give the same neighbours.

test_gensim.py {text,binary} --extension GLOVE.SO --sample GLOVE_TEXT.gz

The sample's words are written as word2vec, once as text and once as binary, by this script. For 200 random words both give
ten neighbours: the same words in the same order, similarities within 1e-6. GLOVE_TEST_SEED repeats a run.
"""
import argparse
import gzip
import os
import random
import sqlite3
import sys
import tempfile

SKIPPED = 77
QUERIES, K = 200, 10
TOLERANCE = 1e-6

try:
    import numpy
    from gensim.models import KeyedVectors
except ImportError as error:
    print("skipped: %s (Debian: python3-gensim)" % error)
    sys.exit(SKIPPED)


def read_sample(path):
    words, rows = [], []
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            word, *numbers = line.rstrip("\n").split(" ")
            words.append(word)
            rows.append(numbers)
    return words, numpy.array(rows, dtype=numpy.float32)


def write_word2vec(path, words, vectors, binary):
    with open(path, "wb") as file:
        file.write(b"%d %d\n" % vectors.shape)
        for word, vector in zip(words, vectors):
            if binary:
                file.write(word.encode() + b" " + vector.tobytes() + b"\n")
            else:
                file.write((word + " " + " ".join("%.9g" % x for x in vector) + "\n").encode())


def near_tie(expected, position):
    """gensim rounds to float32: rows closer than that may change places."""
    return any(0 <= i < len(expected) and abs(expected[i][1] - expected[position][1]) < TOLERANCE
               for i in (position - 1, position + 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["text", "binary"])
    parser.add_argument("--extension", required=True)
    parser.add_argument("--sample", required=True)
    options = parser.parse_args()
    seed = int(os.environ.get("GLOVE_TEST_SEED") or random.SystemRandom().getrandbits(32))
    print("repeat with GLOVE_TEST_SEED=%d" % seed)
    source = random.Random(seed)
    words, vectors = read_sample(options.sample)
    binary = options.kind == "binary"
    with tempfile.TemporaryDirectory(prefix="glove-gensim-") as folder:
        path = os.path.join(folder, "sample.word2vec")
        write_word2vec(path, words, vectors, binary)
        theirs = KeyedVectors.load_word2vec_format(path, binary=binary)
        connection = sqlite3.connect(":memory:")
        connection.enable_load_extension(True)
        connection.load_extension(options.extension)
        connection.execute("SELECT glove_load(?)", (path,))
        assert connection.execute("SELECT words, dims FROM glove_models").fetchall() == [vectors.shape]
        for word in source.sample(words, QUERIES):
            expected = theirs.most_similar(word, topn=K)
            actual = connection.execute(
                "SELECT word, similarity FROM glove_nn WHERE near = ? AND k = ? ORDER BY rank", (word, K)).fetchall()
            assert len(actual) == K, (word, actual)
            for position, ((a, x), (b, y)) in enumerate(zip(actual, expected)):
                assert abs(x - y) <= TOLERANCE, (word, actual, expected)
                assert a == b or near_tie(expected, position) or position == K - 1 and abs(x - y) < TOLERANCE, (
                    word, actual, expected)


if __name__ == "__main__":
    main()
