"""`excite`: the periodic motion, within an arm's limits, from which its parameters are identified best.

Fourier series (Swevers et al. 1997), many starts, an augmented Lagrangian over exact gradients, and a certificate: what
is returned has been checked on a grid ten times finer, and made smaller where a limit was touched between the samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import switch
from dalembert.errors import InputError, SingularityError, unknown
from dalembert.identification.excite.augmented_lagrangian import Clock, State, TimeUp, minimize_round
from dalembert.identification.excite.criteria import CRITERIA, condition_number
from dalembert.identification.excite.fourier import Series
from dalembert.identification.excite.limits import KINDS, HalfSpace, MotionLimits, motion_limits
from dalembert.identification.excite.problem import SHAPES, Problem
from dalembert.identification.excite.result import Certificate, Excitation
from dalembert.identification.fit.base import base
from dalembert.identification.fit.regressor import FRICTION, Columns
from dalembert.kernels import need_tree
from dalembert.robot import Limits, Robot
from dalembert.trajectories.limits import joint_units, magnitude, number, positive

Array = NDArray[np.float64]
PER_HARMONIC = 30  # samples per period and harmonic: products of several joints' sines are resolved
FINER = 10  # times finer is the grid of the certificate
SPARE = 0.005  # of every range, kept free beside the margin while optimizing: what happens between samples
SHARPNESS = (4.0, 8.0, 16.0)  # of the smooth condition number, round by round
POLISH = (16.0, 32.0, 64.0)
POLISHED = 4  # of the best starts
ITERATIONS = 120  # of L-BFGS per round
DRAWS = 2000  # of mean positions, to find one within the limits
BISECTIONS = 12
STARTING = 0.7  # of the time is for starts, the rest for polishing the best
CLOSING = 0.01  # of the time is for the certificate
CENTRAL = 0.3  # of the range about its middle, where mean positions are drawn first


@dataclass(frozen=True, eq=False)
class _Found:
    """A motion within the limits, how good it is (less is better), and where its search stood."""

    z: Array
    merit: float
    state: State


def excite(
    robot: Robot,
    *,
    duration: float | None = None,
    base_frequency: float | None = None,
    harmonics: int = 5,
    limits: Limits | None = None,
    position: Any = None,
    velocity: Any = None,
    acceleration: Any = None,
    torque: Any = None,
    workspace: Sequence[HalfSpace] = (),
    margin: float = 0.05,
    criterion: str = "condition",
    friction: bool | Sequence[str] = True,
    rotor: bool = True,
    columns: Columns | None = None,
    noise: ArrayLike | None = None,
    at_rest: bool = True,
    starts: int = 8,
    seconds: float = 60.0,
    seed: int = 0,
    progress: Callable[[str], Any] | None = None,
) -> Excitation:
    """A Fourier series with `harmonics` of `base_frequency` [Hz] per joint, optimal for identifying the robot.

    `duration` [s]: whole periods; the period is 1/base_frequency, 10 s if neither is given, the duration if only that
    is. Limits: the robot's (`robot.limits`), or `position` (lower, upper), `velocity`, `acceleration`, `torque`, a
    number or one per joint; `workspace`: half spaces for frames. A share `margin` of every range is kept free.
    `criterion`: "condition", the condition number of the base regressor, columns of equal length; or "d-optimal", the
    volume of the confidence ellipsoid. `friction`, `rotor` say which columns are identified, or `columns` does.
    `noise` (n,): of the torques, 1/weight of a joint's rows (its torque limit, or one, if not given).
    `at_rest`: rates and accelerations vanish at the start, so that a controller can begin there.
    The search ends after so many `starts`, or `seconds`: with the same seed, and seconds enough, it gives the same
    motion."""
    clock = Clock((1.0 - CLOSING) * positive("seconds", seconds))
    say = progress or (lambda sentence: None)
    _whole("starts", starts, 1)
    need_tree(robot.model)
    series = _series(duration, base_frequency, _whole("harmonics", harmonics, 2), switch("at_rest", at_rest))
    length = series.period if duration is None else positive("duration", duration)
    share = number("margin", margin)
    if not 0 <= share <= 0.5:
        raise InputError(f"margin is the share of every range that is kept free, 0 to 0.5; got {margin!r}")
    if criterion not in CRITERIA:
        raise unknown("criterion", criterion, CRITERIA)
    if columns is not None and (friction is not True or rotor is not True):
        raise InputError("columns say which friction and rotors are identified: leave out friction= and rotor=")
    bounds = motion_limits(robot, limits, position, velocity, acceleration, torque, workspace)
    wanted = columns if columns is not None else Columns(robot, _friction(friction), switch("rotor", rotor))
    weights = _weights(robot, noise, bounds)
    tight = bounds.within(share)
    problem = Problem(
        wanted, base(wanted), series, tight, CRITERIA[criterion], weights, PER_HARMONIC * series.harmonics
    )
    rng = np.random.default_rng(seed)
    best, first, made, message = _search(problem, tight, rng, starts, clock, criterion, say)
    return _result(problem, bounds, share, best, first, criterion, length, made, clock, message)


# ------------------------------------------------------------------------------------------------------ search
def _search(
    problem: Problem,
    limits: MotionLimits,
    rng: np.random.Generator,
    starts: int,
    clock: Clock,
    criterion: str,
    say: Callable[[str], Any],
) -> tuple[_Found, float, int, str]:
    """(the best motion, the best merit among the starts, starts made, why it stopped)."""
    fine = problem.series.maps(problem.series.times(FINER * problem.samples))
    inner = limits.within(SPARE)
    found: list[_Found] = []
    ends: list[_Found] = []  # the best of every start
    first, made, message = math.inf, 0, ""
    try:
        for made in range(1, starts + 1):
            z = random_start(problem, limits, rng, fine)
            merit = _merit(problem, z, criterion)
            first = min(first, merit)
            found.append(_Found(z, merit, State(z, np.zeros(_rows(problem)))))
            state = State(z.copy(), np.zeros(_rows(problem)))
            before = len(found)
            _rounds(problem, inner, state, SHARPNESS, clock, found, fine, limits, criterion)
            ends += sorted(found[before:], key=lambda x: x.merit)[:1]
            say(_sentence(f"start {made} of {starts}", found, criterion, clock))
            if clock.spent > STARTING * clock.seconds:
                break
        for end in sorted(ends, key=lambda x: x.merit)[:POLISHED]:
            _rounds(problem, inner, end.state, POLISH, clock, found, fine, limits, criterion)
        say(_sentence("polished", found, criterion, clock))
        why = f"{made} of {starts} starts by the clock" if made < starts else f"{starts} start{'s' * (starts != 1)}"
        message = f"stopped after {why} and polishing the best"
    except TimeUp:
        message = f"stopped by the clock after {clock.spent:.3g} s, in start {made} of {starts} or polishing the best"
    if not found:
        raise InputError(
            f"{clock.spent:.3g} s were over before the first motion was found (kernels are compiled once and then "
            "kept): give more seconds"
        )
    return min(found, key=lambda x: x.merit), first, made, message


def _rounds(
    problem: Problem,
    inner: MotionLimits,
    state: State,
    sharpness: Iterable[float],
    clock: Clock,
    found: list[_Found],
    fine: tuple[Array, Array, Array],
    limits: MotionLimits,
    criterion: str,
) -> None:
    """Rounds of the augmented Lagrangian; what each ends with, made feasible, is kept if it is any good."""
    for sharp in sharpness:
        try:
            minimize_round(lambda z, s=sharp: _evaluated(problem, inner, z, s), state, clock, ITERATIONS)  # type: ignore[misc]
        finally:
            z = fitted(problem, state.z, limits, fine)
            if z is not None:
                kept = State(state.z.copy(), state.multipliers.copy(), state.weight)
                found.append(_Found(z, _merit(problem, z, criterion), kept))


def _evaluated(
    problem: Problem, limits: MotionLimits, z: Array, sharpness: float
) -> tuple[float, Array, Callable[[Array], Array]]:
    """f, all g ≤ 0 in a row, and how weights of g are pulled back."""
    v = problem.values(z)
    f, V = problem.merit(v, sharpness)
    excess = problem.excess(v, limits)
    order = (*KINDS, "workspace")
    shapes = [excess[kind].shape for kind in order]
    flat = np.concatenate([excess[kind].reshape(-1) for kind in order])

    def pull(push: Array) -> Array:
        parts = np.split(push, np.cumsum([math.prod(shape) for shape in shapes])[:-1])
        by = {kind: part.reshape(shape) for kind, part, shape in zip(order, parts, shapes, strict=True)}
        n = v.tau.shape[1]
        sides = {kind: (by[kind][:, :n] - by[kind][:, n:]) / limits.scale(kind) for kind in KINDS}
        return problem.gradient(v, V, sides, -by["workspace"])

    return f, flat, pull


def _rows(problem: Problem) -> int:
    return problem.samples * (2 * problem.columns.robot.n * len(KINDS) + len(problem.limits.spaces))


def _merit(problem: Problem, z: Array, criterion: str) -> float:
    """What motions are compared by: the condition number itself, or −log det."""
    try:
        v = problem.values(z)
        if criterion == "condition":
            A = problem.matrix(v)
            return condition_number(A.reshape(-1, A.shape[-1]))
        return problem.merit(v, 1.0)[0]
    except SingularityError:
        return math.inf


def _sentence(where: str, found: list[_Found], criterion: str, clock: Clock) -> str:
    best = min(x.merit for x in found)
    word = f"condition number {best:.4g}" if criterion == "condition" else f"mean log length {-best:.4g}"
    return f"{where}: best {word}, {clock.spent:.1f} s, {clock.evaluations} evaluations"


# ------------------------------------------------------------------------------------------------- feasibility
def fits(problem: Problem, z: Array, limits: MotionLimits, maps: tuple[Array, Array, Array]) -> bool:
    """Whether a motion keeps to all limits on a grid."""
    excess = problem.excess(problem.values(z, maps), limits)
    return all(bool((x <= 0.0).all()) for x in excess.values())  # NaN does not fit


def fitted(problem: Problem, z: Array, limits: MotionLimits, maps: tuple[Array, Array, Array]) -> Array | None:
    """The motion made smaller about its mean position until it fits; None if nothing is left of it."""
    if fits(problem, z, limits, maps):
        return z
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if fits(problem, problem.series.smaller(z, middle), limits, maps):
            low = middle
        else:
            high = middle
    return problem.series.smaller(z, low) if low > 0.0 else None


def random_start(
    problem: Problem, limits: MotionLimits, rng: np.random.Generator, maps: tuple[Array, Array, Array]
) -> Array:
    """A random series about a mean position within the limits, as large as they allow."""
    lower, upper = limits.lower["position"], limits.upper["position"]
    half = np.where(np.isfinite(upper - lower), limits.scale("position"), 0.5 * math.pi)
    home = np.clip(problem.columns.robot.home, lower, upper)
    middle = np.where(np.isfinite(upper - lower), lower + half, home)
    p, n = problem.series.numbers, problem.columns.robot.n
    for draw in range(DRAWS):
        spread = CENTRAL if draw < DRAWS // 10 else 1.0
        z = np.zeros((p, n))
        z[0] = middle + spread * half * rng.uniform(-1.0, 1.0, n)
        z[1:] = rng.standard_normal((p - 1, n)) * half
        if not fits(problem, problem.series.smaller(z, 0.0), limits, (maps[0][:1], maps[1][:1], maps[2][:1])):
            continue
        # Each joint by itself to its own limits of position, rate and acceleration; then all together to the rest.
        for kind, B in zip(KINDS[:3], maps, strict=True):
            moved = B[:, 1:] @ z[1:]
            room = np.minimum(
                limits.upper[kind] - (z[0] if kind == "position" else 0.0),
                (z[0] if kind == "position" else 0.0) - limits.lower[kind],
            )
            z[1:] *= np.minimum(1.0, room / np.abs(moved).max(axis=0))
        kept = fitted(problem, z, limits, maps)
        if kept is not None:
            return kept
    where = f" or half spaces ({', '.join(map(str, limits.spaces))})" if limits.spaces else ""
    raise InputError(
        f"no position was found in {DRAWS} draws where {problem.columns.robot.name!r} could stand within its torque "
        f"limits{where}, let alone move: widen them"
    )


# ------------------------------------------------------------------------------------------------------ result
def _result(
    problem: Problem,
    bounds: MotionLimits,
    margin: float,
    best: _Found,
    first: float,
    criterion: str,
    duration: float,
    starts: int,
    clock: Clock,
    message: str,
) -> Excitation:
    robot, series = problem.columns.robot, problem.series
    points = FINER * problem.samples
    maps = series.maps(series.times(points))
    v = problem.values(best.z, maps)
    usage = {kind: bounds.usage(kind, v.of(kind)) for kind in KINDS}
    certificate = Certificate(
        feasible=fits(problem, best.z, problem.limits, maps),
        margin=margin,
        points=points,
        **usage,
        spaces=bounds.spaces,
        clearance=v.heights.min(axis=0),
    )
    kept = problem.columns.free[problem.base.kept]
    Y = problem.columns.matrices(*v.motion, np.zeros(robot.n))[..., kept] * problem.weights[:, None]
    flat = Y.reshape(-1, Y.shape[-1])
    _, logarithm = np.linalg.slogdet(np.linalg.qr(flat / math.sqrt(points), mode="r"))
    return Excitation(
        robot=robot,
        motion=series.motion(best.z, robot.joint_names, joint_units(robot)),
        limits=bounds,
        certificate=certificate,
        criterion=criterion,
        condition=condition_number(flat),
        log_det=2.0 * float(logarithm),
        random_condition=first if criterion == "condition" else math.nan,
        names=tuple(problem.columns.all_names[k] for k in kept),
        weights=problem.weights,
        duration=duration,
        starts=starts,
        evaluations=clock.evaluations,
        seconds=clock.spent,
        message=message,
    )


# ------------------------------------------------------------------------------------------------------- input
def _series(duration: float | None, frequency: float | None, harmonics: int, at_rest: bool) -> Series:
    if frequency is not None:
        f = positive("base_frequency", frequency, "Hz")
    else:
        f = 0.1 if duration is None else 1.0 / positive("duration", duration)
    if duration is not None:
        periods = positive("duration", duration) * f
        if round(periods) < 1 or abs(periods - round(periods)) > 1e-6 * periods:
            raise InputError(
                f"a duration of {duration:g} s is {periods:g} periods of {1 / f:g} s; it must be whole periods"
            )
    return Series(harmonics, f, at_rest)


def _friction(friction: Any) -> tuple[str, ...]:
    if isinstance(friction, (bool, np.bool_)):
        return FRICTION if friction else ()
    names = (friction,) if isinstance(friction, str) else tuple(friction)
    for name in names:
        if name not in SHAPES:
            raise unknown("friction column", name, SHAPES)
    return names


def _weights(robot: Robot, noise: ArrayLike | None, limits: MotionLimits) -> Array:
    if noise is not None:
        sigma = magnitude("noise", noise, robot.n)
        if not np.isfinite(sigma).all():
            raise InputError("the noise of every joint's torque must be finite")
        return 1.0 / sigma
    top = limits.upper["torque"]
    return 1.0 / np.where(np.isfinite(top), top, 1.0) if np.isfinite(top).all() else np.ones(robot.n)


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"{name} must be a whole number ≥ {least}, got {value!r}")
    return int(value)
