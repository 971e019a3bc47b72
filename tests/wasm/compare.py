"""compare.py GLOVE.SO ANSWERS.SQL DATA NODE: this machine's answers beside those of the WebAssembly module in NODE/node.db, bit for
bit, and the model files that both have saved, byte for byte.

compare.py GLOVE.SO MODEL ANSWERS: the same of the answers that tests/wasm/times.mjs has written for a model file.
"""
import filecmp
import json
import os
import shutil
import sqlite3
import struct
import sys
import tempfile


def bits_of_row(row):
    return [struct.pack(">d", value).hex() if isinstance(value, float) else repr(value) for value in row]


def answers(connection):
    """All rows of the ordinary tables, in order."""
    connection.text_factory = bytes
    names = [row[0].decode() for row in connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'doc_vec%' ORDER BY name")]
    return {name: [bits_of_row(row) for row in connection.execute(f"SELECT * FROM {name}")] for name in names}


def compare_model(library, model, path):
    with open(path, encoding="utf-8") as file:
        theirs = json.load(file)
    connection = sqlite3.connect(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(library)
    connection.execute("SELECT glove_load(?)", (model,))
    for word, rows in theirs.items():
        ours = connection.execute("SELECT neighbor, similarity FROM glove_nn(?, NULL, 10)", (word,)).fetchall()
        if [list(row) for row in ours] != rows:
            sys.exit(f"the neighbours of '{word}' differ, there and here: {rows}, {ours}")
    print(f"the neighbours of {len(theirs)} words of {model}, as from this machine's own build")


def main():
    if len(sys.argv) == 4:
        compare_model(*sys.argv[1:])
        return
    library, script, data, node = map(os.path.abspath, sys.argv[1:])
    with sqlite3.connect(os.path.join(node, "node.db")) as connection:
        theirs = answers(connection)
    with tempfile.TemporaryDirectory(prefix="glove-wasm-") as folder:
        shutil.copy(data, folder)
        os.chdir(folder)
        connection = sqlite3.connect("here.db")
        connection.enable_load_extension(True)
        connection.load_extension(library)
        with open(script, encoding="utf-8") as file:
            connection.executescript(file.read())
        ours = answers(connection)
        connection.close()
        if not filecmp.cmp("whitened.safetensors", os.path.join(node, "whitened.safetensors"), shallow=False):
            sys.exit("the saved model files differ")
        os.chdir("/")
    if sorted(ours) != sorted(theirs) or len(ours) < 18:
        sys.exit(f"the tables are {sorted(theirs)} and should be {sorted(ours)}")
    for name, rows in ours.items():
        if not rows:
            sys.exit(f"the table {name} has no rows, so it compares nothing")
        if rows != theirs[name]:
            first = next((pair for pair in zip(theirs[name], rows) if pair[0] != pair[1]), "the number of rows")
            sys.exit(f"the table {name} differs; the first difference, there and here: {first}")
    print(f"Node: {sum(map(len, ours.values()))} rows in {len(ours)} tables, and a saved model, equal to those of this machine")


if __name__ == "__main__":
    main()
