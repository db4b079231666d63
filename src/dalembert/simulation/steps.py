"""One step of length dt, as calls over blocks of scalars (`compile.rollout`): the table of fixed-step methods.

The blocks of a step are t, dt, x, u, p; work in between lies in `stage` = (t, x) of the point at which the rate is
wanted, and k1, k2, … = what it was there. The rate is one function, called once per stage, so that its code exists
once however many stages a method has. Explicit Runge–Kutta methods are rows of data:

    kᵢ = f(t + cᵢ h, x + h Σⱼ aᵢⱼ kⱼ),   x⁺ = x + h Σᵢ bᵢ kᵢ,   cᵢ = Σⱼ aᵢⱼ

A row is a method: its order, the rows of A below the diagonal (the first stage has none) and b. The order is proved by
the conditions on rooted trees in tests/simulation/test_fixed.py. Where positions lie on a group the same methods run in
its tangent space at x, with kᵢ the rate there (`Rates.correct`): those of Munthe-Kaas, of the same order.
Sources: Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I, §II.1, II.5; Ralston 1962; Butcher 1964;
Cooper & Verner 1972.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction as F
from functools import partial
from math import sqrt

from dalembert.compile.rollout import Call
from dalembert.scalar import Scalar, absolute, maximum

Scalars = Sequence[Scalar]
ITERATIONS = 10


@dataclass(frozen=True)
class Rates:
    """ẋ = rate(t, x, u, p) of n states, of which `positions` are positions q, which `velocities` rates follow;
    `settle(t, before, x, u, p)` after each step. `advance(q, d)` goes from q along the tangent vector d, q + d if not
    given: the rate then has `velocities` entries for q, which `correct(d, v, order)` makes the rate of d at q ⊕ d.
    `transport`: of states (q, p), as `Flow` has it."""

    n: int
    positions: int
    rate: Callable[[Scalar, Scalars, Scalars, Scalars], Sequence[Scalar]]
    settle: Callable[[Scalar, Scalars, Scalars, Scalars, Scalars], Sequence[Scalar]] | None = None
    velocities: int | None = None
    advance: Callable[[Scalars, Scalars], Sequence[Scalar]] | None = None
    correct: Callable[[Scalars, Scalars, int], Sequence[Scalar]] | None = None
    transport: Callable[[Scalars, Scalars], tuple[Scalars, Scalars, Scalars]] | None = None

    @property
    def nv(self) -> int:
        return self.positions if self.velocities is None else self.velocities

    @property
    def size(self) -> int:
        """Entries of the rate."""
        return self.n - self.positions + self.nv

    def moved(self, q: Scalars, h: Scalar, v: Scalars) -> list[Scalar]:
        """q ⊕ h v."""
        return _plus(q, h, v) if self.advance is None else list(self.advance(q, [h * a for a in v]))

    def plus(self, x: Scalars, h: Scalar, k: Scalars) -> list[Scalar]:
        """x ⊕ h k of the whole state."""
        if self.advance is None:
            return _plus(x, h, k)
        nq, nv = self.positions, self.nv
        return [*self.moved(x[:nq], h, k[:nv]), *_plus(x[nq:], h, k[nv:])]

    def settled(self, t: Scalar, dt: Scalar, before: Scalars, x: Scalars, u: Scalars, p: Scalars) -> Sequence[Scalar]:
        return x if self.settle is None else self.settle(t + dt, before, x, u, p)

    def at_stage(self) -> Callable[..., Sequence[Scalar]]:
        """The rate at a stage, one function object for all of a step's calls."""

        def rate(stage: Scalars, u: Scalars, p: Scalars) -> Sequence[Scalar]:
            return self.rate(stage[0], stage[1:], u, p)

        return rate


@dataclass(frozen=True)
class Step:
    """The calls of a step, and the sizes of the blocks they need besides those of every rollout. With `judged` the
    state has one entry more, its last: the largest residual that any step has left so far."""

    calls: tuple[Call, ...]
    sizes: dict[str, int]
    judged: bool = False


def _plus(x: Scalars, h: Scalar, k: Scalars) -> list[Scalar]:
    return [a + h * b for a, b in zip(x, k, strict=True)]


def _weighted(weights: Sequence[Number], stages: Sequence[Scalars]) -> list[Scalar]:
    """Σ wⱼ kⱼ."""
    total: list[Scalar] = [0.0] * len(stages[0])
    for w, k in zip(weights, stages, strict=True):
        total = [a + float(w) * b for a, b in zip(total, k, strict=True)]
    return total


_AT = ("stage", "u", "p")
_STEP = ("t", "dt", "x", "u", "p")


def runge_kutta(tableau: Tableau, system: Rates) -> Step:
    """An explicit method: per stage the point, then the rate there; at last the new state."""
    rate = system.at_stage()
    calls: list[Call] = []
    for i, (row, c) in enumerate(zip(tableau.a, tableau.c, strict=True)):
        used = [j for j, a in enumerate(row) if a]
        weights = [row[j] for j in used]

        def point(
            t: Scalar, dt: Scalar, x: Scalars, *k: Scalars, c: Number = c, w: Sequence[Number] = weights
        ) -> list[Scalar]:
            return [t + float(c) * dt, *(system.plus(x, dt, _weighted(w, k)) if k else x)]

        calls.append(Call(point, ("t", "dt", "x", *(f"k{j + 1}" for j in used)), "stage"))
        curved = system.correct is not None and used
        calls.append(Call(rate, _AT, "rate" if curved else f"k{i + 1}"))
        if curved:  # the rate of h Σ aᵢⱼ kⱼ, not the velocity at the point it leads to

            def straighten(dt: Scalar, own: Scalars, *k: Scalars, w: Sequence[Number] = weights) -> list[Scalar]:
                assert system.correct is not None
                d = [dt * x for x in _weighted(w, k)[: system.nv]]
                return [*system.correct(d, own[: system.nv], tableau.order), *own[system.nv :]]

            calls.append(Call(straighten, ("dt", "rate", *(f"k{j + 1}" for j in used)), f"k{i + 1}"))
    used = [j for j, b in enumerate(tableau.b) if b]

    def finish(t: Scalar, dt: Scalar, x: Scalars, u: Scalars, p: Scalars, *k: Scalars) -> Sequence[Scalar]:
        new = system.plus(x, dt, _weighted([tableau.b[j] for j in used], k))
        return system.settled(t, dt, x, new, u, p)

    calls.append(Call(finish, (*_STEP, *(f"k{j + 1}" for j in used)), "new"))
    sizes = {"stage": 1 + system.n, **{f"k{i + 1}": system.size for i in range(tableau.stages)}}
    return Step(tuple(calls), sizes if system.correct is None else {**sizes, "rate": system.size})


def semi_implicit_euler(system: Rates) -> Step:
    """q̇⁺ = q̇ + dt q̈(q, q̇), q⁺ = q + dt q̇⁺; what is of first order by Euler's rule.

    Symplectic where M is constant and q̈ depends on q alone: energy then stays near its value for ever. Where M depends
    on q it drifts, a hundred times slower than by Euler's rule; implicit midpoint in momenta does not."""
    n, end = system.positions, system.positions + system.nv

    def step(t: Scalar, dt: Scalar, x: Scalars, u: Scalars, p: Scalars) -> Sequence[Scalar]:
        new = system.plus(x, dt, system.rate(t, x, u, p))
        new[:n] = system.moved(x[:n], dt, new[n:end])
        return system.settled(t, dt, x, new, u, p)

    return Step((Call(step, _STEP, "new"),), {})


def verlet(system: Rates) -> Step:
    """v = q̇ + ½ dt q̈(q, q̇), q⁺ = q + dt v, q̇⁺ = v + ½ dt q̈(q⁺, v): Störmer–Verlet, or leapfrog.

    Symplectic and of order two where q̈ depends on q alone; of order one where it depends on q̇ too."""
    n, nv = system.positions, system.nv

    def start(t: Scalar, dt: Scalar, x: Scalars) -> list[Scalar]:
        return [t, *x]

    def middle(t: Scalar, dt: Scalar, x: Scalars, k: Scalars) -> list[Scalar]:
        half = _plus(x[n:], 0.5 * dt, k[nv:])
        return [t + dt, *system.moved(x[:n], dt, half[:nv]), *half]

    def finish(
        t: Scalar, dt: Scalar, x: Scalars, u: Scalars, p: Scalars, stage: Scalars, k: Scalars
    ) -> Sequence[Scalar]:
        new = [*stage[1 : n + 1], *_plus(stage[n + 1 :], 0.5 * dt, k[nv:])]
        return system.settled(t, dt, x, new, u, p)

    rate = system.at_stage()
    calls = (
        Call(start, ("t", "dt", "x"), "stage"),
        Call(rate, _AT, "k1"),
        Call(middle, ("t", "dt", "x", "k1"), "stage"),
        Call(rate, _AT, "k2"),
        Call(finish, (*_STEP, "stage", "k2"), "new"),
    )
    return Step(calls, {"stage": 1 + system.n, "k1": system.size, "k2": system.size})


def implicit_midpoint(system: Rates, iterations: int = ITERATIONS) -> Step:
    """x⁺ = x + dt f(t + ½ dt, ½ (x + x⁺)), by so many evaluations of z ← x + ½ dt f(z), the last giving x⁺ = 2z − x.

    Symmetric, of order two; symplectic where x are canonical coordinates (q, p). The residual is the largest change
    that the last evaluation made to z: the iteration gains a factor ½ dt ‖∂f/∂x‖ each time, and does not converge where
    that is above one. Momenta on a group are stepped as `momentum_midpoint` says."""
    n = system.n
    rate, middle, end = momentum_midpoint(system) if system.transport is not None else vector_midpoint(system)

    def start(t: Scalar, dt: Scalar, x: Scalars) -> list[Scalar]:
        return [t + 0.5 * dt, *x[:n]]

    def again(t: Scalar, dt: Scalar, x: Scalars, k: Scalars) -> list[Scalar]:
        return [t + 0.5 * dt, *middle(x[:n], dt, k)]

    def finish(t: Scalar, dt: Scalar, x: Scalars, u: Scalars, p: Scalars, stage: Scalars, k: Scalars) -> list[Scalar]:
        worst = x[n]
        for before, after in zip(stage[1:], middle(x[:n], dt, k), strict=True):
            worst = maximum(absolute(after - before), worst)
        return [*system.settled(t, dt, x[:n], end(x[:n], dt, k), u, p), worst]

    calls = [Call(start, ("t", "dt", "x"), "stage"), Call(rate, _AT, "k1")]
    for _ in range(iterations - 1):
        calls += [Call(again, ("t", "dt", "x", "k1"), "stage"), Call(rate, _AT, "k1")]
    calls.append(Call(finish, (*_STEP, "stage", "k1"), "new"))
    return Step(tuple(calls), {"stage": 1 + n, "k1": system.size}, judged=True)


Point = Callable[[Scalars, Scalar, Scalars], list[Scalar]]


def vector_midpoint(system: Rates) -> tuple[Callable[..., Sequence[Scalar]], Point, Point]:
    """(the rate k at a stage, (x, dt, k) → the stage half way, → x at the end)."""
    return system.at_stage(), lambda x, dt, k: system.plus(x, 0.5 * dt, k), lambda x, dt, k: system.plus(x, dt, k)


def momentum_midpoint(system: Rates) -> tuple[Callable[..., Sequence[Scalar]], Point, Point]:
    """The same of (q, p) on a group, with the velocity v and what acts, f = ṗ − ad_vᵀ p, at the middle m of the step:

        q_m = q ⊕ ½ dt v,   p_m = ½ B (p + A p + dt f),   q⁺ = q ⊕ dt v,   p⁺ = A (A p + dt f)

    with A = Ad_exp(½ dt v)ᵀ and B its average from 0 to ½ dt v. It is what the discrete Lagrangian dt L(q_m, v)
    demands: symplectic, symmetric, and momenta that no force changes keep every bit that rounding leaves
    (Marsden & West 2001, part 1; Bou-Rabee & Marsden 2009)."""
    n, nv, transport = system.positions, system.nv, system.transport
    assert transport is not None
    more = n + nv  # what follows the momenta is stepped as a vector

    def rate(stage: Scalars, u: Scalars, p: Scalars) -> list[Scalar]:
        own = system.rate(stage[0], stage[1:], u, p)
        turned = transport(own[:nv], stage[n + 1 : more + 1])[0]
        return [*own[:nv], *(a - b for a, b in zip(own[nv : 2 * nv], turned, strict=True)), *own[2 * nv :]]

    def pushed(x: Scalars, dt: Scalar, k: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        half = [0.5 * dt * v for v in k[:nv]]
        return half, _plus(transport(half, x[n:more])[1], dt, k[nv : 2 * nv])

    def middle(x: Scalars, dt: Scalar, k: Scalars) -> list[Scalar]:
        half, after = pushed(x, dt, k)
        both = [0.5 * (a + b) for a, b in zip(x[n:more], after, strict=True)]
        moved = system.moved(x[:n], 0.5 * dt, k[:nv])
        return [*moved, *transport(half, both)[2], *_plus(x[more:], 0.5 * dt, k[2 * nv :])]

    def end(x: Scalars, dt: Scalar, k: Scalars) -> list[Scalar]:
        half, after = pushed(x, dt, k)
        moved = system.moved(x[:n], dt, k[:nv])
        return [*moved, *transport(half, after)[1], *_plus(x[more:], dt, k[2 * nv :])]

    return rate, middle, end


# ------------------------------------------------------------------------------------------------ methods as data
Number = F | float
Row = tuple[Number, ...]


@dataclass(frozen=True)
class Tableau:
    """One method; `a[i]` are the weights of stages 0 … i−1 in stage i."""

    order: int
    a: tuple[Row, ...]
    b: Row

    @property
    def stages(self) -> int:
        return len(self.b)

    @property
    def c(self) -> Row:
        return tuple(sum(row, F(0)) for row in self.a)


_0 = F(0)
_R = sqrt(21.0)

TABLEAUX: dict[str, Tableau] = {
    "euler": Tableau(1, ((),), (F(1),)),
    "midpoint": Tableau(2, ((), (F(1, 2),)), (_0, F(1))),
    "heun": Tableau(2, ((), (F(1),)), (F(1, 2), F(1, 2))),
    "ralston": Tableau(2, ((), (F(2, 3),)), (F(1, 4), F(3, 4))),
    "rk3": Tableau(3, ((), (F(1, 2),), (F(-1), F(2))), (F(1, 6), F(2, 3), F(1, 6))),
    "rk4": Tableau(4, ((), (F(1, 2),), (_0, F(1, 2)), (_0, _0, F(1))), (F(1, 6), F(1, 3), F(1, 3), F(1, 6))),
    "three-eighths": Tableau(
        4, ((), (F(1, 3),), (F(-1, 3), F(1)), (F(1), F(-1), F(1))), (F(1, 8), F(3, 8), F(3, 8), F(1, 8))
    ),
    "dormand-prince": Tableau(  # the fifth-order method of the pair; its seventh stage only estimates the error
        5,
        (
            (),
            (F(1, 5),),
            (F(3, 40), F(9, 40)),
            (F(44, 45), F(-56, 15), F(32, 9)),
            (F(19372, 6561), F(-25360, 2187), F(64448, 6561), F(-212, 729)),
            (F(9017, 3168), F(-355, 33), F(46732, 5247), F(49, 176), F(-5103, 18656)),
        ),
        (F(35, 384), _0, F(500, 1113), F(125, 192), F(-2187, 6784), F(11, 84)),
    ),
    "rk6": Tableau(
        6,
        (
            (),
            (F(1, 3),),
            (_0, F(2, 3)),
            (F(1, 12), F(1, 3), F(-1, 12)),
            (F(-1, 16), F(9, 8), F(-3, 16), F(-3, 8)),
            (_0, F(9, 8), F(-3, 8), F(-3, 4), F(1, 2)),
            (F(9, 44), F(-9, 11), F(63, 44), F(18, 11), _0, F(-16, 11)),
        ),
        (F(11, 120), _0, F(27, 40), F(27, 40), F(-4, 15), F(-4, 15), F(11, 120)),
    ),
    "rk8": Tableau(  # eleven stages; R = √21
        8,
        (
            (),
            (F(1, 2),),
            (F(1, 4), F(1, 4)),
            (F(1, 7), (-7 - 3 * _R) / 98, (21 + 5 * _R) / 49),
            ((11 + _R) / 84, _0, (18 + 4 * _R) / 63, (21 - _R) / 252),
            ((5 + _R) / 48, _0, (9 + _R) / 36, (-231 + 14 * _R) / 360, (63 - 7 * _R) / 80),
            (
                (10 - _R) / 42,
                _0,
                (-432 + 92 * _R) / 315,
                (633 - 145 * _R) / 90,
                (-504 + 115 * _R) / 70,
                (63 - 13 * _R) / 35,
            ),
            (F(1, 14), _0, _0, _0, (14 - 3 * _R) / 126, (13 - 3 * _R) / 63, F(1, 9)),
            (F(1, 32), _0, _0, _0, (91 - 21 * _R) / 576, F(11, 72), (-385 - 75 * _R) / 1152, (63 + 13 * _R) / 128),
            (
                F(1, 14),
                _0,
                _0,
                _0,
                F(1, 9),
                (-733 - 147 * _R) / 2205,
                (515 + 111 * _R) / 504,
                (-51 - 11 * _R) / 56,
                (132 + 28 * _R) / 245,
            ),
            (
                _0,
                _0,
                _0,
                _0,
                (-42 + 7 * _R) / 18,
                (-18 + 28 * _R) / 45,
                (-273 - 53 * _R) / 72,
                (301 + 53 * _R) / 72,
                (28 - 28 * _R) / 45,
                (49 - 7 * _R) / 18,
            ),
        ),
        (F(1, 20), _0, _0, _0, _0, _0, _0, F(49, 180), F(16, 45), F(49, 180), F(1, 20)),
    ),
}


@dataclass(frozen=True)
class Method:
    """A row: how a step is made, its order, and whether it needs to be told positions from other states; `nodes` are
    the instants at which it wants rates, as parts of the step."""

    order: int
    make: Callable[..., Step]
    mechanical: bool = False  # the state must begin with positions and their rates
    iterated: bool = False
    nodes: tuple[float, ...] = (0.0,)


def _row(tableau: Tableau) -> Method:
    return Method(tableau.order, partial(runge_kutta, tableau), nodes=tuple(float(c) for c in tableau.c))


METHODS: dict[str, Method] = {
    **{name: _row(tableau) for name, tableau in TABLEAUX.items()},
    "semi-implicit-euler": Method(1, semi_implicit_euler, mechanical=True),
    "verlet": Method(2, verlet, mechanical=True, nodes=(0.0, 1.0)),
    "implicit-midpoint": Method(2, implicit_midpoint, iterated=True, nodes=(0.5,)),
}
