"""The studio in a real browser: it loads, is moved, dragged, simulated, and says nothing to anybody else."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable

import numpy as np
import pytest

import dalembert as dl

pytest.importorskip("viser", reason="the extra [studio] is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser is driven")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.long,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here: the studio's page is not tested"),
]
FLAGS = [
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
    "--disable-extensions",
]
SIZE = {"width": 1200, "height": 600}  # small is drawn sooner
CANVAS = "canvas[data-engine]"  # the scene's; plots have canvases too
PATIENCE = 60.0  # [s]: software draws slowly on a busy machine
# What Chromium itself says when the mouse is pressed on a canvas whose library asks for what it may not.
INTERVENTION = "Unable to preventDefault inside passive event listener"


class Watched:
    """A page, what its console said, and what it asked for."""

    def __init__(self, context, url: str) -> None:
        self.page = context.new_page()
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.on("request", lambda r: self.asked.append(r.url))
        self.page.on("websocket", lambda w: self.asked.append(w.url))
        self.page.set_default_timeout(1e3 * PATIENCE)
        self.page.goto(url)
        self.page.get_by_role("tab", name="Pose").wait_for()
        self.page.wait_for_selector(CANVAS, state="attached")

    def hit(self, role: str, name: str) -> None:
        """A click where it is; playwright's own waits for frames in which nothing moves, of which there are few."""
        box = self.page.get_by_role(role, name=name, exact=True).bounding_box()
        self.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def until(happened: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, f"not within {PATIENCE:.0f} s: {what}"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def studio():
    with dl.studio.Studio(dl.load("panda"), port=0, plain=True) as made:
        made.worker._period = 0.1  # few pictures a second: software that draws on a busy machine keeps up
        yield made


@pytest.fixture(scope="module")
def context():
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser.new_context(viewport=SIZE)
        browser.close()


@pytest.fixture(scope="module")
def page(studio, context):
    watched = Watched(context, studio.url)
    until(studio.server.get_clients, "a page connects")
    return watched


def on_screen(studio, page, point) -> np.ndarray:
    """Pixels of a point of the scene, by the page's camera."""
    camera = next(iter(studio.server.get_clients().values())).camera
    forward = np.asarray(camera.look_at) - np.asarray(camera.position)
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, np.asarray(camera.up_direction))
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    x = np.asarray(point) - np.asarray(camera.position)
    box = page.page.locator(CANVAS).bounding_box()
    scale = box["height"] / 2 / np.tan(camera.fov / 2) / (x @ forward)
    middle = np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    return middle + scale * np.array([x @ right, -(x @ up)])


def drag(page, begin, end) -> None:
    mouse = page.page.mouse
    mouse.move(*begin)
    page.page.wait_for_timeout(300)  # what is under the mouse is found out by drawing
    mouse.down()
    for part in np.linspace(0, 1, 9)[1:]:
        mouse.move(*(begin + part * (end - begin)))
        page.page.wait_for_timeout(40)


def test_it_loads(studio, page):
    words = page.page.inner_text("body")
    assert "Dalembert · panda" in words and "regular: σ_min/σ" in words and "panda_joint7 [°]" in words
    drawn = page.page.evaluate("document.querySelector('canvas[data-engine]').getContext('webgl2') !== null")
    assert drawn


def test_a_slider_moves_the_robot(studio, page):
    before = studio.q
    node = studio.scene.bodies[3]
    placed = np.array(node.position)
    thumb = page.page.get_by_role("slider").nth(1)  # the second joint
    thumb.focus()
    for _ in range(5):
        thumb.press("ArrowRight")
    until(lambda: abs(studio.q[1] - before[1]) > np.radians(0.45), "the slider's joint moves")
    q = studio.q
    assert np.allclose(np.delete(q, 1), np.delete(before, 1)) and q[1] - before[1] < np.radians(1.0)
    assert np.linalg.norm(np.array(node.position) - placed) > 1e-4


def test_dragging_the_tip_solves_inverse_kinematics(studio, page):
    studio.move([0.0, -0.4, 0.0, -2.1, 0.0, 1.8, 0.8])
    page.page.wait_for_timeout(500)
    gizmo = studio.pose.gizmo
    T = studio.robot.fk(studio.q)
    middle = on_screen(studio, page, T[:3, 3])
    axis = max(T[:3, :3].T, key=lambda a: np.linalg.norm(on_screen(studio, page, T[:3, 3] + 0.1 * a) - middle))
    length = 0.2 * studio.scene.size
    grip, aim = (on_screen(studio, page, T[:3, 3] + k * length * axis) for k in (0.75, 1.25))
    drag(page, grip, aim)
    page.page.mouse.up()
    until(lambda: np.linalg.norm(studio.robot.fk(studio.q)[:3, 3] - T[:3, 3]) > 0.02, "the tip follows its handle")
    until(lambda: not studio.pose.held, "the handle is let go")
    reached = studio.robot.fk(studio.q)
    moved = reached[:3, 3] - T[:3, 3]
    assert np.allclose(reached[:3, 3], np.array(gizmo.position), atol=1e-4)  # where it was asked to be
    assert np.allclose(reached[:3, :3], T[:3, :3], atol=1e-3)  # and not turned
    assert abs(moved @ axis) > 0.99 * np.linalg.norm(moved)


def test_load_and_ellipsoids(studio, page):
    page.hit("tab", "Load")
    for name in ("velocity", "inertia"):
        page.hit("checkbox", name)
    until(lambda: studio.load.ellipsoids.nodes["inertia"].visible, "the inertia ellipsoid is shown")
    until(lambda: "m/s" in page.page.inner_text("body"), "its half axes are told")
    mass = page.page.get_by_role("slider").first
    mass.focus()
    for _ in range(10):
        mass.press("ArrowRight")
    until(lambda: studio.payload.mass > 0, "there is a payload")
    mass.press("Home")
    until(lambda: studio.payload.mass == 0, "it is taken off again")
    for name in ("velocity", "inertia"):
        page.hit("checkbox", name)


def test_a_simulation_plays_and_is_pulled_at(studio, page):
    page.hit("tab", "Simulate")
    page.hit("button", "Start")
    until(lambda: studio.run.live is not None and studio.run.live.t > 0.3, "the simulation runs")
    studio.move([0.3, -0.2, 0.0, -1.9, 0.0, 1.9, 0.8])
    until(lambda: np.abs(studio.q - [0.3, -0.2, 0.0, -1.9, 0.0, 1.9, 0.8]).max() < 0.1, "it follows its set point")
    until(lambda: len(studio.run.torques.handle.data[0]) > 20, "the plots grow")
    places = [page.page.locator(x).first for x in (".uplot >> visible=true", CANVAS)]

    def beside() -> bool:
        plots, scene = (place.bounding_box() for place in places)
        return bool(plots and scene) and plots["x"] + plots["width"] <= scene["x"] + 1

    until(beside, "the plots stand beside the scene, not over it")
    wrist = studio.robot.fk(studio.q, "panda_link6")[:3, 3]
    begin = on_screen(studio, page, wrist)
    drag(page, begin, begin + np.array([70.0, -30.0]))
    until(lambda: studio.run.pull is not None and np.linalg.norm(studio.run.pull.force) > 1, "the rubber band pulls")
    until(lambda: np.abs(studio.run.live.qd).max() > 1e-4, "the robot gives way")
    page.page.mouse.up()
    until(lambda: studio.run.pull is None, "the rubber band is let go")
    page.hit("button", "Stop, back to posing")
    until(lambda: studio.mode is None, "back to posing")


def test_it_survives_a_reload_and_a_second_tab(studio, page, context):
    q = studio.q
    page.page.reload()
    page.page.get_by_role("tab", name="Pose").wait_for()
    other = Watched(context, studio.url)
    until(lambda: len(studio.server.get_clients()) >= 2, "two pages are open")
    assert np.array_equal(studio.q, q)
    page.hit("tab", "Pose")
    thumb = page.page.get_by_role("slider").nth(0)
    thumb.focus()
    thumb.press("ArrowLeft")
    thumb.press("ArrowLeft")
    until(lambda: studio.q[0] < q[0] - 1e-3, "the slider of the page that was loaded again")
    there = other.page.get_by_role("slider").nth(0)

    def same() -> bool:
        return abs(float(there.get_attribute("aria-valuenow")) - float(np.degrees(studio.q[0]))) < 0.11

    until(same, "the other page shows it too")
    assert not other.errors
    other.page.close()


def test_a_foreign_page_gets_no_socket(studio, context):
    stranger = context.new_page()
    answer = stranger.evaluate(
        """url => new Promise(done => {
            const line = new WebSocket(url, "viser-v1.1.1")
            line.onopen = () => done("open")
            line.onerror = () => done("refused")
        })""",
        studio.url.replace("http", "ws"),
    )
    assert answer == "refused"
    stranger.close()


def test_nothing_was_wrong_and_nothing_left_this_machine(studio, page):
    assert [text for text in page.errors if INTERVENTION not in text] == []
    ours = (studio.url, studio.url.replace("http", "ws"), "data:", "blob:")
    assert page.asked and [url for url in page.asked if not url.startswith(ours)] == []
