"""`simulate`: one run of one system, under given inputs or a controller."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import plain_array
from dalembert.errors import InputError, unknown
from dalembert.law import Law
from dalembert.reference import Reference
from dalembert.simulation.adaptive import ADAPTIVE, Adaptive, solver_of
from dalembert.simulation.feed import Feed, SensorNoise, distinct
from dalembert.simulation.fixed import whole_steps
from dalembert.simulation.limits import Excess, excesses, torque_limits_of
from dalembert.simulation.loop import Loop, Signals
from dalembert.simulation.progress import Progress
from dalembert.simulation.record import EVENT, Fences, Record
from dalembert.simulation.run import Run, energies_of, multipliers_of
from dalembert.simulation.signals import Signal, reference_of, reference_signal, signal
from dalembert.simulation.stepping import Stepper, check_method, rollout_of
from dalembert.simulation.steps import METHODS
from dalembert.simulation.storage import SHARE, free_memory, written
from dalembert.simulation.systems import Options, Plant, plant_of
from dalembert.units import warn_of_angles, warn_of_motion

Array = NDArray[np.float64]

SYMPLECTIC = "symplectic"  # implicit midpoint in (q, p)
MOST_ROWS = 10_000  # kept if nobody says otherwise
WHOLE = 1e-9  # of a step: times that differ by less are the same
LIMITS = ("stop", "bounce", "report")
SAID = 3  # limits passed that the message names
MOST_BREAKS = 10**8  # instants at which an adaptive method begins anew
COPIES = 3  # of the rows, while a run is put together
LEAK = 0.01  # a relative gap in the energy books beyond this is said


def simulate(
    system: Any,
    controller: Any = None,
    *,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    duration: float,
    x0: ArrayLike | None = None,
    z0: ArrayLike | None = None,
    reference: Any = None,
    tau: Any = None,
    f_tip: Any = None,
    frame: str | None = None,
    expressed_in: str | None = None,
    disturbance: Any = None,
    dt: float = 1e-3,
    method: str = "rk4",
    iterations: int | None = None,
    rtol: float | None = None,
    atol: Any = None,
    sample_time: float | None = None,
    delay: float = 0.0,
    noise: Any = None,
    quantization: Any = None,
    torque_limits: Any = None,
    limits: str | None = None,
    friction: bool | str | None = None,
    every: int | None = None,
    progress: bool | Callable[[float], Any] | None = None,
    seed: int | None = None,
) -> Run:
    """The motion of a system from (q0, qd0) over `duration` [s]: ẋ = f(t, x, w), w = clip(u + τ(t)) + d(t).

    system: a Robot, Constrained, DrivenRobot, FlexibleRobot, LagrangianSystem, a Flow, or what has a flow().
    controller: what has law(), a Law, or a function (t, q, qd) → u or (t, x) → u. A law is continuous unless it has a
    `sample_time` [s]; then it is asked at samples, its command held, and reaches the system after `delay` [s]. A
    function is asked at samples too, by default at each step (by adaptive methods, without sample time, always).
    z0: where the law's own states begin, if not where the law says.
    reference: a Reference, numbers to rest at, or a function of t giving x or (x, ẋ, ẍ).
    tau, disturbance, f_tip (at `frame`, in the terms of `expressed_in`): numbers, one row of them for each step, or a
    function of t. A disturbance is added after the limits.
    method: of fixed step dt, the names of `METHODS`, or "symplectic"; or adaptive, "DOP853" ("adaptive"), "RK45",
    "RK23", "Radau", "BDF", "LSODA" with rtol (1e-8) and atol (1e-10) (SciPy), where dt is the distance of kept rows.
    noise (standard deviation, drawn from `seed`, 0) and quantization (the step of a sensor): a number for all that is
    measured, or by name: {"q": …, "qd": …} or states.
    torque_limits: "robot" for its efforts, a number, one per drive, or (lower, upper). Limits of position, velocity and
    effort that a robot passes are named at the end (`run.beyond`); limits: where a position limit is reached the run is
    to "stop", the joint to "bounce" (half its speed comes back), or the step is "report"ed in `run.events`.
    friction: True, or for a Robot "sticking".
    every: that many steps from one kept row to the next; some 10,000 rows in all if not given.
    progress: None draws a bar on a terminal if it takes long. Ctrl-C ends a run, which keeps what it has."""
    way = _Way.of(duration, dt, method, every, iterations, rtol, atol)
    if f_tip is None and (frame is not None or expressed_in is not None):
        word = f"frame={frame!r} says where" if frame is not None else f"expressed_in={expressed_in!r} says how"
        raise InputError(f"{word} f_tip acts, and there is no f_tip")
    number = _seed(0 if seed is None else seed)
    if seed is not None and noise is None:
        raise InputError("seed is that of the noise, and there is none: give noise=")
    options = Options(friction, f_tip is not None, frame, expressed_in or "world", method == SYMPLECTIC, way.adaptive)
    plant = plant_of(system, options)
    if way.adaptive and plant.steps_only:
        raise InputError(f"{method} cannot run this: {plant.steps_only}")
    if not way.adaptive:
        check_method(plant, way.method, iterations)
    law, asked = _law(controller, plant)
    sampling = _Sampling.of(sample_time, delay, law, asked, way)
    follow, followed = _reference(reference, law)
    if followed is not None:
        warn_of_motion(plant.robot.model if plant.robot else None, law, followed, way.dt * way.steps)
    given = _signals(plant, way.steps, tau, f_tip, disturbance, followed if follow is None else None)
    loop = Loop(
        plant.flow,
        plant.drives,
        _sizes(given),
        law,
        follow,
        sampling.period,
        sampling.delay,
        torque_limits_of(torque_limits, plant.flow.inputs[: plant.drives], plant.flow.name, plant.robot),
        _per_measure("quantization", quantization, law, plant),
        noise is not None,
    )
    if torque_limits is not None and law is None and tau is None:
        raise InputError("torque_limits clip what a controller or tau gives, and there is neither")
    _fits(way, loop)
    deviations = _per_measure("noise", noise, law, plant)
    _check_sensors(loop, plant, deviations, asked, way)
    bar = Progress(progress, plant.flow.name)
    drawn = SensorNoise(np.array(deviations), number) if deviations is not None else None
    X0 = _with_law(loop, _start(plant, q0, qd0, x0).tolist(), given, z0)
    parameters = np.array(list(law.parameters.values()) if law else [], float)
    fences = _fences(limits, plant, X0, way.adaptive)
    ask = _ask(loop, parameters.tolist()) if asked else None
    record = Record()
    try:
        if way.adaptive:
            feed = Feed(given, way.dt, noise=drawn)
            breaks, times = _instants(way, sampling.period if not sampling.always else None, given)
            ways = (method, way.rtol, way.atol)
            runner = Adaptive(plant, loop, feed, parameters, times, breaks, *ways, ask, sampling.always, fences)
            runner.run(X0, record, bar)
        else:
            nodes = (0.0, *METHODS[way.method].nodes, *((1.0,) if plant.flow.settle else ()))
            flagged = sampling.period is not None and not asked
            feed = Feed(given, way.dt, distinct(nodes), drawn, sampling.hold, flagged)
            rollout = rollout_of(loop, feed, way.method, way.iterations, asked)
            judged = METHODS[way.method].iterated
            grid = (way.dt, way.steps, way.every, judged)
            Stepper(plant, loop, feed, rollout, parameters, *grid, ask, fences).run(X0, record, bar)
    finally:
        bar.close()
    run = _assembled(plant, loop, followed, record, method, way.dt)
    if run.ok and not way.adaptive and loop.books and plant.flow.settle is None and limits != "bounce":
        gap = run.audit().relative
        if gap > LEAK:
            said = f"; its energy books are open by {gap:.0%}: steps of {way.dt:g} s are too long for this motion"
            return replace(run, message=run.message + said)
    return run


# ------------------------------------------------------------------------------------------------------ how it is run
@dataclass(frozen=True)
class _Way:
    """Time and method, looked at."""

    duration: float
    dt: float
    steps: int
    every: int
    method: str
    adaptive: bool
    iterations: int | None
    rtol: float
    atol: Any

    @staticmethod
    def of(duration: Any, dt: Any, method: Any, every: Any, iterations: Any, rtol: Any, atol: Any) -> _Way:
        T, h = _positive("duration", duration, "s"), _positive("dt", dt, "s")
        choices = (*METHODS, SYMPLECTIC, *ADAPTIVE)
        if method not in choices:
            raise unknown("method", method, choices)
        adaptive = method in ADAPTIVE
        if adaptive:
            solver_of(method)  # refused in words where SciPy is not there
            if iterations is not None:
                raise InputError(f"{method} chooses its own iterations: iterations= is for implicit-midpoint")
        relative = _positive("rtol", 1e-8 if rtol is None else rtol, "")
        try:
            tolerances = np.asarray(1e-10 if atol is None else atol, float)
        except (TypeError, ValueError):
            tolerances = np.zeros(1)
        if not (tolerances > 0).all():
            raise InputError(f"atol must be positive, got {atol!r}")
        if not adaptive and (rtol is not None or atol is not None):
            word = "rtol" if rtol is not None else "atol"
            raise InputError(
                f"{word}= is for adaptive methods, and {method} takes steps of dt whatever the error: give a shorter "
                "dt, or an adaptive method such as method='DOP853'"
            )
        steps = whole_steps(T, h)
        if not adaptive and abs(steps * h - T) > WHOLE * T:
            raise InputError(
                f"duration {T:g} s is not a whole number of steps of dt = {h:g} s; dt = {T / steps:.12g} would do"
            )
        kept = max(-(-steps // MOST_ROWS), 1) if every is None else _count("every", every)
        count = None if iterations is None else _count("iterations", iterations)
        own = "implicit-midpoint" if method == SYMPLECTIC else method
        return _Way(T, h, steps, kept, own, adaptive, count, relative, tolerances)


def _positive(name: str, value: Any, unit: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number{f' of {unit}' if unit else ''}, got {value!r:.60}") from None
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"{name} must be positive and finite, got {value!r}")
    return number


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(f"{name} must be a whole number, at least 1; got {value!r}")
    return int(value)


def _seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(f"seed must be a whole number, at least 0; got {seed!r}")
    return int(seed)


@dataclass(frozen=True)
class _Sampling:
    """`period` [s] between samples, None for a continuous law; `hold` steps each; `delay` samples; `always`: a law in
    Python is asked for every rate."""

    period: float | None
    hold: int
    delay: int
    always: bool

    @staticmethod
    def of(sample_time: Any, delay: Any, law: Law | None, asked: bool, way: _Way) -> _Sampling:
        late = 0.0 if delay in (0, 0.0, None) else _positive("delay", delay, "s")
        if law is None:
            if sample_time is not None or late:
                raise InputError("sample_time and delay are a controller's, and there is none")
            return _Sampling(None, 1, 0, False)
        period = None if sample_time is None else _positive("sample_time", sample_time, "s")
        always = asked and period is None and way.adaptive and not late
        if period is None and (asked or late):
            period = way.dt
        if period is None:
            if law.states and law.rate is None:
                raise InputError(f"{law.name!r} has no rate, only an update from sample to sample: give sample_time=")
            return _Sampling(None, 1, 0, False)
        hold = 1
        if not way.adaptive:
            hold = _ratio("sample_time", period, "dt", way.dt)
        return _Sampling(period, hold, _ratio("delay", late, "sample_time", period) if late else 0, always)


def _ratio(name: str, value: float, unit_name: str, unit: float) -> int:
    whole = round(value / unit)
    if whole < 1 or abs(whole * unit - value) > WHOLE * value:
        raise InputError(f"{name} must be a whole multiple of {unit_name} = {unit:g} s, got {value:g} s")
    return whole


def _instants(way: _Way, period: float | None, given: tuple[Signal, ...]) -> tuple[Array, Array]:
    """(breaks, times) of an adaptive run; a wanted time that is a break up to rounding is that break."""
    jumps = [np.array([0.0, way.duration])]
    for step in (period, way.dt if any(s.rows is not None and len(s.rows) > 1 for s in given) else None):
        if step is not None:
            if not way.duration / step <= MOST_BREAKS:
                raise InputError(
                    f"{way.duration / step:.3g} samples are too many for an adaptive method, which begins anew at "
                    "each: a shorter duration, or a fixed-step method"
                )
            jumps.append(np.arange(math.ceil(way.duration / step)) * step)
    breaks = np.sort(np.concatenate(jumps))
    near = WHOLE * min(way.dt, period or way.dt)
    breaks = breaks[np.append(True, np.diff(breaks) > near)]
    breaks[-1] = way.duration
    kept = way.dt * way.every
    times = np.append(np.arange(math.ceil(way.duration / kept * (1 - WHOLE))) * kept, way.duration)
    nearest = breaks[np.clip(np.searchsorted(breaks, times - near), 0, len(breaks) - 1)]
    return breaks, np.where(np.abs(nearest - times) <= near, nearest, times)


# -------------------------------------------------------------------------------------------------------- the start
def _start(plant: Plant, q0: Any, qd0: Any, x0: Any) -> Array:
    flow = plant.flow
    if x0 is not None:
        if q0 is not None or qd0 is not None:
            raise InputError("x0 is the whole state: give it, or q0 and qd0")
        x, p = _vector("x0", x0, (len(flow.states),), flow.states), flow.positions
        plant.start(x[: plant.n], x[p : p + plant.n])  # refuses a state off its constraints
        return x
    if q0 is None:
        if plant.n or not flow.states:
            raise InputError(f"give q0, where {flow.name!r} begins: {_names(flow.states[: plant.n])}")
        raise InputError(f"{flow.name!r} has no positions: give x0, its whole state, {_names(flow.states)}")
    lengths = tuple({plant.n, flow.positions or plant.n})
    q = _vector("q0", q0, lengths, flow.states)
    if plant.robot is not None:
        warn_of_angles(plant.robot.model, "q0", q.tolist())
    qd = np.zeros(len(q)) if qd0 is None else _vector("qd0", qd0, lengths, plant.rates)
    return plant.start(q, qd)


def _with_law(loop: Loop, x0: list[float], given: tuple[Signal, ...], z0: Any) -> Array:
    """X of the loop at t = 0, with the law's own states as given, or as the law says."""
    names = loop.law.states if loop.law else ()
    if z0 is not None:
        if not names:
            raise InputError("z0 is where the states of a controller begin, and there are none")
        return np.array(loop.start(x0, _vector("z0", z0, (len(names),), names).tolist()))
    now = [value for s in given for value in s.at(np.zeros(1), np.zeros(1, int))[0].tolist()]
    return np.array(loop.start(x0, loop.begun(x0, now)), float)


def _fits(way: _Way, loop: Loop) -> None:
    """Refuse, before anything is computed, rows that memory would not hold."""
    rows = way.duration / way.dt / way.every
    needed, free = 8 * COPIES * rows * (1 + loop.size + loop.observed), free_memory()
    if free is not None and needed > SHARE * free:
        raise InputError(
            f"{rows:.4g} rows need {written(needed)}, and {written(free)} of memory are free: every= larger, or a "
            "shorter duration"
        )


def _vector(name: str, value: Any, lengths: tuple[int, ...], names: tuple[str, ...]) -> Array:
    try:
        array = np.asarray(plain_array(value, name), float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a list of numbers, got {value!r:.60}") from None
    if array.ndim != 1 or len(array) not in lengths:
        least = min(lengths)
        raise InputError(f"{name} has shape {array.shape}; it must be ({least},): {_names(names[:least])}")
    if not np.isfinite(array).all():
        k = int(np.argmin(np.isfinite(array)))
        raise InputError(f"{name} of {names[k]!r} is {array[k]}: it must be finite")
    return array


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:6]) + (", …" if len(names) > 6 else "")


def _fences(limits: Any, plant: Plant, X0: Array, adaptive: bool) -> Fences | None:
    if limits is None:
        return None
    if limits not in LIMITS:
        raise unknown("way with joint limits", limits, LIMITS)
    if plant.robot is None:
        raise InputError(f"{plant.flow.name!r} has no joint limits: limits= is for robots")
    own = plant.robot.limits
    names = plant.flow.states[: plant.n]
    inertia = None
    if limits == "bounce":
        if plant.rates != plant.flow.states[plant.n :] or plant.robot.loops or adaptive:
            raise InputError("limits='bounce' is for a Robot in (q, q̇), without loops, by a fixed-step method")
        inertia = plant.robot.mass_matrix
    fences = Fences(own.lower, own.upper, names, limits == "stop", inertia)
    margin = fences.margin(X0[: plant.n])
    if (margin < 0).any():
        k = int(np.argmin(margin))
        raise InputError(
            f"q0 of {names[k]!r} is {X0[k]:g}, outside its limits {own.lower[k]:g} … {own.upper[k]:g}: begin inside, "
            "or leave limits=None"
        )
    return fences


# -------------------------------------------------------------------------------------------------- law and reference
def _law(controller: Any, plant: Plant) -> tuple[Law | None, bool]:
    """(law, whether it is asked in Python)."""
    if controller is None:
        return None, False
    if isinstance(controller, type):
        raise InputError(f"{controller.__name__} is a class: make a controller of it first")
    method = getattr(controller, "law", None)
    if isinstance(controller, Law) or callable(method):
        law = controller if isinstance(controller, Law) else method()  # type: ignore[misc]
        if not isinstance(law, Law):
            raise InputError(f"law() of {type(controller).__name__} gives a {type(law).__name__}, not a Law")
        _check_law(law, plant)
        return law, False
    if callable(controller):
        return _function(controller, plant), True
    raise InputError(
        f"a controller has law(), or is a function of (t, q, qd) or (t, x); got {type(controller).__name__}"
    )


def _check_law(law: Law, plant: Plant) -> None:
    flow = plant.flow
    drives = flow.inputs[: plant.drives]
    for name in law.outputs:
        if name not in drives:
            raise unknown(f"input of {flow.name!r} that {law.name!r} drives", name, drives)
    for name in law.measures:
        if name not in (*flow.states, *flow.outputs):
            raise unknown(f"state of {flow.name!r} that {law.name!r} measures", name, (*flow.states, *flow.outputs))
    if len(law.initial) != len(law.states):
        raise InputError(f"{law.name!r} gives {len(law.initial)} initial values for its {len(law.states)} states")
    numbers = {**dict(zip(law.states, law.initial, strict=True)), **law.parameters}
    for name, value in numbers.items():
        if not np.isscalar(value) or not np.isfinite(value):
            raise InputError(f"{name!r} of {law.name!r} must be a finite number, got {value!r}")


def _function(function: Callable[..., Any], plant: Plant) -> Law:
    """A function in Python as a law that is never traced."""
    flow, n = plant.flow, plant.n
    try:
        kinds = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        count = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in kinds)
    except (TypeError, ValueError):
        count = 3
    if count not in (2, 3):
        raise InputError(f"a controller is a function of (t, q, qd) or of (t, x); this one takes {count} arguments")
    outputs = flow.inputs[: plant.drives]
    name = getattr(function, "__name__", type(function).__name__)

    def act(t: Any, y: Any, r: Any, z: Any, p: Any) -> list[float]:
        y = np.array(y, float)
        made = function(t, y[:n], y[n:]) if count == 3 else function(t, y)
        try:
            u = np.asarray(made, float)
        except (TypeError, ValueError):
            u = np.full((1, 1), np.nan)
        if u.shape != (len(outputs),) and not (len(outputs) == 1 and u.shape == ()):
            shape = f"{made!r:.60}" if u.shape in ((), (1, 1)) else f"shape {u.shape}"
            raise InputError(
                f"the controller {name!r} gives {shape} at t = {t:g} s; it must give {len(outputs)} numbers: "
                f"{_names(outputs)}"
            )
        return u.reshape(-1).tolist()

    measures = (*flow.states[:n], *plant.rates) if count == 3 else flow.states
    return Law(name, measures, (), outputs, act)


def _reference(reference: Any, law: Law | None) -> tuple[Any, Reference | None]:
    """(r(t) over scalars or None, the reference)."""
    motion = reference_of(reference)
    wanted = len(law.follows) if law else 0
    if motion is None:
        if wanted:
            assert law is not None
            raise InputError(f"{law.name!r} follows {_names(law.follows)}: give reference=")
        return None, None
    if not wanted:
        return None, motion
    assert law is not None
    if law.coordinates not in (None, motion.m):
        raise InputError(
            f"{law.name!r} follows a motion of {law.coordinates} ({_names(law.follows)}), and this reference is one of "
            f"{motion.m}; rates are given by a Reference or a function of t"
        )
    orders, rest = divmod(wanted, motion.m)
    if rest or not 1 <= orders <= 3:
        raise InputError(
            f"{law.name!r} follows {wanted} numbers ({_names(law.follows)}), and a reference of {motion.m} has "
            f"{motion.m}, {2 * motion.m} or {3 * motion.m} with its rates"
        )
    known = getattr(motion, "orders", 3)
    if orders > known:
        raise InputError(f"{law.name!r} follows rates too: reference(t) must give (x, ẋ, ẍ), and gives x alone")
    if motion.trace(0.0) is None:
        return None, motion

    def follow(t: Any) -> list[Any]:
        parts = motion.trace(t)
        assert parts is not None
        return [value for part in parts[:orders] for value in part]

    return follow, motion


def _signals(
    plant: Plant, steps: int, tau: Any, f_tip: Any, disturbance: Any, motion: Reference | None
) -> tuple[Signal, ...]:
    """What is fed to the loop; a reference that is compiled into it is not."""
    drives = plant.flow.inputs[: plant.drives]
    wrench = plant.flow.inputs[plant.drives :]
    found = [signal("tau", tau, drives, steps), signal("f_tip", f_tip, wrench, steps)]
    found.append(signal("disturbance", disturbance, drives, steps))
    if motion is not None:
        orders = getattr(motion, "orders", 3)
        names = [f"{what}{k + 1}" for what in ("r", "r_rate", "r_acceleration")[:orders] for k in range(motion.m)]
        found.append(reference_signal(motion, names, orders))
    return tuple(s for s in found if s is not None)


def _sizes(given: tuple[Signal, ...]) -> Signals:
    return Signals(**{s.name: len(s.entries) for s in given})


# ------------------------------------------------------------------------------------------------- sensors and limits
def _per_measure(name: str, value: Any, law: Law | None, plant: Plant) -> tuple[float, ...] | None:
    """A number for each measured state: one for all, or by name."""
    if value is None:
        return None
    if law is None:
        raise InputError(f"{name} is a controller's sensors', and there is no controller")
    measures = law.measures
    found = dict.fromkeys(measures, 0.0)
    if isinstance(value, Mapping):
        groups = {"q": plant.flow.states[: plant.n], "qd": plant.rates}
        for key, part in value.items():
            members = [m for m in groups.get(key, (key,)) if m in found]
            if not members:
                raise unknown(f"measurement of {law.name!r}", key, (*groups, *measures))
            found.update(zip(members, _sizes_of(name, part, len(members)), strict=True))
    else:
        found.update(zip(measures, _sizes_of(name, value, len(measures)), strict=True))
    return tuple(found.values())


def _sizes_of(name: str, value: Any, count: int) -> list[float]:
    try:
        numbers = np.broadcast_to(np.asarray(value, float), (count,))
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number, or {count} of them, got {value!r:.60}") from None
    if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
        raise InputError(f"{name} must be finite and not negative, got {value!r:.60}")
    return [float(x) for x in numbers]


def _check_sensors(loop: Loop, plant: Plant, deviations: tuple[float, ...] | None, asked: bool, way: _Way) -> None:
    if way.adaptive and loop.sample is None and (deviations is not None or loop.quantization is not None):
        raise InputError("noise and quantization come with samples: give sample_time=, or take a fixed-step method")
    if loop.law is None or loop.sample is not None or not loop.measures_outputs:
        return
    # An output that depends on the inputs would have to be known before the law that gives them.
    rng = np.random.default_rng(0)
    x = rng.uniform(0.1, 0.9, loop.nx).tolist()
    u = rng.uniform(0.1, 0.9, len(plant.flow.inputs)).tolist()
    assert plant.flow.observe is not None
    still, driven = (plant.flow.observe(0.0, x, w) for w in ([0.0] * len(u), u))
    for k in loop.measures_outputs:
        if still[k] != driven[k]:
            raise InputError(
                f"{loop.law.name!r} measures {plant.flow.outputs[k]!r}, which depends on what the law gives: run it "
                "sampled, with sample_time="
            )


def _ask(loop: Loop, p: list[float]) -> Callable[[float, Array, Array, Array], Array]:
    def ask(t: float, X: Array, s: Array, noise: Array) -> Array:
        return np.array(loop.take(t, X.tolist(), s.tolist(), noise.tolist(), p), float)

    return ask


# --------------------------------------------------------------------------------------------------------- the result
def _assembled(plant: Plant, loop: Loop, motion: Reference | None, record: Record, method: str, dt: float) -> Run:
    flow, (t, X, Y) = plant.flow, record.rows()
    law_states = tuple(loop.law.states) if loop.law else ()
    columns: dict[str, Array] = {"t": t}

    def add(names: tuple[str, ...], values: Array) -> tuple[str, ...]:
        made = []
        for k, name in enumerate(names):
            while name in columns:
                name = f"{name}'"
            columns[name] = np.ascontiguousarray(values[:, k])
            made.append(name)
        return tuple(made)

    a, b = len(flow.outputs), len(flow.outputs) + len(flow.inputs)
    states = add(flow.states, X)
    inputs = add(flow.inputs, Y[:, a:b])
    outputs = add(flow.outputs, Y[:, :a])
    own = add(law_states, X[:, loop.nx : loop.nx + loop.nz])
    shown = add(_shown(plant, loop, motion), Y[:, b:])
    if loop.books:
        add(("work", "loss"), X[:, loop.size - 2 : loop.size])
    m = motion.m if motion else 0
    groups = {
        "q": states[: plant.n],
        "qd": plant.rates,
        "x": states,
        "u": inputs,
        "tau": inputs[: plant.drives],
        "f_tip": inputs[plant.drives :],
        "reference": shown[:m],
        "reference_rate": shown[m : 2 * m],
        "reference_acceleration": shown[2 * m : 3 * m],
        "controller": own,
        "energies": energies_of(outputs),
        "multipliers": multipliers_of(outputs),
    }
    drive = "voltage" if any(name.endswith(("_voltage", "_command")) for name in groups["tau"]) else "torque"
    message = record.message or f"finished at t = {t[-1]:.6g} s"
    cut = int((Y[:, -1] > 0.5).sum()) if loop.tells_clipping else 0
    if cut:
        assert loop.law is not None
        message += (
            f"; torque_limits clipped the command in {cut} of {len(t)} rows, which the states of {loop.law.name!r} are "
            "not told: integrals wind up, observers are misled"
        )
    passed: tuple[Excess, ...] = ()
    if plant.robot is not None and plant.n == plant.robot.n:
        known = {"position": "q", "velocity": "qd", "effort": "tau"}
        if groups["tau"] != tuple(f"{joint}_torque" for joint in plant.robot.joint_names):
            known.pop("effort")
        rows = {kind: np.stack([columns[c] for c in groups[name]], -1) for kind, name in known.items() if groups[name]}
        passed = excesses(t, rows, plant.robot, plant.units)
        if record.status == EVENT:  # the step that ended it has said so
            passed = tuple(excess for excess in passed if excess.kind != "position")
    if passed and not record.message:
        rest = f"; and {len(passed) - SAID} more" if len(passed) > SAID else ""
        message += "; " + "; ".join(str(excess) for excess in passed[:SAID]) + rest
    return Run(
        flow.name,
        columns,
        groups,
        _units(plant, groups, outputs),
        record.status,
        message,
        method,
        dt,
        tuple(record.events),
        record.evaluations,
        record.residual,
        drive,
        passed,
    )


def _shown(plant: Plant, loop: Loop, motion: Reference | None) -> tuple[str, ...]:
    """Names for the reference's columns: after the joints where there are as many."""
    if motion is None:
        return ()
    q = plant.flow.states[: plant.n]
    each = q if len(q) == motion.m else tuple(f"x{k + 1}" for k in range(motion.m))
    names = [f"{name}_reference{what}" for what in ("", "_rate", "_acceleration") for name in each]
    return tuple(names[: loop.shown])


def _units(plant: Plant, groups: Mapping[str, tuple[str, ...]], outputs: tuple[str, ...]) -> dict[str, str]:
    units = {"t": "s"}
    if plant.units:
        for name, part in (("q", ""), ("qd", "/s"), ("reference", ""), ("reference_rate", "/s")):
            units.update((c, f"{u}{part}") for c, u in zip(groups[name], plant.units, strict=False))
        if len(groups["tau"]) == plant.n and all(c.endswith("_torque") for c in groups["tau"]):
            units.update((c, "N" if u == "m" else "N m") for c, u in zip(groups["tau"], plant.units, strict=True))
        units.update((c, "V") for c in groups["tau"] if c.endswith("_voltage"))
    for name in outputs:
        if name.endswith("_energy"):
            units[name] = "J"
        elif name.endswith(("_power", "_loss")):
            units[name] = "W"
    return units
