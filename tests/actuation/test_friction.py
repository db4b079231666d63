"""Friction laws: what each row of the table says, and friction in the model, its files, its dynamics and its
regressor."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate

import dalembert as dl
from dalembert.compile import compile_function
from dalembert.describe.description import Description, Drive, Inertial, Joint, Link
from dalembert.describe.toml_read import read_toml
from dalembert.describe.toml_schema import TomlFriction
from dalembert.describe.toml_write import write_toml
from dalembert.describe.urdf_read import read_urdf
from dalembert.describe.urdf_write import write_urdf
from dalembert.friction import (
    LAWS,
    SIGNS,
    Friction,
    breakaway,
    equivalent_damping,
    friction,
    slope,
    structural_damping,
    torque,
)
from dalembert.friction.laws import pieces
from errors import raises
from tolerances import DIFFERENCE, ROUNDING, SOLVED, error
from trees import random_tree

SPEEDS = np.array([-3.0, -0.5, -0.02, -1e-3, 1e-3, 0.02, 0.1, 0.7, 4.0])
# Every law, with one level and with one for each direction, and what it says written out.
TERMS = {
    "viscous": (friction("viscous", viscous=0.4), lambda v: 0.4 * v),
    "viscous by side": (friction("viscous", viscous=(0.4, 0.9)), lambda v: np.where(v > 0, 0.4, 0.9) * v),
    "coulomb": (friction("coulomb", coulomb=1.5), lambda v: 1.5 * np.sign(v)),
    "coulomb by side": (friction("coulomb", coulomb=[1.5, 0.7]), lambda v: np.where(v > 0, 1.5, -0.7)),
    "static": (friction("static", coulomb=1.0, breakaway=1.4), lambda v: np.sign(v)),
    "stribeck": (
        friction("stribeck", coulomb=1.0, breakaway=1.6, speed=0.05, viscous=0.3),
        lambda v: (1 + 0.6 * np.exp(-((v / 0.05) ** 2))) * np.sign(v) + 0.3 * v,
    ),
    "stribeck by side": (
        friction("stribeck", coulomb=(1.0, 0.5), breakaway=(1.6, 2.0), speed=0.2, exponent=0.7, viscous=(0.3, 0)),
        lambda v: (
            (np.where(v > 0, 1, 0.5) + np.where(v > 0, 0.6, 1.5) * np.exp(-(np.abs(v / 0.2) ** 0.7))) * np.sign(v)
            + np.where(v > 0, 0.3, 0) * v
        ),
    ),
    "drag": (friction("power", coefficient=0.2), lambda v: 0.2 * v * np.abs(v)),
    "grease": (
        friction("power", coefficient=(0.2, 0.3), exponent=0.4),
        lambda v: np.where(v > 0, 0.2, 0.3) * np.sign(v) * np.abs(v) ** 0.4,
    ),
    "offset": (friction("offset", offset=-0.3), lambda v: -0.3 + 0 * v),
    "tanh": (
        friction("coulomb", coulomb=(2.0, 1.0), smooth="tanh", width=0.1),
        lambda v: np.where(v > 0, 2, 1) * np.tanh(v / 0.1),
    ),
    "arctan": (
        friction("static", coulomb=2.0, breakaway=3.0, smooth="arctan", width=0.1),
        lambda v: 4 / math.pi * np.arctan(v / 0.1),
    ),
    "root": (
        friction("stribeck", coulomb=1.0, breakaway=1.6, speed=0.05, smooth="root", width=0.01),
        lambda v: (1 + 0.6 * np.exp(-((v / 0.05) ** 2))) * v / np.sqrt(v * v + 1e-4),
    ),
    "ramp": (
        friction("coulomb", coulomb=(2.0, 1.0), smooth="ramp", width=0.12),
        lambda v: np.where(v > 0, 2, 1) * np.clip(v / 0.12, -1, 1),
    ),
}


@pytest.mark.parametrize("name", TERMS)
def test_a_law_says_what_it_says(name):
    """Over floats and compiled."""
    term, wanted = TERMS[name]
    floats = [torque(term, v) for v in SPEEDS.tolist()]
    assert error(floats, wanted(SPEEDS)) < ROUNDING
    kernel = compile_function(lambda v: torque(term, v), [()], [()], "friction")
    assert error(kernel(SPEEDS), wanted(SPEEDS)) < ROUNDING
    at_rest = -0.3 if term.law == "offset" else 0.0  # sgn 0 = 0
    assert torque(term, 0.0) == kernel(0.0) == at_rest


@pytest.mark.parametrize("name", [name for name in TERMS if name != "offset"])
def test_friction_never_feeds_energy(name):
    term, _ = TERMS[name]
    v = np.random.default_rng(0).normal(size=200)
    assert all(torque(term, x) * x > 0 for x in v.tolist())


@pytest.mark.parametrize("name", TERMS)
def test_the_torque_is_linear_in_the_levels(name):
    """f = Σ level · shape: the levels are what the regressor's columns multiply, and `linear` names where they are."""
    term, _ = TERMS[name]
    law = LAWS[term.law]
    for factor in (0.5, 3.0):
        scaled = {
            k: tuple(factor * x for x in v) if isinstance(v, tuple) else factor * v
            for k, v in term.values.items()
            if law.parameters[k].sided or k == "offset"
        }
        more = friction(term.law, smooth=term.smooth, width=term.width, **{**term.values, **scaled})
        for v in SPEEDS.tolist():
            assert torque(more, v) == pytest.approx(factor * torque(term, v), rel=1e-14)
    assert {p.column for p in pieces(term)} <= {"viscous", "coulomb", "stribeck", "power", "offset"}
    assert set(law.parameters) - set(law.linear) <= {
        "speed",
        "exponent",
        *(["breakaway"] if term.law == "static" else []),
    }


@pytest.mark.parametrize("name", TERMS)
def test_the_slope_is_the_derivative(name):
    term, _ = TERMS[name]
    kernel = compile_function(lambda v: torque(term, v), [()], [()], "friction", arguments=("v",)).derivative("v")
    for v in SPEEDS.tolist():
        h = 1e-6 * abs(v)
        difference = (torque(term, v + h) - torque(term, v - h)) / (2 * h)
        scale = max(abs(difference), 1e-3 * abs(torque(term, v) / v))
        assert abs(slope(term, v) - difference) < 1e-6 * scale + 1e-9
        assert abs(slope(term, v) - kernel(v)) < 1e-9 * scale


def test_the_falling_part_of_a_stribeck_curve_damps_negatively():
    term = friction("stribeck", coulomb=1.0, breakaway=1.6, speed=0.05)
    assert slope(term, 0.03) < 0 and abs(slope(term, 1.0)) < 1e-12


def test_equivalent_damping_in_closed_form():
    X, w = 0.3, 7.0
    V = X * w
    assert equivalent_damping(friction("viscous", viscous=(0.4, 0.8)), X, w) == pytest.approx(0.6, rel=1e-13)
    coulomb = equivalent_damping(friction("coulomb", coulomb=1.5), X, w)
    assert coulomb == pytest.approx(4 * 1.5 / (math.pi * w * X), rel=1e-13)
    assert equivalent_damping(friction("offset", offset=3.0), X, w) == pytest.approx(0.0, abs=1e-13)
    for alpha in (0.4, 1.0, 2.0, 3.5):
        wanted = (
            0.2 * V ** (alpha - 1) * 2 / math.sqrt(math.pi) * math.gamma(alpha / 2 + 1) / math.gamma((alpha + 3) / 2)
        )
        assert equivalent_damping(friction("power", coefficient=0.2, exponent=alpha), X, w) == pytest.approx(
            wanted, rel=1e-9
        )
    # Quadratic drag, as textbooks print it: 8 c ω X/(3π).
    assert equivalent_damping(friction("power", coefficient=0.2), X, w) == pytest.approx(
        8 * 0.2 * V / (3 * math.pi), rel=1e-13
    )


@pytest.mark.parametrize("name", TERMS)
@pytest.mark.parametrize("amplitude", [1e-4, 0.02, 5.0])
def test_equivalent_damping_dissipates_the_same_energy(name, amplitude):
    """π b_eq ω X² is the work of friction over a cycle, by another quadrature."""
    term, _ = TERMS[name]
    w = 2.0

    def power(t: float) -> float:
        v = amplitude * w * math.cos(w * t)
        return torque(term, v) * v

    quarter = 0.25 * 2 * math.pi / w
    ends = [
        [a, b]
        for k in range(4)
        for a, b in ((k * quarter, (k + 0.5) * quarter), ((k + 0.5) * quarter, (k + 1) * quarter))
    ]
    work = sum(integrate.quad(power, a, b, epsabs=0, epsrel=1e-10, limit=400)[0] for a, b in ends)
    found = math.pi * equivalent_damping(term, amplitude, w) * w * amplitude**2
    assert found == pytest.approx(work, rel=1e-7, abs=1e-9 * amplitude)


def test_breakaway():
    assert breakaway(TERMS["coulomb by side"][0]) == (1.5, 0.7)
    assert breakaway(TERMS["static"][0]) == (1.4, 1.4)
    assert breakaway(TERMS["stribeck by side"][0]) == (1.6, 2.0)
    assert breakaway(TERMS["viscous"][0]) == breakaway(TERMS["tanh"][0]) == (0.0, 0.0)
    assert breakaway(friction("static", coulomb=1, breakaway=2, load=0.1), load=-5.0) == (2.5, 2.5)


def test_structural_damping_loses_the_same_per_cycle_at_every_frequency():
    k, eta, X = 50.0, 0.02, 0.1
    losses = [math.pi * structural_damping(k, eta, w) * w * X**2 for w in (0.1, 3.0, 200.0)]
    assert losses == pytest.approx([math.pi * eta * k * X**2] * 3)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: friction("coulom", coulomb=1), "unknown friction law 'coulom'; did you mean 'coulomb'"),
        (lambda: friction("viscous", coulomb=1), "unknown parameter of the friction law 'viscous' 'coulomb'"),
        (lambda: friction("viscous"), "friction law 'viscous': viscous is missing; pass it in N m s/rad"),
        (lambda: friction("viscous", viscous=-1), "viscous is -1.0; it must not be less than 0 [a magnitude]"),
        (lambda: friction("viscous", viscous=math.nan), "viscous is nan; it must be a finite number"),
        (lambda: friction("viscous", viscous="1"), "viscous must be a finite number [a magnitude], got '1'"),
        (lambda: friction("viscous", viscous=(1, 2, 3)), "one number, or two for positive and negative velocity"),
        (lambda: friction("stribeck", coulomb=1, breakaway=2, speed=0), "speed is 0.0; it must be greater than 0"),
        (lambda: friction("stribeck", coulomb=1, breakaway=2, speed=(1, 2)), "speed must be one number, got"),
        (lambda: friction("static", coulomb=(1, 2), breakaway=1.5), "breakaway 1.5 is below coulomb 2.0 for negative"),
        (lambda: friction("power", coefficient=1, exponent=0), "exponent is 0.0; it must be greater than 0"),
        (lambda: friction("coulomb", coulomb=1, load=1), "load is 1.0; it must not be greater than 1 [the lost part"),
        (lambda: friction("coulomb", coulomb=1, smooth="tan", width=1), "unknown smooth sign 'tan'; did you mean"),
        (lambda: friction("coulomb", coulomb=1, smooth="tanh"), "smooth 'tanh' needs its width"),
        (lambda: friction("coulomb", coulomb=1, smooth="tanh", width=0), "width is 0.0; it must be greater than 0"),
        (lambda: friction("coulomb", coulomb=1, width=0.1), "a width of 0.1 has no effect"),
        (lambda: friction("viscous", viscous=1, smooth="tanh", width=1), "'viscous' has no sign to smooth"),
        (lambda: equivalent_damping(TERMS["coulomb"][0], 0, 1), "amplitude is 0.0; it must be greater than 0 [rad"),
        (lambda: equivalent_damping(TERMS["coulomb"][0], 1, math.inf), "frequency is inf; it must be a finite number"),
        (lambda: structural_damping(1, 0.1, 0), "frequency is 0.0; it must be greater than 0"),
    ],
)
def test_bad_parameters_get_a_sentence(make, sentence):
    with pytest.raises(dl.DalembertError) as caught:
        make()
    assert sentence in str(caught.value)


# ------------------------------------------------------------------------------------------------- in the model
def rough(seed: int = 3, joints: int = 5, load: bool = False, **options) -> Description:
    """A random tree whose joints have every kind of friction."""
    d = random_tree(seed, joints, friction=True, rotors=True, **options)
    terms = [term for name, (term, _) in TERMS.items()]
    if load:
        terms = [
            friction("coulomb", coulomb=0.1, load=0.2),
            friction("stribeck", coulomb=0.1, breakaway=0.2, speed=0.1, load=0.4),
            friction("coulomb", coulomb=0.1, load=0.3, smooth="tanh", width=0.5),
        ]
    rng = np.random.default_rng(seed)
    out = []
    for joint in d.joints:
        chosen = tuple(terms[k] for k in rng.permutation(len(terms))[: 1 if load else 4])
        out.append(joint if joint.kind == "fixed" else replace(joint, drive=replace(joint.drive, friction=chosen)))
    return replace(d, joints=tuple(out))


def states(robot, count=20, seed=0):
    q, qd, qdd = np.random.default_rng(seed).uniform(-2, 2, (3, count, robot.n))
    return q, qd, qdd


def test_damping_and_coulomb_are_two_terms():
    plain = random_tree(seed=4, joints=4, friction=True)
    named = replace(
        plain,
        joints=tuple(
            j
            if j.kind == "fixed"
            else replace(
                j,
                drive=replace(
                    j.drive,
                    damping=0.0,
                    coulomb=(0.0, 0.0),
                    friction=(
                        friction("viscous", viscous=j.drive.damping),
                        friction("coulomb", coulomb=j.drive.coulomb),
                    ),
                ),
            )
            for j in plain.joints
        ),
    )
    a, b = dl.Robot(plain), dl.Robot(named)
    q, qd, qdd = states(a)
    assert np.array_equal(a.inverse_dynamics(q, qd, qdd, friction=True), b.inverse_dynamics(q, qd, qdd, friction=True))
    assert a.model.bodies == b.model.bodies


@pytest.mark.parametrize("load", [False, True])
@pytest.mark.parametrize("mimic", [False, True])
def test_forward_dynamics_inverts_inverse_dynamics_with_every_law(load, mimic):
    robot = dl.Robot(rough(load=load, mimic=mimic, **(dict(seed=2, joints=8) if mimic else {})))
    assert robot.model.mimics == mimic
    assert robot.model.friction_by_load == load
    q, qd, qdd = states(robot, 60)
    tau = robot.inverse_dynamics(q, qd, qdd, friction=True)
    extra = tau - robot.inverse_dynamics(q, qd, qdd)
    assert error(extra, robot.friction_torque(q, qd, qdd), 1.0) < ROUNDING
    assert error(robot.forward_dynamics(q, qd, tau, friction=True), qdd) < SOLVED
    # Slow states, where friction is as large as what drives: the signs of the loads are not those without friction.
    slow = robot.inverse_dynamics(q, 1e-2 * qd, 1e-3 * qdd, friction=True)
    assert error(robot.forward_dynamics(q, 1e-2 * qd, slow, friction=True), 1e-3 * qdd) < SOLVED


def test_friction_by_load_takes_the_transmitted_torque():
    """One link: τ = M q̈ + g ± (F_c + μ |M q̈ + g|), the rotor on the drive's side."""
    drive = Drive(rotor_inertia=1e-4, gear_ratio=100.0, friction=(friction("coulomb", coulomb=0.5, load=0.3),))
    d = Description(
        "arm",
        (Link("base"), Link("rod", Inertial(2.0, (0.1, 0, 0, 0.1, 0, 0.1)))),
        (Joint("hinge", "revolute", "base", "rod", axis=(0.0, 0.0, 1.0), drive=drive),),
    )
    robot = dl.Robot(d)
    v, a = np.array([[0.5], [-0.5]]), np.array([[3.0], [3.0]])
    L = 0.1 * 3.0
    found = robot.inverse_dynamics([0.0], v, a, friction=True)[:, 0]
    assert found == pytest.approx([L + 3.0 + 0.5 + 0.3 * L, L + 3.0 - 0.5 - 0.3 * L], rel=1e-14)
    with pytest.raises(dl.InputError, match="depends on the load, which articulated bodies cannot express"):
        robot.forward_dynamics([0.0], [1.0], [1.0], friction=True, method="articulated")


def test_a_disturbance_is_a_torque():
    """[Fakhari 2]: τ = M q̈ + c + g + f + τ_dist + Jᵀ F_tip; what disturbs the arm is what its drives lack."""
    robot = dl.Robot(rough(joints=4))
    q, qd, qdd = states(robot)
    rng = np.random.default_rng(9)
    disturbance, wrench = rng.normal(size=(20, robot.n)), rng.normal(size=6)
    frame = robot.frames[-1]
    J = robot.jacobian(q, frame)
    tau = (
        robot.inverse_dynamics(q, qd, qdd)
        + robot.friction_torque(q, qd)
        + disturbance
        + np.swapaxes(J, -1, -2) @ wrench
    )
    found = robot.forward_dynamics(q, qd, tau - disturbance, wrenches={frame: -wrench}, friction=True)
    assert error(found, qdd) < SOLVED


@pytest.mark.parametrize("load", [False, True])
def test_derivatives_of_the_dynamics_with_every_law(load):
    robot = dl.Robot(rough(load=load))
    q, qd, qdd = states(robot, 8)
    qd = qd + 0.05 * np.sign(qd)
    tau = robot.inverse_dynamics(q, qd, qdd, friction=True)
    for name, third in (("inverse_dynamics", qdd), ("forward_dynamics", tau)):
        argument = "qdd" if name == "inverse_dynamics" else "tau"
        closed = getattr(robot, f"{name}_derivatives")(q, qd, third, friction=True)
        graph = robot.kernel(name, friction=True).derivative("q", "qd", argument)(q, qd, third)
        for a, b in zip(closed, graph, strict=True):
            assert error(a, b) < SOLVED
        h = 1e-6
        for k, (x, D) in enumerate(zip((q, qd, third), closed, strict=True)):
            step = np.zeros_like(x)
            step[..., 0] = h
            arguments = [[q, qd, third], [q, qd, third]]
            arguments[0][k], arguments[1][k] = x + step, x - step
            high, low = (getattr(robot, name)(*a, friction=True) for a in arguments)
            assert error((high - low) / (2 * h), D[..., 0]) < 10 * DIFFERENCE


# --------------------------------------------------------------------------------------------------- regressor
def test_the_regressor_in_named_columns():
    names = ("viscous+", "viscous-", "coulomb+", "coulomb-", "stribeck+", "stribeck-", "power+", "power-", "offset")
    terms = [
        (TERMS["viscous by side"][0], TERMS["coulomb by side"][0], TERMS["offset"][0]),
        (TERMS["stribeck by side"][0], TERMS["grease"][0]),
        (TERMS["tanh"][0], TERMS["drag"][0], TERMS["offset"][0]),
        (TERMS["static"][0],),
        (),
    ]
    d = random_tree(seed=3, joints=5, rotors=True)
    moving = iter(terms)
    joints = [j if j.kind == "fixed" else replace(j, drive=replace(j.drive, friction=next(moving))) for j in d.joints]
    robot = dl.Robot(replace(d, joints=tuple(joints)))
    q, qd, qdd = states(robot)
    Y = robot.regressor(q, qd, qdd, friction=names, rotor=True)
    pi = robot.parameters(friction=names, rotor=True)
    assert error(Y @ pi, robot.inverse_dynamics(q, qd, qdd, friction=True)) < ROUNDING
    written = robot.parameter_names(friction=names, rotor=True)
    assert len(written) == Y.shape[-1] == len(pi)
    assert written[-1] == f"{robot.joint_names[-1]}:offset" and f"{robot.joint_names[0]}:coulomb+" in written
    assert robot.kernel("regressor", friction=names).outputs == ((5, 50 + 9 * 5),)


def test_columns_of_a_joint_that_others_mimic():
    d = random_tree(seed=2, joints=8, mimic=True)
    assert any(j.mimic is not None and j.mimic.multiplier < 0 for j in d.joints)
    terms = (
        friction("viscous", viscous=(0.2, 0.5)),
        friction("coulomb", coulomb=(1.0, 2.0)),
        friction("offset", offset=0.4),
    )
    joints = [j if j.kind == "fixed" else replace(j, drive=replace(j.drive, friction=terms)) for j in d.joints]
    robot = dl.Robot(replace(d, joints=tuple(joints)))
    names = ("viscous+", "viscous-", "coulomb+", "coulomb-", "offset")
    q, qd, qdd = states(robot)
    Y, pi = robot.regressor(q, qd, qdd, friction=names), robot.parameters(friction=names)
    assert error(Y @ pi, robot.inverse_dynamics(q, qd, qdd, friction=True)) < ROUNDING


def test_friction_true_is_viscous_and_coulomb():
    puma = dl.load("puma560")
    q, qd, qdd = states(puma)
    plain = puma.regressor(q, qd, qdd, friction=True)
    assert np.array_equal(plain, puma.regressor(q, qd, qdd, friction=["viscous", "coulomb"]))
    assert puma.parameter_names(friction=True) == puma.parameter_names(friction=("viscous", "coulomb"))
    assert np.array_equal(puma.parameters(friction=True)[-6:], [np.mean(b.coulomb) for b in puma.model.bodies])


@pytest.mark.parametrize(
    ("friction_", "fields", "value"),
    [
        (("viscos",), "unknown-name", "viscos"),
        (("coulomb", "coulomb+"), "duplicate friction", "coulomb+"),
        (("offset", "offset"), "duplicate friction", "offset"),
        (3, "wrong-type friction", 3),
    ],
)
def test_bad_columns_get_a_sentence(friction_, fields, value):
    robot = dl.load("planar-2r")
    for call in (
        lambda: robot.regressor([0, 0], [0, 0], [0, 0], friction=friction_),
        lambda: robot.parameters(friction=friction_),
    ):
        with raises(dl.DalembertError, fields) as caught:
            call()
        assert caught.value.value == value


def test_two_shapes_share_no_column():
    terms = tuple(friction("stribeck", coulomb=1, breakaway=2, speed=s) for s in (0.1, 0.2))
    robot = dl.Robot(block(Drive(friction=terms)))
    with pytest.raises(dl.InputError, match="joint 'slide' has several 'stribeck' terms of different shape"):
        robot.regressor([0.0], [1.0], [0.0], friction=("stribeck",))


def block(drive: Drive) -> Description:
    links = (Link("base"), Link("block", Inertial(1.0, (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))))
    return Description("block", links, (Joint("slide", "prismatic", "base", "block", drive=drive),))


def test_equations_say_what_their_symbols_do_not_express():
    for name in ("stribeck", "tanh", "offset", "viscous by side"):
        e = dl.Robot(block(Drive(friction=(TERMS[name][0],)))).equations(friction=True)
        assert "joint 'slide'" in e.friction_fits, name
    assert (
        dl.Robot(block(Drive(friction=(TERMS["viscous"][0], TERMS["coulomb"][0]))))
        .equations(friction=True)
        .friction_fits
        == ""
    )


# ------------------------------------------------------------------------------------------------------- files
def test_files_hold_every_term_exactly():
    for d in (rough(), rough(load=True), rough(seed=2, joints=8, mimic=True)):
        d = dl.Robot(d).description
        assert any(j.drive.friction for j in d.joints)
        assert read_toml(write_toml(d)) == d
        assert read_urdf(write_urdf(d)) == d


def test_files_hold_the_width_of_coulomb_friction(tmp_path):
    """Below it friction rises in proportion to the rate; other programs still read the level."""
    arm = dl.load("planar-2r")
    drive = dl.describe.Drive(coulomb=(2.0, 1.5), coulomb_width=0.1)
    d = replace(arm.description, joints=tuple(replace(j, drive=drive) for j in arm.description.joints))
    rough = dl.Robot(d)
    assert read_toml(write_toml(rough.description)) == rough.description == read_urdf(write_urdf(rough.description))
    rates = np.array([[0.05, -0.05], [0.2, -0.3]])
    assert error(rough.friction_torque(np.zeros((2, 2)), rates), [[1.0, -0.75], [2.0, -1.5]]) < ROUNDING
    assert dl.verify(rough, states=20).ok


def test_the_schema_has_every_parameter():
    keys = set(TomlFriction.__struct_fields__)
    assert keys == {"law", "smooth", "width"} | {name for law in LAWS.values() for name in law.parameters}
    assert set(SIGNS) == {"tanh", "arctan", "root", "ramp"}


TOML = """name = "arm"
[[links]]
name = "base"
[[links]]
name = "rod"
inertial = { mass = 1.0, inertia = [0.1, 0.1, 0.1] }
[[joints]]
name = "hinge"
kind = "continuous"
parent = "base"
child = "rod"
axis = [0, 0, 1]
drive = { friction = [FRICTION] }
"""


def test_toml_as_people_write_it():
    line = '{law = "stribeck", coulomb = [0.3, 0.4], breakaway = 0.5, speed = 0.02}, {law = "offset", offset = -0.1}'
    d = read_toml(TOML.replace("FRICTION", line))
    assert d.joints[0].drive.friction == (
        friction("stribeck", coulomb=(0.3, 0.4), breakaway=0.5, speed=0.02),
        friction("offset", offset=-0.1),
    )
    assert 'friction = [\n    {law = "stribeck", coulomb = [0.3, 0.4], breakaway = 0.5, speed = 0.02}' in write_toml(d)
    assert repr(d.joints[0].drive.friction[0]) == (
        "friction('stribeck', coulomb=(0.3, 0.4), breakaway=0.5, speed=0.02)"
    )


@pytest.mark.parametrize(
    ("line", "place", "fields"),
    [
        ('{law = "stribek", coulomb = 1}', "", "unknown-name friction"),
        ('{law = "viscous", viscous = -1}', "", "out-of-range"),
        ('{law = "viscous", viscosity = 1}', ".viscosity", "unknown-name viscosity"),
        ('{law = "viscous", viscous = "a"}', ".viscous", "wrong-type viscous"),
        ("{coulomb = 1}", "", "missing law"),
        ('{law = "coulomb", coulomb = nan}', ".coulomb", "not-finite coulomb"),
    ],
)
def test_toml_errors_name_the_line(line, place, fields):
    with raises(dl.DescriptionError, fields) as caught:
        read_toml(TOML.replace("FRICTION", line), file="arm.toml")
    assert str(caught.value.place) == f"arm.toml:13: joints[0].drive.friction[0]{place}"


def test_urdf_in_its_own_element_and_errors_with_lines():
    text = write_urdf(dl.Robot(block(Drive(damping=0.5, friction=(TERMS["stribeck by side"][0],)))).description)
    assert '<dynamics damping="0.5" friction="0"/>' in text
    assert '<dalembert:friction law="stribeck" coulomb="1 0.5" breakaway="1.6 2" speed="0.2" exponent="0.7"' in text
    for wrong, sentence in (
        ('speed="-1"', "speed is -1.0; it must be greater than 0"),
        ('velocity="1"', "unknown parameter"),
    ):
        with pytest.raises(
            dl.DescriptionError, match="<text>:[0-9]+:[0-9]+: <dalembert:friction> of joint 'slide'"
        ) as caught:
            read_urdf(text.replace('speed="0.2"', wrong))
        assert sentence in str(caught.value)


def test_a_description_made_by_hand_is_checked():
    with pytest.raises(
        dl.DescriptionError, match="the friction of joint 'slide': friction law 'coulomb': coulomb is -1"
    ):
        dl.Robot(block(Drive(friction=(Friction("coulomb", (("coulomb", -1.0),)),))))
    with raises(dl.DescriptionError, "wrong-type") as caught:
        dl.Robot(block(Drive(friction=("coulomb",))))
    assert caught.value.argument == "friction of Drive" and caught.value.value == "coulomb"
    done = dl.Robot(block(Drive(friction=(Friction("coulomb", (("coulomb", 1.0),)),)))).description
    assert done.joints[0].drive.friction == (friction("coulomb", coulomb=1.0),)
