"""Checks what verdicts assume: assumptions.py PROGRAM PROBES_DIR

A run that finds that it has been wrong, such as about the results of additions to a counter that is set back, begins again. The verdict
prints what the last attempt has assumed, and nothing of those before it.
"""

import os
import subprocess
import sys

TICKETS = "counters of atomic additions do not wrap"
COUNTERS = "counters of grid barriers are zero before the launch, and all blocks are resident"
BUFFERS = "different pointer parameters point to different buffers"
INDICES = "index arithmetic in 32 bits does not wrap"
LOOPS = "loops that the data end do end, and their counters do not wrap"
# (probes, kernel): all that its verdict assumes
CASES = {
    ("blocks", "ok_last_block"): {TICKETS, COUNTERS, BUFFERS},
    ("blocks", "race_tickets_after_reset"): {BUFFERS, INDICES},
    ("waits", "unproved_set_back_too_early"): {LOOPS},
}


def main(program, probes):
    bad = 0
    for (name, kernel), expected in CASES.items():
        file = os.path.join(probes, f"{name}.sm_90.ptx")
        output = subprocess.run([program, "--grid", "2", "--kernel", f"^{kernel}$", file], capture_output=True, text=True).stdout
        assumed = {line.removeprefix("  assumed: ") for line in output.splitlines() if line.startswith("  assumed: ")}
        if assumed != expected:
            bad += 1
            print(f"{kernel} assumes {sorted(assumed)} and not {sorted(expected)}\n{output}")
    print(f"{len(CASES)} kernels, {bad} wrong")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
