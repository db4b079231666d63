"""Denavit–Hartenberg tables, forward and inverse kinematics."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any

import numpy as np

from dalembert.algorithms.kinematics import forward_kinematics
from dalembert.arguments import Array
from dalembert.describe.dh import check_dh_frames, dh_parameters, from_dh, screw_x, screw_z
from dalembert.exercises.chapter import Drawn, Random, chapter, draw, tex
from dalembert.model import Model
from dalembert.model.build import build
from dalembert.spatial.pose import Pose
from dalembert.symbolic.equations import Equations

make = chapter(__file__, "kinematics")


def model_of(rows: list[dict[str, Any]], gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Model:
    """The model of a DH table."""
    return build(from_dh(rows, gravity=gravity))


def cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine of degrees, zeros and ones exact."""
    return round(math.cos(math.radians(angle)), 15), round(math.sin(math.radians(angle)), 15)


def pose_of(theta: float, d: float, a: float, alpha: float) -> Pose:
    """A of a row of a standard table, angles in degrees."""
    return screw_z(math.radians(theta), d) @ screw_x(a, math.radians(alpha))


def matrix_of(pose: Pose) -> Array:
    return np.round(np.array(pose.matrix(), float), 12)


@make
def dh_row(random: Random) -> Drawn:
    theta, alpha = draw(random, -120, -60, -30, 30, 60, 90, 120), draw(random, -90, 90, 180, 30, -30)
    d, a = draw(random, 1, 2, 3), draw(random, 2, 4, 6)
    A = matrix_of(pose_of(theta, d, a, alpha))
    modified = matrix_of(screw_x(a, math.radians(alpha)) @ screw_z(math.radians(theta), d))
    straight = A.copy()
    straight[:3, 3] = (a, 0, d)
    (ct, st), (ca, sa) = cos_sin(theta), cos_sin(alpha)
    given = {"theta": theta, "d": d, "a": a, "alpha": alpha, "ct": ct, "st": st, "ca": ca, "sa": sa, "R": A[:3, :3]}
    given |= {"px": A[0, 3], "py": A[1, 3]}
    return given | {"A": (A, modified, matrix_of(pose_of(theta, d, a, -alpha)), straight)}


def along(v: Array) -> str:
    """A coordinate direction of frame 0 in words: +y_0."""
    k = int(np.argmax(np.abs(v)))
    return f"{'+' if v[k] > 0 else '-'}{'xyz'[k]}_0"


@make
def dh_table(random: Random) -> Drawn:
    rows = []
    for _ in range(2):
        a, d = random.permutation([1, 2, 3, 4, 5])[:2]
        theta, alpha = draw(random, -90, 0, 90, 180), draw(random, -90, 90)
        rows.append([theta, int(d) * draw(random, -1, 1), int(a), alpha])
    T1 = pose_of(*rows[0])
    T2 = T1 @ pose_of(*rows[1])
    found = [dh_parameters(T1), dh_parameters(T1.inverse() @ T2)]  # θ, d, a, α again
    table = np.array([[round(math.degrees(t)), round(d), round(a), round(math.degrees(al))] for t, d, a, al in found])
    table[table == -180] = 180
    (t1, d1, a1, al1), (t2, d2, a2, al2) = table.tolist()
    F1, F2 = matrix_of(T1), matrix_of(T2)
    sign, swapped, absolute = table.copy(), table[:, [0, 2, 1, 3]], table.copy()
    sign[:, 3] *= -1
    absolute[1, 0], absolute[1, 3] = (t1 + t2 + 180) % 360 - 180, (al1 + al2 + 180) % 360 - 180
    given = {"o1": F1[:3, 3], "o2": F2[:3, 3], "step": F2[:3, 3] - F1[:3, 3], "d1": d1, "d2": d2, "a1": a1, "a2": a2}
    given |= {"x1": along(F1[:, 0]), "z1": along(F1[:, 2]), "x2": along(F2[:, 0]), "z2": along(F2[:, 2])}
    given |= {"t1": t1, "t2": t2, "al1": al1, "al2": al2}
    return given | {"table": (table.astype(float), sign, swapped, absolute)}


@make
def dh_conditions(random: Random) -> Drawn:
    level, meets = draw(random, False, True), draw(random, False, True)
    c, s = draw(random, (0.6, 0.8), (0.8, 0.6), (-0.6, 0.8), (0.6, -0.8))
    x1 = np.array([c, s, 0.0] if level else draw(random, [c, 0.0, s], [c, 0.0, -s]))
    t = 5 * draw(random, -2, -1, 1, 2)
    o1 = -t * x1 + np.array([0, 0 if meets else draw(random, -2, -1, 1, 2), draw(random, -2, 1, 3)])
    z1 = np.cross(x1, [0, 1, 0]) if not level else np.array([0.0, 0, 1])
    rotation = tuple(map(tuple, np.column_stack([x1, np.cross(z1, x1), z1])))
    checked = check_dh_frames(Pose(), Pose(rotation, tuple(o1)))
    words = {True: ("yes", "no"), False: ("no", "yes")}
    given = {"o1": o1, "x1": x1, "dot": x1[2], "t": t, "left": (o1 + t * x1)[1]}
    return given | {"DH1": words[checked.dh1], "DH2": words[checked.dh2]}


@make
def fk_planar(random: Random) -> Drawn:
    l1, l2, l3 = (int(x) for x in random.permutation([1, 2, 3, 4])[:3])
    q1, q2, q3 = (draw(random, -90, -60, -30, 30, 60, 90, 120) for _ in range(3))
    model = model_of([{"a": l1}, {"a": l2}, {"a": l3}])
    T = forward_kinematics(model, tuple(map(math.radians, (q1, q2, q3))), model.frame("tool"))
    (c1, s1), (c12, s12), (c123, s123) = cos_sin(q1), cos_sin(q1 + q2), cos_sin(q1 + q2 + q3)
    given: dict[str, Any] = {"l1": l1, "l2": l2, "l3": l3, "q1": q1, "q2": q2, "q3": q3, "q12": q1 + q2}
    given |= {"c1": c1, "s1": s1, "c12": c12, "s12": s12, "c123": c123, "s123": s123}
    x, y = round(float(T.p[0]), 12), round(float(T.p[1]), 12)
    apart = [sum(l * cos_sin(q)[k] for l, q in ((l1, q1), (l2, q2), (l3, q3))) for k in (0, 1)]
    return given | {"x": (x, apart[0], y), "y": (y, apart[1], x), "phi": (q1 + q2 + q3, q3)}


Rows = tuple[tuple[bool, float, float, float], ...]  # whether the joint turns, d, a, α in degrees


@cache
def tip_formulas(rows: Rows) -> list[str]:
    """The position of the last frame of a DH table in q1, q2, … and in letters d1, a1, … where a length is not zero."""
    keys = [{"kind": "revolute" if turns else "prismatic", "d": d, "a": a} for turns, d, a, _ in rows]
    angles = [{"alpha": math.radians(alpha)} for *_, alpha in rows]
    e = Equations(from_dh([k | a for k, a in zip(keys, angles, strict=True)]))
    lines = dict(line.split(" = ") for line in e.text("T", long=True).splitlines())
    return [lines[f"T{i}4"] for i in (1, 2, 3)]


def tip(rows: Rows, first: int = 0) -> list[str]:
    """The same in frame `first`, with the numbers of the table for the letters."""
    plain = tuple((turns, float(d != 0), float(a != 0), alpha) for turns, d, a, alpha in rows[first:])

    def number(found: re.Match[str]) -> str:
        k = int(found[2]) + first
        return f"q{k}" if found[1] == "q" else str(rows[k - 1][1 if found[1] == "d" else 2])

    return [re.sub(r"\b([qdal])(\d)\b", number, x) for x in tip_formulas(plain)]


# Rows of DH tables: revolute or prismatic, d, a (letters, or . for zero), α.
ARMS = {
    "A cylindrical arm turns about a vertical axis, slides up along it, then slides outward.": "Rh.0 P..90 P..0",
    "A spherical arm turns about a vertical axis, then about a horizontal one that meets it, then slides outward.": (
        "Rh.90 R..90 P..0"
    ),
    "Three joints of a Stanford arm: a vertical axis, a horizontal one with a shoulder set off along it, a slide.": (
        "Rh.90 Rb.90 P..0"
    ),
    "A SCARA turns about two vertical axes, then slides downward.": "Rha0 R.b180 P..0",
    "An elbow arm turns about a vertical axis, then about two parallel horizontal ones.": "Rh.90 R.a0 R.b0",
}


@make
def fk_spatial(random: Random) -> Drawn:
    h, a, b = (int(x) for x in random.permutation([2, 3, 4, 5])[:3])
    words, letters = draw(random, *ARMS.items())
    numbers = {".": 0, "h": h, "a": a, "b": b}
    rows: Rows = tuple(
        (
            row[0] == "R",
            numbers[row[1]],
            numbers[row[2]],
            int(row[3:]) * (draw(random, -1, 1) if row[3:] == "90" else 1),
        )
        for row in letters.split()
    )
    slip = max(k for k in range(3) if rows[k][3])
    turned = -rows[slip][3] if abs(rows[slip][3]) == 90 else 0
    flipped = tuple((*row[:3], turned if k == slip else row[3]) for k, row in enumerate(rows))
    low = ((rows[0][0], 0, rows[0][2], rows[0][3]), *rows[1:])
    table = [
        rf"| {k} | {f'$q_{k}$' if t else 0} | {d if t else f'$q_{k}$'} | {a} | ${alpha}^\circ$ |"
        for k, (t, d, a, alpha) in enumerate(rows, 1)
    ]
    shown = {name: [tex(x) for x in tip(rows, k)] for k, name in enumerate(("shown", "p1", "p2"))}
    given = {"arm": words, "rows": "\n".join(table), "dh": np.array(rows), "slip": str(slip + 1), "d1": h}
    return given | shown | {"p": (tip(rows), tip(flipped), tip(low))}


@make
def ik_planar(random: Random) -> Drawn:
    k = draw(random, 1, 2, 3)
    l1, l2, q2, beta = draw(
        random, (k, k, 60, 30), (k, k, 90, 45), (k, k, 120, 60), (2 * k, k, 120, 30), (k, 2 * k, 120, 90)
    )
    q1 = draw(random, -60, -30, 0, 30, 60, 90)
    model = model_of([{"a": l1}, {"a": l2}])
    x, y, _ = np.round(
        forward_kinematics(model, (math.radians(q1), math.radians(q2)), model.frame("tool")).p, 12
    ).tolist()
    c, s = cos_sin(q2)
    given = {"l1": l1, "l2": l2, "x": x, "y": y, "rr": round(x * x + y * y, 9), "l11": l1 * l1, "l22": l2 * l2}
    given |= {"twice": 2 * l1 * l2, "cosine": c, "gamma": q1 + beta, "beta": beta, "adjacent": l1 + l2 * c}
    given |= {"opposite": l2 * s}
    other = 180 - (180 - q1 - 2 * beta) % 360
    return given | {"q2": (q2, 180 - q2, -q2), "q1": (q1, other, q1 + beta), "q1_other": (other, q1)}
