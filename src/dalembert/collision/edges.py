"""Edges that are proved free of contact, between samples too: conservative advancement with bisection.

At a state where every pair is d_k apart, an edge is free as far on either side as no pair can come nearer by d_k: s_k
being how fast it can along a piece, min d_k / s_k of it around its middle is free; what is left on either side is
looked at in turn. s_k is the lesser of two bounds: that for every state (`motion`), and the speed at the middle with
what it can change by along the piece. What the machine rounds is added to every motion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array, number, switch
from dalembert.caching import cached_property
from dalembert.collision.clearance import LIMIT, ROUNDING, Collision, Contact
from dalembert.collision.of_robot import Shaped, read_collision
from dalembert.collision.world import World, WorldArrays
from dalembert.errors import InputError

Array = NDArray[np.float64]
MAX_EDGE = 1e3  # [m, rad]
UNIT = 2.0**-24  # of float32
STEPS = (
    64  # roundings, relative to the sizes of what goes in, of the distance of a sphere from an obstacle: 20, and room
)
RESOLUTION = 1e-4  # [m] pieces along which nothing moves farther are not cut again
OUTWARD = 1 + 1e-6  # on motions: their own rounding, in float32 too
STILL = 1e-12  # [m] what nothing moves less than along an edge, so that one may divide by it
MANY = 32  # edges, for which speeds in single states are worth a kernel of their own
BATCH = 50_000  # pieces at a time


@dataclass(frozen=True, eq=False)
class EdgeCertificate:
    """What is known of edges: of each whether it is proved `free`, with at least `clear` [m] everywhere between; if
    not, `place`, the fraction of the way where that was not so (NaN where free), and the contact there. `looks` is how
    many states were looked at, `tight` the fraction of the way where a look showed least around it to be free.
    `touches`: whether the distance at the place is less than asked for, or only so near to it that pieces of RESOLUTION
    did not decide. `proved` is False where it hangs on what samples showed of a motion: that may be wrong between.
    `times` (E + 1,) [s], of a motion: when its edges begin and end."""

    free: NDArray[np.bool_]
    touches: NDArray[np.bool_]
    place: Array
    tight: Array
    looks: NDArray[np.int64]
    clear: float
    margin: float
    of: Collision
    world: WorldArrays
    start: Array  # (E, n)
    way: Array  # (E, n): to the ends
    proved: bool = True
    times: Array | None = None

    @property
    def states(self) -> Array:
        """(E, n): at the places."""
        return self.start + self.place[:, None] * self.way

    @cached_property
    def seen(self) -> Array:
        """(E,): the least distance [m] at the ends, where it was tight, and at the place."""
        t = np.stack((np.zeros_like(self.tight), np.ones_like(self.tight), self.tight))
        t = np.concatenate((t, np.where(self.free, self.tight, self.place)[None]))
        return self.of.clearance(self.start + t[..., None] * self.way, self.world).min(axis=0)

    def __bool__(self) -> bool:
        return bool(self.free.all())

    def contact(self, edge: int | None = None) -> Contact | None:
        """Who is nearest to whom at the place of an edge that is not free; of the first such edge, if none is named."""
        k = edge if edge is not None else int(np.argmin(self.free))
        return None if self.free[k] else self.of.distances(self.states[k], self.world).contact()

    def __str__(self) -> str:
        total = int(self.looks.sum())
        if not len(self.free):
            return "there are no edges to look at"
        if self:
            least = (
                f"at least {self.clear:g} m everywhere, {self.seen.min(initial=np.inf):.3g} m at the places looked at"
            )
            how = "proved" if self.proved else "no proof, since accelerations were sampled"
            return f"free, {how}: {least} ({total} looks; rounding of {self.margin:.2g} m included)"
        k = int(np.flatnonzero(~self.free)[0])
        where = f"{f'edge {k}, ' if len(self.free) > 1 else ''}{100 * self.place[k]:.3g} % of the way"
        if self.times is not None:
            t0, t1 = self.times[k : k + 2].tolist()
            where = f"at {t0 + self.place[k] * (t1 - t0):.4g} s"
        wanted = f"{self.clear:g} m clear" if self.clear else "free"
        verdict = f"not {wanted}" if self.touches[k] else f"not proved {wanted} at a resolution of {RESOLUTION:g} m"
        return f"{verdict}: {where}: {self.contact(k)}"


def certify_edge(
    of: Collision | Shaped,
    q0: ArrayLike,
    q1: ArrayLike,
    world: World | WorldArrays | None = None,
    *,
    clear: float = 0.0,
    stray: ArrayLike = 0.0,
    float32: bool = False,
) -> EdgeCertificate:
    """Whether the straight edges from q0 to q1, (n,) or (E, n), are proved free of contact, between samples too, with
    `clear` [m] to spare: of a robot, or of spheres (`collision()`). Motions that stray from them by up to `stray` (n,)
    or (E, n) are free too. With `float32` distances are computed so, and the margin that makes a "free" of theirs sound
    is added."""
    collision = read_collision(of)
    n = collision.model.n
    a, b = (np.atleast_2d(array(name, q, (n,), (None, n))) for name, q in (("q0", q0), ("q1", q1)))
    if a.shape != b.shape:
        raise InputError(
            "wrong-shape", "q1", problem=f"`q0` has shape {a.shape} and `q1` {b.shape}; each start needs one end"
        )
    off = np.broadcast_to(array("stray", stray, (), (n,), a.shape, least=0.0), a.shape)
    wanted = number("clear", clear, "m", least=0.0)
    tables = collision.distances(a[:0], world).world
    extent = np.maximum(np.abs(a), np.abs(b)).max(axis=0, initial=0.0) + off.max(axis=0, initial=0.0)
    if not (extent <= MAX_EDGE).all():
        raise InputError(
            "too-large",
            "q1",
            extent.max(),
            problem=f"an edge reaches {extent.max():g} rad or m, more than {MAX_EDGE:g}",
        )
    beyond = np.zeros(len(a), bool)  # of the limits, where links may meet that never do within
    if len(collision.spheres.apart):
        beyond = np.any([collision.outside(x) for x in (a - off, a + off, b - off, b + off)], axis=0)
    if beyond.any() and not beyond.all():
        parts = [
            certify_edge(collision, a[k], b[k], world, clear=clear, stray=off[k], float32=float32)
            for k in (~beyond, beyond)
        ]
        return _merge(beyond, *parts)
    spheres = collision.beyond if beyond.any() else collision
    margin = float32_margin(spheres, tables, extent) if switch("float32", float32) else ROUNDING
    found = _Search(spheres, a, b, tables, off, wanted, margin, extent, np.float32 if float32 else np.float64).run()
    return replace(found, of=collision)  # which knows of the limits itself


def _merge(second: NDArray[np.bool_], one: EdgeCertificate, other: EdgeCertificate) -> EdgeCertificate:
    """Of all edges, in their order."""
    words: dict[str, Any] = {"margin": max(one.margin, other.margin)}
    for name in ("free", "touches", "place", "tight", "looks", "start", "way"):
        x, y = getattr(one, name), getattr(other, name)
        words[name] = np.empty((len(second), *x.shape[1:]), x.dtype)
        words[name][~second], words[name][second] = x, y
    return replace(one, **words)


def certify_path(
    of: Collision | Shaped,
    q: ArrayLike,
    world: World | WorldArrays | None = None,
    *,
    clear: float = 0.0,
    stray: ArrayLike = 0.0,
    float32: bool = False,
) -> EdgeCertificate:
    """`certify_edge` of the edges between waypoints (K, n), K ≥ 2."""
    collision = read_collision(of)
    points = array("q", q, (None, collision.model.n))
    if len(points) < 2:
        raise InputError("too-few", "q", expected="at least two waypoints")
    return certify_edge(collision, points[:-1], points[1:], world, clear=clear, stray=stray, float32=float32)


class _Search:
    """Pieces of edges, by their middles t and half lengths h in parts of the edge, that are still to be looked at."""

    def __init__(
        self,
        collision: Collision,
        start: Array,
        end: Array,
        world: WorldArrays,
        stray: Array,
        clear: float,
        margin: float,
        extent: Array,
        dtype: type[np.floating],
    ) -> None:
        self.of, self.start, self.way, self.world = collision, start, end - start, world
        self.clear, self.margin, self.dtype = clear, margin, dtype
        first, second = collision.motion(extent)
        # Strays, and a double's distance from the float32 or double that is used for it.
        rounded = np.maximum(np.abs(start), np.abs(end)) * (UNIT if dtype is np.float32 else 2.0**-51)
        self.aside = ((stray + rounded) @ first.T + (clear + margin)) * OUTWARD
        rate = np.abs(self.way)
        self.speed = np.maximum(rate @ first.T * OUTWARD, STILL)
        self.bend = None
        if len(start) >= MANY:
            self.bend = (rate[:, :, None] * rate[:, None]).reshape(len(rate), -1) @ second.reshape(len(second), -1).T
        edges = len(start)
        self.free, self.touches = np.ones(edges, bool), np.zeros(edges, bool)
        self.place, self.tight = np.full(edges, np.nan), np.full(edges, 0.5)
        self.least, self.looks = np.full(edges, np.inf), np.zeros(edges, np.int64)

    def run(self) -> EdgeCertificate:
        edges = len(self.start)
        pieces = [(np.arange(edges), np.full(edges, 0.5), np.full(edges, 0.5))]
        while pieces:
            edge, t, h = pieces.pop()
            keep = self.free[edge]
            edge, t, h = edge[keep], t[keep], h[keep]
            for k in range(0, len(edge), BATCH):
                pieces.append(self._look(edge[k : k + BATCH], t[k : k + BATCH], h[k : k + BATCH]))
            pieces = [piece for piece in pieces if len(piece[0])]
        words = (self.free, self.touches, self.place, self.tight, self.looks, self.clear, self.margin)
        return EdgeCertificate(*words, self.of, self.world, self.start, self.way)

    def _look(self, edge: NDArray[np.int64], t: Array, h: Array) -> tuple[NDArray[np.int64], Array, Array]:
        """The pieces that are left of these."""
        self.looks += np.bincount(edge, minlength=len(self.looks))
        way = self.way[edge]
        x = self.start[edge] + t[:, None] * way
        speed = self.speed[edge]
        if self.bend is not None:
            here = np.asarray(self.of.speeds(x, way)) + (0.5 * h)[:, None] * self.bend[edge]
            speed = np.minimum(speed, here * OUTWARD + STILL)
        change = np.stack((self.aside[edge], 1.0 / (h[:, None] * speed)), 1)
        part = self.of._search(x.astype(self.dtype), self.world, 1.0, change)[0].min(axis=1)  # of h, that is free
        doubt = ~(part > 1.0)
        edge, t, h, part, speed = edge[doubt], t[doubt], h[doubt], part[doubt], speed[doubt]
        order = np.argsort(-part * h, kind="stable")  # so that the least of an edge is written last
        nearer = order[(part * h < self.least[edge])[order]]
        self.least[edge[nearer]], self.tight[edge[nearer]] = (part * h)[nearer], t[nearer]
        wrong = ~(part > 0)
        small = (h[:, None] * speed).max(axis=1, initial=0.0) < RESOLUTION
        for k in np.flatnonzero(wrong | small)[::-1]:  # so that the first of an edge stays
            e = edge[k]
            if wrong[k] or not self.touches[e]:
                self.free[e], self.place[e], self.touches[e] = False, t[k], bool(wrong[k])
        on = ~(wrong | small)
        edge, t, h, part = edge[on], t[on], h[on], part[on]
        sure = h * part
        rest = 0.5 * (h - sure)
        return np.tile(edge, 2), np.concatenate((t - sure - rest, t + sure + rest)), np.tile(rest * (1 + 1e-12), 2)


def float32_margin(collision: Collision, world: WorldArrays, extent: Array) -> float:
    """How much larger than the exact distance [m] one computed in float32 may be, for |q| ≤ extent: the proved error of
    the bodies' frames (`Kernel.float32_error`), carried to the centers of the spheres, and STEPS roundings of all sizes
    that enter the distances."""
    usual = _usual_extent(collision)
    extent = usual if (extent <= usual).all() else extent  # proved once for all states within the limits
    key = tuple(extent.tolist())
    if key not in collision.frame_errors:
        collision.frame_errors[key] = collision.frames.float32_error({"q": (-extent, extent)}, boxes=200).bound
    bound = collision.frame_errors[key]
    solid = collision.spheres.pieces
    corners = np.repeat(solid.link, np.diff(solid.first))  # the coarse sphere of each corner
    place = collision.spheres.coarse.body[corners]
    frame = np.where(place < 0, len(collision.model.bodies), place)
    corner_rows = np.column_stack((frame, solid.corners, np.repeat(solid.radius, np.diff(solid.first))))
    table = np.concatenate((collision.balls, collision.clusters[:, :5], collision.groups[:, :5], corner_rows))
    c = np.abs(table[:, 1:4])
    lengths = collision.motion(extent)[0].max() + np.linalg.norm(c, axis=1).max() + table[:, 4].max()
    base = max((float(np.linalg.norm(body.placement.p)) for body in collision.model.bodies), default=0.0)
    size = 2.0 * (float(lengths) + base)
    off = bound[table[:, 0].astype(int)]  # (N, 12), the base's last
    turned = np.einsum("sij,sj->si", off[:, :9].reshape(-1, 3, 3), c) + off[:, 9:]
    centers = float(np.linalg.norm(turned, axis=1).max()) + 8 * UNIT * size
    if len(solid):  # the second link is carried into the frame of the first, whose rotation turns what is between
        centers += size * float(np.linalg.norm(off[:, :9], axis=1).max()) + 8 * UNIT * size
    return 2.0 * centers + STEPS * UNIT * (2.0 * size + _reach(world))


def sound_clearance(collision: Collision, world: WorldArrays) -> Callable[..., Array]:
    """clearance(q (B, n), limit) → (B,), up to a limit [m] (infinite beyond it), in float32, which is quicker, less the
    margin that makes it no larger than the exact one of the spheres."""
    extent = _usual_extent(collision)
    aside = float((collision.motion(extent)[0] @ (extent * UNIT)).max()) * 2.0
    margin = float32_margin(collision, world, extent) + aside

    def clearance(q: Array, limit: float = LIMIT) -> Array:
        if not (np.abs(q) <= extent).all():
            return collision.distances(q, world, limit + ROUNDING, both=False).least - ROUNDING
        return collision.distances(q.astype(np.float32), world, limit + margin, both=False).least - margin

    return clearance


def _usual_extent(collision: Collision) -> Array:
    """How far from zero joints are looked at, (n,): a bit beyond their limits, or a turn."""
    each = [(c.lower, c.upper) for c in collision.model.coordinates]
    return np.array([1e-3 + (max(abs(a), abs(b)) if np.isfinite(b - a) else 2.0 * np.pi) for a, b in each])


def _reach(world: WorldArrays) -> float:
    """The sizes of obstacles and how far away they are, at most; rows that pad arrays do not count."""
    return max((float(np.abs(t[np.abs(t).max(axis=1) < 1e6]).max(initial=0.0)) for t in world.tables()), default=0.0)
