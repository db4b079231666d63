"""A description with exact numbers: decimals as rationals, right angles as right angles.

A fixed angle that is a multiple of π/2 to the last digit of its decimal text is that multiple. Any other becomes a
pair of constants, its sine and cosine, of which the ring knows s² = 1 − c².
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dalembert.describe.description import JOINTS_WITHOUT_AXIS, Description, Drive, Inertial, Joint, Origin
from dalembert.joints import JOINTS
from dalembert.model.build import build
from dalembert.model.model import Model
from dalembert.scalar import Scalar
from dalembert.symbolic.polynomial import Angle, Polynomial, Ring, quarter_turns

HALF_PI = Decimal("1.5707963267948966192313216916397514420985846996876")
FEWEST_DECIMALS = 2  # 1.57 is meant as π/2; 1.6 is not
ROUNDING = 1e-14  # [rad] what a computation rounded, where nothing was written


def quarters(angle: float) -> int | None:
    """How many quarter turns the angle is, to the last digit of its decimal text; None if it is no such multiple."""
    count = round(angle / (math.pi / 2))
    if abs(angle - count * (math.pi / 2)) <= ROUNDING:
        return count
    text = Decimal(repr(float(angle)))
    exponent = text.as_tuple().exponent
    decimals = -exponent if isinstance(exponent, int) else 0
    short = abs(count * HALF_PI) - abs(text)
    unit = Decimal(1).scaleb(-decimals)
    if count == 0 or decimals < FEWEST_DECIMALS or not (abs(short) <= unit / 2 or 0 <= short < unit):
        return None
    return count


@dataclass
class Angles:
    """The fixed angles of a mechanism: which are exact, which are pairs of constants."""

    pairs: dict[float, int] = field(default_factory=dict)  # |angle| → number of its pair
    snapped: list[tuple[str, float, int]] = field(default_factory=list)  # (where, as written, quarter turns)
    numeric: bool = False  # pairs as decimals, not as symbols

    def note(self, angle: float, where: str) -> None:
        count = quarters(angle)
        if count is None:
            self.pairs.setdefault(abs(angle), len(self.pairs) + 1)
        elif abs(angle - count * (math.pi / 2)) > ROUNDING:
            self.snapped.append((where, angle, count))

    def names(self) -> list[tuple[str, str]]:
        return [] if self.numeric else [(f"sa{k}", f"ca{k}") for k in self.pairs.values()]

    def values(self) -> dict[str, float]:
        """sa1, ca1, …: the numbers behind the pairs."""
        return {
            name: function(angle)
            for angle, k in self.pairs.items()
            for name, function in ((f"sa{k}", math.sin), (f"ca{k}", math.cos))
        }

    def angle(self, ring: Ring, x: float) -> Angle:
        """The angle as a scalar over the ring."""
        count = quarters(x)
        if count is not None:
            return quarter_turns(ring, count)
        if self.numeric:
            t = Fraction(math.tan(x / 2))  # a point of the circle itself: turned frames stay at right angles
            return Angle(ring, ring.constant((1 - t * t) / (1 + t * t)), ring.constant(2 * t / (1 + t * t)), self)
        k = self.pairs[abs(x)]
        pair = Angle(ring, ring[f"ca{k}"], ring[f"sa{k}"])
        return pair if x > 0 else -pair


LONG = 15  # digits: a decimal so long was computed
SIMPLE = 1000  # the largest denominator of a fraction that is recognized in it


def rational(x: float) -> Fraction:
    """The decimal that is written; of a computed one, 0.08333333333333333, the simple fraction that it rounds, 1/12."""
    text = repr(float(x))
    written = Fraction(text)
    simple = Fraction(x).limit_denominator(SIMPLE)
    long = len(text.lstrip("-0.").partition("e")[0].replace(".", "")) >= LONG
    return simple if long and float(simple) == x else written


def number(ring: Ring, x: float) -> Scalar:
    """A number of the description; zeros and ones stay plain, since they fold."""
    return float(x) if x in (0.0, 1.0) else ring.constant(rational(x))


def collect(description: Description) -> Angles:
    """Every fixed angle of the mechanism."""
    angles = Angles()
    for joint in description.joints:
        for a in joint.origin.rpy:
            angles.note(a, f"joint {joint.name!r}")
        if joint.mimic is not None and joint.turns:
            angles.note(joint.mimic.offset, f"joint {joint.name!r}")
        if joint.kind not in JOINTS_WITHOUT_AXIS and not _is_rational_unit(joint.axis):
            for a in _directions(joint.axis):
                angles.note(a, f"axis of joint {joint.name!r}")
    for link in description.links:
        for a in link.inertial.origin.rpy if link.inertial else ():
            angles.note(a, f"inertia of link {link.name!r}")
    return angles


def _is_rational_unit(axis: tuple[float, float, float]) -> bool:
    return sum(Decimal(repr(float(x))) ** 2 for x in axis) == 1


def _directions(axis: tuple[float, float, float]) -> tuple[float, float]:
    """Longitude and colatitude of a direction."""
    x, y, z = axis
    return math.atan2(y, x), math.atan2(math.hypot(x, y), z)


def exact_model(description: Description, numeric: bool = False) -> tuple[Model, Ring, Angles]:
    """The model over exact numbers, the ring of its fixed angles, and these."""
    angles = collect(description)
    angles.numeric = numeric
    ring = Ring(angles=angles.names())
    joints = tuple(_joint(ring, angles, joint) for joint in description.joints)
    links = tuple(
        replace(link, inertial=_inertial(ring, angles, link.inertial)) if link.inertial else link
        for link in description.links
    )
    return build(replace(description, joints=joints, links=links)), ring, angles


def _origin(ring: Ring, angles: Angles, origin: Origin) -> Origin:
    x, y, z = (number(ring, v) for v in origin.xyz)
    roll, pitch, yaw = (angles.angle(ring, a) for a in origin.rpy)
    return Origin((x, y, z), (roll, pitch, yaw))  # type: ignore[arg-type]


def _axis(ring: Ring, angles: Angles, axis: tuple[float, float, float]) -> tuple[Any, ...]:
    if _is_rational_unit(axis):
        return tuple(float(x) if abs(x) == 1.0 else number(ring, x) for x in axis)
    longitude, colatitude = (angles.angle(ring, a) for a in _directions(axis))
    return (colatitude.sine * longitude.cosine, colatitude.sine * longitude.sine, colatitude.cosine)


def _joint(ring: Ring, angles: Angles, joint: Joint) -> Joint:
    drive = joint.drive
    rotor, gear = number(ring, drive.rotor_inertia), number(ring, drive.gear_ratio)
    exact_drive: Drive = replace(drive, rotor_inertia=rotor, gear_ratio=gear)
    origin = _origin(ring, angles, joint.origin)
    if joint.kind == "fixed":
        return replace(joint, origin=origin, drive=exact_drive)
    axis: Any = joint.axis if joint.kind in JOINTS_WITHOUT_AXIS else _axis(ring, angles, joint.axis)
    numbers = {name: number(ring, getattr(joint, name)) for name in JOINTS[joint.kind].numbers}
    return replace(joint, origin=origin, axis=axis, drive=exact_drive, **numbers)


def _inertial(ring: Ring, angles: Angles, inertial: Inertial) -> Inertial:
    inertia: Any = tuple(number(ring, x) for x in inertial.inertia)
    return Inertial(number(ring, inertial.mass), inertia, _origin(ring, angles, inertial.origin))


def snapped_description(description: Description) -> Description:
    """The description in floats, with the angles that were taken as multiples of π/2 made so."""

    def turned(origin: Origin) -> Origin:
        roll, pitch, yaw = (a if (k := quarters(a)) is None else k * (math.pi / 2) for a in origin.rpy)
        return Origin(origin.xyz, (roll, pitch, yaw))

    def followed(joint: Joint) -> Joint:
        if joint.mimic is None or not joint.turns or (k := quarters(joint.mimic.offset)) is None:
            return joint
        return replace(joint, mimic=replace(joint.mimic, offset=k * (math.pi / 2)))

    joints = tuple(followed(replace(joint, origin=turned(joint.origin))) for joint in description.joints)
    links = tuple(
        replace(link, inertial=replace(link.inertial, origin=turned(link.inertial.origin))) if link.inertial else link
        for link in description.links
    )
    return replace(description, joints=joints, links=links)


def constant_value(p: Scalar, values: dict[str, float]) -> float:
    """A polynomial in fixed angles alone, as a number."""
    return float(p.substituted(values)) if isinstance(p, Polynomial) else float(p)
