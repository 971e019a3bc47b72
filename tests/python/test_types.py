"""The types of the Python package are complete: test_types.py --project FOLDER --extension GLOVE.SO --convert GLOVE-CONVERT

mypy --strict finds nothing in the package, and in a program that uses it exactly the errors that are marked. Skipped if mypy is
not installed.
"""
import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

import installed

SKIPPED = 77
PROGRAM = """import sqlite3
from typing import Any, Dict, List, Tuple
import sqlite_glove

conn = sqlite3.connect(":memory:")
sqlite_glove.load(conn)
docs = sqlite_glove.index(conn, "doc", [1], [[1.0, 0.0]], columns={"title": ["a"]}, invalid="skip")
tuples: List[Tuple[Any, ...]] = docs.search([1.0, 0.0], 3, where="title = ?", params=["a"])
dicts: List[Dict[str, Any]] = docs.search([1.0, 0.0], rows="dicts", among=[1], recall=1)
docs.search([1.0, 0.0], rows="lists")  # error
docs.search([1.0, 0.0], rows="frame").columns
docs.search_many([[1.0, 0.0]], rows="polars")
docs.search([1.0, 0.0], "ten")  # error
docs.add([2], [[0.0, 1.0]], {"title": ["b"]})
docs.add([2], [[0.0, 1.0]], ["b"])  # error


class Frame:
    shape = (1, 1)


docs.add([2], [[0.0, 1.0]], Frame())
fused: List[Dict[str, Any]] = docs.search([1.0, 0.0], hybrid="doc_fts", match="a", weights=(1, 0.5), constant=60, rows="dicts", where={"title": ["a", None]})
diverse: List[Tuple[Any, ...]] = docs.search([1.0, 0.0], 3, diversity=0.5, fetch=50)
docs.search([1.0, 0.0], diversity="much")  # error
docs.search([1.0, 0.0], where=1)  # error
many: List[Any] = docs.search_many([[1.0, 0.0]], 3, where={"title": "a"})
docs.search_many([[1.0, 0.0]], "ten")  # error
docs.like(1, 3, columns=["title"])
docs.like(1, rows="lists")  # error
row = docs.get(1, columns=["title"])
docs.drop(table=True)
docs.drop("doc")  # error
rows: int = len(docs)
keyed: sqlite_glove.Index = sqlite_glove.index(conn, "keyed", {"space": ["a"], "no": [1]}, [[1.0]], if_exists="open", index_columns=["a", ("b", "c")])
sqlite_glove.index(conn, "keyed", if_exists="replace")  # error
keyed.upsert([("a", 1)], [None])
keyed.delete(("a", 1))
opened = sqlite_glove.Index(conn, "keyed_vec", name="keyed_vec")
docs.delete(1)
docs.sync("now")  # error
notes = sqlite_glove.index(conn, "note", texts=["a"], model="all-MiniLM-L6-v2", progress=lambda done, total: None)
sqlite_glove.Index(conn, "note", model="all-MiniLM-L6-v2").sync(progress=lambda done, total: None)
notes.sync(progress=True)
notes.sync(progress=1)  # error
path: str = sqlite_glove.convert_path()
number: int = sqlite_glove.loadable_path()  # error


async def work() -> int:
    async with sqlite_glove.AsyncIndex("docs.db", "doc") as found:
        await found.add([3], [[1.0, 0.0]])
        await found.delete(3)
        await found.search([1.0, 0.0], 3, where={"title": "a"}, diversity=0.5)
        await found.search([1.0, 0.0], rows="lists")  # error
        size: str = await found.count()  # error
        return await found.call(len)
"""


def main():
    parser = argparse.ArgumentParser()
    for option in ("--project", "--extension", "--convert"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    if importlib.util.find_spec("mypy") is None:
        print("skipped: mypy is not installed (Debian: mypy)")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        installed.install(options.project, options.extension, folder)
        program = os.path.join(folder, "program.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "--no-color-output", "--cache-dir", os.devnull,
                   "-p", "sqlite_glove", "-m", "program"]  # together, because it reads Python's own types each time
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        found = re.findall(r"^(.*):(\d+): error", done.stdout, re.MULTILINE)
        marked = [("program.py", str(number)) for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# error")]
        assert sorted(set(found)) == sorted(marked), done.stdout + done.stderr


if __name__ == "__main__":
    main()
