"""Geoms: their shapes, and the inertia of a body that gives none itself.

MuJoCo writes half sizes; a description writes whole ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dalembert.describe import mass
from dalembert.describe.description import Box, Capsule, Cylinder, Geometry, Shape, Sphere, Vector
from dalembert.describe.mesh import LARGEST
from dalembert.describe.mjcf.document import reals, switch
from dalembert.describe.mjcf.meshes import Asset
from dalembert.describe.mjcf.placement import onto_z, origin_of, placement
from dalembert.describe.mjcf.settings import Settings
from dalembert.describe.xml import Element
from dalembert.errors import DalembertError, unknown
from dalembert.spatial import Inertia, Pose
from dalembert.spatial.vector import add, scale, sub

Color = tuple[float, float, float, float]
DENSITY = 1000.0  # MuJoCo's own default, that of water
# How many numbers each type takes as size: without and with fromto.
_SIZES = {"sphere": (1, 1), "capsule": (2, 1), "cylinder": (2, 1), "box": (3, 1), "ellipsoid": (3, 1)}
_WEIGHTLESS = ("plane", "hfield")
TYPES = (*_SIZES, *_WEIGHTLESS, "mesh", "sdf")
_SPANNED = ("capsule", "cylinder", "box", "ellipsoid")


@dataclass(frozen=True)
class Geom:
    """A geom in its body's frame. `size`: half sizes as MuJoCo has them. `mesh`: what a geom of kind "mesh" shows.
    `trouble`: why a shape fitted to a mesh could not be."""

    element: Element
    kind: str
    size: tuple[float, ...]
    pose: Pose
    mesh: Asset | None = None
    trouble: str | None = None

    @property
    def geometry(self) -> Geometry | None:
        """The same as a description's shape; None for what those have not."""
        s = self.size
        if self.trouble is not None:
            return None
        match self.kind:
            case "sphere":
                return Sphere(s[0])
            case "capsule":
                return Capsule(s[0], 2.0 * s[1])
            case "cylinder":
                return Cylinder(s[0], 2.0 * s[1])
            case "box":
                return Box((2.0 * s[0], 2.0 * s[1], 2.0 * s[2]))
            case "mesh":
                return None if self.mesh is None else self.mesh.shape
            case _:
                return None

    def collides(self) -> bool:
        return any(self.element.attributes.get(name, "1").strip() != "0" for name in ("contype", "conaffinity"))

    def shape(self, color: Color | None) -> Shape | None:
        if self.geometry is None:
            return None
        pose = self.pose if self.mesh is None else self.pose @ self.mesh.pose
        material, name = (self.element.attributes.get(key) for key in ("material", "name"))
        return Shape(self.geometry, origin_of(pose), name, color, material)


def read_geom(e: Element, within: Pose, meshes: dict[str, Asset], settings: Settings, owner: str) -> Geom:
    """A geom of a body, defaults already laid under it; `within` is the frame it stands in."""
    kind = e.attributes.get("type", "sphere")
    if kind not in TYPES:
        raise e.refuse(f"a geom of {owner} is of the {unknown('type', kind, TYPES)}")
    if kind == "mesh" or (kind in _SIZES and "mesh" in e.attributes):
        name = e.word("mesh", owner)
        if name not in meshes:
            raise e.refuse(f"a geom of {owner} shows the {unknown('mesh', name, meshes)}")
        pose = within @ placement(e, settings, owner)
        if kind != "mesh":
            return _fitted(e, kind, pose, meshes[name], settings)
        return Geom(e, kind, (), pose, meshes[name])
    if kind not in _SIZES:
        return Geom(e, kind, (), within @ placement(e, settings, owner))
    spanned = "fromto" in e.attributes
    if spanned and kind not in _SPANNED:
        raise e.refuse(f"a geom of {owner} is a {kind} with fromto; that is for {', '.join(_SPANNED)}")
    count = _SIZES[kind][1 if spanned else 0]
    size = reals(e, "size", count, 3, owner)[:count]
    if not all(0 < s <= LARGEST for s in size):
        why = "sizes must be positive" if min(size) <= 0 else "its volume overflows: check the exponent"
        raise e.refuse(f"a geom of {owner} has size={e.attributes['size']!r}; {why}")
    if not spanned:
        return Geom(e, kind, size, within @ placement(e, settings, owner))
    size, pose = _spanned(e, kind, size[0], owner)
    return Geom(e, kind, size, within @ pose)


def _fitted(e: Element, kind: str, pose: Pose, asset: Asset, settings: Settings) -> Geom:
    """A simple shape in the place of a mesh."""
    try:
        size, fit = asset.fit(kind, settings.fit_box)
        factor = e.number("fitscale", asset.who, 1.0)
    except DalembertError as error:
        return Geom(e, kind, (), pose, trouble=f"it is fitted to {asset.who}, which cannot be used ({error})")
    return Geom(e, kind, tuple(factor * s for s in size), pose @ fit)


def _spanned(e: Element, kind: str, radius: float, owner: str) -> tuple[tuple[float, ...], Pose]:
    """Size and pose of a geom from one point to another: its z axis looks from the second to the first."""
    ends = e.numbers("fromto", 6, owner)
    along = sub(ends[:3], ends[3:])
    length = math.hypot(*along)
    if length == 0:
        raise e.refuse(f"a geom of {owner} goes from a point to itself (fromto={e.attributes['fromto']!r})")
    half = 0.5 * length
    size = (radius, half) if kind in ("capsule", "cylinder") else (radius, radius, half)
    return size, Pose(onto_z(scale(1.0 / length, along)), scale(0.5, add(ends[:3], ends[3:])))


def inertia(geom: Geom, owner: str) -> Inertia:
    """What a geom adds to its body, in the body's frame: of its own mass, or of its density."""
    e = geom.element
    if geom.kind in _WEIGHTLESS:
        return Inertia()
    given = e.optional("mass", owner)
    density = e.number("density", owner, DENSITY)
    if (given if given is not None else density) < 0:
        raise e.refuse(f"a geom of {owner} has a negative mass or density")
    if given == 0 or (given is None and density == 0):
        return Inertia()
    if switch(e, "shellinertia", False, owner) or geom.kind == "sdf":
        what = "shellinertia" if geom.kind != "sdf" else "type sdf"
        raise e.refuse(f"the inertia of a geom of {owner} with {what} is not computed; give the body an <inertial>")
    if geom.trouble is not None:
        raise e.refuse(f"the mass of {owner} comes from a {geom.kind}, and {geom.trouble}; give the body an <inertial>")
    return _solid(geom, given, density, owner).to_parent(geom.pose)


def _solid(geom: Geom, given: float | None, density: float, owner: str) -> Inertia:
    if geom.mesh is not None:
        try:
            return geom.mesh.inertia(density, given)
        except DalembertError as error:
            raise geom.element.refuse(
                f"the mass of {owner} comes from {geom.mesh.who}, which cannot be used ({error}); "
                "give the body an <inertial>"
            ) from None
    if geom.kind == "ellipsoid":
        a, b, c = geom.size
        m = density * 4.0 / 3.0 * math.pi * a * b * c if given is None else given
        return _ellipsoid(m, (a, b, c))
    assert geom.geometry is not None
    return mass.of_geometry(geom.geometry, density * mass.volume(geom.geometry) if given is None else given)


def _ellipsoid(m: float, radii: Vector) -> Inertia:
    """I_xx = m (b² + c²)/5."""
    a, b, c = (r * r for r in radii)
    moments = (m * (b + c) / 5.0, m * (a + c) / 5.0, m * (a + b) / 5.0)
    return Inertia(m, (0.0, 0.0, 0.0), tuple(tuple(moments[i] * (i == j) for j in range(3)) for i in range(3)))
