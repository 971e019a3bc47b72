"""Makes a large text, converts it, and writes the time and memory to bench/RESULTS.md. Called by bench/convert_large.sh."""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time

from common import MemoryLimit, commit, forget_cached_pages, write_results

BUILD = os.environ["BUILD"]
FOLDER = "build/convert_large"
LIMIT = 1_000_000_000  # bytes of memory that a conversion must do with
RUN = 30  # random numbers that are made together

# Runs a command in a fresh process that does nothing else, and prints its time and the peak of its resident memory.
MEASURE = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], check=True)
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "resident": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024}))
"""


def write_text(path, rows, dims):
    """GloVe text of random rows: each consists of some of 4,096 runs of RUN random numbers, which is fast and makes no row twice."""
    numbers = lambda count: "".join(" %.5g" % random.gauss(0, 0.4) for _ in range(count)).encode()
    pieces = [numbers(RUN) for _ in range(4096)]
    rest = [numbers(dims % RUN) for _ in range(4096)]
    with open(path, "wb", buffering=1 << 20) as file:
        for row in range(rows):
            file.write(b"w%07d" % row)
            file.write(b"".join(random.choices(pieces, k=dims // RUN)))
            file.write(random.choice(rest))
            file.write(b"\n")


def run(text, model, enter=None):
    forget_cached_pages(text)
    done = subprocess.run([sys.executable, "-c", MEASURE, BUILD + "/glove-convert", "--quiet", text, model], check=True,
                          stdout=subprocess.PIPE, text=True, preexec_fn=enter)
    return json.loads(done.stdout)


def run_within_limit(text, model):
    """The same in a memory cgroup of LIMIT bytes; None if no cgroup can be made."""
    with MemoryLimit(LIMIT) as limit:
        return limit.path and {**run(text, model, limit.enter), "group_peak": limit.peak()}


def section(seen):
    free, held = seen["free"], seen["held"]
    per_row = free["resident"] / seen["rows"]
    if held:
        limited = f"""In a memory cgroup of {LIMIT / 1e9:.0f} GB, where the cached pages of both files also count but can be reclaimed, it
takes {held['seconds']:.1f} s and {held['resident'] / 1e6:,.0f} MB, and the model file is the same, byte for byte."""
    else:
        limited = "(No memory cgroup could be made here, so the run within 1 GB was left out.)"
    return f"""## Converting {seen['text_bytes'] / 1e9:.1f} GB of text

`bench/convert_large.sh`, {seen['date']}, commit {seen['commit']}, {seen['threads']} threads, load of the machine {seen['load']:.1f} before;
{seen['rows']:,} x {seen['dims']} random rows of GloVe text, the size of the 840B file, to a model file of {seen['model_bytes'] / 1e9:.1f} GB.
All numbers: data/convert_large.json.

If nothing of the text is cached, the conversion takes {free['seconds']:.1f} s, including fsync, and at most {free['resident'] / 1e6:,.0f} MB of resident memory, which is
{per_row:.0f} bytes per row. It maps neither file, so all of this is private memory: what it keeps of each row until the end, and a few blocks.
{limited}
"""


def same_bytes(a, b):
    return subprocess.run(["cmp", "--quiet", a, b], check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser(prog="bench/convert_large.sh")
    parser.add_argument("--rows", type=int, default=2_196_016)
    parser.add_argument("--dims", type=int, default=300)
    parser.add_argument("--no-write", action="store_true")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    os.makedirs(FOLDER, exist_ok=True)
    try:
        text, model, second = (FOLDER + name for name in ("/large.txt", "/large.safetensors", "/second.safetensors"))
        if not os.path.exists(text):
            write_text(text, options.rows, options.dims)
        seen = {
            "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "commit": commit(), "rows": options.rows,
            "dims": options.dims, "threads": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0],
            "text_bytes": os.path.getsize(text), "free": run(text, model), "held": run_within_limit(text, second),
            "model_bytes": os.path.getsize(model),
        }
        if seen["held"] and not same_bytes(model, second):
            sys.exit("bench/convert_large.sh: the model file made within the limit differs")
        print(json.dumps(seen, indent=1))
        print(section(seen))
        if not options.no_write:
            write_results("convert_large", seen, section(seen))
        if max(seen[name]["resident"] for name in ("free", "held") if seen[name]) > LIMIT:
            sys.exit("bench/convert_large.sh: it took more than 1 GB")
    finally:
        if not options.keep:
            shutil.rmtree(FOLDER)


main()
