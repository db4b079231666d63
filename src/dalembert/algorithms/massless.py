"""Whether every joint moves some inertia: the pivots of M, against the rounding of what they are made of.

A pivot of M is the inertia that a joint feels when the joints after it are free. It is zero in every state where a mass
lies on the axis, or where two joints move the same bodies in the same way; then no acceleration follows from a torque.
On oblique axes rounding makes such zeros some 1e-17, which a compiled kernel would divide by without a word.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.algorithms import composite, joints, linear
from dalembert.describe.motionless import NOTHING, generic
from dalembert.model import Model

STATES = 2  # more than one, so that a state that happens to be singular is no verdict


def unresisted(model: Model, added: linear.Rows | None = None) -> tuple[int, ...]:
    """The coordinates whose pivot of M [+ `added`] is zero in every state but for rounding; numbers only.

    It is found at states that are special for no mechanism."""
    free = set(range(model.n))
    for turn in range(STATES if model.n else 0):
        q = [generic(turn * model.n + k) for k in range(model.n)]
        if not free:
            break
        free &= _nothing(composite.mass_matrix(model, q), sizes(model, q), added)
    return tuple(sorted(free))


def massless(model: Model) -> tuple[int, ...]:
    """Those of them that move no inertia at all: M_kk itself is zero. None is named where the model's inertias are no
    numbers, such as those of a payload that is an input."""
    if not all(isinstance(x, (int, float)) for body in model.bodies for x in body.inertia.parameters()):
        return ()
    q = [generic(k) for k in range(model.n)]
    M = composite.mass_matrix(model, q)
    return tuple(k for k, size in enumerate(sizes(model, q)) if abs(M[k][k]) <= NOTHING * size)


def sizes(model: Model, q: Sequence[float]) -> list[float]:
    """How large the numbers are of which M_kk is made: all moments of what the joint carries, not those about its axis
    alone, and its rotor."""
    carried = composite.composites(model, joints.poses(model, q))
    total = [0.0] * model.n
    for body, I in zip(model.bodies, carried, strict=True):
        own = body.joint.travel**2 * abs(I.m) + (max(abs(x) for row in I.I for x in row) if body.joint.turns else 0.0)
        total[body.coordinate] += body.multiplier * body.multiplier * (own + body.rotor_inertia)
    return total


def _nothing(M: linear.Rows, size: Sequence[float], added: linear.Rows | None) -> set[int]:
    """Where elimination from the last row up, as `linear.factor_ldl` does it, meets a pivot that is rounding."""
    A, bound = np.array(M, float), np.array(size, float)
    if added is not None:
        A += np.array(added, float)
        bound += np.diag(added)
    found = set()
    for k in reversed(range(len(A))):
        if abs(A[k, k]) > NOTHING * bound[k]:
            A[:k, :k] -= np.outer(A[k, :k] / A[k, k], A[k, :k])
        else:
            found.add(k)
    return found
