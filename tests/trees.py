"""Random mechanisms for tests: any tree, oblique axes, fixed and mimic joints, and moving joints of every kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.describe.description import Description, Drive, Inertial, Joint, Limit, Link, Mimic, Origin
from dalembert.joints import JOINTS


def _triple(x) -> tuple[float, float, float]:
    return tuple(float(v) for v in x)


def _inertial(rng: np.random.Generator) -> Inertial:
    """A possible one: a cloud of points has a positive definite inertia within the triangle inequality."""
    points = rng.normal(size=(8, 3)) * 0.1
    mass = float(rng.uniform(0.2, 3.0))
    S = points.T @ points * mass / 8
    I = np.trace(S) * np.eye(3) - S
    six = tuple(float(I[i, j]) for i in range(3) for j in range(i, 3))
    return Inertial(mass, six, Origin(_triple(rng.normal(size=3) * 0.1), _triple(rng.uniform(-3, 3, 3))))


def _axis(rng: np.random.Generator, oblique: bool) -> tuple[float, float, float]:
    a = rng.normal(size=3) if oblique else np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
    return _triple(a / np.linalg.norm(a))


def random_tree(
    seed: int,
    joints: int,
    *,
    fixed: bool = True,
    mimic: bool = False,
    rotors: bool = False,
    friction: bool = False,
    oblique: bool = True,
    prismatic: bool = True,
    chain: bool = False,
    several: bool = False,
) -> Description:
    """A tree with `joints` moving joints (mimic ones included) and, if wanted, fixed ones among them; with `several`,
    two in three are helical, or have several coordinates."""
    rng = np.random.default_rng(seed)
    links = [Link("base", _inertial(rng))]
    out: list[Joint] = []
    movers: list[Joint] = []
    while len(movers) < joints:
        k = len(links)
        parent = links[-1 if chain else int(rng.integers(max(0, k - 4), k))].name
        links.append(Link(f"link{k}", _inertial(rng)))
        origin = Origin(_triple(rng.normal(size=3) * 0.3), _triple(rng.uniform(-3, 3, 3)))
        if fixed and rng.random() < 0.2:
            out.append(Joint(f"joint{k}", "fixed", parent, f"link{k}", origin))
            continue
        kind = "prismatic" if prismatic and rng.random() < 0.3 else "revolute"
        drive = Drive(
            rotor_inertia=float(rng.uniform(0, 1e-3)) if rotors else 0.0,
            gear_ratio=float(rng.uniform(-100, 100)) if rotors else 1.0,
            damping=float(rng.uniform(0, 1)) if friction else 0.0,
            coulomb=_triple(rng.uniform(0, 1, 3))[:2] if friction else (0.0, 0.0),
            stiffness=float(rng.uniform(0, 5)) if friction else 0.0,
            rest=float(rng.uniform(-1, 1)) if friction else 0.0,
        )
        if several and rng.random() < 0.67:
            kind = str(rng.choice(["helical", "spherical", "floating", "planar"]))
        lone = JOINTS[kind].direct
        follows = None
        masters = [joint for joint in movers if JOINTS[joint.kind].direct]
        if mimic and lone and masters and rng.random() < 0.3:
            master = masters[int(rng.integers(len(masters)))]
            follows = Mimic(master.name, float(rng.uniform(-2, 2)), float(rng.uniform(-1, 1)))
        joint = Joint(
            f"joint{k}",
            kind,
            parent,
            f"link{k}",
            origin,
            _axis(rng, oblique),
            Limit(-2.0, 2.0, 10.0, 5.0) if lone else None,
            follows,
            drive if lone else replace(drive, stiffness=0.0),
            pitch=float(rng.uniform(-0.3, 0.3)) if kind == "helical" else 0.0,
        )
        out.append(joint)
        movers.append(joint)
    gravity = _triple(rng.normal(size=3) * 5)
    return Description(f"tree{seed}", tuple(links), tuple(out), gravity)
