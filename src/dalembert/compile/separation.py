"""How far two links are apart, as convex pieces, in the subset of Python that `compile.native` makes machine code of.

Every direction v bounds the distance of two pieces from below by v · (a − b) / |v|, where a and b are their corners
nearest to each other along v. So every bound is right, whatever the search for a better direction does: it follows
Gilbert, Johnson and Keerthi (1988), from the point nearest to zero among differences a − b seen so far. Where that
point is zero, the pieces overlap, and the bound climbs from the best direction so far.

States are compared one by one: the answer does not depend on the states beside. Corners are compared by W at a time.

    numbers  of each piece: center (3), radius of the ball around its corners, radius by which their hull is grown
    corners  of each piece: blocks of W: x, y, z
    index    of each piece: where its blocks begin, how many they are
    own      room: the pose of the second link in the first's frame (12), four differences (12), their corners of the
             first link (12), weights (5) and the point of the first link (3) that they give, and what was found: bound,
             direction (3), a point of each link (6), in the first link's frame; the same of the nearest pieces; and W
             numbers
"""

# ruff: noqa: F821 - the names in capitals and the intrinsics are the compiler's
# mypy: disable-error-code="name-defined"

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.compile import llvm
from dalembert.compile.kinds import Kind
from dalembert.compile.native import Int, Ints, Module, Real, Reals, Truth, source
from dalembert.compile.writer import Writer

NUMBERS, WORDS = 5, 2  # of a piece
DIFFERENCE, CORNER, WEIGHT, FOUND, BEST, OWN = 12, 24, 36, 44, 54, 64  # places in `own`
RESULT = 10  # numbers from FOUND and BEST on
CONSTANTS: Mapping[str, int | float] = {
    **{"NUMBERS": NUMBERS, "WORDS": WORDS, "RESULT": RESULT},
    **{"DIFFERENCE": DIFFERENCE, "CORNER": CORNER, "WEIGHT": WEIGHT, "FOUND": FOUND, "BEST": BEST, "OWN": OWN},
    "DIRECTIONS": 32,  # for two pieces, at most
    "CLIMBS": 12,  # of these for two pieces that overlap
    "ZERO": 1e-8,  # [m] the length below which a difference has no direction
    "HUGE": 1e30,
}


def relative(a: Reals, b: Reals, stride: Int, own: Reals) -> None:
    """The pose of frame b in frame a, from two poses whose numbers lie `stride` apart: Rᵀ R′ and Rᵀ (p′ − p)."""
    for i in range(3):
        for j in range(3):
            t = a[stride * i] * b[stride * j]
            t = fma(a[stride * (3 + i)], b[stride * (3 + j)], t)
            own[3 * i + j] = fma(a[stride * (6 + i)], b[stride * (6 + j)], t)
        t = a[stride * i] * (b[stride * 9] - a[stride * 9])
        t = fma(a[stride * (3 + i)], b[stride * 10] - a[stride * 10], t)
        own[9 + i] = fma(a[stride * (6 + i)], b[stride * 11] - a[stride * 11], t)


def carried(own: Reals, row: Int, x: Real, y: Real, z: Real) -> Real:
    """A coordinate of a point of b in frame a."""
    return fma(own[3 * row + 2], z, fma(own[3 * row + 1], y, fma(own[3 * row], x, own[9 + row])))


def farthest(corners: Reals, index: Ints, piece: Int, x: Real, y: Real, z: Real, room: Reals) -> Int:
    """Where the corner of a piece lies that is farthest along a direction."""
    first = index[WORDS * piece]
    best = wide(-HUGE)
    at = wide(0.0)
    for b in range(index[WORDS * piece + 1]):
        c = corners[first + 3 * W * b :]
        s = fma(load(c, 2 * W), z, fma(load(c, W), y, load(c, 0) * x))
        more = s > best
        best = where(more, s, best)
        at = where(more, real(b), at)
    most = largest(best)
    lane = lowest(bits(best >= most) | LAST_LANE)  # one, even if the direction is not a number
    store(room, 0, at)
    return first + 3 * W * whole(room[lane]) + lane


def nearer(own: Reals, j: Int, k: Int, t: Real, u: Real, least: Real) -> Real:
    """The squared distance from zero of a point of the triangle of the newest difference and two others, by the weights
    of these, if it is less than `least`: then `own` has them."""
    a = own[DIFFERENCE:]
    b = own[DIFFERENCE + 3 * j :]
    c = own[DIFFERENCE + 3 * k :]
    s = (1.0 - t) - u
    x = fma(u, c[0], fma(t, b[0], s * a[0]))
    y = fma(u, c[1], fma(t, b[1], s * a[1]))
    z = fma(u, c[2], fma(t, b[2], s * a[2]))
    square = fma(z, z, fma(y, y, x * x))
    if square < least:
        weights = own[WEIGHT:]
        weights[0] = real(j)
        weights[1] = real(k)
        weights[2] = s
        weights[3] = t
        weights[4] = u
        return square
    return least


def edge(own: Reals, j: Int, k: Int, least: Real) -> Real:
    """The same of the point nearest to zero between the newest difference and another."""
    a = own[DIFFERENCE:]
    b = own[DIFFERENCE + 3 * j :]
    x = b[0] - a[0]
    y = b[1] - a[1]
    z = b[2] - a[2]
    length = fma(z, z, fma(y, y, x * x))
    along = -fma(z, a[2], fma(y, a[1], x * a[0]))
    if along <= 0.0:
        return nearer(own, j, k, 0.0, 0.0, least)
    if along >= length:
        return nearer(own, j, k, 1.0, 0.0, least)
    return nearer(own, j, k, along / length, 0.0, least)


def face(own: Reals, j: Int, k: Int, least: Real) -> Real:
    """The same of the point nearest to zero in the plane of the newest difference and two others, if that lies between
    them. By regions (Ericson 2005)."""
    a = own[DIFFERENCE:]
    b = own[DIFFERENCE + 3 * j :]
    c = own[DIFFERENCE + 3 * k :]
    bx = b[0] - a[0]
    by = b[1] - a[1]
    bz = b[2] - a[2]
    cx = c[0] - a[0]
    cy = c[1] - a[1]
    cz = c[2] - a[2]
    bb = fma(bz, bz, fma(by, by, bx * bx))
    bc = fma(bz, cz, fma(by, cy, bx * cx))
    cc = fma(cz, cz, fma(cy, cy, cx * cx))
    ab = -fma(bz, a[2], fma(by, a[1], bx * a[0]))
    ac = -fma(cz, a[2], fma(cy, a[1], cx * a[0]))
    total = fma(bb, cc, -(bc * bc))
    t = fma(cc, ab, -(bc * ac))
    u = fma(bb, ac, -(bc * ab))
    if total > FLAT * bb * cc and t > 0.0 and u > 0.0 and t + u < total:
        return nearer(own, j, k, t / total, u / total, least)
    return least


def volume(own: Reals, i: Int, j: Int, k: Int) -> Real:
    """Six times the signed volume of zero and three differences."""
    a = own[DIFFERENCE + 3 * i :]
    b = own[DIFFERENCE + 3 * j :]
    c = own[DIFFERENCE + 3 * k :]
    x = fma(b[1], c[2], -(b[2] * c[1]))
    y = fma(b[2], c[0], -(b[0] * c[2]))
    z = fma(b[0], c[1], -(b[1] * c[0]))
    return fma(a[2], z, fma(a[1], y, a[0] * x))


def overlap(own: Reals) -> Truth:
    """Whether zero lies within four differences."""
    a = volume(own, 1, 2, 3)
    b = -volume(own, 0, 2, 3)
    c = volume(own, 0, 1, 3)
    d = -volume(own, 0, 1, 2)
    up = a > 0.0 and b > 0.0 and c > 0.0 and d > 0.0
    down = a < 0.0 and b < 0.0 and c < 0.0 and d < 0.0
    return up or down


def look(
    numbers: Reals, corners: Reals, index: Ints, own: Reals, p: Int, q: Int, x: Real, y: Real, z: Real, best: Real
) -> Real:
    """The bound that a direction gives, and its difference and corners; the better of it and the best so far."""
    i = farthest(corners, index, p, -x, -y, -z, own[OWN:])
    u = fma(own[6], z, fma(own[3], y, own[0] * x))
    v = fma(own[7], z, fma(own[4], y, own[1] * x))
    w = fma(own[8], z, fma(own[5], y, own[2] * x))
    j = farthest(corners, index, q, u, v, w, own[OWN:])
    a = own[CORNER:]
    d = own[DIFFERENCE:]
    for k in range(3):
        a[k] = corners[i + W * k]
        d[k] = a[k] - carried(own, k, corners[j], corners[j + W], corners[j + 2 * W])
    size = sqrt(fma(z, z, fma(y, y, x * x)))
    bound = fma(d[2], z, fma(d[1], y, d[0] * x)) / size
    bound = bound - numbers[NUMBERS * p + 4] - numbers[NUMBERS * q + 4]
    if bound > best:
        found = own[FOUND:]
        found[0] = bound
        found[1] = x / size
        found[2] = y / size
        found[3] = z / size
        for k in range(3):
            found[4 + k] = a[k]
            found[7 + k] = a[k] - d[k]
        return bound
    return best


def search(numbers: Reals, corners: Reals, index: Ints, own: Reals, p: Int, q: Int, wanted: Real, enough: Real) -> Real:
    """A bound of the distance of two pieces: `wanted` or more as soon as there is one, any that is less as soon as the
    distance is known to be `enough` or less, and else the best that was found."""
    d = own[DIFFERENCE:]
    a = own[CORNER:]
    c = numbers[NUMBERS * q :]
    grown = numbers[NUMBERS * p + 4] + c[4]
    weights = own[WEIGHT:]
    for k in range(3):
        at = numbers[NUMBERS * p + k]
        weights[5 + k] = at
        for slot in range(1, 4):
            d[3 * slot + k] = at - carried(own, k, c[0], c[1], c[2])
            a[3 * slot + k] = at
    x = d[3]
    y = d[4]
    z = d[5]
    square = fma(z, z, fma(y, y, x * x))
    if square < ZERO * ZERO:
        x = 1.0
    best = -HUGE
    left = DIRECTIONS
    inside = False
    while left > 0 and not inside:
        left -= 1
        best = look(numbers, corners, index, own, p, q, x, y, z, best)
        size = sqrt(square)
        if best >= wanted or size - grown <= enough:
            return best
        if size - grown - best <= CLOSE * size:
            point(own, x, y, z)
            return best
        least = edge(own, 1, 2, HUGE)
        least = edge(own, 2, 3, least)
        least = edge(own, 3, 1, least)
        least = face(own, 1, 2, least)
        least = face(own, 2, 3, least)
        least = face(own, 3, 1, least)
        inside = overlap(own) or least < ZERO * ZERO
        if not inside:
            if not least < square:
                return best
            j = whole(weights[0])
            k = whole(weights[1])
            s = weights[2]
            t = weights[3]
            u = weights[4]
            x = fma(u, d[3 * k], fma(t, d[3 * j], s * d[0]))
            y = fma(u, d[3 * k + 1], fma(t, d[3 * j + 1], s * d[1]))
            z = fma(u, d[3 * k + 2], fma(t, d[3 * j + 2], s * d[2]))
            for m in range(3):
                weights[5 + m] = fma(u, a[3 * k + m], fma(t, a[3 * j + m], s * a[m]))
            square = least
            slot = 6 - j - k
            for m in range(3):
                d[3 * slot + m] = d[m]
                a[3 * slot + m] = a[m]
    if enough <= -HUGE:
        best = climb(numbers, corners, index, own, p, q, best)
    return best


def point(own: Reals, x: Real, y: Real, z: Real) -> None:
    """The nearest points of two pieces, by their difference."""
    for k in range(3):
        own[FOUND + 4 + k] = own[WEIGHT + 5 + k]
    own[FOUND + 7] = own[FOUND + 4] - x
    own[FOUND + 8] = own[FOUND + 5] - y
    own[FOUND + 9] = own[FOUND + 6] - z


def climb(numbers: Reals, corners: Reals, index: Ints, own: Reals, p: Int, q: Int, best: Real) -> Real:
    """Better bounds of pieces that overlap: from the best direction so far, steps along the part of its difference that
    is across it, by which the bound rises fastest."""
    step = 0.6
    d = own[DIFFERENCE:]
    for _k in range(CLIMBS):
        n = own[FOUND + 1 :]
        look(numbers, corners, index, own, p, q, n[0], n[1], n[2], HUGE)
        along = fma(d[2], n[2], fma(d[1], n[1], d[0] * n[0]))
        x = fma(-along, n[0], d[0])
        y = fma(-along, n[1], d[1])
        z = fma(-along, n[2], d[2])
        size = sqrt(fma(z, z, fma(y, y, x * x)))
        if size < ZERO:
            return best
        t = step / size
        before = best
        best = look(numbers, corners, index, own, p, q, fma(t, x, n[0]), fma(t, y, n[1]), fma(t, z, n[2]), best)
        if best <= before:
            step = 0.5 * step
    return best


def links_apart(
    numbers: Reals, corners: Reals, index: Ints, own: Reals, ends: Ints, wanted: Real, enough: Real
) -> Real:
    """The least bound of all pieces of two links, from ends[0] to before ends[1] and from ends[2] to before ends[3];
    `wanted`, if it is no less. The pose of the second link in the first's frame is in `own`."""
    least = wanted
    for p in range(ends[0], ends[1]):
        a = numbers[NUMBERS * p :]
        for q in range(ends[2], ends[3]):
            b = numbers[NUMBERS * q :]
            reach = least + a[3] + b[3]
            x = a[0] - carried(own, 0, b[0], b[1], b[2])
            y = a[1] - carried(own, 1, b[0], b[1], b[2])
            z = a[2] - carried(own, 2, b[0], b[1], b[2])
            if reach > 0.0 and fma(z, z, fma(y, y, x * x)) < reach * reach:
                d = search(numbers, corners, index, own, p, q, least, enough)
                if d < least:
                    least = d
                    for k in range(RESULT):
                        own[BEST + k] = own[FOUND + k]
                    if least <= enough:
                        return least
    return least


def separate(
    numbers: Reals,
    corners: Reals,
    index: Ints,
    own: Reals,
    ends: Ints,
    first: Reals,
    second: Reals,
    lanes: Int,
    wanted: Reals,
    enough: Real,
) -> None:
    """Replace what is wanted of each of these lanes by the least bound of two links, if that is less. Poses of links
    are twelve vectors each."""
    while lanes != 0:
        k = lowest(lanes)
        lanes = lanes & (lanes - 1)
        relative(first[k:], second[k:], W, own)
        wanted[k] = links_apart(numbers, corners, index, own, ends, wanted[k], enough)


def witnesses(
    numbers: Reals, corners: Reals, index: Ints, own: Reals, ends: Ints, poses: Reals, states: Int, out: Reals
) -> None:
    """Of each state the least bound, its direction and the nearest points in the frame of its first link: poses are two
    of 12 numbers, ends 4."""
    for k in range(states):
        relative(poses[24 * k :], poses[24 * k + 12 :], 1, own)
        links_apart(numbers, corners, index, own, ends[4 * k :], HUGE, -HUGE)
        for m in range(RESULT):
            out[RESULT * k + m] = own[BEST + m]


# of the parameters of `separate`, and of its result
TYPES = ("Reals", "Reals", "Ints", "Reals", "Ints", "Reals", "Reals", "Int", "Reals", "Real", "None")
EXPORTED = ("separate", "witnesses")
FUNCTIONS = (
    *(relative, carried, farthest, nearer, edge, face, volume, overlap, look, point, climb, search, links_apart),
    *(separate, witnesses),
)
ATTRIBUTES = dict.fromkeys(("farthest", "look", "nearer", "overlap", "search", "climb", "links_apart"), "noinline")


def constants(width: int, kind: Kind) -> dict[str, int | float]:
    """Numbers by name, with those of a width and a kind. FLAT: a triangle with a smaller sine, squared, is an edge.
    CLOSE: of a distance: a bound so near to it is not improved."""
    flat, close = (1e-12, 1e-10) if kind.bits == 64 else (1e-5, 1e-6)
    return {**CONSTANTS, "W": width, "LAST_LANE": 1 << (width - 1), "FLAT": flat, "CLOSE": close}


def symbol(kind: Kind) -> str:
    """The name by which other machine code calls `separate`."""
    return f"dalembert_separate_{kind.name}"


def linkable(kind: Kind) -> str:
    """Make `separate` known to the linker, and return the IR by which other functions call it."""
    llvm.add_symbol(symbol(kind), machine(kind).addresses["separate"])
    types = ["ptr"] * 7 + ["i64", "ptr", kind.name]
    named = ", ".join(f"{t} %x{k}" for k, t in enumerate(types))
    return (
        f"declare void @{symbol(kind)}({', '.join(types)})\n"
        f"define internal void @separate({named}) {{\n  call void @{symbol(kind)}({named})\n  ret void\n}}\n"
    )


@lru_cache
def machine(kind: Kind) -> llvm.Code:
    """The functions compiled for this machine, once for all robots."""
    width = llvm.width_for(llvm.host(), kind)

    def text() -> str:
        module = Module(width, kind, constants(width, kind), {})
        return "\n".join([*Writer(width, kind).declarations(), module.text(FUNCTIONS, EXPORTED, ATTRIBUTES)])

    target = llvm.host()
    key = ("separation", str(width), kind.name, source(separate))
    code = llvm.cached(lambda: llvm.object_code([text()], target, optimize=True), target, *key)
    return llvm.Code(code, target, EXPORTED)


def corner_blocks(
    corners: NDArray[Any], first: NDArray[np.int64], width: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """(corners by blocks, the index of every piece): the last corner again where a block is not full."""
    index, blocks, at = [], [], 0
    for a, b in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
        count = -(-(b - a) // width)
        rows = np.minimum(np.arange(count * width), b - a - 1) + a
        blocks.append(corners[rows].reshape(count, width, 3).transpose(0, 2, 1).ravel())
        index.append((at, count))
        at += 3 * count * width
    return np.concatenate((np.zeros(0), *blocks)), np.array(index, np.int64).reshape(-1, WORDS)


def witness(
    kind: Kind,
    tables: tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]],
    ends: NDArray[np.int64],
    poses: NDArray[Any],
) -> NDArray[Any]:
    """(B, 10) of links posed by (B, 2, 12): the bound, its direction, and the nearest points in the first frame."""
    dtype = np.dtype(f"f{kind.bytes}")
    numbers, corners, index = tables
    own = np.zeros(OWN + llvm.width_for(llvm.host(), kind), dtype)
    arrays = (numbers.astype(dtype), corners.astype(dtype), index, own, np.ascontiguousarray(ends, np.int64))
    both, out = np.ascontiguousarray(poses, dtype), np.zeros((len(poses), RESULT), dtype)
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 6, ctypes.c_int64, ctypes.c_void_p)(
        machine(kind).addresses["witnesses"]
    )
    function(*(a.ctypes.data for a in arrays), both.ctypes.data, len(poses), out.ctypes.data)
    return out
