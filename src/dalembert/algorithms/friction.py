"""Torques of the joints themselves: damping, Coulomb friction and springs.

They oppose the motion, so a drive has to supply them: τ = M q̈ + h + friction(q, q̇).
"""

from __future__ import annotations

from dalembert import scalar
from dalembert.algorithms import joints
from dalembert.algorithms.joints import Coordinates
from dalembert.model import Model
from dalembert.spatial.vector import Scalar


def friction_torque(model: Model, q: Coordinates, qd: Coordinates) -> list[Scalar]:
    """b q̇ + F_c sgn(q̇) + k (q − q_rest) per joint, with F_c its own for each direction.  Seed 004."""
    tau = []
    for body, x, v in zip(
        model.bodies, joints.positions(model, q), joints.rates(model, qd), strict=True
    ):
        plus, minus = body.coulomb
        t: Scalar = body.damping * v
        if plus or minus:
            t = t + scalar.by_sign(v, plus, -minus)
        if body.stiffness:
            t = t + body.stiffness * (x - body.rest)
        tau.append(t)
    return joints.gather(model, tau)
