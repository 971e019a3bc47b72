#!/usr/bin/env python3
"""Writes README.md's sentence on GPUs, between its markers, and the plots speed.svg and peers.svg of bench/data: readme_table.py [--check]

The data are gpu.json, speed.json and peers.json of bench/data; bench/RESULTS.md has the tables, whose figures those of speed.json are.
With --check nothing is written; the exit status is 1 if something would change.
"""
import json
import pathlib
import sys
import textwrap

from dot_plot import dot_plot, ms
from peers import report

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN = "<!-- speed: written by bench/readme_table.py from the data in bench/data -->"
END = "<!-- end of speed -->"


def read(name):
    path = ROOT / "bench" / "data" / name
    return json.loads(path.read_text()) if path.exists() else None


def gpu_sentence(data):
    sql, torch = data["sql_again"], data["torch"]
    return (f"On one {data['gpu'].split(',')[0]}, a query over 2,196,016 vectors of 300 dimensions takes {ms(sql['k10_us_median'] / 1e3)} ms in SQL, all rows "
            f"of the answer included, and 1,024 queries {ms(sql['batch_us_median'] / 1e3)} ms; PyTorch {torch['torch'].split('+')[0]} takes "
            f"{ms(torch['mv_topk_float16_k10_us'] / 1e3)} and {ms(torch['batch1024_float16_k10_us'] / 1e3)} ms with float16, which is inexact.")


def outputs():
    """{path: text} of every file that this script writes."""
    parts, files = [], {}
    peers, speed, gpu = read("peers.json"), read("speed.json"), read("gpu.json")
    if speed is not None:
        files[ROOT / "bench/data/speed.svg"] = dot_plot(speed["title"], [(group["heading"], group["searches"]) for group in speed["groups"]])
    if peers is not None:
        files[ROOT / "bench/data/peers.svg"] = report.plot(peers)
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
