"""The examples of examples/bindings run as they are: test_examples.py NAME --extension GLOVE.SO --convert GLOVE-CONVERT --project DIR
--cache DIR

Each runs in a folder with glove.so and glove.safetensors (the sample of examples/data), as docs/install.md says, and prints the
three nearest words of 'piano'. A binding that is not installed is skipped with a reason; the versions that were found are printed.
`table` as NAME checks that docs/install.md has a row for each example, and `versions` prints what it should say on this machine.

GLOVE_NODE_MODULES   the folder with the packages of npm; the default is the one that tests/bindings/install.sh fills
--cache              what the compilers of Go and Rust keep between runs
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
EXPECTED = "violin 0.9158\ncello 0.8619\nguitar 0.7777\n"
SAMPLE = "examples/data/glove-6b-100d-20k.txt.gz"


class Absent(Exception):
    """The reason why a binding cannot run here."""


# Each binding below returns the command, in which {folder} is the folder that it runs in and {examples} that of the examples, and
# the versions that were found.


class Host:
    """What the examples run with. `node_modules` has the packages of npm, `cache` is a writable folder."""

    def __init__(self, project, cache):
        self.examples = os.path.join(project, "examples/bindings")
        self.cache = os.path.abspath(cache)
        self.node_modules = os.environ.get("GLOVE_NODE_MODULES") or os.path.join(project, "build/bindings/node_modules")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("GLOVE_")}
        self.environment["NODE_PATH"] = self.node_modules

    def program(self, name, reason):
        path = shutil.which(name)
        if path is None:
            raise Absent(reason)
        return path

    def from_npm(self, name, file):
        path = os.path.join(self.node_modules, file)
        if not os.path.exists(path):
            raise Absent(f"{name} is not installed; tests/bindings/install.sh does it")
        return path

    def output(self, *command):
        """Returns the first line of what the command prints, or None if it fails."""
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=self.environment, timeout=120)
        return done.stdout.strip().split("\n")[0] if done.returncode == 0 else None

    def version(self, *command, absent):
        found = self.output(*command)
        if found is None:
            raise Absent(absent)
        return found


def python(host, module, ask, debian):
    program = sys.executable
    version = host.version(program, "-c", ask, absent=f"Python's {module} is not installed or cannot load extensions ({debian})")
    return [program, "{examples}/python-" + module + "/neighbors.py"], version


def python_sqlite3(host):
    return python(host, "sqlite3", "import sqlite3, platform; sqlite3.Connection.enable_load_extension; "
                  "print('Python', platform.python_version() + ', SQLite', sqlite3.sqlite_version)", "Debian: python3")


def python_apsw(host):
    return python(host, "apsw", "import apsw; print('apsw', apsw.apswversion() + ', SQLite', apsw.sqlitelibversion())",
                  "Debian: python3-apsw")


def node(host, needed=None):
    """A node that has the module: the system's, or the one from npm."""
    candidates = [shutil.which("node"), os.path.join(host.node_modules, "node/bin/node")]
    for program in filter(None, candidates):
        if os.path.exists(program) and (needed is None or host.output(program, "-e", f"require('{needed}')") is not None):
            return program
    raise Absent("there is no node" + (f" with {needed} (22.5 or newer)" if needed else ""))


def node_sqlite(host):
    program = node(host, "node:sqlite")
    return [program, "{examples}/node-sqlite/neighbors.js"], host.output(
        program, "-p", "'Node.js ' + process.versions.node + ', SQLite ' + process.versions.sqlite")


def node_package(host, package, folder, open_):
    with open(os.path.join(host.from_npm(package, package), "package.json"), encoding="utf-8") as file:
        name = f"{package} {json.load(file)['version']}"
    program = node(host)
    version = host.version(program, "-p", f"const db = {open_}; '{name}, SQLite ' + "
                           "db.prepare('SELECT sqlite_version() AS v').get().v",
                           absent=f"{package} is not built for this node; tests/bindings/install.sh does it")
    return [program, "{examples}/" + folder + "/neighbors.js"], version


def better_sqlite3(host):
    return node_package(host, "better-sqlite3", "better-sqlite3", "new (require('better-sqlite3'))(':memory:')")


def libsql(host):
    return node_package(host, "libsql", "libsql", "new (require('libsql'))(':memory:')")


def photostructure_sqlite(host):
    return node_package(host, "@photostructure/sqlite", "photostructure-sqlite",
                        "new (require('@photostructure/sqlite').DatabaseSync)(':memory:')")


def bun(host):
    program = shutil.which("bun") or host.from_npm("bun", ".bin/bun")
    version = host.version(program, "-e", "import {Database} from 'bun:sqlite'; console.log('Bun ' + Bun.version + ', SQLite ' + "
                           "new Database(':memory:').query('SELECT sqlite_version() AS v').get().v)", absent="bun does not start")
    return [program, "run", "{examples}/bun/neighbors.ts"], version


def deno(host):
    program = shutil.which("deno") or host.from_npm("deno", ".bin/deno")
    version = host.version(program, "eval", "import {DatabaseSync} from 'node:sqlite'; console.log('Deno ' + Deno.version.deno + "
                           "', SQLite ' + new DatabaseSync(':memory:').prepare('SELECT sqlite_version() AS v').get().v)",
                           absent="deno does not start")
    return [program, "run", "--allow-all", "--no-config", "{examples}/deno/neighbors.ts"], version


def go_mattn(host):
    program = host.program("go", "there is no go (Debian: golang-go)")
    source = "/usr/share/gocode/src/github.com/mattn/go-sqlite3"
    if not os.path.isdir(source):
        raise Absent("go-sqlite3 is not installed (Debian: golang-github-mattn-go-sqlite3-dev)")
    host.environment.update(GO111MODULE="off", GOPATH="/usr/share/gocode", GOFLAGS="", GOCACHE=os.path.join(host.cache, "go"))
    version = debian_version(host, "golang-github-mattn-go-sqlite3-dev")
    return [program, "run", "-tags", "libsqlite3", "{examples}/go-mattn/neighbors.go"], f"{host.output(program, 'version')}, go-sqlite3 {version}"


def rust_rusqlite(host):
    program = host.program("cargo", "there is no cargo (Debian: cargo)")
    registry = "/usr/share/cargo/registry"
    if not glob.glob(registry + "/rusqlite-*"):
        raise Absent("rusqlite's source is not installed (Debian: librust-rusqlite-dev)")
    # Debian's sources in place of the index, and nothing from the network.
    home = os.path.join(host.cache, "cargo")
    os.makedirs(home, exist_ok=True)
    with open(os.path.join(home, "config.toml"), "w", encoding="utf-8") as file:
        file.write(f'[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "{registry}"\n[net]\noffline = true\n')
    crate = os.path.join(host.cache, "rust-rusqlite")
    shutil.rmtree(crate, ignore_errors=True)
    shutil.copytree(os.path.join(host.examples, "rust-rusqlite"), crate)  # cargo writes Cargo.lock beside Cargo.toml
    host.environment.update(RUSTUP_HOME=os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup")), CARGO_HOME=home,
                            CARGO_TARGET_DIR=os.path.join(host.cache, "rust"))
    version = debian_version(host, "librust-rusqlite-dev")
    return ([program, "run", "--quiet", "--manifest-path", os.path.join(crate, "Cargo.toml")],
            f"{host.output(program, '--version')}, rusqlite {version}")


def debian_version(host, package):
    return (host.output("dpkg-query", "-W", "-f=${Version}", package) or "unknown").split("-")[0]


def r_rsqlite(host):
    program = host.program("Rscript", "there is no R (Debian: r-cran-rsqlite)")
    version = host.version(program, "-e", "cat('RSQLite', as.character(packageVersion('RSQLite')), ', SQLite', "
                           "RSQLite::rsqliteVersion()[['library']])", absent="RSQLite is not installed (Debian: r-cran-rsqlite)")
    return [program, "{examples}/r-rsqlite/neighbors.R"], version.replace(" ,", ",")


def perl_dbd_sqlite(host):
    program = host.program("perl", "there is no perl")
    version = host.version(program, "-MDBD::SQLite", "-e", 'print "DBD::SQLite $DBD::SQLite::VERSION, SQLite $DBD::SQLite::sqlite_version"',
                           absent="DBD::SQLite is not installed (Debian: libdbd-sqlite3-perl)")
    return [program, "{examples}/perl-dbd-sqlite/neighbors.pl"], version


def php_sqlite3(host):
    program = host.program("php", "there is no php (Debian: php-cli php-sqlite3)")
    version = host.version(program, "-r", "echo 'PHP ', PHP_VERSION, ', SQLite ', SQLite3::version()['versionString'];",
                           absent="PHP's sqlite3 is not installed (Debian: php-sqlite3)")
    return [program, "-d", "sqlite3.extension_dir={folder}", "{examples}/php-sqlite3/neighbors.php"], version


def ruby_sqlite3(host):
    program = host.program("ruby", "there is no ruby (Debian: ruby-sqlite3)")
    version = host.version(program, "-r", "sqlite3", "-e", "puts 'Ruby ' + RUBY_VERSION + ', sqlite3 ' + SQLite3::VERSION + ', SQLite ' + "
                           "SQLite3::SQLITE_VERSION", absent="Ruby's sqlite3 is not installed (Debian: ruby-sqlite3)")
    return [program, "{examples}/ruby-sqlite3/neighbors.rb"], version


def java_xerial(host):
    program = host.program("java", "there is no java (Debian: default-jdk-headless)")
    host.program("javac", "there is no Java compiler, which runs a source file (Debian: default-jdk-headless)")
    jar = "/usr/share/java/sqlite-jdbc.jar"
    if not os.path.exists(jar):
        raise Absent("sqlite-jdbc is not installed (Debian: libxerial-sqlite-jdbc-java)")
    version = debian_version(host, "libxerial-sqlite-jdbc-java")
    java = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr.split("\n")[0]
    return [program, "-cp", jar, "{examples}/java-xerial/Neighbors.java"], f"{java}, sqlite-jdbc {version}"


def tcl_sqlite3(host):
    program = host.program("tclsh", "there is no tclsh (Debian: tcl)")
    script = os.path.join(host.cache, "version.tcl")
    os.makedirs(host.cache, exist_ok=True)
    with open(script, "w", encoding="utf-8") as file:
        file.write('package require sqlite3\nputs "Tcl [info patchlevel], SQLite [sqlite3 -version]"\n')
    version = host.version(program, script, absent="Tcl's sqlite3 is not installed (Debian: libsqlite3-tcl)")
    return [program, "{examples}/tcl-sqlite3/neighbors.tcl"], version


BINDINGS = {name.replace("_", "-"): binding for name, binding in globals().items() if name in (
    "python_sqlite3", "python_apsw", "node_sqlite", "better_sqlite3", "libsql", "photostructure_sqlite", "bun", "deno", "go_mattn",
    "rust_rusqlite", "r_rsqlite", "perl_dbd_sqlite", "php_sqlite3", "ruby_sqlite3", "java_xerial", "tcl_sqlite3")}


def check(name, options):
    host = Host(os.path.abspath(options.project), options.cache)
    command, version = BINDINGS[name](host)
    print(version)
    with tempfile.TemporaryDirectory(prefix="glove-bindings-") as folder:
        shutil.copy(options.extension, os.path.join(folder, "glove.so"))  # PHP follows no link out of its folder
        subprocess.run([options.convert, "-q", os.path.join(options.project, SAMPLE), os.path.join(folder, "glove.safetensors")],
                       check=True)
        command = [part.replace("{folder}", folder).replace("{examples}", host.examples) for part in command]
        done = subprocess.run(command, cwd=folder, env=host.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}"
    assert done.stdout == EXPECTED, f"it printed\n{done.stdout}and not\n{EXPECTED}{done.stderr}"
    return version


def check_table(project):
    folders = os.listdir(os.path.join(project, "examples/bindings"))
    with open(os.path.join(project, "docs/install.md"), encoding="utf-8") as file:
        links = re.findall(r"^\|.*\]\(\.\./(examples/[^)]*)\) \| \S", file.read(), re.MULTILINE)
    shown = [link.split("/")[2] for link in links if link.startswith("examples/bindings/")]
    assert sorted(shown) == sorted(folders) == sorted(BINDINGS), (shown, folders, sorted(BINDINGS))
    for link in links:
        assert os.path.isfile(os.path.join(project, link)), link


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=sorted(BINDINGS) + ["table", "versions"])
    for option in ("--extension", "--convert", "--project", "--cache"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    if options.name == "table":
        check_table(options.project)
        return
    if options.name == "versions":
        for name in BINDINGS:
            try:
                check(name, options)
            except Absent as reason:
                print(f"{name}: {reason}")
        return
    try:
        check(options.name, options)
    except Absent as reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)


if __name__ == "__main__":
    main()
