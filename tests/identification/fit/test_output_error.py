"""Output error: what planted robots moved by, found again within the deviations that are stated."""

from functools import cache

import numpy as np
import pytest
from tests.rollout_words import rollouts

import dalembert as dl
from dalembert.errors import DalembertError
from dalembert.identification import Columns, Log, base, output_error
from dalembert.identification.fit.robot import identified
from dalembert.simulation import Sensors
from errors import raises

DT, NOISE = 1e-3, 1e-4


def fourier(robot, seed=1):
    rng = np.random.default_rng(seed)
    k, w = np.arange(1, 6), 2 * np.pi * 0.4
    a, b = rng.normal(size=(2, robot.n, 5)) * 0.3 / k

    def motion(t):
        s, c = np.sin(w * k * t), np.cos(w * k * t)
        x, v = (a * s + b * (c - 1)).sum(-1), (w * k * (a * c - b * s)).sum(-1)
        return robot.home + x, v, ((w * k) ** 2 * (-a * s - b * c)).sum(-1)

    return motion


@cache
def recorded(name, duration, rough=None):
    """A log of a robot under a sampled controller: torques as they were held, positions with noise; of a `rough` one
    with its friction."""
    robot = dl.load(name) if rough is None else rough
    motion = fourier(robot)
    q, qd, _ = (np.asarray(x, float) for x in motion(0.0))
    run = rollouts(
        robot,
        dl.control.ComputedTorque(robot, omega=15, zeta=1),
        q,
        qd,
        duration=duration,
        dt=DT,
        reference=motion,
        sensors=Sensors(sample_time=DT),
        friction=rough is not None,
        keep="all",
    )
    tau = np.stack([run[f"{joint}_torque"][0] for joint in robot.joint_names], -1)
    noise = NOISE * np.random.default_rng(0).normal(size=run.q[0].shape)
    return robot, Log(run.t, run.q[0] + noise, tau, tuple(robot.joint_names))


def spoiled(robot, columns, by=0.1):
    rng = np.random.default_rng(3)
    return identified(columns, columns.near(None) * rng.uniform(1 - by, 1 + by, len(columns.all_names)))


@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")  # spoiled inertias are none that bodies have
def test_a_panda_is_found_again():
    arm, log = recorded("panda", 4.0)
    columns = Columns(arm, friction=(), rotor=False)
    wrong = spoiled(arm, columns)
    found = output_error(wrong, log)
    minimal = base(columns)
    true, before = minimal.of(arm.parameters()), minimal.of(wrong.parameters())
    z = (found.base - true) / found.deviation
    assert found.converged and found.iterations <= 8 and minimal.rank == 43
    assert np.abs(z).max() < 4.0 and 0.6 < np.sqrt((z**2).mean()) < 1.5
    assert found.noise == pytest.approx(NOISE, rel=0.02)
    assert np.abs(found.base - true).max() < 0.03 * np.abs(before - true).max()
    # The robot that comes out moves as the true one does.
    q = arm.home + 0.3
    np.testing.assert_allclose(found.robot.gravity_torque(q), arm.gravity_torque(q), atol=0.02)


def test_without_noise_nothing_is_left():
    arm, log = recorded("scara", 2.0)
    exact = Log(log.t, recorded_positions(log), log.tau, log.joints)
    found = output_error(spoiled(arm, Columns(arm, friction=(), rotor=False)), exact, method="rk4")
    true = found.base_parameters.of(arm.parameters())
    assert found.noise < 1e-9 and np.abs(found.base - true).max() < 1e-5 * np.abs(true).max()


def recorded_positions(log):
    return log.q - NOISE * np.random.default_rng(0).normal(size=log.q.shape)


def test_friction_too():
    columns = Columns(dl.load("elbow-3r"), friction=("viscous",), rotor=False)
    values = columns.near(None) + np.array([0.4 * name.endswith(":viscous") for name in columns.all_names])
    arm, log = recorded("elbow-3r", 3.0, identified(columns, values))
    found = output_error(spoiled(arm, columns), log, friction="viscous")
    z = (found.base - base(columns).of(values)) / found.deviation
    assert any(name.endswith("viscous") for name in found.names) and np.abs(z).max() < 4.0


def test_a_list_of_logs_is_as_good_as_one():
    arm, log = recorded("scara", 2.0)
    half = len(log.t) // 2
    parts = [Log(log.t[k], log.q[k], log.tau[k], log.joints) for k in (slice(0, half), slice(half, None))]
    a, b = (output_error(arm, x, window=0.1, every=2) for x in (log, parts))
    assert np.abs(a.base - b.base).max() < 3 * a.deviation.max()


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        ({"t": lambda t: t**1.2}, {}, "wrong-value log"),
        ({"joints": lambda j: j[::-1]}, {}, "conflict log"),
        ({"q": lambda q: np.where(np.arange(len(q))[:, None] == 5, np.nan, q)}, {}, "not-finite q of the log"),
        ({}, {"window": 1e-3}, "too-few window"),
        ({}, {"window": 1e3}, "too-few log"),
        ({}, {"window": -1.0}, "out-of-range window"),
        ({}, {"friction": ("stribeck",)}, "unknown-name"),
        ({}, {"method": "rk5"}, "unknown-name"),
        ({}, {"every": 0}, "out-of-range every"),
        ({"tau": lambda tau: 1e6 * tau}, {"window": 1.0}, "diverged window"),
    ],
)
def test_refusals(change, words, message):
    arm, log = recorded("scara", 2.0)
    given = {name: getattr(log, name) for name in ("t", "q", "tau", "joints")}
    for name, edit in change.items():
        given[name] = edit(given[name])
    with raises(DalembertError, message):
        output_error(arm, Log(**given), **words)


def test_what_is_no_robot_and_no_log():
    arm, log = recorded("scara", 2.0)
    with raises(DalembertError, "wrong-type"):
        output_error("scara", log)
    with raises(DalembertError, "wrong-type"):
        output_error(arm, log.q)
    with raises(DalembertError, "too-few log"):
        output_error(arm, [])


def test_a_log_at_rest_tells_nothing_and_torques_in_other_units_no_parameters():
    arm = dl.load("planar-2r")
    t = 0.002 * np.arange(1500)
    tau = np.stack((19.0 + 8.0 * np.sin(3.0 * t) + 4.0 * np.sin(7.0 * t), 4.5 + 3.0 * np.cos(5.0 * t)), -1)
    rest = Log(t=t, q=np.zeros((1500, 2)), tau=np.tile([19.62, 4.905], (1500, 1)), joints=tuple(arm.joint_names))
    with raises(dl.InputError, "singular log"):
        output_error(arm, rest)
    function = dl.Experiment(arm, solver=dl.Solver(every=1), dt=0.002).function(("x0", "inputs.tau"), duration=t[-1])
    q = function(np.zeros(4), tau[:-1])[:, :2]
    found = output_error(arm, Log(t=t, q=q, tau=tau / 10.0, joints=tuple(arm.joint_names)))
    assert found.noise > 1e-3 and not found.converged  # inertias that run away are no answer
    assert found.message.startswith("it ends where") and np.isinf(found.deviation).all()
