"""The npm packages, installed into a clean project: test_npm.py --build FOLDER --project FOLDER --dist FOLDER

npm installs both tarballs without a registry, and asks one for neither; load() and loadablePath() work with each of node:sqlite, better-sqlite3, libsql,
@photostructure/sqlite, bun:sqlite and Deno's node:sqlite that is there, as does glove-convert. A project below a folder app.asar,
with the library in app.asar.unpacked, stands for an Electron application, and so does an archive that @electron/asar packs, if that
is there. With $GLOVE_CHROOT, a tar archive of a small Debian that tests/packages.sh makes, npm also installs them into a copy of it,
to which only node and npm are added, and node:sqlite answers there; needs root.

GLOVE_NODE_MODULES   a node_modules folder with better-sqlite3 and others; the default is the one of tests/bindings/install.sh
"""
import argparse
import http.server
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading

import chroot

SKIPPED = 77
NODE_SQLITE = "new (require('node:sqlite').DatabaseSync)(':memory:', {allowExtension: true})"
# (what opens a connection, the program that runs the script)
HOSTS = {
    "node:sqlite": (NODE_SQLITE, ["node"]),
    "better-sqlite3": ("new (require('better-sqlite3'))(':memory:')", ["node"]),
    "libsql": ("new (require('libsql'))(':memory:')", ["node"]),
    "@photostructure/sqlite": ("new (require('@photostructure/sqlite').DatabaseSync)(':memory:', {allowExtension: true})", ["node"]),
    "bun:sqlite": ("new (require('bun:sqlite').Database)(':memory:')", ["bun", "run"]),
    "Deno's node:sqlite": (NODE_SQLITE, ["deno", "run", "--allow-all", "--no-config"]),
}
# A host per process; exit status 77 if it is not there.
SCRIPT = r"""
const assert = require('assert');
const glove = require('sqlite-glove');
let db;
try {
  db = %s;
} catch (error) {
  if (!/Cannot find module|No such built-in module|compiled against a different Node/.test(error.message)) throw error;
  console.log('skipped: ' + error.message.split('\n')[0]);
  process.exit(77);
}
glove.load(db);
db.prepare("SELECT glove_load('model.safetensors')").get();
const rows = db.prepare('SELECT neighbor FROM glove_nn(?, NULL, 3)').all('piano');
assert.deepStrictEqual(rows.map((row) => row.neighbor), ['violin', 'cello', 'guitar']);
const vector = [1, -2.5, 3e-5, 0.1];
const blob = Buffer.from(glove.serializeFloat32(vector));
assert.ok(blob.equals(Buffer.from(new Float32Array(vector).buffer)));
assert.strictEqual(db.prepare('SELECT cos_sim(?, ?) AS c').get(blob, blob).c, 1);
// The verbs, of which tests/bindings/node_index.js has more.
const index = glove.index(db, 'doc', { vectors: [[1, 0], [0, 1]], columns: { t: ['a', 'b'] } });
const found = Array.from(index.search([1, 2], 1, { where: 't < ?', params: ['b'] }), (row) => [Number(row.id), row.t]);
assert.deepStrictEqual(found, [[1, 'a']]);
"""


MODULE = """import { load, loadablePath, serializeFloat32 } from 'sqlite-glove';
if (typeof load !== 'function' || !loadablePath().endsWith('glove.so') || serializeFloat32([1]).length !== 4) process.exit(1);
"""
TYPES = """import { load, loadablePath, serializeFloat32 } from "./node_modules/sqlite-glove/index.d.ts";
import { DatabaseSync } from "node:sqlite";
const path: string = loadablePath();
const bytes: Uint8Array = serializeFloat32(new Float32Array(2));
load(new DatabaseSync(":memory:", { allowExtension: true }));
// @ts-expect-error: a path is not a connection
load(path);
export { bytes };
"""


# Packs the project ARGV[1] as the archive ARGV[2], with what the package's README says about unpacking, and runs index.js out of the
# archive, with a require() that resolves names there as Electron's does. Prints the library's path; exit status 77 without asar.
ARCHIVE = r"""
const assert = require('assert'), fs = require('fs'), path = require('path');
const [project, archive] = process.argv.slice(1);
let asar;
try {
  asar = require('@electron/asar');
} catch (error) {
  process.exit(77);
}
asar.createPackageWithOptions(project, archive, { unpackDir: 'node_modules/sqlite-glove-linux-*' }).then(() => {
  assert.ok(fs.statSync(archive).isFile());
  const inside = (name) => {
    asar.statFile(archive, path.join('node_modules', name));  // throws if there is no such file
    return path.join(archive, 'node_modules', name);
  };
  const load = (file) => {
    const source = asar.extractFile(archive, path.join('node_modules', 'sqlite-glove', file)).toString();
    if (file.endsWith('.json')) return JSON.parse(source);
    const module_ = { exports: {} };
    const require_ = Object.assign((name) => (name.startsWith('./') ? load(name.slice(2)) : require(name)), { resolve: inside });
    const folder = path.join(archive, 'node_modules/sqlite-glove');
    new Function('module', 'exports', 'require', '__dirname', source)(module_, module_.exports, require_, folder);
    return module_.exports;
  };
  console.log(load('index.js').loadablePath());
});
"""


def run(*command, status=0, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == status, f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def install(folder, tarballs):
    os.makedirs(folder)
    with open(os.path.join(folder, "package.json"), "w", encoding="utf-8") as file:
        json.dump({"name": "clean", "private": True}, file)
    run("npm", "install", "--offline", "--no-audit", "--no-fund", "--cache", os.path.join(folder, "cache"), *tarballs, cwd=folder)


class Registry(http.server.BaseHTTPRequestHandler):
    """Knows no package, and keeps what it is asked for."""
    asked = []

    def do_GET(self):
        self.asked.append(self.path)
        self.send_error(404)

    def log_message(self, *_):
        pass


def check_registry(folder, tarballs):
    """Somebody else could publish a package under a name that is not ours, so npm asks for none."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name, files in (("alone", tarballs[:1]), ("both", tarballs)):
            project = os.path.join(folder, name)
            os.mkdir(project)
            run("npm", "install", "--no-audit", "--no-fund", "--registry", f"http://127.0.0.1:{server.server_port}", "--cache",
                os.path.join(project, "cache"), *files, cwd=project)
            assert not Registry.asked, (name, Registry.asked)
        server.shutdown()


def find_program(name, environment):
    """The system's program, else the one of tests/bindings/install.sh, else None."""
    path = shutil.which(name) or os.path.join(environment["NODE_PATH"], ".bin", name)
    return path if os.path.exists(path) else None


def check_hosts(clean, environment):
    worked = []
    for host, (expression, (name, *arguments)) in HOSTS.items():
        program = find_program(name, environment)
        if program is None:
            print(f"{host}: skipped, there is no {name}")
            continue
        with open(os.path.join(clean, "host.cjs"), "w", encoding="utf-8") as file:
            file.write(SCRIPT % expression)
        done = subprocess.run([program, *arguments, "host.cjs"], cwd=clean, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode in (0, SKIPPED), f"{host}:\n{done.stdout}{done.stderr}"
        if done.returncode == 0:
            worked.append(host)
        else:
            print(f"{host}: {done.stdout.strip()}")
    return worked


def check_types(clean, environment):
    """Deno contains a TypeScript compiler."""
    deno = find_program("deno", environment)
    if deno is None:
        print("types: skipped, there is no deno")
        return
    with open(os.path.join(clean, "types.ts"), "w", encoding="utf-8") as file:
        file.write(TYPES)
    run(deno, "check", "--no-config", "types.ts", cwd=clean, env=environment)


def check_electron(clean, folder, environment):
    archive = os.path.join(folder, "resources", "app.asar")
    shutil.copytree(os.path.join(clean, "node_modules"), os.path.join(archive, "node_modules"))
    ask = ("node", "-p", "require('sqlite-glove').loadablePath()")
    inside = run(*ask, cwd=archive, env=environment).strip()
    assert inside.startswith(archive + os.sep), inside  # no unpacked copy: the path as it is
    name = "node_modules/sqlite-glove-linux-x64"
    unpacked = os.path.join(archive + ".unpacked", name)
    shutil.copytree(os.path.join(archive, name), unpacked)
    found = run(*ask, cwd=archive, env=environment).strip()
    assert found == os.path.join(unpacked, "glove.so"), found


def check_archive(clean, folder, environment):
    archive = os.path.join(folder, "packed.asar")
    done = subprocess.run(["node", "-e", ARCHIVE, clean, archive], env=environment, capture_output=True, text=True, check=False)
    if done.returncode == SKIPPED:
        print("archive: skipped, there is no @electron/asar")
        return
    assert done.returncode == 0, done.stdout + done.stderr
    path = done.stdout.strip()
    assert path == archive + ".unpacked/node_modules/sqlite-glove-linux-x64/glove.so", path
    connection = sqlite3.connect(":memory:")
    if hasattr(connection, "enable_load_extension"):
        connection.enable_load_extension(True)
        connection.load_extension(path)
    print("archive: the library was found outside of it")


def check_in_chroot(archive, folder, tarballs, sample, environment):
    node = os.path.join(environment["NODE_PATH"], "node/bin/node")  # newer than Debian's, perhaps
    node = node if os.path.exists(node) else os.path.realpath(shutil.which("node"))
    npm = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("npm"))))  # a folder of scripts
    debian = chroot.Chroot(archive, folder)
    shutil.copy(node, os.path.join(debian.root, "usr/bin/node"))
    shutil.copytree(npm, os.path.join(debian.root, "usr/lib/node_modules/npm"), symlinks=True)
    os.symlink("../lib/node_modules/npm/bin/npm-cli.js", os.path.join(debian.root, "usr/bin/npm"))
    os.mkdir(os.path.join(debian.root, "project"))
    in_project = ("env", "-C", "/project", "HOME=/project")
    debian.run(*in_project, "npm", "install", "--offline", "--no-audit", "--no-fund", *[debian.copy(path) for path in tarballs])
    debian.run(*in_project, "node_modules/.bin/glove-convert", "-q", debian.copy(sample), "model.safetensors")
    if subprocess.run([node, "-e", "require('node:sqlite')"], capture_output=True, check=False).returncode != 0:
        print("installed in a chroot, but not used there: this node has no node:sqlite")
        return
    debian.run(*in_project, "node", "-e", SCRIPT % NODE_SQLITE)
    print("installed and used in a chroot")


def main():
    parser = argparse.ArgumentParser()
    for option in ("--build", "--project", "--dist"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    for program in ("node", "npm"):
        if not shutil.which(program):
            print(f"skipped: there is no {program}")
            sys.exit(SKIPPED)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GLOVE_")}
    environment["NODE_PATH"] = os.environ.get("GLOVE_NODE_MODULES") or os.path.join(options.project, "build/bindings/node_modules")
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        builder = os.path.join(options.project, "packaging/npm.py")
        again = run(sys.executable, builder, options.build, folder).split()
        tarballs = [os.path.join(os.path.abspath(options.dist), os.path.basename(path)) for path in again]
        for first, second in zip(tarballs, again):
            with open(first, "rb") as a, open(second, "rb") as b:
                assert a.read() == b.read(), "the same build must make the same tarballs"
        clean = os.path.join(folder, "clean")
        install(clean, tarballs)
        sample = os.path.join(options.project, "examples/data/glove-6b-100d-20k.txt.gz")
        run(os.path.join(clean, "node_modules/.bin/glove-convert"), "-q", sample, "model.safetensors", cwd=clean)
        run(os.path.join(clean, "node_modules/.bin/glove-convert"), "-q", "nowhere.txt", "x", cwd=clean, status=1)
        worked = check_hosts(clean, environment)
        check_electron(clean, folder, environment)
        check_archive(clean, folder, environment)
        for bad in ("undefined", "'model.db'", "{}"):
            message = run("node", "-e", f"require('sqlite-glove').load({bad})", cwd=clean, env=environment, status=1)
            assert "TypeError: load() requires a connection that has loadExtension()" in message, message
        run("node", "--input-type=module", "-e", MODULE, cwd=clean, env=environment)
        check_types(clean, environment)
        check_registry(folder, tarballs)
        # The library is optional for npm, so its absence must be explained.
        shutil.rmtree(os.path.join(clean, "node_modules/sqlite-glove-linux-x64"))
        message = run("node", "-e", "require('sqlite-glove').loadablePath()", cwd=clean, env=environment, status=1)
        assert "npm install dist/" + os.path.basename(tarballs[1]) in message, message
        message = run(os.path.join(clean, "node_modules/.bin/glove-convert"), "--version", cwd=clean, status=1)
        assert message.startswith("glove-convert: ") and message.count("\n") == 1, message  # no stack trace
        assert "sqlite-glove has no build for" in run(
            "node", "-e", "Object.defineProperty(process, 'arch', {value: 'mips'}); require('sqlite-glove').loadablePath()",
            cwd=clean, env=environment, status=1)
        archive = chroot.archive()
        if archive is not None:
            check_in_chroot(archive, folder, tarballs, sample, environment)
        print("worked: " + (", ".join(worked) or "no host is installed"))


if __name__ == "__main__":
    main()
