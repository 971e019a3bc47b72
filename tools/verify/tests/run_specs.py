"""Proves the project's own kernels: run_specs.py PROGRAM NVCC PROJECT_DIR LAUNCH_DIR WORK_DIR SM_TARGET SUBSET

Compiles each gpu/kernels/NAME.cu to PTX and runs glove-verify on every launch of LAUNCH_DIR/NAME.launch.toml whose name begins
with SUBSET (all of them if it is empty). It fails on any verdict but "proved", on a kernel entry without a launch, unless
without_proof.txt lists it with a reason, and on a synchronising or memory instruction that no launch reached, unless the
source says above its line why: "// verify: unreached REASON". verdicts.py says when it is skipped.
"""

import os
import re
import subprocess
import sys

from verdicts import SKIPPED, StoredVerdict, hash_of, kernel_files

TIME_LIMIT = 1200  # seconds for a launch; the longest takes a tenth of it on an idle machine


def compile_kernels(nvcc, project, work, target, name):
    ptx = os.path.join(work, f"{name}.{target}.ptx")
    arch = target.replace("sm_", "compute_")
    if name.endswith("_wgmma") and target == "sm_90":
        arch += "a"
    subprocess.run([nvcc, "-std=c++20", "-O3", "-ptx", "-lineinfo", f"-arch={arch}", "-I", project,
                    os.path.join(project, "gpu", "kernels", f"{name}.cu"), "-o", ptx], check=True)
    return ptx


def compile_all(nvcc, project, work, target):
    """{kernel file without its ending: its PTX}"""
    names = sorted(entry.removesuffix(".cu") for entry in os.listdir(os.path.join(project, "gpu", "kernels")) if entry.endswith(".cu"))
    return {name: compile_kernels(nvcc, project, work, target, name) for name in names}


def short(kernel):
    """A kernel's name without the mangled namespaces around it."""
    match = re.search(r"([a-z_]+_kernel)(I(?:L[bi]\d+E)+E)?", re.sub(r"^.*_cu_[0-9a-f]{8}\d{1,2}", "", kernel))
    return match[0] if match else kernel


def excused(folder):
    """FILE:LINE of each line of code in a folder that stands below a comment "// verify: unreached REASON"."""
    places = set()
    for name in sorted(os.listdir(folder)):
        if not name.endswith((".cu", ".cuh", ".h")):
            continue
        marked = False
        with open(os.path.join(folder, name), encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.lstrip().startswith("//"):
                    marked |= bool(re.search(r"// verify: unreached\W+\w", line))
                elif line.strip():
                    if marked:
                        places.add(f"{name}:{number}")
                    marked = False
    return places


def allowed(path):
    """The first word of each line; the rest is the reason."""
    with open(path, encoding="utf-8") as lines:
        return {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}


def report(text):
    """({kernel: PTX lines that the launch did not reach}, the lines to show) of one output."""
    missed, shown, kernel = {}, [], None
    for line in text.splitlines():
        if verdict := re.match(r"(\S+): (proved|DEFECT|could not prove|unsupported) \(", line):
            kernel = verdict[1]
            places = missed.setdefault(kernel, [])
            places.append(set())
            shown.append(line.replace(kernel, short(kernel)))
        elif uncovered := re.match(r"  not reached: (.*)", line):
            missed[kernel][-1].add(uncovered[1])
        elif not line.startswith("  assumed: "):
            shown.append(line)
    return missed, shown


def prove(program, spec, ptx, subset):
    """(whether all launches of a spec are proved, {kernel: PTX lines that each launch did not reach}), printed."""
    result = subprocess.run([program, "--launch", spec, "--name", f"^{subset}", "--time-limit", str(TIME_LIMIT), ptx],
                            capture_output=True, text=True)
    missed, shown = report(result.stdout)
    print("\n".join(shown) + result.stderr)
    return result.returncode == 0, missed


def check(program, project, compiled, launch_dir, subset, unproved):
    """The number of complaints, which are printed. compiled: what compile_all() returns; unproved: kernels without a proof."""
    folder = os.path.join(project, "gpu", "kernels")
    bad, kernels, unreached = 0, set(), excused(folder)

    def complain(text):
        nonlocal bad
        bad += 1
        print(text)

    for name, ptx in compiled.items():
        spec, missed = os.path.join(launch_dir, f"{name}.launch.toml"), {}
        if os.path.exists(spec):
            proved, missed = prove(program, spec, ptx, subset)
            if not proved:
                complain(f"{spec}: not all launches are proved")
        with open(ptx, encoding="utf-8") as source:
            entries = re.findall(r"\.entry (\w+)", source.read())
        if not entries:
            complain(f"{name}.cu has no kernel")
        for entry in entries:
            names = {short(entry), short(entry).split("IL")[0]}  # one instance of a template, or all
            kernels |= names
            if entry in missed and names & unproved:
                complain(f"{spec}: {short(entry)} has a launch; remove it from without_proof.txt")
            elif entry not in missed and not names & unproved:
                complain(f"{name}.cu: {short(entry)} has no launch")
        for kernel, launches in missed.items():
            for place in sorted(set.intersection(*launches)):
                if place.split()[-1] not in unreached:
                    complain(f"{short(kernel)}: no launch reaches {place}")
    for kernel in sorted(unproved - kernels):
        complain(f"without_proof.txt: there is no {kernel}")
    return bad


def main(program, nvcc, project, launch_dir, work, target, subset):
    if not nvcc or nvcc.endswith("NOTFOUND"):
        print("skipped: there is no nvcc to compile the kernels to PTX")
        return SKIPPED
    os.makedirs(work, exist_ok=True)
    verdict = StoredVerdict(os.path.join(work, f"{target}.verdict"))
    if verdict.skips_without_verdict():
        return SKIPPED
    here = os.path.dirname(os.path.abspath(__file__))
    without_proof = os.path.join(here, "without_proof.txt")
    compiled = compile_all(nvcc, project, work, target)
    hashed = hash_of([program, __file__, without_proof, *compiled.values(), *kernel_files(project, launch_dir)], subset)
    if verdict.skips_unchanged(hashed):
        return SKIPPED
    passed = check(program, project, compiled, launch_dir, subset, allowed(without_proof)) == 0
    verdict.keep(hashed, passed)
    return not passed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
