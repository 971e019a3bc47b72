"""The Python package as pip would install it, for tests that need no wheel."""
import os
import shutil


def install(project, extension, folder):
    """Writes the package sqlite_glove, with the extension, into a folder for sys.path or $PYTHONPATH."""
    package = os.path.join(folder, "sqlite_glove")
    shutil.copytree(os.path.join(project, "packaging/python/sqlite_glove"), package, ignore=shutil.ignore_patterns("__pycache__"))
    with open(os.path.join(package, "_version.py"), "w", encoding="utf-8") as file:
        file.write('__version__ = "0.0"\n')
    shutil.copy(extension, os.path.join(package, "glove.so"))
    return package
