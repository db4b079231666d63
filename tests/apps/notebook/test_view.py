"""The live view in a real browser: sliders move the robot and tell where it is; a q that is set moves both."""

from __future__ import annotations

import json
import shutil

import pytest

import dalembert as dl

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: views are not looked at")
pytest.importorskip("anywidget", reason="anywidget is not installed: views are not made")
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("browser")]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
if CHROMIUM is None:
    pytest.skip("no Chromium is installed: views are not looked at", allow_module_level=True)
MODEL = """
const data = DATA, heard = {};
render({ el: document.body, model: { get: (k) => data[k], set: (k, x) => { data[k] = x; },
  save_changes: () => { document.title = JSON.stringify(data.q); }, on: (event, f) => { heard[event] = f; } } });
window.move = (q) => { data.q = q; heard["change:q"](); };
"""


def test_sliders_and_q_go_together(tmp_path):
    view = dl.notebook.view(dl.load("planar-2r"), [0.1, 0.2])
    model = MODEL.replace("DATA", json.dumps({"scene": view.scene, "q": view.q}))
    page = tmp_path / "view.html"
    page.write_text(f'<body><script type="module">{view._esm.replace("export default { render };", model)}</script>')
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        )
        seen, troubles = browser.new_page(), []
        seen.on("pageerror", lambda error: troubles.append(str(error)))
        seen.goto(page.as_uri())
        seen.locator("input[type=range]").first.evaluate("e => { e.value = 1; e.dispatchEvent(new Event('input')); }")
        q = json.loads(seen.title())
        assert q == pytest.approx([1.0, 0.2], abs=0.01) and not troubles
        seen.evaluate("() => move([0.5, -0.5])")
        shown = [e.text_content() for e in seen.query_selector_all(".joint output")]
        assert shown == ["28.6°", "-28.6°"]
        browser.close()
