#!/usr/bin/env python3
"""`apt search` by meaning: Debian's packages in SQLite, found by full-text search and by vectors of their descriptions.

    apt_search.py build DATABASE [FILE...]    from Packages or Translation-en files; without one, apt downloads them
    apt_search.py search DATABASE QUESTION    the ten best packages
    apt_search.py explore DATABASE PAGE       a page that searches them and shows a map of them, without a server
    apt_search.py judge DATABASE [QUESTIONS]  how well each ranking finds a package by its description (docs/text.md)

GLOVE_EXTENSION names the extension (default build/release/glove), GLOVE_MODEL the model (default: the 20,000 words of examples/data),
which must be the same for all commands of a database. Files may be compressed with gzip, xz or lz4 (lz4 needs apt-helper, which
Debian has).
"""
import glob
import gzip
import lzma
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import explorer

APT_HELPER = "/usr/lib/apt/apt-helper"
SAMPLE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data/glove-6b-100d-20k.txt.gz")

SCHEMA = """
CREATE TABLE package(id INTEGER PRIMARY KEY, name TEXT UNIQUE, synopsis TEXT, body TEXT, vector BLOB);
CREATE VIRTUAL TABLE package_text USING fts5(name, synopsis, body, content=package, content_rowid=id, tokenize=porter);
"""
# After the rows, so that its first segment has all of them.
INDEX = "CREATE VIRTUAL TABLE package_vec USING glove_index(content='package', rowid='id', vector='vector')"

# The packages that match any word of the question, the best first; :words is an FTS5 query.
BY_TEXT = """SELECT id, row_number() OVER (ORDER BY rank, id) AS place FROM (
               SELECT rowid AS id, rank FROM package_text WHERE package_text MATCH :words ORDER BY rank LIMIT 100)"""
# The packages whose descriptions mean something similar.
BY_MEANING = """SELECT id, rank AS place FROM package_vec WHERE query = glove_text_vec(:question, :words_model) AND k = 100"""


def fused(by_meaning):
    """Reciprocal rank fusion of both."""
    return f"""SELECT id, sum(1.0 / (60 + place)) AS score
                 FROM (SELECT * FROM ({BY_TEXT}) UNION ALL SELECT * FROM ({by_meaning})) GROUP BY id ORDER BY score DESC, id LIMIT 100"""


def connect(database):
    connection = sqlite3.connect(database, isolation_level=None)
    if not hasattr(connection, "enable_load_extension"):
        sys.exit(f"apt_search.py: the sqlite3 of {sys.executable} cannot load extensions; run this script by another Python, such as Debian's")
    connection.enable_load_extension(True)
    connection.load_extension(os.environ.get("GLOVE_EXTENSION", "build/release/glove"))
    if os.environ.get("GLOVE_MODEL"):
        connection.execute("SELECT cos_sim('the', 'of')")  # opens it, so that it is the default
    else:
        connection.execute("SELECT glove_load(?)", (SAMPLE,))
    return connection


def words_model(connection):
    return connection.execute("SELECT name FROM glove_models WHERE is_default").fetchone()[0]


# --- build --------------------------------------------------------------------------------------------------------------


def content_of(path):
    if path.endswith(".lz4"):
        return subprocess.run([APT_HELPER, "cat-file", path], capture_output=True, check=True).stdout.decode()
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(os.path.splitext(path)[1], open)
    with opener(path, "rt", encoding="utf-8") as file:
        return file.read()


def packages_of(text):
    """(name, synopsis, body) of each package that is described."""
    for stanza in text.split("\n\n"):
        name = re.search(r"^Package: (\S+)", stanza, re.MULTILINE)
        description = re.search(r"^Description(?:-en)?: (.*(?:\n .*)*)", stanza, re.MULTILINE)
        if name and description:
            synopsis, *lines = description[1].split("\n")
            yield name[1], synopsis.strip(), "\n".join("" if line == " ." else line[1:] for line in lines)


def downloaded_files(folder):
    """Debian's descriptions, by apt, in a folder of its own: the machine's lists stay as they are."""
    os.makedirs(os.path.join(folder, "partial"))
    subprocess.run(["apt-get", "update", "-qq", "-o", "Dir::State::lists=" + folder, "-o", "Acquire::Languages=en"], check=True)
    return glob.glob(os.path.join(folder, "*_Translation-en*")) or glob.glob(os.path.join(folder, "*_Packages*"))


def show_progress(done, total, start):
    if sys.stderr.isatty():
        width = 40 * done // max(total, 1)
        print(f"\r[{'#' * width}{'.' * (40 - width)}] {done}/{total}, {time.monotonic() - start:.1f} s", end="",
              file=sys.stderr, flush=True)
        if done == total:
            print(file=sys.stderr)


def build(database, files):
    with tempfile.TemporaryDirectory(prefix="apt-search-") as folder:
        packages = {}
        for path in files or downloaded_files(os.path.join(folder, "lists")):
            for name, synopsis, body in packages_of(content_of(path)):
                packages.setdefault(name, (synopsis, body))
    if os.path.exists(database):
        os.remove(database)
    connection = connect(database)
    connection.executescript(SCHEMA)
    rows = [(name, *texts) for name, texts in sorted(packages.items())]
    start = time.monotonic()
    connection.execute("BEGIN")
    for first in range(0, len(rows), 1000):
        connection.executemany("INSERT INTO package(name, synopsis, body, vector) VALUES (?1, ?2, ?3, glove_text_vec(?2 || ' ' || ?3))",
                               rows[first:first + 1000])
        show_progress(min(first + 1000, len(rows)), len(rows), start)
    vectors = time.monotonic() - start
    connection.execute("INSERT INTO package_text(package_text) VALUES ('rebuild')")
    connection.execute(INDEX)
    connection.execute("COMMIT")
    print(f"{len(rows)} packages in {time.monotonic() - start:.1f} s ({vectors:.1f} s of it for rows and vectors): {database}")


# --- search -------------------------------------------------------------------------------------------------------------


def any_word(connection, question):
    """The question as an FTS5 query for any of its words."""
    return connection.execute("SELECT coalesce(group_concat('\"' || token || '\"', ' OR '), '\"\"') FROM glove_tokens(?)",
                              (question,)).fetchone()[0]


def all_words(connection, question):
    return any_word(connection, question).replace(" OR ", " AND ")


def search(database, question):
    connection = connect(database)
    found = connection.execute("SELECT count(*) FROM package_text WHERE package_text MATCH ?", (all_words(connection, question),))
    print(f"Packages with all words of the question: {found.fetchone()[0]}")
    inputs = {"words": any_word(connection, question), "question": question, "words_model": words_model(connection)}
    sql = f"SELECT name, synopsis FROM ({fused(BY_MEANING)}) JOIN package USING (id) ORDER BY score DESC, id LIMIT 10"
    for name, synopsis in connection.execute(sql, inputs):
        print(f"{name:28} {synopsis}")


# --- explore ------------------------------------------------------------------------------------------------------------


def explore(database, page):
    connection = connect(database)
    explorer.write_page(connection, words_model(connection), page)
    print(f"{os.path.getsize(page) / 1e6:.1f} MB: {page}")


# --- judge --------------------------------------------------------------------------------------------------------------


def questions_of(connection, count):
    """(id, question): packages evenly spread, asked for by their one-line description without the words of their name."""
    rows = connection.execute("SELECT id, name, synopsis FROM package WHERE length(body) >= 100 ORDER BY id").fetchall()
    for number, name, synopsis in rows[::max(1, len(rows) // count)][:count]:
        hidden = set(re.findall(r"[a-z]+|\d+", name))
        question = " ".join(word for word in re.findall(r"\w+", synopsis) if word.lower() not in hidden)
        if question:
            yield number, question


def expanded(connection, question):
    """Each word of the question with its five nearest neighbours."""
    return connection.execute("SELECT coalesce(group_concat(glove_expand(token, 5), ' OR '), '\"\"') FROM glove_tokens(?)",
                              (question,)).fetchone()[0]


def judge(database, count):
    """Only the long descriptions are searched, so the answer is the package that the one-line description belongs to."""
    connection = connect(database)
    model = words_model(connection)
    connection.execute("SELECT glove_load_table('bodies', 'SELECT id, glove_text_vec(body, ''' || ? || ''') FROM package "
                       "WHERE glove_text_vec(body, ''' || ? || ''') IS NOT NULL')", (model, model))
    by_body = "SELECT neighbor AS id, rank AS place FROM glove_nn(NULL, glove_text_vec(:question, :words_model), 100, 'bodies')"
    rankings = {"FTS5, any word": (BY_TEXT, any_word), "FTS5, 5 neighbours per word": (BY_TEXT, expanded),
                "glove_text_vec": (by_body, any_word), "RRF of FTS5 and glove_text_vec": (fused(by_body), any_word)}
    questions = list(questions_of(connection, count))
    print(f"{len(questions)} questions")
    for name, (sql, words) in rankings.items():
        reciprocal = in_ten = 0
        for number, question in questions:
            inputs = {"words": "body : (" + words(connection, question) + ")", "question": question, "words_model": model}
            ids = [row[0] for row in connection.execute(sql, inputs)]
            if number in ids:
                place = ids.index(number) + 1
                reciprocal += 1 / place
                in_ten += place <= 10
        print(f"{name:32} MRR {reciprocal / len(questions):.3f}, among the first ten {in_ten / len(questions):.3f}")


def main():
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends this program, as it ends others
    command, *arguments = sys.argv[1:] or ["help"]
    if command in ("search", "explore", "judge") and arguments and not os.path.exists(arguments[0]):
        sys.exit(f"apt_search.py: there is no database {arguments[0]}; make it with: apt_search.py build {arguments[0]}")
    if command == "build" and arguments:
        build(arguments[0], arguments[1:])
    elif command == "search" and len(arguments) >= 2:
        search(arguments[0], " ".join(arguments[1:]))
    elif command == "explore" and len(arguments) == 2:
        explore(*arguments)
    elif command == "judge" and len(arguments) in (1, 2):
        judge(arguments[0], int(arguments[1]) if len(arguments) == 2 else 1000)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
