"""Enclosures of functions made up for the purpose: they hold in the corners, where quadratic functions attain them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pytest

from dalembert import scalar
from dalembert.bounds import QUANTITIES, enclosures
from dalembert.bounds.functions import CIRCLE, Box, Joints
from dalembert.bounds.quantities import compile_test
from dalembert.bounds.taylor import Family, family

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
