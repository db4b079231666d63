"""Sections of the report of a system that is no robot: its names, its linearization at rest, a free motion."""

from __future__ import annotations

import numpy as np

from dalembert.apps.report.context import Made, NotHereError, SystemContext
from dalembert.apps.report.judgments import QUICK_STATES, STATES, judge_properties
from dalembert.control.linear import linearize
from dalembert.draw import html
from dalembert.draw.svg.charts import Curve, lines
from dalembert.simulation.simulate import simulate

PUSH = 0.1  # [rad, m] of every position where the free motion starts
DURATION = 5.0  # s


def names(context: SystemContext) -> Made:
    """States and inputs, in their order, with their units."""
    system = context.system
    rows = [("state", name) for name in system.states] + [("input", name) for name in system.inputs]
    table = html.table(("", "name", "unit"), ((kind, name, system.units.get(name, "")) for kind, name in rows))
    return Made(table)


def linearization(context: SystemContext) -> Made:
    """Poles about the state of zeros, where the system rests there."""
    flow = context.system.flow()
    zero = [0.0] * len(flow.states)
    rate = np.asarray(flow.rate(0.0, zero, [0.0] * len(flow.inputs)), float)
    if not np.abs(rate).max() < 1e-9:
        raise NotHereError("The system does not rest where all states and inputs are zero: linearize it elsewhere.")
    near = linearize(flow, zero)
    poles = sorted(np.linalg.eigvals(near.A), key=lambda p: (p.real, p.imag))
    growing = sum(p.real > 1e-9 for p in poles)
    words = f"{growing} of {len(poles)} poles grow" if growing else "no pole grows"
    table = html.table(
        ("real part [1/s]", "imaginary part [rad/s]"), ((html.number(p.real), html.number(p.imag)) for p in poles)
    )
    said = html.paragraph("Poles of the system linearized about the state of zeros, without inputs.")
    return Made(html.joined([said, table]), words, "doubt" if growing else "good")


def properties(context: SystemContext) -> Made:
    return judge_properties(context.system, QUICK_STATES if context.quick else STATES, None)


def motion(context: SystemContext) -> Made:
    """A free motion from positions a little off zero."""
    flow = context.system.flow()
    start = np.zeros(len(flow.states))
    start[: max(1, flow.positions)] = PUSH
    run = simulate(flow, x0=start, duration=DURATION)
    units = context.system.units
    drawn = [
        lines([Curve(run.t, run.x[:, k], name)], x="t [s]", y=f"{name} [{units.get(name, '')}]", width=390, height=200)
        for k, name in enumerate(flow.states)
    ]
    told = html.paragraph(f"Released at rest with all positions at {PUSH:g}, without inputs: {run.message}.")
    return Made(html.joined([told, html.row(*(html.figure(picture, width=390) for picture in drawn))]))
