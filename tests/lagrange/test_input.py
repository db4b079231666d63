"""Bad input gets a sentence: what, where, and what would be right."""

from __future__ import annotations

import subprocess
import sys

import pytest
import sympy as sp

import dalembert as dl
from dalembert.errors import SingularityError
from errors import raises

x, y = dl.lagrange.coordinates("x y")
xd, yd = dl.lagrange.rate(x), dl.lagrange.rate(y)
m, k, l = sp.symbols("m k l", positive=True)
K2 = m * (xd**2 + yd**2) / 2
t = sp.Symbol("t")
f = sp.Function("f")
S, bodies = dl.LagrangianSystem, dl.LagrangianSystem.from_bodies
circle = x**2 + y**2 - l**2

REFUSED = {
    "no inertia": (lambda: S((x, y), m * xd**2 / 2, k * y**2), "not-physical kinetic"),
    "no inertia of its own": (lambda: S((x, y), m * (xd + yd) ** 2 / 2), "not-physical kinetic"),
    "negative": (lambda: S((x, y), xd**2 - yd**2), "not-physical kinetic"),
    "cubic": (lambda: S(x, xd**3), "wrong-value kinetic"),
    "relativistic": (lambda: S(x, -m * sp.sqrt(1 - xd**2)), "wrong-value kinetic"),
    "twice": (lambda: S((x, x), xd**2), "duplicate coordinates"),
    "velocity's name": (lambda: S("x xd", xd**2), "duplicate coordinates"),
    "two symbols": (lambda: S(x, m * xd**2, sp.Symbol("m") * x), "duplicate parameters"),
    "another x": (lambda: S(x, xd**2, sp.Symbol("x")), "duplicate parameters"),
    "parameter": (lambda: S(x, m * xd**2, parameters={"x": 1}), "duplicate parameters"),
    "parameter twice": (lambda: S(x, m * xd**2, parameters={"m": 1, m: 1}), "duplicate parameters"),
    "input's name": (lambda: S(x, xd**2, forces=[y], inputs=[x]), "duplicate inputs"),
    "input twice": (lambda: S(x, xd**2, forces=[y], inputs="y y"), "duplicate inputs"),
    "reserved": (lambda: S(x, xd**2, sp.Symbol("tau1") * x), "duplicate parameters"),
    "function's name": (lambda: S(f(t), sp.diff(f(t), t) ** 2, sp.Symbol("f")), "duplicate coordinates"),
    "potential": (lambda: S(x, xd**2, x * xd), "wrong-value the potential energy"),
    "input in K": (lambda: S(x, m * xd**2, inputs=[m]), "wrong-value the kinetic energy"),
    "idle input": (lambda: S(x, xd**2, forces=[y], inputs="y u"), "no-effect inputs"),
    "force in u²": (lambda: S(x, xd**2, forces=[m**2], inputs=[m]), "wrong-value forces"),
    "repeated": (lambda: S((x, y), K2, constraints=[circle, (2 * circle).expand()]), "singular constraints"),
    "contradiction": (lambda: S((x, y), K2, constraints=[x - y, x - y - l]), "singular constraints"),
    "dependent row": (lambda: S((x, y), K2, constraints=[x - y], pfaffian=[xd - yd]), "singular constraints"),
    "inconsistent": (
        lambda: S((x, y), K2, constraints=[x**2 + y**2 + l**2], parameters={m: 1, l: 1}),
        "infeasible constraints",
    ),
    "no gradient": (lambda: S((x, y), K2, constraints=[(x - y) ** 2], parameters={m: 1}), "singular constraints"),
    "empty": (lambda: S((x, y), K2, constraints=[l - 2]), "no-effect constraints"),
    "too many": (lambda: S(x, xd**2, constraints=[x - 1, x**2 - 1]), "too-large constraints"),
    "velocity held": (lambda: S((x, y), K2, constraints=[x * yd]), "wrong-value constraint 1"),
    "not Pfaffian": (lambda: S((x, y), K2, pfaffian=[xd**2 - yd]), "wrong-value pfaffian constraint 1"),
    "affine": (lambda: S((x, y), K2, pfaffian=[xd - 1]), "wrong-value pfaffian constraint 1"),
    "short row": (lambda: S((x, y), K2, pfaffian=[[1]]), "wrong-shape pfaffian constraint 1"),
    "row with velocity": (lambda: S((x, y), K2, pfaffian=[[xd, 1]]), "wrong-value pfaffian constraint 1"),
    "forces": (lambda: S((x, y), K2, forces=[m]), "wrong-shape forces"),
    "a point of four": (lambda: S(x, xd**2, forces=[((1, 0), (x, 0, 0, 0))]), "wrong-shape the point of force 1"),
    "time": (lambda: S(x, xd**2, x * sp.sin(t)), "unsupported the potential energy"),
    "time itself": (lambda: S("t", xd**2), "wrong-value coordinates"),
    "acceleration": (lambda: S(x, xd**2, dl.lagrange.rate(xd)), "wrong-value the potential energy"),
    "forgotten": (lambda: S(x, xd**2, f(t)), "missing coordinates"),
    "text": (lambda: S(x, "xd**2"), "wrong-type the kinetic energy"),
    "a list": (lambda: S(x, [xd**2]), "wrong-type the kinetic energy"),
    "a matrix": (lambda: S(x, sp.Matrix([xd**2])), "wrong-shape the kinetic energy"),
    "infinite": (lambda: S(x, xd**2, sp.oo), "not-finite the potential energy"),
    "nothing": (lambda: S((), 0), "missing coordinates"),
    "a number": (lambda: S([3], 0), "wrong-type coordinates"),
    "no sequence": (lambda: S(3, 0), "wrong-type coordinates"),
    "value": (lambda: S(x, m * xd**2, parameters={m: "big"}), "wrong-type parameter 'm'"),
    "no mapping": (lambda: S(x, m * xd**2, parameters=[1]), "wrong-type parameters"),
    "names": (lambda: dl.lagrange.coordinates(""), "wrong-type names"),
    "rate": (lambda: dl.lagrange.rate(x * y), "missing coordinates"),
    "body": (lambda: bodies(x, [3]), "wrong-type bodies"),
    "position": (lambda: bodies(x, dl.lagrange.Particle(m, x)), "wrong-shape the position of a body"),
    "mass": (lambda: bodies(x, dl.lagrange.Particle("m", (x,))), "wrong-type the mass of a body"),
    "no body": (lambda: bodies(x, 3), "wrong-type bodies"),
    "gravity": (lambda: bodies(x, dl.lagrange.Particle(m, (x,)), 9.81), "wrong-shape gravity"),
    "imaginary": (lambda: S(x, sp.I * xd**2), "wrong-value the kinetic energy"),
    "rate of text": (lambda: dl.lagrange.rate("x"), "wrong-type x"),
    "no turn": (lambda: bodies(x, dl.lagrange.RigidBody(m, 1, (x,))), "conflict angle"),
    "planar 3×3": (lambda: bodies(x, dl.lagrange.RigidBody(m, sp.eye(3), (x,), angle=x)), "wrong-shape inertia"),
    "no rotation": (
        lambda: bodies(x, dl.lagrange.RigidBody(m, sp.eye(3), (x,), 2 * sp.eye(3))),
        "wrong-value rotation",
    ),
    "asymmetric": (
        lambda: bodies(x, dl.lagrange.RigidBody(m, [[1, 1, 0], [0, 1, 0], [0, 0, 1]], (x,), sp.eye(3))),
        "wrong-value inertia",
    ),
    "small": (lambda: bodies(x, dl.lagrange.RigidBody(m, 1, (x,), sp.eye(3))), "wrong-shape inertia"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_sentence(case):
    make, fields = REFUSED[case]
    with raises(dl.InputError, fields):
        make()


def spring():
    return dl.LagrangianSystem(x, m * xd**2 / 2, k * x**2 / 2, name="spring")


def test_numbers_need_numbers():
    with raises(dl.InputError, "missing k"):
        spring().mass_matrix([0.0])
    half = spring().with_parameters(m=2)
    with raises(dl.InputError, "missing k"):
        half.mass_matrix([0.0])
    assert [s.name for s in half.free_parameters] == ["k"] and half.parameters == {m: 2.0}
    whole = half.with_parameters({k: sp.Rational(9, 2)})
    assert whole.forward_dynamics([1.0], [0.0], [0.0]) == [-2.25]
    with raises(dl.UnknownNameError, "unknown-name"):
        half.with_parameters(kk=1)


def test_functions_that_the_compiler_lacks_are_named():
    for P in (sp.exp(x), sp.besselj(0, x), sp.Function("V")(x), (x**2 + 1) ** sp.Rational(1, 3)):
        system = dl.LagrangianSystem(x, xd**2, P)
        with raises(dl.InputError, "unsupported expression") as caught:
            system.potential_energy([0.3])
        assert caught.value.value == str(P)
    derivative = dl.LagrangianSystem(x, xd**2, sp.Function("V")(x))
    with raises(dl.InputError, "unsupported expression"):
        derivative.gravity_torque([0.3])


def test_calls_are_checked_as_a_robots_are():
    system = spring().with_parameters(m=1, k=1)
    with raises(dl.InputError, "wrong-shape q"):
        system.mass_matrix([0.0, 1.0])
    with raises(dl.InputError, "wrong-type qd"):
        system.coriolis_matrix([0.0], None)
    with raises(dl.InputError, "wrong-type friction"):
        system.inverse_dynamics([0.0], [0.0], [0.0], friction=3)
    with raises(dl.UnknownNameError, "unknown-name"):
        system.kernel("mass_matrx")
    with raises(dl.UnknownNameError, "unknown-name"):
        system.kernel("mass_matrix", frame="tip")
    with raises(dl.UnknownNameError, "unknown-name"):
        system.kernel("mass_matrix", given=("qdd",))
    for name in ("multipliers", "constraint_forces"):
        with raises(dl.InputError, "missing constraints"):
            getattr(system, name)([0.0], [0.0], [0.0])
    with raises(dl.InputError, "missing inputs"):
        system.input_matrix([0.0])
    with raises(dl.InputError, "missing constraints"):
        system.inverse_dynamics([0.0], [0.0], [0.0], [1.0])


def test_an_inertia_that_is_zero_in_numbers():
    with raises((dl.InputError, SingularityError), "not-physical kinetic"):
        spring().with_parameters(m=0, k=1).forward_dynamics([0.0], [0.0], [0.0])


def test_without_sympy_the_sentence_says_what_to_install():
    script = (
        "import sys; sys.modules['sympy'] = None\n"
        "import dalembert as dl\n"
        "try: dl.lagrange.coordinates('x')\n"
        "except dl.MissingExtraError as error: print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "pip install 'dalembert[lagrange]'" in run.stdout


def test_constraints_are_tried_though_other_parameters_are_free():
    import sympy

    x, th = dl.lagrange.coordinates("x th")
    m = sympy.Symbol("m")
    with raises(dl.InputError, "infeasible constraints"):
        dl.LagrangianSystem(
            [x, th], m * dl.lagrange.rate(x) ** 2 / 2 + dl.lagrange.rate(th) ** 2 / 2, constraints=[x**2 + th**2 + 1]
        )


def test_powers_written_as_decimals():
    x = dl.lagrange.coordinates("x")
    x = x[0] if isinstance(x, (list, tuple)) else x
    system = dl.LagrangianSystem([x], dl.lagrange.rate(x) ** 2 / 2, x**2.0)
    assert system.gravity_torque([3.0]).tolist() == [6.0]
