"""Rollouts backward and along directions: against finite differences, against each other, alone and in batches."""

import numpy as np
import pytest

from dalembert import scalar
from dalembert.compile import Call, compile_function, compile_rollout, gradient
from dalembert.compile.adjoint import PIECE, Adjoint, compile_adjoint, compile_sensitivity
from dalembert.compile.graph import Graph


def step(t, dt, x, u, p):
    """Two states, one input, two parameters: everything that a derivative may meet, time too."""
    a, b = x
    force = p[0] * scalar.sin(a) + scalar.where(b > 0.0, scalar.sqrt(b), -b) + u[0] * scalar.cos(t)
    return [a + dt * b, b + dt * (force / (2.0 + p[1] * a * a))]


def stages(t, dt, x, u, p, k):
    return [a + dt * b for a, b in zip(x, k, strict=True)]


def rate(z, u, p):
    return [z[1], p[0] * scalar.sin(z[0]) + u[0] - p[1] * z[1]]


def heun():
    """A function that is called twice, on a block that is written twice."""
    return [
        Call(lambda x: list(x), ("x",), "z"),
        Call(rate, ("z", "u", "p"), "k1"),
        Call(stages, ("t", "dt", "x", "u", "p", "k1"), "z"),
        Call(rate, ("z", "u", "p"), "k2"),
        Call(
            lambda dt, x, a, b: [s + 0.5 * dt * (i + j) for s, i, j in zip(x, a, b, strict=True)],
            ("dt", "x", "k1", "k2"),
            "new",
        ),
    ]


LOOPS = {
    "one call": compile_rollout([Call(step, ("t", "dt", "x", "u", "p"), "new")], {"x": 2, "u": 1, "p": 2}, "one"),
    "two stages": compile_rollout(heun(), {"x": 2, "u": 1, "p": 2, "z": 2, "k1": 2, "k2": 2}, "two"),
    "observed": compile_rollout(
        [Call(step, ("t", "dt", "x", "u", "p"), "new")],
        {"x": 2, "u": 1, "p": 2, "y": 1},
        "seen",
        Call(lambda x: [x[0] * x[1]], ("x",), "y"),
    ),
}
N, B, DT = 37, 11, 0.02


def problem(seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.uniform(-1, 1, (B, 2)),
        rng.uniform(-1, 1, (B, N, 1)),
        rng.uniform(0.5, 1.5, (B, 2)),
        rng.normal(size=(B, N + 1, 2)),
    )


def loss(loop, x0, u, p, w):
    with np.errstate(invalid="ignore"):  # of roots that are not chosen
        rows, _, last, _, _ = loop(x0, u, p, N, DT)
    return (rows * w[:, :-1]).sum((1, 2)) + (last * w[:, -1]).sum(1)


def slope(f, h=1e-4):
    """f'(0) to h⁴."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def pulled(loop, x0, u, p, w):
    def along(k, x):
        return w[:, k : k + x.shape[1]]

    return Adjoint(loop).pull_back(x0, u, p, N, DT, lambda last: w[:, -1], along, True)


@pytest.mark.parametrize("name", LOOPS)
def test_backward_is_finite_differences(name):
    loop, (x0, u, p, w) = LOOPS[name], problem()
    found = pulled(loop, x0, u, p, w)
    rng = np.random.default_rng(1)
    dx, du, dp = rng.normal(size=x0.shape), rng.normal(size=u.shape), rng.normal(size=p.shape)
    expected = slope(lambda h: loss(loop, x0 + h * dx, u + h * du, p + h * dp, w))
    got = (found.x0 * dx).sum(1) + (found.u * du).sum((1, 2)) + (found.p * dp).sum(1)
    smooth = np.abs(x0[:, 1]) > 0.05
    np.testing.assert_allclose(got[smooth], expected[smooth], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", LOOPS)
def test_backward_and_forward_are_the_same(name):
    loop, (x0, u, p, w) = LOOPS[name], problem(2)
    found = pulled(loop, x0, u, p, w)
    n, l = x0.shape[-1], p.shape[-1]
    begin = np.concatenate((np.eye(n), np.zeros((n, l))), -1).reshape(-1)
    starts = np.concatenate((x0, np.tile(begin, (len(x0), 1))), -1)
    with np.errstate(invalid="ignore"):  # of roots that are not chosen
        kept, _, last, _, _ = compile_sensitivity(loop, range(l))(starts, u, p, N, DT)
        np.testing.assert_array_equal(kept[..., :n], loop(x0, u, p, N, DT)[0])
    rows = np.concatenate((kept, last[:, None]), 1)
    slopes = rows[..., n:].reshape(*rows.shape[:2], n, n + l)
    expected = np.einsum("bki,bkij->bj", w, slopes)
    np.testing.assert_allclose(np.concatenate((found.x0, found.p), -1), expected, rtol=1e-11, atol=1e-13)


def test_alone_and_in_a_batch_are_the_same_bits():
    loop, (x0, u, p, w) = LOOPS["two stages"], problem()
    found = pulled(loop, x0, u, p, w)
    for k in (0, 5, B - 1):
        one = pulled(loop, *(a[k : k + 1] for a in (x0, u, p, w)))
        for a, b in ((one.x0, found.x0), (one.u, found.u), (one.p, found.p)):
            np.testing.assert_array_equal(a[0], b[k])


def test_inputs_that_are_held_and_shared():
    loop, (x0, u, p, w) = LOOPS["one call"], problem()
    held = u[:1, :1]
    full = np.broadcast_to(held, u.shape)
    for a, b in zip(
        (pulled(loop, x0, held, p, w).x0, pulled(loop, x0, held, p, w).u),
        (pulled(loop, x0, full, p, w).x0, pulled(loop, x0, full, p, w).u),
        strict=True,
    ):
        np.testing.assert_array_equal(a, b)


def test_a_rollout_that_diverges_spoils_no_other():
    loop, (x0, u, p, w) = LOOPS["one call"], problem()
    ill = u.copy()
    ill[3, 10] = np.inf
    good, bad = pulled(loop, x0, u, p, w), pulled(loop, x0, ill, p, w)
    assert bad.diverged[3] == 10 and (np.delete(bad.diverged, 3) == -1).all()
    assert np.isnan(bad.x0[3]).all() and np.isnan(bad.p[3]).all()
    np.testing.assert_array_equal(np.delete(bad.x0, 3, 0), np.delete(good.x0, 3, 0))


def test_memory_grows_with_the_root_of_the_steps():
    """States that are weighed at once: four times the steps, twice as many."""
    loop, seen = LOOPS["one call"], []

    def along(k, x):
        seen.append(x.shape[1])
        return np.zeros(x.shape)

    for steps in (400, 1600):
        seen.clear()
        Adjoint(loop).pull_back(
            np.zeros((1, 2)), np.zeros((1, 1, 1)), np.ones((1, 2)), steps, 1e-3, np.ones_like, along
        )
        assert sum(seen) == steps and max(seen) == PIECE * int(steps**0.5)


def test_a_function_that_is_called_twice_is_compiled_once():
    back = compile_adjoint(LOOPS["two stages"])
    called = [program for program, _, _ in back.calls]
    twice = {program for program in called if called.count(program) == 2 and "sin" in program.text}
    assert len(twice) == 1  # the rate pulled back; of the rate itself the last is not needed


# ---------------------------------------------------------------------------------------------------- single functions
def choosy(x):
    """Branches that are not taken divide by zero, and take roots of it."""
    a, b = x
    safe = scalar.where(scalar.absolute(a) > 0.0, scalar.sin(a) / a, 1.0)
    root = scalar.where(b > 0.0, scalar.sqrt(b), 0.0)
    return [safe * b, root + scalar.where(a > 0.0, scalar.log(a) * a, a), scalar.maximum(a * b, 0.25)]


@pytest.mark.parametrize("point", [(0.7, 0.4), (0.0, 0.4), (0.0, 0.0), (-0.3, -2.0), (0.0, -1.0)])
def test_pull_back_of_choices(point):
    def transposed(x, w):
        return gradient.pull_back(x[0].graph, choosy(x), w, x)

    J = compile_function(choosy, [(2,)], [(3,)], "choosy").derivative(0)(np.array(point))
    back = compile_function(transposed, [(2,), (3,)], [(2,)], "back")
    assert np.isfinite(J).all()
    for w in np.eye(3):
        np.testing.assert_allclose(back(np.array(point), w), J.T @ w, atol=1e-15)


def test_pull_back_of_a_root_that_has_no_weight():
    def norm(x, w):
        return gradient.pull_back(x[0].graph, [scalar.sqrt(x[0] * x[0] + x[1] * x[1]), x[0] * x[1]], w, x)

    kernel = compile_function(norm, [(2,), (2,)], [(2,)], "norm")
    np.testing.assert_array_equal(kernel(np.zeros(2), np.array([0.0, 1.0])), [0.0, 0.0])
    np.testing.assert_allclose(kernel(np.array([3.0, 4.0]), np.array([1.0, 0.0])), [0.6, 0.8])


def test_reverse_is_forward():
    graph = Graph()
    x = [graph.input(0, k) for k in range(3)]
    y = [x[0] * x[1] + scalar.sin(x[2]), x[0] / x[2], 5.0]
    for a, b in zip(gradient.forward(graph, y, x), gradient.reverse(graph, y, x), strict=True):
        for i, j in zip(a, b, strict=True):
            assert graph.index(i) == graph.index(j)
