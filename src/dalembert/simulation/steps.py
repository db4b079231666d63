"""One step of length dt, as calls over blocks of scalars (`compile.rollout`): the table of fixed-step methods.

The blocks of a step are t, dt, x, u, p; work in between lies in `stage` = (t, x) of the point at which the rate is
wanted, and k1, k2, … = what it was there. The rate is one function, called once per stage, so that its code exists
once however many stages a method has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from dalembert.compile.rollout import Call
from dalembert.scalar import Scalar, absolute, maximum
from dalembert.simulation.tableaux import TABLEAUX, Tableau

Scalars = Sequence[Scalar]
ITERATIONS = 10


@dataclass(frozen=True)
class System:
    """ẋ = rate(t, x, u, p) of n states, `positions` of them positions, which as many rates follow; `settle(t, before,
    x, u, p)` after each step."""

    n: int
    positions: int
    rate: Callable[[Scalar, Scalars, Scalars, Scalars], Sequence[Scalar]]
    settle: Callable[[Scalar, Scalars, Scalars, Scalars, Scalars], Sequence[Scalar]] | None = None


@dataclass(frozen=True)
class Step:
    """The calls of a step, and the sizes of the blocks they need besides those of every rollout. With `judged` the
    state has one entry more, its last: the largest residual that any step has left so far."""

    calls: tuple[Call, ...]
    sizes: dict[str, int]
    judged: bool = False


def _plus(x: Scalars, h: Scalar, k: Scalars) -> list[Scalar]:
    return [a + h * b for a, b in zip(x, k, strict=True)]


def _weighted(weights: Sequence[Any], stages: Sequence[Scalars]) -> list[Scalar]:
    """Σ wⱼ kⱼ."""
    total: list[Scalar] = [0.0] * len(stages[0])
    for w, k in zip(weights, stages, strict=True):
        total = [a + float(w) * b for a, b in zip(total, k, strict=True)]
    return total


def _settled(system: System, t: Scalar, dt: Scalar, before: Scalars, x: Scalars, u: Scalars, p: Scalars) -> Any:
    return x if system.settle is None else system.settle(t + dt, before, x, u, p)


def _rate(system: System) -> Callable[..., Sequence[Scalar]]:
    """The rate at a stage, one function object for all of a step's calls."""

    def rate(stage: Scalars, u: Scalars, p: Scalars) -> Sequence[Scalar]:
        return system.rate(stage[0], stage[1:], u, p)

    return rate


_AT = ("stage", "u", "p")
_STEP = ("t", "dt", "x", "u", "p")


def runge_kutta(tableau: Tableau, system: System) -> Step:
    """An explicit method: per stage the point, then the rate there; at last the new state."""
    rate = _rate(system)
    calls: list[Call] = []
    for i, (row, c) in enumerate(zip(tableau.a, tableau.c, strict=True)):
        used = [j for j, a in enumerate(row) if a]
        weights = [row[j] for j in used]

        def point(t: Scalar, dt: Scalar, x: Scalars, *k: Scalars, c: Any = c, w: Any = weights) -> list[Scalar]:
            return [t + float(c) * dt, *(_plus(x, dt, _weighted(w, k)) if k else x)]

        calls.append(Call(point, ("t", "dt", "x", *(f"k{j + 1}" for j in used)), "stage"))
        calls.append(Call(rate, _AT, f"k{i + 1}"))
    used = [j for j, b in enumerate(tableau.b) if b]

    def finish(t: Scalar, dt: Scalar, x: Scalars, u: Scalars, p: Scalars, *k: Scalars) -> Any:
        new = _plus(x, dt, _weighted([tableau.b[j] for j in used], k))
        return _settled(system, t, dt, x, new, u, p)

    calls.append(Call(finish, (*_STEP, *(f"k{j + 1}" for j in used)), "new"))
    return Step(tuple(calls), {"stage": 1 + system.n, **{f"k{i + 1}": system.n for i in range(tableau.stages)}})


def semi_implicit_euler(system: System) -> Step:
    """q̇⁺ = q̇ + dt q̈(q, q̇), q⁺ = q + dt q̇⁺; what is of first order by Euler's rule.

    Symplectic where M is constant and q̈ depends on q alone: energy then stays near its value for ever. Where M depends
    on q it drifts, a hundred times slower than by Euler's rule; implicit midpoint in momenta does not."""
    n = system.positions

    def step(t: Scalar, dt: Scalar, x: Scalars, u: Scalars, p: Scalars) -> Any:
        new = _plus(x, dt, system.rate(t, x, u, p))
        new[:n] = _plus(x[:n], dt, new[n : 2 * n])
        return _settled(system, t, dt, x, new, u, p)

    return Step((Call(step, _STEP, "new"),), {})


def verlet(system: System) -> Step:
    """v = q̇ + ½ dt q̈(q, q̇), q⁺ = q + dt v, q̇⁺ = v + ½ dt q̈(q⁺, v): Störmer–Verlet, or leapfrog.

    Symplectic and of order two where q̈ depends on q alone; of order one where it depends on q̇ too."""
    n = system.positions

    def start(t: Scalar, dt: Scalar, x: Scalars) -> list[Scalar]:
        return [t, *x]

    def middle(t: Scalar, dt: Scalar, x: Scalars, k: Scalars) -> list[Scalar]:
        half = _plus(x, 0.5 * dt, k)
        return [t + dt, *_plus(x[:n], dt, half[n : 2 * n]), *half[n:]]

    def finish(t: Scalar, dt: Scalar, x: Scalars, u: Scalars, p: Scalars, stage: Scalars, k: Scalars) -> Any:
        new = [*stage[1 : n + 1], *_plus(stage[n + 1 :], 0.5 * dt, k[n:])]
        return _settled(system, t, dt, x, new, u, p)

    rate = _rate(system)
    calls = (
        Call(start, ("t", "dt", "x"), "stage"),
        Call(rate, _AT, "k1"),
        Call(middle, ("t", "dt", "x", "k1"), "stage"),
        Call(rate, _AT, "k2"),
        Call(finish, (*_STEP, "stage", "k2"), "new"),
    )
    return Step(calls, {"stage": 1 + system.n, "k1": system.n, "k2": system.n})


def implicit_midpoint(system: System, iterations: int = ITERATIONS) -> Step:
    """x⁺ = x + dt f(t + ½ dt, ½ (x + x⁺)), by so many evaluations of z ← x + ½ dt f(z), the last giving x⁺ = 2z − x.

    Symmetric, of order two; symplectic where x are canonical coordinates (q, p). The residual is the largest change
    that the last evaluation made to z: the iteration gains a factor ½ dt ‖∂f/∂x‖ each time, and does not converge where
    that is above one."""
    n = system.n

    def start(t: Scalar, dt: Scalar, x: Scalars) -> list[Scalar]:
        return [t + 0.5 * dt, *x[:n]]

    def again(t: Scalar, dt: Scalar, x: Scalars, k: Scalars) -> list[Scalar]:
        return [t + 0.5 * dt, *_plus(x[:n], 0.5 * dt, k)]

    def finish(t: Scalar, dt: Scalar, x: Scalars, u: Scalars, p: Scalars, stage: Scalars, k: Scalars) -> Any:
        worst = x[n]
        for before, after in zip(stage[1:], _plus(x[:n], 0.5 * dt, k), strict=True):
            worst = maximum(absolute(after - before), worst)
        return [*_settled(system, t, dt, x[:n], _plus(x[:n], dt, k), u, p), worst]

    rate = _rate(system)
    calls = [Call(start, ("t", "dt", "x"), "stage"), Call(rate, _AT, "k1")]
    for _ in range(iterations - 1):
        calls += [Call(again, ("t", "dt", "x", "k1"), "stage"), Call(rate, _AT, "k1")]
    calls.append(Call(finish, (*_STEP, "stage", "k1"), "new"))
    return Step(tuple(calls), {"stage": 1 + n, "k1": n}, judged=True)


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
