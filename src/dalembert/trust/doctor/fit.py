"""Rules D2xx, second half: whether mass and inertia fit the shapes of the link."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.spatial import Pose
from dalembert.trust.doctor.case import Case, InertialPart, LinkPart
from dalembert.trust.doctor.extent import DIRECTIONS, Extent
from dalembert.trust.doctor.inertials import gyration, inertials, is_placeholder, tensor_edits
from dalembert.trust.doctor.nearest import second_moments, tensor_of
from dalembert.trust.doctor.rules import Found, rule

OSMIUM = 22_590.0  # kg/m³, the densest matter there is
AIR = 1.2  # kg/m³
SLACK = 0.1  # of a link's size: shapes are simplified, and what they leave out may be this far outside
OUTSIDE = 0.1  # of a link's size; and at least
OUTSIDE_AT_LEAST = 0.01  # m
LARGE = 2.0  # times the largest moment that fits
SMALL = 1e-3  # of the moment of a solid box
# No link is as large: from this radius of gyration on [m], and from so many times what fits, the unit is wrong.
# A camera that is drawn as a dot of a millimeter passes the second bound, not the first.
WRONG_UNIT, WRONG_RADIUS = 100.0, 5.0
# Units that are taken for kg m², and how much too large the numbers are.
UNITS = {"g mm²": 1e9, "g cm²": 1e7, "kg mm²": 1e6, "kg cm²": 1e4, "g m²": 1e3}
TYPICAL = 0.5  # of a solid box's inertia: hollow links, castings, motors at the ends
WINDOW = 0.45  # decades around it


@dataclass(frozen=True)
class _Body:
    """A link with mass and shapes, in the link's frame."""

    link: LinkPart
    inertial: InertialPart
    mass: float
    six: tuple[float, ...]
    extent: Extent
    com: NDArray[np.float64]
    moments: NDArray[np.float64]  # ∫(x·d)² dm / m for each direction

    @property
    def excess(self) -> float:
        """The largest of these moments, in parts of what fits into the shapes."""
        bound = self.extent.largest_moments(SLACK * self.extent.size)
        return float((self.moments / bound).max())

    @property
    def of_a_box(self) -> float:
        """The trace of the inertia, in parts of that of a solid box of the same mass and size."""
        box = float(self.extent.sides @ self.extent.sides) / 12.0
        return 0.5 * (self.six[0] + self.six[3] + self.six[5]) / self.mass / box

    @property
    def in_another_unit(self) -> bool:
        """Not so where it is the mass that does not fit the shapes, or where no unit was meant."""
        wrong = self.excess > WRONG_UNIT and gyration(self.mass, self.six) > WRONG_RADIUS
        return wrong and self.mass > AIR * self.extent.volume and not is_placeholder(self.six)


def _bodies(case: Case) -> Iterator[_Body]:
    for link, i, mass, six in inertials(case):
        found = case.extents.get(link.name)
        if found is None or i.origin is None or mass <= 0 or not 0 < found.size < 1e6:
            continue
        T = Pose.from_origin(i.origin.xyz, i.origin.rpy)
        R = np.array(T.R, dtype=float)
        P = R @ second_moments(tensor_of(six)) @ R.T / mass
        moments = np.einsum("ki,ij,kj->k", DIRECTIONS, P, DIRECTIONS)
        body = _Body(link, i, mass, six, found, np.array(i.origin.xyz, dtype=float), moments)
        if math.isfinite(body.excess):
            yield body


@rule(
    "D220",
    "warning",
    "a center of mass outside its link",
    "A body's center of mass lies within its convex hull: gravity torques are wrong by the offset times the weight.",
)
def com_outside(case: Case) -> Iterator[Found]:
    for body in _bodies(case):
        gap = body.extent.beyond(body.com)
        if gap > max(OUTSIDE * body.extent.size, OUTSIDE_AT_LEAST):
            where = " ".join(f"{x:.4g}" for x in body.com)
            message = (
                f"the center of mass of {body.link.who} ({where}) is {gap:.3g} m outside its shapes, "
                f"which are {body.extent.size:.3g} m large"
            )
            yield Found(body.inertial.origin_at, body.link.who, message, _com_remedy(body))


def _com_remedy(body: _Body) -> str:
    if body.extent.beyond(body.com / 1000.0) <= 0 and np.abs(body.com).max() > 1.0:
        return "it fits in millimeters: divide by 1000"
    return "give it in the link's frame, in meters"


@rule(
    "D221",
    "warning",
    "denser than any material",
    "Osmium has 22,590 kg/m³: the mass is in grams, or the shapes are too small.",
)
def too_dense(case: Case) -> Iterator[Found]:
    for body in _bodies(case):
        V = body.extent.volume
        if V > 0 and body.mass / V > OSMIUM:
            density = body.mass / V
            message = f"{body.link.who} has {body.mass:g} kg in at most {V:.3g} m³, a density of {density:.3g} kg/m³"
            grams = 50.0 < density / 1000.0 < OSMIUM and body.mass > 10.0
            fix = "if the mass is in grams, divide by 1000" if grams else "correct the mass, or the shapes' sizes"
            yield Found(body.inertial.mass_at, body.link.who, message, fix)


@rule(
    "D222",
    "warning",
    "lighter than air",
    "A body that would fly: the mass is a placeholder, or the shapes are too large (millimeters taken for meters).",
)
def too_light(case: Case) -> Iterator[Found]:
    for body in _bodies(case):
        V = body.extent.volume
        if V > 0 and body.mass / V < AIR:
            message = f"{body.link.who} has {body.mass:g} kg in {V:.3g} m³, a density of {body.mass / V:.3g} kg/m³"
            yield Found(body.inertial.mass_at, body.link.who, message, "correct the mass, or the shapes' sizes")


@rule(
    "D223",
    "warning",
    "an inertia too large for its link",
    "No distribution of this mass over the shapes has it: the dynamics are those of a larger body.",
)
def too_large(case: Case) -> Iterator[Found]:
    for body in _bodies(case):
        if body.excess > LARGE and not body.in_another_unit:
            message = (
                f"the inertia of {body.link.who} is {body.excess:.3g} times the largest that {body.mass:g} kg "
                f"within its {body.extent.size:.3g} m can have"
            )
            unit = _unit(body.of_a_box)
            fix = "compute it about the center of mass, in kg m²" + (f" (it would fit in {unit})" if unit else "")
            yield Found(body.inertial.tensor_at, body.link.who, message, fix)


@rule(
    "D224",
    "note",
    "an inertia too small for its link",
    "All mass would sit in one spot: simulations become stiff, and the link spins too easily.",
)
def too_small(case: Case) -> Iterator[Found]:
    for body in _bodies(case):
        if any(body.six) and 0 <= body.of_a_box < SMALL:
            message = f"the inertia of {body.link.who} is {body.of_a_box:.2g} of that of a solid box of its size"
            yield Found(body.inertial.tensor_at, body.link.who, message, "compute it from the geometry, in kg m²")


@rule(
    "D225",
    "error",
    "an inertia in another unit than kg m²",
    "CAD programs give g mm²: taken for kg m² it is a thousand million times too large, and the arm cannot be moved.",
)
def wrong_unit(case: Case) -> Iterator[Found]:
    for body in _bodies(case):
        if not body.in_another_unit:
            continue
        message = (
            f"the inertia of {body.link.who} is {body.excess:.3g} times the largest that {body.mass:g} kg "
            f"within its {body.extent.size:.3g} m can have"
        )
        unit = _unit(body.of_a_box)
        if unit is None:
            fix = "write kg m²: " + ", ".join(f"1 {name} = {1 / f:g} kg m²" for name, f in UNITS.items())
            yield Found(body.inertial.tensor_at, body.link.who, message, fix)
        else:
            six = tuple(x / UNITS[unit] for x in body.six)
            fix = f"it fits in {unit}: divide all six by {UNITS[unit]:g}"
            yield Found(body.inertial.tensor_at, body.link.who, message, fix, tensor_edits(case, body.inertial, six))


def _unit(of_a_box: float) -> str | None:
    """The unit in which an inertia is like that of a body of its size; windows do not overlap."""
    for name, factor in UNITS.items():
        ratio = of_a_box / factor
        if ratio > 0 and abs(math.log10(ratio / TYPICAL)) < WINDOW:
            return name
    return None
