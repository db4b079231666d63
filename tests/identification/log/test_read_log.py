"""Reading logs: formats, names, units, drives; and every trouble planted one by one, found and named."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from planted import arm, recorded, write_csv
from real_logs import real

import dalembert as dl
from dalembert.errors import InputError, MissingExtraError, UnknownNameError
from dalembert.identification.log.families import tokens, without_unit
from dalembert.identification.log.prepare import prepare
from dalembert.identification.log.read import read_log
from dalembert.identification.log.times import interpolate
from errors import raises

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.ModelWarning")
DIGITS = 1e-8  # nine digits are written


@pytest.fixture(scope="module")
def robot():
    return arm()


@pytest.fixture(scope="module")
def log(robot):
    return recorded(robot, rate=100.0, duration=3.0, noise=1e-6, tau_noise=0.05)[0]


@pytest.fixture
def table(log):
    """The log as plain columns, to be spoiled."""
    return {"t": log.t.copy(), "q": log.q.copy(), "qd": log.qd.copy(), "tau": log.tau.copy()}


def same(a, b, tolerance=DIGITS):
    for x, y in ((a.t, b.t), (a.q, b.q), (a.tau, b.tau)):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def joined(log):
    return np.concatenate([log.t[:, None], log.q, log.qd, log.tau], axis=1)


# ------------------------------------------------------------------------------------------------ formats
@pytest.mark.parametrize("delimiter", [",", ";", "\t", " ", "|"])
def test_a_text_file_with_any_delimiter(robot, log, tmp_path, delimiter):
    read = read_log(write_csv(tmp_path / "log.csv", log, delimiter=delimiter), robot)
    same(read, log)
    np.testing.assert_allclose(read.qd, log.qd, rtol=DIGITS, atol=DIGITS)
    assert read.joints == robot.joint_names and read.source == "log.csv" and read.notes == ()


def test_arrays_npz_npy_and_parquet_hold_the_same(robot, log, table, tmp_path):
    same(read_log(table, robot), log, 0)
    np.savez(tmp_path / "log.npz", **table)
    same(read_log(tmp_path / "log.npz", robot), log, 0)
    n = robot.n
    columns = {"t": 0, "q": range(1, n + 1), "tau": range(2 * n + 1, 3 * n + 1)}
    np.save(tmp_path / "log.npy", joined(log))
    same(read_log(tmp_path / "log.npy", robot, columns=columns), log, 0)
    same(read_log(joined(log), robot, columns=columns), log, 0)


def test_parquet(robot, log, table, tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    columns = {"t": log.t}
    columns |= {f"{j} position": log.q[:, k] for k, j in enumerate(robot.joint_names)}
    columns |= {f"{j} effort": log.tau[:, k] for k, j in enumerate(robot.joint_names)}
    parquet.write_table(pyarrow.table(columns), tmp_path / "log.parquet")
    same(read_log(tmp_path / "log.parquet", robot), log, 0)
    lists = {"t": log.t, "q": list(log.q), "tau": list(log.tau)}  # one list per row
    parquet.write_table(pyarrow.table(lists), tmp_path / "lists.parquet")
    same(read_log(tmp_path / "lists.parquet", robot), log, 0)


def test_parquet_keeps_nanoseconds_and_names_what_it_leaves_aside(robot, log, tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    file = tmp_path / "log.parquet"
    stamps = pyarrow.array([(1 << 60) + 1000 * k for k in range(len(log.t))], pyarrow.timestamp("ns"))
    columns = {f"{name}{k}": getattr(log, name)[:, k] for name in ("q", "tau") for k in range(robot.n)}
    parquet.write_table(pyarrow.table({"t": stamps, **columns}), file)
    np.testing.assert_allclose(np.diff(read_log(file, robot).t), 1e-6, rtol=1e-6)
    parquet.write_table(pyarrow.table({"t": stamps, **columns, "q1": ["a"] * len(log.t)}), file)
    with raises(InputError, "wrong-shape columns"):
        read_log(file, robot)


def test_parquet_that_is_no_log_is_refused_in_words(robot, log, tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    file = tmp_path / "log.parquet"
    rows = log.q.tolist()

    def read(**columns):
        parquet.write_table(pyarrow.table({"t": log.t, "q": rows, "tau": log.tau.tolist(), **columns}), file)
        return read_log(file, robot)

    for q, said in (
        ([*rows[:7], rows[7][:-1], *rows[8:]], "wrong-shape path"),
        ([*rows[:7], None, *rows[8:]], "wrong-shape path"),
        ([[[x] for x in row] for row in rows], "wrong-shape path"),
        ([["a" for _ in row] for row in rows], "wrong-shape path"),
        ([[*row[:-1], None] for row in rows], "not-finite q"),
        ([{"a": 1.0} for _ in rows], "wrong-shape path"),
    ):
        with raises(InputError, said):
            read(q=q)
    same(read(contacts=[[1.0] * (k % 3) for k in range(len(rows))]), log, 0)  # no group of the log: left aside
    same(read(q=pyarrow.array(rows, pyarrow.large_list(pyarrow.float64()))), log, 0)
    micro = np.round(1e6 * log.t).astype(int)
    for first in (0, 253_402_300_000_000_000):  # the year 9999, which nanoseconds do not reach
        stamps = pyarrow.array(micro + first, pyarrow.timestamp("us"))
        same(read(t=stamps), log, 1e-4 if first else DIGITS)
    same(read(t=pyarrow.array(micro, pyarrow.duration("us"))), log)
    torn = file.read_bytes()
    for cut in (5, 100, len(torn) - 9):
        file.write_bytes(torn[:cut])
        with raises(InputError, "not-readable path"):
            read_log(file, robot)


def test_times_that_no_clock_has_and_numbers_too_small_to_be_measured(robot, log, table):
    for scale in (5e-324, 1e-300, 1e300):
        with raises(InputError, "wrong-unit units"):
            read_log({**table, "t": np.arange(len(log.t)) * scale}, robot)
        with raises(InputError, "wrong-unit units"):
            prepare(replace(log, t=np.arange(len(log.t)) * scale))
    with raises(InputError, "wrong-value tau"):
        read_log({**table, "tau": 1e-300 * log.tau}, robot)
    with raises(InputError, "wrong-value still"):
        read_log({**table, "q": 1e-300 * log.q}, robot)
    for cutoff in (5e-324, 1e-3):
        with raises(InputError, "out-of-range cutoff"):
            prepare(log, cutoff=cutoff)


def test_numbers_in_names_do_not_count_to_a_billion(robot, log, tmp_path):
    names = ["t", *(f"q{k}" for k in range(robot.n)), "q900000000", *(f"tau{k}" for k in range(robot.n))]
    values = np.column_stack([log.t, log.q, log.q[:, 0], log.tau])
    np.savetxt(tmp_path / "log.csv", values, delimiter=",", header=",".join(names), comments="")
    with raises(InputError, "wrong-shape columns"):
        read_log(tmp_path / "log.csv", robot)
    names[robot.n + 1] = "q" + "9" * 5000  # Python does not read that number
    np.savetxt(tmp_path / "log.csv", values, delimiter=",", header=",".join(names), comments="")
    same(read_log(tmp_path / "log.csv", robot), log)


def test_random_bytes_are_no_bag(robot, tmp_path):
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    file = tmp_path / "log.bag"
    for head in (b"", b"#ROSBAG V2.0\n"):
        for seed in range(5):
            file.write_bytes(head + np.random.default_rng(seed).bytes(3000))
            with raises(InputError, "not-readable path"):
                read_log(file, robot)


def write_bag(path, log, stamps=True, order=None):
    from rosbags.rosbag2 import Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    types = store.types
    kind, header, time = (
        types[x] for x in ("sensor_msgs/msg/JointState", "std_msgs/msg/Header", "builtin_interfaces/msg/Time")
    )
    order = list(order or range(log.n))
    with Writer(path, version=9) as writer:
        connection = writer.add_connection("/joint_states", kind.__msgtype__, typestore=store)
        for k, t in enumerate(log.t):
            ns = round(1e9 * (t + 1.7e9))
            stamp = time(ns // 10**9, ns % 10**9) if stamps else time(0, 0)
            message = kind(
                header(stamp, ""), [log.joints[j] for j in order], log.q[k, order], log.qd[k, order], log.tau[k, order]
            )
            writer.write(connection, ns, store.serialize_cdr(message, kind.__msgtype__))


def test_a_ros_bag_by_the_names_in_its_messages(robot, log, tmp_path):
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    short = replace(log, t=log.t[:50], q=log.q[:50], qd=log.qd[:50], tau=log.tau[:50])
    write_bag(tmp_path / "bag", short, order=range(robot.n)[::-1])  # the order of the messages is not the robot's
    read = read_log(tmp_path / "bag", robot)
    np.testing.assert_array_equal(read.q, short.q)
    np.testing.assert_array_equal(read.tau, short.tau)
    assert np.abs(np.diff(read.t) - 0.01).max() < 1e-6
    assert any("50 messages of /joint_states" in note for note in read.notes)
    (file,) = (tmp_path / "bag").glob("*.db3")
    alone = file.rename(tmp_path / "alone.db3")  # without the metadata of its folder
    np.testing.assert_array_equal(read_log(alone, robot).q, short.q)
    alone.rename(file)
    with raises(UnknownNameError, "unknown-name"):
        read_log(tmp_path / "bag", robot, topic="/joints")
    write_bag(tmp_path / "late", short, stamps=False)
    assert any("times are those of arrival" in note for note in read_log(tmp_path / "late", robot).notes)
    with raises(InputError, "not-readable path"):
        (tmp_path / "empty").mkdir()
        read_log(tmp_path / "empty", robot)


def test_what_is_not_installed_is_said(robot, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "log.parquet").write_bytes(b"PAR1 and so on, and so on")
    with raises(MissingExtraError, "missing-extra pyarrow"):
        read_log(tmp_path / "log.parquet", robot)
    monkeypatch.setitem(sys.modules, "rosbags.highlevel", None)
    (tmp_path / "metadata.yaml").write_text("rosbag2_bagfile_information:\n")
    with raises(MissingExtraError, "missing-extra rosbags"):
        read_log(tmp_path, robot)


def test_bom_comments_commented_header_blank_lines_and_units_row(robot, log, tmp_path):
    plain = write_csv(tmp_path / "log.csv", log).read_text()
    head, _, body = plain.partition("\n")
    dressed = {
        "bom.csv": b"\xef\xbb\xbf" + plain.encode(),
        "utf16.csv": plain.encode("utf-16"),
        "comments.csv": f"% recorded on a Monday\n# again\n\n{plain}".encode(),
        "hidden.csv": f"# {head}\n{body}".encode(),
        "units.csv": f"{head}\n{','.join(['s'] + ['rad'] * 6 + ['rad/s'] * 6 + ['N m'] * 6)}\n{body}".encode(),
        "tail.csv": (head + ",\n" + body.replace("\n", ",\n")).encode(),
        "crlf.csv": plain.replace("\n", "\r\n").encode(),
    }
    for name, raw in dressed.items():
        (tmp_path / name).write_bytes(raw)
        same(read_log(tmp_path / name, robot), log)


def test_decimal_commas_are_noticed(robot, log, tmp_path):
    text = write_csv(tmp_path / "log.csv", log, delimiter=";").read_text()
    (tmp_path / "german.csv").write_text(text.replace(".", ","))
    read = read_log(tmp_path / "german.csv", robot)
    same(read, log)
    assert any("decimal commas" in note for note in read.notes)
    text = write_csv(tmp_path / "log.csv", log, fmt="%.6f").read_text()
    (tmp_path / "hopeless.csv").write_text(text.replace(".", ","))
    with raises(InputError, "syntax path"):
        read_log(tmp_path / "hopeless.csv", robot)


# ------------------------------------------------------------------------------------------------ names and units
def test_words_of_a_name():
    assert tokens("Joint2_actualPos") == ["joint", "2", "actual", "pos"]
    assert tokens("qd10") == ["qd", "10"]
    assert without_unit("q1 [deg]") == ("q1", "deg")
    assert without_unit("time_ms") == ("time", "ms")
    assert without_unit("q[0]") == ("q[0]", None)


@pytest.mark.parametrize(
    "q, qd, tau, t",
    [
        ("q{}", "qd{}", "tau{}", "t"),
        ("q_{}", "dq_{}", "torque_{}", "time"),
        ("position_joint{}", "velocity_joint{}", "effort_joint{}", "timestamp"),
        ("actualPos{}", "actualVel{}", "actualTorque{}", "Time [s]"),
        ("{joint}/position", "{joint}/velocity", "{joint}/effort", "header.stamp"),
        ("pos[{}]", "vel[{}]", "eff_torque[{}]", "t_s"),
    ],
)
def test_natural_names_in_any_order(robot, log, q, qd, tau, t):
    columns = {t: log.t}
    for k in reversed(range(robot.n)):  # the columns stand in another order than the joints
        for pattern, x in ((q, log.q), (tau, log.tau), (qd, log.qd)):
            columns[pattern.format(k + 1, joint=robot.joint_names[k])] = x[:, k]
    columns["target_q1"] = log.q[:, 0] + 0.1
    columns["temperature_1"] = log.q[:, 0]
    read = read_log(columns, robot)
    same(read, log, 0)
    assert read.notes == ("not used: 'target_q1', 'temperature_1'",)


def test_numbers_from_zero_and_ros_stamps_in_two_columns(robot, log):
    columns = {"header.stamp.secs": np.floor(log.t) + 1.7e9, "header.stamp.nsecs": np.round((log.t % 1) * 1e9)}
    columns |= {f"q{k}": log.q[:, k] for k in range(robot.n)} | {f"tau{k}": log.tau[:, k] for k in range(robot.n)}
    same(read_log(columns, robot), log, 1e-9)


def test_an_explicit_mapping_wins_and_is_checked(robot, log):
    n = robot.n
    columns = {f"q{k + 1}": log.q[:, k] + 1.0 for k in range(n)} | {"clock": log.t}
    columns |= {f"measured {j}": log.q[:, k] for k, j in enumerate(robot.joint_names)}
    columns |= {f"T{k + 1}": log.tau[:, k] for k in range(n)}
    mapping = {"t": "clock", "q": "measured {joint}", "tau": [f"T{k + 1}" for k in range(n)]}
    same(read_log(columns, robot, columns=mapping), log, 0)
    same(read_log(columns, robot, columns=mapping | {"tau": "T{i}"}), log, 0)
    same(
        read_log(columns, robot, columns=mapping | {"tau": dict(zip(robot.joint_names, mapping["tau"], strict=True))}),
        log,
        0,
    )
    bad = [
        ({"tau": ["T1"] * n}, InputError, "duplicate columns"),
        ({"tau": ["T1", "T2"]}, InputError, "wrong-shape columns"),
        ({"tau": "U{i}"}, UnknownNameError, "unknown-name"),
        ({"tau": [99] * n}, InputError, "out-of-range columns"),
        ({"torque": "T{i}"}, UnknownNameError, "unknown-name"),
        ({"tau": {"joint1": "T1"}}, InputError, "missing columns"),
        ({"tau": {"elbow": "T1"}}, UnknownNameError, "unknown-name"),
    ]
    for spoiled, error, words in bad:
        with raises(error, words):
            read_log(columns, robot, columns=mapping | spoiled)


def test_units_by_name_and_by_argument(robot, log, table):
    degrees = table | {"q": np.degrees(log.q), "qd": np.degrees(log.qd), "tau": 1e3 * log.tau, "t": 1e3 * log.t}
    units = {"q": "deg", "tau": "mNm", "t": "ms"}
    read = read_log(degrees, robot, units=units)
    same(read, log, 1e-12)
    np.testing.assert_allclose(read.qd, log.qd, atol=1e-12)  # rates follow the positions' unit
    columns = {"time [ms]": 1e3 * log.t}
    columns |= {f"q{k + 1} [deg]": np.degrees(log.q[:, k]) for k in range(robot.n)}
    columns |= {f"tau{k + 1} (mNm)": 1e3 * log.tau[:, k] for k in range(robot.n)}
    read = read_log(columns, robot)
    same(read, log, 1e-12)
    assert any("q is in deg" in note for note in read.notes)
    with raises(UnknownNameError, "unknown-name"):
        read_log(table, robot, units={"q": "grad"})
    with raises(InputError, "wrong-type units"):
        read_log(table, robot, units="deg")


@pytest.mark.parametrize("unit, start", [("s", 1.7e9), ("ms", 1.7e12), ("ns", 1.7e18), ("ms", 0.0), ("ns", 0.0)])
def test_the_unit_of_times_is_told_by_their_size(robot, log, table, unit, start):
    factor = {"s": 1.0, "ms": 1e3, "ns": 1e9}[unit]
    read = read_log(table | {"t": start + factor * log.t}, robot)
    np.testing.assert_allclose(read.t, log.t, atol=1e-6)  # a double since 1970 has 0.2 µs
    assert any(f"{unit}" in note for note in read.notes)


def test_sliding_joints_keep_their_meters():
    scara = dl.load("scara")
    log, _ = recorded(scara, rate=100.0, duration=2.0, size=0.5)
    kinds = [c.joint.kind == "prismatic" for c in scara.model.coordinates]
    assert any(kinds) and not all(kinds)
    q = np.where(kinds, log.q, np.degrees(log.q))
    read = read_log({"t": log.t, "q": q, "tau": log.tau}, scara, units={"q": "deg"})
    np.testing.assert_allclose(read.q, log.q, atol=1e-12)


# ------------------------------------------------------------------------------------------------ drives
def test_motor_side_to_joint_side(robot, log):
    """θ = G q, and power is the same on both sides: τᵀ q̇ = τ_mᵀ θ̇."""
    n = robot.n
    G = np.diag([60.0, -107.0, 53.0, 76.0, 72.0, 77.0])
    G[4, 3], G[5, 4] = 12.0, -7.0
    motor = {"t": log.t, "q": log.q @ G.T, "qd": log.qd @ G.T, "tau": log.tau @ np.linalg.inv(G)}
    read = read_log(motor, robot, coupling=G)
    np.testing.assert_allclose(read.q, log.q, atol=1e-10)
    np.testing.assert_allclose(read.tau, log.tau, atol=1e-10)
    np.testing.assert_allclose((read.tau * read.qd).sum(1), (motor["tau"] * motor["qd"]).sum(1), atol=1e-9)
    N = np.diag(G)
    geared = {"t": log.t, "q": log.q * N, "tau": log.tau / N / 0.2}
    read = read_log(geared, robot, ratio=N, torque_constant=0.2)
    np.testing.assert_allclose(read.q, log.q, atol=1e-10)
    np.testing.assert_allclose(read.tau, log.tau, atol=1e-10)
    only = {"t": log.t, "q": log.q, "tau": log.tau / N}
    np.testing.assert_allclose(read_log(only, robot, ratio={"tau": N}).tau, log.tau, atol=1e-10)
    np.testing.assert_allclose(read_log(only, robot, torque_coupling=np.diag(N)).tau, log.tau, atol=1e-10)
    for options, words in (
        ({"ratio": N, "coupling": G}, "conflict coupling"),
        ({"coupling": np.ones((n, n))}, "singular coupling"),
        ({"coupling": np.eye(3)}, "wrong-shape coupling"),
        ({"ratio": [1, 2]}, "wrong-shape ratio"),
        ({"ratio": 0}, "out-of-range ratio"),
        ({"units": {"tau": "A"}}, "missing torque_constant"),
    ):
        with raises(InputError, words):
            read_log(geared, robot, **options)


def test_sign_and_offset_per_joint(robot, log, table):
    s = np.array([1, -1, 1, 1, -1, 1.0])
    shift = np.linspace(0, 0.5, 6)
    counted = table | {"q": s * (log.q - shift), "qd": s * log.qd, "tau": s * log.tau}
    same(read_log(counted, robot, sign=s, offset=shift), log, 1e-12)
    read = read_log(table | {"tau": s * log.tau + 2.0 * s}, robot, sign={"tau": s}, offset={"tau": -2.0})
    same(read, log, 1e-12)
    with raises(InputError, "wrong-value sign"):
        read_log(table, robot, sign=2.0)
    with raises(UnknownNameError, "unknown-name"):
        read_log(table, robot, offset={"qd": 1.0})


def test_currents_need_a_torque_constant(robot, log):
    columns = {"t": log.t, "q": log.q} | {f"actual_current_{k}": log.tau[:, k] / 3.0 for k in range(robot.n)}
    with raises(InputError, "missing torque_constant"):
        read_log(columns, robot)
    np.testing.assert_allclose(read_log(columns, robot, torque_constant=3.0).tau, log.tau, rtol=1e-12)


def test_joints_that_a_log_lacks_can_be_locked():
    robot = dl.load("scara")
    held = robot.joint_names[-1]
    rest = robot.lock({held: 0.3})
    assert rest.joint_names == robot.joint_names[:-1]
    q, qd, qdd = np.random.default_rng(0).uniform(-0.5, 0.5, (3, 20, robot.n))
    q[:, -1], qd[:, -1], qdd[:, -1] = 0.3, 0, 0
    whole = robot.inverse_dynamics(q, qd, qdd)[:, :-1]
    np.testing.assert_allclose(rest.inverse_dynamics(q[:, :-1], qd[:, :-1], qdd[:, :-1]), whole, atol=1e-12)
    np.testing.assert_allclose(rest.fk(q[:, :-1]), robot.fk(q), atol=1e-14)
    with pytest.raises(UnknownNameError):
        robot.lock({"finger": 0.0})
    with pytest.raises(InputError):
        robot.lock({held: np.nan})


# ------------------------------------------------------------------------------------------------ time
def test_counting_with_a_rate(robot, log, table):
    del table["t"]
    with raises(InputError, "missing columns"):
        read_log(table, robot)
    same(read_log(table, robot, rate=100.0), log, 1e-12)
    same(read_log(table, robot, time=log.t), log, 0)
    with raises(InputError, "wrong-shape time"):
        read_log(table, robot, time=np.arange(5.0))
    with raises(InputError, "out-of-range rate"):
        read_log(table, robot, rate=-1)
    slow = read_log(table | {"t": log.t}, robot, rate=50.0)  # what is said counts, and is told
    np.testing.assert_allclose(slow.t, 2 * log.t, atol=1e-9)
    assert any("even steps of 0.02 s, not 0.01 s, as `rate=50` says" in note for note in slow.notes)
    same(read_log(table | {"t": log.t * 7}, robot, rate=100.0, columns={"t": None}), log, 1e-12)


def test_one_time_that_runs_backwards_is_wrong(robot, log, tmp_path):
    spoiled = replace(log, t=np.where(np.arange(len(log)) == 100, 0.5, log.t))
    read = read_log(write_csv(tmp_path / "log.csv", spoiled), robot)
    assert any(
        "1 times run backwards, the first: log.csv, line 102; taken from their neighbors" in n for n in read.notes
    )
    same(read, log)


def test_the_same_time_twice(robot, log, table):
    table["t"][7] = table["t"][6]
    read = read_log(table, robot)
    assert any("1 rows have the same time as the row before" in n and "row 7" in n for n in read.notes)
    assert np.abs(np.diff(read.t) - 0.01).max() < 1e-9 and len(read) == len(log)
    same(read, log, 1e-9)
    table["t"] = np.zeros(len(log))
    with raises(InputError, "wrong-order t"):
        read_log(table, robot)


@pytest.mark.parametrize("apart", [5e-324, 1e-300, 1e-17])
def test_times_that_are_closer_than_rounding_are_the_same(apart, robot, log, table):
    """The products of such steps underflow, which was a division by zero."""
    table["t"] = log.t - log.t[0]
    table["t"][1] = apart
    read = read_log(table, robot)
    assert any("but several rows have the same time: taken at 100 Hz" in n for n in read.notes)
    same(replace(read, t=log.t), log, 1e-9)


def test_gaps_are_cut_or_refused(robot, log, table):
    kept = np.r_[0:100, 150:300]
    spoiled = {name: x[kept] for name, x in table.items()}
    read = read_log(spoiled, robot)
    assert any("1 gap in the times: 0.51 s before row 100 (from 0), from t = 0.99 s to 1.5 s;" in n for n in read.notes)
    np.testing.assert_array_equal(read.q, log.q[kept])
    with raises(InputError, "too-few gaps"):
        read_log(spoiled, robot, gaps="refuse")


@pytest.mark.parametrize("jump", [0.6037, 12.0037, 1.7e9, 1.7e9 + 0.0037])
def test_a_clock_that_jumps_ahead_leaves_both_pieces_as_they_were(robot, jump):
    """NTP sets a clock from 0 to Unix time in mid-recording. The jump is no whole number of steps."""
    log, _ = recorded(robot, rate=100.0, duration=6.0, noise=1e-6)
    t = np.where(np.arange(len(log)) < 300, log.t, log.t + jump)
    read = read_log({"t": t, "q": log.q, "tau": log.tau}, robot)
    np.testing.assert_array_equal(read.q, log.q)
    note = next(n for n in read.notes if "1 gap in the times" in n)
    assert "row 300 (from 0)" in note and "2.99 s" in note and f"{t[300]:.10g} s" in note
    with raises(InputError, "too-few gaps"):
        read_log({"t": t, "q": log.q, "tau": log.tau}, robot, gaps="refuse")


def test_one_far_time_costs_no_memory(robot, log, table):
    import tracemalloc

    for place in (-1, 150):
        t = log.t.copy()
        t[place] = 1e7
        tracemalloc.start()
        read = read_log({**table, "t": t}, robot)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(read) == len(log) and peak < 20e6


def test_times_that_no_grid_holds_are_refused_with_the_row(robot, log, table):
    t = log.t * 1e-5
    t[150:] += 5e11
    with raises(InputError, "wrong-value t"):
        read_log({**table, "t": t}, robot)
    n = 400  # most steps are 2 ns, and every fourth is 0.09 s
    t = np.cumsum(np.where(np.arange(n) % 4, 2e-9, 0.09))
    q = 1e-3 * np.arange(n)[:, None] + np.arange(robot.n) + 1e-12 * np.random.default_rng(0).normal(size=(n, robot.n))
    q[0] += 5e8
    with raises(InputError, "too-few gaps"):
        read_log({"t": t, "q": q, "tau": np.sin(q)}, robot, outliers="keep", units={"q": "rad"})


def test_signals_with_clocks_of_their_own_need_times_that_increase(robot, log):
    """Two topics in one table, each row with the numbers of one of them."""
    names = [f"{group}{k}" for group in ("q", "tau") for k in range(robot.n)]

    def table_of(t, first):
        x = np.full((2 * len(log), 2 * robot.n), np.nan)
        x[::2, : robot.n], x[1::2, robot.n :] = log.q, log.tau
        x[:first, robot.n :] = np.nan
        return {"t": t} | dict(zip(names, x.T, strict=True))

    t = np.repeat(log.t, 2) + np.tile([0.0, 0.003], len(log))
    read = read_log(table_of(t, 0), robot)
    paired = table_of(np.repeat(log.t, 2), 0)
    np.testing.assert_allclose(read_log(paired, robot).tau, log.tau, atol=1e-9)
    repeated = t.copy()
    repeated[3::2] = repeated[1:-2:2]  # each time of the torques stands twice
    assert np.isfinite(read_log(table_of(repeated, 0), robot).tau).all()
    swapped = t.copy()
    swapped[[201, 203]] = swapped[[203, 201]]
    moved = table_of(swapped, 0)
    for name in names[robot.n :]:
        moved[name][[201, 203]] = moved[name][[203, 201]]
    np.testing.assert_allclose(read_log(moved, robot).tau, read.tau, atol=1e-9)
    lost = table_of(t, 0)
    for name in names[robot.n :]:
        lost[name][150:400] = np.nan
    pieces = read_log(lost, robot)
    assert any("1 gap in the times" in note for note in pieces.notes)
    assert np.diff(pieces.t).max() > 1.2  # nothing is made up in between
    absurd = table_of(t, 0)
    absurd[names[-1]][201] = 2e9
    spread = read_log(absurd, robot, bad_rows="drop")
    assert np.abs(spread.tau).max() < 1.1 * np.abs(log.tau).max()
    with raises(InputError, "not-finite bad_rows"):
        read_log(absurd, robot)
    with raises(InputError, "wrong-order t"):
        read_log(table_of(np.concatenate([t[:300], t[:300]]), 0), robot)
    late = table_of(t, 0)
    for name in names[: robot.n]:
        late[name][300:] = np.nan
    for name in names[robot.n :]:
        late[name][:302] = np.nan
    with raises(InputError, "wrong-value t"):
        read_log(late, robot)


def test_times_that_are_all_nan_are_refused(robot, log, tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    tau = log.tau.copy()
    tau[::2] = np.nan
    columns = {"t": np.full(len(log), np.nan), "q1": log.q.tolist(), "tau": tau.tolist()}
    parquet.write_table(pyarrow.table(columns), tmp_path / "log.parquet")
    for bad_rows in ("refuse", "drop"):
        with raises(InputError, "not-finite t"):
            read_log(tmp_path / "log.parquet", robot, bad_rows=bad_rows)


def test_uneven_times_are_resampled(robot, log):
    """A smooth motion sampled at jittering times comes back at even ones; the cubic's error is 3/128 h⁴ |q⁗|."""
    rng = np.random.default_rng(3)
    t = log.t + rng.uniform(-0.002, 0.002, len(log))
    from planted import motion

    q, qd, qdd = motion(robot.n, t)
    read = read_log({"t": t, "q": q, "tau": robot.inverse_dynamics(q, qd, qdd)}, robot)
    assert any("resampled at" in n for n in read.notes)
    exact, _, _ = motion(robot.n, read.t)
    assert np.abs(read.q - exact).max() < 2e-6 and np.ptp(np.diff(read.t)) < 1e-12
    with raises(InputError, "wrong-value resample"):
        read_log({"t": t, "q": q, "tau": q + 1}, robot, resample="refuse")
    wild = log.t + rng.uniform(-0.0049, 0.0049, len(log))
    same(read_log({"t": wild, "q": log.q, "tau": log.tau}, robot), log, 2e-3)  # the phase of a wild clock, in s


def test_even_samples_with_badly_written_times_are_left_alone(robot):
    log, _ = recorded(robot, rate=100.0, duration=3.0)  # no noise: smoothness tells
    t = log.t + np.random.default_rng(3).uniform(-0.002, 0.002, len(log))
    read = read_log({"t": t, "q": log.q, "tau": log.tau}, robot)
    assert any("smoother at even steps" in n for n in read.notes)
    np.testing.assert_array_equal(read.q, log.q)


def test_missing_samples_are_filled(robot, log, table):
    kept = np.delete(np.arange(len(log)), [50, 51, 120])
    read = read_log({name: x[kept] for name, x in table.items()}, robot)
    assert len(read) == len(log) and any("3 missing samples filled in" in n for n in read.notes)
    assert np.abs(read.q - log.q).max() < 2e-5  # noise of 1e-6, weights of a cubic across three steps


def test_resampling_is_exact_for_cubics():
    rng = np.random.default_rng(0)
    t = np.cumsum(rng.uniform(0.5, 1.5, 30))
    x = np.stack([t**3 - 5 * t**2, 2 * t], axis=1)
    at = rng.uniform(t[0], t[-1], 50)
    np.testing.assert_allclose(interpolate(t, x, at), np.stack([at**3 - 5 * at**2, 2 * at], axis=1), rtol=1e-10)


# ------------------------------------------------------------------------------------------------ bad numbers
@pytest.mark.parametrize(
    "value, words",
    [(np.nan, "nan is not a number"), (np.inf, "inf is infinite"), (1e282, r"1e\+282 is no measurement of an arm")],
)
def test_numbers_that_are_none(robot, log, tmp_path, value, words):
    q = log.q.copy()
    q[40, 2] = value
    path = write_csv(tmp_path / "log.csv", replace(log, q=q))
    with raises(InputError, "not-finite bad_rows"):
        read_log(path, robot)
    read = read_log(path, robot, bad_rows="drop")
    assert any("1 rows with NaN, infinite or absurd numbers left out" in n and "line 42" in n for n in read.notes)
    assert np.isfinite(read.q).all() and np.abs(read.q - log.q).max() < 1e-4
    q[:, 2] = value
    with raises(InputError, "not-finite q3"):
        read_log(write_csv(tmp_path / "log.csv", replace(log, q=q)), robot, bad_rows="drop")


def test_spikes_are_counted_placed_and_taken_out(robot, log, tmp_path):
    tau = log.tau.copy()
    tau[33, 1] += 60.0
    tau[200, 4] -= 20.0
    path = write_csv(tmp_path / "log.csv", replace(log, tau=tau))
    read = read_log(path, robot, outliers="keep")
    (note,) = [n for n in read.notes if "spikes" in n]
    assert note.startswith("2 single spikes in the torques: line 35 (joint2), line 202 (joint5); left as they are")
    np.testing.assert_allclose(read.tau, tau, atol=1e-6)
    read = read_log(path, robot)
    assert any("replaced by the median" in n for n in read.notes)
    assert np.abs(read.tau - log.tau).max() < 1.0
    assert not any("spikes" in n for n in read_log(write_csv(tmp_path / "log.csv", log), robot).notes)


def test_truncated_rows(robot, log, tmp_path):
    text = write_csv(tmp_path / "log.csv", log).read_text()
    (tmp_path / "cut.csv").write_text(text[:-60])
    read = read_log(tmp_path / "cut.csv", robot)
    assert len(read) == len(log) - 1
    assert any("the last line (301) is cut off after" in n for n in read.notes)
    lines = text.splitlines()
    lines[100] = lines[100][:30]
    (tmp_path / "inner.csv").write_text("\n".join(lines))
    read = read_log(tmp_path / "inner.csv", robot)
    assert any("1 of 300 rows do not have 19 fields: lines 101 (" in n for n in read.notes)
    (tmp_path / "many.csv").write_text("\n".join([lines[0], *(line[:30] for line in lines[1:60]), *lines[60:]]))
    with raises(InputError, "wrong-shape path"):
        read_log(tmp_path / "many.csv", robot)


def test_words_among_the_numbers(robot, log, tmp_path):
    lines = write_csv(tmp_path / "log.csv", log).read_text().splitlines()
    cells = lines[9].split(",")
    cells[3] = "oops"
    lines[9] = ",".join(cells)
    (tmp_path / "log.csv").write_text("\n".join(lines))
    with raises(InputError, "syntax path"):
        read_log(tmp_path / "log.csv", robot)


# ------------------------------------------------------------------------------------------------ logs that are none
def test_torques_that_are_all_zero(robot, log, table):
    with raises(InputError, "wrong-value tau"):
        read_log(table | {"tau": 0 * log.tau}, robot)


def test_a_joint_that_stands_still(robot, log, table):
    table["q"][:, 3] = 0.25
    with raises(InputError, "wrong-value still"):
        read_log(table, robot)
    assert any("kept, as asked" in n for n in read_log(table, robot, still="keep").notes)
    table["q"] = log.q
    table["tau"][:, 2] = 1.0
    with raises(InputError, "wrong-value still"):
        read_log(table, robot)


def test_two_identical_columns(robot, log, table):
    table["q"][:, 4] = table["q"][:, 1]
    with raises(InputError, "duplicate columns"):
        read_log(table, robot)


def test_rates_that_never_change_are_not_used(robot, log, table):
    read = read_log(table | {"qd": 0 * log.qd}, robot)
    assert read.qd is None and any("the recorded rates never change" in n for n in read.notes)


def test_wrong_joint_count(robot, log, table):
    with raises(InputError, "wrong-shape columns"):
        read_log(table | {"q": log.q[:, :5], "qd": log.qd[:, :5], "tau": log.tau[:, :5]}, robot)
    seven = {name: np.column_stack([x, x[:, 0] + 1]) if x.ndim == 2 else x for name, x in table.items()}
    with raises(InputError, "wrong-shape columns"):
        read_log(seven, robot)
    gap = {"t": log.t, "tau": log.tau} | {f"q{k + 1}": log.q[:, k] for k in (0, 1, 3, 4, 5)}
    with raises(InputError, "wrong-shape columns"):
        read_log(gap, robot)
    named = {"t": log.t, "tau": log.tau} | {f"{j}_pos": log.q[:, k] for k, j in enumerate(robot.joint_names[:5])}
    with raises(InputError, "missing columns"):
        read_log(named, robot)


def test_degrees_are_refused_unless_said(robot, log, table):
    degrees = table | {"q": np.degrees(log.q)}
    with raises(InputError, "wrong-unit units"):
        read_log(degrees, robot)
    same(read_log(degrees | {"qd": np.degrees(log.qd)}, robot, units={"q": "deg"}), log, 1e-12)
    np.testing.assert_array_equal(read_log(degrees, robot, units={"q": "rad"}).q, degrees["q"])  # the user insists


def test_missing_columns(robot, log, table, tmp_path):
    del table["tau"]
    with raises(InputError, "missing columns"):
        read_log(table, robot)
    np.savetxt(tmp_path / "bare.csv", np.random.default_rng(0).normal(size=(50, 19)), delimiter=",")
    with raises(InputError, "missing columns"):
        read_log(tmp_path / "bare.csv", robot)
    double = "t,q1,q1,q3,q4,q5,q6," + ",".join(f"tau{k}" for k in range(1, 7))
    body = np.concatenate([log.t[:, None], log.q, log.tau], axis=1)
    np.savetxt(tmp_path / "double.csv", body, delimiter=",", header=double, comments="")
    with raises(InputError, "duplicate path"):
        read_log(tmp_path / "double.csv", robot)


@pytest.mark.parametrize(
    "name, raw, words",
    [
        ("empty.csv", b"", "too-few path"),
        ("blank.csv", b"\n# nothing\n\n", "too-few path"),
        ("header.csv", b"t,q1,q2\n", "too-few path"),
        ("letter.txt", b"Dear Sir,\nplease find\nattached\n", "too-few path"),
        ("song.mp3", b"ID3\x00\x01\x02\x00\xff\xfb\x90" * 100, "not-readable path"),
        ("torn.npz", b"PK\x03\x04 and then nothing", "not-readable path"),
        ("torn.npy", b"\x93NUMPY\x01\x00", "not-readable path"),
    ],
)
def test_what_is_not_a_log_at_all(robot, tmp_path, name, raw, words):
    (tmp_path / name).write_bytes(raw)
    with raises(InputError, words) as caught:
        read_log(tmp_path / name, robot)
    assert name in str(caught.value)


def test_other_refusals(robot, log, table, tmp_path):
    with raises(InputError, "not-readable path"):
        read_log(tmp_path / "nowhere.csv", robot)
    with raises(InputError, "wrong-type source"):
        read_log(42, robot)
    with raises(InputError, "too-few source"):
        read_log({name: x[:5] for name, x in table.items()}, robot)
    with raises(InputError, "wrong-shape source"):
        read_log(table | {"tau": log.tau[:-1]}, robot)
    with raises(InputError, "wrong-shape source"):
        read_log(np.zeros((3, 4, 5)), robot)
    with raises(UnknownNameError, "unknown-name"):
        read_log(table, robot, gaps="ignore")
    np.savez(tmp_path / "objects.npz", q=np.array([{}], dtype=object))
    with raises(InputError, "not-readable path"):
        read_log(tmp_path / "objects.npz", robot)


# ------------------------------------------------------------------------------------------------ real logs
def test_the_log_of_a_ur10():
    folder = real("ur10_unisa")
    read = read_log(folder / "exciting.csv", dl.load(folder / "ur10_erd.urdf"))
    assert len(read) == 3441 and read.notes == () and read.qd is not None


def test_the_log_of_a_panda_needs_its_fingers_held():
    folder = real("panda_unisa")
    robot = dl.load(folder / "panda_erd.urdf")
    with raises(InputError, "wrong-shape columns"):
        read_log(folder / "exciting.csv", robot)
    read = read_log(folder / "exciting.csv", robot.lock({"panda_finger_joint1": 0.0}))
    assert len(read) == 713 and any("14 rows (1.9 %) repeat the positions" in n for n in read.notes)
    assert any("taken at the steps of their source, 29.3965 Hz" in n for n in read.notes)


def test_the_log_of_a_tx40_in_one_call():
    """Motor angles and motor torques with a coupled wrist, against the formulas of its authors."""
    folder = real("staubli_tx40_figaroh")
    N = [32, 32, 45, -48, 45, 32]
    G = np.diag(N).astype(float)
    G[5, 4] = 32
    zero = [0, -np.pi / 2, np.pi / 2, 0, 0, 0]
    robot = dl.load(folder / "tx40_mdh_modified.urdf")
    read = read_log(
        folder / "tx40_motor.npz", robot, columns={"q": "q_motor", "tau": "i_motor"}, coupling=G, offset=zero
    )
    raw = np.load(folder / "tx40_motor.npz")
    H = np.diag(N).astype(float)
    H[4, 5] = 32
    np.testing.assert_allclose(read.tau, raw["i_motor"] @ H.T, atol=1e-12)
    np.testing.assert_allclose((read.q - zero) @ G.T, raw["q_motor"], atol=1e-9)
    assert len(read) == 45_000 and abs(read.t[-1] - 44_999 * 0.0002) < 1e-9
    assert read.notes == ("time counted in steps of dt = 0.0002 s, which the file says",)
