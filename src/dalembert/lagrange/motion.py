"""How a Lagrangian system moves: the flow that `simulate` integrates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algorithms import linear
from dalembert.arguments import switch
from dalembert.compile.interpret import replay
from dalembert.errors import InputError
from dalembert.flow import MULTIPLIER, Array, Flow, Scalar, Scalars

if TYPE_CHECKING:
    from dalembert.lagrange.system import LagrangianSystem

ENERGIES = ("kinetic_energy", "potential_energy")
TOLERANCE = 1e-6  # how far a state may be off the constraints, as `constrained.system` has it


def lagrangian_flow(
    system: LagrangianSystem, friction: bool, energies: bool, books: bool, parameters: Sequence[Any]
) -> Flow:
    """See `LagrangianSystem.flow`."""
    n, m, rough = system.n, len(system.inputs), switch("friction", friction)
    constraints = system.multiplier_symbols if books else ()

    def program(name: str) -> tuple[tuple[str, ...], Any]:
        options: dict[str, Any] = {"friction": rough} if name in ("forward_dynamics", "multipliers") else {}
        kernel = system.kernel(name, parameters=parameters, **options)
        return kernel.arguments, kernel.program

    names = ["forward_dynamics", *(["input_matrix"] if system.input_symbols else [])]
    stored = ENERGIES if switch("energies", energies) or switch("books", books) else ()
    names += [
        *stored,
        *(["applied_force", "friction_torque"] if books else []),
        *(["multipliers"] if constraints else []),
    ]
    programs = {name: program(name) for name in names}

    def value(name: str, x: Scalars, u: Scalars, tau: Scalars = ()) -> list[Scalar]:
        arguments, made = programs[name]
        at = {"q": x[:n], "qd": x[n:], "tau": tau, "parameters": u[m:]}
        (found,) = replay(made, [at[argument] for argument in arguments])
        return found

    def force(x: Scalars, u: Scalars) -> Scalars:
        if not system.input_symbols:
            return u[:m]
        flat = value("input_matrix", x, u)
        return [linear.inner(flat[i * m : (i + 1) * m], u[:m]) for i in range(n)]

    def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        return [*x[n:], *value("forward_dynamics", x, u, force(x, u))]

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        seen = [value(name, x, u)[0] for name in stored]
        if not books:
            return seen
        tau, qd = force(x, u), x[n:]
        psi, rubbing = (value(name, x, u) for name in ("applied_force", "friction_torque"))
        supplied = linear.inner([a + b for a, b in zip(tau, psi, strict=True)], qd)
        forces = value("multipliers", x, u, tau) if constraints else []
        return [*seen, *forces, supplied, *([linear.inner(rubbing, qd)] if rough else [])]

    added = (*(f"{MULTIPLIER}{s}" for s in constraints), "supply_power", *(("friction_loss",) if rough else ()))
    return Flow(
        system.name,
        system.states,
        (*system.inputs, *(str(s) for s in parameters)),
        rate,
        positions=n,
        outputs=(*stored, *(added if books else ())),
        observe=observe if stored else None,
        check=(lambda x: _check(system, x)) if system.multiplier_symbols and not parameters else None,
        drives=m,
    )


def _check(system: LagrangianSystem, x: Array) -> None:
    """Refuse states that are off the system's constraints."""
    q, qd = np.split(x.reshape(-1, 2 * system.n), 2, axis=1)
    rates = np.einsum("bij,bj->bi", np.asarray(system.constraint_matrix(q)), qd)
    off = [("qd0", rates, "rate of constraint")]
    if system.holonomic:
        off.insert(0, ("q0", np.asarray(system.constraint_error(q)), "constraint"))
    for what, error, of in off:
        if error.size and np.abs(error).max() > TOLERANCE:
            row, k = np.unravel_index(int(np.argmax(np.abs(error))), error.shape)
            raise InputError(
                f"{what} does not obey the constraints of {system.name!r}: {of} {k + 1} is {error[row, k]:.3g}"
            )
