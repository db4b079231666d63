"""What every kind of joint must say of itself: its subspace is the rate of its pose, its share moves with it."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.linalg

from dalembert.joints import JOINTS, Joint, Planar
from dalembert.joints.joint import combine
from dalembert.scalar.jet import Jet, jet
from dalembert.spatial import Inertia, Pose, rotation
from dalembert.spatial.vector import matmul, matvec_t, skew, transpose, unskew

KINDS = sorted(set(JOINTS.values()), key=lambda kind: kind.kind)
PLACEMENT = Pose(rotation.from_rpy((0.3, -0.7, 1.1)), (0.2, -0.5, 0.4))
OBLIQUE = (2 / 7, 3 / 7, -6 / 7)
NUMBERS = (0.8, -0.3, 0.5, 0.7, -0.4, 0.9, -1.7)


def made(kind: type[Joint], axis: tuple[float, float, float] = OBLIQUE) -> Joint:
    extra = dict.fromkeys(kind.numbers, 0.13)
    return kind(axis, **extra)


@pytest.mark.parametrize("kind", KINDS)
def test_the_subspace_is_the_rate_of_the_pose(kind: type[Joint]):
    joint = made(kind)
    q, qd = joint.normalize(NUMBERS[: joint.nq]), NUMBERS[-joint.nv :]
    rates = joint.rates(q, qd)
    T = joint.pose(PLACEMENT, [Jet(x, v) for x, v in zip(q, rates, strict=True)])
    R, Rd = ([[getattr(jet(x), part) for x in row] for row in T.R] for part in ("value", "rate"))
    v = matvec_t(R, [jet(x).rate for x in T.p])
    w = unskew(matmul(transpose(R), Rd))
    S = joint.subspace(q)
    assert len(joint.units) == joint.nv == len(S) == len(joint.rate_names) == len(joint.effort_names)
    assert len(q) == joint.nq == len(joint.position_names) == len(joint.neutral)
    assert len(joint.position_units or joint.units) == joint.nq
    np.testing.assert_allclose(combine(S, qd).flat(), (*v, *w), rtol=0, atol=2e-15)
    assert joint.direct == (tuple(rates) == tuple(qd))
    if joint.direct:
        assert joint.integrate(q, (0.1 * qd[0],)) == (q[0] + 0.1 * qd[0],)
    np.testing.assert_allclose(joint.pose(PLACEMENT, joint.neutral).matrix(), PLACEMENT.matrix(), atol=1e-16)


# Small and large steps: series and closed forms, and half a turn, where the logarithm's sine vanishes.
SIZES = (0.0, 1e-12, 1e-7, 9.9e-5, 1.01e-4, 0.0099, 0.0101, 0.3, 2.0, 3.0, math.pi - 1e-7, math.pi)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.direct])
def test_a_step_is_the_exponential_of_a_twist_and_difference_undoes_it(kind: type[Joint], size: float):
    joint = made(kind)
    q = joint.normalize(NUMBERS[: joint.nq])
    turning = np.array([unit == "rad" for unit in joint.units])
    d = np.array(NUMBERS[-joint.nv :])
    d[turning] *= size / np.linalg.norm(d[turning])
    reached = joint.integrate(q, d.tolist())
    V = combine(joint.subspace(q), d.tolist())
    hat = np.zeros((4, 4))
    hat[:3, :3], hat[:3, 3] = np.array(skew(V.w)), V.v
    wanted = np.array(joint.pose(PLACEMENT, q).matrix()) @ scipy.linalg.expm(hat)
    np.testing.assert_allclose(joint.pose(PLACEMENT, reached).matrix(), wanted, rtol=0, atol=5e-15)
    back = np.array(joint.difference(q, reached))
    if size == math.pi and kind is not Planar:  # the turn the other way round leads there too
        reached_again = joint.integrate(q, back.tolist())
        np.testing.assert_allclose(joint.pose(PLACEMENT, reached_again).matrix(), wanted, rtol=0, atol=5e-15)
    else:
        np.testing.assert_allclose(back, d, rtol=0, atol=2e-14 if size < 3.1 else 1e-8)
    assert joint.difference(q, q) == (0.0,) * joint.nv
    at = joint.quaternion
    assert at is None or abs(np.linalg.norm(reached[at : at + 4]) - 1) <= 3e-16


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.direct])
def test_the_bracket_is_that_of_the_twists(kind: type[Joint]):
    joint = made(kind)
    a, b = NUMBERS[: joint.nv], NUMBERS[-joint.nv :]
    S = joint.subspace(())
    wanted = combine(S, a).cross(combine(S, b))
    np.testing.assert_allclose(combine(S, joint.bracket(a, b)).flat(), wanted.flat(), rtol=0, atol=1e-15)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.direct])
def test_travel_period_and_units_are_those_of_the_pose(kind: type[Joint]):
    joint = made(kind)
    at = {x: joint.pose(Pose(), (x,)) for x in (0.0, 1.0, 2 * math.pi)}
    np.testing.assert_allclose(np.linalg.norm(at[1.0].p), joint.travel, atol=1e-15)
    turned = not np.allclose(at[1.0].R, np.eye(3))
    back = np.allclose(at[2 * math.pi].matrix(), np.eye(4))
    assert joint.turns == turned and joint.periodic == back
    assert (joint.unit, joint.effort_unit) == (("rad", "N m") if joint.turns else ("m", "N"))
    assert ("q" in joint.symbols[0]) == bool(joint.travel) and ("s" in joint.symbols[0]) == turned
    assert joint.half_range == (math.pi if turned else 1.0)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.direct])
def test_what_the_parent_may_carry_moves_as_if_it_were_fixed_there(kind: type[Joint]):
    """The inertia that is passed on, seen from the parent, is the same at every position, but for mass that slides."""
    joint = made(kind, (0.0, 1.0, 0.0))
    body = Inertia.from_com(2.0, (0.3, -0.2, 0.5), ((0.4, 0.01, -0.02), (0.01, 0.3, 0.03), (-0.02, 0.03, 0.2)))
    kept, moved = joint.share(body)
    np.testing.assert_allclose((kept + moved).matrix(), body.matrix(), atol=1e-15)
    at_zero = moved.to_parent(joint.pose(PLACEMENT, (0.0,))).matrix()
    for q in (0.7, -2.1):
        np.testing.assert_allclose(moved.to_parent(joint.pose(PLACEMENT, (q,))).matrix(), at_zero, atol=1e-14)


def test_a_joint_over_another_scalar_keeps_its_kind():
    for kind in KINDS:
        joint = made(kind).over(lambda x: Jet(x))
        assert type(joint) is kind and all(isinstance(x, Jet) for x in joint.axis)
