"""What exists as a `Flow`: robots and Lagrangian systems under torques."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dalembert import kernels
from dalembert.algorithms import composite, energy, linear
from dalembert.arguments import need_tree, switch
from dalembert.compile.interpret import replay
from dalembert.errors import InputError
from dalembert.flow import Flow, Scalar, Scalars
from dalembert.lagrange.system import LagrangianSystem
from dalembert.model import Model
from dalembert.model.lean import lean
from dalembert.robot import Robot

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
) -> Flow:
    """A robot under joint torques: q̈ = M⁻¹ (τ − c − g [− friction] [− Jᵀ f_tip]), x = (q, q̇), u = (τ [, f_tip]).

    `friction` adds the model's friction, damping and springs. With `f_tip` the wrench that the tip (or `frame`) applies
    to the environment is an input too, 6 numbers after τ. `energies`: kinetic and potential energy are observed [J].
    With `momenta` the state is (q, p), p = M q̇, the coordinates in which implicit midpoint is symplectic:
    q̇ = M⁻¹ p, ṗ = Cᵀ q̇ − g + τ; friction and f_tip are then not to be had, and q̇ is observed first."""
    for name, value in (("friction", friction), ("f_tip", f_tip), ("energies", energies), ("momenta", momenta)):
        switch(name, value)
    if not isinstance(robot, Robot):
        raise InputError(f"robot_flow takes a Robot, got {type(robot).__name__}")
    need_tree(robot)
    if robot.n == 0:
        raise InputError(f"{robot.name!r} has no joints: there is nothing to simulate")
    if momenta:
        if friction or f_tip:
            raise InputError("with momenta=True there is no friction and no f_tip: that form is for the energy's sake")
        return _in_momenta(robot, energies)
    options = kernels.check_options(
        "forward_dynamics", {"friction": friction, "frame": frame, "expressed_in": expressed_in}
    )
    if f_tip:
        robot.model.frame(frame)  # refused here, not in the middle of a trace
    n, model, full = robot.n, lean(robot.model), robot.model
    trace = kernels.ROWS["forward_dynamics"].trace

    def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        given = {"q": x[:n], "qd": x[n:], "tau": u[:n], **({"f_tip": u[n:]} if f_tip else {})}
        return [*x[n:], *trace(model, given, options)]

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        return _energies(full, x[:n], x[n:])

    joints = robot.joint_names
    return Flow(
        robot.name,
        (*joints, *(f"{joint}_rate" for joint in joints)),
        (*(f"{joint}_torque" for joint in joints), *(WRENCH if f_tip else ())),
        rate,
        positions=n,
        outputs=ENERGIES if energies else (),
        observe=observe if energies else None,
    )


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
