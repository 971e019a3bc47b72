#!/usr/bin/python3
"""make_texts.py FILE [COUNT]: writes texts for compare.mjs, 100,000 unless told otherwise, from what is on a Debian machine:
descriptions of packages, translations in /usr/share/locale, and characters of all scripts; with emoji, control characters,
added tokens, broken UTF-8, and random mixtures of all of these. The texts of a machine are always the same."""
import glob
import gettext
import os
import random
import struct
import subprocess
import sys
import unicodedata


def descriptions():
    shown = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout
    texts = set()
    for line in shown.splitlines():
        if line.startswith(" ") and len(line) > 20:
            texts.add(line.strip())
        elif line.startswith("Description:") or line.startswith("Description-en:"):
            texts.add(line.split(":", 1)[1].strip())
    return sorted(texts)


def translations():
    """Up to 800 strings of each language."""
    of_language = {}
    for path in sorted(glob.glob("/usr/share/locale/*/LC_MESSAGES/*.mo")):
        language = path.split("/")[4]
        found = of_language.setdefault(language, set())
        if len(found) > 4000:
            continue
        try:
            with open(path, "rb") as file:
                catalog = gettext.GNUTranslations(file)._catalog
        except (OSError, IndexError, ValueError):
            continue
        found.update(text for text in catalog.values() if isinstance(text, str) and 0 < len(text) < 300)
    picked = []
    for language, texts in sorted(of_language.items()):
        texts = sorted(texts)
        random.Random(language).shuffle(texts)
        picked += texts[:800]
    return picked


def scripts():
    """The letters, marks, digits and punctuation of each script, by the first word of their names."""
    of_script = {}
    for code in range(0x20, 0x32000):
        character = chr(code)
        if unicodedata.category(character)[0] in "LMNPS":
            of_script.setdefault(unicodedata.name(character, "X").split()[0], []).append(character)
    return {name: found for name, found in of_script.items() if len(found) >= 20}


def random_text(rng, alphabet):
    words = ["".join(rng.choice(alphabet) for _ in range(rng.randint(1, 9))) for _ in range(rng.randint(1, 8))]
    return rng.choice([" ", "  ", ", ", "\u3000", "\n", "-", "\u00a0"]).join(words)


EMOJI = ["\U0001F600", "\U0001F468\u200D\U0001F469\u200D\U0001F467", "\u2764\uFE0F", "\U0001F1E9\U0001F1EA", "\U0001F44D\U0001F3FD",
         "\u00a9\ufe0f", "1\ufe0f\u20e3", "\U0001F3F4\U000E0067\U000E0062\U000E007F", "\u200d", "\ufe0f", "\U0001FAE0"]
CONTROLS = [chr(code) for code in [*range(0, 0x20), 0x7F, *range(0x80, 0xA0), 0xAD, 0x200B, 0x200E, 0x2028, 0x2029, 0x202E, 0x2060, 0x2066,
                                   0xFEFF, 0xFFF9, 0xFFFD, 0xFFFE, 0xE000, 0xE0001, 0xF0000, 0x10FFFF]]
SPECIAL = ["[CLS]", "[SEP]", "[UNK]", "[MASK]", "<s>", "</s>", "<unk>", "<mask>", " <mask> ", "<|endoftext|>", "New York", "NEW YORK", "new york",
           "\u2581", "caf\u00e9", "it's", "we'll", "I'D", "don't", "'re", "1234567", "3.14", "\u0661\u0662", "\u00bd", "\u2167", "\u3220", "\ufb01", "\uac00",
           "\u1100\u1161\u11a8", "\u0344", "\u212b", "\u0130", "\u1e9e", "\u03a3", "a\u0301\u0327", "\u0915\u094d\u0937", "\u0e33", "  ", "   ", "\t\t", "\r\n"]


def mixed(rng, texts, alphabets):
    parts = []
    for _ in range(rng.randint(1, 6)):
        kind = rng.randrange(6)
        if kind == 0:
            parts.append(rng.choice(EMOJI))
        elif kind == 1:
            parts.append(rng.choice(CONTROLS))
        elif kind == 2:
            parts.append(rng.choice(SPECIAL))
        elif kind == 3:
            parts.append(random_text(rng, rng.choice(alphabets))[: rng.randint(1, 20)])
        elif kind == 4:
            code = rng.randrange(0x110000)
            parts.append(chr(code) if not 0xD800 <= code < 0xE000 else "?")
        else:
            text = rng.choice(texts)
            at = rng.randrange(len(text))
            parts.append(text[at: at + rng.randint(1, 40)])
    return rng.choice(["", "", " "]).join(parts)


def broken(rng, text):
    data = bytearray(text.encode())
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        if rng.random() < 0.5:
            data[at:at] = bytes([rng.choice([0x80, 0xBF, 0xC0, 0xC2, 0xE0, 0xE2, 0xED, 0xA0, 0xF0, 0x90, 0xF4, 0xFF, rng.randrange(256)])])
        else:
            del data[at: at + rng.randint(1, 2)]
    return bytes(data)


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    rng = random.Random(int(os.environ.get("GLOVE_TEST_SEED", "35")))
    english, foreign, of_script = descriptions(), translations(), scripts()
    alphabets = [of_script[name] for name in sorted(of_script)]
    rng.shuffle(english)
    rng.shuffle(foreign)
    picked = english[: count * 30 // 100] + foreign[: count * 30 // 100]
    every = picked or ["text"]
    texts = [text.encode("utf-8", "replace") for text in picked]
    texts += [random_text(rng, alphabets[i % len(alphabets)]).encode() for i in range(count * 12 // 100)]
    texts += [broken(rng, mixed(rng, every, alphabets)) for _ in range(count * 5 // 100)]
    while len(texts) < count:
        texts.append(mixed(rng, every, alphabets).encode())
    with open(sys.argv[1], "wb") as file:
        for text in texts:
            file.write(struct.pack("<I", len(text)) + text)
    print(f"{len(texts)} texts, of {len(english)} descriptions, {len(foreign)} translations and {len(alphabets)} scripts")


main()
