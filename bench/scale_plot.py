#!/usr/bin/env python3
"""Draws the time of a search against the number of rows on GPUs, from what bench/gpu/giant has printed: scale_plot.py [--check]

Reads bench/data/giant_gpu.jsonl and writes bench/data/scale.svg, which docs/scale.md shows. With --check nothing is written; the exit
status is 1 if the plot would change.
"""
import json
import math
import pathlib
import sys
from xml.sax.saxutils import escape

from readme_table import GRID, OTHER, OURS, ROOT, TEXT, ms

DATA = ROOT / "bench" / "data" / "giant_gpu.jsonl"
PLOT = ROOT / "bench" / "data" / "scale.svg"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 800, 420, 84, 170, 56, 350
CURVES = (("batch1024_k10_us", "1,024 queries, k = 10", OTHER), ("k1000_us", "k = 1,000", OTHER), ("k10_us", "k = 10", OURS))


def read_lines(path):
    """The objects of the file, by what they are."""
    lines = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        lines.setdefault(entry["what"], []).append(entry)
    return lines


def rows_text(rows):
    return f"{rows / 1e6:g} million" if rows < 1e9 else f"{rows / 1e9:g} billion"


def plot_of(lines):
    """SVG: milliseconds against rows, both logarithmic."""
    machine = lines["machine"][0]
    names = [value for key, value in machine.items() if key.startswith("device") and not key.endswith("_bytes")]
    searches = sorted((entry for entry in lines["search"] if entry["devices"] == "all"), key=lambda entry: entry["rows"])
    times = [entry[key] / 1e3 for entry in searches for key, _, _ in CURVES]
    first_ms, last_ms = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    first, last = (math.log10(searches[i]["rows"]) for i in (0, -1))

    def x_of(rows):
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(rows) - first) / (last - first)

    def y_of(milliseconds):
        return BOTTOM - (BOTTOM - TOP) * (math.log10(milliseconds) - first_ms) / (last_ms - first_ms)

    title = f"Rows of {machine['dims']} dimensions on {len(names)} {names[0]}"
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
            svg.append(f'<line x1="{x_of(rows):.1f}" x2="{x_of(rows):.1f}" y1="{TOP}" y2="{BOTTOM}" stroke="{GRID}" stroke-opacity="0.35"/>')
            svg.append(f'<text x="{x_of(rows):.1f}" y="{BOTTOM + 18}" text-anchor="middle" fill="{TEXT}">{rows_text(rows)}</text>')
    for key, name, colour in CURVES:
        points = [(x_of(entry["rows"]), y_of(entry[key] / 1e3)) for entry in searches]
        path = " ".join(f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(points))
        svg.append(f'<path d="{path}" fill="{colour}" fill-opacity="0" stroke="{colour}" stroke-width="2"/>')
        svg.extend(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in points)
        label, shift = points[-1][1], {"k1000_us": -4, "k10_us": 14}.get(key, 4)
        svg.append(f'<text x="{WIDTH - RIGHT + 10}" y="{label + shift:.1f}" fill="{colour}">{name}: {ms(searches[-1][key] / 1e3)} ms</text>')
    svg.append(f'<text x="{LEFT}" y="{BOTTOM + 44}" fill="{TEXT}">Milliseconds against rows, both logarithmic; medians.</text>')
    return "\n".join(svg) + "\n</svg>\n"


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    plot = plot_of(read_lines(DATA))
    if PLOT.exists() and PLOT.read_text(encoding="utf-8") == plot:
        return 0
    if sys.argv[1:]:
        print(f"{PLOT.relative_to(ROOT)} is not what bench/scale_plot.py makes of bench/data; run it")
        return 1
    PLOT.write_text(plot, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
