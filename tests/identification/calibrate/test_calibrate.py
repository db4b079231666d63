"""Kinematic calibration: planted errors come back, what cannot be told apart is named, parallel axes do no harm."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import dalembert as dl
from dalembert.describe.chain import to_origin, to_pose
from dalembert.errors import InputError, UnknownNameError
from dalembert.identification.calibration.calibrate import GROUPS, calibrate
from dalembert.identification.calibration.corrections import axes_of, correct_origin, corrected_pose, correction
from dalembert.identification.calibration.measurements import Distances, Points, Poses, SamePoint
from dalembert.scalar.jet import Jet
from dalembert.spatial import Pose
from errors import raises
from tolerances import DIFFERENCE, ROUNDING, error
from trees import random_tree

ARMS = ("panda", "ur10e", "puma560", "scara", "stanford", "planar-3r")
BASE = dl.pose(xyz=(1.0, 2.0, 0.5), rpy=(0.3, -0.2, 2.0))
TOOL = dl.pose(xyz=(0.05, 0.02, 0.1), rpy=(0.1, 0.2, 0.3))
# Residuals of 1e-15 m through a Jacobian with a condition number below 100.
EXACT = 1e-9


@cache
def arm(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        return dl.load(name)


def planted(robot, corrections):
    """The robot with corrections {joint: six} of its geometry."""
    bodies = {body.joint_name: body for body in robot.model.bodies}
    joints = tuple(
        replace(j, origin=to_origin(correct_origin(to_pose(j.origin), bodies[j.name], corrections[j.name])))
        if j.name in corrections
        else j
        for j in robot.description.joints
    )
    return dl.Robot(replace(robot.description, joints=joints), told=robot.warnings)


def everywhere(robot, size=2e-3, seed=1):
    rng = np.random.default_rng(seed)
    return planted(robot, {body.joint_name: (size * rng.normal(size=6)).tolist() for body in robot.model.bodies})


def states(robot, count=60, seed=3):
    return np.clip(robot.random_configuration(count, seed=seed), -3, 3)


# ------------------------------------------------------------------------------------------------- derivatives
def skewed():
    """A chain with axes that are no coordinate axes, and a prismatic joint among them."""
    text = """<robot name="skew"><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
    <joint name="j1" type="continuous"><parent link="a"/><child link="b"/><axis xyz="1 2 -1"/></joint>
    <joint name="j2" type="prismatic"><parent link="b"/><child link="c"/><origin xyz=".1 .2 .3" rpy=".3 .2 .1"/>
      <axis xyz="0 1 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
    <joint name="j3" type="continuous"><parent link="c"/><child link="d"/><origin xyz="0 .2 -.3"/><axis xyz="0 0 1"/>
    </joint></robot>"""
    from dalembert.describe.urdf_read import read_urdf

    return dl.Robot(read_urdf(text))


@pytest.mark.parametrize("name", ("panda", "skew"))
def test_the_jacobian_is_the_derivative(name):
    """Against jets: dT/dt along any direction of X is the twist J Ẋ, at corrections that are not small."""
    robot = skewed() if name == "skew" else arm(name)
    model, frame = robot.model, robot.model.frame(robot.frames[-1])
    rng = np.random.default_rng(0)
    rows = len(model.path(frame.body)) + 2
    q, X, Xd = rng.uniform(-1, 1, robot.n), rng.uniform(-0.4, 0.4, (rows, 6)), rng.normal(size=(rows, 6))
    base, tool = (Pose(tuple(map(tuple, T[:3, :3])), tuple(T[:3, 3])) for T in (BASE, TOOL))
    moving = [[Jet(x, v, 0.0) for x, v in zip(a, b, strict=True)] for a, b in zip(X.tolist(), Xd.tolist(), strict=True)]
    T, _ = corrected_pose(model, q.tolist(), frame, moving, base, tool)
    plain, J = corrected_pose(model, q.tolist(), frame, X.tolist(), base, tool)
    twist = np.array(J) @ Xd.reshape(-1)
    p_dot = [x.rate for x in T.p]
    R = np.array(plain.R)
    R_dot = np.array([[x.rate for x in row] for row in T.R])
    W = R_dot @ R.T
    assert error(twist[:3], p_dot) < ROUNDING
    assert error(twist[3:], [W[2, 1], W[0, 2], W[1, 0]]) < ROUNDING


def test_residuals_have_their_derivatives():
    """Every kind of measurement against central differences, far from the solution."""
    robot = arm("panda")
    q = states(robot, 4)
    rng = np.random.default_rng(5)
    far = BASE @ robot.fk(q) @ dl.pose(rpy=rng.uniform(-1, 1, (4, 3)), xyz=rng.uniform(-1, 1, (4, 3)))
    kinds = [
        Poses(q=q, T=far),
        Points(q=q, p=far[:, :3, 3]),
        Distances(q=q, distance=rng.uniform(0.5, 1, 4), anchor=(0.3, 0.2, 3.0), known=False),
        SamePoint(q=q),
    ]
    from dalembert.identification.calibration.calibrate import _Problem

    for kind in kinds:
        problem = _Problem(robot, (kind.checked(robot),), BASE)
        chosen = problem.parameters
        x = problem.start()
        inner = slice(0, problem.unknowns[0].start)
        x[inner] += 0.1 * rng.normal(size=len(x[inner]))
        _, J = problem.evaluate(x, chosen)
        h = 1e-6
        for k, parameter in enumerate(chosen):
            step = h * np.eye(len(x))[parameter.at]
            ahead, _ = problem.evaluate(x + step, chosen)
            behind, _ = problem.evaluate(x - step, chosen)
            assert error(J[:, k], (ahead - behind) / (2 * h), np.abs(J).max()) < DIFFERENCE, chosen[k]


# ------------------------------------------------------------------------------------------------ planted errors
@pytest.mark.parametrize("name", ARMS)
def test_planted_errors_are_found_from_poses(name):
    """All six of every joint are off; the robot found has the truth's forward kinematics everywhere. Parallel axes too
    (ur10e, scara, planar-3r), where two DH parameters would lose their meaning. Four numbers per revolute joint, two
    per prismatic one and six are identifiable (Everett, Driels & Mooring 1987)."""
    robot = arm(name)
    truth = everywhere(robot)
    q = states(robot)
    found = calibrate(robot, Poses(q=q, T=BASE @ truth.fk(q) @ TOOL))
    kinds = [body.joint.kind for body in robot.model.bodies]
    assert len(found.names) == 4 * kinds.count("revolute") + 2 * kinds.count("prismatic") + 6
    assert len(found.names) + len(found.unidentifiable) == 6 * (robot.n + 2)
    fresh = states(robot, seed=8)
    assert error(found.base @ found.robot.fk(fresh) @ found.tool, BASE @ truth.fk(fresh) @ TOOL) < EXACT
    assert found.converged and found.after[0].max() < EXACT and found.held_out_after[0].max() < EXACT
    assert found.before[0].max() > 1e-3 and found.held_out_before[1].max() > 1e-3
    assert found.slope < 1e-5


@pytest.mark.parametrize("name", ("panda", "ur10e"))
def test_planted_errors_are_found_from_points(name):
    """Without orientations the target's own is nowhere: three numbers less."""
    robot = arm(name)
    truth = everywhere(robot)
    q = states(robot)
    found = calibrate(robot, Points(q=q, p=(BASE @ truth.fk(q) @ TOOL)[:, :3, 3]))
    assert len(found.names) == 4 * robot.n + 3
    fresh = states(robot, seed=8)
    predicted = (found.base @ found.robot.fk(fresh) @ found.tool)[:, :3, 3]
    assert error(predicted, (BASE @ truth.fk(fresh) @ TOOL)[:, :3, 3]) < EXACT
    for axis in ("rx", "ry", "rz"):
        assert found.unidentifiable[f"tool:{axis}"] == "has no effect on what was measured"


def test_the_very_numbers_are_found_where_they_are_identifiable():
    """With the mounting known and each joint's zero off, the zeros come back, to 1e-9 rad."""
    robot = arm("panda")
    rng = np.random.default_rng(4)
    offsets = 5e-3 * rng.normal(size=7)
    truth = planted(robot, {b.joint_name: [0, 0, 0, 0, 0, x] for b, x in zip(robot.model.bodies, offsets, strict=True)})
    q = states(robot, 30)
    assert error(truth.fk(q), robot.fk(q + offsets)) < ROUNDING
    found = calibrate(robot, Poses(q=q, T=truth.fk(q)), free=("offsets",))
    assert found.names == tuple(f"{joint}:offset" for joint in robot.joint_names)
    assert np.abs(found.values - offsets).max() < EXACT
    assert not found.unidentifiable and np.array_equal(found.base, np.eye(4))


def test_distances_with_an_anchor_that_is_not_known():
    robot = arm("puma560")
    offsets = 5e-3 * np.random.default_rng(4).normal(size=6)
    truth = planted(robot, {b.joint_name: [0, 0, 0, 0, 0, x] for b, x in zip(robot.model.bodies, offsets, strict=True)})
    q, tool, anchor = states(robot, 120), (0.05, 0.02, 0.1), np.array([0.4, -0.3, -0.8])
    p = truth.fk(q)[:, :3, 3] + np.einsum("nij,j->ni", truth.fk(q)[:, :3, :3], tool)
    d = np.linalg.norm(p - anchor, axis=1)
    found = calibrate(
        robot, Distances(q=q, distance=d, anchor=anchor + 0.05, known=False, tool=tool), free=("offsets",)
    )
    turned = dl.pose(rpy=(0, 0, -offsets[0]))[:3, :3] @ anchor  # the first joint's zero, left alone, goes to the anchor
    assert error(found.targets[0], turned) < 1e-7
    assert found.after[0].max() < EXACT and found.held_out_after[0].max() < EXACT
    assert "target" in found.unidentifiable["joint1:offset"]  # turning all about joint 1 turns the anchor too
    got = found.corrections
    for joint, x in list(zip(robot.joint_names, offsets, strict=True))[1:]:
        assert abs(got[f"{joint}:offset"] - x) < 1e-8


def test_one_point_touched_in_many_ways():
    """A closed chain without instruments: the tip stays on a point that nobody measured."""
    robot = arm("panda")
    offsets = np.r_[0, 4e-3 * np.random.default_rng(6).normal(size=6)]
    truth = planted(robot, {b.joint_name: [0, 0, 0, 0, 0, x] for b, x in zip(robot.model.bodies, offsets, strict=True)})
    tool, place = dl.pose(xyz=(0.03, 0.0, 0.12)), np.array([0.45, 0.1, 0.3])
    rng = np.random.default_rng(1)
    target = dl.pose(xyz=np.broadcast_to(place, (80, 3)), rpy=rng.uniform(-0.7, 0.7, (80, 3)) + np.array([np.pi, 0, 0]))
    solved = truth.ik(target @ dl.se3.inverse(tool), tolerance=1e-12)
    q = solved.q[solved.converged]
    assert len(q) > 40
    found = calibrate(robot, SamePoint(q=q, tool=tool), free=("offsets",))
    assert found.before[0].max() > 1e-3 and found.after[0].max() < 1e-9
    assert "panda_joint1:offset" in found.unidentifiable
    got = found.corrections
    for joint, x in list(zip(robot.joint_names, offsets, strict=True))[1:]:
        assert abs(got[f"{joint}:offset"] - x) < 1e-7
    assert error(found.targets[0], place) < 1e-7


def test_two_measurements_at_once():
    robot = arm("panda")
    truth = everywhere(robot)
    a, b = states(robot, 30, 1), states(robot, 40, 2)
    other = dl.pose(xyz=(0.0, 0.1, 0.0))
    found = calibrate(
        robot,
        [Points(q=a, p=(BASE @ truth.fk(a) @ TOOL)[:, :3, 3]), Points(q=b, p=(BASE @ truth.fk(b) @ other)[:, :3, 3])],
    )
    assert found.after[0].max() < EXACT
    assert any(name.startswith("tool2:") for name in found.names)
    fresh = states(robot, seed=8)
    seen = (found.base @ found.robot.fk(fresh) @ found.tools[1])[:, :3, 3]
    assert error(seen, (BASE @ truth.fk(fresh) @ other)[:, :3, 3]) < EXACT


# ------------------------------------------------------------------------------------------------------- noise
def test_noise_stays_within_the_stated_deviations():
    """Repeated: the share of corrections within one, two and three standard deviations is as it should be, and
    the residual is what the instrument's sigma promises."""
    robot = arm("ur10e")
    truth = everywhere(robot)
    q = states(robot, 50)
    T = BASE @ truth.fk(q) @ TOOL
    exact = calibrate(robot, Poses(q=q, T=T), held_out=0.0)
    sigma, angle = 1e-4, 2e-4
    rng = np.random.default_rng(0)
    z, ratios = [], []
    for _ in range(25):
        noisy = T @ dl.pose(rpy=angle * rng.normal(size=(50, 3)))
        noisy[:, :3, 3] += sigma * rng.normal(size=(50, 3))
        found = calibrate(robot, Poses(q=q, T=noisy, sigma=sigma, angle_sigma=angle), held_out=0.0)
        assert found.names == exact.names and found.converged
        # The base's first guess comes from the same noisy data, so that its corrections start elsewhere each time.
        keep = [k for k, name in enumerate(found.names) if not name.startswith("base")]
        z.append(((found.values - exact.values) / found.sigma)[keep])
        ratios.append(found.noise_ratio)
    z = np.abs(np.array(z))
    assert abs(np.mean(z < 1) - 0.683) < 0.06  # correlated columns: fewer than 25 × 24 independent draws
    assert abs(np.mean(z < 2) - 0.954) < 0.03
    assert np.mean(z < 3) > 0.985
    assert abs(np.mean(ratios) - 1) < 0.02


def test_held_out_states_are_better_after_than_before():
    robot = arm("panda")
    truth = everywhere(robot, 1e-3)
    q = states(robot, 100)
    p = (BASE @ truth.fk(q) @ TOOL)[:, :3, 3] + 1e-4 * np.random.default_rng(0).normal(size=(100, 3))
    found = calibrate(robot, Points(q=q, p=p))
    assert len(found.held_out_after[0]) == 20
    before, after = (np.sqrt(np.mean(e[0] ** 2)) for e in (found.held_out_before, found.held_out_after))
    assert after < 3e-4 < 2e-3 < before
    assert "held out (20 states)" in found.summary() and "mm rms" in found.summary()


# ------------------------------------------------------------------------------------------- what cannot be told
def test_a_joint_that_never_moved_is_named():
    """Its zero is the next frame's; and with two states apart by 1e-4 rad, nearly so."""
    robot = arm("panda")
    truth = everywhere(robot)
    q = states(robot, 60)
    q[:, 3] = -1.0
    T = BASE @ truth.fk(q) @ TOOL
    found = calibrate(robot, Poses(q=q, T=T))
    assert len(found.names) == 4 * 6 + 6
    assert found.after[0].max() < EXACT
    q[:, 3] += 1e-4 * np.random.default_rng(0).normal(size=60)
    nearly = calibrate(robot, Poses(q=q, T=BASE @ truth.fk(q) @ TOOL))
    assert len(nearly.names) == 4 * 6 + 6
    assert any("can hardly be told from" in why for why in nearly.unidentifiable.values())
    told = calibrate(robot, Poses(q=q, T=BASE @ truth.fk(q) @ TOOL), weak=1e-7)
    assert len(told.names) == 4 * 7 + 6  # asked to, it takes what is there


def test_left_out_corrections_stay_at_zero():
    robot = arm("panda")
    q = states(robot)
    truth = everywhere(robot)
    free = ("origins", "panda_joint3:offset")
    found = calibrate(robot, Poses(q=q, T=truth.fk(q)), free=free, fixed=["panda_joint2:x"])
    assert "panda_joint2:x" not in found.names and not any(n.startswith(("base", "tool")) for n in found.names)
    assert "panda_joint1:offset" not in found.unidentifiable  # not asked for
    table = found.table()
    assert "mrad" in table and "cannot be told from" in table


# ---------------------------------------------------------------------------------------------------- written back
def test_the_corrected_robot_is_written_as_urdf(tmp_path):
    robot = arm("ur10e")
    truth = everywhere(robot)
    q = states(robot)
    found = calibrate(robot, Poses(q=q, T=truth.fk(q)), free=("offsets", "origins"))
    found.robot.to_urdf(tmp_path / "arm.urdf")
    back = dl.load(tmp_path / "arm.urdf", tip=robot.tip)
    assert error(back.fk(q), found.robot.fk(q)) < ROUNDING
    assert np.allclose(back.parameters(), robot.parameters())  # masses as they were, in their links' frames
    assert back.joint_names == robot.joint_names
    table = found.robot.to_dh()
    assert error(dl.Robot(table.description()).fk(q), found.robot.fk(q)) < 1e-9


def test_random_mechanisms():
    """Any tree, any axes: exact data are fitted exactly."""
    for seed in range(5):
        robot = dl.Robot(random_tree(seed, 5, mimic=True, chain=seed % 2 == 0))
        frame = max(robot.model.frames, key=lambda f: len(robot.model.path(f.body))).name
        assert robot.model.frame(frame).body >= 0
        truth = everywhere(robot, 1e-3, seed)
        q = np.random.default_rng(seed).uniform(-1.5, 1.5, (60, robot.n))
        found = calibrate(robot, Poses(q=q, T=BASE @ truth.fk(q, frame) @ TOOL, frame=frame))
        assert found.converged and found.after[0].max() < 1e-8 and found.after[1].max() < 1e-8


def test_axes_and_corrections():
    robot = skewed()
    R, names, own = axes_of(robot.model.bodies[0])
    assert names == ("u", "v", "w") and own == 2
    assert error(np.array(R)[:, 2], robot.model.bodies[0].joint.axis) < ROUNDING
    assert error(np.array(R) @ np.array(R).T, np.eye(3)) < ROUNDING
    assert axes_of(robot.model.bodies[2])[1:] == (("x", "y", "z"), 2)
    assert error(correction([1, 2, 3, 0, 0, 0.5]).matrix(), dl.pose(xyz=(1, 2, 3), rpy=(0, 0, 0.5))) < ROUNDING


# ------------------------------------------------------------------------------------------------------ bad input
Q = np.zeros((3, 7))
I3 = np.broadcast_to(np.eye(4), (3, 4, 4))


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (lambda: [], {}, "wrong-type measurements"),
        (lambda: Poses(q=Q[:, :6], T=I3), {}, "wrong-shape q"),
        (lambda: Poses(q=Q, T=I3[:2]), {}, "wrong-shape T"),
        (lambda: Poses(q=Q, T=I3, sigma=0.0), {}, "out-of-range sigma"),
        (lambda: Points(q=Q, p=np.full((3, 3), np.nan)), {}, "not-finite p"),
        (lambda: Points(q=Q, p=np.zeros((3, 2))), {}, "wrong-shape p"),
        (lambda: Distances(q=Q, distance=[1, 2, -1]), {}, "out-of-range distance"),
        (lambda: Distances(q=Q, distance=[1, 2, 3], anchor=(0, 0)), {}, "wrong-shape anchor"),
        (lambda: Points(q=Q, p=np.zeros((3, 3)), frame="panda_link0"), {}, "wrong-structure frame"),
        (lambda: Points(q=Q, p=np.zeros((3, 3))), {"held_out": 1.0}, "out-of-range held_out"),
        (lambda: Points(q=Q, p=np.zeros((3, 3))), {"weak": 0.0}, "out-of-range weak"),
        (lambda: Points(q=Q, p=np.zeros((3, 3))), {"base": np.eye(3)}, "wrong-shape base"),
    ],
)
def test_bad_input_gets_a_sentence(make, options, words):
    with raises(InputError, words):
        calibrate(arm("panda"), make(), **options)


def test_a_matrix_that_is_no_pose_is_refused():
    with pytest.raises(InputError):
        calibrate(arm("panda"), Poses(q=Q, T=2 * I3))


def test_too_few_states_and_unknown_names():
    robot = arm("panda")
    q = states(robot, 5)
    truth = everywhere(robot)
    found = calibrate(robot, Poses(q=q, T=truth.fk(q)), held_out=0.0, weak=1e-6)
    assert len(found.names) <= 30  # as many as rows; the rest are named
    with raises(UnknownNameError, "unknown-name"):
        calibrate(robot, Poses(q=q, T=truth.fk(q)), free=("offset",))
    with raises(UnknownNameError, "unknown-name"):
        calibrate(robot, Poses(q=q, T=truth.fk(q)), fixed=("panda_joint9:x",))
    assert GROUPS == ("base", "tool", "offsets", "origins")
