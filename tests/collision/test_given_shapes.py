"""Spheres and worlds that people write themselves, clusters of spheres, robots on free bases."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dalembert as dl
from dalembert.collision import Collision, World
from dalembert.collision.clearance import CLUSTER
from dalembert.collision.enclose import enclose
from dalembert.errors import DalembertError, InputError, UnknownNameError
from errors import raises

WORLD = World().floor(-0.3).sphere("ball", 0.1, (0.5, 0.2, 0.3))
PILLAR = """<robot name="pillar"><link name="foot">
 <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
 <joint name="j" type="revolute"><parent link="foot"/><child link="trunk"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
 <link name="trunk"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="0 0 0.3"/><geometry><sphere radius="0.1"/></geometry></collision></link></robot>"""


@cache
def arm() -> dl.Robot:
    return dl.load("ur5e")


@cache
def rough() -> Collision:
    return Collision(arm().model, enclose(arm().description, arm().model, 0.06))


def test_clusters_hold_all_spheres_once():
    c = rough()
    first, last = c.clusters[:, 5:].astype(int).T
    assert (last - first <= CLUSTER).all()
    assert sorted(k for a, b in zip(first, last, strict=True) for k in range(a, b)) == list(range(len(c.balls)))
    assert sorted(c._order) == list(range(len(c.balls)))
    for a, b, row in zip(first, last, c.clusters, strict=True):
        own = c.balls[a:b]
        assert (own[:, 0] == row[0]).all()
        assert (np.linalg.norm(own[:, 1:4] - row[1:4], axis=1) + own[:, 4] <= row[4] * (1 + 1e-12)).all()
    for group in c.groups:
        few = c.clusters[int(group[7]) : int(group[8])]
        assert (few[0, 5], few[-1, 6]) == (group[5], group[6])


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_the_lesser_alone_is_the_lesser_of_both(kind):
    q = arm().random_configuration(501, seed=3).astype(kind)
    both, one = rough().distances(q, WORLD), rough().distances(q, WORLD, both=False)
    assert np.array_equal(both.least, one.least)
    assert np.isinf(one.own[both.own > both.met]).all()
    assert (both.own > both.met).any() and (both.own < both.met).any()


def test_own_spheres_without_pairs_leave_out_what_is_allowed(tmp_path):
    """Spheres so large that the wrist's always overlap stay a pair, unless they are allowed to."""
    file = tmp_path / "own.toml"
    rows = {"base": 0.1, "forearm_link": 0.06, "wrist_1_link": 0.12, "wrist_2_link": 0.05, "wrist_3_link": 0.12}
    file.write_text("[spheres]\n" + "".join(f"{name} = [[0, 0, 0, {r}]]\n" for name, r in rows.items()))
    wrist = ("wrist_1_link", "wrist_3_link")
    for allow in ((), (wrist,)):
        found = arm().collision(spheres=file, allow=allow).spheres
        assert found.allowed == allow
        left = {frozenset(found.coarse.link[g] for g in pair) for pair in found.pairs}
        assert (frozenset(wrist) in left) == (not allow) and left - {frozenset(wrist)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('pair = [["base", "wrist_1_link"]]\n', "unknown-name"),
        ("overestimate = -1\n", "out-of-range overestimate"),
        ("overestimate = 'x'\n", "wrong-type overestimate"),
        ('pairs = [["base"]]\n', "wrong-type pairs"),
        ('pairs = [["base", "base"]]\n', "wrong-type pairs"),
        ('pairs = [["base", "wrist_9"]]\n', "unknown-name"),
    ],
)
def test_own_spheres_with_slips_are_refused(tmp_path, text, said):
    file = tmp_path / "own.toml"
    file.write_text(text + "[spheres]\nbase = [[0, 0, 0, 0.1]]\nwrist_1_link = [[0, 0, 0, 0.1]]\n")
    with raises(DalembertError, said):
        arm().collision(spheres=file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[boxx]]\nname = 'a'\n", "unknown-name"),
        ("[[box]]\nname = 'a'\nsize = [1, 1, 1]\nxzy = [0, 0, 0]\n", "unknown-name"),
        ("[[box]]\nname = 'a'\nrpy = [0, 0, 0]\n", "missing box"),
        ("[[sphere]]\nself = 1\n", "unknown-name"),
    ],
)
def test_a_world_with_slips_is_refused(tmp_path, text, said):
    file = tmp_path / "cell.toml"
    file.write_text(text)
    with raises(DalembertError, said):
        World.load(file)


def test_faces_and_padding_are_whole_numbers():
    with raises(InputError, "wrong-type mesh"):
        World().mesh("m", (np.eye(3), [[0, 1, 1.5]]))
    for pad in (-1, 1.5):
        with raises(InputError, "out-of-range pad"):
            World().arrays(pad)
    with raises(UnknownNameError, "unknown-name"):
        World().arrays({"boxs": 3})
    assert len(World().arrays({"boxes": 3}).boxes) == 3


# -------------------------------------------------------------------------------------------------------- free bases
@pytest.mark.parametrize("kind", ["floating", "planar"])
def test_a_free_base_has_distances_and_their_slopes(kind):
    robot = arm().with_base(kind)
    c = Collision(robot.model, enclose(robot.description, robot.model, 0.06))
    q = arm().random_configuration(20, seed=1)
    there = np.tile(robot.home, (20, 1))
    there[:, -6:] = q
    assert np.abs(c.distances(there, WORLD).own - rough().distances(q, WORLD).own).max() < 1e-12
    x, h = robot.random_configuration(20, seed=2), 1e-6
    d, slope = c.gradient(x, WORLD)
    assert d.shape == (20,) and slope.shape == (20, robot.nv)
    ahead, back = (
        np.stack([c.clearance(robot.integrate(x, s * h * e), WORLD) for e in np.eye(robot.nv)], -1) for s in (1, -1)
    )
    smooth = np.abs(ahead - 2 * d[:, None] + back) < 1e-9
    assert smooth.mean() > 0.9
    smooth &= ((d > 0) | (d == c.distances(x, WORLD).met))[:, None]  # the depth of links that overlap is a bound
    assert np.abs((ahead - back) / (2 * h) - slope)[smooth].max() < 1e-6
    with pytest.raises(InputError, match="and this needs one"):
        robot.certify_edge(robot.home, robot.home)


def test_what_a_free_base_carries_is_proved_apart_as_on_the_ground():
    """The pairs that never meet are those of the arm itself."""
    robot = arm().with_base("floating")
    mine, own = robot.collision().spheres, arm().collision().spheres
    assert len(mine.apart) == len(own.apart) > 0
    names = [{frozenset(s.coarse.link[g] for g in pair) for pair in s.pairs} for s in (mine, own)]
    assert names[0] == names[1]


def test_quaternions_of_no_length_are_refused():
    free = arm().with_base("floating")
    c = Collision(free.model, enclose(free.description, free.model, 0.06))
    for ask in (c.clearance, c.contacts):
        with pytest.raises(InputError, match="the quaternion of joint 'root' in q has length 0"):
            ask(np.zeros(free.nq))
    assert any(contact.first == "base" for contact in c.contacts(free.home, World().floor(0.05)))


def test_a_falling_pillar_meets_the_floor(tmp_path):
    file = tmp_path / "pillar.urdf"
    file.write_text(PILLAR)
    robot = dl.load(file).with_base("floating")
    run = dl.simulate(robot, q0=robot.home, duration=0.5, world=World().floor(-0.5))
    (span,) = run.contacts
    assert {span.first, span.second} == {"trunk", "floor"}
    assert span.start == pytest.approx(np.sqrt(2 * 0.7 / 9.81), abs=0.01)  # the ball hangs 0.2 m + 0.5 m above it


# ------------------------------------------------------------------------------------------------------ certificates
def test_certificates_carry_clearance_and_time():
    robot = dl.load("planar-2r")
    world = World().sphere("ball", 0.12, (1.88, 0.48, 0.0))
    start, end = np.array([-1.0, 0.5]), np.array([1.0, 0.5])
    motion = dl.trajectories.minimum_jerk(start, end, duration=2.0)
    found = robot.certify_motion(motion, world)
    assert not found and "link2 and ball" in str(found)
    when = float(str(found).partition(": at ")[2].partition(" s")[0])
    span = robot.contact_spans(motion, world)[0]
    assert span.start - 0.02 < when < span.end + 0.02
    solution = robot.ik(robot.fk(end), rows="planar", avoid=world)
    assert solution and f"clearance={solution.clearance:.3g} m)" in repr(solution)
    assert "clearance" not in repr(robot.ik(robot.fk(end), rows="planar"))
