"""`excite`: the periodic motion, within an arm's limits, from which its parameters are identified best.

Fourier series (Swevers et al. 1997), many starts, an augmented Lagrangian over exact gradients, and a certificate: what
is returned has been checked on a grid ten times finer and between its points, and made smaller where it touched a
limit.

    L(z) = f(z) + Σ (max(0, λ + μ g(z))² − λ²)/2μ for g ≤ 0;  λ ← max(0, λ + μ g)      [Nocedal & Wright 2006, §17.4]
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array, count, number, switch
from dalembert.caching import cached_property
from dalembert.collision.world import World
from dalembert.errors import InputError, SingularityError, choose
from dalembert.identification.excitation.avoid import find_way, read_avoid, read_start
from dalembert.identification.excitation.excitation import Excitation, LimitCertificate
from dalembert.identification.excitation.limits import (
    KINDS,
    Bandwidth,
    ExcitationLimits,
    HalfSpace,
    choose_harmonics,
    content_above,
    read_bandwidth,
    read_limits,
    up,
)
from dalembert.identification.excitation.problem import CRITERIA, FourierSeries, Problem, Values, condition_number
from dalembert.identification.fit.regressor import FRICTION, Columns, base
from dalembert.kernels import need_tree, need_vector
from dalembert.robot import Limits, Robot
from dalembert.trajectories.harmonics import Sines
from dalembert.trajectories.limits import joint_units
from dalembert.trajectories.trajectory import Trajectory

PER_HARMONIC = 30  # samples per period and harmonic: products of several joints' sines are resolved
FINER = 10  # times finer is the grid of the certificate
SPARE = 0.005  # of every range and of the arm's size, kept free while optimizing: what happens between samples
SHARPNESS = (4.0, 8.0, 16.0)  # of the smooth condition number, round by round
POLISH = (16.0, 32.0, 64.0)
POLISHED = 4  # of the best starts
ITERATIONS = 120  # of L-BFGS per round
DRAWS = 2000  # of mean positions, to find one within the limits
BISECTIONS = 12
TRIED = 10  # of the best motions, to find one that a way leads to
LEVEL = 0.99  # of a unit normal against gravity: a floor
MENTIONED = 3  # half spaces of a message
STARTING = 0.7  # of the time is for starts, the rest for polishing the best
CLOSING = 0.01  # of the time is for the certificate
CENTRAL = 0.3  # of the range about its middle, where mean positions are drawn first
GROWTH = 3.0  # of the weight of the inequalities per round in which violations did not shrink enough
HEAVIEST = 1e5
SHRINK = 0.25  # of violations per round: less is enough
Maps = tuple[Array, Array, Array]  # of a series on a grid: q, q̇, q̈ of its numbers
# z → (f, g) and what is needed to pull weights of f and of g back to z.
Evaluate = Callable[[Array], tuple[float, Array, Callable[[Array], Array]]]


def excite(
    robot: Robot,
    *,
    duration: float | None = None,
    base_frequency: float | None = None,
    harmonics: int | None = None,
    limits: Limits | None = None,
    position: tuple[ArrayLike, ArrayLike] | None = None,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    workspace: Sequence[HalfSpace] = (),
    floor: float | Mapping[str | None, float] | None = None,
    avoid: World | bool | None = None,
    clear: float | None = None,
    bandwidth: float | None = None,
    stiffness: ArrayLike | None = None,
    margin: float = 0.05,
    criterion: str = "condition",
    friction: bool | str | Sequence[str] = True,
    rotor: bool = True,
    columns: Columns | None = None,
    noise: ArrayLike | None = None,
    at_rest: bool = True,
    start: ArrayLike | None = None,
    starts: int = 8,
    seconds: float = 60.0,
    seed: int = 0,
    progress: Callable[[str], object] | None = None,
) -> Excitation:
    """A Fourier series with `harmonics` (five) of `base_frequency` [Hz] per joint, optimal for identifying the robot.

    `duration` [s]: whole periods; the period is 1/base_frequency, 10 s if neither is given, the duration if only that
    is. Limits: the robot's (`robot.limits`), or `position` (lower, upper), `velocity`, `acceleration`, `torque`, a
    number or one per joint. A share `margin` of every range is kept free.
    The origins of frames keep to the half spaces of `workspace`, and stay above `floor` [m], a height over the base
    frame's origin against gravity, for all frames or by name. The links of an arm that has shapes keep `clear` (0.01)
    [m] of each other and of the obstacles of the world to `avoid`, proved at all times; if none is given, of the floor
    at the height given, or of the base plane that the arm stands on. avoid=False: nothing of that is looked at.
    `bandwidth` [Hz] of the drives and `stiffness` (n,) of elastic joints [N m/rad]: the highest harmonic stays below
    the one and half the lowest elastic mode; there are fewer harmonics then, unless they are given.
    `criterion`: "condition", the condition number of the base regressor, columns of equal length; or "d-optimal", the
    volume of the confidence ellipsoid. `friction`, `rotor` say which columns are identified, or `columns` does.
    `noise` (n,): of the torques, 1/weight of a joint's rows (its torque limit, or one, if not given).
    `at_rest`: rates and accelerations vanish where it begins, so that a controller can begin there; from joint
    positions `start` (n,) a way leads to it, and back, in the table to play.
    The search ends after so many `starts`, or `seconds`: with the same seed, and seconds enough, it gives the same
    motion."""
    need_tree(robot.model)
    need_vector(robot.model)
    shunned = read_avoid(robot, avoid, clear, floor)
    clock = Stopwatch((1.0 - CLOSING) * number("seconds", seconds, "s", above=0))
    bounds = read_limits(robot, limits, position, velocity, acceleration, torque, workspace, floor)
    band = read_bandwidth(robot, bandwidth, stiffness)
    frequency = _base_frequency(duration, base_frequency)
    places = bounds.lower["position"], bounds.upper["position"]
    series = FourierSeries(
        choose_harmonics(robot, harmonics, frequency, band, *places), frequency, switch("at_rest", at_rest)
    )
    length = series.period if duration is None else float(duration)
    share = number("margin", margin)
    if not 0 <= share <= 0.5:
        raise InputError("out-of-range", "margin", margin, expected="a share of every range, 0 to 0.5")
    choose("criterion", criterion, CRITERIA)
    if columns is not None and (friction is not True or rotor is not True):
        raise InputError(
            "conflict",
            "columns",
            problem="`columns` determine which friction and rotors are identified",
            remedy="Leave out `friction` and `rotor`.",
        )
    stand = None if start is None else read_start(robot, bounds, start)
    if stand is not None and shunned is not None:
        shunned.refuse(stand)
    if stand is not None and not series.at_rest:
        raise InputError(
            "conflict",
            "start",
            problem="no motion from rest at `start` leads to one that begins with a velocity",
            remedy="Leave out `start`, or use at_rest=True.",
        )
    wanted = columns if columns is not None else Columns(robot, _friction(friction), switch("rotor", rotor))
    weights, tight = _weights(robot, noise, bounds), bounds.within(share)
    samples = PER_HARMONIC * series.harmonics
    problem = Problem(wanted, base(wanted), series, tight, CRITERIA[criterion], weights, samples, shunned)
    search = _Search(problem, tight, criterion, band, stand, clock, progress or (lambda sentence: None))
    return search.run(np.random.default_rng(seed), count("starts", starts, 1), bounds, share, length)


# ------------------------------------------------------------------------------------------------------ search
@dataclass
class Stopwatch:
    """The time there is [s]; evaluations are counted."""

    seconds: float
    began: float = field(default_factory=time.perf_counter)
    evaluations: int = 0

    @property
    def spent(self) -> float:
        return time.perf_counter() - self.began

    @property
    def over(self) -> bool:
        return self.spent >= self.seconds


class TimeUp(Exception):
    """Raised inside an evaluation to leave the minimizer; holds no message for users."""


@dataclass
class State:
    """Where the augmented Lagrangian stands: the point, the multipliers and the weight of the inequalities."""

    z: Array
    multipliers: Array
    weight: float = 10.0


@dataclass(frozen=True, eq=False)
class _Found:
    """A motion within the limits, how good it is (less is better), and where its search stood."""

    z: Array
    merit: float
    state: State


@dataclass(eq=False)
class _Search:
    """Many starts and the best of them polished, until they are done or the time is up."""

    problem: Problem
    limits: ExcitationLimits
    criterion: str
    bandwidth: Bandwidth
    start: Array | None
    clock: Stopwatch
    say: Callable[[str], object]
    found: list[_Found] = field(default_factory=list)

    @cached_property
    def fine(self) -> Maps:
        return self.problem.series.maps(self.problem.series.times(FINER * self.problem.samples))

    @cached_property
    def inner(self) -> ExcitationLimits:
        return self.limits.within(SPARE)

    def run(
        self, rng: np.random.Generator, starts: int, bounds: ExcitationLimits, margin: float, duration: float
    ) -> Excitation:
        """The best motion, with what it uses of its bounds."""
        problem, clock, found = self.problem, self.clock, self.found
        each = 2 * problem.columns.robot.n * len(KINDS) + len(problem.limits.spaces) + (problem.avoid is not None)
        rows = problem.samples * each
        ends: list[_Found] = []  # the best of every start
        first, made, message = math.inf, 0, ""
        try:
            for made in range(1, starts + 1):
                z = random_start(problem, self.limits, rng, self.fine)
                merit = self._merit(z)
                first = min(first, merit)
                found.append(_Found(z, merit, State(z, np.zeros(rows))))
                before = len(found)
                self._rounds(State(z.copy(), np.zeros(rows)), SHARPNESS)
                ends += sorted(found[before:], key=lambda x: x.merit)[:1]
                self._report(f"start {made} of {starts}")
                if clock.spent > STARTING * clock.seconds:
                    break
            for end in sorted(ends, key=lambda x: x.merit)[:POLISHED]:
                self._rounds(end.state, POLISH)
            self._report("polished")
            why = f"{made} of {starts} starts by the clock" if made < starts else f"{starts} start{'s' * (starts != 1)}"
            message = f"stopped after {why} and polishing the best"
        except TimeUp:
            message = (
                f"stopped by the clock after {clock.spent:.3g} s, in start {made} of {starts} or polishing the best"
            )
        if not found:
            raise InputError(
                "not-converged",
                "seconds",
                problem=f"the {clock.spent:.3g} s were over before the first motion was found, because kernels "
                "are compiled at the first call",
                remedy="Pass more `seconds`.",
            )
        robot = problem.columns.robot
        best, certificate, motion, way = self._choose(bounds, margin, rng)
        v = problem.values(best, self.fine)
        points = FINER * problem.samples
        kept = problem.columns.free[problem.base.kept]
        s = problem.columns.directions(v.motion[1], np.zeros(robot.n))
        Y = problem.columns.matrices(*v.motion, s)[..., kept] * problem.weights[:, None]
        flat = Y.reshape(-1, Y.shape[-1])
        _, logarithm = np.linalg.slogdet(np.linalg.qr(flat / math.sqrt(points), mode="r"))
        return Excitation(
            robot=robot,
            motion=motion,
            limits=bounds,
            certificate=certificate,
            criterion=self.criterion,
            condition=condition_number(flat),
            log_det=2.0 * float(logarithm),
            random_condition=first if self.criterion == "condition" else math.nan,
            names=tuple(problem.columns.all_names[k] for k in kept),
            weights=problem.weights,
            duration=duration,
            starts=made,
            evaluations=clock.evaluations,
            seconds=clock.spent,
            message=message,
            way=way,
        )

    def _choose(
        self, bounds: ExcitationLimits, margin: float, rng: np.random.Generator
    ) -> tuple[Array, LimitCertificate, Sines, Trajectory | None]:
        """The best motion found, its certificate, itself, and the way to it: the best of those to which a way leads."""
        problem, robot = self.problem, self.problem.columns.robot
        found = sorted(self.found, key=lambda x: x.merit)[:TRIED]
        for k, each in enumerate(found):
            motion = problem.series.motion(each.z, robot.joint_names, joint_units(robot))
            certificate = self._certify(each.z, problem.values(each.z, self.fine), bounds, margin)
            try:
                way = None
                if self.start is not None:
                    way = find_way(robot, bounds, self.start, motion(0.0)[0], certificate.peaks, rng, problem.avoid)
                break
            except InputError:
                if k + 1 == len(found):
                    raise
        return each.z, certificate, motion, way

    def _certify(self, z: Array, v: Values, bounds: ExcitationLimits, margin: float) -> LimitCertificate:
        problem, band, origins = self.problem, self.bandwidth, self.limits.origins
        robot, series, reach = problem.columns.robot, problem.series, problem.reach(z, v)
        mode, top = float(band.modes(robot, v.motion[0]).min()), series.harmonics * series.frequency
        return LimitCertificate(
            feasible=fits(problem, z, problem.limits, self.fine) and top <= band.top(mode) * (1.0 + 1e-9),
            margin=margin,
            points=len(v.tau),
            **{kind: bounds.usage(kind, x) for kind, x in reach.ranges.items()},
            peaks={**{kind: np.abs(x).max(axis=0) for kind, x in reach.ranges.items()}, "jerk": series.largest(z, 3)},
            spaces=bounds.spaces,
            floor=any(np.dot(space.normal, up(robot.model)) > LEVEL for space in bounds.spaces),
            clearance=reach.clearance,
            frames=tuple(origins.place),
            lowest=reach.lowest[list(origins.place.values())],
            room=np.array(
                [reach.clearance[np.equal(self.limits.places, k)].min(initial=np.inf) for k in origins.place.values()]
            ),
            top=top,
            mode=mode,
            content=content_above(v.tau, series.period, min(band.drives, mode)),
            contacts=() if problem.avoid is None else tuple(problem.avoid.sentences(v.motion[0])),
        )

    def _rounds(self, state: State, sharpness: Iterable[float]) -> None:
        """Rounds of the augmented Lagrangian; what each ends with, made feasible, is kept if it is any good."""
        for sharp in sharpness:
            try:
                minimize_round(partial(self._evaluate, sharp), state, self.clock, ITERATIONS)
            finally:
                z = fit_within(self.problem, state.z, self.limits, self.fine)
                if z is not None:
                    kept = State(state.z.copy(), state.multipliers.copy(), state.weight)
                    self.found.append(_Found(z, self._merit(z), kept))

    def _evaluate(self, sharpness: float, z: Array) -> tuple[float, Array, Callable[[Array], Array]]:
        """f, all g ≤ 0 in a row, and how weights of g are pulled back."""
        problem, limits = self.problem, self.inner
        v = problem.values(z)
        f, V = problem.merit(v, sharpness)
        excess = problem.excess(v, limits, SPARE)
        slope = np.zeros((0, 0))
        if problem.avoid is not None:
            excess["avoid"], slope = problem.avoid.excess(v.motion[0], SPARE, limits.origins.size)
        flat = np.concatenate([x.reshape(-1) for x in excess.values()])

        def pull(push: Array) -> Array:
            parts = np.split(push, np.cumsum([x.size for x in excess.values()])[:-1])
            by = {kind: part.reshape(x.shape) for (kind, x), part in zip(excess.items(), parts, strict=True)}
            n = v.tau.shape[1]
            sides = {kind: (by[kind][:, :n] - by[kind][:, n:]) / limits.scale(kind) for kind in KINDS}
            if "avoid" in by:
                sides["position"] = sides["position"] + by["avoid"][:, None] * slope
            return problem.gradient(v, V, sides, -by["workspace"] / limits.origins.size)

        return f, flat, pull

    def _merit(self, z: Array) -> float:
        """What motions are compared by: the condition number itself, or −log det."""
        try:
            v = self.problem.values(z)
            if self.criterion == "condition":
                A = self.problem.matrix(v)
                return condition_number(A.reshape(-1, A.shape[-1]))
            return self.problem.merit(v, 1.0)[0]
        except SingularityError:
            return math.inf

    def _report(self, where: str) -> None:
        best = min(x.merit for x in self.found)
        word = f"condition number {best:.4g}" if self.criterion == "condition" else f"mean log length {-best:.4g}"
        self.say(f"{where}: best {word}, {self.clock.spent:.1f} s, {self.clock.evaluations} evaluations")


def minimize_round(evaluate: Evaluate, state: State, clock: Stopwatch, iterations: int) -> None:
    """One round: minimize L from the state's point, then update multipliers and weight. Time that runs out
    leaves the best point of the round in the state and raises `TimeUp`."""
    from scipy.optimize import minimize

    start, lowest = state.z, math.inf
    # What the round began with: a violation that does not shrink calls for more weight.
    before = float(np.maximum(evaluate(start)[1], 0.0).max(initial=0.0))

    def lagrangian(flat: Array) -> tuple[float, Array]:
        nonlocal lowest
        if clock.over:
            raise TimeUp
        clock.evaluations += 1
        z = flat.reshape(start.shape)
        f, g, pull = evaluate(z)
        push = np.maximum(0.0, state.multipliers + state.weight * g)
        value = f + float((push**2).sum() - (state.multipliers**2).sum()) / (2.0 * state.weight)
        if value < lowest:
            lowest, state.z = value, z.copy()
        return value, pull(push).reshape(-1)

    options = {"maxiter": iterations, "maxcor": 30, "ftol": 1e-10, "gtol": 1e-7}
    minimize(lagrangian, start.reshape(-1), jac=True, method="L-BFGS-B", options=options)
    _, g, _ = evaluate(state.z)
    state.multipliers = np.maximum(0.0, state.multipliers + state.weight * g)
    if float(np.maximum(g, 0.0).max(initial=0.0)) > SHRINK * before:
        state.weight = min(GROWTH * state.weight, HEAVIEST)


# ------------------------------------------------------------------------------------------------- feasibility
def fits(problem: Problem, z: Array, limits: ExcitationLimits, maps: Maps, between: bool = True) -> bool:
    """Whether a motion keeps to all limits on a grid and, torques aside, between its points."""
    v = problem.values(z, maps)
    reach = problem.reach(z, v, between)
    within = all(bool((limits.excess(kind, x) <= 0.0).all()) for kind, x in reach.ranges.items())  # NaN does not fit
    return within and bool((reach.clearance >= 0.0).all()) and problem.clear(z, v, between)


def fit_within(problem: Problem, z: Array, limits: ExcitationLimits, maps: Maps, between: bool = True) -> Array | None:
    """The motion made smaller about its mean position until it fits; None if nothing is left of it."""
    if fits(problem, z, limits, maps, between):
        return z
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if fits(problem, problem.series.smaller(z, middle), limits, maps, between):
            low = middle
        else:
            high = middle
    return problem.series.smaller(z, low) if low > 0.0 else None


def random_start(
    problem: Problem, limits: ExcitationLimits, rng: np.random.Generator, maps: Maps, between: bool = True
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
            mean = z[0] if kind == "position" else 0.0
            room = np.minimum(limits.upper[kind] - mean, mean - limits.lower[kind])
            z[1:] *= np.minimum(1.0, room / np.abs(B[:, 1:] @ z[1:]).max(axis=0))
        kept = fit_within(problem, z, limits, maps, between)
        if kept is not None:
            return kept
    spaces = [*map(str, limits.spaces[:MENTIONED]), "…"][: len(limits.spaces)]
    where = f" or half spaces ({', '.join(spaces)})" if spaces else ""
    if problem.avoid is not None:
        where += (
            f", {problem.avoid.clear:g} m clear of itself and of {', '.join(problem.avoid.world.names) or 'nothing'}"
        )
    raise InputError(
        "infeasible",
        "torque",
        problem=f"in {DRAWS} draws no position was found where {problem.columns.robot.name!r} could stand "
        f"within its torque limits{where}",
        remedy="Widen them.",
    )


# ------------------------------------------------------------------------------------------------------- input
def _base_frequency(duration: float | None, frequency: float | None) -> float:
    long = None if duration is None else number("duration", duration, "s", above=0)
    f = 1.0 / (long or 10.0) if frequency is None else number("base_frequency", frequency, "Hz", above=0)
    if long is not None:
        periods = long * f
        if round(periods) < 1 or abs(periods - round(periods)) > 1e-6 * periods:
            raise InputError(
                "conflict",
                "duration",
                problem=f"a duration of {long:g} s is {periods:g} periods of {1 / f:g} s; it must be whole periods",
            )
    return f


def _friction(friction: bool | str | Sequence[str]) -> tuple[str, ...]:
    if isinstance(friction, (bool, np.bool_)):
        return FRICTION if friction else ()
    return (friction,) if isinstance(friction, str) else tuple(friction)


def _weights(robot: Robot, noise: ArrayLike | None, limits: ExcitationLimits) -> Array:
    if noise is not None:
        return np.asarray(1.0 / np.broadcast_to(array("noise", noise, (), (robot.n,), unit="N m", above=0), (robot.n,)))
    top = limits.upper["torque"]
    return 1.0 / np.where(np.isfinite(top), top, 1.0) if np.isfinite(top).all() else np.ones(robot.n)
