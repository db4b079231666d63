"""How near a robot is to itself and to a world: least distances over batches of states, their gradients, contacts."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence, Sized
from copy import copy
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.algorithms.joints import rates, twists_at
from dalembert.algorithms.kinematics import world_poses
from dalembert.arguments import array, number
from dalembert.caching import cached_property
from dalembert.collision.motion import motion_bounds
from dalembert.collision.solids import SOLIDS
from dalembert.collision.spheres import Indices, SphereModel, Spheres, enclosing_spheres
from dalembert.collision.world import COLUMNS, World, WorldArrays
from dalembert.compile import Kernel, compile_function, separation
from dalembert.compile.kinds import DOUBLE, SINGLE
from dalembert.compile.nearest import Nearest, PieceTables
from dalembert.errors import InputError
from dalembert.kernels import check_quaternions
from dalembert.model import Model
from dalembert.scalar import Scalar, sqrt
from dalembert.spatial.vector import ZERO, Vector, add, cross, dot, matvec, scale, sub

Array = NDArray[np.float64]
LIMIT = 1e5  # [m] what is farther away counts as infinitely far
# Doubles: distances of at most 1e3 m, of a few thousand steps that each round by 2⁻⁵³ of that at most.
ROUNDING = 1e-9  # [m]
AT_REST = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
NOTHING = World()
CLUSTER = 4  # spheres
MARGIN = 1e-6  # [m] by which more is looked for than what is asked for, so that nothing at the limit is missed
_Near = tuple[Array, list[tuple[str, str]]]  # distances (B,), infinite where nothing is near, and who is
BEYOND = 1e-6  # [rad, m] past a limit, in which what was proved within the limits, with a millimeter to spare, holds


@dataclass(frozen=True)
class Contact:
    """Two links, or a link and an obstacle, and how far apart they are [m]; negative: how deep spheres overlap."""

    first: str
    second: str
    distance: float

    def __str__(self) -> str:
        word = "apart" if self.distance >= 0 else "deep"
        return f"{self.first} and {self.second}, {abs(self.distance):.3g} m {word}"


@dataclass(frozen=True, eq=False)
class Distances:
    """Least distances over states (...): `own` between links, `met` to obstacles (∞ where there are none) [m]. `pair`
    (..., 2) are the two links (coarse spheres), and `balls` the two fine spheres where these were compared; `place` is
    an obstacle's row and a fine sphere. −1 where there are none."""

    of: Collision
    world: WorldArrays
    own: Array
    met: Array
    pair: Indices
    balls: Indices
    place: Indices

    @property
    def least(self) -> Array:
        """The lesser of both."""
        return np.minimum(self.own, self.met)

    def contact(self, *state: int) -> Contact | None:
        """Who is nearest to whom in a state; None where nothing is near."""
        own, met = float(self.own[state]), float(self.met[state])
        if not math.isfinite(min(own, met)):
            return None
        if own <= met:
            a, b = self.pair[state]
            link = self.of.spheres.coarse.link
            return Contact(link[a], link[b], own)
        o, a = self.place[state]
        return Contact(self.of.spheres.fine.link[a], self.of.obstacle_names(self.world)[o], met)


class Collision:
    """A robot as spheres, with compiled least distances, never larger than those of the shapes. Links at rest, which
    may stand on an obstacle, are compared with moving links, and not with the world; nor are those that are named as
    `standing`."""

    def __init__(self, model: Model, spheres: SphereModel, standing: Container[str] = ()) -> None:
        self.model, self.spheres, self.standing = model, spheres, standing
        self.grounded = np.array(
            [b < 0 or link in standing for b, link in zip(spheres.coarse.body, spheres.coarse.link, strict=True)], bool
        )
        # The machine's order: groups that are compared with obstacles first, balls by groups and their clusters.
        self.group_order = np.argsort(self.grounded, kind="stable")
        rank = np.argsort(self.group_order)
        own = [cluster(np.flatnonzero(spheres.parent == g), spheres.fine.center) for g in self.group_order]
        few = [rows for group in own for rows in group]
        self._order = np.concatenate((*few, np.zeros(0, np.int64)))
        fine, coarse = spheres.fine.take(self._order), spheres.coarse.take(self.group_order)
        self.balls, ends = self._table(fine), _ends(few)
        around = enclosing_spheres([self.balls[a:b, 1:] for a, b in ends])
        self.clusters: Array = np.column_stack((self.balls[ends[:, 0], :1], *around, ends))
        parts = _ends(own)
        balls = np.append(ends[:, 0], len(fine))[parts]
        self.groups = np.column_stack((self._table(coarse), balls, parts))
        self.pairs = rank[spheres.pairs]
        own_pieces = spheres.pieces
        of = [own_pieces.ends(g) for g in range(len(coarse))]
        solid = [first < last for first, last in of]
        self._solid = [int(rank[g]) for g in range(len(coarse)) if solid[g]]
        both = [[*of[a], *of[b]] if solid[a] and solid[b] else [0] * 4 for a, b in spheres.pairs.tolist()]
        numbers = np.column_stack((own_pieces.balls, own_pieces.radius))
        together = np.array(both, np.int64).reshape(-1, 4)
        self.pieces = PieceTables(numbers, own_pieces.corners, own_pieces.first, together)
        self.moving = int((~self.grounded).sum())
        self.frame_errors: dict[tuple[float, ...], Array] = {}  # in float32, by how far joints go

    def _table(self, spheres: Spheres) -> Array:
        """(N, 5): frame, the base's last, center and radius."""
        frame = np.where(spheres.body < 0, len(self.model.bodies), spheres.body)
        return np.column_stack((frame, spheres.center, spheres.radius))

    def __repr__(self) -> str:
        s = self.spheres
        counts = f"{len(s.coarse)} links in {len(s.fine)} spheres, {len(s.pairs)} pairs of links that may meet"
        return f"<Collision of {self.model.name!r}: {counts}, overestimate {s.overestimate:.3g} m>"

    # ---------------------------------------------------------------------------------------------------- kernels
    @cached_property
    def nearest(self) -> Nearest:
        """The compiled loop."""
        solids = tuple((columns, _solid(kind).program) for kind, columns in COLUMNS.items())
        return Nearest(self.frames.program, self.model.nq, len(self.model.bodies), solids)

    @cached_property
    def frames(self) -> Kernel:
        """Rotation, row by row, and origin of every body, the base last: q (nq) → (bodies + 1, 12)."""
        model = self.model

        def place(q: Sequence[Scalar]) -> list[list[Scalar]]:
            T = [T for _, T in sorted(world_poses(model, q).items())]
            return [*([*t.R[0], *t.R[1], *t.R[2], *t.p] for t in T), AT_REST]

        return compile_function(place, [(model.nq,)], [(len(model.bodies) + 1, 12)], "frames", arguments=("q",))

    @cached_property
    def _twists(self) -> Kernel:
        """(v, ω) of every body's joint at unit rates, at the base frame's origin: q (nq) → (columns, 6)."""
        model = self.model

        def twists(q: Sequence[Scalar]) -> list[list[Scalar]]:
            T = world_poses(model, q)
            found = [V for k, body in enumerate(model.bodies) for V in twists_at(body, T[k], ZERO)]
            return [[*V.v, *V.w] for V in found]

        return compile_function(twists, [(model.nq,)], [(len(self._gather), 6)], "twists", arguments=("q",))

    # -------------------------------------------------------------------------------------------------- distances
    def distances(
        self, q: ArrayLike, world: World | WorldArrays | None = None, limit: float = LIMIT, both: bool = True
    ) -> Distances:
        """Least distances at states (..., nq), to `limit` [m]: what is farther away counts as infinitely far; so does,
        without `both`, that between links where an obstacle is nearer. In float32 where q is float32."""
        x, tables = self.states(q), _arrays(world)
        flat = x.reshape(-1, self.model.nq)
        found, which = self._search(flat, tables, limit, both=both)
        if len(self.spheres.apart) and (out := self.outside(flat)).any():
            found[out], which[out] = self.beyond._search(flat[out], tables, limit, both=both)
        own, met, pair, place = (a.reshape(x.shape[:-1]) for a in (*found.T, *which.T))
        count = len(self.balls)
        balls, places = (np.stack(np.divmod(np.maximum(a, 0), count), -1) for a in (pair, place))
        balls, places[..., 1] = self._order[balls], self._order[places[..., 1]]
        balls[pair < 0] = places[place < 0] = -1
        links = np.where(pair[..., None] >= 0, self.spheres.parent[balls], -1)
        links[pair < -1] = np.concatenate((self.spheres.pairs, self.spheres.apart))[-2 - pair[pair < -1]]
        return Distances(self, tables, own, met, links, balls, places)

    @cached_property
    def beyond(self) -> Collision:
        """The same with the pairs that never meet within the limits: for states that are not."""
        s = self.spheres
        every = replace(s, pairs=np.concatenate((s.pairs, s.apart)), apart=s.apart[:0])
        return Collision(self.model, every, self.standing)

    def outside(self, x: NDArray[np.floating]) -> NDArray[np.bool_]:
        """(B,): which states (B, n) are beyond a limit, where links may meet that never do within them."""
        low, high = self._limits
        return np.asarray(((x < low) | (x > high)).any(axis=1))

    @cached_property
    def _limits(self) -> tuple[Array, Array]:
        each = [(c.lower, c.upper) for c in self.model.coordinates for _ in range(c.joint.nq)]
        low, high = np.array(each, float).reshape(-1, 2).T
        return low - BEYOND, high + BEYOND

    def _search(
        self,
        x: NDArray[np.floating],
        world: WorldArrays,
        limit: float = LIMIT,
        change: Array | None = None,
        both: bool = False,
    ) -> tuple[Array, Indices]:
        """What `Nearest` gives for states (B, n); infinite where there is nothing nearer than the limit, NaN where a
        state is none."""
        sane = np.abs(x) <= (SINGLE if x.dtype == np.float32 else DOUBLE).largest_angle
        with np.errstate(invalid="ignore"):  # rows that are no states are computed too, and then said to be none
            own = (self.balls, self.clusters, self.groups, self.pairs)
            found, which = self.nearest(
                x, *own, world.tables(), min(limit, LIMIT), self.moving, change, both, self.pieces
            )
        found = found.astype(np.float64)
        found[which == -1] = np.inf
        found[~sane.all(axis=1)] = np.nan
        return found, which

    def clearance(self, q: ArrayLike, world: World | WorldArrays | None = None) -> Array:
        """Least distance between links that may meet, and to the obstacles [m].  (...).  Negative: they may touch."""
        return self.distances(q, world, both=False).least

    def gradient(self, q: ArrayLike, world: World | WorldArrays | None = None) -> tuple[Array, Array]:
        """(clearance (...), its gradient by q (..., n) [m per rad or m]): n · (J_a − J_b) of the nearest points, n the
        unit vector between them. Where several are equally near, that of one of them; 0 where nothing is near. Of a
        robot on a free base: its slope along velocities v, (..., nv)."""
        x = self.states(q)
        found = self.distances(x, world, both=False)
        flat = x.reshape(-1, self.model.nq).astype(np.float64)
        own = (found.own <= found.met).ravel()
        frames, slope = np.asarray(self.frames(flat)), np.zeros((len(flat), self.model.nv))
        pair, balls, place = (a.reshape(-1, 2) for a in (found.pair, found.balls, found.place))
        twists, bodies = np.asarray(self._twists(flat)).reshape(len(flat), -1, 6), self.spheres.coarse.body
        for rows, points in (
            (np.flatnonzero(own & (balls[:, 0] >= 0)), partial(self._between_balls, balls)),
            (np.flatnonzero(own & (pair[:, 0] >= 0) & (balls[:, 0] < 0)), partial(self._between_pieces, pair)),
        ):
            if len(rows):
                n, a, b = points(frames, rows)
                i, j = bodies[pair[rows]].T
                slope[rows] = self._along(twists[rows], i, a, n) - self._along(twists[rows], j, b, n)
        rows = np.flatnonzero(~own & (place[:, 0] >= 0))
        if len(rows):
            o, i = place[rows].T
            x_i = self._center(frames, rows, i)
            n = _normals(found.world, o, x_i)
            slope[rows] = self._along(twists[rows], self.spheres.fine.body[i], x_i, n)
        least = found.least
        slope[np.isnan(least).ravel()] = np.nan
        return least, slope.reshape(*x.shape[:-1], self.model.nv)

    def _center(self, frames: Array, rows: Indices, sphere: Indices) -> Array:
        """(K, 3): of one fine sphere in each of these states."""
        T, fine = frames[rows, self.spheres.fine.body[sphere]], self.spheres.fine
        return np.asarray(np.einsum("kij,kj->ki", T[:, :9].reshape(-1, 3, 3), fine.center[sphere]) + T[:, 9:])

    def _between_balls(self, balls: Indices, frames: Array, rows: Indices) -> tuple[Array, Array, Array]:
        """The unit vector between the fine spheres of these states, and their centers."""
        i, j = balls[rows].T
        a, b = self._center(frames, rows, i), self._center(frames, rows, j)
        apart = np.linalg.norm(a - b, axis=1, keepdims=True)
        return np.divide(a - b, apart, out=np.zeros_like(a), where=apart > 0), a, b

    def _between_pieces(self, pair: Indices, frames: Array, rows: Indices) -> tuple[Array, Array, Array]:
        """The unit vector between the nearest points of the pieces of two links in these states, and these points."""
        links = pair[rows]
        poses = frames[rows[:, None], self.spheres.coarse.body[links]]
        ends = np.array([self.spheres.pieces.ends(g) for g in range(len(self.groups))])[links].reshape(-1, 4)
        found = separation.witness(DOUBLE, self.pieces.tables(DOUBLE), ends, poses)
        R, p = poses[:, 0, :9].reshape(-1, 3, 3), poses[:, 0, 9:]
        n, a, b = (np.einsum("kij,kj->ki", R, found[:, k : k + 3]) for k in (1, 4, 7))
        return n, a + p, b + p

    def _along(self, twists: Array, body: Indices, x: Array, n: Array) -> Array:
        """(B, n): how fast points x on bodies move along n, per unit of each coordinate."""
        speed = np.einsum("bi,bji->bj", n, twists[..., :3]) + np.einsum("bi,bji->bj", np.cross(x, n), twists[..., 3:])
        return np.asarray(np.where(self._carried[body], speed, 0.0) @ self._gather)

    @cached_property
    def _carried(self) -> NDArray[np.bool_]:
        """(bodies + 1, columns): whether a joint moves a body; the base last, so that −1 finds it."""
        count, columns = len(self.model.bodies), self.model.columns
        found = np.zeros((count + 1, len(self._gather)), bool)
        for k in range(count):
            found[k, [at for j in self.model.path(k) for at in columns[j]]] = True
        return found

    @cached_property
    def _gather(self) -> Array:
        """(columns, nv): of the rates of all joints by v."""
        unit = np.eye(self.model.nv)
        return np.array([rates(self.model, v.tolist()) for v in unit], float).T.reshape(-1, self.model.nv)

    def centers(self, q: Array) -> Array:
        """Centers of the fine spheres in the base frame [m], (..., N, 3)."""
        T, fine = np.asarray(self.frames(q)), self.spheres.fine
        R, p = T[..., :9].reshape(*T.shape[:-1], 3, 3)[..., fine.body, :, :], T[..., fine.body, 9:]
        return np.asarray(np.einsum("...sij,sj->...si", R, fine.center) + p)

    def contacts(self, q: ArrayLike, world: World | WorldArrays | None = None, within: float = 0.0) -> list[Contact]:
        """Every pair of links, and of a link and an obstacle, that is nearer than `within` [m] in one state (nq,), the
        deepest first. Links that were left out are not looked at (`spheres.pairs`)."""
        x = array("q", q, (self.model.nq,))
        found = self.near_pairs(x[None], world, within)
        return sorted((Contact(*pair, float(d[0])) for pair, d in found.items()), key=lambda c: c.distance)

    def near_pairs(
        self, q: ArrayLike, world: World | WorldArrays | None = None, within: float = 0.0
    ) -> dict[tuple[str, str], Array]:
        """Return the distances (B,) [m] of all pairs of links, and of a link and an obstacle, that are nearer than
        `within` [m] in some of the states (B, nq); infinite in states in which a pair is not."""
        x, tables, near = self.states(q), _arrays(world), number("within", within, "m")
        found: dict[tuple[str, str], Array] = {}
        out = self.outside(x) if len(self.spheres.apart) else np.zeros(len(x), bool)
        for of, rows in ((self, np.flatnonzero(~out)), (self.beyond if out.any() else self, np.flatnonzero(out))):
            link = of.spheres.coarse.link
            names = [(link[a], link[b]) for a, b in of.spheres.pairs]
            for pair, d in _take_apart(names, partial(of._links_among, x[rows], near)).items():
                found.setdefault(pair, np.full(len(x), np.inf))[rows] = d
        links = [self.spheres.coarse.link[g] for g in self.group_order[: self.moving]]
        for name in dict.fromkeys(self.obstacle_names(tables)):
            one = _obstacle(tables, name)
            pairs = [(link, name) for link in links]
            found |= _take_apart(pairs, partial(self._groups_among, x, near, one))
        return found

    def _links_among(self, x: NDArray[np.floating], near: float, some: list[int]) -> _Near:
        """The least distance of some of the pairs of links."""
        part = self._part(some)
        return _nearest_names(part.distances(x, None, max(near, 0.0) + MARGIN), near)

    def _groups_among(self, x: NDArray[np.floating], near: float, world: WorldArrays, some: list[int]) -> _Near:
        """The least distance of some of the links from the obstacles of a world."""
        part = self._part([])
        part.groups, part.moving = self.groups[some], len(some)
        return _nearest_names(part.distances(x, world, max(near, 0.0) + MARGIN), near)

    def _part(self, pairs: list[int]) -> Collision:
        """The same with some of the pairs of links, and the same compiled loop."""
        self.nearest, self.frames  # noqa: B018 - compiled here, once for all parts
        part, s = copy(self), self.spheres
        part.spheres, part.pairs = replace(s, pairs=s.pairs[pairs], apart=s.apart[:0]), self.pairs[pairs]
        part.pieces = self.pieces.compared(self.pieces.ends[pairs])
        return part

    @staticmethod
    def obstacle_names(world: WorldArrays) -> list[str]:
        """Of the rows of all tables, one after another."""
        return [name for kind in COLUMNS for name in world.names[kind]]

    def states(self, q: ArrayLike) -> NDArray[np.floating]:
        """States (..., nq) as numbers of their kind; NaN is let through, so that one bad state spoils no batch."""
        single = isinstance(q, np.ndarray) and q.dtype == np.float32
        x = array("q", q, (..., self.model.nq), meaning="one per joint", finite=False, nan=True)
        check_quaternions(self.model, "q", x)
        return x.astype(np.float32) if single else x

    # ---------------------------------------------------------------------------------------------------- bounds
    def motion(self, extent: Array) -> tuple[Array, Array]:
        """`motion_bounds` while |q| stays below `extent`, in the machine's order; made once where no joint slides."""
        if any(body.joint.travel for body in self.model.bodies):
            return self._bound(extent)
        return self._motion

    def _bound(self, extent: Array) -> tuple[Array, Array]:
        found = motion_bounds(self.model, self.spheres, extent)
        rows = np.concatenate((self.group_order, np.arange(len(self.groups), len(found[0]))))
        return found[0][rows], found[1][rows]

    @cached_property
    def _motion(self) -> tuple[Array, Array]:
        return self._bound(np.zeros(self.model.nv))

    @cached_property
    def speeds(self) -> Kernel:
        """q, q̇ (n) → (groups + pairs): how fast any ball of a group moves at most in that state, and any two of a pair
        to each other: |v + ω × c| of the group's center, and |ω| times the distance of the farthest ball, or corner of
        a piece, from it."""
        model = self.model
        own = [set(model.path(int(f))) if f < len(model.bodies) else set() for f in self.groups[:, 0]]
        ends = self.groups[:, 5:7].astype(int)
        middle = self.groups[:, 1:4]
        wide = [_spread(self.balls[a:b, 1:4], c) for c, (a, b) in zip(middle, ends, strict=True)]
        solid = {g: _spread(self.spheres.pieces.corners_of(int(self.group_order[g])), middle[g]) for g in self._solid}

        def speeds(q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[Scalar]:
            T = world_poses(model, q)
            parts = [twists_at(body, T[k], ZERO)[0] for k, body in enumerate(model.bodies)]
            rate = [body.multiplier * qd[body.coordinate] for body in model.bodies]

            def moving(g: int, moved: set[int], reach: float) -> tuple[Vector, Scalar]:
                """Velocity of the center of a group by some of its joints, and what points so far from it may have
                besides."""
                if not moved:
                    return ZERO, 0.0
                v: Vector = ZERO
                w: Vector = ZERO
                for j in sorted(moved):
                    v, w = add(v, scale(rate[j], parts[j].v)), add(w, scale(rate[j], parts[j].w))
                pose = T[int(self.groups[g, 0])]
                center = add(matvec(pose.R, self.groups[g, 1:4].tolist()), pose.p)
                return add(v, cross(w, center)), reach * sqrt(dot(w, w))

            found = []
            for g, joints in enumerate(own):
                v, more = moving(g, joints, wide[g])
                found.append(sqrt(dot(v, v)) + more)
            for a, b in self.pairs.tolist():
                reach = solid if a in solid and b in solid else wide
                (v, more), (u, other) = moving(a, own[a] - own[b], reach[a]), moving(b, own[b] - own[a], reach[b])
                u = sub(v, u)
                found.append(sqrt(dot(u, u)) + more + other)
            return found

        n, rows = model.n, len(self.groups) + len(self.pairs)
        return compile_function(speeds, [(n,), (n,)], [(rows,)], "speeds", arguments=("q", "qd"))


def _spread(x: Array, center: Array) -> float:
    """The distance of the farthest of points (k, 3) from a center."""
    return float(np.linalg.norm(x - center, axis=1).max())


def _nearest_names(found: Distances, near: float) -> _Near:
    here = found.least < near
    contacts = [found.contact(int(k)) for k in np.flatnonzero(here)]
    return np.where(here, found.least, np.inf), [(c.first, c.second) for c in contacts if c is not None]


def _take_apart(pairs: Sequence[tuple[str, str]], least: Callable[[list[int]], _Near]) -> dict[tuple[str, str], Array]:
    """The distances of each of these pairs that is near in some state. `least` gives those of the nearest of some, and
    which these are: they are asked for one by one, and left out when the others are asked for again."""
    left, found = dict.fromkeys(pairs), {}
    places = {pair: [k for k, own in enumerate(pairs) if own == pair] for pair in left}
    while left and (here := dict.fromkeys(least([k for pair in left for k in places[pair]])[1])):
        for pair in here:
            found[pair] = least(places[pair])[0]
            del left[pair]
    return found


def _obstacle(world: WorldArrays, name: str) -> WorldArrays:
    """The rows of one obstacle."""
    rows = {kind: [k for k, own in enumerate(world.names[kind]) if own == name] for kind in COLUMNS}
    tables = {kind: getattr(world, kind)[at] for kind, at in rows.items()}
    return WorldArrays(**tables, names={kind: (name,) * len(at) for kind, at in rows.items()})


def cluster(rows: Indices, x: Array) -> list[Indices]:
    """Rows of points x (N, 3) in clusters of at most CLUSTER: halves along the longest side, and halves of these."""
    if len(rows) <= CLUSTER:
        return [rows] if len(rows) else []
    order = rows[np.argsort(x[rows, np.ptp(x[rows], axis=0).argmax()], kind="stable")]
    half = len(rows) // 2
    return cluster(order[:half], x) + cluster(order[half:], x)


def _ends(parts: Sequence[Sized]) -> Indices:
    """(K, 2): where each part begins and ends, one after another."""
    after = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return np.stack((after - np.array([len(part) for part in parts], np.int64), after), -1).reshape(-1, 2)


def _solid(kind: str) -> Kernel:
    shapes = [(COLUMNS[kind],), (3,)]
    return compile_function(lambda row, x: SOLIDS[kind](row, x)[0], shapes, [()], kind, arguments=("row", "x"))


def _arrays(world: World | WorldArrays | None) -> WorldArrays:
    if world is None:
        return NOTHING.arrays()
    if isinstance(world, WorldArrays):
        return world
    if not isinstance(world, World):
        raise InputError("wrong-type", "world", world, expected="a World, such as World().floor(0.0).box(…)")
    return world.arrays()


def _normals(world: WorldArrays, obstacle: Indices, x: Array) -> Array:
    """The unit normals (B, 3) of the obstacles' surfaces nearest to points x (B, 3)."""
    n, first = np.zeros_like(x), 0
    for kind, table in zip(COLUMNS, world.tables(), strict=True):
        mine = (obstacle >= first) & (obstacle < first + len(table))
        if mine.any():
            rows = tuple(table[obstacle[mine] - first].T)
            n[mine] = np.stack(SOLIDS[kind](rows, tuple(x[mine].T))[1], -1)
        first += len(table)
    return n
