"""Where springs and damping come from, each as a formula: what to put for k and b in m ẍ + b ẋ + k x = f."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dalembert.actuation.motors import Motor
from dalembert.arguments import Array, array, number, of_kind
from dalembert.control.second_order import MassSpringDamper
from dalembert.errors import InputError, choose
from dalembert.friction.equivalent import equivalent_damping, slope, structural_damping
from dalembert.robot import Robot, need_robot

__all__ = ["air_stiffness", "back_emf_damping", "equivalent_damping", "gravity_stiffness", "in_parallel", "in_series"]
__all__ += ["joint_system", "pendulum_stiffness", "shaft_stiffness", "slope", "structural_damping"]


# ------------------------------------------------------------------------------------------------------- springs
def shaft_stiffness(shear_modulus: float, polar_moment: float, length: float) -> float:
    """k_θ = G I_p/L of a shaft that is twisted [N m/rad]; G [Pa], I_p [m⁴] (π d⁴/32 if round), L [m]."""
    G = number("the shear modulus of a shaft", shear_modulus, "Pa", above=0.0)
    I = number("the polar moment of a shaft", polar_moment, "m⁴", above=0.0)
    return G * I / number("the length of a shaft", length, "m", above=0.0)


def pendulum_stiffness(mass: float, length: float, gravity: float = 9.81) -> float:
    """k_θ = m g l: a pendulum hanging near rest, τ = −m g l sin θ ≈ −m g l θ [N m/rad]."""
    m, l = (
        number("the mass of a pendulum", mass, "kg", least=0.0),
        number("the length of a pendulum", length, "m", least=0.0),
    )
    return m * number("the gravity of a pendulum", gravity, "m/s²") * l


def gravity_stiffness(robot: Robot, q: ArrayLike) -> Array:
    """∂g/∂q at q: gravity near a state of balance as springs [N m/rad].  (..., n, n), symmetric.

    A negative eigenvalue is a spring that pushes away: an arm that stands upright."""
    need_robot(robot, "gravity_stiffness").gravity_torque(q)  # refused in words what is no q
    return np.asarray(robot.kernel("gravity_torque").derivative("q")(array("q", q)))


def air_stiffness(pressure: float, area: float, volume: float, exponent: float = 1.4) -> float:
    """k = γ p A²/V of a gas shut in behind a piston [N/m]; γ = 1.4 fast (no heat passes), 1 slow; p [Pa], absolute."""
    p = number("the pressure of an air spring", pressure, "Pa", above=0.0)
    A = number("the area of an air spring", area, "m²", above=0.0)
    V = number("the volume of an air spring", volume, "m³", above=0.0)
    return number("the exponent of an air spring", exponent, "1", least=1.0) * p * A * A / V


def in_parallel(*stiffnesses: float) -> float:
    """k₁ + k₂ + …: springs that share the deflection. Dampers add up alike."""
    return math.fsum(_read_all(stiffnesses))


def in_series(*stiffnesses: float) -> float:
    """1/(1/k₁ + 1/k₂ + …): springs that share the force, such as gear, shaft and coupling one after another."""
    given = _read_all(stiffnesses)
    if min(given) <= 0:
        raise InputError("out-of-range", "stiffnesses", min(given), expected="greater than 0 for springs in series")
    return 1.0 / math.fsum(1.0 / k for k in given)


def _read_all(values: tuple[float, ...]) -> list[float]:
    if not values:
        raise InputError("too-few", "stiffnesses", expected="at least one stiffness")
    return [number(f"the stiffness of spring {i + 1}", k, "N/m or N m/rad") for i, k in enumerate(values)]


# ------------------------------------------------------------------------------------------------------- damping
def back_emf_damping(motor: Motor, ratio: float = 1.0) -> float:
    """N² (B_m − B), for a DC motor N² K_T K_m/R: what opposes the joint's speed because the turning motor makes a
    voltage against its supply, bearings left out [N m s/rad]. `ratio` N: turns of the motor per turn of the joint."""
    of_kind(motor, Motor, "back-EMF is of a motor such as DCMotor, not of")
    N = number("the ratio of the gear", ratio, "1")
    return N * N * (motor.total_damping - motor.damping)


# ------------------------------------------------------------------------------------------------- of a robot's joint
def joint_system(robot: Robot, q: ArrayLike, joint: str | int, damping: float = 0.0) -> MassSpringDamper:
    """One joint of a robot near q, the others held: m = M_jj(q), b = its viscous damping, k = its spring + ∂g_j/∂q_j.

    `damping` is added: that of a motor (`back_emf_damping`), or what dry friction amounts to (`equivalent_damping`);
    dry friction itself is not counted."""
    stiffness = gravity_stiffness(robot, q)
    x = array("q", q, (robot.n,), meaning="one state")
    if isinstance(joint, str):
        j = robot.joint_names.index(choose("joint", joint, robot.joint_names))
    elif not 0 <= joint < robot.n:
        raise InputError("out-of-range", "joint", joint, expected=f"a joint name or an index below {robot.n}")
    else:
        j = int(joint)
    springs = damped = 0.0
    for body in robot.model.bodies:
        if body.coordinate == j:
            springs += body.multiplier**2 * body.stiffness
            damped += body.multiplier**2 * body.damping
    extra = number("the damping of the joint", damping, "N m s/rad")
    M = np.asarray(robot.mass_matrix(x))
    return MassSpringDamper(float(M[j, j]), damped + extra, springs + float(stiffness[j, j]))
