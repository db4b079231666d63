"""A robot to be played with, as a `Flow`: gravity, a load at its tip, friction and a hand that pulls at a link are
inputs of it, so that a compiled loop takes them as they change.

    M(q) q̈ + c + s_g g + s_f f(q, q̇) = τ + s_e e(q, q̇) + J_lᵀ (k (target − x) − d ẋ),    x the point of link l held

A hand is a spring and a damper between a point fixed to a link and the hand's place: inside the loop it is exact at
every stage of a step, and stable where forces that are held over a frame would not be. End stops e are springs beyond
the joints' limits; with s_e = 0 joints turn through them, as in `simulate`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dalembert import kernels
from dalembert.algorithms import energy, friction, joints, kinematics
from dalembert.algorithms.mechanics import accelerations
from dalembert.constrained.system import Constrained
from dalembert.flow import Flow, Scalar, Scalars
from dalembert.flows.books import ENERGIES, joints_of
from dalembert.flows.robot import load_models, on_manifold
from dalembert.model import Model
from dalembert.model.lean import lean as regroup
from dalembert.robot import Robot
from dalembert.scalar import absolute, where
from dalembert.spatial.vector import Vector, add, dot, matvec, scale, sub

SCALES = ("payload_mass", "gravity_scale", "friction_scale", "stop_scale")  # [kg], [1], [1] or [1/s], [1]
STOP, BOUNCE = 60.0, 0.3  # [rad/s], damping ratio: of a joint against its end stop, with its inertia at home
PULL = ("pull_stiffness", "pull_damping", "at_x", "at_y", "at_z", "to_x", "to_y", "to_z")  # [N/m], [N s/m], [m]


def live_flow(robot: Robot) -> Flow:
    """The robot as a flow whose inputs are the torques of its drives, then SCALES, PULL and for each body whether it is
    pulled at (1 or 0). The load hangs at the tip. Friction is the model's own, times its scale; of a model without any
    a viscous one that slows the driven joints with that rate [1/s], each with its inertia at home. A closed chain is
    held together."""
    nq, drives, tree = robot.nq, robot.model.drives, robot.tree() if robot.loops else robot
    m, places = len(drives), [c.first for c in drives]
    kernels.need_mass(robot.model)
    carries = robot.tip is not None and robot.model.frame(robot.tip).body >= 0
    lean, full, _ = load_models(robot, robot.tip, (0.0, 0.0, 0.0) if carries else False)
    rough = any(body.friction or body.stiffness for body in robot.model.bodies)
    inertia = np.diagonal(tree.mass_matrix(robot.home))[places].tolist()
    system = Constrained(robot) if robot.loops else None
    options = kernels.TABLE.read_options("forward_dynamics", {"method": kernels.faster_method(regroup(robot.model))})
    trace = kernels.ROWS["forward_dynamics"].trace

    def laden(models: Callable[[Scalars], Model], u: Scalars) -> Model:
        model = models(u[m : m + 1])
        return replace(model, gravity=tuple(u[m + 1] * g for g in model.gravity))

    def torques(x: Scalars, u: Scalars) -> list[Scalar]:
        """What moves the robot beside its weight."""
        q, qd = x[:nq], x[nq:]
        tau = pull_torque(robot.model, q, qd, u[m + len(SCALES) :])
        if rough:
            tau = [a - u[m + 2] * f for a, f in zip(tau, friction.friction_torque(robot.model, q, qd), strict=True)]
        for c, J, own in zip(drives, inertia, u[:m], strict=True):
            k, v = c.first, qd[c.first]
            lost = 0.0 if rough else u[m + 2] * (J * v)
            tau[k] = own - lost + u[m + 3] * _stop(q[c.position], v, c.lower, c.upper, J) + tau[k]
        return tau

    def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        given = {"q": x[:nq], "qd": x[nq:], "tau": torques(x, u)}
        if system is None:
            return [*x[nq:], *trace(laden(lean, u), given, options)]
        return [
            *x[nq:],
            *accelerations(replace(system.bound, model=laden(full, u)), given, {**options, "wrenches": ()})[0].qdd,
        ]

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        model = laden(full, u)
        return [energy.kinetic_energy(model, x[:nq], x[nq:]), energy.potential_energy(model, x[:nq])]

    return Flow(
        robot.name,
        robot.states,
        (*(robot.inputs[k] for k in places), *SCALES, *PULL, *(f"pull on {body.name}" for body in robot.model.bodies)),
        rate,
        positions=nq,
        settle=None if system is None else system.flow().settle,
        outputs=ENERGIES,
        observe=observe,
        drives=m,
        joints=joints_of(robot),
        **on_manifold(robot),
    )


def pull_torque(model: Model, q: Scalars, qd: Scalars, u: Scalars) -> list[Scalar]:
    """The torques of a hand at a link, u as PULL and then a number for each body, 1 for the one that is held: Σ over
    the joints below it of their twist at the point times the force."""
    stiffness, damping, at, to, held = u[0], u[1], tuple(u[2:5]), tuple(u[5:8]), u[8:]
    T = kinematics.world_poses(model, q)
    point: Vector = (0.0, 0.0, 0.0)
    for k, s in enumerate(held):
        point = add(point, scale(s, add(matvec(T[k].R, at), T[k].p)))
    carried = list(held)  # whether the held body is this one or hangs on it
    for k in reversed(range(len(model.bodies))):
        parent = model.bodies[k].parent
        if parent >= 0:
            carried[parent] = carried[parent] + carried[k]
    moves = [
        scale(s, twist.v)
        for k, (b, s) in enumerate(zip(model.bodies, carried, strict=True))
        for twist in joints.twists_at(b, T[k], point)
    ]
    velocity: Vector = (0.0, 0.0, 0.0)
    for move, v in zip(moves, joints.rates(model, qd), strict=True):
        velocity = add(velocity, scale(v, move))
    force = sub(scale(stiffness, sub(to, point)), scale(damping, velocity))
    return joints.gather(model, [dot(move, force) for move in moves])


def _stop(q: Scalar, qd: Scalar, lower: float, upper: float, inertia: float) -> Scalar:
    """The torque of an end stop: a spring and a damper where a joint is beyond a limit, if it has any."""
    beyond: Scalar = where(q > upper, q - upper, 0.0) if math.isfinite(upper) else 0.0
    if math.isfinite(lower):
        beyond = beyond + where(q < lower, q - lower, 0.0)
    elif not math.isfinite(upper):
        return 0.0
    force = -(inertia * STOP * STOP) * beyond - (2 * BOUNCE * STOP * inertia) * qd
    return where(absolute(beyond) > 0.0, force, 0.0)
