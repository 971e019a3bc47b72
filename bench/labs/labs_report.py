#!/usr/bin/env python3
"""Prints tables of bench/data/labs_cpu.json and labs_gpu.json."""
import json
import pathlib

BENCH = pathlib.Path(__file__).resolve().parent.parent
TITLES = {
    "covariance": "covariance",
    "atax": "y = A^T (A x), double",
    "atax float32": "y = A^T (A x), float32 rows, as `glove_atax` computes it",
    "convolution": "convolution 3 x 3, float32",
}
# Why each step is faster than the one before it, or what it is.
CPU_REASONS = {
    "a sum per pair, across the rows (lab)": "reads two columns with a row's distance between values",
    "a sum per pair of the transposed copy": "reads values in their order, eight at a time",
    "tiles of 8 x 24 sums in registers, 1 thread": "each value read serves 8 or 24 products; packed panels stay in the cache",
    "dot products, then sums across the rows (lab)": "the second pass reads A across its rows",
    "dot products, then sums along the rows": "both passes read A in its order",
    "one read: each row for both products, 1 thread": "the second product finds the row in the cache",
    "threads, 4 rows at once": "x and y are read once for four rows",
    "threads, 4 rows at once, the next ones on their way": "memory works during the second product as well",
    "nine products per value (lab)": "tests the border for every value",
    "vectors along the rows, 1 thread": "sixteen values at a time, the border apart",
    "threads, 4 rows at once, stores past the caches": "the output's lines are not read first",
}
GPU_REASONS = {
    "a thread per row, then a thread per column (lab)": "the first kernel's threads read addresses a row apart",
    "a block per row, then blocks of columns": "neighbouring threads read neighbouring values; A is read twice",
    "a thread per value, 16 x 16 (lab)": "nine loads per value",
    "tiles in shared memory": "the tile's border and the barrier cost more than the cache",
    "a thread per entry and block of rows (lab, with blocks)": "two loads and conversions per product",
    "the same plan with fma, centred": "what devices use whose tensor cores add in another order",
    "tensor cores, 32 x 32 sums per warp, centred": "64 values read serve 1024 products; conversion once per value",
    "teams of 8 lanes, rows again from the cache": "one read of memory",
}


def reason_of(step, reasons):
    if step.startswith("one read of A"):
        return "x and y in registers; rows come ahead; a dot product crosses a cluster of blocks"
    if step.startswith("registers, 4 columns"):
        return "16-byte loads, neighbours by shuffles, rows shared by the results"
    return reasons.get(step, "")


def table(rows, work, reasons):
    rows = [row for row in rows if row["work"] == work]
    if not rows:
        return []
    sizes = list(dict.fromkeys(row["size"] for row in rows))
    steps = list(dict.fromkeys(row["step"] for row in rows))
    time = {(row["step"], row["size"]): row["ms"] if "ms" in row else row["us"] / 1000 for row in rows}
    lines = [f"| {TITLES[work]}, ms | " + " | ".join(sizes) + " | why |", "|---|" + "--:|" * len(sizes) + "---|"]
    for step in steps:
        cells = (f"{time[step, size]:.4g}" if (step, size) in time else "" for size in sizes)
        lines.append(f"| {step} | " + " | ".join(cells) + f" | {reason_of(step, reasons)} |")
    return lines + [""]


def section():
    lines = ["## The course labs: A^T A x, convolution, covariance", "",
             "`bench/labs/labs.sh`: each lab as a ladder of kernels, every step checked, beside the libraries, on the same machine in one run.", ""]
    for part, reasons, where in (("cpu", CPU_REASONS, "On the CPU"), ("gpu", GPU_REASONS, "On a GPU")):
        path = BENCH / "data" / f"labs_{part}.json"
        if not path.exists():
            continue
        data = json.loads(path.read_text())
        notes = {key: value for note in data["notes"] for key, value in note.items()}
        if part == "cpu":
            about = f"{data['cpu']}, {notes['threads']} threads, load {notes['load'][0]:.1f}; NumPy {notes['numpy']}, SciPy {notes['scipy']} (OpenBLAS)"
        else:
            about = f"{data['gpu']} (driver); PyTorch {notes['torch']} and its cuBLAS"
        lines += [f"**{where}**: {data['date']}, commit {data['commit']}, {about}. All numbers: data/{path.name}.", ""]
        for work in TITLES:
            lines += table(data["rows"], work, reasons)
    return "\n".join(lines)


print(section())
