#!/usr/bin/env python3
"""Counts the rows that single queries score exactly, and times them, with one build of the extension or several.

  bench/candidates.py MODEL EXTENSION... [--words N] [--k K,...] [--threads N] [--rounds N]

The queries are N words of MODEL, drawn from all words with a fixed seed: mostly rare words, which have many near
neighbours. The candidates and bytes are those of glove_stats. A query's time is the processor's, all threads together, its
best of the rounds, in which the builds take turns. The answers of all builds must have the same rows and similarities; if
not, the script fails. Prints a Markdown table.
"""
import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time

import numpy

import harness

SEED = 29
WARM_UP = 5  # queries


def worker(extension, path, words, ks, threads):
    """Returns, for each k, [candidates, bytes, CPU us] of each query, and a digest of all answers."""
    connection = harness.connect(":memory:", extension, threads=threads, backend="cpu")
    connection.execute("SELECT glove_load(?)", (path,))
    for word in words[:WARM_UP]:
        connection.execute("SELECT count(*) FROM glove_nn(?, NULL, 7)", (word,)).fetchall()
    answers = hashlib.sha256()
    result = {}
    for k in ks:
        stats = result[str(k)] = []
        for word in words:
            ms, rows = harness.timed(lambda: connection.execute("SELECT neighbor, similarity FROM glove_nn(?, NULL, ?)", (word, k)).fetchall(),
                                     time.process_time)
            answers.update(repr(rows).encode())
            stats.append([*connection.execute(
                "SELECT candidates, bytes_scanned FROM glove_stats LIMIT 1").fetchone(), ms * 1000])
    result["answers"] = answers.hexdigest()
    return result


def random_words(path, count):
    words = harness.words(path)
    chosen = numpy.random.default_rng(SEED).choice(len(words), min(count, len(words)), replace=False)
    return [words[i] for i in chosen]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("extensions", nargs="+", metavar="EXTENSION")
    parser.add_argument("--words", type=int, default=300)
    parser.add_argument("--k", default="10,100")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    ks = [int(k) for k in options.k.split(",")]
    extensions = [os.path.abspath(extension) for extension in options.extensions]
    if options.worker:
        print(json.dumps(worker(extensions[0], options.model, random_words(options.model, options.words), ks,
                                options.threads)))
        return 0

    rounds = [[] for _ in extensions]
    for number in range(options.rounds):
        for i in range(len(extensions)) if number % 2 == 0 else reversed(range(len(extensions))):
            command = [sys.executable, os.path.abspath(__file__), options.model, extensions[i], "--worker"]
            command += ["--words", str(options.words), "--k", options.k, "--threads", str(options.threads)]
            rounds[i].append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))

    print("| build | k | candidates, median | most | bytes | CPU us, median | time / first |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for k in map(str, ks):
        first = None
        for extension, of_build in zip(options.extensions, rounds):
            candidates, bytes_scanned, micros = (
                [min(values) for values in zip(*([query[i] for query in figures[k]] for figures in of_build))]
                for i in range(3))
            us = statistics.median(micros)
            first = first or us
            print(f"| {extension} | {k} | {statistics.median(candidates):g} | {max(candidates)} "
                  f"| {statistics.median(bytes_scanned):.0f} | {us:.0f} | {us / first:.3f} |")
    if len({figures["answers"] for of_build in rounds for figures in of_build}) != 1:
        print("bench/candidates.py: the builds return different rows", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
