"""Makes a large model, searches it, and writes the results to bench/RESULTS.md. Called by bench/large.sh."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

import numpy

from common import MemoryLimit, commit, forget_cached_pages, write_results

BUILD = os.environ["BUILD"]
FOLDER = "build/large"
LIMIT = 1_000_000_000  # bytes of memory that a process must do with

# Runs in a fresh process: opens MODEL, searches it, and prints its times and its memory as JSON.
QUERIES = """
import json, os, sqlite3, sys, time
path, threads = sys.argv[1], int(sys.argv[2])

def memory():
    fields = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return {name: int(fields[name].split()[0]) * 1024 for name in ("RssAnon", "RssFile", "VmHWM")}

def milliseconds(text, *arguments):
    start = time.perf_counter()
    rows = connection.execute(text, arguments).fetchall()
    return (time.perf_counter() - start) * 1000, rows

connection = sqlite3.connect(":memory:")
connection.enable_load_extension(True)
connection.load_extension(os.path.abspath(os.environ["BUILD"]) + "/glove")
connection.execute("SELECT glove_config('backend', 'cpu')")
connection.execute("SELECT glove_config('threads', ?)", (threads,))
seen = {"before": memory()}
seen["open_ms"], _ = milliseconds("SELECT glove_load(?, 'main')", path)
words = connection.execute("SELECT words FROM glove_models").fetchone()[0]
asked = [f"w{i * 7919 % words:07d}" for i in range(1, 31)]
query = "SELECT neighbor, similarity FROM glove_nn(?, NULL, 10)"
seen["cos_sim_ms"], _ = milliseconds("SELECT cos_sim(?, ?)", asked[0], asked[1])
seen["first_ms"], rows = milliseconds(query, asked[0])
assert len(rows) == 10, rows
seen["opened"] = memory()
seen["warm_ms"] = sorted(milliseconds(query, word)[0] for word in asked[1:])[len(asked) // 2]
seen["after"] = memory()
print(json.dumps(seen))
"""


def write_word2vec(path, rows, dims):
    """A word2vec binary file of random rows, each the sum of a centre and noise, so that rows have neighbours."""
    random = numpy.random.default_rng()
    centres = random.standard_normal((1000, dims), dtype=numpy.float32)
    record = numpy.dtype([("word", "S9"), ("vector", "<f4", dims), ("end", "S1")])
    with open(path, "wb") as file:
        file.write(f"{rows} {dims}\n".encode())
        for first in range(0, rows, 50_000):
            count = min(50_000, rows - first)
            block = numpy.empty(count, record)
            block["word"] = [f"w{i:07d} ".encode() for i in range(first, first + count)]
            block["vector"] = random.standard_normal((count, dims), dtype=numpy.float32)
            block["vector"] += centres[random.integers(0, len(centres), count)]
            block["end"] = b"\n"
            block.tofile(file)


def convert(source, model):
    start = time.perf_counter()
    subprocess.run([BUILD + "/glove-convert", "--quiet", source, model], check=True)
    os.remove(source)
    return time.perf_counter() - start


def ask(model, threads, enter=None):
    done = subprocess.run([sys.executable, "-c", QUERIES, model, str(threads)], check=True, capture_output=True,
                          text=True, preexec_fn=enter)
    return json.loads(done.stdout)


def ask_within_limit(model, threads):
    """The same with LIMIT bytes of memory and nothing cached; None if no limit can be set."""
    with MemoryLimit(LIMIT) as limit:
        forget_cached_pages(model)
        return limit.path and ask(model, threads, limit.enter)


def bare_read(model, threads):
    done = subprocess.run([BUILD + "/bench/bare_read", model, str(threads)], input="\n" * 15, check=True,
                          capture_output=True, text=True)
    return statistics.median(float(line) / 1000 for line in done.stdout.split()[3:])


def section(seen):
    large, small, held = seen["large"], seen["small"], seen["held"]
    if held:
        limited = (f"A process in a memory cgroup of {LIMIT / 1e9:.0f} GB, with nothing of the file cached, answers its first query, which"
                   f" reads the codes from disk, in\n{held['first_ms']:,.0f} ms, and the following ones in {held['warm_ms']:.1f} ms.")
    else:
        limited = "(No memory cgroup could be made here, so the run with 1 GB of memory was left out.)"
    return f"""## A model of {seen['rows']:,} x {seen['dims']}

`bench/large.sh`, {seen['date']}, commit {seen['commit']}, {seen['threads']} threads, load of the machine {seen['load']:.1f}; {seen['bytes'] / 1e9:.1f} GB
on disk, converted in {seen['convert_s']:.0f} s. Random rows around 1,000 centres. All numbers: data/large.json.

| | this model | 20,000 x {seen['dims']} |
|---|--:|--:|
| `glove_load`, ms | {large['open_ms']:.2f} | {small['open_ms']:.2f} |
| first `cos_sim`, ms | {large['cos_sim_ms']:.2f} | {small['cos_sim_ms']:.2f} |
| first `glove_nn`, k = 10 (file in the page cache, not yet mapped), ms | {large['first_ms']:.1f} | {small['first_ms']:.1f} |
| warm `glove_nn`, k = 10, ms (median) | {large['warm_ms']:.2f} | {small['warm_ms']:.2f} |
| a bare read of the bytes that it scans, ms (median) | {seen['bare_read_ms']:.2f} | |
| private memory of the process, including Python, MB | {large['after']['RssAnon'] / 1e6:,.0f} | {small['after']['RssAnon'] / 1e6:,.0f} |
| pages of files in memory after one query, MB | {large['opened']['RssFile'] / 1e6:,.0f} | {small['opened']['RssFile'] / 1e6:,.0f} |
| the same after 30 queries (the kernel reclaims them when it needs them), MB | {large['after']['RssFile'] / 1e6:,.0f} | {small['after']['RssFile'] / 1e6:,.0f} |

{limited} The scan reads the codes
and a few rows, and never the whole float32 matrix of {seen['rows'] * seen['dims'] * 4 / 1e9:.1f} GB.
"""


def main():
    parser = argparse.ArgumentParser(prog="bench/large.sh")
    parser.add_argument("--rows", type=int, default=2_196_016)
    parser.add_argument("--dims", type=int, default=300)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--no-write", action="store_true")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    os.makedirs(FOLDER, exist_ok=True)
    try:
        source, model = FOLDER + "/source.bin", FOLDER + "/large.safetensors"
        small = FOLDER + "/small.safetensors"
        if not os.path.exists(model):
            write_word2vec(source, options.rows, options.dims)
            convert_s = convert(source, model)
        else:
            convert_s = 0  # kept by an earlier run
        write_word2vec(source, 20_000, options.dims)
        convert(source, small)
        ask(model, options.threads)  # into the page cache
        seen = {
            "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "commit": commit(), "rows": options.rows,
            "dims": options.dims, "threads": options.threads, "bytes": os.path.getsize(model),
            "load": os.getloadavg()[0], "convert_s": convert_s, "small": ask(small, options.threads),
            "large": ask(model, options.threads), "bare_read_ms": bare_read(model, options.threads),
            "held": ask_within_limit(model, options.threads),
        }
        print(section(seen))
        if not options.no_write:
            write_results("large", seen, section(seen))
    finally:
        if not options.keep:
            shutil.rmtree(FOLDER)


main()
