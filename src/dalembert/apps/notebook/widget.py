"""The live view of a robot in a notebook: `anywidget` around the script of the report's scene."""

from __future__ import annotations

from functools import cache
from importlib import import_module, resources
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from dalembert.apps.page.scene import scene_of
from dalembert.draw.scene import read_posture
from dalembert.lazy import library
from dalembert.robot import Robot, need_robot

if TYPE_CHECKING:
    from anywidget import AnyWidget

RENDER = """
function render({ model, el }) {
  el.classList.add("dalembert-view");
  const [box, controls] = [0, 1].map(() => el.appendChild(document.createElement("div")));
  const canvas = box.appendChild(document.createElement("canvas"));
  canvas.tabIndex = 0;
  const moved = (q) => { model.set("q", q); model.save_changes(); };
  const view = viewRobot(box, canvas, controls, model.get("scene"), moved);
  if (!view) { el.textContent = "This browser has no WebGL."; return; }
  view.show(model.get("q"));
  model.on("change:q", () => view.show(model.get("q")));
}
export default { render };
"""
LOOK = """
.dalembert-view canvas { width: 100%; height: 380px; touch-action: none; cursor: grab }
.dalembert-view .tools { display: flex; gap: 1em; align-items: center; flex-wrap: wrap }
.dalembert-view .joint { display: inline-grid; grid-template-columns: 9em 10em 5em; gap: .5em; margin-right: 1.5em }
"""


def view(robot: Robot, q: ArrayLike | None = None) -> AnyWidget:
    """The robot in three dimensions, in Jupyter, Colab, VS Code and marimo (extra `notebook`): drag to turn, sliders
    move the joints. Its `q` follows the sliders, and moves the robot when it is set; q [rad, m] is where it starts."""
    scene = scene_of(need_robot(robot, "a view"))
    start = scene.start if q is None else read_posture(robot, q)
    return _widget()(scene=scene.data(), q=[float(x) for x in start])


@cache
def _widget() -> type[Any]:
    anywidget, traitlets = library("anywidget"), import_module("traitlets")  # the second is a part of the first
    script = (resources.files("dalembert.apps.page") / "assets" / "scene.js").read_text(encoding="utf-8")
    made: dict[str, Any] = {"scene": traitlets.Dict(), "q": traitlets.List(traitlets.Float())}
    sync = {name: trait.tag(sync=True) for name, trait in made.items()}
    return type("RobotView", (anywidget.AnyWidget,), {"_esm": script + RENDER, "_css": LOOK, **sync})
