"""What notebooks want: bars of progress, answers as frames, and an Index as HTML."""
import html
import sys
from typing import Any, Iterable, List, Sequence, Tuple

from ._sql import Progress, execute, quoted, text

_FIRST_ROWS, _FIRST_COLUMNS, _MOST_CHARACTERS = 5, 10, 60


def bar() -> Progress:
    """A callable for one verb after the other; each bar ends when all of its rows are done."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _percentage()
    shown: Any = None

    def report(done: int, total: int) -> None:
        nonlocal shown
        if shown is None:
            shown = tqdm(total=total, unit=" rows")
        shown.update(done - shown.n)
        if done >= total:
            shown.close()
            shown = None
    return report


def _percentage() -> Progress:
    last = -1

    def report(done: int, total: int) -> None:
        nonlocal last
        percent = 100 * done // total if total else 100
        if percent != last and sys.stderr is not None:
            sys.stderr.write(f"\r{percent:3} %" + ("\n" if done >= total else ""))
            sys.stderr.flush()
        last = percent if done < total else -1
    return report


def framed(kind: str, rows: Sequence[Tuple[Any, ...]], names: List[str]) -> Any:
    """The rows as a frame of pandas or polars, or a table of Arrow."""
    if kind == "pandas":
        import pandas
        return pandas.DataFrame(rows, columns=names)
    if kind == "polars":
        import polars
        return polars.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
    import pyarrow
    return pyarrow.Table.from_arrays([pyarrow.array([row[place] for row in rows]) for place in range(len(names))], names=names)


def html_of(index: Any) -> str:
    """What an Index is, and its first rows. What cannot be read is the message of its error."""
    parts = [f"<p><b>{html.escape(index.name)}</b>, an index of the table {html.escape(index.table)}</p>"]
    for part in (_facts, _first_rows):
        try:
            parts.append(part(index))
        except Exception as error:  # pylint: disable=broad-except
            parts.append(f"<p>{html.escape(str(error))}</p>")
    return "<div>" + "".join(parts) + "</div>"


def _facts(index: Any) -> str:
    found = execute(index.conn, "SELECT rows, metric, state, logged FROM glove_indexes WHERE schema = ? AND name = ?",
                    (index.schema, index.name)).fetchall()
    if not found:
        raise LookupError(f"there is no index {index.name!r}; it was dropped or renamed")
    rows, metric, state, logged = found[0]
    known = execute(index.conn, f"SELECT value FROM {quoted(index.name + '_config')} WHERE key = 'dims' AND value > 0").fetchall()
    dims = known[0][0] * (8 if metric == "hamming" else 1) if known else None
    return _table(["rows", "dimensions", "metric", "state", "logged"], [[rows, dims, text(metric), text(state), logged]])


def _first_rows(index: Any) -> str:
    names = [*index.key.names, *index._columns_now()]  # pylint: disable=protected-access
    columns = ", ".join(map(quoted, names[:_FIRST_COLUMNS]))
    rows = execute(index.conn, f"SELECT {columns} FROM {quoted(index.table)} LIMIT {_FIRST_ROWS}").fetchall()
    return _table([*names[:_FIRST_COLUMNS], *["\u2026"] * (len(names) > _FIRST_COLUMNS)], rows)


def _table(names: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any) -> str:
    if isinstance(value, bytes):
        return f"{len(value)}-byte BLOB"
    shown = "" if value is None else str(value)
    return shown if len(shown) <= _MOST_CHARACTERS else shown[:_MOST_CHARACTERS] + "\u2026"
