"""The same dynamics without multipliers: in n − k independent joints z, from which the others follow.

With the columns of A split into independent and dependent ones, A_i ż + A_d q̇_d = 0 gives q̇ = Γ ż and q̈ = Γ z̈ + γ,

    Γ = (I; −A_d⁺ A_i),    γ = (0; −A_d⁺ Ȧ q̇),    ΓᵀMΓ z̈ = Γᵀ (τ − h − M γ).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array
from dalembert.constrained.closure import newton
from dalembert.errors import InputError, SingularityError, choose

if TYPE_CHECKING:
    from dalembert.constrained.closure import Closure
    from dalembert.constrained.mechanism import ConstrainedSystem

STEP = 0.05  # rad or m, from one closed state to the next on a branch
SINGULAR = 1e-9  # of A_d's singular values, smallest over largest


def independent(system: ConstrainedSystem, q: ArrayLike) -> tuple[str, ...]:
    """See `Constrained.independent`."""
    A = system.jacobian(q)
    if A.ndim != 2:
        raise InputError(
            "wrong-shape",
            "q",
            q,
            problem=f"independent joints are chosen at one state, q (n,); got shape {np.shape(q)}",
        )
    chosen = set(_dependent(A, int(system.rank(q))))
    return tuple(name for k, name in enumerate(system.joint_names) if k not in chosen)


def _dependent(A: Array, rank: int) -> list[int]:
    """The columns that pivoting takes first: each the longest of what is left when those before are taken out."""
    rest = A.copy()
    chosen: list[int] = []
    for _ in range(rank):
        sizes = np.linalg.norm(rest, axis=0)
        sizes[chosen] = -1.0
        k = int(np.argmax(sizes))
        chosen.append(k)
        unit = rest[:, k] / np.linalg.norm(rest[:, k])
        rest = rest - np.outer(unit, unit @ rest)
    return chosen


class Reduced:
    """A constrained system in independent joints. States are whole q (closed) and the rates ż of those joints."""

    def __init__(self, system: ConstrainedSystem, q: ArrayLike, chosen: Sequence[str] | None = None) -> None:
        names = system.joint_names
        q = array("q", q, (system.n,), meaning="one state", nan=True)
        self.system = system
        self.independent: tuple[str, ...] = independent(system, q) if chosen is None else tuple(chosen)
        for joint in self.independent:
            choose("joint", joint, names)
        freedoms = int(system.freedoms(q))
        if len(set(self.independent)) != freedoms or len(self.independent) != freedoms:
            raise InputError(
                "wrong-shape",
                "independent",
                self.independent,
                expected=f"{freedoms} different joints, because the mechanism has {freedoms} freedoms here",
                remedy="Leave it out, and the joints are chosen.",
            )
        self._ordinary = system.jacobian(q)  # stands in for states that are no numbers, whose results are none either
        self._i = [names.index(joint) for joint in self.independent]
        self._d = [k for k in range(len(names)) if k not in self._i]
        self.map(q)  # refuses a choice that does not determine the others

    def __repr__(self) -> str:
        return f"<Reduced {self.system.name!r}: {len(self._i)} of {self.system.n} joints>"

    def coordinates(self, q: ArrayLike) -> Array:
        """z: the independent joints of q.  (..., m)."""
        return array("q", q, (..., self.system.n), meaning="one per joint", nan=True)[..., self._i]

    def position(self, z: ArrayLike, q: ArrayLike) -> Closure:
        """q closed at z, the branch next to the given q.  (..., n)."""
        wanted = self._checked("z", z)
        start = np.broadcast_to(array("q", q, (..., self.system.n)), (*wanted.shape[:-1], self.system.n))
        self.system.require(start)
        found = np.empty(start.shape)
        for index in np.ndindex(wanted.shape[:-1]):
            found[index] = self._followed(start[index], wanted[index])
        return self.system.close(found, fixed=self.independent)

    def _followed(self, q: Array, z: Array) -> Array:
        """From q to z in small steps, each brought back onto the constraints: the branch is kept."""
        way = z - q[self._i]
        count = max(int(np.ceil(np.max(np.abs(way), initial=0.0) / STEP)), 1)
        limit = 1e-12 * self.system._scales(q)
        first = q[self._i].copy()
        for k in range(1, count + 1):
            q = q + self.map(q) @ (first + way * (k / count) - q[self._i])
            q[self._i] = first + way * (k / count)
            near = q
            q, _ = newton(self.system, q, self._d, limit)
            if (np.abs(self.system.residual(q)) > limit).any() or np.max(np.abs(q - near)) > 10 * STEP:
                raise InputError(
                    "infeasible",
                    "z",
                    z,
                    problem=f"the mechanism does not get from q to z on this branch: it stops at {100 * k / count:.0f} "
                    "% of the way, at a dead center or out of reach",
                    expected="within reach on the branch of q",
                    remedy="Begin at another q, or choose other independent joints.",
                )
        return q

    def _checked(self, name: str, value: ArrayLike) -> Array:
        return array(name, value, (..., len(self._i)), meaning=", ".join(map(repr, self.independent)), nan=True)

    def _split(self, q: ArrayLike) -> tuple[Array, Array, Array]:
        """(A, A_d⁺, Γ)."""
        self.system.require(q)
        A = self.system.jacobian(q)
        broken = np.asarray(~np.isfinite(A).all((-1, -2)))
        A = np.where(broken[..., None, None], self._ordinary, A)
        dependent = A[..., self._d]
        s = np.linalg.svd(dependent, compute_uv=False)[..., : len(self._d)]
        if s.size and (s[..., -1] < SINGULAR * np.max(s, axis=-1)).any():
            raise SingularityError(
                "singular",
                "independent",
                self.independent,
                problem=f"the joints {', '.join(map(repr, self.independent))} do not determine the others here",
                expected="joints that determine the others",
                remedy="independent(q) returns some.",
            )
        inverse = np.asarray(np.linalg.pinv(dependent, rcond=SINGULAR), np.float64)
        G = np.zeros((*A.shape[:-2], self.system.n, len(self._i)))
        G[..., self._i, range(len(self._i))] = 1.0
        G[..., self._d, :] = -inverse @ A[..., self._i]
        G = np.where(broken[..., None, None], np.nan, G)
        return A, inverse, G

    def map(self, q: ArrayLike) -> Array:
        """Γ(q), q̇ = Γ ż.  (..., n, m)."""
        return self._split(q)[2]

    def rates(self, q: ArrayLike, zd: ArrayLike) -> Array:
        """q̇ = Γ ż.  (..., n)."""
        return _apply(self.map(q), self._checked("zd", zd))

    def _drift(self, q: ArrayLike, zd: ArrayLike) -> tuple[Array, Array, Array]:
        """(Γ, q̇, γ)."""
        _, inverse, G = self._split(q)
        qd = _apply(G, self._checked("zd", zd))
        gamma = np.zeros_like(qd)
        gamma[..., self._d] = -_apply(inverse, self.system.drift(q, qd))
        return G, qd, gamma

    def accelerations(self, q: ArrayLike, zd: ArrayLike, zdd: ArrayLike) -> Array:
        """q̈ = Γ z̈ + γ.  (..., n)."""
        G, _, gamma = self._drift(q, zd)
        return _apply(G, self._checked("zdd", zdd)) + gamma

    def mass_matrix(self, q: ArrayLike) -> Array:
        """ΓᵀMΓ.  (..., m, m)."""
        G = self.map(q)
        return np.asarray(_t(G) @ self.system._unconstrained.mass_matrix(q) @ G)

    def bias(self, q: ArrayLike, zd: ArrayLike, friction: bool | None = None) -> Array:
        """Γᵀ(h + M γ), with friction as the system's own dynamics have it if not given.  (..., m)."""
        G, qd, gamma = self._drift(q, zd)
        friction = self.system._friction_by_default if friction is None else friction
        return _apply(_t(G), self.system._unconstrained.inverse_dynamics(q, qd, gamma, friction=friction))

    def forces(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Γᵀ τ: what torques at all joints do to the independent ones.  (..., m)."""
        torque = array("tau", tau, (..., self.system.n), meaning="one per joint", nan=True)
        return _apply(_t(self.map(q)), torque)

    def inverse_dynamics(self, q: ArrayLike, zd: ArrayLike, zdd: ArrayLike, friction: bool | None = None) -> Array:
        """Γᵀ τ for a motion: with drives at the independent joints alone, their torques.  (..., m)."""
        return _apply(self.mass_matrix(q), self._checked("zdd", zdd)) + self.bias(q, zd, friction)

    def forward_dynamics(self, q: ArrayLike, zd: ArrayLike, tau: ArrayLike, friction: bool | None = None) -> Array:
        """z̈ for torques τ (..., n) at all joints of the tree.  (..., m)."""
        b = self.forces(q, tau) - self.bias(q, zd, friction)
        return np.asarray(np.linalg.solve(self.mass_matrix(q), b[..., None])[..., 0])


def _t(A: Array) -> Array:
    return np.swapaxes(A, -1, -2)


def _apply(A: Array, x: ArrayLike) -> Array:
    return np.asarray((A @ np.asarray(x, float)[..., None])[..., 0])
