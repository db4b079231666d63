"""verify with joints of several coordinates: compared as rows of turns and slides, red where the joint is wrong."""

from __future__ import annotations

import pytest

import dalembert as dl
from dalembert.describe.toml_read import read_toml
from dalembert.joints import Floating, Planar, Spherical
from dalembert.spatial import Motion
from dalembert.trust.verify.linkage import linkage_of
from dalembert.trust.verify.source import unfold, unfold_linkage

TEXT = """
name = "several"
tip = "arm"
[[links]]
name = "world"
[[links]]
name = "body"
inertial = {{ mass = 2.0, com = [0.1, 0.05, 0], inertia = [0.1, 0.01, 0, 0.2, 0.02, 0.25] }}
[[links]]
name = "arm"
inertial = {{ mass = 1.0, com = [0, 0.1, 0.2], inertia = [0.1, 0.1, 0.05] }}
[[joints]]
name = "base"
kind = "{kind}"
{axis}
parent = "world"
child = "body"
rpy = [0.2, -0.1, 0.4]
[[joints]]
name = "elbow"
kind = "continuous"
axis = [0, 0.6, 0.8]
parent = "body"
child = "arm"
xyz = [0.3, 0, 0.1]
"""
KINDS = {"floating": Floating, "spherical": Spherical, "planar": Planar}
WITHOUT = ("mujoco", "drake", "euler-lagrange")


def text(kind: str) -> str:
    return TEXT.format(kind=kind, axis="axis = [0, 0.6, 0.8]" if kind == "planar" else "")


@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_lagrange_and_with_the_file_read_again(kind, tmp_path):
    file = tmp_path / "r.toml"
    file.write_text(text(kind))
    certificate = dl.verify(file, states=4, without=WITHOUT)
    assert certificate, str(certificate)
    sides = {side.name for side in certificate.facts.methods if side.present}
    assert {"several", "file", "pinocchio"} <= sides
    assert "'base', with several coordinates each, are compared as turns and slides in a row" in certificate.remarks


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_twice_is_unfolded_alike(kind):
    d = read_toml(text(kind))
    assert unfold_linkage(linkage_of(d)) == linkage_of(unfold(d))


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_joint_is_found(kind, monkeypatch):
    """Its velocities in other axes: M alone tells."""
    subspace = KINDS[kind].subspace

    def turned(self, q):
        return tuple(Motion(S.v, tuple(-x for x in S.w)) for S in subspace(self, q))

    monkeypatch.setattr(KINDS[kind], "subspace", turned)
    certificate = dl.verify(dl.Robot(read_toml(text(kind))), states=4, without=WITHOUT)
    assert not certificate
    assert {row.right for row in certificate.errors} == {"joints of several coordinates"}


def test_warnings_are_those_of_the_robot_not_of_its_rows(tmp_path):
    """Links without mass between the rows are no fault of the description."""
    file = tmp_path / "r.toml"
    file.write_text(text("floating"))
    said = dl.verify(file, states=4, without=WITHOUT)
    assert not [note for note in said.remarks if "warning" in note]
    file.write_text("\n".join(line for line in text("floating").splitlines() if "mass = 2.0" not in line))
    said = dl.verify(file, states=4, without=WITHOUT)
    assert [note for note in said.remarks if note == "the description has 1 warning: see 'dalembert info'"]
