"""A control law: u = act(t, y, r, z, p), written once over any scalar.

The same law is called from Python for one state, and traced into the loop of a simulation together with the system it
drives. Controllers make laws; `simulation` knows nothing else of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dalembert.errors import InputError, unknown
from dalembert.flow import Array, Flow, Scalar, Scalars
from dalembert.reference import Reference

Act = Callable[[Scalar, Scalars, Scalars, Scalars, Scalars], list[Scalar]]
Tell = Callable[[float, Array, Array, Array], Array]  # (t, y (B, ·), r (B, ·), p (B, ·)) → u (B, ·)


@dataclass(frozen=True)
class Law:
    """u = act(t, y, r, z, p), ż = rate(t, y, r, z, p).

    y: what is measured, named by `measures` (states or outputs of the flow it drives, in this order). r: the reference
    at time t, named by `follows`. z: the law's own state (integrals, estimates, filters), named by `states`, which
    starts at `initial`, or at `start(y)` of what is measured at t = 0. p: its `parameters`, names and values (gains,
    …), which a batch may vary. u is named by `outputs`, inputs of the flow; other inputs of the flow stay the user's. A
    sampled law advances z by `update(t, y, r, z, p)`, given the sample time it is run at, if there is one, else by
    z + h ż. All take and give sequences of scalars, and choose by value only through `scalar.where`. A law with a
    `memory` has a loop of its own: it is never traced, but called with numbers, at samples; memory(B) begins B runs at
    once, each as if alone, and gives what tells their u. `report` says afterwards what its
    run should be told."""

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
    memory: Callable[[int], Tell] | None = None
    report: Callable[[], str] | None = None

    @property
    def asked(self) -> bool:
        """Whether it is called with numbers, at samples."""
        return self.memory is not None

    @property
    def coordinates(self) -> int | None:
        """How many numbers the motion has that it follows, where the names tell: x, …, x_rate, …, x_acceleration, …."""
        rates = {f"{name}_{what}" for name in self.follows for what in ("rate", "acceleration")}
        found = sum(name not in rates for name in self.follows)
        return found if found < len(self.follows) else None


def read_law(controller: object) -> Law | None:
    """A controller's law: of a Law itself, of what has law(), or nothing."""
    if controller is None or isinstance(controller, Law):
        return controller
    if isinstance(controller, type):
        raise InputError(f"{controller.__name__} is a class: make a controller of it first")
    made = getattr(controller, "law", None)
    if made is None:
        raise InputError(f"a controller is a Law, or has law(); got {type(controller).__name__}")
    law = made() if callable(made) else made
    if not isinstance(law, Law):
        raise InputError(f"law() of {type(controller).__name__} gives a {type(law).__name__}, not a Law")
    return law


def check_law(law: Law, flow: Flow, sampled: bool = False) -> None:
    """Refuse a law that does not fit a flow, or cannot be run as it is wanted: continuous, or `sampled`."""
    known = (*flow.states, *flow.outputs)
    for name in law.measures:
        if name not in known:
            raise unknown(f"state of {flow.name!r} that {law.name!r} measures", name, known)
    for name in law.outputs:
        if name not in flow.driven:
            raise unknown(f"input of {flow.name!r} that {law.name!r} drives", name, flow.driven)
    if not law.outputs:
        raise InputError(f"{law.name!r} has no outputs: it drives nothing of {flow.name!r}")
    for what, names in (("outputs", law.outputs), ("reference entries", law.follows)):
        check_distinct(f"{what} of {law.name!r}", names)
    check_distinct(f"states of {flow.name!r} under {law.name!r}", (*flow.states, *law.states))
    if len(law.initial) != len(law.states):
        raise InputError(f"{law.name!r} gives {len(law.initial)} initial values for its {len(law.states)} states")
    for what, values in (("initial", dict(zip(law.states, law.initial, strict=True))), ("parameter", law.parameters)):
        for key, value in values.items():
            if not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
                raise InputError(f"{what} {key!r} of {law.name!r} must be a finite number, got {value!r}")
    if law.rate is not None and not law.states:
        raise InputError(f"{law.name!r} has a rate but no states: it must have both, or neither")
    if law.states and law.rate is None and not sampled:
        if law.update is not None:
            raise InputError(f"{law.name!r} has no rate, only an update from sample to sample: give sample_time=")
        raise InputError(f"{law.name!r} has states but no rate: it must have both, or neither")


def check_distinct(what: str, names: Sequence[str]) -> None:
    twice = next((x for k, x in enumerate(names) if x in names[:k]), None)
    if twice is not None:
        raise InputError(f"the {what} must have different names, and {twice!r} is there twice")


def followed_orders(law: Law, motion: Reference) -> int:
    """How many of (x, ẋ, ẍ) of a motion a law follows; refused where they do not fit."""
    wanted, m = len(law.follows), motion.m
    names = ", ".join(law.follows[:6]) + (", …" if wanted > 6 else "")
    if law.coordinates not in (None, m):
        raise InputError(
            f"{law.name!r} follows a motion of {law.coordinates} ({names}), and this reference is one of {m}; rates "
            "are given by a Reference or a function of t"
        )
    orders, rest = divmod(wanted, m) if m else (0, 1)
    if rest or not 1 <= orders <= 3:
        raise InputError(
            f"{law.name!r} follows {wanted} numbers ({names}), and a reference of {m} has {m}, {2 * m} or {3 * m} with "
            "its rates"
        )
    if orders > motion.orders:
        raise InputError(f"{law.name!r} follows rates too: reference(t) must give (x, ẋ, ẍ), and gives x alone")
    return orders
