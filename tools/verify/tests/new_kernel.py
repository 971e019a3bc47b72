"""Checks that a kernel added later needs a launch: new_kernel.py PROGRAM NVCC WORK_DIR SM_TARGET"""

import os
import shutil
import sys

from run_specs import check, compile_all

ADDED = """
__global__ void __launch_bounds__(64) added_kernel(const int* in, int* out) {
  __shared__ int values[64];
  values[threadIdx.x] = in[threadIdx.x];
  BARRIER
  if (in[64] > 0) out[threadIdx.x] = values[63 - threadIdx.x];
}
"""
LAUNCH = 'parameters = [{ at = 0, buffer = "in" }, { at = 8, buffer = "out" }]\n[[launch]]\nname = "ci"\n'
OTHER = LAUNCH + 'kernel = "another_kernel"\n'
SCATTERED = """
__global__ void __launch_bounds__(64) added_kernel(const int* in, int* out) { PLACES }
"""
DISTINCT = LAUNCH.replace('"in"', '"in", distinct = "rows"')
LEMMA = 'lemmas = [{ name = "rows", reason = "the rows are distinct" }]\n' + LAUNCH
RANGE = 'ranges = [{ name = "zero", least = 0, most = 0, reason = "all are zero" }]\n' + LAUNCH
GUARDED = ADDED.replace("in[64] > 0", "gridDim.x > 1")


def complaints(program, nvcc, work, target, source, launch, unproved=()):
    folder = os.path.join(work, "gpu", "kernels")
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(folder)
    with open(os.path.join(folder, "added.cu"), "w", encoding="utf-8") as file:
        file.write(source)
    if launch is not None:
        with open(os.path.join(folder, "added.launch.toml"), "w", encoding="utf-8") as file:
            file.write(launch)
    return check(program, work, compile_all(nvcc, work, work, target), folder, "ci", set(unproved))


def main(program, nvcc, work, target):
    if not nvcc or nvcc.endswith("NOTFOUND"):
        print("skipped: there is no nvcc to compile the kernels to PTX")
        return 77

    def count(*case, **lists):
        return complaints(program, nvcc, work, target, *case, **lists)

    whole, broken = ADDED.replace("BARRIER", "__syncthreads();"), ADDED.replace("BARRIER", "")
    guarded = GUARDED.replace("BARRIER", "__syncthreads();")
    rows = SCATTERED.replace("PLACES", "out[in[threadIdx.x]] = 1;")
    next_rows = SCATTERED.replace("PLACES", "const int row = in[threadIdx.x]; out[row] = 1; out[row + 1] = 1;")
    excused = guarded.replace("  if (grid", "\n  // verify: unreached with one block\n\n  // A comment.\n  if (grid")
    write = "out[in[threadIdx.x]] = 1;"
    marked = SCATTERED.replace("PLACES", f"\n  // verify: lemma rows\n\n  // A comment.\n  {write}\n")
    ranged = SCATTERED.replace("PLACES", "\n  // verify: range zero\n  const int value = in[threadIdx.x];\n  // verify: unreached, as all are zero\n  if (value > 0) *out = value;\n")
    cases = {
        "with a launch": (count(whole, LAUNCH), 0),
        "without a launch": (count(whole, None), 1),
        "with launches of another kernel": (count(whole, OTHER) > 0, True),
        "listed with a reason": (count(whole, None, unproved=["added_kernel"]), 0),
        "listed and proved": (count(whole, LAUNCH, unproved=["added_kernel"]), 1),
        "listed after it is gone": (count(whole, LAUNCH, unproved=["old_kernel"]), 1),
        "with a race": (count(broken, LAUNCH), 1),
        "with a line that no launch reaches": (count(guarded, LAUNCH) > 0, True),
        "with such a line and its reason": (count(excused, LAUNCH), 0),
        "with such a line and no reason": (count(excused.replace(" with one block", ""), LAUNCH) > 0, True),
        "with a lemma above the line": (count(marked, LEMMA), 0),
        "with a lemma at the end of the line": (count(SCATTERED.replace("PLACES", f"{write}  // verify: lemma rows\n"), LEMMA), 0),
        "with a lemma at a line that has moved": (count("\n" * 10 + marked, LEMMA), 0),
        "with a lemma at another line": (count(SCATTERED.replace("PLACES", f"\n{write}\n// verify: lemma rows\n"), LEMMA) > 0, True),
        "with a lemma of another name": (count(marked, LEMMA.replace("rows", "columns")) > 0, True),
        "with a range above the line": (count(ranged, RANGE), 0),
        "with a range at a line that has moved": (count("\n" * 10 + ranged, RANGE), 0),
        "with a range that is too wide": (count(ranged, RANGE.replace("most = 0", "most = 1")) > 0, True),
        "at rows that may repeat": (count(rows, LAUNCH) > 0, True),
        "at rows that are declared to be distinct": (count(rows, DISTINCT), 0),
        "at such rows and the next ones": (count(next_rows, DISTINCT) > 0, True),
        "at rows of which every other one is distinct": (count(rows, DISTINCT.replace('"rows"', '"rows", every = 8')) > 0, True),
        "a file without a kernel": (count("int nothing;", None), 1),
    }
    wrong = [f"{case}: {seen} instead of {wanted}" for case, (seen, wanted) in cases.items() if seen != wanted]
    print("\n".join(wrong) or f"{len(cases)} cases")
    return wrong != []


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
