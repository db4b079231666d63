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
    free = set(range(model.nv))
    for turn in range(STATES if model.nv else 0):
        q = _state(model, turn)
        if not free:
            break
        free &= _nothing(composite.mass_matrix(model, q), sizes(model, q), added)
    return tuple(sorted(free))


def massless(model: Model) -> tuple[int, ...]:
    """Those of them that move no inertia at all: M_kk itself is zero. None is named where the model's inertias are no
    numbers, such as those of a payload that is an input."""
    if not all(isinstance(x, (int, float)) for body in model.bodies for x in body.inertia.parameters()):
        return ()
    q = _state(model)
    M = composite.mass_matrix(model, q)
    return tuple(k for k, size in enumerate(sizes(model, q)) if abs(M[k][k]) <= NOTHING * size)


def sizes(model: Model, q: Sequence[float]) -> list[float]:
    """How large the numbers are of which M_kk is made: all moments of what the joint carries, not those about its axis
    alone, and its rotor."""
    carried = composite.composites(model, joints.poses(model, q))
    total = [0.0] * model.nv
    for body, I in zip(model.bodies, carried, strict=True):
        turned = max(abs(x) for row in I.I for x in row)
        for k, unit in enumerate(body.joint.units, body.coordinate):
            slides = body.joint.travel**2 if body.joint.direct else float(unit == "m")
            own = slides * abs(I.m) + (turned if unit == "rad" else 0.0)
            total[k] += body.multiplier * body.multiplier * (own + body.rotor_inertia)
    return total


def _state(model: Model, turn: int = 0) -> list[float]:
    """Positions that are special for no mechanism."""
    q = [generic(turn * model.nq + k) for k in range(model.nq)]
    return joints.normalize(model, q)


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
