#!/usr/bin/env python3
"""Has clang-tidy read every source by itself, and clang every header that has none: check_sources.py [--changed | FILE...]

A source includes its own header first, so this shows that each file includes what it needs, that guarded members are used only
while their mutex is held (base/mutex.h), and that .clang-tidy finds nothing. Then reads four programs that are wrong in one of
these ways, which must be refused. With FILE... (any of the sources and headers), reads only these; with --changed, only those that
changed since the commit in tests/architecture/checked, of which all were read, or that include such a file. A file that says
nothing of a changed one is accepted now if it was then. Whoever reads all of them without a finding writes that commit there.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from changes import INCLUDE, ROOT, changed_since

ROOMS = "base model lists loader convert search analysis drawing text live cpu gpu sql extension".split()
WRONG = {
    "writing variable 'count' requires holding mutex": """
#include "base/mutex.h"
struct Counter {
  void add() { ++count; }
  glove::Mutex mutex;
  int count GLOVE_GUARDED_BY(mutex) = 0;
};
""",
    "calling function 'wait' requires holding mutex": """
#include "base/mutex.h"
void wait(glove::Mutex& mutex, glove::ConditionVariable& condition) { condition.wait(mutex); }
""",
    "no type named 'vector'|no template named 'vector'": """
#include "base/mutex.h"
std::vector<int> numbers();
""",
    "bugprone-use-after-move": """
#include <string>
#include <utility>
std::string twice(std::string text) {
  std::string taken = std::move(text);
  return taken + text;
}
""",
}


OTHER_SYSTEMS = ("base/windows/", "base/posix/macos.cpp", "base/posix/emscripten.cpp")


def all_files():
    """Yields each source, and each header without one. A header ending in -inl.h is included from inside a namespace only,
    and the files of OTHER_SYSTEMS are compiled elsewhere."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            alone = path.suffix == ".h" and not path.name.endswith("-inl.h") and not path.with_suffix(".cpp").exists()
            if str(path.relative_to(ROOT)).startswith(OTHER_SYSTEMS):
                continue
            if path.suffix == ".cpp" or alone:
                yield path


def changed_files():
    """Yields the files that changed since all were read, and those that include one; all of them, if that is not known or if what
    is asked of them changed."""
    everything = list(all_files())
    changed = changed_since("checked", ROOMS)
    if changed is None or {".clang-tidy", "tests/architecture/changes.py", "tests/architecture/check_sources.py"} & changed:
        return everything
    return [path for path in everything if str(path.relative_to(ROOT)) in changed]


def header_is_second(path):
    header = path.with_suffix(".h")
    first = INCLUDE.search(path.read_text())
    return header.exists() and (first is None or first[1] != str(header.relative_to(ROOT)))


def compiler_arguments(generated):
    arguments = ["-xc++", "-std=c++20", "-Wthread-safety", "-Wthread-safety-precise", "-Wno-pragma-once-outside-header",
                 f"-I{ROOT}", f"-I{ROOT}/third_party/sqlite", f"-I{generated}"]
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    cuda = pathlib.Path(nvcc).resolve().parents[1] / "include"
    return arguments + [f"-isystem{folder}" for folder in (cuda, "/usr/include/eigen3") if pathlib.Path(folder).exists()]


def main():
    if shutil.which("clang-tidy") is None:
        print("skipped: clang-tidy is not installed (./build.sh --packages-only fuzz installs it)")
        return 0
    with tempfile.TemporaryDirectory() as generated:
        generated = pathlib.Path(generated)
        (generated / "glove_version.h").write_text('#define GLOVE_VERSION ""\n#define GLOVE_GIT_DESCRIBE ""\n')
        (generated / "sqlite_calls.inc").write_text("SET(free);\n")
        arguments = compiler_arguments(generated)

        def read(path):
            """Returns what is printed about the file, and whether it is accepted. clang-tidy checks a header with the sources
            that include it, so here clang only compiles it, which takes half of the time."""
            if path.suffix == ".h":
                command = ["clang", "-fsyntax-only", "-Werror=thread-safety"] + arguments + [str(path)]
            else:
                command = ["clang-tidy", "--quiet", f"--config-file={ROOT}/.clang-tidy", str(path), "--"] + arguments
            run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
            text = run.stdout if path.suffix == ".cpp" else run.stderr
            if re.search("error: '(cuda[^']*|fast_float/[^']*)' file not found", text):
                return f"skipped {path.relative_to(ROOT)}: it includes a library that is not installed\n", True
            return text, run.returncode == 0

        if sys.argv[1:] == ["--changed"]:
            paths = changed_files()
        else:
            paths = [pathlib.Path(name).resolve() for name in sys.argv[1:]] or list(all_files())
        failed = 0
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for path, (text, good) in zip(paths, pool.map(read, paths)):
                if path.suffix == ".cpp" and header_is_second(path):
                    text, good = text + f"{path}: must include its own header before all others\n", False
                failed += not good
                print(text, end="")
        for number, (message, program) in enumerate(WRONG.items()):
            path = generated / f"wrong_{number}.cpp"
            path.write_text(program)
            text, good = read(path)
            if good or not re.search(message, text):
                print(f"clang-tidy must report '{message}' here:\n{program}\nIt prints:\n{text}")
                failed += 1
        print(f"{len(paths)} files read, {failed} refused")
        return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
