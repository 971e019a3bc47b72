#!/usr/bin/env python3
"""Writes README.md's plot and the sentences below it, between their markers: readme_table.py [--check]

The data are bench/data/gpu.json and bench/data/peers.json, and the plot is bench/data/speed.svg; bench/RESULTS.md has the tables. With
--check nothing is written; the exit status is 1 if something would change.
"""
import json
import math
import pathlib
import sys
import textwrap
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN = "<!-- speed: written by bench/readme_table.py from the data in bench/data -->"
END = "<!-- end of speed -->"
PLOT = "bench/data/speed.svg"


def read(name):
    path = ROOT / "bench" / "data" / name
    return json.loads(path.read_text()) if path.exists() else None


def ms(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def gpu_sentence(data):
    sql, torch = data["sql_again"], data["torch"]
    return (f"On one {data['gpu'].split(',')[0]}, a query over 2,196,016 vectors of 300 dimensions takes {ms(sql['k10_us_median'] / 1e3)} ms in SQL, all rows "
            f"of the answer included, and 1,024 queries {ms(sql['batch_us_median'] / 1e3)} ms; PyTorch {torch['torch'].split('+')[0]} takes "
            f"{ms(torch['mv_topk_float16_k10_us'] / 1e3)} and {ms(torch['batch1024_float16_k10_us'] / 1e3)} ms with float16, which is inexact.")


# Each colour has a contrast of at least 4 with both white and GitHub's dark background (tests/docs/test_speed_plot.py).
TEXT, GRID, OURS, OTHER = "#76777a", "#76777a", "#1f7fd6", "#76777a"
WIDTH, LEFT, RIGHT, LABEL_HEIGHT = 800, 70, 230, 18


def plot_of(data):
    """SVG: milliseconds for one query, on a logarithmic axis, against recall.

    Labels stand to the right of vertical leaders. From left to right each leader is shorter than the one before, so that no label
    touches a leader or another label.
    """
    peers = sorted(data["peers"], key=lambda peer: peer["one_ms"])
    first, last = math.floor(math.log10(peers[0]["one_ms"])), math.ceil(math.log10(peers[-1]["one_ms"]))
    lowest = math.floor(min(peer["recall"] for peer in peers) * 100) / 100
    top = 34 + LABEL_HEIGHT * len(peers)
    bottom = top + 90

    def x_of(milliseconds):
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(milliseconds) - first) / (last - first)

    def y_of(recall):
        return bottom - (bottom - top) * (recall - lowest) / (1 - lowest)

    title = f"One query, k = {data['k']}, {data['rows']:,} words x {data['dims']}, {data['machine']}"
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 46}" width="{WIDTH}" height="{bottom + 46}" '
             'font-family="sans-serif" font-size="13">',
             f"<title>{escape(title)}: milliseconds against recall</title>",
             f'<text x="{LEFT}" y="18" font-weight="bold" fill="{TEXT}">{escape(title)}</text>']
    for exponent in range(first, last + 1):
        x = x_of(10**exponent)
        lines.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" stroke="{GRID}" stroke-opacity="0.35"/>')
        lines.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle" fill="{TEXT}">{10.0**exponent:g} ms</text>')
    for percent in range(round(lowest * 100), 101):
        y = y_of(percent / 100)
        lines.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GRID}" stroke-opacity="0.35"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="{TEXT}">{percent / 100:.2f}</text>')
    lines.append(f'<text x="{LEFT}" y="{bottom + 38}" fill="{TEXT}">Milliseconds (logarithmic) against recall: further left is faster, '
                 'higher finds more of the nearest words.</text>')
    for i, peer in enumerate(peers):
        colour = OURS if peer["name"].startswith("sqlite-glove") else OTHER
        x, y, label_y = x_of(peer["one_ms"]), y_of(peer["recall"]), 40 + LABEL_HEIGHT * i
        weight = ' font-weight="bold"' if peer["name"] == "sqlite-glove" else ""
        lines.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y:.1f}" y2="{label_y - 10}" stroke="{colour}" stroke-opacity="0.6"/>')
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>')
        lines.append(f'<text x="{x + 5:.1f}" y="{label_y}" fill="{colour}"{weight}>{escape(peer["name"])}, {ms(peer["one_ms"])} ms</text>')
    return "\n".join(lines) + "\n</svg>\n"


def outputs():
    """{path: text} of every file that this script writes."""
    parts, files = [], {}
    peers, gpu = read("peers.json"), read("gpu.json")
    if peers is not None:
        files[ROOT / PLOT] = plot_of(peers)
        parts.append(f"![Milliseconds for one query against recall, beside other searches]({PLOT})")
    if gpu is not None:
        parts.append(textwrap.fill(gpu_sentence(gpu) + " [All measurements](bench/RESULTS.md)", 130, break_long_words=False))
    readme = ROOT / "README.md"
    text = readme.read_text()
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    files[readme] = text[:begin] + "\n" + "\n\n".join(parts) + "\n" + text[end:]
    return files


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    stale = [path for path, text in outputs().items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if sys.argv[1:]:
            print(f"{path.relative_to(ROOT)} is not what bench/readme_table.py makes of bench/data; run it")
        else:
            path.write_text(outputs()[path])
    return 1 if stale and sys.argv[1:] else 0


if __name__ == "__main__":
    raise SystemExit(main())
