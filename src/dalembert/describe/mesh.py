"""Mesh files → vertices and faces, and where a description's mesh is on disk.

STL and MuJoCo's MSH are read here; OBJ and COLLADA come through trimesh (the extra [mesh]).
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dalembert.describe import xml
from dalembert.describe.paths import climbed, escape, split
from dalembert.errors import DescriptionError, MissingExtraError
from dalembert.files import MESH, contents

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mesh = tuple[NDArray[np.float64], NDArray[np.int64]]

_HEADER = 84  # 80 bytes of anything, then the number of triangles
_TRIANGLE = 50  # normal, three vertices (12 floats), two bytes of attributes
ANCESTORS = 6  # how far up from the description a package's folder is looked for


def read(path: str | os.PathLike[str]) -> Mesh:
    """(vertices (n, 3) [m], faces (k, 3)) of an STL, OBJ, DAE or MSH (MuJoCo's) file, equal vertices merged."""
    file = Path(path)
    if not file.is_file():
        raise DescriptionError(f"{file}: there is no such file")
    kind = file.suffix.lower()
    if kind not in (".stl", ".msh", ".obj", ".dae"):
        raise DescriptionError(f"{file}: this type of mesh file is not read; use .stl, .obj, .dae or .msh")
    try:
        data = contents(file, MESH)
    except OSError as error:
        raise DescriptionError(f"{file}: cannot be read: {error.strerror}") from None
    if kind in (".obj", ".dae"):
        return _through_trimesh(file, data)
    try:
        return (read_stl if kind == ".stl" else read_msh)(data)
    except DescriptionError as error:
        raise DescriptionError(f"{file}: {error}") from None


# STL


def read_stl(data: bytes) -> Mesh:
    """(vertices (n, 3), faces (k, 3)) of a binary or ASCII STL, equal vertices merged, unit as written."""
    import numpy as np

    corners = _ascii_corners(data) if _is_ascii(data) else _binary_corners(data)
    if not np.isfinite(corners).all():
        raise DescriptionError("the STL file has a vertex that is not finite; export it again")
    return _merged(corners)


def _merged(corners: NDArray[np.float64]) -> Mesh:
    """Vertices and faces of (3k, 3) corners, equal ones merged."""
    import numpy as np

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


def _binary_corners(data: bytes) -> NDArray[np.float64]:
    """(3k, 3) corners of the triangles."""
    import numpy as np

    if len(data) < _HEADER:
        raise DescriptionError(f"{len(data)} bytes are too short for an STL file; export it again")
    count = _triangles(data)
    if count == 0:
        raise DescriptionError("the STL file has no triangles")
    needed = _HEADER + _TRIANGLE * count
    if len(data) < needed:
        raise DescriptionError(
            f"the STL file announces {count} triangles, {needed} bytes, and has {len(data)}: it is cut off, "
            "or no STL; export it again"
        )
    rows = np.frombuffer(data, np.uint8, _TRIANGLE * count, _HEADER).reshape(count, _TRIANGLE)
    floats = np.ascontiguousarray(rows[:, 12:48]).view("<f4")
    return floats.reshape(-1, 3).astype(np.float64)


def _ascii_corners(data: bytes) -> NDArray[np.float64]:
    """(3k, 3) corners: three words after each `vertex`."""
    import numpy as np

    words = data.lower().split()
    if b"endsolid" not in words:
        raise DescriptionError("the ASCII STL file has no 'endsolid': it is cut off; export it again")
    facets = words.count(b"endfacet")
    starts = [i for i, word in enumerate(words) if word == b"vertex"]
    if facets == 0:
        raise DescriptionError("the STL file has no triangles")
    if len(starts) != 3 * facets:
        raise DescriptionError(
            f"the ASCII STL file has {facets} facets and {len(starts)} vertices, not three for each; export it again"
        )
    try:
        return np.array([[float(w) for w in words[i + 1 : i + 4]] for i in starts], dtype=np.float64)
    except ValueError:
        raise DescriptionError("a vertex of the ASCII STL file is not three numbers; export again") from None


# MSH


def read_msh(data: bytes) -> Mesh:
    """(vertices (n, 3), faces (k, 3)) of MuJoCo's own format: four counts, then vertices, normals and texture
    coordinates as 32-bit floats, then faces, without which the convex hull is meant."""
    import numpy as np

    if len(data) < 16:
        raise DescriptionError(f"{len(data)} bytes are too short for an MSH file; export it again")
    vertices, normals, texts, faces = (int(n) for n in np.frombuffer(data, "<i4", 4))
    needed = 16 + 4 * (3 * vertices + 3 * normals + 2 * texts + 3 * faces)
    if min(vertices, normals, texts, faces) < 0 or needed != len(data):
        raise DescriptionError(f"the MSH file announces {needed} bytes and has {len(data)}; export it again")
    x = np.frombuffer(data, "<f4", 3 * vertices, 16).reshape(-1, 3).astype(np.float64)
    f = np.frombuffer(data, "<i4", 3 * faces, needed - 12 * faces).reshape(-1, 3).astype(np.int64)
    if not np.isfinite(x).all() or (f.size and not 0 <= f.min() <= f.max() < vertices):
        raise DescriptionError("the MSH file has a vertex that is not finite, or a face of none; export it again")
    return (x, f) if faces == 0 else _merged(x[f].reshape(-1, 3))


# OBJ and COLLADA


def _through_trimesh(file: Path, data: bytes) -> Mesh:
    import numpy as np

    needed = ["trimesh", "collada"] if file.suffix.lower() == ".dae" else ["trimesh"]
    for package in needed:
        if importlib.util.find_spec(package) is None:
            text = f"{file.name} needs the package {package!r} to be read: pip install 'dalembert[mesh]'"
            raise MissingExtraError(text)
    trimesh = importlib.import_module("trimesh")
    unit = _collada_unit(file, data) if file.suffix.lower() == ".dae" else 1.0  # first: it refuses entities
    try:
        # Of the bytes, not of the path: materials and textures, which the file may name, are not opened.
        found = trimesh.load(io.BytesIO(data), file_type=file.suffix.lower()[1:], force="mesh")
        # Vertices are doubled where textures or normals differ; the solid does not care.
        found.merge_vertices(merge_tex=True, merge_norm=True)
        vertices = np.asarray(found.vertices, dtype=np.float64)
        faces = np.asarray(found.faces, dtype=np.int64)
    except Exception as error:  # trimesh and its parsers raise whatever they meet
        raise DescriptionError(f"{file}: trimesh cannot read it ({error})") from None
    if len(faces) == 0:
        raise DescriptionError(f"{file}: there are no triangles in it")
    return vertices * unit, faces


def _collada_unit(file: Path, data: bytes) -> float:
    """Meters per unit, which trimesh does not apply and rviz does; neither turns `up_axis`."""
    root = xml.parse(data, str(file))
    for asset in root.all("asset"):
        for unit in asset.all("unit"):
            return unit.number("meter", "the asset", 1.0)
    return 1.0


# where a mesh is


def resolve(
    filename: str, base_dir: str | os.PathLike[str], package_dirs: Sequence[str | os.PathLike[str]] = ()
) -> Path:
    """The file that a description in `base_dir` means by `filename`; it exists and stays in its place.

    `package://name/…` is looked for in each of `package_dirs` (a folder that holds packages, or the
    package itself) and on the way up from base_dir. A relative path starts at base_dir and may climb
    `paths.CLIMB` folders. An absolute path or file:// must lie below base_dir or one of package_dirs.
    Links on disk are followed, and refused if they lead out of those folders.
    """
    reason = escape(filename)
    if reason is not None:
        raise DescriptionError(f"the mesh is refused: {reason}")
    base = Path(base_dir).resolve()
    named = [Path(d).expanduser().resolve() for d in package_dirs]
    scheme, rest = split(filename)
    rest = rest.replace("\\", "/")
    if scheme in ("package", "model"):
        candidates = list(_in_packages(rest.lstrip("/"), base, named))
    elif scheme == "file" or Path(rest).is_absolute():
        candidates = [(root, Path(rest)) for root in [*named, base]]
    else:
        candidates = [(climbed(base, rest), base / rest)]
    return _existing(filename, candidates, named)


def _in_packages(rest: str, base: Path, named: list[Path]) -> Iterator[tuple[Path, Path]]:
    """(package folder, file) in the order of search."""
    package, _, inside = rest.partition("/")
    above = [base, *base.parents][:ANCESTORS]
    for folder in [*named, *above]:
        if folder.name == package:
            yield folder, folder / inside
        yield folder / package, folder / package / inside


def _existing(filename: str, candidates: list[tuple[Path, Path]], named: list[Path]) -> Path:
    outside: Path | None = None
    for root, candidate in candidates:
        real = candidate.resolve()
        if not real.is_file():
            continue
        if any(real.is_relative_to(folder) for folder in [root.resolve(), *named]):
            return real
        outside = real
    if outside is not None:
        raise DescriptionError(
            f"the mesh {filename!r} is refused: it leads to {outside}, outside its package; "
            "name its folder with --package-dir (package_dirs=) if that is right"
        )
    packaged = split(filename)[0] in ("package", "model")
    package = "name the folder of its package with --package-dir (package_dirs=)"
    remedy = package if packaged else "correct the path, or put the file there"
    raise DescriptionError(f"the mesh {filename!r} was not found; {remedy}")
