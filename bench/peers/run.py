"""Runs all workers, interleaved, and writes the results. Called by bench/peers.sh."""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time

import numpy

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import harness  # noqa: E402
import report
import workers

K = workers.K
BURST = 10  # queries that a worker answers in a row before the next one's turn
PAUSE = 0.05  # seconds between turns: threads of a library may spin for a while after their work


class Peer:
    """A worker's process, and its answers."""

    def __init__(self, kind, path, threads):
        self.name = kind.name
        here = os.path.dirname(os.path.abspath(__file__))
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(here, "worker.py"), kind.name, path, str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.about = self.answer()
        self.one_ms, self.batch_ms, self.found = [], [], {}

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended: see its message above")
        return json.loads(line)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def ask_one(self, rows):
        for row, answer in zip(rows, self.ask(do="one", rows=rows)):
            self.one_ms.append(answer["ms"])
            self.found[row] = answer["ids"]

    def ask_batch(self, rows):
        answer = self.ask(do="batch", rows=rows)
        self.batch_ms.append(answer["ms"])
        self.found.update(zip(rows, answer["ids"]))


class Floor:
    """Times a bare read of the bytes that a scan of sqlite-glove reads, with as many threads."""

    def __init__(self, path, threads):
        self.process = subprocess.Popen([os.environ["BUILD"] + "/bench/bare_read", path, str(threads)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ms = []

    def read(self, times):
        for _ in range(times):
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            self.ms.append(float(self.process.stdout.readline()) / 1000)


def reference_recall(path, found):
    """Mean share of the true 10 nearest (in double precision, ties counted as found) by worker."""
    rows = numpy.array(harness.vectors(path), dtype=numpy.float64)
    norms = numpy.sqrt((rows * rows).sum(axis=1))
    rows /= numpy.where(norms > 0, norms, 1)[:, None]
    asked = sorted(set().union(*found.values()))
    shares = {name: [] for name in found}
    for at in range(0, len(asked), 64):
        block = asked[at : at + 64]
        for row, scores in zip(block, rows[block] @ rows.T):
            scores[row] = -numpy.inf
            scores[norms == 0] = -numpy.inf
            tenth = numpy.partition(scores, -K)[-K]
            for name, ids in found.items():
                if row in ids:
                    shares[name].append(sum(scores[i] >= tenth - 1e-12 for i in ids[row]) / K)
    return {name: sum(values) / len(values) for name, values in shares.items() if values}


def measure(peers, floor, rounds, batch, seed, rows):
    one = harness.query_ids(seed, BURST * (rounds + 1), rows).tolist()
    many = harness.query_ids(seed + 1, batch, rows).tolist()
    for turn in range(rounds + 1):
        burst = one[turn * BURST : (turn + 1) * BURST]
        for peer in peers:
            time.sleep(PAUSE)
            peer.ask_one(burst)
        time.sleep(PAUSE)
        floor.read(BURST)
        if turn == 0:  # everyone's first queries, when nothing is warm, do not count
            for each in peers:
                each.one_ms.clear()
            floor.ms.clear()
    for _ in range(min(rounds, 3) if batch else 0):
        for peer in peers:
            if peer.about["batch"]:
                time.sleep(PAUSE)
                peer.ask_batch(many)


def machine():
    name = platform.processor()
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
            break
    return f"{name}, {os.cpu_count()} cores"


def main():
    parser = argparse.ArgumentParser(prog="bench/peers.sh")
    parser.add_argument("--model", default="build/glove-6b-100d.safetensors")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--only", default="", help="workers to run, by name, separated by commas")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_args()
    path = os.path.abspath(options.model)
    if not os.path.exists(path):
        sys.exit(f"bench/peers.sh: there is no {options.model}: run examples/full-model.sh, or give --model")

    only = [name.strip() for name in options.only.split(",") if name.strip()]
    load_before = os.getloadavg()[0]
    peers = []
    for kind in workers.ALL:
        if only and kind.name not in only:
            continue
        print(f"preparing {kind.name} ...", file=sys.stderr, flush=True)
        peers.append(Peer(kind, path, options.threads))
    floor = Floor(path, options.threads)
    rows, dims = harness.vectors(path).shape
    time.sleep(1)
    print("measuring ...", file=sys.stderr, flush=True)
    measure(peers, floor, options.rounds, options.batch, options.seed, rows)
    recall = reference_recall(path, {peer.name: peer.found for peer in peers})
    commit = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12"], capture_output=True,
                            text=True, check=False).stdout.strip()
    result = {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "commit": commit, "machine": machine(),
        "load": {"before": load_before, "after": os.getloadavg()[0]}, "threads": options.threads,
        "rows": int(rows), "dims": int(dims), "k": K, "seed": options.seed, "batch": options.batch,
        "queries": len(peers[0].one_ms),
        "bare_read_ms": statistics.median(floor.ms),
        "peers": [{
            "name": peer.name, **peer.about, "one_ms": statistics.median(peer.one_ms),
            "one_ms_best": min(peer.one_ms),
            "batch_ms": statistics.median(peer.batch_ms) if peer.batch_ms else None,
            "recall": recall.get(peer.name), "memory": peer.ask(do="memory"),
        } for peer in peers],
    }
    print(report.table(result))
    if not options.no_write:
        report.write(result)


main()
