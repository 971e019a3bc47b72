"""The statements of searches."""
import itertools
import numbers
import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ._sql import Definition, Params, check_where, columns_of, execute, full_text_rowid, quoted
from ._values import count

Inputs = Dict[str, Any]

_RANKS_PER_ROW = 20  # with `where`, how far down the ranking rows are looked for, as a multiple of k
_WORD = re.compile(r"\w+")
_WHERE = ""  # among the names of the values: those of the condition


class Asked(NamedTuple):
    """What a search returns, and of which rows."""
    shown: List[str]
    where: Optional[str]
    params: Params
    among: Any  # as the index takes it; None: not given
    score: str


class _Statement:
    """The text of a statement, and the names of its values in their order."""

    def __init__(self, where: Optional[str], by_name: bool) -> None:
        self._where, self._by_name = where, by_name
        self.order: List[str] = []
        self.sql = ""

    def mark(self, name: str) -> str:
        self.order.append(name)
        return f":glove_{name}" if self._by_name else "?"

    def where(self) -> str:
        self.order.append(_WHERE)
        return f"({self._where})"


def _checked(name: str, value: Any, least: float, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not least <= float(value) <= most:
        raise ValueError(f"{name} is {value!r}; it must be a number from {least:g} to {most:g}")
    return float(value)


def _unlike(start: str, names: Sequence[str]) -> str:
    """A start of names of a statement's own that none of these has."""
    while any(name.lower().startswith(start) for name in names):
        start += "_"
    return start


class Search:
    """Searches of one index."""

    def __init__(self, conn: Any, index: Definition) -> None:
        self._conn, self._index = conn, index
        self._statements: Dict[Any, Tuple[str, List[str]]] = {}
        self._inputs = columns_of(conn, index.name)
        self.score = "distance" if "distance" in self._inputs and "similarity" not in self._inputs else "similarity"
        self._own = {"id", "rank", "similarity", "distance", "query", "k", "among", "limit", index.name, *index.key}
        self._keys = [quoted(name) for name in index.key]
        self._v_keys = ["v.id"] if index.id_is_key else ["v." + key for key in self._keys]

    def options(self, given: Inputs) -> Inputs:
        """The further inputs that are not None."""
        for name in (name for name, value in given.items() if value is not None):
            if name in self._own or self._inputs and name not in self._inputs:
                raise TypeError(f"search() has no input {name!r}; those of the index are recall and backend. Conditions on "
                                "columns of the table are where and params")
        return {name: value for name, value in given.items() if value is not None}

    # Each of these returns rows of the key, the score and the columns.

    def nearest(self, asked: Asked, inputs: Inputs, k: int) -> List[Tuple[Any, ...]]:
        inputs = self._with_among(asked, inputs)
        if asked.where is None:
            return self._run(("k",), asked, inputs, self._plain)
        # A filter that many rows match finds k of them near the top of the ranking. Otherwise the matching rows are ranked.
        near = dict(inputs, rank=max(1, min(_RANKS_PER_ROW * k, 2**31)), limit=k)
        del near["k"]
        found = self._run(("near",), asked, near, self._near)
        if len(found) >= k:
            return found
        exact = {name: value for name, value in inputs.items() if name != "recall"}  # checked above
        return self._run(("among",), asked, exact, self._plain)

    def batch(self, asked: Asked, inputs: Inputs, queries: Sequence[Any]) -> List[Tuple[Any, ...]]:
        """The same rows for each query, which stands before them."""
        inputs = {**self._with_among(asked, inputs), **{f"query{place}": query for place, query in enumerate(queries)}}
        if asked.where is not None:
            inputs.pop("recall", None)
        return self._run(("batch",), asked, inputs, self._plain)

    def diverse(self, asked: Asked, inputs: Inputs, diversity: Any, fetch: Any) -> List[Tuple[Any, ...]]:
        other = next((name for name in inputs if name not in ("query", "k")), None)
        if other is not None:
            raise ValueError(f"{other} is {inputs[other]!r}, but a search with diversity takes no such input; leave it out")
        inputs = self._with_among(asked, inputs)
        inputs.update({"target": self._index.name, "lambda": 1 - _checked("diversity", diversity, 0, 1),
                       "fetch": self._fetch(fetch, inputs["k"], 50)})
        return self._run(("diverse",), asked, inputs, self._diverse)

    def hybrid(self, asked: Asked, inputs: Inputs, table: str, match: Optional[str], weights: Any, constant: Any, diversity: Any,
               fetch: Any) -> List[Tuple[Any, ...]]:
        if asked.among is not None:
            raise ValueError(f"among is {asked.among!r}, but hybrid takes a condition: use where, such as 'id IN (1, 2)'")
        if not isinstance(table, str) or not table:
            raise ValueError(f"hybrid is {table!r}; it must be the name of an FTS5 table")
        if match is None:
            if not isinstance(inputs["query"], str):
                raise ValueError(f"hybrid is {table!r} and the query is a vector, so match must be the query of FTS5, such as 'rain OR storm'")
            match = " OR ".join(f'"{word}"' for word in dict.fromkeys(_WORD.findall(inputs["query"])))
        if not isinstance(weights, (tuple, list)) or len(weights) != 2:
            raise ValueError(f"weights is {weights!r}; it must be two numbers, of the full-text ranking and of the index's")
        inputs = {**inputs, "match": match or '""', "constant": _checked("constant", constant, 0, 1e9),
                  "weight0": _checked("weights", weights[0], 0, 1e9), "weight1": _checked("weights", weights[1], 0, 1e9),
                  "fetch": self._fetch(fetch, inputs["k"], 100)}
        if diversity is not None:
            inputs.update({"target": self._index.name, "lambda": 1 - _checked("diversity", diversity, 0, 1)})
        rowid = full_text_rowid(self._conn, table, columns_of(self._conn, self._index.table))
        try:
            return self._run(("hybrid", table, rowid), asked, inputs, self._hybrid)
        except Exception as error:
            column = re.search(r"no such column: (?:t\.)?(rank|rowid)$", str(error))
            if column and "rank" not in columns_of(self._conn, table):
                raise ValueError(f"hybrid is {table!r}, which is no FTS5 table") from error
            if column and column[1] == "rowid":
                raise ValueError(f"the table {self._index.table!r} is one WITHOUT ROWID, but hybrid needs the rowids, by which the FTS5 table "
                                 f"{table!r} names its rows; give it a content_rowid that is a column of the table") from error
            raise

    @staticmethod
    def _fetch(fetch: Any, k: int, least: int) -> int:
        if fetch is None:
            return max(4 * k, least)
        if isinstance(fetch, bool) or not hasattr(fetch, "__index__") or count(fetch) < k:
            raise ValueError(f"fetch is {fetch!r}; it must be a number of rows, at least k, which is {k}")
        return count(fetch)

    @staticmethod
    def _with_among(asked: Asked, inputs: Inputs) -> Inputs:
        return dict(inputs) if asked.among is None else dict(inputs, among=asked.among)

    # --- statements

    def _run(self, kind: Tuple[str, ...], asked: Asked, inputs: Inputs, write: Any) -> List[Tuple[Any, ...]]:
        by_name = isinstance(asked.params, Mapping) and asked.where is not None
        key = (kind, tuple(asked.shown), asked.where, tuple(inputs), by_name)
        known = self._statements.get(key)
        if known is None:
            if asked.where is not None:
                check_where(asked.where)
            if len(self._statements) > 256:
                self._statements.clear()
            statement = _Statement(asked.where, by_name)
            write(statement, kind, asked, list(inputs))
            known = self._statements[key] = (statement.sql, statement.order)
        sql, order = known
        values: Params
        if by_name and isinstance(asked.params, Mapping):
            for name in asked.params:
                if str(name).startswith("glove_"):
                    raise ValueError(f"params has the name {name!r}, but names that begin with glove_ are the index's own; rename it")
            values = {**asked.params, **{"glove_" + name: inputs[name] for name in order if name != _WHERE}}
        else:
            values = tuple(itertools.chain.from_iterable(asked.params if name == _WHERE else (inputs[name],) for name in order))
        try:
            return list(execute(self._conn, sql, values))
        except Exception as error:
            if "number of bindings" not in str(error):
                raise
            raise ValueError(f"where is {asked.where!r}, but params has {len(asked.params)} values; params must have one for each ?") from error

    def _shown(self, asked: Asked) -> List[str]:
        return ["t." + quoted(name) for name in asked.shown]

    def _table(self) -> str:
        return quoted(self._index.table)

    def _join(self, alias: str, keys: Sequence[str], other: str, others: Sequence[str]) -> str:
        return " AND ".join(f"{alias}.{key} = {other}.{their}" for key, their in zip(keys, others))

    def _conditions(self, statement: _Statement, names: Sequence[str]) -> List[str]:
        """Those of the index, for inputs of these names."""
        queries = [name for name in names if re.fullmatch(r"query\d+", name)]
        conditions = []
        for name in names:
            if name in queries or name == "limit":
                continue
            conditions.append(f"v.{quoted(name)} {'<=' if name == 'rank' else '='} {statement.mark(name)}")
        if queries:
            conditions.append(f"v.query IN ({', '.join(map(statement.mark, queries))})")
        return conditions

    def _among(self, statement: _Statement, column: str) -> str:
        return f"{column} = (SELECT glove_keys({', '.join(self._keys)}) FROM {self._table()} WHERE {statement.where()})"

    def _plain(self, statement: _Statement, kind: Tuple[str, ...], asked: Asked, names: List[str]) -> None:
        conditions = [self._among(statement, "v.among")] if asked.where is not None else []
        conditions += self._conditions(statement, names)
        columns = [*(["v.query"] if kind[0] == "batch" else []), *self._v_keys, "v." + self.score, *self._shown(asked)]
        join = f" JOIN {self._table()} t ON {' AND '.join(f't.{key} = {their}' for key, their in zip(self._keys, self._v_keys))}"
        statement.sql = (f"SELECT {', '.join(columns)} FROM {quoted(self._index.name)} v{join if asked.shown else ''} "
                         f"WHERE {' AND '.join(conditions)} ORDER BY v.rank")

    def _near(self, statement: _Statement, _: Tuple[str, ...], asked: Asked, names: List[str]) -> None:
        alias = _unlike("glove_key", asked.shown)
        # A name in quotes that is no column would be a text, unless the table stands before it.
        inner = [*(f"{key} AS {alias}{place}" for place, key in enumerate(self._keys)),
                 *(f"{self._table()}.{quoted(name)}" for name in asked.shown)]
        joined = (f" CROSS JOIN (SELECT {', '.join(inner)} FROM {self._table()} WHERE {statement.where()}) t ON "
                  + " AND ".join(f"t.{alias}{place} = {key}" for place, key in enumerate(self._v_keys)))
        conditions = self._conditions(statement, names)
        statement.sql = (f"SELECT {', '.join([*self._v_keys, 'v.' + self.score, *self._shown(asked)])} FROM {quoted(self._index.name)} v"
                         f"{joined} WHERE {' AND '.join(conditions)} ORDER BY v.rank LIMIT {statement.mark('limit')}")

    def _mmr_keys(self) -> List[str]:
        return ["m.key" + (str(place + 1) if place else "") for place in range(len(self._keys))]

    def _mmr(self, statement: _Statement, among: str) -> str:
        marks = [statement.mark(name) for name in ("target", "query", "k", "lambda", "fetch")]
        return f"glove_mmr({', '.join([*marks, among] if among else marks)}) m"

    def _diverse(self, statement: _Statement, _: Tuple[str, ...], asked: Asked, names: List[str]) -> None:
        table = self._mmr(statement, "")
        joined = f" JOIN {self._table()} t ON {' AND '.join(f't.{key} = {their}' for key, their in zip(self._keys, self._mmr_keys()))}"
        among = (f" WHERE {self._among(statement, 'm.among')}" if asked.where is not None else
                 f" WHERE m.among = {statement.mark('among')}" if "among" in names else "")
        statement.sql = (f"SELECT {', '.join([*self._mmr_keys(), 'm.' + self.score, *self._shown(asked)])} FROM {table}"
                         f"{joined if asked.shown else ''}{among} ORDER BY m.rank")

    def _hybrid(self, statement: _Statement, kind: Tuple[str, ...], asked: Asked, names: List[str]) -> None:
        index, full, rowid = self._index, quoted(kind[1]), kind[2]
        own = _unlike("glove_", [index.table, index.name, kind[1]])
        keys = [f"k{place}" for place in range(len(self._keys))]
        named = ", ".join(f"{key} AS {name}" for key, name in zip(self._keys, keys))
        parts = []
        if asked.where is not None:
            parts.append(f"{own}allowed AS (SELECT {rowid} AS row, {named} FROM {self._table()} WHERE {statement.where()})")
        allowed = f" AND +rowid IN (SELECT row FROM {own}allowed)" if asked.where is not None else ""
        matches = (f"(SELECT rowid AS row, rank FROM {full} WHERE {full} MATCH {statement.mark('match')}{allowed} "
                   f"ORDER BY rank LIMIT {statement.mark('fetch')})")
        place = "row_number() OVER (ORDER BY rank, row) AS place"
        found = ", ".join(f"t.{key} AS {name}" for key, name in zip(self._keys, keys))
        parts.append(f"{own}text AS (SELECT {', '.join(keys)}, {place} FROM (SELECT {found}, f.rank, f.row "
                     f"FROM {matches} f JOIN {self._table()} t ON t.{rowid} = f.row))")
        hybrid = ("match", "constant", "weight0", "weight1", "fetch", "target", "lambda", "k")
        conditions = self._conditions(statement, [name for name in names if name not in hybrid])
        conditions.append(f"v.k = {statement.mark('fetch')}")
        if asked.where is not None:
            conditions.append(f"v.among = (SELECT glove_keys({', '.join(keys)}) FROM {own}allowed)")
        parts.append(f"{own}near AS (SELECT {', '.join(f'{key} AS {name}' for key, name in zip(self._v_keys, keys))}, v.rank AS place "
                     f"FROM {quoted(index.name)} v WHERE {' AND '.join(conditions)})")
        gains = [f"SELECT {', '.join(keys)}, {statement.mark('weight' + str(side))} / ({statement.mark('constant')} + place) AS gain FROM {of}"
                 for side, of in enumerate((own + "text", own + "near"))]
        is_diverse = "lambda" in names
        most = statement.mark("fetch" if is_diverse else "k")
        order = ", ".join(["score DESC", *keys])
        parts.append(f"{own}fused AS (SELECT {', '.join(keys)}, sum(gain) AS score FROM ({' UNION ALL '.join(gains)}) "
                     f"GROUP BY {', '.join(keys)} ORDER BY {order} LIMIT {most})")
        source = f"{own}fused f"
        if is_diverse:
            source = (self._mmr(statement, f"(SELECT glove_keys({', '.join(keys)}) FROM {own}fused)")
                      + f" CROSS JOIN {own}fused f ON {' AND '.join(f'f.{name} = {key}' for name, key in zip(keys, self._mmr_keys()))}")
        joined = f" JOIN {self._table()} t ON {self._join('t', self._keys, 'f', keys)}" if asked.shown else ""
        statement.sql = (f"WITH {', '.join(parts)} SELECT {', '.join(['f.' + key for key in keys] + ['f.score'] + self._shown(asked))} "
                         f"FROM {source}{joined} ORDER BY {'m.rank' if is_diverse else 'f.' + order.replace(', k', ', f.k')}")
