"""Checks that changed kernels need no other change: changed_kernels.py PROGRAM NVCC CXX PROJECT_DIR LAUNCH_DIR WORK_DIR

In a copy of the project's sources, ten empty lines come before each file of a kernel, and a field into the middle of each struct
that kernels take. The launch files that are made of the copy may differ in offsets alone, and must: then a launch of each of
PROVED is proved with the same assumptions, but for their line numbers, and reaches what it reached before.
"""

import glob
import os
import re
import shutil
import subprocess
import sys

from run_specs import compile_kernels

# The field behind which each struct gets another.
FIELDS = {
    "device_part.h": ["int32_t dims = 0;", "int64_t rows_of_tiles = 0;"],
    "single_scan.h": ["int32_t top_rows;"],
    "batch_scan.h": ["int32_t queries;"],
    "kmeans.h": ["int32_t id_bits;"],
}
# Quick launches, one with a lemma and one with parameters behind a struct.
PROVED = {"batch_scan": "ci threshold", "packed_rows": "ci dims 300"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def copy(project, folder):
    """Copies the rooms whose headers kernels include, and the launches."""
    for room in ("analysis", "base", "gpu", "lists", "model", "search", "tests/gpu/launches"):
        shutil.copytree(os.path.join(project, room), os.path.join(folder, room))


def change(folder):
    sources = [path for path in glob.glob(os.path.join(folder, "gpu", "**", "*.*"), recursive=True)
               if path.endswith((".cu", ".cuh")) or os.path.basename(path) in FIELDS]
    for path in sources:
        text = read(path)
        for field in FIELDS.get(os.path.basename(path), []):
            assert text.count(f"  {field}") == 1, f"{path} has no '{field}' of its own"
            text = text.replace(f"  {field}", f"  {field}\n  int64_t added_by_test[3];")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n" * 10 + text)
    assert {os.path.basename(path) for path in sources} >= set(FIELDS), "a struct has moved to another file"


def write_launches(compiler, nvcc, project, folder):
    """Compiles the program that writes the launch files, and runs it."""
    os.makedirs(folder)
    program = os.path.join(folder, "launches")
    include = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(nvcc))), "include")
    sources = sorted(glob.glob(os.path.join(project, "tests", "gpu", "launches", "*.cpp")))
    subprocess.run([compiler, "-std=c++20", "-O0", "-I", project, "-isystem", include, *sources, "-o", program], check=True)
    subprocess.run([program, folder], check=True)


def verdicts(program, nvcc, project, launch_dir, work):
    """What glove-verify says of the launches of PROVED, without line numbers, sizes and times."""
    os.makedirs(work, exist_ok=True)
    text = ""
    for name, launch in PROVED.items():
        ptx = compile_kernels(nvcc, project, work, "sm_90", name)
        result = subprocess.run([program, "--launch", os.path.join(launch_dir, f"{name}.launch.toml"), "--name", f"^{launch}$", ptx],
                                capture_output=True, text=True)
        text += result.stdout + result.stderr
    text = re.sub(r"(_GLOBAL__N__)[0-9a-f]{8}", r"\1", text)  # of the path of the source
    return re.sub(r"(\.cuh?):\d+|\(block .*|PTX line \d+", r"\1", text)


def main(program, nvcc, compiler, project, launch_dir, work):
    if not nvcc or nvcc.endswith("NOTFOUND"):
        print("skipped: there is no nvcc to compile the kernels to PTX")
        return 77
    shutil.rmtree(work, ignore_errors=True)
    copy(project, work)
    change(work)
    changed = os.path.join(work, "launches")
    write_launches(compiler, nvcc, work, changed)
    bad, without_struct = 0, {"score_all.launch.toml"}
    for path in sorted(glob.glob(os.path.join(launch_dir, "*.launch.toml"))):
        name = os.path.basename(path)
        before, after = read(path), read(os.path.join(changed, name))
        if (before == after) != (name in without_struct):
            bad += 1
            print(f"{name}: the new fields have {'not ' if before == after else ''}moved its offsets")
        if re.sub(r"at = \d+", "", before) != re.sub(r"at = \d+", "", after):
            bad += 1
            print(f"{name}: more than offsets has changed")
    before = verdicts(program, nvcc, project, launch_dir, os.path.join(work, "before"))
    after = verdicts(program, nvcc, work, changed, os.path.join(work, "after"))
    if before != after or before.count(": proved ") != len(PROVED) or "lemma at threshold.cuh" not in before:
        bad += 1
        print(f"--- before\n{before}--- after\n{after}")
    print(f"{before.count(': proved ')} launches are proved before and after the change; {bad} complaints")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
