"""Makes small sentence-transformers folders: a BERT of random weights as an ONNX file (protobuf by hand), its tokenizer and its
configuration, and computes what their vectors should be with NumPy, in double precision.

    make_model.py FOLDER    makes one, to look at
"""
import json
import math
import os
import re
import sys

import numpy

HEADS, LAYERS, INNER, POSITIONS = 4, 2, 64, 64
WORDS = ("the a of and to in is it for on with as at by from this that parse json quickly read write file table index search text "
         "vector model word row key value number small large fast slow red green blue cat dog bird fish house tree river stone "
         "query passage title sum mean node graph edge path token play violin piano man woman child eats runs sleeps").split()
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
VOCABULARY = list(dict.fromkeys(SPECIAL + LETTERS + ["##" + letter for letter in LETTERS] + list("0123456789.,:!?-'")
                                + ["##" + str(digit) for digit in range(10)] + ["##ing", "##ed", "##s", "##er"] + WORDS))
IDS = {token: id for id, token in enumerate(VOCABULARY)}
TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int64": 7}


# Protobuf: a field is its number and wire type, and then a varint, or a length and bytes, or four bytes.
def varint(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while True:
        out.append(number & 127 | (128 if number > 127 else 0))
        number >>= 7
        if not number:
            return bytes(out)


def field(place, value):
    if isinstance(value, int):
        return varint(place << 3) + varint(value)
    if isinstance(value, float):
        return varint(place << 3 | 5) + numpy.float32(value).tobytes()
    data = value.encode() if isinstance(value, str) else value
    return varint(place << 3 | 2) + varint(len(data)) + data


def attribute(name, value):
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    if isinstance(value, float):
        return field(1, name) + field(2, value) + field(20, 1)
    return field(1, name) + b"".join(field(8, number) for number in value) + field(20, 7)


def value_info(name, type, axes):
    shape = b"".join(field(1, field(2, axis) if isinstance(axis, str) else field(1, axis)) for axis in axes)
    return field(1, name) + field(2, field(1, field(1, type) + field(2, shape)))


class Graph:
    """The nodes and constants of an ONNX graph."""

    def __init__(self):
        self.nodes, self.constants, self.count = [], {}, 0

    def constant(self, values, dtype=None):
        values = numpy.ascontiguousarray(numpy.array(values, dtype=dtype))
        name = f"c{len(self.constants)}"
        self.constants[name] = (b"".join(field(1, axis) for axis in numpy.shape(values)) + field(2, TYPES[values.dtype.name])
                                + field(8, name) + field(9, values.tobytes()))
        return name

    def floats(self, values):
        return self.constant(values, "float32")

    def ints(self, values):
        return self.constant(values, "int64")

    def run(self, type, *inputs, outputs=1, **attributes):
        self.count += 1
        names = [f"t{self.count}_{i}" for i in range(outputs)]
        self.nodes.append(b"".join(field(1, name) for name in inputs) + b"".join(field(2, name) for name in names) + field(4, type)
                          + b"".join(field(5, attribute(*item)) for item in attributes.items()))
        return names[0] if outputs == 1 else names

    def write(self, path, inputs, outputs):
        """`outputs`: triples of a name, the type and the value."""
        for name, _, value in outputs:
            self.nodes.append(field(1, value) + field(2, name) + field(4, "Identity"))
        graph = (b"".join(field(1, node) for node in self.nodes) + field(2, "g")
                 + b"".join(field(5, constant) for constant in self.constants.values())
                 + b"".join(field(11, value_info(name, TYPES["int64"], ["batch", "tokens"])) for name in inputs)
                 + b"".join(field(12, field(1, name) + field(2, field(1, field(1, type)))) for name, type, _ in outputs))
        with open(path, "wb") as file:
            file.write(field(1, 8) + field(7, graph) + field(8, field(2, 17)))


ALL_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class Network:
    """A BERT of random weights. `changed`: what a graph does with the vectors of tokens before it returns them."""

    def __init__(self, seed=7, dims=32, inputs=ALL_INPUTS):
        self.random = numpy.random.default_rng(seed)
        self.dims, self.inputs = dims, inputs
        self.tokens, self.positions, self.type = (self.weights(rows, dims, scale=0.5) for rows in (len(VOCABULARY), POSITIONS, 1))
        self.norms = [(1 + self.weights(dims), self.weights(dims)) for _ in range(2 * LAYERS + 1)]
        sizes = [(dims, dims)] * 4 + [(dims, INNER), (INNER, dims)]
        self.layers = [[(self.weights(*size, scale=0.25), self.weights(size[1])) for size in sizes] for _ in range(LAYERS)]
        self.dense = self.weights(dims, 24), self.weights(24)

    def weights(self, *shape, scale=0.1):
        return (scale * self.random.standard_normal(shape)).astype("f4")

    def write(self, path, int8=False, changed=None, output="last_hidden_state", inputs=None):
        """`changed`: makes what the graph returns of the vectors of tokens, as a value or a triple (name, type, value)."""
        graph = Graph()
        names = inputs or self.inputs

        def linear(x, weights, bias):
            if not int8:
                return graph.run("Add", graph.run("MatMul", x, graph.floats(weights)), graph.floats(bias))
            scale = numpy.abs(weights).max() / 127
            values, scale_of_x, zero = graph.run("DynamicQuantizeLinear", x, outputs=3)
            product = graph.run("MatMulInteger", values, graph.constant(numpy.rint(weights / scale), "int8"), zero, graph.constant(0, "int8"))
            product = graph.run("Mul", graph.run("Cast", product, to=1), graph.run("Mul", scale_of_x, graph.floats(scale)))
            return graph.run("Add", product, graph.floats(bias))

        def norm(x, weights):
            return graph.run("LayerNormalization", x, graph.floats(weights[0]), graph.floats(weights[1]), axis=-1, epsilon=1e-12)

        length = graph.run("Gather", graph.run("Shape", "input_ids"), graph.ints([1]), axis=0)
        places = graph.run("Slice", graph.floats(self.positions), graph.ints([0]), length, graph.ints([0]))
        x = graph.run("Add", graph.run("Gather", graph.floats(self.tokens), "input_ids", axis=0), places)
        if "token_type_ids" in names:
            x = graph.run("Add", x, graph.run("Gather", graph.floats(self.type), "token_type_ids", axis=0))
        x = norm(x, self.norms[0])
        heads = graph.ints([0, 0, HEADS, self.dims // HEADS])
        mask = None
        if "attention_mask" in names:
            mask = graph.run("Cast", graph.run("Unsqueeze", "attention_mask", graph.ints([1, 2])), to=1)
            mask = graph.run("Mul", graph.run("Sub", graph.floats(1), mask), graph.floats(-1e4))
        for i, (query, key, value, out, up, down) in enumerate(self.layers):
            parts = [graph.run("Transpose", graph.run("Reshape", linear(x, *part), heads), perm=order)
                     for part, order in ((query, [0, 2, 1, 3]), (key, [0, 2, 3, 1]), (value, [0, 2, 1, 3]))]
            scores = graph.run("Div", graph.run("MatMul", parts[0], parts[1]), graph.floats(math.sqrt(self.dims // HEADS)))
            scores = graph.run("Softmax", graph.run("Add", scores, mask) if mask else scores, axis=-1)
            mixed = graph.run("Transpose", graph.run("MatMul", scores, parts[2]), perm=[0, 2, 1, 3])
            mixed = graph.run("Reshape", mixed, graph.ints([0, 0, self.dims]))
            x = norm(graph.run("Add", linear(mixed, *out), x), self.norms[2 * i + 1])
            inner = linear(x, *up)
            erf = graph.run("Erf", graph.run("Div", inner, graph.floats(math.sqrt(2))))
            inner = graph.run("Mul", graph.run("Mul", inner, graph.run("Add", erf, graph.floats(1))), graph.floats(0.5))
            x = norm(graph.run("Add", linear(inner, *down), x), self.norms[2 * i + 2])
        made = changed(self, graph, x) if changed else x
        outputs = made if isinstance(made, list) else [(output, 1, made)]
        graph.write(path, names, outputs)

    def hidden(self, ids):
        """The vectors of the tokens, in double precision."""
        def linear(x, weights):
            return x @ weights[0].astype(float) + weights[1].astype(float)

        def norm(x, weights):
            x = x - x.mean(-1, keepdims=True)
            return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + 1e-12) * weights[0] + weights[1]

        x = self.tokens[ids].astype(float) + self.positions[:len(ids)]
        if "token_type_ids" in self.inputs:
            x = x + self.type[0]
        x = norm(x, self.norms[0])
        for i, (query, key, value, out, up, down) in enumerate(self.layers):
            parts = [linear(x, part).reshape(len(ids), HEADS, -1).transpose(1, 0, 2) for part in (query, key, value)]
            scores = parts[0] @ parts[1].transpose(0, 2, 1) / math.sqrt(self.dims // HEADS)
            scores = numpy.exp(scores - scores.max(-1, keepdims=True))
            mixed = (scores / scores.sum(-1, keepdims=True) @ parts[2]).transpose(1, 0, 2).reshape(len(ids), -1)
            x = norm(linear(mixed, out) + x, self.norms[2 * i + 1])
            inner = linear(x, up)
            inner = inner * (1 + numpy.vectorize(math.erf)(inner / math.sqrt(2))) / 2
            x = norm(linear(inner, down) + x, self.norms[2 * i + 2])
        return x


def sentence_embedding(network, graph, x, dense=False):
    """What a graph exported by sentence-transformers returns besides: the vector of the text, here after a Dense layer or none."""
    pooled = graph.run("ReduceMean", x, axes=[1], keepdims=0)
    if dense:
        pooled = graph.run("Tanh", graph.run("Add", graph.run("MatMul", pooled, graph.floats(network.dense[0])), graph.floats(network.dense[1])))
    return [("token_embeddings", 1, x), ("sentence_embedding", 1, pooled)]


def token_ids(text, lower=True, most=POSITIONS):
    """WordPiece of ASCII texts, as the tokenizer of write_folder() has it."""
    ids = []
    for word in re.findall(r"[0-9A-Za-z]+|[^0-9A-Za-z\s]", text.lower() if lower else text):
        pieces, at = [], 0
        if len(word) > 100:
            pieces, at = [IDS["[UNK]"]], len(word)
        while at < len(word):
            end = next((end for end in range(len(word), at, -1) if ("##" if at else "") + word[at:end] in IDS), None)
            if end is None:
                pieces = [IDS["[UNK]"]]
                break
            pieces.append(IDS[("##" if at else "") + word[at:end]])
            at = end
        ids += pieces
    return [IDS["[CLS]"], *ids[:most - 2], IDS["[SEP]"]]


def tokenizer(lower=True):
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [{"id": IDS[token], "content": token, "single_word": False, "lstrip": False, "rstrip": False,
                              "normalized": False, "special": True} for token in SPECIAL],
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                           "lowercase": lower},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "TemplateProcessing",
                               "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                                          {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
                               "pair": [],
                               "special_tokens": {token: {"id": token, "ids": [IDS[token]], "tokens": [token]} for token in ("[CLS]", "[SEP]")}},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                      "vocab": IDS}}


LEGACY_POOLINGS = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token", "max": "pooling_mode_max_tokens",
                   "lasttoken": "pooling_mode_lasttoken", "weightedmean": "pooling_mode_weightedmean_tokens",
                   "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens"}


def write_json(path, value):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def write_folder(folder, network=None, pooling="mean", legacy=True, modules=("Pooling", "Normalize"), lower=True, max_seq_length=None,
                 prompts=None, similarity=None, old_names=True, **onnx):
    """`network`: writes the ONNX file; None: an empty one. The names in `modules` follow the Transformer. `legacy`: the names that
    sentence-transformers wrote before version 6."""
    prefix = "sentence_transformers.models." if old_names else "sentence_transformers.sentence_transformer.modules."
    paths = ["", *(f"{i + 1}_{name}" for i, name in enumerate(modules))]
    write_json(os.path.join(folder, "modules.json"),
               [{"idx": i, "name": str(i), "path": path, "type": prefix + name}
                for i, (name, path) in enumerate(zip(("Transformer", *modules), paths))])
    write_json(os.path.join(folder, "tokenizer.json"), tokenizer(lower))
    write_json(os.path.join(folder, "config.json"), {"model_type": "bert", "max_position_embeddings": POSITIONS})
    if legacy and max_seq_length is not None:
        write_json(os.path.join(folder, "sentence_bert_config.json"), {"max_seq_length": max_seq_length, "do_lower_case": False})
    elif max_seq_length is not None:
        write_json(os.path.join(folder, "tokenizer_config.json"), {"model_max_length": max_seq_length})
    if "Pooling" in modules:
        config = {"pooling_mode": pooling}
        if legacy:
            config = {name: mode == pooling for mode, name in LEGACY_POOLINGS.items()}
        write_json(os.path.join(folder, paths[1 + modules.index("Pooling")], "config.json"), config)
    if prompts is not None or similarity is not None:
        write_json(os.path.join(folder, "config_sentence_transformers.json"),
                   {"prompts": prompts or {}, "default_prompt_name": None, "similarity_fn_name": similarity})
    os.makedirs(os.path.join(folder, "onnx"), exist_ok=True)
    path = os.path.join(folder, "onnx", "model.onnx")
    if network is None:
        with open(path, "wb"):
            pass
    else:
        network.write(path, **onnx)
    return folder


def pooled(hidden, pooling="mean", normalize=True, dims=None):
    vector = {"mean": lambda: hidden.mean(0), "cls": lambda: hidden[0], "max": lambda: hidden.max(0), "lasttoken": lambda: hidden[-1]}[pooling]()
    vector = vector[:dims]
    return vector / numpy.linalg.norm(vector) if normalize or dims else vector


if __name__ == "__main__":
    write_folder(sys.argv[1], Network())
