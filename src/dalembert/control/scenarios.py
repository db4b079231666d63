"""What a controller may meet that it was not told: a payload, other masses, friction, noise, a wrong start, gears.

A scenario's numbers are inputs of one flow, so that all scenarios run in one compiled loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from dalembert import scalar
from dalembert.algorithms import composite, friction, linear, newton_euler
from dalembert.arguments import array, number
from dalembert.control.controller import sub, total
from dalembert.errors import InputError
from dalembert.flow import Flow, Scalar, Scalars
from dalembert.kernels import need_tree
from dalembert.law import Law, Tell
from dalembert.model import Model
from dalembert.robot import Robot
from dalembert.spatial import Inertia
from dalembert.spatial.inertia import second_moment
from dalembert.spatial.vector import matscale, scale

NOISE = "noise_"
# Below this rate [rad/s] Coulomb friction is made smooth, so that steps of a millisecond pass through zero without
# chatter.
SMOOTH = 0.01


@dataclass(frozen=True)
class Scenario:
    """What is different from what the controllers believe.

    `payload` [kg] at the tip; `mass_error`: every inertia is 1 + this times the model's; `friction`: so many times the
    model's own friction; `viscous` [N m s/rad] and `coulomb` [N m] at every joint besides; `noise` [rad] and
    `rate_noise` [rad/s]: standard deviations of what is measured; `start` [rad]: every joint begins so far off."""

    payload: float = 0.0
    mass_error: float = 0.0
    friction: float = 0.0
    viscous: float = 0.0
    coulomb: float = 0.0
    noise: float = 0.0
    rate_noise: float = 0.0
    start: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            least = None if field.name in ("mass_error", "start") else 0.0
            x = number(f"{field.name} of a Scenario", getattr(self, field.name), least=least)
            object.__setattr__(self, field.name, x)
        if self.mass_error <= -1:
            raise InputError(f"mass_error of a Scenario is {self.mass_error!r}: nothing would be left of the arm")


PLANT = ("payload", "mass_error", "friction", "viscous", "coulomb")
DEFAULTS: dict[str, Scenario] = {
    "exact": Scenario(),
    "wrong start": Scenario(start=0.05),
    "payload": Scenario(payload=1.0),
    "masses +10 %": Scenario(mass_error=0.1),
    "friction": Scenario(viscous=0.5, coulomb=0.5),
    "noise": Scenario(noise=1e-3, rate_noise=1e-2),
}


def scenario_flow(robot: Robot) -> Flow:
    """A robot under joint torques with the numbers of a `Scenario` as inputs after them."""
    need_tree(robot.model)
    n, joints = robot.n, robot.joint_names
    tip = robot.model.frame()

    def changed(payload: Scalar, mass_error: Scalar) -> Model:
        bodies = list(robot.model.bodies)
        more = 1.0 + mass_error
        for k, body in enumerate(bodies):
            I = body.inertia
            bodies[k] = replace(body, inertia=Inertia(I.m * more, scale(more, I.h), matscale(more, I.I)))
        if tip.body >= 0:
            c = tip.pose.p
            load = Inertia(payload, scale(payload, c), matscale(payload, second_moment(c)))
            bodies[tip.body] = replace(bodies[tip.body], inertia=bodies[tip.body].inertia + load)
        return replace(robot.model, bodies=tuple(bodies))

    def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        q, qd, tau = x[:n], x[n:], u[:n]
        payload, mass_error, own, viscous, coulomb = u[n:]
        model = changed(payload, mass_error)
        rubbing = [own * f for f in friction.friction_torque(robot.model, q, qd)]
        rubbing = total(rubbing, [viscous * v + coulomb * scalar.tanh(v * (1.0 / SMOOTH)) for v in qd])
        force = sub(sub(tau, rubbing), newton_euler.bias_torque(model, q, qd))
        return [*qd, *linear.solve_ldl(composite.mass_matrix(model, q), force)]

    return Flow(
        robot.name,
        (*joints, *(f"{j}_rate" for j in joints)),
        (*(f"{j}_torque" for j in joints), *PLANT),
        rate,
        positions=n,
    )


def add_noise(law: Law) -> Law:
    """The law with noise on what it measures: parameters `noise_<measure>`, zero unless a run gives them."""
    own = len(law.parameters)

    def measure(y: Scalars, p: Scalars) -> list[Scalar]:
        return total(y, p[own:])

    def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
        return law.act(t, measure(y, p), r, z, p[:own])

    def rate(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
        assert law.rate is not None
        return law.rate(t, measure(y, p), r, z, p[:own])

    def memory(count: int) -> Tell:
        assert law.memory is not None
        tell, senses = law.memory(count), len(law.measures)
        return lambda t, y, r, p: tell(t, y + p[:, own : own + senses], r, p[:, :own])

    return replace(
        law,
        act=act,
        memory=None if law.memory is None else memory,
        rate=None if law.rate is None else rate,
        update=None,
        parameters={**law.parameters, **{f"{NOISE}{y}": 0.0 for y in law.measures}},
    )


def add_gears(robot: Robot, rotor_inertia: float | Sequence[float], ratio: float) -> Robot:
    """The robot with rotors of this inertia [kg m²] behind gears of this ratio in every joint: N² J_m in M."""
    n, N = robot.n, number("the gear ratio", ratio, above=0.0)
    J = array("rotor_inertia", rotor_inertia, (), (n,), meaning="one per joint", unit="kg m²", least=0.0)
    each = zip(robot.joint_names, np.broadcast_to(J, n).tolist(), strict=True)
    return replace_drives(robot, {name: (x, N) for name, x in each})


def replace_drives(robot: Robot, drives: Mapping[str, tuple[float, float]]) -> Robot:
    """The robot with another (rotor inertia [kg m²], gear ratio) in the drives of these joints."""
    d = robot.description
    joints = [
        replace(j, drive=replace(j.drive, rotor_inertia=float(drives[j.name][0]), gear_ratio=drives[j.name][1]))
        if j.name in drives
        else j
        for j in d.joints
    ]
    return Robot(replace(d, joints=tuple(joints)), threads=robot.threads, told=robot.warnings)
