"""A small biped for tests, a trunk on two legs of six joints, and the humanoids of example-robot-data."""

from __future__ import annotations

import site
import warnings
from functools import cache
from pathlib import Path

import numpy as np

import dalembert as dl
from dalembert.describe.urdf_read import read_urdf

ROBOTS = Path(site.getsitepackages()[0]) / "cmeel.prefix/share/example-robot-data/robots"
FEET = ("left_foot", "right_foot")
SOLE = (0.2, 0.1)


def _link(name: str, mass: float, length: float) -> str:
    i = mass * max(length, 0.1) ** 2 / 12
    return (
        f'<link name="{name}"><inertial><origin xyz="0 0 {-length / 2}"/><mass value="{mass}"/>'
        f'<inertia ixx="{i}" iyy="{i}" izz="{i / 2}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def _joint(name: str, parent: str, child: str, axis: str, xyz: str, effort: float) -> str:
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}"/>'
        f'<axis xyz="{axis}"/><limit lower="-2" upper="2" effort="{effort}" velocity="10"/></joint>'
    )


@cache
def biped(effort: float = 300.0) -> dl.Robot:
    x, y, z = "1 0 0", "0 1 0", "0 0 1"
    parts = [_link("trunk", 20.0, -0.5)]
    for side, at in (("left", 0.1), ("right", -0.1)):
        chain = (
            ("yaw", "trunk", z, f"0 {at} 0", 0.5, 0.0),
            ("roll", "yaw", x, "0 0 0", 0.5, 0.0),
            ("hip", "roll", y, "0 0 0", 4.0, 0.4),
            ("knee", "hip", y, "0 0 -0.4", 3.0, 0.4),
            ("ankle", "knee", y, "0 0 -0.4", 0.3, 0.0),
            ("foot", "ankle", x, "0 0 0", 1.0, 0.05),
        )
        for name, parent, axis, xyz, mass, length in chain:
            above = parent if parent == "trunk" else f"{side}_{parent}"
            parts.append(_link(f"{side}_{name}", mass, length))
            parts.append(_joint(f"{side}_{name}_joint", above, f"{side}_{name}", axis, xyz, effort))
    text = f'<robot name="biped">{"".join(parts)}</robot>'
    return dl.Robot(read_urdf(text)).with_base("floating")


def standing(robot: dl.Robot, **bent: float) -> np.ndarray:
    """The home with some joints elsewhere."""
    q = robot.home
    for name, value in bent.items():
        q[robot.model.coordinates[robot.joint_names.index(name)].position] = value
    return q


def knees(robot: dl.Robot, angle: float = 0.5) -> np.ndarray:
    """The biped with bent knees, its soles level."""
    bent = {"hip": -angle, "knee": 2 * angle, "ankle": -angle}
    return standing(robot, **{f"{s}_{j}_joint": x for s in ("left", "right") for j, x in bent.items()})


HUMANOIDS = {
    "talos": (
        "talos_data/robots/talos_reduced.urdf",
        ("left_sole_link", "right_sole_link"),
        {f"leg_{s}_{k}_joint": x for s in ("left", "right") for k, x in ((3, -0.4), (4, 0.8), (5, -0.4))},
        (0.2, 0.12),
    ),
    "g1": (
        "g1_description/urdf/g1_29dof_rev_1_0.urdf",
        ("left_ankle_roll_link", "right_ankle_roll_link"),
        {
            f"{s}_{j}_joint": x
            for s in ("left", "right")
            for j, x in (("hip_pitch", -0.3), ("knee", 0.6), ("ankle_pitch", -0.3))
        },
        # The spheres it stands on, of the file itself.
        [[-0.05, 0.025, -0.03], [-0.05, -0.025, -0.03], [0.12, 0.03, -0.03], [0.12, -0.03, -0.03]],
    ),
}


@cache
def humanoid(name: str) -> tuple[dl.Robot, np.ndarray, dl.Constrained]:
    """(robot, a posture with bent knees, the robot on its two feet)."""
    file, feet, bent, sole = HUMANOIDS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        robot = dl.load(ROBOTS / file, base="floating")
    q = standing(robot, **bent)
    contacts = [dl.constrained.contact(f, robot.fk(q, f), sole=sole, friction=0.6) for f in feet]
    return robot, q, dl.Constrained(robot, contacts)
