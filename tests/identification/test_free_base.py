"""Parameters of a biped from the equations of its base alone: feet's wrenches measured, or in flight."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from bipeds import FEET, biped
from dalembert.identification import identify_free_base
from errors import raises

ROBOT = biped()


def samples(count=300, seed=0):
    """Motions with wrenches at the feet that cause them: one drawn, the other what the base then asks for."""
    rng = np.random.default_rng(seed)
    q = ROBOT.random_configuration(count, seed=rng)
    v, a = rng.normal(size=(2, count, ROBOT.nv))
    left = rng.normal(size=(count, 6)) * 50
    J = [ROBOT.jacobian(q, f)[..., :6] for f in FEET]
    b = ROBOT.inverse_dynamics(q, v, a)[:, :6] - np.einsum("nij,ni->nj", J[0], left)
    right = np.linalg.solve(np.swapaxes(J[1], -1, -2), b[..., None])[..., 0]
    return q, v, a, {"left_foot": left, "right_foot": right}


def test_base_parameters_come_back():
    """All of them, though no torque is known; the robot's own are among those that fit."""
    q, v, a, F = samples()
    wrong = ROBOT.with_mass_error(0.3)
    fit = identify_free_base(wrong, q, v, a, F)
    true = fit.base.of(ROBOT.parameters())
    np.testing.assert_allclose(fit.beta, true, atol=1e-8 * np.abs(true).max())
    assert fit.residual.max() < 1e-8 and fit.condition < 1e4
    np.testing.assert_allclose(fit.base.of(fit.parameters), fit.beta, atol=1e-9)
    # Of a floating robot nothing is lost but what its joints' axes hide: all that its torques tell.
    Y = ROBOT.regressor(q, v, a)
    assert fit.base.rank == np.linalg.matrix_rank(Y.reshape(-1, Y.shape[-1]), tol=1e-8 * np.linalg.norm(Y))


def test_noise_is_told():
    """With noisy wrenches the errors are a few of the deviations told."""
    q, v, a, F = samples()
    rng = np.random.default_rng(1)
    noisy = {name: f + rng.normal(size=f.shape) for name, f in F.items()}
    fit = identify_free_base(ROBOT, q, v, a, noisy)
    z = (fit.beta - fit.base.of(ROBOT.parameters())) / fit.deviation
    assert 0.5 < np.sqrt(np.mean(z**2)) < 2 and np.abs(z).max() < 6


def test_a_flight_tells_all_but_the_scale():
    """A free flight with legs that kick, simulated: with the mass known, everything; without, refused."""
    rng = np.random.default_rng(2)
    places = np.flatnonzero(ROBOT.driven)
    swing = rng.uniform(3, 9, len(places)), rng.uniform(0, 6, len(places))

    def kick(t):
        tau = np.zeros((*np.shape(t), ROBOT.nv))
        tau[..., places] = 4 * np.sin(np.multiply.outer(np.asarray(t), swing[0]) + swing[1])
        return tau

    run = dl.simulate(
        ROBOT, q0=ROBOT.home, qd0=0.5 * rng.normal(size=ROBOT.nv), duration=2.0, dt=1e-3, inputs=dl.Inputs(tau=kick)
    )
    qdd = ROBOT.forward_dynamics(run.q, run.qd, run.tau)
    wrong = ROBOT.with_mass_error(-0.2)
    keep = slice(None, None, 10)
    fit = identify_free_base(wrong, run.q[keep], run.qd[keep], qdd[keep], mass=ROBOT.mass)
    true = fit.base.of(ROBOT.parameters())
    np.testing.assert_allclose(fit.beta, true, atol=1e-6 * np.abs(true).max())
    with raises(dl.InputError, "missing mass"):
        identify_free_base(wrong, run.q[keep], run.qd[keep], qdd[keep])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda q, v, a, F: identify_free_base(dl.load("ur5e"), q, v, a, F), "wrong-structure robot"),
        (lambda q, v, a, F: dl.identify(ROBOT, []), "wrong-structure robot"),
        (lambda q, v, a, F: dl.identification.identify_log(ROBOT, []), "wrong-structure robot"),
        (lambda q, v, a, F: identify_free_base(ROBOT, q[:, :-1], v, a, F), "wrong-shape q"),
        (lambda q, v, a, F: identify_free_base(ROBOT, q, v[1:], a, F), "wrong-shape qd"),
        (lambda q, v, a, F: identify_free_base(ROBOT, q, v, a, {"left_fot": F["left_foot"]}), "unknown-name"),
        (
            lambda q, v, a, F: identify_free_base(ROBOT, q, v, a, {"left_foot": F["left_foot"][:, :3]}),
            "wrong-shape wrenches",
        ),
        (
            lambda q, v, a, F: identify_free_base(ROBOT, q[:5], v[:5], a[:5], {k: f[:5] for k, f in F.items()}),
            "singular",
        ),
    ],
)
def test_refusals(call, words):
    with raises(dl.DalembertError, words):
        call(*samples(50))
