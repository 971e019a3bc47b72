"""Kernels that are long, deep, or full of memory: deep.py PROGRAM

Each is generated: loops of a million rounds, chains of conditions, and branches inside each other. The program must come to the
verdict that is listed behind the kernel, or to its time limit: no signal, no hang, no stack that overflows.
"""

import subprocess
import sys
import tempfile

HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry deep(.param .u64 in, .param .u64 out) .maxntid 32
{
.reg .pred %p<10>;
.reg .b32 %r<10>;
.reg .b64 %rd<10>;
ld.param.u64 %rd1, [in];
ld.param.u64 %rd2, [out];
mov.u32 %r9, %tid.x;
mov.u32 %r3, 0;
mul.wide.u32 %rd3, %r9, 4;
add.u64 %rd2, %rd2, %rd3;
setp.eq.u32 %p2, %r3, 0;
"""
TIME_LIMIT = 2  # seconds


def loop(rounds, body, behind):
    """A kernel that runs `body` so many times, with data in %r1 that are new in every round."""
    return (f"{HEAD}LOOP:\nld.global.u32 %r1, [%rd1];\nadd.u64 %rd1, %rd1, 4;\n{body}add.u32 %r3, %r3, 1;\n"
            f"setp.lt.u32 %p3, %r3, {rounds};\n@%p3 bra LOOP;\n{behind}ret;\n}}\n")


def branches(count, label, tail):
    """Branches that the data decide, the i-th to label(i)."""
    tests = "".join(f"ld.global.u32 %r1, [%rd1+{4 * i}];\nsetp.eq.s32 %p1, %r1, 7;\n@%p1 bra {label(i)};\n"
                    for i in range(count))
    return f"{HEAD}{tests}st.global.u32 [%rd2], %r1;\n{tail}ret;\n}}\n"


def kernels():
    store = "st.global.u32 [%rd2], %r3;\n"
    yield "a loop of a million rounds", {0, 2}, loop(1000000, "", store)
    yield "a million places in memory", {0, 2}, loop(1000000, store + "add.u64 %rd2, %rd2, 128;\n", "")
    yield "a million branches", {0, 2}, loop(
        1000000, "setp.eq.s32 %p1, %r1, 7;\n@%p1 bra NEXT;\nadd.s32 %r4, %r4, %r1;\nNEXT:\n", store)
    yield "a long conjunction", {0, 2}, loop(
        60000, "setp.eq.s32 %p1, %r1, 7;\nand.pred %p2, %p2, %p1;\n", "@%p2 " + store + "@!%p2 bra END;\n" + store + "END:\n")
    yield "a long chain of selections", {0, 2}, loop(
        60000, "selp.u32 %r5, 1, %r1, %p2;\nsetp.eq.u32 %p2, %r5, 1;\n", "@%p2 " + store)
    yield "branches behind each other", {0, 2}, branches(5000, lambda i: "END", "END:\n")
    count = 3000
    yield "branches inside each other", {2}, branches(
        count, lambda i: f"L{i}", "".join(f"L{i}:\nadd.s32 %r2, %r2, %r1;\n{store}" for i in reversed(range(count))))
    yield "scopes inside each other", {0}, HEAD + "{" * 300000 + "}" * 300000 + "ret;\n}\n"
    yield "more registers than there can be", {4}, HEAD.replace("%r<10>", "%r<4294967296>") + "ret;\n}\n"
    yield "scopes without an end", {4}, HEAD + "{" * 300000


def main(program):
    bad = 0
    for name, statuses, source in kernels():
        with tempfile.NamedTemporaryFile("w", suffix=".ptx", encoding="utf-8") as file:
            file.write(source)
            file.flush()
            try:
                result = subprocess.run([program, "--time-limit", str(TIME_LIMIT), file.name], capture_output=True,
                                        text=True, timeout=100)
                status, output = result.returncode, (result.stdout + result.stderr)[:2000]
            except subprocess.TimeoutExpired:
                status, output = "no end", ""
        print(f"{name}: exit status {status}")
        if status not in statuses:
            bad += 1
            print(f"should be one of {sorted(statuses)}\n{output}")
    print(f"{bad} wrong")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
