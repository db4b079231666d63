"""`bounds`: how large and how small M, c and g get over all joint positions, proved and met.

    μ₁ 1 ⪯ M(q) ⪯ μ₂ 1,    ‖c(q, q̇)‖ ≤ c_b ‖q̇‖²,    ‖g(q)‖ ≤ g_b    (seed 004; in 1-, 2- and ∞-norm)

What is certified holds for the model's numbers as they are stored, for every q of the box, rounding included. (The
regrouped model, `model.lean`, stands for the robot's: its numbers differ by rounding, for which a part in 10¹² is given
away at the end.)
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.bounds import lengths, tails
from dalembert.bounds.box import Box
from dalembert.bounds.certify import Climb, Watch, climb_all, met
from dalembert.bounds.functions import Joints, entries
from dalembert.bounds.quantities import QUANTITIES, Quantity
from dalembert.bounds.result import Bound, Bounds
from dalembert.bounds.taylor import Family, family
from dalembert.errors import InputError, unknown
from dalembert.model import Model
from dalembert.model.lean import lean

if TYPE_CHECKING:
    from dalembert.robot import Robot

Array = NDArray[np.float64]
GIVEN = 1e-12  # relative: regrouping of the model's numbers
FAR = 1000.0  # metres: how far a slide goes that nothing depends on


def bounds(
    robot: Robot,
    quantities: Sequence[str] | None = None,
    limits: tuple[Any, Any] | None = None,
    gap: float = 0.05,
    seconds: float = 60.0,
    seed: int = 0,
    watch: Watch | None = None,
) -> Bounds:
    """Bounds over the joints' limits, or over `limits` (lower, upper), numbers or one per joint.

    Each is driven down until it is within `gap` (relative) of what is attained, or its share of `seconds` is used.
    `quantities`: names of `QUANTITIES`; all, if none are named. `watch` is called with a line about what is tried."""
    chosen = _chosen(quantities)
    if not robot.n:
        raise InputError(f"{robot.name} has no joints: there is nothing to bound")
    if not 0 <= gap < 10 or not seconds > 0:
        raise InputError(f"gap must be from 0 to 10 and seconds positive; got {gap!r} and {seconds!r}")
    start = time.perf_counter()
    model = lean(robot.model)
    box = _box(robot, limits)
    made: dict[str, list[Family] | None] = {}
    ready: list[Bound | list[Climb]] = [_begin(robot, model, x, box, made, gap, seed, watch) for x in chosen]
    climb_all([c for x in ready if isinstance(x, list) for c in x], start + seconds, watch)
    out = [_ended(x) if isinstance(x, list) else x for x in ready]
    out = [replace(b, certified=_given(b)) for b in out]
    notes = ("the loops are open: bounds of the tree, which hold where it is closed too",) if robot.model.loops else ()
    return Bounds(robot.name, box.lower, box.upper, gap, time.perf_counter() - start, tuple(out), notes)


def _given(bound: Bound) -> float:
    """The certified value with a part in 10¹² given away, for the regrouping; an exact nought stays."""
    return bound.certified * (1 + GIVEN if bound.side == "upper" else 1 - GIVEN)


def _chosen(names: Sequence[str] | None) -> list[Quantity]:
    known = {x.name: x for x in QUANTITIES}
    if names is None:
        return list(QUANTITIES)
    if isinstance(names, str):
        names = [names]
    for name in names:
        if name not in known:
            raise unknown("bound", name, list(known))
    return [known[x] for x in names]


def _box(robot: Robot, limits: tuple[Any, Any] | None) -> Box:
    if limits is None:
        return Box.of(robot.model)
    try:
        lower, upper = (np.broadcast_to(np.asarray(x, float), (robot.n,)).copy() for x in limits)
    except (TypeError, ValueError):
        raise InputError(
            f"limits must be (lower, upper), each a number or one per joint ({robot.n}); got {limits!r}"
        ) from None
    bad = [robot.joint_names[i] for i in range(robot.n) if not lower[i] <= upper[i]]
    if bad:
        raise InputError(f"limits: the lower one of {bad[0]!r} is not below the upper one")
    return Box.of(robot.model, lower, upper)


def _families(model: Model, quantity: Quantity, box: Box) -> list[Family] | None:
    """The function over the box, in as many parts as endless slides ask for, or None."""
    if quantity.function == "mass" and tails.endless(model, box):
        try:
            found = [family(*part) for part in tails.parts(model, box)]
        except NotImplementedError:
            return None
    else:
        found = [family(partial(entries, quantity.function, model), Joints.of(model), box)]
    return None if any(x is None for x in found) else [x for x in found if x is not None]


def _begin(
    robot: Robot,
    model: Model,
    quantity: Quantity,
    box: Box,
    made: dict[str, list[Family] | None],
    gap: float,
    seed: int,
    watch: Watch | None,
) -> Bound | list[Climb]:
    """What can be told at once, or what is still to be climbed: one for each part of the box."""
    endless = _depends_on_endless(robot, quantity, box)
    if endless and quantity.side == "upper":
        state = np.concatenate([box.middle, np.zeros(robot.n)]) if quantity.speeds else box.middle
        why = f"it grows without end with {endless[0]!r}, which has no limits"
        return Bound.of(robot, quantity, np.inf, np.inf, state, "none", 0, 0.0, why)
    key = quantity.function if not endless else quantity.function + " from below"
    if watch is not None:
        watch(f"{quantity.symbol}: what is met, and how large its terms get")
    if key not in made:
        made[key] = _families(model, quantity, box) if endless else _families(model, quantity, _finite(box))
    families = made[key]
    if families is None:
        return _by_lengths(robot, quantity, box, seed)
    near = Climb(robot, quantity, families[0], gap, seed)
    climbs = [near, *(Climb(robot, quantity, f, gap, seed, near) for f in families[1:])]
    known = lengths.bound(_limited(robot.model, box), quantity.name)
    if known is not None:
        for climb in climbs:
            climb.know(known, "rotor inertia" if quantity.name == "mu1" else "lengths")
    return climbs


def _ended(climbs: list[Climb]) -> Bound:
    found = [c.bound() for c in climbs]
    # A far part is bounded in another variable: its states are not the robot's. The near part's are.
    near, worst = found[0], min(found, key=lambda b: b.certified)
    if len(found) == 1:
        return near
    return replace(near, certified=worst.certified, boxes=sum(b.boxes for b in found), stopped=worst.stopped)


def _finite(box: Box) -> Box:
    """A slide without limits on which nothing depends, but for rounding of the model's angles, may stand far away."""
    endless = ~np.isfinite(box.radius)
    return Box(np.where(endless, -FAR, box.lower), np.where(endless, FAR, box.upper), box.sliding)


def _depends_on_endless(robot: Robot, quantity: Quantity, box: Box) -> list[str]:
    """The slides without limits that the quantity depends on."""
    slides = tails.endless(robot.model, box)
    if not slides:
        return []
    rng = np.random.default_rng(0)
    inside = np.where(np.isfinite(box.radius), 1.0, 0.0)
    q = box.middle + inside * np.where(inside > 0, box.radius, 0.0) * rng.uniform(-1, 1, (16, robot.n))
    qd = rng.normal(size=q.shape)
    names = []
    for i in slides:
        moved = q.copy()
        moved[:, i] += 3.7
        a, b = (quantity.met(robot, np.concatenate([x, qd], axis=1) if quantity.speeds else x) for x in (q, moved))
        if np.abs(a - b).max() > 1e-9 * np.abs(a).max(initial=1e-300):
            names.append(robot.joint_names[i])
    return names


def _by_lengths(robot: Robot, quantity: Quantity, box: Box, seed: int) -> Bound:
    """Too many joints for harmonics: from the distances of joints and masses alone."""
    best, state = met(robot, quantity, box, seed)
    certified = lengths.bound(_limited(robot.model, box), quantity.name)
    why = "too many joints to be taken apart" if certified is not None else "too many joints, and no bound by lengths"
    value = certified if certified is not None else (np.inf if quantity.side == "upper" else 0.0)
    return Bound.of(robot, quantity, value, best, state, "lengths", 0, 0.0, why)


def _limited(model: Model, box: Box) -> Model:
    """The model with the box for its limits."""
    rows = zip(model.coordinates, box.lower.tolist(), box.upper.tolist(), strict=True)
    return replace(model, coordinates=tuple(replace(c, lower=a, upper=b) for c, a, b in rows))
