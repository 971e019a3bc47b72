"""What the documents name exists: test_links.py PROJECT

links   each relative link of a document leads to a file, and its #anchor to a heading
files   each path in code style, such as `search/nearest.cpp`, is a file of the project
readme  README.md leads to every document and has at most 110 lines; docs/concepts.md has at most 90 before its glossary
"""
import pathlib
import re
import sys
import unittest

PROJECT = pathlib.Path(sys.argv.pop(1)).resolve()
DOCUMENTS = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/*.md"), PROJECT / "bench/RESULTS.md"])
HISTORY = {"CHANGELOG.md", "RESULTS.md"}  # which name what has been
LINK = re.compile(r"\]\(([^()\s]*)\)")
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FOLDERS = "analysis|base|bench|cmake|convert|cpu|docs|examples|extension|gpu|live|loader|model|packaging|search|sql|tests|text|tools"
PATH = re.compile(r"`(?:\./)?((?:%s)/[\w./-]+\.(?:cpp|h|cu|cuh|py|sh|md|sql|json|cmake|txt))`" % FOLDERS)


def text_of(path):
    return BLOCK.sub("", path.read_text(encoding="utf-8"))


def anchors_of(path):
    """The anchors that GitHub makes of a document's headings."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", text_of(path), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found


class Links(unittest.TestCase):
    def test_links(self):
        wrong, count = [], 0
        for document in DOCUMENTS:
            for link in LINK.findall(text_of(document)):
                if re.match(r"https?:|mailto:", link):
                    continue
                count += 1
                name, _, anchor = link.partition("#")
                target = (document.parent / name).resolve() if name else document
                if not target.exists():
                    wrong.append(f"{document.relative_to(PROJECT)}: {link} does not exist")
                elif anchor and target.suffix == ".md" and anchor not in anchors_of(target):
                    wrong.append(f"{document.relative_to(PROJECT)}: {link} has no such heading")
        self.assertEqual(wrong, [])
        self.assertGreater(count, 100)

    def test_files(self):
        wrong, count = [], 0
        for document in DOCUMENTS:
            if document.name in HISTORY:
                continue
            for name in PATH.findall(text_of(document)):
                count += 1
                if not (PROJECT / name).is_file() and "foo" not in name:
                    wrong.append(f"{document.relative_to(PROJECT)} names {name}, which does not exist")
        self.assertEqual(wrong, [])
        self.assertGreater(count, 100)

    def test_readme(self):
        readme = (PROJECT / "README.md").read_text(encoding="utf-8")
        led_to = set(LINK.findall(readme))
        documents = [path.relative_to(PROJECT).as_posix() for path in DOCUMENTS if path.name != "README.md"]
        self.assertEqual([name for name in documents if name not in led_to], [])
        self.assertLessEqual(readme.count("\n"), 110)
        concepts = (PROJECT / "docs/concepts.md").read_text(encoding="utf-8").partition("## Glossary")
        self.assertTrue(concepts[1])
        self.assertLessEqual(concepts[0].count("\n"), 90)


if __name__ == "__main__":
    unittest.main()
