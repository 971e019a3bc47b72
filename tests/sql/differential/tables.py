"""The tables that the statements of the differential test ask, beside glove_nn."""

import struct

from inputs import literal
from relation import KS, STRANGE_WORDS


def set_up(rng, model, model_path, loops):
    """The statements that both sides start from. loops: for an SQLite that takes every IN apart."""
    if model.metric == "cosine":
        yield f"SELECT glove_load({literal(model_path)}, 'm')"
    else:
        yield "CREATE TABLE m(word TEXT, vector BLOB)"
        for word, vector in zip(model.words, model.vectors):
            yield f"INSERT INTO m VALUES({literal(word)}, {literal(struct.pack(f'<{len(vector)}f', *vector))})"
        yield f"SELECT glove_load_table('m', 'SELECT word, vector FROM m ORDER BY rowid', '{{\"metric\":\"{model.metric}\"}}')"
    yield ("CREATE TABLE r(neighbor TEXT, similarity REAL, rank INTEGER, word TEXT, expr TEXT, k INTEGER)")
    yield ("CREATE TABLE t(id INTEGER PRIMARY KEY, tag TEXT, tag_nc TEXT COLLATE NOCASE, num INTEGER, real REAL, bin BLOB, "
           "any, k INTEGER)")
    yield ("CREATE TABLE u(id INTEGER PRIMARY KEY, word TEXT, word_nc TEXT COLLATE NOCASE, num INTEGER, bin BLOB, any)")
    words = model.words + list(STRANGE_WORDS) + [None]
    numbers = [5, 5.0, -3, 7, 3, 1000, None, "king", "zzz"]
    anything = words + numbers + model.blobs
    # Of 5 and 5.0, which are one value in a list of IN but two texts, only one: which of them SQLite keeps is its affair.
    # And where it asks for the values of a list one by one, 5 and '5' are two values with one text, found twice.
    inputs = words + [rng.choice([5, 5.0]), -3, 7, 3, 1000, None]
    if loops:
        inputs = [value for value in inputs if isinstance(value, str) or str(value) not in words]
    for i in range(1, 11):
        yield (f"INSERT INTO t VALUES({i}, {literal(rng.choice(words))}, {literal(rng.choice(words))}, "
               f"{literal(rng.choice(numbers))}, {rng.choice(['NULL', '5.0', '-3.0', '3.0'])}, "
               f"{literal(rng.choice(model.blobs))}, {literal(rng.choice(inputs))}, "
               f"{literal(rng.choice(KS))})")
    for i in range(1, 16):
        yield (f"INSERT INTO u VALUES({i}, {literal(rng.choice(words))}, {literal(rng.choice(words))}, "
               f"{literal(rng.choice(numbers))}, {literal(rng.choice([b'king', b'5', None]))}, "
               f"{literal(rng.choice(anything))})")
    yield "UPDATE u SET word_nc = upper(word_nc) WHERE id % 3 = 0"
    if rng.random() < 0.5:
        yield "CREATE INDEX u_word ON u(word)"
    if rng.random() < 0.5:
        yield "CREATE INDEX t_tag ON t(tag)"
    yield "CREATE VIEW v_king AS SELECT neighbor, similarity, rank FROM glove_nn('king')"
    yield "CREATE VIEW r_v_king AS SELECT neighbor, similarity, rank FROM r WHERE word='king' AND expr IS NULL AND k IS NULL"
    yield "CREATE VIEW v_top AS SELECT t.id, n.neighbor, n.similarity, n.rank FROM t JOIN glove_nn n ON n.word = t.tag AND n.k = 2"
    yield ("CREATE VIEW r_v_top AS SELECT t.id, n.neighbor, n.similarity, n.rank FROM t JOIN r n ON n.word = t.tag AND n.k = 2 "
           "AND n.expr IS NULL")
    if rng.random() < 0.3:
        yield "ANALYZE"
