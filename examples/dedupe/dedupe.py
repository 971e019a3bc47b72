#!/usr/bin/env python3
"""Finds near-duplicate descriptions of Debian's packages, in a database that examples/apt-search/apt_search.py builds.

    dedupe.py report DATABASE PAGE [SIMILARITY]    writes a page with the groups of similar descriptions and a map of the largest
    dedupe.py delete DATABASE [SIMILARITY]         keeps one package of each group

Packages are in one group if their descriptions have at least this similarity (default 0.99), or if others in between connect them.
GLOVE_EXTENSION names the extension (default build/release/glove).
"""
import html
import os
import sqlite3
import sys

GROUPS_ON_PAGE, MEMBERS_ON_PAGE, GROUPS_ON_MAP = 200, 30, 12

DELETE = """DELETE FROM package WHERE id IN (SELECT id FROM glove_groups WHERE target = 'package_vec' AND min_similarity = ?
                                         AND id <> group_id)"""
GROUPED = """CREATE TEMP TABLE grouped AS SELECT id, group_id, size, dense_rank() OVER (ORDER BY size DESC, group_id) AS place
               FROM glove_groups WHERE target = 'package_vec' AND min_similarity = ? AND size > 1"""
LOADED = "SELECT id, vector FROM package JOIN temp.grouped USING (id) WHERE place <= {0}"
# Each package of a group with the one that is kept, which is the first.
MEMBERS = """SELECT g.place, g.size, k.name, p.name, p.synopsis, cos_sim(p.vector, k.vector)
               FROM grouped g JOIN package p USING (id) JOIN package k ON k.id = g.group_id WHERE g.place <= ? ORDER BY g.place, p.id"""
MAP = """SELECT glove_svg(x, y, name, printf('%2d. %s (%d)', place, kept, size), '{"labels": 36, "contours": 0, "radius": 4}')
           FROM (SELECT m.x, m.y, p.name, k.name AS kept, g.place, g.size
                   FROM glove_map(NULL, 'grouped') m JOIN grouped g ON g.id = m.word JOIN package p USING (id) JOIN package k ON k.id = g.group_id
                  ORDER BY g.id <> g.group_id, g.place)"""
PAGE = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>Near duplicates</title>
<style>body {{ font: 15px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em }} svg {{ max-width: 100%; height: auto }}
td {{ padding: 0 1em 0 0; vertical-align: top }} summary {{ cursor: pointer }} small {{ color: #555 }}</style>
<h1>Near duplicates</h1><p>{summary}</p>
{map}
{groups}
</html>
"""


def connect(database):
    if not os.path.exists(database):
        sys.exit(f"dedupe.py: there is no database {database}; make it with: examples/apt-search/apt_search.py build {database}")
    connection = sqlite3.connect(database)
    if not hasattr(connection, "enable_load_extension"):
        sys.exit(f"dedupe.py: the sqlite3 of {sys.executable} cannot load extensions; run this script by another Python, such as Debian's")
    connection.enable_load_extension(True)
    connection.load_extension(os.environ.get("GLOVE_EXTENSION", "build/release/glove"))
    return connection


def group_of(members):
    """A group as HTML; the page is as long as its groups, so only the first members are shown."""
    place, size, kept, *_ = members[0]
    rows = "".join(f"<tr><td>{similarity:.4f}<td>{html.escape(name)}<td>{html.escape(synopsis)}"
                   for *_, name, synopsis, similarity in members[:MEMBERS_ON_PAGE])
    more = f"<small>and {size - MEMBERS_ON_PAGE} more</small>" if size > MEMBERS_ON_PAGE else ""
    return f"<details><summary>{place}. <b>{html.escape(kept)}</b>: {size} packages</summary><table>{rows}</table>{more}</details>"


def report(database, page, least):
    connection = connect(database)
    connection.execute(GROUPED, (least,))
    packages, = connection.execute("SELECT count(*) FROM package").fetchone()
    rows, groups, largest = connection.execute("SELECT count(*), count(DISTINCT group_id), coalesce(max(size), 0) FROM grouped").fetchone()
    summary = (f"{packages} packages; {rows} of them in {groups} groups with similarities from {least:g} on, the largest of {largest}. "
               f"Without {rows - groups}, one of each group would be left.")
    drawing = ""
    if groups:
        connection.execute("SELECT glove_load_table('grouped', ?)", (LOADED.format(GROUPS_ON_MAP),))
        drawing, = connection.execute(MAP).fetchone()
    members = {}
    for row in connection.execute(MEMBERS, (GROUPS_ON_PAGE,)):
        members.setdefault(row[0], []).append(row)
    with open(page, "w", encoding="utf-8") as file:
        file.write(PAGE.format(summary=summary, map=drawing, groups="\n".join(map(group_of, members.values()))))
    print(summary)


def delete(database, least):
    connection = connect(database)
    with connection:
        deleted = connection.execute(DELETE, (least,)).rowcount
        connection.execute("INSERT INTO package_text(package_text) VALUES ('rebuild')")  # the full-text index of apt_search.py
    print(f"{deleted} packages deleted, {connection.execute('SELECT count(*) FROM package').fetchone()[0]} left")


def main():
    command, *arguments = sys.argv[1:] or ["help"]
    files = {"report": 2, "delete": 1}.get(command, -1)
    if len(arguments) not in (files, files + 1):
        sys.exit(__doc__)
    try:
        least = float(arguments[files]) if len(arguments) > files else 0.99
    except ValueError:
        sys.exit(f"dedupe.py: the similarity must be a number, but is {arguments[files]!r}")
    globals()[command](*arguments[:files], least)


if __name__ == "__main__":
    main()
