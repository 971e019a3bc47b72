#!/usr/bin/env python3
"""Writes the Debian packages with cpack: deb.py BUILD DIST

BUILD is a build folder with glove.so and glove-convert, DIST the folder that libsqlite3-mod-glove and glove-convert are written
to. The names of the files are printed.
"""
import glob
import gzip
import os
import shutil
import subprocess
import sys
import tempfile

import project

PACKAGES = ("libsqlite3-mod-glove", "glove-convert")
MAINTAINER = "the sqlite-glove authors <sqlite-glove@example.invalid>"
# Debian's changelog names the revision of the package; the project's own is beside it.
DEBIAN_CHANGELOG = """%s ({}-1) unstable; urgency=medium

  * changelog.gz lists what is new.

 -- {}  Tue, 01 Jan 1980 00:00:00 +0000
""".format(project.VERSION, MAINTAINER)
FILES = {
    "mod_glove.so": lambda build: project.built(build, "glove.so"),
    "glove-convert": lambda build: project.built(build, "glove-convert"),
    "copyright": lambda _: project.notices(),
    "changelog.gz": lambda _: gzip.compress(project.read("CHANGELOG.md"), 9, mtime=0),
    "mod_glove.7.gz": lambda _: gzip.compress(project.read("docs/man/mod_glove.7"), 9, mtime=0),
    "glove-convert.1.gz": lambda _: gzip.compress(project.read("docs/man/glove-convert.1"), 9, mtime=0),
}


def run(*command, environment):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}:\n{done.stdout}")


def write_packages(build, dist):
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(project.EPOCH)}
    with tempfile.TemporaryDirectory() as folder:
        stage, tree, out = (os.path.join(folder, name) for name in ("stage", "build", "out"))
        for package in PACKAGES:
            os.makedirs(os.path.join(stage, "changelogs", package))
            with open(os.path.join(stage, "changelogs", package, "changelog.Debian.gz"), "wb") as file:
                file.write(gzip.compress((DEBIAN_CHANGELOG % package).encode(), 9, mtime=0))
        for name, contents in FILES.items():
            with open(os.path.join(stage, name), "wb") as file:
                file.write(contents(build))
        run("cmake", "-S", os.path.join(project.ROOT, "packaging/deb"), "-B", tree, "-DGLOVE_STAGE=" + stage,
            "-DGLOVE_VERSION=" + project.VERSION, "-DGLOVE_SUMMARY=" + project.description(build), "-DGLOVE_MAINTAINER=" + MAINTAINER,
            environment=environment)
        run("cpack", "--config", os.path.join(tree, "CPackConfig.cmake"), "-B", out, environment=environment)
        os.makedirs(dist, exist_ok=True)
        return [shutil.copy(path, dist) for path in sorted(glob.glob(os.path.join(out, "*.deb")))]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    print("\n".join(write_packages(sys.argv[1], sys.argv[2])))
