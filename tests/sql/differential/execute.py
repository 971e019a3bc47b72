"""Executes a file of generate.py with Python's sqlite3 and writes the results, one JSON line per case.

    execute.py EXTENSION CASES.json RESULTS.jsonl
"""

import json
import sqlite3
import sys


def decoded(value):
    return bytes.fromhex(value["blob"]) if isinstance(value, dict) else value


def encoded(value):
    return {"blob": value.hex()} if isinstance(value, bytes) else value


def answer(db, sql, parameters):
    if sql is None:
        return None
    try:
        return {"rows": [[encoded(v) for v in row] for row in db.execute(sql, parameters)]}
    except sqlite3.Error as error:
        return {"error": str(error)}


def main():
    extension, cases_path, results_path = sys.argv[1:]
    with open(cases_path, encoding="utf-8") as file:
        cases = json.load(file)
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(extension)
    for statement in cases["set_up"]:
        db.execute(statement).fetchall()
    db.executemany("INSERT INTO r VALUES(?, ?, ?, ?, ?, ?)", [[decoded(v) for v in row] for row in cases["relation"]])
    with open(results_path, "w", encoding="utf-8") as results:
        results.write(json.dumps({"sqlite": sqlite3.sqlite_version}) + "\n")
        for case in cases["cases"]:
            parameters = [decoded(p) for p in case["parameters"]]
            results.write(json.dumps({side: answer(db, case[side], parameters)
                                      for side in ("virtual", "ordinary", "unlimited")}) + "\n")


if __name__ == "__main__":
    main()
