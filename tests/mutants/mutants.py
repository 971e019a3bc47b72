#!/usr/bin/env python3
"""Makes mutants of the planner of glove_nn, RankedScan, live search, merge and the log, and says which of them a test finds.

  mutants.py list                     prints the mutants that are chosen
  mutants.py make FOLDER              copies the project to FOLDER with all of them, of which GLOVE_MUTANT chooses one
  mutants.py run BUILD [--only TEXT] [--part I/N] [--jobs N] [--results FILE]
                                      runs the tests of the copy's build folder on each, and records the results
  mutants.py report                   counts the recorded results, and prints the survivors with what explains each
  mutants.py check                    fails if too few mutants are recorded or found, or if a survivor is not explained

A mutant negates a condition, leaves out an operand of && or ||, moves a bound by one, or leaves out a call or an assignment. A
line of results.tsv is a mutant and what found it: the name of a test, or "survived". survivors.tsv explains the survivors: "same" changes
nothing that a statement can see, such as the cost of a plan or what a cache keeps, and "gap" something that no test looks at. `run`
first runs every test on the unchanged copy, and notes which mutants it reaches; then it runs each mutant's tests, the shortest
first, until one fails.
"""
import argparse
import collections
import concurrent.futures
import csv
import hashlib
import json
import mmap
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
RESULTS = os.path.join(HERE, "results.tsv")
SURVIVORS = os.path.join(HERE, "survivors.tsv")

LEAST, LEAST_FOUND = 300, 0.95

# How many mutants of each source, chosen by the hash of what they change.
SOURCES = {
    "sql/nn/glove_nn_planner.cpp": 55,
    "sql/nn/glove_nn_plan.cpp": 14,
    "sql/nn/glove_nn_inputs.cpp": 26,
    "sql/nn/ranked_scan.cpp": 60,
    "sql/nn/ranked_table.cpp": 16,
    "sql/nn/kept_ranks.cpp": 12,
    "sql/nn/rank_cache.cpp": 14,
    "sql/nn/answer_cache.cpp": 10,
    "sql/nn/among_input.cpp": 14,
    "sql/adapter/inputs.cpp": 16,
    "sql/adapter/own_statement.cpp": 8,
    "sql/index/index_state.cpp": 24,
    "sql/index/index_store.cpp": 12,
    "sql/index/index_commands.cpp": 26,
    "sql/index/index_triggers.cpp": 8,
    "sql/index/content_rows.cpp": 16,
    "sql/index/segment_store.cpp": 20,
    "sql/index/code_reader.cpp": 8,
    "live/live_search.cpp": 40,
    "live/outline_reader.cpp": 24,
    "live/log_segments.cpp": 10,
    "live/merge_rule.cpp": 8,
    "live/segment.cpp": 14,
    "live/code_cache.cpp": 8,
}

# Calls that change no row, error or count: room reserved, memory fetched early, clocks and what glove_stats shows of them.
UNSEEN = re.compile(r"reserve|prefetch|shrink_to_fit|_us\b|timer|Timer|rehash|report\.(cost|total|device|backend)|labels\.|GLOVE_REQUIRE")

HEADER = """#pragma once
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
namespace glove {
inline int chosen_mutant() {
  const char* const text = std::getenv("GLOVE_MUTANT");
  return text == nullptr ? -1 : std::atoi(text);
}
// One byte per mutant of the file that GLOVE_MUTANTS_REACHED names.
inline char* reached_mutants() {
  const char* const path = std::getenv("GLOVE_MUTANTS_REACHED");
  if (path == nullptr) return nullptr;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const bytes = mmap(nullptr, %d, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return bytes == MAP_FAILED ? nullptr : static_cast<char*>(bytes);
}
inline const int kChosenMutant = chosen_mutant();
inline char* const kReachedMutants = reached_mutants();
inline bool mutant(int number) {
  if (kReachedMutants != nullptr) kReachedMutants[number] = 1;
  return number == kChosenMutant;
}
}  // namespace glove
"""

Mutant = collections.namedtuple("Mutant", "source line kind text key edits")


def masked(text):
    """The text with comments, literals and lines of the preprocessor blank, at the same places."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group())

    def keep_quotes(match):
        return '"' + re.sub(r"[^\n]", "_", match.group()[1:-1]) + '"'

    pattern = re.compile(r'R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*(?:.|\n)*?\*/|^#[^\n]*', re.M)
    return pattern.sub(lambda m: keep_quotes(m) if m.group()[0] in "\"'R" else blank(m), text)


def closing(text, at):
    """The place of the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
            if depth == 0:
                return i
    raise ValueError("unbalanced")


def top_level(text, begin, end, separators):
    """Splits text[begin:end] at separators outside brackets: [(separator before, begin, end)]."""
    parts, at, depth, before = [], begin, 0, ""
    i = begin
    while i < end:
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
        elif depth == 0:
            found = next((s for s in separators if text.startswith(s, i)), None)
            if found:
                parts.append((before, at, i))
                before, at = found, i + len(found)
                i = at
                continue
        i += 1
    parts.append((before, at, end))
    return parts


class Finder:
    def __init__(self, source, text):
        self.source, self.text, self.lines = source, text, masked(text)
        self.plain = self.lines.replace("\n", " ")
        self.found, self.uses = [], collections.Counter()

    def add(self, kind, begin, end, replacement, extra=()):
        """Replaces text[begin:end] by `replacement`, where @ is the call mutant(n) and $ the old text."""
        start = self.text.rfind("\n", 0, begin) + 1
        stop = self.text.find("\n", begin)
        line = self.text[start:stop].strip()
        function = self.lines[start:stop]
        if "constexpr" in function or "static_assert" in function or UNSEEN.search(self.text[begin:end]) and kind in ("call", "assignment"):
            return
        if "GLOVE_REQUIRE" in self.plain[max(0, begin - 200):begin].rsplit(";", 1)[-1]:
            return
        old = " ".join(self.text[begin:end].split())
        what = f"{kind}|{line}|{old}"
        self.uses[what] += 1
        key = hashlib.sha256(f"{self.source}|{what}|{self.uses[what]}".encode()).hexdigest()[:10]
        number = self.text.count("\n", 0, begin) + 1
        self.found.append(Mutant(self.source, number, kind, old, key, ((begin, end, replacement), *extra)))

    def condition(self, begin, end, negate=True):
        while begin < end and self.plain[begin].isspace():
            begin += 1
        while end > begin and self.plain[end - 1].isspace():
            end -= 1
        if negate and not re.match(r"true$|false$", self.plain[begin:end]):
            self.add("negation", begin, end, "(@ != static_cast<bool>($))")
        parts = top_level(self.plain, begin, end, (" && ", " || "))
        operators = {p[0] for p in parts[1:]}
        if len(parts) > 1 and len(operators) == 1:
            for _, a, b in parts:
                if operators == {" && "}:
                    self.add("operand", a, b, "(@ || static_cast<bool>($))")
                else:
                    self.add("operand", a, b, "(!@ && static_cast<bool>($))")
        for _, a, b in parts:
            self.clause(a, b)

    def clause(self, begin, end):
        while begin < end and self.plain[begin].isspace():
            begin += 1
        if self.plain[begin] == "(" and closing(self.plain, begin) == end - 1:
            return self.condition(begin + 1, end - 1, negate=False)
        if self.plain.startswith("!(", begin) and closing(self.plain, begin + 1) == end - 1:
            return self.condition(begin + 2, end - 1, negate=False)
        sides = top_level(self.plain, begin, end, (" <= ", " >= ", " < ", " > "))
        if len(sides) == 2 and " <<" not in self.plain[begin:end]:
            operator = sides[1][0].strip()
            other = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}[operator]
            a, b = self.text[sides[0][1]:sides[0][2]], self.text[sides[1][1]:sides[1][2]]
            self.add("bound", begin, end, f"(@ ? ({a} {other} {b}) : ($))")

    def loop(self, begin, end):
        """The second part of for (...; ...; ...): all but the last round."""
        sides = top_level(self.plain, begin, end, (" < ",))
        if len(sides) == 2 and "&&" not in self.plain[begin:end]:
            a, b = self.text[sides[0][1]:sides[0][2]].strip(), self.text[sides[1][1]:sides[1][2]].strip()
            self.add("bound", begin, end, f" (@ ? ({a} + 1 < {b}) : ($))")
        elif self.plain[begin:end].strip():
            self.condition(begin, end, negate=False)

    def conditions(self):
        for match in re.finditer(r"\b(if|while) \(", self.plain):
            begin, end = match.end(), closing(self.plain, match.end() - 1)
            parts = top_level(self.plain, begin, end, (";",))
            if len(parts) == 2:
                begin = parts[1][1]
            if len(top_level(self.plain, begin, end, (" = ",))) > 1:  # a declaration
                continue
            if match.group(1) == "while":
                self.add("negation", begin, end, "(!@ && static_cast<bool>($))")
            self.condition(begin, end, negate=match.group(1) == "if")
        for match in re.finditer(r"\bfor \(", self.plain):
            begin, end = match.end(), closing(self.plain, match.end() - 1)
            parts = top_level(self.plain, begin, end, (";",))
            if len(parts) == 3:
                self.loop(parts[1][1], parts[1][2])
        for match in re.finditer(r"\breturn |\bbool \w+ =\s+", self.plain):
            end = top_level(self.plain, match.end(), len(self.plain), (";",))[0][2]
            text = self.plain[match.end():end]
            if " ? " in text or "{" in text or " << " in text or '" +' in text:
                continue
            if len(top_level(self.plain, match.end(), end, (" && ", " || ", " == ", " != ", " < ", " <= ", " > ", " >= "))) > 1 or text.startswith("!"):
                self.condition(match.end(), end)
        for match in re.finditer(r" \? ", self.plain):
            begin, depth = match.start(), 0
            while begin > 0:
                c = self.plain[begin - 1]
                if c in ")]}":
                    depth += 1
                elif c in "([{":
                    if depth == 0:
                        break
                    depth -= 1
                elif depth == 0 and (c in ";,?:=" and self.plain[begin - 2] not in "=!<>:" and self.plain[begin] not in ":=" or
                                     self.plain.endswith("return ", begin - 7, begin)):
                    break
                begin -= 1
            if "\n\n" not in self.lines[begin:match.start()]:
                self.condition(begin, match.start())

    def numbers(self):
        for match in re.finditer(r" ([+-]) 1(?![\w.'])", self.plain):
            at = match.end() - 1
            self.add("bound", at, at + 1, "(@ ? 0 : 1)")

    def statements(self):
        call = re.compile(r"(?P<lead>(?:[;{})]|\belse)\s*)(?P<head>\*?[A-Za-z_](?:[\w:.]|->|\[[^\]\n]*\])*)(?P<next>\(| = | \+= | -= | \|= | &= )")
        at = 0
        while match := call.search(self.plain, at):
            at = match.start("next")
            begin, head = match.start("head"), match.group("head")
            if re.match(r"(return|if|for|while|switch|delete|throw|using|static_assert|else|case|default|public|private|do|const|GLOVE_(REQUIRE|ASSIGN))\b", head):
                continue
            if head.startswith("GLOVE_ASSIGN") or head.startswith("GLOVE_REQUIRE"):
                continue
            if match.group("lead") == ")" or self.around(begin) != "{":
                continue
            try:
                end = top_level(self.plain, begin, len(self.plain), (";",))[0][2]
            except ValueError:
                continue
            if "{" in match.group("next") or end - begin > 600:
                continue
            if match.group("next") == "(":
                after = closing(self.plain, match.start("next"))
                if self.plain[after + 1:after + 2] not in (";", ".", "-", "("):
                    continue
            self.add("call" if match.group("next") == "(" else "assignment", begin, end + 1, "{ if (!@) $ }")

    def around(self, at):
        """The bracket that is open around `at`; nothing at namespace scope."""
        depth = 0
        for i in range(at - 1, -1, -1):
            if self.plain[i] in ")]}":
                depth += 1
            elif self.plain[i] in "([{":
                if depth == 0:
                    return "" if re.search(r"\bnamespace[\w: ]*$", self.plain[:i]) else self.plain[i]
                depth -= 1
        return ""

    def all(self):
        self.conditions()
        self.numbers()
        self.statements()
        return sorted(self.found, key=lambda m: (m.edits[0][0], m.kind, m.key))


def excluded():
    """Keys of mutants that do not compile."""
    path = os.path.join(HERE, "not_compiled.txt")
    if not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8") as file:
        return {line.split()[0] for line in file if line.strip()}


def chosen(project, everything=False):
    mutants, skip = [], excluded()
    for source, count in SOURCES.items():
        if not os.path.exists(os.path.join(project, source)):
            print(f"{source} is gone: name in SOURCES what took its place", file=sys.stderr)
            continue
        with open(os.path.join(project, source), encoding="utf-8") as file:
            found = [m for m in Finder(source, file.read()).all() if m.key not in skip]
        if not everything:
            found = sorted(found, key=lambda m: m.key)[:count]
        mutants += sorted(found, key=lambda m: m.edits[0][0])
    return mutants


def rewrite(text, mutants, numbers):
    """All mutants of one source. Where one lies within another, the inner one is rewritten first."""
    class Node:
        def __init__(self, begin, end, items):
            self.begin, self.end, self.items, self.inner = begin, end, items, []

    spans = collections.OrderedDict()
    for m in sorted(mutants, key=lambda m: (m.edits[0][0], -m.edits[0][1])):
        begin, end, replacement = m.edits[0]
        spans.setdefault((begin, end), []).append((numbers[m.key], replacement))
    root = Node(0, len(text), [])
    stack = [root]
    for (begin, end), items in spans.items():
        while stack[-1].end <= begin and stack[-1] is not root:
            stack.pop()
        if end > stack[-1].end:
            raise ValueError(f"mutants overlap at {text[begin:end]!r}")
        node = Node(begin, end, items)
        stack[-1].inner.append(node)
        stack.append(node)

    def write(node):
        out, at = "", node.begin
        for inner in node.inner:
            out += text[at:inner.begin] + write(inner)
            at = inner.end
        out += text[at:node.end]
        for number, replacement in node.items:
            out = replacement.replace("@", f"::glove::mutant({number})").replace("$", out)
        return out

    return write(root)


def make(folder):
    files = subprocess.run(["git", "-C", PROJECT, "ls-files", "-z"], capture_output=True, check=True).stdout.decode().split("\0")
    mutants = chosen(PROJECT)
    numbers = {m.key: i for i, m in enumerate(mutants)}
    by_source = collections.defaultdict(list)
    for m in mutants:
        by_source[m.source].append(m)
    for name in filter(None, files):
        source, target = os.path.join(PROJECT, name), os.path.join(folder, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if name in by_source:
            with open(source, encoding="utf-8") as file:
                text = rewrite(file.read(), by_source[name], numbers)
            text = re.sub(r"^#include", '#include "base/mutant.h"\n#include', text, count=1, flags=re.M)
            if os.path.exists(target):
                with open(target, encoding="utf-8") as file:
                    if file.read() == text:
                        continue
            with open(target, "w", encoding="utf-8") as file:
                file.write(text)
        elif os.path.lexists(source) and not (os.path.exists(target) and os.path.getmtime(target) >= os.path.getmtime(source)):
            shutil.copy2(source, target, follow_symlinks=False)
    with open(os.path.join(folder, "base", "mutant.h"), "w", encoding="utf-8") as file:
        file.write(HEADER % len(mutants))
    with open(os.path.join(folder, "mutants.json"), "w", encoding="utf-8") as file:
        json.dump([m._asdict() for m in mutants], file)
    print(f"{len(mutants)} mutants in {folder}")


# ---- running

class Test:
    def __init__(self, entry):
        properties = {p["name"]: p["value"] for p in entry.get("properties", [])}
        self.name, self.command = entry["name"], entry["command"]
        self.environment = dict(v.split("=", 1) for v in properties.get("ENVIRONMENT", []))
        self.folder = properties.get("WORKING_DIRECTORY", ".")
        self.labels = properties.get("LABELS", [])
        self.seconds, self.reaches = 0.0, b""


def run_test(test, environment, limit, temporary):
    """Returns (exit code or None if the limit has passed, output)."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "GLOVE_TEST_SEED": "1", "GLOVE_FULL_DISK_STEP": "211", "GLOVE_DAMAGE_STEP": "31",
                   **({} if WHOLE else {"GLOVE_TEST_SHORT": "1"}), "TMPDIR": temporary, **test.environment, **environment}
    def limits():
        if environment.get("GLOVE_MUTANT", "-1") == "-1":
            return
        resource.setrlimit(resource.RLIMIT_AS, (24 << 30, 24 << 30))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    process = subprocess.Popen(test.command, cwd=test.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                               start_new_session=True, preexec_fn=limits)
    try:
        output, _ = process.communicate(timeout=limit)
        code = process.returncode
    except subprocess.TimeoutExpired:
        code, output = None, b""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.communicate()
    return code, output


def tests_of(build, pattern, without):
    listed = subprocess.run([os.environ.get("CTEST", "ctest"), "--test-dir", build, "--show-only=json-v1"], capture_output=True, check=True)
    return [Test(entry) for entry in json.loads(listed.stdout)["tests"]
            if "command" in entry and os.path.exists(entry["command"][0]) and re.search(pattern, entry["name"]) and not re.search(without, entry["name"])]


PATTERN = r"^(sql\.|live\.|differential|[A-Z])"
# Tests of what no mutant is in, and those that are long for what they find.
WITHOUT = r"^(CompressedInput|Gpu|Device|Cuda|architecture|docs|packages|SvgMap|Tokenizers|WordOrder|Giant|sql\.index_joins_3_53)"


def baseline(tests, count, jobs, temporary):
    def one(test):
        handle, path = tempfile.mkstemp(dir=temporary)
        os.ftruncate(handle, max(count, 1))
        os.close(handle)
        started = time.monotonic()
        code, output = run_test(test, {"GLOVE_MUTANTS_REACHED": path, "GLOVE_MUTANT": "-1"}, 400, temporary)
        test.seconds = time.monotonic() - started
        with open(path, "rb") as file:
            test.reaches = file.read()
        os.remove(path)
        test.passed = code == 0
        if code != 0 and code != 77:
            print(f"without a mutant {test.name} fails: {code} {output[-600:].decode(errors='replace')}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(one, tests))
    return [t for t in tests if t.passed and any(t.reaches)]


def read_table(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8", newline="") as file:
        return {row[0]: row for row in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE) if row}


def run(arguments):
    with open(os.path.join(os.path.dirname(os.path.abspath(arguments.build).rstrip("/")), arguments.up, "mutants.json"), encoding="utf-8") as file:
        mutants = json.load(file)
    tests = tests_of(arguments.build, arguments.tests, arguments.without)
    temporary = tempfile.mkdtemp(prefix="mutants-")
    started = time.monotonic()
    tests = baseline(sorted(tests, key=lambda t: "long" not in t.labels), len(mutants), arguments.jobs, temporary)
    print(f"{len(tests)} tests reach mutants, {sum(t.seconds for t in tests):.0f} s of them, in {time.monotonic() - started:.0f} s", flush=True)
    results = read_table(arguments.results)
    part, parts = (int(x) for x in arguments.part.split("/"))
    known = set(results) if arguments.new else set()
    if arguments.survivors or arguments.unexplained:
        known = {key for key, row in results.items() if row[5] != "survived" and row[5] != "not reached"}
    if arguments.unexplained:
        known |= set(read_table(SURVIVORS))
    todo = [(i, m) for i, m in enumerate(mutants) if i % parts == part - 1 and arguments.only in m["source"] and m["key"] not in known]
    kills = collections.defaultdict(collections.Counter)
    lock = threading.Lock()

    def one(numbered):
        number, m = numbered
        reaching = [t for t in tests if t.reaches[number] and t.seconds <= arguments.most]
        with lock:
            counts = dict(kills[m["source"]])
        reaching.sort(key=lambda t: (t.seconds + 0.02) / (1 + counts.get(t.name, 0)))
        found, spent = "survived" if reaching else "not reached", 0.0
        for test in reaching:
            begun = time.monotonic()
            if arguments.until and begun - started > arguments.until:
                found = "not finished"
                break
            limit = 6 * test.seconds + 5
            left = started + arguments.until + 10 - begun if arguments.until else limit
            code, _ = run_test(test, {"GLOVE_MUTANT": str(number)}, min(limit, left), temporary)
            spent += time.monotonic() - begun
            if code is None and left < limit:
                found = "not finished"
                break
            if code != 0:
                found = test.name + (" (endless)" if code is None else "")
                with lock:
                    kills[m["source"]][test.name] += 1
                break
        with lock:
            if found != "not finished":
                results[m["key"]] = [m["key"], m["source"], str(m["line"]), m["kind"], m["text"][:150], found]
        print(f"{number:4} {m['source']}:{m['line']} {m['kind']}: {m['text'][:80]} -> {found} ({spent:.1f} s, {len(reaching)} tests)", flush=True)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(one, sorted(todo, key=lambda numbered: numbered[1]["key"])))
    shutil.rmtree(temporary, ignore_errors=True)
    current = {m["key"] for m in mutants}
    with open(arguments.results, "w", encoding="utf-8", newline="") as file:
        for row in sorted(results.values(), key=lambda r: (r[1], int(r[2]), r[3], r[0])):
            if row[0] in current:
                file.write("\t".join(row) + "\n")


def summary():
    """(lines of text, errors) of what is recorded."""
    results, reasons = read_table(RESULTS), read_table(SURVIVORS)
    survivors = [row for row in results.values() if row[5] in ("survived", "not reached")]
    same = sum(row[0] in reasons and reasons[row[0]][1] == "same" for row in survivors)
    found, changing = len(results) - len(survivors), len(results) - same
    lines = [f"{len(results)} mutants: {found} found, {same} change nothing that a statement can see, {len(survivors) - same} others survive; "
             f"{found / max(changing, 1):.1%} of the {changing} that change something are found"]
    for row in survivors:
        lines.append(f"{row[1]}:{row[2]}: {row[3]}: {row[4]}: {': '.join(reasons[row[0]][1:]) if row[0] in reasons else 'NOT EXPLAINED'}")
    errors = [f"{row[1]}:{row[2]}: {row[3]} of {row[4]!r} survives: write a test, or explain it in survivors.tsv" for row in survivors if row[0] not in reasons]
    errors += [f"survivors.tsv explains {key}, which is no survivor" for key in reasons if key not in {row[0] for row in survivors}]
    if len(results) < LEAST:
        errors.append(f"{len(results)} mutants are recorded, of at least {LEAST}")
    if found < LEAST_FOUND * changing:
        errors.append(f"{found} of {changing} mutants are found, of at least {LEAST_FOUND:.0%}")
    return lines, errors


def check():
    """That the sources still give mutants, which can be written, and what is recorded."""
    mutants = chosen(PROJECT)
    for source in sorted({m.source for m in mutants}):
        own = [m for m in mutants if m.source == source]
        with open(os.path.join(PROJECT, source), encoding="utf-8") as file:
            text = file.read()
        rewritten = rewrite(text, own, {m.key: i for i, m in enumerate(own)})
        if any(f"mutant({i})" not in rewritten for i in range(len(own))):
            raise SystemExit(f"{source}: not every mutant was made")
    lines, errors = summary()
    if len(mutants) < LEAST:
        errors.append(f"the sources give {len(mutants)} mutants, of at least {LEAST}")
    print(lines[0])
    known = set(read_table(RESULTS))
    print(f"{sum(m.key in known for m in mutants)} of the {len(mutants)} mutants of these sources are recorded")
    raise SystemExit("\n".join(errors) or 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("list", "make", "run", "report", "check"))
    parser.add_argument("build", nargs="?")
    parser.add_argument("--all", action="store_true", help="list: also those that are not chosen")
    parser.add_argument("--only", default="", help="run: mutants of sources whose path contains this")
    parser.add_argument("--tests", default=PATTERN, help="run: tests whose names match")
    parser.add_argument("--without", default=WITHOUT, help="run: but not tests whose names match")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--results", default=RESULTS)
    parser.add_argument("--new", action="store_true", help="run: only mutants without a result")
    parser.add_argument("--survivors", action="store_true", help="run: only mutants that no test has found")
    parser.add_argument("--most", type=float, default=1e9, help="run: seconds of the longest test that is run on mutants")
    parser.add_argument("--unexplained", action="store_true", help="run: only mutants that no test has found and nothing explains")
    parser.add_argument("--whole", action="store_true", help="run: every case of the tests with the label long, not a third")
    parser.add_argument("--until", type=float, default=0, help="run: seconds after which no test is begun")
    arguments = parser.parse_args()
    if arguments.what == "list":
        for m in chosen(PROJECT, arguments.all):
            print(f"{m.key} {m.source}:{m.line} {m.kind}: {m.text}")
    elif arguments.what == "make":
        make(arguments.build)
    elif arguments.what == "run":
        global WHOLE
        WHOLE = arguments.whole
        arguments.up = ".." if os.path.basename(os.path.dirname(os.path.abspath(arguments.build))) == "build" else "."
        run(arguments)
    elif arguments.what == "report":
        print("\n".join(summary()[0]))
    else:
        check()


WHOLE = False

if __name__ == "__main__":
    main()
