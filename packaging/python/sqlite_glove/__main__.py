"""python -m sqlite_glove --version | path | convert ARGUMENTS... | from-sqlite-vec DATABASE [TABLE]

--version (or version) prints the version of the package, path that of the extension for .load in the sqlite3 shell, convert runs
glove-convert, which makes model files, and from-sqlite-vec makes a table with an index of a vec0 table (see its --help).
"""
import os
import subprocess
import sys
from typing import List, Optional

from . import __version__, convert_path, loadable_path


def convert(arguments: Optional[List[str]] = None) -> int:
    """Runs glove-convert, by default with the arguments of this process, which it replaces where the system can do so."""
    command = [convert_path(), *(sys.argv[1:] if arguments is None else arguments)]
    if sys.platform != "win32":
        os.execv(command[0], command)
    return subprocess.run(command, check=False).returncode


def main(arguments: List[str]) -> int:
    command = arguments[0] if arguments else ""
    if command == "convert":
        return convert(arguments[1:])
    if command == "from-sqlite-vec":
        from . import _sqlite_vec  # here, because the other commands do not need it
        return _sqlite_vec.main(arguments[1:])
    if len(arguments) == 1 and command in ("--version", "version", "path"):
        print(loadable_path() if command == "path" else __version__)
        return 0
    print(__doc__.strip() if __doc__ else "", file=sys.stdout if command in ("-h", "--help") else sys.stderr)
    return 0 if command in ("-h", "--help") else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
