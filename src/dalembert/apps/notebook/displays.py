"""What a notebook shows of each kind of result: a row of the table `html_of` for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch

import numpy as np
from markupsafe import Markup

from dalembert.apps.page.scene import scene_of
from dalembert.apps.page.still import still_picture
from dalembert.apps.report.card import joint_table
from dalembert.control.comparison import Comparison
from dalembert.describe.dh import DHTable
from dalembert.draw import html
from dalembert.draw.svg.charts import Curve, lines
from dalembert.exercises.exercise import Exercise
from dalembert.exercises.grading import Grade
from dalembert.exercises.sheets.markup import HTML, write, write_line
from dalembert.findings import Findings
from dalembert.identification.log.samples import Log
from dalembert.kinematics.ik.solution import Solution, Solutions
from dalembert.robot import Robot
from dalembert.simulation.run import Run
from dalembert.symbolic.check import CheckedDerivation
from dalembert.symbolic.compare import Comparison as Compared

MOST_ROWS = 20  # of a table: who wants more asks for the numbers
STEPS = {"right": "good", "own": "good", "follows": "doubt", "wrong": "bad"}


@singledispatch
def html_of(thing: object) -> str:
    """A result as a piece of a page."""
    return _shown(html.tag("pre", str(thing)))


def page_of(title: str, thing: object) -> str:
    """A result as a whole page."""
    return html.page(title, Markup(html_of(thing)))


def _shown(*content: object) -> str:
    return str(html.tag("div", html.STYLE, *content, class_="dalembert"))


def _head(name: object, said: object) -> Markup:
    return html.paragraph(html.tag("b", name), " ", said)


def _plots(t: Sequence[float] | np.ndarray, panels: Iterable[tuple[str, list[Curve]]]) -> list[Markup]:
    found = [(y, curves) for y, curves in panels if curves]
    last = len(found) - 1
    return [
        html.tag("div", Markup(lines(curves, x="time [s]" if k == last else "", y=y, height=190)))
        for k, (y, curves) in enumerate(found)
    ]


@html_of.register
def _(robot: Robot) -> str:
    joints = len(robot.joint_names)
    count = f"{joints} joint{'' if joints == 1 else 's'}, {robot.mass:.4g} kg, tip {robot.tip or 'none'}"
    return _shown(_head(robot.name, count), Markup(still_picture(scene_of(robot), 420, 280)), joint_table(robot))


@html_of.register
def _(table: DHTable) -> str:
    said = f"{table.convention} Denavit–Hartenberg parameters"
    ends = [html.paragraph(f"{word}: {origin}") for word, origin in table.ends()]
    return _shown(_head(table.name, said), html.table(table.head, table.lines()), *ends)


@html_of.register
def _(run: Run) -> str:
    wanted = [name for name in ("q", "qd", "tau", "energies") if run.groups.get(name)] or ["x"]

    def panel(name: str) -> tuple[str, list[Curve]]:
        columns = run.groups[name]
        units = sorted({run.units.get(c, "") for c in columns} - {""})
        curves = [Curve(run.t, run[c], c, tone=k) for k, c in enumerate(columns)]
        if name == "q":
            wanted = zip(run.groups.get("reference", ()), range(len(columns)), strict=False)
            curves += [Curve(run.t, run[c], "", tone=k, thin=True) for c, k in wanted]
        return f"{name} [{', '.join(units)}]" if units else name, curves

    said = f"{len(run)} rows to t = {run.t[-1]:.6g} s by {run.method}; {run.message}"
    measures = [html.table(("measure", "value"), list(run.measures.items()))] if run.measures else []
    return _shown(_head(run.name, said), *_plots(run.t, map(panel, wanted)), *measures)


@html_of.register
def _(log: Log) -> str:
    said = f"{len(log)} samples in {log.t[-1] - log.t[0]:.6g} s, {log.n} joints"
    groups = (("q [rad, m]", log.q), ("q̇ [rad/s, m/s]", log.qd), ("τ [N m, N]", log.tau))
    panels = [
        (y, [] if x is None else [Curve(log.t, x[:, k], name, tone=k) for k, name in enumerate(log.joints)])
        for y, x in groups
    ]
    return _shown(_head(log.source or "log", said), *_plots(log.t, panels), html.listed(log.notes))


@html_of.register
def _(comparison: Comparison) -> str:
    head = ("scenario", "controller", "RMS error", "max error", "RMS torque", "peak torque", "energy [J]", "verdict")
    names = ("rms_error", "max_error", "rms_torque", "peak_torque", "energy")
    rows = [
        (row["scenario"], row["controller"], *(float(f"{row[name]:.3g}") for name in names), row["verdict"])
        for row in comparison.rows()
    ]
    return _shown(_head(comparison.robot, comparison.criteria), html.table(head, rows))


@html_of.register
def _(solution: Solution) -> str:
    q = solution.q.reshape(-1, solution.q.shape[-1])
    columns = (np.ravel(x) for x in (solution.position_error, solution.orientation_error, solution.converged))
    rows = [
        (*(html.number(x, 5) for x in row), f"{p:.2g}", f"{o:.2g}", "reached" if c else "not reached")
        for row, p, o, c in zip(q[:MOST_ROWS], *columns, strict=False)
    ]
    head = (*(f"q{k + 1}" for k in range(q.shape[1])), "off by [m]", "off by [rad]", "")
    reached = int(np.sum(solution.converged))
    return _shown(_head("Inverse kinematics", f"{reached} of {len(q)} poses reached"), html.table(head, rows))


@html_of.register
def _(solutions: Solutions) -> str:
    said = (
        solutions.why()
        if solutions.count.ndim == 0
        else f"{int(solutions.found.sum())} of {solutions.count.size} poses"
    )
    q = solutions.q[solutions.found]
    rows = [[html.number(x, 5) for x in row] for row in q[:MOST_ROWS]]
    return _shown(_head(solutions.family, said), html.table([f"q{k + 1}" for k in range(q.shape[-1])], rows))


@html_of.register
def _(found: Findings) -> str:  # type: ignore[type-arg]
    return _shown(html.findings_table(found))


@html_of.register
def _(compared: Compared) -> str:
    first, *rest = str(compared).splitlines()
    return _shown(html.paragraph(html.verdict("good" if compared else "bad", first)), *map(html.paragraph, rest))


@html_of.register
def _(checked: CheckedDerivation) -> str:
    rows = [
        (x.number, html.verdict(STEPS.get(x.verdict, "absent"), x.verdict), html.code(x.line), x.reason)
        for x in checked.lines
    ]
    head = str(checked).rpartition("\n")[2]
    return _shown(html.paragraph(html.tag("b", head)), html.table(("line", "", "yours", "why"), rows))


@html_of.register
def _(exercise: Exercise) -> str:
    blanks = [(html.code(a.name), ", ".join(a.choices) or a.kind, a.unit, a.points) for a in exercise.answers]
    said = f"{exercise.family}, variant {exercise.seed}, {exercise.points} point{'' if exercise.points == 1 else 's'}"
    table = html.table(("answer", "what", "unit", "points"), blanks)
    return _shown(_head(exercise.title, said), Markup(write(exercise.text, HTML)), table)


@html_of.register
def _(grade: Grade) -> str:
    kinds = {True: "good", False: "bad"}
    rows = [
        (
            html.code(m.name),
            html.verdict("doubt" if 0 < m.earned < m.points else kinds[m.earned > 0], f"{m.earned:g} of {m.points}"),
            Markup(write_line(m.reason, HTML)),
        )
        for m in grade.marks
    ]
    together = f"{grade.earned:g} of {grade.points} points"
    return _shown(
        html.paragraph(html.tag("b", together)), html.table(("answer", "points", "why"), rows), html.listed(grade.notes)
    )
