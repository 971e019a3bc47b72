"""python -m sqlite_glove version | path | convert ARGUMENTS...

version prints the version of the package, path that of the extension for .load in the sqlite3 shell, and convert runs
glove-convert, which makes model files.
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
    if len(arguments) == 1 and command in ("version", "path"):
        print(__version__ if command == "version" else loadable_path())
        return 0
    print(__doc__.strip() if __doc__ else "", file=sys.stdout if command in ("-h", "--help") else sys.stderr)
    return 0 if command in ("-h", "--help") else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
