"""What is measured beyond positions and rates: inputs or outputs of a flow, through a sensor with a first-order lag.

    T ẏ = x − y

A law measures states only: what it wants to know of forces is made a state by the sensor that every force has
anyway."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dalembert.arguments import number, of_kind
from dalembert.errors import choose
from dalembert.flow import Flow, Scalar, Scalars

SENSED = "sensed_"


def add_sensors(flow: Flow, names: Sequence[str], time_constant: float) -> Flow:
    """The flow with sensors: for each named input or output a state `sensed_<name>` that follows it, lag T [s]."""
    of_kind(flow, Flow, "a Flow is given sensors, not a")
    lag = number("time_constant", time_constant, "s", above=0.0)
    wanted = (names,) if isinstance(names, str) else tuple(names)
    for name in wanted:
        choose(f"input or output of {flow.name!r}", name, (*flow.inputs, *flow.outputs))
    n = len(flow.states)
    looks = any(name not in flow.inputs for name in wanted)

    def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        now = dict(zip(flow.inputs, u, strict=True))
        if looks:
            assert flow.observe is not None
            now |= dict(zip(flow.outputs, flow.observe(t, x[:n], u), strict=True))
        return [*flow.rate(t, x[:n], u), *((now[k] - y) * (1.0 / lag) for k, y in zip(wanted, x[n:], strict=True))]

    def settle(t: Scalar, before: Scalars, x: Scalars, u: Scalars) -> list[Scalar]:
        assert flow.settle is not None
        return [*flow.settle(t, before[:n], x[:n], u), *x[n:]]

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        assert flow.observe is not None
        return list(flow.observe(t, x[:n], u))

    return replace(
        flow,
        name=f"{flow.name} with sensors",
        states=(*flow.states, *(f"{SENSED}{name}" for name in wanted)),
        rate=rate,
        settle=None if flow.settle is None else settle,
        observe=None if flow.observe is None else observe,
    )
