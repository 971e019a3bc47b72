"""Verdicts that hold until something changes, for the tests that take minutes of proofs (run_specs.py, mutants.py).

Such a test keeps a hash of all that its verdict depends on in a file beside its PTX: glove-verify itself, the PTX, the kernels
with their launches, and the lists of what is expected. It is skipped while the hash is the same, and where there is none, so that only those
who have asked for the proofs once wait for them again when they change a kernel or the program. With GLOVE_PROVE=1 it always runs.
"""

import hashlib
import os

SKIPPED = 77


def hash_of(paths, *words):
    """One hash of the files' contents and of the words, in this order."""
    total = hashlib.sha256(repr(words).encode())
    for path in paths:
        with open(path, "rb") as file:
            total.update(hashlib.sha256(file.read()).digest())
    return total.hexdigest()


def kernel_files(project, launch_dir):
    """What is written about the kernels: every file in the rooms of gpu/ with device code, and the launches."""
    rooms = [os.path.join(project, "gpu", room) for room in ("kernels", "layout", "primitives")]
    sources = [os.path.join(folder, name) for room in rooms for folder, _, names in os.walk(room) for name in names]
    return sorted(sources) + sorted(os.path.join(launch_dir, name) for name in os.listdir(launch_dir) if name.endswith(".launch.toml"))


class StoredVerdict:
    """The hash of the last run that passed, in the file `path`."""

    def __init__(self, path):
        self.path, self.always = path, os.environ.get("GLOVE_PROVE") == "1"
        self.stored = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.stored = file.read()

    def skips_without_verdict(self):
        """True, printed, if nothing has been proved here yet and GLOVE_PROVE does not ask for it."""
        if self.always or self.stored is not None:
            return False
        print("skipped: nothing was proved in this folder yet. GLOVE_PROVE=1 ctest -L verify, in the build folder, does it in minutes")
        return True

    def skips_unchanged(self, hashed):
        """True, printed, if the stored hash is this one and GLOVE_PROVE does not ask for another run."""
        if self.always or self.stored != hashed:
            return False
        print(f"skipped: glove-verify, the PTX and the launches are those of the last run, which passed ({self.path})")
        return True

    def keep(self, hashed, passed):
        """Stores the hash of a run that passed. After a failure the test runs again until it passes: an empty hash is no run's."""
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(hashed if passed else "")
