"""text/tokenizers/unicode_tables.inc agrees with Python's Unicode Character Database: unicode_tables_test.py PROJECT_DIR

Decompositions, compositions and combining classes of a character never change once it is assigned, so they must be equal except for
characters that are newer than the tables.
"""
import os
import re
import sys
import unicodedata

NEWER = 400  # at most so many characters have decompositions or classes that the tables do not know yet


def arrays(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return {name: body for name, body in re.findall(r"constexpr \w+ k(\w+)\[\] = \{(.*?)\n\};", text, re.DOTALL)}


def numbers(body):
    return [int(number) for number in re.findall(r"-?\d+", body)]


def rows(body, columns):
    """The rows of a packed table (text/packed_numbers.h)."""
    found, value, shift = [], 0, 0
    for byte in numbers(body):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            above = found[-columns] if len(found) >= columns else 0
            found.append(above + (-(value + 1) // 2 if value & 1 else value // 2))
            value = shift = 0
    assert shift == 0 and len(found) % columns == 0, "a packed table is cut off"
    return list(zip(*[iter(found)] * columns))


def main():
    found = arrays(os.path.join(sys.argv[1], "text", "tokenizers", "unicode_tables.inc"))
    wrong, checked, newer = [], 0, 0
    known = {}
    for name, form in (("Canonical", "NFD"), ("Compatible", "NFKD")):
        text = bytes(numbers(found[name + "Text"]))
        table, offset = known.setdefault(form, {}), 0
        for code, length in rows(found[name + "Rows"], 2):
            table[code] = text[offset: offset + length].decode()
            offset += length
            checked += 1
            if unicodedata.normalize(form, chr(code)) != table[code]:
                wrong.append(f"{form} of {code:X}")
    for code in range(0x110000):
        if 0xAC00 <= code <= 0xD7A3 or 0xD800 <= code <= 0xDFFF:
            continue
        canonical, compatible = (unicodedata.normalize(form, chr(code)) for form in ("NFD", "NFKD"))
        newer += canonical != chr(code) and code not in known["NFD"]
        newer += compatible != canonical and code not in known["NFKD"]
    for first, second, composed in rows(found["Compositions"], 3):
        checked += 1
        if unicodedata.normalize("NFC", chr(first) + chr(second)) != chr(composed):
            wrong.append(f"{first:X} + {second:X}")
    blocks, pages = (numbers(found[name]) for name in ("Blocks", "Pages"))
    runs = zip(*[iter(numbers(found["RecordRuns"]))] * 2)
    records = [record for record, length in runs for _ in range(length)]
    characters = [numbers(entry) for entry in re.findall(r"\{([^{}]*)\}", found["Characters"])]
    for code in range(0x110000):
        page = pages[blocks[code // 16384] * 128 + code // 128 % 128]
        flags, order = characters[records[page * 128 + code % 128]][:2]
        expected = unicodedata.combining(chr(code))
        checked += order != 0
        newer += order == 0 and expected != 0
        if order != 0 and order != expected:
            wrong.append(f"combining class {order} of {code:X}")
        if bool(flags & 1) != chr(code).isspace() and code not in (0x1C, 0x1D, 0x1E, 0x1F):  # white space only for Python
            wrong.append(f"white space: {code:X}")
    assert checked > 7000, "too few entries: the tables were not found"
    assert newer < NEWER, f"the tables lack {newer} characters"
    if wrong:
        sys.exit(f"text/tokenizers/unicode_tables.inc differs in {len(wrong)} places: {wrong[:5]}")


main()
