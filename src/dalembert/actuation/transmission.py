"""Between motors and joints: one gear, and θ_m = G q, τ = Gᵀ τ_m of them all, by virtual work.

Gears alone make G diagonal. Belts and cables that pass over other joints, and differentials, fill in more of it. A
motor may move several joints and a joint may be moved by several motors. Cables are taken as stiff, and as pulling
both ways (a loop over a pulley); a single cable that can only pull is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert import scalar
from dalembert.algorithms import linear
from dalembert.arguments import Array, array, number
from dalembert.caching import cached_property
from dalembert.errors import InputError

Scalar = Any
Scalars = Sequence[Scalar]
# Singular values of G below this part of the largest count as zero.
RANK = 1e-12
LOSSES = "0 < η ≤ 1: no gear gives more power than it takes"


@dataclass(frozen=True)
class Gear:
    """θ_m = N q.  `ratio` N: turns of the motor per turn of the joint (rad/m at a slide: 2π over a screw's lead), below
    zero where the motor turns the other way.

    `efficiency` η is the part of the power that arrives at the joint when the motor drives, τ = η N τ_m; when the
    joint drives the motor, τ = N τ_m / η_b, with η_b = `backward` (η if not given)."""

    ratio: float
    efficiency: float = 1.0
    backward: float | None = None

    def __post_init__(self) -> None:
        ratio = number(
            "the ratio of a Gear", self.ratio, "motor turns per joint turn, 1 for a direct drive", nonzero=True
        )
        object.__setattr__(self, "ratio", ratio)
        backward = self.efficiency if self.backward is None else self.backward
        for field, value in (("efficiency", self.efficiency), ("backward", backward)):
            object.__setattr__(self, field, _shares(field, value, 1)[0])


def transfer(power: Scalar, efficiency: float, backward: float) -> Scalar:
    """What multiplies the motor's torque on its way to the joint: η where power flows forward (> 0), 1/η_b where it
    flows back, 1 where none flows: a gear at rest holds nothing (self-locking and stiction are no part of this)."""
    if efficiency == backward == 1.0:
        return 1.0
    return scalar.where(power > 0.0, efficiency, scalar.where(power < 0.0, 1.0 / backward, 1.0))


def reflected_inertia(inertia: Scalar, ratio: Scalar) -> Scalar:
    """N² J_m [kg m²]: the rotor as the joint feels it."""
    return ratio * ratio * inertia


@dataclass(frozen=True)
class Transmission:
    """`matrix` G, one row per motor and one column per joint; `efficiency` η and `backward` η_b, one per motor or one
    for all, as in a `Gear`. More motors than joints are fine, and share the load; with fewer, some motions are not
    driven, and `motor_torque` is refused."""

    matrix: tuple[tuple[float, ...], ...]
    efficiency: tuple[float, ...]
    backward: tuple[float, ...]

    def __init__(self, matrix: ArrayLike, efficiency: ArrayLike = 1.0, backward: ArrayLike | None = None) -> None:
        G = array("the matrix of a Transmission", matrix, (None, None), meaning="a row is a motor, a column a joint")
        if 0 in G.shape:
            raise InputError(f"the matrix of a Transmission has shape {G.shape}; a row is a motor, a column a joint")
        for k, row in enumerate(G):
            if not row.any():
                raise InputError(f"row {k} of a Transmission's matrix is zero: motor {k} would move no joint")
        forward = _shares("efficiency", efficiency, len(G))
        object.__setattr__(self, "matrix", tuple(tuple(row) for row in G.tolist()))
        object.__setattr__(self, "efficiency", forward)
        back = _shares("backward", forward if backward is None else backward, len(G))
        object.__setattr__(self, "backward", back)

    @staticmethod
    def gears(gears: Sequence[Gear | float]) -> Transmission:
        """One motor and one gear per joint; a number is the ratio of a gear without losses."""
        each = [g if isinstance(g, Gear) else Gear(g) for g in gears]
        if not each:
            raise InputError("a Transmission needs at least one gear")
        return Transmission(
            np.diag([g.ratio for g in each]), [g.efficiency for g in each], [g.backward or g.efficiency for g in each]
        )

    @staticmethod
    def joined(*parts: Transmission) -> Transmission:
        """Parts side by side, each with joints of its own: an arm's gears, then a differential wrist."""
        if not parts:
            raise InputError("nothing to join: give at least one Transmission")
        G = np.zeros((sum(p.motors for p in parts), sum(p.joints for p in parts)))
        row = column = 0
        for part in parts:
            G[row : row + part.motors, column : column + part.joints] = part.matrix
            row, column = row + part.motors, column + part.joints
        return Transmission(
            G, [e for part in parts for e in part.efficiency], [e for part in parts for e in part.backward]
        )

    @property
    def motors(self) -> int:
        return len(self.matrix)

    @property
    def joints(self) -> int:
        return len(self.matrix[0])

    @cached_property
    def diagonal(self) -> bool:
        """Whether every motor has one joint of its own: gears alone."""
        G = np.array(self.matrix)
        return G.shape[0] == G.shape[1] and not (G - np.diag(np.diag(G))).any()

    @property
    def lossless(self) -> bool:
        return all(e == 1.0 for e in (*self.efficiency, *self.backward))

    # ------------------------------------------------------------------------------------------ over any scalar
    def to_motors(self, q: Scalars) -> list[Scalar]:
        """G q: angles, rates or accelerations of the motors."""
        return linear.apply(self.matrix, q)

    def to_joints(self, torques: Scalars) -> list[Scalar]:
        """Gᵀ τ_m: what the motors' torques are at the joints, without losses."""
        return linear.apply(linear.transposed(self.matrix), torques)

    def reflected(self, inertias: Scalars) -> list[list[Scalar]]:
        """Gᵀ diag(J_m) G: the rotors as the joints feel them; N² J_m on the diagonal for gears alone."""
        scaled = [[J * g for g in row] for J, row in zip(inertias, self.matrix, strict=True)]
        return linear.product(linear.transposed(self.matrix), scaled)

    def transfers(self, powers: Scalars) -> list[Scalar]:
        """η, 1/η_b or 1 of each motor's path, by the sign of the power that it passes on."""
        return [
            transfer(p, forward, back) for p, forward, back in zip(powers, self.efficiency, self.backward, strict=True)
        ]

    # ------------------------------------------------------------------------------------------------ on arrays
    def motor_torque(self, torque: ArrayLike) -> Array:
        """The motors' torques that give these at the joints, without losses; of all, the smallest.  (..., motors).

        Refused where some joint torque is out of every motor's reach."""
        tau = array("torque", torque, (..., self.joints), meaning="one per joint")
        G = np.array(self.matrix)
        s = np.linalg.svd(G, compute_uv=False)
        rank = int((s > RANK * s[0]).sum())
        if rank < self.joints:
            raise InputError(
                f"{self.motors} motors drive {rank} of {self.joints} independent joint motions: "
                "joint torques cannot be chosen freely, and no motor torques give them"
            )
        return np.asarray(tau @ np.linalg.pinv(G))


def _shares(field: str, value: ArrayLike, motors: int) -> tuple[float, ...]:
    """0 < η ≤ 1 of every motor: no gear gives more power than it takes."""
    name = {"efficiency": "the efficiency of a gear", "backward": "the backward efficiency of a gear"}[field]
    x = array(name, value, (), (motors,), meaning="one, or one per motor", above=0.0, most=1.0, unit=LOSSES)
    return tuple(np.broadcast_to(x, (motors,)).tolist())


def differential(ratio: float, second: float | None = None) -> Transmission:
    """Two motors on two bevel gears of a wrist: their sum turns the first joint (pitch), their difference the second
    (roll).

    θ₁ = N q₁ + N₂ q₂,  θ₂ = N q₁ − N₂ q₂, so that both motors share every load. `second` N₂ is N if not given."""
    N = Gear(ratio).ratio
    N_2 = N if second is None else Gear(second).ratio
    return Transmission([[N, N_2], [N, -N_2]])


def remote(ratios: Sequence[float], pulleys: ArrayLike = 1.0) -> Transmission:
    """Motors at the base, each driving its joint by a belt over the joints before it.

    The belt to joint i wraps around a pulley at every joint j < i, so joint j's motion winds it too:
    θ_i = N_i (q_i + Σ_{j<i} ρ_j q_j), with ρ = `pulleys`, the ratio of those pulleys' radii to the last one's (1: each
    motor turns with the absolute angle of its link): one for all, or one for each joint that belts pass over, that is
    all but the last."""
    N = [Gear(x).ratio for x in ratios]
    if not N:
        raise InputError("a Transmission needs at least one gear")
    rho = array("pulleys", pulleys, (), (len(N) - 1,), meaning="one ratio, or one per joint but the last")
    G = np.eye(len(N))
    G[:, :-1] += np.tri(len(N), len(N) - 1, k=-1) * rho
    return Transmission(np.array(N)[:, None] * G)
