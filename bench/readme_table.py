#!/usr/bin/env python3
"""Writes README.md's speed table, between its markers, from bench/data/gpu.json and bench/data/peers.json."""
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN = "<!-- speed table: written by bench/readme_table.py from the data in bench/data -->"
END = "<!-- end of speed table -->"


def read(name):
    path = ROOT / "bench" / "data" / name
    return json.loads(path.read_text()) if path.exists() else None


def ms(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def gpu_lines(data):
    sql, torch, ladder = data["sql_again"], data["torch"], data["ladder"]
    return [
        f"{data['gpu'].split(',')[0]}, 2,196,016 words x 300, k = 10:", "",
        "| | one query, ms | 1,024 queries, ms |", "|---|--:|--:|",
        f"| **this extension, exact, to the last SQL row** | **{ms(sql['k10_us_median'] / 1e3)}** | **{ms(sql['batch_us_median'] / 1e3)}** |",
        f"| PyTorch {torch['torch'].split('+')[0]}, float16 | {ms(torch['mv_topk_float16_k10_us'] / 1e3)} | {ms(torch['batch1024_float16_k10_us'] / 1e3)} |",
        f"| PyTorch {torch['torch'].split('+')[0]}, float32 | {ms(torch['mv_topk_float32_k10_us'] / 1e3)} | {ms(torch['batch1024_float32_k10_us'] / 1e3)} |",
        f"| cuBLAS gemv and CUB radix sort, float32 | {ms(ladder['gemv_and_sort_us'] / 1e3)} | |",
    ]


def cpu_lines(data):
    lines = [
        f"{data['machine']}, {data['threads']} threads, {data['rows']:,} words x {data['dims']}, k = {data['k']}:", "",
        f"| | one query, ms | {data['batch']:,} queries, ms | recall |", "|---|--:|--:|--:|",
    ]
    for peer in data["peers"]:
        ours = peer["name"] == "sqlite-glove"
        name = "this extension, exact, to the last SQL row" if ours else f"{peer['name']}: {peer['what']}"
        batch = ms(peer["batch_ms"]) if peer.get("batch_ms") else ""
        cells = [name, ms(peer["one_ms"]), batch, f"{peer['recall']:.3f}"]
        lines.append("| " + " | ".join(f"**{cell}**" if ours and cell else cell for cell in cells) + " |")
    return lines


def main():
    parts = []
    for data, lines in ((read("gpu.json"), gpu_lines), (read("peers.json"), cpu_lines)):
        if data is not None:
            parts.append("\n".join(lines(data)))
    readme = ROOT / "README.md"
    text = readme.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    readme.write_text(text[:begin] + "\n" + "\n\n".join(parts) + "\n" + text[end:])


if __name__ == "__main__":
    main()
