"""sqlite_glove.dask: one model, sharded over the workers of a Dask cluster. docs/cluster.md explains it.

>>> model = sqlite_glove.dask.open(client, "glove.safetensors.index.json")
>>> model.nearest(["piano", "tea"], 3)
>>> model.expr("king - man + woman", 3)

Every answer has the rows and the bits of glove_nn with the unsharded model. Requires dask and distributed (2022.12 or newer) here
and on the workers, this package on all of them, and the index with its shards at the same path on all of them.
"""
import asyncio
import importlib
import json
import os
import sqlite3
import struct
import threading
import time
import uuid
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

import sqlite_glove
from sqlite_glove import Neighbor, _calls

__all__ = ["Neighbor", "ShardedModel", "WorkerInfo", "open", "register"]

_OWNERS_KEPT_SECONDS = 2.0  # then the workers are listed again
_RETRIES = 3
_LISTEN_SECONDS = 5.0  # that a worker may take to say where it listens
_UNREACHABLE_SECONDS = 60.0  # then a worker that could not be reached is tried again
_TASK = {"allow_other_workers": True, "retries": _RETRIES, "pure": False}


class _Shard(NamedTuple):
    """Names a shard in tasks. Any worker can open it with this alone."""
    path: str
    set: str
    number: int


class WorkerInfo(NamedTuple):
    """What a worker does for a model."""
    worker: str  # its address
    owns: List[int]  # the numbers of the shards that it searches
    open: List[int]  # of those that it has open
    rows: int  # of the open ones
    backends: List[str]  # that search these, with the device


_Meanings = Dict[bytes, Tuple[bytes, bytes]]  # {word: (its spelling in the model, its vector)}; none that the model lacks
_Rows = Dict[bytes, List[Tuple[float, bytes]]]  # {vector: [(similarity, word)]}, best first


class _Query(NamedTuple):
    """A resolved expression: its vector, or None if it names a word that the model lacks, and the words that it names."""
    vector: Optional[bytes]
    excluded: List[bytes]


# --- on the workers ---------------------------------------------------------------------------------------------------

_loading = threading.Lock()  # held while a shard is loaded and checked
_connections = threading.local()  # a connection of sqlite3 belongs to one thread; the models belong to the process


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")  # a word may be any bytes


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _connect(extension: Optional[str]) -> sqlite3.Connection:
    conn = sqlite3.connect(":memory:")
    conn.text_factory = _text
    if extension is None:
        sqlite_glove.load(conn)
    else:
        conn.enable_load_extension(True)
        conn.load_extension(extension)
        conn.enable_load_extension(False)
    return conn


def _set_of(path: str) -> Optional[str]:
    """The set that a shard's header names."""
    with _open_file(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        metadata: Dict[str, str] = json.loads(file.read(length)).get("__metadata__", {})
    return metadata.get("glove.set")


def _model_of(shard: _Shard) -> str:
    return f"{shard.set}/{shard.number}"


def _opened(shard: _Shard, extension: Optional[str]) -> sqlite3.Connection:
    """This thread's connection, with the shard loaded in this process."""
    conn = getattr(_connections, "connection", None)
    if conn is None:
        conn = _connections.connection = _connect(extension)
    name = _model_of(shard)
    with _loading:  # a model has its name before its set is known to be the right one
        if conn.execute("SELECT count(*) FROM glove_models WHERE name = ?", (name,)).fetchone()[0]:
            return conn
        conn.execute("SELECT glove_load(?, ?)", (shard.path, name))
        found = _set_of(shard.path)
        if found != shard.set:
            conn.execute("SELECT glove_unload(?)", (name,))
            raise ValueError(f"{shard.path}: this shard belongs to the set {found!r}, but the index that was opened describes the set "
                             f"{shard.set!r}; call replace() with the index of the new files")
    return conn


def _meanings(shards: Sequence[_Shard], extension: Optional[str], words: Iterable[bytes]) -> _Meanings:
    """What each word means in the whole model: its exact bytes in any shard, else its A-Z lower-cased bytes in any shard.

    Opening a shard maps its file, so this reads little more than the words and vectors that it returns.
    """
    meanings = {}
    for word in words:
        for spelling in dict.fromkeys((word, word.lower())):  # of bytes: A-Z only, as in the extension
            rows = [row for shard in shards for row in _opened(shard, extension).execute(
                "SELECT vector FROM glove_words WHERE word = CAST(? AS TEXT) AND model = ?", (spelling, _model_of(shard)))]
            if rows:
                meanings[word] = (spelling, rows[0][0])
                break
    return meanings


def _nearest(shard: _Shard, extension: Optional[str], vectors: Sequence[bytes], k: int,
             backend: Optional[str]) -> _Rows:
    """{vector: [(similarity, word)]} of the k nearest rows of the shard, best first. REQUIRES: the vectors differ."""
    conn = _opened(shard, extension)
    values = [_model_of(shard), k]
    extra = ""
    if backend is not None:
        values.append(backend)
        extra = " AND backend = ?"
    rows: _Rows = {vector: [] for vector in vectors}
    for start in range(0, len(vectors), 1024):
        batch = vectors[start:start + 1024]
        places = ",".join("?" * len(batch))
        for vector, similarity, word in conn.execute(
                f"SELECT expr, similarity, neighbor FROM glove_nn WHERE model = ? AND k = ?{extra} AND expr IN ({places}) "
                "ORDER BY rank", (*values, *batch)):
            rows[vector].append((similarity, _bytes(str(word))))
    return rows


def _load_words(conn: sqlite3.Connection, model: str, rows: Sequence[Tuple[bytes, bytes]]) -> None:
    conn.execute("CREATE TEMP TABLE IF NOT EXISTS query_word(word TEXT, vector BLOB)")
    conn.execute("DELETE FROM query_word")
    conn.executemany("INSERT INTO query_word VALUES (CAST(? AS TEXT), ?)", rows)
    conn.execute("SELECT glove_load_table(?, 'SELECT word, vector FROM temp.query_word')", (model,))


def _unload(conn: sqlite3.Connection, model: str) -> None:
    if conn.execute("SELECT count(*) FROM glove_models WHERE name = ?", (model,)).fetchone()[0]:
        conn.execute("SELECT glove_unload(?)", (model,))


def _resolve_expression(shards: Sequence[_Shard], extension: Optional[str], text: str) -> _Query:
    """The extension parses the expression and computes its vector, with a model of the words that the expression names."""
    conn = _opened(shards[0], extension)
    model = "dask-" + uuid.uuid4().hex
    try:
        # A model without any of the words lists all words of the expression.
        _load_words(conn, model, [(model.encode(), struct.pack("<f", 1))])
        (names,) = conn.execute("SELECT glove_oov(?, ?)", (text, model)).fetchone()
        meanings = _meanings(shards, extension, [_bytes(name) for name in json.loads(names)])
        if len(meanings) < len(json.loads(names)):
            return _Query(None, [])
        _load_words(conn, model, [(name, vector) for name, (_, vector) in meanings.items()])
        (vector,) = conn.execute("SELECT glove_vec(?, ?)", (text, model)).fetchone()
        return _Query(vector, [spelling for spelling, _ in meanings.values()])
    finally:
        _unload(conn, model)


def _answer_words(shards: Sequence[_Shard], own: Sequence[_Shard], extension: Optional[str], words: Sequence[bytes], k: int,
                  backend: Optional[str]) -> Tuple[_Meanings, Dict[int, _Rows]]:
    """The task of a worker for nearest(): looks the words up in all shards, and searches its own."""
    meanings = _meanings(shards, extension, words)
    parts = {shard.number: _nearest(shard, extension, _vectors_of(meanings), k + 1, backend) for shard in own}
    return meanings, parts


def _answer_expression(shards: Sequence[_Shard], own: Sequence[_Shard], extension: Optional[str], text: Union[str, bytes], k: int,
                       backend: Optional[str]) -> Tuple[_Query, Dict[int, _Rows]]:
    """The same for expr()."""
    query = _Query(text, []) if isinstance(text, bytes) else _resolve_expression(shards, extension, text)
    vectors = [query.vector] if query.vector is not None else []
    return query, {shard.number: _nearest(shard, extension, vectors, k + len(query.excluded), backend) for shard in own}


def _open_shards(shards: Sequence[_Shard], extension: Optional[str]) -> int:
    """Opens shards before they are needed. Returns how many."""
    for shard in shards:
        _opened(shard, extension)
    return len(shards)


_listeners: List[_calls.Listener] = []  # at most one in a process


def _listen() -> _calls.Address:
    """Where this worker answers calls of call_all(), by the host and the certificates of its address."""
    worker = importlib.import_module("distributed").get_worker()
    with _loading:
        if not _listeners:
            kind, _, _ = worker.address.partition("://")
            if kind not in ("tcp", "tls", "inproc"):
                raise OSError(f"{worker.address}: this kind of connection is Dask's alone")
            host = "127.0.0.1" if kind == "inproc" else importlib.import_module("distributed.comm").get_address_host(worker.address)
            context = worker.security.get_listen_args("worker")["ssl_context"] if kind == "tls" else None
            _listeners.append(_calls.Listener(host, context))
    return _listeners[0].address


def _info(shards: Sequence[_Shard], extension: Optional[str]) -> Tuple[List[int], int, List[str]]:
    """Which of the shards this worker has open, their rows, and what would search them."""
    conn = _connect(extension)
    models = {name: (words, backend, device) for name, words, backend, device in
              conn.execute("SELECT name, words, backend, device FROM glove_models")}
    conn.close()
    here = [shard for shard in shards if _model_of(shard) in models]
    found = [models[_model_of(shard)] for shard in here]
    backends = [backend if device in (None, "", backend) else f"{backend}: {device}" for _, backend, device in found]
    return [shard.number for shard in here], sum(words for words, _, _ in found), sorted(set(backends))


def _forget(shards: Sequence[_Shard], extension: Optional[str]) -> None:
    """Unloads shards that this worker has open. A task that still needs one loads it again."""
    conn = _connect(extension)
    for shard in shards:
        _unload(conn, _model_of(shard))
    conn.close()


# --- what the shards say together -------------------------------------------------------------------------------------


def _merge(parts: Sequence[List[Tuple[float, bytes]]], k: int, excluded: Iterable[bytes]) -> List[Tuple[float, bytes]]:
    """The first k rows of the whole model, from the rows of its shards in their order.

    Equal similarities are ranked by shard and then by the rank in it, which is the order of the ids. The sort is stable.
    """
    left_out = set(excluded)
    rows = [row for part in parts for row in part if row[1] not in left_out]
    rows.sort(key=lambda row: -row[0])
    return rows[:k]


def _neighbors_of(words: Sequence[Any], meanings: _Meanings, parts: Sequence[_Rows], k: int) -> List[List[Neighbor]]:
    """For each word its neighbors; none for a word that the model lacks."""
    answers = []
    for word in words:
        meaning = meanings.get(_bytes(str(word)))
        rows = _merge([part[meaning[1]] for part in parts], k, [meaning[0]]) if meaning else []
        answers.append([Neighbor(word, _text(name), similarity, rank) for rank, (similarity, name) in enumerate(rows, 1)])
    return answers


def _vectors_of(meanings: _Meanings) -> List[bytes]:
    return list(dict.fromkeys(vector for _, vector in meanings.values()))


def _dask() -> Any:  # distributed, which queries use alone, need not have all of it
    return importlib.import_module("dask")


def _check_k(k: int) -> int:
    if isinstance(k, bool) or not isinstance(k, int) or k < 0:
        raise ValueError(f"k must be a non-negative integer, but is {k!r}")
    return k


# --- partitions of a Dask DataFrame -----------------------------------------------------------------------------------


def _words_of(frame: Any, column: str) -> List[bytes]:
    return [_bytes(str(word)) for word in frame[column].dropna().unique()]


def _meanings_in(shards: Sequence[_Shard], extension: Optional[str], frame: Any, column: str) -> _Meanings:
    return _meanings(shards, extension, _words_of(frame, column))


def _nearest_in(shard: _Shard, extension: Optional[str], meanings: _Meanings, k: int, backend: Optional[str]) -> _Rows:
    return _nearest(shard, extension, _vectors_of(meanings), k + 1, backend)


def _frame(index: Sequence[Any], rows: Sequence[Neighbor]) -> Any:
    import pandas
    frame = pandas.DataFrame({
        "word": pandas.Series([row.word for row in rows], dtype=object),
        "neighbor": pandas.Series([row.neighbor for row in rows], dtype=object),
        "similarity": pandas.Series([row.similarity for row in rows], dtype="float64"),
        "rank": pandas.Series([row.rank for row in rows], dtype="int64")})
    frame.index = index
    return frame


def _frame_of_partition(frame: Any, column: str, meanings: _Meanings,
                        parts: Sequence[_Rows], k: int) -> Any:
    wanted = frame[column].dropna()
    answers = _neighbors_of(list(wanted), meanings, parts, k)
    index = wanted.index.repeat([len(rows) for rows in answers])
    return _frame(index, [row for rows in answers for row in rows])


# --- on the client ----------------------------------------------------------------------------------------------------


class _ShardSet:
    """The shards of one index, and how many queries use them now."""

    def __init__(self, index: str):
        with _open_file(index, encoding="utf-8") as file:
            document = json.load(file)
        metadata, files = document.get("metadata", {}), document.get("weight_map", {})
        if "glove.set" not in metadata or not files:
            raise ValueError(f"{index}: this is not an index of shards that glove-convert has written")
        self.index = index
        self.set = metadata["glove.set"]
        self.rows = int(metadata["glove.rows_total"])
        self.shards = []
        for number, key in enumerate(sorted(files), 1):
            if files[key] != os.path.basename(files[key]) or files[key] in ("", ".", ".."):
                raise ValueError(f"{index}: the file {files[key]!r} is not a name in the directory of the index")
            self.shards.append(_Shard(os.path.join(os.path.dirname(os.path.abspath(index)), files[key]), self.set, number))
        self.users = 0


class ShardedModel:
    """A model whose shards are held by the workers of `client`. open() makes one. Any thread may use it.

    A query, or a batch, is one call per worker. It looks the words up in all shards, whose files are mapped, and searches those that
    its worker owns. Any worker can answer for any shard, so a query outlives a worker. It raises TimeoutError if it takes longer
    than `timeout` seconds.
    """

    def __init__(self, client: Any, index: str, extension: Optional[str], backend: Optional[str], timeout: float):
        self._client = client
        self._extension = extension
        self._backend = backend
        self._timeout = timeout
        self._lock = threading.Lock()
        self._owners: List[str] = []
        self._lines: Dict[str, _calls.Line] = {}  # by the worker's address, as the next
        self._unreachable: Dict[str, float] = {}  # until when the worker's queries are tasks
        self._owners_since = float("-inf")
        self._current = self._prepare(index)

    @property
    def words(self) -> int:
        """How many words the model has."""
        return self._current.rows

    @property
    def index(self) -> str:
        """The index that new queries use."""
        return self._current.index

    def __repr__(self) -> str:
        shards = self._current
        return f"ShardedModel({shards.index!r}, {shards.rows} words in {len(shards.shards)} shards)"

    def info(self) -> List[WorkerInfo]:
        """Which shards each worker owns and has open, and what searches them. Asks all workers; a worker that is lost is missing."""
        shards = self._current
        of_owner = self._shards_of_owners(shards)
        found = self._client.run(_info, shards.shards, self._extension, on_error="ignore")
        return [WorkerInfo(worker, [shard.number for shard in of_owner.get(worker, [])], *found[worker]) for worker in sorted(found)]

    def nearest(self, words: Union[str, int, Iterable[Union[str, int]]], k: int = 10) -> List[Neighbor]:
        """The k nearest words of a word, or of each of several words as one batch, as sqlite_glove.neighbors() returns them."""
        _check_k(k)
        wanted = sqlite_glove._list_of_words(words)
        with _Use(self) as shards:
            answers, parts = self._ask(shards, _answer_words, list(dict.fromkeys(_bytes(str(word)) for word in wanted)), k)
            meanings = answers[0] if answers else {}
            return [row for rows in _neighbors_of(wanted, meanings, parts, k) for row in rows]

    def expr(self, text: Union[str, bytes], k: int = 10) -> List[Neighbor]:
        """The k nearest words of an expression, or of a vector as a float32 BLOB. Neighbor.word is `text`."""
        _check_k(k)
        with _Use(self) as shards:
            (query, *_), parts = self._ask(shards, _answer_expression, text, k)
            rows = _merge([part[query.vector] for part in parts], k, query.excluded) if query.vector is not None else []
        word: Any = text
        return [Neighbor(word, _text(name), similarity, rank) for rank, (similarity, name) in enumerate(rows, 1)]

    def neighbors(self, dataframe: Any, column: str, k: int = 10) -> Any:
        """A Dask DataFrame with the k nearest words of each word in a column of a Dask DataFrame, partition by partition.

        Its columns are those of Neighbor, and its index is that of the row with the word. Words that the model lacks and missing
        values have no rows. It is lazy, and computes with the shards that are current now.
        """
        _check_k(k)
        dask, dataframes = _dask(), importlib.import_module("dask.dataframe")
        shards, owners = self._current.shards, self._owners_of(self._current)
        frames = []
        for partition in dataframe[[column]].to_delayed():
            meanings = dask.delayed(_meanings_in, pure=False)(shards, self._extension, partition, column)
            parts = [self._delayed(_nearest_in, owner)(shard, self._extension, meanings, k, self._backend)
                     for shard, owner in zip(shards, owners)]
            frames.append(dask.delayed(_frame_of_partition)(partition, column, meanings, parts, k))
        return dataframes.from_delayed(frames, meta=_frame(dataframe._meta.index[:0], []))

    def replace(self, index: str) -> None:
        """Opens the shards of another index on the workers, and then lets new queries use it.

        Queries that run meanwhile finish with the shards that they began with, which are unloaded after the last of them.
        """
        fresh = self._prepare(index)
        with self._lock:
            stale, self._current = self._current, fresh
            unused = stale.users == 0 and stale.set != fresh.set
        if unused:
            self._unload(stale)

    def close(self) -> None:
        """Unloads the shards from the workers. Call it after the last query."""
        with self._lock:
            lines, self._lines = self._lines, {}
        for line in lines.values():
            line.close()
        self._unload(self._current)

    def _delayed(self, function: Any, owner: str) -> Any:
        dask = _dask()

        def call(*arguments: Any) -> Any:
            with dask.annotate(workers=[owner], allow_other_workers=True, retries=_RETRIES):
                return dask.delayed(function, pure=False)(*arguments)
        return call

    def _prepare(self, index: str) -> _ShardSet:
        """Opens an index, and each shard on the worker that it prefers."""
        shards = _ShardSet(index)
        self._owners_since = float("-inf")
        owners = self._owners_of(shards)
        self._gather([self._client.submit(_open_shards, [shard], self._extension, workers=[owner], **_TASK)
                      for shard, owner in zip(shards.shards, owners)], owners)
        return shards

    def _owners_of(self, shards: _ShardSet) -> List[str]:
        """The address of the worker that each shard prefers."""
        with self._lock:
            if time.monotonic() - self._owners_since > _OWNERS_KEPT_SECONDS:
                self._owners = sorted(self._client.nthreads())
                self._owners_since = time.monotonic()
            owners = self._owners
        if not owners:
            raise RuntimeError("the Dask cluster has no workers; start some, or wait for them with client.wait_for_workers()")
        return [owners[i % len(owners)] for i in range(len(shards.shards))]

    def _shards_of_owners(self, shards: _ShardSet) -> Dict[str, List[_Shard]]:
        of_owner: Dict[str, List[_Shard]] = {}
        for shard, owner in zip(shards.shards, self._owners_of(shards)):
            of_owner.setdefault(owner, []).append(shard)
        return of_owner

    def _gather(self, futures: List[Any], owners: List[str]) -> List[Any]:
        """The results, of tasks that these workers should run. Whatever happens, tasks that have not run yet are cancelled."""
        end = time.monotonic() + self._timeout
        try:
            return [future.result(max(0.001, end - time.monotonic())) for future in futures]
        except asyncio.TimeoutError:
            silent = sorted({owner for future, owner in zip(futures, owners) if not future.done()})
            raise self._no_answer(silent) from None
        finally:
            for future in futures:
                future.release()

    def _ask(self, shards: _ShardSet, task: Any, query: Any, k: int) -> Tuple[List[Any], List[_Rows]]:
        """Calls a task on each worker that owns shards. Returns what the tasks say of the query, and the rows of each shard, in order."""
        calls: Dict[str, Tuple[Any, ...]] = {
            owner: (task, shards.shards, own, self._extension, query, k, self._backend)
            for owner, own in self._shards_of_owners(shards).items()}
        answers = self._ask_directly(calls)
        if answers is None:
            answers = self._gather([self._client.submit(*call, workers=[owner], **_TASK) for owner, call in calls.items()], list(calls))
        rows = {number: rows for _, parts in answers for number, rows in parts.items()}
        return [answer for answer, _ in answers], [rows[shard.number] for shard in shards.shards]

    def _ask_directly(self, calls: Dict[str, Tuple[Any, ...]]) -> Optional[List[Any]]:
        """Calls the workers without Dask's messages, which take longer than a search. Returns None if any call fails: as tasks, the
        calls then run elsewhere, or fail with their error."""
        try:
            return _calls.call_all({owner: self._line_to(owner) for owner in calls}, calls, self._timeout)
        except _calls.Failed:
            return None
        except _calls.Silent as silent:
            raise self._no_answer(silent.names) from None
        except Exception:  # a worker is lost, or cannot be reached
            with self._lock:
                self._owners_since = float("-inf")
                lines = [self._lines.pop(owner) for owner in calls if owner in self._lines]
            for line in lines:
                line.close()
            return None

    def _line_to(self, owner: str) -> _calls.Line:
        with self._lock:
            line = self._lines.get(owner)
            if line is None and time.monotonic() < self._unreachable.get(owner, 0):
                raise ConnectionError(owner)
        if line is None:
            try:
                future = self._client.submit(_listen, workers=[owner], pure=False)
                line = _calls.Line(future.result(min(_LISTEN_SECONDS, self._timeout)), self._context_for(owner))
            except Exception:
                with self._lock:
                    self._unreachable[owner] = time.monotonic() + _UNREACHABLE_SECONDS
                raise
            with self._lock:
                self._lines[owner] = line
        return line

    def _context_for(self, owner: str) -> Any:
        return self._client.security.get_connection_args("client")["ssl_context"] if owner.startswith("tls:") else None

    def _no_answer(self, silent: Sequence[str]) -> TimeoutError:
        return TimeoutError(f"no answer from the Dask cluster within {self._timeout:g} seconds; these workers have not answered: "
                            f"{', '.join(silent) or 'none'}; see their logs")

    def _unload(self, shards: _ShardSet) -> None:
        self._client.run(_forget, shards.shards, self._extension, on_error="ignore")  # a worker that is lost has unloaded them


class _Use:
    """The current shards, which are not unloaded while the context is entered."""

    def __init__(self, model: ShardedModel):
        self._model = model

    def __enter__(self) -> _ShardSet:
        with self._model._lock:
            self._shards = self._model._current
            self._shards.users += 1
        return self._shards

    def __exit__(self, *exception: Any) -> None:
        with self._model._lock:
            self._shards.users -= 1
            current = self._model._current
            stale = self._shards is not current and self._shards.users == 0 and self._shards.set != current.set
        if stale:
            self._model._unload(self._shards)


_open_file = open


def open(client: Any, index: str, *, backend: Optional[str] = None, extension: Optional[str] = None,  # pylint: disable=redefined-builtin
         timeout: float = 60.0) -> ShardedModel:
    """Opens the shards of an index (glove-convert --shards) on the workers of a distributed.Client.

    `backend` is that of glove_nn, `extension` the path of a glove.so to load instead of this package's, and `timeout` the longest that
    a query may take, in seconds.
    """
    return ShardedModel(client, index, extension, backend, timeout)


def register(conn: Any, client: Any, index: Union[str, ShardedModel], **options: Any) -> ShardedModel:
    """Adds the functions glove_dask_nn(word, k) and glove_dask_expr(expr, k) to a connection of sqlite3. Returns the model.

    Both return a JSON array of {"neighbor", "similarity", "rank"}, to be read with json_each; NULL for NULL. `index` may be a model
    that is open already.
    """
    model = index if isinstance(index, ShardedModel) else open(client, index, **options)

    def json_of(rows: List[Neighbor]) -> str:
        return json.dumps([{"neighbor": row.neighbor, "similarity": row.similarity, "rank": row.rank} for row in rows])

    conn.create_function("glove_dask_nn", 2, lambda word, k: None if word is None else json_of(model.nearest(str(word), k)))
    conn.create_function("glove_dask_expr", 2, lambda text, k: None if text is None else json_of(model.expr(text, k)))
    return model
