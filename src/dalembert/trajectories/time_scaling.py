"""A path followed as fast as torques, velocities and accelerations allow.

Along a path q(s) the equation of motion is τ = a(s) s̈ + b(s) ṡ² + c(s) with a = M q′, b = M q″ + c(q, q′), c = g:
three calls of inverse dynamics for the whole grid. Limits are kept at both ends of every interval; what is exceeded in
between is measured, and the limits there tightened by as much, until nothing is.

The fastest speed is found by reachability on the grid (TOPP-RA). With x = ṡ² and u = s̈ = x′/2, limits of torque,
velocity and acceleration are rows α u + β x ≤ γ. On each interval of the grid u is constant, so that x at its end is
x + 2hu. Backwards from the end: which x can still reach the next set, a linear program of two unknowns. Forwards from
the start: the largest u that stays in those sets, a program of one. Both are solved in closed form. Points where a
row's α vanishes need no care. Taking the largest u each time is best as the grid gets finer; on a coarse one a smaller
x now may allow a larger one later, by a little.  Pham and Pham 2018.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, count, number, of_kind, switch
from dalembert.errors import InputError
from dalembert.kernels import need_tree
from dalembert.trajectories.combined import Along, Certified, bisect
from dalembert.trajectories.limits import BEYOND, MotionLimits, magnitude, read_limits
from dalembert.trajectories.piecewise import Piecewise
from dalembert.trajectories.trajectory import Trajectory, inside

if TYPE_CHECKING:
    from dalembert.robot import Robot

FINER = 10  # times the grid: where the certificate looks
PASSES = 30
VIOLATION = 1e-6  # of a limit: what is left of it after tightening
NEARLY, SETTLED = 1e-4, 1e-6  # of the duration, from pass to pass: friction is nearly found, and found
LOOKS = 23  # a tightening looks at so many parts of an interval, the certificate at ten
ACTIVE = 0.99  # of a limit: it is reached
VANISHES = 1e-12  # of the largest coefficient of a row along the path: zero
RESTS = 1e-12  # of the largest ṡ²
STILL = 1e-9  # of the largest |q′|: the path stands still
ZERO = 1e-12  # of what it is made of: a coefficient below that is rounding
SLACK = 1e-9  # of a row's right side, and of x
SMALL = 1e-3  # [1/s²] x below that counts as this much where rounding is judged


@dataclass(frozen=True)
class Optimality:
    """Recomputed on a grid ten times finer: `velocity`, `acceleration`, `torque`, by how much of itself the most
    exceeded limit is exceeded (negative: not at all; −1 without such limits); `active`, the part of the time in which
    some limit is reached within 1 %; `passes`, how often the problem was solved."""

    velocity: float
    acceleration: float
    torque: float
    active: float
    passes: int

    @property
    def violation(self) -> float:
        return max(self.velocity, self.acceleration, self.torque, 0.0)


def time_optimal(
    path: Trajectory,
    robot: Robot | None = None,
    *,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    torque: ArrayLike | None = None,
    friction: bool = False,
    grid: int = 1000,
    start_speed: float = 0.0,
    end_speed: float = 0.0,
    limits: bool = True,
) -> Certified:
    """The fastest motion along a joint path q(s), whose `certificate` says which limits it reaches.

    Limits, one per joint or one for all: those given; with a robot, its own of velocity and torque where none are
    (np.inf lifts one). `friction`: the robot's friction counts, found by repetition. `grid`: intervals of s, besides
    the path's own knots. `start_speed`, `end_speed`: ṡ at the ends. `limits`: the path itself must keep to the joints'
    range. Refused in words where no speed keeps the limits."""
    of_kind(path, Trajectory, "path must be a trajectory, read as a function of s; got")
    if not np.isfinite(path.duration):
        raise InputError("unsupported", "path", problem="`path` is a periodic motion without an end")
    count("grid", grid, 2)
    if robot is None and (torque is not None or friction):
        raise InputError("missing", "robot", problem="limits of torque and friction need `robot`")
    if robot is not None:
        need_tree(robot.model)
        torque = robot.limits.effort if torque is None else torque
    known = read_limits(path.m, robot, velocity, acceleration)
    tau = magnitude("torque", torque, path.m)
    if not (np.isfinite(known.acceleration).any() or np.isfinite(tau).any()):
        raise InputError(
            "missing",
            "torque",
            problem="without limits of torque or acceleration no motion is fastest",
            remedy="Pass `torque` or `acceleration`.",
        )
    if robot is not None and isinstance(path, Piecewise):
        path = replace(path, names=known.names, units=known.units)
    if friction and not np.isfinite(tau).any():
        raise InputError(
            "missing",
            "torque",
            problem="friction counts among the torques, and no joint has a torque limit",
            remedy="Pass `torque`.",
        )
    problem = _Problem(path, robot, known, tau, switch("friction", friction), grid)
    if switch("limits", limits):
        problem.check_range()
    return problem.solve(number("start_speed", start_speed, least=0.0), number("end_speed", end_speed, least=0.0))


def _apart(s: Array, grid: int) -> Array:
    """Points in order, those nearer than a millionth of an interval to the one before left out, the last one kept."""
    s = np.unique(s)
    least = 1e-6 * s[-1] / grid
    s = s[np.concatenate([[True], np.diff(s) > least])] if len(s) > 2 else s
    end = np.append(s[s < s[-1] - least], s[-1])
    return np.asarray(end)


class _Problem:
    """One path on one grid, and its limits."""

    def __init__(
        self, path: Trajectory, robot: Robot | None, known: MotionLimits, torque: Array, friction: bool, grid: int
    ) -> None:
        self.path, self.robot, self.friction = path, robot, friction
        self.known, self.names, self.torque = known, known.names, torque
        self.velocity, self.acceleration = known.velocity, known.acceleration
        self.s = _apart(np.concatenate([np.linspace(0, path.duration, grid + 1), path.knots]), grid)
        if friction:  # a joint that turns round has another friction: not within an interval
            self.s = _apart(np.concatenate([self.s, self.reversals()]), grid)
        self.step = np.diff(self.s)
        self.q, self.first, self.second = self.along(np.array([0.0, 1.0]))  # both ends of every interval
        self.check_moving()
        if robot is not None:
            still = np.zeros_like(self.q)
            self.c = np.asarray(robot.inverse_dynamics(self.q, still, still))
            self.a = np.asarray(robot.inverse_dynamics(self.q, still, self.first)) - self.c
            self.b = np.asarray(robot.inverse_dynamics(self.q, self.first, self.second)) - self.c

    def along(self, fractions: Array) -> tuple[Array, Array, Array]:
        """q, q′, q″ at fractions of every interval, (intervals, k, n) each."""
        s = inside(self.s, fractions)
        x, first, second = (y.reshape(*s.shape, -1) for y in self.path.derivatives(s.reshape(-1), 2))
        return x, first, second

    def reversals(self) -> Array:
        """Where a joint turns round, by bisection between the points of the grid."""
        first = self.path.derivatives(self.s, 1)[1]
        i, j = np.nonzero(first[1:] * first[:-1] < 0)
        sign, each = np.sign(first[i, j]), np.arange(len(j))
        return bisect(self.s[i], self.s[i + 1], lambda s: ~(self.path.derivatives(s, 1)[1][each, j] * sign > 0))

    def check_moving(self) -> None:
        size = np.abs(self.first).max(axis=-1)
        if size.min() <= STILL * size.max():
            i, end = np.argwhere(size <= STILL * size.max())[0]
            raise InputError(
                "wrong-value",
                "path",
                problem=f"the derivative of `path` vanishes at s = {self.s[i + end]:.4g}",
                remedy="Pass a line or a spline instead of a motion from rest to rest.",
            )

    def check_range(self) -> None:
        known = self.known
        over = np.maximum(self.q - known.upper, known.lower - self.q).max(axis=1)
        i, j = np.unravel_index(int(over.argmax()), over.shape)
        if over[i, j] > BEYOND:
            first = self.s[int(np.argmax(over[:, j] > BEYOND))]
            raise InputError(
                "infeasible",
                "path",
                problem=f"`path` takes {self.names[j]!r} {over[i, j]:.4g} {known.units[j]} beyond its limits, "
                f"first at s = {first:.4g}",
                remedy="Pass limits=False to allow it.",
            )

    # ------------------------------------------------------------------------------------------------ the rows
    def rows(self, factors: dict[str, Array], held: Array) -> Rows:
        """All limits at both ends of every interval, divided by the limit so that all count the same. `factors`: what
        is
        left of each limit, (intervals, n); `held`: friction at the ends, (intervals, 2, n)."""
        alpha, beta, gamma = [], [], []

        def add(a: Array, b: Array, c: Array, limit: Array, factor: Array) -> None:
            kept = np.isfinite(limit)
            for end in (0, 1):
                A, B, C = (x[:, end, kept] / limit[kept] for x in (a, b, c))
                A = A + 2 * self.step[:, None] * B if end else A
                A = np.where(np.abs(A) > VANISHES * np.abs(A).max(axis=0, initial=0.0), A, 0.0)
                for sign in (1.0, -1.0):
                    alpha.append(sign * A)
                    beta.append(sign * B)
                    gamma.append(factor[:, kept] - sign * C)

        none = np.zeros_like(self.q)
        add(self.first, self.second, none, self.acceleration, factors["acceleration"])
        if self.robot is not None:
            add(self.a, self.b, self.c + held, self.torque, factors["torque"])
        A, B, C = (np.concatenate(x, axis=1) for x in (alpha, beta, gamma))
        return Rows(A, B, C, self.ceiling(factors), self.step)

    def ceiling(self, factors: dict[str, Array]) -> Array:
        """x ≤ (v/q′)² at every point of the grid, from both sides."""
        with np.errstate(divide="ignore"):
            each = ((factors["velocity"][:, None, :] * self.velocity) / np.abs(self.first)) ** 2
        least = each.min(axis=-1)
        return np.minimum(np.append(least[:, 0], np.inf), np.insert(least[:, 1], 0, np.inf))

    # --------------------------------------------------------------------------------------------- the solution
    def solve(self, start: float, end: float) -> Certified:
        n = self.q.shape[-1]
        factors = {word: np.ones((len(self.step), n)) for word in ("velocity", "acceleration", "torque")}
        held, before = np.zeros_like(self.q), np.inf
        found: tuple[float, Array] | None = None
        passes = 0
        while passes < PASSES:
            passes += 1
            try:
                x = self.profile(factors, held, start, end)
            except InputError:
                if found is None:
                    raise
                break  # tightened too far: the best answer so far stands, with its certificate
            T = float(self.durations(x).sum())
            change = abs(T - before) / T if self.friction else 0.0
            used = self.used(x, np.linspace(0, 1, LOOKS + 1))
            worst = max(float(ratio.max()) for ratio in used.values()) - 1.0
            if found is None or worst < found[0]:
                found = worst, x
            if worst <= VIOLATION and change <= SETTLED:
                break
            if change <= NEARLY:
                for word, ratio in used.items():
                    over = ratio.max(axis=1)
                    factors[word] = factors[word] / np.where(over > 1 + 0.1 * VIOLATION, over, 1.0)
            before = T
            held = self.friction_of(x) if self.friction else held
        assert found is not None
        return Certified(Along(self.path, self.law(found[1])), self.certificate(found[1], passes))

    def profile(self, factors: dict[str, Array], held: Array, start: float, end: float) -> Array:
        rows = self.rows(factors, held)
        if end**2 > rows.ceiling[-1]:
            most = np.sqrt(rows.ceiling[-1])
            raise InputError(
                "out-of-range",
                "end_speed",
                end,
                problem=f"`end_speed` {end:g} is beyond the velocity limits, at most {most:.4g}",
            )
        try:
            low, high = controllable(rows, (end**2, end**2))
        except Infeasible as error:
            raise self.infeasible(error.interval, held) from None
        if not low[0] * (1 - 1e-9) - 1e-300 <= start**2 <= high[0] * (1 + 1e-9):
            if start == 0 and self.heaviest(0, held)[1] > 1:
                raise self.infeasible(0, held)
            raise InputError(
                "out-of-range",
                "start_speed",
                start,
                problem=f"no motion within the limits begins with `start_speed` {start:g}: it must be between "
                f"{np.sqrt(low[0]):.4g} and {np.sqrt(high[0]):.4g}",
            )
        x = fastest(rows, low, high, min(start**2, float(high[0])))
        if not np.isfinite(x).all():
            raise InputError(
                "missing",
                "velocity",
                problem="nothing limits the speed on a part of the path",
                remedy="Pass limits of the joints that move there.",
            )
        if ((x[1:] <= 0) & (x[:-1] <= 0)).any():
            i = int(np.argmax((x[1:] <= 0) & (x[:-1] <= 0)))
            raise self.infeasible(i, held)
        return x

    def heaviest(self, i: int, held: Array) -> tuple[int, float]:
        """The joint that needs most of its torque to stand still on an interval, and how many times its limit."""
        if self.robot is None:
            return 0, 0.0
        need = np.abs(self.c + held)[i].max(axis=0) / self.torque
        j = int(need.argmax())
        return j, float(need[j])

    def infeasible(self, i: int, held: Array) -> InputError:
        where = f"s = {self.s[i]:.4g}"
        j, need = self.heaviest(i, held)
        if need > 1:
            assert self.robot is not None
            unit = self.robot.model.coordinates[j].joint.effort_unit
            return InputError(
                "infeasible",
                "torque",
                problem=f"the path cannot be followed: at {where} joint {self.names[j]!r} needs "
                f"{need * self.torque[j]:.4g} {unit} to stand still; its limit is {self.torque[j]:.4g} {unit}",
            )
        return InputError(
            "infeasible",
            "path",
            problem=f"the path cannot be followed: at {where} no speed and acceleration keep all limits",
        )

    def durations(self, x: Array) -> Array:
        root = np.sqrt(x)
        return np.asarray(2 * self.step / (root[1:] + root[:-1]))

    def law(self, x: Array) -> Piecewise:
        """s(t): on each interval s̈ is constant."""
        u = np.diff(x) / (2 * self.step)
        t = np.concatenate([[0.0], np.cumsum(self.durations(x))])
        C = np.stack([self.s[:-1], np.sqrt(x[:-1]), 0.5 * u], axis=1)[:, :, None]
        unit = self.path.parameter.partition(" ")[2].strip("[]") if self.path.parameter[0] == "s" else ""
        return Piecewise(t, C, ("s",), (unit,))

    # ------------------------------------------------------------------------------------------- what came of it
    def motion(self, x: Array, fractions: Array) -> tuple[Array, Array, Array]:
        """q, q̇, q̈ at fractions of every interval."""
        q, first, second = self.along(fractions)
        u = (np.diff(x) / (2 * self.step))[:, None, None]
        y = (x[:-1, None] + np.diff(x)[:, None] * fractions)[:, :, None]
        return q, first * np.sqrt(y), second * y + first * u

    def used(self, x: Array, fractions: Array) -> dict[str, Array]:
        """|q̇|, |q̈| and |τ| as parts of their limits, (intervals, k, n) each."""
        q, qd, qdd = self.motion(self.never_at_rest(x), fractions)
        found = {"velocity": np.abs(qd) / self.velocity, "acceleration": np.abs(qdd) / self.acceleration}
        if self.robot is not None:
            found["torque"] = np.abs(self.robot.inverse_dynamics(q, qd, qdd, friction=self.friction)) / self.torque
        return found

    def never_at_rest(self, x: Array) -> Array:
        """With friction, x a little above zero: at rest counts the friction of the motion that begins or ends there."""
        return np.maximum(x, RESTS * x.max()) if self.friction else x

    def friction_of(self, x: Array) -> Array:
        """Friction at both ends of every interval at the speeds of x."""
        assert self.robot is not None
        q, qd, qdd = self.motion(self.never_at_rest(x), np.array([0.0, 1.0]))
        with_it = self.robot.inverse_dynamics(q, qd, qdd, friction=True)
        return np.asarray(with_it - self.robot.inverse_dynamics(q, qd, qdd))

    def certificate(self, x: Array, passes: int) -> Optimality:
        fractions = np.linspace(0, 1, FINER + 1)
        used = self.used(x, fractions)
        worst = {word: float(ratio.max()) - 1.0 for word, ratio in used.items()}
        reached = np.max([ratio.max(axis=-1) for ratio in used.values()], axis=0) >= ACTIVE
        share = self.durations(x) / self.durations(x).sum()
        active = float(share @ reached.mean(axis=1))
        return Optimality(worst["velocity"], worst["acceleration"], worst.get("torque", -1.0), active, passes)


# --------------------------------------------------------------------------------------------------- reachability
@dataclass(frozen=True, eq=False)
class Rows:
    """α u + β x ≤ γ on each interval, (intervals, rows) each; `ceiling` (intervals + 1,) of x; `step` (intervals,)
    h."""

    alpha: Array
    beta: Array
    gamma: Array
    ceiling: Array
    step: Array


class Infeasible(Exception):
    """No x on this interval, counted from the start."""

    def __init__(self, interval: int) -> None:
        self.interval = interval


def span(alpha: Array, beta: Array, gamma: Array, top: float) -> tuple[float, float] | None:
    """The x of [0, top] for which some u satisfies all rows; None if none does.

    Each row with α > 0 bounds u from above and each with α < 0 from below; u exists where no lower bound exceeds an
    upper one. So every such pair, with u eliminated, is a row in x alone (Fourier and Motzkin)."""
    above, below = alpha > 0, alpha < 0
    free = ~(above | below)
    ap, bp, gp = alpha[above, None], beta[above, None], gamma[above, None]
    al, bl, gl = -alpha[None, below], beta[None, below], gamma[None, below]
    slope = np.concatenate([beta[free], (al * bp + ap * bl).reshape(-1)])
    right = np.concatenate([gamma[free], (al * gp + ap * gl).reshape(-1)])
    size = np.concatenate([np.abs(beta[free]), (al * np.abs(bp) + ap * np.abs(bl)).reshape(-1)])
    weight = np.concatenate([np.abs(gamma[free]), (al * np.abs(gp) + ap * np.abs(gl)).reshape(-1)])
    up, down = slope > ZERO * size, slope < -ZERO * size
    if (right[~(up | down)] < -SLACK * weight[~(up | down)]).any():
        return None
    high = min(float((right[up] / slope[up]).min(initial=np.inf)), top)
    low = max(float((right[down] / slope[down]).max(initial=-np.inf)), 0.0)
    if low > high + SLACK * max(low, SMALL):
        return None
    high = max(high, 0.0)
    return min(low, high), high


def controllable(rows: Rows, end: tuple[float, float]) -> tuple[Array, Array]:
    """The smallest and the largest x at each point of the grid from which the end can be reached."""
    count = len(rows.step)
    low, high = np.zeros(count + 1), np.zeros(count + 1)
    low[count], high[count] = end
    for i in range(count - 1, -1, -1):
        h = 2.0 * rows.step[i]
        finite = np.isfinite(high[i + 1])
        more = ([h, -h], [1.0, -1.0], [high[i + 1], -low[i + 1]]) if finite else ([-h], [-1.0], [-low[i + 1]])
        alpha, beta, gamma = (
            np.concatenate([own[i], extra])
            for own, extra in zip((rows.alpha, rows.beta, rows.gamma), more, strict=True)
        )
        found = span(alpha, beta, gamma, float(rows.ceiling[i]))
        if found is None:
            raise Infeasible(i)
        low[i], high[i] = found
    return low, high


def fastest(rows: Rows, low: Array, high: Array, start: float) -> Array:
    """The largest x at each point of the grid, from the start on, within the controllable sets."""
    count = len(rows.step)
    x = np.zeros(count + 1)
    x[0] = start
    with np.errstate(divide="ignore", invalid="ignore"):
        for i in range(count):
            above = rows.alpha[i] > 0
            bound = (rows.gamma[i, above] - rows.beta[i, above] * x[i]) / rows.alpha[i, above]
            u = float(bound.min(initial=np.inf))
            x[i + 1] = min(max(x[i] + 2 * rows.step[i] * u, low[i + 1]), high[i + 1])
    return x
