"""Runs glove-verify on kernels in right and wrong forms, and adds up: run_twins.py PROGRAM PTX_FOLDER SOURCE...

For each twins/NAME.cu, PTX_FOLDER has NAME.right.ptx and NAME.wrong.ptx. A line of comment above a kernel has the options
of its launch, or "launch: " and lines of a launch file, separated by "; ". Fails if a wrong kernel is proved, or if the table is below
the bars that stand below.
"""

import os
import re
import subprocess
import sys
import tempfile
import time

KERNEL = re.compile(r"^(?:// (--.*|launch: .*)\n)?KERNEL (?:CLUSTER\([^)]*\) )?(\w+)\(", re.M)
VERDICTS = {0: "proved", 1: "defect", 2: "not proved", 3: "unsupported"}
LEAST_FOUND, LEAST_PROVED, MOST_ALARMS = 0.88, 0.82, 2


def options_of(text, kernel, folder):
    text = text or ""
    if not text.startswith("launch: "):
        return text.split() + ([] if "--block" in text else ["--block", "128"])
    path = os.path.join(folder, kernel + ".launch.toml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(["[[launch]]", f"kernel = '^{kernel}$'", *text.removeprefix("launch: ").split("; ")]))
    return ["--launch", path]


def main(program, folder, *sources):
    count = {form: dict.fromkeys(VERDICTS.values(), 0) for form in ("right", "wrong")}
    lines, proved_wrong = [], []
    begin = time.process_time()
    with tempfile.TemporaryDirectory() as scratch:
        for source in sources:
            with open(source, encoding="utf-8") as file:
                kernels = KERNEL.findall(file.read())
            name = os.path.basename(source).removesuffix(".cu")
            for text, kernel in kernels:
                options = options_of(text, kernel, scratch)
                for form in count:
                    result = subprocess.run([program, "--kernel", f"^{kernel}$", "--time-limit", "8", *options,
                                             os.path.join(folder, f"{name}.{form}.ptx")], capture_output=True, text=True)
                    if result.returncode not in VERDICTS:
                        print(result.stdout + result.stderr)
                        return 1
                    verdict = VERDICTS[result.returncode]
                    count[form][verdict] += 1
                    if verdict != {"right": "proved", "wrong": "defect"}[form]:
                        lines.append(f"{name} {kernel} {form}: {verdict}\n{result.stdout}")
                    if form == "wrong" and verdict == "proved":
                        proved_wrong.append(kernel)
    print("\n".join(lines))
    for form, verdicts in count.items():
        print(f"{sum(verdicts.values())} {form} kernels: " + ", ".join(f"{n} {name}" for name, n in verdicts.items()))
    total = sum(count["right"].values())
    return (proved_wrong or count["wrong"]["defect"] < LEAST_FOUND * total or
            count["right"]["proved"] < LEAST_PROVED * total or count["right"]["defect"] > MOST_ALARMS) and 1 or 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
