"""The workspace: where the tip gets to, and how well it moves there."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dalembert.arguments import Array
from dalembert.draw.pyplot import pyplot, styled
from dalembert.errors import InputError, choose
from dalembert.kernels import need_vector
from dalembert.kinematics.jacobian import need_joints
from dalembert.kinematics.manipulability import manipulability
from dalembert.kinematics.tasks import Rows
from dalembert.system import Jointed

COORDINATES = ("x", "y", "z", "phi")
# A coordinate that varies by less than this part of the whole is constant: the arm is planar.
FLAT = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Workspace:
    """Sampled reachable states. `q` (N, n); `points` (N, 3), the frame's positions [m]; `phi` (N,), its turn about z of
    the base, atan2(R₂₁, R₁₁) [rad]; `values` (N,), the `measure` there ("yoshikawa", …); `name` of the robot."""

    q: Array
    points: Array
    phi: Array
    values: Array
    measure: str
    name: str
    cut: str = ""
    base: Array = field(default_factory=lambda: np.zeros(3))

    @property
    def extent(self) -> Array:
        """Smallest and largest x, y, z, (2, 3) [m]."""
        return np.stack([self.points.min(axis=0), self.points.max(axis=0)])

    @property
    def reach(self) -> float:
        """Largest distance from the first joint's origin [m]."""
        return float(np.linalg.norm(self.points - self.base, axis=-1).max())

    @property
    def plane(self) -> tuple[int, ...]:
        """The coordinates (0, 1, 2 for x, y, z) that vary: two of a planar arm."""
        low, high = self.extent
        spread = high - low
        return tuple(int(k) for k in np.flatnonzero(spread > FLAT * max(float(spread.max()), 1e-300)))

    def slice(self, coordinate: str, at: float, thickness: float) -> Workspace:
        """The states with a coordinate ("x", "y", "z", or "phi", the orientation of a planar arm) within ± half a
        thickness of a value."""
        choose("coordinate", coordinate, COORDINATES)
        if coordinate == "phi":
            away = np.abs(np.angle(np.exp(1j * (self.phi - at))))
        else:
            away = np.abs(self.points[:, COORDINATES.index(coordinate)] - at)
        kept = away <= thickness / 2
        if not kept.any():
            raise InputError(f"no sample has {coordinate} within {thickness / 2:g} of {at:g}: take more samples")
        words = f"{coordinate} = {at:g} ± {thickness / 2:g}"
        arrays = {name: getattr(self, name)[kept] for name in ("q", "points", "phi", "values")}
        return replace(self, **arrays, cut=words)

    @styled
    def plot(self, ax: Any = None) -> Any:
        """A matplotlib figure, colored by the best value met in each cell; blank is never reached. Of a planar
        arm or a slice the plane, else the side view (distance from the first joint's vertical, height) and the view
        from above. Given `ax`, the plane, or the side view, is drawn there."""
        plt = pyplot()
        views = self.views()
        if ax is not None:
            views = views[:1]
            figure, panels = ax.figure, [ax]
        else:
            shapes = [np.ptp(x) / max(float(np.ptp(y)), 1e-300) for x, y, *_ in views]
            width = [float(np.clip(s, 0.3, 2.5)) for s in shapes]  # as wide, by its height, as what is shown
            figure, grid = plt.subplots(
                1,
                len(views),
                figsize=(4.6 * sum(width) + 1.0 * len(views) + 0.8, 5.4),
                width_ratios=width,
                squeeze=False,
                layout="constrained",
            )
            panels = list(grid[0])
        for panel, (x, y, horizontal, vertical) in zip(panels, views, strict=True):
            best = np.min if self.measure == "condition" else np.max
            drawn = _cells(panel, x, y, self.values, best, horizontal, vertical)
        label = "Yoshikawa's μ" if self.measure == "yoshikawa" else self.measure
        figure.colorbar(drawn, ax=panels, label=f"{label}, best in each cell", shrink=0.85)
        if ax is None:
            figure.suptitle(f"Workspace of {self.name}" + (f", {self.cut}" if self.cut else ""))
        return figure

    def views(self) -> list[tuple[Array, Array, str, str]]:
        """What is drawn, as (across, up, their names): of a planar arm or a slice its plane, else the views from the
        side and from above."""
        p, names = self.points, [f"{c} [m]" for c in "xyz"]
        plane = self.plane
        cut = "xyz".find(self.cut[:1]) if self.cut and not self.cut.startswith("phi") else -1
        if len(plane) == 3 and cut >= 0:
            plane = tuple(k for k in plane if k != cut)
        if len(plane) <= 2:
            a, b = (*plane, *(k for k in range(3) if k not in plane))[:2]
            a, b = sorted((a, b))
            return [(p[:, a], p[:, b], names[a], names[b])]
        radius = np.hypot(p[:, 0] - self.base[0], p[:, 1] - self.base[1])
        return [(radius, p[:, 2], "distance from the vertical [m]", names[2]), (p[:, 0], p[:, 1], names[0], names[1])]

    def __repr__(self) -> str:
        cut = f", {self.cut}" if self.cut else ""
        return f"<Workspace of {self.name!r}: {len(self.points)} states, reach {self.reach:.3f} m{cut}>"


def _cells(panel: Any, x: Array, y: Array, values: Array, best: Any, horizontal: str, vertical: str) -> Any:
    """Hexagons over the plane, each with the best value in it, as many as the samples fill."""
    kept = np.isfinite(values)  # a condition number may not be
    across = int(np.clip(np.sqrt(len(x) / 25), 12, 80))
    drawn = panel.hexbin(
        x[kept], y[kept], C=values[kept], reduce_C_function=best, gridsize=across, mincnt=1, linewidths=0.2
    )
    drawn.set_edgecolor("face")
    drawn.set_clim(0, float(values[kept].max(initial=0.0)) or 1.0)
    panel.set_xlabel(horizontal)
    panel.set_ylabel(vertical)
    panel.set_aspect("equal")
    return drawn


def workspace(
    robot: Jointed,
    samples: int = 20_000,
    frame: str | None = None,
    rows: Rows | None = None,
    expressed_in: str = "world",
    *,
    measure: str = "yoshikawa",
    seed: int = 0,
) -> Workspace:
    """The reachable set, sampled: seeded states within the joint limits, where the frame gets to, and how well it moves
    there (`measure` of `rows`, as in `manipulability`)."""
    need_joints(robot)
    need_vector(robot.model)
    if not isinstance(samples, int) or samples < 1:
        raise InputError(f"samples must be a number of states ≥ 1, got {samples!r}")
    q = robot.random_configuration(samples, seed=seed)
    T = np.asarray(robot.fk(q, frame))
    values = manipulability(robot, q, frame, rows, expressed_in, measure=measure)
    model = robot.model
    path = model.path(model.frame(frame).body)
    base = np.array([float(x) for x in model.bodies[path[0]].placement.p])
    return Workspace(q, T[:, :3, 3], np.arctan2(T[:, 1, 0], T[:, 0, 0]), values, measure, robot.name, "", base)
