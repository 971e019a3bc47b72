"""One glove.so, three hosts: the sqlite3 shell, Python's sqlite3 module, and apsw.

test_bindings.py HOST --extension GLOVE.SO      HOST: shell, sqlite3, apsw

Each asks a small random model for neighbours, an expression, similarities and vectors, and compares with a reference
computed here, bit for bit where the host hands over the bits. The two Python hosts then ask from two threads at once, each
with its own connection, while the first also loads and unloads another model. A host that is missing is skipped, with a
reason. GLOVE_TEST_SEED repeats a run.
"""
import argparse
import array
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading

SKIPPED = 77
WORDS, DIMS, K = 400, 21, 7
ROUNDS = 60  # of each thread


def skip(reason):
    print("skipped: " + reason)
    sys.exit(SKIPPED)


def dot(a, b):
    """The sum that the project specifies, in its order; the product of two floats is exact in double."""
    p = [0.0] * 8
    for j, (x, y) in enumerate(zip(a, b)):
        p[j % 8] += x * y
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))


def cosine(a, b):
    return min(1.0, max(-1.0, dot(a, b) / math.sqrt(dot(a, a) * dot(b, b))))


def as_floats(values):
    return list(array.array("f", values))


class Model:
    """Random words and vectors, their file, and the answers."""

    def __init__(self, source, folder):
        self.words = ["w%d" % i for i in range(WORDS - 2)] + ["new york", "naïve"]
        self.vectors = [as_floats(source.gauss(0, 1) for _ in range(DIMS)) for _ in self.words]
        self.path = os.path.join(folder, "model.txt")
        with open(self.path, "w", encoding="utf-8") as file:
            for word, vector in zip(self.words, self.vectors):
                file.write(word + " " + " ".join("%.9g" % x for x in vector) + "\n")

    def vector(self, word):
        return self.vectors[self.words.index(word)]

    def expression_vector(self, terms):
        """[(weight, word)] -> float32 components of the weighted sum of unit vectors."""
        total = [0.0] * DIMS
        for weight, word in terms:
            x = self.vector(word)
            factor = weight / math.sqrt(dot(x, x))
            for j in range(DIMS):
                total[j] += factor * x[j]
        return as_floats(total)

    def nearest(self, query, excluded):
        rows = [(-cosine(query, x), i) for i, x in enumerate(self.vectors) if self.words[i] not in excluded]
        return [(self.words[i], -negated) for negated, i in sorted(rows)[:K]]


class Shell:
    """Values arrive as text of 15 digits."""
    exact = False

    def __init__(self, extension):
        self.program = shutil.which("sqlite3") or skip("there is no sqlite3 program")
        self.extension = extension
        self.setup = []

    def rows(self, sql, values=()):
        for value in values:
            sql = sql.replace("?", "'" + str(value).replace("'", "''") + "'", 1)
        if sql.startswith("SELECT glove_load"):
            self.setup.append(sql + ";")  # each call is a process of its own
        script = ".bail on\n.load %s\n.mode ascii\n%s\n%s;\n" % (self.extension, "\n".join(self.setup), sql)
        done = subprocess.run([self.program, ":memory:"], input=script.encode(), capture_output=True, check=False)
        if done.returncode != 0 or done.stderr:
            raise RuntimeError(done.stderr.decode())
        rows = [tuple(row.split("\x1f")) for row in done.stdout.decode().split("\x1e")[:-1]]
        return rows[len(self.setup):] if not sql.startswith("SELECT glove_load") else rows[-1:]

    def close(self):
        pass


class PythonModule:
    exact = True

    def __init__(self, extension):
        import sqlite3
        self.connection = sqlite3.connect(":memory:")
        if not hasattr(self.connection, "enable_load_extension"):
            skip("this Python's sqlite3 module cannot load extensions")
        self.connection.enable_load_extension(True)
        self.connection.load_extension(extension)

    def rows(self, sql, values=()):
        return self.connection.execute(sql, values).fetchall()

    def close(self):
        self.connection.close()


class Apsw:
    exact = True

    def __init__(self, extension):
        try:
            import apsw
        except ImportError:
            skip("apsw is not installed (Debian: python3-apsw)")
        self.connection = apsw.Connection(":memory:")
        self.connection.enableloadextension(True)
        self.connection.loadextension(extension)

    def rows(self, sql, values=()):
        return list(self.connection.cursor().execute(sql, values))

    def close(self):
        self.connection.close()


HOSTS = {"shell": Shell, "sqlite3": PythonModule, "apsw": Apsw}


def check(actual, expected, host, what):
    """Rows of words and numbers; numbers to the bit where the host has them."""
    def same(a, b):
        if not isinstance(b, float):
            return str(a) == str(b) if not host.exact else a == b
        return a == b if host.exact else abs(float(a) - b) <= 1e-14
    if len(actual) != len(expected) or not all(
            len(a) == len(b) and all(map(same, a, b)) for a, b in zip(actual, expected)):
        raise AssertionError("%s:\n  %r\nwhere belongs\n  %r" % (what, actual, expected))


def ask(host, model, source):
    """One round of each kind of question."""
    a, b, c = source.sample(model.words, 3)
    check(host.rows("SELECT neighbor, similarity FROM glove_nn WHERE word = ? AND k = %d ORDER BY rank" % K, (a,)),
          model.nearest(model.vector(a), {a}), host, "word " + a)
    text = '"%s" - "%s" + 2.5 * "%s"' % (a, b, c)
    query = model.expression_vector([(1.0, a), (-1.0, b), (2.5, c)])
    check(host.rows("SELECT neighbor, similarity FROM glove_nn WHERE expr = ? AND k = %d ORDER BY rank" % K, (text,)),
          model.nearest(query, {a, b, c}), host, "expr " + text)
    check(host.rows("SELECT cos_sim(?, ?)", (a, b)), [(cosine(model.vector(a), model.vector(b)),)], host, "cos_sim")
    check(host.rows("SELECT hex(glove_vec(?))", (text,)), [(array.array("f", query).tobytes().hex().upper(),)], host,
          "glove_vec")
    if host.exact:
        blob = array.array("f", query).tobytes()
        check(host.rows("SELECT neighbor, similarity FROM glove_nn WHERE expr = ? AND k = %d ORDER BY rank" % K, (blob,)),
              model.nearest(query, set()), host, "expr a BLOB")
        check(host.rows("SELECT vector FROM glove_words WHERE word = ?", (a,)),
              [(array.array("f", model.vector(a)).tobytes(),)], host, "vector")


def check_alone(host, model, source):
    check(host.rows("SELECT glove_load(?)", (model.path,)), [("model",)], host, "glove_load")
    for _ in range(6 if host.exact else 3):
        ask(host, model, source)
    try:
        host.rows("SELECT glove_load('nowhere.txt')")
    except Exception as error:  # each host has its own class
        assert "nowhere.txt" in str(error), error
    else:
        raise AssertionError("a missing file must be an error")


def check_threads(host_class, options, model, seed):
    """Two connections, two threads; SQLite lets other threads run while it works for one."""
    failures = []

    def work(number):
        try:
            host = host_class(options.extension)
            source = random.Random(seed + number)
            for round_ in range(ROUNDS):
                ask(host, model, source)
                if number == 0:
                    host.rows("SELECT glove_load(?, 'other')", (model.path,))
                    if round_ % 2:
                        host.rows("SELECT glove_unload('other')")
            host.close()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("host", choices=sorted(HOSTS))
    parser.add_argument("--extension", required=True)
    options = parser.parse_args()
    os.environ.pop("GLOVE_MODEL", None)
    seed = int(os.environ.get("GLOVE_TEST_SEED") or random.SystemRandom().getrandbits(32))
    print("repeat with GLOVE_TEST_SEED=%d" % seed)
    folder = tempfile.mkdtemp(prefix="glove-bindings-")
    try:
        model = Model(random.Random(seed), folder)
        host = HOSTS[options.host](options.extension)
        check_alone(host, model, random.Random(seed))
        if host.exact:
            check_threads(HOSTS[options.host], options, model, seed)
        host.close()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
