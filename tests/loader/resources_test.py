"""The resources of a conversion: memory that does not grow with the file, and a disk that is full.

resources_test.py GLOVE_CONVERT SIGNAL_AT_FSYNC
"""
import os
import resource
import signal
import subprocess
import sys
import tempfile
import unittest

import numpy

CONVERT = sys.argv.pop(1)
SIGNAL_AT_FSYNC = sys.argv.pop(1)


def write_word2vec(path, rows, dims):
    block = numpy.random.default_rng().normal(0, 1, (64, dims)).astype("<f4")
    with open(path, "wb") as file:
        file.write(b"%d %d\n" % (rows, dims))
        for i in range(rows):
            file.write(b"w%d " % i + block[i % 64].tobytes())


def peak_memory(*command):
    """The peak of a process's resident memory, in bytes."""
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    result = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, check=True)
    return int(result.stdout) * 1024


def has_unnamed_file(process, folder):
    """Whether the process has a file without a name open in the folder: what it writes."""
    try:
        targets = [os.readlink(f"/proc/{process}/fd/{number}") for number in os.listdir(f"/proc/{process}/fd")]
    except OSError:  # it ended meanwhile, or closed one
        return False
    return any(target.startswith(folder) and target.endswith(" (deleted)") for target in targets)


class Resources(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = lambda name: os.path.join(directory.name, name)

    def test_memory_does_not_grow_with_the_file(self):
        write_word2vec(self.path("small"), 10_000, 300)  # 12 MB
        write_word2vec(self.path("large"), 100_000, 300)  # 120 MB
        small, large = (peak_memory(CONVERT, "-q", "--threads", "2", self.path(name), self.path("out"))
                        for name in ("small", "large"))
        # 90,000 words more, of at most 64 bytes each with all that is kept of a row.
        self.assertLess(large, small + 90_000 * 64 + 8_000_000)

    @unittest.skipUnless(os.geteuid() == 0, "mounting a small file system takes root")
    def test_a_full_disk_leaves_the_output_as_it_was(self):
        mount = self.path("mount")
        os.mkdir(mount)
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", mount], capture_output=True, check=False)
        if made.returncode != 0:
            self.skipTest("mount: " + made.stderr.decode())
        self.addCleanup(subprocess.run, ["umount", mount], check=True)
        write_word2vec(self.path("in"), 10_000, 300)
        output = os.path.join(mount, "m.safetensors")
        with open(output, "wb") as file:
            file.write(b"as it was")
        result = subprocess.run([CONVERT, "-q", self.path("in"), output], capture_output=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr.decode(), "cannot write '.*': No space left on device")
        self.assertEqual(os.listdir(mount), ["m.safetensors"])
        with open(output, "rb") as file:
            self.assertEqual(file.read(), b"as it was")

    def test_a_write_that_fails_late_leaves_the_output_as_it_was(self):
        """The same without root: a limit on the size of files, at each of several places."""
        write_word2vec(self.path("in"), 1000, 10)
        whole = 4096 + 1000 * 80
        for limit in (100, 5000, 45_000, 60_000, whole - 20_000):
            def cap(limit=limit):
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            result = subprocess.run([CONVERT, "-q", self.path("in"), self.path("out")], capture_output=True,
                                    check=False, preexec_fn=cap)
            self.assertEqual(result.returncode, 1, (limit, result.stderr))
            self.assertIn(b"File too large", result.stderr)
            self.assertEqual(os.listdir(self.path("")), ["in"])

    def test_memory_that_runs_out_leaves_no_file(self):
        with open(self.path("in"), "wb") as file:  # sparse, so long that it has room for what it promises
            file.write(b"200000000 1\n")
            file.truncate(1_300_000_000)
        limit = 1 << 30
        result = subprocess.run(
            [CONVERT, "-q", "--threads", "2", "--format", "word2vec-binary", self.path("in"), self.path("out")],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)), capture_output=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (1, b"glove-convert: out of memory\n"))
        self.assertEqual(os.listdir(os.path.dirname(self.path("in"))), ["in"])

    def test_an_output_that_is_no_file_stays_and_a_link_is_followed(self):
        write_word2vec(self.path("in"), 10, 3)
        os.mkfifo(self.path("pipe"))
        os.mkdir(self.path("folder"))
        for name in ("pipe", "folder"):
            result = subprocess.run([CONVERT, "-q", self.path("in"), self.path(name)], capture_output=True, check=False)
            self.assertEqual((result.returncode, result.stderr.decode()),
                             (1, f"glove-convert: cannot write '{self.path(name)}': it is not a regular file\n"))
        os.mkdir(self.path("folder/inner"))
        with open(self.path("folder/inner/model"), "wb"):
            pass
        os.symlink("folder/inner/model", self.path("link"))
        subprocess.run([CONVERT, "-q", self.path("in"), self.path("link")], check=True)
        self.assertTrue(os.path.islink(self.path("link")))
        self.assertGreater(os.path.getsize(self.path("folder/inner/model")), 4096)
        self.assertEqual(sorted(os.listdir(os.path.dirname(self.path("in")))), ["folder", "in", "link", "pipe"])

    def test_an_interrupt_leaves_no_file(self):
        write_word2vec(self.path("in"), 200_000, 300)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self.interrupt_with(number)

    def interrupt_with(self, number):
        process = subprocess.Popen([CONVERT, "-q", self.path("in"), self.path("out")], stderr=subprocess.PIPE)
        while process.poll() is None and not has_unnamed_file(process.pid, self.path("")):
            pass
        process.send_signal(number)
        _, said = process.communicate()
        if process.returncode != 0:  # it may have been done already
            self.assertEqual(process.returncode, 1)
            self.assertIn(b"interrupted", said)
            self.assertEqual(os.listdir(self.path("")), ["in"])
        else:
            os.remove(self.path("out"))

    def test_an_interrupt_in_the_last_step_leaves_no_file_or_a_whole_one(self):
        """The first fsync is the file's, before its renaming; the second is the folder's, after it."""
        write_word2vec(self.path("in"), 1000, 10)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            for fsync in (1, 2):
                result = subprocess.run(
                    [CONVERT, "-q", self.path("in"), self.path("out")], capture_output=True, check=False,
                    preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
                    env={**os.environ, "LD_PRELOAD": SIGNAL_AT_FSYNC, "GLOVE_TEST_SIGNAL": str(int(number)),
                         "GLOVE_TEST_FSYNC": str(fsync)})
                if fsync == 1:
                    self.assertEqual((result.returncode, result.stderr.decode()), (
                        1, "glove-convert: interrupted\n"))
                    self.assertEqual(os.listdir(self.path("")), ["in"])
                else:
                    self.assertEqual((result.returncode, result.stderr), (0, b""))
                    subprocess.run([CONVERT, "-q", "--verify", self.path("out")], check=True)
                    self.assertEqual(sorted(os.listdir(self.path(""))), ["in", "out"])
                    os.remove(self.path("out"))

    def test_an_interrupt_leaves_no_shard_or_all_of_them(self):
        """An fsync for each file before any is renamed, and one of the folder for each renaming."""
        write_word2vec(self.path("in"), 1000, 10)
        names = [f"out-{number:05}-of-00003.safetensors" for number in (1, 2, 3)] + ["out.safetensors.index.json"]
        for fsync in range(1, 9):
            result = subprocess.run(
                [CONVERT, "-q", self.path("in"), self.path("out"), "--shards", "3"], capture_output=True, check=False,
                env={**os.environ, "LD_PRELOAD": SIGNAL_AT_FSYNC, "GLOVE_TEST_SIGNAL": str(int(signal.SIGTERM)),
                     "GLOVE_TEST_FSYNC": str(fsync)})
            left = sorted(set(os.listdir(self.path(""))) - {"in"})
            if fsync <= 4:
                self.assertEqual((result.returncode, result.stderr.decode(), left),
                                 (1, "glove-convert: interrupted\n", []))
            else:
                self.assertEqual((result.returncode, result.stderr, left), (0, b"", names))
                subprocess.run([CONVERT, "-q", "--verify", self.path(names[3])], check=True)
                for name in names:
                    os.remove(self.path(name))


if __name__ == "__main__":
    unittest.main()
