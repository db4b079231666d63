"""The page in a real browser, from disk and with no network: dragged, dropped, pulled, controlled, played back, shared.

Needs Chromium and playwright; says so and is skipped where they are not."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.control.registry import CONTROLLERS
from free_arm import free_arm

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pages are not looked at")
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("browser")]  # one at a time, and none waits for ever
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("no Chromium is installed: pages are not looked at", allow_module_level=True)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]
WIDE = """() => { const wide = document.documentElement.clientWidth;
  return [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > wide + 1).length; }"""
# Where the handle of the tip is on the screen; and the middle of what is seen of a link, away from it.
HANDLE = """() => { const v = dalembert.view, s = dalembert.state;
  const r = document.querySelector("#scene canvas").getBoundingClientRect();
  const [x, y] = v.project(v.tipAt(s.running ? s.aim : s.q)); return [x + r.left, y + r.top]; }"""
LINK = """() => { const v = dalembert.view, seen = [];
  const r = document.querySelector("#scene canvas").getBoundingClientRect();
  const [tx, ty] = v.project(v.tipAt(dalembert.state.aim));
  for (let y = 4; y < r.height; y += 4) for (let x = 4; x < r.width; x += 4) {
    const hit = Math.hypot(x - tx, y - ty) > 45 ? v.pick(x, y) : null;
    if (hit) seen.push([x + r.left, y + r.top, hit.body]);
  }
  const most = Math.max(...seen.map((s) => s[2])), last = seen.filter((s) => s[2] === most);
  return last[last.length >> 1]; }"""


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The page of a robot, written once."""
    folder, made = tmp_path_factory.mktemp("pages"), {}

    def page(name: str, **words) -> Path:
        key = (name, repr(words))
        if key not in made:
            made[key] = dl.write_page(dl.load(name), folder / f"{len(made)}.html", **words).path
        return made[key]

    return page


class Look:
    """A page that is open, and what the browser had to say about it. The network is off."""

    def __init__(self, browser, path: Path, link: str = "", width: int = 1280, before: str = "", **options) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        self.context.set_offline(True)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.fetched: list[str] = []
        self.page.on("console", lambda m: self.said.append(m.text))
        self.page.on("pageerror", lambda e: self.said.append(str(e)))
        self.page.on("request", lambda r: self.fetched.append(r.url))
        if before:
            self.page.add_init_script(before)
        self.page.goto(path.as_uri() + link)
        self.until("Boolean(window.dalembert)")

    def ask(self, script: str, given: object = None):
        return self.page.evaluate(script, given)

    @property
    def state(self):
        return self.ask("dalembert.state")

    def tip(self) -> np.ndarray:
        return np.array(self.ask("dalembert.view.tipAt(dalembert.state.q)"))

    def drag(self, start, dx: float, dy: float, up: bool = True) -> None:
        mouse = self.page.mouse
        mouse.move(*start)
        mouse.down()
        mouse.move(start[0] + dx, start[1] + dy, steps=4)
        if up:
            mouse.up()

    def until(self, script: str) -> None:
        """Asked again and again from here: the page's policy forbids it to evaluate text."""
        for _ in range(400):
            if self.ask(script):
                return
            self.page.wait_for_timeout(50)
        raise TimeoutError(script)

    def close(self) -> None:
        assert self.said == []
        assert [url for url in self.fetched if not url.startswith(("file:", "data:", "blob:"))] == []
        self.context.close()


@pytest.mark.parametrize("name", ["planar-2r", "panda", "five-bar", "rp"])
def test_a_run_of_a_second_is_that_of_python(browser, pages, name):
    """Every controller of the page, from the same start with the same gains, method and steps: to 1e-9."""
    robot = dl.load(name)
    tree, system = robot.tree(), dl.Constrained(robot) if robot.loops else robot
    look = Look(browser, pages(name))
    start = np.array(look.state["q"])
    aim = start if robot.loops else start + 0.1
    laws = look.ask("JSON.parse(document.getElementById('live-data').textContent).physics.laws")
    assert len(laws) >= 4
    for law in laws:
        omega, zeta = 8.0, 0.9
        settings = [omega, zeta] if law["settings"] else []
        found = look.ask(
            """([controller, settings, q, aim]) => {
              dalembert.set({ controller, settings, q }); dalembert.set({ aim, stops: 0, running: false });
              return dalembert.run(1.0, 1000).at(-1); }""",
            [law["name"], settings, start.tolist(), aim.tolist()],
        )
        words = {}
        controller = None
        if law["name"] != "none":
            controller = CONTROLLERS[law["name"]].make(tree, omega, zeta, start, robot.tip)
            words["reference"] = aim if law["follows"] == "joints" else tree.fk(aim)[:3, 3][law["rows"]]
        run = dl.simulate(system, controller, q0=start, duration=1.0, **words)
        size = 1 + np.abs(run.tau[-1]).max()
        assert found["t"] == 1.0 and np.abs(np.array(found["q"]) - run.q[-1]).max() < 1e-9, law["name"]
        assert np.abs(np.array(found["qd"]) - run.qd[-1]).max() < 1e-9, law["name"]
        assert np.abs(np.array(found["tau"]) - run.tau[-1]).max() < 1e-9 * size, law["name"]
    look.close()


@pytest.mark.parametrize("base", ["floating", "planar"])
def test_a_robot_on_a_free_base(browser, tmp_path, base):
    """Simulated as in Python on the manifold; a motion of its drives is followed; a link restores its state; the
    scene's poses are the robot's."""
    robot = free_arm(base)
    goal = [0.5, -0.4]
    path = dl.write_page(robot, tmp_path / "page.html", motion=[goal]).path
    look = Look(browser, path)
    assert look.state["gravity"] == (0 if base == "floating" else 1)
    q, v = robot.integrate(robot.home, np.linspace(-0.4, 0.5, robot.nv)), np.linspace(0.3, -0.2, robot.nv)
    T = np.reshape(look.ask("(q) => dalembert.view.forward(q)", q.tolist()), (-1, 3, 4))
    assert all(np.abs(T[k] - robot.fk(q, name)[:3]).max() < 1e-8 for k, name in enumerate(robot.bodies))
    laws = look.ask("JSON.parse(document.getElementById('live-data').textContent).physics.laws")
    assert {law["name"] for law in laws} == {"pd", "pd-gravity", "pid", "none"}
    for law in laws:
        settings = [8.0, 0.9] if law["settings"] else []
        found = look.ask(
            """([controller, settings, q, qd]) => {
              dalembert.set({ controller, settings, q }); dalembert.set({ qd, stops: 0, running: false, gravity: 1 });
              return dalembert.run(1.0, 1000).at(-1); }""",
            [law["name"], settings, q.tolist(), v.tolist()],
        )
        words, controller = {}, None
        if law["name"] != "none":
            controller = CONTROLLERS[law["name"]].make(robot, 8.0, 0.9)
            words["reference"] = q[-2:]
        run = dl.simulate(robot, controller, q0=q, qd0=v, duration=1.0, **words)
        assert np.abs(np.array(found["q"]) - run.q[-1]).max() < 1e-9, law["name"]
        assert np.abs(np.array(found["qd"]) - run.qd[-1]).max() < 1e-9, law["name"]
        assert len(found["tau"]) == 2
    again = Look(browser, path, "#" + look.ask("dalembert.link()"))
    assert np.abs(np.array(again.state["q"]) - look.state["q"]).max() < 1e-9
    again.close()
    look.ask("() => { dalembert.set({ controller: 'pd', gravity: 0, running: false }); dalembert.follow(); }")
    look.until("dalembert.state.t > 2.5")
    assert np.abs(np.array(look.state["q"])[-2:] - goal).max() < 0.05
    look.close()


def test_a_delta_falls_as_in_python(browser, pages):
    """It passes by singular poses, where a run from 1e-13 beside departs by 1e-9 to 1e-8: as much as rounding in a
    thousand steps may. The page's is no farther from Python's than that."""
    system, look = dl.Constrained(dl.load("delta")), Look(browser, pages("delta"))
    q = np.array(look.state["q"])
    found = look.ask(
        """(q) => { dalembert.set({ controller: "none", q }); dalembert.set({ stops: 0, running: false });
          return dalembert.run(1.0, 500).slice(-2); }""",
        q.tolist(),
    )
    run, *beside = (dl.simulate(system, None, q0=q + off, duration=1.0) for off in (0.0, 1e-13, -1e-13))
    middle, end = len(run.t) // 2, len(run.t) - 1
    for at, row, least in ((middle, found[0], 1e-11), (end, found[1], 1e-10)):
        for name in ("q", "qd"):
            wanted = getattr(run, name)[at]
            apart = max(float(np.abs(getattr(other, name)[at] - wanted).max()) for other in beside)
            assert run.t[at] == row["t"] and np.abs(np.array(row[name]) - wanted).max() < max(apart, least) < 1e-6
    look.close()


def test_a_motion_is_followed_as_python_follows_it(browser, pages):
    robot, q1 = dl.load("planar-2r"), [1.0, 0.4]
    look = Look(browser, pages("planar-2r", motion=[q1], controllers=["computed-torque", "pd"]))
    start = np.array(look.state["q"])
    found = look.ask("() => { dalembert.follow(); return dalembert.run(1.0, 1000).at(-1); }")
    motion = dl.trajectories.minimum_jerk(start, q1, 2.0)
    controller = CONTROLLERS["computed-torque"].make(robot, 10.0, 1.0, start, robot.tip)
    run = dl.simulate(robot, controller, q0=start, reference=motion, duration=1.0)
    assert np.abs(np.array(found["q"]) - run.q[-1]).max() < 1e-9
    look.until("dalembert.state.t > 2.2")
    assert np.array(look.state["q"]) == pytest.approx(q1, abs=1e-3)
    look.close()


@pytest.mark.parametrize("name", ["panda", "planar-2r", "five-bar"])
def test_the_tip_is_dragged_and_followed(browser, pages, name):
    look = Look(browser, pages(name))
    before, handle = look.tip(), look.ask(HANDLE)
    look.drag(handle, 30, -25)
    assert look.ask(HANDLE) == pytest.approx([handle[0] + 30, handle[1] - 25], abs=1.0)
    look.until("(() => { const s = dalembert.state; return s.q.every((x, k) => Math.abs(x - s.aim[k]) < 1e-3); })()")
    assert np.linalg.norm(look.tip() - before) > 0.01
    look.page.locator("#run").click()  # paused, the robot itself goes along
    handle = look.ask(HANDLE)
    look.drag(handle, -20, 15)
    x, y = look.ask(HANDLE)
    assert (x, y) == pytest.approx((handle[0] - 20, handle[1] + 15), abs=1.0) and look.state["running"] is False
    if name == "five-bar":
        assert np.abs(dl.Constrained(dl.load(name)).residual(look.state["q"])).max() < 1e-6
    look.close()


@pytest.mark.parametrize("name", ["panda", "five-bar"])
def test_links_are_pulled_and_spring_back(browser, pages, name):
    look = Look(browser, pages(name))
    start, link = np.array(look.state["q"]), look.ask(LINK)
    look.drag(link[:2], 60, 40, up=False)
    look.page.wait_for_timeout(400)
    assert look.state["pull"]["body"] == link[2] and re.search(
        r"pull \d+\.\d N", look.page.locator("#tip").inner_text()
    )
    pulled = np.array(look.state["q"])
    assert np.abs(pulled - start).max() > 0.01
    look.page.mouse.up()
    assert look.state["pull"] is None
    look.until("(() => { const s = dalembert.state; return s.q.every((x, k) => Math.abs(x - s.aim[k]) < 1e-3); })()")
    look.close()


def test_it_is_dropped_and_keeps_its_energy(browser, pages):
    look = Look(browser, pages("planar-2r"))
    look.page.locator("#drop").click()
    look.until("dalembert.state.t > 1")
    state = look.state
    assert state["controller"] == "none" == look.page.locator("#controller").input_value()
    assert np.abs(state["tau"]).max() == 0.0 and np.abs(state["qd"]).max() > 0.5
    first = look.ask("(() => { dalembert.set({ q: [0.3, 1.4] }); return dalembert.run(0.001)[0]; })()")
    last = look.ask("dalembert.run(1.0).at(-1)")
    assert last["kinetic"] + last["potential"] == pytest.approx(first["kinetic"] + first["potential"], abs=1e-6)
    look.close()


def test_controllers_gains_and_the_world_are_chosen(browser, pages):
    look = Look(browser, pages("panda"))
    look.page.locator("#controller").select_option("pd")
    assert "K_d" in look.page.locator(".formula-line").inner_text()
    look.page.locator("#setting-omega").fill("20")
    look.page.locator("#setting-zeta").fill("0.5")
    assert look.state["settings"]["pd"] == [20, 0.5] and "20.00 rad/s" in look.page.locator("#control").inner_text()
    for name, value in (("payload", 3.0), ("gravity", 0.5), ("friction", 2.0)):
        look.page.locator(f"#{name}").fill(str(value))
        assert look.state[name] == pytest.approx(value, abs=0.05)
    look.page.locator("#stops").uncheck()
    assert look.state["stops"] == 0 and "4.91 m/s²" in look.page.locator("#world").inner_text()
    look.page.locator("#controller").focus()  # and by keys alone
    look.page.keyboard.press("Tab")
    look.page.keyboard.press("ArrowRight")
    assert look.state["settings"]["pd"] == [20.5, 0.5]
    look.page.locator("#controller").select_option("feedforward")
    assert look.page.locator("#control input").count() == 0
    look.close()


def test_gains_that_are_too_high_are_told(browser, pages):
    look = Look(browser, pages("panda"))
    look.ask("dalembert.set({ controller: 'pd', settings: [4000, 1] })")
    look.ask("dalembert.set({ running: true, aim: dalembert.state.q.map((x) => x + 0.1) })")
    look.page.locator("#message").wait_for()
    assert "too stiff for steps of 1 ms" in look.page.locator("#message").inner_text()
    assert look.state["running"] is False and np.isfinite(look.state["q"]).all()
    look.page.locator("#again").click()  # gains that hold, and it says so
    assert re.search(r"Turned down for steps of 1 ms: ω to \d+ rad/s", look.page.locator("#message").inner_text())
    assert look.state["settings"]["pd"][0] < 4000 and look.state["running"] is True
    look.close()


def test_a_link_restores_everything(browser, pages):
    look = Look(browser, pages("panda"))
    look.ask("dalembert.set({ controller: 'computed-torque', settings: [12.5, 0.7] })")
    look.ask("dalembert.set({ payload: 1.5, gravity: 0.3, friction: 0.4, running: false })")
    look.ask("dalembert.run(0.05)")
    look.ask("dalembert.set({ qd: [0.1, -0.2, 0.3, 0, 0, 0, 0.5], stops: 0, running: false })")
    look.page.locator("#scene canvas").focus()
    look.page.keyboard.press("ArrowLeft")
    look.page.keyboard.press("+")
    look.until("location.hash.length > 1 && location.hash.slice(1) === dalembert.link()")
    before, link = look.state, look.ask("location.hash")
    look.page.reload()
    look.until("Boolean(window.dalembert)")
    other = Look(browser, pages("panda"), link)
    for again in (look, other):
        state = again.state
        for name in ("q", "qd", "aim", "payload", "gravity", "friction", "stops"):
            assert state[name] == pytest.approx(before[name], rel=1e-11), name
        assert state["controller"] == "computed-torque" and state["settings"]["computed-torque"] == [12.5, 0.7]
        assert again.ask("dalembert.link()") == link[1:] and state["running"] is False
        again.close()
    broken = Look(browser, pages("panda"), "#q=1,2,x&c=nothing&w=&view=1")
    assert broken.state["controller"] == "pd-gravity" and len(broken.state["q"]) == 7
    broken.close()
    wild = "#c=computed-torque&g=1e9,-3&w=-5,1e9,-7,42&view=1,1,1,1,1,1,1,1,1,1e9,0,0,0&q=0,0,0,-1e300,0,0,0&run=0"
    made = Look(browser, pages("panda"), wild)
    state = made.state
    assert (state["payload"], state["friction"], state["gravity"], state["stops"]) == (0, 10, 0, 1)
    omega, zeta = state["settings"]["computed-torque"]
    assert 0 < omega < 1e3 and 0 < zeta < 1 and abs(state["q"][3]) <= 1e6
    assert made.ask("dalembert.link()").count("view=1,1,1") == 0
    made.close()


def test_a_link_holds_the_states_of_a_controller(browser, pages):
    look = Look(browser, pages("planar-2r"))
    look.ask("dalembert.set({ controller: 'pid', payload: 0.5, running: false })")
    look.ask("dalembert.run(0.5)")
    z, link = look.state["z"], look.ask("'#' + dalembert.link()")
    other = Look(browser, pages("planar-2r"), link)
    assert np.abs(z).max() > 1e-3 and other.state["z"] == pytest.approx(z, rel=1e-11)
    look.close()
    other.close()


@pytest.mark.parametrize("name", ["five-bar", "delta"])
def test_a_closed_chain_dragged_out_of_reach_stays_whole(browser, pages, name):
    look, residual = Look(browser, pages(name)), dl.Constrained(dl.load(name)).residual
    handle, before = look.ask(HANDLE), np.array(look.state["aim"])
    look.page.mouse.move(*handle)
    look.page.mouse.down()
    for k in range(1, 16):
        look.page.mouse.move(handle[0] + 20 * k, handle[1] - 12 * k)
        aim = np.array(look.state["aim"])
        assert np.abs(residual(aim)).max() < 1e-9 and np.abs(aim - before).max() < 1.5
        before = aim
    look.page.mouse.up()
    look.close()


def test_logs_are_dropped_on_it_and_played(browser, pages, tmp_path):
    look = Look(browser, pages("planar-2r"))
    t = np.linspace(0, 0.6, 31)
    q = np.stack([np.sin(t), t], -1)
    text = "time,joint1,joint2\n" + "\n".join(f"{a},{b},{c}" for a, (b, c) in zip(t, q, strict=True))
    look.ask("(text) => { dalembert.readLog('run.csv', text); }", text)
    assert "run.csv: 31 rows" in look.page.locator("#message").inner_text()
    look.until("!dalembert.state.playing")
    assert look.state["q"] == pytest.approx(q[-1]) and look.state["running"] is False
    look.page.locator("#time").fill("0.3")
    assert look.state["q"] == pytest.approx(q[15], abs=1e-6)
    (tmp_path / "bad.csv").write_text("time,joint1\n0,1\n1,x\n")
    look.page.locator("#log").set_input_files(tmp_path / "bad.csv")
    look.page.get_by_text("bad.csv is no log of this robot").wait_for()
    for head in (
        "time [s], q1 [rad], q2 [rad]\n0, 0.1, 0.2\n1, 0.3, 0.4",
        '"t","joint2","joint1"\n0,0.2,0.1\n1,0.4,0.3',
    ):
        look.ask("(text) => { dalembert.readLog('x', text); dalembert.set({ running: false }); }", head)
        look.page.locator("#time").fill("0.5")
        assert look.state["q"] == pytest.approx([0.2, 0.3], abs=1e-9)
    look.ask("(text) => dalembert.readLog('x', text)", "t,q1 [deg],q2 [deg]\n0,90,180\n1,90,180")
    look.page.locator("#time").fill("0.5")
    assert look.state["q"] == pytest.approx([np.pi / 2, np.pi])
    (tmp_path / "good.csv").write_text("0;0.1;0.2\n1;0.3;0.4\n")
    look.page.locator("#log").set_input_files(tmp_path / "good.csv")
    look.page.get_by_text("good.csv: 2 rows").wait_for()
    look.close()


def test_the_ellipsoid_and_marks_are_shown(browser, pages):
    look = Look(browser, pages("panda"))
    look.page.locator("#show-ellipsoid").check()
    look.until("document.getElementById('tip').textContent.includes('manipulability')")
    mu = float(re.search(r"manipulability ([\d.]+)", look.page.locator("#tip").inner_text())[1])
    assert mu == pytest.approx(float(dl.load("panda").manipulability(look.state["q"], rows="position")), rel=0.01)
    look.close()


def test_on_a_phone_fingers_turn_zoom_and_drag(browser, pages):
    look = Look(browser, pages("panda"), width=375, has_touch=True, is_mobile=True)
    assert look.ask(WIDE) == 0
    send = look.context.new_cdp_session(look.page).send

    def touch(kind: str, *points) -> None:
        send(
            "Input.dispatchTouchEvent",
            {"type": kind, "touchPoints": [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(points)]},
        )

    handle = look.ask(HANDLE)
    touch("touchStart", handle)
    touch("touchMove", (handle[0] + 20, handle[1] + 10))
    touch("touchEnd")
    assert look.ask(HANDLE) == pytest.approx([handle[0] + 20, handle[1] + 10], abs=1.0)
    box = look.page.locator("#scene canvas").bounding_box()
    x, y = box["x"] + 25, box["y"] + 25
    view = look.ask("[...dalembert.view.state.V]")
    touch("touchStart", (x, y))
    touch("touchMove", (x + 40, y))
    touch("touchEnd")
    assert look.ask("[...dalembert.view.state.V]") != view
    zoom = look.ask("dalembert.view.state.zoom")
    touch("touchStart", (x, y), (x + 50, y))
    touch("touchMove", (x, y), (x + 100, y))
    touch("touchEnd")
    assert look.ask("dalembert.view.state.zoom") > 1.5 * zoom
    look.close()


@pytest.mark.parametrize("width", [1280, 700, 375])
def test_nothing_overflows_light_or_dark_embedded_or_not(browser, pages, width):
    for path, scheme in ((pages("panda"), "dark"), (pages("planar-1r", embed=True), "light")):
        look = Look(browser, path, width=width, color_scheme=scheme)
        assert look.ask(WIDE) == 0
        look.close()
    look = Look(browser, pages("panda"), "?embed&panels=plots", width=width)
    assert look.page.locator("#plots figure").count() == 3 and look.page.locator("#side section").count() == 0
    look.close()


def test_who_wants_less_motion_starts_it_himself(browser, pages):
    look = Look(browser, pages("planar-2r"), reduced_motion="reduce")
    assert look.state["running"] is False
    look.page.locator("#run").click()
    look.until("dalembert.state.t > 0.1")
    look.close()


def test_without_webassembly_sliders_still_move_it(browser, pages):
    look = Look(browser, pages("planar-2r"), before="delete window.WebAssembly")
    assert "no WebAssembly: sliders move the joints" in look.page.locator("#message").inner_text()
    before = look.page.locator("#tip").inner_text()
    look.page.locator("#joint-0").fill("0.7")
    look.until(f"document.getElementById('tip').textContent !== {before!r}")
    q, words = look.state["q"], look.page.locator("#tip").inner_text().replace("−", "-")
    shown = np.array(re.findall(r"-?\d+\.\d+", words), float)
    assert q[0] == pytest.approx(0.7, abs=0.01)
    assert shown == pytest.approx(dl.load("planar-2r").fk(q)[:3, 3], abs=6e-5)
    assert not look.page.locator("#run").is_visible() and look.page.locator("#stage > .aside").count() == 0
    look.close()


def test_without_scripts_there_is_a_picture(browser, pages):
    page = browser.new_page(java_script_enabled=False)
    page.goto(pages("planar-2r").as_uri())
    assert page.locator("#scene .still svg").is_visible() and not page.locator("#scene canvas").is_visible()
    assert not page.locator("#tools").is_visible() and not page.locator("#stage > .aside").is_visible()
    page.close()
