"""Writes static embedding models in the layouts of model2vec and sentence-transformers, and encodes texts by their
rules, in double. Both follow docs/text.md and not the code of this project."""
import json
import math
import os
import struct

import numpy

LAYOUTS = ("model2vec", "sentence-transformers", "nested")
UNKNOWN = "[UNK]"


def write_safetensors(path, tensors):
    """tensors: {name: (dtype, array of the bytes' type)}"""
    header, data = {}, b""
    for name, (dtype, array) in tensors.items():
        raw = array.tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def stored(values, dtype):
    """The array to write, and the numbers that a reader gets."""
    if dtype == "BF16":
        bits = (values.astype("<f4").view("<u4") >> 16).astype("<u2")
        return bits, (bits.astype("<u4") << 16).view("<f4").astype(float)
    if dtype == "I8":
        array = numpy.clip(numpy.rint(values * 40), -127, 127).astype("i1")
    else:
        array = values.astype({"F16": "<f2", "F32": "<f4", "F64": "<f8"}[dtype])
    return array, array.astype("<f4").astype(float)


def word_piece(tokens):
    """A tokenizer.json whose pieces are found greedily in the words between spaces."""
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
            "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None, "decoder": None,
            "model": {"type": "WordPiece", "unk_token": UNKNOWN, "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100, "vocab": {token: i for i, token in enumerate(tokens)}}}


def unigram(tokens, unknown=0):
    """A tokenizer.json whose tokens may be equal. Texts of whole tokens have one token for each word."""
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
            "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": None, "decoder": None,
            "model": {"type": "Unigram", "unk_id": unknown, "vocab": [[token, -1.0] for token in tokens]}}


class StaticModel:
    """One model in a folder, and what its files say."""

    def __init__(self, folder, layout, values, tokenizer, dtype="F32", weights=None, weights_dtype="F64", mapping=None,
                 mapping_type="<i8", normalize=False):
        self.folder, self.layout, self.normalize, self.tokenizer = folder, layout, normalize, tokenizer
        nested = os.path.join(folder, "0_StaticEmbedding") if layout == "nested" else folder
        os.makedirs(nested, exist_ok=True)
        array, table = stored(values, dtype)
        tensors = {"embeddings" if layout == "model2vec" else "embedding.weight": (dtype, array)}
        self.weights = None
        if weights is not None:
            array, self.weights = stored(weights, weights_dtype)
            if weights_dtype == "F64":
                self.weights = weights.astype(float)
            tensors["weights"] = (weights_dtype, array)
        if mapping is not None:
            code = {"<i8": "I64", "<i4": "I32", "<u2": "U16", "<f4": "F32"}[mapping_type]
            tensors["mapping"] = (code, numpy.array(mapping, mapping_type))
            table = table[numpy.array(mapping, int) % len(table)]
        self.table = table
        self.file = os.path.join(nested, "model.safetensors")
        self.tokenizer_file = os.path.join(nested, "tokenizer.json")
        write_safetensors(self.file, tensors)
        self.write(self.tokenizer_file, tokenizer)
        if layout == "model2vec":
            self.write(os.path.join(folder, "config.json"), {"normalize": normalize, "hidden_dim": table.shape[1]})
        else:
            self.write(os.path.join(folder, "config_sentence_transformers.json"), {"prompts": {}})
            kinds = ["StaticEmbedding"] + ["Normalize"] * normalize
            self.write(os.path.join(folder, "modules.json"),
                       [{"idx": i, "name": str(i), "path": "", "type": "sentence_transformers.models." + kind}
                        for i, kind in enumerate(kinds)])
        vocabulary = tokenizer["model"]["vocab"]
        self.tokens = list(vocabulary) if isinstance(vocabulary, dict) else [token for token, _ in vocabulary]

    @staticmethod
    def write(path, content):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file)

    # Encoding ------------------------------------------------------------------------------------

    def ids(self, text):
        """All ids, without cutting and dropping anything."""
        if self.tokenizer["model"]["type"] == "Unigram":
            return [self.tokens.index(word) for word in text.split()]
        found = []
        for word in text.split():
            pieces, begin = [], 0
            while begin < len(word) <= 100:
                prefix = "##" if begin else ""
                ends = [end for end in range(len(word), begin, -1) if prefix + word[begin:end] in self.tokens]
                if not ends:
                    break
                pieces.append(self.tokens.index(prefix + word[begin:ends[0]]))
                begin = ends[0]
            found += pieces if begin == len(word) else [self.tokens.index(UNKNOWN)]
        return found

    def kept_ids(self, text):
        if self.layout != "model2vec":
            return self.ids(text)
        lengths = sorted(len(token) for token in dict.fromkeys(self.tokens))
        middle = len(lengths) // 2
        median = lengths[middle] if len(lengths) % 2 else (lengths[middle - 1] + lengths[middle]) // 2
        ids = self.ids(text[:512 * median])
        if "unk_token" in self.tokenizer["model"]:
            ids = [i for i in ids if self.tokens[i] != UNKNOWN]
        return ids[:512]

    def encode(self, text):
        """The vector of a text as float32 bytes; None if there is none."""
        ids = self.kept_ids(text)
        if not ids:
            return None
        total = [0.0] * self.table.shape[1]
        for i in ids:
            weight = 1.0 if self.weights is None else float(self.weights[i])
            total = [a + weight * float(x) for a, x in zip(total, self.table[i])]
        mean = [a / len(ids) for a in total]
        if self.normalize:
            p = [0.0] * 8
            for j, x in enumerate(mean):
                p[j % 8] += x * x
            length = math.sqrt(((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7])))
            divisor = length + 1e-32 if self.layout == "model2vec" else max(length, 1e-12)
            mean = [x / divisor for x in mean]
        vector = struct.pack("<%df" % len(mean), *mean)
        return vector if any(struct.unpack("<%df" % len(mean), vector)) else None
