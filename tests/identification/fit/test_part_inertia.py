"""Dismantled parts: pendulums against simulation, tensors against known bodies, CAD against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dalembert as dl
from dalembert.describe import mass
from dalembert.describe.description import Box, Cylinder, Mesh, Sphere
from dalembert.errors import InputError, UnknownNameError
from dalembert.identification.fit.part_inertia import (
    MATERIALS,
    Moment,
    Solid,
    cad,
    material,
    pendulum,
    tensor,
    with_parts,
)
from dalembert.simulation.fixed_step import integrate
from errors import raises
from tolerances import ROUNDING, error

# Crossings of zero found between steps of 1e-3 s by a cubic: RK4 is at 1e-12, the cubic at dt⁴.
SIMULATED = 1e-9
BODY = np.array([[0.021, -0.002, 0.001], [-0.002, 0.034, 0.003], [0.001, 0.003, 0.029]])
BISECTORS = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1))


def period_of(t, x, v):
    """Between the first and the third time that x crosses zero, each by a cubic through value and slope."""
    times = []
    for k in np.flatnonzero(x[:-1] * x[1:] < 0)[:3]:
        h = t[k + 1] - t[k]
        u = x[k] / (x[k] - x[k + 1])
        for _ in range(30):
            value = (
                (1 + 2 * u) * (1 - u) ** 2 * x[k]
                + u * (1 - u) ** 2 * h * v[k]
                + u**2 * (3 - 2 * u) * x[k + 1]
                + u**2 * (u - 1) * h * v[k + 1]
            )
            u -= value / (h * v[k])
        times.append(t[k] + u * h)
    return times[2] - times[0]


@pytest.mark.parametrize("amplitude", (0.02, 0.5, 2.0))
def test_a_swing_that_was_simulated_gives_the_moment_back(amplitude):
    m, d, I_c = 1.7, 0.23, 0.031
    robot = dl.Robot.from_dh([{"a": d}], gravity=(0, -9.81, 0), name="pendulum")
    robot = with_parts(
        robot, {"link1": dl.describe.Inertial(m, (0.01, 0, 0, 0.01, 0, I_c), dl.describe.Origin((d, 0, 0)))}
    )
    rest = -0.5 * math.pi
    run = integrate(robot.flow(), [rest + amplitude, 0.0], 1e-3, 4000)
    T = period_of(run.t, run.x[:, 0] - rest, run.x[:, 1])
    found = pendulum(m, d, T, amplitude=amplitude)
    assert abs(found.value / I_c - 1) < SIMULATED * 10  # I − m d² loses a digit
    assert abs(found.about_axis / (I_c + m * d * d) - 1) < SIMULATED
    if amplitude > 0.1:  # the correction is what makes it so
        assert abs(pendulum(m, d, T).about_axis / found.about_axis - 1) > 0.02


def test_sigma_is_the_first_order_of_the_formulas():
    numbers = {"mass": (1.7, 1e-3), "distance": (0.23, 5e-4), "period": (1.1, 2e-3)}
    found = pendulum(**numbers)
    parts = []
    for name, (x, s) in numbers.items():
        plain = {k: v[0] for k, v in numbers.items()}
        h = 1e-6 * x
        parts.append(
            s * (pendulum(**{**plain, name: x + h}).value - pendulum(**{**plain, name: x - h}).value) / (2 * h)
        )
    assert abs(found.sigma / math.hypot(*parts) - 1) < 1e-6


def moments(directions, tensor_, sigma=0.0, rng=None):
    out = []
    for u in directions:
        e = np.array(u, float) / np.linalg.norm(u)
        value = e @ tensor_ @ e + (sigma * rng.normal() if rng is not None else 0.0)
        out.append(Moment(tuple(e), value, sigma, value))
    return out


def test_the_tensor_of_six_directions():
    part = tensor(2.0, (0.1, 0, 0), moments(BISECTORS, BODY))
    assert error(part.inertial.inertia, BODY[np.triu_indices(3)]) < ROUNDING
    assert part.inertial.mass == 2.0 and part.inertial.origin.xyz == (0.1, 0.0, 0.0)
    assert part.verdict == "feasible"
    assert np.isnan(part.sigma).all()  # six equations, six unknowns: nothing tells the noise


def test_the_tensor_covers_the_truth():
    rng, s = np.random.default_rng(0), 2e-4
    inside = 0
    for _ in range(200):
        directions = rng.normal(size=(12, 3))
        part = tensor(2.0, (0, 0, 0), moments(directions, BODY, s, rng))
        inside += np.sum(np.abs(part.inertial.inertia - BODY[np.triu_indices(3)]) < 2 * part.sigma)
    assert 0.93 < inside / 1200 < 0.975  # 95.4 % for two standard deviations


def test_what_no_body_has_is_said():
    assert "exceeds the sum" in tensor(1.0, (0, 0, 0), moments(BISECTORS, np.diag([0.1, 0.1, 0.5]))).verdict
    assert "negative" in tensor(1.0, (0, 0, 0), moments(BISECTORS, np.diag([-0.1, 0.1, 0.2]))).verdict


# --------------------------------------------------------------------------------------------------------- CAD
def test_cad_against_closed_forms():
    link = [
        Solid(Box((0.3, 0.06, 0.04)), "aluminum 6061", dl.describe.Origin((0.15, 0, 0))),
        Solid(Cylinder(0.015, 0.04), "aluminum 6061", dl.describe.Origin((0.25, 0, 0)), hole=True),
        Solid(Sphere(0.02), "steel", dl.describe.Origin((0, 0, 0.05), (0.3, 0.2, 0.1))),
    ]
    found = cad(link)
    m1, m2, m3 = 2700 * 0.3 * 0.06 * 0.04, 2700 * math.pi * 0.015**2 * 0.04, 7850 * 4 / 3 * math.pi * 0.02**3
    M = m1 - m2 + m3
    assert abs(found.mass - M) < 1e-12
    com = (m1 * np.array([0.15, 0, 0]) - m2 * np.array([0.25, 0, 0]) + m3 * np.array([0, 0, 0.05])) / M
    assert error(found.origin.xyz, com) < ROUNDING
    zz = m1 * ((0.3**2 + 0.06**2) / 12 + 0.15**2) - m2 * (0.5 * 0.015**2 + 0.25**2) + m3 * 0.4 * 0.02**2
    assert abs(found.inertia[5] - (zz - M * (com[0] ** 2 + com[1] ** 2))) < 1e-12


def test_a_mesh_and_a_box_are_the_same(tmp_path):
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float) - 0.5
    faces = np.array(
        [
            [0, 1, 3],
            [0, 3, 2],
            [4, 6, 7],
            [4, 7, 5],
            [0, 4, 5],
            [0, 5, 1],
            [2, 3, 7],
            [2, 7, 6],
            [0, 2, 6],
            [0, 6, 4],
            [1, 5, 7],
            [1, 7, 3],
        ]
    )
    size = (0.2, 0.1, 0.05)
    box = cad([Solid(Box(size), "pla", filled=0.4)])
    drawn = cad([Solid((corners * size, faces), "pla", filled=0.4)])
    assert error(drawn.inertia, box.inertia) < ROUNDING and abs(drawn.mass / box.mass - 1) < 1e-12
    text = "solid cube\n"
    for face in faces:
        text += "facet normal 0 0 0\nouter loop\n"
        text += "".join(f"vertex {x} {y} {z}\n" for x, y, z in corners[face]) + "endloop\nendfacet\n"
    (tmp_path / "cube.stl").write_text(text + "endsolid cube\n")
    filed = cad([Solid(Mesh(str(tmp_path / "cube.stl"), size), 1240 * 0.4)])
    assert error(filed.inertia, box.inertia) < ROUNDING
    mirrored = cad([Solid(Mesh(str(tmp_path / "cube.stl"), (-0.2, 0.1, 0.05)), 1240 * 0.4)])
    assert error(mirrored.inertia, box.inertia) < ROUNDING


def test_a_weighed_part_scales_its_densities():
    plain = cad([Solid(Box((0.1, 0.2, 0.3)), "abs")])
    weighed = cad([Solid(Box((0.1, 0.2, 0.3)), "abs")], mass=5.0)
    assert abs(weighed.mass - 5.0) < 1e-12
    assert error(weighed.inertia, np.array(plain.inertia) * 5.0 / plain.mass) < ROUNDING


def test_parts_become_links():
    robot = dl.load("planar-2r")
    part = cad([Solid(Box((0.4, 0.05, 0.05)), "carbon fiber laminate", dl.describe.Origin((0.2, 0, 0)))])
    changed = with_parts(robot, {robot.bodies[1]: part})
    assert abs(changed.mass - robot.mass - part.mass + robot.model.bodies[1].inertia.m) < 1e-12
    with raises(UnknownNameError, "unknown-name"):
        with_parts(robot, {"link9": part})


def test_the_table_of_materials():
    assert len(MATERIALS) > 20
    for name, row in MATERIALS.items():
        assert 800 < row.density < 20000 and 0 < row.spread < 0.1 and row.source and row.what, name
    assert material("titanium").density == 4430
    with raises(UnknownNameError, "unknown-name"):
        material("aluminium 6061")
    assert mass.from_density(Box((1, 1, 1)), material("steel").density).m == 7850


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pendulum(1.0, 0.2, 0.5), "not-physical period"),
        (lambda: pendulum(-1.0, 0.2, 0.5), "out-of-range mass"),
        (lambda: pendulum(1.0, 0.2, (1.0, -0.1)), "out-of-range the standard deviation of period"),
        (lambda: pendulum(1.0, 0.2, (1.0, 0.1, 0.2)), "wrong-type period"),
        (lambda: pendulum(1.0, 0.2, 1.0, amplitude=3.2), "out-of-range amplitude"),
        (lambda: pendulum(1.0, float("nan"), 1.0), "not-finite distance"),
        (lambda: tensor(1.0, (0, 0, 0), moments(BISECTORS[:5], BODY)), "too-few moments"),
        (lambda: tensor(1.0, (0, 0, 0), []), "wrong-type moments"),
        (lambda: cad([]), "wrong-type solids"),
        (
            lambda: cad([Solid(Box((0.1, 0.1, 0.1)), "steel"), Solid(Sphere(1.0), "steel", hole=True)]),
            "not-physical solids",
        ),
        (lambda: cad([Solid(Box((0.1, 0.1, 0.1)), 1000.0, filled=1.5)]), "out-of-range filled"),
        (
            lambda: cad(
                [
                    Solid(Box((0.1, 0.1, 0.1)), 1000.0),
                    Solid(Sphere(0.05), 1000.0, dl.describe.Origin((9, 0, 0)), hole=True),
                ]
            ),
            "not-physical solids",
        ),
    ],
)
def test_bad_input_gets_a_sentence(call, words):
    with raises(InputError, words):
        call()
