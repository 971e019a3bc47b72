"""Records a launch through a driver that is not CUDA's: record.py PROGRAM LAUNCHER DRIVER_FOLDER"""

import os
import subprocess
import sys
import tempfile

WANTED = """# The first launch that was recorded.
[[launch]]
kernel = '^f$'
block = [64, 2, 1]
grid = [3, 1, 1]
dynamic_shared = 512
parameters = [
  { index = 0, buffer = 'p0' },
  { index = 1, u32 = 77 },
  { index = 2, u32 = 4294967295 },
  { index = 2, at = 4, u32 = 4294967295 },
  { index = 2, at = 8, buffer = 'p2_8', bytes = 4096 },
]
"""
PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry f(.param .u64 p, .param .u32 n, .param .align 8 .b8 pair[16]) { ret; }
"""


def main(program, launcher, drivers):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "new", "launches")
        command = [program, "record", "-o", out, "--", launcher]
        environment = os.environ | {"LD_LIBRARY_PATH": drivers}
        first = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert first.returncode == 0 and "2 kernels in " + out in first.stderr, first
        path = os.path.join(out, "f.launch.toml")
        with open(path, encoding="utf-8") as file:
            assert file.read() == WANTED
        with open(os.path.join(out, "g.launch.toml"), encoding="utf-8") as file:
            assert "kernel = '^g$'\nblock = [32, 1, 1]\ngrid = [1, 1, 1]" in file.read(), "of a program that is linked with the driver"
        again = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert again.returncode == 0 and "missed f: " + path in again.stderr, "a file is never written over"
        ptx = os.path.join(folder, "f.ptx")
        with open(ptx, "w", encoding="utf-8") as file:
            file.write(PTX)
        verdict = subprocess.run([program, "--launch", path, ptx], capture_output=True, text=True)
        assert verdict.returncode == 0 and "block 64x2, grid 3" in verdict.stdout, verdict
    wrong = subprocess.run([program, "record", launcher], capture_output=True, text=True)
    assert wrong.returncode == 4 and "write: glove-verify record -o DIR -- PROGRAM" in wrong.stderr, wrong


if __name__ == "__main__":
    main(*sys.argv[1:])
