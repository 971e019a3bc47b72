#!/usr/bin/env python3
"""Measures what WHERE recall = r returns, reads and takes, against the exact answer in the same run.

  python3 bench/recall.py BUILD --model FILE [--lists N|auto] [--queries N] [--families NAME,...] [--k 10,100]

BUILD is the folder of a release build (glove.so, glove-convert); FILE is any file that glove-convert reads, such as
build/glove-6b-100d.safetensors of examples/full-model.sh. Needs NumPy. Every query is asked exactly and with each
recall, 25 queries at a time in an order that rotates, on one thread. Times are those of the processor, so that a busy machine counts less. Queries are drawn with --seed:

  random     rows                                   noisy     a row plus Gaussian noise of half its length
  frequent   rows of the first 20,000               texts     means of the words of a line of the documents
  analogies  a - b + c of random rows               gaussian  Gaussian vectors
  means      means of eight random rows

and three families that were named before anything was built, and are measured only with --held-out:

  dropout    a row with a random fifth of its components set to 0
  rocchio    the mean of a row and its ten nearest rows, as one looks for more like the first answers
  signs      the signs of a row's components, which is what a store of one bit per component holds

Rows are asked for by their word, the others as vectors. Recall is the share of the exact k rows that are returned.

  python3 bench/recall.py BUILD --cells [--spectra 0.5,1] [--dims 96,384,768] [--rows 40000] [--queries 1000] [--jobs N]
  python3 bench/recall.py BUILD --cells --model FILE --texts NAME=FILE ... [--corpus FILE]

measure whether the promise is kept at k = 1, 3, 10 and 100: a cell is a store, a family, k and r, and must have a recall of r - .01
less two standard errors; a family over its cells must have r - .01. The first form makes rows whose i-th component has a deviation of
i^-S, stores them in a model file and in an index, and asks for rows, sums, differences and a - b + c. The second asks for texts
(a line each; the source 'words' is of single words, which are misspelt and expanded to the words that they may mean) of the word model,
and of an index of the lines of the corpus that the model encodes. Cells are printed as they are measured; --json FILE gets those of a
store when it is done, and stores that it has are not measured again.
"""
import argparse
import lzma
import multiprocessing
import glob
import json
import os
import re
import tempfile
import time

import numpy as np

import harness
from harness import unit

FAMILIES = ("random", "frequent", "analogies", "means", "noisy", "texts", "gaussian")
HELD_OUT = ("dropout", "rocchio", "signs")


def document_lines(count, rng):
    """Lines of this project's documents that have five words or more."""
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    lines = set()
    for path in sorted(glob.glob(os.path.join(here, "docs", "*.md")) + glob.glob(os.path.join(here, "*.md"))
                       + [os.path.join(here, "bench", "RESULTS.md")]):
        with open(path, encoding="utf-8") as file:
            for line in file:
                words = re.findall(r"[a-z]+", line.lower())
                if len(words) >= 5:
                    lines.add(" ".join(words))
    lines = sorted(lines)
    return [lines[i].split() for i in rng.permutation(len(lines))[:count]]


class Queries:
    """Draws the queries of a family: (word or None, vector or None) each."""

    def __init__(self, db, vectors, words):
        self.db, self.words = db, words
        self.unit = unit(vectors.astype(np.float32))
        self.ids = {word: i for i, word in enumerate(words)}

    def draw(self, family, count, rng):
        n, d = self.unit.shape
        rows = lambda size: self.unit[rng.integers(0, n, size)]
        if family in ("random", "frequent"):
            most = n if family == "random" else min(n, 20_000)
            return [(self.words[i], None) for i in rng.integers(0, most, count)]
        if family == "analogies":
            vectors = rows(count) - rows(count) + rows(count)
        elif family == "means":
            vectors = rows((count, 8)).mean(axis=1)
        elif family == "noisy":
            vectors = rows(count) + 0.5 * unit(rng.standard_normal((count, d)))
        elif family == "texts":
            texts = [[self.ids[word] for word in line if word in self.ids] for line in document_lines(4 * count, rng)]
            vectors = np.array([self.unit[ids].mean(axis=0) for ids in texts if len(ids) >= 5][:count])
        elif family == "gaussian":
            vectors = rng.standard_normal((count, d))
        elif family == "dropout":
            vectors = rows(count) * (rng.random((count, d)) >= 0.2)
        elif family == "rocchio":
            vectors = np.array([self.unit[self.near(int(i))].mean(axis=0) for i in rng.integers(0, n, count)])
        else:
            vectors = np.sign(rows(count))
        return [(None, vector.astype("<f4").tobytes()) for vector in vectors]

    def near(self, row):
        found = self.db.execute("SELECT neighbor FROM glove_nn WHERE word = ? AND k = 10", (self.words[row],))
        return [row] + [self.ids[word] for word, in found]


def ask(db, query, k, recall):
    column, value = ("word", query[0]) if query[0] is not None else ("expr", query[1])
    condition = "" if recall is None else f" AND recall = {recall}"
    start = time.thread_time()
    rows = db.execute(f"SELECT neighbor FROM glove_nn WHERE {column} = ? AND k = {k}{condition}", (value,)).fetchall()
    return time.thread_time() - start, rows


def rows_read(db, query, k, recall):
    column, value = ("word", query[0]) if query[0] is not None else ("expr", query[1])
    return db.execute(f"SELECT rows_read, evidence FROM glove_nn WHERE {column} = ? AND k = {k} AND recall = {recall} LIMIT 1",
                      (value,)).fetchone() or (0, "proof")


def measure(db, queries, k, recalls, total, counts):
    choices = [None, *recalls]
    times = {choice: [] for choice in choices}
    found = {recall: [] for recall in recalls}
    read = {recall: [] for recall in recalls}
    exact_share = {recall: 0 for recall in recalls}
    given = {choice: [] for choice in choices}
    for block in range(0, len(queries), 25):
        for j in range(len(choices)):
            choice = choices[(block // 25 + j) % len(choices)]
            for query in queries[block:block + 25]:
                seconds, rows = ask(db, query, k, choice)
                given[choice].append(rows)
                times[choice].append(seconds)
    for i, query in enumerate(queries):
        answers = {choice: given[choice][i] for choice in choices}
        exact = set(answers[None])
        for recall in recalls:
            assert len(answers[recall]) == len(answers[None]), "an approximate answer has too few rows"
            found[recall].append(len(exact & set(answers[recall])) / max(len(exact), 1))
            if counts:
                rows, evidence = rows_read(db, query, k, recall)
                read[recall].append(rows)
                exact_share[recall] += evidence == "proof"
    exact_ms = np.median(times[None]) * 1e3
    results = {}
    for recall in recalls:
        ms = np.median(times[recall]) * 1e3
        results[recall] = {"recall": float(np.mean(found[recall])), "fifth": float(np.percentile(found[recall], 5)),
                           "rows": float(np.mean(read[recall]) / total) if counts else None,
                           "exact": exact_share[recall] / max(len(queries), 1), "ms": ms, "ratio": ms / exact_ms,
                           "mean_ratio": float(np.mean(times[recall]) / np.mean(times[None]))}
    return exact_ms, results


FORMS = {"rows": (1,), "a + b": (1, 1), "a + b + c": (1, 1, 1), "a - b": (1, -1), "a - b + c": (1, -1, 1)}
CELL_KS, CELL_RECALLS = (1, 3, 10, 100), (0.9, 0.95, 0.99)


def connect(build):
    return harness.connect(":memory:", os.path.join(build, "glove.so"), threads=1, audits=0)


def cells_of(db, store, family, sql, queries):
    """Returns [store, queries, family, k, r, recall, standard error, share that is exact, ms] of each k and r.

    `sql` asks for ids and evidence. An exact answer is one for a greater recall, too, so that this is not asked for,
    except for one in 16, which must be exact as well."""
    start = time.thread_time()
    truth = [[row for row, _ in db.execute(sql, (query, CELL_KS[-1], None))] for query in queries]
    exact_ms = 1e3 * (time.thread_time() - start) / len(queries)
    cells = []
    for k in CELL_KS:
        is_exact = [False] * len(queries)
        for recall in CELL_RECALLS:
            shares, times = [], []
            for i, (query, right) in enumerate(zip(queries, truth)):
                if is_exact[i] and i % 16:
                    shares.append(1)
                    continue
                start = time.thread_time()
                rows = db.execute(sql, (query, k, recall)).fetchall()
                times.append(time.thread_time() - start)
                shares.append(len({row for row, _ in rows} & set(right[:k])) / max(len(right[:k]), 1))
                exact = not rows or rows[0][1] == "proof"
                assert exact or not is_exact[i], "a greater recall is not exact"
                is_exact[i] = exact
            mean, error = float(np.mean(shares)), float(np.std(shares) / len(shares) ** 0.5)
            cells.append([store, len(queries), family, k, recall, mean, error, sum(is_exact) / len(queries), 1e3 * float(np.mean(times))])
            print(line_of(cells[-1]), flush=True)
    print(f"{store}, {family}: {len(queries)} queries, {exact_ms:.3f} ms for an exact answer", flush=True)
    return cells


def is_kept(cell):
    return cell[5] >= cell[4] - 0.01 - 2 * cell[6]


def line_of(cell):
    store, _, family, k, recall, mean, error, exact, ms = cell
    return f"{store:23s} {family:10s} {k:4d}  {recall:.2f}  {mean:.4f} ({error:.4f})  {exact:6.1%}  {ms:.3f}{'' if is_kept(cell) else '  MISSED'}"


def model_sql(name, column):
    return f"SELECT neighbor, evidence FROM glove_nn WHERE {column} = ? AND k = ? AND recall = ? AND model = '{name}' AND backend = 'cpu'"


INDEX_SQL = "SELECT id, evidence FROM doc_vec WHERE query = ? AND k = ? AND recall = ? AND backend = 'cpu' ORDER BY rank"


def load_listed(db, build, source, lists):
    with tempfile.TemporaryDirectory() as folder:
        listed = os.path.join(folder, "m.safetensors")
        harness.convert(build, source, listed, "--lists", lists)
        db.execute("SELECT glove_load(?, 'm')", (listed,)).fetchall()


def spectrum_cells(store, arguments):
    spectrum, dims, kind = float(store.split()[0][3:]), int(store.split()[2][:-1]), store.split()[-1]
    rows, lists = arguments.rows, 180 if arguments.lists == "auto" else arguments.lists
    rng = np.random.default_rng([round(100 * spectrum), dims])
    vectors = (rng.standard_normal((rows, dims)) / np.arange(1, dims + 1) ** spectrum).astype("<f4")
    directions = unit(vectors)
    db = connect(arguments.build)
    if kind == "model":
        with tempfile.NamedTemporaryFile(suffix=".w2v") as file:
            file.write(b"%d %d\n" % vectors.shape + b"".join(b"%d " % i + row.tobytes() for i, row in enumerate(vectors)))
            file.flush()
            load_listed(db, arguments.build, file.name, lists)
    else:
        db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, vec BLOB)")
        db.executemany("INSERT INTO doc VALUES (?, ?)", ((i, row.tobytes()) for i, row in enumerate(vectors)))
        db.execute(f"CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec', lists={lists})")
    cells = []
    for family, signs in FORMS.items():
        terms = rng.integers(0, rows, (arguments.queries, len(signs)))
        queries = [row.tobytes() for row in np.einsum("qtd,t->qd", directions[terms], signs).astype("<f4")]
        cells += cells_of(db, store, family, model_sql("m", "expr") if kind == "model" else INDEX_SQL, queries)
        if family == "rows" and kind == "model":
            cells += cells_of(db, store, "words", model_sql("m", "word"), [str(row) for row in terms[:, 0]])
    return cells


def lines_of(path, count):
    with lzma.open(path, "rt", encoding="utf-8") if path.endswith(".xz") else open(path, encoding="utf-8") as file:
        lines = list(dict.fromkeys(line.strip() for line in file if line.strip()))
    return lines if count is None else [lines[i] for i in np.random.default_rng(5).permutation(len(lines))[:count]]


def expanded(db, words, count):
    """Misspells words, and returns the sum of the words that each may mean: those one edit away."""
    rng, letters = np.random.default_rng(6), "abcdefghijklmnopqrstuvwxyz"
    known = {word: np.frombuffer(vector, "<f4") for word, vector in db.execute("SELECT word, vector FROM glove_words WHERE model = 'm'")}
    queries = []
    while len(queries) < count:
        word = words[rng.integers(0, len(words))]
        place, letter = rng.integers(0, len(word)), letters[rng.integers(0, 26)]
        wrong = (word[:place] + letter + word[place:], word[:place] + word[place + 1:], word[:place] + letter + word[place + 1:])[rng.integers(0, 3)]
        near = {wrong[:i] + x + wrong[j:] for i in range(len(wrong) + 1) for j in (i, i + 1) for x in ("", *letters)} & known.keys()
        if near:
            queries.append(sum(unit(known[other]) for other in near).astype("<f4").tobytes())
    return queries


def text_cells(store, arguments):
    db, count = connect(arguments.build), arguments.queries
    load_listed(db, arguments.build, arguments.model, arguments.lists)
    families, asked = {}, set()
    for name, path in (text.split("=", 1) for text in arguments.texts):
        if name == "words":
            families[name] = expanded(db, [word for word in lines_of(path, None) if 3 < len(word) < 12 and word.isalpha()], count)
            continue
        lines = lines_of(path, 2 * count)
        vectors = [db.execute("SELECT glove_text_vec(?)", (line,)).fetchone()[0] for line in lines]
        families[name] = [vector for vector in vectors if vector is not None][:count]
        asked.update(lines)
    sql = model_sql("m", "expr")
    if store != "word model":
        sql = INDEX_SQL
        db.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, t TEXT)")
        db.executemany("INSERT INTO doc(t) VALUES (?)", ((line,) for line in lines_of(arguments.corpus, None) if line not in asked))
        rows = db.execute("SELECT count(*) FROM doc").fetchone()[0]
        db.execute(f"CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', text='t', model='m', lists={int(4 * rows ** 0.5)})")
    return [cell for name, queries in families.items() for cell in cells_of(db, store, name, sql, queries)]


def cells_of_store(task):
    store, arguments = task
    return text_cells(store, arguments) if arguments.texts else spectrum_cells(store, arguments)


def measure_cells(arguments):
    if arguments.texts:
        stores = ["word model"] + ["index of texts"] * bool(arguments.corpus)
    else:
        stores = [f"i^-{float(spectrum):g} x {dims}, {kind}" for dims in reversed(arguments.dims.split(","))
                  for spectrum in arguments.spectra.split(",") for kind in ("model", "index")]
    cells = []
    if arguments.json and os.path.exists(arguments.json):
        with open(arguments.json) as file:
            cells = [cell for cell in map(json.loads, file) if cell[0] in stores]
    done = {cell[0] for cell in cells}
    tasks = [(store, arguments) for store in stores if store not in done]
    print("store                   family       k    r     recall (error)   exact  ms", flush=True)
    with multiprocessing.Pool(arguments.jobs, maxtasksperchild=1) as pool:
        for found in pool.imap_unordered(cells_of_store, tasks, 1):
            cells += found
            if arguments.json:
                with open(arguments.json, "a") as file:
                    file.writelines(json.dumps(cell) + "\n" for cell in found)
    families = {}
    for cell in cells:
        families.setdefault(cell[2], []).append(cell[5] - cell[4])
    for family, offs in families.items():
        print(f"{family}: {np.mean(offs):+.4f} of what was asked for, over {len(offs)} cells")
    print(f"{sum(not is_kept(cell) for cell in cells)} of {len(cells)} cells missed, {sum(np.mean(offs) < -0.01 for offs in families.values())} of {len(families)} families")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--model")
    parser.add_argument("--lists", default="auto")
    parser.add_argument("--queries", type=int, default=2000)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--held-out", action="store_true", help="measure the held-out families as well")
    parser.add_argument("--k", default="10,100")
    parser.add_argument("--recalls", default="0.9,0.95,0.99")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--listed", help="the model file with lists, made before: used as it is")
    parser.add_argument("--json", help="write the results there; --cells: as each store is done, and leave out those that the file has")
    parser.add_argument("--cells", action="store_true", help="measure whether the promise is kept")
    parser.add_argument("--spectra", default="0.5,1")
    parser.add_argument("--dims", default="96,384,768")
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with a thread")
    parser.add_argument("--texts", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--corpus", help="texts for an index")
    arguments = parser.parse_args()
    if arguments.cells:
        measure_cells(arguments)
        return
    if not arguments.model:
        parser.error("--model is missing")
    recalls = [float(recall) for recall in arguments.recalls.split(",")]
    families = arguments.families.split(",") + (list(HELD_OUT) if arguments.held_out else [])
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.listed or os.path.join(folder, "lists.safetensors")
        if not arguments.listed:
            ms, _ = harness.timed(lambda: harness.convert(arguments.build, arguments.model, path, "--lists", arguments.lists))
            print(f"--lists {arguments.lists}: {ms / 1000:.1f} s, {os.path.getsize(path):,} bytes")
        db = harness.connect(":memory:", os.path.join(arguments.build, "glove.so"), threads=1)
        db.execute("SELECT glove_load(?)", (path,)).fetchall()
        words = [word for word, in db.execute("SELECT word FROM glove_words ORDER BY id")]
        draw = Queries(db, harness.vectors(path), words)
        print(db.execute("SELECT words, dims, device FROM glove_models").fetchone(), flush=True)
        print("family      k   r     recall  5th pct  rows read  exact  median ms  of exact (means)")
        output = []
        for family in families:
            rng = np.random.default_rng([arguments.seed, *family.encode()])
            queries = draw.draw(family, arguments.queries, rng)
            for k in map(int, arguments.k.split(",")):
                exact_ms, results = measure(db, queries, k, recalls, len(words), True)
                for recall, r in results.items():
                    output.append({"family": family, "k": k, "r": recall, "queries": len(queries), "exact_ms": exact_ms, **r})
                    print(f"{family:10s} {k:4d}  {recall:.2f}  {r['recall']:.4f}  {r['fifth']:.3f}    {r['rows']:8.4%}   "
                          f"{r['exact']:5.1%}  {r['ms']:.4f}     {r['ratio']:.3f} ({r['mean_ratio']:.3f})", flush=True)
        for k in map(int, arguments.k.split(",")):
            for recall in recalls:
                chosen = [r["recall"] for r in output if r["k"] == k and r["r"] == recall]
                print(f"k = {k}, r = {recall}: mean of families {np.mean(chosen):.4f}, least {min(chosen):.4f}")
        if arguments.json:
            with open(arguments.json, "w") as file:
                json.dump(output, file, indent=1)


if __name__ == "__main__":
    main()
