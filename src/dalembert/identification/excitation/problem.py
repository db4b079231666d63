"""The best motion for identification as a problem of optimization: criterion and limits of the coefficients of a
Fourier series, with exact gradients.

The criterion is a function of the information matrix W = YᵀY, columns compared at equal size: C = D⁻¹ W D⁻¹ with
D² = diag W, so that units of parameters do not matter.

The gradient goes backwards. With A the weighted regressor of all samples and F = ∂f/∂W, df = 2 tr(F Aᵀ dA), so that
V = 2 A F is what every entry of the regressor weighs; then one compiled kernel gives ∂(V·Y + w·τ + U·p)/∂(q, q̇, q̈) per
sample (reverse mode: one sweep, whatever the number of columns), and the series' linear map gives the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.algorithms import newton_euler, regressor
from dalembert.arguments import Array
from dalembert.caching import cached_property
from dalembert.compile import Kernel, compile_function
from dalembert.compile.interpret import replay
from dalembert.errors import InputError, SingularityError
from dalembert.flow import Scalar, Scalars
from dalembert.identification.excitation.avoid import Avoid
from dalembert.identification.excitation.limits import KINDS, ExcitationLimits, up
from dalembert.identification.fit.regressor import Base, Columns
from dalembert.model.lean import lean
from dalembert.trajectories.harmonics import Sines, fourier

Criterion = Callable[[Array, float], tuple[float, Array]]
Shape = Callable[[Array, Array], tuple[Array, Array]]
FLOOR = 1e-14  # of the largest eigenvalue: what is smaller is rounding
CREEP = 0.01  # of a joint's largest rate: below it the direction of friction counts in proportion


# ------------------------------------------------------------------------------------------------ criteria
def condition_number(Y: Array) -> float:
    """σ_max/σ_min of the columns at equal length, (N, p); infinite if they are dependent."""
    size = np.linalg.norm(Y, axis=0)
    if not (size > 0).all():
        return float("inf")
    s = np.linalg.svd(Y / size, compute_uv=False)
    return float(s[0] / s[-1]) if len(s) == Y.shape[1] and s[-1] > 1e-15 * s[0] else float("inf")


def _spectrum(W: Array) -> tuple[Array, Array, Array, Array]:
    """(C, d, eigenvalues, eigenvectors) of C = W / d dᵀ, which has ones on its diagonal."""
    d = np.sqrt(np.diag(W))
    if not (d > 0).all():
        raise SingularityError(
            "singular",
            problem="a column of the regressor is zero along the whole motion, because some joint does not move",
        )
    C = W / np.outer(d, d)
    values, vectors = np.linalg.eigh(C)
    return C, d, np.maximum(values, FLOOR * values[-1]), vectors


def condition(W: Array, sharpness: float = 8.0) -> tuple[float, Array]:
    """(log κ_s, ∂/∂W): log κ_s = (log Σ λᵢˢ + log Σ λᵢ⁻ˢ)/2s over the eigenvalues λ of C.

    It is smooth where eigenvalues meet, above the logarithm of the condition number √(λ_max/λ_min), and comes to it
    as s grows: by at most (log p)/s."""
    C, d, values, vectors = _spectrum(W)
    up, down = np.log(values) * sharpness, -np.log(values) * sharpness
    large, small = _log_sum(up), _log_sum(down)
    slope = 0.5 * (np.exp(up - large) - np.exp(down - small)) / values  # ∂/∂λ
    G = (vectors * slope) @ vectors.T
    F = G / np.outer(d, d)  # C_ij = W_ij/(d_i d_j), dᵢ² = W_ii
    F[np.diag_indices(len(d))] -= np.einsum("ij,ij->i", G, C) / (d * d)
    return (large + small) / (2.0 * sharpness), F


def d_optimal(W: Array, sharpness: float = 8.0) -> tuple[float, Array]:
    """(−log det W / 2p, ∂/∂W): minus the mean logarithm of the lengths of independent columns; the volume of the
    confidence ellipsoid is least where this is. d(log det W) = tr(W⁻¹ dW)."""
    _, d, values, vectors = _spectrum(W)
    p = len(d)
    inverse = (vectors / values) @ vectors.T / np.outer(d, d)
    return -float(np.log(values).sum() + 2.0 * np.log(d).sum()) / (2 * p), -inverse / (2 * p)


def _log_sum(x: Array) -> float:
    top = float(x.max())
    return top + float(np.log(np.exp(x - top).sum()))


CRITERIA: dict[str, Criterion] = {"condition": condition, "d-optimal": d_optimal}


# ------------------------------------------------------------------------------------------------ motions
@dataclass(frozen=True)
class FourierSeries:
    """Fourier series as a linear map: a few numbers per joint → positions, rates and accelerations on a grid.

    Swevers et al. 1997: q̇ = Σ_k a_k cos kωt + b_k sin kωt, q = q₀ + Σ_k (a_k sin kωt − b_k cos kωt)/kω. A motion that
    starts at rest has Σ a_k = 0 and Σ k b_k = 0; the numbers left over are free.

    `harmonics` K of the base `frequency` [Hz]. Coefficients z (p, n): q₀ first, p = 2K + 1 or, at rest, 2K − 1."""

    harmonics: int
    frequency: float
    at_rest: bool = True

    @cached_property
    def free(self) -> Array:
        """(2K + 1, p): (q₀, a₁ … a_K, b₁ … b_K) of the free numbers, which are amplitudes of position rather than of
        velocity, so that all are of one size."""
        k = np.arange(1, self.harmonics + 1)
        w = 2 * np.pi * self.frequency * k
        sizes = np.concatenate([[1.0], w, w])
        if not self.at_rest:
            return np.diag(sizes)
        rows = np.zeros((2, 2 * self.harmonics + 1))
        rows[0, 1 : self.harmonics + 1] = w
        rows[1, self.harmonics + 1 :] = k * w
        null = np.linalg.svd(rows[:, 1:])[2][2:].T  # orthonormal: no free number is larger than another
        out = np.zeros((2 * self.harmonics + 1, 1 + null.shape[1]))
        out[0, 0] = 1.0
        out[1:, 1:] = sizes[1:, None] * null
        return out

    @property
    def numbers(self) -> int:
        return int(self.free.shape[1])

    @property
    def period(self) -> float:
        return 1.0 / self.frequency

    def times(self, count: int) -> Array:
        """`count` times over one period, the end not repeated."""
        return np.asarray(np.arange(count) * (self.period / count), float)

    def maps(self, t: Array) -> tuple[Array, Array, Array]:
        """(B, B', B''), (len(t), p) each: q = B z, q̇ = B' z, q̈ = B'' z."""
        w = 2 * np.pi * self.frequency * np.arange(1, self.harmonics + 1)
        s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
        one, zero = np.ones((len(t), 1)), np.zeros((len(t), 1))
        B, Bd, Bdd = np.hstack([one, s / w, -c / w]), np.hstack([zero, c, s]), np.hstack([zero, -s * w, c * w])
        return B @ self.free, Bd @ self.free, Bdd @ self.free

    def largest(self, z: Array, order: int) -> Array:
        """(n,): what the derivative of this order, ≥ 1, never exceeds: Σ_k |(a_k, b_k)| (kω)^(order − 1)."""
        x, K = self.free @ z, self.harmonics
        w = 2 * np.pi * self.frequency * np.arange(1, K + 1)[:, None]
        return np.asarray((np.hypot(x[1 : K + 1], x[K + 1 :]) * w ** (order - 1)).sum(axis=0))

    def smaller(self, z: Array, share: float) -> Array:
        """The same motion made smaller about its mean position."""
        return np.vstack([z[:1], share * z[1:]])

    def motion(self, z: Array, names: tuple[str, ...], units: tuple[str, ...]) -> Sines:
        """The motion as a trajectory, which goes on for ever."""
        x = self.free @ z
        K = self.harmonics
        made = fourier(x[1 : K + 1], x[K + 1 :], self.frequency, x[0], start="rest" if self.at_rest else "free")
        return replace(made, names=names, units=units)


# ------------------------------------------------------------------------------------------------ problem
def _sign(v: Array, width: Array) -> tuple[Array, Array]:
    """A smooth sign and its slope: with a jump, the samples' sum would have no gradient that sees zero crossings."""
    t = np.tanh(v / width)
    return t, (1.0 - t * t) / width


def _half(side: float) -> Shape:
    def shape(v: Array, width: Array) -> tuple[Array, Array]:
        t, slope = _sign(v, width)
        return 0.5 * (t + side), 0.5 * slope

    return shape


# Value and slope of what multiplies a friction coefficient: the smooth versions of `columns.FRICTION_COLUMNS`.
SHAPES: dict[str, Shape] = {
    "viscous": lambda v, width: (v, np.ones_like(v)),
    "coulomb": _sign,
    "coulomb+": _half(1.0),
    "coulomb-": _half(-1.0),
    "cubic": lambda v, width: (v**3, 3.0 * v**2),
    "offset": lambda v, width: (np.ones_like(v), np.zeros_like(v)),
}


@dataclass(frozen=True, eq=False)
class Group:
    """Columns beside the inertial ones, of one kind: e f(eᵀx) for every row e of E (k, n), x the positions (0), rates
    (1) or accelerations (2); their widths (k,), and their places in the matrix."""

    places: NDArray[np.int64]
    E: Array
    of: int
    kind: str
    width: Array

    def values(self, motion: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        """f and its slope at every sample, (N, k)."""
        return SHAPES[self.kind](motion[self.of] @ self.E.T, self.width)


@dataclass(frozen=True, eq=False)
class Values:
    """A motion on a grid, and what its limits look at: q, q̇, q̈, τ (N, n); frames' origins (N, F, 3) and their heights
    above half spaces (N, S)."""

    motion: tuple[Array, Array, Array]
    tau: Array
    points: Array
    heights: Array
    columns: Array  # (N, n, inertial base columns)

    def of(self, kind: str) -> Array:
        return (*self.motion, self.tau)[KINDS.index(kind)]


@dataclass(frozen=True, eq=False)
class Span:
    """How far a motion goes: the least and the greatest value of every kind (2, n), the least height above every half
    space (S,) and of every origin (F,) [m]."""

    ranges: dict[str, Array]
    clearance: Array
    lowest: Array


@dataclass(frozen=True, eq=False)
class Problem:
    """f(z) and the limits of a series' coefficients z (p, n) on a grid of `samples` over one period.

    `weights` (n,): one over the noise of each joint's torque, so that rows count by what they tell."""

    columns: Columns
    base: Base
    series: FourierSeries
    limits: ExcitationLimits
    criterion: Criterion
    weights: Array
    samples: int
    avoid: Avoid | None = None

    # -------------------------------------------------------------------------------------------- structure
    @cached_property
    def _split(self) -> tuple[list[int], list[Group]]:
        """The base columns: places of inertial ones in the regressor, and the others in groups."""
        c, unit = self.columns, np.eye(self.columns.robot.n)
        # (of, kind, row) of all columns beside the inertial ones, in the order of `columns.all_names`.
        extras = [(2, "viscous", e) for e in unit] if c.rotor else []
        extras += [(1, kind, e) for kind in c.friction for e in unit]
        extras += [(0, "viscous", e) for e in unit] if c.springs else []
        for row in c.coupled.values():
            extras += [(2, "viscous", row)] if c.rotor else []
            extras += [(1, kind, row) for kind in c.friction if kind != "offset"]
        inertial = 10 * c.bodies
        places = [int(k) for k in c.free[self.base.kept]]
        members: dict[tuple[int, str], list[tuple[int, Array]]] = {}
        for at, k in enumerate(places):
            if k >= inertial:
                of, kind, row = extras[k - inertial]
                members.setdefault((of, kind), []).append((at, row))
        groups = []
        for (of, kind), m in members.items():
            E = np.array([row for _, row in m])
            groups.append(Group(np.array([at for at, _ in m], np.int64), E, of, kind, CREEP * np.abs(E) @ self.speeds))
        return [k for k in places if k < inertial], groups

    @cached_property
    def speeds(self) -> Array:
        """Rates that the joints can reach, from their limits."""
        w = 2 * np.pi * self.series.frequency * self.series.harmonics
        half, speed = self.limits.scale("position"), self.limits.upper["velocity"]
        return np.where(np.isfinite(speed), np.minimum(speed, w * half), w * half)

    # ---------------------------------------------------------------------------------------------- kernels
    @cached_property
    def _forward(self) -> Kernel:
        model, places = self.columns.robot.model, self._split[0]
        n, origins = model.n, self.limits.origins
        slim = lean(model)

        def values(q: Scalars, qd: Scalars, qdd: Scalars) -> tuple[object, ...]:
            Y = regressor.regressor(model, q, qd, qdd)
            picked = [[row[k] for k in places] or [0.0] for row in Y]
            tau = newton_euler.inverse_dynamics(slim, q, qd, qdd)
            return picked, tau, origins.at(q) or [(0.0, 0.0, 0.0)]

        shapes = [(n, max(len(places), 1)), (n,), (max(len(origins.frames), 1), 3)]
        return compile_function(values, [(n,)] * 3, shapes, "excitation", arguments=("q", "qd", "qdd"))

    @cached_property
    def _backward(self) -> Kernel:
        forward = self._forward
        n = self.columns.robot.n
        names = ("q", "qd", "qdd", "V", "w", "U")

        def weighed(q: Scalars, qd: Scalars, qdd: Scalars, V: list[Scalars], w: Scalars, U: list[Scalars]) -> Scalar:
            parts = replay(forward.program, [q, qd, qdd])
            flat = [x for group in parts for x in group]
            weights = [x for row in V for x in row] + list(w) + [x for row in U for x in row]
            total: Scalar = 0.0
            for x, weight in zip(flat, weights, strict=True):
                total = total + weight * x
            return total

        kernel = compile_function(weighed, [(n,)] * 3 + list(forward.outputs), [()], "excitation_weighed", "", names)
        return kernel.derivative("q", "qd", "qdd")

    @cached_property
    def _friction(self) -> tuple[Kernel, Kernel] | None:
        """Friction and springs of the description, and ∂/∂(q, q̇); None if it has none."""
        robot = self.columns.robot
        if not any(body.friction or body.stiffness for body in robot.model.bodies):
            return None
        if robot.model.friction_by_load:
            raise InputError(
                "unsupported",
                "robot",
                problem="the friction of this robot depends on the load, and so would its torque limits",
                remedy="Use a description without that term.",
            )
        kernel = robot.kernel("friction_torque")
        return kernel, kernel.derivative("q", "qd")

    # ----------------------------------------------------------------------------------------------- values
    @cached_property
    def maps(self) -> tuple[Array, Array, Array]:
        return self.series.maps(self.series.times(self.samples))

    def values(self, z: Array, maps: tuple[Array, Array, Array] | None = None) -> Values:
        """What the limits and the criterion look at, on the grid or another."""
        q, qd, qdd = (B @ z for B in (self.maps if maps is None else maps))
        Y, tau, points = self._forward(q, qd, qdd)
        if self._friction is not None:
            tau = tau + self._friction[0](q, qd)
        normals, offsets = self.limits.planes
        heights = (points[:, self.limits.places] * normals).sum(axis=-1) - offsets
        return Values((q, qd, qdd), tau, points, heights, Y)

    def reach(self, z: Array, v: Values, between: bool = True) -> Span:
        """How far a motion goes on a grid of equal steps h over the period; with `between`, at no time further, but
        for torques: where something is least its rate vanishes, so that it is less than the nearest sample by at most
        (h²/8) max |its second derivative|."""
        ranges = {kind: np.array([v.of(kind).min(axis=0), v.of(kind).max(axis=0)]) for kind in KINDS}
        origins, spaces = self.limits.origins, self.limits.places
        heights, drop = v.points[:, : len(origins.frames)] @ up(origins.model), np.zeros(1)
        if between:
            h = self.series.period / len(v.tau)
            top = [self.series.largest(z, order) for order in range(2, 5)]
            for kind, x in zip(KINDS[:3], top, strict=True):
                ranges[kind] += h**2 / 8.0 * x * np.array([[-1.0], [1.0]])
            drop = origins.drop(h, v.motion, (top[0], top[1]))
        clearance = v.heights - (drop[:, spaces] if between else 0.0)
        return Span(ranges, clearance.min(axis=0), (heights - drop).min(axis=0))

    def matrix(self, v: Values) -> Array:
        """A: the base regressor, rows weighted and divided by √N, (N, n, p)."""
        places, groups = self._split
        A = np.zeros((*v.tau.shape, self.base.rank))
        if places:
            A[..., : len(places)] = v.columns
        for group in groups:
            A[..., group.places] = group.values(v.motion)[0][:, None, :] * group.E.T
        A *= self.weights[:, None] / np.sqrt(len(A))
        return A

    def clear(self, z: Array, v: Values, between: bool = True) -> bool:
        """Whether what is to be avoided is, on a grid of equal steps over the period and, with `between`, at all
        times."""
        if self.avoid is None:
            return True
        if not between or len(v.tau) == 1:
            return bool((self.avoid.collision.clearance(v.motion[0], self.avoid.world) >= self.avoid.clear).all())
        h = self.series.period / len(v.tau)
        return bool(self.avoid.keeps(v.motion[0], h**2 / 8.0 * self.series.largest(z, 2)))

    def gradient(self, v: Values, V: Array, pull: dict[str, Array], lift: Array) -> Array:
        """∂/∂z (p, n), given what the entries of the matrix (N, n, p), values by kind (N, n) and heights weigh."""
        places, groups = self._split
        V = V * (self.weights[:, None] / np.sqrt(len(V)))
        w = pull["torque"]
        inertial = V[..., : len(places)] if places else np.zeros((len(V), self.columns.robot.n, 1))
        U = np.zeros_like(v.points)
        for s, (place, normal) in enumerate(zip(self.limits.places, self.limits.planes[0], strict=True)):
            U[:, place] += lift[:, s, None] * normal
        out = [np.array(x) for x in self._backward(*v.motion, inertial, w, U)]
        for group in groups:
            slope = (V[..., group.places] * group.E.T).sum(axis=1) * group.values(v.motion)[1]
            out[group.of] += slope @ group.E
        if self._friction is not None:
            for order, D in enumerate(self._friction[1](*v.motion[:2])):
                out[order] += (w[:, None, :] @ D)[:, 0]
        for order, kind in enumerate(KINDS[:3]):
            out[order] += pull[kind]
        return np.asarray(sum(B.T @ x for B, x in zip(self.maps, out, strict=True)))

    def merit(self, v: Values, sharpness: float) -> tuple[float, Array]:
        """(f, V) of the criterion, V = ∂f/∂A."""
        A = self.matrix(v)
        flat = A.reshape(-1, A.shape[-1])
        f, F = self.criterion(flat.T @ flat, sharpness)
        return f, (2.0 * flat @ F).reshape(A.shape)

    def excess(self, v: Values, limits: ExcitationLimits, spare: float = 0.0) -> dict[str, Array]:
        """How far every value is beyond its limit, by kind and for the half spaces, of which a share of the arm's size
        is kept free: ≤ 0 inside."""
        found = {kind: limits.excess(kind, v.of(kind)) for kind in KINDS}
        found["workspace"] = spare - v.heights / limits.origins.size
        return found
