"""Equations of robots with planar, spherical and floating joints: golden texts, laws as identities of polynomials, the
numbers of the kernels, and closed forms by hand."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import dalembert as dl
from dalembert.apps.cli import main
from dalembert.bounds.symbolic import symbolic_bounds
from dalembert.describe.description import Description, Inertial, Joint, Link, Origin
from dalembert.spatial import quaternion
from dalembert.symbolic.entries import points_of, quantity
from dalembert.symbolic.equations import Equations
from dalembert.symbolic.polynomial import Ring
from errors import raises
from trees import random_tree

GOLDEN = Path(__file__).parent / "golden"
TOLERANCE = 1e-12


def hung(kind: str, com=(0.0, 0.0, -0.5), inertia=(0.01, 0.0, 0.0, 0.02, 0.0, 0.03)) -> dl.Robot:
    """One body on one joint."""
    body = Link("body", Inertial(2.0, inertia, Origin(com)))
    return dl.Robot(Description("body", (Link("world"), body), (Joint("joint", kind, "world", "body"),)))


def flying_arm() -> dl.Robot:
    """A body that slides and turns on a table with one joint on it, seen from above."""
    base = Link("hull", Inertial(3.0, (0.1, 0.0, 0.0, 0.1, 0.0, 0.2)))
    arm = Link("arm", Inertial(1.0, (0.01, 0.0, 0.0, 0.01, 0.0, 0.02), Origin((0.3, 0.0, 0.0))))
    joints = (
        Joint("float", "planar", "table", "hull", axis=(0.0, 0.0, 1.0)),
        Joint("elbow", "continuous", "hull", "arm", Origin((0.4, 0.0, 0.0)), (0.0, 0.0, 1.0)),
    )
    return dl.Robot(Description("flying arm", (Link("table"), base, arm), joints, (0.0, 0.0, -9.81)))


@cache
def made(name: str) -> tuple[dl.Robot, Equations]:
    robots = {
        "spherical pendulum": lambda: hung("spherical"),
        "point on a ball joint": lambda: hung("spherical", inertia=(0.0,) * 6),
        "free body": lambda: hung("floating", com=(0.0, 0.0, 0.0)),
        "free body, oblique": lambda: hung("floating", (0.1, -0.2, 0.3), (0.3, 0.01, -0.02, 0.4, 0.03, 0.35)),
        "flying arm": flying_arm,
        "planar-2r, floating": lambda: dl.load("planar-2r").with_payload(1.0, frame="base").with_base("floating"),
        "scara, planar": lambda: dl.load("scara").with_payload(1.0, frame="base").with_base("planar"),
        "elbow, spherical": lambda: dl.load("elbow-3r").with_base("spherical"),
    }
    robot = robots[name]()
    return robot, robot.equations()


NAMES = ("spherical pendulum", "point on a ball joint", "free body", "free body, oblique", "flying arm")
LARGER = ("planar-2r, floating", "scara, planar", "elbow, spherical")


@pytest.mark.parametrize("name", ["spherical pendulum", "free body", "flying arm"])
def test_golden(name):
    _, e = made(name)
    said = e.text() if name == "flying arm" else e.text("M", "C") * (name != "free body") + e.text("tau", "qd")
    assert said == (GOLDEN / f"{name.replace(' ', '-')}.txt").read_text()


def state(robot: dl.Robot, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    v, a = np.random.default_rng(seed).normal(size=(2, robot.nv))
    return robot.random_configuration(seed=seed), v, a


def off(got, wanted) -> float:
    return float(np.abs(got - wanted).max(initial=0) / max(np.abs(wanted).max(initial=0), 1e-3))


def values_of(e: Equations, what: str, q, v, a) -> np.ndarray:
    """A quantity at a state, from its polynomials."""
    given = zip(e.letter_of.values(), (q, v, a), strict=True)
    named = {f"{letter}{k}": np.array([x]) for letter, row in given for k, x in enumerate(row, 1)}
    points = points_of(e, named | {name: np.array([x]) for name, x in e.values.items()})

    def numbers(A):
        return [numbers(x) for x in A] if isinstance(A, list) else A.at_points(points)[0]

    return np.array(numbers(quantity(e, what)))


@pytest.mark.parametrize("name", NAMES + LARGER)
def test_numbers_of_the_kernels(name):
    robot, e = made(name)
    for seed in range(3):
        q, v, a = state(robot, seed)
        wanted = {
            "M": robot.mass_matrix(q),
            "C": robot.coriolis_matrix(q, v),
            "g": robot.gravity_torque(q),
            "tau": robot.inverse_dynamics(q, v, a),
            "qd": robot.position_rates(q, v),
            "K": robot.kinetic_energy(q, v),
            "P": robot.potential_energy(q),
        }
        for what, x in wanted.items():
            assert off(values_of(e, what, q, v, a), x) < TOLERANCE, what
    if name == "flying arm":
        assert off(e.kernel("C")(q, v), wanted["C"]) < TOLERANCE
        assert off(e.kernel("tau")(q, v, a), wanted["tau"]) < TOLERANCE


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 6, 7, 9, 10, 11, 12, 13])
def test_random_trees_of_all_kinds_of_joints(seed):
    robot = dl.Robot(random_tree(seed, 2, several=True, oblique=False))
    e = robot.equations("none", angles="numbers")
    assert e.keeps_skew_symmetry()
    q, v, a = state(robot, seed)
    assert off(values_of(e, "tau", q, v, a), robot.inverse_dynamics(q, v, a)) < TOLERANCE
    assert off(values_of(e, "Y", q, v, a), robot.regressor(q, v, a)) < TOLERANCE
    if robot.model.tip is not None:
        assert off(values_of(e, "J", q, v, a), robot.jacobian(q)) < TOLERANCE


@pytest.mark.parametrize("name", NAMES + LARGER)
def test_laws_as_identities(name):
    """Ṁ − 2C is skew, and power is the rate of energy, for every state."""
    robot, e = made(name)
    assert e.keeps_skew_symmetry()
    power = sum((t * v for t, v in zip(e.tau, e.qd, strict=True)), e.ring.zero)
    momenta = [e.K.derivative(f"v{k + 1}") for k in range(robot.nv)]
    by_speed = sum((p * a for p, a in zip(momenta, e.qdd, strict=True)), e.ring.zero)
    assert power == by_speed + e.rate_of(e.K) + e.rate_of(e.P)
    split = [a + b for a, b in zip(e.centripetal, e.coriolis, strict=True)]
    assert split == [sum((c * v for c, v in zip(row, e.qd, strict=True)), e.ring.zero) for row in e.C]


def test_quaternions_have_one_form():
    ring = Ring([("q1",), ("q2",), ("q3",), ("q4",), ("s5", "c5")], rates=("v1",), quaternions=(0,))
    x, y, z, w = q = [ring[f"q{k}"] for k in (1, 2, 3, 4)]
    assert x * x + y * y + z * z + w * w == 1
    assert w**4 == (1 - x * x - y * y - z * z) ** 2 and (w * ring["s5"]) ** 2 == (1 - ring["c5"] ** 2) * w**2
    R = quaternion.rotation_matrix(q)
    columns = list(zip(*R, strict=True))
    for i in range(3):
        for j in range(3):
            assert sum((a * b for a, b in zip(R[i], R[j], strict=True)), ring.zero) == float(i == j)
            assert sum((a * b for a, b in zip(columns[i], columns[j], strict=True)), ring.zero) == float(i == j)
    assert max(powers[0] for powers in (w**5 * x).terms()) == 1  # w comes first
    assert ring.normal((w.p**2 + x.p**2) * y.p) == (1 - y * y - z * z) * y


def test_spherical_pendulum_by_hand():
    """R = Rz(φ) Ry(θ), the bob at −l along z: the torques are m l² (θ̈ − φ̇² sin θ cos θ) + m g l sin θ about y and
    −m l² (φ̈ sin θ + 2 φ̇ θ̇ cos θ) about x, by Lagrange's equations in θ and φ."""
    _, e = made("point on a ball joint")
    m, l, g = 2.0, 0.5, 9.81
    for theta, phi, dtheta, dphi, ddtheta, ddphi in np.random.default_rng(0).normal(size=(20, 6)):
        s, c = math.sin(theta), math.cos(theta)
        q = quaternion.product((0.0, 0.0, math.sin(phi / 2), math.cos(phi / 2)), quaternion.exp((0.0, theta, 0.0)))
        v = (-s * dphi, dtheta, c * dphi)
        a = (-c * dtheta * dphi - s * ddphi, ddtheta, -s * dtheta * dphi + c * ddphi)
        about_y = m * l * l * (ddtheta - dphi**2 * s * c) + m * g * l * s
        about_x = -m * l * l * (s * ddphi + 2 * c * dtheta * dphi)
        np.testing.assert_allclose(e.kernel("tau")(q, v, a), (about_x, about_y, 0.0), rtol=0, atol=1e-13)


def test_euler_s_equations():
    _, e = made("free body")
    I, w, a = ("I1xx", "I1yy", "I1zz"), ("v4", "v5", "v6"), ("vd4", "vd5", "vd6")
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        assert e.compare(f"tau{k + 4}", f"{I[k]}*{a[k]} + ({I[j]} - {I[i]})*{w[i]}*{w[j]}")
    assert e.compare("g3", "m1*g*(q7^2 + q6^2 - q4^2 - q5^2)")  # with the length of one
    wrong = e.compare("tau4", "I1xx*vd4 - (I1zz - I1yy)*v5*v6")
    assert not wrong and "sign" in wrong.slip


def test_code_and_print():
    import sympy

    robot, e = made("flying arm")
    q = state(robot, 5)[0]
    M = e.sympy("M")
    at = e.values | {f"q{k + 1}": x for k, x in enumerate(q)}
    M = M.subs({x: at[x.name] for x in M.free_symbols})
    np.testing.assert_allclose(np.array(M, float), robot.mass_matrix(q), rtol=1e-12)
    q3, v1, v2 = sympy.symbols("q3 v1 v2", real=True)
    assert e.sympy("qd")[0] == sympy.cos(q3) * v1 - sympy.sin(q3) * v2
    assert r"\dot{v}_{1}" in e.latex("tau") and r"\dot{q}_{1} &= c_{3} v_{1} - s_{3} v_{2}" in e.latex()
    text = made("spherical pendulum")[1].normal_form()
    assert "# q1**2 + q2**2 + q3**2 + q4**2 = 1" in text and "qd4 = " in text and "Gamma" not in text
    rough = flying_arm().equations(friction=True)
    assert (
        "Fs4*sgnv4" in rough.text("tau4")
        and "Fv4*v4" in rough.text("tau4")
        and r"\operatorname{sgn}(v_{4})" in rough.latex("tau")
    )
    assert str(rough.sympy("tau4")).count("sign(v4)") == 1


def test_what_such_equations_do_not_have_is_said():
    _, e = made("flying arm")
    for call in (lambda: e.christoffel, lambda: e.text("Gamma"), lambda: symbolic_bounds(e)):
        with pytest.raises(dl.InputError, match="'float'"):
            call()
    with raises(dl.InputError, "unsupported choice"):
        e.coriolis_matrix("kronecker")
    for method in ("lagrange", "newton-euler", "task-space", "kinematics"):
        with raises(dl.InputError, "unsupported robot"):
            e.derivation(method)
    chain = random_tree(0, 10, chain=True, oblique=False, fixed=False)
    with raises(dl.InputError, "too-large symbolic"):
        dl.Robot(chain).with_base("floating").equations()
    tilted = Joint("float", "planar", "table", "hull", axis=(0.6, 0.0, 0.8))
    links = (Link("table"), Link("hull", Inertial(1.0, (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))))
    with raises(dl.InputError, "unsupported axis"):
        dl.Robot(Description("tilted", links, (tilted,))).equations()


def test_command_line():
    told = ["equations", "planar-2r", "--only", "qd,M13"]
    done = CliRunner().invoke(main, [*told, "--base", "planar"])
    assert not done.exit_code and "qd1 = c3*v1 - s3*v2" in done.stdout and "M13 = " in done.stdout
    assert "is not one of" in CliRunner().invoke(main, [*told, "--base", "flat"]).output
    scene = CliRunner().invoke(main, ["robots", "--base", "planar"])
    assert scene.exit_code == 2 and "--base" in scene.output
