"""python -m sqlite_glove version | path | convert ARGUMENTS...

version prints the version of the package, path that of the extension for .load in the sqlite3 shell, and convert runs
glove-convert, which makes model files.
"""
import subprocess
import sys
from typing import List

from . import __version__, convert_path, loadable_path


def main(arguments: List[str]) -> int:
    command = arguments[0] if arguments else ""
    if command == "convert":
        return subprocess.run([convert_path(), *arguments[1:]], check=False).returncode
    if len(arguments) == 1 and command in ("version", "path"):
        print(__version__ if command == "version" else loadable_path())
        return 0
    print(__doc__.strip() if __doc__ else "", file=sys.stdout if command in ("-h", "--help") else sys.stderr)
    return 0 if command in ("-h", "--help") else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
