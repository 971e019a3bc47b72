"""The sources, installed as before a release: test_sources.py {pip,npm,cmake} --build FOLDER --project FOLDER [--cmake CMAKE]

pip     `pip install .` in a clone, `pip install git+URL` and the wheel of a source distribution: the files of packaging/wheel.py
npm     `npm install` of a clone and of a git URL
cmake   examples/static, which fetches sqlite-glove from a git URL and links glove::static

A git repository of the working tree as it is stands for the project's. Nothing is compiled that BUILD has: pip and npm are told by
GLOVE_BUILD, and CMake by take_object.py. Without a package that a build needs, each ends with a sentence that says how to install it.
"""
import argparse
import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zipfile

import test_npm

SKIPPED = 77
SAMPLE = "examples/data/glove-6b-100d-20k.txt.gz"
USE = """import sqlite3, sqlite_glove
conn = sqlite3.connect(":memory:")
sqlite_glove.load(conn)
notes = sqlite_glove.index(conn, "note", None, [[1, 0], [0, 1]], {"body": ["east", "north"]})
assert notes.search([1, 3], 1)[0][2] == "north"
assert sqlite_glove.__version__ in conn.execute("SELECT glove_version()").fetchone()[0]
"""


def run(*command, status=0, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    assert (done.returncode == 0) == (status == 0), f"{' '.join(command)}: status {done.returncode}\n{done.stdout}"
    return done.stdout


def make_repository(project, folder):
    """A repository with one commit, of what git does not ignore."""
    names = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=project).split("\0")
    for name in filter(None, names):
        if os.path.exists(os.path.join(project, name)):  # not deleted
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            shutil.copy2(os.path.join(project, name), os.path.join(folder, name))
    run("git", "init", "-q", "-b", "main", cwd=folder)
    run("git", "add", "--all", cwd=folder)
    run("git", "-c", "user.name=test", "-c", "user.email=test@example.invalid", "commit", "-q", "-m", "The working tree", cwd=folder)
    return folder


def without_packages(environment, folder):
    """An environment where Debian's packages are not installed and build.sh may compile."""
    program = os.path.join(folder, "dpkg-query")
    with open(program, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nexit 1\n")
    os.chmod(program, 0o755)
    told = {name: value for name, value in environment.items() if name != "GLOVE_BUILD"}
    return {**told, "PATH": folder + os.pathsep + environment["PATH"]}


def check_missing(said):
    line, = [line for line in said.splitlines() if "libhwy-dev" in line]
    assert "packages are missing" in line and "apt-get install" in line, said


def check_pip(options, repository, folder, environment):
    if importlib.util.find_spec("ensurepip") is None or not hasattr(sqlite3.Connection, "enable_load_extension"):
        print("skipped: this Python cannot make virtual environments (Debian: python3-venv), or its sqlite3 loads no extensions")
        sys.exit(SKIPPED)
    environment = {**environment, "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    bin_ = os.path.join(folder, "env", "bin")
    run(sys.executable, "-m", "venv", os.path.join(folder, "env"), env=environment)
    pip = os.path.join(bin_, "pip")
    for source in (".", "git+file://" + repository):
        run(pip, "install", source, cwd=repository, env=environment)
        run(os.path.join(bin_, "python3"), "-c", USE, cwd=folder, env=environment)
        run(os.path.join(bin_, "glove-convert"), "--version", cwd=folder, env=environment)
        run(pip, "uninstall", "-y", "sqlite-glove", env=environment)

    hooks = f"import sys; sys.path.insert(0, {os.path.join(repository, 'packaging')!r}); import backend; print(backend.build_sdist({folder!r}))"
    sources = os.path.join(folder, run(sys.executable, "-c", hooks, cwd=folder, env=environment).strip())
    run(pip, "wheel", "--no-deps", "--wheel-dir", folder, sources, cwd=folder, env=environment)
    released = run(sys.executable, os.path.join(options.project, "packaging/wheel.py"), options.build, os.path.join(folder, "dist")).strip()
    built, = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".whl")]
    with zipfile.ZipFile(built) as ours, zipfile.ZipFile(released) as theirs:
        different = [name for name in sorted({*ours.namelist(), *theirs.namelist()})
                     if name not in theirs.namelist() or name not in ours.namelist() or ours.read(name) != theirs.read(name)]
    assert [name.split("/")[-1] for name in different] == ["RECORD", "WHEEL"], different  # WHEEL has the tag of this machine
    check_missing(run(pip, "install", ".", cwd=repository, env=without_packages(environment, folder), status=1))
    print("pip installed a clone, a git URL and a source distribution")


def check_npm(options, repository, folder, environment):
    for program in ("node", "npm"):
        if not shutil.which(program):
            print(f"skipped: there is no {program}")
            sys.exit(SKIPPED)
    environment["NODE_PATH"] = os.environ.get("GLOVE_NODE_MODULES") or os.path.join(options.project, "build/bindings/node_modules")
    for name, source in (("url", f"git+file://{repository}#main"), ("folder", repository)):
        clean = os.path.join(folder, name)
        os.mkdir(clean)
        with open(os.path.join(clean, "package.json"), "w", encoding="utf-8") as file:
            file.write('{"name": "clean", "private": true}')
        install = ("npm", "install", "--offline", "--no-audit", "--no-fund", "--cache", os.path.join(folder, "cache"), source)
        run(*install, cwd=clean, env=environment)
        run(os.path.join(clean, "node_modules/.bin/glove-convert"), "-q", os.path.join(repository, SAMPLE), "model.safetensors", cwd=clean)
        path = run("node", "-p", "require('sqlite-glove').loadablePath()", cwd=clean, env=environment).strip()
        with open(path, "rb") as ours, open(os.path.join(options.build, "glove.so"), "rb") as theirs:
            assert ours.read() == theirs.read(), path
        if source == repository:
            check_missing(run(*install, cwd=clean, env=without_packages(environment, folder), status=1))
        print(f"npm installed the {name}, used by: " + (", ".join(test_npm.check_hosts(clean, environment)) or "no host"))


def check_cmake(options, repository, folder, environment):
    tree = os.path.join(folder, "build")
    part, sources = (os.path.join(tree, "_deps/sqlite_glove-" + kind) for kind in ("build", "src"))
    launcher = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "take_object.py"), os.path.abspath(options.build),
                os.path.abspath(options.project), part, sources]
    with open(os.path.join(options.build, "CMakeCache.txt"), encoding="utf-8") as file:
        cache = dict(line.rstrip("\n").split("=", 1) for line in file if line[0].isalpha() and "=" in line)
    # The entry points differ if BUILD has the CUDA backend.
    with open(os.path.join(options.build, "compile_commands.json"), encoding="utf-8") as file:
        launcher.append("extension/" if "-DGLOVE_WITH_CUDA" in file.read() else "")
    configure = (options.cmake, "-G", "Ninja", "-S", os.path.join(repository, "examples/static"), "-B", tree,
                 "-DSQLITE_GLOVE=file://" + repository, "-DGLOVE_CUDA=OFF")
    said = " ".join(run(*configure, "-DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON", env=environment, status=1).split())
    assert "sqlite-glove is built with nlohmann_json" in said and "build.sh --packages-only build installs it" in said, said
    flags = [f"-DCMAKE_CXX_{name}={cache[f'CMAKE_CXX_{name}:{kind}']}" for name, kind in (("FLAGS", "STRING"), ("COMPILER", "STRING"), ("COMPILER", "FILEPATH"))
             if f"CMAKE_CXX_{name}:{kind}" in cache]
    run(*configure, "-DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=OFF", *flags, "-DCMAKE_CXX_COMPILER_LAUNCHER=" + ";".join(launcher), env=environment)
    run(options.cmake, "--build", tree, env=environment)
    built = [name for name in ("glove.so", "libglove.a", "glove-convert") if os.path.exists(os.path.join(part, name))]
    assert not built, f"the program does not use {built}"
    model = os.path.join(folder, "model.safetensors")
    run(os.path.join(options.build, "glove-convert"), "-q", os.path.join(repository, SAMPLE), model)
    printed = run(os.path.join(tree, "neighbors"), model, "piano")
    assert [line.split("|")[0] for line in printed.splitlines()] == ["violin", "cello", "guitar"], printed
    run(options.cmake, "--install", tree, "--prefix", os.path.join(folder, "prefix"), env=environment)
    assert not os.path.exists(os.path.join(folder, "prefix")), "a part is not installed"
    print("CMake fetched and linked sqlite-glove")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=["pip", "npm", "cmake"])
    for option in ("--build", "--project", "--cmake"):
        parser.add_argument(option)
    options = parser.parse_args()
    # No settings of this machine: neither Python's paths nor pip's indexes.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_", "GLOVE_", "npm_"))}
    environment["GLOVE_BUILD"] = os.path.abspath(options.build)
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        repository = make_repository(options.project, os.path.join(folder, "sqlite-glove"))
        {"pip": check_pip, "npm": check_npm, "cmake": check_cmake}[options.way](options, repository, folder, environment)


if __name__ == "__main__":
    main()
