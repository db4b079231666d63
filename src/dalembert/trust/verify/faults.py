"""The table of causes: faults by which two descriptions of one robot usually differ, each as a change of a linkage.

A fault is planted in one part, or in every part that can have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.trust.verify.linkage import (
    ZERO,
    Array,
    Linkage,
    LinkData,
    Six,
    Three,
    angles,
    multiply_poses,
    rotation,
    scale_inertia,
    tensor,
    three,
)
from dalembert.trust.verify.reread import TableRow, of_table

Change = Callable[[Linkage, int], LinkData]
IDENTITY = np.eye(3)


@dataclass(frozen=True)
class Fault:
    """`change(linkage, i)` is part i with the fault, the same part if it cannot have it. `moves`: it changes where
    things are, not only what they weigh. `words` end the sentence "behaves as if …"; {} names the parts concerned.
    `whole`: it is made in all parts or in none."""

    cause: str
    words: str
    change: Change
    moves: bool = False
    whole: bool = False

    def candidates(self, m: Linkage) -> tuple[int, ...]:
        """The parts that the fault would change."""
        return tuple(i for i in range(len(m.parts)) if self.change(m, i) != m.parts[i])

    def plant(self, m: Linkage, places: tuple[int, ...]) -> Linkage:
        return m.with_parts({i: self.change(m, i) for i in places})


# inertials


def _six(I: Array) -> Six:
    return float(I[0, 0]), float(I[0, 1]), float(I[0, 2]), float(I[1, 1]), float(I[1, 2]), float(I[2, 2])


def _turned(part: LinkData, R: Array) -> LinkData:
    """The inertia as it would be with R for the rotation of its axes."""
    if not any(part.inertial_rpy):
        return part
    return replace(part, inertia=_six(R @ tensor(part.inertia) @ R.T), inertial_rpy=ZERO)


def _reverse_order(rpy: Three) -> Array:
    """Rx(roll) Ry(pitch) Rz(yaw)."""
    r, p, y = rpy
    return np.asarray(rotation((r, 0.0, 0.0)) @ rotation((0.0, p, 0.0)) @ rotation((0.0, 0.0, y)))


def _nothing(part: LinkData) -> LinkData:
    return replace(part, mass=0.0, inertia=(0.0,) * 6, com=ZERO, inertial_rpy=ZERO)


def _moves(m: Linkage, i: int) -> bool:
    return bool(m.paths[i])


def _fixed_dropped(m: Linkage, i: int) -> LinkData:
    p = m.parts[i]
    heavy = p.mass or any(p.inertia)
    return _nothing(p) if p.kind == "fixed" and p.parent >= 0 and heavy and _moves(m, i) else p


def _lumped(moved: bool, turned: bool) -> Change:
    """A fixed link's inertia added to its carrier's as if its frame were not moved there, or not turned."""

    def change(m: Linkage, i: int) -> LinkData:
        p, T = m.parts[i], np.eye(4)
        if p.kind != "fixed" or p.parent < 0 or not p.mass or not _moves(m, i):
            return p
        while i >= 0 and m.parts[i].kind == "fixed":
            T = multiply_poses((*m.parts[i].before, *m.parts[i].after)) @ T
            i = m.parts[i].parent
        wrong = np.eye(4)
        wrong[:3, :3], wrong[:3, 3] = T[:3, :3] if turned else IDENTITY, T[:3, 3] if moved else ZERO
        if np.abs(T - wrong).max() < 1e-12:
            return p
        step = np.linalg.inv(T) @ wrong  # what it was taken for, in the link's own frame
        com = step[:3, :3] @ np.array(p.com) + step[:3, 3]
        return replace(p, com=three(com), inertial_rpy=angles(step[:3, :3] @ rotation(p.inertial_rpy)))

    return change


def _link_dropped(m: Linkage, i: int) -> LinkData:
    p = m.parts[i]
    return _nothing(p) if p.kind != "fixed" and (p.mass or any(p.inertia)) else p


def _in_link(change: Callable[[LinkData], LinkData]) -> Change:
    """A change of a link that moves and weighs something."""
    return lambda m, i: change(m.parts[i]) if _moves(m, i) else m.parts[i]


def _products(factor: float) -> Callable[[LinkData], LinkData]:
    def change(p: LinkData) -> LinkData:
        xx, xy, xz, yy, yz, zz = p.inertia
        return replace(p, inertia=(xx, factor * xy, factor * xz, yy, factor * yz, zz)) if xy or xz or yz else p

    return change


def _steiner(times: float) -> Callable[[LinkData], LinkData]:
    """The inertia with m (c·c 1 − c cᵀ) added `times` times too often."""

    def change(p: LinkData) -> LinkData:
        c = np.array(p.com)
        if not p.mass or not c.any():
            return p
        R = rotation(p.inertial_rpy)
        I = R @ tensor(p.inertia) @ R.T + times * p.mass * (c @ c * IDENTITY - np.outer(c, c))
        return replace(p, inertia=_six(I), inertial_rpy=ZERO)

    return change


def _scaled(mass: float = 1.0, com: float = 1.0, inertia: float = 1.0) -> Callable[[LinkData], LinkData]:
    def change(p: LinkData) -> LinkData:
        return replace(scale_inertia(p, mass, inertia), com=three(com * x for x in p.com)) if p.mass else p

    return change


def _other_order(p: LinkData) -> LinkData:
    """(ixx, ixy, iyy, ixz, iyz, izz), the lower triangle row by row, read as the upper one."""
    xx, xy, xz, yy, yz, zz = p.inertia
    return replace(p, inertia=(xx, xy, yy, xz, yz, zz))


# joints


def _rows(part: LinkData, change: Callable[[Three, Three], tuple[Three, Three]]) -> LinkData:
    return replace(part, before=tuple(change(xyz, rpy) for xyz, rpy in part.before))


def _origin(change: Callable[[Three, Three], tuple[Three, Three]]) -> Change:
    return lambda m, i: _rows(m.parts[i], change) if m.table is None else m.parts[i]


def _all_turned(way: Callable[[Three], Array]) -> Change:
    """Every rotation that is written as rpy, of joints and of inertials."""

    def change(m: Linkage, i: int) -> LinkData:
        p = _turned(m.parts[i], way(m.parts[i].inertial_rpy))
        return _rows(p, lambda xyz, rpy: (xyz, _other(rpy, way)))

    return change


def _other(rpy: Three, way: Callable[[Three], Array]) -> Three:
    return angles(way(rpy)) if any(rpy) and np.abs(way(rpy) - rotation(rpy)).max() > 1e-12 else rpy


def _transposed(rpy: Three) -> Array:
    return np.asarray(rotation(rpy).T)


def _joint(change: Callable[[LinkData], LinkData]) -> Change:
    return lambda m, i: change(m.parts[i]) if m.parts[i].kind != "fixed" else m.parts[i]


def _follower(change: Callable[[LinkData], LinkData]) -> Change:
    return lambda m, i: change(m.parts[i]) if m.parts[i].follows is not None else m.parts[i]


def _sides(*sides: int | None) -> Callable[[LinkData], LinkData]:
    """Coulomb's level for positive and for negative velocities, each one of those written, or none."""

    def change(p: LinkData) -> LinkData:
        positive, negative = (0.0 if side is None else p.coulomb[side] for side in sides)
        return replace(p, coulomb=(positive, negative))

    return change


def _in_parent(p: LinkData) -> LinkData:
    axis = multiply_poses(p.before)[:3, :3].T @ np.array(p.axis)
    return replace(p, axis=three(axis)) if np.abs(axis - p.axis).max() > 1e-12 else p


def _base(m: Linkage, i: int) -> LinkData:
    """The pose of what stands before the first moving joint: fixed joints there, or a DH table's base."""
    p = m.parts[i]
    if m.paths[i] and not (m.table is not None and m.paths[i] == (i,)):
        return p
    if p.parent < 0:
        return p
    kept = p.before[len(m.table.base) :] if m.table is not None else ()
    return replace(p, before=kept) if np.abs(multiply_poses(p.before) - multiply_poses(kept)).max() > 1e-12 else p


def _first_joint(m: Linkage, i: int) -> LinkData:
    p = m.parts[i]
    first = p.kind != "fixed" and m.paths[i] == (i,) and m.table is None
    return replace(p, before=()) if first and np.abs(multiply_poses(p.before) - np.eye(4)).max() > 1e-12 else p


def _replace(**fields: object) -> Callable[[LinkData], LinkData]:
    """A part with these fields; of a function of the part, what it gives."""

    def change(p: LinkData) -> LinkData:
        new: dict[str, Any] = {name: value(p) if callable(value) else value for name, value in fields.items()}
        return replace(p, **new)

    return change


_FRAME, _INERTIA, _COM = "the rotation of the inertial frame of {}", "the inertia of {}", "the center of mass of {}"
_ORIGIN, _ANGLES = "the rotation of joint origin {}", "the angles of joint origin {}"
_MIMIC, _RUBBING, _THOUSAND = "of the mimic joint {}", "damping and Coulomb friction of {}", "a thousand times"
# (cause, what the other side behaves as if, the change), by what may have the fault.
_ANYWHERE: tuple[tuple[str, str, Change], ...] = (
    ("fixed-joint lumping", "the mass of the fixed link {} were dropped", _fixed_dropped),
    ("fixed-joint lumping", "the fixed link {} were lumped without moving its inertia there", _lumped(False, False)),
    ("fixed-joint lumping", "the fixed link {} were lumped where it is, but without turning it", _lumped(True, False)),
    ("fixed-joint lumping", "the fixed link {} were turned, but not moved there", _lumped(False, True)),
)
_IN_LINKS: tuple[tuple[str, str, Callable[[LinkData], LinkData]], ...] = (
    ("inertial rpy", f"{_FRAME} were ignored", lambda p: _turned(p, IDENTITY)),
    ("inertial rpy", f"{_FRAME} were transposed", lambda p: _turned(p, rotation(p.inertial_rpy).T)),
    (
        "inertial rpy",
        "the inertial angles of {} were taken in the order x, y, z",
        lambda p: _turned(p, _reverse_order(p.inertial_rpy)),
    ),
    (
        "inertial rpy",
        f"{_FRAME} turned its center of mass too",
        lambda p: replace(p, com=three(rotation(p.inertial_rpy) @ np.array(p.com))) if p.mass else p,
    ),
    ("center of mass", f"{_COM} were at the link's origin", _scaled(com=0.0)),
    ("center of mass", f"{_COM} had the opposite sign", _scaled(com=-1.0)),
    ("products of inertia", "the products of inertia of {} had the opposite sign", _products(-1.0)),
    ("products of inertia", "the products of inertia of {} were dropped", _products(0.0)),
    ("parallel axes", f"{_INERTIA} were about the link's origin", _steiner(-1.0)),
    ("parallel axes", "Steiner's term of {} were added twice", _steiner(1.0)),
    ("parallel axes", "Steiner's term of {} had the opposite sign", _steiner(-2.0)),
    ("inertia dropped", "the inertia about the center of mass of {} were zero", _scaled(inertia=0.0)),
    ("order of inertia", f"{_INERTIA} were in the order xx, xy, yy, xz, yz, zz", _other_order),
)
_UNITS: tuple[tuple[str, str, Callable[[LinkData], LinkData]], ...] = (
    ("units", f"the mass and inertia of {{}} were {_THOUSAND} larger", _scaled(1e3, 1.0, 1e3)),
    ("units", f"the mass and inertia of {{}} were {_THOUSAND} smaller", _scaled(1e-3, 1.0, 1e-3)),
    ("units", f"the mass of {{}} were {_THOUSAND} larger", _scaled(mass=1e3)),
    ("units", f"{_INERTIA} were a million times smaller", _scaled(inertia=1e-6)),
    ("units", f"{_COM} were in millimeters", _scaled(com=1e-3)),
)
_IN_JOINTS: tuple[tuple[str, str, Callable[[LinkData], LinkData]], ...] = (
    ("rotor inertia", "the rotor of {} were missing", _replace(rotor=0.0)),
    ("rotor inertia", "the rotor of {} were counted twice", _replace(rotor=lambda p: 2.0 * p.rotor)),
    (
        "rotor inertia",
        "the gear ratio of the rotor of {} were not squared",
        lambda p: replace(p, rotor=p.rotor / abs(p.gear)) if p.rotor else p,
    ),
    (
        "rotor inertia",
        "the rotor of {} were on the joint's side, without a gear",
        lambda p: replace(p, gear=1.0) if p.rotor else p,
    ),
    (
        "friction semantics",
        f"{_RUBBING} were swapped",
        lambda p: replace(p, damping=sum(p.coulomb) / 2.0, coulomb=(p.damping, p.damping)),
    ),
    ("friction semantics", "the damping of {} were left out", _replace(damping=0.0)),
    ("friction semantics", "the Coulomb friction of {} were left out", _sides(None, None)),
    ("friction semantics", f"{_RUBBING} were left out", _replace(damping=0.0, coulomb=(0.0, 0.0))),
    ("friction semantics", "the Coulomb friction of {} had its directions swapped", _sides(1, 0)),
    ("joint springs", "the spring of {} were left out", _replace(stiffness=0.0)),
    *(
        ("friction semantics", f"the Coulomb friction of {{}} were {words}", _sides(*sides))
        for words, sides in (
            ("that of positive velocities for both directions", (0, 0)),
            ("that of negative velocities for both directions", (1, 1)),
            ("there for positive velocities only", (0, None)),
            ("there for negative velocities only", (None, 1)),
        )
    ),
    ("joint springs", "the spring of {} rested at zero", _replace(rest=0.0)),
    ("joint springs", "the rest of the spring of {} had the opposite sign", _replace(rest=lambda p: -p.rest)),
    ("joint springs", "the spring of {} had the opposite sign", _replace(stiffness=lambda p: -p.stiffness)),
)
_IN_FOLLOWERS: tuple[tuple[str, str, Callable[[LinkData], LinkData]], ...] = (
    ("mimic", "{} did not follow its joint but stood still", _replace(multiplier=0.0, offset=0.0)),
    ("mimic", f"the multiplier and offset {_MIMIC} were ignored", _replace(multiplier=1.0, offset=0.0)),
    ("mimic", f"the multiplier {_MIMIC} were ignored", _replace(multiplier=1.0)),
    ("mimic", f"the offset {_MIMIC} were ignored", _replace(offset=0.0)),
    ("mimic", f"the multiplier {_MIMIC} had the opposite sign", _replace(multiplier=lambda p: -p.multiplier)),
)
_IN_ORIGINS: tuple[tuple[str, str, Callable[[Three, Three], tuple[Three, Three]]], ...] = (
    ("transposed rotation", f"{_ORIGIN} were transposed", lambda xyz, rpy: (xyz, _other(rpy, _transposed))),
    ("order of rpy", f"{_ANGLES} were taken in the order x, y, z", lambda xyz, rpy: (xyz, _other(rpy, _reverse_order))),
    ("joint origin", "the origin of joint {} were dropped", lambda xyz, rpy: (ZERO, ZERO)),
    ("joint origin", f"{_ORIGIN} were ignored", lambda xyz, rpy: (xyz, ZERO)),
    ("joint origin", "the position of joint origin {} were ignored", lambda xyz, rpy: (ZERO, rpy)),
    ("units", f"{_ANGLES} were in degrees", lambda xyz, rpy: (xyz, three(np.deg2rad(rpy)))),
    ("units", f"{_ANGLES} were degrees taken for radians", lambda xyz, rpy: (xyz, three(np.rad2deg(rpy)))),
    (
        "units",
        "the position of joint origin {} were in millimeters",
        lambda xyz, rpy: (three(np.array(xyz) / 1e3), rpy),
    ),
)
_IN_MOVING: tuple[tuple[str, str, Callable[[LinkData], LinkData]], ...] = (
    ("joint axis", "the axis of {} had the opposite sign", _replace(axis=lambda p: three(-np.array(p.axis)))),
    ("joint axis", "the axis of {} were in the parent's axes", _in_parent),
    ("joint axis", "the axis of {} were z", _replace(axis=(0.0, 0.0, 1.0))),
    ("joint axis", "the axis of {} were x", _replace(axis=(1.0, 0.0, 0.0))),
    (
        "joint kind",
        "{} slid instead of turning, or turned instead of sliding",
        _replace(kind=lambda p: "revolute" if p.kind == "prismatic" else "prismatic"),
    ),
)
_ALL_RPY = "every rotation given by rpy, of joints and of inertials ({}), were transposed"
_ALL_ANGLES = "all angles rpy ({}) were taken in the order x, y, z"
FAULTS: tuple[Fault, ...] = (
    # masses, inertias, rotors and friction
    *(Fault(cause, words, change) for cause, words, change in _ANYWHERE),
    *(Fault(cause, words, _in_link(change)) for cause, words, change in _IN_LINKS),
    Fault("link dropped", "the mass of {} were dropped", _link_dropped),
    *(Fault(cause, words, _in_link(change)) for cause, words, change in _UNITS),
    *(Fault(cause, words, _joint(change)) for cause, words, change in _IN_JOINTS),
    # geometry
    Fault("base transform", "the base transform {} were dropped", _base, moves=True),
    Fault("base transform", "the origin of the first joint {} were dropped", _first_joint, moves=True),
    *(Fault(cause, words, _follower(change), moves=True) for cause, words, change in _IN_FOLLOWERS),
    Fault("transposed rotation", _ALL_RPY, _all_turned(_transposed), moves=True, whole=True),
    Fault("order of rpy", _ALL_ANGLES, _all_turned(_reverse_order), moves=True, whole=True),
    *(Fault(cause, words, _origin(change), moves=True) for cause, words, change in _IN_ORIGINS),
    *(Fault(cause, words, _joint(change), moves=True) for cause, words, change in _IN_MOVING),
)


def _in_unit(row: TableRow, fields: Sequence[str], unit: Callable[[float], float]) -> TableRow:
    angles: dict[str, Any] = {field: float(unit(getattr(row, field))) for field in fields}
    return replace(row, **angles)


def other_tables(m: Linkage) -> Iterator[tuple[str, str, Linkage]]:
    """(cause, words, linkage) of the same DH table in the other convention, and with its angles in another unit."""
    if m.table is None:
        return
    other = "modified" if m.table.convention == "standard" else "standard"
    yield "DH convention", f"the {m.table.convention} DH table were a {other} one", of_table(m.table, other)
    names = {"alpha": ("alpha",), "theta": ("theta",), "alpha and theta": ("alpha", "theta")}
    for words, unit in (("degrees taken for radians", np.rad2deg), ("radians taken for degrees", np.deg2rad)):
        for shown, fields in names.items():
            rows = tuple(_in_unit(r, fields, unit) for r in m.table.rows)
            if rows != m.table.rows:
                yield "units", f"{shown} of the DH rows were {words}", of_table(replace(m.table, rows=rows))


def gravity_words(wanted: Three, found: Array) -> tuple[str, str]:
    """(cause, words) for a gravity that is not the one written."""
    a, b = np.array(wanted), np.asarray(found)
    size, other = float(np.linalg.norm(a)), float(np.linalg.norm(b))
    shown = ", ".join(f"{x:.6g}" for x in np.where(np.abs(b) < 1e-9 * (1.0 + other), 0.0, b))
    if other <= 1e-9 * (1.0 + size):
        return "gravity", "there were no gravity"
    if size and np.linalg.norm(a + b) <= 1e-7 * size:
        return "gravity sign", "gravity had the opposite sign"
    if size and np.linalg.norm(np.cross(a, b)) <= 1e-7 * size * other and a @ b > 0:
        return "gravity magnitude", f"gravity were {other:.6g} m/s² instead of {size:.6g}"
    return "gravity direction", f"gravity were ({shown}) m/s²"
