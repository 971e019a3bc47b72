"""cmake --install into a temporary folder: the files that the README promises and no others, and they work from there.

test_install.py --cmake CMAKE --build FOLDER --extension PATH --convert PATH --documents FOLDER --manual FOLDER, the last four below
the prefix; --development INCLUDE LIB where the static library is built, --verifier PATH where glove-verify is
"""
import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile

SKIPPED = 77


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(parent, name), folder)
                  for parent, _, names in os.walk(folder) for name in names)


def development_files(folders):
    if not folders:
        return []
    include, library = folders
    package = os.path.join(library, "cmake/sqlite_glove/sqlite_glove-config")
    return [os.path.join(include, "sqlite_glove.h"), os.path.join(library, "libglove.a"), package + ".cmake",
            package + "-version.cmake"]


def main():
    parser = argparse.ArgumentParser()
    for option in ("--cmake", "--build", "--extension", "--convert", "--documents", "--manual"):
        parser.add_argument(option, required=True)
    parser.add_argument("--development", nargs=2)
    parser.add_argument("--verifier", nargs=2, default=[])
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "with space")
        environment = {name: value for name, value in os.environ.items() if name not in ("DESTDIR", "GLOVE_MODEL")}
        subprocess.run([arguments.cmake, "--install", arguments.build, "--prefix", prefix], check=True, env=environment,
                       stdout=subprocess.DEVNULL)
        documents = [os.path.join(arguments.documents, name) for name in ("LICENSE", "README.md")]
        manual = os.path.join(arguments.manual, "glove-convert.1")
        verifier = arguments.verifier + [os.path.join(arguments.manual, "glove-verify.1")] if arguments.verifier else []
        expected = sorted([arguments.extension, arguments.convert, manual] + documents + verifier +
                          development_files(arguments.development))
        found = files_below(prefix)
        assert found == expected, f"installed: {found}, expected: {expected}"

        # From another folder, and without what was built in sight.
        text, model = (os.path.join(folder, name) for name in ("in.txt", "model.safetensors"))
        with open(text, "w", encoding="utf-8") as file:
            file.write("cat 1 2 3\ndog 1 2 2.5\ncar -3 1 0\n")
        subprocess.run([os.path.join(prefix, arguments.convert), "-q", text, model], check=True, cwd=folder)
        connection = sqlite3.connect(":memory:")
        if not hasattr(connection, "enable_load_extension"):
            print("skipped: this Python's sqlite3 cannot load extensions")
            sys.exit(SKIPPED)
        connection.enable_load_extension(True)
        connection.execute("SELECT load_extension(?)", [os.path.join(prefix, arguments.extension)])
        connection.execute("SELECT glove_load(?)", [model])
        rows = connection.execute("SELECT neighbor FROM glove_nn('cat')").fetchall()
        assert rows == [("dog",), ("car",)], rows


if __name__ == "__main__":
    main()
