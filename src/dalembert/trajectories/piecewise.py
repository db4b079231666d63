"""Piecewise polynomials: what cubics, ramps, splines, tables and jerk-limited motions all are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import factorial, perm

import numpy as np

from dalembert import scalar
from dalembert.arguments import Array
from dalembert.caching import cached_property
from dalembert.errors import InputError
from dalembert.flow import Scalar, Scalars
from dalembert.trajectories.limits import BEYOND, MotionLimits
from dalembert.trajectories.trajectory import JERK, JUMP, Bends, Extremes, Traced, Trajectory

TRACED = 16  # pieces that are still a formula
RATES = ("velocity", "acceleration", "jerk")
ROUNDED = 1 + 1e-12  # on bounds: what adding them up rounds
ROUNDER = 1.5 * 2.0**52  # adding and subtracting it rounds to a whole number


@dataclass(frozen=True, eq=False, repr=False)
class Piecewise(Trajectory):
    """x(t) = Σ_k c_ik (t − t_i)^k for t_i ≤ t ≤ t_{i+1}: `breaks` (p + 1,) from 0 on, `coefficients` (p, degree + 1, m)
    in rising powers. With `repeats` it goes on with the period of its last break; else it rests before and after."""

    breaks: Array
    coefficients: Array
    names: tuple[str, ...]
    units: tuple[str, ...]
    parameter: str = "t [s]"
    repeats: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", self.coefficients.shape[2])
        object.__setattr__(self, "duration", np.inf if self.repeats else float(self.breaks[-1]))

    @property
    def period(self) -> float | None:
        return float(self.breaks[-1]) if self.repeats else None

    @property
    def knots(self) -> Array:
        return self.breaks

    def derivatives(self, t: Array, order: int) -> list[Array]:
        last = self.breaks[-1]
        if self.repeats:
            t = np.mod(t, last)
        within = ((t >= 0) & (t <= last))[:, None]
        at = np.clip(t, 0.0, last)
        i = np.clip(np.searchsorted(self.breaks, at, side="right") - 1, 0, len(self.coefficients) - 1)
        tau, C = (at - self.breaks[i])[:, None], self.coefficients[i]
        found = []
        for k in range(order + 1):
            x = horner(np.moveaxis(C, 1, 0), tau)
            found.append(np.where(within, x, 0.0) if k else x)
            C = slope(C)
        return found

    def trace(self, t: Scalar) -> Traced:
        """Pieces chosen by `where`, for up to 16 of them."""
        if len(self.coefficients) > TRACED:
            return None
        C: list[list[Scalar]] = self.coefficients[0].T.tolist()  # by coordinate, then power
        if self.coefficients.shape[:2] == (1, 1):
            return [c[0] for c in C], [0.0] * self.m, [0.0] * self.m
        last = float(self.breaks[-1])
        if self.repeats:
            t = t - last * (((t / last - 0.5) + ROUNDER) - ROUNDER)
        at = scalar.minimum(scalar.maximum(t, 0.0), last)
        begin: Scalar = 0.0
        for after, row in zip(self.breaks[1:-1].tolist(), self.coefficients[1:], strict=True):
            later = at >= after
            begin = scalar.where(later, after, begin)
            C = [
                [old if _same(old, new) else scalar.where(later, new, old) for old, new in zip(c, r, strict=True)]
                for c, r in zip(C, row.T.tolist(), strict=True)
            ]
        tau = at - begin
        x, xd, xdd = ([horner([perm(k, d) * c[k] for k in range(d, len(c))], tau) for c in C] for d in range(3))
        if not self.repeats:
            still = scalar.where(t < 0.0, 0.0, scalar.where(t > last, 0.0, 1.0))
            xd, xdd = [still * v for v in xd], [still * a for a in xdd]
        return x, xd, xdd

    def limits(self) -> Extremes:
        """Exact: at the breaks, and where the next derivative, a polynomial too, is zero."""
        h, C = np.diff(self.breaks), self.coefficients
        sizes: list[Array] = []
        lower = upper = np.zeros(self.m)
        wild = np.zeros(self.m, bool)
        for k in range(JERK + 1):
            x = _candidates(C, h)  # (p, points, m)
            size = np.abs(x).max(axis=(0, 1))
            if k == 0:
                lower, upper = x.min(axis=(0, 1)), x.max(axis=(0, 1))
            sizes.append(np.where(wild, np.inf, size))
            first, last = x[:, 0], x[:, 1]
            gaps = np.abs(first[1:] - last[:-1]).max(axis=0, initial=0.0)
            if self.repeats:
                gaps = np.maximum(gaps, np.abs(first[0] - last[-1]))
            wild = wild | (gaps > JUMP * np.maximum(size, 1e-300))
            C = slope(C)
        return Extremes(lower, upper, sizes[1], sizes[2], sizes[3], "exact")

    def bends(self, low: Array, high: Array) -> Bends | None:
        """By Taylor's series of each piece around the middle of what lies in it: |x⁽ᵏ⁾| ≤ Σ_j |x⁽ᵏ⁺ʲ⁾| rʲ/j!."""
        if self.repeats:
            return None
        inner = self.breaks[1:-1]
        first, last = np.searchsorted(inner, low, side="right"), np.searchsorted(inner, high, side="left")
        last = np.maximum(first, last)
        found = Bends(*np.zeros((4, len(low), self.m)))
        for k in range(int((last - first).max(initial=-1)) + 1):
            i = np.minimum(first + k, last)
            begin, end = self.breaks[i], self.breaks[i + 1]
            a, b = np.clip(low, begin, end) - begin, np.clip(high, begin, end) - begin
            sizes = _taylor(self.coefficients[i], 0.5 * (a + b), 0.5 * (b - a))
            np.maximum(found.first, sizes[0], out=found.first)
            np.maximum(found.second, sizes[1], out=found.second)
            if k:
                more = (first + k <= last)[:, None]
                for whole, jump in zip(found[2:], self._jumps, strict=True):
                    whole += np.where(more, jump[i - 1], 0.0)
        return found

    @cached_property
    def _jumps(self) -> tuple[Array, Array]:
        """Of x and ẋ at the breaks between, (p − 1, m) each."""
        C, h = self.coefficients, np.diff(self.breaks)[:-1, None]
        pairs = ((horner(np.moveaxis(c[:-1], 1, 0), h), c[1:, 0]) for c in (C, slope(C)))
        position, velocity = (np.abs(before - after) for before, after in pairs)
        return position, velocity

    def stretch(self, factor: float) -> Piecewise:
        """The same path, `factor` times as slow: x(t/factor)."""
        powers = float(factor) ** -np.arange(self.coefficients.shape[1])
        return replace(self, breaks=self.breaks * factor, coefficients=self.coefficients * powers[:, None])


def _same(a: Scalar, b: Scalar) -> bool:
    return isinstance(a, float) and isinstance(b, float) and a == b


def slope(C: Array) -> Array:
    """Coefficients (…, powers, m) of the derivative."""
    if C.shape[-2] == 1:
        return np.zeros_like(C)
    return np.asarray(C[..., 1:, :] * np.arange(1, C.shape[-2])[:, None])


def horner(C: Scalars | Array, tau: Scalar) -> Scalar:
    """Σ C_k τ^k, over any scalar, arrays too; zero without coefficients."""
    if len(C) == 0:
        return 0.0
    x = C[-1]
    for c in C[-2::-1]:
        x = x * tau + c
    return x


def _taylor(C: Array, middle: Array, r: Array) -> tuple[Array, Array]:
    """Bounds of |ẋ| and |ẍ|, (k, m) each, within r (k,) of a middle (k,), of polynomials C (k, powers, m)."""
    values = []
    for _ in range(1, max(C.shape[1], 3)):
        C = slope(C)
        values.append(np.abs(horner(np.moveaxis(C, 1, 0), middle[:, None])))
    first, second = (
        sum((x * (r**j / factorial(j))[:, None] for j, x in enumerate(values[k:])), np.zeros_like(values[0]))
        for k in range(2)
    )
    return first * ROUNDED, second * ROUNDED


def _candidates(C: Array, h: Array) -> Array:
    """Values at the ends of each piece and at its stationary points, (p, 2 + stationary, m)."""
    p, _, m = C.shape
    ends = np.zeros((2, p, m))
    ends[1] = h[:, None] if C.shape[1] > 1 else 0.0  # h may be infinite where nothing moves
    tau = np.concatenate([ends, _stationary(slope(C), h)])
    return np.stack([horner(np.moveaxis(C, 1, 0), t) for t in tau], axis=1)


def _stationary(D: Array, h: Array) -> Array:
    """Points of [0, h] near the real roots of Σ D_k τ^k, (roots, p, m). Any point is as good as an end of the piece, so
    those that are none do no harm."""
    p, powers, m = D.shape
    degree = powers - 1
    if degree <= 0:
        return np.zeros((0, p, m))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if degree == 1:
            roots = (-D[:, 0] / D[:, 1])[None]
        elif degree == 2:
            a, b, c = D[:, 2], D[:, 1], D[:, 0]
            q = -0.5 * (b + np.where(b < 0, -1.0, 1.0) * np.sqrt(np.maximum(b * b - 4 * a * c, 0.0)))
            roots = np.stack([q / a, c / q])
        else:
            roots = np.zeros((degree, p, m))
            unit = D * h[:, None, None] ** np.arange(powers)[:, None]
            for i, j in np.ndindex(p, m):
                c = unit[i, :, j]
                kept = c if not c.any() else c[: int(np.flatnonzero(np.abs(c) > 1e-14 * np.abs(c).max())[-1]) + 1]
                found = np.roots(kept[::-1]).real * h[i]
                roots[: len(found), i, j] = found
    return np.clip(np.nan_to_num(roots, nan=0.0, posinf=0.0, neginf=0.0), 0.0, h[:, None])


# --------------------------------------------------------------------------------------------------- making them
@lru_cache
def _upper(r: int) -> Array:
    """The r derivatives at 1 of τ^r … τ^(2r−1), inverted."""
    return np.linalg.inv(np.array([[perm(j, d) for j in range(r, 2 * r)] for d in range(r)], float))


def hermite(h: Array, left: Sequence[Array], right: Sequence[Array]) -> Array:
    """Coefficients (p, 2r, m) of the polynomials with these r derivatives (p, m) at the ends of pieces of length h
    (p,)."""
    r = len(left)
    scale = h[:, None]
    low = [x / factorial(j) for j, x in enumerate(left)]
    rest = []
    for d in range(r):
        carried = sum(perm(j, d) * low[j] * scale ** (j - d) for j in range(d, r))
        rest.append(scale**d * (right[d] - carried))
    high = np.einsum("jd,d...->j...", _upper(r), np.stack(rest))
    return np.stack([*low, *(g / scale ** (r + j) for j, g in enumerate(high))], axis=1)


def phases(durations: Sequence[float], top: Sequence[float], order: int, start: Sequence[float]) -> tuple[Array, Array]:
    """Breaks and coefficients (p, order + 1, 1) of a motion whose derivative of this order is constant in each phase,
    from a state (x, ẋ, …) on. Phases of no length are left out."""
    state = [float(x) for x in start]
    breaks, rows = [0.0], []
    for h, value in zip(durations, top, strict=True):
        if not h > 0:
            continue
        c = [x / factorial(k) for k, x in enumerate((*state, value))]
        rows.append(c)
        breaks.append(breaks[-1] + h)
        state = [sum(perm(k, d) * c[k] * h ** (k - d) for k in range(d, order + 1)) for d in range(order)]
    return np.array(breaks), np.array(rows)[:, :, None]


def stack(parts: Sequence[tuple[Array, Array]], names: tuple[str, ...], units: tuple[str, ...]) -> Piecewise:
    """Motions of one coordinate each, side by side on the union of their breaks; one that ends first then rests."""
    breaks = np.unique(np.concatenate([b for b, _ in parts]))
    near = np.diff(breaks) > 1e-13 * breaks[-1]  # breaks that rounding tells apart
    breaks = np.concatenate([breaks[:1], breaks[1:][near]])
    powers = max(c.shape[1] for _, c in parts)
    table = np.zeros((len(breaks) - 1, powers, len(parts)))
    middle = 0.5 * (breaks[1:] + breaks[:-1])
    for j, (own, c) in enumerate(parts):
        i = np.clip(np.searchsorted(own, middle, side="right") - 1, 0, len(c) - 1)
        over = middle > own[-1]
        tau = np.where(over, own[-1] - own[-2], breaks[:-1] - own[i])
        d = c[i, :, 0]
        for k in range(d.shape[1]):
            moved = sum(perm(n, k) / factorial(k) * d[:, n] * tau ** (n - k) for n in range(k, d.shape[1]))
            table[:, k, j] = np.where(over & (k > 0), 0.0, moved)
    return Piecewise(breaks, table, names, units)


def keep_limits(trajectory: Piecewise, limits: MotionLimits, fit: bool = False) -> Piecewise:
    """The motion, if it keeps to the limits that were asked for and to those of position; with `fit`, the same path as
    fast as the limits of velocity, acceleration and jerk allow."""
    if fit:
        trajectory = _fit(trajectory, limits)
    elif any(np.isfinite(x).any() for x in limits.asked):
        _refuse_beyond(trajectory, limits)
    return keep_positions(trajectory, limits)


def keep_positions(trajectory: Piecewise, limits: MotionLimits) -> Piecewise:
    """The motion, if its positions keep to the limits; else a sentence that says which one leaves them, when."""
    if not (np.isfinite(limits.lower) | np.isfinite(limits.upper)).any():
        return trajectory
    found = trajectory.limits()
    for j, name in enumerate(limits.names):
        for value, bound, sign in ((found.upper, limits.upper, 1.0), (found.lower, limits.lower, -1.0)):
            if sign * (value[j] - bound[j]) > BEYOND:
                t = np.linspace(0, trajectory.breaks[-1], 2001)
                x = trajectory.derivatives(t, 0)[0][:, j]
                out = sign * (x - bound[j]) > 0
                when = float(t[int(out.argmax())]) if out.any() else float(t[int((sign * x).argmax())])
                unit = limits.units[j]
                raise InputError(
                    "infeasible",
                    "robot",
                    problem=f"{name!r} reaches {value[j]:g} {unit}, beyond its limit {bound[j]:g} {unit}, first "
                    f"at {trajectory.parameter.split()[0]} = {when:.4g}",
                )
    return trajectory


def _refuse_beyond(trajectory: Piecewise, limits: MotionLimits) -> None:
    """Refuse a duration that breaks limits given with it."""
    found = trajectory.limits()
    for word, asked in zip(RATES, limits.asked, strict=True):
        ratio = getattr(found, word) / asked
        j = int(ratio.argmax())
        if ratio[j] > 1 + 1e-9:
            raise InputError(
                "infeasible",
                "duration",
                trajectory.duration,
                problem=f"in {trajectory.duration:g} s {limits.names[j]!r} needs {word} "
                f"{getattr(found, word)[j]:g}, beyond its limit {asked[j]:g}",
                remedy="Use a longer duration, or leave it out.",
            )


def _fit(trajectory: Piecewise, limits: MotionLimits) -> Piecewise:
    """The motion stretched by the least factor that keeps its limits."""
    found = trajectory.limits()
    ratios = []
    with np.errstate(invalid="ignore"):
        for word in RATES:
            ratio = getattr(found, word) / getattr(limits, word)
            ratios.append(np.nan_to_num(ratio, nan=0.0, posinf=np.inf))
    ratios = [ratios[0], np.sqrt(ratios[1]), np.cbrt(ratios[2])]
    for ratio, what, before in zip(ratios[1:], RATES[1:], RATES, strict=False):
        if np.isinf(ratio).any():
            raise InputError(
                "unsupported",
                what,
                problem=f"a limit of {what} cannot be kept, because the {before} of this kind of motion jumps",
            )
    factor = max(float(r.max()) for r in ratios)
    if not factor > 0:
        raise InputError(
            "missing",
            "duration",
            problem="no duration and no limit determine the time of the motion",
            remedy="Pass `duration`.",
        )
    return trajectory.stretch(factor)
