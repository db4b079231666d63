"""`bounds`: how large and how small M, c and g get over all joint positions, proved and met.

    μ₁ 1 ⪯ M(q) ⪯ μ₂ 1,    ‖c(q, q̇)‖ ≤ c_b ‖q̇‖²,    ‖g(q)‖ ≤ g_b    ([Fakhari 2]; in 1-, 2- and ∞-norm)

What is certified holds for the model's numbers as they are stored, for every q of the box, rounding included. (The
regrouped model, `model.lean`, stands for the robot's: its numbers differ by rounding, for which a part in 10¹² is given
away at the end.)

What stays bounded when a slide goes to infinity: the lower bounds on M.

In the position x of a slide M = A + x B + x² C, entry by entry. With s = 1/x and D the diagonal matrix that has s in
the rows where C grows, and 1 else, D M D is a polynomial in s, because M ⪰ 0 for all x leaves no room for other powers.
Where |x| ≥ 1, D ⪯ 1, so that λ_min(M) ≥ λ_min(D M D) and |M_ab| ≥ |(D M D)_ab|: a bound over |s| ≤ 1 is one over the
tail.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from dalembert.bounds import lengths
from dalembert.bounds.certify import Climb, Watch, climb_all, find_extreme
from dalembert.bounds.functions import Box, Joints, entries, pairs
from dalembert.bounds.quantities import QUANTITIES, Quantity
from dalembert.bounds.result import Bound, BoundedBox, Bounds, make_bounds
from dalembert.bounds.taylor import Family, family
from dalembert.errors import InputError, choose
from dalembert.model import Model
from dalembert.model.lean import lean
from dalembert.scalar import Scalar
from dalembert.system import Jointed

Entries = Callable[[Sequence[Scalar]], list[Scalar]]  # of M, at the joints' positions
GROWS = 1e-9  # of the largest entry
GIVEN = 1e-12  # relative: regrouping of the model's numbers
CANCELED = 1e-13  # of what the terms could be by their lengths alone: the same where they cancel
ROUNDED = 1e-12  # of the largest entry: what angles that are not exact do
FARTHEST = 1e6  # rad or m: beyond, a double knows angles too badly
FAR = 1000.0  # m or rad: how far a joint without limits goes that nothing depends on, or that never comes back


class NoTailError(Exception):
    """M does not grow with a slide in the way that this needs; told as not certified."""


def endless_slides(model: Model, box: Box) -> list[int]:
    """The coordinates of slides without limits."""
    return [i for i in range(model.n) if not box.finite(i)]


def finite_parts(model: Model, box: Box) -> Iterator[tuple[Entries, Joints, Box]]:
    """M over the whole range of endless slides, as functions over finite boxes: each slide near (|x| ≤ 1) or far."""
    slides = endless_slides(model, box)
    joints = Joints.of(model)
    for far in product((False, True), repeat=len(slides)):
        gone = [i for i, f in zip(slides, far, strict=True) if f]
        lower, upper = box.lower.copy(), box.upper.copy()
        for i in slides:
            reach = (np.maximum(lower[i], -1.0), np.minimum(upper[i], 1.0))
            lower[i], upper[i] = reach if i not in gone else (-1.0 * (lower[i] < -1.0), 1.0 * (upper[i] > 1.0))
        if (upper[slides] < lower[slides]).any():
            continue  # nothing of it is near
        yield _far(model, joints, gone), joints, Box(lower, upper, box.sliding)


def _far(model: Model, joints: Joints, gone: list[int]) -> Entries:
    function: Entries = partial(entries, "mass", model)
    for i in gone:
        carried = [b for b, c in enumerate(joints.coordinate) if c == i]
        if len(carried) > 1 or joints.rate[carried[0]] != 1.0 or joints.offset[carried[0]] != 0.0:
            raise NoTailError(f"other joints follow {model.coordinates[i].name!r}, which has no limits")
        function = _scaled(function, carried[0], model.n)
    return function


def _scaled(function: Entries, j: int, n: int) -> Entries:
    """Entries of D M D as a function of the joints' positions, that of joint j replaced by s = 1/x.

    Which rows grow, and that no entry has a power it must not have, is seen at random positions."""
    rng = np.random.default_rng(0)
    # (A B C, entries)
    seen = np.abs([_powers(function, j, rng.normal(size=64).tolist()) for _ in range(8)]).max(axis=0)
    largest = float(seen.max()) or 1.0
    rows = [a for k, (a, b) in enumerate(pairs(n)) if a == b and seen[2, k] > GROWS * largest]
    scaled_rows = np.array([(a in rows) + (b in rows) for a, b in pairs(n)])
    odd = [seen[power, scaled_rows < power].max(initial=0.0) for power in (1, 2)]
    if max(odd) > ROUNDED * largest:
        raise NoTailError("M grows with a slide without limits otherwise than a rigid body's does")

    def scaled(x: Sequence[Scalar]) -> list[Scalar]:
        s = x[j]
        powers = [1.0, s, s * s]
        out = []
        for k, terms in zip(scaled_rows.tolist(), zip(*_powers(function, j, x), strict=True), strict=True):
            total: Scalar = 0.0
            for power in range(k + 1):
                total = total + terms[power] * powers[k - power]
            out.append(total)
        return out

    return scaled


def _powers(function: Entries, j: int, x: Sequence[Scalar]) -> tuple[list[Scalar], ...]:
    """A, B, C of A + x_j B + x_j² C, from three positions."""
    f = [function([p if i == j else y for i, y in enumerate(x)]) for p in (-1.0, 0.0, 1.0)]
    odd = [0.5 * (c - a) for a, c in zip(f[0], f[2], strict=True)]
    even = [0.5 * ((a - b) + (c - b)) for a, b, c in zip(*f, strict=True)]
    return f[1], odd, even


def bounds(
    robot: Jointed,
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
    for name, x, top in (("gap", gap, 10.0), ("seconds", seconds, math.inf)):
        if isinstance(x, bool) or not isinstance(x, (int, float)) or not 0 <= x < top or x == math.inf:
            raise InputError(f"{name} must be a number from 0{' to 10' if name == 'gap' else ' on'}, got {x!r}")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(f"seed must be a whole number from 0 on, got {seed!r}")
    start = time.perf_counter()
    model = lean(robot.model)
    box, notes = _without_period(robot, _box(robot, limits))
    made: dict[str, list[Family] | str] = {}
    ready: list[Bound | list[Climb]] = []
    for quantity in chosen:
        late = time.perf_counter() > start + seconds
        ready.append(
            _by_lengths(robot, quantity, box, seed, "time was up")
            if late and quantity.function not in made
            else _begin(robot, model, quantity, box, made, gap, seed, watch)
        )
    climb_all([c for x in ready if isinstance(x, list) for c in x], start + seconds, watch)
    out = [_ended(x) if isinstance(x, list) else x for x in ready]
    out = [_given(robot, b, box) for b in out]
    notes += ["the loops are open: bounds of the tree, which hold where it is closed too"] if robot.model.loops else []
    scope = BoundedBox(box.lower, box.upper, gap, time.perf_counter() - start)
    return make_bounds(robot.name, scope, tuple(out), tuple(notes))


def _given(robot: Jointed, bound: Bound, box: Box) -> Bound:
    """The certified value with a little given away, for the regrouping: a part of it, and of what cancels in it. A
    bound that a state contradicts is none."""
    sign = 1 if bound.side == "upper" else -1
    if not np.isfinite(bound.certified):
        return bound
    named = bound.name if bound.name in lengths.NAMES else "mu2"
    scale = lengths.bound(_limited(robot.model, box), named)
    scale = scale if scale is not None and np.isfinite(scale) else 0.0
    value = bound.certified * (1 + sign * GIVEN) + sign * CANCELED * scale
    if sign * (value - bound.attained) < -1e-9 * abs(bound.attained):
        why = f"a state was met that contradicts {bound.certified:.9g}, which is a fault of this program"
        return replace(bound, certified=sign * np.inf, stopped=why, scale=scale)
    return replace(bound, certified=value, scale=scale)


def _chosen(names: Sequence[str] | None) -> list[Quantity]:
    known = {x.name: x for x in QUANTITIES}
    if names is None:
        return list(QUANTITIES)
    if isinstance(names, str):
        names = [names]
    if not isinstance(names, Sequence):
        raise InputError(f"quantities must be a list of names of bounds, got {names!r}")
    for name in names:
        choose("bound", name, known)
    return [known[x] for x in names]


def _box(robot: Jointed, limits: tuple[Any, Any] | None) -> Box:
    if limits is None:
        return Box.of(robot.model)
    try:
        lower, upper = (np.broadcast_to(np.asarray(x, float), (robot.n,)).copy() for x in limits)
    except (TypeError, ValueError):
        raise InputError(
            f"limits must be (lower, upper), each a number or one per joint ({robot.n}); got {limits!r}"
        ) from None
    if np.isnan(lower).any() or np.isnan(upper).any():
        where = robot.joint_names[int(np.argmax(np.isnan(lower) | np.isnan(upper)))]
        raise InputError(f"limits: one of {where!r} is not a number (NaN)")
    bad = [robot.joint_names[i] for i in range(robot.n) if not lower[i] <= upper[i]]
    if bad:
        raise InputError(f"limits: the lower one of {bad[0]!r} is not below the upper one")
    for name, a, b in zip(robot.joint_names, lower.tolist(), upper.tolist(), strict=True):
        for x, open_end in ((a, -math.inf), (b, math.inf)):
            if x != open_end and not abs(x) <= FARTHEST:
                why = f"write what is within ±{FARTHEST:g}, or {open_end} for none"
                raise InputError(f"limits: {x!r} of {name!r} is out of reach; {why}")
    return Box.of(robot.model, lower, upper)


def _without_period(robot: Jointed, box: Box) -> tuple[Box, list[str]]:
    """A joint that turns without limits, and that others follow at rates which never bring them back, within ±FAR; and
    what there is to say of joints without limits."""
    lower, upper, notes = box.lower.copy(), box.upper.copy(), []
    for i in endless_slides(robot.model, box):
        name = robot.joint_names[i]
        if all(b.joint.turns for b in robot.model.bodies if b.coordinate == i):
            lower[i], upper[i] = max(lower[i], -FAR), min(upper[i], FAR)
            notes.append(f"{name!r} has no limits, and others follow it without ever coming back: within ±{FAR:g} rad")
        else:
            notes.append(f"{name!r} has no limits: what does not depend on it is certified within ±{FAR:g} m")
    return Box(lower, upper, box.sliding), notes


def _families(model: Model, quantity: Quantity, box: Box) -> list[Family] | str:
    """The function over the box, in as many parts as endless slides ask for, or why there is none."""
    mixed = [body.joint_name for body in model.bodies if any(len(x) > 2 for x in body.joint.symbols)]
    if mixed:
        return f"joint {mixed[0]!r} slides as it turns: no sum of sines and powers alone can be bounded term by term"
    if quantity.function == "mass" and endless_slides(model, box):
        try:
            found = [family(*part) for part in finite_parts(model, box)]
        except NoTailError as why:
            return str(why)
    else:
        found = [family(partial(entries, quantity.function, model), Joints.of(model), box)]
    known = [x for x in found if x is not None]
    return known if len(known) == len(found) else "too many joints to be taken apart"


def _begin(
    robot: Jointed,
    model: Model,
    quantity: Quantity,
    box: Box,
    made: dict[str, list[Family] | str],
    gap: float,
    seed: int,
    watch: Watch | None,
) -> Bound | list[Climb]:
    """What can be told at once, or what is still to be climbed: one for each part of the box."""
    endless = _depends_on_endless(robot, model, quantity, box)
    if endless and quantity.side == "upper":
        state = np.concatenate([box.middle, np.zeros(robot.n)]) if quantity.speeds else box.middle
        why = f"it grows without end with {endless[0]!r}, which has no limits"
        return Bound.of(robot, quantity, np.inf, np.inf, state, "none", 0, 0.0, why)
    key = quantity.function if not endless else quantity.function + " from below"
    if watch is not None:
        watch(f"{quantity.symbol}: what is met, and how large its terms get")
    if key not in made:
        # A slide without limits on which nothing depends, but for rounding of the model's angles, may stand far away.
        made[key] = _families(model, quantity, box if endless else box.within(FAR))
    families = made[key]
    if isinstance(families, str):
        return _by_lengths(robot, quantity, box, seed, families)
    best = find_extreme(robot, quantity, box, seed)
    climbs = [Climb(robot, quantity, f, gap, best, foreign=bool(endless)) for f in families]
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


def _depends_on_endless(robot: Jointed, model: Model, quantity: Quantity, box: Box) -> list[str]:
    """The coordinates without limits on which the quantity's terms depend by more than rounding.

    In the position of a slide every term is a polynomial of second degree: equal at three places, and at a fourth for
    joints that follow, is equal everywhere."""
    slides = endless_slides(model, box)
    if not slides:
        return []
    rng = np.random.default_rng(0)
    joints = Joints.of(model)
    near = box.within(1.0)
    names = []
    for i in slides:
        change = size = 0.0
        for _ in range(8):
            q = rng.uniform(near.lower, near.upper)
            found = []
            for x in (0.0, 1.0, -1.3, 3.7):
                q[i] = x
                found.append(np.array(entries(quantity.function, model, joints.positions(q.tolist())), float))
            change = max(change, float(np.abs(np.array(found) - found[0]).max(initial=0.0)))
            size = max(size, float(np.abs(found).max(initial=0.0)))
        if change > ROUNDED * size:
            names.append(robot.joint_names[i])
    return names


def _by_lengths(robot: Jointed, quantity: Quantity, box: Box, seed: int, why: str) -> Bound:
    """From the distances of joints and masses alone."""
    best, state = find_extreme(robot, quantity, box, seed)
    certified = lengths.bound(_limited(robot.model, box), quantity.name)
    if certified is None:
        certified, why = quantity.sign * np.inf, f"{why}, and lengths tell nothing of it"
    return Bound.of(robot, quantity, certified, best, state, "lengths", 0, 0.0, why)


def _limited(model: Model, box: Box) -> Model:
    """The model with the box for its limits."""
    rows = zip(model.coordinates, box.lower.tolist(), box.upper.tolist(), strict=True)
    return replace(model, coordinates=tuple(replace(c, lower=a, upper=b) for c, a, b in rows))
