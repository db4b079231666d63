"""Lagrange's equations in 4×4 matrices, link by link: the reference that everything else is compared with.

With T_l the pose of link l in the world, J_l = ∫ r rᵀ dm its second moments (r homogeneous), D_j = ∂/∂x_j,

    K = ½ Σ tr(Ṫ J Ṫᵀ),    P = −Σ m gᵀ T c,    M_jk = Σ tr(D_jT J D_kTᵀ),    τ_j = Σ tr(D_jT J T̈ᵀ) + ∂P/∂x_j,

which is d/dt ∂L/∂ẋ − ∂L/∂x, since D_j commutes with d/dt (Uicker 1965, Paul 1981). There are no twists, no spatial
inertias, no recursion of forces and no lumping: nothing of it is shared with the algorithms. Derivatives by q and q̇ are
taken by a complex step, which is exact to rounding. Arrays over the states come first: (S, …).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.caching import cached_property
from dalembert.friction.laws import Friction
from dalembert.trust.verify.linkage import Array, Linkage, LinkData, States, multiply_poses, second_moments, turn

STEP = 1e-30  # of the complex step: its square is nothing, and nothing is subtracted


class FourByFour:
    """All quantities of a linkage at some states, each computed when first asked for."""

    def __init__(self, linkage: Linkage, states: States, motion: LinkMotion | None = None) -> None:
        self.linkage = linkage
        self.states = states
        self.motion = motion or LinkMotion(linkage, states.q, states.qd, states.qdd)
        self.n = len(linkage.coordinates)

    def with_inertias_of(self, linkage: Linkage) -> FourByFour:
        """The same motion of other masses: what moves is not computed again."""
        return FourByFour(linkage, self.states, self.motion)

    # ------------------------------------------------------------------------------------------ kinematics
    @property
    def frames(self) -> tuple[str, ...]:
        return tuple(p.link for p in self.linkage.parts if p.frame)

    def pose(self, frame: str) -> Array:
        """T of a link, (S, 4, 4)."""
        return self.motion.T[self.part(frame)]

    def jacobian(self, frame: str) -> Array:
        """(v, ω) = J q̇ of a link's frame, world axes: v from ∂p, ω from ∂R Rᵀ.  (S, 6, n)."""
        i = self.part(frame)
        R = np.swapaxes(self.motion.T[i][:, :3, :3], -1, -2)
        J = np.zeros((len(R), 6, self.n), dtype=R.dtype)
        for j, D in zip(self.motion.paths[i], self.motion.D[i], strict=True):
            k, m = self.motion.coordinate[j]
            W = D[:, :3, :3] @ R
            J[:, :3, k] += m * D[:, :3, 3]
            J[:, 3:, k] += m * np.stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]], axis=-1)
        return J

    def part(self, frame: str) -> int:
        """The place of a link among the parts."""
        return next(i for i, p in enumerate(self.linkage.parts) if p.link == frame)

    # ------------------------------------------------------------------------------------------ dynamics
    @cached_property
    def inertias(self) -> dict[int, Array]:
        """J of every part that moves and has any."""
        found = {}
        for i, part in enumerate(self.linkage.parts):
            J = second_moments(part)
            if self.motion.paths[i] and J.any():
                found[i] = J
        return found

    @cached_property
    def mass(self) -> Array:
        """Mass of all that moves, (S,), the same in all states."""
        total = sum(J[3, 3] for J in self.inertias.values())
        return np.full(len(self.states.q), float(total))

    @cached_property
    def rotors(self) -> Array:
        """Σ multiplier² N² J_m per coordinate, (n,)."""
        total = np.zeros(self.n)
        for j in self.linkage.movers:
            part, (k, m) = self.linkage.parts[j], self.motion.coordinate[j]
            total[k] += m * m * part.gear**2 * part.rotor
        return total

    @cached_property
    def mass_matrix(self) -> Array:
        return self._quadratic(lambda D: D) + np.diag(self.rotors)

    @cached_property
    def mass_matrix_scale(self) -> Array:
        """√(m_i m_j), m_i the sum of the absolute terms of M_ii: what rounding is measured against.  (n, n)."""
        total = self._quadratic(np.abs) + np.diag(self.rotors)
        d = np.sqrt(np.einsum("sii->si", total).real.max(axis=0, initial=0.0))
        return np.outer(d, d)

    def _quadratic(self, view: Callable[[Array], Array]) -> Array:
        M = np.zeros((len(self.states.q), self.n, self.n), dtype=self.motion.dtype)
        for i, J in self.inertias.items():
            D = view(np.stack(self.motion.D[i]))
            E = np.einsum("jsab,ksab->jks", D @ view(J), D)
            places = [self.motion.coordinate[j] for j in self.motion.paths[i]]
            for a, (k, m) in enumerate(places):
                for b, (h, o) in enumerate(places):
                    M[:, k, h] += abs(m * o) * E[a, b] if view is np.abs else m * o * E[a, b]
        return M

    def _generalized(self, A: list[Array], view: Callable[[Array], Array] = lambda x: x) -> Array:
        """Σ tr(D_j T J Aᵀ) per part that moves, for accelerations A of all parts.  (S, parts)."""
        out = np.zeros((len(self.states.q), len(self.linkage.parts)), dtype=self.motion.dtype)
        for i, J in self.inertias.items():
            JA = view(A[i]) @ view(J)
            for j, D in zip(self.motion.paths[i], self.motion.D[i], strict=True):
                out[:, j] += np.einsum("sab,sab->s", view(D), JA)
        return out

    def _weights(self, view: Callable[[Array], Array] = lambda x: x) -> Array:
        """∂P/∂x_j = −Σ m gᵀ D_jT c per part that moves.  (S, parts)."""
        out = np.zeros((len(self.states.q), len(self.linkage.parts)), dtype=self.motion.dtype)
        g = np.array(self.linkage.gravity)
        for i, J in self.inertias.items():
            for j, D in zip(self.motion.paths[i], self.motion.D[i], strict=True):
                moment = view(D[:, :3, :]) @ view(J[:, 3])
                out[:, j] += view(g) @ moment.T if view is np.abs else -(moment @ g)
        return out

    def _gather(self, loads: Array, absolute: bool = False) -> Array:
        out = np.zeros((len(loads), self.n), dtype=loads.dtype)
        for j in self.linkage.movers:
            k, m = self.motion.coordinate[j]
            out[:, k] += (abs(m) if absolute else m) * loads[:, j]
        return out

    @cached_property
    def gravity_torque(self) -> Array:
        return self._gather(self._weights())

    @cached_property
    def coriolis_torque(self) -> Array:
        return self._gather(self._generalized(self.motion.drift))

    @cached_property
    def loads(self) -> Array:
        """What every joint transmits, rotors and friction apart.  (S, parts)."""
        return self._generalized(self.motion.acceleration) + self._weights()

    @cached_property
    def torque(self) -> Array:
        return self._gather(self.loads) + self.rotors * self.states.qdd

    @cached_property
    def torque_scale(self) -> Array:
        """The sum of the absolute terms of τ, its largest over the states.  (n,)."""
        total = self._generalized(self.motion.acceleration, np.abs) + self._weights(np.abs)
        sizes = self._gather(total, absolute=True).real + np.abs(self.rotors * self.states.qdd)
        return np.asarray(np.max(sizes, axis=0, initial=0.0))

    @cached_property
    def frictions(self) -> dict[str, Array]:
        """Torques of every kind of friction and of springs, on the coordinates."""
        out: dict[str, Array] = {}
        for j in self.linkage.movers:
            k, m = self.motion.coordinate[j]
            kinds = friction_terms(self.linkage.parts[j], self.motion.x[j], m * self.states.qd[:, k], self.loads[:, j])
            for kind, value in kinds.items():
                total = out.setdefault(kind, np.zeros((len(self.states.q), self.n), dtype=value.dtype))
                total[:, k] += m * value
        return out

    @cached_property
    def friction_torque(self) -> Array:
        return np.asarray(sum(self.frictions.values(), np.zeros((len(self.states.q), self.n))))

    @cached_property
    def kinetic_energy(self) -> Array:
        total = 0.5 * (self.rotors * self.states.qd**2).sum(axis=-1)
        for i, J in self.inertias.items():
            V = self.motion.velocity[i]
            total = total + 0.5 * np.einsum("sab,sab->s", V @ J, V)
        return np.asarray(total)

    @cached_property
    def potential_energy(self) -> Array:
        total, g = np.zeros(len(self.states.q)), np.array(self.linkage.gravity)
        for i, J in self.inertias.items():
            total = total - (self.motion.T[i][:, :3, :] @ J[:, 3]) @ g
        return total

    @cached_property
    def potential_scale(self) -> float:
        g, sizes = np.abs(self.linkage.gravity), [0.0]
        for i, J in self.inertias.items():
            sizes.append(float(((np.abs(self.motion.T[i][:, :3, :]) @ np.abs(J[:, 3])) @ g).max(initial=0.0)))
        return sum(sizes)

    # ------------------------------------------------------------------------------------------ derivatives
    @cached_property
    def torque_by_q(self) -> Array:
        """∂τ/∂q at the first states of `states.few`.  (F, n, n)."""
        return self._by("q", lambda r: r.torque)

    @cached_property
    def torque_by_qd(self) -> Array:
        return self._by("qd", lambda r: r.torque)

    def _by(self, name: str, of: Callable[[FourByFour], Array]) -> Array:
        states = self.states.few
        out = np.zeros((len(states.q), self.n, self.n))
        for k in range(self.n):
            moved = getattr(states, name).astype(complex)
            moved[:, k] += 1j * STEP
            out[:, :, k] = of(FourByFour(self.linkage, replace(states, **{name: moved}))).imag / STEP
        return out


class LinkMotion:
    """Poses of all parts along a motion, their first two rates, and their derivatives by every joint's position."""

    def __init__(self, linkage: Linkage, q: Array, qd: Array, qdd: Array) -> None:
        index = {name: k for k, name in enumerate(linkage.coordinates)}
        self.dtype = np.result_type(q, qd, qdd, float)
        self.paths = linkage.paths
        self.coordinate: dict[int, tuple[int, float]] = {}
        self.x: dict[int, Array] = {}
        self.T: list[Array] = []
        self.D: list[list[Array]] = []  # ∂T by the joints of the part's path
        self.velocity: list[Array] = []
        self.acceleration: list[Array] = []
        self.drift: list[Array] = []  # the acceleration where q̈ = 0
        still = np.zeros((len(q), 4, 4), dtype=self.dtype)
        for i, part in enumerate(linkage.parts):
            p = part.parent
            T, V, A, B = (
                (self.T[p], self.velocity[p], self.acceleration[p], self.drift[p])
                if p >= 0
                else (still + np.eye(4), still, still, still)
            )
            before, after = multiply_poses(part.before), multiply_poses(part.after)
            D = list(self.D[p]) if p >= 0 else []
            if part.kind == "fixed":
                E = before @ after
                D = [d @ E for d in D]
                T, V, A, B = T @ E, V @ E, A @ E, B @ E
            else:
                name, m, offset = linkage.follow(part)
                k = index[name]
                self.coordinate[i] = (k, m)
                x, v, a = m * q[:, k] + offset, (m * qd[:, k])[:, None, None], (m * qdd[:, k])[:, None, None]
                self.x[i] = x
                E0, E1, E2 = (before @ e @ after for e in _joint(part, x, self.dtype))
                D = [*(d @ E0 for d in D), T @ E1]
                carried = 2.0 * (V @ (E1 * v)) + T @ (E2 * v**2)
                A = A @ E0 + carried + T @ (E1 * a)
                B = B @ E0 + carried
                T, V = T @ E0, V @ E0 + T @ (E1 * v)
            self.T.append(T)
            self.D.append(D)
            self.velocity.append(V)
            self.acceleration.append(A)
            self.drift.append(B)


def _joint(part: LinkData, x: Array, dtype: np.dtype[np.generic]) -> tuple[Array, ...]:
    """E(x), E′(x), E″(x) of a joint, (S, 4, 4) each."""
    axis, along = part.axis, 1.0 if part.kind == "prismatic" else part.pitch
    E = np.zeros((3, len(x), 4, 4), dtype=dtype)
    E[0] = np.eye(4)
    if part.kind != "prismatic":
        s, c, zero = np.sin(x), np.cos(x), np.zeros(len(x))
        E[0, :, :3, :3] = turn(axis, s, c)
        E[1, :, :3, :3] = turn(axis, c, -s) - turn(axis, zero, zero)
        E[2, :, :3, :3] = turn(axis, -s, -c) - turn(axis, zero, zero)
    E[0, :, :3, 3] = along * x[:, None] * np.array(axis)
    E[1, :, :3, 3] = along * np.array(axis)
    return E[0], E[1], E[2]


# the friction laws once more, as formulas on arrays


def friction_terms(part: LinkData, x: Array, v: Array, load: Array) -> dict[str, Array]:
    """The torque that each kind of resistance asks of the drive, at position x, rate v and transmitted load."""
    sign = np.sign(v.real) + 0.0 * v if not part.coulomb_width else _ramp(v / part.coulomb_width)
    coulomb = np.where(v.real < 0, part.coulomb[1], part.coulomb[0])
    return {
        "damping": part.damping * v,
        "Coulomb friction": coulomb * sign,
        "springs": part.stiffness * (x - part.rest),
        "further friction": sum((_law(term, v, load) for term in part.friction), 0.0 * v),
    }


def _law(term: Friction, v: Array, load: Array) -> Array:
    return FRICTION[term.law](term.values, v, np.abs(v.real), _sign(term, v), np.abs(load.real))


def _sign(term: Friction, v: Array) -> Array:
    smooth: dict[str | None, Callable[[Array], Array]] = {
        None: lambda u: np.sign(u.real) + 0.0 * u,
        "tanh": np.tanh,
        "arctan": lambda u: 2.0 / np.pi * np.arctan(u),
        "root": lambda u: u / np.sqrt(1.0 + u * u),
        "ramp": _ramp,
    }
    return smooth[term.smooth](v / (term.width or 1.0))


def _ramp(u: Array) -> Array:
    return np.where(np.abs(u.real) < 1.0, u, np.sign(u.real) + 0.0 * u)


def _side(sides: tuple[float, float], v: Array) -> Array:
    return np.where(v.real < 0, sides[1], sides[0])


def _dry(p: dict[str, Any], v: Array, speed: Array, sign: Array, load: Array) -> Array:
    return np.asarray((_side(p["coulomb"], v) + p["load"] * load) * sign)


def _stribeck(p: dict[str, Any], v: Array, speed: Array, sign: Array, load: Array) -> Array:
    low, high = _side(p["coulomb"], v), _side(p["breakaway"], v)
    level = low + (high - low) * np.exp(-((speed / p["speed"]) ** p["exponent"])) + p["load"] * load
    return np.asarray(level * sign + _side(p["viscous"], v) * v)


FRICTION: dict[str, Callable[..., Array]] = {
    "viscous": lambda p, v, speed, sign, load: _side(p["viscous"], v) * v,
    "coulomb": _dry,
    "static": _dry,
    "stribeck": _stribeck,
    "power": lambda p, v, speed, sign, load: _side(p["coefficient"], v) * speed ** p["exponent"] * np.sign(v.real),
    "offset": lambda p, v, speed, sign, load: p["offset"] + 0.0 * v,
}
