"""Bad input gets a sentence: what, where, and what would be right."""

from __future__ import annotations

import subprocess
import sys

import pytest
import sympy as sp

import dalembert as dl
from dalembert.errors import SingularityError
from errors import fields_of, raises

x, y = dl.coordinates("x y")
xd, yd = dl.rate(x), dl.rate(y)
m, k, l = sp.symbols("m k l", positive=True)
K2 = m * (xd**2 + yd**2) / 2
t = sp.Symbol("t")
f = sp.Function("f")
S, bodies = dl.LagrangianSystem, dl.LagrangianSystem.from_bodies
circle = x**2 + y**2 - l**2

REFUSED = {
    "no inertia": (
        lambda: S((x, y), m * xd**2 / 2, k * y**2),
        "coordinate 'y' has no inertia: the kinetic energy does not contain yd",
    ),
    "no inertia of its own": (lambda: S((x, y), m * (xd + yd) ** 2 / 2), "does not tell x from y"),
    "negative": (lambda: S((x, y), xd**2 - yd**2), "the kinetic energy is negative"),
    "cubic": (lambda: S(x, xd**3), "is not quadratic in the velocities"),
    "relativistic": (lambda: S(x, -m * sp.sqrt(1 - xd**2)), "is not quadratic in the velocities"),
    "twice": (lambda: S((x, x), xd**2), "the name 'x' is used twice"),
    "velocity's name": (lambda: S("x xd", xd**2), "the name 'xd' is used twice"),
    "two symbols": (
        lambda: S(x, m * xd**2, sp.Symbol("m") * x),
        "the name 'm' is used twice, by two different SymPy symbols (positive and no assumptions)",
    ),
    "another x": (lambda: S(x, xd**2, sp.Symbol("x")), "the name 'x' is used twice"),
    "parameter": (lambda: S(x, m * xd**2, parameters={"x": 1}), "the name 'x' is used twice"),
    "parameter twice": (lambda: S(x, m * xd**2, parameters={"m": 1, m: 1}), "'m' is used twice"),
    "input's name": (lambda: S(x, xd**2, forces=[y], inputs=[x]), "the name 'x' is used twice"),
    "input twice": (lambda: S(x, xd**2, forces=[y], inputs="y y"), "the name 'y' is used twice"),
    "reserved": (lambda: S(x, xd**2, sp.Symbol("tau1") * x), "the name 'tau1' is used twice"),
    "function's name": (lambda: S(f(t), sp.diff(f(t), t) ** 2, sp.Symbol("f")), "'f' is used twice"),
    "potential": (lambda: S(x, xd**2, x * xd), "the potential energy, x*xd, contains the velocity xd"),
    "input in K": (lambda: S(x, m * xd**2, inputs=[m]), "contains the input m: inputs act through"),
    "idle input": (lambda: S(x, xd**2, forces=[y], inputs="y u"), "the input u does nothing: no force in forces="),
    "force in u²": (lambda: S(x, xd**2, forces=[m**2], inputs=[m]), "is not linear in the inputs m"),
    "repeated": (
        lambda: S((x, y), K2, constraints=[circle, (2 * circle).expand()]),
        "constraint 2 (-2*l**2 + 2*x**2 + 2*y**2 = 0) follows from those before it",
    ),
    "contradiction": (
        lambda: S((x, y), K2, constraints=[x - y, x - y - l]),
        "contradicts those before it: the rows of A are dependent in every state, and multipliers "
        "undefined; they cannot hold at once",
    ),
    "dependent row": (
        lambda: S((x, y), K2, constraints=[x - y], pfaffian=[xd - yd]),
        "pfaffian constraint 1 follows from those before it",
    ),
    "inconsistent": (
        lambda: S((x, y), K2, constraints=[x**2 + y**2 + l**2], parameters={m: 1, l: 1}),
        "the constraints are inconsistent: no configuration satisfies l**2 + x**2 + y**2 = 0",
    ),
    "no gradient": (
        lambda: S((x, y), K2, constraints=[(x - y) ** 2], parameters={m: 1}),
        "the rows of A are dependent",
    ),
    "empty": (lambda: S((x, y), K2, constraints=[l - 2]), "restricts no coordinate"),
    "too many": (lambda: S(x, xd**2, constraints=[x - 1, x**2 - 1]), "leave nothing that moves"),
    "velocity held": (lambda: S((x, y), K2, constraints=[x * yd]), "use pfaffian= for constraints"),
    "not Pfaffian": (lambda: S((x, y), K2, pfaffian=[xd**2 - yd]), "is not linear in the velocities"),
    "affine": (lambda: S((x, y), K2, pfaffian=[xd - 1]), "is not linear in the velocities"),
    "short row": (lambda: S((x, y), K2, pfaffian=[[1]]), "has 1 entries; a row of A has one per coord"),
    "row with velocity": (lambda: S((x, y), K2, pfaffian=[[xd, 1]]), "contains the velocity xd"),
    "forces": (lambda: S((x, y), K2, forces=[m]), "forces are 2 generalized forces, one per coordinate"),
    "a point of four": (lambda: S(x, xd**2, forces=[((1, 0), (x, 0, 0, 0))]), "the point of force 1 must be"),
    "time": (lambda: S(x, xd**2, x * sp.sin(t)), "depends on time explicitly"),
    "time itself": (lambda: S("t", xd**2), "stands for time"),
    "acceleration": (lambda: S(x, xd**2, dl.rate(xd)), "contains the acceleration xdd"),
    "forgotten": (lambda: S(x, xd**2, f(t)), "contains f(t), which moves but is not among the coord"),
    "text": (lambda: S(x, "xd**2"), "must be a SymPy expression, not text"),
    "a list": (lambda: S(x, [xd**2]), "must be a SymPy expression or a number, got list"),
    "a matrix": (lambda: S(x, sp.Matrix([xd**2])), "must be one SymPy expression"),
    "infinite": (lambda: S(x, xd**2, sp.oo), "is not finite"),
    "nothing": (lambda: S((), 0), "at least one coordinate"),
    "a number": (lambda: S([3], 0), "a coordinate is a SymPy symbol or a function of time"),
    "no sequence": (lambda: S(3, 0), "coordinates must be a sequence of SymPy symbols"),
    "value": (lambda: S(x, m * xd**2, parameters={m: "big"}), "parameter 'm' must be a finite number"),
    "no mapping": (lambda: S(x, m * xd**2, parameters=[1]), "parameters map symbols to numbers"),
    "names": (lambda: dl.coordinates(""), "coordinates are made from their names"),
    "rate": (lambda: dl.rate(x * y), "needs to know what moves"),
    "body": (lambda: bodies(x, [3]), "bodies are Particle or RigidBody objects, not int"),
    "position": (lambda: bodies(x, dl.Particle(m, x)), "the position of a body must be a vector"),
    "mass": (lambda: bodies(x, dl.Particle("m", (x,))), "the mass of a body must be a SymPy expression or a number"),
    "no body": (lambda: bodies(x, 3), "bodies are Particle or RigidBody objects, not int"),
    "gravity": (lambda: bodies(x, dl.Particle(m, (x,)), 9.81), "gravity must be a vector of one to three components"),
    "imaginary": (lambda: S(x, sp.I * xd**2), "contains the imaginary unit"),
    "rate of text": (lambda: dl.rate("x"), "rate is of a coordinate, an expression or a vector"),
    "no turn": (lambda: bodies(x, dl.RigidBody(m, 1, (x,))), "give one of them"),
    "planar 3×3": (lambda: bodies(x, dl.RigidBody(m, sp.eye(3), (x,), angle=x)), "one moment of in"),
    "no rotation": (lambda: bodies(x, dl.RigidBody(m, sp.eye(3), (x,), 2 * sp.eye(3))), "RᵀR is not"),
    "asymmetric": (
        lambda: bodies(x, dl.RigidBody(m, [[1, 1, 0], [0, 1, 0], [0, 0, 1]], (x,), sp.eye(3))),
        "an inertia matrix is symmetric",
    ),
    "small": (lambda: bodies(x, dl.RigidBody(m, 1, (x,), sp.eye(3))), "inertia must be a 3×3"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_a_sentence(case):
    make, words = REFUSED[case]
    with pytest.raises(dl.InputError) as caught:
        make()
    assert words in str(caught.value), str(caught.value)


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
    for P, words in {
        sp.exp(x): "exp(x) cannot be computed: the compiler has no exp",
        sp.besselj(0, x): "has no besselj",
        sp.Function("V")(x): "has no V",
        (x**2 + 1) ** sp.Rational(1, 3): "whole and half powers only, not the exponent 1/3",
    }.items():
        system = dl.LagrangianSystem(x, xd**2, P)
        with pytest.raises(dl.InputError) as caught:
            system.potential_energy([0.3])
        assert fields_of(caught.value) == "unsupported"
    derivative = dl.LagrangianSystem(x, xd**2, sp.Function("V")(x))
    with raises(dl.InputError, "unsupported"):
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
        "try: dl.coordinates('x')\n"
        "except dl.MissingExtraError as error: print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "pip install 'dalembert[lagrange]'" in run.stdout


def test_constraints_are_tried_though_other_parameters_are_free():
    import sympy

    x, th = dl.coordinates("x th")
    m = sympy.Symbol("m")
    with raises(dl.InputError, "infeasible constraints"):
        dl.LagrangianSystem([x, th], m * dl.rate(x) ** 2 / 2 + dl.rate(th) ** 2 / 2, constraints=[x**2 + th**2 + 1])


def test_powers_written_as_decimals():
    x = dl.coordinates("x")
    x = x[0] if isinstance(x, (list, tuple)) else x
    system = dl.LagrangianSystem([x], dl.rate(x) ** 2 / 2, x**2.0)
    assert system.gravity_torque([3.0]).tolist() == [6.0]
