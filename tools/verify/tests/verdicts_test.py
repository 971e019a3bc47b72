"""When a test with a stored verdict is skipped: verdicts_test.py

run_specs.py is run with shell scripts for glove-verify and nvcc, which count how often the first is called.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from verdicts import SKIPPED, StoredVerdict, hash_of

HERE = os.path.dirname(os.path.abspath(__file__))
NVCC = """#!/bin/sh
for last; do :; done
echo ".entry some_kernel(" > "$last"
"""
PROGRAM = """#!/bin/sh
echo called >> "$COUNT"
echo "some_kernel: proved (1 launch)"
exit ${STATUS:-0}
"""


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)
    return path


class Verdicts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.environ.pop("GLOVE_PROVE", None)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def test_the_hash_depends_on_each_file_their_order_and_the_words(self):
        a, b = write(self.path("a"), "1"), write(self.path("b"), "2")
        hashes = [hash_of([a, b], "x"), hash_of([b, a], "x"), hash_of([a], "x"), hash_of([a, b], "y")]
        write(b, "3")
        hashes.append(hash_of([a, b], "x"))
        self.assertEqual(len(set(hashes)), 5)

    def test_a_run_that_failed_is_repeated(self):
        StoredVerdict(self.path("v")).keep("hash", False)
        verdict = StoredVerdict(self.path("v"))
        self.assertFalse(verdict.skips_without_verdict())
        self.assertFalse(verdict.skips_unchanged("hash"))

    def run_specs(self, **environment):
        """The exit status, and how often the program was called."""
        count = write(self.path("count"), "")
        done = subprocess.run([sys.executable, self.path("run_specs.py"), self.path("program"), self.path("nvcc"), self.folder,
                               self.path("launches"), self.path("work"), "sm_90", "ci"], capture_output=True, text=True, check=False,
                              env={**os.environ, "COUNT": count, **environment})
        self.assertNotIn("Traceback", done.stderr)
        with open(count, encoding="utf-8") as file:
            return done.returncode, len(file.readlines())

    def test_run_specs_proves_again_what_has_changed(self):
        os.makedirs(self.path("gpu", "kernels"))
        for name in ("run_specs.py", "verdicts.py"):
            shutil.copy(os.path.join(HERE, name), self.folder)
        os.makedirs(self.path("launches"))
        for name in ("without_proof.txt", "launches/some.launch.toml", "gpu/kernels/some.cu", "gpu/kernels/some.cuh"):
            write(self.path(name), "")
        write(self.path("nvcc"), NVCC)
        write(self.path("program"), PROGRAM)

        self.assertEqual(self.run_specs(), (SKIPPED, 0), "nothing is stored")
        self.assertEqual(self.run_specs(GLOVE_PROVE="1"), (0, 1))
        self.assertEqual(self.run_specs(), (SKIPPED, 0), "nothing has changed")
        self.assertEqual(self.run_specs(GLOVE_PROVE="1"), (0, 1), "always, if asked for")
        for name in ("program", "nvcc", "without_proof.txt", "launches/some.launch.toml", "gpu/kernels/some.cuh"):
            with open(self.path(name), "a", encoding="utf-8") as file:
                file.write("# a comment\n" if name != "nvcc" else 'echo "// other PTX" >> "$last"\n')
            self.assertEqual(self.run_specs(STATUS="1"), (1, 1), f"{name} has changed")
            self.assertEqual(self.run_specs()[1], 1, "it failed")
            self.assertEqual(self.run_specs(), (SKIPPED, 0), "nothing has changed")


if __name__ == "__main__":
    unittest.main()
