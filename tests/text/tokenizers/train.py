#!/usr/bin/python3
"""train.py TEXTS FOLDER [PIECES]: trains vocabularies of 30,000 pieces on texts of make_texts.py, and writes word_piece.json,
byte_pair.json, unigram.json and others, which are tokenizer.json files. Needs Debian's package sentencepiece (spm_train)."""
import base64
import collections
import heapq
import json
import os
import struct
import subprocess
import sys
import tempfile
import unicodedata


def read_texts(path):
    with open(path, "rb") as file:
        data = file.read()
    texts, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        texts.append(data[at + 4: at + 4 + length].decode(errors="replace"))
        at += 4 + length
    return texts


def merge_pairs(words, count):
    """Byte-pair encoding. `words` has tuples of symbols with their frequencies. Yields the most frequent pair, `count` times."""
    words = [[list(word), frequency] for word, frequency in words.items()]
    frequencies, places = collections.Counter(), collections.defaultdict(set)
    for index, (word, frequency) in enumerate(words):
        for pair in zip(word, word[1:]):
            frequencies[pair] += frequency
            places[pair].add(index)
    heap = [(-frequency, pair) for pair, frequency in frequencies.items()]
    heapq.heapify(heap)
    while heap and count > 0:
        negative, pair = heapq.heappop(heap)
        if frequencies[pair] != -negative:
            if frequencies[pair] > 0:
                heapq.heappush(heap, (-frequencies[pair], pair))
            continue
        if frequencies[pair] < 2:
            return
        merged = yield pair
        count -= 1
        changed = set()
        for index in places.pop(pair):
            word, frequency = words[index]
            for old in zip(word, word[1:]):
                frequencies[old] -= frequency
                changed.add(old)
            at, new = 0, []
            while at < len(word):
                if tuple(word[at: at + 2]) == pair:
                    new.append(merged)
                    at += 2
                else:
                    new.append(word[at])
                    at += 1
            words[index][0] = new
            for fresh in zip(new, new[1:]):
                frequencies[fresh] += frequency
                places[fresh].add(index)
                changed.add(fresh)
        for touched in changed:
            if frequencies[touched] > 0:
                heapq.heappush(heap, (-frequencies[touched], touched))


def train(words, size, tokens, join):
    """Adds tokens until there are `size`, and returns the merges."""
    merges, known = [], set(tokens)
    pairs = merge_pairs(words, 10 ** 9)
    pair = next(pairs, None)
    while pair is not None and len(tokens) < size:
        merged = join(*pair)
        merges.append(list(pair))
        if merged not in known:
            known.add(merged)
            tokens.append(merged)
        try:
            pair = pairs.send(merged)
        except StopIteration:
            pair = None
    return merges


def added(content, number, special=True, **options):
    token = {"id": number, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": not special,
             "special": special}
    return {**token, **options}


def write(folder, name, model, normalizer, pre_tokenizer, tokens=(), post_processor=None):
    root = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": list(tokens), "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer, "post_processor": post_processor, "decoder": None, "model": model}
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(root, file, ensure_ascii=False)
    print(f"{name}: {len(model['vocab'])} pieces")


BERT = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}


def template(first, last):
    return {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": first[0], "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                       {"SpecialToken": {"id": last[0], "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {name: {"id": name, "ids": [number], "tokens": [name]} for name, number in (first, last)}}


def word_piece(texts, folder, size):
    words = collections.Counter()
    for text in texts:
        text = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if unicodedata.category(c) != "Mn")
        spaced = "".join(f" {c} " if unicodedata.category(c)[0] in "PS" or "\u3400" <= c <= "\u9fff" else c for c in text)
        words.update(word for word in spaced.split() if len(word) < 40)
    split = {tuple([word[0]] + ["##" + c for c in word[1:]]): n for word, n in words.items()}
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = collections.Counter()
    for word, n in split.items():
        for symbol in word:
            letters[symbol] += n
    tokens = special + sorted(letter for letter, n in letters.items() if n > 1)[: size // 2]
    train(split, size, tokens, lambda a, b: a + b.removeprefix("##"))
    vocab = {token: number for number, token in enumerate(tokens)}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab}
    tokens = [added(name, vocab[name]) for name in special]
    around = template(("[CLS]", 2), ("[SEP]", 3))
    write(folder, "word_piece.json", model, BERT, {"type": "BertPreTokenizer"}, tokens, around)
    # Other parts over the same vocabulary, with tokens that are added in every way.
    more = [added("new york", len(vocab), False, single_word=True), added("<mask>", len(vocab) + 1, True, lstrip=True),
            added("[DAY]", len(vocab) + 2, False, rstrip=True, normalized=False), added("Caf\u00e9", len(vocab) + 3, False)]
    steps = [{"type": "NFD"}, {"type": "Lowercase"}, {"type": "StripAccents"}, {"type": "Strip", "strip_left": True, "strip_right": True},
             {"type": "Replace", "pattern": {"String": "'"}, "content": " ' "}, {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}]
    cuts = [{"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "Isolated"}, {"type": "Digits", "individual_digits": True}]
    write(folder, "sequence.json", model, {"type": "Sequence", "normalizers": steps}, {"type": "Sequence", "pretokenizers": cuts}, tokens + more)
    for form in ("NFC", "NFKC", "NFKD"):
        write(folder, f"{form.lower()}.json", model, {"type": form}, {"type": "Whitespace"}, tokens)
    level = {"type": "WordLevel", "unk_token": "[UNK]", "vocab": vocab}
    behaviors = [{"type": "Split", "pattern": {"String": "-"}, "behavior": "MergedWithNext", "invert": False},
                 {"type": "Split", "pattern": {"String": "e"}, "behavior": "MergedWithPrevious", "invert": False},
                 {"type": "Digits", "individual_digits": False}, {"type": "Punctuation", "behavior": "Contiguous"},
                 {"type": "Split", "pattern": {"String": "in"}, "behavior": "Removed", "invert": False},
                 {"type": "Split", "pattern": {"Regex": " {2,}"}, "behavior": "Isolated", "invert": False},
                 {"type": "CharDelimiterSplit", "delimiter": " "}]
    write(folder, "splits.json", level, {"type": "Nmt"}, {"type": "Sequence", "pretokenizers": behaviors}, tokens)


def byte_alphabet():
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {**{byte: chr(byte) for byte in printable}, **{byte: chr(256 + i) for i, byte in enumerate(others)}}


def byte_pair(texts, folder, size):
    alphabet = byte_alphabet()
    words = collections.Counter()
    for text in texts:
        words.update(word if i == 0 else " " + word for i, word in enumerate(text.split()))
    split = {tuple(alphabet[byte] for byte in word.encode()[:60]): n for word, n in words.items()}
    tokens = ["<|endoftext|>"] + sorted(alphabet.values())
    merges = train(split, size, tokens, lambda a, b: a + b)
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": False,
             "byte_fallback": False, "ignore_merges": False, "vocab": {token: i for i, token in enumerate(tokens)}, "merges": merges}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    write(folder, "byte_pair.json", model, None, level, [added("<|endoftext|>", 0)], level)
    spaced = {**level, "add_prefix_space": True}
    merged = {**model, "ignore_merges": True, "merges": [" ".join(pair) for pair in merges]}
    write(folder, "byte_pair_2.json", merged, {"type": "NFC"}, spaced, [added("<|endoftext|>", 0)])
    # As Llama has it: characters, and bytes for those that are unknown.
    words = collections.Counter()
    for text in texts:
        words.update("\u2581" + word for word in text.split())
    letters = collections.Counter()
    for word, n in words.items():
        for letter in word:
            letters[letter] += n
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    tokens += sorted(letter for letter, n in letters.items() if n > 20)
    merges = train({tuple(word[:40]): n for word, n in words.items()}, size, tokens, lambda a, b: a + b)
    known = set(tokens)
    merges = [pair for pair in merges if pair[0] in known and pair[1] in known]
    for name, has_bytes in (("llama.json", True), ("unknown.json", False)):
        model = {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None,
                 "fuse_unk": True, "byte_fallback": has_bytes, "ignore_merges": False, "vocab": {t: i for i, t in enumerate(tokens)}, "merges": merges}
        steps = [{"type": "Prepend", "prepend": "\u2581"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]
        write(folder, name, model, {"type": "Sequence", "normalizers": steps}, None, [added(t, i) for i, t in enumerate(tokens[:3])],
              template(("<s>", 1), ("</s>", 2)))


def fields(data):
    """The fields of a message in Google's protocol buffers: (number, value)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        length = {1: 8, 5: 4}.get(key & 7) or varint()
        yield key >> 3, data[at: at + length]
        at += length


def unigram(texts, folder, size):
    with tempfile.TemporaryDirectory() as work:
        with open(f"{work}/texts", "w", encoding="utf-8") as file:
            file.writelines(text.replace("\n", " ").replace("\0", " ") + "\n" for text in texts)
        subprocess.run(["spm_train", f"--input={work}/texts", f"--model_prefix={work}/model", f"--vocab_size={size}", "--model_type=unigram",
                        f"--character_coverage={0.9995 if size > 20_000 else 0.98}", "--normalization_rule_name=nmt_nfkc_cf", "--num_threads=2", "--minloglevel=2"], check=True)
        with open(f"{work}/model.model", "rb") as file:
            message = list(fields(file.read()))
    vocab = []
    for number, value in message:
        if number == 1:
            piece = dict(fields(value))
            vocab.append([piece[1].decode(), struct.unpack("<f", piece[2])[0]])
    charsmap = dict(fields(dict(message)[3]))[2]
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": False}
    precompiled = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}
    squeeze = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    metaspace = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    tokens = [added(name, number) for number, name in enumerate(["<unk>", "<s>", "</s>"])] + [added("<mask>", len(vocab), True, lstrip=True)]
    write(folder, "unigram.json", model, {"type": "Sequence", "normalizers": [precompiled, squeeze]}, metaspace, tokens,
          template(("<s>", 1), ("</s>", 2)))
    split = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {**metaspace, "prepend_scheme": "first"}]}
    write(folder, "unigram_2.json", model, precompiled, split, tokens[:3])
    bytes_too = {**model, "byte_fallback": True, "vocab": vocab + [[f"<0x{byte:02X}>", -20.0] for byte in range(256)]}
    write(folder, "unigram_3.json", bytes_too, precompiled, {**metaspace, "prepend_scheme": "first", "split": False}, tokens)


def main():
    texts = read_texts(sys.argv[1])
    texts = texts[: len(texts) * 60 // 100]  # the descriptions and translations
    size = int(sys.argv[3]) if len(sys.argv) > 3 else 30_000
    for trainer in (word_piece, byte_pair, unigram):
        trainer(texts, sys.argv[2], size)


main()
