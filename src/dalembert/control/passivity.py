"""The dynamics along a reference velocity, M q̈_r + C(q, q̇) q̇_r + g: what passivity-based controllers compute.

Christoffel's C is symmetric in its two velocities, C(q, a) b = C(q, b) a = ¼ (c(q, a + b) − c(q, a − b)): Newton–Euler
and the regressor, which know only c(q, v), give it by two calls, and gravity cancels in the difference.
"""

from __future__ import annotations

from typing import Any

from dalembert.algorithms import newton_euler, regressor
from dalembert.control.controller import sub, total
from dalembert.flow import Scalar, Scalars
from dalembert.model import Model


def reference_torque(model: Model, q: Scalars, qd: Scalars, qd_r: Scalars, qdd_r: Scalars) -> list[Scalar]:
    """M(q) q̈_r + C(q, q̇) q̇_r + g(q), C by Christoffel's symbols."""
    still = [0.0] * len(q)
    tau = newton_euler.inverse_dynamics(model, q, still, qdd_r)
    plus, minus = (newton_euler.bias_torque(model, q, v) for v in (total(qd, qd_r), sub(qd, qd_r)))
    return [t + 0.25 * (a - b) for t, a, b in zip(tau, plus, minus, strict=True)]


def reference_regressor(
    model: Model, q: Scalars, qd: Scalars, qd_r: Scalars, qdd_r: Scalars, rotor: bool = False, friction: Any = False
) -> list[list[Scalar]]:
    """Y_r with Y_r π = M q̈_r + C(q, q̇) q̇_r + g [+ friction(q̇)], n × (columns of `robot.regressor`)."""
    still = [0.0] * len(q)
    Y = regressor.regressor(model, q, still, qdd_r, rotor=rotor)
    A, B = (regressor.regressor(model, q, v, still, rotor=rotor) for v in (total(qd, qd_r), sub(qd, qd_r)))
    Y = [[y + 0.25 * (a - b) for y, a, b in zip(*rows, strict=True)] for rows in zip(Y, A, B, strict=True)]
    if friction:
        rubbing = regressor.regressor(model, q, qd, still, friction=friction)
        first = regressor.PER_BODY * len(model.bodies)
        Y = [[*row, *more[first:]] for row, more in zip(Y, rubbing, strict=True)]
    return Y
