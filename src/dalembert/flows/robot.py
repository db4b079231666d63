"""A robot as a `Flow`: under torques, with friction, wrenches at frames, a load that a run may vary, or in momenta."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import kernels
from dalembert.algorithms import composite, energy, joints, linear
from dalembert.algorithms.regressor import FRICTION, INERTIAL, friction_shape
from dalembert.arguments import switch, three
from dalembert.errors import InputError, unknown
from dalembert.flow import Array, Flow, Scalar, Scalars
from dalembert.flows.books import ENERGIES, AppliedWrenches, joints_of, need_frames, spring_energy
from dalembert.model import Model
from dalembert.model.lean import lean
from dalembert.spatial import Inertia

if TYPE_CHECKING:
    from dalembert.robot import Robot

PAYLOAD = ("payload_mass", "payload_x", "payload_y", "payload_z")


def robot_flow(
    robot: Robot,
    friction: bool | str,
    wrenches: Sequence[str],
    energies: bool,
    books: bool,
    momenta: bool,
    payload: bool | Sequence[float],
    frame: str | None,
    parameters: tuple[str, ...],
) -> Flow:
    """See `Robot.flow`."""
    for name, value in (("energies", energies), ("books", books), ("momenta", momenta)):
        switch(name, value)
    applied = AppliedWrenches(robot.model, need_frames(robot.model, wrenches), robot.nv)
    kernels.need_tree(robot.model)
    if robot.nv == 0:
        raise InputError(f"{robot.name!r} has no joints: there is nothing to simulate")
    for name in parameters:
        if name not in robot.flow_parameters:
            raise unknown(f"parameter of {robot.name!r}", name, robot.flow_parameters)
    if parameters and (momenta or friction == "sticking"):
        raise InputError("parameters= is for a Robot in positions and rates, without sticking joints")
    if friction == "sticking":
        return _with_modes(robot, applied.frames, books, momenta, payload)
    if isinstance(friction, str):
        raise InputError(f"friction is True, False, or for a Robot 'sticking'; got {friction!r}")
    rough = switch("friction", friction)
    levels = [name for name in parameters if name.rpartition(":")[2] in FRICTION]
    if levels and not rough:
        raise InputError(f"{levels[0]!r} is a parameter of friction, and there is none: friction=True takes it in")
    if momenta:
        if rough or applied.frames or payload is not False:
            raise InputError("momenta=True does not support friction, wrenches or a payload. Leave them out.")
        kernels.need_mass(robot.model)
        flow = _in_momenta(robot, energies or books)
        return _with_books(robot, flow, applied, False, True) if books else flow
    options = kernels.TABLE.read_options("forward_dynamics", {"friction": rough, "wrenches": applied.frames})
    if payload is False and not parameters:
        kernels.need_mass(robot.model)
    nq, nv = robot.nq, robot.nv
    end = applied.end
    model, full, carried = load_models(robot, frame, payload, parameters)
    braked = _friction_change(robot, parameters)
    if carried and not (rough and robot.model.friction_by_load):  # weighed here: scalars of a trace cannot be
        options = {**options, "method": kernels.faster_method(lean(robot.model))}
    trace = kernels.ROWS["forward_dynamics"].trace

    def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        tau = braked(x[nq:], u[:nv], u[len(u) - len(parameters) :])
        given = {"q": x[:nq], "qd": x[nq:], "tau": tau, **applied.arguments(u)}
        return [*x[nq:], *trace(model(u[end:]), given, options)]

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        return _energies(full(u[end:]), x[:nq], x[nq:])

    flow = Flow(
        robot.name,
        robot.states,
        (*robot.inputs, *applied.inputs, *carried),
        rate,
        positions=nq,
        outputs=ENERGIES if energies or books else (),
        observe=observe if energies or books else None,
        drives=nv,
        joints=replace(joints_of(robot), inertia=robot.mass_matrix if robot.model.curved is None else None),
        **on_manifold(robot),
    )
    return _with_books(robot, flow, applied, rough, False) if books else flow


def on_manifold(robot: Robot, momenta: bool = False) -> dict[str, Any]:
    """How positions that are no vector are stepped, and momenta with them."""
    model = robot.model
    if model.curved is None:
        return {}
    turns = {at + k for at in model.quaternions for k in range(4)}

    def position_rates(q: Scalars, v: Scalars) -> list[Scalar]:
        """That of a quaternion grows with its length, so that a wrong length changes nothing of the motion."""
        own = joints.position_rates(model, q, v)
        unit = joints.position_rates(model, joints.normalize(model, q), v)
        return [own[k] if k in turns else x for k, x in enumerate(unit)]

    return {
        "velocities": model.nv,
        "advance": lambda q, d: joints.integrate(model, q, d),
        "correct": lambda d, v, order: joints.correct(model, d, v, order),
        "position_rates": position_rates,
        "difference": lambda q0, q1: joints.difference(model, q0, q1),
        "check": lambda x: kernels.check_quaternions(model, "q0", x),
        **({"transport": lambda d, p: joints.transport(model, d, p)} if momenta else {}),
    }


def _with_books(robot: Robot, flow: Flow, applied: AppliedWrenches, rough: bool, momenta: bool) -> Flow:
    """The flow with what is supplied and lost observed too, and what springs store."""
    nq, nv, model, inner = robot.nq, robot.nv, robot.model, flow.observe
    assert inner is not None
    springs = rough and any(body.stiffness for body in model.bodies)

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        seen = inner(t, x, u)
        q, qd = x[:nq], seen[:nv] if momenta else x[nq:]
        more: list[Scalar] = [spring_energy(model, q)] if springs else []
        more.append(applied.supply(q, qd, u))
        if rough:
            qdd = flow.rate(t, x, u)[nv:] if model.friction_by_load else []
            more.append(applied.loss(q, qd, qdd, u))
        return [*seen, *more]

    names = ("spring_energy",) * springs + ("supply_power",) + ("friction_loss",) * rough
    return replace(flow, outputs=(*flow.outputs, *names), observe=observe)


def _with_modes(
    robot: Robot, wrenches: tuple[str, ...], books: bool, momenta: bool, payload: bool | Sequence[float]
) -> Flow:
    """Joints that stick, and what is stored and supplied observed besides the friction."""
    from dalembert.flows.sticking import sticking

    if momenta:
        raise InputError("method='symplectic' is for a Robot without friction, not for joints that stick")
    if payload is not False:
        raise InputError("payload= is for a Robot without sticking joints, not for friction='sticking'")
    flow = sticking(robot, wrenches)
    n, model, inner = robot.n, robot.model, flow.observe
    applied = AppliedWrenches(model, wrenches, model.nv)
    if not books:
        return flow

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        assert inner is not None
        q, qd = x[:n], x[n : 2 * n]
        return [*inner(t, x, u), *_energies(model, q, qd), spring_energy(model, q), applied.supply(q, qd, u)]

    return replace(flow, outputs=(*flow.outputs, *ENERGIES, "spring_energy", "supply_power"), observe=observe)


def vary_model(robot: Robot, names: Sequence[str]) -> Callable[[Scalars], Model]:
    """The model as a function of those of its inertial parameters and rotors that are named; other names are passed
    over."""
    order = {name: k for k, name in enumerate(names)}
    own = robot.flow_parameters
    first = {body.coordinate: k for k, body in reversed(list(enumerate(robot.model.bodies)))}
    coordinates = robot.model.names("coordinate")
    for body in robot.model.bodies:
        for rotor in coordinates[body.coordinate :][: body.joint.nv] if body.joint.nv > 1 else ():
            if f"{rotor}:rotor" in order:
                what = f"{rotor}:rotor is one of {body.joint.nv} that joint {body.joint_name!r}, which is"
                raise InputError(f"{what} {body.joint.kind}, has alike: it cannot vary alone")

    def at(u: Scalars) -> Model:
        bodies = []
        for k, body in enumerate(robot.model.bodies):
            ten = [f"{body.name}:{kind}" for kind in INERTIAL]
            if any(name in order for name in ten):
                m, *h, xx, xy, xz, yy, yz, zz = (u[order[name]] if name in order else own[name] for name in ten)
                body = replace(body, inertia=Inertia(m, tuple(h), ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))))
            rotor = f"{coordinates[body.coordinate]}:rotor"
            if rotor in order and first[body.coordinate] == k:
                more = (u[order[rotor]] - own[rotor]) * (1.0 / body.multiplier**2)
                body = replace(body, rotor_inertia=body.rotor_inertia + more)
            bodies.append(body)
        return replace(robot.model, bodies=tuple(bodies))

    return at


def _friction_change(robot: Robot, names: Sequence[str]) -> Callable[[Scalars, Scalars, Scalars], Scalars]:
    """(q̇, τ, parameters) → τ less what friction has more than the model's: it is linear in its levels."""
    own, joints = robot.flow_parameters, robot.model.names("coordinate")
    listed = [(k, *name.rpartition(":")[::2]) for k, name in enumerate(names) if name.rpartition(":")[2] in FRICTION]

    def braked(qd: Scalars, tau: Scalars, u: Scalars) -> Scalars:
        left = list(tau)
        for k, joint, column in listed:
            i = joints.index(joint)
            more = u[k] - own[f"{joint}:{column}"]
            left[i] = left[i] - more * friction_shape(robot.model, i, column, qd[i])
        return left

    return braked if listed else lambda qd, tau, u: tau


def load_models(
    robot: Robot, frame: str | None, payload: bool | Sequence[float], parameters: tuple[str, ...] = ()
) -> tuple[Callable[[Scalars], Model], Callable[[Scalars], Model], tuple[str, ...]]:
    """The lean and the whole model as functions of the payload's numbers and of the robot's own, and the names of
    these.

    Both are linear in the ten numbers of a body (m, m c, I): what each of them adds is found once, on floats, by a
    robot that has no mass but that; so nothing is traced where a load changes nothing."""
    vary = vary_model(robot, parameters)
    if payload is False:
        if parameters:
            return lambda u: lean(vary(u)), vary, parameters
        thin = lean(robot.model)
        return lambda u: thin, lambda u: robot.model, ()
    place = robot.model.frame(frame)
    if place.body < 0:
        raise InputError(f"a payload at {place.name!r} moves nothing: that frame is fixed to the base")
    point = None if payload is True else three("payload", payload)
    bare = replace(robot.model, bodies=tuple(replace(b, inertia=Inertia()) for b in robot.model.bodies))

    def alone(load: Inertia) -> Model:
        bodies = list(bare.bodies)
        bodies[place.body] = replace(bodies[place.body], inertia=load.to_parent(place.pose))
        return replace(bare, bodies=tuple(bodies))

    still = Inertia().I
    if point is not None:
        units = [alone(Inertia.from_com(1.0, point, still))]
    else:
        ends = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
        places = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]  # of I, with the sign of a point mass's: −m x y
        moments = [
            tuple(tuple(({i, j} == {a, b}) * (1.0 if a == b else -1.0) for j in range(3)) for i in range(3))
            for a, b in places
        ]
        units = [alone(Inertia(1.0)), *(alone(Inertia(0.0, e)) for e in ends)]
        units += [alone(Inertia(0.0, (0.0, 0.0, 0.0), I)) for I in moments]

    def numbers(u: Scalars) -> list[Scalar]:
        if point is not None:
            return [u[0]]
        m, x, y, z = u[:4]
        h = (m * x, m * y, m * z)
        return [m, *h, h[1] * y + h[2] * z, h[0] * y, h[0] * z, h[0] * x + h[2] * z, h[1] * z, h[0] * x + h[1] * y]

    def laden(of: Callable[[Scalars], Model], parts: list[Model]) -> Callable[[Scalars], Model]:
        def at(u: Scalars) -> Model:
            given, own = numbers(u), of(u[len(names) :])
            bodies = [
                replace(body, inertia=_sum(body.inertia, given, [part.bodies[k].inertia for part in parts]))
                for k, body in enumerate(own.bodies)
            ]
            return replace(own, bodies=tuple(bodies))

        return at

    names = PAYLOAD if point is None else PAYLOAD[:1]
    thin = lean(robot.model)
    return (
        laden((lambda u: lean(vary(u))) if parameters else lambda u: thin, [lean(unit) for unit in units]),
        laden(vary, units),
        (*names, *parameters),
    )


def _sum(own: Inertia, given: Scalars, parts: Sequence[Inertia]) -> Inertia:
    """own + Σ given · part, where a part is not zero."""

    def entry(pick: Callable[[Inertia], Scalar]) -> Scalar:
        total = pick(own)
        for x, part in zip(given, parts, strict=True):
            total = total + x * pick(part) if pick(part) else total
        return total

    h = tuple(entry(lambda I, i=i: I.h[i]) for i in range(3))  # type: ignore[misc]
    rows = tuple(tuple(entry(lambda I, i=i, j=j: I.I[i][j]) for j in range(3)) for i in range(3))  # type: ignore[misc]
    return Inertia(entry(lambda I: I.m), h, rows)


def _energies(model: Model, q: Scalars, qd: Scalars) -> list[Scalar]:
    return [energy.kinetic_energy(model, q, qd), energy.potential_energy(model, q)]


def _in_momenta(robot: Robot, energies: bool) -> Flow:
    n, model, full = robot.nq, lean(robot.model), robot.model
    gravity = kernels.ROWS["gravity_torque"].trace

    def velocity(q: Scalars, p: Scalars) -> list[Scalar]:
        return linear.solve_ldl(composite.mass_matrix(model, q), p)

    def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        q, qd = x[:n], velocity(x[:n], x[n:])
        C = composite.CHOICES["christoffel"](model, q, qd)
        pull = linear.apply(linear.transposed(C), qd)  # ∂K/∂q = (Ṁ − C) q̇ = Cᵀ q̇
        g = gravity(model, {"q": q}, {})
        return [*qd, *(a - b + tau for a, b, tau in zip(pull, g, u, strict=True))]

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        qd = velocity(x[:n], x[n:])
        return [*qd, *(_energies(full, x[:n], qd) if energies else ())]

    def start(q: Array, qd: Array) -> Array:
        return np.concatenate((q, np.einsum("...ij,...j->...i", robot.mass_matrix(q), qd)), -1)

    return Flow(
        robot.name,
        (*robot.states[:n], *(f"{joint}_momentum" for joint in full.names("coordinate"))),
        robot.inputs,
        rate,
        **({} if full.curved is None else {"positions": n, **on_manifold(robot, momenta=True)}),
        outputs=(*robot.model.names("rate"), *(ENERGIES if energies else ())),
        observe=observe,
        start=start,
        joints=joints_of(robot),
    )
