"""The process of one worker: JSON requests on standard input, JSON answers on standard output.

    worker.py NAME MODEL THREADS
"""
import json
import sys
import time

import workers


def memory():
    """Returns the bytes in RAM: private memory, and mapped files (which the kernel may reclaim)."""
    fields = dict(line.split(":", 1) for line in open("/proc/self/status"))
    kilobytes = {key: int(fields[key].split()[0]) * 1024 for key in ("RssAnon", "RssFile", "VmHWM")}
    return {"own": kilobytes["RssAnon"], "mapped": kilobytes["RssFile"], "peak": kilobytes["VmHWM"]}


def timed(function, argument):
    start = time.perf_counter()
    finish = function(argument)
    seconds = time.perf_counter() - start
    return {"ms": seconds * 1000, "ids": finish()}


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
