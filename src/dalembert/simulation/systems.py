"""The table: which system gives which flow, how its state begins, and where its energy goes.

A row makes a `Plant` of a system. Its flow observes the energy books by these names, which `Run.audit` adds up:

    …_energy       what is stored [J]
    supply_power   what the inputs bring in [W] (input_power of a robot with flexible joints)
    …_loss         what is lost [W]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert import kernels
from dalembert.actuation.books import friction_loss, spring_energy
from dalembert.actuation.driven import DrivenRobot
from dalembert.actuation.flexible import FlexibleRobot
from dalembert.actuation.stiction import start as sticking_start
from dalembert.actuation.stiction import sticking
from dalembert.algorithms import energy, friction, joints, linear, newton_euler
from dalembert.arguments import switch
from dalembert.compile.interpret import replay
from dalembert.constrained.system import Constrained
from dalembert.errors import InputError
from dalembert.flow import Flow, Scalar, Scalars
from dalembert.lagrange.system import LagrangianSystem
from dalembert.model import Model
from dalembert.robot import Robot
from dalembert.simulation.flows import ENERGIES, WRENCH, lagrangian_flow, robot_flow
from dalembert.spatial import Force

Array = NDArray[np.float64]
Start = Callable[[Array, Array], Array]

SUPPLY = ("supply_power", "input_power")
LOSS, ENERGY, MULTIPLIER = "_loss", "_energy", "multiplier of "
# How far a Lagrangian system may be off its constraints, as `constrained.system` has it.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Options:
    """What a user asks of a system's flow. `momenta`: x = (q, p); `adaptive`: nothing is done to a state between
    steps."""

    friction: bool | str | None = None
    f_tip: bool = False
    frame: str | None = None
    expressed_in: str = "world"
    momenta: bool = False
    adaptive: bool = False


@dataclass(frozen=True)
class Plant:
    """A system as `simulate` takes it. q are the first `n` positions, `rates` names their rates (states or outputs);
    `drives` inputs come first, a wrench at the tip after them; `start(q0, qd0)` is the state to begin with.
    `steps_only` says why an adaptive method cannot run it, or nothing."""

    flow: Flow
    n: int
    rates: tuple[str, ...]
    drives: int
    start: Start
    units: tuple[str, ...] = ()  # of q: "rad", "m", or "" where nobody knows
    robot: Robot | None = None
    steps_only: str = ""


def plant_of(system: Any, options: Options) -> Plant:
    """The row of a system, by its type; anything else must be a Flow or have one."""
    for kind, row in ROWS:
        if isinstance(system, kind):
            return row(system, options)
    made = system if isinstance(system, Flow) else _own_flow(system)
    return _flow(made, options)


def _own_flow(system: Any) -> Flow:
    method = getattr(system, "flow", None)
    flow = method() if callable(method) else method
    if not isinstance(flow, Flow):
        known = ", ".join(kind.__name__ for kind, _ in ROWS)
        raise InputError(f"simulate takes a {known}, a Flow, or what has a flow(); got {type(system).__name__}")
    return flow


def _counts(friction: bool | str | None, usual: bool) -> bool:
    """Whether the system's friction and springs count."""
    if isinstance(friction, str):
        raise InputError(f"friction is True, False, or for a Robot 'sticking'; got {friction!r}")
    return switch("friction", usual if friction is None else friction)


def _joined(q: Array, qd: Array) -> Array:
    return np.concatenate((q, qd))


def _units(robot: Robot) -> tuple[str, ...]:
    """rad or m of every coordinate."""
    return tuple(c.joint.unit for c in robot.model.coordinates)


def _no_wrench(options: Options, what: str, why: str) -> None:
    if options.f_tip:
        raise InputError(f"f_tip is not to be had with {what}: {why}")


def _no_momenta(options: Options, what: str) -> None:
    if options.momenta:
        raise InputError(f"method='symplectic' is for a Robot without friction, not for {what}: take another method")


# -------------------------------------------------------------------------------------------------------- the robot
def wrench_torque(model: Model, q: Scalars, f_tip: Scalars, options: Options) -> list[Scalar]:
    """Jᵀ f_tip."""
    applied = kernels.wrench_on_body(model, q, f_tip, model.frame(options.frame), options.expressed_in)
    nothing = Force((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    F = [applied.get(k, nothing) for k in range(len(model.bodies))]
    return joints.gather(model, newton_euler.project(model, q, F))


def _robot(robot: Robot, options: Options) -> Plant:
    if options.friction == "sticking":
        return _sticking(robot, options)
    rough = _counts(options.friction, False)
    n, model = robot.n, robot.model
    flow = robot_flow(
        robot,
        friction=rough,
        f_tip=options.f_tip,
        frame=options.frame,
        expressed_in=options.expressed_in,
        energies=True,
        momenta=options.momenta,
    )
    inner = flow.observe
    assert inner is not None
    springs = rough and any(body.stiffness for body in model.bodies)

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        seen = inner(t, x, u)
        q, qd = x[:n], seen[:n] if options.momenta else x[n:]
        more: list[Scalar] = [spring_energy(model, q)] if springs else []
        more.append(_supply(model, q, qd, u, options))
        if rough:
            qdd = flow.rate(t, x, u)[n:] if model.friction_by_load else []
            more.append(_friction_power(model, q, qd, qdd, u, options))
        return [*seen, *more]

    outputs = (
        *flow.outputs,
        *(("spring_energy",) if springs else ()),
        "supply_power",
        *(("friction_loss",) if rough else ()),
    )
    rates = tuple(f"{joint}_rate" for joint in robot.joint_names)

    def start(q: Array, qd: Array) -> Array:
        return np.concatenate((q, robot.mass_matrix(q) @ qd)) if options.momenta else _joined(q, qd)

    return Plant(replace(flow, outputs=outputs, observe=observe), n, rates, n, start, _units(robot), robot)


def _supply(model: Model, q: Scalars, qd: Scalars, u: Scalars, options: Options) -> Scalar:
    """q̇ᵀ (τ − Jᵀ f_tip)."""
    tau = list(u[: model.n])
    if options.f_tip:
        tip = wrench_torque(model, q, u[model.n : model.n + len(WRENCH)], options)
        tau = [a - b for a, b in zip(tau, tip, strict=True)]
    return linear.inner(tau, qd)


def _friction_power(model: Model, q: Scalars, qd: Scalars, qdd: Scalars, u: Scalars, options: Options) -> Scalar:
    """What damping and dry friction turn into heat [W]; where it depends on the load, at the load of the motion."""
    if not model.friction_by_load:
        return friction_loss(model, q, qd)
    wrenches: dict[int, Force] = {}
    if options.f_tip:
        f, place = u[model.n : model.n + len(WRENCH)], model.frame(options.frame)
        wrenches = kernels.wrench_on_body(model, q, f, place, options.expressed_in)
    loads = newton_euler.joint_loads(model, q, qd, qdd, wrenches)
    rough = replace(model, bodies=tuple(replace(body, stiffness=0.0) for body in model.bodies))
    return linear.inner(friction.friction_torque(rough, q, qd, loads), qd)


def _sticking(robot: Robot, options: Options) -> Plant:
    _no_momenta(options, "joints that stick")
    flow = sticking(robot, f_tip=options.f_tip, frame=options.frame, expressed_in=options.expressed_in)
    n, model, inner = robot.n, robot.model, flow.observe
    assert inner is not None

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        q, qd = x[:n], x[n : 2 * n]
        stored = [energy.kinetic_energy(model, q, qd), energy.potential_energy(model, q), spring_energy(model, q)]
        return [*inner(t, x, u), *stored, _supply(model, q, qd, u, options)]

    outputs = (*flow.outputs, *ENERGIES, "spring_energy", "supply_power")
    rates = tuple(f"{joint}_rate" for joint in robot.joint_names)
    why = "whether a joint sticks is decided between steps, so friction='sticking' needs fixed steps, such as rk4's"
    return Plant(
        replace(flow, outputs=outputs, observe=observe),
        n,
        rates,
        n,
        lambda q, qd: sticking_start(robot, q, qd),
        _units(robot),
        robot,
        why,
    )


# -------------------------------------------------------------------------------------------------- other mechanisms
def _constrained(system: Constrained, options: Options) -> Plant:
    _no_momenta(options, "a constrained system")
    robot, n = system.robot, system.n
    rough = _counts(options.friction, False)
    # An adaptive method cannot be put back between its steps: errors decay by Baumgarte's terms, which are zero where
    # the constraints hold.
    flow = system.flow(stabilize="baumgarte" if options.adaptive else "projection", friction=rough)
    model, inner = robot.model, flow.observe
    assert inner is not None
    if options.f_tip:
        model.frame(options.frame)

    def torques(x: Scalars, u: Scalars) -> Scalars:
        if not options.f_tip:
            return u
        return [a - b for a, b in zip(u[:n], wrench_torque(model, x[:n], u[n:], options), strict=True)]

    def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        return flow.rate(t, x, torques(x, u))

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        tau = torques(x, u)
        more: list[Scalar] = [linear.inner(tau, x[n:])]
        if rough:
            more = [spring_energy(model, x[:n]), *more, friction_loss(model, x[:n], x[n:])]
        return [*inner(t, x, tau), *more]

    outputs = (*flow.outputs, *(("spring_energy", "supply_power", "friction_loss") if rough else ("supply_power",)))
    inputs = (*flow.inputs, *(WRENCH if options.f_tip else ()))

    def start(q: Array, qd: Array) -> Array:
        system.forward_dynamics(q, qd, np.zeros(n))  # refuses, by name, a state off its constraints
        return _joined(q, qd)

    rates = tuple(f"{joint}_rate" for joint in robot.joint_names)
    whole = replace(flow, inputs=inputs, rate=rate, outputs=outputs, observe=observe)
    return Plant(whole, n, rates, n, start, _units(robot), robot)


def _own_friction(options: Options, what: str, remedy: str) -> None:
    if options.friction is not None:
        raise InputError(f"whether friction counts is said where {what} is made: {remedy}")


def _driven(system: DrivenRobot, options: Options) -> Plant:
    what = "a DrivenRobot"
    _no_momenta(options, what)
    _own_friction(options, what, "DrivenRobot(…, friction=True)")
    flow = system.flow(options.f_tip, options.frame, options.expressed_in)
    rest = np.zeros(len(flow.states) - 2 * system.n)

    def start(q: Array, qd: Array) -> Array:
        return np.concatenate((q, qd, rest))  # no current flows yet

    rates = flow.states[system.n : 2 * system.n]
    return Plant(flow, system.n, rates, len(system.inputs), start, _units(system.robot), system.robot)


def _flexible(system: FlexibleRobot, options: Options) -> Plant:
    what, n = "a FlexibleRobot", system.n
    _no_momenta(options, what)
    _no_wrench(options, what, "its inputs act on the motors, a wrench on the links; simulate the robot itself")
    _own_friction(options, what, "FlexibleRobot(…, friction=True)")

    def start(q: Array, qd: Array) -> Array:
        """(q, θ) as given, or the motors where the springs carry gravity."""
        if len(q) == n:
            q = np.concatenate((q, system.motor_positions(q)))
        return np.concatenate((q, qd if len(qd) == 2 * n else np.tile(qd, 2)))

    flow = system.flow()
    rates = flow.states[2 * n : 3 * n]
    return Plant(flow, n, rates, n, start, _units(system.robot), system.robot)


def _lagrangian(system: LagrangianSystem, options: Options) -> Plant:
    what = "a LagrangianSystem"
    _no_momenta(options, what)
    _no_wrench(options, what, "it has no tip; name an input for the force, or write it into forces")
    rough = _counts(options.friction, True)
    flow = lagrangian_flow(system, friction=rough, energies=True)
    n, m, inner = system.n, len(flow.inputs), flow.observe
    assert inner is not None
    constraints = system.multiplier_symbols
    names = ["applied_force", "friction_torque", *(["input_matrix"] if system.inputs else [])]
    programs = {name: system.kernel(name).program for name in names}
    held = system.kernel("multipliers", friction=rough).program if constraints else None

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        q, qd = x[:n], x[n:]
        tau = list(u)
        if system.inputs:
            (flat,) = replay(programs["input_matrix"], [q])
            tau = [linear.inner(flat[i * m : (i + 1) * m], u) for i in range(n)]
        (psi,), (rubbing,) = (replay(programs[name], [q, qd]) for name in ("applied_force", "friction_torque"))
        supplied = linear.inner([a + b for a, b in zip(tau, psi, strict=True)], qd)
        forces = replay(held, [q, qd, tau])[0] if held is not None else []
        lost = [linear.inner(rubbing, qd)] if rough else []
        return [*inner(t, x, u), *forces, supplied, *lost]

    def start(q: Array, qd: Array) -> Array:
        if constraints:
            _obeys(system, q, qd)
        return _joined(q, qd)

    outputs = (
        *flow.outputs,
        *(f"{MULTIPLIER}{s}" for s in constraints),
        "supply_power",
        *(("friction_loss",) if rough else ()),
    )
    return Plant(replace(flow, outputs=outputs, observe=observe), n, flow.states[n:], m, start)


def _obeys(system: LagrangianSystem, q: Array, qd: Array) -> None:
    """Refuse a state that is off the system's constraints."""
    A = np.asarray(system.constraint_matrix(q))
    try:
        phi = np.asarray(system.constraint_error(q))
    except InputError:  # none of them is holonomic
        phi = np.zeros(0)
    for what, error, of in (("q0", phi, "constraint"), ("qd0", A @ qd, "rate of constraint")):
        if error.size and np.abs(error).max() > TOLERANCE:
            worst = int(np.argmax(np.abs(error)))
            raise InputError(
                f"{what} does not obey the constraints of {system.name!r}: {of} {worst + 1} is {error[worst]:.3g}"
            )


def _flow(flow: Flow, options: Options) -> Plant:
    _no_momenta(options, f"{flow.name!r}")
    _no_wrench(options, f"{flow.name!r}", "name an input of the flow for it")
    _own_friction(options, f"{flow.name!r}", "in its rate")
    p, rest = flow.positions, np.zeros(len(flow.states) - 2 * flow.positions)

    def start(q: Array, qd: Array) -> Array:
        return np.concatenate((q, qd, rest))

    why = f"{flow.name!r} settles its state after each step, which needs a fixed-step method" if flow.settle else ""
    return Plant(flow, p, flow.states[p : 2 * p], len(flow.inputs), start, steps_only=why)


ROWS: tuple[tuple[type, Callable[[Any, Options], Plant]], ...] = (
    (Robot, _robot),
    (Constrained, _constrained),
    (DrivenRobot, _driven),
    (FlexibleRobot, _flexible),
    (LagrangianSystem, _lagrangian),
)
