"""Inertia: point masses, rods, Steiner's theorem, turned tensors, what a URDF file means."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalembert.arguments import Array
from dalembert.exercises.chapter import Drawn, Random, chapter, draw
from dalembert.exercises.families.rotations import AXES, TRIANGLES, about, small
from dalembert.spatial.inertia import Inertia, second_moment
from dalembert.spatial.pose import Pose
from dalembert.spatial.rotation import axis_angle, from_rpy

make = chapter(__file__, "inertia")
NOTHING = ((0.0, 0.0, 0.0),) * 3


def point(m: float, p: Array) -> Inertia:
    return Inertia.from_com(m, tuple(map(float, p)), NOTHING)


def tensor(inertia: Inertia) -> Array:
    """The inertia tensor about the frame's origin."""
    return np.array(inertia.matrix(), float)[3:, 3:]


@make
def point_masses(random: Random) -> Drawn:
    m1, m2, m3 = (draw(random, 1, 2, 3) for _ in range(3))
    p = [
        small(random, 3, high=3) * draw(random, *zeros)
        for zeros in (((1, 1, 1),), ((1, 1, 0), (1, 0, 1)), ((0, 1, 1),))
    ]
    body = point(m1, p[0]) + point(m2, p[1]) + point(m3, p[2])
    I = tensor(body)
    mass, diagonal = m1 + m2 + m3, np.diag(np.diag(I))
    moments = np.diag(sum(m * x * x for m, x in zip((m1, m2, m3), p, strict=True)))
    given: dict[str, Any] = {"m1": m1, "m2": m2, "m3": m3, "p1": p[0], "p2": p[1], "p3": p[2], "mass": mass}
    given |= {"xx": I[0, 0], "yy": I[1, 1], "zz": I[2, 2], "xy": I[0, 1], "xz": I[0, 2], "yz": I[1, 2]}
    for axis, name in enumerate(("sum_x", "sum_y", "sum_z")):  # m (a² + b²) of each ball
        pairs = [(m, *np.delete(x, axis) ** 2) for m, x in zip((m1, m2, m3), p, strict=True)]
        given[name] = " + ".join(rf"{m} \cdot ({a:g} + {b:g})" for m, a, b in pairs)
    squared = I[2, 2] / mass
    radii = (math.sqrt(squared), math.sqrt(I[2, 2]), squared)
    return given | {"I": (I, 2 * diagonal - I, I - diagonal + moments), "k": radii}


@make
def rod_and_ball(random: Random) -> Drawn:
    m, M, l = draw(random, 3, 6, 9, 12), draw(random, 1, 2, 3, 5), draw(random, 0.5, 1, 2, 3)
    rod = Inertia.from_com(m, (l / 2, 0.0, 0.0), tuple(map(tuple, np.diag([0, 1, 1]) * m * l * l / 12)))
    body = rod + point(M, np.array([l, 0, 0]))
    I_O, I_c, c = tensor(body)[2, 2], float(np.array(body.about_com())[2, 2]), float(body.com()[0])
    given = {"m": m, "M": M, "l": l, "mass": m + M, "moment": m * l / 2 + M * l, "rod": m * l * l / 3}
    given |= {"ball": M * l * l}
    given |= {"steiner": (m + M) * c * c}
    middle, none, added = m * l * l / 12 + M * l * l, m * l * l / 3, I_O + (m + M) * c * c
    c_wrong = (m * l / 2 + M * l, l)
    return given | {"c": (c, *c_wrong), "I_O": (I_O, middle, none), "I_c": (I_c, added, I_O - m * c * c)}


@make
def rotate_inertia(random: Random) -> Drawn:
    axis, (c, s) = draw(random, *"xyz"), draw(random, *TRIANGLES)
    b = 25 * np.array(draw(random, (1, 2, 2), (2, 3, 4), (1, 3, 3), (3, 4, 2), (4, 2, 3), (3, 1, 3), (4, 3, 2))) / 100
    if len({float(x) for x, other in zip(b, "xyz", strict=True) if other != axis}) == 1:
        b = np.roll(b, 1)  # equal moments across the axis: the turn would change nothing
    omega, R = small(random, 3, high=4), np.array(axis_angle(AXES[axis], np.arctan2(s, c)), float)
    body = Inertia.from_com(1.0, (0.0, 0.0, 0.0), tuple(map(tuple, np.diag(b)))).to_parent(Pose(tuple(map(tuple, R))))
    I = np.round(tensor(body), 12)
    K = float(omega @ I @ omega) / 2
    given = {"i1": b[0], "i2": b[1], "i3": b[2], "axis": axis, "c": c, "s": s, "omega": omega, "R": R}
    given |= {"RI": R @ np.diag(b), "trace": float(b.sum()), "momentum": I @ omega}
    K_own = float(omega @ np.diag(b) @ omega) / 2
    return given | {"I": (I, R.T @ np.diag(b) @ R, R @ np.diag(b)), "K": (K, K_own, 2 * K)}


@make
def urdf_inertia(random: Random) -> Drawn:
    slot, m = draw(random, 0, 1, 2), draw(random, 1, 2, 4)
    p = small(random, 3, high=3) / 10 * draw(random, (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1)) + 0.0
    b = np.array(draw(random, (0.02, 0.04, 0.05), (0.03, 0.05, 0.06), (0.04, 0.02, 0.03), (0.06, 0.04, 0.03)))
    rpy = [math.pi / 2 if k == slot else 0.0 for k in range(3)]
    about_com = about("xyz"[slot], 90) @ np.diag(b) @ about("xyz"[slot], 90).T
    pose = Pose(from_rpy(tuple(rpy)), tuple(p))
    I = np.round(tensor(Inertia.from_com(m, (0.0, 0.0, 0.0), tuple(map(tuple, np.diag(b)))).to_parent(pose)), 12)
    steiner = np.round(m * np.array(second_moment(tuple(p))), 12)
    plus = 2 * np.diag(np.diag(steiner)) - steiner
    j1, j2, j3 = np.round(np.diag(about_com), 12)
    given = {"xyz": " ".join(f"{x:g}" for x in p), "rpy": " ".join("1.5708" if x else "0" for x in rpy), "m": m, "p": p}
    given |= {"ixx": b[0], "iyy": b[1], "izz": b[2], "j1": j1, "j2": j2, "j3": j3, "steiner": steiner}
    return given | {"axis": f"${'xyz'[slot]}$", "I": (I, np.diag(b) + steiner, about_com, about_com + plus)}
