"""Writes text/unicode_tables.inc from the Unicode Character Database that Python's unicodedata module holds.

    python3 text/make_unicode_tables.py > text/unicode_tables.inc && clang-format -i text/unicode_tables.inc

The classes are those of text/tokenizer.cpp. Run it again to follow a newer version of Unicode; tests/text compares the tables with the
module that they were made from, where the versions agree.
"""
import sys
import unicodedata

JOINERS = (0x200C, 0x200D)  # ZERO WIDTH NON-JOINER and ZERO WIDTH JOINER, which spell words of some languages
KINDS = "LDMIU"  # CharacterClass's, from 1 on
ALONE = ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA LETTER")
UNSPACED = ("HALFWIDTH KATAKANA", "HANGZHOU", "HENTAIGANA", "HIRAGANA", "IDEOGRAPHIC", "KATAKANA", "KHMER", "LAO", "MYANMAR", "THAI",
            "VERTICAL IDEOGRAPHIC")


def class_of(code):
    character = chr(code)
    category = unicodedata.category(character)
    if category.startswith("L") and unicodedata.name(character, "").startswith(ALONE):
        return "I"
    if category == "Nd":
        return "D"
    if category[0] in "LN":
        return "U" if unicodedata.name(character, "").startswith(UNSPACED) and category != "No" else "L"
    if category[0] == "M" or code in JOINERS:
        return "M"
    return None


def lower_of(code):
    """The simple mapping: the first code point of the full one, which is longer for U+0130 alone."""
    return ord(chr(code).lower()[0])


def class_ranges():
    ranges = []
    for code in range(0x80, 0x110000):
        kind = class_of(code)
        if kind is None:
            continue
        if ranges and ranges[-1][1] == code - 1 and ranges[-1][2] == kind:
            ranges[-1][1] = code
        else:
            ranges.append([code, code, kind])
    return ranges


def lower_ranges():
    """[first, last, step, delta]: each `step`-th code point of first..last has the lower case code + delta."""
    ranges = []
    for code in range(0x80, 0x110000):
        delta = lower_of(code) - code
        if delta == 0:
            continue
        if ranges and ranges[-1][3] == delta:
            first, last, step, _ = ranges[-1]
            if code - last in (1, 2) and (first == last or code - last == step):
                ranges[-1][1:3] = [code, code - last]
                continue
        ranges.append([code, code, 1, delta])
    return ranges


def packed(rows):
    """The table, as unpack_numbers() of text/packed_numbers.h reads it."""
    numbers, above = [], [0] * len(rows[0])
    for row in rows:
        for value, last in zip(row, above):
            rest = 2 * (value - last) if value >= last else 2 * (last - value) - 1
            while rest >= 128:
                numbers.append(128 | rest & 127)
                rest >>= 7
            numbers.append(rest)
        above = row
    return ",".join(map(str, numbers))


def main():
    print("// Written by text/make_unicode_tables.py from the Unicode Character Database, version "
          + unicodedata.unidata_version + ", and included by\n// text/tokenizer.cpp only. The data are copyright Unicode, Inc., "
          "under the Unicode License:\n// https://www.unicode.org/license.txt")
    classes = [(first, last, 1 + KINDS.index(kind)) for first, last, kind in class_ranges()]
    print("constexpr uint8_t kClasses[] = {%s};\n" % packed(classes))
    print("constexpr uint8_t kLower[] = {%s};" % packed(lower_ranges()))


if __name__ == "__main__":
    sys.exit(main())
