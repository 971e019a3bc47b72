#!/usr/bin/env python3
"""Times joins of all rows of a model: joins.py MODEL GLOVE.SO [GLOVE.SO...] [--rounds N] [--backend B]

Each round runs a graph of 10 neighbours, a join at 0.9 and a batch of 1,024 queries, in turns with each build, and FAISS's exact
graph, if Python has faiss, of every 16th row. It prints the seconds of the process's threads (GPU: of the clock) and, because
other programs may share the machine, the ratio to the batch: a graph of n rows is n / 1,024 batches.
"""
import argparse
import json
import subprocess
import sys
import time

WORK = {
    "batch": "SELECT count(*) FROM glove_nn WHERE word IN (SELECT word FROM temp.asked) AND k = 10 AND backend = '{0}'",
    "graph": "SELECT count(*), sum(similarity) FROM glove_pairs WHERE target = 'm' AND k = 10 AND backend = '{0}'",
    "join": "SELECT count(*), sum(similarity) FROM glove_pairs WHERE target = 'm' AND min_similarity = 0.9 AND backend = '{0}'",
}


def measure(extension, model, work, backend):
    import sqlite3
    conn = sqlite3.connect(":memory:")
    conn.enable_load_extension(True)
    conn.load_extension(extension)
    conn.execute("SELECT glove_load(?, 'm')", (model,))
    rows, = conn.execute("SELECT words FROM glove_models").fetchone()
    conn.execute(f"CREATE TEMP TABLE asked AS SELECT word FROM glove_words WHERE id % {max(1, rows // 1024)} = 0 LIMIT 1024")
    conn.execute(WORK["batch"].format(backend)).fetchall()  # reads the file
    before, clock = time.process_time(), time.monotonic()
    found = conn.execute(WORK[work].format(backend)).fetchone()
    return {"rows": rows, "cpu": time.process_time() - before, "clock": time.monotonic() - clock, "found": found}


def measure_faiss(model):
    import sqlite3
    import faiss
    import numpy
    with open(model, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        place = json.loads(file.read(size))["vectors"]
        begin, end = place["data_offsets"]
        rows = numpy.fromfile(model, "<f4", (end - begin) // 4, offset=8 + size + begin).reshape(place["shape"])
    rows = rows / numpy.linalg.norm(rows, axis=1, keepdims=True)
    index = faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)
    before, clock = time.process_time(), time.monotonic()
    index.search(rows[::16], 11)
    return {"rows": len(rows), "cpu": 16 * (time.process_time() - before), "clock": 16 * (time.monotonic() - clock), "found": None}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("extensions", nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        extension = options.extensions[0]
        print(json.dumps(measure_faiss(options.model) if options.one == "faiss" else
                         measure(extension, options.model, options.one, options.backend)))
        return
    runs = [(extension, work) for extension in options.extensions for work in WORK] + [("faiss", "faiss")]
    best = {}
    for _ in range(options.rounds):
        for extension, work in runs:
            done = subprocess.run([sys.executable, __file__, options.model, extension, "--backend", options.backend, "--one", work],
                                  capture_output=True, text=True, check=False)
            if done.returncode != 0:
                if work != "faiss":
                    sys.exit(done.stderr)
                continue  # it is not installed
            one = json.loads(done.stdout)
            one["best"] = one["cpu" if options.backend == "cpu" and work != "faiss" else "clock"]
            if (extension, work) not in best or one["best"] < best[extension, work]["best"]:
                best[extension, work] = one
    for (extension, work), one in best.items():
        batch = best.get((extension, "batch"), one)
        print(f"{extension} {work}: {one['cpu']:.2f} s of processors, {one['clock']:.2f} s; {one['best'] / batch['best'] / (one['rows'] / 1024):.3f} "
              f"of as many batches; {one['found']}")


main()
