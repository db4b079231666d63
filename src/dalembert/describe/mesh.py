"""Mesh files → vertices and faces, whether these bound a solid, and where a description's mesh is on disk.

STL and MuJoCo's MSH are read here; OBJ and COLLADA come through trimesh (the extra [mesh]).

`package://name/meshes/a.stl` belongs to the package `name`: `..` must not leave it. A relative path
belongs to the folder of its description or, because `urdf/robot.urdf` beside `meshes/a.stl` is how most
packages are laid out, to the folders just above it: it may climb CLIMB levels, no more. An absolute path
or `file://` belongs to no package; it is kept as written, and `resolve` opens it only below a folder
that the caller names.
"""

from __future__ import annotations

import codecs
import importlib
import importlib.util
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array
from dalembert.describe.packages import packages
from dalembert.errors import DescriptionError, InputError, MissingExtraError
from dalembert.files import MESH, contents

Array = NDArray[np.float64]
Mesh = tuple[Array, NDArray[np.int64]]

_FACE = re.compile(rb"^f\s", re.MULTILINE)
_POLYGON = re.compile(rb"^f(?:[ \t]+[^\s#]+){4}", re.MULTILINE)  # a face of an OBJ file with four corners or more
_INDENTED = re.compile(rb"^[ \t]+[vf]", re.MULTILINE)
_HEADER = 84  # 80 bytes of anything, then the number of triangles
_TRIANGLE = 50  # normal, three vertices (12 floats), two bytes of attributes
ANCESTORS = 6  # how far up from the description a package's folder is looked for
# robots/<name>/urdf/x.urdf with meshes/ beside robots/ is the deepest layout seen.
CLIMB = 3
# Beyond it, products such as mass times length squared leave what a 64-bit number holds.
LARGEST = 1e50


def read(path: str | os.PathLike[str]) -> Mesh:
    """(vertices (n, 3) [m], faces (k, 3)) of an STL, OBJ, DAE or MSH (MuJoCo's) file, equal vertices merged. An OBJ or
    MSH file may have no faces: its convex hull is meant."""
    file = Path(path)
    if not os.path.isfile(file):
        raise DescriptionError("not-readable", "path", str(file), place=str(file), problem="the file does not exist")
    kind = file.suffix.lower()
    if kind not in (".stl", ".msh", ".obj", ".dae"):
        problem = "this type of mesh file is not supported"
        remedy = "Use .stl, .obj, .dae or .msh."
        raise DescriptionError("unsupported", "path", str(file), place=str(file), problem=problem, remedy=remedy)
    try:
        data = contents(file, MESH).removeprefix(codecs.BOM_UTF8)
    except OSError as error:
        problem = f"the file cannot be read: {error.strerror}"
        raise DescriptionError("not-readable", "path", str(file), place=str(file), problem=problem) from None
    if kind in (".obj", ".dae"):
        return _through_trimesh(file, data)
    try:
        return (read_stl if kind == ".stl" else read_msh)(data)
    except DescriptionError as error:
        raise DescriptionError("not-readable", "path", str(file), place=str(file), problem=f"{error}") from None


# STL


def read_stl(data: bytes) -> Mesh:
    """(vertices (n, 3), faces (k, 3)) of a binary or ASCII STL, equal vertices merged, unit as written."""
    corners = _ascii_corners(data) if _is_ascii(data) else _binary_corners(data)
    if not np.isfinite(corners).all():
        problem = "the STL file has a vertex that is not finite"
        raise DescriptionError("not-finite", "vertices", problem=problem, remedy="Export it again.")
    return _merged(corners)


def _merged(corners: Array) -> Mesh:
    """Vertices and faces of (3k, 3) corners, equal ones merged."""
    # Equal corners are neighbors once sorted (np.unique with axis=0, but faster).
    order = np.lexsort(corners.T)
    rows = corners[order]
    fresh = np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)])
    number = np.empty(len(corners), dtype=np.int64)
    number[order] = np.cumsum(fresh) - 1
    return rows[fresh], number.reshape(-1, 3)


def _is_ascii(data: bytes) -> bool:
    """Binary headers may begin with "solid" too: the length decides, then the keyword."""
    if len(data) >= _HEADER and len(data) == _HEADER + _TRIANGLE * _triangles(data):
        return False
    return data[:512].lstrip()[:5].lower() == b"solid" and b"facet" in data.lower()


def _triangles(data: bytes) -> int:
    return int.from_bytes(data[80:84], "little")


def _binary_corners(data: bytes) -> Array:
    """(3k, 3) corners of the triangles."""
    if len(data) < _HEADER:
        problem = f"{len(data)} bytes are too short for an STL file"
        raise DescriptionError("not-readable", "path", problem=problem, remedy="Export it again.")
    count = _triangles(data)
    if count == 0:
        raise DescriptionError("not-readable", "path", problem="the STL file has no triangles")
    needed = _HEADER + _TRIANGLE * count
    if len(data) < needed:
        problem = (
            f"the STL file announces {count} triangles, which are {needed} bytes, but contains {len(data)}; it is "
            "truncated, or not an STL file"
        )
        raise DescriptionError("not-readable", "path", problem=problem, remedy="Export it again.")
    rows = np.frombuffer(data, np.uint8, _TRIANGLE * count, _HEADER).reshape(count, _TRIANGLE)
    floats = np.ascontiguousarray(rows[:, 12:48]).view("<f4")
    return floats.reshape(-1, 3).astype(np.float64)


def _ascii_corners(data: bytes) -> Array:
    """(3k, 3) corners: three words after each `vertex`."""
    words = data.lower().split()
    if b"endsolid" not in words:
        problem = "the ASCII STL file has no 'endsolid', so it is truncated"
        raise DescriptionError("not-readable", "path", problem=problem, remedy="Export it again.")
    facets = words.count(b"endfacet")
    starts = [i for i, word in enumerate(words) if word == b"vertex"]
    if facets == 0:
        raise DescriptionError("not-readable", "path", problem="the STL file has no triangles")
    if len(starts) != 3 * facets:
        problem = f"the ASCII STL file has {facets} facets and {len(starts)} vertices, but needs three for each facet"
        raise DescriptionError("not-readable", "path", problem=problem, remedy="Export it again.")
    try:
        return np.array([[float(w) for w in words[i + 1 : i + 4]] for i in starts], dtype=np.float64)
    except ValueError:
        problem = "a vertex of the ASCII STL file must be three numbers"
        raise DescriptionError("not-readable", "path", problem=problem, remedy="Export it again.") from None


# MSH


def read_msh(data: bytes) -> Mesh:
    """(vertices (n, 3), faces (k, 3)) of MuJoCo's own format: four counts, then vertices, normals and texture
    coordinates as 32-bit floats, then faces, without which the convex hull is meant."""
    if len(data) < 16:
        problem = f"{len(data)} bytes are too short for an MSH file"
        raise DescriptionError("not-readable", "path", problem=problem, remedy="Export it again.")
    vertices, normals, texts, faces = (int(n) for n in np.frombuffer(data, "<i4", 4))
    needed = 16 + 4 * (3 * vertices + 3 * normals + 2 * texts + 3 * faces)
    if min(vertices, normals, texts, faces) < 0 or needed != len(data):
        problem = f"the MSH file announces {needed} bytes but contains {len(data)}"
        raise DescriptionError("not-readable", "path", problem=problem, remedy="Export it again.")
    x = np.frombuffer(data, "<f4", 3 * vertices, 16).reshape(-1, 3).astype(np.float64)
    f = np.frombuffer(data, "<i4", 3 * faces, needed - 12 * faces).reshape(-1, 3).astype(np.int64)
    if not np.isfinite(x).all() or (f.size and not 0 <= f.min() <= f.max() < vertices):
        problem = "the MSH file has a vertex that is not finite, or a face of a vertex that does not exist"
        raise DescriptionError("not-readable", "path", problem=problem, remedy="Export it again.")
    return (x, f) if faces == 0 else _merged(x[f].reshape(-1, 3))


# OBJ and COLLADA


def _through_trimesh(file: Path, data: bytes) -> Mesh:
    needed = ["trimesh", "collada"] if file.suffix.lower() == ".dae" else ["trimesh"]
    for package in needed:
        if importlib.util.find_spec(package) is None:
            problem = f"{file.name} needs the package {package!r}"
            remedy = "Install it with pip install 'dalembert[mesh]'."
            raise MissingExtraError("missing-extra", package, file.name, problem=problem, remedy=remedy)
    trimesh = importlib.import_module("trimesh")
    unit = _collada_unit(file, data) if file.suffix.lower() == ".dae" else 1.0  # first: it refuses entities
    try:
        if file.suffix.lower() == ".obj":
            data = _triangulate(data)
            if not _FACE.search(data):
                return _points(data), np.zeros((0, 3), np.int64)
        # Of the bytes, not of the path: materials and textures, which the file may name, are not opened.
        found = trimesh.load(io.BytesIO(data), file_type=file.suffix.lower()[1:], force="mesh")
        # Vertices are doubled where textures or normals differ; the solid does not care.
        found.merge_vertices(merge_tex=True, merge_norm=True)
        vertices = np.asarray(found.vertices, dtype=np.float64)
        faces = np.asarray(found.faces, dtype=np.int64)
    except Exception as error:  # trimesh and its parsers raise whatever they meet
        problem = f"trimesh cannot read it ({error})"
        raise DescriptionError("not-readable", "path", str(file), place=str(file), problem=problem) from None
    if len(faces) == 0:
        raise DescriptionError("not-readable", "path", str(file), place=str(file), problem="the file has no triangles")
    return vertices * unit, faces


def _triangulate(data: bytes) -> bytes:
    """The text of an OBJ file with each face of more than three corners cut into triangles as MuJoCo does, in single
    precision. If the face is not flat, other triangles enclose another volume. Continued and indented lines, of which
    trimesh drops the faces without a word, are written out."""
    data = re.sub(rb"\\\r?\n", b" ", data) if b"\\" in data else data
    data = data.replace(b"\r", b"\n") if b"\n" not in data else data
    data = re.sub(rb"^[ \t]+", b"", data, flags=re.MULTILINE) if _INDENTED.search(data) else data
    if not _POLYGON.search(data):
        return data
    lines, points = data.splitlines(), list[list[bytes]]()
    polygons = list[tuple[int, list[bytes], list[int]]]()  # lines, the corners in them, and the numbers of their points
    for k, line in enumerate(lines):
        words = line.partition(b"#")[0].split()
        if words[:1] == [b"v"]:
            points.append(words[1:4])
        elif words[:1] == [b"f"] and len(words) > 4:
            numbers = [int(word.partition(b"/")[0]) for word in words[1:]]
            numbers = [n - 1 if n > 0 else len(points) + n for n in numbers]  # −1 is the last one so far
            polygons.append((k, words[1:], numbers))
    x = np.array(points, dtype=np.float64).astype(np.float32)
    for k, corners, numbers in polygons:
        if not 0 <= min(numbers) <= max(numbers) < len(points):
            problem = f"a face has a corner that is not among the {len(points)} vertices"
            raise DescriptionError("not-readable", "path", problem=problem)
        triangles = (_cut if len(corners) == 4 else _clip)(x[numbers])
        lines[k] = b"\n".join(b"f " + b" ".join(corners[i] for i in triangle) for triangle in triangles)
    return b"\n".join(lines)


def _points(data: bytes) -> Array:
    """The vertices (n, 3) of an OBJ file without faces: MuJoCo takes their convex hull."""
    x = np.array(
        [line.split()[1:4] for line in data.splitlines() if line.startswith((b"v ", b"v\t"))], dtype=np.float64
    )
    if x.ndim != 2 or x.shape[1] != 3 or len(x) < 4 or not np.isfinite(x).all():
        raise DescriptionError("not-readable", "path", problem="the file has no triangles, and no vertices of a solid")
    return x


def _cut(x: NDArray[np.float32]) -> Iterable[Sequence[int]]:
    """The two triangles of four corners: on both sides of the shorter diagonal."""
    first, second = x[2] - x[0], x[3] - x[1]
    return ((0, 1, 2), (0, 2, 3)) if first @ first < second @ second else ((0, 1, 3), (1, 2, 3))


def _clip(x: NDArray[np.float32]) -> Iterator[Sequence[int]]:
    """The triangles of a polygon: ears are clipped off its projection along an axis.

    A corner counts as convex if it turns as the triangle of its first edge and the origin does. MuJoCo's reader of OBJ
    files (tinyobjloader) has this rule, so that the position of a polygon decides how it is cut. If no ear is found,
    MuJoCo drops the rest of the polygon. It becomes a fan here, because a solid must not have holes."""
    left, at, tries = list(range(len(x))), 0, len(x)
    u, v = x[:, _projection(x)].T
    while len(left) > 3 and tries > 0:
        tries -= 1
        at %= len(left)
        a, b, c, *others = left[at:] + left[:at]
        turn = (u[b] - u[a]) * (v[c] - v[b]) - (v[b] - v[a]) * (u[c] - u[b])
        area = (u[a] * v[b] - v[a] * u[b]) * np.float32(0.5)
        if turn * area < 0 or any(_inside(u[[a, b, c]], v[[a, b, c]], u[k], v[k]) for k in others):
            at += 1
            continue
        yield a, b, c
        left.remove(b)
        tries = len(left) + 1
    yield from ((left[0], b, c) for b, c in pairwise(left[1:]))


def _projection(x: NDArray[np.float32]) -> list[int]:
    """The two axes in which a polygon is seen: those of the largest part of the normal at its first corner that has
    one."""
    for a, b, c in zip(x, np.roll(x, -1, 0), np.roll(x, -2, 0), strict=True):
        n = np.abs(np.cross(b - a, c - b))
        if n.max() > np.finfo(np.float32).eps:
            return [1, 2] if n[0] > n[1] and n[0] > n[2] else [0, 1] if n[2] > n[0] and n[2] > n[1] else [0, 2]
    return [1, 2]


def _inside(u: NDArray[np.float32], v: NDArray[np.float32], x: np.float32, y: np.float32) -> bool:
    """Whether (x, y) is in a triangle: a ray from it crosses the edges an odd number of times."""
    odd = False
    for i, j in ((0, 2), (1, 0), (2, 1)):
        if (v[i] > y) != (v[j] > y) and x < (u[j] - u[i]) * (y - v[i]) / (v[j] - v[i]) + u[i]:
            odd = not odd
    return odd


def has_several_objects(data: bytes) -> bool:
    """Whether an OBJ file has faces before and after a line that begins an object or a group."""
    at: int | None = 0
    for begin in (rb"^f\s", rb"^[og]\s", rb"^f\s"):
        found = None if at is None else re.compile(begin, re.MULTILINE).search(data, at)
        at = found.end() if found else None
    return at is not None


def _collada_unit(file: Path, data: bytes) -> float:
    """Meters per unit, which trimesh does not apply and rviz does; neither turns `up_axis`."""
    from dalembert.describe import xml  # a robot without meshes needs no reader of XML

    root = xml.parse(data, str(file))
    for asset in root.all("asset"):
        for unit in asset.all("unit"):
            return unit.number("meter", "the asset", 1.0)
    return 1.0


# closed meshes


def closed_mesh(vertices: ArrayLike, faces: ArrayLike, closed: bool = True) -> Mesh:
    """(n, 3) floats and (k, 3) indices of a mesh, closed and consistently oriented if wanted, or an InputError.

    Faces that repeat a vertex have no area and are left out: files made by programs are full of them.
    """
    x, f = array("vertices", vertices, (None, 3)), array("faces", faces, (None, 3))
    if not len(x) or not len(f):
        problem = f"the mesh has {len(x)} vertices and {len(f)} faces, but needs some of both"
        raise InputError("too-few", "vertices", problem=problem)
    if not (np.abs(x) <= LARGEST).all():
        problem = "a vertex of the mesh is so far away that its products overflow"
        raise InputError("out-of-range", "vertices", problem=problem)
    indices = f.astype(np.int64)
    if (indices != f).any() or indices.min() < 0 or indices.max() >= len(x):
        raise InputError("out-of-range", "faces", expected=f"indices of the vertices, from 0 to {len(x) - 1}")
    a, b, c = indices.T
    solid = indices[(a != b) & (b != c) & (c != a)]
    if closed:
        _closed(solid)
    return x, solid


def hull(vertices: Array) -> NDArray[np.int64]:
    """(k, 3) faces of the convex hull, in no common orientation."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        faces: NDArray[np.int64] = ConvexHull(vertices).simplices.astype(np.int64)
    except (QhullError, ValueError):
        problem = "the mesh is flat, and its convex hull encloses nothing"
        raise InputError("wrong-value", "vertices", problem=problem) from None
    return faces


def _closed(faces: NDArray[np.int64]) -> None:
    """Every directed edge stands once in each direction: no hole, no flipped or doubled face."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    count = int(edges.max(initial=0)) + 1
    there, times = np.unique(edges[:, 0] * count + edges[:, 1], return_counts=True)
    back = np.unique(edges[:, 1] * count + edges[:, 0])
    if len(there) == 0:
        raise InputError("wrong-value", "faces", problem="no face of the mesh has an area")
    alone = len(np.setdiff1d(there, back))
    repeated = int((times > 1).sum())
    if repeated:
        problem = (
            f"the mesh is not consistently oriented: {repeated} of its {len(edges)} edges run twice in one direction "
            "(a flipped, doubled or touching face)"
        )
        raise InputError("wrong-value", "faces", problem=problem, remedy="Repair it, or use a simple shape.")
    if alone:
        problem = f"the mesh is not closed: {alone} of its {len(edges)} edges have a face on one side only"
        remedy = "Close its holes, merge its equal vertices, or use a simple shape."
        raise InputError("wrong-value", "faces", problem=problem, remedy=remedy)


# where a mesh is


def resolve(
    filename: str, base_dir: str | os.PathLike[str], package_dirs: Sequence[str | os.PathLike[str]] = ()
) -> Path:
    """The file that a description in `base_dir` means by `filename`; it exists and stays in its place.

    `package://name/…` is looked for in each of `package_dirs` (a folder that holds packages, or the package itself) and
    on the way up from base_dir: by the name of its folder, then by the <name> in its package.xml. A relative path
    starts at base_dir and may climb `CLIMB` folders. An absolute path or file:// must lie below base_dir or one of
    package_dirs.
    Links on disk are followed, and refused if they lead out of those folders.
    """
    reason = escape(filename)
    if reason is not None:
        raise DescriptionError("not-readable", "mesh", filename, problem=f"the mesh is refused: {reason}")
    base = Path(base_dir).resolve()
    named = [Path(d).expanduser().resolve() for d in package_dirs]
    scheme, rest = split(filename)
    rest = rest.replace("\\", "/")
    if scheme in ("package", "model"):
        candidates: Iterable[tuple[Path, Path]] = _in_packages(rest.lstrip("/"), base, named)
    elif scheme == "file" or Path(rest).is_absolute():
        candidates = [(root, Path(rest)) for root in [*named, base]]
    else:
        candidates = [(climbed(base, rest), base / rest)]
    return _existing(filename, candidates, named)


def _in_packages(rest: str, base: Path, named: list[Path]) -> Iterator[tuple[Path, Path]]:
    """(package folder, file) in the order of search: first by the names of folders, then by those in package.xml."""
    package, _, inside = rest.partition("/")
    above = [base, *base.parents][:ANCESTORS]
    for folder in [*named, *above]:
        if folder.name == package:
            yield folder, folder / inside
        yield folder / package, folder / package / inside
    for folder in [*named, *above]:
        if (place := packages([folder]).get(package)) is not None:
            yield place, place / inside


def _existing(filename: str, candidates: Iterable[tuple[Path, Path]], named: list[Path]) -> Path:
    outside: Path | None = None
    for root, candidate in candidates:
        real = candidate.resolve()
        if not os.path.isfile(real):
            continue
        if any(real.is_relative_to(folder) for folder in [root.resolve(), *named]):
            return real
        outside = real
    if outside is not None:
        problem = f"the mesh {filename!r} is refused, because it leads to {outside}, outside its package"
        advice = "If that is right, name its folder with `package_dirs=[…]`."
        raise DescriptionError("not-readable", "mesh", filename, problem=problem, remedy=advice)
    packaged = split(filename)[0] in ("package", "model")
    package = "Name the folder of its package with `package_dirs=[…]`."
    remedy = package if packaged else "Correct the path, or put the file there."
    problem = f"the mesh {filename!r} was not found"
    raise DescriptionError("not-readable", "mesh", filename, problem=problem, remedy=remedy)


def split(filename: str) -> tuple[str, str]:
    """(scheme, rest): ("package", "name/a.stl"), ("file", "/a.stl"), ("", "../a.stl")."""
    head, separator, tail = filename.partition("://")
    return (head.lower(), tail) if separator else ("", filename)


def depth_below(path: str) -> int:
    """The lowest folder level that a path passes through: -1 for `a/../../b`, counted from its start."""
    level = lowest = 0
    for part in path.replace("\\", "/").split("/"):
        if part == "..":
            level -= 1
        elif part not in ("", "."):
            level += 1
        lowest = min(lowest, level)
    return lowest


def climbed(base: Path, path: str) -> Path:
    """The folder that a path written in `base` may not leave: as far above it as the path itself climbs."""
    return [base, *base.parents][min(-depth_below(path), len(base.parents))]


def escape(filename: str) -> str | None:
    """Why the name of a file that a description names is refused, as a sentence, or None."""
    scheme, rest = split(filename)
    if not rest.strip():
        return f"its file name is {filename!r}; name a file"
    if "\0" in filename:
        return f"its file name {filename!r} holds a NUL character"
    if scheme in ("package", "model"):
        # Three slashes, package:///name/…, are seen in real files and mean the same.
        package, _, inside = rest.replace("\\", "/").lstrip("/").partition("/")
        if package in ("", ".", ".."):
            return f"{filename!r} names no package; write {scheme}://name/path"
        if depth_below(inside) < 0:
            return f"{filename!r} leaves its package {package!r}; keep meshes inside the package"
    elif scheme == "" and depth_below(rest) < -CLIMB:
        return f"{filename!r} climbs more than {CLIMB} folders above its description; keep it nearer"
    elif scheme not in ("", "file"):
        return f"{filename!r} has the scheme {scheme!r}; write package://, file:// or a path"
    return None
