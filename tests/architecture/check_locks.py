#!/usr/bin/env python3
"""Has clang check that guarded members are used only while their mutex is held (base/mutex.h).

    check_locks.py SOURCE_DIRECTORY [INCLUDE_DIRECTORY...]

Compiles, without making code, every source that has guarded members itself or in its own header, and every header that
has some and no source. Then compiles a program that forgets a lock, which clang must refuse.
"""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

SKIPPED = 77  # ctest's SKIP_RETURN_CODE
ROOMS = "base model loader convert search analysis drawing text live cpu gpu sql extension".split()
FORGETS_A_LOCK = """
#include "base/mutex.h"
struct Counter {
  void add() { ++count; }
  glove::Mutex mutex;
  int count GLOVE_GUARDED_BY(mutex) = 0;
};
"""


def files_to_check(root):
    for room in ROOMS:
        for path in sorted((root / room).rglob("*")):
            if path.suffix == ".cpp":
                header = path.with_suffix(".h")
                texts = [path.read_text(), header.read_text() if header.exists() else ""]
            elif path.suffix == ".h" and not path.with_suffix(".cpp").exists():
                texts = [path.read_text()]
            else:
                continue
            if path.name != "mutex.h" and any("GLOVE_GUARDED_BY(" in text for text in texts):
                yield path


def main():
    root = pathlib.Path(sys.argv[1])
    if shutil.which("clang++") is None:
        print("skipped: clang++ is not installed (./build.sh --packages-only fuzz installs it)")
        return SKIPPED
    command = ["clang++", "-std=c++20", "-fsyntax-only", "-Wthread-safety", "-Wthread-safety-precise", "-Werror",
               "-Wno-pragma-once-outside-header", "-x", "c++", f"-I{root}", f"-I{root}/third_party/sqlite"]
    command += [f"-isystem{include}" for include in sys.argv[2:]]
    has_cuda = any((pathlib.Path(include) / "cuda_runtime_api.h").exists() for include in sys.argv[2:])

    def check(path):
        run = subprocess.run(command + [str(path)], capture_output=True, text=True)
        if not has_cuda and "fatal error: 'cuda" in run.stderr:
            return f"skipped {path.relative_to(root)}: there are no CUDA headers", True
        return run.stderr, run.returncode == 0

    paths = list(files_to_check(root))
    assert len(paths) > 20, f"only {len(paths)} files with guarded members found: has the macro another name?"
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(check, paths))
    for text, _ in results:
        if text:
            print(text)
    refused = subprocess.run(command + ["-"], input=FORGETS_A_LOCK, capture_output=True, text=True)
    if "requires holding mutex" not in refused.stderr:
        print(f"clang does not refuse a program that forgets a lock: {refused.stderr}")
        return 1
    failed = sum(not good for _, good in results)
    print(f"{len(paths)} files with guarded members, {failed} with a use outside their mutex")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
