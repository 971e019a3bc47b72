"""The page of `apt_search.py explore`: one file with the packages, their vectors in int8, a map, and SQLite with the extension as a
WebAssembly module, which searches. page/ has its sources; packaging/wasm/build.sh builds the module."""
import array
import base64
import collections
import gzip
import json
import math
import os
import random
import re
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
MAPPED = 20000       # packages that glove_map places; others are placed beside the nearest of these
WORDS = 20000        # of the model, the most frequent ones
LEARNED = 10000      # words that only the descriptions have, at most
LEAST = 5            # descriptions that must have such a word
MODULES = ["build/wasm/sqlite-glove.mjs", *(f"packaging/wasm/{name}.mjs" for name in ("files", "opfs", "oo1", "index"))]

# Packages in an order that has nothing to do with their names, so that a part of them shows the whole.
PACKAGES = """SELECT id, name, synopsis, vector FROM package WHERE vector IS NOT NULL ORDER BY id * 2654435761 % 4294967296, id"""


def page_file(name):
    with open(os.path.join(HERE, "page", name), encoding="utf-8") as file:
        return file.read()


def built_file(name):
    path = os.path.join(PROJECT, name)
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise SystemExit(f"apt_search.py: {path} does not exist; run ./packaging/wasm/build.sh, which writes build/wasm") from None


# --- vectors ------------------------------------------------------------------------------------------------------------


def floats(blob):
    return struct.unpack(f"<{len(blob) // 4}f", blob)


def int8(values):
    """(integers from -127 to 127, the scale that makes them the values again, as a float32)."""
    largest = max(map(abs, values)) or 1.0
    scale = struct.unpack("<f", struct.pack("<f", largest / 127))[0]
    return array.array("b", (max(-127, min(127, round(value / scale))) for value in values)), scale


def packed_vectors(blobs):
    """All rows as int8, and the scale of each."""
    integers, scales = array.array("b"), array.array("f")
    for blob in blobs:
        row, scale = int8(floats(blob))
        integers.extend(row)
        scales.append(scale)
    return integers.tobytes(), scales.tobytes()


def load(connection, name, ids):
    """A model of some packages."""
    connection.execute("CREATE TEMP TABLE IF NOT EXISTS part(model, id)")
    connection.executemany("INSERT INTO part VALUES (?, ?)", ((name, number) for number in ids))
    connection.execute("SELECT glove_load_table(?, ?)", (name, f"SELECT id, vector FROM package JOIN temp.part USING (id) WHERE model = '{name}'"))


# --- the map ------------------------------------------------------------------------------------------------------------


def places_of(connection, ids):
    """{id: (x, y)}: glove_map's of the first packages, and for the others a place beside the nearest two of those."""
    load(connection, "mapped", ids[:MAPPED])
    places = {int(word): (x, y) for word, x, y in connection.execute("SELECT word, x, y FROM glove_map WHERE model = 'mapped'")}
    span = max((max(axis) - min(axis) for axis in zip(*places.values())), default=0) or 1
    source = random.Random(1)
    near = collections.defaultdict(list)
    for number, neighbor in connection.execute(
            "SELECT p.id, n.neighbor FROM package p CROSS JOIN glove_nn n ON n.expr = p.vector AND n.k = 2 AND n.model = 'mapped' "
            "WHERE p.vector IS NOT NULL AND p.id NOT IN (SELECT id FROM temp.part WHERE model = 'mapped') ORDER BY p.id, n.rank"):
        near[number].append(places[int(neighbor)])
    for number, (first, *second) in near.items():
        other = second[0] if second else first
        places[number] = tuple(0.8 * a + 0.2 * b + source.gauss(0, span / 400) for a, b in zip(first, other))
    return places


def sixteen_bits(values, middle, span):
    return array.array("H", (min(65535, max(0, round(65535 * ((value - middle) / span + 0.5)))) for value in values))


def scaled(places, ids):
    """Both axes as integers of 16 bits with one scale; the farthest 8 in 1,000 end at the margin."""
    axes = list(zip(*(places[number] for number in ids)))
    ends = [(ordered[len(ordered) // 250], ordered[-1 - len(ordered) // 250]) for ordered in map(sorted, axes)]
    span = max(high - low for low, high in ends) or 1
    return [sixteen_bits(axis, (low + high) / 2, 1.02 * span) for axis, (low, high) in zip(axes, ends)]


def words_of(text, common):
    return set(re.findall(r"[a-z][a-z+]{2,}", text.lower())) - common


def label(texts, counts, total, taken):
    """The two words that tell a group from the others best: frequent in it, and rare elsewhere. texts: sets of words. No two groups
    get the same pair, in any order."""
    inside = collections.Counter(word for text in texts for word in text)
    score = {word: n / len(texts) * math.log(n / len(texts) * total / counts[word]) for word, n in inside.items()}
    ranked = sorted(score, key=lambda word: (-score[word], word))
    pairs = ((first, second) for i, first in enumerate(ranked) for second in ranked[i + 1:] if second[:4] != first[:4])
    pair = next((pair for pair in pairs if frozenset(pair) not in taken), None)
    if pair is None:
        return f"others {len(taken) + 1}"
    taken.add(frozenset(pair))
    return " · ".join(pair)


def groups_of(connection, words_model, rows, axes):
    """The number of each package's group, and for each group its label, size and the middle of its points on the map."""
    common = {word for word, in connection.execute("SELECT word FROM glove_words(?) WHERE id < 150", (words_model,))}
    texts = [words_of(synopsis, common) for _, _, synopsis, _ in rows]
    count = max(1, min(24, len(rows) // 25))
    group = {int(word): number - 1 for word, number in
             connection.execute("SELECT word, cluster FROM glove_kmeans WHERE k = ? AND model = 'packages'", (count,))}
    counts = collections.Counter(word for text in texts for word in text)
    members = collections.defaultdict(list)
    for position, (number, *_) in enumerate(rows):
        members[group[number]].append(position)
    described, taken = [], set()
    for number in range(max(group.values()) + 1):
        middle = [sorted(axis[position] for position in members[number])[len(members[number]) // 2] / 65535 for axis in axes]
        described.append({"label": label([texts[position] for position in members[number]], counts, len(rows), taken),
                          "size": len(members[number]), "x": round(middle[0], 4), "y": round(middle[1], 4)})
    return bytes(group[number] for number, *_ in rows), described


# --- words ---------------------------------------------------------------------------------------------------------------


def mean_of(vectors):
    return [math.fsum(column) / len(vectors) for column in zip(*vectors)]


def length(vector):
    return math.sqrt(math.fsum(value * value for value in vector))


def learned_words(connection, words_model, rows, norm):
    """[(word, vector)] of what the model lacks and LEAST descriptions have, such as "pdf", the most frequent first. Its vector is where
    the descriptions with the word lie, from the middle of all, and as long as a rare word's (`norm`)."""
    connection.execute("CREATE TEMP TABLE unknown AS SELECT DISTINCT t.token, p.id FROM package p, glove_tokens(p.synopsis || ' ' || p.body, ?) t "
                       "WHERE t.id IS NULL AND p.vector IS NOT NULL", (words_model,))
    found = connection.execute("SELECT token, glove_mean(vector) FROM temp.unknown JOIN package USING (id) WHERE token GLOB '[a-z][a-z]*' "
                               "AND token NOT GLOB '*[^a-z]*' GROUP BY token HAVING count(*) >= ? ORDER BY count(*) DESC, token LIMIT ?",
                               (LEAST, LEARNED)).fetchall()
    middle = mean_of([floats(vector) for *_, vector in rows])
    for word, vector in found:
        moved = [value - at for value, at in zip(floats(vector), middle)]
        scale = norm / (length(moved) or 1)
        yield word, struct.pack(f"<{len(moved)}f", *(value * scale for value in moved))


# --- the file -----------------------------------------------------------------------------------------------------------


def encoded(data):
    """Compressed, as characters that end no element and need no escapes (page/codec.js reads them)."""
    return base64.b85encode(gzip.compress(data, 9, mtime=0)).replace(b"<", b",").decode()


def one_line(text):
    return " ".join(text.split())


def script_data(connection, words_model):
    """{id of an element: its text}."""
    rows = connection.execute(PACKAGES).fetchall()
    if not rows:
        raise SystemExit("apt_search.py: no package of the database has a vector")
    ids = [number for number, *_ in rows]
    load(connection, "packages", ids)
    axes = scaled(places_of(connection, ids), ids)
    group, described = groups_of(connection, words_model, rows, axes)
    words = connection.execute("SELECT word, vector FROM glove_words(?) WHERE id < ? ORDER BY id", (words_model, WORDS)).fetchall()
    lengths = sorted(length(floats(vector)) for _, vector in words[-1000:])
    words += learned_words(connection, words_model, rows, lengths[len(lengths) // 2])
    word_vectors, word_scales = packed_vectors(vector for _, vector in words)
    codec = page_file("codec.js")
    modules = [[os.path.basename(name), built_file(name).decode()] for name in MODULES]
    modules.append(["worker.mjs", page_file("worker.js") + codec])
    return {
        "facts": json.dumps({"dims": len(rows[0][3]) // 4, "groups": described}).replace("<", "\\u003c"),
        "modules": json.dumps(modules).replace("<", "\\u003c"),
        "wasm": encoded(built_file("build/wasm/sqlite-glove.wasm")),
        "packages": encoded("".join(f"{one_line(name)}\t{one_line(synopsis)}\n" for _, name, synopsis, _ in rows).encode()),
        "places": encoded(b"".join(axis.tobytes() for axis in axes) + group),
        "package-vectors": encoded(packed_vectors(vector for *_, vector in rows)[0]),
        "words": encoded("".join(word + "\n" for word, _ in words).encode()),
        "word-vectors": encoded(word_vectors),
        "word-scales": encoded(word_scales),
    }


def write_page(connection, words_model, path):
    data = script_data(connection, words_model)
    parts = {"style": page_file("style.css"), "script": page_file("codec.js") + page_file("map.js") + page_file("page.js"),
             "data": "\n".join(f'<script type="text/plain" id="{name}">{text}</script>' for name, text in data.items())}
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], page_file("index.html")))
