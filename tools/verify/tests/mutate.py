"""Breaks a kernel in PTX on purpose, one instruction at a time: used by mutants.py and bench/weft_mutants.py.

A mutant is named by its operator and its number, which counts the places of the operator in the order of the code, from 0:

    barrier   leaves a barrier out                     fence     leaves a fence out
    id        uses the next barrier                    syncwarp  leaves a __syncwarp out
    count     waits for 32 threads more or fewer       atomic    turns an atomic into a load and a store
    kind      bar.sync -> bar.arrive, or the reverse   index     shifts a shared access, or a store to global memory, by its size
    wait      leaves a wait for copies or products out group     waits for one group less
    commit    does not close a group                   copy      shifts the destination of a copy by its size

Numbers of barriers and threads may be registers: then an instruction before the barrier computes the changed number.
"""

import re

INSTRUCTION = re.compile(r"^(?P<guard>\s*(?:@!?%?\w+\s+)?)(?P<name>[a-z][\w.:]*)\s+(?P<operands>[^;]*);(?P<rest>.*)$")
BARE = re.compile(r"^(?P<guard>\s*(?:@!?%?\w+\s+)?)(?P<name>[a-z][\w.:]*)(?P<operands>)\s*;(?P<rest>.*)$")
BYTES = {"8": 1, "16": 2, "32": 4, "64": 8, "128": 16}


def entries(text):
    """(what all kernels share, [(name, text of the entry)])"""
    lines = text.split("\n")
    shared, kernels, at = [], [], 0
    while at < len(lines):
        if ".entry" not in lines[at]:
            shared.append(lines[at])
            at += 1
            continue
        end = next(i for i in range(at, len(lines)) if lines[i].startswith("}")) + 1
        kernels.append((re.search(r"\.entry (\w+)", lines[at])[1], "\n".join(lines[at:end])))
        at = end
    return "\n".join(shared), kernels


def numbers(operand, change):
    """(instructions that compute it, the changed operand) of a barrier's number or count."""
    if operand.isdigit():
        return "", str(change(int(operand)))
    return f"add.s32 %mutant, {operand}, {change(0)}; ", "%mutant"


def mutate_barrier(guard, name, operands, threads):
    """Mutants of bar.sync and its like, as (operator, instructions)."""
    word, kind = re.match(r"(bar|barrier)(?:\.cta)?\.(sync|arrive)", name).groups()
    parts = [part.strip() for part in operands.split(",")]
    suffix = "".join(f", {part}" for part in parts[1:])
    yield "barrier", ""
    before, operand = numbers(parts[0], lambda n: (n + 1) % 16)
    yield "id", f"{before}{guard}{name} {operand}{suffix};"
    if len(parts) == 2:
        before, operand = numbers(parts[1], lambda n: n - 32 if n > 32 else n + 32)
    else:
        before, operand = "", str(threads - 32 if threads > 32 else threads + 32)
    yield "count", f"{before}{guard}{name} {parts[0]}, {operand};"
    other = name.replace(kind, "arrive" if kind == "sync" else "sync")
    yield "kind", f"{guard}{other} {parts[0]}, {parts[1] if len(parts) == 2 else threads};"


def mutate_atomic(guard, name, operands):
    """An atomic as a load and a store of its operand, which a race sees like the addition."""
    space = next((s for s in (".global", ".shared") if s in name), "")
    kind = re.search(r"\.([bsuf]\d+)$", name)[1]
    parts = [part.strip() for part in re.split(r",(?![^\[]*\])", operands)]
    if name.startswith("red"):
        return f"{guard}st{space}.{kind} {parts[0]}, {parts[1]};"
    kind = re.sub(r"f16x2|bf16x2", "b32", kind)
    return f"{guard}ld{space}.{kind} {parts[0]}, {parts[1]}; {guard}st{space}.{kind} {parts[1]}, {parts[-1]};"


def shifted(guard, name, operands):
    """An access with its address shifted by its size."""
    vector = int((re.search(r"\.v([248])\b", name) or [0, 1])[1])
    size = vector * BYTES[re.search(r"\.[bsuf](\d+)$", name)[1]]
    address = re.search(r"\[([^\]+]*)(?:\+(-?\d+))?\]", operands)
    moved = f"[{address[1].strip()}+{int(address[2] or 0) + size}]"
    return f"{guard}{name} {operands[:address.start()]}{moved}{operands[address.end():]};"


def mutants_of_line(line, threads):
    parts = INSTRUCTION.match(line) or BARE.match(line)
    if not parts:
        return
    guard, name, operands = parts["guard"], parts["name"], parts["operands"]
    if re.match(r"(bar|barrier)(\.cta)?\.(sync|arrive)\b", name):
        yield from mutate_barrier(guard, name, operands, threads)
    elif name.startswith("bar.warp.sync"):
        yield "syncwarp", ""
    elif re.match(r"(membar|fence)\b", name):
        yield "fence", ""
    elif re.match(r"(atom|red)\.(?!async)", name) and re.search(r"\.[bsuf]\d+$", name):
        yield "atomic", mutate_atomic(guard, name, operands)
    elif re.match(r"(cp\.async|wgmma)\.commit_group", name):
        yield "commit", ""
    elif re.match(r"(cp\.async|wgmma)\.wait_(group|all)", name):
        yield "wait", ""
        if operands:
            yield "group", f"{guard}{name} {int(operands) + 1};"
    elif re.match(r"cp\.async\.c[ag]\.shared", name):
        to = re.match(r"\[([^\]+]*)(?:\+(-?\d+))?\], \[[^\]]*\], (\d+)", operands)
        moved = f"[{to[1].strip()}+{int(to[2] or 0) + int(to[3])}]"
        yield "copy", f"{guard}{name} {moved}{operands[operands.index(']') + 1:]};"
    elif re.match(r"(ld|st)(\.volatile|\.relaxed\.\w+)?\.shared|st(\.\w+)*\.global|st\.[bsuvf]", name):
        if re.search(r"\.[bsuf]\d+$", name):
            yield "index", shifted(guard, name, operands)


def mutants(entry, threads):
    """(operator, number, the entry with one instruction changed) for all mutants, in the order of the code."""
    lines = entry.split("\n")
    body = next(i for i, line in enumerate(lines) if line.startswith("{"))
    counts = {}
    for at in range(body + 1, len(lines)):
        for operator, changed in mutants_of_line(lines[at], threads):
            number = counts.get(operator, 0)
            counts[operator] = number + 1
            head = lines[:body + 1] + [".reg .b32 %mutant;"] if "%mutant" in changed else lines[:body + 1]
            yield operator, number, "\n".join(head + lines[body + 1:at] + [changed] + lines[at + 1:])


def evenly(items, most):
    """At most so many of the items, evenly spread."""
    if most <= 0 or len(items) <= most:
        return items
    return [items[i * len(items) // most] for i in range(most)]
