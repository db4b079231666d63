"""Motions looked at in time: when which links touch each other or an obstacle, and whether none ever does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array, number
from dalembert.collision.clearance import Collision
from dalembert.collision.edges import EdgeCertificate, certify_path
from dalembert.collision.of_robot import Shaped, read_collision
from dalembert.collision.world import World, WorldArrays
from dalembert.errors import InputError

Array = NDArray[np.float64]
MAX_STEPS = 1_000_000  # samples of a motion


class Extremes(Protocol):
    """The largest acceleration of every joint, and how it was found: "sampled" is no proof."""

    @property
    def acceleration(self) -> Array: ...

    @property
    def how(self) -> str: ...


@runtime_checkable
class Motion(Protocol):
    """A trajectory of joints."""

    @property
    def duration(self) -> float: ...

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]: ...

    def limits(self) -> Extremes: ...


@runtime_checkable
class Sampled(Protocol):
    """A run: times (N,) and positions (N, n)."""

    @property
    def t(self) -> Array: ...

    @property
    def q(self) -> Array: ...


@runtime_checkable
class Bounded(Protocol):
    """A motion that knows how far it leaves the straight line between two of its places, (k, n), or that it does not:
    None."""

    def stray(self, low: Array, high: Array) -> Array | None: ...


@dataclass(frozen=True)
class ContactSpan:
    """Two links, or a link and an obstacle, that are too near from time `start` to `end` [s], as samples show it; the
    least `distance` [m] and the time `deepest` of it."""

    first: str
    second: str
    start: float
    end: float
    deepest: float
    distance: float

    def __str__(self) -> str:
        word = "apart" if self.distance >= 0 else "deep"
        when = f"{self.start:.4g} to {self.end:.4g} s"
        return f"{when}: {self.first} and {self.second}, {abs(self.distance):.3g} m {word} at {self.deepest:.4g} s"


def find_spans(
    collision: Collision, t: ArrayLike, q: ArrayLike, world: World | WorldArrays | None = None, within: float = 0.0
) -> list[ContactSpan]:
    """When pairs are nearer than `within` [m] at samples t (N,), q (N, nq), in the order of their beginnings."""
    times, near = array("t", t, (None,)), number("within", within, "m")
    x = array("q", q, (len(times), collision.model.nq))
    close = np.flatnonzero(~(collision.clearance(x, world) > near)) if len(x) else np.zeros(0, int)
    spans = []
    for pair, distances in collision.near_pairs(x[close], world, near).items():
        here = np.flatnonzero(distances < near).tolist()
        spans += _join(pair, [(int(close[k]), float(distances[k])) for k in here], times)
    return sorted(spans, key=lambda span: (span.start, span.distance))


def _join(pair: tuple[str, str], found: Sequence[tuple[int, float]], t: Array) -> list[ContactSpan]:
    """Neighboring samples as one span."""
    breaks = [0, *(j for j in range(1, len(found)) if found[j][0] != found[j - 1][0] + 1), len(found)]
    spans = []
    for a, b in pairwise(breaks):
        k, d = min(found[a:b], key=lambda row: row[1])
        spans.append(ContactSpan(*pair, float(t[found[a][0]]), float(t[found[b - 1][0]]), float(t[k]), d))
    return spans


def sample_motion(motion: Motion, dt: float) -> tuple[Array, Array]:
    """(t, q) of a motion with an end, at equal steps of at most dt [s]."""
    step = number("dt", dt, "s", above=0.0)
    if not np.isfinite(motion.duration):
        raise InputError(
            "missing",
            "duration",
            problem="the motion has no end",
            remedy="Make it with a duration, for example that of a period.",
        )
    count = int(np.ceil(motion.duration / step)) + 1
    if count > MAX_STEPS:
        raise InputError(
            "too-large",
            "dt",
            step,
            problem=f"steps of {step:g} s divide this motion into {count:,}, more than {MAX_STEPS:,}",
            remedy="Use a longer `dt`.",
        )
    t = np.linspace(0.0, motion.duration, max(count, 2))
    return t, motion(t)[0]


def contact_spans(
    of: Collision | Shaped,
    motion: Motion | Sampled,
    world: World | WorldArrays | None = None,
    *,
    within: float = 0.0,
    dt: float = 0.01,
) -> list[ContactSpan]:
    """When which links touch each other or an obstacle, or are nearer than `within` [m]: of a run, at its rows, or of a
    trajectory, every `dt` [s]."""
    if isinstance(motion, Motion):
        t, q = sample_motion(motion, dt)
    elif isinstance(motion, Sampled):
        t, q = motion.t, motion.q
    else:
        raise InputError("wrong-type", "motion", motion, expected="a Run or a Trajectory")
    return find_spans(read_collision(of), t, q, world, within)


def certify_motion(
    of: Collision | Shaped,
    motion: Motion,
    world: World | WorldArrays | None = None,
    *,
    clear: float = 0.0,
    dt: float = 0.01,
) -> EdgeCertificate:
    """Whether a trajectory is free at all times: of the straight edges between samples `dt` [s] apart, and of all that
    is no farther from them than the motion strays, which follows from what it is made of. Where it does not know that,
    dt²/8 of its largest acceleration, as `limits()` have it, is believed: if these were sampled, so is the verdict."""
    if not isinstance(motion, Motion):
        raise InputError(
            "wrong-type", "motion", motion, expected="a trajectory of the joints (a Run has contact_spans)"
        )
    t, q = sample_motion(motion, dt)
    off, proved = motion.stray(t[:-1], t[1:]) if isinstance(motion, Bounded) else None, True
    if off is None:
        limits = motion.limits()
        off, proved = np.diff(t)[:, None] ** 2 / 8.0 * np.asarray(limits.acceleration, float), limits.how != "sampled"
    if not np.isfinite(off).all():
        raise InputError(
            "not-proved",
            "motion",
            problem="the acceleration of the motion has no known bound, so nothing is certain between samples",
        )
    return replace(certify_path(of, q, world, clear=clear, stray=off), proved=proved, times=t)
