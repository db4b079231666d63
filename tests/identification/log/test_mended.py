"""Logs as they come: stale, repeated and lost rows, and times of clocks that jitter, drift, jump and start anew."""

from __future__ import annotations

import numpy as np
import pytest
from planted import motion

import dalembert as dl
from dalembert.identification.fit.identify import identify
from dalembert.identification.log.read import read_log
from dalembert.identification.log.stale import find_stale

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.ModelWarning")
STEP = 1e-3


@pytest.fixture(scope="module")
def robot():
    return dl.load("panda")


def record(robot, t, seed=0, noise=1e-5, tau_noise=0.2):
    """(t, q, tau) with dry and viscous friction."""
    q, qd, qdd = motion(robot.n, t, seed)
    rng = np.random.default_rng(seed + 1)
    tau = robot.inverse_dynamics(q, qd, qdd) + 2.0 * np.sign(qd) + qd + tau_noise * rng.normal(size=q.shape)
    return t, q + noise * rng.normal(size=q.shape), tau


@pytest.fixture(scope="module")
def clean(robot):
    return record(robot, np.arange(12_000) * STEP)


@pytest.fixture(scope="module")
def held_out(robot, clean):
    return judge(robot, *clean)[0]


def judge(robot, t, q, tau):
    log = read_log({"t": t, "q": q, "tau": tau}, robot)
    return identify(robot, log, consistent=False).held_out.total, log


def repeat(share, what, burst=1):
    def spoil(t, q, tau, rng):
        q, tau = q.copy(), tau.copy()
        for k in np.flatnonzero(rng.random(len(t) - 2 * burst) < share / burst) + 1:
            for i in range(k, k + burst):
                for x in [q] * ("q" in what) + [tau] * ("tau" in what):
                    x[i] = x[i - 1]
        return t, q, tau

    return spoil


def drop(share):
    def spoil(t, q, tau, rng):
        kept = rng.random(len(t)) >= share
        return t[kept], q[kept], tau[kept]

    return spoil


def jitter(size):
    return lambda t, q, tau, rng: (t + size * STEP * rng.uniform(-1, 1, len(t)), q, tau)


def late(t, q, tau, rng):
    return np.maximum.accumulate(t + STEP * rng.exponential(size=len(t))), q, tau


def coarse(size):
    return lambda t, q, tau, rng: (np.floor(t / (size * STEP) + 1e-9) * size * STEP, q, tau)


def anew(t, q, tau, rng):
    return np.where(t < 5, t, t - 5), q, tau


def odd_start(t, q, tau, rng):
    return np.concatenate([t[:1], t[1:] - 0.8 * STEP]), q, tau


def drift(t, q, tau, rng):
    return t * (1 + 2e-4 * t / t[-1]), q, tau


SPOILED = {
    "repeated 0.1 %": (repeat(0.001, ("q", "tau")), "repeat the positions, torques of the row before"),
    "repeated 6 %": (repeat(0.06, ("q", "tau")), "repeat the positions, torques of the row before"),
    "repeated 10 %": (repeat(0.1, ("q", "tau")), "repeat the positions, torques of the row before"),
    "bursts": (repeat(0.03, ("q", "tau"), 4), "repeat the positions, torques of the row before"),
    "positions repeated": (repeat(0.03, ("q",)), "repeat the positions of the row before"),
    "torques repeated": (repeat(0.03, ("tau",)), "repeat the torques of the row before"),
    "dropped 1 %": (drop(0.01), "missing samples filled in"),
    "dropped 10 %": (drop(0.1), "missing samples filled in"),
    "jitter of a tenth": (jitter(0.1), "jitter by 10 % of a step, but the positions are smoother at even steps"),
    "jitter of a step": (jitter(1.0), "smoother at even steps"),
    "arrival times": (late, "rows have the same time as the row before"),
    "a coarse clock": (coarse(3), "rows have the same time as the row before"),
    "5 % the same": (coarse(1.05), "rows have the same time as the row before"),
    "a restart": (anew, "the clock starts anew 1 time (row 5000 (from 0)): 2 runs, kept apart"),
    "one odd step": (odd_start, "1 of 12000 times are off by up to 80 % of a step"),
    "drift": (drift, "resampled at 999.8"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_the_held_out_error_is_that_of_the_clean_log(robot, clean, held_out, name):
    """(Before, 0.1 % of the rows repeated made the error ten times larger, and half of the others were refused.)"""
    spoil, words = SPOILED[name]
    found, log = judge(robot, *spoil(*clean, np.random.default_rng(5)))
    assert found < 1.3 * held_out and any(words in note for note in log.notes)


@pytest.mark.parametrize(("name", "rate", "seed"), [("ur5e", 125.0, 3), ("puma560", 30.0, 4)])
@pytest.mark.parametrize("kind", ["repeated 10 %", "dropped 10 %", "jitter of a tenth"])
def test_other_arms_and_rates(name, rate, seed, kind):
    other = dl.load(name)
    t, q, tau = record(other, np.arange(round(40 * rate)) / rate, seed, noise=2e-5, tau_noise=0.4)
    plain, _ = judge(other, t, q, tau)
    spoiled = SPOILED[kind][0](t * rate * STEP, q, tau, np.random.default_rng(6))
    found, _ = judge(other, spoiled[0] / (rate * STEP), *spoiled[1:])
    assert found < 1.3 * plain


def test_a_clock_with_one_odd_step_is_read(robot):
    """10 ms, with 2 ms at the start, as loggers write it that start in the middle of a cycle."""
    t = np.concatenate([[0.0], 0.002 + np.arange(2000) * 0.01])
    _, q, tau = record(robot, t, noise=0.0, tau_noise=0.0)
    read = read_log({"t": t, "q": q, "tau": tau}, robot)
    assert any("1 of 2001 times are off by up to 80 % of a step: resampled at 100 Hz" in n for n in read.notes)
    exact, _, _ = motion(robot.n, read.t)
    assert np.abs(read.q - exact).max() < 1e-6 and np.ptp(np.diff(read.t)) < 1e-9


def test_a_source_that_is_slower_than_the_log_has_a_clock_of_its_own(robot):
    """A source of 29.4 Hz read at 30 Hz gives each fiftieth row twice, and nothing is caught up after it."""
    t = np.arange(1500) / 30
    tick = np.floor(t * 29.4 + 0.5) / 29.4
    _, q, tau = record(robot, tick, noise=0.0, tau_noise=0.0)
    read = read_log({"t": t, "q": q, "tau": tau}, robot)
    assert any("their source is slower than the log" in n for n in read.notes)
    rate = 1 / np.diff(read.t).mean()
    assert abs(rate - 29.4) < 2e-3 and len(read) == len(np.unique(tick))
    shift = read.t - np.unique(tick)
    assert np.ptp(shift) < 5e-3 and abs(shift).max() < 1 / 29.4  # which of 34 ms a row was read in, nobody knows


def test_rows_that_came_in_the_wrong_order_change_places(robot, clean):
    rng = np.random.default_rng(0)
    order = np.argsort(np.arange(12_000) + rng.choice([0, 1.5], 12_000, p=[0.99, 0.01]), kind="stable")
    read = read_log(dict(zip(("t", "q", "tau"), (x[order] for x in clean), strict=True)), robot)
    assert any("rows are out of order by their times" in n for n in read.notes)
    np.testing.assert_array_equal(read.q, clean[1])


def test_an_arm_at_rest_is_not_stale():
    """Encoders that count, an arm that stops between motions, without noise and with digits of a file: rows repeat."""
    t = np.arange(4000) / 500
    v = np.maximum(np.sin(np.pi * t), 0.0)  # a second of motion, a second of rest
    q = np.cumsum(v)[:, None] / 500 * np.array([1.0, 0.01, 0.3])
    tau = 3 * np.gradient(v)[:, None] * np.array([50.0, 20.0, 1.0]) + np.sign(v)[:, None]
    for quantum in (1e-9, 1e-6, 1e-4, 1e-3):
        found = find_stale({"q": np.round(q / quantum) * quantum, "tau": np.round(tau, 3)})
        assert not any(mask.any() for mask in found.masks.values())


def test_torques_with_a_clock_of_their_own(robot):
    """Torques at 400 Hz beside positions at 1 kHz, each with its times: the last that came stands in each row."""
    t = np.arange(8000) * STEP
    own = np.arange(3205) * 2.5e-3 - 5e-3 + 4e-4
    last = np.searchsorted(own, t, "right") - 1
    q, _, _ = motion(robot.n, t)
    qe, qde, qdde = motion(robot.n, own)
    tau = robot.inverse_dynamics(qe, qde, qdde)
    names = ["t_q", *(f"q{k}" for k in range(7)), "t_tau", *(f"tau{k}" for k in range(7))]
    table = np.column_stack([t, q, own[last], tau[last]])
    read = read_log(dict(zip(names, table.T, strict=True)), robot)
    assert any("torques have a clock of their own, 't_tau'" in n for n in read.notes)
    exact = robot.inverse_dynamics(*motion(robot.n, read.t))
    assert np.abs(read.tau - exact)[10:-10].max() < 1e-4 * np.abs(exact).max()
    assert (
        np.abs(np.interp(read.t, t, tau[last][:, 0]) - exact[:, 0]).max() > 20 * np.abs(read.tau - exact)[10:-10].max()
    )
