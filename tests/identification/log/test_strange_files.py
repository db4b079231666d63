"""Files as other laboratories write them: names of makers, odd tables, several files, other formats."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime, timedelta

import numpy as np
import pytest
from planted import recorded

import dalembert as dl
from dalembert.errors import InputError, MissingExtraError
from dalembert.identification.log.families import find_families
from dalembert.identification.log.parquet_footer import count_values
from dalembert.identification.log.read import read_log, read_logs
from dalembert.identification.log.samples import Table
from dalembert.identification.log.settings import LogSettings
from errors import raises

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.ModelWarning")
SMALL = {"rate": 100.0, "duration": 0.6, "noise": 1e-6, "tau_noise": 0.05, "size": 2.0}


@pytest.fixture(scope="module")
def ur():
    return dl.load("ur5e")


@pytest.fixture(scope="module")
def panda():
    return dl.load("panda")


@pytest.fixture(scope="module")
def log(ur):
    return recorded(ur, **SMALL)[0]


@pytest.fixture(scope="module")
def seven(panda):
    return recorded(panda, **SMALL)[0]


def same(read, log, rates=True, tolerance=1e-8):
    np.testing.assert_allclose(read.q, log.q, atol=tolerance)
    np.testing.assert_allclose(read.tau, log.tau, atol=tolerance)
    np.testing.assert_allclose(read.t - read.t[0], log.t, atol=1e-6)
    if rates:
        np.testing.assert_allclose(read.qd, log.qd, atol=tolerance)


def count(pattern, n, first=0):
    return [pattern.format(k) for k in range(first, n + first)]


def write(path, names, columns, mark=","):
    np.savetxt(path, np.column_stack(columns), delimiter=mark, header=mark.join(names), comments="", fmt="%.12g")
    return path


def noise(log, n):
    return np.random.default_rng(0).normal(size=(len(log), n))


# ------------------------------------------------------------------------------------------------ names of makers
def test_the_names_of_ur(ur, log, tmp_path):
    """RTDE: moments are targets, currents need a constant; poses and forces of the tool have six columns too."""
    groups = {
        "target_q": log.q + 0.01,
        "actual_q": log.q,
        "actual_qd": log.qd,
        "target_moment": log.tau,
        "actual_current": log.tau / 8 + 0.1,
        "actual_TCP_pose": noise(log, 6),
        "actual_TCP_speed": noise(log, 6),
        "actual_TCP_force": noise(log, 6),
        "joint_temperatures": noise(log, 6),
    }
    names = ["timestamp", *(name for group in groups for name in count(f"{group}_{{}}", 6)), "actual_execution_time"]
    file = write(tmp_path / "rtde.csv", names, [log.t + 5000, *groups.values(), 0.001 + 0 * log.t], " ")
    read = read_log(file, ur)
    same(read, log)
    assert "those that the controller asked for ('target_moment_0', …) are taken; its currents" in read.notes[0]
    read = read_log(file, ur, torque_constant=8.0, offset={"tau": -0.8})
    same(read, log)


def test_the_names_of_franka(panda, seven, tmp_path):
    groups = {
        "q": seven.q,
        "q_d": seven.q + 0.01,
        "dq": seven.qd,
        "dq_d": seven.qd + 0.01,
        "tau_J": seven.tau,
        "tau_J_d": seven.tau - 1,
        "dtau_J": noise(seven, 7),
        "tau_ext_hat_filtered": noise(seven, 7),
        "theta": seven.q + 0.001,
        "dtheta": seven.qd + 0.001,
        "O_T_EE": noise(seven, 16),
    }
    names = ["time", *(name for group, x in groups.items() for name in count(f"{group}[{{}}]", x.shape[1]))]
    same(read_log(write(tmp_path / "state.csv", names, [seven.t, *groups.values()]), panda), seven)
    names = ["time", *count("q_{}", 7, 1), *count("dq_{}", 7, 1), *count("tau_J_{}", 7, 1)]
    read = read_log(write(tmp_path / "lib.csv", names, [seven.t, seven.q, seven.qd, seven.tau]), panda)
    same(read, seven)
    assert read.notes == ()


@pytest.mark.parametrize(
    "times, q, tau, others",
    [
        (
            "ZeitInSec ZeitInNanoSec",
            "axisQMsr_LBR_iiwa_7_R800_1[{}]",
            "axisTauMsr_LBR_iiwa_7_R800_1[{}]",
            "axisQCmd_LBR[{}]",
        ),
        ("time", "MsrJointPos{}", "MsrTorque{}", "ExtTorque{}"),
        ("time", "MeasuredJointPosition[{}]", "measured_torque[{}]", "commanded_joint_position[{}]"),
        ("t", "$AXIS_ACT[{}]", "$TORQUE_AXIS_ACT[{}]", "$CURR_ACT[{}]"),
        ("t", "AxisPos_A{}", "torque_A{}", "external_torque_A{}"),
        ("t", "A{}", "torque_A{}", "target_A{}"),
        ("time_ms", "J{}", "T{}", "V{}"),
        ("Zeit", "Position Achse {} [rad]", "Drehmoment Achse {} [Nm]", "Strom Achse {} [A]"),
        ("t", "qIn_{}", "tauIn_{}", "qOut_{}"),
        ("t", "qpos_{}", "jtor_{}", "qvel_cmd_{}"),
        ("duration", "state.q[{}]", "state.tau_J[{}]", "state.q_d[{}]"),
        ("__time", "jointpos{}", "jointtorque{}", "jointtemp{}"),
    ],
)
def test_the_names_of_kuka_and_others(panda, seven, tmp_path, times, q, tau, others):
    clock = (
        [seven.t * (1e3 if "ms" in times else 1)]
        if " " not in times
        else [np.floor(seven.t) + 1.5e9, np.round(seven.t % 1 * 1e9)]
    )
    first = int("[" not in q or "$" in q)
    names = [*times.split(), *count(q, 7, first), *count(others, 7, first), *count(tau, 7, first)]
    file = write(tmp_path / "log.csv", names, [*clock, seven.q, noise(seven, 7), seven.tau], ";")
    same(read_log(file, panda), seven, rates=False)


def test_two_families_that_look_alike_are_asked_about(ur, log):
    columns = {"t": log.t, "left_q": log.q, "right_q": log.q + 1, "tau": log.tau}
    with raises(InputError, "conflict columns"):
        read_log(columns, ur)
    same(read_log(columns, ur, columns={"q": "left_q[{i}]"}), log, rates=False)


def test_a_velocity_of_each_joint_is_not_a_position(ur):
    names = (
        "q_dot_1",
        "theta_dot_1",
        "d_q1",
        "current_position_1",
        "torque_limit_1",
        "T1",
        "tau_cmd_1",
        "actual_current_1",
    )
    families, _, aside = find_families(Table(names, np.zeros((2, len(names))), "x"), ur.joint_names)
    groups = {names[k]: family.group for family in families for k in family.places.values()}
    assert groups == {
        **dict.fromkeys(names[:3], "qd"),
        "current_position_1": "q",
        "tau_cmd_1": "commanded tau",
        "actual_current_1": "current",
        "T1": "letter t",
    }
    assert [names[k] for k in aside] == ["torque_limit_1"]


# ------------------------------------------------------------------------------------------------ ROS exports
def in_order_of_the_alphabet(robot, log):
    order = np.argsort(robot.joint_names)
    return [robot.joint_names[k] for k in order], log.q[:, order], log.qd[:, order], log.tau[:, order]


def test_rostopic_echo_by_the_names_in_its_rows(ur, log, tmp_path):
    names, *signals = in_order_of_the_alphabet(ur, log)
    head = [*("%time", "field.header.seq", "field.header.stamp", "field.header.frame_id"), *count("field.name{}", 6)]
    head += [name for group in ("position", "velocity", "effort") for name in count(f"field.{group}{{}}", 6)]
    lines = [",".join(head)]
    for k, t in enumerate(log.t):
        stamp = 1_700_000_000_000_000_000 + round(1e9 * t)
        numbers = (f"{x:.12g}" for signal in signals for x in signal[k])
        lines.append(",".join([str(stamp + 100 * (k % 7)), str(k), str(stamp), "", *names, *numbers]))
    (tmp_path / "echo.csv").write_text("\n".join(lines))
    same(read_log(tmp_path / "echo.csv", ur), log)


def test_lists_in_quoted_cells(ur, log, tmp_path):
    names, *signals = in_order_of_the_alphabet(ur, log)
    lines = ["time,name,position,velocity,effort"]
    for k, t in enumerate(log.t):
        lists = (f'"({", ".join(f"{x:.12g}" for x in signal[k])})"' for signal in signals)
        lines.append(f'{t:.3f},"{names}",{",".join(lists)}')
    (tmp_path / "bag.csv").write_text("\n".join(lines))
    same(read_log(tmp_path / "bag.csv", ur), log)


def test_plotjuggler_leaves_cells_of_other_topics_empty(ur, log, tmp_path):
    """Rates and torques of another topic, and so at other times, are taken at those of the positions."""
    head = ["__time", *(f"/joint_states/{j}/position" for j in ur.joint_names)]
    lines = [",".join([*head, *(f"/drives/{j}/effort" for j in ur.joint_names), "/tf/x"])]
    late = log.t + 0.004
    tau = np.stack([np.interp(late, log.t, x) for x in log.tau.T], axis=1)
    for k, t in enumerate(log.t):
        lines.append(",".join([f"{t:.4f}", *(f"{x:.12g}" for x in log.q[k]), *[""] * 7]))
        lines.append(",".join([f"{late[k]:.4f}", *[""] * 6, *(f"{x:.12g}" for x in tau[k]), ""]))
    (tmp_path / "plot.csv").write_text("\n".join(lines))
    read = read_log(tmp_path / "plot.csv", ur)
    np.testing.assert_allclose(read.q, log.q[1:], atol=1e-9)
    assert np.abs(read.tau - log.tau[1:]).max() < 0.5 and len(read) == len(log) - 1
    assert any("60 of 120 rows are of other signals, and left out, 6 signals" in note for note in read.notes)


def test_a_bag_in_mcap_and_a_topic_without_torques(ur, log, tmp_path):
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    kind, header, time = (
        store.types[x] for x in ("sensor_msgs/msg/JointState", "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
    )
    nothing = np.zeros(0)
    with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        for topic, efforts in (("/joint_states", True), ("/command", False)):
            connection = writer.add_connection(topic, kind.__msgtype__, typestore=store)
            for k, t in enumerate(log.t):
                ns = round(1e9 * t)
                tau = log.tau[k] if efforts else nothing
                message = kind(header(time(1 + ns // 10**9, ns % 10**9), ""), [*log.joints], log.q[k], log.qd[k], tau)
                writer.write(connection, ns, store.serialize_cdr(message, kind.__msgtype__))
    same(read_log(tmp_path / "bag", ur), log)
    (file,) = (tmp_path / "bag").glob("*.mcap")
    same(read_log(file.rename(tmp_path / "alone.mcap"), ur), log)


def test_a_bag_of_the_first_generation_with_messages_of_franka(panda, seven, tmp_path):
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    from rosbags.rosbag1 import Writer
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.ROS1_NOETIC)
    definition = "std_msgs/Header header\nfloat64[7] q\nfloat64[7] dq\nfloat64[7] tau_J\n"
    store.register(get_types_from_msg(definition, "franka_msgs/msg/FrankaState"))
    kind, header, time = (
        store.types[x] for x in ("franka_msgs/msg/FrankaState", "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
    )
    with Writer(tmp_path / "arm.bag") as writer:
        connection = writer.add_connection("/franka_states", kind.__msgtype__, typestore=store)
        for k, t in enumerate(seven.t):
            ns = round(1e9 * (t + 100))
            stamp = header(k, time(ns // 10**9, ns % 10**9), "")
            message = kind(stamp, seven.q[k], seven.qd[k], seven.tau[k])
            writer.write(connection, ns, store.serialize_ros1(message, kind.__msgtype__))
    same(read_log(tmp_path / "arm.bag", panda), seven, tolerance=1e-12)


# ------------------------------------------------------------------------------------------------ without names
@pytest.mark.parametrize(
    "layout", ["t q qd tau", "t q tau", "t tau q", "q qd tau", "k t q qd qdd tau", "t tau q qd", "interleaved"]
)
def test_columns_without_names_are_told_by_what_is_in_them(ur, log, tmp_path, layout):
    signals = {"t": log.t[:, None], "q": log.q, "qd": log.qd, "qdd": np.gradient(log.qd, 0.01, axis=0), "tau": log.tau}
    signals["k"] = np.arange(len(log))[:, None]
    if layout == "interleaved":
        values = np.column_stack([log.t, np.stack([log.q, log.qd, log.tau], axis=2).reshape(len(log), -1)])
    else:
        values = np.concatenate([signals[name] for name in layout.split()], axis=1)
    np.savetxt(tmp_path / "log.txt", values, fmt="%.12g")
    rate = None if "t " in layout or layout == "interleaved" else 100.0
    read = read_log(tmp_path / "log.txt", ur, rate=rate)
    same(read, log, rates="qd" in layout or layout == "interleaved")
    assert "columns without names, told by what is in them" in read.notes[0]


def test_columns_without_names_that_tell_nothing(ur, log):
    for values in (
        np.column_stack([log.t, log.q, log.q + 1e-3 * log.tau]),
        np.column_stack([log.t, log.q, log.tau, 2 * log.tau + noise(log, 6)]),
        np.column_stack([log.t, log.q, log.tau, log.q[:, 0]]),
    ):
        with raises(InputError, "missing columns"):
            read_log(values, ur)
    said = LogSettings.from_options({"columns": "t=0,q=7-12,tau=1-6"})
    same(read_log(np.column_stack([log.t, log.tau, log.q]), ur, settings=said), log, rates=False)


def test_torques_beside_those_of_a_controller_are_asked_about(ur, log):
    """31 columns of a public set: t, q, rates, currents, wanted currents, wanted torques."""
    values = np.column_stack(
        [log.t, log.q, log.qd, log.tau / 10, log.tau / 11 + noise(log, 6), log.tau + noise(log, 6)]
    )
    with raises(InputError, "missing columns"):
        read_log(values, ur)
    same(read_log(values, ur, columns={"tau": range(13, 19)}, torque_constant=10.0), log)


# ------------------------------------------------------------------------------------------------ several files
def test_a_quantity_per_file(ur, log, tmp_path):
    for name in ("q", "qd", "tau", "t"):
        np.savetxt(tmp_path / f"{name}.csv", getattr(log, name), delimiter=",", fmt="%.12g")
    same(read_log(tmp_path, ur), log)
    files = [tmp_path / "q.csv", tmp_path / "tau.csv"]
    same(read_log(files, ur, rate=100.0), log, rates=False)
    for run in ("run1", "run2"):
        names = ["time", *ur.joint_names]
        write(tmp_path / f"{run}_positions.csv", names, [log.t, log.q])
        write(tmp_path / f"{run}_torques.csv", names, [log.t, log.tau])
    read = read_logs(sorted(tmp_path.glob("run*.csv")), ur)
    assert len(read.logs) == 2
    same(read.logs[1], log, rates=False)
    np.savetxt(tmp_path / "tau.csv", log.tau[:-1], delimiter=",")
    with raises(InputError, "wrong-shape path"):
        read_log(files, ur, rate=100.0)
    (tmp_path / "empty").mkdir()
    with raises(InputError, "not-readable path"):
        read_log(tmp_path / "empty", ur)


def test_files_with_clocks_of_their_own(ur):
    slow = recorded(ur, rate=200.0, duration=2.0)[0]
    late = recorded(ur, rate=1000.0, duration=2.0)[0]
    read_from = {"q": (slow.t, slow.q), "tau": (late.t[3:], late.tau[3:])}
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        for name, columns in read_from.items():
            np.savetxt(Path(folder) / f"{name}.txt", np.column_stack(columns), fmt="%.12g")
        read = read_log(folder, ur)
    np.testing.assert_allclose(read.tau, slow.tau[1:], atol=1e-6)
    np.testing.assert_allclose(read.q, slow.q[1:], atol=1e-10)
    assert any("each file has times of its own" in note for note in read.notes)


# ------------------------------------------------------------------------------------------------ other formats
def test_matlab(ur, log, tmp_path):
    from scipy.io import savemat

    flat = {"t": log.t, "q": log.q.T, "dq": log.qd.T, "tau": log.tau.T, "comment": "Monday", "fs": 100.0}
    inside = {"run": {"time": log.t[:, None], "q": log.q, "qd": log.qd, "torque": log.tau}}
    simulink = {name: {"time": log.t, "signals": {"values": getattr(log, name)}} for name in ("q", "qd", "tau")}
    counted = {"Q": log.q, "Qd": log.qd, "Tau": log.tau, "Ts": 0.01}
    for content in (flat, inside, {"out": simulink}, counted):
        savemat(tmp_path / "log.mat", content)
        same(read_log(tmp_path / "log.mat", ur), log, tolerance=1e-12)
    savemat(tmp_path / "log.mat", {"t": log.t, "q": log.q, "qd": log.qd, "tau": log.tau}, format="4")
    same(read_log(tmp_path / "log.mat", ur), log)
    (tmp_path / "torn.mat").write_bytes(b"MATLAB 5.0 MAT-file, and then nothing")
    with raises(InputError, "not-readable path"):
        read_log(tmp_path / "torn.mat", ur)


def test_hdf5_and_the_latest_matlab(ur, log, tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "log.h5", "w") as file:
        file["run/time"], file["run/q"], file["run/qd"], file["run/tau"] = log.t, log.q, log.qd, log.tau
        file["run/images"], file["about"] = np.zeros((3, 4, 4)), "Monday"
    same(read_log(tmp_path / "log.h5", ur), log)
    with h5py.File(tmp_path / "log.mat", "w", userblock_size=512) as file:
        file["t"], file["q"], file["qd"], file["tau"] = log.t[None], log.q.T, log.qd.T, log.tau.T
        file.create_dataset("name", data=np.array([[104], [105]], "u2")).attrs["MATLAB_class"] = np.bytes_("char")
    with open(tmp_path / "log.mat", "r+b") as raw:
        raw.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64 HDF5 schema 1.00 .")
    same(read_log(tmp_path / "log.mat", ur), log)
    names = [*count("q{}", 6), *count("tau{}", 6)]
    with h5py.File(tmp_path / "pandas.h5", "w") as file:
        file["df/block0_items"], file["df/block0_values"] = np.array(names, "S8"), np.hstack([log.q, log.tau])
        file["df/axis1"] = np.arange(len(log))
    same(read_log(tmp_path / "pandas.h5", ur, rate=100.0), log, rates=False)
    (tmp_path / "torn.h5").write_bytes(b"\x89HDF\r\n\x1a\n and then nothing")
    with raises(InputError, "not-readable path"):
        read_log(tmp_path / "torn.h5", ur)


def external_storage(file, q, folder):
    q.tofile(folder / "private.bin")
    file.create_dataset("q", q.shape, "f8", external=[(folder / "private.bin", 0, q.nbytes)])


def external_pipe(file, q, folder):
    os.mkfifo(folder / "pipe")
    file.create_dataset("q", q.shape, "f8", external=[(folder / "pipe", 0, q.nbytes)])


def virtual_dataset(file, q, folder):
    import h5py

    layout = h5py.VirtualLayout(q.shape, "f8")
    layout[:] = h5py.VirtualSource(folder / "other.h5", "q", shape=q.shape)
    file.create_virtual_dataset("q", layout)


def external_link(file, q, folder):
    import h5py

    file["q"] = h5py.ExternalLink(folder / "other.h5", "/q")


def external_group(file, q, folder):
    import h5py

    file["run/one"] = h5py.ExternalLink(folder / "other.h5", "/")


def external_names(file, q, folder):
    (folder / "names.bin").write_bytes(b"".join(f"q{k}".encode().ljust(8, b"\0") for k in range(q.shape[1])))
    file["block0_values"] = q
    file.create_dataset("block0_items", (q.shape[1],), "S8", external=[(folder / "names.bin", 0, 8 * q.shape[1])])


@pytest.mark.parametrize(
    "refer", [external_storage, external_pipe, virtual_dataset, external_link, external_group, external_names]
)
def test_hdf5_that_refers_to_another_file_is_refused(ur, log, tmp_path, refer):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["q"] = log.q
    with h5py.File(tmp_path / "log.h5", "w") as file:
        file["t"], file["tau"] = log.t, log.tau
        refer(file, log.q, tmp_path)
    with raises(InputError, "unsupported path"):
        read_log(tmp_path / "log.h5", ur)


def test_hdf5_links_inside_the_file_are_not_followed(ur, log, tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "log.h5", "w") as file:
        file["t"], file["q"], file["qd"], file["tau"] = log.t, log.q, log.qd, log.tau
        file["again"], file["nowhere"] = h5py.SoftLink("/q"), h5py.SoftLink("/missing/q")
        file.create_dataset("reference", data=file["q"].ref, dtype=h5py.ref_dtype)
    same(read_log(tmp_path / "log.h5", ur), log)


def test_pandas_names_must_be_as_many_as_columns(ur, log, tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "log.h5", "w") as file:
        file["df/block0_items"], file["df/block0_values"] = np.array(["q0", "q1"], "S8"), log.q
    with raises(InputError, "wrong-shape path"):
        read_log(tmp_path / "log.h5", ur, rate=100.0)


def test_a_pipe_in_the_folder_of_a_bag_is_refused(ur, tmp_path):
    (tmp_path / "metadata.yaml").write_text("rosbag2_bagfile_information:\n  relative_file_paths: [pipe.db3]\n")
    os.mkfifo(tmp_path / "pipe.db3")
    for path in (tmp_path, tmp_path / "pipe.db3"):
        with raises(InputError, "not-readable path"):
            read_log(path, ur)


def test_hdf5_says_what_it_needs(ur, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    (tmp_path / "log.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    with raises(MissingExtraError, "missing-extra h5py"):
        read_log(tmp_path / "log.h5", ur)


# ------------------------------------------------------------------------------------------------ odd tables
def test_lines_before_the_table_dates_and_words(ur, log, tmp_path):
    names = ["date", "phase", *count("q{}", 6, 1), *count("tau{}", 6, 1)]
    lines = ["Recorded: 2023-01-02", "Robot,UR5e", "Operator: somebody, else", "", ",".join(names)]
    for k, t in enumerate(log.t):
        stamp = datetime(2023, 1, 2, 12) + timedelta(seconds=float(t))
        numbers = (f"{x:.12g}" for x in (*log.q[k], *log.tau[k]))
        lines.append(",".join([stamp.isoformat(sep=" "), "moving", *numbers]))
    (tmp_path / "log.csv").write_text("\n".join(lines))
    read = read_log(tmp_path / "log.csv", ur)
    same(read, log, rates=False)
    assert "its first 3 lines are no part of the table" in read.notes[0]


def test_a_header_that_stands_again_and_quoted_decimal_commas(ur, log, tmp_path):
    names = ["t", *count("q{}", 6, 1), *count("tau{}", 6, 1)]
    rows = [[f"{x:.12g}" for x in (t, *q, *tau)] for t, q, tau in zip(log.t, log.q, log.tau, strict=True)]
    lines = [",".join(row) for row in (names, *rows[:30], names, *rows[30:])]
    (tmp_path / "pasted.csv").write_text("\n".join(lines))
    read = read_log(tmp_path / "pasted.csv", ur)
    same(read, log, rates=False)
    assert "the header stands again in line 32, 1 times in all" in read.notes[0]
    quoted = [",".join('"' + x.replace(".", ",") + '"' for x in row) for row in (names, *rows)]
    (tmp_path / "quoted.csv").write_text("\n".join(quoted))
    same(read_log(tmp_path / "quoted.csv", ur), log, rates=False)


def test_what_a_simulation_writes_is_read_without_a_word(tmp_path):
    robot = dl.load("planar-2r")
    run = dl.simulate(robot, lambda t, q, qd: -50 * q - 10 * qd, q0=[0.3, -0.2], duration=0.5)
    run.to_csv(tmp_path / "run.csv")
    read = read_log(tmp_path / "run.csv", robot)
    assert read.notes == () and read.qd is not None
    np.testing.assert_allclose(read.q[0], [0.3, -0.2])


# ------------------------------------------------------------------------------------------------ joints that are held
def test_fingers_that_a_log_lacks_are_held():
    from real_logs import real

    folder = real("panda_unisa")
    bare = np.loadtxt(folder / "exciting.csv", delimiter=",", skiprows=1)
    for source in (folder / "exciting.csv", bare):
        read = read_logs([source], dl.load(folder / "panda_erd.urdf"))
        assert read.robot.n == 7 and read.settings.locked == {"panda_finger_joint1": 0.0}
        assert "which are held: 'panda_finger_joint1' at 0" in read.logs[0].notes[0]


def test_counted_columns_may_be_those_of_an_arm_on_a_rail(ur, log):
    table = {"t": log.t, "q": log.q[:, :5], "tau": log.tau[:, :5]}
    with raises(InputError, "wrong-shape columns"):
        read_logs([table], ur)
    assert read_logs([table], ur, LogSettings(locked={"wrist_3_joint": 0.1})).robot.n == 5


def test_only_joints_at_the_ends_are_held(ur, log):
    columns = {"t": log.t} | {f"{j} position": log.q[:, k] for k, j in enumerate(ur.joint_names)}
    columns |= {f"{j} effort": log.tau[:, k] for k, j in enumerate(ur.joint_names)}
    still = np.full(len(log), 0.5)
    finger = {"wrist_3_joint position": still, "wrist_3_joint effort": 0 * still}
    without = {name: x for name, x in columns.items() if name != "wrist_3_joint effort"}
    for spoiled, at in ((columns | finger, 0.5), (without, 0.0)):
        read = read_logs([spoiled], ur)
        assert read.settings.locked == {"wrist_3_joint": at} and read.logs[0].joints == ur.joint_names[:-1]
    for joint in ("wrist_3_joint", "elbow_joint"):  # torques without motion, and a joint that carries others
        with raises(InputError, "wrong-value still") as caught:
            read_logs([columns | {f"{joint} position": still}], ur)
        assert f"--lock {joint}=" in str(caught.value)


def test_rows_without_numbers_are_left_out(ur, log):
    table = {"t": log.t, "q": log.q.copy(), "tau": log.tau}
    table["q"][[7, 30]] = np.nan
    read = read_logs([table], ur).logs[0]
    assert any("2 rows with NaN, infinite or absurd numbers left out" in note for note in read.notes)
    with raises(InputError, "not-finite bad_rows"):
        read_logs([table], ur, LogSettings(bad_rows="refuse"))


def test_degrees_are_refused_or_left_to_a_first_look(ur, log):
    table = {"t": log.t, "q": np.degrees(log.q + 3.0), "tau": log.tau}
    with raises(InputError, "wrong-unit units"):
        read_logs([table], ur)
    np.testing.assert_array_equal(read_logs([table], ur, look=True).logs[0].q, table["q"])


# ------------------------------------------------------------------------------------------- Parquet, damaged
def test_the_values_of_a_parquet_file_are_counted_as_pyarrow_counts_them(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        "t": np.arange(50.0),
        "q": [[1.0, 2.0]] * 25 + [[]] * 20 + [None] * 5,
        "words": ["x" * 300] * 50,
        "flags": [True] * 50,
        "pairs": pyarrow.array([[("k", 1)]] * 50, pyarrow.map_(pyarrow.string(), pyarrow.int64())),
    }
    table = pyarrow.table(columns | {f"c{k}": np.arange(50) for k in range(20)})
    for options in ({}, {"row_group_size": 7}, {"version": "1.0", "write_page_index": True}):
        parquet.write_table(table, tmp_path / "log.parquet", **options)
        whole = parquet.ParquetFile(tmp_path / "log.parquet").metadata
        groups = [whole.row_group(k) for k in range(whole.num_row_groups)]
        wanted = sum(group.column(k).num_values for group in groups for k in range(whole.num_columns))
        with (tmp_path / "log.parquet").open("rb") as file:
            assert count_values(file) == wanted


def test_a_damaged_parquet_file_does_not_end_the_process(tmp_path):
    """pyarrow calls std::terminate where the statistics of a column contradict the schema. In a process of its own."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "log.parquet"
    table = {"t": np.arange(50) * 0.01, "q": [[1.0, 2.0]] * 50, "tau": [[1.0, 2.0]] * 50}
    parquet.write_table(pyarrow.table(table), file)
    optional, required = b"\x02\x18\x07element", b"\x00\x18\x07element"
    assert optional in file.read_bytes()
    file.write_bytes(file.read_bytes().replace(optional, required))
    read = "import sys; from dalembert.identification.log.formats import read_table; read_table(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", read, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "cannot be read as Parquet" in done.stderr
