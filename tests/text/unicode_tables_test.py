"""The tables in text/ are what text/make_unicode_tables.py writes: unicode_tables_test.py PROJECT_DIR

Skipped where Python has another version of Unicode than the tables.
"""
import os
import re
import subprocess
import sys
import unicodedata

PROJECT = sys.argv[1]
SKIPPED = 77


def numbers(text):
    """The numbers of the tables, whatever their layout."""
    return ",".join(re.findall(r"\[\]=\{([^{}]*)\}", re.sub(r"\s", "", text))).split(",")


def main():
    with open(os.path.join(PROJECT, "text", "unicode_tables.inc"), encoding="utf-8") as file:
        stored = file.read()
    if "version " + unicodedata.unidata_version + "," not in stored:
        print("skipped: this Python has Unicode " + unicodedata.unidata_version)
        sys.exit(SKIPPED)
    made = subprocess.run([sys.executable, os.path.join(PROJECT, "text", "make_unicode_tables.py")],
                          capture_output=True, text=True, check=True).stdout
    expected, found = numbers(made), numbers(stored)
    assert len(expected) > 4000, "too few entries: the tables were not found"
    different = [pair for pair in zip(expected, found) if pair[0] != pair[1]]
    if different or len(expected) != len(found):
        sys.exit("text/unicode_tables.inc differs: %s; write it again with text/make_unicode_tables.py" % different[:3])


main()
