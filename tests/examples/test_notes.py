"""examples/notes as its README uses it: test_notes.py static|neural --extension GLOVE.SO --project DIR

static runs the README's commands with word vectors, and neural those with a neural model (tests/python/encoder.py), of which it is
skipped if there is none. Then both change a folder of notes.
"""
import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../python"))
import encoder  # noqa: E402
import installed  # noqa: E402

SKIPPED = 77
OPTIONS = argparse.Namespace()


class Notes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in ("docs", "examples"):
            os.symlink(os.path.join(OPTIONS.project, name), os.path.join(self.folder, name))
        if OPTIONS.kind == "neural":
            os.symlink(OPTIONS.model, os.path.join(self.folder, "all-MiniLM-L6-v2"))
        os.makedirs(os.path.join(self.folder, "notes/.hidden"))

    def run_command(self, command, status=0, **environment):
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env={**OPTIONS.environment, **environment}, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, status, f"{command}: {done.stdout}{done.stderr}")
        return done.stderr if status else done.stdout

    def notes(self, *arguments, **more):
        return self.run_command(" ".join(["examples/notes/notes.py", *arguments]), **more)

    def write(self, name, text):
        with open(os.path.join(self.folder, "notes", name), "w", encoding="utf-8") as file:
            file.write(text)

    def update(self):
        added, deleted, total = re.fullmatch(r"(\d+) sections added, (\d+) deleted, (\d+) in all\n", self.notes("index notes.db notes")).groups()
        return int(added), int(deleted), int(total)

    def found(self, question):
        return [line.split(": ")[0] for line in self.notes("search notes.db", f"'{question}'").splitlines()[::2]]

    def test_commands_of_the_readme(self):
        with open(os.path.join(OPTIONS.project, "examples/notes/README.md"), encoding="utf-8") as file:
            commands = [line.strip() for line in file if line.startswith("    examples/notes/notes.py")]
        database = {"neural": "notes.db", "static": "words.db"}[OPTIONS.kind]
        index, search = [command for command in commands if database in command]
        added, total = re.fullmatch(r"(\d+) sections added, 0 deleted, (\d+) in all\n", self.run_command(index)).groups()
        self.assertEqual(added, total)
        self.assertGreater(int(total), 100)
        lines = self.run_command(search).splitlines()
        self.assertEqual(len(lines), 2 * (3 if "-n 3" in search else 5))
        for line in lines[::2]:
            path, number, heading = re.fullmatch(r"(docs/\w+\.md):(\d+): (.*)", line).groups()
            with open(os.path.join(OPTIONS.project, path), encoding="utf-8") as file:
                before = file.read().splitlines()[:int(number)]
            self.assertTrue(any(one.startswith("#") and one.strip("# ") == heading for one in before), line)

    def test_only_what_has_changed_is_read_again(self):
        self.write("a.md", "# Weather\n\nA storm with much rain.\n\n## Money\n\nThe bank has new rates.\n")
        self.write("b.MD", "No heading.\n\n```\n# a comment\n```\n")
        self.write("c.txt", "Not a note.")
        self.write(".hidden/d.md", "Nor this.")
        model = OPTIONS.model if OPTIONS.kind == "neural" else "examples/data/glove-6b-100d-20k.txt.gz"
        self.assertEqual(self.notes("index notes.db notes --model", model), "3 sections added, 0 deleted, 3 in all\n")
        self.assertEqual(self.found("bank rates")[0], "notes/a.md:5")
        self.assertEqual(self.found("comment")[0], "notes/b.MD:1")
        self.assertEqual(self.update(), (0, 0, 3))
        self.write("a.md", "# Music\n\nA violin.\n\n# Weather\n\nA storm with much rain.\n\n## Money\n\nThe bank has new rates.\n")
        self.assertEqual(self.update(), (1, 0, 4))
        self.assertEqual(self.found("bank rates")[0], "notes/a.md:9")  # which has moved
        self.assertEqual(self.found("violin")[0], "notes/a.md:1")
        self.write("a.md", "# Weather\n\nSun.\n")
        self.assertEqual(self.update(), (1, 3, 2))
        os.remove(os.path.join(self.folder, "notes/b.MD"))
        self.assertEqual(self.update(), (0, 1, 1))
        self.assertEqual(self.found("it's \"of\" (no words)".replace("'", "")), ["notes/a.md:1"])
        self.write("long.md", "# Long\n" + "\n".join(f"\nparagraph {number} " + 60 * "word " for number in range(9)))
        self.assertEqual(self.update(), (3, 0, 4))
        self.assertIn("was made with the model", self.notes("index notes.db notes --model", HERE, status=1))

    def test_errors_say_what_to_do(self):
        self.assertIn("hf download sentence-transformers/all-MiniLM-L6-v2", self.notes("index notes.db notes", status=1))
        self.assertIn("there is no model 'nosuch': name the folder", self.notes("index notes.db notes --model nosuch", status=1))
        self.assertIn("'nosuch' is no folder", self.notes("index notes.db nosuch --model docs", status=1))
        self.assertIn("there is no database 'notes.db'; `notes.py index` makes it", self.notes("search notes.db x", status=1))
        self.assertIn("run `pip install .`", self.notes("search notes.db x", status=1, PYTHONPATH=""))
        self.assertIn("index a folder", self.notes("--help", PYTHONPATH=""))
        if OPTIONS.kind == "neural" and importlib.util.find_spec("onnxruntime") is None:
            self.assertIn("pip install onnxruntime", self.notes("index notes.db notes --model all-MiniLM-L6-v2", status=1, GLOVE_ONNXRUNTIME=""))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["static", "neural"])
    for option in ("--extension", "--convert", "--project"):
        parser.add_argument(option)
    options, rest = parser.parse_known_args()
    vars(OPTIONS).update(vars(options))
    import sqlite3
    if not hasattr(sqlite3.connect(":memory:"), "enable_load_extension"):
        print("skipped: this Python's sqlite3 cannot load extensions")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        OPTIONS.project = os.path.abspath(OPTIONS.project)
        os.mkdir(os.path.join(folder, "bin"))
        os.symlink(sys.executable, os.path.join(folder, "bin/python3"))
        OPTIONS.environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1",
                               "PATH": os.pathsep.join([os.path.join(folder, "bin"), os.environ["PATH"]])}
        if OPTIONS.kind == "neural":
            OPTIONS.environment["GLOVE_ONNXRUNTIME"], OPTIONS.model = map(os.path.abspath, encoder.find(OPTIONS.project, folder))
        installed.install(OPTIONS.project, OPTIONS.extension, folder)
        unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
