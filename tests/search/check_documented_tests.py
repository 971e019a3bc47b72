"""Checks that every test exists that a document names as the proof of a claim.

Usage: check_documented_tests.py DOCUMENT TEST_FOLDER

Names are `Suite.Case` of C++, `test_case` of Python, and paths of files, `tests/...`.
"""
import pathlib
import re
import sys

document, folder = map(pathlib.Path, sys.argv[1:])
text = document.read_text()
cases = set(re.findall(r"`([A-Z]\w*\.[A-Z]\w*)`", text))
functions = set(re.findall(r"`(test_\w+)`", text))
files = set(re.findall(r"`tests/([^`*]+\.\w+)`", text))

sources = "\n".join(path.read_text() for path in folder.rglob("*_test.cpp"))
programs = "\n".join(path.read_text() for path in folder.rglob("*.py"))
missing = cases - {".".join(names) for names in re.findall(r"\bTEST(?:_F|_P)?\((\w+),\s*(\w+)\)", sources)}
missing |= functions - set(re.findall(r"\bdef (test_\w+)\(", programs))
missing |= {"tests/" + file for file in files if not (folder / file).is_file()}
if not cases | functions:
    sys.exit(f"{document} names no test")
if missing:
    sys.exit(f"{document} names tests that do not exist: " + ", ".join(sorted(missing)))
