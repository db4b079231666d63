"""Spheres, worlds, distances, certified edges: laws first, then coal on the shapes."""

from __future__ import annotations

import json
import pickle
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import dalembert as dl
from dalembert.apps.cli import main
from dalembert.collision import Collision, SphereModel, World
from dalembert.collision.edges import certify_edge, float32_margin
from dalembert.collision.enclose import _Cells, enclose, enclose_geometry, enclose_mesh, row_of
from dalembert.collision.motion import reaches
from dalembert.collision.pairs import pair_distances, settle_pairs
from dalembert.collision.pieces import Pieces
from dalembert.collision.solids import SOLIDS
from dalembert.collision.world import COLUMNS, FAR
from dalembert.describe.description import Box, Capsule, Cylinder, Sphere
from dalembert.errors import InputError, UnknownNameError

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import collision as oracle  # coal on the shapes, as the benchmark has it
from errors import raises

RNG = np.random.default_rng


@cache
def arm(name: str):
    return dl.load(name)


@cache
def coarse(name: str) -> Collision:
    """Quick to make: large tolerances, pairs as they are."""
    robot = arm(name)
    return Collision(robot.model, enclose(robot.description, robot.model, 0.06))


@cache
def scene() -> World:
    rng = RNG(1)
    world = World().floor(-0.1).capsule("pole", 0.05, (0.6, 0.1, 0.0), (0.6, 0.1, 1.0))
    for k in range(2):
        x, turn = rng.uniform(-0.7, 0.7, (3, 3)), rng.uniform(-3, 3, (2, 3))
        world = world.box(f"box{k}", (0.1, 0.2, 0.3), x[0], turn[0]).sphere(f"ball{k}", 0.1, x[1])
        world = world.cylinder(f"can{k}", 0.07, 0.2, x[2], turn[1])
    return world


# ------------------------------------------------------------------------------------------------------------ solids
@pytest.mark.parametrize("kind", COLUMNS)
def test_distances_of_solids_are_those_of_their_points(kind):
    """1-Lipschitz, the normal is the gradient, and x − d n lies on the surface."""
    world = (
        World()
        .half_space("h", (1, 2, 3), 0.1)
        .sphere("s", 0.2, (0.1, 0.2, 0.3))
        .capsule("c", 0.1, (0, 0, 0), (0.3, 0.2, 0.1))
        .box("b", (0.2, 0.4, 0.6), (0.1, 0, 0.1), (0.3, 0.2, 0.1))
        .cylinder("y", 0.2, 0.5, (0, 0.1, 0.1), (0.4, 0.5, 0.6))
    )
    row, solid = getattr(world.arrays(), kind)[0], SOLIDS[kind]
    x = RNG(0).uniform(-1, 1, (20_000, 3))
    d, n = solid(row, tuple(x.T))
    n = np.stack(np.broadcast_arrays(*n, d)[:3], -1)
    assert np.abs(np.linalg.norm(n, axis=1) - 1).max() < 1e-12
    step = RNG(1).normal(size=x.shape) * 1e-2
    moved = solid(row, tuple((x + step).T))[0]
    assert (np.abs(moved - d) <= np.linalg.norm(step, axis=1) + 1e-12).all()
    out = d > 0
    assert np.abs(solid(row, tuple((x - d[:, None] * n)[out].T))[0]).max() < 1e-12
    h = 1e-6
    slope = np.stack(
        [(solid(row, tuple((x + h * e).T))[0] - solid(row, tuple((x - h * e).T))[0]) / (2 * h) for e in np.eye(3)], -1
    )
    assert np.quantile(np.abs(slope - n).max(axis=1), 0.99) < 1e-6 and (d < 0).any()


# ------------------------------------------------------------------------------------------------------------ spheres
SHAPES = (
    Box((0.3, 0.1, 0.04)),
    Box((0.2, 0.2, 0.0)),
    Box((0.061, 0.007, 0.3)),
    Cylinder(0.06, 0.4),
    Cylinder(0.2, 0.003),
    Capsule(0.05, 0.3),
    Sphere(0.1),
)


def inside_of(shape, x):
    match shape:
        case Box(size):
            return (np.abs(x) <= np.array(size) / 2).all(axis=1)
        case Cylinder(r, length):
            return (np.hypot(x[:, 0], x[:, 1]) <= r) & (np.abs(x[:, 2]) <= length / 2)
        case Capsule(r, length):
            z = np.clip(x[:, 2], -length / 2, length / 2)
            return np.linalg.norm(x - np.stack((0 * z, 0 * z, z), -1), axis=1) <= r
        case Sphere(r):
            return np.linalg.norm(x, axis=1) <= r


def points_of(shape):
    """Points of the surface and of the inside, the corners and rims among them."""
    t, turn = np.linspace(-1, 1, 41), np.linspace(0, 2 * np.pi, 181)
    circle = np.stack((np.cos(turn), np.sin(turn)), -1)
    match shape:
        case Box(size):
            grid = np.stack(np.meshgrid(t, t, t, indexing="ij"), -1).reshape(-1, 3)
            return np.concatenate((grid, RNG(0).uniform(-1, 1, (20_000, 3)))) * np.array(size) / 2
        case Cylinder(r, length):
            across = (np.linspace(0, r, 16)[:, None, None] * circle).reshape(-1, 1, 2)
            height = length / 2 * t[:, None]
            return np.concatenate(np.broadcast_arrays(across, height[..., :1]), -1)[..., :3].reshape(-1, 3)
        case Capsule(r, length):
            ball = points_of(Sphere(r))
            along = [ball + np.array([0, 0, z]) for z in np.linspace(-length / 2, length / 2, 13)]
            return np.concatenate(along)
        case Sphere(r):
            u = RNG(0).normal(size=(4_000, 3))
            u /= np.linalg.norm(u, axis=1, keepdims=True)
            u = np.concatenate((u, np.eye(3), -np.eye(3)))
            return np.concatenate([r * part * u for part in (0.5, 0.9, 1 - 1e-15)])


def away_from(shape, x):
    kinds = {Box: "boxes", Cylinder: "cylinders", Capsule: "capsules", Sphere: "spheres"}
    row = {
        Box: lambda s: [0, 0, 0, *np.eye(3).ravel(), *(np.array(s.size) / 2)],
        Cylinder: lambda s: [0, 0, 0, 0, 0, 1, s.length / 2, s.radius],
        Capsule: lambda s: [0, 0, -s.length / 2, 0, 0, s.length / 2, s.radius],
        Sphere: lambda s: [0, 0, 0, s.radius],
    }[type(shape)](shape)
    return SOLIDS[kinds[type(shape)]](row, tuple(x.T))[0]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_spheres_enclose_a_shape_and_reach_no_farther_than_they_say(shape):
    rows, over = enclose_geometry(shape, 0.02, Path())
    x = points_of(shape)
    assert inside_of(shape, x * (1 - 1e-12)).all() and len(x) > 10_000
    covered = np.zeros(len(x), bool)
    for *center, radius in rows:
        covered |= np.linalg.norm(x - center, axis=1) <= radius
    assert covered.all()
    u = RNG(1).normal(size=(500, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    skin = (rows[:, None, :3] + rows[:, None, 3:] * u).reshape(-1, 3)
    assert over <= 0.02 and away_from(shape, skin).max() <= over + 1e-9


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if not isinstance(shape, Sphere)], ids=repr)
def test_every_cell_of_a_shape_lies_in_one_sphere_with_nothing_to_spare(shape):
    """The proof itself: cells hold the shape, and the ball around each is inside a sphere; not so if radii shrink."""
    kind, row, half = row_of(shape)
    cells = _Cells(-half, half, 0.02)
    depth = -np.asarray(SOLIDS[kind](row, tuple(cells.center.T))[0])
    taken = depth >= -cells.ball
    rows, _ = cells.cover(depth, taken)
    x = points_of(shape)[::7]
    place = np.floor((x - cells.center[0]) / cells.side + 0.5).astype(int)
    place = np.clip(place, 0, np.array(cells.shape) - 1)
    own = np.ravel_multi_index(tuple(place.T), cells.shape)
    assert taken[own].all() and np.abs(x - cells.center[own]).max() <= 0.5 * cells.side * (1 + 1e-9)
    corner = np.stack(np.meshgrid(*[[-0.5, 0.5]] * 3), -1).reshape(-1, 3) * cells.side
    whole = cells.center[taken][:, None] + corner  # a sphere holds a cell if it holds its corners

    def outside(radii):
        apart = np.linalg.norm(whole[:, :, None] - rows[:, :3], axis=-1).max(axis=1) - radii
        return apart.min(axis=1).max()

    assert outside(rows[:, 3]) <= 0 < outside(0.93 * rows[:, 3])


def test_a_mesh_is_enclosed_with_what_it_shuts_off():
    corner = np.array([[x, y, z] for x in (0, 0.2) for y in (0, 0.1) for z in (0, 0.3)], float)
    from scipy.spatial import ConvexHull

    faces = ConvexHull(corner).simplices
    rows, over = enclose_mesh(corner, faces, 0.03)
    x = RNG(0).uniform((0, 0, 0), (0.2, 0.1, 0.3), (50_000, 3))
    assert (np.linalg.norm(x[:, None] - rows[:, :3], axis=-1) <= rows[:, 3]).any(axis=1).all()
    assert over <= 0.031 and len(rows) < 100
    lone, _ = enclose_mesh(corner, faces[:3], 0.03)  # not closed: its surface is enclosed
    assert (np.linalg.norm(corner[faces[0]][:, None] - lone[:, :3], axis=-1) <= lone[:, 3]).any(axis=1).all()


def test_a_notch_of_a_closed_mesh_stays_and_what_is_filled_of_an_open_one_counts():
    """The pocket of a C with a post before it lies between surfaces along two axes, and is no part of them."""
    from scipy.spatial import ConvexHull

    s = 0.3
    block = [((0, 0, 0), (s, 0.1, 0.2)), ((0, 0.1, 0), (0.1, s, 0.2)), ((0.1, s - 0.05, 0), (s, s, 0.2))]
    block.append(((s, 0.14, 0.05), (s + 0.05, 0.21, 0.15)))  # a post before it
    corners, faces = [], []
    for low, high in block:
        x = np.array([[a, b, c] for a in (low[0], high[0]) for b in (low[1], high[1]) for c in (low[2], high[2])])
        faces.append(ConvexHull(x).simplices + 8 * len(corners))
        corners.append(x)
    x, f = np.concatenate(corners), np.concatenate(faces)
    rows, over = enclose_mesh(x, f, 0.03)
    middle = np.array([0.22, 0.175, 0.1])  # of the pocket, 0.075 from its walls
    assert over <= 0.0301 and (np.linalg.norm(rows[:, :3] - middle, axis=1) - rows[:, 3]).min() > 0.075 - over - 1e-9
    tube = np.array([[np.cos(t), np.sin(t), z] for z in (0, 6.0) for t in np.linspace(0, 2 * np.pi, 25)[:-1]]) * 0.05
    ring = np.arange(24)
    sides = [
        np.stack((ring, (ring + 1) % 24, ring + 24), -1),
        np.stack(((ring + 1) % 24, (ring + 1) % 24 + 24, ring + 24), -1),
    ]
    rows, over = enclose_mesh(tube, np.concatenate(sides), 0.01)
    assert (np.linalg.norm(rows[:, :3] - (0, 0, 0.15), axis=1) < rows[:, 3]).any() and 0.03 < over < 0.08  # its axis


def test_a_file_gives_the_same_spheres_back(tmp_path):
    c = coarse("ur5e")
    c.spheres.save(tmp_path / "s.json")
    again = SphereModel.load(tmp_path / "s.json")
    q = arm("ur5e").random_configuration(50, seed=0)
    assert np.array_equal(Collision(c.model, again).clearance(q, scene()), c.clearance(q, scene()))
    (tmp_path / "own.toml").write_text(
        'pairs = [["base", "wrist_3_link"]]\n[spheres]\nbase = [[0, 0, 0.05, 0.1]]\nwrist_3_link = [[0, 0, 0, 0.05]]\n'
    )
    own = arm("ur5e").collision(spheres=str(tmp_path / "own.toml"))
    p = arm("ur5e").fk(q, "wrist_3_link")[:, :3, 3] - (0, 0, 0.05)
    assert np.abs(own.clearance(q) - (np.linalg.norm(p, axis=1) - 0.15)).max() < 1e-12
    (tmp_path / "bad.toml").write_text("[spheres]\nbas = [[0, 0, 0, 1]]\n")
    with raises(UnknownNameError, "unknown-name"):
        arm("ur5e").collision(spheres=str(tmp_path / "bad.toml"))
    for text, said in (("{}", "missing spheres"), ("[", "syntax path"), ('{"spheres": [1]}', "not-readable path")):
        (tmp_path / "bad.json").write_text(text)
        with raises(InputError, said):
            SphereModel.load(tmp_path / "bad.json")


def test_a_spherized_urdf_stays_as_it_is(tmp_path):
    """Its spheres are the fine ones, nothing is overestimated."""
    text = """<robot name="two"><link name="a"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>
    <link name="b"><collision><origin xyz="0 0 0.5"/><geometry><sphere radius="0.2"/></geometry></collision>
    <collision><origin xyz="0 0 0.9"/><geometry><sphere radius="0.1"/></geometry></collision></link>
    <joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    (tmp_path / "two.urdf").write_text(text)
    robot = dl.load(tmp_path / "two.urdf")
    s = robot.collision().spheres
    assert s.overestimate == 0 and sorted(s.fine.radius) == [0.1, 0.1, 0.2] and len(s.coarse) == 2 and not len(s.pairs)
    assert np.isclose(robot.clearance([0.0], World().floor(0.0)), 0.3)


# ---------------------------------------------------------------------------------------------------------- distances
def brute(c: Collision, q, world):
    """(least between spheres of the pairs, least to obstacles), one after another."""
    X, s = c.centers(q), c.spheres
    own = min(np.linalg.norm(X[i] - X[j]) - s.fine.radius[i] - s.fine.radius[j] for i, j in s.fine_pairs)
    met = min(
        float(SOLIDS[kind](row, tuple(X[i]))[0]) - s.fine.radius[i]
        for kind in COLUMNS
        for row in getattr(world.arrays(), kind)
        for i in range(len(X))
        if s.fine.body[i] >= 0
    )
    return own, met


def test_pairs_that_are_near_are_those_of_one_state_at_a_time():
    """In every state the distances of each pair of links, and of each link and obstacle, by themselves."""
    c, world, within = coarse("ur5e"), scene(), 0.3
    q = arm("ur5e").random_configuration(5, seed=3)
    found, s = c.near_pairs(q, world, within), c.spheres
    X, obstacles = c.centers(q), c.obstacle_names(world.arrays())
    link, each = s.coarse.link, pair_distances(c, q)
    expected = {(link[a], link[b]): d for (a, b), d in zip(s.pairs.tolist(), each, strict=True)}
    rows = [(kind, row) for kind in COLUMNS for row in getattr(world.arrays(), kind)]
    for name, (kind, row) in zip(obstacles, rows, strict=True):
        d = np.asarray(SOLIDS[kind](row, tuple(np.moveaxis(X, -1, 0)))[0]) - s.fine.radius
        for g, link in enumerate(s.coarse.link):
            if not c.grounded[g]:
                expected[link, name] = d[:, s.parent == g].min(1)
    expected = {pair: np.where(d < within, d, np.inf) for pair, d in expected.items() if (d < within).any()}
    assert found.keys() == expected.keys() and len(found) > 10
    for pair, d in found.items():
        np.testing.assert_allclose(d, expected[pair], atol=1e-12)


@pytest.mark.parametrize("name", ["ur5e", "scara"])
def test_the_compiled_loop_finds_what_looking_at_every_pair_finds(name):
    """As spheres, as links without pieces are compared."""
    c, q = Collision(arm(name).model, replace(coarse(name).spheres, pieces=Pieces.none())), arm(name)
    q = q.random_configuration(6, seed=3)
    found = c.distances(q, scene())
    exact = np.array([brute(c, x, scene()) for x in q])
    assert np.abs(np.stack((found.own, found.met), -1) - exact).max() < 1e-12
    for k in range(len(q)):
        nearest, same = c.contacts(q[k], scene(), 10.0)[0], found.contact(k)
        assert (nearest.first, nearest.second) == (same.first, same.second)
        assert abs(nearest.distance - same.distance) < 1e-12
    single = c.distances(q.astype(np.float32), scene())
    assert np.abs(single.least - found.least).max() < 1e-5


def test_an_obstacle_moves_and_nothing_is_compiled(monkeypatch):
    from dalembert.compile import llvm

    c, q = coarse("ur5e"), arm("ur5e").random_configuration(3, seed=0)
    c.clearance(q, scene())
    monkeypatch.setattr(llvm, "object_code", None)
    for k in range(3):
        world = scene().without("box0").sphere("new", 0.1 + 0.01 * k, (0.3, 0.1 * k, 0.5))
        assert np.isfinite(c.clearance(q, world)).all()
    padded = scene().arrays(pad=16)
    assert np.array_equal(c.clearance(q, padded), c.clearance(q, scene())) and len(padded.boxes) == 16
    assert padded.spheres[-1, 0] == FAR


@pytest.mark.parametrize("name", ["ur5e", "scara", "iiwa7"])
def test_gradients_are_differences(name):
    c, q, h = coarse(name), arm(name).random_configuration(300, seed=5), 1e-6
    for world in (None, scene()):
        d, g = c.gradient(q, world)
        steps = h * np.eye(arm(name).n)
        ahead, back = (np.stack([c.clearance(q + s * e, world) for e in steps], -1) for s in (1, -1))
        left, right = (d[:, None] - back) / h, (ahead - d[:, None]) / h
        smooth = np.isfinite(d) & (np.abs(left - right).max(axis=1) < 1e-4)  # not where the nearest pair changes
        smooth &= (d > 0) | (d == c.distances(q, world).met)  # nor where links overlap: their depth is a bound
        assert smooth.mean() > 0.75 and np.abs(0.5 * (left + right) - g)[smooth].max() < 1e-6


@pytest.mark.parametrize("solid", [Capsule(0.04, 0.5), Cylinder(0.04, 0.08), Cylinder(0.03, 0.3), Capsule(0.005, 0.02)])
def test_few_spheres_along_an_axis_enclose_capsules_and_cylinders(solid):
    """Fewer than cells would take, around every point of the solid, none farther out than is said."""
    rows, over = enclose_geometry(solid, 0.02, Path())
    kind, row, half = row_of(solid)
    rng = np.random.default_rng(1)
    x = rng.uniform(-half, half, (20_000, 3))
    x = x[np.asarray(SOLIDS[kind](row, tuple(x.T))[0]) <= 0]
    assert (np.linalg.norm(x[:, None] - rows[:, :3], axis=-1) <= rows[:, 3]).any(axis=1).all()
    away = rng.normal(size=(5_000, 3))
    skin = rows[rng.integers(len(rows), size=5_000)]
    skin = skin[:, :3] + skin[:, 3:] * away / np.linalg.norm(away, axis=1)[:, None]
    assert np.asarray(SOLIDS[kind](row, tuple(skin.T))[0]).max() <= over + 1e-12
    assert over <= 0.02 and len(rows) <= 12


def test_states_that_are_none_give_no_number():
    c, n = coarse("ur5e"), 6
    q = np.zeros((3, n))
    q[1, 2] = np.nan
    q[2, 0] = 1e12
    d, g = c.gradient(q, scene())
    assert np.isfinite(d[0]) and np.isnan(d[1:]).all() and np.isnan(g[1:]).all() and np.isfinite(g[0]).all()
    assert c.clearance(np.zeros((0, n)), scene()).shape == (0,)
    assert c.clearance(np.zeros((2, 3, n))).shape == (2, 3) and coarse("scara").contacts(np.zeros(4)) is not None
    with raises(InputError, "wrong-shape q"):
        c.clearance(np.zeros(5))


@pytest.mark.parametrize("name", ["ur5e", "iiwa7", "scara"])
def test_spheres_are_never_farther_than_the_shapes(name):
    excess, short, *_ = oracle.compare(arm(name), 12)
    assert excess < 1e-9 and short < 1e-6


# --------------------------------------------------------------------------------------------------------------- edges
@pytest.mark.parametrize("name", ["ur5e", "scara", "stanford"])
def test_no_point_moves_farther_than_its_bound(name):
    """Differences of centers over random steps of one joint."""
    robot, c = arm(name), coarse(name)
    q = robot.random_configuration(200, seed=0)
    extent = np.abs(q).max(axis=0) + 0.3
    bound = reaches(robot.model, c.spheres.fine, extent)
    for j, body in enumerate(robot.model.bodies):
        step = np.zeros(robot.n)
        step[body.coordinate] = 0.3
        moved = np.linalg.norm(c.centers(q + step) - c.centers(q), axis=-1)
        assert (moved <= 0.3 * bound[:, j] + 1e-12).all()
    relative = c.motion(extent)[0][len(c.groups) :]
    d = pair_distances(c, q)
    for j in range(robot.n):
        step = 0.2 * np.eye(robot.n)[j]
        change = np.maximum(pair_distances(c, q + step), 0) - np.maximum(d, 0)  # the depth of an overlap is a bound
        assert (np.abs(change) <= 0.2 * relative[:, j : j + 1] + 1e-9).all()


@pytest.mark.parametrize("name", ["ur5e", "scara", "stanford"])
def test_no_point_moves_faster_than_its_speed_and_what_that_changes_by(name):
    """Over pieces of straight lines: at most s (v + s/2 wᵀ Q w) from a state, alone and two of a pair to each other."""
    robot, c = arm(name), coarse(name)
    q, way = robot.random_configuration(100, seed=0), RNG(1).normal(size=(100, robot.n))
    extent = np.abs(q).max(axis=0) + np.abs(way).max(axis=0)
    w = np.abs(way)
    bend = np.einsum("bn,gnm,bm->bg", w, c.motion(extent)[1], w)
    speed, tightest = np.asarray(c.speeds(q, way)), np.inf
    for s in (1e-4, 0.1, 0.5):
        allowed = s * (speed + 0.5 * s * bend)
        moved = np.linalg.norm(c.centers(q + s * way) - c.centers(q), axis=-1)[:, c._order]
        for g, (first, last) in enumerate(c.groups[:, 5:7]):
            assert (moved[:, int(first) : int(last)].max(axis=1) <= allowed[:, g] + 1e-12).all()
        change = np.maximum(pair_distances(c, q + s * way), 0) - np.maximum(pair_distances(c, q), 0)
        assert (allowed[:, len(c.groups) :] + 1e-9 >= np.abs(change).T).all()
        farthest = max(moved[:, int(g[5]) : int(g[6])].max() for g in c.groups)
        tightest = min(tightest, allowed[:, : len(c.groups)].max() / farthest)
    assert tightest < 1.5  # no idle bound


def test_an_edge_beyond_the_limits_changes_nothing_for_the_others():
    robot, c = arm("panda"), arm("panda").collision()
    q0 = robot.random_configuration(40, seed=4)
    q1 = np.clip(q0 + RNG(5).normal(size=q0.shape) * 0.1, robot.limits.lower, robot.limits.upper)
    alone = certify_edge(c, q0, q1, scene())
    q0, q1 = np.concatenate((q0, q0[:2])), np.concatenate((q1, q1[:2] + 3.0))
    both = certify_edge(c, q0, q1, scene())
    for name in ("free", "place", "looks", "seen"):
        assert np.array_equal(getattr(both, name)[:40], getattr(alone, name), equal_nan=True)
    assert np.array_equal(both.states[40:], certify_edge(c, q0[40:], q1[40:], scene()).states, equal_nan=True)


@pytest.mark.parametrize("single", [False, True])
def test_certified_edges_are_free_where_a_denser_check_looks(single):
    robot, c = arm("iiwa7"), coarse("iiwa7")
    q0 = robot.random_configuration(150, seed=2)
    q1 = q0 + RNG(3).normal(size=q0.shape) * 0.2
    found = certify_edge(c, q0, q1, scene(), float32=single)
    t = np.linspace(0, 1, 1001)[:, None]
    least = np.array([c.clearance(a + t * (b - a), scene()).min() for a, b in zip(q0, q1, strict=True)])
    assert (least[found.free] > 0).all() and found.free.sum() > 20 and (~found.free).sum() > 20
    assert found.free[least > 2e-3].mean() > 0.95
    assert (least[found.touches] < 1e-3).all()
    k = int(np.flatnonzero(found.touches)[0])
    assert c.clearance(found.states[k], scene()) <= found.margin and "% of the way" in str(found)
    assert str(found.contact(k)) and found.contact(int(np.flatnonzero(found.free)[0])) is None


def test_a_narrow_gap_is_seen_between_the_samples():
    """A thin wall that both ends, and a hundred samples between them, are clear of."""
    robot = dl.load("planar-2r")
    c = Collision(robot.model, enclose(robot.description, robot.model, 0.02))
    q0, q1 = np.array([0.5, 0.0]), np.array([0.5 + 2 * np.pi - 1.0, 0.0])
    where = c.centers(q0 + 0.31 * (q1 - q0))  # where no middle of a piece lies
    tip = where[np.argmax(np.linalg.norm(where, axis=1))]
    speck = World().sphere("speck", 1e-4, tip * 1.0)
    found = certify_edge(c, q0, q1, speck)
    assert not found and found.touches.all() and found.contact().second == "speck"
    assert certify_edge(c, q0, q1, World().sphere("away", 0.1, (0, 0, 2.0)))
    with raises(InputError, "wrong-shape q1"):
        certify_edge(c, q0, [q1, q1])
    with raises(InputError, "too-large q1"):
        certify_edge(c, q0, q1 * 1e6)


def test_strays_and_clearances_are_kept():
    robot = arm("ur5e")
    c = robot.collision()
    q = np.array([0.0, -1.57, 0.3, -1.2, 0.4, 0.0])
    floor = World().floor(0.0)
    d = float(c.distances(q, floor).least)
    assert d > 0.02
    assert certify_edge(c, q, q, floor, clear=0.99 * d) and not certify_edge(c, q, q, floor, clear=1.01 * d)
    assert certify_edge(c, q, q + 0.01, floor) and not certify_edge(c, q, q, floor, stray=3.0)
    assert "not 10 m clear: 50 % of the way" in str(certify_edge(c, q, q + 0.01, floor, clear=10.0))
    assert str(certify_edge(c, q[None][:0], q[None][:0])) == "there are no edges to look at"
    for motion, said in ((3, "wrong-type motion"), (dl.trajectories.sines([0.1] * 6, 1.0), "missing duration")):
        with raises(InputError, said):
            robot.certify_motion(motion, floor)
    path = robot.certify_path([robot.home, robot.home + 0.5], World().floor(-2.0))
    assert bool(path) == path.free.all()


def test_float32_is_within_its_margin():
    c = coarse("iiwa7")
    extent = np.full(7, 2.0)
    q = RNG(0).uniform(-2, 2, (20_000, 7)).astype(np.float32)
    margin = float32_margin(c, scene().arrays(), extent)
    off = np.abs(c.clearance(q, scene()) - c.clearance(q.astype(float), scene())).max()
    assert 0 < off <= margin < 2e-4


# --------------------------------------------------------------------------------------------------------------- pairs
@pytest.mark.parametrize("name", ["ur5e", "iiwa7"])
def test_pairs_are_left_out_by_proof_alone(name):
    robot, before = arm(name), coarse(name).spheres
    after = settle_pairs(robot.model, before)
    gone = {tuple(p) for p in before.pairs.tolist()} - {tuple(p) for p in after.pairs.tolist()}
    assert gone == {tuple(p) for p in after.apart.tolist()} and gone
    q = robot.random_configuration(20_000, seed=9)
    d = dict(zip(map(tuple, before.pairs.tolist()), pair_distances(coarse(name), q), strict=True))
    assert all(d[pair].min() > 0 for pair in gone)


def test_links_that_always_overlap_stay_a_pair_until_they_are_allowed_to(tmp_path):
    """No state is free, unless the user allows it."""
    text = ["[dh]", 'convention = "standard"']
    for k in range(3):
        text += ["[[dh.rows]]", "a = 0.1", f'link = "link{k}"', "shapes = [{ sphere = { radius = 0.15 } }]"]
    (tmp_path / "chain.toml").write_text("\n".join(["format = 1", 'name = "chain"', *text]))
    robot = dl.load(tmp_path / "chain.toml")
    of = robot.collision()
    link = of.spheres.coarse.link
    assert [(link[a], link[b]) for a, b in of.spheres.pairs] == [("link0", "link2")] and not len(of.spheres.apart)
    assert (of.clearance(robot.random_configuration(100, seed=0)) < 0).all()
    free = robot.collision(allow=[("link2", "link0")])
    assert np.isinf(free.clearance(robot.home)) and free.spheres.allowed == (("link2", "link0"),)
    with pytest.raises(InputError, match=r"touches something.*pass allow=\[\('link0', 'link2'\)\]"):
        robot.plan(robot.home, robot.home + 0.5)
    assert robot.plan(robot.home, robot.home + 0.5, allow=[("link0", "link2")], timed=False).proved
    words = ["plan", str(tmp_path / "chain.toml"), "--to", "0.5,0.5,0.5", "--limits", "acceleration=1"]
    refused = CliRunner().invoke(main, words)
    assert refused.exit_code == 1 and "link0 and link2" in refused.output
    assert CliRunner().invoke(main, [*words, "--allow", "link0,link2"]).exit_code == 0
    assert "must be the names of two links" in CliRunner().invoke(main, [*words, "--allow", "link0"]).output


def slides(tmp_path, kind="prismatic"):
    """A ball on three joints at one point of another ball; slides meet in a millionth of their states."""
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    ball = '<collision><geometry><sphere radius="0.005"/></geometry></collision>'
    axes = ("1 0 0", "0 1 0", "0 0 1")
    text = f'<robot name="slides"><link name="l0">{ball}</link><link name="l1"/><link name="l2"/>'
    text += f'<link name="l3">{ball}</link>'
    for k, axis in enumerate(axes):
        text += f'<joint name="j{k}" type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/>'
        text += f'<axis xyz="{axis}"/>{limit}</joint>'
    (tmp_path / "slides.urdf").write_text(text + "</robot>")
    return dl.load(tmp_path / "slides.urdf")


def test_samples_that_never_touch_are_no_proof(tmp_path):
    robot = slides(tmp_path)
    c = robot.collision()
    assert (c.clearance(robot.random_configuration(1000, seed=0)) > 0).all()
    assert len(c.spheres.pairs) == 1 and not len(c.spheres.apart) and c.clearance([0.3, 0.002, -0.001]) > 0
    assert c.clearance([0.001, 0.002, -0.001]) < 0


def test_links_that_turn_about_one_point_are_neighbors(tmp_path):
    assert not len(slides(tmp_path, "revolute").collision().spheres.pairs)


@pytest.mark.parametrize("allow", [("base", "wrist_1_link"), "base", 3, ["base,wrist_1_link"], [("base", 1)]])
def test_pairs_that_are_not_two_names_are_refused(allow):
    with raises(InputError, "wrong-type allow"):
        arm("ur5e").collision(allow=allow)


def test_links_that_are_named_must_be_there():
    before = coarse("ur5e").spheres
    with raises(UnknownNameError, "unknown-name"):
        before.without(("base", "wrist_3"))


# ----------------------------------------------------------------------------------------------------------- sentences
def test_worlds_refuse_what_cannot_be(tmp_path):
    for make, said in (
        (lambda w: w.box("b", (1, -1, 1), (0, 0, 0)), "out-of-range the size of 'b'"),
        (lambda w: w.sphere("s", np.nan, (0, 0, 0)), "not-finite radius"),
        (lambda w: w.sphere("s", 1.0, (1e9, 0, 0)), "too-large spheres"),
        (lambda w: w.half_space("h", (0, 0, 0)), "out-of-range normal"),
        (lambda w: w.floor().floor(), "duplicate name"),
        (lambda w: w.sphere("", 1, (0, 0, 0)), "wrong-type name"),
        (lambda w: w.points("p", np.zeros((0, 3)), 0.1), "wrong-value spheres"),
        (lambda w: w.height_field("f", [[-2.0]], 0.1, (0, 0, 0), 1.0), "out-of-range depth"),
        (lambda w: w.height_field("f", [[1.0]], 0.0, (0, 0, 0), 1.0), "out-of-range cell"),
    ):
        with raises(InputError, said):
            make(World())
    with raises(UnknownNameError, "unknown-name"):
        World().floor().without("flor")
    with raises(InputError, "wrong-type world"):
        coarse("ur5e").clearance(np.zeros(6), {"floor": 0})
    file = tmp_path / "w.toml"
    file.write_text('[[box]]\nname = "t"\nsize = [1, 1, 0.1]\nxyz = [0, 0, -0.1]\n[floor]\nheight = -1\n')
    assert World.load(file).names == ("t", "floor")
    file.write_text('[[bx]]\nname = "t"\n')
    with raises(UnknownNameError, "unknown-name"):
        World.load(file)
    file.write_text('[[box]]\nname = "t"\nside = 1\n')
    with raises(UnknownNameError, "unknown-name"):
        World.load(file)


def test_the_arm_keeps_off_hills_and_clouds():
    """Distances to columns and points are those of boxes and balls, one after another."""
    rng, robot, c = RNG(2), arm("ur5e"), coarse("ur5e")
    hills, cloud = rng.uniform(-0.3, 0.2, (5, 4)), rng.uniform(-0.8, 0.8, (60, 3))
    world = World().height_field("hills", hills, 0.3, (-0.5, -0.5, -0.4), 1.0).points("cloud", cloud, 0.02)
    q = robot.random_configuration(20, seed=1)
    X, r, own = c.centers(q), c.spheres.fine.radius, c.spheres.fine.body >= 0
    i, j = np.indices(hills.shape)
    middle = np.stack((-0.5 + 0.3 * i, -0.5 + 0.3 * j), -1).reshape(-1, 1, 1, 2)
    side = np.maximum(np.abs(X[..., :2] - middle) - 0.15, 0.0)
    up = np.maximum(X[..., 2] - (hills.reshape(-1, 1, 1) - 0.4), 0.0)  # all lie above the bottom, −1.4
    outside = np.sqrt((side**2).sum(-1) + up**2)
    balls = np.linalg.norm(X[:, :, None] - cloud, axis=-1).min(axis=2) - 0.02
    exact = np.minimum((outside.min(axis=0) - r)[:, own].min(axis=1), (balls - r)[:, own].min(axis=1))
    found = c.distances(q, world).met
    apart = exact > -r.min()  # a center inside is as deep as it is, which is not looked at here
    assert apart.sum() > 5 and np.abs(found - exact)[apart].max() < 1e-12 and (X[..., 2] > -1.4).all()
    assert {"hills", "cloud"} <= {contact.second for x in q for contact in robot.contacts(x, world)}


def test_a_height_field_and_points_are_solids():
    world = World().height_field("hills", [[0.1, 0.2], [0.0, 0.3]], 0.5, (0, 0, 0), 1.0)
    d = [float(SOLIDS["boxes"](row, (0.5, 0.5, 0.5))[0]) for row in world.arrays().boxes]
    assert np.isclose(min(d), 0.2) and world.names == ("hills",)
    cloud = World().points("cloud", [[0, 0, 0], [1, 0, 0]], 0.1).arrays()
    assert len(cloud.spheres) == 2 and cloud.names["spheres"] == ("cloud", "cloud")


def test_a_robot_without_shapes_says_so():
    bare = dl.Robot.from_dh([{"a": 1.0}, {"a": 1.0}], name="bare")
    with raises(InputError, "missing robot"):
        bare.clearance([0.0, 0.0])
    with raises(InputError, "no-effect spheres"):
        arm("ur5e").collision(spheres=coarse("ur5e").spheres, tolerance=0.1)
    assert np.isinf(dl.load("planar-1r").clearance([0.0]))  # neighbors, and no world


def test_the_loop_is_pickled():
    c, q = coarse("ur5e"), arm("ur5e").random_configuration(2, seed=0)
    again = Collision(c.model, c.spheres)
    again.__dict__["nearest"] = pickle.loads(pickle.dumps(c.nearest))
    assert np.array_equal(again.clearance(q, scene()), c.clearance(q, scene()))
    assert json.loads(c.spheres.to_json())["overestimate"] == c.spheres.overestimate


# ---------------------------------------------------------------------------------------------------------------- uses
@pytest.mark.parametrize("name", ["iiwa7", "ur5e"])
def test_inverse_kinematics_keeps_clear(name):
    robot = arm(name)
    q = robot.random_configuration(400, seed=1)
    q = q[robot.clearance(q, scene()) > 0.01][:60]
    T = robot.fk(q)
    found = robot.ik(T, avoid=scene(), clear=0.005)
    plain = robot.ik(T)
    assert found.converged.mean() >= 0.98 and (robot.clearance(plain.q, scene()) < 0.005).any()
    assert (robot.clearance(found.q[found.converged], scene()) >= 0.005).all()
    assert np.abs(robot.fk(found.q) - T)[found.converged].max() < 1e-5
    one = robot.ik(T[3], avoid=scene(), clear=0.005)
    assert np.array_equal(one.q, found.q[3]) and isinstance(one.clearance, float)
    assert (found.clearance <= robot.clearance(found.q, scene())).all()  # in float32, with its margin


def test_inverse_kinematics_says_what_cannot_be_clear():
    robot = arm("ur5e")
    T = robot.fk(np.array([0.3, -1.2, 1.0, -1.0, -1.5, 0.2]))
    buried = World().sphere("lump", 0.2, T[:3, 3])
    found = robot.ik(T, avoid=buried)
    assert not found and found.clearance < 0 and "clearest" in found.reason and found.position_error < 1e-5
    for words, said in (
        ({"clear": 0.1}, "give avoid="),
        ({"avoid": 3}, "avoid is a dl.World"),
        ({"avoid": buried, "secondary": "limits"}, "leave out secondary"),
    ):
        with pytest.raises(InputError, match=said):
            robot.ik(T, **words)


def test_motions_say_when_they_touch():
    robot = arm("ur5e")
    a, b = np.array([0.0, -1.57, 0.5, -1.2, 0.4, 0.0]), np.array([0.0, 0.3, 0.5, -1.2, 0.4, 0.0])
    motion = dl.trajectories.minimum_jerk(a, b, duration=2.0)
    floor = World().floor(0.0)
    spans = robot.contact_spans(motion, floor, dt=0.02)
    assert spans and spans[0].second == "floor" and 0 < spans[0].start < spans[0].end <= 2.0
    touching = {c.first for c in robot.contacts(motion(spans[0].deepest)[0], floor)}
    assert spans[0].first in touching and f"{spans[0].first} and floor" in str(spans[0])
    assert not robot.certify_motion(motion, floor)
    t = spans[0].start
    assert robot.clearance(motion(t)[0], floor) <= 0 < robot.clearance(motion(t - 0.02)[0], floor)
    short = dl.trajectories.minimum_jerk(a, a + 0.2, duration=1.0)
    assert robot.certify_motion(short, floor, clear=0.005) and not robot.contact_spans(short, floor)
    run = dl.simulate(robot, dl.control.PDGravity(robot, kp=100, kd=20), q0=a, duration=0.2, reference=a)
    assert robot.contact_spans(run, floor) == [] and robot.contact_spans(run, floor, within=5.0)
    with raises(InputError, "wrong-type motion"):
        robot.contact_spans(a, floor)


def test_a_run_says_when_what_touched():
    robot, floor = arm("ur5e"), World().floor(0.0)
    a, b = np.array([0.0, -1.57, 0.5, -1.2, 0.4, 0.0]), np.array([0.0, 0.3, 0.5, -1.2, 0.4, 0.0])
    words = {"q0": a, "duration": 1.0, "reference": dl.trajectories.minimum_jerk(a, b, duration=1.0)}
    law = dl.control.ComputedTorque(robot, kp=100, kd=20)
    run = dl.simulate(robot, law, world=floor, **words)
    assert list(run.contacts) == robot.contact_spans(run, floor) and run.contacts[0].second == "floor"
    said = robot.collision().spheres.enlarged
    assert str(run.contacts[0]) in run.message and said in run.message
    assert (
        np.array_equal(run.q, dl.simulate(robot, law, **words).q) and dl.simulate(robot, law, **words).contacts is None
    )
    still = dl.simulate(robot, q0=a, duration=0.01, world=World())
    assert still.contacts == () and "nothing touches at its rows" in still.message
    bare = dl.load("planar-1r")
    bare = dl.Robot(
        replace(bare.description, links=tuple(replace(x, visuals=(), collisions=()) for x in bare.description.links))
    )
    for system, world, said in (
        (robot.flow(), floor, "of a Robot, not of a Flow"),
        (robot, 3, "must be a World"),
        (bare, floor, "has no shapes"),
    ):
        with pytest.raises(InputError, match=said):
            dl.simulate(system, q0=np.zeros(1 if system is bare else 6), duration=0.01, world=world)
    batch = dl.Experiment(robot, law, reference=words["reference"], world=floor).batch(q0=[b, a], duration=1.0)
    assert batch.run(1).contacts == run.contacts


TETRAHEDRON = (
    np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.3, 0], [0, 0, 0.3]]),
    [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
)


def test_a_mesh_is_an_obstacle(tmp_path):
    """Never farther than coal says of the mesh itself, and no nearer than what it overestimates."""
    import coal

    turn, spot = (0.3, -0.2, 1.0), (0.35, 0.1, 0.4)
    world = World().mesh("wedge", TETRAHEDRON, spot, turn, tolerance=0.01)
    (wedge,) = world.obstacles
    assert wedge.kind == "spheres" and 0 < wedge.overestimate < 0.03 and world.names == ("wedge",)
    assert World().mesh("wedge", TETRAHEDRON, tolerance=0.04).obstacles[0].overestimate <= 0.04
    ball = World().sphere("ball", 0.05, (0, 0, 0)).arrays()
    solid = oracle.bvh(TETRAHEDRON[0], np.array(TETRAHEDRON[1]))
    R, x = np.array(dl.pose(rpy=turn)[:3, :3]), RNG(0).uniform(-0.3, 1.0, (300, 3))
    for p in x:
        near = np.linalg.norm(wedge.rows[:, :3] - p, axis=1) - wedge.rows[:, 3] - ball.spheres[0, 3]
        there, here = coal.Transform3s(R, np.array(spot)), coal.Transform3s(np.eye(3), p)
        exact = coal.distance(solid, there, coal.Sphere(0.05), here, coal.DistanceRequest(), coal.DistanceResult())
        assert near.min() <= max(exact, 0.0) + 1e-9 and (exact <= 0 or near.min() >= exact - wedge.overestimate - 1e-9)
    corners = TETRAHEDRON[0][np.array(TETRAHEDRON[1])] * 1000
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n" + "".join(f"vertex {x} {y} {z}\n" for x, y, z in f) + "endloop\nendfacet\n"
        for f in corners
    )
    (tmp_path / "wedge.stl").write_text(f"solid w\n{facets}endsolid w\n")
    (tmp_path / "cell.toml").write_text(
        '[[mesh]]\nname = "wedge"\nmesh = "wedge.stl"\nscale = 0.001\ntolerance = 0.01\n'
    )
    same = World().mesh("wedge", TETRAHEDRON, tolerance=0.01).arrays().spheres
    assert np.abs(np.sort(World.load(tmp_path / "cell.toml").arrays().spheres) - np.sort(same)).max() < 1e-6
    for mesh, words, said in (
        (tmp_path / "wedge.stl", {}, "wrong-unit scale"),
        ((TETRAHEDRON[0], [[0, 1, 4]]), {}, "wrong-value mesh"),
        (3, {}, "wrong-type mesh"),
        (TETRAHEDRON, {"tolerance": 0.0}, "out-of-range tolerance"),
    ):
        with raises(InputError, said):
            World().mesh("bad", mesh, **words)
    with raises(dl.DescriptionError, "not-readable path"):
        World().mesh("none", "nowhere.stl")


class Lunge:
    """A stranger's motion: it bows to the floor for a moment between the samples of its own `limits`."""

    duration = 1.0

    def __init__(self, q):
        self.q = q

    def __call__(self, t):
        away = (np.asarray(t, float) - 0.5037) / 1e-3
        x = np.tile(self.q, (*np.shape(t), 1))
        x[..., 1] += 1.8 * np.exp(-(away**2))
        return x, 0 * x, 0 * x

    def limits(self):
        return dl.trajectories.Extremes(*[np.zeros(6)] * 5, "sampled")


def test_samples_of_an_acceleration_are_no_proof():
    robot, floor = arm("ur5e"), World().floor(0.0)
    q = np.array([0.0, -1.57, 0.5, -1.2, 0.4, 0.0])
    found = robot.certify_motion(Lunge(q), floor)
    assert robot.clearance(Lunge(q)(0.5037)[0], floor) < 0  # and yet nothing is seen of it
    assert found.free.all() and not found.proved and "no proof" in str(found) and "free, proved" not in str(found)
    path = dl.trajectories.spline([q, q + 0.1, q + 0.3], times=[0, 1, 2])
    for motion in (path, dl.trajectories.time_optimal(path, robot, velocity=1.0, acceleration=3.0)):
        known = robot.certify_motion(motion, floor)
        assert known and known.proved and "free, proved" in str(known)


# --------------------------------------------------------------------------------------------------- beyond the limits
def test_links_that_meet_beyond_the_limits_alone_are_seen_there():
    """Pairs are left out by what is proved within the limits: nothing is proved beyond."""
    robot = arm("panda")
    link = robot.collision().spheres.coarse.link
    assert frozenset(("panda_link5", "panda_link7")) in {
        frozenset((link[a], link[b])) for a, b in robot.collision().spheres.apart
    }
    inside = robot.home
    bent = inside.copy()
    bent[5] = -0.459  # the limit is -0.0175
    assert any({c.first, c.second} == {"panda_link5", "panda_link7"} for c in robot.contacts(bent))
    assert robot.clearance(bent) < 0 < robot.clearance(inside)
    assert robot.clearance(np.stack((inside, bent))).tolist() == [robot.clearance(inside), robot.clearance(bent)]
    proof = robot.certify_edge(inside, bent)
    assert not proof and robot.certify_edge(inside, inside + 0.01)
    assert {"panda_link5", "panda_link7"} == {proof.contact().first, proof.contact().second}


def test_spheres_of_another_robot_and_spoiled_ones_are_refused(tmp_path):
    text = json.loads(arm("ur5e").collision().spheres.to_json())
    swapped = [{**entry, "body": (entry["body"] + 2) % 6} for entry in text["spheres"]]
    wide = [{**entry, "coarse": [*entry["coarse"][:3], 1e-3]} for entry in text["spheres"]]
    less = [{**entry, "fine": [[0, 0, 0, -0.1]]} for entry in text["spheres"]]
    for spheres, words in ((swapped, "conflict spheres"), (wide, "wrong-value spheres"), (less, "wrong-value spheres")):
        (tmp_path / "s.json").write_text(json.dumps({**text, "spheres": spheres}))
        with raises(InputError, words):
            arm("ur5e").collision(spheres=tmp_path / "s.json")


def test_arrays_of_a_world_without_numbers_are_refused():
    arrays = World().sphere("ball", 0.1, (0, 0, 0)).arrays()
    with raises(InputError, "not-finite spheres"):
        replace(arrays, spheres=np.full((1, 4), np.nan))
    with raises(InputError, "wrong-shape names"):
        replace(arrays, spheres=np.zeros((2, 4)))
    for size in (1e200, 1e-200):
        assert World().half_space("wall", (0, 0, size), 0.5).arrays().half_spaces.tolist() == [[0, 0, 1, 0.5]]


CAMERA = """<robot name="camera">{links}
<joint name="turn" type="revolute"><parent link="arm"/><child link="wrist"/><origin xyz="0 0 0.3"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" velocity="1" effort="1"/></joint>
<joint name="a" type="fixed"><parent link="arm"/><child link="camera"/><origin xyz="0.2 0 0.3"/></joint>
<joint name="b" type="fixed"><parent link="wrist"/><child link="tool"/><origin xyz="0.2 0 0"/></joint></robot>"""


def test_what_is_fixed_to_neighbors_may_meet(tmp_path):
    """A tool on a wrist runs into the camera on the arm before it: one joint parts them, and they are no neighbors."""
    box = '<collision><geometry><box size="0.05 0.05 0.05"/></geometry></collision>'
    weight = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(f'<link name="{name}">{weight}{box}</link>' for name in ("arm", "wrist", "camera", "tool"))
    (tmp_path / "camera.urdf").write_text(CAMERA.format(links=links))
    robot = dl.load(tmp_path / "camera.urdf")
    assert [{c.first, c.second} for c in robot.contacts([0.0])] == [{"camera", "tool"}]
    assert robot.clearance([0.0]) < 0 < robot.clearance([1.5])
    assert not robot.certify_edge([-1.5], [1.5]) and robot.certify_edge([0.5], [1.5])
    link = robot.collision().spheres.coarse.link
    assert {frozenset((link[a], link[b])) for a, b in robot.collision().spheres.pairs} == {
        frozenset(("camera", "tool"))
    }


def test_a_file_with_a_wrong_obstacle_is_named(tmp_path):
    (tmp_path / "world.toml").write_text('[[box]]\nname = "a"\nsize = [1, 1]\nxyz = [0, 0, 0]\n')
    with raises(InputError, "wrong-value box"):
        World.load(tmp_path / "world.toml")
