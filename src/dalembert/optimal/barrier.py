"""Limits of states and tasks by a primal–dual interior point method around the backward and forward pass.

With slacks s > 0, g + s = 0, the conditions λ s = μ, eliminated from a Newton step, leave the backward pass with one
residual more for each limit, √w (g + s + μ/λ), w = λ/s (Nocedal & Wright 2006, ch. 19; Wächter & Biegler 2006): the
kernels know nothing else. The forward pass goes α along it; s moves so that g + s shrinks by 1 − α, as gaps do, and
never by more than 99 % of itself. A step is taken where the merit

    φ = J − μ Σ ln s + y·e + ½ ρ |e|² + ν (Σ|gap| + Σ|g + s|)

falls. μ comes down when its problem is solved as well as it deserves; the end e = 0 has multipliers y, moved then too.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from dalembert.flow import Array
from dalembert.optimal.problem import OptimalControl
from dalembert.optimal.solver import (
    ALPHA,
    CONVERGED,
    DIVERGED,
    FACTOR,
    LEAST,
    LENGTHS,
    LIMIT,
    STALLED,
    STOPPED,
    SUFFICIENT,
    TRUSTED,
    UNKEPT,
    Engine,
    Progress,
)

FIRST = 0.1  # of the cost of the guess, shared by all limits: the first μ
SLOWER, FASTER = 0.2, 1.5  # μ ← min(0.2 μ, μ^1.5)
LAST = 1e-9  # of the cost: the last μ
SOLVED = 10.0  # times μ: how well its problem is solved before μ comes down
EXACT = 1e-2  # of the last μ: how far λ s may be from it
ROOM = 1e-2  # the least slack at first
SHRINK = 0.99  # of a slack or multiplier that a step may take
STEADY = 1e3  # how far λ s may be from μ
TINY = 1e-3  # a length at which the forward pass is as good as linear, and a difference no rounding
CLOSED = 1e-12  # Σ|gap| and Σ|g + s| that are none
END, HARDER, HARDEST = 10.0, 10.0, 1e8  # ρ at first, its factor, and its largest
ROUNDING = 1e-13  # of the merit


class Barrier:
    """One problem, in an engine of its own."""

    def __init__(self, problem: OptimalControl) -> None:
        self.problem, self.engine = problem, Engine(problem, 1)
        self.engine.bounds = np.array([[-np.inf] * problem.m, [np.inf] * problem.m])  # the barrier keeps them
        self.first, self.total = problem.counts[0], problem.multipliers
        self.on = np.ones((problem.N + 1, self.first), bool)
        self.on[0] = self.on[-1] = False
        of_input = np.array(problem.limits_of_inputs, bool)
        self.on[0, of_input], self.on[-1, ~of_input] = True, True
        self.count = max(int(self.on.sum()), 1)
        self.alpha = np.zeros((LENGTHS, 1 + 2 * problem.m))
        self.alpha[:, 1:] = self.engine.bounds.reshape(-1)

    def _limits(self, x: Array, u: Array) -> tuple[Array, Array]:
        """(g (..., N + 1, ·), zero where there is none; e (..., ·))."""
        p, P = self.problem, self.engine.ps[0]
        g = np.zeros((*x.shape[:-1], self.first))
        g[..., :-1, :] = p.inequality(x[..., :-1, :], u, P[:-1])
        last = p.last_limits(x[..., -1, :], P[-1])
        g[..., -1, :] = last[..., : self.first]
        return np.where(self.on, g, 0.0), last[..., self.first :]

    def _forward(self, lengths: Array) -> tuple[Array, Array, Array]:
        """(x, u, cost without limits) at these lengths."""
        e, count = self.engine, len(lengths)
        self.alpha[:count, 0] = lengths
        room = e.lanes.part(0, count)
        costs = e.forward_lanes(0, self.alpha[:count], room, self.clean[-1]).copy()
        return room.x.copy(), room.u.copy(), costs

    def _merit(self, cost: Array | float, g: Array, s: Array, e: Array, gap: Array | float) -> tuple[Array, Array]:
        """(φ without what ν weighs, that)."""
        logarithms = np.where(self.on, np.log(s), 0.0).sum((-2, -1))
        off = np.where(self.on, np.abs(g + s), 0.0).sum((-2, -1))
        return cost - self.mu * logarithms + e @ self.y + 0.5 * self.rho * (e * e).sum(-1), gap + off

    def _load(self, x: Array, u: Array, P: Array) -> None:
        e = self.engine
        e.xs[0], e.us[0], e.ps[0] = x, u, P
        e.held[:] = 0.0
        self._clean()
        self.g, self.e = self._limits(e.xs[0], e.us[0])
        self.y, self.rho, self.before = np.zeros(self.total - self.first), END, np.inf
        running, terminal = self.problem.plain
        cost = float(running(e.xs[0, :-1], e.us[0], P[:-1]).sum() + terminal(e.xs[0, -1], P[-1]))
        self.mu = FIRST * max(abs(cost), 1e-3) / self.count if isfinite(cost) else 1.0
        self.s = np.maximum(-self.g, ROOM)
        self.lam = np.where(self.on, self.mu / self.s, 0.0)

    def _clean(self) -> None:
        """The numbers of all nodes without those of limits."""
        self.clean = np.array(self.engine.ps[0])
        for at in self.problem.places_of_limits:
            self.clean[:, at] = 0.0

    def _write(self) -> None:
        """√w and √w (s + μ/λ) of all nodes, where the kernels look for them."""
        p, P = self.problem, self.engine.ps[0]
        weights, own = p.places_of_limits
        root = np.sqrt(self.lam / self.s)
        safe = np.where(self.on, self.lam, 1.0)
        for at, inner, end in (
            (weights, root, np.sqrt(self.rho)),
            (own, root * (self.s + self.mu / safe), self.y / np.sqrt(self.rho)),
        ):
            P[:, at][:, : self.first] = inner
            P[-1, at][self.first :] = end

    def solve(
        self, x: Array, u: Array, P: Array, state: Progress, iterations: int, tolerance: float, accuracy: float,
        tell: Callable[[], None] | None, ends: Array | None = None,
    ) -> None:  # fmt: skip
        """To the end; the motion is in the engine then, the multipliers in `multipliers`. ends: a guess of those of the
        end."""
        try:
            with np.errstate(all="ignore"):
                self._load(x, u, P)
                self.y = self.y if ends is None else ends.copy()
                while not state.reason:
                    if state.iterations >= iterations:
                        state.reason = LIMIT
                        break
                    self._iterate(state, tolerance, accuracy)
                    if tell is not None:
                        tell()
        except KeyboardInterrupt:
            state.reason = STOPPED
        if state.reason == STALLED and max(self.g.max(), np.abs(self.e).max(initial=0.0)) > accuracy:
            state.reason = UNKEPT

    @property
    def multipliers(self) -> Array:
        """(N + 1, ·)"""
        found = np.zeros((self.problem.N + 1, self.total))
        found[:, : self.first] = self.lam
        found[-1, self.first :] = self.y
        return found

    def _iterate(self, state: Progress, tolerance: float, accuracy: float) -> None:
        e, p = self.engine, self.problem
        self._write()
        e.settings[0, 0] = state.mu
        e.backward(1)
        state.iterations += 1
        change, state.gradient, state.gap, good, cost = e.info[0].tolist()
        if not isfinite(cost + state.gap):
            state.reason = DIVERGED
            return
        if not (good == 1.0 and isfinite(change)):
            state.stiffen()
            return
        e.plan[0, :, p.layout.place_of_parameters] = self.clean[:-1]  # the forward pass has the plain cost
        x, u, costs = self._forward(np.array([0.0, TINY]))
        state.cost = float(costs[0])
        if not state.first:
            state.first = abs(state.cost)
        state.promise = -0.5 * change
        if self._settle(state, tolerance, accuracy):
            return
        self._step(state, x, u, costs)

    def _settle(self, state: Progress, tolerance: float, accuracy: float) -> bool:
        """Whether μ, or multipliers of the end, were moved, or this is the answer."""
        off = float(np.abs(np.where(self.on, self.g + self.s, 0.0)).max(initial=0.0))
        apart = float(np.abs(np.where(self.on, self.lam * self.s - self.mu, 0.0)).max(initial=0.0))
        last = LAST * state.scale
        small = max(tolerance**1.5 * state.scale, 0.0 if self.mu <= last else self.mu)
        near = max(SOLVED * self.mu, 1e-2 * accuracy) if self.mu > last else accuracy
        if (
            abs(state.promise) > small
            or state.gap > max(tolerance * 1e-2, 0.0)
            or off > near
            or apart > (SOLVED if self.mu > last else EXACT) * self.mu
        ):
            return False
        if state.mu > LEAST:  # a small promise may be the regularization's: without, once more
            if state.relaxed:
                state.reason = STALLED
            state.mu, state.relaxed = 0.0, True
            return True
        worst = float(np.abs(self.e).max(initial=0.0))
        if self.mu <= last and worst <= accuracy:
            state.reason = CONVERGED
            return True
        if len(self.e):
            self.y = self.y + self.rho * self.e
            if worst > 0.25 * self.before and worst > accuracy:
                self.rho = min(self.rho * HARDER, HARDEST)
            self.before = worst
        self.mu = max(last, min(SLOWER * self.mu, self.mu**FASTER))
        state.nu = 0.0
        return True

    def _step(self, state: Progress, x: Array, u: Array, costs: Array) -> None:
        e, g, s, lam, on = self.engine, self.g, self.s, self.lam, self.on
        g_near, e_near = self._limits(x[1], u[1])
        along = (g_near - g) / TINY
        ds = np.where(on, -(g + s) - along, 0.0)
        dl = np.where(on, (self.mu - lam * s - lam * ds) / s, 0.0)
        slope = (costs[1] - costs[0]) / TINY - self.mu * (ds / s).sum()
        slope += (self.y + self.rho * self.e) @ (e_near - self.e) / TINY
        if state.gap < CLOSED:  # rounding, which ν need not weigh
            state.gap = 0.0
        here, off = self._merit(state.cost, g, s, self.e, state.gap)
        state.nu = max(state.nu, float(lam.max(initial=0.0)))
        if slope > 0.0 and off > CLOSED:
            state.nu = max(state.nu, slope / ((1.0 - TRUSTED) * off))
        keep = SHRINK
        lengths = _longest(s, ds, on, keep) * np.array(ALPHA)
        xs, us, costs = self._forward(lengths)
        gs, es = self._limits(xs, us)
        part = lengths[:, None, None]
        new = np.maximum((1.0 - part) * (g + s) - gs, 0.5 * (s + part * ds))
        new = np.where(on, np.maximum(new, self.mu / state.nu), 1.0)  # less than μ/ν is worse for φ, whatever g
        merits, offs = self._merit(costs, gs, new, es, (1.0 - lengths) * state.gap)
        fall = here + state.nu * off - merits - state.nu * offs
        wanted = SUFFICIENT * lengths * max(state.nu * off - slope, 0.0)
        fine = np.flatnonzero(fall >= wanted - ROUNDING * (abs(here) + state.nu * off))
        chosen = int(fine[0]) if len(fine) else None
        if chosen is None:
            state.stiffen()
            return
        state.history.append((state.cost, state.gradient, state.gap, float(lengths[chosen])))
        e.xs[0], e.us[0] = xs[chosen], us[chosen]
        if self.problem.curved:
            self.problem.center(e.xs[0], e.ps[0])
            self._clean()
        self.s, self.g, self.e = new[chosen], gs[chosen], es[chosen]
        moved = lam + _longest(lam, dl, on, keep) * dl
        middle = self.mu / self.s
        self.lam = np.where(on, np.clip(moved, middle / STEADY, middle * STEADY), 0.0)
        state.relaxed = False
        if chosen <= 1:
            state.mu = state.mu / FACTOR if state.mu > LEAST else 0.0


def _longest(s: Array, ds: Array, on: NDArray[np.bool_], keep: float) -> float:
    """The longest step, at most 1, after which 1 − keep of each is left."""
    falls = on & (ds < 0.0)
    return float(min(1.0, (-keep * s[falls] / ds[falls]).min(initial=1.0)))
