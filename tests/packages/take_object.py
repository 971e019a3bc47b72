"""A compiler launcher that compiles nothing twice: take_object.py BUILD PROJECT PART SOURCES APART COMPILER ARGUMENTS...

PART is the build folder of sqlite-glove as a part of another project, and SOURCES are its sources there. An object is that of BUILD,
the build folder of the same sources in PROJECT, which must come from the same command; it is an error if that differs. Only what
starts with APART (a folder of PART, "" for none) may differ, and is compiled.
"""
import json
import os
import subprocess
import sys


def general(words, build, sources):
    """The command without the names of folders, which differ, the file of dependencies, which BUILD does not record, and what ccache needs."""
    return [word.replace(build + "/", "").replace(os.path.relpath(build) + "/", "").replace(sources, "SOURCES")
            for option, word in zip(["", *words], words)
            if not word.startswith("-M") and option not in ("-MT", "-MF") and word != "-fpch-preprocess"]


def main():
    build, project, part, sources, apart, *command = sys.argv[1:]
    output = command[command.index("-o") + 1]
    name = os.path.relpath(output, part)  # in either build folder
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = [entry["command"].split() for entry in json.load(file)]
    theirs = [general(words, build, project) for words in commands if words[words.index("-o") + 1] == name]
    ours = general(command, part, sources)
    if theirs != [ours]:
        if apart and name.startswith(apart):
            sys.exit(subprocess.run(command, check=False).returncode)
        sys.exit(f"take_object.py: {name} is not compiled as in {build}:\n{ours}\n{theirs}")
    if not os.path.exists(os.path.join(build, name)):
        sys.exit(f"take_object.py: {name} is not built in {build}")
    os.symlink(os.path.join(build, name), output)
    with open(command[command.index("-MF") + 1], "w", encoding="utf-8") as file:
        file.write(output + ":\n")


if __name__ == "__main__":
    main()
