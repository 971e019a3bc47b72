"""The table and the index behind a store for a framework: rows with a text as their key, and JSON metadata."""
import array
import contextlib
import json
import sqlite3
import sys
import threading
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence

from . import load
from ._filters import ALWAYS, Condition, can_be_indexed, dumps, metadata
from ._index import Index
from ._sql import all_or_nothing as _all_or_nothing
from ._sql import columns_of as _columns_of
from ._sql import execute as _execute
from ._sql import literal as _literal
from ._sql import quoted as _quoted


def floats(blob: bytes) -> List[float]:
    """The components of a vector that a row has."""
    found = array.array("f", blob)
    if sys.byteorder != "little":
        found.byteswap()
    return found.tolist()


class Records:
    """A table (id INTEGER PRIMARY KEY, key TEXT UNIQUE, metadata TEXT, vector BLOB, and `columns`) and its Index.

    Both are made unless the file has them. Threads may share it, and wait for each other. A `connection` that is given must allow
    the threads that use it (check_same_thread=False); an open transaction of it is used and not ended.
    """

    def __init__(self, path: str, table: str, columns: Sequence[str], connection: Any = None,
                 arguments: Optional[Mapping[str, Any]] = None) -> None:
        self.conn = connection or sqlite3.connect(path, check_same_thread=False)
        self.table, self._lock = table, threading.RLock()
        load(self.conn)
        self.conn.create_function("glove_lower", 1, lambda text: text.lower() if isinstance(text, str) else text)  # SQLite's knows only ASCII
        known = _columns_of(self.conn, table)
        missing = sorted({"id", "key", "metadata", "vector", *columns} - set(known))
        if known and missing:
            raise ValueError(f"the table {table!r} exists, and has no column {missing[0]!r}; choose another name of the table")
        if not known:
            given = {"content": table, "rowid": "id", "vector": "vector", "check": "yes", **(arguments or {})}
            with self.writing():
                _execute(self.conn, f"CREATE TABLE IF NOT EXISTS {_quoted(table)}(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, "
                         f"metadata TEXT NOT NULL, vector BLOB, {', '.join(_quoted(name) + ' TEXT' for name in columns)})")
                _execute(self.conn, f"CREATE VIRTUAL TABLE IF NOT EXISTS {_quoted(table + '_vec')} USING glove_index("
                         + ", ".join(f"{name}={_literal(value)}" for name, value in given.items()) + ")")
        self.index = Index(self.conn, table)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction that has the right to write from its start or, if one is open, a part of it."""
        with self._lock:
            if self.conn.in_transaction:
                with _all_or_nothing(self.conn):
                    yield
                return
            _execute(self.conn, "BEGIN IMMEDIATE")
            try:
                yield
                _execute(self.conn, "COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # some errors have ended the transaction
                    _execute(self.conn, "ROLLBACK")
                raise

    def write(self, keys: Sequence[str], vectors: Sequence[Any], metadatas: Sequence[Mapping[str, Any]],
              columns: Mapping[str, Sequence[Any]], existing: Callable[[List[str]], bool] = lambda found: True) -> int:
        """Inserts rows, and changes those whose key exists if existing(these keys) is true; returns how many were written.

        Of several with one key, the last is written.
        """
        places = {key: place for place, key in enumerate(keys)}
        wrong = next((key for key in places if not isinstance(key, str) or "\0" in key), None)
        if wrong is not None:
            raise ValueError(f"the id {wrong!r} cannot be stored; it must be a text without NUL")
        with self.writing():
            known = {row["key"]: row["id"] for row in self.rows(self.with_keys(list(places)), ["key", "id"])}
            if known and not existing(list(known)):
                places = {key: place for key, place in places.items() if key not in known}
            first = _execute(self.conn, f"SELECT coalesce(max(id), 0) + 1 FROM {_quoted(self.table)}").fetchall()[0][0]
            if places:
                chosen = list(places.values())
                ids = [known.get(key, first + number) for number, key in enumerate(places)]
                self.index.upsert(ids, [vectors[place] for place in chosen], {
                    "key": list(places), "metadata": [dumps(metadatas[place]) for place in chosen],
                    **{name: [values[place] for place in chosen] for name, values in columns.items()}})
        return len(places)

    @staticmethod
    def with_keys(keys: Sequence[str], column: str = "key") -> Condition:
        return f"{_quoted(column)} IN (SELECT value FROM json_each(?))", [dumps([key for key in keys if "\0" not in str(key)])]

    def rows(self, condition: Condition, columns: Sequence[str]) -> List[Dict[str, Any]]:
        """The rows of the table that match, in the order in which they were inserted."""
        sql = f"SELECT {', '.join(map(_quoted, columns))} FROM {_quoted(self.table)} WHERE {condition[0]} ORDER BY id"
        with self._lock:
            return [dict(zip(columns, row)) for row in _execute(self.conn, sql, condition[1])]

    def count(self, condition: Condition = ALWAYS) -> int:
        with self._lock:
            sql = f"SELECT count(*) FROM {_quoted(self.table)} WHERE {condition[0]}"
            return int(_execute(self.conn, sql, condition[1]).fetchall()[0][0])

    def delete(self, condition: Condition) -> int:
        """Deletes the rows that match, and returns how many they were."""
        with self.writing():
            ids = [row["id"] for row in self.rows(condition, ["id"])]
            self.index.delete(ids)
        return len(ids)

    def update_metadata(self, condition: Condition, changes: Mapping[str, Any]) -> int:
        """Gives the rows that match these values of the metadata, and returns how many they were."""
        with self.writing():
            found = self.rows(condition, ["metadata", "id"])
            self.conn.cursor().executemany(f"UPDATE {_quoted(self.table)} SET metadata = ? WHERE id = ?", [
                (dumps({**json.loads(row["metadata"]), **changes}), row["id"]) for row in found])
        return len(found)

    def search(self, vector: Any, k: int, condition: Condition, columns: Sequence[str]) -> List[Dict[str, Any]]:
        """The k rows nearest to a vector among those that match, best first, each with its "score"."""
        where, params = (None, []) if condition == ALWAYS else condition
        with self._lock:
            found = self.index.search(vector, k, where=where, params=params, columns=columns)
        return [dict(zip(["id", "score", *columns], row)) for row in found]

    def command(self, command: str) -> None:
        """Runs a command of the index, such as sync or rebuild."""
        with self._lock:
            self.index.command(command)

    def create_metadata_index(self, *keys: str) -> None:
        """Makes filters on this value of the metadata fast: create_metadata_index("lang"), or "person", "name" of nested ones."""
        if not can_be_indexed(*keys):
            raise ValueError(f"SQLite has no index for the metadata {'.'.join(keys)!r}, because its paths cannot name them")
        name = _quoted("_".join([self.table, "metadata", ".".join(keys)]))
        with self.writing():
            _execute(self.conn, f"CREATE INDEX IF NOT EXISTS {name} ON {_quoted(self.table)}({metadata(*keys).value})")

    def close(self) -> None:
        with self._lock:
            self.conn.close()
