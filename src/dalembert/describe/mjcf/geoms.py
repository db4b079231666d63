"""Geoms: their shapes, and the inertia of a body that gives none itself. MuJoCo writes half sizes; a description writes
whole ones.

Meshes of <asset>: from a file or written out, their inertia by MuJoCo's rules, and simple shapes fitted to them. MuJoCo
keeps vertices in 32 bits; so is what stands in the text rounded here, so that masses agree to the last digits.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.caching import cached_property
from dalembert.describe import mass, mesh
from dalembert.describe.description import Box, Capsule, Cylinder, Geometry, Mesh, Shape, Sphere
from dalembert.describe.mesh import LARGEST, hull
from dalembert.describe.mjcf.document import Document, choice, folder_of, reals, switch
from dalembert.describe.mjcf.placement import Settings, origin_of, placement, quaternion, spanned
from dalembert.describe.xml import Element
from dalembert.errors import DalembertError, InputError, unknown
from dalembert.files import MESH, contents
from dalembert.spatial import Inertia, Pose
from dalembert.spatial.vector import ZERO, Vector, matscale, matvec, neg, scale, transpose

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


OPEN = "not closed; the mass is that of MuJoCo's default rule, a sum of pyramids on the faces"
INWARD = "turned inside out; the mass is that of MuJoCo's default rule, a sum of pyramids on the faces"
HOLLOW = "closed, and MuJoCo's default rule overcounts the volume; the exact one is taken, as with inertia='exact'"
SEVERAL = "an OBJ file of several objects, and MuJoCo reads only the first; all of them are read here"
SAME = 1e-6  # of a volume: where MuJoCo's default rule is this near to the integral, nobody need be told


class Asset:
    """A mesh by its name. `shape` is what a description draws, at `pose` in the geom's frame; None if it cannot."""

    def __init__(self, e: Element, document: Document, settings: Settings) -> None:
        self._document = document
        self.note: str | None = None  # what is to be said of its inertia, once that was asked for
        self.element = e = document.complete(e, None)
        file = e.attributes.get("file")
        self.name = e.attributes.get("name") or os.path.splitext(os.path.basename((file or "").replace("\\", "/")))[0]
        self.who = f"mesh {self.name!r}"
        x, y, z = e.numbers("scale", 3, self.who, (1.0, 1.0, 1.0))
        self._scale: Vector = (x, y, z)
        self._ref = e.numbers("refpos", 3, self.who, ZERO)
        self._turn = transpose(quaternion(e, "refquat", self.who))
        self.rule = choice(e, "inertia", ("legacy", "exact", "convex", "shell"), self.who)
        self._path = None if file is None else self._found(file, settings)
        self.shape: Mesh | None = None
        self.pose = Pose(self._turn, neg(_times(self._scale, matvec(self._turn, self._ref))))
        # A file that is turned, then stretched, is no placement of the file that is stretched.
        if self._path is not None and ("refquat" not in e.attributes or x == y == z):
            self.shape = Mesh(self._path, self._scale)

    def _found(self, file: str, settings: Settings) -> str:
        """The file from the folder of the description: in the folder of meshes, else beside the file that names it."""
        document = self._document
        if settings.strip_path:
            return os.path.join(document.below, settings.mesh_folder, os.path.basename(file))
        file = os.path.normpath(file) if ".." in file else file  # a folder before a ".." need not exist, as in MuJoCo
        path = os.path.join(document.below, settings.mesh_folder, file)
        folder = folder_of(self.element)
        if document.base is None or os.path.isfile(document.base / path) or not os.path.isfile(folder / file):
            return path
        return os.path.join(os.path.relpath(folder, document.base), file)

    @cached_property
    def triangles(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """(vertices (n, 3) [m], faces (k, 3)) in the geom's frame; what cannot be read is an error."""
        import numpy as np

        with np.errstate(all="ignore"):  # MuJoCo's vertices are single: more than 3.4e38 is no number any more
            x, faces = self._written() if "vertex" in self.element.attributes else self._file()
            if not np.isfinite(x).all():
                raise self.element.refuse("out-of-range", "vertex", problem=f"{self.who} has vertices past 3.4e38 m")
            faces = hull(x) if len(faces) == 0 else faces
            x = (x - np.array(self._ref)) @ np.array(self._turn).T * self._scale
        return x, faces[:, ::-1] if np.prod(self._scale) < 0 else faces

    def _file(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        e = self.element
        if self._path is None:
            problem = (
                f"{self.who} is made by MuJoCo (builtin={e.attributes.get('builtin')!r}), which Dalembert does not "
                "compute"
            )
            raise e.refuse("unsupported", "builtin", e.attributes.get("builtin"), problem=problem)
        folder = self._document.base
        if folder is None:
            problem = f"{self.who} is a file, and the model has no folder"
            raise e.refuse("not-readable", "file", problem=problem, remedy="Load the model from a file.")
        place = mesh.resolve(self._path, folder)
        x, faces = mesh.read(place)
        if place.suffix.lower() != ".obj":
            return x, faces
        self.note = SEVERAL if mesh.has_several_objects(contents(place, MESH)) else None
        return _rounded(x), faces

    def _written(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        import numpy as np

        e = self.element
        x = _rounded(np.array(self._list("vertex")).reshape(-1, 3))
        faces = np.array(self._list("face") if "face" in e.attributes else ()).reshape(-1, 3)
        if faces.size and not (0 <= faces.min() <= faces.max() < len(x)):
            problem = f"the faces of {self.who} must be numbers of its {len(x)} vertices, from 0"
            raise e.refuse("out-of-range", "face", problem=problem)
        return x, faces.astype(np.int64)

    def _list(self, attribute: str) -> tuple[float, ...]:
        count = len(self.element.word(attribute, self.who).split())
        return self.element.numbers(attribute, count if count % 3 == 0 else 3 * (count // 3 + 1), self.who)

    # ------------------------------------------------------------------------------------------------------ inertia
    def inertia(self, density: float, given: float | None) -> Inertia:
        """Of its density (of a shell in kg/m²), or of a given mass."""
        one = self._one
        factor = density if given is None else given / one.m
        return Inertia(factor * one.m, scale(factor, one.h), matscale(factor, one.I))

    @cached_property
    def _one(self) -> Inertia:
        """Of density 1. If no rule is asked for, a closed mesh weighs what it holds; MuJoCo's default adds hollows."""
        if self.rule in ("legacy", "convex", "shell"):
            return mass.mesh(*self.triangles, density=1.0, rule=self.rule)
        default = mass.mesh(*self.triangles, density=1.0, rule="legacy")
        try:
            exact = mass.mesh(*self.triangles, density=1.0)
        except InputError as error:
            self.note = self.note or (OPEN if "volume" not in str(error) else INWARD)
            return default
        if self.rule is None and abs(default.m - exact.m) > SAME * exact.m:
            self.note = self.note or HOLLOW
        return exact

    # --------------------------------------------------------------------------------------------------------- fits
    def fit(self, kind: str, boxed: bool) -> tuple[tuple[float, ...], Pose]:
        """Half sizes and pose of the simple shape that MuJoCo puts in the mesh's place: along its principal axes, as
        large as the box of the same inertia, or `boxed`, as the box around it."""
        import numpy as np

        x, faces = self.triangles
        solid = mass.mesh(x, faces, density=1.0, rule=self.rule or "legacy")
        J, V = np.linalg.eigh(np.array(solid.about_com()))
        J, V = J[::-1], V[:, ::-1]  # the longest way is z
        V[:, 0] *= np.sign(np.linalg.det(V))
        middle = np.array(solid.com())
        if boxed:
            turned = (x - middle) @ V
            low, high = turned.min(axis=0), turned.max(axis=0)
            half, middle = (high - low) / 2.0, middle + V @ ((high + low) / 2.0)
        else:
            half = np.sqrt(np.maximum(1.5 * (J.sum() - 2.0 * J) / solid.m, 0.0))
        a, b, c = (float(h) for h in half)
        across = max(a, b) if boxed else (a + b) / 2.0
        sizes: dict[str, tuple[float, ...]] = {
            "sphere": (max(a, b, c) if boxed else (a + b + c) / 3.0,),
            "capsule": (across, max(0.0, c - (across if boxed else across / 2.0))),
            "cylinder": (across, c),
        }
        return sizes.get(kind, (a, b, c)), Pose(tuple(tuple(row) for row in V.tolist()), tuple(middle.tolist()))


def _rounded(x: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    return x.astype(np.float32).astype(np.float64)


def _times(a: Vector, b: Vector) -> Vector:
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])


Color = tuple[float, float, float, float]
DENSITY = 1000.0  # MuJoCo's own default, that of water
# How many numbers each type takes as size: without and with fromto.
_SIZES = {"sphere": (1, 1), "capsule": (2, 1), "cylinder": (2, 1), "box": (3, 1), "ellipsoid": (3, 1)}
_WEIGHTLESS = ("plane", "hfield")
TYPES = (*_SIZES, *_WEIGHTLESS, "mesh", "sdf")


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
        problem = f"a geom of {owner} is of the {unknown('type', kind, TYPES)}"
        raise e.refuse("unknown-name", "type", kind, problem=problem)
    if kind == "mesh" or (kind in _SIZES and "mesh" in e.attributes):
        name = e.word("mesh", owner)
        if name not in meshes:
            problem = f"a geom of {owner} shows the {unknown('mesh', name, meshes)}"
            raise e.refuse("unknown-name", "mesh", name, problem=problem)
        pose = within @ placement(e, settings, owner)
        if kind != "mesh":
            return _fitted(e, kind, pose, meshes[name], settings)
        return Geom(e, kind, (), pose, meshes[name])
    if kind not in _SIZES:
        return Geom(e, kind, (), within @ placement(e, settings, owner))
    between = "fromto" in e.attributes
    count = _SIZES[kind][1 if between else 0]
    size = reals(e, "size", count, 3, owner)[:count]
    if not all(0 < s <= LARGEST for s in size):
        why = "sizes must be positive" if min(size) <= 0 else "its volume overflows: check the exponent"
        problem = f"a geom of {owner} has size={e.attributes['size']!r}; {why}"
        raise e.refuse("out-of-range", "size", e.attributes["size"], problem=problem)
    if not between:
        return Geom(e, kind, size, within @ placement(e, settings, owner))
    half, pose = spanned(e, f"a geom of {owner}")
    size = (size[0], half) if kind in ("capsule", "cylinder") else (size[0], size[0], half)
    return Geom(e, kind, size, within @ pose)


def _fitted(e: Element, kind: str, pose: Pose, asset: Asset, settings: Settings) -> Geom:
    """A simple shape in the place of a mesh."""
    try:
        size, fit = asset.fit(kind, settings.fit_box)
        factor = e.number("fitscale", asset.who, 1.0)
    except DalembertError as error:
        return Geom(e, kind, (), pose, trouble=f"it is fitted to {asset.who}, which cannot be used ({error})")
    return Geom(e, kind, tuple(factor * s for s in size), pose @ fit)


def inertia(geom: Geom, owner: str) -> Inertia:
    """What a geom adds to its body, in the body's frame: of its own mass, or of its density."""
    e = geom.element
    if geom.kind in _WEIGHTLESS:
        return Inertia()
    given = e.optional("mass", owner)
    density = e.number("density", owner, DENSITY)
    if (given if given is not None else density) < 0:
        raise e.refuse("out-of-range", "mass", problem=f"a geom of {owner} has a negative mass or density")
    if given == 0 or (given is None and density == 0):
        return Inertia()
    if switch(e, "shellinertia", False, owner) or geom.kind == "sdf":
        what = "shellinertia" if geom.kind != "sdf" else "type sdf"
        problem = f"the inertia of a geom of {owner} with {what} is not computed"
        raise e.refuse("unsupported", what, problem=problem, remedy="Give the body an <inertial>.")
    if geom.trouble is not None:
        problem = f"the mass of {owner} comes from a {geom.kind}, and {geom.trouble}"
        raise e.refuse("missing", "inertial", problem=problem, remedy="Give the body an <inertial>.")
    return _solid(geom, given, density, owner).to_parent(geom.pose)


def _solid(geom: Geom, given: float | None, density: float, owner: str) -> Inertia:
    if geom.mesh is not None:
        try:
            return geom.mesh.inertia(density, given)
        except DalembertError as error:
            problem = f"the mass of {owner} comes from {geom.mesh.who}, which cannot be used ({error})"
            remedy = "Give the body an <inertial>."
            raise geom.element.refuse("missing", "inertial", problem=problem, remedy=remedy) from None
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
