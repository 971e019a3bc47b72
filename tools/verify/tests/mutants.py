#!/usr/bin/env python3
"""Breaks the project's kernels on purpose: mutants.py PROGRAM NVCC PROJECT_DIR LAUNCH_DIR WORK_DIR SM_TARGET [--full | --write]

Compiles the kernels that mutants.txt names to PTX, makes the mutants of mutate.py, and verifies the launch again with each.
mutants.txt holds the class of every mutant. A mutant is found (a defect, or at least not proved), or it is proved and listed
as equivalent or as functional only with the reason; then glove-verify must not find anything with random data either
(--data), where it runs the kernel with concrete numbers. Where it reaches no verdict with these, the mutant is unconfirmed. mutants.txt says how many mutants per operator each launch has, evenly
spread over the code, and how many of these are tried without --full. --write prints the lines of mutants.txt, in which "?"
stands for a mutant that is proved. verdicts.py says when the test is skipped.
"""

import collections
import os
import re
import subprocess
import sys

import mutate
from run_specs import compile_kernels, short
from verdicts import SKIPPED, StoredVerdict, hash_of, kernel_files

TIME_LIMIT = 60  # seconds for a mutant
MOST_THREADS = 1024  # of a kernel that does not say; it has no barriers that count threads
FOUND = {1: "D", 2: "U"}


class Expected:
    """mutants.txt: the classes of letters, per launch the number of mutants, and per operator the letters of all."""

    def __init__(self, path):
        self.classes, self.letters, self.sizes, self.launches, self.most = {}, {}, {}, [], {}
        launch = None
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                if not line.strip() or line.startswith("#"):
                    continue
                if head := re.match(r"\[(\w+): (.*)\] (\d+), (\d+)$", line):
                    launch = (head[1], head[2])
                    self.most[launch] = (int(head[3]), int(head[4]))
                    self.launches.append(launch)
                elif size := re.match(r"(full|ci): (.*)$", line):
                    self.sizes[size[1]] = dict((part.rsplit(" ", 1)[0], int(part.rsplit(" ", 1)[1]))
                                               for part in size[2].split(", "))
                elif launch is None:
                    letter, kind, _ = line.split(maxsplit=2)
                    self.classes[letter] = kind.rstrip(":")
                else:
                    operator, letters = line.split()
                    self.letters[launch, operator] = letters


def statuses(program, spec, launch, path):
    """The exit status with unknown data, its output, and that with random data if nothing was found."""
    command = [program, "--launch", spec, "--name", f"^{re.escape(launch)}$", "--time-limit", str(TIME_LIMIT), path]
    result = subprocess.run(command, capture_output=True, text=True)
    sampled = result.returncode
    if result.returncode == 0:
        sampled = subprocess.run([*command, "--data", "1"], capture_output=True, text=True).returncode
    return result.returncode, result.stdout + result.stderr, sampled


def kernel_of(program, spec, launch, ptx):
    """(what all kernels of the file share, the entry that the launch runs)"""
    output = subprocess.run([program, "--launch", spec, "--name", f"^{re.escape(launch)}$", ptx], capture_output=True, text=True).stdout
    name = re.search(r"^(\S+): proved \(", output, re.M)
    if not name:
        raise SystemExit(f"{launch} is not proved before anything is changed:\n{output}")
    with open(ptx, encoding="utf-8") as file:
        shared, entries = mutate.entries(file.read())
    return shared, dict(entries)[name[1]], name[1]


def groups(entry):
    """{operator: its mutants} of a kernel."""
    bounds = re.search(r"\.maxntid (\d+)", entry)
    by_operator = collections.defaultdict(list)
    for operator, _, text in mutate.mutants(entry, int(bounds[1]) if bounds else MOST_THREADS):
        by_operator[operator].append(text)
    return by_operator


def complaint(expected, launch, operator, number, status, sampled, output):
    """What is wrong with the verdict on a mutant, or nothing; and its class."""
    letters = expected.letters.get((launch, operator), "")
    letter = letters[number] if number < len(letters) else "(none)"
    kind = expected.classes.get(letter)
    if kind in ("equivalent", "functional"):
        good = status == 0 and sampled == 0
    elif kind == "unconfirmed":
        good = status == 0 and sampled == 2
    else:
        good = kind is not None and letter == FOUND.get(status)
    wanted = f"mutants.txt has {letter} ({kind})"
    return kind, "" if good else f"exit status {status} ({sampled} with random data), but {wanted}\n{output}"


def main(program, nvcc, project, launch_dir, work, target, mode=""):
    if not nvcc or nvcc.endswith("NOTFOUND"):
        print("skipped: there is no nvcc to compile the kernels to PTX")
        return SKIPPED
    os.makedirs(work, exist_ok=True)
    verdict = StoredVerdict(os.path.join(work, f"{target}.verdict"))
    if mode != "--write" and verdict.skips_without_verdict():
        return SKIPPED
    here = os.path.dirname(os.path.abspath(__file__))
    expected = Expected(os.path.join(here, "mutants.txt"))
    launches = [launch for launch in expected.launches if mode != "" or expected.most[launch][1] > 0]
    compiled = {source: compile_kernels(nvcc, project, work, target, source) for source in sorted({source for source, _ in launches})}
    rules = [os.path.join(here, name) for name in ("mutants.py", "mutate.py", "mutants.txt")]
    hashed = hash_of([program, *rules, *compiled.values(), *kernel_files(project, launch_dir)], mode)
    if mode != "--write" and verdict.skips_unchanged(hashed):
        return SKIPPED
    mutant = os.path.join(work, f"mutant.{target}.ptx")
    sizes, bad = collections.Counter(), 0
    for launch in launches:
        source, name = launch
        most, in_ci = expected.most[launch]
        spec = os.path.join(launch_dir, f"{source}.launch.toml")
        shared, entry, kernel = kernel_of(program, spec, name, compiled[source])
        print(f"[{source}: {name}] {most}, {in_ci}" if mode == "--write" else f"{short(kernel)}, {name}", flush=True)
        for operator, texts in groups(entry).items():
            texts = mutate.evenly(texts, most)
            numbers = mutate.evenly(list(range(len(texts))), in_ci if mode == "" else most)
            wanted = len(expected.letters.get((launch, operator), ""))
            if wanted != len(texts) and mode != "--write":
                bad += 1
                print(f"{operator}: {len(texts)} mutants, and not {wanted}")
            written = ""
            for number in numbers:
                with open(mutant, "w", encoding="utf-8") as file:
                    file.write(shared + "\n" + texts[number])
                status, output, sampled = statuses(program, spec, name, mutant)
                written += FOUND.get(status, "?" if status == sampled == 0 else "!")
                kind, wrong = complaint(expected, launch, operator, number, status, sampled, output)
                sizes[kind] += 1
                if wrong and mode != "--write":
                    bad += 1
                    print(f"{operator} {number}: {wrong}")
            if mode == "--write":
                print(operator, written, flush=True)
    if mode == "--write":
        return 0
    run = "full" if mode == "--full" else "ci"
    print(f"{sum(sizes.values())} mutants: " + ", ".join(f"{kind} {count}" for kind, count in sorted(sizes.items(), key=str)) +
          f"; {bad} wrong")
    if dict(sizes) != expected.sizes.get(run):
        bad += 1
        print(f"mutants.txt has other sizes for {run}: {expected.sizes.get(run)}")
    verdict.keep(hashed, bad == 0)
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
