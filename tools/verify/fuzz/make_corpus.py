"""Writes the seeds of the corpora: make_corpus.py [LAUNCH_FILE...]

A few kernels of the probes, each as a file of PTX, and the launch files that are named.
"""
import pathlib
import re
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
PTX_SEEDS = ["ok_producer_consumer", "race_grid_barrier_after", "ok_compaction", "ok_half_syncwarp", "divergence_predicated",
             "race_bytes", "ok_count_or", "unsupported_mbarrier", "ok_warp_reduce", "race_in_loop_of_unknown_length"]


def seed(input_name, name, content):
    folder = HERE / "corpus" / input_name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def main(*launch_files):
    with tarfile.open(HERE.parent / "tests" / "probes" / "probes.ptx.tar.xz") as archive:
        ptx = archive.extractfile("probes.sm_90.ptx").read().decode()
    head, kernels = ptx[:ptx.index(".visible .entry")], re.findall(r"^\.visible \.entry (\w+)(.*?^}\n)", ptx, re.M | re.S)
    for name, body in kernels:
        if name in PTX_SEEDS:
            lines = [line for line in f".visible .entry {name}{body}".split("\n") if line.strip() and ".loc" not in line]
            seed("ptx", name, (head + "\n".join(lines) + "\n").encode())
    for spec in map(pathlib.Path, launch_files):
        seed("launch", spec.name.removesuffix(".launch.toml"), spec.read_bytes())


main(*sys.argv[1:])
