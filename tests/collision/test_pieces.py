"""Convex pieces enclose what they stand for, and are never farther apart than the shapes; coal has the truth."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.collision import Collision
from dalembert.collision.enclose import _enclosed, enclose
from dalembert.collision.pieces import MAX_CORNERS, MAX_PIECES, Pieces, mesh_pieces, pieces_of
from dalembert.compile import llvm, separation
from dalembert.compile.kinds import DOUBLE, SINGLE
from dalembert.describe.description import Box, Capsule, Cylinder, Sphere
from dalembert.errors import InputError, ModelWarning
from dalembert.planning.motion import planner_of

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import collision as oracle  # coal on the shapes, as the benchmark has it

coal = pytest.importorskip("coal", reason="coal is not installed: it comes with pin")
RNG = np.random.default_rng


def hull_of(x):
    from scipy.spatial import ConvexHull

    return ConvexHull(x)


def rotations(rng, count):
    w, x, y, z = rng.normal(size=(4, count))
    n = np.sqrt(w * w + x * x + y * y + z * z)
    w, x, y, z = w / n, x / n, y / n, z / n
    rows = [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)]
    rows += [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)]
    rows += [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]
    return np.stack(rows, -1)


def placed(rng, count, spread=0.25):
    return np.concatenate((rotations(rng, 2 * count), spread * rng.normal(size=(2 * count, 3))), 1).reshape(
        count, 2, 12
    )


def tables(pieces: Pieces, kind):
    blocks, index = separation.corner_blocks(pieces.corners, pieces.first, llvm.width_for(llvm.host(), kind))
    return np.column_stack((pieces.balls, pieces.radius)), blocks, index


def bounds(pieces: Pieces, poses, kind=DOUBLE):
    """Of the first piece from the second."""
    ends = np.tile([*pieces.ends(0), *pieces.ends(1)], (len(poses), 1))
    return separation.witness(kind, tables(pieces, kind), ends, poses)


def coal_hull(x):
    hull = hull_of(x)
    triangles = coal.StdVec_Triangle()
    for (a, b, c), plane in zip(hull.simplices.tolist(), hull.equations, strict=True):
        outward = np.dot(np.cross(x[b] - x[a], x[c] - x[a]), plane[:3]) > 0
        triangles.append(coal.Triangle(a, b, c) if outward else coal.Triangle(a, c, b))
    points = coal.StdVec_Vec3s()
    points.extend(list(x))
    return coal.Convex(points, triangles)


def coal_distance(a, b, pose):
    T = [coal.Transform3s(p[:9].reshape(3, 3), p[9:]) for p in pose]
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    request.gjk_tolerance = 1e-10
    return coal.distance(a, T[0], b, T[1], request, result)


# ------------------------------------------------------------------------------------------------------- separation
@pytest.mark.parametrize(("kind", "near"), [(DOUBLE, 1e-9), (SINGLE, 1e-4)])
def test_distances_of_hulls_are_those_of_coal(kind, near):
    """Equal where they are apart; where they overlap the depth is a bound that is not too small."""
    rng, apart, deep = RNG(0), [], []
    for _ in range(6):
        a, b = (rng.normal(size=(n, 3)) * (0.1, 0.05, 0.2) for n in (150, 30))
        a, b = (x[hull_of(x).vertices] for x in (a, b))
        poses = placed(rng, 100)
        found = bounds(Pieces.make([(0, a, 0.0), (1, b, 0.0)], np.zeros(2)), poses, kind)[:, 0]
        truth = np.array([coal_distance(coal_hull(a), coal_hull(b), pose) for pose in poses])
        apart.append((found - truth)[truth > 1e-6])
        deep.append((found - truth)[truth < -1e-6])
    apart, deep = np.concatenate(apart), np.concatenate(deep)
    assert len(apart) > 200 and np.abs(apart).max() < near
    assert len(deep) > 150 and deep.max() < near and np.median(deep) > -0.02


@pytest.mark.parametrize(
    ("first", "second"), [(Sphere(0.1), Capsule(0.05, 0.3)), (Box((0.2, 0.1, 0.3)), Capsule(0.04, 0.2))]
)
def test_primitives_are_exact(first, second):
    (one, _), (other, _) = pieces_of(first), pieces_of(second)
    pieces = Pieces.make([(0, *one[0]), (1, *other[0])], np.zeros(2))
    made = {
        Sphere: lambda s: coal.Sphere(s.radius),
        Capsule: lambda s: coal.Capsule(s.radius, s.length),
        Box: lambda s: coal.Box(*s.size),
    }
    a, b = (made[type(s)](s) for s in (first, second))
    poses = placed(RNG(1), 300)
    truth = np.array([coal_distance(a, b, pose) for pose in poses])
    found = bounds(pieces, poses)[:, 0]
    some = truth > 1e-6
    assert some.sum() > 150 and np.abs(found - truth)[some].max() < 1e-8 and (found <= truth + 1e-8).all()


def test_every_direction_is_a_bound_and_nearest_points_are_on_the_pieces():
    rng = RNG(2)
    a, b = (x[hull_of(x).vertices] for x in rng.normal(size=(2, 40, 3)) * 0.1)
    pieces, poses = Pieces.make([(0, a, 0.0), (1, b, 0.0)], np.zeros(2)), placed(RNG(3), 200)
    d, n, p, q = np.split(bounds(pieces, poses), [1, 4, 7], axis=1)
    Ra, Rb = (poses[:, k, :9].reshape(-1, 3, 3) for k in range(2))
    way = np.einsum("kji,kj->ki", Ra, poses[:, 1, 9:] - poses[:, 0, 9:])
    there = np.einsum("kji,kjl,ml->kmi", Ra, Rb, b) + way[:, None]
    support = (n @ a.T).min(axis=1) - np.einsum("ki,kmi->km", n, there).max(axis=1)
    np.testing.assert_allclose(support, d[:, 0], atol=1e-9)
    some = d[:, 0] > 1e-6
    np.testing.assert_allclose((p - q)[some], (d * n)[some], atol=1e-8)


def test_poses_that_are_none_do_not_crash():
    a = RNG(4).normal(size=(20, 3))
    poses = placed(RNG(5), 4)
    poses[1] = np.nan
    poses[2, 0, 9:] = np.inf
    poses[3, 1] = 1e300
    found = bounds(Pieces.make([(0, a, 0.0), (1, a, 0.0)], np.zeros(2)), poses)
    assert np.isfinite(found[0]).all() and len(found) == 4


# ---------------------------------------------------------------------------------------------------------- enclosing
def l_shape():
    """A concave solid: two boxes, their faces cut into triangles."""
    boxes = [((0, 0, 0), (0.3, 0.1, 0.1)), ((0, 0, 0), (0.1, 0.1, 0.3))]
    corners, faces = [], []
    for low, high in boxes:
        x = np.stack(np.meshgrid(*zip(low, high, strict=True), indexing="ij"), -1).reshape(-1, 3).astype(float)
        faces.append(hull_of(x).simplices + 8 * len(corners))
        corners.append(x)
    return np.concatenate(corners), np.concatenate(faces)


def inside(x, corners):
    """(N,) how far outside the hull of corners points are at most, along its faces."""
    planes = hull_of(corners).equations
    return (x @ planes[:, :3].T + planes[:, 3]).max(axis=1)


@pytest.mark.parametrize("name", ["l", "bumpy", "flat"])
def test_pieces_enclose_a_mesh(name):
    rng = RNG(6)
    if name == "l":
        x, faces = l_shape()
    elif name == "bumpy":  # many corners: reduced to few planes around them
        x = rng.normal(size=(3000, 3))
        x = x / np.linalg.norm(x, axis=1)[:, None] * (0.1, 0.2, 0.3)
        faces = hull_of(x).simplices
    else:
        x = np.column_stack((rng.uniform(0, 0.3, (60, 2)), np.zeros(60)))
        faces = rng.integers(0, 60, (80, 3))
    pieces = mesh_pieces(x, faces)
    assert 1 <= len(pieces) <= MAX_PIECES and all(len(c) <= 2 * MAX_CORNERS for c, _ in pieces)
    weights = rng.dirichlet(np.ones(3), (len(faces), 8))
    points = np.einsum("fkw,fwc->fkc", weights, x[faces]).reshape(-1, 3)
    if name == "flat":
        low, high = pieces[0][0].min(axis=0), pieces[0][0].max(axis=0)
        assert (points >= low - 1e-9).all() and (points <= high + 1e-9).all()
        return
    away = np.min([inside(points, c) for c, _ in pieces], axis=0)
    assert away.max() < 1e-9
    if name == "l":  # the notch is not filled
        assert len(pieces) > 1 and np.min([inside(np.array([[0.25, 0.05, 0.25]]), c)[0] for c, _ in pieces]) > 0.05


@pytest.mark.parametrize("shape", [Box((0.1, 0.2, 0.3)), Cylinder(0.1, 0.4), Capsule(0.1, 0.3), Sphere(0.2)])
def test_pieces_enclose_primitives(shape):
    pieces, over = pieces_of(shape)
    (corners, radius), rng = pieces[0], RNG(7)
    if isinstance(shape, Cylinder):
        angle, z = rng.uniform(0, 7, 500), rng.choice([-0.2, 0.2], 500)
        x = np.column_stack((0.1 * np.cos(angle), 0.1 * np.sin(angle), z))
        assert inside(x, corners).max() < 1e-12 and 0 < over < 0.001
        assert np.linalg.norm(corners[:, :2], axis=1).max() <= 0.1 + over + 1e-12
    else:
        assert over == 0.0 and len(corners) == {Box: 8, Capsule: 2, Sphere: 1}[type(shape)]
        assert radius == {Box: 0.0, Capsule: 0.1, Sphere: 0.2}[type(shape)]


def test_how_far_pieces_reach_beyond_a_mesh_is_stated(tmp_path):
    x, faces = l_shape()
    lines = [f"v {a} {b} {c}" for a, b, c in x] + [f"f {a} {b} {c}" for a, b, c in faces + 1]
    (tmp_path / "l.obj").write_text("\n".join(lines))
    from dalembert.describe.description import Mesh

    *_, pieces, over = _enclosed(Mesh("l.obj", (1.0, 1.0, 1.0)), 0.02, tmp_path, ())
    one = [(np.concatenate([c for c, _ in pieces]), 0.0)]  # their hull, which fills the notch
    assert over < 0.03 and 0.1 < _excess_of(x, faces, one) < 0.2


@pytest.mark.parametrize("thickness", [0.0, 1e-12, 1e-8, 1e-5])
def test_a_mesh_that_is_flat_has_pieces(tmp_path, thickness):
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    ring = np.column_stack((0.2 * np.cos(angle), 0.2 * np.sin(angle), thickness * np.cos(5 * angle)))
    faces = [(0, k, k + 1) for k in range(1, 399)]
    lines = [f"v {a:.17g} {b:.17g} {c:.17g}" for a, b, c in ring]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    (tmp_path / "disc.obj").write_text("\n".join(lines))
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    text = f"""<robot name="disc">
    <link name="a"><collision><geometry><mesh filename="disc.obj"/></geometry></collision></link>
    <link name="m"><collision><geometry><sphere radius="0.01"/></geometry></collision></link>
    <link name="b"><collision><geometry><sphere radius="0.05"/></geometry></collision></link>
    <joint name="j" type="prismatic"><parent link="a"/><child link="m"/><axis xyz="0 0 1"/>{limit}</joint>
    <joint name="k" type="prismatic"><parent link="m"/><child link="b"/><origin xyz="0.1 0 0.2"/><axis xyz="1 0 0"/>
    {limit}</joint></robot>"""
    (tmp_path / "disc.urdf").write_text(text)
    robot = dl.load(tmp_path / "disc.urdf")
    assert np.isclose(robot.clearance([0.3, 0.0]), 0.45, atol=1e-4) and robot.clearance([-0.17, 0.0]) < 0


def _excess_of(x, faces, pieces):
    from dalembert.collision.enclose import _Solid

    return _Solid(x, faces, 0.02).excess(pieces)


# ------------------------------------------------------------------------------------------------------------- robots
@cache
def franka():
    folder = Path(importlib.util.find_spec("pinocchio").origin).parents[4] / "share/example-robot-data/robots"
    file = folder / "panda_description/urdf/panda.urdf"
    if not file.is_file():
        pytest.skip("example-robot-data is not installed beside pin")
    return dl.load(file)


@cache
def meshes(robot):
    """The shapes for coal, by link, with the body that carries each."""
    return oracle.coal_shapes(robot)


def touching(robot, q, pairs):
    """What coal says of states."""
    T, found = np.asarray(robot.collision().frames(q)), np.zeros(len(q), bool)
    shapes = meshes(robot)
    for i, (a, body_a, Ta, first) in enumerate(shapes):
        for b, body_b, Tb, second in shapes[i + 1 :]:
            if frozenset((a, b)) not in pairs:
                continue
            for k in np.flatnonzero(~found):
                poses = []
                for body, local in ((body_a, Ta), (body_b, Tb)):
                    R, p = T[k, body, :9].reshape(3, 3), T[k, body, 9:]
                    poses.append(coal.Transform3s(R @ local[:3, :3], R @ local[:3, 3] + p))
                request, result = coal.CollisionRequest(), coal.CollisionResult()
                found[k] = coal.collide(first, poses[0], second, poses[1], request, result) > 0
    return found


def test_a_stock_franka_touches_itself_as_often_as_its_meshes_do():
    """0.2.0 called 81 % of the states touching, coal 12 %."""
    robot = franka()
    c = robot.collision()
    link = c.spheres.coarse.link
    compared = {frozenset((link[a], link[b])) for a, b in (*c.spheres.pairs, *c.spheres.apart)}
    q = robot.random_configuration(300, seed=7)
    truth, planner = touching(robot, q, compared), planner_of(robot, c).scene(dl.World()).hits(q)
    ours = c.clearance(q) <= 0
    assert not (truth & ~ours).any() and not (truth & ~planner).any()
    assert abs(ours.mean() - truth.mean()) <= 0.02 and (ours != planner).sum() <= 1 and truth.mean() > 0.05


def test_a_stock_franka_plans_with_no_option():
    robot = franka()
    ready = np.array([0, -np.pi / 4, 0, -3 * np.pi / 4, 0, np.pi / 2, np.pi / 4, 0.02])
    plan = robot.plan(ready, ready + np.array([0.5, 0.3, -0.2, 0.3, 0.1, -0.2, 0.3, 0]))
    assert plan.proved and plan.clearance > 0.01


def test_a_tolerance_that_is_not_met_is_reported():
    with pytest.warns(
        ModelWarning, match=r"the tolerance of 0.001 m is not met: spheres reach 0.0\d+ m beyond 'panda_"
    ):
        franka().collision(tolerance=0.001)


def test_a_rejection_smaller_than_the_overestimate_says_so():
    robot = dl.load("planar-3r")
    q = robot.home
    x = robot.fk(q)[:3, 3]
    c = robot.collision()
    near = ball_beside(c, q, x)
    with pytest.raises(
        InputError, match=r"enlarged by up to .* so this may be no contact: pass spheres=robot.collision"
    ):
        robot.plan(q, q + 0.5, near)


def ball_beside(c: Collision, q, x):
    """A ball that spheres touch by less than they reach beyond the shapes."""
    for gap in np.linspace(0.0, 0.2, 400):
        world = dl.World().sphere("ball", 0.05, x + np.array([0.05 + gap, 0.0, 0.0]))
        if -c.spheres.excess(c.spheres.coarse.link[-1], "ball") < c.clearance(q, world) < 0:
            return world
    raise AssertionError("no such place")


def test_states_have_the_same_bits_in_any_company():
    robot = dl.load("ur5e")
    c, q = robot.collision(), robot.random_configuration(64, seed=1)
    together, q32 = c.clearance(q), q.astype(np.float32)
    alone = np.concatenate([c.clearance(x[None]) for x in q])
    assert together.tobytes() == alone.tobytes() == c.clearance(q[::-1].copy())[::-1].tobytes()
    assert c.clearance(q32).tobytes() == np.concatenate([c.clearance(x[None]) for x in q32]).tobytes()


def test_pieces_are_written_and_read():
    robot = dl.load("ur5e")
    made = enclose(robot.description, robot.model)
    read = type(made).from_json(made.to_json())
    for name in ("link", "first", "corners", "radius", "overestimate"):
        np.testing.assert_array_equal(getattr(read.pieces, name), getattr(made.pieces, name))
    assert read.reached == made.reached and len(made.pieces) > 10
