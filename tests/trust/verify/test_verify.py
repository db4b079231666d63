"""Certificates: robots that are right agree, whatever they are; what cannot be compared is said; bad input refused."""

from __future__ import annotations

import json
import site
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert import robots
from dalembert.describe import urdf_read
from dalembert.describe.description import Description, Link
from dalembert.findings import write_json
from dalembert.model import build as model_build
from dalembert.trust.verify import own_methods
from dalembert.trust.verify.certificate import Agreement, Certificate, Verified, make_certificate, summarize_by
from errors import raises
from trees import random_tree
from trust.verify.array_kernels import on_arrays
from trust.verify.gripper_arm import GRIPPER_ARM

EXAMPLES = Path(site.getsitepackages()[0]) / "cmeel.prefix/share/example-robot-data/robots"
FILES = [
    "ur_description/urdf/ur5_robot.urdf",
    "panda_description/urdf/panda.urdf",
    "kinova_description/robots/kinova.urdf",
]
STATES = 8
# Two computations in doubles: 1e-13 is the worst seen on these robots but for ur10e's ∂q̈, whose M is badly conditioned.
SEEN = 1e-11


@pytest.fixture
def arm(tmp_path) -> Path:
    file = tmp_path / "gripper_arm.urdf"
    file.write_text(GRIPPER_ARM)
    return file


@pytest.mark.parametrize("name", robots.names())
def test_bundled_robots_agree(name, monkeypatch):
    on_arrays(monkeypatch)
    certificate = dl.verify(name, states=STATES, without=["euler-lagrange"] if name == "parallelogram-arm" else [])
    assert certificate and certificate.ok, str(certificate)
    assert max(row.difference for row in certificate.rows) < SEEN
    assert {"file", "pinocchio"} <= {side.name for side in certificate.facts.methods if side.present}
    assert len(certificate.rows) > 30


@pytest.mark.parametrize("file", FILES)
def test_files_of_others_agree(file, monkeypatch):
    on_arrays(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error", dl.ModelWarning)  # verify keeps them to itself, in its notes
        certificate = dl.verify(EXAMPLES / file, states=STATES)
    assert certificate, str(certificate)
    assert max(row.difference for row in certificate.rows) < SEEN
    assert {"file", "pinocchio"} <= {side.name for side in certificate.facts.methods if side.present}


def test_compiled_kernels_and_laws():
    """Without the substitute for compiling: machine code, and the laws that differentiate kernels."""
    certificate = dl.verify("rp", states=STATES)
    assert certificate, str(certificate)
    titles = [row.quantity for row in certificate.rows]
    assert any("energy balance" in t for t in titles) and any("skew" in t for t in titles)


def test_random_trees_agree(monkeypatch):
    on_arrays(monkeypatch)
    for seed, options in ((1, {"mimic": True}), (2, {"friction": True, "rotors": True}), (3, {"prismatic": False})):
        certificate = dl.verify(random_tree(seed=seed, joints=6, **options), states=STATES)
        assert certificate, str(certificate)


def absent(certificate: Certificate) -> dict[str, str]:
    return {side.name: side.reason for side in certificate.facts.methods if not side.present}


def test_what_is_compared_of_special_robots(monkeypatch):
    on_arrays(monkeypatch)
    closed = dl.verify("four-bar", states=8)
    assert closed and "closed by 'closure'; what is compared are the terms of its tree" in str(closed.remarks)
    still = dl.verify(
        Description("block", (Link("block", dl.describe.Inertial(1.0, (1.0, 0, 0, 1.0, 0, 1.0))),)), states=8
    )
    assert still and "no joint that moves: only poses are compared" in str(still.remarks) and still.facts.joints == ()
    assert {row.quantity for row in still.rows} == {"poses of the links", "joints and links"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        bare = dl.Robot.from_dh([{"a": 1.0}, {"a": 0.5}])
    massless = dl.verify(bare, states=8)
    assert massless and any("nothing that moves has mass" in note for note in massless.remarks)
    assert "mass matrix is singular" in absent(massless)["articulated"]
    mimics = dl.verify(random_tree(seed=106, joints=6, mimic=True), states=8)
    assert mimics and any("mimic joints" in note for note in mimics.remarks)
    assert "mimic joints" in absent(mimics)["articulated"]
    assert "came from no file" in absent(mimics)["file"]


def test_large_robots_leave_out_what_grows(monkeypatch):
    on_arrays(monkeypatch)
    big = dl.verify(random_tree(seed=5, joints=30, chain=True), states=4, without=["pinocchio", "mujoco"])
    assert big, big.text()
    told = absent(big)
    assert "left out above 7 joints in a row" in told["euler-lagrange"]
    assert "left out above 14 bodies" in told["matrix-form"]
    assert "left out above 24" in told["derivatives"]
    assert told["pinocchio"] == "skipped as requested"


def test_a_robot_that_is_no_longer_its_file(arm, monkeypatch):
    on_arrays(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        robot = dl.load(arm)
    quick = {"states": 8, "without": ["pinocchio", "mujoco", "euler-lagrange"]}
    assert "file" not in absent(dl.verify(robot, **quick))
    loaded = dl.verify(robot.with_payload(1.0, (0, 0, 0.1), frame="tip"), **quick)
    assert loaded and "is not, or no longer, what" in absent(loaded)["file"]


def test_a_dh_table(monkeypatch):
    on_arrays(monkeypatch)
    table = dl.load("stanford").to_dh()
    certificate = dl.verify(table, states=8)
    assert certificate and "file" not in absent(certificate) and certificate.facts.description == "DH table"


def test_absent_libraries_are_said(monkeypatch):
    on_arrays(monkeypatch)
    for name in ("pinocchio", "mujoco", "pydrake"):
        monkeypatch.setitem(sys.modules, name, None)
    certificate = dl.verify("rp", states=8)
    assert certificate
    assert [absent(certificate)[name] for name in ("pinocchio", "mujoco", "drake")] == ["not installed"] * 3


def test_a_library_sides_with_the_file(arm, monkeypatch):
    """A fault of the reader: Pinocchio and MuJoCo read the file themselves, and say so."""
    on_arrays(monkeypatch)
    whole = urdf_read.Reader._inertial
    monkeypatch.setattr(
        urdf_read.Reader, "_inertial", lambda self, e, who: replace(whole(self, e, who), origin=dl.describe.Origin())
    )
    certificate = dl.verify(arm, states=8)
    told = "\n".join(map(str, certificate.facts.causes))
    assert "the file read again and Pinocchio, MuJoCo agree with each other" in told
    assert len(certificate.facts.causes) == 1


def test_a_library_that_errs_is_named(arm, monkeypatch):
    """A library that ignores the rotation of one inertial frame: that, and the link, is what the certificate says."""
    from dalembert.trust.verify import oracles

    on_arrays(monkeypatch)
    whole = oracles.bare
    monkeypatch.setattr(oracles, "bare", lambda urdf: whole(urdf).replace('rpy="0.3 -0.2 0.5"', ""))
    certificate = dl.verify(arm, states=8, without=["mujoco", "euler-lagrange", "derivatives", "solved-derivatives"])
    (finding,) = certificate.facts.causes
    assert not certificate and finding.methods == ("Pinocchio",)
    assert finding.cause == "inertial rpy" and finding.parts == ("shoulder",)


def test_a_member_that_breaks_is_a_finding(monkeypatch):
    on_arrays(monkeypatch)

    def breaks(robot, states):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setitem(own_methods.OWN_METHODS, "regressor", own_methods.OwnMethod("regressor Y π", breaks))
    certificate = dl.verify("rp", states=8)
    assert not certificate
    assert "ZeroDivisionError: division by zero" in str(certificate.facts.causes[0])
    json.loads(write_json(certificate.data()))  # an infinite difference is null there


def test_not_a_number_agrees_with_nothing(monkeypatch):
    on_arrays(monkeypatch)
    spoiled = replace(
        own_methods.OWN_METHODS["energies"], compute=lambda r, s: {"kinetic_energy": np.full(len(s), np.nan)}
    )
    monkeypatch.setitem(own_methods.OWN_METHODS, "energies", spoiled)
    certificate = dl.verify("rp", states=8)
    assert [row.quantity for row in certificate.errors] == ["kinetic energy K"]


# ------------------------------------------------------------------------------------------- two descriptions


def other(tmp_path: Path, old: str, new: str, name: str = "other.urdf") -> Path:
    assert old in GRIPPER_ARM
    file = tmp_path / name
    file.write_text(GRIPPER_ARM.replace(old, new))
    return file


AGAINST = [
    ('rpy="0.3 -0.2 0.5"', "", "inertial rpy", "'shoulder'"),
    ('<origin xyz="0 0.02 0.08" rpy="0 0.5 0.1"/>', '<origin xyz="0 0.02 0.08"/>', "joint origin", "'flange'"),
    ('<mass value="0.6"/>', '<mass value="0.7"/>', "different numbers", "link 'wrist': mass 0.6 here, 0.7 there"),
    ('<axis xyz="0.6 0 0.8"/>', '<axis xyz="-0.6 0 -0.8"/>', "joint axis", "'j2'"),
    ('damping="2" friction="1.5"', 'damping="1.5" friction="2"', "friction semantics", "'j3' were swapped"),
    ('multiplier="0.9" offset="0.002"', "", "mimic", "'finger_too'"),
    ('<mimic joint="finger" multiplier="0.9" offset="0.002"/>', "", "mimic", "moved by itself"),
    ('<origin xyz="0.2 -0.1 0.5" rpy="0.4 0.3 -0.6"/>', "", "base transform", "'stand'"),
    ('rpy="0.4 0.3 -0.6"/>', 'rpy="0.4 0.3 -0.7"/>', "different numbers", "joint 'stand': origin"),
]


@pytest.mark.parametrize(("old", "new", "cause", "says"), AGAINST, ids=[a[2] + " " + a[3][:12] for a in AGAINST])
def test_two_files(old, new, cause, says, arm, tmp_path, monkeypatch):
    on_arrays(monkeypatch)
    own = [key for key in own_methods.OWN_METHODS if key != "kinematics"]
    certificate = dl.verify(arm, against=other(tmp_path, old, new), states=12, without=["pinocchio", "mujoco", *own])
    assert not certificate
    (finding,) = certificate.facts.causes
    if says == "moved by itself":
        assert finding.parts == ("finger_too",)
    assert cause in finding.cause and says in f"{finding} {certificate.facts.differences}", (
        finding,
        certificate.facts.differences,
    )


def test_the_same_robot_written_differently(tmp_path, monkeypatch):
    """As URDF, with links and joints in another order, as a DH table of the other convention: no difference."""
    on_arrays(monkeypatch)
    robot = dl.load("panda")
    file = tmp_path / "panda.urdf"
    robot.to_urdf(file)
    quick = {
        "states": 8,
        "without": ["pinocchio", "mujoco", *(key for key in own_methods.OWN_METHODS if key != "kinematics")],
    }
    certificate = dl.verify("panda", against=file, **quick)
    assert certificate, str(certificate)
    d = robot.description
    assert dl.verify(robot, against=replace(d, links=d.links[::-1], joints=d.joints[::-1]), **quick)
    dh = dl.load("elbow-3r")
    assert dl.verify(dh, against=dh.to_dh("modified"), **quick)


QUICK = {
    "states": 8,
    "without": ["pinocchio", "mujoco", *(key for key in own_methods.OWN_METHODS if key != "kinematics")],
}
LIMITS = [
    ('lower="-2" upper="2"', 'lower="-1" upper="2"', "joint 'j1': lower -2 here, -1 there"),
    ('upper="0.04" effort="5"', 'upper="0.05" effort="5"', "joint 'finger': upper 0.04 here, 0.05 there"),
    ('effort="50" velocity="1"', 'effort="40" velocity="1"', "joint 'j3': effort 50 here, 40 there"),
    ('velocity="0.2"', 'velocity="0.3"', "joint 'finger': velocity 0.2 here, 0.3 there"),
]


@pytest.mark.parametrize(("old", "new", "says"), LIMITS, ids=[x[2][7:20] for x in LIMITS])
def test_other_limits_are_a_difference(old, new, says, arm, tmp_path, monkeypatch):
    on_arrays(monkeypatch)
    certificate = dl.verify(arm, against=other(tmp_path, old, new), **QUICK)
    assert not certificate and says in certificate.facts.differences
    (finding,) = certificate.facts.causes
    assert finding.cause == "different numbers" and says in finding.words and "limits as written" in finding.first


def test_other_loops_are_a_difference(monkeypatch):
    on_arrays(monkeypatch)
    d = dl.load("four-bar").description
    (loop,) = d.loops
    certificate = dl.verify(d, against=replace(d, loops=()), **QUICK)
    assert not certificate and certificate.facts.differences == (f"loop {loop.name!r}: only here",)
    assert certificate.facts.causes[0].cause == "different numbers"
    moved = replace(loop, second_origin=dl.describe.Origin((0.1, 0.0, 0.0)))
    certificate = dl.verify(d, against=replace(d, loops=(moved,)), **QUICK)
    assert not certificate and "origin on the second" in certificate.facts.differences[0]
    assert dl.verify(d, against=d, **QUICK)


def test_loops_do_not_explain_other_numbers(monkeypatch):
    """A mass and a loop are written differently: the mass alone accounts for the numbers of the tree."""
    on_arrays(monkeypatch)
    d = dl.load("four-bar").description
    k = next(i for i, link in enumerate(d.links) if link.inertial)
    scale_inertia = replace(d.links[k], inertial=replace(d.links[k].inertial, mass=1.3 * d.links[k].inertial.mass))
    links = (*d.links[:k], scale_inertia, *d.links[k + 1 :])
    certificate = dl.verify(d, against=replace(d, links=links, loops=()), **QUICK)
    said = {f.first.partition(" as written")[0]: f.words for f in certificate.facts.causes}
    assert len(said) == 2 and "only here" in said["the loops"]
    (other,) = [words for first, words in said.items() if first != "the loops"]
    assert "mass" in other and "loop" not in other


@pytest.mark.parametrize("tip", [None, "hand", "link2", "base"])
def test_a_table_read_again_has_the_same_tip(tip, tmp_path):
    """The tip is a frame of its own unless a link has its name."""
    from dalembert.trust.verify.linkage import linkage_of
    from dalembert.trust.verify.source import source_of

    named = f'tip = "{tip}"\n' if tip else ""
    rows = "".join("[[dh.rows]]\na = 0.5\ninertial = { mass = 1.0, inertia = [0.1, 0.1, 0.1] }\n" for _ in range(2))
    file = tmp_path / "arm.toml"
    file.write_text(f'name = "arm"\n{named}[dh.tool]\nxyz = [0, 0, 0.1]\n{rows}')
    source = source_of(file)
    assert source.again is not None, source.reason
    wanted = {p.link for p in linkage_of(source.robot.description).parts}
    assert {p.link for p in source.again.parts} == wanted


def test_joints_that_cannot_move_are_moved_and_said(arm, tmp_path, monkeypatch):
    """A fault that only shows where a joint moves, of a file that gives it no room."""
    on_arrays(monkeypatch)
    file = other(tmp_path, 'lower="-1.5" upper="1.5"', 'lower="0" upper="0"')
    assert any("the limits of 'j2' leave no room to move in" in note for note in dl.verify(file, **QUICK).remarks)
    monkeypatch.setattr(urdf_read.Reader, "_axis", lambda self, e, who: (1.0, 0.0, 0.0))
    certificate = dl.verify(file, **QUICK)
    assert not certificate and "'j2'" in str(certificate.facts.causes[0])


def test_symbols_with_snapped_angles_have_the_same_cause(arm, tmp_path, monkeypatch):
    """Euler–Lagrange sees π/2 where 1.5708 is written: a fault of the model is one finding all the same."""
    on_arrays(monkeypatch)
    file = other(tmp_path, 'rpy="1.2 0.1 0"', 'rpy="1.5708 0.1 0"')
    quick = {"states": 8, "without": ["pinocchio", "mujoco", "derivatives", "solved-derivatives", "regressor"]}
    for change, cause in (
        (lambda m: replace(m, gravity=tuple(-1.0 * g for g in m.gravity)), "gravity sign"),
        (
            lambda m: replace(
                m, bodies=tuple(replace(b, inertia=b.inertia + b.inertia) for b in m.bodies[:1]) + m.bodies[1:]
            ),
            "",
        ),
    ):
        with monkeypatch.context() as patch:
            for module in ("dalembert.robot", "dalembert.symbolic.exact"):
                patch.setattr(f"{module}.build", lambda d, change=change: change(model_build(d)))
            certificate = dl.verify(file, **quick)
        assert any("that multiple" in note for note in certificate.remarks)
        (finding,) = certificate.facts.causes
        assert finding.cause == cause and "Euler–Lagrange (symbolic)" in finding.methods
        assert cause or "no fault of the table gives these numbers" in finding.words


def test_mujoco_leaves_no_log(tmp_path, monkeypatch):
    """Its warnings, at reading and at computing, go to no file of the user's."""
    from dalembert.trust.verify import oracles

    on_arrays(monkeypatch)
    monkeypatch.chdir(tmp_path)
    whole = oracles._compiled

    def singular(mujoco, text):
        """A model that mj_forward warns of: it has no inertia at all."""
        model = whole(mujoco, text)
        model.body_mass[:], model.body_inertia[:] = 0.0, 0.0
        return model

    monkeypatch.setattr(oracles, "_compiled", singular)
    certificate = dl.verify("planar-2r", states=4, without=[*own_methods.OWN_METHODS, "pinocchio"])
    assert certificate.facts.causes[0].methods == ("MuJoCo",)
    assert list(tmp_path.iterdir()) == []


def test_other_joints_are_said():
    certificate = dl.verify("planar-2r", against="planar-3r", states=4, without=["pinocchio", "mujoco", "derivatives"])
    assert not certificate
    assert "also 'joint3'" in certificate.facts.causes[-1].first


# ------------------------------------------------------------------------------------------- the certificate itself


def test_certificate(tmp_path, monkeypatch):
    on_arrays(monkeypatch)
    certificate = dl.verify("rp", states=8, seed=5)
    again = dl.verify("rp", states=8, seed=5)
    assert certificate == again and certificate.facts.seed == 5 and certificate.facts.states == 8
    data = json.loads(write_json(certificate.data()))
    assert data["ok"] is True and data["source"] == "rp" and len(data["findings"]) == len(certificate.rows)
    assert data["facts"]["tolerances"]["rounding"][1]
    assert data["facts"]["methods"][0] == {
        "name": "reference",
        "title": "Lagrange, link by link",
        "present": True,
        "version": "",
        "reason": "",
    }
    assert json.loads(certificate.save(tmp_path / "c.json").read_text()) == data
    assert "all agree" in repr(certificate) and "Pinocchio" in str(certificate)
    assert certificate[0].passed and certificate[0].share < 1
    words: list[str] = []
    dl.verify("rp", states=4, progress=words.append)
    assert "Newton–Euler" in words and "Pinocchio" in words


def test_the_worst_row_of_a_group_is_nearest_to_what_is_allowed():
    rows = [
        Agreement("k", "a", "b", d, allowed, "rounding", 8)
        for d, allowed in ((1e-12, 1e-10), (1e-12, 1e-11), (3e-11, 1e-9))
    ]
    facts = Verified("r", "file", ("j",), 8, 0, "", (), differences=("link 'a': mass 1 here",))
    certificate = make_certificate(tuple(rows), facts)
    assert any("link 'a': mass 1 here" in remark for remark in certificate.remarks)
    ((name, count, worst, allowed, verdict),) = summarize_by(certificate, lambda row: row.quantity, "quantity").rows
    assert (name, count, float(worst), float(allowed), verdict) == ("k", 3, 1e-12, 1e-11, "agrees")


def test_differences_are_relative_to_the_terms_of_a_quantity():
    """Every quantity whose numbers are off by a share of its scale in one state: the row has that share, and fails."""
    from dalembert.trust.verify.certificate import VerifyRun, row_of, values_of
    from dalembert.trust.verify.quantities import QUANTITIES
    from dalembert.trust.verify.source import source_of

    run = VerifyRun(source_of("puma560"), 8, 0, (), lambda words: None)
    r = run.reference
    values = values_of(r, run.linkage.coordinates, run.shown_frames())
    assert len(values) > 8
    for name, value in values.items():
        quantity = QUANTITIES[name]
        good = row_of(name, "a", "b", r, value)
        assert good.passed and good.difference < 1e-12
        for share in (1e-7, np.nan):
            if isinstance(value, dict):
                frame = next(iter(value))
                spoiled = {k: np.array(x) for k, x in value.items()}
                spoiled[frame][(2, *(0,) * (spoiled[frame].ndim - 1))] += share
            else:
                spoiled = np.array(value)
                off = share * np.broadcast_to(np.asarray(quantity.scale(r)), spoiled.shape)
                spoiled[2] += off[2]
            row = row_of(name, "a", "b", r, spoiled)
            assert not row.passed and row.state == 2, name
            if np.isfinite(share):
                assert row.difference == pytest.approx(share, rel=1e-3), name


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"states": 3}, "states must be a whole number, at least 4; got 3"),
        ({"states": 2.5}, "states must be a whole number, at least 4; got 2.5"),
        ({"states": 10**7}, "100000 is the most"),
        ({"states": float("nan")}, "states"),
        ({"seed": -1}, "seed must be a whole number, at least 0; got -1"),
        ({"without": ["pinochio"]}, "unknown method 'pinochio'; did you mean 'pinocchio'"),
        ({"without": 5}, "without is 5; it must be names of methods, such as ['mujoco']"),
        ({"without": None}, "without is None; it must be names of methods"),
        ({"without": ["x"]}, "choose from 'file', 'pinocchio', 'mujoco', 'drake'"),
        ({"tip": "nowhere"}, "unknown frame 'nowhere'"),
        ({"against": 3}, "verify takes a bundled name, a path, a Robot or a DHTable, got int"),
    ],
)
def test_bad_input(options, says):
    with pytest.raises(dl.DalembertError) as refusal:
        dl.verify("planar-1r", **{"states": 4, "without": ["pinocchio", "mujoco"], **options})
    assert says in str(refusal.value)


def test_what_is_no_robot():
    with raises(dl.DescriptionError, "not-readable path"):
        dl.verify("nowhere.urdf")
    with pytest.raises(dl.InputError, match="got list"):
        dl.verify([])
