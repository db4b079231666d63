"""What every kind of joint must say of itself: its subspace is the rate of its pose, its share moves with it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dalembert.joints import JOINTS, Joint
from dalembert.scalar.jet import Jet, jet
from dalembert.spatial import Inertia, Pose, rotation
from dalembert.spatial.vector import matmul, matvec_t, transpose, unskew

KINDS = sorted(set(JOINTS.values()), key=lambda kind: kind.kind)
PLACEMENT = Pose(rotation.from_rpy((0.3, -0.7, 1.1)), (0.2, -0.5, 0.4))
OBLIQUE = (2 / 7, 3 / 7, -6 / 7)


def made(kind: type[Joint], axis: tuple[float, float, float] = OBLIQUE) -> Joint:
    extra = dict.fromkeys(kind.numbers, 0.13)
    return kind(axis, **extra)


@pytest.mark.parametrize("kind", KINDS)
def test_the_subspace_is_the_rate_of_the_pose(kind: type[Joint]):
    joint, q, qd = made(kind), 0.8, -1.7
    T = joint.pose(PLACEMENT, (Jet(q, qd),))
    R, Rd = ([[getattr(jet(x), part) for x in row] for row in T.R] for part in ("value", "rate"))
    v = matvec_t(R, [jet(x).rate for x in T.p])
    w = unskew(matmul(transpose(R), Rd))
    (S,) = joint.subspace((q,))
    assert len(joint.units) == joint.nv and len(joint.subspace((q,))) == joint.nv
    np.testing.assert_allclose(S.scaled(qd).flat(), (*v, *w), rtol=0, atol=1e-15)
    np.testing.assert_allclose(joint.bias((q,), (qd,)).flat(), 0.0, atol=0)
    assert joint.integrate((q,), (0.1 * qd,)) == (q + 0.1 * qd,)


@pytest.mark.parametrize("kind", KINDS)
def test_travel_period_and_units_are_those_of_the_pose(kind: type[Joint]):
    joint = made(kind)
    at = {x: joint.pose(Pose(), (x,)) for x in (0.0, 1.0, 2 * math.pi)}
    np.testing.assert_allclose(np.linalg.norm(at[1.0].p), joint.travel, atol=1e-15)
    turned = not np.allclose(at[1.0].R, np.eye(3))
    back = np.allclose(at[2 * math.pi].matrix(), np.eye(4))
    assert joint.turns == turned and joint.periodic == back
    assert (joint.unit, joint.effort_unit) == (("rad", "N m") if joint.turns else ("m", "N"))
    assert ("q" in joint.symbols) == bool(joint.travel) and ("s" in joint.symbols) == turned
    assert joint.half_range == (math.pi if turned else 1.0)


@pytest.mark.parametrize("kind", KINDS)
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
