"""How far a point of a link can move per unit of joint motion: bounds that hold for every state.

Along one joint that turns, a point moves by no more than its distance from the joint's axis times the angle, and that
distance is at most the sum of the lengths between: with slides at their farthest. What carries both of two links does
not change their distance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.collision.spheres import SphereModel, Spheres
from dalembert.model import Model

Array = NDArray[np.float64]
ROUNDING = 1 + 1e-9  # sums of a few lengths, and products with them
PARALLEL = 1e-12  # sine of an angle that is rounding


def reaches(model: Model, spheres: Spheres, extent: Array) -> Array:
    """(N, bodies): how far the center of each sphere moves at most per unit of each joint's own position [m per rad or
    m], while |q| stays below `extent` (n,); zero for joints that do not carry it."""
    found = np.zeros((len(spheres), len(model.bodies)))
    for body in sorted(set(spheres.body.tolist())):
        path, own = model.path(body), np.flatnonzero(spheres.body == body)
        for place, j in enumerate(path):
            joint, axis = model.bodies[j].joint, np.array(model.bodies[j].joint.axis, float)
            found[own, j] = abs(joint.travel)
            if joint.turns:
                radius = _radii(model, path[place + 1 :], axis, spheres.center[own], extent)
                found[own, j] = np.hypot(joint.travel, radius)
    return found * ROUNDING


def _radii(model: Model, rest: tuple[int, ...], axis: Array, centers: Array, extent: Array) -> Array:
    """The distance of centers (k, 3) of one body from the axis at most, through the bodies between: the part of the
    first step across the axis, then whole lengths.  (k,)"""
    total, across = 0.0, True
    for j in rest:
        body = model.bodies[j]
        p = np.array(body.placement.p, float)
        total += float(np.linalg.norm(np.cross(axis, p)) if across else np.linalg.norm(p))
        if body.joint.travel:
            total += abs(body.joint.travel) * (abs(body.multiplier) * extent[body.coordinate] + abs(body.offset))
        # Turning about a parallel axis changes nothing along it, so that the next step's part along it does not count.
        z = np.array(body.placement.R, float) @ np.array(body.joint.axis, float)
        across = across and float(np.linalg.norm(np.cross(z, axis))) < PARALLEL
        axis = np.array(body.joint.axis, float)
    return total + np.linalg.norm(np.cross(axis, centers) if across else centers, axis=1)


def motion_bounds(model: Model, spheres: SphereModel, extent: Array) -> tuple[Array, Array]:
    """While |q| stays below `extent` (n,): how far any fine sphere of a coarse one moves per unit of each coordinate,
    and how much the two of a pair move to each other, (groups + pairs, n), by the corners of their pieces, if both have
    some; and Q (groups + pairs, n, n), so that along a straight line with rates w = |q̇| no velocity changes faster than
    wᵀ Q w.

    On the way to a point, a joint's part of its velocity, w_j r_j at most, is turned by the joints before it, and
    changes with the arm r_j, which those from j on move: |ẍ| ≤ Σ_j w_j r_j (Σ_{k<j} w_k + Σ_{k≤j} w_k), of the joints k
    that turn. Of a joint of several coordinates the first column is positive, and no bound."""
    by_body = reaches(model, spheres.fine, extent)
    groups = np.array([by_body[spheres.parent == k].max(axis=0) for k in range(len(spheres.coarse))])
    solid = _corner_reaches(model, spheres, extent)
    bodies = range(len(model.bodies))
    gather = np.zeros((len(bodies), model.nv))
    for j, body in enumerate(model.bodies):
        gather[j, body.coordinate] = abs(body.multiplier)
    turns = np.array([bool(body.joint.turns) for body in model.bodies], float)
    path = [model.path(int(body)) for body in spheres.coarse.body]
    own = [(g, set(path[g])) for g in range(len(groups))]
    parts = [[(groups[g], *one)] for g, one in enumerate(own)]
    for a, b in spheres.pairs.tolist():
        far = solid if a in solid and b in solid else groups
        parts.append([(far[a], a, own[a][1] - own[b][1]), (far[b], b, own[b][1] - own[a][1])])
    first, second = np.zeros((len(parts), len(bodies))), np.zeros((len(parts), len(bodies), len(bodies)))
    for row, part in enumerate(parts):
        for most, g, moved in part:
            line = [j for j in path[g] if j in moved]
            first[row, line] += most[line]
            for place, j in enumerate(line):
                second[row, j, line[: place + 1]] += most[j] * turns[line[: place + 1]]
                second[row, j, line[:place]] += most[j] * turns[line[:place]]
    return first @ gather, np.einsum("gjk,jn,km->gnm", second, gather, gather)


def _corner_reaches(model: Model, spheres: SphereModel, extent: Array) -> dict[int, Array]:
    """The same of the corners of the pieces of each link that has some, by joint."""
    pieces = spheres.pieces
    count = np.diff(pieces.first)
    body = np.repeat(spheres.coarse.body[pieces.link], count)
    points = Spheres(body, pieces.corners, np.zeros(len(body)), ("",) * len(body))
    by_body, link = reaches(model, points, extent), np.repeat(pieces.link, count)
    return {k: by_body[link == k].max(axis=0) for k in sorted(set(pieces.link.tolist()))}
