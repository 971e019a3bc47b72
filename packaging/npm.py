#!/usr/bin/env python3
"""Writes the npm packages: npm.py BUILD DIST

BUILD is a build folder with glove.so and glove-convert, DIST the folder that the two tarballs are written to: sqlite-glove, which
people install, and sqlite-glove-linux-x64, the library, which the first needs. The names of the files are printed.

npm.py --wasm BUILD DIST writes sqlite-glove-wasm from the build folder of packaging/wasm/build.sh.
"""
import json
import os
import sys

import platforms
import project

MAIN = "sqlite-glove"
PLACES = {"homepage": project.URL, "repository": {"type": "git", "url": f"git+{project.URL}.git"},
          "bugs": {"url": f"{project.URL}/issues"}} if project.URL else {}
COMMON = {"version": project.VERSION, "license": project.LICENSE, "author": project.AUTHORS, **PLACES,
          "keywords": project.KEYWORDS}


def main_package(build):
    # Names the packages with the library, as optional dependencies, only with GLOVE_NPM_OWNED=1: nobody owns their names in npm's
    # registry yet, and npm asks it even for optional ones. For the same reason peerDependenciesMeta stands alone: npm ignores it, and
    # pnpm and Yarn let the stores import these peers.
    # The rest is what the package.json of the sources says of their folder packaging/npm/sqlite-glove.
    source = json.loads(project.read("package.json").decode().replace(f"packaging/npm/{MAIN}/", ""))
    manifest = {"name": MAIN, "description": project.description(build), **COMMON,
                **{key: source[key] for key in ("main", "types", "exports", "bin", "engines", "peerDependenciesMeta")}}
    if os.environ.get("GLOVE_NPM_OWNED"):
        manifest["optionalDependencies"] = {platform.npm: project.VERSION for platform in [*platforms.ALL, platforms.WINDOWS]}
    names = ["README.md", "filters.js", "glove-convert.js", "index.d.ts", "index.js", "neural.js", "search.js", "sql.js", "sqlite-vec.js", "store.js", "table.js", "values.js"]
    names += [f"{store}.{kind}" for store in ("langchain", "llamaindex") for kind in ("cjs", "d.cts", "d.mts", "js", "mjs")]
    files = [(name, project.read("packaging/npm", MAIN, name), name == "glove-convert.js") for name in names]
    return manifest, [("LICENSE", project.read("LICENSE"), False), *files]


README = """# {name}

The library of the package `sqlite-glove` for {description}. Install
both.
"""


def platform_package(build, platform):
    what = platform.description
    if not project.has_cuda(build) and "without the CUDA backend" not in what:
        what += ", without the CUDA backend"
    manifest = {"name": platform.npm, "description": f"The library of sqlite-glove for {what}", **COMMON,
                "os": [platform.os], "cpu": [platform.cpu], **({"libc": [platform.libc]} if platform.libc else {})}
    readme = README.format(name=platform.npm, description=what)
    return manifest, [("LICENSE", project.read("LICENSE"), False),
                      ("THIRD-PARTY-NOTICES", project.third_party(platform), False),
                      ("README.md", readme.encode(), False),
                      (platform.library, project.built(build, platform.library, platform), True),
                      (platform.program, project.built(build, platform.built_program, platform), True)]


def write_package(dist, manifest, files):
    path = os.path.join(dist, f"{manifest['name']}-{manifest['version']}.tgz")
    files = [("package.json", (json.dumps(manifest, indent=2) + "\n").encode(), False), *files]
    project.write_tar(path, [("package/" + name, data, executable) for name, data, executable in files])
    return path


def write_packages(build, dist):
    os.makedirs(dist, exist_ok=True)
    return [write_package(dist, *main_package(build)), write_platform(build, dist, platforms.NATIVE)]


def write_platform(build, dist, platform):
    return write_package(dist, *platform_package(build, platform))


def write_wasm(build, dist):
    os.makedirs(dist, exist_ok=True)
    manifest = {"name": "sqlite-glove-wasm", "description": "SQLite with exact vector search, for browsers and Node.js", **COMMON,
                "type": "module", "exports": {".": {"types": "./index.d.ts", "default": "./index.mjs"},
                                              "./sqlite-glove.wasm": "./sqlite-glove.wasm"},
                "types": "index.d.ts", "sideEffects": False, "engines": {"node": ">=18"}}
    names = ["README.md", "files.mjs", "index.d.ts", "index.mjs", "oo1.mjs", "opfs.mjs"]
    files = [("LICENSE", project.read("LICENSE"), False), ("THIRD-PARTY-NOTICES", project.third_party(contained=project.WASM_CONTAINED), False),
             *((name, project.read("packaging/wasm", name), False) for name in names)]
    for name in ("sqlite-glove.mjs", "sqlite-glove.wasm"):
        path = os.path.join(build, name)
        if not os.path.isfile(path):
            raise SystemExit(f"{path} does not exist; run packaging/wasm/build.sh")
        with open(path, "rb") as file:
            files.append((name, file.read(), False))
    return write_package(dist, manifest, files)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--wasm":
        print(write_wasm(*sys.argv[2:]))
        raise SystemExit
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    print("\n".join(write_packages(*sys.argv[1:])))
