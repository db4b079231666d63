"""Output error: parameters whose simulated motion is the measured one, under the measured torques.

    min over β and the starts x_w of  Σ_w Σ_k |q(t_k; β, x_w) − q_k|²

Torques of inverse dynamics need q̈, and so a filter; here positions are compared as they were measured, and nothing is
differentiated. A whole log simulated from its first state would drift away from any measurement, so it is cut into
windows, each with a start of its own. Gauss–Newton with damping (Levenberg–Marquardt): with the states of a window go
their derivatives in start and parameters, a window per lane, and the starts are eliminated window by window (Schur
complement), so that what is left to solve has the size of β. The covariance is that of least squares, s² (JᵀJ)⁻¹, with
positions that are measured with equal, independent noise and torques that are known.  Ljung 1999, ch. 7; Gautier, Janot
& Vandanjon 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import Array, array, count, number, of_kind
from dalembert.caching import cached_property
from dalembert.errors import InputError, choose
from dalembert.identification.fit.regressor import Base, Columns, base
from dalembert.identification.fit.robot import identified
from dalembert.identification.log.samples import Log
from dalembert.robot import Robot, need_robot
from dalembert.simulation.experiment import Experiment
from dalembert.simulation.options import Solver

LANES = 2**21  # numbers that derivatives of some windows may take at once, 16 MB
FIRST = 1e-6  # damping to begin with, of the diagonal
MOST_DAMPING = 1e8
SMALL = 0.01  # standard deviations by which the last step may still move a base parameter; the next moves it far less
SINGULAR = 1e-13  # of the largest eigenvalue of the scaled normal matrix: what rounding leaves of zero
UNEVEN = 1e-3  # of a step, by which the times of a log may be off
FRICTION = ("viscous", "coulomb")


@dataclass(frozen=True, eq=False)
class OutputError:
    """What motions under known torques say of a robot.

    `base`: β (p,), with `covariance` (p, p); `parameters`: all columns, the description's where the log tells nothing;
    starts (windows, 2n): the states that the windows begin with; noise: the standard deviation of the positions
    [rad, m] that is left; iterations, converged and the reason for stopping."""

    columns: Columns
    base_parameters: Base
    parameters: Array
    covariance: Array
    starts: Array
    noise: float
    iterations: int
    converged: bool
    message: str

    @property
    def base(self) -> Array:
        """β, the identified base parameters."""
        return self.base_parameters.of(self.parameters)

    @property
    def deviation(self) -> Array:
        """Standard deviations of β."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def names(self) -> tuple[str, ...]:
        """The base parameters as sums of parameters."""
        return self.base_parameters.formulas()

    @cached_property
    def robot(self) -> Robot:
        """The robot with the identified parameters."""
        return identified(self.columns, self.parameters)


def output_error(
    robot: Robot,
    log: Log | Sequence[Log],
    *,
    friction: Sequence[str] = (),
    rotor: bool = False,
    window: float = 0.2,
    every: int = 5,
    method: str = "midpoint",
    iterations: int = 30,
) -> OutputError:
    """The base parameters with which the robot moves as in the log, and their covariance; from those of its description
    on, which must be near enough that windows follow the motion.

    The torques of each sample are held until the next, as a drive holds its command. `friction`: columns that are
    looked for too, "viscous", "coulomb"; `rotor` inertias. `window` [s]: the length of the pieces that are simulated;
    `every`: so many steps lie between positions that are compared. `method`: of integration, in steps of the log."""
    need_robot(robot, "output_error")
    names = (friction,) if isinstance(friction, str) else tuple(friction)
    for name in names:
        choose("friction column of output errors", name, FRICTION)
    columns = Columns(robot, friction=names, rotor=rotor)
    return _solve(
        columns, base(columns), _Windows(columns, log, window, every, method), count("iterations", iterations, 1)
    )


class _Windows:
    """The log in pieces: q (W, rows, n) at the rows that are compared, tau (W, steps, n), and their rollout."""

    def __init__(self, columns: Columns, log: object, window: float, every: int, method: str) -> None:
        robot, logs = columns.robot, tuple(log) if isinstance(log, (list, tuple)) else (log,)
        for one in logs:
            of_kind(one, Log, "log must be a Log (see `read_log`) or a list of them, got")
            if one.joints != tuple(robot.joint_names):
                raise InputError(
                    "conflict",
                    "log",
                    problem=f"the log has joints {', '.join(one.joints)}; {robot.name!r} "
                    f"{', '.join(robot.joint_names)}",
                )
        if not logs:
            raise InputError("too-few", "log", expected="at least one log")
        steps_of = {_step(one) for one in logs}
        dt = min(steps_of)
        if max(steps_of) - dt > UNEVEN * dt:
            raise InputError(
                "conflict", "log", problem=f"the logs have different steps: {', '.join(f'{s:.6g}' for s in steps_of)} s"
            )
        self.every = count("every", every, 1)
        rows = round(number("window", window, "s", above=0.0) / (dt * self.every))
        self.steps, n = rows * self.every, robot.n
        if rows < 4:
            raise InputError(
                "too-few",
                "window",
                problem=f"a window of {window:g} s has {rows} rows of {self.every} steps of {dt:g} s",
                remedy="Use a longer window.",
            )
        checked = [(array("q of the log", one.q), array("tau of the log", one.tau)) for one in logs]
        pieces = [(q, tau, k) for q, tau in checked for k in range(0, len(q) - self.steps, self.steps)]
        if not pieces:
            raise InputError(
                "too-few",
                "log",
                problem=f"no log is as long as a window of {window:g} s",
                remedy="Use a shorter window.",
            )
        every_row = np.arange(0, self.steps + 1, self.every)
        self.q = np.stack([q[first + every_row] for q, _, first in pieces])
        self.tau = np.stack([tau[first : first + self.steps] for _, tau, first in pieces])
        e = Experiment(robot, friction=bool(columns.friction), solver=Solver(method, every=self.every), dt=dt)
        self.names = tuple(columns.all_names)
        self.function = e.function(("x0", "inputs.tau", *self.names), duration=self.steps * dt)
        self.n, self.dt = n, dt

    def __len__(self) -> int:
        return len(self.q)

    def guess(self) -> Array:
        """(W, 2n): position and rate of a cubic through the first rows of each window."""
        rows = min(self.q.shape[1], 12)
        t = self.dt * self.every * np.arange(rows)
        fit = np.linalg.pinv(np.vander(t / t[-1], 4, increasing=True))
        a = np.einsum("kr,wri->kwi", fit, self.q[:, :rows])
        return np.concatenate((a[0], a[1] / t[-1]), -1)

    def errors(self, parameters: Array, starts: Array) -> Array:
        """(W, rows, n): simulated less measured positions."""
        return self.function(starts, self.tau, *np.moveaxis(parameters, -1, 0), nan=True)[..., : self.n] - self.q

    def normal(self, parameters: Array, starts: Array, kept: NDArray[np.int64]) -> tuple[Array, Array]:
        """(W, k, k) JᵀJ and (W, k) Jᵀr of each window, in its start and then in the kept parameters."""
        names = [self.names[k] for k in kept]
        size = 2 * self.n + len(kept)
        many = max(LANES // ((1 + size) * self.q.shape[1] * 2 * self.n), 1)
        H, g = np.empty((len(self), size, size)), np.empty((len(self), size))
        for first in range(0, len(self), many):
            at = slice(first, first + many)
            x, dx = self.function.sensitivity(starts[at], self.tau[at], *np.moveaxis(parameters, -1, 0), wrt=names)
            r = x[..., : self.n] - self.q[at]
            J = [np.ascontiguousarray(dx[..., i, :]) for i in range(self.n)]  # (W, rows, size) of each joint
            # Joint by joint: larger products BLAS gives to several threads, which wait for each other on busy machines.
            H[at] = sum(j.transpose(0, 2, 1) @ j for j in J)
            g[at] = sum(np.einsum("wrk,wr->wk", j, r[..., i]) for i, j in enumerate(J))
        return H, g


def _step(log: Log) -> float:
    """The step of a log [s], refused where it is not even."""
    if len(log.t) < 2 or not np.isfinite(log.t).all():
        raise InputError("wrong-value", "log", problem="a log needs at least two times, all finite")
    steps = np.diff(log.t)
    dt = float(steps.mean())
    if not np.abs(steps - dt).max() <= UNEVEN * dt:
        raise InputError(
            "wrong-value",
            "log",
            problem=f"the times of the log are uneven, {steps.min():.6g} to {steps.max():.6g} s apart, and each "
            "holds its torque",
            remedy="Resample it.",
        )
    return dt


def _told(S: Array) -> bool:
    """Whether the scaled normal matrix has its full rank, beyond rounding."""
    eigenvalues = np.linalg.eigvalsh(S)
    return bool(eigenvalues[0] > SINGULAR * eigenvalues[-1])


def _solve(columns: Columns, minimal: Base, data: _Windows, iterations: int) -> OutputError:
    own = columns.robot.flow_parameters
    pi = np.array([own[name] for name in columns.all_names])
    kept = columns.free[minimal.kept]
    m, starts, damping = 2 * data.n, data.guess(), FIRST
    cost = float((data.errors(pi, starts) ** 2).sum())
    if not np.isfinite(cost):
        raise InputError(
            "diverged",
            "window",
            problem="the simulation with the described parameters diverges within a window",
            remedy="Use a shorter window, or better initial numbers.",
        )
    samples = data.q.size
    freedom = samples - len(kept) - starts.size
    if freedom <= 0:
        raise InputError(
            "too-few",
            "window",
            problem=f"{samples} positions cannot determine {len(kept)} parameters and {starts.size} starts",
            remedy="Use a longer window.",
        )
    converged, message, taken = False, f"stopped after {iterations} iterations", 0
    for taken in range(1, iterations + 1):
        H, g = data.normal(pi, starts, kept)
        ss, sp, gs = H[:, :m, :m], H[:, :m, m:], g[:, :m]
        inner = np.linalg.solve(ss, np.concatenate((sp, gs[..., None]), -1))
        A = (H[:, m:, m:] - sp.transpose(0, 2, 1) @ inner[..., :-1]).sum(0)
        b = -(g[:, m:] - np.einsum("wsp,ws->wp", sp, inner[..., -1])).sum(0)
        scale = np.sqrt(np.maximum(np.diag(A), np.finfo(float).tiny))
        S = A / np.outer(scale, scale)
        if taken == 1 and not _told(S):
            raise InputError(
                "singular",
                "log",
                problem=f"the log does not distinguish the {len(kept)} base parameters",
                remedy="Record larger motions of more joints.",
            )
        while True:
            step = np.linalg.solve(S + damping * np.eye(len(S)), b / scale) / scale
            trial, begun = pi.copy(), starts - inner[..., -1] - np.einsum("wsp,p->ws", inner[..., :-1], step)
            trial[kept] += step
            new = float((data.errors(trial, begun) ** 2).sum())
            if new <= cost or damping > MOST_DAMPING:
                break
            damping *= 10.0
        if not new <= cost:
            message, converged = "no shorter step makes it better", True
            break
        pi, starts, cost, damping = trial, begun, new, max(damping / 10.0, 1e-12)
        if step @ A @ step < SMALL**2 * cost / freedom:  # which bounds what any of them moves
            converged, message = (
                True,
                f"the last step moves no base parameter by more than {SMALL:g} standard deviations",
            )
            break
    noise = float(np.sqrt(cost / freedom))
    covariance = np.linalg.pinv(S, hermitian=True) / np.outer(scale, scale) * noise**2
    if not _told(S):  # parameters that run away, where nothing moves any more
        converged, message = False, "it ends where the log does not tell the parameters apart: begin nearer to them"
        covariance = np.full(S.shape, np.inf)
    return OutputError(columns, minimal, pi, covariance, starts, noise, taken, converged, message)
