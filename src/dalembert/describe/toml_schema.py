"""The keys of Dalembert's robot files, as msgspec structs: what may be written, and of which type.

Angles are in radians, or in degrees with `_deg` appended to the key. The structs mirror the file, not
the description: `toml_read` turns one into the other.
"""

from __future__ import annotations

import msgspec

Three = tuple[float, float, float]


Position = float | list[float]  # of a joint: one number, or as many as its kind has positions


class Strict(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A table of the file; a key that is not listed is an error."""


class Placed(Strict, frozen=True, kw_only=True):
    """A table with a pose."""

    xyz: Three = (0.0, 0.0, 0.0)
    rpy: Three | None = None
    rpy_deg: Three | None = None


class TomlBall(Strict, frozen=True, kw_only=True):
    radius: float


class TomlRound(Strict, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}):
    """A cylinder or capsule: along z with a length, or from one point to another."""

    radius: float
    length: float | None = None
    start: Three | None = None
    end: Three | None = None


class TomlMesh(Strict, frozen=True, kw_only=True):
    file: str
    scale: Three = (1.0, 1.0, 1.0)


class TomlShape(Placed, frozen=True, kw_only=True):
    """Exactly one of box, cylinder, sphere, capsule, mesh."""

    box: Three | None = None
    cylinder: TomlRound | None = None
    sphere: TomlBall | None = None
    capsule: TomlRound | None = None
    mesh: TomlMesh | None = None
    name: str | None = None
    color: list[float] | str | None = None  # 3 or 4 channels, or "#rrggbb"
    material: str | None = None


class TomlInertial(Strict, frozen=True, kw_only=True):
    mass: float
    com: Three = (0.0, 0.0, 0.0)
    rpy: Three | None = None
    rpy_deg: Three | None = None
    inertia: list[float] | None = None  # 3 (diagonal) or 6 (ixx, ixy, ixz, iyy, iyz, izz)


class TomlLimit(Strict, frozen=True, kw_only=True):
    lower: float | None = None
    upper: float | None = None
    lower_deg: float | None = None
    upper_deg: float | None = None
    effort: float | None = None
    velocity: float | None = None
    velocity_deg: float | None = None


Level = float | tuple[float, float]  # for both directions, or for positive and negative velocity


class TomlFriction(Strict, frozen=True, kw_only=True):
    """A friction law and its parameters: which ones, `friction.LAWS` says."""

    law: str
    viscous: Level | None = None
    coulomb: Level | None = None
    breakaway: Level | None = None
    speed: float | None = None
    exponent: float | None = None
    coefficient: Level | None = None
    offset: float | None = None
    load: float | None = None
    smooth: str | None = None
    width: float | None = None


class TomlDrive(Strict, frozen=True, kw_only=True):
    rotor_inertia: float = 0.0
    gear_ratio: float = 1.0
    damping: float = 0.0
    coulomb: float | tuple[float, float] = 0.0
    coulomb_width: float = 0.0
    stiffness: float = 0.0
    rest: float | None = None
    rest_deg: float | None = None
    friction: list[TomlFriction] = []


class TomlMimic(Strict, frozen=True, kw_only=True):
    joint: str
    multiplier: float = 1.0
    offset: float | None = None
    offset_deg: float | None = None


class TomlLink(Strict, frozen=True, kw_only=True):
    name: str
    inertial: TomlInertial | None = None
    shapes: list[TomlShape] = []
    collisions: list[TomlShape] = []


class TomlJoint(Placed, frozen=True, kw_only=True):
    name: str
    kind: str
    parent: str
    child: str
    axis: Three | None = None
    second_axis: Three | None = None  # of a universal joint
    pitch: float = 0.0
    limit: TomlLimit | None = None
    mimic: TomlMimic | None = None
    drive: TomlDrive = TomlDrive()


class TomlFrame(Placed, frozen=True, kw_only=True):
    """A named frame on a link: a massless link behind a fixed joint."""

    name: str
    link: str


class TomlLoop(Strict, frozen=True, kw_only=True):
    """What closes a loop: two links, each with the frame of the joint between them."""

    kind: str
    first: str
    second: str
    name: str | None = None  # loop1, loop2, …
    first_xyz: Three = (0.0, 0.0, 0.0)
    first_rpy: Three | None = None
    first_rpy_deg: Three | None = None
    second_xyz: Three = (0.0, 0.0, 0.0)
    second_rpy: Three | None = None
    second_rpy_deg: Three | None = None
    axis: Three = (0.0, 0.0, 1.0)
    length: float | None = None


class TomlRow(Strict, frozen=True, kw_only=True):
    """A DH row: joint and link."""

    joint: str | None = None
    link: str | None = None
    kind: str = "revolute"
    theta: float | None = None
    theta_deg: float | None = None
    d: float = 0.0
    a: float = 0.0
    alpha: float | None = None
    alpha_deg: float | None = None
    offset: float | None = None
    offset_deg: float | None = None
    limit: TomlLimit | None = None
    drive: TomlDrive = TomlDrive()
    inertial: TomlInertial | None = None
    shapes: list[TomlShape] = []
    collisions: list[TomlShape] = []


class TomlRoot(Strict, frozen=True, kw_only=True):
    """The base of a DH robot."""

    name: str = "base"
    inertial: TomlInertial | None = None
    shapes: list[TomlShape] = []
    collisions: list[TomlShape] = []


class TomlDH(Strict, frozen=True, kw_only=True):
    rows: list[TomlRow]
    convention: str = "standard"
    base: Placed = Placed()
    tool: Placed = Placed()
    root: TomlRoot = TomlRoot()


class TomlRobot(Strict, frozen=True, kw_only=True):
    """The whole file: a DH table, or links and joints; and what closes loops."""

    name: str
    format: int = 1
    gravity: Three = (0.0, 0.0, -9.81)
    tip: str | None = None
    notes: str = ""
    dh: TomlDH | None = None
    links: list[TomlLink] = []
    joints: list[TomlJoint] = []
    frames: list[TomlFrame] = []
    loops: list[TomlLoop] = []
    home: dict[str, Position] = {}
    home_deg: dict[str, float] = {}
