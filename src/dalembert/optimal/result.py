"""Solve a problem: complete the guess, choose the method for its limits, and return the result with its certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array, count, number
from dalembert.constrained import Constrained
from dalembert.errors import DalembertError, InputError
from dalembert.flow import Array, Scalar, Scalars
from dalembert.law import Law
from dalembert.optimal.barrier import Barrier
from dalembert.optimal.problem import OptimalControl
from dalembert.optimal.solver import (
    CONVERGED,
    DIVERGED,
    STALLED,
    STOPPED,
    TOO_LONG,
    UNSUSTAINED,
    VIOLATED,
    Engine,
    Progress,
    chunk,
    run,
)

PENALTY, HARDER, HARDEST = 10.0, 10.0, 1e8  # μ at first, its factor, and its largest
ROUNDS = 30  # of multipliers
BETTER = 0.25  # of the violation of the round before: less, and μ stays as it is
FREE, COARSE = 200, 1e-3  # iterations and tolerance of the motion without limits of states, and those spent from there
EVEN = 1e-4  # √w of a limit that is no more than linear
APART = 3.0  # times the way of a step: how far two half steps may lead from it
HELD = 1e-6  # of the change of velocity without inputs: inputs that leave less hold the system
OUTSIDE = 1e-9  # relative, by which a start may lie outside its limits


@dataclass(frozen=True, eq=False)
class Optimum:
    """The motion that was found, and its certificate, recomputed at the end.

    t (N + 1,) [s]; x (..., N + 1, n), u (..., N, m); gains (..., N, m, n): u = u_k + K_k (x − x_k) is optimal near by
    (x ⊖ x_k where positions lie on a manifold).
    cost: without penalties. gradient: the largest |∂J/∂u| of inputs that are not at a limit, all later inputs being
    chosen well. defect: the largest |f(x_k, u_k) − x_{k+1}|. violation: of limits of states, inequalities and the end.
    converged, reason, iterations; history of a lone problem: rows (cost, gradient, Σ|gap|, α). multipliers (..., N + 1,
    ·) of the limits. contact_losses: contacts with the ground that cannot be sustained at the nodes, a tuple for each
    problem; a motion with any has not converged. All but t have the leading dimensions of the batch."""

    problem: OptimalControl
    t: Array
    x: Array
    u: Array
    cost: Array
    gains: Array
    gradient: Array
    defect: Array
    violation: Array
    converged: NDArray[np.bool_]
    reason: Any
    iterations: NDArray[np.int64]
    multipliers: Array
    history: Array = field(default_factory=lambda: np.zeros((0, 4)))
    contact_losses: Any = ()

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Whether the solver converged, and no contact is lost: `converged`."""
        return self.converged

    @property
    def q(self) -> Array:
        """Positions (..., N + 1, nq)."""
        return self.x[..., : self.problem.flow.nq]

    @property
    def v(self) -> Array:
        """Their rates."""
        nq = self.problem.flow.nq
        return self.x[..., nq : nq + self.problem.flow.nv]

    def __call__(self, t: float, x: ArrayLike) -> Array:
        """u at time t in the state x, of a lone problem: a controller for `simulate`. After the horizon it holds the
        last row."""
        if self.u.ndim != 2:
            raise InputError("wrong-shape", "x", problem="a controller is made of one motion, not of a batch of them")
        k = int(np.clip((t - self.t[0]) / self.problem.dt + 1e-9, 0, len(self.u) - 1))
        u = self.u[k] + self.gains[k] @ self.problem.apart(self.x[k], np.asarray(x, float))
        return np.asarray(np.clip(u, *self.problem.bounds))

    def law(self) -> Law:
        """What `simulate` takes: inputs by their names, in whatever order, and those that are chosen alone."""
        if self.u.ndim != 2:
            raise InputError("wrong-shape", "x", problem="a controller is made of one motion, not of a batch of them")

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            if not isinstance(t, (int, float)):
                raise InputError(
                    "unsupported",
                    "t",
                    problem="an optimal motion is asked on numbers, not traced into another loop",
                    remedy="Simulate(…) runs it.",
                )
            return self(float(t), np.array(y, float)).tolist()

        def tell(t: float, y: Array, r: Array, p: Array) -> Array:
            return np.stack([self(t, x) for x in y])

        return Law("optimal motion", self.problem.flow.states, (), self.problem.chosen, act, memory=lambda count: tell)

    def __repr__(self) -> str:
        if self.u.ndim > 2:
            n = self.converged.size
            return f"<Optimum of {n} problems of {self.problem.flow.name!r}: {int(self.converged.sum())} converged>"
        lost = "".join(f"; {loss}" for loss in self.contact_losses)
        return (
            f"<Optimum of {self.problem.flow.name!r}: {self.reason} after {int(self.iterations)} iterations, cost "
            f"{float(self.cost):.6g}, gradient {float(self.gradient):.1e}, defect {float(self.defect):.1e}, violation "
            f"{float(self.violation):.1e}{lost}>"
        )


def solve(
    problem: OptimalControl,
    x0: ArrayLike,
    *,
    x: ArrayLike | None = None,
    u: ArrayLike | None = None,
    iterations: int = 1000,
    tolerance: float = 1e-6,
    accuracy: float = 1e-7,
    t0: float = 0.0,
    progress: Callable[[int, int], None] | None = None,
    parameters: dict[str, ArrayLike] | None = None,
) -> Optimum:
    """See `OptimalControl.solve`."""
    N, n, m = problem.N, len(problem.flow.states), problem.m
    rounds, tol = count("iterations", iterations, 1), number("tolerance", tolerance, above=0.0, most=0.1)
    near = number("accuracy", accuracy, above=0.0)
    if progress is not None and not callable(progress):
        raise InputError(
            "wrong-type",
            "progress",
            problem="progress is a function (first, total) that is called after each iteration",
        )
    start = array("x0", x0, (..., n), meaning=f"the states {', '.join(problem.flow.states)}")
    lead, given = start.shape[:-1], parameters or {}
    P = problem.parameters_at(number("t0", t0, "s"), lead, **given).reshape(-1, N + 1, problem.layout.p)
    X0 = start.reshape(-1, n)
    _check_start(problem, X0, P)
    U = None if u is None else _spread(array("u", u, (..., N, m), (m,)), lead, (N, m))
    X = None if x is None else _spread(array("x", x, (..., N + 1, n)), lead, (N + 1, n))
    parts: list[tuple[Any, ...]] = []
    total, size = len(X0), chunk(problem)
    for first in range(0, max(total, 1), size):  # of no problem at all, too, the shapes
        rows = slice(first, min(first + size, total))
        job = _Chunk(problem, X0[rows], P[rows], None if X is None else X[rows], None if U is None else U[rows])
        parts.append(job.solve(rounds, tol, near, None if progress is None else (lambda: progress(first, total))))  # noqa: B023
        if any(state.reason == STOPPED for state in job.states):
            for later in range(rows.stop, total, size):
                rest = slice(later, min(later + size, total))
                job = _Chunk(problem, X0[rest], P[rest], None if X is None else X[rest], None if U is None else U[rest])
                for state in job.states:
                    state.reason = STOPPED
                parts.append(job.certify())
            break
    joined = [np.concatenate(column).reshape((*lead, *column[0].shape[1:])) for column in zip(*parts, strict=True)]
    xs, us, cost, gains, gradient, defect, violation, good, why, steps, multipliers = joined
    far = _too_long(problem, xs.reshape(total, N + 1, n), us.reshape(total, N, m), P).reshape(lead)
    far &= np.isin(why.astype(str), (CONVERGED, STALLED))
    good, why = good & ~far, np.where(far, TOO_LONG, why)
    lost = _find_losses(problem, xs.reshape(total, N + 1, n), us.reshape(total, N, m), P)
    unsustained = np.array([bool(row) for row in lost], bool).reshape(lead)
    why = np.where(unsustained & np.isin(why.astype(str), (CONVERGED, STALLED)), UNSUSTAINED, why)
    good, losses = good & ~unsustained, np.empty(total, object)
    losses[:] = lost
    reason = why if lead else str(why)
    history = np.array(job.states[0].history) if not lead and job.states[0].history else np.zeros((0, 4))
    t = np.asarray(t0 + problem.dt * np.arange(N + 1), float)
    return Optimum(
        problem,
        t,
        xs,
        us,
        cost,
        gains,
        gradient,
        defect,
        violation,
        good,
        reason,
        steps,
        multipliers,
        history,
        losses.reshape(lead) if lead else lost[0],
    )


def _find_losses(problem: OptimalControl, x: Array, u: Array, P: Array) -> list[tuple[Any, ...]]:
    """Of each motion, x (B, N + 1, ·), the contacts with the ground that cannot be sustained at its nodes."""
    contacts = problem.flow.contacts
    if contacts is None:
        return [()] * len(x)
    y = problem.observed(x[:, :-1], u, P[:, :-1])
    return [contacts.find_losses(P[k, :-1, 0], x[k, :-1], y[k]) for k in range(len(x))]


def _too_long(problem: OptimalControl, x: Array, u: Array, P: Array) -> NDArray[np.bool_]:
    """(B,): whether the steps are no longer the system's: one of dt and two of half of it lead further apart than it
    goes; of motions x (B, N + 1, ·)."""
    nodes = [0, problem.N // 2]
    here, now, p = x[:, nodes], u[:, nodes], P[:, nodes]
    later = p.copy()
    later[..., 0] += 0.5 * problem.dt
    with np.errstate(all="ignore"):
        once, twice = problem.mover(here, now, p), problem.half(problem.half(here, now, p), now, later)
        far = np.abs(once - twice).max(-1) <= APART * np.abs(once - here).max(-1) + OUTSIDE
    return np.asarray(~far.all(-1))


def _spread(guess: Array, lead: tuple[int, ...], core: tuple[int, int]) -> Array:
    try:
        return np.broadcast_to(guess, (*lead, *core)).reshape(-1, *core)
    except ValueError:
        raise InputError(
            "wrong-shape",
            "guess",
            guess,
            problem=f"a guess has shape {guess.shape}; it must end in {core}, and fit {lead} starts",
        ) from None


def _check_start(problem: OptimalControl, x0: Array, P: Array) -> None:
    flow = problem.flow
    for sign, j, limit in problem.fences:
        if (sign * (x0[..., j] - limit) > OUTSIDE * max(1.0, abs(limit))).any():
            worst = float((x0[..., j]).max() if sign > 0 else x0[..., j].min())
            raise InputError(
                "infeasible",
                "x0",
                problem=f"{flow.states[j]!r} starts at {worst:g}, {'above' if sign > 0 else 'below'} its limit "
                f"{limit:g}: no motion from there keeps to it",
                remedy="Move the start, or the limit.",
            )
    own = problem.counts[0] - len(problem.fences) - len(problem.input_fences)
    if own:
        still = ~np.array(problem.limits_of_inputs[-own:], bool)
        here = P[:, :1].copy()
        here[..., problem.charts[0]] = x0[:, None, : flow.nq * problem.curved]
        found = problem.inequality(problem.begin(x0[:, None], here)[:, 0], np.zeros(problem.m), here[:, 0])[..., -own:]
        late = np.flatnonzero((np.where(still, found, -1.0) > OUTSIDE).reshape(-1, own).any(0))
        if len(late):
            raise InputError(
                "infeasible",
                "x0",
                problem=f"row {late[0]} of the inequalities is {float(found[..., late[0]].max()):g} at the start, "
                "above 0: no motion from there keeps to it",
                remedy="Move the start, or the limit.",
            )
    if flow.check is not None:
        flow.check(x0)


def hold(problem: OptimalControl, x0: Array) -> Array:
    """Return inputs (..., m) within their limits that keep the system at rest in the states x0 (..., n).

    A robot on contacts gets the torques of `Constrained.balance`, any other system the smallest inputs that leave its
    velocities at zero after a step. States that no inputs hold get zeros."""
    flow, m = problem.flow, problem.m
    if not flow.nv:
        return np.asarray(np.clip(np.zeros((*x0.shape[:-1], m)), *problem.bounds))
    v, rest = slice(flow.nq, flow.nq + flow.nv), np.array(x0)
    rest[..., v] = 0.0
    p, zero = problem.parameters_at()[0], np.zeros((*x0.shape[:-1], m))
    with np.errstate(all="ignore"):
        free = problem.mover(rest, zero, p)[..., v]
        columns = np.stack([problem.mover(rest, e, p)[..., v] - free for e in np.eye(m)], -1)
        sane = np.isfinite(columns).all((-2, -1)) & np.isfinite(free).all(-1)
        inverse = np.linalg.pinv(np.where(sane[..., None, None], columns, 0.0), rcond=1e-9)
        u = -(inverse @ np.where(sane[..., None], free, 0.0)[..., None])[..., 0]
        left = np.abs(free + (columns @ u[..., None])[..., 0]).max(-1)
        u[~(left <= HELD * np.abs(free).max(-1))] = 0.0
    return np.asarray(np.clip(_on_contacts(problem, rest, u), *problem.bounds))


def _on_contacts(problem: OptimalControl, rest: Array, u: Array) -> Array:
    """Inputs u, replaced by those of `Constrained.balance` where the system stands on contacts that can hold it."""
    system, inputs = problem.system, problem.flow.inputs
    if not (isinstance(system, Constrained) and system.contacts):
        return u
    try:
        found = system.balance(rest[..., : problem.flow.nq])
    except DalembertError:  # off the contacts, or without the solver of quadratic programs
        return u
    chosen = [inputs.index(name) for name in problem.chosen if name in system.inputs]
    others = np.delete(found.tau, chosen, -1)
    if len(chosen) < problem.m or others.any():
        return u
    return np.where(found.feasible[..., None], found.tau[..., chosen], u)


def begin_plan(problem: OptimalControl, engine: Engine, X: Array, guess: Array | None) -> None:
    """Set the states of the engine, (B, N + 1, ·), that begin with X[:, 0]: to a `guess` (B, N, ·) or (N, ·) of the
    nodes after the first, or to those that the engine's inputs lead to. Where these diverge, the start is repeated."""
    nq = problem.flow.nq
    if guess is None:
        with np.errstate(all="ignore"):
            for k in range(problem.N):
                X[:, k + 1] = problem.mover(X[:, k], engine.us[:, k], engine.ps[:, k])
        far = ~np.isfinite(X).all((1, 2)) | (np.abs(X).max((1, 2)) > 1e8)
        X[far, 1:] = X[far, :1]
        if problem.lean:
            X[far, 1:, nq:] = 0.0
    else:
        X[:, 1:] = guess
    engine.xs[:] = problem.begin(X, engine.ps)
    if guess is not None and problem.lean:  # q⁺ = q + h v⁺ holds at every guess
        engine.xs[:, 1:, nq:] = np.diff(engine.xs[..., :nq], axis=1) / problem.dt


class _Chunk:
    """Some problems that are solved together."""

    def __init__(self, problem: OptimalControl, x0: Array, P: Array, x: Array | None, u: Array | None) -> None:
        self.problem, self.count, self.guessed = problem, len(x0), not (x is None and u is None)
        self.engine = engine = Engine(problem, self.count)
        self.states = [Progress() for _ in range(self.count)]
        engine.ps[:] = P
        self.penalty = np.full(self.count, PENALTY)
        self.of_end = np.zeros((self.count, problem.counts[1]))  # multipliers
        if not problem.counts[0]:
            problem.write_end(engine.ps, self.of_end, self.penalty)
        engine.us[:] = np.clip(hold(problem, x0)[:, None] if u is None else u, *problem.bounds)
        X = np.empty((self.count, problem.N + 1, x0.shape[1]))
        X[:, 0] = x0
        begin_plan(problem, engine, X, None if x is None else x[:, 1:])

    def solve(
        self, iterations: int, tolerance: float, accuracy: float, tell: Callable[[], None] | None
    ) -> tuple[Any, ...]:
        e = self.engine
        if self.problem.counts[0]:
            return self._inside(iterations, tolerance, accuracy, tell)
        run(e, self.states, iterations, tolerance, tell)
        if not self.problem.multipliers:
            return self.certify()
        before = np.full(self.count, np.inf)
        for _ in range(ROUNDS):
            worst = self._violation()
            going = [
                k for k, s in enumerate(self.states) if worst[k] > accuracy and s.reason not in (STOPPED, DIVERGED)
            ]
            if not going:
                break
            self._multiply(going, worst, before)
            before = np.minimum(before, worst)
            for k in going:
                self.states[k].again()
            run(e, self.states, iterations, tolerance, tell)
        for state, left in zip(self.states, self._violation().tolist(), strict=True):
            if left > accuracy and state.reason == CONVERGED:
                state.reason = VIOLATED
        return self.certify()

    def _inside(
        self, iterations: int, tolerance: float, accuracy: float, tell: Callable[[], None] | None
    ) -> tuple[Any, ...]:
        """One after the other, each by a barrier: first from the motion that is best without limits of states, for a
        while, then from the guess; a guess of the user's is the only one."""
        e, barrier = self.engine, Barrier(self.problem)
        kept = np.zeros((self.count, self.problem.N + 1, self.problem.multipliers))
        guess = [a.copy() for a in (e.xs, e.us, e.ps)]
        if not self.guessed:
            run(e, self.states, min(iterations, FREE), COARSE, tell)
        for k, state in enumerate(self.states):
            tries = [((guess[0], guess[1], guess[2]), iterations)]
            if not self.guessed and state.reason not in (DIVERGED, STOPPED):
                tries.insert(0, ((e.xs, e.us, e.ps), min(iterations, FREE)))
            for (x, u, P), most in tries:
                if state.reason == STOPPED:
                    break
                state.again()
                barrier.solve(x[k], u[k], P[k], state, most, tolerance, accuracy, tell)
                own = barrier.engine
                e.xs[k], e.us[k], e.ps[k], kept[k] = own.xs[0], own.us[0], own.ps[0], barrier.multipliers
                if state.reason in (CONVERGED, STOPPED):
                    break
            if state.reason == STOPPED:
                for later in self.states[k + 1 :]:
                    later.reason = STOPPED
                break
        for state, left in zip(self.states, self._violation().tolist(), strict=True):
            if left > accuracy and state.reason == CONVERGED:
                state.reason = VIOLATED
        found = list(self.certify())
        weights, terms = self.problem.places_of_limits
        # For the gradient each limit weighs λ, and next to no more.
        e.ps[..., weights], e.ps[..., terms] = EVEN, kept / EVEN
        found[4], found[-1] = self.certify()[4], kept
        return tuple(found)

    def _limits(self) -> Array:
        """(count, N + 1, multipliers): g and, at the last node, e; zero where a node has none."""
        e, p = self.engine, self.problem
        found = np.zeros((self.count, p.N + 1, p.multipliers))
        if p.counts[0]:
            found[:, :-1, : p.counts[0]] = p.inequality(e.xs[:, :-1], e.us, e.ps[:, :-1])
        found[:, -1] = p.last_limits(e.xs[:, -1], e.ps[:, -1])
        return found

    def _violation(self) -> Array:
        g, first = self._limits(), self.problem.counts[0]
        g[:, 0, : len(self.problem.fences)] = 0.0  # the start is given
        worst = np.maximum(g[..., :first], 0.0).max((1, 2), initial=0.0)
        return np.maximum(worst, np.abs(g[..., first:]).max((1, 2), initial=0.0))

    def _multiply(self, rows: list[int], worst: Array, before: Array) -> None:
        """Move the multipliers of the end, and raise the penalty where the violation falls too slowly."""
        e = self._limits()[:, -1]
        for k in rows:
            self.of_end[k] += self.penalty[k] * e[k]
            if worst[k] > BETTER * before[k]:
                self.penalty[k] = min(self.penalty[k] * HARDER, HARDEST)
        self.problem.write_end(self.engine.ps, self.of_end, self.penalty)

    def certify(self) -> tuple[Any, ...]:
        """The columns of an `Optimum`, recomputed from x and u alone."""
        e, p = self.engine, self.problem
        running, terminal = p.plain
        e.settings[:, 0], e.held[:] = 0.0, 0.0
        with np.errstate(all="ignore"):
            e.backward(self.count)
            cost = running(e.xs[:, :-1], e.us, e.ps[:, :-1]).sum(-1) + terminal(e.xs[:, -1], e.ps[:, -1])
            moved = p.stepper(e.xs[:, :-1], e.us, e.ps[:, :-1])
        K = e.plan[..., : p.m * p.layout.X].reshape(self.count, p.N, p.m, p.layout.X)[..., : p.n].copy()
        defect = np.abs(moved - e.xs[:, 1:]).max((1, 2))
        violation = self._violation() if p.multipliers else np.zeros(self.count)
        good = np.array([s.reason == CONVERGED for s in self.states], bool)
        reasons = np.array([s.reason for s in self.states], dtype=object)
        steps = np.array([s.before + s.iterations for s in self.states])
        kept = np.zeros((self.count, p.N + 1, p.multipliers))
        kept[:, -1, p.counts[0] :] = self.of_end
        return (p.states(e.xs, e.ps), e.us, cost, K, e.info[:, 1].copy(), defect, violation, good, reasons, steps, kept)
