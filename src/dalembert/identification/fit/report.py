"""The report of an identification: one page of HTML by itself, tables and pictures in it, nothing fetched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from dalembert.arguments import Array
from dalembert.draw.html import figure, listed, page, paragraph, right, table, tag, verdict
from dalembert.draw.svg import Curve, lines
from dalembert.findings import Finding
from dalembert.friction.laws import spoken
from dalembert.identification.log.filters import density

if TYPE_CHECKING:
    from dalembert.identification.fit.identify import Identification
    from dalembert.identification.handover import Outcome

HEIGHT = 190
MEASURED, PREDICTED, RESIDUAL = 7, 1, 0  # tones of `dalembert.draw.svg`: gray, orange, blue


def html(outcome: Outcome) -> str:
    """The whole page."""
    looks = [(paragraph(look.source), _told(look) or listed(["nothing suspicious"])) for look in outcome.looks]
    parts = [
        _told(outcome.verdict),
        tag("section", tag("h2", "First look"), *(piece for look in looks for piece in look)),
    ]
    if outcome.result is not None:
        parts += _sections(outcome, outcome.result)
    return page(f"Identification of {outcome.source.name}: {'handed over' if outcome.ok else 'refused'}", *parts)


def _told(findings: Iterable[Finding]) -> Markup:
    told = [verdict("bad", f) if f.severity == "error" else str(f) for f in findings]
    return listed(told) if told else Markup("")


def _sections(outcome: Outcome, result: Identification) -> Iterator[Markup]:
    """Under its heading, each part of what a fit says."""
    reached = outcome.lines()[-2 - len(outcome.validated) :]
    sections = {
        "How well torques are predicted": [*(paragraph(f"{line}.") for line in reached), *_folds(outcome)],
        "What was chosen": _choices(outcome),
        "Measured and predicted torques": _pictures(result),
        "Spectra of what is left": [_spectra(result)],
        "Base parameters": [paragraph(f"{result.summary()}."), _parameters(result)],
        "Bodies": [_bodies(result)],
        "Drives": [_drives(outcome)],
        "What was done to the log": [listed((*result.notes, *result.samples[0].notes))],
    }
    for heading, content in sections.items():
        yield tag("section", tag("h2", heading), *content)


def _folds(outcome: Outcome) -> list[Markup]:
    assert outcome.folds is not None
    shown = ", ".join(f"{100 * x:.2f}" for x in outcome.folds)
    how = "of the period" if outcome.period is not None else "of time"
    said = f"Blocks {how}, each predicted by a fit to the others: {shown} % of the torques' RMS."
    return [table(outcome.HEAD, outcome.rows()), paragraph(said)]


def _choices(outcome: Outcome) -> list[Markup]:
    tables = []
    if outcome.cutoffs:
        rows = [
            (f"{c:.3g}", f"{100 * e:.2f}", "chosen: the highest as good as the best" * (c == outcome.cutoff))
            for c, e in outcome.cutoffs
        ]
        tables.append(table(["cut-off [Hz]", "error on blocks not fitted [%]", ""], rows))
    if outcome.trials:
        trials = [
            (x.term, "taken" if x.taken else "not taken", f"{100 * x.change:+.3g}", f"{100 * x.deviation:.2g}")
            for x in outcome.trials
        ]
        tables.append(table(["term", "", "squares left if decided otherwise [%]", "± [%]"], trials))
    return tables or [paragraph("Everything was given.")]


def _predictions(result: Identification) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """Times, measured torques, those of the robot's own file, and what was held out, in the order of time."""
    runs = [*result.samples, *result.held]
    fitted = sum(len(run) for run in result.samples)
    t, tau, q, qd, qdd = (
        np.concatenate([getattr(run, name) for run in runs]) for name in ("t", "tau", "q", "qd", "qdd")
    )
    order = np.argsort(t, kind="stable")
    held = np.arange(len(t)) >= fitted
    predicted = np.asarray(result.robot.inverse_dynamics(q, qd, qdd, friction=True))
    return t[order], tau[order], predicted[order], held[order]


def _pictures(result: Identification) -> list[Markup]:
    t, measured, predicted, held = _predictions(result)
    edges = t[np.flatnonzero(np.diff(held)) + 1].tolist()
    note = "; held out: between the lines" if len(edges) > 1 else "; held out: right of the line" if edges else ""
    signals = measured, predicted, measured - predicted
    looks = ("measured", MEASURED), ("predicted", PREDICTED), ("residual", RESIDUAL)
    figures = []
    for k, joint in enumerate(result.columns.robot.joint_names):
        curves = [Curve(t, x[:, k], word, tone=tone) for x, (word, tone) in zip(signals, looks, strict=True)]
        figures.append(figure(lines(curves, height=HEIGHT, marks=edges), f"{joint} [N m] over time [s]{note}"))
    return figures


def _spectra(result: Identification) -> Markup:
    """√ of the power density of the residuals, over frequency up to the cut-off and somewhat beyond."""
    _, measured, predicted, _ = _predictions(result)
    f, P = density(measured - predicted, result.samples[0].dt)
    top = min(1.3 * result.samples[0].cutoff, f[-1])
    edges = np.unique(np.linspace(1, np.searchsorted(f, top), 120).astype(np.int64))
    level = np.sqrt(np.add.reduceat(P, edges[:-1], axis=0)[: len(edges) - 1] / np.diff(edges)[:, None])
    level[-1] = level[-2]  # the last band runs to the end
    middle = 0.5 * (f[edges[:-1]] + f[edges[1:] - 1])
    names = result.columns.robot.joint_names
    curves = [Curve(middle, level[:, k], joint, thin=True) for k, joint in enumerate(names)]
    drawn = lines(curves, height=300, log=True, floor=1e-6, x="Hz", y="N m/√Hz")
    return figure(drawn, "residuals of all samples, read from the robot's file")


def _parameters(result: Identification) -> Markup:
    estimate, rows = result.estimate, []
    for row, part in zip(result.compare(), estimate.relative, strict=True):
        size = f"{100 * part:.1f}" if np.isfinite(part) else "∞"
        value, sigma, other = _short(row["value"], 5), _short(row["deviation"], 2), _short(row["other"], 5)
        rows.append((row["name"], value, sigma, right(verdict("bad", size) if part > 0.3 else size), other))
    return table(["base parameter", "value", "σ", "σ [%]", "description"], rows)


def _bodies(result: Identification) -> Markup:
    rows = []
    for k, body in enumerate(result.columns.robot.model.bodies):
        ten = result.parameters[10 * k : 10 * k + 10]
        center = ten[1:4] / ten[0] if ten[0] else np.zeros(3)
        lowest = _short(result.consistent.eigenvalues[k], 2) if result.consistent else ""
        rows.append((body.name, _short(ten[0]), *(right(f"{1e3 * x:.1f}") for x in center), lowest))
    head = ["body", "mass [kg]", "x [mm]", "y [mm]", "z [mm]", "smallest eigenvalue of the pseudo-inertia"]
    return table(head, rows)


def _drives(outcome: Outcome) -> Markup:
    assert outcome.robot is not None
    drives = {joint.name: joint.drive for joint in outcome.robot.description.joints}
    rows = []
    for name in outcome.robot.joint_names:
        d = drives[name]
        numbers = (d.gear_ratio**2 * d.rotor_inertia, d.damping, *d.coulomb, d.coulomb_width)
        said = (spoken(term).items() for term in d.friction)
        more = "; ".join(", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in s) for s in said)
        rows.append((name, *map(_short, numbers), more))
    head = ["joint", "armature [kg m²]", "viscous", "Coulomb +", "Coulomb −", "width [rad/s]", "further terms"]
    return table(head, rows)


def _short(x: float, digits: int = 4) -> Markup:
    return right(f"{x:.{digits}g}")
