"""Compares the two sides of every case that an execute.* has answered. Exit status 1 if any differs.

    compare.py CASES.json RESULTS.jsonl [--loops]

--loops: SQLite takes every IN apart, as before 3.38. Then it finds no plan for some statements that also compare with
another table, and our message is an answer to a statement with IN.
"""

import json
import sys
from collections import Counter

# SQLite 3.53.0 itself gives wrong rows for these over ordinary tables (OFFSET counts duplicates; EXISTS over an OR).
WRONG_IN_SQLITE = {"3.53.0": {"exists_offset", "exists_or"}}
REFUSALS = ("glove_nn has no query", "glove_nn cannot read its input")
MOST_SHOWN = 5


def hashable(row):
    return tuple(json.dumps(value, sort_keys=True) for value in row)


def difference(case, result, loops):
    """Why the virtual table's answer is wrong, or None."""
    virtual, ordinary = result["virtual"], result["ordinary"]
    if "error" in ordinary:
        return f"the ordinary table fails: {ordinary['error']}"
    if "null_input" in case["tags"] and "is NULL, which counts as not given" in virtual.get("error", ""):
        return None  # SQLite could not leave the check of `input = NULL` out: refused, not answered wrongly
    if "refusable" in case["tags"] and virtual.get("error", "").startswith(REFUSALS):
        return None
    if loops and " IN (" in case["virtual"] and "glove_nn cannot read its input" in virtual.get("error", ""):
        return None
    if "error" in virtual:
        return f"error: {virtual['error']}"
    rows, expected = [hashable(r) for r in virtual["rows"]], [hashable(r) for r in ordinary["rows"]]
    keys = [[tuple(row[i] for i in case["key"]) for row in side] for side in (rows, expected)]
    if case["key"] and keys[0] != keys[1]:
        return "other rows, or another order"
    if case["unlimited"] is None:
        return None if Counter(rows) == Counter(expected) else "other rows"
    # LIMIT may choose among equal rows, and without ORDER BY among all rows: compares the number, and that each is one of all.
    every = Counter(hashable(r) for r in result["unlimited"]["rows"])
    if len(rows) != len(expected) or Counter(rows) - every:
        return "rows that are not in the answer without LIMIT, or not as many"
    return None


def shown(answer):
    return "\n".join(f"    {row}" for row in answer.get("rows", [])[:20]) or f"    {answer}"


def main():
    cases_path, results_path, *options = sys.argv[1:]
    with open(cases_path, encoding="utf-8") as file:
        cases = json.load(file)
    with open(results_path, encoding="utf-8") as file:
        version = json.loads(file.readline())["sqlite"]
        results = [json.loads(line) for line in file]
    if len(results) != len(cases["cases"]):
        sys.exit(f"{len(results)} of {len(cases['cases'])} cases were answered")
    wrong, exempt, refused, with_rows = 0, 0, 0, 0
    for case, result in zip(cases["cases"], results):
        if WRONG_IN_SQLITE.get(version, set()) & set(case["tags"]):
            exempt += 1
            continue
        with_rows += bool(result["ordinary"].get("rows"))
        refused += "error" in result["virtual"]
        why = difference(case, result, "--loops" in options)
        if why is None:
            continue
        wrong += 1
        if wrong <= MOST_SHOWN:
            print(f"SEED {cases['seed']}, {case['shape']}: {why}\n  {case['virtual']};\n  -- parameters: "
                  f"{case['parameters']}\n{shown(result['virtual'])}\n  {case['ordinary']};\n{shown(result['ordinary'])}\n")
    print(f"SQLite {version}, seed {cases['seed']}: {len(results)} statements, {with_rows} with rows, {refused} refused, "
          f"{exempt} exempt, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
