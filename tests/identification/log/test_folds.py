"""Folds: what is held out is not the motion that was fitted."""

from __future__ import annotations

import numpy as np
import pytest
from planted import motion

from dalembert.errors import InputError
from dalembert.identification.log.filters import find_period
from dalembert.identification.log.folds import cut_folds
from dalembert.identification.log.samples import Samples

NAMES = ("a", "b", "c")


def run(t, q, cutoff=5.0):
    z = np.zeros_like(q)
    return Samples(t, q, z, z, z, NAMES, float(np.median(np.diff(t))), cutoff, np.zeros(3), np.ones(3))


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
    assert abs(find_period(q, 0.02, longest=0.75) - 5.0) < 0.02


def test_what_does_not_repeat_has_no_period():
    t = np.arange(0, 40, 0.02)
    for seed in range(5):
        assert find_period(wander(t, seed), 0.02, longest=0.75) is None
    rest = wander(t) * np.clip(np.minimum(t - 8, 32 - t), 0, 1)[:, None]  # at rest before and after
    assert find_period(rest, 0.02, longest=0.75) is None


def test_folds_of_a_periodic_motion_are_parts_of_its_period():
    """In every repetition the same part: no state that is held out was fitted."""
    t = np.arange(0, 23.0, 0.02)
    q, qd, _ = motion(3, t)
    folds = cut_folds([run(t, q)])
    assert folds.distinct and folds.count == 5 and abs(folds.period - 5.0) < 0.01
    assert "repeats itself every 5 s" in folds.notes[0] and "one of 5 parts" in folds.notes[0]
    (label,) = folds.labels
    state = np.concatenate([q / q.std(axis=0), qd / qd.std(axis=0)], axis=1)
    for k in range(5):
        inside, outside = state[label == k], state[(label != k) & (label >= 0)]
        assert 100 < len(inside) < 300
        nearest = np.min(np.linalg.norm(inside[::7, None] - outside[None], axis=2), axis=1)
        assert np.median(nearest) > 0.3
    plain = np.arange(len(t)) * 3 // len(t)  # thirds of the time: the same motion
    inside, outside = state[plain == 2], state[plain < 2]
    assert np.median(np.min(np.linalg.norm(inside[::7, None] - outside[None], axis=2), axis=1)) < 0.05


def test_folds_of_other_motions_are_stretches_of_time():
    t = np.arange(0, 40, 0.02)
    folds = cut_folds([run(t, wander(t)), run(t[:1000], wander(t[:1000], 1))], count=4)
    assert folds.period is None and folds.distinct and folds.notes == () and folds.count == 4
    for label in folds.labels:
        changes = np.flatnonzero(np.diff(label[label >= 0]))
        assert len(changes) == 3 and (label < 0).mean() < 0.05


def test_runs_that_repeat_each_other_are_one_motion():
    t = np.arange(0, 20, 0.02)
    folds = cut_folds([run(t, wander(t)), run(t + 100, wander(t) + 1e-3)])
    assert folds.period == pytest.approx(20.0, rel=1e-4) and folds.distinct
    assert np.mean(folds.labels[0] != folds.labels[1]) < 0.01


def test_a_motion_too_short_to_be_cut_needs_another_log():
    t = np.arange(0, 20, 0.02)
    q = np.sin(2 * np.pi * t / 1.0)[:, None] * [1.0, 0.5, 0.3]
    folds = cut_folds([run(t, q, cutoff=3.0)])
    assert not folds.distinct and "judge on another log" in folds.notes[0]
    assert set(np.unique(folds.labels[0])) >= {0, 1, 2, 3, 4}
    with pytest.raises(InputError, match="count"):
        cut_folds([run(t, q)], count=1)
