"""What is bounded: the table of quantities. For each, what is met at a state, what is proved at once, and the tests
that prove thresholds box by box.

M(q) symmetric: ‖M‖₂ = λ_max, ‖M‖₁ = ‖M‖_∞ = the largest column's Σ|M_ij|, and λ_min from below. g(q) in any norm. For
c(q, q̇), c_k = q̇ᵀ Γ_k q̇, the smallest c_b with ‖c‖ ≤ c_b ‖q̇‖²:

    1-norm  c_b ≤ max_ij Σ_k |Γ_ijk|     ∞-norm  c_b ≤ max_k Σ_ij |Γ_ijk|     2-norm  c_b = max_y λ_max(Σ_k y_k Γ_k)

over unit y. The first two are attained where the largest pair is i = j, or where all signs can be had at once, and may
be too large else; the gap tells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dalembert.arguments import Array
from dalembert.bounds import enclosures
from dalembert.bounds.branch import Test
from dalembert.bounds.functions import pairs
from dalembert.bounds.taylor import Family
from dalembert.compile.kernel import compile_function
from dalembert.scalar import Scalar
from dalembert.system import Jointed

ROWS = 4  # equations whose combinations are searched: a sphere of three dimensions beside the joints'


@dataclass(frozen=True)
class Quantity:
    """A row: which function, which norm, which side. `sign` −1 for what is bounded from below, so that everything is
    maximized."""

    name: str
    function: str
    norm: float
    side: str
    symbol: str
    met: Callable[[Any, Array], Array]  # (robot, states) → value
    tests: Callable[[Family, float], tuple[list[Callable[..., Any]], Array, Array, float]]
    at_once: Callable[[Family], float]
    unit: str = "kg m²"
    speeds: bool = False  # whether a state is (q, q̇)

    @property
    def sign(self) -> float:
        return 1.0 if self.side == "upper" else -1.0


# what is met


def _eigen(sign: float, robot: Jointed, q: Array) -> Array:
    w = np.linalg.eigvalsh(robot.mass_matrix(q))
    return np.asarray(w[..., -1] if sign > 0 else w[..., 0])


def _column_sum(robot: Jointed, q: Array) -> Array:
    return np.asarray(np.abs(robot.mass_matrix(q)).sum(axis=-1).max(axis=-1))


def _weight(norm: float, robot: Jointed, q: Array) -> Array:
    return np.asarray(np.linalg.norm(robot.gravity_torque(q), norm, axis=-1))


def _steepness(robot: Jointed, q: Array) -> Array:
    S = robot.once("gravity slope", lambda: robot.kernel("gravity_torque").derivative("q"))(q)
    return np.asarray(np.abs(np.linalg.eigvalsh(0.5 * (S + np.swapaxes(S, -1, -2)))).max(axis=-1))


def _velocity_force(norm: float, robot: Jointed, z: Array) -> Array:
    n = robot.n
    q, x = z[..., :n], z[..., n:]
    c = robot.coriolis_torque(q, x)
    return np.asarray(np.linalg.norm(c, norm, axis=-1) / np.linalg.norm(x, norm, axis=-1) ** 2)


# tests: kernels' functions, the first boxes, and what is added to a proved threshold (in squares)

Tests = tuple[list[Callable[..., Any]], Array, Array, float]


def _whole(family: Family) -> tuple[Array, Array]:
    """One box: joints that the function does not depend on stand still."""
    depends = family.sizes.slope.max(axis=1, initial=0.0) > 0
    r = np.where(depends, family.box.radius, 0.0)
    return family.box.middle[None], r[None]


def _plain(*tests: Callable[..., Any]) -> Callable[[Family, float], Tests]:
    return lambda family, best: ([partial(t, family) for t in tests], *_whole(family), 0.0)


def _signed(sign: float, *tests: Callable[..., Any]) -> Callable[[Family, float], Tests]:
    return lambda family, best: ([partial(t, family, sign) for t in tests], *_whole(family), 0.0)


def _grouped(test: Callable[..., Any], groups: Callable[[int], Any]) -> Callable[[Family, float], Tests]:
    return lambda family, best: ([partial(test, family, groups(family.n))], *_whole(family), 0.0)


def _columns(n: int) -> list[list[tuple[int, float]]]:
    place = {p: o for o, p in enumerate(pairs(n))}
    return [[(place[min(i, j), max(i, j)], 1.0) for i in range(n)] for j in range(n)]


def _all_entries(n: int) -> list[list[tuple[int, float]]]:
    return [[(k, 1.0) for k in range(n)]]


def _each_entry(n: int) -> list[list[tuple[int, float]]]:
    return [[(k, 1.0)] for k in range(n)]


def _by_pair(n: int) -> list[list[tuple[int, float]]]:
    return [[(o * n + k, 1.0) for k in range(n)] for o in range(len(pairs(n)))]


def _by_equation(n: int) -> list[list[tuple[int, float]]]:
    return [[(o * n + k, 1.0 if i == j else 2.0) for o, (i, j) in enumerate(pairs(n))] for k in range(n)]


def _two_sided(family: Family, best: float) -> Tests:
    """|λ| of an indefinite matrix: both signs must pass, which one box for each says."""
    return [partial(_either_sign, family)], *_whole(family), 0.0


def _either_sign(family: Family, m: list[Any], r: list[Any], t: Scalar) -> enclosures.Result:
    up, down = (enclosures.definite(family, sign, m, r, t, even=True) for sign in (1.0, -1.0))
    return enclosures.worse(up, down)


def _forms(family: Family, best: float) -> Tests:
    """Combinations of the equations that matter; the others' squares are added. Faces of a cube, both signs."""
    peaks = _equation_norms(family)
    order = np.argsort(-peaks)
    for k in range(1, min(ROWS, len(order)) + 1):
        rest = float((peaks[order[k:]] ** 2).sum())
        if np.sqrt(best**2 + rest) <= 1.01 * best:
            break
    else:
        rest = np.inf
    rows = sorted(order[:k].tolist())
    middle, radius = _whole(family)
    m, r = [], []
    for axis in range(k):
        for side in (1.0, -1.0):
            face = np.zeros(k)
            face[axis] = side
            m.append(np.concatenate([middle[0], face]))
            r.append(np.concatenate([radius[0], np.where(face == 0, 1.0, 0.0)]))
    return [partial(enclosures.largest_form, family, rows)], np.array(m), np.array(r), rest


def _equation_norms(family: Family) -> Array:
    """For each equation k, ‖sup|Γ_k|‖₂."""
    n = family.n
    G = family.sizes.value.reshape(-1, n)
    out = np.zeros(n)
    for k in range(n):
        S = np.zeros((n, n))
        for o, (i, j) in enumerate(pairs(n)):
            S[i, j] = S[j, i] = G[o, k]
        out[k] = np.abs(np.linalg.eigvalsh(S)).max() * (1 + 1e-12)
    return out


# what is proved at once, from the largest values of the entries


def _largest_group(groups: Callable[[int], Any]) -> Callable[[Family], float]:
    return lambda f: max(sum(w * float(f.sizes.value[o]) for o, w in group) for group in groups(f.n)) * (1 + 1e-12)


def _spectral(family: Family) -> float:
    n = family.n
    S = np.zeros((n, n))
    for o, (i, j) in enumerate(pairs(n)):
        S[i, j] = S[j, i] = family.sizes.value[o]
    return float(np.abs(np.linalg.eigvalsh(S)).max()) * (1 + 1e-12)


def _euclid(family: Family) -> float:
    return float(np.linalg.norm(family.sizes.value)) * (1 + 1e-12)


def _all_forms(family: Family) -> float:
    return float(np.linalg.norm(_equation_norms(family))) * (1 + 1e-12)


def _nothing(family: Family) -> float:
    return 0.0  # norms are never below


def _unknown(family: Family) -> float:
    return -float("inf")  # files may hold inertias of which M is not positive


ONE, TWO, MAX = 1.0, 2.0, float("inf")
Q = Quantity
QUANTITIES: tuple[Quantity, ...] = (
    Q(
        "mu1",
        "mass",
        TWO,
        "lower",
        "μ₁",
        partial(_eigen, -1.0),
        _signed(-1.0, enclosures.definite, enclosures.largest_eigenvalue),
        _unknown,
    ),
    Q("mu2", "mass", TWO, "upper", "μ₂", partial(_eigen, 1.0), _signed(1.0, enclosures.definite), _spectral),
    Q(
        "mass_norm_least",
        "mass",
        ONE,
        "lower",
        "min ‖M‖₁",
        _column_sum,
        _grouped(enclosures.least_sums, _columns),
        _nothing,
    ),
    Q(
        "mass_norm",
        "mass",
        ONE,
        "upper",
        "max ‖M‖₁",
        _column_sum,
        _grouped(enclosures.sums, _columns),
        _largest_group(_columns),
    ),
    Q(
        "gravity_1",
        "gravity",
        ONE,
        "upper",
        "g_b, 1-norm",
        partial(_weight, ONE),
        _grouped(enclosures.sums, _all_entries),
        _largest_group(_all_entries),
        "N m",
    ),
    Q(
        "gravity_2",
        "gravity",
        TWO,
        "upper",
        "g_b, 2-norm",
        partial(_weight, TWO),
        _plain(enclosures.length),
        _euclid,
        "N m",
    ),
    Q(
        "gravity_inf",
        "gravity",
        MAX,
        "upper",
        "g_b, ∞-norm",
        partial(_weight, MAX),
        _grouped(enclosures.sums, _each_entry),
        _largest_group(_each_entry),
        "N m",
    ),
    Q("gravity_slope", "slope", TWO, "upper", "max ‖∂g/∂q‖₂", _steepness, _two_sided, _spectral, "N m/rad"),
    Q(
        "coriolis_1",
        "christoffel",
        ONE,
        "upper",
        "c_b, 1-norm",
        partial(_velocity_force, ONE),
        _grouped(enclosures.sums, _by_pair),
        _largest_group(_by_pair),
        "kg m²",
        True,
    ),
    Q(
        "coriolis_2",
        "christoffel",
        TWO,
        "upper",
        "c_b, 2-norm",
        partial(_velocity_force, TWO),
        _forms,
        _all_forms,
        "kg m²",
        True,
    ),
    Q(
        "coriolis_inf",
        "christoffel",
        MAX,
        "upper",
        "c_b, ∞-norm",
        partial(_velocity_force, MAX),
        _grouped(enclosures.sums, _by_equation),
        _largest_group(_by_equation),
        "kg m²",
        True,
    ),
)


def compile_test(function: Callable[..., Any], size: int, name: str) -> Test:
    """A test as one kernel over many boxes."""
    kernel = compile_function(
        lambda m, r, t: function(m, r, t[0]), [(size,), (size,), (1,)], [(1,), (1,), (size,)], f"bound_{name}"
    )
    _ = kernel.ufunc  # compiled now, not while the clock of a proof runs

    def test(m: Array, r: Array, t: float) -> tuple[Array, Array, Array]:
        bound, value, share = kernel(m, r, np.array([t]), threads="all")
        return bound[:, 0], value[:, 0], share

    return test
