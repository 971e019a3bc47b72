"""Checks what HACKING.md promises about the shape of the sources: test_architecture.py PROJECT_DIR

arrows          extension -> sql, convert, cpu, gpu -> analysis -> search -> loader -> model -> base; sql -> text -> analysis; sql -> drawing -> analysis;
                sql -> live -> search; convert -> loader; and those between the rooms inside cpu/, gpu/ and sql/ (INNER_ROOMS); never back. A project of tools/ includes itself alone
systems         only base/windows/ names Windows
foreign_headers SQLite's headers in sql/ and extension/ only, CUDA's in gpu/ only
backends        sql/ names no concrete backend
silence         the library never prints, aborts or exits (the glove-convert tool may)
length          no source file has more than 420 lines
functions       no function has more than 60 lines, from its first line to its closing brace
classes         no class has more than 40 member functions or 20 data members
folders         no folder of sources has more than 40 files
type_names      no two types of the project (or of one of tools/) share a name, whatever their namespaces. Types inside a class or a function may,
                and so may those of the -inl.h files, because a source includes only one of these
contracts       each header begins with a comment that says what it is for, and each class, function and alias at namespace
                scope has a comment: above it, at the end of its line, or above a block of declarations without empty lines.
                The header's first comment also covers its first declaration. (-inl.h files are sources, not headers.)
paths           no file names a folder of somebody's machine
executables     a file is executable if and only if it begins with #!
commands        a script that a document names exists; if the document runs it, it is executable

Each check runs on the project and on a small tree that violates it, which shows that the check can fail.
"""
import collections
import os
import re
import subprocess
import sys
import tempfile
import unittest

from cpp_outline import outline

PROJECT = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else os.getcwd()

MAY_INCLUDE = {
    "base": {"base"},
    "model": {"model", "base"},
    "lists": {"lists", "model", "base"},
    "loader": {"loader", "lists", "model", "base"},
    "convert": {"convert", "cpu", "text", "analysis", "search", "lists", "loader", "model", "base"},
    "search": {"search", "loader", "lists", "model", "base"},
    "analysis": {"analysis", "search", "model", "base"},
    "text": {"text", "analysis", "search", "model", "base"},
    "cpu": {"cpu", "search", "analysis", "lists", "model", "base"},
    "gpu": {"gpu", "search", "analysis", "lists", "model", "base"},
    "live": {"live", "search", "analysis", "lists", "model", "base"},
    "drawing": {"drawing", "analysis", "search", "model", "base"},
    "sql": {"sql", "live", "search", "drawing", "analysis", "text", "loader", "model", "base"},
    "extension": {"extension", "convert", "sql", "text", "cpu", "gpu", "search", "base"},
    "tools/verify": {"tools/verify"},
}
# The rooms inside a room and inside a project of tools/; "." is the room's own folder. In glove-verify, steps run the ways
# behind a branch, and ways run steps.
INNER_ROOMS = {
    "base": {
        ".": {"."},
        "posix": {"posix", "."},
        "windows": {"windows", "."},
    },
    "cpu": {
        ".": {".", "analysis", "kernels", "search"},
        "kernels": {"kernels"},
        "search": {"search", "kernels"},
        "analysis": {"analysis", "kernels"},
    },
    "gpu": {
        "layout": {"layout"},
        "primitives": {"primitives", "layout"},
        "kernels": {"kernels", "layout", "primitives"},
        "device": {"device", "layout"},
        "residency": {"residency", "device", "layout"},
        "search": {"search", "device", "kernels", "layout", "residency"},
        "analysis": {"analysis", "device", "kernels", "layout", "residency", "search"},
        "backend": {"backend", "analysis", "device", "kernels", "layout", "residency", "search"},
    },
    "sql": {
        ".": {"."},
        "adapter": {"adapter"},
        "values": {"values", "adapter"},
        "text": {"text", "adapter", "values", "."},
        "models": {"models", "adapter", "text", "values", "."},
        "nn": {"nn", "adapter", "text", "values", "."},
        "toolbox": {"toolbox", "adapter", "index", "text", "values", "."},
        "index": {"index", "adapter", "nn", "text", "values", "."},
        "join": {"join", "adapter", "index", "nn", "toolbox", "values", "."},
    },
    "tools/verify": {
        "ptx": {"ptx"},
        "report": {"report"},
        "sync": {"sync"},
        "flow": {"flow", "ptx"},
        "launch": {"launch", "ptx"},
        "value": {"value", "ptx"},
        "memory": {"memory", "value"},
        "state": {"state", "flow", "memory", "sync", "value"},
        "order": {"order", "state", "sync", "value"},
        "ways": {"ways", "order", "state", "steps", "value"},
        "steps": {"steps", "order", "ptx", "state", "value", "ways"},
        "run": {"run", "flow", "launch", "order", "ptx", "steps", "ways"},
    },
}
ROOMS = set(MAY_INCLUDE)
SOURCES = (".h", ".cpp", ".cu", ".cuh")
MOST_LINES = 420
MOST_FUNCTION_LINES = 60
MOST_MEMBER_FUNCTIONS = 40
MOST_DATA_MEMBERS = 20
MOST_FILES = 40
TOOL = ("convert/glove_convert.cpp", "convert/progress_display.", "tests/gpu/launches/main.cpp", "tools/verify/main.cpp", "tools/verify/record/", "tools/verify/examples/")  # programs, which may print

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/', re.DOTALL)
STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
SQLITE_HEADER = re.compile(r"^sqlite3(ext)?\.h$")
CUDA_HEADER = re.compile(r"^(cuda|cub/|cublas|curand|nvml|cooperative_groups|mma\.h|device_launch|vector_types)")
BACKEND_NAME = re.compile(r'"(cpu|cuda)"')
WINDOWS = re.compile(r"\b(_WIN32|_WIN64|WIN32|__MINGW\w*|windows\.h|_MSC_VER)\b")
NOISE = re.compile(r"std::(cout|cerr|clog)\b|\b(std::)?(printf|fprintf|puts|perror|abort|_?exit|quick_exit|terminate)\s*\(")
# Somebody's home or workplace. In pieces, because this file is searched too.
# A script in a code span, or at the beginning of an indented or fenced line: its path, and its arguments.
SCRIPT = re.compile(r"(?:`|^(?: {4,}|(?=\./)))(?:[A-Z_]+=\S+ +)*((?:\./)?(?:[\w.-]+/)+[\w-]+\.(?:sh|py))(?=[` \n])( [^`\n#]*[^`\n# ])?", re.MULTILINE)
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


def room_of(name):
    """The room of a file: its first folder, or a project of tools/ without its tests."""
    folders = name.split("/")
    if folders[0] != "tools":
        return folders[0]
    return "/".join(folders[:2]) if not {"tests", "fuzz", "bench"} & set(folders[2:3]) else ""


def inner_room_of(name, room):
    """The folder inside the room that a file lies in, or "." for the room's own folder."""
    folders = name.removeprefix(room + "/").split("/")
    return folders[0] if len(folders) > 1 else "."


def sources_of(root):
    """(name, room, text) of each C++ or CUDA file of the rooms."""
    for name in files_of(root):
        room = room_of(name)
        if room in ROOMS and name.endswith(SOURCES):
            yield name, room, text_of(root, name)


def without_comments(text):
    """Strings stay, so that // inside one is no comment."""
    return STRING_OR_COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else " ", text)


def check_arrows(root):
    for name, room, text in sources_of(root):
        for included in INCLUDE.findall(text):
            target = room_of(included)
            if "/" in included and target in ROOMS and target not in MAY_INCLUDE[room]:
                yield f"{name} includes {included}: {room}/ may include {', '.join(sorted(MAY_INCLUDE[room]))}"
            inner, folder = INNER_ROOMS.get(room, {}), inner_room_of(name, room)
            if folder in inner and "/" in included and included.startswith(("" if room.startswith("tools/") else room + "/")) and \
                    inner_room_of(included, room) in set(inner) - inner[folder]:
                yield f"{name} includes {included}: {folder}/ may include {', '.join(sorted(inner[folder]))}"


def check_foreign_headers(root):
    for name, room, text in sources_of(root):
        for included in INCLUDE.findall(text):
            if SQLITE_HEADER.match(included) and room not in ("sql", "extension"):
                yield f"{name} includes {included}: SQLite is known to sql/ and extension/ only"
            if CUDA_HEADER.match(included) and room != "gpu":
                yield f"{name} includes {included}: CUDA is known to gpu/ only"


def check_systems(root):
    for name, _, text in sources_of(root):
        if not name.startswith("base/windows/"):
            for match in WINDOWS.finditer(without_comments(text)):
                yield f"{name} names {match[0]}: what Windows does differently belongs in base/windows/"


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
        if lines > MOST_LINES:
            yield f"{name} has {lines} lines: split it into files of at most {MOST_LINES}"


def check_functions(root):
    for name, _, text in sources_of(root):
        for found in outline(text):
            lines = found.last_line - found.first_line + 1
            if found.kind == "function" and found.defined and lines > MOST_FUNCTION_LINES:
                yield f"{name}:{found.first_line} {found.name} has {lines} lines: split it into functions of at most {MOST_FUNCTION_LINES}"


def check_classes(root):
    for name, _, text in sources_of(root):
        declarations = outline(text)
        members = collections.Counter((id(found.owner), found.kind) for found in declarations if found.nested)
        for found in declarations:
            functions, data = members[id(found), "function"], members[id(found), "data"]
            if functions > MOST_MEMBER_FUNCTIONS or data > MOST_DATA_MEMBERS:
                yield (f"{name}:{found.first_line} {found.name} has {functions} member functions and {data} data members: "
                       f"split it into classes of at most {MOST_MEMBER_FUNCTIONS} and {MOST_DATA_MEMBERS}")


def check_folders(root):
    folders = collections.Counter(os.path.dirname(name) for name, _, _ in sources_of(root))
    for folder, files in sorted(folders.items()):
        if files > MOST_FILES:
            yield f"{folder} has {files} source files: split it into rooms of at most {MOST_FILES}"


def check_type_names(root):
    places = {}
    for name, _, text in sources_of(root):
        if name.endswith("-inl.h"):
            continue
        for found in outline(text):
            if found.kind == "type" and found.name and not found.nested and "::" not in found.name:
                project = name.split("/")[1] if name.startswith("tools/") else ""
                places.setdefault((found.name, project), []).append(f"{name}:{found.first_line}")
    for (type_name, _), where in sorted(places.items()):
        if len(where) > 1:
            yield f"{type_name} is defined in {', '.join(where)}: give each thing a name of its own"


def undocumented(text):
    """The declarations of a header that no comment tells about."""
    lines = [""] + text.split("\n")
    documented_until = 0  # the last line of the documented group of lines
    at_namespace_scope = [found for found in outline(text) if not found.nested and "::" not in found.name]
    for place, found in enumerate(at_namespace_scope):
        above = found.first_line - 1
        while lines[above].lstrip().startswith("#"):
            above -= 1
        commented = lines[above].lstrip().startswith("//") or above == documented_until or \
            any("//" in line for line in lines[found.first_line:found.last_line + 1][:1])
        if commented or place == 0:
            documented_until = found.last_line
        else:
            yield found


def check_contracts(root):
    for name, _, text in sources_of(root):
        if not name.endswith((".h", ".cuh")) or name.endswith("-inl.h"):
            continue
        if not text.startswith("//"):
            yield f"{name} does not begin with a comment that says what it is for"
        for found in undocumented(text):
            yield f"{name}:{found.first_line} {found.name} has no comment that states its contract"


def check_paths(root):
    for name in files_of(root):
        text = text_of(root, name)
        for match in MACHINE_PATH.finditer(text or ""):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{name}:{line} names {match[0]}..., a folder of one machine"


# A file that breaks each check, and what is near to breaking it but does not.
def check_executables(root):
    for name in files_of(root):
        path = os.path.join(root, name)
        if os.path.islink(path) or not os.path.isfile(path):
            continue
        with open(path, "rb") as file:
            script = file.read(2) == b"#!"
        if script != os.access(path, os.X_OK):
            yield f"{name}: " + ("begins with #! but is not executable" if script else "is executable without #!")


def check_commands(root):
    for name in files_of(root):
        if not name.endswith(".md"):
            continue
        for script, arguments in SCRIPT.findall(text_of(root, name)):
            places = [os.path.join(root, folder, script) for folder in ("", os.path.dirname(name))]
            found = [path for path in places if os.path.exists(path)]
            if not found:
                yield f"{name}: there is no {script}"
            elif (script.startswith(".") or arguments) and not os.access(found[0], os.X_OK):
                yield f"{name}: runs {script}, which is not executable"


BREAKERS = {
    check_arrows: {
        "search/a.cpp": '#include "sql/adapter/boundary.h"\n#include "model/model.h"\n',
        "loader/b.h": '# include <search/engine.h>\n',
        "sql/c.cpp": '#include "gpu/x.h"\n#include "cpu/search/scan.h"\n#include "search/engine.h"\n',
        "analysis/e.cpp": '#include "cpu/cpu_analysis.h"\n#include "search/query.h"\n',
        "text/f.cpp": '#include "analysis/moments.h"\n#include "loader/open.h"\n',
        "cpu/g.cpp": '#include "text/tokenizer.h"\n', "drawing/m.cpp": '#include "sql/register.h"\n#include "analysis/grid.h"\n',
        "cpu/search/n.cpp": '#include "cpu/cpu_backend.h"\n#include "cpu/kernels/kernels.h"\n#include "search/merge.h"\n',
        "gpu/kernels/o.cu": '#include "gpu/search/placement.h"\n#include "gpu/layout/tile.h"\n',
        "tools/verify/ptx/h.cpp": '#include "base/status.h"\n#include "ptx/parser.h"\n', "gpu/i.cpp": '#include "tools/verify/ptx/j.h"\n',
        "tools/verify/ptx/l.cpp": '#include "run/run.h"\n#include "glove_verify/finding.h"\n',
        "tools/verify/tests/k.cpp": '#include "base/status.h"\n',
        "extension/d.cpp": '#include "model/model.h"\n#include "gpu/backend/cuda_backend.h"\n',
    },
    check_foreign_headers: {
        "search/a.cpp": '#include <sqlite3.h>\n', "loader/b.cpp": '#include "sqlite3ext.h"\n',
        "search/c.cpp": '#include <cuda_runtime.h>\n', "sql/d.cpp": '#include <sqlite3ext.h>\n#include <cub/cub.cuh>\n',
        "gpu/e.cu": '#include <cuda_runtime.h>\n',
    },
    check_systems: {
        "loader/a.cpp": "#ifdef _WIN32\n#include <windows.h>\n#endif\n// not _WIN32\n", "base/b.h": "#if defined(__MINGW32__)\n#endif\n",
        "base/windows/c.cpp": "#include <windows.h>\n",
    },
    check_backends: {"sql/a.cpp": 'if (name == "cuda") return;  // not "cpu"\n', "search/b.cpp": 'return "cpu";\n'},
    check_silence: {
        "search/a.cpp": 'std::cerr << 1;\nstd::snprintf(b, 2, "");\n', "gpu/b.cu": 'printf("x");\n',
        "sql/c.cpp": 'abort();\nstd::exit(1);  // exit(2)\nat_exit_of(3);\n', "convert/glove_convert.cpp": 'std::fprintf(stderr, "x");\n',
    },
    check_length: {"sql/a.cpp": "\n" * 421, "sql/b.cpp": "\n" * 420},
    check_functions: {
        "base/a.cpp": "namespace a {\nint f() {\n" + "  g();\n" * 59 + "}\n}\n",
        "base/b.cpp": "int f() {\n" + "  g();\n" * 58 + "}\n",
        # Braces and lambdas among the initializers of members, and braces in literals and comments.
        "base/c.h": "class C {\n  C(int n) : a_{n}, b_([] { return 1; }) {  // }\n" + "    '}';\"}}\";\n" * 59 + "  }\n};\n",
        "gpu/d.cu": "template <int kN>\n__global__ void __launch_bounds__(256, 2) kernel(int n)\n{\n" + "  g();\n" * 58 + "}\n",
        # No functions, however long: a type, a namespace, a table.
        "sql/e.cpp": "namespace e {\nstruct S {\n" + "  int f() { return 1; }\n" * 70 + "};\nconst int kTable[] = {\n" + "  1,\n" * 70 +
                     "};\nint f() try {\n} catch (...) {\n}\n}\n",
        "sql/f.cpp": "Status f() try {\n" + "  g();\n" * 30 + "} catch (...) {\n" + "  g();\n" * 30 + "}\n",
    },
    check_classes: {
        "base/a.h": "class A {\n public:\n" + "  void f() const;\n" * 41 + "};\n",
        "base/b.h": "struct B {\n" + "  int a GLOVE_GUARDED_BY(m) = 0;\n" * 11 + "  std::vector<int> b{1, 2};\n" * 10 + "};\n",
        # Near to it: 40 and 20, beside what no object has and what belongs to a class inside.
        "base/c.h": "class C {\n" + "  int f() { return 1; }\n" * 40 + "  std::function<void(int)> d = {};\n" * 20 +
                    "  static constexpr int kE = 1;\n  using F = int;\n  enum class G { kH, kI };\n  struct J { int k; };\n};\n",
    },
    check_folders: {f"base/f{i}.h": "" for i in range(41)} | {f"model/f{i}.h": "" for i in range(40)} |
                   {f"model/g/f{i}.h": "" for i in range(40)},
    check_type_names: {
        "base/a.h": "namespace a {\nclass Block final : public B<int> {\n  struct Entry {};\n};\nclass Later;\n}\n",
        "sql/b.cpp": "namespace {\nstruct Block {\n};\nenum class Later { kOne };\nstruct B::Entry {};\nvoid f() { struct Local {}; }\n}\n",
        "sql/c.cpp": "struct stat info {};\nstruct stat more {};\n// struct Later {};\nstd::string f() { struct Local {}; return \"struct Later {\"; }\n"
                     "template <>\nstruct hash<Later> {};\ntemplate <>\nstruct hash<Block> {};\nclass A : B { struct Entry {}; };\n",
        "gpu/d.h": "template <class Block>\nstruct alignas(16) Point {\n};\nunion Point2 {};\n",
        "gpu/e.cu": "enum Point { kP };\n", "tools/verify/a.h": "struct Block {};\n", "cpu/f-inl.h": "struct Dot {};\n", "cpu/g-inl.h": "struct Dot {};\n",
    },
    check_contracts: {
        "base/a.h": "#pragma once\n",
        "base/b.h": "// What B is.\n#pragma once\nclass Later;\nclass B {\n  void f();\n};\n\n// Both of them.\nvoid g();\nvoid h(int a,\n"
                    "       int b);\nint i();  // three\n\nconstexpr int kNumber = 1;\nusing std::string;\n",
        "base/c.h": "// What C is.\n#pragma once\nclass C {\n};\n\nclass D {\n};\n\nvoid g();\nvoid h();\n\ntemplate <class T>\nusing V = W<T>;\n",
        "base/d.cpp": "void f();\n", "cpu/e-inl.h": "void f();\nvoid g();\n\nvoid h();\n",
    },
    check_paths: {
        "docs/a.md": "open /" + "home/ada/x and /usr/lib, not a/" + "work/b\n",
        "sql/b.cpp": '"/' + 'work/data"\n',
    },
    check_executables: {"a/b.sh": "#!/bin/sh\n", "a/c.py": "import os\n"},
    check_commands: {
        "a.md": "`./a/none.sh ARGUMENT`, `a/b.py` alone, `a/b.py 3`, `./a/b.py`\n\n    A=b a/b.py 3  # fast\n    a/none.sh\n",
        "a/b.py": "import os\n",
    },
}
EXPECTED_BREAKS = {check_arrows: 14, check_foreign_headers: 4, check_systems: 3, check_backends: 1, check_silence: 4, check_length: 1,
                   check_functions: 4, check_classes: 2, check_folders: 1, check_type_names: 2, check_contracts: 5, check_paths: 2,
                   check_executables: 1, check_commands: 5}


# Known violations, by the beginning of the message without its line number. The list may only become shorter.
TO_MEND = ()


class Architecture(unittest.TestCase):
    def check(self, function):
        self.assertGreater(len(files_of(PROJECT)), 50, "the project's files were not found")
        self.assertEqual("\n".join(complaint for complaint in function(PROJECT)
                                   if not re.sub(r":\d+", "", complaint).startswith(TO_MEND)), "")
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

    def test_systems(self):
        self.check(check_systems)

    def test_backends(self):
        self.check(check_backends)

    def test_silence(self):
        self.check(check_silence)

    def test_length(self):
        self.check(check_length)

    def test_functions(self):
        self.check(check_functions)

    def test_classes(self):
        self.check(check_classes)

    def test_folders(self):
        self.check(check_folders)

    def test_type_names(self):
        self.check(check_type_names)

    def test_contracts(self):
        self.check(check_contracts)

    def test_paths(self):
        self.check(check_paths)

    def test_executables(self):
        self.check(check_executables)

    def test_commands(self):
        self.check(check_commands)


if __name__ == "__main__":
    unittest.main()
