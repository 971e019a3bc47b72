"""sqlite-glove: exact vector search in SQL.

>>> conn = sqlite3.connect("docs.db")
>>> sqlite_glove.load(conn)
>>> docs = sqlite_glove.index(conn, "doc", ids, vectors, columns={"title": titles})
>>> docs.search(query, 10)
"""
import array
import json
import os
import sys
from typing import Any, Iterable, List, NamedTuple, Optional, Union

from ._async import AsyncIndex
from ._index import Index, index
from ._neural import offer_onnxruntime as _offer_onnxruntime
from ._sql import Progress
from ._sql import Report as _Report
from ._sql import execute as _execute
from ._sql import reporter as _reporter
from ._sql import text as _text
from ._version import __version__

__all__ = ["AsyncIndex", "Index", "Neighbor", "Progress", "__version__", "convert_path", "index", "load", "load_gensim", "loadable_path", "repair",
           "neighbors", "serialize_float32"]

_WORDS_PER_BATCH = 1024


class Neighbor(NamedTuple):
    """One row of neighbors()."""
    word: str
    neighbor: Union[str, int]  # an int if the model has integer keys
    similarity: float
    rank: int


def loadable_path() -> str:
    """Returns the path of the extension, for SELECT load_extension(...) or another host's call."""
    name = {"darwin": "glove.dylib", "win32": "glove.dll"}.get(sys.platform, "glove.so")
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), name)


def convert_path() -> str:
    """Returns the path of the program glove-convert, which makes model files."""
    path = os.path.join(os.path.dirname(loadable_path()), "glove-convert.exe" if sys.platform == "win32" else "glove-convert")
    if not os.path.isfile(path):
        raise FileNotFoundError(f"{path} is not there; it is a part of the wheel of sqlite-glove")
    return path


def load(conn: Any, *, repair: bool = False) -> None:
    """Loads the extension into a connection of sqlite3, pysqlite3 or apsw, and then forbids loading others again.

    If the package onnxruntime is installed and no setting names another, neural models will use its library.
    Calls glove_attach() for the indexes of the open files in temp. With repair=True, calls repair().
    """
    import inspect  # here, because it takes longer than the rest of the package
    enable = getattr(conn, "enable_load_extension", None) or getattr(conn, "enableloadextension", None)
    load_extension = getattr(conn, "load_extension", None) or getattr(conn, "loadextension", None)
    if inspect.iscoroutinefunction(enable):
        raise TypeError(f"load() cannot await the functions of {conn!r}; await its enable_load_extension(True) and its "
                        "load_extension(sqlite_glove.loadable_path()) instead")
    if enable is None or load_extension is None:
        sqlite3 = sys.modules.get("sqlite3")  # not imported: some builds of Python lack it
        if sqlite3 is None or not isinstance(conn, sqlite3.Connection):
            raise TypeError(f"load() requires a connection of sqlite3, pysqlite3 or apsw, but got {conn!r}")
        raise RuntimeError("This Python's sqlite3 module was built without loadable extensions. Install apsw or "
                           "pysqlite3-binary and pass a connection of theirs, or make the environment with a "
                           "Python that has them, such as Debian's: /usr/bin/python3 -m venv env")
    enable(True)
    try:
        load_extension(loadable_path())
        _offer_onnxruntime(conn)  # while the connection may load libraries
    finally:
        enable(False)
    try:
        _execute(conn, "SELECT glove_attach()").fetchall()
    except Exception:  # pylint: disable=broad-exception-caught
        pass  # a file that is locked, or encrypted and without its key yet; it can be called later
    if repair:
        _repair(conn)


def repair(conn: Any) -> List[str]:
    """Repairs the indexes whose triggers a migration dropped when it remade their tables, and returns their names.

    Each row of these tables is read once, and only what has changed is written.
    """
    broken = _rows(conn, "SELECT schema || '.' || name FROM glove_indexes WHERE state LIKE '%glove_repair(%'", ())
    return [_text(_rows(conn, "SELECT glove_repair(?)", [name])[0][0]) for name, in broken]


_repair = repair  # which load() has an argument for


def serialize_float32(values: Iterable[float]) -> bytes:
    """Returns a vector as the little-endian float32 BLOB that glove_nn, cos_sim and sqlite-vec read."""
    floats = array.array("f", values)
    if sys.byteorder != "little":
        floats.byteswap()
    return floats.tobytes()


def _rows(conn: Any, sql: str, values: Iterable[Any]) -> List[Any]:
    return list(_execute(conn, sql, tuple(values)))


def _list_of_words(words: Any) -> List[Union[str, int]]:
    """Returns the words that neighbors() and ShardedModel.nearest() are given as a list, or raises TypeError."""
    if isinstance(words, (bytes, bytearray)) or not isinstance(words, (str, int, Iterable)):
        raise TypeError(f"the words are {words!r}; they must be text, an int, or an iterable of these")
    wanted = [words] if isinstance(words, (str, int)) else list(words)
    for word in wanted:
        if isinstance(word, bool) or not isinstance(word, (str, int)):
            raise TypeError(f"{word!r} cannot be a word; it must be text or, for a model with integer keys, an int")
    return wanted


def neighbors(conn: Any, words: Union[str, int, Iterable[Union[str, int]]], k: int = 10, *, model: Optional[str] = None,
              as_frame: Optional[str] = None, progress: _Report = None) -> Any:
    """Returns the k nearest words of each word, in the order of `words`; words that the model lacks have no rows.

    The result is a list of Neighbor. With as_frame="pandas" it is a DataFrame with the same columns, and with
    as_frame="numpy" a structured array. `progress(done, total)` is called after each batch of 1,024 words;
    True shows a bar.
    """
    if as_frame not in (None, "pandas", "numpy"):
        raise ValueError(f"as_frame is {as_frame!r}; it must be None, 'pandas' or 'numpy'")
    wanted, progress = _list_of_words(words), _reporter(progress)
    found: List[Neighbor] = []
    sql = ("SELECT word, neighbor, similarity, rank FROM glove_nn WHERE word IN (SELECT value FROM json_each(?)) AND k = ?"
           + (" AND model = ?" if model is not None else ""))
    for start in range(0, len(wanted), _WORDS_PER_BATCH):
        batch = wanted[start:start + _WORDS_PER_BATCH]
        values = [json.dumps(batch), k] + ([model] if model is not None else [])
        of_word = {}  # type: ignore[var-annotated]
        for row in _rows(conn, sql, values):
            of_word.setdefault(_text(row[0]), []).append(Neighbor(*row))
        for word in batch:
            found.extend(sorted(of_word.get(str(word), ()), key=lambda row: row.rank))
        if progress is not None:
            progress(min(start + _WORDS_PER_BATCH, len(wanted)), len(wanted))
    if as_frame == "pandas":
        import pandas
        return pandas.DataFrame(found, columns=list(Neighbor._fields))
    if as_frame == "numpy":
        import numpy
        return numpy.array(found, dtype=[("word", object), ("neighbor", object), ("similarity", "f8"), ("rank", "i8")])
    return found


def load_gensim(conn: Any, vectors: Any, name: str = "gensim", **options: Any) -> str:
    """Makes a model of gensim's KeyedVectors and returns its name; requires NumPy, which gensim requires itself.

    `options` are those of glove_load; invalid="skip" leaves out keys that cannot be words, and odd vectors.
    The model belongs to the process, like every model: other connections that load the extension see it too.
    """
    import tempfile
    import numpy
    words, rows = list(vectors.index_to_key), numpy.asarray(vectors.vectors, dtype="<f4")
    odd = {i for i, word in enumerate(words) if not isinstance(word, str) or not word or "\n" in word or "\r" in word}
    if odd and options.get("invalid") != "skip":
        raise ValueError(f"load_gensim: the key {words[min(odd)]!r} cannot be a word; it must be text without line breaks "
                         "(invalid='skip' leaves it out)")
    words, rows = [word for i, word in enumerate(words) if i not in odd], numpy.delete(rows, sorted(odd), axis=0)
    with tempfile.TemporaryDirectory(prefix="sqlite-glove-") as folder:
        matrix, vocabulary = os.path.join(folder, "vectors.npy"), os.path.join(folder, "vectors.words")
        numpy.save(matrix, rows, allow_pickle=False)
        with open(vocabulary, "w", encoding="utf-8", newline="\n") as file:
            for word in words:  # in quotation marks, because words may look like words and counts
                file.write('"' + word.replace('"', '""') + '"\n')
        given = json.dumps({"vocabulary": vocabulary, **options})
        return _text(_rows(conn, "SELECT glove_load(?, ?, ?)", [matrix, name, given])[0][0])
