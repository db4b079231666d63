"""The report of an identification: one page of HTML by itself, tables and pictures in it, nothing fetched."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dalembert.draw.svg import Curve, lines
from dalembert.friction.laws import spoken
from dalembert.identification.log.filters import density

if TYPE_CHECKING:
    from dalembert.findings import Finding
    from dalembert.identification.fit.identify import Identification
    from dalembert.identification.handover import Outcome

Array = NDArray[np.float64]
HEIGHT = 190
MEASURED, PREDICTED, RESIDUAL = 7, 1, 0  # tones of `dalembert.draw.svg`: gray, orange, blue

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #22262e; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
table { border-collapse: collapse; font-size: 13px } td, th { padding: .15rem .7rem; text-align: right }
td:first-child, th:first-child { text-align: left } tr:nth-child(even) { background: #f3f4f6 }
th { border-bottom: 1px solid #9aa1ad } figure { margin: .6rem 0 } figcaption { font-size: 13px; color: #565d69 }
svg { max-width: 100%; height: auto } .bad { color: #b3261e }
"""


def html(outcome: Outcome) -> str:
    """The whole page."""
    name = escape(outcome.source.name)
    word = "handed over" if outcome.ok else "refused"
    said = "".join(f"<li{_tone(f)}>{escape(str(f))}</li>" for f in outcome.verdict)
    parts = [f"<h1>Identification of {name}: {word}</h1>", f"<ul>{said}</ul>" if said else "", "<h2>First look</h2>"]
    for look in outcome.looks:
        found = "".join(f"<li{_tone(f)}>{escape(str(f))}</li>" for f in look)
        parts.append(f"<p>{escape(look.source)}</p><ul>{found or '<li>nothing suspicious</li>'}</ul>")
    result = outcome.result
    if result is not None:
        whole = [*result.samples, *result.held]
        parts += [
            "<h2>How well torques are predicted</h2>",
            *(f"<p>{escape(line)}.</p>" for line in outcome.lines()[-2 - len(outcome.validated) :]),
            _table(outcome.HEAD, [[escape(str(x)) for x in row] for row in outcome.rows()]),
            _folds(outcome),
            "<h2>What was chosen</h2>",
            _choices(outcome),
            "<h2>Measured and predicted torques</h2>",
            *_pictures(result),
            "<h2>Spectra of what is left</h2>",
            _spectra(result),
            "<h2>Base parameters</h2>",
            f"<p>{escape(result.summary())}.</p>",
            _parameters(result),
            "<h2>Bodies</h2>",
            _bodies(result),
            "<h2>Drives</h2>",
            _drives(outcome),
            "<h2>What was done to the log</h2>",
            f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in (*result.notes, *whole[0].notes))}</ul>",
        ]
    head = f'<meta charset="utf-8"><title>Identification of {name}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n' + "\n".join(parts) + "\n</body></html>\n"


def _tone(finding: Finding) -> str:
    return ' class="bad"' if finding.severity == "error" else ""


def _folds(outcome: Outcome) -> str:
    assert outcome.folds is not None
    shown = ", ".join(f"{100 * x:.2f}" for x in outcome.folds)
    how = "of the period" if outcome.period is not None else "of time"
    return f"<p>Blocks {how}, each predicted by a fit to the others: {shown} % of the torques' RMS.</p>"


def _choices(outcome: Outcome) -> str:
    tables = []
    if outcome.cutoffs:
        rows = [
            [f"{c:.3g}", f"{100 * e:.2f}", "chosen: the highest as good as the best" * (c == outcome.cutoff)]
            for c, e in outcome.cutoffs
        ]
        tables.append(_table(["cut-off [Hz]", "error on blocks not fitted [%]", ""], rows))
    if outcome.trials:
        trials = [
            [x.term, "taken" if x.taken else "not taken", f"{100 * x.change:+.3g}", f"{100 * x.deviation:.2g}"]
            for x in outcome.trials
        ]
        tables.append(_table(["term", "", "squares left if decided otherwise [%]", "± [%]"], trials))
    return "<br>".join(tables) or "<p>Everything was given.</p>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = "".join(f"<th>{escape(x)}</th>" for x in head)
    body = "\n".join("<tr>" + "".join(f"<td>{x}</td>" for x in row) + "</tr>" for row in rows)
    return f"<table><tr>{cells}</tr>\n{body}</table>"


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


def _pictures(result: Identification) -> list[str]:
    t, measured, predicted, held = _predictions(result)
    edges = t[np.flatnonzero(np.diff(held)) + 1].tolist()
    note = "; held out: between the lines" if len(edges) > 1 else "; held out: right of the line" if edges else ""
    figures = []
    for k, joint in enumerate(result.columns.robot.joint_names):
        curves = [
            Curve(t, measured[:, k], "measured", tone=MEASURED),
            Curve(t, predicted[:, k], "predicted", tone=PREDICTED),
            Curve(t, (measured - predicted)[:, k], "residual", tone=RESIDUAL),
        ]
        drawn = lines(curves, height=HEIGHT, marks=edges)
        figures.append(f"<figure>{drawn}<figcaption>{escape(joint)} [N m] over time [s]{note}</figcaption></figure>")
    return figures


def _spectra(result: Identification) -> str:
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
    return f"<figure>{drawn}<figcaption>residuals of all samples, read from the robot's file</figcaption></figure>"


def _parameters(result: Identification) -> str:
    rows = []
    estimate = result.estimate
    own = result.compare()
    for name, value, sigma, part, row in zip(
        result.names, estimate.beta, estimate.deviation, estimate.relative, own, strict=True
    ):
        weak = ' class="bad"' if part > 0.3 else ""
        size = f"{100 * part:.1f}" if np.isfinite(part) else "∞"
        rows.append([escape(name), f"{value:.5g}", f"{sigma:.2g}", f"<span{weak}>{size}</span>", f"{row['other']:.5g}"])
    return _table(["base parameter", "value", "σ", "σ [%]", "description"], rows)


def _bodies(result: Identification) -> str:
    rows = []
    for k, body in enumerate(result.columns.robot.model.bodies):
        ten = result.parameters[10 * k : 10 * k + 10]
        center = ten[1:4] / ten[0] if ten[0] else np.zeros(3)
        lowest = f"{result.consistent.eigenvalues[k]:.2g}" if result.consistent else ""
        rows.append([escape(body.name), f"{ten[0]:.4g}", *(f"{1e3 * x:.1f}" for x in center), lowest])
    head = ["body", "mass [kg]", "x [mm]", "y [mm]", "z [mm]", "smallest eigenvalue of the pseudo-inertia"]
    return _table(head, rows)


def _drives(outcome: Outcome) -> str:
    assert outcome.robot is not None
    drives = {joint.name: joint.drive for joint in outcome.robot.description.joints}
    rows = []
    for name in outcome.robot.joint_names:
        d = drives[name]
        numbers = (d.gear_ratio**2 * d.rotor_inertia, d.damping, *d.coulomb, d.coulomb_width)
        more = "; ".join(", ".join(f"{k} {_short(v)}" for k, v in spoken(term).items()) for term in d.friction)
        rows.append([escape(name), *(f"{x:.4g}" for x in numbers), escape(more)])
    head = ["joint", "armature [kg m²]", "viscous", "Coulomb +", "Coulomb −", "width [rad/s]", "further terms"]
    return _table(head, rows)


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
