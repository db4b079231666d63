"""Which pairs of links are compared: all but those that are proved never to meet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dalembert.collision.clearance import LIMIT, NOTHING, ROUNDING, Collision
from dalembert.collision.spheres import SphereModel
from dalembert.model import Model
from dalembert.model.model import Coordinate

Array = NDArray[np.float64]
SAMPLES = 1_000  # random states: a pair that touches in one of them is not worth a proof
BOXES = 10_000  # for one pair, before it stays
NO_OBSTACLES = NOTHING.arrays().tables()
ONE_PAIR = np.array([[0, 1]])
CLEAR = 1e-3  # [m] what proves that a pair never meets


def settle_pairs(model: Model, spheres: SphereModel, seed: int = 0) -> SphereModel:
    """Return the same without the pairs that never meet within the joints' limits, by proof: these are `apart`."""
    search = _Pairs(Collision(model, spheres))
    few = search.draw(np.random.default_rng(seed), SAMPLES)
    never = np.zeros(len(spheres.pairs), bool)
    for k in range(len(never)):
        never[k] = (search.distance(k, few) > CLEAR).all() and search.never_meets(k)
    apart = np.concatenate((spheres.apart, spheres.pairs[never]))
    return replace(spheres, pairs=spheres.pairs[~never], apart=apart)


def pair_distances(collision: Collision, q: Array) -> Array:
    """(P, B): of every pair of links at states (B, n)."""
    search = _Pairs(collision)
    return np.array([search.distance(k, q) for k in range(len(collision.pairs))]).reshape(-1, len(q))


def _range(c: Coordinate) -> tuple[float, float]:
    """A joint's limits; half a turn, or a meter, to either side where it has none."""
    half = c.joint.half_range
    low = c.lower if np.isfinite(c.lower) else min(-half, c.upper - 2 * half)
    return low, c.upper if np.isfinite(c.upper) else max(half, low + 2 * half)


class _Pairs:
    """Distances of single pairs. Joints of several coordinates rest, since those that carry both links change nothing,
    and of what another moves nothing is proved."""

    def __init__(self, of: Collision) -> None:
        self.of, model = of, of.model
        self.kept: dict[int, tuple[Array, Array, Array]] = {}
        single = [c for c in model.coordinates if c.joint.nq == 1]
        self.low, self.high = np.array([_range(c) for c in single]).reshape(-1, 2).T
        self.places, self.columns = [c.position for c in single], [c.first for c in single]
        self.rest = np.array([x for c in model.coordinates for x in c.joint.neutral], float)
        self.bounded, extent = np.zeros(model.nv, bool), np.zeros(model.nv)
        for c in single:
            moved = [body for body in model.bodies if body.coordinate == c.first]
            comes_back = all(body.joint.periodic and float(body.multiplier).is_integer() for body in moved)
            endless = not np.isfinite(c.lower) and not np.isfinite(c.upper)
            self.bounded[c.first] = np.isfinite(c.upper - c.lower) or (comes_back and endless)
        extent[self.columns] = np.maximum(np.abs(self.low), np.abs(self.high))
        self.motion = of.motion(extent)[0][len(of.spheres.coarse) :]

    def states(self, x: Array) -> Array:
        """q (B, nq), the single joints being at x (B, k)."""
        q = np.tile(self.rest, (len(x), 1))
        q[:, self.places] = x
        return q

    def draw(self, rng: np.random.Generator, count: int) -> Array:
        q = self.states(rng.uniform(self.low, self.high, (count, len(self.low))))
        for at in self.of.model.quaternions:
            turn = rng.normal(size=(count, 4))
            q[:, at : at + 4] = turn / np.linalg.norm(turn, axis=1, keepdims=True)
        return q

    def distance(self, k: int, x: Array, grow: Array | None = None, limit: float = LIMIT) -> Array:
        """(B,) of pair k, less what it may come nearer."""
        more = None
        if grow is not None:
            more = np.tile([[0.0] * 3, [1.0] * 3], (len(x), 1, 1))  # of both groups, and of the pair
            more[:, 0, -1] = grow
        pieces = self.of.pieces.compared(self.of.pieces.ends[k : k + 1])
        found = self.of.nearest(x, *self.tables(k), ONE_PAIR, NO_OBSTACLES, limit, 0, more, True, pieces)[0]
        return np.asarray(found[:, 0], float)

    def tables(self, k: int) -> tuple[Array, Array, Array]:
        """Balls, clusters and groups of pair k alone: others are not placed in vain."""
        if k not in self.kept:
            balls, clusters = self.of.balls[:0], self.of.clusters[:0]
            groups: Array = self.of.groups[self.of.pairs[k]].copy()
            for group in groups:
                (a, b), (c, d) = group[5:7].astype(int), group[7:9].astype(int)
                part = self.of.clusters[c:d].copy()
                part[:, 5:7] += len(balls) - a
                group[5:7] += len(balls) - a
                group[7:9] += len(clusters) - c
                balls, clusters = np.concatenate((balls, self.of.balls[a:b])), np.concatenate((clusters, part))
            self.kept[k] = (balls, clusters, groups)
        return self.kept[k]

    def never_meets(self, k: int) -> bool:
        """Whether boxes around states prove that pair k is apart within the limits of all joints between."""
        if not self.bounded[self.motion[k] > 0].all():
            return False
        motion = self.motion[k][self.columns]
        middle = 0.5 * (self.low + self.high)
        x, half = middle[None], np.where(motion > 0, 0.5 * (self.high - self.low), 0.0)[None]
        looked = 0
        while len(x) and looked < BOXES:
            looked += len(x)
            left = self.distance(k, self.states(x), half @ motion, CLEAR) < CLEAR
            x, half = x[left], half[left]
            if len(x) and (self.distance(k, self.states(x)) <= CLEAR + ROUNDING).any():
                return False
            widest = (half * motion).argmax(axis=1)
            step = np.zeros_like(half)
            step[np.arange(len(x)), widest] = 0.5 * half[np.arange(len(x)), widest]
            x, half = np.concatenate((x - step, x + step)), np.concatenate((half - step, half - step))
        return not len(x)
