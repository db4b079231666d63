"""`identify_log`: from logs as they come to a robot in a file that is as good as the figure printed with it.

look       what is wrong with the logs, corrected if that is asked for
choose     the cut-off of the filter and the terms of the model, by the error on blocks that were not fitted
judge      fitted to the first part, written, read again, and judged on the last part, beside the model that was given
hand over  fitted to the whole log with the same choices, written, read again, judged; or refused, with the cause

What is judged is always the file's own robot, τ̂ = inverse_dynamics(q, q̇, q̈, friction=True) at filtered samples, sample
by sample, as whoever loads it would. A filter bends the corners of friction in the measured torques, and a robot knows
nothing of filters: a second figure has its Coulomb friction filtered alike, and by that a log is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import Array
from dalembert.describe.description import Description
from dalembert.describe.mjcf import read_mjcf
from dalembert.describe.mjcf.write import write_mjcf
from dalembert.describe.toml_read import read_toml
from dalembert.describe.urdf_read import read_urdf
from dalembert.errors import InputError, unknown
from dalembert.files import whole
from dalembert.findings import Finding, Findings, sort_findings
from dalembert.friction.laws import spoken
from dalembert.identification.fit.estimate import Fit, judge_runs
from dalembert.identification.fit.identify import Identification, fit, refuse_free_bases
from dalembert.identification.fit.regression import Regression
from dalembert.identification.fit.regressor import Columns, base
from dalembert.identification.fit.robot import predict_torques, soften
from dalembert.identification.fit.terms import (
    BLOCKS,
    TERMS,
    Blocks,
    Trial,
    choose_terms,
    compress_blocks,
    count_held_blocks,
    cut_blocks,
    label_blocks,
    with_terms,
)
from dalembert.identification.log import filters, times
from dalembert.identification.log.correction import Correction
from dalembert.identification.log.inspect import LEAST_MOTION, first_look
from dalembert.identification.log.prepare import make_ready, prepare
from dalembert.identification.log.samples import Log, Samples
from dalembert.robot import Robot
from dalembert.words import assign, mention

Integers = NDArray[np.int64]
AS_GOOD = 0.05  # of the squares, by which a higher cut-off, which distorts friction less, may be worse
NARROW = 4.0  # the band in which cut-offs are compared is at least so many bandwidths of the motion wide
WORST = 0.25  # of a joint's torque, the held-out error beyond which nothing is handed over
MOVING = 0.05  # of a joint's fastest rate, above which it moves
COUNTS = 0.04  # of the RMS of all torques, an error of one joint that matters
TOO_SMALL = 10.0  # torques that a model with masses misses by so many times their size are in other units
HEAVY = 3.0  # times the inertia of the model that was given, beyond which a clock may be wrong as well
EXACT = 1e-4  # of the torques, an error below which there is nothing to be better at
SAME = 0.01  # of itself, by which a file's figure may differ from that of the robot it was written from


class FitOptions(TypedDict):
    """Options of a fit, as `identify` has them."""

    consistent: bool
    method: str
    near: Mapping[str, float] | Robot | None


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of logs.

    `looks`: the first look at each, `repeat` the settings that would have read them right, and whether they were
    `corrected` so; `result`: the fit to the first part of the logs, with what it is worth; `judged`: how well its
    robot, written and read again, predicts what was held out, sample by sample, `alike` with its Coulomb friction
    filtered as the torques were, and `given` the same as `judged` of the model that was given; `robot`:
    the robot that is handed over, as its file has it, fitted to everything, and `delivered` its figure on the same
    samples, which it has seen; `folds`: relative errors of every block, fitted to the others; `cutoffs` and `trials`:
    what was tried; `validated`: the figure of other logs; `verdict`: what forbids the handing over, as errors, and what
    should be known; `texts`: contents of the files by their names, `files` those that were written."""

    source: Robot
    looks: tuple[Findings[Finding, None], ...]
    verdict: Findings[Finding, None]
    result: Identification | None = None
    robot: Robot | None = None
    judged: Fit | None = None
    alike: Fit | None = None
    given: Fit | None = None
    delivered: Fit | None = None
    folds: Array | None = None
    cutoff: float = np.inf
    cutoffs: tuple[tuple[float, float], ...] = ()
    trials: tuple[Trial, ...] = ()
    period: float | None = None
    validated: tuple[tuple[str, Fit], ...] = ()
    repeat: Mapping[str, Any] = field(default_factory=dict)
    corrected: bool = False
    texts: Mapping[str, str] | None = None
    files: tuple[str, ...] = ()

    HEAD: ClassVar[tuple[str, ...]] = ("joint", "as given [%]", "held out [%]", "held out [N m]", "handed over [%]")

    @property
    def ok(self) -> bool:
        return not self.verdict.errors

    def rows(self) -> list[tuple[object, ...]]:
        """Joint by joint how well the torques are predicted, then of all: see `HEAD`."""
        judged, given, delivered = self.judged, self.given, self.delivered
        if judged is None or delivered is None:
            return []

        fits = (given, judged, delivered)

        def row(name: str, rms: object, figures: Iterable[float | None]) -> tuple[object, ...]:
            first, second, third = ("–" if x is None else round(100 * x, 2) for x in figures)
            return name, first, second, rms, third

        named = [
            row(joint, round(judged.rms[k], 3), [None if fit is None else float(fit.relative[k]) for fit in fits])
            for k, joint in enumerate(self.source.joint_names)
        ]
        return [*named, row("all", "", [None if fit is None else fit.total for fit in fits])]

    def lines(self) -> list[str]:
        """What was found first, chosen and reached, in sentences."""
        lines = [str(finding) for look in self.looks for finding in look if finding not in self.verdict.rows]
        if self.corrected:
            lines.append(f"read with {', '.join(assign(k, v) for k, v in self.repeat.items())}")
        if (
            self.result is None
            or self.judged is None
            or self.alike is None
            or self.delivered is None
            or self.folds is None
        ):
            return lines
        if self.cutoffs:
            tried = ", ".join(f"{100 * error:.3g} % at {cutoff:.3g} Hz" for cutoff, error in self.cutoffs)
            rule = "the highest that predicts blocks that were not fitted as well as the best"
            lines.append(f"cut-off {self.cutoff:.3g} Hz, {rule}: {tried}")
        for taken, word in ((True, "taken (squares in such blocks without it)"), (False, "not taken (with it)")):
            names = [str(trial) for trial in self.trials if trial.taken == taken]
            lines += [f"terms {word}: {', '.join(names)}"] if names else []
        b, deviation = self.result.base_parameters.rank, self.folds.std(ddof=1) / np.sqrt(len(self.folds))
        lines.append(
            f"{b} base parameters; fitted to the first part, written and read again, the robot predicts what was held "
            f"out to {100 * self.judged.total:.2f} % of the torques' RMS sample by sample, to "
            f"{100 * self.alike.total:.2f} % with its Coulomb friction filtered as the torques were; "
            f"{len(self.folds)} folds: {100 * self.folds.mean():.2f} ± {100 * deviation:.2f} %"
        )
        lines.append(
            f"the robot that is handed over is fitted to everything: {100 * self.delivered.total:.2f} % on the same "
            "samples, which it has seen"
        )
        lines += [f"{source}: {100 * fit.total:.2f} % of the torques' RMS" for source, fit in self.validated]
        return lines

    def data(self) -> dict[str, object]:
        """The outcome as plain data."""
        findings = [finding for look in self.looks for finding in look.data()["findings"]]
        told: dict[str, object] = {"robot": self.source.name, "look": findings, "verdict": self.verdict.data()}
        told |= {"ok": self.ok, "files": list(self.files), "repeat": dict(self.repeat)}
        result, judged = self.result, self.judged
        if result is None or judged is None or self.delivered is None or self.folds is None or self.robot is None:
            return told
        names = zip(result.names, result.base, result.estimate.deviation, strict=True)
        return told | {
            "cutoff": self.cutoff,
            "cutoffs": [{"cutoff": c, "error": e} for c, e in self.cutoffs],
            "terms": [vars(trial) for trial in self.trials],
            "base": [{"name": name, "value": value, "deviation": sigma} for name, value, sigma in names],
            "parameters": {
                name: result.parameters[k] for name, k in zip(result.columns.names, result.columns.free, strict=True)
            },
            "training": result.training.total,
            "held_out": judged.total,
            "held_out_alike": None if self.alike is None else self.alike.total,
            "held_out_joints": dict(zip(self.source.joint_names, judged.relative, strict=True)),
            "given": None if self.given is None else self.given.total,
            "delivered": self.delivered.total,
            "folds": self.folds,
            "period": self.period,
            "validation": {source: fit.total for source, fit in self.validated},
            "armature": dict(zip(self.robot.joint_names, reflected_inertia(self.robot), strict=True)),
        }


def identify_log(
    robot: Robot,
    logs: Log | Sequence[Log],
    *,
    apply: bool = False,
    force: bool = False,
    out: Sequence[str | Path] = (),
    report: str | Path | None = None,
    validate: Sequence[Log] = (),
    cutoff: float | None = None,
    friction: Sequence[str] | None = None,
    rotor: bool | None = None,
    springs: bool | None = None,
    coupling: ArrayLike | None = None,
    holdout: float = 1 / 3,
    consistent: bool = True,
    method: str = "weighted",
    near: Mapping[str, float] | Robot | None = None,
    progress: Callable[[str], object] = lambda words: None,
) -> Outcome:
    """The robot of logs, in files that are as good as the figures with them; or none, and why.

    - `apply`: what the first look finds wrong and can put right is put right; without it such a log is refused.
    - `force`: files are written whatever is wrong.
    - `out`: files of the robot: .urdf, .toml, .xml (MJCF), .yaml (rotors, friction and offsets alone); `report`: .html.
    - `validate`: logs that are only judged.
    - `cutoff` [Hz], `friction` (of `regressor.FRICTION_COLUMNS`), `rotor` and `springs` are chosen if not given.
    - `coupling` G (n, n): motor speeds G q̇, for what is said of joints that share a motor.
    - `holdout`: the last part of each log, held out of the fit that is judged. Then everything is fitted once more.
    - `consistent`, `method`, `near`: see `identify`."""
    refuse_free_bases(robot)
    runs = tuple(logs) if isinstance(logs, (list, tuple)) else (logs,)
    if not runs or not all(isinstance(log, Log) for log in (*runs, *validate)):
        raise InputError("wrong-type", "logs", logs, expected="a Log of read_log, or a list of them")
    if not 0 < holdout < 0.9:
        raise InputError(
            "out-of-range",
            "holdout",
            holdout,
            problem=f"{mention('holdout')} must be a part between 0 and 0.9 of the log, to judge by; got {holdout!r}",
        )
    _require_length(runs, cutoff, holdout)
    progress("looking at the log")
    robot, runs, looks, wrong, repeat = _look(robot, runs, apply)
    _, validate, others, more, _ = _look(robot, tuple(validate), apply)
    looks, wrong = looks + others, wrong + more
    if wrong and not force:
        return Outcome(
            robot,
            looks,
            Findings(runs[0].source, tuple(wrong), None, "identify"),
            repeat=repeat,
            corrected=apply and bool(repeat),
        )
    progress("choosing")
    said = {"rotor": rotor, "spring": springs}
    said |= {} if friction is None else {t: t in friction for t in TERMS if t not in said}
    for kind in friction or ():
        if kind not in TERMS:
            raise unknown("friction term", kind, [t for t in TERMS if t not in ("rotor", "spring")])
    choice = _choose(
        robot, runs, cutoff, {term: wanted for term, wanted in said.items() if wanted is not None}, holdout
    )
    progress("fitting")
    options = FitOptions(consistent=consistent, method=method, near=near)
    G = np.eye(robot.n) if coupling is None else np.asarray(coupling, float)
    several = G[np.count_nonzero(G, axis=1) > 1].any(axis=0)
    shared = frozenset(name for name, more in zip(robot.joint_names, several, strict=True) if more)
    outcome = _hand_over(robot, choice, looks, wrong, out, report, validate, force, shared, options)
    return replace(outcome, repeat=repeat, corrected=apply and bool(repeat))


def _require_length(logs: Sequence[Log], cutoff: float | None, holdout: float) -> None:
    """Raise if the filter leaves a block of the logs without samples: fits and judgments need them all."""
    made = [make_ready(log, least=NARROW).at(cutoff) for log in logs]
    labels = [
        label_blocks(one.samples.t, log.t, holdout, find_period(log)) for one, log in zip(made, logs, strict=True)
    ]
    held = count_held_blocks(holdout)
    counts = np.bincount(np.concatenate(labels), minlength=BLOCKS + held)
    if counts.all():
        return
    one, log = made[0], logs[0]
    dt = one.samples.dt
    # Twice the length at which every block has a sample: with another length another cutoff is chosen.
    least = 2 * (one.trimmed * dt / one.decimation + dt) * max(BLOCKS / (1 - holdout), held / holdout)
    raise InputError(
        "too-few",
        "logs",
        problem=f"{log.source or 'the log'} is too short to fit {BLOCKS} blocks of it and judge on {held} "
        "others: of its "
        f"{log.t[-1] - log.t[0]:.3g} s, {len(one.samples) * dt:.3g} s are left where the filter (cutoff "
        f"{one.spectra.cutoff:.3g} Hz) has settled. Record at least {least:.2g} s without a gap, or set a higher "
        "cutoff",
    )


def _look(
    robot: Robot, logs: tuple[Log, ...], apply: bool
) -> tuple[Robot, tuple[Log, ...], tuple[Findings[Finding, None], ...], list[Finding], dict[str, Any]]:
    """Robot and logs, corrected if asked; what a first look at each says; the errors that remain; and the settings
    that would have read the logs right."""
    reports, read, repeat = [], [], dict[str, Any]()
    wrong: list[Finding] = []
    for log in logs:
        look = first_look(robot, log)
        reports.append(look.report)
        repeat |= look.correction.settings()
        left = look.report
        if apply and look.correction:
            robot, log = look.correction.apply(robot, log)
            left = first_look(robot, log).report
            wrong += _guesses(robot, look.correction)
        wrong += left.errors
        read.append(log)
    return robot, tuple(read), tuple(reports), wrong, repeat


def _guesses(robot: Robot, correction: Correction) -> Iterator[Finding]:
    """What nobody should be handed a robot on: a scale of torques or positions that is no unit and no gear of the
    description. It comes from masses, and these are what is to be found."""
    gears = [abs(joint.drive.gear_ratio) for joint in robot.description.joints if joint.name in robot.joint_names]
    for group, ratio in correction.settings().get("ratio", {}).items():
        if group != "qd" and not np.allclose(ratio, gears, rtol=1e-3):
            what = "torques of motors or currents" if group == "tau" else "positions of motors"
            said = f"these look like {what}, and the ratios are a guess, as good as the masses of the description"
            fix = "give them, `ratio` or, for currents, `torque_constant`; `force=True` takes the guess"
            yield Finding("guess", "error", said, fix)


# ------------------------------------------------------------------------------------------------ choose
@dataclass(frozen=True, eq=False)
class _Choice:
    """Samples at the cut-off that was chosen, the block each is in, and the columns, compressed block by block."""

    runs: tuple[Samples, ...]
    labels: tuple[Integers, ...]
    blocks: Blocks
    cutoff: float
    cutoffs: tuple[tuple[float, float], ...]
    trials: tuple[Trial, ...]
    period: float | None
    source: str

    def part(self, held: bool) -> tuple[Samples, ...]:
        """The samples that are held out, or the others."""
        parts = (run.part((label >= BLOCKS) == held) for run, label in zip(self.runs, self.labels, strict=True))
        return tuple(part for part in parts if len(part))


def find_period(log: Log) -> float | None:
    """The time [s] after which the motion of a log repeats itself; None if it does not."""
    step = times.common_step(log.t, log.source)
    piece = max(times.pieces(log.t, step), key=lambda p: p.stop - p.start)
    every = max(1, (piece.stop - piece.start) // 20_000)
    return filters.find_period(log.q[piece][::every], every * step, longest=0.75)


def _choose(
    robot: Robot, logs: Sequence[Log], cutoff: float | None, said: Mapping[str, bool], holdout: float
) -> _Choice:
    """Cut-off and terms, but for what is `said` of these, by the error on what was not fitted."""
    periods = [find_period(log) for log in logs]
    period = max((p for p in periods if p is not None), default=None)

    def label(runs: Sequence[Samples]) -> tuple[Integers, ...]:
        each = zip(runs, logs, periods, strict=True)
        return tuple(label_blocks(run.t, log.t, holdout, own) for run, log, own in each)

    tried: tuple[tuple[float, float], ...] = ()
    if cutoff is None:
        runs, tried = _choose_cutoff(robot, logs, label)
    else:
        runs = tuple(prepare(log, cutoff=cutoff) for log in logs)
    labels = label(runs)
    fitted = tuple(run.part(k < BLOCKS) for run, k in zip(runs, labels, strict=True))
    plain = Columns(robot)
    first = fit(Regression(plain, base(plain), fitted))
    # Where dry friction rises slowly rather than jumps, its column does so too.
    runs = soften(runs, plain, first.parameters, fitted)
    menu = Columns(robot, tuple(t for t in TERMS if t not in ("rotor", "spring")), springs=True, loads=first.robot)
    parts = cut_blocks(runs, labels)
    whole = compress_blocks(menu, parts)
    terms, trials = choose_terms(whole, [t for t in TERMS if t not in said], [t for t in TERMS if said.get(t)])
    columns = with_terms(menu, terms)
    narrow = _narrow(whole, columns, parts)
    return _Choice(runs, labels, narrow, runs[0].cutoff, tried, tuple(trials), period, logs[0].source)


def _narrow(blocks: Blocks, columns: Columns, parts: Sequence[tuple[Samples, ...]]) -> Blocks:
    """The blocks in fewer columns, without another pass over the log where that can be."""
    b = base(columns)
    had = {blocks.base.names[k]: i for i, k in enumerate(blocks.base.kept)}
    if not all(b.names[k] in had for k in b.kept):  # one that another column stood for
        return compress_blocks(columns, parts)
    places = np.array([had[b.names[k]] for k in b.kept], np.int64)
    where = np.append(places, blocks.base.rank)
    fewer = tuple(part.only(places) for part in blocks.parts)
    return Blocks(columns, b, fewer, blocks.squares[:, :, where][..., where])


def _choose_cutoff(
    robot: Robot, logs: Sequence[Log], label: Callable[[Sequence[Samples]], tuple[Integers, ...]]
) -> tuple[tuple[Samples, ...], tuple[tuple[float, float], ...]]:
    """Samples at the highest of the cut-offs whose fits predict what they were not fitted to as well as the best, but
    for one standard error over the blocks, or 5 % of the squares, and 5 % of those of all torques together; and of each
    cut-off its error.

    All are judged in the same band, that in which torques and positions carry more signal than noise: a low cut-off
    cannot win by filtering away what it does not explain, nor a high one by explaining noise."""
    ready = [make_ready(log, least=NARROW) for log in logs]
    judge = tuple(log.at().samples for log in ready)
    columns = Columns(robot)
    ruler = compress_blocks(columns, cut_blocks(judge, label(judge)))
    every = np.arange(ruler.base.rank)
    weights = ruler.weights(every)
    power = np.sqrt(sum(part.power.sum() for part in ruler.parts))
    errors: dict[float, Array] = {judge[0].cutoff: ruler.errors(every, weights)}
    found = {judge[0].cutoff: judge}
    for cutoff in ready[0].candidates()[::2]:
        if abs(cutoff / judge[0].cutoff - 1) < 0.2:
            continue
        try:
            runs = tuple(log.at(cutoff).samples for log in ready)
        except InputError:  # too low for so short a log
            continue
        parts = cut_blocks(runs, label(runs))
        if len(parts) == len(ruler.parts) and all(parts):
            found[cutoff] = runs
            errors[cutoff] = compress_blocks(columns, parts).errors(every, weights, ruler.squares)
    size = np.maximum(np.sum([part.power for part in ruler.parts], axis=0), 1e-300)
    weighed = {c: (e / size).sum(axis=1) / ruler.rows for c, e in errors.items()}  # joints by their torques
    least, fewest = min(weighed.values(), key=lambda e: float(e.mean())), min(e.sum() for e in errors.values())

    def as_good(c: float) -> bool:
        """By the joints' own measures, and by all torques together: noise of accelerations spoils large inertias."""
        d = weighed[c] - least
        alike = d.mean() <= max(d.std(ddof=1) / np.sqrt(len(d)), AS_GOOD * least.mean())
        return bool(alike and errors[c].sum() <= (1 + AS_GOOD) * fewest)

    best = max(c for c in weighed if as_good(c))
    return found[best], tuple((c, float(np.sqrt(e.sum()) / power)) for c, e in sorted(errors.items()))


# ------------------------------------------------------------------------------------------------ hand over
def predict(robot: Robot, samples: Samples) -> Array:
    """The torques of a robot with all it has, sample by sample, (N, n)."""
    return np.asarray(robot.inverse_dynamics(samples.q, samples.qd, samples.qdd, friction=True))


def judge(robot: Robot, runs: Sequence[Samples], by: Callable[[Robot, Samples], Array] = predict) -> Fit:
    """How well a robot predicts samples."""
    return judge_runs(runs, partial(by, robot))


def _hand_over(
    robot: Robot,
    choice: _Choice,
    looks: tuple[Findings[Finding, None], ...],
    wrong: list[Finding],
    out: Sequence[str | Path],
    report: str | Path | None,
    validate: Sequence[Log],
    force: bool,
    shared: frozenset[str],
    options: FitOptions,
) -> Outcome:
    blocks, held = choice.blocks, choice.part(held=True)

    def fitted(runs: tuple[Samples, ...], numbers: Iterable[int], judged: tuple[Samples, ...] = ()) -> Identification:
        problem = Regression(blocks.columns, blocks.base, runs)
        return fit(problem, judged, blocks.whole(numbers), **options)

    result = fitted(choice.part(held=False), range(BLOCKS), held)
    everything = fitted(choice.runs, range(len(blocks.parts)))
    suffix = next((s for path in out if (s := Path(path).suffix.lower()) in READERS), ".urdf")
    again = _again(result.robot, suffix)
    judged, alike = judge(again, held), judge(again, held, predict_torques)
    texts = {str(path): WRITERS[Path(path).suffix.lower()](everything.robot) for path in out}
    delivered = _again(everything.robot, suffix)
    outcome = Outcome(
        robot,
        looks,
        Findings("", (), None, "identify"),
        result,
        delivered,
        judged,
        alike,
        judge(robot, held) if robot.mass > 0 else None,
        judge(delivered, held),
        np.sqrt(blocks.errors(np.arange(blocks.base.rank), result.estimate.weights).sum(1) / _power(blocks)),
        choice.cutoff,
        choice.cutoffs,
        choice.trials,
        choice.period,
        tuple((log.source, judge(delivered, [prepare(log, cutoff=choice.cutoff)])) for log in validate),
        texts=texts,
    )
    found = [*wrong, *_judge_result(outcome, result.robot, held, shared)]
    outcome = replace(outcome, verdict=Findings(choice.source, sort_findings(found), None, "identify"))
    if report is not None:
        from dalembert.identification.fit.report import html

        texts[str(report)] = html(outcome)
    if outcome.ok or force:
        for path, text in texts.items():  # all made before any is written
            whole(path, lambda file, text=text: file.write(text.encode()))  # type: ignore[misc]
        outcome = replace(outcome, files=tuple(texts))
    return outcome


def _power(blocks: Blocks) -> Array:
    return np.array([part.power.sum() for part in blocks.parts])


def _moving_errors(robot: Robot, held: Sequence[Samples]) -> tuple[Array, Array]:
    """Of each joint, over the samples in which it moves (at rest friction may be anything): its error beyond noise, as
    a part of the RMS of its torque, and of that of all joints together.  (n,) each."""
    tau, qd = (np.concatenate([getattr(run, name) for run in held]) for name in ("tau", "qd"))
    error = tau - np.concatenate([predict_torques(robot, run) for run in held])
    moves = np.abs(qd) > MOVING * np.abs(qd).max(axis=0)
    enough = (np.ptp(np.concatenate([run.q for run in held]), axis=0) > LEAST_MOTION) & (moves.sum(0) > 0)
    count = np.maximum(moves.sum(axis=0), 1)
    noise = np.max([run.quiet for run in held], axis=0)
    left = np.sqrt(np.maximum(np.sum(error**2 * moves, axis=0) / count - noise**2, 0.0)) * enough
    size = np.sqrt(np.sum(tau**2 * moves, axis=0) / count)
    return left / np.maximum(size, 1e-300), left / max(float(np.sqrt(np.mean(tau**2) * tau.shape[1])), 1e-300)


def _judge_result(
    outcome: Outcome, meant_by: Robot, held: Sequence[Samples], shared: frozenset[str]
) -> Iterator[Finding]:
    """What forbids to hand a robot over, and what should be known of it."""
    judged, alike, given, robot = outcome.judged, outcome.alike, outcome.given, outcome.robot
    assert judged is not None and alike is not None and robot is not None
    meant = judge(meant_by, held)
    look = "look at units, signs, gravity and the order of the columns, or record another log"
    if alike.total > WORST:
        said = f"the torques that were held out are predicted to {100 * alike.total:.0f} % of their RMS only"
        yield Finding("held out", "error", said, look, evidence=alike.total)
    part, weight = _moving_errors(meant_by, held)
    for k in np.flatnonzero(part > WORST):
        joint = robot.joint_names[k]
        said = f"while {joint!r} moves, its torque is predicted to {100 * part[k]:.0f} % of its RMS only"
        bad, fix = weight[k] > COUNTS and joint not in shared, look
        if joint in shared:
            fix = "its motor turns other joints too, and files of robots have no word for the friction of such a motor"
        yield Finding("held out", "error" if bad else "warning", said, fix, element=joint, evidence=float(part[k]))
    if given is not None and given.total > TOO_SMALL:
        said = f"the torques are some {given.total:.0f} times smaller than those of the model given: currents, "
        fix = "give `ratio`, `torque_constant` or `units`; `force=True` takes them as N m"
        yield Finding("units", "error", f"{said}torques of motors, or another unit", fix, evidence=given.total)
    if given is not None and judged.total >= given.total and judged.total > EXACT:
        said = f"the model that was given predicts what was held out to {100 * given.total:.2f} %, the fit to "
        fix = "keep the model, or record a motion that excites the arm more ('dalembert excite' designs one)"
        yield Finding("no better", "error", f"{said}{100 * judged.total:.2f} %", fix, evidence=judged.total)
    if abs(judged.total - meant.total) > SAME * meant.total + 1e-3 * EXACT:
        said = (
            f"the file predicts what was held out to {100 * judged.total:.2f} %, the fit to {100 * meant.total:.2f} %"
        )
        yield Finding("file", "error", said, "the file does not hold what was fitted", evidence=judged.total)
    if given is not None and not 1 / HEAVY < (times := _compare_inertia(robot, outcome.source, held)) < HEAVY:
        said = f"accelerations cost {times:.2g} times the torques that the model given has for them"
        fix = f"other bodies or large rotors have it so, or a clock that is off by a factor of {np.sqrt(times):.2g}"
        yield Finding("inertia", "warning", said, fix, evidence=times)
    if outcome.period is not None:
        said = f"the motion repeats itself every {outcome.period:.4g} s: held out is the last part of the period"
        yield Finding(
            "period", "note", said, "another motion tells more: judge on it with `validate`", evidence=outcome.period
        )
    armature = reflected_inertia(robot)
    most = float(np.abs(np.concatenate([run.qdd for run in held]) * armature).max())
    if most > 1e-3 * judged.rms.max():
        shown = np.where(armature > 1e-6 * armature.max(), armature, 0.0)
        said = (
            "rotors have inertia, for which URDF has no word: other programs need armature = "
            f"[{', '.join(f'{x:.4g}' for x in shown)}] kg m², or their torques are off by up to {most:.2g} N m"
        )
        yield Finding("armature", "note", said, "an .xml (MJCF) or a .yaml beside it has them", evidence=armature)


def _compare_inertia(robot: Robot, given: Robot, held: Sequence[Samples]) -> float:
    """How many times M q̈ of the one robot is that of the other, at samples."""
    run = max(held, key=len)
    q, qdd = run.q, run.qdd
    still = np.zeros_like(q)

    def inertial(arm: Robot) -> Array:
        return arm.inverse_dynamics(q, still, qdd, friction=True) - arm.inverse_dynamics(q, still, still, friction=True)

    own, other = inertial(robot), inertial(given)
    return float(np.sum(own * other) / max(np.sum(other**2), 1e-300))


def reflected_inertia(robot: Robot) -> Array:
    """N² J_m of every joint's rotor, (n,) [kg m², kg]."""
    drives = {joint.name: joint.drive for joint in robot.description.joints}
    return np.array([drives[j].gear_ratio ** 2 * drives[j].rotor_inertia for j in robot.joint_names])


# ------------------------------------------------------------------------------------------------ files
def write_drives(robot: Robot) -> str:
    """Rotors, friction and offsets of every joint as YAML: what URDF has no words for, in words of any program."""
    lines = [
        f"# {robot.name}: what every joint adds to the torques of its bodies, SI units, on the joint's side",
        "joints:",
    ]
    drives = {joint.name: joint.drive for joint in robot.description.joints}
    for name in robot.joint_names:
        drive = drives[name]
        rows: dict[str, object] = {
            "armature": drive.gear_ratio**2 * drive.rotor_inertia,
            "viscous": drive.damping,
            "coulomb_positive": drive.coulomb[0],
            "coulomb_negative": drive.coulomb[1],
            "coulomb_width": drive.coulomb_width,
            "stiffness": drive.stiffness,
        }
        rows["offset"] = sum(float(term.values["offset"]) for term in drive.friction if term.law == "offset")
        lines += [f"  {json.dumps(name)}:", *(f"    {key}: {value!r}" for key, value in rows.items())]
        others = [spoken(term) for term in drive.friction if term.law != "offset"]
        lines += ["    further:"] * bool(others) + [f"      - {json.dumps(term)}" for term in others]
    return "\n".join(lines) + "\n"


WRITERS: dict[str, Callable[[Robot], str]] = {
    ".urdf": Robot.to_urdf,
    ".toml": Robot.to_toml,
    ".xml": lambda robot: write_mjcf(robot.description),
    ".yaml": write_drives,
    ".yml": write_drives,
}
READERS: dict[str, Callable[[str], Description]] = {
    ".urdf": read_urdf,
    ".toml": read_toml,
    ".xml": lambda text: read_mjcf(text.encode()),
}


def _again(robot: Robot, suffix: str) -> Robot:
    """The robot as a file of it has it."""
    return Robot(READERS[suffix](WRITERS[suffix](robot)))
