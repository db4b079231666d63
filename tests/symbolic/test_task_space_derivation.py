"""Task space in symbols is task space in numbers."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from errors import raises


@pytest.mark.parametrize("name", ["planar-2r", "planar-3r", "elbow-3r"])
def test_quantities_are_those_of_the_numeric_algorithm(name):
    robot = dl.load(name)
    e = robot.equations()
    rng = np.random.default_rng(0)
    q, qd = rng.uniform(0.3, 1.0, (2, e.n))
    rows = {2: ("vx", "vy"), 3: ("vx", "vy", "wz" if name == "planar-3r" else "vz")}[e.n]
    task = robot.task_space(q, qd, rows=rows)
    values = {k: np.array([0.0 if x is None else x]) for k, x in e.quantity("Lambda").symbols.items()}
    values |= {f"q{k + 1}": q[k : k + 1] for k in range(e.n)} | {f"qd{k + 1}": qd[k : k + 1] for k in range(e.n)}
    for what, right in (("Lambda", task.M), ("mu", task.c), ("p", task.g)):
        assert np.allclose(e.quantity(what).value(values)[0].reshape(right.shape), right, rtol=1e-9, atol=1e-9)


def test_derivation_and_comparing():
    e = dl.load("planar-2r").equations()
    text = e.derivation("task-space").text()
    assert "F = Λ ẍ + μ + p" in text and "J⁻¹ = ⎡ l₂ c₁₂/(l₁ l₂ s₂)" in text
    assert e.compare("p2", "((m1 r1 + m2 l1) l2 c1 s12 - m2 l1 r2 s1 c12) g/(l1 l2 s2)")
    assert not e.compare("p2", "((m1 r1 + m2 l1) l2 c1 s12 + m2 l1 r2 s1 c12) g/(l1 l2 s2)")
    with raises(dl.InputError, "too-large joints"):
        dl.load("scara").equations().derivation("task-space")
