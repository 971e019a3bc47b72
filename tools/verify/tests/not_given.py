"""Checks that what nobody gave is no defect: not_given.py PROGRAM FOLDER

Each kernel of CASES is wrong for some blocks or parameters. Where the command line does not say which it gets, it is not proved,
and the message names what is to be given, or data for which it goes wrong. What a launch file assumes of it can be enough, and then the proof says so. The last cases are
without Z3, or for all grids.
"""

import os
import subprocess
import sys

HEAD = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n) .maxntid 64, 1, 1
{
.reg .pred %p<5>;
.reg .b32 %r<5>;
.reg .b64 %rd<5>;
.shared .align 4 .b8 tile[256];
mov.u32 %r1, %tid.x;
ld.param.u32 %r2, [n];
setp.ne.u32 %p1, %r2, 7;
setp.eq.u32 %p2, %r1, 0;
"""
ROWS = """mov.u32 %r3, %tid.y;
and.b32 %r1, %r1, 31;
mad.lo.u32 %r1, %r3, 32, %r1;
shl.b32 %r1, %r1, 2;
mov.u32 %r4, tile;
add.u32 %r4, %r4, %r1;
st.shared.u32 [%r4], %r3;
ret;
}
"""
BARRIER = """setp.lt.u32 %p3, %r1, 32;
@%p1 bra JOIN;
@%p3 bra PAST;
JOIN:
bar.sync 0;
PAST:
st.shared.u32 [tile], 0;
ret;
}
"""
SHUFFLE = """@%p1 bra END;
@%p2 bra WAIT;
shfl.sync.idx.b32 %r3, %r1, 0, 31, -1;
bra.uni END;
WAIT:
bar.sync 0;
END:
ret;
}
"""
# Two rows of n numbers; each block writes 64 of both.
WIDTH = """ld.param.u64 %rd1, [p];
mov.u32 %r3, %ctaid.x;
mad.lo.u32 %r1, %r3, 64, %r1;
mul.wide.s32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
st.global.u32 [%rd1], %r1;
mul.wide.s32 %rd2, %r2, 4;
add.s64 %rd1, %rd1, %rd2;
st.global.u32 [%rd1], %r1;
ret;
}
"""
# A place that the data decide, in a way that is not followed.
BITS = """ld.param.u64 %rd1, [p];
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd1, %rd1, %rd2;
ld.global.u32 %r3, [%rd1];
popc.b32 %r3, %r3;
and.b32 %r3, %r3, 63;
shl.b32 %r3, %r3, 2;
mov.u32 %r4, tile;
add.u32 %r4, %r4, %r3;
st.shared.u32 [%r4], %r1;
ret;
}
"""
# A byte is the same whether it is loaded alone or in a word.
BYTE = """ld.param.u64 %rd1, [p];
ld.global.u32 %r3, [%rd1];
ld.global.u8 %r4, [%rd1+1];
shr.u32 %r3, %r3, 8;
setp.eq.u32 %p3, %r3, %r4;
@%p3 bra END;
st.shared.u32 [tile], %r1;
END:
ret;
}
"""
# Threads below a number write as far apart as another says; both are fields of a struct.
FIELDS = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .align 8 .b8 s[24]) .maxntid 64, 1, 1
{
.reg .pred %p<2>;
.reg .b32 %r<3>;
.reg .b64 %rd<5>;
mov.b64 %rd3, s;
mov.u32 %r1, %tid.x;
ld.param.u64 %rd1, [s];
add.s64 %rd4, %rd3, 16;
ld.param.u64 %rd2, [%rd4+-8];
ld.param.u32 %r2, [s+16];
setp.ge.u32 %p1, %r1, %r2;
@%p1 bra END;
cvt.u64.u32 %rd4, %r1;
mad.lo.s64 %rd1, %rd4, %rd2, %rd1;
st.global.u32 [%rd1], %r1;
END:
ret;
}
"""
# A loop around a barrier, which one number lets the block skip and another ends.
ROUNDS = """ld.param.u32 %r3, [p];
setp.eq.u32 %p1, %r3, 0;
mov.u32 %r4, 0;
AGAIN:
@%p1 bra NEXT;
bar.sync 0;
NEXT:
add.u32 %r4, %r4, 1;
setp.lt.u32 %p3, %r4, %r2;
@%p3 bra AGAIN;
ret;
}
"""
FIELD = "parameter 0+8 (offset 8, u64)"
PARAMETER = "parameter 1 (offset 8, u32)"
LAUNCH = "[[launch]]\nkernel = 'k'\ngrid = %s\nparameters = [{ index = 1, s32 = 'w' }]\nassume = %r\n"
ASSUMED = "  assumed: %s, as the launch declares\n"
# (kernel, options, exit status, what the output says)
CASES = [
    (ROWS, [], 2, "give its shape with --block"),
    (ROWS, ["--block", "64"], 1, "; the block has one row, and the kernel reads threadIdx.y"),
    (ROWS, ["--block", "16,2"], 0, "proved"),
    (BARRIER, ["--allow", "race-of-equal-values", "--param", "1=7", "--block", "48"], 1,
     "; the block has 48 threads, and the source is compiled for up to 64"),
    (WIDTH, ["--block", "32,2", "--grid", "2", "--every-grid", "--param", "1=32"], 1,
     "thread (0, 1) of block 0 and write by thread (0, 0) of block 0"),
    (WIDTH, ["--block", "32,2", "--grid", "2", "--every-grid", "--param", "1=32"], 1,
     "grid 2 alone, as none was found for every grid"),
    (ROWS, ["--block", "32,2"], 0, "proved"),
    (BARRIER, ["--allow", "race-of-equal-values"], 2, PARAMETER),
    (BARRIER, ["--allow", "race-of-equal-values", "--param", "1=7"], 1, "gone past the barrier"),
    (BARRIER, ["--allow", "race-of-equal-values", "--param", "1=6"], 0, "proved"),
    (SHUFFLE, [], 2, PARAMETER),
    (SHUFFLE, ["--param", "1=7"], 1, "do not come to 'shfl.sync.idx.b32' together"),
    (SHUFFLE, ["--param", "1=6"], 0, "proved"),
    (WIDTH, ["--grid", "2"], 2, PARAMETER),
    (ROUNDS, [], 2, "parameter 0 (offset 0, u32) and " + PARAMETER),
    (FIELDS, [], 2, FIELD + " and parameter 0+16 (offset 16, u32)"),
    (FIELDS, ["--param", "0+8=4", "--param", "0+16=9"], 0, "proved"),
    (FIELDS, ["--param", "0+8=4u32", "--param", "0+16=9"], 2, FIELD),
    (FIELDS, ["--param", "0+16=4294967296"], 4, "correct the offset or the type"),
    (BITS, [], 2, ". --data 1 shows PTX line"),
    (BITS, ["--data", "1"], 1, "race (definite)"),
    (BYTE, ["--data", "1"], 0, "no defect found"),
]
# (kernel, grid, what is assumed, options, exit status, what the output says)
RELATIONS = [
    (WIDTH, 2, "w >= 128", ["--no-solver"], 0, ASSUMED % "w >= 128"),
    (WIDTH, 2, "w >= 64 * grid_x", ["--no-solver"], 0, ASSUMED % "w >= 64 * grid_x"),
    (WIDTH, 2, "block_x * grid_x <= w", ["--no-solver"], 0, ASSUMED % "block_x * grid_x <= w"),
    (WIDTH, 2, "w > 64 * grid_x - 1", ["--no-solver"], 0, ASSUMED % "w > 64 * grid_x - 1"),
    (WIDTH, 2, "w == 128", ["--no-solver"], 0, ASSUMED % "w == 128"),
    (WIDTH, 2, "w + 128 <= 0", ["--no-solver"], 0, ASSUMED % "w + 128 <= 0"),
    (WIDTH, 2, "w >= 127", [], 2, PARAMETER),
    (WIDTH, 2, "w != 128", [], 2, PARAMETER),
    (WIDTH, 2, "w >= 63 * grid_x", [], 2, PARAMETER),
    (BARRIER, 2, "w == 6", ["--allow", "race-of-equal-values", "--shared-only"], 0, ASSUMED % "w == 6"),
    (BARRIER, 2, "w == 7", ["--allow", "race-of-equal-values", "--shared-only"], 1, "gone past the barrier"),
]
SOLVED = [
    (WIDTH, 60, "w >= 64 * grid_x", [], 0, "for all grids"),
    (WIDTH, 60, "w >= 64 * grid_x", [], 0, ASSUMED % "w >= 64 * grid_x"),
    (WIDTH, 60, "w >= grid_x * grid_x", [], 2, PARAMETER),
]


def main(program, folder, solver):
    os.makedirs(folder, exist_ok=True)
    ptx = os.path.join(folder, "not_given.ptx")
    launches = os.path.join(folder, "not_given.launch.toml")
    bad = 0
    cases = list(CASES)
    for body, grid, assumed, options, status, says in RELATIONS + (SOLVED if solver == "1" else []):
        cases.append((body, [*options, "--launch", LAUNCH % (grid, assumed)], status, says))
    for body, options, status, says in cases:
        with open(ptx, "w", encoding="utf-8") as file:
            file.write(body if body.startswith(".version") else HEAD + body)
        if options[-2:-1] == ["--launch"]:
            with open(launches, "w", encoding="utf-8") as file:
                file.write(options[-1])
            options = [*options[:-1], launches]
        result = subprocess.run([program, *options, ptx], capture_output=True, text=True)
        output = result.stdout + result.stderr
        if result.returncode != status or says not in output:
            bad += 1
            print(f"{options}: status {result.returncode}, wanted {status} and {says!r}\n{body}{output}")
    print(f"{len(cases)} cases, {bad} wrong")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
