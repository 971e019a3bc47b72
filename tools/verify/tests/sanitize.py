"""Compares glove-verify with compute-sanitizer: sanitize.py [--jobs N] [--part K/N] PROGRAM PTX_DIR SPEC_DIR

PTX_DIR holds NAME.sm_90.ptx for each SPEC_DIR/NAME.launch.toml, as run_specs.py leaves them. Each launch whose name begins with "ci"
runs on the GPU under racecheck and synccheck, as it is and with each of its first barriers broken: left out, or skipped by the
first thread. PROGRAM, which is glove-verify, is asked about the same code; `-` asks nobody. Needs Python with NumPy, the driver and compute-sanitizer,
but no compiler. The exit status is 1 if the sanitizer finds a hazard in code that glove-verify has proved, or in a kernel as it
is, or if a launch fails; 77 if the sanitizer cannot run here: some hosts do not support it.
"""

import argparse
import concurrent.futures
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib

MOST_BARRIERS = 3  # of each kernel, that are broken in turn
BUFFER_BYTES = 4 << 20
SECONDS = 30  # for a run of glove-verify or of the sanitizer
ZEROS = {"counters", "next_counters", "ids", "lists", "tiles", "group_of", "words", "sizes", "report", "done", "sums"}


def entry_of(text, pattern):
    """(name, its first line, the line behind its last) of each entry whose name matches."""
    lines = text.split("\n")
    for start, line in enumerate(lines):
        if (found := re.search(r"\.entry (\w+)", line)) and re.search(pattern, found[1]):
            yield found[1], start, next(i for i in range(start, len(lines)) if lines[i].startswith("}")) + 1


def broken(text, name, how, number):
    """The PTX with barrier `number` of an entry left out ("without"), or not for the first thread ("partly")."""
    lines = text.split("\n")
    _, start, end = next(entry_of(text, f"^{name}$"))
    at = [i for i in range(start, end) if "bar.sync" in lines[i]][number]
    lines[at] = "" if how == "without" else (
        "{ .reg .pred %skip; .reg .u32 %who; mov.u32 %who, %tid.x; setp.ne.u32 %skip, %who, 0; @%skip bar.sync 0; }")
    return "\n".join(lines)


def launches_of(path):
    """Each launch of a file as one table, as glove-verify puts it together."""
    with open(path, "rb") as file:
        spec = tomllib.load(file)
    for own in spec["launch"]:
        tables = [spec] + [spec["choices"][factor][str(value)] for factor, value in sorted(own.get("with", {}).items())] + [own]
        launch = {key: value for table in tables for key, value in table.items()}
        launch["parameters"] = {item["at"]: item for table in tables for item in table.get("parameters", [])}
        names = ", ".join(f"{factor} {value}" for factor, value in sorted(own.get("with", {}).items()))
        launch["name"] = own.get("name", names)
        yield launch


def cases(ptx_dir, spec_dir):
    """(file, launch, entry, how it is broken, which barrier) of all that is tried."""
    for file in sorted(os.listdir(spec_dir)):
        name = file.removesuffix(".launch.toml")
        if name == file:
            continue
        with open(os.path.join(ptx_dir, f"{name}.sm_90.ptx"), encoding="utf-8") as source:
            text = source.read()
        seen = set()
        for launch in launches_of(os.path.join(spec_dir, file)):
            if not launch["name"].startswith("ci"):
                continue
            for entry, start, end in entry_of(text, launch["kernel"]):
                yield file, launch["name"], entry, "", 0
                barriers = sum("bar.sync" in line for line in text.split("\n")[start:end])
                for number in range(0 if entry in seen else min(barriers, MOST_BARRIERS)):
                    yield file, launch["name"], entry, "without", number
                    if number == 0:
                        yield file, launch["name"], entry, "partly", number
                seen.add(entry)


def ptx_of(ptx_dir, case):
    file, _, entry, how, number = case
    with open(os.path.join(ptx_dir, file.replace(".launch.toml", ".sm_90.ptx")), encoding="utf-8") as source:
        text = source.read()
    return broken(text, entry, how, number) if how else text


# --- One launch on the GPU --------------------------------------------------------------------------------


def contents(name, numpy):
    random = numpy.random.default_rng(1)
    if name in ZEROS:
        return numpy.zeros(BUFFER_BYTES, numpy.uint8)
    if name in ("codes", "fragments", "packed_rows"):
        return random.integers(0, 256, BUFFER_BYTES, numpy.uint8)
    if name == "list_sizes":
        return numpy.full(BUFFER_BYTES // 4, 40, numpy.uint32)
    values = random.random(BUFFER_BYTES // 4, numpy.float32)
    if name == "residuals":  # few rows are candidates
        values[numpy.arange(values.size) % 40 != 0] = numpy.inf
    return values


def parameter_bytes(text, entry):
    """The size of all parameters of an entry together."""
    sizes = {"u8": 1, "u16": 2, "u32": 4, "f32": 4, "u64": 8, "f64": 8, "b64": 8, "b32": 4}
    end = 0
    for align, kind, count in re.findall(r"\.param (?:\.align (\d+) )?\.(\w+) \w+(?:\[(\d+)\])?",
                                         text[text.index(f".entry {entry}("):].split(")")[0]):
        size = int(count) if count else sizes[kind]
        step = int(align or size)
        end = (end + step - 1) // step * step + size
    return end


def launch_once(ptx_dir, spec_dir, case):
    import numpy
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(function, *arguments):
        code = getattr(cuda, function)(*arguments)
        if code != 0:
            raise SystemExit(f"{function} returned {code}")

    text = ptx_of(ptx_dir, case)
    launch = next(item for item in launches_of(os.path.join(spec_dir, case[0]))
                  if item["name"] == case[1] and re.search(item["kernel"], case[2]))
    context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), text.encode())
    call("cuModuleGetFunction", ctypes.byref(function), module, case[2].encode())
    size = parameter_bytes(text, case[2])
    block = numpy.zeros(size, numpy.uint8)
    kernel = re.search(r"\d([a-z][a-z_]*_kernel)", case[2])[1]
    left_open = [item for settings in launch.get("x-when-run", []) if settings["kernel"] == kernel for item in settings["parameters"]]
    for at, value in [(item["at"], item) for item in left_open] + list(launch["parameters"].items()):
        if at >= size:
            continue
        if "buffer" in value:
            memory, data = ctypes.c_uint64(), contents(value["buffer"], numpy)
            call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(BUFFER_BYTES))
            call("cuMemcpyHtoD_v2", memory, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(BUFFER_BYTES))
            number, width = memory.value, 8
        else:
            number, width = (value["u32"], 4) if "u32" in value else (value["u64"], 8)
        width = min(width, size - at)
        block[at:at + width] = numpy.frombuffer(number.to_bytes(8, "little"), numpy.uint8)[:width]
    dynamic = launch.get("dynamic_shared", 0)
    if dynamic > 0:
        call("cuFuncSetAttribute", function, 8, dynamic)
    shape = [([value] if isinstance(value, int) else list(value)) + [1, 1] for value in
             (launch.get("grid", 1), launch.get("block") or block_of(text, case[2]))]
    length = ctypes.c_size_t(size)
    extra = (ctypes.c_void_p * 5)(1, block.ctypes.data, 2, ctypes.addressof(length), 0)
    call("cuLaunchKernel", function, *shape[0][:3], *shape[1][:3], dynamic, None, None, extra)
    call("cuCtxSynchronize")
    print("the launch ended")


def block_of(text, entry):
    return int(re.search(r"\.maxntid (\d+)", text[text.index(f".entry {entry}("):])[1])


# --- All of them ------------------------------------------------------------------------------------------


def verify(program, ptx_dir, spec_dir, case):
    """glove-verify's exit status; None if it is not asked."""
    if program == "-":
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".ptx", encoding="utf-8") as file:
        file.write(ptx_of(ptx_dir, case))
        file.flush()
        return subprocess.run([program, "--launch", os.path.join(spec_dir, case[0]), "--name", f"^{re.escape(case[1])}$", "--kernel",
                               f"^{case[2]}$", "--time-limit", str(SECONDS), file.name], capture_output=True).returncode


def title(case):
    file, launch, entry, how, number = case
    kernel = re.search(r"\d([a-z][a-z_]*_kernel\w{0,16})", entry)[1]
    what = {"": "as it is", "without": f"without barrier {number}", "partly": f"barrier {number} skipped by the first thread"}
    return f"{kernel} ({launch}), {what[how]}"


def sanitize(tool, program, ptx_dir, spec_dir, case):
    """("hazard", "clean", "failed" or "hangs"; the first lines that say why)."""
    command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", sys.executable, os.path.abspath(__file__), "--case",
               json.dumps(case), program, ptx_dir, spec_dir]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "hangs", ""
    output = result.stdout + result.stderr
    if re.search(r"Device not supported|not supported on this|Unable to", output):
        return "unsupported", output[:400]
    hazards = re.search(r"(?:RACECHECK|ERROR) SUMMARY: (\d+)", output)
    if hazards and int(hazards[1]) > 0:
        lines = [line for line in output.split("\n") if "Error" in line or "Warning" in line or "Divergent" in line]
        return "hazard", lines[0].replace("=", "").strip()[:110] if lines else ""
    return ("clean", "") if "the launch ended" in output else ("failed", output[-300:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--part", default="1/1", help="K/N: every N-th case from the K-th on")
    parser.add_argument("--case", help="one launch, under the sanitizer")
    parser.add_argument("program")
    parser.add_argument("ptx_dir")
    parser.add_argument("spec_dir")
    options = parser.parse_args()
    folders = options.ptx_dir, options.spec_dir
    if options.case:
        return launch_once(*folders, tuple(json.loads(options.case)))
    part, parts = map(int, options.part.split("/"))
    tried = list(cases(*folders))[part - 1::parts]
    first = sanitize("racecheck", options.program, *folders, tried[0])
    if first[0] == "unsupported":
        print(f"compute-sanitizer cannot run here: {first[1]}")
        return 77
    jobs = [(case, tool) for case in tried for tool in (["racecheck", "synccheck"] if case[3] != "without" else ["racecheck"])]
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    seen = {pool.submit(sanitize, tool, options.program, *folders, case): (case, tool) for case, tool in jobs}
    exits = {case: pool.submit(verify, options.program, *folders, case) for case in tried}
    bad, caught = 0, set()
    for result in concurrent.futures.as_completed(seen):
        (case, tool), (state, why) = seen[result], result.result()
        code, whole = exits[case].result(), not case[3]
        wrong = (state == "hazard" and (code == 0 or whole)) or (whole and (state != "clean" or code not in (0, None)))
        bad += wrong
        if not whole and state == "hazard":
            caught.add(case)
        print(f"{'WRONG ' if wrong else ''}{tool}: {title(case)}: {state} (glove-verify {code}) {why}", flush=True)
    mutants = [case for case in tried if case[3]]
    print(f"{len(tried) - len(mutants)} launches as they are, {len(mutants)} with a broken barrier: the sanitizer sees {len(caught)} of "
          f"these, glove-verify finds {sum(exits[case].result() == 1 for case in mutants)} and proves "
          f"{sum(exits[case].result() == 0 for case in mutants)}; {bad} contradictions or failures")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
