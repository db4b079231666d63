"""The equations against the numeric kernels at exact points, and their laws as identities of polynomials."""

from __future__ import annotations

import math
import random
import warnings
from fractions import Fraction

import numpy as np
import pytest

import dalembert as dl
from dalembert.algorithms import energy, newton_euler
from dalembert.robots import names, text
from dalembert.symbolic.equations import Equations
from errors import fields_of, raises

TOLERANCE = 1e-12


def load(name: str) -> dl.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        return dl.load(name)


def exact_point(e: Equations, rng: random.Random) -> tuple[dict[str, Fraction], np.ndarray]:
    """Rational values of every name of the ring, sines and cosines on the circle, and the q they belong to."""
    values: dict[str, Fraction] = {}
    q = []
    for joint in e.ring.joints:
        t = Fraction(rng.randint(-200, 200), 100)
        if len(joint) == 2:
            values[joint[0]], values[joint[1]] = 2 * t / (1 + t * t), (1 - t * t) / (1 + t * t)
            q.append(math.atan2(values[joint[0]], values[joint[1]]))
        else:
            values[joint[0]] = t
            q.append(float(t))
    for name in (*e.ring.rates, *e.ring.accelerations):
        values[name] = Fraction(rng.randint(-100, 100), 100)
    return values | {name: Fraction(x) for name, x in e.values.items()}, np.array(q)


def numbers(A, values):
    if isinstance(A, list):
        return np.array([numbers(a, values) for a in A])
    return float(A.at(values))


def off(a, b) -> float:
    return float(np.abs(np.asarray(a) - b).max(initial=0) / max(np.abs(b).max(initial=0), 1e-3))


def check(robot: dl.Robot, e: Equations, rng: random.Random) -> None:
    """Everything against compiled kernels."""
    values, q = exact_point(e, rng)
    qd, qdd = (np.array([float(values[f"{x}{k + 1}"]) for k in range(e.n)]) for x in ("qd", "qdd"))
    assert off(numbers(e.M, values), robot.mass_matrix(q)) < TOLERANCE
    assert off(numbers(e.christoffel, values), robot.christoffel(q)) < TOLERANCE
    assert off(numbers(e.g, values), robot.gravity_torque(q)) < TOLERANCE
    assert off(numbers(e.K, values), robot.kinetic_energy(q, qd)) < TOLERANCE
    assert off(numbers(e.P, values), robot.potential_energy(q)) < TOLERANCE
    assert off(numbers(e.fk(), values), robot.fk(q)) < TOLERANCE
    assert off(numbers(e.jacobian(), values), robot.jacobian(q)) < TOLERANCE
    if sum(len(x) for row in e.M for x in row) < 3000:
        wanted = robot.inverse_dynamics(q, qd, qdd)
        assert off(numbers(e.tau, values), wanted) < TOLERANCE
        for choice in ("christoffel", "kronecker", "mdot-u/2", "ut-u/2"):
            got = numbers(e.coriolis_matrix(choice), values)
            assert off(got, robot.coriolis_matrix(q, qd, choice=choice)) < TOLERANCE


@pytest.mark.parametrize("name", [n for n in names() if "[[loops]]" not in text(n)] + ["four-bar", "five-bar"])
def test_bundled_robots_at_exact_points(name):
    robot = load(name).tree()  # of closed chains, two that branch
    small = robot.n < 7
    for symbolic in ("all", "inertias") if small else ("inertias",):
        e = robot.equations(symbolic=symbolic)
        rng = random.Random(name)
        for _ in range(2 if small else 1):
            check(robot, e, rng)


def random_arm(seed: int) -> dl.Robot:
    """A DH arm of two to four joints, turning and sliding, any twist, any inertia."""
    rng = random.Random(seed)
    rows = []
    for _ in range(rng.randint(2, 4)):
        sliding = rng.random() < 0.3
        alpha = rng.choice([0, math.pi / 2, -math.pi / 2, math.pi, 0.3, 1.1])
        x = [round(rng.uniform(-0.3, 0.3), 3) for _ in range(3)]
        inertial = dl.describe.Inertial(
            round(rng.uniform(0.5, 4), 3),
            (0.03, round(rng.uniform(-0.003, 0.003), 5), 0.001, 0.04, -0.002, 0.035),
            dl.describe.Origin(tuple(x)),
        )
        rows.append(
            dl.describe.DHRow(
                a=rng.choice([0, round(rng.uniform(-0.5, 0.5), 3)]),
                alpha=alpha,
                d=0.0 if sliding else round(rng.uniform(-0.3, 0.3), 3),
                theta=rng.choice([0, math.pi / 2, 0.4]) if sliding else 0.0,
                kind="prismatic" if sliding else "revolute",
                inertial=inertial,
            )
        )
    return dl.Robot.from_dh(rows, convention=rng.choice(["standard", "modified"]))


def check_dynamics(robot: dl.Robot, e: Equations, rng: random.Random) -> None:
    """The joint equations and the tip, against kernels that are interpreted: the same bits, sooner."""
    values, q = exact_point(e, rng)
    qd, qdd = (np.array([float(values[f"{x}{k + 1}"]) for k in range(e.n)]) for x in ("qd", "qdd"))
    assert off(numbers(e.tau, values), robot.kernel("inverse_dynamics").interpret(q, qd, qdd)) < TOLERANCE
    assert off(numbers(e.M, values), robot.kernel("mass_matrix").interpret(q)) < TOLERANCE
    assert off(numbers(e.jacobian(), values), robot.kernel("jacobian").interpret(q)) < TOLERANCE
    assert off(numbers(e.fk(), values), robot.kernel("fk").interpret(q)) < TOLERANCE


@pytest.mark.parametrize("block", range(10))
def test_a_hundred_random_arms(block):
    for seed in range(10 * block, 10 * block + 10):
        robot = random_arm(seed)
        e = robot.equations(symbolic=random.Random(seed).choice(["inertias", "none"]))
        check_dynamics(robot, e, random.Random(seed))


@pytest.mark.parametrize("name", ["planar-2r", "scara", "stanford", "puma560"])
def test_laws_as_identities(name):
    e = load(name).equations()
    n, G = e.n, e.christoffel
    assert e.keeps_skew_symmetry("christoffel") and e.keeps_skew_symmetry("kronecker")
    assert not e.keeps_skew_symmetry("mdot-u/2") and not e.keeps_skew_symmetry("ut-u/2")
    for choice in ("kronecker", "mdot-u/2", "ut-u/2"):  # all give the same c
        C = e.coriolis_matrix(choice)
        for k in range(n):
            c = sum((C[k][j] * e.qd[j] for j in range(n)), 0.0)
            assert c == e.centripetal[k] + e.coriolis[k]
    assert all(G[i][j][k] == G[j][i][k] for i in range(n) for j in range(n) for k in range(n))
    assert all(e.M[i][j] == e.M[j][i] for i in range(n) for j in range(n))
    assert energy.kinetic_energy(e.model, e.q, e.qd) == e.K
    # Euler–Lagrange = Newton–Euler, term by term
    tau = newton_euler.inverse_dynamics(e.model, e.q, e.qd, e.qdd, {}, None)
    assert all(a == b for a, b in zip(e.tau, tau, strict=True))


def test_regressors():
    e = load("planar-2r-points").equations(friction=True)
    pi = [name for name in ("m1", "m2", "Fs1", "Fv1", "Fs2", "Fv2") if name in e.ring.parameters]
    Y, rest = e.regressor_in(pi)
    assert all(not r for r in rest) and len(pi) == 6
    assert all(not entry.uses() & set(pi) for row in Y for entry in row)
    with raises(dl.InputError, "unsupported names"):
        e.regressor_in(["m1", "l1"])
    with raises(dl.UnknownNameError, "unknown-name"):
        e.regressor_in(["m3"])
    f = load("scara").equations()
    Y = f.regressor
    standard = [p for body in f.model.bodies for p in body.inertia.parameters()]
    rotor = [body.rotor_inertia for body in f.model.bodies]
    for k in range(f.n):
        total = sum((y * p for y, p in zip(Y[k], standard, strict=True)), 0.0) + rotor[k] * f.qdd[k]
        assert total == f.tau[k]


def test_what_is_symbolic():
    robot = load("planar-2r")
    assert set(robot.equations().parameters) == {"l1", "l2", "m1", "m2", "r1", "r2", "I1", "I2", "g"}
    assert set(robot.equations("inertias").parameters) == {"m1", "m2", "r1", "r2", "I1", "I2"}
    assert set(robot.equations("none").parameters) == set()
    assert set(robot.equations(["m2", "g"]).parameters) == {"m2", "g"}
    assert set(robot.equations(["length"]).parameters) == {"l1", "l2"}
    with raises(dl.UnknownNameError, "unknown-name"):
        robot.equations(["m9"])
    with raises(dl.InputError, "unknown-name symbolic"):
        robot.equations("everything")
    full = load("puma560").equations(zeros=False)
    assert {"I4xy", "x1", "m1"} <= set(full.ring.parameters)


def test_angles_written_in_decimals(tmp_path):
    text = """<robot name="r"><link name="b"/><link name="l"><inertial><mass value="1"/><origin xyz="0.1 0 0"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="j" type="continuous"><parent link="b"/><child link="l"/><axis xyz="0 0 1"/>
    <origin rpy="{} 0 0" xyz="0 0 0"/></joint></robot>"""
    right = dict.fromkeys(("1.5708", "1.57", "1.57079", "-1.570796"), True)
    cases = right | dict.fromkeys(("1.58", "1.6", "3.1"), False)
    for written, exact_angle in cases.items():
        file = tmp_path / "r.urdf"
        file.write_text(text.format(written))
        robot = load(str(file))
        e = robot.equations("none")
        assert bool(e.notes) == exact_angle
        assert (not e.ring.angles) == exact_angle
        snapped = dl.Robot(e.snapped_description())
        values, q = exact_point(e, random.Random(0))
        assert off(numbers(e.g, values), snapped.gravity_torque(q)) < TOLERANCE
        if written == "1.5708":
            assert "1.5708 is taken as 1·π/2" in e.notes[0]


def test_oblique_trees_in_numbers_or_refused_in_words():
    from trees import random_tree

    refused = 0
    for seed in range(6):
        robot = dl.Robot(random_tree(seed, 4))
        try:
            e = robot.equations("inertias")
        except dl.InputError as error:
            assert fields_of(error) == "too-large angles" and fields_of(error) == "too-large angles"
            refused += 1
            e = robot.equations("inertias", angles="numbers")
            values, q = exact_point(e, random.Random(seed))
            assert off(numbers(e.M, values), robot.kernel("mass_matrix").interpret(q)) < TOLERANCE
            assert off(numbers(e.g, values), robot.kernel("gravity_torque").interpret(q)) < TOLERANCE
            assert e.keeps_skew_symmetry()
    assert refused


def test_friction_that_the_symbols_do_not_express():
    puma = load("puma560").equations(friction=True)
    assert "differs between its directions" in puma.notes[-1]
    with raises(dl.InputError, "unsupported parameters"):
        puma.kernel("tau")


def test_standard_regressor_with_rotors_and_friction():
    e = load("stanford").equations(friction=True)
    Y, columns = e.regressor, e.regressor_columns
    assert len(columns) == len(Y[0]) == 10 * 6 + 3 * 6
    assert columns[60] == "J of joint1" and columns[66] == "F_v of joint1" and columns[-1] == "F_s of joint6"
    pi = [p for body in e.model.bodies for p in body.inertia.parameters()]
    pi += [body.rotor_inertia for body in e.model.bodies]
    pi += [e.ring[f"{x}{k}"] for x in ("Fv", "Fs") for k in range(1, 7)]
    for k in range(6):
        assert sum((y * p for y, p in zip(Y[k], pi, strict=True)), 0.0) == e.tau[k]


def test_numbers_that_were_computed_are_simple_fractions():
    assert load("planar-2r").equations(["m2"]).text("M").startswith("a = ")
    assert "e-" not in load("planar-2r").equations(["m2"]).text("M")
    for wrong in (None, 5, [1]):
        with raises(dl.InputError, "wrong-type symbolic"):
            load("planar-2r").equations(wrong)
