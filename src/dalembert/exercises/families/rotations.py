"""Rotations and frames."""

from __future__ import annotations

import numpy as np

from dalembert.exercises.exercise import Answer, Exercise, Wrong, family
from dalembert.exercises.writing import degrees, matrix
from dalembert.spatial.rotation import axis_angle

TOPIC = "frames and rotations"
AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def about(axis: str, angle: float) -> np.ndarray:
    """The rotation about a coordinate axis by an angle in degrees."""
    return np.array(axis_angle(AXES[axis], np.radians(angle)), float)


@family("compose-rotations", TOPIC, 1)
def compose_rotations(random: np.random.Generator) -> Exercise:
    """Two rotations after each other."""
    first, second = random.permutation(["x", "y", "z"])[:2]
    a, b = (int(random.choice([-90, 30, 60, 90, 180])) for _ in range(2))
    R1, R2 = about(first, a), about(second, b)
    fixed = bool(random.integers(2))
    R, other = (R2 @ R1, R1 @ R2) if fixed else (R1 @ R2, R2 @ R1)
    frame = f"the fixed ${second}_0$ axis" if fixed else f"the new ${second}_1$ axis"
    side = "left" if fixed else "right"
    product = f"R_{second}({degrees(b)})\\,R_{first}({degrees(a)})"
    if not fixed:
        product = f"R_{first}({degrees(a)})\\,R_{second}({degrees(b)})"
    return Exercise(
        title="Two rotations after each other",
        text=f"A frame is turned by ${degrees(a)}$ about the ${first}_0$ axis, then by ${degrees(b)}$ about {frame}. "
        "Give the rotation matrix $R$ that maps coordinates in the turned frame to coordinates in frame 0.",
        answers=(
            Answer(
                "R",
                "matrix",
                R,
                size="a 3×3 matrix of which several entries are zero",
                points=2,
                wrong=(
                    Wrong(
                        other,
                        "The two factors are in the wrong order: a turn about a fixed axis multiplies from "
                        "the left, one about a new axis from the right.",
                        0.5,
                    ),
                    Wrong(R.T, "This is the transpose: it maps coordinates in frame 0 to the turned frame.", 0.5),
                ),
            ),
        ),
        hints=(
            "Write down the two elementary rotation matrices first.",
            f"A turn about an axis of the {'fixed' if fixed else 'turned'} frame multiplies from the {side}.",
            f"$R = {product}$.",
        ),
        solution=(
            f"The first turn is $R_{first}({degrees(a)}) = {matrix(R1)}$, the second one "
            f"$R_{second}({degrees(b)}) = {matrix(R2)}$.",
            f"The second turn is about {frame}, so its matrix multiplies from the {side}: $R = {product}$.",
            f"$R = {matrix(R)}$.",
        ),
        values={"first": first, "second": second, "angles": (a, b), "fixed": fixed},
    )
