"""Preparing logs: filters without phase, derivatives against closed forms, and the cut-off that the data suggest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from planted import PERIOD, arm, motion, recorded
from real_logs import real

import dalembert as dl
from dalembert.errors import InputError, MissingExtraError, UnknownNameError
from dalembert.identification.log import filters
from dalembert.identification.log.filters import density, floor_of, meeting
from dalembert.identification.log.prepare import make_ready, preparation, prepare
from dalembert.identification.log.read import read_log
from dalembert.identification.log.samples import Log
from errors import raises

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.ModelWarning")
METHODS = ("butterworth", "central", "savgol", "fourier")


@pytest.fixture(scope="module")
def robot():
    return arm()


@pytest.fixture(scope="module")
def clean(robot):
    return recorded(robot, rate=500.0, duration=15.0, with_rates=False)


def inner(x, share=0.2):
    k = int(share * len(x))
    return x[k : len(x) - k]


# ------------------------------------------------------------------------------------------------ filters
@pytest.mark.parametrize("order", [1, 2, 4, 6])
@pytest.mark.parametrize("cutoff", [3.0, 20.0, 180.0])
def test_the_filter_is_that_of_scipy_run_forwards_and_backwards(order, cutoff):
    signal = pytest.importorskip("scipy.signal", reason="SciPy is the oracle here")
    x = np.cumsum(np.random.default_rng(0).normal(size=(4000, 2)), axis=0)
    (ours,) = filters.smooth(x, 1 / 500, cutoff, order)
    theirs = signal.sosfiltfilt(signal.butter(order, cutoff, fs=500, output="sos"), x, axis=0)
    # The same response; only the ends differ, 2.4 s away, which the slowest pole forgets as fast as it can.
    ends = np.exp(-2 * np.pi * cutoff * np.sin(np.pi / (2 * order)) * 2.4)
    assert np.abs(inner(ours - theirs, 0.3)).max() < (1e-9 + ends) * np.abs(x).max()


def test_zero_phase_and_unit_gain_at_rest():
    t = np.arange(5000) / 1000
    constant = np.stack([np.full_like(t, 3.0), 2.0 - 0.7 * t], axis=1)
    q, qd, qdd = filters.smooth(constant, 1e-3, 5.0, 4, (0, 1, 2))
    np.testing.assert_allclose(q, constant, atol=1e-12)  # constants and straight lines pass as they are
    np.testing.assert_allclose(qd, [[0.0, -0.7]] * len(t), atol=1e-9)
    np.testing.assert_allclose(qdd, 0, atol=1e-6)
    for f in (0.5, 2.0, 5.0, 8.0):  # a sine comes out smaller, and neither early nor late
        x = np.stack([np.sin(2 * np.pi * f * t), np.cos(2 * np.pi * f * t)], axis=1)
        (y,) = filters.smooth(x, 1e-3, 5.0, 4)
        y, s, c = inner(y, 0.3), inner(x[:, 0], 0.3), inner(x[:, 1], 0.3)
        basis = np.stack([s, c], axis=1)
        (along, across), *_ = np.linalg.lstsq(basis, y[:, 0], rcond=None)
        gain = filters.butterworth_gain(np.array([f]), 5.0, 1000.0, 4)[0]
        assert abs(along - gain) < 2e-3 and abs(across) < 2e-3
    assert filters.butterworth_gain(np.array([0.0, 5.0, 500.0]), 5.0, 1000.0, 4) == pytest.approx([1.0, 0.5, 0.0])


def test_what_is_linear_stays_so_through_the_filter():
    """Positions and torques pass the same filter, so that τ = J q̈ + b q̇ + k q holds after it as before, even for what
    lies above the cut-off. With another filter on one side it does not."""
    t = np.arange(6000) / 1000
    w = 2 * np.pi * np.array([0.5, 2.0, 7.0, 11.0])
    a = np.array([1.0, 0.3, 0.02, 0.01])
    q = (a * np.sin(np.outer(t, w))).sum(1)[:, None]
    qd = (a * w * np.cos(np.outer(t, w))).sum(1)[:, None]
    qdd = (-a * w**2 * np.sin(np.outer(t, w))).sum(1)[:, None]
    log = Log(t, q, 2.0 * qdd + 0.5 * qd + 7.0 * q, ("joint",))

    def left(s):
        return np.abs(inner(s.tau - 2.0 * s.qdd - 0.5 * s.qd - 7.0 * s.q)).max() / np.abs(s.tau).max()

    s = prepare(log, cutoff=8.0, decimate=1)
    assert left(s) < 1e-5  # the ends, 1.2 s away
    other = prepare(log, cutoff=6.0, decimate=1)
    k = (len(s) - len(other)) // 2
    crossed = replace(s.part(slice(k, k + len(other))), tau=other.tau)
    assert left(crossed) > 1e-2


def test_local_polynomials_are_those_of_scipy():
    signal = pytest.importorskip("scipy.signal", reason="SciPy is the oracle here")
    x = np.random.default_rng(1).normal(size=(300, 3)).cumsum(axis=0)
    found = filters.local_polynomial(x, 0.01, 12, 4)
    for k, y in enumerate(found):
        theirs = signal.savgol_filter(x, 25, 4, deriv=k, delta=0.01, axis=0)[12:-12]
        np.testing.assert_allclose(y, theirs, atol=1e-8 * np.abs(theirs).max())


def test_the_window_of_a_polynomial_has_its_cutoff():
    for cutoff, degree in ((5.0, 4), (20.0, 3), (40.0, 4)):
        half = filters.half_window(cutoff, 1000.0, degree)
        t = np.arange(-half, half + 1) / 1000
        kernel = filters.local_polynomial(np.eye(2 * half + 1), 1e-3, half, degree)[0][0]
        power = abs(kernel @ np.exp(2j * np.pi * cutoff * t)) ** 2
        assert 0.35 < power < 0.65  # the formula is good to some percent in frequency


# ------------------------------------------------------------------------------------------------ derivatives
# Relative to the largest, on a motion up to 1 Hz at 500 Hz. Butterworth at 20 Hz: the ends, which 0.1 s have not wholly
# forgotten, and (1/20)⁸ of the band. Central differences: (ωh)²/6. Polynomials: their own flatness. Fourier: the
# period, found to a millionth.
ERRORS = {
    "butterworth": (1e-6, 1e-4, 1e-2),
    "central": (1e-6, 1e-4, 1e-2),
    "savgol": (1e-5, 1e-4, 1e-3),
    "fourier": (1e-6, 1e-6, 3e-6),
}


@pytest.mark.parametrize("method", METHODS)
def test_derivatives_against_the_closed_form(robot, clean, method):
    log, _ = clean
    s = prepare(log, method=method, cutoff=20.0)
    exact = motion(robot.n, s.t)
    for x, y, tolerance in zip((s.q, s.qd, s.qdd), exact, ERRORS[method], strict=True):
        assert np.abs(x - y).max() < tolerance * np.abs(y).max()
    assert s.joints == robot.joint_names and abs(np.diff(s.t) - s.dt).max() < 1e-9


def test_away_from_the_ends_derivatives_are_exact(robot, clean):
    s = prepare(clean[0], cutoff=20.0, decimate=1)
    _, qd, qdd = motion(robot.n, s.t)
    assert np.abs(inner(s.qd - qd, 0.1)).max() < 1e-8 * np.abs(qd).max()
    assert np.abs(inner(s.qdd - qdd, 0.1)).max() < 1e-7 * np.abs(qdd).max()


def test_rates_from_a_recorded_column(robot):
    log, _ = recorded(robot, rate=500.0, duration=10.0, noise=1e-3)
    own = prepare(log, cutoff=20.0)
    assert any("rates as recorded, which are less noisy" in n for n in own.notes)
    exact = motion(robot.n, own.t)
    assert np.abs(own.qdd - exact[2]).max() < 1e-2 * np.abs(exact[2]).max()
    derived = prepare(log, cutoff=20.0, derivatives="position")
    assert np.abs(derived.qdd - exact[2]).max() > 5 * np.abs(own.qdd - exact[2]).max()
    late = replace(log, qd=np.roll(log.qd, 10, axis=0))  # 20 ms
    assert any("recorded rates differ from the positions'" in n for n in prepare(late, cutoff=20.0).notes)
    forced = prepare(late, cutoff=20.0, derivatives="velocity")
    assert np.abs(forced.qd - exact[1]).max() > 1e-2


def test_rates_that_lag_a_little_are_advanced(robot):
    """A drive that filters its rates is late: by little, it is made good; the rates of its commands are none."""
    log, _ = recorded(robot, rate=500.0, duration=10.0, noise=1e-3)
    _, early, _ = motion(robot.n, log.t - 4e-3)
    read = prepare(replace(log, qd=early), cutoff=20.0)
    assert any("rates as recorded, 4 ms late" in n for n in read.notes)
    exact = motion(robot.n, read.t)
    assert np.abs(read.qd - exact[1]).max() < 2e-3 * np.abs(exact[1]).max()
    commanded = log.qd + 0.05 * np.sin(7 * log.t)[:, None]  # tracked badly
    assert any("recorded rates differ from" in n for n in prepare(replace(log, qd=commanded)).notes)
    coarse = np.round(log.qd / 0.5) * 0.5  # [rad/s]
    precise, _ = recorded(robot, rate=500.0, duration=10.0, noise=1e-6)
    notes = prepare(replace(precise, qd=coarse)).notes
    assert any("recorded rates" in n and "not used" in n for n in notes)


def test_each_joint_has_the_better_rates(robot):
    log, _ = recorded(robot, rate=500.0, duration=10.0, noise=1e-3)
    poor = log.qd.copy()
    poor[:, 2] += 0.3 * np.random.default_rng(0).normal(size=len(log))
    s = prepare(replace(log, qd=poor), cutoff=20.0)
    (note,) = [n for n in s.notes if n.startswith("rates of")]
    assert "joint3" not in note and "joint1, joint2, joint4" in note
    _, _, qdd = motion(robot.n, s.t)
    off = (np.abs(s.qdd - qdd) / np.abs(qdd).max(axis=0)).max(axis=0)
    assert off[2] > 3 * np.delete(off, 2).max()


# ------------------------------------------------------------------------------------------------ several cut-offs
def test_a_log_made_ready_gives_samples_at_any_cutoff(robot):
    log, _ = recorded(robot, rate=500.0, duration=12.0, noise=1e-5, tau_noise=0.2, with_rates=False)
    ready = make_ready(log)
    tried = ready.candidates()
    assert ready.spectra.cutoff in tried and tried[0] < 3 * ready.spectra.motion and len(tried) > 5
    for cutoff in tried:
        made, alone = ready.at(cutoff).samples, prepare(log, cutoff=cutoff)
        for name in ("t", "q", "qd", "qdd", "tau", "direction", "rest", "quiet"):
            np.testing.assert_array_equal(getattr(made, name), getattr(alone, name))
    # Fewer samples through shorter transforms are the same samples.
    thin, whole = ready.at(1.5, decimate=64).samples, ready.at(1.5, decimate=1).samples
    for name in ("q", "qd", "qdd", "tau", "direction"):
        x, y = getattr(thin, name), getattr(whole, name)[::64]
        np.testing.assert_allclose(x, y, atol=1e-7 * np.abs(y).max())


# ------------------------------------------------------------------------------------------------ Fourier
def test_the_period_is_found(robot):
    for period in (PERIOD, 3.217):
        t = np.arange(0, 3.3 * period, 0.01)
        q, _, _ = motion(robot.n, t, period=period)
        q = q + 1e-4 * np.random.default_rng(0).normal(size=q.shape)
        made = preparation(Log(t, q, q + 1, robot.joint_names), method="fourier", cutoff=5.0)
        assert abs(made.period - period) < 1e-4 * period
        assert any(f"found: {made.period:.6g} s" in n and "over 3 periods" in n for n in made.samples.notes)
        assert abs(len(made.samples) * made.samples.dt - period) < 2 * made.samples.dt


def wander(t, seed=0):
    """A motion that never repeats itself."""
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.5, 4.0, (6, 3)) * np.sqrt([2.0, 3.0, 5.0])
    return np.sin(t[:, None, None] * w).sum(axis=1)


@pytest.mark.parametrize("noise", [0.0, 0.03])
@pytest.mark.parametrize("turns", [1.4, 2.0, 3.3, 10.0])
def test_a_period_is_found_in_noise_with_drift_and_without_its_end(noise, turns):
    t = np.arange(0, turns * 5.0, 0.02)
    q, _, _ = motion(3, t)
    q = q + noise * np.random.default_rng(0).normal(size=q.shape) + 0.02 * t[:, None] / t[-1]
    assert abs(filters.find_period(q, 0.02, longest=0.75) - 5.0) < 0.02


def test_what_does_not_repeat_has_no_period():
    t = np.arange(0, 40, 0.02)
    for seed in range(5):
        assert filters.find_period(wander(t, seed), 0.02, longest=0.75) is None
    rest = wander(t) * np.clip(np.minimum(t - 8, 32 - t), 0, 1)[:, None]  # at rest before and after
    assert filters.find_period(rest, 0.02, longest=0.75) is None


def test_periods_average_noise(robot):
    log, _ = recorded(robot, rate=200.0, duration=8 * PERIOD, noise=1e-4, tau_noise=1.0, with_rates=False)
    s = prepare(log, method="fourier", cutoff=6.0)
    q, _, qdd = motion(robot.n, s.t)
    count = 2 * 30 + 1
    assert (s.q - q).std() < 1.2e-4 * np.sqrt(count / len(log))
    np.testing.assert_allclose(s.quiet, np.sqrt(count / len(log)), rtol=0.1)
    assert np.abs(s.qdd - qdd).max() < 0.03 * np.abs(qdd).max()


def test_a_motion_without_period_is_refused(robot):
    t = np.arange(2000) / 100
    q = np.stack([np.sin((1 + 0.1 * k) * t * (1 + 0.05 * t)) for k in range(6)], axis=1)
    log = Log(t, q, q + 1, robot.joint_names, source="chirp.csv")
    with raises(InputError, "infeasible period"):
        prepare(log, method="fourier")
    with raises(InputError, "out-of-range period"):
        prepare(log, method="fourier", period=50.0)


# ------------------------------------------------------------------------------------------------ cut-off and noise
def test_white_noise_has_the_density_it_should():
    x = 0.3 * np.random.default_rng(0).normal(size=(20_000, 2))
    f, P = density(x, 0.001)
    np.testing.assert_allclose(floor_of(f, P), 2 * 0.3**2 * 0.001, rtol=0.05)  # σ² over half the sampling rate
    np.testing.assert_allclose(P.sum(axis=0) * f[1], 0.09, rtol=0.05)


def test_signal_meets_noise_where_it_was_planted():
    """A first-order spectrum S/(1 + (f/f₀)²)² crosses a floor N at f₀ sqrt(sqrt(S/N) − 1)."""
    rng = np.random.default_rng(2)
    f = np.fft.rfftfreq(100_000, 1e-3)
    shape = 1 / (1 + (f / 2.0) ** 2)
    white = rng.normal(size=100_000)
    x = np.fft.irfft(np.fft.rfft(white) * shape, 100_000) + 0.01 * rng.normal(size=100_000)
    f, P = density(x[:, None], 1e-3)
    planted = 2.0 * np.sqrt(100.0 - 1)  # sqrt(S/N) = 1/0.01
    assert abs(meeting(f, P, floor_of(f, P)) - planted) < 0.2 * planted


def test_the_cutoff_follows_the_noise():
    """A motion with a long tail, 1/(1 + (f/1 Hz)²)², under ever more noise; within 7 to 30 times its bandwidth."""
    N, step = 20_000, 1e-3
    rng = np.random.default_rng(0)
    shape = 1 / (1 + np.fft.rfftfreq(N, step) ** 2) ** 2
    smooth = np.fft.irfft(np.fft.rfft(rng.normal(size=(2, N))) * shape, N).T
    found = []
    for noise in (1e-7, 1e-5, 1e-3, 1e-1):
        x = smooth + noise * smooth.std() * rng.normal(size=smooth.shape)
        made = preparation(Log(np.arange(N) * step, x, 5 * x, ("a", "b")))
        s = made.spectra
        assert 7 * s.motion <= s.cutoff * 1.0001 and s.cutoff <= 30 * s.motion * 1.0001
        assert any("chosen: positions meet their noise at" in n for n in made.samples.notes)
        found.append(s.cutoff)
    assert found[0] > found[2] > found[3] and found[0] >= found[1]


def test_a_motion_that_ends_at_one_hertz_is_seen_to(robot):
    log, _ = recorded(robot, rate=500.0, duration=10.0, noise=1e-6, tau_noise=0.1, with_rates=False)
    assert 0.6 < preparation(log).spectra.motion < 1.3  # the window smears by 0.3 Hz


def test_filtering_helps_with_noise(robot):
    """Against the torques without noise: the chosen cut-off is better than none by far, and near the best of a
    sweep."""
    log, _ = recorded(robot, rate=500.0, duration=10.0, noise=2e-5, tau_noise=0.5, with_rates=False, rub=0.0)

    def wrong(s):
        return np.linalg.norm(robot.inverse_dynamics(s.q, s.qd, s.qdd) - s.tau) / np.linalg.norm(s.tau)

    chosen = wrong(prepare(log))
    sweep = [wrong(prepare(log, cutoff=f)) for f in (3.0, 6.0, 12.0, 25.0, 50.0, 100.0)]
    assert chosen < 0.1 * wrong(prepare(log, cutoff=np.inf)) and chosen < 2.5 * min(sweep)


def test_rest_and_quiet_are_the_noise_that_is_left(robot):
    t = np.arange(20_000) / 1000
    q, _, _ = motion(robot.n, t)
    rng = np.random.default_rng(0)
    still = Log(t, q + 1e-4 * rng.normal(size=q.shape), 5 + 0.3 * rng.normal(size=q.shape), robot.joint_names)
    s = prepare(still, cutoff=20.0, decimate=1)
    _, qd, _ = motion(robot.n, s.t)
    np.testing.assert_allclose(s.quiet, (s.tau - 5).std(axis=0), rtol=0.2)
    np.testing.assert_allclose(np.maximum(4 * (s.qd - qd).std(axis=0), 2e-3 * np.abs(qd).max(axis=0)), s.rest, rtol=0.2)


def test_decimation_after_filtering(robot, clean):
    log, _ = clean
    whole = prepare(log, cutoff=10.0, decimate=1)
    auto = preparation(log, cutoff=10.0)
    assert auto.decimation == 10 and auto.samples.dt == pytest.approx(0.02)
    np.testing.assert_array_equal(auto.samples.qdd, whole.qdd[::10])
    assert auto.trimmed == 96 and whole.t[0] == pytest.approx(log.t[96])
    assert any("96 samples (0.192 s) trimmed at each end" in n for n in auto.samples.notes)
    assert any("one sample in 10 kept: 50 Hz" in n for n in auto.samples.notes)
    with raises(InputError, "out-of-range decimate"):
        prepare(log, cutoff=10.0, decimate=50)


def test_pieces_between_gaps_are_filtered_each_for_itself(robot, clean):
    log, _ = clean
    kept = np.r_[0:3000, 4000:7400, 7450:7480]
    cut = replace(log, t=log.t[kept], q=log.q[kept], tau=log.tau[kept])
    s = prepare(cut, cutoff=20.0, decimate=1)
    assert any("1 of 3 pieces between gaps are too short" in n for n in s.notes)
    exact = motion(robot.n, s.t)
    assert np.abs(s.q - exact[0]).max() < 1e-5 and np.abs(s.qdd - exact[2]).max() < 2e-2 * np.abs(exact[2]).max()
    assert (np.diff(s.t) > 1.0).sum() == 1 and len(s) == 3000 + 3400 - 4 * 48


def test_no_filter_at_all(robot, clean):
    s = prepare(clean[0], cutoff=np.inf)
    assert s.cutoff == np.inf and len(s) == len(clean[0]) - 4 and "no filter" in s.notes
    np.testing.assert_allclose(s.tau, clean[0].tau[2:-2], atol=1e-9)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"cutoff": -1.0}, "out-of-range cutoff"),
        ({"cutoff": "low"}, "wrong-type cutoff"),
        ({"cutoff": 250.0}, "out-of-range cutoff"),
        ({"cutoff": 0.1}, "too-few cutoff"),
        ({"order": 0}, "out-of-range order"),
        ({"order": 1, "method": "savgol"}, "out-of-range order"),
        ({"cutoff": np.inf, "method": "savgol"}, "missing cutoff"),
        ({"decimate": 0}, "wrong-value decimate"),
        ({"decimate": "some"}, "wrong-value decimate"),
        ({"derivatives": "velocity"}, "missing derivatives"),
        ({"period": 0}, "out-of-range period"),
    ],
)
def test_bad_options(clean, options, words):
    with raises(InputError, words):
        prepare(clean[0], **options)


def test_unknown_names_and_things(clean):
    with raises(UnknownNameError, "unknown-name"):
        prepare(clean[0], method="butterwort")
    with raises(UnknownNameError, "unknown-name"):
        prepare(clean[0], derivatives="acceleration")
    with raises(InputError, "wrong-type"):
        prepare({"t": [1, 2, 3]})
    with raises(InputError, "wrong-value log"):
        prepare(replace(clean[0], q=0 * clean[0].q))
    with raises(InputError, "too-few log"):
        log = clean[0]
        prepare(replace(log, t=log.t[:5], q=log.q[:5], tau=log.tau[:5]))


def test_the_spectra_are_drawn_with_the_cutoff(clean, monkeypatch, tmp_path):
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    made = preparation(clean[0], cutoff=12.5)
    figure = made.plot()
    lines = [line for axes in figure.axes for line in axes.get_lines() if line.get_label() == "cut-off: 12.5 Hz"]
    assert len(lines) == 2 and all(line.get_xdata()[0] == 12.5 for line in lines)
    figure.savefig(tmp_path / "spectra.png")
    matplotlib.pyplot.close(figure)
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dalembert\[plot\]'"):
        made.plot()


# ------------------------------------------------------------------------------------------------ real logs
def fitted(robot, s):
    """Relative residual in-sample and held out (first two thirds, last third) of plain least squares."""
    n = robot.n
    eye = np.eye(n)
    more = (s.qd, np.clip(s.qd / s.rest, -1, 1), np.ones_like(s.qd), s.qdd)
    Y = np.concatenate([robot.regressor(s.q, s.qd, s.qdd), *(x[:, :, None] * eye for x in more)], axis=-1)
    k = 2 * len(s) // 3

    def solve(a):
        return np.linalg.lstsq(Y[a].reshape(-1, Y.shape[-1]), s.tau[a].ravel(), rcond=1e-9)[0]

    def left(a, p):
        return np.linalg.norm(s.tau[a] - Y[a] @ p) / np.linalg.norm(s.tau[a])

    everything, first, last = slice(None), slice(0, k), slice(k, None)
    return left(everything, solve(everything)), left(last, solve(first))


@pytest.mark.parametrize(
    "folder, file, urdf, band, least, held",
    [
        ("ur10_unisa", "exciting.csv", "ur10_erd.urdf", (5, 20), 0.066, 0.086),
        ("panda_unisa", "exciting.csv", "panda_erd.urdf", (3, 8), 0.028, 0.034),
        ("staubli_tx40_figaroh", "tx40_motor.npz", "tx40_mdh_modified.urdf", (50, 150), 0.130, 0.22),
    ],
)
def test_real_logs_fit_no_worse_than_others_have_fitted_them(folder, file, urdf, band, least, held):
    robot, options = dl.load(real(folder) / urdf), {}
    if "panda" in folder:
        robot = robot.lock({"panda_finger_joint1": 0.0})
    if "tx40" in folder:
        G = np.diag([32.0, 32, 45, -48, 45, 32])
        G[5, 4] = 32
        options = {"columns": {"tau": "i_motor"}, "coupling": G, "offset": [0, -np.pi / 2, np.pi / 2, 0, 0, 0]}
    s = prepare(read_log(real(folder) / file, robot, **options))
    assert band[0] < s.cutoff < band[1]
    inside, outside = fitted(robot, s)
    assert inside < least and outside < held
    if "tx40" in folder:  # standing still for the last second: no sign of these rates is believed
        assert (np.abs(s.qd[s.t > 8.2]) < s.rest).mean() > 0.9
