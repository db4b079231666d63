"""The choices of C: [Fakhari 2]'s matrices, the whole family of them, and which keep Ṁ − 2C skew."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from two_points import L1, L2, M2, mdot_minus_half_u, own, standard, two_points, ut_minus_half_u

import dalembert as dl
from dalembert.trust import properties as lab
from dalembert.trust.properties import identities as choices
from dalembert.trust.properties.mechanism import trial_of
from tolerances import ROUNDING, error
from trees import random_tree

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
Q, V = np.array([0.4, 1.1]), np.array([0.7, -1.3])


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        ("christoffel", standard),
        ("kronecker", standard),
        ("half-slope", standard),
        ("bodywise", standard),
        ("mdot-u/2", mdot_minus_half_u),
        ("ut-u/2", ut_minus_half_u),
        ("rank-one", lambda q, v: np.outer(standard(q, v) @ v, v) / (v @ v)),
    ],
)
def test_choices_of_seed_004(choice, wanted):
    arm = two_points()
    C = lab.coriolis_matrix(arm, Q, V, choice)
    assert error(C, wanted(Q, V)) < ROUNDING
    assert error(C @ V, standard(Q, V) @ V) < ROUNDING


def test_table_of_seed_004():
    table = lab.coriolis_choices(two_points(), states=50)
    assert table.keep_skew == ("christoffel", "kronecker", "half-slope", "bodywise")
    assert table.lose_skew == ("mdot-u/2", "ut-u/2", "later-columns", "rank-one")
    assert all(row.same_torque and row.workless for row in table)
    assert [row.name for row in table if not row.proved] == ["rank-one"]  # a quotient, no polynomial
    assert table["mdot-u/2"].violations["skew"] > 0.1 and table["christoffel"].violations["skew"] < 1e-14
    assert (table.free, table.free_skew) == (2, 0)
    assert "mdot-u/2" in str(table) and len(table) == len(choices.FORMULAS)
    with pytest.raises(dl.UnknownNameError, match="unknown choice of C 'coriolis'"):
        table["coriolis"]


def test_one_joint_and_constant_matrices_leave_no_choice():
    for robot in (dl.load("planar-1r"), dl.load("cartesian-pp")):
        table = lab.coriolis_choices(robot, states=20)
        assert table.lose_skew == ()


@pytest.mark.parametrize("seed", range(3))
def test_measured_agrees_with_proved(seed):
    robot = dl.Robot(random_tree(seed, 3, oblique=False, fixed=False))
    measured = lab.coriolis_choices(robot, states=30, symbols=False)
    assert not any(row.proved for row in measured)
    assert {"christoffel", "kronecker", "half-slope", "bodywise"} <= set(measured.keep_skew)
    assert all(row.same_torque and row.workless for row in measured)
    proved = lab.coriolis_choices(dl.load("elbow-3r"), states=30)
    again = lab.coriolis_choices(dl.load("elbow-3r"), states=30, symbols=False)
    assert [(r.name, r.skew, r.same_torque) for r in proved] == [(r.name, r.skew, r.same_torque) for r in again]


def test_another_skew_choice_than_the_standard_one():
    """Newton and Euler body by body: skew too, and another matrix, for spatial arms with rotational inertia."""
    panda = lab.coriolis_choices(dl.load("panda"), states=20)
    assert panda["bodywise"].skew and not panda["bodywise"].standard
    assert panda["bodywise"].violations["standard"] > 1e-3
    assert (panda.free, panda.free_skew) == (147, 35)
    planar = lab.coriolis_choices(dl.load("planar-3r"), states=20)
    assert planar["bodywise"].standard
    points = lab.coriolis_choices(dl.load("planar-3r-points"), states=20)
    assert points["bodywise"].standard


def test_the_standard_one_lies_between_the_two_others():
    robot = dl.load("puma560")
    case = trial_of(robot, states=20)
    names = ("christoffel", "mdot-u/2", "ut-u/2")
    a, b, c = (lab.coriolis_matrix(robot, case.q, case.qd, name) for name in names)
    assert error((b + c) / 2, a) < ROUNDING


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_how_many_choices_there_are(n):
    """By counting: N_kj = Σ A_kji q̇_i with N q̇ = 0 for every q̇, and with N + Nᵀ = 0 as well."""
    unknown = np.arange(n**3).reshape(n, n, n)
    rows = []
    for k in range(n):
        for i in range(n):
            for j in range(i + 1):
                row = np.zeros(n**3)
                row[unknown[k, j, i]] += 1
                row[unknown[k, i, j]] += 1
                rows.append(row)
    skew = []
    for k in range(n):
        for j in range(k + 1):
            for i in range(n):
                row = np.zeros(n**3)
                row[unknown[k, j, i]] += 1
                row[unknown[j, k, i]] += 1
                skew.append(row)
    assert n**3 - np.linalg.matrix_rank(np.array(rows)) == choices.freedoms(n)[0]
    assert n**3 - np.linalg.matrix_rank(np.array(rows + skew)) == choices.freedoms(n)[1]


def test_the_family():
    robot = dl.load("planar-3r")
    rng = np.random.default_rng(4)
    q, qd = robot.random_configuration(6, seed=5), rng.normal(size=(6, 3))
    A = rng.normal(size=(3, 3, 3))
    W = A - np.swapaxes(A, 1, 2)
    C, c, rate = robot.coriolis_matrix(q, qd), robot.coriolis_torque(q, qd), robot.mass_matrix_dot(q, qd)
    other = lab.coriolis_family(robot, q, qd, W)
    assert error(np.einsum("bij,bj->bi", other, qd), c) < ROUNDING and np.abs(other - C).max() > 0.1
    S = rate - 2 * other
    assert np.abs(S + np.swapaxes(S, 1, 2)).max() > 0.1
    signs = {p: np.linalg.det(np.eye(3)[list(p)]) for p in permutations(range(3))}
    total = np.zeros((3, 3, 3))
    for p, sign in signs.items():
        total[p] = 2.5 * sign
    kept = lab.coriolis_family(robot, q, qd, total)  # antisymmetric in every pair: it stays skew, and is another C
    S = rate - 2 * kept
    assert np.abs(S + np.swapaxes(S, 1, 2)).max() < 1e-12 and np.abs(kept - C).max() > 0.1
    alone = lab.coriolis_family(robot, q[0], qd[0], total)
    assert alone.shape == (3, 3) and np.array_equal(alone, kept[0])
    with pytest.raises(dl.InputError, match="antisymmetric in its last two indices"):
        lab.coriolis_family(robot, q, qd, A)
    with pytest.raises(dl.InputError, match=r"W must be finite numbers of shape \(3, 3, 3\), got shape \(3, 3\)"):
        lab.coriolis_family(robot, q, qd, np.eye(3))


def test_the_family_in_symbols():
    lines = lab.family_in_symbols(two_points())
    assert lines["a"] == "m2*l1*r2"
    assert lines["C11"] == "-a*s2*qd2 + w1_12*qd2" and lines["C12"] == "-a*s2*(qd1 + qd2) - w1_12*qd1"
    assert lines["C22"] == "- w2_12*qd1"
    names = {f"w{k}_12": x for k, x in ((1, 0.3), (2, -1.7))}
    s2, qd1, qd2 = np.sin(Q[1]), *V
    a = M2 * L1 * L2
    C = [[eval(lines[f"C{i}{j}"], names | {"a": a, "s2": s2, "qd1": qd1, "qd2": qd2}) for j in (1, 2)] for i in (1, 2)]
    assert error(np.array(C) @ V, standard(Q, V) @ V) < ROUNDING


def test_christoffel_symbols_and_their_bound():
    """[Fakhari 2]: c_b = n² max |Γ| = 4 m₂L₁L₂ in the 2-norm, m₂L₁L₂ in the 1-norm."""
    b = M2 * L1 * L2
    found = lab.velocity_torque_bounded(two_points(), states=4000, q=[0.0, np.pi / 2], qd=[1.0, 0.0])
    assert found.verdict == "proved"
    assert found.numbers["n² max |Γ| met"] == pytest.approx(4 * b, rel=1e-12)
    assert found.numbers["‖c‖₁ / ‖q̇‖₁² up to"] == pytest.approx(b, rel=1e-12)  # reached at q̇ = (1, 0)
    assert found.numbers["‖c‖₂ / ‖q̇‖₂² up to"] <= found.numbers["n^1.5 max |Γ|, which is enough"]
    case = trial_of(two_points(), states=1, q=Q)
    h = b * np.sin(Q[1])
    wanted = np.zeros((2, 2, 2))  # the equation's index last
    wanted[0, 0, 1] = h
    wanted[0, 1, 0] = wanted[1, 0, 0] = wanted[1, 1, 0] = -h
    assert error(case.Gamma[0], wanted) < ROUNDING


def test_functions_of_ones_own():
    table = lab.coriolis_choices(own(coriolis_matrix=mdot_minus_half_u), states=30)
    assert table["as given"].same_torque and not table["as given"].skew and table["kronecker"].skew
    assert "bodywise" not in [row.name for row in table]
    with pytest.raises(dl.InputError, match="needs the bodies of a Robot"):
        lab.coriolis_matrix(own(), Q, V, "bodywise")
    with pytest.raises(dl.UnknownNameError, match="unknown choice of C 'newton'"):
        lab.coriolis_matrix(own(), Q, V, "newton")


def test_skew_symmetry_of_a_named_choice():
    assert lab.skew_symmetry(two_points(), "bodywise", states=20).verdict == "proved"
    assert lab.skew_symmetry(two_points(), "mdot-u/2", states=20).verdict == "fails"


def test_at_rest_nothing_is_divided_by_zero():
    C = lab.coriolis_matrix(two_points(), Q, [0.0, 0.0], "rank-one")
    assert np.array_equal(C, np.zeros((2, 2)))


def test_what_a_choice_is_worth():
    found = lab.skewness(two_points(), [1.0, 2.0], seed=3)
    assert set(found.power) == set(choices.FORMULAS) and found.t.shape == found.power["ut-u/2"].shape
    for name, power in found.power.items():
        assert bool(np.abs(power).max() < 1e-11) is (name in ("christoffel", "kronecker", "half-slope", "bodywise"))
    C = lab.coriolis_matrix(two_points(), [0.2, 0.9], [1.0, 2.0], "mdot-u/2")  # along x = q̇ nothing is seen of it
    S = two_points().mass_matrix_dot([0.2, 0.9], [1.0, 2.0]) - 2 * C
    assert abs(np.array([1, 2]) @ S @ np.array([1, 2])) < 1e-12
    with pytest.raises(dl.InputError, match="x must be 2 finite numbers"):
        lab.skewness(two_points(), [1.0])
    pytest.importorskip("matplotlib").use("Agg")
    assert len(found.plot().axes[0].get_lines()) == len(choices.FORMULAS)
