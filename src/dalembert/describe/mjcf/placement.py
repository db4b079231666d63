"""What holds for the whole model, the compiler's settings and gravity; and where an element stands: pos, and quat,
axisangle, xyaxes, zaxis or euler.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dalembert.describe.description import Origin
from dalembert.describe.mjcf.document import Document, choice, switch
from dalembert.describe.xml import Element
from dalembert.spatial import Pose
from dalembert.spatial.rotation import about, from_quaternion, to_rpy
from dalembert.spatial.vector import IDENTITY, ZERO, Matrix, Vector, add, cross, dot, matmul, scale, sub, transpose

OWNER = "the model"
# Settings that would change a mechanism and are not followed here, and the only value that is.
_ONLY = {"coordinate": "local"}


@dataclass(frozen=True)
class Settings:
    """`angle`: radians in one unit of the file. `sequence`: of Euler angles, small letters about axes that turn along,
    capitals about fixed ones. `from_geoms`: "auto", "true", "false". `groups`: of the geoms whose mass counts.
    `strip_path`: names of files lose their folders. `fit_box`: simple shapes are fitted to boxes around meshes."""

    angle: float = math.pi / 180
    sequence: str = "xyz"
    autolimits: bool = True
    from_geoms: str = "auto"
    least_mass: float = 0.0
    least_inertia: float = 0.0
    balance: bool = False
    total_mass: float = -1.0
    groups: tuple[float, ...] = (0.0, 5.0)
    mesh_folder: str = ""
    strip_path: bool = False
    fit_box: bool = False
    align_free: bool = False
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)


def settings_of(document: Document, warnings: list[str]) -> Settings:
    e, option = document.settings("compiler"), document.settings("option")
    for name, value in _ONLY.items():
        if e.attributes.get(name, value) != value:
            problem = f"<compiler {name}={e.attributes[name]!r}> is not supported"
            remedy = f"Write the model with {value!r}."
            raise e.refuse("unsupported", name, e.attributes[name], problem=problem, remedy=remedy)
    sequence = e.attributes.get("eulerseq", "xyz")
    if len(sequence) != 3 or any(letter not in "xyzXYZ" for letter in sequence):
        problem = f"<compiler eulerseq={sequence!r:.20}> must be three of x, y, z (moving axes), X, Y, Z (fixed axes)"
        raise e.refuse("wrong-value", "eulerseq", sequence, problem=problem)
    return Settings(
        angle=1.0 if choice(e, "angle", ("degree", "radian"), OWNER) == "radian" else math.pi / 180,
        sequence=sequence,
        autolimits=switch(e, "autolimits", True, OWNER),
        from_geoms=choice(e, "inertiafromgeom", ("auto", "true", "false"), OWNER) or "auto",
        least_mass=e.number("boundmass", OWNER, 0.0),
        least_inertia=e.number("boundinertia", OWNER, 0.0),
        balance=switch(e, "balanceinertia", False, OWNER),
        total_mass=e.number("settotalmass", OWNER, -1.0),
        groups=e.numbers("inertiagrouprange", 2, OWNER, (0.0, 5.0)),
        mesh_folder=e.attributes.get("meshdir", e.attributes.get("assetdir", "")),
        strip_path=switch(e, "strippath", False, OWNER),
        fit_box=switch(e, "fitaabb", False, OWNER),
        align_free=switch(e, "alignfree", False, OWNER),
        gravity=_gravity(option, warnings),
    )


def _gravity(option: Element, warnings: list[str]) -> tuple[float, float, float]:
    for name in ("density", "viscosity"):
        if option.number(name, OWNER, 0.0):
            warnings.append(f"{option.place}: forces of a surrounding fluid (<option {name}=…>) are not carried")
    if any(flag.attributes.get("gravity") == "disable" for flag in option.all("flag")):
        return (0.0, 0.0, 0.0)
    x, y, z = option.numbers("gravity", 3, OWNER, (0.0, 0.0, -9.81))
    return (x, y, z)


_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
# Any of these wins over quat, which a default class may give.
ALTERNATIVES = ("axisangle", "xyaxes", "zaxis", "euler")
PARALLEL = 1e-10  # sine of an angle below which two directions are one, as in MuJoCo


def placement(e: Element, settings: Settings, owner: str) -> Pose:
    """The element's pose in what it stands in."""
    p = e.numbers("pos", 3, owner, ZERO)
    return Pose(orientation(e, settings, owner), p)


# Types of geoms and sites that may go from one point to another.
SPANNED = ("capsule", "cylinder", "box", "ellipsoid")


def spanned(e: Element, who: str) -> tuple[float, Pose]:
    """Half the length, and the pose, of a geom or site with `fromto`: its origin is the middle, and its z axis points
    from the second point to the first."""
    kind, ends = e.attributes.get("type", "sphere"), e.numbers("fromto", 6, who)
    if kind not in SPANNED:
        problem = f"{who} is a {kind} with fromto, which is for {', '.join(SPANNED)}"
        raise e.refuse("conflict", "fromto", problem=problem)
    if any(e.numbers("pos", 3, who, ZERO)):
        raise e.refuse("conflict", "fromto", problem=f"{who} has pos and fromto", remedy="Keep one.")
    along = sub(ends[:3], ends[3:])
    length = math.hypot(*along)
    if length == 0:
        problem = f"{who} goes from a point to itself (fromto={e.attributes['fromto']!r})"
        raise e.refuse("wrong-value", "fromto", e.attributes["fromto"], problem=problem)
    return 0.5 * length, Pose(onto_z(scale(1.0 / length, along)), scale(0.5, add(ends[:3], ends[3:])))


def orientation(e: Element, settings: Settings, owner: str) -> Matrix:
    written = [name for name in ALTERNATIVES if name in e.attributes]
    if len(written) > 1:
        problem = f"<{e.tag}> of {owner} has {' and '.join(written)}"
        raise e.refuse("conflict", written[0], problem=problem, remedy="Keep one orientation.")
    if written:
        return _READERS[written[0]](e, settings, owner)
    return quaternion(e, "quat", owner)


def quaternion(e: Element, attribute: str, owner: str) -> Matrix:
    """The rotation that an attribute w x y z says; none, if it is not written."""
    if attribute not in e.attributes:
        return IDENTITY
    w, x, y, z = e.numbers(attribute, 4, owner)
    length = math.hypot(w, x, y, z)
    if length < PARALLEL:
        problem = f"<{e.tag}> of {owner}: {attribute}={e.attributes[attribute]!r} is zero, which is not a rotation"
        raise e.refuse("out-of-range", attribute, e.attributes[attribute], problem=problem)
    return from_quaternion((x / length, y / length, z / length, w / length))


def _axis_angle(e: Element, settings: Settings, owner: str) -> Matrix:
    x, y, z, turn = e.numbers("axisangle", 4, owner)
    return turned(unit(e, "axisangle", (x, y, z), owner), turn * settings.angle)


def _xy_axes(e: Element, settings: Settings, owner: str) -> Matrix:
    """x as written, y made perpendicular to it, z what is left."""
    six = e.numbers("xyaxes", 6, owner)
    x = unit(e, "xyaxes", six[:3], owner)
    y = unit(e, "xyaxes", sub(six[3:], scale(dot(x, six[3:]), x)), owner)
    return transpose((x, y, cross(x, y)))


def _z_axis(e: Element, settings: Settings, owner: str) -> Matrix:
    return onto_z(unit(e, "zaxis", e.numbers("zaxis", 3, owner), owner))


def euler(e: Element, settings: Settings, owner: str) -> Matrix:
    R: Matrix = IDENTITY
    for letter, angle in zip(settings.sequence, e.numbers("euler", 3, owner), strict=True):
        factor = turned(_AXES[letter.lower()], angle * settings.angle)
        R = matmul(R, factor) if letter.islower() else matmul(factor, R)
    return R


_READERS = {"axisangle": _axis_angle, "xyaxes": _xy_axes, "zaxis": _z_axis, "euler": euler}


def turned(axis: Vector, angle: float) -> Matrix:
    return about(axis, math.cos(angle), math.sin(angle))


def onto_z(direction: Vector) -> Matrix:
    """The shortest rotation that turns z into a unit direction."""
    axis = cross(_AXES["z"], direction)
    s = math.hypot(*axis)
    axis = _AXES["x"] if s < PARALLEL else scale(1.0 / s, axis)
    return turned(axis, math.atan2(s, direction[2]))


def unit(e: Element, attribute: str, v: Vector, owner: str) -> Vector:
    length = math.hypot(*v)
    if length < PARALLEL:
        problem = f"<{e.tag}> of {owner}: {attribute}={e.attributes.get(attribute)!r} has no direction"
        raise e.refuse("out-of-range", attribute, e.attributes.get(attribute), problem=problem)
    return scale(1.0 / length, v)


def origin_of(T: Pose) -> Origin:
    """As a description writes it."""
    x, y, z = (float(v) for v in T.p)
    roll, pitch, yaw = to_rpy(T.R)
    return Origin((x, y, z), (roll, pitch, yaw))
