"""Runs the tutorial of README.md, or another page: tutorial.py PROGRAM NVCC DOCUMENT [LEAST_STEPS]

Each ```cuda block is saved as the file that its first line names in a comment, or as total.cu; each ```sh block runs in one shell, in the order of the page, and must print exactly the plain
block that follows. "..." at the end of a line of output stands for what differs between machines.
"""

import os
import re
import subprocess
import sys
import tempfile

KERNEL = re.compile(r"^```cuda\n(.*?)^```\n", re.M | re.S)
STEP = re.compile(r"^```sh\n(.*?)^```\n\s*^```\n(.*?)^```\n", re.M | re.S)
END_OF_STEP = "-- end of a step --"


def matches(line, expected):
    return line == expected or (expected.endswith("...") and line.startswith(expected[:-3]))


def main(program, nvcc, document, least="14"):
    if not nvcc or nvcc.endswith("NOTFOUND"):
        print("skipped: there is no nvcc to compile the tutorial's kernel to PTX")
        return 77
    with open(document, encoding="utf-8") as file:
        text = file.read()
    steps = STEP.findall(text)
    script = "".join(f"{commands}echo '{END_OF_STEP}'\n" for commands, _ in steps)
    folders = [os.path.dirname(os.path.abspath(program)), os.path.dirname(nvcc), os.environ.get("PATH", "")]
    with tempfile.TemporaryDirectory() as folder:
        for kernel in KERNEL.findall(text):
            name = re.match(r"// (\w+\.cu)\n", kernel)
            with open(os.path.join(folder, name[1] if name else "total.cu"), "w", encoding="utf-8") as file:
                file.write(kernel)
        result = subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, text=True,
                                env=os.environ | {"PATH": os.pathsep.join(folders)})
    printed = result.stdout.split(END_OF_STEP + "\n")
    bad = 0
    for (commands, expected), actual in zip(steps, printed):
        lines, wanted = actual.splitlines(), expected.splitlines()
        if len(lines) != len(wanted) or not all(map(matches, lines, wanted)):
            bad += 1
            print(f"{commands}prints\n{actual}and not\n{expected}")
    print(f"{len(steps)} steps, {bad} wrong")
    if bad or len(printed) != len(steps) + 1:
        print(result.stderr)
    return bad != 0 or len(printed) != len(steps) + 1 or len(steps) < int(least)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
