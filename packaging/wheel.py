#!/usr/bin/env python3
"""Writes the Python wheel: wheel.py BUILD DIST [ZIG_TARGET]

BUILD is a build folder with glove.so and glove-convert, DIST the folder that the wheel is written to. The file's name is
printed. The wheel holds no Python extension module, so one file serves every Python 3.8 or newer. ZIG_TARGET names the platform
if packaging/zig.sh made the build.
"""
import base64
import hashlib
import os
import sys
import time
import zipfile

import platforms
import project

NAME = "sqlite_glove"
METADATA = f"""Metadata-Version: 2.4
Name: sqlite-glove
Version: {project.VERSION}
Summary: %(summary)s
Author: {project.AUTHORS}
%(urls)sLicense-Expression: {project.LICENSE}
%(licences)sKeywords: {",".join(project.KEYWORDS)},%(backend)s
Classifier: Development Status :: 4 - Beta
Classifier: Intended Audience :: Developers
Classifier: Intended Audience :: Science/Research
Classifier: Operating System :: %(system)s
Classifier: Programming Language :: C++
Classifier: Programming Language :: Python :: 3
Classifier: Programming Language :: SQL
Classifier: Topic :: Database
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Classifier: Typing :: Typed
Requires-Python: >=3.8
Provides-Extra: frames
Requires-Dist: numpy; extra == "frames"
Requires-Dist: pandas; extra == "frames"
Provides-Extra: cluster
Requires-Dist: dask[dataframe]>=2022.12; extra == "cluster"
Requires-Dist: distributed>=2022.12; extra == "cluster"
Description-Content-Type: text/markdown

"""
URLS = {"Homepage": "", "Documentation": "/tree/main/docs", "Changelog": "/blob/main/CHANGELOG.md", "Issues": "/issues"}
SYSTEMS = {"linux": "POSIX :: Linux", "darwin": "MacOS", "win32": "Microsoft :: Windows"}
# pip makes a program of it.
ENTRY_POINTS = "[console_scripts]\nglove-convert = sqlite_glove.__main__:convert\n"
WHEEL = f"Wheel-Version: 1.0\nGenerator: sqlite-glove ({project.VERSION})\nRoot-Is-Purelib: false\n"
LICENCES = ("LICENSE", "THIRD-PARTY-NOTICES")


def metadata(summary, backend, platform, licences=LICENCES):
    """METADATA without the description that follows it."""
    urls = "".join(f"Project-URL: {name}, {project.URL}{path}\n" for name, path in URLS.items()) if project.URL else ""
    return (METADATA % {"urls": urls, "summary": summary, "system": SYSTEMS[platform.os], "backend": backend,
                        "licences": "".join(f"License-File: {name}\n" for name in licences)}).encode()


def contents(build, platform=platforms.NATIVE):
    """[(path, bytes, executable)] of everything but RECORD."""
    package = "packaging/python/sqlite_glove"
    information = f"{NAME}-{project.VERSION}.dist-info"
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in platform.wheel.split("."))
    files = [(f"{NAME}/{name}", project.read(package, name), False)
             for name in sorted(os.listdir(os.path.join(project.ROOT, package))) if name.endswith((".py", ".typed"))]
    files.append((f"{NAME}/_version.py", f'__version__ = "{project.VERSION}"\n'.encode(), False))
    files.append((f"{NAME}/{platform.library}", project.built(build, platform.library, platform), True))
    files.append((f"{NAME}/{platform.program}", project.built(build, platform.built_program, platform), True))
    cuda = project.has_cuda(build)
    readme = project.read("packaging/python/README.md") + (b"" if cuda else f"\n{project.NO_CUDA}\n".encode())
    files.append((f"{information}/METADATA", metadata(project.description(build), "cuda" if cuda else "cpu-only", platform) + readme, False))
    files.append((f"{information}/WHEEL", (WHEEL + tags).encode(), False))
    files.append((f"{information}/entry_points.txt", ENTRY_POINTS.encode(), False))
    for name, text in zip(LICENCES, (project.read("LICENSE"), project.third_party(platform))):
        files.append((f"{information}/licenses/{name}", text, False))
    return files


def record(files, information=f"{NAME}-{project.VERSION}.dist-info"):
    """RECORD names every file with its hash and size, and itself last, without them."""
    lines = []
    for path, data, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(data)}\n")
    path = f"{information}/RECORD"
    return path, ("".join(lines) + f"{path},,\n").encode(), False


def write_wheel(build, dist, platform=platforms.NATIVE):
    files = contents(build, platform)
    return write_archive(os.path.join(dist, f"{NAME}-{project.VERSION}-py3-none-{platform.wheel}.whl"), [*files, record(files)])


def write_archive(path, files):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data, executable in files:
            information = zipfile.ZipInfo(name, time.gmtime(project.EPOCH)[:6])
            information.external_attr = (0o100755 if executable else 0o100644) << 16
            information.create_system = 3  # Unix, whose modes the line above gives
            information.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(information, data)
    return path


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    print(write_wheel(sys.argv[1], sys.argv[2], platforms.of_target(*sys.argv[3:])))
