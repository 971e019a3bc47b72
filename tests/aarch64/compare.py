"""Compares model files and answers of a build for 64-bit Arm, under qemu, with those of this machine, bit for bit.

compare.py BUILD_HERE BUILD_AARCH64 AARCH64_ROOT [FILE]

The same inputs, random and in every format, are converted by both glove-convert programs: the files must be equal. Then both
sqlite3 shells load their glove.so and put the answers to the same statements into a database, whose doubles SQLite keeps
as they are: all values must be equal, with every instruction set that either has. FILE is one more input, such as a whole model.
"""
import filecmp
import os
import random
import sqlite3
import struct
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "loader"))
import embedding_writers  # noqa: E402

SEED = int(os.environ.get("GLOVE_TEST_SEED") or random.SystemRandom().randrange(2**32))
TARGETS = {"here": ["", "scalar"], "aarch64": ["", "scalar", "neon", "neondotprod"]}

# Every way to compute a similarity: one query and a batch, short and long answers, the whole relation, expressions, BLOBs.
STATEMENTS = """
CREATE TABLE queries AS SELECT id, word FROM glove_words WHERE id % 97 = 5 AND id < 4000;
CREATE TABLE one AS SELECT q.id AS query, n.neighbor, n.rank, n.similarity
  FROM queries q CROSS JOIN glove_nn n WHERE n.word = q.word AND n.k = 10;
CREATE TABLE batch AS SELECT n.word, n.neighbor, n.rank, n.similarity
  FROM glove_nn n WHERE n.word IN (SELECT word FROM queries) AND n.k = 10;
CREATE TABLE long_answer AS SELECT neighbor, rank, similarity FROM glove_nn((SELECT word FROM queries LIMIT 1), NULL, 150);
CREATE TABLE everything AS SELECT neighbor, rank, similarity FROM glove_nn((SELECT word FROM queries LIMIT 1 OFFSET 1));
CREATE TABLE expression AS SELECT neighbor, rank, similarity FROM glove_nn n WHERE n.k = 20 AND n.expr =
  (SELECT group_concat('"' || word || '"', ' - 0.3 * ') FROM (SELECT word FROM queries WHERE instr(word, '"') = 0 LIMIT 5));
CREATE TABLE blob AS SELECT neighbor, rank, similarity FROM glove_nn n WHERE n.k = 20 AND n.expr =
  (SELECT vector FROM glove_words WHERE id = 3);
CREATE TABLE cosines AS SELECT a.id AS a, b.id AS b, cos_sim(a.word, b.word) AS cosine FROM queries a, queries b;
CREATE TABLE vectors AS SELECT id, glove_vec('"' || word || '" + 2 * "' || word || '"') AS vector
  FROM queries WHERE instr(word, '"') = 0;
CREATE TABLE words AS SELECT id, word, norm, vector FROM glove_words WHERE id < 3000;
CREATE TABLE texts AS SELECT q.id, glove_text_vec('the ' || q.word || ' and a ' || p.word) AS vector,
  glove_text_vec(q.word || ' ' || p.word, NULL, '{"a":0.01,"components":10}') AS derived
  FROM queries q JOIN queries p ON p.id = q.id + 97;
CREATE TABLE components AS SELECT component, vector FROM glove_pca(10);
CREATE TABLE prefix AS SELECT id, word FROM glove_words WHERE word GLOB 'w1*';
"""


class Machine:
    def __init__(self, name, build, emulator, environment, files=("glove.so", "glove-convert")):
        self.name, self.build, self.emulator = name, os.path.abspath(build), emulator
        self.extension, self.program = (os.path.join(self.build, file) for file in files)
        self.environment = dict(os.environ, **environment)

    def run(self, program, *arguments, text=None, **environment):
        result = subprocess.run([*self.emulator, program, *arguments], input=text, capture_output=True, text=True, check=False,
                                env=dict(self.environment, **environment))
        if result.returncode or result.stderr:
            sys.exit(f"seed {SEED}, {self.name}, {os.path.basename(program)}: exit code {result.returncode}\n{result.stderr}")
        return result.stdout

    def convert(self, source, target):
        self.run(self.program, "--quiet", source, target)

    def answers(self, shell, model, target, database):
        """All the answers, as a dictionary of tables."""
        if os.path.exists(database):
            os.remove(database)
        self.run(shell, "-bail", database, text=f".load '{self.extension}'\n{STATEMENTS}", GLOVE_MODEL=model, GLOVE_CPU_TARGET=target)
        with sqlite3.connect(database) as connection:
            connection.text_factory = bytes
            names = [row[0].decode() for row in connection.execute("SELECT name FROM sqlite_schema ORDER BY name")]
            return {name: sorted(map(bits_of_row, connection.execute(f"SELECT * FROM {name}"))) for name in names}


def bits_of_row(row):
    return [struct.pack(">d", value).hex() if isinstance(value, float) else repr(value) for value in row]


def write_inputs(folder, generator):
    """One file of each format, plain."""
    for number, (writer, _, _, spaces) in enumerate(embedding_writers.FORMATS):
        rows, dims = int(generator.integers(200, 700)), int(generator.integers(1, 90))
        values = generator.normal(0, 0.4, (rows, dims)).astype(numpy.float32)
        if writer in (embedding_writers.glove_text, embedding_writers.numpy_float32, embedding_writers.safetensors_f32):
            values *= numpy.exp2(generator.integers(-120, 100, (rows, 1))).astype(numpy.float32)  # norms of every size
        values[rows // 2] = 0
        words = ["größe".encode(), "日本".encode(), b"\xff\xfe", b"1.5", b"#"] + ([b"new york", b". . ."] if spaces else [])
        words += [b"w%d" % i for i in range(rows - len(words))]
        generator.shuffle(words)
        files = writer(words, values)
        place = os.path.join(folder, f"{number}-{writer.__name__}")
        os.mkdir(place)
        for name, content in files.items():
            with open(os.path.join(place, name), "wb") as file:
                file.write(content)
        yield os.path.join(place, next(iter(files)))


def write_large_input(folder, generator):
    """Enough rows for every tile, thread and chunk, clustered and with rows that are equal."""
    centres = generator.normal(0, 1, (40, 52))
    rows = (centres[generator.integers(0, 40, 12000)] + generator.normal(0, 0.3, (12000, 52))).astype(numpy.float32)
    rows[6000:6500] = rows[:500]
    path = os.path.join(folder, "large.txt")
    with open(path, "wb") as file:
        file.write(embedding_writers.glove_text([b"w%d" % i for i in range(12000)], rows)["m.txt"])
    return path


def compare_answers(here, there, shells, model, database):
    wanted = None
    for machine, shell in zip((here, there), shells):
        for target in TARGETS[machine.name]:
            got = machine.answers(shell, model, target, database)
            if wanted is None:
                wanted = got
                if min(map(len, wanted.values())) == 0:
                    sys.exit(f"seed {SEED}: a statement has no rows, so it compares nothing")
            for table in wanted:
                if got[table] != wanted[table]:
                    first = next((pair for pair in zip(got[table], wanted[table]) if pair[0] != pair[1]), "the number of rows")
                    sys.exit(f"seed {SEED}, {machine.name}, '{target}': the table {table} differs: {first}")
    return sum(map(len, wanted.values()))


def main():
    here_build, there_build, root = sys.argv[1:4]
    root = os.path.abspath(root)
    here = Machine("here", here_build, [], {})
    there = Machine("aarch64", there_build, ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"],
                    {"QEMU_SET_ENV": f"LD_LIBRARY_PATH={root}/usr/lib/aarch64-linux-gnu"})
    shells = ("sqlite3", os.path.join(root, "usr/bin/sqlite3"))
    generator = numpy.random.default_rng(SEED)
    with tempfile.TemporaryDirectory(prefix="glove-aarch64-") as folder:
        inputs = [*write_inputs(folder, generator), write_large_input(folder, generator), *sys.argv[4:]]
        ours, theirs = os.path.join(folder, "ours.safetensors"), os.path.join(folder, "theirs.safetensors")
        total = 0
        for path in inputs:
            here.convert(path, ours)
            there.convert(path, theirs)
            if not filecmp.cmp(ours, theirs, shallow=False):
                sys.exit(f"seed {SEED}: the model files of {path} differ")
            total += os.path.getsize(ours)
            if path in inputs[len(embedding_writers.FORMATS):]:
                rows = compare_answers(here, there, shells, theirs, os.path.join(folder, "answers.db"))
                print(f"{os.path.basename(path)}: {rows} rows of answers, equal with {', '.join(TARGETS['aarch64'][1:])} and here")
    print(f"{len(inputs)} model files, {total} bytes in all, equal")


if __name__ == "__main__":
    main()
