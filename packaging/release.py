#!/usr/bin/env python3
"""Writes everything that a release has: release.py BUILD DIST [ZIG_ROOT WINDOWS_BUILD WASM_BUILD]

BUILD is a build folder with -DGLOVE_STATIC=ON. DIST is emptied of what an earlier release left and then holds the wheel, the npm
packages, the Debian packages, a tar archive of what `cmake --install` copies, an SBOM in SPDX's form, and SHA256SUMS of them all.
With ZIG_ROOT, the folder where packaging/zig.sh builds, WINDOWS_BUILD, that of packaging/windows.sh, and WASM_BUILD, that of
packaging/wasm/build.sh, it also holds a wheel and an npm package for each platform built there, a zip archive for Windows, and the
npm package of the WebAssembly module.
packaging/release.sh makes such builds first.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from urllib.parse import quote

import deb
import npm
import project
import wheel
import windows
import zig

LICENSES = {"libstdc++-12-dev": "GPL-3.0-or-later WITH GCC-exception-3.1", "libhwy-dev": "Apache-2.0", "libeigen3-dev": "MPL-2.0",
            "nlohmann-json3-dev": "MIT", "libcli11-dev": "BSD-3-Clause", "libfast-float-dev": "MIT",
            "libtomlplusplus-dev": "MIT", "emscripten": "MIT",
            "zlib1g-dev": "Zlib", "zig": "MIT", "libc++": "Apache-2.0 WITH LLVM-exception",
            "libc++abi": "Apache-2.0 WITH LLVM-exception", "libunwind": "Apache-2.0 WITH LLVM-exception", "musl": "MIT",
            "g++-mingw-w64-x86-64-posix": "GPL-3.0-or-later WITH GCC-exception-3.1", "mingw-w64-x86-64-dev": "ZPL-2.1",
            "libz-mingw-w64-dev": "Zlib"}
OURS = re.compile(r"(sqlite[_-]glove|libsqlite3-mod-glove|glove-convert).*\.(whl|tgz|deb|tar\.gz|zip|spdx\.json)|SHA256SUMS")


def write_tree(build, dist):
    """What `cmake --install` copies, below one folder."""
    name = f"sqlite-glove-{project.VERSION}-linux-x64"
    path = os.path.join(dist, name + ".tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        environment = {key: value for key, value in os.environ.items() if key != "DESTDIR"}
        subprocess.run(["cmake", "--install", build, "--prefix", folder], check=True, stdout=subprocess.DEVNULL, env=environment)
        paths = sorted(os.path.join(parent, file) for parent, _, names in os.walk(folder) for file in names)
        files = [(f"{name}/{os.path.relpath(file, folder)}", open_bytes(file), "/bin/" in file) for file in paths]
        project.write_tar(path, [*files, (f"{name}/NOTICE", project.notices(), False)])
    return path


def open_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def sha256(path):
    return hashlib.sha256(open_bytes(path)).hexdigest()


def cuda_version(build):
    """The version of the CUDA runtime inside glove.so, or None."""
    if not project.has_cuda(build):
        return None
    for parent, _, names in os.walk(os.path.join(build, "CMakeFiles")):
        if "CMakeCUDACompiler.cmake" in names:
            with open(os.path.join(parent, "CMakeCUDACompiler.cmake"), encoding="utf-8") as file:
                return re.search(r'CMAKE_CUDA_COMPILER_VERSION "([^"]*)"', file.read()).group(1)
    return "unknown"


def debian_components(packages):
    for package in packages:
        done = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True, check=True)
        yield package, done.stdout, LICENSES[package]


def sqlite_header():
    header = project.read("third_party/sqlite/sqlite3.h").decode("utf-8", errors="replace")
    return "sqlite3.h", re.search(r'#define SQLITE_VERSION\s+"([^"]*)"', header).group(1), "blessing"


def zig_components():
    """The same of packaging/zig.sh's builds."""
    with open(os.path.join(project.ZIG, "package.json"), encoding="utf-8") as file:
        version = json.load(file)["version"]
    parts = [(name, version if name == "zig" else f"of Zig {version}", LICENSES[name]) for name in project.ZIG_PARTS]
    return [*debian_components(project.ZIG_CONTAINED), sqlite_header(), *parts]


def components(build):
    """[(name, version, licence)] of what the binaries contain."""
    found = [*debian_components(project.CONTAINED), sqlite_header()]
    cuda = cuda_version(build)
    if cuda is not None:
        found.append(("cudart_static", cuda, "LicenseRef-NVIDIA-CUDA-EULA"))
    return found


def purl(name, version, file=None):
    """The package URL of a component or, with the name of its file, of what a release has; None if there is no type for it."""
    if file is None:
        return None if name in ("sqlite3.h", "sqlite3.c", "cudart_static") or name in project.ZIG_PARTS else f"pkg:deb/debian/{name}@{quote(version)}"
    if file.endswith(".whl"):
        return f"pkg:pypi/sqlite-glove@{version}?file_name={quote(file)}"
    if file.endswith(".tgz"):
        return f"pkg:npm/{file[:-len('-' + version + '.tgz')]}@{version}"
    if file.endswith(".deb"):
        package, debian_version, architecture = file[:-len(".deb")].split("_")
        return f"pkg:deb/{package}@{quote(debian_version)}?arch={architecture}"
    return f"pkg:generic/sqlite-glove@{version}?file_name={quote(file)}"


def spdx_package(name, version, license_, checksum=None):
    identifier = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)
    package = {"SPDXID": identifier, "name": name, "versionInfo": version, "licenseDeclared": license_,
               "licenseConcluded": license_, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
               "copyrightText": "NOASSERTION"}
    locator = purl(name, version, name if checksum else None)
    if locator:
        package["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}]
    if checksum:
        package["checksums"] = [{"algorithm": "SHA256", "checksumValue": checksum}]
    return package


def write_sbom(build, dist, artifacts, others):
    """SPDX 2.3: every artifact, and what each of them contains. `others`: [(artifacts of other systems, what they contain)]."""
    created = int(os.environ.get("SOURCE_DATE_EPOCH") or project.EPOCH)
    native_parts = components(build)
    parts_of = {path: parts for paths, parts in others for path in paths}
    all_parts = [*native_parts, *(part for _, parts in others for part in parts)]
    contained = [spdx_package(*component) for component in dict.fromkeys(all_parts)]
    scripts = f"{npm.MAIN}-{project.VERSION}.tgz"  # the package without a library
    names_of = {path: {part[0] for part in parts_of.get(path, native_parts)}
                for path in artifacts if os.path.basename(path) != scripts}
    files = [spdx_package(os.path.basename(path), project.VERSION, project.LICENSE, sha256(path)) for path in artifacts]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": file["SPDXID"]}
                 for file in files]
    relations += [{"spdxElementId": file["SPDXID"], "relationshipType": "CONTAINS", "relatedSpdxElement": part["SPDXID"]}
                  for path, file in zip(artifacts, files) for part in contained if part["name"] in names_of.get(path, ())]
    digest = hashlib.sha256("".join(sha256(path) for path in artifacts).encode()).hexdigest()
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"sqlite-glove-{project.VERSION}", "documentNamespace": f"urn:sha256:{digest}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(created)),
                         "creators": ["Tool: sqlite-glove-release"]},
        "packages": files + contained, "relationships": relations,
        "hasExtractedLicensingInfos": [{"licenseId": "LicenseRef-NVIDIA-CUDA-EULA",
                                        "extractedText": "The end-user licence agreement of NVIDIA's CUDA toolkit."}],
    }
    path = os.path.join(dist, f"sqlite-glove-{project.VERSION}.spdx.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=2)
        file.write("\n")
    return path


def write_release(build, dist, zig_root=None, windows_build=None, wasm_build=None):
    os.makedirs(dist, exist_ok=True)
    for name in os.listdir(dist):
        if OURS.fullmatch(name):
            os.remove(os.path.join(dist, name))
    others = []
    if zig_root:
        others.append((zig.write_packages(zig_root, dist), zig_components()))
    if windows_build:
        parts = [*debian_components(project.WINDOWS_CONTAINED), sqlite_header()]
        others.append((windows.write_packages(windows_build, dist), parts))
    if wasm_build:
        parts = [*debian_components(project.WASM_CONTAINED), ("sqlite3.c", "of npm's better-sqlite3", "blessing")]
        others.append(([npm.write_wasm(wasm_build, dist)], parts))
    artifacts = [wheel.write_wheel(build, dist), *npm.write_packages(build, dist), *deb.write_packages(build, dist),
                 write_tree(build, dist), *(path for paths, _ in others for path in paths)]
    artifacts.append(write_sbom(build, dist, artifacts, others))
    with open(os.path.join(dist, "SHA256SUMS"), "w", encoding="utf-8") as file:
        for path in sorted(artifacts):
            file.write(f"{sha256(path)}  {os.path.basename(path)}\n")
    return artifacts


if __name__ == "__main__":
    if len(sys.argv) not in (3, 6):
        raise SystemExit(__doc__)
    print("\n".join(write_release(*sys.argv[1:])))
