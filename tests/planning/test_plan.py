"""Plans touch nothing, densely sampled in float64; the same bits every run; what cannot be is said in words."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import DalembertError
from dalembert.planning import Planner, Settings
from errors import raises
from gripper import FINGERS, with_fingers

START = np.array([-0.8, -1.2, 1.2, -1.5, -1.57, 0.0])
GOAL = np.array([0.8, -1.2, 1.2, -1.5, -1.57, 0.0])
LIMIT = 20.0  # [rad/s²]


@pytest.fixture(scope="module")
def arm() -> dl.Robot:
    return dl.load("ur5e")


@pytest.fixture(scope="module")
def world() -> dl.World:
    """A wall between start and goal, and one obstacle of every other kind."""
    wall = dl.World().floor(-0.02).box("wall", (0.6, 0.04, 0.8), (-0.6, -0.1, 0.4), (0.0, 0.0, 0.1))
    other = wall.sphere("ball", 0.08, (-0.3, -0.5, 0.9)).capsule("rod", 0.03, (0.5, 0.5, 0), (0.5, 0.6, 0.8))
    return other.cylinder("post", 0.06, 0.7, (0.3, -0.4, 0.35), (0.3, 0.0, 0.0))


@pytest.fixture(scope="module")
def planner(arm: dl.Robot) -> Planner:
    return Planner(arm.model, arm.collision().spheres, arm.limits.lower, arm.limits.upper)


def dense(path: np.ndarray, parts: int = 400) -> np.ndarray:
    return np.concatenate([a + np.linspace(0, 1, parts)[:, None] * (b - a) for a, b in itertools.pairwise(path)])


# ------------------------------------------------------------------------------------------------------------- checks
@pytest.mark.parametrize("single", [True, False])
def test_states_touch_where_the_distance_is_negative(arm: dl.Robot, world: dl.World, single: bool) -> None:
    own = Planner(arm.model, arm.collision().spheres, arm.limits.lower, arm.limits.upper, single)
    q = np.random.default_rng(3).uniform(-2.5, 2.5, (3000, 6))
    distance = arm.clearance(q, world)
    clear = np.abs(distance) > (1e-5 if single else 1e-12)
    hits = own.scene(world).hits(q)
    assert 0.2 < hits.mean() < 0.98
    assert (hits == (distance < 0))[clear].all()
    assert (own.scene(world, clear=0.05).hits(q) == (distance < 0.05))[np.abs(distance - 0.05) > 1e-5].all()
    one = [own.scene(world).hits(x[None])[0] for x in q[:200]]
    assert (one == hits[:200]).all()  # whatever lies in the other lanes


def test_a_world_of_many_obstacles_of_each_kind(arm: dl.Robot, planner: Planner) -> None:
    rng = np.random.default_rng(5)
    world = dl.World().points("cloud", rng.uniform(-1, 1, (40, 3)), 0.01)
    for k in range(20):
        x = rng.uniform(-1, 1, 3)
        world = world.cylinder(f"c{k}", 0.02, 0.1, x, rng.uniform(-3, 3, 3)).box(f"b{k}", (0.1, 0.02, 0.05), -x, x)
    q = rng.uniform(-3, 3, (1500, 6))
    distance = arm.clearance(q, world)
    hits = planner.scene(world).hits(q)
    assert (hits == (distance < 0))[np.abs(distance) > 1e-5].all()
    world = dl.World().half_space("roof", (0, 0.1, -1), -0.5).half_space("side", (1, 0, 0), -0.4)
    assert (planner.scene(world).hits(q) == (arm.clearance(q, world) < 0)).mean() > 0.999


def test_edges_touch_where_a_state_on_them_does(arm: dl.Robot, world: dl.World, planner: Planner) -> None:
    rng = np.random.default_rng(4)
    scene = planner.scene(world)
    a = rng.uniform(-2.5, 2.5, (3000, 6))
    a = a[~scene.hits(a)][:150]
    b = a + 0.6 * rng.normal(size=a.shape)
    hits = scene.edge_hits(a, b)
    steps = np.maximum(np.ceil(np.linalg.norm(b - a, axis=1) * 32 / planner.machine.width), 1) * planner.machine.width
    for k in range(len(a)):  # the same states as the rake's
        t = np.arange(1, steps[k] + 1)[:, None] / steps[k]
        least = arm.clearance(a[k] + t * (b[k] - a[k]), world).min()
        assert abs(least) < 1e-5 or hits[k] == (least < 0)
    assert 0.1 < hits.mean() < 0.95


def test_what_touched_last_changes_no_verdict(world: dl.World, planner: Planner) -> None:
    rng = np.random.default_rng(6)
    a = rng.uniform(-2.5, 2.5, (400, 6))
    b = a + 0.4 * rng.normal(size=a.shape)
    hits = planner.scene(world).edge_hits(a, b)
    order = rng.permutation(len(a))
    assert (planner.scene(world).edge_hits(a[order], b[order]) == hits[order]).all() and 0 < hits.sum() < len(a)
    assert [planner.scene(world).edge_hits(a[k : k + 1], b[k : k + 1])[0] for k in range(40)] == hits[:40].tolist()


@pytest.mark.parametrize("name", ["panda", "iiwa7"])
def test_parts_hold_every_sphere_and_every_pair(name: str) -> None:
    robot = dl.load(name)
    spheres = robot.collision().spheres
    own = Planner(robot.model, spheres, robot.limits.lower, robot.limits.upper)
    coarse, fine, links, *_ = own._body_tables
    big, small, parts = (np.reshape(x, (-1, k)) for x, k in ((coarse, 4), (fine, 4), (links, 3)))
    assert len(small) == len(spheres.fine) and parts[0, 1] == 0 and parts[-1, 2] == len(small)
    for around, (_, first, last) in zip(big, parts, strict=True):
        reach = np.linalg.norm(small[first:last, :3] - around[:3], axis=1) + small[first:last, 3]
        assert (reach <= around[3] * (1 + 1e-9)).all()
    q = robot.random_configuration(2000, seed=2)
    distance = robot.clearance(q)
    assert (own.scene(dl.World()).hits(q) == (distance < 0))[np.abs(distance) > 1e-5].all()


# ------------------------------------------------------------------------------------------------------------- search
def test_searches_find_paths_that_touch_nothing(arm: dl.Robot, world: dl.World, planner: Planner) -> None:
    scene, rng = planner.scene(world), np.random.default_rng(8)
    q = rng.uniform(-2.2, 2.2, (4000, 6))
    q = q[~scene.hits(q)]
    q = q[arm.clearance(q, world) > 0.01][:40]
    solved = 0
    for a, b in zip(q[::2], q[1::2], strict=True):
        found = scene.search(a, b[None], Settings(iterations=20_000))
        raw = scene.search(a, b[None], Settings(iterations=20_000, rounds=0))
        solved += found.status == 1
        if found.status == 1:
            np.testing.assert_allclose(found.path[[0, -1]], [a, b], atol=1e-6)
            assert arm.clearance(dense(found.path, 60), world).min() > -0.005  # between the samples
            length = [np.linalg.norm(np.diff(x.path, axis=0), axis=1).sum() for x in (found, raw)]
            assert length[0] <= length[1] + 1e-5
            assert (found.path >= arm.limits.lower).all() and (found.path <= arm.limits.upper).all()
    assert solved >= 18


def test_the_same_bits_every_time(world: dl.World, planner: Planner) -> None:
    paths = [planner.scene(world, seed).search(START, GOAL[None], Settings()).path for seed in (0, 0, 7, 7)]
    assert paths[0].tobytes() == paths[1].tobytes() and paths[2].tobytes() == paths[3].tobytes()
    assert paths[0].tobytes() != paths[2].tobytes()
    scene = planner.scene(world)
    again = [scene.search(START, GOAL[None], Settings()).path.tobytes() for _ in range(3)]
    assert set(again) == {paths[0].tobytes()}


def test_no_room_is_no_path(world: dl.World, planner: Planner) -> None:
    scene = planner.scene(world)
    assert scene.search(START, GOAL[None], Settings(nodes=8, iterations=10_000)).status == -1
    none = scene.search(START, GOAL[None], Settings(iterations=2))
    assert none.status == 0 and none.path.shape == (0, 6) and none.iterations == 2
    # Trees that cannot grow are tried from near what they have, and end as others do.
    tight = planner.scene(world, clear=0.5).search(START, GOAL[None], Settings(iterations=5000))
    assert tight.status == 0 and tight.iterations == 5000 and tight.nodes == 2


# --------------------------------------------------------------------------------------------------------- whole plans
def test_a_plan_is_proved_and_keeps_its_limits(arm: dl.Robot, world: dl.World) -> None:
    plan = arm.plan(START, GOAL, world, acceleration=LIMIT)
    assert len(plan.path) > 2 and plan.proved and plan.goal == 0
    np.testing.assert_array_equal(plan.path[[0, -1]], [START, GOAL])
    assert plan.length == pytest.approx(np.linalg.norm(np.diff(plan.path, axis=0), axis=1).sum())
    motion = plan.trajectory
    t = np.linspace(0, plan.duration, 4000)
    q, qd, qdd = motion.derivatives(t, 2)
    np.testing.assert_allclose(q[[0, -1]], [START, GOAL], atol=1e-9)
    np.testing.assert_allclose(qd[[0, -1]], 0, atol=1e-6)
    assert arm.clearance(q, world).min() > 0 and arm.clearance(dense(plan.path), world).min() > 0
    assert abs(arm.clearance(q, world).min() - plan.clearance) < 2e-3
    assert (np.abs(qd) <= arm.limits.velocity * (1 + 1e-6)).all() and (np.abs(qdd) <= LIMIT * (1 + 1e-5)).all()
    assert (np.abs(arm.inverse_dynamics(q, qd, qdd)) <= arm.limits.effort * (1 + 1e-4)).all()
    again = arm.plan(START, GOAL, world, acceleration=LIMIT)
    assert again.path.tobytes() == plan.path.tobytes() and again.duration == plan.duration
    for word in ("corners", "clearance", "free, proved", "motion"):
        assert word in str(plan)


def test_clearance_that_is_asked_for_is_kept(arm: dl.Robot, world: dl.World) -> None:
    plan = arm.plan(START, GOAL, world, clear=0.012, timed=False)
    assert plan.proved and plan.trajectory is None and plan.duration == np.inf
    assert arm.clearance(dense(plan.path), world).min() > 0.012


def test_a_pose_is_reached_on_any_branch(arm: dl.Robot, world: dl.World) -> None:
    T = arm.fk(GOAL)
    plan = arm.plan(START, {arm.tip: T}, world, timed=False)
    np.testing.assert_allclose(arm.fk(plan.path[-1]), T, atol=1e-6)
    assert plan.proved
    panda = dl.load("panda")  # without a closed form
    q = np.array([0, -0.5, 0, -2, 0, 1.6, 0.8])
    T = panda.fk(q + np.array([1, 0, 0, 0.3, 0, 0, 0]))
    found = panda.plan(q, {panda.tip: T}, dl.World().box("post", (0.1, 0.1, 1), (0.45, 0.25, 0.5)), timed=False)
    np.testing.assert_allclose(panda.fk(found.path[-1]), T, atol=1e-4)


def test_one_of_several_goals_is_reached(arm: dl.Robot, world: dl.World) -> None:
    blocked = np.array([0.0, 0.6, 0.0, 0.0, 0.0, 0.0])  # below the floor
    assert arm.clearance(blocked, world) < 0
    plan = arm.plan(START, [blocked, GOAL], world, timed=False)
    assert plan.goal == 1
    np.testing.assert_array_equal(plan.path[-1], GOAL)


def test_joints_that_are_locked_and_spheres_that_are_carried(arm: dl.Robot, world: dl.World) -> None:
    plan = arm.plan(START, GOAL, world, timed=False, locked=["wrist_3_joint", "wrist_2_joint"])
    np.testing.assert_allclose(plan.path[:, [4, 5]], np.tile(START[[4, 5]], (len(plan.path), 1)), atol=1e-6)
    ball = np.array([0.0, 0.0, 0.12, 0.06])
    carried = arm.plan(START, GOAL, world, timed=False, attached=[ball])
    center = arm.fk(dense(carried.path))[:, :3] @ np.append(ball[:3], 1.0)
    assert center[:, 2].min() - ball[3] > -0.02  # above the floor
    row = world.arrays().boxes[0]
    local = np.abs((center - row[:3]) @ row[3:12].reshape(3, 3)) - row[12:]
    assert np.linalg.norm(np.maximum(local, 0), axis=1).min() > ball[3]


def test_joints_that_cannot_move_the_frame_stay_and_locked_ones_are_locked_before_inverse_kinematics(
    arm: dl.Robot, world: dl.World
) -> None:
    robot = with_fingers(arm)
    start, T = np.append(START, (0.01, 0.03)), arm.fk(GOAL)
    for locked in ((), FINGERS, ("left_finger",)):
        plan = robot.plan(start, {"tool0": T}, world, locked=locked, timed=False)
        np.testing.assert_allclose(robot.fk(plan.path[-1], "tool0"), T, atol=1e-5)
        assert (plan.path[:, 6:] == start[6:]).all()
    near = START.copy()
    near[[0, 1, 3, 4]] += 0.2
    plan = robot.plan(start, {"tool0": arm.fk(near)}, world, locked="elbow_joint", timed=False)
    np.testing.assert_allclose(plan.path[:, 2], START[2], atol=1e-6)
    with pytest.raises(DalembertError, match="locked="):
        robot.plan(start, {"tool0": T}, world, locked=["shoulder_pan_joint"], timed=False)


def test_a_posture_by_name(arm: dl.Robot) -> None:
    to_home = arm.plan(START, "home", timed=False)
    np.testing.assert_array_equal(to_home.path[-1], arm.home)
    np.testing.assert_array_equal(to_home.path, arm.plan(START, arm.home, timed=False).path)


def test_an_empty_world_leaves_the_arm_itself(arm: dl.Robot) -> None:
    assert len(arm.plan(START, GOAL, timed=False).path) == 2
    assert arm.plan(START, GOAL, dl.World(), timed=False).proved


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"world": lambda w, arm: w.sphere("s", 0.1, arm.fk(START)[:3, 3])},
            "the start touches something: wrist_3_link and s",
        ),
        (
            {"world": lambda w, arm: w.sphere("s", 0.1, arm.fk(GOAL)[:3, 3])},
            "the goal touches something: wrist_3_link and s",
        ),
        ({"world": lambda w, arm: w.box("all", (9, 9, 9), (0, 0, 0))}, "the start touches something"),
        ({"world": lambda w, arm: "a table"}, "world takes a World"),
        ({"goal": GOAL + 9}, "beyond its limits"),
        ({"goal": [GOAL + 9, GOAL - 9]}, "none of the 2 goals is within the joint limits"),
        ({"goal": GOAL * np.nan}, "must be a finite number"),
        ({"goal": GOAL[:5]}, "goal"),
        ({"goal": np.zeros((0, 6))}, "has no rows"),
        ({"goal": np.ones((4, 4))}, "Write goal={'tool0': T} for a pose"),
        ({"goal": {"tool0": np.ones((4, 4))}}, "must be a pose"),
        ({"goal": {"tol0": dl.pose()}}, "unknown frame 'tol0'"),
        ({"goal": {"tool0": dl.pose(), "wrist_3_link": dl.pose()}}, "must be the pose of one frame"),
        ({"goal": "hom"}, "unknown posture 'hom'; did you mean 'home'"),
        ({"goal": {"tool0": dl.pose(xyz=(5, 0, 0))}}, "no joint positions within the limits put 'tool0' at the goal"),
        ({"goal": START}, "at the goal already"),
        ({"locked": ["elbow"]}, "unknown joint 'elbow'; did you mean 'elbow_joint'"),
        ({"locked": ["shoulder_pan_joint"]}, "'shoulder_pan_joint' is locked"),
        ({"iterations": 3}, "no path was found in 3 iterations"),
        ({"clear": 0.2}, "the start is not 0.2 m clear"),
        ({"clear": -1.0}, "clear"),
        ({"step": 0.0}, "step"),
        ({"seed": -1}, "seed"),
        ({"attached": [[0, 0, 0, -1.0]]}, "attached spheres"),
        ({"velocity": 1.0}, "leave them out, or timed=False"),
    ],
)
def test_what_cannot_be_is_said_in_words(arm: dl.Robot, world: dl.World, change: dict, words: str) -> None:
    given = {"goal": GOAL, "timed": False, **change}
    goal, make = given.pop("goal"), given.pop("world", lambda w, _: w)
    with pytest.raises(DalembertError, match=re.escape(words)):
        arm.plan(START, goal, make(world, arm), **given)


def test_robots_without_shapes_or_joints_are_refused() -> None:
    bare = dl.Robot.from_dh([{"a": 1.0, "alpha": 0.0, "d": 0.0}] * 2)
    with raises(DalembertError, "missing robot"):
        bare.plan([0, 0], [1, 1])
    with pytest.raises(DalembertError, match="closed|loop"):
        dl.load("four-bar").plan([0], [1])
