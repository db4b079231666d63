"""The backward pass: Riccati steps against dense formulas, limits against the conditions of a minimum in a box."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.compile.sweep import Layout, compile_sweep


def problem(n, m, lean, bounded, h=0.1):
    """A sweep whose matrices are parameters of the nodes: F (rows, m + n + 1), H (m + n + 1, m + n + 1)."""
    r = n // 2 if lean else n
    cost = (m + n + 1) ** 2
    y = Layout(n, m, r * (m + n + 1) + cost, lean, bounded)

    def read(p):
        w = m + n + 1
        F = [p[i * w : (i + 1) * w] for i in range(r)]
        H = [p[r * w + i * w : r * w + (i + 1) * w] for i in range(w)]
        return F, H

    def stage(x, u, following, p):
        F, H = read(p)
        rows = [y.pad(f[:m], f[m:]) for f in F]
        Hu = [y.pad(H[i][:m], H[i][m:]) for i in range(m)]
        Hx = [y.pad_state(H[m + i][m:]) for i in range(n + 1)]
        return rows, Hu, Hx, [0.0] * n, [x[0] * u[0], 0.0]

    def terminal(x, p):
        H = read(p)[1]
        return [y.pad_state(H[m + i][m:]) for i in range(n + 1)], [x[0]]

    return compile_sweep(stage, terminal, y, "test"), y


def random_nodes(rng, N, n, m, r):
    w = m + n + 1
    F = rng.normal(size=(N + 1, r, w)) * 0.5
    root = rng.normal(size=(N + 1, w, w))
    H = root @ root.transpose(0, 2, 1) + np.eye(w)
    H[:, -1, -1] = 0.0
    return F, H


def dense(F, H, n, m, lean, h, mu=0.0):
    """K̃ of all nodes and Ṽ of the first, by NumPy on (u, x, 1)."""
    V = H[-1][m:, m:]
    gains = []
    for k in reversed(range(len(F) - 1)):
        if lean:
            r = n // 2
            E = np.zeros((r, m + n + 1))
            E[:, m : m + r] = np.eye(r)
            rows = np.vstack((E + h * F[k], F[k]))
        else:
            rows = F[k]
        full = np.vstack((rows, np.eye(m + n + 1)[-1]))
        Q = H[k] + full.T @ V @ full
        Q[:m, :m] += mu * np.eye(m)
        K = -np.linalg.solve(Q[:m, :m], Q[:m, m:])
        V = Q[m:, m:] + Q[m:, :m] @ K
        gains.append(K)
    return np.array(gains[::-1]), V


def run(sweep, y, F, H, bounds, us, mu=0.0, h=0.1, held=None):
    N = len(F) - 1
    ps = np.concatenate((F.reshape(N + 1, -1), H.reshape(N + 1, -1)), 1)
    xs = np.ones((N + 1, y.n))
    plan, info = sweep.ufunc(
        xs, us, ps, bounds, np.zeros_like(us) if held is None else held, np.array([mu, h]), sweep.work()
    )
    return plan[:, : y.m * y.X].reshape(N, y.m, y.X)[..., : y.n + 1], info, plan


SIZES = [(2, 1, True), (14, 7, True), (14, 7, False), (3, 2, False), (20, 9, True), (17, 10, False), (7, 1, False)]


@pytest.mark.parametrize(("n", "m", "lean"), SIZES)
@pytest.mark.parametrize("N", [1, 8, 19])
def test_the_steps_are_those_of_the_dense_formula(n, m, lean, N):
    rng = np.random.default_rng(n + N)
    sweep, y = problem(n, m, lean, bounded=False)
    F, H = random_nodes(rng, N, n, m, y.rows)
    K, info, plan = run(sweep, y, F, H, np.zeros((2, m)), rng.normal(size=(N, m)), mu=0.3)
    wanted, V = dense(F, H, n, m, lean, 0.1, mu=0.3)
    np.testing.assert_allclose(K, wanted, rtol=1e-9, atol=1e-10 * np.abs(wanted).max())
    np.testing.assert_allclose(info[0], V[-1, -1], rtol=1e-9)
    assert info[3] == 1.0
    assert (plan[:, m * y.X : m * y.X + n] == 1.0).all()  # x is handed on


def test_a_form_that_is_not_definite_is_told():
    sweep, y = problem(3, 2, False, bounded=False)
    F, H = random_nodes(np.random.default_rng(0), 5, 3, 2, 3)
    H[2, 1, 1] = -1000.0
    assert run(sweep, y, F, H, np.zeros((2, 2)), np.zeros((5, 2)))[1][3] == 0.0
    assert run(sweep, y, F, H, np.zeros((2, 2)), np.zeros((5, 2)), mu=2000.0)[1][3] == 1.0


@pytest.mark.parametrize(("n", "m", "lean"), [(4, 3, True), (14, 7, True), (5, 9, False)])
def test_limits_of_inputs_are_those_of_the_constrained_minimum(n, m, lean):
    """One step: the feedforward minimizes ½ kᵀQk + gᵀk within the box, and inputs that are held have no feedback."""
    rng = np.random.default_rng(5)
    sweep, y = problem(n, m, lean, bounded=True)
    held = 0
    for _ in range(50):
        F, H = random_nodes(rng, 1, n, m, y.rows)
        H[0][:m, -1] = H[0][-1, :m] = 20.0 * rng.normal(size=m)
        u = rng.uniform(-0.2, 0.2, (1, m))
        bounds = np.array([np.full(m, -0.3), np.full(m, 0.4)])
        K, info, _ = run(sweep, y, F, H, bounds, u)
        r = n // 2
        E = np.zeros((r, m + n + 1))
        E[:, m : m + r] = np.eye(r)
        rows = np.vstack((E + 0.1 * F[0], F[0])) if lean else F[0]
        full = np.vstack((rows, np.eye(m + n + 1)[-1]))
        Q = H[0] + full.T @ H[1][m:, m:] @ full
        k, low, high = K[0, :, -1], bounds[0] - u[0], bounds[1] - u[0]
        slope = Q[:m, :m] @ k + Q[:m, -1]
        assert (k >= low - 1e-12).all() and (k <= high + 1e-12).all()
        at = (k <= low + 1e-12) | (k >= high - 1e-12)
        assert np.abs(slope[~at]).max(initial=0.0) < 1e-9 * np.abs(Q).max()
        assert (slope[k <= low + 1e-12] >= 0).all() and (slope[k >= high - 1e-12] <= 0).all()
        assert (K[0, at, :-1] == 0.0).all()
        free = ~at
        np.testing.assert_allclose(
            K[0, free, :-1], -np.linalg.solve(Q[:m, :m][np.ix_(free, free)], Q[:m, m:-1][free]), rtol=1e-8, atol=1e-9
        )
        predicted = Q[-1, -1] + 2 * k @ Q[:m, -1] + k @ Q[:m, :m] @ k
        np.testing.assert_allclose(info[0], predicted, rtol=1e-9)
        held += at.sum()
    assert held > 50


def test_inputs_can_be_told_to_stay_at_a_limit():
    rng = np.random.default_rng(2)
    sweep, y = problem(4, 3, True, bounded=True)
    F, H = random_nodes(rng, 6, 4, 3, 2)
    us, held = np.zeros((6, 3)), np.zeros((6, 3))
    held[2, 1], held[4, 0] = -1.0, 1.0
    wide = np.array([np.full(3, -100.0), np.full(3, 100.0)])
    K, info, _ = run(sweep, y, F, H, wide, us, held=held)
    assert K[2, 1, -1] == -100.0 and K[4, 0, -1] == 100.0 and (K[2, 1, :-1] == 0).all() and (K[4, 0, :-1] == 0).all()
    free, told, _ = run(sweep, y, F, H, wide, us)
    assert info[0] > told[0] and np.abs(free).max() < 100.0
