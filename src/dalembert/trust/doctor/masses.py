"""Rules D2xx: masses and inertias by themselves, and whether they fit the shapes of the link."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.algorithms.joints import twists_at
from dalembert.algorithms.kinematics import world_poses
from dalembert.describe import mass as feasible
from dalembert.describe.check import show
from dalembert.describe.description import INERTIA
from dalembert.describe.motionless import free_joints, light_links, weightless
from dalembert.describe.urdf_read import InertialPart, LinkPart
from dalembert.findings import Edit
from dalembert.model.build import build
from dalembert.model.model import BASE, Body
from dalembert.spatial import Pose
from dalembert.trust.doctor.document import Document, Found, rule
from dalembert.trust.doctor.reach import DIRECTIONS, Extent

LIGHT, HEAVY = 1e-6, 1e5  # kg
NARROW, WIDE = 1e-5, 20.0  # m, radii of gyration of a body that no geometry is known of
FAR, NEAR = 10.0, 1.0  # of the longest way between two joints, and m: a center of mass further away is not the link's
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
POSTURES = 3  # random ones, in which the directions of motion are compared with gravity
ORTHOGONAL = 1e-9
SHORT_LINK = 0.2  # of the longest link: shorter ones may carry a motor beyond their end
BEYOND_END = 0.25  # of a link's length
FROM_FRAME = "from the link's frame; in a standard DH row that is at the far end"
TYPICAL = 0.5  # of a solid box's inertia: hollow links, castings, motors at the ends
WINDOW = 0.45  # decades around it
# The edges of the cone of moments are approached to this part of the largest, so that rounding leaves them inside.
INSIDE = 1e-6
_EDGES = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])


class Weight(NamedTuple):
    """The mass of a link, and the six numbers of its inertia, none if they cannot be read."""

    link: LinkPart
    part: InertialPart
    mass: float
    six: tuple[float, ...]


def weights(document: Document) -> Iterator[tuple[Weight]]:
    """The masses that can be read."""
    for link in document.links:
        if link.inertial is not None and link.inertial.mass is not None:
            yield (Weight(link, link.inertial, link.inertial.mass, link.inertial.tensor or ()),)


def inertias(document: Document) -> Iterator[tuple[Weight]]:
    """The masses that can be read with their inertias."""
    return ((w,) for (w,) in weights(document) if w.six)


def gyration(mass: float, six: tuple[float, ...]) -> float:
    """Radius of gyration [m]: √(½ tr(I) / m), the root mean square distance from the center of mass."""
    return math.sqrt(max(0.0, 0.5 * (six[0] + six[3] + six[5])) / mass) if mass > 0 else 0.0


def is_placeholder(six: tuple[float, ...]) -> bool:
    """Whether a tensor is 1 1 1, 100 100 100 or the like: written to have something there, in no unit at all."""
    a, b, c = six[0], six[3], six[5]
    return a == b == c > 0 and not any((six[1], six[2], six[4])) and f"{a:e}".startswith("1.000000e")


@rule("D201", "error", weights)
def negative_mass(document: Document, w: Weight) -> Iterator[Found]:
    """A negative mass.

    No body has one; the mass matrix loses its meaning."""
    if w.mass < 0:
        message = f"the mass of {w.link.who} is {w.mass!r} kg"
        yield Found(w.part.mass_at, w.link.who, message, "write it positive, or leave the <inertial> out")


@rule("D202", "warning", inertias)
def inertia_without_mass(document: Document, w: Weight) -> Iterator[Found]:
    """Inertia without mass.

    No body has one without the other: it resists rotation and weighs 0."""
    if w.mass == 0 and any(w.six):
        message = f"{w.link.who} has inertia but no mass"
        yield Found(w.part.mass_at, w.link.who, message, "give its mass, or set all six numbers to 0")


@rule("D203", "error")
def indefinite(document: Document) -> list[Found]:
    """An inertia with a negative principal moment.

    Kinetic energy would be negative: the mass matrix may not be positive definite, and forward dynamics fails."""
    return _indefinite(document)[0]


@rule("D213", "warning")
def indefinite_but_hidden(document: Document) -> list[Found]:
    """A negative principal moment hidden by other links.

    No body has it; what the link is fixed to outweighs it, or does not move, so the dynamics survive."""
    return _indefinite(document)[1]


@rule("D204", "warning")
def triangle(document: Document) -> Iterator[Found]:
    """An inertia that violates the triangle inequality.

    No distribution of mass has J₁ + J₂ < J₃; simulators correct it silently, or refuse it."""
    return _infeasible(document, "triangle", "violates the triangle inequality J₁ + J₂ ≥ J₃")


def _indefinite(document: Document) -> tuple[list[Found], list[Found]]:
    """Those that show in the dynamics; and those on the base, or on a moving body that is possible as a whole."""
    found = list(_infeasible(document, "indefinite", "has a negative principal moment"))
    if not found or document.description is None:
        return found, []
    model = build(document.description)
    safe = {f"link {f.name!r}" for f in model.frames if f.body == BASE or _possible(model.bodies[f.body])}
    return [f for f in found if f.who not in safe], [f for f in found if f.who in safe]


def _possible(body: Body) -> bool:
    if body.inertia.m <= 0:
        return False
    I = body.inertia.about_com()
    six = (I[0][0], I[0][1], I[0][2], I[1][1], I[1][2], I[2][2])
    return all(map(math.isfinite, six)) and feasible.verdict(six, body.inertia.m) != "indefinite"


def _infeasible(document: Document, verdict: str, words: str) -> Iterator[Found]:
    for (w,) in inertias(document):
        if feasible.verdict(w.six, max(w.mass, 0.0)) == verdict:
            moments = " ".join(f"{J:.4g}" for J in feasible.principal_moments(w.six))
            better = nearest(w.six)
            message = f"the inertia of {w.link.who} {words} (principal moments {moments} kg m²)"
            fix = f"check the signs and digits; the nearest possible is {' '.join(f'{x:.6g}' for x in better)}"
            yield Found(w.part.tensor_at, w.link.who, message, fix, _tensor_edits(document, w, better))


def _tensor_edits(document: Document, w: Weight, six: tuple[float, ...]) -> tuple[Edit, ...]:
    """The edits that write another tensor."""
    return document.set(w.part.tensor_at, **{n: f"{x + 0.0:.12g}" for n, x in zip(INERTIA, six, strict=True)})


@rule("D205", "note", inertias)
def point_mass(document: Document, w: Weight) -> Iterator[Found]:
    """A point mass.

    A body without rotational inertia: the mass matrix is singular where nothing else resists."""
    if w.mass > 0 and not any(w.six):
        yield Found(w.part.tensor_at, w.link.who, f"{w.link.who} has {w.mass:g} kg and no inertia", "give its inertia")


@rule("D206", "warning")
def massless_link(document: Document) -> Iterator[Found]:
    """A moving link without mass.

    A missing inertial is zero by the standard: dynamics leave the link out; others refuse it, or invent 1 kg."""
    if document.description is not None and not weightless(document.description):
        names = set(light_links(document.description))
        for link in document.links:
            if link.name in names:
                message = f"{link.who} is moved and has no mass, nor has what is fixed to it"
                yield Found(link.at, link.who, message, "give it an <inertial>")


@rule("D207", "warning")
def free_joint(document: Document) -> Iterator[Found]:
    """A joint with no inertia behind it.

    The mass matrix is singular: any torque gives an infinite acceleration, and forward dynamics is undefined."""
    if document.description is not None and not weightless(document.description):
        names = set(free_joints(document.description))
        for joint in document.joints:
            if joint.name in names:
                message = f"{joint.who} moves nothing with inertia about or along its axis"
                fix = "give the links behind it an inertial, or the joint a rotor inertia"
                yield Found(joint.at, joint.who, message, fix)


@rule("D208", "warning")
def nothing_has_mass(document: Document) -> Iterator[Found]:
    """Nothing has mass.

    Kinematics work; the mass matrix is zero and forward dynamics undefined."""
    if document.description is not None and weightless(document.description):
        yield Found(document.root, "robot", "no link of the robot has mass", "give inertials, if dynamics are wanted")


@rule("D209", "warning", weights)
def tiny_mass(document: Document, w: Weight) -> Iterator[Found]:
    """A mass less than a grain of sand.

    A placeholder, or a unit that is not the kilogram."""
    if 0 < w.mass < LIGHT:
        message = f"the mass of {w.link.who} is {w.mass:g} kg"
        yield Found(w.part.mass_at, w.link.who, message, "write kilograms, or leave the <inertial> out")


@rule("D210", "warning", weights)
def huge_mass(document: Document, w: Weight) -> Iterator[Found]:
    """A mass of more than a hundred tonnes.

    Most likely its unit is not the kilogram."""
    if w.mass > HEAVY:
        yield Found(w.part.mass_at, w.link.who, f"the mass of {w.link.who} is {w.mass:g} kg", "write kilograms")


@rule("D211", "note", inertias)
def tiny_inertia(document: Document, w: Weight) -> Iterator[Found]:
    """An inertia much smaller than any body of that mass.

    Its radius of gyration is a hair's breadth: simulations become stiff, and small torques spin it wildly."""
    k = gyration(w.mass, w.six)
    if w.mass >= LIGHT and 0 < k < NARROW:
        message = f"the inertia of {w.link.who} gives its {w.mass:g} kg a radius of gyration of {k:.3g} m"
        yield Found(w.part.tensor_at, w.link.who, message, "write kg m²; give the real inertia, or zeros")


@rule("D212", "warning", inertias)
def huge_inertia(document: Document, w: Weight) -> Iterator[Found]:
    """An inertia much larger than any body of that mass.

    Its radius of gyration is that of a building: most likely the unit is not kg m²."""
    k = gyration(w.mass, w.six)
    if w.link.name not in document.reaches and k > WIDE:
        message = f"the inertia of {w.link.who} gives its {w.mass:g} kg a radius of gyration of {k:.3g} m"
        fix = "write kg m²: 1 g mm² = 1e-9 kg m², 1 kg mm² = 1e-6 kg m², 1 g cm² = 1e-7 kg m²"
        yield Found(w.part.tensor_at, w.link.who, message, fix)


@rule("D215", "warning")
def far_com(document: Document) -> Iterator[Found]:
    """A center of mass far from its link.

    It lies far beyond the robot itself: gravity torques are wrong by the offset times the weight."""
    # Of links without shapes to compare with: D220 looks at the others.
    lengths = [math.hypot(*joint.origin.xyz) for joint in document.joints if joint.origin is not None]
    far = min(FAR * max(lengths), WIDE) if any(lengths) else WIDE
    for (w,) in inertias(document):
        origin = w.part.origin
        away = 0.0 if origin is None or w.link.name in document.reaches else math.hypot(*origin.xyz)
        if w.mass > 0 and away > max(far, NEAR):
            message = f"the center of mass of {w.link.who} is {away:.4g} m from its frame"
            yield Found(w.part.origin_at, w.link.who, message, "give it in the link's frame, in meters")


@rule("D214", "warning")
def placeholder(document: Document) -> Iterator[Found]:
    """Placeholder inertials.

    Several links of one mass with a unit tensor were never measured: no torque computed from them means anything."""
    known = [w for (w,) in inertias(document)]
    count = Counter((w.mass, w.six) for w in known)
    for w in known:
        same = count[(w.mass, w.six)]
        if same > 1 and is_placeholder(w.six) and w.six[0] >= 1.0:
            tensor = f"{w.six[0]:g} times the unit matrix"
            message = f"{w.link.who} is one of {same} links with {w.mass:g} kg and as inertia {tensor}"
            yield Found(w.part.tensor_at, w.link.who, message, "compute the inertia from the geometry")


# gravity, and links without shapes


@rule("D216", "note")
def idle_gravity(document: Document) -> Iterator[Found]:
    """Gravity orthogonal to all motion.

    Gravity does no work in any posture: every gravity torque is 0, as of a planar arm that lies on a table."""
    g = _gravity(document)
    if document.description is None or g is None:
        return
    model = build(document.description)
    if not model.bodies or not any(body.inertia.m > 0 for body in model.bodies):
        return
    rng = np.random.default_rng(0)
    for _ in range(POSTURES):
        parts = (c.joint.normalize(rng.uniform(-1, 1, c.joint.nq).tolist()) for c in model.coordinates)
        for k, pose in world_poses(model, [x for part in parts for x in part]).items():
            for twist in twists_at(model.bodies[k], pose, pose.p):
                if abs(np.dot(twist.v, g)) > ORTHOGONAL or np.abs(np.cross(twist.w, g)).max() > ORTHOGONAL:
                    return
    message = f"gravity ({show(document.description.gravity)} m/s²) is orthogonal to every motion of the robot"
    fix = "leave it if the robot moves horizontally; else set gravity in the plane of motion, such as (0, -9.81, 0)"
    yield Found(document.root, "robot", message, fix)


@rule("D217", "note")
def upward_gravity(document: Document) -> Iterator[Found]:
    """Gravity that points up.

    All gravity torques have the wrong sign, unless the base hangs from a ceiling or its axis points down."""
    g = _gravity(document)
    if document.description is not None and g is not None:
        k = int(np.abs(g).argmax())
        if k > 0 and g[k] > 0:
            message = f"gravity ({show(document.description.gravity)} m/s²) points up, along +{'xyz'[k]} of the base"
            yield Found(document.root, "robot", message, f"leave it if +{'xyz'[k]} points down; else change its sign")


def _gravity(document: Document) -> NDArray[np.float64] | None:
    """The direction of gravity; None without gravity."""
    g = np.array(document.description.gravity if document.description is not None else (0.0, 0.0, 0.0), float)
    size = float(np.linalg.norm(g))
    return g / size if 0 < size < math.inf else None


@rule("D226", "note")
def com_beyond_end(document: Document) -> Iterator[Found]:
    """A center of mass beyond the far end of its link.

    It was measured from the wrong end: in a standard DH row the frame is at the far end, and the center is at −a/2."""
    hinged = {joint.child for joint in document.joints if joint.hinged or joint.endless}
    ends: dict[str, list[NDArray[np.float64]]] = {}
    for joint in document.joints:
        if joint.parent is not None and joint.parent in hinged:
            ends.setdefault(joint.parent, []).append(np.array(joint.origin.xyz if joint.origin else (0.0, 0.0, 0.0)))
    far = {name: max(points, key=np.linalg.norm) for name, points in ends.items()}
    longest = max((float(np.linalg.norm(end)) for end in far.values()), default=0.0)
    for (w,) in weights(document):
        end, origin = far.get(w.link.name), w.part.origin
        if w.mass <= 0 or end is None or origin is None or w.link.name in document.reaches:
            continue
        length = float(np.linalg.norm(end))
        if length <= SHORT_LINK * longest:
            continue
        along = np.array(origin.xyz) @ end / length
        last = max(float(point @ end) / length for point in ends[w.link.name])
        if along > (1 + BEYOND_END) * last:
            message = (
                f"the center of mass of {w.link.who} is {along - last:.4g} m beyond the far end of the link, which is "
                f"{last:.4g} m from its joint"
            )
            yield Found(w.part.origin_at, w.link.who, message, f"measure it {FROM_FRAME}")


# against the shapes


@dataclass(frozen=True)
class _Body:
    """A link with mass and shapes, in the link's frame."""

    weight: Weight
    reach: Extent
    com: NDArray[np.float64]
    moments: NDArray[np.float64]  # ∫(x·d)² dm / m for each direction

    @property
    def who(self) -> str:
        return self.weight.link.who

    @property
    def excess(self) -> float:
        """The largest of these moments, in parts of what fits into the shapes."""
        bound = self.reach.largest_moments(SLACK * self.reach.size)
        return float((self.moments / bound).max())

    @property
    def of_a_box(self) -> float:
        """The trace of the inertia, in parts of that of a solid box of the same mass and size."""
        box = float(self.reach.sides @ self.reach.sides) / 12.0
        return 0.5 * (self.weight.six[0] + self.weight.six[3] + self.weight.six[5]) / self.weight.mass / box

    @property
    def in_another_unit(self) -> bool:
        """Not so where it is the mass that does not fit the shapes, or where no unit was meant."""
        wrong = self.excess > WRONG_UNIT and gyration(self.weight.mass, self.weight.six) > WRONG_RADIUS
        return wrong and self.weight.mass > AIR * self.reach.volume and not is_placeholder(self.weight.six)

    @property
    def too_much(self) -> str:
        """The inertia against the largest possible, in words."""
        return (
            f"the inertia of {self.who} is {self.excess:.3g} times the largest that {self.weight.mass:g} kg "
            f"within its {self.reach.size:.3g} m can have"
        )

    @property
    def unit(self) -> str | None:
        """The unit in which the inertia is like that of a body of its size; windows do not overlap."""
        ratios = ((name, self.of_a_box / factor) for name, factor in UNITS.items())
        return next((name for name, x in ratios if x > 0 and abs(math.log10(x / TYPICAL)) < WINDOW), None)


def _bodies(document: Document) -> Iterator[tuple[_Body]]:
    for (w,) in inertias(document):
        reach, origin = document.reaches.get(w.link.name), w.part.origin
        if reach is None or origin is None or w.mass <= 0 or not 0 < reach.size < 1e6:
            continue
        R = np.array(Pose.from_origin(origin.xyz, origin.rpy).R, dtype=float)
        I = tensor_of(w.six)
        P = R @ (0.5 * np.trace(I) * np.eye(3) - I) @ R.T / w.mass  # ∫ r rᵀ dm / m about the center of mass
        moments = np.einsum("ki,ij,kj->k", DIRECTIONS, P, DIRECTIONS)
        body = _Body(w, reach, np.array(origin.xyz, dtype=float), moments)
        if math.isfinite(body.excess):
            yield (body,)


@rule("D220", "warning", _bodies)
def com_outside(document: Document, body: _Body) -> Iterator[Found]:
    """A center of mass outside its link.

    A body's center of mass lies within its convex hull: gravity torques are wrong by the offset times the weight."""
    gap, size = body.reach.beyond(body.com), body.reach.size
    if gap > max(OUTSIDE * size, OUTSIDE_AT_LEAST):
        where = " ".join(f"{x:.4g}" for x in body.com)
        outside = f"{gap:.3g} m outside its shapes, which are {size:.3g} m large"
        message = f"the center of mass of {body.who} ({where}) is {outside}"
        # A center of mass within a thousandth of the link is one at the joint, which nobody measures in millimeters.
        millimeters = body.reach.beyond(body.com / 1000.0) <= 0 and np.abs(body.com).max() > max(1.0, FAR * size)
        fix = "it fits in millimeters: divide by 1000" if millimeters else f"give it in meters, {FROM_FRAME}"
        yield Found(body.weight.part.origin_at, body.who, message, fix)


@rule("D221", "warning", _bodies)
def too_dense(document: Document, body: _Body) -> Iterator[Found]:
    """Denser than any material.

    Osmium has 22,590 kg/m³: the mass is in grams, or the shapes are too small."""
    V = body.reach.volume
    if V > 0 and body.weight.mass / V > OSMIUM:
        density = body.weight.mass / V
        message = f"{body.who} has {body.weight.mass:g} kg in at most {V:.3g} m³, a density of {density:.3g} kg/m³"
        grams = 50.0 < density / 1000.0 < OSMIUM and body.weight.mass > 10.0
        fix = "if the mass is in grams, divide by 1000" if grams else "correct the mass, or the shapes' sizes"
        yield Found(body.weight.part.mass_at, body.who, message, fix)


@rule("D222", "warning", _bodies)
def too_light(document: Document, body: _Body) -> Iterator[Found]:
    """Lighter than air.

    A body that would fly: the mass is a placeholder, or the shapes are too large (millimeters taken for meters)."""
    V = body.reach.volume
    if V > 0 and body.weight.mass / V < AIR:
        message = f"{body.who} has {body.weight.mass:g} kg in {V:.3g} m³, a density of {body.weight.mass / V:.3g} kg/m³"
        yield Found(body.weight.part.mass_at, body.who, message, "correct the mass, or the shapes' sizes")


@rule("D223", "warning", _bodies)
def too_large(document: Document, body: _Body) -> Iterator[Found]:
    """An inertia too large for its link.

    No distribution of this mass over the shapes has it: the dynamics are those of a larger body."""
    if body.excess > LARGE and not body.in_another_unit:
        hint = f" (it would fit in {body.unit})" if body.unit else ""
        fix = f"compute it about the center of mass, in kg m²{hint}"
        yield Found(body.weight.part.tensor_at, body.who, body.too_much, fix)


@rule("D224", "note", _bodies)
def too_small(document: Document, body: _Body) -> Iterator[Found]:
    """An inertia too small for its link.

    All mass would sit in one spot: simulations become stiff, and the link spins too easily."""
    if any(body.weight.six) and 0 <= body.of_a_box < SMALL:
        message = f"the inertia of {body.who} is {body.of_a_box:.2g} of that of a solid box of its size"
        yield Found(body.weight.part.tensor_at, body.who, message, "compute it from the geometry, in kg m²")


@rule("D225", "error", _bodies)
def wrong_unit(document: Document, body: _Body) -> Iterator[Found]:
    """An inertia in another unit than kg m².

    CAD programs give g mm²: taken for kg m² it is a thousand million times too large, and the arm cannot be moved."""
    if body.in_another_unit and body.unit is None:
        fix = "write kg m²: " + ", ".join(f"1 {name} = {1 / f:g} kg m²" for name, f in UNITS.items())
        yield Found(body.weight.part.tensor_at, body.who, body.too_much, fix)
    elif body.in_another_unit and body.unit is not None:
        factor = UNITS[body.unit]
        fix = f"it fits in {body.unit}: divide all six by {factor:g}"
        edits = _tensor_edits(document, body.weight, tuple(x / factor for x in body.weight.six))
        yield Found(body.weight.part.tensor_at, body.who, body.too_much, fix, edits)


# the nearest inertia that a body can have


def tensor_of(six: Sequence[float]) -> NDArray[np.float64]:
    """The matrix of (ixx, ixy, ixz, iyy, iyz, izz)."""
    xx, xy, xz, yy, yz, zz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], dtype=float)


def nearest(six: Sequence[float]) -> tuple[float, ...]:
    """(ixx, ixy, ixz, iyy, iyz, izz) of the nearest inertia that is positive and obeys the triangle inequality.

    The principal moments of a body satisfy Jᵢ ≤ Jⱼ + Jₖ, a cone with the edges (0, 1, 1), (1, 0, 1), (1, 1, 0). Axes
    kept, the nearest tensor in the Frobenius norm has the moments nearest to the given ones in that cone
    (Hoffman–Wielandt)."""
    size = max(map(abs, six))
    if size == 0:
        return tuple(six)
    J, axes = np.linalg.eigh(tensor_of(six) / size)
    candidates = [J, np.zeros(3)]  # J itself, or its projection on a face, an edge or the tip
    for k in range(3):
        edge, face = _EDGES[k], np.delete(_EDGES, k, axis=0)
        candidates.append(edge * max(0.0, J @ edge) / (edge @ edge))
        candidates.append(face.T @ np.linalg.lstsq(face.T, J, rcond=None)[0])
    best = min(filter(_in_cone, candidates), key=lambda c: float(np.linalg.norm(c - J)))
    best = best + INSIDE * best.max()  # adding the same to all three moves into the cone
    I = size * (axes * best) @ axes.T
    return tuple(float(I[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))


def _in_cone(J: NDArray[np.float64]) -> bool:
    return bool((J.sum() - 2.0 * J >= -1e-12 * np.abs(J).max(initial=1e-300)).all() and (J >= -1e-15).all())
