"""Bounds over a box of states, as functions of its middle m, its radii r and a threshold t, over a trace's scalars.

Each gives (bound, a value that is met in the box, share of each joint in the excess); a box is done with when its bound
is at most t. All but `definite` are of second order: where the quantity is largest inside a box its slope is nought,
and what remains goes with r². They hold with rounding: `RELATIVE` covers sums of positive terms, and constants of the
family cover what may cancel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert import scalar
from dalembert.algorithms.linear import total
from dalembert.bounds.functions import pairs, symmetric
from dalembert.bounds.taylor import UNIT, Expansion, Family
from dalembert.scalar import Scalar

Result = tuple[list[Any], list[Any], list[Any]]
Square = list[list[Scalar]]
RELATIVE = 1 + 1e-12  # fewer than a thousand operations on positive numbers, each to 1.2e-16
SWEEPS = 3
Group = Sequence[tuple[int, float]]  # (function, weight)


def _largest(values: Sequence[Any]) -> Scalar:
    out = values[0]
    for x in values[1:]:
        out = scalar.maximum(out, x)
    return out


def _spread(family: Family) -> float:
    """Σ over functions of how far they can be from nought, slopes over the whole box included: what rounding of sums
    of their values and slopes is in proportion to."""
    R = np.where(np.isfinite(family.box.radius), family.box.radius, 0.0)
    return float((family.sizes.value + R @ family.sizes.slope).sum())


# sums of absolute values


def sums(family: Family, groups: Sequence[Group], m: list[Any], r: list[Any], t: Scalar) -> Result:
    """max over groups of Σ w |f| from above.

    With σ the sign of f(m), |f| ≤ σ f + 2 max(0, E − |f(m)|), where E bounds |f(q) − f(m)|; and Σ w σ f is smooth."""
    x = family.expand(m, r)
    used = sorted({o for group in groups for o, _ in group})
    sign, excess = {}, {}
    for o in used:
        f = x.value[o]
        size = scalar.absolute(f)
        sign[o] = scalar.where(f < 0.0, -1.0, 1.0)
        move = total([scalar.absolute(d) * h for d, h in zip(x.slope[o], r, strict=True)]) + x.remainder[o]
        excess[o] = x.remainder[o] + 2.0 * scalar.maximum(move - size, 0.0)
    slip = 64 * UNIT * len(used) * _spread(family)
    uppers, values, scores = [], [], []
    for group in groups:
        value = total([w * scalar.absolute(x.value[o]) for o, w in group])
        slopes = [scalar.absolute(total([w * (sign[o] * x.slope[o][i]) for o, w in group])) for i in range(family.n)]
        linear = [s * h for s, h in zip(slopes, r, strict=True)]
        uppers.append(value + total(linear) + total([w * excess[o] for o, w in group]))
        values.append(value)
        scores.append(_shares(family, x, [(o, w) for o, w in group], linear, r))
    # of the group that is largest
    top = _largest(uppers)
    share = [0.0] * family.n
    for u, s in zip(uppers, scores, strict=True):
        share = [scalar.where(u >= top, a, b) for a, b in zip(s, share, strict=True)]
    return [top * RELATIVE + slip], [_largest(values)], share


def least_sums(family: Family, groups: Sequence[Group], m: list[Any], r: list[Any], t: Scalar) -> Result:
    """−(max over groups of Σ w |f|) from above: |f| ≥ σ f whatever the sign σ."""
    x = family.expand(m, r)
    slip = 64 * UNIT * len(x.value) * _spread(family)
    uppers, values, scores = [], [], []
    for group in groups:
        value = total([w * scalar.absolute(x.value[o]) for o, w in group])
        sign = {o: scalar.where(x.value[o] < 0.0, -1.0, 1.0) for o, _ in group}
        linear = [
            scalar.absolute(total([w * (sign[o] * x.slope[o][i]) for o, w in group])) * r[i] for i in range(family.n)
        ]
        lost = (total(linear) + total([w * x.remainder[o] for o, w in group])) * RELATIVE
        uppers.append(-(value * (2.0 - RELATIVE) - lost - slip))
        values.append(-value)
        scores.append(_shares(family, x, [(o, w) for o, w in group], linear, r))
    least, share = uppers[0], scores[0]
    for u, s in zip(uppers[1:], scores[1:], strict=True):
        share = [scalar.where(u < least, a, b) for a, b in zip(s, share, strict=True)]
        least = scalar.minimum(least, u)
    value = values[0]
    for v in values[1:]:
        value = scalar.minimum(value, v)
    return [least], [value], share


def _shares(family: Family, x: Expansion, group: Group, linear: list[Any], r: list[Any]) -> list[Any]:
    """Each joint's part in the excess: its slope's, half of the second derivatives it takes part in, and of what a
    change of sign costs."""
    out = []
    bend = sum(w * family.sizes.bend[:, :, o] for o, w in group)
    for i in range(family.n):
        curved = total([float(h) * r[j] for j, h in enumerate(np.asarray(bend)[i]) if h])
        moves = total([w * scalar.absolute(x.slope[o][i]) for o, w in group])
        out.append(linear[i] + 0.5 * r[i] * curved + 0.1 * r[i] * moves)
    return out


# the length of a vector


def length(family: Family, m: list[Any], r: list[Any], t: Scalar) -> Result:
    """‖f‖₂ ≤ √(‖f‖² + 2 Σ r_i |f·∂_i f| + (Σ r_i ‖∂_i f‖)²) + ‖remainder‖."""
    x = family.expand(m, r)
    n = family.n
    square = total([f * f for f in x.value])
    slip = 64 * UNIT * len(x.value) * _spread(family)
    along = [total([f * row[i] for f, row in zip(x.value, x.slope, strict=True)]) for i in range(n)]
    linear = [2.0 * scalar.absolute(a) * h for a, h in zip(along, r, strict=True)]
    steps = [scalar.sqrt(total([row[i] * row[i] for row in x.slope]) + TINY) * r[i] for i in range(n)]
    moved = total(steps)
    bent = scalar.sqrt(total([e * e for e in x.remainder]) + TINY)
    # f·∂f may cancel: its rounding is a share of the squares of sizes.
    under = square + total(linear) + moved * moved + slip * _spread(family)
    bound = (scalar.sqrt(under) + bent) * RELATIVE + slip
    value = scalar.sqrt(square + TINY)
    bend = np.sqrt((family.sizes.bend**2).sum(axis=2))
    share = []
    for i in range(n):
        curved = total([float(h) * r[j] for j, h in enumerate(bend[i]) if h])
        first = (linear[i] + moved * steps[i]) / (2.0 * scalar.sqrt(under) + TINY)
        share.append(first + 0.5 * r[i] * curved)
    return [bound], [value], share


# eigenvalues


def definite(family: Family, sign: float, m: list[Any], r: list[Any], t: Scalar, even: bool = False) -> Result:
    """λ_max(± A(q)) ≤ t, if t 1 ∓ A(q) is positive definite on the whole box: bound t if so, else infinity.

    With |A(q) − A(m)| ≤ E entry by entry, and any positive d, t 1 ∓ A(q) ⪰ t 1 ∓ A(m) − diag(Σ_b E_ab d_b / d_a), whose
    pivots of L D Lᵀ tell. Rounding: positive pivots prove that the matrix is positive definite but for (n + 3) u times
    its trace (Higham 2002, §10.1; Rump 2006). `d` follows the size of the diagonal, or is `even`."""
    x = family.expand(m, r)
    n = family.n
    parts: dict[tuple[int, int], Any] = {}
    for o in range(len(x.value)):
        for i in range(n):
            if family.sizes.slope[i, o]:
                bent = total([0.5 * float(h) * r[j] for j, h in enumerate(family.sizes.bend[i, :, o]) if h])
                slope = scalar.minimum(scalar.absolute(x.slope[o][i]) + bent, float(family.sizes.slope[i, o]))
                parts[i, o] = slope * r[i]
    moved = [total([parts[i, o] for i in range(n) if (i, o) in parts]) for o in range(len(x.value))]
    E = symmetric(n, [e + float(s) for e, s in zip(moved, family.slack, strict=True)])
    A = symmetric(n, [sign * f for f in x.value])
    trace = total([scalar.absolute(A[a][a]) for a in range(n)])
    # M is small where a joint carries little: there little may be taken off the diagonal of t 1 − M, but as much of
    # what is near to singular, M − t 1.
    root = [scalar.sqrt(scalar.absolute(A[a][a]) + TINY) for a in range(n)]
    d: list[Any] = [1.0] * n if even else root if sign > 0 else [1.0 / x for x in root]
    eps = 1e-14 * (n + 4) * (trace + n * scalar.absolute(t))
    X: dict[tuple[int, int], Any] = {}
    for a, b in pairs(n):
        taken = total([E[a][c] * (1.0 if a == c else d[c] / d[a]) for c in range(n)]) * RELATIVE
        X[a, b] = -A[a][b] if a != b else t - A[a][a] - taken - eps
    proved: Any = 1.0
    for j in range(n):
        pivot = X[j, j]
        proved = scalar.where(pivot > 0.0, proved, 0.0)  # false for NaN too
        inverse = 1.0 / pivot
        for a in range(j + 1, n):
            factor = X[j, a] * inverse
            for b in range(a, n):
                X[a, b] = X[a, b] - factor * X[j, b]
    weight: list[Any] = [1.0] * n if sign > 0 or even else d
    share = [
        total(
            [
                parts[i, o] * (weight[a] * weight[b] * (1.0 if a == b else 2.0))
                for o, (a, b) in enumerate(pairs(n))
                if (i, o) in parts
            ]
        )
        for i in range(n)
    ]
    return [scalar.where(proved > 0.5, t, np.inf)], [_largest([A[a][a] for a in range(n)])], share


def largest_eigenvalue(family: Family, sign: float, m: list[Any], r: list[Any], t: Scalar) -> Result:
    """λ_max(± A(q)) from above, A symmetric of the family's entries."""
    x = family.expand(m, r)
    n = family.n
    A = symmetric(n, [sign * f for f in x.value])
    D = [symmetric(n, [sign * row[i] for row in x.slope]) for i in range(n)]
    left = symmetric(n, x.remainder)
    bend = [[symmetric(n, family.sizes.bend[i, j].tolist()) for j in range(n)] for i in range(n)]
    bound, value, share = gershgorin(A, D, left, bend, r, 64 * n * UNIT * _spread(family))
    return [bound], [value], share


def worse(one: Result, other: Result) -> Result:
    """The larger of two bounds, with its shares."""
    (a,), (b,) = one[0], other[0]
    share = [scalar.where(a > b, x, y) for x, y in zip(one[2], other[2], strict=True)]
    return [scalar.maximum(a, b)], [scalar.maximum(one[1][0], other[1][0])], share


def largest_form(family: Family, rows: Sequence[int], m: list[Any], r: list[Any], t: Scalar) -> Result:
    """max over unit x of ‖c_rows(q, x)‖₂ from above, c_k = xᵀ Γ_k x, where it exceeds t.

    It is the largest λ_max of B = Σ y_k Γ_k over unit y; y = w/‖w‖ with w on the faces of a cube, so that ‖w‖ ≥ 1, and
    m, r go on with w after q. ‖w‖ is convex: t ‖w + η‖ ≥ t (‖w‖ + w·η/‖w‖), so that λ_max(B) − t ‖w‖ is bounded by that
    of a matrix linear in η; c ≤ t + that, if it is positive. The product of changes of w and of q is a remainder."""
    n, k = family.n, len(rows)
    q, h, w, p = m[:n], r[:n], m[n:], r[n:]
    x = family.expand(q, h)
    of = [[o * n + row for o in range(len(pairs(n)))] for row in rows]  # entries of Γ_row
    size = scalar.sqrt(total([y * y for y in w]))
    unit = [y / size for y in w]
    one = [1.0 if a == b else 0.0 for a, b in pairs(n)]

    def mixed(values: Sequence[Any]) -> list[Any]:
        return [total([y * values[of[l][o]] for l, y in enumerate(w)]) for o in range(len(pairs(n)))]

    A = [f - t * size * i for f, i in zip(mixed(x.value), one, strict=True)]
    D = [symmetric(n, mixed([row[i] for row in x.slope])) for i in range(n)]
    D += [symmetric(n, [x.value[o] - t * unit[l] * i for o, i in zip(of[l], one, strict=True)]) for l in range(k)]
    reach = [scalar.absolute(y) + e for y, e in zip(w, p, strict=True)]
    L = family.sizes.slope
    left = []
    for o in range(len(pairs(n))):
        own = total([a * x.remainder[of[l][o]] for l, a in enumerate(reach)])
        both = total(
            [p[l] * total([float(L[i, of[l][o]]) * h[i] for i in range(n) if L[i, of[l][o]]]) for l in range(k)]
        )
        left.append(own + both)
    none = symmetric(n, [0.0] * len(pairs(n)))
    bend = [[none] * (n + k) for _ in range(n + k)]
    for i in range(n):
        for j in range(n):
            H = family.sizes.bend[i, j]
            bend[i][j] = symmetric(n, [sum(float(H[of[l][o]]) for l in range(k)) for o in range(len(pairs(n)))])
        for l in range(k):
            cross = symmetric(n, [float(L[i, of[l][o]]) for o in range(len(pairs(n)))])
            bend[i][n + l] = bend[n + l][i] = cross
    slip = 64 * n * UNIT * (2 * k) * (_spread(family) + 1.0) * 4
    excess, top, share = gershgorin(symmetric(n, A), D, symmetric(n, left), bend, r, slip)
    extra = 64 * UNIT * (n + k) * scalar.absolute(t) * 8  # of t ‖w‖ and its slopes
    return [t + excess + scalar.absolute(excess) * 1e-12 + extra], [t + top / size], share


def gershgorin(
    A: Square, D: Sequence[Square], left: Square, bend: Sequence[Sequence[Square]], r: Sequence[Any], slip: float
) -> tuple[Any, Any, list[Any]]:
    """λ_max of every A + Σ δ_i D_i + R with |δ_i| ≤ r_i and |R_ab| ≤ left_ab, from above.

    In a basis V of near eigenvectors the matrix is nearly diagonal. For any positive d, λ_max ≤ max_a (A'_aa + Σ_b E_ab
    d_b / d_a), E the entries' radii; d = 1/(κ + λ_top − λ_a) makes what couples the top to others count with its
    square. V is what rounding made it: Vᵀ V = 1 + F with ‖F‖ bounded, which costs a factor 1/(1 − ‖F‖)."""
    n = len(A)
    V = eigenvectors(A, SWEEPS)
    rotated = _congruent(A, V)
    turned = [_congruent(B, V) if not _zero(B) else None for B in D]
    size = [[scalar.absolute(v) for v in row] for row in V]
    rest = _congruent(left, size)
    E: Square = [[0.0] * n for _ in range(n)]
    for a, b in pairs(n):
        moved = [scalar.absolute(B[a][b]) * h for B, h in zip(turned, r, strict=True) if B is not None]
        off = scalar.absolute(rotated[a][b]) if a != b else 0.0
        E[a][b] = E[b][a] = (total(moved) + rest[a][b] + off) * RELATIVE + slip
    top = _largest([rotated[a][a] for a in range(n)])
    kappa = 2.0 * _largest([total([E[a][b] for b in range(n) if b != a]) for a in range(n)]) if n > 1 else 0.0
    inverse = [kappa + (top - rotated[a][a]) + TINY for a in range(n)]  # 1/d
    ratio = [[1.0 if a == b else inverse[a] / inverse[b] for b in range(n)] for a in range(n)]  # d_b / d_a
    rows = [rotated[a][a] + total([E[a][b] * ratio[a][b] for b in range(n)]) for a in range(n)]
    bound = _largest(rows)
    share = _row_shares(rows, bound, ratio, size, turned, bend, r)
    products = [
        [total([V[k][a] * V[k][b] for k in range(n)]) - (1.0 if a == b else 0.0) for b in range(n)] for a in range(n)
    ]
    defect = _largest([total([scalar.absolute(x) for x in row]) for row in products]) + 64 * n * UNIT
    # 1/(1 − defect) ≤ 1 + 2 defect, and the same for a negative bound, as long as the defect is below one half
    bound = scalar.where(defect < 0.5, bound + scalar.absolute(bound) * (2.0 * defect + 1e-12), np.inf)
    return bound, top, share


def _row_shares(
    rows: list[Any],
    bound: Any,
    ratio: Square,
    size: Square,
    turned: Sequence[Square | None],
    bend: Sequence[Sequence[Square]],
    r: Sequence[Any],
) -> list[Any]:
    """Each variable's part in the radii of the row that gives the bound."""
    n = len(rows)
    chosen = [scalar.where(rows[a] >= bound, 1.0, 0.0) for a in range(n)]
    toward = [total([chosen[a] * ratio[a][b] for a in range(n)]) for b in range(n)]
    one = [total([size[k][a] * chosen[a] for a in range(n)]) for k in range(n)]
    other = [total([size[k][b] * toward[b] for b in range(n)]) for k in range(n)]
    share = []
    for i, h in enumerate(r):
        part: Any = 0.0
        B = turned[i]
        if B is not None:
            part = total([scalar.absolute(B[a][b]) * (chosen[a] * toward[b]) for a in range(n) for b in range(n)])
        for j, k in enumerate(r):
            H = bend[i][j]
            if not _zero(H):
                cells = [(a, b) for a in range(n) for b in range(n) if H[a][b]]
                part = part + 0.5 * k * total([H[a][b] * (one[a] * other[b]) for a, b in cells])
        share.append(part * h)
    return share


def _zero(A: Square) -> bool:
    return all(isinstance(x, (int, float)) and x == 0 for row in A for x in row)


def _congruent(A: Square, V: Square) -> Square:
    """Vᵀ A V."""
    n = len(A)
    AV = [[total([A[i][k] * V[k][j] for k in range(n)]) for j in range(n)] for i in range(n)]
    out: Square = [[0.0] * n for _ in range(n)]
    for a, b in pairs(n):
        out[a][b] = out[b][a] = total([V[k][a] * AV[k][b] for k in range(n)])
    return out


# Approximate eigenvectors over any scalar, by a fixed number of Jacobi's sweeps. Nothing is claimed of them: what is
# proved with their help holds for any matrix V. (Golub & Van Loan 2013, §8.5.)
TINY = 1e-290


def eigenvectors(A: Square, sweeps: int) -> Square:
    """V, columns nearly orthonormal, with Vᵀ A V nearly diagonal."""
    n = len(A)
    A = [list(row) for row in A]
    V: Square = [[1.0 if i == j else 0.0 for j in range(n)] for i in range(n)]
    for _ in range(sweeps):
        for p in range(n):
            for q in range(p + 1, n):
                _rotate(A, V, p, q)
    return V


def _rotate(A: Square, V: Square, p: int, q: int) -> None:
    """One rotation in the plane of p and q that makes A_pq zero."""
    a = A[p][q]
    if isinstance(a, float) and a == 0.0:
        return
    half = 0.5 * (A[q][q] - A[p][p])
    length = scalar.sqrt(half * half + a * a)
    t = scalar.where(half < 0.0, -a, a) / (scalar.absolute(half) + length + TINY)
    c = 1.0 / scalar.sqrt(1.0 + t * t)
    s = t * c
    A[p][p], A[q][q] = A[p][p] - t * a, A[q][q] + t * a
    A[p][q] = A[q][p] = 0.0
    for k in range(len(A)):
        if k not in (p, q):
            x, y = A[k][p], A[k][q]
            A[k][p] = A[p][k] = c * x - s * y
            A[k][q] = A[q][k] = s * x + c * y
        x, y = V[k][p], V[k][q]
        V[k][p], V[k][q] = c * x - s * y, s * x + c * y
