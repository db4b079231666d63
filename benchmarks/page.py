"""The live page in Chromium: size of the file, seconds to write it, milliseconds of script and physics a frame.

    python benchmarks/page.py [ROBOT …]

A frame's cost is what the page spends in its own script while the robot falls: steps of the loop, kinematics, drawing
calls, plots. Physics is the loop alone, 17 steps of 1 ms. Wanted: 8 ms and 1 MB for the Panda."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import dalembert as dl

FRAMES = 240
PHYSICS = """() => { dalembert.set({ running: false }); const begun = performance.now();
  for (let k = 0; k < 500; k++) dalembert.run(0.017, 17);
  return (performance.now() - begun) / 500; }"""
SWING = """() => { dalembert.costs.length = 0; dalembert.set({ controller: "none", running: true }); }"""


def main(names: list[str]) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    print(f"{'robot':12} {'KiB':>6} {'write s':>8} {'physics ms':>11} {'frame ms':>9} {'95 %':>6}")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name in names:
            page = dl.write_page(dl.load(name), Path(folder) / f"{name}.html")
            tab = browser.new_page(viewport={"width": 1280, "height": 900})
            tab.goto(page.path.as_uri())
            tab.wait_for_timeout(1000)
            physics = tab.evaluate(PHYSICS)
            tab.evaluate(SWING)
            while tab.evaluate("dalembert.state.running") and tab.evaluate("dalembert.costs.length") < FRAMES:
                tab.wait_for_timeout(200)
            costs = np.array(tab.evaluate("dalembert.costs"))
            frame = f"{costs.mean():9.2f} {np.percentile(costs, 95):6.2f}"
            print(f"{name:12} {page.size / 1024:6.0f} {page.seconds:8.1f} {physics:11.3f} {frame}")
            tab.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:] or ["planar-1r", "planar-2r", "five-bar", "ur5e", "panda"])
