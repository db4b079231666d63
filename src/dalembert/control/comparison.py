"""Several controllers on one task, with everything that a model leaves out: the table and the picture that argue.

Textbooks argue in words: pure feedforward drifts, PD with gravity is enough for a set point, computed torque needs the
model, and behind high gears none of it matters. Here it is measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array, array, number, of_kind
from dalembert.caching import cached_property
from dalembert.control.controller import Controller, check_robot, measures, read_wanted, torques
from dalembert.control.scenarios import DEFAULTS, NOISE, PLANT, Scenario, add_gears, add_noise, scenario_flow
from dalembert.display import Displayed, align
from dalembert.draw.pyplot import pyplot, save, styled
from dalembert.errors import InputError, choose
from dalembert.flow import Flow
from dalembert.law import Law
from dalembert.reference import Reference, read_reference
from dalembert.robot import Robot
from dalembert.simulation.fixed_step import Asks, integrate, refine, whole_steps
from dalembert.simulation.loop import ClosedLoop, add_law_states, close_loop, follow_reference
from dalembert.simulation.plant import warn_of_reference
from dalembert.simulation.results import SHARE, free_memory, size_in_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Maker = Callable[[Robot], Controller]
Named = dict[str, Controller | Maker]

SETTLED, BOUNDED, DRIFTING, DIVERGED = "settled", "bounded", "drifting", "diverged"
UNRESOLVED = "unresolved"  # no step tried was short enough: nothing is said of the controller
# States kept of each run, or up to twice as many; figures are read off more, up to FINE, the shorter the steps.
ROWS, FINE = 1000, 16_000
# Two runs, one with half the other's step, agree if all figures do to this relative accuracy (errors: of the largest
# error or the tolerance). A run that diverges must have followed the same way for this part of the run: an integrator
# that is unstable leaves it at once.
AGREES, SOONEST = 0.01, 0.01
# An error whose largest in the last quarter of a run is this factor above all before drifts; one that exceeds LOST
# [rad, m] has lost the motion, whatever it does then.
GROWS, LOST = 1.5, math.pi / 2
MOST_COPIES = 4  # of the noise, while a run begins
TINY = 1e-9  # [N m, J] torques and energies below differ by rounding


@dataclass(frozen=True, eq=False)
class Comparison(Displayed):
    """What was measured of c controllers in s scenarios.

    rms_error, max_error [rad or m], rms_torque, peak_torque [N m] (at the motors where there are gears), energy [J]
    (∫ Σ |τ q̇| dt): (c, s). verdict (c, s): "settled" (the last quarter stays below the tolerance), "bounded",
    "drifting", "diverged" (`criteria` says when), or "unresolved", with figures that are NaN: no step was short enough.
    dt (c, s): the steps taken [s]. t (T,), error (c, s, T): max over joints of |q_d − q|; torque (c, s, T, n)."""

    robot: str
    controllers: tuple[str, ...]
    scenarios: tuple[str, ...]
    rms_error: Array
    max_error: Array
    rms_torque: Array
    peak_torque: Array
    energy: Array
    verdict: NDArray[np.str_]
    t: Array
    error: Array
    torque: Array
    tolerance: float
    dt: Array

    def of(self, controller: str, scenario: str) -> dict[str, Any]:
        """One cell, by names."""
        k = (
            self.controllers.index(choose("controller", controller, self.controllers)),
            self.scenarios.index(choose("scenario", scenario, self.scenarios)),
        )
        numbers = ("rms_error", "max_error", "rms_torque", "peak_torque", "energy", "dt")
        return {**{name: float(getattr(self, name)[k]) for name in numbers}, "verdict": str(self.verdict[k])}

    @property
    def criteria(self) -> str:
        """When a verdict is given, with its numbers."""
        return (
            f"settled: error below {self.tolerance:g} in the last quarter; drifting: error beyond {LOST:.3g}, or in "
            f"the last quarter {GROWS:g} times all before; bounded: neither; diverged: without bound; each only where "
            f"half the step gives the same within {AGREES:.0%}, else unresolved"
        )

    def rows(self) -> list[dict[str, Any]]:
        """The table as data, scenario by scenario."""
        return [{"scenario": s, "controller": c, **self.of(c, s)} for s in self.scenarios for c in self.controllers]

    def __str__(self) -> str:
        head = ("scenario", "controller", "RMS error", "max error", "RMS torque", "peak torque", "energy", "step", "")
        lines = [head]
        for s in self.scenarios:
            for k, c in enumerate(self.controllers):
                cell = self.of(c, s)
                *numbers, verdict = cell.values()
                lines.append((s if k == 0 else "", c, *(f"{x:.3g}" for x in numbers), verdict))
        return "\n".join(align(lines))

    def argument(self) -> str:
        """What the figures say, in sentences."""
        out = []
        for k, c in enumerate(self.controllers):
            says = []
            for verdict in WORDS:
                where = [s for s, v in zip(self.scenarios, self.verdict[k], strict=True) if v == verdict]
                if where:
                    says.append(f"{WORDS[verdict]} ({', '.join(where)})")
            said = f"{c}: {'; '.join(says)}."
            judged = self.verdict[k] != UNRESOLVED
            if judged.any():
                rms = np.where(np.isfinite(self.rms_error[k]), self.rms_error[k], np.inf)
                worst = int(np.argmax(np.where(judged, rms, -1.0)))
                said += f" Worst in {self.scenarios[worst]!r}, RMS error {self.rms_error[k, worst]:.3g} [rad, m]."
            if not judged.all():
                least = f"{self.dt[k, ~judged].min():.3g} s"
                said += f" Even steps of {least} do not agree with their double there: too long, or rounding decides."
            out.append(said)
        return "\n".join(out)

    @styled
    def plot(self, path: str | Path | None = None) -> Figure:
        """Errors over time, a panel per scenario; written to `path` if given. The matplotlib figure is returned."""
        columns = min(3, len(self.scenarios))
        rows = -(-len(self.scenarios) // columns)
        size = (4.2 * columns, 2.9 * rows + 0.5)
        figure, grid = pyplot().subplots(
            rows, columns, sharex=True, sharey=True, squeeze=False, figsize=size, layout="constrained"
        )
        axes = grid.ravel()
        for s, name in enumerate(self.scenarios):
            for k, controller in enumerate(self.controllers):
                shown = np.maximum(self.error[k, s], 1e-9)
                axes[s].semilogy(self.t, shown, label=controller)
            axes[s].set_title(name, fontsize=10)
        for axis in axes[len(self.scenarios) :]:
            axis.set_visible(False)
        for axis in axes[::columns]:
            axis.set_ylabel("largest joint error [rad, m]", fontsize=8)
        for axis in axes[max(0, len(self.scenarios) - columns) : len(self.scenarios)]:
            axis.set_xlabel("t [s]")
            axis.tick_params(labelbottom=True)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)), fontsize=8)
        if path is not None:
            save(figure, path)
        return cast("Figure", figure)


WORDS = {
    SETTLED: "follows",
    BOUNDED: "stays near, with an error that remains",
    DRIFTING: "drifts away",
    DIVERGED: "breaks down",
    UNRESOLVED: "cannot be judged",
}


def compare(
    controllers: Mapping[str, Controller | Maker] | Sequence[Controller],
    plant: Robot,
    reference: Reference | ArrayLike,
    duration: float = 5.0,
    *,
    scenarios: Mapping[str, Scenario] | None = None,
    gears: Sequence[float] | None = None,
    rotor_inertia: float | Sequence[float] | None = None,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    dt: float = 1e-3,
    method: str = "rk4",
    tolerance: float = 1e-2,
    seed: int | None = None,
) -> Comparison:
    """Run every controller on the same task in every scenario, and measure.

    `controllers` by name (or a list): controllers of joint torques, or functions that make one for the robot they are
    given. `reference`: a motion of the joints or a set point; runs begin on it unless q0, qd0 are given. `scenarios`:
    as in `Scenario`; the usual six if not given. `gears`: ratios N; the whole comparison is made for each, with N² J_m
    of `rotor_inertia` in the robot, which functions are given to make their controllers for; a controller that is
    given as it is believes in the geared robot too. Torques are then those at the motors, τ/N.
    All scenarios of a controller run as one batch, in steps of dt that are halved until half of them gives the same
    verdicts and figures. Noise is drawn every dt, from `seed`, and held; a law with a memory of its own (predictive
    control) is asked every dt."""
    check_robot(plant, "compare")
    named = _name_controllers(controllers)
    given = dict(DEFAULTS if scenarios is None else scenarios)
    for name, scenario in given.items():
        of_kind(scenario, Scenario, f"scenario {name!r} must be a Scenario, got")
    if not given:
        raise InputError("there are no scenarios to compare in")
    duration, dt = number("duration", duration, "s", above=0.0), number("dt", dt, "s", above=0.0)
    tolerance = number("tolerance", tolerance, above=0.0)
    if (gears is None) != (rotor_inertia is None):
        raise InputError("gears and rotor_inertia belong together: give both, or neither")
    if seed is not None and not any(s.noise or s.rate_noise for s in given.values()):
        raise InputError("seed is that of the noise, and no scenario has any: leave it out")
    steps = whole_steps(duration, min(dt, duration))
    task = _RunPlan(reference, q0, qd0, duration / steps, steps, method, seed or 0)
    parts: list[tuple[list[str], list[_Runs]]] = []
    for ratio in [1.0] if gears is None else list(gears):
        robot = plant if gears is None else add_gears(plant, rotor_inertia or 0.0, ratio)
        prefix = "" if gears is None else f"N = {ratio:g}" + (", " if len(given) > 1 else "")
        names = [f"{prefix}{name}" if gears is None or len(given) > 1 else prefix for name in given]
        made = {name: _make(name, c, robot, gears is not None) for name, c in named.items()}
        if not parts:
            warn_of_reference(robot.flow(), next(iter(made.values())).law(), read_reference(reference), duration)
        runs = [_refine(c, robot, list(given.values()), task, ratio, tolerance) for c in made.values()]
        parts.append((names, runs))
    return _measure(plant, tuple(named), parts, tolerance)


@dataclass(frozen=True)
class _RunPlan:
    reference: Reference | ArrayLike
    q0: ArrayLike | None
    qd0: ArrayLike | None
    dt: float
    steps: int
    method: str
    seed: int


def _every(steps: int, rows: int) -> int:
    """Steps from one row to the next, for so many rows or up to twice as many: a power of two, so that rows of shorter
    steps fall onto those of longer ones."""
    return 1 << max(0, (steps // rows).bit_length() - 1)


@dataclass(frozen=True, eq=False)
class _Runs:
    """Of one controller: t (T,), error (s, T, n), torque at the motors and its power (s, T, n), in steps of dt;
    one row in `every` is shown; `resolved` (s,): where the steps were short enough."""

    t: Array
    error: Array
    torque: Array
    power: Array
    dt: float
    every: int
    resolved: NDArray[np.bool_] | None = None

    @cached_property
    def largest(self) -> Array:
        """(s, T): over the joints."""
        return np.asarray(np.abs(self.error).max(axis=-1))

    def _rms(self, x: Array) -> Array:
        return np.sqrt(np.trapezoid((x**2).mean(axis=-1), self.t, axis=-1) / (self.t[-1] - self.t[0]))

    @cached_property
    def figures(self) -> Array:
        """(5, s): RMS and largest error, RMS and peak torque, energy."""
        return np.array(
            [
                self._rms(self.error),
                self.largest.max(axis=-1),
                self._rms(self.torque),
                np.abs(self.torque).max(axis=(-2, -1)),
                np.trapezoid(self.power.sum(axis=-1), self.t, axis=-1),
            ]
        )


def _name_controllers(controllers: Mapping[str, Controller | Maker] | Sequence[Controller]) -> Named:
    if isinstance(controllers, Mapping):
        named = dict(controllers)
    else:
        try:
            each = list(controllers)
        except TypeError:
            raise InputError("controllers is a dictionary by name, or a list of controllers") from None
        named = {}
        for c in each:
            name = c.law().name if isinstance(c, Controller) else getattr(c, "__name__", type(c).__name__)
            if name in named:
                raise InputError(f"two controllers are called {name!r}: give a dictionary with names of your own")
            named[name] = c
    if not named:
        raise InputError("there are no controllers to compare")
    return named


def _make(name: str, controller: object, robot: Robot, again: bool) -> Controller:
    if isinstance(controller, Controller):
        if again:
            if not is_dataclass(controller) or "robot" not in {field.name for field in fields(controller)}:
                raise InputError(
                    f"controller {name!r} cannot be made again for a geared robot: give a function that makes it"
                )
            controller = replace(controller, robot=robot)
    elif callable(controller):
        controller = controller(robot)
    wanted = f"controller {name!r} must be a controller or a function that makes one, got"
    made = of_kind(controller, Controller, wanted)
    law = made.law()
    if law.outputs != torques(robot) or set(law.measures) - set(measures(robot)):
        raise InputError(f"controller {name!r} is not one of the joint torques of {robot.name!r} from its (q, q̇)")
    return made


def _start(task: _RunPlan, robot: Robot) -> tuple[Array, Array]:
    """(q, q̇) at the beginning: on the reference, unless given."""
    n = robot.n
    if isinstance(task.reference, Reference):
        if task.reference.m != n:
            raise InputError(f"the reference has {task.reference.m} numbers, and {robot.name!r} {n} joints")
        q, qd, _ = (np.asarray(x, float) for x in task.reference(0.0))
    else:
        q, qd = array("the set point", task.reference, (n,), meaning="one per joint"), np.zeros(n)
    if task.q0 is not None:
        q = array("q0", task.q0, (n,), meaning="one per joint")
    return q, qd if task.qd0 is None else array("qd0", task.qd0, (n,), meaning="one per joint")


def _refine(
    controller: Controller, robot: Robot, scenarios: list[Scenario], task: _RunPlan, ratio: float, tolerance: float
) -> _Runs:
    """All scenarios of a controller, in steps short enough for all of them, as far as there are such."""

    def agree(coarse: _Runs, fine: _Runs) -> NDArray[np.bool_]:
        return np.array([_same(coarse, fine, s, tolerance) for s in range(len(scenarios))])

    found, resolved, _ = refine(lambda finer: _run(controller, robot, scenarios, task, ratio, finer), agree)
    return replace(found, resolved=resolved)


def _same(coarse: _Runs, fine: _Runs, s: int, tolerance: float) -> bool:
    """Whether the finer run of scenario s bears the coarser one out: the same verdict and the same figures; of motions
    that are lost, the same way until then."""
    rows = slice(None, None, fine.every // coarse.every)
    a, b = coarse.largest[s], fine.largest[s, rows]
    verdict = judge(b, tolerance)
    if judge(a, tolerance) != verdict:
        return False
    lost = [int(np.argmax(~(e <= LOST))) if not (e <= LOST).all() else len(e) for e in (a, b)]
    until = min(lost)
    scale = max(float(b[:until].max(initial=0.0)), tolerance)
    if np.abs(coarse.error[s, :until] - fine.error[s, rows][:until]).max(initial=0.0) > AGREES * scale:
        return False
    if until == len(a):
        differ = np.abs(coarse.figures[:, s] - fine.figures[:, s])
        return bool((differ <= AGREES * np.maximum(fine.figures[:, s], [tolerance, tolerance, 0, 0, 0]) + TINY).all())
    return abs(lost[0] - lost[1]) <= max(1, AGREES * until) and (verdict != DIVERGED or until >= SOONEST * len(a))


def _run(
    controller: Controller, robot: Robot, scenarios: list[Scenario], task: _RunPlan, ratio: float, finer: int
) -> _Runs:
    """All scenarios of a controller, as one batch, in steps `finer` times shorter than asked."""
    law = add_noise(controller.law())
    reference = task.reference
    loop, asks = _close(robot, law, task)
    q, qd = _start(task, robot)
    off = np.array([s.start for s in scenarios])[:, None]
    x0 = np.concatenate((q + off, np.broadcast_to(qd, (len(scenarios), robot.n))), axis=-1)
    noise = any(s.noise or s.rate_noise for s in scenarios)
    varying = [name for name in loop.inputs if (noise and name.startswith(NOISE)) or name in law.follows]
    needed, free = 8 * MOST_COPIES * task.steps * finer * len(scenarios) * len(varying), free_memory()
    if free is not None and needed > SHARE * free:
        raise InputError(
            f"noise for {task.steps * finer:.3g} steps of {len(scenarios)} scenarios needs {size_in_words(needed)}, "
            f"and {size_in_words(free)} of memory are free: a shorter duration, or a longer dt"
        )
    held: dict[str, ArrayLike] = {name: [getattr(s, name) for s in scenarios] for name in PLANT}
    held.update((name, value) for name, value in law.parameters.items() if name not in varying)
    u = _inputs(varying, law, robot, scenarios, task, finer)
    every = _every(task.steps * finer, FINE)
    run = integrate(
        loop,
        _begin(law, x0, loop),
        task.dt / finer,
        task.steps * finer,
        u,
        method=task.method,
        every=every,
        parameters=held,
        asks=asks,
    )
    n, shown = robot.n, _every(task.steps, ROWS) * finer // every
    wanted = read_wanted(law, reference, run.t) if law.follows else np.zeros((len(run.t), n))
    tau = _outputs(loop, run.y, law.outputs)
    power = np.abs(tau * run.x[..., n : 2 * n])
    return _Runs(run.t, wanted[..., :n] - run.x[..., :n], tau / ratio, power, task.dt / finer, shown)


def _close(robot: Robot, law: Law, task: _RunPlan) -> tuple[Flow, Asks | None]:
    """The loop of a controller, and what asks one with a memory of its own: every dt, whatever the steps."""
    flow = scenario_flow(robot)
    if not law.asked:
        return close_loop(flow, law, task.reference), None
    motion = read_reference(task.reference)
    if motion is None or not law.follows:
        raise InputError(
            f"{law.name!r} follows no motion of the joints, and a comparison is one of following: give follows="
        )
    loop = ClosedLoop(flow, law, follow_reference(law, motion), sample=task.dt)
    return loop.flow, loop.asks


def _begin(law: Law, x0: Array, loop: Flow) -> Array:
    """The states of all scenarios; a command that is held begins at zero."""
    x = add_law_states(law, x0, loop.states)
    return np.concatenate((x, np.zeros((len(x), len(loop.states) - x.shape[-1]))), -1)


def _inputs(varying: list[str], law: Law, robot: Robot, scenarios: list[Scenario], task: _RunPlan, finer: int) -> Array:
    """(s, steps, m): noise drawn every dt, the same for every controller; the reference where it is sampled."""
    if not varying:
        return np.zeros((1, 0))
    rng = np.random.default_rng(task.seed)
    n = robot.n
    draws = rng.standard_normal((len(scenarios), task.steps, 2 * n))
    sizes = np.array([[s.noise] * n + [s.rate_noise] * n for s in scenarios])[:, None, :]
    held = np.moveaxis(np.repeat(draws * sizes, finer, axis=1), -1, 0)
    drawn = dict(zip((f"{NOISE}{y}" for y in measures(robot)), held, strict=True))
    sampled: dict[str, Array] = {}
    if any(name in law.follows for name in varying):
        r = read_wanted(law, task.reference, np.asarray(np.arange(task.steps * finer) * (task.dt / finer), float))
        sampled = {name: np.broadcast_to(r[:, k], (len(scenarios), len(r))) for k, name in enumerate(law.follows)}
    return np.stack([drawn[name] if name in drawn else sampled[name] for name in varying], axis=-1)


def _outputs(loop: Flow, y: Array, names: Sequence[str]) -> Array:
    return y[..., [loop.outputs.index(name) for name in names]]


def _measure(
    plant: Robot, names: tuple[str, ...], parts: list[tuple[list[str], list[_Runs]]], tolerance: float
) -> Comparison:
    def join(of: Callable[[_Runs], Any], axis: int = 0) -> Array:
        """(c, s, …) of every controller and scenario."""
        return np.stack([np.concatenate([of(runs[k]) for _, runs in parts], axis=axis) for k in range(len(names))])

    resolved = join(lambda r: r.resolved).astype(bool)
    verdicts = join(lambda r: [judge(e, tolerance) for e in r.largest])
    rms_error, max_error, rms_torque, peak_torque, energy = np.moveaxis(
        np.where(resolved[:, None], join(lambda r: r.figures, axis=1), np.nan), 1, 0
    )
    return Comparison(
        plant.name,
        names,
        tuple(name for part, _ in parts for name in part),
        rms_error,
        max_error,
        rms_torque,
        peak_torque,
        energy,
        np.where(resolved, verdicts, UNRESOLVED),
        parts[0][1][0].t[:: parts[0][1][0].every],
        join(lambda r: r.largest[:, :: r.every]),
        join(lambda r: r.torque[:, :: r.every]),
        float(tolerance),
        join(lambda r: np.full(len(r.error), r.dt)),
    )


def judge(error: Array, tolerance: float) -> str:
    """The verdict on a run from the largest error over time, (T,)."""
    if not np.isfinite(error).all():
        return DIVERGED
    quarter = max(1, len(error) // 4)
    if error.max() > LOST:
        return DRIFTING
    if error[-quarter:].max() < tolerance:
        return SETTLED
    return DRIFTING if error[-quarter:].max() > GROWS * error[:-quarter].max(initial=0.0) else BOUNDED
