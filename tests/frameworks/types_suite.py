"""mypy --strict finds nothing in the package where the frameworks are installed, and importing the package imports none of them."""
import os
import subprocess
import sys


def test_types():
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--disable-error-code=import-untyped", "--cache-dir", os.devnull,
                           "-p", "sqlite_glove"], capture_output=True, text=True, check=False, env={**os.environ, "MYPYPATH": os.environ["PYTHONPATH"]})
    assert done.returncode == 0, done.stdout + done.stderr


def test_imports():
    program = ("import sys, sqlite3; before = set(sys.modules); import sqlite_glove; "
               "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["sqlite_glove"]
    # What would take longer to import than the package, which takes less than 30 ms more than sqlite3.
    program = "import sys, sqlite3, sqlite_glove; print(*{'argparse', 'asyncio', 'concurrent', 'inspect', 'logging', 'pathlib', 'subprocess'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True).stdout.split() == []


def test_stores_are_short():
    folder = os.path.join(os.environ["GLOVE_PROJECT"], "packaging/python/sqlite_glove")
    for name in ("langchain.py", "haystack.py", "llama_index.py"):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            code = [line for line in file.read().split('"""')[::2] if line.strip()]
        lines = [line for part in code for line in part.splitlines() if line.strip() and not line.strip().startswith("#")]
        assert len(lines) <= 150, (name, len(lines))
