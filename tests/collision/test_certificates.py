"""Certified edges and sound distances in float32: what they may never claim, at sizes where rounding shows."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

import dalembert as dl
from dalembert.collision import Collision, World, along, edges
from dalembert.collision.edges import certify_edge, certify_path, float32_margin, sound_clearance
from dalembert.collision.enclose import enclose
from dalembert.describe.urdf_read import read_urdf

RNG = np.random.default_rng


def two_bars(base: float = 0.0, away: float = 0.0) -> dl.Robot:
    """Two bars of half a meter that turn without limits, `base` [m] from the origin; shapes `away` [m] from frames."""
    link = """<link name="{}"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
      </inertial><collision><origin xyz="{} 0 0"/><geometry><box size="0.5 0.05 0.05"/></geometry></collision></link>"""
    joint = """<joint name="{}" type="continuous"><parent link="{}"/><child link="{}"/><origin xyz="{} 0 0"/>
      <axis xyz="0 0.6 0.8"/></joint>"""
    parts = [link.format("one", 0.25), link.format("two", 0.25 + away)]
    parts += [joint.format("a", "base", "one", base), joint.format("b", "one", "two", 0.6)]
    return dl.Robot(read_urdf(f'<robot name="bars"><link name="base"/>{"".join(parts)}</robot>'))


@cache
def bars(base: float = 0.0, away: float = 0.0) -> Collision:
    robot = two_bars(base, away)
    return Collision(robot.model, enclose(robot.description, robot.model, 0.05))


SIZES = {
    "usual": (bars(), World().floor(-0.3)),
    "a planet": (bars(), World().sphere("planet", 5e3, (0.0, 0.0, -5e3 - 0.3))),
    "far from the origin": (bars(3e3), World().sphere("near", 0.3, (3e3, 0.0, 0.6))),
    "a long lever": (bars(0.0, 2e3), World().sphere("near", 0.3, (2e3, 0.0, 0.6))),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_sound_distance_is_never_larger_than_the_exact_one(name: str) -> None:
    c, world = SIZES[name]
    arrays = world.arrays()
    q = RNG(0).uniform(-2, 2, (20_000, 2))
    exact, sound = c.clearance(q, world), sound_clearance(c, arrays)(q, 1e5)
    here = np.isfinite(sound)
    assert here.mean() > 0.1 and (sound <= exact)[here].all()
    margin = float32_margin(c, arrays, edges._usual_extent(c))
    single = c.distances(q.astype(np.float32), world, both=False).least
    off = np.abs(single - c.distances(q.astype(np.float32).astype(float), world, both=False).least)
    assert 0 < off.max() <= margin


@pytest.mark.parametrize(("name", "size"), [("a planet", 5e3), ("far from the origin", 6e3), ("a long lever", 4e3)])
def test_the_margin_grows_with_every_size(name: str, size: float) -> None:
    """Rounding is relative to what goes in: the distance of an obstacle, of the base and of a shape from its joint."""
    usual, far = (
        float32_margin(c, world.arrays(), edges._usual_extent(c)) for c, world in (SIZES["usual"], SIZES[name])
    )
    assert usual < 1e-3 and edges.STEPS * edges.UNIT * size < far < 10 * edges.STEPS * edges.UNIT * size


def test_joints_without_limits_are_looked_at_for_a_turn() -> None:
    assert np.allclose(edges._usual_extent(bars()), 2 * math.pi + 1e-3)


def test_edges_in_batches_are_those_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    c, world = SIZES["usual"]
    q0, q1 = RNG(1).uniform(-2, 2, (2, 60, 2))
    whole = certify_edge(c, q0, q1, world)
    monkeypatch.setattr(edges, "BATCH", 7)
    parts = certify_edge(c, q0, q1, world)
    assert 10 < whole.free.sum() < 50
    for name in ("free", "touches", "place", "tight", "looks"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name), equal_nan=True), name


def test_a_path_is_its_edges() -> None:
    """The same clearances and strays, none unless they are asked for."""
    c, world = SIZES["usual"]
    q = RNG(2).uniform(-2, 2, (30, 2))
    for words in ({}, {"clear": 0.05}, {"stray": 0.02}, {"clear": 0.02, "stray": [0.01, 0.0], "float32": True}):
        path, each = certify_path(c, q, world, **words), certify_edge(c, q[:-1], q[1:], world, **words)
        assert np.array_equal(path.free, each.free) and np.array_equal(path.place, each.place, equal_nan=True)
        assert path.margin == each.margin and path.clear == each.clear
    assert certify_path(c, q, world).free.sum() > certify_path(c, q, world, stray=0.1).free.sum() > 0


def test_one_look_at_a_far_edge_is_at_its_middle() -> None:
    found = certify_edge(bars(), [0.1, 0.2], [0.15, 0.2], World().sphere("away", 0.1, (0, 0, 50.0)))
    assert found and found.looks.tolist() == [1] and found.tight.tolist() == [0.5] and np.isnan(found.place).all()


def test_speeds_of_edges_are_rounded_up() -> None:
    """The search computes in float32 too: what a pair may move by has room for that."""
    c, world = SIZES["usual"]
    q0, q1 = RNG(3).uniform(-2, 2, (2, 40, 2))
    extent = np.full(2, 2.0)
    search = edges._Search(c, q0, q1, world.arrays(), 0 * q0, 0.0, 0.0, extent, np.float64)
    exact = np.abs(q1 - q0) @ c.motion(extent)[0].T
    assert (search.speed >= exact * (1 + 8 * edges.UNIT)).all() and (search.speed <= exact * (1 + 1e-5) + 1e-9).all()


@pytest.mark.parametrize(("dt", "count"), [(0.1, 11), (0.3, 5), (5.0, 2)])
def test_samples_of_a_motion_are_as_near_as_asked(dt: float, count: int) -> None:
    motion = dl.trajectories.minimum_jerk([0.0, 0.0], [1.0, 0.5], duration=1.0)
    t, q = along.sample_motion(motion, dt)
    assert len(t) == count and (t[0], t[-1]) == (0.0, 1.0) and np.allclose(q, motion(t)[0])
