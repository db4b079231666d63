"""Mass properties: textbook formulas, and each shape against the density integral of its mesh."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dalembert.describe import mass
from dalembert.describe.description import Box, Capsule, Cylinder, Geometry, Mesh, Origin, Sphere
from dalembert.errors import DalembertError, InputError
from dalembert.spatial import Inertia, Pose
from dalembert.spatial.rotation import from_rpy
from errors import raises

X, Y, Z, O = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
ROUNDING = 1e-13  # a few dozen operations on numbers near one


def same(a: Inertia, b: Inertia, rel: float = ROUNDING, abs: float = 1e-14) -> None:
    assert a.parameters() == pytest.approx(b.parameters(), rel=rel, abs=abs)


# textbook


def test_point_mass_on_a_circle() -> None:
    assert mass.moment_about_axis(mass.point(3.0, (0.5, 0.0, 0.0)), O, Z) == pytest.approx(3.0 * 0.25)


def test_collection_of_point_masses() -> None:
    body = mass.combine(*(mass.point(m, (r, 0.0, 0.0)) for m, r in ((1.0, 0.1), (2.0, 0.2), (3.0, -0.3))))
    assert body.m == 6.0
    assert mass.moment_about_axis(body, O, Z) == pytest.approx(1.0 * 0.01 + 2.0 * 0.04 + 3.0 * 0.09)


@pytest.mark.parametrize(
    ("body", "axis", "k"),
    [
        (mass.cylinder(2.0, 0.3, 1.0), Z, 1 / 2),
        (mass.sphere(2.0, 0.3), (1.0, 1.0, 0.0), 2 / 5),
        (mass.sphere(2.0, 0.3, hollow=True), X, 2 / 3),
        (mass.cone(2.0, 0.3, 1.0), Z, 3 / 10),
        (mass.rod(2.0, 0.6), Z, 1 / 3),  # r is half the length
        (mass.cylinder(2.0, 0.3, 0.0), X, 1 / 4),  # a disc about its diameter
    ],
)
def test_k_m_r_squared(body: Inertia, axis: tuple[float, float, float], k: float) -> None:
    assert mass.moment_about_axis(body, O, axis) == pytest.approx(k * 2.0 * 0.3**2)


def test_rod_about_its_end() -> None:
    M, L = 1.5, 0.8
    assert mass.moment_about_axis(mass.rod(M, L), (-L / 2, 0.0, 0.0), Z) == pytest.approx(M * L**2 / 3)


def test_ball_on_the_end_of_a_rod() -> None:
    M, m, L, R = 1.5, 2.5, 0.8, 0.1
    parts = [(Pose(p=(L / 2, 0.0, 0.0)), mass.rod(M, L)), (Pose(p=(L + R, 0.0, 0.0)), mass.sphere(m, R))]
    expected = M * L**2 / 3 + 2 / 5 * m * R**2 + m * (L + R) ** 2
    assert mass.moment_about_axis(mass.compose(parts), O, Z) == pytest.approx(expected)
    assert mass.moment_about_axis(mass.compose(parts), O, X) == pytest.approx(2 / 5 * m * R**2)


def test_parallel_axis() -> None:
    I_c = mass.box(2.0, (0.1, 0.2, 0.3)).I
    d = (0.4, -0.5, 0.6)
    moved = mass.box(2.0, (0.1, 0.2, 0.3)).to_parent(Pose(p=d))
    assert np.allclose(mass.parallel_axis(I_c, 2.0, d), moved.I, rtol=1e-14)
    assert mass.parallel_axis(I_c, 2.0, d)[0][1] == pytest.approx(I_c[0][1] - 2.0 * 0.4 * -0.5)


def test_cone_stands_on_its_base() -> None:
    body = mass.cone(4.0, 0.3, 0.8)
    assert body.com() == pytest.approx((0.0, 0.0, 0.2))
    assert body.about_com()[0][0] == pytest.approx(3 / 80 * 4.0 * (4 * 0.09 + 0.64))


def test_capsule_between_ball_and_rod() -> None:
    same(mass.capsule(2.0, 0.3, 0.0), mass.sphere(2.0, 0.3))
    thin = mass.capsule(2.0, 0.0, 0.8)
    assert thin.I[0][0] == pytest.approx(mass.rod(2.0, 0.8).I[1][1])
    same(mass.capsule(2.0, 0.0, 0.0), mass.point(2.0))


def test_axis_of_any_length_and_a_line_off_the_body() -> None:
    body = mass.sphere(2.0, 0.3)
    far = mass.moment_about_axis(body, (3.0, 4.0, 7.0), (0.0, 0.0, -10.0))
    assert far == pytest.approx(2 / 5 * 2.0 * 0.09 + 2.0 * 25.0)


# meshes


def box_mesh(size: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    return corners * size, np.array(faces)


def turned_mesh(profile: list[tuple[float, float]], n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """A profile of (radius, z) turned about z, from the lowest point on the axis to the highest."""
    rings = profile[1:-1]
    angle = 2 * np.pi * np.arange(n) / n
    vertices = [(0.0, 0.0, profile[0][1]), (0.0, 0.0, profile[-1][1])]
    for r, z in rings:
        vertices += [(r * math.cos(a), r * math.sin(a), z) for a in angle]
    faces = []
    last = 2 + n * (len(rings) - 1)
    for k in range(n):
        j = (k + 1) % n
        faces += [(0, 2 + j, 2 + k), (1, last + k, last + j)]
        for ring in range(len(rings) - 1):
            a, b = 2 + n * ring, 2 + n * (ring + 1)
            faces += [(a + k, a + j, b + j), (a + k, b + j, b + k)]
    return np.array(vertices), np.array(faces)


def arc(r: float, z: float, start: float, stop: float, n: int = 100) -> list[tuple[float, float]]:
    return [(r * math.cos(a), z + r * math.sin(a)) for a in np.linspace(start, stop, n)]


half = math.pi / 2
TURNED = {
    "cylinder": (mass.cylinder(2.0, 0.3, 0.8), [(0, -0.4), (0.3, -0.4), (0.3, 0.4), (0, 0.4)]),
    "cone": (mass.cone(2.0, 0.3, 0.8), [(0, 0.0), (0.3, 0.0), (0, 0.8)]),
    "sphere": (mass.sphere(2.0, 0.3), arc(0.3, 0.0, -half, half)),
    "capsule": (mass.capsule(2.0, 0.3, 0.8), [*arc(0.3, -0.4, -half, 0.0), *arc(0.3, 0.4, 0.0, half)]),
}


@pytest.mark.parametrize("shape", TURNED)
def test_shape_against_its_mesh(shape: str) -> None:
    body, profile = TURNED[shape]
    # 200 sides for a circle: the area is too small by (2π/200)²/6 = 1.6e-4, and I by about twice that.
    same(mass.mesh(*turned_mesh(profile), mass=2.0), body, rel=5e-4, abs=1e-12)


sizes = st.floats(0.05, 2.0)
coordinates = st.floats(-3.0, 3.0)
vectors = st.tuples(coordinates, coordinates, coordinates)


@given(st.tuples(sizes, sizes, sizes), vectors, vectors, st.floats(0.1, 8000.0))
def test_box_mesh_anywhere_in_any_attitude(size: tuple[float, float, float], p: Any, rpy: Any, density: float) -> None:
    vertices, faces = box_mesh(size)
    T = Pose(from_rpy(rpy), p)
    placed = vertices @ np.array(T.R).T + np.array(p)
    expected = mass.from_density(Box(size), density).to_parent(T)
    scale = expected.m * (1.0 + sum(x * x for x in p) + sum(s * s for s in size))
    same(mass.mesh(placed, faces, density=density), expected, rel=1e-11, abs=1e-13 * scale)


@pytest.mark.parametrize(
    "geometry", [Box((0.2, 0.3, 0.4)), Cylinder(0.1, 0.4), Sphere(0.1), Capsule(0.1, 0.3), Box((0, 0, 0))]
)
def test_a_density_that_is_the_same_everywhere(geometry: Geometry) -> None:
    same(mass.from_density(geometry, lambda x, y, z: 900.0), mass.from_density(geometry, 900.0), rel=1e-12)


def test_densities_that_vary_against_their_integrals() -> None:
    """Denser toward one end of a box, toward the rim of a disk, toward the middle of a ball, downwards."""
    a, b, c = 0.2, 0.3, 0.4
    block = mass.from_density(Box((a, b, c)), lambda x, y, z: 1000 * (1 + x / a))
    assert block.m == pytest.approx(1000 * a * b * c, rel=1e-12)
    assert block.com() == pytest.approx((a / 12, 0, 0), abs=1e-15)
    R, L = 0.1, 0.4
    disk = mass.from_density(Cylinder(R, L), lambda x, y, z: 500 * (x**2 + y**2) / R**2)
    assert disk.m == pytest.approx(500 * math.pi * R**2 * L / 2, rel=1e-12)
    assert disk.I[2][2] == pytest.approx(disk.m * R**2 * 2 / 3, rel=1e-12)  # ∫r⁵/∫r³
    ball = mass.from_density(Sphere(R), lambda x, y, z: 800 * np.exp(-(x**2 + y**2 + z**2) / R**2))
    whole = 4 * math.pi * 800 * R**3 * (math.sqrt(math.pi) / 4 * math.erf(1) - math.exp(-1) / 2)
    assert ball.m == pytest.approx(whole, rel=1e-12)
    leaning = mass.from_density(Capsule(R, L), lambda x, y, z: 1000 - 1000 * z)
    even = mass.capsule(leaning.m, R, L)
    second = (even.I[0][0] + even.I[1][1] - even.I[2][2]) / 2  # ∫z² dm
    assert leaning.com() == pytest.approx((0, 0, -second / leaning.m), rel=1e-10, abs=1e-15)


@pytest.mark.parametrize(
    ("density", "words"),
    [
        (lambda x, y, z: np.where(z > 0.05, 1.0, 2.0), "not-converged density"),
        (lambda x, y, z: -x, "out-of-range density"),
        (lambda x: 1.0, "wrong-type density"),
        (lambda x, y, z: float(x), "wrong-type density"),
    ],
)
def test_densities_that_cannot_be_integrated(density: Any, words: str) -> None:
    with raises(InputError, words):
        mass.from_density(Box((0.2, 0.3, 0.4)), density)
    with raises(InputError, "unsupported density"):
        mass.from_density(Mesh("part.stl"), density)


def test_mesh_by_mass_and_by_density_agree() -> None:
    vertices, faces = box_mesh((0.1, 0.2, 0.3))
    same(mass.mesh(vertices, faces, mass=6.0), mass.mesh(vertices, faces, density=1000.0))
    same(mass.mesh(vertices.tolist(), faces.tolist(), mass=6.0), mass.box(6.0, (0.1, 0.2, 0.3)))


def test_hole_inside_a_mesh_is_subtracted() -> None:
    outer, faces = box_mesh((1.0, 1.0, 1.0))
    inner, _ = box_mesh((0.5, 0.5, 0.5))
    shell = mass.mesh(np.vstack([outer, inner]), np.vstack([faces, faces[:, ::-1] + 8]), density=8.0)
    same(shell, mass.without(mass.box(8.0, (1.0, 1.0, 1.0)), mass.box(1.0, (0.5, 0.5, 0.5))))


def test_every_rule_on_a_box() -> None:
    """A solid box by three rules, with the middle of its hull dented inwards by two of them; and six plates."""
    size = (0.1, 0.2, 0.3)
    vertices, faces = box_mesh(size)
    solid = mass.box(6.0, size)
    for rule in ("exact", "legacy", "convex"):
        same(mass.mesh(vertices, faces, mass=6.0, rule=rule), solid)
    same(mass.mesh(vertices, faces[:, ::-1], density=1000.0, rule="legacy"), solid)  # no matter how faces look
    inside = np.vstack([vertices, [[0.01, 0.02, 0.03]]])
    same(mass.mesh(inside, faces, density=1000.0, rule="convex"), solid)
    plates = []
    for k in range(3):
        flat = tuple(0.0 if i == k else s for i, s in enumerate(size))
        area = math.prod(s for s in flat if s)
        for side in (-0.5, 0.5):
            at = tuple(side * s if i == k else 0.0 for i, s in enumerate(size))
            plates.append((Pose(p=at), mass.box(2.0 * area, flat)))
    same(mass.mesh(vertices, faces, density=2.0, rule="shell"), mass.compose(plates))
    with raises(DalembertError, "unknown-name"):
        mass.mesh(vertices, faces, mass=1.0, rule="solid")
    with raises(InputError, "wrong-value vertices"):
        mass.mesh(vertices * (1, 1, 0), faces, mass=1.0, rule="convex")


def test_faces_without_area_are_left_out() -> None:
    vertices, faces = box_mesh((1.0, 1.0, 1.0))
    same(mass.mesh(vertices, np.vstack([faces, [[0, 0, 1]]]), mass=1.0), mass.mesh(vertices, faces, mass=1.0))


V, F = box_mesh((1.0, 1.0, 1.0))
FLAT = V * [1.0, 1.0, 0.0]
BAD_MESHES: dict[str, tuple[Any, Any, dict[str, float], str]] = {
    "hole": (V, F[1:], {"mass": 1.0}, "the mesh is not closed: 3 of its 33 edges have a face on one"),
    "flipped": (V, np.vstack([F[:-1], F[-1:, ::-1]]), {"mass": 1.0}, "3 of its 36 edges run twice in one"),
    "doubled": (V, np.vstack([F, F[:1]]), {"mass": 1.0}, "3 of its 39 edges run twice in one direction"),
    "inside out": (V, F[:, ::-1], {"mass": 1.0}, "has a volume of -1 m³: its faces look inwards; reverse"),
    "flat": (FLAT, F, {"mass": 1.0}, "it encloses nothing"),
    "no face": (V, F[:0], {"mass": 1.0}, "the mesh has 8 vertices and 0 faces"),
    "lines": (V, [[0, 0, 1]], {"mass": 1.0}, "the mesh has no face with an area"),
    "shape": (V[:, :2], F, {"mass": 1.0}, "vertices must be finite numbers of shape (any, 3), got shape (8, 2)"),
    "index": (V, F + 1, {"mass": 1.0}, "the faces must be indices from 0 to 7"),
    "negative": (V, F - 1, {"mass": 1.0}, "the faces must be indices from 0 to 7"),
    "fraction": (V, F + 0.5, {"mass": 1.0}, "the faces must be indices from 0 to 7"),
    "nan index": (V, F * math.nan, {"mass": 1.0}, "faces[0, 0] is nan; it must be a finite number"),
    "nan": (V * math.nan, F, {"mass": 1.0}, "vertices[0, 0] is nan; it must be a finite number"),
    "words": ([["a", "b", "c"]], F, {"mass": 1.0}, "vertices must be finite numbers of shape (any, 3), got"),
    "both": (V, F, {"mass": 1.0, "density": 1.0}, "give either density= or mass= of the mesh"),
    "neither": (V, F, {}, "give either density= or mass= of the mesh, not both or neither"),
    "mass": (V, F, {"mass": -1.0}, "the mass is -1.0; it must not be less than 0"),
}


@pytest.mark.parametrize("case", BAD_MESHES)
def test_bad_mesh(case: str) -> None:
    vertices, faces, amount, message = BAD_MESHES[case]
    with pytest.raises(InputError) as error:
        mass.mesh(vertices, faces, **amount)
    assert message in str(error.value)


# shapes of a description


@pytest.mark.parametrize(
    ("geometry", "volume", "body"),
    [
        (Box((0.1, 0.2, 0.3)), 0.006, mass.box(6.0, (0.1, 0.2, 0.3))),
        (Cylinder(0.1, 0.5), math.pi * 0.005, mass.cylinder(5 * math.pi, 0.1, 0.5)),
        (Sphere(0.3), math.pi * 0.036, mass.sphere(36 * math.pi, 0.3)),
        (Capsule(0.3, 0.4), math.pi * 0.072, mass.capsule(72 * math.pi, 0.3, 0.4)),
    ],
)
def test_geometry_with_density(geometry: Geometry, volume: float, body: Inertia) -> None:
    assert mass.volume(geometry) == pytest.approx(volume)
    same(mass.from_density(geometry, 1000.0), body)
    same(mass.of_geometry(geometry, body.m), body)


@pytest.mark.parametrize("function", [mass.of_geometry, mass.from_density])
def test_mesh_reference_has_no_mass_by_itself(function: Any) -> None:
    with raises(InputError, "wrong-type mesh"):
        function(Mesh("a.stl"), 1.0)


# putting together and taking apart

bodies = st.one_of(
    st.builds(mass.box, st.floats(0.1, 9.0), st.tuples(sizes, sizes, sizes)),
    st.builds(mass.cylinder, st.floats(0.1, 9.0), sizes, sizes),
    st.builds(mass.sphere, st.floats(0.1, 9.0), sizes, st.booleans()),
    st.builds(mass.capsule, st.floats(0.1, 9.0), sizes, sizes),
    st.builds(mass.cone, st.floats(0.1, 9.0), sizes, sizes),
    st.builds(mass.rod, st.floats(0.1, 9.0), sizes),
    st.builds(mass.point, st.floats(0.1, 9.0), vectors),
)
poses = st.builds(lambda rpy, p: Pose(from_rpy(rpy), p), vectors, vectors)


@given(bodies, bodies, poses)
def test_payload_added_and_removed_gives_back_the_body(link: Inertia, payload: Inertia, T: Pose) -> None:
    held = payload.to_parent(T)
    scale = 1.0 + max(abs(x) for x in (link + held).parameters())
    same(mass.without(mass.combine(link, held), held), link, rel=0.0, abs=1e-14 * scale)


@given(bodies)
def test_nothing_added_and_nothing_removed(link: Inertia) -> None:
    nothing = mass.point(0.0)
    assert mass.without(mass.combine(link, nothing), nothing).parameters() == link.parameters()


@given(bodies, bodies, poses, poses)
def test_composition_is_physical_and_keeps_energy(a: Inertia, b: Inertia, T: Pose, S: Pose) -> None:
    body = mass.compose([(T, a), (S, b)])
    assert body.m == pytest.approx(a.m + b.m)
    written = mass.to_inertial(body)
    assert mass.verdict(written.inertia, written.mass) == "feasible"
    # About any line, the moments of the parts add: each measured in its own frame.
    point, axis = (0.3, -0.2, 0.1), (0.6, 0.0, 0.8)
    parts = 0.0
    for pose, part in ((T, a), (S, b)):
        back = pose.inverse()
        tip = tuple(x + y for x, y in zip(point, axis, strict=True))
        p, q = back.point(point), back.point(tip)
        parts += mass.moment_about_axis(part, p, tuple(y - x for x, y in zip(p, q, strict=True)))
    assert mass.moment_about_axis(body, point, axis) == pytest.approx(parts, rel=1e-9, abs=1e-11)


def test_to_inertial_is_about_the_center_of_mass() -> None:
    body = mass.box(2.0, (0.1, 0.2, 0.3)).to_parent(Pose(p=(1.0, 2.0, 3.0)))
    written = mass.to_inertial(body)
    assert written.mass == 2.0
    assert written.origin == Origin((1.0, 2.0, 3.0))
    xx, xy, *_ = written.inertia
    assert (xx, xy) == pytest.approx((2.0 / 12 * 0.13, 0.0), abs=1e-14)
    with raises(InputError, "out-of-range mass"):
        mass.to_inertial(Inertia())


def test_more_cannot_be_taken_than_is_there() -> None:
    with raises(InputError, "out-of-range part"):
        mass.without(mass.sphere(2.0, 0.1), mass.point(3.0))


# bad input

BAD: dict[str, tuple[Any, str]] = {
    "negative mass": (lambda: mass.sphere(-1.0, 1.0), "the mass is -1.0; it must not be less than 0"),
    "nan mass": (lambda: mass.rod(math.nan, 1.0), "the mass is nan; it must be a finite number"),
    "negative radius": (lambda: mass.cylinder(1.0, -1.0, 1.0), "the radius is -1.0"),
    "negative length": (lambda: mass.capsule(1.0, 1.0, -1.0), "the length is -1.0"),
    "negative height": (lambda: mass.cone(1.0, 1.0, -1.0), "the height is -1.0"),
    "infinite size": (lambda: mass.box(1.0, (1.0, math.inf, 1.0)), "the size is inf at [1]; it must be"),
    "two sizes": (lambda: mass.box(1.0, (1.0, 1.0)), "the size must be three finite numbers, got shape (2,)"),
    "density": (lambda: mass.from_density(Sphere(1.0), -1.0), "the density is -1.0"),
    "word": (lambda: mass.sphere("heavy", 1.0), "the mass must be a finite number, got 'heavy'"),
    "none": (lambda: mass.sphere(None, 1.0), "the mass is nan; it must be a finite number"),
    "position": (lambda: mass.point(1.0, (0.0, math.nan, 0.0)), "the position is nan at [1]; it must be"),
    "axis": (lambda: mass.moment_about_axis(mass.point(1.0), O, O), "the axis is 0 0 0, which has no"),
    "steiner": (lambda: mass.parallel_axis(Inertia().I, -1.0, X), "the mass is -1.0"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    call, message = BAD[case]
    with pytest.raises(InputError) as error:
        call()
    assert message in str(error.value)
