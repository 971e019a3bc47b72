"""Writes text/unicode_tables.cpp from the Unicode Character Database that Python's unicodedata module holds.

    python3 text/make_unicode_tables.py > text/unicode_tables.cpp && clang-format -i text/unicode_tables.cpp

The classes are those of text/unicode.h. Run it again to follow a newer version of Unicode; tests/text compares the tables with the
module that they were made from, where the versions agree.
"""
import sys
import unicodedata

JOINERS = (0x200C, 0x200D)  # ZERO WIDTH NON-JOINER and ZERO WIDTH JOINER, which spell words of some languages
ALONE = ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA LETTER")


def class_of(code):
    character = chr(code)
    category = unicodedata.category(character)
    if category.startswith("L") and unicodedata.name(character, "").startswith(ALONE):
        return "I"
    if category == "Nd":
        return "D"
    if category[0] in "LN":
        return "L"
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


def main():
    print('#include "text/unicode_tables.h"\n')
    print("// Written by text/make_unicode_tables.py from the Unicode Character Database, version "
          + unicodedata.unidata_version + ".")
    print("// The data are copyright Unicode, Inc., under the Unicode License: https://www.unicode.org/license.txt")
    print("namespace glove::unicode {\nnamespace {\n")
    for kind in ("Letter", "Mark", "Digit", "Ideograph"):
        print("constexpr auto %s = CharacterClass::k%s;" % (kind[0], kind))
    print("\nconstexpr ClassRange kClasses[] = {")
    print(",".join("{0x%X,0x%X,%s}" % tuple(entry) for entry in class_ranges()))
    print("};\n\nconstexpr LowerRange kLower[] = {")
    print(",".join("{0x%X,0x%X,%d,%d}" % tuple(entry) for entry in lower_ranges()))
    print("};\n\n}  // namespace\n")
    print("std::span<const ClassRange> class_ranges() {\n  return kClasses;\n}\n")
    print("std::span<const LowerRange> lower_ranges() {\n  return kLower;\n}\n")
    print("}  // namespace glove::unicode")


if __name__ == "__main__":
    sys.exit(main())
