"""The report of an identification: one page of HTML by itself, tables and pictures in it, nothing fetched."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dalembert.draw.svg import Curve, lines

if TYPE_CHECKING:
    from dalembert.identification.fit.identify import Identification

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


def html(result: Identification) -> str:
    """The whole page."""
    name = escape(result.columns.robot.name)
    parts = [
        f"<h1>Identification of {name}</h1>",
        f"<p>{escape(result.summary())}.</p>",
        *(f"<p>{escape(note)}.</p>" for note in (*result.notes, *result.samples[0].notes)),
        "<h2>Residuals</h2>",
        _residuals(result),
        "<h2>Measured and predicted torques</h2>",
        *_pictures(result),
        "<h2>Base parameters</h2>",
        _parameters(result),
        "<h2>Bodies</h2>",
        _bodies(result),
    ]
    head = f'<meta charset="utf-8"><title>Identification of {name}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n' + "\n".join(parts) + "\n</body></html>\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = "".join(f"<th>{escape(x)}</th>" for x in head)
    body = "\n".join("<tr>" + "".join(f"<td>{x}</td>" for x in row) + "</tr>" for row in rows)
    return f"<table><tr>{cells}</tr>\n{body}</table>"


def _residuals(result: Identification) -> str:
    fits = [("training", result.training), ("training, consistent", result.training_consistent)]
    fits += [("held out", result.held_out)] if result.held_out else []
    fits += [("held out, consistent", result.held_out_consistent)] if result.held_out_consistent else []
    head = ["joint", "rms [N m]", "R²", "whiteness", *(f"{name} [%]" for name, _ in fits)]
    rows = []
    for k, joint in enumerate(result.columns.robot.joint_names):
        t = result.training
        white = f"{t.whiteness[k]:.2f}" + ("" if t.whiteness[k] <= t.white else " (not white)")
        rows.append(
            [
                escape(joint),
                f"{t.rms[k]:.4g}",
                f"{t.r2[k]:.4f}",
                white,
                *(f"{100 * f.relative[k]:.2f}" for _, f in fits),
            ]
        )
    rows.append(["all", "", "", "", *(f"{100 * f.total:.2f}" for _, f in fits)])
    return _table(head, rows)


def _pictures(result: Identification) -> list[str]:
    runs = [*result.samples, *result.held]
    figures = []
    measured = np.concatenate([run.tau for run in runs])
    predicted = np.concatenate([result.predict(run) for run in runs])
    t = np.asarray(np.arange(len(measured)) * runs[0].dt, np.float64)
    trained = sum(len(run) for run in result.samples) * runs[0].dt
    for k, joint in enumerate(result.columns.robot.joint_names):
        curves = [
            Curve(t, measured[:, k], "measured", tone=MEASURED),
            Curve(t, predicted[:, k], "predicted", tone=PREDICTED),
            Curve(t, (measured - predicted)[:, k], "residual", tone=RESIDUAL),
        ]
        drawn = lines(curves, height=HEIGHT, marks=[trained] if result.held else [])
        note = "; right of the line: held out" if result.held else ""
        figures.append(f"<figure>{drawn}<figcaption>{escape(joint)} [N m] over time [s]{note}</figcaption></figure>")
    return figures


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
