"""Estimators as words of `identify(method=…)`: each is judged, made consistent and delivered as any other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from planted import motion

import dalembert as dl
from dalembert.errors import InputError
from dalembert.friction import friction
from dalembert.identification.fit.identify import identify
from dalembert.identification.log.samples import Samples
from errors import raises

TERM = friction("stribeck", coulomb=2.0, breakaway=4.0, speed=0.15, viscous=1.0)


def recorded(terms=(), noise=0.05, seed=0):
    given = dl.load("planar-2r")
    drive = dl.describe.Drive(
        damping=0.0 if terms else 1.0, coulomb=(0.0, 0.0) if terms else (2.0, 2.0), friction=terms
    )
    joints = tuple(j if j.kind == "fixed" else replace(j, drive=drive) for j in given.description.joints)
    true = dl.Robot(replace(given.description, joints=joints))
    t = np.arange(0, 20, 0.01)
    q, qd, qdd = motion(2, t, seed, period=20.0, harmonics=10)
    tau = true.inverse_dynamics(q, qd, qdd, friction=True) + noise * np.random.default_rng(seed).normal(size=q.shape)
    run = Samples(t, q, qd, qdd, tau, given.joint_names, 0.01, np.inf, np.zeros(2), np.ones(2))
    return true, given, run


def error(result, true, run):
    torques = (robot.inverse_dynamics(run.q, run.qd, run.qdd, friction=True) for robot in (result.robot, true))
    a, b = torques
    return np.linalg.norm(a - b) / np.linalg.norm(b)


def test_robust():
    true, given, run = recorded()
    rng = np.random.default_rng(1)
    wild = replace(run, tau=run.tau + 40 * (rng.random(run.tau.shape) < 0.05))
    plain, robust = (identify(given, wild, method=word) for word in ("weighted", "robust"))
    assert error(robust, true, run) < 0.2 * error(plain, true, run)


def test_instrumental():
    true, given, run = recorded()
    noise = np.random.default_rng(1).normal(size=run.q.shape)
    noisy = replace(run, qdd=run.qdd - noise, tau=run.tau + 2 * noise)
    plain = identify(given, noisy)
    found = identify(given, noisy, method="instrumental", instruments=run)
    assert error(found, true, run) < 0.3 * error(plain, true, run)
    with raises(InputError, "conflict instruments"):
        identify(given, noisy, method="instrumental")


def test_stribeck():
    true, given, run = recorded((TERM,))
    plain, found = identify(given, run), identify(given, run, method="stribeck")
    assert found.held_out.total < 0.4 * plain.held_out.total
    assert error(found, true, run) < 0.01
    again = dl.Robot(found.robot.description)
    assert any(term.law == "stribeck" for j in again.description.joints for term in j.drive.friction)
    np.testing.assert_allclose(
        found.predict(run), again.inverse_dynamics(run.q, run.qd, run.qdd, friction=True), rtol=1e-9, atol=1e-9
    )


def test_essential_parameters_are_a_model_that_is_judged():
    _, given, run = recorded(noise=0.5)
    result = identify(given, run)
    names, fit = result.reduced(0.02)
    assert names == result.essential(0.02) and len(names) < len(result.names)
    assert fit.total < 1.1 * result.held_out.total
