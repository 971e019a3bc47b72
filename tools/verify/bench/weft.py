#!/usr/bin/env python3
"""Verifies WEFT's example kernels and compares the verdicts with expected.txt: weft.py PROGRAM DIR

DIR has the PTX of the examples of https://github.com/lightsighter/Weft, which are not part of this project, as EXAMPLE-KERNEL.ptx
(for instance RTM-one_phase_single_buffer.ptx). The table goes into bench/RESULTS.md.
"""

import datetime
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "..", "..", "..", "bench", "RESULTS.md")
BEGIN, END = "<!-- weft: begin -->", "<!-- weft: end -->"
FINDING = re.compile(r"^\S+: (race of equal values|race|deadlock|barrier count|unsafe recycling|nobody waits|divergence|"
                     r"undefined read|out of bounds|not proved|unsupported)(?: \(|: )", re.M)


def expectations():
    with open(os.path.join(HERE, "expected.txt"), encoding="utf-8") as lines:
        for line in lines:
            if line.strip() and not line.startswith("#"):
                name, found, paper, *options = line.split()
                yield name, set() if found == "-" else set(found.split(",")), paper, options


def measure(command):
    """(exit status, output, processor seconds, peak megabytes)"""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        return process.returncode, output.read(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def commit():
    return subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=HERE, capture_output=True, text=True).stdout.strip()


def main(program, folder):
    rows, wrong, total, most = [], 0, 0.0, 0.0
    for name, wanted, paper, options in expectations():
        launch = os.path.join(HERE, name + ".launch.toml")
        options = options + (["--launch", launch] if os.path.exists(launch) else [])
        code, output, seconds, megabytes = measure([program, "--shared-only", *options, os.path.join(folder, name + ".ptx")])
        found = {kind.replace(" ", "-") for kind in FINDING.findall(output)}
        good = wanted <= found if "race" in wanted else found == wanted
        good &= code == (1 if wanted else 0)
        wrong += not good
        total, most = total + seconds, max(most, megabytes)
        verdict = ", ".join(sorted(found)).replace("-", " ") or "proved"
        rows.append(f"| {name} | {verdict}{'' if good else ' (WRONG)'} | {seconds:.2f} | {megabytes:.0f} | {paper} |")
        print(rows[-1], flush=True)
    text = [BEGIN, "## glove-verify on WEFT's kernels", "",
            f"`tools/verify/bench/weft.py`, {datetime.datetime.utcnow():%Y-%m-%d %H:%M} UTC, commit {commit()}, {os.cpu_count()} cores, "
            f"load {os.getloadavg()[0]:.1f}; one thread, seconds of processor time.",
            f"{len(rows)} kernels, {wrong} verdicts other than in `tools/verify/bench/expected.txt`; {total:.1f} s together, at most "
            f"{most:.0f} MB.", "",
            "| kernel | verdict | s | MB | WEFT's paper, s |", "|---|---|--:|--:|--:|", *rows, "",
            "The two Fermi chemistry kernels are proved under a declared range of the row numbers that they read from memory.", END]
    with open(RESULTS, encoding="utf-8") as file:
        results = file.read()
    if BEGIN in results:
        results = results[:results.index(BEGIN)] + "\n".join(text) + results[results.index(END) + len(END):]
    else:
        results = results.rstrip("\n") + "\n\n" + "\n".join(text) + "\n"
    with open(RESULTS, "w", encoding="utf-8") as file:
        file.write(results)
    print(text[4])
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
