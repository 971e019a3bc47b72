"""Makes a virtual environment of what a file lists, or keeps it while the file is the same: environment.py FOLDER REQUIREMENTS

Skipped if pip cannot install, as where PyPI is out of reach, and in the short form of the tests.
"""
import hashlib
import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys

SKIPPED = 77


def skip(reason):
    print("skipped: " + reason)
    sys.exit(SKIPPED)


def main(folder, requirements):
    if os.environ.get("GLOVE_TEST_SHORT"):
        skip("only ./tests/run.sh --all installs packages")
    if not hasattr(sqlite3.connect(":memory:"), "enable_load_extension"):
        skip("this Python's sqlite3 cannot load extensions")
    if importlib.util.find_spec("ensurepip") is None:
        skip("this Python cannot make virtual environments (Debian: python3-venv)")
    with open(requirements, "rb") as file:
        wanted = hashlib.sha256(file.read() + sys.version.encode()).hexdigest()
    mark = os.path.join(folder, "installed")
    if os.path.exists(mark):
        with open(mark, encoding="ascii") as file:
            if file.read() == wanted:
                return
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    # The list is complete, and what a test imports is compiled when it does so.
    done = subprocess.run([os.path.join(folder, "bin", "python3"), "-m", "pip", "install", "--no-deps", "--no-compile", "--only-binary=:all:",
                           "--retries=1", "--timeout=30", "--disable-pip-version-check", "--quiet", "--requirement", requirements],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
        skip("pip cannot install the packages: " + (errors[0][len("ERROR: "):] if errors else f"it ends with {done.returncode}"))
    with open(mark, "w", encoding="ascii") as file:
        file.write(wanted)


if __name__ == "__main__":
    main(*sys.argv[1:])
