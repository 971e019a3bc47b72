"""glove-convert-beside, the program of wheels and npm packages, does what glove-convert does: test_program.py --build FOLDER --sample FILE

Both print the same and write the same bytes for each option. The former says in one line what is wrong if the library beside it is
missing, is another one, or has another version.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

RUNS = (["IN", "a.safetensors", "--threads", "2", "--top", "5000"], ["IN", "b.safetensors", "--top", "300", "--lower", "--normalize", "--verify"],
        ["IN", "c.safetensors", "--only-words", "words.txt", "--format", "glove-text", "--top", "900"], ["IN", "d.safetensors", "--shards", "3", "-q", "--top", "800"],
        ["IN", "e.safetensors", "--top", "500", "--lists", "3"], ["n.npy", "f.safetensors", "--vocabulary", "words.txt"],
        ["--info", "a.safetensors"], ["--verify", "d.safetensors.index.json"], ["--verify", "IN"], ["--info", "n.npy", "--vocabulary", "no"],
        ["tensors", "g", "--tensor", "t"], ["IN", "a.safetensors", "--format", "no\033"], ["--version"], ["--help"], ["--top", "0", "IN", "x"], [])
COPIES = {"missing": ("cannot load the library", lambda data: None),
          "another": ("cannot load the library", lambda data: data.replace(b"glove_convert_entry", b"glove_convert_other")),
          "version": ("install both from one package", lambda data: re.sub(rb"\d+\.\d+\.\d+( \(\w+(-dirty)?\)\0)", rb"9.9.9\1", data))}


def outcome(program, arguments, folder):
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, re.sub(r" in [\d.]+ s ", " in - s ", done.stderr)


def files_in(folder):
    return {name: open_bytes(os.path.join(folder, name)) for name in sorted(os.listdir(folder))}


def open_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser()
    for option in ("--build", "--sample"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    build, sample = os.path.abspath(options.build), os.path.abspath(options.sample)
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for name in ("glove-convert", "glove-convert-beside"):
            place = os.path.join(folder, name)
            os.mkdir(place)
            with open(os.path.join(place, "words.txt"), "w", encoding="utf-8") as file:
                file.write("the\nking\nnosuchword\n")
            header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }"
            with open(os.path.join(place, "n.npy"), "wb") as file:
                file.write(b"\x93NUMPY\1\0" + (118).to_bytes(2, "little") + header.ljust(117) + b"\n" + bytes(24))
            results.append([outcome(os.path.join(build, name), [sample if one == "IN" else one for one in run], place) for run in RUNS])
            results[-1].append(files_in(place))
        for run, ours, theirs in zip([*RUNS, "files"], *results):
            assert ours == theirs, f"{run}: {ours} {theirs}"
        statuses = [result[0] for result in results[1][:-1]]
        assert statuses == [0] * 8 + [1] * 4 + [0] * 2 + [2] * 2, statuses
        library, = (name for name in ("glove.so", "glove.dylib") if os.path.exists(os.path.join(build, name)))
        for name, (message, change) in COPIES.items():
            place = os.path.join(folder, name)
            os.mkdir(place)
            shutil.copy(os.path.join(build, "glove-convert-beside"), place)
            data = open_bytes(os.path.join(build, library))
            changed = change(data)
            if changed is not None:
                assert changed != data, name
                with open(os.path.join(place, library), "wb") as file:
                    file.write(changed)
            status, out, error = outcome(os.path.join(place, "glove-convert-beside"), [sample, "x.safetensors"], place)
            assert (status, out, error.count("\n")) == (1, "", 1) and message in error, (name, status, out, error)
            print(error, end="")
    print(f"{len(RUNS)} calls with the same output and {len(results[0][-1])} equal files")


if __name__ == "__main__":
    sys.exit(main())
