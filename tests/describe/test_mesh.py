"""Mesh files: STL of both kinds, damaged ones, other formats, and where a mesh may be."""

from __future__ import annotations

import importlib.util
import struct
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dalembert.describe import mass, mesh
from dalembert.describe.mesh import read, read_stl, resolve
from dalembert.errors import DescriptionError, MissingExtraError
from errors import fields_of, raises

# A tetrahedron with the corners 0, x, y, z, seen from outside.
CORNERS = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


def binary(header: bytes = b"made by a test") -> bytes:
    out = header.ljust(80) + struct.pack("<I", len(FACES))
    for face in FACES:
        out += struct.pack("<12f", 0.0, 0.0, 0.0, *CORNERS[list(face)].ravel()) + b"\0\0"
    return out


def ascii_stl() -> bytes:
    lines = ["solid tetrahedron"]
    for face in FACES:
        lines += ["facet normal 0 0 0", "outer loop"]
        lines += ["vertex " + " ".join(f"{x:e}" for x in CORNERS[k]) for k in face]
        lines += ["endloop", "endfacet"]
    return "\n".join([*lines, "endsolid tetrahedron"]).encode()


@pytest.mark.parametrize("data", [binary(), binary(b"solid facet"), ascii_stl(), binary() + b"trailing"])
def test_stl_of_both_kinds(data: bytes) -> None:
    vertices, faces = read_stl(data)
    assert vertices.shape == (4, 3)
    assert vertices.dtype == np.float64
    corners = {tuple(sorted(map(tuple, vertices[f]))) for f in faces}
    assert corners == {tuple(sorted(map(tuple, CORNERS[list(f)]))) for f in FACES}
    body = mass.mesh(vertices, faces, density=1.0)
    assert body.m == pytest.approx(1.0)  # x y z / 6
    assert body.com() == pytest.approx((0.25, 0.5, 0.75))


def test_minus_zero_is_zero() -> None:
    data = bytearray(binary())
    data[96:108] = struct.pack("<3f", -0.0, 0.0, -0.0)  # the first corner of the first face
    vertices, faces = read_stl(bytes(data))
    assert len(vertices) == 4
    assert mass.mesh(vertices, faces, density=1.0).m == pytest.approx(1.0)


BAD = {
    "empty": (b"", "not-readable path"),
    "no triangles": (binary()[:80] + b"\0\0\0\0", "not-readable path"),
    "cut off": (binary()[:-1], "not-readable path"),
    "huge count": (binary()[:80] + b"\xff\xff\xff\xff" + binary()[84:], "not-readable path"),
    "nan": (binary()[:96] + struct.pack("<f", float("nan")) + binary()[100:], "not-finite vertices"),
    "ascii cut off": (ascii_stl()[:-30], "not-readable path"),
    "ascii lacks a vertex": (ascii_stl().replace(b"vertex", b"", 1), "not-readable path"),
    "ascii lacks a number": (ascii_stl().replace(b"2.000000e+00", b"", 1), "not-readable path"),
    "ascii empty": (b"solid a\nendsolid a facet", "not-readable path"),
    "ascii nan": (ascii_stl().replace(b"2.000000e+00", b"nan"), "not-finite vertices"),
}


@pytest.mark.parametrize("case", BAD)
def test_damaged_stl(case: str) -> None:
    data, message = BAD[case]
    with pytest.raises(DescriptionError) as error:
        read_stl(data)
    assert fields_of(error.value) == message


def test_any_damage_is_read_or_refused() -> None:
    count = 0

    @settings(max_examples=200)
    @given(
        st.sampled_from([binary(), ascii_stl()]),
        st.lists(st.tuples(st.integers(0, 283), st.integers(0, 255)), max_size=4),
        st.integers(0, 600),
    )
    def damage(data: bytes, changes: list[tuple[int, int]], end: int) -> None:
        nonlocal count
        damaged = bytearray(data)
        for position, byte in changes:
            damaged[position] = byte
        try:
            vertices, faces = read_stl(bytes(damaged[:end]))
        except DescriptionError:
            assert changes or end < len(data)
        else:
            count += 1
            assert np.isfinite(vertices).all()
            assert faces.max() < len(vertices)

    damage()
    assert count >= 10, count


def test_mujocos_own_format(tmp_path: Path) -> None:
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 1)]  # the last one twice, as a texture needs it
    faces = [(0, 2, 1), (0, 1, 3), (1, 2, 4), (0, 4, 2)]
    data = struct.pack("<4i", 5, 1, 5, 4)
    data += struct.pack("<28f", *(x for row in corners for x in row), *[0] * 13)
    data += struct.pack("<12i", *(i for row in faces for i in row))
    (tmp_path / "a.msh").write_bytes(data)
    vertices, found = read(tmp_path / "a.msh")
    assert len(vertices) == 4 and abs(mass.mesh(vertices, found, density=6.0).m - 1.0) < 1e-15
    for damaged in (data[:10], data[:-4], data[:-4] + struct.pack("<i", 9), data[:16] + b"\xff" * 4 + data[20:]):
        (tmp_path / "a.msh").write_bytes(damaged)
        with raises(DescriptionError, "not-readable path"):
            read(tmp_path / "a.msh")


def test_read_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.STL"
    path.write_bytes(binary())
    assert len(read(path)[0]) == 4
    path.write_bytes(b"nothing")
    with raises(DescriptionError, "not-readable path"):
        read(path)
    with raises(DescriptionError, "not-readable path"):
        read(tmp_path / "b.stl")
    (tmp_path / "a.step").write_bytes(b"")
    with raises(DescriptionError, "unsupported path"):
        read(tmp_path / "a.step")


@pytest.mark.parametrize("name", ["a.obj", "a.dae"])
def test_missing_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(mesh.importlib.util, "find_spec", lambda name: None)
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(MissingExtraError) as error:
        read(tmp_path / name)
    assert fields_of(error.value) == "missing-extra trimesh"


OBJ = "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS) + "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in FACES)
DAE = f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="millimeter" meter="0.001"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="12">{" ".join(str(x) for x in CORNERS.ravel())}</float_array>
<technique_common><accessor source="#pa" count="4" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>
<p>{" ".join(str(k) for f in FACES for k in f)}</p></triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n"><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def _lacks(*packages: str) -> bool:
    return any(importlib.util.find_spec(package) is None for package in packages)


@pytest.mark.skipif(_lacks("trimesh"), reason="trimesh, of the extra [mesh], is not installed")
def test_obj(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text(OBJ)
    body = mass.mesh(*read(tmp_path / "a.obj"), density=1.0)
    assert body.m == pytest.approx(1.0)
    (tmp_path / "b.obj").write_text("nothing")
    with raises(DescriptionError, "not-readable path"):
        read(tmp_path / "b.obj")


@pytest.mark.skipif(_lacks("trimesh", "collada"), reason="pycollada, of the extra [mesh], is not installed")
def test_collada_is_in_meters(tmp_path: Path) -> None:
    (tmp_path / "a.dae").write_text(DAE)
    body = mass.mesh(*read(tmp_path / "a.dae"), density=1.0)
    assert body.m == pytest.approx(1e-9)


# where a mesh is


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """ws/arm/urdf (the description), ws/arm/meshes/a.stl, ws/tools/b.stl, and a secret outside."""
    for name in ("ws/arm/urdf/arm.urdf", "ws/arm/meshes/a.stl", "ws/tools/b.stl", "secret.stl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return tmp_path / "ws"


@pytest.mark.parametrize(
    ("filename", "target"),
    [
        ("../meshes/a.stl", "arm/meshes/a.stl"),
        ("package://arm/meshes/a.stl", "arm/meshes/a.stl"),
        ("package:///arm/meshes/a.stl", "arm/meshes/a.stl"),
        ("package://tools/b.stl", "tools/b.stl"),
        ("package://arm/urdf/../meshes/a.stl", "arm/meshes/a.stl"),
    ],
)
def test_meshes_are_found(workspace: Path, filename: str, target: str) -> None:
    assert resolve(filename, workspace / "arm/urdf") == (workspace / target).resolve()


def test_packages_that_the_caller_names(workspace: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "home"
    elsewhere.mkdir()
    with pytest.raises(DescriptionError) as error:
        resolve("package://arm/meshes/a.stl", elsewhere / "deep/er/and/still/deeper/urdf")
    assert fields_of(error.value) == "not-readable mesh"
    found = (workspace / "arm/meshes/a.stl").resolve()
    assert resolve("package://arm/meshes/a.stl", elsewhere, [workspace]) == found
    assert resolve("package://arm/meshes/a.stl", elsewhere, [workspace / "arm"]) == found


def test_packages_by_the_name_in_their_manifest(workspace: Path, tmp_path: Path) -> None:
    (workspace / "arm/package.xml").write_text("<package><name>the_arm</name></package>")
    found = (workspace / "arm/meshes/a.stl").resolve()
    (tmp_path / "home").mkdir()
    for base, folders in (("ws/arm/urdf", []), ("ws/tools", []), ("home", ["ws"]), ("home", ["ws/arm"])):
        assert resolve("package://the_arm/meshes/a.stl", tmp_path / base, [tmp_path / f for f in folders]) == found
    with raises(DescriptionError, "not-readable mesh"):
        resolve("package://the_arm/meshes/a.stl", tmp_path / "home")


def test_absolute_paths_only_below_named_folders(workspace: Path) -> None:
    path = (workspace / "tools/b.stl").resolve()
    for filename in (str(path), f"file://{path}"):
        with raises(DescriptionError, "not-readable mesh"):
            resolve(filename, workspace / "arm/urdf")
        assert resolve(filename, workspace / "arm/urdf", [workspace]) == path


@pytest.mark.parametrize("filename", ["package://arm/../../secret.stl", "package://../secret.stl"])
def test_escapes_are_refused(workspace: Path, filename: str) -> None:
    with raises(DescriptionError, "not-readable mesh"):
        resolve(filename, workspace / "arm/urdf")


def test_a_link_on_disk_that_leads_out_is_refused(workspace: Path, tmp_path: Path) -> None:
    (workspace / "arm/meshes/link.stl").symlink_to(tmp_path / "secret.stl")
    for filename in ("package://arm/meshes/link.stl", "../meshes/link.stl"):
        with raises(DescriptionError, "not-readable mesh"):
            resolve(filename, workspace / "arm/urdf")
    assert resolve("../meshes/link.stl", workspace / "arm/urdf", [tmp_path]).name == "secret.stl"


SITE = Path(sysconfig.get_path("purelib"))
STL = sorted((SITE / "cmeel.prefix/share/example-robot-data").rglob("*.[sS][tT][lL]"))


@pytest.mark.skipif(not STL, reason="the package example-robot-data is not installed")
def test_real_stl_files_are_read() -> None:
    closed = 0
    some = STL[::4]
    for path in some:
        vertices, faces = read(path)
        assert len(faces) > 0
        try:
            body = mass.mesh(vertices, faces, density=1000.0)
        except ValueError:
            continue
        closed += 1
        low, high = vertices.min(axis=0), vertices.max(axis=0)
        assert 0 < body.m <= 1000.0 * float(np.prod(high - low)) * (1 + 1e-6)
        assert (low <= body.com()).all()
        assert (body.com() <= high).all()
    assert closed > len(some) // 10
