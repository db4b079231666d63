"""The momentum observer at the steps of a robot's computer: what it sees, from the first sample on, and as C."""

from __future__ import annotations

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

import dalembert as dl
from dalembert.control import MomentumObserver
from errors import raises

GCC = shutil.which("gcc") or shutil.which("cc")


def record(arm, h, seconds=4.0):
    """t, q, q̇, τ of an arm in motion from the first sample on."""
    t = np.arange(round(seconds / h)) * h
    w = np.linspace(0.8, 1.6, arm.n)
    q, qd, qdd = np.sin(np.outer(t, w)), np.cos(np.outer(t, w)) * w, -np.sin(np.outer(t, w)) * w**2
    return t, q, qd, arm.inverse_dynamics(q, qd, qdd)


@pytest.mark.parametrize("rates", [True, False])
def test_a_step_rises_as_it_should_and_nothing_else_does(rates):
    arm = dl.load("elbow-3r")
    t, q, qd, tau = record(arm, 0.002)
    seen = MomentumObserver(arm, gain=[20.0, 30.0, 40.0]).sampled(0.002, rates)
    quiet = seen.residuals(q, qd, tau)
    # differences at half steps, and lags that M(q) does not share: of second order in both
    assert np.abs(quiet).max() < (1e-4 if rates else 0.05) * np.abs(tau).max()
    pushed = tau.copy()
    pushed[t >= 1.0] -= [5.0, 0.0, -2.0]  # τ_ext: the drives give so much less
    first = int(np.searchsorted(t, 1.0))
    rise = seen.residuals(q, qd, pushed)[first:] - quiet[first:]
    assert np.allclose(rise, [5.0, 0.0, -2.0] * seen.rise(len(rise)), atol=1e-9)
    assert np.abs(rise[-1] - [5, 0, -2]).max() < 1e-6


def test_any_gain_is_stable_at_any_step():
    arm = dl.load("planar-2r")
    _, q, qd, tau = record(arm, 1 / 30)
    for gain in (1.0, 25.0, 1e4):
        seen = MomentumObserver(arm, gain=gain).sampled(1 / 30)
        assert np.abs(seen.residuals(q, qd, tau)).max() < 0.01 * np.abs(tau).max()


def test_the_kernel_is_the_replay_step_by_step():
    arm = dl.load("planar-2r")
    _, q, qd, tau = record(arm, 0.01, 0.5)
    for rates in (True, False):
        seen = MomentumObserver(arm, gain=20.0, friction=True).sampled(0.01, rates)
        expected = seen.residuals(q, qd, tau)
        kernel, z = seen.kernel([0.1, 1e9]), np.zeros(seen.size)
        for k in range(len(q)):
            z, r, alarms = kernel(*((q[k], qd[k], tau[k]) if rates else (q[k], tau[k])), z)
            assert np.array_equal(r, expected[k])
            assert alarms.tolist() == [float(abs(r[0]) > 0.1), 0.0]
        assert z[0] == pytest.approx(0.01 * len(q))


@pytest.mark.skipif(GCC is None, reason="no C compiler")
def test_c_sees_the_same(tmp_path):
    arm = dl.load("planar-2r")
    _, q, qd, tau = record(arm, 0.01, 0.5)
    tau[20:] += 3.0
    seen = MomentumObserver(arm, gain=20.0).sampled(0.01)
    kernel = seen.kernel([1.0, 1.0])
    (tmp_path / "watch.c").write_text(kernel.c_source("watch"))
    flags = [GCC, "-std=c99", "-O2", "-shared", "-fPIC", "watch.c", "-o", "watch.so", "-lm"]
    subprocess.run(flags, check=True, cwd=tmp_path)
    watch = ctypes.CDLL(str(tmp_path / "watch.so")).watch
    z, r, alarms = np.zeros(seen.size), np.zeros(2), np.zeros(2)
    expected = seen.residuals(q, qd, tau)
    for k in range(len(q)):
        new = np.zeros(seen.size)
        arrays = (q[k], qd[k], tau[k], z, new, r, alarms)
        watch(*(np.ascontiguousarray(a).ctypes.data_as(ctypes.c_void_p) for a in arrays))
        assert np.array_equal(r, expected[k])
        z = new
    assert alarms.tolist() == [1.0, 1.0]


def test_wrong_words():
    arm = dl.load("planar-2r")
    with raises(dl.InputError, "out-of-range step"):
        MomentumObserver(arm, gain=20.0).sampled(0.0)
    with raises(dl.InputError, "wrong-type rates"):
        MomentumObserver(arm, gain=20.0).sampled(0.01, rates="yes")
