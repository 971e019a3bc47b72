"""What is packaged loads on other Linux systems: test_library.py FILE... | --skip REASON

Each FILE (glove.so, glove-convert, glove-convert-beside) needs no symbol that is newer than glibc 2.34 (Ubuntu 22.04, RHEL 9, Amazon Linux 2023), no
library that such a system may lack, and has no symbol table. glove.so exports its two entry points for SQLite and the
one for glove-convert, and nothing else.
"""
import os
import re
import subprocess
import sys

SKIPPED = 77
NEWEST_GLIBC = (2, 34)
BUILT_ON = (2, 36)  # Debian 12. A newer glibc replaces functions by versions of its own, so a build there proves nothing.
LIBRARIES = re.compile(r"(libc|libm|libz|libgcc_s|libdl|librt|libpthread|ld-linux-[\w-]+)\.so\.\d+")
ENTRY_POINTS = {"sqlite3_glove_init", "sqlite3_modglove_init", "glove_convert_entry"}


def objdump(option, path):
    done = subprocess.run(["objdump", option, path], capture_output=True, check=True, text=True, env={**os.environ, "LC_ALL": "C"})
    return done.stdout


def newer_symbols(table):
    """The lines of `objdump -T` that need a newer glibc."""
    for line in table.splitlines():
        for version in re.findall(r"\(?GLIBC_([0-9.]+)\)?", line):
            if tuple(map(int, version.split("."))) > NEWEST_GLIBC:
                yield line


def exports(table):
    return {line.split()[-1] for line in table.splitlines() if " g " in line and "*UND*" not in line and ".bss" not in line}


def check(path):
    table, headers = objdump("-T", path), objdump("-p", path)
    too_new = list(newer_symbols(table))
    assert not too_new, f"{path} needs a newer glibc than {NEWEST_GLIBC}:\n" + "\n".join(too_new)
    needed = re.findall(r"^\s+NEEDED\s+(\S+)", headers, re.MULTILINE)
    unexpected = [name for name in needed if not LIBRARIES.fullmatch(name)]
    assert needed and not unexpected, f"{path} needs {needed}; other systems may lack {unexpected}"
    assert "no symbols" in objdump("-t", path), f"{path} has a symbol table"
    if path.endswith(".so"):
        assert exports(table) == ENTRY_POINTS, f"{path} exports {exports(table)}"
    print(f"{os.path.basename(path)}: {os.path.getsize(path):,} bytes, needs {', '.join(needed)}")


def main():
    if sys.argv[1] == "--skip":
        print("skipped: " + sys.argv[2])
        sys.exit(SKIPPED)
    name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
    if name != "glibc" or tuple(map(int, version.split("."))) > BUILT_ON:
        print(f"skipped: packages are built on Debian 12 (glibc 2.36), and this is {name} {version}")
        sys.exit(SKIPPED)
    # The check can fail.
    assert list(newer_symbols("0 DF *UND* 0 (GLIBC_2.36) arc4random\n0 DF *UND* 0 (GLIBC_2.4) f\n")) != []
    assert list(newer_symbols("0 DF *UND* 0 (GLIBC_2.34) f\n0 w DF *UND* 0 (GLIBC_2.2.5) g\n")) == []
    for path in sys.argv[1:]:
        check(path)


if __name__ == "__main__":
    main()
