"""Derivations as taught: golden texts that were read beside the notes, and what every line of them must be."""

from __future__ import annotations

import re
import warnings
from functools import cache
from pathlib import Path

import math_core
import numpy as np
import pytest

import dalembert as dl
from dalembert.describe.description import Description, Joint, Link
from dalembert.robots import names, text
from dalembert.spatial import Pose
from dalembert.symbolic.blackboard import Blackboard
from dalembert.symbolic.document import Fold, Formulas, Line, columns, left_of, plain_formula
from dalembert.symbolic.kinematics import choose_frames
from errors import raises

GOLDEN = Path(__file__).parent / "golden" / "derivations"
CONVERTER = math_core.LatexToMathML()
OPEN = [name for name in names() if "[[loops]]" not in text(name)]
SMALL = ["planar-1r", "planar-2r", "planar-2r-points", "planar-3r", "elbow-3r", "scara", "rp", "cartesian-pp"]
METHODS = ("kinematics", "lagrange", "newton-euler")
STATE = ((0.5, 0.25), (1.0, 0.5), (0.0, 2.0))


@cache
def equations(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        return dl.load(name).equations()


@cache
def derive(name, method):
    e = equations(name)
    if method == "newton-euler" and name not in SMALL:
        return e.derivation(method, at=np.random.default_rng(0).uniform(-1, 1, (3, e.n)))
    return e.derivation(method)


def lines_of(parts) -> list[Line]:
    found = []
    for part in parts:
        found += part.lines if isinstance(part, Formulas) else lines_of(part.parts) if isinstance(part, Fold) else []
    return found


def last(name, method, left) -> str:
    """What the derivation ends with for `left`: of lines that go on, the last of them."""
    found, here = "", False
    for line in lines_of(derive(name, method).parts):
        shown = line.left[0] if isinstance(line.left, tuple) else line.left
        here = shown == left or (here and not shown)
        found = plain_formula(line.right) if here else found
    return found


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["planar-2r", "planar-3r", "elbow-3r"])
def test_golden(name, method):
    assert derive(name, method).text(fold=False) == (GOLDEN / f"{name}-{method}.txt").read_text()


def test_golden_numbers():
    made = equations("planar-2r").derivation("newton-euler", at=STATE).text()
    assert made == (GOLDEN / "planar-2r-newton-euler-numbers.txt").read_text()


@pytest.mark.parametrize("name", SMALL)
def test_both_ways_lead_to_the_same_equations(name):
    """The recursion, which knows nothing of energies, ends with the torques of Lagrange's equations, letter by letter:
    both are the one normal form."""
    e = equations(name)
    for k, torque in enumerate(e.tau):
        wanted = plain_formula(Blackboard(e).formula(torque))
        left = f"τ{'₁₂₃₄'[k]}"
        assert last(name, "newton-euler", left) == wanted
        found = [x for x in lines_of(derive(name, "lagrange").parts) if plain_formula(x.right) == wanted and not x.left]
        assert found, left


@pytest.mark.parametrize("name", ["planar-2r", "planar-3r", "elbow-3r", "rp", "planar-2r-points"])
def test_the_derivation_passes_its_own_check(name):
    """What is printed is read back and compared, by values, with what follows from the energies."""
    made = derive(name, "lagrange")
    steps = re.compile("[KP][₁₂₃]?|(d/dt )?∂L/∂q̇?[₁₂₃]")
    chosen = []
    for line in lines_of(made.parts):
        left = line.left[0] if isinstance(line.left, tuple) else left_of(line.left)[0]
        if steps.fullmatch(left or ""):
            chosen.append(f"{left} = {plain_formula(line.right)}")
        elif not left and chosen and "vᵀ" not in chosen[-1] and "ᵀ" in chosen[-1]:
            chosen[-1] = f"{chosen[-1].partition(' = ')[0]} = {plain_formula(line.right)}"
    assert len(chosen) >= 2 * len(equations(name).model.bodies) + 2 + 3 * equations(name).n
    judged = made.check(chosen)
    assert judged, str(judged)
    wrong = made.check([line.replace("½", "", 1) if line.startswith("K =") else line for line in chosen])
    assert wrong.first is not None and wrong.first.step == "K"


@pytest.mark.parametrize("name", OPEN)
def test_numbers_of_the_recursion(name):
    robot = dl.load(name) if name != "puma560" else dl.Robot(equations(name).description)
    e = equations(name)
    state = np.random.default_rng(1).uniform(-1, 1, (3, e.n))
    wanted = robot.inverse_dynamics(*state)
    found = {}
    for line in lines_of(e.derivation("newton-euler", at=state).parts):
        left = line.left[0] if isinstance(line.left, tuple) else line.left
        if left.startswith("τ") and left != "τᵢ":
            found[left] = float(plain_formula(line.right))
    assert np.allclose(list(found.values())[::-1], wanted, rtol=2e-4, atol=1e-4)  # five digits are shown


@pytest.mark.parametrize("convention", ["standard", "modified"])
@pytest.mark.parametrize("name", OPEN)
def test_the_steps_of_the_table_multiply_to_the_pose_of_the_tip(name, convention):
    board, frames = choose_frames(Blackboard(equations(name)), convention)
    assert frames.table is not None and frames.table.convention == convention
    T: Pose = frames.base
    for A in frames.A:
        T = T @ A
    assert [[board.e.ring.scalar(x) for x in row] for row in (T @ frames.tool).matrix()] == board.e.fk()
    rng = np.random.default_rng(2)
    q = rng.uniform(-1, 1, board.e.n)
    at = dict(board.e.values)
    for k, symbols in enumerate(board.e.ring.joints):
        at |= dict(zip(symbols, (np.sin(q[k]), np.cos(q[k])) if len(symbols) > 1 else (q[k],), strict=False))
    got = [[x.substituted({n: at.get(n, 0.0) for n in board.e.ring.names}) for x in row] for row in board.e.fk()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.allclose(np.array(got, float), dl.load(name).fk(q), atol=1e-9)  # though described anew


@pytest.mark.parametrize("name", OPEN)
def test_every_format_of_every_robot(name):
    for method in METHODS:
        made = derive(name, method)
        page = made.html()
        assert "<pre" not in page  # what the converter could not read
        for block in re.findall(r"\$\$\n(.*?)\n\$\$", made.markdown(), re.S):
            CONVERTER.convert_with_local_state(block, displaystyle=True)
        wide = [line for line in made.text(fold=False).splitlines() if columns(line) > 100]
        assert wide == []


def test_in_the_letters_of_the_reader():
    """[Lagrange notes]: D, φ, c_ijk, l_c; [Fakhari 2]: θ, L. No letter of the library's is left over."""
    arm = dl.load("planar-2r")
    shown = arm.equations(letters="lagrange-notes").derivation().text(fold=False)
    for line in (
        "v_c₂ᵀv_c₂ = (l₁² + lc₂² + 2 l₁ lc₂ c₂) q̇₁² + 2 (lc₂² + l₁ lc₂ c₂) q̇₁ q̇₂ + lc₂² q̇₂²",
        "cᵢⱼₖ = ½ (∂Dₖⱼ/∂qᵢ + ∂Dₖᵢ/∂qⱼ − ∂Dᵢⱼ/∂qₖ)",
        "D q̈ + C q̇ + φ = τ",
        "φ₁ = (m₁ lc₁ + m₂ l₁) g c₁ + m₂ g lc₂ c₁₂",
    ):
        assert line in shown
    assert not re.search(r"\br₁|Γ|\bM\b|Ṁ", shown.replace("The same M from", ""))
    other = arm.equations(letters="fakhari")
    for method in METHODS:
        made = other.derivation(method)
        assert not re.search(r"\bq[₁₂̇̈]|\bl₁", made.text(fold=False)), method
        assert r"\dot{\theta}_{1}" in made.latex() or method == "kinematics"
        assert "<pre" not in made.html()
    table = arm.equations(letters="siciliano").derivation("kinematics").text()
    assert re.search("2  revolute  θ₂  0   a₂  0", table)  # though r is l there, and l is a


def test_choices_of_c():
    shown = derive("planar-2r", "lagrange").text()
    said = re.findall(
        r"^(christoffel|kronecker|mdot-u/2|ut-u/2)\n~+\n\n(.*?)(?=\n[^\n]*\n~~|\nJoint equations)", shown, re.S | re.M
    )
    found = {name: "not skew" not in words for name, words in said}
    e = equations("planar-2r")
    assert found == {name: e.keeps_skew_symmetry(name) for name in found} and len(found) == 4
    assert "the same matrix as christoffel" in dict(said)["kronecker"]
    assert "choices of C" not in derive("cartesian-pp", "lagrange").text()  # where C is zero


def test_singularities_are_claimed_only_where_they_are():
    def shown(robot):
        return robot.equations().derivation("kinematics").text()

    assert "Singularities" not in derive("planar-1r", "kinematics").text()  # its J never loses rank
    assert "The tip's position loses a direction where" in derive("planar-2r", "kinematics").text()
    assert "s₂ = 0: q₂ = 0 or π." in derive("planar-2r", "kinematics").text()
    assert "The arm is singular where" in derive("planar-3r", "kinematics").text()
    on_the_axis = dl.Robot.from_dh([{"a": 1.0}, {}], gravity=(0, -9.81, 0))  # the second joint turns the tip in place
    assert "Singularities" not in shown(on_the_axis)
    twice = dl.Robot.from_dh([{}, {"a": 1.0, "alpha": np.pi / 2}, {"kind": "prismatic"}])  # two joints about one axis
    assert "The arm is singular in every posture" in shown(twice)
    assert "The arm is singular where" in derive("scara", "kinematics").text()


def test_the_table_is_the_teachers():
    """θ offsets, lengths along sliding joints, a tool: the table shows them, and A has them."""
    rows = [{"theta": np.pi / 2, "d": 0.3, "alpha": -np.pi / 2}, {"kind": "prismatic", "d": 0.2, "a": 0.1}]
    shown = dl.Robot.from_dh(rows).equations().derivation("kinematics").text()
    assert re.search(r"1 +revolute +q₁ \+ π/2 +d₁ +0 +-π/2\n2 +prismatic +0 +q₂ \+ d₂ +a₂ +0\n", shown)
    assert "A₁ = ⎢ c₁    0    -s₁   0  ⎥" in shown
    tree = comb(2)
    assert "There is no DH table" in tree.equations().derivation("kinematics").text()


def comb(n: int) -> dl.Robot:
    """Arms side by side on one base."""
    links, joints = [Link("base")], []
    for k in range(n):
        links.append(
            Link(f"l{k}", dl.describe.Inertial(1.0, (0, 0, 0, 0.1, 0, 0.1), dl.describe.Origin((0.2, 0.0, 0.0))))
        )
        joints.append(
            Joint(f"j{k}", "continuous", "base", f"l{k}", dl.describe.Origin((0.0, 0.5 * k, 0.0)), (0.0, 1.0, 0.0))
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        return dl.Robot(Description("comb", tuple(links), tuple(joints), tip="l0"))


def test_trees_and_more_than_nine_joints():
    made = {method: comb(10).equations().derivation(method) for method in ("kinematics", "newton-euler")}
    assert "It does not carry the tip: its column is zero." in made["kinematics"].text(fold=False)
    assert "τ₁₀ = " in made["newton-euler"].text() and "comb" in made["newton-euler"].html()
    assert "all are zero, since M is constant" in comb(3).equations().derivation().text()


def test_what_is_refused():
    e = equations("planar-2r")
    with raises(dl.UnknownNameError, "unknown-name"):
        e.derivation("kane")
    with raises(dl.InputError, "no-effect at"):
        e.derivation("lagrange", at=STATE)
    with raises(dl.InputError, "too-large at"):
        equations("puma560").derivation("newton-euler")
    with raises(dl.InputError, "wrong-shape at"):
        e.derivation("newton-euler", at=[[0, 0], [0, 0]])
    nothing = dl.Robot(Description("table", (Link("top"),))).equations()
    assert "Nothing moves" in nothing.derivation().latex()


def test_rotors_and_friction_are_told():
    e = dl.load("planar-2r").equations(friction=True)
    assert "friction" in e.derivation().text() and "Fv₁ q̇₁" in e.derivation().text()
    ur = dl.load("puma560")
    shown = ur.equations().derivation("newton-euler", at=np.zeros((3, 6))).text()
    assert "The rotor's own inertia" in shown


@pytest.mark.parametrize("name", ["a~b", "a^b", "a\\b", "a{b", "a}b", "a|b", "{0}", "50%"])
def test_names_of_strangers(name):
    links = (
        Link("base"),
        Link(name, dl.describe.Inertial(1.0, (0, 0, 0, 0.1, 0, 0.1), dl.describe.Origin((0.2, 0.0, 0.0)))),
    )
    joints = (
        Joint("j|" + name, "continuous", "base", name, dl.describe.Origin((0, 0, 0), (1.5708, 0, 0)), (0.0, 0.0, 1.0)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        e = dl.Robot(Description("odd", links, joints)).equations()
    for method in METHODS:
        made = e.derivation(method)
        assert name in made.text()
        assert "\\pi" in made.latex() and "π" not in made.latex()
        made.html()
    assert ("\\|" in e.derivation().markdown()) == ("|" in name)  # inside tables, where it would end a cell
