"""The wheel, installed into a clean virtual environment without an index: test_wheel.py --build FOLDER --project FOLDER --dist
FOLDER

The wheel's RECORD is right, pip installs it, and in the environment load(), neighbors(), load_gensim(), serialize_float32() and
glove-convert work. Skipped if this Python cannot make virtual environments or load extensions.
"""
import argparse
import base64
import csv
import hashlib
import importlib.util
import io
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
import zipfile

import chroot

SKIPPED = 77
LARGEST = 2_000_000  # bytes of a wheel without the CUDA backend

# Run in the environment: FOLDER with model.safetensors.
SCRIPT = r'''
import array, os, random, sqlite3, subprocess, sys, types
import sqlite_glove
conn = sqlite3.connect(":memory:")
sqlite_glove.load(conn)
try:
    conn.execute("SELECT load_extension('nothing')")
    raise SystemExit("load() left the loading of extensions enabled")
except sqlite3.OperationalError as error:
    assert "not authorized" in str(error), error
conn.execute("SELECT glove_load('model.safetensors', 'sample')")
version = conn.execute("SELECT glove_version()").fetchone()[0]
assert sqlite_glove.__version__ in version, version
assert conn.execute("SELECT neighbor FROM glove_nn('piano', NULL, 3)").fetchall() == [("violin",), ("cello",), ("guitar",)]

# The verbs, of which tests/python has more, and the paths.
docs = sqlite_glove.index(conn, "doc", [3, 5], [[1, 0], [0, 1]], {"title": ["a", "b"]})
assert docs.search([2, 1], 1, where="title > ?", params=["a"]) == [(5, docs.search([2, 1])[1][1], "b")]
for arguments, printed in ((["version"], sqlite_glove.__version__), (["--version"], sqlite_glove.__version__), (["path"], sqlite_glove.loadable_path()),
                           (["convert", "--version"], subprocess.run([sqlite_glove.convert_path(), "--version"], capture_output=True,
                                                                     text=True, check=True).stdout.strip())):
    done = subprocess.run([sys.executable, "-m", "sqlite_glove", *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == printed, done

# neighbors() against one statement per word, over more words than a batch holds, some unknown, some twice.
source = random.Random(int(sys.argv[1]))
known = [word for word, in conn.execute("SELECT word FROM glove_words")]
words = [source.choice(known) for _ in range(1500)] + ["nosuchword", 'quo"te', known[0], known[0]]
source.shuffle(words)
seen = []
rows = sqlite_glove.neighbors(conn, words, 3, progress=lambda done, total: seen.append((done, total)))
assert seen == [(1024, len(words)), (len(words), len(words))], seen
expected = [(word,) + row for word in words for row in
            conn.execute("SELECT neighbor, similarity, rank FROM glove_nn(?, NULL, 3) ORDER BY rank", (word,))]
assert [tuple(row) for row in rows] == expected
assert rows[0].word == expected[0][0] and rows[0].rank == 1
assert sqlite_glove.neighbors(conn, "piano", 1, model="sample") == [("piano",) + expected_row for expected_row in
    conn.execute("SELECT neighbor, similarity, rank FROM glove_nn('piano', NULL, 1)")]
assert sqlite_glove.neighbors(conn, [], 3) == []
conn.execute("SELECT glove_load_table('numbers', ?)", ("SELECT 7, '[1,0]' UNION ALL SELECT 12, '[1,1]'",))
assert [(row.word, row.neighbor) for row in sqlite_glove.neighbors(conn, [12, "7"], 1, model="numbers")] == [("12", 7), ("7", 12)]

def must_raise(kind, part, function, *arguments, **options):
    try:
        function(*arguments, **options)
    except kind as error:
        assert part in str(error), error
    else:
        raise SystemExit("%r must be an error" % (arguments,))

class Asynchronous:
    async def enable_load_extension(self, on): pass
    async def load_extension(self, path): pass

for bad, part in (([1.5], "1.5"), ([True], "True"), (b"piano", "b'piano'"), (None, "None"), (2.5, "2.5")):
    must_raise(TypeError, part, sqlite_glove.neighbors, conn, bad)
for bad, part in (("model.db", "'model.db'"), (None, "None"), (Asynchronous(), "await")):
    must_raise(TypeError, part, sqlite_glove.load, bad)
must_raise(RuntimeError, "without loadable extensions", sqlite_glove.load, type("Without", (sqlite3.Connection,),
    {"enable_load_extension": None})(":memory:"))
must_raise(ValueError, "'table'", sqlite_glove.neighbors, conn, "piano", as_frame="table")

values = [source.gauss(0, 1) for _ in range(21)]
assert sqlite_glove.serialize_float32(values) == array.array("f", values).tobytes()
assert sqlite_glove.serialize_float32([]) == b""

try:
    import numpy
except ImportError:
    print("without NumPy: load_gensim() and as_frame were not tried")
    raise SystemExit
matrix = numpy.random.default_rng(source.randrange(2**32)).normal(size=(300, 21)).astype("f4")
vectors = types.SimpleNamespace(index_to_key=["w%d" % i for i in range(298)] + ["new york", "naïve"], vectors=matrix)
assert sqlite_glove.load_gensim(conn, vectors) == "gensim"
blob, = conn.execute("SELECT vector FROM glove_words WHERE word = 'new york' AND model = 'gensim'").fetchone()
assert blob == matrix[298].tobytes()
frame = sqlite_glove.neighbors(conn, ["naïve", "w3"], 4, model="gensim", as_frame="numpy")
assert frame.shape == (8,) and list(frame["rank"]) == [1, 2, 3, 4] * 2
unit = matrix.astype("f8") / numpy.linalg.norm(matrix.astype("f8"), axis=1, keepdims=True)
nearest = numpy.argsort(-(unit @ unit[299]), kind="stable")
assert list(frame["neighbor"][:4]) == [vectors.index_to_key[i] for i in nearest if i != 299][:4]
vectors.index_to_key[0] = "two\nlines"
must_raise(ValueError, "two", sqlite_glove.load_gensim, conn, vectors)
'''


# Run in the small Debian, as README.md of the package says.
FIRST_STEPS = """import sqlite3, sqlite_glove
conn = sqlite3.connect(":memory:")
sqlite_glove.load(conn)
conn.execute("SELECT glove_load('/tmp/glove.safetensors')")
print([word for word, in conn.execute("SELECT neighbor FROM glove_nn WHERE expr = 'king - man + woman' AND k = 3")])
"""


def check_in_chroot(archive, folder, wheel, sample):
    debian = chroot.Chroot(archive, folder)
    debian.run("python3", "-m", "venv", "/opt/env")
    debian.run("/opt/env/bin/pip", "install", "--no-index", debian.copy(wheel))
    debian.run("/opt/env/bin/glove-convert", "-q", debian.copy(sample), "/tmp/glove.safetensors")
    printed = debian.run("/opt/env/bin/python3", "-c", FIRST_STEPS)
    assert printed == "['queen', 'monarch', 'throne']\n", printed
    print("installed and used in a chroot")


def check_record(path):
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        record = next(name for name in names if name.endswith(".dist-info/RECORD"))
        rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
        assert sorted(row[0] for row in rows) == sorted(names) and len(set(names)) == len(names)
        for name, digest, size in rows:
            if name != record:
                data = archive.read(name)
                expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                assert digest == "sha256=" + expected and int(size) == len(data), name
        assert archive.getinfo("sqlite_glove/glove-convert").external_attr >> 16 & stat.S_IXUSR
        if b"cudart" not in archive.read("sqlite_glove/glove.so"):
            assert os.path.getsize(path) <= LARGEST, f"{path} has {os.path.getsize(path):,} bytes"


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}"
    return done.stdout


def main():
    parser = argparse.ArgumentParser()
    for option in ("--build", "--project", "--dist"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    if not hasattr(sqlite3.connect(":memory:"), "enable_load_extension"):
        print("skipped: this Python's sqlite3 cannot load extensions")
        sys.exit(SKIPPED)
    if importlib.util.find_spec("ensurepip") is None:
        print("skipped: this Python cannot make virtual environments (Debian: python3-venv)")
        sys.exit(SKIPPED)
    seed = os.environ.get("GLOVE_TEST_SEED") or str(int.from_bytes(os.urandom(4), "little"))
    print("repeat with GLOVE_TEST_SEED=" + seed)
    # No settings of this machine: neither Python's paths nor pip's indexes.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_", "GLOVE_"))}
    environment["PIP_CONFIG_FILE"] = os.devnull
    with tempfile.TemporaryDirectory() as folder:
        builder = os.path.join(options.project, "packaging/wheel.py")
        second = run(sys.executable, builder, options.build, folder).strip()
        first = os.path.join(options.dist, os.path.basename(second))
        with open(first, "rb") as a, open(second, "rb") as b:
            assert a.read() == b.read(), "the same build must make the same wheel"
        check_record(first)
        bin_ = os.path.join(folder, "env", "bin")
        # With the system's packages where they are, for NumPy; pip still installs into the environment.
        run(sys.executable, "-m", "venv", "--system-site-packages", os.path.join(folder, "env"), env=environment)
        run(os.path.join(bin_, "python3"), "-m", "pip", "install", "--no-index", "--disable-pip-version-check", first, env=environment)
        sample = os.path.join(options.project, "examples/data/glove-6b-100d-20k.txt.gz")
        run(os.path.join(bin_, "glove-convert"), "-q", sample, "model.safetensors", cwd=folder)
        print(run(os.path.join(bin_, "python3"), "-c", SCRIPT, seed, cwd=folder, env=environment), end="")
        run(os.path.join(bin_, "python3"), "-m", "pip", "uninstall", "-y", "sqlite-glove", env=environment)
        left = [name for name in os.listdir(bin_) if "glove" in name]
        assert not left, left
        archive = chroot.archive()
        if archive is not None:
            check_in_chroot(archive, folder, first, sample)


if __name__ == "__main__":
    main()
