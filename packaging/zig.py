#!/usr/bin/env python3
"""Writes the wheels and npm packages of packaging/zig.sh's builds: zig.py ROOT DIST [TARGET...]

ROOT is the folder where packaging/zig.sh builds, DIST the folder that the packages are written to. Without a TARGET, each one that
has been built has its packages. The names of the files are printed.
"""
import os
import sys

import npm
import platforms
import wheel


def write_packages(root, dist, targets=()):
    os.makedirs(dist, exist_ok=True)
    chosen = [platforms.of_target(target) for target in targets] or platforms.built(root)
    written = []
    for platform in chosen:
        build = os.path.join(root, platform.zig)
        written += [wheel.write_wheel(build, dist, platform), npm.write_platform(build, dist, platform)]
    return written


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    print("\n".join(write_packages(sys.argv[1], sys.argv[2], sys.argv[3:])))
