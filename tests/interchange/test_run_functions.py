"""Runs in JAX and PyTorch: the derivatives of the library's own, under their transformations."""

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError
from dalembert.interchange import jax_run, torch_run
from dalembert.simulation import Experiment, Solver
from free_arm import free_arm

ARM = dl.load("planar-2r")
F = Experiment(ARM, solver=Solver(every=7)).function(("x0", "inputs.tau", "link2:m"), duration=0.05)
_rng = np.random.default_rng(0)
X0, U, P = _rng.normal(size=(3, 4)), _rng.normal(size=(3, 50, 2)), np.array(1.2)
W = _rng.normal(size=(3, 9, 4))
OWN = F.pull_back(W, X0, U, np.tile(P, 3))
TOTAL = (OWN[0], OWN[1], OWN[2].sum(0))


FLOATING = free_arm("floating")
G = Experiment(FLOATING).function(("x0", "inputs.tau"), duration=0.01)
START = np.r_[FLOATING.home, _rng.normal(size=FLOATING.nv)]
FORCE, WEIGHTS = _rng.normal(size=(10, FLOATING.nv)), _rng.normal(size=(11, len(START)))


def assert_close(found, expected, double):
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == (np.float64 if double else np.float32)
        np.testing.assert_allclose(a, b, rtol=0 if double else 1e-5, atol=0 if double else 1e-6)


@pytest.mark.parametrize("double", [False, True])
def test_jax(double):
    jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'dalembert[jax]'")
    f, dtype = jax_run(F), np.float64 if double else np.float32
    x0, u, p, w = (a.astype(dtype) for a in (X0, U, P, W))
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", double)
    try:

        def loss(x0, u, p, w):
            return (w * f(x0, u, p)).sum()

        by_all = jax.grad(loss, (0, 1, 2))
        np.testing.assert_allclose(f(x0, u, p), F(x0, u, p), rtol=1e-6)
        assert_close(map(np.asarray, by_all(x0, u, p, w)), TOTAL, double)
        assert_close(map(np.asarray, jax.jit(by_all)(x0, u, p, w)), TOTAL, double)
        each = jax.jit(jax.vmap(by_all, (0, 0, None, 0)))(x0, u, p, w)
        assert_close(map(np.asarray, each), OWN, double)
        assert f(x0[0], u[0], p).dtype == dtype and np.isnan(f(x0[0] * np.nan, u[0], p)).all()
        with pytest.raises(InputError, match=r"ends in \(4,\)"):
            f(x0[:, :3], u, p)
        with pytest.raises(InputError, match="3 arrays, x0, inputs.tau, link2:m, got 1"):
            f(x0)
        g = jax.grad(lambda x, u: (WEIGHTS * jax_run(G)(x, u)).sum(), (0, 1))
        assert_close(
            map(np.asarray, g(START.astype(dtype), FORCE.astype(dtype))), G.pull_back(WEIGHTS, START, FORCE)[:2], double
        )
    finally:
        jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("double", [False, True])
def test_torch(double):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'dalembert[torch]'")
    f, dtype = torch_run(F), torch.float64 if double else torch.float32

    def tensors():
        return [torch.tensor(a, dtype=dtype, requires_grad=True) for a in (X0, U, P)]

    w, given = torch.tensor(W, dtype=dtype), tensors()
    (w * f(*given)).sum().backward()
    assert_close((a.grad.numpy() for a in given), TOTAL, double)

    def loss(x0, u, p, w):
        return (w * f(x0, u, p)).sum()

    plain = [a.detach() for a in given]
    each = torch.func.vmap(torch.func.grad(loss, (0, 1, 2)), (0, 0, None, 0))(*plain, w)
    assert_close((a.numpy() for a in each), OWN, double)
    compiled, again = torch.compile(loss, fullgraph=True, backend="aot_eager"), tensors()
    compiled(*again, w).backward()
    assert_close((a.grad.numpy() for a in again), TOTAL, double)
    with pytest.raises(InputError, match=r"ends in \(50, 2\)"):
        f(given[0], given[1][:, :7], given[2])
    x, force = (torch.tensor(a, dtype=dtype, requires_grad=True) for a in (START, FORCE))
    (torch.tensor(WEIGHTS, dtype=dtype) * torch_run(G)(x, force)).sum().backward()
    assert_close((x.grad.numpy(), force.grad.numpy()), G.pull_back(WEIGHTS, START, FORCE)[:2], double)
    if double:
        assert torch.autograd.gradcheck(f, (*(a[:1].clone() for a in given[:2]), given[2]), atol=1e-6)


def test_a_robot_is_no_function():
    pytest.importorskip("jax", reason="JAX is not installed: pip install 'dalembert[jax]'")
    with pytest.raises(InputError, match="Experiment.function"):
        jax_run(ARM)
