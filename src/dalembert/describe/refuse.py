"""The sentences that descriptions are refused with, and the numbers that every part of them has: where they stand,
whether they are finite, whether a direction is one.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from dalembert.describe.description import Origin, Vector
from dalembert.errors import DescriptionError
from dalembert.findings import Place
from dalembert.spatial.angles import look_like_degrees, sentence

# An axis written with four digits, as 0.7071 0.7071 0, is meant to be a unit vector.
AXIS_ROUNDING = 1e-3
# A unit axis keeps its bits, so that reading what was written gives the same description.
AXIS_EXACT = 4e-16
AXIS_ZERO = 1e-9
# Beyond it, products such as mass times length squared leave what a 64-bit number holds.
LARGEST = 1e50


def at(place: Place) -> str:
    """`file:line:column: `, or nothing for what was never in a file."""
    return "" if place == Place() else f"{place}: "


def refuse(place: Place, sentence: str) -> DescriptionError:
    """The error that says where and what."""
    return DescriptionError(at(place) + sentence)


def finite(values: Sequence[float], place: Place, what: str, largest: float = LARGEST) -> None:
    for value in values:
        if not math.isfinite(value):
            raise refuse(place, f"{what} is {value!r}; write a finite number")
        if abs(value) > largest:
            raise refuse(place, f"{what} is {value!r}, so large that its products overflow; check its exponent")


def finite_origin(origin: Origin, place: Place, who: str, warnings: list[str] | None = None) -> None:
    finite(origin.xyz, place, f"the origin's xyz of {who}")
    finite(origin.rpy, place, f"the origin's rpy of {who}")
    if warnings is not None and look_like_degrees(origin.rpy):
        remedy = f"write {show([math.radians(x) for x in origin.rpy])} (in TOML rpy_deg)"
        warnings.append(at(place) + sentence(f"the origin's rpy of {who}", origin.rpy, remedy))


def unit_axis(axis: Vector, place: Place, who: str, warnings: list[str]) -> Vector:
    """The axis with length 1, and a warning if it was clearly not; one without a direction is refused."""
    finite(axis, place, f"the axis of {who}", sys.float_info.max)
    largest = max(abs(a) for a in axis)
    if largest < AXIS_ZERO:
        raise refuse(
            place, f"the axis of {who} is {show(axis)}, which has no direction; give a unit vector such as 0 0 1"
        )
    ratio = tuple(a / largest for a in axis)
    norm = math.hypot(*ratio)
    if abs(math.hypot(*axis) - 1.0) <= AXIS_EXACT:
        return axis
    x, y, z = (r / norm for r in ratio)
    if abs(norm * largest - 1.0) > AXIS_ROUNDING:
        warnings.append(
            f"{at(place)}the axis of {who} is {show(axis)}, of length {norm * largest:.6g}; "
            f"it is taken as the unit vector {x:.6g} {y:.6g} {z:.6g}"
        )
    return (x, y, z)


def show(values: Sequence[float]) -> str:
    return " ".join(f"{v:.6g}" for v in values)
