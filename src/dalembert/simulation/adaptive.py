"""A loop run by SciPy's adaptive methods on compiled right-hand sides; sampled laws are asked between integrations.

The solver's own steps are taken here one by one, so that a run can be watched, interrupted, and stopped where a joint
reaches its limit; kept times lie wherever the user wants them, by the solver's interpolant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.caching import cached_property
from dalembert.compile import Kernel, compile_function
from dalembert.errors import unknown
from dalembert.flow import Scalar, Scalars
from dalembert.simulation.feed import Feed
from dalembert.simulation.loop import Loop
from dalembert.simulation.record import DIVERGED, EVENT, INTERRUPTED, Fences, Record, bad_input, blown, said_by
from dalembert.simulation.systems import Plant

Array = NDArray[np.float64]

SOLVERS = ("DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA")
ADAPTIVE = {"adaptive": "DOP853", **{name: name for name in SOLVERS}}
STIFF = ("Radau", "BDF")  # those that want ∂f/∂x
LOOKS = 8  # times within a solver's step at which limits are looked at


def solver_of(method: str) -> Any:
    import scipy.integrate

    if method not in ADAPTIVE:
        raise unknown("method", method, ADAPTIVE)
    return getattr(scipy.integrate, ADAPTIVE[method])


@dataclass(eq=False)
class Adaptive:
    """One run until `duration`; rows at the `times` wanted. `breaks`: instants at which something jumps, a sample or a
    row of an input, so that the solver begins anew. `ask` asks the law in Python, at samples, or with
    `always` whenever a rate is wanted."""

    plant: Plant
    loop: Loop
    feed: Feed
    parameters: Array
    times: Array
    breaks: Array
    method: str
    rtol: float
    atol: Any
    ask: Callable[[float, Array, Array, Array], Array] | None = None
    always: bool = False
    fences: Fences | None = None
    fault: str | None = None  # the last thing seen that was not finite

    # ----------------------------------------------------------------------------------------------- compiled parts
    def _compiled(self, function: Callable[..., list[Scalar]], size: int, name: str) -> Kernel:
        """function(t, X, s, noise, p) of one row (t, X, s, noise, p), or of many."""
        n, w = self.loop.size, self.feed.width
        noise = len(self.feed.noise.deviations) if self.feed.noise else 0
        ends = np.cumsum([1, n, w, noise, len(self.parameters)]).tolist()

        def of_row(v: Scalars) -> list[Scalar]:
            a, b, c, d, e = ends
            return function(v[0], v[a:b], v[b:c], v[c:d], v[d:e])

        title = f"{self.plant.flow.name} {name}"
        return compile_function(of_row, [(ends[-1],)], [(size,)], title, arguments=("v",))

    @cached_property
    def _rate(self) -> Kernel:
        return self._compiled(self.loop.rate, self.loop.size, "rate")

    @cached_property
    def _slope(self) -> Kernel:
        return self._rate.derivative("v")

    @cached_property
    def _take(self) -> Kernel:
        return self._compiled(self.loop.take, self.loop.size, "sample")

    @cached_property
    def _observe(self) -> Kernel:
        return self._compiled(self.loop.observe, self.loop.observed, "observation")

    def _signals(self, t: float) -> Array:
        if not self.feed.signals:
            return np.empty(0)
        # Held rows belong to the interval being integrated, also at its end.
        row = np.array([self.row])
        return np.concatenate([s.at(np.array([t]), row)[0] for s in self.feed.signals])

    def _noise(self) -> Array:
        return np.empty(0) if self.feed.noise is None else self.feed.noise.rows(self.sample, 1)[0]

    def _rates(self, t: float, X: Array) -> Array:
        s = self._signals(t)
        if self.ask is not None and self.always:
            X = self.ask(t, X, s, np.empty(0))
            self._finite(t, X)
        self.record.evaluations += 1
        if not np.isfinite(s).all():
            k = int(np.argmin(np.isfinite(s)))
            self.fault = self.feed.sentence(k, float(s[k]), t)
        with np.errstate(all="ignore"):
            return np.asarray(self._rate(np.concatenate(([t], X, s, self._noise(), self.parameters))))

    def _jacobian(self) -> Any:
        """∂f/∂x for implicit methods, unless a law in Python is part of it."""
        if self.method not in STIFF or self.always:
            return None
        slope, n = self._slope, self.loop.size

        def jacobian(t: float, X: Array) -> Array:
            v = np.concatenate(([t], X, self._signals(t), self._noise(), self.parameters))
            return np.asarray(slope(v))[:, 1 : 1 + n]

        return jacobian

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
                self.row = min(int(np.floor(a / self.feed.dt * (1 + 1e-12) + 1e-9)), 2**62)
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
        s = self._signals(t)
        if self.ask is not None:
            X = self.ask(t, self.X, s, self._noise())
        else:
            with np.errstate(all="ignore"):
                X = np.asarray(self._take(np.concatenate(([t], self.X, s, self._noise(), self.parameters))))
        if not self._finite(t, X):
            assert self.fault is not None
            self.record.end(DIVERGED, self.fault)
            return False
        self.X = X
        return True

    def _finite(self, t: float, X: Array) -> bool:
        """Whether the law's answer is finite; else the sentence is kept."""
        if np.isfinite(X[: self.loop.nx]).all() and not np.isfinite(X).all():
            self.fault = said_by(self.loop, t, X)
            return False
        return True

    def _keep(self, t: float, X: Array) -> None:
        s = self._signals(t)
        self.kept.append((t, X, np.concatenate((s, self._noise()))))

    def _keep_at(self, t: float) -> None:
        """The state at a break, if that is a wanted time."""
        if self.next < len(self.times) and self.times[self.next] <= t:
            self._keep(t, self.X)
            self.next += 1

    def _between(self, a: float, b: float, end: float, progress: Callable[[float], None]) -> None:
        options: dict[str, Any] = {"rtol": self.rtol, "atol": self.atol}
        if self.h is not None:
            options["first_step"] = min(self.h, b - a)
        jacobian = self._jacobian()
        if jacobian is not None:
            options["jac"] = jacobian
        with np.errstate(all="ignore"):
            solver = solver_of(self.method)(self._rates, a, self.X, b, **options)
        while solver.status == "running":
            with np.errstate(all="ignore"):  # what is not finite ends the run, in words
                said = solver.step()
            if solver.status == "failed":
                self._failed(said)
                return
            before = self.t
            dense = solver.dense_output()
            if self._limits(before, float(solver.t), dense):
                return
            self._rows(float(solver.t), dense, last=solver.status == "finished")
            self.t, self.X = float(solver.t), np.array(solver.y)
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
            self._keep(t, np.asarray(dense(t)))
            self.next += 1

    def _failed(self, said: str | None) -> None:
        """The sentence of a step that could not be made: an input that is no number there or just after, or else."""
        found, Y = self.fault, np.empty(0)
        after = self.t + 100 * np.spacing(max(self.t, float(self.times[-1]) * 1e-6))
        for t in (after, self.t):
            row = np.concatenate(([t], self.X, self._signals(t), self._noise(), self.parameters))
            with np.errstate(all="ignore"):
                Y = np.asarray(self._observe(row)) if self.loop.observed else np.empty(0)
            found = found or bad_input(self.loop, t, Y)
        remedy = f"{self.method} gave up: {said}"
        self.record.end(DIVERGED, found or blown(self.plant, self.loop, self.t, self.X, Y, remedy))

    def _limits(self, a: float, b: float, dense: Callable[[float], Array]) -> bool:
        """Limits reached between a and b; True where that ends the run, with the state there."""
        if self.fences is None:
            return False
        import scipy.optimize

        n, looks = self.plant.n, np.linspace(a, b, LOOKS + 1)
        margins = np.array([self.fences.margin(np.asarray(dense(t))[:n]) for t in looks])
        found = []
        for k, joint in np.argwhere((margins[:-1] >= 0) & (margins[1:] < 0)):

            def margin(t: float, joint: int = int(joint)) -> float:
                assert self.fences is not None
                return float(self.fences.margin(np.asarray(dense(t))[:n])[joint])

            low, high = float(looks[k]), float(looks[k + 1])
            t = low if margins[k, joint] == 0 else scipy.optimize.brentq(margin, low, high, xtol=1e-14, rtol=1e-14)
            found.append((float(t), int(joint)))
        for t, joint in sorted(found):
            q = np.asarray(dense(t))
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
        t = np.array([row[0] for row in self.kept])
        X = np.array([row[1] for row in self.kept])
        given = np.array([row[2] for row in self.kept])
        if self.ask is not None and self.always:
            X = np.array([self.ask(at, x, s[: self.feed.width], np.empty(0)) for at, x, s in self.kept])
        p = np.broadcast_to(self.parameters, (len(t), len(self.parameters)))
        Y = np.empty((len(t), 0))
        if self.loop.observed:
            with np.errstate(all="ignore"):
                Y = np.asarray(self._observe(np.concatenate((t[:, None], X, given, p), axis=1)))
        self.record.keep(t, X, Y)
