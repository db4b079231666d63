"""The pictures of the README and the site, made again: `make pictures`, or one: `… report`.

report, studio   screenshots of what `dalembert report panda` and `dalembert studio panda` show (needs Chromium)
studio-…         the studio in other tabs and with other robots
equations        M of the planar arm as `Equations` prints it (needs Chromium)
planning         the arm along the plan of docs/planning.md
contacts         the figure that the first block of docs/observer.md makes
whole-body       two humanoids of example-robot-data on their feet, a mobile Panda on a circle
optimal          two motions that `dalembert.optimal` found
optimal-motions  four motions of an example
speed            bars of benchmarks/results/peers.json, which benchmarks/peers.py writes
"""

from __future__ import annotations

import io
import json
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dalembert as dl

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "pictures"
COLORS = 160  # of a palette: a quarter of the bytes, and nobody sees it
WIDTH, HEIGHT = 1280, 800
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking"]


def keep(name: str, png: bytes) -> None:
    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        image.convert("RGB").quantize(COLORS, kmeans=1).save(FOLDER / f"{name}.png", optimize=True)
    print(f"docs/pictures/{name}.png: {(FOLDER / f'{name}.png').stat().st_size / 1000:.0f} kB")


@contextmanager
def page(width: int = WIDTH, height: int = HEIGHT, scale: float = 1.0) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        made = browser.new_page(viewport={"width": width, "height": height}, device_scale_factor=scale)
        made.set_default_timeout(300_000)
        yield made
        browser.close()


def report() -> None:
    with tempfile.TemporaryDirectory() as folder, page(1600, 1000, 0.75) as shown:
        file = Path(folder) / "panda.html"
        dl.write_report(dl.load("panda"), file, seconds=60)
        shown.goto(file.as_uri())
        shown.wait_for_timeout(5000)
        keep("report", shown.screenshot())


def studio(name: str = "studio", robot: str = "panda", do: Callable[[Any, Any], None] = lambda made, hit: None) -> None:
    """The studio after `do`, which is given it and a function that clicks on what has a role and a name."""
    with dl.studio.Studio(dl.load(robot), port=0) as made, page() as shown:
        shown.goto(made.url)
        shown.get_by_role("tab", name="Pose").wait_for()

        def hit(role: str, label: str) -> None:
            shown.get_by_role(role, name=label, exact=True).click(force=True)

        shown.wait_for_timeout(15_000)
        do(made, hit)
        shown.wait_for_timeout(6_000)
        shown.evaluate("document.querySelectorAll('[class*=Notification-root]').forEach((e) => e.remove())")
        keep(name, shown.screenshot())


def studio_simulate() -> None:
    def step(made: Any, hit: Any) -> None:
        hit("tab", "Simulate")
        hit("button", "Start")
        time.sleep(6)  # until the plots have their place
        made.move([0.0, -0.4, 0.0, -2.1, 0.0, 1.8, 0.8])

    studio("studio-simulate", "panda", step)


def studio_load() -> None:
    def ellipsoids(made: Any, hit: Any) -> None:
        for role, label in (("tab", "Load"), ("checkbox", "velocity"), ("checkbox", "force")):
            hit(role, label)

    studio("studio-load", "planar-2r", ellipsoids)


def studio_chain() -> None:
    studio("studio-chain", "stewart", lambda made, hit: hit("tab", "Load"))


def equations() -> None:
    from math_core import LatexToMathML

    from dalembert.symbolic.latex import aligned, matrix

    form = dl.load("planar-2r").equations().legible("M")
    rows = [[form.entries[f"M{i}{j}"] for j in "12"] for i in "12"]
    convert = LatexToMathML().convert_with_local_state
    parts = [convert(f"M(q) = {matrix(rows)}", displaystyle=True), convert(aligned(form.lumps), displaystyle=True)]
    style = "font: 28px serif; display: inline-flex; gap: 56px; align-items: center; padding: 20px 28px"
    with page(scale=1.5) as shown:
        shown.set_content(f"<div id=M style='{style}'><div>{parts[0]}</div><div>{parts[1]}</div></div>")
        keep("equations", shown.locator("#M").screenshot())


def speed() -> None:
    from dalembert.draw.pyplot import pyplot

    file = ROOT / "benchmarks" / "results" / "peers.json"
    if not file.exists():
        subprocess.run([sys.executable, str(ROOT / "benchmarks" / "peers.py")], check=True)
    measured = json.loads(file.read_text())
    figure, axes = pyplot().subplots(1, 2, figsize=(10, 2.7), sharex=True, sharey=True, layout="constrained")
    how = {
        "Pinocchio": "Pinocchio (C++ loop)",
        "MuJoCo": "MuJoCo (Python loop)",
        "CasADi": "CasADi (our formulas)",
        "JAX": "JAX (our formulas)",
    }
    titles = {"inverse_dynamics": "inverse dynamics", "forward_dynamics": "forward dynamics"}
    for ax, (name, title) in zip(axes, titles.items(), strict=True):
        times = measured["ns"][name]
        ours = times["Dalembert"]
        colors = ["#d95f02" if who == "Dalembert" else "#7f8fa6" for who in times]
        bars = ax.barh([how.get(who, who) for who in times], list(times.values()), color=colors)
        words = [f"{t:,.0f} ns" + (f"  {t / ours:.0f}×" if t != ours else "") for t in times.values()]
        ax.bar_label(bars, words, padding=4)
        ax.set(xscale="log", xlim=(10, 20 * max(times.values())), title=title, xlabel="time per state [ns]")
    axes[0].invert_yaxis()
    versions = ", ".join(f"{name} {version}" for name, version in measured["versions"].items())
    figure.suptitle(f"Franka Panda, a batch of states, one thread of a shared {machine()}; {versions}", fontsize=8)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=120)
    keep("speed", buffer.getvalue())


def contacts() -> None:
    block = (ROOT / "docs" / "observer.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    made: dict[str, Any] = {}
    exec(block, made)
    buffer = io.BytesIO()
    made["figure"].savefig(buffer, format="png", dpi=110)
    keep("contacts", buffer.getvalue())


def whole_body() -> None:
    """Talos and G1 with the forces that the ground applies to them, and the way of a mobile Panda."""
    import matplotlib.pyplot as plt
    import numpy as np

    sys.path.insert(0, str(ROOT / "tests"))
    from bipeds import HUMANOIDS, humanoid

    figure = plt.figure(figsize=(13, 5.2))
    for k, name in enumerate(HUMANOIDS):
        robot, q, system = humanoid(name)
        ax = figure.add_subplot(1, 3, k + 1, projection="3d")
        dl.draw.robot(robot, q, shapes=False, frames=False, centers=False, frame=HUMANOIDS[name][1][0], ax=ax)
        b = system.balance(q)
        for c in system.constraints:
            load, place = b.loads[c.name], robot.fk(q, c.hold.frame)[:3, 3]
            corners = place + np.array(c.corners) @ np.array(c.axes).T
            middle = corners.mean(axis=0)
            round_about = np.argsort(np.arctan2(*(corners - middle).T[:2]))
            ax.plot(*corners[[*round_about, round_about[0]]].T, "tab:blue", lw=2)
            center = place + np.array(c.axes) @ np.r_[load.center_of_pressure, c.corners[0][2]]
            ax.quiver(*center, *(load.force / (robot.mass * 9.81)), color="tab:red", lw=2)
        ax.set_title(f"{name}: forces at the centers of pressure, red (1 m = its weight)", fontsize=8)
        ax.view_init(12, 35)
    robot = dl.load("panda", base="planar")
    ready = [0, 0, 0, 0, -np.pi / 4, 0, -3 * np.pi / 4, 0, np.pi / 2, np.pi / 4]
    robot = robot.with_home(ready)
    ik, q, T0 = dl.kinematics, robot.home, robot.fk(robot.home)
    places, states = [], []
    for a in np.linspace(0, 2 * np.pi, 60):
        T = T0.copy()
        T[:3, 3] += [np.cos(a) - 1, np.sin(a), 0.1 * np.sin(2 * a)]
        q = robot.ik_tasks([ik.frame_task(robot.tip, T), ik.posture_task(robot.home, level=1)], q).q
        places.append(robot.fk(q)[:3, 3])
        states.append(q)
    ax = figure.add_subplot(1, 3, 3, projection="3d")
    dl.draw.robot(robot, np.array(states)[[0, 10, 20, 30, 40]], shapes=False, frames=False, centers=False, ax=ax)
    ax.plot(*np.array(places).T, "tab:red")
    base = np.array(states)[:, :2]
    ax.plot(base[:, 0], base[:, 1], 0 * base[:, 0], "tab:blue")
    ax.set_title("a mobile Panda: the hand's way, red, and the base's, blue", fontsize=8)
    for legend in list(figure.legends):
        legend.remove()
    figure.tight_layout()
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=110)
    keep("whole-body", data.getvalue())


def optimal() -> None:
    """The cart-pole and the Panda of docs/optimal.md, over time."""
    import matplotlib.pyplot as plt

    blocks = (ROOT / "docs" / "optimal.md").read_text(encoding="utf-8").split("```python\n")[1:5]
    made: dict[str, Any] = {}
    exec("\n".join(block.split("```")[0] for block in blocks), made)
    swing, reach = made["found"], made["best"]
    figure, axes = plt.subplots(2, 2, figsize=(9, 4.6), sharex="col", layout="constrained")
    for row, (what, unit) in enumerate((("q", "rad, m"), ("u", "N, N m"))):
        for column, (found, title) in enumerate(((swing, "cart-pole, at most 12 N"), (reach, "Panda, a reach"))):
            y = getattr(found, what)
            axes[row, column].plot(found.t[: len(y)], y, drawstyle="default" if what == "q" else "steps-post")
            axes[row, column].set_ylabel(f"{what} [{unit}]")
            axes[row, column].grid(alpha=0.3)
            if row == 0:
                axes[row, column].set_title(title)
            else:
                axes[row, column].set_xlabel("t [s]")
    axes[0, 0].legend(["x", "θ"], frameon=False)
    axes[1, 0].axhline(12.0, color="gray", lw=0.6)
    axes[1, 0].axhline(-12.0, color="gray", lw=0.6)
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=100)
    plt.close(figure)
    keep("optimal", image.getvalue())


def optimal_motions() -> None:
    """Four motions of docs/examples/07-motions-that-are-optimal.md."""
    import matplotlib.pyplot as plt
    import numpy as np

    page = (ROOT / "docs" / "examples" / "07-motions-that-are-optimal.md").read_text(encoding="utf-8")
    made: dict[str, Any] = {}
    for block in page.split("```python\n")[1:]:
        exec(block.split("```")[0], made)
    figure, axes = plt.subplots(2, 4, figsize=(13, 4.8), layout="constrained")
    curved = made["curved"]
    passed = np.r_[0.0, np.cumsum(curved.u[:, -1]) / len(curved.u)]
    for column, (title, found, times, u, limits, names) in enumerate(
        (
            ("cart-pole, ±0.6 m of track", made["pole"], None, made["pole"].u, (0.6, 12.0), ("x", "θ")),
            ("double pendulum, one motor", made["swung"], None, made["swung"].u, (None, 20.0), ("1", "2")),
            ("pick at half time, 2 kg", made["carried"], None, made["carried"].u, (None, 35.0), ("1", "2")),
            ("fastest, 60 and 25 N m", curved, passed, curved.u[:, :-1], (None, 25.0), ("1", "2")),
        )
    ):
        t = found.t if times is None else times
        q = found.x[:, :2]
        axes[0, column].plot(t, q)
        axes[1, column].step(t, np.vstack((u, u[-1:])), where="post")
        axes[0, column].set_title(title)
        axes[0, column].legend(names, frameon=False)
        axes[1, column].set_xlabel("t [s]")
        for row, limit in enumerate(limits):
            axes[row, column].grid(alpha=0.3)
            for sign in (-1, 1) if limit is not None else ():
                axes[row, column].axhline(sign * limit, color="gray", lw=0.7, ls="--")
    axes[0, 0].set_ylabel("q [rad, m]")
    axes[1, 0].set_ylabel("u [N, N m]")
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=100)
    plt.close(figure)
    keep("optimal-motions", image.getvalue())


def planning() -> None:
    """The arm along the plan of docs/planning.md."""
    import matplotlib.pyplot as plt
    import numpy as np

    block = (ROOT / "docs" / "planning.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    made: dict[str, Any] = {}
    exec(block, made)
    arm, plan, world = made["arm"], made["plan"], made["world"]
    figure = plt.figure(figsize=(8, 5.4))
    view = figure.add_subplot(projection="3d", computed_zorder=False)
    angle, height = np.mgrid[0 : 2 * np.pi : 30j, 0 : np.pi : 16j]
    ball = world.arrays().spheres[0]
    round_ = np.stack((np.sin(height) * np.cos(angle), np.sin(height) * np.sin(angle), np.cos(height)))
    view.plot_surface(*(ball[:3, None, None] + ball[3] * round_), color="#d9822b")
    row = world.arrays().boxes[0]
    corners = row[:3] + (np.array(np.meshgrid(*[[-1, 1]] * 3)).T.reshape(-1, 3) * row[12:]) @ row[3:12].reshape(3, 3).T
    for face in ([0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]):
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        view.add_collection3d(Poly3DCollection([corners[face]], color="#b9b4a6", alpha=0.55, edgecolor="#8a8578"))
    times = np.linspace(0, plan.duration, 9)
    poses = plan.trajectory.derivatives(times, 0)[0]
    links = ("base", "shoulder_link", "upper_arm_link", "forearm_link", "wrist_1_link", "wrist_2_link", "tool0")
    for k, q in enumerate(poses):
        joints = np.array([arm.fk(q, frame)[:3, 3] for frame in links])
        shade = plt.get_cmap("viridis")(0.1 + 0.8 * k / (len(poses) - 1))
        view.plot(*joints.T, "-o", color=shade, linewidth=4, markersize=5, zorder=3 + k)
    tip = arm.fk(plan.trajectory.derivatives(np.linspace(0, plan.duration, 300), 0)[0])[:, :3, 3]
    view.plot(*tip.T, "--", color="black", linewidth=1.2, zorder=20)
    view.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", xlim=(-1, 0.3), ylim=(-0.7, 0.6), zlim=(0, 1.1))
    view.set_box_aspect((1.3, 1.3, 1.1), zoom=1.12)
    view.view_init(24, -150)
    view.set_title(f"{plan.duration:.2f} s; clearance {1e3 * plan.clearance:.1f} mm, proved")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    keep("planning", buffer.getvalue())


def machine() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    MAKERS: dict[str, Callable[[], None]] = {
        "report": report,
        "planning": planning,
        "studio": studio,
        "studio-simulate": studio_simulate,
        "studio-load": studio_load,
        "studio-chain": studio_chain,
        "equations": equations,
        "contacts": contacts,
        "whole-body": whole_body,
        "optimal": optimal,
        "optimal-motions": optimal_motions,
        "speed": speed,
    }
    for name in sys.argv[1:] or MAKERS:
        MAKERS[name]()
