"""Optimal excitation: exact gradients, limits that hold between the samples, better motions than chance finds."""

from __future__ import annotations

import csv
import warnings
from functools import cache

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError, SingularityError, UnknownNameError
from dalembert.identification.excitation.design import SPARE, excite, fit_within, fits, random_start
from dalembert.identification.excitation.limits import KINDS, HalfSpace, box, read_limits
from dalembert.identification.excitation.problem import (
    CRITERIA,
    FourierSeries,
    Problem,
    condition,
    condition_number,
    d_optimal,
)
from dalembert.identification.fit.regressor import Columns, base, coupling_of
from errors import raises
from tolerances import DIFFERENCE, ROUNDING, error

LIMITS = {"position": (-2.5, 2.5), "velocity": 2.0, "acceleration": 10.0, "torque": 200.0}
FLOOR = HalfSpace("panda_link8", (0, 0, 1), 0.1)


@cache
def arm(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        return dl.load(name)


def problem(robot, criterion="condition", harmonics=3, spaces=(), columns=None, **limits):
    given = {"position": None, "velocity": None, "acceleration": None, "torque": None, **limits}
    bounds = read_limits(robot, None, *given.values(), spaces).within(0.05)
    wanted = columns or Columns(robot)
    weights = np.linspace(0.5, 2.0, robot.n)
    return Problem(
        wanted, base(wanted), FourierSeries(harmonics, 0.1), bounds, CRITERIA[criterion], weights, 30 * harmonics
    )


@cache
def small():
    """One search on a small arm, with all limits, for several tests; done by counts, not by the clock."""
    floor = (HalfSpace("tool", (0, 0, 1), 0.15),)
    return excite(arm("elbow-3r"), **LIMITS, harmonics=3, starts=2, seconds=1e6, workspace=floor, margin=0.04)


# ------------------------------------------------------------------------------------------------------- series
@pytest.mark.parametrize("at_rest", (True, False))
def test_a_series_is_linear_periodic_and_starts_at_rest(at_rest):
    series = FourierSeries(4, 0.2, at_rest)
    z = np.random.default_rng(0).normal(size=(series.numbers, 3))
    t = np.linspace(0, 5, 31)
    B, Bd, Bdd = series.maps(t)
    q, qd, qdd = series.motion(z, ("a", "b", "c"), ("rad",) * 3)(t)
    assert error(B @ z, q) < ROUNDING and error(Bd @ z, qd) < ROUNDING and error(Bdd @ z, qdd) < ROUNDING
    for x in (q, qd, qdd):
        assert error(x[0], x[-1], np.abs(x).max()) < ROUNDING  # 5 s is one period
    if at_rest:
        assert np.abs(qd[0]).max() < 1e-12 and np.abs(qdd[0]).max() < 1e-11
        assert series.numbers == 7
    else:
        assert np.abs(qd[0]).max() > 0.1 and series.numbers == 9


# ---------------------------------------------------------------------------------------------------- gradients
@pytest.mark.parametrize("name", CRITERIA)
def test_criteria_have_their_gradients(name):
    rng = np.random.default_rng(0)
    A, D = rng.normal(size=(2, 30, 6))
    A *= np.logspace(-2, 2, 6)  # columns of very different units
    D *= np.logspace(-2, 2, 6)

    def f(h):
        Y = A + h * D
        return CRITERIA[name](Y.T @ Y, 4.0)

    _, F = f(0.0)
    slope = 2 * np.sum((A @ F) * D)
    assert abs(slope - (f(1e-6)[0] - f(-1e-6)[0]) / 2e-6) < DIFFERENCE * abs(slope)


def test_criteria_are_what_they_say():
    A = np.random.default_rng(1).normal(size=(50, 7)) * np.logspace(-3, 3, 7)
    true = np.log(condition_number(A))
    found = [condition(A.T @ A, s)[0] for s in (1.0, 8.0, 64.0)]
    assert true < found[2] < found[1] < found[0]  # from above, nearer as it gets sharper
    assert found[2] - true < np.log(7) / 64
    assert abs(condition((A * 5).T @ (A * 5), 8.0)[0] - found[1]) < 1e-10  # units do not matter
    sign, logarithm = np.linalg.slogdet(A.T @ A)
    assert sign > 0 and abs(d_optimal(A.T @ A)[0] + logarithm / 14) < 1e-9
    unit = A / np.linalg.norm(A, axis=0)
    assert abs(condition_number(A) / np.linalg.cond(unit) - 1) < 1e-9
    assert condition_number(np.zeros((5, 2))) == np.inf
    assert condition_number(np.ones((5, 2))) == np.inf
    with raises(SingularityError, "singular"):
        condition(np.diag([1.0, 0.0]))


def coupled(robot):
    """Columns of every kind: springs, a motor that turns with two joints, friction for each direction."""
    G = np.eye(robot.n)
    G[2, 1] = 0.4
    friction = ("viscous", "coulomb+", "coulomb-", "cubic", "offset")
    return Columns(robot, friction, springs=True, coupling=coupling_of(G))


def frictional():
    """An arm whose own description has friction and springs, which its torques contain."""
    rows = [
        {
            "a": 0.3,
            "inertial": dl.describe.Inertial(2.0, (0.01, 0, 0, 0.02, 0, 0.02), dl.describe.Origin((-0.1, 0, 0))),
            "drive": dl.describe.Drive(0.1, 10.0, damping=0.5, coulomb=(1.0, 0.8), stiffness=3.0, rest=0.2),
        }
    ] * 2
    return dl.Robot.from_dh(rows, gravity=(0, -9.81, 0))


@pytest.mark.parametrize("case", ("panda", "columns", "friction"))
@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_gradient_of_everything_is_the_difference(case, criterion):
    """Criterion, positions, rates, accelerations, torques and heights together, through kernels and series."""
    if case == "panda":
        p = problem(arm("panda"), criterion, 3, spaces=(FLOOR,))
    elif case == "columns":
        robot = arm("elbow-3r")
        p = problem(robot, criterion, 5, columns=coupled(robot), **LIMITS)  # fewer would leave columns dependent
    else:
        p = problem(frictional(), criterion, 3, **LIMITS)
    rng = np.random.default_rng(3)
    n = p.columns.robot.n
    z = 0.6 * rng.normal(size=(p.series.numbers, n))
    v = p.values(z)
    pull = {kind: 0.01 * rng.normal(size=v.tau.shape) for kind in KINDS}
    lift = 0.01 * rng.normal(size=v.heights.shape)

    def total(z):
        v = p.values(z)
        held = sum(float((pull[kind] * v.of(kind)).sum()) for kind in KINDS)
        return p.merit(v, 4.0)[0] + held + float((lift * v.heights).sum())

    gradient = p.gradient(v, p.merit(v, 4.0)[1], pull, lift)
    for _ in range(5):
        D = rng.normal(size=z.shape)
        slope, h = float((gradient * D).sum()), 1e-6
        difference = (total(z + h * D) - total(z - h * D)) / (2 * h)
        assert abs(slope - difference) < 10 * DIFFERENCE * np.abs(gradient).max() * np.abs(D).sum()


def test_the_matrix_is_the_base_regressor():
    robot = arm("panda")
    p = problem(robot)
    z = 0.5 * np.random.default_rng(0).normal(size=(p.series.numbers, robot.n))
    v = p.values(z)
    kept = p.columns.free[p.base.kept]
    s = p.columns.directions(v.motion[1], np.zeros(robot.n))
    Y = p.columns.matrices(*v.motion, s)[..., kept] * p.weights[:, None] / np.sqrt(p.samples)
    A = p.matrix(v)
    dry = [k for k, at in enumerate(kept) if p.columns.all_names[at].endswith("coulomb")]
    smooth = [k for k in range(len(kept)) if k not in dry]
    assert error(A[..., smooth], Y[..., smooth]) < ROUNDING
    assert np.abs(A[..., dry] - Y[..., dry]).max() <= p.weights.max() / np.sqrt(p.samples)  # the smooth sign, near zero
    assert error(v.tau, robot.inverse_dynamics(*v.motion)) < ROUNDING
    assert abs(np.log(condition_number(A.reshape(-1, A.shape[-1]))) - p.merit(v, 500.0)[0]) < 0.02


# ------------------------------------------------------------------------------------------------------- limits
def test_limits_hold_on_a_finer_grid():
    """On a grid that neither the search nor the certificate saw."""
    e = small()
    robot = e.robot
    t = np.linspace(0, e.period, 17389)
    q, qd, qdd = e.motion(t)
    tau = robot.inverse_dynamics(q, qd, qdd, friction=True)
    share = 1 - e.certificate.margin + 1e-4  # between two points of the certificate's grid
    assert np.abs(q).max() <= 2.5 * share and np.abs(qd).max() <= 2.0 * share
    assert np.abs(qdd).max() <= 10.0 * share and np.abs(tau).max() <= 200.0 * share
    assert robot.fk(q)[:, 2, 3].min() >= 0.15 - 1e-5
    c = e.certificate
    assert c.feasible and c.margin == 0.04
    assert abs(c.velocity.max() - np.abs(qd).max() / 2.0) < 1e-3
    assert abs(c.torque.max() - np.abs(tau).max() / 200.0) < 1e-3
    assert abs(c.clearance[0] - (robot.fk(q)[:, 2, 3].min() - 0.15)) < 1e-4
    assert max(c.position.max(), c.velocity.max(), c.acceleration.max(), c.torque.max()) > 0.9  # the limits are used
    text = c.text(robot.joint_names)
    assert "all limits hold" in text and "(0, 0, 1)·p ≥ 0.15 m" in text


def test_a_motion_is_made_smaller_until_it_fits():
    p = problem(arm("panda"), spaces=(FLOOR,), acceleration=5.0)
    rng = np.random.default_rng(0)
    fine = p.series.maps(p.series.times(900))
    z = random_start(p, p.limits, rng, fine)
    assert fits(p, z, p.limits, fine)
    large = p.series.smaller(z, 4.0)
    assert not fits(p, large, p.limits, fine)
    again = fit_within(p, large, p.limits, fine)
    assert fits(p, again, p.limits, fine) and error(again[0], z[0]) == 0.0
    assert not fits(p, np.full_like(z, np.nan), p.limits, fine)
    assert SPARE < 0.05


def test_one_sided_and_absent_limits():
    robot = arm("elbow-3r")
    limits = read_limits(robot, None, (-1.0, 2.0), None, 3.0, None, ())
    assert np.allclose(limits.scale("position"), 1.5)
    inner = limits.within(0.1)
    assert np.allclose(inner.lower["position"], -0.85) and np.allclose(inner.upper["position"], 1.85)
    x = np.array([[2.0, 0.5, -1.0], [0.5, 0.5, 0.5]])
    assert np.allclose(limits.usage("position", x), [1.0, 0.0, 1.0])
    from dataclasses import replace

    half = replace(limits, upper={**limits.upper, "position": np.full(3, np.inf)})
    assert (half.excess("position", x)[:, :3] == -np.inf).all()
    assert np.allclose(half.excess("position", x)[0, 3:], [-3.0, -1.5, 0.0])
    assert np.allclose(half.usage("position", x), [0.0, 0.0, 1.0])


def test_boxes():
    sides = box("tool", (-1, -np.inf, 0), (1, np.inf, np.inf))
    assert [s.offset for s in sides] == [-1.0, 0.0, -1.0]
    assert sides[2].normal == (-1.0, 0.0, 0.0)
    e = excite(
        arm("elbow-3r"), **LIMITS, harmonics=2, starts=1, seconds=1e6, workspace=box("tool", (-0.4, -2, 0), (2, 2, 2))
    )
    p = e.robot.fk(e.motion(np.linspace(0, e.period, 3001))[0])[:, :3, 3]
    assert p[:, 0].min() > -0.4 - 1e-5 and p[:, 2].min() > -1e-5
    assert e.certificate.feasible and len(e.certificate.clearance) == 6


# ------------------------------------------------------------------------------------------------------ quality
def test_better_than_chance():
    """Against about as many random motions within the same limits as the search evaluated, each as large as they allow:
    at least twice as good as the best of them, from a single start."""
    robot = arm("panda")
    e = excite(robot, acceleration=10.0, harmonics=5, starts=1, seconds=1e6, workspace=(FLOOR,))
    p = problem(robot, harmonics=5, spaces=(FLOOR,), acceleration=10.0)
    rng = np.random.default_rng(5)
    kept = p.columns.free[p.base.kept]
    found = []
    for _ in range(300):
        v = p.values(random_start(p, p.limits, rng, p.maps, between=False))
        s = p.columns.directions(v.motion[1], np.zeros(7))
        Y = p.columns.matrices(*v.motion, s)[..., kept] * e.weights[:, None]
        found.append(condition_number(Y.reshape(-1, Y.shape[-1])))
    assert e.condition < 0.5 * min(found) and e.condition < 0.2 * np.median(found)
    assert e.certificate.feasible
    assert e.condition < 0.5 * e.random_condition


def test_d_optimality_wants_large_motions():
    options = {**LIMITS, "harmonics": 2, "starts": 1, "seconds": 1e6}
    by = {name: excite(arm("elbow-3r"), criterion=name, **options) for name in CRITERIA}
    assert by["d-optimal"].log_det > by["condition"].log_det
    assert by["condition"].condition < by["d-optimal"].condition
    assert all(e.certificate.feasible for e in by.values())


def test_the_same_seed_gives_the_same_motion():
    options = {**LIMITS, "harmonics": 2, "starts": 1, "seconds": 1e6, "at_rest": False}
    a, b, other = (excite(arm("planar-2r"), seed=s, **options) for s in (1, 1, 2))
    t = np.linspace(0, 10, 50)
    assert np.array_equal(a.motion(t)[0], b.motion(t)[0])
    assert not np.array_equal(a.motion(t)[0], other.motion(t)[0])


def test_the_clock_is_obeyed():
    """A search that cannot end for long ends by the clock, with a motion that fits."""
    e = excite(arm("elbow-3r"), **LIMITS, harmonics=3, starts=10**6, seconds=1.5)
    assert "by the clock" in e.message and e.certificate.feasible
    assert np.isfinite(e.condition)


def test_progress_is_told():
    told = []
    excite(arm("planar-2r"), **LIMITS, harmonics=2, starts=2, seconds=1e6, progress=told.append)
    assert [s.split(":")[0] for s in told] == ["start 1 of 2", "start 2 of 2", "polished"]


# ------------------------------------------------------------------------------------------------------- result
def test_the_motion_is_periodic_and_starts_at_rest():
    e = small()
    q, qd, qdd = e.motion([0.0, e.period, 3 * e.period])
    assert error(q[1], q[0]) < 1e-10 and error(q[2], q[0]) < 1e-10
    assert np.abs(qd[0]).max() < 1e-10 and np.abs(qdd[0]).max() < 1e-9
    assert e.period == 10.0 and e.duration == 10.0
    assert e.motion.names == e.robot.joint_names and "feasible" in repr(e)


def test_the_table_can_be_played(tmp_path):
    e = excite(arm("planar-2r"), **LIMITS, harmonics=2, starts=1, seconds=1e6, duration=12.0, base_frequency=0.25)
    assert e.period == 4.0 and e.duration == 12.0
    path = e.to_csv(tmp_path / "play.csv", 50)
    with open(path, encoding="utf-8") as file:
        rows = list(csv.reader(file))
    joints = e.robot.joint_names
    assert rows[0] == ["t", *(f"{kind}_{j}" for kind in ("q", "qd", "qdd", "tau") for j in joints)]
    data = np.array(rows[1:], float)
    assert data.shape == (601, 9) and data[-1, 0] == 12.0
    q, qd, qdd = e.motion(data[:, 0])
    assert np.array_equal(data[:, 1:3], q) and np.array_equal(data[:, 5:7], qdd)
    assert np.array_equal(data[:, 7:], e.robot.inverse_dynamics(q, qd, qdd, friction=True))
    difference = np.gradient(data[:, 1], data[:, 0])
    assert np.abs(difference - data[:, 3])[1:-1].max() < 0.02
    with raises(InputError, "conflict rate"):
        e.to_csv(tmp_path / "play.csv", 7.3)
    with pytest.raises(InputError, match="cannot be written"):
        e.to_csv(tmp_path / "nowhere" / "play.csv", 50)
    assert not list(tmp_path.glob(".*"))


def test_it_draws():
    pytest.importorskip("matplotlib").use("Agg")
    figure = small().plot()
    assert len(figure.axes) == 4 and "condition number" in figure.get_suptitle()


def test_an_identification_from_the_motion_is_as_good_as_promised():
    """Least squares on the table with noise: the scatter of the parameters is that of (YᵀY)⁻¹, better than of a random
    motion of the same limits."""
    e = small()
    table = e.table(50)
    columns = Columns(e.robot)
    b = base(columns)
    s = columns.directions(table["qd"], np.zeros(3))
    Y = columns.matrices(table["q"], table["qd"], table["qdd"], s)[..., b.kept].reshape(-1, b.rank)
    assert Y.shape[1] == len(e.names)
    assert abs(condition_number(Y * np.tile(e.weights, len(Y) // 3)[:, None]) / e.condition - 1) < 0.05


# ---------------------------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"duration": 3.0, "base_frequency": 0.5}, "conflict duration"),
        ({"duration": -1.0}, "out-of-range duration"),
        ({"base_frequency": 0.0}, "out-of-range base_frequency"),
        ({"harmonics": 1}, "out-of-range harmonics"),
        ({"harmonics": 2.5}, "out-of-range harmonics"),
        ({"starts": 0}, "out-of-range starts"),
        ({"seconds": 0.0}, "out-of-range seconds"),
        ({"margin": 0.9}, "out-of-range margin"),
        ({"noise": (1.0, 0.0, 1.0)}, "out-of-range noise"),
        ({"noise": (1.0, 2.0)}, "wrong-shape noise"),
        ({"velocity": -1.0}, "out-of-range velocity"),
        ({"acceleration": (1, 2)}, "wrong-shape acceleration"),
        ({"position": 2.0}, "wrong-shape position"),
        ({"position": (1.0, -1.0)}, "conflict position"),
        ({"workspace": [(0, 0, 1)]}, "wrong-type"),
        ({"workspace": [HalfSpace("base", (0, 0, 1), 0.0)]}, "infeasible workspace"),
        ({"workspace": [HalfSpace("tool", (0, 0, 0), 0.0)]}, "out-of-range normal"),
        ({"workspace": [HalfSpace("tool", (0, 0, 1), 50.0)]}, "infeasible torque"),
        ({"torque": 1e-3}, "infeasible torque"),
        ({"limits": 3}, "wrong-type"),
        ({"at_rest": 1}, "wrong-type at_rest"),
    ],
)
def test_bad_input_gets_a_sentence(options, words):
    with raises(InputError, words):
        excite(arm("elbow-3r"), **{**LIMITS, **options})


def test_unknown_words_and_unbounded_joints():
    with raises(UnknownNameError, "unknown-name"):
        excite(arm("elbow-3r"), **LIMITS, criterion="e-optimal")
    with raises(UnknownNameError, "unknown-name"):
        excite(arm("elbow-3r"), **LIMITS, friction=("coulomp",))
    with raises(UnknownNameError, "unknown-name"):
        excite(arm("elbow-3r"), **LIMITS, workspace=[HalfSpace("tol", (0, 0, 1), 0.0)])
    with raises(InputError, "missing position"):
        excite(frictional())
    with raises(InputError, "wrong-order lower"):
        box("tool", (1, 0, 0), (0, 1, 1))
