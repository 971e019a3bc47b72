"""Joins of all rows of an index, as arrays of NumPy."""
import itertools
import json
from typing import Any, Iterable, List, NamedTuple, Optional, Tuple

from ._sql import Progress, execute, quoted, reported

_ROWS_AT_ONCE = 65536


class Pairs(NamedTuple):
    """Pairs of rows: the ids of both, and their similarities (distances, if the index has metric="l2")."""
    a: Any
    b: Any
    score: Any


class Groups(NamedTuple):
    """The group of each row: its id, the id of the group's first row, and how many rows the group has."""
    id: Any
    group: Any
    size: Any


class Neighbors(NamedTuple):
    """A graph of nearest neighbours. `indices` [rows, k] are positions in `ids`, nearest first; -1 where there are fewer than k."""
    ids: Any
    indices: Any
    scores: Any  # [rows, k]: similarities (distances, if the index has metric="l2"); NaN where there are fewer

    def csr(self) -> Any:
        """The graph as a scipy.sparse.csr_matrix of the scores, [rows, rows]."""
        import numpy
        from scipy.sparse import csr_matrix
        found = self.indices >= 0
        ends = numpy.concatenate(([0], numpy.cumsum(found.sum(axis=1))))
        return csr_matrix((self.scores[found], self.indices[found], ends), shape=(len(self.ids),) * 2)


def _ids(keys: List[Any], columns: int) -> Any:
    import numpy
    if columns > 1:  # JSON arrays
        keys = [tuple(json.loads(key)) for key in keys]
    if all(type(key) is int for key in keys):
        return numpy.array(keys, "i8")
    array = numpy.empty(len(keys), object)
    array[:] = keys
    return array


def columns_of_join(conn: Any, sql: str, values: Tuple[Any, ...], types: List[Any], total: int = 0,
                    progress: Optional[Progress] = None) -> List[Any]:
    """The columns of a statement, read in blocks. `types` has NumPy's type of each, or the number of a key's columns."""
    import numpy
    rows: Iterable[Any] = iter(execute(conn, sql, values))
    if progress is not None:
        rows = iter(reported(rows, total, progress))
    blocks: List[List[Any]] = [[] for _ in types]
    while True:
        some = list(itertools.islice(rows, _ROWS_AT_ONCE))
        for block, type_, column in zip(blocks, types, zip(*some) if some else itertools.repeat(())):
            block.append(_ids(list(column), type_) if isinstance(type_, int) else numpy.array(column, type_))
        if len(some) < _ROWS_AT_ONCE:
            return [numpy.concatenate(block) if len({one.dtype for one in block if len(one)}) < 2 else
                    numpy.concatenate([one.astype(object) for one in block]) for block in blocks]


def join_sql(table: str, shown: str, inputs: List[str]) -> str:
    """The statement of a join with these inputs."""
    return f"SELECT {shown} FROM {table} WHERE {' AND '.join(f'{quoted(name)} = ?' for name in inputs)}"


def neighbors_of(a: Any, b: Any, ranks: Any, scores: Any) -> Neighbors:
    """The graph of the pairs of a join by k, whose rows stand together and have the ranks 1, 2, ..."""
    import numpy
    starts = numpy.flatnonzero(ranks == 1)
    ids = a[starts]
    row_of = numpy.cumsum(ranks == 1) - 1
    if ids.dtype == object:
        places = {id: place for place, id in enumerate(ids)}
        position = numpy.array([places[id] for id in b], "i8")
    else:
        order = numpy.argsort(ids, kind="stable")
        position = order[numpy.searchsorted(ids, b, sorter=order)] if len(ids) else b
    width = int(ranks.max(initial=0))  # which k may exceed
    indices = numpy.full((len(ids), width), -1, "i8")
    values = numpy.full((len(ids), width), numpy.nan)
    indices[row_of, ranks - 1] = position
    values[row_of, ranks - 1] = scores
    return Neighbors(ids, indices, values)
