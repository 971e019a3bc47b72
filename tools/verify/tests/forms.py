"""Checks what glove-verify says of instructions in odd forms: forms.py PROGRAM FOLDER

Each kernel of CASES must end with its exit status and a message that the pattern matches, at the last line of the kernel where a
line is named. Instructions that lack operands, predicates where numbers belong, numbers at the limits of their types,
results that are not registers, registers that nobody has written, and what is not modelled.
"""

import os
import re
import subprocess
import sys

HEAD = """.version 9.0
.target sm_90
.address_size 64
.const .align 4 .b8 numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
.visible .entry k(.param .u64 p)
{
.reg .pred %p<5>;
.reg .b32 %r<5>;
.reg .f32 %f<5>;
.reg .b64 %rd<5>;
.reg .b128 %q<2>;
.shared .align 4 .b8 few[4];
ld.param.u64 %rd1, [p];
ld.global.u32 %r1, [%rd1];
ld.global.u64 %rd2, [%rd1+8];
setp.eq.u32 %p1, %r1, 0;
"""
TAIL = """
ret;
}
"""
PROVED, DEFECT, UNPROVED, UNSUPPORTED, REFUSED = range(5)
OUTSIDE = "@%p2 st.shared.u32 [few+4], 0;"
# (what follows HEAD, the exit status, what the output says)
CASES = [
    # Too few operands, too many, or no address.
    ("shfl.sync.idx.b32 ;", UNSUPPORTED, "'shfl.sync.idx.b32': a form with 0 results and 0 operands"),
    ("shfl.sync.idx.b32 %r2, %r1, 0;", UNSUPPORTED, "a form with 1 results and 2 operands"),
    ("redux.sync.add.u32 ;", UNSUPPORTED, "a form with 0 results and 0 operands"),
    ("vote.sync.any.pred %p2;", UNSUPPORTED, "a form with 1 results and 0 operands"),
    ("mov.b64 {}, {%r1, %r2};", UNSUPPORTED, "a form with 0 results and 2 operands"),
    ("add.u32 %r2, %r1;", UNSUPPORTED, "a form with 1 results and 1 operands"),
    ("add.u32 %r2, %r1, %r1, %r1;", UNSUPPORTED, "a form with 1 results and 3 operands"),
    ("min.f32 %f1, %f2, %f3, %f4;", UNSUPPORTED, "a form with 1 results and 3 operands"),
    ("setp.eq.and.u32 %p2, %r1, 0;", UNSUPPORTED, "a form with 1 results and 2 operands"),
    ("bar.sync ;", UNSUPPORTED, "a form with 0 results and 0 operands"),
    ("bar.arrive 1;", UNSUPPORTED, "a form with 0 results and 1 operands"),
    ("bar.warp.sync ;", UNSUPPORTED, "a form with 0 results and 0 operands"),
    ("atom.global.cas.b32 %r2, [%rd1], 0;", UNSUPPORTED, "a form with 1 results and 1 operands"),
    ("ld.global.u32 %r2, %rd1;", UNSUPPORTED, "'ld.global.u32': a form without an address"),
    ("and.pred %p2, _, %p1;", UNSUPPORTED, "a form with 1 results and 1 operands"),
    ("add %r2, %r1, %r1;", UNSUPPORTED, "'add': no type"),
    ("mov.u32 %r2, %ctaid.x, %r1;", UNSUPPORTED, "a form with 1 results and 2 operands"),
    ("mov.b64 %rd3, {%r1, %r1}, %r1;", UNSUPPORTED, "a form with 1 results and 3 operands"),
    ("mov.b64 %rd3, {%r1, %r1};\nmov.b64 {%r2, _}, %rd3;", PROVED, "proved"),
    ("ld.global.u32 %r2, [%rd1], %r1;", UNSUPPORTED, "a form with 1 results and 1 operands"),
    ("ld.global.L2::cache_hint.u32 %r2, [%rd1], %rd2;", PROVED, "proved"),
    ("st.global.u32 [%rd1], %r1, %rd2;", UNSUPPORTED, "a form with 0 results and 2 operands"),
    ("st.global.v2.u32 [%rd1], %r1, %r1;", UNSUPPORTED, "a form with 0 results and 2 operands"),
    ("atom.global.add.u32 %r2, [%rd1], %r1, %rd2;", UNSUPPORTED, "a form with 1 results and 2 operands"),
    # Results that are not registers.
    ("shl.b64 0x7f0000000000, %rd1, 2;", UNSUPPORTED, "'shl.b64': a result that is not a register"),
    ("add.s32 %laneid, %r1, 1;", UNSUPPORTED, "a result that is not a register"),
    ("ld.shared.u32 %tid.x, [few];", UNSUPPORTED, "a result that is not a register"),
    ("ld.global.u32 _, [%rd1];", PROVED, "proved"),
    # Registers that nobody has written, or not on every path.
    ("setp.ne.s32 %p3, %r4, 0;\n@%p3 st.shared.u32 [few], %laneid;", DEFECT, "race .*shared memory at 0"),
    ("@%p3 st.shared.u32 [few], %laneid;", DEFECT, "race .*shared memory at 0"),
    ("add.s64 %rd3, %rd4, 4;\nst.shared.u32 [%rd3], 0;", DEFECT, "race .*an address that is not known"),
    ("@%p1 mov.u32 %r2, 1;\nsetp.ne.u32 %p3, %r2, 1;\n@%p3 st.shared.u32 [few+4], 0;", UNPROVED, "shared memory at 4"),
    ("@%p1 mov.u32 %r2, 1;\n@!%p1 bra END;\nsetp.ne.u32 %p3, %r2, 1;\n@%p3 st.shared.u32 [few+4], 0;\nEND:", PROVED, "proved"),
    # Predicates and numbers.
    ("add.pred %p2, %p1, %p1;", UNSUPPORTED, "this operation has no form for predicates"),
    ("ld.global.pred %p2, [%rd1];", UNSUPPORTED, "no type of numbers"),
    ("mov.pred %p2, %clock;", REFUSED, "a predicate where a number belongs, or a number for a predicate"),
    ("vote.sync.any.pred %p2, %r1, -1;", REFUSED, "a predicate where a number belongs"),
    ("shfl.sync.idx.b32 %r2|%p2, %p1, 0, 31, -1;", REFUSED, "a predicate where a number belongs"),
    ("add.s64 %rd2, !%rd1, 1;", REFUSED, "'!' belongs to a predicate"),
    ("set.le.and.u32.u32 %r2, %r1, %r1, %p1;", PROVED, "proved"),
    # Numbers at the limits of their types.
    ("rem.u32 %r2, %r1, 0xc0000000;\nsetp.gt.u32 %p2, %r2, 0x3fffffff;\n" + OUTSIDE, UNPROVED, "shared memory at 4"),
    ("div.u32 %r2, %r1, 1;\nsetp.lt.s32 %p2, %r2, 0;\n" + OUTSIDE, UNPROVED, "shared memory at 4"),
    ("abs.s64 %rd3, 0x8000000000000000;\nsetp.lt.s64 %p2, %rd3, 0;\n" + OUTSIDE, DEFECT, "shared memory at 4"),
    ("xor.b64 %rd3, %rd2, 0x8000000000000000;", PROVED, "proved"),
    ("shl.b64 %rd3, %rd2, 0x100000001;\nshl.b64 %rd4, %rd2, 63;", PROVED, "proved"),
    ("mov.b128 %q1, {%rd1, 2};\nmov.b128 {%rd3, %rd4}, %q1;\nsetp.eq.u64 %p2, %rd4, 2;\n" + OUTSIDE, UNPROVED, "shared memory at 4"),
    ("ld.const.b32 %r2, [numbers+-4];\nsetp.eq.u32 %p2, %r2, 5;\n" + OUTSIDE, UNPROVED, "shared memory at 4"),
    ("ld.global.u32 %r2, [%rd1+-4];", DEFECT, "the buffer 'data' at byte -4 of 64"),
    # mbarriers and bulk copies, and what concerns other blocks of a cluster.
    ("mbarrier.init.shared.b64 [few];", UNSUPPORTED, "a form with 0 results and 0 operands"),
    ("mbarrier.init.shared.b64 [few], 1;", DEFECT, "accesses shared memory at 0, which ends at 4"),
    ("mbarrier.arrive_drop.shared.b64 _, [few];", UNSUPPORTED, "an operation on mbarriers that is not modelled"),
    ("mbarrier.arrive.noComplete.shared.b64 %rd3, [few], 1;", UNSUPPORTED, "modifier .noComplete"),
    ("cp.async.bulk.global.shared::cta.bulk_group [%rd1], 16;", UNSUPPORTED, "a form without an address"),
    ("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [few], [few], 16, [few];", UNSUPPORTED, "only bulk copies"),
    ("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [few], [%rd1, {%r1}], [few];", UNSUPPORTED, "tensors"),
    ("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;", PROVED, "assumed: the launch has no clusters"),
    ("barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait.acquire;", PROVED, "proved"),
    ("barrier.cluster.wait.aligned;", DEFECT, "thread 0 waits at the barrier of the cluster without having arrived there"),
    ("barrier.cluster.arrive;\nbarrier.cluster.arrive;", DEFECT, "thread 0 arrives again at the barrier of the cluster"),
    ("setp.eq.u32 %p2, %laneid, 0;\n@%p2 barrier.cluster.arrive.aligned;", DEFECT, "divergence .*thread 1 does not"),
    ("barrier.cluster.arrive.acquire;", UNSUPPORTED, "a barrier of an unknown kind"),
    ("barrier.cluster.wait.relaxed;", UNSUPPORTED, "a barrier of an unknown kind"),
    ("barrier.cluster.arrive.wait;", UNSUPPORTED, "a barrier of an unknown kind"),
    ("barrier.cluster.sync;", UNSUPPORTED, "a barrier of an unknown kind"),
    ("barrier.cluster.arrive 0;", UNSUPPORTED, "a form with 0 results and 1 operands"),
    ("barrier.wait 0;", UNSUPPORTED, "a barrier of an unknown kind"),
    ("bar.sync.relaxed 0;", UNSUPPORTED, "a barrier of an unknown kind"),
    ("mapa.shared::cluster.u32 %r2, %r1, 0; st.shared::cluster.u32 [%r2], 1;", UNPROVED, "to which block's shared memory the address belongs"),
    ("mapa.shared::cluster.f32 %r2, %r1, 0;", UNSUPPORTED, "no type of addresses"),
    ("mapa.shared::cluster.u32 %r2, few, 0;\n@%p1 st.shared::cluster.u32 [%r2], 1;", DEFECT, "race of equal values .*shared memory at 0"),
    ("mapa.shared::cluster.u32 %r2, few, 1;\nst.shared::cluster.u32 [%r2], 1;", DEFECT, "a block that its cluster of 1 does not have"),
    ("mapa.shared::cluster.u32 %r2, few, %r1;\nst.shared::cluster.u32 [%r2], 1;", UNPROVED, "to which block's shared memory the address belongs"),
    ("getctarank.shared::cluster.u32 %r2, few;\nsetp.ne.u32 %p2, %r2, 0;\n" + OUTSIDE, PROVED, "proved"),
    ("mov.pred %p2, %is_explicit_cluster;\n" + OUTSIDE, PROVED, "proved"),
    ("mov.u32 %r2, %is_explicit_cluster;", REFUSED, "a predicate where a number belongs"),
    ("mov.u32 %r2, %cluster_nctarank;\nsetp.ne.u32 %p2, %r2, 1;\n" + OUTSIDE, PROVED, "proved"),
    ("ld.shared::cluster.u32 %r2, [few];", DEFECT, "undefined read .*shared memory at 0"),
    ("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [few], %r1, [few];", UNSUPPORTED, "modifier .async"),
    ("red.async.relaxed.cluster.shared::cluster.add.u32 [few], %r1;", UNSUPPORTED, "asynchronous atomics"),
]
LAUNCH = '[[launch]]\nkernel = "^k$"\nblock = 32\nparameters = [{ at = 0, buffer = "data", bytes = 64 }]\n'


def main(program, folder):
    os.makedirs(folder, exist_ok=True)
    ptx, launch = os.path.join(folder, "forms.ptx"), os.path.join(folder, "forms.toml")
    with open(launch, "w", encoding="utf-8") as file:
        file.write(LAUNCH)
    bad = 0
    for body, status, pattern in CASES:
        source = HEAD + body
        with open(ptx, "w", encoding="utf-8") as file:
            file.write(source + TAIL)
        result = subprocess.run([program, "--launch", launch, ptx], capture_output=True, text=True)
        output = result.stdout + result.stderr
        line = len(source.splitlines())
        named = status == PROVED or re.search(f"(PTX line |:){line}\\b.*{pattern}", output)
        if result.returncode != status or not re.search(pattern, output) or not named:
            bad += 1
            print(f"{body!r}: status {result.returncode}, wanted {status} and {pattern!r} at line {line}\n{output}")
    print(f"{len(CASES)} cases, {bad} wrong")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
