"""Shared by the benchmarks of large files: a limit on memory, and the output of results."""
import json
import os
import subprocess

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class MemoryLimit:
    """A context manager for a new memory cgroup, without swap, for a child process. `path` is None if this user may not
    make one."""

    def __init__(self, limit):
        self.path = None
        for root, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
            path = f"{root}/glove-bench-{os.getpid()}"
            try:
                os.mkdir(path)
            except OSError:
                continue
            try:
                with open(f"{path}/{name}", "w") as file:
                    file.write(str(limit))
                self.path = path
                return
            except OSError:
                os.rmdir(path)

    def enter(self):
        with open(self.path + "/cgroup.procs", "w") as file:
            file.write(str(os.getpid()))

    def peak(self):
        """Returns the most bytes that the group held at one time, including cached file pages."""
        for name in ("memory.max_usage_in_bytes", "memory.peak"):
            if os.path.exists(f"{self.path}/{name}"):
                with open(f"{self.path}/{name}") as file:
                    return int(file.read())
        return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.path:
            os.rmdir(self.path)


def forget_cached_pages(path):
    """Drops the cached pages of a file, so that they are read again and counted for the process that reads them."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def commit():
    return subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12"], capture_output=True, text=True,
                          check=False).stdout.strip()


def write_results(name, seen, section):
    """Writes all numbers to data/NAME.json, and the text, between its markers, to RESULTS.md."""
    os.makedirs(os.path.join(HERE, "data"), exist_ok=True)
    with open(os.path.join(HERE, "data", name + ".json"), "w") as file:
        json.dump(seen, file, indent=1)
        file.write("\n")
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    section = f"{begin}\n{section}{end}\n"
    path = os.path.join(HERE, "RESULTS.md")
    text = open(path).read() if os.path.exists(path) else "# Results\n"
    if begin in text:
        text = text[: text.index(begin)] + section + text[text.index(end) + len(end) + 1 :]
    else:
        text = text.rstrip("\n") + "\n\n" + section
    with open(path, "w") as file:
        file.write(text)
