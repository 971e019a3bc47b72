#!/usr/bin/env python3
"""Compares two builds of the project on this machine, in interleaved rounds, and prints the ratio of their best times.

  bench/compare.py OLD NEW MODEL SMALL [--backend cpu|cuda] [--rounds N] [--text TEXT] [--json FILE]

OLD and NEW are directories that hold sql_bench, glove.so and glove-convert of one build each (`cmake --preset release
-DGLOVE_BENCH=ON` makes them). MODEL is the model file to time, SMALL a small one to warm up with. TEXT, a GloVe text file,
adds the time of a conversion and of loading the text; without it only queries are timed. Machines are shared and noisy, so
only the ratio of the best rounds means much.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

FIGURES = [
    ("first_answer_ms_median", "load and first answer, ms"),
    ("k1_us_median", "k = 1, us"),
    ("k10_us_median", "k = 10, us"),
    ("k100_us_median", "k = 100, us"),
    ("k1000_us_median", "k = 1000, us"),
    ("k1000_nomutex_us_median", "k = 1000, SQLITE_OPEN_NOMUTEX, us"),
    ("k1000_kept_us_median", "k = 1000, a kept answer, us"),
    ("batch_us_median", "1,024 queries, us"),
    ("batch_stages_us", "1,024 queries: scan, select, rescore, us"),
]


def queries(build, options):
    """Returns the figures of one run of sql_bench."""
    command = [os.path.join(build, "sql_bench"), os.path.join(build, "glove.so"), options.model, options.small, options.backend]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def seconds(command):
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def conversions(build, options, folder):
    """Returns the seconds of a conversion, and of verifying its result."""
    output = os.path.join(folder, "converted.safetensors")
    convert = os.path.join(build, "glove-convert")
    return {"convert_s": seconds([convert, "-q", options.text, output]), "verify_s": seconds([convert, "--verify", output])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("old", "new", "model", "small"):
        parser.add_argument(name)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--text")
    parser.add_argument("--json")
    options = parser.parse_args()

    rounds = {"old": [], "new": []}
    with tempfile.TemporaryDirectory(prefix="glove-compare-") as folder:
        for number in range(options.rounds):
            # The builds take turns in going first, so that neither always finds caches that the other one left.
            for side in ("old", "new") if number % 2 == 0 else ("new", "old"):
                build = getattr(options, side)
                figures = queries(build, options)
                if options.text:
                    figures |= conversions(build, options, folder)
                rounds[side].append(figures)

    figures = FIGURES + ([("convert_s", "glove-convert, s"), ("verify_s", "glove-convert --verify, s")] if options.text else [])
    print(f"{options.backend}, {rounds['new'][0]['words']:,} words, best of {options.rounds} interleaved rounds")
    print(f"{'':44} {'old':>12} {'new':>12} {'new/old':>8}")
    for key, label in figures:
        old, new = (min(figure[key] for figure in rounds[side]) for side in ("old", "new"))
        print(f"{label:44} {old:12.4g} {new:12.4g} {new / old:8.3f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rounds, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
