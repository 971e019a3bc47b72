#!/usr/bin/env python3
"""Writes the GPU section of bench/RESULTS.md, between its markers, from bench/data/gpu.json."""
import json
import pathlib

BENCH = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- gpu: begin -->", "<!-- gpu: end -->"


def ms(microseconds):
    return f"{microseconds / 1000:.3f}" if microseconds < 10000 else f"{microseconds / 1000:.1f}"


def single_table(data):
    engine, sql, again, torch = (data[key] for key in ("engine", "sql", "sql_again", "torch"))
    lines = ["| one query | k = 1 | k = 10 | k = 100 | k = 1000 |", "|---|--:|--:|--:|--:|"]
    ks = (1, 10, 100, 1000)

    def row(name, value):
        lines.append(f"| {name} | " + " | ".join(value(k) for k in ks) + " |")

    row("SQL, sqlite3_step to the last row, median of five times 200, ms (two processes)",
        lambda k: f"{ms(again[f'k{k}_us_median'])}, {ms(sql[f'k{k}_us_median'])}")
    if "k10_nomutex_us_median" in again:
        row("the same on a connection opened with SQLITE_OPEN_NOMUTEX, ms",
            lambda k: f"{ms(again[f'k{k}_nomutex_us_median'])}, {ms(sql[f'k{k}_nomutex_us_median'])}")
    row("`nearest()` alone, ms", lambda k: ms(engine[f"k{k}_us_median"]))
    row("of that: launch, scan / threshold / refinement and exact products, us",
        lambda k: f"{engine[f'k{k}_scan_us']:.0f} / {engine[f'k{k}_select_us']:.1f} / {engine[f'k{k}_rescore_us']:.0f}")
    row("candidates", lambda k: f"{engine[f'k{k}_candidates']:.0f}")
    for kind in ("float32", "float16"):
        key = "mv_topk_" + kind + "_k{}_us"
        row(f"PyTorch {torch['torch']} mv + topk, {kind}, ms (inexact)",
            lambda k: ms(torch[key.format(k)]) if key.format(k) in torch else "")
    return lines


def batch_table(data):
    engine, torch, again = data["engine"], data["torch"], data["sql_again"]
    lines = ["| a batch, k = 10 | ms | ms per query |", "|---|--:|--:|"]
    for queries in (2, 8, 32, 128, 1024):
        us = engine[f"batch{queries}_k10_us_median"]
        lines.append(f"| {queries:,} queries, `nearest()` alone | {ms(us)} | {us / queries / 1000:.4f} |")
    stages, us = again["batch_stages_us"], again["batch_us_median"]
    lines.append(f"| 1,024, scan + select + rescore in glove_stats | {ms(stages)} | {stages / 1024000:.4f} |")
    lines.append(f"| 1,024 through SQL: word IN (...), {again['batch_rows']:,} rows of 4 columns | {ms(us)} | {us / 1024000:.4f} |")
    for kind in ("float16", "float32"):
        us = torch[f"batch1024_{kind}_k10_us"]
        lines.append(f"| 1,024, PyTorch matmul + topk in chunks, {kind} | {ms(us)} | {us / 1024000:.4f} |")
    return lines


def ladder_table(data):
    ladder, engine, words = data["ladder"], data["engine"], data["ladder"]["words"]
    lines = ["| the ladder: all rows' products with one query | us | TB/s |", "|---|--:|--:|"]
    steps = {"row": "one thread per row", "shared8": "8 threads per row, shared memory", "shuffle8": "8 threads per row, register shuffles"}
    for step, name in steps.items():
        for kind in ("float32", "float16", "int8"):
            lines.append(f"| {name}, {kind} | {ladder[f'{step}_{kind}_us']:.0f} | {ladder[f'{step}_{kind}_tb_s']:.2f} |")
    gemv = ladder["cublas_gemv_us"]
    lines.append(f"| cuBLAS gemv, float32 | {gemv:.0f} | {words * 1200 / gemv * 1e-6:.2f} |")
    lines.append(f"| CUB radix sort of the scores | {ladder['cub_sort_us']:.0f} | |")
    lines.append(f"| cuBLAS gemv, then CUB radix sort | {ladder['gemv_and_sort_us']:.0f} | |")
    shipped = {
        "one_way": "tiles of 32 rows, two planes, bounds and selection, int8",
        "k10": "the same, every other scan backwards",
        "coarse_k10": "**4-bit codes, with the exact similarities for the threshold: what ships**",
    }
    for key, name in shipped.items():
        lines.append(f"| {name} | {engine[f'kernel_{key}_scan_us_median']:.0f} | {engine[f'kernel_{key}_scan_tb_s']:.2f} |")
    return lines


def section(data):
    engine, again, sql, torch = data["engine"], data["sql_again"], data["sql"], data["torch"]
    kernel = engine["kernel_coarse_k10_us_median"]
    lines = [
        BEGIN, f"## On a GPU: 2,196,016 x 300 random unit vectors", "",
        f"`bench/gpu/run.sh`, {data['date']}, commit {data['commit']}, {data['gpu']} (driver), {data['cores']} CPU cores, Linux",
        f"{data['kernel']}; everything in one run on one machine. A device-to-device copy moves {torch['device_copy_tb_s']:.2f} TB/s there, a copy from pinned",
        f"memory {engine['pinned_gb_s']:.1f} GB/s. All numbers: data/gpu.json.", "",
        *single_table(data), "",
        f"The kernel takes {kernel:.0f} us between two events, so {again['k10_us_median'] - kernel:.0f} us of an answer are spent outside it. In `glove_stats`, resolve,",
        f"scan, select and rescore add up to {again['k10_stages_us'] / again['k10_beside_stats_us_median'] * 100:.0f} % of the time from sqlite3_step to the last row (k = 10).", "",
        *batch_table(data), "",
        *ladder_table(data), "",
        "TB/s is the number of bytes read divided by the time. The int8 rows of the ladder count codes; the tile scans count codes, scales",
        "and residuals, and their time runs from the start of the first block until all blocks know that the scan is over. The float32 and",
        "float16 steps of the ladder compute similarities that are not exact, and select nothing. The following was tried and does not pay:",
        "a ring of Hopper's bulk copies (no faster); assigning tiles to blocks dynamically, or a histogram in device memory (2.6 ns for each",
        "atomic operation on one address: 6 to 22 % slower); asking L2 to keep lines (no better than reversing every other scan); and reading",
        "tiles again after the threshold (12 us at k = 1000).", "",
        f"At k = 1000, SQLite takes {ms(again['k1000_kept_us_median'])} and {ms(sql['k1000_kept_us_median'])} ms of the time to read 1,000 rows whose answer is cached and whose words are in the",
        "processor's cache. This time differs between such machines, and on one of them from second to second. Prefetching words in groups",
        "instead of one at a time does not pay.", "",
        "In a process that has used another model, the first answer from a model file in the page cache (ext4) takes",
        f"{again['first_answer_ms_median']:.1f} ms and {sql['first_answer_ms_median']:.1f} ms (medians of 7 in two processes, whose first ones took {again['first_answer_ms_cold']:.1f} and {sql['first_answer_ms_cold']:.1f}). It needs 676 MB on the",
        f"device, which a copy from pinned memory would move in {676.4 / engine['pinned_gb_s']:.1f} ms. 12 threads upload a file at {engine['upload_file_12_gb_s']:.1f} GB/s,",
        f"{engine['upload_file_12_gb_s'] / engine['pinned_gb_s'] * 100:.0f} % of the pinned rate. The float32 rows follow after the first answer.",
        END]
    return "\n".join(lines)


def main():
    data = json.loads((BENCH / "data" / "gpu.json").read_text())
    results = BENCH / "RESULTS.md"
    text = results.read_text() if results.exists() else "# Results\n"
    new = section(data)
    if BEGIN in text:
        text = text[:text.index(BEGIN)] + new + text[text.index(END) + len(END):]
    else:
        text = text.rstrip("\n") + "\n\n" + new + "\n"
    results.write_text(text)


if __name__ == "__main__":
    main()
