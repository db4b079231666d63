"""Closed-form inverse kinematics: every branch of a pose, or of a batch of poses, from one compiled kernel.

The kernel holds everything that is done to a target: the family's subproblems, the shift of angles into the joint
limits, forward kinematics of every branch with its distance from the target, and the comparison of branches where
they coincide. Branches that fall short by rounding are improved by Newton's method in another, and judged again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.algorithms import jacobians, kinematics, linear
from dalembert.arguments import Array, switch
from dalembert.caching import cached_property
from dalembert.compile import Kernel, compile_function
from dalembert.errors import InputError
from dalembert.kernels import need_tree
from dalembert.kinematics.ik import targets
from dalembert.kinematics.ik.families import Plan, plan_of
from dalembert.kinematics.ik.geometry import chain_of
from dalembert.kinematics.ik.solution import FOUND, HUGE, MISSED, OUTSIDE, REPEATED, Solutions
from dalembert.kinematics.ik.subproblems import Angle
from dalembert.model import Frame, Model
from dalembert.model.model import Coordinate
from dalembert.scalar import Scalar, absolute, cos, maximum, minimum, sin, sqrt, where
from dalembert.spatial import Pose
from dalembert.spatial.vector import Matrix, Vector, add, cross, dot, matmul, matscale, matsub, sub, transpose
from dalembert.system import Jointed, Shape

TOLERANCE = 1e-12  # [m, rad] a branch further from its target is not a solution; times the reach, if that is over 1 m
ROUGH = 1e-14  # what lies above this, though near, is improved
NEAR = 1e-3  # excess up to which a branch may yet be brought to its target
SAME = 1e-7  # branches nearer than this to each other are one: √ε, what a double root can tell apart
STEPS = 12  # of Newton's method, at most; a few, but near a singularity
TURNS = 16  # other free angles that are tried at a singularity if the first one gives nothing


def closed_form(
    robot: Jointed, T: ArrayLike, frame: str | None = None, limits: bool = True, *, q0: ArrayLike | None = None
) -> Solutions:
    """Every joint position that puts a frame (the tip) at the pose T (..., 4, 4), by the geometry of the arm: by branch
    `.q` (..., branches, n), `.found` (..., branches), `.residual`, and in words `.why()`.

    With `limits`, angles are shifted by full turns into the joint limits, and solutions outside are dropped. Where an
    angle is free (a wrist with two axes in line), it is that of `q0` (..., n), zero if not given; where that leaves
    branches without a solution, others are tried. Chains without a closed form are refused with the reason (`reason`
    tells it without a refusal)."""
    if type(limits) is not bool:
        limits = switch("limits", limits)
    solver = robot.once(("closed form of", frame, limits), lambda: solver_of(robot, frame, limits))
    if isinstance(solver, str):
        need_tree(robot.model)
        raise InputError(f"no closed form for {robot.name!r}: {solver}")
    start = solver.zero if q0 is None else targets.as_start(q0, robot.joint_names, robot.n)
    if not (type(T) is np.ndarray and T.dtype == np.float64 and T.shape[-2:] == (4, 4)):
        T = targets.as_targets(T)
    return solver.solve(T, start, robot.threads)


def reason(robot: Jointed, frame: str | None = None) -> str | None:
    """Why a robot has no closed-form inverse kinematics, in words; None if it has one."""
    solver = solver_of(robot, frame, True)
    return solver if isinstance(solver, str) else None


def solver_of(robot: Jointed, frame: str | None, limits: bool) -> ClosedForm | str:
    """The kernels of a robot, made once; or why there are none."""
    at = robot.model.frame(frame)
    return robot.once(("closed form", at.name, limits), lambda: _make(robot.model, at, limits))


def _make(model: Model, frame: Frame, limits: bool) -> ClosedForm | str:
    chain = chain_of(model, frame)
    if isinstance(chain, str):
        return chain
    plan = plan_of(chain)
    return plan if isinstance(plan, str) else ClosedForm(model, frame, limits, plan, max(1.0, chain.reach))


class ClosedForm:
    """The kernels of one robot, frame and choice of limits."""

    def __init__(self, model: Model, frame: Frame, limits: bool, plan: Plan, size: float) -> None:
        self.model, self.frame, self.limits, self.plan, self.size = model, frame, limits, plan, size
        self.periodic = [c.joint.periodic for c in model.coordinates]
        self.zero = np.zeros(model.n)
        self.order = [model.bodies[i].coordinate for i in model.path(frame.body)]

    # The functions that are traced.
    def candidates(self, T: Pose, q0: Sequence[Scalar]) -> tuple[list[list[Scalar]], list[Scalar], list[Scalar]]:
        """Joint positions by branch, the excess of each, and whether an angle of it was free."""
        signs = self.plan.signs
        angles = [Angle(cos(q0[k]), s * sin(q0[k])) for k, s in zip(self.order, signs, strict=True)]
        found = self.plan.solve(T, angles)
        qs = []
        for values, _, _ in found:
            q: list[Scalar] = [0.0] * self.model.n
            for k, s, value in zip(self.order, signs, values, strict=True):
                q[k] = (value if s > 0 else -value).radians() if isinstance(value, Angle) else s * value
            qs.append(q)
        return qs, [b.excess for b in found], [b.free for b in found]

    def judged(self, T: Pose, qs: Sequence[Sequence[Scalar]]) -> tuple[list[list[Scalar]], list[Scalar], list[Scalar]]:
        """Every branch within limits and measured: joint positions, residual, verdict."""
        done: list[tuple[list[Scalar], Scalar]] = []
        residuals, verdicts = [], []
        for raw in qs:
            q, outside = list(raw), 0.0
            if self.limits:
                pairs = [settled(x, c) for x, c in zip(raw, self.model.coordinates, strict=True)]
                q = [x for x, _ in pairs]
                for _, beyond in pairs:
                    outside = maximum(beyond, outside)
            residual = miss(kinematics.frame_pose(self.model, q, self.frame), T, self.plan.task)
            verdict: Scalar = where(outside <= 0.0, float(FOUND), float(OUTSIDE))
            for other, other_verdict in done:
                repeats = maximum(difference(q, other, self.periodic), other_verdict)  # FOUND is zero
                verdict = where(repeats < SAME, maximum(verdict, float(REPEATED)), verdict)
            verdict = where(residual <= TOLERANCE * self.size, verdict, float(MISSED))
            done.append((q, verdict))
            residuals.append(residual)
            verdicts.append(verdict)
        return [q for q, _ in done], residuals, verdicts

    def traced(self, matrix: Matrix, q0: Vector) -> tuple[object, ...]:
        """(T, q₀) → q (NaN where there is no solution), residuals, verdicts, whether an angle was free, and of the
        whole pose (defect, sum of sizes, doubtful, whether anything of this needs a second look)."""
        T, defect, total = target(matrix)
        raw, excess, free = self.candidates(T, q0)
        qs, residuals, verdicts = self.judged(T, raw)
        doubtful: Scalar = 0.0
        look = where(total < HUGE, where(defect <= targets.ROUNDED, 0.0, 1.0), 1.0)
        for residual, beyond, verdict, loose in zip(residuals, excess, verdicts, free, strict=True):
            doubtful = where(residual <= ROUGH * self.size, doubtful, where(beyond < NEAR, 1.0, doubtful))
            look = maximum(look, where(maximum(verdict, 3.0 - verdict) < 3.0, loose, 0.0))  # verdict 1 or 2
        look = maximum(look, doubtful)
        return _shown(qs, verdicts), residuals, verdicts, free, [defect, total, doubtful, look]

    # The kernels.
    def _compiled(
        self, function: Callable[[Matrix, Vector], object], q: Shape, outputs: Sequence[Shape], name: str
    ) -> Kernel:
        """A kernel of a pose and of joint positions of that shape."""
        return compile_function(function, [(4, 4), q], outputs, name, arguments=("T", "q"))

    @cached_property
    def kernel(self) -> Kernel:
        k, n = self.plan.count, self.model.n
        return self._compiled(self.traced, (n,), [(k, n), (k,), (k,), (k,), (4,)], "closed_form")

    @cached_property
    def start(self) -> Kernel:
        """The branches as the subproblems give them."""
        function = lambda matrix, q0: self.candidates(target(matrix)[0], q0)[0]  # noqa: E731
        return self._compiled(function, (self.model.n,), [(self.plan.count, self.model.n)], "branches")

    @cached_property
    def newton(self) -> Kernel:
        def function(matrix: Matrix, q: Vector) -> list[Scalar]:
            return improved(self.model, self.frame, self.plan.task, target(matrix)[0], q)

        return self._compiled(function, (self.model.n,), [(self.model.n,)], "newton")

    @cached_property
    def judge(self) -> Kernel:
        k, n = self.plan.count, self.model.n

        def function(matrix: Matrix, qs: Matrix) -> tuple[object, ...]:
            q, residuals, verdicts = self.judged(target(matrix)[0], qs)
            return _shown(q, verdicts), residuals, verdicts

        return self._compiled(function, (k, n), [(k, n), (k,), (k,)], "judge")

    # What runs.
    def solve(self, T: Array, q0: Array, threads: int) -> Solutions:
        """All branches of all targets."""
        if q0.ndim > 1:
            targets.check_batches(T.shape[:-2], q0.shape[:-1])
        kernel = self.kernel
        with np.errstate(all="ignore"):  # NaN in, no solution out
            *out, about = kernel.direct(T, q0) if threads == 1 else kernel(T, q0, threads=threads)
            if about.item(3) if about.ndim == 1 else about[..., 3].any():
                finite = about[..., 1] < HUGE
                targets.refuse(T, finite & ~(about[..., 0] <= targets.NO_POSE), HUGE)
                rough = finite & (about[..., 0] > targets.ROUNDED)
                if rough.any():
                    poses = np.broadcast_to(T, (*rough.shape, 4, 4))
                    return self.solve(targets.with_rotations(poses, rough), q0, threads)
                self._second_look(T, q0, (about[..., 2] > 0) & finite, finite, out)
        q, residual, verdict, free = out
        return Solutions(q, residual, verdict, free, about[..., 1], self.plan.family, self.plan.task)

    def _second_look(
        self, T: Array, q0: Array, doubtful: NDArray[np.bool_], finite: NDArray[np.bool_], out: Sequence[Array]
    ) -> None:
        """Doubtful branches improved; other free angles tried where the first choice left branches unsolved."""
        Ts, starts = np.broadcast_to(T, (*finite.shape, 4, 4)), np.broadcast_to(q0, (*finite.shape, self.model.n))
        if doubtful.any():
            for array, values in zip(out, self._again(Ts[doubtful], starts[doubtful]), strict=False):
                array[doubtful] = values
        _, _, verdict, free = out
        lost = ((free > 0) & ((verdict == MISSED) | (verdict == OUTSIDE))).any(axis=-1) & finite
        if lost.any():
            better = self._turned(Ts[lost], starts[lost], [array[lost] for array in out])
            for array, values in zip(out, better, strict=True):
                array[lost] = values
        for array, nothing in zip(out, (math.nan, math.nan, float(MISSED), 0.0), strict=True):
            array[~finite] = nothing

    def _again(self, T: Array, q0: Array) -> tuple[Array, Array, Array]:
        """Newton's steps on every branch, and another judgment."""
        q = self.start(T, q0)
        moving = np.ones(q.shape[:-1], bool)
        Ts = np.broadcast_to(T[..., None, :, :], (*moving.shape, 4, 4))
        for _ in range(STEPS):
            before = q[moving]
            after = self.newton(Ts[moving], before)
            q[moving] = after
            moving[moving] = (after != before).any(axis=-1)
            if not moving.any():
                break
        around = self.periodic
        q[..., around] -= 2 * np.pi * np.rint(q[..., around] / (2 * np.pi))  # a step may have passed half a turn
        return self.judge(T, q)

    def _turned(self, T: Array, q0: Array, best: list[Array]) -> list[Array]:
        """Poses where an angle is free and the first choice of it left branches without a solution: other choices, all
        around, and of them the one with the most solutions."""
        for turn in range(1, TURNS):
            tried = self._again(T, q0 + 2 * np.pi / TURNS * turn * np.array(self.periodic, float))
            more = (tried[2] == FOUND).sum(axis=-1) > (best[2] == FOUND).sum(axis=-1)
            for array, values in zip(best, tried, strict=False):
                array[more] = values[more]
        return best


def _shown(qs: Sequence[Sequence[Scalar]], verdicts: Sequence[Scalar]) -> list[list[Scalar]]:
    """Joint positions, NaN in branches without a solution."""
    return [[where(v <= float(FOUND), x, math.nan) for x in q] for q, v in zip(qs, verdicts, strict=True)]


# How candidates for a target are judged, over any scalar: target, distance from it, joint limits, one Newton step.
SLACK = 1e-7  # an angle this little outside a limit is put on it; whether it then still solves is found by the residual
DAMPING = 1e-14  # keeps the normal equations solvable at a singularity
PARTS = (1.0, 0.5, 0.1, 0.01)  # of a Newton step: where two branches meet, a whole one goes far beyond


def target(T: Sequence[Sequence[Scalar]]) -> tuple[Pose, Scalar, Scalar]:
    """The pose of a 4×4 matrix, its rotation brought nearer to one by R (3 − RᵀR)/2; how far the matrix was from a
    pose; and the sum of its entries' sizes."""
    R: Matrix = [list(row[:3]) for row in T[:3]]
    G = matmul(transpose(R), R)
    better = matscale(0.5, matsub(matscale(3.0, R), matmul(R, G)))
    return Pose(better, tuple(row[3] for row in T[:3])), targets.defect(T), targets.extent(T)


def miss(T: Pose, wanted: Pose, task: str) -> Scalar:
    """The larger of the distance [m] and of 2 sin(θ/2), θ the angle between the orientations (if they count)."""
    p = sub(T.p, wanted.p)
    apart = dot(p, p)
    if task == "position":
        return sqrt(apart)
    rows = [sub(a, b) for a, b in zip(T.R, wanted.R, strict=True)]
    return sqrt(maximum(apart, 0.5 * (dot(rows[0], rows[0]) + dot(rows[1], rows[1]) + dot(rows[2], rows[2]))))


def settled(x: Scalar, c: Coordinate) -> tuple[Scalar, Scalar]:
    """A joint's position, an angle in (−π, π], shifted by full turns into its limits, the nearest turn first, and put
    on a limit that it passes by no more than rounding; and by how much it lies outside (0: inside)."""
    if c.joint.periodic and c.lower <= -math.pi and c.upper >= math.pi:
        return x, 0.0
    best, outside = x, _outside(x, c)
    for m in _turns(c):
        y = x + 2 * math.pi * m
        beyond = _outside(y, c)
        best, outside = where(beyond < outside, y, best), where(beyond < outside, beyond, outside)
    near = outside <= SLACK
    clipped = best
    if math.isfinite(c.lower):
        clipped = maximum(clipped, c.lower)
    if math.isfinite(c.upper):
        clipped = minimum(clipped, c.upper)
    return where(near, clipped, best), where(near, 0.0, outside)


def _turns(c: Coordinate) -> list[int]:
    """The full turns, but none, that can bring an angle in (−π, π] into the limits, nearest first."""
    if not c.joint.periodic:
        return []
    low = c.lower if math.isfinite(c.lower) else min(c.upper, math.pi) - 2 * math.pi
    high = c.upper if math.isfinite(c.upper) else max(c.lower, -math.pi) + 2 * math.pi
    first, last = (math.floor((bound + math.pi) / (2 * math.pi)) for bound in (low - SLACK, high + SLACK))
    return sorted((m for m in range(first, last + 1) if m), key=lambda m: (abs(m), m))


def _outside(x: Scalar, c: Coordinate) -> Scalar:
    """How far a position lies outside limits, zero inside."""
    outside: Scalar = 0.0
    if math.isfinite(c.lower):
        outside = maximum(c.lower - x, outside)
    if math.isfinite(c.upper):
        outside = maximum(x - c.upper, outside)
    return outside


def difference(q: Sequence[Scalar], p: Sequence[Scalar], periodic: Sequence[bool]) -> Scalar:
    """The largest difference between two joint positions: of points on the circle, or of lengths."""
    largest: Scalar = 0.0
    for a, b, around in zip(q, p, periodic, strict=True):
        pairs = [(cos(a), cos(b)), (sin(a), sin(b))] if around else [(a, b)]
        for x, y in pairs:
            largest = maximum(absolute(x - y), largest)
    return largest


def improved(model: Model, frame: Frame, task: str, T: Pose, q: Sequence[Scalar]) -> list[Scalar]:
    """One damped Newton step, (JᵀJ + λ) Δq = Jᵀe: the whole of it or parts, the one that brings nearest."""
    here = kinematics.frame_pose(model, q, frame)
    e: list[Scalar] = list(sub(T.p, here.p))
    if task == "pose":
        e += _turn_error(here.R, T.R)
    Jt = linear.transposed(jacobians.jacobian(model, q, frame)[: len(e)])
    JtJ = linear.product(Jt, linear.transposed(Jt))
    A = [[x + (DAMPING if i == j else 0.0) for j, x in enumerate(row)] for i, row in enumerate(JtJ)]
    step = linear.solve_ldl(A, linear.apply(Jt, e))
    best, nearest = list(q), miss(here, T, task)
    for part in PARTS:
        there = [x + part * dx for x, dx in zip(q, step, strict=True)]
        distance = miss(kinematics.frame_pose(model, there, frame), T, task)
        best = [where(distance < nearest, a, b) for a, b in zip(there, best, strict=True)]
        nearest = where(distance < nearest, distance, nearest)
    return best


def _turn_error(R: Matrix, wanted: Matrix) -> list[Scalar]:
    """½ Σ rᵢ × wᵢ over the columns: sin θ times the axis from R to what is wanted, in base axes."""
    total: Vector = (0.0, 0.0, 0.0)
    for a, b in zip(transpose(R), transpose(wanted), strict=True):
        total = add(total, cross(a, b))
    return [0.5 * x for x in total]
