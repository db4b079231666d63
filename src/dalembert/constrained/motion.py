"""How a constrained system moves: the flow that `simulate` integrates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert import scalar
from dalembert.algorithms import energy, linear, mechanics
from dalembert.errors import unknown
from dalembert.flow import MULTIPLIER, Array, Contacts, Flow, LossFinder, Scalar, Scalars
from dalembert.flows.books import AppliedWrenches, friction_loss, joints_of, spring_energy
from dalembert.flows.robot import on_manifold
from dalembert.kernels import check_quaternions

if TYPE_CHECKING:
    from dalembert.constrained.system import Constrained

WAYS = ("projection", "baumgarte")
OBSERVED = ("closure_error", "rate_error", "kinetic_energy", "potential_energy")


def _largest(values: Scalars) -> Scalar:
    worst: Scalar = 0.0
    for x in values:
        worst = scalar.maximum(scalar.absolute(x), worst)
    return worst


def flow(
    system: Constrained,
    stabilize: str | None,
    friction: bool,
    alpha: float,
    beta: float,
    applied: AppliedWrenches,
    books: bool,
) -> Flow:
    """See `Constrained.flow`."""
    if stabilize is not None and stabilize not in WAYS:
        raise unknown("stabilize", stabilize, WAYS)
    robot, bound, n = system.robot, system.bound, system.nq
    options: dict[str, Any] = {"friction": friction, "wrenches": ()}
    if stabilize == "baumgarte":
        options |= {"alpha": alpha, "beta": beta}

    def accelerations(x: Scalars, u: Scalars) -> mechanics.ConstrainedMotion:
        return mechanics.accelerations(bound, {"q": x[:n], "qd": x[n:], "tau": applied.torque(x[:n], u)}, options)[0]

    def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        return [*x[n:], *accelerations(x, u).qdd]

    def settle(t: Scalar, before: Scalars, x: Scalars, u: Scalars) -> list[Scalar]:
        q, rates = mechanics.project_state(bound, x[:n], x[n:])
        return [*q, *rates]

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        terms = mechanics.terms_at_rest(bound, x[:n])
        errors = [_largest(terms.phi), _largest(linear.apply(terms.A, x[n:]))]
        energies = energy.kinetic_energy(robot.model, x[:n], x[n:]), energy.potential_energy(robot.model, x[:n])
        seen = [*accelerations(x, u).force, *errors, *energies]
        if not books:
            return seen
        supplied = applied.supply(x[:n], x[n:], u)
        if not friction:
            return [*seen, supplied]
        return [*seen, spring_energy(robot.model, x[:n]), supplied, friction_loss(robot.model, x[:n], x[n:])]

    def check(x: Array) -> None:
        check_quaternions(robot.model, "q0", x)
        system.require(x[..., :n], x[..., n:])

    def finder() -> LossFinder:
        from dalembert.constrained import contacts

        return contacts.LossFinder(system)

    def excess(t: Scalar, x: Scalars, u: Scalars) -> tuple[Scalar, Scalar]:
        from dalembert.constrained.contacts import excess

        return excess(system, accelerations(x, u).force)

    exact = system.independent_rows and all(c.hold.kind != "weld" for c in system.contacts)
    contacts = Contacts(finder, excess, exact) if system.contacts else None
    booked = (("spring_energy", "supply_power", "friction_loss") if friction else ("supply_power",)) if books else ()
    return Flow(
        robot.name,
        robot.states,
        (*robot.inputs, *applied.inputs),
        rate,
        positions=n,
        settle=settle if stabilize == "projection" else None,
        outputs=(*(f"{MULTIPLIER}{row}" for row in system.rows), *OBSERVED, *booked),
        observe=observe,
        drives=system.nv,
        joints=joints_of(robot),
        contacts=contacts,
        **on_manifold(robot) | {"check": check},
    )
