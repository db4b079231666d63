"""Singular states: rank, lost directions, decoupling, names, distance, samples. [Poonawala] §§2.3, 2.4."""

from __future__ import annotations

import numpy as np
import pytest
from motion_arms import ARMS, arm, planar_4r, states

import dalembert as dl
from dalembert.kinematics import singular as wrist
from dalembert.kinematics.jacobian import joint_units, natural
from dalembert.kinematics.nearest_singularity import perturbed_singularity, singular_set
from dalembert.kinematics.singular import in_words
from tolerances import ROUNDING, SOLVED, error

SIX = ("puma560", "stanford")


# ------------------------------------------------------------------------------------- rank and lost directions
@pytest.mark.parametrize("name", ARMS)
def test_seeded_states_are_regular(name):
    found = arm(name).singularities(states(arm(name), 20))
    assert not found.singular.any() and (found.rank == found.freedom).all()
    assert ((found.closeness > 1e-4) & (found.closeness <= 1.01)).all()


@pytest.mark.parametrize("q2, kind", [(0.0, "stretched"), (np.pi, "folded"), (-np.pi, "folded")])
def test_planar_2r_is_singular_in_line(q2, kind):
    """det J = l₁ l₂ sin q₂ ([Lee]): the direction along the links is lost."""
    found = arm("planar-2r").singularities([0.3, q2])
    assert found.singular and found.rank == 1 and found.kinds == ("elbow",)
    assert error(found.lost, [[np.cos(0.3), np.sin(0.3), 0, 0, 0, 0]]) < ROUNDING
    assert found.words == ("translation along (0.9553, 0.2955, 0) of the base",)
    rate = arm("planar-2r").jacobian([0.3, q2])[:2] @ found.rates[0]
    assert np.abs(rate).max() < ROUNDING


def test_ill_conditioned_near_a_singularity():
    """[Poonawala] §2.3: the condition number grows as 1/|q₂|."""
    q = np.stack([np.full(5, 0.3), 10.0 ** -np.arange(1, 6)], axis=-1)
    condition = arm("planar-2r").manipulability(q, measure="condition")
    assert np.allclose(condition * q[:, 1], 5, rtol=0.05)  # σ₁ → √5, σ₂ → |q₂|/√5
    assert not arm("planar-2r").singularities(q).singular.any()
    assert arm("planar-2r").singularities(q, tolerance=1e-3).singular.tolist() == [False, False, True, True, True]


@pytest.mark.parametrize("name", ("puma560", "ur5e", "iiwa7", "panda", "scara", "elbow-3r"))
def test_lost_directions_cannot_be_had(name):
    """wᵀ J = 0 for each, and there are as many as the rank lacks."""
    robot = arm(name)
    samples = singular_set(robot, 20)
    assert len(samples.q) > 10
    for q in samples.q:
        found = robot.singularities(q)
        assert found.singular and len(found.lost) == natural(robot).m - found.rank == len(found.words)
        assert np.abs(found.lost @ robot.jacobian(q)).max() < 1e-6
        assert np.allclose(np.linalg.norm(found.lost, axis=-1), 1)
        idle = natural(robot).jacobian(robot.jacobian(q)) @ (found.rates * joint_units(robot)).T
        assert np.abs(idle).max() < 1e-6 and len(found.rates) == robot.n - found.rank


@pytest.mark.parametrize(
    "w, words",
    [
        ([0, 0, 1, 0, 0, 0], "translation along z of the base"),
        ([0, 0, 0, 0, 2, 0], "rotation about y of the base"),
        ([0.6, 0.8, 0, 0, 0, 0], "translation along (0.6, 0.8, 0) of the base"),
        ([0, 0, 1, 0, -0.5, 0], "translation along z of the base, of the point at (0.5, 0, 0) from the frame's origin"),
        ([0, 0, 1, 0, 0, 1], "translation along z without turning, and rotation about z in place, of the base"),
    ],
)
def test_words(w, words):
    assert in_words(np.array(w, float), "of the base") == words


def test_words_in_local_axes():
    """Gimbal lock of the wrist alone: the turn about the third axis of the plane is lost."""
    found = arm("puma560").singularities([0.3, 0.2, 0.4, 0.1, 0.0, 0.6], rows="orientation")
    assert not found.singular  # the arm's own axes help
    local = arm("planar-2r").singularities([0.3, 0.0], expressed_in="local")
    assert local.words == ("translation along x of frame 'tool'",)


def test_two_lost_directions_are_told_apart():
    """Two joints on the same axis line: what is lost reads axis by axis."""
    robot = dl.Robot.from_dh([{"alpha": np.pi / 2, "a": 1.0}, {"a": 1.0}])
    found = robot.singularities([0.0, np.pi])
    assert found.words == ("translation along x of the base", "translation along y of the base")
    assert found.freedom == 2 and found.rank == 1 and found.singular


def test_rows_that_are_never_had_are_not_singular():
    found = planar_4r().singularities([0.1, 0.2, 0.3, 0.4], rows="pose")
    assert found.freedom == found.rank == 3 and not found.singular
    assert set(found.words) == {
        "translation along z of the base",
        "rotation about x of the base",
        "rotation about y of the base",
    }
    assert planar_4r().singularities(np.zeros(4), rows="pose").singular


def test_the_same_in_millimeters():
    rows = [{"a": 0.4}, {"a": 0.3}, {"a": 0.1}]
    big = [{"a": 1000 * row["a"]} for row in rows]
    q = np.random.default_rng(0).uniform(-1, 1, (5, 3))
    small, large = dl.Robot.from_dh(rows).singularities(q), dl.Robot.from_dh(big).singularities(q)
    assert error(small.singular_values, large.singular_values) < ROUNDING


def test_a_batch_is_a_loop():
    robot = arm("puma560")
    q = np.concatenate([states(robot, 3), [[0.1, 0.2, 0.3, 0.4, 0.0, 0.5]]]).reshape(2, 2, 6)
    found = robot.singularities(q)
    assert repr(found) == "<Singularities: 1 of 4 states are singular>"
    with pytest.raises(dl.InputError, match="this is a batch"):
        found.lost  # noqa: B018
    for i in range(2):
        for j in range(2):
            one = robot.singularities(q[i, j])
            assert error(found[i, j].singular_values, one.singular_values) < ROUNDING
            assert found[i, j].kinds == one.kinds and found[i, j].words == one.words
    assert found[1, 1].kinds == ("wrist",) and "singular (wrist): rank 5 of 6" in repr(found[1, 1])


# ------------------------------------------------------------------------------------- arm and wrist
@pytest.mark.parametrize("name", ARMS)
def test_wrists_are_found_from_the_geometry(name):
    assert wrist.spherical_wrist(arm(name)) == (name in ("puma560", "stanford", "iiwa7"))
    assert wrist.spherical_shoulder(arm(name)) == (name in ("panda", "iiwa7"))
    assert wrist.three_parallel(arm(name)) == (name == "ur5e")


@pytest.mark.parametrize("name", SIX)
def test_decoupling(name):
    """[Poonawala] eqs. 13 and 14: the upper right block is zero, det J = det J₁₁ det J₂₂, also away from the center."""
    robot, q = arm(name), states(arm(name), 8).reshape(2, 4, 6)
    blocks = wrist.decouple(robot, q)
    assert error(blocks.det, np.linalg.det(robot.jacobian(q))) < SOLVED
    J = robot.jacobian(q)
    offset = blocks.center - robot.fk(q)[..., :3, 3]
    at_center = J[..., :3, :] + np.cross(np.swapaxes(J[..., 3:, :], -1, -2), offset[..., None, :]).swapaxes(-1, -2)
    assert error(at_center[..., :3], blocks.J11) < ROUNDING
    assert np.abs(at_center[..., 3:]).max() < ROUNDING  # J₁₂ = 0
    assert error(blocks.J21, J[..., 3:, :3]) == 0 == error(blocks.J22, J[..., 3:, 3:])
    assert error(np.abs(blocks.det_wrist), np.abs(np.sin(q[..., 4]))) < SOLVED


@pytest.mark.parametrize("name", (*SIX, "ur5e"))
def test_determinant_agrees_with_the_equations(name):
    """The derived det J, as a polynomial, against the numeric one: the products that `factored` prints."""
    robot, q = arm(name), states(arm(name), 8)
    e = robot.equations()
    assert error(e.kernel("det")(q), np.linalg.det(robot.jacobian(q))) < SOLVED
    printed = {
        "puma560": "a2*s5*(d4*c3 + a3*s3)*(a2*c2 + a3*c23 - d4*s23)",
        "stanford": "q3^2*s2*s5",
        "ur5e": "a2*a3*s3*s5*(a2*c2 + a3*c23 + d5*s234)",
    }
    assert e.factored("det") == printed[name]


def test_decoupling_of_a_redundant_arm():
    robot, q = arm("iiwa7"), states(arm("iiwa7"), 1)[0]
    blocks = wrist.decouple(robot, q)
    assert blocks.J11.shape == (3, 4) and blocks.J22.shape == (3, 3)
    with pytest.raises(dl.InputError, match="3×4"):
        blocks.det  # noqa: B018


def test_arms_without_a_wrist():
    with pytest.raises(dl.InputError, match="do not meet in a point"):
        wrist.decouple(arm("ur5e"), np.zeros(6))
    assert wrist.kinds(arm("panda"), np.zeros(7)) == ()


def puma_factors(q):
    rows = arm("puma560").to_dh().rows
    a2, a3, d4 = rows[1].a, rows[2].a, rows[3].d
    c, s = np.cos, np.sin
    return {
        "wrist": s(q[4]),
        "elbow": d4 * c(q[2]) + a3 * s(q[2]),
        "shoulder": a2 * c(q[1]) + a3 * c(q[1] + q[2]) - d4 * s(q[1] + q[2]),
    }


def ur_factors(q):
    rows = arm("ur5e").to_dh().rows
    a2, a3, d5 = rows[1].a, rows[2].a, rows[4].d
    c, s = np.cos, np.sin
    third = a2 * c(q[1]) + a3 * c(q[1] + q[2]) + d5 * s(q[1] + q[2] + q[3])
    return {"wrist": s(q[4]), "elbow": s(q[2]), "shoulder": third}


def elbow_factors(q):
    """[Poonawala] eq. 15: a₂a₃ sin θ₃ (a₂ cos θ₂ + a₃ cos(θ₂ + θ₃))."""
    return {"elbow": np.sin(q[2]), "shoulder": 0.5 * np.cos(q[1]) + 0.4 * np.cos(q[1] + q[2])}


FACTORS = {"puma560": puma_factors, "ur5e": ur_factors, "elbow-3r": elbow_factors}


@pytest.mark.parametrize("name", FACTORS)
def test_names_belong_to_the_factors_of_the_determinant(name):
    """Each singular sample is named after the factor of the published det J that vanishes in it."""
    samples = singular_set(arm(name), 120)
    assert set(samples.counts) == set(FACTORS[name](samples.q[0]))  # every kind was met
    for q, kinds in zip(samples.q, samples.kinds, strict=True):
        values = FACTORS[name](q)
        assert [k for k in values if abs(values[k]) < 1e-5] == sorted(kinds, key=list(values).index), (q, kinds)


def test_two_kinds_at_once():
    q = np.array([0.1, 0.2, np.pi, 0.3, 0.0, 0.4])
    assert set(arm("ur5e").singularities(q).kinds) == {"elbow", "wrist"}
    up = np.array([0.3, np.pi / 2, 0.0])  # stretched straight up: the wrist's center on the first axis too
    assert set(arm("elbow-3r").singularities(up).kinds) == {"shoulder", "elbow"}
    assert arm("elbow-3r").singularities(up).rank == 1


def test_names_of_an_anthropomorphic_seven_joint_arm():
    q = np.array([0.2, 0.5, 0.3, 0.0, 0.4, 0.7, 0.1])
    assert arm("iiwa7").singularities(q).kinds == ("elbow",)
    assert arm("iiwa7").singularities(q, rows="position").kinds == ()  # names are for the rows it is built for


# ------------------------------------------------------------------------------------- nearest, sampled, perturbed
def test_nearest_singularity_of_a_planar_arm():
    """det = l₁l₂ sin q₂: the nearest is at q₂ = 0, and the distance is |q₂|."""
    found = arm("planar-2r").nearest_singularity([0.3, -0.4])
    assert found.converged and np.isclose(found.distance, 0.4) and np.allclose(found.q, [0.3, 0], atol=1e-7)
    assert found.kinds == ("elbow",) and found.closeness < 1e-8 < found.here
    assert arm("planar-2r").nearest_singularity([0.3, 0.0]).distance < 1e-6
    turned = arm("planar-2r").nearest_singularity([7.0, 6.0])  # joints without limits turn on
    assert turned.converged and np.isclose(turned.distance, 2 * np.pi - 6) and np.isclose(turned.q[0], 7)


@pytest.mark.parametrize("name", ("puma560", "ur5e", "iiwa7", "panda", "scara"))
def test_nearest_singularity_is_within_a_known_one(name):
    """Started beside a singular state, the search finds one no farther than it; inside the limits."""
    robot = arm(name)
    samples = singular_set(robot, 12, seed=4).q[:4]
    rng = np.random.default_rng(0)
    for target in samples:
        step = rng.normal(size=robot.n)
        q = np.clip(target + 0.1 * step / np.linalg.norm(step), robot.limits.lower, robot.limits.upper)
        found = robot.nearest_singularity(q)
        assert found.converged and found.distance < 0.1 + 1e-3
        assert robot.singularities(found.q).singular
        assert (found.q >= robot.limits.lower - 1e-12).all() and (found.q <= robot.limits.upper + 1e-12).all()


@pytest.mark.parametrize("name", ("puma560", "ur5e"))
def test_nearest_singularity_is_no_farther_than_any_factor(name):
    """Turning joint 5, or joint 3, alone to its zero of det J is one way; the search must not do worse."""
    robot = arm(name)
    for q in states(robot, 6):
        ways = [q - np.eye(6)[4] * (q[4] - turn) for turn in np.pi * np.arange(-2, 3)]
        inside = [w for w in ways if (w >= robot.limits.lower).all() and (w <= robot.limits.upper).all()]
        assert robot.nearest_singularity(q).distance <= min(np.linalg.norm(w - q) for w in inside) + 1e-6


def test_no_singularity_within_the_limits():
    """RP: singular only with the tip on the axis of joint 1, which the stroke's limit forbids."""
    inside = arm("rp").nearest_singularity([0.2, 0.8])
    assert not inside.converged and "no singular state" in inside.message and np.isfinite(inside.distance)
    assert len(singular_set(arm("rp"), 20).q) == 0
    outside = arm("rp").nearest_singularity([0.2, 0.8], within_limits=False)
    assert outside.converged and np.abs(arm("rp").fk(outside.q)[:2, 3]).max() < 1e-6


def test_simple_singularities_survive_other_lengths():
    for name, q in (("planar-2r", [0.3, 0.0]), ("puma560", [0.1, 0.2, 0.3, 0.4, 0.0, 0.5]), ("scara", np.zeros(4))):
        found = perturbed_singularity(arm(name), q)
        assert not found.removed and found.kept.all() and found.distance.max() < 0.01


def test_a_singularity_that_other_lengths_remove():
    """[Poonawala] §2.3. Axes at right angles, equal links: folded back, the tip touches the first axis, and
    joint 1 moves it no more. With other lengths it passes the axis by."""
    horn = dl.Robot.from_dh([{"alpha": np.pi / 2, "a": 1.0}, {"a": 1.0}])
    found = perturbed_singularity(horn, [0.3, np.pi])
    assert found.removed and not found.kept.any() and np.isinf(found.distance).all()
    with pytest.raises(dl.InputError, match="q is not singular"):
        perturbed_singularity(horn, [0.3, 1.0])


@pytest.mark.parametrize("tolerance", (-1, 1, np.nan, "small"))
def test_bad_tolerances(tolerance):
    with pytest.raises(dl.InputError, match="tolerance"):
        arm("planar-2r").singularities([0.0, 0.0], tolerance=tolerance)


@pytest.mark.parametrize("q1", (0.0, np.pi))
def test_a_single_row(q1):
    """One row has one singular value: it is small by the arm's measure, not by its own."""
    robot = arm("planar-2r")
    found = robot.singularities([q1, 0.0], rows="vx")
    assert found.singular and found.rank == 0 and found.words == ("translation along x of the base",)
    assert robot.manipulability([q1, 0.0], rows="vx") == 0
    assert np.isinf(robot.force_ellipsoid([q1, 0.0], rows="vx").lengths).all()
    assert np.isinf(robot.effective_mass([q1, 0.0], rows="vx").masses).all()
    near = robot.nearest_singularity([0.2, 0.3], rows="vx")
    assert near.converged and robot.singularities(near.q, rows="vx").singular


def test_rows_that_never_move():
    assert arm("cartesian-pp").singularities([0.1, 0.2], rows="orientation").freedom == 0
    for call in (arm("cartesian-pp").nearest_singularity, singular_set):
        with pytest.raises(dl.InputError, match="never moves in these rows"):
            call([0.1, 0.2], rows="orientation") if call is not singular_set else call(
                arm("cartesian-pp"), 5, rows="orientation"
            )


def test_single_precision_and_empty_batches():
    robot, q = arm("puma560"), states(arm("puma560"), 3)
    single = q.astype(np.float32)
    assert error(robot.singularities(single).singular_values, robot.singularities(q).singular_values) < 1e-5
    assert robot.singularities([[0.5, 0.1, 0.2, 0.3, 0.0, 0.1]]).singular.tolist() == [True]
    none = np.zeros((0, 6))
    assert robot.singularities(none).singular.shape == robot.manipulability(none).shape == (0,)
    assert robot.inverse_velocity(none, np.zeros(6)).qd.shape == (0, 6)
    assert robot.largest_force(none, [0, 0, 1]).force.shape == (0,)


def test_one_state_at_a_time():
    with pytest.raises(dl.InputError, match="one state at a time"):
        arm("planar-2r").nearest_singularity(np.zeros((2, 2)))
