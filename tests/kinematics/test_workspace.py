"""The workspace: reach, slices, pictures."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from motion_arms import arm

import dalembert as dl
from tolerances import ROUNDING, error


def test_the_ring_of_a_planar_arm():
    """|l₁ − l₂| ≤ r ≤ l₁ + l₂, filled; μ is best where q₂ = ±π/2, r = √2."""
    robot = dl.Robot.from_dh([{"a": 1.0}, {"a": 0.4}])
    found = robot.workspace(20_000)
    r = np.linalg.norm(found.points[:, :2], axis=-1)
    assert found.plane == (0, 1) and np.isclose(found.reach, 1.4, atol=1e-3)
    assert 0.6 - 1e-12 <= r.min() < 0.61 and r.max() <= 1.4 + 1e-12
    assert np.isclose(r[found.values.argmax()], np.sqrt(1 + 0.16), atol=0.01)
    assert error(found.values, robot.manipulability(found.q)) == 0
    assert error(found.points, robot.fk(found.q)[:, :3, 3]) == 0


def test_samples_lie_within_the_limits_and_repeat():
    robot = arm("puma560")
    found, again = robot.workspace(500), robot.workspace(500)
    assert (found.q >= robot.limits.lower).all() and (found.q <= robot.limits.upper).all()
    assert np.array_equal(found.q, again.q)
    assert not np.array_equal(found.q, robot.workspace(500, seed=1).q)
    assert repr(found).startswith("<Workspace of 'puma560': 500 states, reach ")
    assert found.extent.shape == (2, 3) and found.plane == (0, 1, 2)


def test_slices():
    found = arm("puma560").workspace(4000)
    cut = found.slice("z", 0.5, 0.2)
    assert (np.abs(cut.points[:, 2] - 0.5) <= 0.1).all() and 0 < len(cut.q) < 4000
    planar = arm("planar-3r").workspace(4000).slice("phi", np.pi, 0.4)
    phi = arm("planar-3r").fk(planar.q)
    assert error(np.cos(planar.phi), phi[:, 0, 0]) < ROUNDING
    assert (np.cos(planar.phi) < np.cos(np.pi - 0.2) + 1e-9).all()
    with pytest.raises(dl.InputError, match="no sample has z"):
        found.slice("z", 9, 0.1)
    with pytest.raises(dl.UnknownNameError, match="unknown coordinate 'w'"):
        found.slice("w", 0, 0.1)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(dl.MissingExtraError, match="dalembert\\[plot\\]"):
        arm("planar-2r").workspace(20).plot()


@pytest.mark.parametrize("samples", (0, -3, 2.5, "many"))
def test_bad_numbers_of_samples(samples):
    with pytest.raises(dl.InputError, match="samples must be"):
        arm("puma560").workspace(samples)


@pytest.mark.parametrize("name, panels", [("planar-1r", 1), ("planar-2r", 1), ("cartesian-pp", 1), ("puma560", 2)])
def test_pictures(name, panels, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    found = arm(name).workspace(600)
    figure = found.plot()
    assert len(figure.axes) == panels + 1  # and the color bar
    figure.savefig(tmp_path / "workspace.png")
    assert (tmp_path / "workspace.png").stat().st_size > 2000
    own, ax = pyplot.subplots()
    assert found.plot(ax) is own
    if panels == 2:
        assert len(found.slice("z", 0.5, 0.4).plot().axes) == 2
        assert len(found.slice("phi", 0.0, 0.8).plot().axes) == 3
    arm(name).workspace(300, measure="condition").plot()  # infinite values are left out
    pyplot.close("all")


def test_the_best_condition_is_the_smallest():
    """Each cell shows the best value met in it: of a condition number the least, of the other measures the largest."""
    from matplotlib import pyplot

    for measure, best in (("condition", np.min), ("isotropy", np.max), ("yoshikawa", np.max)):
        found = arm("planar-2r").workspace(400, measure=measure)
        shown = found.plot().axes[0].collections[0].get_array()
        values = found.values[np.isfinite(found.values)]
        assert np.isclose(best(shown), best(values))
        assert (shown.mean() < values.mean()) == (measure == "condition")
    pyplot.close("all")


def test_a_workspace_measured_in_the_axes_of_the_tool():
    robot = arm("ur5e")
    found = robot.workspace(50, rows=("vx", "vy"), expressed_in="local")
    assert np.array_equal(found.values, robot.manipulability(found.q, rows=("vx", "vy"), expressed_in="local"))
    assert not np.allclose(found.values, robot.workspace(50, rows=("vx", "vy")).values)
