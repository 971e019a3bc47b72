"""explorer.py GLOVE.SO EXAMPLES OUT: the page of examples/apt-search for its sample and for packages whose names and descriptions are
markup, in OUT/explorer.html, and OUT/explorer.json: what this machine's glove.so finds with the vectors that are in the page."""
import base64
import gzip
import json
import os
import re
import subprocess
import sys

import numpy

QUESTIONS = ["play old nintendo games", "a music player for the desktop", "zzqq", "Emulator", "keep passwords safe"]
CHOSEN = ["nestopia", "dolphin-emu"]
HOSTILE = [
    ("a<b>bold</b>", "<script>document.title='broken'</script> games & \"quotes\" of an emulator"),
    ("b&amp;'\"", "</script><img src=x onerror=\"document.title='broken'\"> emulator of old games"),
    ("c{{data}}\\u003c", "a music player <!-- for the desktop --> \u2028 and </title>"),
]


def unpacked(page, name):
    text, = re.findall(f'<script type="text/plain" id="{name}">(.*?)</script>', page, re.DOTALL)
    return gzip.decompress(base64.b85decode(text.replace(",", "<")))


def save_matrix(folder, name, rows, words):
    numpy.save(os.path.join(folder, name + ".npy"), rows)
    with open(os.path.join(folder, name + ".words"), "w", encoding="utf-8") as file:
        file.write(words)


def main():
    library, examples, out = map(os.path.abspath, sys.argv[1:])
    sys.path.insert(0, os.path.join(examples, "apt-search"))
    import apt_search  # pylint: disable=import-outside-toplevel
    os.environ["GLOVE_EXTENSION"] = library
    database, path, hostile = (os.path.join(out, name) for name in ("packages.db", "explorer.html", "hostile"))
    with open(hostile, "w", encoding="utf-8") as file:
        file.write("\n\n".join(f"Package: {name}\nDescription: {synopsis}" for name, synopsis in HOSTILE))
    script = os.path.join(examples, "apt-search/apt_search.py")
    for arguments in (["build", database, os.path.join(examples, "apt-search/sample.gz"), hostile], ["explore", database, path]):
        subprocess.run([sys.executable, "-B", script, *arguments], check=True, stdout=subprocess.DEVNULL)
    with open(path, encoding="utf-8") as file:
        page = file.read()
    packages = [line.split("\t") for line in unpacked(page, "packages").decode().split("\n")[:-1]]
    matrix = numpy.frombuffer(unpacked(page, "package-vectors"), numpy.int8).reshape(len(packages), -1).astype("<f4")
    scales = numpy.frombuffer(unpacked(page, "word-scales"), "<f4")
    words = numpy.frombuffer(unpacked(page, "word-vectors"), numpy.int8).reshape(len(scales), -1).astype("<f4") * scales[:, None]
    save_matrix(out, "packages", matrix, "".join(f"{i}\n" for i in range(len(packages))))
    save_matrix(out, "words", words, unpacked(page, "words").decode())

    connection = apt_search.connect(":memory:")
    for name in ("packages", "words"):
        connection.execute("SELECT glove_load(?, ?)", (os.path.join(out, name + ".npy"), name))
    names = [name for name, _ in packages]

    def rows(sql, value, k):
        return [[names[int(number)], similarity] for number, similarity in connection.execute(sql, (value, k))]
    search = "SELECT neighbor, similarity FROM glove_nn(NULL, glove_text_vec(?, 'words'), ?, 'packages')"
    near = "SELECT neighbor, similarity FROM glove_nn(CAST(? AS TEXT), NULL, ?, 'packages')"
    expected = {"packages": dict(packages), "hostile": HOSTILE,
                "questions": {question: rows(search, question, 20) for question in QUESTIONS},
                "near": {name: rows(near, names.index(name), 8) for name in CHOSEN}}
    # The vectors in int8 are near those of the database.
    exact = dict(connection.execute("ATTACH ? AS built", (database,)).execute("SELECT name, vector FROM built.package").fetchall())
    cosines = [float(row @ vector / numpy.linalg.norm(row) / numpy.linalg.norm(vector))
               for row, vector in zip(matrix, (numpy.frombuffer(exact[name], "<f4") for name in names))]
    assert min(cosines) > 0.999, min(cosines)
    labels = [group["label"] for group in json.loads(re.search(r'id="facts">(.*?)</script>', page)[1])["groups"]]
    assert len(labels) == 20 and len({frozenset(text.split(" · ")) for text in labels}) == 20, labels
    # A word of the descriptions that the model lacks finds packages that have it.
    assert not connection.execute("SELECT 1 FROM glove_words('words') WHERE id < 20000 AND word = 'perl'").fetchall()
    about = dict(connection.execute("SELECT name, synopsis || ' ' || body FROM built.package").fetchall())
    found = [names[int(row[0])] for row in connection.execute("SELECT neighbor FROM glove_nn(NULL, glove_text_vec('perl', 'words'), 10, 'packages')")]
    assert sum("perl" in about[name].lower() for name in found) >= 5, found
    with open(os.path.join(out, "explorer.json"), "w", encoding="utf-8") as file:
        json.dump(expected, file)
    print(f"{len(packages)} packages in a page of {os.path.getsize(path):,} bytes; the least cosine of a vector in int8 is {min(cosines):.5f}")


if __name__ == "__main__":
    main()
