"""What pip and other frontends call to build the wheel from the sources (PEP 517; pyproject.toml names this module).

build.sh compiles, in build/release of the sources, and installs no packages. GLOVE_BUILD=FOLDER takes the library of that build
folder instead, and nothing is compiled.
"""
import os
import subprocess

import platforms
import project
import wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    build = os.environ.get("GLOVE_BUILD")
    if not build:
        build = os.path.join(project.ROOT, "build/release")
        done = subprocess.run([os.path.join(project.ROOT, "build.sh")], env={**os.environ, "GLOVE_NO_INSTALL": "1"}, check=False)
        if done.returncode != 0:
            raise SystemExit(done.returncode)  # build.sh has printed why
    return os.path.basename(wheel.write_wheel(build, wheel_directory, platforms.LOCAL))


def build_sdist(sdist_directory, config_settings=None):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=project.ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        raise SystemExit(f"{project.ROOT}: a source distribution is made of a git clone: {listed.stderr.strip()}")
    folder = f"{wheel.NAME}-{project.VERSION}"
    information = wheel.metadata(project.DESCRIPTION, "cuda", platforms.NATIVE, ["LICENSE"]) + project.read("packaging/python/README.md")
    files = [(f"{folder}/PKG-INFO", information, False)]
    for name in filter(None, listed.stdout.split("\0")):
        files.append((f"{folder}/{name}", project.read(name), os.access(os.path.join(project.ROOT, name), os.X_OK)))
    project.write_tar(os.path.join(sdist_directory, folder + ".tar.gz"), files)
    return folder + ".tar.gz"
