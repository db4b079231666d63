"""Jacobians: of a tip, column by column, of a center of mass, of Euler angles."""

from __future__ import annotations

import math

import numpy as np

from dalembert.algorithms.jacobians import jacobian
from dalembert.exercises.chapter import Drawn, Random, chapter, draw, tex
from dalembert.exercises.families.kinematics import cos_sin, model_of
from dalembert.exercises.families.rotations import about, small
from dalembert.spatial.rotation import euler_rates, from_euler
from dalembert.spatial.vector import cross

make = chapter(__file__, "Jacobians")


@make
def jacobian_planar(random: Random) -> Drawn:
    l1, l2 = (int(x) for x in random.permutation([1, 2, 3, 4])[:2])
    q1, q2 = draw(random, -60, -30, 30, 60), draw(random, -90, -60, 60, 90, 120)
    w1, w2 = small(random, 2, high=3)
    model = model_of([{"a": l1}, {"a": l2}])
    J = np.round(np.array(jacobian(model, (math.radians(q1), math.radians(q2)), model.frame("tool")))[:2], 12)
    (c1, s1), (c2, s2), (c12, s12) = cos_sin(q1), cos_sin(q2), cos_sin(q1 + q2)
    short = np.column_stack([[-l1 * s1, l1 * c1], J[:, 1]])
    own = np.array([[-l1 * s1 - l2 * s2, -l2 * s2], [l1 * c1 + l2 * c2, l2 * c2]])
    given = {"l1": l1, "l2": l2, "q1": q1, "q2": q2, "q12": q1 + q2, "w1": w1, "w2": w2, "rates": np.array([w1, w2])}
    given |= {"s1": s1, "c1": c1, "s12": s12, "c12": c12}
    rates = np.array([w1, w2])
    return given | {"J": (J, short, own, np.array([J[1], -J[0]])), "v": (J @ rates, short @ rates)}


@make
def jacobian_columns(random: Random) -> Drawn:
    axes = [str(a) for a in random.permutation(["x", "y", "z"])]
    z0, z1, z2 = (draw(random, -1.0, 1.0) * np.eye(3)["xyz".index(a)] for a in axes)
    o0, o1 = np.zeros(3), small(random)
    o3 = o1 + draw(random, 1, 2, 3, 4) * z2 + draw(random, 0, 1, 2) * np.cross(z1, z2)
    v1, v2 = (np.array(cross(tuple(z), tuple(r))) for z, r in ((z0, o3 - o0), (z1, o3 - o1)))
    J = np.block([[v1[:, None], v2[:, None], z2[:, None]], [z0[:, None], z1[:, None], np.zeros((3, 1))]])
    reverse, turning, lever = J.copy(), J.copy(), J.copy()
    reverse[:3, :2] *= -1
    turning[:3, 2], turning[3:, 2] = np.cross(z2, o3 - o1), z2
    lever[:3, 1] = np.cross(z1, o3)
    given = {"z0": z0, "z1": z1, "z2": z2, "o0": o0, "o1": o1, "o3": o3, "r1": o3, "r2": o3 - o1, "v1": v1, "v2": v2}
    return given | {"J": (J, reverse, turning, lever)}


def planar_jacobian(l1: float, l2: float, angle: str = "q1 + q2") -> list[list[str]]:
    """∂(x, y)/∂(q1, q2) of a 2R arm, as text."""
    x, y = f"{l2:g}*sin({angle})", f"{l2:g}*cos({angle})"
    return [[f"-{l1}*sin(q1) - {x}", f"-{x}"], [f"{l1}*cos(q1) + {y}", y]]


@make
def com_jacobian(random: Random) -> Drawn:
    l1, l2 = draw(random, 2, 3, 4, 5, 6), draw(random, 3, 5, 6)
    r2 = draw(random, 0.5, 0.25, 0.75) * l2
    J = planar_jacobian(l1, r2)
    given = {"l1": l1, "l2": l2, "r2": r2, "shown": [[tex(x) for x in row] for row in J]}
    return given | {"J": (J, planar_jacobian(l1, l2), planar_jacobian(l1, r2, "q2"))}


@make
def euler_rates_of_a_tool(random: Random) -> Drawn:
    a1, a2, a3 = (draw(random, -60, -30, 30, 60, 90, 120) for _ in range(3))
    rates = small(random, 3, high=4)
    B = np.round(np.array(euler_rates([cos_sin(a) for a in (a1, a2, a3)], "zyz"), float), 12)
    R = np.array(from_euler(tuple(np.radians((a1, a2, a3))), "zyz"), float)
    plain = np.column_stack([[0, 0, 1], [0, 1, 0], about("y", a2) @ [0, 0, 1]])
    given = {"a1": a1, "a2": a2, "a3": a3, "rates": rates, "axis2": B[:, 1], "axis3": B[:, 2]}
    return given | {"B": (B, plain, R.T @ B), "omega": (B @ rates, rates)}
