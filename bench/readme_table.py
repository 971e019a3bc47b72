#!/usr/bin/env python3
"""Writes README.md's sentence on GPUs, between its markers, and the plot bench/data/speed.svg: readme_table.py [--check]

The data are gpu.json, peers.json and recall.json of bench/data; bench/RESULTS.md has the tables. With
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


class Axes:
    """Milliseconds from 10^first to 10^last, logarithmic, to the right, and recall from `lowest` to 1 upwards, between top and bottom."""

    def __init__(self, first, last, lowest, top, bottom):
        self.first, self.last, self.lowest, self.top, self.bottom = first, last, lowest, top, bottom

    def x(self, milliseconds):
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(milliseconds) - self.first) / (self.last - self.first)

    def y(self, recall):
        return self.bottom - (self.bottom - self.top) * (recall - self.lowest) / (1 - self.lowest)

    def grid(self, percent_step):
        for exponent in range(self.first, self.last + 1):
            x = self.x(10**exponent)
            yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{self.top}" y2="{self.bottom}" stroke="{GRID}" stroke-opacity="0.35"/>'
            yield f'<text x="{x:.1f}" y="{self.bottom + 18}" text-anchor="middle" fill="{TEXT}">{10.0**exponent:g} ms</text>'
        for percent in range(round(self.lowest * 100), 101, percent_step):
            y = self.y(percent / 100)
            yield f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GRID}" stroke-opacity="0.35"/>'
            yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="{TEXT}">{percent / 100:.2f}</text>'


def title_of(text, y):
    return f'<text x="{LEFT}" y="{y}" font-weight="bold" fill="{TEXT}">{escape(text)}</text>'


def points_of(peers, top):
    """Lines of SVG with a point for each search, and where they end.

    Labels stand to the right of vertical leaders. From left to right each leader is shorter than the one before, so that no label
    touches a leader or another label.
    """
    peers = sorted(peers, key=lambda peer: peer["one_ms"])
    first, last = math.floor(math.log10(peers[0]["one_ms"])), math.ceil(math.log10(peers[-1]["one_ms"]))
    lowest = math.floor(min(peer["recall"] for peer in peers) * 100) / 100
    axes = Axes(first, last, lowest, top + LABEL_HEIGHT * len(peers), top + LABEL_HEIGHT * len(peers) + 90)
    lines = list(axes.grid(1))
    for i, peer in enumerate(peers):
        colour = OURS if peer["name"].startswith("sqlite-glove") else OTHER
        x, y, label_y = axes.x(peer["one_ms"]), axes.y(peer["recall"]), top + 6 + LABEL_HEIGHT * i
        weight = ' font-weight="bold"' if peer["name"] == "sqlite-glove" else ""
        lines.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y:.1f}" y2="{label_y - 10}" stroke="{colour}" stroke-opacity="0.6"/>')
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>')
        lines.append(f'<text x="{x + 5:.1f}" y="{label_y}" fill="{colour}"{weight}>{escape(peer["name"])}, {ms(peer["one_ms"])} ms</text>')
    return lines, axes.bottom


LOWEST_RECALL = 0.85  # of the curves
DASHES = ("6 3", "2 3", "8 3 2 3")  # of the others


def curves_of(curves, top):
    """Lines of SVG with a curve for each approximate search, its name to the right of its last point, and where they end."""
    shown = {name: [(recall, time) for recall, time in sorted(points) if recall >= LOWEST_RECALL] for name, points in curves.items()}
    times = [time for points in shown.values() for _, time in points]
    axes = Axes(math.floor(math.log10(min(times))), math.ceil(math.log10(max(times))), LOWEST_RECALL, top, top + 150)
    lines = list(axes.grid(5))
    others = iter(DASHES)
    label_y = axes.top - 14
    for name, points in sorted(shown.items(), key=lambda curve: -curve[1][-1][0] / curve[1][-1][1]):
        ours = name == "sqlite-glove"
        colour, dash = (OURS, "") if ours else (OTHER, f' stroke-dasharray="{next(others)}"')
        path = " ".join(f"{axes.x(time):.1f},{axes.y(recall):.1f}" for recall, time in points)
        lines.append(f'<polyline points="{path}" fill="{colour}" fill-opacity="0" stroke="{colour}" stroke-width="2"{dash}/>')
        lines += [f'<circle cx="{axes.x(time):.1f}" cy="{axes.y(recall):.1f}" r="{5 if ours else 3}" fill="{colour}"/>' for recall, time in points]
        label_y += 24
        y, legend = label_y, WIDTH - RIGHT + 14
        lines.append(f'<line x1="{legend}" x2="{legend + 34}" y1="{y - 4:.1f}" y2="{y - 4:.1f}" stroke="{colour}" stroke-width="2"{dash}/>')
        label = "sqlite-glove, recall = ..." if ours else name
        weight = ' font-weight="bold"' if ours else ""
        lines.append(f'<text x="{legend + 42}" y="{y:.1f}" fill="{colour}"{weight}>{escape(label)}</text>')
    return lines, axes.bottom


def plot_of(peers, recall):
    """SVG: milliseconds for one query, on a logarithmic axis, against recall: of each search as it is used, and of approximate ones."""
    title = f"One query, k = {peers['k']}, {peers['rows']:,} words x {peers['dims']}, {peers['machine']}"
    points, bottom = points_of(peers["peers"], 34)
    rows, dims = recall["rows"]
    second = f"Approximate answers, k = 10, {rows:,} words x {dims}, one thread of {recall['machine']}"
    curves, end = curves_of(recall["curves"], bottom + 70)
    height = end + 46
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="13">',
        f"<title>{escape(title)}: milliseconds against recall</title>", title_of(title, 18), *points, title_of(second, bottom + 54), *curves,
        f'<text x="{LEFT}" y="{end + 38}" fill="{TEXT}">Milliseconds (logarithmic) against recall: further left is faster, '
        'higher finds more of the nearest words.</text>', "</svg>"]) + "\n"


def outputs():
    """{path: text} of every file that this script writes."""
    parts, files = [], {}
    peers, recall, gpu = read("peers.json"), read("recall.json"), read("gpu.json")
    if peers is not None and recall is not None:
        files[ROOT / PLOT] = plot_of(peers, recall)
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
