#!/usr/bin/env python3
"""Draws the time of a search against the number of rows on GPUs, from what bench/gpu/giant has printed: scale_plot.py [--check]

Reads bench/data/giant_gpu.jsonl and writes bench/data/scale.svg, which docs/gpu.md shows. With --check nothing is written; the exit
status is 1 if the plot would change.
"""
import json
import math
import re
import sys
from xml.sax.saxutils import escape

from dot_plot import GRID, OTHER, OURS, TEXT, ms
from readme_table import ROOT

DATA = ROOT / "bench" / "data" / "giant_gpu.jsonl"
PLOT = ROOT / "bench" / "data" / "scale.svg"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 800, 420, 84, 220, 56, 350
CURVES = (("batch1024_k10_us", "1,024 queries"), ("k10_us", "one query"))
COLOURS = (OURS, OTHER)  # of the runs, the one with the fewest devices first


def read_runs(path):
    """The runs of the file: of each the machine, and the searches on all devices by their number of rows."""
    runs = []
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["what"] == "machine":
            names = [value for key, value in entry.items() if re.fullmatch(r"device\d+", key)]
            runs.append({"dims": entry["dims"], "devices": len(names), "name": names[0], "searches": []})
        elif entry["what"] == "search" and entry["devices"] == "all":
            runs[-1]["searches"].append(entry)
    return sorted(runs, key=lambda run: run["devices"])


def plot_of(runs):
    """SVG: milliseconds against rows, both logarithmic."""
    searches = [entry for run in runs for entry in run["searches"]]
    times = [entry[key] / 1e3 for entry in searches for key, _ in CURVES]
    first_ms, last_ms = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    first, last = (math.log10(choose(entry["rows"] for entry in searches)) for choose in (min, max))

    def x_of(rows):
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(rows) - first) / (last - first)

    def y_of(milliseconds):
        return BOTTOM - (BOTTOM - TOP) * (math.log10(milliseconds) - first_ms) / (last_ms - first_ms)

    title = f"Rows of {runs[0]['dims']} dimensions on {' and on '.join(str(run['devices']) for run in runs)} {runs[0]['name']}, k = 10"
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
           'font-family="sans-serif" font-size="13">',
           f"<title>{escape(title)}: milliseconds against rows</title>",
           f'<text x="{LEFT}" y="20" font-weight="bold" fill="{TEXT}">{escape(title)}</text>']
    for exponent in range(first_ms, last_ms + 1):
        y = y_of(10**exponent)
        svg.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GRID}" stroke-opacity="0.35"/>')
        svg.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="{TEXT}">{10.0**exponent:g} ms</text>')
    for rows in (2e6, 5e6, 1e7, 2e7, 5e7, 1e8, 2e8):
        if first - 0.02 <= math.log10(rows) <= last + 0.02:
            x = x_of(rows)
            svg.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{BOTTOM}" stroke="{GRID}" stroke-opacity="0.35"/>')
            svg.append(f'<text x="{x:.1f}" y="{BOTTOM + 18}" text-anchor="middle" fill="{TEXT}">{rows / 1e6:g}</text>')
    for run, colour in zip(runs, COLOURS):
        for key, name in CURVES:
            points = [(x_of(entry["rows"]), y_of(entry[key] / 1e3)) for entry in run["searches"]]
            path = " ".join(f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(points))
            svg.append(f'<path d="{path}" fill="{colour}" fill-opacity="0" stroke="{colour}" stroke-width="2"/>')
            svg.extend(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in points)
            x, y = points[-1]
            above = run is runs[0]
            anchor = "end" if above else "start"
            svg.append(f'<text x="{x + (-12 if above else 10):.1f}" y="{y + (-8 if above else 4):.1f}" text-anchor="{anchor}" '
                       f'fill="{colour}">{run["devices"]} GPUs, {name}: {ms(run["searches"][-1][key] / 1e3)} ms</text>')
    svg.append(f'<text x="{LEFT}" y="{BOTTOM + 44}" fill="{TEXT}">Milliseconds against millions of rows, both logarithmic; medians.</text>')
    return "\n".join(svg) + "\n</svg>\n"


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    plot = plot_of(read_runs(DATA))
    if PLOT.exists() and PLOT.read_text(encoding="utf-8") == plot:
        return 0
    if sys.argv[1:]:
        print(f"{PLOT.relative_to(ROOT)} is not what bench/scale_plot.py makes of bench/data; run it")
        return 1
    PLOT.write_text(plot, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
