#!/usr/bin/env python3
"""Times searches of one model with lists against the same model without, in turns, in one process.

  python3 bench/planes.py BUILD [--data pairs|concatenated|random|lsa] [--rows N] [--model GLOVE] [--threads T,...] [--program FILE]

BUILD is the folder of a release build (glove.so, glove-convert). Needs NumPy, no network, and about 1,400
bytes of disk per row of 100 dimensions in --folder. Data are drawn with --seed:

  pairs         each row is one of the 200,000 most frequent words of GLOVE plus 0.4 of another (x 100)
  concatenated  three unrelated words, scaled by .8, .5 and .33, side by side (x 300)
  random        random unit vectors (x 100), for which --lists auto makes no lists
  model         GLOVE itself
  lsa           sentences (--texts, one per line): log tf-idf, and a truncated SVD of 768 dimensions (needs PyTorch)

GLOVE is any file that glove-convert reads. Without --model a stand-in with a seed is made: 200,000 unit
vectors of 100 dimensions that are mixtures of a tree of topics, whose neighbours are about as near as those
of GloVe. Prints for each k: the rows that differ (must be 0), the best time and the median of either file,
the ratio of the best of rounds, and the candidates and megabytes of a query. With --program BUILD/bench/sql_turns, that program runs the
searches, without Python's part of the times, on as many threads as there are cores. For 16 cores: --threads 16 --rows 10000000.
"""
import argparse
import os
import subprocess
import tempfile
import time

import numpy as np

import harness


def unit(x):
    return harness.unit(x).astype(np.float32)


def stand_in(rng, words=200_000, dims=100):
    """A tree of topics, three deep; a word is its topic and noise of its own size, in a spectrum that falls."""
    spectrum = (1 / np.sqrt(1 + np.arange(dims) / 12)).astype(np.float32)
    topics = unit(rng.standard_normal((40, dims)) * spectrum)
    for count, share in ((1_000, 0.8), (12_000, 0.9)):
        topics = unit(topics[rng.integers(0, len(topics), count)] + share * unit(rng.standard_normal((count, dims)) * spectrum))
    size = rng.uniform(0.5, 1.6, (words, 1)).astype(np.float32)
    return unit(topics[rng.integers(0, len(topics), words)] + size * unit(rng.standard_normal((words, dims)) * spectrum))


def vectors_of(path, convert, folder):
    """The first 200,000 rows of a model file, as unit vectors."""
    model = os.path.join(folder, "words.safetensors")
    subprocess.run([convert, path, model, "--top", "200000", "--quiet"], check=True)
    return harness.unit_vectors(model)


def lsa(path, dims=768, terms=50_000):
    """Unit vectors of sentences: log(1 + tf) * idf of the most frequent terms, projected by a randomised SVD."""
    import collections
    import re
    import torch
    torch.manual_seed(1)
    with open(path, encoding="utf-8") as file:
        texts = [re.findall(r"[a-z0-9]+", line.lower()) for line in dict.fromkeys(file)]
    texts = [text for text in texts if len(text) > 2]
    found = collections.Counter(term for text in texts for term in set(text))
    number = {term: i for i, (term, _) in enumerate(found.most_common(terms))}
    idf = [np.log(len(texts) / found[term]) for term in number]
    rows, columns, values = [], [], []
    for i, text in enumerate(texts):
        for term, times in collections.Counter(text).items():
            if term in number:
                rows.append(i), columns.append(number[term]), values.append(np.log1p(times) * idf[number[term]])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    matrix = torch.sparse_coo_tensor([rows, columns], values, (len(texts), len(number)), dtype=torch.float32).coalesce().to(device)
    transposed = matrix.t().coalesce()
    basis = torch.randn(len(number), dims + 32, device=device)
    for _ in range(4):
        basis = torch.linalg.qr(torch.sparse.mm(transposed, torch.sparse.mm(matrix, basis)))[0]
    projected = torch.sparse.mm(matrix, basis)
    rotation = torch.linalg.eigh(projected.t() @ projected)[1].flip(1)[:, :dims]
    vectors = unit((projected @ rotation).cpu().numpy())
    return vectors[np.linalg.norm(vectors, axis=1) > 0.5]


def blocks(arguments, rng, words):
    """Yields the rows in blocks."""
    if arguments.data == "lsa":
        words = lsa(arguments.texts)
        arguments.rows = len(words)
    for first in range(0, arguments.rows, 100_000):
        n = min(100_000, arguments.rows - first)
        draw = lambda: words[rng.integers(0, len(words), n)]
        if arguments.data == "pairs":
            yield unit(draw() + np.float32(0.4) * draw())
        elif arguments.data == "concatenated":
            yield np.hstack([np.float32(f) * draw() for f in (0.8, 0.5, 0.33)])
        elif arguments.data == "lsa":
            yield words[first:first + n]
        else:
            yield unit(rng.standard_normal((n, 100)))


def write_npy(path, arguments, rng, words):
    with open(path, "wb") as file:
        for i, block in enumerate(blocks(arguments, rng, words)):
            if i == 0:
                np.lib.format.write_array_header_1_0(
                    file, {"descr": "<f4", "fortran_order": False, "shape": (arguments.rows, block.shape[1])})
            block.astype("<f4").tofile(file)


def make_files(arguments, folder, convert):
    rng = np.random.default_rng(arguments.seed)
    if arguments.data == "model":
        source, names = arguments.model, []
    else:
        source, names = os.path.join(folder, "rows.npy"), os.path.join(folder, "rows.txt")
        words = None
        if arguments.data in ("pairs", "concatenated"):
            words = vectors_of(arguments.model, convert, folder) if arguments.model else stand_in(rng)
        write_npy(source, arguments, rng, words)
        with open(names, "w") as file:
            file.writelines(f"w{i}\n" for i in range(arguments.rows))
        names = ["--vocabulary", names]
    files = {}
    for lists in ["none"] + arguments.lists.split(","):
        files[lists] = os.path.join(folder, lists + ".safetensors")
        start = time.perf_counter()
        subprocess.run([convert, source, files[lists], "--quiet", "--lists", lists] + names, check=True)
        print(f"--lists {lists}: {time.perf_counter() - start:.1f} s, {os.path.getsize(files[lists]):,} bytes", flush=True)
    if names:
        os.remove(source)
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--data", choices=("pairs", "concatenated", "random", "model", "lsa"), default="pairs")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--model")
    parser.add_argument("--lists", default="auto", help="numbers of lists, which are compared with none")
    parser.add_argument("--texts")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--program", help="BUILD/bench/sql_turns")
    parser.add_argument("--k", default="10,100,1000")
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", help="for the files, which are removed at the end (default: a temporary one)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        files = make_files(arguments, folder, os.path.join(arguments.build, "glove-convert"))
        if arguments.program:
            subprocess.run([arguments.program, os.path.join(os.path.abspath(arguments.build), "glove.so"), arguments.k, str(arguments.queries),
                            str(arguments.rounds), *files.values()], check=True)
            return
        db = harness.connect(":memory:", os.path.join(arguments.build, "glove.so"))
        for name, path in files.items():
            db.execute("SELECT glove_load(?, ?)", (path, name)).fetchall()
        print(db.execute("SELECT device FROM glove_models LIMIT 1").fetchall())
        count = db.execute("SELECT words FROM glove_models LIMIT 1").fetchone()[0]
        rng = np.random.default_rng(arguments.seed + 1)
        rows = [int(row) for row in rng.integers(0, count, arguments.queries)]
        words = [db.execute("SELECT word FROM glove_words WHERE model = 'none' AND id = ?", (row,)).fetchone()[0] for row in rows]
        for threads in arguments.threads.split(","):
            db.execute("SELECT glove_config('threads', ?)", (int(threads),)).fetchall()
            for k in arguments.k.split(","):
                measure(db, list(files), words, arguments.rounds, int(k), threads)


def measure(db, models, words, rounds, k, threads):
    times = {name: np.full((rounds, len(words)), np.inf) for name in models}
    costs = {name: [] for name in models}
    differ = 0
    for turn in range(rounds):
        for i, word in enumerate(words):
            answers = {}
            for name in models:
                expr = f"{1 + turn / 64 + int(threads) / 2048 + k / 2**22} * {word}"  # the answer to an equal expression would be kept
                start = time.perf_counter()
                answers[name] = db.execute("SELECT neighbor, similarity FROM glove_nn WHERE expr = ? AND k = ? AND model = ?", (expr, k, name)).fetchall()
                times[name][turn, i] = time.perf_counter() - start
                costs[name].append(db.execute("SELECT candidates, bytes_scanned FROM glove_stats LIMIT 1").fetchone())
            differ += any(rows != answers["none"] for rows in answers.values())
    best = {name: times[name].min(axis=0) for name in models}  # per query, of the rounds
    none = best["none"]
    print(f"{threads} threads, k = {k}: {differ} answers differ")
    for name, taken in best.items():
        candidates, scanned = np.median(costs[name], axis=0)
        print(f"  {name}: {taken.mean() * 1e3:.3f} ms (median {np.median(taken) * 1e3:.3f}), ratio {taken.mean() / none.mean():.3f}, "
              f"of medians {np.median(taken) / np.median(none):.3f}; {candidates:.0f} candidates, {scanned / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main()
