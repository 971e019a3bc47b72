#!/usr/bin/env python3
"""Runs glove-verify on the probes of one PTX file: run_probes.py PROGRAM PTX EXPECTED

PTX is probes/NAME.sm_75.ptx or probes/NAME.sm_90.ptx and EXPECTED is probes/NAME.txt, for each NAME.cu in probes. Each line
of EXPECTED holds a kernel, the exit status, and then every finding as KIND@LINE, where LINE is that of NAME.cu. A probe that
EXPECTED does not list is an error, and so is a listed kernel that the file lacks. options_of() chooses the grid and the block. NAME.launch.toml does in their place if there is one. They are the
verdicts without Z3, which a build may lack.
With --write, prints what EXPECTED would have to be.
"""

import os
import re
import subprocess
import sys

SHORT = {
    "race": "race", "race of equal values": "same", "divergence": "divergence", "deadlock": "deadlock",
    "barrier count": "count", "unsafe recycling": "recycling", "undefined read": "undefined", "out of bounds": "bounds",
    "nobody waits": "arrive", "missing acquire": "acquire", "not proved": "unproved", "unsupported": "unsupported",
}
# A finding, and in the line behind it the place in the source, which may have called a function of a header.
FINDING = re.compile(r"^\S.*: (" + "|".join(SHORT) + r")(?: \((?:definite|possible)\))?: .*\n.*?\b\w+\.cu:(\d+)", re.M)


def options_of(kernel, file):
    launches = os.path.join(os.path.dirname(__file__), "probes", os.path.basename(file).split(".")[0] + ".launch.toml")
    if os.path.exists(launches):
        return ["--launch", launches]
    typical = os.path.basename(file).split(".")[0] in ("kernels", "pipelines", "blocks", "votes", "grids", "waits", "strong", "ballots")
    exits = ["--strict-exits"] if re.match("divergence_(early|warp)_exit", kernel) else []
    options = exits + ["--grid", "4" if os.path.basename(file).startswith("chains") else "2" if typical or re.search("blocks|grid|flag|scope", kernel) else "1"]
    if size := re.search(r"_(\d+)x(\d+)$", kernel):
        return options + ["--block", f"{size[1]},{size[2]}"]
    return options + (["--block", "64"] if kernel in ("race_without_bounds", "failure_2_no_maxntid") else [])


def verdict(program, file, kernel):
    """The exit status and the findings of a probe, as a line of EXPECTED."""
    limit = "5" if kernel == "lengths_all_at_once" else "30"  # that one finds nothing more
    result = subprocess.run([program, "--no-solver", "--kernel", f"^{kernel}$", "--time-limit", limit, *options_of(kernel, file), file],
                            capture_output=True, text=True, timeout=120)
    found = sorted({f"{SHORT[kind]}@{line}" for kind, line in FINDING.findall(result.stdout)})
    return " ".join([kernel, str(result.returncode), *found]), result.stdout + result.stderr


def main(program, file, expected, *write):
    with open(file, encoding="utf-8") as source:
        kernels = re.findall(r"\.entry (\w+)", source.read())
    with open(expected, encoding="utf-8") as lines:
        wanted = {line.split()[0]: line.strip() for line in lines if line.strip() and not line.startswith("#")}
    bad = 0
    for kernel in kernels:
        line, output = verdict(program, file, kernel)
        if write:
            print(line)
        elif line != wanted.get(kernel):
            bad += 1
            print(f"{file}: {kernel}\n  is:        {line}\n  should be: {wanted.get(kernel)}\n{output}")
    for missing in set(wanted) - set(kernels):
        bad += 1
        print(f"{file} has no kernel {missing}")
    if not write:
        print(f"{len(kernels)} probes, {bad} wrong verdicts")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
