"""pip and npm choose the package for a system: test_choice.py --dist DIST

DIST has packages of several platforms (packaging/platforms.py). pip is asked for the wheel of each system by its tags, and npm, with
a registry on this machine, for a project on each system by its system, processor and libc. What has no package in DIST is left out.
"""
import argparse
import glob
import hashlib
import http.server
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import threading

# (what pip is told, the tag of the wheel that it must choose): a new system takes the build for new systems.
WHEELS = [
    (["manylinux_2_34_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"], "manylinux_2_34_x86_64"),
    (["manylinux_2_28_x86_64", "manylinux_2_17_x86_64"], "manylinux_2_17_x86_64.manylinux2014_x86_64"),
    (["manylinux2014_x86_64"], "manylinux_2_17_x86_64.manylinux2014_x86_64"),
    (["musllinux_1_2_x86_64", "musllinux_1_1_x86_64"], "musllinux_1_2_x86_64"),
    (["manylinux_2_31_aarch64", "manylinux2014_aarch64"], "manylinux_2_17_aarch64.manylinux2014_aarch64"),
    (["musllinux_1_2_aarch64"], "musllinux_1_2_aarch64"),
    (["win_amd64"], "win_amd64"),
    (["macosx_14_0_arm64", "macosx_12_0_arm64"], "macosx_12_0_arm64"),
    (["macosx_13_0_x86_64", "macosx_12_0_x86_64"], "macosx_12_0_x86_64"),
]
# (os, cpu, libc) -> the packages that npm installs beside sqlite-glove
PACKAGES = {
    ("linux", "x64", "glibc"): {"sqlite-glove-linux-x64", "sqlite-glove-linux-x64-glibc-2.17"},
    ("linux", "x64", "musl"): {"sqlite-glove-linux-x64-musl"},
    ("linux", "arm64", "glibc"): {"sqlite-glove-linux-arm64"},
    ("linux", "arm64", "musl"): {"sqlite-glove-linux-arm64-musl"},
    ("win32", "x64", ""): {"sqlite-glove-win32-x64"},
    ("darwin", "arm64", ""): {"sqlite-glove-darwin-arm64"},
    ("darwin", "x64", ""): {"sqlite-glove-darwin-x64"},
}


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}"
    return done.stdout


def check_pip(dist, folder):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}
    environment["PIP_CONFIG_FILE"] = os.devnull
    run(sys.executable, "-m", "venv", os.path.join(folder, "env"), env=environment)
    tried = 0
    for tags, expected in WHEELS:
        if not glob.glob(os.path.join(dist, f"*-{expected}.whl")):
            continue
        target = os.path.join(folder, "wheel" + str(tried))
        platforms = [word for tag in tags for word in ("--platform", tag)]
        run(os.path.join(folder, "env/bin/python3"), "-m", "pip", "download", "--no-index", "--find-links", dist, "--no-deps",
            "--only-binary=:all:", "--disable-pip-version-check", "--dest", target, *platforms, "sqlite-glove", env=environment)
        chosen, = os.listdir(target)
        assert chosen.endswith(f"-{expected}.whl"), (tags, chosen)
        tried += 1
    print(f"pip chose the right wheel for {tried} of {len(WHEELS)} systems")


class Registry(http.server.BaseHTTPRequestHandler):
    """A registry of the tarballs in `files`: {name of the package: (manifest, bytes)}."""
    files = {}

    def do_GET(self):
        name, _, tarball = self.path.lstrip("/").partition("/-/")
        if name not in self.files:
            self.send_error(404)
            return
        manifest, data = self.files[name]
        if not tarball:
            url = f"http://{self.headers['Host']}/{name}/-/package.tgz"
            version = {**manifest, "dist": {"tarball": url, "shasum": hashlib.sha1(data).hexdigest()}}
            data = json.dumps({"name": name, "dist-tags": {"latest": manifest["version"]},
                               "versions": {manifest["version"]: version}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def check_npm(dist, folder):
    for path in glob.glob(os.path.join(dist, "sqlite-glove-*.tgz")):
        with tarfile.open(path) as archive, open(path, "rb") as file:
            manifest = json.load(archive.extractfile("package/package.json"))
            Registry.files[manifest["name"]] = manifest, file.read()
    # As it will be once they are published.
    manifest, _ = Registry.files["sqlite-glove"]
    manifest["optionalDependencies"] = {name: manifest["version"] for name in Registry.files if name != "sqlite-glove"}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tried = 0
    for (system, cpu, libc), expected in PACKAGES.items():
        if not expected <= set(Registry.files):
            continue
        project = os.path.join(folder, f"{system}-{cpu}-{libc}")
        os.mkdir(project)
        with open(os.path.join(project, "package.json"), "w", encoding="utf-8") as file:
            json.dump({"name": "clean", "private": True}, file)
        run("npm", "install", "--no-audit", "--no-fund", "--registry", f"http://127.0.0.1:{server.server_port}", "--os", system,
            "--cpu", cpu, *(["--libc", libc] if libc else []), "--cache", os.path.join(folder, "cache"), "sqlite-glove", cwd=project)
        installed = {name for name in os.listdir(os.path.join(project, "node_modules")) if name.startswith("sqlite-glove-")}
        assert installed == expected, (system, cpu, libc, installed)
        tried += 1
    server.shutdown()
    print(f"npm installed the right packages on {tried} of {len(PACKAGES)} systems")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dist", required=True)
    dist = os.path.abspath(parser.parse_args().dist)
    with tempfile.TemporaryDirectory() as folder:
        check_pip(dist, folder)
        check_npm(dist, folder)


if __name__ == "__main__":
    main()
