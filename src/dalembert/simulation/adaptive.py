"""A loop run by SciPy's adaptive methods on compiled right-hand sides; sampled laws are asked between integrations.

The solver's own steps are taken here one by one, so that a run can be watched, interrupted, and stopped where a joint
reaches its limit; kept times lie wherever the user wants them, by the solver's interpolant. Positions on a manifold
are stepped as the numbers they are: their rate is that at the nearest point of it, to which what is kept is brought.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from dalembert.caching import cached_property
from dalembert.compile import Kernel, compile_function
from dalembert.errors import unknown
from dalembert.flow import Array, Scalar, Scalars
from dalembert.simulation.loop import ClosedLoop
from dalembert.simulation.record import (
    DIVERGED,
    EVENT,
    INTERRUPTED,
    Fences,
    Record,
    tell_bad_command,
    tell_bad_input,
    tell_divergence,
)
from dalembert.simulation.stream import RunInputs

if TYPE_CHECKING:
    from scipy.integrate import OdeSolver


SOLVERS = ("DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA")
ADAPTIVE = {"adaptive": "DOP853", **{name: name for name in SOLVERS}}
STIFF = ("Radau", "BDF")  # those that want ∂f/∂x
LOOKS = 8  # times within a solver's step at which limits are looked at


class _Options(TypedDict, total=False):
    rtol: float
    atol: float | Array
    first_step: float
    jac: Callable[[float, Array], Array]


def solver_class(method: str) -> type[OdeSolver]:
    import scipy.integrate

    if method not in ADAPTIVE:
        raise unknown("method", method, ADAPTIVE)
    found: type[OdeSolver] = getattr(scipy.integrate, ADAPTIVE[method])
    return found


@dataclass(eq=False)
class AdaptiveSolver:
    """One run until `duration`; rows at the `times` wanted. `breaks`: instants at which something jumps, a sample or a
    row of an input, so that the solver begins anew. `ask` asks the law in Python, at samples, or with
    `always` whenever a rate is wanted."""

    loop: ClosedLoop
    inputs: RunInputs
    times: Array
    breaks: Array
    method: str
    rtol: float
    atol: float | Array
    ask: Callable[[float, Array, Array], Array] | None = None
    always: bool = False
    fences: Fences | None = None
    fault: str | None = None  # the last thing seen that was not finite

    # ----------------------------------------------------------------------------------------------- compiled parts
    def _compiled(self, function: Callable[..., list[Scalar]], size: int, name: str) -> Kernel:
        """function(t, X, U) of one row (t, X, U), or of many."""
        n, m = self.loop.ends[-1], len(self.loop.inputs)

        def of_row(v: Scalars) -> list[Scalar]:
            return function(v[0], v[1 : 1 + n], v[1 + n :])

        title = f"{self.loop.plant.name} {name}"
        return compile_function(of_row, [(1 + n + m,)], [(size,)], title, arguments=("v",))

    @cached_property
    def _rate(self) -> Kernel:
        return self._compiled(self._rate_of_numbers, self.loop.ends[-1], "rate")

    @cached_property
    def _slope(self) -> Kernel:
        return self._rate.derivative("v")

    @cached_property
    def _take(self) -> Kernel:
        return self._compiled(self.loop.take, self.loop.ends[-1], "sample")

    @cached_property
    def _observe(self) -> Kernel:
        return self._compiled(self.loop.observe, len(self.loop.outputs), "observation")

    def _rate_of_numbers(self, t: Scalar, X: Scalars, U: Scalars) -> list[Scalar]:
        """The loop's rate, with q̇ for v where positions are no vector."""
        plant = self.loop.plant
        if plant.position_rates is None:
            return self.loop.rate(t, X, U)
        q, rest = X[: plant.nq], X[plant.nq :]
        made = self.loop.rate(t, [*self._bring_back(q), *rest], U)
        return [*plant.position_rates(q, rest[: plant.nv]), *made[plant.nv :]]

    def _bring_back(self, q: Scalars) -> Sequence[Scalar]:
        """Positions on their manifold."""
        plant = self.loop.plant
        return q if plant.advance is None else plant.advance(q, [0.0] * plant.nv)

    def _kept_state(self, X: Array) -> Array:
        """A state as it is kept, and gone on from."""
        nq = self.loop.plant.nq
        return X if self.loop.plant.advance is None else np.array([*self._bring_back(X[:nq].tolist()), *X[nq:]], float)

    def _inputs(self, t: float) -> Array:
        # Held rows belong to the interval being integrated, also at its end.
        return self.inputs.at(t, self.row, self.sample)

    def _rates(self, t: float, X: Array) -> Array:
        U = self._inputs(t)
        if self.ask is not None and self.always:
            X = self.ask(t, X, U)
            self._finite(t, X)
        self.record.evaluations += 1
        if not np.isfinite(U).all():
            k = int(np.argmin(np.isfinite(U)))
            self.fault = self.inputs.describe_fault(self.loop.inputs[k], float(U[k]), t)
        with np.errstate(all="ignore"):
            return np.asarray(self._rate(np.concatenate(([t], X, U))))

    def _jacobian(self, t: float, X: Array) -> Array:
        """∂f/∂x for implicit methods."""
        return np.asarray(self._slope(np.concatenate(([t], X, self._inputs(t)))))[:, 1 : 1 + self.loop.ends[-1]]

    # ------------------------------------------------------------------------------------------------------- a run
    def run(self, X0: Array, record: Record, progress: Callable[[float], None]) -> None:
        """Fill the record."""
        self.record, self.X, self.t = record, X0, 0.0
        self.fault = None
        self.row = self.sample = 0
        self.kept: list[tuple[float, Array, Array]] = []
        self.next = 0
        self.h: float | None = None
        end = float(self.times[-1])
        try:
            for a, b in zip(self.breaks[:-1].tolist(), self.breaks[1:].tolist(), strict=True):
                self.row = min(int(np.floor(a / self.inputs.stream.clock.dt * (1 + 1e-12) + 1e-9)), 2**62)
                if not self._sampled(a):
                    break
                self._keep_at(a)
                self._between(a, b, end, progress)
                if record.message:
                    break
        except KeyboardInterrupt:
            record.end(INTERRUPTED, f"interrupted at t = {self.t:.6g} s")
        if not self.kept or self.t > self.kept[-1][0]:
            self._keep(self.t, self.X)
        self._observed()

    def _sampled(self, t: float) -> bool:
        """The law asked, if a sample is due; False if its answer ends the run."""
        if self.loop.sample is None or self.always:
            return True
        k = round(t / self.loop.sample)
        if abs(t - k * self.loop.sample) > 1e-9 * max(t, self.loop.sample):
            return True
        self.sample = k
        U = self._inputs(t)
        if self.ask is not None:
            X = self.ask(t, self.X, U)
        else:
            with np.errstate(all="ignore"):
                X = np.asarray(self._take(np.concatenate(([t], self.X, U))))
        if not self._finite(t, X):
            assert self.fault is not None
            self.record.end(DIVERGED, self.fault)
            return False
        self.X = X
        return True

    def _finite(self, t: float, X: Array) -> bool:
        """Whether the law's answer is finite; else the sentence is kept."""
        if np.isfinite(X[: self.loop.nx]).all() and not np.isfinite(X).all():
            self.fault = tell_bad_command(self.loop, t, X)
            return False
        return True

    def _keep(self, t: float, X: Array) -> None:
        self.kept.append((t, X, self._inputs(t)))

    def _keep_at(self, t: float) -> None:
        """The state at a break, if that is a wanted time."""
        if self.next < len(self.times) and self.times[self.next] <= t:
            self._keep(t, self.X)
            self.next += 1

    def _between(self, a: float, b: float, end: float, progress: Callable[[float], None]) -> None:
        options: _Options = {"rtol": self.rtol, "atol": self.atol}
        if self.h is not None:
            options["first_step"] = min(self.h, b - a)
        if self.method in STIFF and not self.always:  # a law in Python has no slope
            options["jac"] = self._jacobian
        with np.errstate(all="ignore"):
            solver = solver_class(self.method)(self._rates, a, self.X, b, **options)
        while solver.status == "running":
            with np.errstate(all="ignore"):  # what is not finite ends the run, in words
                said = solver.step()
            if solver.status == "failed":
                self._failed(said)
                return
            before = self.t
            inner = solver.dense_output()

            def dense(t: float, inner: Callable[[float], Array] = inner) -> Array:
                return self._kept_state(np.asarray(inner(t)))

            if self._limits(before, float(solver.t), dense):
                return
            self._rows(float(solver.t), dense, last=solver.status == "finished")
            self.t, self.X = float(solver.t), self._kept_state(np.array(solver.y))
            if self.t < b:
                self.h = float(solver.step_size)
            progress(self.t / end)

    def _rows(self, until: float, dense: Callable[[float], Array], last: bool) -> None:
        """Rows at the wanted times up to here; the one at the end of an interval belongs to what begins there, but for
        the end of the run."""
        final = self.times[-1]
        while self.next < len(self.times) and self.times[self.next] <= until:
            t = float(self.times[self.next])
            if last and t >= until and t < final:
                return
            self._keep(t, dense(t))
            self.next += 1

    def _failed(self, said: str | None) -> None:
        """The sentence of a step that could not be made: an input that is no number there or just after, or else."""
        found, Y = self.fault, np.empty(0)
        after = self.t + 100 * np.spacing(max(self.t, float(self.times[-1]) * 1e-6))
        first, m = len(self.loop.plant.outputs), len(self.loop.plant.inputs)
        for t in (after, self.t):
            if self.loop.outputs:
                with np.errstate(all="ignore"):
                    Y = np.asarray(self._observe(np.concatenate(([t], self.X, self._inputs(t)))))
            found = found or tell_bad_input(self.loop, t, Y[first : first + m])
        remedy = f"{self.method} gave up: {said}"
        self.record.end(DIVERGED, found or tell_divergence(self.loop.plant, self.t, self.X, Y, remedy))

    def _limits(self, a: float, b: float, dense: Callable[[float], Array]) -> bool:
        """Limits reached between a and b; True where that ends the run, with the state there."""
        if self.fences is None:
            return False
        import scipy.optimize

        n, looks = self.loop.plant.n, np.linspace(a, b, LOOKS + 1)
        margins = np.array([self.fences.margin(dense(t)[:n]) for t in looks])
        found = []
        for k, joint in np.argwhere((margins[:-1] >= 0) & (margins[1:] < 0)):

            def margin(t: float, joint: int = int(joint)) -> float:
                assert self.fences is not None
                return float(self.fences.margin(dense(t)[:n])[joint])

            low, high = float(looks[k]), float(looks[k + 1])
            t = low if margins[k, joint] == 0 else scipy.optimize.brentq(margin, low, high, xtol=1e-14, rtol=1e-14)
            found.append((float(t), int(joint)))
        for t, joint in sorted(found):
            q = dense(t)
            event = self.fences.event(t, q[:n], joint)
            self.record.events.append(event)
            if self.fences.stop:
                self._rows(t, dense, last=False)
                self.t, self.X = t, q
                self.record.end(EVENT, event.message)
                return True
        return False

    def _observed(self) -> None:
        """All rows, observed at once."""
        t, X, U = (np.array([row[k] for row in self.kept]) for k in range(3))
        if self.ask is not None and self.always:
            X = np.array([self.ask(*row) for row in self.kept])
        Y = np.empty((len(t), 0))
        if self.loop.outputs:
            with np.errstate(all="ignore"):
                Y = np.asarray(self._observe(np.concatenate((t[:, None], X, U), axis=1)))
        self.record.keep(t, X, Y)
