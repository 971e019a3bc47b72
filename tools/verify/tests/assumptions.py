"""Checks what verdicts assume: assumptions.py PROGRAM PROBES_DIR

A run that finds that it has been wrong, such as about the results of additions to a counter that is set back, begins again. The verdict
prints what the last attempt has assumed, and nothing of those before it. That what is read from shared memory was written is assumed
where it is not certain, and only there.
"""

import os
import subprocess
import sys

TICKETS = "counters of atomic additions do not wrap"
COUNTERS = "counters of grid barriers are zero before the launch, and all blocks are resident"
BUFFERS = "different pointer parameters point to different buffers"
INDICES = "index arithmetic in 32 bits does not wrap"
LOOPS = "loops that the data end do end, and their counters do not wrap"
WRITTEN = "what is read at written.cu:{} from shared memory was written"
# (probes, kernel): all that its verdict assumes
CASES = {
    ("blocks", "ok_last_block"): {TICKETS, COUNTERS, BUFFERS},
    ("blocks", "race_tickets_after_reset"): {BUFFERS, INDICES},
    ("waits", "unproved_set_back_too_early"): {LOOPS},
    ("written", "ok_any_place"): {BUFFERS},
    ("written", "ok_even_places"): {BUFFERS},
    ("written", "ok_some_bytes"): {BUFFERS, WRITTEN.format(29)},
    ("written", "ok_list"): {BUFFERS, WRITTEN.format(34)},
    ("written", "ok_where_written"): {BUFFERS, WRITTEN.format(39)},
    ("written", "ok_atomics_behind_barrier"): set(),
    ("written", "ok_atomics_in_any_order"): {WRITTEN.format(48)},
    ("written", "ok_less_on_one_way"): {BUFFERS, WRITTEN.format(55)},
}


def main(program, probes):
    bad = 0
    for (name, kernel), expected in CASES.items():
        file = os.path.join(probes, f"{name}.sm_90.ptx")
        output = subprocess.run([program, "--grid", "1" if name == "written" else "2", "--kernel", f"^{kernel}$", file], capture_output=True, text=True).stdout
        assumed = {line.removeprefix("  assumed: ") for line in output.splitlines() if line.startswith("  assumed: ")}
        if assumed != expected:
            bad += 1
            print(f"{kernel} assumes {sorted(assumed)} and not {sorted(expected)}\n{output}")
    print(f"{len(CASES)} kernels, {bad} wrong")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
