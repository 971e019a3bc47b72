#!/usr/bin/env python3
"""Counts the instructions of warm queries under callgrind, and compares them with those that are recorded.

    gate.py QUERIES CONVERTER [--record REASON]

QUERIES is tests/instructions/queries of a release build, CONVERTER its glove-convert. Fails if a count is more than 3 % above
the one in `recorded.json`; if the compiler, SQLite or the build differs from those of the record, or there is no valgrind, it
is skipped (exit status 77) and says why, as it is in the short form of tests/run.sh. One thread; GLOVE_CPU_TARGET=avx2, which every callgrind knows; clocks that do not
depend on the time. --record writes the counts anew, with the reason for it.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

RECORD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded.json")
MOST = 0.03


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def circumstances(queries):
    """What the counts depend on besides the code."""
    cache = open(os.path.join(os.path.dirname(queries), "..", "..", "CMakeCache.txt"), encoding="utf-8").read()

    def cached(name):
        found = re.search(r"^%s:\w+=(.*)$" % name, cache, re.M)
        return found.group(1) if found else ""
    compiler = subprocess.run([cached("CMAKE_CXX_COMPILER"), "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    return {"compiler": compiler.partition(" ")[2], "build": cached("CMAKE_BUILD_TYPE"), "target": "avx2",
            "sqlite": subprocess.run([queries, "version"], capture_output=True, text=True, check=True).stdout.strip(),
            "libc": " ".join(os.confstr("CS_GNU_LIBC_VERSION").split())}


def counts_of(queries, folder, level):
    """Returns the instructions of each query of the process with these codes, by name."""
    out = os.path.join(folder, "counts-" + level)
    os.mkdir(out)
    shutil.copy(os.path.join(folder, "instructions.db"), out)
    for model in ("words.safetensors", "lists.safetensors"):
        os.link(os.path.join(folder, model), os.path.join(out, model))
    environment = {"PATH": os.environ["PATH"], "GLOVE_CPU_TARGET": "avx2", "GLOVE_CPU_FIRST_LEVEL": level}
    done = subprocess.run(["valgrind", "--tool=callgrind", "--instr-atstart=no", "--callgrind-out-file=" + os.path.join(out, "out"),
                           queries, "measure", out], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit("valgrind ended with %d:\n%s" % (done.returncode, done.stderr))
    counts = {}
    for name in sorted(os.listdir(out)):
        if not name.startswith("out."):
            continue
        text = open(os.path.join(out, name), encoding="utf-8").read()
        trigger = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.M)
        if trigger:
            counts[trigger.group(1)] = int(re.search(r"^(?:totals|summary): (\d+)", text, re.M).group(1))
    return counts


def measure(queries, converter):
    with tempfile.TemporaryDirectory(prefix="glove-instructions-") as folder:
        subprocess.run([queries, "prepare", folder], check=True)
        words, environment = os.path.join(folder, "words"), dict(os.environ, GLOVE_CPU_TARGET="avx2")
        subprocess.run([converter, "-q", words + ".txt", words + ".safetensors"], env=environment, check=True)
        subprocess.run([converter, "-q", "--lists", "100", words + ".txt", os.path.join(folder, "lists.safetensors")], env=environment,
                       check=True)
        subprocess.run([queries, "database", folder], env=environment, check=True)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            counts = {}
            for some in pool.map(lambda level: counts_of(queries, folder, level), ("codes8", "coarsest")):
                counts.update(some)
        return counts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("queries", type=os.path.abspath)
    parser.add_argument("converter", type=os.path.abspath)
    parser.add_argument("--record", metavar="REASON")
    options = parser.parse_args()
    if options.record is None and "GLOVE_TEST_SHORT" in os.environ:
        skip("tests/run.sh --all counts them")
    if shutil.which("valgrind") is None:
        skip("there is no valgrind")
    if " avx2 " not in open("/proc/cpuinfo", encoding="utf-8").read():
        skip("the processor has no AVX2")
    here = circumstances(options.queries)
    record = json.load(open(RECORD, encoding="utf-8")) if os.path.exists(RECORD) else {}
    if options.record is None:
        if not record:
            skip("nothing is recorded; gate.py --record REASON does")
        for name, value in here.items():
            if record[name] != value:
                skip("the record is of %s %s, and this is %s" % (name, record[name], value))
    counts = measure(options.queries, options.converter)
    if options.record is not None:
        record = {**here, "reason": options.record, "instructions": counts}
        with open(RECORD, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=2)
            file.write("\n")
    worse = False
    for name, before in record["instructions"].items():
        ratio = counts[name] / before - 1 if name in counts else float("inf")
        bad = ratio > MOST
        worse = worse or bad
        print("%-40s %14s  %+6.2f %%%s" % (name, "{:,}".format(counts.get(name, 0)), 100 * ratio, "  TOO MANY" if bad else ""))
    for name in counts.keys() - record["instructions"].keys():
        worse = True
        print("%s: not recorded" % name)
    if worse:
        sys.exit("More instructions than recorded by more than %d %%. Find out why; if that is as it must be, record the counts:\n"
                 "  %s --record 'why'" % (100 * MOST, " ".join([sys.executable, *sys.argv])))


if __name__ == "__main__":
    main()
