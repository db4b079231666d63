"""A robot's planner: its kinematics and the loops around them as machine code, its spheres and a world as data."""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.algorithms.kinematics import world_poses
from dalembert.caching import cached_property
from dalembert.collision import SphereModel, World, world
from dalembert.collision.spheres import enclosing_spheres
from dalembert.compile import compile_function, llvm, separation
from dalembert.compile.body import Emission, body, constants, sin_cos_function
from dalembert.compile.kinds import DOUBLE, SINGLE, Kind
from dalembert.compile.native import Module
from dalembert.compile.writer import Writer
from dalembert.model import Model
from dalembert.planning import loops

Array = NDArray[Any]

HEADER = (
    *("COARSE", "MOVING", "BLOCKS", "BOXES", "CYLINDERS", "PLANES", "COARSE_AT", "FINE_AT", "BOXES_AT"),
    *("CYLINDERS_AT", "PLANES_AT", "LIMITS_AT", "SQUARES_AT", "LINKS_AT", "PAIRS_AT", "SAMPLES_AT", "SWEEPS"),
    *("CENTERS", "FINES"),
    # Links with pieces: how many, and where their bodies, spheres, pairs and pieces are.
    *("SOLIDS", "SOLID_PAIRS", "SOLIDS_AT", "SOLID_SQUARES_AT", "PIECES_AT", "CORNERS_AT", "SOLID_BODIES_AT"),
    *("SOLID_PAIRS_AT", "PIECE_INDEX_AT", "SOLID_CENTERS", "SOLID_ROOM", "PAIR_SOLIDS_AT", "SOLID_FILTERED_AT"),
    "NEAR_SOLIDS",
    # Written by the loops: what touched last, and how much more often links touched each other than the world.
    *("LAST", "LAST_LINK", "LAST_OTHER", "LAST_PAIR", "OFTENER"),
)
TABLES = (  # in the order of the data
    *("COARSE_AT", "FINE_AT", "BOXES_AT", "CYLINDERS_AT", "PLANES_AT", "LIMITS_AT", "SQUARES_AT"),
    *("SOLIDS_AT", "SOLID_SQUARES_AT", "PIECES_AT", "CORNERS_AT"),
)
LAST = ("NOTHING", "BOX", "CYLINDER", "PLANE")
SETTINGS = ("RANGE", "FINER", "RADIUS", "ALPHA", "LEAST", "RATIO", "CHANGE")
INFO = (
    *("STATUS", "SIZE", "RAW", "ITERATIONS", "MOST", "ROOM", "LONGEST", "ROUNDS", "GOALS", "SKIPPED"),
    *("SIZES", "_", "MET", "_"),
)
SIZES, SKIPPED = INFO.index("SIZES"), INFO.index("SKIPPED")
FAR = 1e15
LONGEST = 4096  # states of a path
LINE = 64  # bytes of a cache line
PART = 9  # fine spheres under one coarse one, at most
LARGE = 14  # the same near the base, where less is met
WORTH = 0.4  # of its size, at which a part is cut into two
ROUNDS = 30  # steps toward the smallest sphere around a part
FEW_SPHERES = 150  # of two links with pieces: so many are compared first
STUCK = 1024  # iterations for each node: with fewer nodes, trees are tried from near what they have
SCALES = 4  # halvings of the range that is near
KEPT = 8  # settings whose arrays a scene keeps
HOW = Emission("poses", longest=3_000)


@dataclass(frozen=True)
class Settings:
    """How a search goes. `step`: the longest edge added to a tree; `resolution`: states checked per unit of joint
    motion; `radius`, `least_radius`, `shrink`: the domain of a node that failed, its least size, and its change;
    `balance`: how unequal the trees may grow; `rounds` of shortcuts and splines, which move corners by `change` at
    least; `iterations` and `nodes`, the most of each. Lengths are norms of joint motion [rad or m]."""

    step: float = 1.0
    resolution: float = 32.0
    radius: float = 4.0
    least_radius: float = 1.0
    shrink: float = 1e-4
    balance: float = 1.0
    rounds: int = 4
    change: float = 0.1
    iterations: int = 100_000
    nodes: int = 100_000

    def numbers(self) -> list[float]:
        return [self.step, self.resolution, self.radius, self.shrink, self.least_radius, self.balance, self.change]


@lru_cache
def alphas(n: int) -> tuple[int, ...]:
    """Steps of an additive sequence in n dimensions, as parts of 2⁶⁴: powers of 1/φ, φⁿ⁺¹ = φ + 1 (Roberts 2018)."""
    from fractions import Fraction

    x = Fraction(2)
    for _ in range(40):  # Newton, in numbers of 160 bits
        x = x - (x ** (n + 1) - x - 1) / ((n + 1) * x**n - 1)
        x = Fraction(round(x * 2**160), 2**160)
    return tuple(_signed(int(x ** -(j + 1) * 2**64)) for j in range(n))


def _signed(x: int) -> int:
    x %= 1 << 64
    return x - (1 << 64) if x >> 63 else x


class Machine:
    """The machine code of one robot: poses of the bodies that carry spheres, and the loops. Functions by name."""

    def __init__(self, model: Model, carriers: tuple[int, ...], kind: Kind) -> None:
        self.n, self.kind, self.carriers = model.n, kind, carriers
        self.width = llvm.width_for(llvm.host(), kind)
        W, n = self.width, model.n
        own = {f"{name}": k for k, name in enumerate(HEADER)}
        own |= (
            {name: k for k, name in enumerate(LAST)}
            | {name: k for k, name in enumerate(SETTINGS)}
            | {name: k for k, name in enumerate(INFO)}
        )
        states = (n + 12 * len(carriers)) * W
        self.numbers: dict[str, int | float] = {
            **separation.constants(W, kind),
            **own,
            "W": W,
            "WIDTH": float(W),
            "N": n,
            "FULL": (1 << W) - 1,
            "POSES": n * W,
            "STATES": states,
            "SCRATCH": states + -(-6 * n // W) * W,
            "FLAGS": states + -(-6 * n // W) * W + W,
            "FAR": FAR,
            "ULP": 2.0**-24,
            "STUCK": STUCK,
            "SCALES": SCALES,
        }
        program = compile_function(self._poses(model), [(n,)], [(12 * len(carriers),)], "poses").program
        key = (str(W), kind.name, repr(self.numbers), program.text, _source())
        target = replace(llvm.host(), opt=2)
        self.call = separation.linkable(kind)
        code = llvm.cached(lambda: llvm.object_code([self.text(program)], target, optimize=True), target, *key)
        self.code = llvm.Code(code, target, loops.EXPORTED)
        self.functions = {name: ctypes.CFUNCTYPE(None)(self.code.addresses[name]) for name in loops.EXPORTED}

    def _poses(self, model: Model) -> Any:
        def poses(q: Sequence[Any]) -> list[Any]:
            T = world_poses(model, q, [body for body in self.carriers if body >= 0])
            rows: list[Any] = []
            for carrier in self.carriers:
                if carrier < 0:
                    rows += [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
                else:
                    rows += [x for row in T[carrier].R for x in row] + list(T[carrier].p)
            return rows

        return poses

    def text(self, program: Any) -> str:
        W, kind = self.width, self.kind
        external = {"poses": ("Reals", "Reals", "None"), "poses_constants": ("Reals", "None")}
        external["separate"] = separation.TYPES
        return "\n".join(
            [
                *Writer(W, kind).declarations(),
                body(program, [0], W, kind, "poses", HOW),
                constants(program, W, kind, "poses_constants"),
                sin_cos_function(W, kind),
                self.call,
                Module(W, kind, self.numbers, external).text(loops.FUNCTIONS, loops.EXPORTED, loops.ATTRIBUTES),
            ]
        )


def _source() -> str:
    import inspect

    return inspect.getsource(loops)


class Planner:
    """The planner of a model with spheres, in one kind of number. Worlds are arguments."""

    def __init__(self, model: Model, spheres: SphereModel, lower: Array, upper: Array, single: bool = True) -> None:
        self.model, self.spheres, self.kind = model, spheres, SINGLE if single else DOUBLE
        self.dtype = np.dtype(f"f{self.kind.bytes}")
        self.lower, self.upper = np.asarray(lower, float), np.asarray(upper, float)
        bodies = {int(b) for b in (*spheres.coarse.body, *spheres.fine.body)}
        self.machine = Machine(model, tuple(sorted(bodies, key=lambda b: (b < 0, b))), self.kind)
        self._local = threading.local()

    def room(self, nodes: int) -> tuple[Array, Array, Array, Array]:
        """Room for two trees of so many nodes and for a path, each thread's own, used again by every search: what lies
        there is written before it is read."""
        kept: dict[int, tuple[Array, Array, Array, Array]] = self._local.__dict__.setdefault("kept", {})
        if nodes not in kept:
            trees, n = _aligned(2 * nodes * self.model.n, self.dtype), self.model.n
            rest = np.empty(2 * nodes, self.dtype), np.empty(2 * nodes, np.int64), np.empty((LONGEST, n), self.dtype)
            kept.clear()
            kept[nodes] = (trees, *rest)
        return kept[nodes]

    @cached_property
    def _by_pieces(self) -> NDArray[np.bool_]:
        """(P,): which pairs of links are compared by their pieces."""
        return np.asarray(np.isin(self.spheres.pairs, self.spheres.pieces.link), bool).min(axis=1, initial=True)

    @cached_property
    def _filtered(self) -> NDArray[np.bool_]:
        """(P,): which of these have so few spheres that these are compared first."""
        spheres = np.bincount(self.spheres.parent, minlength=len(self.spheres.coarse))
        return self._by_pieces & (spheres[self.spheres.pairs].sum(axis=1) <= FEW_SPHERES)

    @cached_property
    def _solid_tables(self) -> tuple[Array, Array, Array, Array, list[int], list[int], list[int], list[int]]:
        """Of links with pieces: their spheres, numbers and corners of their pieces, reach of each pair; their bodies,
        the pairs with their pieces, where the corners of each piece are, and which pairs spheres are compared of."""
        place = {body: k for k, body in enumerate(self.machine.carriers)}
        coarse, pieces = self.spheres.coarse, self.spheres.pieces
        pairs = self.spheres.pairs[self._by_pieces]
        links = sorted(set(pairs.ravel().tolist()))
        row = {link: k for k, link in enumerate(links)}
        spheres = np.column_stack((coarse.center, coarse.radius))[links]
        reach = coarse.radius[pairs].sum(axis=1)
        rows = [[row[a], row[b], *pieces.ends(a), *pieces.ends(b)] for a, b in pairs[::-1].tolist()]  # from the tip
        blocks, index = separation.corner_blocks(pieces.corners, pieces.first, self.machine.width)
        numbers = np.column_stack((pieces.balls, pieces.radius))
        bodies = [place[int(coarse.body[link])] for link in links]
        filtered = self._filtered[self._by_pieces][::-1].astype(int).tolist()
        pair_rows = [x for r in rows for x in r]
        return spheres, numbers, blocks, reach[::-1], bodies, pair_rows, index.ravel().tolist(), filtered

    @cached_property
    def _body_tables(self) -> tuple[list[float], list[float], list[int], list[int], int, list[int]]:
        """Coarse and fine spheres, links and pairs, those on the base last. Links that ride on one body and may meet
        the same others are one; many spheres are cut into parts with a coarse sphere each, nearer to their shape.
        """
        place = {body: k for k, body in enumerate(self.machine.carriers)}
        coarse, fine = self.spheres.coarse, self.spheres.fine
        partners: list[list[int]] = [[] for _ in range(len(coarse))]
        by_spheres = self.spheres.pairs[~self._by_pieces | self._filtered]
        for i, j in by_spheres.tolist():
            partners[i].append(j)
            partners[j].append(i)
        apart = set(self.spheres.pairs[self._filtered].ravel().tolist())
        groups: dict[tuple[int, ...], list[int]] = {}
        for k in range(len(coarse)):
            alone = [-1 - k] if k in apart else []  # a pair of parts is one of links with pieces
            groups.setdefault((int(coarse.body[k]), *alone, *sorted(partners[k])), []).append(k)
        parts: dict[int, list[int]] = {}
        links: list[int] = []
        small: list[Array] = []
        first, moving = 0, 0
        for (carrier, *_), group in sorted(groups.items(), key=lambda item: (item[0][0] < 0, -max(item[1]))):
            own = np.flatnonzero(np.isin(self.spheres.parent, group))
            most = LARGE if carrier < 0 or self.model.parents[carrier] < 0 else PART
            for rows in _parts(np.column_stack((fine.center[own], fine.radius[own])), most):
                for k in group:
                    parts.setdefault(k, []).append(len(small))
                small.append(rows)
                links += [place[carrier], first, first + len(rows)]
                first += len(rows)
                moving += carrier >= 0
        solids = self.spheres.pairs[self._by_pieces][::-1].tolist()
        row = {(a, b): k for k, (a, b) in enumerate(solids)}
        met: list[dict[int, int]] = [
            {} for _ in small
        ]  # of each part, which others it may meet: their pair with pieces
        for first_link, second_link in by_spheres.tolist():
            for i, j in itertools.product(parts[first_link], parts[second_link]):
                met[i].setdefault(j, row.get((first_link, second_link), -1))
        pairs = [*itertools.accumulate(map(len, met), initial=0), *itertools.chain(*met)]
        big = np.column_stack(enclosing_spheres(small, ROUNDS))
        of = [k for row_of in met for k in row_of.values()]
        return big.ravel().tolist(), np.concatenate(small).ravel().tolist(), links, pairs, moving, of

    def scene(
        self, around: World, seed: int = 0, clear: float = 0.0, limits: tuple[Array, Array] | None = None
    ) -> Scene:
        """The robot and a world as the arrays that the loops take: nearer than `clear` [m] counts as touching, samples
        lie within `limits` (the joints' own)."""
        W = self.machine.width
        coarse, fine, links, pairs, moving, pair_solids = self._body_tables
        blocks = -(-len(coarse) // (4 * W))
        arrays = around.arrays()
        boxes, cylinders = _solids(arrays), arrays.cylinders
        lower, upper = (self.lower, self.upper) if limits is None else limits
        big, small = np.array(coarse), np.array(fine)
        big[3::4] += clear
        small[3::4] += clear
        tables = [big, small, _by_lanes(boxes, W), _by_lanes(cylinders, W)]
        count = len(coarse) // 4
        reach = np.repeat(big[3::4], np.diff(pairs[: count + 1])) + big[3::4][pairs[count + 1 :]] - clear
        tables += [arrays.half_spaces.ravel(), np.concatenate((lower, upper - lower, [clear])), reach**2]
        spheres, numbers, corners, apart, bodies, solid_pairs, index, filtered = self._solid_tables
        tables += [spheres.ravel(), (apart + clear) ** 2, numbers.ravel(), corners]
        tables = [np.concatenate((t, np.zeros(-len(t) % W))) for t in tables]
        at = np.concatenate(([0], np.cumsum([len(t) for t in tables])))
        n = self.model.n
        offsets = [0] * n
        if seed:
            rng = np.random.Generator(np.random.Philox(seed))
            offsets = rng.integers(-(1 << 63), (1 << 63) - 1, n).tolist()
        samples = [x for pair in zip(offsets, alphas(n), strict=True) for x in pair]
        first = len(HEADER)
        header = dict(zip(TABLES, at[:-1].tolist(), strict=True))
        header |= {"COARSE": count, "MOVING": moving, "BLOCKS": blocks, "PLANES": len(arrays.half_spaces)}
        header |= {"BOXES": -(-len(boxes) // W), "CYLINDERS": -(-len(cylinders) // W)}
        header |= {"LINKS_AT": first, "PAIRS_AT": first + len(links), "SAMPLES_AT": first + len(links) + len(pairs)}
        header |= {"SOLIDS": len(bodies), "SOLID_PAIRS": len(apart)}
        own = links + pairs + samples
        lists = {"SOLID_BODIES_AT": bodies, "SOLID_PAIRS_AT": solid_pairs, "PIECE_INDEX_AT": index}
        for name, part in (lists | {"PAIR_SOLIDS_AT": pair_solids, "SOLID_FILTERED_AT": filtered}).items():
            header[name] = first + len(own)
            own = own + part
        header |= dict.fromkeys(HEADER[HEADER.index("LAST") :], 0)
        header["SWEEPS"] = int(self.machine.numbers["FLAGS"]) + blocks * W
        header["CENTERS"] = header["SWEEPS"] + blocks * W
        header["FINES"] = header["CENTERS"] + 3 * W * count
        header["NEAR_SOLIDS"] = max(len(boxes) + len(cylinders) + len(arrays.half_spaces), len(fine) // 4) + 1
        header["SOLID_CENTERS"] = header["FINES"] + 3 * W * (len(fine) // 4)
        header["SOLID_ROOM"] = header["SOLID_CENTERS"] + 3 * W * len(bodies)
        h = np.array([header[name] for name in HEADER] + own, np.int64)
        data = _aligned(int(at[-1]), self.dtype)
        data[:] = np.concatenate(tables)
        work = _aligned(header["SOLID_ROOM"] + separation.OWN + 2 * W, self.dtype)
        return Scene(self, h, data, work, np.zeros(header["NEAR_SOLIDS"] + len(apart) + 1, np.int64))


def _parts(rows: Array, most: int) -> list[Array]:
    """Spheres (k, 4) in parts that are cheap to check: cut along the longer side where the parts' sizes (number times
    diagonal squared) become least, if there are more than `most` or if that is worth another coarse sphere."""
    if len(rows) < 4:
        return [rows]
    axis = int(np.ptp(rows[:, :3], axis=0).argmax())
    by = rows[np.argsort(rows[:, axis], kind="stable")]
    low, high = by[:, :3] - by[:, 3:], by[:, :3] + by[:, 3:]
    head = ((np.maximum.accumulate(high) - np.minimum.accumulate(low)) ** 2).sum(axis=1)
    tail = ((np.maximum.accumulate(high[::-1]) - np.minimum.accumulate(low[::-1])) ** 2).sum(axis=1)[::-1]
    count = np.arange(1, len(by))
    size = count * head[:-1] + (len(by) - count) * tail[1:]
    cut = int(size.argmin())
    if len(rows) <= most and size[cut] > WORTH * len(rows) * head[-1]:
        return [rows]
    return [*_parts(by[: cut + 1], most), *_parts(by[cut + 1 :], most)]


def _solids(arrays: Any) -> Array:
    """Boxes, capsules and spheres as boxes with rounded edges: center, R, half sides, rounding. (K, 16)"""
    boxes = np.column_stack((arrays.boxes, np.zeros(len(arrays.boxes))))
    a, b, r = arrays.capsules[:, :3], arrays.capsules[:, 3:6], arrays.capsules[:, 6]
    length = np.linalg.norm(b - a, axis=1)
    axis = np.where(length[:, None] > 0, (b - a) / np.where(length > 0, length, 1.0)[:, None], [0.0, 0.0, 1.0])
    side = np.cross(axis, np.eye(3)[np.abs(axis).argmin(axis=1)]) if len(axis) else np.zeros((0, 3))
    side /= np.linalg.norm(side, axis=1)[:, None]
    R = np.stack((side, np.cross(axis, side), axis), -1).reshape(-1, 9)
    zero = np.zeros((len(a), 2))
    capsules = np.column_stack((0.5 * (a + b), R, zero, 0.5 * length, r))
    k = len(arrays.spheres)
    spheres = np.column_stack(
        (arrays.spheres[:, :3], np.tile(np.eye(3).ravel(), (k, 1)), np.zeros((k, 3)), arrays.spheres[:, 3])
    )
    return np.concatenate((boxes, capsules, spheres))


def _by_lanes(rows: Array, W: int) -> Array:
    """Rows as blocks of W, field by field; the last block is filled with points far away."""
    if not len(rows):
        return np.zeros(0)
    lacking = -len(rows) % W
    away = np.zeros((lacking, rows.shape[1]))
    away[:, :3] = world.FAR
    away[:, 3:12:4] = 1.0  # axes
    full = np.concatenate((rows, away))
    return np.ascontiguousarray(full.reshape(-1, W, rows.shape[1]).transpose(0, 2, 1)).ravel()


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found. `status` is 1 (a path), 0 (iterations spent) or −1 (no more room)."""

    status: int
    path: Array
    iterations: int
    nodes: int
    raw: int


def _aligned(count: int, dtype: np.dtype[Any]) -> Array:
    """Room for so many numbers, at an address that vectors like."""
    raw = np.zeros(count * dtype.itemsize + LINE, np.uint8)
    skip = -raw.ctypes.data % LINE
    return raw[skip : skip + count * dtype.itemsize].view(dtype)


def _at(a: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(a.ctypes.data)


class Scene:
    """A planner in a world: what the loops are called with. Not for two threads at once."""

    def __init__(self, planner: Planner, h: Array, data: Array, work: Array, near: Array) -> None:
        self.planner, self.h, self.data, self.work, self.near = planner, h, data, work, near
        self._fixed = tuple(map(_at, (h, data, work, near)))
        self._room: dict[tuple[int, int], tuple[Any, ...]] = {}
        self._plan = planner.machine.functions["plan"]

    def _call(self, name: str, *arrays: Any) -> None:
        given = (_at(a) if isinstance(a, np.ndarray) else ctypes.c_int64(a) for a in arrays)
        self.planner.machine.functions[name](*self._fixed, *given)

    def hits(self, q: Array) -> NDArray[np.bool_]:
        """Whether each of these states (B, n) touches itself or the world."""
        q = np.ascontiguousarray(q, self.planner.dtype)
        out = np.empty(len(q), np.int64)
        self._call("judge", q, len(q), out)
        return out.astype(bool)

    def edge_hits(self, a: Array, b: Array, resolution: float = 32.0) -> NDArray[np.bool_]:
        """Whether a state along each of these edges, (B, n) to (B, n), touches anything; the first is not looked at."""
        q = np.ascontiguousarray(np.stack((a, b), 1), self.planner.dtype)
        out = np.empty(len(q), np.int64)
        settings = np.array(replace(Settings(), resolution=resolution).numbers(), self.planner.dtype)
        self._call("judge_edges", settings, q, len(q), out)
        return out.astype(bool)

    def search(self, start: Array, goals: Array, settings: Settings, skip: int = 0) -> Found:
        """A path from the start (n,) to one of the goals (G, n), by one call of the machine code."""
        key = (id(settings), len(goals))
        if key not in self._room:
            planner = self.planner
            n, W, dtype = planner.model.n, planner.machine.width, planner.dtype
            room = -(-max(settings.nodes, len(goals) + 1) // W) * W
            trees, radii, parents, path = planner.room(room)
            ends, info = np.empty((1 + len(goals), n), dtype), np.zeros(len(INFO), np.int64)
            given = (np.array(settings.numbers(), dtype), ends, trees, radii, parents, path, info)
            fixed = dict(MOST=settings.iterations, ROOM=room, LONGEST=LONGEST, ROUNDS=settings.rounds, GOALS=len(goals))
            fresh = np.array([fixed.get(name, 0) for name in INFO], np.int64)
            if len(self._room) >= KEPT:
                self._room.clear()
            self._room[key] = (ends, path, info, fresh, [*self._fixed, *map(_at, given)], given, settings)
        ends, path, info, fresh, pointers, *_ = self._room[key]
        ends[0], ends[1:] = start, goals
        info[:] = fresh
        info[SKIPPED] = skip
        self._plan(*pointers)
        status, size, raw, iterations = info[:4].tolist()
        found = path[: size if status == 1 else 0].astype(float)
        return Found(status, found, iterations, int(info[SIZES] + info[SIZES + 1]), raw)
