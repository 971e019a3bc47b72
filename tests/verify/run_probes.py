"""Runs glove-verify on the probes: run_probes.py PROGRAM PTX... A probe's name begins with its verdict."""

import re
import subprocess
import sys

KINDS = {
    "race": "race", "same": "race of equal values", "divergence": "divergence", "deadlock": "deadlock",
    "count": "barrier count", "recycling": "unsafe recycling", "undefined": "undefined read", "bounds": "out of bounds",
}
# Right kernels that are not proved yet: said, and never called proved wrongly or defective.
GAPS = {"ok_histogram", "ok_double_buffer", "ok_compaction"}


def run(program, file, kernel, grid):
    command = [program, "--kernel", f"^{kernel}$", "--grid", grid, "--time-limit", "3" if kernel in GAPS else "30", file]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def problem(program, file, kernel):
    """What is wrong with the verdict on a probe, or None."""
    word = kernel.split("_")[0]
    result = run(program, file, kernel, "2" if re.search("blocks|grid|flag", kernel) else "1")
    expected = {"ok": 0, "unproved": 2, "unsupported": 3}.get(word, 1)
    if kernel in GAPS:
        expected = 2
    if result.returncode != expected:
        return f"exit status {result.returncode} instead of {expected}\n{result.stdout}{result.stderr}"
    if word in KINDS and not re.search(rf"^\S+: {KINDS[word]} \(.*\n.*probes\.cu:\d+", result.stdout, re.M):
        return f"no {KINDS[word]} with its line\n{result.stdout}"
    return None


def main(program, *files):
    count = bad = 0
    for file in files:
        with open(file, encoding="utf-8") as source:
            kernels = re.findall(r"\.entry (\w+)", source.read())
        assert len(kernels) > 50, f"{file} holds {len(kernels)} probes"
        for kernel in kernels:
            count += 1
            if message := problem(program, file, kernel):
                bad += 1
                print(f"{file}: {kernel}: {message}")
    print(f"{count} probes, {bad} wrong verdicts; not proved yet, as listed: {', '.join(sorted(GAPS))}")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
