"""Properties of gravity: a gradient, bounded, its work independent of the way.  [Fakhari 2]."""

from __future__ import annotations

import math

import numpy as np

from dalembert.arguments import Array
from dalembert.bounds import lengths
from dalembert.control.conditions import find_magnitudes
from dalembert.kernels import need_vector
from dalembert.model.lean import lean
from dalembert.model.model import Body
from dalembert.robot import Robot
from dalembert.trust.properties.inertia import endless_slides, reach, sliding_names
from dalembert.trust.properties.mechanism import (
    INTEGRATED,
    Mechanism,
    Trial,
    accumulate,
    dot,
    judge,
    largest,
    swing,
    transpose,
)
from dalembert.trust.properties.property import FAILS, HOLDS, PROVED, Verdict, silent

WAYS = 5
SWEEPS, STARTS = 60, 64  # of the search for the lowest place
OUT = (1e4, 1e6)  # [m] how far out a slide without end is looked at
TURNS = np.linspace(0.0, 2 * np.pi, 8, endpoint=False)  # and with what angles of what turns with it
SCANNED, WIDE = 400, 4 * np.pi  # places of a coordinate that mimic joints follow, and how far out


def _no_potential(m: Mechanism) -> str:
    return f"{m.name!r} knows no potential energy: give potential_energy="


@judge("gravity is a gradient")
def gravity_gradient(trial: Trial) -> Verdict:
    """g against the slope of P, and ∂g/∂q against its transpose."""
    m = trial.mechanism
    if m.potential_energy is None:
        return silent(_no_potential(m))
    slope = trial.dP
    curl = m.slope(m.g, trial.q) if m.robot is None else m.robot.kernel("gravity_torque").derivative("q")(trial.q)
    swirl = float(trial.relative(curl - transpose(curl), curl, floor=trial.torque).max())
    bound = m.slope_bound
    violation = trial.relative(slope - trial.g, trial.g, slope, floor=trial.torque)
    numbers = {"largest |g| met": largest(trial.g), "∂g/∂q against its transpose": swirl}
    return trial.judge(violation, lambda p: p.gradient(), numbers, holds=swirl <= bound, bound=bound)


@judge("bounded gravity")
def gravity_bounded(trial: Trial) -> Verdict:
    """The largest |g| met, and for a robot what it can never exceed."""
    numbers = {
        f"‖g‖{name} up to": float(np.linalg.norm(trial.g, p, axis=1).max())
        for p, name in ((1, "₁"), (2, "₂"), (np.inf, "∞"))
    }
    robot, shown = trial.mechanism.robot, f"measured at {len(trial.g)} states"
    if robot is None:
        return Verdict(HOLDS, shown, numbers, "as far as the states drawn go")
    bound = find_magnitudes(robot).gravity
    numbers["‖g‖₁ at most (by lengths)"] = float(bound.sum())
    if not np.isfinite(bound).all():
        names = sliding_names(robot, endless_slides(robot))
        note = f"no bound by lengths: {names} slides without end; where it does not enter g there is one all the same"
        return Verdict(HOLDS, shown, numbers, note)
    inside = bool((np.abs(trial.g).max(0) <= bound * (1 + 1e-12) + 1e-12 * largest(trial.g)).all())
    note = "certified figures, and bounds within given limits: robot.bounds()"
    return Verdict(PROVED if inside else FAILS, f"proved by the lengths between joints; {shown}", numbers, note)


@judge("work of gravity")
def gravity_work(trial: Trial) -> Verdict:
    """∫ gᵀq̇ dt along several motions between the same two places against P's difference."""
    m = trial.mechanism
    if m.potential_energy is None:
        return silent(_no_potential(m))
    works, wanted = [], []
    first = swing(m, trial.seed)
    w = np.pi / first.t[-1]
    bump, bump_d = np.sin(w * first.t)[:, None] ** 2, w * np.sin(2 * w * first.t)[:, None]
    for k in range(WAYS):
        # The same two ends by another way, halfway to another motion: what is added vanishes at both.
        other = swing(m, trial.seed + k)
        away, away_d = (other.q - first.q) / 2, (other.qd - first.qd) / 2
        q, qd = first.q + bump * away, first.qd + bump_d * away + bump * away_d
        works.append(float(accumulate(first.t, dot(m.g(q), qd))[-1]))
        ends = m.P(q[[0, -1]]) - m.K0(q[[0, -1]])
        wanted.append(float(ends[1] - ends[0]))
    size = max(largest(m.P(first.q) - m.P(first.q[:1])), abs(wanted[0]))
    gaps = np.abs(np.array(works) - np.array(wanted))
    spread = float(np.ptp(works))
    numbers = {"ΔP [J]": wanted[0], "work by the first way [J]": works[0], "spread of the works [J]": spread}
    return trial.judge(
        gaps / size if size > 0 else gaps,
        lambda p: p.gradient(),
        numbers,
        note="the same two places, reached by different ways",
        where="ways between two places",
        how="proved by g = ∂P/∂q as an identity",
        bound=INTEGRATED,
    )


def lowest_potential(robot: Robot) -> float:
    """The least potential energy of any configuration within the limits of sliding joints [J]: −∞ where gravity pulls
    along one without end.

    Along one turning joint P is A + B cos q + C sin q, along a sliding one a straight line: each is set to its best
    place in turn, from many starts at once. What is found is the energy of a place: the least is at most this. What it
    is at least, `least_potential` says."""
    need_vector(robot.model)
    q = robot.random_configuration(STARTS, seed=0)
    followed = {b.coordinate for b in robot.model.bodies if b.joint_name != robot.joint_names[b.coordinate]}
    endless = endless_slides(robot)
    for _ in range(SWEEPS):
        before = q.copy()
        for k, c in enumerate(robot.model.coordinates):
            if k in followed or any(len(x) > 2 for x in c.joint.symbols):
                if k in endless and _bottomless(robot, q, k):
                    return -math.inf
                q[:, k] = _scanned(robot, q, k)
                continue
            P0, P1, P2 = (robot.potential_energy(_with(q, k, x)) for x in (0.0, np.pi / 2, np.pi))
            if c.joint.periodic:
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


def _bottomless(robot: Robot, q: Array, k: int) -> bool:
    """Whether P goes on falling far out along a coordinate with which something slides without end."""
    c = robot.model.coordinates[k]
    ways = [sign for sign, end in ((-1.0, c.lower), (1.0, c.upper)) if not math.isfinite(end)]
    weight = sum(body.inertia.m for body in robot.model.bodies) * float(np.linalg.norm(robot.model.gravity))
    start, falls = float(robot.potential_energy(q).max()), []
    for far in OUT:
        places = [sign * (far / reach(robot, k) + turn) for sign in ways for turn in TURNS]
        falls.append(start - min(float(robot.potential_energy(_with(q, k, x)).min()) for x in places))
    return falls[1] > max(10 * falls[0], 1e-9 * weight * OUT[1])


def least_potential(robot: Robot) -> float:
    """What P is never below [J], by lengths: no joint, also of those that follow others, is further than half a turn,
    or its whole way, from where P was looked at, and |∂P/∂x_i| of each has a bound."""
    q = robot.random_configuration(seed=0)
    thin = lean(robot.model)
    weight = lengths.ROUNDING * float(np.linalg.norm(thin.gravity))
    falls = 0.0
    for body, steep in zip(thin.bodies, lengths.first_order(thin), strict=True):
        if steep > 0 and body.multiplier:
            falls += weight * float(steep) * (math.pi if body.joint.periodic else _way(robot, body, q))
    return float(robot.potential_energy(q)) - falls


def _way(robot: Robot, body: Body, q: Array) -> float:
    """How far a slide is from its further end."""
    c = robot.model.coordinates[body.coordinate]
    return abs(body.multiplier) * max(c.upper - float(q[body.coordinate]), float(q[body.coordinate]) - c.lower)


def _with(q: Array, k: int, x: float) -> Array:
    out = q.copy()
    out[:, k] = x
    return out
