"""Writes the seeds of the corpora: a small file of each format, with words as reader_fuzzer.cpp lists them.

make_corpus.py GLOVE_CONVERT
"""
import bz2
import gzip
import json
import lzma
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "loader"), str(HERE.parent / "text")]
import embedding_writers  # noqa: E402
import model_file_reader  # noqa: E402
import static_models  # noqa: E402

WORDS = [b"the", b"of", b"new york"]
ROWS = numpy.array([[1, -2.5, 0.125], [0, 0, 0], [3e-5, 65504, -1 / 3]], numpy.float32)


def seed(format_name, name, content):
    folder = HERE / "corpus" / format_name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def zstd_frame(content):
    """A frame of zstd whose only block is not compressed."""
    return b"\x28\xb5\x2f\xfd\x20" + bytes([len(content)]) + (len(content) << 3 | 1).to_bytes(3, "little") + content


def with_planes_that_pay(content):
    """The model file with planes that a search uses, although the model is small."""
    end = 8 + int.from_bytes(content[:8], "little")
    assert content.count(b'"glove.planes.most_k":"0"') == 1
    header = content[:end].replace(b'"glove.planes.most_k":"0"', b'"glove.planes.most_k":"9"')
    old = json.loads(header[8:])["__metadata__"]["glove.crc32"].encode()
    return header.replace(old, model_file_reader.header_checksum(header).encode(), 1) + content[end:]


def main():
    for writer, name, _, spaces in embedding_writers.FORMATS:
        words = WORDS if spaces else [word.replace(b" ", b"_") for word in WORDS]
        content = next(iter(writer(words, ROWS).values()))
        seed(name, writer.__name__, content)
        if writer is embedding_writers.glove_text:
            lines = content.splitlines()
            seed("text-matrix", "columns", b"id\tword\n1\tthe\n2\t\"of\"\n3\ta\n\0" + b"\n".join(b"0.5 " + line.split(b" ", 1)[1] for line in lines))
            seed("text-matrix", "counts", b"the 9\nof 7\na b 7\n\0" + b"\r".join(b"0.5 " + line.split(b" ", 1)[1] for line in lines))
            seed("text-matrix", "one", b"the\tDET\t\nof\tADP\t\na\tX\t\n\0" + b"0.5\n0.25\n-1\n")
            seed("wrapped", "text.gz", gzip.compress(content, mtime=0))
            seed("wrapped", "text.bz2", bz2.compress(content))
            seed("wrapped", "text.xz", lzma.compress(content, check=lzma.CHECK_NONE) + lzma.compress(content))
            seed("wrapped", "text.zst", zstd_frame(content[:20]) + b"\x50\x2a\x4d\x18\1\0\0\0x" + zstd_frame(content[20:]))
            for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                with tempfile.TemporaryFile() as file:
                    with zipfile.ZipFile(file, "w", method) as archive:
                        archive.writestr(zipfile.ZipInfo("m.txt"), content, method)
                    file.seek(0)
                    seed("wrapped", f"text.{method}.zip", file.read())
    header = json.dumps({"e": {"dtype": "I8", "shape": [3, 2], "data_offsets": [0, 6]},
                         "scale": {"dtype": "F16", "shape": [3], "data_offsets": [6, 12]}}).encode()
    seed("safetensors", "scaled", len(header).to_bytes(8, "little") + header + numpy.int8([1, -2, 3, 4, 5, 6]).tobytes()
         + numpy.float16([1, 0.5, 2]).tobytes())
    with tempfile.TemporaryDirectory() as folder:
        text, model = os.path.join(folder, "m.txt"), os.path.join(folder, "m.safetensors")
        pathlib.Path(text).write_bytes(embedding_writers.glove_text(WORDS, ROWS)["m.txt"])
        subprocess.run([sys.argv[1], "-q", text, model], check=True)
        seed("glove-model", "full", pathlib.Path(model).read_bytes())
        subprocess.run([sys.argv[1], "-q", text, model, "--lists", "2"], check=True)
        seed("glove-model", "lists", with_planes_that_pay(pathlib.Path(model).read_bytes()))
        subprocess.run([sys.argv[1], "-q", text, model, "--metric", "l2"], check=True)
        seed("glove-model", "metric", pathlib.Path(model).read_bytes())
        subprocess.run([sys.argv[1], "-q", text, model, "--type", "bfloat16"], check=True)
        seed("glove-model", "type", pathlib.Path(model).read_bytes())
        content = embedding_writers.FastText(WORDS, numpy.concatenate([ROWS, ROWS + 1]), 2, 3, 3, [b"__label__x"]).content()
        seed("fasttext", "ngrams", content)
        pathlib.Path(text).write_bytes(content)
        subprocess.run([sys.argv[1], "-q", text, model], check=True)
        seed("glove-model", "ngrams", pathlib.Path(model).read_bytes())
        pathlib.Path(text).write_bytes(embedding_writers.glove_text(WORDS, ROWS)["m.txt"])
        subprocess.run([sys.argv[1], "-q", text, model, "--shards", "1"], check=True)
        seed("glove-shards", "index", pathlib.Path(model + ".index.json").read_bytes())
        folder = os.path.join(folder, "static")
        tokens = [static_models.UNKNOWN, "a", "##b"]
        static_models.StaticModel(folder, "model2vec", ROWS.astype(float), static_models.word_piece(tokens),
                                  weights=numpy.array([0.5, 1, 2]), normalize=True)
        subprocess.run([sys.argv[1], "-q", folder, model], check=True)
        seed("glove-model", "tokenizer", pathlib.Path(model).read_bytes())
        model_file_reader.write_minimal_model(model, WORDS, ROWS)
        seed("glove-model", "minimal", pathlib.Path(model).read_bytes())
    for i, number in enumerate(["0.38473", "-1.25e-3", "1e400", "nan", "inf", "0.1000000014901161193847656250001"]):
        seed("number", str(i), number.encode())
    for i, expression in enumerate(["king - man + woman", "2 * (paris - france) + \"new york\"", "king man - woman +",
                                    "- a", "((a))", "1.5 * \"a \"\"b\""]):
        seed("expression", str(i), expression.encode())
    for i, text in enumerate(["The U.S. doesn't say it's 1,000.50 at 12:30 p.m.", "don\u2019t \u4e2d\u6587 e\u0301 co\u00adop",
                              "O'Brien's 1990's \U0001f468\u200d\U0001f469 \u05e9\u05dc\u05d5\u05dd", "\u0130\u212a\u023a n't 's"]):
        seed("tokenizer", str(i), text.encode())
    golden = json.loads((HERE.parent / "text" / "tokenizers" / "golden.json").read_text())
    for i, entry in enumerate(golden["tokenizers"]):
        seed("tokenizer-json", entry["name"], json.dumps(entry["json"], ensure_ascii=False).encode())
        seed("tokenizer-text", entry["name"], bytes([i]) + b" ".join(bytes.fromhex(text) for text in golden["texts"][i::9]))


main()
