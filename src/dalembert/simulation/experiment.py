"""`Experiment`: a system with its controller, sensors, limits and measures, and the methods that run it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from dalembert.errors import DivergenceWarning, InputError, choose
from dalembert.reference import read_reference
from dalembert.simulation.batch import Batch, carry_out, warn_of_contacts, warn_of_divergence
from dalembert.simulation.draws import Distribution, Noise
from dalembert.simulation.fixed_step import read_seconds
from dalembert.simulation.measures import MEASURES, Measure, Measures, read_measures
from dalembert.simulation.options import Inputs, JointLimits, Sensors, Solver, read_limits, read_noun
from dalembert.simulation.request import Grid, Request, read_request
from dalembert.simulation.run import Run
from dalembert.simulation.single import find_shapes, run_one
from dalembert.simulation.workers import Scheduler, Threads

if TYPE_CHECKING:
    from dalembert.collision import World, WorldArrays
    from dalembert.simulation.gradient import Gradient, Loss, RunFunction
    from dalembert.simulation.tune import TunedGains
    from dalembert.system import Limits

Start = ArrayLike | Distribution | None
Vary = Mapping[str, ArrayLike | Distribution | Noise] | Grid | None
EVERYWHERE = ("run", "batch", "gradient", "function", "tune")
# The methods that support an option, where not all of them do.
SUPPORT: dict[str, tuple[str, ...]] = {
    "controller (a Python function)": ("run",),
    "controller (with a memory)": ("run", "batch"),
    "solver (adaptive)": ("run",),
    "limits ('stop' or 'bounce')": ("run",),
    "world": ("run", "batch"),
    "sensors (noise)": ("run", "batch", "gradient", "tune"),
    "measures": ("run", "batch", "gradient", "tune"),
}


class Experiment:
    """A system with everything that acts on it, read once.

    Parameters
    ----------
    system : Robot, Constrained, DrivenRobot, FlexibleRobot, LagrangianSystem, Flow or object with flow()
        What moves.
    controller : object with law(), Law or function, optional
        The controller; a function takes (t, q, qd) or (t, x) and returns the inputs. It is called once per sample, or
        once per step without a sample time.
    reference : Reference, array_like or function, optional
        What the controller follows: a motion, a set point, or a function of t [s] that returns x or (x, ẋ, ẍ).
    inputs : Inputs, optional
        Everything else that acts: torques, wrenches, disturbances, parameters; each constant, with one row per step, or
        a function of t.
    sensors : Sensors, optional
        Sample time, delay, noise and quantization.
    limits : JointLimits, Limits or {"stop", "bounce", "report"}, optional
        Bounds on torques and positions; ``robot.limits`` clips torques at the robot's efforts.
    friction : bool or "sticking", optional
        Whether the friction of the model counts.
    world : World, optional
        Obstacles; when the links touch them or each other is reported in ``run.contacts``. They exert no forces.
    solver : Solver or str, optional
        Integration method, tolerances and rows that are kept (default: "rk4").
    dt : float
        Length of a step [s]. If a duration is not a multiple of it, the last step is shorter.
    measures : str, sequence of str, mapping or Measures
        Measures by name, or your own.

    Examples
    --------
    >>> import dalembert as dl
    >>> arm = dl.load("planar-2r")
    >>> pd = dl.control.PDGravity(arm, kp=100, kd=20)
    >>> experiment = dl.Experiment(arm, pd, reference=[0.3, 0.5], measures="rms_error")
    >>> run = experiment.run(q0=[0, 0], duration=1.0)
    >>> batch = experiment.batch(vary={"controller.kp": [50.0, 100.0]}, q0=[0, 0], duration=1.0)
    >>> bool(batch.measures["rms_error"][1] == run.measures["rms_error"])
    True
    """

    def __init__(
        self,
        system: object,
        controller: object = None,
        *,
        reference: object = None,
        inputs: Inputs | None = None,
        sensors: Sensors | None = None,
        limits: JointLimits | Limits | str | None = None,
        friction: bool | str | None = None,
        world: World | WorldArrays | None = None,
        solver: Solver | str | None = None,
        dt: float = 1e-3,
        measures: Measures | Sequence[str] | str | Mapping[str, Measure] = (),
    ) -> None:
        self.system, self.controller, self.friction, self.world = system, controller, friction, world
        self.inputs = read_noun("inputs", inputs, Inputs)
        self.sensors = read_noun("sensors", sensors, Sensors)
        self.limits = read_limits(limits)
        self.solver = read_noun("solver", solver, Solver, "method")
        self.dt = read_seconds("dt", dt)
        self.measures = measures if isinstance(measures, Measures) else Measures(measures)
        self.reference = read_reference(reference)
        find_shapes(system, world)

    def replace(self, **changes: Any) -> Experiment:
        """Return the experiment with some of its arguments changed."""
        names = ("system", "controller", "reference", "inputs", "sensors", "limits", "friction", "world", "solver")
        return Experiment(**{**{name: getattr(self, name) for name in (*names, "dt", "measures")}, **changes})

    def run(
        self, *, q0: ArrayLike | None = None, qd0: ArrayLike | None = None, x0: ArrayLike | None = None, duration: float
    ) -> Run:
        """Simulate one run.

        Parameters
        ----------
        q0, qd0 : array_like, shape (n,), optional
            Positions [rad, m] and velocities [rad/s, m/s] at the start; qd0 is zero if not given.
        x0 : array_like, optional
            The whole state instead, with the controller's own states after it if they are not to start by default.
        duration : float
            Length of the motion [s].

        Returns
        -------
        Run
            Rows over time, measures, and how the run ended. Ctrl-C ends a run, which keeps its rows.
        """
        return run_one(self, read_request(self, (q0, qd0, x0), duration, books=True, single=True))

    def batch(
        self,
        *,
        vary: Vary = None,
        count: int | None = None,
        seed: object = None,
        q0: Start = None,
        qd0: Start = None,
        x0: Start = None,
        duration: float,
        keep: str | Sequence[str] = "final",
        on: Scheduler = None,
        threads: Threads = None,
        chunk: int | None = None,
        file: str | Path | None = None,
    ) -> Batch:
        """Simulate B runs at once, in one compiled loop.

        Parameters
        ----------
        vary : mapping or Grid, optional
            Values that differ between runs, by name: "controller.kp", "payload.mass", "disturbance.joint1_torque", or a
            short name if it is unique. A value is an array (B,), (B, steps) for one that has a number per step, a
            distribution, `Noise`, or all of them are a `grid`.
        count : int, optional
            Number of runs B, needed if no array has it.
        seed : int, optional
            Seed of everything that is drawn (default: that of the sensors, or 0). The numbers of a run depend on seed,
            name and index alone.
        q0, qd0, x0 : array_like or distribution, optional
            As in `run`: (n,) for all runs or (B, n).
        duration : float
            Length of the motion [s].
        keep : {"final", "all", "statistics"} or names
            The ends of the runs, all states and outputs at the rows of the solver, their statistics over the runs, or
            these names.
        on : str or distributed.Client, optional
            Where to compute: "local" for processes of this machine, or the address or a client of a Dask cluster.
        threads : int or "all", optional
            Threads of this process (default: 1), or processes if ``on="local"`` (default: all).
        chunk : int, optional
            Runs per task.
        file : str or Path, optional
            A .npy file for the kept rows, which may be larger than the memory.

        Returns
        -------
        Batch
            Ends, kept rows and measures. Results of runs that diverge are NaN, and a DivergenceWarning reports them.
        """
        request = self._request("batch", (q0, qd0, x0), duration, vary, count, seed, keep=keep, watched=True)
        hook = self.solver.progress if callable(self.solver.progress) else None
        again = self._repeat(request, (q0, qd0, x0), duration, vary, count, seed)
        shape = vary.shape if isinstance(vary, Grid) else ()
        batch = carry_out(request, again, threads, on, chunk, file, hook, shape)
        if not shape:  # points of a grid may be bad ones
            warn_of_divergence(request, batch.diverged_at)
            warn_of_contacts(batch)
        return batch

    def gradient(
        self,
        loss: str | Sequence[str] | Mapping[str, float] | Loss,
        *,
        wrt: Sequence[str] | str,
        vary: Vary = None,
        count: int | None = None,
        seed: object = None,
        q0: Start = None,
        qd0: Start = None,
        x0: Start = None,
        duration: float,
    ) -> Gradient:
        """Return a loss of B runs and its derivatives, for the price of five to nine runs however many names there are.

        Parameters
        ----------
        loss : str, sequence of str, mapping or Loss
            A measure, several of them, measures with weights, or a `Loss` over scalars.
        wrt : str or sequence of str
            Names to differentiate by: "q0", "qd0" or "x0", and those of `vary`: "controller.kp", "payload.mass",
            "inputs.tau". They have the values of the experiment unless `vary` gives others.
        vary, count, seed, q0, qd0, x0, duration
            As in `batch`.

        Returns
        -------
        Gradient
            ``gradient.loss`` (B,), and ``gradient[name]`` by the names of `wrt`.
        """
        from dalembert.simulation.gradient import Loss, find_gradient, read_weights

        names = (wrt,) if isinstance(wrt, str) else tuple(wrt)
        if not names:
            raise InputError("wrt= names what to differentiate by: 'q0', a gain, a parameter, an input")
        if isinstance(loss, Loss) and self.measures.error is not None:
            raise InputError("error= says what measures of errors compare, and the loss is none: leave it out")
        rows = () if isinstance(loss, Loss) else tuple(read_weights(loss))
        known = {**MEASURES, **read_measures(self.measures.names)}
        chosen = {name: choose("measure", name, known) and known[name] for name in rows}
        e = self.replace(measures=Measures(chosen, self.measures.error))
        request = e._request("gradient", (q0, qd0, x0), duration, vary, count, seed, own=names)
        found = find_gradient(request, loss, names)
        warn_of_divergence(request, found.diverged_at, 3)
        if request.plant.contacts is not None:  # the loop that is differentiated does not watch them
            given = {"vary": vary, "count": count, "seed": seed, "q0": q0, "qd0": qd0, "x0": x0}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DivergenceWarning)
                self.replace(measures=()).batch(**given, duration=duration)  # type: ignore[arg-type]
        return found

    def function(
        self,
        of: Sequence[str] | str = "x0",
        *,
        q0: ArrayLike | None = None,
        qd0: ArrayLike | None = None,
        x0: ArrayLike | None = None,
        duration: float,
    ) -> RunFunction:
        """Return the states of a run as a function of arrays, with its derivatives, for JAX, PyTorch and SciPy.

        Parameters
        ----------
        of : str or sequence of str
            Names of the arguments, in order: "x0", or "q0" and "qd0"; "inputs.tau" and other inputs, with one row per
            step; gains and parameters, constant.
        q0, qd0, x0 : array_like, optional
            The start, where `of` does not name it.
        duration : float
            Length of the motion [s].

        Returns
        -------
        RunFunction
            f(*arrays) → states (..., rows, states), at the rows of the solver (every step unless it says otherwise).
        """
        from dalembert.simulation.gradient import make_function
        from dalembert.simulation.request import STARTS

        names = (of,) if isinstance(of, str) else tuple(of)
        if not names or len(set(names)) < len(names):
            raise InputError("of= names the arguments of the function, each once: 'x0', 'inputs.tau', …")
        own = [name for name in names if name not in STARTS]
        e = self if self.solver.every is not None else self.replace(solver=replace(self.solver, every=1))
        request = e._request("function", None, duration, None, 1, None, own=own, stepwise=True, keep="all")
        return make_function(request, names, {"q0": q0, "qd0": qd0, "x0": x0})

    def tune(
        self,
        gains: Sequence[str] | str | None = None,
        *,
        loss: str | Sequence[str] | Mapping[str, float] | Loss,
        factor: float = 10.0,
        iterations: int = 50,
        vary: Vary = None,
        count: int | None = None,
        seed: object = None,
        q0: Start = None,
        qd0: Start = None,
        x0: Start = None,
        duration: float,
    ) -> TunedGains:
        """Return the gains that minimize the mean loss of B runs (L-BFGS-B in their logarithms).

        It is a local search: it ends where no small change helps, and gains are as good as the runs they were tried on.

        Parameters
        ----------
        gains : str or sequence of str, optional
            Names to move (default: every positive gain by itself). All gains of one name move by one factor:
            "controller.kp" keeps the ratios of the joints, "kp_joint1" moves alone.
        loss : str, sequence of str, mapping or Loss
            As in `gradient`. Errors alone drive gains to their bounds: weigh them against torques,
            {"rms_error": 1.0, "rms_torque": 1e-3}.
        factor : float
            Every gain stays between 1/factor and factor times its value.
        iterations : int
            Maximum number of iterations.
        vary, count, seed, q0, qd0, x0, duration
            As in `batch`.

        Returns
        -------
        TunedGains
            The gains by name, and the controller's law with them.
        """
        from dalembert.simulation.tune import tune_gains

        self._check("tune")
        starts = {"q0": q0, "qd0": qd0, "x0": x0}
        task = {"vary": vary, "count": count, "seed": seed, **starts, "duration": duration}
        return tune_gains(self, gains, loss, factor, iterations, task)

    def _repeat(
        self, request: Request, start: Any, duration: float, vary: Vary, count: int | None, seed: object
    ) -> Any:
        def repeat(index: int) -> Run:
            every, place = {"books": True, "number": request.number}, request.stream.seed
            drawn = seed if seed is None else place
            return run_one(self, self._read("batch", start, duration, vary, drawn, every), index)

        return repeat

    def _request(
        self, method: str, start: Any, duration: float, vary: Vary, count: int | None, seed: object, **options: Any
    ) -> Request:
        self._check(method)
        return self._read(method, start, duration, vary, seed, {"number": count, **options})

    def _read(
        self, method: str, start: Any, duration: float, vary: Vary, seed: object, options: Mapping[str, Any]
    ) -> Request:
        """Read starts in `vary` like those that are given."""
        given = dict(vary.points()) if isinstance(vary, Grid) else vary
        if isinstance(given, Mapping) and start is not None:
            names = [name for name in ("q0", "qd0", "x0") if name in given]
            start = tuple(given[k] if k in names else v for k, v in zip(("q0", "qd0", "x0"), start, strict=True))
            given = {name: value for name, value in given.items() if name not in names}
        request = read_request(self, start, duration, vary=given, seed=seed, **options)
        if request.asked and method != "run" and request.plan is not None and not options.get("books"):
            memory = request.loop.law is not None and request.loop.law.memory is not None
            self._refuse(method, "controller (with a memory)" if memory else "controller (a Python function)")
        return request

    def _check(self, method: str) -> None:
        """Refuse options that a method does not support."""
        used = {
            "solver (adaptive)": self.solver.adaptive,
            "limits ('stop' or 'bounce')": self.limits.position in ("stop", "bounce"),
            "world": self.world is not None,
            "sensors (noise)": self.sensors.noise is not None,
        }
        for option in (name for name, given in used.items() if given):
            self._refuse(method, option)

    def _refuse(self, method: str, option: str) -> None:
        """Raise an error unless the method supports the option."""
        if method in SUPPORT.get(option, EVERYWHERE):
            return
        problem = f"Experiment.{method} does not support {option}"
        remedy = f"It is supported by {', '.join(SUPPORT[option])}."
        raise InputError("unsupported", option.partition(" ")[0], problem=problem, remedy=remedy)
