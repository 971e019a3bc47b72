"""The process of one worker: JSON requests on standard input, JSON answers on standard output.

    worker.py NAME MODEL THREADS
"""
import json
import sys
import time

import workers
from workers import harness


def memory():
    """Returns the bytes in RAM: private memory, and mapped files (which the kernel may reclaim)."""
    return dict(zip(("own", "mapped", "peak"), harness.memory("RssAnon", "RssFile", "VmHWM")))


def timed(function, argument):
    ms, finish = harness.timed(lambda: function(argument))
    return {"ms": ms, "ids": finish()}


def main():
    name, path, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    worker = next(kind for kind in workers.ALL if kind.name == name)()
    start = time.perf_counter()
    worker.prepare(path, threads)
    workers.give_back_free_memory()
    print(json.dumps({"version": worker.version, "what": worker.what, "batch": hasattr(worker, "batch"),
                      "prepare_s": time.perf_counter() - start}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "one":
            answer = [timed(worker.one, row) for row in request["rows"]]
        elif request["do"] == "batch":
            answer = timed(worker.batch, request["rows"])
        else:
            answer = memory()
        print(json.dumps(answer), flush=True)


main()
