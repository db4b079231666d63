"""Batches in the words of the tests: one function whose parameters are either the same for all runs or differ."""

from __future__ import annotations

from dalembert.simulation import Experiment, Inputs, JointLimits, Measures, Solver


def experiment(
    system,
    controller=None,
    *,
    dt,
    method="rk4",
    reference=None,
    payload=None,
    friction=None,
    sensors=None,
    torque_limits=None,
    measures=(),
    error=None,
    every=None,
    progress=None,
    **rest,
):
    """The experiment, and the words that are left."""
    given = Measures(measures, error) if error is not None else measures
    every = 1 if every is None else every
    e = Experiment(
        system,
        controller,
        reference=reference,
        inputs=Inputs(payload=payload),
        sensors=sensors,
        limits=None if torque_limits is None else JointLimits(torque=torque_limits),
        friction=friction,
        solver=Solver(method, every=every, progress=progress),
        dt=dt,
        measures=given,
    )
    return e, rest


def _vary(parameters, disturbances):
    added = {f"disturbance.{name}": value for name, value in (disturbances or {}).items()}
    return {**(parameters or {}), **added}


def rollouts(system, controller=None, q0=None, qd0=None, **words):
    e, rest = experiment(system, controller, **words)
    vary = _vary(rest.pop("parameters", None), rest.pop("disturbances", None))
    rest = {{"number": "count", "scheduler": "on"}.get(name, name): value for name, value in rest.items()}
    return e.batch(vary=vary, q0=q0, qd0=qd0, **rest)


def rollout_gradient(system, controller=None, q0=None, qd0=None, *, loss, of, **words):
    e, rest = experiment(system, controller, **words)
    vary = _vary(rest.pop("parameters", None), rest.pop("disturbances", None))
    rest = {{"number": "count"}.get(name, name): value for name, value in rest.items()}
    return e.gradient(loss, wrt=of, vary=vary, q0=q0, qd0=qd0, **rest)


def tune_gains(system, controller, q0=None, qd0=None, *, loss, **words):
    e, rest = experiment(system, controller, **words)
    vary = _vary(rest.pop("parameters", None), rest.pop("disturbances", None))
    return e.tune(loss=loss, vary=vary, q0=q0, qd0=qd0, **rest)
