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
    row("`nearest()` alone, ms", lambda k: ms(engine[f"k{k}_us_median"]))
    row("candidates", lambda k: f"{engine[f'k{k}_candidates']:.0f}")
    for kind in ("float32", "float16"):
        key = "mv_topk_" + kind + "_k{}_us"
        row(f"PyTorch {torch['torch']} mv + topk, {kind}, ms (inexact)",
            lambda k: ms(torch[key.format(k)]) if key.format(k) in torch else "")
    return lines


def batch_table(data):
    engine, torch, again = data["engine"], data["torch"], data["sql_again"]
    lines = ["| a batch, k = 10 | ms | ms per query |", "|---|--:|--:|"]
    for queries in (1024,):
        us = engine[f"batch{queries}_k10_us_median"]
        lines.append(f"| {queries:,} queries, `nearest()` alone | {ms(us)} | {us / queries / 1000:.4f} |")
    stages, us = again["batch_stages_us"], again["batch_us_median"]
    lines.append(f"| 1,024, scan + select + rescore in glove_stats | {ms(stages)} | {stages / 1024000:.4f} |")
    lines.append(f"| 1,024 through SQL: word IN (...), {again['batch_rows']:,} rows of 4 columns | {ms(us)} | {us / 1024000:.4f} |")
    for kind in ("float16", "float32"):
        us = torch[f"batch1024_{kind}_k10_us"]
        lines.append(f"| 1,024, PyTorch matmul + topk in chunks, {kind} | {ms(us)} | {us / 1024000:.4f} |")
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
        f"The scan of the 4-bit codes, with the exact similarities for the threshold, takes {engine['kernel_coarse_k10_scan_us_median']:.0f} us, which is"
        f" {engine['kernel_coarse_k10_scan_tb_s']:.2f} TB/s.", "",
        "In a process that has used another model, the first answer from a model file in the page cache (ext4) takes",
        f"{again['first_answer_ms_median']:.1f} ms and {sql['first_answer_ms_median']:.1f} ms (medians of 7 in two processes); a copy of its 676 MB from",
        f"pinned memory would take {676.4 / engine['pinned_gb_s']:.1f} ms. 12 threads upload a file at {engine['upload_file_12_gb_s']:.1f} GB/s.",
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
