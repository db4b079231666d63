"""The `rows` argument: words, masks, weights, directions, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from motion_arms import arm, motionless, planar_4r

import dalembert as dl
from dalembert.kinematics.jacobian import freedom, length_of, moving_rows, natural, unitless
from dalembert.kinematics.tasks import ROWS, task

V = np.arange(1.0, 7.0)


@pytest.mark.parametrize(
    "rows, wanted",
    [
        ("pose", [1, 2, 3, 4, 5, 6]),
        ("position", [1, 2, 3]),
        ("orientation", [4, 5, 6]),
        ("planar", [1, 2, 6]),
        ("z-axis", [4, 5]),
        ("vz", [3]),
        (("vx", "wz"), [1, 6]),
        (("position", "vx"), [1, 2, 3]),
        ([True, False, True, False, False, False], [1, 3]),
        ((2, 0, 0, 0, 0, 0.5), [2, 3]),
        ([0, 3, 4], [(0.6 * 2 + 0.8 * 3)]),
        (np.eye(6)[[5, 0]] * 2, [12, 2]),
    ],
)
def test_rows_of_a_twist(rows, wanted):
    assert np.allclose(task(rows).reduce("twist", V), wanted)
    assert task(rows).m == len(wanted)


def test_a_twist_may_be_given_on_the_rows_alone():
    chosen = task((2, 0, 0, 0, 0, 0.5))
    assert np.allclose(chosen.reduce("twist", [1, 6]), chosen.reduce("twist", V))
    assert np.allclose(chosen.reduce("twist", np.ones((4, 3, 2))), np.broadcast_to([2, 0.5], (4, 3, 2)))
    assert repr(chosen) == "<Task 2·vx, 0.5·wz>"


@pytest.mark.parametrize(
    "rows, message",
    [
        ("positon", "did you mean 'position'"),
        ([False] * 6, "selects nothing"),
        (np.zeros(6), "selects nothing"),
        ([1, 1, -1, 0, 0, 0], "must not be negative"),
        ([0, 0, 0], "must not be zero"),
        ([1, 2, 3, 4], "mean nothing"),
        (np.zeros((0, 6)), "mean nothing"),
        (np.zeros((1, 6)), "row 0 of rows is zero"),
        ([np.nan, 1, 1, 1, 1, 1], r"rows\[0\] is nan"),
        ([], "mean nothing"),
        (None, "rows is nan; it must be a finite number"),
        ([1 + 2j] * 6, "real numbers"),
    ],
)
def test_what_is_refused(rows, message):
    with pytest.raises(dl.DalembertError, match=message):
        task(rows)


def test_a_twist_of_the_wrong_length():
    with pytest.raises(dl.InputError, match=r"must be 6 or 3: \(v, ω\), or \(vx, vy, wz\)"):
        task("planar").reduce("twist", np.zeros(5))
    with pytest.raises(dl.InputError, match=r"twist\[1, 2\] is inf"):
        task("pose").reduce("twist", [[0] * 6, [0, 0, np.inf, 0, 0, 0]])


@pytest.mark.parametrize(
    "name, rows",
    [
        ("planar-1r", "vx vy"),
        ("planar-2r", "vx vy"),
        ("planar-3r", "vx vy wz"),
        ("rp", "vx vy"),
        ("cartesian-pp", "vy vz"),
        ("scara", "vx vy vz wz"),
        ("elbow-3r", "vx vy vz"),
        ("stanford", " ".join(ROWS)),
        ("panda", " ".join(ROWS)),
    ],
)
def test_natural_rows(name, rows):
    assert natural(arm(name)).names == tuple(rows.split())


def test_freedom_counts_what_can_be_had():
    assert freedom(planar_4r(), None, task("pose"), "world") == 3
    assert freedom(arm("panda"), None, task("pose"), "world") == 6
    assert freedom(arm("planar-1r"), None, task("pose"), "world") == 1
    assert freedom(arm("planar-2r"), None, task("position"), "world") == 2


def test_length_and_units():
    """An arm written in millimeters has the same Jacobian free of units."""
    rows = [{"a": 1.0}, {"kind": "prismatic", "d": 0.5}, {"a": 0.5, "alpha": 1.0}]
    big = [{k: v * 1000 if k in "ad" else v for k, v in row.items()} for row in rows]
    meter, millimeter = dl.Robot.from_dh(rows), dl.Robot.from_dh(big)
    q = np.array([0.3, 0.2, 0.1])
    A = unitless(meter, None, meter.jacobian(q))
    B = unitless(millimeter, None, millimeter.jacobian(q * [1, 1000, 1]))
    assert np.allclose(A, B, rtol=1e-12, atol=1e-15)
    assert length_of(arm("planar-2r")) == 2 and length_of(arm("rp")) > 0


def test_frames_that_do_not_move():
    base = arm("puma560").frames[0]
    assert moving_rows(arm("puma560"), base, "world") == ()
    with pytest.raises(dl.InputError, match="does not move"):
        arm("puma560").manipulability(np.zeros(6), base)


METHODS = {
    "manipulability": (),
    "manipulability_gradient": (),
    "velocity_ellipsoid": (),
    "force_ellipsoid": (),
    "acceleration_ellipsoid": (),
    "effective_mass": (),
    "singularities": (),
    "nearest_singularity": (),
    "null_space": (),
    "inverse_velocity": (np.zeros(6),),
    "static_torque": ({"tool": np.zeros(6)},),
    "largest_force": ([0, 0, 1.0],),
}


@pytest.mark.parametrize("method", METHODS)
def test_nan_and_shapes_are_refused_in_words(method):
    robot, rest = arm("puma560"), METHODS[method]
    call = getattr(robot, method)
    with pytest.raises(dl.InputError, match=r"q\[2\] is nan; it must be a finite number"):
        call([0, 0, np.nan, 0, 0, 0], *rest)
    with pytest.raises(dl.InputError, match="last dimension must be 6"):
        call([0.0, 0.0], *rest)
    with pytest.raises(dl.InputError, match="too large"):
        call([1e10, 0, 0, 0, 0, 0], *rest)
    if method == "static_torque":
        with pytest.raises(dl.UnknownNameError, match="unknown frame 'tol'"):
            call(np.zeros(6), {"tol": np.zeros(6)})
        return
    with pytest.raises(dl.UnknownNameError, match="unknown frame 'tol'"):
        call(np.zeros(6), *rest, frame="tol")
    if method != "largest_force":
        with pytest.raises(dl.InputError, match="selects nothing"):
            call(np.ones(6), *rest, rows=[0] * 6)


@pytest.mark.parametrize("method", [m for m in METHODS if m != "static_torque"])
def test_a_chain_without_joints(method):
    with pytest.raises(dl.InputError, match="has no joints"):
        getattr(motionless(), method)(np.zeros(0), *METHODS[method])


def test_statics_and_workspace_of_a_chain_without_joints():
    assert motionless().static_torque(np.zeros((3, 0)), {motionless().frames[-1]: np.ones(6)}).shape == (3, 0)
    with pytest.raises(dl.InputError, match="has no joints"):
        motionless().workspace()
