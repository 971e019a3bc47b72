#!/usr/bin/env python3
"""Verifies kernels that others wrote: public.py PROGRAM PTX_FOLDER [--jobs N] [--limit SECONDS] [PROJECT...]

launches.tar.xz has a launch of each kernel, and README.md says what PTX_FOLDER holds. Prints a table per project, and every verdict that is not the
one that verdicts.txt expects; what that file does not list is to be proved. Fails on such a verdict if it is a defect, on a proof of
what has a defect, or if less than BAR of the kernels are proved. --bare leaves the launches out, as someone would who has nothing but the PTX, and --shapes
gives the block and the grid alone.
"""

import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
BAR = 175 / 214
VERDICTS = {0: "proved", 1: "defect", 2: "undecided", 3: "unsupported"}
EXAMPLE = re.compile(r"; --data \d+ shows |: race for .*threads \d+ and \d+")  # of an undecided kernel


def entries_of(folder):
    """{name of a kernel: its PTX file}, of several files the last by its path"""
    found = {}
    for path, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".ptx"):
                with open(os.path.join(path, name), encoding="utf-8", errors="replace") as file:
                    found.update(dict.fromkeys(re.findall(r"\.entry (\w+)\(", file.read()), file.name))
    return found


def expected_verdicts():
    """[(verdict, project, pattern of a kernel's name)] of verdicts.txt."""
    with open(os.path.join(HERE, "verdicts.txt"), encoding="utf-8") as lines:
        return [line.split(":")[0].split() for line in lines if line.strip() and not line.startswith("#")]


def launches(projects, folder):
    """[(project, launch file, pattern of the kernel's name)]"""
    with tarfile.open(os.path.join(HERE, "launches.tar.xz")) as archive:
        archive.extractall(folder)
    found = []
    for project in projects or sorted(os.listdir(os.path.join(folder, "launches"))):
        for name in sorted(os.listdir(os.path.join(folder, "launches", project))):
            path = os.path.join(folder, "launches", project, name)
            with open(path, encoding="utf-8") as file:
                found.append((project, path, re.search(r"kernel = '(.*)'", file.read())[1]))
    return found


def verify(program, options, ptx):
    result = subprocess.run([program, *options, ptx], capture_output=True, text=True)
    lines = [line for line in (result.stdout + result.stderr).splitlines() if not line.startswith(" ")]
    verdict = VERDICTS.get(result.returncode, "refused")
    example = next((line for line in lines if EXAMPLE.search(line)), None) if verdict == "undecided" else None
    return ("example", example) if example else (verdict, next(iter(lines), ""))


def shape_of(launch):
    """--block and --grid of a launch file of one launch."""
    with open(launch, "rb") as file:
        table = tomllib.load(file)
    values = table | table["launch"][0]
    text = {key: ",".join(map(str, value)) if isinstance(value, list) else str(value) for key, value in values.items()}
    return [part for key in ("block", "grid") if key in values for part in (f"--{key}", text[key])]


def without_launches(program, tasks, jobs, limit, shapes):
    """The verdicts on the PTX alone, or with block and grid: how many of each, and the defects."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        verdicts = [(project, kernel, pool.submit(verify, program, ["--kernel", f"^{kernel}$", "--time-limit", limit, *shape], ptx))
                    for project, kernel, ptx, shape in ((*task[:3], shape_of(task[3]) if shapes else []) for task in tasks)]
    for project, kernel, task in verdicts:
        if task.result()[0] == "defect":
            print(f"{project} {kernel}: {task.result()[1]}")
    print(dict(collections.Counter(task.result()[0] for _, _, task in verdicts)))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("ptx")
    parser.add_argument("projects", nargs="*")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", default="20")
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--shapes", action="store_true")
    arguments = parser.parse_args()
    entries = entries_of(arguments.ptx)
    expected = expected_verdicts()
    counts, missing, failed = collections.defaultdict(collections.Counter), 0, False
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        tasks, found = [], []
        for project, path, pattern in launches(arguments.projects, folder):
            kernel = next((name for name in entries if re.search(pattern, name)), None)
            missing += kernel is None
            if kernel is not None:
                found.append((project, kernel, entries[kernel], path))
        if arguments.bare or arguments.shapes:
            return without_launches(arguments.program, found, arguments.jobs, arguments.limit, arguments.shapes)
        for project, kernel, ptx, path in found:
            options = ["--launch", path, "--time-limit", arguments.limit]
            tasks.append((project, kernel, pool.submit(verify, arguments.program, options, ptx)))
        for project, kernel, task in tasks:
            verdict, first = task.result()
            wanted = next((line[0] for line in expected if line[1] == project and re.search(line[2], kernel)), "proved")
            counts[project][verdict] += 1
            if verdict != wanted:
                print(f"{project} {kernel}: {verdict}, and not {wanted}: {first}")
                failed |= verdict == "defect" or (verdict, wanted) == ("proved", "defect")
    for project, of in counts.items():
        print(f"{project}: {sum(of.values())} kernels: " + ", ".join(f"{count} {verdict}" for verdict, count in of.most_common()))
    total = sum(sum(of.values()) for of in counts.values())
    proved = sum(of["proved"] for of in counts.values())
    shown = sum(of["defect"] + of["example"] for of in counts.values())
    print(f"all: {proved} of {total} proved, {shown} with a defect or an example of one, {missing} without PTX")
    return 1 if failed or proved < BAR * total else 0


if __name__ == "__main__":
    sys.exit(main())
