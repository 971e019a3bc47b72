"""What registries ask of packages: test_metadata.py --dist FOLDER --environment FOLDER

twine check --strict takes the wheels of the folder --dist, packaging.metadata validates all fields, and npm publish --dry-run takes
the npm packages; all of them find what is wrong with spoilt copies. twine is installed into --environment once. Skipped without PyPI
or npm.
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

SKIPPED = 77
TWINE = "twine==7.0.0"
VALIDATE = """
import sys, zipfile
from packaging.metadata import Metadata
with zipfile.ZipFile(sys.argv[1]) as wheel:
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    found = Metadata.from_email(wheel.read(name), validate=True)
    assert found.metadata_version == "2.4" and found.license_expression == "MIT", found
    for file in found.license_files:
        assert name.replace("METADATA", "licenses/" + file) in wheel.namelist(), file
"""
KEYWORDS = ("sqlite", "vector-search", "embeddings")


def skip(reason):
    print("skipped: " + reason)
    sys.exit(SKIPPED)


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def python_with_twine(folder):
    python = os.path.join(folder, "bin", "python3")
    if os.path.exists(python) and run(python, "-m", "twine", "--version").stdout.startswith(TWINE.replace("==", " version ")):
        return python
    shutil.rmtree(folder, ignore_errors=True)
    made = run(sys.executable, "-m", "venv", folder)
    if made.returncode:
        skip("this Python cannot make virtual environments (Debian: python3-venv)")
    done = run(python, "-m", "pip", "install", "--only-binary=:all:", "--retries=1", "--timeout=30", "--disable-pip-version-check", "--quiet", TWINE)
    if done.returncode:
        skip(f"pip cannot install {TWINE}: {done.stderr.strip().splitlines()[-1]}")
    return python


def accepted(python, wheel):
    checked = run(python, "-m", "twine", "check", "--strict", wheel)
    valid = run(python, "-c", VALIDATE, wheel)
    return checked.returncode == 0 and valid.returncode == 0, checked.stdout + checked.stderr + valid.stderr


def spoil_wheel(wheel, folder, old, new):
    path = os.path.join(folder, os.path.basename(wheel))
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(path, "w") as copy:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("METADATA"):
                assert old in data, old
                data = data.replace(old, new, 1)
            copy.writestr(name, data)
    return path


def check_wheels(python, dist):
    wheels = glob.glob(os.path.join(dist, "*.whl"))
    assert wheels, f"{dist} has no wheel"
    for wheel in wheels:
        good, said = accepted(python, wheel)
        assert good, f"{wheel}: {said}"
        with zipfile.ZipFile(wheel) as archive:
            name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            lines = archive.read(name).decode().splitlines()
        assert any(line.startswith("Summary: Exact vector search for SQLite: embeddings, texts, words") for line in lines), lines[:5]
        keywords = next(line for line in lines if line.startswith("Keywords: "))[len("Keywords: "):].split(",")
        assert set(KEYWORDS) <= set(keywords), keywords
    with tempfile.TemporaryDirectory() as folder:
        for old, new in ((b"License-Expression: MIT", b"License-Expression: The MIT licence"), (b"License-File: LICENSE", b"License-File: ../LICENSE"),
                         (b"text/markdown", b"text/x-none"), (b"Version: 2.4", b"Version: 2.1")):
            assert not accepted(python, spoil_wheel(wheels[0], folder, old, new))[0], f"a wheel with {new!r} is accepted"


def publish(path, folder):
    """Ends before it would ask the registry, and reads no settings of this machine."""
    return run("npm", "publish", "--dry-run", "--offline", "--access", "public", "--ignore-scripts", "--userconfig", os.path.join(folder, "none"), path,
               cwd=folder, timeout=120)


def check_npm(dist):
    packages = glob.glob(os.path.join(dist, "*.tgz"))
    assert packages, f"{dist} has no npm package"
    with tempfile.TemporaryDirectory() as folder:
        for path in packages:
            done = publish(os.path.abspath(path), folder)
            assert done.returncode == 0 and "npm auto-corrected" not in done.stderr, f"{path}: {done.stderr}"
            with tarfile.open(path) as archive:
                manifest = json.load(archive.extractfile("package/package.json"))
            assert f"+ {manifest['name']}@{manifest['version']}" in done.stdout + done.stderr, done
            assert manifest["license"] == "MIT" and set(KEYWORDS) <= set(manifest["keywords"]), manifest
        spoilt = os.path.join(folder, "spoilt")
        os.mkdir(spoilt)
        with open(os.path.join(spoilt, "package.json"), "w", encoding="utf-8") as file:
            json.dump({**manifest, "version": "one"}, file)
        assert publish(spoilt, folder).returncode != 0, "npm takes the version 'one'"


def main():
    parser = argparse.ArgumentParser()
    for option in ("--dist", "--environment"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    if not shutil.which("npm"):
        skip("there is no npm")
    check_npm(options.dist)
    check_wheels(python_with_twine(options.environment), options.dist)


if __name__ == "__main__":
    main()
