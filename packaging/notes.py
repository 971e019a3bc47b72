#!/usr/bin/env python3
"""Prints the notes of a release, a section of CHANGELOG.md: notes.py TAG|--any [CHANGELOG]

It is an error if the tag is not v and the version of CMakeLists.txt, or if the section of this version does not have a date yet.
--any prints the newest section, whatever it has.
"""
import os
import re
import sys

import project


def notes(tag, path):
    with open(path, encoding="utf-8") as file:
        found = re.search(r"^## (\S+) \(([^)\n]*)\)\n\n(.*?)(?=^## |\Z)", file.read(), re.MULTILINE | re.DOTALL)
    if found is None:
        raise SystemExit(f"{path} has no heading like '## {project.VERSION} (2030-01-31)'")
    if tag != "--any":
        if tag != "v" + project.VERSION:
            raise SystemExit(f"the tag is {tag}, but the version of CMakeLists.txt is {project.VERSION}; tag v{project.VERSION}, or change the version")
        if found[1] != project.VERSION or not re.fullmatch(r"\d{4}-\d\d-\d\d", found[2]):
            raise SystemExit(f"{path} begins with '{found[1]} ({found[2]})', but the tag needs '## {project.VERSION} (YYYY-MM-DD)'")
    return found[3].rstrip("\n")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    print(notes(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else os.path.join(project.ROOT, "CHANGELOG.md")))
