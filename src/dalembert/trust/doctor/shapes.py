"""Rules D4xx: shapes, mesh files, and where they stand; what links look like is measured here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from dalembert.describe.check import sizes
from dalembert.describe.description import Mesh
from dalembert.describe.mesh import resolve
from dalembert.describe.paths import escape, split
from dalembert.describe.refuse import LARGEST
from dalembert.describe.xml import Element
from dalembert.errors import DescriptionError
from dalembert.trust.doctor.case import Case, LinkPart, ShapePart
from dalembert.trust.doctor.extent import extent, together
from dalembert.trust.doctor.rules import Found, rule
from dalembert.trust.doctor.vertices import READ, Points, vertices

TINY, HUGE = 1e-5, 100.0  # m
FAR = 5.0  # of a link's size, from which on its frame is far from it
FAR_AT_LEAST = 0.5  # m


def measure(case: Case) -> None:
    """Look at every mesh file, and find how far each link reaches; what is wrong with a mesh becomes a trouble."""
    for link in case.links:
        points = {id(s): _points(case, link, s) for s in link.shapes if isinstance(s.geometry, Mesh)}
        roles = []
        for role in ("visual", "collision"):
            parts = [
                (s.geometry, s.origin, points.get(id(s)))
                for s in link.shapes
                if s.role == role and s.geometry is not None and s.origin is not None and _usable(s, points)
            ]
            # Half of a body says nothing of the whole.
            whole = len(parts) == sum(s.role == role for s in link.shapes)
            roles.append(extent(parts) if whole else None)
        shown = {s.role for s in link.shapes}
        lost = any(e is None and role in shown for role, e in zip(("visual", "collision"), roles, strict=True))
        found = None if lost else together(roles)
        if found is not None and np.isfinite(found.support).all():
            case.extents[link.name] = found


def _usable(shape: ShapePart, points: dict[int, Points | None]) -> bool:
    if isinstance(shape.geometry, Mesh):
        return points[id(shape)] is not None
    return shape.geometry is not None and all(0 <= value <= LARGEST for _, value in sizes(shape.geometry))


def _points(case: Case, link: LinkPart, shape: ShapePart) -> Points | None:
    """The corners of a mesh, or None with a trouble."""
    mesh = shape.geometry
    if not case.meshes or case.base_dir is None or not isinstance(mesh, Mesh) or escape(mesh.filename) is not None:
        return None
    who = f"a {shape.role} of {link.who}"

    def note(identifier: str, message: str, fix: str) -> None:
        case.troubles.append((identifier, Found(shape.form_at, link.who, message, fix)))

    try:
        file = resolve(mesh.filename, case.base_dir, case.package_dirs)
    except (DescriptionError, OSError, ValueError) as error:
        why = "leads out of its folder" if "outside" in str(error) else "was not found"
        message = f"the mesh {mesh.filename!r} of {who} {why}"
        found = Found(shape.form_at, link.who, message, _remedy(case, mesh.filename))
        case.missing.setdefault(_folder(mesh.filename), {}).setdefault(mesh.filename, found)
        return None
    if file.suffix.lower() not in READ:
        note("D407", f"the mesh {mesh.filename!r} of {who} is of a type that is not read", "use .stl, .obj or .dae")
        return None
    try:
        return vertices(file)
    except (DescriptionError, OSError, ValueError, RecursionError) as error:
        note("D406", f"the mesh {mesh.filename!r} of {who} cannot be read: {error}", "export it again")
        return None


def _remedy(case: Case, filename: str) -> str:
    """A file beside it whose name differs by case only, or where packages are looked for."""
    scheme, rest = split(filename)
    if scheme == "" and case.base_dir is not None:
        wanted = case.base_dir / rest
        try:
            twins = [f.name for f in wanted.parent.iterdir() if f.name.lower() == wanted.name.lower()]
        except OSError:
            twins = []
        if twins:
            return f"there is {twins[0]!r}: write it so"
        return "correct the path, or copy the file there"
    if scheme == "file":
        return "copy the file to the description, and write package://name/path or a relative path"
    return "name the folder of its package with --package-dir (package_dirs=), or correct the path"


def _shapes(case: Case) -> Iterator[tuple[LinkPart, ShapePart, str]]:
    for link in case.links:
        for shape in link.shapes:
            if shape.geometry is not None:
                yield link, shape, f"a {shape.role} of {link.who}"


@rule("D401", "error", "a negative size", "No body has one.")
def negative_size(case: Case) -> Iterator[Found]:
    for link, shape, who in _shapes(case):
        assert shape.geometry is not None
        for name, value in sizes(shape.geometry):
            if value < 0:
                yield Found(shape.form_at, link.who, f"the {name} of {who} is {value!r} m", "write it positive")
                break


@rule("D402", "warning", "a size of zero", "It has no volume: contacts fail, and mass from density is zero.")
def zero_size(case: Case) -> Iterator[Found]:
    for link, shape, who in _shapes(case):
        assert shape.geometry is not None
        zero = sorted({name for name, value in sizes(shape.geometry) if value == 0})
        # A capsule without length is a ball.
        if zero and not (shape.form_at.tag == "capsule" and zero == ["length"]):
            yield Found(shape.form_at, link.who, f"the {' and '.join(zero)} of {who} is 0", "give its real size")


@rule("D403", "warning", "a shape smaller than dust or larger than a house", "Most likely its unit is not the meter.")
def odd_size(case: Case) -> Iterator[Found]:
    for link, shape, who in _shapes(case):
        assert shape.geometry is not None
        for name, value in sizes(shape.geometry):
            if 0 < value < TINY or value > HUGE:
                message = f"the {name} of {who} is {value:g} m"
                yield Found(shape.form_at, link.who, message, "write meters")
                break


@rule("D404", "warning", "a mesh file is missing", "The robot is not drawn, and collides with nothing there.")
def missing_mesh(case: Case) -> Iterator[Found]:
    """One finding for all that is missing of a package, or of a folder: the cause is one."""
    for folder, files in case.missing.items():
        found = next(iter(files.values()))
        others = len(files) - 1
        if others:
            count = "was another" if others == 1 else f"were {others} others"
            found = replace(found, message=f"{found.message}, nor {count} of {folder}")
        yield found


def _folder(filename: str) -> str:
    """What a mesh file is of: its package, or its folder."""
    scheme, rest = split(filename)
    if scheme in ("package", "model"):
        return f"package {rest.lstrip('/').partition('/')[0]!r}"
    return f"folder {str(Path(rest).parent)!r}"


@rule("D405", "error", "a mesh path that leads out of its folder", "A description reads its own files, and no others.")
def mesh_path(case: Case) -> Iterator[Found]:
    for link, shape, who in _shapes(case):
        if isinstance(shape.geometry, Mesh) and (reason := escape(shape.geometry.filename)) is not None:
            what, _, fix = reason.rpartition("; ")
            yield Found(shape.form_at, link.who, f"the mesh of {who}: {what or reason}", fix)


@rule("D406", "warning", "a mesh file is damaged", "It cannot be drawn, and says nothing of the link's size.")
def damaged_mesh(case: Case) -> Iterator[Found]:
    return case.trouble("D406")


@rule("D407", "note", "a mesh of a type that is not read", "Whether mass and inertia fit the link cannot be checked.")
def other_mesh(case: Case) -> Iterator[Found]:
    return case.trouble("D407")


def _scaled(case: Case) -> Iterator[tuple[LinkPart, ShapePart, str, tuple[float, float, float]]]:
    for link, shape, who in _shapes(case):
        if isinstance(shape.geometry, Mesh):
            x, y, z = shape.geometry.scale
            yield link, shape, f"the scale of {who} is {x:g} {y:g} {z:g}", (x, y, z)


@rule("D408", "warning", "a mesh flattened by its scale", "A factor of zero leaves no volume.")
def flat_mesh(case: Case) -> Iterator[Found]:
    for link, shape, what, scale in _scaled(case):
        if 0 in scale:
            yield Found(shape.form_at, link.who, f"{what}, which makes it flat", "write 1 1 1, or the real factor")


@rule(
    "D413",
    "note",
    "a mesh mirrored by its scale",
    "An odd number of negative factors makes a left-handed copy, whose faces look inwards in many programs.",
)
def mirrored_mesh(case: Case) -> Iterator[Found]:
    for link, shape, what, scale in _scaled(case):
        if 0 not in scale and sum(s < 0 for s in scale) % 2:
            fix = "mirror the mesh file itself, and write a positive scale"
            yield Found(shape.form_at, link.who, f"{what}, which makes it left-handed", fix)


@rule(
    "D409",
    "warning",
    "a link larger than a house",
    "Its mesh was drawn in millimeters or inches, and a scale is missing.",
)
def huge_link(case: Case) -> Iterator[Found]:
    for link in case.links:
        found = case.extents.get(link.name)
        meshes = [s for s in link.shapes if isinstance(s.geometry, Mesh)]
        if found is not None and meshes and found.size > HUGE:
            message = f"the shapes of {link.who} reach over {found.size:.4g} m"
            yield Found(meshes[0].form_at, link.who, message, 'scale its meshes, as in scale="0.001 0.001 0.001"')


@rule(
    "D410",
    "warning",
    "a frame far from its geometry",
    "The link's frame is where its joint is: a body that floats far from it was exported in other coordinates.",
)
def far_frame(case: Case) -> Iterator[Found]:
    moved = {joint.child for joint in case.joints if joint.moves}
    for link in case.links:
        found = case.extents.get(link.name)
        if found is None or not link.shapes or link.name not in moved:
            continue
        gap = found.beyond(np.zeros(3))
        if gap > max(FAR * found.size, FAR_AT_LEAST):
            message = f"the shapes of {link.who}, {found.size:.3g} m large, are {gap:.3g} m from its frame"
            at = next(link.shapes[0].at.all("origin"), link.shapes[0].at)
            yield Found(at, link.who, message, "move the shapes' origin, or the joint")


@rule("D411", "note", "a color outside 0…1", "It is cut off, so the robot looks different in every program.")
def color(case: Case) -> Iterator[Found]:
    return case.trouble("D411")


@rule("D412", "warning", "a shape that URDF does not have", "Readers leave it out, or refuse the file.")
def strange_shape(case: Case) -> Iterator[Found]:
    return case.trouble("D412")


@rule("D415", "note", "an absolute mesh path", "It exists on one computer only.")
def absolute_path(case: Case) -> Iterator[Found]:
    for link, shape, who in _shapes(case):
        if isinstance(shape.geometry, Mesh):
            scheme, rest = split(shape.geometry.filename)
            if scheme == "file" or (not scheme and (Path(rest).is_absolute() or rest[1:3] == ":\\")):
                message = f"the mesh of {who} is at the absolute path {shape.geometry.filename!r}"
                yield Found(shape.form_at, link.who, message, "write package://name/path, or a relative path")


@rule(
    "D416",
    "note",
    "a material that is not defined",
    "Its name is all that is known of it: each viewer paints what bears it in a color of its own.",
)
def undefined_material(case: Case) -> Iterator[Found]:
    used: dict[str, list[Element]] = {}
    defined = set()
    for e in [case.root, *(s.at for link in case.links for s in link.shapes)]:
        for material in e.all("material"):
            name = material.attributes.get("name", "")
            if material.children:
                defined.add(name)
            elif name and e is not case.root:
                used.setdefault(name, []).append(material)
    for name, places in used.items():
        if name not in defined:
            count = "a shape" if len(places) == 1 else f"{len(places)} shapes"
            message = f"material {name!r} of {count} is defined nowhere"
            fix = f'add <material name="{name}"><color rgba="…"/></material> to <robot>'
            yield Found(places[0], f"material {name!r}", message, fix)
