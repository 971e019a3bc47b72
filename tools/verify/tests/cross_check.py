#!/usr/bin/env python3
"""Compares glove-verify with an enumeration of all schedules: cross_check.py PROGRAM KERNELS [SEED]

Writes random kernels of two to four warps, in which one lane of each warp stores to, loads from and adds to shared memory,
between named and full barriers, under conditions that all warps share or that each reads for itself, and on what an
addition returned. All schedules of each kernel are run, for all values of the conditions. The test fails if a kernel with
a race, a deadlock or a wrong barrier count in any schedule is called proved. The share of false alarms (no schedule is
wrong, and the kernel is not proved) is printed. `cross_check.py build/release/glove-verify 10000` is the long run.
"""

import os
import random
import re
import subprocess
import sys
import tempfile

CELLS = 4
IN_FILE = 100


def random_program(rng, warps):
    """Per warp a list of operations: (kind, cell or barrier, count, condition)."""
    full = 32 * warps
    shape = rng.choice(["full", "full", "named", "mixed"])
    tidy = rng.choice([0.0, 0.9, 1.0])  # how often a warp keeps to its own cell
    programs = [[] for _ in range(warps)]
    for _ in range(rng.randint(2, 5)):
        cells = rng.sample(range(CELLS), CELLS)
        for warp, program in enumerate(programs):
            for _ in range(rng.randint(0, 2)):
                kind = rng.choice(["st", "st", "ld", "add", "win" if tidy < 1 else "add"])
                cell = cells[warp] if rng.random() < tidy else rng.randrange(CELLS)
                program.append((kind, cell, 0, rng.choice([None, None, None, "shared", "own"])))
        condition = rng.choice([None, None, None, "shared"])
        if rng.random() < (0.95 if tidy else 0.75):
            barrier = 0 if shape == "full" else rng.randint(0, 2)
            for program in programs:
                kind = "sync" if shape == "full" or rng.random() < 0.6 else "arrive"
                if rng.random() < (0.97 if shape == "full" else 0.9):
                    program.append((kind, barrier, full, condition))
    return programs


def ptx_of(name, programs):
    """One lane per warp works; parameter 0 is the shared condition, 1 points to each warp's own."""
    lines = [f".visible .entry {name}(.param .u32 {name}_0, .param .u64 {name}_1)", f".maxntid {32 * len(programs)}, 1, 1", "{",
             ".reg .pred %p<9>;", ".reg .b32 %r<19>;", ".reg .b64 %rd<9>;", f".shared .align 4 .b8 cells_{name}[{4 * CELLS}];",
             f"ld.param.u32 %r1, [{name}_0];", f"ld.param.u64 %rd1, [{name}_1];", "mov.u32 %r2, %tid.x;",
             "shr.u32 %r3, %r2, 5;", "and.b32 %r4, %r2, 31;", "setp.ne.u32 %p1, %r1, 0;", "mul.wide.u32 %rd2, %r3, 4;",
             "add.s64 %rd3, %rd1, %rd2;", "ld.global.nc.u32 %r5, [%rd3];", "setp.ne.u32 %p2, %r5, 0;",
             "setp.eq.u32 %p3, %r4, 0;"]
    for cell in range(CELLS):
        lines += ["setp.eq.u32 %p4, %r2, 0;", f"@%p4 st.shared.u32 [cells_{name}+{4 * cell}], 0;"]
    lines.append("bar.sync 0;")
    for warp in range(len(programs)):
        lines += [f"setp.eq.u32 %p5, %r3, {warp};", f"@%p5 bra W{warp};"]
    lines.append("ret;")
    for warp, program in enumerate(programs):
        lines.append(f"W{warp}:")
        for at, (kind, where, count, condition) in enumerate(program):
            label = f"L{warp}_{at}"
            if condition:
                lines.append(f"@!{'%p1' if condition == 'shared' else '%p2'} bra {label};")
            if kind in ("sync", "arrive"):
                lines.append(f"bar.{kind} {where}, {count};")
            else:
                cell = f"[cells_{name}+{4 * where}]"
                lines.append(f"@!%p3 bra {label};")
                if kind == "st":
                    lines.append(f"st.shared.u32 {cell}, {warp + 1};")
                elif kind == "ld":
                    lines.append(f"ld.shared.u32 %r6, {cell};")
                elif kind == "add":
                    lines.append(f"atom.shared.add.u32 %r7, {cell}, 1;")
                else:  # who draws 0 stores to the next cell
                    lines += [f"atom.shared.add.u32 %r8, {cell}, 1;", "setp.ne.u32 %p6, %r8, 0;", f"@%p6 bra {label};",
                              f"st.shared.u32 [cells_{name}+{4 * ((where + 1) % CELLS)}], 9;"]
            lines.append(f"{label}:")
        lines.append("ret;")
    return "\n".join(lines + ["}", ""])


def steps_of(programs, shared, own):
    """The operations that run for these values of the conditions; "win" is an addition and then a store."""
    result = []
    for warp, program in enumerate(programs):
        steps = []
        for kind, where, count, condition in program:
            if (condition == "shared" and not shared) or (condition == "own" and not own >> warp & 1):
                continue
            steps.append((kind, where, count))
            if kind == "win":
                steps.append(("won", (where + 1) % CELLS, 0))
        result.append(steps)
    return result


def conflict(a, b):
    return a[1] == b[1] and (a[0] in ("st", "won") or b[0] in ("st", "won") or
                             {a[0], b[0]} in ({"ld", "add"}, {"ld", "win"}))


def wrong(steps):
    """Whether some schedule has a race, a deadlock or too many arrivals."""
    warps = len(steps)
    # place of each warp, whether it waits, arrivals by barrier, cells, what each warp's last addition returned
    start = ((0,) * warps, (-1,) * warps, ((),) * 3, (0,) * CELLS, (0,) * warps)
    seen, todo = {start}, [start]

    def skip(place, warp, drawn):  # past stores of those who did not win
        while place < len(steps[warp]) and steps[warp][place][0] == "won" and drawn != 0:
            place += 1
        return place

    while todo:
        places, waits, arrived, cells, drawn = todo.pop()
        ready = [w for w in range(warps) if waits[w] < 0 and places[w] < len(steps[w])]
        if not ready:
            if any(w >= 0 for w in waits):
                return "deadlock"
            continue
        memory = [(w, steps[w][places[w]]) for w in ready if steps[w][places[w]][0] not in ("sync", "arrive")]
        for i, (_, a) in enumerate(memory):
            for _, b in memory[i + 1:]:
                if conflict(a, b):
                    return "race"
        for w in ready:
            kind, where, count = steps[w][places[w]]
            p, t, a, c, d = list(places), list(waits), list(arrived), list(cells), list(drawn)
            if kind in ("sync", "arrive"):
                if w in a[where]:
                    return "recycling"
                a[where] = tuple(sorted(a[where] + (w,)))
                if kind == "sync":
                    t[w] = where
                else:
                    p[w] = skip(p[w] + 1, w, d[w])
                if 32 * len(a[where]) == count:
                    a[where] = ()
                    for other in range(warps):
                        if t[other] == where:
                            t[other] = -1
                            p[other] = skip(p[other] + 1, other, d[other])
            else:
                if kind in ("add", "win"):
                    if kind == "win":
                        d[w] = c[where]
                    c[where] += 1
                elif kind != "ld":
                    c[where] = w + 1 if kind == "st" else 9
                p[w] = skip(p[w] + 1, w, d[w])
            state = (tuple(p), tuple(t), tuple(a), tuple(c), tuple(d))
            if state not in seen:
                seen.add(state)
                todo.append(state)
    return None


def enumerated(programs):
    for shared in (False, True):
        for own in range(2 ** len(programs)):
            if found := wrong(steps_of(programs, shared, own)):
                return found
    return None


def main(program, count, seed=None):
    seed = seed or os.environ.get("GLOVE_TEST_SEED") or str(random.randrange(1 << 32))
    rng = random.Random(int(seed))
    right = alarms = defects = bad = 0
    for first in range(0, int(count), IN_FILE):
        kernels = [random_program(rng, rng.choice([2, 2, 2, 3, 3, 4])) for _ in range(min(IN_FILE, int(count) - first))]
        with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
            file.write(".version 8.0\n.target sm_90\n.address_size 64\n")
            file.write("\n".join(ptx_of(f"k{i}", k) for i, k in enumerate(kernels)))
            file.flush()
            output = subprocess.run([program, "--allow-undefined", file.name], capture_output=True, text=True).stdout
        verdicts = dict(re.findall(r"^(k\d+): (proved|DEFECT|could not prove|unsupported) \(", output, re.M))
        for i, kernel in enumerate(kernels):
            verdict, found = verdicts.get(f"k{i}"), enumerated(kernel)
            right += found is None
            defects += found is not None
            alarms += found is None and verdict != "proved"
            if verdict is None or (found and verdict == "proved"):
                bad += 1
                print(f"seed {seed}, kernel {first + i}: {verdict}, but some schedule has a {found}\n{ptx_of('k', kernel)}")
    print(f"seed {seed}: {count} kernels, {defects} with a defect in some schedule, {bad} of them called proved or without a "
          f"verdict; {alarms} of the {right} others not proved ({100 * alarms / max(right, 1):.1f} % false alarms)")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
