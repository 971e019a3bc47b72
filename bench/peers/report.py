"""Writes the results of a run: a table in bench/RESULTS.md, a JSON file and an SVG plot."""
import json
import math
import os

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BEGIN, END = "<!-- peers: begin -->", "<!-- peers: end -->"


def megabytes(count):
    return f"{count / 1e6:,.0f}"


def table(result):
    ours = next((p for p in result["peers"] if p["name"] == "sqlite-glove"), result["peers"][0])
    batch = f"{result['batch']:,} queries"
    lines = [
        f"| | version | one query, ms | times ours | {batch}, ms | times ours | recall@10 | own MB | mapped MB | ready in s |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for peer in result["peers"]:
        many = f"{peer['batch_ms']:,.0f}" if peer["batch_ms"] else ""
        ratio = f"{peer['batch_ms'] / ours['batch_ms']:.1f}" if peer["batch_ms"] and ours["batch_ms"] else ""
        lines.append(
            f"| {peer['name']}: {peer['what']} | {peer['version'].partition(';')[0]} | {peer['one_ms']:.2f} |"
            f" {peer['one_ms'] / ours['one_ms']:.1f} | {many} | {ratio} | {peer['recall']:.4f} |"
            f" {megabytes(peer['memory']['own'])} | {megabytes(peer['memory']['mapped'])} |"
            f" {peer['prepare_s']:.1f} |")
    floor = result["bare_read_ms"]
    lines.append(f"| a bare read of the bytes that sqlite-glove scans | | {floor:.2f} |"
                 f" {floor / ours['one_ms']:.2f} | | | | | | |")
    return "\n".join(lines)


def section(result):
    return f"""{BEGIN}
## Comparison with other CPU searches

`bench/peers.sh`, {result['date']}, commit {result['commit']}, {result['machine']}, {result['threads']} threads;
{result['rows']:,} x {result['dims']}, k = {result['k']}; medians of {result['queries']} queries per worker, all workers interleaved in one run;
load of the machine {result['load']['before']:.1f} before and {result['load']['after']:.1f} after. Seed {result['seed']}. All numbers: data/peers.json.

{table(result)}

Times are what a Python program waits for, including `fetchall`. Recall is measured against double precision over all rows.
Memory is that of the whole process, including Python; "mapped" means file pages that the kernel may reclaim.

![One query, milliseconds](data/peers.svg)
{END}
"""


def plot(result):
    """Horizontal bars over a logarithmic axis."""
    bars = [(p["name"], p["one_ms"], p["recall"]) for p in result["peers"]]
    bars.append(("a bare read of the codes", result["bare_read_ms"], None))
    bars.sort(key=lambda bar: bar[1])
    low = math.floor(math.log10(bars[0][1]) * 2 - 0.5) / 2
    high = math.ceil(math.log10(bars[-1][1]) * 2 + 0.3) / 2
    left, width, row = 210, 430, 28
    height = 60 + row * len(bars)

    def x(value):
        return left + width * (math.log10(value) - low) / (high - low)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{height}" font-family="sans-serif" font-size="13">',
             f'<rect width="760" height="{height}" fill="white"/>',
             f'<text x="10" y="20" font-weight="bold">One query, k = {result["k"]}, {result["rows"]:,} x {result["dims"]},'
             f' {result["threads"]} threads: milliseconds (logarithmic)</text>']
    for power in range(math.ceil(low), math.floor(high) + 1):
        parts.append(f'<line x1="{x(10 ** power):.1f}" x2="{x(10 ** power):.1f}" y1="32" y2="{height - 22}" stroke="#ddd"/>')
        parts.append(f'<text x="{x(10 ** power):.1f}" y="{height - 8}" text-anchor="middle" fill="#666">{10 ** power:g}</text>')
    for i, (name, ms, recall) in enumerate(bars):
        y = 38 + row * i
        colour = "#1f77b4" if name.startswith("sqlite-glove") else "#999999" if recall is None else "#c7a76c"
        note = f"{ms:.2f}" if recall is None or recall > 0.99999 else f"{ms:.2f} (recall {recall:.3f})"
        parts.append(f'<text x="{left - 8}" y="{y + 15}" text-anchor="end">{name}</text>')
        parts.append(f'<rect x="{left}" y="{y}" width="{x(ms) - left:.1f}" height="20" fill="{colour}"/>')
        parts.append(f'<text x="{x(ms) + 6:.1f}" y="{y + 15}">{note}</text>')
    return "\n".join(parts + ["</svg>", ""])


def write(result):
    os.makedirs(os.path.join(HERE, "data"), exist_ok=True)
    with open(os.path.join(HERE, "data", "peers.json"), "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    with open(os.path.join(HERE, "data", "peers.svg"), "w") as file:
        file.write(plot(result))
    path = os.path.join(HERE, "RESULTS.md")
    text = open(path).read() if os.path.exists(path) else "# Results\n"
    if BEGIN in text:
        text = text[: text.index(BEGIN)] + section(result) + text[text.index(END) + len(END) + 1 :]
    else:
        text = text.rstrip("\n") + "\n\n" + section(result)
    with open(path, "w") as file:
        file.write(text)
