"""The linear quadratic regulator: u = −K x that makes ∫ xᵀQx + uᵀRu + 2 xᵀNu least, with its certificate."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.algorithms import linear as small
from dalembert.arguments import Array, array, of_kind
from dalembert.control.linear import StateSpace
from dalembert.draw.blocks import Diagram, Signal, block, terminal, total
from dalembert.errors import InputError
from dalembert.flow import Scalar, Scalars
from dalembert.law import Act, Law

SYMMETRIC = 1e-9  # of its largest entry, how far a weight may be from symmetric


@dataclass(frozen=True, eq=False)
class LQR:
    """`K` (m, n); `P` (n, n), xᵀPx is the cost from x on; `poles` of the closed loop, and whether it is `stable`;
    `residual` of the Riccati equation relative to its terms, recomputed."""

    system: StateSpace
    K: Array
    P: Array
    poles: NDArray[np.complex128]
    residual: float
    stable: bool

    def law(self) -> Law:
        """u = u_at − K (x − x_at): measures the states, puts out the inputs of the system that was linearized.

        Of a sampled system it runs at that system's sample time only: its one state counts the samples, and has no rate
        by which a continuous run could go on."""
        K, x0, u0 = self.K.tolist(), self.system.x_at.tolist(), self.system.u_at.tolist()

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            off = [a - b for a, b in zip(y, x0, strict=True)]
            return [b - small.inner(row, off) for row, b in zip(K, u0, strict=True)]

        law = Law("LQR", self.system.states, (), self.system.inputs, act)
        h = self.system.dt
        if h is None:
            return law

        def update(sample: float) -> Act:
            if abs(sample - h) > 1e-9 * h:
                raise InputError(
                    "conflict",
                    "sample_time",
                    sample,
                    problem=f"the regulator was made for a sample time of {h:g} s, and runs every {sample:g} s",
                )
            return lambda t, y, r, z, p: [z[0] + 1.0]

        return replace(law, states=("samples",), initial=(0.0,), update=update)

    def diagram(self) -> Diagram:
        """u = u₀ − K (x − x₀)."""
        nodes = (
            terminal("u0", "u_0", 0, 0),
            total("sum", 1, 0),
            block("system", "ẋ = A x + B u", 2, 0, tone="plant"),
            block("K", "K", 2, 1, flip=True, tone="servo"),
            total("off", 3, 1),
            terminal("x0", "x_0", 4, 1),
        )
        signals = (
            Signal("u0", "sum", sign="+"),
            Signal("sum", "system", "u"),
            Signal("system", "off", "x", sign="+"),
            Signal("x0", "off", sign="−", leave="left", enter="right"),
            Signal("off", "K", leave="left"),
            Signal("K", "sum", sign="−"),
        )
        return Diagram("State feedback", nodes, signals, "u = u_0 − K (x − x_0)")

    def closed_loop(self) -> StateSpace:
        return self.system.closed_loop(self.K)


def lqr(system: StateSpace, Q: ArrayLike, R: ArrayLike, N: ArrayLike | None = None) -> LQR:
    """The regulator of a linear system, continuous or sampled. Q (n, n) and R (m, m), or their diagonals, or one number
    for all; N (n, m). R must be positive definite, Q − N R⁻¹ Nᵀ not negative. SciPy solves the Riccati equation."""
    of_kind(system, StateSpace, "lqr takes a StateSpace (linearize(system, x) makes one), not")
    n, m = system.B.shape
    q, r = _read_weight("Q", Q, n, "state"), _read_weight("R", R, m, "input")
    cross = np.zeros((n, m)) if N is None else array("N", N, (n, m), meaning="states by inputs")
    if np.linalg.eigvalsh(r)[0] <= 0:
        raise InputError("wrong-value", "R", expected="positive definite")
    reduced = np.linalg.eigvalsh(q - cross @ np.linalg.solve(r, cross.T))[0]
    if reduced < -1e-9 * max(np.abs(q).max(), 1e-300):
        raise InputError(
            "wrong-value",
            "Q",
            reduced,
            problem=f"Q − N R⁻¹ Nᵀ has a negative eigenvalue, {reduced:.3g}, so the cost has no minimum",
        )
    P = _solve_riccati(system, q, r, cross)
    A, B = system.A, system.B
    if system.dt is None:
        K = np.linalg.solve(r, B.T @ P + cross.T)
        terms = [A.T @ P, P @ A, -(P @ B + cross) @ K, q]
    else:
        K = np.linalg.solve(r + B.T @ P @ B, B.T @ P @ A + cross.T)
        terms = [A.T @ P @ A, -P, -(A.T @ P @ B + cross) @ K, q]
    left = float(np.abs(sum(terms)).max() / max(float(np.abs(term).max()) for term in terms))
    closed = system.closed_loop(K)
    return LQR(system, np.asarray(K, float), P, closed.poles, left, closed.stable)


def _solve_riccati(system: StateSpace, q: Array, r: Array, cross: Array) -> Array:
    from scipy.linalg import solve_continuous_are, solve_discrete_are

    solver = solve_continuous_are if system.dt is None else solve_discrete_are
    try:
        P = np.asarray(solver(system.A, system.B, q, r, s=cross), float)
    except (np.linalg.LinAlgError, ValueError) as failure:
        rank, n = system.controllability, len(system.A)
        why = (
            f"inputs reach {rank} of {n} states: what they do not reach must be stable by itself"
            if rank < n
            else "Q must see every state that is not stable by itself, or the poles lie on the edge"
        )
        raise InputError(
            "infeasible", problem=f"the Riccati equation has no stabilizing solution ({failure}); {why}"
        ) from None
    return (P + P.T) / 2


def _read_weight(name: str, value: ArrayLike, n: int, what: str) -> Array:
    W = array(name, value)
    if W.shape == ():
        W = float(W) * np.eye(n)
    elif W.shape == (n,):
        W = np.diag(W)
    if W.shape != (n, n):
        raise InputError(
            "wrong-shape", name, W, expected=f"one number, {n} numbers (one per {what}) or an {n}×{n} matrix"
        )
    if np.abs(W - W.T).max() > SYMMETRIC * max(float(np.abs(W).max()), 1e-300):
        raise InputError("wrong-value", name, expected="symmetric")
    if name == "Q" and np.linalg.eigvalsh(W)[0] < -1e-9 * max(float(np.abs(W).max()), 1e-300):
        raise InputError("wrong-value", name, expected="positive semidefinite")
    return np.asarray((W + W.T) / 2)
