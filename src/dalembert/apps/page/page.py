"""`write_page`: a robot as one HTML file that draws, poses and simulates it, and needs nothing else."""

from __future__ import annotations

import base64
import gzip
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike

from dalembert.apps.page.physics import MOST, make_physics
from dalembert.apps.page.scene import Scene, planar_axis, scene_of, summary, with_tip
from dalembert.apps.page.still import still_picture
from dalembert.arguments import array, switch
from dalembert.compile.wasm import assemble_wasm
from dalembert.constrained.system import Constrained
from dalembert.draw import html
from dalembert.draw.scene import corners_of, read_posture
from dalembert.errors import InputError, choose
from dalembert.files import place_of, whole
from dalembert.names import file_name
from dalembert.reference import Reference
from dalembert.robot import Robot, need_robot
from dalembert.trajectories import minimum_jerk, sequence

PANELS = ("controller", "world", "joints", "playback", "plots", "phase")
EMBEDDED = ("controller", "plots")
ROWS = 3000  # of a log that is written into a page
SECONDS = 2.0  # from posture to posture
TILTED = 0.5  # of the vertical along the normal of a plane, beyond which one looks down on it
HINT = (
    "Drag the orange ball to move the tip, pull at a link while it runs, turn the view beside it; two fingers or the "
    "wheel zoom."
)
PULLED = "Pull at a link while it runs, turn the view beside it; two fingers or the wheel zoom."


@dataclass(frozen=True)
class LivePage:
    """A page on disk: its `path`, `size` [bytes], the `controllers` in it, the size of its module and the `seconds`
    that writing it took."""

    path: Path
    robot: str
    size: int
    module: int
    controllers: tuple[str, ...]
    seconds: float

    def data(self) -> dict[str, object]:
        """The same as plain data."""
        return {**asdict(self), "path": str(self.path), "controllers": list(self.controllers)}

    def __str__(self) -> str:
        how = f"under {', '.join(self.controllers)}" if self.controllers else "to be posed: there is no motion of it"
        return f"{self.path}: {self.size / 1024:.0f} KiB, {self.robot} {how}"


def write_page(
    robot: Robot,
    path: str | PathLike[str] | None = None,
    *,
    q: ArrayLike | None = None,
    controllers: Sequence[str] | None = None,
    panels: Iterable[str] | None = None,
    embed: bool = False,
    run: bool = True,
    motion: Reference | ArrayLike | None = None,
    log: str | PathLike[str] | None = None,
) -> LivePage:
    """Write the live page of a robot: one HTML file that works from disk, offline, on a phone.

    `path`: where; "<robot>.html" if not given. `q` (nq,): where it begins, or if loops are open there the nearest
    posture that shuts them; one that shows it well if not given.
    `controllers`: names of the registry, and "none" for no torques; all that the robot can have if not given. The
    first is chosen at the beginning. `panels`: those of `PANELS` that are shown beside the view. `embed`: a smaller
    layout for a frame inside another page, with the panels "controller" and "plots" if nothing else is said. `run`:
    whether it runs at once, unless its reader wants less motion. `motion`: one that controllers can follow, a
    Reference of the driven joints, or postures of them (k, n) that are passed by least jerk, two seconds each. `log`: a
    recorded motion to play back. A robot that nothing holds up begins without gravity; a slider turns it on."""
    arm = with_tip(need_robot(robot, "a page"))
    if not arm.nv:
        problem = f"{arm.name!r} has no joints, and a page shows a robot that moves"
        raise InputError("unsupported", "robot", arm.name, problem=problem)
    place = Path(f"{file_name(arm.name)}.html" if path is None else path)
    folder = place_of(place).parent
    if not folder.is_dir():
        problem = f"{str(place)!r} cannot be written: the folder {str(folder)!r} does not exist"
        raise InputError("not-writable", "path", str(place), problem=problem)
    begun = time.perf_counter()
    small, shown = switch("embed", embed), _read_panels(panels, embed)
    scene = scene_of(arm)
    live = live_data(scene, q, controllers, motion, None if log is None else _read_recording(log, arm))
    data = {**live.data, "panels": shown, "embed": small, "run": switch("run", run), "link": True}
    parts = live_parts(scene, "" if small else hint_of(arm))
    under = html.tag(
        "p",
        summary(arm),
        html.tag("button", "Light or dark", id="theme", type="button", hidden="hidden"),
        class_="under",
    )
    text = html.page(
        arm.name,
        *(() if small else (under,)),
        html.tag("div", *parts, id="live", class_="embed" if small else ""),
        html.data("live-data", data),
        live.module,
        script=script() + "openPage().then((page) => { window.dalembert = page; });\n",
        look=asset("page.css"),
        computes=True,
    )
    whole(place, lambda file: file.write(text.encode()))
    names = tuple(law["name"] for law in live.data["physics"]["laws"])
    return LivePage(place, arm.name, len(text.encode()), live.size, names, time.perf_counter() - begun)


@dataclass(frozen=True)
class LiveData:
    """What a page's script is given: plain `data`, and the `module` as an element of the page; `size` in bytes."""

    data: dict[str, Any]
    module: Markup
    size: int


def live_data(
    scene: Scene,
    q: ArrayLike | None = None,
    controllers: Sequence[str] | None = None,
    motion: Reference | ArrayLike | None = None,
    log: dict[str, object] | None = None,
    most: int = MOST,
) -> LiveData:
    """The robot of a scene, traced and assembled; arguments as those of `write_page`, a log as `record` makes it.
    `most`: operations of all controllers together, where nobody said which."""
    robot = scene.robot
    start = scene.start if q is None else read_posture(robot, q)
    if q is not None and robot.loops:
        start = Constrained(robot).close(start).q
    if isinstance(controllers, str) or (controllers is not None and not controllers):
        raise InputError("wrong-type", "controllers", controllers, expected="a list of at least one name")
    physics = make_physics(robot, start, controllers, _read_motion(motion, robot, start), most)
    module = assemble_wasm(physics.parts) if physics.parts else None
    code = b"" if module is None else module.data
    packed = base64.b64encode(gzip.compress(code, 9, mtime=0)).decode()
    data = {
        "scene": {**scene.data(), **_swept(scene, start), "start": [float(x) for x in start]},
        "physics": physics.data,
        "signatures": None if module is None else module.signatures,
        "g": float(np.linalg.norm(robot.gravity)),
        "log": log,
    }
    return LiveData(data, html.tag("script", Markup(packed), type="text/plain", id="live-module"), len(code))


def _swept(scene: Scene, start: np.ndarray) -> dict[str, object]:
    """How a robot in a plane is looked at, which swings about its base: from farther away, with the floor below it."""
    across, robot = planar_axis(scene.robot), scene.robot
    if across is None or abs(across @ scene.up) > TILTED:
        return {}
    middle = np.asarray(robot.model.bodies[0].placement.p, float)
    postures = [start] if robot.loops else [start, *robot.random_configuration(12, seed=0)]
    reach = max(float(np.linalg.norm(corners_of(robot, scene.parts, q) - middle, axis=-1).max()) for q in postures)
    floor = float(scene.up @ middle) - reach
    return {"center": middle.tolist(), "zoom": scene.ball[1] / (1.06 * reach), "floor": floor}


def hint_of(robot: Robot) -> str:
    """What a hand can do in the view."""
    return HINT if robot.model.curved is None else PULLED


def live_parts(scene: Scene, hint: str = "") -> tuple[Markup, ...]:
    """The places that the script fills, the view with a still picture in it for who has none."""
    name = scene.robot.name
    canvas = html.tag("canvas", "", tabindex="0", role="img", aria_label=f"{name}, to be turned and moved")
    still = html.tag("div", Markup(still_picture(scene)), class_="still")
    view = html.tag("div", canvas, still, id="scene")
    words = html.paragraph(hint, class_="aside screen") if hint else ""
    return (
        html.tag("div", view, html.tag("div", "", id="tools"), words, id="stage"),
        html.tag("div", "", id="side"),
        html.tag("div", "", id="plots"),
    )


def _read_panels(panels: Iterable[str] | None, embed: bool) -> list[str]:
    if panels is None:
        return list(EMBEDDED if embed else PANELS)
    if isinstance(panels, str):
        raise InputError("wrong-type", "panels", panels, expected="a list of names", remedy=f"Pass [{panels!r}].")
    wanted = [choose("panel", name, PANELS, "panels") for name in panels]
    return [name for name in PANELS if name in wanted]


def _read_motion(motion: Reference | ArrayLike | None, robot: Robot, start: np.ndarray) -> Reference | None:
    if motion is None or isinstance(motion, Reference):
        return motion
    m = len(robot.model.drives)
    postures = array("motion", motion, (..., m), meaning="postures, one number per driven joint").reshape(-1, m)
    points = [start[[c.position for c in robot.model.drives]], *postures]
    return sequence(*(minimum_jerk(a, b, SECONDS) for a, b in pairwise(points)))


def _read_recording(log: str | PathLike[str], robot: Robot) -> dict[str, object]:
    from dalembert.identification.log.read import read_positions

    return record(*read_positions(Path(log), robot))


def record(t: np.ndarray, q: np.ndarray) -> dict[str, object]:
    """Times (N,) and positions (N, n) as a page plays them back: thinned to what an eye can follow, from zero."""
    every = max(1, -(-len(t) // ROWS))
    return {"t": np.round(t[::every] - t[0], 4).tolist(), "q": np.round(q[::every], 5).tolist()}


@cache
def asset(name: str, package: str = "dalembert.apps.page") -> str:
    return (resources.files(package) / "assets" / name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """The page's script: the scene, the module's runtime in a scope of its own, plots, and what ties them together."""
    runtime = asset("wasm.js", "dalembert.compile").replace("export ", "")
    own = f'"use strict";\nconst load = (() => {{\n{runtime}\nreturn load;\n}})();\n'
    return own + asset("scene.js") + asset("plots.js") + asset("page.js")
