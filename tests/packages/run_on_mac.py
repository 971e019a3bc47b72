"""For a person with a Mac: python3 tests/packages/run_on_mac.py [DIST]

Runs what nobody has run yet: the npm package for this Mac that packaging/release.sh --others wrote to DIST (dist). Checks its signature,
converts the example's words, runs README.md's SQL and compares the rows. Needs a Python whose sqlite3 loads extensions, such as
Homebrew's, and no other package. Please report what it prints as an issue of the project. The tests run it on Linux with the
package for Linux, which shows that the script works.
"""
import glob
import os
import platform
import re
import sqlite3
import subprocess
import sys
import tarfile
import tempfile

PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MAC = sys.platform == "darwin"


def unpack(dist, folder):
    """The files of the package for this machine."""
    processor = {"arm64": "arm64", "aarch64": "arm64", "x86_64": "x64"}[platform.machine()]
    pattern = os.path.join(dist, f"sqlite-glove-{sys.platform}-{processor}-[0-9]*.tgz")
    found = glob.glob(pattern)
    if len(found) != 1:
        sys.exit(f"run_on_mac.py: there are {len(found)} files {pattern}; ./packaging/release.sh --others writes one on Debian 12")
    with tarfile.open(found[0]) as archive:
        archive.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    return os.path.join(folder, "package")


def readme():
    """(statements, rows) of README.md: the blocks of SQL, and those without a language that follow them."""
    with open(os.path.join(PROJECT, "README.md"), encoding="utf-8") as file:
        blocks = re.findall(r"^```(\w*)\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
    lines = "".join(text for language, text in blocks if language == "sql").splitlines(keepends=True)
    statements = [""]
    for line in lines[1:]:  # without .load
        statements[-1] += line
        if sqlite3.complete_statement(statements[-1]):
            statements.append("")
    rows = (text for (before, _), (language, text) in zip(blocks, blocks[1:]) if before == "sql" and not language)
    return statements[:-1], "".join(rows).splitlines()


def shown(value):
    """As the sqlite3 shell shows it."""
    if not isinstance(value, float):
        return str(value)
    text = f"{value:.15g}"
    return text if re.search("[.e]", text) else text + ".0"


def main():
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        sys.exit("run_on_mac.py: the sqlite3 of this Python cannot load extensions; use Homebrew's: brew install python3")
    dist = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "dist")
    print(platform.platform(), platform.machine(), "Python", platform.python_version(), "SQLite", sqlite3.sqlite_version)
    with tempfile.TemporaryDirectory() as folder:
        package = unpack(dist, folder)
        library, program = (os.path.join(package, name) for name in ("glove.dylib" if MAC else "glove.so", "glove-convert"))
        if MAC:
            for path in (library, program):
                done = subprocess.run(["codesign", "--verify", "--verbose", path], capture_output=True, text=True, check=False)
                print(f"codesign, status {done.returncode}: {done.stderr.strip()}")
        os.chdir(folder)
        subprocess.run([program, "--quiet", os.path.join(PROJECT, "examples/data/glove-6b-100d-20k.txt.gz"), "glove.safetensors"], check=True)
        connection = sqlite3.connect(":memory:", isolation_level=None)
        connection.enable_load_extension(True)
        connection.load_extension(library)
        print(connection.execute("SELECT glove_version()").fetchone()[0])
        statements, expected = readme()
        rows = ["|".join(map(shown, row)) for statement in statements for row in connection.execute(statement).fetchall()]
        connection.close()
        os.chdir(PROJECT)
    assert len(expected) > 1, expected
    if rows != expected:
        sys.exit("FAILED; the rows here and those of README.md:\n" + "\n".join(rows) + "\n\n" + "\n".join(expected))
    print(f"all {len(rows)} rows of README.md are the same here")


if __name__ == "__main__":
    main()
