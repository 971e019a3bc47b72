"""The packages as pip and npm would install them, for tests that need neither a wheel nor a tarball."""
import argparse
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import unittest

SKIPPED = 77


def install(project, extension, folder):
    """Writes the package sqlite_glove, with the extension, into a folder for sys.path or $PYTHONPATH."""
    package = os.path.join(folder, "sqlite_glove")
    shutil.copytree(os.path.join(project, "packaging/python/sqlite_glove"), package, ignore=shutil.ignore_patterns("__pycache__"))
    with open(os.path.join(package, "_version.py"), "w", encoding="utf-8") as file:
        file.write('__version__ = "0.0"\n')
    shutil.copy(extension, os.path.join(package, "glove.so"))
    return package


def install_npm(project, extension, folder):
    """Writes npm's package sqlite-glove, and that of its library with the extension, into a folder node_modules."""
    with open(os.path.join(project, "package.json"), encoding="utf-8") as file:
        manifest = json.loads(file.read().replace("packaging/npm/sqlite-glove/", ""))
    # Without a library that packaging/npm/prepare.sh has left there.
    shutil.copytree(os.path.join(project, "packaging/npm/sqlite-glove"), os.path.join(folder, "sqlite-glove"),
                    ignore=shutil.ignore_patterns("glove.*", "glove-convert"))
    with open(os.path.join(folder, "sqlite-glove/package.json"), "w", encoding="utf-8") as file:
        json.dump({"name": "sqlite-glove", "version": "0.0.0", **{key: manifest[key] for key in ("main", "types", "exports")}}, file)
    os.makedirs(os.path.join(folder, "sqlite-glove-linux-x64"))
    shutil.copy(extension, os.path.join(folder, "sqlite-glove-linux-x64/glove.so"))


def run_tests(prepare=lambda options, folder: None, loads=True):
    """Runs the tests of a program with sqlite_glove installed: PROGRAM --project FOLDER --extension GLOVE.SO --convert GLOVE-CONVERT

    Before them it calls prepare() with these options and a folder that is deleted afterwards. Skips the tests if they load the
    extension and this Python cannot.
    """
    parser = argparse.ArgumentParser()
    for option in ("--project", "--extension", "--convert"):
        parser.add_argument(option, required=True)
    options, rest = parser.parse_known_args()
    if loads and not hasattr(sqlite3.connect(":memory:"), "enable_load_extension"):
        print("skipped: this Python's sqlite3 cannot load extensions")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        prepare(options, folder)
        install(options.project, options.extension, folder)
        sys.path.insert(0, folder)
        os.environ["PYTHONPATH"] = folder
        unittest.main(module="__main__", argv=[sys.argv[0], *rest])
