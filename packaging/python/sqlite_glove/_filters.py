"""Conditions on columns and on JSON metadata, as SQL with parameters: what the stores for frameworks make of their filters.

A condition may be NULL, as SQL's are, and a row counts if it is true; negation() counts NULL as false.
"""
import json
import re
from typing import Any, Iterable, List, NamedTuple, Sequence, Tuple

from ._sql import literal as _literal
from ._sql import quoted as _quoted

Condition = Tuple[str, List[Any]]  # an SQL expression, and its parameters
ALWAYS: Condition = ("1", [])
NEVER: Condition = ("0", [])
_IN_A_PATH = re.compile(r'[^"\\\x00-\x1f]+')  # the keys that SQLite's JSON paths can name
_TEXTS = "('text')"
_NUMBERS = "('integer', 'real', 'true', 'false')"


class Field(NamedTuple):
    """What is compared: SQL expressions of a value, and of its type as json_type() names it."""
    value: str
    type: str


def column(name: str) -> Field:
    return Field(_quoted(name), f"typeof({_quoted(name)})")


def can_be_indexed(*keys: str) -> bool:
    """Whether metadata() of these is an expression that an index may have."""
    return bool(keys) and all(_IN_A_PATH.fullmatch(key) for key in keys)


def metadata(*keys: str) -> Field:
    """A value in the column metadata: metadata("person", "name") is that of {"person": {"name": ...}}."""
    for key in keys:
        if not isinstance(key, str) or "\0" in key:
            raise ValueError(f"a filter names the metadata {key!r}; it must be a text without NUL")
    if can_be_indexed(*keys):
        path = _literal("$" + "".join(f'."{key}"' for key in keys))
        return Field(f"json_extract(metadata, {path})", f"json_type(metadata, {path})")
    source = "metadata"
    for key in keys[:-1]:
        source = f"(SELECT CASE type WHEN 'object' THEN value END FROM json_each({source}) WHERE key = {_literal(key)})"
    return Field(*(f"(SELECT {what} FROM json_each({source}) WHERE key = {_literal(keys[-1])})" for what in ("value", "type")))


def plain(value: Any) -> Any:
    """Dates as texts, and numbers and arrays of NumPy as Python's own: what metadata have of them. NaT and NA are None."""
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, int) and not -2**63 <= value < 2**63:
        return float(value)  # as SQLite reads such a number in JSON
    for method in ("isoformat", "tolist"):
        if hasattr(value, method):
            return getattr(value, method)()
    return value


def dumps(value: Any) -> str:
    """The JSON text of a value, which is made plain; NaN is an error."""
    def written(other: Any) -> Any:
        if plain(other) is not other:
            return plain(other)
        raise TypeError(f"{other!r} cannot be written as JSON, which metadata are; make it a text, a number, a list or a dict")
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=written)
    except ValueError as error:
        raise ValueError(f"{value!r} cannot be written as JSON: {error}; give None for NaN") from None


def _typed(field: Field, comparison: str, is_text: bool) -> str:
    return f"({field.value} {comparison} AND {field.type} IN {_TEXTS if is_text else _NUMBERS})"


def equal(field: Field, value: Any) -> Condition:
    value = plain(value)
    if value is None:
        return f"{field.value} IS NULL", []
    if isinstance(value, (list, tuple, dict)):
        return f"({field.value} = ? AND {field.type} IN ('array', 'object'))", [dumps(value)]
    return _typed(field, "= ?", isinstance(value, str)), [value]


def ordered(field: Field, operator: str, value: Any) -> Condition:
    """Whether the field is <, <=, > or >= the value, and both are texts or both are numbers."""
    value = plain(value)
    if isinstance(value, (list, tuple, dict)):
        raise ValueError(f"{value!r} cannot be compared by {operator}; a number or a text can")
    return NEVER if value is None else (_typed(field, operator + " ?", isinstance(value, str)), [value])


def one_of(field: Field, values: Iterable[Any]) -> Condition:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{values!r} is not a list of values")
    numbers, texts, others = [], [], []  # type: List[Any], List[Any], List[Any]
    for value in map(plain, values):
        (texts if isinstance(value, str) else others if value is None or isinstance(value, (list, tuple, dict)) else numbers).append(value)
    listed = [(_typed(field, "IN (SELECT value FROM json_each(?))", some is texts), [dumps(some)]) for some in (texts, numbers) if some]
    return any_of([*listed, *(equal(field, value) for value in others)])


def contains(field: Field, value: Any) -> Condition:
    """Whether the field is an array that has the value, or a text that has it as a part."""
    element, params = equal(Field("element.value", "element.type"), value)
    text, more = (f"instr({field.value}, ?) > 0", [value]) if isinstance(value, str) else NEVER
    return (f"CASE {field.type} WHEN 'array' THEN EXISTS (SELECT 1 FROM json_each({field.value}) element WHERE {element})"
            f" WHEN 'text' THEN {text} ELSE 0 END", [*params, *more])


def all_of(conditions: Sequence[Condition]) -> Condition:
    return _joined("AND", conditions) if conditions else ALWAYS


def any_of(conditions: Sequence[Condition]) -> Condition:
    return _joined("OR", conditions) if conditions else NEVER


def negation(condition: Condition) -> Condition:
    return f"NOT coalesce({condition[0]}, 0)", condition[1]


def _joined(word: str, conditions: Sequence[Condition]) -> Condition:
    """The conditions as a tree that is as flat as possible, because SQLite limits its depth."""
    half = len(conditions) // 2
    if half == 0:
        return conditions[0]
    (left, params), (right, more) = _joined(word, conditions[:half]), _joined(word, conditions[half:])
    return f"({left} {word} {right})", [*params, *more]
