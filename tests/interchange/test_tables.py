"""Results as columns and data frames; linear systems in python-control; robots by other packages' names."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

import control
import dalembert as dl
from dalembert.interchange import columns, data_frame, to_control
from errors import raises
from tolerances import ROUNDING, error


@pytest.fixture(scope="module")
def arm() -> dl.Robot:
    return dl.load("planar-2r")


@pytest.fixture(scope="module")
def law(arm) -> object:
    return dl.control.PDGravity(arm, kp=50.0, kd=10.0)


# ------------------------------------------------------------------------------------------------------- data frames
def test_a_run_in_every_kind_of_frame(arm):
    run = dl.simulate(arm, q0=[0.5, 0.2], qd0=[0, 0], duration=0.1)
    pandas, polars, arrow = (data_frame(run, kind) for kind in ("pandas", "polars", "pyarrow"))
    assert list(pandas.columns) == polars.columns == arrow.column_names == list(run.columns)
    for frame in (pandas["joint1"].to_numpy(), polars["joint1"].to_numpy(), arrow["joint1"].to_numpy()):
        assert np.array_equal(frame, run.q[:, 0])


def test_batches(arm, law):
    e = dl.Experiment(arm, law, reference=[0.3, 0.2], dt=0.002, measures="rms_error")
    drawn = e.batch(q0=dl.uniform([-1, -1], [1, 1]), count=6, seed=0, duration=0.1)
    table = columns(drawn)
    assert {"run", "q0[0]", "q0[1]", "final_joint1", "rms_error", "ok"} <= set(table)
    assert all(len(values) == 6 for values in table.values())
    assert np.array_equal(table["rms_error"], drawn.measures["rms_error"])
    assert np.array_equal(table["q0[1]"], drawn.parameters()["q0"][:, 1])
    assert "final_rms_error" not in table  # a measure on its way is no result
    swept = columns(e.batch(vary=dl.grid(kp_joint1=[10.0, 20.0, 30.0], q0=[[0.1, 0.2], [0.3, 0.4]]), duration=0.1))
    assert swept["kp_joint1"].tolist() == [10.0, 10.0, 20.0, 20.0, 30.0, 30.0] and swept["ok"].all()


def test_comparisons_workspaces_rows(arm, law):
    compared = dl.control.compare({"pd": law}, arm, [0.3, 0.2], 0.2, scenarios={"as is": dl.control.Scenario()})
    table = columns(compared)
    assert table["controller"].tolist() == ["pd"] and table["rms_error"][0] == compared.rms_error[0, 0]
    space = columns(arm.workspace(50))
    assert set(space) == {"q1", "q2", "x", "y", "z", "phi", "yoshikawa"} and len(space["x"]) == 50
    assert columns([{"a": 1, "b": 2.0}, {"a": 3, "b": 4.0}])["b"].tolist() == [2.0, 4.0]
    assert data_frame({"a": [1, 2]}, "polars").shape == (2, 1)


def test_an_identification_by_base_parameter(arm):
    from dalembert.identification.log.samples import Log

    rng = np.random.default_rng(0)
    t = np.arange(0, 6, 0.01)
    w, a = 2 * np.pi * np.array([0.3, 0.7]), np.array([[0.6, 0.3], [-0.4, 0.5]])
    orders = enumerate((np.sin, np.cos, _minus))
    q, qd, qdd = (np.sum(a * w**k * f(t[:, None, None] * w + 0.4), -1) for k, f in orders)
    log = Log(t, q, arm.inverse_dynamics(q, qd, qdd) + rng.normal(0, 0.02, q.shape), arm.joint_names, qd)
    found = dl.identify(arm, log)
    table = columns(found)
    assert np.array_equal(table["value"], found.base) and len(table["name"]) == len(found.names)
    assert np.all(table["low"] <= table["value"]) and np.all(table["value"] <= table["high"])
    assert data_frame(log)["tau_joint2"].to_numpy().tolist() == log.tau[:, 1].tolist()


def _minus(x):
    return -np.sin(x)


def test_frames_that_cannot_be(monkeypatch):
    for value, text in (
        (3, "a table is made of a Run, Batch, Identification"),
        ({"a": [1, 2], "b": [1]}, "columns must be lists of one length; got a (2,), b (1,)"),
        ([{"a": 1}, {"b": 1}], "the rows have different names"),
        ([], "got list"),
    ):
        with pytest.raises(dl.InputError) as told:
            columns(value)
        assert text in str(told.value)
    with pytest.raises(dl.UnknownNameError, match="unknown kind of data frame 'panda'; did you mean 'pandas'"):
        data_frame({"a": [1]}, "panda")
    for kind in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, kind, None)
        with pytest.raises(dl.MissingExtraError, match=rf"{kind} is not installed: pip install 'dalembert\[{kind}\]'"):
            data_frame({"a": [1]}, kind)


# ----------------------------------------------------------------------------------------------------- python-control
def test_every_kind_of_system_becomes_a_control_object(arm):
    q = [0.3, 0.4]
    flexible = dl.FlexibleRobot(arm, stiffness=[100.0, 80.0], rotor_inertia=[0.1, 0.1])
    for system, x, states in ((arm, q, 4), (flexible, q, 8), (dl.control.MassSpringDamper(1.0, 0.5, 4.0), None, 2)):
        made = to_control(system, x)
        assert isinstance(made, control.StateSpace) and made.nstates == states
    made = to_control(arm, q)
    A, B = arm.linearize(q, [0, 0], arm.gravity_torque(q))
    assert error(made.A, A) < ROUNDING and error(made.B, B) < ROUNDING
    assert made.state_labels == ["joint1", "joint2", "joint1_rate", "joint2_rate"]
    assert made.input_labels == ["joint1_torque", "joint2_torque"]
    picked = to_control(arm, q, outputs="joint2", dt=0.01)
    assert picked.noutputs == 1 and picked.dt == 0.01
    exact = control.sample_system(control.ss(A, B, [[0, 1, 0, 0]], np.zeros((1, 2))), 0.01)
    assert error(picked.A, exact.A) < ROUNDING and error(picked.B, exact.B) < ROUNDING
    G = to_control(dl.control.TransferFunction([1.0], [1.0, 2.0, 3.0]))
    assert isinstance(G, control.TransferFunction) and abs(G(1j) - 1 / (2 + 2j)) < 1e-14
    with pytest.raises(dl.InputError, match="a transfer function is linear already"):
        to_control(dl.control.TransferFunction([1.0], [1.0, 2.0]), [0.0])
    with raises(dl.InputError, "wrong-type system"):
        to_control(3)


# ------------------------------------------------------------------------------------------------- robot_descriptions
@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """The package robot_descriptions, as far as it is asked: two robots on the disk and one that cannot be fetched."""
    package = types.ModuleType("robot_descriptions")
    names = ("two_description", "two_mj_description", "far_description", "odd_description")
    package.DESCRIPTIONS = dict.fromkeys(names)
    package.__path__ = [str(tmp_path / "robot_descriptions")]
    (tmp_path / "robot_descriptions").mkdir()
    dl.load("planar-2r").to_urdf(tmp_path / "two.urdf")
    (tmp_path / "two.xml").write_text(
        '<mujoco model="mj"><worldbody><body name="a"><joint name="j"/><geom size=".1" pos=".1 0 0"/></body>'
        "</worldbody></mujoco>"
    )
    texts = {
        "two_description": f"URDF_PATH = {str(tmp_path / 'two.urdf')!r}",
        "two_mj_description": f"MJCF_PATH = {str(tmp_path / 'two.xml')!r}",
        "far_description": "raise OSError('Cmd failed\\n  stderr: could not resolve host')",
        "odd_description": "",
    }
    for name, text in texts.items():
        (tmp_path / "robot_descriptions" / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, f"robot_descriptions.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "robot_descriptions", package)


def test_robots_by_the_names_of_robot_descriptions(shelf):
    assert dl.load("two_description").joint_names == dl.load("planar-2r").joint_names
    assert dl.load("two_mj_description").joint_names == ("j",)
    for name, text in (
        ("too_description", "unknown name of robot_descriptions 'too_description'; did you mean 'two_description'"),
        (
            "far_description",
            "'far_description' could not be fetched (stderr: could not resolve host); "
            "robot_descriptions gets it by git when it is first used: try again with a network, or load a file",
        ),
        ("odd_description", "has no URDF_PATH, MJCF_PATH, XACRO_PATH"),
    ):
        with pytest.raises(dl.DalembertError) as told:
            dl.load(name)
        assert text in str(told.value)


def test_without_robot_descriptions_there_is_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "robot_descriptions", None)
    with pytest.raises(dl.MissingExtraError, match=r"not installed: pip install 'dalembert\[descriptions\]'"):
        dl.load("ur5e_description")
