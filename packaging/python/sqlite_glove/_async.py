"""An index for programs with asyncio, on a thread of its own."""
import sqlite3
from typing import Any, Callable, List, Optional, TypeVar

from ._index import Index, Rows, Where
from ._values import Columns

_Result = TypeVar("_Result")


class AsyncIndex:
    """The verbs of Index for asyncio: a thread has a connection of its own to the file, and runs them one after the other.

    >>> async with sqlite_glove.AsyncIndex("docs.db", "doc") as docs:
    ...     rows = await docs.search(query, 3, where={"lang": "en"})

    `call` runs a function with the Index there, such as one that makes it or that writes several times in one transaction. What the
    connection has written is committed when a verb returns, and rolled back if it raises an exception.
    """

    def __init__(self, path: str, table: str, *, name: Optional[str] = None,
                 open: Optional[Callable[[sqlite3.Connection], Index]] = None) -> None:
        """`open` returns the Index of a connection with the extension, for a table that index() has yet to make."""
        if path in ("", ":memory:"):
            raise ValueError(f"AsyncIndex(): the path is {path!r}, of which each connection has a database of its own; name a file")
        import concurrent.futures  # here, as asyncio below, because it takes longer than the rest of the package
        self._path, self._table, self._name, self._open = path, table, name, open
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "sqlite-glove")
        self._index: Optional[Index] = None

    def _opened(self) -> Index:
        if self._index is None:
            from . import load
            conn = sqlite3.connect(self._path)
            try:
                load(conn)
                self._index = self._open(conn) if self._open is not None else Index(conn, self._table, name=self._name)
            except BaseException:
                conn.close()
                raise
        return self._index

    async def call(self, function: Callable[..., _Result], *arguments: Any, **options: Any) -> _Result:
        """Returns what function(index, *arguments, **options) returns on the thread."""
        def work() -> _Result:
            index = self._opened()
            with index.conn:  # commits what Python's sqlite3 has begun by itself, or rolls it back
                return function(index, *arguments, **options)
        import asyncio
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def search(self, query: Any, k: int = 10, *, where: Where = None,
                     rows: Rows = "tuples", **options: Any) -> Any:
        """As Index.search()."""
        return await self.call(Index.search, query, k, where=where, rows=rows, **options)

    async def search_many(self, queries: Any, k: int = 10, **options: Any) -> List[Any]:
        """As Index.search_many()."""
        return await self.call(Index.search_many, queries, k, **options)

    async def like(self, id: Any, k: int = 10, **options: Any) -> Any:
        """As Index.like()."""
        return await self.call(Index.like, id, k, **options)

    async def get(self, ids: Any, **options: Any) -> Any:
        """As Index.get()."""
        return await self.call(Index.get, ids, **options)

    async def count(self) -> int:
        """As len(index)."""
        return await self.call(len)

    async def add(self, ids: Any = None, vectors: Any = None, columns: Optional[Columns] = None, **options: Any) -> None:
        """As Index.add()."""
        await self.call(Index.add, ids, vectors, columns, **options)

    async def upsert(self, ids: Any, vectors: Any = None, columns: Optional[Columns] = None, **options: Any) -> None:
        """As Index.upsert()."""
        await self.call(Index.upsert, ids, vectors, columns, **options)

    async def delete(self, ids: Any) -> None:
        """As Index.delete()."""
        await self.call(Index.delete, ids)

    async def sync(self, **options: Any) -> None:
        """As Index.sync()."""
        await self.call(Index.sync, **options)

    async def close(self) -> None:
        """Closes the connection and ends the thread."""
        import asyncio
        if self._index is not None:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._index.conn.close)
            self._index = None
        self._thread.shutdown(wait=False)

    async def __aenter__(self) -> "AsyncIndex":
        await self.call(len)
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()
