"""The same dynamics without multipliers: in n − k independent joints z, from which the others follow.

With the columns of A split into independent and dependent ones, A_i ż + A_d q̇_d = 0 gives q̇ = Γ ż and q̈ = Γ z̈ + γ,

    Γ = (I; −A_d⁺ A_i),    γ = (0; −A_d⁺ Ȧ q̇),    ΓᵀMΓ z̈ = Γᵀ (τ − h − M γ).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.errors import InputError, SingularityError, unknown

if TYPE_CHECKING:
    from dalembert.constrained.closure import Closure
    from dalembert.constrained.system import Constrained

Array = NDArray[np.float64]
SINGULAR = 1e-9  # of A_d's singular values, smallest over largest


def independent(system: Constrained, q: ArrayLike) -> tuple[str, ...]:
    """See `Constrained.independent`."""
    A = system.jacobian(q)
    if A.ndim != 2:
        raise InputError(f"independent joints are chosen at one state, q (n,); got shape {np.shape(q)}")
    chosen = set(_dependent(A, int(system.rank(q))))
    return tuple(name for k, name in enumerate(system.robot.joint_names) if k not in chosen)


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

    def __init__(self, system: Constrained, q: ArrayLike, chosen: Sequence[str] | None = None) -> None:
        names = system.robot.joint_names
        self.system = system
        self.independent: tuple[str, ...] = independent(system, q) if chosen is None else tuple(chosen)
        for joint in self.independent:
            if joint not in names:
                raise unknown("joint", joint, names)
        freedoms = int(system.freedoms(q))
        if len(set(self.independent)) != freedoms or len(self.independent) != freedoms:
            raise InputError(
                f"the mechanism has {freedoms} freedoms here, so {freedoms} different joints are independent; "
                f"got {len(self.independent)}: {', '.join(map(repr, self.independent))}"
            )
        self._i = [names.index(joint) for joint in self.independent]
        self._d = [k for k in range(len(names)) if k not in self._i]
        self.map(q)  # refuses a choice that does not determine the others

    def __repr__(self) -> str:
        return f"<Reduced {self.system.robot.name!r}: {len(self._i)} of {self.system.n} joints>"

    def coordinates(self, q: ArrayLike) -> Array:
        """z: the independent joints of q.  (..., m)."""
        return np.asarray(q, float)[..., self._i]

    def position(self, z: ArrayLike, q: ArrayLike) -> Closure:
        """q closed at z, the branch next to the given q.  (..., n)."""
        start = np.array(np.broadcast_to(np.asarray(q, float), (*np.shape(z)[:-1], self.system.n)))
        start[..., self._i] = z
        return self.system.close(start, fixed=self.independent)

    def _split(self, q: ArrayLike) -> tuple[Array, Array, Array]:
        """(A, A_d⁺, Γ)."""
        A = self.system.jacobian(q)
        dependent = A[..., self._d]
        s = np.linalg.svd(dependent, compute_uv=False)[..., : len(self._d)]
        if s.size and (s[..., -1] < SINGULAR * np.max(s, axis=-1)).any():
            raise SingularityError(
                f"the joints {', '.join(map(repr, self.independent))} do not determine the others here: choose other "
                "independent joints (independent(q) finds some)"
            )
        inverse = np.asarray(np.linalg.pinv(dependent, rcond=SINGULAR), np.float64)
        G = np.zeros((*A.shape[:-2], self.system.n, len(self._i)))
        G[..., self._i, range(len(self._i))] = 1.0
        G[..., self._d, :] = -inverse @ A[..., self._i]
        return A, inverse, G

    def map(self, q: ArrayLike) -> Array:
        """Γ(q), q̇ = Γ ż.  (..., n, m)."""
        return self._split(q)[2]

    def rates(self, q: ArrayLike, zd: ArrayLike) -> Array:
        """q̇ = Γ ż.  (..., n)."""
        return _apply(self.map(q), zd)

    def _drift(self, q: ArrayLike, zd: ArrayLike) -> tuple[Array, Array, Array]:
        """(Γ, q̇, γ)."""
        _, inverse, G = self._split(q)
        qd = _apply(G, zd)
        gamma = np.zeros_like(qd)
        gamma[..., self._d] = -_apply(inverse, self.system.drift(q, qd))
        return G, qd, gamma

    def accelerations(self, q: ArrayLike, zd: ArrayLike, zdd: ArrayLike) -> Array:
        """q̈ = Γ z̈ + γ.  (..., n)."""
        G, _, gamma = self._drift(q, zd)
        return _apply(G, zdd) + gamma

    def mass_matrix(self, q: ArrayLike) -> Array:
        """ΓᵀMΓ.  (..., m, m)."""
        G = self.map(q)
        return np.asarray(_t(G) @ self.system.robot.mass_matrix(q) @ G)

    def bias(self, q: ArrayLike, zd: ArrayLike, friction: bool = False) -> Array:
        """Γᵀ(h + M γ).  (..., m)."""
        G, qd, gamma = self._drift(q, zd)
        return _apply(_t(G), self.system.robot.inverse_dynamics(q, qd, gamma, friction=friction))

    def forces(self, q: ArrayLike, tau: ArrayLike) -> Array:
        """Γᵀ τ: what torques at all joints do to the independent ones.  (..., m)."""
        return _apply(_t(self.map(q)), tau)

    def inverse_dynamics(self, q: ArrayLike, zd: ArrayLike, zdd: ArrayLike, friction: bool = False) -> Array:
        """Γᵀ τ for a motion: with drives at the independent joints alone, their torques.  (..., m)."""
        return _apply(self.mass_matrix(q), zdd) + self.bias(q, zd, friction)

    def forward_dynamics(self, q: ArrayLike, zd: ArrayLike, tau: ArrayLike, friction: bool = False) -> Array:
        """z̈ for torques τ (..., n) at all joints of the tree.  (..., m)."""
        b = self.forces(q, tau) - self.bias(q, zd, friction)
        return np.asarray(np.linalg.solve(self.mass_matrix(q), b[..., None])[..., 0])


def _t(A: Array) -> Array:
    return np.swapaxes(A, -1, -2)


def _apply(A: Array, x: ArrayLike) -> Array:
    return np.asarray((A @ np.asarray(x, float)[..., None])[..., 0])
