"""Physically consistent fits: exact data give exact robots, units do not matter, heavy arms lose nothing, and what no
body can be is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_identify import samples_of, true_samples

import dalembert as dl
from dalembert.describe.description import Inertial, Joint, Origin
from dalembert.identification.fit.consistent import find_sizes, fit_consistent, pseudo_inertia
from dalembert.identification.fit.estimate import least_squares
from dalembert.identification.fit.identify import identify
from dalembert.identification.fit.regression import compress
from dalembert.identification.fit.regressor import Columns, base
from errors import raises


def off(robot: dl.Robot, found: dl.Robot) -> float:
    """How far the torques of two robots are apart, as a part of them, at random states."""
    q, qd, qdd = np.random.default_rng(2).uniform(-1, 1, (3, 50, robot.n))
    wanted = robot.inverse_dynamics(q, qd, qdd, friction=True)
    return float(np.linalg.norm(found.inverse_dynamics(q, qd, qdd, friction=True) - wanted) / np.linalg.norm(wanted))


def with_other_masses(robot: dl.Robot, factor: float) -> dl.Robot:
    """The same arm described with other bodies."""

    def other(inertial: Inertial | None) -> Inertial | None:
        if inertial is None:
            return None
        return replace(inertial, mass=factor * inertial.mass, inertia=tuple(factor * x for x in inertial.inertia))

    d = robot.description
    return dl.Robot(replace(d, links=tuple(replace(link, inertial=other(link.inertial)) for link in d.links)))


# Flat bodies, point masses, slides; the Puma's published inertias are of no body. (From 6.7e92 kg on.)
@pytest.mark.parametrize("name", ["planar-1r-points", "planar-2r", "planar-2r-points", "planar-3r", "rp", "puma560"])
@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-9])
def test_exact_data_give_exact_robots(name, noise):
    robot = dl.load(name)
    rng = np.random.default_rng(1)
    t = np.arange(0, 20, 0.02)
    w, a = rng.uniform(0.5, 6, (4, robot.n)), rng.normal(size=(4, robot.n)) * 0.4
    phase = t[:, None, None] * w
    q, qd, qdd = (np.sum(x, 1) for x in (a * np.sin(phase), a * w * np.cos(phase), -a * w**2 * np.sin(phase)))
    tau = robot.inverse_dynamics(q, qd, qdd, friction=True)
    run = samples_of(robot, t, q, qd, qdd, tau + noise * rng.normal(size=tau.shape))
    result = identify(with_other_masses(robot, 0.7), run)
    assert result.held_out.total < 1e-8 and result.held_out_consistent.total < 1e-6
    assert (result.consistent.eigenvalues > 0).all()
    assert off(robot, result.robot) < 1e-6
    mass = sum(body.inertia.m for body in robot.model.bodies)
    assert result.parameters[: 10 * robot.n : 10].sum() < 20 * mass


def test_massless_links_and_known_bodies():
    """A link that weighs nothing, before and after one that does; bodies that are known in all ten parameters."""
    robot = dl.load("planar-3r")
    d = robot.description
    light = dl.Robot(replace(d, links=tuple(replace(x, inertial=None) if x.name == "link2" else x for x in d.links)))
    run = true_samples(light, seconds=20.0)
    assert off(light, identify(light, run).robot) < 1e-6
    values = dict(zip(Columns(light).all_names, Columns(light).model_values(), strict=True))
    known = {name: x for name, x in values.items() if name.startswith("link2:")}
    result = identify(light, run, fixed=known)
    assert result.consistent.feasible and off(light, result.robot) < 1e-6
    with raises(dl.InputError, "infeasible consistent"):
        identify(light, run, fixed={"link3:m": 0.0, "link3:mx": 1.0})


@pytest.mark.parametrize("name", ["ur5e", "panda"])
@pytest.mark.parametrize("factor", [0.3, 30.0])
def test_exact_data_far_from_what_was_described(name, factor):
    """Ten ways to say the same rows: whatever the last digits, an answer is found that fits to rounding."""
    robot = dl.load(name)
    run = true_samples(robot, seconds=20.0)
    columns = Columns(with_other_masses(robot, factor))
    b = base(columns)
    data = compress(columns, b, run)
    found = least_squares(data)
    rng = np.random.default_rng(0)
    for _ in range(10):
        rounded = replace(data, triangles=data.triangles * (1 + 1e-15 * rng.normal(size=data.triangles.shape)))
        answer = fit_consistent(columns, b, rounded, found, columns.model_values())
        assert answer.feasible and answer.cost < 1e-10 * np.sum(data.stacked(found.weights)[:, -1] ** 2)


def test_a_joint_without_load():
    """One that moves nothing has torques of zero, and no weight without bound."""
    robot = dl.load("planar-3r")
    d = robot.description
    bare = dl.Robot(replace(d, links=tuple(replace(x, inertial=None) if x.name == "link3" else x for x in d.links)))
    run = true_samples(bare, seconds=20.0)
    assert not run.tau[:, 2].any()
    result = identify(bare, run)
    assert np.isfinite(result.estimate.weights).all() and np.ptp(np.log10(result.estimate.weights)) < 7
    assert off(bare, result.robot) < 1e-6


def in_units(robot: dl.Robot, run: dl.identification.Samples, mass: float, length: float, time: float):
    """The same arm and run in units of which one kilogram, meter and second are so many."""

    def origin(place: Origin) -> Origin:
        return Origin(tuple(length * x for x in place.xyz), place.rpy)

    def inertial(part: Inertial | None) -> Inertial | None:
        if part is None:
            return None
        inertia = tuple(mass * length**2 * x for x in part.inertia)
        return replace(part, mass=mass * part.mass, inertia=inertia, origin=origin(part.origin))

    def joint(part: Joint) -> Joint:
        one = 1.0 if part.kind == "prismatic" else length  # of what the joint's torque or force is made
        own, d = mass * one**2, part.drive
        torque = mass * length * one / time**2
        dry = tuple(torque * x for x in d.coulomb)
        drive = replace(d, rotor_inertia=own * d.rotor_inertia, damping=own / time * d.damping, coulomb=dry)
        return replace(part, origin=origin(part.origin), limit=None, drive=drive)

    d = robot.description
    other = dl.Robot(
        replace(
            d,
            links=tuple(replace(link, inertial=inertial(link.inertial)) for link in d.links),
            joints=tuple(map(joint, d.joints)),
            gravity=tuple(length / time**2 * x for x in d.gravity),
            home=(),
        )
    )
    size = np.array([1.0 if c.joint.turns else length for c in robot.model.coordinates])
    torque = mass * length**2 / time**2 / size
    motion = {"q": run.q * size, "qd": run.qd * size / time, "qdd": run.qdd * size / time**2}
    new = replace(run, t=run.t * time, dt=run.dt * time, tau=run.tau * torque, quiet=run.quiet * torque, **motion)
    return other, new, torque


@pytest.mark.parametrize("name", ["ur5e", "scara"])
def test_units_do_not_matter(name):
    """Grams, millimeters, minutes: the same robot in them. (Torques × 1000: 7.3 became 36.5 % before.)"""
    robot = dl.load(name)
    run = true_samples(robot, noise=1.0, seconds=8.0)
    first = identify(with_other_masses(robot, 0.6), run)
    torques = first.predict(run)
    for units in ((1e3, 1, 1), (1, 0.1, 1), (1, 1e3, 1), (1, 1, 60), (1e-3, 1e3, 60)):
        other, same, torque = in_units(robot, run, *units)
        found = identify(with_other_masses(other, 0.6), same)
        assert found.base_parameters.rank == first.base_parameters.rank
        np.testing.assert_allclose(found.predict(same) / torque, torques, rtol=0, atol=1e-6 * np.abs(torques).max())
        masses = slice(0, 10 * robot.n, 10)
        np.testing.assert_allclose(found.parameters[masses], units[0] * first.parameters[masses], rtol=1e-4)
        np.testing.assert_allclose(found.estimate.relative, first.estimate.relative, rtol=1e-6)


@pytest.mark.parametrize("factor", [1.0, 1e3])
def test_as_good_as_a_reference_program(factor):
    """A heavy arm, a log that no body explains (one sensor is wired the wrong way): in-sample within a hundredth of
    the plain semidefinite program, ‖F x − b‖² in units in which it is well scaled, with no pull to anything."""
    clarabel = pytest.importorskip("clarabel")
    from scipy import sparse

    light = dl.load("ur10e")
    run = true_samples(light, noise=3.0, seconds=4.0)
    run = replace(run, tau=run.tau * [1, 1, -1, 1, 1, 1])
    robot, run, _ = in_units(light, run, factor, 1, 1)
    columns = Columns(robot, friction=("viscous",), rotor=False)
    b = base(columns)
    data = compress(columns, b, run)
    found = least_squares(data)
    weights = found.weights
    near = columns.model_values() * 0.7
    mine = fit_consistent(columns, b, data, found, near)
    size = find_sizes(columns, b, data, near)
    R = data.stacked(weights)
    F, right = R[:-1, :-1] @ b.matrix() * size, R[:-1, -1]
    scale = np.linalg.norm(R[-1, -1])
    P = F.T @ F / scale**2 + 1e-9 * np.eye(len(size))
    rows, cones = [-np.eye(len(size))[-6:]], [clarabel.NonnegativeConeT(6)]
    root2 = np.sqrt(2.0)
    for body in range(6):
        unit = np.diag(
            1 / np.sqrt(pseudo_inertia(size[10 * body : 10 * body + 10] * [1, 0, 0, 0, 1, 0, 0, 1, 0, 1]).diagonal())
        )
        G = np.zeros((10, len(size)))
        for j in range(10):
            J = unit @ pseudo_inertia(np.eye(10)[j]) @ unit * size[10 * body + j]
            G[:, 10 * body + j] = [-J[i, k] * (1 if i == k else root2) for k in range(4) for i in range(k + 1)]
        rows.append(G)
        cones.append(clarabel.PSDTriangleConeT(4))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    A = sparse.csc_matrix(np.vstack(rows))
    q = -F.T @ right / scale**2
    x = np.array(
        clarabel.DefaultSolver(sparse.csc_matrix(np.triu(P)), q, A, np.zeros(A.shape[0]), cones, settings).solve().x
    )
    missed = F @ x - right
    assert missed @ missed > 0.02 * mine.unconstrained  # the cones cost something
    assert mine.cost < 1.02 * (missed @ missed + mine.unconstrained)
    assert (mine.eigenvalues > 0).all()
