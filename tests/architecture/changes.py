"""Which files changed since the commit that a file of this folder names: check_sources.py and unproved.py."""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^#include [<"]([^>"]+)', re.MULTILINE)


def with_includers(names, rooms):
    """These files, and the sources and headers in `rooms` that include one, through others too."""
    sources = [path for room in rooms for path in (ROOT / room).rglob("*") if path.suffix in (".h", ".cpp", ".cuh", ".cu")]
    included = {str(path.relative_to(ROOT)): set(INCLUDE.findall(path.read_text())) for path in sources}
    found = set(names)
    while more := {name for name, files in included.items() if name not in found and files & found}:
        found |= more
    return found


def changed_since(record, rooms):
    """The names of the files that are not as they were in the commit that begins tests/architecture/RECORD, with_includers();
    None, and why is printed, if Git or the commit is not there."""
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    try:
        commit = (ROOT / "tests/architecture" / record).read_text().split()[0]
        changed = git("diff", "--name-only", commit, "--") + git("ls-files", "--others", "--exclude-standard")
    except (OSError, IndexError, subprocess.CalledProcessError) as error:
        print(f"What changed since the commit in {record} is not known: {getattr(error, 'stderr', error)}".strip())
        return None
    return with_includers(changed, rooms)
