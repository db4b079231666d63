"""A robot in closed loop, with encoders and noise, identified from what it recorded: `benchmarks/truth.py` in small."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import dalembert as dl

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from truth import closed_loop, study


def test_truth_within_stated_deviations():
    """Twelve runs of 64 parameters: some 68 % within one deviation, 95 within two, all but a few within three."""
    robot = dl.load("panda")
    found = np.abs(study(robot, closed_loop(robot, seconds=6.0), 12)[0])
    assert 0.58 < np.mean(found < 1) < 0.78
    assert np.mean(found < 2) > 0.9 and np.mean(found < 3) > 0.98
