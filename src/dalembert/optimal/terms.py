"""Costs as functions over scalars: what they take, what they give, and their derivatives.

A cost is a function whose arguments are named: t [s], x (the whole state), q, v (positions and their rates), u
(inputs), and the parameters of its problem, by their names. It gives a number, whose exact Hessian is taken, or a
sequence of residuals r, which cost ½ |r|²: Gauss–Newton, ½ |r|² ≈ ½ |r + J δ|², never indefinite. What it does is
traced once; it may choose by value only through `scalar.where`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.algorithms.jacobians import jacobian
from dalembert.algorithms.kinematics import frame_pose
from dalembert.arguments import array
from dalembert.compile import gradient
from dalembert.errors import InputError, unknown
from dalembert.flow import Scalar, Scalars
from dalembert.robot import Robot, need_robot
from dalembert.scalar import cos, sin, sqrt, where
from dalembert.se3 import read_pose
from dalembert.spatial import Pose
from dalembert.spatial.rotation import log3
from dalembert.spatial.vector import IDENTITY, Matrix, Vector, dot, matadd, matmul, matscale, matvec, matvec_t, skew

Cost = Callable[..., Any]


@dataclass(frozen=True)
class Residuals:
    """Residuals whose derivatives by q are known: `rows` (·, nq). Cheaper than those of a trace, where there is a
    formula."""

    values: Sequence[Scalar]
    rows: Sequence[Sequence[Scalar]]


class Slopes(list[Scalar]):
    """Residuals, and for some of them, by their place, their derivatives by q."""

    def __init__(self, values: Sequence[Scalar] = (), rows: dict[int, Sequence[Scalar]] | None = None) -> None:
        super().__init__(values)
        self.rows = rows or {}

    def add(self, found: Any) -> None:
        if isinstance(found, Residuals):
            self.rows |= {len(self) + k: row for k, row in enumerate(found.rows)}
            found = found.values
        self.extend(flatten(found))

    def scaled(self, factor: Scalar) -> Slopes:
        return Slopes([factor * r for r in self], {k: [factor * a for a in row] for k, row in self.rows.items()})


class Positions(list[Scalar]):
    """A list of numbers that begins with `count` positions; on a manifold `difference(q0, q1)` is that of them."""

    def __init__(self, values: Scalars, count: int, difference: Callable[..., Sequence[Scalar]] | None) -> None:
        super().__init__(values)
        self.length, self.difference = count, difference

    def minus(self, other: Scalars) -> list[Scalar]:
        """What leads from another to these: a plain difference, or a tangent vector at the other."""
        at = 0 if self.difference is None else self.length
        own = [] if self.difference is None else self.difference(other[:at], self[:at])
        return [*own, *(a - b for a, b in zip(self[at:], other[at:], strict=True))]


def read_terms(what: str, given: object, known: Sequence[str]) -> list[Cost]:
    """The terms of a cost: none, a function, or several; each takes only what is known there."""
    terms: list[Any] = [] if given is None else list(given) if isinstance(given, (list, tuple)) else [given]
    for term in terms:
        if not callable(term):
            raise InputError(
                "wrong-type",
                what,
                term,
                problem=f"{what} is a function of {', '.join(known)}, or several; got {type(term).__name__}",
            )
        for name in argument_names(what, term):
            if name not in known:
                raise unknown(f"argument of {what}", name, known)
    return terms


def argument_names(what: str, term: Cost) -> list[str]:
    try:
        parameters: Collection[inspect.Parameter] = inspect.signature(term).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    wanted = [p for p in parameters if p.default is p.empty]
    if not parameters or any(p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in wanted):
        raise InputError(
            "wrong-type",
            what,
            problem=f"{what} must be a function whose arguments have names: q, v, u, …, not *args, **kwargs or /",
        )
    return [p.name for p in wanted]


def evaluate(what: str, terms: Sequence[Cost], given: dict[str, Any]) -> tuple[list[Scalar], Slopes]:
    """(values, residuals) of the terms."""
    values: list[Scalar] = []
    residuals = Slopes()
    for term in terms:
        try:
            found = term(**{name: given[name] for name in argument_names(what, term)})
        except InputError:  # of ready-made terms, in their own words
            raise
        except (TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError) as error:
            raise InputError(
                "unsupported",
                what,
                problem=f"{what} cannot be traced: {error}; it chooses by scalar.where, and computes with +, −, ·, / "
                "and the functions of dalembert.scalar",
            ) from None
        if isinstance(found, (list, tuple, Residuals)):
            residuals.add(found)
        else:
            values.append(found)
    for x in (*values, *residuals):
        if isinstance(x, (bool, np.bool_, complex, np.ndarray)) or not _multiplies(x):
            raise InputError(
                "wrong-type",
                what,
                x,
                problem=f"{what} gives {type(x).__name__}; it must give a number, or a list of them",
            )
        if isinstance(x, Real) and not np.isfinite(float(x)):
            raise InputError("not-finite", what, x, problem=f"{what} is {x} whatever the state: it must be finite")
    return values, residuals


def _multiplies(x: Any) -> bool:
    try:
        1.0 * x
    except TypeError:
        return False
    return True


def flatten(found: Any) -> list[Scalar]:
    return [y for x in found for y in (flatten(x) if isinstance(x, (list, tuple)) else [x])]


def total(values: Scalars, residuals: Scalars) -> Scalar:
    """Σ values + ½ |r|²."""
    cost: Scalar = 0.0
    for value in values:
        cost = cost + value
    square: Scalar = 0.0
    for r in residuals:
        square = square + r * r
    return cost + 0.5 * square


def expand(
    values: Scalars, residuals: Scalars, z: Scalars, curved: Scalars = (), q_at: int = 0
) -> tuple[Scalar, list[Scalar], list[list[Scalar]]]:
    """(cost, gradient, Hessian) by z: exact for values, Gauss–Newton for residuals; the Hessians of what is `curved`
    are added; q begins at `q_at` of z."""
    graph, n = z[0].graph, len(z)
    g: list[Scalar] = [0.0] * n
    H: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    if values:
        (g,) = gradient.jacobian(graph, [total(values, ())], z)
    if values or curved:
        (slope,) = gradient.jacobian(graph, [total([*values, *curved], ())], z)
        second = gradient.jacobian(graph, slope, z)
        H = [[second[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)]
    given = residuals.rows if isinstance(residuals, Slopes) else {}
    traced = [k for k in range(len(residuals)) if k not in given]
    rows = dict(zip(traced, gradient.jacobian(graph, [residuals[k] for k in traced], z), strict=True)) if traced else {}
    for k, r in enumerate(residuals):
        row = rows[k] if k in rows else [0.0] * q_at + list(given[k]) + [0.0] * (n - q_at - len(given[k]))
        active = [(i, a) for i, a in enumerate(row) if not (isinstance(a, float) and a == 0.0)]
        for i, a in active:
            g[i] = g[i] + a * r
            for j, b in active:
                if j >= i:
                    H[i][j] = H[j][i] = H[i][j] + a * b
    return total(values, residuals), g, H


# ------------------------------------------------------------------------------------------------- ready-made terms
def _weights(weight: ArrayLike, n: int | None = None) -> list[float]:
    w = array("a weight", weight)
    if (w < 0).any():
        raise InputError(
            "out-of-range",
            "weight",
            w,
            problem="a weight must not be negative: less cost further off would have no least value",
        )
    if n and w.shape not in ((), (1,), (n,)):
        raise InputError(
            "wrong-shape",
            "weight",
            w,
            problem=f"a weight is one number, or {n}, one for each entry; it has shape {w.shape}",
        )
    return np.sqrt(np.broadcast_to(w, (n,) if n else w.shape)).tolist() if n else np.sqrt(np.atleast_1d(w)).tolist()


def _weigh(weight: ArrayLike, r: Sequence[Scalar]) -> list[Scalar]:
    return [w * x for w, x in zip(_weights(weight, len(r)), r, strict=True)]


def effort(weight: ArrayLike = 1.0) -> Cost:
    """½ w |u|²."""
    return lambda u: _weigh(weight, u)


def speed(weight: ArrayLike = 1.0) -> Cost:
    """½ w |v|²."""
    return lambda v: _weigh(weight, v)


def posture(target: ArrayLike | str, weight: ArrayLike = 1.0) -> Cost:
    """½ w |q − q*|²; the target: numbers, or the name of a parameter of the problem. On a manifold q ⊖ q*, as many
    entries as there are velocities."""
    return _against("q", target, weight)


def state(target: ArrayLike | str, weight: ArrayLike = 1.0) -> Cost:
    """½ w |x − x*|²."""
    return _against("x", target, weight)


def _against(what: str, target: ArrayLike | str, weight: ArrayLike) -> Cost:
    fixed: list[float] = [] if isinstance(target, str) else array("a target", target).reshape(-1).tolist()

    def residual(x: Positions, aim: Scalars | None) -> list[Scalar]:
        wanted = fixed if aim is None else aim
        if len(wanted) != len(x):
            raise InputError(
                "wrong-shape", "target", wanted, problem=f"a target has {len(wanted)} numbers, and {what} {len(x)}"
            )
        return _weigh(weight, x.minus(wanted))

    return with_arguments(residual, (what, target) if isinstance(target, str) else (what,))


def with_arguments(function: Callable[[Any, Any], Any], names: Sequence[str]) -> Cost:
    """A term of one or two arguments, with the names that a problem gives them."""

    def term(**given: Any) -> Any:
        return function(given[names[0]], given[names[1]] if len(names) > 1 else None)

    kind = inspect.Parameter.KEYWORD_ONLY
    term.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
    return term


def tip(
    robot: Robot, target: ArrayLike | str, weight: ArrayLike = 1.0, frame: str | None = None, rotation: bool = True
) -> Cost:
    """½ w |(p, log R)|² of T*⁻¹ T, a frame seen from where it is wanted: its position [m] and rotation vector [rad];
    `weight` for all, or six. The target: a pose (4, 4), or the name of a parameter of sixteen
    numbers. Without `rotation` the position alone: target (3,), or a pose, or the name of either."""
    need_robot(robot, "tip")
    place = robot.model.frame(frame)
    fixed = None if isinstance(target, str) else array("a target", target, (4, 4), (3,))
    if fixed is not None and fixed.shape == (3,):
        if rotation:
            raise InputError(
                "wrong-shape",
                "target",
                problem="the target is a position",
                remedy="Say rotation=False, or give a pose (4, 4).",
            )
        fixed = np.block([[np.eye(3), fixed[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
    elif fixed is not None:
        fixed = read_pose("a target", fixed)

    def residual(q: Scalars, aim: Scalars | None) -> Residuals:
        if len(q) < robot.model.nq:
            raise InputError(
                "wrong-structure",
                "robot",
                problem=f"tip is of {robot.name!r}, {robot.model.nq} positions; the system has {len(q)}",
            )
        A = fixed.reshape(-1).tolist() if aim is None and fixed is not None else list(aim or ())
        if len(A) == 3 and not rotation:
            A = [1.0, 0.0, 0.0, A[0], 0.0, 1.0, 0.0, A[1], 0.0, 0.0, 1.0, A[2]]
        elif len(A) != 16:
            raise InputError(
                "wrong-shape",
                "target",
                problem="the target of a tip is a pose, sixteen "
                f"numbers{'' if rotation else ', or a position, three'}; {target!r} has {len(A)}",
            )
        wanted = Pose(tuple(tuple(A[4 * i : 4 * i + 3]) for i in range(3)), tuple(A[3:12:4]))
        off = wanted.inverse() @ frame_pose(robot.model, q, place)
        J = jacobian(robot.model, q, place)
        at = [matvec_t(wanted.R, column) for column in zip(*J[:3], strict=True)]
        values: list[Scalar] = list(off.p)
        columns = [list(c) for c in at]
        if rotation:
            phi = log3(off.R)
            values += phi
            turned = _log_slope(phi)
            for own, column in zip(columns, zip(*J[3:], strict=True), strict=True):
                own += matvec(turned, matvec_t(wanted.R, column))
        w = _weights(weight, len(values))
        rows = [[s * c[k] for c in columns] for k, s in enumerate(w)]
        return Residuals([s * v for s, v in zip(w, values, strict=True)], rows)

    return with_arguments(residual, ("q",) if fixed is not None else ("q", str(target)))


def _log_slope(phi: Vector) -> Matrix:
    """J with φ̇ = J ω for exp(S(φ)) turning at ω in fixed axes: 1 − ½ S(φ) + c S(φ)², c = (1 − ½θ cot ½θ) / θ²."""
    square = dot(phi, phi)
    small = square < 1e-4
    safe = where(small, 1.0, square)
    half = 0.5 * sqrt(safe)
    c = where(small, 1.0 / 12.0 + square / 720.0, (1.0 - half * cos(half) / sin(half)) / safe)
    S = skew(phi)
    return matadd(IDENTITY, matadd(matscale(-0.5, S), matscale(c, matmul(S, S))))
