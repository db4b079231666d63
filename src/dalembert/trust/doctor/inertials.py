"""Rules D2xx, first half: masses and inertias by themselves."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from dalembert.describe import feasible
from dalembert.describe.motionless import free_joints, light_links, weightless
from dalembert.findings import Edit
from dalembert.model.build import build
from dalembert.model.model import BASE, Body
from dalembert.trust.doctor.case import INERTIA, Case, InertialPart, LinkPart
from dalembert.trust.doctor.nearest import nearest
from dalembert.trust.doctor.rules import Found, rule

LIGHT, HEAVY = 1e-6, 1e5  # kg
NARROW, WIDE = 1e-5, 20.0  # m, radii of gyration of a body that no geometry is known of
FAR, NEAR = 10.0, 1.0  # of the longest way between two joints, and m: a center of mass further away is not the link's


def inertials(case: Case) -> Iterator[tuple[LinkPart, InertialPart, float, tuple[float, ...]]]:
    """(link, its inertial, mass, six) where all can be read."""
    for link in case.links:
        i = link.inertial
        if i is not None and i.mass is not None and i.tensor is not None:
            yield link, i, i.mass, i.tensor


def gyration(mass: float, six: tuple[float, ...]) -> float:
    """Radius of gyration [m]: √(½ tr(I) / m), the root mean square distance from the center of mass."""
    return math.sqrt(max(0.0, 0.5 * (six[0] + six[3] + six[5])) / mass) if mass > 0 else 0.0


def is_placeholder(six: tuple[float, ...]) -> bool:
    """Whether a tensor is 1 1 1, 100 100 100 or the like: written to have something there, in no unit at all."""
    a, b, c = six[0], six[3], six[5]
    return a == b == c > 0 and not any((six[1], six[2], six[4])) and f"{a:e}".startswith("1.000000e")


@rule("D201", "error", "a negative mass", "No body has one; the mass matrix loses its meaning.")
def negative_mass(case: Case) -> Iterator[Found]:
    for link in case.links:
        i = link.inertial
        if i is not None and i.mass is not None and i.mass < 0:
            message = f"the mass of {link.who} is {i.mass!r} kg"
            yield Found(i.mass_at, link.who, message, "write it positive, or leave the <inertial> out")


@rule("D202", "warning", "inertia without mass", "No body has one without the other: it resists rotation and weighs 0.")
def inertia_without_mass(case: Case) -> Iterator[Found]:
    for link, i, mass, six in inertials(case):
        if mass == 0 and any(six):
            message = f"{link.who} has inertia but no mass"
            yield Found(i.mass_at, link.who, message, "give its mass, or set all six numbers to 0")


@rule(
    "D203",
    "error",
    "an inertia with a negative principal moment",
    "Kinetic energy would be negative: the mass matrix may not be positive definite, and forward dynamics fails.",
)
def indefinite(case: Case) -> Iterator[Found]:
    return iter(_indefinite(case)[0])


@rule(
    "D213",
    "warning",
    "a negative principal moment hidden by other links",
    "No body has it; what the link is fixed to outweighs it, or does not move, so the dynamics survive.",
)
def indefinite_but_hidden(case: Case) -> Iterator[Found]:
    return iter(_indefinite(case)[1])


@rule(
    "D204",
    "warning",
    "an inertia that violates the triangle inequality",
    "No distribution of mass has J₁ + J₂ < J₃; simulators correct it silently, or refuse it.",
)
def triangle(case: Case) -> Iterator[Found]:
    return _infeasible(case, "triangle", "violates the triangle inequality J₁ + J₂ ≥ J₃")


def _indefinite(case: Case) -> tuple[list[Found], list[Found]]:
    """Those that show in the dynamics; and those on the base, or on a moving body that is possible as a whole."""
    found = list(_infeasible(case, "indefinite", "has a negative principal moment"))
    if not found or case.description is None:
        return found, []
    model = build(case.description)
    safe = {f"link {f.name!r}" for f in model.frames if f.body == BASE or _possible(model.bodies[f.body])}
    return [f for f in found if f.who not in safe], [f for f in found if f.who in safe]


def _possible(body: Body) -> bool:
    if body.inertia.m <= 0:
        return False
    I = body.inertia.about_com()
    six = (I[0][0], I[0][1], I[0][2], I[1][1], I[1][2], I[2][2])
    return all(map(math.isfinite, six)) and feasible.verdict(six, body.inertia.m) != "indefinite"


def _infeasible(case: Case, verdict: str, words: str) -> Iterator[Found]:
    for link, i, mass, six in inertials(case):
        if feasible.verdict(six, max(mass, 0.0)) == verdict:
            moments = " ".join(f"{J:.4g}" for J in feasible.principal_moments(six))
            better = nearest(six)
            message = f"the inertia of {link.who} {words} (principal moments {moments} kg m²)"
            fix = f"check the signs and digits; the nearest possible is {' '.join(f'{x:.6g}' for x in better)}"
            yield Found(i.tensor_at, link.who, message, fix, tensor_edits(case, i, better))


def tensor_edits(case: Case, inertial: InertialPart, six: tuple[float, ...]) -> tuple[Edit, ...]:
    """The edits that write another tensor."""
    return case.set(inertial.tensor_at, **{n: f"{x + 0.0:.12g}" for n, x in zip(INERTIA, six, strict=True)})


@rule(
    "D205",
    "note",
    "a point mass",
    "A body without rotational inertia: the mass matrix is singular where nothing else resists.",
)
def point_mass(case: Case) -> Iterator[Found]:
    for link, i, mass, six in inertials(case):
        if mass > 0 and not any(six):
            yield Found(i.tensor_at, link.who, f"{link.who} has {mass:g} kg and no inertia", "give its inertia")


@rule(
    "D206",
    "warning",
    "a moving link without mass",
    "A missing inertial is zero by the standard: dynamics leave the link out; others refuse it, or invent 1 kg.",
)
def massless_link(case: Case) -> Iterator[Found]:
    if case.description is None or weightless(case.description):
        return
    names = set(light_links(case.description))
    for link in case.links:
        if link.name in names:
            message = f"{link.who} is moved and has no mass, nor has what is fixed to it"
            yield Found(link.at, link.who, message, "give it an <inertial>")


@rule(
    "D207",
    "warning",
    "a joint with no inertia behind it",
    "The mass matrix is singular: any torque gives an infinite acceleration, and forward dynamics is undefined.",
)
def free_joint(case: Case) -> Iterator[Found]:
    if case.description is None or weightless(case.description):
        return
    names = set(free_joints(case.description))
    for joint in case.joints:
        if joint.name in names:
            message = f"{joint.who} moves nothing with inertia about or along its axis"
            fix = "give the links behind it an inertial, or the joint a rotor inertia"
            yield Found(joint.at, joint.who, message, fix)


@rule("D208", "warning", "nothing has mass", "Kinematics work; the mass matrix is zero and forward dynamics undefined.")
def nothing_has_mass(case: Case) -> Iterator[Found]:
    if case.description is not None and weightless(case.description):
        yield Found(case.root, "robot", "no link of the robot has mass", "give inertials, if dynamics are wanted")


@rule("D209", "warning", "a mass less than a grain of sand", "A placeholder, or a unit that is not the kilogram.")
def tiny_mass(case: Case) -> Iterator[Found]:
    for link in case.links:
        i = link.inertial
        if i is not None and i.mass is not None and 0 < i.mass < LIGHT:
            message = f"the mass of {link.who} is {i.mass:g} kg"
            yield Found(i.mass_at, link.who, message, "write kilograms, or leave the <inertial> out")


@rule("D210", "warning", "a mass of more than a hundred tonnes", "Most likely its unit is not the kilogram.")
def huge_mass(case: Case) -> Iterator[Found]:
    for link in case.links:
        i = link.inertial
        if i is not None and i.mass is not None and i.mass > HEAVY:
            yield Found(i.mass_at, link.who, f"the mass of {link.who} is {i.mass:g} kg", "write kilograms")


@rule(
    "D211",
    "note",
    "an inertia much smaller than any body of that mass",
    "Its radius of gyration is a hair's breadth: simulations become stiff, and small torques spin it wildly.",
)
def tiny_inertia(case: Case) -> Iterator[Found]:
    for link, i, mass, six in inertials(case):
        k = gyration(mass, six)
        if mass >= LIGHT and 0 < k < NARROW:
            message = f"the inertia of {link.who} gives its {mass:g} kg a radius of gyration of {k:.3g} m"
            yield Found(i.tensor_at, link.who, message, "write kg m²; give the real inertia, or zeros")


@rule(
    "D212",
    "warning",
    "an inertia much larger than any body of that mass",
    "Its radius of gyration is that of a building: most likely the unit is not kg m².",
)
def huge_inertia(case: Case) -> Iterator[Found]:
    for link, i, mass, six in inertials(case):
        k = gyration(mass, six)
        if link.name not in case.extents and k > WIDE:
            message = f"the inertia of {link.who} gives its {mass:g} kg a radius of gyration of {k:.3g} m"
            fix = "write kg m²: 1 g mm² = 1e-9 kg m², 1 kg mm² = 1e-6 kg m², 1 g cm² = 1e-7 kg m²"
            yield Found(i.tensor_at, link.who, message, fix)


@rule(
    "D215",
    "warning",
    "a center of mass far from its link",
    "It lies far beyond the robot itself: gravity torques are wrong by the offset times the weight.",
)
def far_com(case: Case) -> Iterator[Found]:
    """Of links without shapes to compare with: D220 looks at the others."""
    lengths = [math.hypot(*joint.origin.xyz) for joint in case.joints if joint.origin is not None]
    far = min(FAR * max(lengths), WIDE) if any(lengths) else WIDE
    for link, i, mass, _ in inertials(case):
        away = 0.0 if i.origin is None or link.name in case.extents else math.hypot(*i.origin.xyz)
        if mass > 0 and away > max(far, NEAR):
            message = f"the center of mass of {link.who} is {away:.4g} m from its frame"
            yield Found(i.origin_at, link.who, message, "give it in the link's frame, in meters")


@rule(
    "D214",
    "warning",
    "placeholder inertials",
    "Several links of one mass with a unit tensor were never measured: no torque computed from them means anything.",
)
def placeholder(case: Case) -> Iterator[Found]:
    known = list(inertials(case))
    count = Counter((mass, six) for _, _, mass, six in known)
    for link, i, mass, six in known:
        same = count[(mass, six)]
        if same > 1 and is_placeholder(six) and six[0] >= 1.0:
            tensor = f"{six[0]:g} times the unit matrix"
            message = f"{link.who} is one of {same} links with {mass:g} kg and as inertia {tensor}"
            yield Found(i.tensor_at, link.who, message, "compute the inertia from the geometry")
