"""Kills a process that syncs and merges an index, at random moments, and looks at the database each time.

    crash_test.py EXTENSION [--times N] [--seed S] [--rows N] [--lists N]

Half of the times the journal is a WAL, half a rollback journal. After each kill the database must open and pass
integrity_check, the index its own check, the index must equal a full scan, and what the killed process had reported as
committed must be there. One database per journal mode lives through all its kills.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import fixture
import served

DIMS = 24


def work(path, extension, seed, rows):
    """Checks the database, says "sound", and then changes it until it is killed, saying what it has committed."""
    source = random.Random(seed)
    connection = fixture.connect(path, extension)
    fixture.expect_sound(connection, source, DIMS)
    done = connection.execute("SELECT done FROM progress").fetchone()[0]
    print("sound %d" % done, flush=True)
    while True:
        inside = source.random() < 0.3  # commands inside the transaction of the changes
        what = source.choice(("sync", "sync", "sync", "merge", "rebuild"))
        done += 1
        connection.execute("BEGIN")
        fixture.write(connection, source, DIMS, source.choice((3, rows // 10)), rows)
        connection.execute("UPDATE progress SET done = ?", (done,))
        if inside:
            fixture.command(connection, what)
        connection.execute("COMMIT")
        print("committed %d" % done, flush=True)
        if not inside:
            fixture.command(connection, what)
            print("%s" % what, flush=True)


def kill_once(path, options, seed, committed, source):
    """Starts a process, kills it and returns (the last change that it said was committed, what it did last)."""
    process = subprocess.Popen([sys.executable, __file__, options.extension, "--work", path, "--seed", seed, "--rows", str(options.rows)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    first = process.stdout.readline().split()
    if first[:1] != ["sound"]:
        process.wait()
        raise fixture.Wrong("after a kill: %s %s" % (first, process.stderr.read()[-1500:]))
    if int(first[1]) < committed:
        process.kill()
        raise fixture.Wrong("%d changes were committed and %s are there" % (committed, first[1]))
    time.sleep(source.uniform(0, options.longest))
    if process.poll() is not None:
        raise fixture.Wrong("the process ended by itself: %s" % process.stderr.read()[-1500:])
    os.killpg(process.pid, signal.SIGKILL)  # with the process of an SQL server
    lines = process.stdout.read().split("\n")[:-1]  # a line that was cut off does not count
    process.wait()
    said = [int(line.split()[1]) for line in lines if line.startswith("committed")]
    return max([int(first[1])] + said), len(lines)


def run_mode(options, journal, times):
    source = random.Random("%s %s" % (options.seed, journal))
    with tempfile.TemporaryDirectory(prefix="glove-crash-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        path = os.path.join(folder, "crash.db")
        maker = "import random, sys, fixture; fixture.create(%r, %r, random.Random(%r), %d, %d, %r, %r)" % (
            path, options.extension, options.seed, DIMS, options.rows, journal, options.lists)
        subprocess.run([sys.executable, "-c", maker], cwd=os.path.dirname(os.path.abspath(__file__)), check=True)
        committed = actions = journals_left = 0
        for number in range(times):
            committed, seen = kill_once(path, options, "%s %s %d" % (options.seed, journal, number), committed, source)
            actions += seen
            journals_left += os.path.exists(path + "-journal") or os.path.exists(path + "-wal") and os.path.getsize(path + "-wal") > 0
        kill_once(path, options, options.seed, committed, source)
        print("%s: %d kills, %d of them left a journal, %d changes committed, %d KB" % (
            journal, times, journals_left, committed, os.path.getsize(path) // 1024), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("extension", type=os.path.abspath)
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--seed", default=os.environ.get("GLOVE_TEST_SEED") or str(random.randrange(1 << 31)))
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--lists", default="auto", help="of the index")
    parser.add_argument("--longest", type=float, default=0.05, help="seconds until a kill, at most")
    parser.add_argument("--work")
    options = parser.parse_args()
    if options.work:
        work(options.work, options.extension, options.seed, options.rows)
    if not served.command():
        fixture.skip_without_index(options.extension)
    try:
        for journal in ("wal", "delete"):
            run_mode(options, journal, (options.times + 1) // 2)
    except fixture.Wrong as wrong:
        sys.exit("SEED %s, %s: %s" % (options.seed, journal, wrong))


if __name__ == "__main__":
    main()
