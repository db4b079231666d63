"""Geoms: their shapes, and the inertia of a body that gives none itself.

MuJoCo writes half sizes; a description writes whole ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalembert.describe import mesh
from dalembert.describe.description import Box, Capsule, Cylinder, Geometry, Mesh, Shape, Sphere, Vector
from dalembert.describe.xml import Element
from dalembert.errors import DalembertError, unknown
from dalembert.mjcf.document import Document, reals, switch
from dalembert.mjcf.placement import onto_z, origin_of, placement
from dalembert.mjcf.settings import Settings
from dalembert.model import mass
from dalembert.spatial import Inertia, Pose
from dalembert.spatial.vector import add, scale, sub

DENSITY = 1000.0  # MuJoCo's own default, that of water
# How many numbers each type takes as size: without and with fromto.
_SIZES = {"sphere": (1, 1), "capsule": (2, 1), "cylinder": (2, 1), "box": (3, 1), "ellipsoid": (3, 1)}
_WEIGHTLESS = ("plane", "hfield")
TYPES = (*_SIZES, *_WEIGHTLESS, "mesh", "sdf")
_SPANNED = ("capsule", "cylinder", "box", "ellipsoid")


@dataclass(frozen=True)
class Geom:
    """A geom in its body's frame. `size`: half sizes as MuJoCo has them. `mesh`: file name and scale."""

    element: Element
    kind: str
    size: tuple[float, ...]
    pose: Pose
    mesh: Mesh | None = None

    @property
    def geometry(self) -> Geometry | None:
        """The same as a description's shape; None for what those have not."""
        s = self.size
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
                return self.mesh
            case _:
                return None

    def collides(self) -> bool:
        return any(self.element.attributes.get(name, "1").strip() != "0" for name in ("contype", "conaffinity"))

    def shape(self, colors: dict[str, Any], owner: str) -> Shape | None:
        if self.geometry is None:
            return None
        e = self.element
        material = e.attributes.get("material")
        color = colors.get(material or "")
        if "rgba" in e.attributes:
            r, g, b, a = e.numbers("rgba", 4, owner)
            color = (r, g, b, a)
        return Shape(self.geometry, origin_of(self.pose), e.attributes.get("name"), color, material)


def read_geom(e: Element, within: Pose, meshes: dict[str, Mesh], settings: Settings, owner: str) -> Geom:
    """A geom of a body, defaults already laid under it; `within` is the frame it stands in."""
    kind = e.attributes.get("type", "mesh" if "mesh" in e.attributes and "type" not in e.attributes else "sphere")
    if kind not in TYPES:
        raise e.refuse(f"a geom of {owner} is of the {unknown('type', kind, TYPES)}")
    if kind == "mesh":
        name = e.word("mesh", owner)
        if name not in meshes:
            raise e.refuse(f"a geom of {owner} shows the {unknown('mesh', name, meshes)}")
        return Geom(e, kind, (), within @ placement(e, settings, owner), meshes[name])
    if kind not in _SIZES:
        return Geom(e, kind, (), within @ placement(e, settings, owner))
    spanned = "fromto" in e.attributes
    if spanned and kind not in _SPANNED:
        raise e.refuse(f"a geom of {owner} is a {kind} with fromto; that is for {', '.join(_SPANNED)}")
    count = _SIZES[kind][1 if spanned else 0]
    size = reals(e, "size", count, 3, owner)[:count]
    if any(s <= 0 for s in size):
        raise e.refuse(f"a geom of {owner} has size={e.attributes['size']!r}; sizes must be positive")
    if not spanned:
        return Geom(e, kind, size, within @ placement(e, settings, owner))
    size, pose = _spanned(e, kind, size[0], owner)
    return Geom(e, kind, size, within @ pose)


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


def inertia(geom: Geom, document: Document, owner: str) -> Inertia:
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
    return _solid(geom, given, density, document, owner).to_parent(geom.pose)


def _solid(geom: Geom, given: float | None, density: float, document: Document, owner: str) -> Inertia:
    if geom.kind == "mesh":
        assert geom.mesh is not None
        return _of_mesh(geom.element, geom.mesh, given, density, document, owner)
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


def _of_mesh(
    e: Element, asset: Mesh, given: float | None, density: float, document: Document, owner: str
) -> Inertia:
    try:
        vertices, faces = mesh.read(mesh.resolve(asset.filename, document.folder or Path(".")))
        if asset.scale[0] * asset.scale[1] * asset.scale[2] < 0:
            faces = faces[:, ::-1]
        weight: dict[str, Any] = {"density": density} if given is None else {"mass": given}
        return mass.mesh(vertices * asset.scale, faces, **weight)
    except DalembertError as error:
        raise e.refuse(
            f"the mass of {owner} comes from the mesh {asset.filename!r}, which cannot be used ({error}); "
            "give the body an <inertial>"
        ) from None
