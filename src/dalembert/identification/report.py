"""The report of an identification: one page of HTML by itself, tables and pictures in it, nothing fetched."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dalembert.identification.identify import Identification

Array = NDArray[np.float64]
WIDTH, HEIGHT, LEFT, RIGHT, ABOVE, BELOW, POINTS = 720, 190, 62, 20, 26, 26, 700
COLORS = {"measured": "#3b4252", "predicted": "#d0662a", "residual": "#2f6fb0"}

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
    return f"<!doctype html>\n<html lang=\"en\"><head>{head}</head><body>\n" + "\n".join(parts) + "\n</body></html>\n"


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
                escape(joint), f"{t.rms[k]:.4g}", f"{t.r2[k]:.4f}", white,
                *(f"{100 * f.relative[k]:.2f}" for _, f in fits),
            ]
        )  # fmt: skip
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
        curves = {"measured": measured[:, k], "predicted": predicted[:, k], "residual": (measured - predicted)[:, k]}
        drawn = plot(t, curves, trained if result.held else None)
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
        rows.append(
            [escape(name), f"{value:.5g}", f"{sigma:.2g}", f"<span{weak}>{size}</span>", f"{row['other']:.5g}"]
        )
    return _table(["base parameter", "value", "σ", "σ [%]", "description"], rows)


def _bodies(result: Identification) -> str:
    rows = []
    for k, body in enumerate(result.columns.robot.model.bodies):
        ten = result.parameters[10 * k : 10 * k + 10]
        centre = ten[1:4] / ten[0] if ten[0] else np.zeros(3)
        lowest = f"{result.consistent.eigenvalues[k]:.2g}" if result.consistent else ""
        rows.append([escape(body.name), f"{ten[0]:.4g}", *(f"{1e3 * x:.1f}" for x in centre), lowest])
    head = ["body", "mass [kg]", "x [mm]", "y [mm]", "z [mm]", "smallest eigenvalue of the pseudo-inertia"]
    return _table(head, rows)


def plot(t: Array, curves: dict[str, Array], line: float | None = None) -> str:
    """Curves over time as SVG, thinned so that no extreme is lost."""
    low = min(float(np.min(y)) for y in curves.values())
    high = max(float(np.max(y)) for y in curves.values())
    span = (high - low) or 1.0
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - BELOW - ABOVE

    def x(value: float) -> float:
        return LEFT + width * (value - t[0]) / ((t[-1] - t[0]) or 1.0)

    def y(value: float) -> float:
        return ABOVE + height * (high - value) / span

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" font-size="11" role="img">']
    for value in np.linspace(low, high, 4):
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#d9dce1"/>'
            f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.3g}</text>'
        )
    for value in np.linspace(t[0], t[-1], 6):
        parts.append(f'<text x="{x(value):.1f}" y="{HEIGHT - 8}" text-anchor="middle">{value:.3g}</text>')
    for name, values in curves.items():
        points = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in _thinned(t, values))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLORS[name]}" stroke-width="1.1"/>')
    for k, name in enumerate(curves):
        at = LEFT + 10 + 90 * k
        parts.append(
            f'<line x1="{at}" x2="{at + 18}" y1="12" y2="12" stroke="{COLORS[name]}" stroke-width="2"/>'
            f'<text x="{at + 22}" y="16">{escape(name)}</text>'
        )
    if line is not None:
        ends = f'x1="{x(line):.1f}" x2="{x(line):.1f}" y1="{ABOVE}" y2="{ABOVE + height}"'
        parts.append(f'<line {ends} stroke="#888" stroke-dasharray="4 3"/>')
    return "".join([*parts, "</svg>"])


def _thinned(t: Array, values: Array) -> list[tuple[float, float]]:
    """Of each piece of many points its smallest and largest, in the order of time."""
    size = max(len(values) // (POINTS // 2), 1)
    points = []
    for first in range(0, len(values), size):
        piece = values[first : first + size]
        for k in sorted({int(np.argmin(piece)), int(np.argmax(piece))}):
            points.append((float(t[first + k]), float(piece[k])))
    return points
