"""Physically consistent parameters: every body one that a distribution of mass could have.

A body is possible if and only if its pseudo-inertia is positive semidefinite (Wensing, Kim & Slotine 2018):

    J = (Σ h; hᵀ m) ⪰ 0,      Σ = ½ tr(I) 1 − I,

mass, triangle inequalities and all. Of all possible π, the one that fits best, and stays by the values given where the
data say nothing:

    min ‖R B π − ρ‖²/e² + λ ‖(π − π₀)/size‖²,      e² = ‖R B π − ρ‖² of the unconstrained fit,

on the compressed data, β = B π. One over λ is the number of samples that the log is worth, its residuals being alike
from one sample to the next: the values given are believed to one size of theirs. Everything is counted in units of the
robot and the data (`find_sizes`, e), so that neither kilograms nor meters matter. With H = L² the matrix of this
quadratic form and π̂ its minimum, ζ = L (π − π̂)/size is what a semidefinite program (clarabel) makes as short as the
cones allow: exact data, where e is nothing, are as well conditioned as any. The solver's word is not believed:
eigenvalues, costs and a lower bound of the cost (from its dual variables, brought into their cones) are computed from
its answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from dalembert.arguments import Array
from dalembert.errors import InputError
from dalembert.identification.fit.estimate import Estimate
from dalembert.identification.fit.regression import Compressed
from dalembert.identification.fit.regressor import ONE_SIDED, Base, Columns, find_units
from dalembert.lazy import library

MARGIN = 1e-6  # of a body's own size: how far inside the cone the answer is asked to be
EXACT = 1e-7  # of the torques: what is left below it is rounding
GAP = 1e-3  # of the residual's square, between an answer and its lower bound: it is the best
# How a projection is posed to the solver, by turns until an answer stands: the unit in which it counts, and what it
# adds to the diagonal of its equations (its own 1e-8 drowns data that are exact).
POSED = ((1.0, 1e-8), (1.0, 1e-12), (1.0, 1e-10), (1e1, 1e-8), (1e1, 1e-14), (1e2, 1e-12))
LOOSER = (1.0, 1e2, 1e4)  # residuals as which those of data too exact for the solver are then taken
LIGHT = 0.1  # of what the torques show: less is never meant by a value that is given


def pseudo_inertia(parameters: Array) -> Array:
    """J (..., 4, 4) of (m, mx, my, mz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz) (..., 10), inertia about the same origin as h."""
    m, x, y, z, xx, xy, xz, yy, yz, zz = np.moveaxis(np.asarray(parameters, float), -1, 0)
    half = 0.5 * (xx + yy + zz)
    rows = [[half - xx, -xy, -xz, x], [-xy, half - yy, -yz, y], [-xz, -yz, half - zz, z], [x, y, z, m]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def from_pseudo_inertia(J: Array) -> Array:
    """The ten parameters (..., 10) of J: I = tr(Σ) 1 − Σ."""
    S = J[..., :3, :3]
    trace = np.trace(S, axis1=-2, axis2=-1)
    I = trace[..., None, None] * np.eye(3) - S
    return np.concatenate([J[..., 3, 3:], J[..., :3, 3], I[..., *np.triu_indices(3)]], axis=-1)


@dataclass(frozen=True, eq=False)
class Consistent:
    """π of all columns, (p,); the smallest eigenvalue of each body's pseudo-inertia, recomputed; the sum of weighted
    squares, beside that of the unconstrained fit; iterations and the solver's own word."""

    parameters: Array
    eigenvalues: Array
    cost: float
    unconstrained: float
    iterations: int
    message: str

    @property
    def feasible(self) -> bool:
        return bool((self.eigenvalues >= 0).all())


def find_sizes(columns: Columns, base: Base, data: Compressed, near: Array) -> Array:
    """What is large for each free column, (p,), in its unit: the value given, or what the torques show, if that is ten
    times as much or no value is given. Torques show the value that would need all of a joint's torque in the motion of
    the joint that moves most; for bodies the mass m with which bodies alike would need all torques, and m l, m l² with
    l half the robot's length."""
    B = base.matrix()
    whole = np.sqrt(data.power)
    unit = data.triangles[..., :-1] @ B  # what one unit of each column does
    given = np.abs(np.asarray(near, float))
    size = _larger(given[columns.free], _shown_by_joints(columns, np.linalg.norm(unit, axis=1), whole))
    if columns.bodies:
        l = 0.5 * find_units(columns.robot)[0]
        ten = np.array([1.0, *[l] * 3, *[l * l] * 6])
        alike = from_pseudo_inertia(np.outer([l, l, l, 1], [l, l, l, 1]) * (np.eye(4) + 0.5))
        bodies = np.zeros(len(columns.all_names))
        bodies[: 10 * columns.bodies] = np.tile(alike, columns.bodies)
        needed = np.linalg.norm(unit @ bodies[columns.free], axis=-1)[whole > 0] / whole[whole > 0]
        shown = 1 / np.sqrt(np.mean(needed**2)) if needed.any() else 0.0
        masses = _larger(given[: 10 * columns.bodies : 10], np.array(shown))
        masses = np.where(masses > 0, masses, masses.max() or 1.0)
        own = np.maximum(given[: 10 * columns.bodies], np.outer(masses, ten).reshape(-1))
        inertial = columns.free < 10 * columns.bodies
        size[inertial] = own[columns.free[inertial]]
    return np.where(size > 0, size, 1.0)


def _larger(given: Array, shown: Array) -> Array:
    return np.where(given > LIGHT * shown, given, np.where(given > 0, LIGHT, 1.0) * shown)


def _shown_by_joints(columns: Columns, moved: Array, whole: Array) -> Array:
    """The value of each free column (p,) that would need all of its joint's torque, `whole` (n,), if the joint moved as
    the one that moves most; `moved` (n, p), what one unit of each column does to each joint. Zeros for bodies."""
    robot = columns.robot
    joints = {name: k for k, name in enumerate(robot.joint_names)}
    slides = [not c.joint.turns for c in robot.model.coordinates]
    most: dict[tuple[str, bool], float] = {}
    places = {}
    for j, name in enumerate(columns.names):
        joint, _, kind = name.removeprefix("motor of ").rpartition(":")
        if joint in joints and columns.free[j] >= 10 * columns.bodies:
            k = joints[joint]
            places[j] = k, (kind, slides[k])
            most[kind, slides[k]] = max(float(moved[k, j]), most.get((kind, slides[k]), 0.0))
    shown = np.zeros(len(columns.names))
    for j, (k, key) in places.items():
        shown[j] = whole[k] / most[key] if most[key] > 0 else 0.0
    return shown


def fit_consistent(
    columns: Columns,
    base: Base,
    data: Compressed,
    estimate: Estimate,
    near: Array,
    *,
    positive: Sequence[str] = ONE_SIDED,
) -> Consistent:
    """The best fit among parameters that bodies can have; `estimate`, of the same data, has the weights of the joints
    and knows what samples are worth; `near` are the values (of all columns) to stay by where the data say nothing.
    Columns of the kinds in `positive` come out ≥ 0 (friction takes, it does not give).

    Raises InputError where no answer stands up to its own eigenvalues and lower bound."""
    if not columns.inertial:
        raise InputError(
            "missing",
            "columns",
            problem="the inertial parameters are not among the columns, so nothing can be made consistent",
        )
    weights = estimate.weights
    R = data.stacked(weights)
    A, b = R[: base.rank, :-1] @ base.matrix(), R[: base.rank, -1]
    least = float(R[-1, -1] ** 2) if len(R) == base.rank + 1 else 0.0
    size = find_sizes(columns, base, data, near)
    start = np.asarray(near, float)[columns.free]
    kinds = [name.rsplit(":", 1)[-1] for name in columns.names]
    one_sided = [k for k, kind in enumerate(kinds) if kind in positive]
    rows, right, cones = _cones(columns, start, size, one_sided)
    smallest = EXACT * float(np.linalg.norm(R[:, -1]))
    left = float(np.sqrt(max(least, smallest**2))) or 1.0  # torques of zeros leave nothing
    pull = left * np.sqrt(estimate.repeated / (data.rows * len(weights)))
    for looser, posed in product(LOOSER, POSED):
        e, held = looser * left, looser * pull
        try:
            answer, iterations, word = _project(A * size, b - A @ start, e, held, posed, rows, right, cones)
        except ArithmeticError as error:
            word = str(error)
            continue
        free = start + size * answer
        free[one_sided] = np.maximum(free[one_sided], 0.0)
        values = columns.with_values(free)
        bodies = values[: 10 * columns.bodies].reshape(-1, 10)
        lowest = np.asarray(np.linalg.eigvalsh(pseudo_inertia(bodies))[:, 0], np.float64)
        known = np.isin(np.arange(columns.bodies), columns.free // 10, invert=True)  # in all ten parameters
        if ((lowest > 0) | known).all():
            missed = A @ free - b
            word += f", residuals taken as {looser:g} times as large" if looser > 1 else ""
            return Consistent(values, lowest, float(missed @ missed) + least, least, iterations, word)
        word = f"a pseudo-inertia has the eigenvalue {lowest.min():.2g}"
    raise InputError(
        "infeasible",
        "consistent",
        problem=f"no physically consistent parameters were found for {columns.robot.name!r} ({word})",
        remedy="Check fixed values, kinematics and the units of the log. consistent=False leaves bodies as fitted.",
    )


def _project(
    A: Array,
    b: Array,
    left: float,
    pull: float,
    posed: tuple[float, float],
    rows: Array,
    right: Array,
    cones: list[tuple[str, int]],
) -> tuple[Array, int, str]:
    """The x with right − rows x in the cones that is least in (‖A x − b‖² + ‖pull x‖²)/left², iterations and the
    solver's word; to the solver the root of that is counted in a unit that it may like better, `posed` with what
    it adds to its diagonal. ArithmeticError where it is not, or not shown to be, the least."""
    from scipy import sparse

    clarabel = library("clarabel")
    unit, added = posed
    whole = unit * left
    _, s, Vt = np.linalg.svd(A / whole, full_matrices=True)
    s = np.append(s, np.zeros(len(Vt) - len(s)))
    stiff = np.hypot(s, pull / whole)
    best = Vt.T @ ((Vt @ (A.T @ b)) / (whole * stiff) ** 2)
    back = (Vt.T / stiff) @ Vt  # x = best + back ζ; the symmetric root, which no choice of singular vectors changes
    G, h = rows @ back, right - rows @ best
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    settings.static_regularization_constant = added
    kinds = {"positive": clarabel.NonnegativeConeT, "body": lambda size: clarabel.PSDTriangleConeT(4)}
    P = sparse.identity(len(best), format="csc")
    q = np.zeros(len(best))
    made = [kinds[kind](size) for kind, size in cones]
    solution = clarabel.DefaultSolver(P, q, sparse.csc_matrix(G), h, made, settings).solve()
    zeta, word = np.asarray(solution.x), str(solution.status)
    if not np.isfinite(zeta).all():
        raise ArithmeticError(word)
    dual = _inside(np.asarray(solution.z), cones)
    pulled = G.T @ dual
    gap = unit**2 * (zeta @ zeta + pulled @ pulled + 2 * (h @ dual))  # twice the cost less its bound, −½‖Gᵀz‖² − hᵀz
    if not abs(gap) <= GAP * (1 + unit**2 * (zeta @ zeta)):  # far below its bound it is outside the cones
        raise ArithmeticError(f"the solver ends with {word}, {gap:.2g} above its bound")
    x = best + back @ zeta
    outside = _outside(right - rows @ x, cones)
    if not outside <= MARGIN:
        raise ArithmeticError(f"the solver ends with {word}, {outside:.2g} outside of what bodies and friction can be")
    return x, int(solution.iterations), word


def _cones(
    columns: Columns, start: Array, size: Array, positive: list[int]
) -> tuple[Array, Array, list[tuple[str, int]]]:
    """Rows G, right sides h and cones of h − G x ∈ K, π = start + size x: what must be positive, and the pseudo-inertia
    of each body that is not known in all ten parameters, in units of a body of its size."""
    p = len(size)
    rows, right = [-np.eye(p)[positive]], [(start / size)[positive]]
    cones = [("positive", len(positive))] if positive else []
    where = {int(k): i for i, k in enumerate(columns.free)}
    l = 0.5 * find_units(columns.robot)[0]
    known = columns.with_values(start)
    for body in range(columns.bodies):
        places = [where.get(10 * body + j) for j in range(10)]
        if not any(k is not None for k in places):
            continue
        m = float(size[places[0]]) if places[0] is not None else float(known[10 * body])
        unit = np.diag([1 / l, 1 / l, 1 / l, 1.0]) / np.sqrt(m if m > 0 else float(size.max()))
        basis = np.stack([_svec(unit @ pseudo_inertia(one) @ unit) for one in np.eye(10)], axis=1)
        G = np.zeros((10, p))
        for j, k in enumerate(places):
            if k is not None:
                G[:, k] = -basis[:, j] * size[k]
        rows.append(G)
        right.append(basis @ known[10 * body : 10 * body + 10] - MARGIN * _svec(np.eye(4)))
        cones.append(("body", 10))
    return np.vstack(rows), np.concatenate(right), cones


UPPER = [(i, j) for j in range(4) for i in range(j + 1)]  # the upper triangle, column by column, as clarabel has it
WEIGHT = np.array([1.0 if i == j else np.sqrt(2.0) for i, j in UPPER])  # so that products of vectors are traces


def _svec(S: Array) -> Array:
    return np.array([S[i, j] for i, j in UPPER]) * WEIGHT


def _outside(s: Array, cones: list[tuple[str, int]]) -> float:
    """How far s is from what is in its cones, in its largest entry."""
    return float(np.abs(s - _inside(s, cones)).max(initial=0.0))


def _inside(z: Array, cones: list[tuple[str, int]]) -> Array:
    """The nearest to z that is in the cones, which are their own duals."""
    parts, at = [], 0
    for kind, size in cones:
        part = z[at : at + size]
        at += size
        if kind == "body":
            S = np.zeros((4, 4))
            for (i, j), x in zip(UPPER, part / WEIGHT, strict=True):
                S[i, j] = S[j, i] = x
            values, vectors = np.linalg.eigh(S)
            part = _svec((vectors * np.maximum(values, 0.0)) @ vectors.T)
        parts.append(np.maximum(part, 0.0) if kind == "positive" else part)
    return np.concatenate(parts)
