"""python -m sqlite_glove from-sqlite-vec: makes an ordinary table and its indexes of a vec0 table.

Reads vec0's shadow tables, so sqlite-vec need not be installed: v_chunks has, for each chunk of rows, which places are in use
(a bit each), their rowids and the values of the partition columns; v_vector_chunksNN and v_metadatachunksNN have a value per
place; v_metadatatextNN has texts of more than 12 bytes, v_rowids the keys that are texts, and v_auxiliary the other columns.
"""
import argparse
import pathlib
import re
import struct
import sys
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ._sql import execute, literal, quoted

_MADE_BY = re.compile(r"""\bUSING\s+["'`\[]?vec0["'`\]]?\s*\((.*)\)\s*$""", re.IGNORECASE | re.DOTALL)
_OPTION = re.compile(r"\w+\s*=")
_VECTOR = re.compile(r"(\w+)\s+(\w+)\s*\[\s*(\d+)\s*\](?:\s*distance_metric\s*=\s*(\w+))?", re.IGNORECASE)
_OTHER = re.compile(r"(\+?)\s*(\w+)\s+(\w+)(?:\s+(primary|partition)\s+key)?", re.IGNORECASE)
_TYPES = {"text": "TEXT", "int": "INTEGER", "integer": "INTEGER", "float": "REAL", "double": "REAL", "bool": "BOOLEAN",
          "boolean": "BOOLEAN", "blob": "BLOB"}
_ELEMENTS = {"float": "float32", "f32": "float32", "int8": "int8", "i8": "int8", "bit": "bit"}
_SHORT_TEXT = 12  # bytes


class Column(NamedTuple):
    name: str
    kind: str  # key, partition, vector, metadata or auxiliary
    type: str  # of the ordinary table's column
    number: int  # among those of its kind, as in the names of the shadow tables
    element: str = ""  # of a vector
    dims: int = 0
    metric: str = ""


class Plan(NamedTuple):
    """What a conversion makes."""
    source: str
    target: str
    columns: List[Column]  # the key first
    old_key: str  # the key's name in vec0: rowid, unless the table names it

    @property
    def key(self) -> str:
        return self.columns[0].name

    @property
    def text_key(self) -> bool:
        return self.columns[0].type.startswith("TEXT")

    def of(self, kind: str) -> List[Column]:
        return [column for column in self.columns if column.kind == kind]

    def shadow(self, name: str) -> str:
        return quoted(f"{self.source}_{name}")

    def index_of(self, vector: Column) -> str:
        return f"{self.target}_vec" if len(self.of("vector")) == 1 else f"{self.target}_{vector.name}_vec"

    def statements(self) -> Tuple[List[str], List[str]]:
        """Those that make the table, and those that make its indexes."""
        declared = [f"{_shown(one.name)} {one.type}" for one in self.columns]
        indexes = []
        partitions = [one.name for one in self.of("partition")]
        if partitions:
            name = "_by_".join([self.target, "_".join(partitions)])
            indexes.append(f"CREATE INDEX {_shown(name)} ON {_shown(self.target)}({', '.join(map(_shown, partitions))})")
        for vector in self.of("vector"):
            given = {"content": self.target, "rowid": _shown(self.key), "vector": vector.name, "dims": str(vector.dims), "metric": vector.metric}
            if vector.element == "int8":
                given["type"] = "int8"
            using = ", ".join(f"{name}={literal(value)}" for name, value in given.items())
            indexes.append(f"CREATE VIRTUAL TABLE {_shown(self.index_of(vector))} USING glove_index({using}, check='yes')")
        return [f"CREATE TABLE {_shown(self.target)}({', '.join(declared)})"], indexes


def _shown(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) and name.upper() not in _KEYWORDS else quoted(name)


_KEYWORDS = set("""ABORT ADD ALL ALTER AND AS ASC BETWEEN BY CASE CHECK COLLATE COLUMN COMMIT CONSTRAINT CREATE CURRENT_DATE CURRENT_TIME
CURRENT_TIMESTAMP DEFAULT DEFERRABLE DELETE DESC DISTINCT DROP ELSE END ESCAPE EXISTS FOREIGN FROM GROUP HAVING IF IN INDEX INSERT INTO IS ISNULL
JOIN LEFT LIMIT NATURAL NOT NOTHING NOTNULL NULL ON OR ORDER OUTER PRIMARY REFERENCES RETURNING RIGHT SELECT SET TABLE THEN TO TRANSACTION UNION
UNIQUE UPDATE USING VALUES WHEN WHERE WITH""".split())


# --- what the schema says ---------------------------------------------------------------------

def tables(conn: Any) -> Dict[str, str]:
    """The arguments of each vec0 table."""
    made = {str(name): _MADE_BY.search(sql) for name, sql in execute(
        conn, "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL%' ORDER BY name")}
    return {name: found[1] for name, found in made.items() if found}


def _vector(table: str, found: Any, number: int) -> Column:
    name, metric = found[1], (found[4] or "l2").lower()
    element = _ELEMENTS.get(found[2].lower())
    if element is None:
        raise ValueError(f"the column {name!r} of {table!r} has vectors of {found[2]}, of which this version knows nothing")
    if element == "bit":
        metric = "hamming"  # whatever is given
    elif metric not in ("cosine", "l2"):
        raise ValueError(f"the column {name!r} of {table!r} has distance_metric={found[4]}, and a glove_index has none like it; only cosine and "
                         "l2 can be converted")
    return Column(name, "vector", "BLOB", number, element, int(found[3]), metric)


def columns_of(table: str, arguments: str) -> Tuple[List[Column], str]:
    """The columns that CREATE VIRTUAL TABLE ... USING vec0(arguments) made, the key first, and the key's name in vec0."""
    key, columns = None, []  # type: Optional[Column], List[Column]
    for argument in (one.strip() for one in arguments.split(",")):
        if _OPTION.match(argument):
            continue  # chunk_size, which each chunk has too
        found = _VECTOR.fullmatch(argument)
        if found:
            columns.append(_vector(table, found, sum(one.kind == "vector" for one in columns)))
            continue
        found = _OTHER.fullmatch(argument)
        if found is None or found[3].lower() not in _TYPES:
            raise ValueError(f"{table!r} was made with {argument!r}, of which this version knows nothing; copy the rows by SQL, with sqlite-vec "
                             "loaded")
        kind = {"primary": "key", "partition": "partition"}.get((found[4] or "").lower(), "auxiliary" if found[1] else "metadata")
        column = Column(found[2], kind, _TYPES[found[3].lower()], sum(one.kind == kind for one in columns))
        if kind == "key":
            key = column._replace(type="TEXT PRIMARY KEY NOT NULL" if column.type == "TEXT" else "INTEGER PRIMARY KEY")
        else:
            columns.append(column)
    if key is not None:
        return [key, *columns], key.name
    taken = {one.name.lower() for one in columns}
    name = next(name for name in ("id", "rowid", "vec0_rowid") if name not in taken)
    return [Column(name, "key", "INTEGER PRIMARY KEY", 0), *columns], "rowid"


def plan(conn: Any, table: Optional[str], target: Optional[str]) -> Plan:
    known = tables(conn)
    if table is None:
        if len(known) != 1:
            raise ValueError(f"the database has the vec0 tables {', '.join(map(repr, known))}; name one of them" if known else
                             "the database has no vec0 table")
        table = next(iter(known))
    found = next((name for name in known if name.lower() == table.lower()), None)
    if found is None:
        raise ValueError(f"there is no vec0 table {table!r}" + (f"; there are {', '.join(map(repr, known))}" if known else " in the database"))
    made = Plan(found, target or f"{found}_rows", *columns_of(found, known[found]))
    existing = {str(name).lower(): str(name) for name, in execute(conn, "SELECT name FROM sqlite_master")}
    for name in [made.target, *map(made.index_of, made.of("vector"))]:
        quoted(name)
        if name.lower() in existing:
            raise ValueError(f"{existing[name.lower()]!r} exists already; drop it, or name another table by --into")
    missing = next((one for one in ("chunks", "rowids") if f"{found}_{one}".lower() not in existing), None)
    if missing:
        raise ValueError(f"the database lacks {found}_{missing}, where vec0 keeps the rows of {found!r}; if the table was renamed, rename it back")
    return made


# --- the rows ---------------------------------------------------------------------------------

def _damaged(plan_: Plan, what: str) -> ValueError:
    return ValueError(f"the vec0 table {plan_.source!r} is damaged: {what}. Nothing was converted")


def _blob(conn: Any, made: Plan, shadow: str, column: str, chunk: int, size: int) -> bytes:
    found = execute(conn, f"SELECT {column} FROM {made.shadow(shadow)} WHERE rowid = ?", (chunk,)).fetchone()
    if found is None or not isinstance(found[0], bytes) or len(found[0]) != size:
        raise _damaged(made, f"chunk {chunk} in {made.source}_{shadow} does not have {size:,} bytes")
    return bytes(found[0])


def _vectors(conn: Any, made: Plan, column: Column, chunk: int, size: int) -> Callable[[int, int], Any]:
    width = column.dims * {"float32": 32, "int8": 8, "bit": 1}[column.element] // 8
    data = _blob(conn, made, f"vector_chunks{column.number:02}", "vectors", chunk, size * width)
    return lambda place, _: data[place * width:(place + 1) * width]


def _metadata(conn: Any, made: Plan, column: Column, chunk: int, size: int) -> Callable[[int, int], Any]:
    bytes_of = {"BOOLEAN": size // 8, "INTEGER": 8 * size, "REAL": 8 * size, "TEXT": 16 * size}
    data = _blob(conn, made, f"metadatachunks{column.number:02}", "data", chunk, bytes_of[column.type])
    if column.type == "BOOLEAN":
        return lambda place, _: data[place // 8] >> place % 8 & 1
    if column.type in ("INTEGER", "REAL"):
        form = "<q" if column.type == "INTEGER" else "<d"
        return lambda place, _: struct.unpack_from(form, data, 8 * place)[0]

    def text(place: int, rowid: int) -> Any:
        length, = struct.unpack_from("<i", data, 16 * place)
        if length <= _SHORT_TEXT:
            return data[16 * place + 4:16 * place + 4 + length].decode()
        found = execute(conn, f"SELECT data FROM {made.shadow(f'metadatatext{column.number:02}')} WHERE rowid = ?", (rowid,)).fetchone()
        if found is None:
            raise _damaged(made, f"the text {column.name!r} of the row {rowid} is missing")
        return found[0]
    return text


def rows(conn: Any, made: Plan) -> Iterator[List[Any]]:
    """The rows as the columns of the plan, in the order in which vec0 has stored them."""
    partitions, auxiliary = made.of("partition"), made.of("auxiliary")
    listed = "".join(f", partition{one.number:02}" for one in partitions)
    values = ", ".join(f"value{one.number:02}" for one in auxiliary)
    order = [(column.kind, column.number) for column in made.columns]
    for chunk, size, used, rowids, *partition in execute(
            conn, f"SELECT chunk_id, size, validity, rowids{listed} FROM {made.shadow('chunks')} ORDER BY chunk_id"):
        if len(used) * 8 != size or len(rowids) != 8 * size:
            raise _damaged(made, f"chunk {chunk} does not have {size:,} rows")
        readers = {("vector", one.number): _vectors(conn, made, one, chunk, size) for one in made.of("vector")}
        readers.update({("metadata", one.number): _metadata(conn, made, one, chunk, size) for one in made.of("metadata")})
        given = {("partition", one.number): value for one, value in zip(partitions, partition)}
        for place, rowid in enumerate(struct.unpack(f"<{size}q", rowids)):
            if not used[place // 8] >> place % 8 & 1:
                continue
            row: Dict[Tuple[str, int], Any] = {**given, ("key", 0): rowid}
            if made.text_key:
                row[("key", 0)] = _one(conn, made, f"SELECT id FROM {made.shadow('rowids')} WHERE rowid = ?", rowid)[0]
            if auxiliary:
                found = _one(conn, made, f"SELECT {values} FROM {made.shadow('auxiliary')} WHERE rowid = ?", rowid)
                row.update({("auxiliary", one.number): value for one, value in zip(auxiliary, found)})
            for name, read in readers.items():
                row[name] = read(place, rowid)
            yield [row[name] for name in order]


def _one(conn: Any, made: Plan, sql: str, rowid: int) -> Sequence[Any]:
    found = execute(conn, sql, (rowid,)).fetchone()
    if found is None:
        raise _damaged(made, f"the row {rowid} is incomplete, as a failed INSERT leaves it. Load sqlite-vec, and DELETE FROM {_shown(made.source)} "
                       f"WHERE rowid = {rowid}")
    return tuple(found)


def convert(conn: Any, made: Plan) -> int:
    """Makes the table and its indexes in the open transaction, and returns the number of rows."""
    first, then = made.statements()
    for statement in first:
        execute(conn, statement)
    places = ", ".join("?" * len(made.columns))
    conn.cursor().executemany(f"INSERT INTO {quoted(made.target)} VALUES ({places})", rows(conn, made))
    for statement in then:
        execute(conn, statement)
    for vector in made.of("vector"):
        name = quoted(made.index_of(vector))
        execute(conn, f"INSERT INTO {name}({name}) VALUES ('sync')")
    return int(execute(conn, f"SELECT count(*) FROM {quoted(made.target)}").fetchone()[0])


# --- the command ------------------------------------------------------------------------------

def queries(made: Plan) -> Iterator[Tuple[str, str, str]]:
    """(what it asks, the query of vec0, that of the index)."""
    key, old_key, target, source = map(_shown, (made.key, made.old_key, made.target, made.source))
    filters, others = made.of("partition") + made.of("metadata"), made.of("partition") + made.of("metadata") + made.of("auxiliary")
    for vector in made.of("vector"):
        index = _shown(made.index_of(vector))
        new_key = key if made.text_key or key == "id" else f"id AS {key}"
        given = ":query" if vector.element == "float32" else f"vec_{vector.element}(:query)"
        before = f"WHERE {_shown(vector.name)} MATCH {given} AND k = 10"
        yield ("the 10 nearest rows", f"SELECT {old_key}, distance FROM {source} {before}",
               f"SELECT {new_key}, distance FROM {index} WHERE query = :query AND k = 10 ORDER BY rank")
        if filters:
            name = _shown(filters[0].name)
            yield ("of some rows", f"SELECT {old_key}, distance FROM {source} {before} AND {name} = :value",
                   f"SELECT {new_key}, distance FROM {index} WHERE query = :query AND k = 10 AND among = "
                   f"(SELECT glove_keys({key}) FROM {target} WHERE {name} = :value) ORDER BY rank")
        if others:
            shown = [_shown(one.name) for one in others]
            joined = "d." + key + " = v." + (key if made.text_key else "id")
            yield ("with other columns", f"SELECT {', '.join(shown)}, distance FROM {source} {before}",
                   f"SELECT {', '.join('d.' + one for one in shown)}, v.distance FROM {index} v JOIN {target} d ON {joined} "
                   "WHERE v.query = :query AND v.k = 10 ORDER BY v.rank")


def _report(made: Plan, left_out: int) -> None:
    if any(one.element == "int8" for one in made.of("vector")):
        print("\nThe int8 vectors stay as they are, and queries may be BLOBs of int8 or of float32.")
    if left_out:
        print(f"\nRows left out, because vec0 has no vectors of them: {left_out:,}. Failed INSERTs leave such rows.")
    for what, before, after in queries(made):
        print(f"\n-- {what}, before and after\n{before};\n{after};")
    print(f"\n-- The vec0 table is as it was. To remove it, load sqlite-vec:\nDROP TABLE {_shown(made.source)};\nVACUUM;")


def run(options: argparse.Namespace) -> None:
    import sqlite3  # here, because some builds of Python lack it
    from . import load
    path = pathlib.Path(options.database)
    if not path.is_file():
        raise ValueError(f"there is no file {options.database!r}")
    conn = sqlite3.connect(f"{path.absolute().as_uri()}?mode={'ro' if options.dry_run else 'rw'}", uri=True, isolation_level=None)
    try:
        if not options.dry_run:
            load(conn)
        execute(conn, "BEGIN" if options.dry_run else "BEGIN IMMEDIATE")  # which close() ends after an error
        made = plan(conn, options.table, options.into)
        stored = int(execute(conn, f"SELECT count(*) FROM {made.shadow('rowids')}").fetchone()[0])
        began = time.perf_counter()
        if options.dry_run:
            count = sum(1 for _ in rows(conn, made))
        else:
            count = convert(conn, made)
            execute(conn, "COMMIT")
        done = "to copy" if options.dry_run else f"copied in {time.perf_counter() - began:.1f} s"
        print(f"Rows of {made.source!r} {done} into {made.target!r}: {count:,}\n")
        print("".join(f"{statement};\n" for part in made.statements() for statement in part), end="")
        _report(made, stored - count)
    finally:
        conn.close()


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m sqlite_glove from-sqlite-vec", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Copies a vec0 table of sqlite-vec into an ordinary table with a glove_index, and prints the queries\nbefore and after.",
        epilog="The columns keep their names: the key, partition, metadata and auxiliary columns become columns of the table,\n"
               "and each vector column gets an index with its metric: cosine, l2 or, of bit vectors, hamming. A key without a\n"
               "name is called id. Vectors of int8 stay as they are. sqlite-vec need not be installed, and its table stays as\n"
               "it was. Everything is one transaction: after an error nothing has changed.")
    parser.add_argument("database", help="the file of the database")
    parser.add_argument("table", nargs="?", help="the vec0 table; may be left out if the database has one")
    parser.add_argument("--into", metavar="NAME", help="the table to make, by default TABLE_rows; its index is NAME_vec")
    parser.add_argument("--dry-run", action="store_true", help="read the rows and print everything, but write nothing")
    options = parser.parse_args(arguments)
    try:
        run(options)
    except Exception as error:  # pylint: disable=broad-except
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 1
    return 0
