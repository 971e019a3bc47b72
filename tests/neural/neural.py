"""What the tests of this folder share: SCRIPT GLOVE_SO [FOLDER]

With the FOLDER of a virtual environment (environment.py of tests/frameworks), ONNX Runtime of PyPI computes, and without one
fake_onnxruntime.c, which the C compiler makes. Skipped if there is no such environment, compiler or NumPy.
"""
import glob
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77
EXTENSION = sys.argv[1]
ENVIRONMENT = sys.argv[2] if len(sys.argv) > 2 and os.sep in sys.argv[2] else None


def skip(reason):
    print("skipped: " + reason)
    sys.exit(SKIPPED)


if ENVIRONMENT and os.path.realpath(sys.prefix) != os.path.realpath(ENVIRONMENT):
    if os.environ.get("GLOVE_TEST_SHORT") or not os.path.exists(os.path.join(ENVIRONMENT, "installed")):
        skip("onnxruntime is not installed; the test neural.environment says why")
    python = os.path.join(ENVIRONMENT, "bin", "python3")
    os.execv(python, [python, *sys.argv])
try:
    import numpy
except ImportError:
    skip("NumPy is not installed (Debian: python3-numpy)")

import make_model

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = int(os.environ.get("GLOVE_TEST_SEED") or numpy.random.default_rng().integers(1 << 30))
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
FOLDER = tempfile.TemporaryDirectory()
sys.argv[1:] = sys.argv[3 if ENVIRONMENT else 2:]


def compiled(name, *arguments):
    """The path of fake_onnxruntime.c as a library."""
    path = os.path.join(FOLDER.name, name + ".so")
    compiler = shutil.which("cc")
    if compiler is None:
        skip("there is no C compiler")
    if not os.path.exists(path):
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", path, *arguments, os.path.join(HERE, "fake_onnxruntime.c")], check=True)
    return path


def find_library():
    if ENVIRONMENT is None:
        return compiled("onnxruntime")
    return glob.glob(os.path.join(ENVIRONMENT, "lib", "python3*", "site-packages", "onnxruntime", "capi", "libonnxruntime.so*"))[0]


LIBRARY = find_library()
os.environ["GLOVE_ONNXRUNTIME"] = LIBRARY
os.environ.pop("GLOVE_FAKE_US", None)


def connect(path=":memory:"):
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA synchronous = OFF")
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    return db


class NeuralTest(unittest.TestCase):
    """The folder "m" is a model with the poolings and prompts that write_folder() takes."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.random = numpy.random.default_rng(SEED)
        self.db = connect(self.path("t.db"))
        self.addCleanup(self.forget)

    def run(self, result=None):
        with self.subTest(seed=SEED):
            return super().run(result)

    def forget(self):
        """Closes the connection and unloads all models of the process."""
        self.db.close()
        db = connect()
        for setting, value in (("onnxruntime", LIBRARY), ("onnxruntime_provider", "cpu"), ("encode_limit", "1000"), ("threads", "0")):
            db.execute("SELECT glove_config(?, ?)", (setting, value))
        for name, in db.execute("SELECT name FROM glove_models").fetchall():
            db.execute("SELECT glove_unload(?)", (name,))
        db.close()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def ask(self, sql, *values, db=None):
        return (db or self.db).execute(sql, values).fetchall()

    def one(self, sql, *values, db=None):
        return self.ask(sql, *values, db=db)[0][0]

    def error(self, sql, *values, db=None):
        with self.assertRaises(sqlite3.Error) as raised:
            self.ask(sql, *values, db=db)
        return str(raised.exception)

    def make(self, name="m", network=None, **options):
        return make_model.write_folder(self.path(name), network or make_model.Network(), **options)

    def load(self, name="m", options=None, db=None):
        return self.one("SELECT glove_load(?, ?, ?)", self.path(name), name, options, db=db)

    def vector(self, text, model="m", db=None):
        return numpy.frombuffer(self.one("SELECT glove_encode(?, ?)", text, model, db=db), "f4")

    def text(self, words=6):
        return " ".join(self.random.choice(make_model.WORDS, words))
