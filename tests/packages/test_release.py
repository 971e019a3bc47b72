"""A release: test_release.py --build FOLDER --project FOLDER --dist FOLDER

Writes all packages into the folder --dist, from which the other tests of packages install them. SHA256SUMS names every file with
its checksum, the SBOM names each package and what it contains, every package carries the version of CMakeLists.txt, and an archive
holds what `cmake --install` copies.
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

SKIPPED = 77
NAMES = {"sqlite_glove-{}-py3-none-manylinux_2_34_x86_64.whl", "sqlite-glove-{}.tgz", "sqlite-glove-linux-x64-{}.tgz",
         "libsqlite3-mod-glove_{}-1_amd64.deb", "glove-convert_{}-1_amd64.deb", "sqlite-glove-{}-linux-x64.tar.gz",
         "sqlite-glove-{}.spdx.json"}


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def check_texts(options, version):
    """A package says that it is CPU-only if and only if its library has no CUDA backend."""
    with open(os.path.join(options.build, "glove.so"), "rb") as file:
        cuda = b"cudart" in file.read()
    texts = {}
    with zipfile.ZipFile(os.path.join(options.dist, f"sqlite_glove-{version}-py3-none-manylinux_2_34_x86_64.whl")) as wheel:
        texts["wheel"] = wheel.read(f"sqlite_glove-{version}.dist-info/METADATA").decode().split("License-Expression:")[0]
    for name in ("sqlite-glove", "sqlite-glove-linux-x64"):
        with tarfile.open(os.path.join(options.dist, f"{name}-{version}.tgz")) as archive:
            texts[name] = json.load(archive.extractfile("package/package.json"))["description"]
    path = os.path.join(options.dist, f"libsqlite3-mod-glove_{version}-1_amd64.deb")
    texts["deb"] = subprocess.run(["dpkg-deb", "-f", path, "Description"], capture_output=True, text=True, check=True).stdout
    for name, text in texts.items():
        only = "(no CUDA)" in text or "without the CUDA backend" in text
        assert only != cuda, (name, cuda, text)


def check_notes(options, version):
    """The notes are a section of CHANGELOG.md, and a tag must be that of a version with a date."""
    notes = os.path.join(options.project, "packaging/notes.py")
    with tempfile.NamedTemporaryFile("w+", encoding="utf-8") as log:
        for heading, tag, wanted in ((f"{version} (2030-01-31)", "v" + version, "- new\n"), (f"{version} (unreleased)", "v" + version, None),
                                     (f"{version} (2030-01-31)", "v99.0", None), ("0.0.1 (2030-01-31)", "v" + version, None)):
            log.seek(0)
            log.truncate()
            log.write(f"# Changelog\n\n## {heading}\n\n- new\n\n## 0.0.0 (2020-01-01)\n\n- old\n")
            log.flush()
            done = subprocess.run([sys.executable, notes, tag, log.name], capture_output=True, text=True, check=False)
            assert (done.returncode == 0) == (wanted is not None) and done.stdout == (wanted or ""), (heading, tag, done)
    assert subprocess.run([sys.executable, notes, "--any"], capture_output=True, text=True, check=True).stdout.count("\n") > 10


def check_metadata(options, packages, version):
    """Who made the packages, under which terms, and where they come from."""
    def of(name):
        return packages[name]["externalRefs"][0]["referenceLocator"]
    assert of(f"sqlite-glove-{version}.tgz") == f"pkg:npm/sqlite-glove@{version}", of(f"sqlite-glove-{version}.tgz")
    assert of("libhwy-dev").startswith("pkg:deb/debian/libhwy-dev@"), of("libhwy-dev")
    environment = {**os.environ, "GLOVE_PROJECT_URL": "https://example.org/sqlite-glove/"}
    with tempfile.TemporaryDirectory() as folder:
        for script in ("wheel.py", "npm.py"):
            subprocess.run([sys.executable, os.path.join(options.project, "packaging", script), options.build, folder], check=True,
                           stdout=subprocess.DEVNULL, env=environment)
        path = next(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".whl"))
        with zipfile.ZipFile(path) as archive:
            text = {name.split("/")[-1]: archive.read(name).decode() for name in archive.namelist() if ".dist-info/" in name}
            names = archive.namelist()
        lines = text["METADATA"].split("\n\n")[0].splitlines()
        for line in ("Author: the sqlite-glove authors", "Project-URL: Issues, https://example.org/sqlite-glove/issues",
                     "Metadata-Version: 2.4", "License-Expression: MIT"):  # PyPI takes License-File only from 2.4 on
            assert line in lines, text["METADATA"]
        assert not [line for line in lines if line.startswith(("License:", "Classifier: License"))], lines
        licences = [line.split(": ")[1] for line in lines if line.startswith("License-File: ")]
        assert [f"sqlite_glove-{version}.dist-info/licenses/{name}" in names for name in licences] == [True, True], (licences, names)
        assert "Summary: Exact vector search for SQLite: embeddings, texts, words" in text["METADATA"], text["METADATA"]
        assert text["LICENSE"].startswith("MIT License") and len(text["LICENSE"]) < 2000
        assert "libhwy-dev" in text["THIRD-PARTY-NOTICES"] and "GCC Runtime Library Exception" in text["THIRD-PARTY-NOTICES"]
        assert len(text["THIRD-PARTY-NOTICES"]) < 70_000, len(text["THIRD-PARTY-NOTICES"])
        with tarfile.open(os.path.join(folder, f"sqlite-glove-{version}.tgz")) as archive:
            manifest = json.load(archive.extractfile("package/package.json"))
        assert manifest["repository"]["url"] == "git+https://example.org/sqlite-glove.git" and manifest["author"] and manifest["bugs"], manifest


def main():
    parser = argparse.ArgumentParser()
    for option in ("--build", "--project", "--dist"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    for program in ("dpkg-query", "dpkg-shlibdeps", "cpack", "cmake"):
        if not shutil.which(program):
            print(f"skipped: there is no {program}")
            sys.exit(SKIPPED)
    shutil.rmtree(options.dist, ignore_errors=True)
    os.makedirs(options.dist)
    # What an earlier version left must go, and what is not the release's must stay.
    for name in ("sqlite-glove-0.0.1.tgz", "notes.txt"):
        with open(os.path.join(options.dist, name), "w", encoding="utf-8"):
            pass
    subprocess.run([sys.executable, os.path.join(options.project, "packaging/release.py"), options.build, options.dist], check=True,
                   stdout=subprocess.DEVNULL)

    with open(os.path.join(options.project, "CMakeLists.txt"), encoding="utf-8") as file:
        version = re.search(r"^project\(\w+ VERSION ([\d.]+)", file.read(), re.MULTILINE).group(1)
    names = {name.format(version) for name in NAMES}
    found = set(os.listdir(options.dist))
    assert found == names | {"SHA256SUMS", "notes.txt"}, found
    with open(os.path.join(options.dist, "SHA256SUMS"), encoding="utf-8") as file:
        sums = dict(reversed(line.rstrip("\n").split("  ")) for line in file)
    assert sums == {name: sha256(os.path.join(options.dist, name)) for name in names}

    with open(os.path.join(options.dist, f"sqlite-glove-{version}.spdx.json"), encoding="utf-8") as file:
        sbom = json.load(file)
    packages = {package["name"]: package for package in sbom["packages"]}
    for name in names - {f"sqlite-glove-{version}.spdx.json"}:
        assert packages[name]["checksums"][0]["checksumValue"] == sums[name], name
    with open(os.path.join(options.project, "packages.txt"), encoding="utf-8") as file:
        libraries = re.findall(r"^(\S+-dev) +build$", file.read(), re.MULTILINE)
    libraries.remove("zlib1g-dev")  # linked as a shared library
    for name in ("libstdc++-12-dev", "sqlite3.h", *libraries):
        assert packages[name]["versionInfo"] and packages[name]["licenseDeclared"], name
    identifiers = [package["SPDXID"] for package in sbom["packages"]]
    assert len(set(identifiers)) == len(identifiers), identifiers
    related = {relation[end] for relation in sbom["relationships"] for end in ("spdxElementId", "relatedSpdxElement")}
    assert related == set(identifiers) | {"SPDXRef-DOCUMENT"}
    containers = {relation["spdxElementId"] for relation in sbom["relationships"] if relation["relationshipType"] == "CONTAINS"}
    binaries = names - {f"sqlite-glove-{version}.tgz", f"sqlite-glove-{version}.spdx.json"}  # the first has scripts alone
    assert containers == {packages[name]["SPDXID"] for name in binaries}, containers

    check_texts(options, version)
    check_notes(options, version)
    check_metadata(options, packages, version)
    with tarfile.open(os.path.join(options.dist, f"sqlite-glove-{version}-linux-x64.tar.gz")) as archive:
        files = {name.split("/", 1)[1]: archive.getmember(name) for name in archive.getnames()}
    assert {"NOTICE", "bin/glove-convert"} <= set(files) and any(name.endswith("/sqlite3/glove.so") for name in files), sorted(files)
    assert files["bin/glove-convert"].mode == 0o755


if __name__ == "__main__":
    main()
