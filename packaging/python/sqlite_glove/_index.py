"""Tables whose rows can be searched by their vectors or texts: index() makes one, and Index uses one."""
import collections
import functools
import re
from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, Tuple, TypeVar, Union, cast, get_args, overload

from ._joins import Groups, Neighbors, Pairs, columns_of_join, join_sql, neighbors_of
from ._neural import catch_up, encode_in_pieces, explain, is_neural, loaded_model, logged_rows
from ._search import Asked, Inputs, Search
from ._sql import (TYPES, Params, Progress, Report, all_or_nothing, check_loaded, columns_of, definition_of, definitions, execute, insert_sql,
                   literal, quoted, reported, reporter, text, type_of, where_of)
from ._values import (Columns, Key, bits, blob, blobs, bound, by_name, column_type, column_values, count, faults, fitting, key_of_ids, kind_of,
                      values_of)

Where = Union[None, str, Mapping[str, Any]]
Rows = Literal["tuples", "dicts", "pandas", "polars", "arrow", "frame"]
_Method = TypeVar("_Method", bound=Callable[..., Any])

_MOST_LOGGED = 10_000  # more changed rows than this make each search slow, so they are synced
_QUERIES_PER_BATCH = 256
_TEXTS = "text"  # the column of index(texts=...)


def _named(method: _Method) -> _Method:
    """Begins the messages of a verb's own errors with its name."""
    @functools.wraps(method)
    def verb(*arguments: Any, **options: Any) -> Any:
        try:
            return method(*arguments, **options)
        except (TypeError, ValueError, LookupError) as error:
            if type(error) in (TypeError, ValueError, LookupError) and len(error.args) == 1 and "(): " not in str(error):
                error.args = (f"{method.__name__}(): {error.args[0]}",)
            raise
    return cast(_Method, verb)


class Index:
    """An index, and the table whose rows it searches. index() makes both.

    >>> docs = sqlite_glove.Index(conn, "doc")  # the index of the table doc; or by its own name, "doc_vec"

    The columns of the key, of the vectors or of the texts are those that the index was made with. An id is a value of the key or,
    if it has several columns, a tuple. The methods that write do so in the open transaction or, if there is none, in one of their
    own. `model` is the path of the index's model, which is loaded unless it is loaded already.
    """

    def __init__(self, conn: Any, table: str, *, name: Optional[str] = None, model: Any = None) -> None:
        check_loaded(conn)
        found = definition_of(conn, table, name)
        if model is not None:
            loaded_model(conn, model, found.model)
        self.conn, self.schema, self.table, self.name = conn, found.schema, found.table, found.name
        self.vector, self.texts, self._type = found.vector, found.texts, found.type
        self.key = Key(found.key, found.id_is_key)
        self._skips_invalid = found.skips_invalid
        self._search = Search(conn, found)
        self._neural, self._model = bool(found.texts) and is_neural(conn, found.name), found.model
        self.columns = self._columns_now()  # all but the key and the vectors
        self.frame: Optional[str] = None  # what index() was given: "pandas", "polars" or "arrow"

    def _score(self) -> str:
        """The column of the index that ranks: similarity or, by metric="l2" and "hamming", distance."""
        return self._search.score

    def _columns_now(self) -> List[str]:
        hidden = {name.lower() for name in [*self.key.names, self.vector or self.key.names[0]]}
        return [name for name in columns_of(self.conn, self.table) if name.lower() not in hidden]

    def _with_columns(self, run: Callable[[], Any]) -> Any:
        """Returns what run() does; after a column was renamed or dropped, by the columns that the table has now."""
        try:
            return run()
        except Exception as error:
            now = self._columns_now() if re.search("no such column|names the column", str(error)) else self.columns
            if now == self.columns:
                raise
            self.columns = now
            return run()

    def _catch_up(self, progress: Optional[Progress] = None) -> str:
        """Encodes the texts that a search may not encode. Returns what hinders this connection, or nothing."""
        return catch_up(self.conn, self.name, lambda: self.sync(progress=progress)) if self._neural else ""

    def _searched(self, run: Callable[[], Any]) -> Any:
        """Returns what run(), a search, does."""
        hindrance = self._catch_up()
        try:
            return self._with_columns(run)
        except Exception as error:
            explain(error, self.name, hindrance)
            raise

    def __repr__(self) -> str:
        return f"Index({self.table!r}, name={self.name!r}, key={self.key.names!r}, " + (
            f"vector={self.vector!r})" if self.vector else f"texts={self.texts!r})")

    def _repr_html_(self) -> str:
        """What a notebook shows: what the index is, its state, and the first rows of the table."""
        from ._notebook import html_of  # here, because only notebooks call it
        return html_of(self)

    def __len__(self) -> int:
        """The number of the table's rows."""
        return int(execute(self.conn, f"SELECT count(*) FROM {quoted(self.table)}").fetchall()[0][0])

    def __bool__(self) -> bool:
        return True

    # --- searches

    @overload
    def search(self, query: Any, k: int = ..., *, where: Where = ..., params: Params = ..., among: Any = ...,
               columns: Optional[Sequence[str]] = ..., rows: Literal['tuples'] = ..., hybrid: Optional[str] = ...,
               match: Optional[str] = ..., weights: Tuple[float, float] = ..., constant: float = ...,
               diversity: Optional[float] = ..., fetch: Optional[int] = ..., **options: Any) -> List[Tuple[Any, ...]]: ...

    @overload
    def search(self, query: Any, k: int = ..., *, where: Where = ..., params: Params = ..., among: Any = ...,
               columns: Optional[Sequence[str]] = ..., rows: Literal['dicts'], hybrid: Optional[str] = ...,
               match: Optional[str] = ..., weights: Tuple[float, float] = ..., constant: float = ...,
               diversity: Optional[float] = ..., fetch: Optional[int] = ..., **options: Any) -> List[Dict[str, Any]]: ...

    @overload
    def search(self, query: Any, k: int = ..., *, where: Where = ..., params: Params = ..., among: Any = ...,
               columns: Optional[Sequence[str]] = ..., rows: Literal['pandas', 'polars', 'arrow', 'frame'], hybrid: Optional[str] = ...,
               match: Optional[str] = ..., weights: Tuple[float, float] = ..., constant: float = ...,
               diversity: Optional[float] = ..., fetch: Optional[int] = ..., **options: Any) -> Any: ...

    @_named
    def search(self, query: Any, k: int = 10, *, where: Where = None, params: Params = (), among: Any = None,
               columns: Optional[Sequence[str]] = None, rows: str = "tuples", hybrid: Optional[str] = None,
               match: Optional[str] = None, weights: Tuple[float, float] = (1, 1), constant: float = 60,
               diversity: Optional[float] = None, fetch: Optional[int] = None, **options: Any) -> Any:
        """Returns the k rows nearest to a vector or, with a model, to a text; best first.

        Each row has the key, the similarity (by metric="l2" or "hamming" the distance), and `columns` (all but the vector).

        `where` is a dict, such as {"lang": "en"}, {"lang": ["en", "fr"]} or {"lang": None}, or an SQL expression over the columns
        of the table, with its values in `params`; rows that do not match cost no place. An expression is part of the statement, so
        it must not come from people whom you do not trust. `among` is an iterable of the ids that may be found. A filter is fast
        if its column has an SQL index (index_columns of index()).

        `hybrid` names an FTS5 table of the same rows, and fuses its ranking with that of the index: each row has, in place of the
        similarity, the score weights[0] / (constant + its place in the one) + weights[1] / (constant + its place in the other),
        over the first `fetch` rows of each (4 k, and at least 100). `match` is FTS5's query; without it, any word of a query that
        is a text may match. `diversity`, from 0 to 1, takes of the `fetch` best rows (4 k, and at least 50) those that differ from
        one another: maximal marginal relevance with lambda = 1 - diversity.

        `options` are further inputs of the index, such as recall and backend; with `where` the answer is exact, whatever recall is.
        `rows` is "tuples", "dicts", "pandas", "polars", "arrow", or "frame": of those three, what index() was given.
        """
        k = count(k)
        asked = self._asked_for(query)
        if asked is None:
            raise TypeError(f"the query is {query!r}; it must be a vector or, with a model, a text")
        if match is not None and hybrid is None:
            raise ValueError(f"match is {match!r}, but hybrid names no FTS5 table that it could be a query of")
        if fetch is not None and hybrid is None and diversity is None:
            raise ValueError(f"fetch is {fetch!r}, but neither hybrid nor diversity is given, which choose from so many rows")
        inputs: Inputs = {"query": asked, "k": k, **self._search.options(options)}

        def run() -> Any:
            wanted = self._asked(where, params, among, columns, rows, "score" if hybrid is not None else "")
            if hybrid is not None:
                found = self._search.hybrid(wanted, inputs, hybrid, match, weights, constant, diversity, fetch)
            elif diversity is not None:
                found = self._search.diverse(wanted, inputs, diversity, fetch)
            else:
                found = self._search.nearest(wanted, inputs, k)
            return self._shown(found, wanted, rows)
        return self._searched(run)

    @_named
    def search_many(self, queries: Any, k: int = 10, *, where: Where = None, params: Params = (), among: Any = None,
                    columns: Optional[Sequence[str]] = None, rows: Rows = "tuples",
                    **options: Any) -> List[Any]:
        """Returns a list with the answer of search() for each query. They are searched in batches, which is faster."""
        if isinstance(queries, (str, bytes)):
            raise TypeError(f"the queries are {queries!r}; they must be an array or an iterable of vectors, or of texts")
        k = count(k)
        given = queries if hasattr(queries, "__array__") or hasattr(queries, "to_numpy") else list(queries)
        texts = isinstance(given, list) and bool(given) and all(isinstance(one, str) for one in given)
        vectors = given if texts else map(bits, given) if self._type == "bits" else blobs(given)
        asked = [one if isinstance(one, str) else bytes(one) for one in vectors if one is not None]
        if len(asked) != len(given):
            raise TypeError("one of the queries is None; each must be a vector or, with a model, a text")
        inputs: Inputs = {"k": k, **self._search.options(options)}
        different = list(dict.fromkeys(asked))
        keys = [query.encode() if isinstance(query, str) else query for query in asked]

        def run() -> List[Any]:
            wanted = self._asked(where, params, among, columns, rows, "")
            answers: Dict[Any, List[Tuple[Any, ...]]] = {}
            for start in range(0, len(different), _QUERIES_PER_BATCH):
                for query, *row in self._search.batch(wanted, inputs, different[start:start + _QUERIES_PER_BATCH]):
                    answers.setdefault(query.encode() if isinstance(query, str) else bytes(query), []).append(tuple(row))
            return [self._shown(answers.get(key, []), wanted, rows) for key in keys]
        found: List[Any] = self._searched(run)
        return found

    @_named
    def like(self, id: Any, k: int = 10, *, where: Where = None, params: Params = (),
             columns: Optional[Sequence[str]] = None, rows: Rows = "tuples", **options: Any) -> Any:
        """Returns the k other rows that are nearest to the row with this id, as search() does."""
        k = count(k)
        key = self.key.one(id)
        query = "t." + quoted(self.vector) if self.vector else " || char(10) || ".join(f"coalesce(t.{quoted(one)}, '')" for one in self.texts)
        if self._neural:  # a text as a query would get the prompt of queries
            query = f"glove_encode({query}{', ' + literal(self._model) if self._model else ''})"
        row = self._searched(lambda: self._row(key, self.key.names, query if self.vector or self._neural else f"{query} || ''"))
        if row is None:
            raise LookupError(f"{self.table!r} has no row with the id {id!r}")
        if row[len(key)] is None:
            raise ValueError(f"the row with the id {id!r} has no vector")
        inputs: Inputs = {"query": row[len(key)] if self.vector or self._neural else text(row[len(key)]), "k": k + 1,
                          **self._search.options(options)}

        itself = row[:len(key)]

        def run() -> Any:
            wanted = self._asked(where, params, None, columns, rows, "")
            found = [one for one in self._search.nearest(wanted, inputs, k + 1) if one[:len(key)] != itself]
            return self._shown(found[:k], wanted, rows)
        return self._searched(run)

    # --- joins of all rows, as arrays of NumPy

    @_named
    def pairs(self, *, min_similarity: Optional[float] = None, max_distance: Optional[float] = None, pairs: Optional[int] = None,
              other: Union[None, str, "Index"] = None, among: Any = None, backend: Optional[str] = None) -> Pairs:
        """The near rows in pairs, each pair once: all from a similarity on (a distance, with metric="l2"), or so many nearest ones.

        >>> a, b, similarity = docs.pairs(min_similarity=0.95)

        With `other`, an Index or the name of an index or a model, b is one of its rows. `among` are the ids that take part.
        """
        width = len(self.key.names)
        other_width = len(other.key.names) if isinstance(other, Index) else width if other is None else 1
        return Pairs(*self._joined("glove_pairs", f"a, b, {self._score()}", [width, other_width, "f8"], {
            "min_similarity": bound("min_similarity", min_similarity), "max_distance": bound("max_distance", max_distance),
            "pairs": None if pairs is None else count(pairs, "pairs"),
            "other": f"{other.schema}.{other.name}" if isinstance(other, Index) else other, "among": among, "backend": backend}))

    @_named
    def groups(self, *, min_similarity: Optional[float] = None, max_distance: Optional[float] = None, k: Optional[int] = None,
               among: Any = None, backend: Optional[str] = None) -> Groups:
        """The groups that the pairs of pairs(), or of each row and its k nearest ones, connect."""
        return Groups(*self._joined("glove_groups", "id, group_id, size", [len(self.key.names)] * 2 + ["i8"], {
            "min_similarity": bound("min_similarity", min_similarity), "max_distance": bound("max_distance", max_distance),
            "k": None if k is None else count(k), "among": among, "backend": backend}))

    @_named
    def neighbors(self, k: int = 15, *, among: Any = None, backend: Optional[str] = None, progress: Report = None) -> Neighbors:
        """The k nearest other rows of each row: `neighbors(15).csr()` is a graph for UMAP, HDBSCAN or Leiden.

        `progress(done, total)` counts pairs; True shows a bar.
        """
        found = self._joined("glove_pairs", f"a, b, rank, {self._score()}", [len(self.key.names)] * 2 + ["i8", "f8"],
                             {"k": count(k), "among": among, "backend": backend}, len(self) * k, reporter(progress))
        return neighbors_of(*found)

    def _joined(self, table: str, shown: str, types: List[Any], inputs: Inputs, total: int = 0,
                progress: Optional[Progress] = None) -> List[Any]:
        inputs = {name: value for name, value in inputs.items() if value is not None}
        if "among" in inputs and not isinstance(inputs["among"], (bytes, str)):
            inputs["among"] = self.key.json(inputs["among"])
        inputs = {"target": f"{self.schema}.{self.name}", **inputs}
        sql, values = join_sql(table, shown, list(inputs)), tuple(inputs.values())
        return cast(List[Any], self._searched(lambda: columns_of_join(self.conn, sql, values, types, total, progress)))

    def _asked_for(self, query: Any) -> Any:
        """What the index takes as this query."""
        return query if query is None or isinstance(query, str) else bits(query) if self._type == "bits" else blob(query)

    def _asked(self, where: Where, params: Params, among: Any, columns: Optional[Sequence[str]], rows: str, score: str) -> Asked:
        if rows not in get_args(Rows):
            raise ValueError(f"rows is {rows!r}; it must be one of {', '.join(map(repr, get_args(Rows)))}")
        if rows == "frame" and self.frame is None:
            raise ValueError("rows is 'frame', but this Index was not returned by index() for a frame; write 'pandas', 'polars' or 'arrow'")
        if where is not None and among is not None:
            raise ValueError(f"where is {where!r} and among is {among!r}; give one of them")
        if isinstance(columns, str) or isinstance(params, str):
            raise TypeError("columns and params are lists: write columns=['title'] and params=['en'] also for one of them")
        shown = self.columns if columns is None else list(columns)
        condition, values = where_of(where, params, [*self.key.names, *self.columns] if isinstance(where, Mapping) else [], self.table)
        score = score or self._search.score
        if rows != "tuples" and score in shown:
            raise ValueError(f"the table has a column {score!r}, which would take the place of the answer's; ask for tuples, or name the "
                             "columns to return without it")
        ids = among if among is None or isinstance(among, (bytes, str)) else self.key.json(among)
        return Asked(shown, condition, values, ids, score)

    def _shown(self, found: List[Tuple[Any, ...]], wanted: Asked, rows: str) -> Any:
        if rows == "tuples":
            return found
        names = [*self.key.names, wanted.score, *wanted.shown]
        if rows == "dicts":
            return [dict(zip(names, row)) for row in found]
        from ._notebook import framed  # here, because most programs do without
        return framed(rows if rows != "frame" else str(self.frame), found, names)

    # --- rows

    def _row(self, key: Tuple[Any, ...], columns: Sequence[str], *expressions: str) -> Optional[Tuple[Any, ...]]:
        shown = ", ".join([*("t." + quoted(name) for name in columns), *expressions])
        rows = execute(self.conn, f"SELECT {shown} FROM {quoted(self.table)} t WHERE {self._has_key()}", key).fetchall()
        return tuple(rows[0]) if rows else None

    def _has_key(self) -> str:
        return " AND ".join(f"{quoted(name)} = ?" for name in self.key.names)

    @_named
    def get(self, ids: Any, columns: Optional[Sequence[str]] = None) -> Any:
        """Returns the row with this id as a dict (None if there is none), or a list of them for an iterable of ids.

        It has the key and `columns`, which are all but the vector.
        """
        if isinstance(columns, str):
            raise TypeError("columns is a list: write columns=['title'] also for one of them")

        def row_of(key: Tuple[Any, ...]) -> Optional[Dict[str, Any]]:
            names = [*self.key.names, *(self.columns if columns is None else columns)]
            row = self._row(key, names)
            return None if row is None else dict(zip(names, row))
        if self.key.is_one(ids):
            return self._with_columns(lambda: row_of(self.key.one(ids)))
        keys = self.key.many(ids)
        return self._with_columns(lambda: [row_of(key) for key in keys])

    @_named
    def add(self, ids: Any = None, vectors: Any = None, columns: Optional[Columns] = None, *,
            progress: Report = None) -> None:
        """Inserts rows; without ids, SQLite numbers them. An id that exists is an error, and then no row is inserted."""
        self._write({} if ids is None else self.key.columns(ids), vectors, columns, reporter(progress), upsert=False)

    @_named
    def upsert(self, ids: Any, vectors: Any = None, columns: Optional[Columns] = None, *,
               progress: Report = None) -> None:
        """Inserts rows, and changes those whose id exists: the vector and the columns that are given."""
        self._write(self.key.columns(ids), vectors, columns, reporter(progress), upsert=True)

    @_named
    def delete(self, ids: Any) -> None:
        """Deletes the rows with these ids; one id may be given by itself."""
        wanted = [self.key.one(ids)] if self.key.is_one(ids) else self.key.many(ids)
        with all_or_nothing(self.conn):
            self.conn.cursor().executemany(f"DELETE FROM {quoted(self.table)} WHERE {self._has_key()}", wanted)
            self._sync_if_due()

    @_named
    def drop(self, *, table: bool = False) -> None:
        """Drops the index and, if `table`, the table with its rows. The object must not be used afterwards."""
        with all_or_nothing(self.conn):
            execute(self.conn, f"DROP TABLE {quoted(self.name)}")
            if table:
                execute(self.conn, f"DROP TABLE {quoted(self.table)}")

    @_named
    def sync(self, *, progress: Report = None) -> None:
        """Makes searches as fast as they can be after changes. add(), upsert() and delete() do so after 10,000 changed rows.

        With a neural model, a search does so instead, if it would have to encode more texts than the setting encode_limit. Every two
        seconds what is encoded is stored (committed unless a transaction is open), and `progress(done, total)` is called.
        """
        progress = reporter(progress)
        waiting = logged_rows(self.conn, self.name) if self._neural else 0
        if waiting:
            encode_in_pieces(self.command, waiting, progress)
        else:
            self.command("sync")

    @_named
    def command(self, command: str, query: Any = None) -> None:
        """Runs a command of the index: sync, merge, rebuild, repair, integrity-check, or calibrate with a query as search() takes it."""
        name = quoted(self.name)
        asked = self._asked_for(query)
        with all_or_nothing(self.conn):
            if asked is None:
                execute(self.conn, f"INSERT INTO {name}({name}) VALUES (?)", (command,))
            else:
                execute(self.conn, f"INSERT INTO {name}({name}, query) VALUES (?, ?)", (command, asked))

    def _sync_if_due(self) -> None:
        if not self._neural and logged_rows(self.conn, self.name) > _MOST_LOGGED:  # a neural model takes long
            self.sync()

    def _write(self, keys: Dict[str, List[Any]], vectors: Any, columns: Optional[Columns], progress: Optional[Progress],
               upsert: bool) -> None:
        values = values_of(keys, vectors, columns, self.vector, self._type)
        if self.vector in values:
            values[self.vector] = fitting(values[self.vector], self._type, self._skips_invalid)
        changed = self._check_vectors(values.get(self.vector or "", ()), upsert)
        with all_or_nothing(self.conn):
            for event in ("insert", "update") if changed else ():  # 'rebuild', which must follow, makes these triggers again
                execute(self.conn, f"DROP TRIGGER IF EXISTS {quoted(f'{self.name}_{event}_check')}")
            _insert(self.conn, self.table, values, self.key.names, upsert, progress, self._made())
            if changed:
                self._check_all_have(changed)
            else:
                self._sync_if_due()

    def _check_vectors(self, given: Sequence[Any], upsert: bool) -> int:
        """Raises ValueError if one of the BLOBs could never be found, unless the index skips such rows.

        Returns 0, or the bytes of a vector if an upsert() has those of another model.
        """
        rows = [(row, one) for row, one in enumerate(given) if one is not None]
        if not rows:
            return 0
        length = len(rows[0][1])
        width = self._width() or length
        changed = length if upsert and length != width else 0
        for row, fault in faults(rows, changed or width, self._type):
            if self._skips_invalid:
                return 0
            raise ValueError(f"row {row} of vectors {fault}; correct it, or give None in its place for a row without a vector")
        return changed

    def _check_all_have(self, length: int) -> None:
        vector = quoted(self.vector or "")
        if execute(self.conn, f"SELECT 1 FROM {quoted(self.table)} WHERE 4 * length({vector}) <> ? LIMIT 1",
                   (length * TYPES[self._type][0],)).fetchall():
            given = f"{8 * length} bits" if self._type == "bits" else f"{length / 4:g} components"
            raise ValueError(f"vectors have {given}, but rows of {self.table!r} that are not given have another number; to change it, upsert "
                             "the vectors of all rows at once, and then run command('rebuild')")

    def _made(self) -> Dict[str, str]:
        """The expression that makes the column of vectors, for insert_sql()."""
        return {self.vector: TYPES[self._type][1]} if self.vector else {}

    def _float32(self, vector: bytes) -> bytes:
        """A BLOB of the table's vectors as one of little-endian float32."""
        return bytes(execute(self.conn, "SELECT glove_f32(?, ?)", (vector, self._type)).fetchall()[0][0])

    def _width(self) -> int:
        """The bytes of a vector as it is given to the index: of its dimensions or, as long as it knows none, of the first row; 0 without rows."""
        vector, each = quoted(self.vector or ""), 1 if self._type == "bits" else 4
        known = execute(self.conn, f"SELECT {each} * value FROM {quoted(self.name + '_config')} WHERE key = 'dims' AND value > 0").fetchall()
        first = (f"SELECT 4 * length({vector}) / {TYPES[self._type][0]} FROM {quoted(self.table)} WHERE typeof({vector}) = 'blob' "
                 f"ORDER BY {', '.join(map(quoted, self.key.names))} LIMIT 1")
        return int((known or execute(self.conn, first).fetchall() or [(0,)])[0][0])


def _insert(conn: Any, table: str, values: Dict[str, Sequence[Any]], key: Sequence[str], upsert: bool,
            progress: Optional[Progress], made: Mapping[str, str]) -> None:
    rows = zip(*values.values())
    total = len(next(iter(values.values())))
    conn.cursor().executemany(insert_sql(table, list(values), key, upsert, made), reported(rows, total, progress))


def _with_texts(texts: Any, columns: Any) -> Any:
    columns = by_name(columns)
    if columns is not None and not hasattr(columns, "items"):
        return columns  # an error of values_of()
    if columns is not None and any(str(name).lower() == _TEXTS for name in columns):
        raise ValueError(f"columns has {_TEXTS!r}, the name of the column that texts become; leave texts out, and pass text={_TEXTS!r}")
    given = column_values(_TEXTS, texts)
    wrong = next((one for one in given if not isinstance(one, (str, type(None)))), None)
    if wrong is not None:
        raise TypeError(f"texts has {wrong!r}, which is no text")
    return {_TEXTS: given, **(columns if columns is not None else {})}


@_named
def index(conn: Any, table: str, ids: Any = None, vectors: Any = None, columns: Optional[Columns] = None, *,
          text: Union[None, str, Sequence[str]] = None, texts: Any = None, model: Any = None, name: Optional[str] = None,
          if_exists: Literal["fail", "open"] = "fail", index_columns: Sequence[Union[str, Sequence[str]]] = (),
          temp: bool = False, progress: Report = None, **arguments: Any) -> Index:
    """Makes a table of rows and an index over them, in one transaction.

    >>> docs = sqlite_glove.index(conn, "doc", ids, vectors, columns={"title": titles}, index_columns=["title"])
    >>> docs.search(query, 3, where={"title": "a"})
    >>> notes = sqlite_glove.index(conn, "note", texts=["a storm", "the sun"], model="all-MiniLM-L6-v2")  # a folder

    `ids` are integers, texts, or columns of a key (a dict or a DataFrame); without them SQLite numbers the rows from 1. `vectors`
    is an array with a row for each (NumPy, a DataFrame, anything with the buffer protocol) or an iterable of sequences, of which
    None is a row without a vector. `columns` is a dict or a frame of pandas, polars or Arrow; rows="frame" in a search with the
    returned Index (not with one that is opened later) is a frame of that kind. With `text`, the names of columns of texts, or `texts`, which
    become the column "text", `model` makes the vectors: the name of a loaded model, or the path of one, which is then loaded. A
    neural model encodes many texts after the transaction, in pieces as sync() does; if that is interrupted, if_exists="open" and
    searches go on where it ended. `name` is that of the index, table + "_vec". `index_columns` are the columns that searches filter by, or
    tuples of them, each of which gets an SQL index: without it, a filter that few rows match reads the whole table. If the table
    has an index already, if_exists="open" returns it, and inserts nothing. With temp=True the file has ordinary tables only, which
    every tool reads; load() makes the virtual table of the index in temp for each connection. `progress(done, total)` is called while rows are
    inserted, and again while texts are encoded; True shows a bar of tqdm or, where that is not installed, a percentage.
    `arguments` are further ones of glove_index, such as metric="l2" or type="float16", to which vectors are rounded
    (int8 takes whole numbers only; bytes are of float32 all the same), or metric="hamming", whose vectors are bytes or arrays of uint8 with
    8 bits in each; with vectors, check="yes" is one unless you give it or invalid.
    """
    quoted(table)
    if isinstance(index_columns, str):
        raise TypeError(f"index_columns is a list: write index_columns=[{index_columns!r}] also for one of them")
    if if_exists not in ("fail", "open"):
        raise ValueError(f"if_exists is {if_exists!r}; it must be 'fail' or 'open'")
    frame, progress = kind_of(columns, vectors, ids, texts), reporter(progress)
    check_loaded(conn)
    if if_exists == "open" and any(one.table.lower() == table.lower() for one in definitions(conn)):
        opened = Index(conn, table, name=name, model=model)
        opened.frame = frame
        opened._catch_up(progress)  # pylint: disable=protected-access
        return opened
    if texts is not None:
        columns, text = _with_texts(texts, columns), text or _TEXTS
    vector = "vector" if text is None else None
    if text is None and vectors is None:
        raise ValueError("an index needs vectors, or text, the names of the columns whose texts a model makes vectors of, or texts")
    if model is not None:
        arguments["model"] = loaded_model(conn, model)
    key, types, keys = key_of_ids(ids)
    kind = type_of(arguments)
    values = values_of(keys, vectors, columns, vector, kind)
    repeated = [one for one, times in collections.Counter(zip(*keys.values())).items() if times > 1]
    if repeated:
        raise ValueError(f"ids has {key.shown(repeated[0])} more than once; leave ids out (None), or give each row an id of its own")
    declared = [f"{quoted(column)}{types.get(column) or column_type(list(some))}" for column, some in values.items() if column != vector]
    if not keys:
        declared.insert(0, '"id" INTEGER PRIMARY KEY')
    declared += ['"vector" BLOB'] if vector else []
    declared += [f"PRIMARY KEY({', '.join(map(quoted, key.names))})"] if len(key.names) > 1 else []
    given = {"content": table, "rowid": ", ".join(key.names if key.names == ["id"] else map(quoted, key.names))}
    given["vector" if vector else "text"] = vector or (text if isinstance(text, str) else ", ".join(map(quoted, text or ())))
    if vector and "invalid" not in arguments:
        arguments.setdefault("check", "yes")
    for argument in arguments:
        if not argument.isidentifier() or argument in given:
            raise ValueError(f"{argument!r} cannot be an argument of the index")
    given.update(arguments)
    if kind not in TYPES:
        raise ValueError(f"type is {kind!r}; it must be {', '.join(map(repr, TYPES))}")
    if vector:
        values[vector] = fitting(values[vector], kind, given.get("invalid") == "skip")
    name = name or table + "_vec"
    using = ", ".join(f"{argument}={literal('main.' + value if temp and argument == 'content' else value)}" for argument, value in given.items())
    if columns_of(conn, table):
        raise ValueError(f"the table {table!r} exists already; open its index by sqlite_glove.Index(conn, {table!r}) and use add() or "
                         "upsert(), or drop the index and the table first")
    with all_or_nothing(conn):
        execute(conn, f"CREATE TABLE {quoted(table)}({', '.join(declared)})")
        _insert(conn, table, values, key.names, False, progress, {vector: TYPES[kind][1]} if vector else {})
        for some in index_columns:
            names = [some] if isinstance(some, str) else list(some)
            unknown = next((one for one in names if one not in values), None)
            if unknown is not None:
                raise ValueError(f"index_columns has {unknown!r}, which is no column of {table!r}; those are {', '.join(values)}")
            execute(conn, f"CREATE INDEX {quoted('_by_'.join([table, '_'.join(names)]))} ON {quoted(table)}({', '.join(map(quoted, names))})")
        execute(conn, f"CREATE VIRTUAL TABLE {'temp.' if temp else ''}{quoted(name)} USING glove_index({using})")
        made = Index(conn, table, name=name)
    made.frame = frame
    if logged_rows(conn, name):
        made.sync(progress=progress)
    return made
