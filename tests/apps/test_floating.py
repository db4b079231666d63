"""Robots on free bases in the applications: those that take joints of one coordinate say so, and write nothing."""

from __future__ import annotations

import pytest

import dalembert as dl
from dalembert.interchange.world import World

ROBOTS = {kind: dl.load("panda", base=kind) for kind in ("floating", "planar")}


@pytest.mark.parametrize("kind", ROBOTS)
@pytest.mark.parametrize(
    "call",
    [
        lambda robot, path: dl.write_report(robot, path),
        lambda robot, path: dl.write_page(robot, path),
        lambda robot, path: dl.studio.Studio(robot),
        lambda robot, path: World(robot),
        lambda robot, path: dl.control.PDGravity(robot, 100.0, 20.0),
        lambda robot, path: robot.equations("none").derivation(),
        lambda robot, path: robot.bounds(),
    ],
    ids=["report", "page", "studio", "gym", "control", "derivation", "bounds"],
)
def test_what_needs_a_vector_refuses(kind, call, tmp_path):
    with pytest.raises(dl.InputError, match=f"has the {kind} joint 'root'"):
        call(ROBOTS[kind], tmp_path / "out.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ROBOTS)
def test_it_is_drawn(kind):
    assert dl.draw.robot(ROBOTS[kind]).axes
