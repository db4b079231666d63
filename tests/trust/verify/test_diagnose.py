"""The cause of a difference: one fault of the table, in one part or in all, that gives the numbers at all states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dalembert.trust.verify import diagnose, faults, reread
from dalembert.trust.verify.four_by_four import FourByFour
from dalembert.trust.verify.linkage import draw_states, find_confined, scale_inertia
from trust.verify.gripper_arm import GRIPPER_ARM


@pytest.fixture(scope="module")
def arm() -> FourByFour:
    linkage = reread.of_urdf(GRIPPER_ARM)
    drawn = draw_states(linkage, 8, seed=0)
    return FourByFour(linkage, replace(drawn, tau=FourByFour(linkage, drawn).torque))


def twins() -> FourByFour:
    """Two links alike in one place: a fault of either gives the same numbers."""
    body = """<inertial><origin xyz="0.1 0.02 -0.05" rpy="0.3 0.1 -0.2"/><mass value="1.5"/>
      <inertia ixx="0.04" ixy="0.003" ixz="-0.002" iyy="0.03" iyz="0.001" izz="0.02"/></inertial>"""
    linkage = reread.of_urdf(f"""<robot name="twins"><link name="base"/><link name="one">{body}</link>
      <link name="two">{body}</link><link name="last">{body.replace("1.5", "0.7")}</link>
      <joint name="a" type="continuous"><parent link="base"/><child link="one"/><axis xyz="0 0.6 0.8"/></joint>
      <joint name="b" type="fixed"><parent link="one"/><child link="two"/></joint>
      <joint name="c" type="continuous"><parent link="two"/><child link="last"/><origin xyz="0.3 0 0.1"/>
      <axis xyz="1 0 0"/></joint></robot>""")
    drawn = draw_states(linkage, 8, seed=0)
    return FourByFour(linkage, replace(drawn, tau=FourByFour(linkage, drawn).torque))


def test_one_part_is_named_where_another_would_do_the_same():
    base, found = twins(), 0
    for fault in faults.FAULTS:
        places = [i for i in fault.candidates(base.linkage) if base.linkage.parts[i].link in ("one", "two")]
        if fault.moves or fault.whole or len(places) < 2:
            continue
        other = base.with_inertias_of(fault.plant(base.linkage, (places[1],)))
        values = {"mass_matrix": other.mass_matrix, "gravity_torque": other.gravity_torque}
        if diagnose.agrees(base, values):
            continue
        causes = diagnose.explanations(base.linkage, base.states, values)
        parts = {e.parts for e in causes if e.cause == fault.cause}
        assert parts & {("one",), ("two",)}, (fault.cause, parts)
        found += 1
    assert found >= 3


def test_a_cause_gives_all_states(arm):
    """What only the first states, by which causes are looked for, would bear out is not named."""
    linkage = arm.linkage
    states = draw_states(linkage, 40, seed=0)
    flipped = FourByFour(replace(linkage, gravity=(0.0, 0.0, 9.81)), states)
    g = flipped.gravity_torque.copy()
    assert [e.cause for e in diagnose.explanations(linkage, states, {"gravity_torque": g})] == ["gravity sign"]
    g[30] *= 1.5
    assert diagnose.explanations(linkage, states, {"gravity_torque": g}) == []


def spring(arm: FourByFour, **changed) -> FourByFour:
    sprung = {
        i: replace(p, stiffness=3.0, rest=0.4, **changed) for i, p in enumerate(arm.linkage.parts) if p.joint == "j1"
    }
    return arm.with_inertias_of(arm.linkage.with_parts(sprung))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"rest": -0.4}, "the rest of the spring of 'j1' had the opposite sign"),
        ({"stiffness": -3.0}, "the spring of 'j1' had the opposite sign"),
        ({"coulomb": (0.8, 0.0)}, "the Coulomb friction of 'j1' were there for positive velocities only"),
    ],
)
def test_springs_and_sides(arm, changed, says):
    base, other = spring(arm), spring(arm)
    part = next(i for i, p in enumerate(base.linkage.parts) if p.joint == "j1")
    wrong = base.linkage.with_parts({part: replace(base.linkage.parts[part], **changed)})
    values = {"friction_torque": other.with_inertias_of(wrong).friction_torque}
    assert says in [e.words for e in diagnose.explanations(base.linkage, base.states, values)]


def test_units_of_all_masses(arm):
    """Grams for kilograms in all links are a cause; 1.1 times the masses is not a fault of the table."""
    for factor, causes in ((1e3, {"units"}), (1.1, set())):
        changed = {i: scale_inertia(p, factor, factor) for i, p in enumerate(arm.linkage.parts)}
        other = arm.with_inertias_of(arm.linkage.with_parts(changed))
        values = {"mass": other.mass, "gravity_torque": other.gravity_torque}
        assert {e.cause for e in diagnose.explanations(arm.linkage, arm.states, values)} == causes


def test_where_a_difference_is(arm):
    """At rest, accelerated, or moving only; the words name the terms."""
    s = arm.states
    assert s.moving.any() and (~s.moving & ~s.accelerated).any() and (~s.moving & s.accelerated).any()
    for there, word in (
        (np.ones(len(s), bool), "rest"),
        (s.moving | s.accelerated, "acceleration"),
        (s.moving, "velocity"),
        (np.zeros(len(s), bool), ""),
    ):
        said = diagnose.where(s, there[:, None] * np.array([[1e-3, 0.0]]), 1e-9)
        assert word in said and bool(said) == bool(word)


def test_values_that_are_not_numbers_do_not_agree(arm):
    M = arm.mass_matrix.copy()
    assert diagnose.agrees(arm, {"mass_matrix": M})
    M[3, 1, 1] = np.nan
    assert not diagnose.agrees(arm, {"mass_matrix": M})


def test_states_where_limits_leave_no_room(arm):
    m = arm.linkage
    stuck = m.with_parts(
        {i: replace(p, lower=0.2, upper=0.2) for i, p in enumerate(m.parts) if p.joint in ("j1", "j3")}
    )
    assert find_confined(m) == () and find_confined(stuck) == ("j1", "j3")
    q = draw_states(stuck, 40, seed=1).q
    places = [m.coordinates.index(name) for name in ("j1", "j3")]
    assert (np.ptp(q[:, places], axis=0) > 1.5).all() and (np.abs(q[:, places] - 0.2) <= 1.0).all()
    vast = m.with_parts({i: replace(p, lower=-1e308, upper=1e308) for i, p in enumerate(m.parts) if p.joint == "j1"})
    assert (np.abs(draw_states(vast, 8, seed=1).q[:, 0]) <= np.pi).all() and find_confined(vast) == ()
