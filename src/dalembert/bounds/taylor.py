"""Functions over a small box: their value and derivatives in the middle, and what is left, proved.

For |q − m| ≤ r, f_o(q) = f_o(m) + Σ_i ∂_i f_o(m) (q_i − m_i) + remainder, |remainder| ≤ ½ Σ_ij sup|∂_i∂_j f_o| r_i r_j.
The second derivatives are bounded over the whole box once (`sizes`). What rounding does to f and ∂f in the middle
is bounded once too (`rounding`) and added to the remainder, as are second derivatives too small to be worth a product.

How large a function and its derivatives get, from its coefficients as a trigonometric polynomial.

M, Γ, g and their kin are polynomials in sin q_i, cos q_i of the turning joints, of degree d ≤ 2 in each, and in q_i of
the sliding ones: f = Σ_κ a_κ Π_i φ_κi(q_i), with φ = e^{ikq} for |k| ≤ d, or ((q − mid)/rad)^k over a slide's range.
Values on a grid of 2d + 1 points per turning joint (d + 1 per sliding one) give all a_κ at once, joint after joint, and

    |f| ≤ Σ |a_κ|,    |∂_i f| ≤ Σ |a_κ| sup|φ'_κi|,    |∂_i ∂_j f| ≤ Σ |a_κ| sup|φ'_κi| sup|φ'_κj|.

Rounding is included: every |a_κ| is raised by the error of the values (`rounding`) and of the transform.

How far a computed number may lie from the true one, known before anything is computed.

`Rounded` is a scalar: a bound on the true value and one on its error. Replayed on it, a program of sums, products,
sines and cosines tells the largest error of each of its results over a whole range of arguments, by the standard model
of floating-point arithmetic, fl(a ∘ b) = (a ∘ b)(1 + δ), |δ| ≤ u (Higham 2002, §2.2). A fused multiply–add rounds once
where a product and a sum round twice, so that the two stand for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert import scalar
from dalembert.arguments import Array
from dalembert.bounds.functions import Box, Joints
from dalembert.compile.gradient import jacobian
from dalembert.compile.graph import Graph
from dalembert.compile.interpret import replay
from dalembert.compile.kernel import Kernel, compile_function
from dalembert.compile.lower import Program, lower
from dalembert.scalar import Scalar

UNIT = 2.0**-53  # half a unit in the last place of 1
TRIGONOMETRIC = 4 * UNIT  # sin and cos are within two units in the last place: tests/compile/test_trigonometry.py
UNDERFLOW = 1e-300  # what a product may lose below the smallest normal number, generously
SAFE = 1.01  # the bounds are sums of positive numbers: their own rounding is far below a hundredth
GRID = 20_000_000  # numbers on a grid: beyond, too much memory and time
SAFE_SUM = 1 + 1e-8  # sums of up to GRID positive terms, and the sums over them
FINE = 16  # points per turn of the fine grid
WORK = 3e8  # numbers on all fine grids of one function
DEGREE = 2  # of M and Γ in every joint; what has less gets zeros
MUTE = 2  # joints on which a function may well not depend: the first one, a last one
NEGLIGIBLE = 1e-10  # of the family's largest value: second derivatives that do less are added up beforehand


@dataclass(frozen=True)
class Rounded:
    """|true value| ≤ size, |computed − true| ≤ error."""

    size: float
    error: float = 0.0

    def __add__(self, other: Scalar) -> Rounded:
        other = _rounded(other)
        size, error = self.size + other.size, self.error + other.error
        return Rounded(size, error + UNIT * (size + error))

    __radd__ = __add__
    __sub__ = __add__
    __rsub__ = __add__

    def __mul__(self, other: Scalar) -> Rounded:
        other = _rounded(other)
        size = self.size * other.size
        error = self.size * other.error + other.size * self.error + self.error * other.error
        return Rounded(size, error + UNIT * (size + error) + UNDERFLOW)

    __rmul__ = __mul__

    def __neg__(self) -> Rounded:
        return self

    def circular(self) -> Rounded:
        """sin or cos of it."""
        return Rounded(1.0, min(self.error, 2.0) + TRIGONOMETRIC)


scalar.sin.register(Rounded)(Rounded.circular)
scalar.cos.register(Rounded)(Rounded.circular)


def _rounded(x: Scalar) -> Rounded:
    return x if isinstance(x, Rounded) else Rounded(abs(float(x)))


def errors(program: Program, arguments: Sequence[Sequence[Rounded]]) -> list[NDArray[np.float64]]:
    """The largest error of every result, for all arguments within the given bounds."""
    results = replay(program, arguments)
    return [SAFE * np.array([_rounded(x).error for x in group]) for group in results]


@dataclass(frozen=True, eq=False)
class Sizes:
    """Proved over the box, for functions f_o of q: |f_o| ≤ value[o], |∂_i f_o| ≤ slope[i, o], |∂_i∂_j f_o| ≤
    bend[i, j, o]."""

    value: Array
    slope: Array
    bend: Array


def dependence(program: Program, n: int) -> NDArray[np.bool_]:
    """(results, n): which positions of the first argument each result of the first group depends on."""
    found: list[int] = []
    for step in program.steps:
        if step.operation == "input":
            argument, position = step.value
            found.append(1 << position if argument == 0 else 0)
        else:
            mask = 0
            for k in step.operands:
                mask |= found[k]
            found.append(mask)
    return np.array([[bool(found[k] >> i & 1) for i in range(n)] for k in program.outputs[0]]).reshape(-1, n)


def sizes(kernel: Kernel, box: Box, joints: Joints) -> Sizes | None:
    """The sizes of a kernel's only result over the box, or None where a grid would be too large.

    The kernel's argument is the position of every single joint, some of which may follow others."""
    m, whole = len(joints.rate), box.spread(joints)
    depends = dependence(kernel.program, m)
    active = [i for i in range(m) if depends[:, i].any()]
    count = math.prod(whole.points(i, DEGREE) for i in active) * len(depends)
    if count > GRID or not all(whole.finite(i) for i in active):
        return None
    c, error = _coefficients(kernel, whole, active)
    value, slope, bend = np.zeros(len(depends)), np.zeros((m, len(depends))), np.zeros((m, m, len(depends)))
    sup = _Suprema(c, error, whole, active)
    value = sup.of(())
    for i in active:
        slope[i] = sup.of((i,))
        for j in active:
            if j >= i:
                bend[i, j] = bend[j, i] = sup.of((i, j))
    slope[~depends.T] = 0.0
    bend[~(depends.T[:, None] & depends.T[None, :])] = 0.0
    w = np.abs(joints.rates(box.n))
    return Sizes(SAFE_SUM * value, SAFE_SUM * (w.T @ slope), SAFE_SUM * np.einsum("ai,bj,abo->ijo", w, w, bend))


def _coefficients(kernel: Kernel, joints: Box, active: Sequence[int]) -> tuple[NDArray[np.complex128], Array]:
    """a_κ, one axis per active joint and one for the results, and how far each may be from the true one."""
    nodes = [joints.nodes(i, DEGREE) for i in active]
    shape = [len(x) for x in nodes]
    q = np.tile(joints.middle, (math.prod(shape), 1))
    mesh = np.meshgrid(*nodes, indexing="ij") if active else []
    for i, values in zip(active, mesh, strict=True):
        q[:, i] = values.reshape(-1)
    f = kernel(q).reshape(*shape, -1)
    # The grid's own points are rounded too, which acts as an error of the arguments.
    far = [Rounded(x, 4 * UNIT * x) for x in np.where(np.isfinite(joints.reach), joints.reach, 0.0)]
    error = errors(kernel.program, [far])[0]
    largest = np.abs(f).reshape(-1, f.shape[-1]).max(axis=0) if f.size else np.zeros(f.shape[-1])
    c = f.astype(complex)
    for k, i in enumerate(active):
        P = joints.transform(i, DEGREE)
        growth = float(np.abs(P).sum(axis=1).max())  # at least 1
        error = growth * error + 8 * (len(P) + 3) * UNIT * growth * (largest + error)
        largest = growth * largest
        c = np.moveaxis(np.tensordot(P, c, axes=(1, k)), 0, k)
    return c, SAFE * error


class _Suprema:
    """Bounds on sup |∂ f| from coefficients.

    Of a few joints, the strong ones, the sum is taken on a fine grid: a trigonometric polynomial of degree d is at most
    1/cos(dδ/2) times its largest value on a grid of spacing δ < π/d, joint by joint (Ehlich & Zeller 1964). Of the
    others, absolute values are summed."""

    def __init__(self, c: NDArray[np.complex128], error: Array, box: Box, active: Sequence[int]) -> None:
        self.box, self.active, self.error = box, list(active), error
        spread = [np.abs(c).sum(axis=tuple(a for a in range(c.ndim) if a != k)) for k in range(len(active))]
        weight = [
            s @ box.slopes(i, DEGREE) if not box.sliding[i] else -1.0 for s, i in zip(spread, active, strict=True)
        ]
        order = sorted(range(len(active)), key=lambda k: -weight[k])
        turning = [k for k in order if weight[k] > 0]
        results = c.shape[-1]
        self.count = next(
            (s for s in (3, 2, 1) if s <= len(turning) and c.size / 5**s * FINE**s * (s + 1) * (s + 2) / 2 <= WORK), 0
        )
        strong = turning[: self.count]
        weak = [k for k in range(len(active)) if k not in strong]
        self.strong, self.weak = [active[k] for k in strong], [active[k] for k in weak]
        moved = np.transpose(c, [*weak, c.ndim - 1, *strong])
        self.shape = [c.shape[k] for k in weak]
        self.c = moved.reshape(-1, results, *[c.shape[k] for k in strong])
        self.modes = np.indices(self.shape).reshape(len(weak), len(self.c))
        self.known: dict[tuple[int, ...], Array] = {}

    def of(self, joints: tuple[int, ...]) -> Array:
        """sup |∂_joints f| of each result."""
        table = {1: self.box.slopes, 2: self.box.bends}
        w = np.ones(self.c.shape[0])
        for k, i in enumerate(self.weak):
            times = joints.count(i)
            if times:
                w = w * table[times](i, DEGREE)[self.modes[k]]
        return np.asarray(w @ self._peaks(tuple(i for i in joints if i in self.strong)))

    def _peaks(self, joints: tuple[int, ...]) -> Array:
        """(weak modes, results): the largest |∂ of the strong joints' part|."""
        if joints not in self.known:
            k = np.arange(-DEGREE, DEGREE + 1)
            factors = [k.astype(float) ** joints.count(i) for i in self.strong]  # (ik)^times, but for its phase
            absolute = np.abs(self.c) + self.error.reshape(1, -1, *[1] * len(factors))
            for f in reversed(factors):
                absolute = absolute @ np.abs(f)
            # Most modes are next to nothing: the few that make up the sum are worth a fine grid.
            total = absolute.sum(axis=1)
            large = total > 1e-3 * total.sum() / len(total) if len(factors) else np.zeros(len(total), bool)
            peaks = absolute.copy()
            for w in np.flatnonzero(large):
                fine = self._fine(self.c[w], factors)
                peak = np.abs(fine).reshape(len(fine), -1).max(axis=1)
                # errors of the coefficients, and rounding of sums of fewer than 200 terms
                slip = len(k) ** len(factors) * self.error * DEGREE ** len(joints) + 400 * UNIT * absolute[w]
                peaks[w] = np.minimum(absolute[w], (peak + slip) / math.cos(DEGREE * math.pi / FINE) ** len(factors))
            self.known[joints] = peaks
        return self.known[joints]

    def _fine(self, c: NDArray[np.complex128], factors: list[Array]) -> NDArray[np.complex128]:
        """(results, …) on the fine grid, from (results, 5, …) coefficients."""
        k = np.arange(-DEGREE, DEGREE + 1)
        waves = np.exp(2j * np.pi * np.outer(k, np.arange(FINE)) / FINE)
        for f in factors:  # each takes the first axis after the results and leaves its grid last
            c = np.moveaxis(c, 1, -1) @ (f[:, None] * waves)
        return c


@dataclass(frozen=True)
class Expansion:
    """At the middle m of a box with radii r, all as scalars: values f_o, slopes ∂_i f_o, remainders ≥ 0."""

    value: list[Any]
    slope: list[list[Any]]
    remainder: list[Any]


@dataclass(frozen=True, eq=False)
class Family:
    """Functions of one name over one box, with what is known of them beforehand. slack (o): rounding and what was
    neglected."""

    n: int
    function: Callable[[Any], list[Any]]  # of coordinates
    box: Box
    sizes: Sizes
    slack: Array

    def expand(self, m: list[Any], r: list[Any]) -> Expansion:
        """The expansion about m, over scalars of a trace."""
        f = self.function(m)
        D = jacobian(m[0].graph, f, m)
        H = self._kept
        products: dict[tuple[int, int], Any] = {}
        left = []
        for o in range(len(f)):
            total: Any = float(self.slack[o])
            for i in range(self.n):
                for j in range(i, self.n):
                    h = float(H[i, j, o]) * (0.5 if i == j else 1.0)
                    if h:
                        if (i, j) not in products:
                            products[i, j] = r[i] * r[j]
                        total = total + h * products[i, j]
            left.append(total)
        return Expansion(f, D, left)

    @property
    def _kept(self) -> Array:
        return np.where(self._small, 0.0, self.sizes.bend)

    @property
    def _small(self) -> NDArray[np.bool_]:
        return _small(self.sizes, self.box.radius)


def _small(found: Sizes, radius: Array) -> NDArray[np.bool_]:
    R = np.where(np.isfinite(radius), radius, 0.0)
    effect = found.bend * R[:, None, None] * R[None, :, None]
    return np.asarray(effect <= NEGLIGIBLE * float(found.value.max(initial=0.0)))


def family(of_joints: Callable[[Any], list[Any]], joints: Joints, box: Box) -> Family | None:
    """What must be known of functions of the joints' positions before boxes are looked at; None where it cannot be
    had: too many joints, or a slide without limits."""
    m = len(joints.rate)
    count = len(of_joints([0.0] * m))
    if count * 5 ** max(m - MUTE, 0) > GRID:
        return None  # before it is traced, which takes long too
    kernel = compile_function(of_joints, [(m,)], [(count,)], "bounded")
    found = sizes(kernel, box, joints)
    if found is None:
        return None

    def of_coordinates(q: Sequence[Scalar]) -> list[Any]:
        return of_joints(joints.positions(q))

    return Family(box.n, of_coordinates, box, found, _rounding(of_coordinates, box, found))


def _rounding(function: Callable[[Any], list[Any]], box: Box, found: Sizes) -> Array:
    """(o,): |errors of f + Σ r_i errors of ∂_i f + neglected second derivatives| over the box."""
    graph = Graph()
    q = [graph.input(0, i) for i in range(box.n)]
    f = function(q)
    D = jacobian(graph, f, q)
    program = lower(graph, [f, [x for row in D for x in row]])
    radius = np.where(np.isfinite(box.radius), box.radius, 0.0)  # no function depends on an infinite slide
    far = [Rounded(float(abs(a) + r)) for a, r in zip(box.middle, radius, strict=True)]
    value, slope = errors(program, [far])
    neglected = np.where(_small(found, radius), found.bend, 0.0)
    left = 0.5 * np.einsum("ijo,i,j->o", neglected, radius, radius)
    return np.asarray(1.01 * (value + slope.reshape(len(f), -1) @ radius + left))
