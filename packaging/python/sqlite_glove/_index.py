"""Tables whose rows can be searched by their vectors or texts: index() makes one, and Index uses one."""
import array
import collections
import contextlib
import itertools
import json
import math
import operator
import os
import re
import reprlib
import sys
from typing import Any, Callable, Dict, Iterable, Iterator, List, Literal, Mapping, Optional, Sequence, Tuple, Union, overload

Progress = Callable[[int, int], None]
Params = Union[Sequence[Any], Mapping[str, Any]]

_ROWS_BETWEEN_REPORTS = 4096
_MOST_LOGGED = 10_000  # more changed rows than this make each search slow, so they are synced
_RANKS_PER_ROW = 20  # with `where`, how far down the ranking rows are looked for, as a multiple of k
_PLAIN = (str, int, float, bytes, type(None))
_TYPES = {str: "TEXT", int: "INTEGER", float: "REAL", bytes: "BLOB"}
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^]]*\]|--|/\*|[();'"`\[]""")


def _quoted(name: str) -> str:
    if not isinstance(name, str) or not name or "\0" in name:
        raise ValueError(f"{name!r} cannot be the name of a table or a column; it must be text")
    return '"' + name.replace('"', '""') + '"'


def _literal(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return "'" + text.replace("'", "''") + "'"


def _execute(conn: Any, sql: str, values: Params = ()) -> Any:
    """A cursor with the rows as tuples, whatever row_factory (sqlite3) or row trace (apsw) the connection has."""
    cursor = conn.cursor()
    if hasattr(cursor, "row_factory"):
        cursor.row_factory = None
    set_trace = getattr(cursor, "set_row_trace", None) or getattr(cursor, "setrowtrace", None)
    if set_trace is not None:
        set_trace(lambda _, row: row)
    return cursor.execute(sql, values)


def _text(value: Any) -> str:
    """A text, which the connection's text_factory may have made bytes, or a number as one."""
    return bytes(value).decode() if isinstance(value, (bytes, bytearray)) else str(value)


def _names(conn: Any, pragma: str) -> List[str]:
    return [_text(row[1]) for row in _execute(conn, f"PRAGMA {pragma}")]


def _columns_of(conn: Any, table: str) -> List[str]:
    return _names(conn, f"table_xinfo({_quoted(table)})")


def _check_loaded(conn: Any) -> None:
    try:
        _execute(conn, "SELECT glove_version()").fetchall()
    except Exception as error:
        if "no such function" not in str(error):
            raise
        raise RuntimeError("the extension is not loaded into this connection; call sqlite_glove.load(conn) first") from None


@contextlib.contextmanager
def _all_or_nothing(conn: Any) -> Iterator[None]:
    """A transaction or, if one is open already, a part of it that is undone by an exception."""
    _execute(conn, "SAVEPOINT sqlite_glove")
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):  # some errors have ended the transaction
            _execute(conn, "ROLLBACK TO sqlite_glove")
            _execute(conn, "RELEASE sqlite_glove")
        raise
    _execute(conn, "RELEASE sqlite_glove")


# --- values ----------------------------------------------------------------------------------


def _list(values: Any) -> List[Any]:
    return list(values.tolist() if hasattr(values, "tolist") else values)


def _plain(column: str, value: Any) -> Any:
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, _PLAIN):
        return value
    raise TypeError(f"the column {column!r} has the value {_short(value)}, which SQLite cannot store; make it a number, text or bytes, "
                    "for example by json.dumps. Vectors are an argument of their own: leave their column out of columns")


def _short(value: Any) -> str:
    """The value for a message, in one line even if it is an array or a long text."""
    return reprlib.repr(value.tolist() if hasattr(value, "tolist") else value)


def _no_list(what: str, value: Any) -> TypeError:
    return TypeError(f"{what} is {_short(value)}; it must have one value for each row, such as [{_short(value)}]")


def _column_values(column: str, values: Any) -> List[Any]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise _no_list(f"the column {column!r}", values)
    return [value if type(value) in _PLAIN else _plain(column, value) for value in _list(values)]


def _column_type(values: List[Any]) -> str:
    """The declared type of a column; none if its values have several."""
    kinds = {type(value) for value in values} - {type(None), bool}
    return " " + _TYPES.get(kinds.pop(), "") if len(kinds) == 1 else ""


def _ids(ids: Any) -> List[int]:
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
        raise _no_list("the argument ids", ids)
    found = _list(ids)
    for place, one in enumerate(found):
        if isinstance(one, int) and not isinstance(one, bool):
            continue
        if isinstance(one, bool) or not hasattr(one, "__index__"):
            raise TypeError(f"the id {one!r} is not an integer, which an INTEGER PRIMARY KEY needs; leave ids out (None), and pass "
                            "these as one of the columns")
        found[place] = operator.index(one)
    return found


def _count(k: Any) -> int:
    if isinstance(k, bool) or not hasattr(k, "__index__") or operator.index(k) < 0:
        raise ValueError(f"k is {k!r}; it must be a number of rows, 0 or more")
    return operator.index(k)


def _reals(array: Any, dimensions: int, shape: str) -> Any:
    """The array as little-endian float32, unless it has other dimensions or its numbers have an imaginary part."""
    import numpy
    if array.ndim != dimensions:
        raise ValueError(f"an array of the shape {array.shape} was given; {shape}")
    if array.dtype.kind not in "biufO":
        raise TypeError(f"an array of {array.dtype} was given; vectors are arrays of real numbers")
    if array.shape[-1] == 0 and (dimensions == 1 or len(array)):
        raise ValueError(f"an array of the shape {array.shape} was given; a vector has one component or more")
    return numpy.ascontiguousarray(array, dtype="<f4")


def _is_masked(vector: Any, what: str) -> bool:
    """Whether a vector is a masked array of NumPy without components. One that lacks some of them is an error."""
    if not hasattr(vector, "filled") or not vector.mask.any():
        return False
    if not vector.mask.all():
        raise ValueError(f"{what} has {vector.mask.sum()} masked components of {vector.size}; fill them, or mask all of a row without a "
                         "vector")
    return True


def _blob(vector: Any, what: str = "the vector") -> Any:
    """The little-endian float32 BLOB of one vector; bytes remain what they are. None, and what is masked, has none."""
    if vector is None or isinstance(vector, bytes):
        return vector
    if hasattr(vector, "__array__"):
        import numpy
        return None if _is_masked(vector, what) else _reals(numpy.asarray(vector), 1, "a vector has one dimension, as array[0] has").tobytes()
    if isinstance(vector, (str, int, float)) or not isinstance(vector, Iterable):
        remedy = "parse it, for example by json.loads" if isinstance(vector, str) else "None stands for a row without a vector"
        raise TypeError(f"{_short(vector)} is not a vector; a vector is a sequence of numbers, and vectors have one for each row; {remedy}")
    try:
        floats = array.array("f", vector)
    except TypeError:
        raise TypeError(f"the vector {_short(vector)} has a component that is not a number; a vector is a sequence of numbers") from None
    if not floats:
        raise ValueError("a vector without components was given; a vector has one component or more")
    if sys.byteorder != "little":
        floats.byteswap()
    return floats.tobytes()


def _blobs(vectors: Any) -> Sequence[Any]:
    """The BLOBs of the rows of an array, a DataFrame, an object with the buffer protocol, or an iterable of vectors."""
    if hasattr(vectors, "to_numpy"):
        vectors = vectors.to_numpy()
    if hasattr(vectors, "__array__"):
        import numpy
        given = numpy.asarray(vectors)
        if given.dtype == object and given.ndim == 1:
            return [_blob(vector) for vector in vectors]
        given = _reals(given, 2, "vectors have two dimensions, a row for each vector, as [vector] has")
        if hasattr(vectors, "filled") and vectors.mask.any():
            return [_blob(vector, f"row {row} of vectors") for row, vector in enumerate(vectors)]
        vectors = given
    try:
        view = memoryview(vectors)
    except TypeError:
        return [_blob(vector) for vector in vectors]
    if view.ndim != 2 or view.shape is None:
        raise ValueError(f"the vectors are an array with {view.ndim} dimension(s); they must have 2, a row for each vector")
    if view.format not in ("f", "<f") or not view.c_contiguous or sys.byteorder != "little":
        return [_blob(row) for row in view.tolist()]
    if view.nbytes == 0:
        return []
    width, data = 4 * view.shape[1], view.cast("B")
    return [data[start:start + width] for start in range(0, len(data), width)]


def _faults(given: List[Tuple[int, Any]], width: int) -> Iterator[Tuple[int, str]]:
    """The rows of which the vector has another number of bytes, NaN or infinity, and what is wrong; `given` are rows and BLOBs."""
    numpy = sys.modules.get("numpy")  # if the program has it, it is faster
    for start in range(0, len(given), _ROWS_BETWEEN_REPORTS):
        part = given[start:start + _ROWS_BETWEEN_REPORTS]
        if numpy is not None and width % 4 == 0 < width and all(len(blob) == width for _, blob in part):
            if numpy.isfinite(numpy.frombuffer(b"".join([blob for _, blob in part]), "<f4")).all():
                continue
        for row, blob in part:
            fault = _fault(blob, width)
            if fault:
                yield row, fault


def _fault(blob: Any, width: int) -> str:
    """What is wrong with the BLOB of a vector that must have `width` bytes; nothing if it is right."""
    if len(blob) != width or width % 4 or not width:
        return f"has {len(blob) / 4:g} components, but the index has {width // 4} dimensions"
    floats = array.array("f")
    floats.frombytes(blob)
    if sys.byteorder != "little":
        floats.byteswap()
    if math.isfinite(sum(floats)):  # no sum of finite float32 overflows
        return ""
    return next(f"has {one} as the component {place}" for place, one in enumerate(floats, 1) if not math.isfinite(one))


# --- SQL -------------------------------------------------------------------------------------


def _check_where(where: str) -> None:
    """Raises ValueError unless the text is one expression as far as brackets and quotes can tell."""
    depth = 0
    for token in _TOKEN.findall(where):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth < 0 or token in (";", "--", "/*", "'", '"', "`", "["):
            raise ValueError(f"where must be one SQL expression, but {where!r} has {token!r} at a place where it would end it")
    if depth != 0 or not where.strip():
        raise ValueError(f"where must be one SQL expression with its brackets closed, but is {where!r}")


def _insert_sql(table: str, names: Sequence[str], id: str, upsert: bool) -> str:
    sql = (f"INSERT INTO {_quoted(table)}({', '.join(map(_quoted, names))}) VALUES ({', '.join('?' * len(names))})")
    if not upsert:
        return sql
    changes = ", ".join(f"{_quoted(name)} = excluded.{_quoted(name)}" for name in names if name != id)
    return f"{sql} ON CONFLICT({_quoted(id)}) DO " + (f"UPDATE SET {changes}" if changes else "NOTHING")


def _reported(rows: Iterable[Any], total: int, progress: Optional[Progress]) -> Iterable[Any]:
    if progress is None:
        return rows

    def report(progress: Progress) -> Iterator[Any]:
        for done, row in enumerate(rows):
            if done % _ROWS_BETWEEN_REPORTS == 0:
                progress(done, total)
            yield row
        progress(total, total)
    return report(progress)


class Index:
    """An index of the table `table` that exists, and its rows. index() makes both.

    `id` and `vector` are the columns of the keys and the vectors; an index of texts has no vectors (None). The methods that write
    do so in the open transaction or, if there is none, in one of their own.
    """

    def __init__(self, conn: Any, table: str, *, name: Optional[str] = None, id: str = "id",
                 vector: Optional[str] = "vector") -> None:
        self.conn, self.table, self.name, self.id, self.vector = conn, table, name or table + "_vec", id, vector
        _check_loaded(conn)
        known = _columns_of(conn, table)
        for column in (id, vector):
            if column is not None and column not in known:
                raise ValueError(f"the table {table!r} has no column {column!r}; " + (
                    "there is no such table" if not known else f"its columns are {', '.join(known)}" + (
                        "; name the one with the vectors, vector='COLUMN', or for an index of texts vector=None" if column == vector else "")))
        self.columns: List[str] = [column for column in known if column not in (id, vector)]
        self._statements: Dict[Any, str] = {}
        self._score_column = ""

    def __repr__(self) -> str:
        return f"Index({self.table!r}, name={self.name!r}, id={self.id!r}, vector={self.vector!r})"

    @overload
    def search(self, query: Any, k: int = ..., *, where: Optional[str] = ..., params: Params = ..., among: Any = ...,
               columns: Optional[Sequence[str]] = ..., rows: Literal['tuples'] = ...,
               **options: Any) -> List[Tuple[Any, ...]]: ...

    @overload
    def search(self, query: Any, k: int = ..., *, where: Optional[str] = ..., params: Params = ..., among: Any = ...,
               columns: Optional[Sequence[str]] = ..., rows: Literal['dicts'], **options: Any) -> List[Dict[str, Any]]: ...

    @overload
    def search(self, query: Any, k: int = ..., *, where: Optional[str] = ..., params: Params = ..., among: Any = ...,
               columns: Optional[Sequence[str]] = ..., rows: Literal['pandas'], **options: Any) -> Any: ...

    def search(self, query: Any, k: int = 10, *, where: Optional[str] = None, params: Params = (), among: Any = None,
               columns: Optional[Sequence[str]] = None, rows: str = "tuples", **options: Any) -> Any:
        """Returns the k rows nearest to a vector or, with a model, to a text; best first.

        Each row has the id, the similarity (the distance if the index has metric="l2"), and `columns` (all but the vector). `where` is an SQL expression over the columns of
        the table, and `params` are its values; rows that do not match cost no place. It is part of the statement, so it must not
        come from people whom you do not trust. `among` is an iterable of the ids that may be found. `options` are further inputs
        of the index, such as recall and backend; with `where` the answer is exact, whatever recall is. `rows` is "tuples", "dicts"
        or "pandas".
        """
        if rows not in ("tuples", "dicts", "pandas"):
            raise ValueError(f"rows is {rows!r}; it must be 'tuples', 'dicts' or 'pandas'")
        if where is not None and among is not None:
            raise ValueError("where and among are both given; give one of them")
        if isinstance(columns, str) or isinstance(params, str):
            raise TypeError("columns and params are lists: write columns=['title'] and params=['en'] also for one of them")
        shown = self.columns if columns is None else list(columns)
        asked = query if isinstance(query, str) else _blob(query)
        if asked is None:
            raise TypeError(f"the query is {query!r}; it must be a vector or, with a model, a text")
        score = self._score()
        if rows != "tuples" and score in shown:
            raise ValueError(f"the table has a column {score!r}, which would take the place of the answer's; ask for tuples, or name the "
                             "columns to return without it")
        k = _count(k)
        inputs = {"query": asked, "k": k, **{name: value for name, value in options.items() if value is not None}}
        if among is not None:
            inputs["among"] = among if isinstance(among, (bytes, str)) else json.dumps(_ids(among))
        found = self._search(shown, where, params, inputs, k)
        if rows == "tuples":
            return found
        names = [self.id, score, *shown]
        if rows == "dicts":
            return [dict(zip(names, row)) for row in found]
        import pandas
        return pandas.DataFrame(found, columns=names)

    def _score(self) -> str:
        if not self._score_column:
            known = _columns_of(self.conn, self.name)
            self._score_column = "distance" if "distance" in known and "similarity" not in known else "similarity"
        return self._score_column

    def _search(self, shown: Sequence[str], where: Optional[str], params: Params, inputs: Dict[str, Any],
                k: int) -> List[Tuple[Any, ...]]:
        if where is None:
            return self._rows("k", shown, None, (), inputs)
        # A filter that many rows match finds k of them near the top of the ranking. Otherwise the matching rows are ranked.
        near = dict(inputs, rank=max(1, min(_RANKS_PER_ROW * k, 2**31)), limit=k)
        del near["k"]
        found = self._rows("near", shown, where, params, near)
        if len(found) >= k:
            return found
        exact = {name: value for name, value in inputs.items() if name != "recall"}  # checked above
        return self._rows("among", shown, where, params, exact)

    def _rows(self, kind: str, shown: Sequence[str], where: Optional[str], params: Params,
              inputs: Dict[str, Any]) -> List[Tuple[Any, ...]]:
        by_name = isinstance(params, Mapping) and where is not None
        key = (kind, tuple(shown), where, tuple(inputs), by_name)
        sql = self._statements.get(key)
        if sql is None:
            if len(self._statements) > 256:
                self._statements.clear()
            sql = self._statements[key] = self._search_sql(kind, shown, where, list(inputs), by_name)
        values: Params = tuple(itertools.chain(params, inputs.values()))
        if by_name and isinstance(params, Mapping):
            for name in params:
                if str(name).startswith("glove_"):
                    raise ValueError(f"params has the name {name!r}, but names that begin with glove_ are the index's own; rename it")
            values = {**params, **{"glove_" + name: value for name, value in inputs.items()}}
        try:
            return list(_execute(self.conn, sql, values))
        except Exception as error:
            if "number of bindings" not in str(error):
                raise
            raise ValueError(f"where is {where!r}, but params has {len(params)} values; params must have one for each ?") from error

    def _search_sql(self, kind: str, shown: Sequence[str], where: Optional[str], inputs: List[str], by_name: bool) -> str:
        table, id = _quoted(self.table), _quoted(self.id)
        known = _columns_of(self.conn, self.name)
        for name in inputs:
            if known and name not in (*known, "limit"):
                raise TypeError(f"search() has no input {name!r}; those of the index are recall and backend. Conditions on "
                                "columns of the table are where and params")
        if where is not None:
            _check_where(where)
        place = {name: ":glove_" + name if by_name else "?" for name in inputs}
        limit = f" LIMIT {place.pop('limit')}" if kind == "near" else ""
        conditions = [f"v.{_quoted(name)} {'<=' if name == 'rank' else '='} {mark}" for name, mark in place.items()]
        columns = ", ".join([f"v.{id}" if self.id == "id" else f"v.id AS {id}", "v." + self._score(), *("t." + _quoted(name) for name in shown)])
        joined = f" JOIN {table} t ON t.{id} = v.id" if shown else ""
        if kind == "near":
            inner = ", ".join(_quoted(name) for name in shown)
            key = "glove_key"
            while key in {name.lower() for name in shown}:
                key += "_"
            joined = (f" CROSS JOIN (SELECT {id} AS {key}{', ' if inner else ''}{inner} FROM {table} WHERE ({where})) t"
                      f" ON t.{key} = v.id")
        if kind == "among":
            conditions.insert(0, f"v.among = (SELECT glove_keys({id}) FROM {table} WHERE ({where}))")
        return (f"SELECT {columns} FROM {_quoted(self.name)} v{joined} WHERE {' AND '.join(conditions)} ORDER BY v.rank{limit}")

    def add(self, ids: Any = None, vectors: Any = None, columns: Optional[Mapping[str, Any]] = None, *,
            progress: Optional[Progress] = None) -> None:
        """Inserts rows; without ids, SQLite numbers them. An id that exists is an error, and then no row is inserted."""
        self._write(ids, vectors, columns, progress, upsert=False)

    def upsert(self, ids: Any, vectors: Any = None, columns: Optional[Mapping[str, Any]] = None, *,
               progress: Optional[Progress] = None) -> None:
        """Inserts rows, and changes those whose id exists: the vector and the columns that are given."""
        self._write(_ids(ids), vectors, columns, progress, upsert=True)

    def delete(self, ids: Any) -> None:
        """Deletes the rows with these ids; one id may be given by itself."""
        wanted = _ids([ids] if hasattr(ids, "__index__") and not getattr(ids, "ndim", 0) else ids)
        with _all_or_nothing(self.conn):
            self.conn.cursor().executemany(f"DELETE FROM {_quoted(self.table)} WHERE {_quoted(self.id)} = ?",
                                           [(one,) for one in wanted])
            self._sync_if_due()

    def sync(self) -> None:
        """Makes searches as fast as they can be after changes. add(), upsert() and delete() do so after 10,000 changed rows."""
        self.command("sync")

    def command(self, command: str, query: Any = None) -> None:
        """Runs a command of the index: sync, merge, rebuild, repair, integrity-check, or calibrate with a query as search() takes it."""
        name = _quoted(self.name)
        asked = query if query is None or isinstance(query, str) else _blob(query)
        with _all_or_nothing(self.conn):
            if asked is None:
                _execute(self.conn, f"INSERT INTO {name}({name}) VALUES (?)", (command,))
            else:
                _execute(self.conn, f"INSERT INTO {name}({name}, query) VALUES (?, ?)", (command, asked))

    def _sync_if_due(self) -> None:
        if _execute(self.conn, f"SELECT count(*) FROM {_quoted(self.name + '_log')}").fetchall()[0][0] > _MOST_LOGGED:
            self.sync()

    def _write(self, ids: Any, vectors: Any, columns: Optional[Mapping[str, Any]], progress: Optional[Progress],
               upsert: bool) -> None:
        values = _values(ids, vectors, columns, self.id, self.vector)
        changed = self._check_vectors(values.get(self.vector or "", ()), upsert)
        with _all_or_nothing(self.conn):
            for event in ("insert", "update") if changed else ():  # 'rebuild', which must follow, makes these triggers again
                _execute(self.conn, f"DROP TRIGGER IF EXISTS {_quoted(f'{self.name}_{event}_check')}")
            _insert(self.conn, self.table, values, self.id, upsert, progress)
            if changed:
                self._check_all_have(changed)
            else:
                self._sync_if_due()

    def _check_vectors(self, blobs: Sequence[Any], upsert: bool) -> int:
        """Raises ValueError if one of them could never be found, unless the index skips such rows.

        Returns 0, or the bytes of a vector if an upsert() has those of another model.
        """
        given = [(row, blob) for row, blob in enumerate(blobs) if blob is not None]
        if not given:
            return 0
        length = len(given[0][1])
        width = self._width() or length
        changed = length if upsert and length != width else 0
        for row, fault in _faults(given, changed or width):
            if self._skips_invalid():
                return 0
            raise ValueError(f"row {row} of vectors {fault}; correct it, or give None in its place for a row without a vector")
        return changed

    def _check_all_have(self, length: int) -> None:
        vector = _quoted(self.vector or "")
        if _execute(self.conn, f"SELECT 1 FROM {_quoted(self.table)} WHERE length({vector}) <> ? LIMIT 1", (length,)).fetchall():
            raise ValueError(f"vectors have {length / 4:g} components, but rows of {self.table!r} that are not given have another number; "
                             "to change it, upsert the vectors of all rows at once, and then run command('rebuild')")

    def _width(self) -> int:
        """The bytes of a vector of the index: of its dimensions or, as long as it knows none, of the first row; 0 without rows."""
        vector = _quoted(self.vector or "")
        known = _execute(self.conn, f"SELECT 4 * value FROM {_quoted(self.name + '_config')} WHERE key = 'dims' AND value > 0").fetchall()
        first = f"SELECT length({vector}) FROM {_quoted(self.table)} WHERE typeof({vector}) = 'blob' ORDER BY {_quoted(self.id)} LIMIT 1"
        return int((known or _execute(self.conn, first).fetchall() or [(0,)])[0][0])

    def _skips_invalid(self) -> bool:
        schemas = _names(self.conn, "database_list")
        made = [row[0] for schema in schemas for row in _execute(
            self.conn, f"SELECT sql FROM {_quoted(schema)}.sqlite_master WHERE type = 'table' AND lower(name) = lower(?)", (self.name,))]
        return any(re.search(r"\binvalid\s*=\s*['\"]?skip", str(sql), re.IGNORECASE) for sql in made)


def _values(ids: Any, vectors: Any, columns: Optional[Mapping[str, Any]], id: str,
            vector: Optional[str]) -> Dict[str, Sequence[Any]]:
    """The values of each column that is given, all of one length."""
    values: Dict[str, Sequence[Any]] = {}
    if ids is not None:
        values[id] = _ids(ids)
    if columns is not None and (not hasattr(columns, "items") or getattr(columns, "ndim", 2) != 2):
        raise TypeError(f"columns is a {type(columns).__name__}; it must be a dict of names and lists, such as {{'title': titles}}, or "
                        "a DataFrame, such as frame[['title']]")
    for name, column in (columns.items() if columns is not None else ()):
        if not isinstance(name, str) or name.lower() in (id.lower(), (vector or id).lower(), "similarity"):
            raise ValueError(f"a column cannot have the name {name!r}: it must be text, and other than {id}, similarity"
                             + (f" and {vector}" if vector else "") + "; rename it, or pass it as the argument for "
                             "ids or vectors")
        if name.lower() in {other.lower() for other in values}:
            raise ValueError(f"there are two columns named {name!r}; rename one of them")
        values[name] = _column_values(name, column)
    if vectors is not None:
        if vector is None:
            raise ValueError("vectors were given to an index of texts, which makes its own; leave them out")
        values[vector] = _blobs(vectors)
    if not values:
        raise ValueError("no rows were given; pass vectors, or columns that have the text")
    lengths = {name: len(column) for name, column in values.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError("all columns must have as many rows as there are ids, but they have: "
                         + ", ".join(f"{name} {length}" for name, length in lengths.items()))
    return values


def _insert(conn: Any, table: str, values: Dict[str, Sequence[Any]], id: str, upsert: bool, progress: Optional[Progress]) -> None:
    rows = zip(*values.values())
    total = len(next(iter(values.values())))
    conn.cursor().executemany(_insert_sql(table, list(values), id, upsert), _reported(rows, total, progress))


def index(conn: Any, table: str, ids: Any = None, vectors: Any = None, columns: Optional[Mapping[str, Any]] = None, *,
          text: Union[None, str, Sequence[str]] = None, name: Optional[str] = None, progress: Optional[Progress] = None,
          **arguments: Any) -> Index:
    """Makes a table of rows and an index over them, in one transaction.

    >>> docs = sqlite_glove.index(conn, "doc", ids, vectors, columns={"title": titles})
    >>> docs.search(query, 3, where="title LIKE ?", params=["a%"])

    `ids` are integers; without them SQLite numbers the rows from 1. `vectors` is an array with a row for each (NumPy, a DataFrame,
    anything with the buffer protocol) or an iterable of sequences, of which None is a row without a vector. `columns` is a dict or
    a DataFrame. With `text`, the names of columns of texts, a loaded model makes the vectors. `name` is that of the index,
    table + "_vec". `progress(done, total)` is called while rows are inserted. `arguments` are further ones of glove_index, such as
    model="glove"; with vectors, check="yes" is one unless you give it or invalid.
    """
    vector = "vector" if text is None else None
    if text is None and vectors is None:
        raise ValueError("an index needs vectors, or text, the names of the columns whose texts a model makes vectors of")
    values = _values(ids, vectors, columns, "id", vector)
    repeated = [one for one, times in collections.Counter(values.get("id", ())).items() if times > 1]
    if repeated:
        raise ValueError(f"ids has {repeated[0]} more than once; leave ids out (None), or give each row an id of its own")
    declared = [f"{_quoted(column)}{_column_type(list(some))}" for column, some in values.items() if column not in ("id", vector)]
    declared = ['"id" INTEGER PRIMARY KEY', *declared, *(['"vector" BLOB'] if vector else [])]
    given = {"content": table, "rowid": "id"}
    given["vector" if vector else "text"] = vector or (text if isinstance(text, str) else ", ".join(map(_quoted, text or ())))
    if vector and "invalid" not in arguments:
        arguments.setdefault("check", "yes")
    for key in arguments:
        if not key.isidentifier() or key in given:
            raise ValueError(f"{key!r} cannot be an argument of the index")
    given.update(arguments)
    name = name or table + "_vec"
    using = ", ".join(f"{key}={_literal(value)}" for key, value in given.items())
    _check_loaded(conn)
    if _columns_of(conn, table):
        raise ValueError(f"the table {table!r} exists already; open its index by sqlite_glove.Index(conn, {table!r}) and use add() or "
                         "upsert(), or drop the index and the table first")
    with _all_or_nothing(conn):
        _execute(conn, f"CREATE TABLE {_quoted(table)}({', '.join(declared)})")
        _insert(conn, table, values, "id", False, progress)
        _execute(conn, f"CREATE VIRTUAL TABLE {_quoted(name)} USING glove_index({using})")
        return Index(conn, table, name=name, id="id", vector=vector)
