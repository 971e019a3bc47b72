"""A small Debian with nothing of this project, for tests that install a package as a new user does.

tests/packages.sh makes it with mmdebstrap and names it in $GLOVE_CHROOT, a tar archive. Unpacking it needs root.
"""
import os
import shutil
import subprocess


def archive():
    """The archive's path, or None after printing why nothing is installed there."""
    path = os.environ.get("GLOVE_CHROOT")
    if path and os.geteuid() == 0:
        return path
    print("not installed in a chroot: that needs root and $GLOVE_CHROOT (tests/packages.sh sets it)")
    return None


class Chroot:
    """A copy of the archive below `folder`, whose owner deletes it."""

    def __init__(self, path, folder):
        self.root = os.path.join(folder, "root")
        os.mkdir(self.root)
        subprocess.run(["tar", "-xf", path, "-C", self.root, "--exclude=./dev/*"], check=True)
        os.makedirs(os.path.join(self.root, "dev"), exist_ok=True)
        for device, numbers in (("null", "1 3"), ("urandom", "1 9")):
            subprocess.run(["mknod", "-m", "666", os.path.join(self.root, "dev", device), "c", *numbers.split()], check=True)

    def copy(self, path):
        """Copies a file to /tmp of the chroot and returns its path there."""
        shutil.copy(path, os.path.join(self.root, "tmp"))
        return "/tmp/" + os.path.basename(path)

    def run(self, *command, **options):
        """Returns what the command prints; fails if it does."""
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(["chroot", self.root, *command], capture_output=True, text=True, check=False, env=environment, **options)
        assert done.returncode == 0, f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout
