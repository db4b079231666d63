"""The page in a real browser: nothing overflows or overlaps, nothing is fetched, the scene turns and moves.

Needs Chromium and playwright; says so and is skipped where they are not."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.apps.report import NAMES, write_report

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pages are not looked at")
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("browser")]  # one at a time, and none waits for ever
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("no Chromium is installed: pages are not looked at", allow_module_level=True)
SOFTWARE = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
ARGUMENTS = ["--no-sandbox", "--disable-background-networking", *SOFTWARE]

# What is wider than the page, or than the box that it may scroll in; words outside their picture or upon other words.
TROUBLES = """() => {
  const out = [], wide = document.documentElement.clientWidth, scrolls = ".wide, .formula, pre, figure, p";
  if (document.documentElement.scrollWidth > wide + 1) out.push("the page is " + document.documentElement.scrollWidth);
  for (const e of document.querySelectorAll("main *, nav *")) {
    const r = e.getBoundingClientRect();
    if (r.width && !e.closest(scrolls) && r.right > wide + 1) {
      out.push("beyond the page: " + e.tagName + " " + e.textContent.slice(0, 40));
    }
  }
  if (wide > 1000) for (const e of document.querySelectorAll(scrolls)) {
    if (e.scrollWidth > e.clientWidth + 1) out.push("too wide: " + e.className + " " + e.textContent.slice(0, 40));
  }
  for (const svg of document.querySelectorAll("main svg")) {
    const box = svg.getBoundingClientRect();
    if (!box.width) continue;
    const texts = [...svg.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]);
    texts.forEach(([words, r], i) => {
      const across = r.left >= box.left - 1 && r.right <= box.right + 1;
      if (!across || r.top < box.top - 1 || r.bottom > box.bottom + 1) out.push("outside: " + words);
      for (const [other, o] of texts.slice(0, i)) {
        const x = Math.min(r.right, o.right) - Math.max(r.left, o.left);
        const y = Math.min(r.bottom, o.bottom) - Math.max(r.top, o.top);
        if (x > 1.5 && y > 3) out.push("upon each other: " + words + " / " + other);
      }
    });
  }
  return out;
}"""


# Every slider to a part of its range; what they are at then.
MOVED = """(parts) => [...document.querySelectorAll("#joints input[type=range]")].map((e, k) => {
  e.value = Number(e.min) + parts[k] * (Number(e.max) - Number(e.min));
  e.dispatchEvent(new Event("input"));
  return Number(e.value);
})"""


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The quick report of a robot, written once."""
    folder, made = tmp_path_factory.mktemp("pages"), {}

    def page(name: str) -> Path:
        if name not in made:
            some = [n for n in NAMES if n != "bounds" or name == "planar-2r"]  # one table of bounds is like another
            made[name] = write_report(dl.load(name), folder / f"{name}.html", quick=True, sections=some).path
        return made[name]

    return page


class Look:
    """A page that is open, and what the browser had to say about it."""

    def __init__(self, browser, path: Path, width: int = 1280, **options) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 900}, **options)
        self.said: list[str] = []
        self.fetched: list[str] = []
        self.page.on("console", lambda m: self.said.append(m.text))
        self.page.on("pageerror", lambda e: self.said.append(str(e)))
        self.page.on("request", lambda r: self.fetched.append(r.url))
        self.page.goto(path.as_uri())
        self.settle()

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def pixels(self) -> np.ndarray:
        image = pytest.importorskip("PIL.Image", reason="Pillow is not installed: pixels are not counted")
        shot = self.page.locator("#scene").screenshot()
        return np.asarray(image.open(io.BytesIO(shot)).convert("RGB")).astype(int)[8:-8, 8:-8]  # without the focus ring

    def tip(self) -> np.ndarray:
        words = self.page.locator("#tip").inner_text().replace("−", "-")
        return np.array(re.findall(r"-?\d+\.\d+", words), float)


# A page must hold in other faces than this machine's: in wider ones too.
WIDER = "math { font-size: 1.15em !important } table { letter-spacing: .06em }"
A4 = 688  # px between the margins


@pytest.mark.parametrize("name", ["planar-2r", "scara", "puma560", "panda", "stanford"])
@pytest.mark.parametrize("style", ["math {}", WIDER], ids=["own face", "wider face"])
def test_nothing_overflows_overlaps_or_is_fetched(browser, pages, name, style):
    look = Look(browser, pages(name))
    look.page.add_style_tag(content=style)
    look.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    for width, media in ((1280, "screen"), (400, "screen"), (A4, "print")):
        look.page.set_viewport_size({"width": width, "height": 900})
        look.page.emulate_media(media=media)
        look.settle()
        assert look.page.evaluate(TROUBLES) == [], (width, media)
    assert look.said == [] and [u for u in look.fetched if not u.startswith(("file:", "data:"))] == []
    look.page.close()


def test_what_scrolls_is_seen_to_go_on(browser, pages):
    """A shadow lies on the edge beyond which a table goes on, and on no other: scroll bars may be hidden."""
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed: pixels are not counted")
    look = Look(browser, pages("panda"), width=400)
    table = look.page.locator("#robot .wide").last
    for scrolled, dark in ((0, (False, True)), (1e4, (True, False))):
        table.evaluate(f"(e) => {{ e.scrollLeft = {scrolled}; }}")
        look.settle()
        shot = np.asarray(image.open(io.BytesIO(table.screenshot())).convert("L")).astype(int)
        assert (np.median(shot[:, 3]) < 250, np.median(shot[:, -4]) < 250) == dark
    look.page.close()


def test_the_scene_is_drawn_and_turns_under_the_mouse(browser, pages):
    look = Look(browser, pages("planar-2r"))
    first = look.pixels()
    background = first[20, 20]
    assert 0.005 < (np.abs(first - background).sum(-1) > 30).mean() < 0.5
    box = look.page.locator("#scene canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    look.page.mouse.move(x, y)
    look.page.mouse.down()
    look.page.mouse.move(x + 120, y + 30, steps=4)
    look.page.mouse.up()
    look.settle()
    turned = look.pixels()
    assert (np.abs(turned - first).sum(-1) > 30).mean() > 0.005
    look.page.keyboard.press("0")
    look.settle()
    assert (np.abs(look.pixels() - first).sum(-1) > 30).mean() < 0.001
    for key in ("ArrowLeft", "ArrowUp", "+"):
        look.page.keyboard.press(key)
    look.settle()
    assert (np.abs(look.pixels() - first).sum(-1) > 30).mean() > 0.003
    assert look.said == []
    look.page.close()


def test_sliders_move_the_arm_as_its_kinematics_say(browser, pages):
    robot = dl.load("panda")
    look = Look(browser, pages("panda"))
    before = look.pixels()
    rng = np.random.default_rng(0)
    for _ in range(3):
        values = look.page.evaluate(MOVED, rng.random(robot.n).tolist())
        assert len(values) == robot.n
        look.settle()
        assert np.allclose(look.tip(), robot.fk(values)[:3, 3], atol=6e-5)  # four decimals are shown
    assert (np.abs(look.pixels() - before).sum(-1) > 30).mean() > 0.005
    look.page.locator("#again").click()
    look.settle()
    assert (np.abs(look.pixels() - before).sum(-1) > 30).mean() < 0.001
    look.page.close()


def test_frames_masses_and_the_task_are_shown(browser, pages):
    look = Look(browser, pages("planar-2r"))
    before = look.pixels()
    for box in ("#show-frames", "#show-centers"):
        look.page.locator(box).check()
        look.settle()
        after = look.pixels()
        assert (np.abs(after - before).sum(-1) > 30).sum() > 50
        before = after
    start = look.tip()
    # What the button says next, whenever the page draws it: asked from here it may be too early or too late.
    next_text = """button => new Promise(say => {
        new MutationObserver(() => say(button.textContent)).observe(button, { childList: true });
        button.click();
    })"""
    assert look.page.locator("#play").evaluate(next_text) == "Stop"
    look.page.get_by_text("Play", exact=True).wait_for(timeout=30_000)
    look.settle()
    end = look.page.evaluate("JSON.parse(document.getElementById('live-data').textContent).log.q.at(-1)")
    assert np.linalg.norm(look.tip() - start) > 0.1
    assert np.allclose(look.tip(), dl.load("planar-2r").fk(end)[:3, 3], atol=6e-5) and look.said == []
    look.page.close()


def test_without_scripts_and_on_paper_there_is_a_picture(browser, pages):
    page = browser.new_page(java_script_enabled=False)
    page.goto(pages("planar-2r").as_uri())
    assert page.locator("#scene .still svg").is_visible() and not page.locator("#scene canvas").is_visible()
    page.close()
    look = Look(browser, pages("planar-2r"))
    assert look.page.locator("#scene canvas").is_visible()
    look.page.emulate_media(media="print")
    assert look.page.locator("#scene .still svg").is_visible()
    assert not look.page.locator("#scene canvas").is_visible() and not look.page.locator("#tools").is_visible()
    assert len(look.page.pdf(format="A4")) > 10_000
    look.page.close()


def test_light_and_dark(browser, pages):
    papers = {}
    for scheme in ("light", "dark"):
        look = Look(browser, pages("planar-2r"), color_scheme=scheme)
        papers[scheme] = look.page.evaluate("getComputedStyle(document.querySelector('section')).backgroundColor")
        look.page.locator("#theme").click()
        papers[f"{scheme}, clicked"] = look.page.evaluate(
            "getComputedStyle(document.querySelector('section')).backgroundColor"
        )
        look.page.close()
    assert papers["light"] == papers["dark, clicked"] != papers["dark"] == papers["light, clicked"]


def test_names_do_not_run(browser, tmp_path):
    from test_report import dangerous

    path = write_report(dangerous(), tmp_path / "x.html", quick=True, sections=["robot", "frames", "task"]).path
    look = Look(browser, path)
    dialogs = []
    look.page.on("dialog", lambda d: (dialogs.append(d.message), d.dismiss()))
    look.page.wait_for_timeout(300)
    assert dialogs == [] and look.said == []
    assert [u for u in look.fetched if not u.startswith(("file:", "data:"))] == []
    assert look.page.locator("#joints input[type=range]").count() == 2
    look.page.close()
