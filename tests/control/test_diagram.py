"""Block diagrams: every control law has one, nothing in it overlaps, and it is SVG that others read."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

import dalembert as dl
from dalembert.control import PID, Diagram, MassSpringDamper, PartitionedServo, diagram_of
from dalembert.draw.blocks import Node, Signal, block, terminal, total
from dalembert.draw.blocks.diagram import pieces, plain
from dalembert.errors import InputError, UnknownNameError
from dalembert.law import Law
from drawn import controllers, diagrams_by_name
from errors import raises

SVG = "{http://www.w3.org/2000/svg}"
DRAWN = diagrams_by_name()


@pytest.mark.parametrize(("controller", "title"), [pytest.param(c, t, id=n) for n, c, t in controllers()])
def test_every_controller_has_its_diagram(controller, title):
    found = diagram_of(controller)
    assert found.title == title and found.faults() == []
    ET.fromstring(found.svg())


def test_options_of_a_controller_show():
    arm, c = dl.load("planar-2r"), dl.control
    texts = {node.text for node in diagram_of(c.PDGravity(arm, kp=10.0, kd=5.0, gravity="desired")).nodes}
    assert "g(q_d)" in texts and "g(q)" not in texts
    assert "g(q)" in {node.text for node in diagram_of(c.JointPID(arm, kp=10.0, ki=5.0, kd=1.0, gravity=True)).nodes}
    assert "g(q)" not in {node.text for node in diagram_of(c.JointPID(arm, kp=10.0, ki=5.0, kd=1.0)).nodes}
    rubbing = {node.text for node in diagram_of(c.ComputedTorque(arm, omega=10.0, friction=True)).nodes}
    assert "c(q, q̇) + g(q) + f(q̇)" in rubbing
    wanted, held = (
        c.PDGravity(arm, kp=10.0, kd=5.0, gravity="desired"),
        c.JointPID(arm, kp=10.0, ki=5.0, kd=1.0, gravity=True),
    )
    for drawn in (wanted.diagram(), held.diagram(), c.ComputedTorque(arm, omega=10.0, friction=True).diagram()):
        assert drawn.faults() == []
    for without, integral in (
        (c.ComputedTorque(arm, omega=10.0), c.ComputedTorque(arm, omega=10.0, ki=5.0)),
        (c.ComputedTorque(arm, omega=10.0, friction=True), c.ComputedTorque(arm, omega=10.0, friction=True, ki=5.0)),
        (c.IndependentJoint(arm, omega=10.0), c.IndependentJoint(arm, omega=10.0, integral=1.0)),
    ):
        drawn = diagram_of(integral)
        assert "K_i ∫" in {node.text for node in drawn.nodes} and "_i ∫e dt" in drawn.equation and not drawn.faults()
        assert "K_i ∫" not in {node.text for node in diagram_of(without).nodes}


@pytest.mark.parametrize("anti_windup", [True, False])
def test_pid_shows_what_keeps_it_from_winding_up(anti_windup):
    drawn = PID(k_p=1.0, k_i=1.0, high=1.0, anti_windup="back-calculation" if anti_windup else "none").diagram()
    assert ("1/T_t" in {node.text for node in drawn.nodes}) is anti_windup and drawn.faults() == []


def test_any_law_is_at_least_a_block_in_its_loop():
    law = Law("my <law>", ("x", "x_rate"), ("x_wanted",), ("f",), lambda t, y, r, z, p: [0.0])
    found = diagram_of(law)
    assert found.faults() == [] and found.title == "my <law>"
    texts = ["".join(t.itertext()) for t in ET.fromstring(found.svg()).iter(f"{SVG}text")]
    assert {"my <law>", "x, x_rate", "x_wanted", "f"} <= set(texts)


# --------------------------------------------------------------------------------------------------- the pictures
@pytest.mark.parametrize("name", DRAWN)
def test_nothing_overlaps(name):
    diagram = DRAWN[name]
    assert diagram.faults() == []
    width, height = diagram.layout.size
    for left, top, right, bottom in diagram.layout.boxes.values():
        assert 0 < left < right < width and 0 < top < bottom < height
    for wire in diagram.layout.wires:
        assert all(0 < x < width and 0 < y < height for x, y in wire.points)
        assert all(a[0] == b[0] or a[1] == b[1] for a, b in wire.segments)  # upright or level, nothing aslant
    assert width < 900  # fits a page


@pytest.mark.parametrize("name", DRAWN)
def test_the_svg_is_valid_and_plain(name):
    diagram = DRAWN[name]
    text = diagram.svg()
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg" and root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    assert "serif" in root.get("font-family") and "script" not in text and "href" not in text
    assert root.find(f"{SVG}title").text == diagram.title and "to" in root.find(f"{SVG}desc").text
    drawn = {"svg", "title", "desc", "rect", "g", "polyline", "polygon", "circle", "text", "tspan"}
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= drawn
    blocks = sum(node.kind == "block" for node in diagram.nodes)
    assert len(root.findall(f"{SVG}rect")) == blocks + 1
    assert len(root.findall(f"{SVG}polygon")) == len(diagram.signals)  # an arrow each
    assert len(root.findall(f".//{SVG}polyline")) == len(diagram.signals)
    assert text == diagrams_by_name()[name].svg()  # the same every time


@pytest.mark.parametrize("name", DRAWN)
def test_every_node_is_reached_and_every_sum_has_signs(name):
    diagram = DRAWN[name]
    sources, targets = ({getattr(s, end) for s in diagram.signals} for end in ("source", "target"))
    for node in diagram.nodes:
        if node.kind != "terminal":
            assert node.name in sources and node.name in targets, node.name
    sums = {node.name for node in diagram.nodes if node.kind == "sum"}
    for name_ in sums:
        entering = [s for s in diagram.signals if s.target == name_]
        assert len(entering) >= 2 and all(s.sign in "+−" and s.sign for s in entering)


def test_the_diagram_computes_its_equation():
    """A diagram read as arithmetic: f of the trajectory-following law, followed from block to block."""
    d = DRAWN["following, integral"]
    x, v, x_d, v_d, a_d, integral = 0.3, -0.2, 1.0, 0.4, 0.7, 0.25
    m, b, k, k_p, k_v, k_i = 2.0, 0.5, 3.0, 16.0, 6.0, 5.0
    given = {("system", 0.6): x, ("system", -0.6): v, ("wanted", 0.0): x_d, ("rate_wanted", 0.0): v_d}
    given[("acceleration_wanted", 0.0)] = a_d
    gains = {"k_p": k_p, "k_v": k_v, "alpha": m}
    kinds = {node.name: node.kind for node in d.nodes}

    def value(name: str, slot: float = 0.0) -> float:
        if (name, slot) in given:
            return given[name, slot]
        entering = [(s, value(s.source, s.out)) for s in d.signals if s.target == name]
        if kinds[name] == "sum":
            return sum(u if s.sign == "+" else -u for s, u in entering)
        if name == "k_i":
            return k_i * integral
        if name == "beta":
            return b * v + k * x
        return gains[name] * entering[0][1]

    (f,) = [value(s.source) for s in d.signals if s.target == "system"]
    assert f == pytest.approx(m * (a_d + k_v * (v_d - v) + k_p * (x_d - x) + k_i * integral) + b * v + k * x)
    law = PartitionedServo(MassSpringDamper(m, b, k), k_p=k_p, k_v=k_v, k_i=k_i).law()
    assert law.act(0, [x, v], [x_d, v_d, a_d], [integral], [k_p, k_v, k_i]) == [pytest.approx(f)]


def test_faults_are_found():
    """A layout that is spoilt on purpose is said to be."""
    nodes = (block("a", "A", 0), block("b", "B", 1), block("c", "C", 2))
    through = Diagram("through", nodes, (Signal("a", "c"),))
    assert through.faults() == ["the signal a → c runs through b"]
    along = Diagram(
        "along",
        (block("a", "A", 0), block("b", "B", 0, 1), block("c", "C", 1)),
        (Signal("a", "c"), Signal("b", "c", drop=0)),
    )
    assert any("run along each other" in fault for fault in along.faults())
    crowded = DRAWN["following"]
    signals = tuple(replace(s, label="a very long name of a signal") if s.label == "ė" else s for s in crowded.signals)
    assert replace(crowded, signals=signals).faults() == []  # room is made for it


# -------------------------------------------------------------------------------------------------------------- text
def test_subscripts():
    assert list(pieces("x_d + q̇_{12}^2")) == [("x", 0), ("d", -1), (" + q̇", 0), ("12", -1), ("2", 1)]
    assert list(pieces("P_q̈ w")) == [("P", 0), ("q̈", -1), (" w", 0)]
    assert plain(r"a\_b") == "a_b" and list(pieces("end_")) == [("end_", 0)]


def test_text_is_escaped():
    nodes = (block("a", "x < y & z", 0), terminal("t", '"q"', 1))
    d = Diagram("<&>", nodes, (Signal("a", "t", "<u>"),), "a < b_{<&} & c")
    root = ET.fromstring(d.svg())
    texts = ["".join(t.itertext()) for t in root.iter(f"{SVG}text")]
    assert {"x < y & z", '"q"', "<u>", "a < b<& & c"} <= set(texts) and root.find(f"{SVG}title").text == "<&>"


def test_description_in_words():
    words = DRAWN["spring servo"].describe()
    assert words.startswith("PD control: f = −k_p x − k_v ẋ; ") and "x from m ẍ + b ẋ + k x = f to k_p" in words
    assert "k_p to sum (−)" in words


def test_saving(tmp_path):
    file = DRAWN["spring servo"].save(tmp_path / "pd.svg")
    assert re.match(r"<svg xmlns=", file.read_text(encoding="utf-8"))
    with raises(InputError, "unsupported path"):
        DRAWN["spring servo"].save(tmp_path / "pd.png")
    with pytest.raises(InputError):
        DRAWN["spring servo"].save(tmp_path / "nowhere" / "pd.svg")
    assert DRAWN["spring servo"]._repr_svg_() == DRAWN["spring servo"].svg()


@pytest.mark.parametrize(
    ("call", "kind", "fields"),
    [
        (lambda: Diagram("d", (), ()), InputError, "too-few nodes"),
        (lambda: Diagram("d", (block("a", "A", 0), block("a", "B", 1)), ()), InputError, "duplicate nodes"),
        (lambda: Diagram("d", (block("a", "A", 0), total("b", 0)), ()), InputError, "conflict nodes"),
        (lambda: Diagram("d", (block("a", "A", -1),), ()), InputError, "out-of-range nodes"),
        (lambda: Diagram("d", (block("a", "A", 0),), (Signal("a", "b"),)), UnknownNameError, "unknown-name node"),
        (lambda: Diagram("d", (Node("a", "A", 0, 0, "box"),), ()), UnknownNameError, "unknown-name kind of node"),
        (lambda: Diagram("d", (block("a", "A", 0, tone="red"),), ()), UnknownNameError, "unknown-name tone"),
        (
            lambda: Diagram("d", (block("a", "A", 0), block("b", "B", 1)), (Signal("a", "b", enter="up"),)),
            UnknownNameError,
            "unknown-name side",
        ),
        (lambda: diagram_of(np.zeros(3)), InputError, "wrong-type controller"),
    ],
)
def test_bad_input(call, kind, fields):
    with pytest.raises(kind) as caught:
        call()
    error = caught.value
    argument = error.kind if isinstance(error, UnknownNameError) else error.argument
    assert f"{error.code} {argument}" == fields
