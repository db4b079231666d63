"""Gains by gradient: those that minimize a loss of the runs of an experiment."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert import arguments
from dalembert.arguments import Array
from dalembert.errors import DivergenceWarning, InputError, unknown
from dalembert.law import Law, read_law
from dalembert.simulation.gradient import Gradient, Wanted
from dalembert.simulation.plant import read_system
from dalembert.simulation.request import Grid, Names

if TYPE_CHECKING:
    from dalembert.simulation.experiment import Experiment

LOST = 9.0  # times the size of the loss to begin with: what gains cost beyond it with which a rollout diverges
LEVEL = 1e-2  # the largest slope, ∂(ln loss)/∂(ln gain), of a search that has converged


@dataclass(frozen=True, eq=False)
class TunedGains:
    """gains: by name; law: the controller's law with them, to simulate, compare or export. loss and loss_before: means
    over the runs; slope: the largest ∂(ln loss)/∂(ln gain) of a gain that is free to move; iterations, converged
    and the reason for stopping; `at_bound` names gains that would go further."""

    gains: dict[str, float]
    law: Law
    loss: float
    loss_before: float
    slope: float
    iterations: int
    converged: bool
    message: str
    at_bound: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether the search converged."""
        return self.converged


def tune_gains(
    e: Experiment, gains: Sequence[str] | str | None, loss: Wanted, factor: float, iterations: int, task: dict[str, Any]
) -> TunedGains:
    """See `Experiment.tune`."""
    law = read_law(e.controller)
    if law is None:
        raise InputError("gains are a controller's, and there is none")
    moved = _groups(e, law, gains)
    factor, most = arguments.number("factor", factor, above=1.0), arguments.count("iterations", iterations, 1)
    names = [name for group in moved.values() for name in group]
    own = np.array([law.parameters[name] for name in names])
    group_of = np.repeat(np.arange(len(moved)), [len(group) for group in moved.values()])
    vary = task["vary"]
    vary = vary.points() if isinstance(vary, Grid) else dict(vary or {})
    for name in names:
        if name in vary:
            raise InputError(f"{name!r} is a gain to be found, and vary= gives it: leave one out")

    def at(values: Array) -> Gradient:
        given = {**vary, **dict(zip(names, values.tolist(), strict=True))}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergenceWarning)  # gains that are tried; the first are judged below
            return e.gradient(loss, wrt=names, **{**task, "vary": given})

    def evaluate(z: Array) -> tuple[float, Array]:
        values = own * np.exp(z[group_of])
        found = at(values)
        value = float(found.loss.mean())
        slope = np.array([found[name].mean() for name in names]) * values
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            return before / size + LOST, np.zeros(len(z))
        return value / size, np.bincount(group_of, slope, len(z)).astype(float) / size

    first = at(own)
    before = float(first.loss.mean())
    if not np.isfinite(before):
        worst = int(np.argmax(first.diverged_at >= 0))
        raise InputError(
            f"with the gains as they are, run {worst} diverges at t = {first.diverged_at[worst] * e.dt:.4g} s: begin "
            "with gains that hold, or a shorter dt"
        )
    size = abs(before) or 1.0  # in which the search sees the loss: its tolerances are absolute
    from scipy.optimize import minimize

    reach = np.log(factor)
    bounds = [(-reach, reach)] * len(moved)
    found = minimize(
        evaluate, np.zeros(len(moved)), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": most}
    )
    z = np.asarray(found.x)
    value, slope = evaluate(z)
    value, slope = size * value, size * slope
    bound = [name for name, x, s in zip(moved, z, slope, strict=True) if reach - abs(x) < 1e-9 and s * x < 0]
    free = [abs(s) for name, s in zip(moved, slope, strict=True) if name not in bound]
    tuned = dict(zip(names, (own * np.exp(z[group_of])).tolist(), strict=True))
    steepest = max(free, default=0.0) / max(abs(value), np.finfo(float).tiny)
    level, message = steepest <= LEVEL, str(found.message)
    if found.success and not level:
        message = "no step helps, and yet the loss is not level: runs diverge next to these gains, or it has a kink"
    return TunedGains(
        tuned,
        replace(law, parameters={**law.parameters, **tuned}),
        value,
        before,
        steepest,
        int(found.nit),
        bool(found.success and level),
        message,
        tuple(bound),
    )


def _groups(e: Experiment, law: Law, gains: Sequence[str] | str | None) -> dict[str, tuple[str, ...]]:
    """The gains that move together, by name."""
    plant = read_system(e.system, {}, {})
    names = Names(e.system, e.controller, law, plant)
    if gains is None:
        groups: dict[str, tuple[str, ...]] = {name: (name,) for name, value in law.parameters.items() if value > 0}
    else:
        listed = [gains] if isinstance(gains, str) else list(gains)
        groups = {name: names.find(name) for name in listed}
        for name in listed:
            if listed.count(name) > 1:
                raise InputError(f"{name!r} is named twice among the gains")
    every = [name for group in groups.values() for name in group]
    for name in every:
        if name not in law.parameters:
            raise unknown(f"gain of {law.name!r}", name, law.parameters)
        if law.parameters[name] <= 0:
            raise InputError(
                f"{name} of {law.name!r} is {law.parameters[name]:g}: gains that are searched are positive"
            )
        if every.count(name) > 1:
            raise InputError(f"{name!r} is named twice among the gains")
    if not every:
        raise InputError(
            f"{law.name!r} has no positive gain to tune: {', '.join(law.parameters) or 'it has none at all'}"
        )
    return groups
