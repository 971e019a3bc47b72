"""Checks that what nobody gave is no defect: not_given.py PROGRAM FOLDER

Each kernel of CASES is wrong for some blocks or parameters. Where the command line does not say which it gets, it is not proved,
and the message names what is to be given.
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
PARAMETER = "parameter 1 (offset 8)"
# (kernel, options, exit status, what the output says)
CASES = [
    (ROWS, [], 2, "give its shape with --block"),
    (ROWS, ["--block", "64"], 1, "race"),
    (ROWS, ["--block", "32,2"], 0, "proved"),
    (BARRIER, ["--allow", "race-of-equal-values"], 2, PARAMETER),
    (BARRIER, ["--allow", "race-of-equal-values", "--param", "1=7"], 1, "gone past the barrier"),
    (BARRIER, ["--allow", "race-of-equal-values", "--param", "1=6"], 0, "proved"),
    (SHUFFLE, [], 2, PARAMETER),
    (SHUFFLE, ["--param", "1=7"], 1, "do not come to 'shfl.sync.idx.b32' together"),
    (SHUFFLE, ["--param", "1=6"], 0, "proved"),
]


def main(program, folder):
    os.makedirs(folder, exist_ok=True)
    ptx = os.path.join(folder, "not_given.ptx")
    bad = 0
    for body, options, status, says in CASES:
        with open(ptx, "w", encoding="utf-8") as file:
            file.write(HEAD + body)
        result = subprocess.run([program, *options, ptx], capture_output=True, text=True)
        output = result.stdout + result.stderr
        if result.returncode != status or says not in output:
            bad += 1
            print(f"{options}: status {result.returncode}, wanted {status} and {says!r}\n{body}{output}")
    print(f"{len(CASES)} cases, {bad} wrong")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
