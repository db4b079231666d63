"""Floors and half spaces, drives and elastic joints, the way to the motion: what an arm needs before it is played."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from test_excite import LIMITS, arm

import dalembert as dl
from dalembert.actuation import FlexibleRobot
from dalembert.errors import InputError, UnknownNameError
from dalembert.identification import HalfSpace, box, excite
from dalembert.identification.excitation.avoid import find_way, read_start
from dalembert.identification.excitation.limits import Bandwidth, content_above, find_origins, read_limits, up
from dalembert.trajectories import minimum_jerk, random_fourier
from errors import raises

QUICK = {"harmonics": 3, "starts": 1, "seconds": 1e6}
# UR5e, upright above its base, the wrist bent.
UPRIGHT = (0.0, -1.57, 0.0, -1.57, 0.0, 0.0)


def heights(robot, frame, q):
    return robot.fk(q, frame)[..., :3, 3] @ up(robot.model)


@cache
def on_the_floor():
    """A UR5e that stands on the floor, beside a wall, and begins upright."""
    return excite(arm("ur5e"), floor=0.05, workspace=[HalfSpace("tool0", (0, 1, 0), -0.6)], start=UPRIGHT, **QUICK)


# ------------------------------------------------------------------------------------------------------ half spaces
def test_without_a_floor_the_depth_is_told():
    """The motion that was delivered with "all limits hold" alone put the tool 0.22 m below the base."""
    e = excite(arm("ur5e"), avoid=False, **QUICK)
    c = e.certificate
    q = e.motion(np.random.default_rng(0).uniform(0, e.period, 4000))[0]
    for frame, lowest in zip(c.frames, c.lowest, strict=True):
        true = heights(e.robot, frame, q).min()
        assert true - 2e-3 < lowest <= true  # a bound, and near
    assert set(c.below) == {f for f, z in zip(c.frames, c.lowest, strict=True) if z < -1e-3} and c.below
    told = " ".join(e.sentences())
    first, depth = next(iter(c.below.items()))
    assert f"WARNING: {first} comes {depth:.3g} m below the base plane" in told and "floor=0" in told
    assert "not checked: collisions" in told and "bring the arm there first" in told


def test_a_floor_and_a_wall_hold_between_the_points():
    e = on_the_floor()
    c = e.certificate
    q = e.motion(np.random.default_rng(1).uniform(0, e.period, 20_000))[0]
    assert c.feasible and not c.below and "WARNING" not in " ".join(e.sentences())
    for frame in ("forearm_link", "wrist_1_link", "wrist_2_link", "wrist_3_link", "tool0"):
        assert heights(e.robot, frame, q).min() >= 0.05
    assert e.robot.fk(q, "tool0")[:, 1, 3].min() >= -0.6
    links = e.robot.clearance(q, dl.World().floor(0.05)).min() - 0.01  # beyond what they keep from the floor
    assert (c.clearance >= 0).all() and links >= 0 and min(c.clearance.min(), links) < 0.02  # kept, and used
    assert e.condition < 0.5 * e.random_condition
    assert "tool0" in c.text(e.robot.joint_names) and "clearance" in c.text(e.robot.joint_names)


@pytest.mark.parametrize("name", ("panda", "stanford", "scara", "ur10e", "puma560"))
def test_accelerations_of_origins_stay_below_their_bound(name):
    """And so do heights between samples: those of a coarse grid, less the drop, are never more than the truth."""
    robot = arm(name)
    origins = find_origins(robot.model)
    motion = random_fourier(robot, 4, 0.2, share=0.8)
    fine = np.linspace(0, 5, 20_001)
    q, qd, qdd = motion(fine)
    top = motion.limits()
    bound = origins.acceleration(np.maximum(np.abs(top.lower), np.abs(top.upper)), np.abs(qd), np.abs(qdd))
    p = np.array([np.array(np.broadcast_arrays(*x)) for x in origins.at(list(q.T))])  # (F, 3, N)
    true = np.linalg.norm(np.gradient(np.gradient(p, fine, axis=-1), fine, axis=-1), axis=1)[:, 5:-5].T
    assert (true <= bound[5:-5] + 1e-3).all() and (true.max(axis=0) > 0.02 * bound.max(axis=0)).all()
    coarse = slice(0, None, 200)
    drop = origins.drop(5 / 100, (q[coarse], qd[coarse], qdd[coarse]), (top.acceleration, top.jerk))
    for normal in (up(robot.model), (1.0, 0.0, 0.0), (0.0, -0.6, 0.8)):
        h = np.einsum("fcn,c->nf", p, normal)
        assert (h.min(axis=0) >= (h[coarse] - drop).min(axis=0)).all()


def test_origins_are_those_that_move_each_once():
    origins = find_origins(arm("panda").model)
    assert origins.place["panda_link5"] == origins.place["panda_link6"]  # the axes meet
    assert "panda_link1" not in origins.place and "panda_link2" not in origins.place  # they only turn
    limits = read_limits(arm("panda"), None, None, None, None, None, [HalfSpace(None, (0, 0, 2), 0.2)])
    assert [s.frame for s in limits.spaces] == [f.name for f in origins.frames]
    assert {s.offset for s in limits.spaces} == {0.1} and {s.normal for s in limits.spaces} == {(0.0, 0.0, 1.0)}
    named = read_limits(arm("panda"), None, None, None, None, None, (), {"panda_link6": 0.3, "panda_link8": 0.1})
    assert [(s.frame, s.offset) for s in named.spaces] == [("panda_link6", 0.3), ("panda_link8", 0.1)]
    assert len(box(None, (-1, -1, 0), (1, 1, np.inf))) == 5
    assert "every frame" in str(HalfSpace(None, (0, 0, 1), 0.0))


def test_a_floor_is_level_whatever_way_the_arm_is_mounted():
    for gravity, level in (((0, 0, 9.81), (0, 0, -1)), ((9.81, 0, 0), (-1, 0, 0)), ((0, 0, 0), (0, 0, 1))):
        robot = arm("elbow-3r").with_gravity(gravity)
        assert np.allclose(up(robot.model), level)
    hung = arm("elbow-3r").with_gravity((0, 0, 9.81))
    e = excite(hung, **LIMITS, **QUICK, floor={"tool": -0.8})
    assert hung.fk(e.motion(np.linspace(0, 10, 3001))[0])[:, 2, 3].max() <= 0.8 and e.certificate.feasible


def test_frames_that_move_level_are_on_one_side_or_the_other():
    level = arm("planar-2r").with_gravity((0, 0, -9.81))
    e = excite(level, **LIMITS, harmonics=2, starts=1, seconds=1e6, floor=0.0)
    assert e.certificate.feasible and not e.certificate.below and not e.certificate.spaces
    with raises(InputError, "infeasible workspace"):
        excite(level, **LIMITS, floor=0.1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"floor": {"base": 0.0}}, "infeasible workspace"),
        ({"floor": {"link1": 0.0}}, "infeasible workspace"),
        ({"floor": "low"}, "wrong-type floor"),
        ({"floor": 50.0}, "infeasible torque"),
        ({"bandwidth": 0.0}, "out-of-range bandwidth"),
        ({"stiffness": (1.0, 2.0)}, "wrong-shape stiffness"),
        ({"bandwidth": 0.45, "harmonics": 5}, "conflict harmonics"),
        ({"bandwidth": 0.1}, "conflict frequency"),
        ({"stiffness": 3.0}, "conflict frequency"),
        ({"start": (0.0, 0.0)}, "wrong-shape start"),
        ({"start": (0.0, 3.0, 0.0)}, "out-of-range start"),
        ({"start": (0.0, -1.5, 0.0), "floor": 0.0}, "infeasible start"),
        ({"start": (0.0, 0.0, 0.0), "at_rest": False}, "conflict start"),
    ],
)
def test_bad_input_gets_a_sentence(options, words):
    with raises(InputError, words):
        excite(arm("elbow-3r"), **{**LIMITS, "starts": 1, "seconds": 1e6, **options})


def test_unknown_frames():
    with raises(UnknownNameError, "unknown-name"):
        excite(arm("elbow-3r"), **LIMITS, floor={"tol": 0.0})


# -------------------------------------------------------------------------------------------- drives, elastic joints
def test_elastic_modes_are_those_of_the_flexible_robot():
    robot, K = arm("planar-2r").with_gravity((0, 0, 0)), np.array([500.0, 300.0])
    q = np.array([[0.3, -0.7], [0.0, 0.0], [1.0, 2.0]])
    flexible = FlexibleRobot(robot, K, rotor_inertia=1.0, gear_ratio=1.0)
    true = [flexible.modes(x).locked[0] / (2 * np.pi) for x in q]
    assert np.allclose(Bandwidth(stiffness=K).modes(robot, q), true, rtol=1e-9)
    geared = dl.load("panda")
    with_rotors = Bandwidth(stiffness=np.full(7, 1e4)).modes(geared, geared.home[None])
    assert np.isfinite(with_rotors).all() and (Bandwidth().modes(geared, geared.home[None]) == np.inf).all()


def test_there_are_as_many_harmonics_as_the_drives_and_the_joints_allow():
    options = {**LIMITS, "starts": 1, "seconds": 1e6}
    by_drives = excite(arm("planar-2r"), bandwidth=0.35, **options)
    assert by_drives.certificate.top == pytest.approx(0.3) and by_drives.certificate.feasible
    assert np.isinf(by_drives.certificate.mode) and 0 < by_drives.certificate.content.max() < 1
    robot = arm("planar-2r")
    slowest = Bandwidth(stiffness=np.ones(2)).modes(robot, np.zeros((1, 2)))[0]  # stretched out
    K = (0.9 / slowest) ** 2  # 0.9 Hz: half of it allows four of 0.1 Hz
    elastic = excite(robot, stiffness=K, **options)
    assert elastic.certificate.top == pytest.approx(0.4) and elastic.certificate.mode >= 0.9 * (1 - 1e-9)
    assert "lowest elastic mode" in " ".join(elastic.sentences())
    assert "faster than the drives" not in " ".join(excite(arm("planar-2r"), **options).sentences())


def test_content_above_a_frequency():
    t = np.arange(200) / 20  # 10 s
    x = np.stack([3 + np.sin(2 * np.pi * t), np.sin(2 * np.pi * t) + np.sin(2 * np.pi * 3 * t)], axis=1)
    assert np.allclose(content_above(x, 10.0, 1.0), [0.0, np.sqrt(0.5)], atol=1e-12)
    assert np.allclose(content_above(x, 10.0, np.inf), 0.0)
    assert np.allclose(content_above(x, 10.0, 0.5), 1.0)


# ----------------------------------------------------------------------------------------------------------- the way
def test_the_table_begins_and_ends_at_rest_at_the_start():
    e = on_the_floor()
    assert e.way is not None and e.at_rest
    rows = e.table(125)
    assert np.allclose(np.diff(rows["t"]), 1 / 125) and rows["t"][-1] > e.duration + 2 * e.way.duration - 1e-9
    for end in (0, -1):
        assert np.allclose(rows["q"][end], UPRIGHT, atol=1e-12)
        assert np.abs(rows["qd"][end]).max() < 1e-9 and np.abs(rows["qdd"][end]).max() < 1e-9
    size = e.certificate.peaks["acceleration"]
    assert (np.abs(np.diff(rows["qd"], axis=0)) <= size / 125 * 1.001).all()  # no jump of the rates
    assert np.abs(np.gradient(rows["q"], rows["t"], axis=0) - rows["qd"])[1:-1].max() < 0.01
    lowest = min(heights(e.robot, frame, rows["q"]).min() for frame in e.certificate.frames)
    assert lowest >= 0.05 and e.robot.fk(rows["q"], "tool0")[:, 1, 3].min() >= -0.6
    assert "the way from the start" in " ".join(e.sentences())


def test_a_way_goes_round_where_straight_it_would_go_through():
    """Over another position, if there is one; a sentence, if there is none."""
    robot = arm("planar-2r")
    peaks = {"velocity": np.full(2, 2.0), "acceleration": np.full(2, 5.0)}
    wall = HalfSpace("tool", (-1, 0, 0), -1.8)
    limits = read_limits(robot, None, (-3.1, 3.1), 3.0, 10.0, 500.0, [wall])
    a, b = np.array([1.2, 0.0]), np.array([-1.2, 0.0])  # stretched out: straight, the tool goes to x = 2
    way = find_way(robot, limits, a, b, peaks, np.random.default_rng(0))
    q, qd, _ = way(np.linspace(0, way.duration, 2000))
    assert np.allclose(q[0], a) and np.allclose(q[-1], b) and np.abs(qd).max() <= 1.0 + 1e-9
    assert robot.fk(q)[:, 0, 3].max() <= 1.8
    assert find_way(robot, limits, a, a, peaks, np.random.default_rng(0)) is None
    assert np.array_equal(read_start(robot, limits, a), a)
    tight = read_limits(robot, None, (-3.1, 3.1), 3.0, 10.0, 500.0, [HalfSpace("tool", (1, 0, 0), 1.9)])
    with raises(InputError, "infeasible start"):
        find_way(robot, tight, np.zeros(2), np.array([3.0, 0.0]), peaks, np.random.default_rng(0))


def test_a_way_below_the_base_is_told():
    """Also where the motion itself stays above it."""
    e = on_the_floor()
    way = minimum_jerk((0.0, 0.5, 0.0, 0.0, 0.0, 0.0), e.begin, 4.0)  # from below the table
    deep = -min(heights(e.robot, f, way(np.linspace(0, 4, 2001))[0]).min() for f in e.certificate.frames)
    told = " ".join(replace(e, way=way).sentences())
    assert (
        deep > 0.3 and f"WARNING: on the way a frame comes {deep:.3g} m below the base plane: ask for floor=0" in told
    )


def test_limits_of_zero_are_nobodys():
    """A description has zeros where its author knew nothing."""
    robot = arm("elbow-3r")
    own = replace(robot.limits, effort=np.array([10.0, 0.0, 10.0]))
    with raises(InputError, "conflict torque"):
        excite(robot, limits=own, velocity=1.0)
    assert np.isfinite(read_limits(robot, own, (-1, 1), 1.0, None, 50.0).upper["torque"]).all()


def test_a_motion_that_begins_at_speed_says_so():
    e = excite(arm("planar-2r"), **LIMITS, harmonics=2, starts=1, seconds=1e6, at_rest=False)
    assert not e.at_rest and "WARNING: it begins at speed" in next(e.sentences())


# ----------------------------------------------------------------------------------------------- obstacles and itself
def test_by_default_the_floor_and_the_arm_itself_are_avoided():
    """The motion that put the tool 0.22 m below the base is mended: coal finds its shapes above it, and apart."""
    e = excite(arm("ur5e"), **QUICK)
    told = " ".join(e.sentences())
    assert "clear at all times, proved: links and floor keep 10 mm" in told and "below the base plane" not in told
    q = e.motion(np.random.default_rng(2).uniform(0, e.period, 3000))[0]
    assert e.robot.clearance(q, dl.World().floor(0.0)).min() >= 0.01 and not e.certificate.below
    deep = excite(arm("ur5e"), avoid=False, **QUICK)
    q = deep.motion(np.linspace(0, deep.period, 500))[0]
    assert e.robot.clearance(q, dl.World().floor(0.0)).min() < -0.05


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"avoid": False, "clear": 0.1}, "no-effect clear"),
        ({"avoid": 3}, "wrong-type avoid"),
        ({"clear": -1.0}, "out-of-range clear"),
        ({"avoid": dl.World().floor(2.0)}, "infeasible torque"),
        ({"start": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)}, "infeasible start"),
    ],
)
def test_what_cannot_be_avoided_is_said(options, words):
    with raises(InputError, words):
        excite(arm("ur5e"), **QUICK, **options)
