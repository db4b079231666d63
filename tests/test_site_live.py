"""Robots that a reader moves on the site: every block that embeds one is written, and works in a browser."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest

import dalembert as dl
from dalembert.apps import page

DOCS = Path(__file__).parent.parent / "docs"
LIVE = re.compile(r"^```\{live\} ([^\n]+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"^:(\w+):(.*)$", re.MULTILINE)
BLOCKS = [
    pytest.param(robot, body, id=f"{path.relative_to(DOCS).with_suffix('').as_posix()}-{robot}-{k}")
    for path in sorted(DOCS.rglob("*.md"))
    for k, (robot, body) in enumerate(LIVE.findall(path.read_text(encoding="utf-8")))
]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def live():
    """The site's own extension, as Sphinx imports it."""
    sys.path.insert(0, str(DOCS / "_ext"))
    from dalembert_site import live

    yield live
    sys.path.remove(str(DOCS / "_ext"))


def options_of(live, body: str) -> dict:
    given = {name: text.strip() for name, text in OPTION.findall(body)}
    assert set(given) <= set(live.Live.option_spec), given
    return live.read_options({name: live.OPTIONS[name](text) for name, text in given.items() if name in live.OPTIONS})


def test_a_dozen_places_have_one() -> None:
    pages = {block.id.split("-")[0] for block in BLOCKS}
    assert len(BLOCKS) >= 12
    assert {"control", "theory/control", "theory/servo", "closed_chains", "motion", "theory/lagrange"} <= pages


@pytest.mark.parametrize("robot,body", BLOCKS)
def test_what_a_block_asks_for_is_there(live, robot: str, body: str) -> None:
    options = options_of(live, body)
    arm = dl.load(robot)
    assert set(options.get("panels", ())) <= set(page.PANELS)
    assert set(options.get("controllers", ())) <= {"none", *dl.control.registry.offered()}
    assert len(options.get("q", arm.home)) == arm.n
    assert all(len(row) == arm.n for row in options.get("motion", ()))
    assert body.split("\n\n", 1)[1].strip(), "say what to try"


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser is driven")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed: pages are not looked at")
    with playwright.sync_playwright() as p:
        arguments = ["--no-sandbox", "--disable-background-networking", "--use-angle=swiftshader"]
        found = p.chromium.launch(executable_path=CHROMIUM, args=[*arguments, "--enable-unsafe-swiftshader"])
        yield found
        found.close()


@pytest.mark.long
@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("robot,body", BLOCKS)
def test_a_block_works(live, browser, tmp_path: Path, robot: str, body: str) -> None:
    live.write(robot, options_of(live, body), tmp_path / "page.html")
    tab = browser.new_page(viewport={"width": 760, "height": 460})
    troubles: list[str] = []
    tab.on("console", lambda message: troubles.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.goto((tmp_path / "page.html").as_uri())
    tab.evaluate("async () => { while (!window.dalembert) await new Promise((done) => setTimeout(done, 20)); }")
    before = tab.evaluate("dalembert.state.q")
    after = tab.evaluate("(dalembert.run(0.3), dalembert.state.q)")
    assert all(abs(x) < 1e3 for x in after) and len(after) == len(before)
    assert tab.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth + 1")
    tab.close()
    assert not troubles
