"""A path in space as a path of joints: inverse kinematics on one continuous branch.

    q′ = J⁺ x′,    q″ = J⁺ (x″ − J′ q′) + (1 − J⁺J) J′ᵀ (JJᵀ)⁻¹ x′

The second term of q″ is what q′ = J⁺x′ itself implies for an arm with more joints than rows; it vanishes for others.
The first point comes from `Robot.ik`; from there q′ is integrated (Runge–Kutta) and each node corrected to rounding.
Through the nodes goes the quintic with these q, q′, q″. What it is off by in between is measured, and the nodes doubled
until it is within the tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, of_kind
from dalembert.errors import InputError, SingularityError
from dalembert.kinematics.ik.tracking import pose_error
from dalembert.kinematics.jacobian import moving_rows, need_joints, scale_of, unitless
from dalembert.kinematics.tasks import Rows, picked, task
from dalembert.trajectories.combined import Along, Certified
from dalembert.trajectories.limits import BEYOND, joint_units, positive, vector
from dalembert.trajectories.paths import POINT, POSE, poses
from dalembert.trajectories.piecewise import Piecewise, hermite
from dalembert.trajectories.trajectory import Trajectory

if TYPE_CHECKING:
    from dalembert.kinematics.ik.solution import Solution
    from dalembert.robot import Robot

NODES, MAX_NODES = 64, 4096  # intervals to begin with, and where to stop
LEAP = 0.1  # [rad, or arm's lengths] that a joint moves in one step at most
STEPS = 64  # into which an interval is cut at most to keep to that
NEAR = 1e-3  # singular: the smallest singular value is below this part of the arm's largest
CORRECTIONS, CORRECTED = 8, 1e-13
LINEAR = np.arange(6) < 3
POSTURES = 8  # tried if no first one is given


@dataclass(frozen=True)
class Following:
    """How well joints follow a path, recomputed by forward kinematics between the nodes: largest distance [m] and angle
    [rad] from it; `closeness`, the smallest singular value met as a part of the arm's largest; `nodes`."""

    position_error: float
    orientation_error: float
    closeness: float
    nodes: int


class _Lost(Exception):
    """A posture from which the path cannot be followed to its end: why, as the error to raise."""

    def __init__(self, error: Exception, s: float) -> None:
        self.error, self.s = error, s


def to_joints(
    robot: Robot,
    path: Trajectory,
    q0: ArrayLike | None = None,
    *,
    frame: str | None = None,
    rows: Rows | None = None,
    tolerance: float = 1e-6,
    limits: bool = True,
) -> Certified:
    """The joint path, or motion, with which a frame follows a path or motion of points (m = 3) or poses (m = 12).

    `q0` (n,): the posture to begin near, whose branch is kept; without it a few postures are tried. `rows` as in
    `Robot.manipulability`: which components are followed; by default all of the path's that move at all. `tolerance`
    [m, rad] between the nodes. Refused in words: a place out of reach, a joint limit, a singularity on the way."""
    need_joints(robot)
    of_kind(path, Trajectory, "path must be a trajectory, got")
    law = path.law if isinstance(path, Along) else None
    course = path.path if isinstance(path, Along) else path
    if course.m not in (POINT, POSE):
        raise InputError("wrong-shape", "path", course.m, expected="a path of points (3 numbers) or poses (12)")
    if not np.isfinite(course.duration):
        raise InputError("missing", "path", problem="`path` has no end", remedy="Give it a duration.")
    follow = _Follower(robot, course, law, frame, rows, positive("tolerance", tolerance, "m, rad"), limits)
    found, certificate = follow.best(None if q0 is None else vector("q0", q0, robot.n))
    return Certified(found if law is None else Along(found, law), certificate)


class _Place(NamedTuple):
    """A point of the path: s, the pose there, x′ and x″."""

    s: float
    T: Array
    first: Array
    second: Array


class _Follower:
    """One robot, path and choice of rows."""

    def __init__(
        self,
        robot: Robot,
        path: Trajectory,
        law: Trajectory | None,
        frame: str | None,
        rows: Rows | None,
        tolerance: float,
        limits: bool,
    ) -> None:
        self.robot, self.path, self.law, self.frame = robot, path, law, frame
        self.tolerance, self.limits = tolerance, limits
        self.everywhere = rows is None  # then nothing of the path may be lost, in rows that do not move either
        if rows is None:
            moving = moving_rows(robot, frame, "world")
            self.task = picked(tuple(k for k in moving if k < 3 or path.m == POSE))
        else:
            self.task = task(rows)
        if self.task.picked is None:
            raise InputError("unsupported", "rows", expected="some of the six components: words or truth values")
        if path.m == POINT and any(k > 2 for k in self.task.picked):
            raise InputError(
                "conflict", "rows", problem="a path of points has no orientation, so `rows` must be translations"
            )
        self.rows = list(self.task.picked)
        if len(self.rows) > robot.n:
            raise InputError(
                "conflict",
                "rows",
                problem=f"{robot.name!r} has {robot.n} joints, too few to follow {len(self.rows)} components "
                f"({', '.join(self.task.names)})",
                remedy="Choose fewer `rows`.",
            )
        self.scale = scale_of(robot, frame, self.task, "world", free_of_units=True)

    @property
    def judged(self) -> list[int]:
        """The rows in which errors count."""
        return list(range(3 if self.path.m == POINT else 6)) if self.everywhere else self.rows

    # --------------------------------------------------------------------------------------------- the target
    def target(self, s: Array) -> tuple[Array, Array, Array]:
        """T, x′, x″ at s (k,)."""
        if self.path.m == POSE:
            return poses(self.path, s)
        x, v, a = self.path(s)
        T = np.broadcast_to(np.eye(4), (*s.shape, 4, 4)).copy()
        T[..., :3, 3] = x
        none = np.zeros_like(v)
        return T, np.concatenate([v, none], axis=-1), np.concatenate([a, none], axis=-1)

    def at(self, s: float, T: Array) -> str:
        """Where and when, in words."""
        name = self.path.parameter.split()[0]
        when = ""
        if self.law is not None:
            t = np.linspace(0, self.law.duration, 2001)
            passed = self.law.derivatives(t, 0)[0][:, 0] >= s
            when = f" (t = {t[int(passed.argmax())]:.3g} s)" if passed.any() else ""
        return f"at {name} = {s:.4g}{when}, at the point ({', '.join(f'{x:.4g}' for x in T[:3, 3])})"

    def solve(self, T: Array, q0: Array | None, limits: bool) -> Solution:
        mask = np.zeros(6)
        mask[self.rows] = 1.0
        return self.robot.ik(T, self.frame, q0, rows=mask.tolist(), limits=limits)

    # ------------------------------------------------------------------------------------------------ following
    def best(self, q0: Array | None) -> tuple[Piecewise, Following]:
        self.check_reach()
        start = self.target(np.zeros(1))[0][0]
        seeds = [q0] if q0 is not None else [None, *self.robot.random_configuration(POSTURES - 1, seed=0)]
        lost: _Lost | None = None
        for seed in seeds:
            first = self.solve(start, seed, self.limits)
            if not first.converged:
                continue
            try:
                return self.follow(np.asarray(first.q))
            except _Lost as error:
                lost = error if lost is None or error.s > lost.s else lost
        assert lost is not None  # `check_reach` saw to the first point
        raise lost.error

    def check_reach(self) -> None:
        """Refuse a path some point of which no posture reaches."""
        s = np.unique(np.concatenate([np.linspace(0, self.path.duration, NODES + 1), self.path.knots]))
        T = self.target(s)[0]
        found = self.solve(T, None, self.limits)
        ok = np.asarray(found.converged)
        if ok.all():
            off = np.abs(pose_error(self.robot.fk(found.q, self.frame), T)[:, self.judged]).max(axis=1) > self.tolerance
            if off.any():
                k = int(np.argmax(off))
                only = ", ".join(self.task.names)
                words = f"the path leaves what {self.robot.name!r} can do at all ({only})"
                raise InputError(
                    "infeasible",
                    "path",
                    problem=f"{words} {self.at(float(s[k]), T[k])}",
                    remedy="Choose the components to follow with `rows`.",
                )
            return
        k = int(np.argmin(ok))
        free = self.limits and bool(self.solve(T[k], None, False).converged)
        why = "leaves the joint limits" if free else f"leaves the reach of {self.robot.name!r}"
        raise InputError("infeasible", "path", problem=f"the path {why} {self.at(float(s[k]), T[k])}")

    def follow(self, q: Array) -> tuple[Piecewise, Following]:
        count = NODES
        while True:
            nodes = np.unique(np.concatenate([np.linspace(0, self.path.duration, count + 1), self.path.knots]))
            Q, D, A, closeness = self.march(nodes, q)
            C = hermite(np.diff(nodes), [Q[:-1], D[:-1], A[:-1]], [Q[1:], D[1:], A[1:]])
            names, units = self.robot.joint_names, joint_units(self.robot)
            made = Piecewise(nodes, C, names, units, self.path.parameter)
            apart, turned = self.errors(made)
            if max(apart, turned) <= self.tolerance:
                self.check_limits(made)
                return made, Following(apart, turned, closeness, len(nodes))
            if count >= MAX_NODES:
                raise InputError(
                    "not-converged",
                    "tolerance",
                    problem=f"{MAX_NODES} nodes leave the joints {apart:.2g} m and {turned:.2g} rad off the path",
                    remedy="Smooth the corners of the path, or use a larger tolerance.",
                )
            count *= 2

    def errors(self, made: Piecewise) -> tuple[float, float]:
        """Distance and angle from the path between the nodes, at every third of each interval."""
        s = (made.breaks[:-1, None] + np.diff(made.breaks)[:, None] * (np.arange(1, 3) / 3)).reshape(-1)
        e = pose_error(self.robot.fk(made.derivatives(s, 0)[0], self.frame), self.target(s)[0])
        counts = np.isin(np.arange(6), self.judged)
        apart, turned = (float(np.linalg.norm(e * (counts & part), axis=1).max()) for part in (LINEAR, ~LINEAR))
        return apart, turned

    def check_limits(self, made: Piecewise) -> None:
        if not self.limits:
            return
        found, own = made.limits(), self.robot.limits
        over = np.maximum(found.upper - own.upper, own.lower - found.lower)
        if over.max() > BEYOND:
            j = int(over.argmax())
            s = np.linspace(0, made.breaks[-1], 2001)
            x = made.derivatives(s, 0)[0][:, j]
            k = int(np.argmax((x > own.upper[j]) | (x < own.lower[j])))
            T = self.target(s[k : k + 1])[0][0]
            name = self.robot.joint_names[j]
            words = f"joint {name!r} reaches its limit on this branch {self.at(float(s[k]), T)}; begin with another q0"
            raise _Lost(InputError("infeasible", "path", problem=words), float(s[k]))

    # ------------------------------------------------------------------------------------------------- the march
    def rates(self, q: Array, at: _Place, second: bool = False) -> tuple[Array, Array, float]:
        """q′, q″ (if asked for) and how close to singular, at one state."""
        full = self.robot.jacobian(q, self.frame)
        J = full[self.rows]
        closeness = np.linalg.svd(unitless(self.robot, self.frame, full)[self.rows], compute_uv=False)[-1] / self.scale
        if closeness < NEAR:
            found = self.robot.singularities(q, self.frame, self.task).kinds
            kinds = f" ({', '.join(found)})" if found else ""
            words = f"the path passes a singularity {self.at(at.s, at.T)}{kinds}: the joints cannot follow there"
            raise _Lost(SingularityError("singular", "path", problem=words), at.s)
        gram = J @ J.T
        lam = np.linalg.solve(gram, at.first[self.rows])
        qd = J.T @ lam
        if not second:
            return qd, qd, float(closeness)
        Jd = self.robot.jacobian_dot(q, qd, self.frame)[self.rows]
        free = Jd.T @ lam
        wanted = at.second[self.rows] - Jd @ qd - J @ free
        return qd, np.asarray(free + J.T @ np.linalg.solve(gram, wanted)), float(closeness)

    def correct(self, q: Array, at: _Place) -> Array:
        """The nearest posture that is on the path, by Newton's steps of least length."""
        for _ in range(CORRECTIONS):
            pose, full = self.robot.fk_jacobian(q, self.frame)
            e, J = pose_error(pose, at.T)[self.rows], full[self.rows]
            step = J.T @ np.linalg.solve(J @ J.T, e)
            q = q + step
            if np.abs(step).max() < CORRECTED:
                break
        return q

    def places(self, s: Array) -> list[_Place]:
        return [_Place(*row) for row in zip(s.tolist(), *self.target(s), strict=True)]

    def march(self, nodes: Array, q: Array) -> tuple[Array, Array, Array, float]:
        """q, q′, q″ at all nodes and the smallest closeness."""
        here = self.places(nodes[:1])[0]
        q = self.correct(q, here)
        qd, qdd, least = self.rates(q, here, second=True)
        Q, D, A = [q], [qd], [qdd]
        for a, b in zip(nodes[:-1].tolist(), nodes[1:].tolist(), strict=True):
            q, here = self.step(q, a, b, D[-1])
            qd, qdd, closeness = self.rates(q, here, second=True)
            least = min(least, closeness)
            Q.append(q)
            D.append(qd)
            A.append(qdd)
        return np.array(Q), np.array(D), np.array(A), least

    def step(self, q: Array, a: float, b: float, qd: Array) -> tuple[Array, _Place]:
        """From one node to the next, in as many Runge–Kutta steps as keep the joints from leaping."""
        count = int(np.clip(np.ceil(np.abs(qd).max() * (b - a) / LEAP), 1, STEPS))
        h = (b - a) / count
        on = self.places(np.linspace(a, b, 2 * count + 1))
        for k in range(count):
            begin, middle, end = on[2 * k : 2 * k + 3]
            k1 = self.rates(q, begin)[0]
            k2 = self.rates(q + 0.5 * h * k1, middle)[0]
            k3 = self.rates(q + 0.5 * h * k2, middle)[0]
            k4 = self.rates(q + h * k3, end)[0]
            q = self.correct(q + (h / 6) * (k1 + 2 * k2 + 2 * k3 + k4), end)
        return q, on[-1]
