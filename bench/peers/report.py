"""Writes the results of a run: a table in bench/RESULTS.md, a JSON file and an SVG plot."""
import json
import os
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(HERE)
from dot_plot import dot_plot
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
    """The bare read is in the table alone: it copies all bytes, and searches with bounds do not read them all."""
    title = f"One query, k = {result['k']}, {result['rows']:,} words x {result['dims']}, {result['machine']}"
    return dot_plot(title, [(f"{result['threads']} threads, unless a name says another", [(p["name"], p["one_ms"], p["recall"]) for p in result["peers"]])])


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
