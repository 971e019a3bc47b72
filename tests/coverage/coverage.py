#!/usr/bin/env python3
"""Measures which branches of the product the tests take.

  coverage.py run BUILD [--jobs N] [-R PATTERN]   runs the tests of a build folder that was configured as HACKING.md says
  coverage.py report BUILD [--missing ROOM]       the share of branches taken per room, with --missing those that are not
  coverage.py messages BUILD                      the error messages of sql/ and loader/ that no test produces

A branch is one outcome, true or false, of one condition, in whichever instance of a template. What EXCLUDED matches is not counted;
for a message, the two lines before it may match as well.
llvm-cov drops functions of anonymous namespaces that share a name and a source's name with others, as all in batches do: build with
GLOVE_FAST_BUILD=OFF, or take the shares for too low.
"""
import argparse
import collections
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys

PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROOMS = ("base", "model", "lists", "loader", "convert", "search", "analysis", "drawing", "text", "live", "cpu", "gpu", "sql", "extension")

# What is not counted where no test takes it: a pattern of the file, one of the line, and the reason.
EXCLUDED = (
    (r"^base/windows/|^base/posix/(macos|emscripten)", r"", "code of another system"),
    (r"^sql/(nn/glove_nn_inputs|models/glove_words)", r"could not be read", "SQLite could not read the values of an IN from its temporary file"),
    (r"", r"bad_alloc|NOMEM|nomem|OutOfMemory|sqlite3_malloc|\.reserve_|make_room|value_dup|!room\b", "an allocation failed: AllocationsTest makes each fail, in processes that "
     "write no profile"),
    (r"", r"if constexpr", "a condition that the compiler decides, which has no counter"),
    (r"", r"GLOVE_REQUIRE", "a condition that the caller must have made true"),
    (r"^base/(posix/|file|replacement_file)|^model/mapped_file|^gpu/residency/upload|^loader/output", r"errno|!status|!target|!now|descriptor < 0|MAP_FAILED|"
     r"count < 0|system_calls::|fstat|fchmod|bytes < 0|attr\(|address == nullptr|loaded == nullptr|kAttempts|!got\.ok|unnamed|\bafter\b|ioctl|result == 0",
     "the system refused a call, or answered as on another system"),
    (r"^base/posix/process|^base/quiet", r"sa_|info->|repair|installed|is_default|repaired", "a signal: the process that gets it ends without a profile"),
    (r"^(base/x86_features|cpu/kernels/kernels|cpu/cpu_backend|base/crc32)\.cpp", r"has\.|has_|bit\(|cpuid|saved &|forced|features|allow_amx", "another processor"),
    (r"", r"in_forked_child|process_ [!=]= |getpid\(\)", "a forked child, which writes no profile"),
    (r"", r"\.start\(|started\(\)|may_start|thread\.ok", "the system had no thread"),
    (r"", r"sqlite_has\(|sqlite3_api->", "an SQLite older than 3.38, whose build of the same sources is measured as another"),
    (r"^(loader|base|convert)/", r"got (<|!=) |count < length|bytes\(\)\.size\(\)\) != header\.end", "a file that becomes shorter while it is read"),
    (r"^extension/", r"api != sqlite3_api", "a program that brings two SQLites"),
    (r"", r"kMaxRows|kMaxWordBytes", "more rows or bytes than a test has time to write"),
    (r"^sql/toolbox/glove_mmr", r"rows_\.front\(\)\.vector\.size\(\)", "a row that changes between two reads of one statement, which SQLite isolates"),
)


def llvm(tool):
    for name in (tool, tool + "-14"):
        if subprocess.run(["which", name], capture_output=True).returncode == 0:
            return name
    raise SystemExit(f"there is no {tool} (./build.sh --packages-only fuzz installs clang)")


def run(arguments):
    """One process per test, because ctest cannot name a profile per test."""
    sys.path.insert(0, os.path.join(os.path.dirname(PROJECT + "/tests/"), "mutants"))
    import mutants
    mutants.WHOLE = True
    folder = os.path.join(os.path.abspath(arguments.build), "profiles")
    os.makedirs(folder, exist_ok=True)
    tests = mutants.tests_of(arguments.build, arguments.pattern, arguments.without)
    tests.sort(key=lambda test: "long" not in test.labels)

    def one(test):
        environment = {"LLVM_PROFILE_FILE": os.path.join(folder, "%8m.profraw")}
        code, output = mutants.run_test(test, environment, 590, "/tmp")
        if code not in (0, 77):
            print(f"{test.name} fails: {code} {output[-400:].decode(errors='replace')}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(one, tests))
    print(f"{len(tests)} tests")


def exported(build):
    """The JSON of llvm-cov over all programs, kept beside the profiles."""
    folder = os.path.join(build, "profiles")
    path, merged = os.path.join(folder, "export.json"), os.path.join(folder, "merged.profdata")
    raw = glob.glob(os.path.join(folder, "*.profraw"))
    if raw and not (os.path.exists(path) and os.path.getmtime(path) > max(map(os.path.getmtime, raw))):
        subprocess.run([llvm("llvm-profdata"), "merge", "-sparse", "--failure-mode=all", *raw, "-o", merged], check=True)
        programs = [p for p in glob.glob(os.path.join(build, "**", "*"), recursive=True)
                    if os.path.isfile(p) and (p.endswith(".so") or os.access(p, os.X_OK)) and is_measured(p)]
        objects = [x for p in programs[1:] for x in ("-object", p)]
        with open(path, "w", encoding="utf-8") as out:
            subprocess.run([llvm("llvm-cov"), "export", "-instr-profile", merged, programs[0], *objects, "-ignore-filename-regex=^/usr/"], check=True, stdout=out)
    with open(path, encoding="utf-8") as file:
        files = json.load(file)["data"][0]["files"]
    for file in files:  # ccache has them named from the build folder
        file["filename"] = os.path.relpath(os.path.join(os.path.abspath(build), file["filename"]), PROJECT)
    return [file for file in files if file["filename"].startswith(tuple(room + "/" for room in ROOMS))]


def is_measured(path):
    with open(path, "rb") as file:
        content = file.read()
    return content[:4] == b"\x7fELF" and b"__llvm_covmap" in content


class Sources:
    def __init__(self):
        self.lines = {}

    def line(self, name, number):
        if name not in self.lines:
            with open(os.path.join(PROJECT, name), encoding="utf-8") as file:
                self.lines[name] = file.read().split("\n")
        return self.lines[name][number - 1]


def branches(files):
    """{(file, line, column, end line, end column): [times true, times false]}"""
    counts = collections.defaultdict(lambda: [0, 0])
    for file in files:
        for line, column, end, end_column, true, false, *_ in file["branches"]:
            count = counts[file["filename"], line, column, end, end_column]
            count[0] += true
            count[1] += false
    return counts


def reason(name, text):
    return next((why for file, line, why in EXCLUDED if re.search(file, name) and re.search(line, text)), None)


def report(arguments):
    sources, data = Sources(), exported(arguments.build)
    total, taken, left_out = (collections.Counter() for _ in range(3))
    missing = []
    for (name, line, column, end, end_column), counts in sorted(branches(data).items()):
        room, text = name.split("/")[0], sources.line(name, line)
        for outcome, count in zip(("true", "false"), counts):
            if not count and reason(name, text):
                left_out[room] += 1
                continue
            total[room] += 1
            taken[room] += count > 0
            if not count:
                part = text[column - 1:end_column - 1] if end == line else text[column - 1:]
                missing.append((room, f"{name}:{line}: never {outcome}: {part}"))
    for room in ROOMS:
        if total[room]:
            print(f"{room:10} {taken[room]:6} of {total[room]:6} branches  {taken[room] / total[room]:6.1%}   {left_out[room]:5} not counted")
    print(f"{'all':10} {sum(taken.values()):6} of {sum(total.values()):6} branches  {sum(taken.values()) / sum(total.values()):6.1%}   "
          f"{sum(left_out.values()):5} not counted")
    if arguments.missing:
        for room, text in missing:
            if room == arguments.missing or arguments.missing == "all":
                print(text)


# ---- messages

NO_MESSAGE = re.compile(r"^\s*(SELECT|INSERT|CREATE|DELETE|UPDATE|DROP|PRAGMA|SAVEPOINT|WITH|BEGIN|ALTER|REPLACE|FROM|WHERE)\b|HIDDEN|^[a-z_]+\(.*\)$")


def literals():
    """(file, line, column, text) of each literal of at least three words in sql/ and loader/."""
    literal = re.compile(r'"((?:\\.|[^"\\\n])*)"(?:\s*"((?:\\.|[^"\\\n])*)")*')
    for room in ("sql", "loader"):
        for folder, _, names in os.walk(os.path.join(PROJECT, room)):
            for name in sorted(names):
                if not name.endswith((".cpp", ".h")):
                    continue
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    text = re.sub(r"//[^\n]*", lambda m: " " * len(m.group()), file.read())
                for match in literal.finditer(text):
                    content = "".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', match.group()))
                    if len(re.findall(r"[A-Za-z]{2,}", content)) < 3 or NO_MESSAGE.search(content) or not re.search(r"[a-z]{2,} [a-z]{2,}", content):
                        continue
                    yield (os.path.relpath(path, PROJECT), text.count("\n", 0, match.start()) + 1, match.start() - text.rfind("\n", 0, match.start()), content)


def messages(arguments):
    """Asks for the count at the place of each literal: a line may have a condition before it that is executed."""
    segments = {file["filename"]: [(s[:2], s[2], s[3]) for s in file["segments"]] for file in exported(arguments.build)}
    sources, shown, left_out = Sources(), 0, 0
    for name, line, column, content in literals():
        before = [(count, counted) for place, count, counted in segments.get(name, ()) if place <= [line, column]]
        if not before or before[-1] != (0, True):
            continue
        if reason(name, "\n".join(sources.line(name, number) for number in range(max(line - 2, 1), line + 1))):
            left_out += 1
            continue
        shown += 1
        print(f"{name}:{line}: {content[:140]}")
    print(f"{shown} messages are at places that no test executes; {left_out} others are excluded")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "report", "messages"))
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("-R", dest="pattern", default=".")
    parser.add_argument("-E", dest="without", default=r"^(architecture|docs\.(links|speed_plot|terminal|security)|packages\.(?!program)|examples|instructions)")
    parser.add_argument("--missing", metavar="ROOM")
    arguments = parser.parse_args()
    {"run": run, "report": report, "messages": messages}[arguments.what](arguments)


if __name__ == "__main__":
    main()
