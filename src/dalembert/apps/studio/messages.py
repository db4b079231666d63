"""What the studio says, as small pieces of HTML: names come from files, so every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape
from typing import Any

import numpy as np

from dalembert.arguments import Array
from dalembert.constrained.system import Constrained
from dalembert.draw.scene import drawn_limits
from dalembert.robot import Robot

NEAR = 0.05  # of the best σ_min/σ that the arm reaches: nearer to singular than this is told
STATES = 500  # seeded, among which the best is looked for
COLORS = {"good": "#2f855a", "near": "#b7791f", "bad": "#c53030", "plain": "inherit"}
STYLE = "font-size:0.85em;line-height:1.35;padding:0.15em 0.6em"


def line(text: str, kind: str = "plain") -> str:
    """A sentence: "good", "near", "bad" or "plain"."""
    weight = "600" if kind in ("near", "bad") else "400"
    return f'<div style="{STYLE};color:{COLORS[kind]};font-weight:{weight}">{escape(text)}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], kinds: Sequence[str] = ()) -> str:
    """A small table, numbers to the right; `kinds` colors its rows."""
    cell = "padding:0.05em 0.4em;white-space:nowrap"
    side = ["right" if k else "left" for k in range(len(head))]
    top = "".join(f'<th style="{cell};text-align:{s}">{escape(h)}</th>' for s, h in zip(side, head, strict=True))
    body = []
    for i, row in enumerate(rows):
        color = COLORS[kinds[i]] if i < len(kinds) else "inherit"
        cells = "".join(
            f'<td style="{cell};text-align:{"right" if k else "left"}">{escape(str(x))}</td>' for k, x in enumerate(row)
        )
        body.append(f'<tr style="color:{color}">{cells}</tr>')
    return (
        f'<div style="{STYLE};overflow-x:auto">'
        '<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">'
        f"<thead><tr>{top}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def short(x: float, digits: int = 3) -> str:
    if not np.isfinite(x):
        return "∞" if x > 0 else "-∞" if x < 0 else "?"
    return f"{0.0 if abs(x) < 1e-9 else x:.{digits}g}"


# ---------------------------------------------------------------------------------------------------- how it stands
def singularity(robot: Robot, q: Array, frame: str, system: Constrained | None) -> tuple[str, str]:
    """(kind, sentence): whether the arm loses a direction here, and which."""
    if system is not None:
        return _of_chain(system, q)
    if robot.nv == 0 or robot.model.frame(frame).body < 0:
        return "plain", f"{frame} does not move"
    if (free := robot.model.curved) is not None:
        return "plain", f"{free.name} is {free.joint.kind}: {robot.nq} positions, {robot.nv} velocities"
    found = robot.singularities(q, frame)
    if bool(found.singular):
        kinds = f" ({', '.join(found.kinds)})" if found.kinds else ""
        return "bad", f"singular{kinds}: no {'; no '.join(found.words)}"
    share = float(found.closeness) / best_closeness(robot, frame)
    closeness = f"σ_min/σ = {short(float(found.closeness), 2)}, {min(100 * share, 100):.0f} % of its best"
    if share < NEAR:
        return "near", f"near a singular state: {closeness}"
    return "good", f"regular: {closeness}; μ = {short(float(robot.manipulability(q, frame)))}"


@lru_cache(maxsize=16)
def best_closeness(robot: Robot, frame: str) -> float:
    """The largest σ_min/σ among seeded states within the limits: how far from singular this arm gets."""
    low, high = np.array(drawn_limits(robot)).T
    q = np.random.default_rng(0).uniform(low, high, (STATES, robot.n))
    return float(np.max(robot.singularities(q, frame).closeness))


def _of_chain(system: Constrained, q: Array) -> tuple[str, str]:
    rank, whole = int(system.rank(q)), system.generic_rank
    if rank < whole:
        return "bad", f"singular: {rank} of {whole} independent constraints are left, the chain gains a motion"
    return "good", f"closed: {system.n} joints, {whole} independent constraints, {system.n - whole} freedoms"


def at_limits(robot: Robot, q: Array) -> list[str]:
    """Joints that stand at their limits or beyond."""
    limits = robot.limits
    span = np.where(np.isfinite(limits.upper - limits.lower), limits.upper - limits.lower, 1.0)
    said = []
    for k, name in enumerate(robot.model.names("position")):
        for end, off in (("lower", q[k] - limits.lower[k]), ("upper", limits.upper[k] - q[k])):
            if off < 1e-3 * span[k]:
                said.append(f"{name} {'stands at' if off > -1e-6 else 'is beyond'} its {end} limit")
    return said


# ------------------------------------------------------------------------------------------------------------ torques
def torques(robot: Robot, names: Sequence[str], tau: Array) -> tuple[str, bool]:
    """(table, whether some drive is too weak) of torques at these joints, and their limits."""
    rows, kinds = [], []
    for name, x in zip(names, tau, strict=True):
        c = robot.model.coordinates[robot.joint_names.index(name)]
        most, unit = float(robot.limits.effort[c.first]), c.joint.effort_unit
        share = abs(x) / most if np.isfinite(most) and most > 0 else np.nan
        kinds.append("bad" if share > 1 else "near" if share > 0.8 else "plain")
        full = "" if np.isnan(share) else f"{100 * share:.0f} %"
        rows.append((name, f"{short(float(x), 4)} {unit}", short(most, 4), full))
    return table(("joint", "torque", "limit", "share"), rows, kinds), "bad" in kinds
