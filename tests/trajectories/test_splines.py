"""Splines, tables, set points and sequences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, make_interp_spline

import dalembert as dl
from dalembert import trajectories as tr
from dalembert.errors import InputError
from errors import raises

RNG = np.random.default_rng(1)
T = np.array([0, 0.3, 1.0, 1.4, 2.0, 3.1])
X = RNG.normal(size=(6, 3))
LOOP = np.vstack([X[:-1], X[:1]])
DENSE = np.linspace(0, T[-1], 400)


@pytest.mark.parametrize("ends", ["natural", "clamped", "periodic"])
def test_cubics_are_scipys(ends):
    x = LOOP if ends == "periodic" else X
    ours, theirs = tr.spline(x, T, ends=ends), CubicSpline(T, x, bc_type=ends)
    for order, values in enumerate(ours(DENSE[:-1])):
        assert np.allclose(values, theirs(DENSE[:-1], order), atol=1e-11)


def test_quintics_are_scipys():
    """Natural: third and fourth derivative vanish; clamped: velocity and acceleration as given."""
    v, a = RNG.normal(size=(2, 2, 3))
    for ends, left, right, options in (
        ("natural", [(3, np.zeros(3)), (4, np.zeros(3))], [(3, np.zeros(3)), (4, np.zeros(3))], {}),
        (
            "clamped",
            [(1, v[0]), (2, a[0])],
            [(1, v[1]), (2, a[1])],
            {"start_velocity": v[0], "end_velocity": v[1], "start_acceleration": a[0], "end_acceleration": a[1]},
        ),
    ):
        theirs = make_interp_spline(T, X, k=5, bc_type=(left, right))
        ours = tr.spline(X, T, degree=5, ends=ends, **options)
        for order, values in enumerate(ours(DENSE)):
            assert np.allclose(values, theirs(DENSE, order), atol=1e-8)


@pytest.mark.parametrize("degree, smooth", [(3, 2), (5, 4)])
@pytest.mark.parametrize("ends", ["natural", "clamped", "periodic"])
def test_smooth_at_the_points(degree, smooth, ends):
    made = tr.spline(LOOP, T, degree=degree, ends=ends)
    C, h = made.coefficients, np.diff(T)
    assert np.allclose(made(T)[0], LOOP, atol=1e-12)
    factorial = np.cumprod([1.0, *range(1, degree + 1)])
    for d in range(smooth + 1):
        left = C[:, d] * factorial[d]
        right = sum(factorial[k] / factorial[k - d] * C[:, k] * h[:, None] ** (k - d) for k in range(d, degree + 1))
        size = max(np.abs(left).max(), 1.0)
        gaps = np.abs(left[1:] - right[:-1]).max() / size
        if ends == "periodic":
            gaps = max(gaps, np.abs(left[0] - right[-1]).max() / size)
        assert gaps < 1e-11
    d = smooth + 1  # and no smoother: the next derivative does jump
    left = C[:, d] * factorial[d]
    right = sum(factorial[k] / factorial[k - d] * C[:, k] * h[:, None] ** (k - d) for k in range(d, degree + 1))
    assert np.abs(left[1:] - right[:-1]).max() > 1e-3


def test_periodic_splines_go_on():
    made = tr.spline(LOOP, T, ends="periodic")
    t = RNG.uniform(0, T[-1], 50)
    for other in (-2 * T[-1], T[-1], 7 * T[-1]):
        for a, b in zip(made(t), made(t + other), strict=True):
            assert np.allclose(a, b, atol=1e-9)
    assert made.duration == np.inf and made.period == T[-1]


def test_two_points_are_a_line():
    assert np.allclose(tr.spline([[0.0], [1.0]], duration=2)(0.5)[0], 0.25)
    assert np.allclose(tr.spline([[0.0], [1.0]], duration=2, degree=5)(0.5)[0], 0.25)


def test_times_by_chord_length_and_by_limits():
    d = np.linalg.norm(np.diff(X, axis=0), axis=1)
    for spacing, power in (("chord", 1.0), ("centripetal", 0.5), ("uniform", 0.0)):
        made = tr.spline(X, duration=3.0, spacing=spacing)
        assert np.allclose(np.diff(made.breaks), 3.0 * d**power / (d**power).sum())
    fast = tr.spline(X, velocity=[1, 2, 3], acceleration=4.0)
    found = fast.limits()
    used = np.concatenate([found.velocity / [1, 2, 3], found.acceleration / 4.0])
    assert np.isclose(used.max(), 1.0, rtol=1e-12)


def test_a_long_spline_is_no_burden():
    t = np.arange(2000) * 0.01
    made = tr.spline(np.sin(t)[:, None], t, degree=5)
    middle = t[100:-100] + 0.005  # away from the ends, where x‴ is not zero
    assert np.abs(made(middle)[2][:, 0] + np.sin(middle)).max() < 1e-8


# --------------------------------------------------------------------------------------------------------- tables
def test_tables():
    x, v, a = RNG.normal(size=(3, 6, 2))
    assert np.allclose(
        tr.table(T, x, interpolation="linear")(DENSE)[0],
        np.stack([np.interp(DENSE, T, x[:, j]) for j in range(2)], axis=1),
    )
    cubic, quintic = tr.table(T, x, v), tr.table(T, x, v, a, interpolation="quintic")
    assert np.allclose(cubic(T)[:2], [x, v]) and np.allclose(quintic(T), [x, v, a])
    assert np.allclose(tr.table(T, x)(DENSE)[0], CubicSpline(T, x, bc_type="natural")(DENSE))
    held = tr.table(T, x, interpolation="hold")
    assert np.array_equal(held([0.0, 0.29, 0.3, 3.0, 3.1, 9.0])[0], x[[0, 0, 1, 4, 5, 5]])
    assert np.isinf(held.limits().velocity).all()
    assert np.isinf(tr.table(T, x, interpolation="linear").limits().acceleration).all()


def test_samples_of_a_motion_give_it_back():
    motion = tr.quintic([0, 1], [1, 0], 1.0, start_velocity=[1, 2])
    back = tr.table(*motion.sample(0.1), interpolation="quintic")
    t = np.linspace(0, 1, 77)
    assert np.allclose(back(t), motion(t), atol=1e-10)


def test_set_points():
    for t in (-1.0, 0.0, 1e9):
        x, xd, xdd = tr.set_point([1.0, 2.0])(t)
        assert np.array_equal(x, [1, 2]) and not xd.any() and not xdd.any()
    assert tr.set_point(3.0).duration == np.inf and tr.set_point(3.0, 2.0).duration == 2.0


# ------------------------------------------------------------------------------------------------------ sequences
def test_sequences():
    first, stay, last = tr.minimum_jerk([0, 0], [1, 2], 1.0), tr.set_point([1, 2], 0.5), tr.cubic([1, 2], [0, 0], 2.0)
    whole = tr.sequence(first, stay, last)
    assert isinstance(whole, tr.Piecewise) and whole.duration == 3.5
    t = np.linspace(0, 1, 23)[:-1]
    for part, begin in ((first, 0.0), (stay, 1.0), (last, 1.5)):
        for a, b in zip(whole(begin + t * part.duration), part(t * part.duration), strict=True):
            assert np.allclose(a, b, atol=1e-12)
    wave = tr.sines(0.5, 1.0)
    mixed = tr.sequence(tr.cubic(1.0, 0.0, 1.0, end_velocity=np.pi), wave)
    assert mixed.duration == np.inf and np.allclose(mixed(1.3)[0], wave(0.3)[0])


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: tr.spline(X, [0, 1, 2, 2, 3, 4]), "wrong-order times"),
        (lambda: tr.spline(X, [1, 2, 3, 4, 5, 6]), "wrong-value times"),
        (lambda: tr.spline(X, [0, 1, 2]), "wrong-shape times"),
        (lambda: tr.spline([[1, 2]], duration=1), "wrong-shape points"),
        (lambda: tr.spline(np.vstack([X, X[-1:]]), duration=1), "duplicate points"),
        (lambda: tr.spline(X), "missing duration"),
        (lambda: tr.spline(X, T, duration=2), "conflict duration"),
        (lambda: tr.spline(X, T, ends="periodic"), "conflict points"),
        (lambda: tr.spline(X, T, ends="not-a-knot"), "wrong-value ends"),
        (lambda: tr.spline(X, T, degree=4), "wrong-value degree"),
        (lambda: tr.spline(X, T, start_velocity=1), "conflict ends"),
        (lambda: tr.spline(X, T, ends="clamped", end_acceleration=1), "conflict degree"),
        (lambda: tr.spline(X, duration=1, spacing="time"), "wrong-value spacing"),
        (lambda: tr.table(T, X[:5]), "wrong-shape times"),
        (lambda: tr.table(T, X, X[:, :2]), "wrong-shape xd"),
        (lambda: tr.table(T, X, xdd=X), "missing xd"),
        (lambda: tr.table(T, X, X, interpolation="linear"), "conflict interpolation"),
        (lambda: tr.table(T, X, interpolation="spline"), "wrong-value interpolation"),
        (lambda: tr.sequence(), "too-few parts"),
        (lambda: tr.sequence(3), "wrong-type"),
        (lambda: tr.sequence(tr.set_point(1), tr.set_point(1)), "missing duration"),
        (lambda: tr.sequence(tr.cubic(0, 1, 1), tr.set_point(2)), "conflict parts"),
        (lambda: tr.sequence(tr.cubic(0, 1, 1, end_velocity=1), tr.set_point(1)), "conflict parts"),
        (lambda: tr.sequence(tr.cubic(0, 1, 1), tr.set_point([1, 2])), "wrong-shape parts"),
        (lambda: tr.set_point(1, 0), "out-of-range duration"),
        (lambda: tr.set_point(3.0, robot=dl.load("planar-2r")), "conflict robot"),
    ],
)
def test_bad_input(make, words):
    with raises(InputError, words):
        make()
