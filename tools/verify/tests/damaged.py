"""Damages the probes' PTX and checks that glove-verify ends in order: damaged.py PROGRAM PTX FILES [SEED]

Each file is the PTX of a few probes with bytes changed, lines dropped, doubled or swapped, or its end cut off. The program must
end with one of its exit statuses within its time limit: no signal, no hang.
"""

import os
import random
import re
import subprocess
import sys
import tempfile


def damaged(rng, text):
    lines = text.split("\n")
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(lines))
        kind = rng.choice(["byte", "byte", "drop", "double", "swap", "cut", "number"])
        if kind == "byte" and lines[at]:
            place = rng.randrange(len(lines[at]))
            lines[at] = lines[at][:place] + chr(rng.randrange(1, 127)) + lines[at][place + 1:]
        elif kind == "drop":
            del lines[at]
        elif kind == "double":
            lines.insert(at, lines[at])
        elif kind == "swap":
            other = rng.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        elif kind == "cut" and rng.random() < 0.3:
            lines = lines[:at]
        elif kind == "number":
            number = rng.choice(["-1", "0", "4294967296", "99999999999999999999", "0x7fffffffffffffff", "1048577"])
            lines[at] = re.sub(r"\b\d+\b", number, lines[at], count=1)
        lines = lines or [""]
    return "\n".join(lines)


def main(program, ptx, count, seed=None):
    seed = seed or os.environ.get("GLOVE_TEST_SEED") or str(random.randrange(1 << 32))
    rng = random.Random(int(seed))
    with open(ptx, encoding="utf-8") as source:
        text = source.read()
    shared = "".join(re.findall(r"^\.shared.*\n", text, flags=re.M))
    head, *kernels = re.split(r"(?=^\.visible \.entry)", re.sub(r"^\.shared.*\n", "", text, flags=re.M), flags=re.M)
    kernels = [kernel for kernel in kernels if ".entry" in kernel]
    codes, bad = {}, 0
    for i in range(int(count)):
        source = damaged(rng, head + shared + "".join(rng.sample(kernels, 3)))
        with tempfile.NamedTemporaryFile("w", suffix=".ptx", encoding="utf-8") as file:
            file.write(source)
            file.flush()
            try:
                result = subprocess.run([program, "--block", "64", "--grid", "2", "--time-limit", "1", file.name],
                                        capture_output=True, timeout=60)
                code = result.returncode
            except subprocess.TimeoutExpired:
                code = "no end"
        codes[code] = codes.get(code, 0) + 1
        if code not in (0, 1, 2, 3, 4):
            bad += 1
            kept = os.path.join(tempfile.gettempdir(), f"damaged-{seed}-{i}.ptx")
            with open(kept, "w", encoding="utf-8") as file:
                file.write(source)
            print(f"seed {seed}, file {i}: exit status {code}; kept as {kept}")
    print(f"seed {seed}: {count} damaged files, exit statuses {dict(sorted(codes.items(), key=str))}, {bad} not in order")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
