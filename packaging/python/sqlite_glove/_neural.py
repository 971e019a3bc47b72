"""Models that run a neural network on each text: where their library is, and the encoding of many texts in pieces."""
import glob
import os
import re
import sys
import time
from typing import Any, Optional

from ._sql import Progress, execute, in_transaction, quoted, text

_FIRST_PIECE = 32  # texts, of which the slowest models encode a few per second
_SECONDS_PER_PIECE = 2.0
_GAP_SECONDS = 0.105  # between pieces: who waits for the write lock tries again every 100 ms (sqliteDefaultBusyCallback)
_LIBRARY = {"darwin": "libonnxruntime*.dylib", "win32": "onnxruntime.dll"}.get(sys.platform, "libonnxruntime.so*")
_NOT_ENCODED = "texts are not encoded yet"


def offer_onnxruntime(conn: Any) -> None:
    """Has the extension use the library of the package onnxruntime unless it was told another. Nothing is imported or opened."""
    from importlib import util  # here, because it takes longer than the rest of the package
    try:
        is_set = text(execute(conn, "SELECT glove_config('onnxruntime')").fetchall()[0][0])
    except Exception:  # pylint: disable=broad-except
        return  # an authorizer of this connection forbids the function
    if is_set:
        return
    try:
        spec = util.find_spec("onnxruntime")
    except (ImportError, ValueError):  # what stands for it in sys.modules says nothing of itself
        return
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for library in sorted(glob.glob(os.path.join(glob.escape(folder), "capi", _LIBRARY))):
            execute(conn, "SELECT glove_config('onnxruntime', ?)", (os.path.abspath(library),)).fetchall()
            return


def loaded_model(conn: Any, model: Any, name: Optional[str] = None) -> str:
    """The name of a model: of one that is loaded or, after loading it, of a path. `name` is that which an index knows it by."""
    given = os.fspath(model)
    if not isinstance(given, str):
        raise TypeError(f"model is {model!r}; it must be the name of a loaded model, or the path of one")
    models = {text(row[0]): text(row[1]) for row in execute(conn, "SELECT name, path FROM glove_models")}
    if given in models or not (os.path.exists(given) or os.path.basename(given) != given):
        return given
    path = os.path.realpath(given)
    same = [one for one, its in models.items() if os.path.realpath(its) == path]
    if name in same or (name is None and same):
        return name or same[0]
    if name is None and os.path.isdir(path):
        name = os.path.basename(path)
    if name in models:
        raise ValueError(f"the model {name!r} is loaded from {models[name]!r} already; give {given!r} another name by SELECT "
                         "glove_load(path, name), and pass that as model")
    try:
        return text(execute(conn, "SELECT glove_load(?, ?)", (given, name)).fetchall()[0][0])
    except Exception as error:
        if "needs the library of ONNX Runtime" in str(error):
            error.args = (f"{error}; or pip install onnxruntime, whose library sqlite_glove.load(conn) finds",)
        raise


def is_neural(conn: Any, index: str) -> bool:
    """Whether the model of an index is one."""
    config = quoted(index + "_config")
    return bool(execute(conn, f"SELECT 1 FROM {config} WHERE key = 'fingerprint' AND value LIKE '%:neural:%'").fetchall())


def logged_rows(conn: Any, index: str) -> int:
    """The number of changed rows that an index has yet to take up, which are those that must be encoded."""
    return int(execute(conn, f"SELECT count(*) FROM {quoted(index + '_log')}").fetchall()[0][0])


def encode_in_pieces(run: Any, total: int, progress: Optional[Progress]) -> None:
    """Has run("sync=N") encode `total` texts, about two seconds at a time, so that an interrupt loses no more.

    Between them, others may write to the database.
    """
    piece, done = _FIRST_PIECE, 0
    while done < total:
        if progress is not None:
            progress(done, total)
        start = time.monotonic()
        run(f"sync={piece}")
        seconds = max(time.monotonic() - start, 1e-3)
        done += piece
        if done < total and seconds > _SECONDS_PER_PIECE / 4:
            time.sleep(_GAP_SECONDS)
        piece = int(min(max(piece * _SECONDS_PER_PIECE / seconds, piece / 4, 1), piece * 4))
    if progress is not None:
        progress(total, total)


def catch_up(conn: Any, index: str, sync: Any) -> str:
    """Runs sync() if a search would have to encode more texts than it may. Returns what hinders this connection, or nothing."""
    most = int(execute(conn, "SELECT glove_config('encode_limit')").fetchall()[0][0])
    while True:
        logged = logged_rows(conn, index)
        if logged <= most:
            return ""
        if in_transaction(conn):
            return "this connection has an open transaction"
        try:
            sync()
            return ""
        except Exception as error:  # pylint: disable=broad-except
            if not re.search("readonly|locked|busy", str(error)):
                raise
            if logged_rows(conn, index) >= logged:  # else another connection encodes them
                return f"this connection cannot write ({error})"


def explain(error: BaseException, index: str, hindrance: str) -> None:
    """Has the error of a search say what to do: who must encode the texts that are too many, or how the model is loaded."""
    if re.match(f"({re.escape(index)}: )?there is no model ", str(error)):
        error.args = (f"{error}; sqlite_glove.Index(conn, {index!r}, model=PATH) loads it",)
    if hindrance and _NOT_ENCODED in str(error):
        error.args = (f"{str(error).split(_NOT_ENCODED, maxsplit=1)[0]}{_NOT_ENCODED}, and {hindrance}; have a connection that can write, "
                      f"without an open transaction, run sqlite_glove.Index(conn, {index!r}).sync(), or raise "
                      "glove_config('encode_limit')",)
