"""Each class is one way to search. A worker runs in a process of its own:

    prepare(path, threads)     loads and indexes
    one(row) -> [id, ...]      the 10 nearest rows of a row, without itself, best first
    batch(rows) -> [[id, ...]] the same for many (only where there is a way to ask for many at once)

Each times only what its user would wait for; the row is not part of its own answer, so those that cannot
leave it out ask for 11.
"""
import ctypes
import glob
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import harness  # noqa: E402

K = 10


def without(row, ids):
    return [i for i in ids if i != row][:K]


def extension(pattern):
    found = glob.glob(os.path.join(os.environ["PEERS"], "node_modules", pattern))
    if not found:
        raise FileNotFoundError(pattern)
    return found[0][: -len(".so")]


def database(pattern):
    return harness.connect(":memory:", extension(pattern))


class Glove:
    name = "sqlite-glove"
    what = "certified scan of 4-bit codes, exact; SQL"

    def prepare(self, path, threads):
        self.connection = harness.connect(":memory:", os.environ["BUILD"] + "/glove", threads=threads, backend="cpu")
        self.connection.execute("SELECT glove_load(?, 'main')", (path,))
        self.words = harness.words(path)
        self.id_of = {word: i for i, word in enumerate(self.words)}
        self.version = self.connection.execute("SELECT glove_version()").fetchone()[0]

    def one(self, row):
        found = self.connection.execute(
            "SELECT neighbor, similarity FROM glove_nn(?, NULL, 10)", (self.words[row],)).fetchall()
        return lambda: [self.id_of[word] for word, _ in found]

    def batch(self, rows):
        asked = json.dumps([self.words[row] for row in rows])
        found = self.connection.execute(
            "SELECT word, neighbor, rank FROM glove_nn"
            " WHERE word IN (SELECT value FROM json_each(?)) AND k = 10", (asked,)).fetchall()

        def ids():
            of = {}
            for word, neighbor, rank in sorted(found, key=lambda r: (r[0], r[2])):
                of.setdefault(word, []).append(self.id_of[neighbor])
            return [of[self.words[row]] for row in rows]
        return ids


class Glove1(Glove):
    name = "sqlite-glove on 1 thread"

    def prepare(self, path, threads):
        super().prepare(path, 1)


class SqliteVec:
    name = "sqlite-vec vec0"
    what = "float32 scan, exact; SQL"

    def prepare(self, path, threads):
        self.rows = harness.unit_vectors(path)
        self.connection = database("sqlite-vec-linux-x64/vec0.so")
        self.version = self.connection.execute("SELECT vec_version()").fetchone()[0]
        self.connection.execute(
            f"CREATE VIRTUAL TABLE v USING vec0(e float[{self.rows.shape[1]}] distance_metric=cosine)")
        self.connection.executemany("INSERT INTO v(rowid, e) VALUES (?, ?)",
                                    ((i, row.tobytes()) for i, row in enumerate(self.rows)))

    def one(self, row):
        found = self.connection.execute("SELECT rowid FROM v WHERE e MATCH ? AND k = 11",
                                        (self.rows[row].tobytes(),)).fetchall()
        return lambda: without(row, [i for i, in found])


class SqliteVector:
    name = "sqlite-vector full scan"
    what = "float32 scan, exact; SQL"
    scan = "vector_full_scan"

    def prepare(self, path, threads):
        self.rows = harness.unit_vectors(path)
        self.connection = database("@sqliteai/sqlite-vector-linux-x86_64/vector.so")
        self.version = " ".join(self.connection.execute(
            "SELECT vector_version(), vector_backend()").fetchone())
        self.connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)")
        self.connection.executemany("INSERT INTO t VALUES (?, ?)",
                                    ((i, row.tobytes()) for i, row in enumerate(self.rows)))
        self.connection.execute(
            f"SELECT vector_init('t', 'v', 'type=FLOAT32,dimension={self.rows.shape[1]},distance=cosine')")
        self.prepare_scan()

    def prepare_scan(self):
        pass

    def one(self, row):
        found = self.connection.execute(f"SELECT rowid FROM {self.scan}('t', 'v', ?, 11)",
                                        (self.rows[row].tobytes(),)).fetchall()
        return lambda: without(row, [i for i, in found])


class SqliteVectorInt8(SqliteVector):
    name = "sqlite-vector int8 scan"
    what = "quantised scan, inexact; SQL"
    scan = "vector_quantize_scan"

    def prepare_scan(self):
        self.connection.execute("SELECT vector_quantize('t', 'v')")
        self.connection.execute("SELECT vector_quantize_preload('t', 'v')")


class Vectorlite:
    name = "vectorlite HNSW"
    what = "graph (M 16, ef_construction 100, ef 100), inexact; SQL"

    def prepare(self, path, threads):
        self.rows = harness.unit_vectors(path)
        self.connection = database("@1yefuwang1/vectorlite-linux-x64/src/vectorlite.so")
        self.version = self.connection.execute("SELECT vectorlite_info()").fetchone()[0].split(",")[0].split()[-1]
        count, dims = self.rows.shape
        self.connection.execute(
            f"CREATE VIRTUAL TABLE v USING vectorlite(e float32[{dims}] cosine,"
            f" hnsw(max_elements={count}, ef_construction=100, M=16))")
        self.connection.executemany("INSERT INTO v(rowid, e) VALUES (?, ?)",
                                    ((i, row.tobytes()) for i, row in enumerate(self.rows)))

    def one(self, row):
        found = self.connection.execute(
            "SELECT rowid, distance FROM v WHERE knn_search(e, knn_param(?, 11, 100))",
            (self.rows[row].tobytes(),)).fetchall()
        return lambda: without(row, [i for i, _ in sorted(found, key=lambda r: r[1])])


class Faiss:
    name = "FAISS IndexFlatIP"
    what = "float32, exact to rounding; Python"

    def prepare(self, path, threads):
        import faiss
        faiss.omp_set_num_threads(threads)
        self.rows = harness.unit_vectors(path)
        self.index = faiss.IndexFlatIP(self.rows.shape[1])
        self.index.add(self.rows)
        self.version = faiss.__version__

    def one(self, row):
        _, ids = self.index.search(self.rows[row : row + 1], K + 1)
        return lambda: without(row, ids[0].tolist())

    def batch(self, rows):
        _, ids = self.index.search(self.rows[rows], K + 1)
        return lambda: [without(row, found.tolist()) for row, found in zip(rows, ids)]


class Gensim:
    name = "gensim most_similar"
    what = "float32, exact to rounding; Python"

    def prepare(self, path, threads):
        import gensim
        from gensim.models import KeyedVectors
        self.words = harness.words(path)
        rows = harness.vectors(path)
        self.vectors = KeyedVectors(rows.shape[1])
        self.vectors.add_vectors(self.words, rows)
        self.vectors.fill_norms()
        self.version = gensim.__version__

    def one(self, row):
        found = self.vectors.most_similar(self.words[row], topn=K)
        return lambda: [self.vectors.key_to_index[word] for word, _ in found]


class Numpy:
    name = "NumPy"
    what = "float32 matrix product and argpartition, exact to rounding; Python"

    def prepare(self, path, threads):
        import numpy
        self.numpy = numpy
        self.rows = harness.unit_vectors(path)
        self.version = numpy.__version__

    def one(self, row):
        scores = self.rows @ self.rows[row]
        top = self.numpy.argpartition(scores, -(K + 1))[-(K + 1) :]
        top = top[self.numpy.argsort(-scores[top])]
        return lambda: without(row, top.tolist())

    def batch(self, rows):
        tops = []
        for at in range(0, len(rows), 128):  # 128 x 341,479 float32 are 175 MB
            scores = self.rows[rows[at : at + 128]] @ self.rows.T
            top = self.numpy.argpartition(scores, -(K + 1), axis=1)[:, -(K + 1) :]
            order = self.numpy.argsort(-self.numpy.take_along_axis(scores, top, 1), axis=1)
            tops.extend(self.numpy.take_along_axis(top, order, 1))
        return lambda: [without(row, top.tolist()) for row, top in zip(rows, tops)]


ALL = [Glove, Glove1, SqliteVec, SqliteVector, SqliteVectorInt8, Vectorlite, Faiss, Gensim, Numpy]


def give_back_free_memory():
    """Frees the memory that only loading needs."""
    import gc
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
