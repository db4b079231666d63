"""How far what a program computes may lie from what it means: a bound that holds for every state of a box.

A computed program is the exact one with something added at every step k, δ_k: what rounding does there. By the mean
value theorem

    computed − exact = Σ_k w_k δ_k,    w_k = ∂output/∂v_k

with the derivatives taken at values between exact and computed ones. So a walk forward encloses every value of every
step, with anything that rounding may have added before (`Interval`); the largest value tells the largest δ_k, half a
unit in its last place. A walk backward encloses the derivatives over those values, by the chain rule of `operations`,
and the bound is Σ sup|w_k| sup|δ_k|. Nothing of second order is left out, and what cancels in exact arithmetic, as
derivatives along two ways do, cancels here.

Joints turn vectors, and intervals lose a factor at each turn. What can be read off the steps helps: with c and s the
cosine and sine of one angle, |c x + s y| ≤ √(x² + y²), for values c x + s y and for derivatives (with respect to what
two steps use, one times c and one times s) alike.

Derivatives are kept as middle and radius, for all outputs that depend on a step and all boxes at once. Their own
rounding, in doubles, is in the radii.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.compile.kinds import SINGLE, SINGLE_UNFUSED, Kind
from dalembert.compile.lower import Program, Step
from dalembert.compile.operations import OPERATIONS
from dalembert.scalar import Scalar
from dalembert.scalar.interval import Interval, IntervalCondition, interval

Array = NDArray[np.float64]
UNIT = 2.0**-53  # of doubles, in which this is computed
SAFE = 1 + 2.0**-20  # for sums of positive numbers: their own rounding, and c² + s² of a rounded cosine and sine
NOTHING = 2.0**-100  # a divisor of whose kind float32's quotients have no end
EXPONENT = 0x7FF0_0000_0000_0000  # its bits in a double
CHUNK = 1 << 12  # numbers in one array: boxes times outputs, for them to stay in the cache


@dataclass(frozen=True)
class Accuracy:
    """The largest errors of our own functions in one kind of number, over all of its numbers: of sin and cos, of sin x
    relative to x, of exp and log relative to themselves."""

    sin: float
    cos: float
    sin_by_x: float
    exp: float
    log: float


# Every float32 number was tried (`benchmarks/float32.py functions`); in units of 2⁻²⁴, rounded up.
ACCURACY = {
    SINGLE: Accuracy(*(u * 2.0**-24 for u in (1.56, 1.56, 1.792, 1.382, 1.362))),
    SINGLE_UNFUSED: Accuracy(*(u * 2.0**-24 for u in (1.567, 1.562, 1.792, 1.342, 1.375))),
}

Place = slice | NDArray[np.intp]
ALL = slice(None)
Values = list[Any]  # of each step: an Interval, or an IntervalCondition
Roundings = list[Any]  # of each step: numbers for all boxes, or one, or None where nothing is rounded


class Rounding:
    """What is known of a program before there is a box: which steps are exact, which outputs depend on a step, where it
    turns a vector."""

    def __init__(self, program: Program, sizes: Sequence[int], kind: Kind = SINGLE) -> None:
        """`sizes`: how many numbers each argument has."""
        self.first = [sum(sizes[:k]) for k in range(len(sizes))]
        self.steps, self.kind, self.accuracy = program.steps, kind, ACCURACY[kind]
        self.largest = (2 - 2.0**-kind.mantissa) * 2.0**kind.bias
        self.tiny = 2.0 ** (1 - kind.bias - kind.mantissa - 1)  # half of the smallest number
        self.outputs = [k for group in program.outputs for k in group]
        self.exact = self._find_exact()
        self.undefined = self._find_undefined()
        self.rows = self._find_rows()
        self.uses = [0] * len(self.steps)
        for x in [x for step in self.steps for x in step.operands] + self.outputs:
            self.uses[x] += 1
        self.turns = [self._turn(step) for step in self.steps]
        self.turned = self._find_turned()

    # ------------------------------------------------------------------------------------------------ before any box
    def _constant(self, k: int) -> float | None:
        step = self.steps[k]
        return step.value if step.operation == "constant" else None

    def _rounded(self, x: float) -> float:
        with np.errstate(over="ignore"):
            return float(np.dtype(f"f{self.kind.bytes}").type(x))

    def _find_exact(self) -> list[bool]:
        """The steps that no rounding touches, neither there nor before."""
        exact: list[bool] = []
        for step in self.steps:
            if step.operation == "constant":
                exact.append(self._rounded(step.value) == step.value or math.isnan(step.value))
            else:
                free = step.operation in ("input", "negate", "absolute", "less", "less_equal", "where")
                exact.append(free and all(exact[x] for x in step.operands))
        return exact

    def _find_undefined(self) -> list[bool]:
        """The steps that may be NaN for a number, because a constant is."""
        users: list[list[int]] = [[] for _ in self.steps]
        for k, step in enumerate(self.steps):
            for x in step.operands:
                users[x].append(k)

        def is_left(k: int, x: int, y: int) -> bool:
            """Whether step k is chosen only where x > y does not hold."""
            return bool(users[k]) and k not in self.outputs and all(is_left_by(user, k, x, y) for user in users[k])

        def is_left_by(user: int, k: int, x: int, y: int) -> bool:
            step = self.steps[user]
            if step.operation != "where" or step.operands[1] == k:
                return False
            condition = self.steps[step.operands[0]]
            return (condition.operation, condition.operands) == ("less", (y, x)) or is_left(user, x, y)

        found: list[bool] = []
        for k, step in enumerate(self.steps):
            nan = step.operation == "constant" and math.isnan(step.value)
            operands = step.operands
            if step.operation == "where" and self.steps[operands[0]].operation == "less_equal":
                x, y = self.steps[operands[0]].operands
                if is_left(k, x, y):  # neither x > y nor x ≤ y: x is NaN itself, as in `scalar.by_sign`
                    operands = operands[:2]
            found.append(nan or any(found[x] for x in operands))
        return found

    def _find_rows(self) -> list[NDArray[np.intp]]:
        """The outputs that depend on each step."""
        bits = [0] * len(self.steps)
        for row, k in enumerate(self.outputs):
            bits[k] |= 1 << row
        for k in reversed(range(len(self.steps))):
            for x in self.steps[k].operands:
                bits[x] |= bits[k]
        return [np.array([i for i in range(b.bit_length()) if b >> i & 1], np.intp) for b in bits]

    def _find_turned(self) -> list[frozenset[int]]:
        """The angles by whose sine and cosine other steps multiply each step."""
        found: list[dict[int, set[str]]] = [{} for _ in self.steps]
        for step in self.steps:
            for i, x in enumerate(step.operands):
                if (factor := self._factor(step, i)) is not None:
                    found[x].setdefault(factor[0], set()).add(factor[1])
        last = set(self.outputs)
        return [
            frozenset(angle for angle, both in angles.items() if len(both) == 2 and k not in last)
            for k, angles in enumerate(found)
        ]

    def _factor(self, step: Step, i: int) -> tuple[int, str] | None:
        """(angle, sin or cos) that a step multiplies its operand i by."""
        if step.operation not in ("multiply", "fma") or i > 1:
            return None
        other = self.steps[step.operands[1 - i]]
        return (other.operands[0], other.operation) if other.operation in ("sin", "cos") else None

    def _turn(self, step: Step) -> tuple[int, int, int] | None:
        """(x, y, place of the product s y) of a step c x + s y."""
        if step.operation != "fma":
            return None
        product = step.operands[2]
        if self.steps[product].operation != "multiply":
            return None
        for i in (0, 1):
            for j in (0, 1):
                a, b = self._factor(step, i), self._factor(self.steps[product], j)
                if a and b and a[0] == b[0] and a[1] != b[1]:
                    return step.operands[i], self.steps[product].operands[j], product
        return None

    def _larger(self, step: Step) -> bool | None:
        """Of a choice: whether it takes the larger (or the smaller) of the two numbers that it compares."""
        compared = self.steps[step.operands[0]].operands
        return None if set(compared) != set(step.operands[1:]) else step.operands[1] == compared[1]

    # ------------------------------------------------------------------------------------------------------- forward
    def enclose(self, low: Array, high: Array) -> tuple[Values, Roundings]:
        """Values and roundings of every step over boxes low ≤ inputs ≤ high, (boxes, inputs)."""
        values: Values = []
        roundings: Roundings = []
        for k, (step, turn, exact) in enumerate(zip(self.steps, self.turns, self.exact, strict=True)):
            if step.operation == "constant":
                value: Any = interval(step.value)
                rounding: Any = None
                if not exact:
                    rounding = abs(self._rounded(step.value) - step.value)
                    value = value.widened(rounding)
            elif step.operation == "input":
                argument, position = step.value
                j = self.first[argument] + position
                value, rounding = Interval(low[:, j], high[:, j]), None
            else:
                x = [values[k] for k in step.operands]
                x = [-v if flipped else v for v, flipped in zip(x, step.flip or (False,) * len(x), strict=True)]
                value = OPERATIONS[step.operation].on_scalars(*x)
                if step.operation == "where":
                    value, rounding = self._choose(k, x, value)
                elif isinstance(value, IntervalCondition):
                    rounding = None
                else:
                    if turn is not None:
                        u, v, product = turn
                        reach = SAFE * (np.hypot(values[u].size, values[v].size) + roundings[product])
                        value = value.within(-reach, reach)
                    rounding = self._round(step, x, value)
                    value = value if rounding is None else value.widened(rounding)
            values.append(value)
            roundings.append(rounding)
        return values, roundings

    def _choose(self, k: int, x: list[Any], value: Interval) -> tuple[Interval, Any]:
        """A choice that the computed program may make otherwise is as if what it takes were added: the two differ by no
        more than both together span, unless one is NaN. The larger and the smaller of two numbers do not jump."""
        step, (condition, a, b) = self.steps[k], x
        larger = self._larger(step)
        if larger is not None:
            ends = np.maximum if larger else np.minimum
            return Interval(ends(a.low, b.low), ends(a.high, b.high)), None
        if self.exact[step.operands[0]]:
            return value, None
        span = np.inf if self.undefined[k] else SAFE * (value.high - value.low)
        jump = np.where(condition.always | condition.never, 0.0, span)
        return value, jump if np.any(jump) else None

    def _round(self, step: Step, x: list[Interval], value: Interval) -> Any:
        """The largest |δ| of a step of these operands, whose value is this before it is rounded."""
        own, size = self.accuracy, value.size
        match step.operation:
            case "negate" | "absolute":
                return None
            case "sin":
                error = np.minimum(own.sin, SAFE * own.sin_by_x * x[0].size)
                return np.where(x[0].size <= self.kind.largest_angle, error, np.inf)
            case "cos":
                return np.where(x[0].size <= self.kind.largest_angle, own.cos, np.inf)
            case "exp":
                return np.where(size < self.largest, SAFE * own.exp * size + 2 * self.tiny, np.inf)
            case "log":
                return SAFE * own.log * size
            case "multiply" if any(_is_power_of_two(self._constant(k)) for k in step.operands):
                return np.where(size < self.largest, self.tiny, np.inf)
            case "fma" if not self.kind.fused:
                first = self._half_unit((x[0] * x[1]).size)
                return first + self._half_unit(SAFE * (size + first))
            case _:
                return self._half_unit(size)

    def _half_unit(self, size: Any) -> Any:
        """Half a unit in the last place of numbers up to this size."""
        power = (np.asarray(size, float).view(np.int64) & EXPONENT).view(float)  # of two, at or below the size
        half = np.maximum(power * 2.0 ** (-1 - self.kind.mantissa), self.tiny)
        return np.where(size < self.largest, half, np.inf)

    # ------------------------------------------------------------------------------------------------------ backward
    def weigh(self, values: Values, roundings: Roundings, boxes: int) -> Array:
        """Σ sup|w_k| |δ_k| for all outputs, (outputs, boxes)."""
        total = np.zeros((len(self.outputs), boxes))
        slopes = [_Slope(len(rows), boxes) for rows in self.rows]
        for row, k in enumerate(self.outputs):
            slopes[k].add(np.searchsorted(self.rows[k], [row]), 1.0, 0.0)
        for k in reversed(range(len(self.steps))):
            slope, slopes[k] = slopes[k], None  # type: ignore[call-overload]
            if slope.middle is None:
                continue
            size = slope.settle()
            if roundings[k] is not None:
                total[self.rows[k]] += _product(size, roundings[k])
            self._pass_on(k, slope, size, values, slopes)
        total = total * SAFE
        return np.where(np.isnan(total), np.inf, total)

    def _pass_on(self, k: int, slope: _Slope, size: Array, values: Values, slopes: list[_Slope]) -> None:
        step = self.steps[k]
        for i, (x, partial) in enumerate(zip(step.operands, self._partials(k, values), strict=True)):
            if partial is None or self.exact[x]:
                continue
            place = _place(self.rows[k], self.rows[x])
            slopes[x].take(place, slope, partial, self.uses[x])
            if self.turned[x]:
                factor = self._factor(step, i)
                if factor is None or factor[0] not in self.turned[x]:
                    slopes[x].group(None, place, _product(size, interval(partial).size))
                else:
                    slopes[x].group(factor, place, size)

    def _partials(self, k: int, values: Values) -> list[Any]:
        """∂(step)/∂(operands), signs flipped where the step flips them."""
        step = self.steps[k]
        x = [values[o] for o in step.operands]
        if step.operation == "where":
            always, never = x[0].always, x[0].never
            return [
                None,
                Interval(np.where(always, 1.0, 0.0), np.where(never, 0.0, 1.0)),
                Interval(np.where(never, 1.0, 0.0), np.where(always, 0.0, 1.0)),
            ]
        row = OPERATIONS[step.operation].partials if x else None
        if row is None:
            return []
        flip = step.flip or (False,) * len(x)
        signed = [-v if f else v for v, f in zip(x, flip, strict=True)]
        return [-p if f else p for p, f in zip(row(values[k], *signed), flip, strict=True)]

    def bound(self, low: Array, high: Array) -> Array:
        """The largest |computed − exact| of every output over each box, (boxes, outputs)."""
        piece = max(1, CHUNK // max(1, len(self.outputs)))
        found = []
        with np.errstate(all="ignore"):
            for first in range(0, len(low), piece):
                a, b = low[first : first + piece], high[first : first + piece]
                found.append(self.weigh(*self.enclose(a, b), len(a)).T)
        return np.concatenate(found)

    def explain(self, low: Array, high: Array, rows: Iterable[int]) -> list[str]:
        """Why bounds of some outputs over one box, (inputs,), are infinite, or large by a choice: a sentence each."""
        with np.errstate(all="ignore"):
            values, roundings = self.enclose(low[None], high[None])
            found, left = [], set(rows)
            for k, (step, value) in enumerate(zip(self.steps, values, strict=True)):
                touched = left.intersection(self.rows[k].tolist())
                if not touched or not isinstance(value, Interval) or step.operation == "constant":
                    continue
                pairs = zip(step.operands, self._partials(k, values), strict=False)
                partials = [interval(p) for x, p in pairs if p is not None and not self.exact[x]]
                if not all(np.max(x.size) < np.inf for x in (value, *partials)):
                    found.append(self._reason(k, values))
                    left -= touched
                elif step.operation == "where" and roundings[k] is not None:
                    jump = float(np.max(roundings[k]))
                    found.append(f"step {k} chooses, and rounding may choose otherwise: counted as {jump:.3g}")
        return found

    def _reason(self, k: int, values: Values) -> str:
        step = self.steps[k]
        x = values[step.operands[-1]] if step.operands else values[k]
        low, high = float(np.min(x.low)), float(np.max(x.high))
        between = f"between {low:.3g} and {high:.3g}"
        match step.operation:
            case "divide" if low <= 0 <= high or min(abs(low), abs(high)) < NOTHING:
                return f"step {k} divides by a number {between}, which may be zero or next to it"
            case "sqrt" if low <= 0:
                return f"step {k} takes the root of a number {between}: of zero it has no slope, below no value"
            case "log" if low <= 0:
                return f"step {k} takes the logarithm of a number {between}, which must be positive"
            case "sin" | "cos" if max(-low, high) > self.kind.largest_angle:
                limit = self.kind.largest_angle
                return (
                    f"step {k} takes the {step.operation} of an angle {between} rad; it must be within ±{limit:g} rad"
                )
            case _:
                return f"step {k} ({step.operation}) may exceed {self.largest:.3g}, the largest number"


class _Slope:
    """Derivatives of some outputs with respect to one step, as they are gathered from those that use it: |w − middle| ≤
    radius, (outputs, boxes). `groups` are sizes of what comes times a sine, times a cosine, or otherwise."""

    def __init__(self, rows: int, boxes: int) -> None:
        self.shape = (rows, boxes)
        self.middle: Array | None = None
        self.radius: Array
        self.size: Array  # |middle|
        self.groups: dict[tuple[int, str] | None, Array] = {}

    def add(self, place: Place, middle: Scalar, radius: Scalar) -> None:
        if self.middle is None and place is ALL:
            self.middle, self.radius = middle, radius
            return
        if self.middle is None:
            self.middle, self.radius = np.zeros(self.shape), np.zeros(self.shape)
        self.middle[place] += middle
        self.radius[place] += radius

    def take(self, place: Place, user: _Slope, partial: Scalar, uses: int) -> None:
        """Add what comes by way of one user. The radius covers the rounding of product and sums: each of them costs a
        unit of what it gives, and a term is in no more sums than the step has uses."""
        assert user.middle is not None
        unit = 2 * UNIT * (4 + uses)
        if not isinstance(partial, Interval):  # 1 or −1
            middle = -user.middle if partial < 0 else user.middle if uses == 1 else user.middle.copy()
            self.add(place, middle, user.radius if uses == 1 else (1 + unit) * user.radius + unit * user.size)
            return
        center = 0.5 * (partial.low + partial.high)
        width = (1 + unit) * np.maximum(partial.high - center, center - partial.low) + unit * np.abs(center)
        middle = user.middle * center
        radius = user.size * width + user.radius * ((1 + unit) * (np.abs(center) + width))
        if not np.all(np.isfinite(width)):  # what an output does not depend on stays zero
            free = user.size + user.radius == 0
            middle, radius = np.where(free, 0.0, middle), np.where(free, 0.0, radius)
        self.add(place, middle, radius)

    def group(self, factor: tuple[int, str] | None, place: Place, size: Array) -> None:
        self.groups.setdefault(factor, np.zeros(self.shape))[place] += size

    def settle(self) -> Array:
        """The largest |w|, when all users have been heard."""
        assert self.middle is not None
        if self.groups:
            reach = self.groups.pop(None, np.zeros(self.shape))
            for angle in {factor[0] for factor in self.groups if factor is not None}:
                a, b = (self.groups.get((angle, f), np.zeros(self.shape)) for f in ("sin", "cos"))
                reach = reach + np.hypot(a, b)
            reach = SAFE * reach
            low, high = np.maximum(self.middle - self.radius, -reach), np.minimum(self.middle + self.radius, reach)
            self.middle, self.radius = 0.5 * (low + high), 0.5 * (high - low) + 8 * UNIT * reach
        self.size = np.abs(self.middle)
        return self.size + self.radius


def _place(rows: NDArray[np.intp], among: NDArray[np.intp]) -> Place:
    """Where some rows stand among more."""
    if len(rows) == len(among):
        return ALL
    places = np.searchsorted(among, rows)
    first, last = int(places[0]), int(places[-1])
    return slice(first, last + 1) if last - first + 1 == len(rows) else places


def _product(size: Array, rounding: Scalar) -> Array:
    """Zero where the size is zero, whatever the other."""
    product: Array = size * rounding
    return product if np.all(np.isfinite(rounding)) else np.where(size == 0, 0.0, product)


def _is_power_of_two(x: float | None) -> bool:
    return x is not None and math.isfinite(x) and abs(math.frexp(x)[0]) == 0.5
