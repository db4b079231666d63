"""Linear systems for python-control."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from dalembert.control.linear import linearize
from dalembert.control.transfer import TransferFunction
from dalembert.errors import InputError


def to_control(
    system: Any,
    x: ArrayLike | None = None,
    u: ArrayLike | None = None,
    outputs: Sequence[str] | str | None = None,
    *,
    dt: float | None = None,
    friction: bool = False,
) -> Any:
    """A system as a python-control object: a TransferFunction as `control.TransferFunction`, anything else linearized
    about (x, u), as by `dalembert.control.linearize`, as `control.StateSpace` with states, inputs and outputs by name.

    `dt` [s]: sampled with the input held between. Needs the extra `control`."""
    if isinstance(system, TransferFunction):
        if any(value is not None for value in (x, u, outputs, dt)):
            raise InputError("a transfer function is linear already: give no state, input, outputs or dt with it")
        return system.to_control()
    found = linearize(system, x, u, outputs, friction)
    return (found if dt is None else found.discretize(dt)).to_control()
