"""The systems that have packages, and how pip and npm name them.

pip chooses among the wheels by their tags. npm installs each package whose os, cpu and libc fit, and sqlite-glove's index.js
chooses among them.
"""
import os
import re
import sys
import sysconfig
from typing import NamedTuple


class Platform(NamedTuple):
    name: str         # of the npm package, after sqlite-glove-
    zig: str          # the target of packaging/zig.sh; "" for the build of Debian's compiler, which may have CUDA
    wheel: str        # the platform tag of the wheel
    os: str           # these three as npm names them
    cpu: str
    libc: str
    description: str  # completes "The library of sqlite-glove for"

    @property
    def npm(self):
        return "sqlite-glove-" + self.name

    @property
    def library(self):
        return {"darwin": "glove.dylib", "win32": "glove.dll"}.get(self.os, "glove.so")

    @property
    def program(self):
        return "glove-convert.exe" if self.os == "win32" else "glove-convert"

    @property
    def built_program(self):
        """The file of a build folder that packages call `program`: that which lies beside the library and calls it. By Zig the program
        by itself: with musl it is static and cannot load a library, and for macOS nothing here runs it."""
        return self.program if self.zig else self.program.replace("glove-convert", "glove-convert-beside")


NATIVE = Platform("linux-x64", "", "manylinux_2_34_x86_64", "linux", "x64", "glibc", "64-bit x86 Linux with glibc 2.34 or newer")
OTHERS = [
    Platform("linux-x64-glibc-2.17", "x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64.manylinux2014_x86_64", "linux", "x64", "glibc",
             "64-bit x86 Linux with glibc 2.17 or newer, without the CUDA backend"),
    Platform("linux-x64-musl", "x86_64-linux-musl", "musllinux_1_2_x86_64", "linux", "x64", "musl",
             "64-bit x86 Linux with musl 1.2 or newer, without the CUDA backend"),
    Platform("linux-arm64", "aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64.manylinux2014_aarch64", "linux", "arm64", "glibc",
             "64-bit Arm Linux with glibc 2.17 or newer, without the CUDA backend"),
    Platform("linux-arm64-musl", "aarch64-linux-musl", "musllinux_1_2_aarch64", "linux", "arm64", "musl",
             "64-bit Arm Linux with musl 1.2 or newer, without the CUDA backend"),
    Platform("darwin-arm64", "aarch64-macos", "macosx_12_0_arm64", "darwin", "arm64", "",
             "macOS 12 or newer on Apple processors (built, but never run by the project's tests)"),
    Platform("darwin-x64", "x86_64-macos", "macosx_12_0_x86_64", "darwin", "x64", "",
             "macOS 12 or newer on Intel processors (built, but never run by the project's tests)"),
]
ALL = [NATIVE, *OTHERS]
# By packaging/windows.sh.
WINDOWS = Platform("win32-x64", "", "win_amd64", "win32", "x64", "",
                   "64-bit Windows 10 or newer, without the CUDA backend (tested under wine only)")
# What pip makes of the sources (backend.py): for this machine alone, because nobody has checked on which others it runs.
LOCAL = Platform("", "", re.sub("[-.]", "_", sysconfig.get_platform()), sys.platform, "", "", "this machine")


def built(root):
    """The platforms that packaging/zig.sh has built below `root`."""
    return [platform for platform in OTHERS if os.path.isfile(os.path.join(root, platform.zig, platform.library))]


def of_target(target=""):
    """The platform of a target of packaging/zig.sh, or of Debian's compiler."""
    for platform in ALL:
        if platform.zig == target:
            return platform
    raise SystemExit(f"there is no target '{target}'; the targets are: {', '.join(platform.zig for platform in OTHERS)}")


if __name__ == "__main__":
    # For scripts: the targets that are named, after a check, or all of them.
    print(" ".join(sys.argv[1:] and [of_target(target).zig for target in sys.argv[1:]] or [platform.zig for platform in OTHERS]))
