"""The Debian packages: test_deb.py --dist FOLDER --project FOLDER

Both have the files, the fields and the permissions that they should. With $GLOVE_CHROOT, a tar archive of a small Debian that
tests/packages.sh makes, apt installs them into a copy of it, the sqlite3 shell there answers the README's statements, and apt
removes them without a trace; needs root.
"""
import argparse
import glob
import gzip
import os
import re
import shutil
import subprocess
import tempfile

LIBRARY, CONVERTER = "libsqlite3-mod-glove", "glove-convert"
DOCUMENTS = ["usr/share/doc/%s/" + name for name in ("changelog.Debian.gz", "changelog.gz", "copyright")]
FILES = {
    LIBRARY: {"usr/lib/x86_64-linux-gnu/mod_glove.so", "usr/share/man/man7/mod_glove.7.gz",
              "usr/share/lintian/overrides/libsqlite3-mod-glove"},
    CONVERTER: {"usr/bin/glove-convert", "usr/share/man/man1/glove-convert.1.gz"},
}
ALLOWED_DEPENDS = {"libc6", "libgcc-s1", "zlib1g"}
STATEMENTS = """.load mod_glove
SELECT glove_load('/tmp/glove.safetensors');
SELECT neighbor FROM glove_nn('piano', NULL, 3);
SELECT neighbor FROM glove_nn WHERE expr = 'king - man + woman' AND k = 1;
SELECT round(cos_sim('coffee', 'tea'), 4), round(cos_sim('coffee', 'car'), 4);
"""
ANSWERS = "glove\nviolin\ncello\nguitar\nqueen\n0.7733|0.2798\n"


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def check_contents(package, path):
    listed = [line.split(None, 5) for line in run("dpkg-deb", "-c", path).splitlines()]
    files = {row[5][2:] for row in listed if not row[5].endswith("/")}
    assert files == FILES[package] | {name % package for name in DOCUMENTS}, files
    for mode, owner, *_, name in listed:
        executable = name.endswith("/") or "/bin/" in name
        assert owner == "root/root" and mode[1:] == ("rwxr-xr-x" if executable else "rw-r--r--"), (mode, owner, name)
    depends = run("dpkg-deb", "-f", path, "Depends")
    assert set(re.findall(r"([\w.+-]+) \(", depends)) <= ALLOWED_DEPENDS, depends
    assert re.search(r"libc6 \(>= 2\.34\)", depends), depends
    description = run("dpkg-deb", "-f", path, "Description").splitlines()
    assert 20 < len(description[0]) <= 80 and all(re.match(r" [^ ]", line) for line in description[1:]), description
    assert ";" not in " ".join(description), description
    with tempfile.TemporaryDirectory() as folder:
        run("dpkg-deb", "-x", path, folder)
        for name in files:
            if name.endswith(".gz"):
                with gzip.open(os.path.join(folder, name), "rt", encoding="utf-8") as file:
                    assert len(file.read()) > 100, name
        with open(os.path.join(folder, f"usr/share/doc/{package}/copyright"), encoding="utf-8") as file:
            assert "MIT License" in file.read()


def check_in_chroot(archive, folder, packages, sample):
    root = os.path.join(folder, "root")
    os.mkdir(root)
    run("tar", "-xf", archive, "-C", root, "--exclude=./dev/*")
    os.makedirs(os.path.join(root, "dev"), exist_ok=True)
    for device, numbers in (("null", "1 3"), ("urandom", "1 9")):
        run("mknod", "-m", "666", os.path.join(root, "dev", device), "c", *numbers.split())
    shutil.copy(sample, os.path.join(root, "tmp", "vectors.txt.gz"))
    names = []
    for path in packages:
        shutil.copy(path, os.path.join(root, "tmp"))
        names.append("/tmp/" + os.path.basename(path))

    def inside(*command, **options):
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
        return run("chroot", root, *command, env=environment, **options)

    before = installed_files(root)
    inside("apt-get", "install", "-y", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0", *names)
    inside("glove-convert", "-q", "/tmp/vectors.txt.gz", "/tmp/glove.safetensors")
    printed = inside("sqlite3", "-batch", ":memory:", input=STATEMENTS)
    assert printed == ANSWERS, printed
    assert installed_files(root) - before, "nothing was installed"
    inside("apt-get", "remove", "-y", "--purge", "-o", "Dpkg::Use-Pty=0", LIBRARY, CONVERTER)
    assert installed_files(root) == before, installed_files(root) ^ before
    print("installed, used and removed in a chroot")


def installed_files(root):
    """What packages put there; apt's own lists and caches change with every call."""
    found = set()
    for top in ("usr", "etc", "opt"):
        for parent, _, names in os.walk(os.path.join(root, top)):
            found |= {os.path.relpath(os.path.join(parent, name), root) for name in names}
    return found - {"etc/ld.so.cache"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dist", required=True)
    parser.add_argument("--project", required=True)
    options = parser.parse_args()
    packages = sorted(glob.glob(os.path.join(options.dist, "*.deb")))
    assert [os.path.basename(path).split("_")[0] for path in packages] == [CONVERTER, LIBRARY], packages
    with tempfile.TemporaryDirectory() as folder:
        for path in packages:
            check_contents(os.path.basename(path).split("_")[0], path)
        archive = os.environ.get("GLOVE_CHROOT")
        if not archive or os.geteuid() != 0:
            print("not installed: that needs root and $GLOVE_CHROOT (tests/packages.sh sets it)")
            return
        check_in_chroot(archive, folder, packages, os.path.join(options.project, "examples/data/glove-6b-100d-20k.txt.gz"))


if __name__ == "__main__":
    main()
