"""A control law: u = act(t, y, r, z, p), written once over any scalar.

The same law is called from Python for one state, and traced into the loop of a simulation together with the system it
drives. Controllers make laws; `simulation` knows nothing else of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dalembert.flow import Scalar, Scalars

Act = Callable[[Scalar, Scalars, Scalars, Scalars, Scalars], list[Scalar]]


@dataclass(frozen=True)
class Law:
    """u = act(t, y, r, z, p), ż = rate(t, y, r, z, p).

    y: what is measured, named by `measures` (states of the flow it drives, in this order). r: the reference at time t,
    named by `follows`. z: the law's own state (integrals, estimates, filters), named by `states`, which starts at
    `initial`, or at `start(y)` of what is measured at t = 0. p: its `parameters`, names and values (gains, …), which a
    batch may vary. u is named by `outputs`, inputs of the flow; other inputs of the flow stay the user's. A sampled law
    advances z by `update(t, y, r, z, p)`, given the sample time it is run at, if there is one, else by z + h ż. All
    take and give sequences of scalars, and choose by value only through `scalar.where`."""

    name: str
    measures: tuple[str, ...]
    follows: tuple[str, ...]
    outputs: tuple[str, ...]
    act: Act
    states: tuple[str, ...] = ()
    initial: tuple[float, ...] = ()
    rate: Act | None = None
    update: Callable[[float], Act] | None = None
    parameters: dict[str, float] = field(default_factory=dict)
    start: Callable[[Scalars], list[Scalar]] | None = None

    @property
    def coordinates(self) -> int | None:
        """How many numbers the motion has that it follows, where the names tell: x, …, x_rate, …, x_acceleration, …."""
        rates = {f"{name}_{what}" for name in self.follows for what in ("rate", "acceleration")}
        found = sum(name not in rates for name in self.follows)
        return found if found < len(self.follows) else None
