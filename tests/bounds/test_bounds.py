"""Certified bounds: never contradicted, near to what is attained, exact where the textbook is, honest where not."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dalembert as dl
from dalembert.bounds import QUANTITIES
from dalembert.bounds.symbolic import symbolic_bounds
from dalembert.control.robust import Uncertainty
from dalembert.errors import InputError, UnknownNameError

RIGHT = math.pi / 2


def seed_004(m1: float = 2.0, m2: float = 1.5, L1: float = 1.0, L2: float = 0.7) -> dl.Robot:
    """Two links with their masses at the ends."""
    rows = [dl.describe.DHRow(a=L, inertial=dl.describe.Inertial(m, (0.0,) * 6)) for L, m in ((L1, m1), (L2, m2))]
    return dl.Robot.from_dh(rows, gravity=(0.0, -9.81, 0.0))


def states(robot: dl.Robot, bounds: dl.Findings, count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(bounds.facts.lower, bounds.facts.upper, (count, robot.n))


def never_contradicted(robot: dl.Robot, found: dl.Findings, count: int = 100_000) -> None:
    q = states(robot, found, count, 1)
    qd = np.random.default_rng(2).normal(size=q.shape)
    qd[: count // 2] *= np.random.default_rng(3).random((count // 2, robot.n)) < 0.4
    qd[np.abs(qd).sum(axis=1) == 0] = 1.0
    for b in found:
        quantity = next(x for x in QUANTITIES if x.name == b.name)
        value = quantity.met(robot, np.concatenate([q, qd], axis=1) if quantity.speeds else q)
        # rounding of what is met: eigenvalues of NumPy's, to n ulp of the largest
        slack = 1e-12 * abs(b.attained)
        if b.side == "upper":
            assert value.max() <= b.certified + slack, b.symbol
            assert b.attained <= b.certified + slack, b.symbol
        else:
            assert value.min() >= b.certified - slack, b.symbol
            assert b.attained >= b.certified - slack, b.symbol


# [Fakhari 2]


def test_the_planar_2r_of_seed_004_as_formulas() -> None:
    arm = dl.load("planar-2r-points")
    e = arm.equations()
    found = symbolic_bounds(e, (-RIGHT, RIGHT))
    ring = e.M[0][0].ring
    m1, m2, l1, r1, r2, g = (ring[x] for x in ("m1", "m2", "l1", "r1", "r2", "g"))
    # with r1 = l1 and r2 = l2, the notes' own: the masses are at the ends
    least = m1 * r1 * r1 + m2 * l1 * l1 + 2 * m2 * r2 * r2
    assert found.mass_norm_least == (least,)
    assert found.mass_norm == (least + 3 * m2 * l1 * r2,)
    assert found.coriolis_1 == (m2 * l1 * r2,)
    assert found.coriolis_2 == (4 * m2 * l1 * r2,)
    assert found.gravity_1 == (m1 * g * r1 + m2 * g * l1 + 2 * m2 * g * r2,)


def test_the_planar_2r_of_seed_004_in_numbers() -> None:
    m1, m2, L1, L2, g = 2.0, 1.5, 1.0, 0.7, 9.81
    arm = seed_004(m1, m2, L1, L2)
    found = arm.bounds(limits=(-RIGHT, RIGHT), gap=0.01, seconds=1e6)
    least = (m1 + m2) * L1**2 + 2 * m2 * L2**2
    assert found["mass_norm_least"].attained == pytest.approx(least, rel=1e-9)
    assert found["mass_norm"].attained == pytest.approx(least + 3 * m2 * L1 * L2, rel=1e-6)
    assert found["coriolis_1"].attained == pytest.approx(m2 * L1 * L2, rel=1e-6)
    assert found["gravity_1"].attained == pytest.approx((m1 + m2) * g * L1 + 2 * m2 * g * L2, rel=1e-6)
    # the tight value in the 2-norm: max over unit x of ‖(−2 x₁x₂ − x₂², x₁²)‖, on a fine circle
    t = np.linspace(0, math.pi, 100_001)
    tight = np.hypot(2 * np.cos(t) * np.sin(t) + np.sin(t) ** 2, np.cos(t) ** 2).max() * m2 * L1 * L2
    assert found["coriolis_2"].attained == pytest.approx(tight, rel=1e-6)
    assert tight < 4 * m2 * L1 * L2  # the notes' n² max|Γ|
    for b in found:
        assert b.gap <= 0.01 + 1e-9, b.symbol
    never_contradicted(arm, found)


# the robots


@pytest.mark.parametrize("name", ["planar-2r", "scara", "elbow-3r", "puma560", "rp", "planar-3r"])
def test_small_arms_to_five_per_cent(name: str) -> None:
    arm = dl.load(name)
    names = ["mu1", "mu2", "gravity_1", "gravity_2", "coriolis_1", "mass_norm"]
    names += ["coriolis_2"] if arm.n < 6 else []  # Puma's takes seconds: benchmarks/bounds.py
    found = arm.bounds(names, gap=0.05, seconds=1e6)
    for b in found:
        assert b.proved and b.gap <= 0.05 + 1e-9, f"{b.symbol}: {b.gap:.1%}"
        assert b.boxes or b.method != "branch and bound"
    never_contradicted(arm, found, 20_000)


def test_what_is_attained_is_attained() -> None:
    arm = dl.load("elbow-3r")
    for b in arm.bounds(gap=0.1, seconds=1e6):
        quantity = next(x for x in QUANTITIES if x.name == b.name)
        state = b.q if b.qd is None else np.concatenate([b.q, b.qd])
        assert quantity.met(arm, state) == pytest.approx(b.attained, rel=1e-12)


def test_a_redundant_arm_says_what_it_could_not_certify() -> None:
    arm = dl.load("panda")
    found = arm.bounds(["gravity_2"], gap=0.1, seconds=1e6)
    assert found["gravity_2"].gap <= 0.1 + 1e-9
    never_contradicted(arm, found, 20_000)
    found = arm.bounds(["mu1"], gap=0.1, seconds=1e-3)  # no time to prove anything of it
    assert found["mu1"].verdict(0.1) == "not certified" and "not certified" in str(found)
    assert found["mu1"].attained == pytest.approx(np.linalg.eigvalsh(arm.mass_matrix(found["mu1"].q))[0], rel=1e-9)


def test_rotors_bound_the_lowest_eigenvalue_at_once() -> None:
    arm = dl.load("stanford")
    at_once = arm.bounds(["mu1"], seconds=1e-9, gap=9.0)["mu1"]
    assert at_once.method in ("lengths", "rotor inertia")
    b = arm.bounds(["mu1"], gap=0.05, seconds=1e6)["mu1"]
    assert b.certified >= min(body.rotor_inertia for body in arm.model.bodies) * (1 - 1e-9)


# slides


def test_without_limits_what_has_no_bound_has_none_and_the_rest_survives() -> None:
    arm = dl.load("rp")
    names = ["mu1", "mu2", "mass_norm_least", "gravity_1", "coriolis_1"]
    found = arm.bounds(names, limits=((-4, -np.inf), (4, np.inf)))
    for name in ("mu2", "gravity_1", "coriolis_1"):
        assert found[name].verdict(0.05) == "no bound" and "no limits" in found[name].stopped
    rng = np.random.default_rng(0)
    q = np.stack([rng.uniform(-4, 4, 100_000), 3 * rng.standard_cauchy(100_000)], axis=1)
    M = arm.mass_matrix(q)
    assert np.linalg.eigvalsh(M)[:, 0].min() >= found["mu1"].certified > 0.9 * found["mu1"].attained
    assert np.abs(M).sum(axis=1).max(axis=1).min() >= found["mass_norm_least"].certified > 0


def test_one_end_of_a_slide_may_be_open() -> None:
    found = dl.load("rp").bounds(["mu1"], limits=((-4, 0.5), (4, np.inf)))
    assert found["mu1"].certified == pytest.approx(1.0, rel=0.06)


def test_a_cartesian_arm_needs_no_limits() -> None:
    found = dl.load("cartesian-pp").bounds(limits=(-np.inf, np.inf), seconds=1e6)
    for b in found:
        assert b.proved or b.attained == 0, b.symbol
        assert b.gap <= 0.05 + 1e-9


def test_mimic_joints_with_any_factor() -> None:
    """x₂ = 0.37 q₁ + 0.2: no trigonometric polynomial of q₁, but one of the joints."""
    arm = dl.load("planar-2r")
    joints = arm.description.joints
    from dataclasses import replace

    follower = replace(joints[1], mimic=dl.describe.Mimic(joints[0].name, 0.37, 0.2))
    mimic = dl.Robot(replace(arm.description, joints=(joints[0], follower, *joints[2:])))
    assert mimic.n == 1
    found = mimic.bounds(gap=0.05, seconds=1e6)
    never_contradicted(mimic, found)
    assert found["mu2"].gap <= 0.05 + 1e-9


def test_many_joints_by_lengths() -> None:
    body = dl.describe.Inertial(1.0, (0.01, 0.0, 0.0, 0.02, 0.0, 0.02), dl.describe.Origin((-0.1, 0.02, 0.03)))
    arm = dl.Robot.from_dh([dl.describe.DHRow(a=0.3, alpha=0.4 if i % 2 else -0.3, inertial=body) for i in range(12)])
    found = arm.bounds(["mu2", "gravity_1", "coriolis_1"], seconds=1e6)
    assert found["mu2"].method == "lengths" and found["mu2"].proved
    assert not found["coriolis_1"].proved and found["coriolis_1"].verdict(0.05) == "not certified"
    never_contradicted(arm, found, 5_000)


# a check that can fail


def test_a_threshold_below_what_is_met_is_never_proved() -> None:
    from functools import partial

    from dalembert.bounds.branch import prove
    from dalembert.bounds.functions import Box, Joints, entries
    from dalembert.bounds.quantities import compile_test
    from dalembert.bounds.taylor import family
    from dalembert.model.lean import lean

    arm = dl.load("elbow-3r")
    model = lean(arm.model)
    box = Box.of(model)
    for quantity in QUANTITIES:
        found = family(partial(entries, quantity.function, model), Joints.of(model), box)
        assert found is not None
        b = arm.bounds([quantity.name], gap=0.2, seconds=1e6)[quantity.name]
        functions, middle, radius, _ = quantity.tests(found, b.attained)
        threshold = quantity.sign * b.attained * (1 - 1e-4 * quantity.sign)
        tests = [compile_test(f, middle.shape[1], "x") for f in functions]
        outcome = prove(tests, [(middle, radius)], threshold, math.inf)
        assert not outcome.proved, quantity.name


def light_hand() -> dl.Robot:
    """Three links of which the last one hardly counts: its equation is left to the rest of the others'."""
    rows = [
        dl.describe.DHRow(a=L, inertial=dl.describe.Inertial(m, (0.0,) * 6))
        for L, m in ((2.0, 5.0), (1.4, 4.0), (0.3, 0.05))
    ]
    return dl.Robot.from_dh(rows, gravity=(0.0, -9.81, 0.0))


@pytest.mark.parametrize("quantity", QUANTITIES, ids=lambda q: q.name)
def test_a_search_that_missed_the_extreme_proves_nothing_wrong(quantity) -> None:
    """A climb that is told of too small an extreme: its thresholds are not proved, and it learns of the larger one."""
    from functools import partial

    from dalembert.bounds.certify import Climb, climb_all
    from dalembert.bounds.functions import Box, Joints, entries
    from dalembert.bounds.taylor import family
    from dalembert.model.lean import lean

    arm = light_hand()
    model = lean(arm.model)
    box = Box.of(model)
    made = family(partial(entries, quantity.function, model), Joints.of(model), box)
    assert made is not None
    b = arm.bounds([quantity.name], gap=0.2, seconds=1e6)[quantity.name]
    missed = b.attained * (1 - 0.1 * quantity.sign)
    climb = Climb(arm, quantity, made, 0.01, (missed, box.middle))
    if quantity.name == "coriolis_2":
        assert climb.rest > 0 and b.attained > 1
    climb_all([climb], math.inf)
    assert climb.done and climb.proved * quantity.sign >= b.attained * quantity.sign * (1 - 1e-9 * quantity.sign)
    if quantity.name in ("mass_norm", "mass_norm_least", "gravity_1", "gravity_2", "gravity_inf"):
        assert climb.best == pytest.approx(b.attained, rel=0.02)


def test_enclosures_hold_on_random_boxes() -> None:
    """Every bound over a small box is at least the value at random points of it."""
    from functools import partial

    from dalembert.bounds.functions import Box, Joints, entries
    from dalembert.bounds.quantities import compile_test
    from dalembert.bounds.taylor import family
    from dalembert.model.lean import lean

    arm = dl.load("puma560")
    model, rng = lean(arm.model), np.random.default_rng(4)
    box = Box.of(model)
    families = {name: family(partial(entries, name, model), Joints.of(model), box) for name in ("mass", "gravity")}
    for quantity in QUANTITIES:
        if quantity.function not in families:
            continue
        found = families[quantity.function]
        assert found is not None
        functions, *_ = quantity.tests(found, 1.0)
        m, r = rng.uniform(box.lower, box.upper, (400, arm.n)), rng.uniform(0, 1.0, (400, arm.n)) ** 2
        m[200:] = np.round(m[200:] / RIGHT) * RIGHT  # where slopes vanish and only second derivatives are left
        q = m[:, None] + r[:, None] * np.clip(rng.uniform(-2, 2, (400, 50, arm.n)), -1, 1)  # corners too
        value = quantity.sign * quantity.met(arm, q)
        for function in functions:
            test = compile_test(function, arm.n, "x")
            bound, _, _ = test(m, r, 0.0)
            assert (bound >= value.max(axis=1) - 1e-12)[np.isfinite(bound)].all(), quantity.name
            for t in quantity.sign * np.linspace(0.05, 8.0, 25):
                bound, _, _ = test(m, r, float(t))
                done = bound <= t  # what it claims: nothing in the box is above t
                assert (value[done].max(initial=-np.inf)) <= t + 1e-12, quantity.name


# gains


def test_gains_from_bounds() -> None:
    arm = dl.load("puma560")
    uncertainty = Uncertainty.prove(arm, gap=0.2, seconds=1e6)
    assert uncertainty.certified and uncertainty.inertia[0] > 0
    q = arm.random_configuration(2000, seed=5)
    assert np.linalg.norm(arm.gravity_torque(q), axis=1).max() <= uncertainty.gravity
    law = dl.control.RobustControl(arm, uncertainty, kd=20.0, rate=5.0, model=False)
    assert all("samples" not in c.why for c in law.conditions())


def test_stiffness_against_gravity_is_proved_sharper() -> None:
    arm = dl.load("stanford")
    law = dl.control.PD(arm, kp=85.0, kd=1.0)  # 70.5 N m/rad is met, and twice that is proved by lengths alone
    first = str(law.conditions())
    before = next(c for c in law.conditions() if "positive definite for every q" in c.statement)
    proved = arm.bounds(["gravity_slope"])
    after = next(c for c in law.conditions(proved) if "positive definite for every q" in c.statement)
    assert before.verdict != "holds" and after.verdict == "holds"
    assert str(law.conditions()) == first  # asking for bounds leaves nothing behind
    with pytest.raises(InputError, match="these are no bounds of 'stanford' within its joints' limits"):
        law.conditions(arm.bounds(["gravity_slope"], limits=(-0.1, 0.1)))


# bad input


def test_bad_input() -> None:
    arm = dl.load("planar-2r")
    with pytest.raises(UnknownNameError, match="unknown bound 'mu3'; did you mean"):
        arm.bounds(["mu3"])
    with pytest.raises(InputError, match="limits must be"):
        arm.bounds(limits=(1, 2, 3))
    with pytest.raises(InputError, match="is not below the upper one"):
        arm.bounds(limits=(1.0, -1.0))
    with pytest.raises(InputError, match="gap must be a number"):
        arm.bounds(gap=-1)
    with pytest.raises(InputError, match="multiples of π/2"):
        symbolic_bounds(arm.equations(), (-1.0, 1.0))
    with pytest.raises(InputError, match="sign of"):
        symbolic_bounds(dl.load("elbow-3r").equations())


# what a referee broke


def lead_screw(limit: str, multiplier: float = 0.02) -> dl.Robot:
    return dl.Robot(
        urdf(
            f"""<robot name="screw"><link name="base"/>
            <link name="l1"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
              <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
            <link name="l2"><inertial><mass value="2"/>
              <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
            <joint name="a" type="{"revolute" if limit else "continuous"}"><parent link="base"/><child link="l1"/>
              <axis xyz="0 1 0"/>{limit}</joint>
            <joint name="m" type="prismatic"><parent link="l1"/><child link="l2"/><axis xyz="1 0 0"/>
              <limit lower="-100000" upper="100000" effort="1" velocity="1"/>
              <mimic joint="a" multiplier="{multiplier}"/></joint></robot>"""
        )
    )


def urdf(text: str):
    from dalembert.describe.urdf_read import read_urdf

    return read_urdf(text)


def test_a_slide_that_follows_a_turning_joint_beyond_one_turn() -> None:
    arm = lead_screw('<limit lower="-62.8" upper="62.8" effort="1" velocity="1"/>')
    found = arm.bounds(["mu2", "gravity_2", "coriolis_2"], gap=0.05, seconds=1e6)
    never_contradicted(arm, found)
    assert found["mu2"].certified > np.linalg.eigvalsh(arm.mass_matrix([62.8]))[-1]


def test_followers_at_half_the_rate_need_two_turns() -> None:
    arm = dl.load("planar-2r")
    from dataclasses import replace

    joints = arm.description.joints
    follower = replace(joints[1], mimic=dl.describe.Mimic(joints[0].name, 0.5, 0.0))
    half = dl.Robot(replace(arm.description, joints=(joints[0], follower, *joints[2:])))
    found = half.bounds(["mu1", "mu2", "gravity_2"], gap=0.05, seconds=1e6)
    q = np.linspace(-50, 50, 20_001)[:, None]
    M = half.mass_matrix(q)[:, 0, 0]
    assert M.max() <= found["mu2"].certified and M.min() >= found["mu1"].certified
    assert np.abs(half.gravity_torque(q)).max() <= found["gravity_2"].certified


def test_a_slide_without_limits_whose_values_happen_to_agree() -> None:
    """λ_max is that of a heavy vertical slide near the origin, and of the arm far away."""
    text = """<robot name="r"><link name="base"/>
      <link name="v"><inertial><mass value="100"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="t"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="s"><inertial><mass value="1"/>
        <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="lift" type="prismatic"><parent link="base"/><child link="v"/><axis xyz="0 0 1"/>
        <limit lower="0" upper="1" effort="1" velocity="1"/></joint>
      <joint name="turn" type="continuous"><parent link="v"/><child link="t"/><axis xyz="0 0 1"/></joint>
      <joint name="out" type="prismatic"><parent link="t"/><child link="s"/><axis xyz="1 0 0"/>
        <limit lower="0" upper="1" effort="1" velocity="1"/></joint></robot>"""
    arm = dl.Robot(urdf(text))
    found = arm.bounds(["mu2", "mu1"], limits=((0, -4, -np.inf), (1, 4, np.inf)))
    assert found["mu2"].verdict(0.05) == "no bound"
    assert found["mu1"].proved


def test_half_open_slides_are_searched_where_they_are() -> None:
    arm = dl.load("rp")
    for low, high, least in ((5.0, np.inf, 1.0), (-np.inf, -3.0, 1.0), (0.3, np.inf, 0.7575 + 0.09)):
        b = arm.bounds(["mu1"], limits=((-3, low), (3, high)))["mu1"]
        assert low <= b.q[1] <= high
        assert b.attained == pytest.approx(least, rel=1e-6)
        assert b.certified == pytest.approx(least, rel=0.051) and b.certified <= b.attained


def test_formulas_are_refused_where_sizes_depend_on_the_parameters() -> None:
    with pytest.raises(InputError, match="there is no formula"):
        symbolic_bounds(dl.load("planar-2r-points").equations(), ((0.0, RIGHT), (RIGHT, math.pi)))


def test_inertias_that_no_body_has() -> None:
    from dataclasses import replace

    arm = dl.load("planar-2r")
    links = tuple(
        replace(x, inertial=replace(x.inertial, inertia=(-5.0, 0.0, 0.0, -5.0, 0.0, -5.0))) if x.name == "link2" else x
        for x in arm.description.links
    )
    odd = dl.Robot(replace(arm.description, links=links))
    found = odd.bounds(["mu1", "mu2", "mass_norm"], seconds=1e6)
    never_contradicted(odd, replace(found, rows=tuple(b for b in found if b.proved)))
    assert not found["mu1"].proved


def test_what_cancels_is_not_certified_to_be_nothing() -> None:
    body = [
        dl.describe.Inertial(0.131, (0.0,) * 6, dl.describe.Origin((-23.03, 0.0, 0.0))),
        dl.describe.Inertial(1.645, (0.0,) * 6),
    ]
    arm = dl.Robot.from_dh(
        [dl.describe.DHRow(a=1.834, inertial=body[0]), dl.describe.DHRow(a=0.5, inertial=body[1])],
        gravity=(0.0, -9.81, 0.0),
    )
    found = arm.bounds(["gravity_1", "coriolis_1"], seconds=1e6)
    assert found["gravity_1"].certified > 0 and found["coriolis_1"].certified > 0


def test_more_bad_input() -> None:
    arm = dl.load("rp")
    for options, words in (
        ({"gap": "x"}, "gap must be a number"),
        ({"seconds": None}, "seconds must be a number"),
        ({"seed": "x"}, "seed must be a whole number"),
        ({"quantities": 5}, "quantities must be a list"),
        ({"limits": (1e15, 1e15 + 2)}, "out of reach"),
        ({"limits": (math.inf, math.inf)}, "out of reach"),
        ({"limits": (math.nan, 1.0)}, "not a number"),
    ):
        with pytest.raises(InputError, match=words):
            arm.bounds(**options)
    with pytest.raises(InputError, match="Uncertainty.prove"):
        Uncertainty.prove(3)


def test_a_follower_that_never_comes_back() -> None:
    """√2 is no fraction: there is no period, so the bounds hold within 1000 rad, and a note says so."""
    from dataclasses import replace

    arm = dl.load("planar-2r")
    joints = arm.description.joints
    follower = replace(joints[1], mimic=dl.describe.Mimic(joints[0].name, math.sqrt(2.0), 0.0))
    odd = dl.Robot(replace(arm.description, joints=(joints[0], follower, *joints[2:])))
    found = odd.bounds(["mu2", "gravity_2"], gap=0.05, seconds=1e6)
    assert found.facts.upper[0] == 1000.0 and "1000 rad" in found.remarks[0]
    never_contradicted(odd, found)


def test_slopes_of_gravity_that_are_all_negative() -> None:
    """∂g/∂q is negative definite between 0.5 and 1 rad: its norm is that of the lowest eigenvalue."""
    found = seed_004().bounds(["gravity_slope"], limits=((0.5, 0.0), (1.0, 0.2)), gap=0.05, seconds=1e6)
    assert found["gravity_slope"].proved and found["gravity_slope"].gap <= 0.05 + 1e-9
    never_contradicted(seed_004(), found)


def test_limits_may_be_a_million_and_no_more() -> None:
    arm = dl.load("rp")
    assert arm.bounds(["mu1"], limits=(-1e6, 1e6), seconds=1e-9)
    with pytest.raises(InputError, match="out of reach"):
        arm.bounds(["mu1"], limits=(-1e6, 1.1e6))


def test_open_loops_are_mentioned() -> None:
    found = dl.load("four-bar").bounds(["mu2"], seconds=1e-9)
    assert any("loops" in note for note in found.remarks) and found.facts.gap == 0.05
    assert not any("loops" in note for note in dl.load("rp").bounds(["mu2"], seconds=1e-9).remarks)


@pytest.mark.parametrize(
    ("mass", "moment", "inertia", "least"),
    [
        (1.0, (0.0, 0.0, 0.0), 0.5, 0.25),
        (-1.0, (0.0, 0.0, 0.0), 0.5, 0.0),
        (0.0, (0.1, 0.0, 0.0), 0.5, 0.0),
        (0.0, (0.0, 0.0, 0.0), 0.5, 0.25),
    ],
)
def test_rotors_say_nothing_of_masses_that_no_body_has(mass, moment, inertia, least: float) -> None:
    """As a fit may return them: a negative mass, or a first moment without a mass."""
    from dataclasses import replace

    from dalembert.bounds.lengths import least_rotor
    from dalembert.spatial import Inertia

    model = dl.load("planar-2r").model
    own = Inertia(mass, moment, [[inertia * (i == j) for j in range(3)] for i in range(3)])
    odd = replace(model, bodies=tuple(replace(b, inertia=own, rotor_inertia=0.25) for b in model.bodies))
    assert least_rotor(odd) == pytest.approx(least, rel=1e-9)


def test_rotors_say_nothing_of_inertias_that_no_body_has() -> None:
    """λ_min(M) is at least the rotor's inertia only if the links add nothing negative."""
    from dataclasses import replace

    from dalembert.bounds.lengths import least_rotor

    arm = dl.load("planar-2r")
    for lowest, least in ((0.5, 0.25), (-0.1, 0.0)):
        inertial = dl.describe.Inertial(1.0, (lowest, 0.0, 0.0, 1.0, 0.0, 1.0))
        links = tuple(replace(x, inertial=inertial) if x.inertial else x for x in arm.description.links)
        joints = tuple(
            replace(x, drive=replace(x.drive, rotor_inertia=0.25)) if x.kind != "fixed" else x
            for x in arm.description.joints
        )
        odd = dl.Robot(replace(arm.description, links=links, joints=joints))
        assert least_rotor(odd.model) == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("mass", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("quantity", QUANTITIES, ids=lambda q: q.name)
def test_what_is_proved_at_once_holds(quantity, mass: float) -> None:
    """The first bound of each climb, from the largest values of the entries alone, also for light arms."""
    from functools import partial

    from dalembert.bounds.functions import Box, Joints, entries
    from dalembert.bounds.taylor import family
    from dalembert.model.lean import lean

    arm = seed_004(2.0 * mass, 1.5 * mass)
    model = lean(arm.model)
    box = Box.of(model)
    made = family(partial(entries, quantity.function, model), Joints.of(model), box)
    assert made is not None
    states = np.random.default_rng(0).uniform(-1, 1, (2000, 4)) * [np.pi, np.pi, 1, 1]
    met = quantity.sign * quantity.met(arm, states if quantity.speeds else states[:, :2])
    assert quantity.sign * quantity.at_once(made) >= met.max()


@pytest.mark.parametrize("kind", ["s", "c"])
def test_ranges_of_sines_in_formulas(kind: str) -> None:
    from dalembert.bounds.symbolic import _Bounder

    for first in range(-5, 5):
        for last in range(first, first + 5):
            bounder = _Bounder(dl.load("planar-2r-points").equations(), [(0, 0), (first, last)])
            bounder.groups = ((1,),)
            low, high = bounder._range((((kind, (1,)),),))
            values = [{"s": math.sin, "c": math.cos}[kind](t * RIGHT) for t in range(first, last + 1)]
            assert (float(low), float(high)) == pytest.approx((min(values), max(values)), abs=1e-12)


def test_the_columns_of_the_table_are_aligned() -> None:
    lines = str(dl.load("planar-2r").bounds(["mu2", "mass_norm"], seconds=1e-9).cells()).splitlines()[1:4]
    assert len({line.index(word) for line, word in zip(lines, ("proved", "≤", "≤"), strict=True)}) == 1


def test_why_an_endless_slide_is_not_certified_is_said() -> None:
    arm = lead_screw("")
    b = arm.bounds(["mu1", "mu2"], limits=(-math.inf, math.inf), seconds=1e6)
    assert b["mu2"].verdict(0.05) == "no bound"
    assert not b["mu1"].proved and "follow" in b["mu1"].stopped


def test_parts_of_a_slide_without_an_end_lie_within_its_limits() -> None:
    """Near: |x| ≤ 1; far: s = 1/x in [−1, 1]; both only where the slide can be."""
    from dalembert.bounds.functions import Box
    from dalembert.bounds.search import finite_parts

    model = dl.load("rp").model
    box = Box.of(model)

    def parts(low: float, high: float) -> list[tuple[float, float]]:
        whole = Box(np.array([-1.0, low]), np.array([1.0, high]), box.sliding)
        return [(float(part.lower[1]), float(part.upper[1])) for _, _, part in finite_parts(model, whole)]

    assert parts(-np.inf, np.inf) == [(-1.0, 1.0), (-1.0, 1.0)]
    assert parts(-np.inf, 0.5) == [(-1.0, 0.5), (-1.0, 0.0)]
    assert parts(0.5, np.inf) == [(0.5, 1.0), (0.0, 1.0)]
    assert parts(5.0, np.inf) == [(0.0, 1.0)]
    assert parts(-np.inf, -3.0) == [(-1.0, 0.0)]


@pytest.mark.parametrize("mass", [1e-8, 1.0, 1e8])
def test_far_away_the_scaled_matrix_is_the_scaled_matrix(mass: float) -> None:
    """D M D as a function of s = 1/x is D M(1/s) D, D = s where M grows with x²; also for light and heavy arms."""
    from dataclasses import replace

    from dalembert.bounds.functions import Box, pairs
    from dalembert.bounds.search import finite_parts
    from dalembert.model.lean import lean

    for name, slide, rows in (("rp", 1, [0]), ("stanford", 2, [0, 1])):
        arm = dl.load(name)
        links = [x for x in arm.description.links]
        for k, link in enumerate(links):
            if link.inertial:
                inertia = tuple(mass * x for x in link.inertial.inertia)
                links[k] = replace(
                    link, inertial=replace(link.inertial, mass=mass * link.inertial.mass, inertia=inertia)
                )
        joints = tuple(
            replace(x, drive=replace(x.drive, rotor_inertia=mass * x.drive.rotor_inertia))
            for x in arm.description.joints
        )
        arm = dl.Robot(replace(arm.description, links=tuple(links), joints=joints))
        model = lean(arm.model)
        box = Box.of(model)
        lower, upper = box.lower.copy(), box.upper.copy()
        lower[slide], upper[slide] = -np.inf, np.inf
        (_, _, near), (function, _, far) = finite_parts(model, Box(lower, upper, box.sliding))
        assert (near.upper[slide], far.upper[slide]) == (1.0, 1.0)
        rng = np.random.default_rng(0)
        for _ in range(20):
            q = rng.uniform(-1, 1, arm.n)
            D = np.ones(arm.n)
            D[rows] = q[slide]
            x = q.copy()
            x[slide] = 1 / q[slide]
            wanted = D[:, None] * arm.mass_matrix(x) * D
            assert np.allclose(
                function(q.tolist()), [wanted[i, j] for i, j in pairs(arm.n)], rtol=1e-9, atol=1e-12 * mass
            )


# verdicts, reasons and formulas


def test_verdicts_against_the_gap() -> None:
    """5 % above what is met is certified to 5 % and not to 4 %."""
    from dalembert.bounds.result import Bound

    def bound(certified: float, side: str = "upper") -> Bound:
        q = np.zeros(1)
        return Bound("x", "x", side, 2.0, "kg m²", certified, 2.0, q, None, "branch and bound", 1, 0.1, "")

    assert bound(2.1).verdict(0.05) == bound(2.0).verdict(0.0) == bound(1.9, "lower").verdict(0.05) == "certified"
    assert bound(2.1).verdict(0.04) == bound(1.9, "lower").verdict(0.04) == "not certified to 4%"
    assert bound(math.inf).verdict(0.05) == bound(0.0, "lower").verdict(0.05) == "not certified"


def test_why_a_climb_stopped_is_kept() -> None:
    from functools import partial

    from dalembert.bounds.certify import Climb, climb_all
    from dalembert.bounds.functions import Box, Joints, entries
    from dalembert.bounds.taylor import family
    from dalembert.model.lean import lean

    arm = dl.load("elbow-3r")
    model = lean(arm.model)
    box = Box.of(model)
    quantity = next(x for x in QUANTITIES if x.name == "mu1")
    made = family(partial(entries, "mass", model), Joints.of(model), box)
    assert made is not None
    best = arm.bounds(["mu1"], gap=0.2, seconds=1e6)["mu1"]
    climb = Climb(arm, quantity, made, 0.1, (best.attained, best.q))
    for _ in range(20):  # more than there are thresholds
        climb.step(0.0)  # long over
        if climb.stopped:
            break
    assert climb.stopped == climb.bound().stopped == "time was up"
    climb_all([climb], math.inf)
    assert climb.stopped == climb.bound().stopped == "proved"


@pytest.mark.parametrize("odd", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
def test_m_that_grows_as_no_rigid_bodys_does_has_no_tail(odd: list[float]) -> None:
    """M with x in a row that does not grow with x²."""
    from dalembert.bounds.search import NoTailError, _scaled

    def plain(x):
        return [2.0 + x[0] * x[0], 0.5 * x[0], 1.0]

    assert [float(f) for f in _scaled(plain, 0, 2)([0.5])] == pytest.approx([1.0 + 2.0 * 0.25, 0.5, 1.0])
    rows = [0.0, 0.0, 0.0] if odd[0] else [1.0, 0.0, 0.0]
    with pytest.raises(NoTailError, match="otherwise than a rigid body"):
        _scaled(
            lambda x: [
                2.0 + s * x[0] * x[0] + o * x[0] ** (1 + (k == 1))
                for k, (s, o) in enumerate(zip(rows, odd, strict=True))
            ],
            0,
            2,
        )


def test_formulas_of_which_none_is_the_largest_are_all_kept() -> None:
    from dalembert.bounds.symbolic import _largest, _sign

    ring = dl.load("planar-2r-points").equations().M[0][0].ring
    a, b = ring["m1"], ring["m2"]
    assert _largest([a + b, 2 * a]) == (a + b, 2 * a)
    assert _largest([a, a + b, b]) == _largest([a + b, a, a + b]) == (a + b,)
    assert [_sign(p) for p in (a + b, -1 * a - b, a - b, 2, -2, 0)] == [1, -1, 0, 1, -1, 0]


def test_quarter_turns_may_be_rounded() -> None:
    e = dl.load("planar-2r-points").equations()
    assert str(symbolic_bounds(e, (-1.5708, 1.5708))) == str(symbolic_bounds(e, (-RIGHT, RIGHT)))
    with pytest.raises(InputError, match="multiples of π/2"):
        symbolic_bounds(e, (-1.571, 1.5708))
