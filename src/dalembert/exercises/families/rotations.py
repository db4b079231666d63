"""Frames, rotations and homogeneous transforms."""

from __future__ import annotations

import numpy as np

from dalembert.arguments import Array
from dalembert.exercises.chapter import Drawn, Random, bracket, chapter, draw
from dalembert.spatial.pose import Pose
from dalembert.spatial.rotation import axis_angle, exp3, from_rpy, log3, to_rpy
from dalembert.spatial.vector import cross, skew

make = chapter(__file__, "frames and rotations")
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
# Cosine and sine of angles in triangles with the sides 3, 4, 5.
TRIANGLES = ((0.6, 0.8), (0.8, 0.6), (0.6, -0.8), (0.8, -0.6), (-0.6, 0.8), (-0.8, 0.6))


def about(axis: str, angle: float) -> Array:
    """The rotation about a coordinate axis by an angle in degrees."""
    return np.array(axis_angle(AXES[axis], np.radians(angle)), float)


def small(random: Random, n: int = 3, high: int = 5) -> Array:
    """Whole numbers of different sizes from 1 to `high`, of either sign."""
    return random.permutation(np.arange(1, high + 1))[:n] * random.choice([-1.0, 1.0], n)


def oblique(random: Random) -> Array:
    """A unit vector of thirds."""
    return random.permutation([1, 2, 2]) * random.choice([-1, 1], 3) / 3


@make
def compose_rotations(random: Random) -> Drawn:
    first, second = (str(axis) for axis in random.permutation(["x", "y", "z"])[:2])
    a, b = (draw(random, -120, -90, -60, -30, 30, 60, 90, 120, 180) for _ in range(2))
    fixed, R1, R2 = draw(random, False, True), about(first, a), about(second, b)
    R, other = (R2 @ R1, R1 @ R2) if fixed else (R1 @ R2, R2 @ R1)
    factors = [rf"R_{first}({a}^\circ)", rf"R_{second}({b}^\circ)"]
    product = r"\,".join(reversed(factors) if fixed else factors)
    which, kind, side = (f"fixed ${second}_0$", "fixed", "left") if fixed else (f"new ${second}$", "turned", "right")
    given = {"first": first, "second": second, "a": a, "b": b, "R1": R1, "R2": R2, "product": product}
    return given | {"which": which, "kind": kind, "side": side, "R": (R, other, R.T)}


@make
def change_frame(random: Random) -> Drawn:
    axis, (c, s), inverse = draw(random, *"xyz"), draw(random, *TRIANGLES), draw(random, False, True)
    R, x = np.array(axis_angle(AXES[axis], np.arctan2(s, c)), float), 5 * small(random, 3, high=4)
    given, asked, A = ("0", "1", R.T) if inverse else ("1", "0", R)
    formula = r"v^1 = R^\mathsf{T} v^0" if inverse else r"v^0 = R\,v^1"
    words = {"axis": axis, "given": given, "asked": asked, "formula": formula}
    return words | {"c": c, "s": s, "x": x, "R": R, "A": A, "v": (A @ x, A.T @ x, c * x)}


@make
def rpy_to_matrix(random: Random) -> Drawn:
    slot = int(random.integers(3))  # one angle is no multiple of 90°
    oblique_angles, right_angles = (-120, -60, -30, 30, 60, 120), (-90, 90, 180)
    roll, pitch, yaw = (draw(random, *(oblique_angles if k == slot else right_angles)) for k in range(3))
    Rx, Ry, Rz = about("x", roll), about("y", pitch), about("z", yaw)
    R = np.array(from_rpy((np.radians(roll), np.radians(pitch), np.radians(yaw))), float)
    given = {"roll": roll, "pitch": pitch, "yaw": yaw, "Rx": Rx, "Ry": Ry, "Rz": Rz, "Ryx": Ry @ Rx}
    return given | {"R": (R, Rx @ Ry @ Rz, R.T)}


@make
def matrix_to_rpy(random: Random) -> Drawn:
    roll, yaw = (draw(random, -150, -120, -60, -30, 30, 60, 120, 150) for _ in range(2))
    R = np.array(from_rpy((np.radians(roll), np.radians(draw(random, -60, -30, 30, 60)), np.radians(yaw))), float)
    r, p, y = np.round(np.degrees(to_rpy(tuple(map(tuple, R)))), 9)
    given = {"R": R, "sine": -R[2, 0], "cosine": float(np.hypot(R[0, 0], R[1, 0]))}
    given |= {"r11": R[0, 0], "r21": R[1, 0], "r32": R[2, 1], "r33": R[2, 2]}
    return given | {"roll": (r, r + 180), "pitch": (p, -p, 90 - p), "yaw": (y, y + 180)}


@make
def axis_and_angle(random: Random) -> Drawn:
    c, s = draw(random, (0.6, 0.8), (-0.6, 0.8), (0.8, 0.6), (-0.8, 0.6))
    R = np.array(axis_angle(tuple(oblique(random)), np.arctan2(s, c)), float)
    w = np.array(log3(tuple(map(tuple, R))))
    theta, trace = float(np.degrees(np.linalg.norm(w))), float(np.trace(R))
    differences, k = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]), w / np.linalg.norm(w)
    given = {"scaled": np.round(45 * R, 9), "trace": trace, "degrees": f"{theta:.2f}", "c": c, "s": s, "twice": 2 * s}
    by_trace = float(np.degrees(np.arccos(trace / 3)))
    return given | {"differences": differences, "theta": (theta, by_trace, 180 - theta), "k": (k, -k, differences)}


@make
def rodrigues(random: Random) -> Drawn:
    k, v, angle = oblique(random), 3.0 * small(random, 3, high=3), draw(random, 90, 270)
    s = 1 if angle == 90 else -1
    R, across, along = np.array(exp3(tuple(np.radians(angle) * k)), float), np.cross(k, v), float(k @ v)
    given = {"v": v, "k3": np.round(3 * k), "angle": angle, "s": s, "across": across, "along": along}
    return given | {"turned": (R @ v, R.T @ v, s * across)}


@make
def skew_matrix(random: Random) -> Drawn:
    w, r = small(random), small(random, high=3)
    S, v = np.array(skew(tuple(w)), float), np.array(cross(tuple(w), tuple(r)))

    def minor(i: int, j: int) -> str:
        return rf"{bracket(w[i])} \cdot {bracket(r[j])} - {bracket(w[j])} \cdot {bracket(r[i])}"

    given = {"omega": w, "r": r, "wx": w[0], "wy": w[1], "wz": w[2], "rows": [minor(1, 2), minor(2, 0), minor(0, 1)]}
    return given | {"S": (S, -S), "v": (v, -v, w * r)}


@make
def invert_transform(random: Random) -> Drawn:
    axis, (c, s), p = draw(random, *"xyz"), draw(random, *TRIANGLES), 5 * small(random, 3, high=3)
    pose = Pose(axis_angle(AXES[axis], np.arctan2(s, c)), tuple(p))
    T, R, inverse = (np.array(x, float) for x in (pose.matrix(), pose.R, pose.inverse().matrix()))
    minus, half = inverse.copy(), T.copy()
    minus[:3, 3], half[:3, :3] = -p, R.T
    return {"pose": T, "RT": R.T, "p": p, "back": -R.T @ p, "T": (inverse, minus, half)}


@make
def chain_of_frames(random: Random) -> Drawn:
    a, b = (str(axis) for axis in random.permutation(["x", "y", "z"])[:2])
    alpha, beta = (draw(random, -90, 90, 180) for _ in range(2))
    camera = Pose(axis_angle(AXES[a], np.radians(alpha)), tuple(small(random, 3, high=4)))
    seen = Pose(axis_angle(AXES[b], np.radians(beta)), tuple(small(random, 3, high=4)))
    found = camera @ seen
    R, p, Rc, pc, Ro, po = (np.round(x, 12) for x in (found.R, found.p, camera.R, camera.p, seen.R, seen.p))
    given = {"a": a, "b": b, "alpha": alpha, "beta": beta, "Rc": Rc, "Ro": Ro, "pc": pc, "po": po, "moved": Rc @ po}
    return given | {"p": (p, pc + po, po + Ro @ pc), "R": (R, Ro @ Rc, R.T)}
