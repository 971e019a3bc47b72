#!/usr/bin/env python3
"""Times texts by a static embedding model: 100,000 short sentences in SQL on one core, and an index over all sentences of the
descriptions of Debian's packages on two, which is then built again and interrupted.

  bench/static_models.py EXTENSION... [--tokenizer TOKENIZER.JSON] [--dims N] [--rounds N] [--descriptions FILE...]

A FILE is a Packages or Translation-en file; without one, apt downloads them to a folder of its own. Without a tokenizer.json, one
with BERT's rules is made of the most frequent words of the sentences. The vectors are random, because their values do not matter
here. The builds take turns; times are the best of the rounds, of the processor and on the clock. Prints the load of the machine.
"""
import argparse
import collections
import json
import os
import re
import sqlite3
import sys
import tempfile
import threading
import time

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../tests/text"), os.path.join(HERE, "../examples/apt-search")]
import apt_search  # noqa: E402
import harness  # noqa: E402
from static_models import StaticModel, UNKNOWN  # noqa: E402

SHORT, WORDS = 100_000, 12  # texts, and the most words of one; the sentences of the STS benchmark have 11 on average
PIECES = 30_000


def sentences(files):
    with tempfile.TemporaryDirectory() as folder:
        contents = [apt_search.content_of(path) for path in files or apt_search.downloaded_files(os.path.join(folder, "lists"))]
    found = set()
    for _, synopsis, body in (package for content in contents for package in apt_search.packages_of(content)):
        found.add(synopsis)
        for paragraph in re.split(r"\n\s*\n|\n\s+(?=[*-])", body):
            found.update(sentence for sentence in re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split())) if len(sentence) > 10)
    return sorted(found)


def bert_tokenizer(texts):
    words, endings = collections.Counter(), collections.Counter()
    for text in texts:
        words.update(re.findall(r"\w+|[^\w\s]", text.lower()))
    for word, count in words.items():
        for length in range(1, min(6, len(word))):
            endings["##" + word[-length:]] += count
    characters = sorted(set("".join(words)))
    tokens = [UNKNOWN, *characters, *("##" + character for character in characters)]
    tokens += [token for token, _ in endings.most_common(5000)] + [word for word, _ in words.most_common(PIECES)]
    vocabulary = {token: number for number, token in enumerate(list(dict.fromkeys(tokens))[:PIECES])}
    return {"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": None, "decoder": None,
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
            "model": {"type": "WordPiece", "unk_token": UNKNOWN, "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                      "vocab": vocabulary}}


class Build:
    """One extension with the model and the texts."""

    def __init__(self, extension, folder, texts):
        self.name = extension
        self.connection = harness.connect(":memory:", extension, threads=2, backend="cpu")
        self.connection.execute("SELECT glove_load(?, 'm')", (folder,))
        self.connection.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, body TEXT)")
        self.connection.executemany("INSERT INTO doc(body) VALUES (?)", ((text,) for text in texts))
        self.connection.execute("CREATE TABLE short(body TEXT)")
        short = (" ".join(texts[i * 7919 % len(texts)].split()[:WORDS]) for i in range(SHORT))
        self.connection.executemany("INSERT INTO short VALUES (?)", ((text,) for text in short))
        self.connection.execute("SELECT glove_text_vec('warm', 'm')")

    def timed(self, sql):
        start = time.monotonic(), time.process_time()
        self.connection.execute(sql).fetchall()
        return time.monotonic() - start[0], time.process_time() - start[1]

    def short_texts(self):
        return self.timed("SELECT count(glove_text_vec(body, 'm')) FROM short")

    def index(self):
        times = self.timed("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', text='body', model='m')")
        self.connection.execute("DROP TABLE doc_vec")
        return times

    def interrupted_index(self, after):
        """The seconds that a build lasts after sqlite3_interrupt()."""
        called = []

        def interrupt():
            called.append(time.monotonic())
            self.connection.interrupt()
        timer = threading.Timer(after, interrupt)
        timer.start()
        try:
            self.index()
        except sqlite3.OperationalError as error:
            assert str(error) == "interrupted", error
            return time.monotonic() - called[0]
        raise AssertionError("the index was built before the interrupt")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extensions", nargs="+")
    parser.add_argument("--descriptions", nargs="*", default=[])
    parser.add_argument("--tokenizer")
    parser.add_argument("--dims", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    texts = sentences(options.descriptions)
    if options.tokenizer:
        with open(options.tokenizer, encoding="utf-8") as file:
            tokenizer = json.load(file)
    else:
        tokenizer = bert_tokenizer(texts)
    with tempfile.TemporaryDirectory() as folder:
        rows = len(tokenizer["model"]["vocab"])
        values = numpy.random.default_rng(35).standard_normal((rows, options.dims))
        StaticModel(folder, "model2vec", values, tokenizer, normalize=True)
        print(f"{len(texts)} sentences; {rows} tokens x {options.dims}; load {os.getloadavg()[0]:.1f}", file=sys.stderr)
        builds = [Build(os.path.abspath(extension), folder, texts) for extension in options.extensions]
        best = collections.defaultdict(lambda: (float("inf"), float("inf")))
        for _ in range(options.rounds):
            for build in builds:
                for key, times in ((build.name, "short"), build.short_texts()), ((build.name, "index"), build.index()):
                    best[key] = tuple(map(min, best[key], times))
        print("| build | 100,000 short texts: clock | processor | index: clock | processor | stops after |\n|---|--:|--:|--:|--:|--:|")
        for build in builds:
            short, index = best[build.name, "short"], best[build.name, "index"]
            stop = build.interrupted_index(index[0] / 2)
            print(f"| {build.name} | {short[0]:.2f} s | {short[1]:.2f} s | {index[0]:.2f} s | {index[1]:.2f} s | {1000 * stop:.0f} ms |")
    print(f"load {os.getloadavg()[0]:.1f}", file=sys.stderr)


main()
