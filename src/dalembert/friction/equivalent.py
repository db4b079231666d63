"""Friction seen as damping: about an operating point, and over a cycle of a sinusoidal motion."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert import scalar
from dalembert.arguments import number
from dalembert.friction import laws
from dalembert.friction.laws import Friction
from dalembert.scalar import Scalar


def slope(term: Friction, v: Scalar, load: Scalar = 0.0) -> Scalar:
    """∂f/∂v, the damping that a small motion about the speed v feels [N m s/rad or N s/m]; for dry friction at v ≠ 0.
    The falling part of a Stribeck curve has a negative one, which is what makes joints stutter."""
    total: Scalar = 0.0
    for piece in laws.pieces(term):
        shape, rise = piece.shape(v), piece.slope(v)
        if piece.dry:
            rise = rise * laws.sign(term, v) + shape * laws.sign_slope(term, v)
        if piece.load:
            rise = rise * scalar.absolute(load)
        total = total + laws.level(piece.level, v) * rise
    return total


# Nodes on (0, π/2), in panels that halve toward π/2, where the speed goes through zero: whatever the width at which a
# curve turns there, some panels are of its size. Gauss–Legendre on each.
_PANELS = 60
_ORDER = 20


def _nodes() -> tuple[Any, Any]:
    x, w = np.polynomial.legendre.leggauss(_ORDER)
    ends = [0.5 * math.pi * (1.0 - 0.5**k) for k in range(_PANELS)] + [0.5 * math.pi]
    pairs = list(pairwise(ends))
    theta = np.concatenate([a + (b - a) * (x + 1) / 2 for a, b in pairs])
    return theta, np.concatenate([w * (b - a) / 2 for a, b in pairs])


def equivalent_damping(term: Friction, amplitude: float, frequency: float, load: float = 0.0) -> float:
    """The viscous damping that dissipates the same energy over a cycle of x = X sin ωt [N m s/rad or N s/m],

        b_eq = (1/(π ω X²)) ∮ f dx = (1/(π ω X)) ∫₀^{2π} f(ωX cos θ) cos θ dθ,

    which is also the describing function of f. Coulomb friction: 4 F_c/(π ω X). `amplitude` X [rad or m], `frequency`
    ω [rad/s]."""
    theta, weight = _nodes()
    V = number("amplitude", amplitude, "rad or m", above=0.0) * number("frequency", frequency, "rad/s", above=0.0)
    cosine = np.cos(theta)
    both = [laws.torque(term, v, load) - laws.torque(term, -v, load) for v in (V * cosine).tolist()]
    return float(2.0 * np.sum(weight * np.array(both) * cosine) / (math.pi * V))


def structural_damping(stiffness: float, loss_factor: float, frequency: float) -> float:
    """The viscous damping b = η k/ω of a material that loses the part η of its stiffness k as heat, at frequency ω
    [rad/s]: per cycle π η k X², whatever the frequency."""
    eta, k = number("loss_factor", loss_factor, least=0.0), number("stiffness", stiffness, "N m/rad or N/m", least=0.0)
    return eta * k / number("frequency", frequency, "rad/s", above=0.0)
