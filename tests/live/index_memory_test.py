"""The setting index_memory: an index whose codes have no room is read in blocks, with the same rows and less memory.

    index_memory_test.py EXTENSION
"""
import os
import random
import subprocess
import sys
import tempfile

from fixture import Wrong, connect, skip_without_index, vector

ROWS, DIMS = 24000, 256
MIB = 1 << 20


def expect(condition, what):
    if not condition:
        raise Wrong(what)


def make(path, extension, source, rows=ROWS, dims=DIMS):
    connection = connect(path, extension)
    connection.execute("CREATE TABLE doc(id INTEGER PRIMARY KEY, vec BLOB)")
    connection.execute("CREATE VIRTUAL TABLE doc_vec USING glove_index(content='doc', rowid='id', vector='vec')")
    some = [vector(source, dims) for _ in range(64)]
    for first, last in ((0, rows * 3 // 4), (rows * 3 // 4, rows)):
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO doc VALUES (?, ?)",
                               ((key, some[key % 64][:key % 200 * 4] + some[key % 61][key % 200 * 4:]) for key in range(first, last)))
        connection.execute("COMMIT")
        connection.execute("INSERT INTO doc_vec(doc_vec) VALUES ('sync')")
    connection.execute("DELETE FROM doc WHERE id % 50 = 7")
    connection.execute("UPDATE doc SET vec = (SELECT vec FROM doc WHERE id = 1) WHERE id IN (3, 5, ?)", (rows - 1,))
    connection.close()


def anonymous_bytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("RssAnon"))


def answers(connection, dims):
    """The rows of statements of all kinds."""
    source, found = random.Random(4), []
    queries = [vector(source, dims) for _ in range(3)]
    for query in queries:
        for k in (1, 10, 300):
            found.append(connection.execute("SELECT id, similarity, rank FROM doc_vec WHERE query = ? AND k = ?", (query, k)).fetchall())
        for step in (2, 97, 3001):
            found.append(connection.execute("SELECT id, rank FROM doc_vec WHERE query = ? AND k = 20 AND among = "
                                            "(SELECT glove_keys(id) FROM doc WHERE id % ? = 1)", (query, step)).fetchall())
        found.append(connection.execute("SELECT id FROM doc_vec WHERE query = ? ORDER BY rank LIMIT 90", (query,)).fetchall())
    found.append(connection.execute("SELECT query, id, rank FROM doc_vec WHERE query IN (?, ?, ?) AND k = 7", queries).fetchall())
    return found


def reader(extension, path):
    """Another process: prints a checksum of its answers, and the memory that searching took."""
    connection = connect(path, extension)
    connection.execute("SELECT count(*) FROM doc").fetchall()
    before = anonymous_bytes() if os.path.exists("/proc/self/status") else 0
    first = answers(connection, DIMS)
    expect(answers(connection, DIMS) == first, "the second answers are others")
    after = anonymous_bytes() if os.path.exists("/proc/self/status") else 0
    scanned, = connection.execute("SELECT max(rows_read) FROM doc_vec WHERE query = ? AND k = 1", (vector(random, DIMS),)).fetchone()
    print(hash(str(first)), after - before, scanned)


def test_memory(extension, path):
    def run(limit):
        environment = dict(os.environ, GLOVE_INDEX_MEMORY=limit, PYTHONHASHSEED="1")
        done = subprocess.run([sys.executable, __file__, extension, "--reader", path], env=environment, stdout=subprocess.PIPE, check=True)
        return [int(number) for number in done.stdout.split()]
    whole = run("0")
    for limit in (1, 300 << 10, 2 * MIB):
        found = run(str(limit))
        # With room, the three rows that changed are among those that are scanned.
        expect(found[0] == whole[0] and found[2] in (whole[2], whole[2] - 3), "%d bytes: the answers are others" % limit)
        if whole[1] and "LD_PRELOAD" not in os.environ:  # a sanitizer keeps memory that was freed
            least = ROWS * DIMS * 3 // 4 - limit  # one segment of three quarters of the rows is not in memory
            expect(found[1] < whole[1] - least // 2, "%d bytes: a search takes %d bytes, without a limit %d" % (limit, found[1], whole[1]))


def test_removed_segments(extension, path):
    """A statement that has begun goes on while the same connection joins the segments that it reads."""
    connection = connect(path, extension)
    query = vector(random.Random(4), DIMS)
    sql = "SELECT id, similarity FROM doc_vec WHERE query = ?"
    expected = connection.execute(sql, (query,)).fetchmany(2000)
    reading = connection.execute(sql, (query,))
    found = reading.fetchmany(3)
    connection.execute("INSERT INTO doc_vec(doc_vec) VALUES ('merge')")
    found += reading.fetchmany(1997)
    expect(found == expected, "the rows change while the segments are joined")
    connection.close()


def test_damage(extension, path):
    connection, other = connect(path, extension), connect(path, extension)
    query = vector(random.Random(4), DIMS)
    connection.execute("SELECT id FROM doc_vec WHERE query = ? AND k = 3", (query,)).fetchall()
    other.execute("UPDATE doc_vec_block SET data = zeroblob(length(data)) WHERE number = 1")
    for statement in ("SELECT id FROM doc_vec WHERE query = ? AND k = 3", "SELECT id FROM doc_vec WHERE query = ?"):
        try:
            connection.execute(statement, (query,)).fetchall()
        except Exception as error:
            expect("checksum" in str(error) and "rebuild" in str(error), str(error))
        else:
            raise Wrong("a damaged block is no error")
    other.execute("INSERT INTO doc_vec(doc_vec) VALUES ('rebuild')")
    expect(len(connection.execute("SELECT id FROM doc_vec WHERE query = ? AND k = 3", (query,)).fetchall()) == 3, "rebuild")
    connection.close()
    other.close()


def test_setting(connection):
    expect(connection.execute("SELECT glove_config('index_memory', '3M')").fetchone() == ("3145728",) or
           connection.execute("SELECT glove_config('index_memory', '3M')").fetchone() == (3145728,), "the setting")
    try:
        connection.execute("SELECT glove_config('index_memory', 'x')").fetchone()
    except Exception as error:
        expect("or 0 for no limit" in str(error), str(error))
    else:
        raise Wrong("a bad value is no error")
    connection.execute("SELECT glove_config('index_memory', 100000)")


def main():
    extension = os.path.abspath(sys.argv[1])
    if sys.argv[2:3] == ["--reader"]:
        return reader(extension, sys.argv[3])
    skip_without_index(extension)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "index.db")
        make(path, extension, random.Random(3))
        test_memory(extension, path)
        test_setting(connect(":memory:", extension))  # of this process, from here on
        test_removed_segments(extension, path)
        test_damage(extension, path)
    print("ok")
    return None


if __name__ == "__main__":
    main()
