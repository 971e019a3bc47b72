"""Breaks the project's kernels on purpose: mutants.py PROGRAM NVCC PROJECT_DIR WORK_DIR SM_TARGET

Compiles gpu/kernels/batch_scan.cu to PTX, and for each barrier of the kernels in LAUNCHES verifies the launch again without
that barrier. LAUNCHES also has the exit status for each barrier, in the order of the code: 1, a defect; 2, not proved, where the
accesses that the barrier orders have an address that the data decide. No mutant may be called proved.
"""

import os
import re
import subprocess
import sys

from run_specs import compile_kernels, short

LAUNCHES = {"threshold_kernel": ("ci threshold blocks 2", [2, 2, 1, 1]), "tighten_threshold_kernel": ("ci tighten blocks 2", [2, 2, 1, 1])}


def kernels_of(text):
    """(name, first line, line behind the last) of each entry."""
    lines = text.split("\n")
    starts = [i for i, line in enumerate(lines) if ".entry" in line]
    for start in starts:
        end = next(i for i in range(start, len(lines)) if lines[i].startswith("}"))
        yield re.search(r"\.entry (\w+)", lines[start])[1], start, end + 1


def verdict(program, spec, launch, ptx):
    result = subprocess.run([program, "--launch", spec, "--name", f"^{launch}$", "--time-limit", "120", ptx],
                            capture_output=True, text=True)
    return result.returncode, result.stdout


def main(program, nvcc, project, work, target):
    if not nvcc or nvcc.endswith("NOTFOUND"):
        print("skipped: there is no nvcc to compile the kernels to PTX")
        return 77
    os.makedirs(work, exist_ok=True)
    with open(compile_kernels(nvcc, project, work, target, "batch_scan"), encoding="utf-8") as file:
        text = file.read()
    spec = os.path.join(project, "gpu", "kernels", "batch_scan.launch.toml")
    lines, bad, count = text.split("\n"), 0, 0
    for name, start, end in kernels_of(text):
        launch, wanted = LAUNCHES.get(short(name), ("", []))
        barriers = [at for at in range(start, end) if launch and "bar.sync" in lines[at]]
        if len(barriers) != len(wanted):
            bad += 1
            print(f"{short(name)} has {len(barriers)} barriers instead of {len(wanted)}")
        for at, expected in zip(barriers, wanted):
            count += 1
            mutant = os.path.join(work, f"mutant.{target}.ptx")
            with open(mutant, "w", encoding="utf-8") as file:
                file.write("\n".join(lines[:at] + [""] + lines[at + 1:]))
            code, output = verdict(program, spec, launch, mutant)
            print(f"{short(name)}, PTX line {at + 1} without its barrier: exit status {code}")
            if code != expected:
                bad += 1
                print(f"should be {expected}\n{output}")
    print(f"{count} mutants, {bad} wrong verdicts")
    return bad != 0 or count < 8


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
