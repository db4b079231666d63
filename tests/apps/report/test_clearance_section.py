"""The report's section on what touches, and on a plan."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from dalembert.apps.page.scene import scene_of
from dalembert.apps.report.clearance import clearance, postures
from dalembert.apps.report.context import Context, NotHereError
from dalembert.draw.scene import OBSTACLE_COLOR, TOUCHING_COLOR, obstacle_parts
from dalembert.trajectories.polynomials import minimum_jerk


@pytest.fixture(scope="module")
def arm():
    return dl.load("planar-2r")


def context_of(robot, start, goal) -> Context:
    context = Context(robot, quick=True)
    t = np.linspace(0.0, 2.0, 41)
    context.motion = t, minimum_jerk(start, goal, 2.0)(t)[0]
    return context


def test_a_plan_is_told_with_its_proof(arm):
    made = clearance(context_of(arm, [-1.0, 0.5], [1.0, 0.5]))
    text = str(made.html)
    assert made.kind == "good" and "nothing touches where it is drawn" in made.verdict
    assert "The task itself would touch: " in text and "ball in the way" in text
    assert "free, proved" in text and text.count("stroke-linejoin") >= 2  # the posture drawn, and the way around


def test_what_touches_is_red_and_said(tmp_path):
    file = tmp_path / "fold.urdf"
    ball = '<collision><geometry><sphere radius="0.15"/></geometry></collision>'
    mass = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(f'<link name="l{k}">{mass}{ball}</link>' for k in range(3))
    joints = "".join(
        f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/><axis xyz="0 0 1"/>'
        f'<origin xyz="0.2 0 0"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint>'
        for k in range(2)
    )
    file.write_text(f'<robot name="fold">{links}{joints}</robot>')
    robot = dl.load(file)
    made = clearance(context_of(robot, [0.0, 0.0], [2.5, 0.0]))
    text = str(made.html)
    assert "2 s: l0 and l2" in text and text.count("in red what may touch") >= 1
    shown = postures(scene_of(robot), [(np.array([2.5, 0.0]), None)], {-1, 1})
    assert [part.color == TOUCHING_COLOR for part in shown.parts] == [True, False, True]


def test_no_shapes_no_section():
    robot = dl.Robot.from_dh([{"a": 1.0}, {"a": 1.0}])
    with pytest.raises(NotHereError, match="has no shapes"):
        clearance(Context(robot, quick=True))


def test_every_solid_of_a_world_is_drawn_where_it_is():
    world = (
        dl.World()
        .sphere("s", 0.2, (0.1, 0.2, 0.3))
        .capsule("c", 0.1, (0, 0, 0), (0.3, 0.2, 0.1))
        .box("b", (0.2, 0.4, 0.6), (0.1, 0, 0.1), (0.3, 0.2, 0.1))
        .cylinder("y", 0.2, 0.5, (0, 0.1, 0.1), (0.4, 0.5, 0.6))
        .floor()
    )
    parts = obstacle_parts(world)
    assert len(parts) == 4 and {part.color for part in parts} == {OBSTACLE_COLOR}
    arrays = world.arrays()
    from dalembert.collision.solids import SOLIDS

    for part, kind in zip(parts, ("spheres", "capsules", "boxes", "cylinders"), strict=True):
        (row,) = getattr(arrays, kind)
        away = np.abs(np.asarray(SOLIDS[kind](row, tuple(part.solid.vertices.T))[0]))
        flat = kind == "cylinders"  # whose ends have corners in their middles
        assert (away[:-2] if flat else away).max() < 1e-9 and away.max() < 1e-9
