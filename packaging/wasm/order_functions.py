#!/usr/bin/env python3
"""order_functions.py MODULE: reorders the functions of a WebAssembly module so that similar ones lie together.

gzip finds repetitions in the last 32 KB alone, and a linker does not look for them. Nothing else changes: the functions have the same
instructions, and each reference has the new number. The order depends on the module alone.
"""
import collections
import gzip
import heapq
import sys

FUNCTIONS, EXPORTS, START, ELEMENTS, CODE = 3, 7, 8, 9, 10
IMPORTS, CUSTOM = 2, 0
CALL, CALL_INDIRECT, BR_TABLE, SELECT_TYPED, REF_FUNC = 0x10, 0x11, 0x0E, 0x1C, 0xD2

# A function is compared with what gzip's window has of those before it, by how many runs of bytes that begin with an instruction
# both have. Runs that more functions have say little, and would take most of the time.
WINDOW, RUN, MOST_FUNCTIONS = 31_000, 8, 64
# These many functions that are named most come first, where a reference to them is a byte shorter.
SHORT = 128

# How many LEB128 numbers follow an opcode; the block types of block, loop, if and try are such numbers, too.
NUMBERS = {code: 1 for code in (0x02, 0x03, 0x04, 0x06, 0x07, 0x08, 0x09, 0x0C, 0x0D, 0x18, *range(0x20, 0x27), 0x3F, 0x40, 0x41,
                                0x42, 0xD0)}
NUMBERS |= {code: 2 for code in (CALL_INDIRECT, *range(0x28, 0x3F))}
NUMBERS |= {code: 0 for code in (0x00, 0x01, 0x05, 0x0B, 0x0F, 0x19, 0x1A, 0x1B, 0xD1, *range(0x45, 0xC5))}
# After the prefix 0xFC: of memories and tables.
BULK_NUMBERS = {**{code: 0 for code in range(8)}, 8: 2, 9: 1, 10: 2, 11: 1, 12: 2, 13: 1, 14: 2, 15: 1, 16: 1, 17: 1}


def read_number(data, at):
    """Returns an unsigned LEB128 number and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def skip_numbers(data, at, count):
    for _ in range(count):
        while data[at] >= 0x80:
            at += 1
        at += 1
    return at


def number(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def skip_vector_instruction(data, at):
    """Skips an instruction of SIMD128 after its prefix 0xFD."""
    code, at = read_number(data, at)
    if code in (12, 13):  # v128.const, i8x16.shuffle
        return at + 16
    if 21 <= code <= 34:  # lanes
        return at + 1
    if code <= 11 or code in (92, 93):  # loads and stores
        return skip_numbers(data, at, 2)
    if 84 <= code <= 91:  # of lanes
        return skip_numbers(data, at, 2) + 1
    return at


def skip_instruction(data, at):
    """Returns where the instruction at `at`, which refers to no function, ends."""
    code = data[at]
    at += 1
    if code in NUMBERS:
        return skip_numbers(data, at, NUMBERS[code])
    if code == 0x43:  # f32.const
        return at + 4
    if code == 0x44:  # f64.const
        return at + 8
    if code == 0xFD:
        return skip_vector_instruction(data, at)
    if code == 0xFC:
        code, at = read_number(data, at)
        return skip_numbers(data, at, BULK_NUMBERS[code])
    if code == BR_TABLE:
        count, at = read_number(data, at)
        return skip_numbers(data, at, count + 1)
    if code == SELECT_TYPED:
        count, at = read_number(data, at)
        return skip_numbers(data, at, count)
    raise ValueError(f"opcode {code:#x} is not known")


class Function:
    """A function: its locals, its instructions between the numbers of functions that they name, and its runs of bytes."""

    def __init__(self, kind, body):
        self.kind = kind
        count, at = read_number(body, 0)
        at = skip_numbers(body, at, 2 * count)
        self.local = body[:at]
        self.pieces, self.named = [], []
        starts, start, skipped = [], at, at
        while at < len(body):
            starts.append(at - skipped)
            if body[at] in (CALL, REF_FUNC):
                self.pieces.append(body[start:at + 1])
                index, end = read_number(body, at + 1)
                self.named.append(index)
                skipped += end - at - 1
                start = at = end
            else:
                at = skip_instruction(body, at)
        if at != len(body) or body[-1] != 0x0B:
            raise ValueError("a function does not end where it should")
        self.pieces.append(body[start:])
        self.code = b"".join(self.pieces)
        self.runs = sorted({self.code[at:at + RUN] for at in starts})

    def key(self):
        return self.code, self.local, self.kind

    def body(self, renumber):
        out = bytearray(self.local)
        for piece, index in zip(self.pieces, self.named):
            out += piece + number(renumber(index))
        return bytes(out + self.pieces[-1])


class Order:
    """Puts functions in order, each after those that have most in common with it."""

    def __init__(self, functions):
        self.functions = functions
        self.order = []
        self.holders = collections.defaultdict(list)  # of a run: the functions that have it
        for i, function in enumerate(functions):
            for run in function.runs:
                self.holders[run].append(i)
        for function in functions:
            function.runs = [run for run in function.runs if 2 <= len(self.holders[run]) <= MOST_FUNCTIONS]
        self.placed = [False] * len(functions)
        self.common = [0] * len(functions)  # runs that are in the window
        self.window, self.window_bytes, self.in_window = collections.deque(), 0, collections.Counter()
        self.best = []  # a heap of (-share, function); shares that have since fallen are corrected when they are first

    def share(self, i):
        return -self.common[i] / (len(self.functions[i].code) + RUN)

    def append(self, i):
        self.placed[i] = True
        self.order.append(i)
        changed = set()
        for run in self.functions[i].runs:
            self.in_window[run] += 1
            if self.in_window[run] == 1:
                changed.update(self.holders[run])
                for holder in self.holders[run]:
                    self.common[holder] += 1
        for holder in changed:
            if not self.placed[holder]:
                heapq.heappush(self.best, (self.share(holder), holder))
        self.window.append(i)
        self.window_bytes += len(self.functions[i].code)
        while self.window_bytes > WINDOW:
            self.forget(self.window.popleft())

    def forget(self, i):
        self.window_bytes -= len(self.functions[i].code)
        for run in self.functions[i].runs:
            self.in_window[run] -= 1
            if self.in_window[run] == 0:
                for holder in self.holders[run]:
                    self.common[holder] -= 1

    def nearest(self):
        """Returns the function that has most in common with the window, or None if none has anything."""
        while self.best:
            share, i = heapq.heappop(self.best)
            if self.placed[i] or self.common[i] == 0:
                continue
            if self.share(i) == share:
                return i
            heapq.heappush(self.best, (self.share(i), i))
        return None

    def run(self, first):
        for i in first:
            self.append(i)
        for i in sorted(range(len(self.functions)), key=lambda i: self.functions[i].key()):
            while (near := self.nearest()) is not None:
                self.append(near)
            if not self.placed[i]:
                self.append(i)
        return self.order


def sections_of(module):
    if module[:8] != b"\0asm\1\0\0\0":
        raise ValueError("not a WebAssembly module")
    at, found = 8, []
    while at < len(module):
        size, start = read_number(module, at + 1)
        found.append((module[at], module[start:start + size]))
        at = start + size
    return found


def imported_functions(section):
    count, at = read_number(section, 0)
    functions = 0
    for _ in range(count):
        for _ in range(2):
            size, at = read_number(section, at)
            at += size
        kind = section[at]
        at += 1
        if kind in (0, 4):  # a function; an exception's tag has one byte more
            functions += kind == 0
            at = skip_numbers(section, at, 1 if kind == 0 else 2)
        elif kind == 3:  # a global
            at += 2
        else:  # a table has its type before its limits
            at += kind == 1
            at = skip_numbers(section, at + 1, 1 + (section[at] & 1))
    return functions


def renumbered_exports(section, renumber):
    count, at = read_number(section, 0)
    out = bytearray(number(count))
    for _ in range(count):
        size, start = read_number(section, at)
        kind = section[start + size]
        index, end = read_number(section, start + size + 1)
        out += section[at:start + size + 1] + number(renumber(index) if kind == 0 else index)
        at = end
    return bytes(out)


def renumbered_elements(section, renumber):
    count, at = read_number(section, 0)
    out = bytearray(number(count))
    for _ in range(count):
        start = at
        if section[at] != 0:
            raise ValueError("an element segment has a form that is not known")
        at += 1
        while section[at] != 0x0B:
            at = skip_instruction(section, at)
        functions, end = read_number(section, at + 1)
        out += section[start:end]
        at = end
        for _ in range(functions):
            index, at = read_number(section, at)
            out += number(renumber(index))
    return bytes(out)


def read_functions(kinds, code):
    count, at = read_number(code, 0)
    _, kind_at = read_number(kinds, 0)
    functions = []
    for _ in range(count):
        size, at = read_number(code, at)
        kind, kind_at = read_number(kinds, kind_at)
        functions.append(Function(kind, code[at:at + size]))
        at += size
    return functions


def reorder(module):
    """Returns the module with its functions in their new order."""
    sections = sections_of(module)
    by_id = dict(sections)
    imported = imported_functions(by_id[IMPORTS])
    functions = read_functions(by_id[FUNCTIONS], by_id[CODE])
    uses = collections.Counter(index - imported for function in functions for index in function.named if index >= imported)
    often = sorted(uses, key=lambda i: (-uses[i], i))[:max(0, SHORT - imported)]
    order = Order(functions).run(sorted(often, key=lambda i: functions[i].key()))
    place = {old + imported: new + imported for new, old in enumerate(order)}

    def renumber(index):
        return place.get(index, index)

    def bodies():
        for old in order:
            body = functions[old].body(renumber)
            yield number(len(body)) + body

    replaced = {FUNCTIONS: lambda _: number(len(order)) + b"".join(number(functions[old].kind) for old in order),
                EXPORTS: lambda old: renumbered_exports(old, renumber), ELEMENTS: lambda old: renumbered_elements(old, renumber),
                START: lambda old: number(renumber(read_number(old, 0)[0])),
                CODE: lambda _: number(len(order)) + b"".join(bodies())}
    out = bytearray(module[:8])
    for kind, content in sections:
        if kind == CUSTOM and content[1:5] == b"name":
            continue  # the numbers of functions in it would be wrong
        content = replaced.get(kind, lambda old: old)(content)
        out += bytes([kind]) + number(len(content)) + content
    return bytes(out)


def main():
    with open(sys.argv[1], "rb") as file:
        module = file.read()
    ordered = reorder(module)
    with open(sys.argv[1], "wb") as file:
        file.write(ordered)
    before, after = (len(gzip.compress(data, 9)) for data in (module, ordered))
    print(f"{sys.argv[1]}: {len(module):,} bytes, {before:,} gzipped; with its functions in order {len(ordered):,}, {after:,}")


if __name__ == "__main__":
    main()
