#!/usr/bin/env python3
"""Writes the wheels of the plugins in packaging/plugins: plugins.py DIST

Each is one module, which pip makes known to the program that it extends. The files' names are printed.
"""
import os
import sys

import project
import wheel

# module: what it is, the program that it extends with the group of its entry points, and the oldest version that it was tried with
PLUGINS = {
    "datasette_sqlite_glove": ("Search by vectors and texts in Datasette, by sqlite-glove", "datasette", "datasette", "0.65.5"),
    "llm_sqlite_glove": ("Indexes over the embeddings of llm, by sqlite-glove", "llm", "llm", "0.36"),
    "sqlite_utils_sqlite_glove": ("sqlite-glove in sqlite-utils", "sqlite_utils", "sqlite-utils", "4.2"),
}
METADATA = f"""Metadata-Version: 2.4
Name: %s
Version: {project.VERSION}
Summary: %s
Author: {project.AUTHORS}
License-Expression: {project.LICENSE}
License-File: LICENSE
Requires-Python: >=3.8
Requires-Dist: sqlite-glove>={project.VERSION}
Requires-Dist: %s>=%s

"""
WHEEL = f"Wheel-Version: 1.0\nGenerator: sqlite-glove ({project.VERSION})\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def write_plugin(module, dist):
    summary, group, program, oldest = PLUGINS[module]
    information, source = f"{module}-{project.VERSION}.dist-info", project.read("packaging/plugins", module + ".py")
    description = source.decode().split('"""')[1]
    files = [(f"{module}.py", source, False),
             (f"{information}/METADATA", (METADATA % (module.replace("_", "-"), summary, program, oldest) + description).encode(), False),
             (f"{information}/WHEEL", WHEEL.encode(), False),
             (f"{information}/entry_points.txt", f"[{group}]\nsqlite_glove = {module}\n".encode(), False),
             (f"{information}/licenses/LICENSE", project.read("LICENSE"), False)]
    return wheel.write_archive(os.path.join(dist, f"{module}-{project.VERSION}-py3-none-any.whl"), [*files, wheel.record(files, information)])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    for plugin in PLUGINS:
        print(write_plugin(plugin, sys.argv[1]))
