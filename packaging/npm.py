#!/usr/bin/env python3
"""Writes the npm packages: npm.py BUILD DIST

BUILD is a build folder with glove.so and glove-convert, DIST the folder that the two tarballs are written to: sqlite-glove, which
people install, and sqlite-glove-linux-x64, the library, which the first needs. The names of the files are printed.
"""
import json
import os
import sys

import platforms
import project

MAIN = "sqlite-glove"
COMMON = {"version": project.VERSION, "license": project.LICENSE,
          "keywords": ["sqlite", "sqlite-extension", "word-embeddings", "glove", "vector-search"]}


def main_package(build):
    # Does not name the packages with the library: nobody owns their names in npm's registry yet, and npm asks it even for optional
    # peers. Once they are published, they are the optional dependencies.
    manifest = {"name": MAIN, "description": project.description(build), **COMMON, "main": "index.js", "types": "index.d.ts",
                "bin": {"glove-convert": "glove-convert.js"}, "engines": {"node": ">=16"}}
    names = ["README.md", "glove-convert.js", "index.d.ts", "index.js"]
    files = [(name, project.read("packaging/npm", MAIN, name), name == "glove-convert.js") for name in names]
    return manifest, [("LICENSE", project.read("LICENSE"), False), *files]


README = """# {name}

The library of the package `sqlite-glove` for {description}. Install
both.
"""


def platform_package(build, platform):
    what = platform.description
    if not project.has_cuda(build) and "without the CUDA backend" not in what:
        what += ", without the CUDA backend"
    manifest = {"name": platform.npm, "description": f"The library of sqlite-glove for {what}", **COMMON,
                "os": [platform.os], "cpu": [platform.cpu], **({"libc": [platform.libc]} if platform.libc else {})}
    readme = README.format(name=platform.npm, description=what)
    return manifest, [("LICENSE", project.notices(platform), False),
                      ("README.md", readme.encode(), False),
                      (platform.library, project.built(build, platform.library, platform), True),
                      ("glove-convert", project.built(build, "glove-convert", platform), True)]


def write_package(dist, manifest, files):
    path = os.path.join(dist, f"{manifest['name']}-{manifest['version']}.tgz")
    files = [("package.json", (json.dumps(manifest, indent=2) + "\n").encode(), False), *files]
    project.write_tar(path, [("package/" + name, data, executable) for name, data, executable in files])
    return path


def write_packages(build, dist):
    os.makedirs(dist, exist_ok=True)
    return [write_package(dist, *main_package(build)), write_platform(build, dist, platforms.NATIVE)]


def write_platform(build, dist, platform):
    return write_package(dist, *platform_package(build, platform))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    print("\n".join(write_packages(*sys.argv[1:])))
