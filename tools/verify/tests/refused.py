"""Checks what glove-verify refuses: refused.py PROGRAM PTX FOLDER

Each launch file of LAUNCHES and each command line must end with exit status 4, no verdict, and one line that says what is wrong
and where. `PTX` is that of probes.cu; ok_barrier has one parameter, a pointer.
"""

import os
import re
import subprocess
import sys

OWN = '[[launch]]\nkernel = "^ok_barrier$"\n'
KEYS = "name, kernel, block, grid, cluster, dynamic_shared, parameters, lemmas, ranges, constants, assume"
# (the file, the line that the message names, what it says)
LAUNCHES = [
    ("", None, r"there is no launch in this file; add one, which begins with \[\[launch\]\]"),
    ("launch = []\n", None, "there is no launch in this file"),
    ("block = 64\n", None, "there is no launch in this file"),
    (OWN + "n\u00e4me = 'x'\n", 3, "a launch file has ASCII characters only"),
    (OWN + "blok = 128\n", 3, "a launch has no key 'blok'; its keys are with, " + KEYS),
    ("blok = 128\n" + OWN, 1, "a launch file has no key 'blok'; its keys are launch, choices, " + KEYS),
    (OWN + "[choices.dims]\n16 = { blok = 3 }\n", 4, "a set of a choice has no key 'blok'"),
    (OWN + "choices = 3\n", 3, "a launch has no key 'choices'"),
    ("choices = { dims = 3 }\n" + OWN, 1, "a choice must be a table of named sets"),
    (OWN + "with = { dims = 16 }\n", 1, r"`with` is a table of names from \[choices\]"),
    (OWN + "with = { dims = 16 }\n[choices.dims]\n3 = { grid = 2 }\n", 3, r"there is no \[choices.dims.16\]"),
    (OWN + "parameters = [{ at = 0, u32 = 1, byte = 4 }]\n", 3, "a parameter has no key 'byte'; its keys are at, index, buffer"),
    (OWN + "parameters = [{ u32 = 1 }]\n", 3, "a parameter needs its offset"),
    (OWN + "parameters = [{ at = -1, u32 = 1 }]\n", 3, "at must be an integer from 0 to 65535"),
    (OWN + "parameters = [{ at = 2, u32 = 1 }]\n", 3, "at = 2 must be a multiple of 4"),
    (OWN + "parameters = [{ at = 0 }]\n", 3, "must have one of the keys buffer, u32, s32, u64 and s64"),
    (OWN + "parameters = [{ at = 0, u32 = 1, u64 = 1 }]\n", 3, "must have one of the keys buffer, u32, s32, u64 and s64"),
    (OWN + "parameters = [{ at = 0, u32 = 99999999999 }]\n", 3, "u32 must be an integer from 0 to 4294967295"),
    (OWN + "parameters = [{ at = 0, u32 = -1 }]\n", 3, "u32 must be an integer from 0 to 4294967295"),
    (OWN + "parameters = [{ at = 0, u64 = -1 }]\n", 3, "u64 must be an integer from 0 to 9223372036854775807"),
    (OWN + "parameters = [{ at = 0, u32 = 1.5 }]\n", 3, "u32 must be an integer"),
    (OWN + "parameters = [{ at = 0, u32 = 1, zeroed = true }]\n", 3, "zeroed belongs to a buffer"),
    (OWN + "parameters = [{ at = 0, u32 = 1, sorted = true }]\n", 3, "sorted belongs to a buffer"),
    (OWN + 'parameters = [{ at = 0, buffer = "b", strictly_increasing = "yes" }]\n', 3, "strictly_increasing must be true or false"),
    (OWN + 'parameters = [{ at = 0, buffer = "b", bytes = -8 }]\n', 3, "bytes must be an integer from 1"),
    (OWN + 'parameters = [{ at = 0, buffer = "b", zeroed = 1 }]\n', 3, "zeroed must be true or false"),
    (OWN + 'parameters = [{ at = 0, u32 = 1, distinct = "rows" }]\n', 3, "distinct belongs to a buffer"),
    (OWN + 'parameters = [{ at = 0, buffer = "b", distinct = true }]\n', 3, "distinct must be a string"),
    (OWN + 'parameters = [{ at = 0, buffer = "b", distinct = "rows", every = 6 }]\n', 3, "every must be a multiple of 4"),
    (OWN + 'parameters = [{ at = 0, buffer = "b", every = 8 }]\n', 3, "every must be a multiple of 4, beside distinct"),
    (OWN + 'parameters = [{ at = 0, buffer = "b", distinct = "rows", every = 0 }]\n', 3, "every must be an integer from 4 to 65536"),
    (OWN + "parameters = [\n{ at = 0, u64 = 1 },\n{ at = 4, u32 = 1 }]\n", 5, "at = 4 lies in the parameter of line 4"),
    (OWN + "parameters = 3\n", 3, "parameters must be an array of tables"),
    (OWN + "parameters = [3]\n", 3, "parameters must be an array of tables"),
    (OWN + "parameters = [{ at = 9996, u32 = 5 }]\n", 3, "ok_barrier does not have 4 bytes at offset 9996 of its parameters; correct"),
    (OWN + "parameters = [{ at = 8, u64 = 5 }]\n", 3, "ok_barrier does not have 8 bytes at offset 8 of its parameters"),
    ("parameters = [{ at = 9996, u32 = 5 }]\n" + OWN, 1, "no kernel that this file launches has 4 bytes at offset 9996"),
    (OWN + "with = { a = 1 }\n[choices.a]\n1 = { parameters = [{ at = 9996, u32 = 5 }] }\n", 5, "no kernel that this file launches has 4"),
    (OWN + "dynamic_shared = -1\n", 3, "dynamic_shared must be an integer from 0 to 232448"),
    (OWN + "dynamic_shared = 232449\n", 3, "dynamic_shared must be an integer from 0 to 232448"),
    (OWN + 'block = "x"\n', 3, "block must be an integer from 1 to 65535, or an array of at most three"),
    (OWN + "block = [64, 0]\n", 3, "block must be an integer from 1"),
    (OWN + "block = [64, 64]\n", 3, "a block has at most 1024 threads, and this block has 4096"),
    (OWN + "grid = [1024, 1024]\n", 3, "a grid has at most 65536 blocks here, and this grid has 1048576"),
    (OWN + "cluster = 32\n", 3, "a cluster has at most 16 blocks, and this cluster has 32"),
    (OWN + "cluster = [2, 0]\n", 3, "cluster must be an integer from 1 to 65535, or an array of at most three"),
    (OWN + "name = 3\n", 3, "name must be a string"),
    ('[[launch]]\nkernel = "("\n', 2, r"kernel = '\(' is not a regular expression"),
    (OWN + 'lemmas = [{ file = "x.cu", line = 3 }]\n', 3, "a lemma has a name, or a file and a line; and a reason"),
    (OWN + 'lemmas = [{ file = "x.cu", line = 3, reason = "r", most = 3 }]\n', 3, "a lemma has no key 'most'"),
    (OWN + 'lemmas = [{ file = "x.cu", line = 0, reason = "r" }]\n', 3, "line must be an integer from 1"),
    (OWN + 'lemmas = [{ reason = "r" }]\n', 3, "a lemma has a name, or a file and a line"),
    (OWN + 'lemmas = [{ name = "n", file = "x.cu", line = 3, reason = "r" }]\n', 3, "a lemma has a name, or a file and a line"),
    (OWN + 'lemmas = [{ name = "n", line = 3, reason = "r" }]\n', 3, "a lemma has a name, or a file and a line"),
    (OWN + 'lemmas = [{ name = 3, reason = "r" }]\n', 3, "name must be a string"),
    (OWN + 'lemmas = [{ name = "n", reason = "r" }]\n', 3, "no line of the sources that the PTX names has the comment "
     "'// verify: lemma n'; add it, or correct the name"),
    (OWN + 'ranges = [{ name = "n", least = 0, most = 1, reason = "r" }]\n', 3, "has the comment '// verify: range n'"),
    (OWN + 'ranges = [{ file = "x.cu", line = 3, least = 0, reason = "r" }]\n', 3, "a range has a name, or a file and a line; the least and the most"),
    (OWN + 'ranges = [{ file = "x.cu", line = 3, least = 1, most = 0, reason = "r" }]\n', 3, "least = 1 must not be above most = 0"),
    (OWN + 'ranges = [{ file = "x.cu", line = 3, least = 0, most = 1, reason = "r", x = 1 }]\n', 3, "a range has no key 'x'"),
    (OWN + "assume = 3\n", 3, "assume must be a string, or an array of strings"),
    (OWN + 'assume = "w >= 2"\n', "3:11", "nothing is called 'w'; there are block_x to grid_z, and parameters with u32"),
    (OWN + 'assume = "2 <= 32 * w"\n', "3:21", "nothing is called 'w'"),
    (OWN + 'assume = "grid_x => 2"\n', "3:18", "one of <, <=, >, >=, == and != belongs here"),
    (OWN + 'assume = "grid_x"\n', "3:17", "one of <, <=, >, >=, == and != belongs here"),
    (OWN + 'assume = ["grid_x > 0",\n"2 * > 3"]\n', "4:6", "a number or a name belongs here"),
    (OWN + 'assume = "grid_x > 0 0"\n', "3:22", "a relation ends before this"),
    (OWN + 'assume = "grid_x > 0x10"\n', "3:20", "'0x10' is no number in decimal digits"),
    (OWN + 'assume = "65536 * 65536 > grid_x"\n', "3:19", "the numbers of a product must not make more than 2\\^31"),
    (OWN + 'assume = "grid_x * grid_y * grid_z > 1"\n', "3:11", "a product has at most two numbers that are not known"),
    (OWN + 'assume = "block_x * 2 >= 32 * grid_x + 100000"\n', 3, "does not hold for this launch"),
    (OWN + 'parameters = [{ at = 0, u32 = "w" }, { at = 4, s32 = "w" }]\n', 3, "the parameter of line 3 is called 'w', too"),
    (OWN + "parameters = [{ at = 0, s32 = 2147483648 }]\n", 3, "s32 must be an integer from -2147483648 to 2147483647"),
    (OWN + "grid = \n", 3, ""),
]
# (options, what the message says)
COMMANDS = [
    (["--param", "x"], "--param 'x' is no parameter; write INDEX=NUMBER"),
    (["--kernel", "^ok_barrier$", "--param", "1=5"], "ok_barrier does not have 1 bytes at offset 0 of parameter 1"),
    (["--dynamic-shared", "232449"], "--dynamic-shared '232449' is not a number of bytes from 0 to 232448"),
    (["--memory-limit", "0"], "--memory-limit '0' is not a number of MiB"),
    (["--allow", "race"], "--allow 'race' is not one of race-of-equal-values and missing-acquire"),
    (["--name", "x"], "--name chooses launches of a --launch file; give one"),
    (["--name", "("], r"--name '\(' is not a regular expression"),
    (["--kernel", "("], r"--kernel '\(' is not a regular expression"),
    (["--kernel", "nobody"], "no kernel matches --kernel 'nobody'"),
    (["--launch", "nofile.toml"], r"^nofile.toml: "),
    (["--launch", "/"], "^/ is a directory; give --launch a file"),
    (["--data", "-1"], r"--data '-1' is not an integer from 0 to 2\^64-1"),
    (["--data", "18446744073709551616"], r"is not an integer from 0 to 2\^64-1"),
    (["--grid", "4294967295"], "--grid '4294967295' is not a size; write X, X,Y or X,Y,Z, each an integer from 1 to 65535"),
    (["--grid", "2,"], "--grid '2,' is not a size"),
    (["--grid", "300,300"], "--grid '300,300' is too large: a grid has at most 65536 blocks here, and not 90000"),
    (["--cluster", "3,3,3"], "--cluster '3,3,3' is too large: a cluster has at most 16 blocks, and not 27"),
    (["--kernel", "^ok_barrier$", "--cluster", "2", "--grid", "3"],
     "ok_barrier: the grid of 3,1,1 blocks must be a multiple of the cluster of 2,1,1 along each axis"),
    (["--block", "2048"], "--block '2048' is too large: a block has at most 1024 threads, and not 2048"),
]


def complaint(result, pattern):
    """What is wrong with a run that should have been refused, or nothing."""
    lines = result.stderr.splitlines()
    good = result.returncode == 4 and not result.stdout and len(lines) == 1 and re.search(pattern, lines[0])
    return "" if good else f"status {result.returncode}, wanted {pattern!r}\n{result.stdout}{result.stderr}"


def main(program, ptx, folder):
    def run(*options):
        return subprocess.run([program, *options], capture_output=True, text=True)

    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "refused.toml")
    bad = 0

    def expect(case, text):
        nonlocal bad
        if text:
            bad += 1
            print(f"{case!r}: {text}")

    for text, line, message in LAUNCHES:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        place = re.escape(path) + (f":{line}: " if line else ": ")
        expect(text, complaint(run("--launch", path, ptx), f"^{place}.*{message}"))
    for options, message in COMMANDS:
        expect(options, complaint(run(*options, ptx), message))
    expect("a directory", complaint(run(folder), f"'{re.escape(folder)}' is a directory; name a PTX file"))

    # What several launches share may lie behind the parameters of some kernels, and a launch's kernel may be in another file.
    shared = 'parameters = [{ at = 8, u32 = 5 }]\n' + OWN
    for whole in (OWN + "parameters = [{ at = 0, buffer = \"b\" }]\n", shared + '[[launch]]\nkernel = "elsewhere"\n'):
        with open(path, "w", encoding="utf-8") as file:
            file.write(whole)
        result = run("--launch", path, "--data", "18446744073709551615", ptx)
        expect(whole, "" if result.returncode == 0 else f"status {result.returncode}\n{result.stdout}{result.stderr}")
    print(f"{len(LAUNCHES) + len(COMMANDS) + 3} cases, {bad} wrong")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
