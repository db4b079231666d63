"""A robot's own friction and springs, the wrenches that act on it, and what they do to its energy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dalembert import kernels
from dalembert.algorithms import friction, joints, linear, newton_euler
from dalembert.algorithms.joints import Coordinates
from dalembert.arguments import switch
from dalembert.errors import InputError
from dalembert.flow import WRENCH, Joints, Scalar, Scalars, wrench_inputs
from dalembert.model import Model
from dalembert.spatial import Force
from dalembert.units import position_units

if TYPE_CHECKING:
    from dalembert.robot import Robot

ENERGIES = ("kinetic_energy", "potential_energy")


def own_friction(robot: Robot, wanted: object) -> bool:
    """The switch `friction`, refused where the friction depends on the load, which depends on the acceleration
    sought."""
    if switch("friction", wanted) and robot.model.friction_by_load:
        raise InputError(
            f"some friction of {robot.name!r} depends on the load of its joint, which is not known behind drives "
            "or springs: leave friction=False, or state those losses as the efficiency of a gear"
        )
    return bool(wanted)


def need_frames(model: Model, wrenches: object) -> tuple[str, ...]:
    """Return the frames named in the option `wrenches` of a flow; raise an error for an unknown one."""
    frames = kernels.read_frames(wrenches)
    for frame in frames:
        model.frame(frame)
    return frames


def joints_of(robot: Robot, rates: tuple[str, ...] = ()) -> Joints:
    """What a flow says of a robot's joints."""
    named = rates or robot.model.names("rate")
    moving = tuple(unit for c in robot.model.coordinates for unit in c.joint.units)
    return Joints(named, position_units(robot.model), robot.limits, rate_units=moving, driven=robot.model.driven)


def spring_energy(model: Model, q: Coordinates) -> Scalar:
    """Σ ½ k (q − q_rest)² of the joints' springs [J]."""
    total: Scalar = 0.0
    for body, x in zip(model.bodies, joints.positions(model, q), strict=True):
        if body.stiffness:
            total = total + 0.5 * body.stiffness * ((x[0] - body.rest) * (x[0] - body.rest))
    return total


def without_springs(model: Model) -> Model:
    return replace(model, bodies=tuple(replace(body, stiffness=0.0) for body in model.bodies))


def friction_loss(model: Model, q: Coordinates, qd: Coordinates) -> Scalar:
    """The power that damping and Coulomb friction turn into heat [W]; springs give theirs back."""
    return linear.inner(friction.friction_torque(without_springs(model), q, qd), qd)


@dataclass(frozen=True)
class AppliedWrenches:
    """The wrenches that act on a model at `frames`, in world axes: inputs of a flow from number `first` on, six per
    frame."""

    model: Model
    frames: tuple[str, ...]
    first: int

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(name for frame in self.frames for name in wrench_inputs(frame))

    @property
    def end(self) -> int:
        """The number of the input after the last one."""
        return self.first + len(WRENCH) * len(self.frames)

    def arguments(self, u: Scalars) -> dict[str, Scalars]:
        """Return the wrenches among the inputs u by the names that they have as arguments of a kernel."""
        return {f"wrench{k}": u[self.first + 6 * k :][:6] for k in range(len(self.frames))}

    def wrenches(self, q: Scalars, u: Scalars) -> dict[int, Force]:
        """Return the wrench on each body."""
        return kernels.sum_wrenches(self.model, q, zip(self.frames, self.arguments(u).values(), strict=True))

    def torque(self, q: Scalars, u: Scalars) -> list[Scalar]:
        """Return τ + Σ Jᵀ F, with the torques τ that u begins with."""
        tau = list(u[: self.model.nv])
        if not self.frames:
            return tau
        applied, nothing = self.wrenches(q, u), Force((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        F = [applied.get(k, nothing) for k in range(len(self.model.bodies))]
        return [
            a + b for a, b in zip(tau, joints.gather(self.model, newton_euler.project(self.model, q, F)), strict=True)
        ]

    def supply(self, q: Scalars, qd: Scalars, u: Scalars) -> Scalar:
        """Return q̇ᵀ (τ + Σ Jᵀ F), the power that torques and wrenches supply [W]."""
        return linear.inner(self.torque(q, u), qd)

    def power(self, q: Scalars, qd: Scalars, u: Scalars) -> Scalar:
        """Return the power that the wrenches alone supply [W]."""
        V = joints.twists(self.model, joints.poses(self.model, q), qd)
        return linear.total(V[body].dot(F) for body, F in self.wrenches(q, u).items())

    def loss(self, q: Scalars, qd: Scalars, qdd: Scalars, u: Scalars) -> Scalar:
        """What damping and dry friction turn into heat [W]; where it depends on the load, at the load of the motion."""
        if not self.model.friction_by_load:
            return friction_loss(self.model, q, qd)
        loads = newton_euler.joint_loads(self.model, q, qd, qdd, self.wrenches(q, u))
        return linear.inner(friction.friction_torque(without_springs(self.model), q, qd, loads), qd)
