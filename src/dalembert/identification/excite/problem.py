"""The best motion for identification as a problem of optimization: criterion and limits of the coefficients of a
Fourier series, with exact gradients.

The gradient goes backwards. With A the weighted regressor of all samples and F = ∂f/∂W, df = 2 tr(F Aᵀ dA), so that
V = 2 A F is what every entry of the regressor weighs; then one compiled kernel gives ∂(V·Y + w·τ + u·h)/∂(q, q̇, q̈)
per sample (reverse mode: one sweep, whatever the number of columns), and the series' linear map gives the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.algorithms import kinematics, newton_euler, regressor
from dalembert.caching import cached_property
from dalembert.compile import Kernel, compile_function
from dalembert.compile.interpret import replay
from dalembert.errors import InputError
from dalembert.identification.excite.criteria import Criterion
from dalembert.identification.excite.fourier import Series
from dalembert.identification.excite.limits import KINDS, MotionLimits
from dalembert.identification.fit.base import Base
from dalembert.identification.fit.regressor import Columns
from dalembert.model.lean import lean
from dalembert.spatial.vector import dot

Array = NDArray[np.float64]
Shape = Callable[[Array, Array], tuple[Array, Array]]
CREEP = 0.01  # of a joint's largest rate: below it the direction of friction counts in proportion


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
LINEAR = "viscous"  # of rotors and springs too


@dataclass(frozen=True, eq=False)
class Extra:
    """A column beside the inertial ones: e f(eᵀx), x the positions (0), rates (1) or accelerations (2)."""

    e: Array
    of: int
    kind: str
    width: float = 1.0


@dataclass(frozen=True, eq=False)
class Group:
    """Columns of one kind: E (k, n), one row for each, their widths (k,), and their places in the matrix."""

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
    """A motion on a grid, and what its limits look at: q, q̇, q̈, τ (N, n); heights above half spaces (N, h)."""

    motion: tuple[Array, Array, Array]
    tau: Array
    heights: Array
    columns: Array  # (N, n, inertial base columns)

    def of(self, kind: str) -> Array:
        return (*self.motion, self.tau)[KINDS.index(kind)]


@dataclass(frozen=True, eq=False)
class Problem:
    """f(z) and the limits of a series' coefficients z (p, n) on a grid of `samples` over one period.

    `weights` (n,): one over the noise of each joint's torque, so that rows count by what they tell."""

    columns: Columns
    base: Base
    series: Series
    limits: MotionLimits
    criterion: Criterion
    weights: Array
    samples: int

    # -------------------------------------------------------------------------------------------- structure
    @cached_property
    def _split(self) -> tuple[list[int], list[Group]]:
        """The base columns: places of inertial ones in the regressor, and the others in groups."""
        places = [int(k) for k in self.columns.free[self.base.kept]]
        inertial = 10 * self.columns.bodies
        every = self._extras()
        members: dict[tuple[int, str], list[tuple[int, Extra]]] = {}
        for at, k in enumerate(places):
            if k >= inertial:
                extra = every[k - inertial]
                members.setdefault((extra.of, extra.kind), []).append((at, extra))
        groups = [
            Group(
                np.array([at for at, _ in m], np.int64),
                np.array([x.e for _, x in m]),
                of,
                kind,
                np.array([x.width for _, x in m]),
            )
            for (of, kind), m in members.items()
        ]
        return [k for k in places if k < inertial], groups

    def _extras(self) -> list[Extra]:
        """All columns beside the inertial ones, in the order of `columns.all_names`."""
        c = self.columns
        speed = self.speeds
        unit = np.eye(c.robot.n)
        out = [Extra(e, 2, LINEAR) for e in unit] if c.rotor else []
        out += [Extra(e, 1, kind, CREEP * float(e @ speed)) for kind in c.friction for e in unit]
        if c.springs:
            out += [Extra(e, 0, LINEAR) for e in unit]
        for row in c.coupled.values():
            out += [Extra(row, 2, LINEAR)] if c.rotor else []
            width = CREEP * float(np.abs(row) @ speed)
            out += [Extra(row, 1, kind, width) for kind in c.friction if kind != "offset"]
        return out

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
        n, spaces = model.n, self.limits.spaces
        slim = lean(model)

        def values(q: Any, qd: Any, qdd: Any) -> Any:
            Y = regressor.regressor(model, q, qd, qdd)
            picked = [[row[k] for k in places] or [0.0] for row in Y]
            tau = newton_euler.inverse_dynamics(slim, q, qd, qdd)
            heights = [
                dot(space.normal, kinematics.frame_pose(model, q, model.frame(space.frame)).p) - space.offset
                for space in spaces
            ]
            return picked, tau, heights or [1.0]

        shapes = [(n, max(len(places), 1)), (n,), (max(len(spaces), 1),)]
        return compile_function(values, [(n,)] * 3, shapes, "excitation", arguments=("q", "qd", "qdd"))

    @cached_property
    def _backward(self) -> Kernel:
        forward = self._forward
        n = self.columns.robot.n
        names = ("q", "qd", "qdd", "V", "w", "u")

        def weighed(q: Any, qd: Any, qdd: Any, V: Any, w: Any, u: Any) -> Any:
            parts = replay(forward.program, [q, qd, qdd])
            flat = [x for group in parts for x in group]
            weights = [x for row in V for x in row] + list(w) + list(u)
            total: Any = 0.0
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
                "excitation for an arm whose friction depends on the load is not offered: torque limits "
                "would depend on it; use a description without that term"
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
        Y, tau, heights = self._forward(q, qd, qdd)
        if self._friction is not None:
            tau = tau + self._friction[0](q, qd)
        return Values((q, qd, qdd), tau, heights[:, : len(self.limits.spaces)], Y)

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

    def gradient(self, v: Values, V: Array, pull: dict[str, Array], lift: Array) -> Array:
        """∂/∂z (p, n), given what the entries of the matrix (N, n, p), values by kind (N, n) and heights weigh."""
        places, groups = self._split
        V = V * (self.weights[:, None] / np.sqrt(len(V)))
        w = pull["torque"]
        inertial = V[..., : len(places)] if places else np.zeros((len(V), self.columns.robot.n, 1))
        u = lift if lift.shape[1] else np.zeros((len(V), 1))
        out = [np.array(x) for x in self._backward(*v.motion, inertial, w, u)]
        for group in groups:
            slope = (V[..., group.places] * group.E.T).sum(axis=1) * group.values(v.motion)[1]
            out[group.of] += slope @ group.E
        if self._friction is not None:
            for order, D in enumerate(self._friction[1](*v.motion[:2])):
                out[order] += (w[:, None, :] @ D)[:, 0]
        for order, kind in enumerate(KINDS[:3]):
            out[order] += pull[kind]
        total = np.zeros((self.series.numbers, v.tau.shape[1]))
        for B, x in zip(self.maps, out, strict=True):
            total += B.T @ x
        return total

    def merit(self, v: Values, sharpness: float) -> tuple[float, Array]:
        """(f, V) of the criterion, V = ∂f/∂A."""
        A = self.matrix(v)
        flat = A.reshape(-1, A.shape[-1])
        f, F = self.criterion(flat.T @ flat, sharpness)
        return f, (2.0 * flat @ F).reshape(A.shape)

    def excess(self, v: Values, limits: MotionLimits, clearance: float = 0.0) -> dict[str, Array]:
        """How far every value is beyond its limit, by kind and for the half spaces [m]: ≤ 0 inside."""
        found = {kind: limits.excess(kind, v.of(kind)) for kind in KINDS}
        found["workspace"] = clearance - v.heights
        return found
