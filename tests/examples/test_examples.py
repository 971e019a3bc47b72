"""Runs the SQL scripts of examples/ in the sqlite3 shell and compares what they print with references.

test_examples.py NAME --extension GLOVE.SO --convert GLOVE-CONVERT --project DIR

quickstart         quickstart.sql prints queen first, and every table it promises
analogies_sample   analogies.sql on the 20,000-word sample = a NumPy float64 evaluation made here
similarity_sample  similarity.sql on the sample = Spearman's correlation computed here
clusters           clusters.sql names every cluster by its most typical word, and they hold all words
clusters_sample    glove_kmeans on the sample is where Lloyd's algorithm ends, in NumPy float64: every word in the nearest cluster,
                   every centroid the mean of its words; and it is as good as that algorithm from random starts
sts                sts.sh prints the correlations of sentence vectors that NumPy computes here from the definition in docs/text.md
apt_search         apt_search.py finds packages of its sample by their meaning, and judges the rankings
dedupe             dedupe.py shows the groups of its sample that NumPy finds here, and keeps the first package of each
map_drawing        map.sql draws a well-formed SVG with every word; no two labels overlap by the text boxes of Chromium, which is
                   not measured where there is no browser
clean_sample       clean.sql on the sample = the same derivations in NumPy float64
components_sample  glove_pca on the sample = NumPy float64
map_sample         glove_map keeps the nearest neighbours together, and has the same rows on every instruction set and
                   with any number of threads
full_model         these on build/glove-6b-100d.safetensors (made by examples/full-model.sh; skipped where it is not)
                   = the figures recorded below
"""
import argparse
import collections
import csv
import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
SHORT = "GLOVE_TEST_SHORT" in os.environ  # tests/run.sh without --all: fewer metrics, derivations and numbers of threads

# Float64, unit-normalised terms, on the 341,479-word model: correct of questions, and Spearman's correlation of pairs.
FULL_ANALOGIES = {
    "capital-common-countries": (506, 475), "currency": (866, 124), "family": (506, 413),
    "gram3-comparative": (1332, 1065), "gram5-present-participle": (1056, 743),
    "gram6-nationality-adjective": (1599, 1406), "gram8-plural": (1332, 959),
}
# {options of glove_pca: (component: singular value, variance ratio)}, of NumPy in float64; and the total variance.
FULL_COMPONENTS = {
    "{}": ([576.968, 422.706, 359.941, 331.038, 308.172, 302.287, 298.568, 292.598, 285.716, 276.452],
           [.06360, .03414, .02475, .02094, .01814, .01746, .01703, .01636, .01560, .01460]),
    '{"center":false}': ([907.947, 425.611, 366.013], []),
    '{"unit_rows":true}': ([160.475, 107.630, 88.480], []),
}
FULL_VARIANCE, FULL_MEAN = 15.328499, 1.241648
# The sum of squared distances of k-means with 24 clusters: the worst of three runs of scikit-learn's with k-means++, which ours
# may exceed by 0.1 %, and the options of the model's derivation. The second is of rows of length 1.
FULL_CLUSTERS = ((4408806, "{}"), (243815.2, '{"normalize":true}'))
# Spearman's correlation on RG-65, SimLex-999 and WS-353, and correct analogies, by prototypes in NumPy.
FULL_DERIVATIONS = {
    "raw": (.6907, .2976, .5327, 5185), "center": (.6937, .2840, .5060, 5182), "remove 1": (.7047, .3292, .5997, 5104),
    "remove 2": (.6983, .3286, .6037, 5105), "remove 3": (.7070, .3287, .6079, 5129), "remove 5": (.7094, .3360, .6430, 5057),
    "whiten": (.7195, .3499, .6149, 5230), "dims 50": (.6337, .2292, .4687, None), "remove 3, dims 64": (.7028, .2845, .5871, 4629),
}
FULL_SIMILARITY = {"WS-353-ALL": (0.532735, 353), "SIMLEX-999": (0.297550, 999), "RG-65": (0.690737, 65)}


class Run:
    """One run of an example in the sqlite3 shell, with the paths of the build under test."""

    def __init__(self, options):
        self.options = options
        self.folder = tempfile.mkdtemp(prefix="glove-examples-")

    def convert_sample(self):
        model = os.path.join(self.folder, "sample.safetensors")
        subprocess.run([self.options.convert, "--quiet",
                        os.path.join(self.options.project, "examples/data/glove-6b-100d-20k.txt.gz"), model], check=True)
        return model

    def shell(self, script, model, mode=None):
        """The output of examples/SCRIPT; mode replaces its '.mode box'."""
        with open(os.path.join(self.options.project, "examples", script)) as file:
            sql = file.read()
        sql = sql.replace("./build/release/glove", self.options.extension)
        sql = sql.replace("build/glove-6b-100d-20k.safetensors", model)
        if mode:
            sql = sql.replace(".mode box", ".mode " + mode)
        path = os.path.join(self.folder, script)
        with open(path, "w") as file:
            file.write(sql)
        result = subprocess.run(["sqlite3", "-batch", "-bail", ":memory:", ".read " + path], capture_output=True, text=True,
                                cwd=self.options.project, env={**os.environ, "GLOVE_MODEL": model})
        if result.returncode != 0 or result.stderr:
            sys.exit(f"{script} failed with {result.returncode}: {result.stderr}\n{result.stdout}")
        return result.stdout

    def query(self, model, sql, environment={}):
        """The rows of one statement."""
        result = subprocess.run(["sqlite3", "-batch", "-bail", "-list", ":memory:", ".load " + self.options.extension, sql],
                                capture_output=True, text=True, env={**os.environ, "GLOVE_MODEL": model, **environment}, check=True)
        return [line.split("|") for line in result.stdout.splitlines()]

    def rows(self, script, model):
        lines = self.shell(script, model, "list").splitlines()
        return {line.split("|")[0]: line.split("|")[1:] for line in lines}


def table_lines(project, name):
    with open(os.path.join(project, "examples/data", name), encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def read_vectors(project):
    """The numbers of the sample's words, and its rows in float64, as they are in the file."""
    import numpy
    with gzip.open(os.path.join(project, "examples/data/glove-6b-100d-20k.txt.gz"), "rt", encoding="utf-8") as file:
        words, numbers = zip(*(line.split(" ", 1) for line in file))
    rows = numpy.fromstring("".join(numbers), numpy.float64, sep=" ").reshape(len(words), -1)  # much faster than an array of texts
    return {word: i for i, word in enumerate(words)}, rows.astype(numpy.float32).astype(numpy.float64)


def read_sample(project):
    """The same, with rows of length 1."""
    import numpy
    ids, rows = read_vectors(project)
    return ids, rows / numpy.linalg.norm(rows, axis=1, keepdims=True)


def first_vectors(run, model, words):
    import numpy
    rows = run.query(model, f"SELECT hex(vector) FROM glove_words LIMIT {words}")
    return numpy.array([numpy.frombuffer(bytes.fromhex(row), dtype=numpy.float32) for row, in rows], dtype=numpy.float64)


def close(what, found, expected, relative=1e-6):
    if not abs(found - expected) <= relative * abs(expected):
        sys.exit(f"{what}: found {found}, expected {expected}")


def check_equal(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: found {found}, expected {expected}")


def quickstart(run):
    output = run.shell("quickstart.sql", run.convert_sample())
    analogy = output.split("king - man + woman")[1]
    first = re.search(r"^│ 1 +│ (\S+)", analogy, re.MULTILINE)
    check_equal("first row of the analogy", first and first.group(1), "queen")
    for text in ("20000", "coffee_tea", "neighbours", "A fugue a day", "│ Flour, water and salt"):
        if text not in output:
            sys.exit(f"quickstart.sql does not print '{text}':\n{output}")


def answers_of(unit, ids, questions):
    """Whether the row nearest to b - a + c is that of d, for each of the questions (category, a, b, c, d) whose words it needs are known."""
    import numpy
    correct = []
    for first in range(0, len(questions), 512):  # a product of matrices takes a fraction of as many products with a vector
        part = numpy.array([[ids.get(word, -1) for word in question[1:]] for question in questions[first:first + 512]])
        scores = (unit[part[:, 1]] - unit[part[:, 0]] + unit[part[:, 2]]) @ unit.T
        for excluded in range(3):
            scores[numpy.arange(len(part)), part[:, excluded]] = -numpy.inf
        correct += (scores.argmax(axis=1) == part[:, 3]).tolist()
    return correct


def analogies_sample(run):
    ids, unit = read_sample(run.options.project)
    questions = table_lines(run.options.project, "analogy-questions.tsv")
    known = [question for question in questions if all(word in ids for word in question[1:4])]
    correct = collections.Counter(question[0] for question, right in zip(known, answers_of(unit, ids, known)) if right)
    expected = {category: (count, correct[category]) for category, count in collections.Counter(q[0] for q in questions).items()}
    expected["all"] = (len(questions), sum(correct.values()))
    if expected["all"][1] < 1000:
        sys.exit(f"the reference finds only {expected['all'][1]} correct answers: it tests nothing")
    rows = run.rows("analogies.sql", run.convert_sample())
    check_equal("analogies", {k: (int(v[0]), int(v[1])) for k, v in rows.items()}, expected)


def spearman(x, y):
    import numpy

    def ranks(values):
        values = numpy.asarray(values)
        return numpy.array([(values < v).sum() + ((values == v).sum() - 1) / 2.0 for v in values])
    return float(numpy.corrcoef(ranks(x), ranks(y))[0, 1])


def similarity_sample(run):
    ids, unit = read_sample(run.options.project)
    scores = {}
    for name, a, b, score in table_lines(run.options.project, "similarity-pairs.tsv"):
        i = ids.get(a, ids.get(a.lower()))
        j = ids.get(b, ids.get(b.lower()))
        if i is not None and j is not None:
            scores.setdefault(name, []).append((float(score), float(unit[i] @ unit[j])))
    rows = run.rows("similarity.sql", run.convert_sample())
    check_equal("sets", sorted(rows), sorted(scores))
    for name, pairs in scores.items():
        check_equal(f"{name}: pairs found", int(rows[name][1]), len(pairs))
        expected = spearman(*zip(*pairs))
        if abs(float(rows[name][0]) - expected) > 1e-6:
            sys.exit(f"{name}: found {rows[name][0]}, expected {expected}")


def clusters(run):
    rows = [line.split("|") for line in run.shell("clusters.sql", run.convert_sample(), "list").splitlines()]
    check_equal("clusters", len(rows), 12)
    sizes = [int(row[1]) for row in rows]
    check_equal("sizes", sizes, sorted(sizes, reverse=True))
    check_equal("words", sum(sizes), 2000)
    for label, _, _, words in rows:
        check_equal("the most typical word", words.split(" ")[0], label)
    check_equal("families", [{"father", "mother"} <= set(row[3].split()) for row in rows].count(True), 1)


def lloyd(rows, unit, start):
    """The inertia that Lloyd's algorithm ends with in NumPy; with `unit` it is that of rows of length 1 and their directions."""
    import numpy
    centroids, labels = rows[start], None
    while True:
        scores = rows @ centroids.T - (0 if unit else (centroids ** 2).sum(axis=1) / 2)
        found = scores.argmax(axis=1)
        if labels is not None and (found != labels).sum() <= len(rows) / 1000:
            best = scores.max(axis=1).sum()
            return len(rows) - best if unit else (rows ** 2).sum() - 2 * best
        labels = found
        centroids = numpy.array([rows[labels == c].mean(axis=0) for c in range(len(start))])
        if unit:
            centroids /= numpy.linalg.norm(centroids, axis=1, keepdims=True)


def check_clusters_of(run, model, metric, rows):
    import numpy
    count, unit = 24, metric == "cosine"
    inputs = f'{count}, NULL, NULL, NULL, \'{{"metric":"{metric}","tol":0,"max_iter":1000,"seed":%d}}\''
    inertias = []
    for seed in range(3):
        found = run.query(model, f"SELECT inertia, converged, hex(centroid) FROM glove_clusters({inputs % seed})")
        labels = numpy.array(run.query(model, f"SELECT cluster FROM glove_kmeans({inputs % seed})"), dtype=int)[:, 0] - 1
        centroids = numpy.array([numpy.frombuffer(bytes.fromhex(row[2]), dtype=numpy.float32) for row in found], dtype=numpy.float64)
        check_equal("clusters that converged", [row[1] for row in found], ["1"] * count)
        means = numpy.array([rows[labels == c].mean(axis=0) for c in range(count)])
        if unit:
            means /= numpy.linalg.norm(means, axis=1, keepdims=True)
        close(f"{metric}: distance of the centroids from the means", 1 + numpy.abs(centroids - means).max(), 1)
        scores = rows @ centroids.T - (0 if unit else (centroids ** 2).sum(axis=1) / 2)
        best = scores.max(axis=1)
        close(f"{metric}: scores of the labels", (best - scores[numpy.arange(len(rows)), labels]).max() + 1, 1, 1e-9)
        inertias.append(sum(float(row[0]) for row in found))
        close(f"{metric}: inertia", inertias[-1], len(rows) - best.sum() if unit else (rows ** 2).sum() - 2 * best.sum())
    random = numpy.random.default_rng(1)
    others = [lloyd(rows.astype("f4"), unit, random.choice(len(rows), count, replace=False)) for _ in range(3)]
    if sum(inertias) > 1.002 * sum(others):
        sys.exit(f"{metric}: inertias {inertias}, but those of Lloyd's algorithm from random rows are {others}")


def clusters_sample(run):
    import numpy
    model = run.convert_sample()
    _, raw = read_vectors(run.options.project)
    if not SHORT:
        check_clusters_of(run, model, "euclidean", raw)
    check_clusters_of(run, model, "cosine", raw / numpy.linalg.norm(raw, axis=1, keepdims=True))


# Sentences without words that need the rules of the tokeniser, and scores.
STS_PAIRS = [
    ("A man is playing the piano.", "A woman plays the guitar.", 2.4), ("The cat sleeps on the sofa", "A dog runs in the park", 1.0),
    ("Stocks fell sharply on Monday", "Shares dropped at the start of the week", 4.2), ("nosuchword xyzzy", "The weather is nice", 0.0),
    ("The president met the prime minister", "The leaders of both countries met", 3.6), ("I like green tea", "Coffee is bad for you", 1.4),
    ("The team won the final match", "The club was victorious in the final", 4.5), ("Two boys play football", "Two boys play football", 5.0),
    ("Heavy rain flooded the streets", "The bank raised interest rates", 0.0), ("He wrote a book, a play and a song", "She reads books", 1.4),
]


def sentence_vectors(run, a=1e-4, components=5):
    """The function from a sentence to its vector, by the definition."""
    import numpy
    ids, rows = read_vectors(run.options.project)
    ranks = numpy.arange(1, len(ids) + 1)
    p = 1 / (ranks * (1 / ranks).sum())
    weights = a / (a + p)
    scaled = rows * (numpy.sqrt(p) * weights)[:, None]
    common = numpy.linalg.eigh(scaled.T @ scaled)[1][:, ::-1][:, :components]

    def vector(sentence):
        known = [ids[word] for word in re.findall(r"\w+", sentence.lower()) if word in ids]
        if not known:
            return None
        mean = (weights[known][:, None] * rows[known]).mean(axis=0)
        return mean - common @ (common.T @ mean)
    return vector


def csv_text(lines, **form):
    text = io.StringIO()
    csv.writer(text, **form).writerows(lines)
    return text.getvalue()


def check_vectors_of_every_instruction_set(run, environment):
    """Components of the file, and others that each instruction set derives: the same bits."""
    sentence = STS_PAIRS[4][0]
    sql = f"SELECT hex(glove_text_vec('{sentence}')), hex(glove_text_vec('{sentence}', NULL, '{{\"a\":0.01,\"components\":10}}'))"
    found = {}
    for target in ("scalar", "sse4", "avx2", "avx512", "avx512vnni", "neon", "neondotprod"):
        result = subprocess.run(["sqlite3", ":memory:", f".load '{run.options.extension}'", sql], capture_output=True, text=True,
                                env={**environment, "GLOVE_CPU_TARGET": target})
        if "this machine" not in result.stderr:
            found[target] = result.stdout + result.stderr
    check_equal("vectors of " + ", ".join(found), len(set(found.values())), 1)
    check_equal("bytes of two vectors in hexadecimal", [len(text) for text in found["scalar"].strip().split("|")], [800, 800])
    print("the same vectors with", ", ".join(found))


def sts(run):
    import numpy
    path = os.path.join(run.folder, "pairs.csv")
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(STS_PAIRS)
    vector = sentence_vectors(run)
    similarities = []
    for first, second, _ in STS_PAIRS:
        x, y = vector(first), vector(second)
        unknown = x is None or y is None
        similarities.append(0 if unknown else float(x @ y / numpy.sqrt((x @ x) * (y @ y))))
    scores = [score for _, _, score in STS_PAIRS]
    environment = {**os.environ, "GLOVE_MODEL": run.convert_sample(), "GLOVE_EXTENSION": run.options.extension}
    result = subprocess.run([os.path.join(run.options.project, "examples/sts.sh"), path, path], capture_output=True, text=True, env=environment)
    expected = "pairs.csv: Pearson %.4f, Spearman %.4f, %d pairs\n" % (
        numpy.corrcoef(scores, similarities)[0, 1], spearman(scores, similarities), len(scores))
    check_equal("sts.sh", result.stdout, expected * 2)
    # The same pairs as other programs write them; quotes are no words, so they change no vector.
    lines = [("sentence1", "sentence2", "score"), *STS_PAIRS, ("An unscored pair", "of SemEval", "")]
    lines[1] = ('"A man" is "playing" the piano.', *lines[1][1:])
    quoted = [[*map(str, line[:2]), f" {line[2]}"] for line in lines]
    odd = os.path.join(run.folder, "it's 100% odd.csv")
    expected = expected.replace("pairs.csv", "it's 100% odd.csv").replace(" pairs\n", " pairs, 2 lines without a score\n")
    for content in (csv_text(quoted, quoting=csv.QUOTE_ALL, lineterminator="\r\n"), "\ufeff" + csv_text(quoted, lineterminator="\n\n"),
                    "".join("\t".join(line) + "\r\n" for line in quoted), csv_text(quoted, lineterminator="\n").rstrip("\n")):
        with open(odd, "w", encoding="utf-8", newline="") as file:
            file.write(content)
        result = subprocess.run([os.path.join(run.options.project, "examples/sts.sh"), odd], capture_output=True, text=True, env=environment)
        check_equal("sts.sh", (result.stdout, result.stderr), (expected, ""))
    check_vectors_of_every_instruction_set(run, environment)
    missing = subprocess.run([os.path.join(run.options.project, "examples/sts.sh"), path + "x"], capture_output=True, text=True, env=environment)
    check_equal("a missing file", (missing.returncode, missing.stderr), (1, f"examples/sts.sh: cannot read {path}x\n"))


def apt_search(run):
    folder = os.path.join(run.options.project, "examples/apt-search")
    database = os.path.join(run.folder, "packages.db")
    environment = {name: value for name, value in os.environ.items() if name != "GLOVE_MODEL"}
    environment["GLOVE_EXTENSION"] = run.options.extension

    def call(*arguments, **more):
        result = subprocess.run([sys.executable, "-B", os.path.join(folder, "apt_search.py"), *arguments], capture_output=True, text=True,
                                env={**environment, **more})
        if result.returncode != 0:
            sys.exit(f"apt_search.py {arguments} failed: {result.stderr}")
        return result.stdout
    built = call("build", database, os.path.join(folder, "sample.gz"))
    check_equal("packages", built.split(" ")[:2], ["500", "packages"])
    first, *found = call("search", database, "play old nintendo games").splitlines()
    check_equal("by all words", first, "Packages with all words of the question: 0")
    names = [line.split(" ")[0] for line in found]
    check_equal("rows", len(names), 10)
    check_equal("emulators", {"dolphin-emu", "desmume", "nestopia"} - set(names), set())
    again = call("search", database, "play old nintendo games", GLOVE_MODEL=run.convert_sample())
    check_equal("with the same model from a file", again.splitlines(), [first, *found])
    check_equal("unknown words", len(call("search", database, "zzqq").splitlines()), 1)
    judged = re.findall(r"^(.*?) +MRR ([\d.]+), among the first ten ([\d.]+)$", call("judge", database, "100"), re.MULTILINE)
    check_equal("rankings", len(judged), 4)
    for name, reciprocal, in_ten in judged:
        if not 0.2 < float(reciprocal) <= float(in_ten) <= 1:
            sys.exit(f"{name}: MRR {reciprocal}, among the first ten {in_ten}")


def dedupe(run):
    import html
    import sqlite3
    import numpy
    folder = os.path.join(run.options.project, "examples")
    database, page = os.path.join(run.folder, "packages.db"), os.path.join(run.folder, "groups.html")
    environment = {name: value for name, value in os.environ.items() if name != "GLOVE_MODEL"}
    environment["GLOVE_EXTENSION"] = run.options.extension

    def call(script, *arguments, status=0):
        result = subprocess.run([sys.executable, "-B", os.path.join(folder, script), *arguments], capture_output=True, text=True, env=environment)
        check_equal(f"status of {script} {arguments}: {result.stderr}", result.returncode, status)
        return result.stderr if status else result.stdout
    call("apt-search/apt_search.py", "build", database, os.path.join(folder, "dedupe/sample.gz"))
    with sqlite3.connect(database) as connection:
        names, vectors = zip(*connection.execute("SELECT name, vector FROM package ORDER BY id"))
    rows = numpy.array([numpy.frombuffer(vector, numpy.float32) for vector in vectors], numpy.float64)
    rows /= numpy.linalg.norm(rows, axis=1, keepdims=True)
    first = numpy.arange(len(rows))  # of the group of each row
    while True:
        fewer = numpy.where(rows @ rows.T >= 0.98, first, len(rows)).min(axis=1)
        if (fewer == first).all():
            break
        first = fewer
    groups = {names[a]: [names[b] for b in numpy.flatnonzero(first == a)] for a in set(first) if (first == a).sum() > 1}
    check_equal("groups that show something", len(groups) >= 8 and max(map(len, groups.values())) >= 10, True)
    duplicates = sum(map(len, groups.values())) - len(groups)
    summary = (f"{len(rows)} packages; {duplicates + len(groups)} of them in {len(groups)} groups with similarities from 0.98 on, the largest of "
               f"{max(map(len, groups.values()))}. Without {duplicates}, one of each group would be left.")
    check_equal("summary", call("dedupe/dedupe.py", "report", database, page, "0.98"), summary + "\n")
    with open(page, encoding="utf-8") as file:
        text = file.read()
    shown = {html.unescape(kept): [html.unescape(name) for name in re.findall("<tr><td>[01][.][0-9]{4}<td>(.*?)<td>", table)]
             for kept, table in re.findall("<b>(.*?)</b>: [0-9]+ packages</summary><table>(.*?)</table>", text)}
    check_equal("groups", shown, groups)
    check_equal("maps", len(re.findall("<svg.*</svg>", text, re.DOTALL)), 1)
    deleted = call("dedupe/dedupe.py", "delete", database, "0.98")
    check_equal("deleted", deleted, f"{duplicates} packages deleted, {len(rows) - duplicates} left\n")
    with sqlite3.connect(database) as connection:
        kept = [name for name, in connection.execute("SELECT name FROM package ORDER BY id")]
        check_equal("kept", kept, [name for i, name in enumerate(names) if first[i] == i])
        check_equal("found by words", connection.execute("SELECT count(*) FROM package_text WHERE package_text MATCH 'tesseract'").fetchone()[0],
                    sum(name.startswith("tesseract") for name in kept))
    check_equal("no group is left", " 0 of them in 0 groups " in call("dedupe/dedupe.py", "report", database, page, "0.98"), True)
    check_equal("an error", "must be a number, but is 'x'" in call("dedupe/dedupe.py", "delete", database, "x", status=1), True)


def derived(matrix, centered, singular, components, center=False, remove=0, dims=0, whiten=False):
    """What glove_derive makes of the rows, in float64, given the singular values and components of the centered rows."""
    import numpy
    rows = centered if center or remove or whiten else matrix
    kept = components[remove:remove + dims] if dims else components[remove:]
    if whiten:
        kept = kept / (singular[remove:remove + len(kept), None] / numpy.sqrt(len(matrix) - 1))
    return rows @ kept.T  # a rotation of what glove_derive makes if it keeps the axes: the same cosines


def clean_sample(run):
    import numpy
    ids, raw = read_vectors(run.options.project)
    pairs = table_lines(run.options.project, "similarity-pairs.tsv")
    questions = [q for q in table_lines(run.options.project, "analogy-questions.tsv") if all(word in ids for word in q[1:4])]
    output = run.shell("clean.sql", run.convert_sample(), "list").splitlines()
    options = {"raw": {}, "center": {"center": True}, "whiten": {"whiten": True}, "dims 50": {"dims": 50},
               "remove 3, dims 64": {"remove": 3, "dims": 64}}
    options.update({f"remove {n}": {"remove": n} for n in (1, 2, 3, 5)})
    check_equal("derivations", sorted(line.split("|")[0] for line in output), sorted(options))
    centered = raw - raw.mean(axis=0)
    _, singular, components = numpy.linalg.svd(centered, full_matrices=False)
    for line in output:
        name, *found = line.split("|")
        unit = derived(raw, centered, singular, components, **options[name])
        unit /= numpy.linalg.norm(unit, axis=1, keepdims=True)
        for column, pair_set in enumerate(("RG-65", "SIMLEX-999", "WS-353-ALL")):
            known = [(ids.get(a, ids.get(a.lower())), ids.get(b, ids.get(b.lower())), score)
                     for n, a, b, score in pairs if n == pair_set]
            expected = spearman(*zip(*((float(score), float(unit[i] @ unit[j]))
                                       for i, j, score in known if i is not None and j is not None)))
            if abs(float(found[column]) - expected) > 1e-4:
                sys.exit(f"{name}, {pair_set}: found {found[column]}, expected {expected}")
        if name not in ("whiten", "remove 3, dims 64")[SHORT:]:  # two are enough: the reference takes seconds
            continue
        # Float32 vectors may decide a tie otherwise.
        correct = sum(answers_of(unit.astype("f4"), ids, questions))
        if abs(int(found[3]) - correct) > 2:
            sys.exit(f"{name}: {found[3]} analogies, expected {correct}")


def components_sample(run):
    import numpy
    _, raw = read_vectors(run.options.project)
    model = run.convert_sample()
    length = numpy.linalg.norm(raw, axis=1, keepdims=True)
    for options, rows in (("{}", raw - raw.mean(axis=0)), ('{"center":false}', raw),
                          ('{"unit_rows":true}', raw / length - (raw / length).mean(axis=0))):
        _, singular, vectors = numpy.linalg.svd(rows, full_matrices=False)
        found = run.query(model, "SELECT singular_value, variance, ratio, hex(vector) FROM glove_pca(100, NULL, NULL, NULL, "
                                 f"'{options}') WHERE component > 0")
        check_equal("components", len(found), 100)
        divisor = len(raw) - (options != '{"center":false}')
        for c, (value, variance, ratio, blob) in enumerate(found):
            close(f"singular value {c + 1} with {options}", float(value), singular[c])
            close(f"variance {c + 1} with {options}", float(variance), singular[c] ** 2 / divisor)
            close(f"ratio {c + 1} with {options}", float(ratio), singular[c] ** 2 / (singular ** 2).sum())
            vector = numpy.frombuffer(bytes.fromhex(blob), dtype=numpy.float32).astype(numpy.float64)
            check_equal("sign", vector[numpy.abs(vector).argmax()] > 0, True)
            if c < 10 and abs(abs(vector @ vectors[c]) - 1) > 1e-6:
                sys.exit(f"component {c + 1} with {options} has the cosine {vector @ vectors[c]} with NumPy's")


def kept_neighbors(run, model, words, vectors):
    """The share of the ten nearest words by cosine that are among the ten nearest of glove_map(words)."""
    import numpy
    places = numpy.array(run.query(model, f"SELECT x, y FROM glove_map({words})"), dtype=numpy.float64)
    check_equal("places", places.shape, (words, 2))
    unit = vectors[:words] / numpy.linalg.norm(vectors[:words], axis=1, keepdims=True)
    similarity = unit @ unit.T
    squares = (places ** 2).sum(axis=1)
    distance = squares[:, None] + squares[None, :] - 2 * places @ places.T
    numpy.fill_diagonal(similarity, -2)
    numpy.fill_diagonal(distance, numpy.inf)
    near = numpy.argpartition(-similarity, 10, axis=1)[:, :10]
    near_in_plane = numpy.argpartition(distance, 10, axis=1)[:, :10]
    return numpy.mean([len(set(a) & set(b)) / 10 for a, b in zip(near, near_in_plane)])


def check_kept_neighbors(run, model, vectors):
    for words, least in ((2000, 0.37), (5000, 0.33))[:2 - SHORT]:
        found = kept_neighbors(run, model, words, vectors)
        if not found >= least:
            sys.exit(f"glove_map({words}) keeps {found} of the nearest neighbours, which must be {least} at least")


def map_sample(run):
    model = run.convert_sample()
    check_kept_neighbors(run, model, read_vectors(run.options.project)[1][:5000])
    statement = "SELECT word, printf('%.17g %.17g', x, y) FROM glove_map(1500)"
    expected = run.query(model, statement)
    unknown = subprocess.run(["sqlite3", "-batch", ":memory:", ".load " + run.options.extension, "SELECT count(*) FROM glove_map(9)"],
                             capture_output=True, text=True, env={**os.environ, "GLOVE_MODEL": model, "GLOVE_CPU_TARGET": "?"})
    targets = re.search(r"this machine runs: (.*)$", unknown.stderr.strip(), re.MULTILINE)
    if not targets:
        sys.exit("an unknown instruction set does not list the known ones: " + unknown.stderr)
    for name in targets.group(1).split(", "):
        for threads in ("1", "2", "7")[SHORT:]:
            found = run.query(model, statement, {"GLOVE_CPU_TARGET": name, "GLOVE_THREADS": threads})
            check_equal(f"same rows with {name} on {threads} threads", found == expected, True)


MEASURE = """
const boxes = [...document.querySelectorAll('.labels text')].map(t => t.getBBox());
let overlaps = 0;
boxes.forEach((a, i) => boxes.slice(0, i).forEach(b => {
  if (a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height) overlaps++;
}));
const view = document.documentElement.viewBox.baseVal;
const outside = boxes.filter(a => a.x < 0 || a.y < 0 || a.x + a.width > view.width || a.y + a.height > view.height).length;
document.documentElement.setAttribute('data-measured', [boxes.length, overlaps, outside].join(' '));
"""


def check_in_browser(run, document, labels):
    """Whether Chromium opens the drawing, and what it measures."""
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if not chromium:
        print("not measured in a browser: there is no chromium here")
        return
    path = os.path.join(run.folder, "measured.svg")
    with open(path, "w", encoding="utf-8") as file:
        file.write(document.replace("</svg>", f"<script><![CDATA[{MEASURE}]]></script></svg>"))
    result = subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom",
                             f"--user-data-dir={run.folder}/chromium", "file://" + path],
                            capture_output=True, text=True, timeout=100, env={**os.environ, "HOME": run.folder})
    measured = re.search(r'data-measured="(.*?)"', result.stdout)
    if not measured:
        sys.exit(f"chromium did not run the drawing's script: {result.stdout[:500]} {result.stderr[-500:]}")
    check_equal("labels, those that overlap, those outside", measured.group(1), f"{labels} 0 0")


# Labels that are hard to measure or to write; each is wanted where there is room.
ODD_LABELS = ["WWWMMM@@@%%%", "iiiillll", "\u0429\u0429\u0416\u0416\u042e", "\u5317\u4eac\u5927\u5b66", "\U0001f600\U0001f680", "e\u0301te\u0301",
              "\ufdfd", "\u0e01\u0e33\u0e19", "\u05e9\u05dc\u05d5\u05dd", "<&>\"'", "two words", "\u202etxet"]


def check_odd_labels(run, model):
    import xml.etree.ElementTree as tree
    rows = ",".join("(%d,%d,'%s')" % (i % 37, i * 7 % 41, ODD_LABELS[i % len(ODD_LABELS)].replace("'", "''")) for i in range(300))
    lines = run.query(model, f"SELECT glove_svg(column1, column2, column3, column3, '{{\"font_size\":14}}') FROM (VALUES {rows})")
    document = "\n".join("|".join(line) for line in lines)
    texts = tree.fromstring(document).findall(".//*[@class='labels']/{*}text")
    check_equal("different labels", {text.text for text in texts} >= set(ODD_LABELS[:6]), True)
    check_in_browser(run, document, len(texts))


def map_drawing(run):
    import xml.etree.ElementTree as tree
    model = run.convert_sample()
    folder = run.options.project
    run.options.project = run.folder
    os.makedirs(os.path.join(run.folder, "examples"))
    shutil.copy(os.path.join(folder, "examples/map.sql"), os.path.join(run.folder, "examples"))
    output = run.shell("map.sql", model)
    with open(os.path.join(run.folder, "map.svg"), encoding="utf-8") as file:
        document = file.read()
    check_equal("output", output, f"{len(document.encode())} bytes in map.svg\n")
    root = tree.fromstring(document)
    check_equal("words", sum(path.get("d").count("M") for path in root.findall(".//*[@class='points']/{*}path")), 2000)
    check_equal("names in the legend", len(root.findall(".//*[@class='legend']/{*}text")), 12)
    labels = len(root.findall(".//*[@class='labels']/{*}text"))
    if not 100 <= labels <= 200:
        sys.exit(f"{labels} labels of 2,000 words")
    check_in_browser(run, document, labels)
    check_odd_labels(run, model)


def check_full_components(run, model):
    for options, (singular, ratios) in FULL_COMPONENTS.items():
        found = run.query(model, "SELECT singular_value, ratio FROM glove_pca(10, NULL, NULL, NULL, "
                                 f"'{options}') WHERE component > 0")
        for c, expected in enumerate(singular):
            close(f"singular value {c + 1} with {options}", float(found[c][0]), expected, 5e-4 / expected + 1e-6)
        for c, expected in enumerate(ratios):
            close(f"ratio {c + 1} with {options}", float(found[c][1]), expected, 5e-6 / expected + 1e-6)
    (variance,), = run.query(model, "SELECT sum(variance) FROM glove_pca")
    close("total variance", float(variance), FULL_VARIANCE)
    (mean,), = run.query(model, "SELECT hex(vector) FROM glove_pca(0)")
    import numpy
    close("length of the mean", float(numpy.linalg.norm(numpy.frombuffer(bytes.fromhex(mean), dtype=numpy.float32))), FULL_MEAN)


def check_full_clusters(run, model):
    for worst, derivation in FULL_CLUSTERS:
        rows = run.query(model, f"SELECT glove_derive('m', '{derivation}'), NULL; SELECT sum(inertia), k FROM glove_clusters WHERE k = 24 AND "
                                "model = 'm' AND options IN " + str(tuple('{"metric":"euclidean","seed":%d}' % seed for seed in range(3)))
                                + " GROUP BY options")
        for inertia, _ in rows[1:]:
            if not worst * 0.99 < float(inertia) <= worst * 1.001:
                sys.exit(f"24 clusters of rows with {derivation}: inertias {rows[1:]}, but scikit-learn's are at most {worst}")
        check_equal("fits", len(rows), 4)


def check_full_derivations(run, model):
    rows = run.rows("clean.sql", model)
    check_equal("derivations", sorted(rows), sorted(FULL_DERIVATIONS))
    for name, expected in FULL_DERIVATIONS.items():
        for found, figure in zip(rows[name], expected):
            if figure is not None and abs(float(found) - figure) > (2 if figure > 1 else 1.5e-4):
                sys.exit(f"{name}: found {rows[name]}, expected {expected}")


def full_model(run):
    model = os.path.join(run.options.project, "build/glove-6b-100d.safetensors")
    if not os.path.exists(model):
        print(f"SKIPPED: {model} is not there; ./examples/full-model.sh makes it")
        sys.exit(SKIPPED)
    rows = run.rows("analogies.sql", model)
    del rows["all"]
    check_equal("analogies", {k: (int(v[0]), int(v[1])) for k, v in rows.items()}, FULL_ANALOGIES)
    rows = run.rows("similarity.sql", model)
    for name, (expected, pairs) in FULL_SIMILARITY.items():
        check_equal(f"{name}: pairs found", int(rows[name][1]), pairs)
        if abs(float(rows[name][0]) - expected) > 1e-6:
            sys.exit(f"{name}: found {rows[name][0]}, expected {expected}")
    check_full_components(run, model)
    check_full_clusters(run, model)
    check_full_derivations(run, model)
    check_kept_neighbors(run, model, first_vectors(run, model, 5000))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=["quickstart", "analogies_sample", "similarity_sample", "clusters", "clusters_sample", "clean_sample",
                                         "components_sample", "map_sample", "map_drawing", "sts", "apt_search", "dedupe", "full_model"])
    for option in ("--extension", "--convert", "--project"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    if not shutil.which("sqlite3"):
        print("SKIPPED: there is no sqlite3 shell here")
        sys.exit(SKIPPED)
    run = Run(options)
    try:
        globals()[options.name](run)
    finally:
        shutil.rmtree(run.folder)


if __name__ == "__main__":
    main()
