#!/usr/bin/env python3
"""Breaks WEFT's kernels on purpose: weft_mutants.py PROGRAM DIR [--write]

DIR is that of weft.py. Each kernel that weft.py proves and weft_mutants.txt lists is verified again with mutants of tests/mutate.py, at most AT_MOST per
operator, evenly spread over the code. weft_mutants.txt has the class of each: found (a defect, or not proved), or proved and listed as
equivalent or functional only with the reason, where random data (--data) must show nothing either. --write prints the lines of
weft_mutants.txt for all kernels, in which "?" stands for a mutant that is proved.
"""

import collections
import os
import re
import subprocess
import sys
import tempfile

from weft import HERE, expectations

sys.path.insert(0, os.path.join(HERE, "..", "tests"))
import mutate  # noqa: E402

AT_MOST = 3
TIME_LIMIT = 60  # seconds for a mutant
FOUND = {1: "D", 2: "U"}


def expected():
    """({letter: class}, {(kernel, operator): letters}, the sizes of the classes)"""
    classes, letters, sizes = {}, {}, {}
    with open(os.path.join(HERE, "weft_mutants.txt"), encoding="utf-8") as lines:
        for line in lines:
            if not line.strip() or line.startswith("#"):
                continue
            first, *rest = line.split()
            if first == "sizes:":
                sizes = {rest[i]: int(rest[i + 1].rstrip(",")) for i in range(0, len(rest), 2)}
            elif len(first) == 1:
                classes[first] = rest[0].rstrip(":")
            else:
                letters[first, rest[0]] = rest[1]
    return classes, letters, sizes


def letter_of(command):
    """D, U, "?" if the mutant is proved and random data show nothing either, or "!"."""
    status = subprocess.run(command, capture_output=True, text=True).returncode
    if status != 0:
        return FOUND.get(status, "!")
    return "?" if subprocess.run([*command, "--data", "1"], capture_output=True, text=True).returncode == 0 else "!"


def main(program, folder, *write):
    classes, letters, wanted = expected()
    sizes, bad = collections.Counter(), 0
    for name, found, _, options in expectations():
        if found or not (write or any(listed == name for listed, _ in letters)):
            continue
        launch = os.path.join(HERE, name + ".launch.toml")
        options += ["--launch", launch] if os.path.exists(launch) else []
        with open(os.path.join(folder, name + ".ptx"), encoding="utf-8") as file:
            shared, entries = mutate.entries(file.read())
        assert len(entries) == 1, name
        threads = int(re.search(r"\.maxntid (\d+)", entries[0][1])[1])
        by_operator = collections.defaultdict(list)
        for operator, _, text in mutate.mutants(entries[0][1], threads):
            by_operator[operator].append(text)
        for operator, texts in by_operator.items():
            now = ""
            for text in mutate.evenly(texts, AT_MOST):
                with tempfile.NamedTemporaryFile("w", suffix=".ptx", encoding="utf-8") as file:
                    file.write(shared + "\n" + text)
                    file.flush()
                    now += letter_of([program, "--shared-only", "--time-limit", str(TIME_LIMIT), *options, file.name])
            if write:
                print(name, operator, now, flush=True)
                continue
            listed = letters.get((name, operator), "")
            for is_now, listed_as in zip(now, listed.ljust(len(now))):
                kind = classes.get(listed_as)
                sizes[kind] += 1
                if is_now != (listed_as if listed_as in "DU" else "?") or kind is None:
                    bad += 1
                    print(f"{name} {operator}: {now}, and weft_mutants.txt has {listed or 'nothing'}")
    if write:
        return 0
    print(f"{sum(sizes.values())} mutants: " + ", ".join(f"{kind} {count}" for kind, count in sorted(sizes.items(), key=str)) +
          f"; {bad} wrong")
    return bad != 0 or dict(sizes) != wanted


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
