#!/usr/bin/env python3
"""Searches a folder of Markdown files by meaning and by words.

    notes.py index DATABASE FOLDER --model MODEL    indexes the sections of FOLDER's Markdown files; again, only what has changed
    notes.py search DATABASE QUESTION [-n COUNT]    the best sections, by reciprocal rank fusion of both rankings

MODEL is the folder of a sentence-transformers model that has onnx/model.onnx, which needs `pip install onnxruntime`, or any other
model that glove_load() opens. The database remembers it.
"""
import argparse
import os
import re
import sqlite3
import sys

try:
    import sqlite_glove
except ImportError:
    sqlite_glove = None

REPOSITORY = "sentence-transformers/all-MiniLM-L6-v2"
NO_MODEL = (f"name the folder of one by --model, such as that which `hf download {REPOSITORY} modules.json config.json "
            "sentence_bert_config.json tokenizer.json 1_Pooling/config.json onnx/model.onnx --local-dir all-MiniLM-L6-v2` makes, or which "
            "SentenceTransformer(NAME, backend='onnx').save_pretrained(FOLDER) writes")
MOST_CHARACTERS = 1000  # of a section: models read only so many tokens, many of them 256
COMMON = set("a an and are as at be by can do does for from how i if in is it its may my of on or that the there they this to was we what when where "
             "which while who why will with you your".split())
SCHEMA = """
CREATE TABLE setting(name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE file(path TEXT PRIMARY KEY, size INTEGER, modified INTEGER);
CREATE VIRTUAL TABLE note_fts USING fts5(heading, body, content=note, content_rowid=id, tokenize=porter);
CREATE TRIGGER note_added AFTER INSERT ON note BEGIN
  INSERT INTO note_fts(rowid, heading, body) VALUES (new.id, new.heading, new.body);
END;
CREATE TRIGGER note_deleted AFTER DELETE ON note BEGIN
  INSERT INTO note_fts(note_fts, rowid, heading, body) VALUES ('delete', old.id, old.heading, old.body);
END;
CREATE INDEX note_by_path ON note(path);
"""


def sections(text):
    """[(line, heading, body)] of a Markdown file. Long sections are parted between paragraphs."""
    found, heading, line, body, fenced = [], "", 1, "", False

    def end():
        if body.strip():
            found.append((line, heading, body.strip()))
    for number, one in enumerate(text.splitlines(), 1):
        fenced ^= one.lstrip().startswith(("```", "~~~"))
        title = None if fenced else re.match(r"#{1,6}\s+(.*?)[\s#]*$", one)
        if title or (len(body) > MOST_CHARACTERS and not one.strip()):
            end()
            heading, line, body = title[1] if title else heading, number + (not title), ""
        else:
            body += one + "\n"
    end()
    return found


def markdown_files(folder):
    """{path: (size, time of the last change)}; hidden folders are left out."""
    files = {}
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for path in (os.path.join(place, name) for name in sorted(names) if name.lower().endswith((".md", ".markdown"))):
            if os.path.isfile(path):
                status = os.stat(path)
                files[os.path.relpath(path, folder)] = (status.st_size, status.st_mtime_ns)
    return files


def update(conn, notes, folder):
    """Replaces the sections that have changed, and returns how many were added and deleted. The caller commits."""
    files, added, gone = markdown_files(folder), [], []
    known = {path: tuple(rest) for path, *rest in conn.execute("SELECT path, size, modified FROM file")}
    for path in sorted({*files, *known}):
        if files.get(path) == known.get(path):
            continue
        rows = {(line, heading, body): id for id, line, heading, body in
                conn.execute("SELECT id, line, heading, body FROM note WHERE path = ?", (path,))}
        new = []
        if path in files:
            with open(os.path.join(folder, path), encoding="utf-8", errors="replace") as file:
                new = sections(file.read())
            conn.execute("INSERT OR REPLACE INTO file VALUES (?, ?, ?)", (path, *files[path]))
        else:
            conn.execute("DELETE FROM file WHERE path = ?", (path,))
        by_text = {}  # those that only moved keep their vectors
        for (_, heading, body), id in rows.items():
            by_text.setdefault((heading, body), []).append(id)
        for line, heading, body in new:
            same = by_text.get((heading, body))
            if same:
                conn.execute("UPDATE note SET line = ? WHERE id = ?", (line, same.pop(0)))
            else:
                added.append((path, line, heading, body))
        gone += [id for ids in by_text.values() for id in ids]
    notes.delete(gone)
    if added:
        notes.add(columns=dict(zip(("path", "line", "heading", "body"), zip(*added))))
    return len(added), len(gone)


def show_progress(done, total):
    if sys.stderr.isatty():
        print(f"\r{done} of {total} sections encoded", end="\n" if done == total else "", file=sys.stderr, flush=True)


def setting(conn, name):
    return (conn.execute("SELECT value FROM setting WHERE name = ?", (name,)).fetchone() or [None])[0]


def check(options):
    """Raises ValueError if the package is missing or the arguments cannot be right."""
    if sqlite_glove is None:
        raise ValueError("the package sqlite_glove is not installed; run `pip install .` in the folder of its sources")
    exists = os.path.isfile(options.database) and os.path.getsize(options.database) > 0
    if options.command == "search":
        if not exists:
            raise ValueError(f"there is no database {options.database!r}; `notes.py index` makes it")
        return
    if not os.path.isdir(options.folder):
        raise ValueError(f"{options.folder!r} is no folder")
    if options.model is None and not exists:
        raise ValueError(f"a new database needs a model: {NO_MODEL}")
    if options.model is not None and not os.path.exists(options.model):
        raise ValueError(f"there is no model {options.model!r}: {NO_MODEL}")


def index(conn, options):
    folder, model = os.path.abspath(options.folder), options.model and os.path.abspath(options.model)
    if not conn.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall():
        conn.execute("BEGIN")
        sqlite_glove.index(conn, "note", columns={name: [] for name in ("path", "line", "heading", "body")}, text=["heading", "body"], model=model)
        for statement in re.split(r";\n(?=CREATE)", SCHEMA):
            conn.execute(statement)
        conn.executemany("INSERT INTO setting VALUES (?, ?)", [("model", model), ("folder", folder)])
        conn.commit()
    for name, given in ("model", model), ("folder", folder):
        if given not in (None, setting(conn, name)):
            raise ValueError(f"{options.database!r} was made with the {name} {setting(conn, name)!r}; give another database for {given!r}")
    notes = sqlite_glove.Index(conn, "note", model=setting(conn, "model"))
    with conn:
        conn.execute("BEGIN")
        added, deleted = update(conn, notes, folder)
    notes.sync(progress=show_progress)
    print(f"{added} sections added, {deleted} deleted, {len(notes)} in all")


def search(conn, options):
    notes = sqlite_glove.Index(conn, "note", model=setting(conn, "model"))
    words = [f'"{word}"' for word in re.findall(r"\w+", options.question) if word.lower() not in COMMON]
    for row in notes.search(options.question, options.n, hybrid="note_fts", match=" OR ".join(words) or '""', rows="dicts"):
        path = os.path.relpath(os.path.join(setting(conn, "folder"), row["path"]))
        print(f"{path}:{row['line']}: {row['heading']}\n    {' '.join(row['body'].split())[:120]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="index | search")
    one = commands.add_parser("index", help="index a folder, or what has changed there")
    one.add_argument("database")
    one.add_argument("folder")
    one.add_argument("--model", help="the folder or file of a model; needed the first time")
    one = commands.add_parser("search", help="print the best sections")
    one.add_argument("database")
    one.add_argument("question")
    one.add_argument("-n", type=int, default=5, metavar="COUNT", help="how many (5)")
    options = parser.parse_args()
    try:
        check(options)
        conn = sqlite3.connect(options.database)
        sqlite_glove.load(conn)
        (index if options.command == "index" else search)(conn, options)
    except KeyboardInterrupt:
        sys.exit("notes.py: interrupted; the same command goes on where it was")
    except (OSError, sqlite3.Error, RuntimeError, ValueError) as error:
        sys.exit(f"notes.py: {error}")


if __name__ == "__main__":
    main()
