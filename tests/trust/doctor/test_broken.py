"""One defect at a time: each is found by its rule, on its line; the unbroken arm is clean; what is repaired is gone."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from broken import DEFECTS, GOOD, SHOULDER, Defect, write

import dalembert as dl
from dalembert.trust.doctor import RULES, repair

FIXABLE = {name: defect for name, defect in DEFECTS.items() if defect.fixable}


def rules(up: dl.Findings) -> set[str]:
    return {f.rule for f in up.rows}


def test_the_corpus_is_large_and_covers_the_table():
    assert len(DEFECTS) >= 45
    # Those of test_doctor.py.
    elsewhere = {"D000", "D001", "D002", "D207", "D208", "D212", "D214", "D215", "D216", "D217", "D226"}
    assert {d.rule for d in DEFECTS.values()} == set(RULES) - elsewhere


def test_the_unbroken_arm_is_clean(tmp_path):
    up = dl.check(write(tmp_path, GOOD))
    assert up.rows == () and up.facts.loads and up.worst is None
    assert str(up) == f"{tmp_path / 'arm.urdf'}: 0 errors, 0 warnings, 0 notes; loads"


@pytest.mark.parametrize("defect", DEFECTS.values(), ids=DEFECTS)
def test_found_by_its_rule_on_its_line(defect: Defect, tmp_path):
    file = write(tmp_path, defect.text)
    up = dl.check(file)
    hits = [f for f in up.rows if f.rule == defect.rule]
    assert [f.line for f in hits] == [defect.line], str(up)
    assert rules(up) <= {defect.rule, *defect.also}, str(up)
    (hit,) = hits
    assert hit.severity == RULES[defect.rule].severity
    assert hit.place.file == str(file) and hit.element and hit.message and hit.why and hit.fix
    assert hit.fixable == defect.fixable


@pytest.mark.parametrize("defect", DEFECTS.values(), ids=DEFECTS)
def test_loads_says_what_the_loader_says(defect: Defect, tmp_path):
    file = write(tmp_path, defect.text)
    up = dl.check(file)
    try:
        dl.load(file)
        refusal = None
    except dl.DescriptionError as error:
        refusal = str(error)
    assert up.facts.loads == (refusal is None) and up.facts.refusal == refusal
    if refusal is not None:  # what cannot be loaded is never without an error
        assert up.errors


@pytest.mark.parametrize("defect", FIXABLE.values(), ids=FIXABLE)
def test_what_is_repaired_is_gone(defect: Defect, tmp_path):
    up = dl.check(write(tmp_path, defect.text))
    mended = repair(up)
    again = dl.check(write(tmp_path, mended.text, "repaired.urdf"))
    left = {"D314"} if 'effort="inf"' in defect.text else set()  # a limit that is gone is missed, as a note
    assert again.facts.loads and rules(again) == left, str(again)
    assert rules(mended.after) == left
    assert any(change.rule == defect.rule and change.line == defect.line for change in mended.changes)
    assert repair(again).changes == () and repair(again).text == mended.text
    # Comments and everything else stay: only lines that the repair names differ.
    before, after = defect.text.splitlines(), mended.text.decode().splitlines()
    if len(before) == len(after):
        changed = {k + 1 for k, (a, b) in enumerate(zip(before, after, strict=True)) if a != b}
        named = {change.line for change in mended.changes}
        assert named <= changed and changed - named <= ({59} if "-inf" in defect.new else set())
    else:
        assert len(after) == len(before) - 1 and set(after) <= set(before)


def attribute(text: str, tag: str, name: str) -> str:
    found = re.search(rf"<{tag}[^>]*\b{name}=\"([^\"]*)\"", text)
    assert found is not None
    return found[1]


def repaired(name: str, folder: Path) -> str:
    return repair(dl.check(write(folder, DEFECTS[name].text))).text.decode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('<mass value="3.0"/>', '<mass value="3.0{}"/>'),
        ('<mass value="3.0"/>', '<mass value="{}3.0"/>'),
        ('izz="0.00375"', 'izz="0.00375{}"'),
        ('effort="80"', 'effort="80{}"'),
        ('damping="0.1"', 'damping="0.1{}"'),
        ('<origin xyz="0 0 0.4"/>', '<origin xyz="0 0 0.4{}"/>'),
        ('<origin xyz="0 0 0.4"/>', '<origin xyz="0{}0 0.4"/>'),
        ('<origin xyz="0 0 0.2"/>\n      <mass', '<origin xyz="{}0 0 0.2"/>\n      <mass'),
        (' effort="80"', ""),
        (' velocity="2.5"', ""),
        (f"<limit {SHOULDER}/>", ""),
        ('<child link="tool"/>', '<child link="tool"/><limit effort="1"/>'),
        ('<child link="tool"/>', '<child link="tool"/><dynamics/>'),
        ('<child link="tool"/>', '<child link="tool"/><dynamics damping="1"/>'),
        ('<child link="tool"/>', '<child link="tool"/><safety_controller k_velocity="1{}"/>'),
        ('<child link="tool"/>', '<child link="tool"/><safety_controller k_velocity="{}1" k_position="0x1"/>'),
        ('<child link="tool"/>', '<child link="tool"/><safety_controller k_position="1"/>'),
        ('<child link="tool"/>', '<child link="tool"/><calibration rising="1{}"/>'),
        ('<child link="tool"/>', '<child link="tool"/><calibration rising=""/>'),
        ('<child link="tool"/>', '<child link="tool"/><calibration/>'),
        ('<robot name="arm">', "<robot>"),
        ('<robot name="arm">', '<robot name="">'),
        ('<link name="base">', '<material name="gray"/><link name="base">'),
    ],
)
@pytest.mark.parametrize("blank", [" ", "\n", "\t", "&#10;", "&#x9;"])
def test_what_pinocchio_does_not_read_is_an_error(old, new, blank, tmp_path):
    """It rejects the file, or leaves out an inertia."""
    pinocchio = pytest.importorskip("pinocchio")
    assert GOOD.count(old) == 1

    def inertias(text: str) -> float | None:
        try:
            model = pinocchio.buildModelFromXML(text)
        except ValueError:
            return None
        return sum(I.mass + I.inertia.trace() for I in model.inertias)

    text = GOOD.replace(old, new.format(blank))
    up = dl.check(write(tmp_path, text))
    reads = inertias(text) == pytest.approx(inertias(GOOD))
    assert reads == (not up.errors), str(up)
    assert up.facts.loads


def test_repairs_write_what_they_should(tmp_path):
    axis = np.array(attribute(repaired("a skew axis that is no unit vector", tmp_path), "axis", "xyz").split(), float)
    assert np.allclose(axis, np.array([1, 2, 3]) / np.sqrt(14), rtol=1e-11)
    assert attribute(repaired("an axis of length two", tmp_path), "axis", "xyz") == "0 0 1"
    swapped = repaired("limits swapped", tmp_path)
    assert 'lower="-2.9" upper="2.9"' in swapped
    assert 'effort="80"' in repaired("a negative effort", tmp_path)
    assert 'lower="-2.9" upper="2.9" velocity="2.5"' in repaired("infinite effort", tmp_path)
    assert '<limit effort="40" velocity="3"/>' in repaired("limits of a continuous joint", tmp_path)
    assert '<axis xyz="0 0 1"/>' in repaired("commas between numbers", tmp_path)
    assert repaired("the same mass twice", tmp_path) == GOOD
    assert repaired("no robot name", tmp_path) == GOOD.replace('name="arm"', 'name="robot"')


def test_units_are_brought_back_exactly(tmp_path):
    for name in ("an inertia in g mm²", "an inertia in kg mm²"):
        robot = dl.load(write(tmp_path, repaired(name, tmp_path)))
        good = dl.load(write(tmp_path, GOOD))
        q = np.array([0.3, -0.4, 0.02])
        assert np.allclose(robot.mass_matrix(q), good.mass_matrix(q), rtol=1e-9)


def test_several_defects_are_all_found_and_all_repaired(tmp_path):
    """The doctor does not stop at the first refusal."""
    names = ("commas between numbers", "limits swapped", "an indefinite inertia", "an inertia in g mm²")
    text = GOOD
    for name in names:
        text = text.replace(DEFECTS[name].old, DEFECTS[name].new)
    up = dl.check(write(tmp_path, text))
    assert {DEFECTS[name].rule for name in names} <= rules(up) and not up.facts.loads
    mended = repair(up)
    assert mended.after.rows == () and mended.after.facts.loads and len(mended.changes) == len(names)


def test_errors_that_cannot_be_repaired_stay(tmp_path):
    text = DEFECTS["a negative mass"].text.replace('<axis xyz="0 0 1"/>', '<axis xyz="0 0 2"/>')
    mended = repair(dl.check(write(tmp_path, text)))
    assert [c.rule for c in mended.changes] == ["D302"] and rules(mended.after) == {"D201"}
