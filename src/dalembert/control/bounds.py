"""How large gravity, its slope and inertia get over all configurations: from above by lengths, from below by samples.

The bounds from above are those of `dalembert.bounds.lengths`, which are there at once for any robot; samples show how
far off they may be at most. What `robot.bounds()` has certified is sharper, and is used where it is there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.bounds import lengths
from dalembert.robot import Robot

Array = NDArray[np.float64]
SAMPLES = 2000


@dataclass(frozen=True, eq=False)
class Bounds:
    """Over all q within the limits of sliding joints (any angle of turning ones):

    slope (n, n): |∂g_i/∂q_j| ≤ slope_ij;  gravity (n,): |g_i| ≤ gravity_i;  mass (n, n): |M_ij| ≤ mass_ij; rotor:
    λ_min(M) ≥ the smallest reflected rotor inertia, 0 if some joint has none.

    Samples within the limits met `seen_slopes` (samples, n, n), the largest |g_i| `seen_gravity` (n,), eigenvalues of M
    from `seen_mass[0]` to `seen_mass[1]`, and M_ii `seen_inertia` (samples, n): the truth lies between."""

    slope: Array
    gravity: Array
    mass: Array
    rotor: float
    seen_slopes: Array
    seen_gravity: Array
    seen_mass: tuple[float, float]
    seen_inertia: Array

    @property
    def slope_norm(self) -> float:
        """‖∂g/∂q‖₂ ≤ this; infinite where a sliding joint has no limits."""
        return lengths.spectral(self.slope)

    @property
    def seen_slope_norm(self) -> float:
        return float(np.linalg.norm(self.seen_slopes, 2, axis=(-2, -1)).max())

    @property
    def mass_norm(self) -> float:
        """λ_max(M) ≤ this."""
        return lengths.spectral(self.mass)


def bounds(robot: Robot) -> Bounds:
    """The bounds of a robot's model, computed once."""
    key = "bounds for controllers"
    if key not in robot.made:
        robot.made[key] = _bounds(robot)
    found: Bounds = robot.made[key]
    return found


def _bounds(robot: Robot) -> Bounds:
    model, n = robot.model, robot.n
    q = robot.random_configuration(SAMPLES, seed=0)
    M = robot.mass_matrix(q)
    eigen = np.linalg.eigvalsh(M)
    slope = robot.kernel("gravity_torque").derivative("q")(q)
    g = robot.gravity_torque(q)
    return Bounds(
        slope=lengths.slope(model),
        gravity=lengths.gravity(model),
        mass=lengths.mass(model),
        rotor=lengths.least_rotor(model),
        seen_slopes=slope,
        seen_gravity=np.abs(g).max(axis=0),
        seen_mass=(float(eigen[:, 0].min()), float(eigen[:, -1].max())),
        seen_inertia=np.diagonal(M, axis1=-2, axis2=-1).reshape(SAMPLES, n),
    )
