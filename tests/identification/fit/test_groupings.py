"""Base parameters as formulas: exact, as `base` finds them in numbers, and as the literature has them."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

import dalembert as dl
from dalembert.describe.description import Description, Joint, Link, Origin
from dalembert.identification.fit.groupings import Groupings, _not_spanned, groupings
from dalembert.identification.fit.regressor import Columns, base
from dalembert.symbolic.equations import Equations
from errors import raises

RIGHT = math.pi / 2
# Stäubli RX-90 in modified DH: D3 and RL4 of Khalil & Dombre 2002.
RX90 = dl.Robot.from_dh(
    [
        {"alpha": alpha, "a": a, "d": d}
        for alpha, a, d in ((0, 0, 0), (RIGHT, 0, 0), (0, 0.45, 0), (-RIGHT, 0, 0.45), (RIGHT, 0, 0), (-RIGHT, 0, 0))
    ],
    convention="modified",
)


@cache
def robot(name: str) -> dl.Robot:
    return RX90 if name == "rx90" else dl.load(name)


@cache
def found(name: str, rotor: bool = False) -> Groupings:
    return groupings(robot(name), rotor=rotor)


def oblique(*alphas: float) -> dl.Robot:
    rows = [{"alpha": alpha, "a": 0.3 + 0.1 * k, "d": 0.1 + 0.05 * k} for k, alpha in enumerate(alphas)]
    return dl.Robot.from_dh([*rows, {"alpha": 0.0, "a": 0.25, "d": 0.15}], convention="modified")


def same_as_numbers(g: Groupings, arm: dl.Robot, rotor: bool) -> None:
    b, own = base(Columns(arm, (), rotor)), g.numeric()
    assert g.names == b.names and g.rank == b.rank
    assert g.kept == tuple(b.kept) and g.rest == tuple(b.rest)
    np.testing.assert_allclose(own.K, b.K, atol=1e-12)  # `base` solves well-conditioned systems in doubles


@pytest.mark.parametrize(
    ("name", "rotor", "rank"),
    [
        ("planar-1r", False, 3),
        ("planar-2r", False, 6),
        ("planar-2r", True, 7),
        ("planar-3r", False, 9),
        ("rp", True, 7),
        ("cartesian-pp", True, 3),
        ("scara", False, 8),
        ("scara", True, 11),
        ("elbow-3r", False, 15),
        ("stanford", False, 33),
        ("puma560", False, 36),
        ("puma560", True, 40),
        ("ur5e", False, 36),
    ],
)
def test_as_the_numbers_say(name, rotor, rank):
    g = found(name, rotor)
    assert g.rank == rank
    same_as_numbers(g, robot(name), rotor)


@pytest.mark.parametrize("alphas", [(0.5,), (0.5, -0.7), (0.0, 0.6, 0.6)])
def test_oblique_axes(alphas):
    """Fixed angles as sines and cosines; one that occurs twice makes quartic coefficients."""
    arm = oblique(*alphas)
    g = groupings(arm)
    assert g.ring.angles
    same_as_numbers(g, arm, False)


def test_a_tree_with_slides_under_slanted_gravity():
    """Two branches, axes along x, y and −z, a slide, gravity along no axis: nothing is assumed of an arm."""
    joints = (
        Joint("turn", "revolute", "base", "a", axis=(0.0, 0.0, -1.0)),
        Joint("lift", "revolute", "a", "b", Origin((0.3, 0.1, 0.2)), axis=(0.0, 1.0, 0.0)),
        Joint("slide", "prismatic", "a", "c", Origin((0.0, -0.4, 0.2), (RIGHT, 0.0, 0.0)), axis=(1.0, 0.0, 0.0)),
        Joint("wrist", "revolute", "c", "d", Origin((0.1, 0.0, 0.5)), axis=(1.0, 0.0, 0.0)),
    )
    tree = dl.Robot(Description("tree", tuple(Link(x) for x in ("base", "a", "b", "c", "d")), joints))
    for gravity in ((0.0, 0.0, -9.81), (1.0, -2.0, -9.0)):
        arm = tree.with_gravity(gravity)
        for rotor in (False, True):
            same_as_numbers(groupings(arm, rotor=rotor), arm, rotor)


def test_lengths_that_are_not_the_robots():
    """The formulas hold for other lengths: compared with the numbers of a robot that has them."""
    rows = [
        {"alpha": alpha, "a": a, "d": d}
        for alpha, a, d in ((0, 0, 0), (RIGHT, 0, 0), (0, 0.3, 0), (-RIGHT, 0, 0.7), (RIGHT, 0, 0), (-RIGHT, 0, 0))
    ]
    other = base(Columns(dl.Robot.from_dh(rows, convention="modified"), (), False))
    g = found("rx90")
    assert g.kept == tuple(other.kept)
    for i in range(g.rank):
        for j in range(len(g.rest)):
            value = g.coefficient(i, j).substituted({**g.values, "a2": 0.3, "b3": 0.7})
            assert value == pytest.approx(other.K[i, j], abs=1e-12)


@pytest.mark.parametrize("name", ["planar-3r", "scara", "stanford", "puma560", "ur5e"])
def test_units(name):
    """A coefficient has the degree in lengths that its units ask for: m → m c: 1, m → I: 2, m c → I: 1, else 0."""
    g = found(name)
    order = {"m": 0, "mx": 1, "my": 1, "mz": 1}
    degree = [order.get(n.partition(":")[2], 2) for n in g.names]
    for (i, j), p in g.nonzero.items():
        assert {sum(map(int, powers)) for powers in p.terms()} == {degree[g.kept[i]] - degree[g.rest[j]]}


# ------------------------------------------------------------------------------------------------- the literature
def test_planar_arm():
    """With gravity in the plane, as every textbook has it: the mass of the second link sits at the end of the first."""
    g = found("planar-2r")
    assert g.formulas() == (
        "link1:mx + l1*link2:m",
        "link1:my",
        "link1:Izz + l1^2*link2:m",
        "link2:mx",
        "link2:my",
        "link2:Izz",
    )
    assert g.formulas(short=True) == ("mx1 + l1*m2", "my1", "Izz1 + l1^2*m2", "mx2", "my2", "Izz2")
    assert found("planar-2r", True).formulas(short=True)[2] == "Izz1 + l1^2*m2 + J1"
    assert r"\beta_{3} &= I_{zz,1} + l_{1}^{2} m_{2}" in g.latex()
    assert r"\beta_{1} &= (mx)_{1} + l_{1} m_{2}" in g.latex()
    assert "link1:m" in g.invisible and "link2:m" not in g.invisible
    assert repr(g.coefficient("link1:Izz", "link2:m")) == "l1^2" == repr(g.coefficient(2, g.rest.index(10)))
    assert not g.coefficient("link2:Izz", "link2:m")
    assert str(g).splitlines() == list(g.formulas())


def test_rx90_as_in_the_literature():
    """The 40 base parameters by hand, with the rules of Khalil & Dombre 2002, ch. 9; D3 is a2 here, and RL4 is b3."""
    mass = "(m3 + m4 + m5 + m6)"
    wrist = "(m4 + m5 + m6)"
    grouped = {
        "Izz1": f"Izz1 + Iyy2 + Iyy3 + J1 + a2^2*{mass}",
        "mx2": f"mx2 + a2*{mass}",
        "Ixx2": f"Ixx2 - Iyy2 - a2^2*{mass}",
        "Ixz2": "Ixz2 - a2*mz3",
        "Izz2": f"Izz2 + a2^2*{mass} + J2",
        "my3": f"my3 + b3*{wrist} + mz4",
        "Ixx3": f"Ixx3 - Iyy3 + b3^2*{wrist} + 2*b3*mz4 + Iyy4",
        "Izz3": f"Izz3 + b3^2*{wrist} + 2*b3*mz4 + Iyy4",
        "my4": "my4 - mz5",
        "Ixx4": "Ixx4 - Iyy4 + Iyy5",
        "Izz4": "Izz4 + Iyy5",
        "my5": "my5 + mz6",
        "Ixx5": "Ixx5 - Iyy5 + Iyy6",
        "Izz5": "Izz5 + Iyy6",
        "Ixx6": "Ixx6 - Iyy6",
    }
    alone = ["my2", "Ixy2", "Iyz2", "mx3", "J3", "J4", "J5", "J6", "my6", "Izz6"]
    alone += [f"{kind}{j}" for kind in ("Ixy", "Ixz", "Iyz") for j in (3, 4, 5, 6)]
    alone += [f"mx{j}" for j in (4, 5, 6)]
    g = found("rx90", True)
    assert g.rank == len(grouped) + len(alone) == 40
    lines = dict(zip((g.short_names[k] for k in g.kept), g.formulas(short=True), strict=True))
    assert lines.keys() == grouped.keys() | set(alone)
    for name, line in lines.items():
        assert terms(line) == terms(grouped.get(name, name))


def terms(line: str) -> set[str]:
    """The summands, brackets kept together."""
    parts, depth, signed = [""], 0, line.replace(" - ", " + -")
    for k, letter in enumerate(signed):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0 and signed[k : k + 3] == " + ":
            parts.append("")
        else:
            parts[-1] += letter
    return {part.strip(" +") for part in parts}


def rule(equations: Equations) -> list[dict[str, dict[str, object]]]:
    """Regrouping by the recursive rule of Gautier & Khalil 1990, from the mechanics alone.

    What is symmetric about the axis of a joint (a mass on it, a first moment along it, equal moments of inertia
    across it) is the same to all joints before whether it turns with the joint or not, and the joint itself does
    not feel it: it belongs to the parent as well. So (m, mz, Ixx = Iyy) of each body go to its parent, the last first.
    Each parameter is a linear form {name: coefficient}."""
    kinds = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
    model = equations.model
    bodies = [{kind: {f"{body.name}:{kind}": 1.0} for kind in kinds} for body in model.bodies]

    def add(form, other, factor):
        for name, c in other.items():
            form[name] = form.get(name, 0.0) + factor * c

    for j in range(len(bodies) - 1, 0, -1):
        body, own = model.bodies[j], bodies[j]
        assert body.joint.kind == "revolute" and tuple(body.joint.axis) == (0.0, 0.0, 1.0)
        parent, R, p = bodies[body.parent], body.placement.R, body.placement.p
        z = [R[k][2] for k in range(3)]
        m, mz, I = own["m"], own["mz"], own["Iyy"]
        add(parent["m"], m, 1.0)
        for k, x in enumerate("xyz"):
            add(parent[f"m{x}"], m, p[k])
            add(parent[f"m{x}"], mz, z[k])
        pp, pz = sum(x * x for x in p), sum(x * y for x, y in zip(p, z, strict=True))
        for a in range(3):
            for b in range(a, 3):
                entry, one = parent[f"I{'xyz'[a]}{'xyz'[b]}"], float(a == b)
                add(entry, m, one * pp - p[a] * p[b])
                add(entry, mz, 2 * one * pz - p[a] * z[b] - z[a] * p[b])
                add(entry, I, one - z[a] * z[b])
        add(own["Ixx"], I, -1.0)
        for kind in ("m", "mz", "Iyy"):
            own[kind] = {}
    return bodies


@pytest.mark.parametrize("name", ["rx90", "puma560", "ur5e", "elbow-3r", "panda"])
def test_recursive_rule(name):
    """Arms whose first axis stands upright, the next across it: Izz of the first link and seven of each other are left,
    with the coefficients of the rule, as polynomials."""
    g = found(name)
    equations = Equations(robot(name).description, "lengths")
    bodies = rule(equations)
    seven = ("mx", "my", "Ixx", "Ixy", "Ixz", "Iyz", "Izz")
    links = [body.name for body in equations.model.bodies]
    assert [g.names[k] for k in g.kept] == [
        f"{link}:{kind}" for k, link in enumerate(links) for kind in (seven if k else ("Izz",))
    ]
    seen = 0
    for i, k in enumerate(g.kept):
        link, _, kind = g.names[k].partition(":")
        form = bodies[links.index(link)][kind]
        for j, r in enumerate(g.rest):
            expected = g.ring.convert(equations.ring.scalar(form.get(g.names[r], 0.0)))
            assert g.coefficient(i, j) == expected, (g.names[k], g.names[r])
            seen += bool(expected)
        assert set(form) <= {g.names[x] for x in (k, *g.rest)}
    assert seen == len(g.nonzero) > 0


def test_puma_in_words():
    lines = found("puma560").formulas(short=True)
    assert lines[0] == "Izz1 + Iyy2 + Iyy3 + a2^2*m3 + (a2^2 + a3^2 + d3^2)*(m4 + m5 + m6)"
    assert lines[1] == "mx2 + a2*(m3 + m4 + m5 + m6)"
    assert lines[3] == "Ixx2 - Iyy2 - a2^2*(m3 + m4 + m5 + m6)"


def test_chosen_lengths_and_numbers():
    """Only some lengths as symbols, or none: decimals stand for the others."""
    arm = robot("rp")
    same_as_numbers(groupings(arm, symbolic="none"), arm, False)
    g = groupings(robot("elbow-3r"), symbolic=["a2"])
    same_as_numbers(g, robot("elbow-3r"), False)
    assert set().union(*(p.uses() for p in g.nonzero.values())) == {"a2"}


# ------------------------------------------------------------------------------------------------------- what fails
def test_the_check_can_fail():
    """Y_rest = Y_kept K as polynomials: a wrong coefficient is found, and named."""
    arm, g = robot("planar-2r"), found("planar-2r")
    e = Equations(arm.description, "lengths")
    Y = [row[:20] for row in e.regressor]
    K = {place: e.ring.convert(p) for place, p in g.nonzero.items()}
    assert not _not_spanned(Y, g.kept, g.rest, K, g.names)
    place = next(iter(K))
    K[place] = K[place] * 2
    assert _not_spanned(Y, g.kept, g.rest, K, g.names) == "link2:m"
    del K[place]
    assert _not_spanned(Y, g.kept, g.rest, K, g.names) == "link2:m"


def askew(axis: tuple[float, float, float]) -> dl.Robot:
    joint = Joint("turn", "continuous", "base", "arm", axis=axis)
    return dl.Robot(Description("askew", (Link("base"), Link("arm")), (joint,)))


def test_quotients_are_refused():
    """About an axis askew in its frame Ixy counts 2 a_y/a_x times in Ixx: a number, but no polynomial."""
    same_as_numbers(groupings(askew((0.6, 0.8, 0.0))), askew((0.6, 0.8, 0.0)), False)
    with raises(dl.InputError, "unsupported robot"):
        groupings(askew((1 / 3, 2 / 3, 2 / 3)))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: groupings(robot("planar-2r"), symbolic=["l9"]), "unknown-name"),
        (lambda: groupings(oblique(*np.linspace(0.1, 0.9, 9))), "unsupported robot"),
        (lambda: found("planar-2r").coefficient("link1:m", "link2:m"), "unknown-name"),
        (lambda: found("planar-2r").coefficient("link1:mx", "link1:my"), "unknown-name"),
        (lambda: found("planar-2r").coefficient(6, 0), "out-of-range which"),
        (lambda: found("planar-2r").coefficient(-1, 0), "out-of-range which"),
    ],
)
def test_bad_input(call, text):
    with raises(dl.DalembertError, text):
        call()


def test_words_and_loops_that_have_no_groupings():
    with pytest.raises(dl.DalembertError):
        groupings(robot("planar-2r"), symbolic="length")
    with pytest.raises(dl.DalembertError):
        groupings(robot("four-bar"))
