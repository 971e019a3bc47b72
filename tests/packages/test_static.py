"""A program of its own links SQLite and libglove.a: test_static.py --cmake CMAKE --build FOLDER --project FOLDER --convert PROGRAM

Installs the build into a temporary folder, builds examples/static against it with find_package, and compares the words it prints.
"""
import argparse
import os
import subprocess
import tempfile


def main():
    parser = argparse.ArgumentParser()
    for option in ("--cmake", "--build", "--project", "--convert"):
        parser.add_argument(option, required=True)
    options = parser.parse_args()
    environment = {name: value for name, value in os.environ.items() if name not in ("DESTDIR", "GLOVE_MODEL")}

    def run(*command):
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, f"{' '.join(command)}:\n{done.stdout}{done.stderr}"
        return done.stdout

    with tempfile.TemporaryDirectory() as folder:
        prefix, build = os.path.join(folder, "with space"), os.path.join(folder, "build")
        model = os.path.join(folder, "model.safetensors")
        run(options.cmake, "--install", options.build, "--prefix", prefix)
        run(options.cmake, "-S", os.path.join(options.project, "examples/static"), "-B", build, "-DCMAKE_PREFIX_PATH=" + prefix)
        run(options.cmake, "--build", build)
        run(options.convert, "-q", os.path.join(options.project, "examples/data/glove-6b-100d-20k.txt.gz"), model)
        printed = run(os.path.join(build, "neighbors"), model, "piano")
        expected = [("violin", 0.915787117369015), ("cello", 0.861870096977234), ("guitar", 0.777746602063181)]
        rows = [tuple(line.split("|")) for line in printed.splitlines()]
        assert [(word, float(similarity)) for word, similarity in rows] == expected, printed


if __name__ == "__main__":
    main()
