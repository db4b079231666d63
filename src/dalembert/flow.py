"""A system that moves by itself or under inputs: ẋ = f(t, x, u), written once over any scalar.

Robots, constrained and motor-driven ones, flexible joints, Lagrangian systems: whatever can be simulated says so with a
`Flow`, and `simulate` knows nothing else of it. The same functions run on floats, and traced into one compiled loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Scalar = Any
Scalars = Sequence[Scalar]

# How the components of a wrench are called where it is an input.
WRENCH = ("f_x", "f_y", "f_z", "n_x", "n_y", "n_z")


@dataclass(frozen=True)
class Flow:
    """ẋ = rate(t, x, u).

    `states` and `inputs` name the entries of x and u. x begins with `positions` positions and as many of their rates,
    (q, q̇, …), in that order; what follows (currents, modes) is of first order. `settle(t, before, x, u)` is what is
    done to a state after each step that led from `before` to x at time t: back onto a constraint, to rest where
    friction holds; it may not depend on the step's length. `observe(t, x, u)` gives what else is worth keeping, named
    by `outputs`. All of them take and give sequences of scalars, and choose by value only through `scalar.where`.
    `check(x0)` looks at initial states, arrays (..., n), and refuses those that cannot be."""

    name: str
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    rate: Callable[[Scalar, Scalars, Scalars], list[Scalar]]
    positions: int = 0
    settle: Callable[[Scalar, Scalars, Scalars, Scalars], list[Scalar]] | None = None
    outputs: tuple[str, ...] = ()
    observe: Callable[[Scalar, Scalars, Scalars], list[Scalar]] | None = None
    check: Callable[[Any], None] | None = None
