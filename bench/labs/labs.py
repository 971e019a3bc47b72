#!/usr/bin/env python3
"""The course labs on the CPU: our ladders beside NumPy and SciPy (OpenBLAS), on the same arrays, in turns.

    bench/labs/labs.py LIBRARY [--threads N] [--only atax,convolution,covariance] [--small] > labs_cpu.json

LIBRARY is liblabs.so of a build with -DGLOVE_BENCH=ON. Times are medians in milliseconds; every step's result is
checked against NumPy's. Steps of more than two seconds run once.
"""
import argparse
import ctypes
import json
import os
import statistics
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("library")
parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
parser.add_argument("--only", default="covariance,convolution,atax")
parser.add_argument("--rounds", type=int, default=7)
parser.add_argument("--small", action="store_true", help="odd, small shapes, as a check of the steps")
arguments = parser.parse_args()
os.environ["OPENBLAS_NUM_THREADS"] = str(arguments.threads)

import numpy  # noqa: E402, after the number of threads is set
import scipy  # noqa: E402
import scipy.linalg.blas as blas  # noqa: E402

library = ctypes.CDLL(os.path.abspath(arguments.library))
random = numpy.random.default_rng()
LONG = 2.0  # seconds


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def wide(value):
    return ctypes.c_int64(value)


def error_of(got, wanted):
    """The largest difference, relative to the largest value."""
    if not numpy.isfinite(got).all():
        return float("inf")
    return float(numpy.abs(got.astype(float) - wanted).max() / numpy.abs(wanted).max())


def run(work, size, steps, wanted):
    """steps: (name, function, its output or None, what it should be if not `wanted`). Times them in turns and prints
    what was found."""
    times = [[] for _ in steps]
    errors = []
    for _, step, out, *other in steps:
        if out is not None:
            out.fill(numpy.nan)
        result = step()
        errors.append(error_of(out if out is not None else result, *(other or [wanted])))
        del result
    for _ in range(arguments.rounds):
        for i, (_, step, *_) in enumerate(steps):
            if times[i] and times[i][0] > LONG:
                continue
            time.sleep(0.03)  # until the threads of the last library have stopped spinning
            start = time.perf_counter()
            step()
            times[i].append(time.perf_counter() - start)
    for (name, *_), each, error in zip(steps, times, errors):
        print(json.dumps({"work": work, "size": size, "step": name, "ms": round(statistics.median(each) * 1e3, 4),
                          "least_ms": round(min(each) * 1e3, 4), "error": error}), flush=True)


def aligned(shape, dtype):
    """An array on a multiple of 64 bytes, as the vector stores want it."""
    count = int(numpy.prod(shape))
    raw = numpy.empty(count * numpy.dtype(dtype).itemsize + 64, numpy.uint8)
    start = -raw.ctypes.data % 64
    return raw[start:start + count * numpy.dtype(dtype).itemsize].view(dtype).reshape(shape)


def fill(array):
    for row in array:
        row[:] = random.random(row.shape, numpy.float32) - 0.5


GRAM_STEPS = ("dot products, then sums across the rows (lab)", "dot products, then sums along the rows",
              "one read: each row for both products, 1 thread", "threads", "threads, 4 rows at once",
              "threads, 4 rows at once, the next ones on their way")


def gram_product(rows, columns):
    a, x, dots, y = aligned((rows, columns), float), aligned(columns, float), aligned(rows, float), aligned(columns, float)
    fill(a)
    fill(x.reshape(1, -1))
    at = a.T  # column-major, as BLAS sees it

    def ours(step):
        def call():
            library.labs_gram_product(step, arguments.threads, pointer(a), pointer(x), wide(rows), wide(columns), pointer(dots), pointer(y))
        return call

    def two_gemv():
        return blas.dgemv(1.0, at, blas.dgemv(1.0, at, x, trans=1))

    steps = [(name, ours(i), y) for i, name in enumerate(GRAM_STEPS) if i > 0 or rows * columns <= 1 << 24]
    steps += [("SciPy, OpenBLAS: two dgemv", two_gemv, None), ("NumPy: a.T @ (a @ x)", lambda: a.T @ (a @ x), None)]
    run("atax", f"{rows} x {columns}", steps, two_gemv())


CONVOLUTION_STEPS = ("nine products per value (lab)", "vectors along the rows, 1 thread", "threads",
                     "threads, 4 rows at once", "threads, 4 rows at once, stores past the caches")


def convolution(rows, columns):
    image, out, copy = (aligned((rows, columns), numpy.float32) for _ in range(3))
    fill(image)
    weights = numpy.array([[0.2, 0.5, -0.8], [-0.3, 0.6, -0.9], [0.4, 0.7, 0.1]], numpy.float32)

    def ours(step):
        def call():
            library.labs_convolution(step, arguments.threads, pointer(image), wide(rows), wide(columns), pointer(weights), pointer(out))
        return call

    def with_numpy():
        """Nine shifted sums."""
        padded = numpy.zeros((rows + 2, columns + 2), numpy.float32)
        padded[1:-1, 1:-1] = image
        result = numpy.zeros_like(image)
        for i in range(3):
            for j in range(3):
                result += weights[i, j] * padded[2 - i:2 - i + rows, 2 - j:2 - j + columns]
        return result

    wanted = with_numpy().astype(float)
    steps = [(name, ours(i), out) for i, name in enumerate(CONVOLUTION_STEPS)]
    steps.append(("NumPy: nine shifted sums", with_numpy, None))
    same = image.astype(float)
    steps.append(("a copy by the same threads", ours(len(CONVOLUTION_STEPS)), out, same))
    steps.append(("NumPy: a copy", lambda: numpy.copyto(copy, image), copy, same))
    run("convolution", f"{rows} x {columns}", steps, wanted)


COVARIANCE_STEPS = ("a sum per pair, across the rows (lab)", "a sum per pair of the transposed copy",
                    "tiles of 8 x 24 sums in registers, 1 thread", "threads")


def covariance(rows, columns):
    a, out = aligned((rows, columns), float), aligned((columns, columns), float)
    fill(a)

    def ours(step):
        def call():
            library.labs_covariance(step, arguments.threads, pointer(a), wide(rows), wide(columns), pointer(out))
        return call

    def centred_product():
        centred = a - a.mean(axis=0)
        product = centred.T @ centred
        product /= rows - 1
        return product

    steps = [(name, ours(i), out) for i, name in enumerate(COVARIANCE_STEPS) if i > 1 or columns <= 1200]
    steps += [("NumPy: centred.T @ centred", centred_product, None), ("NumPy: cov", lambda: numpy.cov(a, rowvar=False), None)]
    run("covariance", f"{rows} x {columns}", steps, centred_product())


SHAPES = {
    "covariance": (covariance, ((1000, 500), (1024, 1024), (1200, 1000), (2048, 2048), (4096, 4096)), ((2, 3), (300, 77), (513, 73))),
    "convolution": (convolution, ((4096, 4096), (6000, 8000), (8192, 8192)), ((1, 1), (3, 17), (37, 101), (65, 64))),
    "atax": (gram_product, ((2000, 3000), (4096, 4096), (16000, 16000)), ((1, 1), (3, 1), (1, 9), (77, 1003), (33, 64))),
}
print(json.dumps({"numpy": numpy.__version__, "scipy": scipy.__version__, "threads": arguments.threads, "load": os.getloadavg()}), flush=True)
for name in arguments.only.split(","):
    work, shapes, small = SHAPES[name]
    for shape in small if arguments.small else shapes:
        work(*shape)
print(json.dumps({"load": os.getloadavg()}))
