"""Mechanisms for the tests of the property lab."""

from __future__ import annotations

import numpy as np

import dalembert as dl
from dalembert.describe.description import Description, Joint, Link, Mimic
from dalembert.trust.properties import Mechanism

M1, M2, L1, L2, G = 2.0, 3.0, 0.5, 0.7, 9.81


def two_points():
    """[Fakhari 2]'s arm: two links, a point mass at the end of each."""
    rows = [
        dl.describe.DHRow(
            a=L, inertial=dl.describe.Inertial(m, (0, 0, 0, 0, 0, 0), dl.describe.Origin((0.0, 0.0, 0.0)))
        )
        for m, L in ((M1, L1), (M2, L2))
    ]
    return dl.Robot.from_dh(rows, gravity=(0.0, -G, 0.0), name="points")


def mass_matrix(q):
    c = np.cos(q[1])
    b = M2 * (L1 * L2 * c + L2**2)
    return np.array([[M1 * L1**2 + M2 * (L1**2 + 2 * L1 * L2 * c + L2**2), b], [b, M2 * L2**2]])


def standard(q, v):
    h = M2 * L1 * L2 * np.sin(q[1])
    return np.array([[-h * v[1], -h * (v[0] + v[1])], [h * v[0], 0.0]])


def mdot_minus_half_u(q, v):
    """As [Fakhari 2] prints it."""
    h = M2 * L1 * L2 * np.sin(q[1])
    return np.array([[-2 * v[1] * h, -v[1] * h], [(v[0] - v[1] / 2) * h, v[0] * h / 2]])


def ut_minus_half_u(q, v):
    """Its last entry has a minus, which [Fakhari 2] lost: else C q̇ would have a term q̇₁ q̇₂ in the second row."""
    h = M2 * L1 * L2 * np.sin(q[1])
    return np.array([[0, -(2 * v[0] + v[1]) * h], [(v[0] + v[1] / 2) * h, -v[0] * h / 2]])


def gravity(q):
    far = M2 * G * L2 * np.cos(q[0] + q[1])
    return np.array([(M1 + M2) * L1 * G * np.cos(q[0]) + far, far])


def potential(q):
    return (M1 + M2) * G * L1 * np.sin(q[0]) + M2 * G * L2 * np.sin(q[0] + q[1])


def own(**changes):
    """The same arm as functions of ours, some of them replaced."""
    given = {
        "mass_matrix": mass_matrix,
        "coriolis_matrix": standard,
        "gravity_torque": gravity,
        "potential_energy": potential,
        **changes,
    }
    return Mechanism("mine", 2, **given)


def ball(mass=1.0):
    return dl.describe.Inertial(
        mass, (0.1 * mass, 0, 0, 0.1 * mass, 0, 0.1 * mass), dl.describe.Origin((0.1, 0.0, 0.2))
    )


def follower(kind, axis, multiplier):
    """A joint that turns without end about the vertical, and on its link one that follows it."""
    links = (Link("base"), Link("arm", ball()), Link("led", ball()))
    joints = (
        Joint("turn", "continuous", "base", "arm", axis=(0.0, 0.0, 1.0)),
        Joint("slide", kind, "arm", "led", axis=axis, mimic=Mimic("turn", multiplier, 0.0)),
    )
    return dl.Robot(Description("screw", links, joints, gravity=(0.0, 0.0, -9.81)))
