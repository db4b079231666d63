"""What notebooks show: every result has a picture or a table of its own, with its numbers; none of it is code."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import dalembert as dl
from dalembert.exercises.exercise import find
from dalembert.exercises.grading import grade
from dalembert.identification.log.samples import Log


@pytest.fixture(scope="module")
def arm():
    return dl.load("planar-2r")


def pieces(shown: str) -> ElementTree.Element:
    """The piece of a page as a tree: one that is cut off or not escaped cannot be read."""
    return ElementTree.fromstring(re.sub(r"<(br|hr|img|input)([^>]*)>", r"<\1\2/>", shown))


def words(shown: str) -> str:
    return " ".join(pieces(shown).itertext())


def test_a_robot_is_seen_and_its_joints_are_listed(arm):
    shown = arm._repr_html_()
    assert "<svg" in shown and "joint1" in words(shown) and "no limits" in words(shown)


def test_a_dh_table_has_its_four_numbers():
    shown = words(dl.load("scara").to_dh()._repr_html_())
    assert all(word in shown for word in ("θ [°]", "α [°]", "prismatic", "180"))


def test_a_run_is_drawn(arm):
    law = dl.control.PDGravity(arm, kp=100, kd=20)
    run = dl.simulate(arm, law, q0=arm.home, duration=0.1, reference=arm.home + 0.1)
    shown = run._repr_html_()
    assert shown.count("<svg") == 4 and "finished" in words(shown) and "q [rad]" in words(shown)
    assert words(law.conditions()._repr_html_()).count("holds") >= 2


def test_a_log_is_drawn_with_what_was_done_to_it(arm):
    t = np.linspace(0, 1, 50)
    log = Log(t, np.sin(t)[:, None] * [1, 2], np.cos(t)[:, None] * [3, 4], arm.joint_names, None, "mine.csv", ("cut",))
    shown = log._repr_html_()
    assert shown.count("<svg") == 2 and "50 samples" in words(shown) and "cut" in words(shown)


def test_inverse_kinematics_is_a_table():
    arm = dl.load("ur5e")
    T = arm.fk([0.1, -1.0, 1.0, 0.2, 0.3, 0.1])
    assert "1 of 1 poses reached" in words(arm.ik(T)._repr_html_())
    assert words(arm.ik_all(T)._repr_html_()).count("0.1") >= 1 and "8 solutions" in words(arm.ik_all(T)._repr_html_())


def test_findings_are_a_table_and_names_are_no_markup(tmp_path, arm):
    odd = replace(arm.description, name="<script>alert(1)</script>")
    shown = dl.Robot(odd)._repr_html_()
    assert "<script>" not in shown and "alert(1)" in words(shown)
    found = dl.Findings("a.urdf", (dl.Finding("D1", "warning", "<b>heavy</b>", "lighter"),))
    assert "<b>heavy" not in found._repr_html_() and "lighter" in words(found._repr_html_())


def test_controllers_compared_are_a_table(arm):
    from dalembert.control.comparison import compare

    shown = compare({"pd": dl.control.PD(arm, kp=50, kd=10)}, arm, arm.home, duration=0.2)._repr_html_()
    assert "RMS error" in words(shown) and "pd" in words(shown)


def test_a_view_has_the_robot_and_where_it_is(arm):
    pytest.importorskip("anywidget", reason="anywidget is not installed: views are not made")
    view = dl.notebook.view(arm, [0.1, 0.2])
    assert view.q == [0.1, 0.2] and len(view.scene["bodies"]) == 2
    with pytest.raises(dl.InputError, match="q"):
        dl.notebook.view(arm, [0.1])


def test_what_a_student_sees_of_formulas_and_exercises(arm):
    e = arm.equations()
    assert "M12 is right." in words(e.compare("M12", "I2 + m2 (r2^2 + l1 r2 c2)")._repr_html_())
    assert "Likely slip" in words(e.compare("M12", "I2 + m2 (r2^2 + l1 r2 s2)")._repr_html_())
    checked = words(e.derivation().check("M22 = I2 + m2 r2^2\nM12 = I2 + <b>")._repr_html_())
    assert "right" in checked and "<b>" in checked and "1 could not be read" in checked
    exercise = find("damping").variant(3)
    shown = exercise._repr_html_()
    assert (
        "<math" in shown
        and exercise.title in words(shown)
        and "omega" in words(shown)
        and "underdamped" in words(shown)
    )
    assert not any(step in shown for step in exercise.solution), "the solution is not given away"
    marks = words(grade(exercise, {"omega": "<script>", "<i>": "1"})._repr_html_())
    assert f"0 of {exercise.points} points" in marks and "There is no answer." in marks
