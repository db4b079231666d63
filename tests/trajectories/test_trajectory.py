"""Samples, tables, pictures; and where motions live."""

from __future__ import annotations

import csv
import subprocess
import sys

import numpy as np
import pytest

import dalembert as dl
from dalembert import trajectories as tr
from dalembert.errors import InputError
from dalembert.reference import Reference
from errors import raises


def test_they_are_references_found_from_the_front_door():
    assert dl.trajectories is tr
    assert isinstance(tr.minimum_jerk(0, 1, 1), Reference)


def test_importing_them_is_cheap():
    heavy = ("scipy", "matplotlib", "ruckig")
    code = f"import sys, dalembert.trajectories; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_samples():
    motion = tr.minimum_jerk([0, 1], [1, 0], 1.0)
    t, x, xd, xdd = motion.sample(0.3)
    assert np.allclose(t, [0, 0.3, 0.6, 0.9, 1.0])
    assert all(np.array_equal(a, b) for a, b in zip((x, xd, xdd), motion(t), strict=True))
    assert len(motion.sample(0.1).t) == 11, "no second end by rounding"
    assert len(tr.sines(1, 1).sample(0.5, until=2).t) == 5
    with raises(InputError, "missing until"):
        tr.sines(1, 1).sample(0.1)
    with raises(InputError, "out-of-range dt"):
        motion.sample(0)


def test_csv_gives_back_every_bit(tmp_path):
    arm = dl.load("planar-2r")
    motion = tr.minimum_jerk([0, 1], [1, 0], 1.0, robot=arm)
    file = motion.to_csv(tmp_path / "motion.csv", 0.01)
    with open(file, newline="", encoding="utf-8") as lines:
        head, *rows = csv.reader(lines)
    a, b = arm.joint_names
    assert head == ["t", a, b, f"{a}_d", f"{b}_d", f"{a}_dd", f"{b}_dd"]
    assert np.array_equal(np.array(rows, float), np.column_stack(motion.sample(0.01)))
    with pytest.raises(InputError, match="cannot be written"):
        motion.to_csv(tmp_path / "nowhere" / "motion.csv", 0.01)
    assert [p.name for p in tmp_path.iterdir()] == ["motion.csv"]


def test_plot(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    arm = dl.load("panda")
    q = np.array([0, -0.5, 0, -2, 0, 1.6, 0.8])
    figure = tr.trapezoid(q, q + 0.2, acceleration=5.0, robot=arm).plot()
    labels = [axis.get_ylabel() for axis in figure.axes]
    assert labels == ["position [rad]", "velocity [rad/s]", "acceleration [rad/s²]"]
    assert figure.axes[-1].get_xlabel() == "t [s]"
    assert [line.get_label() for line in figure.axes[0].lines] == list(arm.joint_names)
    circle = tr.circle([0, 0, 0], [0, 0, 1], [1, 0, 0]).plot()
    assert circle.axes[1].get_ylabel() == "dx/ds [m/m]" and circle.axes[-1].get_xlabel() == "s [m]"
    tr.fourier(np.ones((3, 1)), np.ones((3, 1)), 0.5).plot().savefig(tmp_path / "fourier.png")
    with raises(InputError, "out-of-range points"):
        tr.cubic(0, 1, 1).plot(points=1)
    plt.close("all")


def test_without_matplotlib_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(dl.MissingExtraError, match=r"pip install 'dalembert\[plot\]'"):
        tr.cubic(0, 1, 1).plot()


def test_times_that_are_none():
    motion = tr.cubic(0, 1, 1)
    for t in (np.nan, np.inf, [0.0, np.nan]):
        with raises(InputError, "not-finite t"):
            motion(t)
    with raises(InputError, "wrong-type t"):
        motion("now")


def test_repr():
    assert repr(tr.cubic([0, 1], [1, 2], 2)) == "<Piecewise x1, x2: 2 coordinates, t to 2 s>"
    assert repr(tr.sines(1, 1)) == "<Sines x1: 1 coordinate, no end>"
