"""What the fields of a description must be when it is made: numbers in their numbers, parts of their kind.

`Part` looks at each field by its annotation. Whether the numbers make sense is for `check`, which knows the place in
the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from functools import cache, partial
from math import isfinite
from numbers import Real
from types import NoneType, UnionType
from typing import ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from dalembert.errors import DescriptionError
from dalembert.scalar import Scalar

Vector = tuple[float, float, float]
Color = tuple[float, float, float, float]  # r, g, b, a in 0…1
Six = tuple[float, float, float, float, float, float]  # ixx, ixy, ixz, iyy, iyz, izz
Rule = Callable[[str, object], object]
WORDS = {str: "text", int: "a whole number"}
SIX_NUMBERS = "six numbers (ixx, ixy, ixz, iyy, iyz, izz) [kg m²], or a symmetric 3×3 matrix"


class Part:
    """A frozen dataclass that takes what its annotations say, or raises a sentence that names class and field. What is
    left out of comparisons, and what is `checked_later`, is not looked at."""

    checked_later: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name, what, rule in _rules(type(self)):  # type: ignore[arg-type]
            value = getattr(self, name)
            made = rule(what, value)
            if made is not value:
                object.__setattr__(self, name, made)


@cache
def _rules(kind: type[Part]) -> list[tuple[str, str, Rule]]:
    hints = get_type_hints(kind)
    looked_at = [f.name for f in fields(kind) if f.compare and f.name not in kind.checked_later]  # type: ignore[arg-type]
    return [(name, f"{name} of {kind.__name__}", _rule(hints[name])) for name in looked_at]


def _rule(hint: object) -> Rule:
    """The rule of an annotation."""
    if hint in RULES:
        return RULES[hint]
    arguments = get_args(hint)
    if get_origin(hint) in (Union, UnionType) and NoneType in arguments:
        rule = _rule(Union[tuple(kind for kind in arguments if kind is not NoneType)])  # noqa: UP007 - of a tuple
        return lambda what, value: None if value is None else rule(what, value)
    if get_origin(hint) is tuple:
        return partial(_several, arguments[0])
    if get_origin(hint) is Literal:
        return RULES[str]
    return partial(_one_of, arguments or (hint,))


def _refuse(what: str, value: object, wanted: str) -> DescriptionError:
    return DescriptionError(f"{what} is {value!r:.80}; give {wanted}")


def number(what: str, value: object) -> object:
    """A float, or a scalar of another kind: descriptions are also made with symbols."""
    if type(value) is float:
        return value
    if value is None or isinstance(value, (str, bytes, bool, dict, complex, Iterable)) or callable(value):
        raise _refuse(what, value, "a number")
    return float(value) if isinstance(value, Real) else value


def finite(what: str, value: object) -> None:
    """A number that is neither infinite nor NaN, or an error."""
    if not isinstance(value, float) or not isfinite(value):
        raise _refuse(what, value, "a finite number")


def _row(value: object) -> tuple[object, ...]:
    return tuple(number("", x) for x in value) if isinstance(value, Iterable) and not isinstance(value, str) else ()


def _numbers(count: int, what: str, value: object) -> object:
    if type(value) is tuple and len(value) == count and all(type(x) is float for x in value):
        return value
    try:
        row = _row(value)
    except DescriptionError:
        row = ()
    if len(row) != count:
        raise _refuse(what, value, f"{count} numbers")
    return row


def _both_ways(what: str, value: object) -> object:
    """Magnitudes for positive and negative velocity; one number is both."""
    return _numbers(2, what, value if isinstance(value, Iterable) else (number(what, value),) * 2)


def _inertia(what: str, value: object) -> object:
    """(ixx, ixy, ixz, iyy, iyz, izz) of six numbers or of a 3×3 matrix."""
    try:
        matrix = [_row(row) for row in value] if isinstance(value, Iterable) else []
        if [len(row) for row in matrix] != [3, 3, 3]:
            return _numbers(6, what, value)
    except DescriptionError:
        raise _refuse(what, value, SIX_NUMBERS) from None
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = matrix
    if all(_same(a, b) for a, b in ((xy, yx), (xz, zx), (yz, zy))):
        return (xx, xy, xz, yy, yz, zz)
    raise _refuse(what, value, SIX_NUMBERS)


def _same(a: Scalar, b: Scalar) -> bool:
    return bool(abs(a - b) <= 1e-9 * max(abs(a), abs(b)))


def _one_of(kinds: Sequence[type], what: str, value: object) -> object:
    """A part of one of these classes."""
    if not isinstance(value, tuple(kinds)):
        raise _refuse(what, value, " or ".join(WORDS.get(kind, f"{kind.__name__}(…)") for kind in kinds))
    return value


def _several(kind: type, what: str, value: object) -> object:
    """A sequence of parts, as a tuple."""
    if not isinstance(value, (tuple, list)):
        raise _refuse(what, value, f"a list of {kind.__name__}(…)")
    for x in value:
        _one_of((kind,), what, x)
    return value if isinstance(value, tuple) else tuple(value)


RULES: dict[object, Rule] = {
    float: number,
    str: partial(_one_of, (str,)),
    tuple[float, float]: _both_ways,
    Vector: partial(_numbers, 3),
    Color: partial(_numbers, 4),
    Six: _inertia,
}
