"""Checks that lemmas and ranges find the lines that comments mark: marks.py PROGRAM FOLDER

All threads of a kernel store at one place if what they load is positive, which is a race, unless a lemma is about the store or a
range about the load. Its PTX names the lines of a source that each case writes.
"""

import os
import re
import shutil
import subprocess
import sys

PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry store(.param .u64 in) .maxntid 64, 1, 1 {{
  .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<2>;
  .shared .align 4 .b8 place[4];
  ld.param.u64 %rd1, [in];
  mov.u32 %r1, %tid.x;
  .loc 1 {load} 1
  ld.global.u32 %r2, [%rd1];
  setp.lt.s32 %p1, %r2, 1;
  @%p1 bra DONE;
  .loc 1 {store} 1
  st.shared.u32 [place], %r1;
DONE:
  ret;
}}
.file 1 "{source}"
"""
PLAIN = "x\nload;\nstore;\n"
LEMMA = 'lemmas = [{ name = "own-place", reason = "the places differ" }]\n[[launch]]\n'
RANGE = 'ranges = [{ name = "sign", least = -5, most = 0, reason = "none is positive" }]\n[[launch]]\n'
BOTH = LEMMA.replace("own-place", "sign").replace("[[launch]]\n", "") + RANGE
MISSING = "no line of the sources that the PTX names has the comment '// verify: {}'; add it, or correct the name"
# (what it shows, the source, the launch file, the exit status, what the output says)
CASES = [
    ("no mark", PLAIN, "[[launch]]\n", 1, "race"),
    ("a lemma at the end of the line", "load;\nstore;  // verify: lemma own-place\n", LEMMA, 0, "lemma at a.cu:2: the places differ"),
    ("a lemma above the line", "load;\n// verify: lemma own-place\nstore;\n", LEMMA, 0, "lemma at a.cu:3: the places differ"),
    ("further comments and lines between", "load;\n  // verify: lemma own-place, as\n\n  // it is.\n\tstore;\n", LEMMA, 0, "lemma at a.cu:5"),
    ("ten lines that come before", "\n" * 10 + "load;\n// verify: lemma own-place\nstore;\n", LEMMA, 0, "lemma at a.cu:13"),
    ("two marks of a name", "// verify: lemma own-place\nload;\n// verify: lemma own-place\nstore;\n", LEMMA, 0, "lemma at a.cu:4"),
    ("a lemma of another line", "// verify: lemma own-place\nload;\nstore;\n", LEMMA, 1, "race"),
    ("a range above the line", "// verify: range sign\nload;\nstore;\n", RANGE, 0, "what a.cu:2 loads is from -5 to 0: none is positive"),
    ("a range of another line", "load;\n// verify: range sign\nstore;\n", RANGE, 1, "race"),
    ("a lemma and a range of one name", "// verify: range sign\nload;\nstore; // verify: lemma sign\n", BOTH, 0, "a.cu:2 loads"),
    ("no mark of the name", PLAIN, LEMMA, 4, MISSING.format("lemma own-place") + "$"),
    ("a longer name", "load;\nstore; // verify: lemma own-places\n", LEMMA, 4, MISSING.format("lemma own-place")),
    ("a mark of the other kind", "load;\nstore; // verify: range own-place\n", LEMMA, 4, MISSING.format("lemma own-place")),
    ("a mark behind the last line", PLAIN + "// verify: lemma own-place\n", LEMMA, 4, MISSING.format("lemma own-place")),
    ("no source", None, LEMMA, 4, "a.cu cannot be read, nor one of that name beside the PTX$"),
]


def main(program, folder):
    shutil.rmtree(folder, ignore_errors=True)
    elsewhere = os.path.join(folder, "elsewhere")
    os.makedirs(elsewhere)
    bad = 0
    for title, source, launch, status, message in CASES:
        text = source or PLAIN
        lines = {word: next(i for i, line in enumerate(text.split("\n"), 1) if f"{word};" in line) for word in ("load", "store")}
        # The source is where the PTX says, or beside the PTX.
        for place in (elsewhere, folder):
            path = os.path.join(elsewhere, "a.cu")
            for name, content in (("a.ptx", PTX.format(source=path, **lines)), ("a.launch.toml", launch)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(content)
            if source is not None:
                with open(os.path.join(place, "a.cu"), "w", encoding="utf-8") as file:
                    file.write(source)
            result = subprocess.run([program, "--launch", os.path.join(folder, "a.launch.toml"), os.path.join(folder, "a.ptx")],
                                    capture_output=True, text=True)
            output = result.stdout + result.stderr
            if result.returncode != status or not re.search(message, output.strip()):
                bad += 1
                print(f"{title}: status {result.returncode} instead of {status}\n{output}")
            if source is not None:
                os.remove(os.path.join(place, "a.cu"))
    print(f"{2 * len(CASES)} cases, {bad} wrong")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
