#!/usr/bin/env python3
"""Times joins of all rows of a model: joins.py MODEL GLOVE.SO [GLOVE.SO...] [--rounds N] [--backend B] [--work NAME...] [--memory]

Each round runs a batch of 1,024 queries, a graph of 10 neighbours, also as rows of a table, a join at 0.9 and the graph of the first
4,096 rows ("part"), in turns with each build, and FAISS's exact graph of these, if Python has faiss. It prints the seconds of the process's threads (GPU: of the clock) and, because
other programs may share the machine, the ratio to the batch: a graph of n rows is n / 1,024 batches.

With --memory, MODEL is a number of rows that are all alike (15,000 have 1.1 x 10^8 pairs), and the private memory of the process is
looked at every 0.1 s.
"""
import argparse
import json
import subprocess
import sys
import threading
import time

WORK = {
    "batch": "SELECT count(*) FROM glove_nn WHERE word IN (SELECT word FROM temp.asked) AND k = 10 AND backend = '{0}'",
    "graph": "SELECT count(*), sum(similarity) FROM glove_pairs WHERE target = 'm' AND k = 10 AND backend = '{0}'",
    "table": "INSERT INTO pairs SELECT a, b, rank, similarity FROM glove_pairs WHERE target = 'm' AND k = 10 AND backend = '{0}'",
    "part": "SELECT count(*), sum(similarity) FROM (SELECT similarity FROM glove_pairs WHERE target = 'm' AND k = 10 AND backend = '{0}' "
            "LIMIT 40960)",
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
    conn.execute("CREATE TABLE pairs(a, b, rank, similarity)")
    conn.execute(WORK["batch"].format(backend)).fetchall()  # reads the file
    before, clock = time.process_time(), time.monotonic()
    found = conn.execute(WORK[work].format(backend)).fetchone()
    return {"rows": 4096 if work == "part" else rows, "cpu": time.process_time() - before, "clock": time.monotonic() - clock, "found": found}


def private_memory():
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Private_")) / 1024


def measure_memory(extension, rows):
    """Prints by how many MB joins of so many rows raise the private memory above that of the loaded model."""
    import sqlite3
    conn = sqlite3.connect(":memory:")
    conn.enable_load_extension(True)
    conn.load_extension(extension)
    conn.execute("SELECT glove_load_table('m', 'WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < " + str(rows - 1) +
                 ") SELECT i, json_array(1000 + i % 7, 1000 + i % 11, 1000 + i % 13, 1000 + i % 17) FROM c')").fetchone()
    for what in ("min_similarity = 0.9", "k = 1000", "pairs = 1000000"):
        loaded, most, done = private_memory(), [0], threading.Event()

        def watch():
            while not done.wait(0.1):
                most.append(private_memory())
        thread = threading.Thread(target=watch)
        thread.start()
        begin = time.monotonic()
        found = conn.execute(f"SELECT count(*), sum(similarity) FROM glove_pairs WHERE target = 'm' AND {what}").fetchone()
        done.set()
        thread.join()
        print(f"{what}: {found}, {max(most) - loaded:.0f} MB above the {loaded:.0f} of the process with the model, {len(most) - 1} looks, "
              f"{time.monotonic() - begin:.1f} s", flush=True)


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
    found, _ = index.search(rows[:4096], 11)
    cpu, clock = time.process_time() - before, time.monotonic() - clock
    return {"rows": 4096, "cpu": cpu, "clock": clock, "found": [40960, float(found[:, 1:].sum(dtype="f8"))]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("extensions", nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--work", nargs="+", choices=[*WORK, "faiss"], default=[*WORK, "faiss"])
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        measure_memory(options.extensions[0], int(options.model))
        return
    if options.one:
        extension = options.extensions[0]
        print(json.dumps(measure_faiss(options.model) if options.one == "faiss" else
                         measure(extension, options.model, options.one, options.backend)))
        return
    runs = [(extension, work) for extension in options.extensions for work in options.work if work in WORK]
    runs += [("faiss", "faiss")] * ("faiss" in options.work)
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
            one["best"] = one["cpu" if options.backend == "cpu" else "clock"]
            if (extension, work) not in best or one["best"] < best[extension, work]["best"]:
                best[extension, work] = one
    for (extension, work), one in best.items():
        batch = best.get((extension, "batch"), one)
        print(f"{extension} {work}: {one['cpu']:.2f} s of processors, {one['clock']:.2f} s; {one['best'] / batch['best'] / (one['rows'] / 1024):.3f} "
              f"of as many batches; {one['found']}")


main()
