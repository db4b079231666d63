"""A law as a chip runs it: (state, in) → (state, out) once per sample, traced whole.

    in       what is measured, and what is wanted where no motion is given
    rates    filtered, or made of positions
    law      asked, and its own states advanced, by the closed loop that simulations run
    out      torques within their limits, and what an observer sees of contacts

A state of zeros is the start: what begins otherwise is set at the first sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from dalembert.arguments import number, switch
from dalembert.caching import cached_property
from dalembert.compile import Kernel, compile_function
from dalembert.compile.kinds import SINGLE
from dalembert.control.observer import MomentumObserver, SampledObserver
from dalembert.errors import DalembertError, InputError
from dalembert.flow import Flow, Scalar, Scalars
from dalembert.law import Law, check_distinct, check_law, read_law
from dalembert.reference import Reference, read_reference
from dalembert.robot import need_robot
from dalembert.scalar import where
from dalembert.simulation.limits import TorqueLimits, read_torque_limits
from dalembert.simulation.loop import ClosedLoop, follow_reference
from dalembert.system import System

COUNTED = 2**24  # samples: a float counts them exactly so far; then time stands still
MOST_PERIODS = 1000  # after which the count begins anew: sines of more are no longer right in float32
DRIFT = 1e-7  # of time: by which a repeating motion may be off, less than any crystal is
SAMPLES, BEGUN, FILTERED, EXTERNAL = "samples", "begun", "_filtered", "_external"


@dataclass(frozen=True, eq=False)
class LawStep:
    """See above. `h` [s] is the sample time, None where the law needs none; `rates`: the rates are measured, else they
    are made of positions; `lag` [s] of the filter of rates, zero for none."""

    flow: Flow
    law: Law
    h: float | None = None
    motion: Reference | None = None
    limits: TorqueLimits = field(default_factory=dict)
    rates: bool = True
    lag: float = 0.0
    observer: SampledObserver | None = None

    @cached_property
    def loop(self) -> ClosedLoop:
        """The loop whose sample this is; a law without memory may be asked at any time."""
        follow = None if self.motion is None else follow_reference(self.law, self.motion)
        return ClosedLoop(self.flow, self.law, follow, limits=self.limits, sample=self.h or 1.0)

    # ------------------------------------------------------------------------------------------------------- names
    @cached_property
    def made_rates(self) -> dict[str, str]:
        """The rates that the law measures and that pass a filter, with their positions. Velocities of a free base are
        no differences of positions: they are measured."""
        if self.rates and not self.lag:
            return {}
        names = self.flow.states if self.flow.advance is None else [x.removesuffix("_rate") for x in self.flow.rates]
        pairs = [(a, b) for a, b in zip(self.flow.rates, names, strict=False) if b in self.flow.states]
        return {rate: position for rate, position in pairs if rate in self.law.measures}

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of `in`."""
        measured = [name for name in self.law.measures if self.rates or name not in self.made_rates]
        return (*measured, *self.loop.followed)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Names of `out`."""
        seen = self.flow.states[: self.observer.n] if self.observer else ()
        return (*self.law.outputs, *(f"{name}{EXTERNAL}" for name in seen))

    @cached_property
    def states(self) -> tuple[str, ...]:
        """Names of `state`."""
        filters = [f"{rate}{FILTERED}" for rate in self.made_rates]
        observed = [f"observer_{k}" for k in range(self.observer.size if self.observer else 0)]
        return (*((self.clock,) if self.clock else ()), *self.law.states, *filters, *observed)

    @cached_property
    def clock(self) -> str:
        """The first state: samples since the start where time matters, whether it began where only that does."""
        starts = self.law.start is not None or any(self.law.initial) or bool(self.made_rates)
        return SAMPLES if self._needs_time else BEGUN if starts else ""

    @cached_property
    def _needs_time(self) -> bool:
        """Whether anything depends on t: found by a trace."""

        def function(t: Scalars, values: Scalars) -> list[Scalar]:
            given = dict(zip((*self.law.states, *self.law.measures, *self.loop.followed), values, strict=True))
            X, U = self._loop_values(given, [given[name] for name in self.law.states])
            return self.loop.take(t[0], X, U)

        size = len(self.law.states) + len(self.law.measures) + len(self.loop.followed)
        taken = self._trace(lambda: compile_function(function, [(1,), (size,)], [(self.loop.ends[-1],)]))
        return any(step.operation == "input" and step.value[0] == 0 for step in taken.program.steps)

    @cached_property
    def cycle(self) -> tuple[int, float]:
        """After how many samples a motion that repeats is where it was, and how far it then is from there [s]: the
        fewest within DRIFT. (0, 0) where nothing repeats, or time is looked at otherwise too."""
        period = getattr(self.motion, "period", None)
        if period is None or self.h is None or math.isfinite(self.motion.duration):  # type: ignore[union-attr]
            return 0, 0.0
        if replace(self, motion=None)._needs_time:
            return 0, 0.0
        for most in range(1, MOST_PERIODS):
            turns = Fraction(period / self.h).limit_denominator(most)  # samples in so many periods
            if turns.numerator > COUNTED:
                break
            off = turns.numerator * self.h - turns.denominator * period
            if abs(off) <= DRIFT * turns.denominator * period:
                return turns.numerator, off
        return 0, 0.0

    @property
    def ends(self) -> bool:
        """Whether there is a motion that ends while samples are counted."""
        return self.motion is not None and self.motion.duration < COUNTED * (self.h or math.inf)

    @property
    def last_sample(self) -> int:
        """Where the count of samples stands still, a motion that has ended resting, or begins anew with the motion."""
        if self.cycle[0]:
            return self.cycle[0]
        if not self.ends:
            fastest = max(np.abs(getattr(self.motion, "omega", [0.0])).tolist(), default=0.0) * (self.h or 0.0)
            return min(COUNTED, int((SINGLE.largest_angle - 1.0) / fastest)) if fastest else COUNTED
        assert self.h is not None and self.motion is not None
        return min(COUNTED, math.ceil(self.motion.duration / self.h) + 1)

    # ------------------------------------------------------------------------------------------------ over any scalar
    def _loop_values(self, given: dict[str, Scalar], z: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """State and inputs of the closed loop: what is measured, the law's parameters and reference; all else rests."""
        x = [given.get(name, 0.0) if name in self.law.measures else 0.0 for name in self.flow.states]
        known = {**self.law.parameters, **given}
        rest = [0.0] * (self.loop.ends[-1] - len(x) - len(z))
        return [*x, *z, *rest], [known.get(name, 0.0) for name in self.loop.inputs]

    def _filter(self, given: dict[str, Scalar], state: dict[str, Scalar], begun: Scalar) -> list[Scalar]:
        """Rates put into what is given; what the filters hold then.

        Of measured rates v = f + a (q̇ − f), f ← v; of positions v = (a/h) (q − f), f ← f + h v, which is the same lag
        of differences: a = 1 − e^(−h/T)."""
        held = []
        for rate, position in self.made_rates.items():
            assert self.h is not None
            part = -math.expm1(-self.h / self.lag) if self.lag else 1.0
            seen = given[rate if self.rates else position]
            f = where(begun, state[f"{rate}{FILTERED}"], seen)
            given[rate] = f + part * (seen - f) if self.rates else (part / self.h) * (seen - f)
            held.append(given[rate] if self.rates else f + self.h * given[rate])
        return held

    def step(self, state: Scalars, given: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """(state, out) after a sample, over any scalar."""
        now, measured = dict(zip(self.states, state, strict=True)), dict(zip(self.inputs, given, strict=True))
        known = dict(measured)
        samples = now.get(self.clock, 0.0)
        begun = samples > 0.0 if self.clock else True
        filters = self._filter(known, now, begun)
        z = [now[name] for name in self.law.states]
        if self.law.start is not None or any(self.law.initial):
            X, U = self._loop_values(known, self.law.initial)
            first = self.loop.split(self.loop.begin(X, U))[1]
            z = [where(begun, a, b) for a, b in zip(z, first, strict=True)]
        t = samples * self.h if self.clock == SAMPLES else 0.0
        X, U = self._loop_values(known, z)
        taken = self.loop.take(t, X, U)
        applied = dict(zip(self.flow.inputs, self.loop.applied(t, taken, U), strict=True))
        out = [applied[name] for name in self.law.outputs]
        new = [*self.loop.split(taken)[1], *filters]
        if self.observer is not None:
            n = self.observer.n
            q, qd = ([measured.get(x) for x in names[:n]] for names in (self.flow.states, self.flow.rates))
            new += self.observer.step(q, qd, out, state[len(new) + bool(self.clock) :])
            out += new[-n:]
        if self.clock == SAMPLES:
            new = [where(samples < float(self.last_sample), samples + 1.0, 1.0 if self.cycle[0] else samples), *new]
        return [1.0, *new] if self.clock == BEGUN else new, out

    # ---------------------------------------------------------------------------------------------------- compiled
    @cached_property
    def kernel(self) -> Kernel:
        """(state, in) → (state, out), or out alone where there is no state: then `state` is one number, not looked
        at."""
        m, n = len(self.states), len(self.outputs)

        def function(state: Scalars, given: Scalars) -> object:
            new, out = self.step(state[:m], given)
            return (new, out) if m else out

        shapes = [(max(m, 1),), (len(self.inputs),)], [*([(m,)] if m else []), (n,)]
        name = f"{self.flow.name} {self.law.name}"
        return self._trace(lambda: compile_function(function, *shapes, name, arguments=("state", "in")))

    @property
    def results(self) -> tuple[str, ...]:
        """What C calls the kernel's outputs."""
        return ("state", "out") if self.states else ("out",)

    def _trace(self, make: Callable[[], Kernel]) -> Kernel:
        """What a law does with numbers that are not known yet."""
        try:
            return make()
        except DalembertError:
            raise
        except Exception as error:  # whatever a stranger's Python raises when it meets no number
            raise InputError(
                "unsupported",
                "controller",
                problem=f"{self.law.name!r} computes in plain Python ({type(error).__name__}: {error})",
                remedy="Use + − × ÷ and dalembert.scalar.",
            ) from error


def read_step(
    system: object,
    controller: object,
    *,
    sample_time: float | None,
    reference: object = None,
    torque_limits: object = None,
    rates: bool = True,
    lag: float = 0.0,
    observer: object = None,
) -> LawStep:
    """The step that a user means, checked."""
    if not isinstance(system, System):
        raise InputError("wrong-type", "system", system, expected="a robot or another system with flow()")
    if not system.inputs:
        raise InputError(
            "wrong-structure",
            "system",
            problem=f"no joint of {system.name!r} has a drive, so there is nothing to control",
        )
    if controller is None or (
        callable(controller) and not hasattr(controller, "law") and not isinstance(controller, type)
    ):
        raise InputError(
            "wrong-type",
            "controller",
            controller,
            expected="a Law or a controller that makes one, not a Python function",
        )
    law, flow = read_law(controller), system.flow()
    assert law is not None
    check_law(law, flow, sampled=True)
    if law.asked:
        raise InputError(
            "unsupported",
            "controller",
            problem=f"{law.name!r} has a loop and a memory of its own, and firmware is one function without loops",
            remedy="Use its c_files(x0).",
        )
    if law.states and law.update is None and law.rate is None:
        raise InputError(
            "missing",
            "controller",
            problem=f"{law.name!r} has states, and neither update nor rate defines how they change",
        )
    switch("rates", rates)
    h = None if sample_time is None else number("sample_time", sample_time, "s", above=0.0)
    motion = read_reference(reference)
    watch = _read_observer(observer, system, getattr(controller, "friction", False) is True)
    step = LawStep(
        flow,
        law,
        h,
        motion,
        {k: v for k, v in read_torque_limits(torque_limits, law.outputs, flow).items() if any(map(math.isfinite, v))},
        rates,
        number("lag", lag, "s", least=0.0),
        None if watch is None or h is None else watch.sampled(h, rates),
    )
    if motion is not None:
        if not law.follows:
            raise InputError(
                "no-effect", "reference", problem=f"{law.name!r} follows no reference", remedy="Leave out `reference`."
            )
        if step.loop.follow is None:
            raise InputError(
                "unsupported",
                "reference",
                motion,
                problem=f"the reference is no formula that a chip can evaluate ({type(motion).__name__})",
                remedy="Pass a motion of few pieces, such as minimum_jerk, or leave it out and write the desired "
                "values to `in`.",
            )
    if watch is not None and not {*flow.states[: watch.robot.n], *(flow.rates if rates else ())} <= {*law.measures}:
        raise InputError(
            "missing",
            "observer",
            problem=f"an observer needs the positions of all joints and rates, which {law.name!r} does not measure",
        )
    check_distinct(f"states of {law.name!r} on a chip", step.states)
    why = _needs_sample_time(step, watch)
    if h is None and why:
        raise InputError(
            "missing",
            "sample_time",
            problem=f"the time from one call to the next is not known: {why}",
            remedy="Pass `sample_time` [s].",
        )
    return step


def _needs_sample_time(step: LawStep, observer: object) -> str:
    if observer is not None:
        return "an observer integrates"
    if step.made_rates:
        return "rates are filtered, or made of positions"
    if step.law.states:
        return f"{step.law.name!r} has states of its own"
    return "time passes in what is followed" if step._needs_time else ""


def _read_observer(observer: object, system: object, friction: bool) -> MomentumObserver | None:
    """The observer, or one of this gain, which knows the model's friction if the law compensates it."""
    if observer is None or isinstance(observer, MomentumObserver):
        return observer
    return MomentumObserver(need_robot(system, "a momentum observer"), gain=observer, friction=friction)
