"""What notebooks want: bars of progress, and answers as frames."""
import sys
from typing import Any, List, Sequence, Tuple

from ._sql import Progress


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
