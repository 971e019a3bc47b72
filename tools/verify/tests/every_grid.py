#!/usr/bin/env python3
"""Proofs for all grids: every_grid.py PROGRAM PTX

PTX is probes/every_grid.sm_*.ptx. Each kernel must be proved for all grids, for the launch's grid alone, or not at all; without
--every-grid, for a small grid alone. vector_add must take
little memory however large the grid is.
"""

import re
import resource
import subprocess
import sys

ALL = "vector_add block_sum transposed backwards histogram append first_of_each_row".split()
BY_SOLVER = "seventh last".split()  # without Z3: for the launch's grid alone
ONE = ("two_places seventh_and_ninth large_grid far_blocks alone inside_last inside_first divergence_in_third two_rows without_rows "
       "last_block").split()
WRONG = {"tickets_wrap", "ticket_of_first"}  # or not proved


def verdicts(program, ptx, *options):
    output = subprocess.run([program, *options, ptx], capture_output=True, text=True).stdout
    return {name: (verdict, "for all grids" in shape)
            for name, verdict, shape in re.findall(r"^(\w+): (proved|DEFECT|could not prove|unsupported) \((.*?);", output, re.M)}


def main(program, ptx, solver):
    found = {}
    for grid, kernels in (("2", "."), ("2,2", "^(first_of_each_row|two_rows|without_rows)$")):
        found |= verdicts(program, ptx, "--every-grid", "--kernel", kernels, "--grid", grid)
    wanted = {name: ("proved", True) for name in ALL} | {name: ("proved", False) for name in ONE}
    wanted |= {name: ("proved", solver == "1") for name in BY_SOLVER}
    bad = 0
    for name, verdict in found.items():
        if name in WRONG and verdict[0] == "proved" or name not in WRONG and verdict != wanted.get(name):
            bad += 1
            print(f"{name}: {verdict}, and not {wanted.get(name, 'DEFECT or could not prove')}")
    for name in set(wanted) - set(found):
        bad += 1
        print(f"{name} is missing")
    for name, verdict in verdicts(program, ptx, "--grid", "2,2", "--kernel", "^(transposed|two_rows)$").items():
        if verdict[1]:
            bad += 1
            print(f"{name}: {verdict} without --every-grid")
    large = verdicts(program, ptx, "--grid", "60000", "--kernel", "^vector_add$")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{len(found)} kernels, {bad} wrong; the largest took {used.ru_maxrss // 1024} MB")
    return bad != 0 or large != {"vector_add": ("proved", True)} or used.ru_maxrss > 200 * 1024


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
