"""Values that rows are made of: vectors, ids, and what else SQLite stores."""
import array
import json
import math
import numbers
import operator
import os
import reprlib
import sys
from typing import TYPE_CHECKING, AbstractSet, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Protocol, Sequence, Tuple, Union

_ROWS_PER_CHECK = 4096
_MOST_ROWS = 2**60  # more than any table has; four times as many are an integer of SQLite's
_PLAIN = (str, int, float, bytes, type(None))
_FRAMES = {"pandas": "pandas", "polars": "polars", "pyarrow": "arrow"}
_TYPES = {str: "TEXT", int: "INTEGER", float: "REAL", bytes: "BLOB"}

if TYPE_CHECKING:  # the class takes a while to make
    class Frame(Protocol):
        """A frame of pandas or polars, or a table of Arrow."""

        @property
        def shape(self) -> Any: ...

    Columns = Union[Mapping[str, Any], Frame]
else:
    Columns = Any


def _list(values: Any) -> List[Any]:
    listed = getattr(values, "tolist", None) or getattr(values, "to_pylist", None)
    return list(listed() if listed is not None else values)


def kind_of(*given: Any) -> Optional[str]:
    """What rows= calls the library of the first of these that is a frame, or a part of one; None: none is."""
    kinds = (_FRAMES.get(type(one).__module__.partition(".")[0]) for one in given)
    return next((kind for kind in kinds if kind), None)


def by_name(given: Any) -> Any:
    """The columns of a frame of polars or a table of Arrow as a dict. What else is given remains what it is."""
    if hasattr(given, "items") or not hasattr(given, "get_columns") and not hasattr(given, "column_names"):
        return given
    names = list(given.column_names if hasattr(given, "column_names") else given.columns)
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"there are two columns named {repeated!r}; rename one of them")
    return {name: given[name] for name in names}


def _vectors_of_frame(vectors: Any) -> Any:
    """An array, or a list with None for a row without a vector."""
    if hasattr(vectors, "to_pylist"):  # Arrow
        return vectors.to_numpy(zero_copy_only=False)
    nulls = getattr(vectors, "null_count", None) if hasattr(vectors, "to_list") else None
    return vectors.to_list() if nulls is not None and nulls() else vectors.to_numpy()  # polars makes NaN of nulls


def _plain(column: str, value: Any) -> Any:
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, _PLAIN):
        return value
    raise TypeError(f"the column {column!r} has the value {_short(value)}, which SQLite cannot store; make it a number, text or bytes, "
                    "for example by json.dumps. Vectors are an argument of their own: leave their column out of columns")


def _short(value: Any) -> str:
    """The value for a message, in one line even if it is an array or a long text."""
    return reprlib.repr(value.tolist() if hasattr(value, "tolist") else value)


def _no_list(what: str, value: Any) -> TypeError:
    return TypeError(f"{what} is {_short(value)}; it must have one value for each row, such as [{_short(value)}]")


def column_values(column: str, values: Any) -> List[Any]:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise _no_list(f"the column {column!r}", values)
    return [value if type(value) in _PLAIN else _plain(column, value) for value in _list(values)]


def column_type(values: List[Any]) -> str:
    """The declared type of a column; none if its values have several."""
    kinds = {type(value) for value in values} - {type(None), bool}
    return " " + _TYPES.get(kinds.pop(), "") if len(kinds) == 1 else ""


class Key:
    """The columns whose values identify a row, and what an id is: a value, or a tuple of them for several columns."""

    def __init__(self, names: Sequence[str], is_integer: bool, remedy: str = "") -> None:
        self.names, self._is_integer, self._remedy = list(names), is_integer, remedy

    def _part(self, value: Any, of: Any) -> Any:
        if hasattr(value, "__index__") and not isinstance(value, bool):
            return operator.index(value)
        if self._is_integer:
            raise TypeError(f"the id {of!r} is not an integer, which an INTEGER PRIMARY KEY needs{self._remedy}")
        if not isinstance(value, (str, bytes, float)):
            raise TypeError(f"the id {of!r} is neither text nor a number nor bytes")
        return value

    def one(self, given: Any) -> Tuple[Any, ...]:
        """The values of one id."""
        if len(self.names) == 1:
            return (self._part(given, given),)
        if not isinstance(given, (tuple, list)) or len(given) != len(self.names):
            raise TypeError(f"the id {given!r} is no tuple of the key's columns, ({', '.join(self.names)})")
        return tuple(self._part(value, given) for value in given)

    def many(self, given: Any) -> List[Tuple[Any, ...]]:
        """The values of each id of an iterable."""
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            raise _no_list("the argument ids", given)
        return [self.one(one) for one in _list(given)]

    def is_one(self, given: Any) -> bool:
        """Whether this is one id, and not an iterable of them."""
        if len(self.names) > 1:
            return isinstance(given, tuple) and not (given and isinstance(given[0], (tuple, list)))
        return isinstance(given, (str, bytes)) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0

    def shown(self, key: Tuple[Any, ...]) -> Any:
        return key if len(self.names) > 1 else key[0]

    def columns(self, ids: Any) -> Dict[str, List[Any]]:
        """The column, or columns, of the ids; a dict or a DataFrame has them already."""
        ids = by_name(ids) if len(self.names) > 1 else ids
        if len(self.names) > 1 and hasattr(ids, "items"):
            given = {str(name): _list(values) for name, values in ids.items()}
            if sorted(name.lower() for name in given) != sorted(name.lower() for name in self.names):
                raise ValueError(f"ids has the columns {', '.join(given)}; those of the key are {', '.join(self.names)}")
            return given
        rows = self.many(ids)
        return {name: [row[place] for row in rows] for place, name in enumerate(self.names)}

    def json(self, ids: Any) -> str:
        """The input `among` for these ids."""
        rows = self.many(ids)
        if any(isinstance(value, bytes) for row in rows for value in row):
            raise TypeError("among cannot have ids that are bytes; give a condition as where")
        return json.dumps([self.shown(row) for row in rows])


def key_of_ids(ids: Any) -> Tuple[Key, Dict[str, str], Dict[str, List[Any]]]:
    """The key of a new table with these ids, the types of its columns, and their values."""
    if getattr(ids, "nlevels", 1) > 1:  # a MultiIndex of pandas
        ids = {name: ids.get_level_values(level) for level, name in enumerate(ids.names)}
    ids = by_name(ids)
    if ids is None:
        return Key(["id"], True), {"id": " INTEGER PRIMARY KEY"}, {}
    if hasattr(ids, "items") and not hasattr(ids, "dtype"):  # a dict or a DataFrame, not a Series
        columns = {name: column_values(name, values) for name, values in ids.items()}
        if len(columns) < 2:
            raise ValueError(f"ids has the columns {', '.join(map(str, columns)) or 'of none'}; a key of one column is given as a list of its values")
        return Key(list(columns), False), {name: column_type(values) + " NOT NULL" for name, values in columns.items()}, columns
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
        raise _no_list("the argument ids", ids)
    given = _list(ids)
    is_text = bool(given) and isinstance(given[0], (str, bytes))
    key = Key(["id"], not is_text, "; leave ids out (None), and pass these as one of the columns")
    values = key.columns(given)
    wrong = next((one for one in values["id"] if is_text and type(one) is not type(given[0])), None)
    if wrong is not None:
        raise TypeError(f"the id {wrong!r} is a {type(wrong).__name__}, but the id {given[0]!r} is a {type(given[0]).__name__}; a key has one type")
    return key, {"id": f"{column_type(given)} PRIMARY KEY NOT NULL" if is_text else " INTEGER PRIMARY KEY"}, values


def count(k: Any, name: str = "k") -> int:
    if isinstance(k, bool) or not hasattr(k, "__index__") or operator.index(k) < 0:
        raise ValueError(f"{name} is {k!r}; it must be a number of rows, 0 or more")
    return min(operator.index(k), _MOST_ROWS)


def bound(name: str, value: Any) -> Optional[float]:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or value != value:
        raise ValueError(f"{name} is {value!r}; it must be a number")
    return float(value)


def _reals(array: Any, dimensions: int, shape: str) -> Any:
    """The array as little-endian float32, unless it has other dimensions or its numbers have an imaginary part."""
    import numpy
    if array.ndim != dimensions:
        raise ValueError(f"an array of the shape {array.shape} was given; {shape}")
    if array.dtype.kind not in "biufO":
        raise TypeError(f"an array of {array.dtype} was given; vectors are arrays of real numbers")
    if array.shape[-1] == 0 and (dimensions == 1 or len(array)):
        raise ValueError(f"an array of the shape {array.shape} was given; a vector has one component or more")
    return numpy.ascontiguousarray(array, dtype="<f4")


def _is_masked(vector: Any, what: str) -> bool:
    """Whether a vector is a masked array of NumPy without components. One that lacks some of them is an error."""
    if not hasattr(vector, "filled") or not vector.mask.any():
        return False
    if not vector.mask.all():
        raise ValueError(f"{what} has {vector.mask.sum()} masked components of {vector.size}; fill them, or mask all of a row without a "
                         "vector")
    return True


def blob(vector: Any, what: str = "the vector") -> Any:
    """The little-endian float32 BLOB of one vector; bytes remain what they are. None, and what is masked, has none."""
    if vector is None or isinstance(vector, bytes):
        return vector
    if isinstance(vector, bytearray) or isinstance(vector, memoryview) and vector.itemsize == 1:
        return bytes(vector)
    if hasattr(vector, "__array__"):
        import numpy
        return None if _is_masked(vector, what) else _reals(numpy.asarray(vector), 1, "a vector has one dimension, as array[0] has").tobytes()
    if isinstance(vector, (str, int, float, Mapping, AbstractSet)) or not isinstance(vector, Iterable):
        remedy = "parse it, for example by json.loads" if isinstance(vector, str) else "None stands for a row without a vector"
        raise TypeError(f"{_short(vector)} is not a vector; a vector is a sequence of numbers, and vectors have one for each row; {remedy}")
    try:
        floats = array.array("f", vector)
    except TypeError:
        raise TypeError(f"the vector {_short(vector)} has a component that is not a number; a vector is a sequence of numbers") from None
    if not floats:
        raise ValueError("a vector without components was given; a vector has one component or more")
    if sys.byteorder != "little":
        floats.byteswap()
    return floats.tobytes()


def bits(vector: Any) -> Optional[bytes]:
    """The BLOB of one vector of bits: bytes, or a row of an array of uint8. None has none."""
    if vector is None:
        return None
    try:
        view = memoryview(vector)
        if view.ndim == 1 and view.format == "B":
            return view.tobytes()
    except TypeError:
        pass
    raise TypeError(f"{_short(vector)} is no vector of bits, which is bytes or an array of uint8, as numpy.packbits() makes it")


def blobs(vectors: Any) -> Sequence[Any]:
    """The BLOBs of the rows of an array, a DataFrame, an object with the buffer protocol, or an iterable of vectors."""
    if hasattr(vectors, "to_numpy"):
        vectors = _vectors_of_frame(vectors)
    if hasattr(vectors, "__array__"):
        import numpy
        given = numpy.asarray(vectors)
        if given.dtype == object and given.ndim == 1:
            return [blob(vector) for vector in vectors]
        given = _reals(given, 2, "vectors have two dimensions, a row for each vector, as [vector] has")
        if hasattr(vectors, "filled") and vectors.mask.any():
            return [blob(vector, f"row {row} of vectors") for row, vector in enumerate(vectors)]
        vectors = given
    try:
        view = memoryview(vectors)
    except TypeError:
        return [blob(vector) for vector in vectors]
    if view.ndim != 2 or view.shape is None:
        raise ValueError(f"the vectors are an array with {view.ndim} dimension(s); they must have 2, a row for each vector")
    if view.format not in ("f", "<f") or not view.c_contiguous or sys.byteorder != "little":
        return [blob(row) for row in view.tolist()]
    if view.nbytes == 0:
        return []
    width, data = 4 * view.shape[1], view.cast("B")
    return [data[start:start + width] for start in range(0, len(data), width)]


# The numbers that a type of 16 or 8 bits holds, after rounding.
_LIMITS = {"float16": (-65519.99, 65519.99), "bfloat16": (-3.3961e38, 3.3961e38), "int8": (-128, 127)}


def _wrong_places(numbers: Any, kind: str) -> Iterator[int]:
    least, most = _LIMITS[kind]
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numbers = numpy.frombuffer(numbers, "<f4")
        fits = (numbers >= least) & (numbers <= most) & (kind != "int8" or numbers == numpy.rint(numbers))
        return iter((~fits).nonzero()[0].tolist())
    return (place for place, one in enumerate(numbers) if not least <= one <= most or (kind == "int8" and one != int(one)))


def fitting(vectors: Sequence[Any], kind: str, skips: bool) -> List[Any]:
    """BLOBs of float32 that the type can hold: whole numbers for int8. Of another, raises ValueError or, if `skips`, takes None."""
    fits = list(vectors)
    for row, vector in enumerate(vectors):
        if kind not in _LIMITS or vector is None or len(vector) % 4:
            continue
        numbers = array.array("f", bytes(vector))
        wrong = next(_wrong_places(numbers, kind), None)
        if wrong is None:
            continue
        fits[row] = None
        if not skips:
            remedy = "; int8 holds whole numbers from -128 to 127: multiply the vectors by 127 and round them" if kind == "int8" else ""
            raise ValueError(f"row {row} of vectors has {numbers[wrong]:g} as the component {wrong + 1}, which {kind} cannot hold{remedy}")
    return fits


def faults(given: List[Tuple[int, Any]], width: int, kind: str) -> Iterator[Tuple[int, str]]:
    """The rows of which the vector has another number of bytes, NaN or infinity, and what is wrong; `given` are rows and BLOBs."""
    if kind == "bits":
        yield from ((row, f"has {8 * len(one)} bits, but the index has {8 * width}") for row, one in given if len(one) != width or not one)
        return
    numpy = sys.modules.get("numpy")  # if the program has it, it is faster
    for start in range(0, len(given), _ROWS_PER_CHECK):
        part = given[start:start + _ROWS_PER_CHECK]
        if numpy is not None and width % 4 == 0 < width and all(len(blob) == width for _, blob in part):
            if numpy.isfinite(numpy.frombuffer(b"".join([blob for _, blob in part]), "<f4")).all():
                continue
        for row, blob in part:
            fault = _fault(blob, width)
            if fault:
                yield row, fault


def _fault(blob: Any, width: int) -> str:
    """What is wrong with the BLOB of a vector that must have `width` bytes; nothing if it is right."""
    if len(blob) != width or width % 4 or not width:
        return f"has {len(blob) / 4:g} components, but the index has {width // 4} dimensions"
    floats = array.array("f")
    floats.frombytes(blob)
    if sys.byteorder != "little":
        floats.byteswap()
    if math.isfinite(sum(floats)):  # no sum of finite float32 overflows
        return ""
    return next(f"has {one} as the component {place}" for place, one in enumerate(floats, 1) if not math.isfinite(one))


def values_of(keys: Dict[str, List[Any]], vectors: Any, columns: Any, vector: Optional[str], kind: str) -> Dict[str, Sequence[Any]]:
    """The values of each column that is given, all of one length; `keys` are those of the key."""
    values: Dict[str, Sequence[Any]] = dict(keys)
    columns = by_name(columns)
    if columns is not None and (not hasattr(columns, "items") or getattr(columns, "ndim", 2) != 2):
        raise TypeError(f"columns is a {type(columns).__name__}; it must be a dict of names and lists, such as {{'title': titles}}, or "
                        "a DataFrame, such as frame[['title']]")
    taken = [*(keys or ["id"]), *([vector] if vector else []), "similarity"]
    for name, column in (columns.items() if columns is not None else ()):
        if not isinstance(name, str) or name.lower() in [other.lower() for other in taken]:
            raise ValueError(f"a column cannot have the name {name!r}: it must be text, and other than {', '.join(taken)}; rename it, or "
                             "pass it as the argument for ids or vectors")
        if name.lower() in {other.lower() for other in values}:
            raise ValueError(f"there are two columns named {name!r}; rename one of them")
        values[name] = column_values(name, column)
    if vectors is not None:
        if vector is None:
            raise ValueError("vectors were given to an index of texts, which makes its own; leave them out")
        if vector.lower() in {other.lower() for other in keys}:
            raise ValueError(f"ids has the column {vector!r}, which is the name of that of the vectors; rename it")
        values[vector] = list(map(bits, vectors)) if kind == "bits" else blobs(vectors)
    if not values:
        raise ValueError("no rows were given; pass vectors, or columns that have the text")
    lengths = {name: len(column) for name, column in values.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError("all columns must have as many rows as there are ids, but they have: "
                         + ", ".join(f"{name} {length}" for name, length in lengths.items()))
    return values
