"""Gains by gradient: those with which a loop does best by its measures, from rollouts and their derivatives."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalembert import arguments
from dalembert.arguments import Array
from dalembert.errors import DivergenceWarning, InputError, choose
from dalembert.law import Law, read_law
from dalembert.simulation.batch import Value
from dalembert.simulation.gradient import Gradient, Wanted, rollout_gradient

LOST = 9.0  # times the size of the loss to begin with: what gains cost beyond it with which a rollout diverges
LEVEL = 1e-2  # the largest slope, ∂(ln loss)/∂(ln gain), of a search that has converged


@dataclass(frozen=True, eq=False)
class TunedGains:
    """gains: by name; law: the controller's law with them, to simulate, compare or export. loss and loss_before: means
    over the rollouts; slope: the largest ∂(ln loss)/∂(ln gain) of a gain that is free to move; iterations, converged
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


def tune_gains(
    system: object,
    controller: object,
    q0: Value | None = None,
    qd0: Value | None = None,
    *,
    loss: Wanted,
    duration: float,
    dt: float,
    gains: Sequence[str] | str | None = None,
    factor: float = 10.0,
    iterations: int = 50,
    tied: Mapping[str, Sequence[str]] | None = None,
    method: str = "rk4",
    reference: object = None,
    parameters: Mapping[str, Value] | None = None,
    disturbances: Mapping[str, Value] | None = None,
    payload: Sequence[float] | bool | None = None,
    friction: bool | str | None = None,
    torque_limits: object = None,
    error: Mapping[str, object] | None = None,
    number: int | None = None,
    seed: int | None = None,
) -> TunedGains:
    """The gains that make the mean loss of B rollouts least (L-BFGS-B in their logarithms, with the derivatives of
    `rollout_gradient`), each between 1/factor and factor times what it is now.

    `loss`: measures with weights, {"rms_error": 1.0, "rms_torque": 1e-3}: errors alone drive gains to their bounds.
    `gains`: the controller's parameters to move, all that are positive if not given; `tied`: {name: names} moves
    several by one factor. Starts, loads and disturbances of all rollouts are given as to `rollouts`: gains are as good
    as what they were tried on. It is a local search: it ends where no small change helps."""
    law = read_law(controller)
    if law is None:
        raise InputError("gains are a controller's, and there is none")
    moved = _groups(law, gains, tied)
    factor, most = arguments.number("factor", factor, above=1.0), arguments.count("iterations", iterations, 1)
    own = np.array([law.parameters[name] for group in moved.values() for name in group])
    group_of = np.repeat(np.arange(len(moved)), [len(group) for group in moved.values()])
    names = [name for group in moved.values() for name in group]
    for name in names:
        if parameters is not None and name in parameters:
            raise InputError(f"{name!r} is a gain to be found, and parameters= gives it: leave one out")

    def at(values: Array) -> Gradient:
        given = {**(parameters or {}), **dict(zip(names, values.tolist(), strict=True))}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergenceWarning)  # gains that are tried; the first are judged below
            return rollout_gradient(
                *(system, law, q0, qd0),
                loss=loss,
                of=names,
                duration=duration,
                dt=dt,
                method=method,
                reference=reference,
                parameters=given,
                disturbances=disturbances,
                payload=payload,
                friction=friction,
                torque_limits=torque_limits,
                error=error,
                number=number,
                seed=seed,
            )

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
            f"with the gains as they are, rollout {worst} diverges at t = {first.diverged_at[worst] * dt:.4g} s: begin "
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
        message = "no step helps, and yet the loss is not level: rollouts diverge next to these gains, or it has a kink"
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


def _groups(law: Law, gains: object, tied: object) -> dict[str, tuple[str, ...]]:
    """What moves together, by the name of the factor."""
    groups: dict[str, tuple[str, ...]] = {}
    if tied is not None:
        if not isinstance(tied, Mapping) or not tied:
            raise InputError("tied is {name: names of gains that move together}")
        groups |= {str(key): (names,) if isinstance(names, str) else tuple(names) for key, names in tied.items()}
    if gains is None:
        alone = [] if tied is not None else [name for name, value in law.parameters.items() if value > 0]
    else:
        alone = [gains] if isinstance(gains, str) else list(gains)  # type: ignore[call-overload]
    every = [*(name for group in groups.values() for name in group), *alone]
    groups |= {name: (name,) for name in alone}
    for name in every:
        choose(f"gain of {law.name!r}", name, law.parameters)
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
