"""Properties of gravity: a gradient, bounded, its work independent of the way.  Seed 004."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.control.bounds import bounds
from dalembert.properties.case import case_of, found, largest, silent
from dalembert.properties.mechanism import DIFFERENCED, Mechanism
from dalembert.properties.motion import INTEGRATED, cumulative, swing
from dalembert.properties.property import FAILS, HOLDS, PROVED, Property
from dalembert.robot import Robot

Array = NDArray[np.float64]
WAYS = 5
SWEEPS, STARTS = 60, 64  # of the search for the lowest place
SCANNED, WIDE = 400, 4 * np.pi  # places of a coordinate that mimic joints follow, and how far out


def _no_potential(m: Mechanism) -> str:
    return f"{m.name!r} knows no potential energy: give potential_energy="


def gravity_gradient(system: Any, **options: Any) -> Property:
    """g against the slope of P, and ∂g/∂q against its transpose."""
    case = case_of(system, **options)
    m = case.mechanism
    if m.potential_energy is None:
        return silent("gravity is a gradient", _no_potential(m))
    slope = _slope_of_potential(m, case.q)
    curl = m.slope(m.g, case.q) if m.robot is None else m.robot.kernel("gravity_torque").derivative("q")(case.q)
    swirl = float(case.relative(curl - np.swapaxes(curl, 1, 2), curl, floor=case.torque).max())
    bound = m.bound if m.robot is not None else max(m.bound, DIFFERENCED)
    violation = case.relative(slope - case.g, case.g, slope, floor=case.torque)
    return case.finding(
        "gravity is a gradient", violation, lambda p: p.gradient(),
        {"largest |g| met": largest(case.g), "∂g/∂q against its transpose": swirl}, holds=swirl <= bound, bound=bound,
    )  # fmt: skip


def _slope_of_potential(m: Mechanism, q: Array) -> Array:
    if m.robot is not None:
        slope = m.robot.kernel("potential_energy").derivative("q")(q)
        return np.asarray(slope).reshape(len(q), m.n)
    return m.slope(lambda x: m.P(x) - m.K0(x), q)


def gravity_bounded(system: Any, **options: Any) -> Property:
    """The largest |g| met, and for a robot what it can never exceed."""
    case = case_of(system, **options)
    numbers = {
        f"‖g‖{name} up to": float(np.linalg.norm(case.g, p, axis=1).max())
        for p, name in ((1, "₁"), (2, "₂"), (np.inf, "∞"))
    }
    robot, shown = case.mechanism.robot, f"measured at {len(case.g)} states"
    if robot is None:
        return found("bounded gravity", HOLDS, shown, numbers, "as far as the states drawn go")
    bound = bounds(robot).gravity
    numbers["‖g‖₁ at most (by lengths)"] = float(bound.sum())
    if not np.isfinite(bound).all():
        names = ", ".join(c.name for c in robot.model.coordinates if c.kind == "prismatic")
        note = f"no bound by lengths: {names} slides without end; where it does not enter g there is one all the same"
        return found("bounded gravity", HOLDS, shown, numbers, note)
    inside = bool((np.abs(case.g).max(0) <= bound * (1 + 1e-12) + 1e-12 * largest(case.g)).all())
    note = "certified figures, and bounds within given limits: robot.bounds()"
    return found(
        "bounded gravity", PROVED if inside else FAILS, f"proved by the lengths between joints; {shown}", numbers, note
    )


def gravity_work(system: Any, **options: Any) -> Property:
    """∫ gᵀq̇ dt along several motions between the same two places against P's difference."""
    case = case_of(system, **options)
    m = case.mechanism
    if m.potential_energy is None:
        return silent("work of gravity", _no_potential(m))
    works, wanted = [], []
    first = swing(m, case.seed)
    w = np.pi / first.t[-1]
    bump, bump_d = np.sin(w * first.t)[:, None] ** 2, w * np.sin(2 * w * first.t)[:, None]
    for k in range(WAYS):
        # The same two ends by another way, halfway to another motion: what is added vanishes at both.
        other = swing(m, case.seed + k)
        away, away_d = (other.q - first.q) / 2, (other.qd - first.qd) / 2
        q, qd = first.q + bump * away, first.qd + bump_d * away + bump * away_d
        works.append(float(cumulative(first.t, np.einsum("bi,bi->b", m.g(q), qd))[-1]))
        ends = m.P(q[[0, -1]]) - m.K0(q[[0, -1]])
        wanted.append(float(ends[1] - ends[0]))
    size = max(largest(m.P(first.q) - m.P(first.q[:1])), abs(wanted[0]))
    gaps = np.abs(np.array(works) - np.array(wanted))
    spread = float(np.ptp(works))
    numbers = {"ΔP [J]": wanted[0], "work by the first way [J]": works[0], "spread of the works [J]": spread}
    return case.finding(
        "work of gravity", gaps / size if size > 0 else gaps, lambda p: p.gradient(), numbers,
        note="the same two places, reached by different ways", where="ways between two places",
        how="proved by g = ∂P/∂q as an identity", bound=INTEGRATED,
    )  # fmt: skip


def lowest_potential(robot: Robot) -> float:
    """The least potential energy of any configuration within the limits of sliding joints [J]: −∞ where gravity pulls
    along one without end.

    Along one turning joint P is A + B cos q + C sin q, along a sliding one a straight line: each is set to its best
    place in turn, from many starts at once. What is found is the energy of a place: the least is at most this. What it
    is at least, `least_potential` says."""
    q = robot.random_configuration(STARTS, seed=0)
    followed = {b.coordinate for b in robot.model.bodies if b.joint != robot.joint_names[b.coordinate]}
    for _ in range(SWEEPS):
        before = q.copy()
        for k, c in enumerate(robot.model.coordinates):
            if k in followed:
                q[:, k] = _scanned(robot, q, k)
                continue
            P0, P1, P2 = (robot.potential_energy(_with(q, k, x)) for x in (0.0, np.pi / 2, np.pi))
            if c.kind == "revolute":
                q[:, k] = np.arctan2(-(P1 - (P0 + P2) / 2), -(P0 - P2) / 2)
                continue
            slope = P2 - P0
            steep = np.abs(slope) > 1e-12 * max(1.0, largest(P0))
            ends = np.where(slope > 0, c.lower, c.upper)
            if not np.isfinite(ends[steep]).all():
                return -math.inf
            q[steep, k] = ends[steep]
        if np.abs(q - before).max() < 1e-12:
            break
    return float(robot.potential_energy(q).min())


def _scanned(robot: Robot, q: Array, k: int) -> Array:
    """The best of many places of a coordinate that others follow, (STARTS,): along it P is no single sine."""
    c = robot.model.coordinates[k]
    lower = c.lower if math.isfinite(c.lower) else -WIDE
    upper = c.upper if math.isfinite(c.upper) else WIDE
    everywhere = np.broadcast_to(np.linspace(lower, upper, SCANNED), (len(q), SCANNED))
    places = np.concatenate((everywhere, q[:, k : k + 1]), 1)
    tried = np.repeat(q[:, None, :], SCANNED + 1, axis=1)
    tried[..., k] = places
    best = np.argmin(robot.potential_energy(tried), axis=1)
    return np.asarray(places[np.arange(len(q)), best])


def least_potential(robot: Robot) -> float:
    """What P is never below [J], by lengths: no joint is further than half a turn, or its whole way, from where P was
    looked at, and |∂P/∂q_i| has a bound."""
    q = robot.random_configuration(seed=0)
    lower, upper = robot.limits.lower, robot.limits.upper
    turning = np.array([c.kind == "revolute" for c in robot.model.coordinates])
    far = np.where(turning, np.pi, np.maximum(upper - q, q - lower))
    steep = bounds(robot).gravity
    return float(robot.potential_energy(q) - sum(g * x for g, x in zip(steep, far, strict=True) if g > 0))


def _with(q: Array, k: int, x: float) -> Array:
    out = q.copy()
    out[:, k] = x
    return out
