#!/usr/bin/env python3
"""Records docs/terminal.svg from a session of the sqlite3 shell: terminal.py EXTENSION CONVERT [--check]

Runs LINES in the shell, with the extension EXTENSION and the sample model that the program CONVERT makes, and draws what the
shell printed. With --check nothing is written; the status is 1 if the drawing or its text would change, and 77 without a shell.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parent.parent
DRAWING = ROOT / "docs" / "terminal.svg"
SAMPLE = ROOT / "examples" / "data" / "glove-6b-100d-20k.txt.gz"
LINES = """\
.load ./glove
SELECT glove_load('glove.safetensors');
CREATE TABLE note(id INTEGER PRIMARY KEY, year INTEGER, body TEXT);
INSERT INTO note(year, body) VALUES (2019, 'Snow and wind in the north.'),
 (2024, 'Waves broke over the harbour wall.'), (2025, 'The bank raised its interest rates.');
CREATE VIRTUAL TABLE note_vec
 USING glove_index(content='note', rowid='id', text='body', model='glove');
SELECT body FROM note_vec JOIN note USING (id)
 WHERE query = 'a storm is coming' AND year > 2020 ORDER BY rank LIMIT 1;
INSERT INTO note(year, body) VALUES (2025, 'Heavy rain along the coast.');
SELECT body FROM note_vec JOIN note USING (id)
 WHERE query = 'a storm is coming' AND year > 2020 ORDER BY rank LIMIT 1;
""".splitlines()
MARK = "-- end of the answer --"

# Seconds until a typed and a printed line appear, and how long the whole session is shown before it begins again.
TYPED, PRINTED, SHOWN = 1.2, 0.3, 6.0
LINE_HEIGHT, LEFT, TOP, CHARACTER = 19, 16, 44, 7.83
BACKGROUND, BAR, BORDER, PRINTED_TEXT, TYPED_TEXT, PROMPT_TEXT = "#161b22", "#21262d", "#57606a", "#7ee787", "#e6edf3", "#8b949e"


def session(extension, convert):
    """[(prompt, text)]: the lines of the session, with an empty prompt for what the shell printed."""
    # The shell prints no prompts to a pipe, so a mark ends the output of each statement.
    statements = "\n".join(LINES).replace("\n ", "\0 ").split("\n")
    script = "".join(f"{statement}\n.print {MARK}\n" for statement in statements).replace("\0", "\n")
    with tempfile.TemporaryDirectory(prefix="glove-terminal-") as folder:
        os.symlink(os.path.abspath(extension), os.path.join(folder, "glove.so"))
        subprocess.run([convert, "--quiet", SAMPLE, os.path.join(folder, "glove.safetensors")], check=True)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GLOVE_")}
        done = subprocess.run(["sqlite3", "-init", os.devnull, "-batch", ":memory:"], input=script, cwd=folder, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    answers = done.stdout.split(MARK + "\n")
    if len(answers) != len(statements) + 1:
        raise SystemExit("the shell ended early:\n" + done.stdout)
    shown = []
    for statement, answer in zip(statements, answers):
        first, *others = statement.split("\0")
        shown += [("sqlite> ", first)] + [("   ...> ", line) for line in others] + [("", line) for line in answer.splitlines()]
    return shown


def drawing_of(shown):
    """The SVG: each line appears in its turn where animations run, and all of them are there where they do not."""
    starts, clock = [], 0.0
    for prompt, _ in shown:
        clock += TYPED if prompt else PRINTED
        starts.append(clock)
    length = clock + SHOWN
    width = round(2 * LEFT + CHARACTER * max(len(prompt + text) for prompt, text in shown))
    height = TOP + LINE_HEIGHT * len(shown) + 12
    styles = [f"@keyframes l{i}{{0%,{start / length * 100:.2f}%{{opacity:0}}{start / length * 100 + 0.01:.2f}%,100%{{opacity:1}}}}"
              f"#l{i}{{animation:l{i} {length:.1f}s infinite}}" for i, start in enumerate(starts)]
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
             'font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="13">',
             "<title>A session of the sqlite3 shell with sqlite-glove</title>",
             "<style>text{white-space:pre}@media (prefers-reduced-motion:no-preference){" + "".join(styles) + "}</style>",
             f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="{BACKGROUND}" stroke="{BORDER}"/>',
             f'<path d="M1 28V8.5A7.5 7.5 0 0 1 8.5 1H{width - 8.5}A7.5 7.5 0 0 1 {width - 1} 8.5V28Z" fill="{BAR}"/>',
             f'<text x="{LEFT}" y="19" fill="{PROMPT_TEXT}">sqlite3</text>']
    for i, (prompt, text) in enumerate(shown):
        spans = f'<tspan fill="{PROMPT_TEXT}">{escape(prompt)}</tspan><tspan fill="{TYPED_TEXT}">{escape(text)}</tspan>' if prompt else \
            f'<tspan fill="{PRINTED_TEXT}">{escape(text)}</tspan>'
        lines.append(f'<text id="l{i}" x="{LEFT}" y="{TOP + LINE_HEIGHT * i + 8}" xml:space="preserve">{spans}</text>')
    return "\n".join(lines) + "\n</svg>\n"


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    if len(arguments) != 2:
        raise SystemExit(__doc__)
    if shutil.which("sqlite3") is None:
        print("skipped: there is no sqlite3 shell")
        return 77
    drawing = drawing_of(session(*arguments))
    if "--check" not in sys.argv:
        DRAWING.write_text(drawing, encoding="utf-8")
        return 0
    if DRAWING.read_text(encoding="utf-8") == drawing:
        return 0
    print("docs/terminal.svg is not what the shell prints now; run docs/terminal.py EXTENSION CONVERT. It would be:\n" + drawing)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
