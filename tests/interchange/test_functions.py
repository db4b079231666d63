"""Kernels in CasADi and JAX: the same numbers, their derivatives, their code, what is refused."""

from __future__ import annotations

import shutil
import subprocess
import sys

import numpy as np
import pytest

import dalembert as dl
from dalembert import interchange
from dalembert.algorithms import articulated, newton_euler
from dalembert.apps.cli import main
from errors import fields_of
from tolerances import DIFFERENCE, ROUNDING, error
from trees import random_tree

casadi = pytest.importorskip("casadi", reason="no casadi")
jax = pytest.importorskip("jax", reason="no jax")
jax.config.update("jax_enable_x64", True)

KERNELS = {
    "inverse_dynamics": {},
    "forward_dynamics": {},
    "mass_matrix": {},
    "fk": {},
    "jacobian": {"expressed_in": "local"},
    "analytic_jacobian": {"angles": "rpy"},
    "christoffel": {},
    "kinetic_energy": {},
    "fk_jacobian": {},
    "regressor": {"friction": True},
    "friction_torque": {},
}


@pytest.fixture(scope="module")
def tree() -> dl.Robot:
    robot = dl.Robot(random_tree(5, 5, mimic=True, rotors=True, friction=True, chain=True))
    return robot.with_tip(robot.frames[-1])


def states(kernel, seed: int = 0, batch: tuple[int, ...] = ()) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, (*batch, *shape)) for shape in kernel.inputs]


def several(x) -> tuple:
    return x if isinstance(x, tuple) else (x,)


# ------------------------------------------------------------------------------------------------------------- CasADi
@pytest.mark.parametrize("name", KERNELS)
def test_casadi_gives_the_kernels_numbers(tree, name):
    kernel = tree.kernel(name, **KERNELS[name])
    function = interchange.casadi_function(tree, name, **KERNELS[name])
    assert function.name_in() == list(kernel.arguments)
    for seed in range(3):
        x = states(kernel, seed)
        for got, wanted in zip(several(function(*x)), several(kernel(*x)), strict=True):
            assert error(np.asarray(got).reshape(np.shape(wanted)), wanted) < ROUNDING


def test_the_algorithms_themselves_run_on_casadi():
    """A scalar registers itself: no kernel, no trace, the same function as on floats."""
    from dalembert.interchange.functions import casadi as taught

    ca, model = taught(), dl.Robot(random_tree(3, 4)).model
    symbols = [ca.SX.sym(name, model.n) for name in ("q", "qd", "x")]
    rows = [[s[k] for k in range(model.n)] for s in symbols]
    there = ca.Function("there", symbols, [ca.vertcat(*newton_euler.inverse_dynamics(model, *rows))])
    back = ca.Function("back", symbols, [ca.vertcat(*articulated.factorized(model, *rows))])
    q, qd, qdd = np.random.default_rng(1).uniform(-1, 1, (3, model.n))
    tau = np.asarray(there(q, qd, qdd)).ravel()
    assert error(tau, newton_euler.inverse_dynamics(model, q.tolist(), qd.tolist(), qdd.tolist())) < ROUNDING
    assert error(np.asarray(back(q, qd, tau)).ravel(), qdd) < 1e-9  # through M⁻¹


def test_casadi_derivatives_are_those_of_the_kernel(tree):
    f = interchange.casadi_function(tree, "inverse_dynamics", friction=False)
    symbols = f.sx_in()
    J = casadi.Function("J", symbols, [casadi.jacobian(f(*symbols), symbols[0])])
    kernel = tree.kernel("inverse_dynamics")
    x = states(kernel)
    assert error(np.asarray(J(*x)), kernel.derivative("q")(*x)) < ROUNDING


def test_casadi_takes_what_kernels_take(tree):
    kernel = tree.kernel("inverse_dynamics", wrenches=[tree.tip])
    f = interchange.casadi_function(tree, "inverse_dynamics", wrenches=[tree.tip])
    g = interchange.casadi_function(kernel, title="mine")
    assert f.name_in() == ["q", "qd", "qdd", "wrench0"] and f.name_out() == ["tau"] and g.name() == "mine"
    x = states(kernel)
    assert error(np.asarray(f(*x)).ravel(), kernel(*x)) < ROUNDING
    called = f(q=x[0], qd=x[1], qdd=x[2], wrench0=x[3])["tau"]
    assert error(np.asarray(called).ravel(), kernel(*x)) < ROUNDING
    wrapped = interchange.casadi_function(tree, "mass_matrix", kind="MX")
    assert wrapped.is_a("MXFunction")
    assert error(np.asarray(wrapped(x[0])), tree.mass_matrix(x[0])) < ROUNDING


def test_casadi_of_other_systems():
    system = _pendulum()
    f = interchange.casadi_function(system, "forward_dynamics")
    assert error(np.asarray(f([0.3], [0.2], [0.1])).ravel(), system.forward_dynamics([0.3], [0.2], [0.1])) < ROUNDING
    flexible = dl.FlexibleRobot(dl.load("planar-2r"), stiffness=[100.0, 80.0], rotor_inertia=[0.1, 0.1])
    g = interchange.casadi_function(flexible)
    x, u = np.linspace(-0.4, 0.4, 8), np.array([0.3, -0.2])
    assert error(np.asarray(g(x, u)).ravel(), flexible.kernel("rate")(x, u)) < ROUNDING


def _pendulum():
    import sympy

    q = dl.lagrange.coordinates("q")
    m, g = sympy.symbols("m g", positive=True)
    return dl.LagrangianSystem(
        (q,), m * dl.lagrange.rate(q) ** 2 / 2, m * g * (1 - sympy.cos(q)), parameters={m: 2.0, g: 9.81}
    )


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc: the generated C is not compiled")
def test_the_c_that_casadi_generates_computes_the_same(tree, tmp_path):
    f = interchange.casadi_function(tree, "mass_matrix", title="M")
    generator = casadi.CodeGenerator("M.c")
    generator.add(f)
    generator.generate(f"{tmp_path}/")
    library = tmp_path / "M.so"
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", str(tmp_path / "M.c"), "-o", str(library), "-lm"], check=True)
    compiled = casadi.external("M", str(library))
    q = states(tree.kernel("mass_matrix"))[0]
    assert error(np.asarray(compiled(q)), tree.mass_matrix(q)) < ROUNDING


# ---------------------------------------------------------------------------------------------------------------- JAX
@pytest.mark.parametrize("name", KERNELS)
def test_jax_gives_the_kernels_numbers(tree, name):
    kernel = tree.kernel(name, **KERNELS[name])
    function = interchange.jax_function(tree, name, **KERNELS[name])
    x = states(kernel, 1, (4,))
    for got, wanted in zip(several(jax.jit(function)(*x)), several(kernel(*x)), strict=True):
        assert np.asarray(got).dtype == np.float64
        assert error(np.asarray(got), wanted) < ROUNDING


def test_jax_differentiates_and_maps(tree):
    kernel = tree.kernel("forward_dynamics")
    f = interchange.jax_function(tree, "forward_dynamics")
    x = states(kernel)
    wanted = kernel.derivative("q", "tau")(*x)
    for way, argument in ((jax.jacfwd, 0), (jax.jacrev, 2)):
        got = jax.jit(way(f, argnums=argument))(*x)
        assert error(np.asarray(got), wanted[argument // 2]) < 1e-9  # through M⁻¹
    many = states(kernel, 2, (3,))
    mapped = jax.jit(jax.vmap(f))(*many)
    assert error(np.asarray(mapped), kernel(*many)) < 1e-9
    arm, q, qd = dl.load("planar-2r"), np.array([0.3, 0.4]), np.array([0.5, -0.6])
    K = interchange.jax_function(arm, "kinetic_energy")
    M = jax.jit(jax.hessian(K, argnums=1))(q, qd)  # ∂²K/∂q̇² = M
    assert error(np.asarray(M), arm.mass_matrix(q)) < ROUNDING


def test_jax_broadcasts_and_refuses_shapes(tree):
    f = interchange.jax_function(tree, "bias_torque")
    q, qd = np.zeros((3, 1, tree.n)), np.ones((2, tree.n))
    assert f(q, qd).shape == (3, 2, tree.n)
    with pytest.raises(ValueError, match=r"qd has shape \(2,\); it must end in"):
        f(np.zeros(tree.n), np.zeros(2))


def test_registers_are_used_again(tree):
    text = tree.kernel("forward_dynamics").jax_source("f")
    space: dict = {}
    exec(text, space)
    program = tree.kernel("forward_dynamics").program
    assert space["_REGISTERS"] < len(program.steps) / 2
    assert len(space["_STEPS"]) == program.operations


def test_jax_in_single_precision_is_single(tree):
    kernel = tree.kernel("mass_matrix")
    (q,) = states(kernel)
    text = (
        "import sys, numpy as np, jax; exec(open(sys.argv[1]).read()); "
        "M = f(np.array(eval(sys.argv[2]))); print(M.dtype); print(np.asarray(M, float).tolist())"
    )
    import pathlib
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "f.py"
        file.write_text(kernel.jax_source("f"))
        out = subprocess.run(
            [sys.executable, "-c", text, str(file), repr(q.tolist())], capture_output=True, text=True, check=True
        ).stdout.splitlines()
    assert out[0] == "float32"
    assert 0 < error(np.array(eval(out[1])), kernel(q)) < 1e-5


# ----------------------------------------------------------------------------------------------------- the command line
def run(*arguments: str, code: int = 0):
    from click.testing import CliRunner

    found = CliRunner().invoke(main, arguments)
    assert found.exit_code == code, found.output
    return found


def test_export_to_casadi_and_jax(tmp_path):
    wanted_of = ("--kernel", "mass_matrix", "-o", str(tmp_path))
    assert "written to" in run("export", "planar-2r", "--format", "casadi", *wanted_of).output
    loaded = casadi.Function.load(str(tmp_path / "planar_2r_mass_matrix.casadi"))
    q = np.array([0.3, 0.4])
    wanted = dl.load("planar-2r").mass_matrix(q)
    assert error(np.asarray(loaded(q)), wanted) < ROUNDING
    import json

    files = json.loads(run("export", "planar-2r", "--format", "jax", "--kernel", "mass_matrix", "--json").output)[
        "files"
    ]
    space: dict = {}
    exec(files["planar_2r_mass_matrix.py"], space)
    assert error(np.asarray(space["planar_2r_mass_matrix"](q)), wanted) < ROUNDING
    assert (
        "is for C; jax takes many states as it is" in run("export", "rp", "--format", "jax", "--batch", code=2).output
    )
    assert "'julia' is not one of" in run("export", "rp", "--format", "julia", code=2).output
    slip = run("export", "rp", "--format", "casadi", "--kernel", "massmatrix", code=2)
    assert "unknown kernel 'massmatrix'" in slip.output


def test_export_without_casadi_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "casadi", None)
    found = run("export", "rp", "--format", "casadi", code=1)
    assert found.output.strip() == "Error: casadi is not installed: pip install 'dalembert[casadi]'"


def test_what_is_refused(tree, monkeypatch):
    make = interchange.casadi_function
    for call, text in (
        (lambda: make(tree, "inverse_dynamic"), "unknown-name"),
        (lambda: make(tree), "missing name"),
        (lambda: make(tree, "fk", kind="DM"), "unknown-name"),
        (lambda: make(3, "fk"), "wrong-type system"),
        (lambda: make(tree.kernel("fk"), "fk"), "no-effect name"),
        (lambda: make(tree, "fk", frame="nowhere"), "unknown-name"),
        (lambda: make(tree, "fk", ("qdd",)), "unknown-name"),
        (lambda: interchange.jax_function(tree, "fk", angle=1), "unknown-name"),
    ):
        with pytest.raises(dl.DalembertError) as told:
            call()
        assert fields_of(told.value) == text, str(told.value)
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(dl.MissingExtraError, match=r"'dalembert\[jax\]'"):
        interchange.jax_function(tree, "fk")
    with pytest.raises(AttributeError, match="casadi_funtion"):
        interchange.casadi_funtion  # noqa: B018


def test_a_derivative_is_a_difference(tree):
    """The JAX program of a derivative kernel, against differences of the function: two ways to the same slope."""
    kernel = tree.kernel("gravity_torque")
    D = interchange.jax_function(kernel.derivative("q"))
    (q,) = states(kernel)
    h = 1e-6
    steps = np.array([(kernel(q + h * e) - kernel(q - h * e)) / (2 * h) for e in np.eye(tree.n)]).T
    assert error(np.asarray(D(q)), steps) < DIFFERENCE
