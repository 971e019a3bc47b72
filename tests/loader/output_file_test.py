"""OUT and the files beside it survive whatever else writes there and however a converter ends.

output_file_test.py GLOVE_CONVERT REFUSE_UNNAMED_FILES
"""
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

import numpy

CONVERT = sys.argv.pop(1)
REFUSE_UNNAMED_FILES = sys.argv.pop(1)
AS_A_USER = 65534


def write_word2vec(path, rows, dims):
    block = numpy.random.default_rng().normal(0, 1, (64, dims)).astype("<f4")
    with open(path, "wb") as file:
        file.write(b"%d %d\n" % (rows, dims))
        for i in range(rows):
            file.write(b"w%d " % i + block[i % 64].tobytes())


def open_files(process):
    try:
        return [os.readlink(f"/proc/{process}/fd/{number}") for number in os.listdir(f"/proc/{process}/fd")]
    except OSError:  # it ended meanwhile, or closed one
        return []


# Converters that a test must observe while they work give way to the test, which could miss them on a busy machine.
GIVING_WAY = ["nice", "-n", "5"]


def child_of(parent):
    """The only child, once there is one and it runs another program than its parent."""
    while parent.poll() is None:
        with open(f"/proc/{parent.pid}/task/{parent.pid}/children", encoding="ascii") as file:
            children = file.read().split()
        if children and os.readlink(f"/proc/{children[0]}/exe").endswith("glove-convert"):
            return int(children[0])
        time.sleep(0.001)
    raise AssertionError("the converter ended before the test saw it")


class OutputFile(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = os.path.join(directory.name, "folder")
        os.mkdir(self.folder)
        self.path = lambda name: os.path.join(self.folder, name)
        self.environments = ({}, {"LD_PRELOAD": REFUSE_UNNAMED_FILES})

    def convert(self, extra_environment=None, **options):
        return subprocess.run([CONVERT, "-q", self.path("in"), self.path("out")], capture_output=True, check=False,
                              env={**os.environ, **(extra_environment or {})}, **options)

    def assert_converted(self, result):
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        subprocess.run([CONVERT, "-q", "--verify", self.path("out")], check=True)

    def writes_a_file(self, process):
        return any(name.startswith(self.path("")) and name != self.path("in") for name in open_files(process))

    def start_as_process_one(self, environment):
        """A converter in a process-id namespace of its own, stopped as soon as it writes; its parent and itself."""
        parent = subprocess.Popen([*GIVING_WAY, "unshare", "--pid", "--fork", CONVERT, "-q", self.path("in"), self.path("out")],
                                  stderr=subprocess.PIPE, env={**os.environ, **environment})
        self.addCleanup(parent.stderr.close)
        converter = child_of(parent)
        while not self.writes_a_file(converter):
            self.assertIsNone(parent.poll())
        os.kill(converter, signal.SIGSTOP)
        return parent, converter

    @unittest.skipUnless(os.geteuid() == 0, "a process-id namespace takes root")
    def test_two_converters_with_one_process_id(self):
        write_word2vec(self.path("in"), 100_000, 100)
        if subprocess.run(["unshare", "--pid", "--fork", "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no process-id namespaces here")
        for environment in self.environments:
            for how_the_second_ends in (signal.SIGKILL, signal.SIGINT, signal.SIGCONT):
                with self.subTest(environment=environment, signal=how_the_second_ends):
                    self.two_converters(environment, how_the_second_ends)

    def two_converters(self, environment, how_the_second_ends):
        with open(self.path("out.1.tmp"), "wb") as file:
            file.write(b"of somebody else")
        (first, first_pid), (second, second_pid) = (self.start_as_process_one(environment) for _ in range(2))
        os.kill(second_pid, how_the_second_ends)
        os.kill(second_pid, signal.SIGCONT)
        second.wait()
        os.kill(first_pid, signal.SIGCONT)
        self.assertEqual((first.wait(), first.stderr.read()), (0, b""))
        self.assertEqual(second.returncode == 0, how_the_second_ends == signal.SIGCONT)
        subprocess.run([CONVERT, "-q", "--verify", self.path("out")], check=True)
        with open(self.path("out.1.tmp"), "rb") as file:
            self.assertEqual(file.read(), b"of somebody else")
        left = sorted(os.listdir(self.folder))
        if environment and how_the_second_ends == signal.SIGKILL:  # the one thing that has to stay
            self.assertRegex(left.pop(0), r"^\.glove-[0-9a-f]{16}\.tmp$")
        self.assertEqual(left, ["in", "out", "out.1.tmp"])
        for name in os.listdir(self.folder):
            if name != "in":
                os.unlink(self.path(name))

    def test_the_mode_of_what_is_replaced(self):
        write_word2vec(self.path("in"), 10, 3)
        for environment in self.environments:
            for mode in (0o640, 0o600, 0o664, 0o444, 0o777):
                with open(self.path("out"), "wb"):
                    pass
                os.chmod(self.path("out"), mode)
                self.assert_converted(self.convert(environment, preexec_fn=lambda: os.umask(0o027)))
                self.assertEqual(stat.S_IMODE(os.stat(self.path("out")).st_mode), mode)
                os.unlink(self.path("out"))
            self.assert_converted(self.convert(environment, preexec_fn=lambda: os.umask(0o027)))
            self.assertEqual(stat.S_IMODE(os.stat(self.path("out")).st_mode), 0o640, "a new file's")
            os.unlink(self.path("out"))
            self.assertEqual(os.listdir(self.folder), ["in"])

    def test_nobody_else_may_read_what_is_not_finished(self):
        write_word2vec(self.path("in"), 100_000, 100)
        with open(self.path("out"), "wb"):
            pass
        os.chmod(self.path("out"), 0o600)
        process = subprocess.Popen([*GIVING_WAY, CONVERT, "-q", self.path("in"), self.path("out")],
                                   env={**os.environ, "LD_PRELOAD": REFUSE_UNNAMED_FILES})
        mode = None
        while process.poll() is None and mode is None:
            for name in os.listdir(self.folder):
                if name.endswith(".tmp"):
                    mode = stat.S_IMODE(os.stat(self.path(name)).st_mode)
        process.wait()
        self.assertEqual(mode, 0o600)

    @unittest.skipUnless(os.geteuid() == 0, "giving files away takes root")
    def test_the_owner_of_what_is_replaced(self):
        write_word2vec(self.path("in"), 10, 3)
        with open(self.path("out"), "wb"):
            pass
        os.chown(self.path("out"), 1234, 4321)
        os.chmod(self.path("out"), 0o4750)
        self.assert_converted(self.convert())
        info = os.stat(self.path("out"))
        self.assertEqual((info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)), (1234, 4321, 0o4750))

    @unittest.skipUnless(os.geteuid() == 0, "running as another user takes root")
    def test_a_group_that_cannot_be_kept_gets_the_rights_of_all(self):
        def become_a_user():
            os.setgroups([])
            os.setgid(AS_A_USER)
            os.setuid(AS_A_USER)
        write_word2vec(self.path("in"), 10, 3)
        os.chown(self.folder, AS_A_USER, AS_A_USER)
        with open(self.path("out"), "wb"):
            pass
        os.chmod(self.path("out"), 0o2674)  # of root and its group, so neither can be kept
        # The user may have no access to the folders above, so it gets the program as an open file, and the folder
        # as its working directory.
        program = os.open(CONVERT, os.O_RDONLY)
        self.addCleanup(os.close, program)
        self.assert_converted(subprocess.run(["glove-convert", "-q", "in", "out"], capture_output=True, check=False,
                                             executable=f"/proc/self/fd/{program}", pass_fds=[program],
                                             preexec_fn=become_a_user, cwd=self.folder))
        info = os.stat(self.path("out"))
        self.assertEqual((info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)), (AS_A_USER, AS_A_USER, 0o644))

    def test_a_name_as_long_as_names_can_be(self):
        write_word2vec(self.path("in"), 10, 3)
        long_name = "o" * 255
        subprocess.run([CONVERT, "-q", self.path("in"), self.path(long_name)], check=True)
        self.assertEqual(sorted(os.listdir(self.folder)), ["in", long_name])


if __name__ == "__main__":
    unittest.main()
