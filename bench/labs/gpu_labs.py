#!/usr/bin/env python3
"""The yardsticks of gpu_labs_bench on the same GPU: cuBLAS, called directly, and PyTorch.

Prints one JSON object per line, with medians in microseconds; exits 77 where PyTorch or a GPU is missing.
"""
import ctypes
import json
import statistics
import sys

try:
    import torch
except ImportError:
    print("PyTorch is not installed", file=sys.stderr)
    sys.exit(77)
if not torch.cuda.is_available():
    print("PyTorch sees no GPU", file=sys.stderr)
    sys.exit(77)

torch.backends.cudnn.allow_tf32 = False
torch.backends.cuda.matmul.allow_tf32 = False
NO_TRANSPOSE, TRANSPOSE = 0, 1


def median_us(work, repeats, batch=1):
    """Times the work, enqueued `batch` times, between two events, as gpu_labs_bench does."""
    times = []
    for i in range(repeats + 3):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for j in range(batch):
            work(i * batch + j)
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / batch)
    return statistics.median(times[3:])


def report(work, size, step, us, moved):
    print(json.dumps({"work": work, "size": size, "step": step, "us": round(us, 2), "tb_s": round(moved / us * 1e-6, 3)}), flush=True)


class Cublas:
    """The few functions needed, from the library that PyTorch has loaded."""

    def __init__(self):
        torch.ones(2, 2, device="cuda", dtype=torch.float64) @ torch.ones(2, 2, device="cuda", dtype=torch.float64)
        with open("/proc/self/maps") as maps:
            path = next(line.split()[-1] for line in maps if "libcublas.so" in line)
        self.library = ctypes.CDLL(path)
        self.handle = ctypes.c_void_p()
        self.check(self.library.cublasCreate_v2(ctypes.byref(self.handle)))
        self.check(self.library.cublasSetStream_v2(self.handle, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)))
        self.one, self.zero = ctypes.c_double(1), ctypes.c_double(0)

    @staticmethod
    def check(code):
        if code != 0:
            raise RuntimeError(f"cuBLAS: error {code}")

    def gemv(self, matrix, x, y, transposed):
        """y = matrix x, or its transpose times x; the matrix is row-major, so cuBLAS sees its transpose."""
        rows, columns = matrix.shape
        self.check(self.library.cublasDgemv_v2(
            self.handle, NO_TRANSPOSE if transposed else TRANSPOSE, columns, rows, ctypes.byref(self.one),
            ctypes.c_void_p(matrix.data_ptr()), columns, ctypes.c_void_p(x.data_ptr()), 1, ctypes.byref(self.zero),
            ctypes.c_void_p(y.data_ptr()), 1))


def time_gram_product(cublas, rows, columns):
    size = f"{rows} x {columns}"
    a = torch.empty(rows, columns, device="cuda", dtype=torch.float64).uniform_(-0.5, 0.5)
    x = torch.rand(columns, device="cuda", dtype=torch.float64)
    dots = torch.empty(rows, device="cuda", dtype=torch.float64)
    y = torch.empty(columns, device="cuda", dtype=torch.float64)
    moved = a.numel() * 8
    repeats = 5 if a.numel() > 1 << 30 else 15
    batch = 1 if a.numel() > 1 << 26 else 6

    def both(i):
        cublas.gemv(a, x, dots, False)
        cublas.gemv(a, dots, y, True)

    report("atax", size, "cuBLAS gemv, A x", median_us(lambda i: cublas.gemv(a, x, dots, False), repeats, batch), moved)
    report("atax", size, "cuBLAS gemv, A^T y", median_us(lambda i: cublas.gemv(a, dots, y, True), repeats, batch), moved)
    report("atax", size, "two cuBLAS gemv", median_us(both, repeats, batch), 2 * moved)
    report("atax", size, "PyTorch: A.T @ (A @ x)", median_us(lambda i: a.T @ (a @ x), repeats, batch), 2 * moved)


def time_convolution(rows, columns):
    size = f"{rows} x {columns}"
    images = [torch.rand(1, 1, rows, columns, device="cuda") for _ in range(3)]
    weights = torch.rand(1, 1, 3, 3, device="cuda")
    copies = [torch.empty_like(image) for image in images]
    moved = rows * columns * 8
    report("convolution", size, "PyTorch conv2d", median_us(lambda i: torch.nn.functional.conv2d(images[i % 3], weights, padding=1), 15), moved)
    report("convolution", size, "PyTorch copy", median_us(lambda i: copies[i % 3].copy_(images[i % 3]), 15, 6), moved)


cublas = Cublas()
for shape in ((4096, 4096), (6000, 8000), (8192, 8192)):
    time_convolution(*shape)
    torch.cuda.empty_cache()
for shape in ((2000, 3000), (4096, 4096), (16000, 16000), (65536, 25600)):
    time_gram_product(cublas, *shape)
    torch.cuda.empty_cache()
print(json.dumps({"torch": torch.__version__, "device": torch.cuda.get_device_name()}))
