"""What the fields of a description must be when it is made: numbers in their numbers, parts of their kind.

Whether the numbers make sense is for `check`, which knows the place in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from math import isfinite
from numbers import Real
from typing import Any

from dalembert.errors import DescriptionError

Rule = Callable[[str, Any], Any]
INERTIA = "six numbers (ixx, ixy, ixz, iyy, iyz, izz) [kg m²], or a symmetric 3×3 matrix"


def settle(part: Any, **rules: Rule) -> None:
    """Each field as its rule makes it, or a sentence that names class and field."""
    for name, rule in rules.items():
        value = getattr(part, name)
        made = rule(f"{name} of {type(part).__name__}", value)
        if made is not value:
            object.__setattr__(part, name, made)


def _refuse(what: str, value: Any, wanted: str) -> DescriptionError:
    return DescriptionError(f"{what} is {value!r:.80}; give {wanted}")


def number(what: str, value: Any) -> Any:
    """A float, or a scalar of another kind: descriptions are also made with symbols."""
    if type(value) is float:
        return value
    if value is None or isinstance(value, (str, bytes, bool, dict, complex, Iterable)) or callable(value):
        raise _refuse(what, value, "a number")
    return float(value) if isinstance(value, Real) else value


def finite(what: str, value: Any) -> float:
    """A float that is neither infinite nor NaN."""
    x = number(what, value)
    if not isinstance(x, float) or not isfinite(x):
        raise _refuse(what, value, "a finite number")
    return x


def _row(value: Any) -> tuple[Any, ...]:
    return tuple(number("", x) for x in value) if isinstance(value, Iterable) and not isinstance(value, str) else ()


@cache
def numbers(count: int) -> Rule:
    def rule(what: str, value: Any) -> Any:
        if type(value) is tuple and len(value) == count and all(type(x) is float for x in value):
            return value
        try:
            row = _row(value)
        except DescriptionError:
            row = ()
        if len(row) != count:
            raise _refuse(what, value, f"{count} numbers")
        return row

    return rule


three = numbers(3)


def both_ways(what: str, value: Any) -> Any:
    """Magnitudes for positive and negative velocity; one number is both."""
    return numbers(2)(what, value if isinstance(value, Iterable) else (number(what, value),) * 2)


def inertia(what: str, value: Any) -> Any:
    """(ixx, ixy, ixz, iyy, iyz, izz) of six numbers or of a 3×3 matrix."""
    try:
        matrix = [_row(row) for row in value] if isinstance(value, Iterable) else []
        if [len(row) for row in matrix] == [3, 3, 3]:
            (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = matrix
            if all(abs(a - b) <= 1e-9 * max(abs(a), abs(b)) for a, b in ((xy, yx), (xz, zx), (yz, zy))):
                return (xx, xy, xz, yy, yz, zz)
            raise _refuse(what, value, INERTIA)
        return numbers(6)(what, value)
    except DescriptionError:
        raise _refuse(what, value, INERTIA) from None


@cache
def a(*kinds: type) -> Rule:
    """A part of one of these classes."""
    wanted = " or ".join({str: "text", int: "a whole number"}.get(kind, f"{kind.__name__}(…)") for kind in kinds)

    def rule(what: str, value: Any) -> Any:
        if not isinstance(value, kinds):
            raise _refuse(what, value, wanted)
        return value

    return rule


text = a(str)


@cache
def maybe(rule: Rule) -> Rule:
    return lambda what, value: None if value is None else rule(what, value)


@cache
def some(*kinds: type) -> Rule:
    """A sequence of parts, as a tuple."""
    each = a(*kinds)

    def rule(what: str, value: Any) -> Any:
        if not isinstance(value, (tuple, list)):
            raise _refuse(what, value, f"a list of {kinds[0].__name__}(…)")
        for x in value:
            each(what, x)
        return value if isinstance(value, tuple) else tuple(value)

    return rule
