"""Enclosures of functions made up for the purpose: they hold in the corners, where quadratic functions attain them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import mpmath
import numpy as np
import pytest

from dalembert import scalar
from dalembert.bounds import QUANTITIES, enclosures
from dalembert.bounds.functions import CIRCLE, Box, Joints
from dalembert.bounds.quantities import compile_test
from dalembert.bounds.taylor import UNIT, Family, family

SLIDES, MIXED, TURNS = (True, True), (False, True), (False, False)
RANGES = {True: (-2.0, 3.0), False: (-CIRCLE, CIRCLE)}
# Two variables, three functions: the entries (1, 1), (1, 2), (2, 2) of a matrix, or a vector.
FUNCTIONS: dict[str, tuple[tuple[bool, bool], Callable]] = {
    "squares": (SLIDES, lambda x: [3.0 * x[0] * x[0], 0.1 * x[1] * x[1] + 0.02 * x[0], 2.0 * x[0] * x[1] - 4.0]),
    "opposite squares": (SLIDES, lambda x: [-3.0 * x[0] * x[0], 0.1 * x[1], -2.0 * x[1] * x[1] + 0.5 * x[0]]),
    "lever": (
        MIXED,
        lambda x: [
            3.0 * scalar.sin(x[0]) * x[1] + 2.0,
            0.3 * x[1] * x[1],
            0.2 * scalar.cos(x[0]) * scalar.cos(x[0]) - 1.5 * x[1],
        ],
    ),
    "turns": (
        TURNS,
        lambda x: [
            5.0 + 2.0 * scalar.cos(x[1]),
            1.0 + scalar.cos(x[1]) + 0.3 * scalar.sin(x[0]),
            0.7 + 0.1 * scalar.sin(x[0]) * scalar.cos(x[1]),
        ],
    ),
    # Γ₁₁, Γ₁₂, Γ₂₂ of two equations
    "six": (
        MIXED,
        lambda x: [
            2.0 * scalar.sin(x[0]),
            0.3 * x[1] * x[1],
            -1.0 * x[1],
            0.5 * scalar.cos(x[0]) * x[1],
            0.2 + x[1],
            3.0 * x[1] * x[1],
        ],
    ),
}
GROUPS = [[(0, 1.0), (1, 2.0)], [(2, 0.5)], [(1, 3.0), (2, 1.0)]]


@cache
def made(name: str) -> Family:
    sliding, function = FUNCTIONS[name]
    lower, upper = np.array([RANGES[s] for s in sliding]).T
    found = family(function, Joints((0, 1), (1.0, 1.0), (0.0, 0.0), sliding), Box(lower, upper, np.array(sliding)))
    assert found is not None
    return found


def values(name: str, q: np.ndarray) -> np.ndarray:
    """(functions, …) at states (…, 2)."""
    _, function = FUNCTIONS[name]
    rows = [function(state) for state in q.reshape(-1, 2).tolist()]
    return np.moveaxis(np.array(rows).reshape(*q.shape[:-1], -1), -1, 0)


def matrices(f: np.ndarray) -> np.ndarray:
    return np.moveaxis(np.array([[f[0], f[1]], [f[1], f[2]]]), (0, 1), (-2, -1))


def largest_sum(f: np.ndarray) -> np.ndarray:
    return np.max([sum(w * np.abs(f[o]) for o, w in group) for group in GROUPS], axis=0)


def eigenvalue(f: np.ndarray) -> np.ndarray:
    return np.linalg.eigvalsh(matrices(f))[..., -1]


THREE = ("squares", "opposite squares", "lever", "turns")
# name → (enclosure, the function of values that it bounds)
BOUNDS: dict[str, tuple[Callable, Callable]] = {
    "sums": (lambda F: partial(enclosures.sums, F, GROUPS), largest_sum),
    "least sums": (lambda F: partial(enclosures.least_sums, F, GROUPS), lambda f: -largest_sum(f)),
    "length": (lambda F: partial(enclosures.length, F), lambda f: np.linalg.norm(f, axis=0)),
    "largest eigenvalue": (lambda F: partial(enclosures.largest_eigenvalue, F, 1.0), eigenvalue),
    "lowest eigenvalue": (lambda F: partial(enclosures.largest_eigenvalue, F, -1.0), lambda f: eigenvalue(-f)),
}
PROOFS: dict[str, tuple[Callable, Callable]] = {
    "below": (lambda F: partial(enclosures.definite, F, 1.0), eigenvalue),
    "above": (lambda F: partial(enclosures.definite, F, -1.0), lambda f: eigenvalue(-f)),
    "both": (
        lambda F: next(q for q in QUANTITIES if q.name == "gravity_slope").tests(F, 1.0)[0][0],
        lambda f: np.maximum(eigenvalue(f), eigenvalue(-f)),
    ),
}


def boxes(F: Family, count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Middles and radii, from points to the whole box."""
    rng = np.random.default_rng(7)
    share = np.concatenate([np.zeros(4), 10.0 ** rng.uniform(-6, 0, count - 4)])[:, None] * rng.random((count, F.n))
    r = share * F.box.radius
    return F.box.middle + (F.box.radius - r) * rng.uniform(-1, 1, (count, F.n)), r


def inside(m: np.ndarray, r: np.ndarray) -> np.ndarray:
    """(boxes, points, variables): the corners, the middles of the sides, and the middle."""
    steps = np.array([(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)])
    return m[:, None] + r[:, None] * steps


@pytest.mark.parametrize("name", THREE)
@pytest.mark.parametrize("which", BOUNDS)
def test_bounds_hold_and_are_near(which: str, name: str) -> None:
    """The bound covers the corners; for a point it is the value; what is met is the value in the middle."""
    make, true = BOUNDS[which]
    F = made(name)
    m, r = boxes(F)
    bound, met, _ = compile_test(make(F), F.n, "tried")(m, r, 0.0)
    value = true(values(name, inside(m, r)))
    size = max(1.0, float(np.abs(value).max()))
    assert (bound >= value.max(axis=1) - 1e-14 * size).all()
    middle = true(values(name, m))
    assert np.abs(met - middle).max() < 1e-6 * size
    assert (bound[:4] - middle[:4]).max() < 1e-9 * size  # points
    # A box of radii r moves the functions by first and second derivatives: not much more is added.
    move = 3.0 * (r @ F.sizes.slope.sum(axis=1) + np.einsum("bi,bj,ij->b", r, r, F.sizes.bend.sum(axis=2)))
    assert (bound <= middle + move + 1e-9 * size).all()


@pytest.mark.parametrize("name", THREE)
@pytest.mark.parametrize("which", PROOFS)
def test_no_eigenvalue_is_above_what_is_proved(which: str, name: str) -> None:
    make, true = PROOFS[which]
    F = made(name)
    m, r = boxes(F)
    test = compile_test(make(F), F.n, "tried")
    largest = true(values(name, inside(m, r))).max(axis=1)
    proved = 0
    for middle, radius, value in zip(m, r, largest.tolist(), strict=True):
        below, above = value - 1e-9 * max(1.0, abs(value)), value + 1e-6 * max(1.0, abs(value))
        assert test(middle[None], radius[None], below)[0] == np.inf
        proved += bool(test(middle[None], radius[None], above)[0] == above)
    assert proved >= 4  # points at least


@pytest.mark.parametrize("rows", [(0, 1), (1,)])
def test_forms_hold(rows: tuple[int, ...]) -> None:
    """max over unit x of ‖(xᵀ Γ_k x)_k‖ is the largest λ_max(Σ w_k Γ_k)/‖w‖: no box that passes has a larger one."""
    F, k = made("six"), len(rows)
    rng = np.random.default_rng(3)
    test = compile_test(partial(enclosures.largest_form, F, rows), F.n + k, "tried")
    passed = 0
    m, r = boxes(F, 80)
    for axis in range(k):
        w, p = rng.uniform(-0.7, 0.7, (len(m), k)), r[:, :1] * rng.uniform(0, 0.1, (len(m), k))
        w[:, axis], p[:, axis] = rng.choice([-1.0, 1.0], len(m)), 0.0
        steps = np.array([(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)])
        tilts = np.array([(c,) * k for c in (-1, 0, 1)] + [(1, -1), (-1, 1)][: k - 1] * (k - 1))
        for middle, radius, face, tilt in zip(m, r, w, p, strict=True):
            f = values("six", middle + radius * steps).reshape(3, 2, -1)[:, list(rows)]
            found = []
            for y in face + tilts * tilt:
                A = np.tensordot(y, np.moveaxis(f, 1, 0), axes=1)
                found.append(eigenvalue(A).max() / np.linalg.norm(y))
            value, here = max(found), (np.concatenate([middle, face])[None], np.concatenate([radius, tilt])[None])
            center = np.tensordot(face, np.moveaxis(values("six", middle).reshape(3, 2)[:, list(rows)], 1, 0), axes=1)
            size = max(1.0, abs(value))
            for t in value + size * np.array([-3.0, -0.1, -1e-9, 1e-6, 0.1, 3.0]):
                bound, met, _ = test(*here, float(t))
                assert bound[0] > t or value <= t + 1e-12 * size
                assert met[0] == pytest.approx(eigenvalue(center) / np.linalg.norm(face), rel=1e-6, abs=1e-6 * size)
                passed += bool(bound[0] <= t)
    assert passed > 100


# Functions that doubles lose: x₁ is less than half a unit in the last place of x₀, so that the kernel finds zero.
LOST = 1e-11
FAR = (1e6 - 1.0, 1e6 + 1.0)
ABSORBED: dict[str, Callable] = {
    "first": lambda x: [(x[0] + x[1]) - x[0], 0.0 * x[1], 0.0 * x[1]],
    "second": lambda x: [0.0 * x[1], (x[0] + x[1]) - x[0], 0.0 * x[1]],
    "all": lambda x: [(x[0] + x[1]) - x[0], (x[0] - x[1]) - x[0], x[0] - (x[0] - x[1])],
}


@cache
def absorbed(name: str) -> Family:
    box = Box(np.array([FAR[0], -LOST]), np.array([FAR[1], LOST]), np.array(SLIDES))
    found = family(ABSORBED[name], Joints((0, 1), (1.0, 1.0), (0.0, 0.0), SLIDES), box)
    assert found is not None
    return found


def exact(name: str, q: np.ndarray) -> np.ndarray:
    """The functions at a state with 50 digits."""
    with mpmath.workdps(50):
        return np.array([float(f) for f in ABSORBED[name]([mpmath.mpf(float(x)) for x in q])])


@pytest.mark.parametrize("name", ABSORBED)
@pytest.mark.parametrize("which", {**BOUNDS, **PROOFS})
def test_rounding_is_part_of_every_enclosure(which: str, name: str) -> None:
    """At points where the kernel finds zero instead of ±LOST: the bound covers the exact value, and no threshold below
    the exact value is proved."""
    make, true = {**BOUNDS, **PROOFS}[which]
    F = absorbed(name)
    test = compile_test(make(F), F.n, "tried")
    r = np.zeros((1, 2))
    for m in np.array([[[x, y]] for x in (FAR[0], 1e6, FAR[1]) for y in (-LOST, LOST)]):
        wanted = float(true(exact(name, m[0])))
        for t in (0.0, 0.3 * wanted, 0.9 * wanted, -LOST):
            if which not in PROOFS or t < wanted:
                assert test(m, r, t)[0][0] >= wanted
    assert abs(exact(name, np.array([1e6, LOST]))).max() == LOST  # zero in doubles:
    assert 1e6 + LOST == 1e6 == 1e6 - LOST


def test_the_reserve_for_rounding_grows_with_the_functions() -> None:
    """Sums and products of values and slopes lose up to a share of what these can be over the whole box. Each bound
    adds that share, for functions a million times as large a million times as much."""
    for which, (make, _) in BOUNDS.items():
        added = []
        for size in (1.0, 1e6):

            def function(x, size=size):
                return [size * k * (x[0] * x[0] + x[0] * x[1] + x[1] * x[1]) for k in (1.0, 2.0, 3.0)]

            unit = Box(np.array([-1.0, -1.0]), np.array([1.0, 1.0]), np.array(SLIDES))
            F = family(function, Joints((0, 1), (1.0, 1.0), (0.0, 0.0), SLIDES), unit)
            assert F is not None
            zero = np.zeros((1, 2))  # a point at which every function is zero
            added.append(float(compile_test(make(F), F.n, "tried")(zero, zero, 0.0)[0][0]))
            spread = F.sizes.value.sum() + F.sizes.slope.sum()  # all radii are 1
            assert added[-1] >= 64 * UNIT * spread, which
        assert added[1] == pytest.approx(1e6 * added[0], rel=0.01), which
    assert enclosures.RELATIVE >= 1 + 1000 * 2 * UNIT  # a thousand operations on positive numbers


def test_forms_are_searched_in_every_direction() -> None:
    """The faces of the cube hold a multiple of each unit vector, and no vector shorter than 1: the rows whose squares
    are added apart make no difference to that."""
    from dalembert.bounds.quantities import _forms

    F, k = made("six"), 2
    tests, m, r, rest = _forms(F, 1.0)
    assert len(tests) == 1 and rest == 0.0 and m.shape == (4, F.n + k)
    assert np.array_equal(m[:, : F.n], np.tile(F.box.middle, (4, 1)))
    assert np.array_equal(r[:, : F.n], np.tile(F.box.radius, (4, 1)))
    faces = {(tuple(a), tuple(b)) for a, b in zip(m[:, F.n :].tolist(), r[:, F.n :].tolist(), strict=True)}
    unit = {((s, 0.0), (0.0, 1.0)) for s in (-1.0, 1.0)} | {((0.0, s), (1.0, 0.0)) for s in (-1.0, 1.0)}
    assert faces == unit
