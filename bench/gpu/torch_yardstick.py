#!/usr/bin/env python3
"""PyTorch's mv + topk and matmul + topk on random unit vectors, to compare with gpu_bench.

Prints one JSON object; exits 77 where PyTorch or a GPU is missing.
"""
import json
import statistics
import sys
import time

try:
    import torch
except ImportError:
    print("PyTorch is not installed", file=sys.stderr)
    sys.exit(77)
if not torch.cuda.is_available():
    print("PyTorch sees no GPU", file=sys.stderr)
    sys.exit(77)

WORDS, DIMS, QUERIES = 2196016, 300, 1024


def wall_us(work, repeats):
    """Returns the median microseconds until the result is on the host."""
    times = []
    for i in range(repeats + 5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work(i)
        times.append((time.perf_counter() - start) * 1e6)
    return statistics.median(times[5:])


def batch(rows, queries, k):
    """Searches in chunks of queries, so that the products fit in memory."""
    found = []
    for chunk in queries.split(128):
        found.append(torch.topk(chunk @ rows.T, k).indices)
    return torch.cat(found).cpu()


result = {"torch": torch.__version__, "device": torch.cuda.get_device_name()}
rows32 = torch.randn(WORDS, DIMS, device="cuda")
rows32 /= rows32.norm(dim=1, keepdim=True)
queries32 = rows32[torch.randint(0, WORDS, (QUERIES,))]
for name, dtype in (("float32", torch.float32), ("float16", torch.float16)):
    rows, queries = rows32.to(dtype), queries32.to(dtype)
    for k in (10, 100, 1000):
        result[f"mv_topk_{name}_k{k}_us"] = wall_us(
            lambda i: torch.topk(rows @ queries[i % QUERIES], k).indices.cpu(), 60)
    result[f"batch1024_{name}_k10_us"] = wall_us(lambda i: batch(rows, queries, 10), 5)
    del rows, queries
copy_from = torch.empty(1 << 30, dtype=torch.int8, device="cuda")
copy_to = torch.empty_like(copy_from)
begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
best = 0
for _ in range(10):
    begin.record()
    copy_to.copy_(copy_from)
    end.record()
    torch.cuda.synchronize()
    best = max(best, 2 * copy_from.numel() / begin.elapsed_time(end) * 1e-9)
result["device_copy_tb_s"] = best
print(json.dumps(result, indent=2))
