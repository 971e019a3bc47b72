#!/usr/bin/env python3
"""Counts the answers with a certainty below 1 that differ from the exact ones.

  python3 bench/certainty.py BUILD MODEL [--queries N] [--certainty C,...] [--k K] [--processes P] [--seed S]

BUILD is the folder of a release build, MODEL a model file with lists and a rotation. Queries are sums of two rows, the second with
a random weight. The exact answers come from batches, which read neither planes nor signs. Every process searches on one thread.
Prints for each certainty how many of the answers differ, how many were proved (the search gave up), and the mean time of a query.
"""
import argparse
import json
import multiprocessing
import os
import random
import sqlite3
import time


def count(job):
    extension, model, queries, certainties, k, seed = job
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(extension)
    db.execute("SELECT glove_load(?, 'm'), glove_config('threads', 1)", (model,)).fetchall()
    rows = db.execute("SELECT words FROM glove_models").fetchone()[0]
    word = [one for one, in db.execute("SELECT word FROM glove_words WHERE model = 'm' ORDER BY id")]
    draw = random.Random(seed)
    found = {certainty: [0, 0, 0.0] for certainty in certainties}
    for first in range(0, queries, 512):
        exprs = ['"%s" + %.6f * "%s"' % (word[draw.randrange(rows)], draw.random() * 1.5, word[draw.randrange(rows)])
                 for _ in range(min(512, queries - first))]
        exact = {}
        for expr, neighbor, similarity in db.execute(
                "SELECT expr, neighbor, similarity FROM glove_nn WHERE expr IN (SELECT value FROM json_each(?)) AND k = ? "
                "AND model = 'm' AND backend = 'cpu'", (json.dumps(exprs), k)):
            exact.setdefault(expr, []).append((neighbor, similarity))
        for certainty in certainties:
            for expr in exprs:
                start = time.perf_counter()
                answer = db.execute("SELECT neighbor, similarity, evidence FROM glove_nn WHERE expr = ? AND k = ? AND model = 'm' "
                                    "AND backend = 'cpu' AND certainty = ?", (expr, k, certainty)).fetchall()
                found[certainty][2] += time.perf_counter() - start
                found[certainty][0] += [row[:2] for row in answer] != exact.get(expr, [])
                found[certainty][1] += any(row[2] == "proof" for row in answer)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("model")
    parser.add_argument("--queries", type=int, default=1_000_000)
    parser.add_argument("--certainty", default="0.999,0.999999999")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    certainties = [float(text) for text in arguments.certainty.split(",")]
    extension = os.path.join(os.path.abspath(arguments.build), "glove.so")
    share = -(-arguments.queries // arguments.processes)
    jobs = [(extension, arguments.model, share, certainties, arguments.k, arguments.seed * 1000 + i)
            for i in range(arguments.processes)]
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        results = pool.map(count, jobs, chunksize=1)
    for certainty in certainties:
        differ, proved, seconds = (sum(result[certainty][i] for result in results) for i in range(3))
        queries = share * arguments.processes
        print(f"certainty {certainty}, k = {arguments.k}: {differ} of {queries} answers differ (expected at most "
              f"{(1 - certainty) * queries:.3g}), {proved} proved, {seconds / queries * 1e3:.3f} ms", flush=True)


if __name__ == "__main__":
    main()
