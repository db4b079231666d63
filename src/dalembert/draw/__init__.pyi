"""The names of the package and where they live: read by type checkers, and by `lazy.open_door` when it is imported."""

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
