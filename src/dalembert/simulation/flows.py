"""What exists as a `Flow`: robots and Lagrangian systems under torques."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dalembert import kernels
from dalembert.algorithms import composite, energy, linear
from dalembert.arguments import switch, three
from dalembert.compile.interpret import replay
from dalembert.errors import InputError
from dalembert.flow import Flow, Scalar, Scalars
from dalembert.kernels import need_tree
from dalembert.lagrange.system import LagrangianSystem
from dalembert.model import Model
from dalembert.model.lean import lean
from dalembert.robot import Robot
from dalembert.spatial import Inertia

PAYLOAD = ("payload_mass", "payload_x", "payload_y", "payload_z")
WRENCH = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")
ENERGIES = ("kinetic_energy", "potential_energy")


def robot_flow(
    robot: Robot,
    friction: bool = False,
    f_tip: bool = False,
    frame: str | None = None,
    expressed_in: str = "world",
    energies: bool = False,
    momenta: bool = False,
    payload: bool | Sequence[float] = False,
) -> Flow:
    """A robot under joint torques: q̈ = M⁻¹ (τ − c − g [− friction] [− Jᵀ f_tip]), x = (q, q̇), u = (τ [, f_tip]
    [, payload]).

    `friction` adds the model's friction, damping and springs. With `f_tip` the wrench that the tip (or `frame`) applies
    to the environment is an input too, 6 numbers after τ. `energies`: kinetic and potential energy are observed [J].
    With `payload`, a point in the tip's frame (or `frame`'s) [m], the mass of a load there is an input, payload_mass
    [kg]; with True the point too: payload_x, payload_y, payload_z. Runs of one batch then carry different loads.
    With `momenta` the state is (q, p), p = M q̇, the coordinates in which implicit midpoint is symplectic:
    q̇ = M⁻¹ p, ṗ = Cᵀ q̇ − g + τ; friction and f_tip are then not to be had, and q̇ is observed first."""
    for name, value in (("friction", friction), ("f_tip", f_tip), ("energies", energies), ("momenta", momenta)):
        switch(name, value)
    if not isinstance(robot, Robot):
        raise InputError(f"robot_flow takes a Robot, got {type(robot).__name__}")
    need_tree(robot.model)
    if robot.n == 0:
        raise InputError(f"{robot.name!r} has no joints: there is nothing to simulate")
    if momenta:
        if friction or f_tip or payload is not False:
            raise InputError(
                "with momenta=True there is no friction and no f_tip, nor a payload: that form is for the energy's sake"
            )
        return _in_momenta(robot, energies)
    options = kernels.TABLE.read_options(
        "forward_dynamics", {"friction": friction, "frame": frame, "expressed_in": expressed_in}
    )
    if f_tip:
        robot.model.frame(frame)  # refused here, not in the middle of a trace
    if payload is False:
        kernels.need_mass(robot.model)
    n, end = robot.n, robot.n + (len(WRENCH) if f_tip else 0)
    model, full, carried = _loaded(robot, frame, payload)
    trace = kernels.ROWS["forward_dynamics"].trace

    def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        given = {"q": x[:n], "qd": x[n:], "tau": u[:n], **({"f_tip": u[n:end]} if f_tip else {})}
        return [*x[n:], *trace(model(u[end:]), given, options)]

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        return _energies(full(u[end:]), x[:n], x[n:])

    joints = robot.joint_names
    return Flow(
        robot.name,
        (*joints, *(f"{joint}_rate" for joint in joints)),
        (*(f"{joint}_torque" for joint in joints), *(WRENCH if f_tip else ()), *carried),
        rate,
        positions=n,
        outputs=ENERGIES if energies else (),
        observe=observe if energies else None,
    )


def _loaded(
    robot: Robot, frame: str | None, payload: bool | Sequence[float]
) -> tuple[Callable[[Scalars], Model], Callable[[Scalars], Model], tuple[str, ...]]:
    """The lean and the whole model as functions of the payload's numbers, and the names of these.

    Both are linear in the ten numbers of a body (m, m c, I): what each of them adds is found once, on floats, by a
    robot that has no mass but that; so nothing is traced where a load changes nothing."""
    if payload is False:
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
        m, x, y, z = u
        h = (m * x, m * y, m * z)
        return [m, *h, h[1] * y + h[2] * z, h[0] * y, h[0] * z, h[0] * x + h[2] * z, h[1] * z, h[0] * x + h[1] * y]

    def laden(own: Model, parts: list[Model]) -> Callable[[Scalars], Model]:
        def at(u: Scalars) -> Model:
            given = numbers(u)
            bodies = [
                replace(body, inertia=_sum(body.inertia, given, [part.bodies[k].inertia for part in parts]))
                for k, body in enumerate(own.bodies)
            ]
            return replace(own, bodies=tuple(bodies))

        return at

    names = PAYLOAD if point is None else PAYLOAD[:1]
    return laden(lean(robot.model), [lean(unit) for unit in units]), laden(robot.model, units), names


def _sum(own: Inertia, given: Scalars, parts: Sequence[Inertia]) -> Inertia:
    """own + Σ given · part, where a part is not zero."""

    def entry(pick: Callable[[Inertia], Any]) -> Scalar:
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
    n, model, full = robot.n, lean(robot.model), robot.model
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

    joints = robot.joint_names
    rates = tuple(f"{joint}_rate" for joint in joints)
    return Flow(
        robot.name,
        (*joints, *(f"{joint}_momentum" for joint in joints)),
        tuple(f"{joint}_torque" for joint in joints),
        rate,
        outputs=(*rates, *(ENERGIES if energies else ())),
        observe=observe,
    )


def lagrangian_flow(
    system: LagrangianSystem, friction: bool = True, energies: bool = False, parameters: Sequence[Any] = ()
) -> Flow:
    """A Lagrangian system under its inputs u (generalized forces τ if it names none), x = (q, q̇).

    `parameters` named here, symbols or their names, are inputs of the flow after u: one compiled loop for many designs.
    Constraints enter by their multipliers, so that A q̈ + Ȧ q̇ = 0; what drifts off them is not put back."""
    if not isinstance(system, LagrangianSystem):
        raise InputError(f"lagrangian_flow takes a LagrangianSystem, got {type(system).__name__}")
    n, m = system.n, len(system.inputs) or system.n
    options: dict[str, Any] = {"parameters": parameters}
    dynamics = system.kernel("forward_dynamics", friction=friction, **options).program
    input_matrix = system.kernel("input_matrix", **options).program if system.inputs else None
    rows = [system.kernel(name, **options) for name in ENERGIES] if switch("energies", energies) else []

    def given(u: Scalars) -> list[Scalars]:
        return [u[m:]] if parameters else []

    def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        q, tau = x[:n], u[:m]
        if input_matrix is not None:
            (flat,) = replay(input_matrix, [q, *given(u)])
            tau = [linear.inner(flat[i * m : (i + 1) * m], tau) for i in range(n)]
        (qdd,) = replay(dynamics, [q, x[n:], tau, *given(u)])
        return [*x[n:], *qdd]

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        state = {"q": x[:n], "qd": x[n:], "parameters": u[m:]}
        return [replay(row.program, [state[name] for name in row.arguments])[0][0] for row in rows]

    names = tuple(str(s) for s in system.joint_names)
    inputs = tuple(str(s) for s in (system.inputs or system.tau))
    return Flow(
        system.name,
        (*names, *(f"{name}_rate" for name in names)),
        (*inputs, *(str(s) for s in parameters)),
        rate,
        positions=n,
        outputs=ENERGIES if rows else (),
        observe=observe if rows else None,
    )
