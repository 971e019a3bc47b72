"""Proves the project's own kernels: run_specs.py PROGRAM NVCC PROJECT_DIR WORK_DIR SM_TARGET SUBSET SPEC...

Compiles the kernels that stand beside each SPEC (gpu/kernels/NAME.launch.toml) to PTX and runs glove-verify on every launch
whose name begins with SUBSET (all of them if it is empty). It fails on any verdict but "proved", on a kernel entry without a
launch, unless without_proof.txt lists it with a reason, and on a synchronising or memory instruction that no launch reached,
unless allowed_uncovered.txt lists its source line with a reason.
"""

import os
import re
import subprocess
import sys

TIME_LIMIT = 1200  # seconds for a launch; the longest takes a tenth of it on an idle machine


def compile_kernels(nvcc, project, work, target, name):
    ptx = os.path.join(work, f"{name}.{target}.ptx")
    subprocess.run([nvcc, "-std=c++20", "-O3", "-ptx", "-lineinfo", f"-arch={target.replace('sm_', 'compute_')}", "-I", project,
                    os.path.join(project, "gpu", "kernels", f"{name}.cu"), "-o", ptx], check=True)
    return ptx


def short(kernel):
    """A kernel's name without the mangled namespaces around it."""
    match = re.search(r"([a-z_]+_kernel)(I(?:Lb[01]E)+E)?", re.sub(r"^.*_cu_[0-9a-f]{8}\d{1,2}", "", kernel))
    return match[0] if match else kernel


def allowed(path):
    with open(path, encoding="utf-8") as lines:
        return {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}


def unlisted(project, excused):
    """Complaints about kernels in files without launches that are not excused."""
    folder = os.path.join(project, "gpu", "kernels")
    complaints = []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".cu") or os.path.exists(os.path.join(folder, name.removesuffix(".cu") + ".launch.toml")):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as source:
            kernels = re.findall(r"__global__[^;{]*?\b(\w+_kernel)\(", source.read())
        complaints += [f"{name}: {kernel} has no launch" for kernel in kernels if kernel not in excused]
        if not kernels:
            complaints.append(f"{name} has no kernel that this test recognises")
    return complaints


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


def main(program, nvcc, project, work, target, subset, *specs):
    if not nvcc or nvcc.endswith("NOTFOUND"):
        print("skipped: there is no nvcc to compile the kernels to PTX")
        return 77
    os.makedirs(work, exist_ok=True)
    excused = allowed(os.path.join(os.path.dirname(os.path.abspath(__file__)), "allowed_uncovered.txt"))
    unproved = allowed(os.path.join(os.path.dirname(os.path.abspath(__file__)), "without_proof.txt"))
    complaints = unlisted(project, unproved)
    print("\n".join(complaints))
    bad = len(complaints)
    for spec in specs:
        name = os.path.basename(spec).removesuffix(".launch.toml")
        ptx = compile_kernels(nvcc, project, work, target, name)
        result = subprocess.run([program, "--launch", spec, "--name", f"^{subset}", "--time-limit", str(TIME_LIMIT), ptx],
                                capture_output=True, text=True)
        missed, shown = report(result.stdout)
        print("\n".join(shown) + result.stderr)
        bad += result.returncode != 0
        with open(ptx, encoding="utf-8") as source:
            entries = re.findall(r"\.entry (\w+)", source.read())
        for entry in entries:
            listed = short(entry).split("IL")[0] in unproved
            if listed == (entry in missed):
                bad += 1
                print(f"{spec}: {short(entry)} has " + ("a launch; remove it from without_proof.txt" if listed else "no launch"))
        for kernel, launches in missed.items():
            for place in sorted(set.intersection(*launches)):
                if place.split()[-1] not in excused:
                    bad += 1
                    print(f"{short(kernel)}: no launch reaches {place}")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
