"""glove-convert draws a bar on a terminal: progress_bar_test.py GLOVE-CONVERT SAMPLE

At 80 columns and at others, no line is longer than the terminal, and from 50 columns on each has a bar and the time left.
"""
import fcntl
import os
import pty
import re
import struct
import sys
import tempfile
import termios

CONVERT, SAMPLE = sys.argv[1:]


def lines_at(columns, folder):
    """What glove-convert writes to a terminal, line by line."""
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execv(CONVERT, [CONVERT, SAMPLE, os.path.join(folder, "out.safetensors")])
    written = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the end, on Linux
            break
        if not piece:
            break
        written += piece
    os.close(terminal)
    assert os.waitpid(child, 0)[1] == 0, written
    return [line for line in written.decode().split("\r\x1b[K") if " left" in line]


def main():
    with tempfile.TemporaryDirectory() as folder:
        for columns in (200, 80, 50, 20):
            lines = lines_at(columns, folder)
            if not lines:
                print(f"{columns} columns: it was too fast for a bar")
                continue
            print(f"{columns} columns: {lines[-1]}")
            for line in lines:
                assert len(line) < columns, line
                if columns >= 50:
                    assert re.search(r"^reading .*\[[# ]{10,}\]  [ \d]+ %.* \d+:\d\d left$", line), line


if __name__ == "__main__":
    main()
