"""glove.dll and glove-convert.exe under wine: test_windows.py --windows ROOT --here BUILD --dist DIST [--quick]

ROOT is the folder where packaging/windows.sh builds, with the shell and the server of tests/packages-windows.sh. Answers and model
files must be those of BUILD, this machine's own build, bit for bit. Without --quick: each instruction set, 20,000 rows and more of
answers, 10,000 steps of a live table, 50 kills, 400 damaged files, and the time of a query beside this machine's.
"""
import argparse
import filecmp
import glob
import io
import json
import os
import random
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

import test_zig  # finds the folders of the next ones, too
import compare
import numpy
import platforms

PROJECT = test_zig.PROJECT
sys.path.insert(0, os.path.join(PROJECT, "tests/live"))
import fixture  # noqa: E402
import served  # noqa: E402

WINE = next((path for path in ("/usr/lib/wine/wine64", shutil.which("wine64"), shutil.which("wine")) if path and os.path.exists(path)), None)
LIBRARIES = {"glove.dll": {"KERNEL32.dll", "msvcrt.dll"}, "glove-convert.exe": {"KERNEL32.dll", "msvcrt.dll", "SHELL32.dll"},
             "glove-convert-beside.exe": {"KERNEL32.dll", "msvcrt.dll", "SHELL32.dll"}}
SEED = os.environ.get("GLOVE_TEST_SEED") or str(random.randrange(1 << 31))


def check_files(build):
    """What the files need and export, and that no 64-byte store expects more of the stack than Windows promises."""
    for name, libraries in LIBRARIES.items():
        path = os.path.join(build, name)
        headers = test_zig.run("x86_64-w64-mingw32-objdump", "--private-headers", path)
        needed = set(re.findall(r"DLL Name: (\S+)", headers))
        assert needed == libraries, f"{name} needs {needed}"
        if name.endswith(".dll"):
            exported = set(re.findall(r"^\s*\[\s*\d+\](?: \+base\[\s*\d+\])?\s+(?:[0-9a-f]+ )?(\w+)$", headers.split("[Ordinal/Name Pointer]")[1],
                                      re.MULTILINE))
            assert exported == test_zig.ENTRY_POINTS, f"{name} exports {exported}"
        print(f"{name}: {os.path.getsize(path):,} bytes, needs {', '.join(sorted(needed))}")
        if name.endswith(".dll"):
            check_stack(path, set(re.findall(r"^ [0-9a-f]{16}:\t0*([0-9a-f]+) [0-9a-f]{16} [0-9a-f]{16}", headers, re.MULTILINE)))


def check_stack(path, functions):
    """A function that stores 32 or 64 bytes at an aligned place of its stack must have aligned that itself. `functions`: where each begins."""
    code = test_zig.run("x86_64-w64-mingw32-objdump", "--disassemble", "--no-show-raw-insn", path)
    wide = wrong = 0
    aligned = {}  # register -> how many bytes it is a multiple of, since the function's beginning
    for line in code.splitlines():
        address, _, instruction = line.partition(":\t")
        if address.strip() in functions:
            aligned = {}
        found = re.match(r"and +\$0x(f+[0-9a-f]+),%(r\w+)", instruction)
        if found:
            aligned[found.group(2)] = 2**64 - int(found.group(1), 16)
        stored = re.match(r"vmov(?:ap[sd]|dqa\d*) .*%([yz])mm\d+.*\(%rsp[,)]|vmov(?:ap[sd]|dqa\d*) .*\(%rsp\),%([yz])mm", instruction)
        if stored:
            wide += 1
            wrong += aligned.get("rsp", 16) < (64 if "z" in stored.groups() else 32)
    assert wide > 100 and wrong == 0, f"{wrong} of {wide} aligned accesses to the stack are in functions that do not align it"
    print(f"{wide} aligned accesses of 32 and 64 bytes to the stack, all in functions that align it")


def check_locks(program):
    done = subprocess.run([WINE, program], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (0, ""), done
    print("mutexes and conditions: no two owners, no number or notification lost, no wait too short")


class Case:
    """The two machines, and a folder."""

    def __init__(self, options, folder):
        self.folder, self.quick = folder, options.quick
        self.root = os.path.abspath(options.windows)
        self.here = compare.Machine("here", options.here, [], {})
        self.there = compare.Machine("wine", os.path.join(self.root, "x64"), [WINE], {}, ("glove.dll", "glove-convert.exe"))
        self.shell = os.path.join(self.root, "shell.exe")
        self.model = os.path.join(folder, "glove.safetensors")  # of README.md's lines

    def wine(self, path=":memory:", **environment):
        return served.Connection(path, self.there.extension, [WINE, os.path.join(self.root, "server.exe")], **environment)

    def native(self, path=":memory:"):
        connection = sqlite3.connect(path, isolation_level=None)
        connection.enable_load_extension(True)
        connection.load_extension(self.here.extension)
        return connection


def outcome(connection, sql, parameters=()):
    """The rows, with the bits of numbers, or the message of the error."""
    try:
        return [compare.bits_of_row(row) for row in connection.execute(sql, parameters).fetchall()]
    except sqlite3.Error as error:
        return str(error)


def compare_formats(case):
    """Each format by glove-convert, and each by glove_load in one process."""
    generator = numpy.random.default_rng(compare.SEED)
    ours, theirs = os.path.join(case.folder, "ours.safetensors"), os.path.join(case.folder, "theirs.safetensors")
    inputs = [*compare.write_inputs(case.folder, generator), compare.write_large_input(case.folder, generator)]
    both = case.wine(), case.native()
    for path in inputs:
        for number, statement in enumerate(("SELECT glove_load(?1, 'm')", "SELECT id, hex(word), norm, vector FROM glove_words WHERE model = 'm'",
                                            "SELECT glove_unload('m')")):
            results = [outcome(connection, statement, (path,) if number == 0 else ()) for connection in both]
            assert results[0] == results[1] and not isinstance(results[0], str), f"{path}: {str(results)[:500]}"
    assert both[0].close() == 0
    for path in inputs[-1:] if case.quick else inputs:
        case.here.convert(path, ours)
        case.there.convert(path, theirs)
        assert filecmp.cmp(ours, theirs, shallow=False), f"seed {compare.SEED}: the model files of {path} differ"
    compare.TARGETS["wine"] = [""] if case.quick else test_zig.usable_targets(case.there, case.shell, theirs)
    rows = compare.compare_answers(case.here, case.there, ("sqlite3", case.shell), theirs, os.path.join(case.folder, "answers.db"))
    assert rows >= 20000, rows
    print(f"{len(inputs)} inputs and {rows} rows of answers, as from this machine's own build, with {compare.TARGETS['wine']}")


def compare_damage(case, count):
    """Damaged copies of a model file end in the same error or the same rows."""
    source = random.Random(f"{SEED} damage")
    small = os.path.join(case.folder, "small.txt")
    with open(small, "w", encoding="utf-8") as file:
        for word in range(300):
            file.write(f"w{word} {' '.join(str(source.randrange(-9, 9)) for _ in range(6))}\n")
    good = os.path.join(case.folder, "small.safetensors")
    case.here.convert(small, good)
    with open(good, "rb") as file:
        data = file.read()
    both, errors = (case.wine(), case.native()), 0
    for number in range(count):
        damaged = bytearray(data)
        if number % 3 == 0:
            del damaged[source.randrange(len(data)):]
        else:
            damaged[source.randrange(len(data) if number % 3 == 1 else 2000)] = source.randrange(256)
        path = os.path.join(case.folder, f"damaged{number}.safetensors")
        with open(path, "wb") as file:
            file.write(damaged)
        for sql in ("SELECT glove_load(?1, 'd')", "SELECT neighbor, similarity FROM glove_nn('w7', NULL, 20, 'd') WHERE ?1 NOT NULL"):
            results = [outcome(connection, sql, (path,)) for connection in both]
            assert results[0] == results[1], f"seed {SEED}, {number}: {str(results)[:900]}"
            errors += isinstance(results[0], str)
        for connection in both:
            outcome(connection, "SELECT glove_unload('d')")
        os.remove(path)
    assert both[0].close() == 0 and errors > count // 4, errors
    print(f"{count} damaged files: {errors} errors, the same as here")


def check_program(case):
    """The program of the packages, which has glove.dll do the work, writes what the other one writes, and says what is missing without it."""
    sample = os.path.join(PROJECT, "examples/data/glove-6b-100d-20k.txt.gz")
    folder, model = os.path.join(case.folder, "größe"), os.path.join(case.folder, "beside.safetensors")
    os.makedirs(folder)
    program = shutil.copy(os.path.join(case.root, "x64", "glove-convert-beside.exe"), os.path.join(folder, "glove-convert.exe"))
    done = subprocess.run([WINE, program, "--info", case.model], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "cannot load the library" in done.stderr, done
    shutil.copy(case.there.extension, folder)
    test_zig.run(WINE, program, "-q", sample, model)
    assert filecmp.cmp(model, case.model, shallow=False)
    print(f"the packages' glove-convert.exe has glove.dll do its work; without it: {done.stderr.strip()}")


def check_version(case):
    version = case.wine().execute("SELECT glove_version()").fetchone()[0]
    assert version.endswith("backends: cpu; CUDA is not compiled in"), version


def check_replacement(case):
    """A loaded model can be replaced, also by another process, and the old file is removed later."""
    path = os.path.join(case.folder, "replaced.safetensors")
    shutil.copy(case.model, path)
    first = case.wine()
    first.execute("SELECT glove_load(?, 'm')", (path,))
    expected = outcome(first, "SELECT neighbor, similarity FROM glove_nn('king', NULL, 5, 'm')")
    first.execute("SELECT glove_save('m', ?)", (path,))
    left = glob.glob(path + ".glove-*.old")
    assert outcome(first, "SELECT neighbor, similarity FROM glove_nn('king', NULL, 5, 'm')") == expected
    second = case.wine()
    second.execute("SELECT glove_load(?, 'm')", (path,))
    second.execute("SELECT glove_save('m', ?)", (path,))
    for connection in (first, second):
        assert outcome(connection, "SELECT neighbor, similarity FROM glove_nn('king', NULL, 5, 'm')") == expected
        connection.execute("SELECT glove_unload('m')")
    assert first.close() == second.close() == 0
    names = [name for name in os.listdir(case.folder) if ".glove-" in name]
    assert not names, names
    print(f"a loaded model was replaced by its own process and another one; meanwhile {len(left)} old files, and none is left")


def check_paths(case):
    """Drive letters, backslashes, names that are not ASCII, and paths longer than MAX_PATH."""
    folder = os.path.join(case.folder, "größe 日本")
    deep = os.path.join(folder, *["d" * 90] * 4)
    os.makedirs(deep)
    connection = case.wine(GLOVE_MODEL=case.model)
    assert outcome(connection, "SELECT count(*) FROM glove_nn('king', NULL, 3)")[0] == ["3"], "GLOVE_MODEL"
    rows = outcome(connection, "SELECT neighbor, similarity FROM glove_nn('king', NULL, 5)")
    name = outcome(connection, "SELECT name FROM glove_models")[0][0].strip("'")
    for path in (folder + "/a.safetensors", deep + "/b.safetensors", ("Z:" + folder).replace("/", "\\") + "\\c.safetensors"):
        connection.execute("SELECT glove_save(?, ?)", (name, path))
        loaded = connection.execute("SELECT glove_load(?)", (path,)).fetchone()[0]
        assert loaded == path.replace("\\", "/").rsplit("/", 1)[1].split(".")[0], (path, loaded)
        found = outcome(connection, "SELECT neighbor, similarity FROM glove_nn('king', NULL, 5, ?)", (loaded,))
        assert found == rows, (path, str(found)[:300])
        connection.execute("SELECT glove_unload(?)", (loaded,))
    assert sorted(os.listdir(folder)) == sorted(["a.safetensors", "c.safetensors", "d" * 90]), os.listdir(folder)
    for path, text in (("Z:\\nonesuch\\x", "cannot open 'Z:\\nonesuch\\x': No such file or directory"), (folder, "")):
        message = outcome(connection, "SELECT glove_load(?)", (path,))
        assert isinstance(message, str) and text in message, message
    assert connection.close() == 0
    print("paths with a drive, backslashes, other scripts and 400 characters")


def check_page_errors(case):
    """An error of the system on a page of a mapped model becomes an error of the query."""
    connection = case.wine()
    connection.execute("SELECT glove_load(?, 'm')", (case.model,))
    bytes_ = os.path.getsize(case.model)
    assert connection.execute("SELECT page_error(?)", (bytes_,)).fetchone() == (0,)
    message = outcome(connection, "SELECT neighbor FROM glove_nn('king', NULL, 5, 'm')")
    assert isinstance(message, str) and "could not be read in part" in message, message
    connection.execute("SELECT glove_unload('m')")
    connection.execute("SELECT glove_load(?, 'm')", (case.model,))
    assert len(connection.execute("SELECT neighbor FROM glove_nn('king', NULL, 5, 'm')").fetchall()) == 5
    assert connection.close() == 0
    print("an error on a page of a mapped file ended in: " + message)


def live_steps(case, steps):
    """Random changes of a table; after each the index equals a full scan, and this machine's index has the same rows in the end."""
    dims, source = 24, random.Random(f"{SEED} live")
    path = os.path.join(case.folder, "live.db")
    connection = fixture.create(path, case.there.extension, source, dims, 100)
    depth = compared = 0
    for step in range(steps):
        choice = source.random()
        if choice < 0.06 and depth == 0:
            connection.execute("BEGIN")
            depth = 1
        elif choice < 0.16 and depth == 1:
            connection.execute(source.choice(("COMMIT", "COMMIT", "ROLLBACK")))
            depth = 0
        elif choice < 0.25:
            fixture.command(connection, source.choice(("sync", "sync", "merge", "rebuild", "integrity-check")))
        elif choice < 0.28:
            connection.execute("UPDATE doc SET id = id + 1000 WHERE id % 7 = ?", (source.randrange(7),))
            connection.execute("UPDATE doc SET id = id - 1000 WHERE id >= 1000")
        else:
            fixture.write(connection, source, dims, source.choice((1, 1, 5)), 120)
        try:
            fixture.expect_equal(connection, source, dims)
            compared += 1
        except fixture.Wrong as wrong:
            sys.exit(f"seed {SEED}, step {step}: {wrong}")
    if depth:
        connection.execute("COMMIT")
    fixture.expect_sound(connection, source, dims)
    assert connection.close() == 0
    native = case.native(path)
    fixture.expect_sound(native, source, dims)
    print(f"{compared} steps of a live table under wine, each compared with a full scan; its file is sound here, too")


def check_kills(case, kills):
    script = os.path.join(PROJECT, "tests/live/crash_test.py")
    print(test_zig.run(sys.executable, script, case.there.extension, "--times", str(kills), "--seed", SEED, "--longest", "0.3").strip())


def processor_seconds(process):
    """What a process has used so far."""
    with open(f"/proc/{process}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def print_speed(case, threads):
    """k = 10 in interleaved rounds. Not a test, because other work on the machine changes it; processor time hardly."""
    both = case.wine(), case.native()
    sql = "SELECT count(*) FROM (SELECT word FROM glove_words WHERE id % 97 = ?1) q JOIN glove_nn n ON n.word = q.word || '' AND n.k = 10"
    times = [[], []]
    processes = both[0].process.pid, "self"
    for connection in both:
        connection.execute("SELECT glove_load(?, 'm')", (case.model,))
        connection.execute("SELECT glove_config('threads', ?)", (threads,)).fetchall()
        connection.execute(sql, (96,)).fetchall()
    before = [processor_seconds(process) for process in processes]
    for number in range(25):
        for place, connection in enumerate(both):
            start = time.perf_counter()
            rows = connection.execute(sql, (number,)).fetchone()[0]
            times[place].append(time.perf_counter() - start)
            assert rows > 1000, rows
    medians = [numpy.median(values) for values in times]
    used = [processor_seconds(process) - start for process, start in zip(processes, before)]
    print(f"k = 10, 206 queries of 20,000 x 100 per round, threads = {threads}: {medians[0] / medians[1]:.2f} times this machine's time, "
          f"{used[0] / used[1]:.2f} times its processor time")
    assert both[0].close() == 0


def check_packages(build, dist):
    platform = platforms.WINDOWS
    with open(os.path.join(build, "glove.dll"), "rb") as file:
        library = file.read()
    wheel, = glob.glob(os.path.join(dist, "sqlite_glove-*-py3-none-win_amd64.whl"))
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert archive.read("sqlite_glove/glove.dll") == library and "sqlite_glove/glove-convert.exe" in names, names
    tarball, = glob.glob(os.path.join(dist, f"{platform.npm}-[0-9]*.tgz"))
    with tarfile.open(tarball) as archive:
        manifest = json.load(io.TextIOWrapper(archive.extractfile("package/package.json"), "utf-8"))
        assert archive.extractfile("package/glove.dll").read() == library
        assert (manifest["os"], manifest["cpu"]) == (["win32"], ["x64"]), manifest
    path, = glob.glob(os.path.join(dist, "sqlite-glove-*-windows-x64.zip"))
    with zipfile.ZipFile(path) as archive:
        names = {name.split("/")[1] for name in archive.namelist()}
        assert names == {"glove.dll", "glove-convert.exe", "README.txt", "LICENSE.txt", "THIRD-PARTY-NOTICES.txt"}, names
    print(", ".join(f"{os.path.basename(path)} {os.path.getsize(path):,} bytes" for path in (wheel, tarball, path)))


def main():
    parser = argparse.ArgumentParser()
    for option in ("--windows", "--here", "--dist"):
        parser.add_argument(option, required=True)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    root = os.path.abspath(options.windows)
    assert WINE, "there is no wine; ./build.sh --packages-only windows installs it"
    os.environ.update(WINEPREFIX=os.path.join(root, "prefix"), WINEDEBUG="-all", GLOVE_SQL_SERVER=f"{WINE} {root}/server.exe")
    test_zig.run(WINE, "wineboot", "-i")
    check_files(os.path.join(root, "x64"))
    check_packages(os.path.join(root, "x64"), options.dist)
    check_locks(os.path.join(root, "locks.exe"))
    with tempfile.TemporaryDirectory(prefix="glove-windows-") as folder:
        case = Case(options, folder)
        test_zig.run_readme(case.there, case.shell, folder)
        compare_formats(case)
        check_program(case)
        check_version(case)
        check_replacement(case)
        check_paths(case)
        check_page_errors(case)
        compare_damage(case, 60 if case.quick else 400)
        live_steps(case, 150 if case.quick else 10000)
        check_kills(case, 6 if case.quick else 50)
        if not case.quick:
            for threads in (0, 1):
                print_speed(case, threads)


if __name__ == "__main__":
    main()
