"""Who speaks of torques under a hypothesis: regressions on a motion's columns, reduced once to Gram matrices.

    free bodies     τ = Y_b(q, q̇, q̈) β + friction              kinematics alone; any base parameters β
    known bodies    τ = Σ_b (s_b D + r_b g·G) π_b + friction    the model's, up to factors s_b, r_b ≥ 0, and a load

Friction must brake, rotors turn with positive inertia, and the mean of every M_jj must be positive, or the witness does
without: torques of the wrong sign fit as well as others where nobody asks for that.

Every witness is a linear map of the same columns, motion and gravity by its three components, τ = (a D + Σ_k g_k G_k) π
+ …, with a = 1/α² for a clock that is α times too fast: a hypothesis about gravity, clock, signs or factors costs a few
solves, and only another reading of the positions costs a pass over the samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dalembert.algorithms.regressor import PER_BODY, regressor
from dalembert.arguments import Array
from dalembert.caching import cached_property
from dalembert.compile import Kernel, compile_function
from dalembert.flow import Scalar, Scalars
from dalembert.identification.fit.regressor import Base, from_matrix
from dalembert.robot import Robot

G0 = 9.81
RIDGE = 1e-5  # of columns of unit size
MOST_SIGNS = 10  # joints of which all signs are tried


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A robot as its kinematics tell it: Y(q, q̇, q̈, g), and the combinations of parameters that motion under any
    gravity can tell apart (`base`, of bodies and rotors)."""

    robot: Robot
    kernel: Kernel
    base: Base

    @property
    def bodies(self) -> int:
        return len(self.robot.model.bodies)

    @cached_property
    def inertial(self) -> NDArray[np.int64]:
        """Places of the base parameters that are those of bodies."""
        return self.base.kept[self.base.kept < PER_BODY * self.bodies]

    @cached_property
    def rotors(self) -> NDArray[np.int64]:
        """Joints whose rotors motion tells from their links."""
        return self.base.kept[len(self.inertial) :] - PER_BODY * self.bodies

    @cached_property
    def known(self) -> Array:
        """(base parameters, bodies + 4 + n): of each body as the model has it, of the first four parameters of a load
        at the last, of a rotor at each joint."""
        P = PER_BODY * self.bodies
        B = self.base.matrix()
        each = np.zeros((P, self.bodies))
        for b, values in enumerate(self.robot.parameters().reshape(-1, PER_BODY)):
            each[PER_BODY * b : PER_BODY * (b + 1), b] = values
        return np.concatenate([B[:, :P] @ each, B[:, P - PER_BODY : P - PER_BODY + 4], B[:, P:]], axis=1)

    @cached_property
    def rotor_inertias(self) -> Array:
        """(n,), zero where the model has none."""
        return np.asarray(self.robot.parameters(rotor=True)[PER_BODY * self.bodies :])


@lru_cache(maxsize=8)
def mechanism(robot: Robot) -> Mechanism:
    """Compiled once for a robot."""
    n, P = robot.n, PER_BODY * len(robot.model.bodies)

    def function(q: Scalars, qd: Scalars, qdd: Scalars, g: Scalars) -> list[list[Scalar]]:
        return regressor(replace(robot.model, gravity=tuple(g)), q, qd, qdd)

    kernel = compile_function(function, [(n,)] * 3 + [(3,)], [(n, P)], "look", arguments=("q", "qd", "qdd", "g"))
    rng = np.random.default_rng(0)
    count = 12 * P // n + 20
    q, g = rng.uniform(-np.pi, np.pi, (count, n)), rng.normal(0.0, G0, (count, 3))
    qd, qdd = rng.uniform(-3, 3, (2, count, n))
    Y = np.concatenate([np.asarray(kernel(q, qd, qdd, g)), np.eye(n) * qdd[..., None]], axis=-1)
    return Mechanism(robot, kernel, from_matrix(Y.reshape(count * n, -1), tuple(map(str, range(P + n)))))


@dataclass(frozen=True, eq=False)
class Torques:
    """What regressions know of torques: `cross` (K, n, l) Σ Y τ, `squares` (K, n) Σ τ², `spread` (n,) Σ (τ − τ̄)²."""

    cross: Array
    squares: Array
    spread: Array

    def times(self, factor: Array) -> Torques:
        return Torques(self.cross * factor[:, None], self.squares * factor**2, self.spread * factor**2)


@dataclass(frozen=True, eq=False)
class Witness:
    """Columns X = L W of a regression, and rows C with C x ≥ 0."""

    W: Array
    C: Array | None = None


class Motion:
    """One reading of the positions: Gram matrices of all columns L that a witness may want, block by block (K), joint
    by joint: D (of the base parameters of bodies), G_x, G_y, G_z (of those that gravity moves), rotors, and of each
    joint 1, q̇ and its direction."""

    def __init__(self, arm: Mechanism, q: Array, qd: Array, qdd: Array, direction: Array) -> None:
        """(K, samples, n) each."""
        self.arm, self.n = arm, arm.robot.n
        still, one = np.zeros_like(q), np.eye(self.n)

        def columns(q: Array, qd: Array, qdd: Array, g: Array) -> Array:
            return np.asarray(arm.kernel(q, qd, qdd, g))[..., arm.inertial]

        G = [columns(q, still, still, axis) for axis in np.eye(3)]
        self.heavy = np.flatnonzero(np.any([np.abs(g).max(axis=(0, 1, 2)) > 0 for g in G], axis=0))
        own = [one * x[..., None] for x in (np.ones_like(q), qd, direction)]
        rotors = (one * qdd[..., None])[..., arm.rotors]
        parts = [columns(q, qd, qdd, np.zeros(3)), *(g[..., self.heavy] for g in G), rotors, *own]
        self.columns = np.ascontiguousarray(np.moveaxis(np.concatenate(parts, axis=-1), 2, 1))  # (K, n, m, l)
        self.gram = np.swapaxes(self.columns, -1, -2) @ self.columns  # (K, n, l, l)
        self._positions, self._columns = q[:, :: max(1, q.shape[1] // 8)], columns
        self.own = np.eye(self.gram.shape[-1])[:, -3 * self.n :]

    @cached_property
    def inertia(self) -> Array:
        """(n, base parameters of bodies): the mean of M_jj over the motion, of each."""
        q = np.repeat(self._positions[:, :, None, :], self.n, axis=2)
        unit = np.broadcast_to(np.eye(self.n), q.shape).copy()
        M = self._columns(q, np.zeros_like(q), unit, np.zeros(3))
        return np.asarray(np.einsum("kmjjp->jp", M) / self._positions[..., 0].size)

    def torques(self, tau: Array) -> Torques:
        """tau (K, m, n) in the order of the joints."""
        t = np.swapaxes(tau, 1, 2)
        spread = t.var(axis=(0, 2)) * t.shape[0] * t.shape[2]
        return Torques(
            (t[:, :, None, :] @ self.columns)[:, :, 0],
            np.sum(t**2, axis=-1),
            np.maximum(spread, 1e-12 * spread.max() + 1e-300),
        )

    def slope(self, x: Array) -> Array:
        """(l, 3): the columns of gravity's three components, for base parameters x."""
        Z = np.zeros((self.gram.shape[-1], 3))
        P, heavy = len(self.arm.inertial), self.heavy
        for k in range(3):
            Z[P + k * len(heavy) + np.arange(len(heavy)), k] = x[heavy]
        return Z

    def parameters(self, g: Array, a: float) -> Array:
        """(l, base parameters): their columns under gravity g, with motion times a."""
        P, heavy, r = len(self.arm.inertial), self.heavy, len(self.arm.rotors)
        W = np.zeros((self.gram.shape[-1], P + r))
        W[np.arange(P), np.arange(P)] = a
        for k in range(3):
            W[P + k * len(heavy) + np.arange(len(heavy)), heavy] = g[k]
        W[P + 3 * len(heavy) + np.arange(r), P + np.arange(r)] = a
        return W

    def free_bodies(self, g: Array, a: float) -> Witness:
        """Any base parameters."""
        P, n, r = len(self.arm.inertial), self.n, len(self.arm.rotors)
        W = np.concatenate([self.parameters(g, a), self.own], axis=1)
        C = np.zeros((3 * n, W.shape[1]))
        C[: 2 * n, P + r + n :] = np.eye(2 * n)
        C[2 * n :, :P] = self.inertia
        C[2 * n + self.arm.rotors, P + np.arange(r)] = 1.0
        return Witness(W, C)

    def known_bodies(self, g: Array, a: float) -> Witness:
        """The model's bodies, each up to a factor of its weight and one of its inertia (which CAD knows worse), a load,
        and rotors."""
        b, known = self.arm.bodies, self.arm.known
        moving, heavy = self.parameters(np.zeros(3), a) @ known, self.parameters(g, 0.0) @ known[:, : b + 4]
        parts = [moving[:, :b], moving[:, b + 4 :], heavy[:, :b], moving[:, b : b + 4] + heavy[:, b:], self.own]
        W = np.concatenate(parts, axis=1)
        load = 2 * b + self.n
        free = np.r_[load + 1 : load + 4, load + 4 : load + 4 + self.n]  # moments of the load, offsets
        return Witness(W, np.delete(np.eye(W.shape[1]), free, axis=0))

    def model(self, g: Array, a: float) -> Array:
        """The torques of the model as it is, as one column, (l,)."""
        b = self.arm.bodies
        sum_of = self.arm.known[:, :b].sum(axis=1) + self.arm.known[:, b + 4 :] @ self.arm.rotor_inertias
        return np.asarray(self.parameters(g, a) @ sum_of)

    @cached_property
    def model_under_any_gravity(self) -> Witness:
        """The model as it is under any gravity and clock: a, g_x, g_y, g_z, then friction."""
        parts = [self.model(g, a) for g, a in ((np.zeros(3), 1.0), *((axis, 0.0) for axis in np.eye(3)))]
        return Witness(np.column_stack([*parts, self.own]))

    @cached_property
    def any_gravity(self) -> Witness:
        """Every column for itself: any bodies under any gravity and clock."""
        return Witness(np.eye(self.gram.shape[-1]))


class Hearing:
    """A witness before a motion, joints weighted: all that does not depend on the torques is done once."""

    def __init__(self, motion: Motion, witness: Witness, weights: Array) -> None:
        self.motion, self.witness, self.weights = motion, witness, weights
        self._weighted = np.einsum("j,kjab->kab", weights, motion.gram)
        W = witness.W
        whole = W.T @ self._weighted.sum(axis=0) @ W
        size = np.sqrt(np.maximum(np.diag(whole), 0.0))
        self.size = np.where(size > 1e-9 * size.max(initial=0.0), size, np.inf)
        self.whole = whole / np.outer(self.size, self.size) + RIDGE * np.eye(len(size))

    @cached_property
    def folds(self) -> Array:
        """(K, p, p): without each block."""
        W = self.witness.W / self.size
        return np.asarray(self.whole - W.T @ self._weighted @ W)

    @cached_property
    def rows(self) -> Array:
        """C, scaled as the columns are."""
        C = np.zeros((0, len(self.size))) if self.witness.C is None else self.witness.C / self.size
        return np.asarray(C / np.maximum(np.linalg.norm(C, axis=1, keepdims=True), 1e-300))

    def side(self, torques: Torques) -> Array:
        """(K, n, p): the right-hand sides."""
        return np.asarray((torques.cross * self.weights[:, None]) @ self.witness.W / self.size)

    def solution(self, torques: Torques, without: int | None = None) -> Array:
        """x of all blocks but one."""
        side = self.side(torques).sum(axis=1)
        A, b = (
            (self.whole, side.sum(axis=0))
            if without is None
            else (self.folds[without], side.sum(axis=0) - side[without])
        )
        return _solve(A, b, self.rows) / self.size

    def errors(self, torques: Torques, held_out: bool = True) -> Array:
        """(n,): held out, or in the sample, as parts of the torques' variances."""
        side = self.side(torques).sum(axis=1)
        if held_out:
            right = side.sum(axis=0) - side
            x = np.stack([_solve(A, b, self.rows) for A, b in zip(self.folds, right, strict=True)]) / self.size
        else:
            x = np.broadcast_to(self.solution(torques), (len(side), len(self.size)))
        v = x @ self.witness.W.T  # (K, l)
        own = np.einsum("kja,ka->kj", (self.motion.gram @ v[:, None, :, None])[..., 0], v)
        left = torques.squares - 2 * np.einsum("kja,ka->kj", torques.cross, v) + own
        return np.asarray(left.sum(axis=0) / torques.spread)

    def quadratic(self, torques: Torques) -> Array:
        """S (n, n): torques with factors c leave cᵀS c, of n, in the sample."""
        b = self.side(torques).sum(axis=0)
        return np.diag(torques.squares.sum(axis=0) * self.weights) - b @ np.linalg.solve(self.whole, b.T)

    def signs(self, torques: Torques, most: int = 2) -> list[Array]:
        """The signs of torques under which they fit each other best, up to all at once."""
        n, S = self.motion.n, self.quadratic(torques)
        if n > MOST_SIGNS:
            return [np.ones(n)]
        every = np.array([(1, *rest) for rest in product((1, -1), repeat=n - 1)], float)
        cost = np.einsum("sa,ab,sb->s", every, S, every, optimize=True)
        return [every[k] for k in np.argsort(cost, kind="stable")[:most]]

    def least(self, torques: Torques) -> float:
        """What is left in the sample under the best signs, as a part of all."""
        sign = self.signs(torques, 1)[0]
        return max(float(sign @ self.quadratic(torques) @ sign), 0.0) / self.motion.n


def _solve(A: Array, b: Array, C: Array) -> Array:
    """min ½ xᵀA x − bᵀx with C x ≥ 0; if that binds, by its dual: λ ≥ 0 of least ‖L⁻¹(b + Cᵀλ)‖, A = L Lᵀ."""
    x = np.linalg.solve(A, b)
    if not len(C) or (C @ x >= -1e-9).all():
        return np.asarray(x)
    from scipy.linalg import solve_triangular
    from scipy.optimize import nnls

    L = np.linalg.cholesky(A)
    turned = solve_triangular(L, np.column_stack([C.T, b]), lower=True)
    try:
        push, _ = nnls(turned[:, :-1], -turned[:, -1], maxiter=20 * len(C))
    except RuntimeError:  # it turns in circles, which rounding can make it do
        push = np.zeros(len(C))
    return np.asarray(np.linalg.solve(A, b + C.T @ push))
