"""`lab`: every property of a mechanism, stated, shown and measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from numpy.typing import ArrayLike

from dalembert.errors import InputError, choose
from dalembert.simulation.run import Run
from dalembert.trust.properties import coriolis, energy, gravity, inertia, linearity  # noqa: F401 - they fill the table
from dalembert.trust.properties.mechanism import JUDGES, STATES, Judge, trial_of
from dalembert.trust.properties.property import STATEMENTS, PropertyReport, make_report

TABLE: dict[str, Judge] = {name: JUDGES[name] for name in STATEMENTS}


def lab(
    system: object,
    *,
    states: int = STATES,
    seed: int = 0,
    q: ArrayLike | None = None,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    symbols: bool | None = None,
    only: str | Sequence[str] | None = None,
    run: Run | None = None,
    progress: Callable[[str], object] | None = None,
) -> PropertyReport:
    """The properties of a Robot, a LagrangianSystem or a `Mechanism` of your own functions.

    They are measured at `states` drawn from `seed` within the limits, and at your own states (q, qd, qdd), (n,) or
    (k, n). A robot's are proved as identities of polynomials too: where that is cheap, or always (symbols=True), or
    never (False). `only`: names of properties. `run`: a run of `simulate` along which energy is booked. `progress` is
    called with the name of each property."""
    trial = trial_of(system, states=states, seed=seed, q=q, qd=qd, qdd=qdd, symbols=symbols)
    names = list(TABLE) if only is None else [only] if isinstance(only, str) else list(only)
    for name in names:
        choose("property", name, TABLE)
    if not names:
        raise InputError("only names no property: leave it out for all of them")
    found = []
    for name in names:
        if progress is not None:
            progress(name)
        found.append(TABLE[name](trial, run=run) if name == "passivity" else TABLE[name](trial))
    return make_report(trial.mechanism.name, len(trial.q), tuple(found))
