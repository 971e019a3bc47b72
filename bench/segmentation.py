#!/usr/bin/env python3
"""Compares how texts without spaces are split into the words of a model with how segmenters split them that have the same words.

  bench/segmentation.py EXTENSION [--lists FOLDER]

Chinese: jieba without its model of unknown words, over its dictionary. Thai: newmm of PyThaiNLP, over its words. Japanese: MeCab
(fugashi) with unidic-lite, over the words that it finds in all of these texts. The texts are Debian's package descriptions in
zh_CN and ja, which apt downloads unless FOLDER has them, and Django's messages in Thai. Prints how many of the segmenter's words in
runs of the script are the same, and both speeds. What lacks a package or its texts is skipped and says why (exit status 77 if all is):

  python3 -m venv --system-site-packages env && env/bin/pip install jieba pythainlp fugashi unidic-lite django
"""
import argparse
import gettext
import glob
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../examples/apt-search"))
import apt_search  # noqa: E402
import harness  # noqa: E402


def descriptions(language, lists):
    """The translated descriptions of Debian's packages."""
    with tempfile.TemporaryDirectory() as folder:
        if lists is None:
            lists = folder
            os.makedirs(os.path.join(folder, "partial"))
            subprocess.run(["apt-get", "update", "-qq", "-o", "Dir::State::lists=" + folder, "-o", "Acquire::Languages=" + language],
                           check=True, timeout=300)
        files = glob.glob(os.path.join(lists, "*_Translation-" + language.replace("_", "%5f") + "*"))
        if not files:
            raise FileNotFoundError("apt has no descriptions in " + language)
        return "\n".join(map(apt_search.content_of, files))


def chinese(lists):
    import jieba
    jieba.setLogLevel(60)
    jieba.initialize()
    words = [word for word, count in jieba.dt.FREQ.items() if count > 0]
    return "[\u4e00-\u9fff]+", descriptions("zh_CN", lists), words, lambda text: jieba.cut(text, HMM=False)


def thai(_):
    import django
    from pythainlp.corpus import thai_words
    from pythainlp.tokenize import word_tokenize
    folder = os.path.join(os.path.dirname(django.__file__), "**/locale/th/LC_MESSAGES/*.mo")
    texts = []
    for path in glob.glob(folder, recursive=True):
        with open(path, "rb") as file:
            texts.extend(map(str, gettext.GNUTranslations(file)._catalog.values()))  # pylint: disable=protected-access
    return "[\u0e01-\u0e3a\u0e40-\u0e4e]+", "\n".join(texts), sorted(thai_words()), lambda text: word_tokenize(text, engine="newmm")


def japanese(lists):
    import fugashi
    tagger = fugashi.Tagger("-Owakati")
    script, text = "[\u3005\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff]+", descriptions("ja", lists)

    def split(run):
        return tagger.parse(run).split()
    return script, text, sorted({word for run in set(re.findall(script, text)) for word in split(run)}), split


def ends(words):
    """Where words begin and end in the text that they make."""
    places, at = set(), 0
    for word in words:
        places.add((at, at + len(word)))
        at += len(word)
    return places


def compare(name, load, extension, lists):
    script, text, words, split = load(lists)
    runs = sorted({run for run in re.findall(script, text) if len(run) > 1})
    database = harness.connect(":memory:", extension)
    database.execute("CREATE TABLE word(word, v)")
    database.executemany("INSERT INTO word VALUES (?, '[1]')", ((word,) for word in words))
    database.execute("SELECT glove_load_table('m', 'SELECT word, v FROM word')").fetchall()
    prepared, _ = harness.timed(lambda: database.execute("SELECT id FROM glove_tokens('', 'm')").fetchall(), time.process_time)
    find = "SELECT token FROM glove_tokens(?, 'm')"
    taken, own = harness.timed(lambda: [token for token, in database.execute(find, ("\n".join(runs),))], time.process_time)
    peer_taken, others = harness.timed(lambda: [word for run in runs for word in split(run)], time.process_time)
    assert "".join(own) == "".join(others) == "".join(runs)
    common, total = len(ends(own) & ends(others)), len(others)
    size = sum(map(len, runs))
    print(f"{name}: {len(words)} words, {len(runs)} runs of {size} characters; {common} of {total} words are the same "
          f"({common / total:.1%}); {size / taken:.0f} characters per ms, after {prepared:.0f} ms, and the other "
          f"{size / peer_taken:.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extension")
    parser.add_argument("--lists", help="apt's folder with Translation-zh_CN and -ja")
    options = parser.parse_args()
    skipped = 0
    cases = {"Chinese, jieba": chinese, "Thai, newmm": thai, "Japanese, MeCab": japanese}
    for name, load in cases.items():
        try:
            compare(name, load, options.extension, options.lists)
        except (ImportError, OSError, subprocess.SubprocessError) as error:
            print(f"{name}: skipped: {error}")
            skipped += 1
    sys.exit(77 if skipped == len(cases) else 0)


if __name__ == "__main__":
    main()
