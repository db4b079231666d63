"""`lab`: every property of a mechanism, stated, shown and measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import ArrayLike

from dalembert.errors import InputError, unknown
from dalembert.trust.properties import coriolis, gravity, inertia, linearity, passive
from dalembert.trust.properties.case import STATES, case_of
from dalembert.trust.properties.property import Property, PropertyReport

TABLE: dict[str, Callable[..., Property]] = {
    "symmetric mass matrix": inertia.mass_matrix_symmetric,
    "positive definite mass matrix": inertia.mass_matrix_definite,
    "mass matrix of position alone": inertia.mass_matrix_of_position,
    "kinetic energy": inertia.kinetic_energy,
    "bounded mass matrix": inertia.mass_matrix_bounded,
    "quadratic velocity torque": coriolis.velocity_torque_quadratic,
    "bounded velocity torque": coriolis.velocity_torque_bounded,
    "choices of C": coriolis.choices_of_c,
    "skew symmetry": coriolis.skew_symmetry,
    "workless velocity torque": coriolis.workless,
    "rate of the mass matrix": coriolis.mass_matrix_rate,
    "symmetry of C in its velocities": coriolis.bilinear,
    "gravity is a gradient": gravity.gravity_gradient,
    "bounded gravity": gravity.gravity_bounded,
    "work of gravity": gravity.gravity_work,
    "power balance": passive.power_balance,
    "passivity": passive.passivity,
    "dissipation": passive.dissipation,
    "L₂ gain": passive.l2_gain,
    "feedback of passive systems": passive.feedback,
    "linear in the parameters": linearity.linear_in_parameters,
    "energy linear in the parameters": linearity.energy_linear,
}


def lab(
    system: Any,
    *,
    states: int = STATES,
    seed: int = 0,
    q: ArrayLike | None = None,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    symbols: bool | None = None,
    only: str | Sequence[str] | None = None,
    run: Any = None,
    progress: Callable[[str], Any] | None = None,
) -> PropertyReport:
    """The properties of a Robot, a LagrangianSystem or a `Mechanism` of your own functions.

    They are measured at `states` drawn from `seed` within the limits, and at your own states (q, qd, qdd), (n,) or
    (k, n). A robot's are proved as identities of polynomials too: where that is cheap, or always (symbols=True), or
    never (False). `only`: names of properties. `run`: a run of `simulate` along which energy is booked. `progress` is
    called with the name of each property."""
    case = case_of(system, states=states, seed=seed, q=q, qd=qd, qdd=qdd, symbols=symbols)
    names = list(TABLE) if only is None else [only] if isinstance(only, str) else list(only)
    for name in names:
        if name not in TABLE:
            raise unknown("property", name, list(TABLE))
    if not names:
        raise InputError("only names no property: leave it out for all of them")
    found = []
    for name in names:
        if progress is not None:
            progress(name)
        found.append(TABLE[name](case, run=run) if name == "passivity" else TABLE[name](case))
    return PropertyReport(case.mechanism.name, len(case.q), tuple(found))
