"""Batches: the same bits however they are cut, measures against closed forms, what is kept, what is refused."""

from __future__ import annotations

import errno
import importlib
import math
import os
import pickle
import tracemalloc
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import sympy
from tests.rollout_words import rollout_gradient, rollouts

import dalembert as dl
from dalembert.errors import InputError, UnknownNameError
from dalembert.flow import Flow
from dalembert.law import Law
from dalembert.simulation import (
    MEASURES,
    Experiment,
    Noise,
    add_law_states,
    choice,
    close_loop,
    integrate,
    log_uniform,
    normal,
    uniform,
)
from dalembert.simulation.draws import pairs, philox
from dalembert.simulation.measures import Measure
from dalembert.simulation.plan import Packed
from dalembert.simulation.results import Tree
from trees import random_tree

MASS = Flow("mass", ("x", "v"), ("force", "m"), lambda t, x, u: [x[1], u[0] / u[1]], positions=1)
PD = Law(
    "PD",
    ("x", "v"),
    ("x_d", "v_d"),
    ("force",),
    lambda t, y, r, z, p: [p[0] * (r[0] - y[0]) + p[1] * (r[1] - y[1])],
    parameters={"kp": 4.0, "kd": 4.0},
)
STEP = {"reference": [1.0], "duration": 10.0, "dt": 1e-2, "parameters": {"m": 1.0}}


def computed_torque(arm: dl.Robot) -> Law:
    """τ = ID(q, q̇, 100 (q_d − q) − 20 q̇), gains shared by all joints."""
    from dalembert import kernels
    from dalembert.model.lean import lean

    n, model, joints = arm.n, lean(arm.model), arm.joint_names
    row, options = kernels.ROWS["inverse_dynamics"].trace, kernels.TABLE.read_options("inverse_dynamics", {})

    def act(t, y, r, z, p):
        w = [p[0] * (a - q) - p[1] * v for a, q, v in zip(r, y[:n], y[n:], strict=True)]
        return row(model, {"q": y[:n], "qd": y[n:], "qdd": w}, options)

    return Law(
        "computed torque",
        (*joints, *(f"{j}_rate" for j in joints)),
        tuple(f"{j}_wanted" for j in joints),
        tuple(f"{j}_torque" for j in joints),
        act,
        parameters={"kp": 100.0, "kd": 20.0},
    )


# ------------------------------------------------------------------------------------------------- random numbers
def test_philox_is_numpys():
    rng = np.random.default_rng(0)
    for _ in range(100):
        counter, key = rng.integers(0, 2**63, 4, dtype=np.uint64), rng.integers(0, 2**64, 2, dtype=np.uint64)
        theirs = np.random.Philox(counter=counter, key=key).random_raw(4)
        counter[0] += np.uint64(1)  # NumPy counts before it draws
        ours = philox(tuple(np.array([c]) for c in counter), (int(key[0]), int(key[1])))
        assert [int(w[0]) for w in ours] == theirs.tolist()


def test_draws_belong_to_seed_name_and_index():
    d = normal([0.0, 5.0, 1.0], [1.0, 2.0, 0.0])
    whole = d.draw(7, "q0", 0, 100)
    assert whole.shape == (100, 3) and (whole[:, 2] == 1.0).all()
    for first, count in ((0, 1), (13, 1), (50, 50), (99, 1)):
        assert np.array_equal(d.draw(7, "q0", first, count), whole[first : first + count])
    for other in (d.draw(8, "q0", 0, 100), d.draw(7, "qd0", 0, 100), d.draw(7 + (1 << 64), "q0", 0, 100)):
        assert not np.isin(other[:, :2], whole[:, :2]).any()


def test_distributions_are_what_they_say():
    from scipy import stats

    n = 20_000
    close = 1.63 / math.sqrt(n)  # Kolmogorov's statistic, 1 %
    pairs_ = (
        (uniform(-1.0, 3.0), stats.uniform(-1, 4)),
        (normal(2.0, 3.0), stats.norm(2, 3)),
        (log_uniform(0.1, 100.0), stats.loguniform(0.1, 100)),
    )
    for ours, theirs in pairs_:
        assert stats.kstest(ours.draw(0, "x", 0, n), theirs.cdf).statistic < close, ours
    counts = np.unique(choice([1.0, 2.0, 5.0]).draw(0, "x", 0, n), return_counts=True)
    assert counts[0].tolist() == [1, 2, 5] and np.abs(counts[1] / n - 1 / 3).max() < 4 * math.sqrt(2 / 9 / n)
    u, v = pairs(3, "x", 0, n, 2)
    every = np.corrcoef(np.concatenate((u, v), 1).T) - np.eye(4)
    assert np.abs(every).max() < 4 / math.sqrt(n) and u.min() > 0 and u.max() < 1


def test_noise_is_held():
    drawn = Noise(2.0, hold=0.03).draw(1, "f", 4, 3, np.arange(10) // 3)
    assert drawn.shape == (3, 10) and (drawn[:, :3] == drawn[:, :1]).all() and (drawn[:, 9] != drawn[:, 8]).all()
    assert np.array_equal(Noise(2.0, 0.03).draw(1, "f", 5, 1, np.arange(10) // 3)[0], drawn[1])
    assert Noise(1.0).draw(1, "f", 0, 2000, np.arange(10)).std() == pytest.approx(1, abs=4 / math.sqrt(2 * 20_000))


# ------------------------------------------------------------------------------------------- the same bits always
RANDOM = {
    "q0": normal([0.0], [1.0]),
    "reference": [1.0],
    "duration": 1.0,
    "dt": 1e-2,
    "number": 100,
    "seed": 5,
    "parameters": {"m": uniform(1, 2), "kp": log_uniform(1, 10)},
    "disturbances": {"force": Noise(0.5, 0.05)},
    "measures": tuple(MEASURES),
}


def test_chunks_and_threads_change_no_bit():
    runs = {
        (chunk, threads): rollouts(MASS, PD, chunk=chunk, threads=threads, keep="all", every=7, **RANDOM)
        for chunk, threads in ((1, 1), (7, 1), (100, 1), (None, 1), (7, 2), (1, 2))
    }
    first = runs[1, 1]
    assert np.isfinite(first.last).all() and len(np.unique(first.last[:, 0])) == 100
    for run in runs.values():
        assert np.array_equal(run.last, first.last) and np.array_equal(run.rows, first.rows)
        assert all(np.array_equal(run.measures[name], first.measures[name]) for name in MEASURES)
    parts = [
        rollouts(MASS, PD, chunk=chunk, threads=threads, keep="statistics", every=7, **RANDOM)
        for chunk, threads in ((1, 2), (7, 1), (100, 1))
    ]
    for part in parts:
        for name in ("count", "mean", "squares", "least", "largest"):
            assert np.array_equal(getattr(part.moments, name), getattr(parts[0].moments, name))
    assert np.allclose(parts[0].moments.mean, first.rows.mean(0), atol=1e-14)
    assert np.allclose(parts[0].moments.std, first.rows.std(0, ddof=1), atol=1e-14)
    assert np.array_equal(parts[0].moments.largest, first.rows.max(0))


def test_moments_in_any_order():
    rng = np.random.default_rng(1)
    x = 1e6 + rng.normal(size=(203, 4))
    x[rng.random(x.shape) < 0.1] = np.nan
    x[:, 3] = np.nan
    totals = []
    for cuts in ([0, 203], [0, 1, 2, 5, 64, 100, 202, 203], sorted({0, 203, *rng.integers(0, 203, 40).tolist()})):
        tree, parts = Tree(), list(pairwise(cuts))
        for a, b in [parts[k] for k in rng.permutation(len(parts))]:
            other = Tree()
            other.add_runs(a, x[a:b])
            tree.join(pickle.loads(pickle.dumps(other)))
        totals.append(tree.total())
    for total in totals:
        assert np.array_equal(total.mean, totals[0].mean) and np.array_equal(total.squares, totals[0].squares)
        assert np.array_equal(total.count, np.isfinite(x).sum(0))
    assert np.allclose(totals[0].mean[:3], np.nanmean(x[:, :3], 0), rtol=1e-15)
    assert np.allclose(totals[0].std[:3], np.nanstd(x[:, :3], 0, ddof=1), rtol=1e-9) and np.isnan(totals[0].std[3])


def test_a_plan_pickles_and_gives_the_same():
    batch = rollouts(MASS, PD, **RANDOM)
    plan = Packed.of(batch.request.plan).plan()
    piece = plan.run(40, 10, batch.request.cut(40, 10))
    assert plan is not batch.request.plan and np.array_equal(piece.last, batch.last[40:50])


def test_one_more_random_parameter_changes_none_of_the_others():
    one = rollouts(MASS, PD, **RANDOM)
    more = {**RANDOM, "parameters": {**RANDOM["parameters"], "kd": uniform(4, 4)}}
    assert np.array_equal(rollouts(MASS, PD, **more).last, one.last)


# ---------------------------------------------------------------------------------------------- a robot and a load
def test_rollouts_are_integrate():
    """Bit for bit what `integrate` makes of the closed loop, with an unknown load."""
    arm = dl.load("panda")
    law, rng = computed_torque(arm), np.random.default_rng(0)
    q0, goal, mass = rng.uniform(-1, 1, (9, 7)), rng.uniform(-1, 1, 7), rng.uniform(0, 2, 9)
    batch = rollouts(
        arm, law, q0, reference=goal, duration=0.1, dt=1e-3, payload=(0, 0, 0.05), parameters={"payload_mass": mass}
    )
    flow = close_loop(arm.flow(payload=(0, 0, 0.05)), law, goal)
    given = {"payload_mass": mass, "kp": 100.0, "kd": 20.0}
    run = integrate(flow, np.concatenate((q0, 0 * q0), 1), 1e-3, 100, parameters=given, every=100)
    assert np.array_equal(batch.last[:, :14], run.x[:, -1])
    assert np.array_equal(batch.q, run.x[:, -1, :7]) and np.array_equal(batch["panda_joint3_rate"], run.x[:, -1, 9])
    alone = integrate(
        close_loop(arm.with_payload(mass[3], (0, 0, 0.05)).flow(), law, goal),
        [*q0[3], *[0.0] * 7],
        1e-3,
        100,
        parameters={"kp": 100.0, "kd": 20.0},
    )
    assert np.abs(batch.last[3, :14] - alone.x[-1]).max() < 1e-13  # the load's sums are rounded in another order


@pytest.mark.parametrize("seed", range(6))
def test_a_load_by_its_numbers_is_a_robot_with_that_load(seed):
    """On random trees: forward dynamics and energies, with the point among the inputs and without."""
    rng = np.random.default_rng(seed)
    arm = dl.Robot(random_tree(seed, 5, mimic=seed > 3, rotors=True)) if seed else dl.load("ur5e")
    n, com, mass, frame = arm.n, rng.uniform(-0.2, 0.2, 3), 1.7, arm.model.bodies[-1].name if seed else None
    wanted = arm.with_payload(mass, com, frame=frame).flow(energies=True)
    x, tau = rng.normal(size=2 * n).tolist(), rng.normal(size=n).tolist()
    for flow, load in (
        (arm.flow(energies=True, payload=com, frame=frame), [mass]),
        (arm.flow(energies=True, payload=True, frame=frame), [mass, *com]),
    ):
        assert flow.inputs[n:] == ("payload_mass", "payload_x", "payload_y", "payload_z")[: len(load)]
        scale = 1 + max(abs(a) for a in wanted.rate(0.0, x, tau))
        assert flow.rate(0.0, x, [*tau, *load]) == pytest.approx(wanted.rate(0.0, x, tau), abs=1e-10 * scale)
        assert flow.observe(0.0, x, [*tau, *load]) == pytest.approx(wanted.observe(0.0, x, tau), abs=1e-10)


def test_a_long_chain_takes_a_load_in_a_compiled_loop():
    """Of chains of 9 to 23 joints the ways of forward dynamics are weighed, which scalars of a trace cannot be."""
    arm = dl.Robot(random_tree(1, 10, chain=True, fixed=False))
    frame, point = arm.model.bodies[-1].name, (0.1, 0.0, 0.0)
    x0, u = np.full(20, 0.1), np.append(np.zeros(10), 0.5)
    loaded = integrate(arm.flow(payload=point, frame=frame), x0, 1e-3, 3, u)
    wanted = integrate(arm.with_payload(0.5, point, frame=frame).flow(), x0, 1e-3, 3)
    assert loaded.x == pytest.approx(wanted.x, rel=1e-9)


def test_an_unknown_load_leaves_the_error_it_should():
    """At rest K_p M̂(q) e = g(q) − ĝ(q)."""
    arm = dl.load("puma560")
    mass, goal = np.array([0.0, 1.0, 3.0]), np.array([0.3, 0.6, -0.4, 0.2, 0.5, 0.1])
    batch = rollouts(
        arm, computed_torque(arm), goal, reference=goal, duration=6.0, dt=1e-2, parameters={"payload_mass": mass}
    )
    for m, q in zip(mass, batch.q, strict=True):
        pull = arm.with_payload(m).gravity_torque(q) - arm.gravity_torque(q)
        assert 100 * arm.mass_matrix(q) @ (goal - q) == pytest.approx(pull, abs=1e-9)


def test_other_systems():
    from dalembert.constrained.system import Constrained

    bar = Constrained(dl.load("four-bar"))
    q = bar.close().q
    batch = rollouts(bar, None, np.tile(q, (3, 1)), duration=0.1, dt=1e-3, method="rk4")
    assert np.isfinite(batch.last).all() and np.array_equal(batch.last[0], batch.last[2])
    soft = dl.FlexibleRobot(dl.load("planar-2r"), 400.0, 0.1, 2e-5, 80.0)
    batch = rollouts(soft, None, uniform([-0.1, -0.1], [0.1, 0.1]), duration=0.05, dt=1e-3, number=5)
    assert batch.last.shape[0] == 5 and np.isfinite(batch.last).all()
    x, k = dl.lagrange.coordinates("x"), sympy.Symbol("k")
    (x,) = x if isinstance(x, (list, tuple)) else (x,)
    system = dl.LagrangianSystem([x], dl.lagrange.rate(x) ** 2 / 2, k * x**2 / 2)
    stiff = np.array([1.0, 4.0, 9.0])
    batch = rollouts(system, None, [1.0], duration=1.0, dt=1e-2, parameters={"k": stiff})
    assert batch.last[:, 0] == pytest.approx(np.cos(np.sqrt(stiff)), abs=1e-7)


# --------------------------------------------------------------------------------------------------------- measures
def test_measures_against_closed_forms():
    """e = (1 + 2t) e^(−2t): critically damped from rest."""
    batch = rollouts(MASS, PD, [0.0], measures=tuple(MEASURES), **STEP)
    m = {name: float(value[0]) for name, value in batch.measures.items()}
    assert m["ise"] == pytest.approx(0.625, abs=1e-6)
    assert m["iae"] == pytest.approx(1.0, abs=1e-6)
    assert m["itae"] == pytest.approx(0.75, abs=1e-6)
    assert m["itse"] == pytest.approx(1 / 16 + 8 / 64 + 24 / 256, abs=1e-6)
    assert m["rms_error"] == pytest.approx(math.sqrt(0.0625), abs=1e-6)
    assert m["overshoot"] == 0 and m["final_error"] == pytest.approx(21 * math.exp(-20), rel=1e-3)
    assert (1 + 2 * m["settling_time"]) * math.exp(-2 * m["settling_time"]) >= 0.02
    assert (1 + 2 * (m["settling_time"] + 0.01)) * math.exp(-2 * (m["settling_time"] + 0.01)) < 0.02
    # u = 4 e + 4 ė = 4 (1 − 2t) e^(−2t): ∫u² = 16 (1/4 − 4/16 + 8/64) = 2, ∫|u| = 4 e⁻¹
    assert m["rms_torque"] == pytest.approx(math.sqrt(2 / 10), abs=1e-6)
    assert m["effort"] == pytest.approx(4 * math.exp(-1), abs=1e-4)  # a kink inside a step
    assert m["peak_torque"] == pytest.approx(4.0, abs=1e-12)  # at t = 0
    assert m["peak_error"] == pytest.approx(1.0, abs=1e-12)


def test_overshoot_and_not_settling():
    zeta = np.array([0.2, 0.5, 0.7])
    batch = rollouts(
        MASS,
        PD,
        [2.0],
        measures=("overshoot", "settling_time"),
        reference=[1.0],
        duration=4.0,
        dt=1e-3,
        parameters={"m": 1.0, "kp": 4.0, "kd": 4.0 * zeta},
    )
    wanted = np.exp(-math.pi * zeta / np.sqrt(1 - zeta**2))
    assert batch["overshoot"] == pytest.approx(wanted, abs=1e-5)
    assert np.isinf(batch["settling_time"][0]) and np.isfinite(batch["settling_time"][2])


def test_measures_count_from_the_start():
    """Computed torque is largest, and the error too, before the first step."""
    from dalembert.control import ComputedTorque

    arm = dl.load("planar-2r")
    law = ComputedTorque(arm, omega=10.0)
    options = {"reference": [0.3, 0.1], "duration": 0.5, "dt": 0.01}
    batch = rollouts(arm, law, [[0.1, 0.2], [0.2, 0.0]], measures=("peak_torque", "peak_error"), **options)
    for k, q in enumerate(([0.1, 0.2], [0.2, 0.0])):
        run = dl.simulate(arm, law, q0=q, **options)
        assert batch["peak_torque"][k] == pytest.approx(np.abs(run.tau).max(), rel=1e-9)
        assert batch["peak_error"][k] == pytest.approx(np.abs(run.reference - run.q).max(), rel=1e-12)
    assert batch["peak_torque"][0] == pytest.approx(64.028, abs=1e-3) and batch["peak_error"][0] == pytest.approx(0.2)
    moving = rollouts(
        MASS,
        PD,
        [0.0],
        measures="peak_torque",
        reference=[1.0],
        duration=0.02,
        dt=0.01,
        parameters={"m": 1.0, "kp": [[7.0, 1.0]]},
    )
    assert moving["peak_torque"][0] == 7.0
    again = Packed.of(batch.request.plan).plan()
    assert (again.run(0, 2, batch.request.cut(0, 2)).last == batch.last).all()


def test_a_joint_that_need_not_move_settles_too():
    arm = dl.load("planar-2r")
    options = {"reference": [0.3, 0.1], "duration": 6.0, "dt": 0.01, "measures": "settling_time"}
    law = computed_torque(arm)
    softer = replace(law, act=lambda t, y, r, z, p: [0.9 * u for u in law.act(t, y, r, z, p)])  # couples the joints
    push = dict(zip(softer.outputs, 0.1 * arm.gravity_torque([0.3, 0.1]), strict=True))
    one = rollouts(arm, softer, [0.0, 0.1], disturbances=push, **options)
    assert 0.1 < one["settling_time"][0] < 3.0
    still = rollouts(arm, law, [0.3, 0.1], **options)
    assert still["settling_time"][0] == 0


def test_limits_clip_what_a_controller_puts_out():
    arm = dl.load("planar-2r")
    options = {"reference": [0.3, 0.1], "duration": 0.3, "dt": 1e-3}
    for limits in (20.0, (-3.0, 25.0), ([-5.0, -4.0], [30.0, 10.0]), [40.0, 3.0]):
        batch = rollouts(
            arm,
            computed_torque(arm),
            [0.1, 0.2],
            torque_limits=limits,
            measures="peak_torque",
            keep="all",
            disturbances={"joint1_torque": 1.0},
            **options,
        )
        push = dl.Inputs(disturbance=[1.0, 0.0])
        run = dl.simulate(
            arm, computed_torque(arm), q0=[0.1, 0.2], limits=dl.JointLimits(limits), inputs=push, **options
        )
        assert np.abs(batch.q[0] - run.q).max() < 1e-12
        assert batch["peak_torque"][0] <= np.abs(np.hstack(list(limits) if np.ndim(limits) else [limits])).max()
    panda = dl.load("panda")
    robot = rollouts(
        panda,
        computed_torque(panda),
        np.zeros(7),
        torque_limits="robot",
        reference=np.ones(7),
        duration=0.01,
        dt=1e-3,
        measures="peak_torque",
    )
    assert robot["peak_torque"][0] == panda.limits.effort.max()
    with pytest.raises(InputError, match="torque limits clip what a controller or tau gives, and there is neither"):
        rollouts(arm, None, [0.1, 0.2], torque_limits=3.0, duration=0.1, dt=0.01)


def test_a_law_starts_its_states_by_what_it_measures():
    def rate(t, y, r, z, p):
        return [z[0] * 0.0]

    law = Law(
        "memory",
        ("v", "x"),
        (),
        ("force",),
        lambda t, y, r, z, p: [-z[0]],
        ("z",),
        (0.0,),
        rate,
        start=lambda y: [3.0 * y[0] + y[1]],
    )
    x0 = np.array([[1.0, 2.0], [0.5, -1.0]])
    batch = rollouts(MASS, law, x0=x0, duration=0.1, dt=0.01, parameters={"m": 1.0})
    assert (batch["z"] == [7.0, -2.5]).all()
    drawn = rollouts(
        MASS,
        law,
        uniform([0.0], [1.0]),
        [2.0],
        number=5,
        duration=0.1,
        dt=0.01,
        parameters={"m": 1.0},
        method="implicit-midpoint",
    )
    assert np.abs(drawn["z"] - 6.0 - drawn.parameters()["q0"][:, 0]).max() < 1e-15 and np.ptp(drawn["z"]) > 0
    assert (add_law_states(law, x0, MASS.states)[:, 2] == [7.0, -2.5]).all()
    with pytest.raises(UnknownNameError, match="state that 'memory' measures at its start"):
        add_law_states(law, x0)
    with pytest.raises(InputError, match="'memory' starts with 2 numbers for its 1 states"):
        rollouts(MASS, replace(law, start=lambda y: y), x0=x0, duration=0.1, dt=0.01)


def test_a_measure_of_ones_own_and_errors_by_name():
    own = {"worst_rate": Measure("∫ e⁴ dt", "e", lambda t, e, e0, u: e[0] * e[0] * e[0] * e[0])}
    batch = rollouts(MASS, PD, [0.0], measures=own, error={"x": 1.0}, **STEP)
    t = np.linspace(0, 10, 100_001)
    e = (1 + 2 * t) * np.exp(-2 * t)
    assert batch["worst_rate"][0] == pytest.approx(np.trapezoid(e**4, t), abs=1e-7)


# ------------------------------------------------------------------------------------------------------ what is kept
def test_what_is_kept(tmp_path):
    q0 = np.linspace(-1, 1, 11)[:, None]
    everything = rollouts(MASS, PD, q0, keep="all", every=30, **STEP)
    assert everything.names == ("x", "v", "force", "x_d", "v_d") and everything.rows.shape == (11, 35, 5)
    assert everything.t[[0, 1, -2, -1]] == pytest.approx([0, 0.3, 9.9, 10.0])
    some = rollouts(MASS, PD, q0, keep=("force", "x"), every=30, **STEP)
    assert some.names == ("x", "force") and np.array_equal(some.rows, everything.rows[..., [0, 2]])
    assert np.array_equal(some["force"], everything["force"]) and np.array_equal(everything.q[..., 0], some["x"])
    path = tmp_path / "rows.npy"
    filed = rollouts(MASS, PD, q0, keep=("force", "x"), every=30, chunk=4, file=path, **STEP)
    assert isinstance(filed.rows, np.memmap) and np.array_equal(np.load(path), some.rows)
    assert [p.name for p in tmp_path.iterdir()] == ["rows.npy"]
    final = rollouts(MASS, PD, q0, **STEP)
    assert final.rows is None and np.array_equal(final.q, everything.q[:, -1]) and final["v"].shape == (11,)


def test_inputs_that_move():
    """A force over time, one for all or one each; what a step holds is integrated exactly by rk4 here."""
    rng = np.random.default_rng(2)
    force = rng.normal(size=(4, 50))
    batch = rollouts(MASS, None, [0.0], duration=0.5, dt=0.01, parameters={"m": 2.0, "force": force})
    assert batch.last[:, 1] == pytest.approx(force.sum(1) * 0.01 / 2, abs=1e-14)
    given = {"m": np.array([1.0, 2.0]), "force": force[:1]}
    shared = rollouts(MASS, None, [0.0], duration=0.5, dt=0.01, parameters=given)
    assert shared.last[:, 1] == pytest.approx(force[0].sum() * 0.01 / np.array([1, 2]), abs=1e-14)


def test_memory_stays_flat():
    """Twice the rollouts need no more while they run than their ends do; statistics need no rows."""

    def peak(number, keep):
        tracemalloc.start()
        rollouts(MASS, PD, uniform([-1.0], [1.0]), number=number, keep=keep, chunk=256, **STEP)
        result = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return result

    peak(256, "final")
    ends = 8 * 4096 * 8  # bytes: last, steps and residuals of so many, with room
    assert peak(8192, "final") - peak(4096, "final") < 2 * ends
    rows = 8 * 5 * 1001
    assert peak(2048, "statistics") - peak(1024, "statistics") < 50 * rows < 1024 * rows


# ------------------------------------------------------------------------------------------------------ monte carlo
def test_statistics_of_random_runs():
    batch = rollouts(MASS, PD, measures=("ise", "final_error"), **{k: v for k, v in RANDOM.items() if k != "measures"})
    values = batch["ise"]
    s = batch.summary("ise")
    assert (s["mean"], s["std"]) == (pytest.approx(values.mean()), pytest.approx(values.std(ddof=1)))
    assert s["95 %"] == pytest.approx(np.quantile(values, 0.95)) and s["max"] == values.max()
    worst = batch.worst("ise", 3)
    assert values[worst].tolist() == sorted(values, reverse=True)[:3] and values[batch.best("ise")[0]] == values.min()
    assert batch.parameters()["q0"].shape == (100, 1) and batch.ok.all() and (batch.status == "finished").all()
    assert "100 runs, seed 5" in str(batch.table())


@pytest.mark.filterwarnings("ignore::dalembert.DivergenceWarning")
def test_what_diverges_is_counted_and_named():
    """rk4 of ẍ = −kp x diverges where h √kp > 2.83, all the sooner the stiffer it is."""
    batch = rollouts(
        MASS,
        PD,
        [1.0],
        reference=[0.0],
        duration=100.0,
        dt=0.1,
        number=40,
        seed=1,
        measures=("ise",),
        parameters={"m": 1.0, "kp": choice([4.0, 4000.0]), "kd": 0.0},
    )
    stiff = batch.parameters()["kp"] == 4000
    assert 0 < stiff.sum() < 40 and np.array_equal(~batch.ok, stiff) and ((batch.status == "diverged") == stiff).all()
    assert batch.summary("ise")["count"] == 40 - stiff.sum() and np.isfinite(batch.summary("ise")["mean"])
    first = batch.failures[0]
    assert first.state == "v" and 0 < first.time < 100 and first.parameters["kp"] == 4000
    words = f"run {first.index} diverged at t = {first.time:.6g} s; v was largest by then; the fastest pole"
    assert words in str(batch.table()) and "-63.2 1/s" in str(batch.table())
    assert np.isnan(batch.last[stiff, :2]).all() and np.isfinite(batch.last[~stiff]).all()


def test_divergence_is_told_at_once():
    """Half of the rollouts have a pole that the step is too long for: count, first time and a step that does."""
    words = {"reference": [0.0], "duration": 20.0, "dt": 0.01}
    stiff = {"parameters": {"m": 1.0, "kp": 100.0, "kd": [1.0, 1000.0, 1.0, 1000.0]}}
    with pytest.warns(dl.DivergenceWarning, match=r"^2 of 4 runs diverged, run 1 .*dt=0\.002"):
        batch = rollouts(MASS, PD, [1.0], **stiff, **words)
    assert np.array_equal(batch.diverged_at >= 0, [False, True, False, True])
    assert "2 of 4 runs diverged" in repr(batch) and "-1e+03 1/s" in repr(batch) and len(repr(batch)) < 300
    at_once = rollouts(MASS, PD, [1.0], **stiff, **{**words, "dt": 0.002})
    assert not at_once.divergence and "none diverged" in repr(at_once)
    with pytest.warns(dl.DivergenceWarning, match="2 of 4"):
        found = rollout_gradient(MASS, PD, [1.0], loss="ise", of="kp", **stiff, **words)
    assert "2 diverged" in repr(found) and len(repr(found)) < 200


# ------------------------------------------------------------------------------------------------------------- grids
def test_a_grid_finds_the_least(tmp_path):
    """∫e² dt = (kp + kd²)/(2 kp kd) from rest, least at kd = √kp."""
    kp, kd = [1.0, 4.0], np.linspace(0.5, 4.0, 8)
    e = Experiment(MASS, PD, reference=[1.0], inputs=dl.Inputs(parameters={"m": 1.0}), dt=0.02, measures=("ise", "iae"))
    batch = e.batch(vary=dl.grid(kp=kp, kd=kd), q0=[0.0], duration=60.0)
    kp, kd = np.meshgrid(kp, kd, indexing="ij")
    assert batch["ise"].reshape(batch.shape) == pytest.approx((kp + kd**2) / (2 * kp * kd), rel=1e-5)
    (best,) = batch.best()
    assert (kp.flat[best], kd.flat[best]) == (4.0, 2.0) and len(batch.table().rows) == 16
    assert batch.table().rows[0][:3] == (0, 1.0, 0.5) and "kp" in batch.table().columns
    batch.save(tmp_path / "grid.csv")
    table = np.genfromtxt(tmp_path / "grid.csv", delimiter=",", names=True)
    assert np.array_equal(table["ise"], batch["ise"]) and table["ok"].all() and np.array_equal(table["kd"], kd.ravel())
    batch.save(tmp_path / "grid.npz")
    with np.load(tmp_path / "grid.npz") as file:
        assert np.array_equal(file["last"], batch.last) and np.array_equal(file["ise"], batch["ise"])
    with pytest.raises(InputError, match=".csv or .npz"):
        batch.save(tmp_path / "grid.txt")


def test_a_grid_over_starts():
    e = Experiment(MASS, PD, reference=[0.0], inputs=dl.Inputs(parameters={"m": 1.0}), dt=1e-2, measures="ise")
    batch = e.batch(vary=dl.grid(kp=[4.0, 4.0, 9.0], q0=[[0.5], [1.0]]), duration=2.0)
    values = batch["ise"].reshape(batch.shape)
    assert values.shape == (3, 2) and np.array_equal(values[0], values[1]) and not np.array_equal(values[0], values[2])
    assert values[0, 1] == pytest.approx(4 * values[0, 0])


def test_pictures():
    pytest.importorskip("matplotlib").use("Agg")
    e = Experiment(MASS, PD, reference=[1.0], inputs=dl.Inputs(parameters={"m": 1.0}), dt=1e-2, measures="ise")
    line = e.batch(vary=dl.grid(kp=[1.0, 2.0]), q0=[0.0], duration=1.0).plot()
    heat = e.batch(vary=dl.grid(kp=[1.0, 2.0], kd=[1.0, 2.0, 3.0]), q0=[0.0], duration=1.0).plot()
    assert line.axes[0].get_xlabel() == "kp" and line.axes[0].get_ylabel() == "ise"
    assert [a.get_ylabel() for a in heat.axes] == ["kd", "ise"]
    drawn = e.batch(q0=uniform([0.0], [1.0]), count=20, seed=0, duration=1.0)
    assert drawn.plot().axes[0].get_xlabel() == "ise"
    import matplotlib.pyplot as plt

    plt.close("all")


# -------------------------------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"q0": np.zeros((3, 2))}, "`q0` must have shape (B, 1) or (1,)"),
        ({"q0": [np.nan]}, "q0[0] is nan; it must be a finite number"),
        ({"q0": None}, "give q0, where the runs begin"),
        ({"q0": np.zeros((0, 1))}, "q0 is empty: there is no run"),
        ({"x0": [0.0, 0.0]}, "x0 is the whole state: give it, or q0 and qd0"),
        ({"q0": np.zeros((3, 1)), "parameters": {"m": np.ones(4)}}, "`q0` has values for 3 runs, but `m` for 4"),
        ({"parameters": {"mass": 1.0}}, "unknown parameter of 'mass' 'mass'"),
        ({"parameters": {"m": np.ones((2, 99))}}, "(B or 1, 1000) with one number per step"),
        ({"parameters": {"m": np.ones((2, 3, 4))}}, "(B,), or (B or 1, 1000)"),
        ({"parameters": {"m": uniform(1, 2)}}, "`count` must be the number of runs"),
        ({"parameters": {"m": uniform([1, 1], [2, 2])}, "number": 3}, "`m` must have shape () or (1,)"),
        ({"disturbances": {"m": 1.0}, "parameters": {}}, None),
        ({"disturbances": {"torque": 1.0}}, "unknown name in 'disturbance' of 'mass' 'torque'"),
        ({"reference": None}, "'PD' follows x_d, v_d: give reference="),
        ({"controller": "PD"}, "a controller has law(), or is a function of (t, q, qd) or (t, x); got str"),
        ({"controller": None}, "a reference is what a controller follows, and there is none"),
        ({"duration": 0.0}, "duration is 0.0; it must be greater than 0 [s]"),
        ({"dt": math.inf}, "dt is inf; it must be a finite number [s]"),
        ({"method": "rk5"}, "unknown method 'rk5'"),
        ({"every": 0, "keep": "all"}, "every must be a whole number, at least 1; got 0"),
        ({"keep": "everything"}, "unknown state or output to keep 'everything'"),
        ({"keep": ()}, "keep names nothing"),
        ({"seed": 3}, "seed is that of what is drawn, and nothing is"),
        ({"error": {"x": 1.0}, "measures": "peak_torque"}, "error= says what measures of errors compare, and none is"),
        ({"measures": "isse"}, "unknown measure 'isse'; did you mean"),
        ({"error": {"y": 1.0}, "measures": "ise"}, "unknown state of 'mass under PD' 'y'"),
        ({"error": [1.0], "measures": "ise"}, "error says which state should be what: {'joint1': 'joint1_d'}"),
        ({"error": {"x": [1.0]}, "measures": "ise"}, "error of 'x' must be against an output or a number, got [1.0]"),
        ({"error": {"x": "x_e"}, "measures": "ise"}, "unknown output of 'mass under PD' 'x_e'; did you mean 'x_d'"),
        ({"reference": [[1.0]]}, "a set point is a list of numbers, got shape (1, 1)"),
        ({"reference": "home"}, "reference must be a Reference, a function of t, or finite numbers to rest at"),
        ({"controller": None, "reference": None, "measures": "ise"}, "ise measures errors, and of 'mass' it is"),
        ({"controller": None, "reference": None, "measures": "effort"}, "a controller puts out, and there is none"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"number": 0}, "count must be a whole number, at least 1; got 0"),
        ({"chunk": 0}, "chunk must be a whole number, at least 1; got 0"),
        ({"threads": 0}, "threads must be a positive number or 'all', got 0"),
        ({"file": "x.npy"}, "file= is for what is kept of all times, and keep='final' keeps none"),
        ({"file": "x.csv", "keep": "all"}, "file must be a .npy, got 'x.csv'"),
        ({"file": "nowhere/x.npy", "keep": "all"}, "the folder 'nowhere' of file does not exist"),
        ({"scheduler": "here"}, "on is 'local', an address like 'tcp://host:8786', or a client; got 'here'"),
        ({"payload": (0, 0, 0)}, "payload= is for a Robot without sticking joints, not for a Flow"),
    ],
)
def test_bad_input(change, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"system": MASS, "controller": PD, "q0": [0.0], **STEP, **change}
    if words is None:  # an input that the law does not drive is not added to anything: it is what is given
        assert np.isfinite(rollouts(**given).last).all()
        return
    with pytest.raises((InputError, UnknownNameError)) as error:
        rollouts(**given)
    assert words in str(error.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: uniform(2, 1), "low of uniform must not be above high"),
        (lambda: uniform([1, 2], [1, 2, 3]), "low and high of uniform have 2 and 3 numbers"),
        (lambda: normal(0, -1), "std of normal must not be negative"),
        (lambda: normal("a", 1), "mean of normal must be a finite number or any finite numbers, got 'a'"),
        (lambda: log_uniform(0, 1), "log_uniform needs 0 < low ≤ high"),
        (lambda: choice([]), "values of choice must be a finite number or a list of them"),
        (lambda: Noise(-1.0), "std of Noise is -1.0; it must not be less than 0"),
        (lambda: dl.grid(), "names with values"),
        (lambda: dl.grid(kp=1.0), "a list of at least one value"),
        (lambda: dl.grid(kp=["a"]), "the grid of 'kp' must be"),
    ],
)
def test_bad_distributions_and_grids(make, words):
    with pytest.raises((InputError, UnknownNameError)) as error:
        make()
    assert words in str(error.value)


def test_what_does_not_fit_is_said_before_it_is_allocated(monkeypatch, tmp_path):
    module = importlib.import_module("dalembert.simulation.batch")
    monkeypatch.setattr(module, "free_memory", lambda: 10**6)
    words = r"100 runs × 1001 rows × 5 numbers needs 4.01 MB, and 1 MB of memory are free"
    with pytest.raises(InputError, match=words):
        rollouts(MASS, PD, uniform([0.0], [1.0]), number=100, keep="all", **STEP)
    path = tmp_path / "x.npy"
    rollouts(MASS, PD, uniform([0.0], [1.0]), number=100, keep="all", file=path, **STEP)  # on disk it does
    assert path.stat().st_size > 4e6
    path.unlink()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(InputError, match=r"x.npy' cannot be written: the disk has no room for 4 MB"):
        rollouts(MASS, PD, uniform([0.0], [1.0]), number=100, keep="all", file=path, **STEP)
    assert not list(tmp_path.iterdir())
