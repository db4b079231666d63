"""What users pass: anything NumPy takes works, anything else gets a sentence."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import dalembert as dl
from dalembert.describe.description import Description, Link
from errors import raises
from tolerances import ROUNDING, error


@pytest.fixture(scope="module")
def arm() -> dl.Robot:
    return dl.load("panda")


@pytest.fixture
def states(arm):
    return np.random.default_rng(0).uniform(-1, 1, (3, 11, arm.n))


def test_lists_tuples_and_integers(arm):
    q = [0, 1, -1, 0, 1, 0, 1]
    wanted = arm.fk(np.array(q, float))
    for same in (q, tuple(q), np.array(q), np.array(q, np.int8), np.array(q, np.float16).astype(int)):
        assert np.array_equal(arm.fk(same), wanted)


def test_batches_broadcast(arm, states):
    q, qd, qdd = states
    tau = arm.inverse_dynamics(q, qd, qdd)
    assert tau.shape == (11, 7)
    assert np.array_equal(arm.inverse_dynamics(q[:, None], qd, qdd).shape, (11, 11, 7))
    assert np.array_equal(arm.inverse_dynamics(q, qd[0], qdd[0])[3], arm.inverse_dynamics(q[3], qd[0], qdd[0]))


def test_a_state_gives_the_same_bits_wherever_it_stands(arm, states):
    q, qd, qdd = states
    batch = arm.inverse_dynamics(q, qd, qdd)
    for size in range(1, 12):
        part = arm.inverse_dynamics(q[:size], qd[:size], qdd[:size])
        assert np.array_equal(part, batch[:size])
    for k in range(11):
        assert np.array_equal(arm.inverse_dynamics(q[k], qd[k], qdd[k]), batch[k])


def test_layouts(arm, states):
    """Fortran order, strides, negative strides, read-only, a broadcast view: the same numbers."""
    q = states[0]
    wanted = arm.mass_matrix(q)
    wide = np.zeros((11, 14))
    wide[:, ::2] = q
    backwards = q[::-1, ::-1].copy()
    frozen = q.copy()
    frozen.flags.writeable = False
    for same in (np.asfortranarray(q), wide[:, ::2], backwards[::-1, ::-1], frozen):
        assert np.array_equal(arm.mass_matrix(same), wanted)
    repeated = np.broadcast_to(q[0], (11, 7))
    assert np.array_equal(arm.mass_matrix(repeated), np.repeat(wanted[:1], 11, axis=0))
    unaligned = np.frombuffer(b"\0" + q.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(q.shape)
    assert np.array_equal(arm.mass_matrix(unaligned), wanted)


def test_out_of_any_layout(arm, states):
    q, _, _ = states
    wanted = arm.mass_matrix(q)
    for out in (
        np.empty((11, 7, 7)),
        np.empty((7, 7, 11)).transpose(2, 1, 0),
        np.empty((22, 7, 7))[::2],
        np.empty((11, 14, 14))[:, ::2, ::2],
    ):
        out[...] = np.nan
        result = arm.mass_matrix(q, out=out)
        assert result is out
        assert np.array_equal(out, wanted)


def test_memory_around_out_is_not_touched(arm, states):
    q, _, _ = states
    for size in range(12):
        frame = np.full((size + 2, 7, 7), 7.0)
        arm.mass_matrix(q[:size], out=frame[1:-1])
        assert (frame[[0, -1]] == 7.0).all()


def test_in_place(arm, states):
    q, qd, qdd = states
    wanted = arm.inverse_dynamics(q, qd, qdd)
    for k in range(3):
        arrays = [x.copy() for x in states]
        arm.inverse_dynamics(*arrays, out=arrays[k])
        assert np.array_equal(arrays[k], wanted)
    shifted = np.vstack([q, q[:1]])
    arm.inverse_dynamics(shifted[:-1], qd, qdd, out=shifted[1:])
    assert np.array_equal(shifted[1:], wanted)


def test_empty_batches(arm):
    nothing = np.empty((0, 7))
    assert arm.inverse_dynamics(nothing, nothing, nothing).shape == (0, 7)
    assert arm.fk(np.empty((3, 0, 7))).shape == (3, 0, 4, 4)
    assert arm.kinetic_energy(nothing, nothing).shape == (0,)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_what_is_not_finite_stays_in_its_state(arm, states, bad):
    q, qd, qdd = (x.copy() for x in states)
    wanted = arm.inverse_dynamics(q, qd, qdd)
    q[5, 2] = bad
    with np.errstate(all="raise"):  # idle lanes and NaN raise no floating-point alarm either
        tau = arm.inverse_dynamics(q, qd, qdd)
    others = np.arange(11) != 5
    assert np.array_equal(tau[others], wanted[others])
    assert np.isnan(tau[5, :3]).all()  # what depends on that joint
    assert np.isnan(arm.fk(q)[5]).any()
    assert np.isfinite(arm.fk(q)[others]).all()


def test_zero_joints():
    from dalembert.describe.description import Description, Joint, Link, Origin

    rock = dl.Robot(
        Description("rock", (Link("a"), Link("b")), (Joint("j", "fixed", "a", "b", Origin((1.0, 2.0, 3.0))),))
    )
    assert rock.n == 0
    assert np.array_equal(rock.fk([])[:3, 3], [1, 2, 3])
    assert rock.jacobian([]).shape == (6, 0)
    assert rock.mass_matrix(np.empty((4, 0))).shape == (4, 0, 0)
    assert rock.forward_dynamics([], [], []).shape == (0,)
    with pytest.raises(dl.InputError, match=r"q has shape \(1,\); its last dimension must be 0"):
        rock.fk([0.0])


@pytest.mark.parametrize(
    ("call", "words"),
    {
        "wrong length": (lambda a, q: a.fk(q[:6]), r"q has shape \(6,\); its last dimension must be 7 .*panda_joint7"),
        "a scalar": (lambda a, q: a.fk(0.5), r"q has shape \(\); its last dimension must be 7"),
        "text": (lambda a, q: a.fk("home"), "q must be real numbers, got text"),
        "None": (lambda a, q: a.fk(None), "q is None"),
        "ragged": (lambda a, q: a.fk([[1, 2], [3]]), "q is not a rectangular array of numbers"),
        "complex": (lambda a, q: a.fk(q * 1j), "got complex numbers; the imaginary part"),
        "objects": (lambda a, q: a.fk([object()] * 7), "q must be real numbers, got Python objects"),
        "long double": (lambda a, q: a.fk(q.astype(np.longdouble)), r"convert it with .astype\(float\)"),
        "batches": (
            lambda a, q: a.inverse_dynamics(np.zeros((2, 7)), np.zeros((3, 7)), q),
            r"the leading dimensions do not broadcast: q \(2,\), qd \(3,\), qdd \(\)",
        ),
        "the third argument": (lambda a, q: a.inverse_dynamics(q, q, q[:2]), r"qdd has shape \(2,\)"),
        "wrench": (
            lambda a, q: a.inverse_dynamics(q, q, q, wrenches={"panda_link8": [1, 2, 3]}),
            r"wrenches\['panda_link8'\] has shape \(3,\); .* 6, \(force, moment\)",
        ),
        "out shape": (lambda a, q: a.mass_matrix(q, out=np.empty((7, 6))), r"out has shape \(7, 6\); the result has"),
        "out type": (lambda a, q: a.mass_matrix(q, out=np.empty((7, 7), np.int64)), "out must have dtype float64"),
        "out list": (lambda a, q: a.mass_matrix(q, out=[0.0]), "out must be a NumPy array, got list"),
        "read-only out": (lambda a, q: a.fk(q, out=np.broadcast_to(0.0, (4, 4))), "out is read-only"),
        "frame as a list": (lambda a, q: a.fk(q, ["panda_link8"]), "frame must be a name, got list"),
        "base velocity": (
            lambda a, q: a.inverse_dynamics(q, q, q, base_velocity=[0]),
            r"base_velocity has shape \(1,\); its last dimension must be 6, \(v, ω\)",
        ),
    }.values(),
)
def test_a_wrong_argument_gets_a_sentence(arm, call, words):
    q = np.zeros(7)
    for _ in range(2):  # before the kernel is compiled, and after
        with pytest.raises(dl.InputError, match=words):
            call(arm, q)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda a, q: a.fk(q, "panda_link9"), "unknown frame 'panda_link9'; did you mean 'panda_link"),
        (lambda a, q: a.jacobian(q, expressed_in="body"), "unknown expressed_in 'body'; choose from 'world', 'local'"),
        (lambda a, q: a.coriolis_matrix(q, q, "kristoffel"), "unknown choice 'kristoffel'; did you mean 'christoffel'"),
        (lambda a, q: a.analytic_jacobian(q, angles="zzy"), "unknown angles 'zzy'"),
        (lambda a, q: a.forward_dynamics(q, q, q, method="abba"), "unknown method 'abba'"),
        (lambda a, q: a.momentum(q, q, about="tip"), "unknown about 'tip'"),
        (lambda a, q: a.kernel("inverse_dynamic"), "unknown kernel 'inverse_dynamic'; did you mean 'inverse_dynamics'"),
        (lambda a, q: a.kernel("fk", fram="x"), "unknown option of fk 'fram'; did you mean 'frame'"),
        (lambda a, q: a.kernel("fk", ["qdd"]), "unknown optional argument of fk 'qdd'"),
        (lambda a, q: dl.load("pandas"), "unknown robot 'pandas'; did you mean 'panda'"),
        (lambda a, q: dl.load("panda", tip="hand"), "unknown frame 'hand'"),
        (lambda a, q: a.with_tip("link8"), "unknown frame 'link8'"),
        (lambda a, q: a.equations().entry("Q"), "'det', 'Y', 'Mdot', 'qd', 'centripetal', 'coriolis'"),
        (lambda a, q: a.without_payload(), "unknown payload 'payload'; there is no payload to choose from"),
    ],
)
def test_a_wrong_name_gets_the_right_ones(arm, call, words):
    with pytest.raises(dl.UnknownNameError) as refusal:
        call(arm, np.zeros(7))
    assert words in str(refusal.value)


def test_files_that_are_not_there(tmp_path):
    with raises(dl.DescriptionError, "not-readable path"):
        dl.load(tmp_path / "arm.urdf")
    with raises(dl.DescriptionError, "unsupported path"):
        dl.load(tmp_path / "arm.obj")
    with raises(dl.InputError, "wrong-type source"):
        dl.load(5)
    folder = tmp_path / "folder.urdf"
    folder.mkdir()
    with pytest.raises(dl.DescriptionError, match="cannot be read"):
        dl.load(folder)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(dl.DescriptionError, match="not UTF-8"):
        dl.load(binary)


def test_a_robot_with_several_tips_asks_which(tmp_path):
    file = tmp_path / "fork.urdf"
    file.write_text(
        """<robot name="fork"><link name="base"/><link name="left"/><link name="right"/>
        <joint name="a" type="continuous"><parent link="base"/><child link="left"/></joint>
        <joint name="b" type="continuous"><parent link="base"/><child link="right"/></joint></robot>"""
    )
    with pytest.warns(dl.ModelWarning):
        fork = dl.load(file)
    with raises(dl.InputError, "missing frame") as refusal:
        fork.fk([0, 0])
    assert "('left', 'right')" in str(refusal.value)
    assert fork.fk([0, 0], "left").shape == (4, 4)
    with pytest.warns(dl.ModelWarning):
        assert dl.load(file, tip="right").tip == "right"


def test_singular_euler_angles_are_an_error(arm):
    planar = dl.load("planar-2r")
    with pytest.raises(dl.SingularityError, match=r"'zyz' angles of frame .* are singular in every state"):
        planar.analytic_jacobian([0.1, 0.2])
    with pytest.raises(dl.SingularityError, match=r"in state \(1,\)"):
        q = np.random.default_rng(0).uniform(-1, 1, (3, 7))
        q[1] = [0, 0, 0, -np.pi / 2, 0, np.pi / 2, 0]  # the flange's z axis points straight down
        arm.analytic_jacobian(q)
    assert planar.analytic_jacobian([0.1, 0.2], angles="rpy").shape == (6, 2)


def test_analytic_jacobian_is_the_derivative_of_the_angles(arm):
    from dalembert.spatial.rotation import EULER_SEQUENCES, to_euler

    q = np.random.default_rng(2).uniform(-1, 1, 7)
    h = 1e-6
    for angles in ("rpy", *EULER_SEQUENCES):
        J = arm.analytic_jacobian(q, angles=angles)
        alpha = lambda x, a=angles: np.array(to_euler(arm.fk(x)[:3, :3].tolist(), a))  # noqa: E731
        for k, e in enumerate(np.eye(7)):
            wanted = (alpha(q + h * e) - alpha(q - h * e)) / (2 * h)
            assert np.abs(J[3:, k] - wanted).max() < 1e-6, angles
        assert error(J[:3], arm.jacobian(q)[:3]) < ROUNDING


def test_payload_on_and_off(arm, states):
    q, qd, qdd = states
    loaded = arm.with_payload(2.0, (0.01, 0.02, 0.1), np.diag([0.01, 0.02, 0.03]))
    assert loaded.mass == pytest.approx(arm.mass + 2.0)
    assert np.abs(loaded.inverse_dynamics(q, qd, qdd) - arm.inverse_dynamics(q, qd, qdd)).max() > 1
    off = loaded.without_payload()
    assert np.array_equal(off.inverse_dynamics(q, qd, qdd), arm.inverse_dynamics(q, qd, qdd))
    nothing = arm.with_payload(0.0)
    assert np.array_equal(nothing.inverse_dynamics(q, qd, qdd), arm.inverse_dynamics(q, qd, qdd))
    hold = arm.with_payload(2.0).gravity_torque(q) - arm.gravity_torque(q)
    J = arm.jacobian(q)
    assert error(hold, J[:, 2] * 2.0 * 9.81) < ROUNDING  # Jᵀ of the weight
    for words, wrong in {
        "already has a link 'payload'": lambda: loaded.with_payload(1.0),
        "mass": lambda: arm.with_payload(-1.0),
        "com must be three finite numbers": lambda: arm.with_payload(1.0, (0, 0)),
        "symmetric": lambda: arm.with_payload(1.0, inertia=np.arange(9.0).reshape(3, 3)),
        "mass must be a finite number": lambda: arm.with_payload("x"),
        "inertia must be a 3×3 matrix": lambda: arm.with_payload(1.0, inertia=[1, 2]),
    }.items():
        with pytest.raises(dl.DalembertError, match=words):
            wrong()


def test_gravity(arm, states):
    q, _, _ = states
    assert not arm.with_gravity((0, 0, 0)).gravity_torque(q).any()
    moon = arm.with_gravity((0, 0, -1.62))
    assert error(moon.gravity_torque(q) * (9.81 / 1.62), arm.gravity_torque(q)) < ROUNDING
    for wrong in ((0, np.nan, 0), "down", (0, 0), None):
        with pytest.raises(
            dl.InputError, match=r"gravity must be three finite numbers|gravity\[1\] is nan; it must be a finite"
        ):
            arm.with_gravity(wrong)


def test_random_configurations_lie_within_the_limits(arm):
    q = arm.random_configuration((100, 3), seed=1)
    assert q.shape == (100, 3, 7)
    assert (q >= arm.limits.lower).all() and (q <= arm.limits.upper).all()
    assert np.array_equal(q, arm.random_configuration((100, 3), seed=1))
    assert arm.random_configuration(seed=0).shape == (7,)
    with pytest.raises(dl.InputError, match="size must be a number of states"):
        arm.random_configuration(-1)


@pytest.mark.parametrize("size", [1.7976931348623157e308, 3.4e38, 1e9])
def test_huge_limits_are_none(size, arm):
    """They overflow no width, no product and no draw; the description keeps what was written."""
    from dataclasses import replace

    limit = dl.describe.Limit(-size, size, size, size)
    joints = [replace(j, limit=limit) if j.limit else j for j in arm.description.joints]
    with pytest.warns(dl.ModelWarning, match="taken as no limits"):
        robot = dl.Robot(replace(arm.description, joints=tuple(joints), tip=arm.tip))
    assert all(np.isinf(x).all() for x in vars(robot.limits).values())
    assert robot.description.joints[1].limit == limit
    q = robot.random_configuration(100, seed=1)
    assert (np.abs(q) <= np.pi).all() and np.ptp(q) > 6.0
    assert np.isfinite(robot.workspace(samples=100).points).all()


def test_robots_and_kernels_pickle(arm, states):
    q, qd, qdd = states
    kernel = pickle.loads(pickle.dumps(arm.kernel("inverse_dynamics")))
    assert np.array_equal(kernel(q, qd, qdd), arm.inverse_dynamics(q, qd, qdd))
    twin = pickle.loads(pickle.dumps(arm))
    assert np.array_equal(twin.inverse_dynamics(q, qd, qdd), arm.inverse_dynamics(q, qd, qdd))


def test_a_robot_of_an_unchecked_description_is_checked():
    from dalembert.describe.description import Description, Joint, Link

    rod = dl.describe.Inertial(1.0, (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))

    def robot(axis=(0.0, 0.0, 1.0), inertial=rod, parent="a"):
        joint = Joint("j", "revolute", parent, "b", axis=axis)
        return dl.Robot(Description("x", (Link("a"), Link("b", inertial)), (joint,)))

    with pytest.warns(dl.ModelWarning, match="axis"):
        assert robot(axis=(0.0, 0.0, 2.0)).mass_matrix([0.0]) == pytest.approx(0.1)
    for wrong in (
        lambda: robot(axis=(0.0, 0.0, 0.0)),
        lambda: robot(inertial=dl.describe.Inertial(-1.0, (0.1, 0, 0, 0.1, 0, 0.1))),
        lambda: robot(parent="c"),
        lambda: robot(parent="b"),
    ):
        with pytest.raises(dl.DescriptionError):
            wrong()
    with pytest.raises(dl.InputError, match="made of a Description, not of str; dalembert.load takes names"):
        dl.Robot("panda")


def test_warnings_are_given_once():
    import warnings

    with pytest.warns(dl.ModelWarning, match="link") as told:
        puma = dl.load("puma560")
    assert [str(w.message) for w in told] == list(puma.warnings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        puma.with_gravity((0, 0, -1.6)).with_threads(2)
        pickle.loads(pickle.dumps(puma))
    impossible = dl.describe.Inertial(1.0, (1.0, 0.0, 0.0, 0.1, 0.0, 0.1))
    with pytest.warns(dl.ModelWarning, match="triangle"):
        dl.Robot.from_dh([dict(a=1.0, inertial=impossible)])
    with pytest.warns(dl.ModelWarning, match="payload"):
        dl.load("panda").with_payload(1.0, inertia=np.diag([1.0, 0.1, 0.1]))


def test_a_singular_mass_matrix_is_told():
    with pytest.warns(dl.ModelWarning):
        ghost = dl.Robot.from_dh([dict(a=1.0)], name="ghost")
    assert np.array_equal(ghost.mass_matrix([0.3]), [[0.0]])
    for call in (ghost.forward_dynamics, ghost.forward_dynamics_derivatives):
        with pytest.raises(dl.SingularityError, match="'ghost' are undefined in every state.* joint 'joint1' moves no"):
            call([0.0], [0.0], [1.0])


def _pair(first: dl.describe.Inertial | None, second: dl.describe.Inertial | None, axis: np.ndarray) -> dl.Robot:
    """Two joints about the same oblique axis."""
    turning = np.r_[0, 0, 0, axis]
    homes = np.broadcast_to(np.eye(4), (2, 4, 4))
    return dl.Robot.from_screws([turning, turning], np.eye(4), link_homes=homes, inertials=[first, second], name="pair")


@pytest.mark.filterwarnings("ignore::dalembert.ModelWarning")
def test_a_mass_matrix_that_only_rounding_keeps_from_being_singular_is_told():
    """Masses on oblique axes, and two joints that do the same: pivots of 1e-17 for zeros, and NaN or noise of them."""
    rng = np.random.default_rng(0)
    block = dl.describe.Inertial(1.0, (0.1, 0, 0, 0.1, 0, 0.1), dl.describe.Origin((0.1, 0.2, 0.3)))
    for axis in [np.array([1.0, 2.0, 3.0]), *rng.normal(size=(20, 3))]:
        a = axis / np.linalg.norm(axis)
        point = dl.describe.Inertial(1.0, (0.0,) * 6, dl.describe.Origin(tuple(0.3 * a)))
        for first, second, why in (
            (block, point, "joint 'joint2' moves no mass"),
            (point, point, "joint 'joint1' moves no mass"),
            (point, block, "some joints move no mass of their own"),
            (None, block, "some joints move no mass of their own"),
        ):
            robot = _pair(first, second, a)
            z = np.full(2, 0.3)
            for call in (robot.forward_dynamics, robot.forward_dynamics_derivatives):
                with pytest.raises(dl.SingularityError, match=f"undefined in every state.* {why}"):
                    call(z, z, z)
        assert np.isfinite(_pair(block, block, a).forward_dynamics(z, z, z)).all()
        assert np.isfinite(
            dl.DrivenRobot(robot, dl.TorqueSource(inertia=1e-4), [10, 10]).kernel()(np.zeros(4), z)
        ).all()
        with pytest.raises(dl.SingularityError, match="'pair' are undefined in every state"):
            dl.DrivenRobot(robot, dl.TorqueSource(), [10, 10])
        with pytest.raises(dl.SingularityError, match="'pair' are undefined in every state"):
            dl.FlexibleRobot(robot, 1.0, 0.0, 1e-4)


def test_the_order_of_calls_does_not_matter():
    def fresh() -> dl.Robot:
        return dl.load("planar-2r")

    q = np.zeros(2)
    for wrong in (dict(wrenches="bogus"), dict(wrenches={"bogus": np.zeros(6)}), dict(friction="yes")):
        used = fresh()
        used.inverse_dynamics(q, q, q)
        used.forward_dynamics(q, q, q)
        for robot in (fresh(), used, used):
            for method in (robot.inverse_dynamics, robot.forward_dynamics):
                with pytest.raises(dl.DalembertError):
                    method(q, q, q, **wrong)
    robot, narrow, wide = fresh(), np.empty(2, np.float32), np.empty((3, 2))
    for _ in range(2):
        assert robot.inverse_dynamics(q, q, q, out=narrow) is narrow
        assert robot.inverse_dynamics(q, q, q, out=wide) is wide


def test_articulated_bodies_refuse_what_they_cannot_do():
    from trees import random_tree

    robot = dl.Robot(random_tree(seed=5, joints=8, mimic=True))
    z = np.zeros(robot.n)
    with pytest.raises(dl.InputError, match="has mimic joints, which articulated bodies cannot express"):
        robot.forward_dynamics(z, z, z, method="articulated")


def test_forward_dynamics_over_a_moving_base(arm, states):
    q, qd, qdd = states
    base = dict(base_velocity=[0.1, 0, 0, 0.3, 0.2, -0.1], base_acceleration=[0.5, 1, 0, 0.2, 0, 0.7])
    tau = arm.inverse_dynamics(q, qd, qdd, **base)
    assert np.abs(arm.forward_dynamics(q, qd, tau, **base) - qdd).max() < 1e-9
    assert np.abs(arm.forward_dynamics(q, qd, tau) - qdd).max() > 1e-2


def test_nan_velocity_and_coulomb_friction(states):
    robot = dl.Robot.from_dh(
        [dict(a=1.0, inertial=dl.describe.Inertial(1.0, (0.0,) * 6), drive=dl.describe.Drive(coulomb=(1.0, 2.0)))]
    )
    with np.errstate(invalid="ignore"):
        assert np.isnan(robot.friction_torque([0.0], [np.nan]))
    v = np.array([[-1.0], [0.0], [1.0]])
    assert np.array_equal(robot.friction_torque(np.zeros((3, 1)), v), [[-2.0], [0.0], [1.0]])


def test_a_failed_write_leaves_the_old_file(arm, tmp_path, monkeypatch):
    import os

    file = tmp_path / "arm.urdf"
    arm.to_urdf(file)
    before = file.read_text()
    monkeypatch.setattr(os, "replace", lambda *a: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(dl.DescriptionError, match="cannot be written: No space left"):
        arm.to_urdf(file)
    assert file.read_text() == before
    assert [f.name for f in tmp_path.iterdir()] == ["arm.urdf"]


def test_a_followers_limits_bound_its_master():
    from dalembert.describe.description import Description, Joint, Link

    def robot(multiplier, limit):
        rod = dl.describe.Inertial(1.0, (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
        links = tuple(Link(name, rod) for name in "abc")
        joints = (
            Joint("m", "revolute", "a", "b", limit=dl.describe.Limit(-3.0, 3.0)),
            Joint("f", "revolute", "b", "c", limit=limit, mimic=dl.describe.Mimic("m", multiplier, 0.5)),
        )
        return dl.Robot(Description("x", links, joints)).limits

    tight = robot(2.0, dl.describe.Limit(-1.0, 1.0))
    assert (tight.lower[0], tight.upper[0]) == (-0.75, 0.25)
    reversed_ = robot(-2.0, dl.describe.Limit(-1.0, 1.0))
    assert (reversed_.lower[0], reversed_.upper[0]) == (-0.25, 0.75)
    ranges = {
        "-2.5 … 3.5 and is limited to 10 … 11": (1.0, 10.0, 11.0),
        "to 3.5 … 9": (1.0, 3.5, 9.0),
        "to 1 … 1": (1.0, 1.0, 1.0),
    }
    for text, (multiplier, lower, upper) in ranges.items():  # nothing in common, or one position: said, and left out
        with pytest.warns(dl.ModelWarning, match=rf"joint 'f' follows 'm' within .*{text}, which leaves no range"):
            contradictory = robot(multiplier, dl.describe.Limit(lower, upper))
        assert (contradictory.lower[0], contradictory.upper[0]) == (-3.0, 3.0)


def test_a_kernel_is_interpreted_for_one_state(arm, states):
    kernel = arm.kernel("fk")
    with pytest.raises(dl.InputError, match="is interpreted for one state"):
        kernel.interpret(states[0])


def test_screws_make_the_same_robot_again(states):
    """Axes, home and bodies: kinematics and dynamics both come back."""
    q, qd, qdd = states
    for name in ("panda", "iiwa7"):
        arm = dl.load(name)
        axes, home = arm.to_screws()
        twin = dl.Robot.from_screws(axes, home, **arm.screw_bodies())
        assert error(twin.fk(q), arm.fk(q)) < ROUNDING
        assert error(twin.inverse_dynamics(q, qd, qdd), arm.inverse_dynamics(q, qd, qdd)) < 1e-11
        assert twin.joint_names == arm.joint_names
        assert np.array_equal(twin.limits.upper, arm.limits.upper)


def test_kernels_of_a_robot_without_joints():
    """NumPy cannot fix a dimension at zero: the kernel does, instead of returning what lay in memory."""
    stone = dl.Robot(Description("stone", (Link("base"),), ()))
    for name in ("fk", "jacobian", "mass_matrix", "inverse_dynamics", "regressor", "kinetic_energy"):
        kernel = stone.kernel(name)
        with raises(dl.InputError, "wrong-shape q"):
            kernel(*[np.ones(5)] * len(kernel.inputs))
        assert np.isfinite(kernel(*[np.ones((3, 0))] * len(kernel.inputs))).all()
    with raises(dl.InputError, "unsupported robot"):
        stone.kernel("center_of_mass")


@pytest.mark.parametrize("mass", [1e308, 1e51])
def test_what_is_too_heavy_to_compute_with(arm, mass):
    with pytest.raises(dl.DescriptionError, match=r"mass of link .payload. is 1e\+\d+, so large that its products"):
        arm.with_payload(mass)
