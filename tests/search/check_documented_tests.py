"""Checks that every test exists that docs/exactness.md names as the proof of a claim.

Usage: check_documented_tests.py DOCUMENT TEST_FOLDER
"""
import pathlib
import re
import sys

document, folder = map(pathlib.Path, sys.argv[1:])
named = set(re.findall(r"`([A-Z]\w*)\.([A-Z]\w*)`", document.read_text()))
sources = "\n".join(path.read_text() for path in folder.rglob("*_test.cpp"))
written = set(re.findall(r"\bTEST(?:_F|_P)?\((\w+),\s*(\w+)\)", sources))
missing = sorted(named - written)
if not named:
    sys.exit(f"{document} names no test")
if missing:
    sys.exit(f"{document} names tests that do not exist: " + ", ".join(".".join(name) for name in missing))
