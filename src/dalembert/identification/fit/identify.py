"""From samples of a motion to parameters, with what they are worth: the whole way in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, of_kind
from dalembert.caching import cached_property
from dalembert.errors import InputError, SingularityError, choose
from dalembert.friction import Friction
from dalembert.identification.fit.consistent import Consistent, find_sizes, fit_consistent
from dalembert.identification.fit.estimate import (
    Estimate,
    Fit,
    find_essential,
    instrumental_variables,
    judge_fit,
    judge_runs,
    least_squares,
    reference_instruments,
    robust_least_squares,
    solve,
)
from dalembert.identification.fit.friction import SOUGHT, law_torques, nonlinear_friction
from dalembert.identification.fit.regression import Compressed, Regression
from dalembert.identification.fit.regressor import FRICTION, Base, Columns, base, coupling_of
from dalembert.identification.fit.robot import find_widths, identified
from dalembert.identification.log.prepare import Choices, prepare
from dalembert.identification.log.samples import Log, Samples
from dalembert.reference import Reference
from dalembert.robot import Robot, need_robot

WAYS = ("ordinary", "weighted", "robust", "instrumental", *SOUGHT)
LEAST = 4.0  # of the motion's bandwidth: above it, torques of noisy logs are fitted to noise by bodies that cannot be
MOST_OPEN = 1 / 3  # of the base parameters: a log that leaves more of them open is none to identify by
CONFIDENCE = 1.959963984540054  # standard deviations on either side of 95 %


class Comparison(TypedDict):
    """A base parameter beside another value: `apart` is how many standard deviations lie between."""

    name: str
    value: float
    deviation: float
    other: float
    apart: float


@dataclass(frozen=True, eq=False)
class Identification:
    """What a log says of a robot.

    `estimate`: base parameters β with covariance, from the training part; `parameters`: values for all columns,
    those of the physically consistent fit if there is one, else the description's with what the log says of β added
    in the least way. `training`, `held_out`: residuals of β; `training_consistent`, `held_out_consistent`: those of
    `parameters`."""

    columns: Columns
    base_parameters: Base
    data: Compressed
    estimate: Estimate
    parameters: Array
    training: Fit
    held_out: Fit | None
    consistent: Consistent | None
    training_consistent: Fit
    held_out_consistent: Fit | None
    samples: tuple[Samples, ...]
    held: tuple[Samples, ...]
    notes: tuple[str, ...] = ()
    laws: tuple[Friction, ...] = ()

    @cached_property
    def widths(self) -> Array:
        """Rates (n,) below which the robot's dry friction rises in proportion to the rate."""
        return find_widths(self.columns, self.parameters, self.samples)

    @property
    def base(self) -> Array:
        """β, the identified base parameters."""
        return self.estimate.beta

    @cached_property
    def robot(self) -> Robot:
        """The robot with the identified parameters."""
        return identified(self.columns, self.parameters, self.widths, self.laws)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The base parameters as sums of parameters."""
        return self.base_parameters.formulas()

    @property
    def interval(self) -> Array:
        """95 % confidence intervals of β, (p, 2)."""
        b, d = self.estimate.beta, CONFIDENCE * self.estimate.deviation
        return np.stack([b - d, b + d], axis=-1)

    def essential(self, worse: float = 0.02) -> tuple[str, ...]:
        """The base parameters that the residual needs: without the others it grows by no more than `worse`."""
        places, _ = find_essential(self.data, self.estimate, worse)
        return tuple(self.names[k] for k in places)

    def reduced(self, worse: float = 0.02) -> tuple[tuple[str, ...], Fit]:
        """The essential base parameters alone, fitted anew, and how well they predict what was held out (what was
        fitted, if nothing was)."""
        places, _ = find_essential(self.data, self.estimate, worse)
        beta = np.zeros(self.data.p)
        beta[places] = solve(self.data.stacked(self.estimate.weights, places))[0]
        parts = self.held or self.samples
        problem = Regression(self.columns, self.base_parameters, tuple(part.without_torques() for part in parts))
        known = [law_torques(self.laws, p.qd, p.direction) if self.laws else 0 * p.tau for p in parts]
        predicted = np.concatenate(known) - problem.residuals(beta)
        return tuple(self.names[k] for k in places), judge_fit(np.concatenate([p.tau for p in parts]), predicted)

    def predict(self, samples: Samples) -> Array:
        """Torques τ̂ of the identified parameters, (N, n)."""
        known = law_torques(self.laws, samples.qd, samples.direction) if self.laws else 0.0
        return np.asarray(known + self.columns.predict(self.parameters, samples))

    @cached_property
    def residuals(self) -> Array:
        """τ − τ̂ of the training part, (N, n)."""
        return np.concatenate([part.tau - self.predict(part) for part in self.samples])

    def compare(self, other: Mapping[str, float] | Robot | None = None) -> list[Comparison]:
        """Base parameters beside those of other values: a robot's description (its own, if none is given) or parameters
        by name."""
        theirs = self.base_parameters.of(self.columns.near(other)[self.columns.free])
        rows = zip(self.names, self.base, self.estimate.deviation, theirs, strict=True)
        return [
            Comparison(
                name=name,
                value=float(mine),
                deviation=float(sigma),
                other=float(x),
                apart=float(abs(mine - x) / max(sigma, 1e-300)),
            )
            for name, mine, sigma, x in rows
        ]

    def table(self) -> str:
        """Base parameters with deviations, and residuals joint by joint, as text."""
        lines = [f"{'base parameter':60} {'value':>12} {'±σ':>10} {'σ %':>8}"]
        rows = zip(self.names, self.base, self.estimate.deviation, self.estimate.relative, strict=True)
        for name, value, sigma, part in rows:
            shown = name if len(name) <= 60 else name[:57] + "…"
            lines.append(f"{shown:60} {value:12.6g} {sigma:10.3g} {100 * part:8.3g}")
        lines += ["", f"{'joint':24} {'rms':>10} {'rel %':>8} {'R²':>8}   {'held out rel %':>14}"]
        for k, joint in enumerate(self.columns.robot.joint_names):
            fit, held = self.training, self.held_out
            after = f"{100 * held.relative[k]:14.2f}" if held else f"{'':14}"
            lines.append(f"{joint:24} {fit.rms[k]:10.4g} {100 * fit.relative[k]:8.2f} {fit.r2[k]:8.4f}   {after}")
        lines.append(self.summary())
        return "\n".join(lines)

    def summary(self) -> str:
        held = f", {100 * self.held_out.total:.2f} % held out" if self.held_out else ""
        rank, part = self.base_parameters.rank, 100 * self.training.total
        text = f"{rank} base parameters; residual {part:.2f} % of the torques{held}"
        if self.consistent is not None:
            after = self.held_out_consistent or self.training_consistent
            word = "feasible" if self.consistent.feasible else "NOT feasible"
            text += f"; physically consistent: {100 * after.total:.2f} % ({word})"
        return text


def identify(
    robot: Robot,
    data: Samples | Log | Sequence[Samples] | Sequence[Log],
    *,
    friction: Sequence[str] = FRICTION,
    rotor: bool = True,
    springs: bool = False,
    coupling: ArrayLike | None = None,
    fixed: Mapping[str, float] | None = None,
    holdout: float = 1 / 3,
    method: str = "weighted",
    instruments: Samples | Sequence[Samples] | Reference | None = None,
    consistent: bool = True,
    near: Mapping[str, float] | Robot | None = None,
    parallel: int | str = 1,
    prior: float = 0.0,
    **preparation: Unpack[Choices],
) -> Identification:
    """Base parameters of τ = Y π by least squares, and the physically consistent parameters nearest to the
    description's.

    `data`: samples, several runs of them, or a log, which is prepared first (`preparation` are the options of
    `prepare`).
    `friction`, `rotor`, `springs`, `coupling`, `fixed`: see `Columns`. `holdout`: the last part of each run, kept for
    judging. `method`: "ordinary" least squares; "weighted" by each joint's residual; "robust", which forgets wild
    samples (Tukey's loss); "instrumental", with the regressors of `instruments`, which do not know the noise of the
    samples: the reference that was followed, or samples at the same times; "stribeck" or "power": weighted, with that
    law of friction in place of Coulomb and viscous friction (of viscous friction). `consistent`: whether bodies are
    kept physically possible. `near`: where parameters stay that the data say nothing about; the robot's own values if
    not given. `parallel`: see `Columns.blocks`. `prior`: a ridge toward `near`, as the number of samples that it counts
    for."""
    refuse_free_bases(robot)
    choose("method", method, WAYS)
    if not 0 <= holdout < 0.9:
        raise InputError("out-of-range", "holdout", holdout, expected="a share between 0 and 0.9")
    G = None if coupling is None else coupling_of(np.asarray(coupling, float))
    columns = Columns(robot, tuple(friction), rotor, springs, True, G, dict(fixed or {}))
    runs = _runs(robot, data, preparation)
    cut = [round(len(run) * (1 - holdout)) for run in runs]
    training = tuple(run.part(slice(0, k)) for run, k in zip(runs, cut, strict=True))
    held = tuple(run.part(slice(k, None)) for run, k in zip(runs, cut, strict=True) if k < len(run))
    factor = _factor(parallel, training)
    laws: tuple[Friction, ...] = ()
    if method in SOUGHT:
        laws = nonlinear_friction(columns, training, method, parallel=factor).terms()
        instead = ("viscous", "coulomb") if method == "stribeck" else SOUGHT[method].instead
        columns = replace(columns, friction=tuple(kind for kind in friction if kind not in instead))
    problem = Regression(columns, base(columns), training, factor)
    if (method == "instrumental") != (instruments is not None):
        raise InputError("conflict", "instruments", problem="`instruments` and method='instrumental' belong together")
    options = {"consistent": consistent, "near": near, "prior": prior}
    if instruments is None:
        return fit(problem, held, method=method, laws=laws, **options)  # type: ignore[arg-type]
    if isinstance(instruments, Samples):
        instruments = [instruments]
    if isinstance(instruments, Reference):
        tools = tuple(reference_instruments(instruments, run) for run in training)
    else:
        tools = tuple(tool.part(slice(0, k)) for tool, k in zip(instruments, cut, strict=True))
    return fit(problem, held, method=method, instruments=tools, **options)  # type: ignore[arg-type]


def refuse_free_bases(robot: Robot) -> None:
    """Say where the parameters of a robot with an undriven base come from."""
    if (c := need_robot(robot, "identify").model.curved) is not None:
        raise InputError(
            "wrong-structure",
            "robot",
            problem=f"`identify` fits torques, and the {c.joint.kind} joint {c.name!r} of {robot.name!r} has none",
            remedy="Use identification.identify_free_base, or load an arm whose base was at rest without `base`.",
        )


def fit(
    problem: Regression,
    held: tuple[Samples, ...] = (),
    data: Compressed | None = None,
    *,
    method: str = "weighted",
    instruments: tuple[Samples, ...] = (),
    laws: tuple[Friction, ...] = (),
    consistent: bool = True,
    near: Mapping[str, float] | Robot | None = None,
    prior: float = 0.0,
) -> Identification:
    """The fit of a regression whose columns and runs are chosen, judged on what is `held` out; `data` are its
    triangles, if they are there already; `laws`: friction of each joint that is known. Options as in `identify`."""
    columns, training, b = problem.columns, problem.runs, problem.base

    def known(part: Samples) -> Array:
        return law_torques(laws, part.qd, part.direction) if laws else np.zeros_like(part.tau)

    problem = replace(problem, runs=tuple(replace(part, tau=part.tau - known(part)) for part in training))
    target = columns.near(near, columns.model_values())
    if method == "robust":
        robust = robust_least_squares(columns, b, problem.runs, "tukey", parallel=problem.parallel)
        estimate, compressed = robust.estimate, robust.data
    else:
        compressed = problem.compress() if data is None else data
        if method == "instrumental":
            estimate = instrumental_variables(columns, b, problem.runs, instruments, parallel=problem.parallel)
            compressed = compressed.about(estimate.beta)
        else:
            estimate = _estimate(problem, compressed, method != "ordinary", target, prior)
    solution = None
    if consistent:
        solution = fit_consistent(columns, b, compressed, estimate, target)
        values = solution.parameters
    else:  # what the log says, added in the least way
        free = target[columns.free]
        size = find_sizes(columns, b, compressed, target)
        step = np.linalg.pinv(b.matrix() * size) @ (estimate.beta - b.of(free))
        values = columns.with_values(free + size * step)

    def by_base(part: Samples) -> Array:
        return known(part) - replace(problem, runs=(part.without_torques(),), parallel=1).residuals(estimate.beta)

    def by_all(part: Samples) -> Array:
        return known(part) + columns.predict(values, part)

    return Identification(
        columns,
        b,
        compressed,
        estimate,
        values,
        judge_runs(training, by_base),
        judge_runs(held, by_base) if held else None,
        solution,
        judge_runs(training, by_all),
        judge_runs(held, by_all) if held else None,
        training,
        held,
        _notes(b, estimate),
        laws,
    )


def _runs(robot: Robot, data: object, preparation: Choices) -> list[Samples]:
    runs = []
    for run in data if isinstance(data, (list, tuple)) else [data]:
        if isinstance(run, Log):
            run = prepare(run, **(Choices(least=LEAST) | preparation))
        elif preparation:
            raise InputError(
                "no-effect",
                "preparation",
                problem=f"these options prepare a log, and samples were passed: {', '.join(preparation)}",
            )
        runs.append(of_kind(run, Samples, "identify takes a Log or Samples (or a list of them), got"))
        if runs[-1].n != robot.n:
            raise InputError(
                "conflict", "data", problem=f"the samples have {runs[-1].n} joints, and {robot.name!r} has {robot.n}"
            )
    if not runs:
        raise InputError("too-few", "data", expected="at least one sample")
    return runs


def _factor(parallel: int | str, runs: Sequence[Samples]) -> int:
    if parallel == "auto":
        wanted = int(1.0 / (runs[0].dt * runs[0].cutoff)) if np.isfinite(runs[0].cutoff) else 1
        return max(min(wanted, min(map(len, runs)) // 50), 1)
    if not isinstance(parallel, int) or parallel < 1:
        raise InputError("wrong-value", "parallel", parallel, expected="'auto' or a whole number of at least 1")
    return parallel


def _estimate(problem: Regression, data: Compressed, weighted: bool, near: Array, prior: float) -> Estimate:
    b = problem.base
    beta = b.of(near[problem.columns.free])
    size = np.sqrt(b.matrix() ** 2 @ find_sizes(problem.columns, b, data, near) ** 2)
    found = least_squares(data, weighted, prior=beta, strength=np.sqrt(prior) / size, size=size, problem=problem)
    if len(found.untold) > MOST_OPEN * b.rank:
        raise SingularityError(
            "singular",
            "data",
            problem=f"the log does not excite {problem.columns.robot.name!r} enough: of {b.rank} combinations of "
            f"parameters it leaves {len(found.untold)} open, of {_name_untold(b, found)}",
            remedy="Record a richer motion (`excite` designs one), fix what is known, or leave columns out.",
        )
    return found


def _name_untold(b: Base, estimate: Estimate) -> str:
    """The parameters that the directions which a log leaves open are mostly made of."""
    share = np.sum(estimate.untold**2, axis=0)
    most = [b.names[b.kept[k]] for k in np.argsort(-share, kind="stable")[: len(estimate.untold)] if share[k] > 0.1]
    return ", ".join(most[:6]) + (", …" if len(most) > 6 else "")


def _notes(b: Base, estimate: Estimate) -> tuple[str, ...]:
    notes = []
    if len(estimate.untold):
        notes.append(
            f"{len(estimate.untold)} of {b.rank} combinations of base parameters do not show in this log, and stay as "
            f"described: of {_name_untold(b, estimate)}"
        )
    weak = int(np.sum(estimate.relative > 0.3))
    if weak:
        notes.append(f"{weak} of {b.rank} base parameters are known to no better than 30 %: see essential()")
    if estimate.condition > 100:
        notes.append(f"the condition number is {estimate.condition:.0f}: a richer motion would tell more")
    return tuple(notes)
