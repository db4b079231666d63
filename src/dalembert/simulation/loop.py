"""The closed loop: one system, one law and what lies between them, over any scalar, as one flow for one run or many.

    y = quantized(measured x + noise)      sensors, once per sample
    u = act(t, y, r, z, p)                 the law
    w = clip(u held and delayed + τ, limits) + d      what reaches the system
    ẋ = f(t, x, w)

The state of the loop is X = (x, z, held, waiting, books, measures): the system's and the law's states; the command that
is held between samples; those that are on their way (a delay of d samples is a shift register of d commands); work done
on the system and lost in it [J], integrated with the rest, so that the energy audit is a quadrature of the method
itself; what is measured of the run. A law without sample time is continuous: it is evaluated wherever the method wants
a rate, and `held` is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from dalembert.caching import cached_property
from dalembert.compile import compile_function
from dalembert.errors import InputError, unknown
from dalembert.flow import LOSS, SUPPLY, Array, Flow, Scalar, Scalars
from dalembert.law import Law, check_distinct, check_law, followed_orders
from dalembert.reference import Reference, read_reference
from dalembert.scalar import clip, where
from dalembert.simulation.driver import Ask
from dalembert.simulation.limits import TorqueLimits, read_torque_limits
from dalembert.simulation.measures import CONTACT_DOUBT, CONTACT_EXCESS, Measure, read_errors
from dalembert.simulation.stream import Wiring

Given = tuple[Scalar, Scalars, Scalars, Scalars, Scalars]  # what a law is given: (t, y, r, z, p)

DISTURBANCE, FEEDFORWARD, NOISE, START = "_disturbance", "_feedforward", "noise of ", "_start"
# x + ROUND − ROUND is x rounded to a whole number, for |x| < 2⁵¹: beyond the point no bits are left.
ROUND = 1.5 * 2.0**52


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """See above; `flow` is it as one flow.

    `follow(t)` is the reference over scalars, None where its entries are inputs. `fed` and `disturbed` name driven
    inputs of the plant to which something is added, before the limits and after them. `sample` is the law's sample time
    [s], None for a continuous law; `delay` counts samples. `quantization` per measured number, 0 for none; `noisy`: the
    sensors are given noise. `books`: work and loss are kept. `shows_inputs`: what reaches the plant is observed, not
    what the law puts out. `error`: which state should be what, for measures of errors."""

    plant: Flow
    law: Law | None = None
    follow: Callable[[Scalar], list[Scalar]] | None = None
    fed: tuple[str, ...] = ()
    disturbed: tuple[str, ...] = ()
    limits: TorqueLimits = field(default_factory=dict)
    sample: float | None = None
    delay: int = 0
    quantization: tuple[float, ...] | None = None
    noisy: bool = False
    books: bool = False
    shows_inputs: bool = False
    measures: Mapping[str, Measure] = field(default_factory=dict)
    error: Mapping[str, object] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if self.law is not None:
            check_law(self.law, self.plant, self.sample is not None)
            self._check_outputs()
        check_distinct(f"inputs of {self.title}", self.inputs)
        check_distinct(f"outputs of {self.title}", self.outputs)
        for name, row in self.measures.items():
            if "e" in row.needs and not self.errors:
                raise InputError(
                    f"{name} measures errors, and of {self.flow_name!r} it is not known which state follows what: "
                    "give error={state: output or number}"
                )
            if "u" in row.needs and self.law is None:
                raise InputError(f"{name} measures what a controller puts out, and there is none")
            if name in self.plant.states or name in self.own:
                raise InputError(f"a measure and a state are both called {name!r}")

    def _check_outputs(self) -> None:
        """An output that depends on the inputs would have to be known before the law that gives them."""
        if self.sample is not None or not self.measured_outputs:
            return
        assert self.law is not None and self.plant.observe is not None
        rng, m = np.random.default_rng(0), len(self.plant.inputs)
        x, u = (rng.uniform(0.1, 0.9, size).tolist() for size in (self.nx, m))
        still, driven = (self.plant.observe(0.0, x, w) for w in ([0.0] * m, u))
        for k in self.measured_outputs:
            if still[k] != driven[k]:
                raise InputError(
                    f"{self.law.name!r} measures {self.plant.outputs[k]!r}, which depends on what the law gives: run "
                    "it sampled, with sample_time="
                )

    # --------------------------------------------------------------------------------------------- names and places
    @property
    def title(self) -> str:
        return repr(self.plant.name) if self.law is None else f"{self.plant.name!r} under {self.law.name!r}"

    @property
    def flow_name(self) -> str:
        return self.name or (self.plant.name if self.law is None else f"{self.plant.name} under {self.law.name}")

    @cached_property
    def nx(self) -> int:
        return len(self.plant.states)

    @cached_property
    def own(self) -> tuple[str, ...]:
        return self.law.states if self.law else ()

    @cached_property
    def commands(self) -> tuple[str, ...]:
        return self.law.outputs if self.law else ()

    @cached_property
    def free(self) -> tuple[str, ...]:
        """The plant's inputs that stay the user's."""
        return tuple(name for name in self.plant.inputs if name not in self.commands)

    @cached_property
    def gains(self) -> tuple[str, ...]:
        return tuple(self.law.parameters) if self.law else ()

    @cached_property
    def followed(self) -> tuple[str, ...]:
        """Entries of the reference that are inputs."""
        return self.law.follows if self.law and self.follow is None else ()

    @cached_property
    def errors(self) -> dict[str, str | float]:
        wanted = any("e" in row.needs for row in self.measures.values())
        return read_errors(self.base, self.plant.positions, self.law, self.error) if wanted else {}

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Of the loop: what is left to the user, gains, the reference where it is not known as a formula, disturbances,
        what is fed forward, noise, and where the states began whose errors are measured."""
        noise = self.law.measures if self.law and self.noisy else ()
        return (
            *self.free,
            *self.gains,
            *self.followed,
            *(f"{name}{DISTURBANCE}" for name in self.disturbed),
            *(f"{name}{FEEDFORWARD}" for name in self.fed),
            *(f"{NOISE}{name}" for name in noise),
            *(f"{name}{START}" for name in self.errors),
        )

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.inputs)}

    def _pick(self, U: Scalars, names: Sequence[str], prefix: str = "", suffix: str = "") -> list[Scalar]:
        return [U[self._places[f"{prefix}{name}{suffix}"]] for name in names]

    @cached_property
    def held(self) -> int:
        return len(self.commands) if self.sample is not None else 0

    @cached_property
    def supply(self) -> int | None:
        """Which output of the plant is the power that comes in, where books are kept."""
        found = (k for k, name in enumerate(self.plant.outputs) if name in SUPPLY)
        return next(found, None) if self.books else None

    @cached_property
    def losses(self) -> tuple[int, ...]:
        return tuple(k for k, name in enumerate(self.plant.outputs) if name.endswith(LOSS))

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """Where in X the parts x, z, held, waiting, books, measures end."""
        sizes = (self.nx, len(self.own), self.held, self.held * self.delay, 0 if self.supply is None else 2)
        return tuple(np.cumsum((*sizes, len(self.measures))).tolist())

    def split(self, X: Scalars) -> list[Scalars]:
        return [X[a:b] for a, b in zip((0, *self.ends[:-1]), self.ends, strict=True)]

    # ------------------------------------------------------------------------------------------------------ the law
    @cached_property
    def _measured(self) -> list[tuple[bool, int]]:
        """Where each measured number is found: among the states, or the outputs, of the plant."""
        states, outputs = self.plant.states, self.plant.outputs
        names = self.law.measures if self.law else ()
        return [(True, states.index(name)) if name in states else (False, outputs.index(name)) for name in names]

    @cached_property
    def measured_outputs(self) -> list[int]:
        return [k for of_state, k in self._measured if not of_state]

    def measure(self, t: Scalar, X: Scalars, U: Scalars, noisy: bool = True) -> list[Scalar]:
        """y: states, and outputs under the command that is held, with noise, then rounded to what a sensor resolves."""
        x, _, held, *_ = self.split(X)
        seen: Sequence[Scalar] = ()
        if self.measured_outputs:
            assert self.plant.observe is not None
            seen = self.plant.observe(t, x, self._inputs(held or [0.0] * len(self.commands), U))
        y = [x[k] if of_state else seen[k] for of_state, k in self._measured]
        if self.noisy and noisy:
            assert self.law is not None
            y = [a + b for a, b in zip(y, self._pick(U, self.law.measures, NOISE), strict=True)]
        if self.quantization is not None:
            y = [_round_to(a, step) if step else a for a, step in zip(y, self.quantization, strict=True)]
        return y

    def _given(self, t: Scalar, X: Scalars, U: Scalars) -> Given:
        return t, self.measure(t, X, U), self._reference(t, U), self.split(X)[1], self._pick(U, self.gains)

    def _reference(self, t: Scalar, U: Scalars) -> list[Scalar]:
        return self._pick(U, self.followed) if self.follow is None else self.follow(t)

    def _act(self, given: Given) -> list[Scalar]:
        assert self.law is not None
        return _all_of(f"{self.law.name!r} gives", self.law.act(*given), self.commands, "outputs")

    def _rates(self, given: Given) -> list[Scalar]:
        assert self.law is not None and self.law.rate is not None
        return _all_of(f"the rate of {self.law.name!r} gives", self.law.rate(*given), self.own, "states")

    def take(self, t: Scalar, X: Scalars, U: Scalars) -> list[Scalar]:
        """X after a sample: the law asked, its state advanced, its command on its way."""
        assert self.law is not None and self.sample is not None
        x, z, _, waiting, books, measures = self.split(X)
        given = self._given(t, X, U)
        queue = [*self._act(given), *waiting]
        last = len(queue) - self.held
        return [*x, *self._advance(given, z), *queue[last:], *queue[:last], *books, *measures]

    def asks(self, wiring: Wiring, count: int) -> Ask:
        """What takes the samples of so many runs at once, of a law with a memory: (t, X, u, p) → X, a run per row; u
        and p are the blocks of the wiring."""
        law, n = self.law, self.ends[-1]
        assert law is not None and law.memory is not None and not law.states
        tell, read = law.memory(count), wiring.reader(self.flow)

        def sense(t: Scalar, X: Scalars, u: Scalars, p: Scalars) -> list[Scalar]:
            U = read(t, u, p)
            return [*self.measure(t, X, U), *self._reference(t, U), *self._pick(U, self.gains)]

        a, b, c = np.cumsum((len(law.measures), len(law.follows), len(self.gains))).tolist()
        sizes = {"t": (), "X": (n,), "u": (wiring.size,), "p": (len(wiring.held),)}
        sizes = {name: shape for name, shape in sizes.items() if shape != (0,)}

        def of_given(*given: Scalars) -> list[Scalar]:
            known = {"u": (), "p": (), **dict(zip(sizes, given, strict=True))}
            return sense(known["t"], known["X"], known["u"], known["p"])

        see = compile_function(
            of_given, list(sizes.values()), [(c,)], f"sensors of {self.flow_name}", arguments=tuple(sizes)
        )
        begin, end = self.ends[1], self.ends[3]  # what is held, and what is on its way

        def ask(t: float, X: Array, u: Array, p: Array) -> Array:
            given = {"t": t, "X": X[:, :n], "u": u, "p": p}
            with np.errstate(all="ignore"):  # runs that diverged are told at the end
                seen = np.broadcast_to(np.asarray(see(*(given[name] for name in sizes))), (count, c))
            new = tell(t, seen[:, :a], seen[:, a:b], seen[:, b:])
            queue, moved = np.concatenate((new, X[:, begin + self.held : end]), -1), X.copy()
            last = queue.shape[1] - self.held
            moved[:, begin:end] = np.concatenate((queue[:, last:], queue[:, :last]), -1)
            return moved

        return ask

    def _advance(self, given: Given, z: Scalars) -> list[Scalar]:
        assert self.law is not None and self.sample is not None
        if self.law.update is not None:
            new = self.law.update(self.sample)(*given)
            return _all_of(f"the update of {self.law.name!r} gives", new, self.own, "states")
        if self.law.rate is None:
            return list(z)
        return [a + self.sample * b for a, b in zip(z, self._rates(given), strict=True)]

    # ---------------------------------------------------------------------------------------------------- the plant
    def _command(self, t: Scalar, X: Scalars, U: Scalars) -> Scalars:
        """What the law says at X: the command held, or that of a continuous law."""
        if self.law is None:
            return ()
        return self.split(X)[2] if self.sample is not None else self._act(self._given(t, X, U))

    def _asked(self, u: Scalars, U: Scalars) -> dict[str, Scalar]:
        """What is wanted of each driven input, before it is limited."""
        w = dict(zip(self.free, self._pick(U, self.free), strict=True)) | dict(zip(self.commands, u, strict=True))
        for name, value in zip(self.fed, self._pick(U, self.fed, suffix=FEEDFORWARD), strict=True):
            w[name] = value + w[name]
        return w

    def _limited(self, u: Scalars, U: Scalars) -> dict[str, Scalar]:
        w = self._asked(u, U)
        return {name: clip(a, *self.limits[name]) if name in self.limits else a for name, a in w.items()}

    def _inputs(self, u: Scalars, U: Scalars) -> list[Scalar]:
        """What reaches the plant: commands and given torques, limited, then disturbances."""
        w = self._limited(u, U)
        for name, value in zip(self.disturbed, self._pick(U, self.disturbed, suffix=DISTURBANCE), strict=True):
            w[name] = w[name] + value
        return [w[name] for name in self.plant.inputs]

    def applied(self, t: Scalar, X: Scalars, U: Scalars) -> list[Scalar]:
        """The plant's inputs at X."""
        return self._inputs(self._command(t, X, U), U)

    def _observed(self, t: Scalar, x: Scalars, w: Scalars) -> list[Scalar]:
        if self.plant.observe is None:
            return []
        seen = self.plant.observe(t, x, w)
        return _all_of(f"what observes {self.plant.name!r} gives", seen, self.plant.outputs, "outputs")

    def rate(self, t: Scalar, X: Scalars, U: Scalars) -> list[Scalar]:
        """Ẋ; nothing moves in what is held."""
        x, z, held, waiting, *_ = self.split(X)
        rows = [row.integrand for row in self.measures.values()]
        judged = self._judged(t, X, U) if any(rows) else ()  # first: what is fused depends on the order of the trace
        w = self.applied(t, X, U)
        xd = list(self.plant.rate(t, x, w))
        if len(xd) != self.nx - self.plant.nq + self.plant.nv:
            raise InputError(f"the rate of {self.plant.name!r} gives {len(xd)} numbers for {self.nx} states")
        zd: Sequence[Scalar] = [0.0] * len(z)
        if self.sample is None and self.law is not None and self.law.rate is not None:
            zd = self._rates(self._given(t, X, U))
        flows: list[Scalar] = []
        if self.supply is not None:
            seen = self._observed(t, x, w)
            lost: Scalar = 0.0
            for k in self.losses:
                lost = lost + seen[k]
            flows = [seen[self.supply], lost]
        counted = [0.0 if row is None else row(*judged) for row in rows]
        if CONTACT_EXCESS in self.measures and self.plant.contacts is not None:
            names = list(self.measures)
            for name, excess in zip((CONTACT_EXCESS, CONTACT_DOUBT), self.plant.contacts.excess(t, x, w), strict=True):
                if name in names:
                    counted[names.index(name)] = excess
        return [*xd, *zd, *([0.0] * (len(held) + len(waiting))), *flows, *counted]

    def settle(self, t: Scalar, before: Scalars, X: Scalars, U: Scalars) -> list[Scalar]:
        """What the plant does to its state after a step, and what is measured then."""
        now = list(X)
        if self.plant.settle is not None:
            now[: self.nx] = self.plant.settle(t, before[: self.nx], X[: self.nx], self.applied(t, X, U))
        return self._counted(t, now, U)

    def _counted(self, t: Scalar, X: list[Scalar], U: Scalars) -> list[Scalar]:
        """X with the measures that are looked at now."""
        rows = [row.update for row in self.measures.values()]
        if not any(rows):
            return X
        judged, end = self._judged(t, X, U), self.ends[-2]
        values = [v if row is None else row(*judged, v) for row, v in zip(rows, X[end:], strict=True)]
        return [*X[:end], *values]

    def _judged(self, t: Scalar, X: Scalars, U: Scalars) -> tuple[Scalar, list[Scalar], list[Scalar], list[Scalar]]:
        """(t, errors, those the run began with, what the law puts out)."""
        y: dict[str, Scalar] = {}
        if any(isinstance(wanted, str) for wanted in self.errors.values()):
            y = dict(zip(self.base.outputs, self._seen(t, X, U), strict=True))
        wanted = [y[w] if isinstance(w, str) else w for w in self.errors.values()]
        places = [self.base.states.index(name) for name in self.errors]
        e = [w - X[k] for w, k in zip(wanted, places, strict=True)]
        e0 = [w - s for w, s in zip(wanted, self._pick(U, tuple(self.errors), suffix=START), strict=True)]
        if self.law is None:
            return t, e, e0, []
        w = self._limited(self._command(t, X, U), U)
        return t, e, e0, [w[name] for name in self.commands]

    # ----------------------------------------------------------------------------------------------- what is observed
    @property
    def tells_clipping(self) -> bool:
        """Whether limits stand between a law with states and the plant: these are not told what was applied."""
        return self.shows_inputs and bool(self.limits) and bool(self.own)

    @cached_property
    def _shown(self) -> tuple[str, ...]:
        """Commands that are observed: those that the plant does not observe itself."""
        return tuple(name for name in self.commands if name not in self.plant.outputs)

    @cached_property
    def base(self) -> Flow:
        """The names of the loop without its measures."""
        outputs = (*self.plant.outputs, *self._shown, *(self.law.follows if self.law else ()))
        states = (*self.plant.states, *self.own)
        return Flow(self.flow_name, states, (), self.plant.rate, self.plant.positions, outputs=outputs)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        if not self.shows_inputs:
            return self.base.outputs
        inputs = tuple(f"{name} applied" for name in self.plant.inputs)
        follows = tuple(f"{name} followed" for name in (self.law.follows if self.law else ()))
        return (*self.plant.outputs, *inputs, *follows, *(("clipped",) if self.tells_clipping else ()))

    def _seen(self, t: Scalar, X: Scalars, U: Scalars) -> list[Scalar]:
        """The outputs of the plant, what the law puts out, and its reference."""
        u = self._command(t, X, U)
        w = self._limited(u, U)
        r = () if self.law is None else self._reference(t, U)
        seen = self._observed(t, X[: self.nx], self._inputs(u, U))
        return [*seen, *(w[name] for name in self._shown), *r]

    def observe(self, t: Scalar, X: Scalars, U: Scalars) -> list[Scalar]:
        """As `outputs` names it."""
        if not self.shows_inputs:
            return self._seen(t, X, U)
        u = self._command(t, X, U)
        w = self._inputs(u, U)
        r = () if self.law is None else self._reference(t, U)
        found = [*self._observed(t, X[: self.nx], w), *w, *r]
        if self.tells_clipping:
            cut: Scalar = 0.0
            for name, a in self._asked(u, U).items():
                if name in self.limits:
                    lower, upper = self.limits[name]
                    cut = where(a > upper, 1.0, where(a < lower, 1.0, cut))
            found.append(cut)
        return found

    # ---------------------------------------------------------------------------------------------- how it begins
    @property
    def begins(self) -> bool:
        """Whether a run begins otherwise than with what it is given: where a law starts its own states by what it
        measures, or measures count from the start."""
        started = self.law is not None and self.law.start is not None
        return started or any(row.update is not None for row in self.measures.values())

    def begin(self, X: Scalars, U: Scalars) -> list[Scalar]:
        """X at t = 0: the law's states as it says, of what its sensors see without noise; measures as they are then."""
        now = list(X)
        if self.law is not None and self.law.start is not None:
            z = list(self.law.start(self.measure(0.0, X, U, noisy=False)))
            if len(z) != len(self.own):
                raise InputError(f"{self.law.name!r} starts with {len(z)} numbers for its {len(self.own)} states")
            now[self.nx : self.nx + len(z)] = z
        return self._counted(0.0, now, U)

    @property
    def initial(self) -> list[float]:
        """What follows the plant's states in X, where nobody says otherwise: nothing is held yet, or on its way."""
        return [*(self.law.initial if self.law else ()), *([0.0] * (self.ends[-1] - self.nx - len(self.own)))]

    # ------------------------------------------------------------------------------------------------------ as a flow
    @cached_property
    def flow(self) -> Flow:
        held = [f"{name} held" for name in self.commands[: self.held]]
        waiting = [f"{name} in {k + 1}" for k in range(self.delay) for name in held]
        books = ("work", "loss") if self.supply is not None else ()
        settles = self.plant.settle is not None or any(row.update is not None for row in self.measures.values())
        return replace(
            self.plant,
            name=self.flow_name,
            states=(*self.plant.states, *self.own, *held, *waiting, *books, *self.measures),
            inputs=self.inputs,
            rate=self.rate,
            settle=self.settle if settles else None,
            outputs=self.outputs,
            observe=self.observe if self.outputs else None,
            check=None,
            drives=None,
            start=None,
            sample=self.take if self.sample is not None else None,
            period=self.sample,
            contacts=None,
        )


def _round_to(x: Scalar, step: float) -> Scalar:
    """The nearest multiple of the step."""
    return ((x * (1.0 / step) + ROUND) - ROUND) * step


def _all_of(what: str, given: object, names: Sequence[str], kind: str) -> list[Scalar]:
    try:
        result = list(given)  # type: ignore[call-overload]
    except TypeError:
        raise InputError(f"{what} a {type(given).__name__}, not {len(names)} {kind}") from None
    if len(result) != len(names):
        raise InputError(f"{what} {len(result)} numbers for {len(names)} {kind}: {', '.join(names)}")
    return result


def follow_reference(law: Law, motion: Reference) -> Callable[[Scalar], list[Scalar]] | None:
    """r(t) as a function over scalars, as far as the law follows it; None where the motion is no formula."""
    orders = followed_orders(law, motion)
    if motion.trace(0.0) is None:
        return None
    names = [f"x{k}" for k in range(motion.m)]

    def follow(t: Scalar) -> list[Scalar]:
        traced = motion.trace(t)
        assert traced is not None
        return [v for part in traced[:orders] for v in _all_of("the reference gives", part, names, "numbers")]

    return follow


def close_loop(
    flow: Flow,
    law: Law,
    reference: object = None,
    *,
    disturbed: Sequence[str] = (),
    torque_limits: object = None,
    sample_time: float | None = None,
    delay: int = 0,
    name: str = "",
) -> Flow:
    """The closed loop (x, z)˙ = (f(t, x, u), g(t, y, r, z, p)), u = act(t, y, r, z, p) + d, as a flow of its own.

    States: those of the flow, then the law's. Inputs, in this order: those of the flow that the law does not drive; the
    law's parameters, by name; the reference's entries (`law.follows`) where the reference is not known beforehand: none
    given, or one that cannot be traced; for each driven input named in `disturbed` a disturbance d that is added to it,
    "<input>_disturbance". Outputs: the flow's, what the law puts out (without d), and r.

    r is (x, ẋ, ẍ) of the reference, or as much of it as the law follows: m, 2 m or 3 m numbers for a motion of m. A
    reference that is m numbers is a set point: at rest there. What settles the flow is given u of that instant.
    torque_limits (a number, one per output of the law, or (lower, upper)) clip what the law puts out, before d; its
    states are not told. With `sample_time` [s] the law is asked at samples, its command held, and reaches the flow
    `delay` samples later."""
    if not isinstance(flow, Flow):
        raise InputError(f"a Flow is closed by a law, not a {type(flow).__name__}; flow() makes one of a system")
    if not isinstance(law, Law):
        raise InputError(f"a Law closes the loop of {flow.name!r}, not a {type(law).__name__}")
    check_law(law, flow, sample_time is not None)
    motion = read_reference(reference)
    if motion is not None and not law.follows:
        raise InputError(f"{law.name!r} follows nothing: give no reference")
    follow = None if motion is None else follow_reference(law, motion)
    names = (disturbed,) if isinstance(disturbed, str) else tuple(disturbed)
    for d in names:
        if d not in law.outputs:
            raise unknown(f"output of {law.name!r} to disturb", d, law.outputs)
    limits = read_torque_limits(torque_limits, law.outputs, flow)
    loop = ClosedLoop(flow, law, follow, disturbed=names, limits=limits, sample=sample_time, delay=delay, name=name)
    return loop.flow


def add_law_states(law: Law, x0: ArrayLike, states: Sequence[str] = ()) -> Array:
    """(..., n) → (..., n + z): the states of a flow and, after them, the law's own at their start; `states` names the
    flow's, for a law that starts where it measures."""
    x = np.asarray(x0, float)
    if law.start is None:
        z = np.broadcast_to(np.asarray(law.initial, float), (*x.shape[:-1], len(law.initial)))
    else:
        for name in law.measures:
            if name not in states:
                raise unknown(f"state that {law.name!r} measures at its start", name, states)
        y, size = x[..., [states.index(name) for name in law.measures]], len(law.states)
        begin = compile_function(law.start, [y.shape[-1:]], [(size,)], f"start of {law.name}", arguments=("y",))
        z = np.asarray(begin(y))
    return np.concatenate((x, z), -1)
