"""SQL: names, statements, and what the schema says of an index."""
import contextlib
import json
import re
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ._values import column_values

Progress = Callable[[int, int], None]
Report = Union[None, bool, Progress]  # what the argument progress may be
Params = Union[Sequence[Any], Mapping[str, Any]]

_ROWS_BETWEEN_REPORTS = 4096
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^]]*\]|--|/\*|[();'"`\[]""")


def quoted(name: str) -> str:
    if not isinstance(name, str) or not name or "\0" in name:
        raise ValueError(f"{name!r} cannot be the name of a table or a column; it must be text")
    return '"' + name.replace('"', '""') + '"'


def literal(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return "'" + text.replace("'", "''") + "'"


def execute(conn: Any, sql: str, values: Params = ()) -> Any:
    """A cursor with the rows as tuples, whatever row_factory (sqlite3) or row trace (apsw) the connection has."""
    cursor = conn.cursor()
    if hasattr(cursor, "row_factory"):
        cursor.row_factory = None
    set_trace = getattr(cursor, "set_row_trace", None) or getattr(cursor, "setrowtrace", None)
    if set_trace is not None:
        set_trace(lambda _, row: row)
    return cursor.execute(sql, values)


def text(value: Any) -> str:
    """A text, which the connection's text_factory may have made bytes, or a number as one."""
    return bytes(value).decode() if isinstance(value, (bytes, bytearray)) else str(value)


def names(conn: Any, pragma: str) -> List[str]:
    return [text(row[1]) for row in execute(conn, f"PRAGMA {pragma}")]


def columns_of(conn: Any, table: str, schema: Optional[str] = None) -> List[str]:
    return names(conn, f"{quoted(schema) + '.' if schema else ''}table_xinfo({quoted(table)})")


def check_loaded(conn: Any) -> None:
    try:
        execute(conn, "SELECT glove_version()").fetchall()
    except Exception as error:
        if "no such function" not in str(error):
            raise
        raise RuntimeError("the extension is not loaded into this connection; call sqlite_glove.load(conn) first") from None


@contextlib.contextmanager
def all_or_nothing(conn: Any) -> Iterator[None]:
    """A transaction or, if one is open already, a part of it that is undone by an exception."""
    execute(conn, "SAVEPOINT sqlite_glove")
    try:
        yield
        execute(conn, "RELEASE sqlite_glove")  # if this commits, it fails while others read
    except BaseException:
        with contextlib.suppress(Exception):  # some errors have ended the transaction
            execute(conn, "ROLLBACK TO sqlite_glove")
            try:
                execute(conn, "RELEASE sqlite_glove")
            except Exception:  # pylint: disable=broad-except
                execute(conn, "ROLLBACK")  # only the end of a transaction can fail
        raise


def in_transaction(conn: Any) -> bool:
    """Whether a transaction is open on a connection of sqlite3 or of apsw."""
    known = getattr(conn, "in_transaction", None)
    return bool(known) if known is not None else not conn.getautocommit()


def check_where(where: str) -> None:
    """Raises ValueError unless the text is one expression as far as brackets and quotes can tell."""
    depth = 0
    for token in _TOKEN.findall(where):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth < 0 or token in (";", "--", "/*", "'", '"', "`", "["):
            raise ValueError(f"where must be one SQL expression, but {where!r} has {token!r} at a place where it would end it")
    if depth != 0 or not where.strip():
        raise ValueError(f"where must be one SQL expression with its brackets closed, but is {where!r}")


def insert_sql(table: str, names: Sequence[str], key: Sequence[str], upsert: bool, made: Mapping[str, str]) -> str:
    """`made` has expressions for the columns whose values are made of those that are given."""
    sql = (f"INSERT INTO {quoted(table)}({', '.join(map(quoted, names))}) VALUES ({', '.join(made.get(name, '?') for name in names)})")
    if not upsert:
        return sql
    changes = ", ".join(f"{quoted(name)} = excluded.{quoted(name)}" for name in names if name not in key)
    return f"{sql} ON CONFLICT({', '.join(map(quoted, key))}) DO " + (f"UPDATE SET {changes}" if changes else "NOTHING")


def reporter(progress: Report) -> Optional[Progress]:
    """The callable that shows progress, or None."""
    if progress is True:
        from ._notebook import bar  # here, because most programs do without
        return bar()
    if progress is None or progress is False:
        return None
    if not callable(progress):
        raise TypeError(f"progress is {progress!r}; it must be True or a callable of (done, total)")
    return progress


def reported(rows: Iterable[Any], total: int, progress: Optional[Progress]) -> Iterable[Any]:
    if progress is None:
        return rows

    def report(progress: Progress) -> Iterator[Any]:
        for done, row in enumerate(rows):
            if done % _ROWS_BETWEEN_REPORTS == 0:
                progress(done, total)
            yield row
        progress(total, total)
    return report(progress)


# --- what the schema says ---------------------------------------------------------------------

_MADE_BY = re.compile(r"""\bUSING\s+["'`\[]?glove_index["'`\]]?\s*\((.*)\)""", re.IGNORECASE | re.DOTALL)
_COMMENT = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^]]*\])|--[^\n]*|/\*.*?\*/""", re.DOTALL)
_ARGUMENT = re.compile(r"""(\w+)\s*=\s*('(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^]]*\]|[^,'"`\[]*)""")
_NAME = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^]]*\]|[^,'"`\[\s](?:[^,'"`\[]*[^,'"`\[\s])?""")


def _unquoted(given: str) -> str:
    given = given.strip()
    if given[:1] == "[":
        return given[1:-1]
    return given[1:-1].replace(2 * given[0], given[0]) if given[:1] in ("'", '"', "`") and len(given) > 1 else given


class Definition(NamedTuple):
    """An index as its CREATE VIRTUAL TABLE made it."""
    schema: str
    name: str
    home: str  # the schema of its table
    table: str
    key: List[str]
    id_is_key: bool  # the key is the INTEGER PRIMARY KEY, which the index calls id
    vector: Optional[str]
    texts: List[str]
    skips_invalid: bool
    model: Optional[str]  # None: the default
    type: str  # of the components of vectors


# The bytes of a column of this type that four given bytes become, and what makes them: vectors of float32 or, of bits, bytes are given.
TYPES = {"float32": (4, "?"), "float16": (2, "glove_f16(?)"), "bfloat16": (2, "glove_bf16(?)"), "int8": (1, "glove_i8(?, 1)"), "bits": (4, "?")}


def type_of(arguments: Mapping[str, Any]) -> str:
    """The type of the vectors of an index with these arguments."""
    return str(arguments.get("type", "bits" if arguments.get("metric") == "hamming" else "float32"))


def definitions(conn: Any) -> List[Definition]:
    """All indexes, in the order in which SQLite looks for a name."""
    found = []
    tables = [(schema, text(row[0]), text(row[1])) for schema in sorted(names(conn, "database_list"), key=lambda name: name != "temp")
              for row in execute(
                  conn, f"SELECT name, sql FROM {quoted(schema)}.sqlite_master WHERE type = 'table' AND sql NOT NULL ORDER BY rowid")]
    known = {(schema.lower(), name.lower()) for schema, name, _ in tables}
    for schema, name, sql in tables:
        made = _MADE_BY.search(_COMMENT.sub(lambda found: found[1] or " ", sql) if "--" in sql or "/*" in sql else sql)
        if made is None:
            continue
        given = {key.lower(): _unquoted(value) for key, value in _ARGUMENT.findall(made[1])}
        home, point, table = given.get("content", "").partition(".")
        if schema != "temp" or not point:
            home, table = schema, given.get("content", "")
        found.append(Definition(
            schema, name, home, table, [_unquoted(one) for one in _NAME.findall(given.get("rowid", ""))],
            (home.lower(), name.lower() + "_key") not in known, given.get("vector"),
            [_unquoted(one) for one in _NAME.findall(given.get("text", ""))], given.get("invalid", "") == "skip", given.get("model"), type_of(given)))
    return found


def definition_of(conn: Any, given: str, name: Optional[str]) -> Definition:
    """The index of this name or, if there is none, that of a table of this name."""
    found = _definition_of(conn, given, name)
    for schema in sorted(names(conn, "database_list"), key=lambda schema: schema != "temp"):
        if schema.lower() == found.home.lower():
            break
        hides = [one for one in (found.name, found.table) if (schema != found.schema or one != found.name) and columns_of(conn, one, schema)]
        if hides:
            raise ValueError(f"the index {found.schema}.{found.name} is that of the table {found.home}.{found.table}, but the name "
                             f"{hides[0]!r} means {schema}.{hides[0]} in this connection; rename one of them")
    return found


def _definition_of(conn: Any, given: str, name: Optional[str]) -> Definition:
    known = definitions(conn)
    wanted = (name or given).lower()
    for one in known:
        if one.name.lower() == wanted and (name is None or given.lower() in (one.table.lower(), wanted)):
            return one
    of_table = [one for one in known if one.table.lower() == given.lower()] if name is None else []
    if of_table and (len(of_table) == 1 or of_table[0].schema != of_table[1].schema):
        return of_table[0]
    for one in of_table:
        if one.name.lower() == given.lower() + "_vec":
            return one
    if of_table:
        raise ValueError(f"the table {given!r} has the indexes {', '.join(repr(one.name) for one in of_table)}; name one of them, as in "
                         f"Index(conn, {of_table[0].name!r})")
    columns = columns_of(conn, given)
    raise ValueError(f"there is no index {name or given!r}" + (f" of {given!r}" if name else ", nor one of a table of this name") + (
        f"; make one by CREATE VIRTUAL TABLE ... USING glove_index; the columns of {given!r} are {', '.join(columns)}" if columns
        else f"; sqlite_glove.index(conn, {given!r}, ...) makes the table and its index"))


def _bound(value: Any) -> Any:
    """A number of NumPy, which sqlite3 would bind as a BLOB, as Python's own."""
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else value


def where_of(where: Union[None, str, Mapping[str, Any]], params: Params, columns: Sequence[str],
             table: str) -> Tuple[Optional[str], Params]:
    """A condition, given as SQL or as columns and their values, as SQL and its parameters."""
    if where is None and len(params):
        raise ValueError(f"params is {params!r}, but where is not given; write the condition that they are the values of")
    if where is None or isinstance(where, str):
        return where, {name: _bound(value) for name, value in params.items()} if isinstance(params, Mapping) else list(map(_bound, params))
    if not isinstance(where, Mapping):
        raise TypeError(f"where is {where!r}; it must be an SQL expression, or a dict of columns and values, such as {{'lang': 'en'}}")
    if len(params):
        raise ValueError(f"params is {params!r}, but where is a dict, which has the values; leave params out")
    conditions, values = ["1"], []  # type: List[str], List[Any]
    known = {name.lower() for name in columns}
    for name, value in where.items():
        if not isinstance(name, str) or name.lower() not in known:
            raise ValueError(f"where names the column {name!r}, but those of {table!r} are {', '.join(columns)}")
        several = isinstance(value, (list, tuple, set, frozenset, range)) or getattr(value, "ndim", 0) == 1
        given = column_values(name, value if several else [value])
        values.extend(given)
        column = f"{quoted(table)}.{quoted(name)}"  # without the table, one that was dropped would be a text
        conditions.append(f"{column} IN ({', '.join('?' * len(given))})" if several else f"{column} IS ?")
    return " AND ".join(conditions[1:] or conditions), values


def full_text_rowid(conn: Any, full_text: str, columns: Sequence[str]) -> str:
    """The column, quoted, of a table with these columns by which the FTS5 table names its rows: what its content_rowid= says, or rowid."""
    schemas = names(conn, "database_list")
    for schema in sorted(schemas, key=lambda schema: schema != "temp"):
        for (sql,) in execute(conn, f"SELECT sql FROM {quoted(schema)}.sqlite_master WHERE lower(name) = lower(?) AND sql NOT NULL", (full_text,)):
            arguments = re.search(r"\((.*)\)", _COMMENT.sub(lambda one: one[1] or " ", text(sql)), re.DOTALL)
            given = [_unquoted(value) for key, value in _ARGUMENT.findall(arguments[1] if arguments else "")
                     if key.lower().startswith("content_") and "content_rowid".startswith(key.lower())]  # FTS5 takes a beginning
            return quoted(given[-1]) if given and given[-1].lower() in [*map(str.lower, columns), "oid", "_rowid_"] else "rowid"
    return "rowid"
