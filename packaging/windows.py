#!/usr/bin/env python3
"""Writes the wheel, the npm package and a zip archive of packaging/windows.sh's build: windows.py BUILD DIST"""
import os
import sys
import time
import zipfile

import npm
import platforms
import project
import wheel

README = f"""sqlite-glove {project.VERSION} for 64-bit Windows 10 or newer: {{description}}

glove.dll           the extension. In sqlite3.exe: .load ./glove
glove-convert.exe   converts an embedding file: glove-convert glove.6B.100d.txt glove.safetensors

The project's tests run these files under wine only. Please report what differs on Windows; SELECT glove_version(); tells the version.
"""


def write_zip(build, dist):
    """What a user without pip or npm needs."""
    platform = platforms.WINDOWS
    name = f"sqlite-glove-{project.VERSION}-windows-x64"
    readme = README.format(description=project.description(build)).replace("\n", "\r\n").encode()
    files = [(platform.library, project.built(build, platform.library, platform)),
             (platform.program, project.built(build, platform.built_program, platform))]
    path = os.path.join(dist, name + ".zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for file, data in [*files, ("README.txt", readme), ("LICENSE.txt", project.read("LICENSE")),
                           ("THIRD-PARTY-NOTICES.txt", project.third_party(platform))]:
            information = zipfile.ZipInfo(f"{name}/{file}", time.gmtime(project.EPOCH)[:6])
            information.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(information, data)
    return path


def write_packages(build, dist):
    os.makedirs(dist, exist_ok=True)
    return [wheel.write_wheel(build, dist, platforms.WINDOWS), npm.write_platform(build, dist, platforms.WINDOWS), write_zip(build, dist)]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    print("\n".join(write_packages(*sys.argv[1:])))
