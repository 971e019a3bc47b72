"""Checks that the documents are right: test_docs.py {examples,reference} --project DIR --extension GLOVE.SO --convert GLOVE-CONVERT

examples   Every ```sql block of README.md, docs/*.md and errors.md runs, statement by statement, in one session per document, as the
           sqlite3 shell would: in a folder with ./glove.so and glove.safetensors (the sample of examples/data). A block that is
           followed by a plain ``` block must print exactly that. An error prints "Error: ..."; "..." at the end of a line of
           output stands for what differs between machines. Every ```python and ```sh block of README.md, install.md and frameworks.md
           runs as a program in the same folder, in the order of the page, and prints the plain block that
           follows; one that needs a package or program that is not installed is skipped, which is printed.
reference  Every registered function and table, with its arguments and columns, every setting, load option and environment
           variable has its entry in docs/sql.md, and docs/sql.md has no others.
"""
import argparse
import glob
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
import installed

SKIPPED = 77
PLANS_OF = (3, 40)  # the SQLite whose wording of plans the documents show; with others their blocks only run
SAMPLE = "examples/data/glove-6b-100d-20k.txt.gz"
BLOCK = re.compile(r"^```sql\n(.*?)^```\n(?:\s*^```\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
PROGRAM = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:\s*^```\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
WITH_PROGRAMS = {"README.md", "install.md", "frameworks.md"}
# Read by the library, but part of its tests' machinery rather than of its interface.
FOR_TESTS = {"GLOVE_NN_DISABLE", "GLOVE_SQLITE_CEILING"}


def connect():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    if not hasattr(connection, "enable_load_extension"):
        print("skipped: this Python's sqlite3 module cannot load extensions")
        sys.exit(SKIPPED)
    connection.enable_load_extension(True)
    return connection


# --- examples ---------------------------------------------------------------------------------------------------------


def shown(value):
    """A value as the shell's list mode prints it."""
    if value is None:
        return ""
    if isinstance(value, float):
        text = "%.15g" % value
        return text if any(c in text for c in ".einf") else text + ".0"
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def plan_tree(rows, parent=0, indent=""):
    """EXPLAIN QUERY PLAN as the shell draws it."""
    lines = ["QUERY PLAN"] if parent == 0 else []
    children = [row for row in rows if row[1] == parent]
    for row in children:
        last = row is children[-1]
        lines.append(indent + ("`--" if last else "|--") + row[3])
        lines += plan_tree(rows, row[0], indent + ("   " if last else "|  "))
    return lines


def statements_of(block):
    statement = ""
    for line in block.splitlines():
        if not statement and line.startswith("."):
            yield line
            continue
        statement += line + "\n"
        # The shell ends a statement at the end of a line; several on one line run one by one all the same.
        if sqlite3.complete_statement(statement.split("--")[0] if "--" in line else statement):
            yield statement
            statement = ""
    if statement.strip() and not all(part.strip().startswith("--") for part in statement.strip().splitlines()):
        raise ValueError("a statement is not complete: " + statement)


def run_statement(connection, statement):
    """Returns the lines that it prints."""
    if statement.startswith(".load "):
        connection.load_extension(statement.split()[1])
        return []
    if statement.startswith("."):
        raise ValueError("the documents may use .load only: " + statement)
    try:
        rows = connection.execute(statement).fetchall()
    except sqlite3.Error as error:
        return ["Error: " + str(error)]
    if re.match(r"\s*EXPLAIN QUERY PLAN", statement, re.IGNORECASE):
        return plan_tree(rows)
    return "\n".join("|".join(map(shown, row)) for row in rows).split("\n") if rows else []


def matches(actual, expected):
    return actual == expected or expected.endswith("...") and actual.startswith(expected[:-3])


def check_block(connection, block, expected):
    """Returns what is wrong, or None."""
    printed = [line for statement in statements_of(block) for line in run_statement(connection, statement)]
    foreign_plans = "EXPLAIN QUERY PLAN" in block and sqlite3.sqlite_version_info[:2] != PLANS_OF
    if expected is None or foreign_plans:
        errors = [line for line in printed if line.startswith("Error: ")]
        return "\n".join(errors) or None
    wanted = expected.splitlines()
    if len(printed) == len(wanted) and all(map(matches, printed, wanted)):
        return None
    return "it prints\n%s\nand not\n%s" % ("\n".join(printed), expected)


def check_program(language, block, expected):
    """Returns what is wrong with a program of the documents, or None."""
    command = [sys.executable, "-c", block] if language == "python" else ["sh", "-ec", block]
    if language == "sh" and not shutil.which(block.split()[0]):
        print("skipped: there is no program " + block.split()[0])
        return None
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    missing = re.search(r"ModuleNotFoundError: No module named '(\w+)", done.stderr)
    if missing and missing[1] != "sqlite_glove":
        print("skipped: Python's %s is not installed" % missing[1])
        return None
    if done.returncode == 0 and (expected is None or done.stdout == expected):
        return None
    return "it ends with %d and prints\n%s%s\nand not\n%s" % (done.returncode, done.stdout, done.stderr, expected)


def check_document(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    connection = connect()
    blocks = [(match, check_block(connection, match[1], match[2])) for match in BLOCK.finditer(text)]
    if os.path.basename(path) in WITH_PROGRAMS:
        blocks += [(match, check_program(*match.groups())) for match in PROGRAM.finditer(text)]
    failures = 0
    for match, problem in blocks:
        if problem:
            failures += 1
            line = text.count("\n", 0, match.start()) + 1
            print("%s:%d:\n%s\n%s\n" % (path, line, match[0], problem))
    print("%s: %d blocks, %d wrong" % (os.path.basename(path), len(blocks), failures))
    return failures


def check_examples(options):
    documents = [os.path.join(options.project, name) for name in ("README.md", "tests/docs/errors.md")]
    documents += sorted(glob.glob(os.path.join(options.project, "docs", "*.md")))
    failures = 0
    with tempfile.TemporaryDirectory(prefix="glove-docs-") as shared:
        model = os.path.join(shared, "glove.safetensors")
        subprocess.run([options.convert, "--quiet", os.path.join(options.project, SAMPLE), model], check=True)
        installed.install(options.project, options.extension, os.path.join(shared, "python"))
        # One process per document, because models and settings belong to the process.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GLOVE_")}
        environment["PYTHONPATH"] = os.path.join(shared, "python")
        for document in documents:
            folder = os.path.join(shared, os.path.basename(document))
            os.mkdir(folder)
            os.symlink(options.extension, os.path.join(folder, "glove.so"))
            shutil.copy(model, folder)
            failures += subprocess.run([sys.executable, os.path.abspath(__file__), "document", "--document", document],
                                       cwd=folder, env=environment, check=False).returncode != 0
            shutil.rmtree(folder)
    return failures


# --- reference --------------------------------------------------------------------------------------------------------


def objects_of(connection):
    functions = {}
    for name, count in connection.execute("SELECT name, narg FROM pragma_function_list"):
        functions.setdefault(name, set()).add(count)
    tables = {name for name, in connection.execute("SELECT name FROM pragma_module_list")}
    return functions, tables


def names_after(message, marker):
    return set(re.split(r", ", message.split(marker)[1]))


def error_of(connection, sql):
    try:
        connection.execute(sql).fetchall()
    except sqlite3.Error as error:
        return str(error)
    raise AssertionError("an error was expected from " + sql)


def registered(options):
    """Returns {kind: set of entries} of what the extension registers."""
    plain, loaded = connect(), connect()
    loaded.load_extension(options.extension)
    functions_before, tables_before = objects_of(plain)
    functions, tables = objects_of(loaded)
    new_tables = tables - tables_before
    entries = {
        "function": {"%s/%d" % (name, count) for name, counts in functions.items()
                     for count in counts - functions_before.get(name, set())},
        "column": {"%s.%s" % (table, column) for table in new_tables for column, in
                   loaded.execute("SELECT name FROM pragma_table_xinfo(?)", (table,))},
        "setting": names_after(error_of(loaded, "SELECT glove_config('?')"), "the settings are: "),
        "option": names_after(error_of(loaded, "SELECT glove_load('f', NULL, '{\"?\":1}')"), "the options are: "),
    }
    sources = [name for room in ("extension", "sql", "live", "search", "analysis", "text", "cpu", "gpu", "convert", "loader", "model", "base")
               for name in glob.glob(os.path.join(options.project, room, "**", "*.*"), recursive=True)]
    variables = set()
    for name in sources:
        with open(name, encoding="utf-8", errors="replace") as file:
            variables |= set(re.findall(r'"(GLOVE_[A-Z_]+)"', file.read()))
    entries["environment variable"] = variables - FOR_TESTS
    return entries


def sections_of(text):
    """[(heading, body)] of the ### headings."""
    parts = re.split(r"^### (.*)\n", text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


def argument_counts(signature):
    """'a, b [, c [, d]]' -> {2, 3, 4}"""
    if "..." in signature:
        return {-1}  # any number
    required, *optional = signature.split("[")
    count = len([part for part in required.split(",") if part.strip()])
    counts = {count}
    for part in optional:
        count += len([word for word in part.strip(" ],").split(",") if word.strip()])
        counts.add(count)
    return counts


def documented(text):
    entries = {"function": set(), "column": set(), "setting": set(), "option": set(), "environment variable": set()}
    for heading, body in sections_of(text):
        cells = re.findall(r"^\| (`\w+`(?:, `\w+`| to `\w+`)*)", body, re.MULTILINE)  # one row may describe several names
        ranges = [found for cell in cells for found in re.findall(r"`([a-z]+)(\d+)` to `\1(\d+)`", cell)]
        rows = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
        rows |= {"%s%d" % (name, number) for name, first, last in ranges for number in range(int(first), int(last) + 1)}
        table = re.fullmatch(r"`(glove_\w+)`", heading.split(" ")[0])
        calls = re.findall(r"`(\w+)\(([^`]*)\)`", heading)
        for name, signature in calls:
            entries["function"] |= {"%s/%d" % (name, count) for count in argument_counts(signature)}
        if calls and calls[0][0] == "glove_config":
            entries["setting"] |= rows
        elif calls and calls[0][0] == "glove_load":
            entries["option"] |= rows
        elif heading == "Environment":
            entries["environment variable"] |= rows
        elif table and not calls:
            entries["column"] |= {"%s.%s" % (table[1], row) for row in rows}
    return entries


def check_reference(options):
    with open(os.path.join(options.project, "docs", "sql.md"), encoding="utf-8") as file:
        in_document = documented(file.read())
    failures = 0
    for kind, entries in registered(options).items():
        assert entries, "found no " + kind
        for entry in sorted(entries - in_document[kind]):
            failures += 1
            print("docs/sql.md has no entry for the %s %s" % (kind, entry))
        for entry in sorted(in_document[kind] - entries):
            failures += 1
            print("docs/sql.md has an entry for the %s %s, which does not exist" % (kind, entry))
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("check", choices=["examples", "reference", "document"])
    parser.add_argument("--project")
    parser.add_argument("--extension")
    parser.add_argument("--convert")
    parser.add_argument("--document")
    options = parser.parse_args()
    if options.check == "document":
        sys.exit(1 if check_document(options.document) else 0)
    connect()  # skips where Python cannot load extensions
    sys.exit(1 if {"examples": check_examples, "reference": check_reference}[options.check](options) else 0)


if __name__ == "__main__":
    main()
