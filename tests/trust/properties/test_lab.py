"""The property lab: what holds is found to hold, on every kind of mechanism; what is broken is found to be broken."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from two_points import L1, L2, M1, M2, G, ball, follower, gravity, mass_matrix, own, potential, standard, two_points

import dalembert as dl
from dalembert.findings import write_json
from dalembert.trust import properties as lab
from dalembert.trust.properties.identities import Identities
from dalembert.trust.properties.inertia import _possible
from dalembert.trust.properties.lab import TABLE
from dalembert.trust.properties.mechanism import trial_of
from dalembert.trust.properties.property import FAILS, HOLDS, PROVED, SILENT, STATEMENTS
from errors import raises
from trees import random_tree

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")


# ------------------------------------------------------------------------------------------------ what holds
@pytest.mark.parametrize("name", ["planar-1r", "planar-2r", "cartesian-pp", "rp", "scara", "puma560", "panda"])
def test_arms_have_every_property(name):
    report = lab.lab(dl.load(name), states=50)
    assert report.ok and len(report) == len(TABLE) == len(STATEMENTS), [str(p) for p in report.errors]
    for key in ("skew symmetry", "symmetric mass matrix", "power balance", "linear in the parameters", "choices of C"):
        assert report[key].verdict == PROVED, str(report[key])
    silent = {p.name for p in report if p.verdict == SILENT}
    assert silent == (set() if name == "puma560" else {"dissipation"})  # only Puma's drives have friction


@pytest.mark.parametrize(
    "options",
    [{"joints": 1}, {"joints": 3, "oblique": False, "rotors": True}, {"joints": 4, "mimic": True, "friction": True}],
)
def test_random_trees_have_every_property(options):
    robot = dl.Robot(random_tree(3, **options))
    report = lab.lab(robot, states=40)
    assert report.ok, [str(p) for p in report.errors]
    assert (report["dissipation"].verdict == HOLDS) is bool(options.get("friction"))
    measured = [p.numbers["worst violation"] for p in report if "states" in p.shown and "worst violation" in p.numbers]
    assert len(measured) > 8 and max(measured) < 1e-9


def test_the_same_arm_as_functions_and_as_a_lagrangian():
    for system in (own(), dl.LagrangianSystem(*_energies_of_two_points(), name="lagrange")):
        report = lab.lab(system, states=40)
        assert report.ok, [str(p) for p in report.errors]
        assert {p.verdict for p in report} == {HOLDS, SILENT}
        assert report["linear in the parameters"].verdict == SILENT
    robot = lab.lab(two_points(), states=40)
    mine = lab.lab(own(lower=[-np.pi] * 2, upper=[np.pi] * 2), states=40)
    for key in ("smallest eigenvalue met", "largest eigenvalue met"):  # the same states are drawn of the same seed
        a, b = (r["positive definite mass matrix"].numbers[key] for r in (robot, mine))
        assert a == pytest.approx(b, rel=1e-12)


def _energies_of_two_points():
    q1, q2 = dl.lagrange.coordinates("q1 q2")
    import sympy as sp

    v1, v2 = dl.lagrange.rate(q1), dl.lagrange.rate(q2)
    square = L1**2 * v1**2 + L2**2 * (v1 + v2) ** 2 + 2 * L1 * L2 * v1 * (v1 + v2) * sp.cos(q2)
    K = M1 * L1**2 * v1**2 / 2 + M2 * square / 2
    P = (M1 + M2) * G * L1 * sp.sin(q1) + M2 * G * L2 * sp.sin(q1 + q2)
    return [q1, q2], K, P


def test_a_turning_frame_stores_what_it_should():
    """K with terms without velocities (a bead on a turning hoop) and linear in them (a charge in a magnetic field)."""
    from dalembert.lagrange.examples import bead_on_a_hoop

    assert lab.lab(bead_on_a_hoop(), states=30).ok
    x, y = dl.lagrange.coordinates("x y")
    vx, vy = dl.lagrange.rate(x), dl.lagrange.rate(y)
    charge = dl.LagrangianSystem([x, y], (vx**2 + vy**2) / 2 + 3 * (x * vy - y * vx) / 2, x**2)
    report = lab.lab(charge, states=30)
    failed = report["quadratic velocity torque"]
    assert failed.verdict == FAILS and "K has terms linear in q̇" in failed.note  # C does not vanish at rest
    for name in ("skew symmetry", "power balance", "passivity", "workless velocity torque"):
        assert report[name].ok, str(report[name])


def test_each_function_is_the_lab():
    robot = dl.load("planar-2r")
    report = lab.lab(robot, states=20)
    for name, function in TABLE.items():
        alone = function(robot, states=20)
        assert alone == report[name] and getattr(lab, function.__name__) is function


def test_states_of_the_user_are_measured_too():
    robot = two_points()
    p = lab.skew_symmetry(robot, states=5, q=[0.3, np.pi / 2], qd=[1.0, 2.0])
    assert p.numbers["violation at the states given"] < 1e-14
    bad = own(coriolis_matrix=lambda q, v: (shifted if abs(q[1] - 1.234) < 1e-9 else standard)(q, v))
    assert lab.skew_symmetry(bad, states=20).ok  # chance does not find the one bad place
    found = lab.skew_symmetry(bad, states=20, q=[0.1, 1.234], qd=[1.0, 1.0])
    assert not found.ok and found.numbers["violation at the states given"] > 0.1
    stretched = lab.mass_matrix_definite(robot, states=5, q=[[0.0, 0.0], [0.0, 1.0]])
    least = np.linalg.eigvalsh(mass_matrix([0.0, 0.0]))[0]
    assert stretched.numbers["smallest eigenvalue at the states given"] == pytest.approx(least, rel=1e-12)


def test_positive_definite_by_minors_rotors_or_measured():
    two = lab.mass_matrix_definite(two_points())
    assert two.verdict == PROVED and "principal minor" in two.shown
    assert two.formulas["M22"] == "m₂ r₂²" and "s₂²" in two.formulas["det M"]
    assert "rotor" in lab.mass_matrix_definite(dl.load("puma560")).shown
    arm = lab.mass_matrix_definite(dl.load("panda"), states=50)
    assert arm.verdict == HOLDS and "sum of the bodies' energies" in arm.note


def test_determinant_of_two_points():
    """det M = m₁ m₂ L₁² L₂² + m₂² L₁² L₂² s₂², by hand."""
    p = Identities(two_points().equations())
    det = p._minors()["det M"]
    q2 = 0.7
    values = {name: 0.0 for name in p.equations.ring.names} | p.equations.values | {"s2": np.sin(q2), "c2": np.cos(q2)}
    wanted = M1 * M2 * L1**2 * L2**2 + M2**2 * L1**2 * L2**2 * np.sin(q2) ** 2
    assert det.substituted(values) == pytest.approx(wanted, rel=1e-14)
    assert np.linalg.det(mass_matrix([0, q2])) == pytest.approx(wanted, rel=1e-12)


def test_bounds_of_revolute_and_of_sliding_joints():
    revolute = lab.mass_matrix_bounded(two_points(), states=400)
    assert revolute.verdict == PROVED and "constants" in revolute.note
    # [Fakhari 2]: ‖M‖₁ within ±π/2 goes up to (m₁ + m₂)L₁² + 2 m₂L₂² + 3 m₂L₁L₂; samples stay below.
    most = (M1 + M2) * L1**2 + 2 * M2 * L2**2 + 3 * M2 * L1 * L2
    assert 0.95 * most < revolute.numbers["‖M‖₁ to"] <= most
    free = dl.Robot.from_dh(
        [dl.describe.DHRow(alpha=np.pi / 2, inertial=ball()), dl.describe.DHRow(kind="prismatic", inertial=ball())],
        name="free",
    )
    sliding = lab.mass_matrix_bounded(free, states=20)
    assert "no upper bound" in sliding.note
    a, b = (sliding.numbers[f"λ_max at {x} m"] for x in (10, 100))
    assert 80 < b / a < 120  # as the square of the distance
    constant = lab.mass_matrix_bounded(dl.load("cartesian-pp"), states=20)  # slides, and M is constant all the same
    assert constant.numbers["‖M‖₂ from"] == constant.numbers["‖M‖₂ to"]


def test_no_bound_is_proved_that_is_not_finite():
    """What slides may follow what turns; and what is small may grow all the same."""
    growing = lab.mass_matrix_bounded(follower("prismatic", (1.0, 0.0, 0.0), 0.1), states=20)
    assert growing.verdict == HOLDS and "no upper bound: slide slides without end" in growing.note
    assert growing.numbers["λ_max at 100 m"] == pytest.approx(1e4, rel=0.1)  # 1 kg at 100 m
    # It turns about the way it slides: M is constant, but neither lengths nor polynomials say so.
    along = lab.mass_matrix_bounded(follower("prismatic", (0.0, 0.0, 1.0), 0.1), states=20)
    assert along.verdict == HOLDS and "is known" in along.note and "did not grow" in along.note
    rows = [
        dl.describe.DHRow(alpha=np.pi / 2, inertial=ball(1e-10)),
        dl.describe.DHRow(kind="prismatic", inertial=ball(1e-10)),
    ]
    micro = lab.mass_matrix_bounded(dl.Robot.from_dh(rows, name="micro"), states=20)
    assert micro.verdict == HOLDS and "no upper bound: joint2" in micro.note
    # A slide that M does not know, as its polynomials say: then the bound is that of the arm with the slide held.
    rows = [dl.describe.DHRow(inertial=ball()), dl.describe.DHRow(kind="prismatic", inertial=ball())]
    lift = lab.mass_matrix_bounded(dl.Robot.from_dh(rows, name="lift"), states=20)
    assert lift.verdict == PROVED
    assert lift.numbers["largest eigenvalue met"] <= lift.numbers["λ_max at most (by lengths)"] < 2


@pytest.mark.parametrize("name", ["planar-2r", "rp", "scara", "stanford", "panda", "cartesian-pp"])
def test_what_is_proved_is_finite(name):
    found = lab.mass_matrix_bounded(dl.load(name), states=20)
    assert (found.verdict == PROVED) == np.isfinite(found.numbers.get("λ_max at most (by lengths)", np.inf))


# ---------------------------------------------------------------------------------------------- what is broken
def uneven(q):
    M = mass_matrix(q)
    M[0, 1] += 0.01
    return M


def hollow(q):
    return mass_matrix(q) - 3.0 * np.eye(2)


def shifted(q, v):
    """C q̇ is the same, the matrix is not."""
    return standard(q, v) + np.outer([1, 0], [v[1], -v[0]])


BROKEN = [
    ({"mass_matrix": uneven, "inverse_dynamics": None}, "symmetric mass matrix"),
    ({"mass_matrix": hollow}, "positive definite mass matrix"),
    ({"inverse_dynamics": lambda q, v, a: mass_matrix(q) @ a * (1 + v[0] ** 2)}, "mass matrix of position alone"),
    ({"kinetic_energy": lambda q, v: v @ mass_matrix(q) @ v}, "kinetic energy"),  # the ½ of [Lagrange notes] lost
    ({"coriolis_matrix": lambda q, v: standard(q, v) + 0.3 * np.eye(2)}, "quadratic velocity torque"),
    ({"coriolis_matrix": lambda q, v: 1.01 * standard(q, v)}, "workless velocity torque"),
    ({"coriolis_matrix": lambda q, v: 1.01 * standard(q, v)}, "power balance"),
    ({"gravity_torque": lambda q: -gravity(q)}, "power balance"),  # a sign: only the energy knows
    ({"gravity_torque": lambda q: 1.001 * gravity(q)}, "power balance"),
    ({"potential_energy": lambda q: 0.999 * potential(q)}, "power balance"),
    ({"coriolis_matrix": shifted}, "skew symmetry"),
    ({"coriolis_matrix": shifted}, "rate of the mass matrix"),
    ({"coriolis_matrix": shifted}, "symmetry of C in its velocities"),
    ({"gravity_torque": lambda q: gravity(q) + np.array([0.01 * q[1], 0])}, "gravity is a gradient"),
    ({"gravity_torque": lambda q: gravity(q) + np.array([0.01 * q[1], 0])}, "work of gravity"),
    ({"potential_energy": lambda q: 0.99 * potential(q)}, "passivity"),
    ({"coriolis_matrix": lambda q, v: standard(q, v) - 2.0 * np.eye(2)}, "L₂ gain"),  # it feeds itself
    ({"coriolis_matrix": lambda q, v: 1.01 * standard(q, v)}, "feedback of passive systems"),
    ({"gravity_torque": lambda q: -gravity(q)}, "feedback of passive systems"),
    ({"potential_energy": lambda q: -potential(q)}, "feedback of passive systems"),
    (
        {
            "coriolis_matrix": lambda q, v: 1.01 * standard(q, v),
            "inverse_dynamics": lambda q, v, a: mass_matrix(q) @ a + standard(q, v) @ v + gravity(q),
        },
        "choices of C",
    ),
    ({"coriolis_matrix": lambda q, v: 3.0 * standard(q, v)}, "quadratic velocity torque"),
]


@pytest.mark.parametrize(("changes", "name"), BROKEN, ids=[name for _, name in BROKEN])
def test_what_is_broken_is_found(changes, name):
    assert TABLE[name](own(), states=30).verdict in (HOLDS, SILENT)
    found = TABLE[name](own(**changes), states=30)
    assert found.verdict == FAILS, str(found)


def test_a_broken_model_fails_as_a_whole():
    report = lab.lab(own(coriolis_matrix=shifted), states=20)
    assert not report.ok  # C q̇ is right, the matrix is not: what needs only c is untouched
    assert {p.name for p in report.errors} == {
        "skew symmetry",
        "rate of the mass matrix",
        "symmetry of C in its velocities",
    }


def test_polynomials_that_are_wrong_prove_nothing():
    p = Identities(dl.load("planar-2r").equations())
    ring = p.equations.ring
    assert p.symmetric() and p.kinetic() and p.quadratic() and p.linear() and p.power() and p.gradient()
    C = p.choice("christoffel")
    wrong = [[C[0][0] + ring["qd2"], C[0][1] - ring["qd1"]], C[1]]  # C q̇ is the same, the matrix is not
    assert p.same_torque(wrong) and p.workless(wrong) and not p.skew(wrong) and not p.bilinear(wrong)
    assert not p.same_torque([[2 * x for x in row] for row in C])
    p.columns[0][1] = p.columns[0][1] + ring["m1"]
    assert not p.symmetric()
    p.c[0] = p.c[0] + ring["qd1"]
    assert not p.quadratic()
    p.gravity[1] = p.gravity[1] * 2
    assert not p.gradient()
    p.tau[0] = p.tau[0] + ring["m1"]
    assert not p.power() and not p.linear()
    e = dl.load("planar-2r").equations()
    e.M[0][0] = e.M[0][0] * 2
    assert not Identities(e).kinetic()
    e = dl.load("planar-2r").equations()  # Y π is the same, but Y knows masses: (Y₁ + m₂) m₁ + (Y₁₁ − m₁) m₂
    e.regressor[0][0], e.regressor[0][10] = e.regressor[0][0] + e.ring["m2"], e.regressor[0][10] - e.ring["m1"]
    assert not Identities(e).linear()


def test_impossible_bodies_prove_nothing():
    """Signs of symbols prove M positive only if each body's energy is a sum of squares."""
    model = dl.load("planar-2r").model
    assert _possible(SimpleNamespace(model=model)) and not _possible(None)
    for inertia in (
        replace(model.bodies[0].inertia, m=-1.0),
        replace(model.bodies[0].inertia, I=((-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))),
        replace(model.bodies[0].inertia, m=0.0),  # a first moment without a mass
    ):
        bodies = (replace(model.bodies[0], inertia=inertia), *model.bodies[1:])
        assert not _possible(SimpleNamespace(model=replace(model, bodies=bodies)))


def test_what_signs_cannot_prove_is_not_proved():
    p = Identities(dl.load("planar-2r").equations())
    ring = p.equations.ring
    m, s, c = ring["m1"], ring["s2"], ring["c2"]
    assert p._positive(m * m + m * s * s) and p._positive(ring["I1"] + m * (1 - c * c))
    for form in (m - ring["I1"], m * s * s, m * c, m + m * c, m * s * s - ring["I1"] * c * c):
        assert not p._positive(form)


def test_joints_without_inertia_are_named():
    massless = dl.Robot.from_dh([dl.describe.DHRow(a=1.0, inertial=ball()), dl.describe.DHRow(a=1.0)], name="idle")
    report = lab.lab(massless, states=20)
    definite = report["positive definite mass matrix"]
    assert definite.verdict == FAILS and "nothing resists" in definite.note and massless.joint_names[1] in definite.note
    assert report["feedback of passive systems"].verdict == SILENT
    assert [p.name for p in report.errors] == ["positive definite mass matrix"]


# ------------------------------------------------------------------------------------------------- the report
def test_report():
    report = lab.lab(dl.load("planar-2r"), states=10, only=["skew symmetry", "passivity"])
    assert [p.name for p in report] == ["skew symmetry", "passivity"] and len(report) == 2
    assert report[1] is report["passivity"]
    assert "2 properties, 2 proved; 10 states measured" in report.message and "skew symmetry" in str(report.cells())
    data = json.loads(write_json(report.data()))
    assert data["ok"] and data["findings"][0]["verdict"] == "proved" and data["findings"][0]["latex"]
    assert "2 proved" in repr(report)
    lines = lab.lab(dl.load("planar-2r"), states=10).markdown().splitlines()
    assert all(line.count("|") == 5 for line in lines if line.startswith("|"))  # no cell is cut
    assert "worst violation" in str(report[0]) and "[Poonawala]" in str(report[0])
    endless = json.loads(write_json(lab.lab(_hanging_slide(), only="passivity", states=5).data()))
    assert endless["findings"][0]["numbers"]["β [J]"] is None  # no infinity in JSON
    seen = []
    lab.lab(dl.load("planar-2r"), states=5, only="skew symmetry", progress=seen.append)
    assert seen == ["skew symmetry"]


def _hanging_slide():
    return dl.Robot.from_dh([dl.describe.DHRow(kind="prismatic", inertial=ball())], gravity=(0, 0, -9.81), name="slide")


def test_symbols_are_said_to_be_missing():
    tree = dl.Robot(random_tree(3, 3, chain=True, prismatic=False))
    assert "not in symbols" in lab.skew_symmetry(tree, states=5).note
    with pytest.raises(dl.InputError, match="fixed angles"):
        lab.skew_symmetry(tree, states=5, symbols=True)
    long = dl.Robot.from_dh([dl.describe.DHRow(a=0.1, inertial=ball())] * 9)
    assert "9 joints; symbols=True tries" in lab.skew_symmetry(long, states=5).note
    assert lab.skew_symmetry(dl.load("planar-2r"), states=5, symbols=False).verdict == HOLDS


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lab.lab("planar-2r"), "examined of a Robot, a LagrangianSystem, a properties.Mechanism"),
        (lambda: lab.lab(dl.load("five-bar")), r"or robot\.tree\(\)"),
        (lambda: lab.lab(two_points(), states=0), "states must be a whole number, at least 1; got 0"),
        (lambda: lab.lab(two_points(), states=2.5), "states must be a whole number"),
        (lambda: lab.lab(two_points(), seed=-1), "seed must be a whole number, at least 0"),
        (lambda: lab.lab(two_points(), symbols="yes"), "symbols is True, False, or None"),
        (lambda: lab.lab(own(), symbols=True), "'mine' has no polynomials"),
        (lambda: lab.lab(two_points(), q=[1.0]), "one number per coordinate of 'points'"),
        (lambda: lab.lab(two_points(), qd=[1.0, 2.0]), "qd is given without q"),
        (lambda: lab.lab(two_points(), q=[np.nan, 0.0]), r"q\[0\] is nan; it must be a finite number"),
        (lambda: lab.lab(two_points(), q="ab"), "q must be 2 finite numbers .*, got 'ab'"),
        (lambda: lab.lab(two_points(), q=np.zeros((2, 2)), qd=np.zeros((3, 2))), "as many states"),
        (lambda: lab.lab(two_points(), q=np.zeros((0, 2))), "q holds no states"),
        (lambda: lab.lab(two_points(), only=[]), "only names no property"),
        (lambda: own(mass_matrix=3), "mass_matrix of 'mine' must be a function of q, got 3"),
        (lambda: lab.Mechanism("x", 0, mass_matrix, standard, gravity), "n must be a whole number, at least 1"),
        (lambda: lab.lab(own(mass_matrix=lambda q: [1, 2, 3])), r"must give \(2, 2\) for one state, got shape \(3,\)"),
        (lambda: lab.lab(own(gravity_torque=lambda q: [np.nan, 0])), "is not finite at q ="),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(dl.InputError, match=message):
        call()


def test_unknown_names():
    with pytest.raises(dl.UnknownNameError, match="did you mean 'skew symmetry'"):
        lab.lab(two_points(), only="skew symetry")
    report = lab.lab(two_points(), states=5, only="passivity")
    with raises(dl.UnknownNameError, "unknown-name"):
        report["skewness"]


def test_a_closed_chain_by_its_tree():
    report = lab.lab(dl.load("four-bar").tree(), states=20)
    assert report.ok


def test_a_case_is_looked_at_once():
    case = trial_of(two_points(), states=7)
    assert trial_of(case) is case and case.q.shape == (7, 2)


class Stranger:
    """A system of somebody else's: positions and rates, and kernels by name."""

    name, states, inputs, units = "stranger", ("a", "b", "ad", "bd"), ("ta", "tb"), {}

    def flow(self):
        raise AssertionError("properties need no motion")

    def kernel(self, name, given=(), **options):
        return two_points().kernel(name, given, **options)


def test_a_system_is_judged_by_its_kernels():
    report = lab.lab(Stranger(), states=10)
    assert report.source == "stranger" and report.ok and report["skew symmetry"].verdict == HOLDS
    assert report["gravity is a gradient"].verdict == HOLDS and report["power balance"].verdict == HOLDS
    idle = Stranger()
    idle.kernel = lambda name: two_points().kernel(f"no {name}")
    with pytest.raises(dl.InputError, match="properties of 'stranger' are not known: unknown kernel 'no mass_matrix'"):
        lab.lab(idle)
