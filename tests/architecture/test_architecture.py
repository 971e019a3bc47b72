"""Checks what HACKING.md promises about the shape of the sources: test_architecture.py PROJECT_DIR

arrows          extension -> sql -> search -> loader, gpu -> search, loader; never back
foreign_headers SQLite's headers in sql/ and extension/ only, CUDA's in gpu/ only
backends        sql/ names no concrete backend
silence         the library never prints, aborts or exits (the glove-convert tool may)
length          files under 500 lines
paths           no file names a folder of somebody's machine

Each check is run on the project, and on a small tree that breaks it, so that each is known to be able to fail.
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

PROJECT = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else os.getcwd()

MAY_INCLUDE = {
    "extension": {"extension", "sql", "search", "gpu"},
    "sql": {"sql", "search", "loader"},
    "search": {"search", "loader"},
    "gpu": {"gpu", "search", "loader"},
    "loader": {"loader"},
    "verify": {"verify"},
}
ROOMS = set(MAY_INCLUDE)
SOURCES = (".h", ".cpp", ".cu", ".cuh")
MOST_LINES = 500
TOOL = ("loader/convert/", "verify/main.cpp")  # programs, which may print

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/', re.DOTALL)
STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
SQLITE_HEADER = re.compile(r"^sqlite3(ext)?\.h$")
CUDA_HEADER = re.compile(r"^(cuda|cub/|cublas|curand|nvml|cooperative_groups|mma\.h|device_launch|vector_types)")
BACKEND_NAME = re.compile(r'"(cpu|cuda)"')
NOISE = re.compile(r"std::(cout|cerr|clog)\b|\b(std::)?(printf|fprintf|puts|perror|abort|_?exit|quick_exit|terminate)\s*\(")
# Somebody's home or workplace. In pieces, because this file is searched too.
MACHINE_PATH = re.compile(r"(?<![\w./-])/(?:" + "|".join(["home", "root", "Users", "work", "mnt"]) + r")/\w")


def files_of(root):
    """The project's own files: what git tracks, or everything where there is no git."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, check=False)
    if listed.returncode == 0:
        names = listed.stdout.decode().split("\0")
    else:
        names = [os.path.relpath(os.path.join(folder, name), root)
                 for folder, _, found in os.walk(root) for name in found]
    return sorted(name for name in names
                  if name and not name.startswith(("third_party/", "build/")) and os.path.isfile(os.path.join(root, name)))


def text_of(root, name):
    with open(os.path.join(root, name), "rb") as file:
        content = file.read()
    return None if b"\0" in content[:8192] else content.decode("utf-8", errors="replace")


def sources_of(root):
    """(name, room, text) of each C++ or CUDA file of the rooms."""
    for name in files_of(root):
        room = name.split("/")[0]
        if room in ROOMS and name.endswith(SOURCES):
            yield name, room, text_of(root, name)


def without_comments(text):
    """Strings stay, so that // inside one is no comment."""
    return STRING_OR_COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else " ", text)


def check_arrows(root):
    for name, room, text in sources_of(root):
        for included in INCLUDE.findall(text):
            target = included.split("/")[0]
            if "/" in included and target in ROOMS and target not in MAY_INCLUDE[room]:
                yield f"{name} includes {included}: {room}/ may include {', '.join(sorted(MAY_INCLUDE[room]))}"
            if room == "sql" and included.startswith("search/cpu/"):
                yield f"{name} includes {included}: sql/ knows backends by search/backend.h only"


def check_foreign_headers(root):
    for name, room, text in sources_of(root):
        for included in INCLUDE.findall(text):
            if SQLITE_HEADER.match(included) and room not in ("sql", "extension"):
                yield f"{name} includes {included}: SQLite is known to sql/ and extension/ only"
            if CUDA_HEADER.match(included) and room != "gpu":
                yield f"{name} includes {included}: CUDA is known to gpu/ only"


def check_backends(root):
    for name, room, text in sources_of(root):
        if room == "sql":
            for match in BACKEND_NAME.finditer(without_comments(text)):
                yield f"{name} names the backend {match[0]}: sql/ takes names from the registry"


def check_silence(root):
    for name, _, text in sources_of(root):
        if not name.startswith(TOOL):
            for match in NOISE.finditer(COMMENT.sub(" ", text)):
                yield f"{name} calls {match[0]}: the library never prints, aborts or exits"


def check_length(root):
    for name, _, text in sources_of(root):
        lines = text.count("\n")
        if lines >= MOST_LINES:
            yield f"{name} has {lines} lines: split it before {MOST_LINES}"


def check_paths(root):
    for name in files_of(root):
        text = text_of(root, name)
        for match in MACHINE_PATH.finditer(text or ""):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{name}:{line} names {match[0]}..., a folder of one machine"


# A file that breaks each check, and what is near to breaking it but does not.
BREAKERS = {
    check_arrows: {
        "search/a.cpp": '#include "sql/boundary.h"\n#include "loader/model.h"\n',
        "loader/b.h": '# include <search/engine.h>\n',
        "sql/c.cpp": '#include "gpu/x.h"\n#include "search/cpu/scan.h"\n#include "search/engine.h"\n',
        "extension/d.cpp": '#include "loader/model.h"\n#include "gpu/cuda_backend.h"\n',
    },
    check_foreign_headers: {
        "search/a.cpp": '#include <sqlite3.h>\n', "loader/b.cpp": '#include "sqlite3ext.h"\n',
        "search/c.cpp": '#include <cuda_runtime.h>\n', "sql/d.cpp": '#include <sqlite3ext.h>\n#include <cub/cub.cuh>\n',
        "gpu/e.cu": '#include <cuda_runtime.h>\n',
    },
    check_backends: {"sql/a.cpp": 'if (name == "cuda") return;  // not "cpu"\n', "search/b.cpp": 'return "cpu";\n'},
    check_silence: {
        "search/a.cpp": 'std::cerr << 1;\nstd::snprintf(b, 2, "");\n', "gpu/b.cu": 'printf("x");\n',
        "sql/c.cpp": 'abort();\nstd::exit(1);  // exit(2)\nat_exit_of(3);\n', "loader/convert/d.cpp": 'std::fprintf(stderr, "x");\n',
    },
    check_length: {"sql/a.cpp": "\n" * 500, "sql/b.cpp": "\n" * 499},
    check_paths: {
        "docs/a.md": "open /" + "home/ada/x and /usr/lib, not a/" + "work/b\n",
        "sql/b.cpp": '"/' + 'work/data"\n',
    },
}
EXPECTED_BREAKS = {check_arrows: 5, check_foreign_headers: 4, check_backends: 1, check_silence: 4, check_length: 1, check_paths: 2}


class Architecture(unittest.TestCase):
    def check(self, function):
        self.assertGreater(len(files_of(PROJECT)), 50, "the project's files were not found")
        self.assertEqual("\n".join(function(PROJECT)), "")
        with tempfile.TemporaryDirectory(prefix="glove-architecture-") as folder:
            for name, text in BREAKERS[function].items():
                os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            found = list(function(folder))
            self.assertEqual(len(found), EXPECTED_BREAKS[function], found)

    def test_arrows(self):
        self.check(check_arrows)

    def test_foreign_headers(self):
        self.check(check_foreign_headers)

    def test_backends(self):
        self.check(check_backends)

    def test_silence(self):
        self.check(check_silence)

    def test_length(self):
        self.check(check_length)

    def test_paths(self):
        self.check(check_paths)


if __name__ == "__main__":
    unittest.main()
