"""Physically consistent parameters: every body one that a distribution of mass could have.

A body is possible if and only if its pseudo-inertia is positive semidefinite (Wensing, Kim & Slotine 2018):

    J = (Σ h; hᵀ m) ⪰ 0,      Σ = ½ tr(I) 1 − I,

mass, triangle inequalities and all. First the best fit, ‖R B π − ρ‖² on the compressed data with β = B π; then,
among all that fit as well but for SLACK, the one nearest to the values given: what the data do not say stays as it
was. Two ways: a semidefinite program (clarabel), and J = L Lᵀ with the logarithm of L's diagonal as unknowns
(log-Cholesky; Rucker & Wensing 2022), which needs no solver. Either way the eigenvalues of the answer are computed
from the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError, MissingExtraError, unknown
from dalembert.identification.fit.regression import Compressed
from dalembert.identification.fit.regressor import Base, Columns

Array = NDArray[np.float64]
MARGIN = 1e-6  # of a body's own size: how far inside the cone the answer is asked to be
NEAR = 1e-8  # in the first fit, the price of being one size off, against the residual of one sample
SLACK = 1e-3  # of the sum of squares, what nearness may cost


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
        return bool((self.eigenvalues > 0).all())


def consistent(
    columns: Columns,
    base: Base,
    data: Compressed,
    weights: Array,
    near: Array,
    *,
    method: str = "sdp",
    positive: Sequence[str] = ("rotor", "viscous", "coulomb", "coulomb+", "coulomb-"),
) -> Consistent:
    """The best fit among parameters that bodies can have; `near` are the values (of all columns) to stay by where
    the data say nothing. Columns of the kinds in `positive` come out ≥ 0 (friction takes, it does not give)."""
    if method not in METHODS:
        raise unknown("method", method, METHODS)
    if not columns.inertial:
        raise InputError("the inertial parameters are not among the columns: there is nothing to be consistent")
    problem = _Problem(columns, base, data, weights, near, tuple(positive))
    free, iterations, message = METHODS[method](problem)
    values = columns.with_values(free)
    bodies = values[: 10 * columns.bodies].reshape(-1, 10)
    lowest = np.asarray(np.linalg.eigvalsh(pseudo_inertia(bodies))[:, 0], np.float64)
    R = problem.R
    least = float(R[-1, -1] ** 2) if R.shape[0] == R.shape[1] else 0.0
    residual = R[: base.rank, :-1] @ base.of(free) - R[: base.rank, -1]
    return Consistent(values, lowest, float(residual @ residual) + least, least, iterations, message)


class _Problem:
    """min ‖F π − b‖² + ‖D (π − near)‖² over the free columns, bodies in their cones, some columns ≥ 0."""

    def __init__(
        self, columns: Columns, base: Base, data: Compressed, weights: Array, near: Array, positive: tuple[str, ...]
    ) -> None:
        self.columns, self.base = columns, base
        self.R = data.stacked(weights)
        p = base.rank
        scale = np.sqrt(max(data.rows, 1))  # the cost per sample: a solver likes numbers of order one
        self.F = self.R[:p, :-1] @ base.matrix() / scale
        self.b = self.R[:p, -1] / scale
        self.floor = float(self.R[-1, -1] ** 2) / scale**2 if len(self.R) == p + 1 else 0.0  # what no β explains
        self.near = np.asarray(near, float)[columns.free]
        kinds = [name.rsplit(":", 1)[-1] for name in columns.names]
        # A size for every free column: at least what a body of a kilogram and ten centimeters has.
        typical = {"m": 1.0, "mx": 0.1, "my": 0.1, "mz": 0.1}
        sizes = np.array([typical.get(kind, 0.01 if kind.startswith("I") else 0.1) for kind in kinds])
        self.size = np.maximum(np.abs(self.near), sizes)
        self.D = NEAR**0.5 / self.size
        self.positive = [k for k, kind in enumerate(kinds) if kind in positive]
        # Of each body's ten parameters, where they stand among the free columns (None: fixed).
        where = {int(k): i for i, k in enumerate(columns.free)}
        self.places = [[where.get(10 * body + j) for j in range(10)] for body in range(columns.bodies)]

    def possible(self, free: Array) -> bool:
        """Whether every body is one that could be."""
        bodies = self.columns.with_values(free)[: 10 * self.columns.bodies].reshape(-1, 10)
        return bool(np.isfinite(free).all() and (np.linalg.eigvalsh(pseudo_inertia(bodies)) > 0).all())

    def mass(self, body: int) -> float:
        """The size of a body's mass."""
        k = self.places[body][0]
        return max(float(self.size[k]) if k is not None else 1.0, 1e-3)


def _sdp(problem: _Problem) -> tuple[Array, int, str]:
    """The best fit; then the nearest to the given values among those that fit as well but for SLACK. Unknowns are in
    units of their size, x = π / size."""
    F, b = problem.F * problem.size, problem.b
    near = problem.near / problem.size
    pull = np.sqrt(NEAR) * np.eye(len(near))
    best, first, said = _solve(problem, np.vstack([F, pull]), np.concatenate([b, pull @ near]), None)
    error = F @ best - b
    limit = float(np.sqrt((error @ error + problem.floor) * (1 + SLACK) - problem.floor))
    nearest, second, word = _solve(problem, np.eye(len(near)), near, (F, b, limit))
    missed = F @ nearest - b
    if not problem.possible(nearest * problem.size) or missed @ missed > (1 + SLACK) * (limit**2 + 1e-300):
        nearest, word = best, said
    return nearest * problem.size, first + second, word


def _solve(
    problem: _Problem, whole: Array, target: Array, ball: tuple[Array, Array, float] | None
) -> tuple[Array, int, str]:
    """min ‖whole x − target‖² with bodies in their cones, some columns ≥ 0 and, if asked, ‖F x − b‖ ≤ limit."""
    try:
        import clarabel
        from scipy import sparse
    except ImportError:
        raise MissingExtraError("clarabel is not installed: pip install 'dalembert[opt]'") from None
    p = whole.shape[1]
    rows, right, cones = _cones(problem, p)
    if ball is not None:
        F, b, limit = ball
        rows.append(np.vstack([np.zeros(p), -F]))
        right.append(np.concatenate([[limit], -b]))
        cones.append(clarabel.SecondOrderConeT(len(b) + 1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    P = sparse.csc_matrix(np.triu(whole.T @ whole))
    A = sparse.csc_matrix(np.vstack(rows))
    solver = clarabel.DefaultSolver(P, -(whole.T @ target), A, np.concatenate(right), cones, settings)
    solution = solver.solve()
    return np.asarray(solution.x), int(solution.iterations), str(solution.status)


def _cones(problem: _Problem, p: int) -> tuple[list[Array], list[Array], list[object]]:
    """Rows G, right sides h and cones of h − G x ∈ K: what must be positive, and each body's pseudo-inertia."""
    import clarabel

    rows: list[Array] = []
    right: list[Array] = []
    cones: list[object] = []
    if problem.positive:
        rows.append(-np.eye(p)[problem.positive])
        right.append(np.zeros(len(problem.positive)))
        cones.append(clarabel.NonnegativeConeT(len(problem.positive)))
    for body, places in enumerate(problem.places):
        # Bodies of grams and of tons look alike to the solver; the smallest eigenvalue is asked to be a part of what a
        # typical body of this size has.
        m = problem.mass(body)
        scale = np.diag([10.0, 10.0, 10.0, 1.0]) / np.sqrt(m)
        basis = np.stack([_svec(scale @ pseudo_inertia(np.eye(10)[j]) @ scale) for j in range(10)], axis=1)
        G = np.zeros((10, p))
        constant = _svec(scale @ (-MARGIN * m * np.diag([0.01, 0.01, 0.01, 1.0])) @ scale)
        for j, k in enumerate(places):
            if k is None:
                constant = constant + basis[:, j] * problem.columns.known[10 * body + j]
            else:
                G[:, k] = -basis[:, j] * problem.size[k]
        rows.append(G)
        right.append(constant)
        cones.append(clarabel.PSDTriangleConeT(4))
    return rows, right, cones


def _svec(S: Array) -> Array:
    """The upper triangle, column by column, off the diagonal times √2: what clarabel takes."""
    return np.array([S[i, j] * (1.0 if i == j else np.sqrt(2.0)) for j in range(4) for i in range(j + 1)])


# ---------------------------------------------------------------------------------------------------- log-Cholesky
STEPS = 200


def _log_cholesky(problem: _Problem) -> tuple[Array, int, str]:
    """Levenberg–Marquardt over log-Cholesky coordinates of every body and logarithms of what must be positive. (By
    hand: a step of a logarithm by more than two is none to be believed; SciPy's solvers, which do not know that, need
    five times as many evaluations.)"""
    if any(k is None for places in problem.places for k in places):
        raise InputError("log-Cholesky needs all ten parameters of every body free; use method='sdp'")
    x = _start(problem)
    value, error, slope = _evaluate(problem, x)
    damping = 1e-3
    for done in range(1, STEPS + 1):
        H, g = slope.T @ slope, slope.T @ error
        while True:
            step = -np.linalg.solve(H + damping * np.diag(np.diag(H) + 1e-12), g)
            tried = x + np.clip(step, -2.0, 2.0)
            new_value, new_error, new_slope = _evaluate(problem, tried)
            if new_error @ new_error < error @ error:
                break
            damping *= 4.0
            if damping >= 1e12:
                return value, done, "no further improvement"
        drop = 1.0 - (new_error @ new_error) / (error @ error)
        x, value, error, slope = tried, new_value, new_error, new_slope
        damping = max(damping / 5.0, 1e-12)
        if drop < 1e-9:
            return value, done, "converged"
    return value, STEPS, f"stopped after {STEPS} steps"


def _start(problem: _Problem) -> Array:
    """The given values, each body brought inside its cone."""
    x = np.zeros(len(problem.near))
    for where in problem.places:
        places = np.array(where, np.int64)
        J = pseudo_inertia(problem.near[places])
        values, vectors = np.linalg.eigh(J)
        m = max(float(values[-1]), 1e-2)
        J = (vectors * np.maximum(values, 1e-4 * m)) @ vectors.T
        L = np.linalg.cholesky(J)
        x[places[:4]] = np.log(np.diag(L))
        x[places[4:]] = L[np.tril_indices(4, -1)]
    inside = {k for places in problem.places for k in places}
    for k, value in enumerate(problem.near):
        if k not in inside:
            x[k] = np.log(max(value, 1e-3)) if k in problem.positive else value
    return x


def _evaluate(problem: _Problem, x: Array) -> tuple[Array, Array, Array]:
    """(π, residuals, their derivatives by x)."""
    pi = x.copy()
    T = np.eye(len(x))  # dπ/dx
    positive = problem.positive
    pi[positive] = np.exp(x[positive])
    T[positive, positive] = pi[positive]
    for places in problem.places:
        where = np.array(places)
        values, slope = _body_of(x[where])
        pi[where] = values
        T[np.ix_(where, where)] = slope
    error = np.concatenate([problem.F @ pi - problem.b, problem.D * (pi - problem.near)])
    return pi, error, np.vstack([problem.F @ T, problem.D[:, None] * T])


def _body_of(x: Array) -> tuple[Array, Array]:
    """The ten parameters of J = L Lᵀ and their derivatives by (log of the diagonal, what is below it)."""
    L = np.diag(np.exp(x[:4]))
    below = np.tril_indices(4, -1)
    L[below] = x[4:]
    rows, columns = np.concatenate([(range(4), range(4)), below], axis=1)
    dL = np.zeros((10, 4, 4))
    dL[range(10), rows, columns] = [*np.diag(L), *np.ones(6)]
    half = dL @ L.T
    return from_pseudo_inertia(L @ L.T), from_pseudo_inertia(half + np.swapaxes(half, -1, -2)).T


METHODS: dict[str, Callable[[_Problem], tuple[Array, int, str]]] = {"sdp": _sdp, "log-cholesky": _log_cholesky}
