#!/usr/bin/env python3
"""Exits with 1 unless the proofs of the kernels and the tests of glove-verify would run as they did: unproved.py

They did in the commit in tests/architecture/proved, with the release of nvcc named there. They depend on tools/verify, on
gpu/kernels and tests/gpu/launches, and on what they include, and two tests draw a few random kernels. Whoever has seen
`GLOVE_PROVE=1 ctest -L verify` pass with all of it writes commit and release there.
"""

import pathlib
import shutil
import subprocess
import sys

from changes import ROOT, changed_since

ROOMS = "base model lists loader search analysis gpu".split()


def about_proofs(changed):
    """Those of the changed files, with what includes them, on which the proofs depend."""
    return sorted(name for name in changed if name.startswith(("tools/verify/", "gpu/kernels/", "tests/gpu/launches/")))


def nvcc_release():
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not pathlib.Path(nvcc).exists():
        return "none"
    return subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout.split("release ")[1].split(",")[0]


def main():
    changed = changed_since("proved", ROOMS)
    if changed is None:
        return 1
    proved_with = (ROOT / "tests/architecture/proved").read_text().split()[1]
    if nvcc_release() != proved_with:
        print(f"nvcc is of release {nvcc_release()}, and the kernels were proved with {proved_with}.")
        return 1
    about = about_proofs(changed)
    print(f"glove-verify and the kernels changed since they were proved: {', '.join(about)}" if about else
          "glove-verify and the kernels are those that were proved, so their tests do not run again.")
    return 1 if about else 0


if __name__ == "__main__":
    sys.exit(main())
