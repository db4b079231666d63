"""Expansions with rounding: what the certified bounds add for rounding covers the exact error, joint by joint.

Every function is written twice: over the scalars of the library, and over 50 digits of mpmath, which is the truth."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dalembert import scalar
from dalembert.bounds.functions import CIRCLE, Box, Joints
from dalembert.bounds.taylor import DEGREE, GRID, UNIT, Family, Rounded, _coefficients, errors, family, sizes
from dalembert.compile import compile_function

TINY = 1e-11  # less than half a unit in the last place of 1e6: 1e6 + TINY == 1e6
mpmath.mp.dps = 50


def joints(*sliding: bool, rate: float = 1.0, offset: float = 0.0) -> Joints:
    n = len(sliding)
    return Joints(tuple(range(n)), (rate,) * n, (offset,) * n, sliding)


def box(*rows: tuple[float, float], sliding: tuple[bool, ...]) -> Box:
    lower, upper = np.array(rows, float).T
    return Box(lower, upper, np.array(sliding))


SLIDES = (True, True)
TURN_AND_SLIDE = (False, True)
TURN = (-CIRCLE, CIRCLE)
# name → (sliding, ranges, function of (module with sin and cos, positions))
CASES: dict[str, tuple[tuple[bool, ...], list[tuple[float, float]], Callable]] = {
    "absorbed sum": (SLIDES, [(1e6 - 1, 1e6 + 1), (-TINY, TINY)], lambda m, x: [(x[0] + x[1]) - x[0]]),
    "absorbed sum, away from zero": (
        SLIDES,
        [(1e6 - 1, 1e6 + 1), (TINY, 3 * TINY)],
        lambda m, x: [(x[0] + x[1]) - x[0], x[1] * x[0]],
    ),
    "absorbed sum, negative": (SLIDES, [(-1e6, -1e6 + 1), (-TINY, TINY)], lambda m, x: [(x[0] + x[1]) - x[0]]),
    "square of a difference": (
        SLIDES,
        [(1e6 - 1e-3, 1e6 + 1e-3), (1e6 - 2e-3, 1e6)],
        lambda m, x: [x[0] * x[0] - 2.0 * x[0] * x[1] + x[1] * x[1]],
    ),
    "square": (SLIDES, [(-1.0, 3.0), (2.0, 2.0)], lambda m, x: [x[0] * x[0], x[0] * x[1], -0.1 * x[1]]),
    "lever with a slide": (
        TURN_AND_SLIDE,
        [TURN, (1e6 - 1, 1e6 + 1)],
        lambda m, x: [m.sin(x[0]) * x[1] - m.sin(x[0]) * 1e6, m.cos(x[0]) * m.cos(x[0]) * x[1] + 3.0 * m.sin(x[0])],
    ),
    "absorbed lever": (
        TURN_AND_SLIDE,
        [TURN, (-TINY, TINY)],
        lambda m, x: [(1e6 * m.cos(x[0]) + x[1]) - 1e6 * m.cos(x[0])],
    ),
    "absorbed lever beside a turn": (
        TURN_AND_SLIDE,
        [TURN, (-TINY, TINY)],
        lambda m, x: [(1e6 * m.cos(x[0]) + x[1]) - 1e6 * m.cos(x[0]) + 1e-12 * m.sin(x[0])],
    ),
    # Second derivatives of less than 1e-10 of the largest value, which are not worth a product in every box.
    "neglected bends": (SLIDES, [(-2.0, 2.0), (-2.0, 2.0)], lambda m, x: [1.0 * x[1], 1e-11 * x[0] * x[0]]),
    "two turns": (
        (False, False),
        [TURN, (-1.0, 0.5)],
        lambda m, x: [m.sin(x[0]) * m.cos(x[1]) + 0.3 * m.cos(x[0] + x[1]), m.sin(x[1]) * m.sin(x[1])],
    ),
}


def compiled(function: Callable, n: int):
    count = len(function(scalar, [0.0] * n))
    return compile_function(lambda x: function(scalar, x), [(n,)], [(count,)], "tried")


def points(whole: Box, count: int) -> np.ndarray:
    """Corners and random points, as doubles inside the box."""
    rng = np.random.default_rng(5)
    shares = np.vstack([rng.integers(0, 2, (count, whole.n)), rng.random((count, whole.n))])
    return np.clip(whole.lower + shares * (whole.upper - whole.lower), whole.lower, whole.upper)


def exact(function: Callable, at: np.ndarray, *orders: int) -> list[mpmath.mpf]:
    """Each function, or a partial derivative of it, at a point."""
    place = [mpmath.mpf(float(v)) for v in at]
    count = len(function(mpmath, place))
    if not any(orders):
        return function(mpmath, place)
    return [mpmath.diff(lambda *x, o=o: function(mpmath, x)[o], place, orders) for o in range(count)]


@pytest.mark.parametrize("name", CASES)
def test_sizes_hold_with_rounding(name: str) -> None:
    """|f|, |∂f| and |∂∂f| of the exact function, at random points and corners, stay below the sizes."""
    sliding, ranges, function = CASES[name]
    n, whole = len(ranges), box(*ranges, sliding=sliding)
    found = sizes(compiled(function, n), whole, joints(*sliding))
    assert found is not None
    for at in points(whole, 5):
        for i in range(n):
            for j in range(i, n):
                bend = exact(function, at, *[(k == i) + (k == j) for k in range(n)])
                assert all(abs(x) <= b for x, b in zip(bend, found.bend[i, j], strict=True)), (at, i, j)
            slope = exact(function, at, *[int(k == i) for k in range(n)])
            assert all(abs(x) <= s for x, s in zip(slope, found.slope[i], strict=True)), (at, i)
        assert all(abs(x) <= v for x, v in zip(exact(function, at), found.value, strict=True)), at


@pytest.mark.parametrize("name", CASES)
def test_expansions_hold_with_rounding(name: str) -> None:
    """On random parts of the box, exact f − (f(m) + slope (q − m)) is at most the remainder, all as computed."""
    sliding, ranges, function = CASES[name]
    n, whole = len(ranges), box(*ranges, sliding=sliding)
    made = family(lambda x: function(scalar, x), joints(*sliding), whole)
    assert made is not None
    expand = expansion(made)
    rng = np.random.default_rng(6)
    for share in (0.0, 1e-3, 0.3, 1.0):
        r = share * whole.radius
        m = np.clip(whole.middle + (whole.radius - r) * rng.uniform(-1, 1, n), whole.lower, whole.upper)
        value, slope, remainder = expand(m, r)
        for at in (np.clip(m + r * s, whole.lower, whole.upper) for s in rng.uniform(-1, 1, (4, n)).round()):
            wanted = exact(function, at)
            for o, f in enumerate(wanted):
                steps = [mpmath.mpf(float(at[i])) - mpmath.mpf(float(m[i])) for i in range(n)]
                if any(abs(s) > r[i] for i, s in enumerate(steps)):
                    continue  # rounding of the sum has left the part
                linear = mpmath.mpf(float(value[o])) + sum(
                    mpmath.mpf(float(slope[i, o])) * s for i, s in enumerate(steps)
                )
                assert abs(f - linear) <= remainder[o], (share, o)


def expansion(made: Family) -> Callable:
    n, count = made.n, len(made.slack)

    def flat(m, r):
        x = made.expand(m, r)
        return x.value, [s for i in range(n) for s in (row[i] for row in x.slope)], x.remainder

    kernel = compile_function(flat, [(n,), (n,)], [(count,), (n * count,), (count,)], "expanded")

    def numbers(m: np.ndarray, r: np.ndarray):
        value, slope, remainder = kernel(m, r)
        return value, slope.reshape(n, count), remainder

    return numbers


def test_the_absorbed_terms_are_lost_in_doubles() -> None:
    """The cases above need the rounding terms: the kernel returns zero where the exact value is not."""
    for name in ("absorbed sum", "absorbed lever"):
        sliding, ranges, function = CASES[name]
        q = box(*ranges, sliding=sliding).upper
        if not sliding[0]:
            q = np.array([0.0, q[1]])
        assert compiled(function, 2)(q)[0] == 0 < TINY / 2 < exact(function, q)[0]


def test_waves_between_the_points_of_the_fine_grid() -> None:
    """cos 2(x − π/16) is largest half way between two of sixteen points per turn, where the grid sees 0.924 of it."""
    off = math.pi / 16

    def function(m, x):
        return [m.cos(2.0 * (y - off)) for y in x] + [m.cos(2.0 * (x[0] - off)) * m.cos(2.0 * (x[1] - off))]

    waves = compile_function(lambda x: double_angles(function, x), [(2,)], [(3,)], "tried")
    found = sizes(waves, box(TURN, TURN, sliding=(False, False)), joints(False, False))
    assert found is not None
    assert (found.value >= 1).all() and (found.slope[[0, 1, 0, 1], [0, 1, 2, 2]] >= 2).all()
    assert (found.bend[[0, 1, 0, 1, 0], [0, 1, 0, 1, 1], [0, 1, 2, 2, 2]] >= 4).all()
    assert found.value.max() < 1 + 1e-6 and found.bend.max() < 4 + 1e-6


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_fine_grid_is_worth_it(count: int) -> None:
    """sin y + sin 2y is 1.76 at most, though its coefficients add up to 2; a product over joints gains by each."""
    peak = max(math.sin(t / 1000) + math.sin(t / 500) for t in range(3142))

    def function(x):
        return [math.prod((scalar.sin(y) * (1.0 + 2.0 * scalar.cos(y)) for y in x), start=1.0)]

    waves = compile_function(function, [(count,)], [(1,)], "tried")
    found = sizes(waves, box(*[TURN] * count, sliding=(False,) * count), joints(*[False] * count))
    assert found is not None
    assert peak**count <= found.value[0] <= min(2.0, peak / math.cos(math.pi / 8)) ** count * (1 + 1e-6)


def double_angles(function: Callable, x):
    """The function with cos 2(x − φ) as squares: of second degree in sine and cosine of each argument."""

    class Squares:
        @staticmethod
        def cos(twice):
            return 2.0 * scalar.cos(twice * 0.5) * scalar.cos(twice * 0.5) - 1.0

    return function(Squares, x)


def test_remainders_of_products_are_exact() -> None:
    """x₀² and x₀ x₁ over a box: r₀² and r₀ r₁, but for rounding."""
    sliding, _, function = CASES["square"]
    made = family(lambda x: function(scalar, x), joints(*sliding), box((-1.0, 3.0), (1.0, 2.0), sliding=sliding))
    assert made is not None
    remainder = expansion(made)(np.array([0.5, 1.25]), np.array([0.3, 0.2]))[2]
    assert remainder == pytest.approx([0.09, 0.06, 0.0], rel=1e-6, abs=1e-12)


def test_sizes_of_powers_are_exact() -> None:
    sliding, ranges, function = CASES["square"]
    found = sizes(compiled(function, 2), box(*ranges, sliding=sliding), joints(*sliding))
    assert found is not None
    assert found.value == pytest.approx([9.0, 6.0, 0.2], rel=1e-6)
    assert found.slope[0] == pytest.approx([6.0, 2.0, 0.0], rel=1e-6)
    assert found.bend[0, 0] == pytest.approx([2.0, 0.0, 0.0], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("sliding", [True, False])
@pytest.mark.parametrize("ends", [(-3.0, 3.0), (1e6, 1e6 + 1e-3), (-7.25, -7.25), (-1e-9, 5.0), (-4e5, 1.0)])
def test_reach_covers_the_box_and_the_nodes(sliding: bool, ends: tuple[float, float]) -> None:
    one = box(ends, sliding=(sliding,))
    assert one.reach[0] >= max(map(abs, ends))
    assert one.reach[0] >= np.abs(one.nodes(0, DEGREE)).max()


@pytest.mark.parametrize("ends", [(-3.0, 3.0), (0.1, 0.7), (1e6 - 0.1, 1e6), (0.3, 0.3), (-1e-9, 5.0)])
def test_radius_covers_the_box_exactly(ends: tuple[float, float]) -> None:
    one = box(ends, sliding=(True,))
    m, r = Fraction(float(one.middle[0])), Fraction(float(one.radius[0]))
    assert m - r <= Fraction(ends[0]) and Fraction(ends[1]) <= m + r
    assert r <= (Fraction(ends[1]) - Fraction(ends[0])) / 2 + Fraction(2, 10**9)


def test_mimic_joints_move_the_reach() -> None:
    """x = −2 q + 5 over q in [1e6, 1e6 + 1]."""
    whole = box((1e6, 1e6 + 1), sliding=(True,))
    spread = whole.spread(joints(True, rate=-2.0, offset=5.0))
    assert (spread.lower[0], spread.upper[0]) == (-2e6 + 3, -2e6 + 5)
    assert spread.reach[0] >= 2e6 - 3


@pytest.mark.parametrize("x", [0.1, 1e6 / 3, -7e-5])
@pytest.mark.parametrize("y", [0.3, -1e3 / 7])
def test_the_rounding_scalar_covers_each_operation(x: float, y: float) -> None:
    """Sum, product, sine and cosine of arguments that are themselves off by one unit in the last place."""
    from dalembert.compile.graph import Graph
    from dalembert.compile.lower import lower

    graph = Graph()
    a, b = graph.input(0, 0), graph.input(0, 1)
    results = [a + b, a - b, a * b, scalar.sin(a), scalar.cos(b), a * 0.1, -a, (a + b) * (a - b)]
    own = [Rounded(abs(v), abs(v) * 2 * UNIT) for v in (x, y)]
    (bound,) = errors(lower(graph, [results]), [own])
    for s in (-1, 0, 1):
        u, v = (mpmath.mpf(z) * (1 + s * 2 * mpmath.mpf(UNIT)) for z in (x, y))
        true = [u + v, u - v, u * v, mpmath.sin(u), mpmath.cos(v), u * mpmath.mpf(0.1), -u, (u + v) * (u - v)]
        met = [x + y, x - y, x * y, np.sin(x), np.cos(y), x * 0.1, -x, (x + y) * (x - y)]
        for k, (t, f) in enumerate(zip(true, met, strict=True)):
            assert abs(mpmath.mpf(float(f)) - t) <= bound[k], k


def test_products_that_underflow_have_an_error() -> None:
    """1e-200² is 1e-400, for which doubles have zero."""
    product = Rounded(1e-200) * Rounded(1e-200)
    assert product.size + product.error >= mpmath.mpf("1e-400") and product.error >= mpmath.mpf("1e-400")


def test_a_grid_that_is_too_large_is_not_made() -> None:
    """Five points for each of nine joints, for each of eleven functions, are more than GRID; for ten, fewer."""
    turning = joints(*[False] * 9)
    whole = box(*[TURN] * 9, sliding=(False,) * 9)
    many = compiled(lambda m, x: [sum((m.sin(y) for y in x), 0.1 * k) for k in range(11)], 9)
    assert 10 * 5**9 <= GRID < 11 * 5**9 and sizes(many, whole, turning) is None


@pytest.mark.parametrize("size", [1.0, 1e6])
def test_the_transform_has_a_share_of_the_largest_value(size: float) -> None:
    """Five products and their sum, each to a unit of what goes in: eight units each are reserved."""
    kernel = compile_function(lambda x: [size * scalar.cos(x[0])], [(1,)], [(1,)], "tried")
    c, error = _coefficients(kernel, box(TURN, sliding=(False,)), [0])
    assert np.abs(np.abs(c[:, 0]) - size * np.array([0, 0.5, 0, 0.5, 0])).max() <= error[0]
    assert 8 * (5 + 3) * UNIT * size <= error[0] <= 200 * UNIT * size
