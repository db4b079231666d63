"""Pictures, by matplotlib (extra `plot`): one look, units on every axis, colors that differ in gray print.

robot             a stick figure with shapes, frames and centers of mass
ellipsoids        what the tip can do: velocities, forces, effective mass
workspace, trajectory, run
phase_portrait    where the states of a system go
root_locus, bode, step
residuals         of an identification
diagram           the block diagram of a control law
save              a picture as a file, the same bytes in every run
"""

from typing import TYPE_CHECKING

from dalembert.lazy import lazy_names

if TYPE_CHECKING:
    from dalembert.draw.arm import ellipsoids as ellipsoids, robot as robot
    from dalembert.draw.portrait import phase_portrait as phase_portrait
    from dalembert.draw.pyplot import save as save
    from dalembert.draw.results import (
        bode as bode,
        diagram as diagram,
        residuals as residuals,
        root_locus as root_locus,
        run as run,
        step as step,
        trajectory as trajectory,
        workspace as workspace,
    )
    from dalembert.draw.svg.charts import Curve as Curve, bars as bars, heat as heat, lines as lines

_NAMES = {
    "arm": ("ellipsoids", "robot"),
    "results": ("bode", "diagram", "residuals", "root_locus", "run", "step", "trajectory", "workspace"),
    "portrait": ("phase_portrait",),
    "pyplot": ("save",),
    "svg.charts": ("Curve", "bars", "lines", "heat"),
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
