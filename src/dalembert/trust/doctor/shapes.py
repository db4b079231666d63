"""Rules D4xx: shapes, mesh files, and where they stand; what links look like is measured here.

Rule D417: links whose collision shapes overlap where the robot starts from. Points that lie deep inside two simple
shapes prove it; meshes are not looked at here, `robot.contacts` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dalembert.algorithms.kinematics import world_poses
from dalembert.arguments import Array
from dalembert.collision.enclose import row_of
from dalembert.collision.solids import SOLIDS
from dalembert.collision.spheres import neighbors
from dalembert.describe.check import sizes
from dalembert.describe.description import Description, Geometry, Mesh, Shape
from dalembert.describe.mesh import LARGEST, escape, resolve, split
from dalembert.describe.urdf_read import LinkPart, ShapePart
from dalembert.describe.xml import Element
from dalembert.errors import DalembertError, DescriptionError
from dalembert.robot import Robot
from dalembert.spatial import Pose
from dalembert.trust.doctor.document import Document, Found, rule
from dalembert.trust.doctor.reach import READ, Extent, Points, reach_of, unite, vertices

DEEP = 1e-3  # [m]
GRID = 9  # points along each side of a shape
MOST = 200  # shapes: more are not compared
TOLD = 5  # overlaps
TINY, HUGE = 1e-5, 100.0  # m
FAR = 5.0  # of a link's size, from which on its frame is far from it
FAR_AT_LEAST = 0.5  # m
Missing = dict[str, dict[str, tuple[ShapePart, LinkPart, str]]]  # mesh files that are not there, by their folder


@rule("D417", "note")
def overlap(document: Document) -> Iterator[Found]:
    """Collision shapes of two links overlap at home.

    A planner, a simulator or a controller that looks for contacts finds one before anything has moved."""
    description = document.description
    if description is None or sum(len(link.collisions) for link in description.links) > MOST:
        return
    try:
        found = overlaps(description)
    except (DalembertError, ArithmeticError, ValueError):  # what cannot be placed is another rule's
        return
    parts = {link.name: link for link in document.links}
    for (a, b), depth in sorted(found.items(), key=lambda pair: -pair[1])[:TOLD]:
        if a in parts:
            message = (
                f"collision shapes of {a!r} and {b!r}, which no joint connects, overlap at home, {depth:.2g} m deep"
            )
            yield Found(parts[a].at, f"link {a!r}", message, "shrink a shape, or choose another home")


def overlaps(description: Description) -> dict[tuple[str, str], float]:
    """Pairs of links that no joint connects, and how deep a point lies inside both at least [m]."""
    robot = Robot(description, told=description.warnings)
    T = world_poses(robot.model, robot.home.tolist()) | {-1: Pose()}
    placed = []
    for link in description.links:
        frame = robot.model.frame(link.name)
        for shape in link.collisions:
            if not isinstance(shape.geometry, Mesh):
                placed.append((link.name, frame.body, T[frame.body] @ frame.pose, shape))
    solids = [(*_solid(pose, shape), name, body) for name, body, pose, shape in placed]
    found: dict[tuple[str, str], float] = {}
    for i, (points, inside, _, _, _, a, body_a) in enumerate(solids):
        for _, _, kind, row, pose, b, body_b in solids[i + 1 :]:
            if not len(points) or neighbors(robot.model, body_a, body_b):
                continue
            R, p = pose
            depth = np.minimum(inside, -np.asarray(SOLIDS[kind](row, tuple(((points - p) @ R).T))[0])).max()
            if depth > DEEP:
                found[a, b] = max(found.get((a, b), 0.0), float(depth))
    return found


def _solid(link: Pose, shape: Shape) -> tuple[Array, Array, str, list[float], tuple[Array, Array]]:
    """(points inside, in the base frame, how deep each is, kind, row, (R, p) of the shape)."""
    pose = link @ Pose.from_origin(shape.origin.xyz, shape.origin.rpy)
    R, p = np.array(pose.R, float), np.array(pose.p, float)
    kind, row, half = row_of(shape.geometry)
    axes = [np.linspace(-h, h, GRID) for h in half]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    depth = -np.asarray(SOLIDS[kind](row, tuple(grid.T))[0])
    return grid[depth > DEEP] @ R.T + p, depth[depth > DEEP], kind, row, (R, p)


def measure(document: Document) -> None:
    """Look at every mesh file, and find how far each link reaches; what is wrong with a mesh becomes a trouble."""
    missing: Missing = {}
    for link in document.links:
        points = {id(s): _points(document, link, s, missing) for s in link.shapes if isinstance(s.geometry, Mesh)}
        roles: list[Extent | None] = []
        for role in dict.fromkeys(s.role for s in link.shapes):
            shapes = [s for s in link.shapes if s.role == role]
            parts = [
                (s.geometry, s.origin, points.get(id(s)))
                for s in shapes
                if s.geometry is not None and s.origin is not None and _usable(s, points)
            ]
            roles.append(reach_of(parts) if len(parts) == len(shapes) else None)  # half a body says nothing of it
        found = None if None in roles else unite(roles)
        if found is not None and np.isfinite(found.support).all():
            document.reaches[link.name] = found
    for folder, files in missing.items():  # one finding for all that is missing of a package: the cause is one
        shape, link, message = next(iter(files.values()))
        others = len(files) - 1
        if others:
            message += f", nor {'was another' if others == 1 else f'were {others} others'} of {folder}"
        assert isinstance(shape.geometry, Mesh)
        document.note("D404", shape.form_at, link.who, message, fix=_remedy(document, shape.geometry.filename))


def _usable(shape: ShapePart, points: dict[int, Points | None]) -> bool:
    if isinstance(shape.geometry, Mesh):
        return points[id(shape)] is not None
    return shape.geometry is not None and all(0 <= value <= LARGEST for _, value in sizes(shape.geometry))


def _points(document: Document, link: LinkPart, shape: ShapePart, missing: Missing) -> Points | None:
    """The corners of a mesh, or None with a trouble."""
    mesh, base = shape.geometry, document.base_dir
    if not document.meshes or base is None or not isinstance(mesh, Mesh) or escape(mesh.filename) is not None:
        return None
    who = f"the mesh {mesh.filename!r} of a {shape.role} of {link.who}"
    try:
        file = resolve(mesh.filename, base, document.package_dirs)
    except (DescriptionError, OSError, ValueError) as error:
        why = "leads out of its folder" if "outside its package" in str(error) else "was not found"
        missing.setdefault(_folder(mesh.filename), {}).setdefault(mesh.filename, (shape, link, f"{who} {why}"))
        return None
    if file.suffix.lower() not in READ:
        message = f"{who} is of a type that is not read"
        document.note("D407", shape.form_at, link.who, message, fix="use .stl, .obj or .dae")
        return None
    try:
        return vertices(file)
    except (DescriptionError, OSError, ValueError, RecursionError) as error:
        document.note("D406", shape.form_at, link.who, f"{who} cannot be read: {error}", fix="export it again")
        return None


def _remedy(document: Document, filename: str) -> str:
    """A file beside it whose name differs by case only, or where packages are looked for."""
    scheme, rest = split(filename)
    if scheme == "" and document.base_dir is not None:
        wanted = document.base_dir / rest
        try:
            twins = [f.name for f in wanted.parent.iterdir() if f.name.lower() == wanted.name.lower()]
        except OSError:
            twins = []
        return f"there is {twins[0]!r}: write it so" if twins else "correct the path, or copy the file there"
    if scheme == "file":
        return "copy the file to the description, and write package://name/path or a relative path"
    return "name the folder of its package with --package-dir (package_dirs=), or correct the path"


def _folder(filename: str) -> str:
    """What a mesh file is of: its package, or its folder."""
    scheme, rest = split(filename)
    if scheme in ("package", "model"):
        return f"package {rest.lstrip('/').partition('/')[0]!r}"
    return f"folder {str(Path(rest).parent)!r}"


# what is looked at


def shapes(document: Document) -> Iterator[tuple[LinkPart, ShapePart, Geometry]]:
    """The shapes that can be read."""
    return ((k, s, s.geometry) for k in document.links for s in k.shapes if s.geometry is not None)


def meshes(document: Document) -> Iterator[tuple[LinkPart, ShapePart, Mesh]]:
    return ((link, shape, mesh) for link, shape, mesh in shapes(document) if isinstance(mesh, Mesh))


@rule("D401", "error", shapes)
def negative_size(document: Document, link: LinkPart, shape: ShapePart, geometry: Geometry) -> Iterator[Found]:
    """A negative size.

    No body has one."""
    for name, value in [size for size in sizes(geometry) if size[1] < 0][:1]:
        message = f"the {name} of a {shape.role} of {link.who} is {value!r} m"
        yield Found(shape.form_at, link.who, message, "write it positive")


@rule("D402", "warning", shapes)
def zero_size(document: Document, link: LinkPart, shape: ShapePart, geometry: Geometry) -> Iterator[Found]:
    """A size of zero.

    It has no volume: contacts fail, and mass from density is zero."""
    zero = sorted({name for name, value in sizes(geometry) if value == 0})
    # A capsule without length is a ball.
    if zero and not (shape.form_at.tag == "capsule" and zero == ["length"]):
        message = f"the {' and '.join(zero)} of a {shape.role} of {link.who} is 0"
        yield Found(shape.form_at, link.who, message, "give its real size")


@rule("D403", "warning", shapes)
def odd_size(document: Document, link: LinkPart, shape: ShapePart, geometry: Geometry) -> Iterator[Found]:
    """A shape smaller than dust or larger than a house.

    Most likely its unit is not the meter."""
    for name, value in [size for size in sizes(geometry) if 0 < size[1] < TINY or size[1] > HUGE][:1]:
        message = f"the {name} of a {shape.role} of {link.who} is {value:g} m"
        yield Found(shape.form_at, link.who, message, "write meters")


@rule("D405", "error", meshes)
def mesh_path(document: Document, link: LinkPart, shape: ShapePart, mesh: Mesh) -> Iterator[Found]:
    """A mesh path that leads out of its folder.

    A description reads its own files, and no others."""
    reason = escape(mesh.filename)
    if reason is not None:
        what, _, fix = reason.rpartition("; ")
        message = f"the mesh of a {shape.role} of {link.who}: {what or reason}"
        yield Found(shape.form_at, link.who, message, fix)


@rule("D408", "warning", meshes)
def flat_mesh(document: Document, link: LinkPart, shape: ShapePart, mesh: Mesh) -> Iterator[Found]:
    """A mesh flattened by its scale.

    A factor of zero leaves no volume."""
    if 0 in mesh.scale:
        message = f"{_scale(link, shape, mesh)}, which makes it flat"
        yield Found(shape.form_at, link.who, message, "write 1 1 1, or the real factor")


@rule("D413", "note", meshes)
def mirrored_mesh(document: Document, link: LinkPart, shape: ShapePart, mesh: Mesh) -> Iterator[Found]:
    """A mesh mirrored by its scale.

    An odd number of negative factors makes a left-handed copy, whose faces look inwards in many programs."""
    if 0 not in mesh.scale and sum(s < 0 for s in mesh.scale) % 2:
        message = f"{_scale(link, shape, mesh)}, which makes it left-handed"
        yield Found(shape.form_at, link.who, message, "mirror the mesh file itself, and write a positive scale")


def _scale(link: LinkPart, shape: ShapePart, mesh: Mesh) -> str:
    x, y, z = mesh.scale
    return f"the scale of a {shape.role} of {link.who} is {x:g} {y:g} {z:g}"


@rule("D415", "note", meshes)
def absolute_path(document: Document, link: LinkPart, shape: ShapePart, mesh: Mesh) -> Iterator[Found]:
    """An absolute mesh path.

    It exists on one computer only."""
    scheme, rest = split(mesh.filename)
    if scheme == "file" or (not scheme and (Path(rest).is_absolute() or rest[1:3] == ":\\")):
        message = f"the mesh of a {shape.role} of {link.who} is at the absolute path {mesh.filename!r}"
        yield Found(shape.form_at, link.who, message, "write package://name/path, or a relative path")


@rule("D412", "warning")
def strange_shape(document: Document) -> Iterator[Found]:
    """A shape that URDF does not have.

    Readers leave it out, or refuse the file."""
    for link in document.links:
        for shape in link.shapes:
            box = shape.at.first("geometry")
            if box is not None and shape.form_at is box and box.children:
                who = f"a {shape.role} of {link.who}"
                message = f"{who} is a <{box.children[0].tag:.40}>, which is no shape of URDF"
                yield Found(box, who, message, "use a mesh instead")


# where they stand, and what they look like


@rule("D409", "warning")
def huge_link(document: Document) -> Iterator[Found]:
    """A link larger than a house.

    Its mesh was drawn in millimeters or inches, and a scale is missing."""
    for link in document.links:
        found = document.reaches.get(link.name)
        own = [s for s in link.shapes if isinstance(s.geometry, Mesh)]
        if found is not None and own and found.size > HUGE:
            message = f"the shapes of {link.who} reach over {found.size:.4g} m"
            yield Found(own[0].form_at, link.who, message, 'scale its meshes, as in scale="0.001 0.001 0.001"')


@rule("D410", "warning")
def far_frame(document: Document) -> Iterator[Found]:
    """A frame far from its geometry.

    The link's frame is where its joint is: a body that floats far from it was exported in other coordinates."""
    moved = {joint.child for joint in document.joints if joint.moves}
    for link in document.links:
        found = document.reaches.get(link.name)
        if found is not None and link.shapes and link.name in moved:
            gap = found.beyond(np.zeros(3))
            if gap > max(FAR * found.size, FAR_AT_LEAST):
                message = f"the shapes of {link.who}, {found.size:.3g} m large, are {gap:.3g} m from its frame"
                at = link.shapes[0].at
                yield Found(at.first("origin") or at, link.who, message, "move the shapes' origin, or the joint")


def materials(document: Document) -> Iterator[tuple[Element, str]]:
    """Every <material>, and whose it is."""
    yield from ((e, f"material {e.attributes.get('name', '')!r}") for e in document.root.all("material"))
    for link in document.links:
        for shape in link.shapes:
            yield from ((e, f"a {shape.role} of {link.who}") for e in list(shape.at.all("material"))[:1])


@rule("D411", "note", materials)
def color(document: Document, material: Element, who: str) -> Iterator[Found]:
    """A color outside 0…1.

    It is cut off, so the robot looks different in every program."""
    at = material.first("color")
    if at is None:
        return
    try:
        values = at.numbers("rgba", 4, who)
    except DescriptionError:
        return
    if not all(0 <= c <= 1 for c in values):
        clamped = " ".join(f"{min(max(c, 0.0), 1.0):g}" for c in values)
        message = f"the color of {who} is {at.attributes['rgba']!r}"
        yield Found(at, who, message, f"r g b a lie in 0…1: write {clamped}", document.set(at, rgba=clamped))


@rule("D416", "note")
def undefined_material(document: Document) -> Iterator[Found]:
    """A material that is not defined.

    Its name is all that is known of it: each viewer paints what bears it in a color of its own."""
    used: dict[str, list[Element]] = {}
    defined = set()
    for e in [document.root, *(s.at for link in document.links for s in link.shapes)]:
        for material in e.all("material"):
            name = material.attributes.get("name", "")
            if material.children:
                defined.add(name)
            elif name and e is not document.root:
                used.setdefault(name, []).append(material)
    for name, places in used.items():
        if name not in defined:
            count = "a shape" if len(places) == 1 else f"{len(places)} shapes"
            message = f"material {name!r} of {count} is defined nowhere"
            fix = f'add <material name="{name}"><color rgba="…"/></material> to <robot>'
            yield Found(places[0], f"material {name!r}", message, fix)
